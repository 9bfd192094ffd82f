//! Which changes of files have been told already. One change may be reported several times: by a call's diff, by the
//! watcher, by the index of the session's folders, by a buffer that takes the new text. It counts once, whichever
//! comes first. A change is known by the text that it leads to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::core::changes::writers::Writer;
use crate::core::store::checkpoint::{Held, Mode};
use crate::core::text::print_of_bytes;

/// What each file held after the last change that was told.
#[derive(Default)]
pub struct Told {
    files: HashMap<PathBuf, Known>,
    /// Of their hashes; nobody who writes files is to know it.
    seed: u64,
}

#[derive(Clone, Debug)]
struct Known {
    last: Fingerprint,
    /// Who was said to have done it; nobody for what needs no telling.
    writers: Vec<Writer>,
}

/// What a path held, by its length and hash: the bytes themselves are kept elsewhere.
#[derive(Clone, Copy, Debug)]
struct Fingerprint {
    /// `None` for no file.
    content: Option<(usize, u64)>,
    mode: Mode,
}

/// What has not been told yet of a reported change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Nothing,
    /// Whoever told of the bytes knew nothing of the permissions, which are others, too.
    Mode,
    All,
}

impl Fingerprint {
    fn of(seed: u64, held: &Held) -> Option<Self> {
        let content = match held {
            Held::Unknown => return None,
            Held::Absent => None,
            Held::Link(target) => {
                Some((usize::MAX, print_of_bytes(seed, target.as_os_str().as_encoded_bytes())))
            }
            Held::Text(..) | Held::Bytes(..) => {
                held.bytes().map(|bytes| (bytes.len(), print_of_bytes(seed, bytes)))
            }
        };
        Some(Self { content, mode: held.mode() })
    }

    fn matches(self, other: Self) -> bool {
        self.content == other.content && self.mode.matches(other.mode)
    }
}

impl Told {
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// A change is reported. Says whether its bytes are news, and takes note of it.
    pub fn is_news(&mut self, path: &Path, before: &Held, after: &Held) -> bool {
        self.news(path, before, after) == News::All
    }

    /// A change is reported. Says what is news in it, and takes note of it.
    pub fn news(&mut self, path: &Path, before: &Held, after: &Held) -> News {
        let Some(after) = Fingerprint::of(self.seed, after) else {
            // What it leads to is not known: whatever comes next is another change.
            self.files.remove(path);
            return News::All;
        };
        let before = Fingerprint::of(self.seed, before);
        if before.is_some_and(|before| before.matches(after)) {
            return News::Nothing;
        }
        // A buffer that took the text knows nothing of permissions.
        let is_mode_alone = before.is_some_and(|before| before.content == after.content);
        let known = self.files.get_mut(path).filter(|known| known.last.matches(after));
        match known {
            Some(known) if !is_mode_alone || known.last.mode == after.mode => {
                let last = std::mem::replace(&mut known.last, after);
                let other_mode = before.is_some_and(|before| !before.mode.matches(after.mode));
                if last.mode.0.is_none() && other_mode { News::Mode } else { News::Nothing }
            }
            _ => {
                self.files.insert(path.to_owned(), Known { last: after, writers: Vec::new() });
                News::All
            }
        }
    }

    /// The last change of a file was told as that of these.
    pub fn set_writers(&mut self, path: &Path, writers: Vec<Writer>) {
        if let Some(known) = self.files.get_mut(path) {
            known.writers = writers;
        }
    }

    /// Who was said to have brought a file to this.
    pub fn writers(&self, path: &Path, after: &Held) -> &[Writer] {
        let after = Fingerprint::of(self.seed, after);
        let known = self.files.get(path).filter(|known| after.is_some_and(|after| known.last.matches(after)));
        known.map_or(&[], |known| &known.writers)
    }

    /// The file holds this on the disk, and that needs no telling: the user has saved it, or somebody else wrote it.
    pub fn holds(&mut self, path: &Path, now: &Held) {
        match Fingerprint::of(self.seed, now) {
            Some(last) => drop(self.files.insert(path.to_owned(), Known { last, writers: Vec::new() })),
            None => self.forget(path),
        }
    }

    /// The file may hold anything from now on.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::ids::SessionKey;

    fn held(text: u8) -> Held {
        if text == 0 { Held::Absent } else { Held::text(text.to_string()) }
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
    fn who_was_said_to_have_done_a_change_is_known_until_the_file_is_another() {
        let (mut told, path) = (Told::default(), Path::new("/a"));
        let writers = vec![Writer { session: SessionKey(1), call: None }];
        assert!(told.is_news(path, &held(1), &held(2)));
        told.set_writers(path, writers.clone());
        assert!(!told.is_news(path, &held(1), &held(2)));
        assert_eq!(told.writers(path, &held(2)), writers);
        assert_eq!(told.writers(path, &held(1)), []);
        assert!(told.is_news(path, &held(2), &held(3)));
        assert_eq!(told.writers(path, &held(3)), []);
        told.set_writers(path, writers);
        told.holds(path, &held(3));
        assert_eq!(told.writers(path, &held(3)), []);
    }

    #[test]
    fn other_permissions_are_news_also_of_a_file_that_a_buffer_took() {
        let (mut told, path) = (Told::default(), Path::new("/a"));
        let text = |mode| Held::Text("a".into(), Mode(Some(mode)));
        assert!(told.is_news(path, &held(1), &Held::text("a")));
        assert!(!told.is_news(path, &held(1), &text(0o644)), "the same, as the disk knows it");
        assert!(told.is_news(path, &text(0o644), &text(0o755)));
        assert!(!told.is_news(path, &text(0o644), &text(0o755)));
    }

    #[test]
    fn permissions_that_changed_with_the_bytes_are_told_after_them_by_who_knows() {
        let (mut told, path) = (Told::default(), Path::new("/a"));
        let text = |text: &str, mode| Held::Text(text.into(), Mode(Some(mode)));
        assert!(told.is_news(path, &held(1), &held(2)));
        assert_eq!(told.news(path, &text("1", 0o644), &text("2", 0o600)), News::Mode);
        assert_eq!(told.news(path, &text("1", 0o644), &text("2", 0o600)), News::Nothing);
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
