//! The note that tells an agent about edits that are not on disk yet.

use similar::TextDiff;

use crate::core::message::UnsavedText;

/// More would crowd out what the user asks for.
const LONGEST: usize = 16_000;

/// The text that goes along with a prompt.
pub fn unsaved(files: &[UnsavedText]) -> String {
    let mut text = String::from(
        "The user has edits in the editor that are not saved yet; the files on the disk do not have them:\n",
    );
    for file in files {
        let (Some(saved), Some(ours)) = (&file.saved, &file.ours) else {
            text.push_str(&format!("\n{}\n", file.name));
            continue;
        };
        let saved = saved.replace("\r\n", "\n");
        let ours = format!("{ours}\n");
        let diff = TextDiff::from_lines(saved.as_str(), ours.as_str());
        let names = (&*format!("{} (on the disk)", file.name), &*format!("{} (unsaved)", file.name));
        let diff = diff.unified_diff().context_radius(3).header(names.0, names.1).to_string();
        if text.len() + diff.len() > LONGEST {
            text.push_str(&format!("\n{} (too much to be shown here)\n", file.name));
        } else {
            let fence = "`".repeat(longest_run(&diff).max(2) + 1);
            text.push_str(&format!("\n{fence}diff\n{diff}{fence}\n"));
        }
    }
    text
}

fn longest_run(text: &str) -> usize {
    text.lines().map(|line| line.chars().filter(|char| *char == '`').count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, saved: &str, ours: &str) -> UnsavedText {
        UnsavedText { name: name.into(), saved: Some(saved.into()), ours: Some(ours.into()) }
    }

    #[test]
    fn unsaved_edits_are_told_as_differences() {
        let text = unsaved(&[file("a.txt", "one\r\ntwo\r\n", "one\n2")]);
        assert!(text.contains("--- a.txt (on the disk)\n+++ a.txt (unsaved)\n"), "{text}");
        assert!(text.contains("```diff\n") && text.ends_with(" one\n-two\n+2\n```\n"), "{text}");
    }

    #[test]
    fn what_is_long_or_unknown_is_named_only() {
        let text = unsaved(&[
            UnsavedText { name: "b.txt".into(), saved: None, ours: None },
            file("c.txt", "", &"word\n".repeat(10_000)),
        ]);
        assert!(text.ends_with("\nb.txt\n\nc.txt (too much to be shown here)\n"), "{text}");
    }
}
