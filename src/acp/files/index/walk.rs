//! Walking the folders of sessions: all files but those that git's rules, or the user's, leave out. What is done
//! with them is left to `worker`.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::pending::is_swap_file;
use crate::acp::mutex::lock;
use crate::core::changes::folder_index::{FileKind, FileState};
use crate::platform::files;

/// A folder with more files, such as a whole disk, is no project.
pub const MAX_FILES: usize = 400_000;

#[derive(Debug, Default)]
pub struct Walked {
    pub files: Vec<(PathBuf, FileState)>,
    pub folders: Vec<PathBuf>,
    /// Folders that are the beginning of a git repository's.
    pub repositories: BTreeSet<PathBuf>,
    /// There are more than wanted.
    pub too_many: bool,
}

/// Walks a folder that is not ignored itself, but for those that `without` names. `begin` is called with each folder before it is opened to be listed: what
/// comes later may be missing in the list, so that is the time to have it watched.
pub fn walk(
    root: &Path,
    without: Vec<PathBuf>,
    most: usize,
    begin: impl Fn(&Path) + Send + Sync + 'static,
) -> Walked {
    let files = Mutex::new(Vec::new());
    let folders = Mutex::new(Vec::new());
    let repositories = Mutex::new(BTreeSet::new());
    let (count, too_many) = (AtomicUsize::new(0), AtomicBool::new(false));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    begin(root);
    let mut builder = builder(root);
    builder.filter_entry(move |entry| {
        let is_wanted = is_wanted(entry) && !without.iter().any(|folder| folder == entry.path());
        if is_wanted && entry.depth() > 0 && entry.file_type().is_some_and(|kind| kind.is_dir()) {
            begin(entry.path());
        }
        is_wanted
    });
    let walker = builder.threads(threads).build_parallel();
    walker.run(|| {
        let mut own = Batch { files: Vec::new(), all: &files };
        let (folders, repositories, count, too_many) = (&folders, &repositories, &count, &too_many);
        Box::new(move |entry| {
            // What cannot be read cannot be watched.
            let Ok(entry) = entry else { return WalkState::Continue };
            let Some(kind) = entry.file_type() else { return WalkState::Continue };
            if kind.is_dir() {
                lock(folders).push(entry.path().to_owned());
                if fs::symlink_metadata(entry.path().join(".git")).is_ok() {
                    lock(repositories).insert(entry.path().to_owned());
                }
            } else if let Ok(metadata) = entry.metadata()
                && let Some(state) = state_of(&metadata)
                && !is_swap_file(entry.path())
            {
                own.files.push((entry.into_path(), state));
                if count.fetch_add(1, Ordering::Relaxed) >= most {
                    too_many.store(true, Ordering::Relaxed);
                    return WalkState::Quit;
                }
            }
            WalkState::Continue
        })
    });
    Walked {
        files: std::mem::take(&mut *lock(&files)),
        folders: std::mem::take(&mut *lock(&folders)),
        repositories: std::mem::take(&mut *lock(&repositories)),
        too_many: too_many.load(Ordering::Relaxed),
    }
}

/// The names in a folder that are not ignored.
pub fn names_in(folder: &Path) -> BTreeSet<OsString> {
    let entries = builder(folder).max_depth(Some(1)).build().flatten().filter(|entry| entry.depth() == 1);
    entries.map(|entry| entry.file_name().to_owned()).collect()
}

/// How a file or link is now; `None` where there is neither.
pub fn look(path: &Path) -> Option<FileState> {
    state_of(&fs::symlink_metadata(path).ok()?)
}

/// The ways to files: what is reached through a folder that has become a link is another file.
pub struct Ways<'a> {
    roots: &'a [PathBuf],
    links: HashMap<PathBuf, bool>,
}

impl<'a> Ways<'a> {
    pub fn new(roots: &'a [PathBuf]) -> Self {
        Self { roots, links: HashMap::new() }
    }

    /// How a file or link below the roots is now; `None` where there is neither.
    pub fn look(&mut self, path: &Path) -> Option<FileState> {
        let roots = self.roots;
        let folders = path.ancestors().skip(1).take_while(|folder| roots.iter().all(|root| root != folder));
        for folder in folders {
            let is_link = match self.links.get(folder) {
                Some(is_link) => *is_link,
                None => *self.links.entry(folder.to_owned()).or_insert_with(|| folder.is_symlink()),
            };
            if is_link {
                return None;
            }
        }
        look(path)
    }
}

/// Whether a file goes by further names (hard links).
pub fn has_other_names(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| files::links(&metadata) > 1)
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    // .github and the like are files of the project; without git, .gitignore means the same.
    builder.hidden(false).require_git(false).follow_links(false).filter_entry(is_wanted);
    builder
}

fn is_wanted(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    name != ".git" && name != ".jj" && name != ".hg" && name != ".svn"
}

pub fn state_of(metadata: &Metadata) -> Option<FileState> {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_symlink() => FileKind::Link,
        _ => return None,
    };
    let stamp = files::stamp(metadata);
    Some(FileState {
        kind,
        size: stamp.size,
        modified: stamp.written,
        changed: files::changed(metadata),
        inode: stamp.inode,
        // Not all file systems know.
        born: metadata.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok()),
        mode: files::mode(metadata),
    })
}

/// What one of the walking threads has found.
struct Batch<'a> {
    files: Vec<(PathBuf, FileState)>,
    all: &'a Mutex<Vec<(PathBuf, FileState)>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        lock(self.all).append(&mut self.files);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_into_a_folder_when_it_begins_is_in_its_list() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("a folder");
        fs::create_dir_all(root.join("new/deep")).expect("folders");
        fs::create_dir(root.join("ignored")).expect("a folder");
        fs::create_dir(root.join("own")).expect("a folder");
        fs::write(root.join(".ignore"), "ignored\n").expect("a file");
        let walked = walk(&root, vec![root.join("own")], MAX_FILES, |folder| {
            fs::write(folder.join("late"), "").expect("a file")
        });
        let mut files: Vec<PathBuf> = walked.files.into_iter().map(|(path, _)| path).collect();
        files.sort();
        let wanted = [".ignore", "late", "new/deep/late", "new/late"].map(|name| root.join(name));
        assert_eq!(files, wanted);
        assert!(!root.join("ignored/late").exists(), "what is ignored is not watched");
        assert!(!root.join("own/late").exists(), "nor what is Neovim's");
    }
}
