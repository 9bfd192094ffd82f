//! The editor's side of the plugin: owns every session as plain data, takes in what the background
//! says, sends it what the user wants, and has the windows drawn. One instance lives on Neovim's
//! thread. What may call back into here (autocommands, pickers, users' handlers) is not run while it
//! is being changed, but kept as an effect and run right after.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mlua::{Function, Result};
use serde_json::{Value as Json, json};

use crate::config::{AutoOpen, Config, DiffStyle, Log};
use crate::core::entry::{Body, EntryId, Greeting};
use crate::core::message::{
    Access, AgentId, AgentInfo, Answer, AskId, Command, Content as Block, Event, FileDiff, JobId, Launch,
    Outcome, Place, Question, Reopen, SessionKey, Severity, Steering, StoredSession, TerminalId, ToolKind,
    TurnEnd, Update, Work,
};
use crate::core::session::{LoggedIn, Moment, Phase, Session};
use crate::core::tool_call::Status;
use crate::core::transcript::readable;
use crate::mailbox::Mailbox;
use crate::nvim::actions::session_status;
use crate::nvim::asking::Asking;
use crate::nvim::chat::Chat;
use crate::nvim::editor::{Buf, Editor, Level};
use crate::nvim::extensions::Extensions;
use crate::nvim::files::{Content, Files, Snapshot, Written, canonical};
use crate::nvim::follow::{self, Follow};
use crate::nvim::frames::Frames;
use crate::nvim::highlight::Highlight;
use crate::nvim::review::Review;
use crate::nvim::terminal::{Key, Program, Terminals};
use crate::nvim::timer::Timer;
use crate::nvim::winbar;
use crate::nvim::{Background, Start};

/// One frame draws for at most this long, then the editor has its turn for as long again.
const BUDGET: Duration = Duration::from_millis(4);
/// How often the time of a running turn moves on.
const TICK: Duration = Duration::from_millis(250);
/// A command that still runs after this gets a window, where so configured.
const LONG: Duration = Duration::from_millis(1000);
/// At most this many stored sessions are asked for.
const MOST_LISTED: usize = 500;
/// How often an agent's write is worked out again because the user typed meanwhile.
const TRIES: u32 = 3;

pub type Effect = Box<dyn FnOnce(&Editor)>;

pub struct App {
    pub editor: Rc<Editor>,
    pub config: Config,
    pub sessions: BTreeMap<SessionKey, Session>,
    pub chats: BTreeMap<SessionKey, Chat>,
    /// The session that commands mean when the cursor is in no chat.
    pub current: Option<SessionKey>,
    pub follow: Follow,
    pub terminals: Terminals,
    pub asking: Asking,
    pub effects: VecDeque<Effect>,
    pub extensions: Extensions,
    pub bundled: Option<PathBuf>,
    log_path: PathBuf,
    launches: HashMap<AgentId, Launch>,
    /// The agents that were started and have not ended.
    alive: BTreeSet<AgentId>,
    infos: HashMap<AgentId, AgentInfo>,
    pids: HashMap<AgentId, u32>,
    /// Stored sessions as they are being listed, page by page.
    listing: HashMap<AgentId, Vec<StoredSession>>,
    /// The listing under way is for deleting one.
    pub deleting: bool,
    start: Start,
    background: Option<Box<dyn Background>>,
    mailbox: Arc<Mailbox>,
    files: Files,
    review: Review,
    highlight: Highlight,
    jobs: HashMap<JobId, Job>,
    frames: Rc<Frames>,
    tick: Timer,
    ticking: bool,
    bars: HashMap<SessionKey, String>,
    numbers: Numbers,
}

#[derive(Default)]
struct Numbers {
    agent: u32,
    session: u32,
    job: u64,
}

/// What a computation in the background is for.
enum Job {
    Write(Write),
    Diff { session: SessionKey, call: EntryId, buf: Buf, tick: u64, diffs: Vec<FileDiff> },
}

struct Write {
    session: SessionKey,
    ask: AskId,
    path: PathBuf,
    content: String,
    snapshot: Snapshot,
    tries: u32,
}

impl App {
    pub fn new(
        editor: Rc<Editor>,
        mailbox: Arc<Mailbox>,
        start: Start,
        frames: Rc<Frames>,
        tick: Timer,
        bundled: Option<PathBuf>,
    ) -> Result<Self> {
        let state: String = editor.func("stdpath", "log")?;
        Ok(Self {
            highlight: Highlight::new(&editor),
            editor,
            config: Config::default(),
            sessions: BTreeMap::new(),
            chats: BTreeMap::new(),
            current: None,
            follow: Follow::default(),
            terminals: Terminals::default(),
            asking: Asking::default(),
            effects: VecDeque::new(),
            extensions: Extensions::default(),
            bundled,
            log_path: Path::new(&state).join("acp.log"),
            launches: HashMap::new(),
            alive: BTreeSet::new(),
            infos: HashMap::new(),
            pids: HashMap::new(),
            listing: HashMap::new(),
            deleting: false,
            start,
            background: None,
            mailbox,
            files: Files::default(),
            review: Review::default(),
            jobs: HashMap::new(),
            frames,
            tick,
            ticking: false,
            bars: HashMap::new(),
            numbers: Numbers::default(),
        })
    }

    pub fn now(&self) -> Moment {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    // To the background.

    pub fn send(&mut self, command: Command) -> Result<()> {
        if self.background.is_none() {
            self.start_background()?;
        }
        if let Some(background) = &self.background {
            background.send(command);
        }
        Ok(())
    }

    pub fn send_all(&mut self, commands: Vec<Command>) -> Result<()> {
        commands.into_iter().try_for_each(|command| self.send(command))
    }

    fn start_background(&mut self) -> Result<()> {
        let background = (self.start)(self.mailbox.clone(), &self.config, self.log());
        self.background = Some(background);
        self.tell_extensions()?;
        for buf in self.editor.list_bufs()? {
            if self.editor.buf_is_loaded(buf) {
                self.buffer_loaded(buf)?;
            }
        }
        Ok(())
    }

    /// Tells the background, if there is one, which methods the user serves.
    pub fn tell_extensions(&mut self) -> Result<()> {
        if self.background.is_some() { self.send(self.extensions.command()) } else { Ok(()) }
    }

    /// Ends every process; waits for a short while at the most.
    pub fn shut_down(&mut self) {
        if let Some(background) = self.background.take() {
            background.shut_down(Duration::from_millis(400));
        }
    }

    // Sessions.

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
        let editor = self.editor.clone();
        let place = Place {
            additional: self.config.additional_directories(&cwd),
            mcp_servers: self.config.mcp_servers(&launch.name, &cwd, |name| editor.program(name)),
            cwd,
        };
        let running = self.alive.iter().copied().find(|agent| self.launches.get(agent) == Some(&launch));
        let agent = running.unwrap_or_else(|| self.next_agent());
        let mut session = Session::new(key, agent, &launch.name, &command_line(&launch), place, self.now());
        session.taking_up = stored;
        if let Some(info) = self.infos.get(&agent) {
            session.connected(info.clone());
        }
        self.sessions.insert(key, session);
        self.make_chat(key, &launch.name)?;
        self.current = Some(key);
        self.show(key)?;
        if running.is_none() {
            self.connect(agent, launch)?;
        }
        self.open_session(key)?;
        Ok(key)
    }

    fn connect(&mut self, agent: AgentId, launch: Launch) -> Result<()> {
        self.launches.insert(agent, launch.clone());
        self.alive.insert(agent);
        self.send(Command::Connect { agent, launch })
    }

    /// Has the agent open the session, or take up the stored one that is meant.
    fn open_session(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let (agent, place) = (session.agent, session.place.clone());
        self.send(match session.taking_up.clone() {
            Some((acp_id, how)) => Command::Load { agent, session: key, place, acp_id, how },
            None => Command::Open { agent, session: key, place },
        })
    }

    fn next_agent(&mut self) -> AgentId {
        self.numbers.agent += 1;
        AgentId(self.numbers.agent)
    }

    fn make_chat(&mut self, key: SessionKey, title: &str) -> Result<()> {
        let chat = Chat::new(&self.editor, key, title)?;
        self.highlight.attach(chat.transcript);
        self.chats.insert(key, chat);
        self.redraw_all(key);
        let (transcript, prompt) = {
            let chat = &self.chats[&key];
            (chat.transcript, chat.prompt)
        };
        crate::nvim::keys::bind(&self.editor, &self.config.keys, transcript, prompt)
    }

    fn redraw_all(&mut self, key: SessionKey) {
        if let (Some(session), Some(chat)) = (self.sessions.get(&key), self.chats.get_mut(&key)) {
            chat.touch((0..session.entries().len()).map(EntryId).collect());
        }
        self.bars.remove(&key);
    }

    /// Shows a session's chat; buffers that the user wiped are made anew from the session.
    pub fn show(&mut self, key: SessionKey) -> Result<()> {
        if self.chats.get(&key).is_some_and(|chat| !chat.is_valid(&self.editor)) {
            if let Some(chat) = self.chats.remove(&key) {
                chat.close(&self.editor);
            }
            let name = self.sessions.get(&key).map(|session| session.agent_name.clone()).unwrap_or_default();
            self.make_chat(key, &name)?;
        }
        self.current = Some(key);
        // What stands in the buffer is up to date before it is seen.
        self.draw(Duration::from_millis(20))?;
        if let Some(chat) = self.chats.get(&key) {
            chat.show(&self.editor, &self.config.window)?;
        }
        self.bars.remove(&key);
        self.update_bar(key)?;
        self.editor.command("redraw")
    }

    /// The session whose chat the cursor is in, else the one used last.
    pub fn session_here(&self) -> Option<SessionKey> {
        let buf = self.editor.current_buf().ok()?;
        let here = self.chats.values().find(|chat| chat.transcript == buf || chat.prompt == buf);
        here.map(|chat| chat.session).or(self.current.filter(|key| self.sessions.contains_key(key)))
    }

    pub fn prompt(&mut self, key: SessionKey, content: Vec<Block>) -> Result<()> {
        let now = self.now();
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let commands = session.prompt(content, now);
        let sent = !commands.is_empty();
        self.send_all(commands)?;
        if sent {
            self.emit("AcpPromptSent", key, json!({}));
        }
        if let Some(chat) = self.chats.get(&key)
            && let Some(win) = chat.window(&self.editor)
        {
            // Who sends wants to see the answer.
            let last = self.editor.line_count(chat.transcript)?;
            self.editor.set_cursor(win, last, 0)?;
        }
        self.after_change(key)
    }

    /// Sends a prompt into the turn that runs, or says that it has to wait.
    pub fn steer(&mut self, key: SessionKey, content: Vec<Block>) -> Result<()> {
        let now = self.now();
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        if session.is_working() && !session.can_be_steered() {
            let text = format!("{} can't be steered: the prompt waits in line", session.name());
            self.effects.push_back(Box::new(move |editor| editor.notify(&text, Level::Info)));
        } else if session.is_working() {
            let commands = session.steer(content, now);
            self.send_all(commands)?;
            return self.after_change(key);
        }
        self.prompt(key, content)
    }

    pub fn cancel(&mut self, key: SessionKey) -> Result<bool> {
        let now = self.now();
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(false) };
        if matches!(session.phase, Phase::Opening { .. }) {
            let agent = session.agent;
            let shared = self.of_agent(agent).len() > 1;
            self.send(match shared {
                true => Command::Cancel { session: key },
                false => Command::Disconnect { agent },
            })?;
            return Ok(true);
        }
        let commands = session.cancel(now);
        let any = !commands.is_empty();
        self.send_all(commands)?;
        self.after_change(key)?;
        Ok(any)
    }

    /// Starts a session's agent again, in the same chat. The old process is ended if it still runs and
    /// nobody else uses it.
    pub fn restart(&mut self, key: SessionKey) -> Result<()> {
        let now = self.now();
        let Some((old, name)) =
            self.sessions.get(&key).map(|session| (session.agent, session.agent_name.clone()))
        else {
            return Ok(());
        };
        let Some(launch) = self.launches.get(&old).cloned() else {
            return Err(mlua::Error::runtime(format!("{name} was never started; :AcpChat {name} does that")));
        };
        // Another session may have started the agent again already.
        let other = self
            .alive
            .iter()
            .copied()
            .find(|agent| *agent != old && self.launches.get(agent) == Some(&launch));
        let next = other.unwrap_or_else(|| self.next_agent());
        let shared = self.of_agent(old).len() > 1;
        if let Some(session) = self.sessions.get_mut(&key) {
            session.restarted(next, &command_line(&launch), now);
            if let Some(info) = self.infos.get(&next) {
                session.connected(info.clone());
            }
        }
        if shared {
            self.send(Command::Close { session: key })?;
        } else {
            self.send(Command::Disconnect { agent: old })?;
        }
        if other.is_none() {
            self.connect(next, launch)?;
        }
        self.open_session(key)?;
        self.after_change(key)
    }

    /// Ends a session for good: its chat goes, and its agent too when nobody else uses it.
    pub fn close_session(&mut self, key: SessionKey) -> Result<()> {
        let Some(agent) = self.sessions.get(&key).map(|session| session.agent) else { return Ok(()) };
        self.emit("AcpClosed", key, json!({}));
        self.send(Command::Close { session: key })?;
        if self.of_agent(agent).len() == 1 && self.alive.contains(&agent) {
            self.send(Command::Disconnect { agent })?;
        }
        self.review.clear_session(&self.editor, key)?;
        if let Some(chat) = self.chats.remove(&key) {
            if self.editor.current_buf()? == chat.prompt {
                self.editor.command("stopinsert")?;
            }
            chat.hide(&self.editor)?;
            chat.close(&self.editor);
        }
        self.sessions.remove(&key);
        self.bars.remove(&key);
        if self.current == Some(key) {
            self.current = self.sessions.keys().next_back().copied();
        }
        Ok(())
    }

    /// How a session's agent was started.
    pub fn launch_of(&self, key: SessionKey) -> Option<&Launch> {
        self.launches.get(&self.sessions.get(&key)?.agent)
    }

    /// The agents that run and have said what they can do: one session of each, and its abilities.
    pub fn agents(&self) -> Vec<(AgentId, AgentInfo)> {
        let ready = self.alive.iter().filter_map(|agent| Some((*agent, self.infos.get(agent)?.clone())));
        ready.collect()
    }

    /// Asks for the stored sessions of an agent; the answer opens a picker.
    pub fn list_stored(&mut self, agent: AgentId, cwd: PathBuf) -> Result<()> {
        self.listing.insert(agent, Vec::new());
        self.send(Command::List { agent, cwd: Some(cwd), cursor: None })
    }

    fn listed(&mut self, agent: AgentId, sessions: Vec<StoredSession>, next: Option<String>) -> Result<()> {
        let Some(known) = self.listing.get_mut(&agent) else { return Ok(()) };
        known.extend(sessions);
        match next {
            // Enough for a picker; an agent that pages for ever is not asked for ever.
            Some(cursor) if known.len() < MOST_LISTED => {
                let cwd = self
                    .of_agent(agent)
                    .first()
                    .and_then(|key| self.sessions.get(key))
                    .map(|s| s.place.cwd.clone());
                self.send(Command::List { agent, cwd, cursor: Some(cursor) })
            }
            _ => {
                let all = self.listing.remove(&agent).unwrap_or_default();
                self.offer_stored(agent, all)
            }
        }
    }

    /// Takes up a stored session in a chat of its own.
    pub fn take_up(&mut self, agent: AgentId, stored: StoredSession) -> Result<()> {
        let open = self.sessions.values().find(|session| {
            session.agent == agent && session.acp_id.as_deref() == Some(stored.acp_id.as_str())
        });
        if let Some(key) = open.map(|session| session.key) {
            return self.show(key);
        }
        let Some(launch) = self.launches.get(&agent).cloned() else { return Ok(()) };
        let key = self.open_chat(launch, stored.cwd, Some((stored.acp_id, Reopen::Load)))?;
        if let Some(session) = self.sessions.get_mut(&key) {
            session.title = stored.title;
        }
        self.update_bar(key)
    }

    /// Ends a session's agent; the chat stays readable.
    pub fn stop(&mut self, key: SessionKey) -> Result<()> {
        match self.sessions.get(&key).map(|session| session.agent) {
            Some(agent) => self.send(Command::Disconnect { agent }),
            None => Ok(()),
        }
    }

    /// The user's answer to a permission question.
    pub fn answer(&mut self, key: SessionKey, ask: AskId, option: &str) -> Result<()> {
        let now = self.now();
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let commands = session.answer(ask, option, now);
        if !commands.is_empty() {
            self.emit("AcpPermissionAnswered", key, json!({ "option": option }));
        }
        self.send_all(commands)?;
        self.after_change(key)
    }

    // From the background.

    pub fn handle(&mut self, event: Event) -> Result<()> {
        let now = self.now();
        match event {
            Event::Started { agent, pid } => {
                self.pids.insert(agent, pid);
            }
            Event::Connected { agent, info } => {
                self.infos.insert(agent, (*info).clone());
                for key in self.of_agent(agent) {
                    if let Some(session) = self.sessions.get_mut(&key) {
                        session.connected((*info).clone());
                    }
                    self.after_change(key)?;
                }
            }
            Event::Opened { session: key, opened } => {
                let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
                let commands = session.opened(*opened, now);
                self.send_all(commands)?;
                self.emit("AcpOpened", key, json!({}));
                self.after_change(key)?;
            }
            Event::OpenFailed { session: key, failure } => {
                self.emit("AcpFailed", key, json!({ "message": failure.message }));
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.open_failed(failure);
                }
                self.after_change(key)?;
            }
            Event::Updated { session: key, update } => self.updated(key, update, now)?,
            Event::Asked { session: key, ask, question } => self.asked(key, ask, question, now)?,
            Event::Called { agent: _, session, ask, method, params } => {
                self.called(session, ask, method, params)
            }
            Event::Told { agent: _, session, method, params } => self.told(session, method, params),
            Event::Withdrawn { session: key, ask } => {
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.withdrawn(ask, now);
                }
                self.after_change(key)?;
            }
            Event::TurnEnded { session: key, end } => self.turn_ended(key, end, now)?,
            Event::Steered { session: key, content, outcome } => {
                let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
                let taken = !matches!(outcome, Steering::NotTaken(_));
                let commands = session.steered(content, outcome, now);
                if taken || !commands.is_empty() {
                    self.emit(
                        "AcpPromptSent",
                        key,
                        if taken { json!({ "steered": true }) } else { json!({}) },
                    );
                }
                self.send_all(commands)?;
                self.after_change(key)?;
            }
            Event::Chosen { session: key, chosen } => {
                if let Some(session) = self.sessions.get_mut(&key) {
                    session.chosen(chosen);
                }
                self.after_change(key)?;
            }
            Event::RequestFailed { agent, session, what, failure } => {
                let name = self.agent_name(agent);
                let text = format!("{name} couldn't {what}: {}", failure.message);
                self.tell(agent, session, Severity::Error, text, now)?;
            }
            Event::LoggedIn { agent } => {
                for key in self.of_agent(agent) {
                    match self.sessions.get_mut(&key).map(|session| session.logged_in(now)) {
                        Some(LoggedIn::Open) => self.open_session(key)?,
                        Some(LoggedIn::Send(commands)) => self.send_all(commands)?,
                        Some(LoggedIn::Nothing) | None => {}
                    }
                    self.after_change(key)?;
                }
            }
            Event::LoggedOut { agent } => {
                self.tell(agent, None, Severity::Info, "Logged out; :Acp login logs in again".into(), now)?;
            }
            Event::Noted { agent, session, severity, text } => {
                self.tell(agent, session, severity, text, now)?
            }
            Event::TerminalStarted { session, terminal, command, cwd: _, typing } => {
                self.terminal_started((session, terminal), command, typing)?;
            }
            Event::TerminalGrew { session: key, terminal, bytes, skipped } => {
                let terminal = (key, terminal);
                let first = self.terminals.grew(&self.editor, &terminal, &bytes, skipped)?;
                self.touch_terminal(&terminal)?;
                // Many agents tell of what they run themselves only in the end: until then there is
                // nothing to see, and nothing to do.
                if first && !self.terminals.takes_input(&terminal) {
                    self.open_if_long(terminal)?;
                }
            }
            Event::TerminalEnded { session: key, terminal, exit } => {
                let terminal = (key, terminal);
                self.terminals.ended(&self.editor, &terminal, exit)?;
                self.touch_terminal(&terminal)?;
            }
            Event::FileServed { session: key, path, access } => {
                self.follow_to(key, &path, None, if access == Access::Wrote { "wrote" } else { "reading" })?;
                if access == Access::Wrote {
                    self.emit("AcpFileChanged", key, json!({ "path": path }));
                    self.refresh_diffs(key, &path)?;
                }
            }
            Event::Computed { job, outcome } => self.computed(job, outcome)?,
            Event::Listed { agent, sessions, next_cursor } => self.listed(agent, sessions, next_cursor)?,
            Event::Exited { agent, why } => {
                self.pids.remove(&agent);
                self.alive.remove(&agent);
                self.infos.remove(&agent);
                for key in self.of_agent(agent) {
                    if let Some(session) = self.sessions.get_mut(&key) {
                        session.exited(why.clone(), now);
                        let name = session.name();
                        if !why.expected {
                            self.emit("AcpFailed", key, json!({ "stderr": why.stderr }));
                            self.announce(key, &format!("{name} has ended"), Level::Error);
                        }
                    }
                    self.review.clear_session(&self.editor, key)?;
                    self.after_change(key)?;
                    self.settle(key)?;
                }
            }
        }
        Ok(())
    }

    fn updated(&mut self, key: SessionKey, update: Update, now: Moment) -> Result<()> {
        let call = match &update {
            Update::ToolCall(patch) => {
                Some((patch.id.clone(), patch.locations.is_some(), patch.content.is_some()))
            }
            _ => None,
        };
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        session.apply(update, now);
        if let Some((id, moved, content)) = call
            && let Some(entry) = session.call_entry(&id)
        {
            self.tool_changed(key, entry, moved, content)?;
        }
        self.after_change(key)
    }

    /// What a tool call shows beyond the chat: its place and its diffs.
    fn tool_changed(&mut self, key: SessionKey, entry: EntryId, moved: bool, content: bool) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let verb = match call.kind {
            ToolKind::Edit => "editing",
            ToolKind::Execute => "running",
            _ => "reading",
        };
        let what = format!("{}: {verb}", session.name());
        let over = call.status.is_over();
        let changes = matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        let touched: Vec<PathBuf> = match over && changes {
            true => call.diffs().map(|diff| session.place.cwd.join(&diff.path)).collect(),
            false => Vec::new(),
        };
        let place = call.places().last().map(|place| (session.place.cwd.join(&place.path), place.line));
        for path in touched {
            self.files.refresh(&self.editor, &path)?;
        }
        if over {
            self.review.clear(&self.editor, (key, entry))?;
        } else if content || !self.review.is_drawn((key, entry)) {
            self.show_diffs(key, entry)?;
        }
        match place {
            Some((path, line)) if (moved || content) && !over => self.follow_to(key, &path, line, &what),
            _ => Ok(()),
        }
    }

    fn follow_to(&mut self, key: SessionKey, path: &Path, line: Option<u32>, what: &str) -> Result<()> {
        self.emit("AcpLocation", key, json!({ "path": path, "line": line }));
        if self.follow.on {
            self.follow.go(&self.editor, path, line, what)?;
        }
        Ok(())
    }

    fn asked(&mut self, key: SessionKey, ask: AskId, question: Question, now: Moment) -> Result<()> {
        if !self.sessions.contains_key(&key) {
            return self.send(Command::Answer { ask, answer: Answer::Cancelled });
        }
        match question {
            Question::Permission { call, options } => {
                let id = call.id.clone();
                let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
                let commands = session.asked(ask, *call, options, now);
                let waits = commands.is_empty();
                let entry = session.call_entry(&id);
                let title = entry.and_then(|entry| session.entry(entry)).and_then(|entry| entry.tool());
                let title = title.map(|call| call.headline()).unwrap_or_default();
                let name = session.name();
                self.send_all(commands)?;
                if let Some(entry) = entry {
                    self.tool_changed(key, entry, true, true)?;
                }
                if waits {
                    self.emit("AcpPermissionAsked", key, json!({ "title": title }));
                    self.announce(key, &format!("{name} asks: {title}"), Level::Warn);
                }
            }
            Question::Read { path, line, limit } => {
                let answer = match self.files.read(&self.editor, &path, line, limit) {
                    Ok(text) => Answer::Text(text),
                    Err(why) => Answer::Refused(format!("couldn't read {}: {why}", path.display())),
                };
                self.send(Command::Answer { ask, answer })?;
                self.follow_to(key, &path, line, "reading")?;
            }
            Question::Write { path, content } => self.write(key, ask, path, content, 0)?,
            Question::Form { .. } | Question::Url { .. } => self.elicited(key, ask, question, now)?,
        }
        self.after_change(key)
    }

    fn turn_ended(&mut self, key: SessionKey, end: TurnEnd, now: Moment) -> Result<()> {
        let (reason, failed) = match &end {
            TurnEnd::Stopped { reason, .. } => (reason.word().to_owned(), None),
            TurnEnd::Failed(failure) => ("failed".to_owned(), Some(failure.message.clone())),
        };
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let commands = session.turn_ended(end, now);
        let name = session.name();
        self.send_all(commands)?;
        self.review.clear_session(&self.editor, key)?;
        self.follow.clear(&self.editor)?;
        self.after_change(key)?;
        self.settle(key)?;
        self.emit("AcpTurnEnded", key, json!({ "stop_reason": reason, "error": failed }));
        match failed {
            Some(message) => self.announce(key, &format!("{name}: {}", readable(&message)), Level::Error),
            None => self.announce(key, &format!("{name} is done"), Level::Info),
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
        let keys = session.map_or_else(|| self.of_agent(agent), |key| vec![key]);
        for key in keys {
            if let Some(session) = self.sessions.get_mut(&key) {
                session.notice(severity, text.clone(), now);
            }
            self.after_change(key)?;
        }
        Ok(())
    }

    /// Says something outside the chat when no window of the tab page shows it.
    pub fn announce(&mut self, key: SessionKey, text: &str, level: Level) {
        let hidden = self.chats.get(&key).is_some_and(|chat| chat.window(&self.editor).is_none());
        if hidden && self.config.notify {
            let text = text.to_owned();
            self.effects.push_back(Box::new(move |editor| editor.notify(&text, level)));
        }
    }

    fn of_agent(&self, agent: AgentId) -> Vec<SessionKey> {
        self.sessions.values().filter(|session| session.agent == agent).map(|session| session.key).collect()
    }

    pub fn agent_name(&self, agent: AgentId) -> String {
        self.of_agent(agent)
            .first()
            .and_then(|key| self.sessions.get(key))
            .map_or_else(|| "the agent".to_owned(), Session::name)
    }

    // Files.

    pub fn buffer_loaded(&mut self, buf: Buf) -> Result<()> {
        if let Some(path) = self.files.loaded(&self.editor, buf)
            && self.background.is_some()
        {
            self.send(Command::FileLoaded { path })?;
        }
        Ok(())
    }

    pub fn buffer_unloaded(&mut self, buf: Buf) -> Result<()> {
        if let Some(path) = self.files.unloaded(buf)
            && self.background.is_some()
        {
            self.send(Command::FileUnloaded { path })?;
        }
        Ok(())
    }

    /// Has the smallest edits worked out in the background against the buffer as it is now.
    fn write(
        &mut self,
        session: SessionKey,
        ask: AskId,
        path: PathBuf,
        content: String,
        tries: u32,
    ) -> Result<()> {
        match self.files.snapshot(&self.editor, &path) {
            Ok(snapshot) => {
                let new = Content::for_buffer(&self.editor, snapshot.buf, &content).text;
                let work = Work::Edits { old: snapshot.text.clone(), new };
                let job = self.next_job(Job::Write(Write { session, ask, path, content, snapshot, tries }));
                self.send(Command::Compute { job, work })
            }
            Err(why) => self.refuse(ask, &path, &why),
        }
    }

    fn refuse(&mut self, ask: AskId, path: &Path, why: &str) -> Result<()> {
        let text = format!("couldn't write {}: {why}", path.display());
        self.send(Command::Answer { ask, answer: Answer::Refused(text) })
    }

    fn next_job(&mut self, job: Job) -> JobId {
        self.numbers.job += 1;
        let id = JobId(self.numbers.job);
        self.jobs.insert(id, job);
        id
    }

    fn computed(&mut self, job: JobId, outcome: Outcome) -> Result<()> {
        match (self.jobs.remove(&job), outcome) {
            (Some(Job::Write(write)), Outcome::Edits(edits)) => self.finish_write(write, edits),
            (Some(Job::Diff { session, call, buf, tick, diffs }), Outcome::Placed(placed)) => {
                self.asking.retry = true;
                let waits = self
                    .sessions
                    .get(&session)
                    .and_then(|session| session.entry(call))
                    .and_then(|entry| entry.tool())
                    .is_some_and(|call| !call.status.is_over());
                if !waits || !self.editor.buf_is_loaded(buf) {
                    return Ok(());
                }
                if self.editor.changedtick(buf)? != tick {
                    return self.place_diffs(session, call, buf, diffs);
                }
                self.review.draw(&self.editor, (session, call), buf, &placed)
            }
            _ => Ok(()),
        }
    }

    fn finish_write(&mut self, write: Write, edits: Vec<crate::core::changes::TextEdit>) -> Result<()> {
        let Write { session, ask, path, content, snapshot, tries } = write;
        let fresh = self.editor.buf_is_loaded(snapshot.buf)
            && self.editor.changedtick(snapshot.buf)? == snapshot.tick;
        if !fresh && tries < TRIES {
            return self.write(session, ask, path, content, tries + 1);
        }
        let (buf, edits) = if fresh {
            (snapshot.buf, edits)
        } else {
            // The user types faster than the background compares: now is the only time that fits.
            match self.files.snapshot(&self.editor, &path) {
                Ok(now) => {
                    let new = Content::for_buffer(&self.editor, now.buf, &content).text;
                    (now.buf, crate::core::changes::edits(&now.text, &new))
                }
                Err(why) => return self.refuse(ask, &path, &why),
            }
        };
        let new = Content::for_buffer(&self.editor, buf, &content);
        match self.files.write(&self.editor, buf, &edits, &new) {
            Ok(written) => {
                self.send(Command::Answer { ask, answer: Answer::Done })?;
                let now = self.now();
                if written == Written::LeftUnsaved
                    && let Some(session) = self.sessions.get_mut(&session)
                {
                    let name = path.strip_prefix(&session.place.cwd).unwrap_or(&path).display().to_string();
                    let text = format!(
                        "{name} had unsaved edits: the agent's change is in the buffer, not saved yet"
                    );
                    session.notice(Severity::Info, text, now);
                }
                self.emit("AcpFileChanged", session, json!({ "path": path }));
                self.refresh_diffs(session, &path)?;
                self.after_change(session)
            }
            Err(why) => self.refuse(ask, &path, &why),
        }
    }

    // Diffs.

    /// Has the diffs of a call drawn in their files, which are opened if need be.
    fn show_diffs(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        if self.config.diff.style == DiffStyle::Off {
            return Ok(());
        }
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let waiting = call.status == Status::Waiting;
        let mut by_file: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
        for diff in call.diffs() {
            by_file.entry(session.place.cwd.join(&diff.path)).or_default().push(diff.clone());
        }
        for (index, (path, diffs)) in by_file.into_iter().enumerate() {
            let Some(buf) = self.diff_buf(&path, waiting && index == 0)? else { continue };
            self.place_diffs(key, entry, buf, diffs)?;
        }
        Ok(())
    }

    /// The buffer of a changed file. While the user is asked about it, a window shows it.
    fn diff_buf(&mut self, path: &Path, in_window: bool) -> Result<Option<Buf>> {
        if let Some(buf) = self.files.buf_of(&self.editor, path)
            && (!in_window || !self.editor.wins_of(buf).is_empty())
        {
            return Ok(Some(buf));
        }
        if !in_window {
            return Ok(None);
        }
        let Some(win) = follow::code_window(&self.editor)? else { return Ok(None) };
        let buf = follow::load(&self.editor, &canonical(path))?;
        self.buffer_loaded(buf)?;
        if win != self.editor.current_win()? || self.editor.mode().0 == "n" {
            self.editor.set_win_buf(win, buf)?;
        }
        Ok(Some(buf))
    }

    fn place_diffs(
        &mut self,
        session: SessionKey,
        call: EntryId,
        buf: Buf,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let Some(text) = self.editor.text(buf)? else { return Ok(()) };
        let tick = self.editor.changedtick(buf)?;
        let work = Work::Place { text, diffs: diffs.clone() };
        let job = self.next_job(Job::Diff { session, call, buf, tick, diffs });
        self.send(Command::Compute { job, work })
    }

    /// A file was written: the calls that show a diff of it show it as done.
    fn refresh_diffs(&mut self, key: SessionKey, path: &Path) -> Result<()> {
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let path = canonical(path);
        let calls: Vec<EntryId> = session
            .open_calls()
            .filter(|(entry, call)| {
                self.review.is_drawn((key, *entry))
                    && call.diffs().any(|diff| canonical(&session.place.cwd.join(&diff.path)) == path)
            })
            .map(|(entry, _)| entry)
            .collect();
        calls.into_iter().try_for_each(|entry| self.show_diffs(key, entry))
    }

    // Terminals.

    fn terminal_started(&mut self, key: Key, command: String, typing: bool) -> Result<()> {
        let typed = crate::nvim::typed(&self.editor.lua, key.clone())?;
        let program = Program { command: command.clone(), typing };
        let buf = self.terminals.start(&self.editor, key.clone(), program, typed)?;
        self.emit("AcpTerminalStarted", key.0, json!({ "buf": buf.0, "command": command }));
        match self.config.terminal.auto_open {
            AutoOpen::Always => self.open_terminal(&key),
            AutoOpen::Long if typing => self.open_if_long(key),
            AutoOpen::Long | AutoOpen::Never => Ok(()),
        }
    }

    /// Has the terminal's window opened where so configured, if the command still runs after a while.
    fn open_if_long(&mut self, key: Key) -> Result<()> {
        if self.config.terminal.auto_open != AutoOpen::Long {
            return Ok(());
        }
        crate::nvim::later(&self.editor.lua, LONG, move |app| {
            let runs = app.terminals.get(&key).is_some_and(|terminal| terminal.exit.is_none());
            if runs { app.open_terminal(&key) } else { Ok(()) }
        })
    }

    /// The user typed into a terminal, or the terminal itself answers what the program asks of it.
    pub fn typed(&mut self, key: Key, bytes: Vec<u8>) -> Result<()> {
        if self.terminals.takes_input(&key) {
            let (session, terminal) = key;
            return self.send(Command::Type { session, terminal, bytes });
        }
        if self.terminals.tell_once(&self.editor, &key)? {
            let name = self.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
            let text = format!("{name} runs this command itself: what you type does not reach it");
            self.effects.push_back(Box::new(move |editor| editor.notify(&text, Level::Info)));
        }
        Ok(())
    }

    pub fn open_terminal(&mut self, key: &Key) -> Result<()> {
        let beside = follow::code_window(&self.editor)?;
        let title = self.sessions.get(&key.0).and_then(|session| session.title_of(&key.1));
        self.terminals.open(&self.editor, key, &self.config.terminal, beside, title)?;
        self.resized()
    }

    pub fn resized(&mut self) -> Result<()> {
        for ((session, terminal), rows, columns) in self.terminals.resized(&self.editor) {
            self.send(Command::Resize { session, terminal, rows, columns })?;
        }
        // The bars are made to fit.
        self.ticked()
    }

    pub fn buffer_shown(&mut self, buf: Buf) -> Result<()> {
        self.terminals.shown(&self.editor, buf)?;
        if let Some(key) = self.chats.values().find(|chat| chat.transcript == buf).map(|chat| chat.session) {
            self.current = Some(key);
            self.bars.remove(&key);
            self.update_bar(key)?;
        }
        self.resized()
    }

    fn touch_terminal(&mut self, key: &Key) -> Result<()> {
        if let Some(session) = self.sessions.get_mut(&key.0) {
            session.touch_terminal(&key.1);
        }
        self.after_change(key.0)
    }

    // Drawing.

    /// Notes what changed, so that the next frame draws it.
    pub fn after_change(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.sessions.get_mut(&key) else { return Ok(()) };
        let (entries, status) = session.take_touched();
        if !entries.is_empty() {
            // A call that is over takes its virtual text along, however it ended.
            let over: BTreeSet<EntryId> = entries
                .iter()
                .copied()
                .filter(|entry| {
                    session
                        .entry(*entry)
                        .and_then(|entry| entry.tool())
                        .is_some_and(|call| call.status.is_over())
                })
                .collect();
            for entry in over {
                self.review.clear(&self.editor, (key, entry))?;
            }
            if let Some(chat) = self.chats.get_mut(&key) {
                chat.touch(entries);
            }
        }
        if status {
            self.update_bar(key)?;
            self.asking.retry = true;
        }
        Ok(())
    }

    fn settle(&mut self, key: SessionKey) -> Result<()> {
        self.draw(BUDGET)?;
        match self.chats.get_mut(&key) {
            Some(chat) if !chat.has_waiting() => chat.settle(&self.editor, &self.highlight),
            _ => Ok(()),
        }
    }

    /// Draws now when a frame is due, else sees to it that it comes.
    pub fn frame_due(&mut self) -> Result<()> {
        if !self.chats.values().any(Chat::has_waiting) {
            return Ok(());
        }
        if !self.frames.is_due() {
            return self.frames.wait();
        }
        self.draw(BUDGET)?;
        self.editor.flush();
        if self.chats.values().any(Chat::has_waiting) {
            self.frames.drawn_in_part(BUDGET)?;
            return self.frames.wait();
        }
        Ok(())
    }

    /// Has what is known on the screen before something that holds the editor, such as a picker.
    pub fn draw_now(&mut self) -> Result<()> {
        self.draw(BUDGET)?;
        self.editor.command("redraw")
    }

    /// Whether diffs of the session are being worked out, and not drawn yet.
    pub fn has_diffs_under_way(&self, key: SessionKey) -> bool {
        self.jobs.values().any(|job| matches!(job, Job::Diff { session, .. } if *session == key))
    }

    fn draw(&mut self, budget: Duration) -> Result<()> {
        let until = Instant::now() + budget;
        let editor = self.editor.clone();
        for (key, chat) in &mut self.chats {
            if !chat.has_waiting() {
                continue;
            }
            let Some(session) = self.sessions.get(key) else { continue };
            let terminals = &self.terminals;
            let tail = |terminal: &TerminalId| terminals.tail(&(*key, terminal.clone()));
            chat.draw(&editor, &self.highlight, session, self.config.icons, &tail, until)?;
        }
        self.frames.drawn()
    }

    fn update_bar(&mut self, key: SessionKey) -> Result<()> {
        let now = self.now();
        let (Some(session), Some(chat)) = (self.sessions.get(&key), self.chats.get(&key)) else {
            return Ok(());
        };
        let wins = self.editor.wins_of(chat.transcript);
        let width =
            wins.iter().filter_map(|win| self.editor.win_size(*win).ok()).map(|(columns, _)| columns).min();
        let bar = winbar::transcript(session, now, width.map_or(80, usize::from));
        let hints = winbar::prompt(session);
        let both = format!("{bar}\n{hints}");
        if self.bars.get(&key) != Some(&both) && !wins.is_empty() {
            for win in wins {
                self.editor.set_win_option(win, "winbar", bar.as_str())?;
            }
            for win in self.editor.wins_of(chat.prompt) {
                self.editor.set_win_option(win, "winbar", hints.as_str())?;
            }
            self.bars.insert(key, both);
        }
        let busy = self
            .sessions
            .values()
            .any(|session| session.is_working() || matches!(session.phase, Phase::Opening { .. }));
        if busy != self.ticking {
            self.ticking = busy;
            if busy {
                self.tick.every(TICK)?;
            } else {
                self.tick.stop()?;
            }
        }
        Ok(())
    }

    /// The time of running turns moves on.
    pub fn ticked(&mut self) -> Result<()> {
        let now = self.now();
        let keys: Vec<SessionKey> = self.sessions.keys().copied().collect();
        keys.into_iter().try_for_each(|key| {
            if let Some(session) = self.sessions.get_mut(&key) {
                session.ticked(now);
            }
            self.after_change(key)?;
            self.update_bar(key)
        })?;
        self.frame_due()
    }

    // Effects.

    /// A `User` autocommand, run once nothing here is being changed.
    pub fn emit(&mut self, pattern: &'static str, key: SessionKey, mut data: Json) {
        if let (Json::Object(data), Some(session)) = (&mut data, self.sessions.get(&key)) {
            data.insert("session".into(), json!(key.0));
            data.insert("agent".into(), json!(session.agent_name));
        }
        self.effects.push_back(Box::new(move |editor| {
            if let Err(error) = emit(editor, pattern, &data) {
                editor.notify(&format!("an autocommand for {pattern} failed: {error}"), Level::Error);
            }
        }));
    }

    /// What `require("acp").status()` gives: the session used last comes first.
    pub fn status(&self, only: Option<SessionKey>) -> Json {
        let mut keys: Vec<SessionKey> = self.sessions.keys().copied().collect();
        let here = self.session_here();
        keys.sort_by_key(|key| (Some(*key) != here, std::cmp::Reverse(*key)));
        keys.retain(|key| only.is_none_or(|only| only == *key));
        let sessions: Vec<Json> = keys.into_iter().filter_map(|key| session_status(self, key)).collect();
        let agents: Vec<Json> = self
            .launches
            .iter()
            .map(|(agent, launch)| {
                let pid = self.pids.get(agent);
                let state = if pid.is_some() { "running" } else { "ended" };
                json!({ "agent": launch.name, "pid": pid, "state": state })
            })
            .collect();
        json!({ "sessions": sessions, "agents": agents, "log": self.log(), "following": self.follow.on })
    }

    /// Where the messages are written down, if they are.
    pub fn log(&self) -> Option<PathBuf> {
        match &self.config.log {
            Log::Off => None,
            Log::On => Some(self.log_path.clone()),
            Log::File(path) => Some(path.clone()),
        }
    }

    /// What to do about a session that cannot take prompts.
    pub fn is_dead(&self, key: SessionKey) -> bool {
        self.sessions.get(&key).is_some_and(|session| session.phase == Phase::Gone)
    }

    /// Whether the agent failed before it had said anything, so that a new chat may take its place.
    pub fn never_lived(&self, key: SessionKey) -> bool {
        self.sessions.get(&key).is_some_and(|session| {
            session.entries().len() == 1
                && matches!(
                    session.entries()[0].body,
                    Body::Greeting(Greeting::Failed { .. } | Greeting::Stopped { .. })
                )
        })
    }
}

fn emit(editor: &Editor, pattern: &str, data: &Json) -> Result<()> {
    let options = editor.table([
        ("pattern", editor.string(pattern)?),
        ("modeline", mlua::Value::Boolean(false)),
        ("data", crate::nvim::to_lua(&editor.lua, data)?),
    ])?;
    let run: Function = editor.module("api")?.get("nvim_exec_autocmds")?;
    run.call(("User", options))
}

fn command_line(launch: &Launch) -> String {
    let mut words = vec![launch.command.clone()];
    words.extend(launch.args.iter().cloned());
    words.join(" ")
}
