//! The buffers of a session's chat, as all features know them: by them they find its windows, and what stands
//! in its prompt. What the chat shows is left to `chat`.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::nvim::editor::{Buf, Editor, Win};

/// A prompt of more bytes is read, filled and emptied in slices.
pub const LONG_PROMPT: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatBuffers {
    pub session: SessionKey,
    pub transcript: Buf,
    pub prompt: Buf,
}

impl ChatBuffers {
    pub fn contains(&self, buf: Buf) -> bool {
        buf == self.transcript || buf == self.prompt
    }

    /// The transcript's window in the current tab page.
    pub fn window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.transcript)
    }

    pub fn prompt_window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.prompt)
    }

    pub fn prompt_text(&self, editor: &Editor) -> Result<String> {
        Ok(editor.lines(self.prompt, 0, -1)?.join("\n"))
    }

    /// Whether the prompt is too long to be read in one go.
    pub fn has_long_prompt(&self, editor: &Editor) -> Result<bool> {
        let count = editor.line_count(self.prompt)?;
        Ok(editor.byte_count(self.prompt, count) > LONG_PROMPT)
    }

    /// Nothing at all is typed, not even a blank.
    pub fn is_prompt_empty(&self, editor: &Editor) -> Result<bool> {
        Ok(editor.line_count(self.prompt)? == 1 && editor.line_len(self.prompt, 0)? == 0)
    }

    pub fn is_prompt_blank(&self, editor: &Editor) -> Result<bool> {
        Ok(!self.has_long_prompt(editor)? && self.prompt_text(editor)?.trim().is_empty())
    }
}

fn in_tab(editor: &Editor, buf: Buf) -> Option<Win> {
    let wins = editor.tab_wins().ok()?;
    wins.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|shown| shown == buf))
}
