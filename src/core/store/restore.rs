//! What a restore does to each file, and what the user is asked first: decided from what the files hold now and what
//! they are to hold. Reading and writing them is left to others.

use crate::core::changes::diff::Hunk;
use crate::core::changes::review::Splice;
use crate::core::changes::text_edits::TextEdit;
use crate::core::store::checkpoint::{Fetched, Head, Held, Kind, Planned, Saved, with_hunk};

/// What is to be restored, and what to call it.
#[derive(Clone, Debug)]
pub struct Restore {
    /// Of the turn.
    pub head: Head,
    pub files: Vec<Planned>,
    /// Folders that were made later go along with the files in them. Milliseconds since 1970.
    pub since: u64,
    /// Of the one file, only this is to be put back.
    pub hunk: Option<Hunk>,
}

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is as it is to be.
    Nothing,
    /// Why it can't be put back.
    Refuse(String),
    Put {
        target: Held,
        edits: Vec<TextEdit>,
        /// Others have changed it since the session has.
        changed: bool,
    },
}

/// What the user is asked when others have changed files since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub prompt: String,
    pub items: Vec<String>,
    pub choices: Vec<Choice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    All,
    /// Those that nobody else has changed.
    Unchanged,
    Nothing,
}

/// By which way a file is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// By its buffer, which is saved if nothing was unsaved in it.
    Buffer,
    /// The same, and it is saved in any case: there is no file, and there is to be one.
    NewFile,
    /// By the disk. A buffer that holds it learns of it like of any change there.
    Disk,
}

/// A buffer that holds a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InBuffer {
    /// What the file would hold if it were saved now; [`Held::Unknown`] where that is no text.
    pub held: Held,
    /// It holds unsaved edits.
    pub is_modified: bool,
}

/// What there is now in the place of a file that is to be put back, and by which way that is done.
pub fn road(buffer: Option<InBuffer>, fetched: &Fetched) -> Result<(Held, Road), String> {
    let Fetched { disk, target, expected, is_pipe, .. } = fetched;
    let Some(InBuffer { held, is_modified }) = buffer else { return Ok((disk.clone(), Road::Disk)) };
    let is_text = |held: &Held| matches!(held, Held::Text(..) | Held::Absent);
    if *is_pipe || !is_text(&held) || !is_text(disk) || target.as_ref().is_ok_and(|target| !is_text(target)) {
        // The buffer has kept the text of a file that is gone, and nothing of the user's.
        let is_kept =
            held.bytes().is_some() && target.as_ref().is_ok_and(|target| target.bytes() == held.bytes());
        // Only the disk can have it as it was.
        return match is_modified && !is_kept {
            true => Err("its buffer has unsaved edits; save or drop them first".to_owned()),
            false => Ok((disk.clone(), Road::Disk)),
        };
    }
    let left = |held: &Held| expected.as_ref().is_some_and(|expected| expected.matches(held));
    let is_other = disk.bytes().is_some() && disk.bytes() != held.bytes();
    if !is_modified && is_other && (left(disk) || !left(&held)) {
        // The buffer has not taken yet what is on the disk. One that has what the session left may differ from the disk
        // in its line ends alone.
        return Ok((disk.clone(), Road::Disk));
    }
    if !is_modified && *disk == Held::Absent && *target == Ok(Held::Absent) {
        return Ok((Held::Absent, Road::Disk));
    }
    let is_deleted = *expected == Some(Held::Absent);
    match target {
        Ok(target) if *disk == Held::Absent && target.bytes().is_some() => {
            match target.bytes() == held.bytes() {
                // The buffer has kept the text of a file that was deleted, whoever did that.
                true => Ok((Held::Absent, Road::NewFile)),
                false if is_deleted => Ok((held, Road::NewFile)),
                false => Ok((held, Road::Buffer)),
            }
        }
        _ => Ok((held, Road::Buffer)),
    }
}

impl Restore {
    /// What the restore is called in the list of checkpoints: it can be undone itself.
    pub fn recorded_head(&self) -> Head {
        let undone = (self.head.kind == Kind::Restore).then_some(self.head.prompt.as_str());
        let what = self.head.aim().recorded(undone);
        Head { kind: Kind::Restore, prompt: Head::short_prompt(&what), ..self.head.clone() }
    }

    /// What of it was saved, where that is not all: the rest comes back unsaved.
    pub fn saved(&self, fetched: &Fetched, now: &Held) -> Option<Saved> {
        let saved = fetched.saved.as_ref()?;
        match &self.hunk {
            Some(hunk) => saved.of_hunk(now, hunk),
            None => Some(saved.clone()),
        }
    }

    /// What becomes of a file that holds this `now`.
    pub fn plan(&self, fetched: Fetched, now: &Held) -> Plan {
        let Fetched { mut target, expected, mut edits, .. } = fetched;
        if let (Some(hunk), Held::Text(text, mode), Ok(Held::Text(..))) = (&self.hunk, now, &target) {
            target = match with_hunk(text, hunk) {
                Some(text) => Ok(Held::Text(text.into(), *mode)),
                None => Err("that place has changed since it was shown".to_owned()),
            };
            let rows = hunk.row..hunk.row + hunk.removed.len();
            edits = vec![TextEdit::from(Splice { rows, lines: hunk.added.clone() })];
        }
        match target {
            Err(why) => Plan::Refuse(why),
            Ok(target) if target.matches(now) => Plan::Nothing,
            Ok(_) if *now == Held::Unknown => {
                Plan::Refuse("what is there now is too large to be kept, or no file".to_owned())
            }
            Ok(target) => {
                let changed = !expected.is_some_and(|expected| expected.matches(now));
                Plan::Put { target, edits, changed }
            }
        }
    }
}

/// What to ask before files are put back of which others have changed some; `None` when they have changed none.
pub fn question(all: usize, changed: &[String]) -> Option<Question> {
    let first = changed.first()?;
    let count = changed.len();
    let prompt = match all {
        1 => format!("{first} has changed since, by you or others"),
        _ => {
            let have = if count == 1 { "has" } else { "have" };
            format!(
                "{count} of these {all} files {have} changed since, by you or others: {}",
                changed.join(", ")
            )
        }
    };
    let everything = match all {
        1 => "Restore it anyway; that can be undone",
        _ => "Restore all of them anyway; that can be undone",
    };
    let mut offered = vec![(everything.to_owned(), Choice::All)];
    if count < all {
        let others = match all - count {
            1 => "Restore only the other one".to_owned(),
            others => format!("Restore only the other {others}"),
        };
        offered.push((others, Choice::Unchanged));
    }
    offered.push(("Restore nothing".to_owned(), Choice::Nothing));
    let (items, choices) = offered.into_iter().unzip();
    Some(Question { prompt, items, choices })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::aim::Aim;
    use crate::core::store::checkpoint::Mode;

    fn text(text: &str) -> Held {
        Held::text(text)
    }

    fn restore(hunk: Option<Hunk>) -> Restore {
        let head = Head {
            agent: "demo".into(),
            acp_id: "1".into(),
            title: None,
            cwd: "/p".into(),
            prompt: "fix it".into(),
            kind: Kind::Turn,
        };
        Restore { head, files: Vec::new(), since: 0, hunk }
    }

    fn fetched(target: Result<Held, String>, expected: Option<Held>) -> Fetched {
        Fetched {
            path: "/p/a".into(),
            target,
            expected,
            disk: text("now\n"),
            is_pipe: false,
            folder: None,
            repository: None,
            edits: Vec::new(),
            hunks: Vec::new(),
            saved: None,
        }
    }

    #[test]
    fn a_file_that_is_as_it_was_is_left_alone() {
        let file = fetched(Ok(text("old\n")), Some(text("now\n")));
        assert_eq!(restore(None).plan(file, &text("old\n")), Plan::Nothing);
        let gone = fetched(Ok(Held::Absent), None);
        assert_eq!(restore(None).plan(gone, &Held::Absent), Plan::Nothing);
    }

    #[test]
    fn a_file_that_holds_what_the_session_left_is_not_changed_by_others() {
        let put = |expected| match restore(None).plan(fetched(Ok(text("old\n")), expected), &text("now\n")) {
            Plan::Put { changed, .. } => changed,
            other => panic!("{other:?}"),
        };
        assert!(!put(Some(text("now\n"))));
        assert!(put(Some(text("other\n"))));
        assert!(put(Some(Held::Absent)));
        assert!(put(None));
    }

    /// Of a file that a buffer holds: what is on the disk, what is in the buffer, whether that is unsaved, what is to come
    /// back, and what the session left.
    #[test]
    fn a_file_goes_by_its_buffer_unless_only_the_disk_can_have_it() {
        let refused = || Err("its buffer has unsaved edits; save or drop them first".to_owned());
        let bytes = || Held::Bytes(vec![0].into(), Mode::default());
        let link = || Held::Link("a".into());
        let (was, now, other) = (|| text("was\n"), || text("now\n"), || text("other\n"));
        let gone = || Held::Absent;
        let table = [
            ("saved", now(), now(), false, was(), now(), Ok((now(), Road::Buffer))),
            ("with unsaved edits", now(), other(), true, was(), now(), Ok((other(), Road::Buffer))),
            ("behind the disk", now(), other(), false, was(), now(), Ok((now(), Road::Disk))),
            ("behind others", now(), other(), false, was(), was(), Ok((now(), Road::Disk))),
            ("behind others, as it was", now(), was(), false, was(), other(), Ok((now(), Road::Disk))),
            ("with other line ends", text("now\r\n"), now(), false, was(), now(), Ok((now(), Road::Buffer))),
            ("gone, not told of yet", gone(), was(), false, was(), now(), Ok((gone(), Road::NewFile))),
            ("gone, as it is to be", gone(), other(), false, gone(), now(), Ok((gone(), Road::Disk))),
            ("an agent made it", now(), now(), false, gone(), now(), Ok((now(), Road::Buffer))),
            ("deleted, its text kept", gone(), was(), true, was(), gone(), Ok((gone(), Road::NewFile))),
            ("deleted, and typed in", gone(), other(), true, was(), gone(), Ok((other(), Road::NewFile))),
            ("deleted by others", gone(), other(), true, was(), now(), Ok((other(), Road::Buffer))),
            ("was a link", now(), now(), false, link(), now(), Ok((now(), Road::Disk))),
            ("was a link, unsaved edits", now(), other(), true, link(), now(), refused()),
            ("is a link", link(), now(), false, was(), link(), Ok((link(), Road::Disk))),
            ("is a link, its text kept", link(), was(), true, was(), link(), Ok((link(), Road::Disk))),
            ("is no text", bytes(), Held::Unknown, false, was(), bytes(), Ok((bytes(), Road::Disk))),
            ("is no text, unsaved edits", bytes(), Held::Unknown, true, was(), bytes(), refused()),
        ];
        for (what, disk, held, is_modified, target, expected, decided) in table {
            let file = Fetched { disk, ..fetched(Ok(target), Some(expected)) };
            assert_eq!(road(Some(InBuffer { held, is_modified }), &file), decided, "{what}");
        }
        let file = fetched(Ok(was()), None);
        assert_eq!(road(None, &file), Ok((now(), Road::Disk)), "no buffer holds it");
        let pipe = Fetched { is_pipe: true, disk: gone(), ..fetched(Ok(was()), None) };
        let unsaved = InBuffer { held: other(), is_modified: true };
        assert_eq!(road(Some(unsaved), &pipe), refused(), "a pipe");
    }

    #[test]
    fn what_cannot_be_kept_is_not_overwritten() {
        let plan = restore(None).plan(fetched(Ok(text("old\n")), None), &Held::Unknown);
        assert_eq!(plan, Plan::Refuse("what is there now is too large to be kept, or no file".into()));
    }

    #[test]
    fn a_text_that_is_not_there_any_more_is_said_first() {
        let file = fetched(Err("its text is gone".into()), None);
        assert_eq!(restore(None).plan(file, &Held::Unknown), Plan::Refuse("its text is gone".into()));
    }

    #[test]
    fn a_hunk_alone_is_put_back_in_the_text_as_it_is_now() {
        let hunk = Hunk { row: 1, removed: vec!["B".into()], added: vec!["b".into()] };
        let file = fetched(Ok(text("a\nb\nc\n")), None);
        match restore(Some(hunk.clone())).plan(file, &text("a\nB\nnew\n")) {
            Plan::Put { target, edits, .. } => {
                assert_eq!(target, text("a\nb\nnew\n"));
                assert_eq!(edits, [TextEdit::from(Splice { rows: 1..2, lines: vec!["b".into()] })]);
            }
            other => panic!("{other:?}"),
        }
        let file = fetched(Ok(text("a\nb\nc\n")), None);
        assert_eq!(
            restore(Some(hunk)).plan(file, &text("a\nx\n")),
            Plan::Refuse("that place has changed since it was shown".into())
        );
    }

    #[test]
    fn a_restore_is_recorded_by_what_it_undid() {
        let mut restore = restore(None);
        let recorded = restore.recorded_head();
        assert_eq!(
            (recorded.prompt.as_str(), &recorded.kind),
            ("Restored to before: fix it", &Kind::Restore)
        );
        // However often it is undone and done again, that does not pile up.
        for prompt in ["Undone: Restored to before: fix it", "Redone: Restored to before: fix it"] {
            restore.head = restore.recorded_head();
            assert_eq!(restore.recorded_head().prompt, prompt);
        }
        restore.head = restore.recorded_head();
        assert_eq!(restore.recorded_head().prompt, "Undone: Restored to before: fix it");
    }

    #[test]
    fn what_a_restore_leads_to_is_said_by_the_turn_that_it_is_about() {
        let mut restore = restore(None);
        let before = |prompt: &str| Aim::Before(prompt.to_owned());
        let undoes = |prompt: &str| Aim::Undoes(prompt.to_owned());
        assert_eq!(restore.head.aim(), before("fix it"));
        for aim in [undoes("fix it"), before("fix it"), undoes("fix it")] {
            restore.head = restore.recorded_head();
            assert_eq!(restore.head.aim(), aim, "{}", restore.head.prompt);
        }
        // What a turn was asked is the user's word, whatever it looks like.
        restore.head = Head { prompt: "Undone: it".into(), kind: Kind::Turn, ..restore.head };
        assert_eq!(restore.head.aim(), before("Undone: it"));
    }

    #[test]
    fn without_changes_of_others_nothing_is_asked() {
        assert_eq!(question(3, &[]), None);
    }

    #[test]
    fn one_file_is_restored_or_left() {
        let question = question(1, &["a".into()]).expect("it was changed");
        assert_eq!(question.prompt, "a has changed since, by you or others");
        assert_eq!(question.choices, [Choice::All, Choice::Nothing]);
        assert_eq!(question.items[0], "Restore it anyway; that can be undone");
    }

    #[test]
    fn the_files_that_nobody_else_has_changed_can_be_restored_alone() {
        let some = question(3, &["a".into(), "b".into()]).expect("some were changed");
        assert_eq!(some.prompt, "2 of these 3 files have changed since, by you or others: a, b");
        assert_eq!(some.choices, [Choice::All, Choice::Unchanged, Choice::Nothing]);
        assert_eq!(some.items[1], "Restore only the other one");
        let all = question(2, &["a".into(), "b".into()]).expect("all were changed");
        assert_eq!(all.choices, [Choice::All, Choice::Nothing]);
    }
}
