//! Taking back what was decided: the hunks are there again, and with them the text, as long as nobody has changed it
//! since. What was decided is remembered by `decisions`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::changes::file_review::FileReview;
use crate::core::changes::review_page::count_files;
use crate::core::changes::text_edits::TextEdit;
use crate::core::message::PutBack;
use crate::core::store::checkpoint::Held;
use crate::nvim::arguments::fail;
use crate::nvim::buffers::{is_modified, saving};
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::decisions::{Decided, text_of};

/// What became of a decision about a file.
enum Outcome {
    Done,
    /// What was kept is not there any more, and what was there before is.
    UndoneBefore,
    /// The text is another one since.
    Changed,
}

impl Reviews {
    /// Takes back the last decision, or what was written in the review.
    pub fn take_back(&mut self, cx: &mut Context) -> Result<()> {
        if self.decisions.want_back() {
            return Ok(());
        }
        let Some(decision) = self.decisions.take_last() else {
            return fail("no decision of this Neovim is left to take back");
        };
        let (mut done, mut undone_before, mut changed) = (Vec::new(), Vec::new(), Vec::new());
        // A page that was opened since counts from then on.
        let (kept, undone) = decision.hunks;
        self.decided = (self.decided.0.saturating_sub(kept), self.decided.1.saturating_sub(undone));
        for (path, change) in decision.unknown {
            self.outdate(&path);
            self.unknown.insert(path.clone(), change);
            done.push(path);
        }
        for decided in decision.files {
            let path = decided.path.clone();
            match self.take_back_in(cx, decided)? {
                Outcome::Done => done.push(path),
                Outcome::UndoneBefore => undone_before.push(path),
                Outcome::Changed => changed.push(path),
            }
        }
        self.draw_reviews(cx)?;
        let in_files = |paths: &[PathBuf]| {
            let count = count_files(paths.iter().map(PathBuf::as_path), &self.renamed);
            match paths.first().filter(|_| count == 1) {
                Some(only) => cx.short_name(None, only),
                None => format!("{count} files"),
            }
        };
        if let Some(first) = changed.first() {
            let name = cx.short_name(None, first);
            let more =
                if changed.len() > 1 { format!(" and {} more", changed.len() - 1) } else { String::new() };
            let text = format!("couldn't take back the decision in {name}{more}: it was changed since");
            cx.notify(text, Level::Warn);
            return Ok(());
        }
        let taken = || format!("took back the last decision in {}", in_files(&done));
        let undone = || format!("what was kept in {} is undone already", in_files(&undone_before));
        let text = match (done.is_empty(), undone_before.is_empty()) {
            (_, true) => taken(),
            (true, false) => undone(),
            (false, false) => format!("{}; {}", taken(), undone()),
        };
        cx.notify(text, Level::Info);
        Ok(())
    }

    /// The command that brings a file back which is gone: an agent has removed it, or the user has had it undone.
    pub fn brings_back(&self, path: &Path) -> &'static str {
        let file = self.files.get(path).and_then(|reviewed| reviewed.file.as_ref());
        if file.is_some_and(|file| !file.is_settled()) { ":Acp undo all" } else { ":Acp undo last" }
    }

    fn take_back_in(&mut self, cx: &mut Context, decided: Decided) -> Result<Outcome> {
        let is_kept = decided.is_kept();
        let Decided { path, was, after, content, .. } = decided;
        let Some(reviewed) = self.files.get_mut(&path) else { return Ok(Outcome::Changed) };
        let Some(file) = &mut reviewed.file else { return Ok(Outcome::Changed) };
        if file.text_identity() != after {
            if !is_kept {
                return Ok(Outcome::Changed);
            }
            let undecided = was.undecided();
            // As Neovim's undo does it to what was kept.
            let is_undone = file.has_undone(&undecided);
            let stand = file.stand(undecided, false);
            reviewed.touched = true;
            self.outdate(&path);
            return Ok(match (stand, is_undone) {
                (1.., _) => Outcome::Done,
                (0, true) => Outcome::UndoneBefore,
                (0, false) => Outcome::Changed,
            });
        }
        let buf = reviewed.buf.filter(|buf| cx.editor.buf_is_loaded(*buf));
        let now = std::mem::replace(file, was.clone());
        file.taken_back(&now);
        reviewed.touched = true;
        self.outdate(&path);
        if is_kept {
            return Ok(Outcome::Done);
        }
        let unsaved = buf.filter(|buf| is_modified(&cx.editor, *buf));
        match buf.filter(|buf| was.is_there && (now.is_there || unsaved == Some(*buf))) {
            Some(buf) => self.write_again(cx, (&path, buf), (&now, &was), content)?,
            None => {
                let lines = text_of(&was);
                let has_lines = |held: &Held| {
                    let text = held.as_text().zip(lines.as_deref());
                    text.is_some_and(|(text, lines)| *text.plain_lines() == *lines)
                };
                let held = self.decisions.take_replaced(&path).filter(has_lines);
                let expected = text_of(&now);
                let what = match held {
                    Some(held) => PutBack::Exactly { expected, held },
                    None => PutBack::Lines { expected, lines },
                };
                self.put_back(cx, &path, what, now)?;
                return Ok(Outcome::Done);
            }
        }
        // The disk has had the file without the edits that the buffer has unsaved again.
        if unsaved.is_some()
            && !now.is_there
            && let Some(held) = self.decisions.take_replaced(&path)
        {
            self.put_back(cx, &path, PutBack::Exactly { expected: None, held }, now)?;
        }
        Ok(Outcome::Done)
    }

    /// Has a buffer hold what it held before a decision.
    fn write_again(
        &mut self,
        cx: &mut Context,
        (path, buf): (&Path, Buf),
        (now, was): (&FileReview, &FileReview),
        content: Option<saving::Content>,
    ) -> Result<()> {
        let editor = cx.editor.clone();
        if !editor.buf_option::<bool>(buf, "modifiable")? {
            return fail(format!(
                "couldn't change {}: its buffer is not 'modifiable'",
                cx.short_name(None, path)
            ));
        }
        let edits: Vec<TextEdit> = now.difference(&was.current()).map(TextEdit::from).into_iter().collect();
        // A step of its own for `u`.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let content = match content {
            Some(content) => content,
            None => saving::Content::as_before(&editor, buf)?,
        };
        let done = saving::write(&editor, buf, &edits, &content);
        if !is_modified(&editor, buf) {
            cx.raise(EditorEvent::FileWritten(path.to_owned()));
        }
        self.set_reviewed_tick(cx, path, buf)?;
        match done {
            Ok(()) => Ok(()),
            Err(why) => {
                self.review_again(cx, path, buf)?;
                fail(format!("couldn't change {}: {why}", cx.short_name(None, path)))
            }
        }
    }

    /// Has hunks that were kept at these rows stand again; says whether there are any.
    pub fn stand_kept(&mut self, path: &Path, rows: &Range<usize>) -> bool {
        let Some(file) = self.files.get_mut(path).and_then(|reviewed| reviewed.file.as_mut()) else {
            return false;
        };
        let meets = |row: usize, count: usize| row < rows.end && rows.start < row + count.max(1);
        for was in self.decisions.kept(path) {
            let mut here = was.undecided();
            here.retain(|one| {
                let row = one.anchor.find(file.lines());
                row.is_some_and(|row| meets(row, one.anchor.hunk.added.len()))
            });
            if !here.is_empty() {
                file.stand(here, false);
                return !file.hunks_at(rows.clone()).is_empty();
            }
        }
        false
    }
}
