//! Every option and every key, defined once: name, accepted values, default, description. The reader
//! takes the known names from here, the help's sections are generated from here, and tests check that
//! help and table agree.

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
        about: "Send the prompt into the running turn; see |acp-steering|.",
    },
    KeySpec {
        name: "cancel",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-c>"],
        about: "Stop the agent's turn, or its start. When nothing is running, leave insert mode.",
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
        about: "Go to what is under the cursor: a waiting question, the line of a change, a file named in \
                the text, or else the file or the terminal that the entry is about.",
    },
    KeySpec {
        name: "answer",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        about: "On a tool call that asks for permission: give the first, second, .. of the answers listed \
                there. Elsewhere, and if there are fewer answers, a digit is a count.",
    },
    KeySpec {
        name: "toggle",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["<Tab>", "za"],
        about: "Open or fold what is under the cursor: an entry, or a line of collapsed calls.",
    },
    KeySpec {
        name: "click",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["<LeftRelease>"],
        about: "With the mouse: open or fold the call you click, or go where the line leads. A click from \
                another window only goes to the chat. Needs 'mouse'.",
    },
    KeySpec {
        name: "details",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["K"],
        about: "Show everything there is to know about the entry under the cursor, such as a call's input \
                and output.",
    },
    KeySpec {
        name: "yank_code",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gy"],
        about: "Yank the code block under the cursor.",
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
        about: "Go to the next change by an agent, also in another file; in diff mode like |]c|.",
    },
    KeySpec {
        name: "previous_hunk",
        panes: &[Pane::File],
        modes: &["n"],
        default: &["[c"],
        about: "Go to the previous change by an agent, also in another file; in diff mode like |[c|.",
    },
    KeySpec {
        name: "review_keep",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["a"],
        about: "Keep the change at the cursor, or all changes of the file at the cursor.",
    },
    KeySpec {
        name: "review_undo",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["x"],
        about: "Undo the change at the cursor, or all changes of the file at the cursor.",
    },
    KeySpec {
        name: "review_keep_all",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["A"],
        about: "Keep everything that the review shows.",
    },
    KeySpec {
        name: "review_undo_all",
        panes: &[Pane::Review],
        modes: &["n"],
        default: &["X"],
        about: "Undo everything that the review shows.",
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
        about: "Go to the line in the file.",
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
        about: "Close the review. Undecided changes stay.",
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
        about: "In the prompt's first line: the previous prompt. Elsewhere: one line up.",
    },
    KeySpec {
        name: "newer_prompt",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<C-n>"],
        about: "In the prompt's last line: the next prompt, and finally what you had typed. Elsewhere: one \
                line down.",
    },
    KeySpec {
        name: "take_back",
        panes: &[Pane::Prompt],
        modes: &["n", "i"],
        default: &["<Up>"],
        about: "In an empty prompt: take back the last queued prompt. Elsewhere: one line up.",
    },
    KeySpec {
        name: "queue",
        panes: &[Pane::Prompt, Pane::Transcript],
        modes: &["n", "i"],
        default: &["<C-q>"],
        about: "Go to the queued prompts, where each can be edited, moved and removed; see |acp-queue|.",
    },
    KeySpec {
        name: "queue_edit",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["<CR>"],
        about: "Take the queued prompt at the cursor back into the prompt.",
    },
    KeySpec {
        name: "queue_remove",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["dd", "x"],
        about: "Remove the queued prompt at the cursor; the history keeps it.",
    },
    KeySpec {
        name: "queue_up",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["K"],
        about: "Move the queued prompt at the cursor up, so that it is sent earlier.",
    },
    KeySpec {
        name: "queue_down",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["J"],
        about: "Move the queued prompt at the cursor down, so that it is sent later.",
    },
    KeySpec {
        name: "queue_send",
        panes: &[Pane::Queue],
        modes: &["n"],
        default: &["s"],
        about: "Send the queued prompt at the cursor now: into the running turn if the agent can be \
                steered; otherwise that turn is stopped first.",
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
        about: "Start the agent at the cursor; see |:Acp-agents|. If it has not been run before, its \
                command is shown first.",
    },
    KeySpec {
        name: "agents_details",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<Tab>", "K"],
        about: "Show or hide everything there is to know about the agent at the cursor.",
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
        about: "Revoke the approval of the agent at the cursor, and delete its download.",
    },
    KeySpec {
        name: "agents_cancel",
        panes: &[Pane::Agents],
        modes: &["n"],
        default: &["<C-c>"],
        about: "Stop the running download.",
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
        about: "Switch the agent to its next mode.",
    },
    KeySpec {
        name: "follow",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gw"],
        about: "Follow the agent through the files, resume after a pause, or stop; see |acp-follow|.",
    },
    KeySpec {
        name: "locations",
        panes: &[Pane::Transcript],
        modes: &["n"],
        default: &["gl"],
        about: "Pick one of the locations that the agent has visited in this turn.",
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
        about: "Kill the commands that are still running although their turn was stopped.",
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
                of one of them changes only the fields that it sets.",
    },
    OptionSpec {
        key: "agents.{name}.command",
        takes: "string",
        default: "nil",
        about: "The program to start: a name to look up in $PATH, or a path. Required unless {name} is one \
                of |acp-agents|.",
    },
    OptionSpec {
        key: "agents.{name}.args",
        takes: "list of strings",
        default: "nil",
        about: "The program's arguments, in place of a known agent's own.",
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
        about: "The folder in which the program is started; by default the session's root. It does not \
                change the session's root.",
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
        about: "The agent that |:AcpChat| starts when it is called without one. If not set, you are asked, \
                unless only one, apart from the demo, is ready.",
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
        about: "The chat's width at the right, at the left and floating: columns, or a percentage of the \
                editor's width. By default half of it at an edge; floating, 100 columns, or the whole width \
                if that is less.",
    },
    OptionSpec {
        key: "window.height",
        takes: "number or \"N%\"",
        default: "nil",
        about: "The chat's height at the bottom, at the top and floating: lines, or a percentage of the \
                editor's height. By default half of it at an edge; floating, 80%, but at least 24 lines if \
                there are that many.",
    },
    OptionSpec {
        key: "window.prompt_height",
        takes: "number",
        default: "5",
        about: "The height of the prompt's window, in lines.",
    },
    OptionSpec {
        key: "prompt.complete",
        takes: "\"auto\", \"always\" or \"never\"",
        default: "\"auto\"",
        about: "Whether completion opens automatically when you type `@`, or `/` at the start of a prompt. \
                `\"auto\"` leaves it to blink.cmp or nvim-cmp if one of them is loaded; see \
                |acp-completion|.",
    },
    OptionSpec {
        key: "icons",
        takes: "boolean",
        default: "true",
        about: "Whether to use symbols, such as a tick for a finished tool call. `false` uses text such as \
                `[x]` instead; no information is shown by a symbol alone.",
    },
    OptionSpec {
        key: "timestamps",
        takes: "boolean",
        default: "false",
        about: "Whether the transcript shows the times of your prompts and of the ends of turns.",
    },
    OptionSpec {
        key: "follow",
        takes: "boolean or table",
        default: "false",
        about: "Whether agents are followed; see |acp-follow|. A table sets more than that: `follow = { \
                enabled = true, resume_after = 10 }`.",
    },
    OptionSpec {
        key: "follow.enabled",
        takes: "boolean",
        default: "false",
        about: "The same as `follow` as a boolean.",
    },
    OptionSpec {
        key: "follow.resume_after",
        takes: "seconds",
        default: "5",
        about: "How long following pauses after you have done something in the window that follows.",
    },
    OptionSpec {
        key: "follow.window",
        takes: "function",
        default: "nil",
        about: "Called with each location before it is shown, with the fields of |AcpLocation|. Returns the \
                window to show it in, `false` to skip it, or nothing.",
    },
    OptionSpec {
        key: "permission.open",
        takes: "\"auto\", \"always\" or \"never\"",
        default: "\"auto\"",
        about: "When an agent's question opens: `\"auto\"` as soon as you don't type, `\"always\"` at once \
                wherever you are, `\"never\"` only when you open it; see |acp-permission|. The chat and a \
                notification always show that it is waiting.",
    },
    OptionSpec {
        key: "keys",
        takes: "table",
        default: "{}",
        about: "Other keys for the chat, by the names in |acp-keys|: a string, a list of strings, or \
                `false` for none.",
    },
    OptionSpec {
        key: "chat.images",
        takes: "\"auto\" or \"link\"",
        default: "\"auto\"",
        about: "How the chat shows images from agents: drawn in place if something can draw them, or only \
                as a line; see |acp-images|.",
    },
    OptionSpec {
        key: "terminal.auto_open",
        takes: "\"always\", \"long\" or \"never\"",
        default: "\"long\"",
        about: "Which commands of an agent open in a window automatically: all of them, those that still \
                run after a second, or none. The cursor stays where it is.",
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
                or a percentage of the editor's size.",
    },
    OptionSpec {
        key: "terminal.auto_close",
        takes: "\"never\" or \"success\"",
        default: "\"never\"",
        about: "Whether a window that was opened automatically is closed automatically when its command \
                succeeds. It stays open while the cursor is in it.",
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
        about: "How many commands may run at the same time. An agent that asks for more is told so.",
    },
    OptionSpec {
        key: "terminal.timeout",
        takes: "seconds, or `false`",
        default: "false",
        about: "How long a command may run. One that takes longer is killed, and its output says why.",
    },
    OptionSpec {
        key: "terminal.output_limit",
        takes: "bytes",
        default: "1048576",
        about: "How much of a command's output, counted from its end, is kept for the agent. The agent may \
                ask for less.",
    },
    OptionSpec {
        key: "diff.style",
        takes: "\"inline\", \"split\" or \"off\"",
        default: "\"inline\"",
        about: "How changes are shown in the files: removed lines as virtual text above the new ones; a \
                proposed change in a separate window beside the file, in diff mode; or not at all. See \
                |acp-diff| and |:Acp-diff|.",
    },
    OptionSpec {
        key: "diff.stay",
        takes: "\"decided\", \"prompt\" or \"turn\"",
        default: "\"decided\"",
        about: "How long changes that you have neither kept nor undone stay marked: until you decide, until \
                your next prompt in the session, or until the turn is over. After that they count as kept.",
    },
    OptionSpec {
        key: "diff.tell_undone",
        takes: "boolean",
        default: "true",
        about: "Whether your next prompt tells the agent which of its changes you have undone; the chat \
                shows this with the prompt.",
    },
    OptionSpec {
        key: "files.conflict",
        takes: "\"ask\", \"refuse\" or \"markers\"",
        default: "\"ask\"",
        about: "What happens to lines that both you and the agent changed: you are asked, the agent is told \
                to read the file again, or both versions are put into the file between conflict markers. \
                See |acp-conflicts|.",
    },
    OptionSpec {
        key: "files.save",
        takes: "\"clean\" or \"always\"",
        default: "\"clean\"",
        about: "Which buffers are saved after an agent has written to them: those without unsaved edits of \
                yours, or all.",
    },
    OptionSpec {
        key: "files.format_on_save",
        takes: "boolean",
        default: "false",
        about: "Whether autocommands (|BufWritePre|), such as formatters, may change an agent's text when \
                it is saved.",
    },
    OptionSpec {
        key: "files.unsaved",
        takes: "\"mention\", \"save\" or \"nothing\"",
        default: "\"mention\"",
        about: "What happens to unsaved edits in the session's folders before a prompt is sent: the agent \
                is told about them, the buffers are saved, or nothing. See |acp-unsaved|.",
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
        about: "What happens when an agent wants to read or write a file outside its session's folders: you \
                are asked, or it is refused; see |acp-outside|.",
    },
    OptionSpec {
        key: "files.allowed.read",
        takes: "list of paths",
        default: "{}",
        about: "Folders and files outside the session's folders that agents may read without asking: \
                absolute paths, or paths that begin with `~/`.",
    },
    OptionSpec {
        key: "files.allowed.write",
        takes: "list of paths",
        default: "{}",
        about: "The same for writing. Neither list includes the other.",
    },
    OptionSpec {
        key: "additional_directories",
        takes: "list of paths",
        default: "{}",
        about: "Folders that agents may work in, in addition to the session's root. A relative path starts \
                at the root.",
    },
    OptionSpec {
        key: "projects",
        takes: "table by folder",
        default: "{}",
        about: "Settings for single projects, in addition to the general ones, by folder: `[\"~/src/shop\"] \
                = { .. }` applies to sessions in that folder and below it.",
    },
    OptionSpec {
        key: "projects.{folder}.mcp_servers",
        takes: "list of servers",
        default: "{}",
        about: "MCP servers for the project, in addition to those of every session or of the agent.",
    },
    OptionSpec {
        key: "projects.{folder}.additional_directories",
        takes: "list of paths",
        default: "{}",
        about: "Folders that agents may work in, in addition to the project's root.",
    },
    OptionSpec {
        key: "log",
        takes: "boolean or path",
        default: "false",
        about: "Whether the messages to and from agents are written to the log, or to the file named here. \
                They contain your prompts and your code; secrets are left out as far as they can be \
                recognized.",
    },
    OptionSpec {
        key: "notify",
        takes: "boolean",
        default: "true",
        about: "Whether |vim.notify()| tells you that a chat you don't see is waiting for you, is done, or \
                has failed. With Neovim's own function, messages never make it wait for a key: they are cut \
                to what fits, and shown in full in |:messages|; while you type, they are shown over the \
                text.",
    },
    OptionSpec {
        key: "bell",
        takes: "boolean",
        default: "false",
        about: "Whether to ring the terminal's bell as well.",
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
        about: "Whether to save file contents before and after each turn, so that |:Acp-checkpoints| can \
                restore them.",
    },
    OptionSpec {
        key: "checkpoints.days",
        takes: "number",
        default: "30",
        about: "How many days to keep them.",
    },
    OptionSpec {
        key: "checkpoints.size",
        takes: "number",
        default: "200",
        about: "The most to keep, in MiB, for all projects together; beyond that, the oldest are deleted.",
    },
    OptionSpec {
        key: "timeouts.initialize",
        takes: "seconds",
        default: "300",
        about: "How long an agent may take to start. The first start of an agent that has to be downloaded \
                takes long.",
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
