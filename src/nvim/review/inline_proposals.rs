//! The diffs of open tool calls, drawn in their files: what is proposed before it is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mlua::Result;

use crate::config::DiffStyle;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Command, FileDiff, Work};
use crate::core::session::tool_call::Status;
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::editor::Buf;
use crate::nvim::review::engine::{BUDGET, PAUSE};
use crate::nvim::{follow, later};

impl App {
    /// Has the diffs of a call drawn in their files, which are opened if need be.
    pub fn show_diffs(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        if self.cx.config.diff.style == DiffStyle::Off {
            return Ok(());
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let waiting = call.status == Status::Waiting;
        let mut by_file: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
        for diff in call.diffs() {
            by_file.entry(session.place.cwd.join(&diff.path)).or_default().push(diff.clone());
        }
        for (index, (path, diffs)) in by_file.into_iter().enumerate() {
            let in_window = waiting && index == 0;
            let shown = self.cx.buf_of(&path);
            match shown.filter(|buf| !in_window || !self.cx.editor.wins_of(*buf).is_empty()) {
                Some(buf) => self.place_diffs(key, entry, buf, diffs)?,
                None if in_window => self.show_proposal(key, entry, &path, diffs)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Has a window show the file that the user is asked about.
    fn show_proposal(
        &mut self,
        key: SessionKey,
        entry: EntryId,
        path: &Path,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        self.load_first(path, move |app, buf| {
            let call = app.cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
            if call.is_none_or(|call| call.status != Status::Waiting) {
                return Ok(());
            }
            let Some(win) = follow::code_window(&app.cx.editor)? else { return Ok(()) };
            app.buffer_loaded(buf)?;
            if win != app.cx.editor.current_win()? || app.cx.editor.mode().0 == "n" {
                app.cx.editor.set_win_buf(win, buf)?;
            }
            app.place_diffs(key, entry, buf, diffs)
        })
    }

    pub fn place_diffs(
        &mut self,
        session: SessionKey,
        call: EntryId,
        buf: Buf,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let tick = self.cx.editor.changedtick(buf)?;
        let id = self.next_job(Job::Diff { session, call, buf, tick, diffs });
        self.with_text(buf, move |app, snapshot| {
            let (Some(Job::Diff { tick, diffs, .. }), Some(snapshot)) = (app.jobs.get_mut(&id), snapshot)
            else {
                app.jobs.remove(&id);
                app.asking.retry = true;
                return Ok(());
            };
            *tick = snapshot.tick;
            let work = Work::Place { text: snapshot.text.body(), diffs: diffs.clone() };
            app.send(Command::Compute { job: id, work })
        })
    }

    /// Draws the diffs of open calls, as far as the time goes.
    pub fn draw_proposals(&mut self) -> Result<()> {
        let editor = self.cx.editor.clone();
        for (key, entry) in self.review.draw(&editor, Instant::now() + BUDGET)? {
            self.show_diffs(key, entry)?;
        }
        if !self.review.has_more() || std::mem::replace(&mut self.review.drawing, true) {
            return Ok(());
        }
        later(&editor.lua, PAUSE, |app| {
            app.review.drawing = false;
            app.draw_proposals()
        })
    }

    /// A file was written: the calls that show a diff of it show it as done.
    pub fn refresh_diffs(&mut self, key: SessionKey, path: &Path) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
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
