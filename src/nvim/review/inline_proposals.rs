//! The diffs of open tool calls, drawn in their files: what is proposed before it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlua::{Result, Value};

use crate::config::DiffStyle;
use crate::core::changes::diff::Placed;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{FileDiff, Outcome, Work};
use crate::core::session::call_news::CallNews;
use crate::core::session::tool_call::Status;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::Buf;
use crate::nvim::review::Reviews;
use crate::nvim::review::proposals::{Call, Proposed, changes_of};
use crate::nvim::review::tracking::{BUDGET, PAUSE};

/// So long after a change diffs are placed anew.
const AFTER_CHANGE: Duration = Duration::from_millis(200);

/// Where diffs are to be drawn: in a buffer's text at a tick.
struct Target {
    call: Call,
    buf: Buf,
    tick: u64,
}

impl Reviews {
    /// Has the diffs of a call drawn in the buffers that hold their files. Those of the call that the user is asked
    /// about are put on the screen anew.
    pub fn show_diffs(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
        if cx.config.diff.style == DiffStyle::Off {
            return Ok(());
        }
        if self.is_staged((key, entry)) {
            return self.set_up_stage(cx);
        }
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        // What is asked about comes onto the screen with its question, not before.
        if session.is_judged_now(entry) && !self.is_proposal_drawn((key, entry)) {
            return Ok(());
        }
        diffs_in_buffers(cx, (key, entry))
            .into_iter()
            .try_for_each(|(buf, diffs)| self.place_diffs(cx, (key, entry), buf, diffs))
    }

    pub fn place_diffs(
        &mut self,
        cx: &mut Context,
        (session, call): Call,
        buf: Buf,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        cx.with_text(self, buf, move |_: &mut Self, cx, snapshot| {
            let Some(snapshot) = snapshot else { return Ok(()) };
            let work = Work::Place { text: snapshot.text.body(), diffs: diffs.clone() };
            cx.compute(work, move |this: &mut Self, cx, outcome| match outcome {
                Outcome::Placed(placed) => {
                    let at = Target { call: (session, call), buf, tick: snapshot.tick };
                    this.draw_placed(cx, at, diffs, placed)
                }
                _ => Ok(()),
            });
            Ok(())
        })
    }

    pub fn is_proposal_drawn(&self, call: Call) -> bool {
        self.proposals.is_drawn(call) || self.is_staged(call)
    }

    /// An agent told of a tool call.
    pub fn call_changed(&mut self, cx: &mut Context, news: &CallNews) -> Result<()> {
        let call = (news.session, news.entry);
        if news.over {
            self.clear_proposal(cx, call)?;
            return self.review_call(cx, news.session, news.entry);
        }
        match news.content || !self.is_proposal_drawn(call) {
            true => self.show_diffs(cx, news.session, news.entry),
            false => Ok(()),
        }
    }

    /// Entries of a session are other ones: a call that is over takes its virtual text along, however it ended.
    pub fn entries_changed(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        entries: &BTreeSet<EntryId>,
    ) -> Result<()> {
        let session = cx.sessions.get(&key);
        let is_over = |entry: &EntryId| {
            let call = session.and_then(|session| session.entry(*entry)?.tool());
            call.is_some_and(|call| call.status.is_over())
        };
        for entry in entries.iter().copied().filter(is_over) {
            self.proposals.clear(&cx.editor, (key, entry))?;
        }
        self.settle_split(cx, key)
    }

    /// A call is over, and what it proposed with it.
    fn clear_proposal(&mut self, cx: &Context, call: Call) -> Result<()> {
        self.proposals.clear(&cx.editor, call)
    }

    /// Lines of a buffer stand beside those of somebody else, which the user has to decide about: nothing else does.
    pub fn clear_proposals_in(&mut self, cx: &Context, buf: Buf) -> Result<()> {
        self.proposals.clear_in(&cx.editor, buf)
    }

    /// A session is not at work any more.
    pub fn clear_proposals(&mut self, cx: &Context, session: SessionKey) -> Result<()> {
        self.proposals.clear_session(&cx.editor, session)
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
        let is_later = self.has_its_turn_later(cx, (session, call), buf);
        let is_decided_about = cx.conflicts.of(buf).is_some();
        if !waits || is_later || is_decided_about || !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        if cx.editor.changedtick(buf)? != tick {
            return self.place_diffs(cx, (session, call), buf, diffs);
        }
        if self.split_proposal(cx, (session, call), buf, &placed)? {
            return self.proposals.clear(&cx.editor, (session, call));
        }
        self.begin_proposal(cx, (session, call), (buf, tick), placed)?;
        self.draw_proposals(cx)
    }

    /// Has a call's changes drawn in a buffer, in the place of those that are, and placed anew when the user changes it.
    pub fn begin_proposal(
        &mut self,
        cx: &Context,
        call: Call,
        at: (Buf, u64),
        placed: Vec<Placed>,
    ) -> Result<()> {
        let (buf, _) = at;
        if !self.proposals.is_any_drawn_in(buf) {
            let of_buf = vec![("buffer", Value::Integer(buf.0))];
            let events = ["TextChanged", "TextChangedI", "TextChangedP"];
            changes_of(&cx.editor, buf)?.create(&events, of_buf, move |_, _| {
                context::run(move |this: &mut Self, cx| this.proposals_outdated(cx, buf));
                Ok(())
            })?;
        }
        let proposed = Proposed { placed, made_shown: self.path_of(buf).is_some(), label: label(cx, call) };
        self.proposals.begin(&cx.editor, call, at, proposed)
    }

    /// Draws the diffs of open calls, as far as the time goes.
    pub fn draw_proposals(&mut self, cx: &mut Context) -> Result<()> {
        let editor = cx.editor.clone();
        for (key, entry) in self.proposals.draw(&editor, Instant::now() + BUDGET)? {
            self.show_diffs(cx, key, entry)?;
        }
        self.draw_proposals_later(cx)
    }

    /// Draws what is left of them after a pause.
    pub fn draw_proposals_later(&mut self, cx: &mut Context) -> Result<()> {
        if !self.proposals.has_more() || std::mem::replace(&mut self.proposals.drawing, true) {
            return Ok(());
        }
        cx.later(PAUSE, |this: &mut Self, cx| {
            this.proposals.drawing = false;
            this.draw_proposals(cx)
        })
    }

    /// The user has changed a buffer in which diffs are drawn. Once they pause, these are where they belong, or say that
    /// the file has changed.
    pub fn proposals_outdated(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        if !self.proposals.changed.insert(buf) {
            return Ok(());
        }
        cx.later(AFTER_CHANGE, move |this: &mut Self, cx| {
            this.proposals.changed.remove(&buf);
            for (call, _) in this.proposals.all_drawn().into_iter().filter(|(_, bufs)| bufs.contains(&buf)) {
                // The window stays where the user has it, also when they are asked about this.
                if let Some(diffs) = diffs_in_buffers(cx, call).remove(&buf) {
                    this.place_diffs(cx, call, buf, diffs)?;
                }
            }
            Ok(())
        })
    }

    /// A file was written: the calls that show a diff of it show it as done.
    pub fn refresh_diffs(&mut self, cx: &mut Context, key: SessionKey, path: &Path) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let path = canonical(path);
        let calls: Vec<EntryId> = session
            .open_calls()
            .filter(|(entry, call)| {
                self.is_proposal_drawn((key, *entry))
                    && call.diffs().any(|diff| canonical(&session.place.cwd.join(&diff.path)) == path)
            })
            .map(|(entry, _)| entry)
            .collect();
        calls.into_iter().try_for_each(|entry| self.show_diffs(cx, key, entry))
    }
}

/// What stands beside what a call proposes.
fn label(cx: &Context, (key, entry): Call) -> (String, &'static str) {
    let Some(session) = cx.sessions.get(&key) else { return (String::new(), "") };
    let waits = session.entry(entry).and_then(|entry| entry.tool()).map(|call| call.status);
    let how = if waits == Some(Status::Waiting) { " \u{b7} :Acp answer" } else { "" };
    (format!("{} proposes this", cx.name_among_all(key)), how)
}

/// The diffs of a call, by the buffers that hold their files.
fn diffs_in_buffers(cx: &Context, call: Call) -> BTreeMap<Buf, Vec<FileDiff>> {
    files_of(cx, call).into_iter().filter_map(|(path, diffs)| Some((cx.buf_of(&path)?, diffs))).collect()
}

/// The call's files with what is to become of each.
pub fn files_of(cx: &Context, (key, entry): Call) -> BTreeMap<PathBuf, Vec<FileDiff>> {
    let mut by_file: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
    let Some(session) = cx.sessions.get(&key) else { return by_file };
    let call = session.entry(entry).and_then(|entry| entry.tool());
    for diff in call.into_iter().flat_map(|call| call.diffs()) {
        by_file.entry(session.place.cwd.join(&diff.path)).or_default().push(diff.clone());
    }
    by_file
}
