//! Every subcommand of `:Acp` once: its name, what may follow it, and what it does. The list that `:Acp` alone offers,
//! completion and the help's section are made from here; a new one is one entry, and its action in `nvim/actions.rs`.

/// A subcommand of `:Acp`.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    pub name: &'static str,
    /// One line, which `:Acp` alone shows.
    pub about: &'static str,
    /// Its arguments as the help writes them.
    pub takes: &'static str,
    pub completion: Completion,
    /// Whether lines may be given.
    pub range: bool,
    pub bang: Bang,
    /// Whether `lua/acp/commands.lua` does it, since there may be no library.
    pub without_library: bool,
    /// What the help says: paragraphs in lines of their own, code after four blanks, and what a tab parts is a term and
    /// its explanation.
    pub help: &'static str,
}

/// What completes the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    Nothing,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Several of these words.
    AnyOf(&'static [&'static str]),
    File,
    /// Files, or one of these words.
    FileOr(&'static [&'static str]),
    /// What the library says to this name (`App::words`).
    Asked(&'static str),
}

/// What a `!` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bang {
    No,
    /// The help says it with the rest.
    Yes,
    /// The help has it in a section of its own.
    Apart(&'static str),
}

/// What subcommands are for, in the order in which `:Acp` alone shows them. One that is in none comes last.
pub const COMMAND_GROUPS: &[(&str, &[&str])] = &[
    (
        "Chat",
        &[
            "new", "toggle", "agents", "sessions", "resume", "fork", "rename", "export", "usage", "close",
            "archive", "delete",
        ],
    ),
    ("Ask", &["send", "ask", "add", "suggestions", "history", "edit-prompt", "queue", "paste", "cancel"]),
    ("Answer", &["allow", "reject", "answer", "auto", "paths", "permissions"]),
    (
        "Review",
        &[
            "review",
            "diff",
            "changes",
            "keep",
            "undo",
            "comment",
            "comments",
            "checkpoints",
            "settle",
            "blame",
        ],
    ),
    ("Follow", &["follow", "locations", "plan", "terminals", "terminal"]),
    ("Settings", &["mode", "model", "config", "remembered"]),
    ("Agent", &["login", "logout", "restart", "stop"]),
    ("Plugin", &["keys", "log", "inspect", "audit", "record", "replay", "build"]),
];

/// The group of a subcommand.
pub fn group_of(command: &str) -> &'static str {
    let group = COMMAND_GROUPS.iter().find(|(_, commands)| commands.contains(&command));
    group.map_or("More", |(group, _)| group)
}

pub const COMMANDS: &[CommandSpec] = &[
    CommandSpec {
        name: "new",
        about: "Start another session with an agent",
        takes: "[agent]",
        completion: Completion::Asked("agents"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Begin another session, as `:AcpChat!` does.",
    },
    CommandSpec {
        name: "toggle",
        about: "Show or hide the chat",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Hide the chat if it is on the screen, else show it, or begin one.",
    },
    CommandSpec {
        name: "agents",
        about: "List all agents, to start or inspect one; with ! fetch the registry, too",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "List all agents that are known: those that are ready, those that npx, uvx or a download can \
               bring, and those that something is missing for; see |acp-agents|. <CR> starts one. With ! \
               fetch the registry of agents, too.",
    },
    CommandSpec {
        name: "send",
        about: "Send a prompt, with the selected lines if there is a range; with ! even while a turn is running",
        takes: "{text}",
        completion: Completion::Nothing,
        range: true,
        bang: Bang::Apart(
            "The same, but at once though a turn runs: into it, or in place of it if the agent cannot be \
             steered; see |acp-steering|.",
        ),
        without_library: false,
        help: "Send a prompt in the session that there is, without going to the chat. With a [range], the \
               lines go along; for example, to ask about the lines you have selected:\n\
               \x20   :'<,'>Acp send what does this do?\n\
               Without {text} and without a [range], send what stands in the prompt.",
    },
    CommandSpec {
        name: "ask",
        about: "Ask without leaving the window, about the selected lines if any",
        takes: "{text}",
        completion: Completion::Nothing,
        range: true,
        bang: Bang::No,
        without_library: false,
        help: "As `:Acp send`, but begins a session if there is none. The cursor stays where it is.",
    },
    CommandSpec {
        name: "add",
        about: "Add this file, the selected lines, diagnostics, .. to the prompt without leaving the window",
        takes: "[what|file ..]",
        completion: Completion::FileOr(&[
            "diagnostics",
            "diff",
            "files",
            "quickfix",
            "selection",
            "symbol",
            "terminal",
            "viewport",
        ]),
        range: true,
        bang: Bang::No,
        without_library: false,
        help: "Put a reference into the prompt and stay where you are: to this file, to the lines of a [range], \
               or to [what], one of the names in |acp-context|. Lines and diagnostics are those of this buffer, \
               also when you are elsewhere by the time you send. With file names, add these, also beside names of \
               [what]; `./diff` is a file of that name. `files` lets you mark several in your picker, see \
               |acp-adding|. Begins a session if there is none.",
    },
    CommandSpec {
        name: "suggestions",
        about: "Take one of the prompts that the agent suggests",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Pick one of the prompts that the agent suggests to send next; it goes into the prompt, above what stands \
               there. See |acp-suggestions|.",
    },
    CommandSpec {
        name: "history",
        about: "Pick an earlier prompt",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Pick a prompt that was sent before in this project. It is put into the prompt.",
    },
    CommandSpec {
        name: "edit-prompt",
        about: "Edit an earlier prompt of this session and send it again, in a new session",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Edit the prompt at the cursor in the chat, or one that you pick, and send it again. It stands in \
               the prompt of a new session with the same agent; when you send it, what was said and done before \
               it goes along, and what came after it does not. The session that you come from stays as it is. \
               Files do, too: |:Acp-checkpoints| puts them back to how they were before that prompt. (Agents that \
               can copy a session copy all of it, also what came after; so that is not used.)",
    },
    CommandSpec {
        name: "queue",
        about: "Edit the queued prompts",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Pick a prompt that waits, and what to do with it; see |acp-queue|.",
    },
    CommandSpec {
        name: "paste",
        about: "Put the clipboard's image into the prompt",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Put the image in the clipboard into the prompt; see |acp-context|.",
    },
    CommandSpec {
        name: "cancel",
        about: "Stop the agent's turn, or one of its subagents",
        takes: "[subagent]",
        completion: Completion::OneOf(&["subagent"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Stop the agent's turn, as <C-c> does in the chat. What it has done stays, and queued prompts are \
               held; see |acp-queue|. With `subagent`, stop one subagent and nothing else; see |acp-subagents|.",
    },
    CommandSpec {
        name: "allow",
        about: "Allow what the agent asks for",
        takes: "[option]",
        completion: Completion::Asked("allow"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Allow what the agent asks for, this once if that is offered. With [option], answer with that \
               one of the options offered; never with one that rejects, whatever it is called. If several \
               questions wait, it is for the one under the cursor, else for one of the chat that you are in, else for \
               the one that you saw last, and a message says which it was. If you have seen none of them, you are asked which is \
               meant; not while more keys are typed already, which would be for that list.",
    },
    CommandSpec {
        name: "reject",
        about: "Reject what the agent asks for",
        takes: "[option]",
        completion: Completion::Asked("reject"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Reject what the agent asks for, this once if that is offered. With [option], answer with that \
               one of the options offered; never with one that allows, whatever it is called. |:Acp-allow| says \
               which question is meant.",
    },
    CommandSpec {
        name: "answer",
        about: "Answer what the agent wants to know",
        takes: "[decline|cancel]",
        completion: Completion::OneOf(&["decline", "cancel"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Open again what waits for you: what the agent wants to know, what it asks permission for, or a \
               conflict; see |acp-questions|. Of several it is the one under the cursor, else one of the chat that \
               you are in, else the one that you saw last. With `decline` tell it no, with `cancel` give no answer; these \
               two are for forms and pages, not for permission.",
    },
    CommandSpec {
        name: "changes",
        about: "Go to a file that the agent has changed; with ! or quickfix, list all in the quickfix list",
        takes: "[quickfix]",
        completion: Completion::OneOf(&["quickfix"]),
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Choose one of the files that the agent has changed in this session and go to a change. \
               What is left to decide is said in the review's words; files of which nothing is left are \"kept\", \
               or \"undone\" if they are as they were before. \
               Files that others have changed meanwhile are listed as \"changed from outside\", and what was kept on \
               the disk when Neovim ended, and you have not decided about, as \"undecided from before\", also where no \
               chat is open. \
               With ! or `quickfix` all of them are put into the |quickfix| list, and so they are where Neovim's own \
               picker has no room for them on one screen.",
    },
    CommandSpec {
        name: "auto",
        about: "Leave the session alone: rules decide, and nothing asks you",
        takes: "[wait | reject | off]",
        completion: Completion::OneOf(&["wait", "reject", "off"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Leave this session alone with its work, or come back to it; without an argument, whichever it is not. \
               Rules decide what the agent asks. What they leave open waits in the chat without a picker, with `wait`, \
               or is rejected, with `reject`; what counts without either is |acp-config-auto.questions|. At the end of a turn the chat says what \
               was done, what was refused, and what waits. See |acp-auto|.",
    },
    CommandSpec {
        name: "follow",
        about: "Follow the agent through the files it works on",
        takes: "[on | off | toggle | resume | pin | unpin]",
        completion: Completion::OneOf(&["on", "off", "toggle", "resume", "pin", "unpin"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Turn following on or off; without an argument, whichever it is not, or go on after a pause. \
               `resume` goes on at once. `pin` has the window you are in follow and no other, `unpin` takes \
               that back. See |acp-follow|.",
    },
    CommandSpec {
        name: "locations",
        about: "List the locations that the agent has visited",
        takes: "[turn | session] [quickfix | loclist | pick]",
        completion: Completion::AnyOf(&["turn", "session", "quickfix", "loclist", "pick"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "List the places that the agent has been at in this turn, or in the whole session: with the \
               line, when it was, and what was done. They go into the |quickfix| list, into the \
               |location-list| of a window for code, or you pick one and go there.",
    },
    CommandSpec {
        name: "keep",
        about: "Keep what the agent changed: the hunk at the cursor or in the range, or more",
        takes: "[which]",
        completion: Completion::OneOf(&["hunk", "file", "turn", "session", "all"]),
        range: true,
        bang: Bang::Yes,
        without_library: false,
        help: "Keep what the agent changed; see |acp-review|. Without [which] it is the change at the cursor \
               or the lines in [range], which may be a part of a change, and in the chat all that the tool call at the cursor did. [which] is \
               `hunk`, `file`, `turn` (what the last turn changed), `session` or `all`. About `all` you are asked first if \
               it is more than one change, with ! you are not: `:Acp keep! all`.",
    },
    CommandSpec {
        name: "undo",
        about: "Undo what the agent changed: the hunk at the cursor or in the range, or more",
        takes: "[which]",
        completion: Completion::OneOf(&["hunk", "file", "turn", "session", "all", "last"]),
        range: true,
        bang: Bang::Yes,
        without_library: false,
        help: "Undo what the agent changed, likewise; what you have kept at the cursor, too. `last` takes back your last \
               decision, whatever it was: changes that you kept are to be decided on again, and those that you undid are \
               back. One that |u| in the file took back doesn't count, and counts again where |u| or |CTRL-R| brought it \
               back. Where another turn has changed the same lines, as in a file that is new, `turn` asks first: changes \
               are undone as a whole. To go back to before one turn alone, use |:Acp-checkpoints|.",
    },
    CommandSpec {
        name: "checkpoints",
        about: "Restore files to their state before a turn or a tool call",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Choose a turn or one of its tool calls, see what would change if files were put back to how \
               they were before it, and do that; see |acp-checkpoints|.",
    },
    CommandSpec {
        name: "settle",
        about: "Resolve a file with conflicts, or one that was deleted or renamed",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Decide about the file in the window: lines that collide (|acp-conflicts|), or a file that was \
               deleted or renamed (|acp-gone|).",
    },
    CommandSpec {
        name: "blame",
        about: "Show which agent wrote the line at the cursor, and for which prompt",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Show which agent wrote the line at the cursor, in which turn, by which tool call and for which \
               prompt. It follows the lines through your edits, and knows what was written before Neovim was \
               started as far as the checkpoints record it (|acp-checkpoints|). It stands beside the line until the \
               cursor moves.",
    },
    CommandSpec {
        name: "review",
        about: "Review what agents changed in one buffer; with ! in the quickfix list",
        takes: "[what]",
        completion: Completion::OneOf(&["turn", "session", "file", "all", "quickfix"]),
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Open one buffer with all that is left to decide, file by file; its keys are in |acp-keys|. \
               [what] is `turn`, `session`, `file` or `all`, which is what it shows without one. With \
               `quickfix` or ! the list goes to the quickfix list instead. Your |acp-comments| stand \
               below the changes. Of a change with more than 1,000 removed or added lines, and of fewer once \
               the buffer is long, the rest is one line, on which <CR> goes to the first of them in the file; \
               to decide about the change is to decide about all of it. Where more than 50 files were changed, \
               those beyond that no buffer holds say `changed`, and list their hunks when they come on the screen.",
    },
    CommandSpec {
        name: "comment",
        about: "Write a comment on lines for the agent, or go on with it; with ! delete it",
        takes: "",
        completion: Completion::Nothing,
        range: true,
        bang: Bang::Yes,
        without_library: false,
        help: "Write a comment on the line at the cursor or on [range], in a small window; see |acp-comments|. On \
               a line with a comment, go on with that one. With ! delete it. Comments that were sent are gone from \
               the file: they stand in the chat, as the prompt that they were sent in.",
    },
    CommandSpec {
        name: "comments",
        about: "List your comments on lines, send them to the agent, or share them",
        takes: "[verb]",
        completion: Completion::OneOf(&["list", "send", "share", "clear"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Without [verb] or with `list`, put your comments into the |quickfix| list. `send` sends them to the \
               agent in one prompt, with paths and lines; drafts stay. `share` shows them as Markdown in a new \
               buffer. `clear` deletes all, after a question.",
    },
    CommandSpec {
        name: "diff",
        about: "Show a changed file beside its old version, or close that",
        takes: "[open | close | next | previous]",
        completion: Completion::OneOf(&["open", "close", "next", "previous"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Show the file at the cursor, or the first one with changes, beside what it was before agents \
               changed it, in |diff-mode|; once more puts that away, and the window shows again what it did. \
               `next` and `previous` go to the other files; see |acp-review|. The cursor stays in its window. \
               What you are asked about and have put away comes back with it, too.",
    },
    CommandSpec {
        name: "mode",
        about: "Choose the agent's mode; with ! for this project",
        takes: "[mode]",
        completion: Completion::Asked("mode"),
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Choose the agent's mode, for example whether it asks before each edit. Without [mode] you pick \
               one. Which modes there are is up to the agent. With a !, after the command or after [mode], new \
               sessions of the agent begin with it in this project; see |acp-remembered|.",
    },
    CommandSpec {
        name: "model",
        about: "Choose the agent's model; with ! for this project",
        takes: "[model]",
        completion: Completion::Asked("model"),
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Choose the model. Without [model] you pick one. With a !, as in `:Acp model opus!`, it is remembered \
               for this project; see |acp-remembered|.",
    },
    CommandSpec {
        name: "config",
        about: "Choose one of the agent's other options; with ! for this project",
        takes: "[option] [value]",
        completion: Completion::Asked("config"),
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Choose one of the other things that the agent lets you choose, such as how hard it thinks. \
               Without arguments you pick. With a !, after the command or after [value], it is remembered for \
               this project; see |acp-remembered|.",
    },
    CommandSpec {
        name: "remembered",
        about: "See or forget the modes, models and options remembered for projects",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "List what is remembered for projects, those of this one first; the one you pick is forgotten. See \
               |acp-remembered|.",
    },
    CommandSpec {
        name: "sessions",
        about: "Go to another session, or resume an earlier one",
        takes: "[number|words]",
        completion: Completion::Asked("sessions"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Pick a session: one of this Neovim, each with what it does, or an earlier one, those of this \
               project first; see |acp-record|. With words, only those in whose title or prompts all of them \
               are. With the number of a session of this Neovim, go there. An earlier one opens in a chat of \
               its own, with all that was said if the agent sends it again. Agents that run and can list \
               their sessions are asked for those of this folder; what they tell in time is in the list, and \
               one that takes longer has a line to ask it again. Of the first 20 that an agent lists, this list and those of |:Acp-archive| \
               and |:Acp-delete| say which the agent has open and which are gone, where it can tell that in a moment; that is \
               unstable in ACP.",
    },
    CommandSpec {
        name: "resume",
        about: "Resume the last session of this project",
        takes: "[agent]",
        completion: Completion::Asked("agents"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Take up the session of this project that was used last and is open neither here nor in \
               another Neovim, with [agent] the last one with that agent. Where the record has no end of its last \
               turn, the chat says \"Cut off\": Neovim, the session or its agent ended before, and the agent may \
               have done a part.",
    },
    CommandSpec {
        name: "fork",
        about: "Go on with the conversation twice: here, and in another chat",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Begin another chat that knows all that was said in this one, where the agent offers that; both go on apart \
               from there. It has the title of this one with \"(fork)\" behind it, a fork of a fork \"(fork 2)\". What stands in the transcript is copied. It begins at the end of the conversation: agents \
               know no earlier point to fork at, which is why |:Acp-edit-prompt| sends an earlier prompt again in a \
               session of its own.",
    },
    CommandSpec {
        name: "rename",
        about: "Give the session a name; with ! one of those in the list",
        takes: "[name]",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Give the session a name, in place of the agent's title for it; it is kept in the record \
               (|acp-record|), also of a session in which nothing was asked yet. An agent that takes names keeps \
               it, too, perhaps in a form of its own, so that other programs list the session under it. Without \
               [name] you are asked. With ! you pick the session from the list of |:Acp-sessions|, also one that is \
               not open; without a chat, you always do.",
    },
    CommandSpec {
        name: "export",
        about: "Export the conversation as Markdown; with ! overwrite an existing file",
        takes: "[file]",
        completion: Completion::File,
        range: true,
        bang: Bang::Yes,
        without_library: false,
        help: "Write the conversation down as Markdown: prompts, answers, thoughts, plans, tool calls with their \
               changes and output, what the agent asked and what came of it (but no values of forms), and how turns \
               ended, nothing folded. Without [file] into a new buffer in a tab page \
               of its own. With ! over a file that is there. With a [range] in the transcript, only the \
               entries in it. An agent's heading that reads like one of these gets a backslash, as does a \
               comment or a tag that would hide what follows.",
    },
    CommandSpec {
        name: "close",
        about: "End the session and close its chat",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "End the session and put its chat away; another session's chat takes its place. The agent ends with its last session. What the agent \
               has stored of it stays; see |:Acp-sessions|. A turn that runs is stopped, which you are told with how to \
               take the session up again.",
    },
    CommandSpec {
        name: "archive",
        about: "Put one of the stored sessions away; with ! bring one back",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Have the agent put one of its stored sessions away: |:Acp-sessions| leaves it out from then on. You pick it. \
               One that is open here ends with that, and its chat goes. `:Acp! archive` lists those that are archived, and \
               brings the one that you pick back. For agents that offer it; it is unstable in ACP.",
    },
    CommandSpec {
        name: "delete",
        about: "Delete one of the stored sessions",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Delete one of the sessions that the agent has stored, for good. You pick it and are asked once \
               more. Where the agent does not offer that, it is only what the plugin itself remembers of a \
               session; see |acp-record|.",
    },
    CommandSpec {
        name: "usage",
        about: "Show cost and tokens of the session, the day and the month",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Show what the session, this day and this month have cost, and how many tokens they took, by \
               agent; see |acp-usage|.",
    },
    CommandSpec {
        name: "terminals",
        about: "Go to the terminal of a command",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Go to the terminal of a command that an agent runs or has run. If there are several you pick \
               one: those that run come first.",
    },
    CommandSpec {
        name: "plan",
        about: "Show the agent's plan in a small window, or close it",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Pin the agent's newest plan in a small window above the chat, where it changes with the \
               agent's work; again, or `q` in there, takes it away. Where it does not fit, the window begins \
               with the step that is under way.",
    },
    CommandSpec {
        name: "paths",
        about: "See or revoke what agents may use outside their folders",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Show what agents may read and write outside of their sessions' folders; the one you pick is \
               taken back. See |acp-outside|.",
    },
    CommandSpec {
        name: "terminal",
        about: "Show, close or kill a command, or list the locations in its output",
        takes: "[verb]",
        completion: Completion::OneOf(&["open", "next", "previous", "close", "kill", "quickfix"]),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Does [verb] to the terminal that the cursor is in, or whose tool call it is on; else to the \
               only one there is, or to one that you pick. `close` and `quickfix` take the only one on the screen \
               before that.\n\
               open\tGoes there; this is the default.\n\
               next\tShows the next command in the window of terminals. A tab page has one such window; the line \
               above it says how the commands in it do.\n\
               previous\tShows the one before.\n\
               close\tCloses its windows. The command runs on.\n\
               kill\tEnds the command and all that it has started. Where none runs, it ends what |acp-left| \
               tells of.\n\
               quickfix\tPuts the places in files that its output names into the |quickfix| list: what \
               compilers, linters, tests and stack traces write as `file:line`, `file(line,column)` and the \
               like, as seen from the folder in which the command ran.",
    },
    CommandSpec {
        name: "login",
        about: "Log in to the agent",
        takes: "[method]",
        completion: Completion::Asked("login"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Log in to the agent, in the way [method] or in the one that you pick. The account and its keys \
               are between you and the agent. A way that needs a terminal opens one; when it ends well the \
               agent is started anew. Before that you see all of what would be run, and are asked: the agent has \
               chosen its arguments and variables, and with some, Copilot and Kimi for example, the program. \
               Variables that may change what it does stand first. Where an agent tells which account it uses, the question does, \
               too, and so do `:checkhealth acp` and |acp.status()|. A prompt that failed because you weren't logged in is sent again \
               by itself.",
    },
    CommandSpec {
        name: "logout",
        about: "Log out of the agent",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Log out of the agent, where it offers that.",
    },
    CommandSpec {
        name: "build",
        about: "Get the plugin's library for this system; with ! again",
        takes: "[release|cargo]",
        completion: Completion::OneOf(&["release", "cargo"]),
        range: false,
        bang: Bang::Yes,
        without_library: true,
        help: "Gets the plugin's library for this system, as |acp-library| says, and shows how far that is. \
               `release` takes a published one only, `cargo` builds it here. If an installation runs already, \
               it is shown. With `!` it is fetched or built again even if it is there. Restart Neovim \
               afterwards if the library was loaded before.",
    },
    CommandSpec {
        name: "restart",
        about: "Start the agent again",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "End the agent and start it again, in the same chat. What stands in the transcript stays. \
               Agents that can resume or load a session go on where they were; others do not remember it.",
    },
    CommandSpec {
        name: "stop",
        about: "End the agent and everything that it runs",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "End the agent and all that it has started. The chat stays readable.",
    },
    CommandSpec {
        name: "log",
        about: "Open the log",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Open the log. It holds the messages to and from agents, if |acp-config-log| is on.",
    },
    CommandSpec {
        name: "inspect",
        about: "Look at the messages between the client and agents",
        takes: "[agent]",
        completion: Completion::Asked("agents"),
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Look at the last messages that went to agents and came from them, live; see |acp-inspect|. With \
               [agent], at those of one.",
    },
    CommandSpec {
        name: "audit",
        about: "Look at the record of what agents asked for and did; with ! save it in a file",
        takes: "[words]",
        completion: Completion::File,
        range: false,
        bang: Bang::Apart(
            "Save the lines of the record, or those that pass the filter of the page, in a new file named by [words], \
             as they are: one JSON object a line.",
        ),
        without_library: false,
        help: "Look at the record: a line for each permission, file, command and tool call of agents, with who decided \
               it; see |acp-audit|. With [words], at the lines that they are in; see |acp-audit-filter|.",
    },
    CommandSpec {
        name: "permissions",
        about: "Look at the rules for what agents may do, or try them on a command or a file",
        takes: "[test command or file, or replay]",
        completion: Completion::File,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Look at the rules for what agents may do, and change or take back those that you made by an answer; \
               see |acp-rules|. With a command or a file, show which rule decides about it, and why: \
               `:Acp permissions test git push --force`, where `test` may be left out. With `replay`, show what today's rules would have made of what \
               agents asked for in this project so far, and which rules would have spared you the most questions; \
               see |acp-rules-replay|.",
    },
    CommandSpec {
        name: "record",
        about: "Save the last messages for a bug report, without names and secrets; with ! over a file",
        takes: "{file}",
        completion: Completion::File,
        range: false,
        bang: Bang::Yes,
        without_library: false,
        help: "Save the last messages to and from the agent in a {file}, fit for a bug report; see |acp-recordings|. \
               What is to be saved is shown first, and `:w` there saves it. With !, replace a {file} that exists.",
    },
    CommandSpec {
        name: "replay",
        about: "Play a recording into a new chat",
        takes: "{file} [speed]",
        completion: Completion::File,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Play a recording, such as `:Acp record` makes, into a new chat; see |acp-recordings|. [speed] is 2 for \
               twice as fast, `max` for no pauses, or `step` to play each message by a key.",
    },
    CommandSpec {
        name: "keys",
        about: "Show the chat's keys",
        takes: "",
        completion: Completion::Nothing,
        range: false,
        bang: Bang::No,
        without_library: false,
        help: "Show the keys that do something where you are. `g?` there shows all keys.",
    },
];
