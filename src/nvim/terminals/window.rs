//! The windows of terminals: opening and closing them, their bars, and their sizes, which the programs
//! are told. What they show is for others.

use mlua::{Result, Value};

use crate::config::{Position, TerminalOptions};
use crate::core::ids::Moment;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::terminals::{Key, Terminal, Terminals};

impl Terminals {
    /// Opens a terminal's window without moving the cursor there, unless one is open already; gives the
    /// new one.
    pub(super) fn open_window(
        &mut self,
        editor: &Editor,
        key: &Key,
        options: &TerminalOptions,
        beside: Option<Win>,
    ) -> Result<Option<Win>> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(None) };
        if !editor.wins_of(terminal.buf).is_empty() {
            return Ok(None);
        }
        let (columns, lines) = editor.size();
        let split = |direction: &str, name: &str, size: u16| -> Result<Win> {
            let config = editor.table([
                ("split", editor.string(direction)?),
                ("win", Value::Integer(beside.map_or(-1, |win| win.0))),
                (name, Value::Integer(size.into())),
            ])?;
            editor.open_win(terminal.buf, false, config)
        };
        let win = match options.position {
            Position::Bottom => split("below", "height", options.size.of(lines))?,
            Position::Top => split("above", "height", options.size.of(lines))?,
            Position::Right => split("right", "width", options.size.of(columns))?,
            Position::Left => split("left", "width", options.size.of(columns))?,
            Position::Tab => {
                let before = editor.current_win()?;
                editor.command("tab split")?;
                let win = editor.current_win()?;
                editor.set_win_buf(win, terminal.buf)?;
                editor.set_current_win(before)?;
                win
            }
        };
        dress(editor, win)?;
        // Its program's next line is seen only where the cursor is at the end.
        let last = editor.line_count(terminal.buf)?;
        editor.set_cursor(win, last, 0)?;
        Ok(Some(win))
    }

    /// A window has opened by itself.
    pub(super) fn opened_by_itself(&mut self, key: &Key, win: Win) {
        if let Some(terminal) = self.open.get_mut(key) {
            terminal.by_itself = Some(win);
        }
    }

    /// Closes the window that has opened by itself, if its command has ended well and the cursor is not in
    /// it.
    pub(super) fn close_opened_by_itself(&mut self, editor: &Editor, key: &Key) -> Result<()> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(()) };
        let succeeded = terminal.shown.has_succeeded();
        let Some(win) = terminal.by_itself.filter(|_| succeeded) else { return Ok(()) };
        if editor.current_win()? != win && editor.wins_of(terminal.buf).contains(&win) {
            terminal.by_itself = None;
            editor.close_win(win)?;
        }
        Ok(())
    }

    /// Closes a terminal's windows; says whether there were any.
    pub(super) fn close_windows(&mut self, editor: &Editor, key: &Key) -> Result<bool> {
        let wins = self.open.get(key).map(|terminal| editor.wins_of(terminal.buf)).unwrap_or_default();
        wins.iter().try_for_each(|win| editor.close_win(*win))?;
        Ok(!wins.is_empty())
    }

    /// The terminals whose windows have another size than their programs were told: rows, columns.
    pub(super) fn resized_windows(&mut self, editor: &Editor) -> Vec<(Key, u16, u16)> {
        let mut changed = Vec::new();
        for (key, terminal) in &mut self.open {
            if !terminal.shown.is_running() {
                continue;
            }
            let Some((rows, columns)) = size(editor, terminal) else { continue };
            if terminal.shown.resize(rows, columns) {
                changed.push((key.clone(), rows, columns));
            }
        }
        changed
    }

    /// The bars of a buffer's windows are set anew: it has come into another one.
    pub fn has_new_window(&mut self, buf: Buf) {
        for terminal in self.open.values_mut().filter(|terminal| terminal.buf == buf) {
            terminal.bar.clear();
        }
    }

    /// Brings the bars of all windows up to date. `title` is what the chat calls what runs.
    pub(super) fn draw_bars(
        &mut self,
        editor: &Editor,
        now: Moment,
        title: impl Fn(&Key) -> Option<String>,
    ) -> Result<()> {
        for (key, terminal) in &mut self.open {
            let wins = editor.wins_of(terminal.buf);
            if wins.is_empty() {
                terminal.bar.clear();
                continue;
            }
            let label = title(key);
            let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
            let width = widths.map(|(columns, _)| usize::from(columns)).min().unwrap_or(80);
            let text = terminal.shown.bar(label.as_deref(), now, width);
            if text == terminal.bar {
                continue;
            }
            for win in wins {
                // A window of a single row has no room for one.
                let _ = editor.set_win_option(win, "winbar", text.as_str());
            }
            terminal.bar = text;
        }
        Ok(())
    }

    /// Whether a command runs in sight, so that its time has to move on.
    pub fn is_watched(&self, editor: &Editor) -> bool {
        let mut running = self.open.values().filter(|terminal| terminal.shown.is_running());
        running.any(|terminal| !editor.wins_of(terminal.buf).is_empty())
    }
}

/// The size that the program is to have: that of the window the user is in, else of the first one.
fn size(editor: &Editor, terminal: &Terminal) -> Option<(u16, u16)> {
    let wins = editor.wins_of(terminal.buf);
    let current = editor.current_win().ok();
    let win = wins.iter().copied().find(|win| Some(*win) == current).or(wins.first().copied())?;
    let (columns, rows) = editor.win_size(win).ok()?;
    // The bar takes a row of the window.
    let bar: String = editor.win_option(win, "winbar").unwrap_or_default();
    Some((if bar.is_empty() { rows } else { rows.saturating_sub(1).max(1) }, columns))
}

/// What a terminal's window has no use for.
fn dress(editor: &Editor, win: Win) -> Result<()> {
    for name in ["number", "relativenumber", "cursorline", "list", "spell"] {
        editor.set_win_option(win, name, false)?;
    }
    editor.set_win_option(win, "signcolumn", "no")
}
