//! What a tool call shows beyond the chat: its place in the code window, and by `diffs` its changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mlua::Result;
use serde_json::json;

use super::App;
use crate::core::entry::EntryId;
use crate::core::message::{SessionKey, ToolKind};
use crate::core::tool_call::ToolCall;
use crate::nvim::files::Task;

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
        let touched = match changes || over {
            true => touched(call, &session.place.cwd),
            false => BTreeSet::new(),
        };
        let place = call.places().last().map(|place| (session.place.cwd.join(&place.path), place.line));
        for path in touched {
            self.file_touched(Some(key), Some(entry), &path)?;
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

    /// A session's agent may have written a file itself: a buffer that holds it takes what is on the disk.
    pub(super) fn file_touched(
        &mut self,
        session: Option<SessionKey>,
        call: Option<EntryId>,
        path: &Path,
    ) -> Result<()> {
        let Some(buf) = self.files.buf_of(&self.editor, path) else { return Ok(()) };
        let Some(path) = self.files.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.file_task(path, Task::Take { session, call })
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

/// The files that a call may have written.
fn touched(call: &ToolCall, cwd: &Path) -> BTreeSet<PathBuf> {
    let diffs = call.diffs().map(|diff| diff.path.clone());
    let places = call.places().into_iter().map(|place| place.path);
    diffs.chain(places).map(|path| cwd.join(path)).collect()
}
