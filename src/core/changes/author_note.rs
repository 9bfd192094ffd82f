//! The lines that say who wrote a line: which agent and when, by which call, asked for what. Finding out who it was
//! is left to `blame` and to the reviews.

use crate::core::store::checkpoint::Author;

/// At most so many characters of a title or a prompt are shown.
const MAX_CHARS: usize = 70;

/// `head` says who and when.
pub fn author_note(head: &str, title: &str, asked: &str, edited: bool) -> Vec<String> {
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
    lines
}

/// The same of an author that a checkpoint tells of; `time` is the author's.
pub fn recorded_note(author: &Author, time: &str) -> Vec<String> {
    let session = author.head.title.as_deref().map(|title| format!(" · {}", cut(title)));
    let head = format!("{}{} · {time}", author.head.agent, session.unwrap_or_default());
    let title = author.call.as_deref().unwrap_or_default();
    author_note(&head, title, &author.head.prompt, author.edited)
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(MAX_CHARS).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::checkpoint::{Head, Kind};

    #[test]
    fn what_is_not_known_of_an_author_takes_no_line() {
        assert_eq!(author_note("demo · turn 1 · 09:30", "", "", false), [" demo · turn 1 · 09:30"]);
        assert_eq!(
            author_note("demo · turn 2 · 09:31", "write a.rs", "fix it", true),
            [" demo · turn 2 · 09:31", " write a.rs", " asked: fix it", " changed by you since"]
        );
    }

    #[test]
    fn long_titles_and_prompts_are_cut_between_characters() {
        let long = "ä".repeat(MAX_CHARS + 1);
        let lines = author_note("demo", &long, &"b".repeat(MAX_CHARS), false);
        assert_eq!(lines[1], format!(" {}…", "ä".repeat(MAX_CHARS)));
        assert_eq!(lines[2], format!(" asked: {}", "b".repeat(MAX_CHARS)));
    }

    #[test]
    fn a_recorded_author_names_its_session() {
        let head = Head {
            agent: "demo".into(),
            acp_id: "1".into(),
            title: Some("Parser".into()),
            cwd: "/p".into(),
            prompt: "fix it".into(),
            kind: Kind::Turn,
        };
        let author = Author { head, at: 0, call: None, edited: false };
        assert_eq!(
            recorded_note(&author, "2026-01-01 09:30"),
            [" demo · Parser · 2026-01-01 09:30", " asked: fix it"]
        );
        let untitled = Author { head: Head { title: None, ..author.head.clone() }, ..author };
        assert_eq!(recorded_note(&untitled, "today")[0], " demo · today");
    }
}
