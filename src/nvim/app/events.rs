//! What the background tells, event by event: which feature takes it in.

use mlua::Result;

use crate::config::Stay;
use crate::core::ids::{AskId, EntryId, Moment, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Access, Answer, Branch, Command, Event, Question, Severity};
use crate::core::session::lifecycle::Admitted;
use crate::core::session::outside::OutsideUse;
use crate::core::session::written_files::{FileChangeKind, Road};
use crate::core::store::checkpoint::Held;
use crate::core::terminal::shown::Program;
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::extensions::Call;
use crate::nvim::files::{Task, after_apply, whose};
use crate::nvim::questions::Questions;
use crate::nvim::sessions::Sessions;
use crate::nvim::sessions::user_events::permission_facts;

impl App {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub fn handle(&mut self, event: Event) -> Result<()> {
        let now = self.cx.now();
        let event = match self.sessions.incoming(event) {
            Admitted::Event(event) => *event,
            Admitted::Stale(answer) => return self.send_all(answer.into_iter().collect()),
        };
        self.note_work(&event);
        match event {
            Event::Started { agent, pid } => {
                self.sessions.agent_started(agent, pid);
            }
            Event::Connected { agent, info } => self.sessions.agent_connected(&mut self.cx, agent, &info),
            Event::Opened { session, opened } => self.sessions.opened(&mut self.cx, session, *opened),
            Event::OpenFailed { session, failure } => {
                self.sessions.open_failed(&mut self.cx, session, failure);
            }
            Event::Updated { session, update } => self.sessions.updated(&mut self.cx, session, update),
            Event::Asked { session: key, branch, ask, question } => {
                self.asked((key, branch.as_ref()), ask, question, now)?
            }
            Event::Called { agent: _, session, ask, method, params } => {
                self.extensions.called(&mut self.cx, session, Call { ask, method, params })
            }
            Event::ToolCalled { session, run, name, args } => {
                self.tools.called(&mut self.cx, session, run, (name, args));
            }
            Event::ToolServed { run, outcome } => self.tools.served(&mut self.cx, run, outcome),
            Event::Archived { agent, open, archived } => self.archived(agent, open, archived)?,
            Event::CommandRefused { session, command, rule } => {
                Sessions::command_refused(&mut self.cx, session, &command, rule);
            }
            Event::ToolsOutOfReach { session } => Sessions::without_tools(&mut self.cx, session),
            Event::ToolCancelled { run } => self.tools.cancelled(&mut self.cx, run),
            Event::Told { agent: _, session, method, params } => {
                self.extensions.told(&mut self.cx, session, method, params);
            }
            Event::Withdrawn { session, ask } => Sessions::withdrawn(&mut self.cx, session, ask),
            Event::TurnEnded { session, end } => self.sessions.turn_ended(&mut self.cx, session, end),
            Event::LeftRunning { session, commands } => {
                Sessions::left_running(&mut self.cx, session, commands);
            }
            Event::LeftSurvived { session, commands } => {
                Sessions::left_survived(&mut self.cx, session, &commands);
            }
            Event::Steered { session, content, outcome } => {
                Sessions::steered(&mut self.cx, session, content, outcome);
            }
            Event::Chosen { session, chosen } => self.sessions.chosen(&mut self.cx, session, chosen),
            Event::TitleKept { session, asked, title } => {
                self.sessions.title_kept(&mut self.cx, session, (&asked, &title))
            }
            Event::RequestFailed { agent, session, what, failure, again } => {
                self.sessions.not_chosen(session);
                Sessions::request_failed(&mut self.cx, (agent, session), &what, &failure, again);
            }
            Event::LoggedIn { agent } => self.sessions.logged_in(&mut self.cx, agent),
            Event::LoggedOut { agent } => {
                let text = "Logged out; :Acp login logs in again".to_owned();
                Sessions::note(&mut self.cx, (agent, None), Severity::Info, text);
            }
            Event::AuthReported { agent, status } => self.sessions.auth_reported(&mut self.cx, agent, status),
            Event::AgentsRead { job, stored, failure } => {
                self.agents.was_read(&mut self.cx, job, *stored, failure)?
            }
            Event::Allowed { allowed, trouble } => {
                Questions::offer_allowed(&mut self.cx, allowed, trouble);
            }
            Event::Advised { severity, text } => {
                let level = match severity {
                    Severity::Info => Level::Info,
                    Severity::Warning => Level::Warn,
                    Severity::Error => Level::Error,
                };
                self.cx.notify(text, level);
            }
            Event::Noted { agent, session, severity, text } => {
                Sessions::note(&mut self.cx, (agent, session), severity, text);
            }
            Event::TerminalStarted { session, terminal, command, cwd, typing } => {
                let program = Program { command, cwd, typing, started: now };
                self.terminals.started(&mut self.cx, (session, terminal), program)?;
            }
            Event::TerminalGrew { session, terminal, bytes, lines, skipped, cut } => {
                self.terminals.grew(&mut self.cx, (session, terminal), (&bytes, lines), (skipped, cut))?;
            }
            Event::TerminalEnded { session, terminal, exit } => {
                self.terminals.ended(&mut self.cx, (session, terminal), exit)?;
            }
            Event::Resolved { names } => self.files.resolved(&mut self.cx, names)?,
            Event::FilesChanged { cause, files } => self.files.files_changed(&mut self.cx, cause, files)?,
            Event::FileChanged { path, kind, cause } => {
                self.files.file_changed_outside(&mut self.cx, &path, &kind, cause)?
            }
            event @ Event::FileServed { .. } => self.file_served(event)?,
            event @ (Event::Found { .. }
            | Event::PastPrompts { .. }
            | Event::Adopted { .. }
            | Event::NotKept { .. }) => self.prompts.kept(&mut self.cx, event)?,
            Event::Computed { job, outcome } => {
                if let Some(then) = self.cx.take_job(job) {
                    then(self, outcome)?;
                }
            }
            Event::Recalled { job, kept } => self.sessions.recalled(&mut self.cx, job, kept)?,
            Event::LimitMet { session, span, measure } => {
                self.sessions.limit_met(&mut self.cx, session, span, measure);
            }
            Event::CountWanted { session, upto } => self.files.count(&mut self.cx, session, upto),
            Event::ChoicesRead { job, choices } => self.sessions.choices_read(&mut self.cx, job, choices)?,
            Event::AuditRead { job, reply } => self.audit.was_read(&mut self.cx, job, reply)?,
            Event::UsageRead { job, reply } => self.usage.was_read(&mut self.cx, job, reply)?,
            Event::Inspected(reply) => self.inspector.inspected(&mut self.cx, *reply)?,
            Event::Checkpointed { job, reply } => self.checkpoints.replied(&mut self.cx, job, reply)?,
            Event::FolderUnwatched { folder, why, is_looked_at } => {
                if !is_looked_at {
                    self.files.watching.tell_unseen(&mut self.cx, &folder, &why);
                }
                self.files.watching.unwatched.insert(folder, (why, is_looked_at));
            }
            Event::LeftUndecided { job, left } => {
                self.reviews.left_undecided(&mut self.cx, job, left)?;
            }
            Event::RecordFailed { text } => {
                self.cx.notify(text, Level::Warn);
            }
            Event::Listed { agent, sessions, next_cursor } => {
                self.sessions.listed(&mut self.cx, agent, sessions, next_cursor)?
            }
            Event::StatusTold { agent, acp_id, state } => {
                self.sessions.status_told(&mut self.cx, agent, &acp_id, state)?
            }
            Event::StoredTitleKept { agent, acp_id, asked, title } => {
                self.sessions.stored_title_kept(&mut self.cx, (agent, acp_id), (&asked, &title));
            }
            Event::Exited { agent, why } => self.sessions.agent_exited(&mut self.cx, agent, &why)?,
        }
        self.route()
    }

    /// What an agent does beside what it tells; a prompt that led to that is not sent again by itself.
    fn note_work(&mut self, event: &Event) {
        let session = match event {
            Event::Asked { session, .. }
            | Event::FileServed { session, .. }
            | Event::ToolCalled { session, .. }
            | Event::TerminalStarted { session, .. } => Some(*session),
            Event::Called { session, .. } => *session,
            _ => None,
        };
        if let Some(session) = session.and_then(|key| self.cx.sessions.get_mut(&key)) {
            session.agent_works();
        }
    }

    /// The session's agent is not at work any more, however that came.
    pub fn turn_left(&mut self, key: SessionKey) -> Result<()> {
        self.files.turn_left(&mut self.cx, key)?;
        self.route()?;
        self.reviews.clear_proposals(&self.cx, key)?;
        self.follow.turn_left(&mut self.cx, key)?;
        self.route()
    }

    fn asked(
        &mut self,
        (key, branch): (SessionKey, Option<&Branch>),
        ask: AskId,
        question: Question,
        now: Moment,
    ) -> Result<()> {
        if !self.cx.sessions.contains_key(&key) {
            return self.send(Command::Answer { ask, answer: Answer::Cancelled });
        }
        match question {
            Question::Permission { call, options } => {
                Sessions::permission_asked(&mut self.cx, (key, branch), ask, *call, options);
            }
            Question::Read { path, line, limit } => {
                let task = Task::Read { session: key, ask, line, limit, checked: false };
                self.files.file_task(&mut self.cx, path.clone(), task)?;
                self.route()?;
                self.follow.file_visited(
                    &mut self.cx,
                    key,
                    &path,
                    (Lines::span(line, limit), Verb::Reading),
                )?;
            }
            Question::Write { path, content } => {
                let task = Task::Write { session: key, ask, content, checked: false };
                self.files.file_task(&mut self.cx, path, task)?;
            }
            Question::Outside { path, target, access, why, command, judgement } => {
                let usage = OutsideUse { path, target, access, why, command, judgement };
                Questions::asked_outside(&mut self.cx, (key, ask), usage, now);
            }
            Question::Form { .. } | Question::Url { .. } => {
                Questions::elicited(&mut self.cx, (key, branch), ask, question, now);
            }
        }
        self.route()?;
        self.cx.raise(EditorEvent::SessionChanged(key));
        Ok(())
    }

    /// The agent has said how the turn ended.
    pub(super) fn turn_ended(&mut self, key: SessionKey) -> Result<()> {
        self.turn_left(key)?;
        self.reviews.settle_reviews(&mut self.cx, key, Stay::Turn)?;
        self.route()?;
        self.after_change(key)?;
        self.chats.settle(&self.cx, key)
    }

    pub(super) fn agent_exited(&mut self, key: SessionKey) -> Result<()> {
        self.files.watching.ended(key);
        self.turn_left(key)?;
        self.after_change(key)?;
        self.chats.settle(&self.cx, key)
    }

    pub(super) fn permission_asked(
        &mut self,
        key: SessionKey,
        (title, request): (&str, &str),
        entry: Option<EntryId>,
    ) {
        let Some(session) = self.cx.sessions.get(&key) else { return };
        let name = entry.map_or_else(|| session.name(), |entry| session.actor(entry));
        if self.cx.is_heard("AcpPermissionAsked") {
            let facts = permission_facts(session, title, entry);
            self.cx.emit("AcpPermissionAsked", key, facts);
        }
        self.cx.announce(key, &format!("{name} {request}"), Level::Warn);
    }

    /// The background has read or written a file for an agent.
    fn file_served(&mut self, event: Event) -> Result<()> {
        let Event::FileServed { session, path, resolved, access, created, before, after } = event else {
            return Ok(());
        };
        let verb = if access == Access::Wrote { Verb::Editing } else { Verb::Reading };
        self.follow.file_visited(&mut self.cx, session, &path, (None, verb))?;
        self.route()?;
        if access != Access::Wrote {
            return Ok(());
        }
        let kind = if created { FileChangeKind::Created } else { FileChangeKind::Changed };
        let texts = (before.clone(), after.clone());
        after_apply::note_write(&mut self.cx, session, (&resolved, Road::Editor), kind, texts);
        let was = before.clone().map_or(if created { Held::Absent } else { Held::Unknown }, Held::text);
        let is = after.clone().map_or(Held::Unknown, Held::text);
        if !self.files.on_disk.told.is_news(&resolved, &was, &is) && was != is {
            return Ok(());
        }
        self.changed(Change {
            session,
            call: whose::call_about(&self.cx, session, &resolved),
            others: Vec::new(),
            path: resolved,
            buf: None,
            held: (was, is),
            before: before.map(|text| text.plain_lines()),
            after: after.map(|text| text.plain_lines()),
            ranges: Vec::new(),
            lines: None,
            saved: true,
            is_in_buffer: false,
            unknown: None,
            renamed: None,
        })
    }
}
