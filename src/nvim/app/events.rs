//! What the background says, event by event: the session takes it in, and what else shows it is told.

use mlua::Result;
use serde_json::json;

use crate::core::ids::{AgentId, AskId, Moment, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{
    Access, Answer, Command, Event, FailureKind, Question, Severity, Steering, TurnEnd, Update,
};
use crate::core::session::LoggedIn;
use crate::core::session::lifecycle::Admitted;
use crate::core::store::checkpoint::Held;
use crate::core::terminal::shown::Program;
use crate::core::transcript::readable;
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::events::Change;
use crate::nvim::extensions::Call;
use crate::nvim::files::Task;
use crate::nvim::sessions::Sessions;

impl App {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub fn handle(&mut self, event: Event) -> Result<()> {
        let now = self.cx.now();
        let event = match self.sessions.incoming(event) {
            Admitted::Event(event) => *event,
            Admitted::Stale(answer) => return self.send_all(answer.into_iter().collect()),
        };
        match event {
            Event::Started { agent, pid } => {
                self.sessions.agent_started(agent, pid);
            }
            Event::Connected { agent, info } => {
                self.sessions.agent_connected(agent, (*info).clone());
                for key in self.cx.sessions_of(agent) {
                    if let Some(session) = self.cx.sessions.get_mut(&key) {
                        session.connected((*info).clone());
                    }
                    self.after_change(key)?;
                }
            }
            Event::Opened { session: key, opened } => {
                let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
                let commands = session.opened(*opened, now);
                self.sessions.opened_again(&mut self.cx, key);
                self.send_all(commands)?;
                self.cx.emit("AcpOpened", key, json!({}));
                self.after_change(key)?;
            }
            Event::OpenFailed { session: key, failure } => {
                self.cx.emit("AcpFailed", key, json!({ "message": failure.message }));
                let (kind, why) = (failure.kind, failure.message.clone());
                if let Some(session) = self.cx.sessions.get_mut(&key) {
                    session.open_failed(failure);
                }
                if matches!(kind, FailureKind::NotFound | FailureKind::Agent | FailureKind::Protocol) {
                    self.sessions.not_opened_again(&mut self.cx, key, &why);
                }
                self.after_change(key)?;
            }
            Event::Updated { session: key, update } => self.updated(key, update, now)?,
            Event::Asked { session: key, ask, question } => self.asked(key, ask, question, now)?,
            Event::Called { agent: _, session, ask, method, params } => {
                self.extensions.called(&mut self.cx, session, Call { ask, method, params })
            }
            Event::Told { agent: _, session, method, params } => {
                self.extensions.told(&mut self.cx, session, method, params);
            }
            Event::Withdrawn { session: key, ask } => {
                if let Some(session) = self.cx.sessions.get_mut(&key) {
                    session.withdrawn(ask, now);
                }
                self.after_change(key)?;
            }
            Event::TurnEnded { session: key, end } => self.turn_ended(key, end, now)?,
            Event::LeftRunning { session: key, commands } => {
                let how = match self.cx.config.keys.get("end_left").first() {
                    Some(lhs) => format!("{lhs} in the transcript ends it, :Acp terminal kill anywhere"),
                    None => ":Acp terminal kill ends it".to_owned(),
                };
                let session = self.cx.sessions.get_mut(&key);
                if let Some(text) = session.and_then(|session| session.left_running(commands, &how, now)) {
                    self.cx.advise(text, Level::Info);
                }
                self.after_change(key)?;
            }
            Event::LeftSurvived { session: key, commands } => {
                let session = self.cx.sessions.get_mut(&key);
                if let Some(text) = session.and_then(|session| session.could_not_end(&commands)) {
                    self.cx.advise(text, Level::Error);
                }
                self.after_change(key)?;
            }
            Event::Steered { session: key, content, outcome } => {
                let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
                let taken = !matches!(outcome, Steering::NotTaken(_));
                let commands = session.steered(content, outcome, now);
                if taken || !commands.is_empty() {
                    self.cx.emit(
                        "AcpPromptSent",
                        key,
                        if taken { json!({ "steered": true }) } else { json!({}) },
                    );
                }
                self.send_all(commands)?;
                self.after_change(key)?;
            }
            Event::Chosen { session: key, chosen } => {
                if let Some(session) = self.cx.sessions.get_mut(&key) {
                    session.chosen(chosen);
                }
                self.after_change(key)?;
            }
            Event::RequestFailed { agent, session, what, failure } => {
                let name = self.cx.agent_name(agent);
                let text = format!("{name} couldn't {what}: {}", failure.message);
                self.tell(agent, session, Severity::Error, text, now)?;
            }
            Event::LoggedIn { agent } => {
                for key in self.cx.sessions_of(agent) {
                    match self.cx.sessions.get_mut(&key).map(|session| session.logged_in(now)) {
                        Some(LoggedIn::Open) => {
                            Sessions::open_again(&mut self.cx, key);
                            self.serve_commands()?;
                        }
                        Some(LoggedIn::Send(commands)) => self.send_all(commands)?,
                        Some(LoggedIn::Nothing) | None => {}
                    }
                    self.after_change(key)?;
                }
            }
            Event::LoggedOut { agent } => {
                self.tell(agent, None, Severity::Info, "Logged out; :Acp login logs in again".into(), now)?;
            }
            Event::AgentsRead { job, stored, failure } => {
                self.agents.was_read(&mut self.cx, job, *stored, failure)?
            }
            Event::Allowed { allowed, trouble } => self.offer_allowed(allowed, trouble)?,
            Event::Advised { severity, text } => {
                let level = match severity {
                    Severity::Info => Level::Info,
                    Severity::Warning => Level::Warn,
                    Severity::Error => Level::Error,
                };
                self.cx.advise(text, level);
            }
            Event::Noted { agent, session, severity, text } => {
                self.tell(agent, session, severity, text, now)?
            }
            Event::TerminalStarted { session, terminal, command, cwd, typing } => {
                let program = Program { command, cwd, typing, started: now };
                self.terminals.started(&mut self.cx, (session, terminal), program)?;
            }
            Event::TerminalGrew { session, terminal, bytes, skipped, cut } => {
                self.terminals.grew(&mut self.cx, (session, terminal), &bytes, (skipped, cut))?;
            }
            Event::TerminalEnded { session, terminal, exit } => {
                self.terminals.ended(&mut self.cx, (session, terminal), exit)?;
            }
            Event::Resolved { names } => self.resolved(names)?,
            Event::FileChanged { path, kind } => self.file_changed_outside(&path, &kind)?,
            Event::FileServed { session: key, path, resolved, access, created, before, after } => {
                let verb = if access == Access::Wrote { Verb::Editing } else { Verb::Reading };
                self.file_visited(key, &path, None, verb)?;
                if access == Access::Wrote {
                    let call = self.call_about(key, &resolved);
                    self.changed(Change {
                        session: key,
                        call,
                        path: resolved,
                        buf: None,
                        held: (
                            before
                                .clone()
                                .map_or(if created { Held::Absent } else { Held::Unknown }, Held::Text),
                            after.clone().map_or(Held::Unknown, Held::Text),
                        ),
                        before: before.map(|text| text.plain_lines()),
                        after: after.map(|text| text.plain_lines()),
                        ranges: Vec::new(),
                        lines: None,
                        saved: true,
                    })?;
                }
            }
            event @ (Event::Found { .. }
            | Event::PastPrompts { .. }
            | Event::Adopted { .. }
            | Event::NotKept { .. }) => self.kept(event)?,
            Event::Computed { job, outcome } => self.computed(job, outcome)?,
            Event::Recalled { job, kept } => self.sessions.recalled(&mut self.cx, job, kept)?,
            Event::Checkpointed { job, reply } => self.checkpointed(job, reply)?,
            Event::RecordFailed { text } => {
                self.cx.advise(text, Level::Warn);
            }
            Event::Listed { agent, sessions, next_cursor } => {
                self.sessions.listed(&mut self.cx, agent, sessions, next_cursor)?
            }
            Event::Exited { agent, why } => {
                self.sessions.agent_exited(agent);
                for key in self.cx.sessions_of(agent) {
                    self.files.watching.ended(key);
                    self.sessions.tell_turn_lost(&mut self.cx, key, "the agent has ended");
                    if let Some(session) = self.cx.sessions.get_mut(&key) {
                        session.exited(why.clone(), now);
                        let name = session.name();
                        if !why.expected {
                            self.cx.emit("AcpFailed", key, json!({ "stderr": why.stderr }));
                            self.cx.announce(key, &format!("{name} has ended"), Level::Error);
                        }
                    }
                    self.turn_left(key)?;
                    self.after_change(key)?;
                    self.settle(key)?;
                }
            }
        }
        Ok(())
    }

    /// The session's agent is not at work any more, however that came.
    pub fn turn_left(&mut self, key: SessionKey) -> Result<()> {
        self.drop_conflicts(key)?;
        self.reviews.clear_proposals(&self.cx, key)?;
        self.no_longer_at_work(key)
    }

    fn updated(&mut self, key: SessionKey, update: Update, now: Moment) -> Result<()> {
        let call = match &update {
            Update::ToolCall(patch) => {
                Some((patch.id.clone(), patch.locations.is_some(), patch.content.is_some()))
            }
            _ => None,
        };
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let titled = matches!(update, Update::Info { title: Some(_), .. });
        session.apply(update, now);
        if titled {
            self.sessions.keep_title(&mut self.cx, key);
        }
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        if let Some((id, moved, content)) = call
            && let Some(entry) = session.call_entry(&id)
        {
            if moved || content {
                self.watch_files_of(key, entry)?;
            }
            self.tool_changed(key, entry, moved, content)?;
        }
        self.after_change(key)
    }

    fn asked(&mut self, key: SessionKey, ask: AskId, question: Question, now: Moment) -> Result<()> {
        if !self.cx.sessions.contains_key(&key) {
            return self.send(Command::Answer { ask, answer: Answer::Cancelled });
        }
        match question {
            Question::Permission { call, options } => {
                let id = call.id.clone();
                let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
                let commands = session.asked(ask, *call, options, now);
                let waits = commands.is_empty();
                let entry = session.call_entry(&id);
                let title = entry.and_then(|entry| session.entry(entry)).and_then(|entry| entry.tool());
                let title = title.map(|call| call.headline()).unwrap_or_default();
                let name = session.name();
                self.send_all(commands)?;
                if let Some(entry) = entry {
                    self.watch_files_of(key, entry)?;
                    self.tool_changed(key, entry, true, true)?;
                }
                if waits {
                    self.cx.emit("AcpPermissionAsked", key, json!({ "title": title }));
                    self.cx.announce(key, &format!("{name} asks: {title}"), Level::Warn);
                }
            }
            Question::Read { path, line, limit } => {
                let task = Task::Read { session: key, ask, line, limit, checked: false };
                self.file_task(path.clone(), task)?;
                self.file_visited(key, &path, Lines::span(line, limit), Verb::Reading)?;
            }
            Question::Write { path, content } => {
                self.file_task(path, Task::Write { session: key, ask, content, checked: false })?;
            }
            Question::Outside { path, target, access, linked } => {
                self.asked_outside(key, ask, (path, target), (access, linked), now)?;
            }
            Question::Form { .. } | Question::Url { .. } => self.elicited(key, ask, question, now)?,
        }
        self.after_change(key)
    }

    fn turn_ended(&mut self, key: SessionKey, end: TurnEnd, now: Moment) -> Result<()> {
        let (reason, failed) = match &end {
            TurnEnd::Stopped { reason, .. } => (reason.word().to_owned(), None),
            TurnEnd::Failed(failure) => ("failed".to_owned(), Some(failure.message.clone())),
        };
        let is_heard = self.cx.has_listeners("AcpTurnEnded");
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        // An answer may be as long as the agent likes.
        let text = if is_heard { session.answer_text() } else { String::new() };
        let commands = session.turn_ended(end, now);
        let name = session.name();
        // Before what waited in line is sent, which begins the next one.
        let turn = self.sessions.turn_of(key);
        let data = json!({ "stop_reason": reason, "error": failed, "turn": turn, "text": text });
        self.cx.emit("AcpTurnEnded", key, data);
        self.send_all(commands)?;
        self.turn_left(key)?;
        self.settle_reviews(key, crate::config::Stay::Turn)?;
        self.after_change(key)?;
        self.settle(key)?;
        match failed {
            Some(message) => self.cx.announce(key, &format!("{name}: {}", readable(&message)), Level::Error),
            None => self.cx.announce(key, &format!("{name} is done"), Level::Info),
        }
        Ok(())
    }

    fn tell(
        &mut self,
        agent: AgentId,
        session: Option<SessionKey>,
        severity: Severity,
        text: String,
        now: Moment,
    ) -> Result<()> {
        let keys = session.map_or_else(|| self.cx.sessions_of(agent), |key| vec![key]);
        for key in keys {
            if let Some(session) = self.cx.sessions.get_mut(&key) {
                session.notice(severity, text.clone(), now);
            }
            self.after_change(key)?;
        }
        Ok(())
    }
}
