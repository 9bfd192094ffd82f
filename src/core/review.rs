//! What an agent changed in a file, hunk by hunk, until the user has kept or undone each. A review
//! sets the present text against a base: the text as it would be if the agent had done nothing.
//! What the user types meanwhile goes into the base, too, so that it is neither shown as the agent's
//! nor lost when a hunk is undone. Showing hunks and changing buffers is left to the editor's side.
//!
//! Texts are as in [`super::changes`]: lines joined by `\n`, without the newline that ends the file.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::core::changes::{self, Change, TextEdit};
use crate::core::diff::Hunk;

/// One file under review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Never without a line; nor is `current`.
    base: Vec<String>,
    current: Vec<String>,
    /// The runs of lines in which the two differ, from the top down, none touching another.
    spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Span {
    base: Range<usize>,
    current: Range<usize>,
}

impl Review {
    /// A review of what the agent made of `base`.
    pub fn new(base: &str, current: &str) -> Self {
        let mut review = Self { base: split(base), current: split(current), spans: Vec::new() };
        review.compare();
        review
    }

    /// The text with every hunk undone.
    pub fn base(&self) -> String {
        self.base.join("\n")
    }

    /// The text with every hunk kept.
    pub fn current(&self) -> String {
        self.current.join("\n")
    }

    /// Nothing is left to decide.
    pub fn is_settled(&self) -> bool {
        self.spans.is_empty()
    }

    /// What the agent changed, from the top down; rows are those of the present text.
    pub fn hunks(&self) -> Vec<Hunk> {
        let hunk = |span: &Span| Hunk {
            row: span.current.start,
            removed: self.base[span.base.clone()].to_vec(),
            added: self.current[span.current.clone()].to_vec(),
        };
        self.spans.iter().map(hunk).collect()
    }

    /// The number of the hunk at a row of the present text. One that only removed lines is at the row
    /// after them, or at the last row if there is none.
    pub fn at_row(&self, row: usize) -> Option<usize> {
        let last = self.current.len() - 1;
        self.spans.iter().position(|span| {
            span.current.contains(&row) || (span.current.is_empty() && row == span.current.start.min(last))
        })
    }

    /// The agent changed the text.
    pub fn agent_wrote(&mut self, text: &str) {
        self.current = split(text);
        self.compare();
    }

    /// The user changed the text. What they did to lines that are the agent's, or between two of them,
    /// becomes a part of that hunk; all else is in the base from now on.
    pub fn user_wrote(&mut self, text: &str) {
        let text = split(text);
        let mut base = Vec::with_capacity(self.base.len());
        let mut done = 0;
        for (rows, lines) in self.for_base(&changes::changes(&self.current, &text)) {
            base.extend_from_slice(&self.base[done..rows.start]);
            base.extend_from_slice(&text[lines]);
            done = rows.end;
        }
        base.extend_from_slice(&self.base[done..]);
        if base.is_empty() {
            base.push(String::new());
        }
        self.base = base;
        self.current = text;
        self.compare();
    }

    /// Takes a hunk over for good. A number that no hunk has does nothing.
    pub fn keep(&mut self, hunk: usize) {
        let Some(span) = self.take(hunk, |span| &mut span.base, |span| span.current.len()) else { return };
        self.base.splice(span.base, self.current[span.current].iter().cloned());
    }

    /// Puts back what was there before a hunk, and gives the edits that do so in the present text. A
    /// number that no hunk has does nothing.
    pub fn undo(&mut self, hunk: usize) -> Vec<TextEdit> {
        let before = self.current();
        let Some(span) = self.take(hunk, |span| &mut span.current, |span| span.base.len()) else {
            return Vec::new();
        };
        self.current.splice(span.current, self.base[span.base].iter().cloned());
        changes::edits(&before, &self.current())
    }

    pub fn keep_all(&mut self) {
        self.base.clone_from(&self.current);
        self.spans.clear();
    }

    /// Puts back what was there before all hunks, and gives the edits that do so.
    pub fn undo_all(&mut self) -> Vec<TextEdit> {
        let edits = changes::edits(&self.current(), &self.base());
        self.current.clone_from(&self.base);
        self.spans.clear();
        edits
    }

    fn compare(&mut self) {
        let ops = capture_diff_slices(Algorithm::Myers, &self.base, &self.current);
        self.spans.clear();
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            let (base, current) = (op.old_range(), op.new_range());
            match self.spans.last_mut() {
                Some(last) if last.base.end == base.start && last.current.end == current.start => {
                    (last.base.end, last.current.end) = (base.end, current.end);
                }
                _ => self.spans.push(Span { base, current }),
            }
        }
    }

    /// Takes a span out, before one side of it gets as many lines as `len` says.
    fn take(
        &mut self,
        hunk: usize,
        side: fn(&mut Span) -> &mut Range<usize>,
        len: fn(&Span) -> usize,
    ) -> Option<Span> {
        if hunk >= self.spans.len() {
            return None;
        }
        let mut span = self.spans.remove(hunk);
        let (old, new) = (side(&mut span).len(), len(&span));
        for later in &mut self.spans[hunk..] {
            let range = side(later);
            *range = range.start + new - old..range.end + new - old;
        }
        Some(span)
    }

    /// What changes of the present text are to the base: rows of it that become lines of the new text,
    /// from the top down.
    fn for_base(&self, changes: &[Change]) -> Vec<(Range<usize>, Range<usize>)> {
        let mut found = Vec::new();
        for Change { old, new } in changes {
            if let (1, 1) = (old.len(), new.len()) {
                found.extend(self.base_row(old.start).map(|row| (row..row + 1, new.clone())));
                continue;
            }
            if let Some(row) = self.base_before(old.start).filter(|_| !new.is_empty()) {
                found.push((row..row, new.clone()));
            }
            let gone = old.clone().filter_map(|row| self.base_row(row));
            found.extend(gone.map(|row| (row..row + 1, new.end..new.end)));
        }
        found
    }

    /// The last span that begins at or above a row.
    fn span_before(&self, row: usize) -> Option<&Span> {
        let next = self.spans.partition_point(|span| span.current.start <= row);
        next.checked_sub(1).map(|at| &self.spans[at])
    }

    /// The row of the base that a row of the present text is; `None` if it is the agent's.
    fn base_row(&self, row: usize) -> Option<usize> {
        match self.span_before(row) {
            Some(span) if row < span.current.end => None,
            Some(span) => Some(row - span.current.end + span.base.end),
            None => Some(row),
        }
    }

    /// The row of the base before which lines are to go that go before a row of the present text;
    /// `None` between two lines of the agent's.
    fn base_before(&self, row: usize) -> Option<usize> {
        match self.span_before(row) {
            Some(span) if row == span.current.start && !span.current.is_empty() => Some(span.base.start),
            _ => self.base_row(row),
        }
    }
}

fn split(text: &str) -> Vec<String> {
    text.split('\n').map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// `row -removed|lines +added|lines` for each hunk.
    fn show(review: &Review) -> Vec<String> {
        let part = |sign: char, lines: &[String]| match lines {
            [] => String::new(),
            lines => format!(" {sign}{}", lines.join("|")),
        };
        let show =
            |hunk: &Hunk| format!("{}{}{}", hunk.row, part('-', &hunk.removed), part('+', &hunk.added));
        review.hunks().iter().map(show).collect()
    }

    fn undo(review: &mut Review, hunk: usize) {
        let before = review.current();
        let edits = review.undo(hunk);
        assert_eq!(changes::apply(&before, &edits), review.current());
    }

    #[test]
    fn hunks_are_kept_and_undone_one_by_one() {
        let mut review = Review::new("a\nb\nc\nd\ne", "A\nb\nc\nnew\nd");
        assert_eq!(show(&review), ["0 -a +A", "3 +new", "5 -e"]);
        undo(&mut review, 1);
        assert_eq!(show(&review), ["0 -a +A", "4 -e"]);
        review.keep(1);
        assert_eq!(show(&review), ["0 -a +A"]);
        undo(&mut review, 0);
        assert!(review.is_settled());
        assert_eq!((review.base(), review.current()), ("a\nb\nc\nd".into(), "a\nb\nc\nd".into()));
    }

    #[test]
    fn a_hunk_that_is_not_there_is_neither_kept_nor_undone() {
        let mut review = Review::new("a", "b");
        let before = review.clone();
        review.keep(1);
        assert_eq!(review.undo(7), []);
        assert_eq!(review, before);
    }

    #[test]
    fn a_hunk_is_found_at_its_rows() {
        let review = Review::new("a\nb\nc\nd", "A\nA2\nb\nc");
        assert_eq!(show(&review), ["0 -a +A|A2", "4 -d"]);
        assert_eq!([0, 1, 2, 3].map(|row| review.at_row(row)), [Some(0), Some(0), None, Some(1)]);
    }

    #[test]
    fn a_new_file_is_undone_to_an_empty_one() {
        let mut review = Review::new("", "salve\nmunde");
        assert_eq!(show(&review), ["0 - +salve|munde"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "");
    }

    #[test]
    fn what_the_user_types_elsewhere_is_no_hunk_and_is_not_undone() {
        let mut review = Review::new("a\nb\nc\nd", "a\nB\nc\nd");
        review.user_wrote("first\na\nB\nc\nd, mine");
        assert_eq!(show(&review), ["2 -b +B"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "first\na\nb\nc\nd, mine");
    }

    #[test]
    fn what_the_user_types_next_to_a_hunk_is_not_undone() {
        for text in ["a\nmine\nB\nc", "a\nB\nmine\nc", "mine\na\nB\nc", "a\nB\nc\nmine"] {
            let mut review = Review::new("a\nb\nc", "a\nB\nc");
            review.user_wrote(text);
            assert_eq!(review.hunks().len(), 1, "{text:?}");
            undo(&mut review, 0);
            assert_eq!(review.current(), text.replace('B', "b"));
        }
    }

    #[test]
    fn lines_that_the_user_deletes_elsewhere_stay_deleted() {
        let mut review = Review::new("a\nb\nc\nd", "a\nB\nc\nd");
        review.user_wrote("B\nd");
        undo(&mut review, 0);
        assert_eq!(review.current(), "b\nd");
    }

    #[test]
    fn what_the_user_changes_within_a_hunk_is_part_of_it() {
        let mut review = Review::new("a\nb\nc", "a\nB one\nB two\nc");
        review.user_wrote("a\nB one\nmine\nB two, too\nc");
        assert_eq!(show(&review), ["1 -b +B one|mine|B two, too"]);
        undo(&mut review, 0);
        assert_eq!(review.current(), "a\nb\nc");
    }

    #[test]
    fn a_hunk_that_the_user_takes_back_by_hand_is_gone() {
        let mut review = Review::new("a\nb\nc", "a\nB\nc");
        review.user_wrote("a\nb\nc");
        assert!(review.is_settled());
    }

    #[test]
    fn the_user_may_delete_all_but_the_agents_lines() {
        let mut review = Review::new("a", "a\nnew");
        review.user_wrote("new");
        assert_eq!((review.base(), show(&review)), (String::new(), vec!["0 - +new".into()]));
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "", "ab"]), 1..14)
            .prop_map(|lines| lines.join("\n"))
    }

    /// What became of one line: gone, changed, or with a new one before or after it; by whom is told by
    /// the name in it.
    fn became(line: &str, name: &str, change: u8) -> Vec<String> {
        match change {
            0 => vec![],
            1 => vec![format!("{name} changed {line}")],
            2 => vec![format!("{name} before {line}"), line.to_owned()],
            _ => vec![line.to_owned(), format!("{name} after {line}")],
        }
    }

    fn check(review: &Review) {
        let (mut base, mut current) = (0, 0);
        for (at, span) in review.spans.iter().enumerate() {
            assert!(at == 0 || span.base.start > base, "spans touch: {review:?}");
            assert_eq!(review.base[base..span.base.start], review.current[current..span.current.start]);
            assert_ne!(review.base[span.base.clone()], review.current[span.current.clone()]);
            (base, current) = (span.base.end, span.current.end);
        }
        assert_eq!(review.base[base..], review.current[current..]);
        assert!(!review.base.is_empty() && !review.current.is_empty());
    }

    proptest! {
        #[test]
        fn keeping_all_one_by_one_keeps_the_present_text(base in text(), current in text(), order in prop::collection::vec(any::<Index>(), 14)) {
            let mut review = Review::new(&base, &current);
            for index in order {
                if !review.is_settled() {
                    review.keep(index.index(review.hunks().len()));
                    check(&review);
                }
            }
            prop_assert_eq!((review.base(), review.current()), (current.clone(), current));
            prop_assert!(review.is_settled());
        }

        #[test]
        fn undoing_all_one_by_one_brings_the_base_back(base in text(), current in text(), order in prop::collection::vec(any::<Index>(), 14)) {
            let mut review = Review::new(&base, &current);
            for index in order {
                if !review.is_settled() {
                    let hunk = index.index(review.hunks().len());
                    undo(&mut review, hunk);
                    check(&review);
                }
            }
            prop_assert_eq!((review.base(), review.current()), (base.clone(), base));
            prop_assert!(review.is_settled());
        }

        #[test]
        fn any_answers_in_any_order_give_whole_hunks(
            base in text(),
            current in text(),
            answers in prop::collection::vec(any::<bool>(), 14),
            order in prop::collection::vec(any::<Index>(), 14),
        ) {
            let mut review = Review::new(&base, &current);
            let mut expected = Vec::new();
            let mut done = 0;
            for (span, keep) in review.spans.iter().zip(&answers) {
                expected.extend_from_slice(&review.base[done..span.base.start]);
                expected.extend_from_slice(if *keep { &review.current[span.current.clone()] } else { &review.base[span.base.clone()] });
                done = span.base.end;
            }
            expected.extend_from_slice(&review.base[done..]);

            let mut open: Vec<bool> = answers[..review.spans.len()].to_vec();
            for index in order.iter().take(open.len()) {
                let hunk = index.index(open.len());
                if open.remove(hunk) { review.keep(hunk) } else { undo(&mut review, hunk) }
                check(&review);
            }
            prop_assert_eq!(review.base(), expected.join("\n"));
            prop_assert_eq!(review.current(), expected.join("\n"));
        }

        #[test]
        fn all_at_once_is_the_same_as_one_by_one(base in text(), current in text()) {
            let mut review = Review::new(&base, &current);
            prop_assert_eq!(changes::apply(&current, &review.clone().undo_all()), &*base);
            review.keep_all();
            prop_assert_eq!((review.base(), review.is_settled()), (current, true));
        }

        #[test]
        fn without_an_agent_there_is_nothing_to_review(old in text(), new in text()) {
            let mut review = Review::new(&old, &old);
            review.user_wrote(&new);
            prop_assert_eq!((review.base(), review.current(), review.is_settled()), (new.clone(), new, true));
        }

        #[test]
        fn any_history_leaves_a_review_in_order(base in text(), texts in prop::collection::vec((any::<bool>(), text()), 0..5)) {
            let mut review = Review::new(&base, &base);
            for (user, text) in texts {
                if user { review.user_wrote(&text) } else { review.agent_wrote(&text) }
                prop_assert_eq!(review.current(), text);
                check(&review);
            }
        }

        /// As long as the two change different lines, only the agent's changes are shown and undone.
        #[test]
        fn a_users_lines_survive_the_undoing_of_all(changes in prop::collection::vec((0..4usize, 0..4u8), 1..16)) {
            let text = |names: [Option<&str>; 4]| -> String {
                let lines = changes.iter().enumerate().flat_map(|(at, (who, change))| {
                    let line = format!("line {at}");
                    match names[*who] {
                        Some(name) => became(&line, name, *change),
                        None => vec![line],
                    }
                });
                // The last line stays, so that no text is without one.
                lines.chain(["end".to_owned()]).collect::<Vec<_>>().join("\n")
            };
            let mut review = Review::new(&text([None; 4]), &text([Some("agent"), None, None, None]));
            review.user_wrote(&text([Some("agent"), Some("user"), None, None]));
            check(&review);
            let shown: Vec<String> = review.hunks().into_iter().flat_map(|hunk| [hunk.removed, hunk.added].concat()).collect();
            prop_assert!(shown.iter().all(|line| !line.starts_with("user")), "{shown:?}");
            review.undo_all();
            // Lines written where others are gone may come to stand before or after those.
            let sorted = |text: String| {
                let mut lines: Vec<String> = split(&text);
                lines.sort();
                lines
            };
            prop_assert_eq!(sorted(review.current()), sorted(text([None, Some("user"), None, None])));
        }
    }
}
