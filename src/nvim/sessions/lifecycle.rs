//! Sessions as the user has them: opened, shown, prompted, ended, taken up again.

use std::path::PathBuf;
use std::time::Duration;

use mlua::Result;
use serde_json::json;

use crate::core::ids::{AgentId, AskId, EntryId, SessionKey, TerminalId};
use crate::core::message::{AgentInfo, Command, Content as Block, Launch, Place, Reopen, StoredSession};
use crate::core::session::{Phase, Session};
use crate::nvim::app::{App, command_line};
use crate::nvim::chat::Chat;
use crate::nvim::context::ChatBuffers;
use crate::nvim::editor::Level;
use crate::nvim::editor::first_line;

/// At most this many stored sessions are asked for.
const MOST_LISTED: usize = 500;

/// When what nobody waits for is done: the chat is on the screen then, and agents that are quick are ready.
const UNHURRIED: Duration = Duration::from_millis(50);

impl App {
    /// Opens a chat at once; the agent comes up behind it. An agent that runs already, started in the
    /// same way, takes the session on.
    pub fn open_chat(
        &mut self,
        launch: Launch,
        cwd: PathBuf,
        stored: Option<(String, Reopen)>,
    ) -> Result<SessionKey> {
        self.numbers.session += 1;
        let key = SessionKey(self.numbers.session);
        let editor = self.cx.editor.clone();
        let place = Place {
            additional: self.cx.config.additional_directories(&cwd),
            mcp_servers: self.cx.config.mcp_servers(&launch.name, &cwd, |name| editor.program(name)),
            cwd,
        };
        let running = self.processes.running(&launch, None);
        let agent = running.unwrap_or_else(|| self.begin_agent(launch.clone()));
        let mut session =
            Session::new(key, agent, &launch.name, &command_line(&launch), place, self.cx.now());
        session.taking_up = stored;
        if let Some(info) = self.processes.info(agent) {
            session.connected(info.clone());
        }
        self.cx.sessions.insert(key, session);
        let name = launch.name.clone();
        // The agent starts while the chat is being made.
        if running.is_none() {
            self.send(Command::Connect { agent, launch })?;
        }
        self.open_session(key)?;
        self.make_chat(key, &name)?;
        self.cx.current = Some(key);
        self.show(key)?;
        self.guard_all()?;
        Ok(key)
    }

    /// The number of an agent that is about to be started. Those of before that nobody needs go.
    fn begin_agent(&mut self, launch: Launch) -> AgentId {
        let needed: Vec<AgentId> = self.cx.sessions.values().map(|session| session.agent).collect();
        self.processes.forget_ended(&needed);
        self.processes.begin(launch)
    }

    /// Has the agent open the session, or take up the stored one that is meant.
    pub fn open_session(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let (agent, place) = (session.agent, session.place.clone());
        self.openings.open(key);
        self.send(match session.taking_up.clone() {
            Some((acp_id, how)) => Command::Load { agent, session: key, place, acp_id, how },
            None => Command::Open { agent, session: key, place },
        })
    }

    fn make_chat(&mut self, key: SessionKey, title: &str) -> Result<()> {
        let chat = Chat::new(&self.cx.editor, key, title)?;
        if self.highlight.attach(chat.transcript) {
            crate::nvim::later(&self.cx.editor.lua, UNHURRIED, |app| {
                app.highlight.load();
                Ok(())
            })?;
        }
        self.cx.chats.insert(key, ChatBuffers { transcript: chat.transcript, prompt: chat.prompt });
        self.chats.insert(key, chat);
        self.redraw_all(key);
        let (transcript, prompt) = {
            let chat = &self.chats[&key];
            (chat.transcript, chat.prompt)
        };
        crate::nvim::keys::bind(&self.cx.editor, &self.cx.config.keys, transcript, prompt)?;
        self.attach_prompt(key)?;
        for buf in [prompt, transcript] {
            crate::nvim::later(&self.cx.editor.lua, Duration::ZERO, move |app| {
                app.cx.attempt("a FileType autocommand failed", move |editor| {
                    Chat::announce(editor, buf).map_err(|error| first_line(&error))
                });
                Ok(())
            })?;
        }
        Ok(())
    }

    fn redraw_all(&mut self, key: SessionKey) {
        if let (Some(session), Some(chat)) = (self.cx.sessions.get(&key), self.chats.get_mut(&key)) {
            let terminals = &self.terminals;
            let tail = |terminal: &TerminalId| terminals.tail(&(key, terminal.clone()));
            chat.touch(session, (0..session.entries().len()).map(EntryId).collect(), &tail);
        }
        self.bars.remove(&key);
    }

    /// Shows a session's chat; buffers that the user wiped are made anew from the session.
    pub fn show(&mut self, key: SessionKey) -> Result<()> {
        if self.chats.get(&key).is_some_and(|chat| !chat.is_valid(&self.cx.editor)) {
            self.cx.chats.remove(&key);
            if let Some(chat) = self.chats.remove(&key) {
                chat.close(&self.cx.editor);
            }
            let name =
                self.cx.sessions.get(&key).map(|session| session.agent_name.clone()).unwrap_or_default();
            self.make_chat(key, &name)?;
        }
        self.cx.current = Some(key);
        // What stands in the buffer is up to date before it is seen.
        self.draw(Duration::from_millis(20))?;
        if let Some(chat) = self.chats.get(&key) {
            let chats: Vec<&Chat> = self.chats.values().collect();
            self.windows.show(&self.cx.editor, chat, &chats, &self.cx.config.window)?;
        }
        self.bars.remove(&key);
        self.update_bar(key)?;
        self.cx.editor.command("redraw")
    }

    pub fn prompt(&mut self, key: SessionKey, content: Vec<Block>) -> Result<()> {
        let content = self.with_undone(key, content);
        self.settle_reviews(key, crate::config::Stay::Prompt)?;
        let now = self.cx.now();
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let commands = session.prompt(content, now);
        let sent = !commands.is_empty();
        self.send_all(commands)?;
        if sent {
            self.cx.emit("AcpPromptSent", key, json!({}));
        }
        if let Some(chat) = self.chats.get(&key)
            && let Some(win) = chat.window(&self.cx.editor)
        {
            // Who sends wants to see the answer.
            let last = self.cx.editor.line_count(chat.transcript)?;
            self.cx.editor.set_cursor(win, last, 0)?;
        }
        self.after_change(key)
    }

    /// Sends a prompt into the turn that runs, or says that it has to wait.
    pub fn steer(&mut self, key: SessionKey, content: Vec<Block>) -> Result<()> {
        let now = self.cx.now();
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        if session.is_working() && !session.can_be_steered() {
            let text = format!("{} can't be steered: the prompt waits in line", session.name());
            self.cx.advise(text, Level::Info);
        } else if session.is_working() {
            let commands = session.steer(content, now);
            self.send_all(commands)?;
            return self.after_change(key);
        }
        self.prompt(key, content)
    }

    pub fn cancel(&mut self, key: SessionKey) -> Result<bool> {
        let now = self.cx.now();
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(false) };
        if matches!(session.phase, Phase::Opening { .. }) {
            let agent = session.agent;
            match self.of_agent(agent).len() > 1 {
                true => self.send(Command::Cancel { session: key })?,
                false => self.end_agent(agent)?,
            }
            return Ok(true);
        }
        let commands = session.cancel(now);
        let any = !commands.is_empty();
        self.drop_conflicts(key)?;
        self.send_all(commands)?;
        self.after_change(key)?;
        Ok(any)
    }

    /// Starts a session's agent again, in the same chat. The old process is ended if it still runs and
    /// nobody else uses it.
    pub fn restart(&mut self, key: SessionKey) -> Result<()> {
        let now = self.cx.now();
        let Some((old, name)) =
            self.cx.sessions.get(&key).map(|session| (session.agent, session.agent_name.clone()))
        else {
            return Ok(());
        };
        let Some(launch) = self.processes.launch(old).cloned() else {
            return Err(mlua::Error::runtime(format!("{name} was never started; :AcpChat {name} does that")));
        };
        // The session's files are watched anew once they are named in the next one.
        self.edits_over(key)?;
        self.watching.ended(key);
        // The agent stays for other sessions.
        match self.of_agent(old).len() > 1 {
            true => self.send(Command::Close { session: key })?,
            false => self.end_agent(old)?,
        }
        // Another session may have started the agent again already.
        let other = self.processes.running(&launch, Some(old));
        let next = other.unwrap_or_else(|| self.begin_agent(launch.clone()));
        self.tell_turn_lost(key, "the agent was started again");
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.restarted(next, &command_line(&launch), now);
            if let Some(info) = self.processes.info(next) {
                session.connected(info.clone());
            }
        }
        if other.is_none() {
            self.send(Command::Connect { agent: next, launch })?;
        }
        self.open_session(key)?;
        self.turn_left(key)?;
        self.after_change(key)
    }

    /// Tells an agent to end, unless that was done. Its sessions take no more prompts until they have
    /// another one.
    fn end_agent(&mut self, agent: AgentId) -> Result<()> {
        if !self.processes.to_end(agent) {
            return Ok(());
        }
        let now = self.cx.now();
        for key in self.of_agent(agent) {
            if let Some(session) = self.cx.sessions.get_mut(&key) {
                session.ending(now);
            }
            self.after_change(key)?;
        }
        self.send(Command::Disconnect { agent })
    }

    /// Whoever waits for the end of a turn hears of it, also when nobody is there any more who could say
    /// how it ended.
    pub fn tell_turn_lost(&mut self, key: SessionKey, why: &str) {
        let Some(session) = self.cx.sessions.get(&key).filter(|session| session.is_in_turn()) else { return };
        let text = session.answer_text();
        let data = json!({ "stop_reason": "failed", "error": why, "turn": self.turn_of(key), "text": text });
        self.cx.emit("AcpTurnEnded", key, data);
    }

    /// Ends a session for good: its chat goes, and its agent too when nobody else uses it.
    pub fn close_session(&mut self, key: SessionKey) -> Result<()> {
        let Some(agent) = self.cx.sessions.get(&key).map(|session| session.agent) else { return Ok(()) };
        self.cx.emit("AcpClosed", key, json!({}));
        self.forget_prompt(key)?;
        self.send(Command::Close { session: key })?;
        if self.of_agent(agent).len() == 1 {
            self.end_agent(agent)?;
        }
        self.reviews.clear_proposals(&self.cx, key)?;
        let editor = self.cx.editor.clone();
        self.follow.forget(&editor, key)?;
        self.terminals.forget(&self.cx.editor, key)?;
        self.cx.chats.remove(&key);
        if let Some(chat) = self.chats.remove(&key) {
            if self.cx.editor.current_buf()? == chat.prompt {
                self.cx.editor.command("stopinsert")?;
            }
            self.windows.hide(&self.cx.editor, &chat)?;
            self.windows.forget(key);
            chat.close(&self.cx.editor);
            [chat.prompt, chat.transcript].iter().for_each(|buf| self.cx.buffers.texts.forget(*buf));
            self.discard(chat.into_lines());
        }
        self.drop_conflicts(key)?;
        self.forget_mention(key);
        self.reviews.forget(key);
        self.forget_checkpoints(key)?;
        self.files.forget(key);
        if let Some(session) = self.cx.sessions.remove(&key) {
            self.discard(session);
        }
        self.collect_garbage(0)?;
        self.bars.remove(&key);
        self.taken_up.remove(&key);
        self.recorded.remove(&key);
        self.forget_signals(key);
        self.watching.ended(key);
        if self.cx.current == Some(key) {
            self.cx.current = self.cx.sessions.keys().next_back().copied();
        }
        self.guard_all()
    }

    /// How a session's agent was started.
    pub fn launch_of(&self, key: SessionKey) -> Option<&Launch> {
        self.processes.launch(self.cx.sessions.get(&key)?.agent)
    }

    /// The name under which a running agent is configured.
    pub fn configured_name(&self, agent: AgentId) -> Option<String> {
        self.processes.launch(agent).map(|launch| launch.name.clone())
    }

    /// The agents that run and have said what they can do: one session of each, and its abilities.
    pub fn agents(&self) -> Vec<(AgentId, AgentInfo)> {
        self.processes.ready()
    }

    /// Asks for the stored sessions of an agent; the answer opens a picker.
    pub fn list_stored(&mut self, agent: AgentId, cwd: PathBuf) -> Result<()> {
        self.listen_to(agent);
        self.list_for_gathering(agent, cwd)
    }

    /// The same for a list that the agent's are only a part of.
    pub fn list_for_gathering(&mut self, agent: AgentId, cwd: PathBuf) -> Result<()> {
        self.listing.insert(agent, Vec::new());
        self.send(Command::List { agent, cwd: Some(cwd), cursor: None })
    }

    pub fn listed(
        &mut self,
        agent: AgentId,
        sessions: Vec<StoredSession>,
        next: Option<String>,
    ) -> Result<()> {
        let Some(known) = self.listing.get_mut(&agent) else { return Ok(()) };
        known.extend(sessions);
        match next {
            // Enough for a picker; an agent that pages for ever is not asked for ever.
            Some(cursor) if known.len() < MOST_LISTED => {
                let cwd = self
                    .of_agent(agent)
                    .first()
                    .and_then(|key| self.cx.sessions.get(key))
                    .map(|s| s.place.cwd.clone());
                self.send(Command::List { agent, cwd, cursor: Some(cursor) })
            }
            _ => {
                let all = self.listing.remove(&agent).unwrap_or_default();
                self.told_stored(agent, all)
            }
        }
    }

    /// Takes up a stored session in a chat of its own.
    pub fn take_up(&mut self, agent: AgentId, stored: StoredSession) -> Result<()> {
        let open = self.cx.sessions.values().find(|session| {
            session.agent == agent && session.acp_id.as_deref() == Some(stored.acp_id.as_str())
        });
        if let Some(key) = open.map(|session| session.key) {
            return self.show(key);
        }
        let Some(launch) = self.processes.launch(agent).cloned() else { return Ok(()) };
        let key = self.open_chat(launch, stored.cwd, Some((stored.acp_id, Reopen::Load)))?;
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.title = stored.title;
        }
        self.update_bar(key)
    }

    /// Ends a session's agent; the chat stays readable.
    pub fn stop(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        match self.processes.takes_sessions(session.agent) {
            true => self.end_agent(session.agent),
            false if session.phase == Phase::Gone => {
                Err(mlua::Error::runtime(format!("{} has ended already", session.name())))
            }
            // It has been told already.
            false => Ok(()),
        }
    }

    /// The user's answer to a permission question.
    pub fn answer(&mut self, key: SessionKey, ask: AskId, option: &str) -> Result<()> {
        let now = self.cx.now();
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        let commands = session.answer(ask, option, now);
        if !commands.is_empty() {
            self.cx.emit("AcpPermissionAnswered", key, json!({ "option": option }));
        }
        self.send_all(commands)?;
        self.after_change(key)
    }
}
