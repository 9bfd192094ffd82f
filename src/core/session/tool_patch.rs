//! Patches in a tool's raw input, read as the fragments that they replace: unified diffs, the form that begins with
//! `*** Begin Patch`, and blocks of what to search and what to replace it by. A line that fits none ends a hunk.

use std::path::{Path, PathBuf};

use crate::core::changes::hunk_header;
use crate::core::message::FileDiff;

const BEGIN: &str = "*** Begin Patch";

/// What begins a block that says what to search, ends that, and ends what replaces it.
const SEARCH: [&str; 2] = ["<<<<<<< SEARCH", "------- SEARCH"];
const MIDDLE: &str = "=======";
const REPLACE: [&str; 2] = [">>>>>>> REPLACE", "+++++++ REPLACE"];

pub fn is_patch(text: &str) -> bool {
    let is_hunk = |line: &str| line.starts_with("@@") || begins_block(line);
    text.trim_start().starts_with(BEGIN) || text.lines().any(is_hunk)
}

fn begins_block(line: &str) -> bool {
    SEARCH.iter().any(|mark| line.starts_with(mark))
}

/// The fragments of a patch. `path` is the file where it is known beforehand.
pub fn read(text: &str, path: Option<&Path>) -> Vec<FileDiff> {
    if let Some(path) = path.filter(|_| text.lines().any(begins_block)) {
        return blocks(text, path);
    }
    let mut reading = Reading { path: path.map(Path::to_owned), fixed: path.is_some(), ..Reading::default() };
    text.split('\n').for_each(|line| reading.line(line));
    reading.flush();
    reading.found
}

/// The blocks that are whole: one may still be on its way.
fn blocks(text: &str, path: &Path) -> Vec<FileDiff> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while lines.by_ref().any(begins_block) {
        let (mut old, mut new, mut is_middle, mut is_whole) = (String::new(), String::new(), false, false);
        for line in lines.by_ref() {
            match line {
                _ if is_middle && REPLACE.iter().any(|mark| line.starts_with(mark)) => {
                    is_whole = true;
                    break;
                }
                MIDDLE if !is_middle => is_middle = true,
                // Where the file has it, and where what is searched begins.
                _ if old.is_empty() && !is_middle && is_place(line) => {}
                _ => {
                    let side = if is_middle { &mut new } else { &mut old };
                    side.push_str(line);
                    side.push('\n');
                }
            }
        }
        if is_whole && old != new {
            let old_text = (!old.is_empty()).then(|| old.into());
            found.push(FileDiff { path: path.to_owned(), old_text, new_text: new.into() });
        }
    }
    found
}

fn is_place(line: &str) -> bool {
    line == "-------" || line.starts_with(":start_line:") || line.starts_with(":end_line:")
}

#[derive(Default)]
struct Reading {
    path: Option<PathBuf>,
    /// Its name is known from elsewhere, and is better than what a header makes of it.
    fixed: bool,
    open: bool,
    /// Lines of the present hunk that are still to come, where its header says how many.
    left: Option<(usize, usize)>,
    created: bool,
    old: String,
    new: String,
    found: Vec<FileDiff>,
}

impl Reading {
    fn line(&mut self, line: &str) {
        let in_counted = self.left.is_some_and(|left| left != (0, 0));
        if self.open && (in_counted || self.left.is_none()) && self.body(line) {
            return;
        }
        if line.starts_with("\\ ") {
            // The line before has no end.
            let last = if self.new.is_empty() { &mut self.old } else { &mut self.new };
            let _ = last.pop();
        } else if let Some(rest) = line.strip_prefix("@@") {
            self.flush();
            (self.open, self.left) = (true, counts(rest));
            self.created = rest.trim_start().starts_with("-0,0 ");
        } else if let Some(name) = line.strip_prefix("+++ ").or(line.strip_prefix("--- ")) {
            self.flush();
            self.header(name.split('\t').next().unwrap_or(name));
        } else if let Some((verb, name)) = line.strip_prefix("*** ").and_then(|rest| rest.split_once(": ")) {
            self.flush();
            if matches!(verb, "Update File" | "Add File" | "Delete File") {
                self.path = Some(PathBuf::from(name.trim()));
                (self.created, self.open, self.left) = (verb == "Add File", verb == "Add File", None);
            }
        }
    }

    /// Takes a line of a hunk.
    fn body(&mut self, line: &str) -> bool {
        let counted = self.left.is_some();
        let (sign, text) = match line.split_at_checked(1) {
            Some((sign @ ("-" | "+" | " "), text)) => (sign, text),
            // Some programs take the blank of an empty line away.
            None if counted => (" ", ""),
            _ => return false,
        };
        if sign != "+" {
            self.old.push_str(text);
            self.old.push('\n');
        }
        if sign != "-" {
            self.new.push_str(text);
            self.new.push('\n');
        }
        if let Some((old, new)) = &mut self.left {
            *old = old.saturating_sub(usize::from(sign != "+"));
            *new = new.saturating_sub(usize::from(sign != "-"));
        }
        true
    }

    fn header(&mut self, name: &str) {
        let name = name.trim();
        if self.fixed || name == "/dev/null" {
            return;
        }
        let bare = name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name);
        self.path = Some(PathBuf::from(bare));
    }

    fn flush(&mut self) {
        let (old, new) = (std::mem::take(&mut self.old), std::mem::take(&mut self.new));
        let created = std::mem::take(&mut self.created);
        self.open = false;
        if let Some(path) = &self.path
            && old != new
        {
            let old_text = (!created).then(|| old.into());
            self.found.push(FileDiff { path: path.clone(), old_text, new_text: new.into() });
        }
    }
}

/// How many lines of the old and of the new text follow ` -12,3 +12,4 @@`.
fn counts(rest: &str) -> Option<(usize, usize)> {
    hunk_header::counts(rest.trim_start().strip_prefix('-')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragments(text: &str, path: Option<&str>) -> Vec<(String, Option<String>, String)> {
        let found = read(text, path.map(Path::new)).into_iter();
        let text = |diff: FileDiff| {
            let old = diff.old_text.map(|text| text.to_string());
            (diff.path.display().to_string(), old, diff.new_text.to_string())
        };
        found.map(text).collect()
    }

    fn fragment(path: &str, old: Option<&str>, new: &str) -> (String, Option<String>, String) {
        (path.into(), old.map(str::to_owned), new.into())
    }

    #[test]
    fn a_unified_diff_is_its_hunks() {
        let text = "Index: a.txt\n====\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ fn x\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-z\n+y\n+x\n";
        assert_eq!(
            fragments(text, None),
            [fragment("a.txt", Some("a\nb\nc\n"), "a\nB\nc\n"), fragment("a.txt", Some("z\n"), "y\nx\n")]
        );
        assert_eq!(fragments(text, Some("/p/q"))[0].0, "/p/q");
        // A line that looks like a header is text where the hunk says that lines are to come.
        let text = "@@ -1,2 +1,1 @@\n-a\n--- b\n+c\n";
        assert_eq!(fragments(text, Some("f")), [fragment("f", Some("a\n-- b\n"), "c\n")]);
    }

    #[test]
    fn a_new_file_has_no_old_text_and_a_last_line_may_have_no_end() {
        let text = "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n";
        assert_eq!(fragments(text, None), [fragment("new", None, "a")]);
    }

    #[test]
    fn the_other_form_of_patch_is_read_too() {
        let text = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn main\n a\n-b\n+c\n*** Add File: n.txt\n+one\n+two\n*** End Patch\n";
        assert!(is_patch(text));
        assert_eq!(
            fragments(text, None),
            [fragment("src/a.rs", Some("a\nb\n"), "a\nc\n"), fragment("n.txt", None, "one\ntwo\n")]
        );
    }

    #[test]
    fn blocks_of_what_to_search_and_to_replace_are_read_as_far_as_they_have_come() {
        let text = "<<<<<<< SEARCH\na\nb\n=======\nA\nb\n>>>>>>> REPLACE\n\n------- SEARCH\nz\n=======\n+++++++ REPLACE\n";
        assert!(is_patch(text));
        assert_eq!(
            fragments(text, Some("f")),
            [fragment("f", Some("a\nb\n"), "A\nb\n"), fragment("f", Some("z\n"), "")]
        );
        assert_eq!(fragments(text, None), []);
        let placed = "<<<<<<< SEARCH\n:start_line:5\n-------\na\n=======\nA\n=======\n>>>>>>> REPLACE\n";
        assert_eq!(fragments(placed, Some("f")), [fragment("f", Some("a\n"), "A\n=======\n")]);
        for end in [20, 30, 40] {
            assert_eq!(fragments(&text[..end], Some("f")), [], "{end}");
        }
    }

    #[test]
    fn what_is_no_patch_is_nothing() {
        assert!(!is_patch("a\n- list\n+ more"));
        for text in ["", "@@", "@@ -x +y @@\n", "+++ b\n--- a\n", "@@ -1,9 +1,9 @@\nend", "*** Add File: a"] {
            assert_eq!(fragments(text, None), [], "{text:?}");
        }
    }
}
