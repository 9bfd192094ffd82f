//! Lines that the user and somebody else changed, each in their own way: both are shown in the file, and
//! the user says which are to stand, by the same rules as for permission. Until then the file is as the
//! user left it. Merging is the core's business.

use std::rc::Rc;

use mlua::{Result, Value};

use crate::config::OnConflict;
use crate::core::changes::conflict::{Conflict, Decision, Question, places, which};
use crate::core::changes::file_job::Input;
use crate::core::changes::file_task::Task;
use crate::core::changes::reconcile::{ConflictHunk, Pick};
use crate::core::ids::{AskId, SessionKey};
use crate::core::message::Severity;
use crate::core::text::visible::visible;
use crate::nvim::context::conflicts::OpenConflict;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::{Buf, Editor, Level};
use crate::nvim::events::{Choosing, EditorEvent};
use crate::nvim::files::Files;
use crate::nvim::files::job::{Job, Waiting};

/// Lines of the other side that are shown; the file itself has them all once they are taken.
const SHOWN: usize = 60;

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
    pub fn on_conflict(&mut self, cx: &mut Context, job: Box<Job>, hunks: Vec<ConflictHunk>) -> Result<()> {
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
                let conflict = Conflict::new(hunks, them, is_write);
                self.conflict_count += 1;
                let ask = AskId(u64::MAX - self.conflict_count);
                show_clashes(&cx.editor, job.buf, &conflict)?;
                let text = format!(
                    "{} waits for you: you and {} changed {which} ({}); :Acp answer",
                    cx.short_name(Some(session), &job.path),
                    conflict.them(),
                    conflict.places()
                );
                cx.raise(EditorEvent::ConflictShown(job.buf));
                cx.conflicts.add(OpenConflict { ask, session, path: job.path.clone(), buf: job.buf });
                self.conflicts.push(Waiting { ask, session, job, conflict });
                self.tell_session(cx, session);
                cx.note(Some(session), Severity::Warning, text.clone());
                cx.announce(session, &text, Level::Warn);
                cx.raise(EditorEvent::QuestionsChanged);
                Ok(())
            }
            _ => self.leave(cx, job, which),
        }
    }

    /// The file stays as the user has it.
    fn leave(&mut self, cx: &mut Context, job: Box<Job>, which: &str) -> Result<()> {
        match job.task() {
            Task::Take { .. } => {
                let name = cx.short_name(job.session(), &job.path);
                let text = format!(
                    "{name}: you and the disk changed {which}: the buffer keeps yours; \
                     :edit! takes those of the disk, :write! puts yours there"
                );
                cx.note(job.session(), Severity::Warning, text);
            }
            _ => self.refuse_task(cx, &job.path, job.task(), &refused(which)),
        }
        self.end_task(cx, &job)
    }

    /// Asks about a conflict, from its first question on; what it is about is shown.
    pub fn ask_about_conflict(&mut self, cx: &mut Context, ask: AskId) {
        let Some(waiting) = self.conflicts.iter_mut().find(|waiting| waiting.ask == ask) else { return };
        waiting.conflict.begin();
        let done = show_in_window(&cx.editor, waiting.job.buf);
        cx.editor.notify_error(done);
        ask_next(cx, waiting);
    }

    /// The user has answered the question, or closed it.
    fn conflict_answered(&mut self, cx: &mut Context, ask: AskId, item: Option<usize>) -> Result<()> {
        let Some(waiting) = self.conflicts.iter_mut().find(|waiting| waiting.ask == ask) else {
            return Ok(());
        };
        match waiting.conflict.answer(item) {
            Decision::Pick { picks, rest } => return self.settle_conflict(cx, ask, (picks, rest)),
            Decision::Leave => return self.drop_conflict(cx, ask),
            Decision::Continue => ask_next(cx, waiting),
            Decision::PutOff => {
                cx.raise(EditorEvent::QuestionClosed(ask));
                cx.notify_of_question("left open: :Acp answer asks again", Level::Info);
            }
        }
        Ok(())
    }

    /// Takes a conflict off the screen.
    fn close_conflict(&mut self, cx: &mut Context, ask: AskId) -> Result<Option<(Box<Job>, Conflict)>> {
        let Some(at) = self.conflicts.iter().position(|waiting| waiting.ask == ask) else { return Ok(None) };
        let Waiting { job, conflict, session, .. } = self.conflicts.remove(at);
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
        let Some((job, conflict)) = self.close_conflict(cx, ask)? else { return Ok(()) };
        let name = cx.short_name(job.session(), &job.path);
        let text = format!("{name}: you {}", conflict.told(&picks, rest));
        cx.note(job.session(), Severity::Info, text);
        self.step(cx, job, Input::Picked { picks, rest })
    }

    fn drop_conflict(&mut self, cx: &mut Context, ask: AskId) -> Result<()> {
        match self.close_conflict(cx, ask)? {
            Some((job, conflict)) => self.leave(cx, job, conflict.which()),
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

// In the file.

fn show_clashes(editor: &Editor, buf: Buf, conflict: &Conflict) -> Result<()> {
    let ns = editor.namespace("acp.conflict")?;
    let last = editor.line_count(buf)?;
    for hunk in &conflict.hunks {
        for row in hunk.row..(hunk.row + hunk.ours.len()).min(last) {
            let options = editor.table([("line_hl_group", editor.string("AcpConflict")?)])?;
            editor.set_extmark(buf, ns, row, 0, options)?;
        }
        let mut lines = vec![(format!("\u{256d} {}", conflict.theirs()), "AcpMeta")];
        lines.extend(hunk.theirs.iter().take(SHOWN).map(|line| (visible(line).into_owned(), "AcpDiffAdd")));
        match hunk.theirs.len() {
            0 => lines.push(("(these lines are gone)".to_owned(), "AcpMeta")),
            many if many > SHOWN => lines.push((format!("\u{2026} {} more", many - SHOWN), "AcpMeta")),
            _ => {}
        }
        let virtual_lines = editor.lua.create_table()?;
        for (text, group) in lines {
            let chunk = editor.lua.create_sequence_from([text.as_str(), group])?;
            virtual_lines.push(editor.lua.create_sequence_from([chunk])?)?;
        }
        let (row, above) = match hunk.row + hunk.ours.len() {
            0 => (0, true),
            end => (end - 1, false),
        };
        let options = editor.table([
            ("virt_lines", Value::Table(virtual_lines)),
            ("virt_lines_above", Value::Boolean(above)),
        ])?;
        editor.set_extmark(buf, ns, row.min(last - 1), 0, options)?;
    }
    Ok(())
}

/// Has the open question about a conflict asked.
fn ask_next(cx: &mut Context, waiting: &Waiting) {
    let name = cx.short_name(Some(waiting.session), &waiting.job.path);
    let Some(Question { prompt, items }) = waiting.conflict.question(&name) else { return };
    let ask = waiting.ask;
    let then = context::then(move |files: &mut Files, cx, item| files.conflict_answered(cx, ask, item));
    let choosing = Choosing { ask, kind: "acp_conflict", prompt, items, preview: Rc::default(), then };
    cx.raise(EditorEvent::QuestionAsked(Box::new(choosing)));
}

fn clear_clashes(editor: &Editor, buf: Buf) -> Result<()> {
    if !editor.buf_is_valid(buf) {
        return Ok(());
    }
    editor.clear_namespace(buf, editor.namespace("acp.conflict")?, 0, -1)
}

/// What is asked about is to be seen; the cursor stays where it is.
fn show_in_window(editor: &Editor, buf: Buf) -> Result<()> {
    let here = editor.tab_wins()?;
    if !editor.buf_is_loaded(buf) || editor.wins_of(buf).iter().any(|win| here.contains(win)) {
        return Ok(());
    }
    if let Some(win) = code_window(editor)?
        && (win != editor.current_win()? || editor.mode().0 == "n")
    {
        editor.set_win_buf(win, buf)?;
    }
    Ok(())
}
