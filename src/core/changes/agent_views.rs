//! What each agent knows of the files that buffers hold: the text that it last read or wrote through the editor,
//! and in what state of the disk it has read a file by itself. A write is compared with that.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::core::ids::SessionKey;
use crate::core::message::Stamp;
use crate::core::text::Text;

#[derive(Default)]
pub struct AgentViews {
    seen: HashMap<(SessionKey, PathBuf), Seen>,
    looks: HashMap<(SessionKey, PathBuf), Look>,
}

/// A text that an agent has got or sent, with `\n` for line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub text: Text,
    /// What the disk was then, as far as the buffer knew.
    pub stamp: Option<Stamp>,
}

/// An agent's own look at a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub stamp: Stamp,
    /// It is over, and the file was in the same state all the while.
    pub done: bool,
}

impl AgentViews {
    pub fn seen(&self, session: SessionKey, path: &Path) -> Option<&Seen> {
        self.seen.get(&(session, path.to_owned()))
    }

    pub fn look_of(&self, session: SessionKey, path: &Path) -> Option<Look> {
        self.looks.get(&(session, path.to_owned())).copied()
    }

    /// The agent has got or sent this text.
    pub fn see(&mut self, session: SessionKey, path: &Path, seen: Seen) {
        let key = (session, path.to_owned());
        self.looks.remove(&key);
        self.seen.insert(key, seen);
    }

    /// A call reads the file on the disk, or has done so; `now` is the state of the file that its buffer knows.
    pub fn look(&mut self, session: SessionKey, path: &Path, now: Option<Stamp>, done: bool) {
        let key = (session, path.to_owned());
        match (now, self.looks.get_mut(&key)) {
            (Some(now), Some(look)) if done && look.stamp == now => look.done = true,
            (Some(stamp), _) if !done => drop(self.looks.insert(key, Look { stamp, done })),
            _ => drop(self.looks.remove(&key)),
        }
    }

    /// The sessions whose agents have read or written a file.
    pub fn sessions_of<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = SessionKey> + 'a {
        self.seen.keys().filter(move |(_, known)| known == path).map(|(session, _)| *session)
    }

    /// A file is called something else. What is known by the new name already stays.
    pub fn rename(&mut self, old: &Path, path: &Path) {
        let sessions: Vec<SessionKey> = self.sessions_of(old).collect();
        for session in sessions {
            if let Some(seen) = self.seen.remove(&(session, old.to_owned())) {
                self.seen.entry((session, path.to_owned())).or_insert(seen);
            }
        }
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.seen.retain(|(key, _), _| *key != session);
        self.looks.retain(|(key, _), _| *key != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionKey = SessionKey(1);

    fn stamp(written: i64) -> Stamp {
        Stamp { written: (written, 0), size: 1, inode: 1 }
    }

    fn seen(text: &str) -> Seen {
        Seen { text: text.into(), stamp: None }
    }

    #[test]
    fn a_look_counts_when_the_file_was_in_one_state_all_the_while() {
        let (mut views, path) = (AgentViews::default(), Path::new("/a"));
        views.look(SESSION, path, Some(stamp(1)), false);
        views.look(SESSION, path, Some(stamp(1)), true);
        assert_eq!(views.look_of(SESSION, path), Some(Look { stamp: stamp(1), done: true }));
        views.look(SESSION, path, Some(stamp(1)), false);
        views.look(SESSION, path, Some(stamp(2)), true);
        assert_eq!(views.look_of(SESSION, path), None, "it changed in between");
        views.look(SESSION, path, None, false);
        assert_eq!(views.look_of(SESSION, path), None, "nobody knows its state");
    }

    #[test]
    fn what_an_agent_reads_through_the_editor_replaces_its_own_look() {
        let (mut views, path) = (AgentViews::default(), Path::new("/a"));
        views.look(SESSION, path, Some(stamp(1)), false);
        views.see(SESSION, path, seen("a"));
        assert_eq!(views.look_of(SESSION, path), None);
        assert_eq!(views.seen(SESSION, path), Some(&seen("a")));
    }

    #[test]
    fn views_go_along_when_a_file_gets_another_name() {
        let (mut views, old, new) = (AgentViews::default(), Path::new("/link"), Path::new("/real"));
        views.see(SESSION, old, seen("old"));
        views.see(SessionKey(2), old, seen("two"));
        views.see(SESSION, new, seen("new"));
        views.rename(old, new);
        assert_eq!(views.seen(SESSION, new), Some(&seen("new")), "it is newer");
        assert_eq!(views.seen(SessionKey(2), new), Some(&seen("two")));
        assert_eq!(views.sessions_of(old).count(), 0);
    }

    #[test]
    fn nothing_is_left_of_a_session_that_is_over() {
        let (mut views, path) = (AgentViews::default(), Path::new("/a"));
        views.see(SESSION, path, seen("a"));
        views.look(SESSION, Path::new("/b"), Some(stamp(1)), false);
        views.forget(SESSION);
        assert_eq!(views.seen(SESSION, path), None);
        assert_eq!(views.look_of(SESSION, Path::new("/b")), None);
    }
}
