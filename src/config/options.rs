//! Every option once: its name, its type in the code, its default, what it takes, and what it does. From this are made
//! the structs, their defaults, their reader, the help's list and the types for the language server; a new option is
//! one entry here. What may be written for an option is in [`kinds`], its words are in [`words`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::keys::Keys;
use super::kinds::*;
use super::read::Table;
use super::sandbox::SandboxOptions;
use super::spec::{GroupSpec, OptionSpec};
use super::values::{Log, Size};
use super::words::*;
use crate::core::message::remote::Address;
use crate::core::message::{Dialect, McpServer, ToolsTransport};
use crate::core::rules::Rule;

/// Every option, in the help's order.
pub fn all() -> impl Iterator<Item = &'static OptionSpec> {
    GROUPS.iter().flat_map(|group| group.options)
}

const AGENTS: Kind<BTreeMap<String, AgentOptions>> =
    by_name("table of agents by name", "table<string, acp.AgentOptions>");

const PROJECTS: Kind<BTreeMap<PathBuf, ProjectOptions>> =
    by_folder("table by folder", "table<string, acp.ProjectOptions>");

const FOLLOW: Kind<FollowOptions> =
    kind("boolean or table", "boolean|acp.FollowOptions", FollowOptions::of, |follow| {
        follow.enabled.to_string()
    });

/// `field: type = default, kind, about;` is read into a field; `+ name, kind, about;` by hand, see `own_tables`;
/// `=> field: struct;` is a table of its own.
macro_rules! options {
    ($(
        $(#[$attribute:meta])*
        pub struct $name:ident in $prefix:literal {
            $($field:ident: $type:ty = $default:expr, $kind:expr, $about:literal;)*
            $(+ $beside:ident, $takes:expr, $how:literal;)*
            $(=> $group:ident: $options:ident;)*
        }
    )*) => {
        $(
            $(#[$attribute])*
            pub struct $name {
                $(#[doc = $about] pub $field: $type,)*
                $(pub $group: $options,)*
            }

            impl Default for $name {
                fn default() -> Self {
                    Self { $($field: $default,)* $($group: $options::default(),)* }
                }
            }

            impl $name {
                pub(super) const GROUP: GroupSpec = GroupSpec {
                    prefix: $prefix,
                    name: stringify!($name),
                    options: &[
                        $(OptionSpec {
                            key: concat!($prefix, stringify!($field)),
                            takes: $kind.takes,
                            default: || ($kind.shown)(&$default),
                            about: $about,
                        },)*
                        $(OptionSpec {
                            key: concat!($prefix, stringify!($beside)),
                            takes: $takes.takes,
                            default: || "nil".to_owned(),
                            about: $how,
                        },)*
                    ],
                    groups: &[$((stringify!($group), stringify!($options)),)*],
                };

                /// Takes what the table gives; what is absent or wrong keeps its default.
                pub(super) fn read(&mut self, table: &Table<'_>) {
                    $(table.set(stringify!($field), &mut self.$field, $kind.read);)*
                    $(
                        if let Some(group) = table.group(stringify!($group), &$options::GROUP) {
                            self.$group.read(&group);
                            group.close();
                        }
                    )*
                }
            }
        )*

        /// Every table of options, the one that `setup()` takes first.
        pub const GROUPS: &[GroupSpec] = &[$($name::GROUP,)*];
    };
}

options! {
    /// What the user has set, and the defaults for the rest.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config in "" {
        agents: BTreeMap<String, AgentOptions> = BTreeMap::new(), AGENTS,
            "The agents that you configure. Those in |acp-agents| need no entry; an entry with the name of one \
             of them changes only what it gives.";
        default_agent: Option<String> = None, STRING,
            "The agent that |:AcpChat| starts when it is given none. Without it you are asked, unless only one, \
             beside the demo, is ready.";
        icons: bool = true, BOOLEAN,
            "Marks such as a tick for a tool call that is done. `false` writes `[x]` instead; nothing is said by \
             an icon alone.";
        timestamps: bool = false, BOOLEAN,
            "Whether the transcript shows the times of your prompts and of the ends of turns. A prompt of a session \
             that was loaded has one if its agent says when it was sent.";
        follow: FollowOptions = FollowOptions::default(), FOLLOW,
            "Whether agents are followed; see |acp-follow|. A table sets more than that: `follow = { enabled = \
             true, resume_after = 10 }`.";
        keys: Keys = Keys::default(), KEY_OPTIONS,
            "Other keys for the chat, by the names in |acp-keys|: a string, a list of strings, or `false` for \
             none.";
        mcp_servers: Vec<McpServer> = Vec::new(), SERVERS,
            "MCP servers that every session gets, written as in ACP: `{ name, command, args, env }`, or `{ type \
             = \"http\", name, url, headers }`.";
        tools: bool = true, BOOLEAN,
            "Whether agents may ask Neovim what it knows: language servers, diagnostics, open files; see |acp-tools|.";
        tools_denied: Option<Vec<String>> = None, STRINGS,
            "Tools of |acp-tools|, by their names, that no agent is given.";
        tools_transport: ToolsTransport = ToolsTransport::Stdio, ToolsTransport::KIND,
            "How agents reach |acp-tools|: by a small program that each of them starts, by `\"http\"` on this machine's own \
             address, or by `\"acp\"` on the connection that there is anyway. An agent that can't starts the program. See \
             |acp-tools-transport|.";
        additional_directories: Vec<PathBuf> = Vec::new(), PATHS,
            "Folders beside the session's root that agents may work in. A relative one is meant from the root.";
        projects: BTreeMap<PathBuf, ProjectOptions> = BTreeMap::new(), PROJECTS,
            "What single projects have beside what all have, by their folders: `[\"~/src/shop\"] = { .. }` \
             counts for sessions in that folder and below it.";
        log: Log = Log::Off, LOG,
            "Whether the messages to and from agents are written to the log, or to the file named here. They \
             hold your prompts and your code; secrets are left out as far as they can be told.";
        notify: bool = true, BOOLEAN,
            "Tell you with |vim.notify()| that a chat you do not see waits for you, is done, or has failed. As \
             long as that function is Neovim's own, messages never have it wait for a key: they are cut to what \
             fits and stand whole in |:messages|, and over the text while you type.";
        bell: bool = false, BOOLEAN,
            "Whether to ring the terminal's bell as well.";
        record: bool = true, BOOLEAN,
            "Whether the plugin remembers your sessions, so that |:Acp-sessions| finds them later; see \
             |acp-record|.";
        audit: bool = true, BOOLEAN,
            "Whether it is recorded what agents ask for and do, and who decided it, so that |:Acp-audit| can show it; \
             see |acp-audit|.";
        login_commands: bool = false, BOOLEAN,
            "Whether agents are told that they may name a program of their own for |:Acp-login|, which is not in ACP \
             itself. Some name one only then. You are asked before one is run, in any case.";
        => registry: RegistryOptions;
        => window: WindowOptions;
        => prompt: PromptOptions;
        => permission: PermissionOptions;
        => auto: AutoOptions;
        => limits: LimitOptions;
        => chat: ChatOptions;
        => terminal: TerminalOptions;
        => diff: DiffOptions;
        => files: FilesOptions;
        => checkpoints: CheckpointOptions;
        => timeouts: TimeoutOptions;
        => recovery: RecoveryOptions;
    }

    /// One entry of `agents`. What is `None` comes from the preset of that name.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AgentOptions in "agents.{name}." {
        command: Option<String> = None, PROGRAM,
            "The program to start: a name that is found in $PATH, or a path; or a list of it and its arguments. Needed \
             unless {name} is one of |acp-agents|, whose own program and arguments it replaces both: with \
             `command = \"/opt/gemini\"` alone, Gemini gets no `--acp`. A message says so when it starts.";
        args: Option<Vec<String>> = None, STRINGS,
            "The program's arguments, in place of a known agent's own. `args = {}` is none.";
        env: Vec<(String, String)> = Vec::new(), PAIRS,
            "Environment variables for the agent, added to Neovim's own.";
        cwd: Option<PathBuf> = None, PATH,
            "The folder that the program is started in; without it, the session's root. The session's root \
             itself is not changed by it.";
        url: Option<Address> = None, URL,
            "Where the agent is, if it runs elsewhere already: `wss://` or `https://`, and on this machine also `ws://` \
             or `http://`. Stands in place of `command`; see |acp-remote|.";
        headers: Vec<(String, String)> = Vec::new(), HEADERS,
            "What every request to the `url` says of you. A value may be `\"cmd:pass show acp\"`, `\"env:NAME\"` or \
             `\"file:~/.secret\"`; see |acp-remote|.";
        paths: Vec<(String, String)> = Vec::new(), FOLDERS,
            "What the agent's machine calls folders of this one: `[\"/remote/src\"] = \"~/src\"`; see \
             |acp-elsewhere|.";
        files: bool = true, BOOLEAN,
            "Whether the agent may read and write files through Neovim. `false` if it should use its own machine's.";
        terminals: bool = true, BOOLEAN,
            "Whether the agent may run commands in terminals here. `false` if it should run them on its own machine.";
        sandbox: Option<SandboxOptions> = None, SANDBOX,
            "What the agent and the commands that it runs can reach: with `\"project\"`, of your files only those of the \
             session's folders and what the agent needs itself. The kernel holds them to it. See |acp-sandbox|.";
        title: Option<String> = None, STRING,
            "The name shown to you, in place of what the agent calls itself.";
        mcp_servers: Option<Vec<McpServer>> = None, OWN_SERVERS,
            "MCP servers for this agent, in place of |acp-config-mcp_servers|.";
        tools: Option<bool> = None, CHOICE,
            "Whether this agent is given |acp-tools|, in place of |acp-config-tools|.";
        tools_denied: Option<Vec<String>> = None, STRINGS,
            "Tools that this agent is not given, in addition to |acp-config-tools_denied|.";
        tools_transport: Option<ToolsTransport> = None, TOOLS_TRANSPORT,
            "How this agent reaches |acp-tools|, in place of |acp-config-tools_transport|.";
        dialect: Option<Dialect> = None, DIALECT,
            "What the agent speaks: the Agent Client Protocol, or the dialect of it in |acp-dialect|.";
        protocol: Option<Dialect> = None, PROTOCOL,
            "The version of the protocol that the agent is asked for. Version 2 is a draft; an agent that has only the first \
             is spoken to in that. See |acp-protocol|.";
        enabled: bool = true, BOOLEAN,
            "Whether the agent is offered. `false` hides one of |acp-agents|.";
        follow: Option<bool> = None, CHOICE,
            "Whether this agent is followed, in place of |acp-config-follow|.";
        mode: Option<String> = None, STRING,
            "The mode that new sessions begin in, by its id or its name; see |:Acp-mode|. What the agent doesn't have \
             is said in the chat. Sessions that are resumed stay as they were.";
        system_prompt: Option<String> = None, STRING,
            "Instructions for the agent that count for each of its sessions; see |acp-system-prompt|.";
        system_prompt_mode: PromptMode = PromptMode::Append, PromptMode::KIND,
            "Whether they are added to the agent's own instructions, or take their place where the agent offers that.";
        model: Option<String> = None, STRING,
            "The same for the model; see |:Acp-model|.";
        effort: Option<String> = None, STRING,
            "The same for how much the model thinks, where the agent offers a choice.";
        options: Vec<(String, String)> = Vec::new(), VALUES,
            "The same for other options, by id, name or category; as in \
             `options = { thought_level = \"high\" }`; see |:Acp-config|.";
        + cmd, STRINGS,
            "Another name for `command` as a list.";
    }

    /// Where the registry of agents is.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct RegistryOptions in "registry." {
        url: String = REGISTRY.to_owned(), ADDRESS,
            "Where |:Acp-agents| fetches the registry of agents from when you ask it to.";
    }

    /// The chat's windows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WindowOptions in "window." {
        layout: Layout = Layout::Right, Layout::KIND,
            "Where the chat opens: along an edge of the editor, floating, in a tab page of its own, or in the \
             current window. A chat that floats is hidden when you go to a window that it covers; |:AcpChat| shows it \
             again.";
        width: Option<Size> = None, OWN_SIZE,
            "The chat's width at the right, at the left and floating: columns, or a share of the editor's. Where \
             it is not given, half of it at an edge; floating, 100 columns, or as many as there are.";
        height: Option<Size> = None, OWN_SIZE,
            "The chat's height at the bottom, at the top and floating: lines, or a share of the editor's. Where \
             it is not given, half of it at an edge; floating, 80%, and at least 24 lines where there are as \
             many.";
        prompt_height: u16 = 5, NUMBER,
            "The height of the prompt's window, in lines. It grows with its text.";
    }

    /// Typing a prompt.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PromptOptions in "prompt." {
        complete: Complete = Complete::Auto, Complete::KIND,
            "Whether completion opens by itself when you type `@`, or `/` at the start of a prompt. `\"auto\"` \
             leaves it to blink.cmp or nvim-cmp where one of them is loaded, and gives it the plugin's source; see |acp-completion|.";
        suggestions: bool = true, BOOLEAN,
            "Whether an empty prompt shows in grey what the agent suggests to say next; see |acp-suggestions|.";
    }

    /// Whether agents are followed: `true` alone, or a table.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FollowOptions in "follow." {
        enabled: bool = false, BOOLEAN,
            "The same as `follow` as a boolean.";
        resume_after: Duration = Duration::from_secs(5), SECONDS,
            "How long following pauses after you have done something in the window that follows.";
        + window, FUNCTION,
            "Called with each place before it is shown, with what |AcpLocation| has in it. Returns the window to \
             show it in, `false` not to show it, or nothing.";
    }

    /// Questions of agents.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PermissionOptions in "permission." {
        open: OpenQuestions = OpenQuestions::Auto, OpenQuestions::KIND,
            "When an agent's question opens by itself: `\"auto\"` not while you type, `\"always\"` at once \
             wherever you are, `\"never\"` not at all; see |acp-permission|. In any case the chat and a \
             notification tell of it.";
        rules: Vec<Rule> = Vec::new(), RULES,
            "What is allowed, asked or rejected without asking you; see |acp-rules|.";
        sets: Vec<String> = Vec::new(), SETS,
            "Ready sets of rules: `\"read-only\"` and `\"tests\"`; what is in them is in |acp-rules-sets|.";
    }

    /// Sessions that are left alone.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AutoOptions in "auto." {
        questions: AutoQuestions = AutoQuestions::Wait, AutoQuestions::KIND,
            "What becomes of what rules leave open while |:Acp-auto| is on: it waits in the chat for you to come back, \
             or it is rejected, so that the agent goes on without it.";
        reason: Option<String> = None, STRING,
            "What is said of what is rejected so, in the chat and in the record.";
    }

    /// What agents may use up before you are asked.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct LimitOptions in "limits." {
        => turn: TurnLimits;
        => session: SessionLimits;
    }

    /// In a turn.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TurnLimits in "limits.turn." {
        time: Option<Duration> = None, TIME_LIMIT,
            "For how long an agent may work in a turn before you are asked whether it goes on, your time to answer not \
             counted; see |acp-limits|.";
        cost: Option<f64> = None, COST_LIMIT,
            "The same for what the turn costs, where the agent tells, in the currency that it tells.";
        commands: Option<usize> = None, COUNT_LIMIT,
            "The same for the commands that it runs.";
        files: Option<usize> = None, COUNT_LIMIT,
            "The same for the files that it changes.";
        lines: Option<usize> = None, COUNT_LIMIT,
            "The same for the lines that it changes.";
    }

    /// In a session.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SessionLimits in "limits.session." {
        time: Option<Duration> = None, TIME_LIMIT,
            "As |acp-config-limits.turn.time|, for all turns of a session together.";
        cost: Option<f64> = None, COST_LIMIT,
            "The same for what the session costs.";
        commands: Option<usize> = None, COUNT_LIMIT,
            "The same for the commands that it runs.";
        files: Option<usize> = None, COUNT_LIMIT,
            "The same for the files that it changes.";
        lines: Option<usize> = None, COUNT_LIMIT,
            "The same for the lines that it changes.";
    }

    /// What the chat shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ChatOptions in "chat." {
        images: Images = Images::Auto, Images::KIND,
            "How images that agents send show in the chat: in place where something can draw them, or as a line \
             only; see |acp-images|.";
    }

    /// Commands that agents run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TerminalOptions in "terminal." {
        auto_open: AutoOpen = AutoOpen::Long, AutoOpen::KIND,
            "Whether a command that an agent runs opens in a window by itself: each one, one that still runs \
             after a second, or none. The cursor stays where it is.";
        position: Position = Position::Bottom, Position::KIND,
            "Where terminals open.";
        size: Size = Size::Cells(12), SIZE,
            "The height of terminals at the bottom or top in lines, their width at the sides in columns, or a \
             share of the editor's.";
        auto_close: AutoClose = AutoClose::Success, AutoClose::KIND,
            "Whether a window that has opened by itself closes by itself once its command has ended well. Not \
             while the cursor is in it.";
        input: bool = true, BOOLEAN,
            "Whether what you type in a terminal reaches the command.";
        enabled: bool = true, BOOLEAN,
            "Whether agents may run commands in Neovim's terminals. If not, they are told when they start, and run \
             them by themselves, or not at all.";
        limit: u16 = 32, NUMBER,
            "How many commands may run at the same time. An agent that asks for more is told so.";
        timeout: Option<Duration> = None, SECONDS_OR_NEVER,
            "How long a command may run. One that takes longer is killed, and its output says why.";
        output_limit: usize = 1 << 20, BYTES,
            "How much of a command's output, its end, is kept for the agent. It may ask for less.";
    }

    /// Changes that agents made.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DiffOptions in "diff." {
        style: DiffStyle = DiffStyle::Inline, DiffStyle::KIND,
            "How changes show in the files themselves: removed lines as virtual text above the new ones; what is \
             proposed in a window of its own beside the file, in diff mode; or not at all. See |acp-diff| and \
             |:Acp-diff|.";
        stay: Stay = Stay::Decided, Stay::KIND,
            "How long changes that you have neither kept nor undone stay marked: until you do, until your next \
             prompt in the session, or until the turn is over. They count as kept then.";
        persist: bool = true, BOOLEAN,
            "Keep undecided changes and comments on the disk, so that they outlive Neovim; see |acp-undecided|.";
        tell_undone: bool = true, BOOLEAN,
            "Tell the agent with your next prompt which of its changes you undid; the chat shows it with the \
             prompt.";
    }

    /// Files that agents read and write.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FilesOptions in "files." {
        conflict: OnConflict = OnConflict::Ask, OnConflict::KIND,
            "What happens to lines that you and the agent changed both: you are asked, the agent is told to read \
             the file again, or both stand in the file between conflict markers. See |acp-conflicts|.";
        save: Save = Save::Clean, Save::KIND,
            "Which buffers are saved after an agent wrote into them: those without unsaved edits of yours, or \
             all.";
        format_on_save: bool = false, BOOLEAN,
            "Whether autocommands may change what an agent wrote when it is saved (|BufWritePre|), as formatters \
             do.";
        unsaved: Unsaved = Unsaved::Mention, Unsaved::KIND,
            "What happens to unsaved edits in the session's folders before a prompt is sent: the agent is told \
             of them, the buffers are saved, or nothing. See |acp-unsaved|.";
        reads: bool = true, BOOLEAN,
            "Whether agents may read files through Neovim. If not, they are told when they start, and read from the \
             disk by themselves: without your unsaved edits.";
        writes: bool = true, BOOLEAN,
            "The same for writing: then they write to the disk by themselves, past your unsaved edits.";
        outside: OutsideFiles = OutsideFiles::Ask, OutsideFiles::KIND,
            "What becomes of an agent's request to read or write a file outside of its session's folders: you are \
             asked, or it is refused; see |acp-outside|.";
        => allowed: AllowedPaths;
    }

    /// What agents may use outside of their folders without asking; absolute, with all that is in it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AllowedPaths in "files.allowed." {
        read: Vec<PathBuf> = Vec::new(), ABSOLUTE_PATHS,
            "Folders and files outside of the session's folders that agents may read without asking. They are \
             absolute, or begin with `~/`.";
        write: Vec<PathBuf> = Vec::new(), ABSOLUTE_PATHS,
            "The same for writing. Neither list includes the other.";
    }

    /// Whether and for how long it is saved what files held before turns.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CheckpointOptions in "checkpoints." {
        enabled: bool = true, BOOLEAN,
            "Whether to save what files held before and after each turn, so that |:Acp-checkpoints| can put them \
             back.";
        days: u16 = 30, NUMBER,
            "How many days to keep them.";
        size: u16 = 200, NUMBER,
            "The most to keep, in MiB, for all projects together; beyond that, the oldest are deleted.";
    }

    /// How long is waited.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TimeoutOptions in "timeouts." {
        initialize: Duration = Duration::from_secs(300), SECONDS,
            "How long an agent may take to start. The first start of one that is downloaded takes long.";
        request: Duration = Duration::from_secs(30), SECONDS,
            "How long an agent may take to change a mode, a model or an option, and to list, delete or close \
             sessions. One that loads a session may be silent for as long as a start may take.";
    }

    /// What is done without a key when something goes wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RecoveryOptions in "recovery." {
        again: bool = true, BOOLEAN,
            "Whether to send a prompt again that an agent did not begin to work on, because it was limited in rate, \
             ran out of time or had an internal error; see |acp-recovery|.";
        reconnect: bool = true, BOOLEAN,
            "Whether to start an agent again that ended while no turn ran, where it can go on with its session.";
        longest: Duration = Duration::from_secs(600), SECONDS,
            "No longer is waited for an agent that asks to be left alone; beyond that, it is for you to send again.";
    }

    /// What one project, and all below its folder, has beside what all have.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ProjectOptions in "projects.{folder}." {
        mcp_servers: Vec<McpServer> = Vec::new(), SERVERS,
            "MCP servers for the project, in addition to those of every session or of the agent.";
        tools: Option<bool> = None, CHOICE,
            "Whether agents are given |acp-tools| in the project, whatever is said elsewhere.";
        tools_denied: Option<Vec<String>> = None, STRINGS,
            "Tools that no agent is given in the project, in addition to those denied elsewhere.";
        additional_directories: Vec<PathBuf> = Vec::new(), PATHS,
            "Folders that agents may work in, in addition to the project's root.";
        system_prompt: Option<PathBuf> = None, PATH,
            "A file, in the project's folder if the path is relative, with instructions for agents; see \
             |acp-system-prompt|.";
    }
}

/// The official registry.
const REGISTRY: &str = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json";
