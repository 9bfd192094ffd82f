//! What an agent did to a file, told once to everything that shows it, keeps it, or listens for it.

use mlua::Result;

use crate::core::changes::writers::Writer;
use crate::core::store::checkpoint::Held;
use crate::nvim::app::App;
use crate::nvim::events::{Attribution, Change, OutsideChange, Renamed};
use crate::nvim::files::telling;
use crate::nvim::follow;
use crate::nvim::sessions::Sessions;
use crate::nvim::tools::Tools;

impl App {
    /// Somebody else has changed a file of a session's folders.
    pub fn changed_outside(&mut self, change: &OutsideChange) -> Result<()> {
        self.reviews.changed_outside(&mut self.cx, change)?;
        self.route()
    }

    /// Somebody else has made a change than was told.
    pub fn attributed(&mut self, change: &Attribution) -> Result<()> {
        // A renamed file is one.
        let is_old_name = self.reviews.renamed.values().any(|from| *from == change.path);
        for Writer { session, call } in change.to.iter().filter(|_| !is_old_name) {
            if let Some(session) = self.cx.sessions.get_mut(session)
                && let Some(call) = call
            {
                session.call_changed(*call, &change.path);
            }
        }
        if !is_old_name {
            telling::reword(&mut self.cx, change, self.reviews.renamed.get(&change.path).map(|from| &**from));
        }
        self.checkpoints.attributed(&mut self.cx, change);
        self.reviews.attribute(&mut self.cx, change)?;
        self.route()
    }

    pub fn changed(&mut self, change: Change) -> Result<()> {
        self.sessions.file_done(&mut self.cx, &change);
        if let Some(call) = change.call
            // A renamed file is one: the one that is there.
            && !matches!(change.renamed, Some(Renamed::To(_)))
            && let Some(session) = self.cx.sessions.get_mut(&change.session)
        {
            session.call_changed(call, &change.path);
        }
        Sessions::count_change(&mut self.cx, &change);
        self.sessions.check_limits(&mut self.cx, change.session);
        self.checkpoints.record(&mut self.cx, &change);
        Tools::file_changed(&mut self.cx, &change);
        self.reviews.stats.add(&change);
        if let Some(session) = self.cx.sessions.get_mut(&change.session) {
            session.has_worked();
        }
        self.reviews.review_change(&mut self.cx, &change)?;
        if change.held.1 != Held::Absent {
            self.follow.file_came(&mut self.cx, &change.path)?;
        }
        self.route()?;
        if let Some(buf) = change.buf.or_else(|| self.cx.buf_of(&change.path)) {
            follow::list(&self.cx.editor, buf)?;
        }
        self.reviews.refresh_diffs(&mut self.cx, change.session, &change.path)?;
        self.route()?;
        telling::emit_changed(&mut self.cx, change);
        Ok(())
    }
}
