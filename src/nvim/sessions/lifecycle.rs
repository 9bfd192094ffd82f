//! Sessions as the user has them: opened, prompted, stopped, restarted, closed, resumed from what an agent
//! has stored. Their chats are left to others.

use std::path::PathBuf;

use mlua::Result;
use serde_json::json;

use crate::config::agents::describe_sandbox;
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Command, Content, Launch, Place, Reopen, StoredSession, StoredState};
use crate::core::replay::Replaying;
use crate::core::session::AgentRun;
use crate::core::session::{Phase, Session};
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context, Then};
use crate::nvim::editor::Level;
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::sessions::{Purpose, Sessions};

/// At most this many stored sessions are asked for.
const MAX_LISTED: usize = 500;

impl Sessions {
    /// Opens a session at once; the agent comes up behind it. An agent that runs already, started in the
    /// same way, takes the session on.
    pub fn open(
        &mut self,
        cx: &mut Context,
        launch: Launch,
        cwd: PathBuf,
        stored: Option<(String, Reopen)>,
    ) -> SessionKey {
        let editor = cx.editor.clone();
        let place = Place {
            additional: cx.config.additional_directories(&cwd),
            system_prompt: cx.config.system_prompt(&launch.name, &cwd),
            mcp_servers: cx.config.mcp_servers(&launch.name, &cwd, |name| editor.program(name)),
            cwd,
            ..Place::default()
        };
        self.open_at(cx, launch, place, stored)
    }

    /// The same where it is known what the session is given.
    pub(super) fn open_at(
        &mut self,
        cx: &mut Context,
        mut launch: Launch,
        mut place: Place,
        stored: Option<(String, Reopen)>,
    ) -> SessionKey {
        self.last += 1;
        let key = SessionKey(self.last);
        if let Some(sandbox) = &mut launch.sandbox {
            // One that runs is kept to the folders that it was started for: others get a process of their own.
            sandbox.folders = place.folders().cloned().collect();
            cx.let_bridge_in(sandbox);
        }
        let running = self.processes.running(&launch, None);
        let agent = running.unwrap_or_else(|| self.begin_agent(cx, launch.clone()));
        let tools = cx.offer_tools(&launch, &mut place);
        let command = command_line(&launch);
        let run = AgentRun { id: agent, name: &launch.name, command: &command };
        let mut session = Session::new(key, run, place, cx.now());
        if let Some(title) = cx.config.agents.get(&launch.name).and_then(|agent| agent.title.as_deref()) {
            session.call_agent(title);
        }
        session.replay = launch.replay.as_ref().map(|replay| Replaying { pace: replay.pace, is_over: false });
        session.tools = tools;
        session.sandbox = launch.sandbox.as_deref().map(describe_sandbox);
        session.taking_up = stored;
        session.defaults = cx.config.defaults(&launch.name);
        session.recovery = cx.config.recovery.wanted();
        session.budget.bounds = cx.config.limits.bounds();
        let is_new = session.taking_up.is_none();
        let plays_recording = session.plays_recording();
        if let Some(info) = self.processes.info(agent) {
            session.connected(info.clone());
        }
        cx.sessions.insert(key, session);
        if is_new {
            self.recall_choices(cx, key);
        }
        if is_new && !plays_recording {
            self.recall_last_chat(cx, key);
        }
        // The agent starts while the chat is being made.
        if running.is_none() {
            cx.send(Command::Connect { agent, launch: Box::new(launch) });
        }
        Self::open_again(cx, key);
        cx.raise(EditorEvent::SessionBegan(key));
        key
    }

    /// The number of an agent that is about to be started. Those of before that nobody needs go.
    fn begin_agent(&mut self, cx: &Context, launch: Launch) -> AgentId {
        let needed: Vec<AgentId> = cx.sessions.values().map(|session| session.agent).collect();
        self.processes.forget_ended(&needed);
        self.processes.begin(launch)
    }

    /// Has the agent open the session, or resume the stored one that is meant.
    pub fn open_again(cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let command = session.open_command();
        cx.send(command);
    }

    /// The session whose chat is shown to whoever wants one with this agent, or with any: the one at hand, else the
    /// agent's last one.
    pub fn to_show(cx: &Context, wanted: Option<&str>) -> Option<SessionKey> {
        let fits = |key: &SessionKey| {
            let session = cx.sessions.get(key).filter(|session| !session.never_lived());
            session.is_some_and(|session| wanted.is_none_or(|wanted| wanted == session.agent_name))
        };
        let last = || cx.sessions.keys().rev().find(|key| fits(key)).copied();
        cx.session_here().filter(fits).or_else(|| wanted.and_then(|_| last()))
    }

    /// Opens a session in a folder once it is known how its agent is started; `then` goes on when its chat is there.
    pub fn open_when_known(cwd: PathBuf, then: Then<SessionKey>) -> Then<Launch> {
        context::then(move |this: &mut Self, cx, launch| {
            let key = this.open(cx, launch, cwd, None);
            cx.resume(then, key);
            Ok(())
        })
    }

    /// Another session with the same agent, in the same folder.
    pub fn open_beside(&mut self, cx: &mut Context, key: SessionKey) -> Result<SessionKey> {
        let cwd = cx.sessions.get(&key).map(|session| session.place.cwd.clone());
        match (self.relaunch(cx, key)?, cwd) {
            (Some(launch), Some(cwd)) => Ok(self.open(cx, launch, cwd, None)),
            _ => fail("the session is gone"),
        }
    }

    // Its turns.

    pub fn prompt(cx: &mut Context, key: SessionKey, content: Vec<Content>, mode: SendMode) -> Result<()> {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
        let commands = match mode {
            SendMode::InPlace => session.prompt_edited(content, now),
            _ => session.prompt(content, now),
        };
        if !commands.is_empty() {
            cx.raise(EditorEvent::PromptSent(key));
        }
        commands.into_iter().for_each(|command| cx.send(command));
        if let Some(chat) = cx.chats.get(&key)
            && let Some(win) = chat.window(&cx.editor)
        {
            // Who sends wants to see the answer.
            let last = cx.editor.line_count(chat.transcript)?;
            cx.editor.set_cursor(win, last, 0)?;
        }
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(())
    }

    /// The prompt that came last is the next one.
    pub fn hurry_last(cx: &mut Context, key: SessionKey) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.hurry_last();
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// The time of a turn moves on.
    pub fn ticked(cx: &mut Context, key: SessionKey) {
        let now = cx.now();
        let due = cx.sessions.get_mut(&key).map(|session| session.ticked(now));
        cx.send_all(due.unwrap_or_default());
    }

    /// Sends a prompt into the turn that runs. Gives it back where it has to be sent as any other, which
    /// the user is told if they did not expect it.
    pub fn steer(cx: &mut Context, key: SessionKey, content: Vec<Content>) -> Option<Vec<Content>> {
        let now = cx.now();
        let session = cx.sessions.get_mut(&key)?;
        if !session.is_working() {
            return Some(content);
        }
        if !session.can_be_steered() {
            let text = format!("{} can't be steered: the prompt waits in line", session.name());
            cx.notify(text, Level::Info);
            return Some(content);
        }
        let commands = session.steer(content, now);
        commands.into_iter().for_each(|command| cx.send(command));
        cx.raise(EditorEvent::SessionChanged(key));
        None
    }

    /// Stops what a session is doing; says whether there was anything to stop. What waits in line waits for the user
    /// from then on if they have stopped it, and goes on where it was stopped for another prompt.
    pub fn cancel(&mut self, cx: &mut Context, key: SessionKey, by_user: bool) -> bool {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return false };
        if by_user {
            session.hold_queue();
        }
        let is_opening = matches!(session.phase, Phase::Opening { .. });
        if session.stop_waiting() {
            cx.raise(EditorEvent::SessionChanged(key));
        } else if is_opening {
            let agent = session.agent;
            match cx.sessions_of(agent).len() > 1 {
                true => cx.send(Command::Cancel { session: key }),
                false => self.end_agent(cx, agent),
            }
        } else {
            let commands = session.cancel(now);
            let any = !commands.is_empty();
            cx.send_all(commands);
            cx.raise(EditorEvent::SessionChanged(key));
            return any;
        }
        // No event of the agent's follows by which it would be drawn.
        cx.raise(EditorEvent::DrawingWanted);
        true
    }

    // Its agent.

    /// How a session's agent is started again.
    pub fn relaunch(&self, cx: &Context, key: SessionKey) -> Result<Option<Launch>> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(None) };
        let name = &session.agent_name;
        match self.processes.launch(session.agent) {
            Some(launch) => Ok(Some(launch.clone())),
            None => fail(format!("{name} was never started; :AcpChat {name} does that")),
        }
    }

    /// The session is given up: its agent ends, unless others use it.
    pub fn leave_agent(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(agent) = cx.sessions.get(&key).map(|session| session.agent) else { return };
        match cx.sessions_of(agent).len() > 1 {
            true => cx.send(Command::Close { session: key }),
            false => self.end_agent(cx, agent),
        }
    }

    /// Opens a new session where the agent is there and does not know the old one any more. Says whether it was so.
    pub fn open_anew(&mut self, cx: &mut Context, key: SessionKey) -> bool {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return false };
        if !session.is_lost() || !self.processes.takes_sessions(session.agent) {
            return false;
        }
        session.begins_anew(now);
        Self::open_again(cx, key);
        cx.raise(EditorEvent::SessionChanged(key));
        true
    }

    /// Starts a session's agent again, in the same chat. The old process was left before.
    pub fn restart(&mut self, cx: &mut Context, key: SessionKey, launch: Launch) {
        let now = cx.now();
        let Some(old) = cx.sessions.get(&key).map(|session| session.agent) else { return };
        // Another session may have started the agent again already.
        let other = self.processes.running(&launch, Some(old));
        let next = other.unwrap_or_else(|| self.begin_agent(cx, launch.clone()));
        self.tell_turn_lost(cx, key, "the agent was started again");
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.restarted(next, &command_line(&launch), now);
            if let Some(info) = self.processes.info(next) {
                session.connected(info.clone());
            }
        }
        if other.is_none() {
            cx.send(Command::Connect { agent: next, launch: Box::new(launch) });
        }
        Self::open_again(cx, key);
        cx.raise(EditorEvent::TurnLeft(key));
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// Tells an agent to end, unless that was done. Its sessions take no more prompts until they have
    /// another one.
    fn end_agent(&mut self, cx: &mut Context, agent: AgentId) {
        if !self.processes.to_end(agent) {
            return;
        }
        let now = cx.now();
        for key in cx.sessions_of(agent) {
            if let Some(session) = cx.sessions.get_mut(&key) {
                session.ending(now);
            }
            cx.raise(EditorEvent::SessionChanged(key));
        }
        cx.send(Command::Disconnect { agent });
    }

    /// Whoever waits for the end of a turn hears of it, also when nobody is there any more who could say
    /// how it ended.
    pub fn tell_turn_lost(&self, cx: &mut Context, key: SessionKey, why: &str) {
        let Some(session) = cx.sessions.get(&key).filter(|session| session.is_in_turn()) else { return };
        let text = session.answer_text();
        let data = json!({ "stop_reason": "failed", "error": why, "turn": self.turn_of(key), "text": text });
        cx.emit("AcpTurnEnded", key, data);
    }

    /// The user closes a session: a turn that runs is over, and so are its calls.
    pub fn end_turn(&mut self, cx: &mut Context, key: SessionKey) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let (was_in_turn, text) = (session.is_in_turn(), session.answer_text());
        session.closed(now);
        let (entries, _) = session.take_touched();
        self.tell_changes(cx, key, &entries, false);
        let turn = self.turn_of(key);
        if was_in_turn {
            let data = json!({ "stop_reason": "cancelled", "error": null, "turn": turn, "text": text });
            cx.emit("AcpTurnEnded", key, data);
        }
        cx.emit("AcpClosed", key, json!({}));
    }

    /// Ends a session's agent; the chat stays readable.
    pub fn stop(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let agent = session.agent;
        // Where it is not gone it has been told already.
        if !self.processes.takes_sessions(agent) && session.phase == Phase::Gone {
            return fail(format!("{} has ended already", session.name()));
        }
        self.end_agent(cx, agent);
        Ok(())
    }

    /// The agent is told that the session is over, and to end when it has no other one.
    pub fn close(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(agent) = cx.sessions.get(&key).map(|session| session.agent) else { return };
        cx.send(Command::Close { session: key });
        if cx.sessions_of(agent).len() == 1 {
            self.end_agent(cx, agent);
        }
    }

    // What an agent has stored.

    /// Asks for the stored sessions of an agent; the answer opens a picker.
    pub(super) fn list_stored(&mut self, cx: &mut Context, agent: AgentId, cwd: PathBuf) {
        self.gathering.listen_to(agent);
        self.list_for_gathering(cx, agent, cwd);
    }

    /// The same for a list that the agent's are only a part of.
    pub(super) fn list_for_gathering(&mut self, cx: &mut Context, agent: AgentId, cwd: PathBuf) {
        self.listing.insert(agent, Vec::new());
        cx.send(Command::List { agent, cwd: Some(cwd), cursor: None, archived: self.lists_archived() });
    }

    fn lists_archived(&self) -> bool {
        self.listing_for == Purpose::BringBack
    }

    /// An agent has told a page of what it stores.
    pub fn listed(
        &mut self,
        cx: &mut Context,
        agent: AgentId,
        sessions: Vec<StoredSession>,
        next: Option<String>,
    ) -> Result<()> {
        let Some(known) = self.listing.get_mut(&agent) else { return Ok(()) };
        known.extend(sessions);
        // Enough for a picker; an agent that pages for ever is not asked for ever.
        if let Some(cursor) = next.filter(|_| known.len() < MAX_LISTED) {
            let session = cx.sessions.values().find(|session| session.agent == agent);
            let cwd = session.map(|session| session.place.cwd.clone());
            cx.send(Command::List { agent, cwd, cursor: Some(cursor), archived: self.lists_archived() });
            return Ok(());
        }
        let all = self.listing.remove(&agent).unwrap_or_default();
        self.listed_all(cx, agent, all)
    }

    /// Resumes a session that an agent has listed, in a chat of its own.
    pub(super) fn resume_listed(&mut self, cx: &mut Context, agent: AgentId, stored: StoredSession) {
        let open = cx.sessions.values().find(|session| {
            session.agent == agent && session.acp_id.as_deref() == Some(stored.acp_id.as_str())
        });
        if let Some(key) = open.map(|session| session.key) {
            return cx.raise(EditorEvent::SessionChosen(key));
        }
        let Some(launch) = self.processes.launch(agent).cloned() else { return };
        let key = self.open(cx, launch, stored.cwd, Some((stored.acp_id, Reopen::Load)));
        if stored.state == StoredState::Elsewhere {
            self.open_twice.insert(key);
        }
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.title = stored.title;
        }
    }

    // What is known of agents.

    /// How a session's agent was started.
    pub(super) fn launch_of(&self, cx: &Context, key: SessionKey) -> Option<&Launch> {
        self.processes.launch(cx.sessions.get(&key)?.agent)
    }

    /// The name under which a running agent is configured.
    pub(super) fn configured_name(&self, agent: AgentId) -> Option<String> {
        self.processes.launch(agent).map(|launch| launch.name.clone())
    }
}

fn command_line(launch: &Launch) -> String {
    let mut words = vec![launch.command.clone()];
    words.extend(launch.args.iter().cloned());
    words.join(" ")
}
