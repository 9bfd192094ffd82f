//! What is left to decide about agents' changes, and the user's comments, as it outlives a Neovim: facts in a journal
//! that is only appended to, and what they come to. Where journals are is left to `acp::store::undecided`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::changes::comments::Comment;
use crate::core::changes::file_review::Written;
use crate::core::changes::undecided::Undecided;
use crate::core::ids::{JobId, OriginId};
use crate::core::store::held::{Held, Mode};
use crate::core::store::stored_path;
use crate::core::text::Text;

/// More files are not kept, and no larger ones.
pub const MAX_FILES: usize = 1000;
pub const MAX_BYTES: usize = 1 << 20;

/// A file with something to decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Whether it was there before the agent, and after.
    pub sides: (bool, bool),
    pub hunks: Vec<Undecided>,
    /// What was behind the last change; as in the hunks, the place of it in `origins`.
    pub last: Option<OriginId>,
    pub origins: Vec<StoredOrigin>,
    /// What it was before, byte for byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<Held>,
    /// What it was called before.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "stored_path::if_any")]
    pub renamed_from: Option<PathBuf>,
    /// Why it has no hunks, if it can't have any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// How a change without hunks is undone, where it can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<StoredUndo>,
    /// Before and after, of a file whose hunks nobody has looked at: they are worked out on the way to the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<(Option<Text>, Option<Text>)>,
}

/// How a change without hunks is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredUndo {
    Content { seen: Held, held: Held },
    Mode(Mode),
}

/// What was behind a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredOrigin {
    pub agent: String,
    pub turn: usize,
    pub asked: String,
    pub title: String,
    /// Milliseconds since 1970: of the change, and of the beginning of its turn.
    pub at: u64,
    pub since: u64,
}

/// One line of a journal. The last one of a file counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Undecided(Box<StoredFile>),
    /// Nothing is left to decide in it.
    Settled(#[serde(with = "stored_path")] PathBuf),
    /// All there are.
    Comments(Vec<Comment>),
}

/// What a journal comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    pub files: BTreeMap<PathBuf, StoredFile>,
    pub comments: Vec<Comment>,
}

/// What the editor wants of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UndecidedRequest {
    Note(Vec<Fact>),
    /// Take over what Neovims that are gone have left. Answered by `LeftUndecided`.
    Adopt {
        job: JobId,
    },
}

/// What was taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    pub left: Left,
    /// In how many files another Neovim, which runs, has something to decide.
    pub elsewhere: usize,
}

impl StoredFile {
    /// Works out the hunks of a file that has only texts so far.
    pub fn with_hunks(mut self) -> Self {
        if let Some((before, after)) = self.texts.take() {
            let origin = self.last.unwrap_or(OriginId(0));
            self.hunks = Written { user: before, agent: Some((after, origin)) }.review().undecided();
        }
        self
    }

    /// What two Neovims have left in the same file.
    fn join(&mut self, other: Self) {
        let shift = self.origins.len() as u32;
        let moved = |origin: OriginId| OriginId(origin.0 + shift);
        self.origins.extend(other.origins);
        self.last = other.last.map(moved).or(self.last);
        self.hunks.extend(other.hunks.into_iter().map(|mut hunk| {
            hunk.origin = hunk.origin.map(moved);
            hunk
        }));
        self.sides = (self.sides.0 && other.sides.0, other.sides.1);
        // Neither knows what it was before both.
        (self.original, self.undo) = (None, None);
        self.unknown = other.unknown.or(self.unknown.take());
    }
}

impl Left {
    /// Reads a journal. A line that was cut off when the machine stopped is passed over.
    pub fn read(text: &str) -> Self {
        let mut left = Self::default();
        for fact in text.lines().filter_map(|line| serde_json::from_str::<Fact>(line).ok()) {
            left.add(fact);
        }
        left
    }

    pub fn add(&mut self, fact: Fact) {
        match fact {
            Fact::Undecided(file) => drop(self.files.insert(file.path.clone(), *file)),
            Fact::Settled(path) => drop(self.files.remove(&path)),
            Fact::Comments(comments) => self.comments = comments,
        }
    }

    /// The journal that reads as this.
    pub fn facts(&self) -> Vec<Fact> {
        let files = self.files.values().map(|file| Fact::Undecided(Box::new(file.clone())));
        let comments = (!self.comments.is_empty()).then(|| Fact::Comments(self.comments.clone()));
        files.chain(comments).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.comments.is_empty()
    }

    /// Adds what another Neovim has left.
    pub fn join(&mut self, other: Self) {
        for (path, file) in other.files {
            match self.files.get_mut(&path) {
                Some(known) => known.join(file),
                None => drop(self.files.insert(path, file)),
            }
        }
        let new: Vec<Comment> =
            other.comments.into_iter().filter(|comment| !self.comments.contains(comment)).collect();
        self.comments.extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::file_review::FileReview;

    fn file(path: &str, before: &str, after: &str, agent: &str) -> StoredFile {
        let mut review = FileReview::new(Some(before));
        review.agent_wrote(None, Some(after), OriginId(0));
        let origin = StoredOrigin {
            agent: agent.into(),
            turn: 1,
            asked: "do it".into(),
            title: "write".into(),
            at: 5,
            since: 4,
        };
        StoredFile {
            path: path.into(),
            sides: (true, true),
            hunks: review.undecided(),
            last: Some(OriginId(0)),
            origins: vec![origin],
            original: None,
            renamed_from: None,
            unknown: None,
            undo: None,
            texts: None,
        }
    }

    fn text(facts: &[Fact]) -> String {
        facts.iter().map(|fact| serde_json::to_string(fact).expect("plain data") + "\n").collect()
    }

    #[test]
    fn the_last_word_about_a_file_counts() {
        let facts = [
            Fact::Undecided(Box::new(file("/a", "a", "b", "x"))),
            Fact::Undecided(Box::new(file("/b", "a", "b", "x"))),
            Fact::Undecided(Box::new(file("/a", "a", "c", "x"))),
            Fact::Settled("/b".into()),
        ];
        let left = Left::read(&text(&facts));
        assert_eq!(left.files.len(), 1);
        assert_eq!(left.files[&PathBuf::from("/a")].hunks[0].anchor.hunk.added, ["c"]);
        assert_eq!(Left::read(&text(&left.facts())), left);
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let whole = text(&[Fact::Undecided(Box::new(file("/a", "a", "b", "x")))]);
        let left = Left::read(&format!("{{\"undecided\":{{\"pa\n{whole}{}", &whole[..whole.len() / 2]));
        assert_eq!(left.files.len(), 1);
    }

    #[test]
    fn what_two_neovims_left_in_one_file_is_all_there_with_who_wrote_it() {
        let both = "A\nb\nc\nd\nE";
        let mut left =
            Left::read(&text(&[Fact::Undecided(Box::new(file("/a", "a\nb\nc\nd\nE", both, "one")))]));
        left.join(Left::read(&text(&[Fact::Undecided(Box::new(file("/a", "A\nb\nc\nd\ne", both, "two")))])));
        let joined = left.files[&PathBuf::from("/a")].clone();
        assert_eq!(joined.origins.len(), 2);
        let again = FileReview::standing(Some(both), joined.sides, None, joined.hunks);
        assert_eq!(again.base(), "a\nb\nc\nd\ne");
        assert_eq!([0, 4].map(|row| again.author(row).map(|(origin, _)| origin.0)), [Some(0), Some(1)]);
    }

    #[test]
    fn hunks_that_nobody_looked_at_are_worked_out_on_the_way() {
        let expected = file("/a", "a\nb", "a\nB", "x");
        let texts = Some((Some("a\nb".into()), Some("a\nB".into())));
        let unread = StoredFile { hunks: Vec::new(), texts, ..expected.clone() };
        assert_eq!(unread.with_hunks(), expected);
    }
}
