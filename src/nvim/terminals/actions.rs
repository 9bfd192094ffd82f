//! What a user does with the commands that ran: look at one, put it away, end it, and go to the places in
//! files that it names.

use mlua::{Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::message::Command;
use crate::core::session::Session;
use crate::core::terminal::error_locations::{self, Kind, Place};
use crate::core::text::one_line;
use crate::core::text::visible::visible_line;
use crate::core::transcript::cut_middle;
use crate::nvim::actions::fail;
use crate::nvim::app::App;
use crate::nvim::chat::transcript::Place as Target;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::terminals::Key;

type Act = fn(&mut App, &Key) -> Result<()>;

impl App {
    /// `:Acp terminal [verb]`.
    pub fn terminal_command(&mut self, verb: Option<&str>) -> Result<()> {
        match verb {
            None | Some("open") => self.with_terminal(false, Self::enter_terminal),
            Some("close") => self.with_terminal(false, Self::close_terminal),
            Some("kill") => match self.cx.session_here().filter(|key| self.has_only_left(*key)) {
                Some(key) => self.end_left(key),
                None => self.with_terminal(true, Self::kill_terminal),
            },
            Some("quickfix") => self.with_terminal(false, Self::find_places),
            Some(other) => fail(format!("terminal takes open, close, kill or quickfix, not {other:?}")),
        }
    }

    /// Does it to the terminal that the cursor is in or on, to the only one there is, or to one that the
    /// user picks.
    fn with_terminal(&mut self, running: bool, act: Act) -> Result<()> {
        if let Some(key) = self.terminal_here()? {
            return act(self, &key);
        }
        let all: Vec<Key> = self
            .terminals
            .all()
            .into_iter()
            .filter(|(_, terminal)| !running || terminal.exit.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        match &all[..] {
            [] if running => fail("no command is running"),
            [] => fail("no command has been run yet"),
            [only] => act(self, &only.clone()),
            _ => self.pick_terminal(all, act),
        }
    }

    pub fn choose_terminal(&mut self) -> Result<()> {
        let all: Vec<Key> = self.terminals.all().into_iter().map(|(key, _)| key.clone()).collect();
        match &all[..] {
            [] => fail("no command has been run yet"),
            [only] => self.enter_terminal(&only.clone()),
            _ => self.pick_terminal(all, Self::enter_terminal),
        }
    }

    fn pick_terminal(&mut self, all: Vec<Key>, act: Act) -> Result<()> {
        let now = self.cx.now();
        let label = |key: &Key| {
            let terminal = self.terminals.get(key)?;
            let command = cut_middle(&one_line(&terminal.command), 80);
            Some(format!("{:<15} {command}", terminal.state().words(now)))
        };
        let items = all.iter().map(|key| label(key).unwrap_or_default()).collect();
        self.offer("Terminals", "acp_terminal", items, move |app, index| act(app, &all[index]))
    }

    /// The terminal that the cursor is in, or on whose tool call it is.
    fn terminal_here(&self) -> Result<Option<Key>> {
        let buf = self.cx.editor.current_buf()?;
        if let Some(key) = self.terminals.of_buf(buf) {
            return Ok(Some(key));
        }
        let Some(chat) = self.chats.values().find(|chat| chat.transcript == buf) else { return Ok(None) };
        let session = chat.session;
        let entry = self.entry_under_cursor(session)?;
        let call = entry.and_then(|entry| self.cx.sessions.get(&session)?.entry(entry)?.tool());
        let shown = call.into_iter().flat_map(|call| call.terminals());
        Ok(shown.map(|id| (session, id.clone())).find(|key| self.terminals.get(key).is_some()))
    }

    pub fn enter_terminal(&mut self, key: &Key) -> Result<()> {
        self.open_terminal(key)?;
        let Some(terminal) = self.terminals.get(key) else { return Ok(()) };
        match self.cx.editor.wins_of(terminal.buf).first() {
            Some(win) => self.cx.editor.set_current_win(*win),
            None => Ok(()),
        }
    }

    fn close_terminal(&mut self, key: &Key) -> Result<()> {
        if !self.terminals.close(&self.cx.editor, key)? {
            return fail("no window shows this terminal");
        }
        self.resized()
    }

    fn kill_terminal(&mut self, key: &Key) -> Result<()> {
        if self.terminals.get(key).is_some_and(|terminal| terminal.exit.is_some()) {
            return fail("this command has ended already");
        }
        if !self.terminals.takes_input(key) {
            let name = self.cx.sessions.get(&key.0).map_or_else(|| "the agent".to_owned(), Session::name);
            return fail(format!("{name} runs this command itself; :Acp cancel stops the whole turn"));
        }
        let (session, terminal) = key.clone();
        self.send(Command::Kill { session, terminal })
    }

    /// Whether commands go on after their turn, and none in a terminal.
    fn has_only_left(&self, key: SessionKey) -> bool {
        let in_terminal = self.terminals.all().into_iter().any(|(_, terminal)| terminal.exit.is_none());
        !in_terminal && self.cx.sessions.get(&key).is_some_and(|session| !session.left().is_empty())
    }

    /// Ends what goes on although its turn was stopped.
    pub fn end_left(&mut self, key: SessionKey) -> Result<()> {
        let commands = self.cx.sessions.get_mut(&key).map(Session::end_left).unwrap_or_default();
        if commands.is_empty() {
            return fail("no command is still running after a stopped turn");
        }
        self.after_change(key)?;
        self.send(Command::EndLeft { session: key, commands })
    }

    // Places.

    /// Shows places in the quickfix list.
    pub fn list_places(&mut self, title: &str, places: &[Place]) -> Result<()> {
        if places.is_empty() {
            // A longer message would hold the editor at a prompt.
            let command = cut_middle(&one_line(title), 30);
            let text = format!("the output of {command} names no place in a file");
            self.cx.advise(text, Level::Info);
            return Ok(());
        }
        let lua = &self.cx.editor.lua;
        let items = lua.create_table()?;
        for place in places {
            let kind = place.kind.map(|kind| match kind {
                Kind::Error => "E",
                Kind::Warning => "W",
                Kind::Note => "N",
            });
            let item = self.cx.editor.table([
                ("filename", self.cx.editor.string(place.path.as_os_str().as_encoded_bytes())?),
                ("module", self.cx.editor.name_in_list(&place.path)?),
                ("lnum", Value::Integer(place.line.into())),
                ("col", Value::Integer(place.column.unwrap_or(0).into())),
                ("text", self.cx.editor.string(visible_line(&place.text))?),
                ("type", self.cx.editor.string(kind.unwrap_or_default())?),
            ])?;
            items.push(item)?;
        }
        let list = self.cx.editor.table([
            ("title", self.cx.editor.string(visible_line(&format!("acp: {title}")))?),
            ("items", Value::Table(items)),
        ])?;
        self.cx.editor.func::<Value>("setqflist", (lua.create_table()?, " ", list))?;
        self.cx.editor.command("botright copen")
    }

    /// Gives a terminal's buffer the keys that go to places.
    pub fn bind_terminal(&self, key: &Key, buf: Buf) -> Result<()> {
        let keymap: Table = self.cx.editor.module("keymap")?;
        let set: mlua::Function = keymap.get("set")?;
        for (lhs, with_line, about) in [
            ("gf", false, "acp: go to the file that the command names"),
            ("gF", true, "acp: go to the place that the command names"),
        ] {
            let key = key.clone();
            let go = self.cx.editor.lua.create_function(move |_, ()| {
                let key = key.clone();
                crate::nvim::run(move |app| app.go_to_named_place(&key, with_line));
                Ok(())
            })?;
            let options = self
                .cx
                .editor
                .table([("buffer", Value::Integer(buf.0)), ("desc", self.cx.editor.string(about)?)])?;
            set.call::<()>(("n", lhs, go, options))?;
        }
        Ok(())
    }

    /// To the place under the cursor, in the window for code.
    fn go_to_named_place(&mut self, key: &Key, with_line: bool) -> Result<()> {
        let Some(terminal) = self.terminals.get(key) else { return Ok(()) };
        let cwd = terminal.cwd.clone();
        let (line, column) = self.cx.editor.cursor(self.cx.editor.current_win()?)?;
        let lines = self.cx.editor.lines(terminal.buf, line as i64 - 1, line as i64)?;
        let text = lines.first().map(String::as_str).unwrap_or_default();
        let found =
            error_locations::at(text, column).map(|found| (cwd.join(found.path), found.line, found.column));
        let named: String = self.cx.editor.func("expand", "<cfile>")?;
        let other = move |app: &mut App| {
            if named.is_empty() {
                return fail("there is no file name under the cursor");
            }
            app.visit_place(Target { path: cwd.join(named), line: None, column: None, text: None })
        };
        let Some((path, line, column)) = found else { return other(self) };
        self.look_first(&path.clone(), move |app, look| match look {
            look if look.finds_file() => {
                let line = Some(line).filter(|_| with_line);
                app.visit_place(Target { path, line, column, text: None })
            }
            _ => other(app),
        })
    }
}
