//! What the user has to say about lines of files, of an agent's changes above all, and how that is put to an agent or
//! shared. Where the lines stand by now is left to [`Anchor`], showing comments to the editor's side.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::changes::anchor::Anchor;
use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_page::sides;
use crate::core::store::stored_path;

/// What the user has to say about lines, or about a change of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// When it was begun, in milliseconds since 1970; no two have the same.
    pub at: u64,
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// The lines. Those of a change are its added ones, and there are removed ones beside them.
    pub anchor: Anchor,
    pub is_about_change: bool,
    /// Whether the file had any lines before the change, and has any since.
    #[serde(default = "with_lines")]
    pub there: (bool, bool),
    pub text: String,
    /// The user is not done with it: it is not sent.
    pub is_draft: bool,
    /// Its lines are not in the file any more.
    #[serde(skip)]
    pub is_lost: bool,
}

fn with_lines() -> (bool, bool) {
    (true, true)
}

impl Comment {
    /// The rows that it is about, counted from 0; of lines that are gone none, at the row where they were.
    pub fn rows(&self) -> Range<usize> {
        let hunk = &self.anchor.hunk;
        hunk.row..hunk.row + hunk.added.len()
    }

    /// As `12` or `12-14`, counted from 1.
    pub fn shown_rows(&self) -> String {
        let rows = self.rows();
        match rows.len() {
            0 | 1 => (rows.start + 1).to_string(),
            _ => format!("{}-{}", rows.start + 1, rows.end),
        }
    }

    /// Whether it is about this change of a file, or about lines of it.
    pub fn is_on(&self, path: &Path, hunk: &Hunk) -> bool {
        let is_same = || self.anchor.hunk.has_lines_of(hunk);
        let is_in = || self.is_at(&(hunk.row..hunk.row + hunk.added.len()));
        self.path == path && if self.is_about_change { is_same() } else { is_in() }
    }

    /// Whether it is about lines of one of these rows.
    pub fn is_at(&self, rows: &Range<usize>) -> bool {
        let own = self.rows();
        own.start < rows.end && rows.start < own.end.max(own.start + 1)
    }

    /// Looks for its lines in a text, and says whether they are there.
    pub fn move_to<S: AsRef<str>>(&mut self, lines: &[S]) -> bool {
        let row = self.anchor.find(lines);
        self.anchor.hunk.row = row.unwrap_or(self.anchor.hunk.row);
        self.is_lost = row.is_none();
        row.is_some()
    }

    /// Its first line, and what else is to be known of it, for a list.
    pub fn headline(&self) -> String {
        let mut lines = self.text.lines();
        let first = lines.next().unwrap_or_default();
        let more = if lines.next().is_some() { " \u{2026}" } else { "" };
        let draft = if self.is_draft { "(draft) " } else { "" };
        let lost = if self.is_lost { " (its lines have changed since)" } else { "" };
        format!("{draft}{first}{more}{lost}")
    }
}

/// Comments as a prompt; files are named from `root`.
pub fn as_prompt(comments: &[&Comment], root: &Path) -> String {
    let about_changes = comments.iter().all(|comment| comment.is_about_change);
    let head = if about_changes { "My comments on your changes:" } else { "My comments:" };
    let each = comments.iter().map(|comment| {
        let (name, rows) = (name(comment, root), comment.shown_rows());
        format!("\n\n{name}:{rows}\n{}\n{}", quote(comment), comment.text)
    });
    format!("{head}{}", each.collect::<String>())
}

/// Comments as Markdown, for people.
pub fn as_markdown(comments: &[&Comment], root: &Path) -> String {
    let each = comments.iter().map(|comment| {
        let (name, rows) = (name(comment, root), comment.shown_rows());
        format!("\n\n## {name}:{rows}\n\n{}\n\n{}", quote(comment), comment.text)
    });
    format!("# Comments{}\n", each.collect::<String>())
}

fn name<'a>(comment: &'a Comment, root: &Path) -> std::path::Display<'a> {
    comment.path.strip_prefix(root).unwrap_or(&comment.path).display()
}

/// The lines that it is about, in a fence.
fn quote(comment: &Comment) -> String {
    let (removed, added) = sides(&comment.anchor.hunk, comment.there);
    let (sign, language) = if comment.is_about_change { ("+", "diff") } else { ("", "") };
    let removed = removed.iter().filter(|_| comment.is_about_change);
    let lines = removed.map(|line| format!("-{line}\n"));
    let lines: String = lines.chain(added.iter().map(|line| format!("{sign}{line}\n"))).collect();
    let fence = "`".repeat(longest_run(&lines, '`').max(2) + 1);
    format!("{fence}{language}\n{lines}{fence}")
}

fn longest_run(text: &str, char: char) -> usize {
    text.split(|other| other != char).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(path: &str, removed: &[&str], added: &[&str]) -> Comment {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let hunk = Hunk { row: 4, removed: lines(removed), added: lines(added) };
        let anchor = Anchor::new(hunk, &["", "", "", ""].map(str::to_owned));
        Comment {
            at: 0,
            path: path.into(),
            anchor,
            is_about_change: true,
            there: (true, true),
            text: "why?".into(),
            is_draft: false,
            is_lost: false,
        }
    }

    fn prompt(comments: &[Comment]) -> String {
        as_prompt(&comments.iter().collect::<Vec<_>>(), Path::new("/p"))
    }

    #[test]
    fn a_comment_on_a_new_file_quotes_no_line_that_never_was() {
        let empty_line = comment("/p/a.rs", &[""], &["new"]);
        assert!(prompt(std::slice::from_ref(&empty_line)).contains("```diff\n-\n+new\n```"));
        let new = Comment { there: (false, true), ..empty_line };
        assert!(prompt(std::slice::from_ref(&new)).contains("```diff\n+new\n```"), "{}", prompt(&[new]));
        let gone = Comment { there: (true, false), ..comment("/p/a.rs", &["old"], &[""]) };
        assert!(prompt(std::slice::from_ref(&gone)).contains("```diff\n-old\n```"), "{}", prompt(&[gone]));
    }

    #[test]
    fn a_comment_that_was_stored_without_it_is_about_a_file_with_lines() {
        let mut stored = serde_json::to_value(comment("/p/a.rs", &["old"], &["new"])).expect("JSON");
        stored.as_object_mut().expect("an object").remove("there");
        let read: Comment = serde_json::from_value(stored).expect("a comment");
        assert_eq!(read.there, (true, true));
    }

    #[test]
    fn a_comment_quotes_its_hunk_and_names_its_lines() {
        assert_eq!(
            prompt(&[comment("/p/a.rs", &["old"], &["new", "newer"])]),
            "My comments on your changes:\n\na.rs:5-6\n```diff\n-old\n+new\n+newer\n```\nwhy?"
        );
    }

    #[test]
    fn a_comment_on_lines_quotes_them_as_they_are() {
        let mut comment = comment("/p/a.rs", &[], &["let a = 1;"]);
        comment.is_about_change = false;
        assert_eq!(prompt(&[comment.clone()]), "My comments:\n\na.rs:5\n```\nlet a = 1;\n```\nwhy?");
        assert_eq!(
            as_markdown(&[&comment], Path::new("/p")),
            "# Comments\n\n## a.rs:5\n\n```\nlet a = 1;\n```\n\nwhy?\n"
        );
    }

    #[test]
    fn one_line_is_no_range_and_neither_is_what_was_only_removed() {
        assert!(prompt(&[comment("/p/a", &[], &["new"])]).contains("\n\na:5\n"));
        assert!(prompt(&[comment("/p/a", &["x", "y"], &[])]).contains("\n\na:5\n"));
    }

    #[test]
    fn a_file_elsewhere_keeps_its_whole_name() {
        assert!(prompt(&[comment("/q/a", &[], &["new"])]).contains("\n\n/q/a:5\n"));
    }

    #[test]
    fn a_fence_in_the_code_does_not_end_the_quote() {
        let prompt = prompt(&[comment("/p/a", &[], &["````"])]);
        assert!(prompt.contains("\n`````diff\n+````\n`````\n"), "{prompt}");
    }

    #[test]
    fn comments_follow_each_other_in_their_order() {
        let prompt = prompt(&[comment("/p/b", &[], &["1"]), comment("/p/a", &[], &["2"])]);
        assert!(prompt.find("b:5") < prompt.find("a:5"));
    }

    #[test]
    fn a_comment_moves_along_with_its_lines() {
        let mut comment = comment("/p/a", &[], &["new"]);
        assert!(comment.move_to(&["x", "", "", "", "new"]));
        assert_eq!(comment.rows(), 4..5);
        assert!(comment.is_at(&(4..5)) && !comment.is_at(&(5..9)));
        comment.text = "why?\nreally".into();
        assert!(!comment.move_to(&["x"]));
        assert_eq!(comment.headline(), "why? \u{2026} (its lines have changed since)");
        assert_eq!(comment.shown_rows(), "5");
    }
}
