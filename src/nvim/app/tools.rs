//! What a tool call shows beyond the chat: its place in the code window, and by `diffs` its changes.

use std::path::{Path, PathBuf};

use mlua::Result;
use serde_json::json;

use super::App;
use crate::core::entry::EntryId;
use crate::core::message::{SessionKey, ToolKind};

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
        let verb = match call.kind {
            ToolKind::Edit => "editing",
            ToolKind::Execute => "running",
            _ => "reading",
        };
        let what = format!("{}: {verb}", session.name());
        let over = call.status.is_over();
        let changes = matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        let touched: Vec<PathBuf> = match over && changes {
            true => call.diffs().map(|diff| session.place.cwd.join(&diff.path)).collect(),
            false => Vec::new(),
        };
        let place = call.places().last().map(|place| (session.place.cwd.join(&place.path), place.line));
        for path in touched {
            self.files.refresh(&self.editor, &path)?;
        }
        if over {
            self.review.clear(&self.editor, (key, entry))?;
        } else if content || !self.review.is_drawn((key, entry)) {
            self.show_diffs(key, entry)?;
        }
        match place {
            Some((path, line)) if (moved || content) && !over => self.follow_to(key, &path, line, &what),
            _ => Ok(()),
        }
    }

    pub(super) fn follow_to(
        &mut self,
        key: SessionKey,
        path: &Path,
        line: Option<u32>,
        what: &str,
    ) -> Result<()> {
        self.emit("AcpLocation", key, json!({ "path": path, "line": line }));
        if self.follow.on {
            self.follow.go(&self.editor, path, line, what)?;
        }
        Ok(())
    }
}
