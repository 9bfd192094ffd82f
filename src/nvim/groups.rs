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
        ("AcpMention", "Underlined"),
        ("AcpMentionMissing", "DiagnosticUnderlineWarn"),
        ("AcpError", "DiagnosticError"),
        ("AcpDiffAdd", "DiffAdd"),
        ("AcpDiffDelete", "DiffDelete"),
        ("AcpDiffAddWord", "DiffText"),
        ("AcpDiffDeleteWord", "DiffText"),
        ("AcpConflict", "DiffChange"),
        ("AcpLocation", "Visual"),
        ("AcpAgentMark1", "DiagnosticInfo"),
        ("AcpAgentMark2", "DiagnosticOk"),
        ("AcpAgentMark3", "DiagnosticWarn"),
        ("AcpAgentMark4", "DiagnosticHint"),
        ("AcpAgentMark5", "Special"),
        ("AcpAgentMark6", "Title"),
        ("AcpWinbar", "Title"),
    ] {
        let options = editor.table([("link", editor.string(link)?), ("default", Value::Boolean(true))])?;
        editor.api::<()>("nvim_set_hl", (0, group, options))?;
    }
    Ok(())
}
