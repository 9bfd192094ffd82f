//! `:Acp changes`: what the session has changed, as a list to choose from or in the quickfix list.

use std::path::PathBuf;

use mlua::{Result, Value};

use crate::core::text::visible::visible_line;
use crate::nvim::actions::{Args, NO_SESSION, fail};
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::follow;

/// A file, how much of it was changed, and where.
type Changed = (PathBuf, String, Vec<(usize, usize)>);

impl App {
    pub fn show_changes(&mut self, args: &Args) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let changed: Vec<Changed> = self
            .tally
            .of(key)
            .map(|(path, changes)| {
                let times =
                    if changes.times > 1 { format!(", {} times", changes.times) } else { String::new() };
                let saved = if changes.saved { "" } else { ", not saved" };
                let counts = format!("+{} -{}{times}{saved}", changes.added, changes.removed);
                (path.to_owned(), counts, changes.ranges.clone())
            })
            .collect();
        let name = self.sessions.get(&key).map(|session| session.name()).unwrap_or_default();
        if changed.is_empty() {
            let text = format!("{name} has changed no files in this session");
            self.advise(text, Level::Info);
            return Ok(());
        }
        if args.bang || args.first() == Some("quickfix") {
            return self.changes_to_quickfix(&name, &changed);
        }
        if let Some(other) = args.first() {
            return fail(format!("changes takes quickfix or nothing, not {other:?}"));
        }
        let items = changed
            .iter()
            .map(|(path, counts, _)| format!("{} {counts}", self.short_name(Some(key), path)))
            .collect();
        self.offer(&format!("Changed by {name}"), "acp_changes", items, move |app, index| {
            let Some((path, _, ranges)) = changed.get(index) else { return Ok(()) };
            let Some(win) = follow::code_window(&app.editor)? else { return Ok(()) };
            let buf = follow::load(&app.editor, path)?;
            app.editor.set_win_buf(win, buf)?;
            app.editor.set_current_win(win)?;
            let line = ranges.first().map_or(1, |(first, _)| *first).min(app.editor.line_count(buf)?);
            app.editor.set_cursor(win, line, 0)
        })
    }

    fn changes_to_quickfix(&mut self, name: &str, changed: &[Changed]) -> Result<()> {
        let items = self.editor.lua.create_table()?;
        for (path, counts, ranges) in changed {
            let ranges = if ranges.is_empty() { &[(1, 1)][..] } else { ranges };
            for (first, last) in ranges {
                items.push(self.editor.table([
                    ("filename", self.editor.string(path.to_string_lossy().as_bytes())?),
                    ("module", self.editor.name_in_list(path)?),
                    ("lnum", Value::Integer(*first as i64)),
                    ("end_lnum", Value::Integer(*last as i64)),
                    ("text", self.editor.string(counts)?),
                ])?)?;
            }
        }
        let what = self.editor.table([
            ("title", self.editor.string(visible_line(&format!("Changed by {name}")))?),
            ("items", Value::Table(items)),
        ])?;
        let empty = self.editor.lua.create_table()?;
        self.editor.func::<Value>("setqflist", (empty, " ", what))?;
        self.editor.command("botright copen")
    }
}
