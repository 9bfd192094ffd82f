//! The disk as the editor's thread may ask for it: how a path reads with its links resolved, remembered for
//! a moment, and whether a file is there that the user has just asked for. All else that is about the disk is
//! the background's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::platform::paths::canonicalize;

/// How long a resolved path counts. The updates of one call name the same few files again and again, and each
/// look at a disk over the network may take milliseconds.
const FRESH: Duration = Duration::from_secs(1);

/// More than so many are forgotten.
const MOST: usize = 1024;

thread_local! {
    static RESOLVED: RefCell<Resolved> = RefCell::default();
}

#[derive(Default)]
struct Resolved(HashMap<PathBuf, (PathBuf, Instant)>);

impl Resolved {
    fn get(&mut self, path: &Path, now: Instant, look: impl FnOnce(&Path) -> PathBuf) -> PathBuf {
        if let Some((resolved, at)) = self.0.get(path)
            && now.saturating_duration_since(*at) < FRESH
        {
            return resolved.clone();
        }
        let resolved = look(path);
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(path.to_owned(), (resolved.clone(), now));
        resolved
    }
}

/// Links resolved as far as the path exists. On this thread, since who asks goes on with the answer: which
/// buffer holds a file, which call is about it.
pub fn canonical(path: &Path) -> PathBuf {
    RESOLVED.with_borrow_mut(|resolved| resolved.get(path, Instant::now(), look))
}

/// Whether a file is there. Only for what a key or a command of the user's is about, who waits for it.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

fn look(path: &Path) -> PathBuf {
    if let Ok(path) = canonicalize(path) {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => look(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_looked_at_once_in_a_moment() {
        let mut resolved = Resolved::default();
        let looks = std::cell::Cell::new(0);
        let look = |path: &Path| {
            looks.set(looks.get() + 1);
            Path::new("/real").join(path.file_name().expect("a name"))
        };
        let begin = Instant::now();
        for _ in 0..100 {
            assert_eq!(resolved.get(Path::new("/link/a"), begin, look), Path::new("/real/a"));
        }
        assert_eq!(looks.get(), 1);
        resolved.get(Path::new("/link/b"), begin, look);
        assert_eq!(looks.get(), 2);
        resolved.get(Path::new("/link/a"), begin + FRESH, look);
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn what_is_not_there_is_resolved_as_far_as_it_is() {
        let gone = Path::new("/no such folder/a/b");
        assert_eq!(look(gone), gone);
        assert_eq!(look(Path::new("relative, and not there")), Path::new("relative, and not there"));
    }
}
