//! What an agent did to a file, told once to everything that shows it, keeps it, or listens for it.

use mlua::Result;
use serde_json::json;

use crate::core::changes::writers::Writer;
use crate::nvim::app::App;
use crate::nvim::events::{Attribution, Change, OutsideChange};
use crate::nvim::follow;

/// More ranges than this are only put together for somebody: each is a table of Lua's.
const MANY: usize = 50;

impl App {
    /// Somebody else has changed a file of a session's folders.
    pub fn changed_outside(&mut self, change: &OutsideChange) -> Result<()> {
        self.reviews.changed_outside(&mut self.cx, change)?;
        self.route()
    }

    /// Somebody else has made a change than was told.
    pub fn attributed(&mut self, change: &Attribution) -> Result<()> {
        for Writer { session, call } in &change.to {
            if let Some(session) = self.cx.sessions.get_mut(session)
                && let Some(call) = call
            {
                session.call_changed(*call, &change.path);
            }
        }
        self.reviews.attribute(&mut self.cx, change)
    }

    pub fn changed(&mut self, change: Change) -> Result<()> {
        if let Some(call) = change.call
            && let Some(session) = self.cx.sessions.get_mut(&change.session)
        {
            session.call_changed(call, &change.path);
        }
        self.checkpoints.record(&mut self.cx, &change);
        self.reviews.stats.add(&change);
        if let Some(session) = self.cx.sessions.get_mut(&change.session) {
            session.has_worked();
        }
        self.reviews.review_change(&mut self.cx, &change)?;
        self.route()?;
        let Change { session, call, path, buf, ranges, saved, .. } = change;
        if let Some(buf) = buf.or_else(|| self.cx.buf_of(&path)) {
            follow::list(&self.cx.editor, buf)?;
        }
        self.reviews.refresh_diffs(&mut self.cx, session, &path)?;
        self.route()?;
        if ranges.len() > MANY && !self.cx.has_listeners("AcpFileChanged") {
            return Ok(());
        }
        let ranges: Vec<[usize; 2]> = ranges.iter().map(|(first, end)| [*first + 1, *end]).collect();
        let call = call
            .and_then(|entry| self.cx.sessions.get(&session)?.entry(entry)?.tool())
            .map(|call| call.id.as_told().to_owned());
        self.cx.emit(
            "AcpFileChanged",
            session,
            json!({ "path": path, "ranges": ranges, "tool_call": call, "saved": saved }),
        );
        Ok(())
    }
}
