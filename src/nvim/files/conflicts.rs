//! Lines that the user and somebody else changed, each in their own way: both are shown in the file, and
//! the user says which are to stand, by the same rules as for permission. Until then the file is as the
//! user left it. Merging is the core's business, how a conflict looks in the file `conflict_view`'s.

use std::rc::Rc;

use mlua::Result;

use crate::config::OnConflict;
use crate::core::changes::conflict::{Conflict, Decision, Question, places, which};
use crate::core::changes::file_job::Input;
use crate::core::changes::file_task::Task;
use crate::core::changes::reconcile::{ConflictHunk, Pick};
use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{Answer, Severity};
use crate::nvim::context::conflicts::OpenConflict;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{AFTER_PICKER, Buf, Level, picker};
use crate::nvim::events::{Choosing, EditorEvent};
use crate::nvim::files::Files;
use crate::nvim::files::conflict_view::{self, clear_clashes, show_clashes, show_in_window};
use crate::nvim::files::earlier::EarlierQuestion;
use crate::nvim::files::job::{Asked, Job, Waiting};

/// What an agent is told whose write is refused.
fn refused(which: &str) -> String {
    let which = match which {
        "the same lines" => which,
        // Their lines are not the agent's.
        _ => "lines there, or right next to them,",
    };
    format!("the user has changed {which} since you read the file; read it again, then write it")
}

impl Files {
    pub fn on_conflict(
        &mut self,
        cx: &mut Context,
        mut job: Box<Job>,
        hunks: Vec<ConflictHunk>,
    ) -> Result<()> {
        let session = job.session().or(cx.current).filter(|key| cx.sessions.contains_key(key));
        let which = which(&hunks);
        match (cx.config.files.conflict, session) {
            (OnConflict::Markers, _) => {
                let name = cx.short_name(job.session(), &job.path);
                let text = format!(
                    "{name} has conflict markers ({}): you and the agent changed {which}",
                    places(hunks.len())
                );
                cx.note(job.session(), Severity::Warning, text);
                self.step(cx, job, Input::Marked)
            }
            (OnConflict::Ask, Some(session)) => {
                let is_write = matches!(job.task(), Task::Write { .. });
                let them = cx.sessions.get(&session).filter(|_| is_write).map(|session| session.name());
                // What was said in another session's chat stays there.
                let earlier = job.earlier.take().filter(|earlier| earlier.session == session);
                let was_seen = earlier.is_some_and(|earlier| earlier.was_seen);
                let conflict = Conflict::new(hunks, them, is_write).asked_again(was_seen);
                self.conflict_count += 1;
                let ask = AskId(u64::MAX - self.conflict_count);
                show_clashes(&cx.editor, job.buf, &conflict)?;
                let text = conflict.waits(&cx.short_name(Some(session), &job.path));
                cx.raise(EditorEvent::ConflictShown(job.buf));
                cx.conflicts.add(OpenConflict { ask, session, path: job.path.clone(), buf: job.buf });
                let line = say_in_chat(cx, session, earlier.and_then(|earlier| earlier.line), &text);
                let is_put_off = earlier.is_some_and(|earlier| earlier.is_put_off);
                let asked = if is_put_off { Asked::PutOff } else { Asked::NotYet };
                self.conflicts.push(Waiting {
                    ask,
                    session,
                    job,
                    conflict,
                    asked,
                    line,
                    scrolled: None,
                    lent: None,
                });
                self.tell_session(cx, session);
                if is_put_off {
                    cx.raise(EditorEvent::QuestionClosed(ask));
                }
                if earlier.is_none() {
                    cx.announce(session, &text, Level::Warn);
                }
                cx.raise(EditorEvent::QuestionsChanged);
                Ok(())
            }
            _ => self.leave(cx, job, which, Answer::Refused),
        }
    }

    /// The file stays as the user has it.
    fn leave(
        &mut self,
        cx: &mut Context,
        job: Box<Job>,
        which: &str,
        answer: fn(String) -> Answer,
    ) -> Result<()> {
        match job.task() {
            Task::Take { .. } => {
                if let Some(held) = cx.buffers.held(&job.path) {
                    held.left = job.state.disk_in_conflict().cloned();
                }
                let name = cx.short_name(job.session(), &job.path);
                let text = format!(
                    "{name}: you and the disk changed {which}: the buffer keeps yours; \
                     :edit! takes the disk's, :write! yours"
                );
                cx.note(job.session(), Severity::Warning, text);
            }
            _ => self.refuse_task_as(cx, &job.path, job.task(), (&refused(which), answer)),
        }
        self.end_task(cx, &job)
    }

    /// Asks about a conflict, from its first question on; what it is about is shown.
    pub fn ask_about_conflict(&mut self, cx: &mut Context, ask: AskId) {
        let Some(waiting) = self.conflicts.iter_mut().find(|waiting| waiting.ask == ask) else { return };
        waiting.conflict.begin();
        waiting.asked = Asked::Now;
        match show_in_window(&cx.editor, waiting.job.buf) {
            Ok(lent) => waiting.lent = waiting.lent.take().or(lent),
            Err(why) => cx.editor.notify_error(Err(why)),
        }
        ask_next(cx, waiting);
    }

    /// The user has answered the question, or closed it.
    fn conflict_answered(&mut self, cx: &mut Context, ask: AskId, item: Option<usize>) -> Result<()> {
        let Some(waiting) = self.conflicts.iter_mut().find(|waiting| waiting.ask == ask) else {
            return Ok(());
        };
        match waiting.conflict.answer(item) {
            Decision::Pick { picks, rest } => return self.settle_conflict(cx, ask, (picks, rest)),
            Decision::Leave => {
                return self.leave_conflict(cx, ask, Conflict::told_refused, Answer::RefusedByUser);
            }
            Decision::Continue => ask_next(cx, waiting),
            Decision::PutOff => {
                waiting.asked = Asked::PutOff;
                cx.raise(EditorEvent::QuestionClosed(ask));
                // Not right below what a picker wrote on the screen.
                cx.later(AFTER_PICKER, |_: &mut Self, cx| {
                    cx.editor.notify_after_picker("left open: :Acp answer asks again", Level::Info)
                })?;
            }
        }
        Ok(())
    }

    /// Takes a conflict off the screen.
    fn close_conflict(
        &mut self,
        cx: &mut Context,
        ask: AskId,
        told: impl FnOnce(&Conflict) -> String,
    ) -> Result<Option<(Box<Job>, Conflict)>> {
        let Some(at) = self.conflicts.iter().position(|waiting| waiting.ask == ask) else { return Ok(None) };
        let Waiting { job, conflict, session, line, scrolled, lent, .. } = self.conflicts.remove(at);
        // What it said has come to an end.
        let text = format!("{}: {}", cx.short_name(Some(session), &job.path), told(&conflict));
        if let Some((chat, line)) = cx.sessions.get_mut(&session).zip(line) {
            chat.notice_again(line, Severity::Info, text);
        }
        if let Some(scrolled) = scrolled {
            conflict_view::scroll_back(&cx.editor, job.buf, scrolled)?;
        }
        if let Some(lent) = lent {
            conflict_view::give_back(&cx.editor, job.buf, lent)?;
        }
        cx.conflicts.remove(ask);
        self.tell_session(cx, session);
        cx.raise(EditorEvent::QuestionsChanged);
        clear_clashes(&cx.editor, job.buf)?;
        Ok(Some((job, conflict)))
    }

    /// A session whose agent waits for the user's decision says so.
    fn tell_session(&self, cx: &mut Context, key: SessionKey) {
        let holds_agent = |waiting: &&Waiting| waiting.session == key && waiting.conflict.is_write();
        let count = self.conflicts.iter().filter(holds_agent).count();
        let now = cx.now();
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.set_conflicts(count, now);
            cx.raise(EditorEvent::SessionChanged(key));
        }
    }

    /// The user has decided; the text is merged anew, since the user may have typed meanwhile.
    fn settle_conflict(
        &mut self,
        cx: &mut Context,
        ask: AskId,
        (picks, rest): (Vec<Pick>, Option<Pick>),
    ) -> Result<()> {
        let told = |conflict: &Conflict| format!("you {}", conflict.told(&picks, rest));
        let waiting = self.conflicts.iter().find(|waiting| waiting.ask == ask);
        let earlier = waiting.map(|Waiting { session, line, .. }| EarlierQuestion {
            session: *session,
            line: *line,
            is_put_off: false,
            was_seen: true,
        });
        let Some((mut job, conflict)) = self.close_conflict(cx, ask, told)? else { return Ok(()) };
        job.decided = Some(told(&conflict));
        // It may be asked again, if what was decided about is on the disk no more.
        job.earlier = earlier;
        self.step(cx, job, Input::Picked { picks, rest })
    }

    fn drop_conflict(&mut self, cx: &mut Context, ask: AskId) -> Result<()> {
        self.leave_conflict(cx, ask, Conflict::told_left, Answer::Refused)
    }

    /// The user has written a buffer over its file (`:write!`): nothing of what was there is left to decide about.
    pub fn decide_by_writing(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        self.begin_again(cx, buf, |conflict| !conflict.is_write(), "you wrote yours into the file")
    }

    /// The user has read the file again (`:edit!`): nothing of theirs is left to decide about.
    pub fn decide_by_reading(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        self.begin_again(cx, buf, |_| true, "you took what is on the disk")
    }

    /// A buffer has another text than the one that the user is asked about, by a command of theirs: begins again with it.
    fn begin_again(
        &mut self,
        cx: &mut Context,
        buf: Buf,
        is_settled: impl Fn(&Conflict) -> bool,
        told: &str,
    ) -> Result<()> {
        let settled =
            self.conflicts.iter().filter(|waiting| waiting.job.buf == buf && is_settled(&waiting.conflict));
        let asks: Vec<AskId> = settled.map(|waiting| waiting.ask).collect();
        for ask in asks {
            if let Some((job, _)) = self.close_conflict(cx, ask, |_| told.to_owned())? {
                self.step(cx, job, Input::Again)?;
            }
        }
        Ok(())
    }

    /// The disk has changed once more: what the file shows of it is drawn anew, unless a picker shows it. The answer to
    /// that one asks again.
    pub fn draw_conflict_again(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let is_meant = |waiting: &&Waiting| {
            waiting.job.buf == buf && !waiting.conflict.is_write() && waiting.asked != Asked::Now
        };
        let Some(waiting) = self.conflicts.iter().find(is_meant) else { return Ok(()) };
        let is_put_off = waiting.asked == Asked::PutOff;
        let (session, line) = (waiting.session, waiting.line);
        let earlier = EarlierQuestion { session, line, is_put_off, was_seen: is_put_off };
        let told = "nothing is left to decide, since the disk has changed again";
        let Some((mut job, _)) = self.close_conflict(cx, waiting.ask, |_| told.to_owned())? else {
            return Ok(());
        };
        job.earlier = Some(earlier);
        self.step(cx, job, Input::Again)
    }

    /// The text stays as the user has it, and that is told in this way: in the chat, and to the agent.
    fn leave_conflict(
        &mut self,
        cx: &mut Context,
        ask: AskId,
        told: fn(&Conflict) -> String,
        answer: fn(String) -> Answer,
    ) -> Result<()> {
        match self.close_conflict(cx, ask, told)? {
            Some((job, conflict)) => self.leave(cx, job, conflict.which(), answer),
            None => Ok(()),
        }
    }

    /// A turn is over: what the agent wanted to write in it is not asked about any more.
    pub fn drop_conflicts(&mut self, cx: &mut Context, session: SessionKey) -> Result<()> {
        let of_agent =
            self.conflicts.iter().filter(|waiting| waiting.session == session && waiting.conflict.is_write());
        let asks: Vec<AskId> = of_agent.map(|waiting| waiting.ask).collect();
        asks.into_iter().try_for_each(|ask| self.drop_conflict(cx, ask))
    }
}

/// Says in a line of the chat that a conflict waits: in the one that said so before, or in a new one.
fn say_in_chat(cx: &mut Context, session: SessionKey, line: Option<EntryId>, text: &str) -> Option<EntryId> {
    let now = cx.now();
    let chat = cx.sessions.get_mut(&session)?;
    match line {
        Some(line) => {
            chat.notice_again(line, Severity::Warning, text.to_owned());
            Some(line)
        }
        None => Some(chat.notice(Severity::Warning, text.to_owned(), now)),
    }
}

/// Has the open question about a conflict asked.
fn ask_next(cx: &mut Context, waiting: &mut Waiting) {
    let name = cx.short_name(Some(waiting.session), &waiting.job.path);
    let Some(Question { prompt, items }) = waiting.conflict.question(&name) else { return };
    if let Some(hunk) = waiting.conflict.place() {
        let covered = picker::rows_covered(&cx.editor, &prompt, &items);
        let shown =
            conflict_view::scroll_to(&cx.editor, waiting.job.buf, hunk, covered, &mut waiting.scrolled);
        cx.editor.notify_error(shown);
    }
    let ask = waiting.ask;
    let then = context::then(move |files: &mut Files, cx, item| files.conflict_answered(cx, ask, item));
    let preview = Rc::new(waiting.conflict.preview());
    let choosing = Choosing { ask, kind: "acp_conflict", prompt, items, preview, then };
    cx.raise(EditorEvent::QuestionAsked(Box::new(choosing)));
}
