//! A look at a file before the editor opens it: whether there is one, and a text of a size to show. It
//! blocks, as every disk may; opening the file is the editor's.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::core::changes::diff::{self, PlacedState};
use crate::core::locations::{Lines, Look};
use crate::core::message::FileDiff;
use crate::platform::paths::resolve_file;

/// Bigger files are not opened just to look at them.
const BIG: u64 = 10 << 20;

/// What tells a text from anything else stands at its begin.
const HEAD: u64 = 8 << 10;

/// Whether a path leads out of all these folders, as far as both are there.
pub fn is_outside(path: &Path, roots: &[PathBuf]) -> bool {
    let resolved = resolve_file(path);
    !roots.is_empty() && !roots.iter().any(|root| resolved.starts_with(resolve_file(root)))
}

/// What there is at `path`, and where in it these diffs stand, as near as can be to a line.
pub fn at(path: &Path, diffs: &[FileDiff], near: Option<u32>) -> Look {
    look(path, diffs, near).unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Look::Missing,
        _ => Look::Closed,
    })
}

fn look(path: &Path, diffs: &[FileDiff], near: Option<u32>) -> io::Result<Look> {
    // A pipe would have to be written to before it could be opened.
    let facts = fs::metadata(path)?;
    if facts.is_dir() {
        return Ok(Look::Folder);
    } else if !facts.is_file() {
        return Ok(Look::Closed);
    } else if facts.len() > BIG {
        return Ok(Look::Big(facts.len()));
    }
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Ok(Look::Binary);
    }
    if diffs.is_empty() {
        return Ok(Look::File(None));
    }
    file.take(BIG).read_to_end(&mut bytes)?;
    // A diff is made of text, so it stands in no other bytes.
    Ok(Look::File(String::from_utf8(bytes).ok().and_then(|text| touched(&text, diffs, near))))
}

/// The lines of the hunk in the text that is nearest to a line; of the first without one.
fn touched(text: &str, diffs: &[FileDiff], near: Option<u32>) -> Option<Lines> {
    let last = u32::try_from(text.lines().count().max(1)).ok()?;
    let placed = diff::place(text, diffs);
    let hunks = placed.iter().flat_map(|placed| placed.hunks.iter().map(|hunk| (hunk, placed.state)));
    let near = near.map_or(0, |line| line as usize);
    let (hunk, state) = hunks.min_by_key(|(hunk, _)| (hunk.row + 1).abs_diff(near))?;
    let count = match state {
        PlacedState::Applied => hunk.added.len(),
        PlacedState::Proposed | PlacedState::Unmatched => hunk.removed.len(),
    };
    let first = u32::try_from(hunk.row + 1).ok()?.min(last);
    let count = u32::try_from(count.max(1)).ok()?;
    Some(Lines { first, last: first.saturating_add(count - 1).min(last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("acp-look-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn what_is_no_text_to_look_at_is_told_by_what_it_is() {
        let folder = folder();
        let file = |name: &str, bytes: &[u8]| {
            fs::write(folder.join(name), bytes).expect("a file");
            at(&folder.join(name), &[], None)
        };
        assert_eq!(file("text", "grüße\n".as_bytes()), Look::File(None));
        assert_eq!(file("latin", b"gr\xfc\xdfe\n"), Look::File(None));
        assert_eq!(file("empty", b""), Look::File(None));
        assert_eq!(file("binary", b"a\0b"), Look::Binary);
        let big = File::create(folder.join("big")).expect("a file");
        big.set_len(BIG + 1).expect("room");
        assert_eq!(at(&folder.join("big"), &[], None), Look::Big(BIG + 1));
        assert_eq!(at(&folder, &[], None), Look::Folder);
        assert_eq!(at(&folder.join("none"), &[], None), Look::Missing);
        assert_eq!(at(&folder.join("text/below"), &[], None), Look::Missing);
        assert_eq!(at(Path::new("/dev/null"), &[], None), Look::Closed);
        fs::remove_dir_all(folder).expect("a folder of ours");
    }

    #[test]
    fn a_diff_without_a_line_tells_the_lines_it_touches() {
        let diff = |old: &str, new: &str| FileDiff {
            path: "a".into(),
            old_text: Some(old.into()),
            new_text: new.into(),
        };
        let text = "one\ntwo\nthree\nfour\n";
        let lines = |first, last| Some(Lines { first, last });
        assert_eq!(touched(text, &[diff("two\nthree", "2")], None), lines(2, 3), "it is proposed");
        assert_eq!(touched(text, &[diff("zwei", "two\nthree")], None), lines(2, 3), "it has been made");
        let two = [diff("one", "1"), diff("four", "4")];
        assert_eq!(touched(text, &two, None), lines(1, 1));
        assert_eq!(touched(text, &two, Some(3)), lines(4, 4), "agents count the lines around it");
        assert_eq!(touched("", &[diff("", "")], None), None);
    }
}
