//! Which changes of files have been told already. One change may be reported several times: by a call's diff, by the
//! watcher, by the index of the session's folders, by a buffer that takes the new text. It counts once, whichever
//! comes first. A change is known by the text that it leads to.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::core::store::checkpoint::Held;

/// What each file held after the last change that was told.
#[derive(Default)]
pub struct Told(HashMap<PathBuf, Fingerprint>);

/// A text by its length and hash: the texts themselves are kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fingerprint {
    Absent,
    Text(usize, u64),
}

impl Fingerprint {
    fn of(held: &Held) -> Option<Self> {
        match held {
            Held::Absent => Some(Self::Absent),
            Held::Text(text) => {
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                Some(Self::Text(text.len(), hasher.finish()))
            }
            Held::Unknown => None,
        }
    }
}

impl Told {
    /// A change is reported. Says whether it is news, and takes note of it.
    pub fn is_news(&mut self, path: &Path, before: &Held, after: &Held) -> bool {
        let Some(after) = Fingerprint::of(after) else {
            // What it leads to is not known: whatever comes next is another change.
            self.0.remove(path);
            return true;
        };
        if Fingerprint::of(before) == Some(after) {
            return false;
        }
        self.0.insert(path.to_owned(), after) != Some(after)
    }

    /// The file holds this on the disk, and that needs no telling: the user has saved it, or somebody else wrote it.
    pub fn holds(&mut self, path: &Path, now: &Held) {
        match Fingerprint::of(now) {
            Some(now) => drop(self.0.insert(path.to_owned(), now)),
            None => self.forget(path),
        }
    }

    /// The file may hold anything from now on.
    pub fn forget(&mut self, path: &Path) {
        self.0.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn held(text: u8) -> Held {
        if text == 0 { Held::Absent } else { Held::Text(text.to_string().into()) }
    }

    #[test]
    fn a_change_is_told_once_and_again_when_it_was_taken_back() {
        let (mut told, path) = (Told::default(), Path::new("/a"));
        assert!(told.is_news(path, &held(1), &held(2)));
        assert!(!told.is_news(path, &held(1), &held(2)));
        told.holds(path, &held(1));
        assert!(told.is_news(path, &held(1), &held(2)), "somebody else had put it back");
        told.forget(path);
        assert!(told.is_news(path, &held(3), &held(2)), "the user has saved it meanwhile");
        assert!(told.is_news(Path::new("/b"), &held(1), &held(2)), "another file");
    }

    #[test]
    fn what_changes_nothing_is_no_news_and_what_is_unknown_always_is() {
        let (mut told, path) = (Told::default(), Path::new("/a"));
        assert!(!told.is_news(path, &held(1), &held(1)));
        assert!(told.is_news(path, &held(1), &Held::Unknown));
        assert!(told.is_news(path, &Held::Unknown, &Held::Unknown));
        assert!(told.is_news(path, &Held::Unknown, &held(0)));
    }

    proptest! {
        /// Each change is reported once or several times, by whatever road: as many are told as there were, in order.
        #[test]
        fn each_change_counts_once(steps in prop::collection::vec((1..4u8, any::<bool>(), 1..4usize), 1..12)) {
            let (mut told, path) = (Told::default(), Path::new("/a"));
            let mut now = 0;
            let (mut expected, mut heard) = (Vec::new(), Vec::new());
            for (text, is_outside, reports) in steps {
                let before = std::mem::replace(&mut now, text);
                if is_outside {
                    told.holds(path, &held(text));
                    continue;
                }
                if before != text {
                    expected.push((before, text));
                }
                for _ in 0..reports {
                    if told.is_news(path, &held(before), &held(text)) {
                        heard.push((before, text));
                    }
                }
            }
            prop_assert_eq!(heard, expected);
        }
    }
}
