//! What stays of questions about conflicts that have to be asked anew: the file was half written, or has become another
//! one. How they are asked is left to `conflicts`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::core::ids::{EntryId, SessionKey};

/// What stays of a question about a conflict whose lines are no longer true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierQuestion {
    pub session: SessionKey,
    /// The line in the chat that says that it waits.
    pub line: Option<EntryId>,
    pub is_put_off: bool,
    /// The user has seen it.
    pub was_seen: bool,
}

/// Those about files that are being written: they may be asked again once those are whole.
#[derive(Default)]
pub struct EarlierQuestions(HashMap<PathBuf, EarlierQuestion>);

impl EarlierQuestions {
    pub fn keep(&mut self, path: &Path, earlier: Option<EarlierQuestion>) {
        self.0.extend(earlier.map(|earlier| (path.to_owned(), earlier)));
    }

    pub fn take(&mut self, path: &Path) -> Option<EarlierQuestion> {
        self.0.remove(path)
    }

    /// A session is over, and its chat is gone.
    pub fn forget(&mut self, session: SessionKey) {
        self.0.retain(|_, earlier| earlier.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_of_a_question_goes_with_its_session() {
        let mut all = EarlierQuestions::default();
        let of = |session| EarlierQuestion {
            session: SessionKey(session),
            line: None,
            is_put_off: true,
            was_seen: true,
        };
        all.keep(Path::new("/a"), Some(of(1)));
        all.keep(Path::new("/b"), Some(of(2)));
        all.keep(Path::new("/c"), None);
        all.forget(SessionKey(1));
        assert_eq!(all.0.len(), 1, "nothing is kept of a session that is over");
        assert_eq!(all.take(Path::new("/b")), Some(of(2)));
        assert_eq!(all.take(Path::new("/b")), None);
    }
}
