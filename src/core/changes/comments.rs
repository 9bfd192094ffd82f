//! What the user has to say of hunks, and how that is put to the agent whose changes they are.

use std::path::{Path, PathBuf};

use crate::core::changes::diff::Hunk;

/// What the user has to say of a hunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub path: PathBuf,
    pub hunk: Hunk,
    pub text: String,
}

/// Comments as a prompt; files are named from `root`.
pub fn as_prompt(comments: &[Comment], root: &Path) -> String {
    let mut prompt = "My comments on your changes:".to_owned();
    for Comment { path, hunk, text } in comments {
        let name = path.strip_prefix(root).unwrap_or(path).display();
        let last = hunk.row + hunk.added.len().max(1);
        let rows = if last == hunk.row + 1 { format!("{last}") } else { format!("{}-{last}", hunk.row + 1) };
        let lines = hunk.removed.iter().map(|line| format!("-{line}\n"));
        let lines: String = lines.chain(hunk.added.iter().map(|line| format!("+{line}\n"))).collect();
        let fence = "`".repeat(longest_run(&lines, '`').max(2) + 1);
        prompt.push_str(&format!("\n\n{name}:{rows}\n{fence}diff\n{lines}{fence}\n{text}"));
    }
    prompt
}

fn longest_run(text: &str, char: char) -> usize {
    text.split(|other| other != char).map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comment(path: &str, removed: &[&str], added: &[&str]) -> Comment {
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let hunk = Hunk { row: 4, removed: lines(removed), added: lines(added) };
        Comment { path: path.into(), hunk, text: "why?".into() }
    }

    #[test]
    fn a_comment_quotes_its_hunk_and_names_its_lines() {
        let prompt = as_prompt(&[comment("/p/a.rs", &["old"], &["new", "newer"])], Path::new("/p"));
        assert_eq!(
            prompt,
            "My comments on your changes:\n\na.rs:5-6\n```diff\n-old\n+new\n+newer\n```\nwhy?"
        );
    }

    #[test]
    fn one_line_is_no_range_and_neither_is_what_was_only_removed() {
        let root = Path::new("/p");
        assert!(as_prompt(&[comment("/p/a", &[], &["new"])], root).contains("\n\na:5\n"));
        assert!(as_prompt(&[comment("/p/a", &["x", "y"], &[])], root).contains("\n\na:5\n"));
    }

    #[test]
    fn a_file_elsewhere_keeps_its_whole_name() {
        assert!(as_prompt(&[comment("/q/a", &[], &["new"])], Path::new("/p")).contains("\n\n/q/a:5\n"));
    }

    #[test]
    fn a_fence_in_the_code_does_not_end_the_quote() {
        let prompt = as_prompt(&[comment("/p/a", &[], &["````"])], Path::new("/p"));
        assert!(prompt.contains("\n`````diff\n+````\n`````\n"), "{prompt}");
    }

    #[test]
    fn comments_follow_each_other_in_their_order() {
        let all = [comment("/p/b", &[], &["1"]), comment("/p/a", &[], &["2"])];
        let prompt = as_prompt(&all, Path::new("/p"));
        assert!(prompt.find("b:5") < prompt.find("a:5"));
    }
}
