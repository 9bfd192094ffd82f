//! Judging what agents changed: going from hunk to hunk, keeping and undoing them by the hunk, lines,
//! file, call, turn or session.

use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table, Value};

use crate::config::Pane;
use crate::core::changes::diff::Hunk;
use crate::core::changes::file_review::FileReview;
use crate::core::changes::scope::Scope;
use crate::core::changes::stepping::step;
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Content, Outcome, PutBack};
use crate::core::store::checkpoint::Held;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::open;
use crate::nvim::buffers::saving;
use crate::nvim::context::Context;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::{Buf, Level, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;

/// A chat, and the entry that the cursor is on in it.
pub type ChatEntry = (SessionKey, Option<EntryId>);

/// What is to become of hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Undo,
}

const NOTHING_HERE: &str = "no agent has changed anything here; ]c goes to the next change";

impl Reviews {
    pub fn decide_hunks(
        &mut self,
        cx: &mut Context,
        verdict: Verdict,
        args: &Args,
        entry: Option<ChatEntry>,
    ) -> Result<()> {
        let scope = self.scope(cx, args, entry)?;
        self.decide_scope(cx, verdict, scope)
    }

    /// What a command's word, its range, or the cursor's position means. `entry` is what the cursor is on in a chat.
    pub fn scope(&self, cx: &Context, args: &Args, entry: Option<ChatEntry>) -> Result<Scope> {
        let buf = cx.editor.current_buf()?;
        let here = self.path_of(buf).map(Path::to_owned);
        let latest = self.origins.latest(cx.session_here()).or(self.origins.latest(None)).cloned();
        if let (None, Some((key, entry))) = (args.first(), entry) {
            let is_call = |entry: &EntryId| {
                let entry = cx.sessions.get(&key).and_then(|session| session.entry(*entry));
                entry.is_some_and(|entry| entry.tool().is_some())
            };
            return match entry.filter(is_call) {
                Some(entry) => Ok(Scope::Call(key, entry)),
                None => fail("the cursor is not on a tool call; say which: file, turn, session or all"),
            };
        }
        match (args.first(), here) {
            (Some("all"), _) => Ok(Scope::All),
            (Some("session"), _) => match latest {
                Some(origin) => Ok(Scope::Session(origin.session)),
                None => fail("no agent has changed a file yet"),
            },
            (Some("turn"), _) => match latest {
                Some(origin) => Ok(Scope::Turn(origin.session, origin.prompt)),
                None => fail("no agent has changed a file yet"),
            },
            (Some("file"), Some(path)) => Ok(Scope::File(path)),
            (None | Some("hunk"), Some(path)) => {
                let rows = match args.range {
                    Some(range) => range.first.saturating_sub(1)..range.last,
                    None => {
                        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
                        row..row + 1
                    }
                };
                Ok(Scope::Rows(path, rows))
            }
            (None | Some("file" | "hunk"), None) => fail(NOTHING_HERE),
            (Some(other), _) => fail(format!("it takes hunk, file, turn, session or all, not {other:?}")),
        }
    }

    /// Keeps or undoes what is meant, once every review is up to date. Asks when the user's own edits
    /// would go along.
    pub fn decide_scope(&mut self, cx: &mut Context, verdict: Verdict, scope: Scope) -> Result<()> {
        let paths: Vec<PathBuf> = match &scope {
            Scope::Rows(path, _) | Scope::Hunk(path, _) | Scope::File(path) => vec![path.clone()],
            // What agents did to files that nobody has opened yet is among it.
            _ => {
                return self.when_reports_are_known(cx, move |this: &mut Self, cx| {
                    let paths = this.files.keys().cloned().collect();
                    this.decide_next(cx, (verdict, scope), paths, Vec::new())
                });
            }
        };
        self.decide_next(cx, (verdict, scope), paths, Vec::new())
    }

    /// Looks at one file after the other, then does what was found.
    fn decide_next(
        &mut self,
        cx: &mut Context,
        (verdict, scope): (Verdict, Scope),
        mut paths: Vec<PathBuf>,
        mut found: Vec<Found>,
    ) -> Result<()> {
        let Some(path) = paths.pop() else { return self.decide_found(cx, verdict, found) };
        self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| {
            if let Some(file) = this.files.get(&path).and_then(|reviewed| reviewed.file.as_deref()) {
                let hunks = this.origins.hunks_in(&scope, &path, file);
                let mixed = hunks.iter().copied().filter(|hunk| file.is_mixed(*hunk)).collect();
                if !hunks.is_empty() {
                    found.push(Found { path, hunks, mixed });
                }
            }
            this.decide_next(cx, (verdict, scope), paths, found)
        })
    }

    fn decide_found(&mut self, cx: &mut Context, verdict: Verdict, found: Vec<Found>) -> Result<()> {
        let count = |which: fn(&Found) -> usize| found.iter().map(which).sum::<usize>();
        let (all, mixed) = (count(|found| found.hunks.len()), count(|found| found.mixed.len()));
        if all == 0 {
            return fail(NOTHING_HERE);
        }
        if verdict == Verdict::Keep || mixed == 0 {
            return self.judge(cx, verdict, found);
        }
        let (prompt, mut items) = match all {
            1 => {
                ("You have changed this hunk, too".to_owned(), vec!["Undo it with my edits in it".to_owned()])
            }
            _ => (
                format!("You have changed {mixed} of these {all} hunks, too"),
                vec!["Undo all of them with my edits in them".to_owned()],
            ),
        };
        if mixed < all {
            items.push(format!("Undo the other {} alone", all - mixed));
        }
        items.push("Leave it as it is".to_owned());
        let last = items.len() - 1;
        cx.offer(&prompt, "acp_undo", items, move |this: &mut Self, cx, index| match index {
            0 => this.judge(cx, verdict, found),
            index if index == last => Ok(()),
            _ => {
                let rest = found.into_iter().map(|mut found| {
                    found.hunks.retain(|hunk| !found.mixed.contains(hunk));
                    found
                });
                this.judge(cx, verdict, rest.collect())
            }
        });
        Ok(())
    }

    fn judge(&mut self, cx: &mut Context, verdict: Verdict, found: Vec<Found>) -> Result<()> {
        let (files, mut hunks) = (found.len(), 0);
        for Found { path, hunks: of_file, .. } in found {
            hunks += of_file.len();
            match verdict {
                Verdict::Keep => self.keep_in(&path, &of_file),
                Verdict::Undo => self.undo_in(cx, &path, &of_file)?,
            }
            match verdict {
                Verdict::Keep => self.decided.0 += of_file.len(),
                Verdict::Undo => self.decided.1 += of_file.len(),
            }
        }
        self.draw_reviews(cx)?;
        if hunks > 1 {
            let what = if verdict == Verdict::Keep { "kept" } else { "undid" };
            let files = if files == 1 { String::new() } else { format!(" in {files} files") };
            let text = format!("{what} {hunks} hunks{files}");
            cx.advise(text, Level::Info);
        }
        Ok(())
    }

    pub fn keep_in(&mut self, path: &Path, hunks: &[usize]) {
        let Some(reviewed) = self.files.get_mut(path) else { return };
        let Some(file) = &mut reviewed.file else { return };
        hunks.iter().rev().for_each(|hunk| file.keep(*hunk));
        reviewed.touched = true;
    }

    fn undo_in(&mut self, cx: &mut Context, path: &Path, hunks: &[usize]) -> Result<()> {
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
        let told: Vec<_> =
            hunks.iter().filter_map(|hunk| Some((all.get(*hunk)?.clone(), was.origins(*hunk)))).collect();
        let edits: Vec<TextEdit> =
            hunks.iter().rev().filter_map(|hunk| file.undo(*hunk)).map(TextEdit::from).collect();
        let removed = !file.is_there && was.is_there;
        let text = file.current();
        let there = file.is_there;
        reviewed.touched = true;
        for (hunk, origins) in told {
            let origin = origins.iter().next_back().and_then(|origin| self.origins.get(*origin));
            if let Some(session) = origin.map(|origin| origin.session) {
                self.note_undone(cx, session, path, &hunk);
            }
        }
        let Some(buf) = buf else {
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
        self.set_reviewed_tick(cx, path, buf)?;
        if let Err(why) = done {
            self.review_again(cx, path, buf)?;
            return fail(format!("couldn't undo in {}: {why}", cx.short_name(None, path)));
        }
        if removed {
            let what = PutBack::Lines { expected: Some(String::new()), lines: None };
            return self.put_back(cx, path, what, was);
        }
        match original.map(|held| held.mode()) {
            Some(mode) if mode.0.is_some() && !is_modified(&editor, buf) => {
                self.put_back(cx, path, PutBack::Mode(mode), was)
            }
            _ => Ok(()),
        }
    }

    /// The agent is to know that what it wrote is not there any more.
    fn note_undone(&mut self, cx: &Context, key: SessionKey, path: &Path, hunk: &Hunk) {
        if let Some(session) = cx.sessions.get(&key) {
            self.undone.add_hunk(key, &session.place.cwd, path, hunk);
        }
    }

    /// A prompt with what the agent has to be told beside it.
    pub fn with_undone(&mut self, cx: &Context, key: SessionKey, mut content: Vec<Content>) -> Vec<Content> {
        let undone = self.undone.take(key).filter(|_| cx.config.diff.tell_undone);
        content.extend(undone.map(|text| Content::Text(text.into())));
        content
    }

    fn put_back(&mut self, cx: &mut Context, path: &Path, what: PutBack, was: Box<FileReview>) -> Result<()> {
        let named = path.to_owned();
        let job = cx.expect_outcome(move |this: &mut Self, cx, outcome| match outcome {
            Outcome::PutBack(done) => this.was_put_back(cx, &named, was, done),
            _ => Ok(()),
        });
        cx.send(Command::PutBack { job, path: path.to_owned(), what });
        Ok(())
    }

    /// Goes to the next or previous hunk; past the last of a file, to the next file that has some.
    pub fn step_hunk(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        let win = cx.editor.current_win()?;
        let buf = cx.editor.current_buf()?;
        let diff: bool = cx.editor.win_option(win, "diff")?;
        let count: usize = cx.editor.module("v")?.get("count1")?;
        let key = if forward { "]c" } else { "[c" };
        if diff {
            let before = cx.editor.cursor(win)?;
            cx.editor.command(&format!("normal! {count}{key}"))?;
            return if cx.editor.cursor(win)? == before { self.step_past_split(cx, forward) } else { Ok(()) };
        }
        let row = cx.editor.cursor(win)?.0 - 1;
        let here = self.path_of(buf).map(Path::to_owned);
        let mut places: Vec<(PathBuf, usize)> = Vec::new();
        for (path, _, file) in self.open() {
            let last = file.line_count() - 1;
            places.extend(file.hunks().iter().map(|hunk| (path.to_owned(), hunk.row.min(last))));
        }
        let now = (here.unwrap_or_default(), row);
        match step(&places, &now, count, forward) {
            Some((path, row)) => self.go_to_row(cx, &path, row),
            None => fail("nothing is left to decide; agents' changes are all kept or undone"),
        }
    }

    /// Shows a row of a file in the current window, as a jump.
    pub fn go_to_row(&mut self, cx: &mut Context, path: &Path, row: usize) -> Result<()> {
        let win = cx.editor.current_win()?;
        if self.path_of(cx.editor.win_buf(win)?) == Some(path) {
            cx.editor.command("normal! m'")?;
            return go_to_row_in(cx, win, row);
        }
        let named = path.to_owned();
        cx.look_first(path, move |_: &mut Self, cx, look| {
            match look {
                look if look.finds_file() => {}
                Look::Silent => {
                    let name = cx.short_name(None, &named);
                    return fail(format!("couldn't open {name}: its disk does not answer"));
                }
                _ => {
                    let name = cx.short_name(None, &named);
                    return fail(format!("{name} is gone; :Acp undo all brings it back"));
                }
            }
            if cx.editor.current_win()? != win {
                return Ok(());
            }
            cx.editor.command("normal! m'")?;
            let Some(code) = code_window(&cx.editor)? else { return Ok(()) };
            let buf = open::load(&cx.editor, &named)?;
            cx.editor.set_current_win(code)?;
            cx.editor.set_win_buf(code, buf)?;
            cx.raise(EditorEvent::BufferLoaded(buf));
            cx.after_events(move |_: &mut Self, cx| go_to_row_in(cx, code, row));
            Ok(())
        });
        Ok(())
    }

    /// The keys in a file that an agent changed. A buffer's own are left alone.
    pub fn bind_file_keys(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let editor = cx.editor.clone();
        let keymap: Table = editor.module("keymap")?;
        let set: Function = keymap.get("set")?;
        let taken: Vec<Table> = editor.api("nvim_buf_get_keymap", (buf, "n"))?;
        let taken: Vec<String> = taken.iter().filter_map(|map| map.get("lhs").ok()).collect();
        for (key, lhs) in cx.config.keys.of(Pane::File) {
            if taken.iter().any(|other| other == lhs) {
                continue;
            }
            let action = crate::nvim::keys::bind::key_action(&editor.lua, key.name)?;
            let options = editor.table([
                ("buffer", Value::Integer(buf.0)),
                ("desc", editor.string(format!("acp: {}", key.about.trim_end_matches('.')))?),
            ])?;
            set.call::<()>((key.modes.to_vec(), lhs, action, options))?;
        }
        Ok(())
    }
}

fn go_to_row_in(cx: &mut Context, win: Win, row: usize) -> Result<()> {
    let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
    cx.editor.set_cursor(win, (row + 1).min(last), 0)?;
    cx.editor.command("normal! zv")
}

/// Hunks of a file that are meant, and those of them that hold the user's edits.
struct Found {
    path: PathBuf,
    hunks: Vec<usize>,
    mixed: Vec<usize>,
}
