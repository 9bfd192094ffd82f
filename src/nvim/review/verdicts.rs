//! Keeping and undoing what agents changed: what is meant is looked up file by file, asked about where the user's own
//! edits would go along, and done in slices. Which hunks a command means is left to `actions`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{Result, Table};

use crate::config::Stay;
use crate::core::changes::diff::Hunk;
use crate::core::changes::file_review::FileReview;
use crate::core::changes::hunk_page::plural;
use crate::core::changes::review::Part;
use crate::core::changes::review_page::{Listed, count_files, is_missing_meant};
use crate::core::changes::scope::Scope;
use crate::core::changes::text_edits::TextEdit;
use crate::core::changes::undo_question::UndoQuestion;
use crate::core::changes::undone::{Standing, UndoneHunk};
use crate::core::ids::{OriginId, SessionKey};
use crate::core::message::{Command, Content, HalfWritten, OnDisk, Outcome, PutBack, Work};
use crate::core::store::checkpoint::Held;
use crate::nvim::arguments::fail;
use crate::nvim::buffers::{self, open, saving};
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::actions::{Verdict, nothing_here};
use crate::nvim::review::decisions::{Decided, Decision};
use crate::platform::files::bytes_of_path;

/// So many files are gone through before the editor has its turn.
const MAX_FILES: usize = 16;

const PAUSE: Duration = Duration::from_millis(1);

/// Hunks of a file that are meant.
struct Found {
    path: PathBuf,
    hunks: Vec<usize>,
    /// Of other hunks only some lines are meant.
    parts: Vec<Part>,
    /// Those that hold the user's edits, and those that something else than what is meant has changed, too.
    mixed: BTreeSet<usize>,
    shared: BTreeSet<usize>,
    /// Hunks that the text does not hold are meant, too.
    is_missing_meant: bool,
}

impl Found {
    /// The hunks with which more would go than what is meant.
    fn held(&self) -> BTreeSet<usize> {
        &self.mixed | &self.shared
    }
}

fn question_about(found: &[Found], scope: &Scope) -> UndoQuestion {
    let count = |which: fn(&Found) -> usize| found.iter().map(which).sum();
    UndoQuestion {
        hunks: count(|found| found.hunks.len() + found.parts.len()),
        mixed: count(|found| found.mixed.len()),
        shared: count(|found| found.shared.len()),
        held: count(|found| found.held().len()),
        others: match scope {
            Scope::Call(..) => "calls",
            Scope::Session(_) => "sessions",
            _ => "turns",
        },
    }
}

/// What is being kept or undone.
struct Judging {
    verdict: Verdict,
    /// The last one is next.
    left: Vec<Found>,
    /// What was done so far.
    files: BTreeSet<PathBuf>,
    hunks: usize,
    /// Files that can't be undone, since their texts are not known.
    without: Vec<PathBuf>,
    decision: Decision,
}

impl Reviews {
    /// Keeps or undoes what is meant, once every review is up to date. Asks when the user's own edits
    /// would go along.
    pub fn decide_scope(&mut self, cx: &mut Context, verdict: Verdict, scope: Scope) -> Result<()> {
        let scope = self.with_both_names(scope);
        let paths: Vec<PathBuf> = match &scope {
            Scope::Renamed(both) => both.to_vec(),
            Scope::Rows(path, _)
            | Scope::Lines(path, _)
            | Scope::Hunk(path, _)
            | Scope::Part(path, ..)
            | Scope::File(path) => vec![path.clone()],
            // What agents did to files that nobody has opened yet is among it.
            _ => {
                return self.when_reports_are_known(cx, move |this: &mut Self, cx| {
                    let paths = this.meant(&scope);
                    if !paths.is_empty() {
                        return this.decide_next(cx, (verdict, scope), paths, Vec::new());
                    }
                    this.when_left_is_known(cx, move |this: &mut Self, cx| {
                        let paths = this.meant(&scope);
                        this.decide_next(cx, (verdict, scope), paths, Vec::new())
                    })
                });
            }
        };
        self.decide_next(cx, (verdict, scope), paths, Vec::new())
    }

    /// The files of which something is meant.
    fn meant(&self, scope: &Scope) -> Vec<PathBuf> {
        let is_meant = |(path, file): (&Path, Listed)| {
            file.meant(scope, &self.origins, path).is_some().then(|| path.to_owned())
        };
        self.listed().into_iter().filter_map(is_meant).collect()
    }

    /// Looks at one file after the other, then does what was found.
    fn decide_next(
        &mut self,
        cx: &mut Context,
        (verdict, scope): (Verdict, Scope),
        mut paths: Vec<PathBuf>,
        mut found: Vec<Found>,
    ) -> Result<()> {
        let Some(path) = paths.pop() else { return self.decide_found(cx, (verdict, scope), found) };
        if let Some(change) = self.unknown.get(&path)
            && self.origins.is_file_meant(&scope, &path, &[change.origin])
        {
            found.push(Found {
                path: path.clone(),
                hunks: Vec::new(),
                parts: Vec::new(),
                mixed: BTreeSet::new(),
                shared: BTreeSet::new(),
                is_missing_meant: false,
            });
        }
        if !self.files.contains_key(&path) {
            return self.decide_next(cx, (verdict, scope), paths, found);
        }
        self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| {
            if let Some(file) = this.files.get(&path).and_then(|reviewed| reviewed.file.as_deref()) {
                let (hunks, parts) = this.origins.parts_in(&scope, &path, file);
                let all = hunks.iter().copied().chain(parts.iter().map(|part| part.hunk));
                let mixed = all.filter(|hunk| file.is_mixed(*hunk)).collect();
                let shared = this.origins.shared_in(&scope, file, &hunks).into_iter().collect();
                let whole = file.without_hunks();
                let is_whole = whole.is_some_and(|last| this.origins.is_file_meant(&scope, &path, &[last]));
                let is_missing_meant = is_missing_meant(file, &scope, &this.origins, &path);
                if !hunks.is_empty() || !parts.is_empty() || is_whole || is_missing_meant {
                    found.push(Found { path, hunks, parts, mixed, shared, is_missing_meant });
                }
            }
            this.decide_next(cx, (verdict, scope), paths, found)
        })
    }

    fn decide_found(
        &mut self,
        cx: &mut Context,
        (verdict, scope): (Verdict, Scope),
        found: Vec<Found>,
    ) -> Result<()> {
        if found.is_empty() {
            // What was kept here can still be undone.
            if verdict == Verdict::Undo
                && let Scope::Rows(path, rows) | Scope::Lines(path, rows) = &scope
                && self.stand_kept(path, rows)
            {
                return self.decide_scope(cx, verdict, scope);
            }
            return fail(nothing_here(self, &cx.config.keys));
        }
        let question = question_about(&found, &scope);
        let Some(prompt) = question.prompt().filter(|_| verdict == Verdict::Undo) else {
            return self.judge(cx, verdict, found);
        };
        let items = question.items();
        let last = items.len() - 1;
        cx.offer(&prompt, "acp_undo", items, move |this: &mut Self, cx, index| match index {
            0 => this.judge(cx, verdict, found),
            index if index == last => Ok(()),
            _ => {
                let rest = found.into_iter().map(|mut found| {
                    let held = found.held();
                    found.hunks.retain(|hunk| !held.contains(hunk));
                    found.parts.retain(|part| !held.contains(&part.hunk));
                    found
                });
                this.judge(cx, verdict, rest.collect())
            }
        });
        Ok(())
    }

    fn judge(&mut self, cx: &mut Context, verdict: Verdict, mut found: Vec<Found>) -> Result<()> {
        if verdict == Verdict::Undo {
            // They are gone through from the last on: what goes makes room for what comes back in its place.
            found.sort_by_key(|found| self.is_new(&found.path).then(|| found.path.components().count()));
        }
        let judging = Judging {
            verdict,
            left: found,
            files: BTreeSet::new(),
            hunks: 0,
            without: Vec::new(),
            decision: Decision::default(),
        };
        self.judge_some(cx, judging)
    }

    /// Whether nothing was there before.
    fn is_new(&self, path: &Path) -> bool {
        let file = self.files.get(path).and_then(|reviewed| reviewed.file.as_ref());
        let unknown = self.unknown.get(path).and_then(|change| change.undo.as_ref());
        file.is_some_and(|file| file.is_there && !file.was_there) || unknown.is_some_and(PutBack::removes)
    }

    /// Goes through some of the files, then the editor has its turn.
    fn judge_some(&mut self, cx: &mut Context, mut judging: Judging) -> Result<()> {
        let now = judging.left.split_off(judging.left.len().saturating_sub(MAX_FILES));
        for Found { path, hunks, parts, is_missing_meant, .. } in now.into_iter().rev() {
            judging.files.insert(path.clone());
            let count = hunks.len() + parts.len();
            judging.hunks += count;
            self.outdate(&path);
            if is_missing_meant {
                self.forget_missing(&path);
            }
            if self.unknown.contains_key(&path) {
                match judging.verdict {
                    Verdict::Keep => {
                        let change = self.unknown.remove(&path);
                        judging.decision.unknown.extend(change.map(|change| (path.clone(), change)));
                    }
                    Verdict::Undo if self.undo_unknown(cx, &path) => {}
                    Verdict::Undo => judging.without.push(path.clone()),
                }
            }
            let reviewed = self.files.get(&path);
            let was = reviewed.and_then(|reviewed| reviewed.file.clone());
            let buf = reviewed.and_then(|reviewed| reviewed.buf).filter(|buf| cx.editor.buf_is_loaded(*buf));
            let content = buf.map(|buf| saving::Content::now(&cx.editor, buf)).transpose()?;
            match judging.verdict {
                Verdict::Keep => {
                    if let Some(was) = &was {
                        self.undone.keeps(&path, || Standing::of(&was.hunks()));
                    }
                    self.keep_in(&path, (&hunks, &parts));
                }
                Verdict::Undo => self.undo_in(cx, &path, (&hunks, &parts))?,
            }
            let now = self.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
            if let (Some(was), Some(now)) = (was, now) {
                let after = now.text_identity();
                let decided = Decided::new(path.clone(), was, after);
                judging.decision.files.push(Decided { content, ..decided });
            }
            match judging.verdict {
                Verdict::Keep => judging.decision.hunks.0 += count,
                Verdict::Undo => judging.decision.hunks.1 += count,
            }
        }
        if !judging.left.is_empty() {
            return cx.later(PAUSE, |this: &mut Self, cx| this.judge_some(cx, judging));
        }
        let (kept, undone) = judging.decision.hunks;
        self.decided = (self.decided.0 + kept, self.decided.1 + undone);
        let gone = gone_again(cx, &judging.decision);
        self.decisions.add(std::mem::take(&mut judging.decision));
        self.draw_reviews(cx)?;
        self.say_judged(cx, &judging, gone)
    }

    fn say_judged(&self, cx: &mut Context, judging: &Judging, gone: Option<String>) -> Result<()> {
        let Judging { verdict, files, hunks, without, .. } = judging;
        if *hunks > 1 {
            let what = if *verdict == Verdict::Keep { "kept" } else { "undid" };
            let files = match count_files(files.iter().map(PathBuf::as_path), &self.renamed) {
                1 => String::new(),
                files => format!(" in {files} files"),
            };
            let gone = gone.map(|gone| format!("; {gone}")).unwrap_or_default();
            cx.notify(format!("{what} {hunks} hunks{files}{gone}"), Level::Info);
        } else if let Some(gone) = gone {
            cx.notify(format!("{gone}; :Acp undo last brings it back"), Level::Info);
        }
        let Some(first) = without.first() else { return Ok(()) };
        let name = cx.short_name(None, first);
        let why = self.unknown.get(first).map(|change| change.why.clone()).unwrap_or_default();
        let more = match without.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more {}", plural(more, "file")),
        };
        let text = format!("couldn't undo {name}{more}: {why}; :Acp checkpoints has what was kept");
        cx.notify(text, Level::Warn);
        Ok(())
    }

    /// The user does not want to hear of hunks any more that the file does not hold.
    fn forget_missing(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path).and_then(|reviewed| reviewed.file.as_mut()) {
            file.forget_missing();
        }
    }

    pub fn keep_in(&mut self, path: &Path, (hunks, parts): (&[usize], &[Part])) {
        let Some(reviewed) = self.files.get_mut(path) else { return };
        let Some(file) = &mut reviewed.file else { return };
        for piece in pieces(hunks, parts) {
            match piece {
                Piece::Hunk(hunk) => file.keep(hunk),
                Piece::Part(part) => file.keep_part(part),
            }
        }
        if file.without_hunks().is_some() {
            file.keep_all();
        }
        reviewed.touched = true;
        self.outdate(path);
    }

    fn undo_in(&mut self, cx: &mut Context, path: &Path, (hunks, parts): (&[usize], &[Part])) -> Result<()> {
        let editor = cx.editor.clone();
        let Some(reviewed) = self.files.get_mut(path) else { return Ok(()) };
        let buf = reviewed.buf.filter(|buf| editor.buf_is_loaded(*buf));
        if let Some(buf) = buf
            && !editor.buf_option::<bool>(buf, "modifiable")?
        {
            return fail(format!(
                "couldn't undo in {}: its buffer is not 'modifiable'",
                cx.short_name(None, path)
            ));
        }
        let Some(file) = &mut reviewed.file else { return Ok(()) };
        let was = file.clone();
        let all = was.hunks();
        let of_parts = parts.iter().filter_map(|part| Some((part_of(all.get(part.hunk)?, part), part.hunk)));
        let told = hunks.iter().filter_map(|hunk| Some((all.get(*hunk)?.clone(), *hunk))).chain(of_parts);
        let told: Vec<_> = told.collect();
        let undone = pieces(hunks, parts).into_iter().filter_map(|piece| match piece {
            Piece::Hunk(hunk) => file.undo(hunk),
            Piece::Part(part) => file.undo_part(part),
        });
        let edits: Vec<TextEdit> = undone.map(TextEdit::from).collect();
        if was.without_hunks().is_some() {
            file.undo_whole();
        }
        let removed = !file.is_there && was.is_there;
        let text = file.current();
        let there = file.is_there;
        reviewed.touched = true;
        let before = Standing::of(&all);
        for (undone, at) in &told {
            let origins = was.origins(*at);
            let origin = origins.iter().next_back().and_then(|origin| self.origins.get(*origin));
            if let Some(session) = origin.map(|origin| origin.session) {
                let hunk = UndoneHunk { path, undone, whole: &all[*at], before: &before };
                self.note_undone(cx, session, &hunk);
            }
        }
        let is_clean = |buf: &Buf| !buffers::is_modified(&editor, *buf);
        if let Some(buf) = buf.filter(is_clean).filter(|_| removed) {
            self.leave_buffer(cx, buf)?;
            // A buffer without a file, and without a line, is of no use.
            cx.run_effect("couldn't drop the buffer", move |editor| editor.helper::<()>("drop_buffer", buf));
        }
        let Some(buf) = buf.filter(|buf| !removed || !is_clean(buf)) else {
            let expected = was.is_there.then(|| was.current());
            let lines = there.then_some(text);
            let what = match self.original(path, lines.as_deref()) {
                Some(held) => PutBack::Exactly { expected, held: held.clone() },
                None => PutBack::Lines { expected, lines },
            };
            return self.put_back(cx, path, what, was);
        };
        // A step of its own for `u`: what came before must not be undone along with it.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let original = self.original(path, there.then_some(&text)).cloned();
        let content = match original.as_ref().and_then(Held::as_text) {
            Some(original) => saving::Content::of(original, &editor.buf_option::<String>(buf, "fileformat")?),
            None => saving::Content::as_before(&editor, buf)?,
        };
        let done = saving::write(&editor, buf, &edits, &content);
        cx.raise(EditorEvent::FileWritten(path.to_owned()));
        self.set_reviewed_tick(cx, path, buf)?;
        if let Err(why) = done {
            self.review_again(cx, path, buf)?;
            return fail(format!("couldn't undo in {}: {why}", cx.short_name(None, path)));
        }
        if removed {
            return self.remove_past_buffer(cx, path, buf, was);
        }
        match original.map(|held| held.mode()) {
            Some(mode) if mode.0.is_some() && !buffers::is_modified(&editor, buf) => {
                self.put_back(cx, path, PutBack::Mode(mode), was)
            }
            _ => Ok(()),
        }
    }

    /// Takes a file from the disk whose buffer is not saved: the disk has what its edits began with.
    fn remove_past_buffer(
        &mut self,
        cx: &mut Context,
        path: &Path,
        buf: Buf,
        was: Box<FileReview>,
    ) -> Result<()> {
        let removal = |expected: String| PutBack::Lines { expected: Some(expected), lines: None };
        if let Some(saved) = cx.buffers.held(path).and_then(|held| held.saved.clone()) {
            return self.put_back(cx, path, removal(saved.plain_lines().into()), was);
        }
        if cx.editor.helper("is_behind_now", buf)? {
            return self.put_back(cx, path, removal(was.current()), was);
        }
        // Nobody has looked yet, and the file is still the one that the buffer knows.
        let work = Work::Examine {
            path: path.to_owned(),
            encoding: cx.editor.buf_option(buf, "fileencoding")?,
            known: None,
            half: HalfWritten::Take,
        };
        let path = path.to_owned();
        self.decisions.begin_to_put_back();
        cx.compute(work, move |this: &mut Self, cx, outcome| {
            let expected = match outcome {
                Outcome::Examined(OnDisk::Text { text, .. }) => text.plain_lines().into(),
                _ => was.current(),
            };
            let done = this.put_back(cx, &path, removal(expected), was);
            this.decisions.end_to_put_back();
            done
        });
        Ok(())
    }

    /// The agent is to know that what it wrote is not there any more.
    fn note_undone(&mut self, cx: &Context, key: SessionKey, hunk: &UndoneHunk) {
        if let Some(session) = cx.sessions.get(&key) {
            self.undone.add_hunk(key, &session.place.cwd, hunk);
        }
    }

    /// A prompt is sent: gives it with what the user has undone since the last one. Reviews that stay until then end.
    pub fn prompted(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        content: Vec<Content>,
    ) -> Result<Vec<Content>> {
        let content = self.with_undone(cx, key, content);
        self.settle_reviews(cx, key, Stay::Prompt)?;
        Ok(content)
    }

    /// A prompt with what the agent has to be told beside it.
    fn with_undone(&mut self, cx: &Context, key: SessionKey, mut content: Vec<Content>) -> Vec<Content> {
        let file = |path: &Path| self.files.get(path).and_then(|reviewed| reviewed.file.as_deref());
        let now = |path: &Path| Standing::of(&file(path).map(FileReview::hunks).unwrap_or_default());
        let undone = self.undone.take(key, now).filter(|_| cx.config.diff.tell_undone);
        content.extend(undone.map(|text| Content::Text(text.into())));
        content
    }

    pub fn put_back(
        &mut self,
        cx: &mut Context,
        path: &Path,
        what: PutBack,
        was: Box<FileReview>,
    ) -> Result<()> {
        let named = path.to_owned();
        let (now, is_there) = (what.text(), !what.removes());
        self.decisions.begin_to_put_back();
        let job = cx.expect_outcome(move |this: &mut Self, cx, outcome| {
            this.decisions.end_to_put_back();
            let done = match outcome {
                Outcome::PutBack(done) => {
                    if done.is_ok() {
                        if is_there {
                            show_again(cx, named.clone());
                        }
                        cx.raise(EditorEvent::FilePutBack { path: named.clone(), now });
                    }
                    this.was_put_back(cx, &named, was, done)
                }
                _ => Ok(()),
            };
            if this.decisions.take_wish() {
                this.take_back(cx)?;
            }
            done
        });
        let folders = self.made_since(cx, path, &[]);
        cx.send(Command::PutBack { job, path: path.to_owned(), what, folders });
        Ok(())
    }

    /// The project that a file is in, and when the turn began that the file was made in, if it was.
    fn made_since(&self, cx: &Context, path: &Path, origins: &[OriginId]) -> Option<(PathBuf, u64)> {
        let last = self.files.get(path).and_then(|reviewed| reviewed.file.as_ref()?.last());
        let origin = self.origins.get(origins.first().copied().or(last)?)?;
        Some((self.project_of(cx, path), origin.since.0))
    }

    /// Undoes a change that has no hunks, if it can be.
    fn undo_unknown(&mut self, cx: &mut Context, path: &Path) -> bool {
        let Some(what) = self.unknown.get(path).and_then(|change| change.undo.clone()) else { return false };
        let change = self.unknown.remove(path);
        let origin = change.as_ref().map(|change| change.origin);
        let folders = self.made_since(cx, path, origin.as_slice());
        let named = path.to_owned();
        let job = cx.expect_outcome(move |this: &mut Self, cx, outcome| {
            cx.raise(EditorEvent::FileWritten(named.clone()));
            this.draw_panel_once(cx);
            let Outcome::PutBack(Err(why)) = outcome else {
                cx.raise(EditorEvent::FileReplaced(named));
                return Ok(());
            };
            let text = format!("couldn't undo in {}: {why}", cx.short_name(None, &named));
            cx.notify(text, Level::Error);
            this.outdate(&named);
            this.unknown.extend(change.map(|change| (named, change)));
            Ok(())
        });
        cx.send(Command::PutBack { job, path: path.to_owned(), what, folders });
        true
    }
}

/// A file whose buffer went with it is there again.
fn show_again(cx: &mut Context, path: PathBuf) {
    cx.run_effect("couldn't show the file again", move |editor| {
        let name = editor.string(bytes_of_path(&path))?;
        let Some(wins) = editor.helper::<Option<Table>>("take_dropped", name)? else { return Ok(()) };
        let buf = open::load(editor, &path)?;
        open::list(editor, buf)?;
        editor.helper::<()>("show_dropped", (wins, buf))
    });
}

/// The new files that a decision has taken away.
fn gone_again(cx: &Context, decision: &Decision) -> Option<String> {
    let is_gone = |decided: &&Decided| decided.was.is_there && decided.after.is_none();
    let gone: Vec<&Decided> = decision.files.iter().filter(is_gone).collect();
    match gone.as_slice() {
        [] => None,
        [one] => Some(format!("{} is gone again", cx.short_name(None, &one.path))),
        all => Some(format!("{} new files are gone again", all.len())),
    }
}

/// A hunk, or some lines of one.
enum Piece<'a> {
    Hunk(usize),
    Part(&'a Part),
}

/// All of them from the last hunk up, so that those before stay where they are.
fn pieces<'a>(hunks: &[usize], parts: &'a [Part]) -> Vec<Piece<'a>> {
    let hunks = hunks.iter().map(|hunk| (*hunk, Piece::Hunk(*hunk)));
    let mut all: Vec<_> = hunks.chain(parts.iter().map(|part| (part.hunk, Piece::Part(part)))).collect();
    all.sort_by_key(|(hunk, _)| std::cmp::Reverse(*hunk));
    all.into_iter().map(|(_, piece)| piece).collect()
}

/// Some lines of a hunk as one of their own.
fn part_of(hunk: &Hunk, part: &Part) -> Hunk {
    let lines = |lines: &[String], part: &std::ops::Range<usize>| {
        lines.get(part.clone()).map(<[String]>::to_vec).unwrap_or_default()
    };
    Hunk {
        row: hunk.row + part.added.start,
        removed: lines(&hunk.removed, &part.removed),
        added: lines(&hunk.added, &part.added),
    }
}
