//! Who wrote the line at the cursor: which agent, in which turn, by which tool call, asked for what.

use mlua::Result;

use super::fail;
use super::views::float;
use crate::nvim::app::App;

impl App {
    pub(super) fn blame(&mut self) -> Result<()> {
        let buf = self.editor.current_buf()?;
        let row = self.editor.cursor(self.editor.current_win()?)?.0 - 1;
        let Some(path) = self.reviews.path_of(buf).map(std::path::Path::to_owned) else {
            return fail("no agent has changed this file since Neovim was started");
        };
        self.when_reviewed(&path.clone(), move |app| {
            let file = app.reviews.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
            let Some((origin, edited)) = file.and_then(|file| file.author(row)) else {
                return fail("no agent wrote this line");
            };
            let Some(origin) = app.reviews.of(origin) else { return Ok(()) };
            let time: String = app.editor.func("strftime", ("%H:%M", origin.at.0 / 1000))?;
            let mut lines = vec![format!(" {} · turn {} · {time}", origin.agent, origin.turn)];
            lines.push(format!(" {}", cut(&origin.title)));
            if !origin.asked.is_empty() {
                lines.push(format!(" asked: {}", cut(&origin.asked)));
            }
            if edited {
                lines.push(" changed by you since".to_owned());
            }
            float(&app.editor, &lines).map(drop)
        })
    }
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(70).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
