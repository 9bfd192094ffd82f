//! Files in a repository's `.git` that something else runs later: hooks, and settings that name programs. All other files
//! there are git's own business.

use std::fs;
use std::path::{Path, PathBuf};

use super::walk::look;
use crate::core::changes::folder_index::FileState;

/// Whether a path is of a repository's `.git`, or in it.
pub fn is_in(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether a file in a `.git` is looked after. Git ships hooks as samples, which nothing runs.
pub fn is_run_later(path: &Path) -> bool {
    let Some(inner) = inner(path) else { return false };
    let is_sample = path.extension().is_some_and(|extension| extension == "sample");
    inner == Path::new("config")
        || inner == Path::new("info/attributes")
        || inner.parent() == Some(Path::new("hooks")) && !is_sample
}

/// Whether a folder has such files.
pub fn is_watched(folder: &Path) -> bool {
    inner(folder).is_some_and(|inner| ["", "hooks", "info"].iter().any(|name| inner == Path::new(name)))
}

/// Where it is in the `.git`.
fn inner(path: &Path) -> Option<&Path> {
    let git = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"))?;
    path.strip_prefix(git).ok()
}

/// The folders of a repository that have such files, as far as they are there. What a link leads to is elsewhere.
pub fn folders(repository: &Path) -> Vec<PathBuf> {
    let git = repository.join(".git");
    let is_folder = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let mut folders = vec![git.clone(), git.join("hooks"), git.join("info")];
    if !is_folder(&git) {
        folders.clear();
    }
    folders.retain(is_folder);
    folders
}

/// The files of a folder that are looked after.
pub fn files(folder: &Path) -> Vec<(PathBuf, FileState)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| is_run_later(path)).filter_map(|path| Some((path.clone(), look(&path)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_run_later_is_looked_after() {
        for name in ["config", "hooks/pre-commit", "info/attributes"] {
            assert!(is_run_later(&Path::new("/p/.git").join(name)), "{name}");
        }
        for name in [
            "HEAD",
            "index",
            "config.lock",
            "hooks/pre-commit.sample",
            "hooks/a/b",
            "info/exclude",
            "logs/config",
        ] {
            assert!(!is_run_later(&Path::new("/p/.git").join(name)), "{name}");
        }
        assert!(!is_run_later(Path::new("/p/hooks/x")) && !is_in(Path::new("/p/.github/x")));
        assert!(is_watched(Path::new("/p/.git/hooks")) && !is_watched(Path::new("/p/.git/objects")));
    }
}
