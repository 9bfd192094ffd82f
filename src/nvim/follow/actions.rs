//! Following on and off, and the lists of places that agents have been at.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mlua::{Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::locations::Visit;
use crate::core::message::{Command, Work};
use crate::core::text::visible::{visible, visible_line};
use crate::nvim::actions::{NO_SESSION, fail};
use crate::nvim::app::{App, Job};
use crate::nvim::editor::{Level, Win};
use crate::nvim::follow;
use crate::platform::files::bytes_of_path;

/// Where a list of places goes.
#[derive(Clone, Copy, PartialEq)]
enum List {
    Quickfix,
    Location,
    Picker,
}

impl App {
    pub fn set_follow(&mut self, word: Option<&str>) -> Result<()> {
        let editor = self.cx.editor.clone();
        let waits = self.follow.pace.is_waiting();
        let text = match word {
            Some("on") => self.follow_on(true)?,
            Some("off") => self.follow_on(false)?,
            Some("resume") => self.resume_following()?,
            // What waits is wanted.
            None | Some("toggle") if waits => self.resume_following()?,
            None | Some("toggle") => {
                let on = !self.is_following();
                self.follow_on(on)?
            }
            Some("pin") => {
                if !self.follow.pin(&editor)? {
                    return fail("this window does not show a file; pin one that does");
                }
                self.follow_on(true)?;
                "this window follows the agent, and no other"
            }
            Some("unpin") => match self.follow.unpin() {
                true => "the window you were in last follows the agent",
                false => return fail("no window is pinned; :Acp follow pin pins the one you are in"),
            },
            Some(other) => {
                return fail(format!("follow takes on, off, toggle, resume, pin or unpin, not {other:?}"));
            }
        };
        self.cx.advise(text, Level::Info);
        let keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        keys.into_iter().try_for_each(|key| self.update_bar(key))
    }

    fn follow_on(&mut self, on: bool) -> Result<&'static str> {
        let editor = self.cx.editor.clone();
        let was = self.is_following();
        self.follow.chosen = Some(on);
        if !on {
            self.follow.stop(&editor)?;
            return Ok("no longer following the agent");
        }
        if !was {
            self.catch_up()?;
        }
        Ok("following the agent")
    }

    fn resume_following(&mut self) -> Result<&'static str> {
        let editor = self.cx.editor.clone();
        self.follow.resume(&editor)?;
        self.follow_on(true)?;
        self.follow_due()?;
        Ok("following the agent")
    }

    /// Lists the places of the turn, or of the whole session.
    pub fn list_locations(&mut self, words: &[String]) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let (mut list, mut whole) = (List::Quickfix, false);
        for word in words {
            match word.as_str() {
                "turn" => whole = false,
                "session" => whole = true,
                "quickfix" => list = List::Quickfix,
                "loclist" => list = List::Location,
                "pick" => list = List::Picker,
                other => {
                    return fail(format!(
                        "locations takes turn or session, and quickfix, loclist or pick, not {other:?}"
                    ));
                }
            }
        }
        let visits: Vec<Visit> = match whole {
            true => self.places.of_session(key).cloned().collect(),
            false => self.places.of_turn(key).cloned().collect(),
        };
        if visits.is_empty() && !whole && self.places.last(key).is_some() {
            return fail(
                "the agent has been nowhere in this turn; `:Acp locations session` lists the others",
            );
        } else if visits.is_empty() {
            return fail("the agent has not visited any file yet; what it reads and edits is listed here");
        }
        match list {
            List::Picker => self.pick_location(key, visits),
            List::Quickfix | List::Location => {
                // A list looks for its files on the disk.
                let paths = visits.iter().map(|visit| visit.path.clone()).collect();
                let win = self.cx.editor.current_win()?;
                let job = self.next_job(Job::ReachFirst(Box::new(move |app, answering| {
                    let here = app.cx.editor.current_win()?;
                    app.fill_list(key, &visits, whole, list, &answering)?;
                    // Who has gone elsewhere meanwhile stays there.
                    if here == win { Ok(()) } else { app.cx.editor.set_current_win(here) }
                })));
                self.send(Command::Compute { job, work: Work::Reach { paths } })
            }
        }
    }

    fn pick_location(&mut self, key: SessionKey, mut visits: Vec<Visit>) -> Result<()> {
        visits.reverse();
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let root = session.place.cwd.clone();
        let mut items = Vec::new();
        for visit in &visits {
            items.push(format!("{}  {}", visit.label(&root), self.what_was_done(key, visit)?));
        }
        self.offer("Places of the agent", "acp_location", items, move |app, index| {
            let visit = &visits[index];
            app.go_to_place(&visit.path, visit.line())
        })
    }

    fn fill_list(
        &mut self,
        key: SessionKey,
        visits: &[Visit],
        whole: bool,
        list: List,
        answering: &BTreeSet<PathBuf>,
    ) -> Result<()> {
        let editor = self.cx.editor.clone();
        let items = editor.lua.create_table()?;
        let root = self.cx.sessions.get(&key).map(|session| session.place.cwd.clone()).unwrap_or_default();
        for visit in visits {
            let text = visible(&self.what_was_done(key, visit)?).replace('\n', " ");
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
        let name = self.cx.sessions.get(&key).map(|session| session.name()).unwrap_or_default();
        let title = format!("{name}: places of the {}", if whole { "session" } else { "turn" });
        let what: Table = editor
            .table([("title", editor.string(visible_line(&title))?), ("items", Value::Table(items))])?;
        let none = editor.lua.create_table()?;
        if list == List::Quickfix {
            editor.func::<Value>("setqflist", (none, " ", what))?;
            return editor.command("botright copen");
        }
        let Some(win) = self.code_window_here()? else { return Ok(()) };
        editor.func::<Value>("setloclist", (win, none, " ", what))?;
        editor.set_current_win(win)?;
        editor.command("lopen")
    }

    /// The window for a location list: one that shows code, as the list belongs to it.
    fn code_window_here(&self) -> Result<Option<Win>> {
        self.cx.editor.command("stopinsert")?;
        follow::code_window(&self.cx.editor)
    }

    /// When it was, and what the call is called.
    fn what_was_done(&self, key: SessionKey, visit: &Visit) -> Result<String> {
        let seconds = i64::try_from(visit.at.0 / 1000).unwrap_or(i64::MAX);
        let time: String = self.cx.editor.func("strftime", ("%H:%M:%S", seconds))?;
        let call = self.cx.sessions.get(&key).and_then(|session| session.entry(visit.call?)?.tool());
        let title = call.map(|call| format!("  {}", call.headline())).unwrap_or_default();
        Ok(format!("{time}  {}{title}", visit.verb.word()))
    }

    /// Goes to a place in a window for code.
    fn go_to_place(&mut self, path: &Path, line: Option<u32>) -> Result<()> {
        let file = path.to_owned();
        self.visit_file(path, move |app| app.show_file(&file, line))
    }

    fn show_file(&mut self, path: &Path, line: Option<u32>) -> Result<()> {
        let Some(win) = follow::code_window(&self.cx.editor)? else { return Ok(()) };
        let buf = follow::load(&self.cx.editor, path)?;
        self.cx.editor.set_current_win(win)?;
        self.cx.editor.command("normal! m'")?;
        self.cx.editor.set_win_buf(win, buf)?;
        if let Some(line) = line.filter(|line| *line > 0) {
            let last = self.cx.editor.line_count(buf)?;
            self.cx.editor.set_cursor(win, (line as usize).min(last), 0)?;
            self.cx.editor.command("normal! zvzz")?;
        }
        Ok(())
    }
}
