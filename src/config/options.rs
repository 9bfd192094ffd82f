//! Every option and every key once: name, what it takes, default, what it does. The reader takes
//! the known names from here, the help's sections are generated from here, and the tests hold the
//! two against each other.

/// An option as the help shows it.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// The path in the table given to `setup()`; `{name}` stands for any name.
    pub key: &'static str,
    pub takes: &'static str,
    /// As Lua writes it; `nil` where there is none.
    pub default: &'static str,
    pub about: &'static str,
}

/// A key of the chat's buffers.
#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    /// The name under `keys` in the options, and of what the key does.
    pub name: &'static str,
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
    /// The list of agents.
    Agents,
}

pub const KEYS: &[KeySpec] = &[
    KeySpec {
        name: "send",
        panes: &[Pane::Prompt],
        modes: &["n"],
        default: &["<CR>"],
        about: "Send the prompt.",
    },
    KeySpec {
        name: "send_insert",
        panes: &[Pane::Prompt],
        modes: &["i"],
        default: &["<C-s>"],
        about: "Send the prompt while typing.",
    },
    KeySpec {
        name: "steer",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-x><C-s>"],
        about: "Send the prompt into the turn that runs; see |acp-steering|.",
    },
    KeySpec {
        name: "cancel",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-c>"],
        about: "Stop the agent's turn, or its start. When nothing runs, leave insert mode.",
    },
    KeySpec {
        name: "prompt",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["i", "a"],
        about: "Go to the prompt and type.",
    },
    KeySpec {
        name: "next_entry",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]]"],
        about: "Go to the next entry.",
    },
    KeySpec {
        name: "previous_entry",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[["],
        about: "Go to the previous entry.",
    },
    KeySpec {
        name: "next_call",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]t"],
        about: "Go to the next tool call.",
    },
    KeySpec {
        name: "previous_call",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[t"],
        about: "Go to the previous tool call.",
    },
    KeySpec {
        name: "next_change",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next tool call that changes files.",
    },
    KeySpec {
        name: "previous_change",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous tool call that changes files.",
    },
    KeySpec {
        name: "go_to",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gd", "<CR>"],
        about: "Go to what is under the cursor: the question that waits, the line of a change, a file named \
                in the text, else the file or the terminal that the entry is about.",
    },
    KeySpec {
        name: "answer",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        about: "On a tool call that asks for permission: give the first, second, .. of the answers that \
                stand there. Elsewhere, and where there are fewer answers, a digit is a count.",
    },
    KeySpec {
        name: "toggle",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["<Tab>", "za"],
        about: "Open or fold what is under the cursor: an entry, or the line under which calls gather.",
    },
    KeySpec {
        name: "click",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["<LeftRelease>"],
        about: "With the mouse: open or fold the call that was clicked, or go where the line leads. A click \
                from another window only goes to the chat. Needs 'mouse'.",
    },
    KeySpec {
        name: "details",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["K"],
        about: "Show all there is to know of the entry under the cursor, such as a call's input and output.",
    },
    KeySpec {
        name: "yank_code",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gy"],
        about: "Yank the block of code under the cursor.",
    },
    KeySpec {
        name: "outline",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gO"],
        about: "Show the turns and headings in the location list.",
    },
    KeySpec {
        name: "next_hunk",
        panes: &[Pane::File],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next change of an agent's, also in another file; in diff mode as |]c|.",
    },
    KeySpec {
        name: "previous_hunk",
        panes: &[Pane::File],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous change of an agent's, also in another file; in diff mode as |[c|.",
    },
    KeySpec {
        name: "review_keep",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["a"],
        about: "Keep the change at the cursor, or all of the file at the cursor.",
    },
    KeySpec {
        name: "review_undo",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["x"],
        about: "Undo the change at the cursor, or all of the file at the cursor.",
    },
    KeySpec {
        name: "review_keep_all",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["A"],
        about: "Keep all that the review shows.",
    },
    KeySpec {
        name: "review_undo_all",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["X"],
        about: "Undo all that the review shows.",
    },
    KeySpec {
        name: "review_comment",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["c"],
        about: "Write a comment on the change at the cursor.",
    },
    KeySpec {
        name: "review_send",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["s"],
        about: "Send the comments to the agent as a prompt.",
    },
    KeySpec {
        name: "review_go",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["<CR>"],
        about: "Go to the place in the file.",
    },
    KeySpec {
        name: "review_next",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["]c"],
        about: "Go to the next change in the review.",
    },
    KeySpec {
        name: "review_previous",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous change in the review.",
    },
    KeySpec {
        name: "review_close",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["q"],
        about: "Close the review. What is left to decide stays.",
    },
    KeySpec {
        name: "review_help",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["g?"],
        about: "Show the review's keys.",
    },
    KeySpec {
        name: "older_prompt",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-p>"],
        about: "In the prompt's first line: the prompt that was sent before. Elsewhere: one line up.",
    },
    KeySpec {
        name: "newer_prompt",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-n>"],
        about: "In the prompt's last line: the prompt that was sent after, and at last what you had typed. \
                Elsewhere: one line down.",
    },
    KeySpec {
        name: "take_back",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<Up>"],
        about: "In an empty prompt: take back the last prompt that waits. Else: one line up.",
    },
    KeySpec {
        name: "queue",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-q>"],
        about: "Go to the prompts that wait, where each can be edited, moved and removed; see |acp-queue|.",
    },
    KeySpec {
        name: "queue_edit",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["<CR>"],
        about: "Take the waiting prompt at the cursor back into the prompt.",
    },
    KeySpec {
        name: "queue_remove",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["dd", "x"],
        about: "Remove the waiting prompt at the cursor; the history keeps it.",
    },
    KeySpec {
        name: "queue_up",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["K"],
        about: "Have the waiting prompt at the cursor sent earlier.",
    },
    KeySpec {
        name: "queue_down",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["J"],
        about: "Have the waiting prompt at the cursor sent later.",
    },
    KeySpec {
        name: "queue_send",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["s"],
        about: "Send the waiting prompt at the cursor now: into the turn where the agent can be steered, else \
                the turn is stopped for it.",
    },
    KeySpec {
        name: "queue_close",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["q", "<Esc>"],
        about: "Go back to the prompt.",
    },
    KeySpec {
        name: "agents_start",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<CR>"],
        about: "Start the agent at the cursor; see |:Acp-agents|. What was not run before is shown first.",
    },
    KeySpec {
        name: "agents_details",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<Tab>", "K"],
        about: "Show all there is to know about the agent at the cursor, or put that away.",
    },
    KeySpec {
        name: "agents_refresh",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["R"],
        about: "Fetch the registry of agents.",
    },
    KeySpec {
        name: "agents_site",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["gx"],
        about: "Open the agent's website, or its repository.",
    },
    KeySpec {
        name: "agents_remove",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["x", "dd"],
        about: "Forget that the agent at the cursor was approved, and delete its download.",
    },
    KeySpec {
        name: "agents_cancel",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<C-c>"],
        about: "Stop what is being fetched.",
    },
    KeySpec {
        name: "agents_close",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["q"],
        about: "Close the list.",
    },
    KeySpec {
        name: "agents_help",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["g?"],
        about: "Show these keys.",
    },
    KeySpec {
        name: "next_mode",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<S-Tab>"],
        about: "Put the agent into the next of its modes.",
    },
    KeySpec {
        name: "follow",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gw"],
        about: "Go with the agent through the files, go on after a pause, or stay; see |acp-follow|.",
    },
    KeySpec {
        name: "locations",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gl"],
        about: "Pick one of the places that the agent has been at in this turn.",
    },
    KeySpec {
        name: "restart",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["R"],
        about: "Start the agent again after it has ended, or after a login.",
    },
    KeySpec {
        name: "end_left",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["X"],
        about: "End the commands that go on although their turn was stopped.",
    },
    KeySpec {
        name: "hide",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["q"],
        about: "Hide the chat. The session goes on; |:AcpChat| shows it again.",
    },
    KeySpec {
        name: "help",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n"],
        default: &["g?"],
        about: "Show these keys.",
    },
];

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        key: "agents",
        takes: "table of agents by name",
        default: "{}",
        about: "The agents that you configure. Those in |acp-agents| need no entry; an entry with the name \
                of one of them changes only what it gives.",
    },
    OptionSpec {
        key: "agents.{name}.command",
        takes: "string",
        default: "nil",
        about: "The program to start: a name that is found in $PATH, or a path. Needed unless {name} is one \
                of |acp-agents|.",
    },
    OptionSpec {
        key: "agents.{name}.args",
        takes: "list of strings",
        default: "nil",
        about: "The program's arguments, in place of those that a known agent comes with.",
    },
    OptionSpec {
        key: "agents.{name}.cmd",
        takes: "list of strings",
        default: "nil",
        about: "The program and its arguments in one list, in place of `command` and `args`.",
    },
    OptionSpec {
        key: "agents.{name}.env",
        takes: "table of strings",
        default: "{}",
        about: "Environment variables for the agent, added to Neovim's own.",
    },
    OptionSpec {
        key: "agents.{name}.cwd",
        takes: "path",
        default: "nil",
        about: "The folder that the program is started in; without it, the session's root. The session's \
                root itself is not changed by it.",
    },
    OptionSpec {
        key: "agents.{name}.title",
        takes: "string",
        default: "nil",
        about: "The name shown to you.",
    },
    OptionSpec {
        key: "agents.{name}.mcp_servers",
        takes: "list of servers",
        default: "nil",
        about: "MCP servers for this agent, in place of |acp-config-mcp_servers|.",
    },
    OptionSpec {
        key: "agents.{name}.enabled",
        takes: "boolean",
        default: "true",
        about: "Whether the agent is offered. `false` hides one of |acp-agents|.",
    },
    OptionSpec {
        key: "agents.{name}.follow",
        takes: "boolean",
        default: "nil",
        about: "Whether this agent is followed, in place of |acp-config-follow|.",
    },
    OptionSpec {
        key: "default_agent",
        takes: "string",
        default: "nil",
        about: "The agent that |:AcpChat| starts when it is given none. Without it you are asked, unless \
                only one, beside the demo, is ready.",
    },
    OptionSpec {
        key: "registry.url",
        takes: "string",
        default: "\"https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json\"",
        about: "Where |:Acp-agents| fetches the registry of agents from when you ask it to.",
    },
    OptionSpec {
        key: "window.layout",
        takes: "\"right\", \"left\", \"bottom\", \"top\", \"float\", \"tab\" or \"current\"",
        default: "\"right\"",
        about: "Where the chat opens: along an edge of the editor, floating, in a tab page of its own, or in \
                the current window.",
    },
    OptionSpec {
        key: "window.width",
        takes: "number or \"N%\"",
        default: "nil",
        about: "The chat's width at the right, at the left and floating: columns, or a share of the \
                editor's. Where it is not given, half of it at an edge; floating, 100 columns, or as many \
                as there are.",
    },
    OptionSpec {
        key: "window.height",
        takes: "number or \"N%\"",
        default: "nil",
        about: "The chat's height at the bottom, at the top and floating: lines, or a share of the \
                editor's. Where it is not given, half of it at an edge; floating, 80%, and at least 24 \
                lines where there are as many.",
    },
    OptionSpec {
        key: "window.prompt_height",
        takes: "number",
        default: "5",
        about: "The height in lines of the window that you type into.",
    },
    OptionSpec {
        key: "prompt.complete",
        takes: "\"auto\", \"always\" or \"never\"",
        default: "\"auto\"",
        about: "Whether completion opens by itself when you type `@`, or `/` at the start of a prompt. \
                `\"auto\"` leaves it to blink.cmp or nvim-cmp where one of them is loaded; see \
                |acp-completion|.",
    },
    OptionSpec {
        key: "icons",
        takes: "boolean",
        default: "true",
        about: "Marks such as a tick for a tool call that is done. `false` writes `[x]` instead; nothing is \
                said by an icon alone.",
    },
    OptionSpec {
        key: "timestamps",
        takes: "boolean",
        default: "false",
        about: "Whether the transcript shows when you asked and when a turn was over.",
    },
    OptionSpec {
        key: "follow",
        takes: "boolean or table",
        default: "false",
        about: "Whether agents are followed; see |acp-follow|. A table sets more than that: \
                `follow = { enabled = true, resume_after = 10 }`.",
    },
    OptionSpec {
        key: "follow.enabled",
        takes: "boolean",
        default: "false",
        about: "What `follow` alone says.",
    },
    OptionSpec {
        key: "follow.resume_after",
        takes: "seconds",
        default: "5",
        about: "How long the window that follows waits after you have done something in it.",
    },
    OptionSpec {
        key: "follow.window",
        takes: "function",
        default: "nil",
        about: "Called with each place before it is shown, with what |AcpLocation| has in it. Returns the \
                window to show it in, `false` not to show it, or nothing.",
    },
    OptionSpec {
        key: "permission.open",
        takes: "\"auto\", \"always\" or \"never\"",
        default: "\"auto\"",
        about: "When an agent's question opens by itself: `\"auto\"` not while you type, `\"always\"` at once \
                wherever you are, `\"never\"` not at all; see |acp-permission|. In any case the chat and a \
                notification tell of it.",
    },
    OptionSpec {
        key: "keys",
        takes: "table",
        default: "{}",
        about: "Other keys for the chat, by the names in |acp-keys|: a string, a list of strings, or `false` \
                for none.",
    },
    OptionSpec {
        key: "chat.images",
        takes: "\"auto\" or \"link\"",
        default: "\"auto\"",
        about: "How images that agents send show in the chat: in place where something can draw them, or as a \
                line only; see |acp-images|.",
    },
    OptionSpec {
        key: "terminal.auto_open",
        takes: "\"always\", \"long\" or \"never\"",
        default: "\"long\"",
        about: "Whether a command that an agent runs opens in a window by itself: each one, one that still \
                runs after a second, or none. The cursor stays where it is.",
    },
    OptionSpec {
        key: "terminal.position",
        takes: "\"bottom\", \"top\", \"right\", \"left\" or \"tab\"",
        default: "\"bottom\"",
        about: "Where terminals open.",
    },
    OptionSpec {
        key: "terminal.size",
        takes: "number or \"N%\"",
        default: "12",
        about: "The height of terminals at the bottom or top in lines, their width at the sides in columns, \
                or a share of the editor's.",
    },
    OptionSpec {
        key: "terminal.auto_close",
        takes: "\"never\" or \"success\"",
        default: "\"never\"",
        about: "Whether a window that has opened by itself closes by itself once its command has ended well. \
                Not while the cursor is in it.",
    },
    OptionSpec {
        key: "terminal.input",
        takes: "boolean",
        default: "true",
        about: "Whether what you type in a terminal reaches the command.",
    },
    OptionSpec {
        key: "terminal.limit",
        takes: "number",
        default: "32",
        about: "How many commands may run at once. An agent that asks for another is told so.",
    },
    OptionSpec {
        key: "terminal.timeout",
        takes: "seconds, or `false`",
        default: "false",
        about: "How long a command may run. One that takes longer is ended, and its output says why.",
    },
    OptionSpec {
        key: "terminal.output_limit",
        takes: "bytes",
        default: "1048576",
        about: "How much of a command's output, its end, is kept for the agent. It may ask for less.",
    },
    OptionSpec {
        key: "diff.style",
        takes: "\"inline\", \"split\" or \"off\"",
        default: "\"inline\"",
        about: "How changes show in the files themselves: removed lines as virtual text above the new ones; \
                what is proposed in a window of its own beside the file, in diff mode; or not at all. See \
                |acp-diff| and |:Acp-diff|.",
    },
    OptionSpec {
        key: "diff.stay",
        takes: "\"decided\", \"prompt\" or \"turn\"",
        default: "\"decided\"",
        about: "How long changes that you have neither kept nor undone stay marked: until you do, until your \
                next prompt in the session, or until the turn is over. They count as kept then.",
    },
    OptionSpec {
        key: "diff.tell_undone",
        takes: "boolean",
        default: "true",
        about: "Tell the agent with your next prompt which of its changes you undid; the chat shows it with \
                the prompt.",
    },
    OptionSpec {
        key: "files.conflict",
        takes: "\"ask\", \"refuse\" or \"markers\"",
        default: "\"ask\"",
        about: "What happens to lines that you and the agent changed both: you are asked, the agent is told \
                to read the file again, or both stand in the file between conflict markers. See \
                |acp-conflicts|.",
    },
    OptionSpec {
        key: "files.save",
        takes: "\"clean\" or \"always\"",
        default: "\"clean\"",
        about: "Which buffers are saved after an agent wrote into them: those without unsaved edits of yours, \
                or all.",
    },
    OptionSpec {
        key: "files.format_on_save",
        takes: "boolean",
        default: "false",
        about: "Whether autocommands may change what an agent wrote when it is saved (|BufWritePre|), as \
                formatters do.",
    },
    OptionSpec {
        key: "files.unsaved",
        takes: "\"mention\", \"save\" or \"nothing\"",
        default: "\"mention\"",
        about: "What happens to unsaved edits in the session's folders before a prompt is sent: the agent is \
                told of them, the buffers are saved, or nothing. See |acp-unsaved|.",
    },
    OptionSpec {
        key: "mcp_servers",
        takes: "list of servers",
        default: "{}",
        about: "MCP servers that every session gets, written as in ACP: `{ name, command, args, env }`, or \
                `{ type = \"http\", name, url, headers }`.",
    },
    OptionSpec {
        key: "files.outside",
        takes: "\"ask\" or \"refuse\"",
        default: "\"ask\"",
        about: "What becomes of an agent's wish to read or write a file outside of its session's folders: you \
                are asked, or it is refused; see |acp-outside|.",
    },
    OptionSpec {
        key: "files.allowed.read",
        takes: "list of paths",
        default: "{}",
        about: "Folders and files outside of the session's folders that agents may read without asking. They \
                are absolute, or begin with `~/`.",
    },
    OptionSpec {
        key: "files.allowed.write",
        takes: "list of paths",
        default: "{}",
        about: "The same for writing. Neither includes the other.",
    },
    OptionSpec {
        key: "additional_directories",
        takes: "list of paths",
        default: "{}",
        about: "Folders beside the session's root that agents may work in. A relative one is meant from the \
                root.",
    },
    OptionSpec {
        key: "projects",
        takes: "table by folder",
        default: "{}",
        about: "What single projects have beside what all have, by their folders: `[\"~/src/shop\"] = { .. }` \
                counts for sessions in that folder and below it.",
    },
    OptionSpec {
        key: "projects.{folder}.mcp_servers",
        takes: "list of servers",
        default: "{}",
        about: "MCP servers for the project, beside those that every session or the agent gets.",
    },
    OptionSpec {
        key: "projects.{folder}.additional_directories",
        takes: "list of paths",
        default: "{}",
        about: "Folders that agents may work in beside the project's root.",
    },
    OptionSpec {
        key: "log",
        takes: "boolean or path",
        default: "false",
        about: "Whether the messages to and from agents are written to the log, or to the file named here. \
                They hold your prompts and your code; secrets are left out as far as they can be told.",
    },
    OptionSpec {
        key: "notify",
        takes: "boolean",
        default: "true",
        about: "Tell you with |vim.notify()| that a chat you do not see waits for you, is done, or has failed. \
                As long as that function is Neovim's own, messages never have it wait for a key: they are cut \
                to what fits and stand whole in |:messages|, and over the text while you type.",
    },
    OptionSpec {
        key: "bell",
        takes: "boolean",
        default: "false",
        about: "Ring the terminal's bell, too, when you are told that.",
    },
    OptionSpec {
        key: "record",
        takes: "boolean",
        default: "true",
        about: "Whether the plugin remembers your sessions, so that |:Acp-sessions| finds them later; see \
                |acp-record|.",
    },
    OptionSpec {
        key: "checkpoints.enabled",
        takes: "boolean",
        default: "true",
        about: "Whether to save what files held before and after each turn, so that |:Acp-checkpoints| can \
                put them back.",
    },
    OptionSpec { key: "checkpoints.days", takes: "number", default: "30", about: "For how many days." },
    OptionSpec {
        key: "checkpoints.size",
        takes: "number",
        default: "200",
        about: "How many MiB at the most, of all projects together; of more, the oldest go.",
    },
    OptionSpec {
        key: "timeouts.initialize",
        takes: "seconds",
        default: "300",
        about: "How long an agent may take to start. The first start of one that is downloaded takes long.",
    },
];

/// The keys known inside the table at `group`, which is written as in [`OPTIONS`].
pub(super) fn known(group: &str) -> Vec<&'static str> {
    if group == "keys" {
        return KEYS.iter().map(|key| key.name).collect();
    }
    let mut known: Vec<&str> = Vec::new();
    for option in OPTIONS {
        let rest = match group {
            "" => option.key,
            _ => match option.key.strip_prefix(group).and_then(|rest| rest.strip_prefix('.')) {
                Some(rest) => rest,
                None => continue,
            },
        };
        let name = rest.split('.').next().unwrap_or(rest);
        if known.last() != Some(&name) {
            known.push(name);
        }
    }
    known
}
