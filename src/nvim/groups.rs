//! The plugin's highlight groups.

use mlua::{Result, Value};

use crate::nvim::editor::Editor;

/// The plugin's highlight groups, as links that a colour scheme or a user may replace.
pub fn define(editor: &Editor) -> Result<()> {
    for (group, link) in [
        ("AcpUser", "Title"),
        ("AcpAgent", "Title"),
        ("AcpThought", "Comment"),
        ("AcpTool", "Normal"),
        ("AcpToolPending", "Comment"),
        ("AcpToolRunning", "DiagnosticInfo"),
        ("AcpToolWaiting", "DiagnosticWarn"),
        ("AcpToolDone", "DiagnosticOk"),
        ("AcpToolFailed", "DiagnosticError"),
        ("AcpToolCancelled", "Comment"),
        ("AcpPlan", "Title"),
        ("AcpMeta", "Comment"),
        ("AcpError", "DiagnosticError"),
        ("AcpDiffAdd", "DiffAdd"),
        ("AcpDiffDelete", "DiffDelete"),
        ("AcpDiffAddWord", "DiffText"),
        ("AcpDiffDeleteWord", "DiffText"),
        ("AcpConflict", "DiffChange"),
        ("AcpLocation", "CursorLine"),
        ("AcpWinbar", "Title"),
    ] {
        let options = editor.table([("link", editor.string(link)?), ("default", Value::Boolean(true))])?;
        editor.api::<()>("nvim_set_hl", (0, group, options))?;
    }
    Ok(())
}
