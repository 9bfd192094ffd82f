//! Shell code in lines that fit: a long one is broken at a blank as one breaks it in a script, so that what is shown is
//! still the same command. Within quotes a blank may matter: nothing is broken there.

use super::bounds::{self, MOST_BYTES, MOST_ROWS};
use super::drawing::Drawing;
use crate::core::text::fitting::taken;

const INDENT: &str = "    ";
/// Of what goes on from the line before.
const MORE: &str = "  ";

impl Drawing {
    /// As much of a command as stands in a transcript. Gives how many more lines it has.
    pub(super) fn command(&mut self, command: &str, width: usize) -> usize {
        let (lines, more) = bounds::beginning(command, MOST_ROWS, MOST_BYTES);
        self.broken(lines.into_iter(), width);
        more
    }

    /// All of it.
    pub(super) fn whole_command(&mut self, command: &str, width: usize) {
        self.broken(command.lines(), width);
    }

    fn broken<'l>(&mut self, lines: impl Iterator<Item = &'l str>, width: usize) {
        for line in lines.flat_map(|line| broken(line, width.saturating_sub(INDENT.len()))) {
            self.line(format!("{INDENT}{line}"), None);
        }
    }
}

/// A line, or several that mean the same.
fn broken(line: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut rest, mut indent) = (line, "");
    while let Some(at) = break_of(rest, width.saturating_sub(indent.len())) {
        lines.push(format!("{indent}{} \\", &rest[..at]));
        (rest, indent) = (rest[at..].trim_start_matches(' '), MORE);
    }
    lines.push(format!("{indent}{rest}"));
    lines
}

/// The last blank before which there is room, or the first one; rather one before another command. Nothing if all has
/// room.
fn break_of(text: &str, width: usize) -> Option<usize> {
    let room = width.saturating_sub(2);
    let (mut quote, mut is_escaped, mut has_begun) = (None, false, false);
    let (mut used, mut found, mut command) = (0, None, None);
    for (at, char) in text.char_indices() {
        if used > width && found.is_some() {
            return command.or(found);
        }
        let is_plain = !std::mem::take(&mut is_escaped);
        match (quote, char) {
            (None | Some('"'), '\\') if is_plain => is_escaped = true,
            (None, '\'' | '"') if is_plain => quote = Some(char),
            (Some(open), _) if open == char && is_plain => quote = None,
            (None, ' ') if is_plain && has_begun && (used <= room || found.is_none()) => {
                let rest = text[at..].trim_start();
                found = Some(at).filter(|_| !rest.is_empty());
                if used <= room && ["&&", "|", ";"].iter().any(|sign| rest.starts_with(sign)) {
                    command = Some(at);
                }
            }
            _ => {}
        }
        has_begun |= char != ' ';
        used += taken(char.encode_utf8(&mut [0; 4]));
    }
    command.or(found).filter(|_| used > width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_broken_at_blanks_as_in_a_script() {
        for (line, lines) in [
            ("make all", &["make all"][..]),
            (
                "cargo test --lib -- a b && rm -rf build",
                &["cargo test --lib \\", "  -- a b \\", "  && rm -rf build"],
            ),
            // A word that is too long for any line.
            ("echo aaaaaaaaaaaaaaaaaaaaaaaaaaa b", &["echo \\", "  aaaaaaaaaaaaaaaaaaaaaaaaaaa \\", "  b"]),
            ("echo 'one two three four' five six", &["echo \\", "  'one two three four' \\", "  five six"]),
            (r"cat a\ b\ c\ d\ e\ f\ g\ h\ i\ j", &["cat \\", r"  a\ b\ c\ d\ e\ f\ g\ h\ i\ j"]),
            (r#"echo "it \" is" && echo it"#, &[r#"echo "it \" is" \"#, "  && echo it"]),
            ("    aaaaaaaaaaaaaaaaaaaaaaaaaaaa   ", &["    aaaaaaaaaaaaaaaaaaaaaaaaaaaa   "]),
        ] {
            assert_eq!(broken(line, 20), lines, "{line}");
        }
        assert_eq!(broken("a b c", 0), ["a \\", "  b \\", "  c"]);
    }
}
