//! Every call into Neovim, typed, through `vim.api` and `vim.fn`: the one way that works in each
//! version with the same library. Each function is fetched once. What the calls are for is left to
//! the other files.

pub mod autocommands;
pub mod code_window;
pub mod float;
pub mod highlight_groups;
pub mod picker;
pub mod timer;

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{FromLua, FromLuaMulti, Function, IntoLua, IntoLuaMulti, Lua, Result, Table, Value};

use crate::core::ids::Moment;
use crate::core::inspector::line::clock_offset;
use crate::core::maps::FastMap;
use crate::core::message::Severity;
use crate::core::text::bar::{Part, bar};
use crate::core::text::visible::{is_plain, visible, visible_line};
use crate::core::window_sizes::Area;
use crate::platform::files::path_of_bytes;

/// A buffer's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buf(pub i64);

/// A window's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Win(pub i64);

impl IntoLua for Buf {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        self.0.into_lua(lua)
    }
}

impl FromLua for Buf {
    fn from_lua(value: Value, lua: &Lua) -> Result<Self> {
        i64::from_lua(value, lua).map(Self)
    }
}

impl IntoLua for Win {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        self.0.into_lua(lua)
    }
}

impl FromLua for Win {
    fn from_lua(value: Value, lua: &Lua) -> Result<Self> {
        i64::from_lua(value, lua).map(Self)
    }
}

/// The level of a `vim.notify()` (`:help vim.log.levels`).
#[derive(Clone, Copy, Debug)]
pub enum Level {
    Info = 2,
    Warn = 3,
    Error = 4,
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Info => Self::Info,
            Severity::Warning => Self::Warn,
            Severity::Error => Self::Error,
        }
    }
}

/// A buffer that may be edited for a while.
pub struct Unlocked {
    /// The windows that stand at its end.
    following: Table,
    /// Of its window in this tab page.
    pub width: Option<u16>,
}

/// So long after a picker has closed what is said is seen.
pub const AFTER_PICKER: Duration = Duration::from_millis(10);

pub struct Editor {
    pub lua: Lua,
    vim: Table,
    api: Table,
    functions: Table,
    helpers: Table,
    fetched: RefCell<FastMap<&'static str, Function>>,
    unlock: Function,
    lock: Function,
    paint: Function,
    in_buffer: Function,
    run_in_terminal: Function,
    take_from_disk: Function,
    notify: Function,
    /// Shows a question as a message, and takes it back.
    ask: Function,
    answered: Function,
    /// A question was shown, and not taken back.
    has_asked: Cell<bool>,
    sign: Function,
}

impl Editor {
    pub fn new(lua: &Lua) -> Result<Self> {
        let vim: Table = lua.globals().get("vim")?;
        let helpers: Table = lua.load(include_str!("editor.lua")).set_name("=acp/editor").eval()?;
        for (name, source) in [
            ("=acp/files/times", include_str!("files/times.lua")),
            ("=acp/editor/pages", include_str!("editor/pages.lua")),
            ("=acp/editor/squeeze", include_str!("editor/squeeze.lua")),
            ("=acp/editor/terminal_sizes", include_str!("editor/terminal_sizes.lua")),
        ] {
            for pair in lua.load(source).set_name(name).eval::<Table>()?.pairs::<String, Function>() {
                let (name, function) = pair?;
                helpers.set(name, function)?;
            }
        }
        let notify: Table = lua.globals().get::<Function>("require")?.call("acp.notify")?;
        Ok(Self {
            lua: lua.clone(),
            api: vim.get("api")?,
            functions: vim.get("fn")?,
            vim,
            fetched: RefCell::default(),
            unlock: helpers.get("unlock")?,
            lock: helpers.get("lock")?,
            paint: helpers.get("paint")?,
            in_buffer: helpers.get("in_buffer")?,
            run_in_terminal: helpers.get("run_in_terminal")?,
            take_from_disk: helpers.get("take_from_disk")?,
            notify: notify.get("show")?,
            ask: notify.get("ask")?,
            answered: notify.get("answered")?,
            has_asked: Cell::new(false),
            sign: notify.get("float")?,
            helpers,
        })
    }

    fn fetch(&self, name: &'static str, table: &Table) -> Result<Function> {
        if let Some(function) = self.fetched.borrow().get(name) {
            return Ok(function.clone());
        }
        let function: Function = table.get(name)?;
        self.fetched.borrow_mut().insert(name, function.clone());
        Ok(function)
    }

    /// A function of `vim.api`.
    pub fn api<R: FromLuaMulti>(&self, name: &'static str, args: impl IntoLuaMulti) -> Result<R> {
        self.fetch(name, &self.api)?.call(args)
    }

    /// A function of `vim.fn`.
    pub fn func<R: FromLuaMulti>(&self, name: &'static str, args: impl IntoLuaMulti) -> Result<R> {
        self.fetch(name, &self.functions)?.call(args)
    }

    /// A function of `editor.lua` or `files/times.lua`.
    pub fn helper<R: FromLuaMulti>(&self, name: &'static str, args: impl IntoLuaMulti) -> Result<R> {
        self.fetch(name, &self.helpers)?.call(args)
    }

    /// A member of `vim`, such as `vim.ui`.
    pub fn module(&self, name: &str) -> Result<Table> {
        self.vim.get(name)
    }

    pub fn table<const N: usize>(&self, pairs: [(&str, Value); N]) -> Result<Table> {
        self.lua.create_table_from(pairs)
    }

    pub fn string(&self, text: impl AsRef<[u8]>) -> Result<Value> {
        Ok(Value::String(self.lua.create_string(text)?))
    }

    // Buffers.

    pub fn create_buf(&self, listed: bool, scratch: bool) -> Result<Buf> {
        self.api("nvim_create_buf", (listed, scratch))
    }

    /// A page of the plugin's own, which stays while no window shows it and which only the plugin changes.
    pub fn create_page(&self, name: &str, filetype: &str) -> Result<Buf> {
        let buf = self.create_buf(false, true)?;
        self.set_buf_name(buf, name)?;
        self.set_buf_option(buf, "bufhidden", "hide")?;
        self.set_buf_option(buf, "swapfile", false)?;
        self.set_buf_option(buf, "undolevels", -1)?;
        self.set_buf_option(buf, "filetype", filetype)?;
        self.set_buf_option(buf, "modifiable", false)?;
        Ok(buf)
    }

    /// Also with unsaved edits or a program in it; its windows go, or show another.
    pub fn delete_buf(&self, buf: Buf) -> Result<()> {
        self.api("nvim_buf_delete", (buf, self.table([("force", Value::Boolean(true))])?))
    }

    pub fn buf_is_valid(&self, buf: Buf) -> bool {
        self.api("nvim_buf_is_valid", buf).unwrap_or(false)
    }

    pub fn buf_is_loaded(&self, buf: Buf) -> bool {
        self.api("nvim_buf_is_loaded", buf).unwrap_or(false)
    }

    pub fn buf_name(&self, buf: Buf) -> String {
        self.api::<mlua::LuaString>("nvim_buf_get_name", buf)
            .map(|name| name.to_string_lossy())
            .unwrap_or_default()
    }

    /// The same as a path, also where it is no text.
    pub fn buf_path(&self, buf: Buf) -> PathBuf {
        self.api::<mlua::LuaString>("nvim_buf_get_name", buf)
            .map(|name| path_of_bytes(&name.as_bytes()))
            .unwrap_or_default()
    }

    pub fn set_buf_name(&self, buf: Buf, name: &str) -> Result<()> {
        self.api("nvim_buf_set_name", (buf, name))
    }

    /// Shows lines beside a row until the cursor goes elsewhere; nothing when it has.
    pub fn show_beside_line(&self, buf: Buf, row: usize, lines: Vec<String>) -> Result<()> {
        let lines: Vec<String> = lines.iter().map(|line| visible(line).into_owned()).collect();
        self.helper::<Value>("beside_line", (buf, row, lines)).map(drop)
    }

    /// Gives a buffer this name, with a number where another buffer has it: a restored session's, or another chat's.
    pub fn set_free_name(&self, buf: Buf, name: &str) -> Result<()> {
        let others = (2..100).map(|number| match name.strip_suffix(".md") {
            Some(stem) => format!("{stem} {number}.md"),
            None => format!("{name} {number}"),
        });
        let mut names = std::iter::once(name.to_owned()).chain(others);
        match names.find(|name| self.set_buf_name(buf, name).is_ok()) {
            Some(_) => Ok(()),
            None => self.set_buf_name(buf, &format!("{name} #{}", buf.0)),
        }
    }

    pub fn line_count(&self, buf: Buf) -> Result<usize> {
        self.api("nvim_buf_line_count", buf)
    }

    /// Lines `start..end`, 0-based; -1 is the line after the last.
    pub fn lines(&self, buf: Buf, start: i64, end: i64) -> Result<Vec<String>> {
        let lines: Vec<mlua::LuaString> = self.api("nvim_buf_get_lines", (buf, start, end, false))?;
        Ok(lines.iter().map(|line| line.to_string_lossy()).collect())
    }

    /// The whole text, its lines joined by `\n`, without a last line break; `None` when it is not UTF-8.
    pub fn text(&self, buf: Buf) -> Result<Option<String>> {
        let rows = 0..self.line_count(buf)?;
        self.with_joined(buf, rows, |text| text.to_str().ok().map(|text| text.to_owned()))
    }

    /// Adds some of a buffer's lines to a text, joined by `\n`; rows are 0-based.
    pub fn push_lines(&self, buf: Buf, rows: Range<usize>, text: &mut String) -> Result<()> {
        self.with_joined(buf, rows, |lines| {
            let lines = lines.to_str().map_err(|_| mlua::Error::runtime("it is not UTF-8 text"))?;
            text.push_str(&lines);
            Ok(())
        })?
    }

    /// Some bytes of a line; the row is 0-based.
    pub fn part_of_line(&self, buf: Buf, row: usize, bytes: Range<usize>) -> Result<mlua::LuaString> {
        let none = self.lua.create_table()?;
        let parts: Vec<mlua::LuaString> =
            self.api("nvim_buf_get_text", (buf, row, bytes.start, row, bytes.end, none))?;
        parts.into_iter().next().ok_or_else(|| mlua::Error::runtime("the buffer has no such line"))
    }

    fn with_joined<R>(
        &self,
        buf: Buf,
        rows: Range<usize>,
        take: impl FnOnce(&mlua::LuaString) -> R,
    ) -> Result<R> {
        // Joined by Neovim itself: lines that come to Lua one by one cost twice as much, and Lua's garbage
        // collector cleans them up whenever it likes. But Vimscript has a line break for a NUL in a line.
        let code = format!("join(getbufline({}, {}, {}), \"\\n\")", buf.0, rows.start + 1, rows.end);
        let text: mlua::LuaString = self.api("nvim_eval", code)?;
        let breaks = text.as_bytes().iter().filter(|byte| **byte == b'\n').count();
        if breaks + 1 == rows.len() {
            return Ok(take(&text));
        }
        Ok(take(&self.helper("slice", (buf, rows.start, rows.end))?))
    }

    /// The bytes of the first lines, each with its line end; 0 where it is not known.
    pub fn byte_count(&self, buf: Buf, lines: usize) -> usize {
        self.api::<i64>("nvim_buf_get_offset", (buf, lines))
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or(0)
    }

    /// Lets a buffer be edited that its user cannot change, until [`Self::lock`]; `None` when it is gone.
    pub fn unlock(&self, buf: Buf) -> Result<Option<Unlocked>> {
        let (following, width): (Option<Table>, Option<u16>) = self.unlock.call(buf)?;
        Ok(following.map(|following| Unlocked { following, width }))
    }

    /// Windows that stood at the buffer's end do so again.
    pub fn lock(&self, buf: Buf, unlocked: Unlocked) -> Result<()> {
        self.lock.call((buf, unlocked.following))
    }

    /// Rows and byte columns are 0-based; -1 counts from the end (`:help nvim_buf_set_text()`).
    pub fn set_text(
        &self,
        buf: Buf,
        start: (i64, i64),
        end: (i64, i64),
        lines: &[impl AsRef<str>],
    ) -> Result<()> {
        let table = self.lua.create_sequence_from(lines.iter().map(AsRef::as_ref))?;
        self.api("nvim_buf_set_text", (buf, start.0, start.1, end.0, end.1, table))
    }

    /// Replaces whole lines; rows are 0-based.
    pub fn set_lines(&self, buf: Buf, rows: Range<usize>, lines: &[impl AsRef<str>]) -> Result<()> {
        let table = self.lua.create_sequence_from(lines.iter().map(AsRef::as_ref))?;
        self.api("nvim_buf_set_lines", (buf, rows.start, rows.end, true, table))
    }

    /// One line's length in bytes; the row is 0-based.
    pub fn line_len(&self, buf: Buf, row: usize) -> Result<usize> {
        let lines: Vec<mlua::LuaString> = self.api("nvim_buf_get_lines", (buf, row, row + 1, false))?;
        Ok(lines.first().map_or(0, |line| line.as_bytes().len()))
    }

    pub fn changedtick(&self, buf: Buf) -> Result<u64> {
        self.api("nvim_buf_get_changedtick", buf)
    }

    pub fn buf_option<R: FromLua>(&self, buf: Buf, name: &str) -> Result<R> {
        let scope = self.table([("buf", Value::Integer(buf.0))])?;
        self.api("nvim_get_option_value", (name, scope))
    }

    pub fn set_buf_option(&self, buf: Buf, name: &str, value: impl IntoLua) -> Result<()> {
        let scope = self.table([("buf", Value::Integer(buf.0))])?;
        self.api("nvim_set_option_value", (name, value, scope))
    }

    pub fn global_option<R: FromLua>(&self, name: &str) -> Result<R> {
        self.api("nvim_get_option_value", (name, self.lua.create_table()?))
    }

    pub fn list_bufs(&self) -> Result<Vec<Buf>> {
        self.api("nvim_list_bufs", ())
    }

    /// Runs Ex commands with the buffer as the current one, quietly (`:help nvim_buf_call()`).
    pub fn command_in(&self, buf: Buf, command: &str) -> Result<()> {
        self.in_buffer.call((buf, command))
    }

    /// Reads a buffer's file again if it has changed, without a question to the user.
    pub fn take_from_disk(&self, buf: Buf) -> Result<()> {
        self.take_from_disk.call(buf)
    }

    /// Runs a command in a terminal of Neovim's in a split, and goes there. `done` gets the exit code.
    pub fn run_in_terminal(
        &self,
        command: &[String],
        env: &[(String, String)],
        cwd: &std::path::Path,
        done: Function,
    ) -> Result<()> {
        let env =
            self.lua.create_table_from(env.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        self.run_in_terminal.call((command.to_vec(), env, cwd.to_string_lossy().into_owned(), done))
    }

    /// How a file is called in a list where its name could not be seen as it is; empty else.
    pub fn name_in_list(&self, path: &Path) -> Result<Value> {
        let name = path.to_string_lossy();
        self.string(if is_plain(&name) { String::new() } else { visible_line(&name) })
    }

    // Extmarks.

    pub fn namespace(&self, name: &str) -> Result<i64> {
        self.api("nvim_create_namespace", name)
    }

    /// Sets an extmark at a 0-based row and byte; gives its id.
    pub fn set_extmark(&self, buf: Buf, ns: i64, at: (usize, usize), options: Table) -> Result<i64> {
        let (row, column) = at;
        self.api("nvim_buf_set_extmark", (buf, ns, row, column, options))
    }

    /// The 0-based row of an extmark.
    pub fn extmark_row(&self, buf: Buf, ns: i64, id: i64) -> Result<Option<usize>> {
        let position: Vec<usize> =
            self.api("nvim_buf_get_extmark_by_id", (buf, ns, id, self.lua.create_table()?))?;
        Ok(position.first().copied())
    }

    /// Removes a namespace's marks from rows `start..end`; -1 is the end of the buffer.
    pub fn clear_namespace(&self, buf: Buf, ns: i64, start: i64, end: i64) -> Result<()> {
        self.api("nvim_buf_clear_namespace", (buf, ns, start, end))
    }

    /// Sets many marks at once; `marks` is what `editor.lua` says.
    pub fn paint(&self, buf: Buf, ns: i64, marks: Table) -> Result<()> {
        self.paint.call((buf, ns, marks))
    }

    /// Has parts of a page's lines look like groups: row and bytes from and to, 0-based. What looked so before is gone.
    pub fn paint_groups<'a>(
        &self,
        buf: Buf,
        namespace: &str,
        marks: impl IntoIterator<Item = (usize, usize, usize, &'a str)>,
    ) -> Result<()> {
        let ns = self.namespace(namespace)?;
        self.clear_namespace(buf, ns, 0, -1)?;
        let list = self.lua.create_table()?;
        for (row, from, to, group) in marks {
            list.raw_push(row)?;
            list.raw_push(from)?;
            list.raw_push(
                self.table([("end_col", Value::Integer(to as i64)), ("hl_group", self.string(group)?)])?,
            )?;
        }
        self.paint(buf, ns, list)
    }

    // Windows.

    pub fn current_win(&self) -> Result<Win> {
        self.api("nvim_get_current_win", ())
    }

    pub fn current_buf(&self) -> Result<Buf> {
        self.api("nvim_get_current_buf", ())
    }

    pub fn set_current_win(&self, win: Win) -> Result<()> {
        self.api("nvim_set_current_win", win)
    }

    pub fn win_is_valid(&self, win: Win) -> bool {
        self.api("nvim_win_is_valid", win).unwrap_or(false)
    }

    pub fn win_buf(&self, win: Win) -> Result<Buf> {
        self.api("nvim_win_get_buf", win)
    }

    /// Neovim looks at the time of the buffer's file then, and asks about one that has changed: not here.
    pub fn set_win_buf(&self, win: Win, buf: Buf) -> Result<()> {
        self.helper::<()>("look", buf)?;
        self.helper("win_set_buf", (win, buf))
    }

    /// The windows of the current tab page, in their order.
    pub fn tab_wins(&self) -> Result<Vec<Win>> {
        self.api("nvim_tabpage_list_wins", 0)
    }

    /// The other windows of a window's tab page, without those that float.
    pub fn normal_wins_beside(&self, win: Win) -> Result<Vec<Win>> {
        let tab: i64 = self.api("nvim_win_get_tabpage", win)?;
        let mut wins: Vec<Win> = self.api("nvim_tabpage_list_wins", tab)?;
        wins.retain(|other| *other != win && !self.is_floating(*other));
        Ok(wins)
    }

    /// All windows of all tab pages that show a buffer.
    pub fn wins_of(&self, buf: Buf) -> Vec<Win> {
        self.func::<Vec<Win>>("win_findbuf", buf).unwrap_or_default()
    }

    /// 1-based line and 0-based byte column.
    pub fn cursor(&self, win: Win) -> Result<(usize, usize)> {
        let position: Vec<usize> = self.api("nvim_win_get_cursor", win)?;
        Ok((position.first().copied().unwrap_or(1), position.get(1).copied().unwrap_or(0)))
    }

    pub fn set_cursor(&self, win: Win, line: usize, column: usize) -> Result<()> {
        self.api("nvim_win_set_cursor", (win, vec![line, column]))
    }

    pub fn set_win_option(&self, win: Win, name: &str, value: impl IntoLua) -> Result<()> {
        let scope = self.table([("win", Value::Integer(win.0)), ("scope", self.string("local")?)])?;
        self.api("nvim_set_option_value", (name, value, scope))
    }

    pub fn win_option<R: FromLua>(&self, win: Win, name: &str) -> Result<R> {
        let scope = self.table([("win", Value::Integer(win.0))])?;
        self.api("nvim_get_option_value", (name, scope))
    }

    /// Where the window stands on the screen.
    pub fn win_area(&self, win: Win) -> Result<Area> {
        let [row, column]: [u16; 2] = self.api("nvim_win_get_position", win)?;
        let (width, height) = self.win_size(win)?;
        Ok(Area { row, column, width, height })
    }

    /// Width and height in cells.
    pub fn win_size(&self, win: Win) -> Result<(u16, u16)> {
        Ok((self.api("nvim_win_get_width", win)?, self.api("nvim_win_get_height", win)?))
    }

    /// The folder that a buffer lists, if it lists one.
    pub fn folder_of(&self, buf: Buf) -> Option<PathBuf> {
        self.helper::<Option<String>>("folder_of", buf).ok().flatten().map(PathBuf::from)
    }

    /// Opens or closes windows while the terminals of the tab page keep their sizes.
    pub fn beside_terminals<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let held = self.hold_terminals()?;
        let changed = change();
        self.release_terminals(held)?;
        changed
    }

    /// Has the terminals of the tab page keep their sizes until they are released.
    pub fn hold_terminals(&self) -> Result<Table> {
        self.helper("hold_terminals", ())
    }

    pub fn release_terminals(&self, held: Table) -> Result<()> {
        self.helper("release_terminals", held)
    }

    /// Sets the bars of windows, where there is room for one.
    pub fn set_bars(&self, wins: &[Win], bar: &str) -> Result<()> {
        wins.iter().try_for_each(|win| self.helper("set_bar", (*win, bar)))
    }

    /// The count that was typed before the key that is being obeyed.
    pub fn count(&self) -> Result<usize> {
        self.module("v")?.get("count1")
    }

    /// Gives windows a bar of these parts, each as many as it has room for.
    pub fn fit_bars(&self, wins: &[Win], left: &[Part], right: &[Part]) -> Result<()> {
        wins.iter().try_for_each(|win| {
            let (columns, _) = self.win_size(*win)?;
            self.set_bars(&[*win], &bar(left, right, columns.into()))
        })
    }

    /// Whether one of these windows has become too low for its bar, or high enough for one.
    pub fn lacks_bar(&self, wins: &[Win]) -> Result<bool> {
        self.helper("lacks_bar", wins.to_vec())
    }

    /// `relative` is empty for a window that does not float.
    pub fn is_floating(&self, win: Win) -> bool {
        self.api::<Table>("nvim_win_get_config", win)
            .and_then(|config| config.get::<Option<String>>("relative"))
            .is_ok_and(|relative| relative.is_some_and(|relative| !relative.is_empty()))
    }

    pub fn open_win(&self, buf: Buf, enter: bool, config: Table) -> Result<Win> {
        self.helper::<()>("look", buf)?;
        self.helper("open_win", (buf, enter, config))
    }

    pub fn close_win(&self, win: Win) -> Result<()> {
        self.api("nvim_win_close", (win, true))
    }

    // The rest.

    /// Opens a window of so many rows below all others, for a page, and goes there. What it takes from the others they get
    /// back when it is closed.
    pub fn split_for_page(&self, rows: u16) -> Result<Win> {
        self.helper("split_for_page", rows)
    }

    /// Closes the window of a page; where it is the last one, the page goes and a file takes its place. The user is
    /// where they came from then.
    pub fn close_page(&self) -> Result<()> {
        self.helper("close_page", ())
    }

    /// As hours, minutes and seconds, where the user is.
    pub fn time_of_day(&self, at: Moment) -> Result<String> {
        self.local_time("%H:%M:%S", at.0)
    }

    /// As a day with hours and minutes, where the user is.
    pub fn day_and_time(&self, at: u64) -> Result<String> {
        self.local_time("%Y-%m-%d %H:%M", at)
    }

    /// What time it was where the user is; `at` is in milliseconds, the format that of `strftime()`.
    pub fn local_time(&self, format: &str, at: u64) -> Result<String> {
        self.func("strftime", (format, at / 1000))
    }

    /// How many minutes the user's clock is ahead of UTC now.
    pub fn clock_offset(&self) -> Result<i64> {
        self.func::<String>("strftime", "%z").map(|zone| clock_offset(&zone))
    }

    /// Runs an Ex command, which says nothing: where it fails that is the error.
    pub fn command(&self, command: &str) -> Result<()> {
        match command.starts_with("redraw") {
            true => self.api("nvim_command", command),
            false => self.helper("command", command),
        }
    }

    /// The short name of the mode, and whether Neovim waits for a key (`:help nvim_get_mode()`).
    pub fn mode(&self) -> (String, bool) {
        let read = || -> Result<(String, bool)> {
            let mode: Table = self.api("nvim_get_mode", ())?;
            Ok((mode.get("mode")?, mode.get("blocking")?))
        };
        read().unwrap_or_default()
    }

    pub fn cwd(&self) -> PathBuf {
        PathBuf::from(self.func::<String>("getcwd", ()).unwrap_or_default())
    }

    /// The whole editor in cells.
    pub fn size(&self) -> (u16, u16) {
        let option = |name: &str| -> u16 {
            self.lua
                .create_table()
                .and_then(|empty| self.api("nvim_get_option_value", (name, empty)))
                .unwrap_or(80)
        };
        (option("columns"), option("lines"))
    }

    /// A full path as `:echo exepath()` finds it.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.func::<String>("exepath", name).ok().filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Opens a file or an address with whatever the system has for it. The error is Neovim's.
    pub fn open_outside(&self, what: &str) -> std::result::Result<(), String> {
        let open = || -> Result<Option<String>> {
            let (_, why): (Value, Option<String>) = self.module("ui")?.get::<Function>("open")?.call(what)?;
            Ok(why)
        };
        match open() {
            Ok(None) => Ok(()),
            Ok(Some(why)) => Err(why),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells the user; never so that Neovim waits for a key.
    pub fn notify(&self, text: &str, level: Level) {
        let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let line = visible(&line).into_owned();
        let sent = self.notify.call::<()>((line, level as i64));
        // There is no other way left to tell.
        let _ = sent;
    }

    /// Says something about what waits for the user, until nothing does.
    pub fn notify_question(&self, text: &str, level: Level) {
        self.has_asked.set(true);
        // There is no other way left to tell.
        let _ = self.ask.call::<()>((visible_line(text), level as i64));
    }

    /// Whether keys are typed already that Neovim has not come to.
    pub fn has_keys_waiting(&self) -> Result<bool> {
        // A key of several bytes is a text.
        Ok(self.func::<Value>("getchar", 1)? != Value::Integer(0))
    }

    /// The same once a picker is gone: what is drawn for that screen next, such as the mode, would wipe a message out.
    pub fn notify_after_picker(&self, text: &str, level: Level) -> Result<()> {
        self.command("redraw")?;
        self.notify_question(text, level);
        Ok(())
    }

    /// Nothing waits for the user any more.
    pub fn nothing_waits(&self) {
        if self.has_asked.take() {
            let done = self.answered.call::<()>(());
            self.notify_error(done);
        }
    }

    /// Has a line stay on the screen while the user types, until it is taken back.
    pub fn sign(&self, text: Option<&str>) -> Result<()> {
        self.sign.call(text.map(visible_line))
    }

    /// Tells the user what has failed, if it has.
    pub fn notify_error(&self, done: Result<()>) {
        if let Err(error) = done {
            self.notify(&error.to_string(), Level::Error);
        }
    }

    /// Draws what changed while Neovim waits for a key on the command line, where it would not by
    /// itself.
    pub fn flush(&self) {
        let (mode, blocking) = self.mode();
        if !blocking && !mode.starts_with('c') && !mode.starts_with('r') {
            return;
        }
        let flush = || -> Result<()> {
            if let Some(redraw) = self.api.get::<Option<Function>>("nvim__redraw")? {
                return redraw.call(self.table([("flush", Value::Boolean(true))])?);
            }
            self.command("redraw")
        };
        // Not drawn now is drawn at the next key.
        let _ = flush();
    }
}

/// The first line of an error of Neovim's, without where in Lua it came from.
pub fn first_line(error: &mlua::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("runtime error: ").unwrap_or(line);
    match line.find("Vim(").or_else(|| line.find("E")) {
        Some(at)
            if line[at..].starts_with("Vim(") || line[at + 1..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            line[at..].to_owned()
        }
        _ => line.to_owned(),
    }
}
