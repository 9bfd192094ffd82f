//! Small facts about texts that several parts of a screen need.

/// A text on one line: each run of blanks and line breaks is one blank.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
