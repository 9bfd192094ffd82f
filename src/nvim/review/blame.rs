//! Who wrote the line at the cursor: which agent, in which turn, by which tool call, asked for what.
//! What agents wrote before Neovim was started is told by the checkpoints.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::changes::author_note::author_note;
use crate::nvim::arguments::fail;
use crate::nvim::buffers::Buffers;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;

impl Reviews {
    pub fn blame(&mut self, cx: &mut Context) -> Result<()> {
        let buf = cx.editor.current_buf()?;
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        if let Some(path) = self.path_of(buf).map(Path::to_owned) {
            return self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| {
                match this.blame_reviewed(cx, &path, (buf, row))? {
                    true => Ok(()),
                    false => this.blame_recorded(cx, buf, path, row),
                }
            });
        }
        match Buffers::path_of(&cx.editor, buf) {
            Some(path) => self.blame_recorded(cx, buf, path, row),
            None => fail("this buffer is not a file; only lines of files can be blamed"),
        }
    }

    /// Says whether it is known.
    fn blame_reviewed(&mut self, cx: &mut Context, path: &Path, (buf, row): (Buf, usize)) -> Result<bool> {
        let file = self.files.get(path).and_then(|reviewed| reviewed.file.as_deref());
        let Some((origin, edited)) = file.and_then(|file| file.author(row)) else { return Ok(false) };
        let Some(origin) = self.origins.get(origin) else { return Ok(false) };
        let time = cx.editor.local_time("%H:%M", origin.at.0)?;
        let head = format!("{} · turn {} · {time}", origin.agent, origin.turn);
        let (title, asked) = (origin.title.clone(), origin.asked.clone());
        cx.editor.show_beside_line(buf, row, author_note(&head, &title, &asked, edited))?;
        Ok(true)
    }

    fn blame_recorded(&mut self, cx: &mut Context, buf: Buf, path: PathBuf, row: usize) -> Result<()> {
        cx.raise(EditorEvent::LineUnattributed { buf, path, row });
        Ok(())
    }
}
