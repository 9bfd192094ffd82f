//! The folders around files that are put back: which of them go along with files that an agent created, which come back
//! with files that it deleted, and whether a path still leads to where it did. What the files hold is left to
//! `files::restore`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::acp::files::disks::{Disks, PATIENCE};
use crate::acp::files::index::FolderIndexes;
use crate::acp::files::restore::held;
use crate::core::store::checkpoint::{Held, Repository};
use crate::platform::paths::canonicalize;

/// Milliseconds that the time of a new folder may be behind the clock: it is that of the system's last tick, of which
/// there are at least a hundred in a second. More would take folders for new that were made at the end of the turn
/// before.
const LAG: u64 = 10;

/// What is taken back.
#[derive(Clone)]
pub struct Undoing {
    /// The project's folder, and the same without links. Folders outside of it are left alone.
    roots: Vec<PathBuf>,
    /// Milliseconds since 1970. Folders that were there then stay.
    since: u64,
    /// Knows of folders that had another name before.
    indexes: Option<FolderIndexes>,
}

impl Undoing {
    /// Looks where the project's folder leads.
    pub fn new(disks: &Disks, cwd: &Path, since: u64) -> Self {
        let named = cwd.to_owned();
        let resolved = disks.soon(cwd, PATIENCE, move || canonicalize(&named).ok()).flatten();
        Self { roots: resolved.into_iter().chain([cwd.to_owned()]).collect(), since, indexes: None }
    }

    /// Who knows which folders had another name before.
    pub fn knowing(self, indexes: Option<&FolderIndexes>) -> Self {
        Self { indexes: indexes.cloned(), ..self }
    }

    /// The same where the disk may be waited for.
    pub fn at_hand(cwd: &Path, since: u64) -> Self {
        let roots = canonicalize(cwd).ok().into_iter().chain([cwd.to_owned()]).collect();
        Self { roots, since, indexes: None }
    }

    /// The folders between the project's and a path, the innermost first.
    fn above<'a>(&self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let root = self.roots.iter().find(|root| path.starts_with(root)).cloned();
        path.ancestors().skip(1).take_while(move |folder| root.as_ref().is_some_and(|root| folder != root))
    }

    /// A folder above a path that has become a link: what it leads to is something else than what was there.
    pub fn link_above<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.above(path).find(|folder| folder.is_symlink())
    }

    /// What a path holds. What is to be reached through a folder that became a link is another file.
    fn held(&self, path: &Path) -> Held {
        if self.link_above(path).is_some() { Held::Absent } else { held(path) }
    }

    /// The same, and nothing of a file whose disk does not answer.
    pub fn held_in_time(&self, disks: &Disks, path: &Path) -> Held {
        let (this, file) = (self.clone(), path.to_owned());
        disks.soon(path, PATIENCE, move || this.held(&file)).unwrap_or(Held::Unknown)
    }

    /// The folders that have nothing left in them when these files are gone, and that were made for them.
    pub fn going_folders(&self, disks: &Disks, files: Vec<PathBuf>) -> BTreeSet<PathBuf> {
        let Some(folder) = self.roots.first().cloned() else { return BTreeSet::new() };
        let this = self.clone();
        disks.soon(&folder, PATIENCE, move || this.find_going(&files)).unwrap_or_default()
    }

    fn find_going(&self, files: &[PathBuf]) -> BTreeSet<PathBuf> {
        let mut going: BTreeSet<PathBuf> = files.iter().cloned().collect();
        let mut folders: Vec<&Path> = files.iter().flat_map(|file| self.above(file)).collect();
        // The deepest first: what is above them may have nothing else.
        folders.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        folders.dedup();
        let mut gone = BTreeSet::new();
        for folder in folders {
            let Ok(mut entries) = fs::read_dir(folder) else { continue };
            let is_left = entries.any(|entry| entry.map_or(true, |entry| !going.contains(&entry.path())));
            if !is_left && self.is_new(folder) {
                going.insert(folder.to_owned());
                gone.insert(folder.to_owned());
            }
        }
        gone
    }

    /// The outermost of the folders that a path needs and that are not there.
    pub fn missing_folder(&self, disks: &Disks, path: &Path) -> Option<PathBuf> {
        let (this, file) = (self.clone(), path.to_owned());
        let find = move || this.find_missing(&file).map(Path::to_owned);
        disks.soon(path, PATIENCE, find).flatten()
    }

    fn find_missing<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.above(path).take_while(|folder| !folder.is_dir()).last()
    }

    /// A file is gone: so are the folders that were made for it and have nothing in them any more.
    pub fn remove_folders(&self, path: &Path) {
        for folder in self.above(path) {
            // One with something in it is not removed.
            if folder.is_symlink() || !self.is_new(folder) || fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }

    /// The repositories of these files whose own state is another one than it was then: it is not put back with files.
    pub fn repositories(&self, disks: &Disks, files: Vec<PathBuf>) -> BTreeMap<PathBuf, Repository> {
        let Some(folder) = self.roots.first().cloned() else { return BTreeMap::new() };
        let this = self.clone();
        disks.soon(&folder, PATIENCE, move || this.find_repositories(files)).unwrap_or_default()
    }

    fn find_repositories(&self, files: Vec<PathBuf>) -> BTreeMap<PathBuf, Repository> {
        let mut known: HashMap<PathBuf, Option<Repository>> = HashMap::new();
        let mut found = BTreeMap::new();
        for file in files {
            let Some(folder) = file.parent() else { continue };
            let of_folder = known.entry(folder.to_owned()).or_insert_with(|| {
                let repository = folder.ancestors().find(|above| above.join(".git").exists())?;
                let git = repository.join(".git");
                let is_new = self.is_new(&git);
                let is_other = is_new || self.has_new_commits(&git);
                is_other.then(|| Repository { folder: repository.to_owned(), is_new })
            });
            if let Some(repository) = of_folder.clone() {
                found.insert(file, repository);
            }
        }
        found
    }

    /// Whether HEAD has moved: by a commit, a merge, a rebase, a checkout.
    fn has_new_commits(&self, git: &Path) -> bool {
        // Of a worktree or a submodule it is a file that names the folder.
        let named = fs::read_to_string(git).ok();
        let named = named.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
        let folder = match (named, git.parent()) {
            (Some(named), Some(beside)) => beside.join(named.trim()),
            _ => git.to_owned(),
        };
        let moved = fs::metadata(folder.join("logs/HEAD")).and_then(|log| log.modified()).ok();
        self.is_since(moved)
    }

    /// Where nobody knows when a folder was made, or got its name, it stays.
    fn is_new(&self, folder: &Path) -> bool {
        let made = fs::metadata(folder).and_then(|folder| folder.created()).ok();
        let moved = self.indexes.as_ref().and_then(|indexes| indexes.moved(folder));
        self.is_since(made.max(moved))
    }

    fn is_since(&self, time: Option<SystemTime>) -> bool {
        let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        time.is_some_and(|time| time.as_millis() + u128::from(LAG) >= u128::from(self.since))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_repository_is_told_of_that_is_new_or_whose_head_has_moved_since() {
        let folder = Folder::new(
            "repositories",
            &["a", ".git/logs/HEAD", "sub/b", "sub/.git/logs/HEAD", "sub/deep/c"],
        );
        let files = || ["a", "sub/b", "sub/deep/c"].map(|name| folder.0.join(name)).to_vec();
        assert_eq!(folder.undoing(later()).find_repositories(files()), BTreeMap::new());
        let since = later();
        let made = UNIX_EPOCH + std::time::Duration::from_millis(since + 1);
        let log = fs::File::options().write(true).open(folder.0.join(".git/logs/HEAD")).expect("a log");
        log.set_modified(made).expect("its time");
        let found = folder.undoing(since).find_repositories(files());
        let root = Repository { folder: folder.0.clone(), is_new: false };
        assert_eq!(found, BTreeMap::from([(folder.0.join("a"), root)]));
        let found = folder.undoing(0).find_repositories(files());
        let sub = Repository { folder: folder.0.join("sub"), is_new: true };
        assert_eq!(found[&folder.0.join("sub/deep/c")], sub);
        assert!(found[&folder.0.join("a")].is_new);
    }

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[&str]) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-undoing-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder");
            let folder = Self(canonicalize(&folder).expect("it is there"));
            files.iter().for_each(|file| folder.make(file));
            folder
        }

        fn make(&self, file: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("to be made");
            fs::write(path, "x").expect("a file");
        }

        fn undoing(&self, since: u64) -> Undoing {
            Undoing { roots: vec![self.0.clone()], since, indexes: None }
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Some time after now.
    fn later() -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        u64::try_from(now.as_millis()).expect("a time") + 60_000
    }

    #[test]
    fn folders_go_that_were_made_for_the_files_and_hold_nothing_else() {
        let folder = Folder::new("going", &["a/b/one", "a/b/two", "a/other", "c/d/three", "four"]);
        let paths = |names: &[&str]| names.iter().map(|name| folder.0.join(name)).collect::<Vec<_>>();
        let going = |names: &[&str], since| {
            let gone = folder.undoing(since).find_going(&paths(names));
            gone.iter()
                .map(|path| path.strip_prefix(&folder.0).expect("below").display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(going(&["a/b/one", "a/b/two", "c/d/three", "four"], 0), ["a/b", "c", "c/d"]);
        assert_eq!(going(&["a/b/one"], 0), [""; 0], "another file is in it");
        assert_eq!(going(&["a/b/one", "a/b/two"], later()), [""; 0], "they were there before");
        for path in paths(&["a/b/one", "a/b/two", "c/d/three", "four"]) {
            fs::remove_file(&path).expect("to go");
            folder.undoing(0).remove_folders(&path);
        }
        let left: Vec<_> =
            fs::read_dir(&folder.0).expect("a list").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["a"]);
        assert!(folder.0.join("a/other").exists() && !folder.0.join("a/b").exists());
    }

    #[test]
    fn the_folders_that_a_file_needs_are_known() {
        let folder = Folder::new("missing", &["a/one"]);
        let path = folder.0.join("a/b/c/two");
        assert_eq!(folder.undoing(0).find_missing(&path), Some(&*folder.0.join("a/b")));
        assert_eq!(folder.undoing(0).find_missing(&folder.0.join("a/two")), None);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_reached_through_a_folder_that_became_a_link() {
        let folder = Folder::new("link", &["real/one"]);
        std::os::unix::fs::symlink(folder.0.join("real"), folder.0.join("a")).expect("a link");
        let undoing = folder.undoing(0);
        assert_eq!(undoing.link_above(&folder.0.join("a/one")), Some(&*folder.0.join("a")));
        assert_eq!(undoing.held(&folder.0.join("a/one")), Held::Absent);
        assert_eq!(undoing.held(&folder.0.join("a")), Held::Link(folder.0.join("real")));
        assert!(matches!(undoing.held(&folder.0.join("real/one")), Held::Text(..)));
    }
}
