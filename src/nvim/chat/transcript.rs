//! Moving through the transcript, and from it to what it is about.

use std::path::PathBuf;

use mlua::{Result, Table};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::locations::Look;
use crate::core::message::{Picture, PicturePlace};
use crate::core::session::entry::{Body, Entry};
use crate::core::transcript::reading::{Reference, reference_at};
use crate::nvim::actions::fail;
use crate::nvim::app::App;
use crate::nvim::chat::Fold;
use crate::nvim::follow;
use crate::nvim::keys::last_input::clicked_from;

impl App {
    pub fn entry_under_cursor(&self, key: SessionKey) -> Result<Option<EntryId>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let Some(win) = chat.window(&self.cx.editor) else { return Ok(None) };
        let (line, _) = self.cx.editor.cursor(win)?;
        chat.entry_at(&self.cx.editor, line - 1)
    }

    /// Opens or folds what stands under the cursor.
    pub fn toggle_fold(&mut self, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.chats.get_mut(&key), self.cx.sessions.get_mut(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.cx.editor) else { return Ok(()) };
        let (line, _) = self.cx.editor.cursor(win)?;
        match chat.fold_at(&self.cx.editor, line - 1)? {
            Some(Fold::Entry(entry)) => session.toggle(entry),
            Some(Fold::Run(run)) => {
                let open = chat.toggle_run(run.clone());
                // What was opened in it is folded along with it.
                for id in run.filter(|_| !open).map(EntryId) {
                    if session.entry(id).is_some_and(|entry| entry.open) {
                        session.toggle(id);
                    }
                }
            }
            None => {}
        }
        self.after_change(key)?;
        self.frame_due()
    }

    /// The mouse was clicked: what the line under it is about is done to it, if it is about something. Neovim
    /// has moved the cursor there already.
    pub fn click(&mut self, key: SessionKey) -> Result<()> {
        let Some(chat) = self.chats.get(&key) else { return Ok(()) };
        let Some(win) = chat.window(&self.cx.editor) else { return Ok(()) };
        // Who was elsewhere wanted to come here, no more. The prompt belongs to the chat.
        if !clicked_from().is_some_and(|buf| buf == chat.transcript || buf == chat.prompt) {
            return Ok(());
        }
        let mouse: Table = self.cx.editor.func("getmousepos", ())?;
        let (clicked, line, column): (i64, usize, usize) =
            (mouse.get("winid")?, mouse.get("line")?, mouse.get("column")?);
        let (here, _) = self.cx.editor.cursor(win)?;
        // Beside the text nothing is meant, and a bar or a border is no line.
        if clicked != win.0 || line == 0 || line != here {
            return Ok(());
        }
        let row = line - 1;
        let text = self.cx.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
        let text = text.first().map(String::as_str).unwrap_or_default();
        if text.trim().is_empty() || column > text.len() {
            return Ok(());
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(Fold::Entry(entry)) = chat.fold_at(&self.cx.editor, row)? else {
            return self.toggle_fold(key);
        };
        let asks = session.asks().iter().any(|open| open.entry == entry);
        let terminals = &self.terminals;
        let tail = |terminal: &TerminalId| terminals.tail(&(key, terminal.clone()));
        let leads = chat.target_at(&self.cx.editor, session, &tail, row)?.is_some()
            || chat.picture_at(&self.cx.editor, session, &tail, row)?.is_some();
        let named = reference_at(text, column - 1).map(|named| session.place.cwd.join(named.path));
        let folds = session.entry(entry).is_some_and(|entry| {
            matches!(entry.body, Body::Tool(_) | Body::Thought { .. } | Body::Compaction { .. })
        });
        let folds = folds && row == chat.head_row(&self.cx.editor, entry)?;
        match named {
            Some(named) if !asks && !leads => self.look_first(&named, move |app, look| {
                let leads = look.finds_file();
                app.clicked(key, asks, leads, folds)
            }),
            _ => self.clicked(key, asks, leads, folds),
        }
    }

    fn clicked(&mut self, key: SessionKey, asks: bool, leads: bool, folds: bool) -> Result<()> {
        match (asks || leads, folds) {
            (true, false) => self.go_to(key),
            (true, true) if asks => self.go_to(key),
            (_, true) => self.toggle_fold(key),
            (false, false) => Ok(()),
        }
    }

    /// To the next or previous of the entries that are meant, as `]]` and `[[` go through sections.
    pub fn step(&mut self, key: SessionKey, forward: bool, meant: fn(&Entry) -> bool) -> Result<()> {
        let count: usize = self.cx.editor.module("v")?.get("count1")?;
        let Some(here) = self.entry_under_cursor(key)? else { return Ok(()) };
        let (Some(chat), Some(session)) = (self.chats.get(&key), self.cx.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.cx.editor) else { return Ok(()) };
        let shown = chat.shown();
        let fits = |index: &&usize| session.entry(EntryId(**index)).is_some_and(meant);
        let found: Vec<usize> = if forward {
            let from = shown.partition_point(|index| *index <= here.0);
            shown[from..].iter().filter(fits).take(count).copied().collect()
        } else {
            let to = shown.partition_point(|index| *index < here.0);
            shown[..to].iter().rev().filter(fits).take(count).copied().collect()
        };
        // Where there are fewer, the last one is as far as it goes.
        let Some(target) = found.last() else { return Ok(()) };
        let row = chat.head_row(&self.cx.editor, EntryId(*target))?;
        let count = self.cx.editor.line_count(chat.transcript)?;
        self.cx.editor.set_cursor(win, (row + 1).min(count), 0)
    }

    /// To what is under the cursor: a question, the line of a change, a file that is named, else the file
    /// or terminal that the entry is about.
    pub fn go_to(&mut self, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.chats.get(&key), self.cx.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.cx.editor) else { return Ok(()) };
        let (line, column) = self.cx.editor.cursor(win)?;
        let row = line - 1;
        let Some(fold) = chat.fold_at(&self.cx.editor, row)? else { return Ok(()) };
        let Fold::Entry(entry) = fold else { return self.toggle_fold(key) };
        if let Some(open) = session.asks().iter().find(|open| open.entry == entry) {
            let ask = open.ask;
            self.put_up(key, ask);
            return Ok(());
        }
        let cwd = &session.place.cwd;
        let terminals = &self.terminals;
        let tail = |terminal: &TerminalId| terminals.tail(&(key, terminal.clone()));
        if let Some(target) = chat.target_at(&self.cx.editor, session, &tail, row)? {
            let place =
                Place { path: cwd.join(target.path), line: target.line, column: None, text: target.text };
            return self.visit_place(place);
        }
        if let Some(picture) = chat.picture_at(&self.cx.editor, session, &tail, row)? {
            return self.open_picture(picture);
        }
        let call = session.entry(entry).and_then(Entry::tool);
        // What stands in a call's own line is told better by the call.
        if call.is_none() || row > chat.head_row(&self.cx.editor, entry)? {
            let text = self.cx.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
            let named = text.first().and_then(|text| reference_at(text, column));
            if let Some(Reference { path, line }) = named {
                let path = cwd.join(path.strip_prefix("~/").map_or(path.clone(), |rest| {
                    std::env::home_dir().unwrap_or_default().join(rest).to_string_lossy().into_owned()
                }));
                return self.look_first(&path.clone(), move |app, look| match look {
                    look if look.finds_file() => {
                        app.show_place(&Place { path, line, column: None, text: None })
                    }
                    _ => app.go_to_subject(key, entry),
                });
            }
        }
        self.go_to_subject(key, entry)
    }

    /// To the file or terminal that an entry is about.
    fn go_to_subject(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let cwd = &session.place.cwd;
        let call = session.entry(entry).and_then(Entry::tool);
        let Some(call) = call else { return fail("nothing under the cursor leads to a file") };
        let place = call.places().first().map(|place| Place {
            path: cwd.join(&place.path),
            line: place.line,
            column: None,
            text: None,
        });
        let terminal = call.terminals().next().cloned();
        if let Some(terminal) = terminal {
            let terminal = (key, terminal);
            if self.terminals.get(&terminal).is_none() {
                return fail("the agent has shown nothing of this command yet");
            }
            return self.enter_terminal(&terminal);
        }
        match place {
            Some(place) => self.visit_place(place),
            None => fail("this entry is about no file; K shows all there is to know of it"),
        }
    }

    /// Opens an image with whatever the system has for it.
    fn open_picture(&mut self, picture: Picture) -> Result<()> {
        let what = match picture.place {
            PicturePlace::Nowhere(why) => return fail(format!("the image cannot be shown: {why}")),
            PicturePlace::Link(uri) => uri,
            PicturePlace::File(path) => {
                return self.look_first(&path.clone(), move |app, look| match look {
                    Look::Missing => fail("the image is gone; only the newest ones of a session are kept"),
                    _ => {
                        app.open_with_system(path.to_string_lossy().into_owned());
                        Ok(())
                    }
                });
            }
        };
        self.open_with_system(what);
        Ok(())
    }

    fn open_with_system(&mut self, what: String) {
        self.cx.attempt("couldn't open the image", move |editor| editor.open_outside(&what));
    }

    /// Shows a place in a window for code, and goes there, if there is a file.
    pub fn visit_place(&mut self, place: Place) -> Result<()> {
        self.visit_file(&place.path.clone(), move |app| app.show_place(&place))
    }

    fn show_place(&mut self, place: &Place) -> Result<()> {
        let Some(win) = follow::code_window(&self.cx.editor)? else { return Ok(()) };
        let buf = follow::load(&self.cx.editor, &place.path)?;
        self.cx.editor.set_current_win(win)?;
        self.cx.editor.command("normal! m'")?;
        self.cx.editor.set_win_buf(win, buf)?;
        let last = self.cx.editor.line_count(buf)?;
        let hint = place.line.filter(|line| *line > 0).map(|line| (line as usize).min(last));
        let line = match &place.text {
            Some(text) => nearest(&self.cx.editor.lines(buf, 0, -1)?, text, hint.unwrap_or(1)).or(hint),
            None => hint,
        };
        if let Some(line) = line {
            let column = place.column.map_or(0, |column| column.saturating_sub(1) as usize);
            self.cx.editor.set_cursor(win, line, column)?;
            // Folded lines are not where one wants to be.
            self.cx.editor.command("normal! zv")?;
        }
        Ok(())
    }
}

/// Somewhere in a file; see [`Target`](crate::core::transcript::Target).
pub struct Place {
    pub path: PathBuf,
    pub line: Option<u32>,
    /// 1-based.
    pub column: Option<u32>,
    pub text: Option<String>,
}

/// The 1-based line that holds a text and is nearest to another one.
fn nearest(lines: &[String], text: &str, hint: usize) -> Option<usize> {
    let same = lines.iter().enumerate().filter(|(_, line)| *line == text).map(|(row, _)| row + 1);
    same.min_by_key(|line| line.abs_diff(hint))
}

pub fn is_call(entry: &Entry) -> bool {
    matches!(entry.body, Body::Tool(_) | Body::Elicitation(_))
}

pub fn has_change(entry: &Entry) -> bool {
    entry.tool().is_some_and(|call| call.diffs().next().is_some())
}
