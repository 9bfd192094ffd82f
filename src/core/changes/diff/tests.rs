use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::Index;

use super::PlacedState::{Applied, Proposed, Unmatched};
use super::*;

fn diff(old: &str, new: &str) -> FileDiff {
    FileDiff { path: PathBuf::from("a.txt"), old_text: Some(old.into()), new_text: new.into() }
}

fn new_file(new: &str) -> FileDiff {
    FileDiff { path: PathBuf::from("a.txt"), old_text: None, new_text: new.into() }
}

/// `row -removed|lines +added|lines` for each hunk.
fn show(placed: &Placed) -> (PlacedState, Vec<String>) {
    let show = |hunk: &Arc<Hunk>| {
        let part = |sign: char, lines: &[String]| match lines {
            [] => String::new(),
            lines => format!(" {sign}{}", lines.join("|")),
        };
        format!("{}{}{}", hunk.row, part('-', &hunk.removed), part('+', &hunk.added))
    };
    (placed.state, placed.hunks.iter().map(show).collect())
}

#[track_caller]
fn check(text: &str, diff: &FileDiff, state: PlacedState, hunks: &[&str]) {
    let texts = [text.to_owned(), text.replace('\n', "\r\n")];
    let crlf = FileDiff {
        path: diff.path.clone(),
        old_text: diff.old_text.as_ref().map(|old| old.replace('\n', "\r\n").into()),
        new_text: diff.new_text.replace('\n', "\r\n").into(),
    };
    for text in texts {
        for diff in [diff, &crlf] {
            let placed = place(&text, std::slice::from_ref(diff));
            assert_eq!(placed.len(), 1);
            let (found, found_hunks) = show(&placed[0]);
            assert_eq!(
                (found, found_hunks.iter().map(|hunk| &**hunk).collect::<Vec<_>>()),
                (state, hunks.to_vec()),
                "in {text:?}"
            );
        }
    }
}

const OLD: &str = "north\neast\nsouth\nwest\n";
const NEW: &str = "north\nEAST\neast side\nsouth\nwest\n";

#[test]
fn a_whole_file_is_found_with_and_without_its_last_newline() {
    for (old, new) in [(OLD, NEW), (OLD.trim_end(), NEW.trim_end()), (OLD, NEW.trim_end())] {
        for end in ["", "\n"] {
            let text = |text: &str| text.trim_end().to_owned() + end;
            check(&text(OLD), &diff(old, new), Proposed, &["1 -east +EAST|east side"]);
            check(&text(NEW), &diff(old, new), Applied, &["1 -east +EAST|east side"]);
        }
    }
}

#[test]
fn a_whole_file_with_several_changes_has_a_hunk_for_each() {
    let (old, new) = ("a\nb\nc\nd\ne\n", "A\nb\nc\nnew\nd\n");
    check(old, &diff(old, new), Proposed, &["0 -a +A", "3 +new", "4 -e"]);
    check(new, &diff(old, new), Applied, &["0 -a +A", "3 +new", "5 -e"]);
}

#[test]
fn a_fragment_of_one_line_is_widened_to_the_line() {
    let text = "fn main() {\n    print(\"good day\");\n}\n";
    check(
        text,
        &diff("good day", "farewell"),
        Proposed,
        &["1 -    print(\"good day\"); +    print(\"farewell\");"],
    );
    check(
        &text.replace("good day", "farewell"),
        &diff("good day", "farewell"),
        Applied,
        &["1 -    print(\"good day\"); +    print(\"farewell\");"],
    );
}

#[test]
fn a_fragment_that_is_a_line_and_becomes_two_is_found() {
    check(OLD, &diff("east", "EAST\neast side"), Proposed, &["1 -east +EAST|east side"]);
    check(NEW, &diff("east", "EAST\neast side"), Applied, &["1 -east +EAST|east side"]);
}

#[test]
fn a_fragment_may_begin_and_end_in_the_middle_of_lines() {
    let fragment = diff("two)\nthr", "two, 2)\nand\nthr");
    check("f(one, two)\nthree\n", &fragment, Proposed, &["0 -f(one, two) +f(one, two, 2)|and"]);
    check("f(one, two, 2)\nand\nthree\n", &fragment, Applied, &["0 -f(one, two) +f(one, two, 2)|and"]);
}

#[test]
fn a_fragment_that_takes_the_line_break_along_joins_lines() {
    check("a\nb\nc\n", &diff("b\n", "B "), Proposed, &["1 -b|c +B c"]);
    check("a\nB c\n", &diff("b\n", "B "), Applied, &["1 -b|c +B c"]);
    check("a\nb\nc\n", &diff("b\n", ""), Proposed, &["1 -b"]);
    check("ab\nc\n", &diff("b\n", ""), Proposed, &["0 -ab|c +ac"]);
}

#[test]
fn lines_with_context_are_found_where_they_stand() {
    let hunk = diff("east\nsouth\nwest\n", "east\nSOUTH\nwest\n");
    check("top\nnorth\neast\nsouth\nwest\nend\n", &hunk, Proposed, &["3 -south +SOUTH"]);
    check("top\nnorth\neast\nSOUTH\nwest\nend\n", &hunk, Applied, &["3 -south +SOUTH"]);
}

#[test]
fn a_last_line_without_newline_is_found_by_whole_lines() {
    check("a\nb\nc", &diff("b\nc\n", "b\nC\n"), Proposed, &["2 -c +C"]);
}

#[test]
fn whole_lines_are_not_found_in_the_middle_of_one() {
    let hunk = diff("car\n", "cart\n");
    check("oscar\ncar\n", &hunk, Proposed, &["1 -car +cart"]);
    check("oscar\ncart\n", &hunk, Applied, &["1 -car +cart"]);
    check("oscar\nx\n", &diff("car", "cart"), Proposed, &["0 -oscar +oscart"]);
}

#[test]
fn a_new_file_is_proposed_while_there_is_none() {
    for file in [new_file("salve\nmunde\n"), diff("", "salve\nmunde\n"), diff("", "salve\nmunde")] {
        check("", &file, Proposed, &["0 +salve|munde"]);
        check("salve\nmunde\n", &file, Applied, &["0 +salve|munde"]);
        check("// mine\nsalve\nmunde\n", &file, Applied, &["1 +salve|munde"]);
        check("salve\nmundi\n", &file, Proposed, &["1 -mundi +munde"]);
    }
}

#[test]
fn an_emptied_file_is_applied_when_it_is_empty() {
    check("a\nb\n", &diff("a\nb\n", ""), Proposed, &["0 -a|b"]);
    check("", &diff("a\nb\n", ""), Applied, &["0 -a|b"]);
}

#[test]
fn a_new_text_around_the_old_one_is_applied_when_no_old_one_is_left_outside() {
    let fragment = diff("beta", "beta two");
    check("alpha\nbeta\n", &fragment, Proposed, &["1 -beta +beta two"]);
    check("alpha\nbeta two\n", &fragment, Applied, &["1 -beta +beta two"]);
    check("beta two\nbeta\n", &fragment, Proposed, &["1 -beta +beta two"]);
}

#[test]
fn an_old_text_around_the_new_one_is_proposed_while_it_is_there() {
    let fragment = diff("beta two", "beta");
    check("alpha\nbeta two\n", &fragment, Proposed, &["1 -beta two +beta"]);
    check("alpha\nbeta\n", &fragment, Applied, &["1 -beta two +beta"]);
}

#[test]
fn a_line_that_is_doubled_is_told_from_one_that_will_be() {
    let hunk = diff("x\n", "x\nx\n");
    check("a\nx\nb\n", &hunk, Proposed, &["2 +x"]);
    check("a\nx\nx\nb\n", &hunk, Applied, &["2 +x"]);
}

#[test]
fn equal_diffs_take_one_place_each_and_then_the_first() {
    let text = "x = 1\ny\nx = 1\n";
    let diffs = [diff("x = 1", "x = 2"), diff("x = 1", "x = 2"), diff("x = 1", "x = 2")];
    let rows: Vec<usize> = place(text, &diffs).iter().map(|placed| placed.hunks[0].row).collect();
    assert_eq!(rows, [0, 2, 0]);
}

#[test]
fn edits_of_others_elsewhere_do_not_set_a_whole_file_adrift() {
    let whole = diff("a1\na2\na3\na4\na5\na6\n", "a1\na2\nnew\na3\na4\nA5\na6\n");
    check("mine\na1\na2\na3\na4\na5\na6\n", &whole, Proposed, &["3 +new", "5 -a5 +A5"]);
    check("mine\na1\na2\nnew\na3\na4\nA5\na6\n", &whole, Applied, &["3 +new", "6 -a5 +A5"]);
}

#[test]
fn a_diff_most_of_whose_lines_are_gone_is_adrift() {
    let hunk = diff("a1\na2\na3\na4\na5\na6\n", "a1\na2\nA3\na4\na5\na6\n");
    check("mine\na2\na3\nmore\n", &hunk, Unmatched, &["2 -a3 +A3"]);
    check("mine\na2\na3\na4\nmore\n", &hunk, Proposed, &["2 -a3 +A3"]);
}

#[test]
fn a_diff_of_nothing_but_line_ends_has_no_hunks() {
    let ends = diff("b\r\nc\r\n", "b\nc\n");
    assert_eq!(show(&place("a\r\nb\r\nc\r\n", &[ends])[0]), (Applied, vec![]));
}

#[test]
fn hunks_of_one_diff_may_stand_far_apart() {
    let mut text: Vec<String> = (0..60).map(|n| format!("row {n}")).collect();
    let joined =
        diff("row 3\nrow 4\nrow 5\nrow 40\nrow 41\nrow 42\n", "row 3\nROW 4\nrow 5\nrow 40\nrow 42\n");
    check(&text.join("\n"), &joined, Proposed, &["4 -row 4 +ROW 4", "41 -row 41"]);
    text[4] = "ROW 4".into();
    text.remove(41);
    check(&text.join("\n"), &joined, Applied, &["4 -row 4 +ROW 4", "41 -row 41"]);
}

#[test]
fn an_edit_of_the_same_lines_sets_a_diff_adrift_at_the_nearest_lines() {
    let hunk = diff("one\ntwo\nthree\n", "one\nTWO\nthree\n");
    check("zero\none\nmine\nthree\n", &hunk, Unmatched, &["2 -two +TWO"]);
    check(
        "zero\nnone\nlet x = compute(a);\n",
        &diff("let x = compute(1);", "let y = 2;"),
        Unmatched,
        &["2 -let x = compute(1); +let y = 2;"],
    );
    check("zero\nnone\n", &diff("something else", "whatever"), Unmatched, &["0 -something else +whatever"]);
    check("", &diff("something else", "whatever"), Unmatched, &["0 -something else +whatever"]);
}

#[test]
fn a_new_text_that_says_nothing_proves_nothing() {
    check("fn a() {\n}\n", &diff("return 1;\n}", "}"), Unmatched, &["0 -return 1;"]);
    check("fn a() {\n}\n", &diff("return 1;", ""), Unmatched, &["0 -return 1;"]);
}

#[test]
fn characters_of_several_bytes_do_not_disturb() {
    let fragment = diff("\u{e4}\u{1f600}", "\u{e5}");
    check("x\ny\u{e4}\u{1f600}z\n", &fragment, Proposed, &["1 -y\u{e4}\u{1f600}z +y\u{e5}z"]);
    check("x\ny\u{e5}z\n", &fragment, Applied, &["1 -y\u{e4}\u{1f600}z +y\u{e5}z"]);
}

#[test]
fn lines_are_counted() {
    let placed = place("a\nb\nc\n", &[diff("a\nb\nc\n", "a\nB\nB2\n")]);
    let hunks: Vec<Hunk> = placed[0].hunks.iter().map(|hunk| (**hunk).clone()).collect();
    assert_eq!(counts(&hunks), (2, 2));
    assert_eq!(counts(&[]), (0, 0));
}

#[test]
fn lines_are_paired_by_likeness() {
    let placed = place(
        "let a = 1;\nlet b = 2;\n",
        &[diff("let a = 1;\nlet b = 2;\n", "// why\nlet a = 10;\nlet b = 20;\n")],
    );
    assert_eq!(pairs(&placed[0].hunks[0]), [(0, 1), (1, 2)]);
}

#[track_caller]
fn check_words(removed: &str, added: &str, gone: &[&str], come: &[&str]) {
    let (removed_parts, added_parts) = words(removed, added);
    let cut = |line: &str, parts: Vec<Range<usize>>| -> Vec<String> {
        parts.into_iter().map(|part| line[part].to_owned()).collect()
    };
    assert_eq!(
        (cut(removed, removed_parts), cut(added, added_parts)),
        (
            gone.iter().map(|part| part.to_string()).collect(),
            come.iter().map(|part| part.to_string()).collect(),
        )
    );
}

#[test]
fn changed_words_are_pointed_at() {
    check_words("let total = a + b;", "let sum = a + b;", &["total"], &["sum"]);
    check_words("foo(a, b)", "foo(a, b, c)", &[], &[", c"]);
    check_words("the quick brown fox", "the slow red fox", &["quick brown"], &["slow red"]);
    check_words("  indent(me)", "    indent(me)", &["  "], &["    "]);
    check_words("gr\u{fc}n ist gut", "gr\u{fc}n ist sch\u{f6}n", &["gut"], &["sch\u{f6}n"]);
}

#[test]
fn lines_with_next_to_nothing_in_common_are_not_pointed_into() {
    check_words("return x;", "while not_done() { step(); }", &[], &[]);
    check_words("", "new", &[], &[]);
    check_words("same", "same", &[], &[]);
}

#[test]
fn a_very_long_line_is_pointed_into_once() {
    let long = |word: &str| {
        format!("{}{word}{}", "x ".repeat(MAX_WORD_DIFF_BYTES), "y ".repeat(MAX_WORD_DIFF_BYTES))
    };
    check_words(&long("one two"), &long("ten two"), &["one"], &["ten"]);
}

/// A text of lines no two of which are alike, some of its lines replaced, and how an agent may tell.
#[derive(Clone, Debug)]
struct Case {
    old: Vec<String>,
    new: Vec<String>,
    at: usize,
    removed: usize,
    added: usize,
    shape: u8,
    crlf: (bool, bool),
    newline: bool,
}

fn numbered(range: Range<usize>) -> Vec<String> {
    range.map(|n| format!("let w{n:04} = v{n:04};")).collect()
}

fn case() -> impl Strategy<Value = Case> {
    (1..30usize, any::<Index>(), any::<Index>(), 0..4usize, 0..5u8, any::<(bool, bool)>(), any::<bool>())
        .prop_map(|(count, at, removed, added, shape, crlf, newline)| {
            let old = numbered(0..count);
            let at = at.index(count + 1);
            let removed = removed.index((count - at + 1).min(4));
            let added = if removed == 0 { added + 1 } else { added };
            let mut new = old.clone();
            new.splice(at..at + removed, numbered(1000..1000 + added));
            Case { old, new, at, removed, added, shape, crlf, newline }
        })
}

impl Case {
    fn text(&self, lines: &[String]) -> String {
        let mut text = lines.join("\n");
        if self.newline {
            text.push('\n');
        }
        if self.crlf.0 { text.replace('\n', "\r\n") } else { text }
    }

    fn diff(&self) -> FileDiff {
        let around = |context: usize, lines: &[String], changed: usize| {
            let end = (self.at + changed + context).min(lines.len());
            lines[self.at.saturating_sub(context)..end].join("\n")
        };
        let (old, new) = match self.shape {
            0 => (self.old.join("\n") + "\n", self.new.join("\n") + "\n"),
            1 => (self.old.join("\n"), self.new.join("\n")),
            2 => (around(3, &self.old, self.removed) + "\n", around(3, &self.new, self.added) + "\n"),
            3 => (around(1, &self.old, self.removed), around(1, &self.new, self.added)),
            _ => {
                // From the middle of a line to the middle of another; where there is no line before or
                // after the changed ones to begin or end in, from its start or to its end.
                let (old, new) = (around(1, &self.old, self.removed), around(1, &self.new, self.added));
                let start = if self.at > 0 { 4 } else { 0 };
                let end = if self.at + self.removed < self.old.len() { 4 } else { 0 };
                (old[start..old.len() - end].to_owned(), new[start..new.len() - end].to_owned())
            }
        };
        let end = |text: String| if self.crlf.1 { text.replace('\n', "\r\n") } else { text };
        FileDiff { path: PathBuf::from("a.txt"), old_text: Some(end(old).into()), new_text: end(new).into() }
    }

    fn hunk(&self) -> Hunk {
        Hunk {
            row: self.at,
            removed: self.old[self.at..self.at + self.removed].to_vec(),
            added: self.new[self.at..self.at + self.added].to_vec(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_of_any_shape_is_found_before_and_after(case in case()) {
        let diff = case.diff();
        prop_assume!(!diff.new_text.trim().is_empty());
        let expected = |state| vec![Placed { hunks: vec![Arc::new(case.hunk())], state }];
        prop_assert_eq!(place(&case.text(&case.old), std::slice::from_ref(&diff)), expected(Proposed));
        prop_assert_eq!(place(&case.text(&case.new), std::slice::from_ref(&diff)), expected(Applied));
    }

    #[test]
    fn a_whole_file_is_found_while_others_edit_elsewhere(mut case in case(), above in 0..4usize, below in 0..4usize) {
        case.shape %= 2;
        case.at += 2;
        for lines in [&mut case.old, &mut case.new] {
            *lines = [numbered(4000..4002), std::mem::take(lines), numbered(5000..5002)].concat();
        }
        let theirs = |lines: &[String]| -> Vec<String> {
            [numbered(2000..2000 + above), lines[usize::from(above == 0)..].to_vec(), numbered(3000..3000 + below)].concat()
        };
        let mut hunk = case.hunk();
        hunk.row = hunk.row + above - usize::from(above == 0);
        let expected = |state| vec![Placed { hunks: vec![Arc::new(hunk.clone())], state }];
        prop_assert_eq!(place(&case.text(&theirs(&case.old)), &[case.diff()]), expected(Proposed));
        prop_assert_eq!(place(&case.text(&theirs(&case.new)), &[case.diff()]), expected(Applied));
    }

    /// With lines that repeat, the place may be another one, but what it says is always true.
    #[test]
    fn hunks_agree_with_the_text(
        text in prop::collection::vec("[ab]{0,2}", 1..12),
        old in prop::collection::vec("[ab]{0,2}", 0..4),
        new in prop::collection::vec("[ab]{0,2}", 0..4),
        ends in any::<(bool, bool)>(),
    ) {
        let join = |lines: &[String], end: bool| lines.join("\n") + if end { "\n" } else { "" };
        let diff = diff(&join(&old, ends.0), &join(&new, ends.1));
        for placed in place(&join(&text, true), &[diff]) {
            let mut end = 0;
            for hunk in &placed.hunks {
                let present = match placed.state {
                    Proposed => &hunk.removed,
                    Applied => &hunk.added,
                    Unmatched => &Vec::new(),
                };
                let rows = hunk.row..hunk.row + present.len();
                prop_assert!(hunk.row >= end && rows.end <= text.len(), "{placed:?}");
                prop_assert!(present.is_empty() || text[rows.clone()] == present[..], "{placed:?}");
                prop_assert!(placed.state == Unmatched || hunk.removed != hunk.added, "{placed:?}");
                end = rows.end;
            }
        }
    }

    #[test]
    fn changed_words_are_within_their_lines(removed in "[ab_ (\u{e4}]{0,12}", added in "\\PC{0,12}") {
        for (a, b) in [(&removed, &added), (&removed, &removed), (&added, &removed)] {
            let (gone, come) = words(a, b);
            for (line, parts) in [(a, gone), (b, come)] {
                let mut end = 0;
                for part in parts {
                    prop_assert!(part.start >= end && line.get(part.clone()).is_some_and(|part| !part.is_empty()));
                    end = part.end;
                }
            }
        }
    }

    /// What is left of both lines without their changed parts is the same, white space aside.
    #[test]
    fn only_changed_words_differ(removed in "([ab]{1,2} ){0,8}", added in "([ab]{1,2} ){0,8}") {
        let (gone, come) = words(&removed, &added);
        if !(gone.is_empty() && come.is_empty()) {
            let rest = |line: &str, parts: &[Range<usize>]| -> String {
                let in_part = |at: usize| parts.iter().any(|part| part.contains(&at));
                line.char_indices().filter(|(at, c)| !in_part(*at) && *c != ' ').map(|(_, c)| c).collect()
            };
            prop_assert_eq!(rest(&removed, &gone), rest(&added, &come));
        }
    }
}

/// Prints what the dear cases cost: `cargo test --lib core::diff -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    let old: Vec<String> = (0..100_000).map(|n| format!("    line {n}")).collect();
    let mut new = old.clone();
    new.iter_mut().skip(100).step_by(200).for_each(|line| line.push('!'));
    let whole = diff(&old.join("\n"), &new.join("\n"));
    let time = |name: &str, text: &[String], diffs: &[FileDiff]| {
        let text = text.join("\n");
        let start = std::time::Instant::now();
        let placed = place(&text, diffs);
        let hunks: usize = placed.iter().map(|placed| placed.hunks.len()).sum();
        println!("{name}: {hunks} hunks, {:?}, in {:?}", placed[0].state, start.elapsed());
    };
    time("whole file, proposed", &old, std::slice::from_ref(&whole));
    time("whole file, applied", &new, std::slice::from_ref(&whole));
    time("whole file, edited by others", &old[1..], std::slice::from_ref(&whole));
    let other: Vec<String> = (0..100_000).map(|n| format!("    other {n}")).collect();
    time("whole file, nothing in common", &other, std::slice::from_ref(&whole));
    let parts: Vec<FileDiff> = (0..100)
        .map(|n| diff(&old[n * 900..n * 900 + 9].join("\n"), &new[n * 900..n * 900 + 9].join("\n")))
        .collect();
    time("100 parts, proposed", &old, &parts);
    time("100 parts, adrift", &other, &parts);
}
