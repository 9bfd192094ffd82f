//! Lines that the user and somebody else changed, each in their own way: both are shown in the file, and
//! the user says which are to stand, by the same rules as for permission. Until then the file is as the
//! user left it. Merging is the core's business.

use std::path::Path;

use mlua::{Result, Value};

use crate::config::OnConflict;
use crate::core::changes::reconcile::{Clash, Pick};
use crate::core::ids::{AskId, SessionKey};
use crate::core::message::Severity;
use crate::core::text::visible::visible;
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::files::{FileJob, Task};
use crate::nvim::follow;

/// Lines of the other side that are shown; the file itself has them all once they are taken.
const SHOWN: usize = 60;

/// The conflicts that wait for the user, oldest first.
#[derive(Default)]
pub struct Conflicts {
    open: Vec<Conflict>,
    count: u64,
}

struct Conflict {
    /// A question of our own: no agent knows of it.
    ask: AskId,
    session: SessionKey,
    job: Box<FileJob>,
    clashes: Vec<Clash>,
    /// Who the other side is.
    them: String,
}

impl Conflicts {
    pub fn about(&self, path: &Path) -> bool {
        self.open.iter().any(|conflict| conflict.job.path == path)
    }

    /// The one to be decided in a buffer.
    pub fn of(&self, buf: Buf) -> Option<AskId> {
        self.open.iter().find(|conflict| conflict.job.buf == buf).map(|conflict| conflict.ask)
    }

    pub fn waiting(&self) -> impl Iterator<Item = (SessionKey, AskId)> {
        self.open.iter().map(|conflict| (conflict.session, conflict.ask))
    }

    pub fn is_open(&self, ask: AskId) -> bool {
        self.open.iter().any(|conflict| conflict.ask == ask)
    }

    fn take(&mut self, ask: AskId) -> Option<Conflict> {
        let at = self.open.iter().position(|conflict| conflict.ask == ask)?;
        Some(self.open.remove(at))
    }
}

const REFUSED: &str = "the user has changed the same lines since you read the file; read it again, then \
                       write it";

impl App {
    pub fn clashed(&mut self, mut job: Box<FileJob>, clashes: Vec<Clash>) -> Result<()> {
        let session = job.session().or(self.cx.current).filter(|key| self.cx.sessions.contains_key(key));
        match (self.cx.config.files.conflict, session) {
            (OnConflict::Markers, _) => {
                job.rest = Some(Pick::Markers);
                let name = self.cx.short_name(job.session(), &job.path);
                let text = format!(
                    "{name} has conflict markers ({}): you and the agent changed the same lines",
                    places(clashes.len())
                );
                self.note(job.session(), Severity::Warning, text)?;
                self.read_on(job)
            }
            (OnConflict::Ask, Some(session)) => {
                let them = match (&job.task, self.cx.sessions.get(&session)) {
                    (Task::Write { .. }, Some(session)) => session.name(),
                    _ => "the disk".to_owned(),
                };
                self.conflicts.count += 1;
                let ask = AskId(u64::MAX - self.conflicts.count);
                self.show_clashes(job.buf, &clashes, &them)?;
                let text = format!(
                    "{} waits for you: you and {them} changed the same lines ({})",
                    self.cx.short_name(Some(session), &job.path),
                    places(clashes.len())
                );
                self.conflicts.open.push(Conflict { ask, session, job, clashes, them });
                self.note(Some(session), Severity::Warning, text.clone())?;
                self.announce(session, &text, Level::Warn);
                self.asking.retry = true;
                Ok(())
            }
            _ => self.leave(job),
        }
    }

    /// The file stays as the user has it.
    fn leave(&mut self, job: Box<FileJob>) -> Result<()> {
        match job.task {
            Task::Take { .. } => {
                let name = self.cx.short_name(job.session(), &job.path);
                let text = format!(
                    "{name} was changed on the disk, too, in lines that you changed: the buffer keeps yours; \
                     :edit! takes those of the disk, :write! puts yours there"
                );
                self.note(job.session(), Severity::Warning, text)?;
            }
            _ => self.refuse_task(&job.path, &job.task, REFUSED)?,
        }
        self.end_task(&job)
    }

    pub fn put_up_conflict(&mut self, ask: AskId) {
        let Some(conflict) = self.conflicts.open.iter().find(|conflict| conflict.ask == ask) else { return };
        let name = self.cx.short_name(Some(conflict.session), &conflict.job.path);
        let them = conflict.them.clone();
        let count = conflict.clashes.len();
        let buf = conflict.job.buf;
        let prompt = format!("{name}: you and {them} changed the same lines ({})", places(count));
        let mut choices = vec![
            (format!("Take {}", whose(&them)), Choice::All(Pick::Theirs)),
            ("Keep mine".to_owned(), Choice::All(Pick::Ours)),
            ("Both, with conflict markers".to_owned(), Choice::All(Pick::Markers)),
        ];
        if count > 1 {
            choices.push(("One by one".to_owned(), Choice::Each));
        }
        let leave = match conflict.job.task {
            Task::Take { .. } => "Decide later",
            _ => "Refuse the write",
        };
        choices.push((leave.to_owned(), Choice::Leave));
        let done = self.show_in_window(buf);
        self.cx.editor.complain(done);
        let items = choices.iter().map(|(item, _)| item.clone()).collect();
        self.ask_to_choose(ask, "acp_conflict", prompt, items, move |app, index| {
            match index.and_then(|index| choices.get(index)).map(|(_, choice)| *choice) {
                Some(Choice::All(pick)) => app.settle_conflict(ask, Vec::new(), Some(pick)),
                Some(Choice::Each) => {
                    app.put_up_clash(ask, Vec::new());
                    Ok(())
                }
                Some(Choice::Leave) => app.drop_conflict(ask),
                None => {
                    app.conflict_left_open(ask);
                    Ok(())
                }
            }
        });
    }

    /// Asks about one place after the other.
    fn put_up_clash(&mut self, ask: AskId, picks: Vec<Pick>) {
        let Some(conflict) = self.conflicts.open.iter().find(|conflict| conflict.ask == ask) else { return };
        let Some(clash) = conflict.clashes.get(picks.len()) else { return };
        let (number, count) = (picks.len() + 1, conflict.clashes.len());
        let name = self.cx.short_name(Some(conflict.session), &conflict.job.path);
        let prompt = format!("{name}:{} ({number} of {count})", clash.row + 1);
        let first = |lines: &[String]| match lines {
            [] => "(no lines)".to_owned(),
            [line] => line.trim().to_owned(),
            [line, rest @ ..] => format!("{} (and {} more)", line.trim(), rest.len()),
        };
        let items = vec![
            format!("Take {}: {}", whose(&conflict.them), first(&clash.theirs)),
            format!("Keep mine: {}", first(&clash.ours)),
            "Both, with conflict markers".to_owned(),
        ];
        self.ask_to_choose(ask, "acp_conflict", prompt, items, move |app, index| {
            let all = [Pick::Theirs, Pick::Ours, Pick::Markers];
            let Some(pick) = index.and_then(|index| all.get(index)) else {
                app.conflict_left_open(ask);
                return Ok(());
            };
            let picks: Vec<Pick> = picks.into_iter().chain([*pick]).collect();
            if picks.len() == count {
                return app.settle_conflict(ask, picks, None);
            }
            app.put_up_clash(ask, picks);
            Ok(())
        });
    }

    fn conflict_left_open(&mut self, ask: AskId) {
        self.asking.put_off(ask);
        self.cx.advise("left open; :Acp answer asks again".to_owned(), Level::Info);
    }

    /// The user has decided; the text is merged anew, since the user may have typed meanwhile.
    fn settle_conflict(&mut self, ask: AskId, picks: Vec<Pick>, rest: Option<Pick>) -> Result<()> {
        let Some(mut conflict) = self.conflicts.take(ask) else { return Ok(()) };
        self.asking.retry = true;
        self.clear_clashes(conflict.job.buf)?;
        (conflict.job.picks, conflict.job.rest) = (picks, rest);
        self.stage(conflict.job, Self::examine)
    }

    fn drop_conflict(&mut self, ask: AskId) -> Result<()> {
        let Some(conflict) = self.conflicts.take(ask) else { return Ok(()) };
        self.asking.retry = true;
        self.clear_clashes(conflict.job.buf)?;
        self.leave(conflict.job)
    }

    /// A turn is over: what the agent wanted to write in it is not asked about any more.
    pub fn drop_conflicts(&mut self, session: SessionKey) -> Result<()> {
        let of_agent = |conflict: &&Conflict| {
            conflict.session == session && matches!(conflict.job.task, Task::Write { .. })
        };
        let asks: Vec<AskId> =
            self.conflicts.open.iter().filter(of_agent).map(|conflict| conflict.ask).collect();
        asks.into_iter().try_for_each(|ask| self.drop_conflict(ask))
    }

    // In the file.

    fn show_clashes(&self, buf: Buf, clashes: &[Clash], them: &str) -> Result<()> {
        let ns = self.cx.editor.namespace("acp.conflict")?;
        let last = self.cx.editor.line_count(buf)?;
        for clash in clashes {
            for row in clash.row..(clash.row + clash.ours.len()).min(last) {
                let options =
                    self.cx.editor.table([("line_hl_group", self.cx.editor.string("AcpConflict")?)])?;
                self.cx.editor.set_extmark(buf, ns, row, 0, options)?;
            }
            let mut lines = vec![(format!("\u{256d} {}", whose(them)), "AcpMeta")];
            lines.extend(
                clash.theirs.iter().take(SHOWN).map(|line| (visible(line).into_owned(), "AcpDiffAdd")),
            );
            match clash.theirs.len() {
                0 => lines.push(("(these lines are gone)".to_owned(), "AcpMeta")),
                many if many > SHOWN => lines.push((format!("\u{2026} {} more", many - SHOWN), "AcpMeta")),
                _ => {}
            }
            let virtual_lines = self.cx.editor.lua.create_table()?;
            for (text, group) in lines {
                let chunk = self.cx.editor.lua.create_sequence_from([text.as_str(), group])?;
                virtual_lines.push(self.cx.editor.lua.create_sequence_from([chunk])?)?;
            }
            let (row, above) = match clash.row + clash.ours.len() {
                0 => (0, true),
                end => (end - 1, false),
            };
            let options = self.cx.editor.table([
                ("virt_lines", Value::Table(virtual_lines)),
                ("virt_lines_above", Value::Boolean(above)),
            ])?;
            self.cx.editor.set_extmark(buf, ns, row.min(last - 1), 0, options)?;
        }
        Ok(())
    }

    fn clear_clashes(&self, buf: Buf) -> Result<()> {
        if !self.cx.editor.buf_is_valid(buf) {
            return Ok(());
        }
        self.cx.editor.clear_namespace(buf, self.cx.editor.namespace("acp.conflict")?, 0, -1)
    }

    /// What is asked about is to be seen; the cursor stays where it is.
    fn show_in_window(&self, buf: Buf) -> Result<()> {
        let here = self.cx.editor.tab_wins()?;
        if !self.cx.editor.buf_is_loaded(buf)
            || self.cx.editor.wins_of(buf).iter().any(|win| here.contains(win))
        {
            return Ok(());
        }
        if let Some(win) = follow::code_window(&self.cx.editor)?
            && (win != self.cx.editor.current_win()? || self.cx.editor.mode().0 == "n")
        {
            self.cx.editor.set_win_buf(win, buf)?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Choice {
    All(Pick),
    Each,
    Leave,
}

fn places(count: usize) -> String {
    if count == 1 { "1 place".to_owned() } else { format!("{count} places") }
}

fn whose(them: &str) -> String {
    if them == "the disk" { "what is on the disk".to_owned() } else { format!("{them}'s") }
}
