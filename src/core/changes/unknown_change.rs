//! A file that an agent changed and of which no lines can be shown: its text is not known, or it is no text, or only its
//! permissions changed. It is listed with the reason, and has no hunks.

use crate::core::ids::OriginId;
use crate::core::message::PutBack;
use crate::core::rules::line::{Certainty, Run, Word, base};
use crate::core::rules::shell;
use crate::core::store::checkpoint::Held;

/// Whether a command line has git remove ignored files, of which nobody knows what they held.
pub fn removes_ignored(line: &str) -> bool {
    let cleans = |run: &Run| {
        let words: Vec<&str> = run.words.iter().filter_map(Word::plain).collect();
        let clean = words.iter().position(|word| *word == "clean");
        let Some(clean) = clean.filter(|_| base(words[0]) == "git") else { return false };
        let options = words[clean + 1..].iter().take_while(|word| **word != "--");
        let has = |letters: &[char]| {
            let short =
                |word: &&str| word.starts_with('-') && !word.starts_with("--") && !word.starts_with("-e");
            options.clone().any(|word| short(word) && word.contains(letters))
        };
        has(&['x', 'X']) && !has(&['n']) && !options.clone().any(|word| *word == "--dry-run")
    };
    // Hardly any line is about this; only those are parsed.
    let is_near = line.contains("git") && line.contains("clean");
    is_near && shell::read(line).runs.iter().any(|run| run.certainty > Certainty::Possible && cleans(run))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChange {
    pub origin: OriginId,
    /// Such as "larger than 1 MB".
    pub why: String,
    /// Whether the file was there before, and is there now.
    pub sides: (bool, bool),
    /// How it is undone, where it can be.
    pub undo: Option<PutBack>,
}

impl UnknownChange {
    /// How a change from one to the other is undone. `earlier` is a change of the same file that is not decided on yet.
    pub fn undo((before, after): (&Held, &Held), earlier: Option<&Self>) -> Option<PutBack> {
        let before = match earlier.map(|earlier| &earlier.undo) {
            Some(Some(PutBack::Held { held, .. })) => held,
            // What was there before both is not known.
            Some(None) => return None,
            _ => before,
        };
        match (before, after) {
            (Held::Unknown, _) | (_, Held::Unknown) => None,
            // Its text may have hunks of its own.
            (Held::Text(one, mode), Held::Text(other, _)) if one == other => Some(PutBack::Mode(*mode)),
            (before, after) => Some(PutBack::Held { seen: after.clone(), held: before.clone() }),
        }
    }

    /// Whether the file is as it was before, once it holds this.
    pub fn is_undone_by(&self, held: &Held) -> bool {
        match &self.undo {
            Some(PutBack::Held { held: before, .. }) => before.matches(held),
            Some(PutBack::Mode(mode)) => held.mode().0.is_some() && held.mode() == *mode,
            _ => false,
        }
    }

    pub fn verb(&self) -> &'static str {
        match self.sides {
            (false, true) => "new file",
            (true, false) => "deleted",
            _ => "changed",
        }
    }
}

/// What differs in two texts that have the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideLines {
    ByteOrderMark,
    LineEnds,
    LastLineEnd,
}

impl OutsideLines {
    pub fn of(one: &str, other: &str) -> Option<Self> {
        let is_marked = |text: &str| text.starts_with('\u{feff}');
        let lines =
            |text: &str| text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
        let (lines, other_lines) = (lines(one), lines(other));
        match () {
            () if one == other => None,
            () if lines.trim_end_matches('\n') != other_lines.trim_end_matches('\n') => None,
            () if is_marked(one) != is_marked(other) => Some(Self::ByteOrderMark),
            () if one.contains('\r') != other.contains('\r') => Some(Self::LineEnds),
            () if lines.ends_with('\n') != other_lines.ends_with('\n') => Some(Self::LastLineEnd),
            () => Some(Self::LineEnds),
        }
    }

    pub fn changed(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "its byte order mark changed",
            Self::LineEnds => "its line ends changed",
            Self::LastLineEnd => "the end of its last line changed",
        }
    }

    pub fn comes_back(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "its byte order mark is put back",
            Self::LineEnds => "its line ends are put back",
            Self::LastLineEnd => "the end of its last line is put back",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_has_git_remove_ignored_files_is_known() {
        for line in [
            "git clean -fdx",
            "git clean -X -f",
            "cd a && git -C b clean -d --force -x",
            "sh -c 'git clean -xdf'",
        ] {
            assert!(removes_ignored(line), "{line}");
        }
        for line in [
            "git clean -fd",
            "git clean -ndx",
            "git clean -x --dry-run",
            "echo git clean -fdx",
            "git clean -f -- -x",
            "cargo clean",
        ] {
            assert!(!removes_ignored(line), "{line}");
        }
    }

    #[test]
    fn what_is_no_part_of_a_line_is_said_by_its_name() {
        let of = OutsideLines::of;
        assert_eq!(of("a\n", "a\n"), None);
        assert_eq!(of("a\n", "b\n"), None, "that is a line");
        assert_eq!(of("a\n", "\u{feff}a\n"), Some(OutsideLines::ByteOrderMark));
        assert_eq!(of("a\r\nb", "a\nb"), Some(OutsideLines::LineEnds));
        assert_eq!(of("a\r\nb\n", "a\nb\r\n"), Some(OutsideLines::LineEnds));
        assert_eq!(of("a\nb\n", "a\nb"), Some(OutsideLines::LastLineEnd));
    }
}
