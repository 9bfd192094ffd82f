//! What agents did to one file, and for which session: its review, who wrote which of its lines, and what
//! was undone and may be redone. It is kept correct while the user types. Which files exist, and which
//! buffers hold them, is left to the editor's side.
//!
//! Texts are as in [`super::text_edits`]: lines joined by `\n`, without the newline that ends the file.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::core::changes::authors::Authors;
use crate::core::changes::diff::{Hunk, Placed, PlacedState};
use crate::core::changes::review::{Review, Splice};
use crate::core::ids::OriginId;
use crate::core::message::call::FileDiff;
use crate::core::text::Text;

/// One file that agents changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReview {
    review: Review,
    authors: Authors,
    /// The file was there before the agent, and is there now.
    pub was_there: bool,
    pub is_there: bool,
    /// What was behind the last change of an agent's: a file without lines has no hunk that would say.
    last: Option<OriginId>,
    /// Hunks that were undone, newest last: Neovim's own undo may bring them back.
    undone: Vec<Undone>,
}

/// Whole texts that a file got, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// What it was before the agent, where that is known: what differs from the review is the user's.
    pub user: Option<Text>,
    /// What the agent made of it; none where it removed the file.
    pub agent: Option<(Option<Text>, OriginId)>,
}

impl Written {
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.user.iter().chain(self.agent.iter().flat_map(|(text, _)| text))
    }

    /// The review of a file that nobody has written before.
    pub fn review(self) -> FileReview {
        let mut file = FileReview::new(self.user.as_deref());
        Self { user: None, ..self }.into_review(&mut file);
        file
    }

    pub fn into_review(self, file: &mut FileReview) {
        match self {
            Self { user, agent: Some((text, origin)) } => {
                file.agent_wrote(user.as_deref(), text.as_deref(), origin);
            }
            Self { user: Some(text), agent: None } => file.user_wrote(&text),
            Self { user: None, agent: None } => {}
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Undone {
    removed: Vec<String>,
    added: Vec<String>,
    origin: Option<OriginId>,
}

/// Older ones are forgotten; then what comes back counts as the user's.
const REMEMBERED: usize = 200;

impl FileReview {
    /// A file before the first change of an agent's; `None` when it was not there.
    pub fn new(before: Option<&str>) -> Self {
        let text = before.unwrap_or_default();
        let review = Review::new(text, text);
        let authors = Authors::nobody(review.line_count());
        let is_there = before.is_some();
        Self { review, authors, was_there: is_there, is_there, last: None, undone: Vec::new() }
    }

    /// An agent wrote the file, or removed it; what it found there was `before`, where that is known.
    pub fn agent_wrote(&mut self, before: Option<&str>, after: Option<&str>, origin: OriginId) {
        match before {
            Some(before) if self.is_there && self.review.base_lines().iter().eq(before.split('\n')) => {
                // It was without all that is to be decided. Were that the user's doing, what they have put back beside a
                // hunk would be theirs.
                if let Some(splice) = self.review.difference(before) {
                    self.agent_spliced(splice, None);
                }
            }
            Some(before) => self.user_wrote(before),
            None => {}
        }
        self.is_there = after.is_some();
        self.last = Some(origin);
        if let Some(splice) = self.review.difference(after.unwrap_or_default()) {
            self.agent_spliced(splice, Some(origin));
        }
    }

    /// What was behind the last change of an agent's is known to be something else, or nothing that is reviewed: then it
    /// counts as the user's. The change led from one text to the other.
    pub fn attribute(&mut self, (before, after): (Option<&str>, Option<&str>), to: Option<OriginId>) {
        let Some(from) = self.last else { return };
        let text = after.unwrap_or_default();
        let is_last = self.review.difference(text).is_none();
        match to {
            Some(to) => {
                let rows = match before.filter(|_| is_last) {
                    Some(before) => changed_rows(before, text),
                    None => 0..self.line_count(),
                };
                self.authors.attribute(rows, from, to);
                let undone = self.undone.iter_mut().map(|undone| &mut undone.origin);
                undone.filter(|origin| **origin == Some(from)).for_each(|origin| *origin = Some(to));
                self.last = Some(to);
            }
            None if is_last => {
                if let Some(splice) = self.review.difference(before.unwrap_or_default()) {
                    self.agent_spliced(splice, None);
                }
                (self.was_there, self.is_there, self.last) = (after.is_some(), after.is_some(), None);
                self.user_wrote(text);
            }
            // What has been done to it since rests on this.
            None => {}
        }
    }

    /// The hunks that a call's diff speaks of are the call's, as far as nobody knew what was behind them.
    pub fn claim(&mut self, diff: &FileDiff, unclaimed: &BTreeSet<OriginId>, to: OriginId) {
        for (at, hunk) in self.hunks().iter().enumerate() {
            let origins = self.origins(at);
            if !origins.is_empty()
                && origins.is_subset(unclaimed)
                && speaks_of(diff, hunk)
                && let Some(rows) = self.review.rows(at)
            {
                for from in origins {
                    self.authors.attribute(rows.clone(), from, to);
                }
            }
        }
    }

    pub fn user_wrote(&mut self, text: &str) {
        if self.was_there && !self.is_there && !text.is_empty() {
            // The file that the agent has removed is there again: nothing of that is left to decide.
            self.review = Review::new(text, text);
            self.authors = Authors::nobody(self.review.line_count());
            (self.is_there, self.last) = (true, None);
            return;
        }
        // A text is in a file, or on its way into one.
        self.is_there |= !text.is_empty();
        if let Some(splice) = self.review.difference(text) {
            self.user_spliced(splice);
        }
    }

    /// The user changed lines. Bringing back what was undone makes it the agent's again.
    pub fn user_spliced(&mut self, splice: Splice) {
        let change = trimmed(self.review.lines(splice.rows.clone()), &splice.lines);
        let again = self.undone.iter().rposition(|undone| trimmed(&undone.removed, &undone.added) == change);
        if let Some(at) = again {
            let undone = self.undone.remove(at);
            return self.agent_spliced(splice, undone.origin);
        }
        let changes = self.review.changes(&splice);
        self.authors.user_changed(&changes);
        self.review.user_spliced(splice);
        self.authors.fit(self.review.line_count());
    }

    fn agent_spliced(&mut self, splice: Splice, origin: Option<OriginId>) {
        let changes = self.review.changes(&splice);
        self.authors.changed(&changes, origin);
        self.review.agent_spliced(splice);
        self.authors.fit(self.review.line_count());
    }

    pub fn has_returns(&self) -> bool {
        self.review.lines(0..self.review.line_count()).iter().any(|line| line.contains('\r'))
    }

    /// A buffer holds lines without the carriage returns of its file.
    pub fn without_returns(&mut self) {
        let bare = |text: String| text.replace("\r\n", "\n").trim_end_matches('\r').to_owned();
        self.review = Review::new(&bare(self.review.base()), &bare(self.review.current()));
    }

    pub fn current(&self) -> String {
        self.review.current()
    }

    pub fn base(&self) -> String {
        self.review.base()
    }

    /// The text without what agents did to it, line by line.
    pub fn base_lines(&self) -> &[String] {
        self.review.base_lines()
    }

    /// The number of lines that are there now.
    pub fn line_count(&self) -> usize {
        self.review.line_count()
    }

    pub fn differs_from(&self, text: &str) -> bool {
        self.review.difference(text).is_some()
    }

    /// Nothing is left to decide.
    pub fn is_settled(&self) -> bool {
        self.review.is_settled() && self.was_there == self.is_there
    }

    pub fn hunks(&self) -> Vec<Hunk> {
        self.review.hunks()
    }

    /// It was made or removed and has no lines: there is something to decide, but no hunk. Gives what was behind it.
    pub fn without_hunks(&self) -> Option<OriginId> {
        self.last.filter(|_| self.review.is_settled() && !self.is_settled())
    }

    pub fn is_mixed(&self, hunk: usize) -> bool {
        self.review.is_mixed(hunk)
    }

    /// The hunks that stand at rows of the present text.
    pub fn hunks_at(&self, rows: Range<usize>) -> Vec<usize> {
        let last = self.review.line_count() - 1;
        let meets = |hunk: &Range<usize>| {
            let (start, end) = (hunk.start.min(last), hunk.end.max(hunk.start.min(last) + 1));
            start < rows.end && rows.start < end
        };
        (0..)
            .map_while(|hunk| self.review.rows(hunk))
            .enumerate()
            .filter(|(_, hunk)| meets(hunk))
            .map(|(at, _)| at)
            .collect()
    }

    /// What was behind a hunk.
    pub fn origins(&self, hunk: usize) -> BTreeSet<OriginId> {
        self.review.rows(hunk).map(|rows| self.authors.of(rows)).unwrap_or_default()
    }

    /// What was behind a line, and whether the user has changed the line since.
    pub fn author(&self, row: usize) -> Option<(OriginId, bool)> {
        self.authors.at(row)
    }

    /// Takes a hunk over for good.
    pub fn keep(&mut self, hunk: usize) {
        self.review.keep(hunk);
        if self.review.is_settled() {
            self.was_there = self.is_there;
        }
    }

    /// There is no line with anything in it.
    fn is_blank(&self) -> bool {
        self.review.line_count() == 1 && self.review.lines(0..1)[0].is_empty()
    }

    pub fn keep_all(&mut self) {
        self.review.keep_all();
        self.was_there = self.is_there;
    }

    /// Undoes that a file without lines was made or removed.
    pub fn undo_whole(&mut self) {
        self.is_there = self.was_there;
    }

    /// Puts back what was there before a hunk, and gives what does so in the present text.
    pub fn undo(&mut self, hunk: usize) -> Option<Splice> {
        let origin = self.origins(hunk).first().copied();
        let added = self.review.rows(hunk).map(|rows| self.review.lines(rows).to_vec())?;
        let splice = self.review.undo(hunk)?;
        self.authors.undone(&splice);
        self.authors.fit(self.review.line_count());
        self.undone.push(Undone { removed: splice.lines.clone(), added, origin });
        if self.undone.len() > REMEMBERED {
            self.undone.remove(0);
        }
        if self.review.is_settled() {
            // Lines of the user's keep a file that the agent has made.
            self.is_there = self.was_there || !self.is_blank();
            self.was_there = self.is_there;
        }
        Some(splice)
    }
}

/// What differs of two runs of lines.
fn trimmed<'a>(old: &'a [String], new: &'a [String]) -> (&'a [String], &'a [String]) {
    let first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[first..], &new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    (&old[..old.len() - last], &new[..new.len() - last])
}

/// A text as it was before the diffs that are in it already; for agents that tell of their writes by
/// diffs alone.
pub fn without(text: &str, placed: &[Placed]) -> String {
    let mut hunks: Vec<&Hunk> = placed
        .iter()
        .filter(|placed| placed.state == PlacedState::Applied)
        .flat_map(|placed| &placed.hunks)
        .collect();
    hunks.sort_by_key(|hunk| hunk.row);
    let mut lines: Vec<&str> = text.split('\n').collect();
    let mut end = usize::MAX;
    for hunk in hunks.into_iter().rev() {
        let rows = hunk.row..hunk.row + hunk.added.len();
        // Two diffs that speak of the same lines cannot both be taken back.
        if rows.end <= end && rows.end <= lines.len() {
            lines.splice(rows.clone(), hunk.removed.iter().map(String::as_str));
            end = rows.start;
        }
    }
    lines.join("\n")
}

/// The rows of a text that differ from an earlier one, the lines between included.
fn changed_rows(before: &str, after: &str) -> Range<usize> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let most = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(old, new)| old == new).count();
    first..new.len() - last
}

/// Whether a diff has the lines of a hunk, on both sides.
fn speaks_of(diff: &FileDiff, hunk: &Hunk) -> bool {
    let has = |text: &str, lines: &[String]| {
        let text: Vec<&str> = text.lines().collect();
        lines.is_empty() || text.windows(lines.len()).any(|window| window == lines)
    };
    has(&diff.new_text, &hunk.added) && has(diff.old_text.as_deref().unwrap_or_default(), &hunk.removed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::changes::diff::place;

    fn reviewed(before: &str, after: &str) -> FileReview {
        let mut file = FileReview::new(Some(before));
        file.agent_wrote(Some(before), Some(after), OriginId(1));
        file
    }

    #[test]
    fn what_the_user_typed_before_the_agent_wrote_is_not_the_agents() {
        let mut file = reviewed("a\nb\nc", "a\nB\nc");
        file.agent_wrote(Some("mine\na\nB\nc"), Some("mine\na\nB\nC"), OriginId(2));
        assert_eq!(file.base(), "mine\na\nb\nc");
        assert_eq!(file.origins(0), [OriginId(1), OriginId(2)].into());
        assert_eq!(file.author(2), Some((OriginId(1), false)));
        assert_eq!(file.author(0), None);
    }

    #[test]
    fn what_is_undone_and_brought_back_is_the_agents_again() {
        let mut file = reviewed("a\nb\nc\nd", "a\nB\nB2\nc\nd");
        assert!(file.undo(0).is_some());
        assert!(file.is_settled());
        file.user_wrote("a\nB\nB2\nc\nd");
        assert_eq!((file.hunks().len(), file.is_mixed(0)), (1, false));
        assert_eq!(file.author(2), Some((OriginId(1), false)));
        file.user_wrote("a\nb\nc\nd");
        assert!(file.is_settled());
    }

    #[test]
    fn a_file_that_was_made_or_removed_is_not_settled_before_it_is_decided() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some(""), OriginId(1));
        assert!(!file.is_settled());
        file.keep_all();
        assert!(file.is_settled());
        file.agent_wrote(Some(""), None, OriginId(1));
        assert!(!file.is_settled());
    }

    #[test]
    fn a_file_without_lines_is_decided_as_a_whole() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some(""), OriginId(3));
        assert_eq!((file.hunks().len(), file.without_hunks()), (0, Some(OriginId(3))));
        file.undo_whole();
        assert_eq!((file.is_settled(), file.is_there, file.without_hunks()), (true, false, None));
        let mut file = FileReview::new(Some(""));
        file.agent_wrote(Some(""), None, OriginId(3));
        assert!(file.without_hunks().is_some());
        file.keep_all();
        assert!(file.is_settled());
    }

    #[test]
    fn lines_of_the_users_keep_a_file_that_the_agent_has_made() {
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a\nb"), OriginId(1));
        file.user_wrote("mine\na\nb");
        while !file.hunks().is_empty() {
            file.undo(0);
        }
        assert_eq!((file.current().as_str(), file.is_there, file.is_settled()), ("mine\n", true, true));
    }

    #[test]
    fn what_was_undone_and_is_done_again_is_the_same_hunk_however_it_is_told() {
        let (before, after) = ("one\ntwo\nthree\nfour\nfive", "one\ntwo\nTHREE\nfive");
        let mut file = FileReview::new(Some(before));
        file.agent_wrote(None, Some(after), OriginId(1));
        file.undo(0);
        // A buffer takes the text before it is known whose it is.
        file.user_wrote(after);
        file.agent_wrote(Some(before), Some(after), OriginId(2));
        let hunks = file.hunks();
        assert_eq!((hunks.len(), hunks[0].removed.len(), hunks[0].added.len()), (1, 2, 1));
        assert_eq!(file.origins(0), [OriginId(2)].into());
    }

    #[test]
    fn a_change_whose_origin_is_found_out_later_gets_it_and_no_other_does() {
        let (first, second) = ("A\nb\nc\nd", "A\nb\nC\nd");
        let mut file = FileReview::new(Some("a\nb\nc\nd"));
        file.agent_wrote(None, Some(first), OriginId(1));
        file.agent_wrote(None, Some(second), OriginId(1));
        file.attribute((Some(first), Some(second)), Some(OriginId(2)));
        assert_eq!((file.origins(0), file.origins(1)), ([OriginId(1)].into(), [OriginId(2)].into()));
        file.agent_wrote(None, Some("A\nb\nd"), OriginId(1));
        file.attribute((Some(second), Some("A\nb\nd")), Some(OriginId(3)));
        assert_eq!(
            (file.origins(0), file.origins(1)),
            ([OriginId(1)].into(), [OriginId(3)].into()),
            "a line that went"
        );
    }

    #[test]
    fn a_change_that_turns_out_to_be_from_outside_leaves_nothing_to_decide() {
        let mut file = FileReview::new(Some("a\nb\nc"));
        file.agent_wrote(None, Some("A\nb\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC"), OriginId(2));
        file.attribute((Some("A\nb\nc"), Some("A\nb\nC")), None);
        assert_eq!((file.hunks().len(), file.base().as_str()), (1, "a\nb\nC"));
        let mut file = FileReview::new(None);
        file.agent_wrote(None, Some("a"), OriginId(1));
        file.attribute((None, Some("a")), None);
        assert!(file.is_settled());
    }

    #[test]
    fn a_calls_diff_claims_the_hunks_that_it_speaks_of() {
        let diff = FileDiff { path: "a".into(), old_text: Some("b\nc\n".into()), new_text: "b\nC\n".into() };
        let mut file = FileReview::new(Some("a\nb\nc\nd\nc"));
        file.agent_wrote(None, Some("A\nb\nc\nd\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC\nd\nc"), OriginId(1));
        file.agent_wrote(None, Some("A\nb\nC\nd\nC"), OriginId(2));
        file.claim(&diff, &[OriginId(1)].into(), OriginId(3));
        let origins: Vec<_> = (0..3).map(|hunk| file.origins(hunk)).collect();
        assert_eq!(origins, [[OriginId(1)].into(), [OriginId(3)].into(), [OriginId(2)].into()]);
    }

    #[test]
    fn a_removed_file_that_the_user_has_written_again_is_settled() {
        let mut file = FileReview::new(Some("a\nb"));
        file.agent_wrote(Some("a\nb"), None, OriginId(1));
        file.user_wrote("a\nb\nmine");
        assert_eq!((file.base().as_str(), file.is_there, file.is_settled()), ("a\nb\nmine", true, true));
        file.agent_wrote(Some("a\nb\nmine"), None, OriginId(2));
        assert_eq!(file.base(), "a\nb\nmine", "none of it is there twice");
        assert_eq!(file.hunks().len(), 1);
    }

    #[test]
    fn hunks_are_found_by_the_rows_they_stand_at() {
        let file = reviewed("a\nb\nc\nd\ne", "A\nb\nc\nnew\nd");
        assert_eq!(file.hunks().len(), 3);
        assert_eq!(file.hunks_at(0..1), [0]);
        assert_eq!(file.hunks_at(1..3), [0usize; 0]);
        assert_eq!(file.hunks_at(0..4), [0, 1]);
        assert_eq!(file.hunks_at(4..5), [2], "what was removed at the end is at the last line");
    }

    #[test]
    fn a_text_is_known_as_it_was_before_the_diffs_that_are_in_it() {
        let diff = |old: Option<&str>, new: &str| FileDiff {
            path: "a".into(),
            old_text: old.map(Into::into),
            new_text: new.into(),
        };
        let text = "one\nTWO\nthree\nFOUR";
        let diffs =
            [diff(Some("two"), "TWO"), diff(Some("three\nfour\n"), "three\nFOUR\n"), diff(Some("x"), "y")];
        assert_eq!(without(text, &place(text, &diffs)), "one\ntwo\nthree\nfour");
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "", "ab"]), 1..10)
            .prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn any_history_keeps_the_text_and_an_author_for_each_line(base in text(), texts in prop::collection::vec((0..4u8, text()), 0..6)) {
            let mut file = FileReview::new(Some(&base));
            for (who, text) in texts {
                match who {
                    0 => file.user_wrote(&text),
                    1 => { file.undo(0); }
                    who => file.agent_wrote(None, Some(&text), OriginId(who.into())),
                }
                if who != 1 { prop_assert_eq!(file.current(), text); }
                prop_assert_eq!(file.authors.line_count(), file.line_count());
                for hunk in 0..file.hunks().len() {
                    let rows = file.review.rows(hunk).unwrap_or_default();
                    prop_assert_eq!(file.hunks_at(rows.start..rows.end.max(rows.start + 1)).is_empty(), rows.start >= file.line_count());
                }
            }
        }

        #[test]
        fn without_an_agent_no_line_has_an_author(base in text(), texts in prop::collection::vec(text(), 0..4)) {
            let mut file = FileReview::new(Some(&base));
            texts.iter().for_each(|text| file.user_wrote(text));
            prop_assert!((0..file.line_count()).all(|row| file.author(row).is_none()));
        }
    }
}
