//! What sessions do about what the background tells of them. What others do about it comes by events.

use std::time::Duration;

use serde_json::json;

use crate::core::changes::writers::Writer;
use crate::core::ids::{AgentId, AskId, SessionKey};
use crate::core::message::{
    Again, AgentInfo, AuthStatus, Chosen, Command, Content, Dialect, Ending, Event, Failure, FailureKind,
    LeftCommand, Opened, Reopen, RuledBy, Severity, Steering, StopReason, TurnEnd, Update,
};
use crate::core::session::status::{mode, mode_news};
use crate::core::session::{LoggedIn, Phase, Session, exit_text};
use crate::core::transcript::readable;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::events::{Attribution, Change, EditorEvent, Renamed};
use crate::nvim::sessions::{Purpose, Sessions};

impl Sessions {
    // The agent.

    pub fn agent_started(&mut self, agent: AgentId, pid: u32) {
        self.processes.started(agent, pid);
    }

    pub fn agent_connected(&mut self, cx: &mut Context, agent: AgentId, info: &AgentInfo) {
        self.processes.connected(agent, info.clone());
        for key in cx.sessions_of(agent) {
            if let Some(session) = cx.sessions.get_mut(&key) {
                session.connected(info.clone());
            }
            cx.raise(EditorEvent::SessionChanged(key));
        }
    }

    pub fn auth_reported(&mut self, cx: &mut Context, agent: AgentId, status: AuthStatus) {
        self.processes.auth_reported(agent, status);
        for key in cx.sessions_of(agent) {
            cx.raise(EditorEvent::SessionChanged(key));
        }
    }

    /// What an agent does beside what it tells; a prompt that led to that is not sent again by itself.
    pub fn note_work(cx: &mut Context, event: &Event) {
        let session = match event {
            Event::Asked { session, .. }
            | Event::FileServed { session, .. }
            | Event::ToolCalled { session, .. }
            | Event::TerminalStarted { session, .. } => Some(*session),
            Event::Called { session, .. } => *session,
            _ => None,
        };
        if let Some(session) = session.and_then(|key| cx.sessions.get_mut(&key)) {
            session.agent_works();
        }
    }

    /// The agent refused what the user wanted, or wants a login first.
    pub fn request_failed(
        &mut self,
        cx: &mut Context,
        (agent, session): (AgentId, Option<SessionKey>),
        (what, failure): (&str, &Failure),
        again: Option<Again>,
    ) {
        self.not_chosen(session);
        let now = cx.now();
        let known = session.filter(|key| cx.sessions.contains_key(key));
        let asker = known.or_else(|| cx.session_here().filter(|key| cx.sessions_of(agent).contains(key)));
        let asker = asker.or_else(|| cx.sessions_of(agent).first().copied());
        if failure.kind != FailureKind::AuthRequired || asker.is_none() {
            let text = format!("{} couldn't {what}: {}", cx.agent_name(agent), failure.message);
            Self::note(cx, (agent, session), Severity::Error, text);
            if let Some(key) = session {
                Self::choice_answered(cx, key);
            }
            return;
        }
        let Some(key) = asker else { return };
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.login_wanted(what, failure, again, now);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// What a session has to send; a list that waited for a login opens by itself.
    fn send_all(&mut self, cx: &mut Context, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::List { agent, cwd: Some(cwd), archived, .. } => {
                    if archived {
                        self.listing_for = Purpose::BringBack;
                    }
                    self.list_stored(cx, agent, cwd);
                }
                command => cx.send(command),
            }
        }
    }

    pub fn logged_in(&mut self, cx: &mut Context, agent: AgentId) {
        let now = cx.now();
        for key in cx.sessions_of(agent) {
            match cx.sessions.get_mut(&key).map(|session| session.logged_in(now)) {
                Some(LoggedIn::Open) => Self::open_again(cx, key),
                Some(LoggedIn::Send(commands)) => self.send_all(cx, commands),
                Some(LoggedIn::Nothing) | None => {}
            }
            cx.raise(EditorEvent::SessionChanged(key));
        }
    }

    pub fn logged_out(cx: &mut Context, agent: AgentId) {
        let text = "Logged out; :Acp login logs in again".to_owned();
        Self::note(cx, (agent, None), Severity::Info, text);
    }

    /// An agent has put a session away, or brought it back. The chat of one that was open here goes with it.
    pub fn archived(cx: &mut Context, agent: AgentId, open: Option<SessionKey>, archived: bool) {
        let text = match archived {
            true => "the session is archived; :Acp! archive brings it back",
            false => "the session is in the list again: :Acp sessions",
        };
        let Some(key) = open else {
            return Self::note(cx, (agent, None), Severity::Info, text.to_owned());
        };
        cx.raise(EditorEvent::SessionClosing(key));
        cx.after_events(move |_: &mut Self, cx| {
            cx.notify(text, Level::Info);
            Ok(())
        });
    }

    pub fn agent_exited(&mut self, cx: &mut Context, agent: AgentId, why: &Ending) -> mlua::Result<()> {
        let now = cx.now();
        self.processes.exited(agent);
        for key in cx.sessions_of(agent) {
            self.tell_turn_lost(cx, key, "the agent has ended");
            let mut again = None;
            if let Some(session) = cx.sessions.get_mut(&key) {
                again = session.reconnects(why);
                session.exited(why.clone(), now);
                if again.is_some() {
                    session.comes_back();
                }
                let name = session.name();
                if !why.expected {
                    let message = match &why.failure {
                        Some(failure) => failure.message.clone(),
                        None => format!("{name} {}", exit_text(why.exit.as_ref())),
                    };
                    cx.emit("AcpFailed", key, json!({ "message": message, "stderr": why.stderr }));
                    cx.announce(key, &format!("{name} has ended"), Level::Error);
                }
            }
            cx.raise(EditorEvent::AgentExited(key));
            if let Some(after) = again {
                Self::reconnect_after(cx, (key, agent), Duration::from_millis(after))?;
            }
        }
        Ok(())
    }

    /// Starts a session's agent again, unless the user has done something about it by then.
    fn reconnect_after(
        cx: &mut Context,
        (key, agent): (SessionKey, AgentId),
        after: Duration,
    ) -> mlua::Result<()> {
        cx.later(after, move |_: &mut Self, cx| {
            let waits = |session: &Session| session.agent == agent && session.phase == Phase::Gone;
            if cx.sessions.get(&key).is_some_and(waits) {
                cx.raise(EditorEvent::AgentWanted(key));
            }
            Ok(())
        })
    }

    /// A line in the chat of a session, or of all that an agent has.
    pub fn note(cx: &mut Context, of: (AgentId, Option<SessionKey>), severity: Severity, text: String) {
        let (agent, session) = of;
        for key in session.map_or_else(|| cx.sessions_of(agent), |key| vec![key]) {
            cx.note(Some(key), severity, text.clone());
        }
    }

    // A session.

    pub fn opened(&mut self, cx: &mut Context, key: SessionKey, opened: Opened) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let is_fork = matches!(session.taking_up, Some((_, Reopen::Fork)));
        let commands = session.opened(opened, now);
        self.opened_again(cx, key);
        self.keep_early_name(cx, key, is_fork);
        self.warn_of_two(cx, key);
        self.send_all(cx, commands);
        cx.raise(EditorEvent::SessionOpened(key));
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn open_failed(&mut self, cx: &mut Context, key: SessionKey, failure: Failure) {
        let now = cx.now();
        let again = cx.sessions.get_mut(&key).and_then(|session| session.opening_failed(&failure, now));
        if let Some(commands) = again {
            commands.into_iter().for_each(|command| cx.send(command));
            return cx.raise(EditorEvent::SessionChanged(key));
        }
        cx.emit("AcpFailed", key, json!({ "message": failure.message }));
        let (kind, why) = (failure.kind, failure.message.clone());
        if let Some(session) = cx.sessions.get_mut(&key) {
            if kind == FailureKind::Dialect {
                self.processes.speaks(session.agent, Dialect::Draft);
            }
            session.open_failed(failure);
        }
        if kind.is_final() {
            self.not_opened_again(cx, key, &why);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn updated(&mut self, cx: &mut Context, key: SessionKey, update: Update) {
        let now = cx.now();
        let innermost = match &update {
            Update::Within { update, .. } => update,
            update => update,
        };
        let call = match innermost {
            Update::ToolCall(patch) => {
                Some((patch.id.clone(), patch.locations.is_some(), patch.content.is_some()))
            }
            _ => None,
        };
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let titled = matches!(update, Update::Info { title: Some(_), .. });
        let used = matches!(update, Update::Usage { cost: Some(_), .. } | Update::Limit(_));
        let mode = mode(session);
        session.apply(update, now);
        let mode = mode_news(session, mode.as_deref());
        let call = call.and_then(|(id, moved, content)| {
            let entry = session.call_entry(&id)?;
            // Some agents tell of files and of changes in the input alone.
            let told = session.entry(entry)?.tool()?.has_news_in_input();
            Some((entry, moved || told, content || told))
        });
        if titled {
            self.keep_title(cx, key);
        }
        if used {
            cx.raise(EditorEvent::UsageTold(key));
        }
        if let Some(news) = mode {
            cx.notify(news, Level::Info);
        }
        if let Some((entry, moved, content)) = call {
            cx.raise(EditorEvent::CallChanged { session: key, entry, moved, content });
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn chosen(&mut self, cx: &mut Context, key: SessionKey, chosen: Chosen) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            let mode = mode(session);
            session.chosen(chosen);
            if let Some(news) = mode_news(session, mode.as_deref()) {
                cx.notify(news, Level::Info);
            }
        }
        self.remember_chosen(cx, key);
        Self::choice_answered(cx, key);
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn title_kept(&mut self, cx: &mut Context, key: SessionKey, (asked, title): (&str, &str)) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.title_kept(asked, title);
            self.keep_title(cx, key);
            cx.raise(EditorEvent::SessionChanged(key));
        }
    }

    /// What the user wants of the session, and could not be set yet, may be there now.
    fn choice_answered(cx: &mut Context, key: SessionKey) {
        let now = cx.now();
        let commands = cx.sessions.get_mut(&key).map(|session| session.choice_answered(now));
        commands.into_iter().flatten().for_each(|command| cx.send(command));
    }

    // Its questions.

    pub fn withdrawn(cx: &mut Context, key: SessionKey, ask: AskId) {
        let now = cx.now();
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.withdrawn(ask, now);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    // Its turns.

    pub fn steered(cx: &mut Context, key: SessionKey, content: Vec<Content>, outcome: Steering) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let taken = !matches!(outcome, Steering::NotTaken(_));
        let commands = session.steered(content, outcome, now);
        if taken || !commands.is_empty() {
            cx.emit("AcpPromptSent", key, if taken { json!({ "steered": true }) } else { json!({}) });
        }
        commands.into_iter().for_each(|command| cx.send(command));
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn turn_ended(&mut self, cx: &mut Context, key: SessionKey, end: TurnEnd) {
        let now = cx.now();
        let (reason, failed) = match &end {
            TurnEnd::Stopped { reason, .. } => (reason.word().to_owned(), None),
            TurnEnd::Failed(failure) => ("failed".to_owned(), Some(failure.message.clone())),
        };
        let was_stopped = matches!(end, TurnEnd::Stopped { reason: StopReason::Cancelled, .. });
        let is_heard = cx.has_listeners("AcpTurnEnded");
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        // An answer may be as long as the agent likes.
        let text = if is_heard { session.answer_text() } else { String::new() };
        let is_told = !matches!(&end, TurnEnd::Failed(failure) if failure.kind == FailureKind::Disconnected);
        let commands = session.turn_ended(end, now);
        let auto = session.take_auto_turn();
        let (name, waits) = (session.name(), matches!(session.phase, Phase::Waiting { .. }));
        // Before what waited in line is sent, which begins the next one.
        let turn = self.turn_of(key);
        let data = json!({ "stop_reason": reason, "error": failed, "turn": turn, "text": text, "auto": auto.as_ref().map(super::auto::data) });
        cx.emit("AcpTurnEnded", key, data);
        if is_told {
            self.keep_turn_end(cx, key);
        }
        let ended = match auto.map(|auto| auto.words()).filter(|words| !words.is_empty()) {
            Some(words) => format!("{name} is done: {words}"),
            None => format!("{name} is done"),
        };
        commands.into_iter().for_each(|command| cx.send(command));
        cx.raise(EditorEvent::UsageTold(key));
        cx.raise(EditorEvent::TurnEnded(key));
        // What the turn has changed is on the screen by then.
        cx.after_events(move |_: &mut Self, cx| {
            match failed {
                Some(why) if waits => {
                    cx.announce(key, &format!("{name}: {}; it is asked again", readable(&why)), Level::Warn);
                }
                Some(why) => cx.announce(key, &format!("{name}: {}", readable(&why)), Level::Error),
                None if was_stopped => cx.announce(key, &format!("{name} was stopped"), Level::Info),
                None => cx.announce(key, &ended, Level::Info),
            }
            Ok(())
        });
    }

    /// Shown like what else an agent was refused, and summed up when the turn is over.
    pub fn command_refused(cx: &mut Context, key: SessionKey, command: &str, rule: String) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.command_refused(command, &rule);
        }
        let why = RuledBy::Rule(rule).refusal();
        cx.note(Some(key), Severity::Info, format!("couldn't run `{command}`: {why}"));
    }

    /// The agent was not given the editor's tools after all.
    pub fn without_tools(cx: &mut Context, key: SessionKey) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.tools.clear();
        }
    }

    // What becomes of files.

    /// An agent changed a file.
    pub fn file_changed(&mut self, cx: &mut Context, change: &Change) {
        self.file_done(cx, change);
        if let Some(session) = cx.sessions.get_mut(&change.session) {
            session.has_worked();
            // A renamed file is one: the one that is there.
            if let Some(call) = change.call
                && !matches!(change.renamed, Some(Renamed::To(_)))
            {
                session.call_changed(call, &change.path);
            }
        }
        Self::count_change(cx, change);
        self.check_limits(cx, change.session);
    }

    /// Who made a change that was told is known by now.
    pub fn change_attributed(cx: &mut Context, change: &Attribution) {
        for Writer { session, call } in &change.to {
            if let (Some(session), Some(call)) = (cx.sessions.get_mut(session), call) {
                session.call_changed(*call, &change.path);
            }
        }
    }

    // What goes on although a turn was stopped.

    pub fn left_running(cx: &mut Context, key: SessionKey, commands: Vec<LeftCommand>) {
        let now = cx.now();
        let how = match cx.config.keys.get("end_left").first() {
            Some(lhs) => format!("{lhs} in the transcript ends it, :Acp terminal kill anywhere"),
            None => ":Acp terminal kill ends it".to_owned(),
        };
        let session = cx.sessions.get_mut(&key);
        if let Some(text) = session.and_then(|session| session.left_running(commands, &how, now)) {
            cx.notify(text, Level::Info);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    pub fn left_survived(cx: &mut Context, key: SessionKey, commands: &[LeftCommand]) {
        let session = cx.sessions.get_mut(&key);
        if let Some(text) = session.and_then(|session| session.could_not_end(commands)) {
            cx.notify(text, Level::Error);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }
}
