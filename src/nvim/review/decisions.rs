//! What the user has decided lately, as files were before it: that is what taking a decision back goes by. How it is
//! taken back is left to `taking_back`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_history::TextPrint;
use crate::core::changes::unknown_change::UnknownChange;
use crate::core::store::checkpoint::Held;
use crate::nvim::buffers::saving::Content;

/// More decisions, and decisions about more files than that, are not remembered.
const MAX: usize = 50;
const MAX_FILES: usize = 2000;

#[derive(Default)]
pub struct Decisions {
    /// The last one is the latest.
    all: Vec<Decision>,
    /// What files on the disk held, byte for byte, until they were put back last.
    replaced: HashMap<PathBuf, Held>,
    /// So many files are being put back on the disk; what they held until then is told when that is done.
    putting_back: usize,
    /// How often the user wanted a decision taken back meanwhile.
    wanted: usize,
}

/// What was decided at once.
#[derive(Default)]
pub struct Decision {
    pub files: Vec<Decided>,
    /// Files without hunks that were kept.
    pub unknown: Vec<(PathBuf, UnknownChange)>,
    /// How many hunks were kept and undone.
    pub hunks: (usize, usize),
}

/// A file before a decision, and what tells its text after that.
#[derive(Clone)]
pub struct Decided {
    pub path: PathBuf,
    pub was: Box<FileReview>,
    pub after: Option<TextPrint>,
    /// What else its buffer had before, beside the lines.
    pub content: Option<Content>,
    /// It was taken back. Neovim's undo may still bring it back.
    pub is_taken_back: bool,
}

impl Decision {
    fn is_in_force(&self) -> bool {
        !self.unknown.is_empty() || self.files.iter().any(|decided| !decided.is_taken_back)
    }
}

impl Decided {
    pub fn new(path: PathBuf, was: Box<FileReview>, after: Option<TextPrint>) -> Self {
        Self { path, was, after, content: None, is_taken_back: false }
    }

    /// It has left the text as it was.
    pub fn is_kept(&self) -> bool {
        self.was.text_identity() == self.after
    }
}

impl Decisions {
    pub fn add(&mut self, decision: Decision) {
        if decision.files.is_empty() && decision.unknown.is_empty() {
            return;
        }
        self.all.push(decision);
        let count = |all: &[Decision]| all.iter().map(|one| one.files.len()).sum::<usize>();
        while self.all.len() > MAX || self.all.len() > 1 && count(&self.all) > MAX_FILES {
            self.all.remove(0);
        }
        let files = self.all.iter().flat_map(|decision| &decision.files);
        let known: HashSet<&Path> = files.map(|decided| &*decided.path).collect();
        self.replaced.retain(|path, _| known.contains(&**path));
    }

    /// A file was put back on the disk, which held this until then.
    pub fn note_replaced(&mut self, path: &Path, held: Held) {
        self.replaced.insert(path.to_owned(), held);
    }

    /// What a file held before it was put back last.
    pub fn take_replaced(&mut self, path: &Path) -> Option<Held> {
        self.replaced.remove(path)
    }

    pub fn begin_to_put_back(&mut self) {
        self.putting_back += 1;
    }

    pub fn end_to_put_back(&mut self) {
        self.putting_back = self.putting_back.saturating_sub(1);
    }

    /// The user wants the last decision taken back. Says whether that has to wait for files that are being put back.
    pub fn want_back(&mut self) -> bool {
        let waits = self.putting_back > 0;
        self.wanted += usize::from(waits);
        waits
    }

    /// Whether there is such a wish that need not wait any more; it counts as fulfilled.
    pub fn take_wish(&mut self) -> bool {
        let is_due = self.wanted > 0 && self.putting_back == 0;
        self.wanted -= usize::from(is_due);
        is_due
    }

    /// Whether there is one to take back.
    pub fn has_any(&self) -> bool {
        self.all.iter().any(Decision::is_in_force)
    }

    /// The last decision that is in force. Where it has changed a text it is remembered as taken back.
    pub fn take_last(&mut self) -> Option<Decision> {
        let at = self.all.iter().rposition(Decision::is_in_force)?;
        let decision = &mut self.all[at];
        let (taken_back, files) =
            std::mem::take(&mut decision.files).into_iter().partition(|decided| decided.is_taken_back);
        let taken = Decision { files, ..std::mem::take(decision) };
        let changed = taken.files.iter().filter(|decided| !decided.is_kept()).cloned();
        decision.files = taken_back;
        decision.files.extend(changed.map(|decided| Decided { is_taken_back: true, ..decided }));
        if decision.files.is_empty() {
            self.all.remove(at);
        }
        Some(taken)
    }

    /// A file has this text by what the user did, which may have been Neovim's undo or redo: they take decisions back, and
    /// bring them back.
    pub fn user_changed(&mut self, path: &Path, now: &FileReview) {
        let Some(print) = now.text_identity() else { return };
        let of_file = self.all.iter_mut().flat_map(|decision| &mut decision.files);
        let mut of_file: Vec<_> =
            of_file.filter(|decided| !decided.is_kept() && decided.path == path).collect();
        let is_before = |decided: &Decided| {
            decided.was.text_identity() == Some(print) && decided.was.hunk_count() == now.hunk_count()
        };
        if let Some(at) =
            of_file.iter().rposition(|decided| decided.is_taken_back && decided.after == Some(print))
        {
            // And those that had led to it.
            let mut before = Some(print);
            for decided in of_file[..=at].iter_mut().rev().take_while(|decided| decided.is_taken_back) {
                if decided.after != before {
                    break;
                }
                decided.is_taken_back = false;
                before = decided.was.text_identity();
            }
        } else if let Some(at) =
            of_file.iter().rposition(|decided| !decided.is_taken_back && is_before(decided))
        {
            of_file[at..].iter_mut().for_each(|decided| decided.is_taken_back = true);
        }
    }

    /// The decisions about a file that changed nothing in it, the latest first.
    pub fn kept<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a FileReview> {
        let files = self.all.iter().rev().flat_map(|decision| &decision.files);
        let of_file = files.filter(move |decided| decided.path == path);
        of_file.filter(|decided| decided.is_kept()).map(|decided| &*decided.was)
    }
}

/// A file's text, if there is a file.
pub fn text_of(file: &FileReview) -> Option<String> {
    file.is_there.then(|| file.current())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::file_review::Written;
    use crate::core::ids::OriginId;
    use crate::core::text::Text;

    const FILE: &str = "/p/a.txt";

    fn review(user: &str, agent: &str) -> Box<FileReview> {
        let origin = OriginId(1);
        Box::new(
            Written { user: Some(Text::from(user)), agent: Some((Some(Text::from(agent)), origin)) }.review(),
        )
    }

    /// Two hunks of a file were undone, the first one first.
    struct Undone {
        decisions: Decisions,
        now: Box<FileReview>,
    }

    impl Undone {
        fn new() -> Self {
            let mut it = Self { decisions: Decisions::default(), now: review("1\n2\n3\n", "a\n2\nb\n") };
            it.undoes();
            it.undoes();
            it
        }

        fn undoes(&mut self) {
            let was = self.now.clone();
            self.now.undo(0).expect("a hunk");
            let decided = Decided::new(FILE.into(), was, self.now.text_identity());
            self.decisions.add(Decision { files: vec![decided], ..Decision::default() });
        }

        /// As Neovim's undo and redo do.
        fn becomes(&mut self, text: &str) -> &mut Self {
            self.now.user_wrote(&Text::from(text));
            self.decisions.user_changed(Path::new(FILE), &self.now);
            self
        }

        /// What `:Acp undo last` brings back.
        fn takes_back(&mut self) -> Option<String> {
            let decided = self.decisions.take_last()?.files.pop()?;
            self.now = decided.was;
            text_of(&self.now)
        }
    }

    #[test]
    fn a_decision_that_neovims_undo_brings_back_is_the_last_one_again() {
        let (none, one, two) = ("a\n2\nb\n", "1\n2\nb\n", "1\n2\n3\n");
        // What the user has the text become, and what is taken back then.
        let rows: &[(&[&str], &[&str])] = &[
            (&[], &[one, none]),
            (&[one], &[none]),
            (&[one, two], &[one, none]),
            (&[one, none], &[]),
            (&[none], &[]),
            (&[none, one], &[none]),
            (&[none, two], &[one, none]),
            (&[one, two, one], &[none]),
        ];
        for (texts, back) in rows {
            let mut undone = Undone::new();
            for text in *texts {
                undone.becomes(text);
            }
            for wanted in *back {
                assert_eq!(undone.takes_back().as_deref(), Some(*wanted), "{texts:?}");
            }
            assert_eq!(undone.takes_back(), None, "{texts:?}");
            assert!(!undone.decisions.all.iter().any(Decision::is_in_force));
        }
    }

    #[test]
    fn a_decision_that_was_taken_back_and_undone_is_the_last_one_again_also_with_lines_typed_since() {
        let (none, one, two) = ("a\n2\nb\n", "1\n2\nb\n", "1\n2\n3\n");
        let mut undone = Undone::new();
        for _ in 0..2 {
            assert_eq!(undone.takes_back().as_deref(), Some(one));
            undone.becomes(two).becomes("1\n2\n3\nmore\n");
            assert_eq!(undone.decisions.all.iter().filter(|one| one.is_in_force()).count(), 2);
            undone.becomes(two);
        }
        assert_eq!(undone.takes_back().as_deref(), Some(one));
        // What was typed after that is no redo.
        undone.becomes("1\n2\nb\nmore\n");
        assert_eq!(undone.takes_back().as_deref(), Some(none));
    }

    #[test]
    fn a_decision_that_kept_something_is_taken_back_once() {
        let mut undone = Undone::new();
        let (was, after) = (undone.now.clone(), undone.now.text_identity());
        let kept = Decided::new("/p/b.txt".into(), was, after);
        undone.decisions.add(Decision { files: vec![kept], ..Decision::default() });
        assert_eq!(undone.decisions.take_last().expect("kept").files[0].path, Path::new("/p/b.txt"));
        assert_eq!(undone.decisions.take_last().expect("undone").files[0].path, Path::new(FILE));
        assert_eq!(undone.decisions.all.len(), 2);
    }
}
