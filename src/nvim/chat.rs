//! One chat on screen: a transcript buffer, a prompt buffer under it, and the entries of a session
//! drawn into the first. This file has the buffers and their windows; how the entries get into the
//! transcript is `drawing`'s.

pub mod actions;
pub mod drawing;
pub mod export;
pub mod frame_clock;
pub mod highlight;
pub mod images;
pub mod plan;
pub mod reading;
pub mod redraw;
pub mod transcript;
pub mod winbar;
pub mod window_events;
pub mod windows;

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::nvim::chat::drawing::Canvas;
pub use crate::nvim::chat::drawing::Fold;
use crate::nvim::editor::{Buf, Editor, Win};

pub struct Chat {
    pub session: SessionKey,
    pub transcript: Buf,
    pub prompt: Buf,
    canvas: Canvas,
}

impl Chat {
    pub fn new(editor: &Editor, session: SessionKey, title: &str) -> Result<Self> {
        let transcript = buffer(editor, "acp", &format!("acp://chat/{}/{title}", session.0))?;
        editor.set_buf_option(transcript, "modifiable", false)?;
        editor.set_buf_option(transcript, "undolevels", -1)?;
        let prompt = buffer(editor, "acp-prompt", &format!("acp://prompt/{}/{title}", session.0))?;
        editor.set_buf_option(prompt, "omnifunc", "v:lua.require'acp.complete'.omnifunc")?;
        let canvas = Canvas::new(editor)?;
        canvas.yank_meant(editor, transcript)?;
        Ok(Self { session, transcript, prompt, canvas })
    }

    /// Both buffers are still there; a user may have wiped one.
    pub fn is_valid(&self, editor: &Editor) -> bool {
        editor.buf_is_loaded(self.transcript) && editor.buf_is_loaded(self.prompt)
    }

    /// Tells of a buffer's 'filetype'. What all there is in Neovim and its plugins for a file type is looked
    /// for then, so this can wait until the chat is on the screen.
    pub fn announce(editor: &Editor, buf: Buf) -> Result<()> {
        match editor.buf_is_loaded(buf) {
            true => editor.command_in(buf, "execute 'doautocmd <nomodeline> FileType' &filetype"),
            false => Ok(()),
        }
    }

    // Windows.

    /// The transcript's window in the current tab page.
    pub fn window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.transcript)
    }

    pub fn prompt_window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.prompt)
    }

    /// Takes its buffers away.
    pub fn close(&self, editor: &Editor) {
        for buf in [self.prompt, self.transcript] {
            if editor.buf_is_valid(buf) {
                let force = editor.table([("force", Value::Boolean(true))]);
                // A buffer that cannot go stays; it holds nothing that works any more.
                let _ = force.and_then(|force| editor.api::<()>("nvim_buf_delete", (buf, force)));
            }
        }
    }

    /// What was known of its lines, which may be much.
    pub fn into_lines(self) -> impl Send + use<> {
        self.canvas.into_lines()
    }
}

fn in_tab(editor: &Editor, buf: Buf) -> Option<Win> {
    let wins = editor.tab_wins().ok()?;
    wins.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|shown| shown == buf))
}

fn buffer(editor: &Editor, filetype: &str, name: &str) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    editor.set_buf_option(buf, "swapfile", false)?;
    // A session that was restored may have left a buffer of this name.
    if editor.set_buf_name(buf, name).is_err() {
        editor.set_buf_name(buf, &format!("{name}#{}", buf.0))?;
    }
    editor.command_in(buf, &format!("noautocmd setlocal filetype={filetype}"))?;
    Ok(buf)
}
