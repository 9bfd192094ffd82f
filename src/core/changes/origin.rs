//! Which text an agent's write was based on, when there are two candidates: what the agent last read or
//! wrote through the editor, or what has been on disk since, which many agents read directly. No message
//! says which, so each of the user's saved changes is looked for in the agent's text. Merging is left to
//! `reconcile`.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::core::changes::merge::regions;

/// What is known of an agent's view of a file when it writes through the editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'t> {
    /// What it last read or wrote through the editor.
    pub seen: &'t str,
    /// What the disk holds, as far as the buffer knows; unsaved edits are not in it.
    pub disk: &'t str,
}

/// The text that the agent's own began with. Where it shows a change that the user has saved, the agent has
/// seen that; elsewhere it is taken to know what it last saw, so that nothing of the user's is dropped.
pub fn origin(view: View, theirs: &str) -> String {
    if view.seen == view.disk {
        return view.seen.to_owned();
    }
    let [seen, disk, theirs] =
        [view.seen, view.disk, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let mut origin = String::new();
    for (_, [in_seen, in_disk, in_theirs]) in regions(&seen, &disk, &theirs) {
        let (old, new) = (&seen[in_seen], &disk[in_disk]);
        let known = if shows(old, new, &theirs[in_theirs]) { new } else { old };
        origin.extend(known.iter().copied());
    }
    origin
}

/// Whether lines show that their writer knew of the change from `old` to `new`: all that is new is there,
/// and nothing that is gone.
fn shows(old: &[&str], new: &[&str], theirs: &[&str]) -> bool {
    if theirs == new {
        return true;
    }
    if theirs == old {
        return false;
    }
    let ops = capture_diff_slices(Algorithm::Myers, old, new);
    let changed = || ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let mut added = changed().flat_map(|op| new[op.new_range()].iter());
    let mut removed = changed().flat_map(|op| old[op.old_range()].iter());
    // In the same order, as far as lines can be told from others.
    let mut rest = theirs.iter();
    let has_added = added.by_ref().all(|line| rest.any(|other| other == line));
    let count = |lines: &[&str], line: &str| lines.iter().filter(|other| **other == line).count();
    has_added && removed.all(|line| count(theirs, line) <= count(new, line))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::changes::merge::merge;

    fn lines(text: &str) -> String {
        text.split_whitespace().map(|line| format!("{line}\n")).collect()
    }

    /// What becomes of a buffer that holds `ours`; `None` for a conflict.
    fn written(seen: &str, disk: &str, ours: &str, theirs: &str) -> Option<String> {
        let [seen, disk, ours, theirs] = [seen, disk, ours, theirs].map(lines);
        let base = origin(View { seen: &seen, disk: &disk }, &theirs);
        let merged = merge(&base, &ours, &theirs).clean()?;
        Some(merged.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Who saw what, and what comes of the agent's next write through the editor.
    struct Row {
        what: &'static str,
        /// What the agent last read or wrote through the editor; the disk; the buffer; the write.
        texts: [&'static str; 4],
        expected: Option<&'static str>,
    }

    const fn row(what: &'static str, texts: [&'static str; 4], expected: Option<&'static str>) -> Row {
        Row { what, texts, expected }
    }

    const TABLE: &[Row] = &[
        // Read through the editor.
        row("it read, and nobody else did anything", ["a b c", "a b c", "a b c", "a B c"], Some("a B c")),
        row("it read, the user typed elsewhere", ["a b c", "a b c", "A b c", "a b C"], Some("A b C")),
        row("it read, the user typed the same line", ["a b c", "a b c", "A b c", "Z b c"], None),
        row("it read what was unsaved", ["A b c", "a b c", "A b c", "A b C"], Some("A b C")),
        row("it read what was unsaved, and changed it", ["A b c", "a b c", "A b c", "Z b c"], Some("Z b c")),
        row("it read, the user saved elsewhere", ["a b c", "A b c", "A b c", "a b C"], Some("A b C")),
        row("it read, the user saved the same line", ["a b c", "A b c", "A b c", "Z b c"], None),
        row("it read, the user saved a line more", ["a b", "a mine b", "a mine b", "a B"], Some("a mine B")),
        // Wrote through the editor, and goes on from there without a look.
        row("it wrote twice", ["a B c", "a B c", "a B c", "a B C"], Some("a B C")),
        row("it wrote, the user typed", ["a B c", "a B c", "a B c mine", "A B c"], Some("A B c mine")),
        row("it wrote, the user undid that", ["a B c d", "a B c d", "a b c d", "a B c D"], Some("a b c D")),
        row(
            "it wrote, the user put that back",
            ["a B c d", "a b c d", "a b c d", "a B c D"],
            Some("a b c D"),
        ),
        row("the same, and it writes beside", ["a B c d", "a b c d", "a b c d", "a B C d"], Some("a b C d")),
        row("it wrote, a formatter changed that", ["a b, c", "a b c", "a b c", "a b, c d"], Some("a b c d")),
        // Reads the disk by itself.
        row("it read what the user put back", ["a B c d", "a b c d", "a b c d", "a b c D"], Some("a b c D")),
        row("the same, and it writes beside", ["a B c d", "a b c d", "a b c d", "a b C d"], Some("a b C d")),
        row("it read a line that the user took out", ["a N b", "a b", "a b", "a B"], Some("a B")),
        row(
            "it read a line that the user put in",
            ["a b", "a mine b", "a mine b", "a mine B"],
            Some("a mine B"),
        ),
        row("it read what a formatter made", ["a b, c", "a b c", "a b c", "a b C"], Some("a b C")),
        row(
            "it read another agent's line",
            ["a b", "a other b", "a other b", "A other b"],
            Some("A other b"),
        ),
        row(
            "it read what was replaced, and writes beside",
            ["a b c", "x y c", "x y c", "x y C"],
            Some("x y C"),
        ),
        // Nothing but a call can tell this from a text that it has never seen.
        row("it read what was replaced, and changes that", ["a b c", "x y z", "x y z", "x Y z"], None),
        row(
            "it read, the user types on",
            ["a B c d", "a b c d", "a b c d mine", "a b C d"],
            Some("a b C d mine"),
        ),
        row("it read, the user types in its line", ["a B c d", "a b c d", "a b X d", "a b C d"], None),
        // Did not look: what it has not seen stays.
        row("another agent wrote elsewhere", ["a b c", "a b other", "a b other", "A b c"], Some("A b other")),
        row("another agent wrote the same line", ["a b c", "a other c", "a other c", "a B c"], None),
        row("the file was replaced", ["a b c", "x y z", "x y z", "a B c"], None),
        row("it writes what it wrote before", ["a B c", "a b c", "a b c", "a B c"], Some("a b c")),
        // Wrote on the disk, which the buffer has taken since.
        row("it wrote the disk, then here", ["a b c", "a B c", "a B c", "a B C"], Some("a B C")),
        row(
            "the same, the user typed",
            ["a b c d", "a B c d", "mine a B c d", "a B C d"],
            Some("mine a B C d"),
        ),
    ];

    #[test]
    fn what_an_agent_writes_is_merged_with_what_it_has_not_seen() {
        for Row { what, texts: [seen, disk, ours, theirs], expected } in TABLE {
            assert_eq!(
                written(seen, disk, ours, theirs).as_deref(),
                *expected,
                "{what}: {seen:?} {theirs:?}"
            );
        }
    }

    /// A text with changes: each line stays, goes, gives way to a line of `name`'s, or gets one before it.
    fn changed(base: &str, changes: &[u8], name: &str) -> String {
        let change = |(at, line): (usize, &str)| match changes.get(at) {
            Some(0) => String::new(),
            Some(1) => format!("{name}{at}\n"),
            Some(2) => format!("{name}{at}\n{line}"),
            _ => line.to_owned(),
        };
        base.split_inclusive('\n').enumerate().map(change).collect()
    }

    fn changes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(0..8u8, 10)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Whatever the agent saw: lines that the user has saved or typed are there afterwards, or asked about.
        #[test]
        fn no_line_of_the_users_is_dropped_without_a_question(
            saved in changes(), typed in changes(), theirs in changes(), reads: bool, reverts in changes(),
        ) {
            let seen: String = (0..10).map(|at| format!("line{at}\n")).collect();
            let disk = changed(&seen, &saved, "saved");
            let ours = changed(&disk, &typed, "typed");
            // What the agent knows is its own text, the disk's, or a mixture.
            let knows = changed(if reads { &disk } else { &seen }, &[], "");
            let theirs = changed(&knows, &theirs, "agent");
            let theirs = if reads { theirs } else { changed(&theirs, &reverts, "more") };
            let base = origin(View { seen: &seen, disk: &disk }, &theirs);
            let merge = merge(&base, &ours, &theirs);
            let asked: Vec<&String> = merge.conflicts().flat_map(|conflict| &conflict.ours).collect();
            let merged = merge.resolve(crate::core::changes::merge::Side::Theirs);
            for line in ours.lines() {
                let of_user = line.starts_with("typed") || line.starts_with("saved");
                prop_assert!(
                    !of_user || merged.lines().any(|kept| kept == line) || asked.iter().any(|kept| *kept == line),
                    "{line} is lost: {seen:?} {disk:?} {ours:?} {theirs:?}"
                );
            }
        }

        /// An agent that has read the disk, and changes none of the user's lines, is not asked about.
        #[test]
        fn who_has_read_the_disk_meets_no_conflict(saved in changes(), theirs in changes()) {
            let seen: String = (0..10).map(|at| format!("line{at}\n")).collect();
            let disk = changed(&seen, &saved, "saved");
            // Lines of the user's stay as they are.
            let change = |(at, line): (usize, &str)| match theirs.get(at) {
                Some(1) if !line.starts_with("saved") => format!("agent{at}\n"),
                Some(2) => format!("agent{at}\n{line}"),
                _ => line.to_owned(),
            };
            let theirs: String = disk.split_inclusive('\n').enumerate().map(change).collect();
            let base = origin(View { seen: &seen, disk: &disk }, &theirs);
            prop_assert_eq!(merge(&base, &disk, &theirs).clean(), Some(theirs.clone()), "{:?} {:?}", seen, disk);
        }

        /// An agent that has not, and writes other lines, neither drops anything nor is refused.
        #[test]
        fn who_has_not_meets_none_where_lines_are_apart(at in 0..10usize, other in 0..10usize) {
            prop_assume!(at.abs_diff(other) > 1);
            let seen: String = (0..10).map(|at| format!("line{at}\n")).collect();
            let disk = seen.replace(&format!("line{at}\n"), "saved\n");
            let theirs = seen.replace(&format!("line{other}\n"), "agent\n");
            let base = origin(View { seen: &seen, disk: &disk }, &theirs);
            let both = disk.replace(&format!("line{other}\n"), "agent\n");
            prop_assert_eq!(merge(&base, &disk, &theirs).clean(), Some(both));
        }
    }
}
