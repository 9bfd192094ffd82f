//! Who wrote a line that no agent of this Neovim has written: the checkpoints know of what agents did before it was
//! started.

use std::path::PathBuf;

use mlua::Result;

use crate::core::changes::author_note::recorded_note;
use crate::core::store::checkpoint::{CheckpointRequest, Reply};
use crate::nvim::arguments::fail;
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level};

impl Checkpoints {
    /// Shows who wrote a row of a buffer, counted from 0.
    pub fn blame(&mut self, cx: &mut Context, buf: Buf, path: PathBuf, row: usize) -> Result<()> {
        let Some(text) = cx.editor.text(buf)? else { return fail("this buffer is not text") };
        self.ask_store(
            cx,
            move |job| CheckpointRequest::Blame { job, path, text, row },
            move |_, cx, reply| match reply {
                Reply::Blamed(Some(author)) => {
                    let time = cx.editor.day_and_time(author.at)?;
                    cx.editor.show_beside_line(buf, row, recorded_note(&author, &time))
                }
                Reply::Blamed(None) => {
                    cx.notify("no agent wrote this line, as far as is recorded", Level::Info);
                    Ok(())
                }
                _ => Ok(()),
            },
        );
        Ok(())
    }
}
