//! What a tool call shows beyond the chat, feature by feature: its files, its changes, its locations.

use std::collections::BTreeSet;
use std::path::Path;

use mlua::Result;

use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::{EntryId, SessionKey};
use crate::core::session::tool_call::Status;
use crate::nvim::app::App;
use crate::nvim::follow;

impl App {
    /// An agent told of a tool call.
    pub(super) fn call_changed(
        &mut self,
        key: SessionKey,
        entry: EntryId,
        moved: bool,
        content: bool,
    ) -> Result<()> {
        if moved || content {
            self.watch_files_of(key, entry)?;
        }
        self.tool_changed(key, entry, moved, content)
    }

    fn tool_changed(&mut self, key: SessionKey, entry: EntryId, moved: bool, content: bool) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let (over, done) = (call.status.is_over(), call.status == Status::Done);
        let (read, changes) = (call.read_whole(&session.place.cwd), call.edits());
        if changes {
            self.announce_edits(key, entry, content)?;
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let touched = match changes || over {
            true => call.may_have_written(&session.place.cwd),
            false => BTreeSet::new(),
        };
        for path in read {
            if let Some(buf) = self.cx.buf_of(&path)
                && let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned)
            {
                let now = self.cx.buffers.stamp_of(&path);
                self.files.views.look(key, &path, now, done);
            }
        }
        let writers = Writers::guess(vec![Writer { session: key, call: Some(entry) }]);
        for path in touched {
            if changes || done {
                self.checkpoints.record_call(&mut self.cx, key, entry, &path);
            }
            self.file_touched(writers.clone(), &path)?;
            if done
                && changes
                && let Some(buf) = self.cx.buf_of(&path)
            {
                follow::list(&self.cx.editor, buf)?;
            }
        }
        if over {
            self.reviews.clear_proposal(&self.cx, (key, entry))?;
            self.checkpoints.call_over(&mut self.cx, key, entry);
            self.review_call(key, entry)?;
        } else if content || !self.reviews.is_proposal_drawn((key, entry)) {
            self.show_diffs(key, entry)?;
        }
        if moved || content {
            self.call_moved(key, entry)?;
        }
        if over && self.follow.call_over(key, entry) {
            self.follow_due()?;
        }
        Ok(())
    }
}
