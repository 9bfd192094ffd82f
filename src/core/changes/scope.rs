//! What was behind each change of an agent's, and which hunks the user means when they keep or undo some: by the
//! line, file, call, turn or session. The reviews of the files themselves are left to `file_review`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::core::changes::diff::Hunk;
use crate::core::changes::file_review::FileReview;
use crate::core::changes::review::Part;
use crate::core::ids::{EntryId, Moment, OriginId, SessionKey};

/// What was behind a change of an agent's.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub session: SessionKey,
    pub agent: String,
    /// The prompt that the turn began with, and which one it was.
    pub prompt: EntryId,
    pub turn: usize,
    pub asked: String,
    pub call: Option<EntryId>,
    /// What the call was about.
    pub title: String,
    pub at: Moment,
    /// When the turn began.
    pub since: Moment,
    /// It may have been one of these as well; `agent` then names all of them.
    pub others: Vec<Other>,
}

/// Another session that was at work when a file changed, with its prompt and call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    pub session: SessionKey,
    pub prompt: EntryId,
    pub call: Option<EntryId>,
}

impl Origin {
    /// All sessions that it may have been.
    pub fn all(&self) -> impl Iterator<Item = Other> + '_ {
        let own = Other { session: self.session, prompt: self.prompt, call: self.call };
        std::iter::once(own).chain(self.others.iter().copied())
    }
}

/// The origins of all changes, numbered in the order in which they came about.
#[derive(Default)]
pub struct Origins(Vec<Origin>);

/// Which hunks are meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    Rows(PathBuf, Range<usize>),
    Hunk(PathBuf, Hunk),
    /// The lines at these rows alone, of hunks that have more.
    Lines(PathBuf, Range<usize>),
    /// Some of the lines that a hunk removed, and of those that it added.
    Part(PathBuf, Hunk, [Range<usize>; 2]),
    File(PathBuf),
    /// A file that was renamed: by its old name and by the new one.
    Renamed([PathBuf; 2]),
    Call(SessionKey, EntryId),
    /// By the entry of its prompt.
    Turn(SessionKey, EntryId),
    Session(SessionKey),
    All,
}

impl Scope {
    /// Whether what was behind a change is meant, as a call, turn or session.
    fn means(&self, origin: &Origin) -> bool {
        origin.all().any(|each| match self {
            Self::Call(key, call) => each.session == *key && each.call == Some(*call),
            Self::Turn(key, prompt) => each.session == *key && each.prompt == *prompt,
            Self::Session(key) => each.session == *key,
            _ => false,
        })
    }
}

impl Origins {
    /// The number of an origin. Changes of the same call in the same turn have one.
    pub fn number(&mut self, origin: Origin) -> OriginId {
        let is_same = |known: &Origin| known.all().eq(origin.all());
        if let Some(at) = self.0.iter().rposition(is_same) {
            return OriginId(at as u32);
        }
        self.0.push(origin);
        OriginId((self.0.len() - 1) as u32)
    }

    /// A call is called this by now: some agents say it only in the end.
    pub fn retitle(&mut self, session: SessionKey, call: EntryId, title: impl Fn() -> String) {
        let is_it = |origin: &&mut Origin| {
            origin.session == session && origin.call == Some(call) && origin.others.is_empty()
        };
        for origin in self.0.iter_mut().rev().filter(is_it) {
            origin.title = title();
        }
    }

    /// What is known to be of the same turn of the same session as a call's change, but not of which call.
    pub fn unclaimed_like(&self, call: OriginId) -> impl Iterator<Item = OriginId> + '_ {
        let call = self.get(call);
        let is_like = move |origin: &Origin| {
            call.is_some_and(|call| (call.session, call.prompt) == (origin.session, origin.prompt))
        };
        let unclaimed =
            self.0.iter().enumerate().filter(move |(_, origin)| origin.call.is_none() && is_like(origin));
        unclaimed.map(|(at, _)| OriginId(at as u32))
    }

    /// The number of what was behind a change in a Neovim that is gone.
    pub fn number_earlier(&mut self, origin: Origin) -> OriginId {
        let at = self.0.iter().position(|known| *known == origin).unwrap_or_else(|| {
            self.0.push(origin);
            self.0.len() - 1
        });
        OriginId(at as u32)
    }

    pub fn get(&self, id: OriginId) -> Option<&Origin> {
        self.0.get(id.0 as usize)
    }

    /// The sessions that had a part in any change.
    pub fn sessions(&self) -> BTreeSet<SessionKey> {
        self.0.iter().flat_map(Origin::all).map(|each| each.session).collect()
    }

    /// The latest origin of a session, or of any.
    pub fn latest(&self, session: Option<SessionKey>) -> Option<&Origin> {
        self.0
            .iter()
            .rev()
            .filter(|origin| origin.session != SessionKey::EARLIER)
            .find(|origin| session.is_none_or(|key| origin.all().any(|each| each.session == key)))
    }

    /// The last prompt of a session that led to a change. What was done for an earlier one may be told of later.
    pub fn latest_prompt(&self, session: SessionKey) -> EntryId {
        let of_session = self.0.iter().filter(|origin| origin.session == session);
        of_session.map(|origin| origin.prompt).max().unwrap_or(EntryId(0))
    }

    /// What was behind a hunk last.
    pub fn of_hunk(&self, file: &FileReview, hunk: usize) -> Option<&Origin> {
        file.origins(hunk).iter().next_back().and_then(|origin| self.get(*origin))
    }

    /// Whether what was behind a file as a whole is meant: of one that has no hunks, or whose hunks nobody has looked
    /// at yet.
    pub fn is_file_meant(&self, scope: &Scope, path: &Path, origins: &[OriginId]) -> bool {
        match scope {
            Scope::File(of) => of == path,
            Scope::Renamed(both) => both.iter().any(|of| of == path),
            Scope::Rows(of, _) | Scope::Hunk(of, _) | Scope::Lines(of, _) | Scope::Part(of, ..) => of == path,
            Scope::Call(..) | Scope::Turn(..) | Scope::Session(_) => {
                origins.iter().filter_map(|origin| self.get(*origin)).any(|origin| scope.means(origin))
            }
            Scope::All => true,
        }
    }

    /// The same, with the parts of hunks of which only some lines are meant.
    pub fn parts_in(&self, scope: &Scope, path: &Path, file: &FileReview) -> (Vec<usize>, Vec<Part>) {
        let hunks = self.hunks_in(scope, path, file);
        match (scope, hunks.as_slice()) {
            (Scope::Lines(_, rows), [_, ..]) => file.parts_at(rows),
            (Scope::Part(_, _, [removed, added]), [hunk]) => {
                let part = Part { hunk: *hunk, removed: removed.clone(), added: added.clone() };
                (Vec::new(), vec![part])
            }
            _ => (hunks, Vec::new()),
        }
    }

    /// Of the hunks of a call, turn or session those that something else has changed as well: they come and go as a
    /// whole.
    pub fn shared_in(&self, scope: &Scope, file: &FileReview, hunks: &[usize]) -> Vec<usize> {
        if !matches!(scope, Scope::Call(..) | Scope::Turn(..) | Scope::Session(_)) {
            return Vec::new();
        }
        let is_other = |id: &OriginId| self.get(*id).is_some_and(|origin| !scope.means(origin));
        hunks.iter().copied().filter(|hunk| file.origins(*hunk).iter().any(is_other)).collect()
    }

    /// The hunks of a file that are meant, from the top down.
    pub fn hunks_in(&self, scope: &Scope, path: &Path, file: &FileReview) -> Vec<usize> {
        let count = file.hunk_count();
        match scope {
            Scope::Rows(of, rows) | Scope::Lines(of, rows) if of == path => file.hunks_at(rows.clone()),
            Scope::File(of) if of == path => (0..count).collect(),
            Scope::Renamed(both) if both.iter().any(|of| of == path) => (0..count).collect(),
            Scope::Hunk(of, hunk) | Scope::Part(of, hunk, _) if of == path => {
                file.find(hunk).into_iter().collect()
            }
            Scope::Rows(..)
            | Scope::Lines(..)
            | Scope::Hunk(..)
            | Scope::Part(..)
            | Scope::File(_)
            | Scope::Renamed(_) => Vec::new(),
            Scope::Call(..) | Scope::Turn(..) | Scope::Session(_) => {
                let is_meant = |id: &OriginId| self.get(*id).is_some_and(|origin| scope.means(origin));
                (0..count).filter(|hunk| file.origins(*hunk).iter().any(is_meant)).collect()
            }
            Scope::All => (0..count).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(session: u32, prompt: usize, call: usize) -> Origin {
        Origin {
            session: SessionKey(session),
            agent: "demo".into(),
            prompt: EntryId(prompt),
            turn: 1,
            asked: "fix it".into(),
            call: Some(EntryId(call)),
            title: format!("call {call}"),
            at: Moment(0),
            since: Moment(0),
            others: Vec::new(),
        }
    }

    /// Two hunks: the first of session 1, the second of session 2.
    fn two_hunks() -> (Origins, FileReview) {
        let mut origins = Origins::default();
        let mut file = FileReview::new(Some("a\nb\nc\nd\ne"));
        let first = origins.number(origin(1, 0, 1));
        file.agent_wrote(None, Some("A\nb\nc\nd\ne"), first);
        let second = origins.number(origin(2, 5, 7));
        file.agent_wrote(None, Some("A\nb\nc\nd\nE"), second);
        (origins, file)
    }

    fn meant(scope: &Scope) -> Vec<usize> {
        let (origins, file) = two_hunks();
        origins.hunks_in(scope, Path::new("/a"), &file)
    }

    #[test]
    fn a_call_is_called_what_it_said_last() {
        let mut origins = Origins::default();
        let (first, other) = (origins.number(origin(1, 0, 1)), origins.number(origin(1, 0, 2)));
        origins.retitle(SessionKey(1), EntryId(1), || "Editing".to_owned());
        let title = |id| origins.get(id).map(|origin| origin.title.as_str());
        assert_eq!((title(first), title(other)), (Some("Editing"), Some("call 2")));
    }

    #[test]
    fn changes_of_one_call_have_one_origin() {
        let mut origins = Origins::default();
        let first = origins.number(origin(1, 0, 1));
        assert_ne!(origins.number(origin(1, 0, 2)), first);
        assert_ne!(origins.number(origin(1, 3, 1)), first);
        assert_ne!(origins.number(origin(2, 0, 1)), first);
        assert_eq!(origins.number(Origin { title: "named later".into(), ..origin(1, 0, 1) }), first);
        assert_eq!(origins.get(first).map(|origin| &*origin.title), Some("call 1"));
        assert_eq!(origins.get(OriginId(9)), None);
    }

    #[test]
    fn the_latest_origin_is_the_sessions_own_where_one_is_named() {
        let (origins, _) = two_hunks();
        let latest = |session| origins.latest(session).map(|origin| origin.session);
        assert_eq!(latest(None), Some(SessionKey(2)));
        assert_eq!(latest(Some(SessionKey(1))), Some(SessionKey(1)));
        assert_eq!(latest(Some(SessionKey(3))), None);
        assert_eq!(Origins::default().latest(None), None);
    }

    #[test]
    fn a_call_a_turn_and_a_session_mean_their_own_hunks() {
        assert_eq!(meant(&Scope::Call(SessionKey(2), EntryId(7))), [1]);
        assert_eq!(meant(&Scope::Call(SessionKey(1), EntryId(7))), [0; 0]);
        assert_eq!(meant(&Scope::Turn(SessionKey(1), EntryId(0))), [0]);
        assert_eq!(meant(&Scope::Session(SessionKey(2))), [1]);
        assert_eq!(meant(&Scope::All), [0, 1]);
    }

    #[test]
    fn the_last_turn_is_that_of_the_last_prompt_though_an_earlier_ones_change_is_told_after_it() {
        let mut origins = Origins::default();
        for (session, prompt, call) in [(1, 4, 5), (1, 0, 1), (2, 9, 10)] {
            origins.number(origin(session, prompt, call));
        }
        assert_eq!([1, 2, 3].map(|key| origins.latest_prompt(SessionKey(key)).0), [4, 9, 0]);
    }

    #[test]
    fn a_hunk_of_two_turns_is_shared_by_both() {
        let mut origins = Origins::default();
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a\nb"), origins.number(origin(1, 0, 1)));
        let first = Scope::Turn(SessionKey(1), EntryId(0));
        assert_eq!(origins.shared_in(&first, &file, &[0]), [0; 0]);
        file.agent_wrote(None, Some("a\nB\nc"), origins.number(origin(1, 4, 5)));
        for scope in [first, Scope::Turn(SessionKey(1), EntryId(4)), Scope::Call(SessionKey(1), EntryId(5))] {
            assert_eq!(origins.shared_in(&scope, &file, &[0]), [0], "{scope:?}");
        }
        assert_eq!(origins.shared_in(&Scope::Session(SessionKey(1)), &file, &[0]), [0; 0]);
        assert_eq!(origins.shared_in(&Scope::File("/a".into()), &file, &[0]), [0; 0]);
    }

    #[test]
    fn a_hunk_of_one_of_two_sessions_is_meant_by_both() {
        let mut origins = Origins::default();
        let other = Other { session: SessionKey(2), prompt: EntryId(5), call: Some(EntryId(7)) };
        let either = Origin { others: vec![other], agent: "Claude or Codex".into(), ..origin(1, 0, 1) };
        let mut file = FileReview::new(Some("a"));
        let number = origins.number(either);
        assert_ne!(origins.number(origin(1, 0, 1)), number, "that one is known");
        file.agent_wrote(None, Some("A"), number);
        let meant = |scope| origins.hunks_in(&scope, Path::new("/a"), &file).len();
        assert_eq!([1, 2, 3].map(|key| meant(Scope::Session(SessionKey(key)))), [1, 1, 0]);
        assert_eq!(meant(Scope::Call(SessionKey(2), EntryId(7))), 1);
        assert_eq!(meant(Scope::Turn(SessionKey(2), EntryId(0))), 0);
    }

    #[test]
    fn rows_a_hunk_and_a_file_mean_nothing_in_another_file() {
        let (_, file) = two_hunks();
        let hunk = file.hunks()[1].clone();
        assert_eq!(meant(&Scope::Rows("/a".into(), 0..1)), [0]);
        assert_eq!(meant(&Scope::Rows("/b".into(), 0..1)), [0; 0]);
        assert_eq!(meant(&Scope::File("/a".into())), [0, 1]);
        assert_eq!(meant(&Scope::File("/b".into())), [0; 0]);
        assert_eq!(meant(&Scope::Hunk("/a".into(), hunk.clone())), [1]);
        assert_eq!(meant(&Scope::Hunk("/b".into(), hunk.clone())), [0; 0]);
        // It has changed since.
        assert_eq!(meant(&Scope::Hunk("/a".into(), Hunk { row: 3, ..hunk })), [0; 0]);
    }

    #[test]
    fn the_last_origin_of_a_hunk_speaks_for_it() {
        let (mut origins, mut file) = two_hunks();
        let third = origins.number(origin(3, 8, 9));
        file.agent_wrote(None, Some("A\nb\nc\nd\nF"), third);
        assert_eq!(origins.of_hunk(&file, 1).map(|origin| origin.session), Some(SessionKey(3)));
        assert_eq!(origins.of_hunk(&file, 0).map(|origin| origin.session), Some(SessionKey(1)));
    }
}
