//! Where a request happens: from where its paths are meant, and what is inside.

use std::path::{Component, Path, PathBuf};

/// Where it happens. `folder` is the request's, if it has one.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// From where relative paths are meant.
    pub folder: &'a Path,
    /// The folders of the session, without links.
    pub roots: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// A path without links, as far as it is there.
    pub resolve: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// Without `.` and `..`, as far as that can be said without the disk.
pub fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}
