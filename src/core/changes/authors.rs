//! Who wrote which line of a text, and who removed the lines that are gone. It follows the lines through all
//! changes. What an origin's id stands for is up to the caller.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::core::changes::text_edits::Change;
use crate::core::ids::OriginId;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authors {
    lines: Vec<Line>,
    /// Who removed lines before each line, and after the last.
    gaps: Vec<Option<OriginId>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    origin: Option<OriginId>,
    /// The user has changed it since.
    edited: bool,
}

impl Authors {
    /// Lines that no agent wrote.
    pub fn nobody(lines: usize) -> Self {
        Self { lines: vec![Line::default(); lines], gaps: vec![None; lines + 1] }
    }

    #[cfg(test)]
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// An agent changed lines. The changes are those of a text, from the top down.
    pub(crate) fn changed(&mut self, changes: &[Change], origin: Option<OriginId>) {
        for change in changes.iter().rev() {
            self.splice(change.old.clone(), change.new.len(), |_| Line { origin, edited: false });
            if change.new.len() < change.old.len() {
                let row = change.old.start + change.new.len();
                self.gaps[row] = origin;
            }
        }
    }

    /// The user changed lines: one that is still the same line stays who wrote it.
    pub(crate) fn user_changed(&mut self, changes: &[Change]) {
        for change in changes.iter().rev() {
            let same = change.old.len() == 1 && change.new.len() == 1;
            self.splice(change.old.clone(), change.new.len(), |old| match old {
                Some(old) if same => Line { edited: old.origin.is_some(), ..old },
                _ => Line::default(),
            });
        }
    }

    /// Rows that replaced others are known to be somebody's.
    pub fn claimed(&mut self, rows: Range<usize>, removed: usize, origin: OriginId) {
        if rows.len() < removed {
            self.gaps[rows.end] = Some(origin);
        }
        self.lines[rows].fill(Line { origin: Some(origin), edited: false });
    }

    /// What was changed was put back: these lines are nobody's.
    pub fn undone(&mut self, rows: Range<usize>, lines: usize) {
        self.splice(rows.clone(), lines, |_| Line::default());
        let rows = rows.start..(rows.start + lines + 1).min(self.gaps.len());
        self.gaps[rows].fill(None);
    }

    /// What was behind lines, or removed what stood there, is known to be something else.
    pub(crate) fn attribute(&mut self, rows: Range<usize>, from: OriginId, to: OriginId) {
        let lines = self.lines[rows.clone()].iter_mut().map(|line| &mut line.origin);
        let gaps = self.gaps[rows.start..=rows.end].iter_mut();
        lines.chain(gaps).filter(|origin| **origin == Some(from)).for_each(|origin| *origin = Some(to));
    }

    /// A text is never without a line.
    pub fn fit(&mut self, lines: usize) {
        self.lines.resize(lines, Line::default());
        self.gaps.resize(lines + 1, None);
    }

    /// Who wrote these rows, to be put back later.
    pub fn part(&self, rows: Range<usize>) -> Self {
        Self { lines: self.lines[rows.clone()].to_vec(), gaps: self.gaps[rows.start..=rows.end].to_vec() }
    }

    /// Puts a part back where it stood.
    pub fn put(&mut self, first: usize, part: &Self) {
        self.lines[first..first + part.lines.len()].copy_from_slice(&part.lines);
        self.gaps[first..first + part.gaps.len()].copy_from_slice(&part.gaps);
    }

    pub fn at(&self, row: usize) -> Option<(OriginId, bool)> {
        let line = self.lines.get(row)?;
        line.origin.map(|origin| (origin, line.edited))
    }

    /// Who wrote lines, or removed those that stood there.
    pub fn of(&self, rows: Range<usize>) -> BTreeSet<OriginId> {
        let lines = self.lines[rows.clone()].iter().filter_map(|line| line.origin);
        let gaps = self.gaps[rows.start..=rows.end].iter().flatten().copied();
        lines.chain(gaps).collect()
    }

    fn splice(&mut self, rows: Range<usize>, count: usize, line: impl Fn(Option<Line>) -> Line) {
        let old = self.lines.get(rows.start).copied().filter(|_| !rows.is_empty());
        let (first, last) = (self.gaps[rows.start], self.gaps[rows.end]);
        self.lines.splice(rows.clone(), (0..count).map(|_| line(old)));
        let mut gaps = vec![None; count + 1];
        gaps[count] = last;
        gaps[0] = first.or(gaps[0]);
        self.gaps.splice(rows.start..=rows.end, gaps);
    }
}
