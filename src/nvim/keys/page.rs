//! The page that `g?` shows: the keys as they are bound, by what they are for, and what the prompt knows
//! beside keys. Plain lines for a width; the window is left to `views`.

use crate::config::{KEYS, KeySpec, Keys, Section};

/// A row that is no key: what is typed, what for.
type Word = (&'static str, &'static str);

struct Chapter {
    section: Section,
    title: &'static str,
    words: &'static [Word],
}

const CHAPTERS: &[Chapter] = &[
    Chapter {
        section: Section::Ask,
        title: "Ask",
        words: &[
            ("@", "Add a file, @selection, @diagnostics and others; the list opens as you type."),
            ("/", "One of the agent's slash commands, at the beginning of the prompt."),
        ],
    },
    Chapter {
        section: Section::AskAgain,
        title: "Ask again",
        words: &[("", "Prompts that you send while the agent works are queued and shown below the prompt.")],
    },
    Chapter { section: Section::Queue, title: "In the queue", words: &[] },
    Chapter { section: Section::Read, title: "Read", words: &[] },
    Chapter {
        section: Section::Answer,
        title: "Answer",
        words: &[("", "<CR> on a question opens it again; so does :Acp answer, from anywhere.")],
    },
    Chapter { section: Section::Follow, title: "Follow the agent", words: &[] },
    Chapter { section: Section::Chat, title: "The chat", words: &[] },
    Chapter { section: Section::Agents, title: "In the list of agents (:Acp agents)", words: &[] },
    Chapter { section: Section::File, title: "In a file that the agent changed", words: &[] },
    Chapter {
        section: Section::Review,
        title: "In the review (:Acp review)",
        words: &[(":w", "Write your edits of the lines with + to the files; :e! discards them.")],
    },
    Chapter { section: Section::Comment, title: "In a comment (:Acp comment)", words: &[] },
];

/// The cells that the keys have.
const COLUMN: usize = 14;

#[derive(Debug, Default)]
pub struct Page {
    pub lines: Vec<String>,
    /// The rows of the titles.
    pub titles: Vec<usize>,
    /// The rows with a key, and where it ends.
    pub keys: Vec<(usize, usize)>,
}

/// Lines of at most `width` characters; the section that has the key named `here` comes first.
pub fn page(keys: &Keys, width: usize, here: Option<&str>) -> Page {
    let mut page = Page::default();
    // Where one is comes first.
    let is_here = |chapter: &&Chapter| keys_of(chapter.section).any(|key| here == Some(key.name));
    for chapter in CHAPTERS.iter().filter(is_here).chain(CHAPTERS.iter().filter(|chapter| !is_here(chapter)))
    {
        if !page.lines.is_empty() {
            page.lines.push(String::new());
        }
        page.titles.push(page.lines.len());
        page.lines.push(format!(" {}", chapter.title));
        for (word, about) in chapter.words {
            page.row(word, about, width);
        }
        for key in keys_of(chapter.section) {
            let lhs = keys.shown(key.name);
            if !lhs.is_empty() {
                page.row(&lhs, &plain(key.about), width);
            }
        }
    }
    page.lines.push(String::new());
    page.lines.push(" q closes this · :Acp lists the commands · :help acp".to_owned());
    page
}

fn keys_of(section: Section) -> impl Iterator<Item = &'static KeySpec> {
    KEYS.iter().filter(move |key| key.section == section)
}

impl Page {
    fn row(&mut self, keys: &str, about: &str, width: usize) {
        let mut head = format!("   {keys:<COLUMN$} ");
        if !keys.is_empty() {
            self.keys.push((self.lines.len(), 3 + keys.len()));
        }
        if keys.chars().count() > COLUMN {
            self.lines.push(head.trim_end().to_owned());
            head = " ".repeat(COLUMN + 4);
        }
        let room = width.saturating_sub(COLUMN + 4).max(20);
        let mut line = String::new();
        for word in about.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.lines.push(format!("{head}{line}"));
                head = " ".repeat(COLUMN + 4);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.lines.push(format!("{head}{line}"));
    }
}

/// A text of the help, read elsewhere.
fn plain(about: &str) -> String {
    let mut text = String::new();
    for (index, piece) in about.split('|').enumerate() {
        let link = index % 2 == 1 && piece.starts_with("acp-");
        text.push_str(if link { ":help " } else { "" });
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_place_of_its_own() {
        for key in KEYS {
            let places = CHAPTERS.iter().filter(|chapter| chapter.section == key.section);
            assert_eq!(places.count(), 1, "{}", key.name);
        }
    }

    #[test]
    fn nothing_is_wider_than_the_window() {
        for width in [40, 76, 200] {
            let page = page(&Keys::default(), width, None);
            for line in &page.lines {
                assert!(line.chars().count() <= width.max(52), "{line:?}");
            }
        }
    }

    #[test]
    fn links_of_the_help_are_written_out() {
        assert_eq!(plain("Go, or stay; see |acp-follow|."), "Go, or stay; see :help acp-follow.");
        assert_eq!(plain("in diff mode as |]c|."), "in diff mode as ]c.");
    }
}
