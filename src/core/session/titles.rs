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

/// What a fork is called: one of a fork is numbered.
pub fn fork_title(title: &str) -> String {
    match fork_of(title) {
        (title, 0) => format!("{title} (fork)"),
        (title, forks) => format!("{title} (fork {})", forks + 1),
    }
}

/// A session's title once its agent calls it this. To many agents a fork has the title of the session that it was made of:
/// then it is still told apart here.
pub fn title_told(here: Option<&str>, told: String) -> String {
    let line = one_line(&told);
    let ((source, forks), of_source) = (fork_of(&line), here.map(fork_of));
    let is_of_source = of_source.is_some_and(|(title, number)| title == source && number > forks);
    here.filter(|_| is_of_source).map_or(told, str::to_owned)
}

/// What a session was called before it was forked, and how often that was done.
fn fork_of(title: &str) -> (&str, u32) {
    let number = |words: &str| words.strip_prefix(' ').and_then(|number| number.parse().ok());
    let forked = title.strip_suffix(')').and_then(|title| title.rsplit_once(" (fork"));
    match forked {
        Some((title, "")) => (title, 1),
        Some((source, words)) => number(words).map_or((title, 0), |forks| (source, forks)),
        None => (title, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_of_forks_are_numbered() {
        let titles: Vec<String> =
            std::iter::successors(Some("Colours".to_owned()), |title| Some(fork_title(title)))
                .take(4)
                .collect();
        assert_eq!(titles, ["Colours", "Colours (fork)", "Colours (fork 2)", "Colours (fork 3)"]);
        assert_eq!(fork_title("A (fork in the road)"), "A (fork in the road) (fork)");
    }

    #[test]
    fn a_fork_of_a_fork_keeps_its_number_whatever_source_its_agent_names() {
        let told = |told: &str| title_told(Some("Colours (fork 2)"), told.to_owned());
        assert_eq!(["Colours", "Colours (fork)"].map(told), ["Colours (fork 2)", "Colours (fork 2)"]);
        assert_eq!(["Shapes", "Colours (fork 3)"].map(told), ["Shapes", "Colours (fork 3)"]);
        assert_eq!(title_told(None, "Colours".to_owned()), "Colours");
    }
}
