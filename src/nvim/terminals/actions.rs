//! What a user does with the commands that ran: look at one, put it away, end it, and go to the
//! locations in files that it names.

use mlua::{Result, Value};

use crate::core::changes::stepping::neighbour;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Command, Outcome, Work};
use crate::core::session::Session;
use crate::core::terminal::bar::name_of;
use crate::core::terminal::error_locations::{self, Kind, Place as Location};
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::one_line;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::editor::{Level, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::terminals::{Key, Terminals};

type Act = fn(&mut Terminals, &mut Context, &Key) -> Result<()>;

/// The entry of a chat that the cursor is on.
pub type UnderCursor = Option<(SessionKey, EntryId)>;

impl Terminals {
    /// `:Acp terminal [verb]`.
    pub fn command(&mut self, cx: &mut Context, verb: Option<&str>, under: UnderCursor) -> Result<()> {
        match verb {
            None | Some("open") => self.with_terminal(cx, under, false, Self::enter),
            Some("next") => self.step(cx, true),
            Some("previous") => self.step(cx, false),
            Some("close") => self.with_shown(cx, under, Self::close),
            Some("kill") => match cx.session_here().filter(|key| self.has_only_left(cx, *key)) {
                Some(key) => Self::end_left(cx, key),
                None => self.with_terminal(cx, under, true, Self::kill),
            },
            Some("quickfix") => match self.on_screen(cx, under)? {
                Some(key) => self.find_locations(cx, &key),
                None => self.with_terminal(cx, under, false, Self::find_locations),
            },
            Some(_) => fail("terminal takes open, next, previous, close, kill or quickfix"),
        }
    }

    /// Does it to the terminal that the cursor is in or on, to the only one there is, or to one that the
    /// user picks.
    fn with_terminal(&mut self, cx: &mut Context, under: UnderCursor, running: bool, act: Act) -> Result<()> {
        if let Some(key) = self.terminal_here(cx, under)? {
            return act(self, cx, &key);
        }
        let all = self.all().into_iter().filter(|(_, terminal)| !running || terminal.shown.is_running());
        let all: Vec<Key> = all.map(|(key, _)| key.clone()).collect();
        match &all[..] {
            [] if running => fail("no command is running"),
            [] => fail("no command has been run yet"),
            [only] => act(self, cx, &only.clone()),
            _ => {
                self.pick(cx, all, act);
                Ok(())
            }
        }
    }

    /// The terminal that the cursor is in or on, else the only one that the tab page shows.
    fn on_screen(&self, cx: &Context, under: UnderCursor) -> Result<Option<Key>> {
        if let Some(key) = self.terminal_here(cx, under)? {
            return Ok(Some(key));
        }
        let mut shown = self.shown(cx)?;
        Ok(if shown.len() == 1 { shown.pop() } else { None })
    }

    /// Those that windows of the tab page show, else those of any.
    fn shown(&self, cx: &Context) -> Result<Vec<Key>> {
        let in_tab = cx.editor.tab_wins()?;
        let all =
            self.all().into_iter().map(|(key, terminal)| (key.clone(), cx.editor.wins_of(terminal.buf)));
        let shown: Vec<(Key, Vec<Win>)> = all.filter(|(_, wins)| !wins.is_empty()).collect();
        let near = shown.iter().filter(|(_, wins)| wins.iter().any(|win| in_tab.contains(win)));
        let near: Vec<Key> = near.map(|(key, _)| key.clone()).collect();
        Ok(if near.is_empty() { shown.into_iter().map(|(key, _)| key).collect() } else { near })
    }

    /// Does it to the terminal that the cursor is in or on, or to one of those that windows show.
    fn with_shown(&mut self, cx: &mut Context, under: UnderCursor, act: Act) -> Result<()> {
        if let Some(key) = self.on_screen(cx, under)? {
            return act(self, cx, &key);
        }
        let shown = self.shown(cx)?;
        if shown.is_empty() {
            return fail("no window shows a terminal");
        }
        self.pick(cx, shown, act);
        Ok(())
    }

    pub fn choose(&mut self, cx: &mut Context) -> Result<()> {
        let all: Vec<Key> = self.all().into_iter().map(|(key, _)| key.clone()).collect();
        match &all[..] {
            [] => fail("no command has been run yet"),
            [only] => self.enter(cx, &only.clone()),
            _ => {
                self.pick(cx, all, Self::enter);
                Ok(())
            }
        }
    }

    /// The user wants to see a terminal that a call is about.
    pub fn go_to(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        match self.get(key) {
            Some(_) => self.enter(cx, key),
            None => fail("the agent has shown nothing of this command yet"),
        }
    }

    fn pick(&self, cx: &mut Context, all: Vec<Key>, act: Act) {
        let now = cx.now();
        let label = |key: &Key| {
            let shown = &self.get(key)?.shown;
            let command = cut_middle(&self.title(cx, key)?, 80);
            // The same command may have run often.
            let began = cx.editor.time_of_day(shown.program().started).unwrap_or_default();
            Some(format!("{:<15} {began}  {command}", shown.state().words(now)))
        };
        let items = all.iter().map(|key| label(key).unwrap_or_default()).collect();
        cx.offer("Terminals", "acp_terminal", items, move |terminals: &mut Self, cx, index| {
            act(terminals, cx, &all[index])
        });
    }

    /// What a command is called: as its tool call in the chat, where it has one.
    fn title(&self, cx: &Context, key: &Key) -> Option<String> {
        let program = self.get(key)?.shown.program();
        let of_call = cx.sessions.get(&key.0).and_then(|session| session.title_of(&key.1));
        Some(visible_line(&of_call.unwrap_or_else(|| one_line(&name_of(&program.command)))))
    }

    /// The terminal that the cursor is in, or on whose tool call it is.
    fn terminal_here(&self, cx: &Context, under: UnderCursor) -> Result<Option<Key>> {
        if let Some(key) = self.of_buf(cx.editor.current_buf()?) {
            return Ok(Some(key));
        }
        let Some((session, entry)) = under else { return Ok(None) };
        let call = cx.sessions.get(&session).and_then(|session| session.entry(entry)?.tool());
        let shown = call.into_iter().flat_map(|call| call.terminals());
        Ok(shown.map(|id| (session, id.clone())).find(|key| self.get(key).is_some()))
    }

    pub fn enter(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        let here = |terminals: &Self, cx: &Context| -> Result<Option<Win>> {
            let wins = terminals.get(key).map(|terminal| cx.editor.wins_of(terminal.buf)).unwrap_or_default();
            let in_tab = cx.editor.tab_wins()?;
            let near = wins.iter().copied().find(|win| in_tab.contains(win));
            Ok(near.or_else(|| wins.first().copied()))
        };
        if here(self, cx)?.is_none() {
            self.open(cx, key)?;
        }
        let Some(win) = here(self, cx)? else { return Ok(()) };
        // What the user has asked for does not close by itself.
        self.by_itself.retain(|other| *other != win);
        cx.editor.set_current_win(win)
    }

    /// Shows the next or previous command in the window of terminals.
    pub fn step(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        let Some(win) = self.window(&cx.editor, &cx.config.terminal)? else {
            return fail("no window shows a terminal");
        };
        let listed = self.listed();
        let shown = self.shown_in(&cx.editor, win);
        // All the way round is none.
        let steps = cx.editor.count()? % listed.len().max(2);
        let next = (0..steps).fold(shown.clone(), |from, _| neighbour(&listed, from.as_ref(), forward));
        match next.filter(|next| steps == 0 || Some(next) != shown.as_ref()) {
            Some(next) => self.show_key(cx, &next, win),
            None => fail("this is the only command in this window"),
        }
    }

    fn close(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        if !self.close_windows(&cx.editor, key)? {
            return fail("no window shows this terminal");
        }
        cx.raise(EditorEvent::WindowsResized);
        Ok(())
    }

    fn kill(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        if !self.is_running(key) && self.get(key).is_some() {
            return fail("this command has ended already");
        }
        if !self.takes_input(key) {
            let name = cx.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
            return fail(format!("{name} runs this command; :Acp cancel stops the whole turn"));
        }
        let (session, terminal) = key.clone();
        cx.send(Command::Kill { session, terminal });
        Ok(())
    }

    /// Whether commands go on after their turn, and none in a terminal.
    fn has_only_left(&self, cx: &Context, key: SessionKey) -> bool {
        let in_terminal = self.open.values().any(|terminal| terminal.shown.is_running());
        !in_terminal && cx.sessions.get(&key).is_some_and(|session| !session.left().is_empty())
    }

    /// Ends what goes on although its turn was stopped.
    pub fn end_left(cx: &mut Context, key: SessionKey) -> Result<()> {
        let commands = cx.sessions.get_mut(&key).map(Session::end_left).unwrap_or_default();
        if commands.is_empty() {
            return fail("no command is still running after a stopped turn");
        }
        cx.raise(EditorEvent::SessionChanged(key));
        cx.send(Command::EndLeft { session: key, commands });
        Ok(())
    }

    // Locations.

    /// Has the locations found that the command names in its output, for the quickfix list.
    fn find_locations(&mut self, cx: &mut Context, key: &Key) -> Result<()> {
        let Some(terminal) = self.get(key) else { return Ok(()) };
        let cwd = terminal.shown.program().cwd.clone();
        let title = self.title(cx, key).unwrap_or_default();
        let output = terminal.shown.raw().to_vec();
        cx.compute(Work::Places { output, cwd }, move |_: &mut Self, cx, outcome| match outcome {
            Outcome::Places(locations) => list_locations(cx, &title, &locations),
            _ => Ok(()),
        });
        Ok(())
    }

    /// What a key of a terminal's buffer does; `None` when it is no such key.
    pub fn key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        match name {
            "terminal_next" | "terminal_previous" => Some(self.step(cx, name == "terminal_next")),
            "terminal_go" | "terminal_go_line" => {
                let here = cx.editor.current_buf().map(|buf| self.of_buf(buf));
                Some(here.and_then(|key| match key {
                    Some(key) => self.go_to_named(cx, &key, name == "terminal_go_line"),
                    None => Ok(()),
                }))
            }
            _ => None,
        }
    }

    /// To the location under the cursor, in the window for code.
    fn go_to_named(&mut self, cx: &mut Context, key: &Key, with_line: bool) -> Result<()> {
        let Some(terminal) = self.get(key) else { return Ok(()) };
        let cwd = terminal.shown.program().cwd.clone();
        let (line, column) = cx.editor.cursor(cx.editor.current_win()?)?;
        let lines = cx.editor.lines(terminal.buf, line as i64 - 1, line as i64)?;
        let text = lines.first().map(String::as_str).unwrap_or_default();
        let found =
            error_locations::at(text, column).map(|found| (cwd.join(found.path), found.line, found.column));
        let named: String = cx.editor.func("expand", "<cfile>")?;
        let other = move |cx: &mut Context| {
            if named.is_empty() {
                return fail("there is no file name under the cursor");
            }
            cx.raise(EditorEvent::LocationChosen { path: cwd.join(named), line: None, column: None });
            Ok(())
        };
        let Some((path, line, column)) = found else { return other(cx) };
        cx.look_first(&path.clone(), move |_: &mut Self, cx, look| match look {
            look if look.finds_file() => {
                let line = Some(line).filter(|_| with_line);
                cx.raise(EditorEvent::LocationChosen { path, line, column });
                Ok(())
            }
            _ => other(cx),
        });
        Ok(())
    }
}

/// The line of a list's window has room for this much of what it is about.
const LONGEST_TITLE: usize = 50;

/// Shows locations in the quickfix list.
fn list_locations(cx: &mut Context, title: &str, locations: &[Location]) -> Result<()> {
    if locations.is_empty() {
        // A longer message would hold the editor at a prompt.
        let command = cut_middle(title, 24);
        let text = format!("the output of {command} names no place in a file that exists");
        cx.notify(text, Level::Info);
        return Ok(());
    }
    let lua = &cx.editor.lua;
    let items = lua.create_table()?;
    for location in locations {
        let kind = location.kind.map(|kind| match kind {
            Kind::Error => "E",
            Kind::Warning => "W",
            Kind::Note => "N",
        });
        let item = cx.editor.table([
            ("filename", cx.editor.string(location.path.as_os_str().as_encoded_bytes())?),
            ("module", cx.editor.name_in_list(&location.path)?),
            ("lnum", Value::Integer(location.line.into())),
            ("col", Value::Integer(location.column.unwrap_or(0).into())),
            ("text", cx.editor.string(visible_line(&location.text))?),
            ("type", cx.editor.string(kind.unwrap_or_default())?),
        ])?;
        items.push(item)?;
    }
    let list = cx.editor.table([
        ("title", cx.editor.string(format!("acp: {}", cut_end(title, LONGEST_TITLE)))?),
        ("items", Value::Table(items)),
    ])?;
    cx.editor.func::<Value>("setqflist", (lua.create_table()?, " ", list))?;
    cx.editor.command("botright copen")
}
