//! The two closed enums that cross between the editor's thread and the background, and the plain
//! data inside them. No handle, no channel and no Lua value is in here, so any conversation can be
//! recorded, replayed, printed and compared.
//!
//! Facts ([`Event`]) are in the past tense and travel to the editor's thread; wishes ([`Command`])
//! are imperative and travel to the background.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::changes::TextEdit;
use crate::core::changeset::{FileReview, Written};
use crate::core::checkpoint::{self, Limits};
use crate::core::context::Lines;
use crate::core::diff::Placed;
use crate::core::locations::Look;
use crate::core::outside::{Allowed, Rules};
use crate::core::reconcile::{Reconciled, Sides};
use crate::core::record::{Kept, Wish};
use crate::core::text::Text;

/// One running agent process, numbered by the editor's thread. A restart gets a new number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentId(pub u32);

/// One session as this plugin knows it, numbered by the editor's thread before the agent has named
/// it. The agent's own `sessionId` is opaque and stays in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionKey(pub u32);

/// A question that waits for exactly one [`Answer`]; numbered by the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AskId(pub u64);

/// A piece of computing done in the background; numbered by the editor's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// The agent's `toolCallId`: opaque, unique within a turn only (some agents use them again).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ToolCallId(pub String);

/// One run of a command in a terminal, of this client's or of the agent's own. It is never used again,
/// unlike the names that agents give to their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TerminalId(pub String);

/// How to start an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The configured name, as in `:AcpChat {name}`.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    /// Added to Neovim's own environment.
    pub env: Vec<(String, String)>,
    /// The working folder of the process; absolute.
    pub cwd: PathBuf,
}

/// An MCP server passed on to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum McpServer {
    Stdio { name: String, command: PathBuf, args: Vec<String>, env: Vec<(String, String)> },
    Http { name: String, url: String, headers: Vec<(String, String)> },
    Sse { name: String, url: String, headers: Vec<(String, String)> },
}

/// Where a new session works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The session's root; absolute.
    pub cwd: PathBuf,
    /// Further roots; absolute, only sent where the agent takes them.
    pub additional: Vec<PathBuf>,
    pub mcp_servers: Vec<McpServer>,
}

/// How to take up a stored session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reopen {
    /// `session/load`: the agent sends all of it again, before it answers.
    Load,
    /// `session/resume`: the agent sends nothing of what was.
    Resume,
}

/// What the editor's thread wants of the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start the agent and initialize it. Answered by `Connected`, or `Exited`.
    Connect { agent: AgentId, launch: Launch },
    /// `session/new`. Answered by `Opened` or `OpenFailed`.
    Open { agent: AgentId, session: SessionKey, place: Place },
    /// Takes up a session that the agent has stored. Answered like `Open`.
    Load { agent: AgentId, session: SessionKey, place: Place, acp_id: String, how: Reopen },
    /// `session/list`, one page. Answered by `Listed`.
    List { agent: AgentId, cwd: Option<PathBuf>, cursor: Option<String> },
    /// `session/delete` of a stored session.
    Delete { agent: AgentId, acp_id: String },
    /// `session/close` where offered; the session is forgotten either way.
    Close { session: SessionKey },
    /// `session/prompt`. Answered by `TurnEnded`.
    Prompt { session: SessionKey, content: Vec<Content> },
    /// Steer the running turn (`_session/steering`), where the agent declared that it can be. Answered
    /// by `Steered`.
    Steer { session: SessionKey, content: Vec<Content> },
    /// `session/cancel`: also answers the session's open permission questions with `cancelled`.
    Cancel { session: SessionKey },
    /// The answer to an `Asked`; a second one for the same ask does nothing.
    Answer { ask: AskId, answer: Answer },
    /// `session/set_mode`.
    SetMode { session: SessionKey, mode: String },
    /// `session/set_model`, for agents without a model option.
    SetModel { session: SessionKey, model: String },
    /// `session/set_config_option`.
    SetOption { session: SessionKey, option: String, value: OptionValue },
    /// `authenticate` with a method of type agent.
    Login { agent: AgentId, method: String },
    /// `logout`.
    Logout { agent: AgentId },
    /// End a terminal's command (its whole process group); the terminal stays readable.
    Kill { session: SessionKey, terminal: TerminalId },
    /// The user typed into a terminal.
    Type { session: SessionKey, terminal: TerminalId, bytes: Vec<u8> },
    /// A terminal's window has this size now, in cells.
    Resize { session: SessionKey, terminal: TerminalId, rows: u16, columns: u16 },
    /// A file is loaded in a buffer from now on: reads and writes of it are asked of the editor.
    FileLoaded { path: PathBuf },
    /// No buffer holds the file any more: the background serves it from the disk.
    FileUnloaded { path: PathBuf },
    /// A session has to do with this file (an absolute path): when others change it, `FileChanged`
    /// says so. Those that it reads and writes through the client are watched without this.
    Watch { session: SessionKey, path: PathBuf },
    /// The session has nothing to do with the file any more. All end with the session.
    Unwatch { session: SessionKey, path: PathBuf },
    /// What agents may do outside of their sessions' folders; until this is told they may do nothing.
    Outside { rules: Rules },
    /// Answered by `Allowed`.
    ListAllowed,
    /// Take back what was allowed outside of the sessions' folders.
    Revoke { allowed: Allowed },
    /// The user serves these methods beyond the protocol, whose names begin with an underscore; those of
    /// an earlier one no longer count. The editor is asked for no others.
    Handle { requests: Vec<String>, notifications: Vec<String> },
    /// Put a file that no buffer holds back to a text, or remove it, unless it holds another one than is
    /// expected; without a last line break, `None` for no file. Answered by `Computed`.
    PutBack { job: JobId, path: PathBuf, expected: Option<String>, text: Option<String> },
    /// Compute something off the editor's thread. Answered by `Computed`.
    Compute { job: JobId, work: Work },
    /// Keep or recall what the plugin itself remembers of sessions, in this folder.
    Record { folder: PathBuf, wish: Wish },
    /// Keep or give back what files held before and after turns, in this folder.
    Checkpoint { folder: PathBuf, limits: Limits, wish: Box<checkpoint::Wish> },
    /// Look for files by a part of their names. Answered by `Found`; a newer search ends an older one.
    Find { search: JobId, root: PathBuf, query: String },
    /// The images that agents send are kept below this folder, which Neovims share.
    KeepImages { folder: PathBuf },
    /// Keep or give back what was typed. Done in the order in which it was asked for.
    Keep(Keep),
    /// End one agent and all that it runs.
    Disconnect { agent: AgentId },
    /// End everything: Neovim is leaving.
    Shutdown,
}

/// What happened in the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// The process runs; it is not initialized yet.
    Started {
        agent: AgentId,
        pid: u32,
    },
    Connected {
        agent: AgentId,
        info: Box<AgentInfo>,
    },
    Opened {
        session: SessionKey,
        opened: Box<Opened>,
    },
    OpenFailed {
        session: SessionKey,
        failure: Failure,
    },
    Listed {
        agent: AgentId,
        sessions: Vec<StoredSession>,
        next_cursor: Option<String>,
    },
    /// The agent changed something in a session, in a turn or outside of one.
    Updated {
        session: SessionKey,
        update: Update,
    },
    Asked {
        session: SessionKey,
        ask: AskId,
        question: Question,
    },
    /// The agent calls a method that the user serves. Wants an `Answer` as an `Asked` does.
    Called {
        agent: AgentId,
        /// The session that it names, if it is one of ours.
        session: Option<SessionKey>,
        ask: AskId,
        method: String,
        params: Value,
    },
    /// The agent sent a notification that the user listens to.
    Told {
        agent: AgentId,
        session: Option<SessionKey>,
        method: String,
        params: Value,
    },
    /// The question is over without the user: the agent took it back, or its turn or process ended.
    Withdrawn {
        session: SessionKey,
        ask: AskId,
    },
    TurnEnded {
        session: SessionKey,
        end: TurnEnd,
    },
    /// What became of a `Steer`, and of what for.
    Steered {
        session: SessionKey,
        content: Vec<Content>,
        outcome: Steering,
    },
    /// The agent took over a choice (mode, model, option).
    Chosen {
        session: SessionKey,
        chosen: Chosen,
    },
    /// A request of ours other than opening and prompting failed (`what` is fit for "couldn't …").
    RequestFailed {
        agent: AgentId,
        session: Option<SessionKey>,
        what: String,
        failure: Failure,
    },
    LoggedIn {
        agent: AgentId,
    },
    LoggedOut {
        agent: AgentId,
    },
    TerminalStarted {
        session: SessionKey,
        terminal: TerminalId,
        command: String,
        cwd: PathBuf,
        /// What the user types reaches the command; not so where the agent runs it itself.
        typing: bool,
    },
    /// New output, as raw as the program wrote it. `skipped` bytes before it were dropped because
    /// they came faster than anyone could read; the agent's own record is not concerned. Of that one,
    /// `cut` bytes are gone from the beginning by now.
    TerminalGrew {
        session: SessionKey,
        terminal: TerminalId,
        bytes: Vec<u8>,
        skipped: usize,
        cut: usize,
    },
    TerminalEnded {
        session: SessionKey,
        terminal: TerminalId,
        exit: Exit,
    },
    /// A file was read or written for the agent without the editor's help.
    FileServed {
        session: SessionKey,
        path: PathBuf,
        /// The same without links.
        resolved: PathBuf,
        access: Access,
        /// Of a write: there was no file before.
        created: bool,
        /// Of a write: the text before, unless there was no file, or too much or no text in it.
        before: Option<Text>,
        /// Of a write: the text after, unless it is too much to be passed around.
        after: Option<Text>,
    },
    /// The content of a file that a session has to do with is another one on the disk (the path's links
    /// are resolved). It was not written by this background; the editor itself may have saved it.
    FileChanged {
        path: PathBuf,
        kind: FileChange,
    },
    /// What agents may read and write outside of their sessions' folders.
    Allowed {
        allowed: Vec<Allowed>,
        /// What is wrong with the file in which it is kept.
        trouble: Option<String>,
    },
    /// What the user should know of a wish that belongs to no agent.
    Advised {
        severity: Severity,
        text: String,
    },
    /// Something a user should see that belongs to no entry: noise on stdout, a refused read.
    Noted {
        agent: AgentId,
        session: Option<SessionKey>,
        severity: Severity,
        text: String,
    },
    Computed {
        job: JobId,
        outcome: Outcome,
    },
    /// All that is remembered of sessions, the one used last first, or why it cannot be had.
    Recalled {
        job: JobId,
        kept: Result<Vec<Kept>, String>,
    },
    /// What became of a wish of the checkpoints'.
    Checkpointed {
        job: JobId,
        reply: checkpoint::Reply,
    },
    /// Nothing can be remembered of sessions; told once.
    RecordFailed {
        text: String,
    },
    /// The files that fit best, best first, relative to the root; folders end with a slash. `None` when
    /// a newer search came in between.
    Found {
        search: JobId,
        files: Option<Vec<String>>,
    },
    /// The prompts kept of a project, oldest first.
    PastPrompts {
        folder: PathBuf,
        prompts: Vec<String>,
    },
    /// What was typed and never sent in a Neovim that is gone; it is this one's from now on.
    Adopted {
        folder: PathBuf,
        drafts: Vec<Draft>,
    },
    /// What was typed could not be kept on the disk (`why` is fit for "couldn't keep your prompts: …").
    NotKept {
        why: String,
    },
    /// The agent could not be started or initialized, or its process ended. Nothing more comes.
    Exited {
        agent: AgentId,
        why: Ending,
    },
}

/// Why an agent is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Empty when the process simply ended; else what went wrong, fit for "couldn't start {name}: …".
    pub failure: Option<Failure>,
    pub exit: Option<Exit>,
    /// The last lines of the agent's stderr, oldest first.
    pub stderr: Vec<String>,
    /// The user asked for it.
    pub expected: bool,
}

/// How a process ended (`terminal/wait_for_exit`): either a code or the name of a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    pub code: Option<u32>,
    pub signal: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    Read,
    Wrote,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileChange {
    /// It has another content, or is there again.
    Changed,
    Gone,
    /// It is gone, and the same file has this name now.
    Renamed(PathBuf),
}

/// An error as a user may read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// Lowercase, no full stop, naming the thing.
    pub message: String,
    /// More for the log and for those who ask.
    pub details: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailureKind {
    /// The program could not be started.
    Spawn,
    /// The agent speaks another version of the protocol.
    Version,
    /// The agent frames its messages as a language server does.
    Framing,
    /// No answer within the time set for it.
    Timeout,
    /// -32000.
    AuthRequired,
    /// -32002.
    NotFound,
    /// -32800, or the user gave up waiting.
    Cancelled,
    /// The connection ended before the answer came.
    Disconnected,
    /// -32001 to -32099 with a reason such as `rate_limited`.
    Busy,
    /// Any other error of the agent.
    Agent,
    /// The agent's answer does not fit the protocol.
    Protocol,
}

/// What an agent said about itself in `initialize`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    pub name: Option<String>,
    pub title: Option<String>,
    pub version: Option<String>,
    pub can: Capabilities,
    pub auth_methods: Vec<AuthMethod>,
}

/// `agentCapabilities`, one flag per thing a user could want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    pub load: bool,
    pub resume: bool,
    pub list: bool,
    pub close: bool,
    pub delete: bool,
    pub additional_directories: bool,
    pub logout: bool,
    pub image: bool,
    pub audio: bool,
    pub embedded_context: bool,
    pub mcp_http: bool,
    pub mcp_sse: bool,
    pub steering: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthMethod {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    pub kind: AuthKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthKind {
    /// `authenticate` does it.
    Agent,
    /// The agent's own program, run in a terminal with these added.
    Terminal { args: Vec<String>, env: Vec<(String, String)> },
    /// A type that this client does not know; shown, never called.
    Unsupported(String),
}

/// What `session/new` and `session/load` answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The agent's own id, opaque; kept for load, resume and the log.
    pub acp_id: String,
    pub modes: Option<Modes>,
    pub models: Option<Models>,
    pub options: Vec<ConfigOption>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSession {
    pub acp_id: String,
    pub cwd: PathBuf,
    pub title: Option<String>,
    pub updated_at: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modes {
    pub current: String,
    pub available: Vec<Named>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Models {
    pub current: String,
    pub available: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigOption {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// `mode`, `model`, `thought_level`, … as the agent wrote it.
    pub category: Option<String>,
    pub kind: OptionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OptionKind {
    Select { current: String, groups: Vec<OptionGroup> },
    Toggle { current: bool },
}

/// `name` is empty for an ungrouped list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionGroup {
    pub name: String,
    pub values: Vec<Named>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OptionValue {
    Value(String),
    Toggle(bool),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Chosen {
    Mode(String),
    Model(String),
    /// The whole list, which replaces the old one.
    Options(Vec<ConfigOption>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    User,
    Agent,
    Thought,
}

/// One `session/update`, read tolerantly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Update {
    /// A chunk of a message. Chunks with the same `message` belong together.
    Message {
        role: Role,
        message: Option<String>,
        content: Content,
    },
    /// `tool_call` and `tool_call_update` alike: given fields replace, absent ones stay.
    ToolCall(Box<ToolCallPatch>),
    /// The whole plan.
    Plan(Vec<PlanItem>),
    /// The whole list of slash commands.
    Commands(Vec<SlashCommand>),
    Mode(String),
    Options(Vec<ConfigOption>),
    /// `None` leaves a field as it was, `Some(None)` clears it.
    Info {
        title: Option<Option<String>>,
        updated_at: Option<Option<String>>,
    },
    Usage {
        used: u64,
        size: u64,
        cost: Option<Cost>,
    },
    Notice {
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    Compaction {
        id: String,
        status: Option<String>,
        /// `None` leaves, `Some(None)` clears.
        summary: Option<Option<String>>,
        error: Option<Option<String>>,
    },
    CompactionSummary {
        id: String,
        text: String,
    },
    /// A kind this client does not know, or a known one too broken to read; it is in the log.
    Unknown {
        kind: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub amount: f64,
    /// ISO 4217 as the agent wrote it.
    pub currency: String,
}

/// A content block, ours or the agent's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    Text(String),
    Image {
        data: String,
        mime: String,
        uri: Option<String>,
    },
    Audio {
        data: String,
        mime: String,
    },
    Link {
        uri: String,
        name: String,
        title: Option<String>,
        mime: Option<String>,
        size: Option<u64>,
    },
    Resource {
        uri: String,
        mime: Option<String>,
        body: ResourceBody,
    },
    /// An image of the agent's, as the background has kept it.
    Picture(Box<Picture>),
    /// A type this client does not know, or a block too broken to read.
    Unknown {
        kind: String,
    },
}

/// What there is to know of an image without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// As people say it: `PNG`.
    pub format: String,
    /// Width and height in pixels.
    pub size: Option<(u32, u32)>,
    /// How much it takes.
    pub bytes: Option<u64>,
    pub place: PicturePlace,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PicturePlace {
    /// A file of this Neovim's, which is gone when the session is.
    File(PathBuf),
    /// A URI of the agent's.
    Link(String),
    /// It cannot be shown; why.
    Nowhere(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceBody {
    Text(String),
    /// Base64, as it came.
    Blob(String),
}

/// The fields of a tool call that one message carried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCallPatch {
    pub id: ToolCallId,
    pub title: Option<String>,
    /// The programmatic name of the tool.
    pub name: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<WireStatus>,
    pub content: Option<Vec<ToolContent>>,
    pub locations: Option<Vec<Location>>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
}

impl ToolCallPatch {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: ToolCallId(id.into()),
            title: None,
            name: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            raw_output: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

/// A tool call's status as the agent wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
    /// Any other word; `cancelled`, `denied` and `error` are seen in the field.
    Other(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolContent {
    Content(Content),
    Diff(FileDiff),
    Terminal(TerminalId),
}

/// A `diff` content item. `new_text` may be the whole file, the whole file without its last
/// newline, a fragment, or a hunk with context lines; nothing on the wire tells which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// As the agent wrote it; may be relative to the session's root.
    pub path: PathBuf,
    /// `None` for a new file.
    pub old_text: Option<Text>,
    pub new_text: Text,
}

/// A place in a file; `line` is 1-based.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Location {
    /// As the agent wrote it; may be relative to the session's root.
    pub path: PathBuf,
    pub line: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanItem {
    pub content: String,
    pub priority: Priority,
    pub status: PlanStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Priority {
    High,
    Medium,
    Low,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    pub hint: Option<String>,
}

/// What an agent asks of the editor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    Permission {
        call: Box<ToolCallPatch>,
        options: Vec<PermissionOption>,
    },
    /// `fs/read_text_file` of a file that a buffer holds; the path is absolute and inside the roots.
    /// `line` is 1-based.
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
    },
    /// `fs/write_text_file` of a file that a buffer holds.
    Write {
        path: PathBuf,
        content: Text,
    },
    /// A read or write outside of the session's folders. `path` is without links; an answer that counts
    /// for more than this once counts for `target`. Answered by a `core::outside::Choice`.
    Outside {
        path: PathBuf,
        target: PathBuf,
        access: Access,
    },
    /// `elicitation/create`.
    Form {
        message: String,
        schema: Value,
        call: Option<ToolCallId>,
    },
    Url {
        message: String,
        url: String,
        elicitation: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionOption {
    pub id: String,
    pub name: String,
    pub kind: PermissionKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    Other(String),
}

/// The editor's answer to a [`Question`]. One that does not fit its question is an internal error
/// to the agent, never silence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// A permission option's id.
    Selected(String),
    /// The turn was cancelled; also the answer to an elicitation that was closed.
    Cancelled,
    /// A read: the text asked for.
    Text(Text),
    /// A write is done.
    Done,
    /// A method beyond the protocol: its result.
    Returned(Value),
    /// A read, a write or such a method could not be done; the text goes to the agent.
    Refused(String),
    /// An elicitation's values.
    Accepted(Value),
    Declined,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEnd {
    Stopped { reason: StopReason, usage: Option<TurnUsage> },
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Steering {
    /// The running turn takes it in.
    Injected,
    /// The turn was over, so the agent works on it in a turn of its own, whose end it will not tell.
    StartedNewTurn,
    /// The agent does not have it; without a failure, because no turn ran any more.
    NotTaken(Option<Failure>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// Any other word, or none (empty).
    Other(String),
}

impl StopReason {
    /// As the protocol writes it.
    pub fn word(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Other(word) => word,
        }
    }
}

/// Token counts of one turn, where the agent says them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub total: u64,
    pub input: u64,
    pub output: u64,
}

/// Computing for the background; pure functions of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// The smallest edits that turn `old` into `new` (`core::changes`).
    Edits { old: String, new: String },
    /// Where the diffs of one file stand in its text (`core::diff`).
    Place { text: Text, diffs: Vec<FileDiff> },
    /// What the text of one file was before the diffs that are in it (`core::changeset`).
    Before { text: Text, diffs: Vec<FileDiff> },
    /// Take what was written into the review of its file (`core::changeset`), or into a new one.
    Review { file: Option<Box<FileReview>>, written: Written },
    /// What a prompt refers to, piece by piece. `images` says whether the agent takes them.
    Gather { wants: Vec<Want>, images: bool },
    /// Which of these paths are there.
    Exists { paths: Vec<PathBuf> },
    /// The places in files that a command names in its raw output (`core::places`).
    Places { output: Vec<u8>, cwd: PathBuf },
    /// What there is at a path, and which lines of it these diffs touch: those of the hunk that is nearest
    /// to a line, if there is one, else the first.
    Look { path: PathBuf, diffs: Vec<FileDiff>, near: Option<u32> },
    /// The clipboard's image, written to a new file in the folder.
    Paste { folder: PathBuf },
    /// What a file that a buffer holds is on the disk. `encoding` is the buffer's; a file that is still as
    /// `known` says is not read.
    Examine { path: PathBuf, encoding: String, known: Option<Stamp> },
    /// In what state a file is that was just read or written; no text is read.
    Stamp { path: PathBuf },
    /// What an agent is told of unsaved edits (`core::mention`).
    Mention(Vec<UnsavedText>),
    /// What becomes of a buffer whose file another side has written (`core::reconcile`).
    Reconcile(Box<Sides>),
}

/// A file with unsaved edits; without the texts where they are not known, or too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsavedText {
    /// As the session's user would write it.
    pub name: String,
    pub saved: Option<Text>,
    /// Lines joined by `\n`, without a last line break.
    pub ours: Option<Text>,
}

/// What tells one state of a file on the disk from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// When it was written: seconds and nanoseconds.
    pub written: (i64, i64),
    pub size: u64,
    /// Its number in the file system.
    pub inode: u64,
}

/// A file on the disk, as a buffer that holds it sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnDisk {
    /// As it was known to be.
    Same,
    Text {
        /// Decoded, without a byte order mark, line ends as they are.
        text: Text,
        bomb: bool,
        stamp: Stamp,
    },
    Gone,
    /// It cannot be read as text in the buffer's encoding; why.
    Unreadable(String),
}

/// One thing that a prompt refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// A file on the disk, or some of its lines. `name` is what the user wrote; if that was not surely
    /// meant as a file, nothing is said where there is none.
    File { name: String, path: PathBuf, lines: Option<Lines>, deliberate: bool },
    /// What `git diff` says there.
    Diff { root: PathBuf },
    /// What the editor's thread has found already.
    Ready(Gathered),
}

/// What became of a [`Want`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gathered {
    Content(Content),
    /// There is no such thing; the reference stays text. Why, as a sentence for the user, if they are to
    /// know.
    Nothing(Option<String>),
    /// It can't be sent, so the prompt isn't either. Fit for "couldn't send the prompt: …".
    Refused(String),
}

/// What to do with what was typed. The folder is the project's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// Add to the prompts of before.
    Prompt { folder: PathBuf, text: String },
    /// Answered by `PastPrompts`.
    Recall { folder: PathBuf },
    /// All that is typed and not sent in this Neovim, in place of what was said last.
    Drafts { folder: PathBuf, drafts: Vec<Draft> },
    /// Take over what Neovims that are gone have left. Answered by `Adopted`.
    Adopt { folder: PathBuf },
}

/// A prompt that was typed and not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub text: String,
    pub agent: String,
    /// The agent's own id of the session.
    pub session: Option<String>,
    /// Milliseconds since 1970.
    pub at: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Edits(Vec<TextEdit>),
    Placed(Vec<Placed>),
    Before(Text),
    Examined(OnDisk),
    Stamped(Option<Stamp>),
    Mention(String),
    Reconciled(Box<Reconciled>),
    Reviewed(Box<FileReview>),
    /// Else why not, fit for "couldn't undo ..: ".
    PutBack(Result<(), String>),
    /// In the order of the wants.
    Gathered(Vec<Gathered>),
    Exists(Vec<bool>),
    /// The file, or why there is none (fit for "couldn't paste an image: …").
    Pasted(Result<PathBuf, String>),
    Looked(Look),
    /// Of these, only places in files that are there.
    Places(Vec<crate::core::places::Place>),
}
