//! Judging what agents changed: going from hunk to hunk, keeping and undoing them by the hunk, lines,
//! file, call, turn or session.

use std::ops::Range;
use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table, Value};

use crate::config::Pane;
use crate::core::changes::diff::{Hunk, counts};
use crate::core::changes::file_review::FileReview;
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Content};
use crate::nvim::actions::{Args, fail};
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::saving;
use crate::nvim::editor::{Buf, Level, Win};
use crate::nvim::follow;
use crate::nvim::review::Reviews;

/// At most this many undone changes are told one by one.
const TOLD: usize = 20;

/// Which hunks are meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    Rows(PathBuf, Range<usize>),
    Hunk(PathBuf, Hunk),
    File(PathBuf),
    Call(SessionKey, EntryId),
    /// By the entry of its prompt.
    Turn(SessionKey, EntryId),
    Session(SessionKey),
    All,
}

/// What is to become of hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Undo,
}

const NOTHING_HERE: &str = "no agent has changed anything here; ]c goes to the next change";

impl Reviews {
    /// The hunks of a file that are meant, from the top down.
    pub fn meant(&self, scope: &Scope, path: &Path, file: &FileReview) -> Vec<usize> {
        let count = file.hunks().len();
        let by = |fits: &dyn Fn(&crate::nvim::review::Origin) -> bool| {
            let fits =
                |hunk: &usize| file.origins(*hunk).iter().filter_map(|origin| self.of(*origin)).any(fits);
            (0..count).filter(fits).collect()
        };
        match scope {
            Scope::Rows(of, rows) if of == path => file.hunks_at(rows.clone()),
            Scope::File(of) if of == path => (0..count).collect(),
            Scope::Hunk(of, hunk) if of == path => {
                file.hunks().iter().position(|other| other == hunk).into_iter().collect()
            }
            Scope::Rows(..) | Scope::Hunk(..) | Scope::File(_) => Vec::new(),
            Scope::Call(key, call) => by(&|origin| origin.session == *key && origin.call == Some(*call)),
            Scope::Turn(key, prompt) => by(&|origin| origin.session == *key && origin.prompt == *prompt),
            Scope::Session(key) => by(&|origin| origin.session == *key),
            Scope::All => (0..count).collect(),
        }
    }
}

impl App {
    pub fn decide_hunks(&mut self, verdict: Verdict, args: &Args) -> Result<()> {
        let scope = self.scope(args)?;
        self.decide_scope(verdict, scope)
    }

    /// What a command's word, its range, or the place of the cursor means.
    pub fn scope(&mut self, args: &Args) -> Result<Scope> {
        let buf = self.cx.editor.current_buf()?;
        let here = self.reviews.path_of(buf).map(Path::to_owned);
        let latest = self.reviews.latest(self.cx.session_here()).or(self.reviews.latest(None)).cloned();
        let chat = self.cx.chats.values().find(|chat| chat.transcript == buf).map(|chat| chat.session);
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
            (None, _) if chat.is_some() => {
                let key = chat.unwrap_or(SessionKey(0));
                let entry = self.entry_under_cursor(key)?;
                let is_call = |entry: &EntryId| {
                    let entry = self.cx.sessions.get(&key).and_then(|session| session.entry(*entry));
                    entry.is_some_and(|entry| entry.tool().is_some())
                };
                match entry.filter(is_call) {
                    Some(entry) => Ok(Scope::Call(key, entry)),
                    None => fail("the cursor is not on a tool call; say which: file, turn, session or all"),
                }
            }
            (Some("file"), Some(path)) => Ok(Scope::File(path)),
            (None | Some("hunk"), Some(path)) => {
                let rows = match args.range {
                    Some(range) => range.first.saturating_sub(1)..range.last,
                    None => {
                        let row = self.cx.editor.cursor(self.cx.editor.current_win()?)?.0 - 1;
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
    pub fn decide_scope(&mut self, verdict: Verdict, scope: Scope) -> Result<()> {
        let paths: Vec<PathBuf> = match &scope {
            Scope::Rows(path, _) | Scope::Hunk(path, _) | Scope::File(path) => vec![path.clone()],
            // What agents did to files that nobody has opened yet is among it.
            _ => {
                return self.when_told_is_known(move |app| {
                    let paths = app.reviews.files.keys().cloned().collect();
                    app.decide_next(verdict, scope, paths, Vec::new())
                });
            }
        };
        self.decide_next(verdict, scope, paths, Vec::new())
    }

    /// Looks at one file after the other, then does what was found.
    fn decide_next(
        &mut self,
        verdict: Verdict,
        scope: Scope,
        mut paths: Vec<PathBuf>,
        mut found: Vec<Found>,
    ) -> Result<()> {
        let Some(path) = paths.pop() else { return self.decide_found(verdict, found) };
        self.when_reviewed(&path.clone(), move |app| {
            if let Some(file) = app.reviews.files.get(&path).and_then(|reviewed| reviewed.file.as_deref()) {
                let hunks = app.reviews.meant(&scope, &path, file);
                let mixed = hunks.iter().copied().filter(|hunk| file.is_mixed(*hunk)).collect();
                if !hunks.is_empty() {
                    found.push(Found { path, hunks, mixed });
                }
            }
            app.decide_next(verdict, scope, paths, found)
        })
    }

    fn decide_found(&mut self, verdict: Verdict, found: Vec<Found>) -> Result<()> {
        let count = |which: fn(&Found) -> usize| found.iter().map(which).sum::<usize>();
        let (all, mixed) = (count(|found| found.hunks.len()), count(|found| found.mixed.len()));
        if all == 0 {
            return fail(NOTHING_HERE);
        }
        if verdict == Verdict::Keep || mixed == 0 {
            return self.judge(verdict, found);
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
        self.offer(&prompt, "acp_undo", items, move |app, index| match index {
            0 => app.judge(verdict, found),
            index if index == last => Ok(()),
            _ => {
                let rest = found.into_iter().map(|mut found| {
                    found.hunks.retain(|hunk| !found.mixed.contains(hunk));
                    found
                });
                app.judge(verdict, rest.collect())
            }
        })
    }

    fn judge(&mut self, verdict: Verdict, found: Vec<Found>) -> Result<()> {
        let (files, mut hunks) = (found.len(), 0);
        for Found { path, hunks: of_file, .. } in found {
            hunks += of_file.len();
            match verdict {
                Verdict::Keep => self.keep_in(&path, &of_file),
                Verdict::Undo => self.undo_in(&path, &of_file)?,
            }
            match verdict {
                Verdict::Keep => self.reviews.decided.0 += of_file.len(),
                Verdict::Undo => self.reviews.decided.1 += of_file.len(),
            }
        }
        self.draw_reviews()?;
        if hunks > 1 {
            let what = if verdict == Verdict::Keep { "kept" } else { "undid" };
            let files = if files == 1 { String::new() } else { format!(" in {files} files") };
            let text = format!("{what} {hunks} hunks{files}");
            self.cx.advise(text, Level::Info);
        }
        Ok(())
    }

    pub fn keep_in(&mut self, path: &Path, hunks: &[usize]) {
        let Some(reviewed) = self.reviews.files.get_mut(path) else { return };
        let Some(file) = &mut reviewed.file else { return };
        hunks.iter().rev().for_each(|hunk| file.keep(*hunk));
        reviewed.touched = true;
    }

    fn undo_in(&mut self, path: &Path, hunks: &[usize]) -> Result<()> {
        let editor = self.cx.editor.clone();
        let Some(reviewed) = self.reviews.files.get_mut(path) else { return Ok(()) };
        let buf = reviewed.buf.filter(|buf| editor.buf_is_loaded(*buf));
        if let Some(buf) = buf
            && !editor.buf_option::<bool>(buf, "modifiable")?
        {
            return fail(format!(
                "couldn't undo in {}: its buffer is not 'modifiable'",
                self.cx.short_name(None, path)
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
            let origin = origins.iter().next_back().and_then(|origin| self.reviews.of(*origin));
            if let Some(session) = origin.map(|origin| origin.session) {
                self.note_undone(session, path, &hunk);
            }
        }
        let Some(buf) = buf else {
            let expected = was.is_there.then(|| was.current());
            return self.put_back(path, expected, there.then_some(text), was);
        };
        // A step of its own for `u`: what came before must not be undone along with it.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let ends_with_newline = editor.buf_option(buf, "endofline")?;
        let content = saving::Content { ends_with_newline };
        let done = saving::write(&editor, buf, &edits, &content);
        self.set_reviewed_tick(path, buf)?;
        if let Err(why) = done {
            self.review_again(path, buf)?;
            return fail(format!("couldn't undo in {}: {why}", self.cx.short_name(None, path)));
        }
        if removed {
            return self.put_back(path, Some(String::new()), None, was);
        }
        Ok(())
    }

    /// The agent is to know that what it wrote is not there any more.
    fn note_undone(&mut self, key: SessionKey, path: &Path, hunk: &Hunk) {
        let Some(session) = self.cx.sessions.get(&key) else { return };
        let name = path.strip_prefix(&session.place.cwd).unwrap_or(path).display();
        let (added, removed) = counts(std::slice::from_ref(hunk));
        let first =
            hunk.added.iter().chain(&hunk.removed).map(|line| line.trim()).find(|line| !line.is_empty());
        let first = first.map(|line| format!(": {line}")).unwrap_or_default();
        let text = format!("- {name}:{} (+{added} -{removed}){first}", hunk.row + 1);
        self.reviews.undone.entry(key).or_default().push(text);
    }

    pub fn note_undone_text(&mut self, key: SessionKey, text: String) {
        self.reviews.undone.entry(key).or_default().push(text);
    }

    /// A prompt with what the agent has to be told beside it.
    pub fn with_undone(&mut self, key: SessionKey, mut content: Vec<Content>) -> Vec<Content> {
        let undone = self.reviews.undone.remove(&key).filter(|_| self.cx.config.diff.tell_undone);
        if let Some(mut undone) = undone {
            let more = undone.len().saturating_sub(TOLD);
            undone.truncate(TOLD);
            if more > 0 {
                undone.push(format!("- and {more} more"));
            }
            let text = format!("\n\nI undid these changes of yours:\n{}", undone.join("\n"));
            content.push(Content::Text(text.into()));
        }
        content
    }

    fn put_back(
        &mut self,
        path: &Path,
        expected: Option<String>,
        text: Option<String>,
        was: Box<FileReview>,
    ) -> Result<()> {
        let job = self.next_job(Job::PutBack { path: path.to_owned(), was });
        self.send(Command::PutBack { job, path: path.to_owned(), expected, text })
    }

    /// Goes to the next or previous hunk; past the last of a file, to the next file that has some.
    pub fn step_hunk(&mut self, forward: bool) -> Result<()> {
        let win = self.cx.editor.current_win()?;
        let buf = self.cx.editor.current_buf()?;
        let diff: bool = self.cx.editor.win_option(win, "diff")?;
        let count: usize = self.cx.editor.module("v")?.get("count1")?;
        let key = if forward { "]c" } else { "[c" };
        if diff {
            let before = self.cx.editor.cursor(win)?;
            self.cx.editor.command(&format!("normal! {count}{key}"))?;
            return if self.cx.editor.cursor(win)? == before {
                self.step_past_split(forward)
            } else {
                Ok(())
            };
        }
        let row = self.cx.editor.cursor(win)?.0 - 1;
        let here = self.reviews.path_of(buf).map(Path::to_owned);
        let mut places: Vec<(PathBuf, usize)> = Vec::new();
        for (path, _, file) in self.reviews.open() {
            let last = file.line_count() - 1;
            places.extend(file.hunks().iter().map(|hunk| (path.to_owned(), hunk.row.min(last))));
        }
        let now = (here.unwrap_or_default(), row);
        let target = if forward {
            let next = places.partition_point(|place| *place <= now);
            places.get(next + count - 1).or(places.last().filter(|place| **place > now)).or(places.first())
        } else {
            let before = places.partition_point(|place| *place < now);
            let first = places.first().filter(|place| **place < now);
            before.checked_sub(count).and_then(|at| places.get(at)).or(first).or(places.last())
        };
        match target.cloned() {
            Some((path, row)) => self.go_to_row(&path, row),
            None => fail("nothing is left to decide; agents' changes are all kept or undone"),
        }
    }

    /// Shows a row of a file in the current window, as a jump.
    pub fn go_to_row(&mut self, path: &Path, row: usize) -> Result<()> {
        let win = self.cx.editor.current_win()?;
        if self.reviews.path_of(self.cx.editor.win_buf(win)?) == Some(path) {
            self.cx.editor.command("normal! m'")?;
            return self.go_to_row_in(win, row);
        }
        let named = path.to_owned();
        self.look_first(path, move |app, look| {
            match look {
                look if look.finds_file() => {}
                Look::Silent => {
                    let name = app.cx.short_name(None, &named);
                    return fail(format!("couldn't open {name}: its disk does not answer"));
                }
                _ => {
                    let name = app.cx.short_name(None, &named);
                    return fail(format!("{name} is gone; :Acp undo all brings it back"));
                }
            }
            if app.cx.editor.current_win()? != win {
                return Ok(());
            }
            app.cx.editor.command("normal! m'")?;
            let Some(code) = follow::code_window(&app.cx.editor)? else { return Ok(()) };
            let buf = follow::load(&app.cx.editor, &named)?;
            app.cx.editor.set_current_win(code)?;
            app.cx.editor.set_win_buf(code, buf)?;
            app.buffer_loaded(buf)?;
            app.go_to_row_in(code, row)
        })
    }

    fn go_to_row_in(&mut self, win: Win, row: usize) -> Result<()> {
        let last = self.cx.editor.line_count(self.cx.editor.win_buf(win)?)?;
        self.cx.editor.set_cursor(win, (row + 1).min(last), 0)?;
        self.cx.editor.command("normal! zv")
    }

    /// The keys in a file that an agent changed. A buffer's own are left alone.
    pub fn bind_file_keys(&mut self, buf: Buf) -> Result<()> {
        let editor = self.cx.editor.clone();
        let keymap: Table = editor.module("keymap")?;
        let set: Function = keymap.get("set")?;
        let taken: Vec<Table> = editor.api("nvim_buf_get_keymap", (buf, "n"))?;
        let taken: Vec<String> = taken.iter().filter_map(|map| map.get("lhs").ok()).collect();
        for (key, lhs) in self.cx.config.keys.of(Pane::File) {
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

/// Hunks of a file that are meant, and those of them that hold the user's edits.
struct Found {
    path: PathBuf,
    hunks: Vec<usize>,
    mixed: Vec<usize>,
}
