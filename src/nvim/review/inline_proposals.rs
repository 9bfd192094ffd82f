//! The diffs of open tool calls, drawn in their files: what is proposed before it is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use mlua::Result;

use crate::config::DiffStyle;
use crate::core::changes::diff::Placed;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{FileDiff, Outcome, Work};
use crate::core::session::tool_call::Status;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::proposals::Call;
use crate::nvim::review::tracking::{BUDGET, PAUSE};

/// Where diffs are to be drawn: in a buffer's text at a tick.
struct Target {
    call: Call,
    buf: Buf,
    tick: u64,
}

impl Reviews {
    /// Has the diffs of a call drawn in their files, which are opened if need be.
    pub fn show_diffs(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
        if cx.config.diff.style == DiffStyle::Off {
            return Ok(());
        }
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let waiting = call.status == Status::Waiting;
        let mut by_file: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
        for diff in call.diffs() {
            by_file.entry(session.place.cwd.join(&diff.path)).or_default().push(diff.clone());
        }
        for (index, (path, diffs)) in by_file.into_iter().enumerate() {
            let in_window = waiting && index == 0;
            let shown = cx.buf_of(&path);
            match shown.filter(|buf| !in_window || !cx.editor.wins_of(*buf).is_empty()) {
                Some(buf) => self.place_diffs(cx, (key, entry), buf, diffs)?,
                None if in_window => self.show_proposal(cx, (key, entry), &path, diffs)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Has a window show the file that the user is asked about.
    fn show_proposal(
        &mut self,
        cx: &mut Context,
        (key, entry): Call,
        path: &Path,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        cx.load_first(self, path, move |_: &mut Self, cx, buf| {
            let call = cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
            if call.is_none_or(|call| call.status != Status::Waiting) {
                return Ok(());
            }
            let Some(win) = code_window(&cx.editor)? else { return Ok(()) };
            cx.raise(EditorEvent::BufferLoaded(buf));
            cx.after_events(move |this: &mut Self, cx| {
                if win != cx.editor.current_win()? || cx.editor.mode().0 == "n" {
                    cx.editor.set_win_buf(win, buf)?;
                }
                this.place_diffs(cx, (key, entry), buf, diffs)
            });
            Ok(())
        })
    }

    pub fn place_diffs(
        &mut self,
        cx: &mut Context,
        (session, call): Call,
        buf: Buf,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        self.placing.push(session);
        cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| {
            let Some(snapshot) = snapshot else {
                this.no_longer_placing(cx, session);
                return Ok(());
            };
            let work = Work::Place { text: snapshot.text.body(), diffs: diffs.clone() };
            cx.compute(work, move |this: &mut Self, cx, outcome| {
                this.no_longer_placing(cx, session);
                match outcome {
                    Outcome::Placed(placed) => {
                        let at = Target { call: (session, call), buf, tick: snapshot.tick };
                        this.draw_placed(cx, at, diffs, placed)
                    }
                    _ => Ok(()),
                }
            });
            Ok(())
        })
    }

    pub fn is_proposal_drawn(&self, call: Call) -> bool {
        self.proposals.is_drawn(call)
    }

    /// A call is over, and what it proposed with it.
    pub fn clear_proposal(&mut self, cx: &Context, call: Call) -> Result<()> {
        self.proposals.clear(&cx.editor, call)
    }

    /// A session is not at work any more.
    pub fn clear_proposals(&mut self, cx: &Context, session: SessionKey) -> Result<()> {
        self.proposals.clear_session(&cx.editor, session)
    }

    /// Whether diffs of the session are being placed, and not drawn yet.
    pub fn is_placing(&self, session: SessionKey) -> bool {
        self.placing.contains(&session)
    }

    fn no_longer_placing(&mut self, cx: &mut Context, session: SessionKey) {
        if let Some(at) = self.placing.iter().position(|other| *other == session) {
            self.placing.remove(at);
        }
        cx.raise(EditorEvent::DiffsPlaced);
    }

    /// The background has found where diffs belong.
    fn draw_placed(
        &mut self,
        cx: &mut Context,
        at: Target,
        diffs: Vec<FileDiff>,
        placed: Vec<Placed>,
    ) -> Result<()> {
        let Target { call: (session, call), buf, tick } = at;
        let waits = cx
            .sessions
            .get(&session)
            .and_then(|session| session.entry(call))
            .and_then(|entry| entry.tool())
            .is_some_and(|call| !call.status.is_over());
        if !waits || !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        if cx.editor.changedtick(buf)? != tick {
            return self.place_diffs(cx, (session, call), buf, diffs);
        }
        if self.split_proposal(cx, (session, call), buf, &placed)? {
            return self.proposals.clear(&cx.editor, (session, call));
        }
        let made_shown = self.path_of(buf).is_some();
        self.proposals.begin(&cx.editor, (session, call), (buf, tick), (placed, made_shown))?;
        self.draw_proposals(cx)
    }

    /// Draws the diffs of open calls, as far as the time goes.
    pub fn draw_proposals(&mut self, cx: &mut Context) -> Result<()> {
        let editor = cx.editor.clone();
        for (key, entry) in self.proposals.draw(&editor, Instant::now() + BUDGET)? {
            self.show_diffs(cx, key, entry)?;
        }
        if !self.proposals.has_more() || std::mem::replace(&mut self.proposals.drawing, true) {
            return Ok(());
        }
        cx.later(PAUSE, |this: &mut Self, cx| {
            this.proposals.drawing = false;
            this.draw_proposals(cx)
        })
    }

    /// A file was written: the calls that show a diff of it show it as done.
    pub fn refresh_diffs(&mut self, cx: &mut Context, key: SessionKey, path: &Path) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let path = canonical(path);
        let calls: Vec<EntryId> = session
            .open_calls()
            .filter(|(entry, call)| {
                self.proposals.is_drawn((key, *entry))
                    && call.diffs().any(|diff| canonical(&session.place.cwd.join(&diff.path)) == path)
            })
            .map(|(entry, _)| entry)
            .collect();
        calls.into_iter().try_for_each(|entry| self.show_diffs(cx, key, entry))
    }
}
