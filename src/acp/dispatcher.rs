//! Hands each command to the agent or the worker that it is for, and ends all of them when Neovim leaves.
//! Talking to one agent is `connection`'s part; what they share is in `shared`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{self, JoinHandle, JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::files::find::Finder;
use super::files::restore;
use super::files::watch::Edit;
use super::processes::escaped;
use super::refusals::{failed_to_start, refuse, session_of};
use super::settings::Settings;
use super::shared::Shared;
use super::store::audit_log::AuditRequest;
use super::store::checkpoints::Checkpoints;
use super::store::choices::Choices;
use super::store::drafts::DraftStore;
use super::store::images::Images;
use super::store::registry::AgentRegistry;
use super::store::session_index::SessionIndex;
use super::store::undecided::UndecidedStore;
use super::store::undoing::Undoing;
use super::store::usage_log::UsageLog;
use super::{compute, connection, inspector, tools};
use crate::core::ids::{AgentId, JobId, SessionKey};
use crate::core::message::{Command, Event, Failure, FailureKind, LeftCommand, Outcome, PutBack, Severity};
use crate::mailbox::Mailbox;
use crate::platform::paths::resolve_file;

/// How long everything may take to end when nobody says a limit, and no guard takes care of the rest.
pub const EXIT_LIMIT: Duration = Duration::from_millis(300);
/// How long agents have when Neovim ends, before the guard takes care of them. Most need no more.
const EXIT_GRACE: Duration = Duration::from_millis(30);
/// How long a command that goes on after its turn may take to end, once it was asked to.
const LEFT_GRACE: Duration = Duration::from_secs(2);

/// What the editor's thread sends.
pub enum Order {
    Do(Command),
    /// End everything within this time.
    End(Duration),
    /// Neovim ends: ask everything to end, and leave the rest to the guard.
    Leave,
}

pub struct Dispatcher {
    shared: Arc<Shared>,
    agents: HashMap<AgentId, mpsc::UnboundedSender<Command>>,
    /// Which agent a session belongs to.
    sessions: HashMap<SessionKey, AgentId>,
    session_index: SessionIndex,
    usage: UsageLog,
    choices: Choices,
    checkpoints: Checkpoints,
    tasks: JoinSet<()>,
    names: HashMap<task::Id, AgentId>,
    finder: Finder,
    drafts: DraftStore,
    undecided: UndecidedStore,
    registry: AgentRegistry,
    /// Files that are put back, until their sender is gone.
    putting_back: Vec<(PathBuf, watch::Receiver<()>)>,
    /// Says to all that Neovim is leaving, and until when it waits.
    leaving: watch::Sender<Option<Instant>>,
}

impl Dispatcher {
    pub fn new(mailbox: Arc<Mailbox>, settings: Settings) -> Self {
        let shared = Shared::new(mailbox.clone(), settings);
        Self {
            session_index: SessionIndex::new(mailbox.clone()),
            checkpoints: Checkpoints::new(
                mailbox.clone(),
                shared.disks.clone(),
                shared.folder_indexes.clone(),
            ),
            drafts: DraftStore::new(mailbox.clone()),
            usage: UsageLog::new(mailbox.clone()),
            choices: Choices::new(mailbox.clone()),
            undecided: UndecidedStore::new(mailbox.clone()),
            putting_back: Vec::new(),
            registry: AgentRegistry::new(mailbox, shared.log.clone()),
            shared: Arc::new(shared),
            agents: HashMap::new(),
            sessions: HashMap::new(),
            tasks: JoinSet::new(),
            names: HashMap::new(),
            finder: Finder::default(),
            leaving: watch::Sender::new(None),
        }
    }

    /// Works until it is told to leave, or nobody is there any more who could tell.
    pub async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let (limit, to_guard) = loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(Order::Do(command)) => self.command(command),
                    Some(Order::End(limit)) => break (limit, false),
                    Some(Order::Leave) if self.shared.guard.holds() => break (EXIT_GRACE, true),
                    Some(Order::Leave) | None => break (EXIT_LIMIT, false),
                },
                Some(ended) = self.tasks.join_next_with_id() => self.ended(ended),
            }
        };
        // From here on `Background::send` knows that nobody listens.
        orders.close();
        self.leaving.send_replace(Some(Instant::now() + limit));
        self.shared.disks.leave();
        let shared = self.shared.clone();
        let terminals = spawn_blocking(move || {
            if to_guard {
                shared.terminals.leave_to_guard()
            } else {
                shared.terminals.end_all()
            }
            shared.images.end();
        });
        let stores = self.finish_stores();
        while let Some(ended) = self.tasks.join_next_with_id().await {
            self.ended(ended);
        }
        // It can only fail by a panic, which the panic hook has logged.
        let _ = terminals.await;
        for store in stores {
            // The same.
            let _ = store.await;
        }
        // What agents left open when they ended is recorded, too.
        let shared = self.shared.clone();
        let _ = spawn_blocking(move || shared.audit.finish()).await;
    }

    /// Has all that was sent to the stores written, each by itself: one disk may be slower than another.
    fn finish_stores(&self) -> [JoinHandle<()>; 6] {
        let (sessions, checkpoints) = (self.session_index.clone(), self.checkpoints.clone());
        let (drafts, usage, choices) = (self.drafts.clone(), self.usage.clone(), self.choices.clone());
        let undecided = self.undecided.clone();
        [
            spawn_blocking(move || sessions.finish()),
            spawn_blocking(move || checkpoints.finish()),
            spawn_blocking(move || drafts.finish()),
            spawn_blocking(move || usage.finish()),
            spawn_blocking(move || choices.finish()),
            spawn_blocking(move || undecided.finish()),
        ]
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Connect { agent, launch } => self.connect(agent, *launch),
            Command::Kill { session, terminal } => {
                // A terminal that is gone already needs no ending.
                let _ = self.shared.terminals.kill(session, &terminal);
            }
            Command::EndLeft { session, commands } => self.end_left(session, commands),
            Command::Type { session, terminal, bytes } => {
                self.shared.terminals.type_bytes(session, &terminal, &bytes);
            }
            Command::Resize { session, terminal, rows, columns } => {
                self.shared.terminals.resize(session, &terminal, rows, columns);
            }
            Command::FileLoaded { path } => self.shared.open_files.add(&self.shared.disks, path),
            Command::FileUnloaded { path } => self.shared.open_files.remove(&path),
            Command::Resolve { paths } => {
                let shared = self.shared.clone();
                tokio::spawn(async move { shared.resolved_names.tell(paths).await });
            }
            Command::UserBegan(began) => self.shared.folder_indexes.user_began(began),
            Command::UserEnded => self.shared.folder_indexes.user_ended(),
            Command::Watch { session, path } => self.shared.watch.named(session, path),
            Command::Edits { session, call, path, diffs, held, size } => {
                let edit = Edit { call: (session, call), diffs, size };
                self.shared.watch.edited(session, path.clone(), edit);
                if let Some(stamp) = held {
                    self.shared.watch.held(&path, stamp);
                }
            }
            Command::Outside { rules } => self.shared.policy.file_access.set(rules),
            Command::Rules(news) => self.shared.policy.take(news),
            Command::ListAllowed => self.list_allowed(),
            Command::Revoke { allowed } => {
                let shared = self.shared.clone();
                spawn_blocking(move || {
                    if let Some(text) = shared.policy.file_access.revoke(allowed) {
                        shared.mailbox.post(Event::Advised { severity: Severity::Warning, text });
                    }
                });
            }
            Command::Handle { requests, notifications } => {
                self.shared.extension_methods.set(requests, notifications)
            }
            Command::Tools { list } => self.shared.tools.set(list),
            Command::OfferTools { session, socket, token, without } => {
                tools::offer(&self.shared.tools, session, socket, (token, without));
            }
            Command::AnswerTool { run, answer } => self.shared.tools.answer(run, answer),
            Command::PutBack { job, path, what, folders } => self.put_back(job, path, what, folders),
            Command::Compute { job, work } => compute::start(&self.shared, job, work),
            Command::Record { folder, request } => self.session_index.request(folder, request),
            Command::Choices { file, request } => self.choices.request(file, request),
            Command::PlayNext { agent } => self.shared.replays.next(agent),
            Command::Inspect(request) => inspector::serve(&self.shared, request),
            Command::Audit { folder, request } => {
                self.shared.audit.request(folder, AuditRequest::Asked(request))
            }
            Command::Usage { folder, request } => self.usage.request(folder, request),
            Command::Checkpoint { folder, limits, request } => {
                self.checkpoints.request(folder, limits, *request);
            }
            Command::Undecided { folder, request } => self.undecided.request(folder, request),
            Command::ReadAgents { job, files, change } => self.registry.request(job, *files, *change),
            Command::Find { search, root, query } => {
                let search = self.finder.begin(search, root, query);
                let mailbox = self.shared.mailbox.clone();
                spawn_blocking(move || search.run(&mailbox));
            }
            Command::KeepImages { folder } => {
                self.shared.images.set(&folder);
                self.shared.folder_indexes.keep_in(folder.parent().unwrap_or(&folder).to_owned());
                spawn_blocking(move || Images::sweep(&folder));
            }
            Command::Keep(keep) => self.drafts.request(keep),
            // Told apart before it comes here.
            Command::Shutdown => {}
            command => self.pass_on(command),
        }
    }

    fn put_back(&mut self, job: JobId, path: PathBuf, what: PutBack, folders: Option<(PathBuf, u64)>) {
        let shared = self.shared.clone();
        let (done, ended) = watch::channel(());
        self.putting_back.retain(|(_, other)| other.has_changed().is_ok());
        // Where a file was may be a folder, which goes with the last file in it; and the other way round.
        let is_in_the_way = |other: &Path| other.starts_with(&path) || path.starts_with(other);
        let before = self.putting_back.iter().filter(|(other, _)| is_in_the_way(other));
        let before: Vec<_> = before.map(|(_, ended)| ended.clone()).collect();
        self.putting_back.push((path.clone(), ended));
        tokio::spawn(async move {
            for mut other in before {
                // Nothing is sent: it fails when that one is done.
                while other.changed().await.is_ok() {}
            }
            let (file, theirs) = (path.clone(), shared.clone());
            let put = move || {
                // A link that goes or comes back is not what it leads to.
                let resolved = match &what {
                    PutBack::Held { .. } => file.clone(),
                    _ => resolve_file(&file),
                };
                // The user's doing is no news.
                theirs.folder_indexes.writing(&resolved);
                let done = restore::put_back(&file, &what);
                if let (Ok(_), Some((project, since)), true) = (&done, &folders, what.removes()) {
                    let undoing = Undoing::at_hand(project, *since).knowing(Some(&theirs.folder_indexes));
                    undoing.remove_folders(&file);
                }
                theirs.folder_indexes.wrote(&resolved, done.is_ok());
                done
            };
            if let Some(outcome) = shared.disks.run(&path, put).await {
                shared.mailbox.post(Event::Computed { job, outcome: Outcome::PutBack(outcome) });
            }
            drop(done);
        });
    }

    /// Ends commands that their agents have left behind.
    fn end_left(&self, session: SessionKey, commands: Vec<LeftCommand>) {
        let shared = self.shared.clone();
        // That they are gone is told by who watches them.
        spawn_blocking(move || {
            let commands = escaped::end_all(commands, LEFT_GRACE);
            if !commands.is_empty() {
                shared.mailbox.post(Event::LeftSurvived { session, commands });
            }
        });
    }

    fn list_allowed(&self) {
        let shared = self.shared.clone();
        spawn_blocking(move || {
            let (allowed, trouble) = shared.policy.file_access.list();
            shared.mailbox.post(Event::Allowed { allowed, trouble });
        });
    }

    fn connect(&mut self, agent: AgentId, launch: crate::core::message::Launch) {
        if self.agents.contains_key(&agent) {
            return self.shared.log.note(&format!("agent {} was to be started twice", agent.0));
        }
        let (commands, queue) = mpsc::unbounded_channel();
        self.agents.insert(agent, commands);
        let task = connection::run(self.shared.clone(), agent, launch, queue, self.leaving.subscribe());
        self.names.insert(self.tasks.spawn(task).id(), agent);
    }

    fn pass_on(&mut self, command: Command) {
        if let Command::Open { agent, session, .. } | Command::Load { agent, session, .. } = &command {
            self.sessions.insert(*session, *agent);
        }
        let agent = match &command {
            Command::Open { agent, .. }
            | Command::Load { agent, .. }
            | Command::List { agent, .. }
            | Command::Archive { agent, .. }
            | Command::AskStatus { agent, .. }
            | Command::SetStoredTitle { agent, .. }
            | Command::Delete { agent, .. }
            | Command::CloseStored { agent, .. }
            | Command::Login { agent, .. }
            | Command::Logout { agent }
            | Command::Disconnect { agent } => Some(*agent),
            Command::Answer { ask, .. } => Some(connection::pending_questions::asker(*ask)),
            other => session_of(other).and_then(|session| self.sessions.get(&session).copied()),
        };
        if let Command::Close { session } = &command {
            self.sessions.remove(session);
            // Its agent may be gone, and with it whoever gives up the files.
            self.shared.watch.closed(*session);
            self.shared.tools.close(*session);
            self.shared.folder_indexes.session_ended(*session);
            let (shared, session) = (self.shared.clone(), *session);
            spawn_blocking(move || shared.images.ended(session));
        }
        let unsent = match agent.and_then(|agent| self.agents.get(&agent)) {
            Some(agent) => agent.send(command).err().map(|error| error.0),
            None => Some(command),
        };
        if let Some(command) = unsent {
            let message = "the agent isn't running; start it again".to_owned();
            let failure = Failure { kind: FailureKind::Disconnected, message, details: None };
            refuse(&self.shared.mailbox, agent, command, failure);
        }
    }

    fn ended(&mut self, ended: Result<(task::Id, ()), task::JoinError>) {
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let Some(agent) = self.names.remove(&id) else { return };
        self.agents.remove(&agent);
        // What is taken up again gets another number, so whoever still names files for these comes too late.
        // Whose they were is still known: what is asked of them is refused in the agent's name.
        for (session, _) in self.sessions.iter().filter(|(_, of)| **of == agent) {
            self.shared.watch.closed(*session);
        }
        if panicked {
            let message =
                "the plugin failed while it spoke with it; see the log, and start it again".to_owned();
            let failure = Failure { kind: FailureKind::Protocol, message, details: None };
            self.shared.mailbox.post(Event::Exited { agent, why: failed_to_start(failure) });
        }
    }
}
