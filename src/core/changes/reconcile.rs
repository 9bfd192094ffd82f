//! Decides how a buffer changes when another side has written its file: the smallest edits that bring in
//! the other text and keep the user's, or the conflicts that only the user can resolve. Texts are those
//! of files, with `\n` for every line ending that the buffer's 'fileformat' writes differently. Reading
//! the disk, and asking the user, are left to others.

use serde::{Deserialize, Serialize};

use crate::core::changes::merge::{Side, merge, shared};
use crate::core::changes::origin::{View, origin};
use crate::core::changes::text_edits::{TextEdit, edits, in_pieces};
use crate::core::text::Text;

/// The texts that come together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sides {
    pub base: Base,
    /// The buffer's text.
    pub ours: Text,
    pub theirs: Text,
    /// The buffer's 'fileformat' is "dos": `\r\n` ends lines in the base and in their text.
    pub dos: bool,
    /// What to do about the conflicts, from the top down.
    pub picks: Vec<Pick>,
    /// What to do about those beyond; `None` has them told.
    pub rest: Option<Pick>,
    /// What the two sides are called in conflict markers.
    pub names: [String; 2],
}

/// What both sides began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Base {
    /// The buffer's text: nothing of it is the user's alone.
    Ours,
    Text(Text),
    /// What the agent last read or wrote through the editor, or what the disk holds now; see `origin`.
    Either {
        seen: Text,
        disk: Text,
    },
    /// Nobody knows: what both have is kept, and so is what either has alone.
    Unknown,
}

/// A choice for a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pick {
    Ours,
    Theirs,
    /// Both, between conflict markers.
    Markers,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reconciled {
    Edits {
        /// For the buffer, the last one first.
        edits: Vec<TextEdit>,
        /// What the buffer's text is after them.
        text: Text,
        /// It is exactly theirs: nothing of the user's alone is in it.
        is_theirs: bool,
    },
    Conflicts(Vec<ConflictHunk>),
}

/// Lines that both sides changed, each in its own way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictHunk {
    /// The first of the buffer's lines, from 0.
    pub row: usize,
    pub ours: Vec<String>,
    pub theirs: Vec<String>,
    /// No line was changed by both sides; what they changed only touches.
    pub is_apart: bool,
}

/// So many lines are put into a buffer by one call, which takes about a millisecond.
const PIECE: usize = 1000;

impl Sides {
    pub fn reconcile(&self) -> Reconciled {
        let unix = |text: &Text| match self.dos {
            true => text.replace("\r\n", "\n").into(),
            false => text.clone(),
        };
        let theirs = unix(&self.theirs);
        let base = match &self.base {
            Base::Ours => self.ours.clone(),
            Base::Text(base) => unix(base),
            Base::Either { seen, disk } => {
                origin(View { seen: &unix(seen), disk: &unix(disk) }, &theirs).into()
            }
            Base::Unknown => shared(&self.ours, &theirs).into(),
        };
        let text = match self.merge(&base, &theirs) {
            Ok(text) => text,
            Err(hunks) => return Reconciled::Conflicts(hunks),
        };
        let is_theirs = text == theirs;
        let edits = in_pieces(edits(body(&self.ours), body(&text)), PIECE);
        Reconciled::Edits { edits, text, is_theirs }
    }

    fn merge(&self, base: &Text, theirs: &Text) -> Result<Text, Vec<ConflictHunk>> {
        // Nothing of the user's alone; to find that out line by line takes long.
        if self.ours == *base {
            return Ok(theirs.clone());
        }
        let merge = merge(base, &self.ours, theirs);
        let count = merge.conflicts().count();
        if self.rest.is_none() && count > self.picks.len() {
            let hunk = |conflict: &crate::core::changes::merge::Conflict| ConflictHunk {
                is_apart: conflict.is_apart(),
                row: conflict.row,
                ours: conflict.ours.clone(),
                theirs: conflict.theirs.clone(),
            };
            return Err(merge.conflicts().map(hunk).collect());
        }
        let mut picks = self.picks.iter().copied();
        let [ours, theirs] = [&*self.names[0], &*self.names[1]];
        let text = merge.resolve_each(|_| match picks.next().or(self.rest).unwrap_or(Pick::Ours) {
            Pick::Ours => Side::Ours,
            Pick::Theirs => Side::Theirs,
            Pick::Markers => Side::Markers { ours, theirs },
        });
        Ok(text.into())
    }
}

/// A file's text as a buffer's lines hold it.
pub fn body(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::changes::text_edits::apply;

    fn sides(base: Base, ours: &str, theirs: &str) -> Sides {
        Sides {
            base,
            ours: ours.into(),
            theirs: theirs.into(),
            dos: false,
            picks: Vec::new(),
            rest: None,
            names: ["mine".into(), "agent".into()],
        }
    }

    fn text(sides: &Sides) -> String {
        match sides.reconcile() {
            Reconciled::Edits { text, .. } => text.to_string(),
            Reconciled::Conflicts(hunks) => panic!("conflicts: {hunks:?}"),
        }
    }

    #[test]
    fn what_the_user_changed_since_the_base_stays() {
        let sides = sides(Base::Text("a\nb\nc\n".into()), "A\nb\nc\n", "a\nb\nC\n");
        assert_eq!(text(&sides), "A\nb\nC\n");
    }

    #[test]
    fn what_the_user_has_saved_is_known_to_an_agent_that_shows_it() {
        let (seen, disk): (Text, Text) = ("a\r\nB\r\nc\r\n".into(), "a\nb\nc\n".into());
        let mut sides = sides(Base::Either { seen, disk }, "a\nb\nc\n", "a\r\nb\r\nC\r\n");
        sides.dos = true;
        assert_eq!(text(&sides), "a\nb\nC\n");
        sides.theirs = "a\r\nB\r\nC\r\n".into();
        assert_eq!(text(&sides), "a\nb\nC\n", "it has not seen the line beside");
        sides.theirs = "a\r\nX\r\nC\r\n".into();
        assert!(matches!(sides.reconcile(), Reconciled::Conflicts(_)), "it has not seen the line");
    }

    #[test]
    fn a_clean_buffer_becomes_theirs() {
        assert_eq!(text(&sides(Base::Ours, "a\nb\n", "c")), "c");
    }

    #[test]
    fn without_a_base_nothing_of_either_side_is_dropped() {
        assert_eq!(text(&sides(Base::Unknown, "a\nmine\nb\n", "a\nb\nagent's\n")), "a\nmine\nb\nagent's\n");
    }

    #[test]
    fn conflicts_are_told_with_their_rows_and_settled_one_by_one() {
        let mut sides = sides(Base::Text("a\nb\nc\n".into()), "new\na1\nb\nc1\n", "a2\nb\nc2\n");
        sides.base = Base::Text("a\nb\nc\n".into());
        let Reconciled::Conflicts(hunks) = sides.reconcile() else { panic!("no conflict") };
        assert_eq!(hunks.iter().map(|hunk| hunk.row).collect::<Vec<_>>(), [0, 3]);
        sides.picks = vec![Pick::Theirs, Pick::Ours];
        assert_eq!(text(&sides), "a2\nb\nc1\n");
        sides.picks = vec![Pick::Theirs];
        assert!(matches!(sides.reconcile(), Reconciled::Conflicts(_)));
        sides.rest = Some(Pick::Markers);
        assert_eq!(text(&sides), "a2\nb\n<<<<<<< mine\nc1\n=======\nc2\n>>>>>>> agent\n");
    }

    #[test]
    fn the_line_ends_of_a_dos_file_are_no_part_of_its_lines() {
        let mut sides = sides(Base::Text("a\r\nb\r\n".into()), "a\nb\nmine\n", "A\r\nb\r\n");
        sides.dos = true;
        assert_eq!(text(&sides), "A\nb\nmine\n");
    }

    proptest! {
        #[test]
        fn the_edits_lead_to_the_text(base in "([ab]?\n){0,6}", ours in "([abc]?\n){0,6}c?", theirs in "([abd]?\n){0,6}d?", known: bool) {
            let base = if known { Base::Text(base.into()) } else { Base::Unknown };
            let mut sides = sides(base, &ours, &theirs);
            sides.rest = Some(Pick::Markers);
            let Reconciled::Edits { edits, text, is_theirs } = sides.reconcile() else { panic!("conflicts") };
            prop_assert_eq!(apply(body(&ours), &edits), body(&text));
            prop_assert_eq!(is_theirs, *text == theirs);
        }

        /// What makes a write safe to begin again when the user typed in the middle of it.
        #[test]
        fn edits_that_are_half_in_are_finished_around_what_was_typed(
            ours in "([abc]?\n){0,6}", theirs in "([abd]?\n){0,6}", take in 0..9usize,
        ) {
            let Reconciled::Edits { edits, text, .. } = sides(Base::Ours, &ours, &theirs).reconcile() else {
                panic!("conflicts")
            };
            let half = apply(body(&ours), &edits[..take.min(edits.len())]) + "\n";
            let typed = sides(Base::Text(half.as_str().into()), &format!("typed\n{half}"), &text);
            if let Reconciled::Edits { text: finished, .. } = typed.reconcile() {
                prop_assert_eq!(&*finished, format!("typed\n{}\n", text.strip_suffix('\n').unwrap_or(&text)));
            }
        }
    }
}
