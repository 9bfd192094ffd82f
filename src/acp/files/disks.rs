//! Work on disks that may never answer, such as one over a network that is gone. Each piece belongs to a path
//! and runs on a thread where waiting is allowed. Where some have hung for a while, no other is begun in that
//! folder before one comes back, so that a disk costs few threads. What the work is, and
//! whether anybody waits for it, is left to the callers.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// A folder in which something takes longer does not answer, as far as others can tell.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// When Neovim leaves, disks have this long.
const LAST: Duration = Duration::from_millis(30);

/// So many pieces are under way at once in one folder, and in all.
const IN_FOLDER: usize = 4;
const IN_ALL: usize = 64;

/// Of more folders it is forgotten when they answered.
const MAX_FOLDERS: usize = 1024;

#[derive(Clone)]
pub struct Disks(Arc<Inner>);

struct Inner {
    runtime: Handle,
    running: Mutex<Running>,
    /// Rung when a piece is done.
    ended: Condvar,
    told: Notify,
}

#[derive(Default)]
struct Running {
    last: u64,
    /// Until when somebody waits for a disk when Neovim leaves.
    leaving: Option<Instant>,
    pieces: HashMap<u64, Piece>,
    /// When something in a folder was done last.
    answered: HashMap<PathBuf, Instant>,
}

struct Piece {
    path: PathBuf,
    began: Instant,
}

/// Whether a piece of work may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Now,
    /// When another one is done, which may be soon.
    Behind,
    /// The folder does not answer.
    Silent,
}

impl Disks {
    /// How many pieces of work were begun.
    #[cfg(test)]
    pub fn begun(&self) -> u64 {
        self.lock().last
    }

    /// Called on a thread of the runtime's.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            runtime: Handle::current(),
            running: Mutex::default(),
            ended: Condvar::new(),
            told: Notify::new(),
        }))
    }

    #[cfg(test)]
    pub fn for_tests() -> Self {
        static RUNTIME: std::sync::OnceLock<tokio::runtime::Runtime> = std::sync::OnceLock::new();
        let runtime =
            RUNTIME.get_or_init(|| tokio::runtime::Builder::new_current_thread().build().expect("a runtime"));
        let _entered = runtime.enter();
        Self::new()
    }

    /// Does the work when the folder of the path answers, however long that takes. `None` after a panic.
    pub async fn run<R: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let number = loop {
            let told = self.0.told.notified();
            tokio::pin!(told);
            // From here on nothing is missed.
            told.as_mut().enable();
            match self.enter(path) {
                Ok(number) => break number,
                Err(_) => told.await,
            }
        };
        let (tell, answer) = oneshot::channel();
        self.spawn(number, move || {
            // Whoever asked may have given up.
            let _ = tell.send(work());
        });
        answer.await.ok()
    }

    /// Does the work while the caller waits, but no longer than `limit`, and not at all where the folder
    /// does not answer: then nothing is known.
    pub fn soon<R: Send + 'static>(
        &self,
        path: &Path,
        limit: Duration,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        let until = Instant::now() + limit;
        let mut running = self.lock();
        let number = loop {
            match running.turn(path, Instant::now()) {
                Turn::Now => break running.add(path.to_owned()),
                Turn::Silent => return None,
                Turn::Behind => running = self.wait(running, until)?,
            }
        };
        drop(running);
        let (tell, answer) = mpsc::sync_channel(1);
        self.spawn(number, move || {
            // Whoever asked may have given up.
            let _ = tell.send(work());
        });
        let mut running = self.lock();
        while running.pieces.contains_key(&number) {
            running = self.wait(running, until)?;
        }
        answer.try_recv().ok()
    }

    /// Waits until something is done, or Neovim leaves; not at all when the time is over.
    fn wait<'a>(
        &'a self,
        running: MutexGuard<'a, Running>,
        until: Instant,
    ) -> Option<MutexGuard<'a, Running>> {
        let until = running.leaving.map_or(until, |leaving| until.min(leaving));
        let left = until.checked_duration_since(Instant::now())?;
        Some(self.0.ended.wait_timeout(running, left).unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Neovim leaves: from now on nobody waits long.
    pub fn leave(&self) {
        self.lock().leaving = Some(Instant::now() + LAST);
        self.0.ended.notify_all();
    }

    /// The folders of these paths that answer, as far as they do so soon.
    pub async fn answering(&self, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
        let folders: BTreeSet<PathBuf> =
            paths.iter().filter_map(|path| Some(path.parent()?.to_owned())).collect();
        let mut looking = JoinSet::new();
        for folder in folders.into_iter().filter(|folder| !self.is_silent(&folder.join("any"))) {
            let disks = self.clone();
            looking.spawn(async move {
                let name = folder.clone();
                let looked = disks.run(&folder.join("any"), move || drop(name.metadata())).await;
                looked.map(|()| folder)
            });
        }
        let mut answering = BTreeSet::new();
        let looked = async {
            while let Some(folder) = looking.join_next().await {
                answering.extend(folder.ok().flatten());
            }
        };
        // What has not answered by then is left out.
        let _ = timeout(PATIENCE, looked).await;
        answering
    }

    /// Whether something hangs in the folder of the path.
    pub fn is_silent(&self, path: &Path) -> bool {
        self.lock().turn(path, Instant::now()) == Turn::Silent
    }

    fn enter(&self, path: &Path) -> Result<u64, Turn> {
        let mut running = self.lock();
        match running.turn(path, Instant::now()) {
            Turn::Now => Ok(running.add(path.to_owned())),
            turn => Err(turn),
        }
    }

    fn spawn(&self, number: u64, work: impl FnOnce() + Send + 'static) {
        let ended = Ended(self.clone(), number);
        self.0.runtime.spawn_blocking(move || {
            let _ended = ended;
            work();
        });
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        // No step under this lock can panic halfway.
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn turn(&self, path: &Path, now: Instant) -> Turn {
        let hangs = |piece: &&Piece| now.saturating_duration_since(piece.began) >= PATIENCE;
        let hung: Vec<&Piece> = self.pieces.values().filter(hangs).collect();
        // One that hangs may be the place where a dead disk begins; two say that it is their folder, unless
        // something else there has answered since.
        let is_dead = |folder: &Path| {
            let in_folder = hung.iter().filter(|piece| piece.path.parent() == Some(folder));
            let answered = self.answered.get(folder);
            let silent = |piece: &&&Piece| answered.is_none_or(|answered| *answered < piece.began);
            in_folder.filter(silent).count() > 1
        };
        if hung.iter().any(|piece| path.starts_with(&piece.path)) || path.ancestors().skip(1).any(is_dead) {
            return Turn::Silent;
        }
        let here = self.pieces.values().filter(|piece| piece.path.parent() == path.parent()).count();
        if here >= IN_FOLDER || self.pieces.len() >= IN_ALL { Turn::Behind } else { Turn::Now }
    }

    fn add(&mut self, path: PathBuf) -> u64 {
        self.last += 1;
        self.pieces.insert(self.last, Piece { path, began: Instant::now() });
        self.last
    }

    fn ended(&mut self, number: u64) {
        let Some(folder) =
            self.pieces.remove(&number).and_then(|piece| Some(piece.path.parent()?.to_owned()))
        else {
            return;
        };
        if self.answered.len() >= MAX_FOLDERS {
            self.answered.clear();
        }
        self.answered.insert(folder, Instant::now());
    }
}

/// A piece of work is done when this is dropped, also by a panic.
struct Ended(Disks, u64);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.lock().ended(self.1);
        self.0.0.ended.notify_all();
        self.0.0.told.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
    }

    #[test]
    fn where_two_hang_nothing_else_is_begun_and_other_folders_go_on() {
        let mut running = Running::default();
        running.add("/net/a".into());
        let later = Instant::now() + PATIENCE + PATIENCE;
        assert_eq!(running.turn(Path::new("/net/a"), later), Turn::Silent, "the same again");
        assert_eq!(running.turn(Path::new("/net/a/below"), later), Turn::Silent);
        assert_eq!(running.turn(Path::new("/net/b"), later), Turn::Now, "it may be about /net/a alone");
        let number = running.add("/net/b".into());
        for path in ["/net/c", "/net/below/c"] {
            assert_eq!(running.turn(Path::new(path), later), Turn::Silent, "{path}");
        }
        for path in ["/a", "/network/a", "/net"] {
            assert_eq!(running.turn(Path::new(path), later), Turn::Now, "{path}");
        }
        running.ended(number);
        assert_eq!(running.turn(Path::new("/net/c"), later), Turn::Now);
    }

    #[test]
    fn a_folder_that_has_answered_since_is_not_dead_for_what_hangs_in_it() {
        let mut running = Running::default();
        running.add("/project/net".into());
        running.add("/project/other".into());
        let answers = running.add("/project/a".into());
        running.ended(answers);
        let later = Instant::now() + PATIENCE + PATIENCE;
        assert_eq!(running.turn(Path::new("/project/b"), later), Turn::Now);
        assert_eq!(running.turn(Path::new("/project/net/b"), later), Turn::Silent);
    }

    #[test]
    fn the_threads_are_counted() {
        let mut running = Running::default();
        for number in 0..IN_FOLDER {
            assert_eq!(running.turn(Path::new("/net/a"), Instant::now()), Turn::Now);
            running.add(format!("/net/{number}").into());
        }
        assert_eq!(running.turn(Path::new("/net/a"), Instant::now()), Turn::Behind);
        for number in IN_FOLDER..IN_ALL {
            running.add(format!("/net/{number}/a").into());
        }
        assert_eq!(running.turn(Path::new("/home/a"), Instant::now()), Turn::Behind);
        running.ended(1);
        assert_eq!(running.turn(Path::new("/home/a"), Instant::now()), Turn::Now);
    }

    #[test]
    fn who_cannot_wait_goes_on_and_who_can_gets_the_answer_when_it_comes() {
        let runtime = runtime();
        let disks = runtime.block_on(async { Disks::new() });
        let (go, wait) = mpsc::channel::<()>();
        let hung = runtime.spawn({
            let disks = disks.clone();
            async move { disks.run(Path::new("/net/a"), move || wait.recv().map(|()| 7)).await }
        });
        runtime.block_on(async {
            assert_eq!(disks.run(Path::new("/home/a"), || 1).await, Some(1), "another folder");
        });
        let (gate, gated) = mpsc::channel::<()>();
        let limit = Duration::from_millis(1);
        assert_eq!(disks.soon(Path::new("/other/a"), limit, move || gated.recv().is_ok()), None);
        drop(gate);
        go.send(()).expect("the one that hangs");
        assert_eq!(runtime.block_on(hung).expect("no panic"), Some(Ok(7)));
    }
}
