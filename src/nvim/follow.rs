//! Going where the agent goes: one code window shows the file and line that a tool call names. The
//! window the user is in keeps its cursor and the focus stays where it is.

use std::path::Path;

use mlua::{Result, Value};

use crate::nvim::editor::{Buf, Editor, Win};

/// Bigger files are not opened just to look at them.
const BIG: u64 = 10 << 20;

#[derive(Default)]
pub struct Follow {
    pub on: bool,
    marked: Option<Buf>,
}

impl Follow {
    /// Shows a place in the code window. `line` is 1-based; 0 and lines past the end are harmless.
    /// Gives back whether it was shown.
    pub fn go(&mut self, editor: &Editor, path: &Path, line: Option<u32>, what: &str) -> Result<bool> {
        let Ok(facts) = path.metadata() else { return Ok(false) };
        if !facts.is_file() || facts.len() > BIG {
            return Ok(false);
        }
        let Some(win) = code_window(editor)? else { return Ok(false) };
        if win == editor.current_win()? && editor.mode().0 != "n" {
            // The user is at work in there.
            return Ok(false);
        }
        let buf = load(editor, path)?;
        if editor.win_buf(win)? != buf {
            editor.set_win_buf(win, buf)?;
        }
        let lines = editor.line_count(buf)?;
        if let Some(line) = line.filter(|line| *line > 0) {
            let line = (line as usize).min(lines);
            if win != editor.current_win()? {
                editor.set_cursor(win, line, 0)?;
                editor.func::<Value>("win_execute", (win, "normal! zz"))?;
            }
            self.mark(editor, buf, line - 1, what)?;
        }
        Ok(true)
    }

    fn mark(&mut self, editor: &Editor, buf: Buf, row: usize, what: &str) -> Result<()> {
        self.clear(editor)?;
        let ns = editor.namespace("acp.location")?;
        let chunk = editor.lua.create_sequence_from([
            editor.lua.create_string(format!("  ◂ {what}"))?,
            editor.lua.create_string("AcpMeta")?,
        ])?;
        let options = editor.table([
            ("line_hl_group", editor.string("AcpLocation")?),
            ("virt_text", Value::Table(editor.lua.create_sequence_from([chunk])?)),
            ("virt_text_pos", editor.string("eol")?),
        ])?;
        editor.set_extmark(buf, ns, row, 0, options)?;
        self.marked = Some(buf);
        Ok(())
    }

    /// Takes the mark away; the turn is over.
    pub fn clear(&mut self, editor: &Editor) -> Result<()> {
        if let Some(buf) = self.marked.take()
            && editor.buf_is_valid(buf)
        {
            editor.clear_namespace(buf, editor.namespace("acp.location")?, 0, -1)?;
        }
        Ok(())
    }
}

/// The buffer of a file, loaded, not listed when it is new, without asking about swap files.
pub fn load(editor: &Editor, path: &Path) -> Result<Buf> {
    let buf: Buf = editor.func("bufadd", path.to_string_lossy().into_owned())?;
    if !editor.buf_is_loaded(buf) {
        // A swap file of another Neovim would ask and hold the editor (E325); 'A' keeps it quiet.
        let empty = editor.lua.create_table()?;
        let before: String = editor.api("nvim_get_option_value", ("shortmess", empty.clone()))?;
        editor.api::<()>("nvim_set_option_value", ("shortmess", format!("{before}A"), empty.clone()))?;
        let loaded = editor.func::<Value>("bufload", buf);
        editor.api::<()>("nvim_set_option_value", ("shortmess", before, empty))?;
        loaded?;
        editor.set_buf_option(buf, "buflisted", true)?;
    }
    Ok(buf)
}

/// The window for code: the last one the user was in that shows a file, else the first of the tab
/// page, else a new one at the left.
pub fn code_window(editor: &Editor) -> Result<Option<Win>> {
    let current = editor.current_win()?;
    if is_code(editor, current) {
        return Ok(Some(current));
    }
    let number: i64 = editor.func("winnr", "#")?;
    if number > 0 {
        let previous = Win(editor.func("win_getid", number)?);
        if editor.win_is_valid(previous) && is_code(editor, previous) {
            return Ok(Some(previous));
        }
    }
    if let Some(win) = editor.tab_wins()?.into_iter().find(|win| is_code(editor, *win)) {
        return Ok(Some(win));
    }
    let empty = editor.create_buf(true, false)?;
    let config = editor.table([("split", editor.string("left")?), ("win", Value::Integer(-1))])?;
    editor.open_win(empty, false, config).map(Some)
}

/// A normal window that shows a file, and may show another.
fn is_code(editor: &Editor, win: Win) -> bool {
    let fixed = editor.win_option::<bool>(win, "winfixbuf").unwrap_or(false);
    let diff = editor.win_option::<bool>(win, "diff").unwrap_or(false);
    let preview = editor.win_option::<bool>(win, "previewwindow").unwrap_or(false);
    let Ok(buf) = editor.win_buf(win) else { return false };
    let kind: String = editor.buf_option(buf, "buftype").unwrap_or_default();
    !fixed && !diff && !preview && kind.is_empty() && !editor.is_floating(win)
}
