//! Which calls collapse into one line: consecutive ones that are done, changed nothing and have nothing
//! to report. A thought between two of them is included. This file keeps track of the runs as entries are
//! added and change; the text of a run's line is left to `summary`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::drawing::Tail;
use crate::core::ids::{EntryId, TerminalId};
use crate::core::message::{Content, ToolContent, ToolKind};
use crate::core::session::Session;
use crate::core::session::entry::{Body, Entry};
use crate::core::session::tool_call::{Status, ToolCall};

/// What an entry is to a run of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Part of a run.
    Quiet,
    /// Part of one if calls on both sides are.
    Between,
    /// Stands for itself, and ends a run.
    Apart,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Alone,
    /// The first of a run: its line is drawn above this one's own.
    Leads,
    Within,
}

pub fn role(entry: &Entry, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> Role {
    match &entry.body {
        Body::Thought { ended: Some(_), .. } => Role::Between,
        Body::Tool(call) if is_quiet(call, tail) => Role::Quiet,
        _ => Role::Apart,
    }
}

/// The same in a session, where entries may stand under others: those are drawn with them.
pub fn role_in(session: &Session, id: EntryId, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> Role {
    match session.entry(id) {
        Some(entry) if entry.parent.is_some() => Role::Between,
        Some(entry) if session.inner(id).is_empty() => role(entry, tail),
        _ => Role::Apart,
    }
}

fn is_quiet(call: &ToolCall, tail: &dyn Fn(&TerminalId) -> Option<Tail>) -> bool {
    let told = |content: &ToolContent| match content {
        ToolContent::Diff(_) => false,
        ToolContent::Content(content) => {
            matches!(content, Content::Image { .. } | Content::Audio { .. } | Content::Picture(_))
        }
        ToolContent::Terminal(_) => false,
    };
    let is_told = |terminal: &TerminalId| tail(terminal).is_some_and(|tail| tail.running || tail.failed);
    let changes =
        matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::SwitchMode);
    call.shown_status() == Status::Done
        && call.unasked.is_none()
        && !changes
        && call.changed_words().is_none()
        && call.diffs().next().is_none()
        && !call.content.iter().any(told)
        && !call.terminals().any(is_told)
}

/// The runs among a transcript's entries, and which of them the user opened.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    roles: Vec<Role>,
    places: Vec<Place>,
    /// Where each run begins, and where the next entry is.
    runs: BTreeMap<usize, usize>,
    /// Entries in whose run the calls are shown. It is kept with an entry rather than with a run, since
    /// runs grow together when a call between them is done.
    open: BTreeSet<usize>,
}

impl Groups {
    /// How many entries were noted.
    pub fn noted(&self) -> usize {
        self.roles.len()
    }

    pub fn place(&self, index: usize) -> Place {
        self.places.get(index).copied().unwrap_or(Place::Alone)
    }

    /// The run that an entry is part of.
    pub fn run(&self, index: usize) -> Option<Range<usize>> {
        let (first, end) = self.runs.range(..=index).next_back()?;
        (index < *end).then_some(*first..*end)
    }

    pub fn is_open(&self, run: &Range<usize>) -> bool {
        self.open.range(run.clone()).next().is_some()
    }

    /// Shows the calls of a run, or gathers them again.
    pub fn toggle(&mut self, run: &Range<usize>) {
        if self.is_open(run) {
            self.open.retain(|entry| !run.contains(entry));
        } else {
            self.open.insert(run.start);
        }
    }

    /// Takes in that an entry has come or changed; entries come in their order. Gives the other entries
    /// that look different now.
    pub fn note(&mut self, index: usize, role: Role) -> Vec<usize> {
        if index == self.roles.len() {
            self.roles.push(Role::Apart);
            self.places.push(Place::Alone);
        }
        let mut touched = Vec::new();
        if self.roles[index] == role {
            // Its place is what it was.
        } else if index + 1 == self.roles.len() && self.roles[index] == Role::Apart && self.open.is_empty() {
            self.roles[index] = role;
            if role == Role::Quiet {
                self.join_last(index, &mut touched);
            }
        } else {
            // What it leaves says something else then.
            touched.extend(self.run(index).map(|run| run.start));
            let apart = |role: &Role| *role == Role::Apart;
            let from = self.roles[..index].iter().rposition(apart).map_or(0, |at| at + 1);
            let to = self.roles[index + 1..].iter().position(apart);
            let to = to.map_or(self.roles.len(), |at| index + 1 + at);
            let opened = self.open.range(from..to).next().is_some();
            let closed = opened && self.runs(from..to).any(|run| !self.is_open(&run));
            let was_open = opened && self.run(index).is_some_and(|run| self.is_open(&run));
            self.roles[index] = role;
            if role == Role::Apart {
                self.open.remove(&index);
                self.settle(from..index, &mut touched);
                self.settle(index..index + 1, &mut touched);
                self.settle(index + 1..to, &mut touched);
            } else {
                self.settle(from..to, &mut touched);
            }
            let runs: Vec<Range<usize>> = self.runs(from..to).filter(|_| opened).collect();
            for run in runs {
                if was_open {
                    // It fell apart: what is left of it stays open.
                    self.open.insert(run.start);
                }
                if closed && self.is_open(&run) {
                    touched.extend(run);
                }
            }
        }
        if let Some(run) = self.run(index) {
            touched.push(run.start);
        }
        touched.retain(|entry| *entry != index);
        touched
    }

    /// The last entry is quiet now. It only looks back to the quiet one before it, since an agent makes
    /// thousands of calls in one run.
    fn join_last(&mut self, index: usize, touched: &mut Vec<usize>) {
        let before = self.roles[..index].iter().rposition(|role| *role != Role::Between);
        let Some(before) = before.filter(|before| self.roles[*before] == Role::Quiet) else { return };
        let first = match self.run(before) {
            Some(run) => run.start,
            None => {
                self.places[before] = Place::Leads;
                touched.push(before);
                before
            }
        };
        self.places[before + 1..=index].fill(Place::Within);
        touched.extend(before + 1..=index);
        self.runs.insert(first, index + 1);
    }

    /// The runs that begin in a span.
    fn runs(&self, span: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        self.runs.range(span).map(|(first, end)| *first..*end)
    }

    /// Finds the run in entries of which none is apart, if there is one, and the entries whose place changed.
    fn settle(&mut self, span: Range<usize>, touched: &mut Vec<usize>) {
        let roles = &self.roles[span.clone()];
        let quiet = |role: &Role| *role == Role::Quiet;
        let first = roles.iter().position(quiet).map(|at| span.start + at);
        let last = roles.iter().rposition(quiet).map(|at| span.start + at);
        let gone: Vec<usize> = self.runs.range(span.clone()).map(|(first, _)| *first).collect();
        for first in gone {
            self.runs.remove(&first);
        }
        if let (Some(first), Some(last)) = (first, last)
            && first < last
        {
            self.runs.insert(first, last + 1);
        }
        for index in span {
            let place = match (first, last) {
                (Some(first), Some(last)) if first < last && (first..=last).contains(&index) => {
                    if index == first { Place::Leads } else { Place::Within }
                }
                _ => Place::Alone,
            };
            if self.places[index] != place {
                self.places[index] = place;
                touched.push(index);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What stands where, found without anything kept.
    fn anew(roles: &[Role]) -> Vec<Place> {
        let mut places = vec![Place::Alone; roles.len()];
        let mut from = 0;
        for span in roles.split_inclusive(|role| *role == Role::Apart) {
            let quiet: Vec<usize> =
                (from..from + span.len()).filter(|index| roles[*index] == Role::Quiet).collect();
            if let [first, .., last] = quiet[..] {
                places[first..=last].fill(Place::Within);
                places[first] = Place::Leads;
            }
            from += span.len();
        }
        places
    }

    fn noted(roles: &[Role]) -> Groups {
        let mut groups = Groups::default();
        for (index, role) in roles.iter().enumerate() {
            groups.note(index, *role);
        }
        groups
    }

    fn any_role() -> impl Strategy<Value = Role> {
        prop_oneof![4 => Just(Role::Quiet), 1 => Just(Role::Between), 2 => Just(Role::Apart)]
    }

    use Role::{Apart, Between, Quiet};

    #[test]
    fn two_quiet_calls_are_a_run_and_one_is_not() {
        let groups = noted(&[Apart, Quiet, Apart, Between, Quiet, Between, Quiet, Between, Apart]);
        let runs: Vec<_> = (0..groups.noted()).map(|index| groups.run(index)).collect();
        let (none, run) = (None, Some(4..7));
        let expected = [&none, &none, &none, &none, &run, &run, &run, &none, &none];
        assert_eq!(runs.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn runs_that_grow_together_are_open_if_one_of_them_was() {
        let mut groups = noted(&[Quiet, Quiet, Apart, Quiet, Quiet]);
        groups.toggle(&(3..5));
        assert!(!groups.is_open(&(0..2)));
        let touched: BTreeSet<usize> = groups.note(2, Quiet).into_iter().collect();
        assert!(groups.is_open(&(0..5)));
        assert_eq!(touched, [0, 1, 3, 4].into());
        groups.note(2, Apart);
        assert!(groups.is_open(&(0..2)) && groups.is_open(&(3..5)));
        groups.toggle(&(0..2));
        assert!(!groups.is_open(&(0..2)) && groups.is_open(&(3..5)));
    }

    proptest! {
        #[test]
        fn runs_kept_as_entries_change_are_those_found_anew(
            first in prop::collection::vec(any_role(), 0..20),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any_role(), any::<bool>()), 0..40),
        ) {
            let mut roles = first;
            let mut groups = noted(&roles);
            prop_assert_eq!(&groups.places, &anew(&roles));
            for (index, role, new) in changes {
                let at = if new || roles.is_empty() {
                    roles.push(role);
                    roles.len() - 1
                } else {
                    let at = index.index(roles.len());
                    roles[at] = role;
                    at
                };
                let before: Vec<_> = groups.places.clone();
                let shown: Vec<_> =
                    (0..before.len()).map(|i| groups.run(i).is_some_and(|run| groups.is_open(&run))).collect();
                let touched = groups.note(at, role);
                prop_assert_eq!(&groups.places, &anew(&roles));
                for index in 0..roles.len() {
                    let run = groups.run(index);
                    let place = match &run {
                        None => Place::Alone,
                        Some(run) if run.start == index => Place::Leads,
                        Some(_) => Place::Within,
                    };
                    prop_assert_eq!(groups.place(index), place);
                    let ends = |run: Range<usize>| groups.place(run.end) != Place::Within;
                    prop_assert!(run.is_none_or(ends));
                }
                for other in (0..before.len()).filter(|other| *other != at) {
                    let shows = groups.run(other).is_some_and(|run| groups.is_open(&run));
                    let differs = before[other] != groups.places[other]
                        || shows != shown[other] && groups.places[other] != Place::Alone;
                    prop_assert!(!differs || touched.contains(&other), "{} is not told", other);
                }
                if let Some(run) = groups.run(at) {
                    prop_assert!(run.start == at || touched.contains(&run.start));
                }
                if index.index(3) == 0 && let Some(run) = groups.run(at) {
                    groups.toggle(&run);
                }
            }
        }
    }
}
