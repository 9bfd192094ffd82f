//! How a session begins and ends: connecting, opening, logging in, replacing a dead process, and what is
//! shown when the agent is gone. Everything in between is left to `turn` and `updates`.

use super::{Phase, Queued, Session, Turn};
use crate::core::ids::{AgentId, EntryId, Moment};
use crate::core::message::{
    Again, AgentInfo, AuthMethod, Command, Ending, Exit, Failure, FailureKind, Opened, Reopen, Severity,
};
use crate::core::session::entry::{Body, Entry, Greeting, Restart, Steps, Verdict};
use crate::core::session::tool_call::Cause;
use crate::core::text::one_line;

/// What a login leads to.
#[derive(Debug, PartialEq)]
pub enum LoggedIn {
    Nothing,
    Open,
    Send(Vec<Command>),
}

impl Session {
    /// The agent failed before it had said anything, so that a new chat may take this one's place.
    pub fn never_lived(&self) -> bool {
        let is_over =
            |body: &Body| matches!(body, Body::Greeting(Greeting::Failed { .. } | Greeting::Stopped { .. }));
        matches!(&self.entries[..], [only] if is_over(&only.body))
    }

    pub fn connected(&mut self, info: AgentInfo) {
        self.info = Some(info);
        let title = self.name();
        self.greet(Greeting::Opening { title });
    }

    /// The session is open; prompts that were sent before may go now.
    pub fn opened(&mut self, opened: Opened, now: Moment) -> Vec<Command> {
        if matches!(self.phase, Phase::Ending { .. } | Phase::Gone) {
            return Vec::new();
        }
        let Opened { acp_id, modes, models, options } = opened;
        self.acp_id = Some(acp_id);
        self.opening_times = 0;
        self.keep_waiting_prompt();
        let taken_up = self.taking_up.take().map(|(_, how)| how);
        let is_new = taken_up.is_none();
        // A fork has cost nothing yet.
        self.meter.opened(!matches!(taken_up, None | Some(Reopen::Fork)));
        self.end_thought(now);
        self.speaker_shown = false;
        // What was told again of an earlier time is all that there is of it.
        self.close_calls(&Cause::TurnEnded, now);
        self.turn = Turn::default();
        self.modes = modes;
        self.models = models;
        self.options = options;
        self.phase = Phase::Idle;
        let version = self.info.as_ref().and_then(|info| info.version.clone());
        // Nor after a restart of a chat in which nothing was said.
        let is_known = |entry: &Entry| {
            matches!(
                entry.body,
                Body::User { .. }
                    | Body::Greeting(Greeting::Ready { steps: Steps::Prompt | Steps::Replay(_), .. })
            )
        };
        let last = self.entries.iter().rposition(|entry| matches!(entry.body, Body::Greeting(_)));
        let mut before = self.entries.iter().enumerate().filter(|(at, _)| Some(*at) != last);
        let steps = match self.replay {
            _ if before.any(|(_, entry)| is_known(entry)) => Steps::Said,
            Some(replay) => Steps::Replay(replay.pace),
            None => Steps::Prompt,
        };
        let is_confined = self.sandbox.is_some();
        let last = self.last_chat_to_offer().filter(|_| steps == Steps::Prompt && is_new);
        self.greet(Greeting::Ready { title: self.name(), version, is_confined, steps, last });
        let mut commands = if is_new { self.set_defaults(now) } else { Vec::new() };
        commands.extend(self.go_on_after_login(now));
        commands
    }

    /// The agent does something only after a login; it is done again then.
    pub fn login_wanted(&mut self, what: &str, failure: &Failure, again: Option<Again>, now: Moment) {
        if let Some(again) = again {
            // Of two choices of the same thing the later one counts.
            self.after_login.retain(|earlier| !earlier.is_replaced_by(&again));
            self.after_login.push(again);
        }
        let text = format!(
            "{} wants you to log in before it can {what}: {}\n:Acp login logs in; then it is tried again",
            self.name(),
            one_line(&failure.message)
        );
        self.notice(Severity::Warning, text, now);
        if self.phase == Phase::Idle {
            self.phase = Phase::LoginNeeded;
        }
        self.status_touched = true;
    }

    /// What waited for a login, and then the prompt that waits.
    fn go_on_after_login(&mut self, now: Moment) -> Vec<Command> {
        // The agent may have been started again for the login.
        let again = std::mem::take(&mut self.after_login).into_iter();
        let mut commands: Vec<Command> = again.map(|again| again.command(self.agent, self.key)).collect();
        commands.extend(self.next_prompt(now));
        commands
    }

    pub fn open_failed(&mut self, failure: Failure) {
        // That the agent is gone is about to be told, as what the user wanted, or was told.
        if matches!(self.phase, Phase::Ending { .. } | Phase::Gone) {
            return;
        }
        self.keep_waiting_prompt();
        let methods: Vec<AuthMethod> =
            self.info.as_ref().map(|info| info.auth_methods.clone()).unwrap_or_default();
        if failure.kind == FailureKind::AuthRequired {
            self.phase = Phase::LoginNeeded;
            self.greet(Greeting::LoginNeeded { title: self.name(), methods, message: failure.message });
        } else {
            self.phase = Phase::Gone;
            let name = self.name();
            if failure.kind.is_final() {
                // It would be refused again.
                self.taking_up = None;
            }
            let restart = self.restart();
            self.greet(match failure.kind {
                FailureKind::Cancelled => Greeting::Stopped { name, restart },
                _ => Greeting::Failed { name, failure, stderr: Vec::new(), restart },
            });
        }
    }

    /// Logged in: what waited for it goes on. A session that was never opened has to be opened by the
    /// caller, who is told so.
    pub fn logged_in(&mut self, now: Moment) -> LoggedIn {
        if self.phase != Phase::LoginNeeded {
            return match self.acp_id.is_some() && !self.after_login.is_empty() {
                true => LoggedIn::Send(self.go_on_after_login(now)),
                false => LoggedIn::Nothing,
            };
        }
        if self.acp_id.is_some() {
            self.phase = Phase::Idle;
            self.status_touched = true;
            return LoggedIn::Send(self.go_on_after_login(now));
        }
        self.phase = Phase::Opening { since: now };
        self.greet(Greeting::Opening { title: self.name() });
        LoggedIn::Open
    }

    /// The agent was told to end: what is typed from here on waits for another one.
    pub fn ending(&mut self, now: Moment) {
        if matches!(self.phase, Phase::Ending { .. } | Phase::Gone) {
            return;
        }
        self.keep_waiting_prompt();
        self.phase = Phase::Ending { since: now, in_turn: self.is_working() };
        self.status_touched = true;
    }

    /// A new process takes the place of another one; the transcript stays.
    pub fn restarted(&mut self, agent: AgentId, command: &str, now: Moment) {
        self.lose_agent(now);
        self.agent = agent;
        let how = self.restart();
        let stored = self.acp_id.take();
        self.text_stays |= stored.is_some();
        self.taking_up = match (stored, how) {
            (Some(id), Restart::Resume) => Some((id, Reopen::Resume)),
            (Some(id), Restart::Load) => Some((id, Reopen::Load)),
            // Another process need not know the session that it would be a fork of.
            _ => self.taking_up.take().filter(|(_, how)| *how != Reopen::Fork),
        };
        self.info = None;
        if let Some(replay) = &mut self.replay {
            // It is played from its beginning.
            replay.is_over = false;
        }
        self.suggestions.clear();
        self.phase = Phase::Opening { since: now };
        self.turn = Turn::default();
        self.speaker_shown = false;
        self.restart_is_done();
        let body = Body::Greeting(Greeting::Connecting { name: self.name(), command: command.to_owned() });
        match self.entries.last().map(|entry| &entry.body) {
            Some(Body::Greeting(Greeting::Failed { .. } | Greeting::Gone { .. }))
                if self.entries.len() == 1 =>
            {
                self.entries[0].body = body;
                self.touched.insert(EntryId(0));
            }
            _ => {
                self.add(body, now);
            }
        }
        self.status_touched = true;
    }

    /// What was said about starting the agent again is not to be done any more.
    fn restart_is_done(&mut self) {
        for (index, entry) in self.entries.iter_mut().enumerate() {
            if let Body::Greeting(
                Greeting::Failed { restart, .. }
                | Greeting::Gone { restart, .. }
                | Greeting::Stopped { restart, .. },
            ) = &mut entry.body
                && *restart != Restart::Done
            {
                *restart = Restart::Done;
                self.touched.insert(EntryId(index));
            }
        }
    }

    /// The agent's id of the session, also while it is being taken up.
    pub fn stored_id(&self) -> Option<&str> {
        let taken_up = self.taking_up.as_ref().filter(|(_, how)| *how != Reopen::Fork);
        self.acp_id.as_deref().or(taken_up.map(|(id, _)| id.as_str()))
    }

    /// What becomes of the session when its agent is started again.
    pub fn restart(&self) -> Restart {
        let can = self.info.as_ref().map(|info| info.can).unwrap_or_default();
        match (&self.acp_id, &self.taking_up) {
            (Some(_), _) if can.resume => Restart::Resume,
            (Some(_), _) if can.load => Restart::Load,
            (None, Some((_, Reopen::Resume))) => Restart::Resume,
            (None, Some((_, Reopen::Load))) => Restart::Load,
            (Some(_), _) | (None, Some((_, Reopen::Fork))) => Restart::New,
            (None, None) if self.text_stays => Restart::New,
            (None, None) => Restart::First,
        }
    }

    /// The user closes the session: what is under way is over, and nobody answers what is open.
    pub fn closed(&mut self, now: Moment) {
        self.lose_agent(now);
        self.phase = Phase::Gone;
        self.status_touched = true;
    }

    pub fn exited(&mut self, ending: Ending, now: Moment) {
        let (was_open, restart) = (self.acp_id.is_some(), self.restart());
        self.lose_agent(now);
        self.phase = Phase::Gone;
        self.status_touched = true;
        let name = self.name();
        let Ending { failure, exit, stderr, expected } = ending;
        if !was_open {
            if expected {
                self.greet(Greeting::Stopped { name, restart });
                return;
            }
            let failure = failure.unwrap_or_else(|| Failure {
                kind: FailureKind::Disconnected,
                message: format!("{} before it was ready", exit_text(exit.as_ref())),
                details: None,
            });
            self.greet(Greeting::Failed { name, failure, stderr, restart });
            return;
        }
        let what = match (failure, expected) {
            (_, true) => "was stopped".to_owned(),
            (Some(failure), false) => failure.message,
            (None, false) => exit_text(exit.as_ref()),
        };
        self.add(Body::Greeting(Greeting::Gone { name, what, stderr, expected, restart }), now);
    }

    /// Nobody goes on with what is under way, or answers what is open.
    fn lose_agent(&mut self, now: Moment) {
        self.keep_waiting_prompt();
        self.is_lost = false;
        self.close_calls(&Cause::AgentGone, now);
        self.close_asks(&Verdict::Withdrawn);
        self.lose_subagents(now);
        self.lose_compactions();
        self.lose_left();
        let unanswered = std::mem::take(&mut self.steering).into_iter();
        self.queue.extend(unanswered.map(Queued::new));
        self.end_thought(now);
    }
}

/// "ended with exit code 3", "was ended by SIGKILL".
pub fn exit_text(exit: Option<&Exit>) -> String {
    match exit {
        Some(exit) => match (&exit.signal, exit.code_text()) {
            (Some(signal), _) => format!("was ended by {signal}"),
            (None, Some(code)) => format!("ended with exit code {code}"),
            (None, None) => "ended".to_owned(),
        },
        None => "closed the connection".to_owned(),
    }
}
