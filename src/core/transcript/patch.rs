//! Which lines a text adds and removes, if it is a unified diff or contains one. The lines of a hunk are
//! counted as its header says, so that a list after it, whose items begin with a dash, is not taken for
//! removed lines.

use crate::core::changes::hunk_header;

pub const ADDED: &str = "AcpDiffAdd";
pub const REMOVED: &str = "AcpDiffDelete";
const HEAD: &str = "AcpMeta";

/// Reads a text line by line.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// Lines of the present hunk that are still to come, of the old text and of the new one.
    left: (usize, usize),
    /// The fence of the block that is said to be a diff.
    fence: Option<String>,
}

impl Patch {
    /// What colours the next line; `None` for one that is no part of a diff.
    pub fn group(&mut self, line: &str) -> Option<&'static str> {
        let bare = line.trim_start();
        let fence = &bare[..bare.len() - bare.trim_start_matches('`').len()];
        if let Some(left) = hunk(line) {
            self.left = left;
            return Some(HEAD);
        }
        if self.left != (0, 0) {
            return self.in_hunk(line);
        }
        match &self.fence {
            Some(open) if fence.len() >= open.len() && bare == fence => {
                self.fence = None;
                None
            }
            Some(_) => loose(line),
            None if fence.len() >= 3 && matches!(bare[fence.len()..].trim(), "diff" | "patch" | "udiff") => {
                self.fence = Some(fence.to_owned());
                None
            }
            None => None,
        }
    }

    fn in_hunk(&mut self, line: &str) -> Option<&'static str> {
        let (old, new) = &mut self.left;
        match line.as_bytes().first() {
            Some(b'-') if *old > 0 => {
                *old -= 1;
                Some(REMOVED)
            }
            Some(b'+') if *new > 0 => {
                *new -= 1;
                Some(ADDED)
            }
            // Some programs take the blank of an empty line away.
            None | Some(b' ') => {
                (*old, *new) = (old.saturating_sub(1), new.saturating_sub(1));
                None
            }
            Some(b'\\') => Some(HEAD),
            // It was cut off.
            _ => {
                self.left = (0, 0);
                None
            }
        }
    }
}

/// A line of a diff that nobody counted.
fn loose(line: &str) -> Option<&'static str> {
    match line.as_bytes() {
        [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] | [b'@', b'@', ..] => Some(HEAD),
        [b'+', ..] => Some(ADDED),
        [b'-', ..] => Some(REMOVED),
        _ => None,
    }
}

/// How many lines of the old and of the new text follow `@@ -12,3 +12,4 @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    hunk_header::counts(line.strip_prefix("@@ -")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(text: &str) -> String {
        let mut patch = Patch::default();
        let sign = |line| match patch.group(line) {
            Some(ADDED) => '+',
            Some(REMOVED) => '-',
            Some(_) => '@',
            None => '.',
        };
        text.lines().map(sign).collect()
    }

    #[test]
    fn the_lines_of_a_hunk_are_counted() {
        let text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn a\n a\n-b\n--- c\n+B\n+++ C\n\\ No newline\n- a list\n+ is none";
        assert_eq!(signs(text), "...@.--++...");
        assert_eq!(signs("@@ -1 +1,0 @@\n-a\n-b\n"), "@-.");
        assert_eq!(signs("@@ -1,9 +1,9 @@\n-a\nend\n-b\n"), "@-..");
    }

    #[test]
    fn a_block_that_is_said_to_be_a_diff_needs_no_counts() {
        assert_eq!(signs("- no\n```diff\n-a\n+b\n c\n```\n- no"), "..-+...");
        assert_eq!(signs("```sh\n-a\n```"), "...");
        assert_eq!(signs("```patch\n--- a\n+++ b\n@@\n-a\n+b"), ".@@@-+");
    }
}
