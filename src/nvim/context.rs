//! What every feature may use: the editor, the options, the sessions, what buffers hold, an outbox for
//! the background, and ways to go on later. A feature that wants something of another one raises an
//! event. Which features there are is left to the router.

pub mod cases;
pub mod chat_buffers;
pub mod conflicts;
pub mod effects;
pub mod leftovers;
pub mod offers;
pub mod tools;

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mlua::{Lua, Result, Table, Value};

use crate::config::{Config, Log};
use crate::core::ids::{AgentId, JobId, Moment, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Outcome, Work};
use crate::core::session::question_queue::Here;
use crate::core::session::{Phase, Session};
use crate::core::terminal::tails::Tails;
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::reading::Reading;
use crate::nvim::buffers::texts::Snapshot;
pub use crate::nvim::context::chat_buffers::{ChatBuffers, LONG_PROMPT};
use crate::nvim::context::conflicts::OpenConflicts;
use crate::nvim::context::leftovers::Leftovers;
use crate::nvim::context::offers::Offers;
use crate::nvim::editor::{Buf, Editor, Win, picker};
use crate::nvim::events::EditorEvent;
pub use crate::nvim::guard::Then;
use crate::nvim::guard::{self, Effect, Features};
use crate::platform::paths::home_expanded;

/// Between two slices of a buffer that is being read.
const PAUSE: Duration = Duration::from_millis(1);

/// Goes on in the feature `F`.
pub fn then<F: Any, T: 'static>(
    work: impl FnOnce(&mut F, &mut Context, T) -> Result<()> + 'static,
) -> Then<T> {
    Box::new(move |features, answer| {
        let (feature, cx) = feature_of::<F>(features)?;
        let done = work(feature, cx, answer);
        features.serve()?;
        done
    })
}

/// Goes on in the feature `F` now, or as soon as nothing else is being done.
pub fn run<F: Any>(work: impl FnOnce(&mut F, &mut Context) -> Result<()> + 'static) {
    let then = then(|feature: &mut F, cx, ()| work(feature, cx));
    guard::run(move |features| then(features, ()));
}

/// Has the feature `F` take note of something in the midst of an edit, when nothing else may be run; `None` while
/// something else is being done.
pub fn note<F: Any, R>(work: impl FnOnce(&mut F, &mut Context) -> R) -> Option<R> {
    guard::note(|features| {
        let (feature, cx) = features.find(TypeId::of::<F>())?;
        Some(work(feature.downcast_mut::<F>()?, cx.downcast_mut::<Context>()?))
    })?
}

/// Goes on in the feature `F` after a while.
pub fn later<F: Any>(
    lua: &Lua,
    after: Duration,
    work: impl FnOnce(&mut F, &mut Context) -> Result<()> + 'static,
) -> Result<()> {
    let then = then(|feature: &mut F, cx, ()| work(feature, cx));
    guard::later(lua, after, move |features| then(features, ()))
}

/// Does something with the feature `F`, for Lua functions that answer at once.
pub fn enter<F: Any, R>(work: impl FnOnce(&mut F, &mut Context) -> Result<R>) -> Result<R> {
    guard::enter(|features| {
        let (feature, cx) = feature_of::<F>(features)?;
        work(feature, cx)
    })
}

fn feature_of<F: Any>(features: &mut dyn Features) -> Result<(&mut F, &mut Context)> {
    features
        .find(TypeId::of::<F>())
        .and_then(|(feature, cx)| Some((feature.downcast_mut::<F>()?, cx.downcast_mut::<Context>()?)))
        .ok_or_else(|| mlua::Error::runtime("this feature has no line in the router"))
}

pub struct Context {
    pub editor: Rc<Editor>,
    pub config: Config,
    pub sessions: BTreeMap<SessionKey, Session>,
    pub buffers: Buffers,
    /// The conflicts that wait for the user, oldest first.
    pub conflicts: OpenConflicts,
    /// The session that commands mean when the cursor is in no chat.
    pub current: Option<SessionKey>,
    /// The session that the call under way is about, where it says so.
    pub meant: Option<SessionKey>,
    /// The buffers of each session's chat.
    pub chats: BTreeMap<SessionKey, ChatBuffers>,
    /// The ends of what commands have shown.
    pub tails: Tails,
    /// What sessions are given of the editor's tools.
    pub offers: Offers,
    pub effects: VecDeque<Effect>,
    /// Where what the user is asked about can be seen.
    pub asked_about: Option<AskedAbout>,
    /// The user looks at another program.
    pub is_away: bool,
    /// The background runs.
    pub has_background: bool,
    outbox: VecDeque<Command>,
    pub leftovers: Leftovers,
    jobs: HashMap<JobId, Then<Outcome>>,
    /// Not needed any more, and may take long to free.
    discarded: Vec<Box<dyn Send>>,
    last_job: u64,
    log_path: PathBuf,
}

/// What the user is asked about, on the screen.
pub struct AskedAbout {
    /// Nobody else takes this window.
    pub win: Win,
    pub session: SessionKey,
    /// The file, or how many.
    pub name: String,
}

impl Context {
    pub fn new(editor: Rc<Editor>, log_path: PathBuf) -> Self {
        Self {
            editor,
            config: Config::default(),
            sessions: BTreeMap::new(),
            buffers: Buffers::default(),
            conflicts: OpenConflicts::default(),
            current: None,
            meant: None,
            chats: BTreeMap::new(),
            tails: Tails::default(),
            offers: Offers::default(),
            effects: VecDeque::new(),
            asked_about: None,
            is_away: false,
            has_background: false,
            outbox: VecDeque::new(),
            leftovers: Leftovers::default(),
            jobs: HashMap::new(),
            discarded: Vec::new(),
            last_job: 0,
            log_path,
        }
    }

    pub fn now(&self) -> Moment {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    /// Where the messages are written down, if they are.
    pub fn log(&self) -> Option<PathBuf> {
        match &self.config.log {
            Log::Off => None,
            Log::On => Some(self.log_path.clone()),
            Log::File(path) => Some(path.clone()),
        }
    }

    // To the other features and to the background. Both are served in order as soon as the feature that
    // runs is done.

    pub fn raise(&mut self, event: EditorEvent) {
        self.leftovers.raise(event);
    }

    /// Goes on in the feature `F` when the others have heard of what was raised so far.
    pub fn after_events<F: Any>(&mut self, work: impl FnOnce(&mut F, &mut Self) -> Result<()> + 'static) {
        let then = then(|feature: &mut F, cx, ()| work(feature, cx));
        self.leftovers.add_task(Box::new(move |features| then(features, ())));
    }

    pub fn send(&mut self, command: Command) {
        self.outbox.push_back(command);
    }

    pub fn send_all(&mut self, commands: Vec<Command>) {
        self.outbox.extend(commands);
    }

    pub fn take_command(&mut self) -> Option<Command> {
        self.outbox.pop_front()
    }

    pub fn take_outbox(&mut self) -> VecDeque<Command> {
        std::mem::take(&mut self.outbox)
    }

    /// Puts commands behind those that are in the outbox.
    pub fn return_outbox(&mut self, mut commands: VecDeque<Command>) {
        self.outbox.append(&mut commands);
    }

    /// Frees what is not needed any more where the editor need not wait for it.
    pub fn discard(&mut self, what: impl Send + 'static) {
        self.discarded.push(Box::new(what));
    }

    pub fn take_discarded(&mut self) -> Vec<Box<dyn Send>> {
        std::mem::take(&mut self.discarded)
    }

    /// Goes on where somebody else waits for an answer, once the feature that runs is done.
    pub fn resume<T: 'static>(&mut self, then: Then<T>, answer: T) {
        self.leftovers.add_task(Box::new(move |features| then(features, answer)));
    }

    // What is answered later.

    pub fn next_job(&mut self) -> JobId {
        self.last_job += 1;
        JobId(self.last_job)
    }

    /// Has the background compute something.
    pub fn compute<F: Any>(
        &mut self,
        work: Work,
        go_on: impl FnOnce(&mut F, &mut Self, Outcome) -> Result<()> + 'static,
    ) -> JobId {
        let job = self.expect_outcome(go_on);
        self.send(Command::Compute { job, work });
        job
    }

    /// A command's number, and what goes on with its outcome.
    pub fn expect_outcome<F: Any>(
        &mut self,
        go_on: impl FnOnce(&mut F, &mut Self, Outcome) -> Result<()> + 'static,
    ) -> JobId {
        let job = self.next_job();
        self.jobs.insert(job, then(go_on));
        job
    }

    pub fn take_job(&mut self, job: JobId) -> Option<Then<Outcome>> {
        self.jobs.remove(&job)
    }

    /// Finds out what there is at a path. The disk is not asked here.
    pub fn look_first<F: Any>(
        &mut self,
        path: &Path,
        go_on: impl FnOnce(&mut F, &mut Self, Look) -> Result<()> + 'static,
    ) {
        let work = Work::Look { path: path.to_owned(), roots: Vec::new(), diffs: Vec::new(), near: None };
        self.compute(work, move |feature: &mut F, cx, outcome| match outcome {
            Outcome::Looked(look) => go_on(feature, cx, look),
            _ => Ok(()),
        });
    }

    /// The same for what the user wants to see: not once they have gone elsewhere, and not where there is no
    /// file.
    pub fn visit_file<F: Any>(
        &mut self,
        path: &Path,
        go_on: impl FnOnce(&mut F, &mut Self) -> Result<()> + 'static,
    ) -> Result<()> {
        let (win, named) = (self.editor.current_win()?, path.to_owned());
        self.look_first(path, move |feature: &mut F, cx, look| match look {
            look if look.finds_file() && cx.editor.current_win()? == win => go_on(feature, cx),
            look if look.finds_file() => Ok(()),
            Look::Silent => {
                let text = format!("couldn't open {}: its disk does not answer", named.display());
                Err(mlua::Error::runtime(text))
            }
            _ => Err(mlua::Error::runtime(format!("{} is no file that can be opened", named.display()))),
        });
        Ok(())
    }

    /// Goes on with the buffer of a file that is to be changed. It is loaded if need be, once the background
    /// has seen that it is a text or not there yet, and not at all where it is anything else.
    pub fn load_first<F: Any>(
        &mut self,
        feature: &mut F,
        path: &Path,
        go_on: impl FnOnce(&mut F, &mut Self, Buf) -> Result<()> + 'static,
    ) -> Result<()> {
        if let Some(buf) = self.buf_of(path) {
            return go_on(feature, self, buf);
        }
        let named = path.to_owned();
        self.look_first(path, move |feature: &mut F, cx, look| match look {
            Look::File(_) | Look::Missing => {
                let buf = open::load(&cx.editor, &canonical(&named))?;
                go_on(feature, cx, buf)
            }
            _ => Ok(()),
        });
        Ok(())
    }

    /// A picker whose choice is acted on; without a choice nothing happens. The choice counts from 0.
    pub fn offer<F: Any>(
        &mut self,
        prompt: &str,
        kind: &'static str,
        items: Vec<String>,
        go_on: impl FnOnce(&mut F, &mut Self, usize) -> Result<()> + 'static,
    ) {
        let prompt = prompt.to_owned();
        self.run_effect("the picker failed", move |editor| {
            picker::select(editor, &prompt, kind, items, move |index| {
                if let Some(index) = index {
                    run(move |feature: &mut F, cx| go_on(feature, cx, index));
                }
            })
        });
    }

    /// Goes on after a while.
    pub fn later<F: Any>(
        &self,
        after: Duration,
        work: impl FnOnce(&mut F, &mut Self) -> Result<()> + 'static,
    ) -> Result<()> {
        later(&self.editor.lua, after, work)
    }

    /// Reads a buffer's text in slices, and goes on at once where one is enough. `None` when it can't be
    /// read: the buffer is gone, or holds no UTF-8 text.
    pub fn with_text<F: Any>(
        &mut self,
        feature: &mut F,
        buf: Buf,
        go_on: impl FnOnce(&mut F, &mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.read_on(feature, Reading::of(buf), buf, go_on)
    }

    /// The same for a text that is being typed: it is read when the user pauses.
    pub fn with_typed_text<F: Any>(
        &mut self,
        feature: &mut F,
        buf: Buf,
        go_on: impl FnOnce(&mut F, &mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.read_on(feature, Reading::patiently(buf), buf, go_on)
    }

    fn read_on<F: Any>(
        &mut self,
        feature: &mut F,
        mut reading: Reading,
        buf: Buf,
        go_on: impl FnOnce(&mut F, &mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        if !self.editor.buf_is_loaded(buf) {
            return go_on(feature, self, None);
        }
        match reading.go_on(&self.editor, &mut self.buffers.texts) {
            Ok(Some(snapshot)) => go_on(feature, self, Some(snapshot)),
            Ok(None) => {
                self.later(PAUSE, move |feature: &mut F, cx| cx.read_on(feature, reading, buf, go_on))
            }
            Err(_) => go_on(feature, self, None),
        }
    }

    /// Reads a buffer while the user waits.
    pub fn read_now(&mut self, buf: Buf) -> Result<Snapshot> {
        let mut reading = Reading::of(buf);
        loop {
            if let Some(snapshot) = reading.go_on(&self.editor, &mut self.buffers.texts)? {
                return Ok(snapshot);
            }
        }
    }

    // What several features ask.

    /// The session that a command without one means: the chat's that the cursor is in, else the last one.
    pub fn session_here(&self) -> Option<SessionKey> {
        if let Some(key) = self.meant {
            return Some(key).filter(|key| self.sessions.contains_key(key));
        }
        let here = self.here();
        here.chat.or(here.used)
    }

    /// The session whose chat the cursor is in, and the one whose chat was used last.
    pub fn here(&self) -> Here {
        let buf = self.editor.current_buf().ok();
        let chat = buf.and_then(|buf| self.chats.iter().find(|(_, chat)| chat.contains(buf)));
        Here {
            chat: chat.map(|(key, _)| *key),
            used: self.current.filter(|key| self.sessions.contains_key(key)),
        }
    }

    /// The session whose transcript a buffer is.
    pub fn chat_of_transcript(&self, buf: Buf) -> Option<SessionKey> {
        self.chats.iter().find(|(_, chat)| chat.transcript == buf).map(|(key, _)| *key)
    }

    /// A file that the user named, from where they are.
    pub fn absolute(&self, name: &str) -> PathBuf {
        self.editor.cwd().join(home_expanded(name))
    }

    /// Whether a session cannot take prompts.
    pub fn is_dead(&self, key: SessionKey) -> bool {
        self.sessions.get(&key).is_some_and(|session| session.phase == Phase::Gone)
    }

    /// The sessions of an agent.
    pub fn sessions_of(&self, agent: AgentId) -> Vec<SessionKey> {
        let its = self.sessions.values().filter(|session| session.agent == agent);
        its.map(|session| session.key).collect()
    }

    pub fn agent_name(&self, agent: AgentId) -> String {
        let session = self.sessions.values().find(|session| session.agent == agent);
        session.map_or_else(|| "the agent".to_owned(), Session::name)
    }

    /// What an agent that does not run is called, by its name in the configuration.
    pub fn configured_title(&self, name: &str) -> String {
        let own = self.config.agents.get(name).and_then(|agent| agent.title.clone());
        own.unwrap_or_else(|| name.to_owned())
    }

    /// Whether the tab page shows a session's chat.
    pub fn shows_chat(&self, key: SessionKey) -> bool {
        self.chats.get(&key).is_some_and(|chat| chat.window(&self.editor).is_some())
    }

    /// What an agent is called in lists, by its name in the configuration: as in its chats, of which one may be open.
    /// `told` is what it has called itself.
    pub fn called(&self, name: &str, told: Option<&String>) -> String {
        let mut known = self.sessions.values().filter(|it| it.agent_name == name && it.info.is_some());
        let title = self.config.agents.get(name).and_then(|agent| agent.title.as_ref());
        let unknown = || title.or(told).cloned().unwrap_or_else(|| name.to_owned());
        known.next().map_or_else(unknown, Session::name)
    }

    /// The buffer that holds a file.
    pub fn buf_of(&self, path: &Path) -> Option<Buf> {
        self.buffers.buf_of(&self.editor, path)
    }

    /// A path below the folder of a session, or of the current one.
    pub fn short_name(&self, key: Option<SessionKey>, path: &Path) -> String {
        let folder = |key: SessionKey| self.sessions.get(&key).map(|session| session.place.cwd.clone());
        let below =
            |folder: &Path| path.strip_prefix(folder).or_else(|_| path.strip_prefix(canonical(folder))).ok();
        let of_session = key.or(self.current).and_then(folder);
        let short = match (of_session, key) {
            (Some(folder), _) if below(&folder).is_some() => below(&folder),
            (_, Some(_)) => None,
            // Which session's it is nobody says: the user may be at work elsewhere.
            (_, None) => {
                let others = self.sessions.values().map(|session| session.place.cwd.clone());
                others.chain([self.editor.cwd()]).find_map(|folder| below(&folder))
            }
        };
        short.unwrap_or(path).display().to_string()
    }

    /// The project's root: the folder with `.git` above the current file or the folder that is listed, else the
    /// working folder. A listed folder outside of it is its own root.
    pub fn root(&self) -> PathBuf {
        let folder = self.editor.current_buf().ok().and_then(|buf| self.editor.folder_of(buf));
        let find = || -> Result<Option<String>> {
            let fs: Table = self.editor.module("fs")?;
            let root: mlua::Function = fs.get("root")?;
            let named = self.editor.buf_name(self.editor.current_buf()?);
            let from: Value = match &folder {
                Some(folder) => self.editor.string(folder.to_string_lossy().as_bytes())?,
                None if named.is_empty() || named.contains("://") => {
                    self.editor.string(self.editor.cwd().to_string_lossy().as_bytes())?
                }
                None => Value::Integer(0),
            };
            root.call((from, vec![".git", ".hg", ".jj"]))
        };
        let cwd = || self.editor.cwd();
        let elsewhere = || folder.clone().filter(|folder| !folder.starts_with(cwd()));
        find().ok().flatten().map(PathBuf::from).or_else(elsewhere).unwrap_or_else(cwd)
    }
}
