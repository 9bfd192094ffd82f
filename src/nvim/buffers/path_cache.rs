//! What paths are called with their links resolved, as the background has told. The disk is never asked
//! here: a path that nothing is known of yet goes by the name it has, and the background is asked.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::core::maps::{FastMap, FastSet};
use crate::core::message::Place;

/// How long a name counts before it is asked for again. It goes on counting until the answer is there.
const FRESH: Duration = Duration::from_secs(1);

/// More than so many are forgotten.
const MAX_NAMES: usize = 16384;

thread_local! {
    static NAMES: RefCell<Names> = RefCell::default();
}

#[derive(Default)]
struct Names {
    known: FastMap<PathBuf, Known>,
    /// To be asked for.
    wanted: FastSet<PathBuf>,
}

struct Known {
    /// None before the first answer.
    name: Option<PathBuf>,
    asked: Instant,
}

impl Names {
    fn get(&mut self, path: &Path, now: Instant) -> PathBuf {
        let known = self.known.get_mut(path);
        let name = known.as_ref().and_then(|known| known.name.clone());
        match known {
            Some(known) if now.saturating_duration_since(known.asked) < FRESH => {}
            Some(known) => {
                known.asked = now;
                self.wanted.insert(path.to_owned());
            }
            None => {
                self.make_room();
                self.known.insert(path.to_owned(), Known { name: None, asked: now });
                self.wanted.insert(path.to_owned());
            }
        }
        name.unwrap_or_else(|| path.to_owned())
    }

    /// Gives the paths that are called something else than was thought.
    fn learn(&mut self, names: Vec<(PathBuf, PathBuf)>, now: Instant) -> Vec<PathBuf> {
        let mut news = Vec::new();
        for (path, name) in names {
            let before = self.known.get(&path).and_then(|known| known.name.as_ref()).unwrap_or(&path);
            if *before != name {
                news.push(path.clone());
            }
            self.make_room();
            self.known.insert(path, Known { name: Some(name), asked: now });
        }
        news
    }

    fn make_room(&mut self) {
        if self.known.len() >= MAX_NAMES {
            self.known.clear();
        }
    }
}

/// Links resolved as far as the path exists, or the path as it is until that is known.
pub fn canonical(path: &Path) -> PathBuf {
    NAMES.with_borrow_mut(|names| names.get(path, Instant::now()))
}

/// Whether a file lies in one of a session's folders.
pub fn is_in_folders(place: &Place, path: &Path) -> bool {
    place.folders().any(|root| path.starts_with(canonical(root)))
}

/// The background has resolved these. Gives the paths that are called something else than was thought.
pub fn learn(names: Vec<(PathBuf, PathBuf)>) -> Vec<PathBuf> {
    NAMES.with_borrow_mut(|known| known.learn(names, Instant::now()))
}

/// What the background is to be asked.
pub fn take_wanted() -> Vec<PathBuf> {
    NAMES.with_borrow_mut(|names| names.wanted.drain().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_goes_by_its_own_name_until_the_answer_is_there() {
        let mut names = Names::default();
        let (link, real) = (Path::new("/link/a"), Path::new("/real/a"));
        let begin = Instant::now();
        assert_eq!(names.get(link, begin), link);
        assert_eq!(names.get(link, begin), link);
        assert_eq!(names.wanted.drain().collect::<Vec<_>>(), [link]);
        assert_eq!(names.learn(vec![(link.into(), real.into())], begin), [link]);
        assert_eq!(names.get(link, begin), real);
        assert!(names.wanted.is_empty());
    }

    #[test]
    fn an_old_answer_counts_while_it_is_asked_for_again() {
        let mut names = Names::default();
        let (link, real) = (Path::new("/link/a"), Path::new("/real/a"));
        let begin = Instant::now();
        names.learn(vec![(link.into(), real.into())], begin);
        assert_eq!(names.get(link, begin + FRESH), real);
        assert_eq!(names.get(link, begin + FRESH), real);
        assert_eq!(names.wanted.drain().collect::<Vec<_>>(), [link]);
        assert!(names.learn(vec![(link.into(), real.into())], begin + FRESH).is_empty(), "no news");
        assert_eq!(names.learn(vec![(link.into(), "/else".into())], begin + FRESH), [link]);
    }

    #[test]
    fn a_path_without_links_is_no_news() {
        let mut names = Names::default();
        assert!(names.learn(vec![("/a".into(), "/a".into())], Instant::now()).is_empty());
    }
}
