//! What files held before they changed, from the cheapest source that is true: the object that git has of a file that
//! was not changed, else a copy taken in time. And what they hold now, which is copied for the next time: what was changed
//! once is the likeliest to be changed again, so it has room of its own.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::git::{Objects, Wanted};
use super::texts::Copies;
use super::walk;
use crate::core::changes::folder_index::{Difference, FileKind, FileState, FolderIndex};
use crate::core::message::ChangedFile;
use crate::core::store::checkpoint::{self, Held, Mode};
use crate::platform::files;

const NO_COPY: &str = "what it held before is not known";
const NO_ROOM: &str = "larger than 1 MB, and there was no room for a copy of it";
const TOO_LARGE: &str = "larger than 4 MB";
const UNREADABLE: &str = "it can't be read";

/// Larger files are copied before they are changed only where the others leave room for them.
const SMALL: u64 = 1 << 20;

/// Of a larger file it is not told what it holds.
const MAX_TEXT_BYTES: u64 = checkpoint::MAX_FILE_BYTES as u64;

/// So many threads read files at once, and each so many before it hands them over.
const THREADS: usize = 4;
const AT_ONCE: usize = 16;

/// Repositories inside of a project; of more the files are copied.
const REPOSITORIES: usize = 32;

pub struct Before {
    objects: Objects,
    copies: Copies,
    /// What files held when they were changed last.
    changed: Copies,
}

/// A change with what the file held on both sides.
pub struct Sides {
    pub file: ChangedFile,
    pub was: Option<FileState>,
    /// It was written while it was read.
    pub is_moving: bool,
    /// Only its times are others.
    pub is_same: bool,
}

/// What a file holds, or a link says, or why that is not known.
type Content = Result<Vec<u8>, &'static str>;

impl Before {
    pub fn new(folder: PathBuf) -> Self {
        let (copies, changed) = (Copies::new(folder.clone()), Copies::new(folder));
        Self { objects: Objects::default(), copies, changed }
    }

    /// Takes note of what the files in an index hold.
    pub fn learn(&mut self, repositories: &BTreeSet<PathBuf>, index: &FolderIndex) {
        for repository in repositories.iter().take(REPOSITORIES) {
            // Where git knows nothing its files are copied.
            let _ = self.objects.learn(repository);
        }
        let mut rest: Vec<(PathBuf, FileState)> = index
            .files()
            .filter(|(path, state)| state.size <= MAX_TEXT_BYTES && !self.objects.has(path))
            .map(|(path, state)| (path, *state))
            .collect();
        // What was worked on last is the likeliest to be changed, if there is no room for all.
        rest.sort_unstable_by_key(|(_, state)| std::cmp::Reverse(state.modified));
        let large = rest.extract_if(.., |(_, state)| state.size > SMALL).collect::<Vec<_>>();
        let mut room = self.copies.room();
        rest.retain(|(_, state)| {
            let fits = state.size <= room;
            room -= if fits { state.size } else { 0 };
            fits
        });
        self.copy_all(&rest);
        // One by one, since several in memory would be much.
        large.iter().for_each(|(path, state)| self.copy(path, *state));
    }

    /// Opening and reading many files takes most of the time, so several threads do it.
    fn copy_all(&mut self, files: &[(PathBuf, FileState)]) {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS);
        let next = AtomicUsize::new(0);
        let (tell, texts) = mpsc::sync_channel::<Vec<(usize, Vec<u8>)>>(threads);
        thread::scope(|scope| {
            for _ in 0..threads {
                let (tell, next) = (tell.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
                        let some = files.iter().enumerate().skip(first).take(AT_ONCE);
                        let read =
                            some.filter_map(|(at, (path, state))| Some((at, read(path, state)?.ok()?)));
                        let read: Vec<(usize, Vec<u8>)> = read.collect();
                        if first >= files.len() || tell.send(read).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(tell);
            for (at, text) in texts.into_iter().flatten() {
                let (path, state) = &files[at];
                // Without a copy it is not known later what the file held: that is said then.
                let _ = self.copies.keep(path, *state, &text);
            }
        });
    }

    pub fn forget(&mut self, path: &Path) {
        self.objects.forget(path);
        self.copies.forget(path);
        self.changed.forget(path);
    }

    /// Keeps what a file holds, if there is room for it.
    pub fn copy(&mut self, path: &Path, state: FileState) {
        if self.copies.has_room(state.size)
            && let Some(Ok(text)) = read(path, &state)
        {
            // As in `copy_all`.
            let _ = self.copies.keep(path, state, &text);
        }
    }

    /// Keeps what was made of a file that was just changed.
    pub fn keep(&mut self, path: &Path, state: FileState, text: &[u8]) {
        // As in `copy_all`.
        let _ = self.changed.keep_newest(path, state, text);
    }

    /// What the files of these changes held, and hold in the states that were found.
    pub fn sides(
        &mut self,
        differences: &[(Difference, Option<FileState>)],
        states: &HashMap<PathBuf, FileState>,
    ) -> Vec<Sides> {
        let mut objects = self.objects_before(differences);
        let sides: Vec<Sides> = differences
            .iter()
            .filter_map(|(difference, was)| self.side(difference, *was, states, &mut objects))
            .collect();
        sides
    }

    fn objects_before(&self, differences: &[(Difference, Option<FileState>)]) -> HashMap<PathBuf, Vec<u8>> {
        let wanted = differences.iter().filter_map(|(difference, was)| {
            let path = old_path(difference)?;
            let size = (*was)?.size;
            (size <= MAX_TEXT_BYTES && self.objects.has(path)).then(|| Wanted { path: path.to_owned(), size })
        });
        self.objects.read(&wanted.collect::<Vec<_>>())
    }

    fn side(
        &mut self,
        difference: &Difference,
        was: Option<FileState>,
        states: &HashMap<PathBuf, FileState>,
        objects: &mut HashMap<PathBuf, Vec<u8>>,
    ) -> Option<Sides> {
        let (path, renamed_from) = match difference {
            Difference::Created(path) | Difference::Changed(path) | Difference::Deleted(path) => (path, None),
            Difference::Renamed { from, to } => (to, Some(from.clone())),
        };
        let old = old_path(difference);
        let state = states.get(path).filter(|_| !matches!(difference, Difference::Deleted(_)));
        let before = old.zip(was).map(|(old, was)| self.before(old, was, objects.remove(old)));
        let after = match state {
            Some(state) => match read(path, state) {
                Some(content) => Some(content),
                None => {
                    let file = changed(path, renamed_from, (None, None), (None, None));
                    return Some(Sides { file, was, is_moving: true, is_same: false });
                }
            },
            None => None,
        };
        if let Some(old) = old {
            self.forget(old);
        }
        if let (Some(state), Some(Ok(content))) = (state, &after) {
            self.forget(path);
            self.keep(path, *state, content);
        }
        let same_mode =
            was.zip(state).is_none_or(|(was, state)| (was.mode, was.kind) == (state.mode, state.kind));
        let is_same = renamed_from.is_none()
            && same_mode
            && matches!((&before, &after), (Some(Ok(before)), Some(Ok(after))) if before == after);
        let file = changed(path, renamed_from, (was.as_ref(), before), (state, after));
        Some(Sides { file, was, is_moving: false, is_same })
    }

    fn before(&mut self, path: &Path, was: FileState, object: Option<Vec<u8>>) -> Content {
        let why = match was.size {
            size if size > MAX_TEXT_BYTES => TOO_LARGE,
            size if size > SMALL => NO_ROOM,
            _ => NO_COPY,
        };
        let copy = || self.changed.text(path, &was).or_else(|| self.copies.text(path, &was));
        object.or_else(copy).ok_or(why)
    }
}

fn old_path(difference: &Difference) -> Option<&Path> {
    match difference {
        Difference::Created(_) => None,
        Difference::Changed(path) | Difference::Deleted(path) | Difference::Renamed { from: path, .. } => {
            Some(path)
        }
    }
}

/// What a file that was just written holds in this state, unless that is too much.
pub fn copy_of(path: &Path, state: &FileState) -> Option<Vec<u8>> {
    read(path, state)?.ok()
}

/// What a file holds in this state; nothing if it is in another one by now.
fn read(path: &Path, state: &FileState) -> Option<Content> {
    if state.size > MAX_TEXT_BYTES {
        return Some(Err(TOO_LARGE));
    }
    let (read, now) = match state.kind {
        FileKind::Link => {
            let target = fs::read_link(path).map(|target| files::bytes_of_path(&target).into_owned());
            (target, walk::look(path))
        }
        FileKind::File => match files::reading().open(path) {
            // What is open is asked itself: to find it once more by its name would take as long as all the rest.
            Ok(mut file) => {
                let read = read_all(&mut file, state.size);
                (read, file.metadata().ok().as_ref().and_then(walk::state_of))
            }
            Err(error) => (Err(error), walk::look(path)),
        },
    };
    let is_same = now.is_some_and(|now| !now.differs(state));
    is_same.then_some(read.map_err(|_| UNREADABLE))
}

/// What a file holds that should have so many bytes: most files are read by one call.
fn read_all(file: &mut fs::File, size: u64) -> io::Result<Vec<u8>> {
    // One more than there should be: what is not filled is the end.
    let mut content = vec![0; usize::try_from(size.min(MAX_TEXT_BYTES)).unwrap_or_default() + 1];
    let mut end = 0;
    while end < content.len() {
        match file.read(&mut content[end..]) {
            Ok(0) => break,
            Ok(count) => end += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if end as u64 == size {
            break;
        }
    }
    content.truncate(end);
    Ok(content)
}

fn changed(
    path: &Path,
    renamed_from: Option<PathBuf>,
    before: (Option<&FileState>, Option<Content>),
    after: (Option<&FileState>, Option<Content>),
) -> ChangedFile {
    let mut unknown = None;
    let mut held = |(state, content): (Option<&FileState>, Option<Content>)| match (state, content) {
        (Some(state), Some(Ok(content))) => match state.kind {
            FileKind::Link => Held::Link(files::path_of_bytes(&content)),
            FileKind::File => Held::of_bytes(content, Mode(state.mode)),
        },
        (_, Some(Err(why))) => {
            unknown.get_or_insert_with(|| why.to_owned());
            Held::Unknown
        }
        _ => Held::Absent,
    };
    let (before, after) = (held(before), held(after));
    ChangedFile { path: path.to_owned(), renamed_from, before, after, unknown, later: None, is_told: false }
}
