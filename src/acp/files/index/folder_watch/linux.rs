//! Watching folders on Linux. The system queues an event before the call that caused it returns, so whoever has
//! read the queue to its end knows all that was done until then: that needs no waiting. A thread reads meanwhile,
//! so that each event is known at about its time.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::SystemTime;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::acp::files::index::git_folder;
use crate::acp::files::index::pending::{Pending, rules_for};
use crate::acp::mutex::lock;
use crate::core::changes::attribution::Holder;
use crate::core::changes::half_written::Millis;

/// Of so many files it is known when they were touched last.
const LAST: usize = 8192;

/// The system's queue is read in pieces of this size.
const BUFFER: usize = 64 << 10;

/// So much may be said of folders while they are being added; the system says no more at once either.
const EARLY: usize = 16_384;

pub struct FolderWatch {
    queue: OwnedFd,
    /// Written to when the thread is to end.
    wake: OwnedFd,
    inner: Mutex<Inner>,
    clock: Box<dyn Fn() -> Millis + Send + Sync>,
    news: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Inner {
    folders: HashMap<i32, PathBuf>,
    /// Folders that are watched for what becomes of themselves: of all others the one above tells.
    roots: Vec<PathBuf>,
    /// So many folders are just being added. The system may speak of one before its number is known here.
    adding: usize,
    early: Vec<Early>,
    pending: Pending,
    /// When files were touched last, as far as that was not long ago.
    last: HashMap<PathBuf, Millis>,
    /// When folders came that had been elsewhere before.
    moved: HashMap<PathBuf, SystemTime>,
}

/// What the system has said of a folder whose number is not known yet.
struct Early {
    number: i32,
    name: Option<OsString>,
    event: ReadFlags,
    now: Millis,
}

/// Says whose process has a file open.
type Asks = Box<dyn Fn(&Path) -> Option<Holder> + Send>;

/// What is done beside reading.
pub struct Listener {
    pub roots: Vec<PathBuf>,
    /// Something is to be looked at.
    pub news: Box<dyn Fn() + Send + Sync>,
    /// Whose process has the file open, if it is worth to look.
    pub holder: Asks,
}

impl FolderWatch {
    pub fn start(
        clock: Box<dyn Fn() -> Millis + Send + Sync>,
        listener: Listener,
    ) -> io::Result<Option<Arc<Self>>> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC)?;
        let Listener { roots, news, holder } = listener;
        let inner = Mutex::new(Inner { roots, ..Inner::default() });
        let watch = Arc::new(Self { queue, wake, inner, clock, news });
        let theirs = watch.clone();
        thread::Builder::new().name("acp-folders".into()).spawn(move || theirs.listen(&holder))?;
        Ok(Some(watch))
    }

    /// Ends the thread.
    pub fn stop(&self) {
        // It can only be full by being told twice.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }

    /// Watches a folder. An error means that it is not watched.
    pub fn watch(&self, folder: &Path) -> io::Result<()> {
        let what = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        // Not locked meanwhile: its disk may be dead.
        lock(&self.inner).adding += 1;
        let added = inotify::add_watch(&self.queue, folder, what);
        let has_news = lock(&self.inner).added(&self.queue, folder, added.ok());
        if has_news {
            (self.news)();
        }
        added?;
        Ok(())
    }

    /// Watches none of the folders below this one but those.
    pub fn keep_only(&self, folder: &Path, kept: &HashSet<&Path>) {
        lock(&self.inner).unwatch(&self.queue, |known| known.starts_with(folder) && !kept.contains(known));
    }

    pub fn folders(&self) -> usize {
        lock(&self.inner).folders.len()
    }

    /// All that was done until now and has not been taken yet.
    pub fn take(&self) -> Pending {
        self.read();
        std::mem::take(&mut lock(&self.inner).pending)
    }

    /// Reads what the system has queued: from here on it has a time before now.
    pub fn drain(&self) {
        self.read();
        // The thread finds the queue empty, and has nothing to tell.
        if !lock(&self.inner).pending.is_empty() {
            (self.news)();
        }
    }

    /// When a file was touched last, if that is known.
    pub fn last(&self, path: &Path) -> Option<Millis> {
        self.drain();
        lock(&self.inner).last.get(path).copied()
    }

    /// When a folder got its name, if it had been elsewhere before.
    pub fn moved(&self, folder: &Path) -> Option<SystemTime> {
        lock(&self.inner).moved.get(folder).copied()
    }

    fn listen(&self, holder: &Asks) {
        loop {
            let mut ready = [PollFd::new(&self.queue, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
            match poll(&mut ready, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
            if ready[1].revents().contains(PollFlags::IN) {
                return;
            }
            let written = self.read();
            for path in written {
                if let Some(holder) = holder(&path)
                    && let Some(touched) = lock(&self.inner).pending.files.get_mut(&path)
                {
                    touched.holder.get_or_insert(holder);
                }
            }
            if !lock(&self.inner).pending.is_empty() {
                (self.news)();
            }
        }
    }

    /// Takes in what is queued, and gives the files that were written.
    fn read(&self) -> Vec<PathBuf> {
        let mut buffer = Box::new([MaybeUninit::uninit(); BUFFER]);
        let mut inner = lock(&self.inner);
        let mut reader = Reader::new(&self.queue, &mut buffer[..]);
        let mut written: Vec<PathBuf> = Vec::new();
        let mut now = None;
        loop {
            match reader.next() {
                Ok(event) => {
                    let now = *now.get_or_insert_with(|| (self.clock)());
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    let path = inner.take_in(&self.queue, (event.wd(), name), event.events(), now);
                    written.extend(path.filter(|path| written.last() != Some(path)));
                }
                Err(Errno::INTR) => {}
                // The end for now, or a queue that is none any more.
                Err(_) => return written,
            }
        }
    }
}

impl Inner {
    /// A folder was added by this number, or could not be. Says whether something was said of it meanwhile.
    fn added(&mut self, queue: &OwnedFd, folder: &Path, number: Option<i32>) -> bool {
        self.adding -= 1;
        let mut early = std::mem::take(&mut self.early);
        if let Some(number) = number {
            self.folders.insert(number, folder.to_owned());
            let its = early.extract_if(.., |early| early.number == number).collect::<Vec<_>>();
            for Early { name, event, now, .. } in its {
                self.take_in(queue, (number, name.as_deref()), event, now);
            }
        }
        if self.adding > 0 {
            self.early.extend(early);
        }
        !self.pending.is_empty()
    }

    /// Gives the file if it was written.
    fn take_in(
        &mut self,
        queue: &OwnedFd,
        (number, name): (i32, Option<&OsStr>),
        event: ReadFlags,
        now: Millis,
    ) -> Option<PathBuf> {
        if event.contains(ReadFlags::QUEUE_OVERFLOW) {
            self.pending.lost = true;
            return None;
        }
        if event.contains(ReadFlags::IGNORED) {
            self.folders.remove(&number);
            self.early.retain(|early| early.number != number);
            return None;
        }
        let Some(folder) = self.folders.get(&number) else {
            if self.adding > 0 && self.early.len() < EARLY {
                self.early.push(Early { number, name: name.map(OsStr::to_owned), event, now });
            } else {
                // One that is not watched any more, unless it was too much.
                self.pending.lost |= self.adding > 0;
            }
            return None;
        };
        let Some(name) = name else {
            // The folder above has said it before. If the folder was found by its new name meanwhile, this is about
            // the old one.
            if event.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) && self.roots.contains(folder)
            {
                let folder = folder.clone();
                self.folder(queue, folder, ReadFlags::MOVED_FROM, now);
            }
            return None;
        };
        if name == ".git" {
            return None;
        }
        let path = folder.join(name);
        if let Some(folder) = rules_for(&path).filter(|_| !event.contains(ReadFlags::ISDIR)) {
            self.pending.rules.insert(folder.to_owned());
        }
        if git_folder::is_in(&path) && !git_folder::is_run_later(&path) && !git_folder::is_watched(&path) {
            return None;
        }
        if event.contains(ReadFlags::ISDIR) {
            self.folder(queue, path, event, now);
            return None;
        }
        let is_open = match () {
            () if event.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO) => Some(false),
            () if event.contains(ReadFlags::MODIFY) => Some(true),
            () => None,
        };
        self.pending.touch(path.clone(), now, is_open);
        if self.last.len() >= LAST {
            self.last.clear();
        }
        self.last.insert(path.clone(), now);
        event.intersects(ReadFlags::MODIFY | ReadFlags::CREATE).then_some(path)
    }

    fn unwatch(&mut self, queue: &OwnedFd, which: impl Fn(&Path) -> bool) {
        self.folders.retain(|number, folder| {
            let goes = which(folder);
            if goes {
                // One that is gone by now is not watched any more.
                let _ = inotify::remove_watch(queue, *number);
            }
            !goes
        });
    }

    fn folder(&mut self, queue: &OwnedFd, path: PathBuf, event: ReadFlags, now: Millis) {
        if event.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE) {
            // It is still watched, under a name that is wrong.
            self.unwatch(queue, |folder| folder.starts_with(&path));
            self.pending.folders.retain(|folder, _| !folder.starts_with(&path));
            self.pending.touch(path.clone(), now, None);
            self.pending.gone.insert(path);
        } else if event.intersects(ReadFlags::MOVED_TO | ReadFlags::CREATE) {
            if event.contains(ReadFlags::MOVED_TO) {
                if self.moved.len() >= LAST {
                    self.moved.clear();
                }
                self.moved.insert(path.clone(), SystemTime::now());
            }
            self.pending.folders.insert(path, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn watch(root: &Path) -> Arc<FolderWatch> {
        let listener =
            Listener { roots: vec![root.to_owned()], news: Box::new(|| ()), holder: Box::new(|_| None) };
        FolderWatch::start(Box::new(|| 1), listener).expect("a watch").expect("a watch")
    }

    fn touched(watch: &FolderWatch) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = watch.take().files.into_keys().collect();
        files.sort();
        files
    }

    #[test]
    fn what_is_said_of_a_folder_before_its_number_is_known_is_not_lost() {
        let root = tempfile::tempdir().expect("a folder");
        let watch = watch(root.path());
        lock(&watch.inner).adding += 1;
        let number =
            inotify::add_watch(&watch.queue, root.path(), WatchFlags::CREATE).expect("to be watched");
        fs::write(root.path().join("a"), "a").expect("a file");
        assert_eq!(touched(&watch), [""; 0].map(PathBuf::from));
        assert!(lock(&watch.inner).added(&watch.queue, root.path(), Some(number)), "there is news");
        assert_eq!(touched(&watch), [root.path().join("a")]);
        watch.stop();
    }

    #[test]
    fn a_folder_that_was_found_by_its_new_name_stays_watched() {
        let root = tempfile::tempdir().expect("a folder");
        let (old, new) = (root.path().join("old"), root.path().join("new"));
        fs::create_dir(&old).expect("a folder");
        let watch = watch(root.path());
        // Nobody reads meanwhile.
        watch.stop();
        watch.watch(root.path()).expect("to be watched");
        watch.watch(&old).expect("to be watched");
        fs::create_dir(&new).expect("a folder");
        fs::rename(&old, new.join("old")).expect("to be renamed");
        // A walk finds what is there before it is heard how that came about.
        watch.watch(&new).expect("to be watched");
        watch.watch(&new.join("old")).expect("to be watched");
        drop(watch.take());
        fs::write(new.join("old/a"), "a").expect("a file");
        assert_eq!(touched(&watch), [new.join("old/a")]);
    }
}
