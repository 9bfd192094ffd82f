//! The folders of sessions, looked after: whatever changes a file in them, it is told of once, with what the file held
//! before, and with who did it as far as that can be told. Sessions with the same folders share a worker, which begins
//! with the first of them and ends with the last. What agents are doing is told here as it happens.

mod allowed;
mod before;
mod common;
mod folder_watch;
mod git;
mod git_folder;
mod holders;
mod pending;
mod report;
mod texts;
mod walk;
mod worker;
mod written;

pub use walk::MAX_FILES;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use self::common::Common;
use self::folder_watch::FolderWatch;
use self::worker::{Message, Worker};
use self::written::Written;
use super::disks::Disks;
use crate::acp::mutex::lock;
use crate::acp::wire::log::WireLog;
use crate::core::changes::attribution::{Activities, CallNews, Judgement, Times};
use crate::core::changes::half_written::Millis;
use crate::core::ids::{AgentId, SessionKey, TerminalId, ToolCallId};
use crate::core::message::{Cause, Event, Place, Stamp, UserBegan};
use crate::core::store::checkpoint::Held;
use crate::mailbox::Mailbox;
use crate::platform::files;
use crate::platform::paths::{canonicalize, resolve_file};

/// What all agents' connections tell of their sessions, and the workers' other end.
#[derive(Clone)]
pub struct FolderIndexes(Arc<Inner>);

struct Inner {
    common: Arc<Common>,
    disks: Disks,
    /// A prompt and the end of a turn wait no longer for a look at the folders.
    patience: Duration,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: u64,
    sessions: BTreeMap<SessionKey, Known>,
    workers: Vec<Running>,
}

struct Known {
    /// Becomes true when the folders are known, or goes when they can't be.
    ready: watch::Receiver<bool>,
    worker: Option<u64>,
}

struct Running {
    number: u64,
    roots: Vec<PathBuf>,
    sessions: BTreeSet<SessionKey>,
    messages: Sender<Message>,
    watch: Option<Arc<FolderWatch>>,
    ready: watch::Receiver<bool>,
}

/// What somebody who read a file knows of its last change.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// When the system said something of it.
    pub heard: Option<Instant>,
    /// What was read; `None` of a file that is gone.
    pub stamp: Option<Stamp>,
}

/// Folders that are looked after without any session; for benchmarks.
#[doc(hidden)]
pub struct IndexedFolder {
    worker: Worker,
    mailbox: Arc<Mailbox>,
    walked: Duration,
}

impl IndexedFolder {
    pub fn new(root: PathBuf) -> Self {
        let mailbox = Mailbox::new(|_| {});
        let common = Arc::new(Common::new(mailbox.clone(), WireLog::start(None)));
        let (mut worker, _) = Worker::new(1, common, vec![root], mpsc::channel().0);
        let walked = worker.build();
        Self { worker, mailbox, walked }
    }

    /// How long it took until all files were known and watched. What they hold is learned after that.
    pub fn walked(&self) -> Duration {
        self.walked
    }

    /// The system says nothing of changes any more, as where its limits of watches are reached.
    pub fn stop_watching(&mut self) {
        self.worker.stop_watching();
    }

    /// What is done at the end of a turn. Gives how many files are told of.
    pub fn check(&mut self) -> usize {
        self.worker.check(Some(Millis::MAX));
        let mut told = 0;
        while let Some(event) = self.mailbox.take() {
            if let Event::FilesChanged { files, .. } = event {
                told += files.len();
            }
        }
        told
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by a panic, which the panic hook has logged.
        let _ = self.messages.send(Message::Stop);
    }
}

impl FolderIndexes {
    pub fn new(
        mailbox: Arc<Mailbox>,
        log: WireLog,
        disks: Disks,
        patience: Duration,
        most_files: usize,
    ) -> Self {
        let mut common = Common::new(mailbox, log);
        common.most_files = most_files;
        let common = Arc::new(common);
        Self(Arc::new(Inner { common, disks, patience, table: Mutex::default() }))
    }

    /// Where copies of texts may be kept.
    pub fn keep_in(&self, folder: PathBuf) {
        lock(&self.0.common.later).keep_in(folder.clone());
        *lock(&self.0.common.cache) = folder;
    }

    /// These are no project's, though they may lie in one.
    pub fn leave_out(&self, own: Vec<PathBuf>) {
        *lock(&self.0.common.own) = own;
    }

    /// An agent's process runs: what it runs itself is its sessions'.
    pub fn agent_began(&self, agent: AgentId, process: u32) {
        self.0.common.holders.agent_began(process, agent);
    }

    pub fn agent_ended(&self, agent: AgentId) {
        self.0.common.holders.agent_ended(agent);
    }

    /// A session is being opened: its folders are looked after from now on.
    pub fn session_began(&self, agent: AgentId, session: SessionKey, place: &Place) {
        self.0.common.holders.session_began(agent, session);
        let (tell, ready) = watch::channel(false);
        let named: Vec<PathBuf> = [&place.cwd].into_iter().chain(&place.additional).cloned().collect();
        let known = Known { ready, worker: None };
        if let Some(Known { worker: Some(_), .. }) = lock(&self.0.table).sessions.insert(session, known) {
            self.leave(session);
        }
        self.activities(|activities, _| activities.session_began(session, named.clone()));
        let indexes = self.clone();
        tokio::spawn(async move {
            let first = named.first().cloned().unwrap_or_default();
            let resolve = move || named.iter().filter_map(|root| canonicalize(root).ok()).collect();
            // A panic is as good as no folder.
            let roots: Vec<PathBuf> = indexes.0.disks.run(&first, resolve).await.unwrap_or_default();
            indexes.begin(session, roots, tell);
        });
    }

    fn begin(&self, session: SessionKey, mut roots: Vec<PathBuf>, tell: watch::Sender<bool>) {
        roots.sort();
        roots.dedup();
        let all = roots.clone();
        roots.retain(|root| !all.iter().any(|other| other != root && root.starts_with(other)));
        self.activities(|activities, _| activities.session_began(session, all));
        let mut table = lock(&self.0.table);
        if roots.is_empty() || !table.sessions.contains_key(&session) {
            return;
        }
        let shared = table.workers.iter_mut().find(|worker| worker.roots == roots);
        let (number, mut ready) = match shared {
            Some(worker) => {
                worker.sessions.insert(session);
                (worker.number, worker.ready.clone())
            }
            None => {
                let Some(worker) = self.start(&mut table, roots, session) else { return };
                let (number, ready) = (worker.number, worker.ready.clone());
                table.workers.push(worker);
                (number, ready)
            }
        };
        if let Some(known) = table.sessions.get_mut(&session) {
            known.worker = Some(number);
        }
        tokio::spawn(async move {
            // A worker that is gone is as good as ready.
            let _ = ready.wait_for(|ready| *ready).await;
            tell.send_replace(true);
        });
    }

    fn start(&self, table: &mut Table, roots: Vec<PathBuf>, session: SessionKey) -> Option<Running> {
        table.last += 1;
        let number = table.last;
        let (messages, queue) = mpsc::channel();
        let (tell, ready) = watch::channel(false);
        lock(&self.0.common.roots).insert(number, roots.clone());
        let (worker, watch) = Worker::new(number, self.0.common.clone(), roots.clone(), messages.clone());
        let started =
            thread::Builder::new().name("acp-index".into()).spawn(move || worker.run(&queue, &tell));
        if let Err(error) = started {
            self.0.common.log.note(&format!("changes of files are not noticed: no thread: {error}"));
            lock(&self.0.common.roots).remove(&number);
            return None;
        }
        Some(Running { number, roots, sessions: BTreeSet::from([session]), messages, watch, ready })
    }

    /// Nothing more comes of the session.
    pub fn session_ended(&self, session: SessionKey) {
        lock(&self.0.table).sessions.remove(&session);
        self.leave(session);
        self.0.common.holders.session_ended(session);
        lock(&self.0.common.allowed).session_ended(session);
        self.activities(|activities, _| activities.session_ended(session));
    }

    fn leave(&self, session: SessionKey) {
        let mut table = lock(&self.0.table);
        for worker in &mut table.workers {
            worker.sessions.remove(&session);
        }
        table.workers.retain(|worker| {
            let is_used = !worker.sessions.is_empty();
            if !is_used {
                lock(&self.0.common.roots).remove(&worker.number);
            }
            is_used
        });
    }

    /// Waits until the session's folders are known, but not long.
    pub async fn ready(&self, session: SessionKey) {
        let Some(mut ready) = lock(&self.0.table).sessions.get(&session).map(|known| known.ready.clone())
        else {
            return;
        };
        // What is not known by then is told of as far as it can be.
        let _ = timeout(self.0.patience, ready.wait_for(|ready| *ready)).await;
    }

    /// Has all told that was changed in the session's folders until now, and waits for that, but not long.
    pub async fn settle(&self, session: SessionKey) {
        self.settle_all([session]).await;
    }

    /// The same for several sessions. Folders that they share are looked at once.
    pub async fn settle_all(&self, sessions: impl IntoIterator<Item = SessionKey>) {
        let checks = self.check(sessions);
        let all = async {
            for done in checks {
                // A worker that has gone has nothing more to tell.
                let _ = done.await;
            }
        };
        // What has not been looked at by then is told of later.
        let _ = timeout(self.0.patience, all).await;
    }

    fn check(&self, sessions: impl IntoIterator<Item = SessionKey>) -> Vec<oneshot::Receiver<()>> {
        let table = lock(&self.0.table);
        let numbers: BTreeSet<_> =
            sessions.into_iter().filter_map(|session| table.sessions.get(&session)?.worker).collect();
        let workers = table.workers.iter().filter(|worker| numbers.contains(&worker.number));
        let check = |worker: &Running| {
            if let Some(watch) = &worker.watch {
                watch.drain();
            }
            let (done, wait) = oneshot::channel();
            // The same as in `Running::drop`.
            let _ = worker.messages.send(Message::Check(self.0.common.now(), done));
            wait
        };
        workers.map(check).collect()
    }

    fn tell_all(&self, message: impl Fn() -> Message) {
        for worker in &lock(&self.0.table).workers {
            let _ = worker.messages.send(message());
        }
    }

    fn tell_about(&self, path: &Path, message: impl Fn() -> Message) {
        for worker in &lock(&self.0.table).workers {
            if is_in(path, &worker.roots) {
                let _ = worker.messages.send(message());
            }
        }
    }

    // What agents do. Times are those at which their messages came, by `now`.

    /// What was changed before was looked at by [`Self::settle`]: a look that comes later would find the agent's changes.
    pub fn turn_began(&self, session: SessionKey) {
        let now = self.activities(|activities, now| activities.turn_began(session, now));
        self.0.common.pass(now);
    }

    pub fn turn_ended(&self, session: SessionKey, at: Millis) {
        lock(&self.0.common.activities).turn_ended(session, at);
        self.0.common.pass(at);
        self.tell_all(|| Message::Said);
    }

    /// The agent said something that is about no call.
    pub fn heard(&self, session: SessionKey, at: Millis) {
        let common = &self.0.common;
        lock(&common.activities).heard(session, at);
        if common.waits.load(Ordering::Relaxed) {
            self.tell_all(|| Message::Said);
        }
    }

    /// When a call is over, [`Self::calls_ended`] is to follow.
    pub fn call(&self, session: SessionKey, call: &ToolCallId, news: CallNews, at: Millis) {
        let is_over = news.is_over();
        lock(&self.0.common.activities).call(session, call, news, at);
        if is_over {
            self.0.common.pass(at);
        }
    }

    /// Has told what calls have changed that are over: once for all of which an agent told together, since each time a
    /// thread is woken and the system is asked.
    pub fn calls_ended(&self, session: SessionKey) {
        drop(self.check([session]));
    }

    pub fn asked(&self, session: SessionKey, call: &ToolCallId, news: CallNews, at: Millis) {
        lock(&self.0.common.activities).asked(session, call, news, at);
    }

    pub fn answered(&self, session: SessionKey, call: &ToolCallId, allowed: bool) {
        let now = self.activities(|activities, now| activities.answered(session, call, allowed, now));
        self.0.common.pass(now);
    }

    /// The time, if what was done before does not matter.
    pub fn time(&self) -> Millis {
        self.0.common.now()
    }

    /// A time that is after all that was done until now, and not after what is done from here on.
    pub fn now(&self) -> Millis {
        let now = self.activities(|_, _| ());
        self.0.common.pass(now);
        now + 1
    }

    /// A command runs since the given time: it may have done all that it does before this is told.
    pub fn command_began(
        &self,
        session: SessionKey,
        terminal: &TerminalId,
        root: Option<u32>,
        began: Millis,
    ) {
        if let Some(root) = root {
            self.0.common.holders.command_began(root, session, terminal.clone());
        }
        lock(&self.0.common.activities).command_began(session, terminal.clone(), began);
    }

    /// The same of one that the user was asked about, or that a rule allows; before it is told that it began.
    pub fn command_allowed(&self, session: SessionKey, terminal: &TerminalId) {
        lock(&self.0.common.allowed).began(session, terminal.clone());
    }

    /// Whether such a command was the last to change a file.
    pub fn was_allowed(&self, session: SessionKey, path: &Path) -> bool {
        lock(&self.0.common.allowed).has_changed(session, path)
    }

    pub fn command_ended(&self, session: SessionKey, terminal: &TerminalId) {
        let now = self.activities(|activities, now| activities.command_ended(session, terminal, now));
        self.0.common.pass(now);
        self.0.common.holders.command_ended(session, terminal);
        drop(self.check([session]));
    }

    /// Nor is anything left of what it has started.
    pub fn nothing_left(&self, session: SessionKey, terminal: &TerminalId) {
        self.0.common.holders.nothing_left(session, terminal);
    }

    /// The user has Neovim do something that may change files.
    pub fn user_began(&self, began: UserBegan) {
        let since = |at| self.0.common.since(UNIX_EPOCH + Duration::from_millis(at));
        let (at, by_files) = (since(began.at), since(began.by_files));
        self.activities(|activities, _| activities.user_began(at, by_files));
    }

    /// It is done, and what it has changed is known by now.
    pub fn user_ended(&self) {
        let now = self.activities(|activities, now| activities.user_ended(now));
        self.0.common.pass(now);
    }

    /// What was done until now has its time before what is told here.
    fn activities(&self, tell: impl FnOnce(&mut Activities, Millis)) -> Millis {
        for worker in &lock(&self.0.table).workers {
            if let Some(watch) = &worker.watch {
                watch.drain();
            }
        }
        let common = &self.0.common;
        let now = common.now();
        tell(&mut lock(&common.activities), now);
        now
    }

    // What others do with files.

    /// Who changed a file that is as described, as far as it is known now.
    pub fn cause_of(&self, path: &Path, sighting: Sighting) -> Cause {
        let common = &self.0.common;
        let times = self.times_of_change(path, sighting);
        match lock(&common.activities).judge(path, times, None) {
            Judgement::By(cause) => cause,
            Judgement::Open => Cause::Outside,
        }
    }

    /// The order of events and messages is known exactly, the times of files nearly so, and the time at which
    /// somebody heard of a change may belong to the change before it.
    fn times_of_change(&self, path: &Path, sighting: Sighting) -> Times {
        let common = &self.0.common;
        let touched =
            lock(&self.0.table).workers.iter().filter_map(|worker| worker.watch.as_ref()?.last(path)).max();
        let metadata = fs::metadata(path).ok();
        let is_same = metadata.as_ref().map(files::stamp) == sighting.stamp;
        let changed = match &metadata {
            _ if !is_same => None,
            Some(metadata) => common.at_time(files::changed(metadata)),
            None => None,
        };
        let known = touched.filter(|_| is_same).max(changed);
        let at = known.unwrap_or_else(|| {
            let heard = sighting.heard.map(|heard| common.at(heard));
            let written = sighting.stamp.and_then(|stamp| common.at_time(stamp.written));
            heard.max(written).unwrap_or_else(|| common.now())
        });
        let written = is_same.then(|| common.written(path, metadata.as_ref())).flatten();
        Times { first: at, last: at, written }
    }

    /// The editor has saved a file in this state. As for [`Self::wrote`], call it where waiting is allowed.
    pub fn saved(&self, path: &Path, stamp: Stamp) {
        let path = resolve_file(path);
        if !self.is_looked_after(&path) {
            return;
        }
        let saved = Written::now(&path, self.0.common.now());
        if saved.state.is_some_and(|state| (state.size, state.modified) == (stamp.size, stamp.written)) {
            self.tell_about(&path, || Message::Saved(path.clone(), saved.clone()));
        }
    }

    /// What happens to the file until [`Self::wrote`] is this client's doing. Its path has no links.
    pub fn writing(&self, path: &Path) {
        self.tell_about(path, || Message::Writing(path.to_owned()));
    }

    /// It was written right now, or could not be: then nothing that happened to it was this client's doing. What it
    /// holds is read, so call it where waiting is allowed.
    pub fn wrote(&self, path: &Path, done: bool) {
        if !self.is_looked_after(path) {
            return;
        }
        let written = done.then(|| Written::now(path, self.0.common.now()));
        self.tell_about(path, || Message::Wrote(path.to_owned(), written.clone()));
    }

    fn is_looked_after(&self, path: &Path) -> bool {
        lock(&self.0.table).workers.iter().any(|worker| is_in(path, &worker.roots))
    }

    /// When the folder, or one that it is in, got its name, if it had another one before.
    pub fn moved(&self, folder: &Path) -> Option<SystemTime> {
        let table = lock(&self.0.table);
        let watches: Vec<&Arc<FolderWatch>> =
            table.workers.iter().filter_map(|worker| worker.watch.as_ref()).collect();
        folder.ancestors().filter_map(|folder| watches.iter().find_map(|watch| watch.moved(folder))).max()
    }

    /// What files held before and after changes that were told without their texts.
    pub fn texts(&self, numbers: &[u64]) -> Vec<Option<(Held, Held)>> {
        let mut later = lock(&self.0.common.later);
        numbers.iter().map(|number| later.texts(*number)).collect()
    }
}

fn is_in(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::WireStatus;

    #[test]
    fn calls_that_end_together_are_looked_at_once() {
        let log = WireLog::start(None);
        let indexes =
            FolderIndexes::new(Mailbox::new(|_| {}), log, Disks::for_tests(), Duration::from_secs(1), 1);
        let (session, (messages, queue)) = (SessionKey(1), mpsc::channel());
        let (_tell, ready) = watch::channel(true);
        let mut table = lock(&indexes.0.table);
        table.sessions.insert(session, Known { ready: ready.clone(), worker: Some(1) });
        let (roots, sessions) = (Vec::new(), BTreeSet::from([session]));
        table.workers.push(Running { number: 1, roots, sessions, messages, watch: None, ready });
        drop(table);
        let before = indexes.time();
        for id in ["a", "b"] {
            let news = CallNews { status: Some(WireStatus::Completed), ..CallNews::default() };
            indexes.call(session, &ToolCallId(id.into()), news, before);
        }
        assert_eq!(queue.try_iter().count(), 0);
        indexes.calls_ended(session);
        let told: Vec<Message> = queue.try_iter().collect();
        assert!(matches!(told[..], [Message::Check(at, _)] if at > before), "after both, once");
    }
}
