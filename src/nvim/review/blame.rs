//! Who wrote the line at the cursor: which agent, in which turn, by which tool call, asked for what.
//! What agents wrote before Neovim was started is told by the checkpoints.

use std::path::PathBuf;

use mlua::Result;

use crate::core::store::checkpoint::Author;
use crate::core::store::checkpoint::{Reply, Wish};
use crate::nvim::actions::fail;
use crate::nvim::actions::views::float;
use crate::nvim::app::App;
use crate::nvim::buffers::Buffers;
use crate::nvim::editor::{Buf, Level};

/// At most so many characters of a title or a prompt are shown.
const WIDEST: usize = 70;

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
        self.show_author(head, &title, &asked, edited)?;
        Ok(true)
    }

    fn blame_recorded(&mut self, buf: Buf, path: PathBuf, row: usize) -> Result<()> {
        let Some(text) = self.cx.editor.text(buf)? else { return fail("this buffer is not text") };
        self.ask_checkpoints(
            move |job| Wish::Blame { job, path, text, row },
            |app, reply| match reply {
                Reply::Blamed(Some(author)) => app.show_recorded(&author),
                Reply::Blamed(None) => {
                    app.cx.advise("no agent wrote this line, as far as is recorded".to_owned(), Level::Info);
                    Ok(())
                }
                _ => Ok(()),
            },
        )
    }

    fn show_recorded(&mut self, author: &Author) -> Result<()> {
        let time: String = self.cx.editor.func("strftime", ("%Y-%m-%d %H:%M", author.at / 1000))?;
        let session = author.head.title.as_deref().map(|title| format!(" · {}", cut(title)));
        let head = format!("{}{} · {time}", author.head.agent, session.unwrap_or_default());
        let title = author.call.as_deref().unwrap_or_default();
        self.show_author(head, title, &author.head.prompt, author.edited)
    }

    fn show_author(&mut self, head: String, title: &str, asked: &str, edited: bool) -> Result<()> {
        let mut lines = vec![format!(" {head}")];
        if !title.is_empty() {
            lines.push(format!(" {}", cut(title)));
        }
        if !asked.is_empty() {
            lines.push(format!(" asked: {}", cut(asked)));
        }
        if edited {
            lines.push(" changed by you since".to_owned());
        }
        float(&self.cx.editor, &lines).map(drop)
    }
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(WIDEST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
