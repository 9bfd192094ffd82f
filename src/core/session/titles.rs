//! What sessions are called: titles of agents on one line, and forks, which are told apart from what they were made of.

use crate::core::text::{cut, one_line, without_ticks};

/// A title is read whenever a bar is drawn.
const MOST_TITLE: usize = 1024;

/// A title on one line. Some agents make it of a prompt with its Markdown, or with its line breaks written out.
pub fn plain_title(title: &str) -> String {
    let title = one_line(cut(title, MOST_TITLE));
    // A backslash before anything else is one of a path's.
    let breaks = title.matches("\\n").count();
    let is_written_out = breaks > 0 && breaks == title.matches('\\').count() && !is_path(&title);
    without_ticks(&if is_written_out { one_line(&title.replace("\\n", " ")) } else { title })
}

/// Whether a text has a path of Windows in it: `C:\new`.
fn is_path(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.any(|word| {
        word.get(1..3) == Some(":\\") && word.starts_with(|char: char| char.is_ascii_alphabetic())
    })
}

/// What a fork is called.
pub fn fork_title(title: &str) -> String {
    format!("{title} (fork)")
}

/// A session's title once its agent calls it this. To many agents a fork has the title of the session that it was made of:
/// then it is still told apart here.
pub fn title_told(here: Option<&str>, told: String) -> String {
    here.filter(|here| *here == fork_title(&one_line(&told))).map_or(told, str::to_owned)
}
