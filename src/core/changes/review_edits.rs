//! A list of hunks that the user has edited as text: finds which added lines have changed. Everything
//! else in the list must be unchanged, or the edit would be ambiguous. How the list is displayed and how
//! the edits are applied is left to the editor's side.

/// What each added line begins with in the list, and each removed one.
pub const ADDED: &str = "  + ";
pub const REMOVED: &str = "  - ";

/// A part of the list, from the top down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A line that only tells something.
    Fixed(String),
    /// The added lines of a hunk, by its number; there may be none.
    Added(usize, Vec<String>),
}

/// The hunks whose added lines were changed, with what these are now. The error names the line.
pub fn read(parts: &[Part], lines: &[String]) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut edits = Vec::new();
    let mut at = 0;
    for part in parts {
        match part {
            Part::Fixed(expected) => {
                match lines.get(at) {
                    Some(line) if line == expected => {}
                    Some(_) if lines.get(at + 1) == Some(expected) => return Err(of_no_change(at)),
                    Some(_) if expected.starts_with(REMOVED) => {
                        return Err(format!("what is removed can't be changed (line {})", at + 1));
                    }
                    Some(_) => {
                        return Err(format!("only lines with + can be changed (line {})", at + 1));
                    }
                    None => return Err("lines are missing at the end".to_owned()),
                }
                at += 1;
            }
            Part::Added(hunk, before) => {
                let now: Vec<String> = lines[at..].iter().map_while(|line| added(line)).collect();
                at += now.len();
                if now != *before {
                    edits.push((*hunk, now));
                }
            }
        }
    }
    match lines[at..].iter().position(|line| !line.trim().is_empty()) {
        None => Ok(edits),
        Some(more) => Err(of_no_change(at + more)),
    }
}

fn of_no_change(at: usize) -> String {
    format!("line {} belongs to no change: it has no +", at + 1)
}

fn added(line: &str) -> Option<String> {
    // A blank at the end of an empty line is easily lost.
    let rest = line.strip_prefix(ADDED).or_else(|| (line == ADDED.trim_end()).then_some(""));
    rest.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list() -> Vec<Part> {
        vec![
            Part::Fixed("Review: 1 file".into()),
            Part::Fixed("a.txt  2 hunks".into()),
            Part::Fixed("  @@ 2".into()),
            Part::Fixed("  - two".into()),
            Part::Added(0, vec!["TWO".into()]),
            Part::Fixed("  @@ 6".into()),
            Part::Fixed("  - six".into()),
            Part::Added(1, vec![]),
        ]
    }

    fn lines(parts: &[Part]) -> Vec<String> {
        let one = |part: &Part| match part {
            Part::Fixed(line) => vec![line.clone()],
            Part::Added(_, lines) => lines.iter().map(|line| format!("{ADDED}{line}")).collect(),
        };
        parts.iter().flat_map(one).collect()
    }

    fn edited(edit: impl Fn(&mut Vec<String>)) -> Result<Vec<(usize, Vec<String>)>, String> {
        let mut lines = lines(&list());
        edit(&mut lines);
        read(&list(), &lines)
    }

    #[test]
    fn added_lines_may_be_changed_taken_away_and_made() {
        assert_eq!(edited(|_| {}), Ok(vec![]));
        assert_eq!(edited(|lines| lines[4] = "  + 2".into()), Ok(vec![(0, vec!["2".into()])]));
        assert_eq!(edited(|lines| drop(lines.remove(4))), Ok(vec![(0, vec![])]));
        let more = |lines: &mut Vec<String>| lines.extend(["  +".into(), "  +  x".into()]);
        assert_eq!(edited(more), Ok(vec![(1, vec![String::new(), " x".into()])]));
    }

    #[test]
    fn anything_else_is_refused_with_the_line() {
        let refused = |edit: fn(&mut Vec<String>)| edited(edit).expect_err("it can't be read");
        assert_eq!(refused(|lines| lines[3] = "  - 2".into()), "what is removed can't be changed (line 4)");
        assert_eq!(refused(|lines| lines[2] = "  @@ 3".into()), "only lines with + can be changed (line 3)");
        assert_eq!(refused(|lines| lines.push("six".into())), "line 8 belongs to no change: it has no +");
        assert_eq!(
            refused(|lines| lines.insert(3, "one".into())),
            "line 4 belongs to no change: it has no +"
        );
        assert_eq!(refused(|lines| lines.truncate(5)), "lines are missing at the end");
    }

    proptest! {
        #[test]
        fn whatever_is_written_into_the_hunks_is_read(
            hunks in prop::collection::vec(
                (prop::collection::vec("[a+ -]{0,4}", 0..3), prop::collection::vec("[b+ -]{0,4}", 0..3)), 0..4,
            )
        ) {
            type Hunk = (Vec<String>, Vec<String>);
            let list = |side: fn(&Hunk) -> &Vec<String>| -> Vec<Part> {
                let part = |(at, hunk)| [Part::Fixed(format!("  @@ {at}")), Part::Added(at, side(hunk).clone())];
                hunks.iter().enumerate().flat_map(part).collect()
            };
            let (before, after) = (list(|hunk| &hunk.0), list(|hunk| &hunk.1));
            let changed = hunks.iter().enumerate().filter(|(_, (old, new))| old != new);
            let expected: Vec<_> = changed.map(|(at, (_, new))| (at, new.clone())).collect();
            prop_assert_eq!(read(&before, &lines(&after)), Ok(expected));
        }
    }
}
