//! What a tool call shows beyond the chat: its place in the code window, its diffs in their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mlua::Result;
use serde_json::json;

use super::{App, Job};
use crate::config::DiffStyle;
use crate::core::entry::EntryId;
use crate::core::message::{Command, FileDiff, SessionKey, ToolKind, Work};
use crate::core::tool_call::{Status, ToolCall};
use crate::nvim::editor::Buf;
use crate::nvim::files::{Task, canonical};
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
            self.file_touched(key, Some(entry), &path)?;
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
        session: SessionKey,
        call: Option<EntryId>,
        path: &Path,
    ) -> Result<()> {
        let Some(buf) = self.files.buf_of(&self.editor, path) else { return Ok(()) };
        let Some(path) = self.files.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.file_task(path, Task::Take { session: Some(session), call })
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

    /// Has the diffs of a call drawn in their files, which are opened if need be.
    fn show_diffs(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        if self.config.diff.style == DiffStyle::Off {
            return Ok(());
        }
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let waiting = call.status == Status::Waiting;
        let mut by_file: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
        for diff in call.diffs() {
            by_file.entry(session.place.cwd.join(&diff.path)).or_default().push(diff.clone());
        }
        for (index, (path, diffs)) in by_file.into_iter().enumerate() {
            let Some(buf) = self.diff_buf(&path, waiting && index == 0)? else { continue };
            self.place_diffs(key, entry, buf, diffs)?;
        }
        Ok(())
    }

    /// The buffer of a changed file. While the user is asked about it, a window shows it.
    fn diff_buf(&mut self, path: &Path, in_window: bool) -> Result<Option<Buf>> {
        if let Some(buf) = self.files.buf_of(&self.editor, path)
            && (!in_window || !self.editor.wins_of(buf).is_empty())
        {
            return Ok(Some(buf));
        }
        if !in_window {
            return Ok(None);
        }
        let Some(win) = follow::code_window(&self.editor)? else { return Ok(None) };
        let buf = follow::load(&self.editor, &canonical(path))?;
        self.buffer_loaded(buf)?;
        if win != self.editor.current_win()? || self.editor.mode().0 == "n" {
            self.editor.set_win_buf(win, buf)?;
        }
        Ok(Some(buf))
    }

    pub(super) fn place_diffs(
        &mut self,
        session: SessionKey,
        call: EntryId,
        buf: Buf,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let Some(text) = self.editor.text(buf)? else { return Ok(()) };
        let tick = self.editor.changedtick(buf)?;
        let work = Work::Place { text, diffs: diffs.clone() };
        let job = self.next_job(Job::Diff { session, call, buf, tick, diffs });
        self.send(Command::Compute { job, work })
    }

    /// A file was written: the calls that show a diff of it show it as done.
    pub(super) fn refresh_diffs(&mut self, key: SessionKey, path: &Path) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let path = canonical(path);
        let calls: Vec<EntryId> = session
            .open_calls()
            .filter(|(entry, call)| {
                self.review.is_drawn((key, *entry))
                    && call.diffs().any(|diff| canonical(&session.place.cwd.join(&diff.path)) == path)
            })
            .map(|(entry, _)| entry)
            .collect();
        calls.into_iter().try_for_each(|entry| self.show_diffs(key, entry))
    }
}

/// The files that a call may have written.
fn touched(call: &ToolCall, cwd: &Path) -> BTreeSet<PathBuf> {
    let diffs = call.diffs().map(|diff| diff.path.clone());
    let places = call.places().into_iter().map(|place| place.path);
    diffs.chain(places).map(|path| cwd.join(path)).collect()
}
