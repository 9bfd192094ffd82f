//! The page that `g?` shows: the keys as they are bound, by what they are for, and what the prompt knows
//! beside keys. Plain lines for a width; the window is left to `views`.

use crate::config::{KEYS, Keys};

/// A row that is no key: what is typed, what for.
type Word = (&'static str, &'static str);

struct Section {
    title: &'static str,
    words: &'static [Word],
    /// By their names in the options.
    keys: &'static [&'static str],
}

const SECTIONS: &[Section] = &[
    Section {
        title: "Ask",
        words: &[
            ("@", "Add a file, @selection, @diagnostics and others; the list opens as you type."),
            ("/", "One of the agent's slash commands, at the beginning of the prompt."),
        ],
        keys: &["send", "send_insert", "steer", "cancel", "next_mode"],
    },
    Section {
        title: "Ask again",
        words: &[("", "Prompts that you send while the agent works are queued and shown below the prompt.")],
        keys: &["take_back", "queue", "older_prompt", "newer_prompt"],
    },
    Section {
        title: "In the queue",
        words: &[],
        keys: &["queue_edit", "queue_remove", "queue_up", "queue_down", "queue_send", "queue_close"],
    },
    Section {
        title: "Read",
        words: &[],
        keys: &[
            "toggle",
            "click",
            "details",
            "go_to",
            "next_entry",
            "previous_entry",
            "next_call",
            "previous_call",
            "next_change",
            "previous_change",
            "outline",
            "yank_code",
        ],
    },
    Section {
        title: "Answer",
        words: &[("", "<CR> on a question opens it again; so does :Acp answer, from anywhere.")],
        keys: &["answer"],
    },
    Section { title: "Follow the agent", words: &[], keys: &["follow", "locations"] },
    Section { title: "The chat", words: &[], keys: &["prompt", "hide", "restart", "end_left", "help"] },
    Section {
        title: "In the list of agents (:Acp agents)",
        words: &[],
        keys: &[
            "agents_start",
            "agents_details",
            "agents_refresh",
            "agents_site",
            "agents_remove",
            "agents_cancel",
            "agents_close",
            "agents_help",
        ],
    },
    Section { title: "In a file that the agent changed", words: &[], keys: &["next_hunk", "previous_hunk"] },
    Section {
        title: "In the review (:Acp review)",
        words: &[(":w", "Write your edits of the lines with + to the files; :e! discards them.")],
        keys: &[
            "review_keep",
            "review_undo",
            "review_keep_all",
            "review_undo_all",
            "review_comment",
            "review_send",
            "review_go",
            "review_next",
            "review_previous",
            "review_close",
            "review_help",
        ],
    },
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
    let is_here = |section: &&Section| here.is_some_and(|here| section.keys.contains(&here));
    for section in SECTIONS.iter().filter(is_here).chain(SECTIONS.iter().filter(|section| !is_here(section)))
    {
        if !page.lines.is_empty() {
            page.lines.push(String::new());
        }
        page.titles.push(page.lines.len());
        page.lines.push(format!(" {}", section.title));
        for (word, about) in section.words {
            page.row(word, about, width);
        }
        for name in section.keys {
            let lhs = keys.shown(name);
            let known = KEYS.iter().find(|key| key.name == *name);
            if let Some(key) = known.filter(|_| !lhs.is_empty()) {
                page.row(&lhs, &plain(key.about), width);
            }
        }
    }
    page.lines.push(String::new());
    page.lines.push(" q closes this · :Acp lists the commands · :help acp".to_owned());
    page
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_has_a_place_of_its_own() {
        let all: Vec<&str> = SECTIONS.iter().flat_map(|section| section.keys).copied().collect();
        let placed: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), placed.len());
        assert_eq!(placed, KEYS.iter().map(|key| key.name).collect());
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
