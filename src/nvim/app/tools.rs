//! What a tool call shows beyond the chat: by `diffs` its changes. Its places are left to `locations`.

use std::path::PathBuf;

use mlua::Result;

use super::App;
use crate::core::entry::EntryId;
use crate::core::message::{SessionKey, ToolKind};
use crate::core::tool_call::Status;
use crate::nvim::follow;

impl App {
    /// What a tool call shows beyond the chat: its place and its diffs.
    pub(super) fn tool_changed(
        &mut self,
        key: SessionKey,
        entry: EntryId,
        moved: bool,
        content: bool,
    ) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let (over, done) = (call.status.is_over(), call.status == Status::Done);
        let changes = matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        let touched: Vec<PathBuf> = match over && changes {
            true => call.diffs().map(|diff| session.place.cwd.join(&diff.path)).collect(),
            false => Vec::new(),
        };
        for path in touched {
            self.files.refresh(&self.editor, &path)?;
            if done && let Some(buf) = self.files.buf_of(&self.editor, &path) {
                follow::list(&self.editor, buf)?;
            }
        }
        if over {
            self.review.clear(&self.editor, (key, entry))?;
            self.review_call(key, entry)?;
        } else if content || !self.review.is_drawn((key, entry)) {
            self.show_diffs(key, entry)?;
        }
        if moved || content {
            self.call_moved(key, entry)?;
        }
        if over {
            self.follow.call_over(key, entry);
            self.follow_due()?;
        }
        Ok(())
    }
}
