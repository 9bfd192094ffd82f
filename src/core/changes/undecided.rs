//! What is left to decide in a file, in a form that outlives the text it was found in: hunks with the lines around
//! them. Those that a text does not hold are remembered until one does. Storing them is left to `store`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::core::changes::anchor::Anchor;
use crate::core::changes::diff::Hunk;
use crate::core::ids::OriginId;

/// More are not remembered of one file; the oldest go.
const MAX_CHANGES: usize = 200;

/// A hunk that nobody has decided about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undecided {
    pub anchor: Anchor,
    /// What was behind it last.
    pub origin: Option<OriginId>,
    /// The user has changed it, too.
    pub mixed: bool,
    /// The file was made with it.
    pub is_new: bool,
}

/// Hunks that are not in the text as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing(VecDeque<Gone>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Gone {
    what: Undecided,
    /// It went with a text from elsewhere, so the user is told of it. What the user took away in the editor is only
    /// remembered: an undo may bring it back.
    is_told: bool,
}

impl Missing {
    pub fn add(&mut self, what: Undecided, is_told: bool) {
        self.0.retain(|gone| gone.what.anchor.hunk != what.anchor.hunk);
        if self.0.len() >= MAX_CHANGES {
            self.0.pop_front();
        }
        self.0.push_back(Gone { what, is_told });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that the user is told of.
    pub fn told(&self) -> impl Iterator<Item = &Undecided> {
        self.0.iter().filter(|gone| gone.is_told).map(|gone| &gone.what)
    }

    /// The user does not want to hear of them any more.
    pub fn forget_told(&mut self) {
        self.0.retain(|gone| !gone.is_told);
    }

    /// Takes out those that a change of lines may have brought back, the oldest first.
    pub fn take_likely(&mut self, removed: &[String], added: &[String]) -> Vec<(Undecided, bool)> {
        let is_likely = |gone: &Gone| shares(&gone.what.anchor.hunk, removed, added);
        let (likely, rest) = std::mem::take(&mut self.0).into_iter().partition::<VecDeque<_>, _>(is_likely);
        self.0 = rest;
        likely.into_iter().map(|gone| (gone.what, gone.is_told)).collect()
    }
}

/// Whether a hunk has a line in common with lines that went, or with lines that came. Blank ones say nothing, unless
/// there are no others.
pub fn shares(hunk: &Hunk, removed: &[String], added: &[String]) -> bool {
    let in_common = |of: &[String], others: &[String]| {
        let blank = of.iter().all(|line| line.trim().is_empty());
        of.iter().any(|line| (blank || !line.trim().is_empty()) && others.contains(line))
    };
    in_common(&hunk.added, added) || in_common(&hunk.removed, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undecided(removed: &[&str], added: &[&str]) -> Undecided {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let hunk = Hunk { row: 0, removed: lines(removed), added: lines(added) };
        Undecided { anchor: Anchor::new(hunk, &lines(added)), origin: None, mixed: false, is_new: false }
    }

    #[test]
    fn what_comes_back_is_taken_out_and_nothing_else() {
        let mut missing = Missing::default();
        missing.add(undecided(&["a"], &["A"]), true);
        missing.add(undecided(&["b"], &["B"]), false);
        assert_eq!(missing.take_likely(&[], &["x".into()]), []);
        assert_eq!(missing.take_likely(&[], &["A".into()]), [(undecided(&["a"], &["A"]), true)]);
        assert_eq!(missing.take_likely(&["b".into()], &[]), [(undecided(&["b"], &["B"]), false)]);
        assert!(missing.is_empty());
    }

    #[test]
    fn a_hunk_is_remembered_once_and_only_some_are_told_of() {
        let mut missing = Missing::default();
        for is_told in [false, true] {
            missing.add(undecided(&["a"], &["A"]), is_told);
        }
        missing.add(undecided(&["b"], &["B"]), false);
        assert_eq!(missing.told().count(), 1);
        missing.forget_told();
        assert_eq!((missing.told().count(), missing.is_empty()), (0, false));
    }

    #[test]
    fn blank_lines_are_nothing_to_have_in_common() {
        assert!(!shares(&undecided(&[], &["x", ""]).anchor.hunk, &[], &[String::new()]));
        assert!(shares(&undecided(&[], &[""]).anchor.hunk, &[], &[String::new()]));
    }
}
