//! Whose a change was that is under review already, as far as that is found out later: by the background, which looks
//! closer than the editor that has guessed, or by a call that speaks of it when it is over.

use std::collections::BTreeSet;
use std::path::Path;

use mlua::Result;

use crate::core::ids::OriginId;
use crate::core::message::FileDiff;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::context::Context;
use crate::nvim::events::Attribution;
use crate::nvim::review::tracking::MANY_PAUSE;
use crate::nvim::review::{Input, Reviews};

impl Reviews {
    /// The last change of a file was another's than was told.
    pub fn attribute(&mut self, cx: &mut Context, change: &Attribution) -> Result<()> {
        let Attribution { path, from, to, held } = change;
        let origin = match to.split_first() {
            Some((first, others)) => match self.origin_of_writers(cx, path, (*first, others)) {
                Some(origin) => Some(origin),
                // Its session is over.
                None => return Ok(()),
            },
            None => None,
        };
        self.stats.attribute(path, from, to);
        match (self.unknown.get_mut(path), origin) {
            (Some(change), Some(origin)) => change.origin = origin,
            (Some(_), None) => drop(self.unknown.remove(path)),
            (None, _) => {}
        }
        let text = |held: &Held| held.as_text().map(Text::plain_lines);
        let input = Input::Attributed { before: text(&held.0), after: text(&held.1), to: origin };
        if let Some(reviewed) = self.files.get_mut(path) {
            if let (Some(last), Some(origin)) = (reviewed.unread.last_mut(), origin) {
                *last = origin;
            }
            reviewed.waiting.push(input);
            self.take_waiting(cx, path)?;
        }
        self.draw_reviews_soon(cx, MANY_PAUSE);
        Ok(())
    }

    /// A call is over that says what it has done to a file: hunks of which nobody knew the call are its own.
    pub fn claim(
        &mut self,
        cx: &mut Context,
        path: &Path,
        call: OriginId,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let unclaimed: BTreeSet<OriginId> = self.origins.unclaimed_like(call).collect();
        let Some(reviewed) = self.files.get_mut(path).filter(|_| !unclaimed.is_empty()) else {
            return Ok(());
        };
        let named = path.to_owned();
        let claim = move |this: &mut Self, _: &mut Context| {
            if let Some(file) = this.files.get_mut(&named).and_then(|reviewed| reviewed.file.as_mut()) {
                diffs.iter().for_each(|diff| file.claim(diff, &unclaimed, call));
            }
            Ok(())
        };
        reviewed.waiting.push(Input::Then(Box::new(claim)));
        self.take_waiting(cx, path)
    }
}
