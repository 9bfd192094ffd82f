//! The windows of terminals: opening and closing them, their bars, and their sizes, which the programs
//! are told. What they show is for others.

use mlua::{Result, Value};

use crate::config::{Position, TerminalOptions};
use crate::core::ids::Moment;
use crate::core::terminal::tabs::{Tab, line, successor};
use crate::core::window_sizes::OfScreen;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::terminals::{Key, Terminal, Terminals};

impl Terminals {
    /// The window of terminals in this tab page; where they have a tab page of their own, the one there.
    pub(super) fn window(&self, editor: &Editor, options: &TerminalOptions) -> Result<Option<Win>> {
        let wins = match options.position {
            Position::Tab => editor.api("nvim_list_wins", ())?,
            _ => editor.tab_wins()?,
        };
        let bufs: Vec<Buf> = self.open.values().map(|terminal| terminal.buf).collect();
        let shows = |win: &Win| editor.win_buf(*win).is_ok_and(|buf| bufs.contains(&buf));
        Ok(wins.into_iter().find(|win| shows(win) && !editor.is_floating(*win)))
    }

    /// Opens a window for a terminal without moving the cursor there.
    pub(super) fn open_window(
        &mut self,
        editor: &Editor,
        key: &Key,
        options: &TerminalOptions,
        beside: Option<Win>,
    ) -> Result<Option<Win>> {
        // What was in a window that is gone by now is not for a new one.
        for terminal in self.open.values_mut() {
            terminal.listed = terminal.listed && terminal.shown.is_running();
        }
        let Some(terminal) = self.open.get(key) else { return Ok(None) };
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
                editor.set_current_win(before)?;
                win
            }
        };
        self.show_in(editor, key, win)?;
        Ok(Some(win))
    }

    /// Has a window show a terminal.
    pub(super) fn show_in(&mut self, editor: &Editor, key: &Key, win: Win) -> Result<()> {
        let Some(terminal) = self.open.get_mut(key) else { return Ok(()) };
        terminal.listed = true;
        if editor.win_buf(win)? != terminal.buf {
            editor.set_win_buf(win, terminal.buf)?;
        }
        dress(editor, win)?;
        // Its program's next line is seen only where the cursor is at the end.
        editor.set_cursor(win, editor.line_count(terminal.buf)?, 0)
    }

    /// Whether the user looks at a window, or has asked for it.
    pub(super) fn is_the_users(&self, editor: &Editor, win: Win) -> Result<bool> {
        Ok(editor.current_win()? == win || !self.by_itself.contains(&win))
    }

    pub(super) fn shown_in(&self, editor: &Editor, win: Win) -> Option<Key> {
        editor.win_buf(win).ok().and_then(|buf| self.of_buf(buf))
    }

    /// Puts a command away that has ended well, where nobody looks at it. Gives the windows in which another one
    /// takes its place; those that have none are closed.
    pub(super) fn put_away(&mut self, editor: &Editor, key: &Key) -> Result<Vec<(Win, Key)>> {
        self.by_itself.retain(|win| editor.win_is_valid(*win));
        let Some(terminal) = self.open.get(key).filter(|terminal| terminal.shown.has_succeeded()) else {
            return Ok(Vec::new());
        };
        let wins = editor.wins_of(terminal.buf);
        for win in &wins {
            if self.is_the_users(editor, *win)? {
                return Ok(Vec::new());
            }
        }
        if let Some(terminal) = self.open.get_mut(key) {
            terminal.listed = false;
            // The others are one fewer.
            self.open.values_mut().for_each(|terminal| terminal.bar.clear());
        }
        let listed = self.open.iter().filter(|(_, terminal)| terminal.listed);
        let others: Vec<_> = listed.map(|(key, terminal)| (key, terminal.shown.state())).collect();
        match successor(&others).cloned() {
            Some(next) => Ok(wins.into_iter().map(|win| (win, next.clone())).collect()),
            None => {
                wins.iter().try_for_each(|win| editor.close_win(*win))?;
                Ok(Vec::new())
            }
        }
    }

    /// The commands that the window of terminals is for, in the order in which they were started.
    pub(super) fn listed(&self) -> Vec<Key> {
        let mut listed: Vec<_> = self.open.iter().filter(|(_, terminal)| terminal.listed).collect();
        listed.sort_by_key(|(_, terminal)| terminal.shown.program().started.0);
        listed.into_iter().map(|(key, _)| key.clone()).collect()
    }

    /// Closes a terminal's windows; says whether there were any.
    pub(super) fn close_windows(&mut self, editor: &Editor, key: &Key) -> Result<bool> {
        let wins = self.open.get(key).map(|terminal| editor.wins_of(terminal.buf)).unwrap_or_default();
        wins.iter().try_for_each(|win| editor.close_win(*win))?;
        Ok(!wins.is_empty())
    }

    /// Windows of terminals have the same part of a screen that is smaller or larger than before: Neovim takes what is
    /// missing from one window alone.
    pub(super) fn keep_shares(&mut self, editor: &Editor) -> Result<()> {
        self.sizes.retain(|win, _| editor.win_is_valid(*win));
        let (columns, lines) = editor.size();
        for win in editor.tab_wins()? {
            if editor.is_floating(win) || self.shown_in(editor, win).is_none() {
                continue;
            }
            let (width, height) = editor.win_size(win)?;
            let new = || (OfScreen::new(height, lines), OfScreen::new(width, columns));
            let kept = self.sizes.entry(win).or_insert_with(new);
            let wanted = (kept.0.to_have(height, lines), kept.1.to_have(width, columns));
            editor.helper::<()>("resize_within", (win, wanted.0, wanted.1))?;
            let (width, height) = editor.win_size(win)?;
            kept.0.seen(height, lines);
            kept.1.seen(width, columns);
        }
        Ok(())
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

    /// Notes how wide terminals are shown, and has the last lines of those fit that keep what they show. Says whether one of
    /// them lacks what would fit by now.
    pub(super) fn lack_lines(&mut self, editor: &Editor) -> Result<bool> {
        let mut lacks = false;
        for terminal in self.open.values_mut() {
            // Neovim has a terminal be as wide as the widest of its windows.
            let widths = editor.wins_of(terminal.buf).into_iter().filter_map(|win| editor.win_size(win).ok());
            if let Some(columns) = widths.map(|(columns, _)| columns).max() {
                terminal.shown.seen_in(columns);
                lacks |= terminal.shown.wants_refit();
                if terminal.is_closed
                    && let Some((before, now)) = terminal.shown.refit_end()
                {
                    editor.helper::<()>("replace_line", (terminal.buf, before, now))?;
                }
            }
        }
        Ok(lacks)
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
        let mut drawn = Vec::new();
        for (key, terminal) in &self.open {
            let wins = editor.wins_of(terminal.buf);
            if wins.is_empty() {
                drawn.push((key.clone(), String::new()));
                continue;
            }
            let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
            let width = widths.map(|(columns, _)| usize::from(columns)).min().unwrap_or(80);
            let text = self.bar_text(key, now, width, &title);
            if text == terminal.bar && !editor.lacks_bar(&wins)? {
                continue;
            }
            editor.set_bars(&wins, &text)?;
            drawn.push((key.clone(), text));
        }
        for (key, text) in drawn {
            if let Some(terminal) = self.open.get_mut(&key) {
                terminal.bar = text;
            }
        }
        Ok(())
    }

    fn bar_text(
        &self,
        key: &Key,
        now: Moment,
        width: usize,
        title: &impl Fn(&Key) -> Option<String>,
    ) -> String {
        let Some(terminal) = self.open.get(key) else { return String::new() };
        let listed = self.listed();
        if !terminal.listed || listed.len() < 2 {
            return terminal.shown.bar(title(key).as_deref(), now, width);
        }
        let labels: Vec<String> = listed
            .iter()
            .map(|key| title(key).unwrap_or_else(|| self.open[key].shown.program().command.clone()))
            .collect();
        let tabs: Vec<Tab<'_>> = listed
            .iter()
            .zip(&labels)
            .map(|(each, label)| Tab { label, state: self.open[each].shown.state(), is_shown: each == key })
            .collect();
        line(&tabs, now, width)
    }

    /// Whether a command runs in sight, so that its time has to move on.
    pub fn is_watched(&self, editor: &Editor) -> bool {
        let mut running = self.open.values().filter(|terminal| terminal.shown.is_running());
        running.any(|terminal| !editor.wins_of(terminal.buf).is_empty())
    }
}

/// The size that the program is to have: that of the window the user is in, else of the first one.
pub(super) fn size(editor: &Editor, terminal: &Terminal) -> Option<(u16, u16)> {
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
