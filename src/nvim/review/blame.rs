//! Who wrote the line at the cursor: which agent, in which turn, by which tool call, asked for what.
//! What agents wrote before Neovim was started is told by the checkpoints.

use std::path::PathBuf;

use mlua::Result;

use crate::core::changes::author_note::author_note;
use crate::nvim::actions::fail;
use crate::nvim::app::App;
use crate::nvim::buffers::Buffers;
use crate::nvim::editor::Buf;
use crate::nvim::editor::float::float;
use crate::nvim::events::EditorEvent;

impl App {
    pub fn blame(&mut self) -> Result<()> {
        let buf = self.cx.editor.current_buf()?;
        let row = self.cx.editor.cursor(self.cx.editor.current_win()?)?.0 - 1;
        if let Some(path) = self.reviews.path_of(buf).map(std::path::Path::to_owned) {
            return self.when_reviewed(&path.clone(), move |app| match app.blame_reviewed(&path, row)? {
                true => Ok(()),
                false => app.blame_recorded(buf, path, row),
            });
        }
        match Buffers::path_of(&self.cx.editor, buf) {
            Some(path) => self.blame_recorded(buf, path, row),
            None => fail("this buffer is not a file; only lines of files can be blamed"),
        }
    }

    /// Says whether it is known.
    fn blame_reviewed(&mut self, path: &std::path::Path, row: usize) -> Result<bool> {
        let file = self.reviews.files.get(path).and_then(|reviewed| reviewed.file.as_deref());
        let Some((origin, edited)) = file.and_then(|file| file.author(row)) else { return Ok(false) };
        let Some(origin) = self.reviews.of(origin) else { return Ok(false) };
        let time: String = self.cx.editor.func("strftime", ("%H:%M", origin.at.0 / 1000))?;
        let head = format!("{} · turn {} · {time}", origin.agent, origin.turn);
        let (title, asked) = (origin.title.clone(), origin.asked.clone());
        float(&self.cx.editor, &author_note(&head, &title, &asked, edited))?;
        Ok(true)
    }

    fn blame_recorded(&mut self, buf: Buf, path: PathBuf, row: usize) -> Result<()> {
        self.cx.raise(EditorEvent::LineUnattributed { buf, path, row });
        self.route()
    }
}
