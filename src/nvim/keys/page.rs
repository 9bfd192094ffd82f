//! The pages that `g?` shows: first a small table of the keys that do something where the user is, then all of them by
//! what they are for, as they are bound. Plain lines for a width; the window is left to `views`.

use std::ops::Range;

use crate::config::{KEYS, KeySpec, Keys, Pane, Section};
use crate::core::text::cells;
use crate::core::text::fitting::cut_end;

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
        section: Section::Terminal,
        title: "In a terminal (:Acp terminals)",
        words: &[
            ("i", "Type into the program while it runs; <C-\\><C-n> leaves it again."),
            ("", ":Acp terminal kill ends it, :Acp terminal close closes the window."),
        ],
    },
    Chapter {
        section: Section::Answer,
        title: "Answer",
        words: &[("", "<CR> on a question opens it again; so does :Acp answer, from anywhere.")],
    },
    Chapter { section: Section::Follow, title: "Follow the agent", words: &[] },
    Chapter { section: Section::Chat, title: "The chat", words: &[] },
    Chapter { section: Section::Agents, title: "In the list of agents (:Acp agents)", words: &[] },
    Chapter { section: Section::Inspector, title: "In the messages (:Acp inspect)", words: &[] },
    Chapter { section: Section::Audit, title: "In the record (:Acp audit)", words: &[] },
    Chapter { section: Section::Rules, title: "In the rules (:Acp permissions)", words: &[] },
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
/// What they do stands beside them where it has so many cells, else below them, behind so many blanks.
const LEAST_ROOM: usize = 24;
const NARROW: usize = 6;

#[derive(Debug, Default)]
pub struct Page {
    pub lines: Vec<String>,
    /// The rows of the titles.
    pub titles: Vec<usize>,
    /// The keys, and the rows they are in.
    pub keys: Vec<(usize, Range<usize>)>,
}

/// What keys do, in the few words that a table has room for. Those of others begin their sentence in the help.
const LABELS: &[(&str, &str)] = &[
    ("send", "send"),
    ("send_insert", "send"),
    ("steer", "send into the turn"),
    ("cancel", "stop the turn"),
    ("next_mode", "next mode"),
    ("next_mode_insert", "next mode"),
    ("take_suggestion", "take the suggestion"),
    ("take_back", "take back the last queued"),
    ("queue", "queued prompts"),
    ("older_prompt", "previous prompt"),
    ("newer_prompt", "next prompt"),
    ("queue_edit", "edit"),
    ("queue_remove", "remove"),
    ("queue_restore", "bring back"),
    ("queue_up", "move up"),
    ("queue_down", "move down"),
    ("queue_send", "send now"),
    ("queue_close", "back to the prompt"),
    ("terminal_go", "go to the file"),
    ("terminal_go_line", "go to the line"),
    ("terminal_next", "next command"),
    ("terminal_previous", "previous command"),
    ("toggle", "open or fold"),
    ("details", "show all of it"),
    ("go_to", "go to what it is about"),
    ("next_entry", "next entry"),
    ("previous_entry", "previous entry"),
    ("next_call", "next tool call"),
    ("previous_call", "previous tool call"),
    ("next_change", "next edit"),
    ("previous_change", "previous edit"),
    ("outline", "outline"),
    ("yank_code", "yank the code block"),
    ("answer", "answer"),
    ("follow", "follow the agent"),
    ("locations", "where the agent was"),
    ("prompt", "type a prompt"),
    ("hide", "hide the chat"),
    ("restart", "start the agent again"),
    ("replay_next", "play the next message"),
    ("end_left", "kill what is left running"),
    ("agents_start", "start"),
    ("agents_details", "details"),
    ("agents_refresh", "fetch the registry"),
    ("agents_site", "website"),
    ("agents_remove", "remove"),
    ("agents_cancel", "stop the download"),
    ("agents_close", "close"),
    ("inspect_open", "open the message"),
    ("inspect_pair", "request or answer"),
    ("inspect_filter", "filter"),
    ("inspect_all", "show all"),
    ("inspect_problems", "problems only"),
    ("inspect_next_problem", "next problem"),
    ("inspect_previous_problem", "previous problem"),
    ("inspect_close", "close"),
    ("audit_open", "go to it"),
    ("audit_details", "all of the line"),
    ("audit_filter", "filter"),
    ("audit_all", "show all"),
    ("audit_problems", "rejected or failed only"),
    ("audit_refresh", "read it again"),
    ("audit_close", "close"),
    ("rules_edit", "edit"),
    ("rules_remove", "take back"),
    ("rules_restore", "bring back"),
    ("next_hunk", "next change"),
    ("previous_hunk", "previous change"),
    ("review_keep", "keep"),
    ("review_undo", "undo"),
    ("review_keep_all", "keep all"),
    ("review_undo_all", "undo all"),
    ("review_comment", "comment"),
    ("review_send", "send comments"),
    ("review_go", "go to the line"),
    ("review_next", "next change"),
    ("review_previous", "previous change"),
    ("review_close", "close"),
    ("review_take_back", "take back a decision"),
    ("comment_save", "finish"),
    ("comment_save_insert", "finish"),
    ("comment_close", "keep as a draft"),
    ("ask", "open the question"),
];

/// A label has at most so many cells.
const LONGEST_LABEL: usize = 26;

fn label(key: &KeySpec) -> String {
    match LABELS.iter().find(|(name, _)| *name == key.name) {
        Some((_, label)) => (*label).to_owned(),
        None => {
            let about = plain(key.about);
            let end = about.find(['.', ';', ':', ',']).unwrap_or(about.len());
            let first = about[..end].chars().next().map(char::to_lowercase).into_iter().flatten();
            cut_end(&first.chain(about[..end].chars().skip(1)).collect::<String>(), LONGEST_LABEL)
        }
    }
}

/// What the review's keys do in the preview of what is put back; the others do nothing there.
const PREVIEW: &[(&str, &str)] = &[
    ("review_undo", "put back"),
    ("review_undo_all", "put back all"),
    ("review_go", "go to the line"),
    ("review_next", "next change"),
    ("review_previous", "previous change"),
    ("review_close", "close"),
];

/// The keys of the preview of what is put back, in columns.
pub fn preview_table(keys: &Keys, width: usize) -> Page {
    let label = |key: &KeySpec| {
        let known = PREVIEW.iter().find(|(name, _)| *name == key.name);
        known.map(|(_, label)| (*label).to_owned())
    };
    columns((keys, Pane::Review), beside_keys(Pane::Review), width, &label)
}

/// The keys of a buffer that `can` do something now, in columns.
pub fn table(keys: &Keys, pane: Pane, width: usize, can: &dyn Fn(&str) -> bool) -> Page {
    let does_more = |key: &KeySpec| key.name != "click" && !key.name.ends_with("help");
    let beside = if pane != Pane::Terminal || can(TYPE) { beside_keys(pane) } else { &[] };
    columns((keys, pane), beside, width, &|key| (does_more(key) && can(key.name)).then(|| label(key)))
}

/// The keys of a buffer that have a label, and those beside them, in columns.
fn columns(
    (keys, pane): (&Keys, Pane),
    beside: &[Word],
    width: usize,
    label: &dyn Fn(&KeySpec) -> Option<String>,
) -> Page {
    // Those that do the same share a place. The mouse and this table itself need no word.
    let mut rows: Vec<(String, String)> = Vec::new();
    let of_pane = KEYS.iter().filter(|key| key.panes.contains(&pane));
    for (key, label) in of_pane.filter_map(|key| Some((key, label(key)?))) {
        let lhs = keys.shown(key.name);
        match rows.iter_mut().find(|(_, known)| *known == label) {
            _ if lhs.is_empty() => {}
            Some((all, _)) if !all.split(' ').any(|one| one == lhs) => *all = format!("{all} {lhs}"),
            Some(_) => {}
            None => rows.push((lhs, label)),
        }
    }
    rows.extend(beside.iter().map(|(lhs, label)| ((*lhs).into(), (*label).into())));
    let widest = |of: fn(&(String, String)) -> &str| rows.iter().map(|row| cells(of(row))).max().unwrap_or(0);
    let (of_keys, of_labels) = (widest(|row| &row.0), widest(|row| &row.1));
    // Two blanks between keys and labels, three between columns.
    let column = of_keys + of_labels + 5;
    let columns = (width / column.max(1)).clamp(1, 3);
    let height = rows.len().div_ceil(columns).max(1);
    let mut page = Page::default();
    for at in 0..height {
        let mut line = " ".to_owned();
        for (lhs, label) in rows.iter().skip(at).step_by(height) {
            page.keys.push((page.lines.len(), line.len()..line.len() + lhs.len()));
            let (after_key, after_label) = (of_keys + 2 - cells(lhs), of_labels + 3 - cells(label));
            line.push_str(&format!("{lhs}{:after_key$}{label}{:after_label$}", "", ""));
        }
        page.lines.push(line.trim_end().to_owned());
    }
    page.lines.push(String::new());
    page.lines.push(format!(" {MORE} all keys · :Acp lists the commands"));
    page
}

/// Whether a terminal's program can be typed into is asked by this.
pub const TYPE: &str = "type";

/// What can be typed in a buffer that is no key of the plugin's, and what it is good for.
fn beside_keys(pane: Pane) -> &'static [Word] {
    match pane {
        Pane::Prompt => &[("@", "add context"), ("/", "the agent's commands")],
        Pane::File => &[
            (":Acp keep", "keep a change"),
            (":Acp undo", "undo it"),
            (":Acp review", "all changes"),
            (":Acp comment", "comment on lines"),
        ],
        Pane::Terminal => &[("i", "type into the program"), ("<C-\\><C-n>", "leave it again")],
        _ => &[],
    }
}

/// What shows the page of all keys, in the table.
pub const MORE: &str = "g?";

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
    page.lines.push(" :Acp lists the commands · :help acp".to_owned());
    page
}

fn keys_of(section: Section) -> impl Iterator<Item = &'static KeySpec> {
    KEYS.iter().filter(move |key| key.section == section)
}

impl Page {
    fn row(&mut self, keys: &str, about: &str, width: usize) {
        let mut head = format!("   {keys:<COLUMN$} ");
        if !keys.is_empty() {
            self.keys.push((self.lines.len(), 3..3 + keys.len()));
        }
        let is_narrow = width < COLUMN + 4 + LEAST_ROOM;
        let indent = if is_narrow { NARROW } else { COLUMN + 4 };
        if !keys.is_empty() && (is_narrow || keys.chars().count() > COLUMN) {
            self.lines.push(head.trim_end().to_owned());
            head = " ".repeat(indent);
        } else if is_narrow {
            head = " ".repeat(indent);
        }
        let room = width.saturating_sub(indent);
        let mut line = String::new();
        for word in about.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
                self.lines.push(format!("{head}{line}"));
                head = " ".repeat(indent);
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
    fn every_buffer_but_the_users_has_a_key_that_shows_what_can_be_done_there() {
        let panes: Vec<Pane> = KEYS.iter().flat_map(|key| key.panes).copied().collect();
        // A file is the user's, where `g?` is Neovim's own.
        for pane in panes.into_iter().filter(|pane| *pane != Pane::File) {
            let helps =
                KEYS.iter().filter(|key| key.panes.contains(&pane) && key.name.ends_with("help")).count();
            assert_eq!(helps, 1, "{pane:?}");
        }
    }

    #[test]
    fn nothing_is_wider_than_the_window() {
        for width in [36, 40, 76, 200] {
            let page = page(&Keys::default(), width, None);
            for line in &page.lines {
                assert!(line.chars().count() <= width, "{line:?} in {width}");
            }
        }
    }

    #[test]
    fn the_table_has_the_keys_of_a_buffer_that_can_do_something_in_columns() {
        let can = |name: &str| !matches!(name, "steer" | "take_back" | "queue" | "cancel");
        let table = table(&Keys::default(), Pane::Prompt, 76, &can);
        insta::assert_snapshot!(table.lines.join("\n"), @r"
        <CR> <C-s>  send                   <C-n>       next prompt
        <S-Tab>     next mode              @           add context
        <Tab>       take the suggestion    /           the agent's commands
        <C-p>       previous prompt

        g? all keys · :Acp lists the commands
        ");
    }

    #[test]
    fn every_table_is_short_and_fits() {
        let panes = [
            Pane::Transcript,
            Pane::Prompt,
            Pane::File,
            Pane::Review,
            Pane::Queue,
            Pane::Terminal,
            Pane::Agents,
        ];
        for (pane, width) in panes.iter().flat_map(|pane| [76, 136].map(|width| (*pane, width))) {
            let table = table(&Keys::default(), pane, width, &|_| true);
            assert!(table.lines.len() <= 16, "{pane:?} has {} lines", table.lines.len());
            assert!(table.lines.iter().all(|line| cells(line) <= width), "{:#?}", table.lines);
        }
    }

    #[test]
    fn what_has_no_label_is_called_by_how_its_sentence_begins() {
        let key = KeySpec { name: "new", about: "Go to the next thing; see |acp-x|.", ..KEYS[0] };
        assert_eq!(label(&key), "go to the next thing");
    }

    #[test]
    fn links_of_the_help_are_written_out() {
        assert_eq!(plain("Go, or stay; see |acp-follow|."), "Go, or stay; see :help acp-follow.");
        assert_eq!(plain("in diff mode as |]c|."), "in diff mode as ]c.");
    }
}
