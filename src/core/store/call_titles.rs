//! What calls were called when a change of a file was recorded as theirs, so that a later title can be put in its place.
//! Only the call that a file's last change is recorded of may still be called otherwise: agents make thousands of calls
//! in one turn, so it is found without looking at the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::core::ids::{EntryId, SessionKey};
use crate::core::maps::FastMap;

type CallKey = (SessionKey, EntryId);

#[derive(Debug, Default)]
pub struct CallTitles {
    /// By the call: its title, and the files whose last recorded change is its. There are some.
    calls: FastMap<CallKey, (Option<String>, BTreeSet<PathBuf>)>,
    last: FastMap<PathBuf, CallKey>,
}

impl CallTitles {
    /// A change of a file is recorded as a call's, under this title.
    pub fn record(&mut self, call: CallKey, title: Option<String>, path: &Path) {
        if let Some(before) = self.last.insert(path.to_owned(), call).filter(|before| *before != call)
            && let Some((_, paths)) = self.calls.get_mut(&before)
        {
            paths.remove(path);
            if paths.is_empty() {
                self.calls.remove(&before);
            }
        }
        let (known, paths) = self.calls.entry(call).or_default();
        *known = title;
        paths.insert(path.to_owned());
    }

    /// Whether a change is recorded as a call's.
    pub fn has(&self, call: CallKey) -> bool {
        self.calls.contains_key(&call)
    }

    /// A call is called this now. Gives the files of which another title is recorded.
    pub fn renamed(&mut self, call: CallKey, title: &Option<String>) -> Vec<PathBuf> {
        match self.calls.get_mut(&call) {
            Some((known, paths)) if known != title => {
                known.clone_from(title);
                paths.iter().cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Nothing more comes of a session's calls.
    pub fn forget(&mut self, session: SessionKey) {
        self.calls.retain(|(of, _), _| *of != session);
        self.last.retain(|_, (of, _)| *of != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: usize) -> CallKey {
        (SessionKey(1), EntryId(number))
    }

    fn title(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_later_title_is_told_for_the_files_that_the_call_changed_last() {
        let mut titles = CallTitles::default();
        titles.record(call(1), title("edit"), Path::new("/a"));
        titles.record(call(1), title("edit"), Path::new("/b"));
        titles.record(call(2), title("other"), Path::new("/a"));
        assert_eq!(titles.renamed(call(1), &title("edit")), [""; 0].map(PathBuf::from));
        assert_eq!(titles.renamed(call(1), &title("Edit b")), [PathBuf::from("/b")]);
        assert_eq!(titles.renamed(call(1), &title("Edit b")), [""; 0].map(PathBuf::from), "it is known now");
        assert_eq!(titles.renamed(call(2), &title("Edit a")), [PathBuf::from("/a")]);
        assert_eq!(titles.renamed(call(3), &title("unknown")), [""; 0].map(PathBuf::from));
        assert!(titles.has(call(1)) && titles.has(call(2)) && !titles.has(call(3)));
    }

    #[test]
    fn calls_whose_changes_are_all_followed_by_others_are_not_kept() {
        let mut titles = CallTitles::default();
        for number in 0..2000 {
            titles.record(call(number), title("edit"), Path::new("/a"));
        }
        assert_eq!((titles.calls.len(), titles.last.len()), (1, 1));
        titles.record(call(1999), title("edit"), Path::new("/a"));
        assert_eq!(titles.renamed(call(1999), &None), [PathBuf::from("/a")]);
    }

    #[test]
    fn what_another_session_has_stays() {
        let mut titles = CallTitles::default();
        let other = (SessionKey(2), EntryId(1));
        titles.record(call(1), title("one"), Path::new("/a"));
        titles.record(other, title("two"), Path::new("/b"));
        titles.forget(SessionKey(1));
        assert_eq!(titles.renamed(call(1), &None), [""; 0].map(PathBuf::from));
        assert_eq!(titles.renamed(other, &None), [PathBuf::from("/b")]);
    }
}
