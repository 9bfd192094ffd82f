//! What each session has changed, file by file, for `:Acp changes`: where, how much, and how often. The
//! texts themselves are not kept here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::core::changes::hunk_page::plural;
use crate::core::changes::writers::Writer;
use crate::core::ids::SessionKey;
use crate::core::message::FileDiff;
use crate::core::session::tool_call::count_lines;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::events::{Change, OutsideChange, Renamed};
use crate::nvim::prints::print_of_text;

/// At most this many files that somebody else changed are remembered.
const MAX_OUTSIDE: usize = 1000;

/// Longer texts are not compared line by line here, where the editor waits: what lies between their first and their
/// last difference counts.
const MAX_COMPARED: usize = 64 << 10;

#[derive(Default)]
pub struct ChangeStats {
    agents: BTreeMap<(SessionKey, PathBuf), Changes>,
    /// What changed from outside, whichever session's folder it is in.
    outside: BTreeMap<PathBuf, Changes>,
    /// How many changes of other files came from outside.
    outside_left_out: usize,
}

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub times: usize,
    pub added: usize,
    pub removed: usize,
    /// The lines that the last change touched, from 1, the last one included.
    pub ranges: Vec<(usize, usize)>,
    pub saved: bool,
    /// Such as "new file", or why nothing more is known.
    pub note: Option<String>,
    /// What the file held before the first of them.
    first: Option<Print>,
}

/// A text by its hash; `None` where there was no file.
type Print = Option<u64>;

impl ChangeStats {
    pub fn add(&mut self, change: &Change) {
        let sessions = change.others.iter().map(|writer| writer.session);
        for session in std::iter::once(change.session).chain(sessions) {
            let changes = self.agents.entry((session, change.path.clone())).or_default();
            let (before, after) = (change.before.as_deref(), change.after.as_deref());
            if changes.times == 0 && (before.is_some() || change.held.0 == Held::Absent) {
                changes.first = Some(before.map(print_of_text));
            }
            changes.add(before, after, &change.ranges, change.lines);
            changes.saved = change.saved;
            changes.note = note(change);
        }
    }

    /// A change that was counted was another's.
    pub fn attribute(&mut self, path: &Path, from: &[Writer], to: &[Writer]) {
        let sessions = |writers: &[Writer]| -> BTreeSet<SessionKey> {
            writers.iter().map(|writer| writer.session).collect()
        };
        let (from, to) = (sessions(from), sessions(to));
        let counted = from.iter().find_map(|session| self.agents.get(&(*session, path.to_owned())));
        // Of several it is not known how much each of them was.
        let Some(changes) = counted.filter(|changes| changes.times == 1).cloned() else { return };
        for session in from.difference(&to) {
            self.agents.remove(&(*session, path.to_owned()));
        }
        for session in to.difference(&from) {
            self.agents.entry((*session, path.to_owned())).or_insert_with(|| changes.clone());
        }
    }

    pub fn add_outside(&mut self, change: &OutsideChange) {
        if self.outside.len() >= MAX_OUTSIDE && !self.outside.contains_key(&change.path) {
            self.outside_left_out += 1;
            return;
        }
        let text = |held: &Held| held.as_text().map(Text::plain_lines);
        let (before, after) = (text(&change.before), text(&change.after));
        let changes = self.outside.entry(change.path.clone()).or_default();
        changes.add(before.as_deref(), after.as_deref(), &[], None);
        changes.saved = true;
    }

    pub fn of(&self, session: SessionKey) -> impl Iterator<Item = (&Path, &Changes)> {
        self.agents
            .iter()
            .filter(move |((key, _), _)| *key == session)
            .map(|((_, path), all)| (path.as_path(), all))
    }

    /// What somebody else changed.
    pub fn outside(&self) -> impl Iterator<Item = (&Path, &Changes)> {
        self.outside.iter().map(|(path, all)| (path.as_path(), all))
    }

    /// What of that is not listed, in words.
    pub fn outside_left_out(&self) -> Option<String> {
        let count = self.outside_left_out;
        (count > 0).then(|| format!("{count} more {} from outside", plural(count, "change")))
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.agents.retain(|(key, _), _| *key != session);
    }
}

impl Changes {
    /// Whether a file that holds this is as it was before the first change.
    pub fn are_undone(&self, now: Option<&str>) -> bool {
        self.first == Some(now.map(print_of_text))
    }

    fn add(
        &mut self,
        before: Option<&str>,
        after: Option<&str>,
        ranges: &[(usize, usize)],
        lines: Option<(usize, usize)>,
    ) {
        let is_told = !ranges.is_empty();
        let ranges = match (ranges, before, after) {
            ([], before, Some(after)) => vec![span(before.unwrap_or_default(), after)],
            (ranges, ..) => ranges.to_vec(),
        };
        if let Some((added, removed)) = counted(before, after).filter(|_| !is_told) {
            self.times += 1;
            self.added += added;
            self.removed += removed;
            self.ranges = ranges.iter().map(|(first, end)| (first + 1, (*end).max(first + 1))).collect();
            return;
        }
        let count = |text: Option<&str>| text.map_or(0, |text| breaks(text) + 1);
        let added: usize = ranges.iter().map(|(first, end)| end - first).sum();
        self.times += 1;
        self.added += added;
        let (before, after) = lines.unwrap_or_else(|| (count(before), count(after)));
        self.removed += (before + added).saturating_sub(after);
        self.ranges = ranges.iter().map(|(first, end)| (first + 1, (*end).max(first + 1))).collect();
    }
}

/// The lines that came and went, as its tool call counts them, too; nothing for files that are long to compare.
fn counted(before: Option<&str>, after: Option<&str>) -> Option<(usize, usize)> {
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    if before.len() + after.len() > MAX_COMPARED {
        return None;
    }
    let (old_text, new_text) = (Some(before.into()), after.into());
    count_lines(&FileDiff { path: PathBuf::new(), old_text, new_text })
}

/// What is said of a change beside its numbers.
fn note(change: &Change) -> Option<String> {
    if let Some(why) = &change.unknown {
        return Some(why.clone());
    }
    match (&change.renamed, &change.held) {
        (Some(Renamed::From(_)), _) => Some("renamed".to_owned()),
        (Some(Renamed::To(_)), _) => Some("renamed away".to_owned()),
        (None, (_, Held::Absent)) => Some("deleted".to_owned()),
        (None, _) => None,
    }
}

fn breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// The rows between what two texts begin and end with alike.
fn span(before: &str, after: &str) -> (usize, usize) {
    let (old, new) = (breaks(before) + 1, breaks(after) + 1);
    let head = before.split('\n').zip(after.split('\n')).take_while(|(a, b)| a == b).count();
    let most = old.min(new) - head;
    let lines = before.rsplit('\n').zip(after.rsplit('\n'));
    let tail = lines.take(most).take_while(|(a, b)| a == b).count();
    (head, new - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(before: &str, after: &str, ranges: Vec<(usize, usize)>) -> Change {
        Change {
            session: SessionKey(1),
            call: None,
            others: Vec::new(),
            path: "/a".into(),
            buf: None,
            before: Some(before.into()),
            after: Some(after.into()),
            held: (Held::Unknown, Held::Unknown),
            ranges,
            lines: None,
            saved: true,
            is_in_buffer: false,
            unknown: None,
            renamed: None,
        }
    }

    #[test]
    fn a_change_counts_the_lines_that_differ_and_no_others() {
        let mut stats = ChangeStats::default();
        stats.add(&change("a\nb\nc\nd\n", "A\nb\nc\nD\ne\n", Vec::new()));
        let counts: Vec<_> = stats.of(SessionKey(1)).map(|(_, it)| (it.added, it.removed)).collect();
        assert_eq!(counts, [(3, 2)]);
    }

    #[test]
    fn what_is_too_much_to_be_listed_is_counted() {
        let mut stats = ChangeStats::default();
        let outside = |number: usize| OutsideChange {
            path: format!("/{number}").into(),
            before: Held::Absent,
            after: Held::Absent,
        };
        (0..MAX_OUTSIDE).for_each(|number| stats.add_outside(&outside(number)));
        stats.add_outside(&outside(0));
        assert_eq!(stats.outside_left_out(), None);
        (0..2).for_each(|number| stats.add_outside(&outside(MAX_OUTSIDE + number)));
        assert_eq!(stats.outside_left_out().as_deref(), Some("2 more changes from outside"));
        assert_eq!(stats.outside().count(), MAX_OUTSIDE);
    }

    #[test]
    fn changes_of_a_file_add_up() {
        let mut stats = ChangeStats::default();
        stats.add(&change("a\nb\nc", "a\nB\nc\nd", vec![(1, 2), (3, 4)]));
        stats.add(&change("a\nB\nc\nd", "a\nc\nd", Vec::new()));
        let changes: Vec<Changes> = stats.of(SessionKey(1)).map(|(_, changes)| changes.clone()).collect();
        assert_eq!(
            changes,
            [Changes {
                times: 2,
                added: 2,
                removed: 2,
                ranges: vec![(2, 2)],
                saved: true,
                note: None,
                first: Some(Some(print_of_text("a\nb\nc"))),
            }]
        );
        assert!(changes[0].are_undone(Some("a\nb\nc")));
        assert!(!changes[0].are_undone(Some("a\nc\nd")) && !changes[0].are_undone(None));
    }
}
