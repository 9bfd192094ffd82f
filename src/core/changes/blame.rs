//! Who wrote a line, according to the checkpoints of its file: the file's texts before and after each
//! change by an agent, no matter who made the changes between them. Storing the checkpoints is left to
//! `acp::store::checkpoints`.

use std::collections::HashMap;
use std::ops::Deref;

use crate::core::changes::file_review::FileReview;
use crate::core::ids::OriginId;
use crate::core::store::checkpoint::{Author, Head, Held, Kind, in_buffer, unmarked};

/// A recorded change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub head: Head,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What the tool call was about.
    pub call: Option<String>,
    pub before: Held,
    pub after: Held,
}

/// Who wrote a row, from 0, of a file's present text: lines joined by `\n`, without a last line break.
/// The steps come in the order in which they came about.
pub fn author(steps: &[Step], now: &str, row: usize) -> Option<Author> {
    let returns = steps.iter().any(|step| step.head.kind == Kind::Restore);
    // Who wrote the lines of the texts that there were, for those that a restore brings back.
    let mut known: HashMap<&str, FileReview> = HashMap::new();
    let mut file: Option<FileReview> = None;
    for (step, origin) in steps.iter().zip(0..) {
        let (before, after) = (plain(&step.before), plain(&step.after));
        let file = file.get_or_insert_with(|| FileReview::new(before.as_deref()));
        if let Some(before) = &before {
            file.user_wrote(before);
        }
        let raw = text(&step.after);
        match step.head.kind {
            Kind::Restore => match raw.and_then(|raw| known.get(raw)) {
                Some(then) => *file = then.clone(),
                None => file.user_wrote(after.as_deref().unwrap_or_default()),
            },
            Kind::Turn => {
                if let (Some(raw), Some(before), true) = (text(&step.before), &before, returns) {
                    let then = known.entry(raw).or_insert_with(|| file.clone());
                    then.user_wrote(before);
                }
                // What is not known, or no text, is nobody's.
                if raw.is_some() || step.after == Held::Absent {
                    file.agent_wrote(before.as_deref(), after.as_deref(), OriginId(origin));
                }
                if let (Some(raw), true) = (raw, returns) {
                    known.insert(raw, file.clone());
                }
            }
        }
    }
    let mut file = file?;
    file.user_wrote(now);
    let (OriginId(origin), edited) = file.author(row)?;
    let step = steps.get(origin as usize)?;
    Some(Author { head: step.head.clone(), at: step.at, call: step.call.clone(), edited })
}

fn text(held: &Held) -> Option<&str> {
    held.as_text().map(Deref::deref)
}

fn plain(held: &Held) -> Option<String> {
    let text = unmarked(text(held)?);
    let breaks = text.matches('\n').count();
    Some(in_buffer(text, breaks > 0 && text.matches("\r\n").count() == breaks).0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step(kind: Kind, number: u64, before: Option<&str>, after: Option<&str>) -> Step {
        let head = Head {
            agent: "Fake".into(),
            acp_id: "s1".into(),
            title: None,
            cwd: "/src".into(),
            prompt: format!("prompt {number}"),
            kind,
        };
        let held = |text: Option<&str>| text.map_or(Held::Absent, Held::text);
        Step { head, at: number, call: None, before: held(before), after: held(after) }
    }

    fn turn(number: u64, before: &str, after: &str) -> Step {
        step(Kind::Turn, number, Some(before), Some(after))
    }

    /// For each line of the text the turn that wrote it; `'` where it was changed since.
    fn authors(steps: &[Step], now: &str) -> String {
        let of = |row| match author(steps, now, row) {
            None => "-".to_owned(),
            Some(author) => format!("{}{}", author.at, if author.edited { "'" } else { "" }),
        };
        (0..now.split('\n').count()).map(of).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_line_is_told_by_the_turn_that_wrote_it() {
        let steps = [turn(1, "a\nb\nc\n", "a\nB\nc\n"), turn(2, "a\nB\nc\n", "a\nB\nc\nd\n")];
        assert_eq!(authors(&steps, "a\nB\nc\nd"), "- 1 - 2");
        assert_eq!(authors(&steps, "mine\na\nB!\nc\nd"), "- - 1' - 2");
        assert_eq!(authors(&[], "a"), "-");
        assert_eq!(author(&steps, "a", 7), None);
    }

    #[test]
    fn what_the_user_wrote_between_two_turns_is_nobodys() {
        let steps = [turn(1, "a\n", "a\nb\n"), turn(2, "mine\na\nb\n", "mine\na\nb\nc\n")];
        assert_eq!(authors(&steps, "mine\na\nb\nc"), "- - 1 2");
    }

    #[test]
    fn what_a_restore_brings_back_is_whose_it_was() {
        let steps = [
            turn(1, "a\n", "a\nb\n"),
            turn(2, "a\nb\n", "A\nc\n"),
            step(Kind::Restore, 3, Some("A\nc\n"), Some("a\nb\n")),
        ];
        assert_eq!(authors(&steps, "a\nb"), "- 1");
    }

    #[test]
    fn files_that_were_made_removed_or_are_dos_are_told_as_buffers_have_them() {
        let made = step(Kind::Turn, 1, None, Some("\u{feff}a\r\nb\r\n"));
        assert_eq!(authors(std::slice::from_ref(&made), "a\nb"), "1 1");
        let removed = step(Kind::Turn, 2, Some("\u{feff}a\r\nb\r\n"), None);
        let again = step(Kind::Turn, 3, None, Some("a\n"));
        assert_eq!(authors(&[made, removed, again], "a"), "3");
    }

    #[test]
    fn a_text_that_is_not_known_is_nobodys() {
        let mut unknown = turn(1, "a\n", "b\n");
        (unknown.before, unknown.after) = (Held::Unknown, Held::Unknown);
        assert_eq!(authors(&[unknown.clone(), turn(2, "x\ny\n", "x\nz\n")], "x\nz"), "- 2");
        assert_eq!(authors(&[unknown], "x"), "-");
    }

    proptest! {
        /// A line is an agent's only if no text before its turn had it at all.
        #[test]
        fn only_who_wrote_a_line_is_named(texts in prop::collection::vec("[abc]{0,4}", 2..8)) {
            let lines = |text: &str, turn: usize| -> String {
                text.chars().map(|letter| format!("{letter}{turn}\n")).collect()
            };
            let mut steps = Vec::new();
            let mut now = String::new();
            for (number, text) in texts.iter().enumerate() {
                let after = format!("{now}{}", lines(text, number));
                steps.push(turn(number as u64, &now, &after));
                now = after;
            }
            let now = now.trim_end_matches('\n');
            for (row, line) in now.split('\n').enumerate().filter(|(_, line)| !line.is_empty()) {
                let author = author(&steps, now, row).expect("an agent wrote all of it");
                prop_assert_eq!(author.at.to_string(), &line[1..]);
            }
        }
    }
}
