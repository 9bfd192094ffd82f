//! From a transcript to what it is about: a question, the line of a change, a file that is named, a terminal,
//! an image.

use std::collections::VecDeque;
use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::locations::Look;
use crate::core::message::{Picture, PicturePlace};
use crate::core::session::entry::{Body, Entry};
use crate::core::transcript::reading::{Reference, file_named, references_at};
use crate::nvim::arguments::fail;
use crate::nvim::buffers::open::load;
use crate::nvim::chat::Chats;
use crate::nvim::chat::canvas::Fold;
use crate::nvim::context::Context;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::events::EditorEvent;
use crate::platform::paths::home_expanded;

impl Chats {
    /// To what is under the cursor: a question, the line of a change, a file that is named, else the file
    /// or terminal that the entry is about.
    pub fn go_to(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (self.open.get(&key), cx.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = cx.chats.get(&key).and_then(|chat| chat.window(&cx.editor)) else { return Ok(()) };
        let (line, column) = cx.editor.cursor(win)?;
        let row = line - 1;
        let Some(fold) = chat.fold_at(&cx.editor, row)? else { return Ok(()) };
        let Fold::Entry(entry) = fold else { return self.toggle_fold(cx, key) };
        if let Some(open) = session.asks().iter().find(|open| open.entry == entry) {
            let ask = open.ask;
            cx.raise(EditorEvent::QuestionChosen(ask));
            return Ok(());
        }
        let cwd = &session.place.cwd;
        let tail = |terminal: &TerminalId| cx.tails.get(key, terminal);
        if let Some(target) = chat.target_at(&cx.editor, session, &tail, row)? {
            let place =
                Place { path: cwd.join(target.path), line: target.line, column: None, text: target.text };
            return visit_place(cx, place);
        }
        if let Some(picture) = chat.picture_at(&cx.editor, session, &tail, row)? {
            return open_picture(cx, picture);
        }
        let call = session.entry(entry).and_then(Entry::tool);
        // What stands in a call's own line is told better by the call.
        if call.is_none() || row > chat.head_row(&cx.editor, entry)? {
            let text = cx.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
            let named = text.first().map(|text| references_at(text, column)).unwrap_or_default();
            // A notice leads to the file that it names, wherever the cursor is in it.
            let of_notice = match session.entry(entry).map(|entry| &entry.body) {
                Some(Body::Notice { text, .. }) => file_named(text),
                _ => None,
            };
            let places = named.into_iter().chain(of_notice).map(|Reference { path, line }| Place {
                path: cwd.join(home_expanded(&path)),
                line,
                column: None,
                text: None,
            });
            return go_to_first(cx, places.collect(), (key, entry));
        }
        go_to_subject(cx, key, entry)
    }
}

/// To the first of the places that is in a file, else to what the entry is about.
fn go_to_first(
    cx: &mut Context,
    mut places: VecDeque<Place>,
    (key, entry): (SessionKey, EntryId),
) -> Result<()> {
    let Some(place) = places.pop_front() else { return go_to_subject(cx, key, entry) };
    cx.look_first(&place.path.clone(), move |_: &mut Chats, cx, look| match look {
        look if look.finds_file() => show_place(cx, &place),
        _ => go_to_first(cx, places, (key, entry)),
    });
    Ok(())
}

/// To the file or terminal that an entry is about.
fn go_to_subject(cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
    let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
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
        cx.raise(EditorEvent::TerminalChosen(key, terminal));
        return Ok(());
    }
    match place {
        Some(place) => visit_place(cx, place),
        None => fail("this entry is not about a file; K shows its details"),
    }
}

/// Opens an image with whatever the system has for it.
fn open_picture(cx: &mut Context, picture: Picture) -> Result<()> {
    let what = match picture.place {
        PicturePlace::Nowhere(why) => return fail(format!("the image cannot be shown: {why}")),
        PicturePlace::Link(uri) => uri,
        PicturePlace::File(path) => {
            cx.look_first(&path.clone(), move |_: &mut Chats, cx, look| match look {
                Look::Missing => fail("the image is gone; only the newest ones of a session are kept"),
                _ => {
                    open_with_system(cx, path.to_string_lossy().into_owned());
                    Ok(())
                }
            });
            return Ok(());
        }
    };
    open_with_system(cx, what);
    Ok(())
}

fn open_with_system(cx: &mut Context, what: String) {
    cx.run_effect("couldn't open the image", move |editor| editor.open_outside(&what));
}

/// Shows a place in a window for code, and goes there, if there is a file.
pub fn visit_place(cx: &mut Context, place: Place) -> Result<()> {
    cx.visit_file(&place.path.clone(), move |_: &mut Chats, cx| show_place(cx, &place))
}

fn show_place(cx: &Context, place: &Place) -> Result<()> {
    let Some(win) = code_window(&cx.editor)? else { return Ok(()) };
    let buf = load(&cx.editor, &place.path)?;
    cx.editor.set_current_win(win)?;
    cx.editor.command("normal! m'")?;
    cx.editor.set_win_buf(win, buf)?;
    let last = cx.editor.line_count(buf)?;
    let hint = place.line.filter(|line| *line > 0).map(|line| (line as usize).min(last));
    let line = match &place.text {
        Some(text) => nearest(&cx.editor.lines(buf, 0, -1)?, text, hint.unwrap_or(1)).or(hint),
        None => hint,
    };
    if let Some(line) = line {
        let column = place.column.map_or(0, |column| column.saturating_sub(1) as usize);
        cx.editor.set_cursor(win, line, column)?;
        // Folded lines are not where one wants to be.
        cx.editor.command("normal! zv")?;
    }
    Ok(())
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
