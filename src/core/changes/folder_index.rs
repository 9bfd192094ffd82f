//! What lies in the folders of sessions: each file with its size, times and the like, as of the last look. A
//! look gives what has become different. Walking, and what files hold, is left to `acp::files::index`.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::core::message::ChangedFile;
use crate::core::store::checkpoint::Held;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    File,
    Link,
}

/// By what a file is known without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileState {
    pub kind: FileKind,
    pub size: u64,
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    /// The same of the last change of anything about it.
    pub changed: (i64, i64),
    pub inode: u64,
    /// When it came into being, since 1970, where the system knows: a removed file's inode is soon another file's.
    pub born: Option<Duration>,
    /// The permission bits, where the system has them.
    pub mode: Option<u32>,
}

impl FileState {
    /// Whether the content may be another one, or the mode is.
    pub fn differs(&self, other: &Self) -> bool {
        let content = |state: &Self| (state.kind, state.size, state.modified, state.inode, state.mode);
        content(self) != content(other)
    }

    /// Whether a file that came may be this one, which went.
    fn is_same_file(&self, other: &Self) -> bool {
        let is_same = match (self.born, other.born) {
            (Some(born), Some(other)) => born == other,
            _ => self.modified == other.modified,
        };
        is_same && self.kind == other.kind && self.inode == other.inode
    }
}

/// What became of a file between two looks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Created(PathBuf),
    Changed(PathBuf),
    Deleted(PathBuf),
    Renamed { from: PathBuf, to: PathBuf },
}

#[derive(Debug, Default)]
pub struct FolderIndex {
    folders: HashMap<PathBuf, BTreeMap<OsString, FileState>>,
    count: usize,
}

impl FolderIndex {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn get(&self, path: &Path) -> Option<&FileState> {
        let (folder, name) = split(path)?;
        self.folders.get(folder)?.get(name)
    }

    /// Takes in what is known without being news.
    pub fn set(&mut self, path: &Path, state: Option<FileState>) -> Option<FileState> {
        let (folder, name) = split(path)?;
        match state {
            Some(state) => {
                if !self.folders.contains_key(folder) {
                    self.folders.insert(folder.to_owned(), BTreeMap::new());
                }
                let before = self.folders.get_mut(folder)?.insert(name.to_owned(), state);
                self.count += usize::from(before.is_none());
                before
            }
            None => {
                let files = self.folders.get_mut(folder)?;
                let before = files.remove(name);
                if files.is_empty() {
                    self.folders.remove(folder);
                }
                self.count -= usize::from(before.is_some());
                before
            }
        }
    }

    pub fn files(&self) -> impl Iterator<Item = (PathBuf, &FileState)> {
        self.folders
            .iter()
            .flat_map(|(folder, files)| files.iter().map(move |(name, state)| (folder.join(name), state)))
    }

    /// All that was below a folder.
    pub fn below<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let inside = self.folders.iter().filter(move |(of, _)| of.starts_with(folder));
        inside.flat_map(|(folder, files)| files.keys().map(move |name| folder.join(name)))
    }

    /// Takes in what a look at these files has found, `None` for one that is gone. Tells what is different, with how
    /// each file was before.
    pub fn update(
        &mut self,
        files: BTreeMap<PathBuf, Option<FileState>>,
    ) -> Vec<(Difference, Option<FileState>)> {
        let (mut created, mut deleted, mut differences) = (Vec::new(), Vec::new(), Vec::new());
        for (path, state) in files {
            match (self.set(&path, state), state) {
                (None, Some(state)) => created.push((path, state)),
                (Some(before), None) => deleted.push((path, before)),
                (Some(before), Some(state)) if before.differs(&state) => {
                    differences.push((Difference::Changed(path), Some(before)));
                }
                _ => {}
            }
        }
        // One that went and one that came, and are the same to the system.
        let mut by_inode: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, (_, state)) in deleted.iter().enumerate().filter(|(_, (_, state))| state.inode != 0) {
            by_inode.entry(state.inode).or_default().push(at);
        }
        let mut gone: Vec<Option<(PathBuf, FileState)>> = deleted.into_iter().map(Some).collect();
        for (path, state) in created {
            let from = by_inode
                .get_mut(&state.inode)
                .and_then(Vec::pop)
                .and_then(|at| gone[at].take_if(|(_, before)| before.is_same_file(&state)));
            differences.push(match from {
                Some((from, before)) => (Difference::Renamed { from, to: path }, Some(before)),
                None => (Difference::Created(path), None),
            });
        }
        let gone = gone.into_iter().flatten();
        differences.extend(gone.map(|(path, before)| (Difference::Deleted(path), Some(before))));
        differences
    }
}

/// A file that went and one that came with the same content are one file with another name, if it is clear which
/// is which.
pub fn join_renames(mut files: Vec<ChangedFile>) -> Vec<ChangedFile> {
    let mut pairs: HashMap<&[u8], (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| file.renamed_from.is_none()) {
        let content = |held: &'_ Held| held.bytes().is_some_and(|bytes| !bytes.is_empty());
        match (&file.before, &file.after) {
            (before, Held::Absent) if content(before) => {
                pairs.entry(before.bytes().unwrap_or_default()).or_default().0.push(at);
            }
            (Held::Absent, after) if content(after) => {
                pairs.entry(after.bytes().unwrap_or_default()).or_default().1.push(at);
            }
            _ => {}
        }
    }
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (went, came) in pairs.into_values() {
        if let ([went], [came]) = (&went[..], &came[..]) {
            joined.push((*went, *came));
        }
    }
    joined.sort_unstable();
    for (went, came) in &joined {
        let (from, before) = (files[*went].path.clone(), files[*went].before.clone());
        (files[*came].renamed_from, files[*came].before) = (Some(from), before);
    }
    let mut at = 0;
    files.retain(|_| {
        at += 1;
        joined.binary_search_by_key(&(at - 1), |(went, _)| *went).is_err()
    });
    files
}

fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    Some((path.parent()?, path.file_name()?))
}

#[cfg(test)]
mod tests;
