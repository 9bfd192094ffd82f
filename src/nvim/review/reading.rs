//! Files of which an agent changed many at once: their hunks are not worked out before somebody looks at them. What
//! came about waits in the file's queue until then. What is taken in, and how, is left to `tracking`.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::changes::hunk_page::About;
use crate::core::changes::scope::Scope;
use crate::core::ids::OriginId;
use crate::core::text::Text;
use crate::nvim::context::Context;
use crate::nvim::diff_view::marks::seen;
use crate::nvim::review::tracking::MANY_PAUSE;
use crate::nvim::review::{Input, Reviews};

impl Reviews {
    /// A file that no buffer holds was changed, one of many.
    pub fn begin_unread(
        &mut self,
        cx: &Context,
        path: &Path,
        (before, after): (Option<Text>, Option<Text>),
        origin: OriginId,
    ) {
        self.begin(path, None);
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.waiting.push(Input::Agent { before, after, origin });
            reviewed.unread.push(origin);
            reviewed.is_unseen = true;
        }
        self.draw_reviews_soon(cx, MANY_PAUSE);
    }

    /// Has the hunks of a file worked out, if nobody has looked at them so far.
    pub fn read(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        match self.files.get_mut(path) {
            Some(reviewed) if !reviewed.unread.is_empty() => reviewed.unread.clear(),
            _ => return Ok(()),
        }
        self.take_waiting(cx, path)
    }

    /// Whether something is left to decide of what is meant.
    pub fn is_open(&self, scope: &Scope) -> bool {
        self.listed().iter().any(|(path, file)| file.meant(scope, &self.origins, path).is_some())
    }

    /// The review has been scrolled, or shows something else: the files that can be seen are read.
    pub fn read_seen(&mut self, cx: &mut Context) -> Result<()> {
        let Some(panel) = &self.panel else { return Ok(()) };
        if !cx.editor.buf_is_loaded(panel.buf) || !self.files.values().any(|file| file.is_unseen) {
            return Ok(());
        }
        let rows = seen(&cx.editor, panel.buf).into_iter().flatten();
        let paths: Vec<PathBuf> = rows
            .filter_map(|row| match panel.view.page.rows.get(row)? {
                About::File(path) => Some(path.clone()),
                About::Hunk { .. } | About::Comment(_) | About::Nothing => None,
            })
            .collect();
        for path in paths {
            let Some(file) = self.files.get_mut(&path).filter(|file| file.is_unseen) else { continue };
            file.is_unseen = false;
            self.read(cx, &path)?;
            self.draw_reviews_soon(cx, MANY_PAUSE);
        }
        Ok(())
    }
}
