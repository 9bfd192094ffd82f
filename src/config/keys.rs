//! Every key once: its name, where it works, what is typed for it, and what it does. The bindings, the options under
//! `keys`, the page of keys, the help's list and the types for the language server are made from here; a new key is one
//! entry, and its action in `nvim/actions.rs`.

use super::read::Table;

/// A key of the chat's buffers.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// The name under `keys` in the options, and of what the key does.
    pub name: &'static str,
    /// Where the page of keys has it.
    pub section: Section,
    pub panes: &'static [Pane],
    /// The modes it works in, as `nvim_set_keymap()` names them.
    pub modes: &'static [&'static str],
    pub default: &'static [&'static str],
    pub about: &'static str,
}

/// A buffer that has keys of ours: the chat's two, files that an agent changed, the review of them, and lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Transcript,
    Prompt,
    File,
    Review,
    /// The list of the prompts that wait.
    Queue,
    /// The commands that agents run.
    Terminal,
    /// The list of agents.
    Agents,
    /// The messages on the wire.
    Inspector,
    /// The record of what agents did.
    Audit,
    /// The rules for what agents may do.
    Rules,
    /// The lines of what is proposed.
    Proposal,
    /// A comment that is being written.
    Comment,
}

/// What keys are for, in the order of the page that shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Ask,
    AskAgain,
    Queue,
    Read,
    Terminal,
    Answer,
    Follow,
    Chat,
    Agents,
    Inspector,
    Audit,
    Rules,
    File,
    Review,
    Comment,
}

/// The chat's keys: for each of [`KEYS`], in that order, what the user types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys(Vec<Vec<String>>);

impl Default for Keys {
    fn default() -> Self {
        Self(KEYS.iter().map(|key| key.default.iter().map(|&lhs| lhs.to_owned()).collect()).collect())
    }
}

impl Keys {
    /// Takes the keys that the table gives, each by its name.
    pub(super) fn read(&mut self, table: &Table<'_>) {
        for (key, all) in KEYS.iter().zip(&mut self.0) {
            table.set(key.name, all, |field| field.keys());
        }
    }

    /// The bindings of one of the chat's buffers: which key, what to type for it.
    pub fn of(&self, pane: Pane) -> impl Iterator<Item = (&'static KeySpec, &str)> {
        KEYS.iter()
            .zip(&self.0)
            .filter(move |(key, _)| key.panes.contains(&pane))
            .flat_map(|(key, all)| all.iter().map(move |lhs| (key, lhs.as_str())))
    }

    /// What is typed for the key of that name, as one reads it: digits in a row are `1 .. 9`.
    pub fn shown(&self, name: &str) -> String {
        shown(self.get(name))
    }

    /// What starts an agent again that is gone, as it stands in a sentence.
    pub fn restart(&self) -> String {
        self.get("restart")
            .first()
            .map_or_else(|| ":Acp restart".to_owned(), |key| format!("{key} in the chat"))
    }

    /// A line that says what to type for what: pairs of a key's name and what it does. Keys that are switched
    /// off are not named.
    pub fn line(&self, of: &[(&str, &str)]) -> String {
        let named = of.iter().filter_map(|(name, what)| self.named(name, what));
        named.collect::<Vec<_>>().join(" \u{b7} ")
    }

    /// The same of one key; `None` where it is switched off.
    pub fn named(&self, name: &str, what: &str) -> Option<String> {
        self.get(name).first().map(|lhs| format!("{lhs} {what}"))
    }

    /// The same in a line of so many cells: what does not fit is left out, but for the last one, which is to show all.
    pub fn line_within(&self, of: &[(&str, &str)], width: usize) -> String {
        let Some((last, others)) = of.split_last() else { return String::new() };
        let with = |count: usize| self.line(&[&others[..count], std::slice::from_ref(last)].concat());
        let fits = |line: &String| line.chars().count() <= width;
        (1..=others.len()).rev().map(with).find(fits).unwrap_or_else(|| with(0))
    }

    /// What is typed for the key of that name; empty when it is switched off or there is none.
    pub fn get(&self, name: &str) -> &[String] {
        KEYS.iter().zip(&self.0).find(|(key, _)| key.name == name).map_or(&[], |(_, all)| all)
    }
}

/// Keys in a row as one reads them.
pub(super) fn shown<S: AsRef<str>>(keys: &[S]) -> String {
    let all: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    match all.as_slice() {
        ["1", "2", .., "9"] if all.len() == 9 => "1 .. 9".to_owned(),
        all => all.join(" "),
    }
}

pub const KEYS: &[KeySpec] = &[
    KeySpec {
        name: "send",
        section: Section::Ask,
        panes: &[Pane::Prompt],
        modes: &["n"],
        default: &["<CR>"],
        about: "Send the prompt.",
    },
    KeySpec {
        name: "send_insert",
        section: Section::Ask,
        panes: &[Pane::Prompt],
        modes: &["i"],
        default: &["<C-s>"],
        about: "Send the prompt while typing.",
    },
    KeySpec {
        name: "steer",
        section: Section::Ask,
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-x><C-s>"],
        about: "Send the prompt into the running turn; see |acp-steering|.",
    },
    KeySpec {
        name: "cancel",
        section: Section::Ask,
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-c>"],
        about: "Stop the agent's turn, or its start; queued prompts are held. When nothing is running, leave insert \
                mode.",
    },
    KeySpec {
        name: "next_mode",
        section: Section::Ask,
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n"],
        default: &["<S-Tab>"],
        about: "Switch the agent to its next mode.",
    },
    KeySpec {
        name: "next_mode_insert",
        section: Section::Ask,
        panes: &[Pane::Prompt],
        modes: &["i"],
        default: &[],
        about: "The same while typing. Has no key unless you give it one: completion menus use <S-Tab>, and a mode may let \
                the agent work without asking.",
    },
    KeySpec {
        name: "take_suggestion",
        section: Section::Ask,
        panes: &[Pane::Prompt],
        modes: &["i"],
        default: &["<Tab>"],
        about: "Put the prompt that the agent suggests into the empty prompt, where it stands in grey. The key is yours \
                whenever nothing is suggested.",
    },
    KeySpec {
        name: "take_back",
        section: Section::AskAgain,
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<Up>"],
        about: "In an empty prompt: take back the last queued prompt. Elsewhere: one line up.",
    },
    KeySpec {
        name: "queue",
        section: Section::AskAgain,
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-q>"],
        about: "Go to the queued prompts, where each can be edited, moved and removed; see |acp-queue|.",
    },
    KeySpec {
        name: "older_prompt",
        section: Section::AskAgain,
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-p>"],
        about: "In the prompt's first line: the previous prompt. Elsewhere: one line up.",
    },
    KeySpec {
        name: "newer_prompt",
        section: Section::AskAgain,
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-n>"],
        about: "In the prompt's last line: the prompt that was sent after, and at last what you had typed. \
                Elsewhere: one line down.",
    },
    KeySpec {
        name: "queue_edit",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["<CR>"],
        about: "Take the queued prompt at the cursor back into the prompt.",
    },
    KeySpec {
        name: "queue_remove",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["dd", "x"],
        about: "Remove the queued prompt at the cursor; the history keeps it.",
    },
    KeySpec {
        name: "queue_restore",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["u"],
        about: "Bring back the queued prompt that was removed last, to where it stood.",
    },
    KeySpec {
        name: "queue_up",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["K"],
        about: "Move the queued prompt at the cursor up, so that it is sent earlier.",
    },
    KeySpec {
        name: "queue_down",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["J"],
        about: "Move the queued prompt at the cursor down, so that it is sent later.",
    },
    KeySpec {
        name: "queue_send",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["s"],
        about: "Send the waiting prompt at the cursor now: into the turn where the agent can be steered, else \
                the turn is stopped for it.",
    },
    KeySpec {
        name: "queue_close",
        section: Section::Queue,
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["q", "<Esc>"],
        about: "Go back to the prompt.",
    },
    KeySpec {
        name: "toggle",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["<Tab>", "za"],
        about: "Open or fold what is under the cursor: an entry, or a line of collapsed calls.",
    },
    KeySpec {
        name: "click",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n", "i"],
        default: &["<LeftRelease>"],
        about: "With the mouse: give the answer that was clicked, as its digit does, or open the question whose \
                line it was; open or fold the call, or go where the line leads. A click from another window only \
                goes to the chat. Needs 'mouse'.",
    },
    KeySpec {
        name: "details",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["K"],
        about: "Show all there is to know of the entry under the cursor, such as a call's input and output.",
    },
    KeySpec {
        name: "go_to",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gd", "<CR>"],
        about: "Go to what is under the cursor: the question that waits, the line of a change, a file named \
                in the text, else the file or the terminal that the entry is about.",
    },
    KeySpec {
        name: "next_entry",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]]"],
        about: "Go to the next entry.",
    },
    KeySpec {
        name: "previous_entry",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[["],
        about: "Go to the previous entry.",
    },
    KeySpec {
        name: "next_call",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]t"],
        about: "Go to the next tool call.",
    },
    KeySpec {
        name: "previous_call",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[t"],
        about: "Go to the previous tool call.",
    },
    KeySpec {
        name: "next_change",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next tool call that changes files.",
    },
    KeySpec {
        name: "previous_change",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous tool call that changes files.",
    },
    KeySpec {
        name: "outline",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gO"],
        about: "Show the turns and headings in the location list.",
    },
    KeySpec {
        name: "yank_code",
        section: Section::Read,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gy"],
        about: "Yank the code block under the cursor.",
    },
    KeySpec {
        name: "terminal_go",
        section: Section::Terminal,
        panes: &[Pane::Terminal],
        modes: &["n"],
        default: &["gf"],
        about: "Go to the file that the command names at the cursor.",
    },
    KeySpec {
        name: "terminal_go_line",
        section: Section::Terminal,
        panes: &[Pane::Terminal],
        modes: &["n"],
        default: &["gF"],
        about: "The same, and to the line that it names.",
    },
    KeySpec {
        name: "terminal_next",
        section: Section::Terminal,
        panes: &[Pane::Terminal],
        modes: &["n"],
        default: &["]t"],
        about: "Show the next command in the window of terminals.",
    },
    KeySpec {
        name: "terminal_previous",
        section: Section::Terminal,
        panes: &[Pane::Terminal],
        modes: &["n"],
        default: &["[t"],
        about: "Show the previous command in the window of terminals.",
    },
    KeySpec {
        name: "answer",
        section: Section::Answer,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        about: "On a question: give the first, second, .. of the answers that stand there, which may be up to \
                nine. Elsewhere, and where there are fewer answers, a digit is a count.",
    },
    KeySpec {
        name: "ask",
        section: Section::Answer,
        panes: &[Pane::Proposal],
        modes: &["n"],
        default: &["<CR>"],
        about: "In the lines of what an agent proposes: open the question about them.",
    },
    KeySpec {
        name: "follow",
        section: Section::Follow,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gw"],
        about: "Follow the agent through the files, resume after a pause, or stop; see |acp-follow|.",
    },
    KeySpec {
        name: "locations",
        section: Section::Follow,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gl"],
        about: "Pick one of the locations that the agent has visited in this turn.",
    },
    KeySpec {
        name: "prompt",
        section: Section::Chat,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["i", "a"],
        about: "Go to the prompt and type.",
    },
    KeySpec {
        name: "hide",
        section: Section::Chat,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["q"],
        about: "Hide the chat. The session goes on; |:AcpChat| shows it again.",
    },
    KeySpec {
        name: "restart",
        section: Section::Chat,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["R"],
        about: "Start the agent again after it has ended, or after a login.",
    },
    KeySpec {
        name: "replay_next",
        section: Section::Chat,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]m"],
        about: "Play the next message of a recording, with a count so many; see |acp-recordings|.",
    },
    KeySpec {
        name: "end_left",
        section: Section::Chat,
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["X"],
        about: "Stop the subagent under the cursor, and nothing else; see |acp-subagents|. Elsewhere kill the \
                commands that are still running although their turn was stopped.",
    },
    KeySpec {
        name: "help",
        section: Section::Chat,
        panes: &[Pane::Prompt, Pane::Transcript, Pane::Queue, Pane::Terminal, Pane::Proposal, Pane::Comment],
        modes: &["n"],
        default: &["g?"],
        about: "Show the keys that do something here; once more, all keys.",
    },
    KeySpec {
        name: "agents_start",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<CR>"],
        about: "Start the agent at the cursor; see |:Acp-agents|. What was not run before is shown first.",
    },
    KeySpec {
        name: "agents_details",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<Tab>", "K"],
        about: "Show or hide everything there is to know about the agent at the cursor.",
    },
    KeySpec {
        name: "agents_refresh",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["R"],
        about: "Fetch the registry of agents.",
    },
    KeySpec {
        name: "agents_site",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["gx"],
        about: "Open the agent's website, or its repository.",
    },
    KeySpec {
        name: "agents_remove",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["x", "dd"],
        about: "Revoke the approval of the agent at the cursor, and delete its download.",
    },
    KeySpec {
        name: "agents_cancel",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<C-c>"],
        about: "Stop the running download.",
    },
    KeySpec {
        name: "agents_close",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["q"],
        about: "Close the list.",
    },
    KeySpec {
        name: "agents_help",
        section: Section::Agents,
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["g?"],
        about: "Show these keys.",
    },
    KeySpec {
        name: "inspect_open",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["<CR>"],
        about: "Open the message at the cursor in a window of its own.",
    },
    KeySpec {
        name: "inspect_pair",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["%"],
        about: "Go from a request to its answer, or back.",
    },
    KeySpec {
        name: "inspect_filter",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["f"],
        about: "Type which messages are shown; see |acp-inspect-filter|.",
    },
    KeySpec {
        name: "inspect_all",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["F"],
        about: "Show all messages again.",
    },
    KeySpec {
        name: "inspect_problems",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["!"],
        about: "Show only what is wrong, or no longer.",
    },
    KeySpec {
        name: "inspect_next_problem",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["]e"],
        about: "Go to the next message that something is wrong with.",
    },
    KeySpec {
        name: "inspect_previous_problem",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["[e"],
        about: "Go to the previous one.",
    },
    KeySpec {
        name: "inspect_close",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["q"],
        about: "Close the messages. They are kept all the same.",
    },
    KeySpec {
        name: "inspect_help",
        section: Section::Inspector,
        panes: &[Pane::Inspector],
        modes: &["n"],
        default: &["g?"],
        about: "Show the keys that do something here; once more, all keys.",
    },
    KeySpec {
        name: "audit_open",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["<CR>"],
        about: "Go to the file or the chat that the line is about; if it is not open here, show all of the line.",
    },
    KeySpec {
        name: "audit_details",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["K"],
        about: "Show all that the line says.",
    },
    KeySpec {
        name: "audit_filter",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["f"],
        about: "Type which lines are shown; see |acp-audit-filter|.",
    },
    KeySpec {
        name: "audit_all",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["F"],
        about: "Show all lines again.",
    },
    KeySpec {
        name: "audit_problems",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["!"],
        about: "Show only what was rejected or went wrong, or no longer.",
    },
    KeySpec {
        name: "audit_refresh",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["R"],
        about: "Read the record again.",
    },
    KeySpec {
        name: "audit_close",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["q"],
        about: "Close the record.",
    },
    KeySpec {
        name: "audit_help",
        section: Section::Audit,
        panes: &[Pane::Audit],
        modes: &["n"],
        default: &["g?"],
        about: "Show the keys that do something here; once more, all keys.",
    },
    KeySpec {
        name: "rules_edit",
        section: Section::Rules,
        panes: &[Pane::Rules],
        modes: &["n"],
        default: &["<CR>"],
        about: "Change what the rule at the cursor is about; a rule of the project's is shown in its file.",
    },
    KeySpec {
        name: "rules_remove",
        section: Section::Rules,
        panes: &[Pane::Rules],
        modes: &["n"],
        default: &["x", "dd"],
        about: "Take back the rule at the cursor, if it was made by an answer.",
    },
    KeySpec {
        name: "rules_restore",
        section: Section::Rules,
        panes: &[Pane::Rules],
        modes: &["n"],
        default: &["u"],
        about: "Bring back the rule that was taken back last.",
    },
    KeySpec {
        name: "rules_help",
        section: Section::Rules,
        panes: &[Pane::Rules],
        modes: &["n"],
        default: &["g?"],
        about: "Show the keys that do something here; once more, all keys.",
    },
    KeySpec {
        name: "next_hunk",
        section: Section::File,
        panes: &[Pane::File, Pane::Proposal],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next change by an agent, also in another file; in diff mode like |]c|.",
    },
    KeySpec {
        name: "previous_hunk",
        section: Section::File,
        panes: &[Pane::File, Pane::Proposal],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous change by an agent, also in another file; in diff mode like |[c|.",
    },
    KeySpec {
        name: "review_keep",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n", "x"],
        default: &["ga"],
        about: "Keep the change at the cursor, or all changes of the file at the cursor; of a change the selected lines alone.",
    },
    KeySpec {
        name: "review_undo",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n", "x"],
        default: &["gx"],
        about: "Undo the change at the cursor, or all changes of the file at the cursor; of a change the selected lines alone.",
    },
    KeySpec {
        name: "review_keep_all",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["gA"],
        about: "Keep everything that the review shows; where that is more than one hunk you are asked first.",
    },
    KeySpec {
        name: "review_undo_all",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["gX"],
        about: "Undo everything that the review shows; where that is more than one hunk you are asked first.",
    },
    KeySpec {
        name: "review_take_back",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["u"],
        about: "Take back the last decision, or what was last written from the review; while there are edits that are \
                not written, undo these.",
    },
    KeySpec {
        name: "review_comment",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["gc"],
        about: "Write a comment on the change or the file at the cursor, or go on with the one there.",
    },
    KeySpec {
        name: "review_send",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["gs"],
        about: "Send the comments to the agent as a prompt.",
    },
    KeySpec {
        name: "review_go",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["<CR>"],
        about: "Go to the line in the file.",
    },
    KeySpec {
        name: "review_next",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next change in the review.",
    },
    KeySpec {
        name: "review_previous",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous change in the review.",
    },
    KeySpec {
        name: "review_close",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["q"],
        about: "Close the review. Undecided changes stay.",
    },
    KeySpec {
        name: "review_help",
        section: Section::Review,
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["g?"],
        about: "Show the review's keys.",
    },
    KeySpec {
        name: "comment_save",
        section: Section::Comment,
        panes: &[Pane::Comment],
        modes: &["n"],
        default: &["<CR>", "<C-s>"],
        about: "Finish the comment; one without a text is deleted. |:write| does the same.",
    },
    KeySpec {
        name: "comment_save_insert",
        section: Section::Comment,
        panes: &[Pane::Comment],
        modes: &["i"],
        default: &["<C-s>"],
        about: "Finish the comment while typing.",
    },
    KeySpec {
        name: "comment_close",
        section: Section::Comment,
        panes: &[Pane::Comment],
        modes: &["n"],
        default: &["<Esc>", "q"],
        about: "Close the window. What is new in it stays as a draft, which is not sent.",
    },
];
