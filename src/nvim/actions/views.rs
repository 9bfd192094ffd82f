//! What is only looked at: the commands that ran, the log, the keys.

use mlua::{Result, Table, Value};

use super::fail;
use crate::config::Pane;
use crate::nvim::app::App;
use crate::nvim::editor::{Editor, Win};
use crate::nvim::terminal::Key;

impl App {
    pub(super) fn choose_terminal(&mut self) -> Result<()> {
        let all: Vec<(Key, String)> = self
            .terminals
            .iter()
            .map(|(key, terminal)| {
                let state = if terminal.exit.is_none() { "running" } else { "ended" };
                (key.clone(), format!("{} ({state})", terminal.command))
            })
            .collect();
        match &all[..] {
            [] => fail("no command has been run yet"),
            [(only, _)] => self.enter_terminal(&only.clone()),
            _ => {
                let items = all.iter().map(|(_, label)| label.clone()).collect();
                self.offer("Terminals", "acp_terminal", items, move |app, index| {
                    app.enter_terminal(&all[index].0)
                })
            }
        }
    }

    pub(super) fn enter_terminal(&mut self, key: &Key) -> Result<()> {
        self.open_terminal(key)?;
        let Some(terminal) = self.terminals.get(key) else { return Ok(()) };
        match self.editor.wins_of(terminal.buf).first() {
            Some(win) => self.editor.set_current_win(*win),
            None => Ok(()),
        }
    }

    pub(super) fn open_log(&mut self) -> Result<()> {
        let Some(log) = self.log() else {
            return fail(
                "messages are not written down; setup{ log = true } does that from the next agent on",
            );
        };
        if !log.is_file() {
            return fail(format!("nothing was written to {} yet", log.display()));
        }
        let path: String = self.editor.func("fnameescape", log.to_string_lossy().into_owned())?;
        self.editor.command(&format!("botright split {path}"))?;
        self.editor.command("setlocal nomodifiable autoread")
    }

    pub(super) fn show_keys(&mut self) -> Result<()> {
        let mut lines = Vec::new();
        for (pane, title) in [
            (Pane::Transcript, "In the transcript"),
            (Pane::Prompt, "In the prompt"),
            (Pane::File, "In a file that the agent changed"),
        ] {
            lines.push(format!(" {title}"));
            let mut rows: Vec<(Vec<&str>, &str)> = Vec::new();
            for (key, lhs) in self.config.keys.of(pane) {
                match rows.last_mut() {
                    Some((all, about)) if *about == key.about => all.push(lhs),
                    _ => rows.push((vec![lhs], key.about)),
                }
            }
            for (all, about) in rows {
                lines.push(format!("   {:<12} {}", all.join(" "), about.replace('|', "")));
            }
            lines.push(String::new());
        }
        lines.push(" :Acp lists the commands · :help acp · q closes this".to_owned());
        float(&self.editor, &lines).map(drop)
    }
}

/// A small window in the middle that `q` and `<Esc>` close.
pub(super) fn float(editor: &Editor, lines: &[String]) -> Result<Win> {
    let buf = editor.create_buf(false, true)?;
    editor.set_text(buf, (0, 0), (0, 0), lines)?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    let (columns, rows) = editor.size();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(20) + 2;
    let width = u16::try_from(width).unwrap_or(columns).min(columns.saturating_sub(4));
    let height = u16::try_from(lines.len()).unwrap_or(rows).min(rows.saturating_sub(4));
    let config = editor.table([
        ("relative", editor.string("editor")?),
        ("width", Value::Integer(width.into())),
        ("height", Value::Integer(height.into())),
        ("row", Value::Integer((rows.saturating_sub(height) / 2).into())),
        ("col", Value::Integer((columns.saturating_sub(width) / 2).into())),
        ("border", editor.string("rounded")?),
        ("style", editor.string("minimal")?),
    ])?;
    editor.command("stopinsert")?;
    let win = editor.open_win(buf, true, config)?;
    for key in ["q", "<Esc>", "g?"] {
        let options = editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
        let keymap: Table = editor.module("keymap")?;
        let set: mlua::Function = keymap.get("set")?;
        set.call::<()>(("n", key, "<Cmd>close<CR>", options))?;
    }
    Ok(win)
}
