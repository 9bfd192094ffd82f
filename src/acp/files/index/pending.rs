//! What the system has said of the files in sessions' folders and nobody has looked at yet: which, and when they
//! were touched first and last. How the system says it is for `folder_watch`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::core::changes::attribution::{Holder, Times};
use crate::core::changes::half_written::Millis;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    pub times: Times,
    /// It was written, and not closed since.
    pub is_open: bool,
    /// It was found by a walk, so it is known not to be ignored.
    pub is_listed: bool,
    pub holder: Option<Holder>,
}

#[derive(Debug, Default)]
pub struct Pending {
    pub files: HashMap<PathBuf, Touched>,
    /// Folders that came, and have to be watched.
    pub folders: BTreeMap<PathBuf, Millis>,
    /// Folders that went with all that was in them.
    pub gone: BTreeSet<PathBuf>,
    /// Events were lost: any file may be another one.
    pub lost: bool,
    /// A file that says what is ignored is another one.
    pub rules: BTreeSet<PathBuf>,
}

impl Touched {
    pub fn at(now: Millis) -> Self {
        Self::between(now, now)
    }

    pub fn between(first: Millis, last: Millis) -> Self {
        Self { times: (first, last).into(), is_open: false, is_listed: false, holder: None }
    }

    fn join(&mut self, later: Self) {
        let times = (self.times.first.min(later.times.first), self.times.last.max(later.times.last));
        self.times = times.into();
        self.is_open = later.is_open;
        self.is_listed |= later.is_listed;
        self.holder = later.holder.or(self.holder.take());
    }
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty() && self.gone.is_empty() && !self.lost
    }

    /// Whether a file is to be looked at, by itself or with a folder that it came with.
    pub fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path) || path.ancestors().any(|above| self.folders.contains_key(above))
    }

    /// A file was touched, and is open for writing as far as the system says so.
    pub fn touch(&mut self, path: PathBuf, now: Millis, is_open: Option<bool>) {
        match self.files.get_mut(&path) {
            Some(touched) => {
                touched.times = (touched.times.first, now).into();
                touched.is_open = is_open.unwrap_or(touched.is_open);
            }
            None => {
                let is_open = is_open.unwrap_or(false);
                self.files.insert(path, Touched { is_open, ..Touched::at(now) });
            }
        }
    }

    /// Takes in what came later.
    pub fn join(&mut self, later: Self) {
        for (path, touched) in later.files {
            self.add(path, touched);
        }
        self.folders.extend(later.folders);
        self.gone.extend(later.gone);
        self.rules.extend(later.rules);
        self.lost |= later.lost;
    }

    pub fn add(&mut self, path: PathBuf, touched: Touched) {
        match self.files.get_mut(&path) {
            Some(known) => known.join(touched),
            None => {
                self.files.insert(path, touched);
            }
        }
    }
}

/// The folder for which a file says what is ignored, if it is one of those.
pub fn rules_for(path: &Path) -> Option<&Path> {
    if path.ends_with(".git/info/exclude") {
        return path.ancestors().nth(3);
    }
    let says = path.file_name().is_some_and(|name| name == ".gitignore" || name == ".ignore");
    path.parent().filter(|_| says)
}

/// What Neovim keeps beside a file for itself, under a name that follows from the file's: a swap file.
pub fn is_swap_file(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let swap = |end: &str| {
        end.len() == 3 && end.starts_with("sw") && end.ends_with(|c: char| c.is_ascii_lowercase())
    };
    name == "4913"
        || name.starts_with('.')
            && name.rsplit_once('.').is_some_and(|(start, end)| !start.is_empty() && swap(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_file_is_none_of_the_projects() {
        for name in [".a.txt.swp", ".a.swo", "/p/.b.rs.swx", "4913"] {
            assert!(is_swap_file(Path::new(name)), "{name}");
        }
        for name in ["a.swp", ".swp", ".a.swift", ".gitignore", "4914"] {
            assert!(!is_swap_file(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn what_is_touched_again_keeps_its_first_time_and_takes_the_last_word() {
        let path = Path::new("/p/a");
        let mut pending = Pending::default();
        pending.touch(path.into(), 3, Some(true));
        pending.touch(path.into(), 5, None);
        assert_eq!(
            pending.files[path],
            Touched { times: (3, 5).into(), is_open: true, is_listed: false, holder: None }
        );
        let mut later = Pending::default();
        later.touch(path.into(), 9, Some(false));
        pending.join(later);
        assert_eq!(
            pending.files[path],
            Touched { times: (3, 9).into(), is_open: false, is_listed: false, holder: None }
        );
    }
}
