//! What each session has changed, file by file, for `:Acp changes`: where, how much, and how often. The
//! texts themselves are not kept here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::core::ids::SessionKey;
use crate::nvim::events::Change;

#[derive(Default)]
pub struct ChangeStats(BTreeMap<(SessionKey, PathBuf), Changes>);

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub times: usize,
    pub added: usize,
    pub removed: usize,
    /// The lines that the last change touched, from 1, the last one included.
    pub ranges: Vec<(usize, usize)>,
    pub saved: bool,
}

impl ChangeStats {
    pub fn add(&mut self, change: &Change) {
        let changes = self.0.entry((change.session, change.path.clone())).or_default();
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let ranges = match (&*change.ranges, before, after) {
            ([], before, Some(after)) => vec![span(before.unwrap_or_default(), after)],
            (ranges, ..) => ranges.to_vec(),
        };
        let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        let count = |text: Option<&str>| text.map_or(0, |text| breaks(text) + 1);
        let added: usize = ranges.iter().map(|(first, end)| end - first).sum();
        changes.times += 1;
        changes.added += added;
        let (before, after) = change.lines.unwrap_or_else(|| (count(before), count(after)));
        changes.removed += (before + added).saturating_sub(after);
        changes.ranges = ranges.iter().map(|(first, end)| (first + 1, (*end).max(first + 1))).collect();
        changes.saved = change.saved;
    }

    pub fn of(&self, session: SessionKey) -> impl Iterator<Item = (&Path, &Changes)> {
        self.0
            .iter()
            .filter(move |((key, _), _)| *key == session)
            .map(|((_, path), all)| (path.as_path(), all))
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.0.retain(|(key, _), _| *key != session);
    }
}

/// The rows between what two texts begin and end with alike.
fn span(before: &str, after: &str) -> (usize, usize) {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.split('\n').collect(), after.split('\n').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    (head, new.len() - tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::checkpoint::Held;

    fn change(before: &str, after: &str, ranges: Vec<(usize, usize)>) -> Change {
        Change {
            session: SessionKey(1),
            call: None,
            path: "/a".into(),
            buf: None,
            before: Some(before.into()),
            after: Some(after.into()),
            held: (Held::Unknown, Held::Unknown),
            ranges,
            lines: None,
            saved: true,
        }
    }

    #[test]
    fn changes_of_a_file_add_up() {
        let mut stats = ChangeStats::default();
        stats.add(&change("a\nb\nc", "a\nB\nc\nd", vec![(1, 2), (3, 4)]));
        stats.add(&change("a\nB\nc\nd", "a\nc\nd", Vec::new()));
        let changes: Vec<Changes> = stats.of(SessionKey(1)).map(|(_, changes)| changes.clone()).collect();
        assert_eq!(changes, [Changes { times: 2, added: 2, removed: 2, ranges: vec![(2, 2)], saved: true }]);
    }
}
