//! Following on and off, and the lists of places that agents have been at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mlua::{Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::locations::Visit;
use crate::core::message::{Outcome, Work};
use crate::core::text::visible::{visible, visible_line};
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::{Level, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::follow::Follow;
use crate::platform::files::bytes_of_path;

/// Where a list of places goes.
#[derive(Clone, Copy, PartialEq)]
enum List {
    Quickfix,
    Location,
    Picker,
}

impl Follow {
    pub fn set_follow(&mut self, cx: &mut Context, word: Option<&str>) -> Result<()> {
        let waits = self.pace.is_waiting();
        let text = match word {
            Some("on") => self.follow_on(cx, true)?,
            Some("off") => self.follow_on(cx, false)?,
            Some("resume") => self.resume_following(cx)?,
            // What waits is wanted.
            None | Some("toggle") if waits => self.resume_following(cx)?,
            None | Some("toggle") => {
                let on = !self.is_following(cx);
                self.follow_on(cx, on)?
            }
            Some("pin") => {
                if !self.pin(&cx.editor)? {
                    return fail("this window does not show a file; pin one that does");
                }
                self.follow_on(cx, true)?;
                "this window follows the agent, and no other"
            }
            Some("unpin") => match self.unpin() {
                true => "the window you were in last follows the agent",
                false => return fail("no window is pinned; :Acp follow pin pins the one you are in"),
            },
            Some(other) => {
                return fail(format!("follow takes on, off, toggle, resume, pin or unpin, not {other:?}"));
            }
        };
        cx.notify(text, Level::Info);
        let keys: Vec<SessionKey> = cx.sessions.keys().copied().collect();
        keys.into_iter().for_each(|key| cx.raise(EditorEvent::BarOutdated(key)));
        Ok(())
    }

    fn follow_on(&mut self, cx: &mut Context, on: bool) -> Result<&'static str> {
        let was = self.is_following(cx);
        self.chosen = Some(on);
        if !on {
            self.stop(&cx.editor)?;
            return Ok("no longer following the agent");
        }
        if !was {
            self.catch_up(cx)?;
        }
        Ok("following the agent")
    }

    fn resume_following(&mut self, cx: &mut Context) -> Result<&'static str> {
        self.resume(&cx.editor)?;
        self.follow_on(cx, true)?;
        self.follow_due(cx)?;
        Ok("following the agent")
    }

    /// Lists the places of the turn, or of the whole session.
    pub fn list_locations(&mut self, cx: &mut Context, words: &[String]) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let (mut list, mut whole) = (List::Quickfix, false);
        for word in words {
            match word.as_str() {
                "turn" => whole = false,
                "session" => whole = true,
                "quickfix" => list = List::Quickfix,
                "loclist" => list = List::Location,
                "pick" => list = List::Picker,
                _ => return fail("locations takes turn, session, quickfix, loclist or pick"),
            }
        }
        let visits: Vec<Visit> = match whole {
            true => self.history.of_session(key).cloned().collect(),
            false => self.history.of_turn(key).cloned().collect(),
        };
        if visits.is_empty() && !whole && self.history.last(key).is_some() {
            return fail("no location in this turn yet; :Acp locations session lists all");
        } else if visits.is_empty() {
            return fail("the agent has neither read nor edited a file yet");
        }
        match list {
            List::Picker => pick_location(cx, key, visits),
            List::Quickfix | List::Location => {
                // A list looks for its files on the disk.
                let paths = visits.iter().map(|visit| visit.path.clone()).collect();
                let win = cx.editor.current_win()?;
                cx.compute(Work::Reach { paths }, move |_: &mut Self, cx, outcome| {
                    let Outcome::Reached(answering) = outcome else { return Ok(()) };
                    let here = cx.editor.current_win()?;
                    fill_list(cx, &Listed { key, visits, whole, list }, &answering)?;
                    // Who has gone elsewhere meanwhile stays there.
                    if here == win { Ok(()) } else { cx.editor.set_current_win(here) }
                });
                Ok(())
            }
        }
    }
}

/// What a list was asked for.
struct Listed {
    key: SessionKey,
    visits: Vec<Visit>,
    whole: bool,
    list: List,
}

fn pick_location(cx: &mut Context, key: SessionKey, mut visits: Vec<Visit>) -> Result<()> {
    visits.reverse();
    let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
    let root = session.place.cwd.clone();
    let mut items = Vec::new();
    for visit in &visits {
        items.push(format!("{}  {}", visit.label(&root), what_was_done(cx, key, visit)?));
    }
    cx.offer("Places of the agent", "acp_location", items, move |_: &mut Follow, cx, index| {
        let visit = &visits[index];
        go_to_location(cx, &visit.path, visit.line())
    });
    Ok(())
}

fn fill_list(cx: &Context, listed: &Listed, answering: &BTreeSet<PathBuf>) -> Result<()> {
    let Listed { key, visits, whole, list } = listed;
    let editor = cx.editor.clone();
    let items = editor.lua.create_table()?;
    let root = cx.sessions.get(key).map(|session| session.place.cwd.clone()).unwrap_or_default();
    for visit in visits {
        let text = visible(&what_was_done(cx, *key, visit)?).replace('\n', " ");
        let why = match visit.path.parent() {
            _ if visit.wakes_others() => Some("not a file's name"),
            Some(folder) if !answering.contains(folder) => Some("its disk does not answer"),
            _ => None,
        };
        let item = match why {
            None => editor.table([
                ("filename", editor.string(bytes_of_path(&visit.path))?),
                ("module", editor.name_in_list(&visit.path)?),
                ("lnum", Value::Integer(visit.line().unwrap_or(0).into())),
                ("text", editor.string(text)?),
                ("valid", Value::Integer(1)),
            ])?,
            Some(why) => {
                let text = format!("{} ({why})  {text}", visible_line(&visit.label(&root)));
                editor.table([("text", editor.string(text)?), ("valid", Value::Integer(0))])?
            }
        };
        items.push(item)?;
    }
    let name = cx.sessions.get(key).map(|session| session.name()).unwrap_or_default();
    let title = format!("{name}: places of the {}", if *whole { "session" } else { "turn" });
    let what: Table =
        editor.table([("title", editor.string(visible_line(&title))?), ("items", Value::Table(items))])?;
    let none = editor.lua.create_table()?;
    if *list == List::Quickfix {
        editor.func::<Value>("setqflist", (none, " ", what))?;
        return editor.command("botright copen");
    }
    let Some(win) = code_window_here(cx)? else { return Ok(()) };
    editor.func::<Value>("setloclist", (win, none, " ", what))?;
    editor.set_current_win(win)?;
    editor.command("lopen")
}

/// The window for a location list: one that shows code, as the list belongs to it.
fn code_window_here(cx: &Context) -> Result<Option<Win>> {
    cx.editor.command("stopinsert")?;
    code_window(&cx.editor)
}

/// When it was, and what the call is called.
fn what_was_done(cx: &Context, key: SessionKey, visit: &Visit) -> Result<String> {
    let time = cx.editor.time_of_day(visit.at)?;
    let call = cx.sessions.get(&key).and_then(|session| session.entry(visit.call?)?.tool());
    let title = call.map(|call| format!("  {}", call.headline())).unwrap_or_default();
    Ok(format!("{time}  {}{title}", visit.verb.word()))
}

/// Goes to a location in a window for code.
fn go_to_location(cx: &mut Context, path: &Path, line: Option<u32>) -> Result<()> {
    let file = path.to_owned();
    cx.visit_file(path, move |_: &mut Follow, cx| show_file(cx, &file, line))
}

fn show_file(cx: &Context, path: &Path, line: Option<u32>) -> Result<()> {
    let Some(win) = code_window(&cx.editor)? else { return Ok(()) };
    let buf = open::load(&cx.editor, path)?;
    cx.editor.set_current_win(win)?;
    cx.editor.command("normal! m'")?;
    cx.editor.set_win_buf(win, buf)?;
    if let Some(line) = line.filter(|line| *line > 0) {
        let last = cx.editor.line_count(buf)?;
        cx.editor.set_cursor(win, (line as usize).min(last), 0)?;
        cx.editor.command("normal! zvzz")?;
    }
    Ok(())
}
