//! What an agent did to a file, and what it tells of a tool call, told once to everything that shows it, keeps it, or
//! listens for it.

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::nvim::app::App;
use crate::nvim::events::{Attribution, Change};
use crate::nvim::files::telling;
use crate::nvim::sessions::Sessions;
use crate::nvim::tools::Tools;

impl App {
    /// An agent told of a tool call: of its locations, of its content, or of neither.
    pub(super) fn call_changed(&mut self, key: SessionKey, entry: EntryId, new: (bool, bool)) -> Result<()> {
        Sessions::count_call(&mut self.cx, key, entry);
        let news = self.cx.sessions.get(&key).and_then(|session| session.call_news(entry, new));
        let Some(news) = news else { return Ok(()) };
        self.files.call_changed(&mut self.cx, &news)?;
        self.route()?;
        self.checkpoints.call_changed(&mut self.cx, &news);
        self.files.call_wrote(&mut self.cx, &news)?;
        self.route()?;
        self.reviews.call_changed(&mut self.cx, &news)?;
        self.route()?;
        self.follow.call_changed(&mut self.cx, &news)
    }

    pub(super) fn changed(&mut self, change: Change) -> Result<()> {
        self.sessions.file_changed(&mut self.cx, &change);
        self.checkpoints.record(&mut self.cx, &change);
        Tools::file_changed(&mut self.cx, &change);
        self.reviews.review_change(&mut self.cx, &change)?;
        self.follow.file_changed(&mut self.cx, &change)?;
        self.route()?;
        telling::list_changed(&self.cx, &change)?;
        self.reviews.refresh_diffs(&mut self.cx, change.session, &change.path)?;
        self.route()?;
        telling::emit_changed(&mut self.cx, change);
        Ok(())
    }

    /// Somebody else has made a change than was told.
    pub(super) fn attributed(&mut self, change: &Attribution) -> Result<()> {
        // A renamed file is one.
        if self.reviews.renamed.values().all(|old_name| *old_name != change.path) {
            Sessions::change_attributed(&mut self.cx, change);
            telling::reword(&mut self.cx, change, self.reviews.renamed.get(&change.path).map(|from| &**from));
        }
        self.checkpoints.attributed(&mut self.cx, change);
        self.reviews.attribute(&mut self.cx, change)
    }
}
