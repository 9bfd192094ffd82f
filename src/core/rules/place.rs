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
    if is_normal(path) {
        return path.to_owned();
    }
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

/// Whether a path has no `.`, no `..` and no slash too many, as nearly all have. It need not be taken apart then.
pub fn is_normal(path: &Path) -> bool {
    let mut parts = path.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/');
    let is_name = |part: &[u8]| !matches!(part, b"." | b"..");
    let is_begin_normal = parts.next().is_some_and(is_name);
    !cfg!(windows) && is_begin_normal && parts.all(|part| !part.is_empty() && is_name(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_path_is_normal_if_it_is_written_as_its_parts_are(path in "[/.a]{0,6}|(/|/?(\\.{1,3}|/|a|ab))(/(\\.{0,3}|a|b)){0,3}") {
            let path = Path::new(&path);
            let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
            let again: PathBuf = path.components().collect();
            let is_same = plain && again.as_os_str() == path.as_os_str();
            // The root is taken apart.
            let expected = is_same && path != Path::new("/") && cfg!(unix);
            prop_assert_eq!(is_normal(path), expected);
        }
    }
}
