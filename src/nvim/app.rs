//! The editor's side of the plugin: owns every session as plain data, takes in what the background
//! says, sends it what the user wants, and has the windows drawn. One instance lives on Neovim's
//! thread. What may call back into here (autocommands, pickers, users' handlers) is not run while it
//! is being changed, but kept as an effect and run right after.

pub mod changes;
pub mod checkpoints;
pub mod computed;
pub mod events;
pub mod follow;
pub mod review;

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::files::watching::Watching;
use crate::nvim::guard::Effect;
use crate::nvim::guard::Features;
use mlua::{Function, Result};
use serde_json::{Value as Json, json};

use crate::core::ids::{AgentId, JobId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Launch, StoredSession};
use crate::core::session::entry::{Body, Greeting};
use crate::core::session::lifecycle;
use crate::core::session::{Phase, Session};
use crate::core::store::record::Kept;
use crate::mailbox::Mailbox;
use crate::nvim::actions::session_status;
use crate::nvim::chat::Chat;
use crate::nvim::chat::frame_clock::Frames;
use crate::nvim::chat::highlight::Highlight;
use crate::nvim::chat::plan::Pinned;
use crate::nvim::chat::windows::Windows;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::extensions::Extensions;
use crate::nvim::files::{FileJob, Files};
use crate::nvim::follow::Follow;
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::queue_list::QueueList;
use crate::nvim::questions::queue::Asking;
use crate::nvim::review::Reviews;
use crate::nvim::sessions::stored::Gathering;
use crate::nvim::terminals::Terminals;
use crate::nvim::{Background, Start, autocommands, later};

pub struct App {
    pub cx: Context,
    pub chats: BTreeMap<SessionKey, Chat>,
    pub windows: Windows,
    pub follow: Follow,
    pub terminals: Terminals,
    pub asking: Asking,
    pub plan: Option<Pinned>,
    pub agents: crate::nvim::agents::launch::Agents,
    pub queue_list: Option<QueueList>,
    pub signals: crate::nvim::sessions::user_events::Signals,
    pub extensions: Extensions,
    pub prompts: Prompts,
    pub bundled: Option<PathBuf>,
    pub record_folder: PathBuf,
    /// What waits for the record to be read.
    pub recalls: HashMap<JobId, crate::nvim::sessions::record::WithRecord>,
    /// The sessions that the record knows of.
    pub recorded: BTreeSet<SessionKey>,
    /// The sessions being taken up, as the record knows them.
    pub taken_up: HashMap<SessionKey, Kept>,
    pub processes: lifecycle::Agents,
    pub openings: lifecycle::Openings,
    /// Stored sessions as they are being listed, page by page.
    pub listing: HashMap<AgentId, Vec<StoredSession>>,
    /// The listing under way is for deleting one.
    pub deleting: bool,
    pub gathering: Gathering,
    pub start: Start,
    pub background: Option<Box<dyn Background>>,
    pub mailbox: Arc<Mailbox>,
    pub files: Files,
    pub conflicts: crate::nvim::files::conflicts::Conflicts,
    pub mentions: crate::nvim::prompt::unsaved_note::Mentions,
    pub reviews: Reviews,
    pub watching: Watching,
    pub checkpoints: crate::nvim::checkpoints::Checkpoints,
    pub highlight: Highlight,
    pub jobs: HashMap<JobId, Job>,
    pub frames: Rc<Frames>,
    pub tick: Timer,
    pub ticking: bool,
    pub bars: HashMap<SessionKey, String>,
    pub numbers: Numbers,
}

#[derive(Default)]
pub struct Numbers {
    pub session: u32,
}

pub type AfterLook = Box<dyn FnOnce(&mut App, Look) -> Result<()>>;

/// What a computation in the background is for.
pub enum Job {
    File(Box<FileJob>),
    Mention(crate::nvim::prompt::unsaved_note::Mention),
    Stamp {
        path: PathBuf,
        buf: Buf,
        tick: u64,
    },
    /// What a prompt that was sent refers to.
    Prompt {
        session: SessionKey,
    },
    /// Who wants to know which sources lie in the plugin's folder.
    Fingerprint {
        then: Function,
    },
    /// Which files that a prompt refers to are there.
    Exists {
        session: SessionKey,
        paths: Vec<PathBuf>,
    },
    /// The clipboard's image for a prompt.
    Paste {
        session: SessionKey,
    },
    /// What to do once it is known what there is at a path.
    LookFirst(AfterLook),
    /// The places that a command names.
    Places {
        title: String,
    },
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
        let records: String = editor.func("stdpath", "state")?;
        let prompts = Prompts::new(&editor)?;
        let agents = crate::nvim::agents::launch::Agents::new(&editor)?;
        Ok(Self {
            highlight: Highlight::new(&editor),
            cx: Context::new(editor, Path::new(&state).join("acp.log")),
            chats: BTreeMap::new(),
            windows: Windows::default(),
            follow: Follow::default(),
            terminals: Terminals::default(),
            asking: Asking::default(),
            plan: None,
            agents,
            queue_list: None,
            signals: crate::nvim::sessions::user_events::Signals::default(),
            extensions: Extensions::default(),
            prompts,
            bundled,
            record_folder: Path::new(&records).join("acp/sessions"),
            recalls: HashMap::new(),
            recorded: BTreeSet::new(),
            taken_up: HashMap::new(),
            processes: lifecycle::Agents::default(),
            openings: lifecycle::Openings::default(),
            listing: HashMap::new(),
            deleting: false,
            gathering: Gathering::default(),
            start,
            background: None,
            mailbox,
            files: Files::default(),
            conflicts: crate::nvim::files::conflicts::Conflicts::default(),
            mentions: crate::nvim::prompt::unsaved_note::Mentions::default(),
            watching: Watching::default(),
            checkpoints: crate::nvim::checkpoints::Checkpoints::new(
                Path::new(&records).join("acp/checkpoints"),
            ),
            reviews: Reviews::default(),
            jobs: HashMap::new(),
            frames,
            tick,
            ticking: false,
            bars: HashMap::new(),
            numbers: Numbers::default(),
        })
    }

    /// Serves what features have left: events for each other, commands for the background.
    pub fn route(&mut self) -> Result<()> {
        loop {
            while let Some(command) = self.cx.take_command() {
                self.send_next(command)?;
            }
            match self.cx.take_event() {
                Some(EditorEvent::SessionChanged(key)) => self.after_change(key)?,
                Some(EditorEvent::LocationShown(key)) => self.update_bar(key)?,
                Some(EditorEvent::FollowBegan) => autocommands::watch_user(&self.cx.editor)?,
                Some(EditorEvent::BufferLoaded(buf)) => self.buffer_loaded(buf)?,
                Some(EditorEvent::FileRestored { path, held }) => self.file_restored(&path, &held)?,
                Some(EditorEvent::RestoreEnded) => self.reviews.draw_reviews(&mut self.cx)?,
                Some(EditorEvent::ChangeUndone { session, text }) => self.reviews.undone.add(session, text),
                Some(EditorEvent::ReviewOutdated(buf)) => self.review_stale(buf)?,
                Some(EditorEvent::DiffsPlaced) => self.asking.retry = true,
                Some(EditorEvent::CommentsSent { session, text, count }) => {
                    self.comments_sent(session, text, count)?;
                }
                Some(EditorEvent::LineUnattributed { buf, path, row }) => {
                    self.checkpoints.blame(&mut self.cx, buf, path, row)?;
                }
                Some(EditorEvent::LineChosen { path, row }) => self.go_to_row(&path, row)?,
                Some(EditorEvent::KeysAsked) => self.show_keys()?,
                Some(EditorEvent::FileChanged(change)) => self.changed(*change)?,
                None => match self.cx.take_after_events() {
                    Some(then) => then(self, ())?,
                    None => return Ok(()),
                },
            }
        }
    }

    // To the background.

    pub fn send(&mut self, command: Command) -> Result<()> {
        // What a feature has sent comes first.
        while let Some(earlier) = self.cx.take_command() {
            self.send_next(earlier)?;
        }
        self.send_next(command)
    }

    fn send_next(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Prompt { session, content } => match self.with_mention(session, content)? {
                Some(command) => self.dispatch(command),
                None => Ok(()),
            },
            Command::Cancel { session } => {
                self.send_held(session)?;
                self.dispatch(Command::Cancel { session })
            }
            command => self.dispatch(command),
        }
    }

    pub fn dispatch(&mut self, command: Command) -> Result<()> {
        if self.background.is_none() {
            self.start_background()?;
        }
        if let Command::Prompt { session, .. } = &command {
            self.turn_began(*session)?;
        }
        let sent = match &command {
            Command::Prompt { session, content } => Some((*session, content.clone())),
            _ => None,
        };
        if let Some(background) = &self.background {
            background.send(self.openings.outgoing(command));
        }
        match sent {
            Some((key, content)) => self.turn_started(key, &content),
            None => Ok(()),
        }
    }

    /// Frees what is not needed any more where the editor need not wait for it.
    pub fn discard(&self, what: impl Send + 'static) {
        if let Some(background) = &self.background {
            background.discard(Box::new(what));
        }
    }

    /// Lua's garbage of a chat that is gone, some at a time: Lua itself collects only when more is made.
    pub fn collect_garbage(&mut self, done: u32) -> Result<()> {
        const STEPS: u32 = 1000;
        let until = Instant::now() + Duration::from_millis(2);
        while Instant::now() < until {
            // True at the end of a cycle.
            if self.cx.editor.lua.gc_step()? {
                return Ok(());
            }
        }
        if done < STEPS {
            later(&self.cx.editor.lua, Duration::from_millis(10), move |app| app.collect_garbage(done + 1))?;
        }
        Ok(())
    }

    pub fn send_all(&mut self, commands: Vec<Command>) -> Result<()> {
        commands.into_iter().try_for_each(|command| self.send(command))
    }

    fn start_background(&mut self) -> Result<()> {
        let background =
            (self.start)(self.mailbox.clone(), &self.cx.config, self.cx.log(), self.bundled.clone());
        self.background = Some(background);
        self.cx.has_background = true;
        self.tell_extensions()?;
        self.tell_outside_rules()?;
        let cache: String = self.cx.editor.func("stdpath", "cache")?;
        self.send(Command::KeepImages { folder: Path::new(&cache).join("acp/images") })?;
        for buf in self.cx.editor.list_bufs()? {
            if self.cx.editor.buf_is_loaded(buf) {
                self.buffer_loaded(buf)?;
            }
        }
        Ok(())
    }

    pub fn has_background(&self) -> bool {
        self.background.is_some()
    }

    /// Tells the background, if there is one, which methods the user serves.
    pub fn tell_extensions(&mut self) -> Result<()> {
        if self.background.is_some() { self.send(self.extensions.command()) } else { Ok(()) }
    }

    /// Ends every process, or leaves that to the guard; waits for a short while at the most.
    pub fn shut_down(&mut self) {
        self.cx.has_background = false;
        if let Some(background) = self.background.take() {
            background.leave(Duration::from_millis(400));
        }
    }

    pub fn of_agent(&self, agent: AgentId) -> Vec<SessionKey> {
        self.cx
            .sessions
            .values()
            .filter(|session| session.agent == agent)
            .map(|session| session.key)
            .collect()
    }

    pub fn agent_name(&self, agent: AgentId) -> String {
        self.of_agent(agent)
            .first()
            .and_then(|key| self.cx.sessions.get(key))
            .map_or_else(|| "the agent".to_owned(), Session::name)
    }

    /// What `require("acp").status()` gives: the session used last comes first.
    pub fn status(&self, only: Option<SessionKey>) -> Json {
        let mut keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        let here = self.cx.session_here();
        keys.sort_by_key(|key| (Some(*key) != here, std::cmp::Reverse(*key)));
        keys.retain(|key| only.is_none_or(|only| only == *key));
        let sessions: Vec<Json> = keys.into_iter().filter_map(|key| session_status(self, key)).collect();
        let agents: Vec<Json> = self
            .processes
            .all()
            .map(|(launch, pid)| {
                let state = if pid.is_some() { "running" } else { "ended" };
                json!({ "agent": launch.name, "pid": pid, "state": state })
            })
            .collect();
        json!({ "sessions": sessions, "agents": agents, "log": self.cx.log(), "following": self.is_following() })
    }

    /// What to do about a session that cannot take prompts.
    pub fn is_dead(&self, key: SessionKey) -> bool {
        self.cx.sessions.get(&key).is_some_and(|session| session.phase == Phase::Gone)
    }

    /// Whether the agent failed before it had said anything, so that a new chat may take its place.
    pub fn never_lived(&self, key: SessionKey) -> bool {
        self.cx.sessions.get(&key).is_some_and(|session| {
            session.entries().len() == 1
                && matches!(
                    session.entries()[0].body,
                    Body::Greeting(Greeting::Failed { .. } | Greeting::Stopped { .. })
                )
        })
    }
}

pub fn command_line(launch: &Launch) -> String {
    let mut words = vec![launch.command.clone()];
    words.extend(launch.args.iter().cloned());
    words.join(" ")
}

impl Features for App {
    fn find(&mut self, feature: TypeId) -> Option<(&mut dyn Any, &mut dyn Any)> {
        let features: [&mut dyn Any; 3] = [&mut self.checkpoints, &mut self.follow, &mut self.reviews];
        let found = features.into_iter().find(|each| (**each).type_id() == feature)?;
        Some((found, &mut self.cx))
    }

    fn settle(&mut self) -> Result<()> {
        self.route()?;
        if self.asking.retry {
            self.ask_next();
        }
        self.ask_names()?;
        self.route()
    }

    fn ring(&mut self) {
        self.mailbox.rouse_again();
    }

    fn next_effect(&mut self) -> Option<Effect> {
        self.cx.effects.pop_front()
    }

    fn key(&mut self, name: &str) -> Result<()> {
        App::key(self, name)
    }

    fn interrupted(&mut self) -> Result<()> {
        App::interrupted(self)
    }
}
