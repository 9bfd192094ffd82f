//! The two closed enums that cross between the editor's thread and the background, and the plain data
//! inside them. They contain no handles, channels or Lua values, so any conversation can be recorded,
//! replayed, printed and compared.
//!
//! Facts ([`Event`]) are in the past tense and travel to the editor's thread; requests ([`Command`]) are
//! imperative and travel to the background.

pub mod again;
pub mod agent;
pub mod call;
pub mod choices;
pub mod content;
pub mod files;
pub mod hold;
pub mod image;
pub mod launch;
pub mod login;
mod nullable;
pub mod prompts;
pub mod question;
pub mod remote;
#[cfg(test)]
mod replay_tests;
pub mod rules_news;
mod size;
pub mod spent;
pub mod subagent;
pub mod tools;
pub mod turn;
pub mod update;
pub mod work;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::core::audit;
use crate::core::ids::{AgentId, AskId, JobId, SessionKey, SubagentId, TerminalId, ToolRunId};
use crate::core::inspector;
use crate::core::rules::unasked::UnaskedActions;
use crate::core::store::allowlist::{Allowed, Rules};
use crate::core::store::checkpoint::{self, Limits};
use crate::core::store::record::{Kept, RecordRequest};
use crate::core::store::{registry, remembered, undecided, usage};
use crate::core::terminal::last_lines::LastLines;
use crate::core::text::Text;

pub use again::Again;
pub use agent::{
    AgentInfo, AuthKind, AuthMethod, Capabilities, Ending, Exit, Failure, FailureKind, Opened, Skipped,
    StoredSession, StoredState,
};
pub use call::{FileDiff, Location, ToolCallPatch, ToolContent, ToolKind, WireStatus};
pub use choices::{Chosen, ConfigOption, Models, Modes, Named, OptionGroup, OptionKind, OptionValue};
pub use content::{Content, Picture, PicturePlace, ResourceBody, SESSION_URI};
pub use files::{
    Access, Activity, Cause, ChangedFile, FileChange, HalfWritten, OnDisk, PutBack, Stamp, UnsavedText,
};
pub use hold::{Ceiling, Hold, Measure, Span};
pub use launch::{
    Beginning, Dialect, EditorTools, Launch, McpServer, Network, Place, Reopen, Sandbox, SystemPrompt,
    ToolsTransport,
};
pub use login::AuthStatus;
pub use prompts::{Draft, Gathered, Keep, Want};
pub use question::{Answer, AskReason, PermissionKind, PermissionOption, Question, RuledBy};
pub use remote::Remote;
pub use rules_news::RulesNews;
pub use subagent::{Branch, SessionMessage, SubagentPatch, SubagentState};
pub use tools::{ToolAnswer, ToolSpec};
pub use turn::{Counts, LeftCommand, Steering, StopReason, Tokens, TurnEnd, TurnUsage};
pub use update::{
    Cost, Limit, LimitStatus, PlanContent, PlanItem, PlanStatus, Priority, Replayed, Role, Severity,
    SlashCommand, Update,
};
pub use work::{Outcome, Work};

/// When the user began something, in milliseconds since 1970 began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserBegan {
    pub at: u64,
    /// The same by the clock that files have their times from.
    pub by_files: u64,
}

/// What the editor's thread wants of the background.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// Start the agent and initialize it. Answered by `Connected`, or `Exited`.
    Connect { agent: AgentId, launch: Box<Launch> },
    /// `session/new`. Answered by `Opened` or `OpenFailed`.
    Open { agent: AgentId, session: SessionKey, place: Place },
    /// Takes up a session that the agent has stored. Answered like `Open`.
    Load { agent: AgentId, session: SessionKey, place: Place, acp_id: String, how: Reopen },
    /// `session/list`, one page. Answered by `Listed`.
    /// With `archived` it is of those that are archived, and of the others without.
    List { agent: AgentId, cwd: Option<PathBuf>, cursor: Option<String>, archived: bool },
    /// `session/archive` of a stored session, or `session/unarchive`.
    Archive { agent: AgentId, acp_id: String, archived: bool },
    /// `session/status` of stored sessions, for agents that offer it. Answered by a `StatusTold` for each.
    AskStatus { agent: AgentId, acp_ids: Vec<String> },
    /// `session/delete` of a stored session.
    Delete { agent: AgentId, acp_id: String },
    /// The user has Neovim do something that may change files.
    UserBegan(UserBegan),
    /// It is done.
    UserEnded,
    /// `session/close` where offered; the session is forgotten either way.
    Close { session: SessionKey },
    /// The same of a session that is forgotten already: its agent wanted a login first.
    CloseStored { agent: AgentId, acp_id: String },
    /// `session/prompt`. Answered by `TurnEnded`.
    Prompt { session: SessionKey, content: Vec<Content> },
    /// Steer the running turn (`_session/steering`), where the agent declared that it can be. Answered
    /// by `Steered`.
    Steer { session: SessionKey, content: Vec<Content> },
    /// `session/cancel`: also answers the session's open permission questions with `cancelled`, but for those of
    /// its subagents.
    Cancel { session: SessionKey },
    /// The same for one subagent, where that offers it.
    CancelSubagent { session: SessionKey, subagent: SubagentId },
    /// The answer to an `Asked`; a second one for the same ask does nothing.
    Answer { ask: AskId, answer: Answer },
    /// `session/set_mode`.
    SetMode { session: SessionKey, mode: String },
    /// `session/set_model`, for agents without a model option.
    SetModel { session: SessionKey, model: String },
    /// `session/set_title`, for agents that take one. Answered by `TitleKept`.
    SetTitle { session: SessionKey, title: String },
    /// The same of a session that is not open. Answered by `StoredTitleKept`.
    SetStoredTitle { agent: AgentId, acp_id: String, title: String },
    /// `session/set_config_option`.
    SetOption { session: SessionKey, option: String, value: OptionValue },
    /// `authenticate` with a method of type agent.
    Login { agent: AgentId, method: String },
    /// `logout`.
    Logout { agent: AgentId },
    /// End a terminal's command (its whole process group); the terminal stays readable.
    Kill { session: SessionKey, terminal: TerminalId },
    /// End commands that go on although their turn was stopped, and all that they have started.
    EndLeft { session: SessionKey, commands: Vec<LeftCommand> },
    /// The user typed into a terminal.
    Type { session: SessionKey, terminal: TerminalId, bytes: Vec<u8> },
    /// A terminal's window has this size now, in cells.
    Resize { session: SessionKey, terminal: TerminalId, rows: u16, columns: u16 },
    /// A file is loaded in a buffer from now on: reads and writes of it are asked of the editor.
    FileLoaded { path: PathBuf },
    /// No buffer holds the file any more: the background serves it from the disk.
    FileUnloaded { path: PathBuf },
    /// What these paths are called with their links resolved. Answered by `Resolved`, as far as the disk
    /// answers.
    Resolve { paths: Vec<PathBuf> },
    /// A session has to do with this file (an absolute path): when others change it, `FileChanged`
    /// says so. Those that it reads and writes through the client are watched without this.
    Watch { session: SessionKey, path: PathBuf },
    /// A tool call, by its number in its session, edits this file (an absolute path) and has announced these
    /// changes so far; without any it is over. What the disk holds meanwhile may be half of a text. It is
    /// watched from then on, as by `Watch`. `held` is the state of the file whose text a buffer holds, as far as it
    /// is known, and `size` how many bytes that text has, if it has no unsaved edits.
    Edits {
        session: SessionKey,
        call: u64,
        path: PathBuf,
        diffs: Option<Vec<FileDiff>>,
        held: Option<Stamp>,
        size: Option<u64>,
    },
    /// What agents may do outside of their sessions' folders; until this is told they may do nothing.
    Outside { rules: Rules },
    /// What the rules are that agents' requests are held against, and for whom.
    Rules(RulesNews),
    /// An agent has done this, and nobody asked the rules. Answered by `Outcome::JudgedDone`.
    JudgeDone { session: SessionKey, job: JobId, actions: Box<UnaskedActions> },
    /// Answered by `Allowed`.
    ListAllowed,
    /// Take back what was allowed outside of the sessions' folders.
    Revoke { allowed: Allowed },
    /// The user serves these methods beyond the protocol, whose names begin with an underscore; those of
    /// an earlier one no longer count. The editor is asked for no others.
    Handle { requests: Vec<String>, notifications: Vec<String> },
    /// The tools that agents are offered; those of an earlier one no longer count.
    Tools { list: Vec<ToolSpec> },
    /// Let those to a session's tools, but for these, who find the socket and know the token.
    OfferTools { session: SessionKey, socket: PathBuf, token: String, without: Vec<String> },
    /// What became of a `ToolCalled`; a second one for the same call does nothing.
    AnswerTool { run: ToolRunId, answer: ToolAnswer },
    /// Do for a tool what the session's agent could ask for with this method, by the same rules and questions. Answered
    /// by `ToolServed`. A tool waits for one at a time.
    ServeTool { session: SessionKey, run: ToolRunId, method: String, params: Value },
    /// The tool's call is over: what it asked for and what runs for it ends.
    LeaveTool { session: SessionKey, run: ToolRunId },
    /// Put a file back to what it was. With a file that goes go the folders that are empty then and were made for it: in
    /// this project, and not before this time (milliseconds since 1970). Answered by `Computed`.
    PutBack { job: JobId, path: PathBuf, what: PutBack, folders: Option<(PathBuf, u64)> },
    /// Compute something off the editor's thread. Answered by `Computed`.
    Compute { job: JobId, work: Work },
    /// Keep or recall what the plugin itself remembers of sessions, in this folder.
    Record { folder: PathBuf, request: RecordRequest },
    /// Keep or give back what is remembered for projects, in this file.
    Choices { file: PathBuf, request: remembered::Request },
    /// Keep or add up what sessions have used up, in this folder.
    Usage { folder: PathBuf, request: usage::Request },
    /// Read the record of what agents asked for and did, in this folder.
    Audit { folder: PathBuf, request: audit::Request },
    /// A replay that waits for that plays its next message.
    PlayNext { agent: AgentId },
    /// Look at what goes over the wire.
    Inspect(inspector::Request),
    /// Keep or give back what files held before and after turns, in this folder.
    Checkpoint { folder: PathBuf, limits: Limits, request: Box<checkpoint::CheckpointRequest> },
    /// Keep or give back what is left to decide in the project of this folder.
    Undecided { folder: PathBuf, request: undecided::UndecidedRequest },
    /// Read what is on the disk about agents, and change it first. Answered by `AgentsRead`.
    ReadAgents { job: JobId, files: Box<registry::Files>, change: Box<registry::Change> },
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
    StatusTold {
        agent: AgentId,
        acp_id: String,
        state: StoredState,
    },
    /// The agent changed something in a session, in a turn or outside of one.
    Updated {
        session: SessionKey,
        update: Update,
    },
    Asked {
        session: SessionKey,
        /// What in the session asks, where it is not the session's own agent.
        branch: Option<Branch>,
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
    /// The session's agent calls one of the editor's tools. Wants an `AnswerTool`.
    ToolCalled {
        session: SessionKey,
        run: ToolRunId,
        name: String,
        args: Value,
    },
    /// What became of a `ServeTool`: the protocol's result, or why there is none.
    ToolServed {
        run: ToolRunId,
        outcome: Result<Value, String>,
    },
    /// An agent has put a stored session away, or brought it back. It may have been open here, and has ended then.
    Archived {
        agent: AgentId,
        open: Option<SessionKey>,
        archived: bool,
    },
    /// A rule rejects a command that an agent wanted to run in a terminal.
    CommandRefused {
        session: SessionKey,
        command: String,
        rule: String,
    },
    /// The agent of a session that was to be offered the editor's tools has no way to them.
    ToolsOutOfReach {
        session: SessionKey,
    },
    /// Nobody waits for what the tool gives.
    ToolCancelled {
        run: ToolRunId,
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
    /// What an agent has started in a turn that was stopped, and goes on: all of it, each time that it
    /// is another.
    LeftRunning {
        session: SessionKey,
        commands: Vec<LeftCommand>,
    },
    /// Of the commands that an `EndLeft` was for, these still run.
    LeftSurvived {
        session: SessionKey,
        commands: Vec<LeftCommand>,
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
    /// The agent keeps a name that the user gave to the session, perhaps in a form of its own.
    TitleKept {
        session: SessionKey,
        asked: String,
        title: String,
    },
    /// The same of a session that is not open.
    StoredTitleKept {
        agent: AgentId,
        acp_id: String,
        asked: String,
        title: String,
    },
    /// A request of ours other than opening and prompting failed (`what` is fit for "couldn't …").
    RequestFailed {
        agent: AgentId,
        session: Option<SessionKey>,
        what: String,
        failure: Failure,
        /// What to do once more after a login, where it is that which is missing.
        again: Option<Again>,
    },
    LoggedIn {
        agent: AgentId,
    },
    LoggedOut {
        agent: AgentId,
    },
    /// The agent said whether it is logged in, asked or not.
    AuthReported {
        agent: AgentId,
        status: AuthStatus,
    },
    TerminalStarted {
        session: SessionKey,
        terminal: TerminalId,
        command: String,
        cwd: PathBuf,
        /// What the user types reaches the command; not so where the agent runs it itself.
        typing: bool,
    },
    /// New output, made safe for the editor's terminals, and what it changed of the lines that the chat shows.
    /// `skipped` bytes before it were dropped because they came faster than anyone could read; the agent's
    /// own record is not concerned. Of that one, `cut` bytes are gone from the beginning by now.
    TerminalGrew {
        session: SessionKey,
        terminal: TerminalId,
        bytes: Vec<u8>,
        lines: LastLines,
        skipped: Skipped,
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
    /// What paths are called with their links resolved, as far as they exist. Those of an update come before
    /// it, unless the disk takes too long.
    Resolved {
        names: Vec<(PathBuf, PathBuf)>,
    },
    /// The content of a file that a session has to do with is another one on the disk (the path's links
    /// are resolved). It was not written by this background; the editor itself may have saved it.
    FileChanged {
        path: PathBuf,
        kind: FileChange,
        /// As far as it was known at that moment: of an agent that announces its calls when they are over, only
        /// `FilesChanged`, which follows for files in the folders of sessions, says that it was the agent.
        cause: Cause,
    },
    /// Files in the folders of sessions are others on the disk than before. What this background wrote for an agent, and
    /// what the editor saved, is not among them.
    FilesChanged {
        cause: Cause,
        files: Vec<ChangedFile>,
    },
    /// What agents may read and write outside of their sessions' folders.
    Allowed {
        allowed: Vec<Allowed>,
        /// What is wrong with the file in which it is kept.
        trouble: Option<String>,
    },
    /// What the user should know of a request that belongs to no agent.
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
    /// The session wants to change something: what it has changed until now is to be counted first.
    CountWanted {
        session: SessionKey,
        upto: u64,
    },
    /// What the session wants to do next would go beyond this limit of the user's; it waits.
    LimitMet {
        session: SessionKey,
        span: Span,
        measure: Measure,
    },
    /// What is remembered for projects, or why it cannot be had.
    ChoicesRead {
        job: JobId,
        choices: Result<Vec<remembered::Remembered>, String>,
    },
    /// What is kept of what sessions used up, or why it cannot be had.
    UsageRead {
        job: JobId,
        reply: Result<usage::Reply, String>,
    },
    /// What is in the record of what agents did, or why it cannot be had.
    AuditRead {
        job: JobId,
        reply: Result<audit::Reply, String>,
    },
    /// What was asked of the messages that went over the wire.
    Inspected(Box<inspector::Reply>),
    /// What is on the disk about agents, and why the change couldn't be made (`failure` is fit for
    /// "couldn't …"), if it couldn't.
    AgentsRead {
        job: JobId,
        stored: Box<registry::Stored>,
        failure: Option<String>,
    },
    /// What became of a request of the checkpoints'.
    Checkpointed {
        job: JobId,
        reply: checkpoint::Reply,
    },
    /// The system refuses to watch a session's folder, or it has too many files. `why` says which limit that is.
    FolderUnwatched {
        folder: PathBuf,
        why: String,
        /// All files are looked at when a call or a turn ends. Otherwise changes are not noticed at all.
        is_looked_at: bool,
    },
    /// What Neovims that are gone have left undecided, or why it can't be had (fit for a message).
    LeftUndecided {
        job: JobId,
        left: Result<Box<undecided::Adopted>, String>,
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
        prompts: Vec<Text>,
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

impl Command {
    /// The session that it is about, if it is about one.
    pub fn session_mut(&mut self) -> Option<&mut SessionKey> {
        match self {
            Self::Open { session, .. }
            | Self::Load { session, .. }
            | Self::Close { session }
            | Self::Prompt { session, .. }
            | Self::Steer { session, .. }
            | Self::Cancel { session }
            | Self::CancelSubagent { session, .. }
            | Self::SetMode { session, .. }
            | Self::SetModel { session, .. }
            | Self::SetOption { session, .. }
            | Self::SetTitle { session, .. }
            | Self::Kill { session, .. }
            | Self::EndLeft { session, .. }
            | Self::Type { session, .. }
            | Self::Resize { session, .. }
            | Self::Watch { session, .. }
            | Self::Edits { session, .. }
            | Self::JudgeDone { session, .. }
            | Self::ServeTool { session, .. }
            | Self::LeaveTool { session, .. }
            | Self::OfferTools { session, .. } => Some(session),
            Self::Rules(news) => news.session_mut(),
            Self::Connect { .. }
            | Self::List { .. }
            | Self::Archive { .. }
            | Self::AskStatus { .. }
            | Self::SetStoredTitle { .. }
            | Self::Delete { .. }
            | Self::CloseStored { .. }
            | Self::Answer { .. }
            | Self::Login { .. }
            | Self::Logout { .. }
            | Self::FileLoaded { .. }
            | Self::FileUnloaded { .. }
            | Self::Outside { .. }
            | Self::ListAllowed
            | Self::Revoke { .. }
            | Self::Handle { .. }
            | Self::PutBack { .. }
            | Self::Compute { .. }
            | Self::Record { .. }
            | Self::Choices { .. }
            | Self::Usage { .. }
            | Self::Audit { .. }
            | Self::Inspect(_)
            | Self::PlayNext { .. }
            | Self::Checkpoint { .. }
            | Self::Undecided { .. }
            | Self::ReadAgents { .. }
            | Self::Find { .. }
            | Self::KeepImages { .. }
            | Self::Keep(_)
            | Self::Resolve { .. }
            | Self::Disconnect { .. }
            | Self::Tools { .. }
            | Self::AnswerTool { .. }
            | Self::UserBegan(_)
            | Self::UserEnded
            | Self::Shutdown => None,
        }
    }
}

impl Event {
    /// The session that it is about, if it is about one.
    pub fn session_mut(&mut self) -> Option<&mut SessionKey> {
        match self {
            Self::Opened { session, .. }
            | Self::OpenFailed { session, .. }
            | Self::Updated { session, .. }
            | Self::Asked { session, .. }
            | Self::Withdrawn { session, .. }
            | Self::TurnEnded { session, .. }
            | Self::LeftRunning { session, .. }
            | Self::LeftSurvived { session, .. }
            | Self::Steered { session, .. }
            | Self::Chosen { session, .. }
            | Self::TitleKept { session, .. }
            | Self::TerminalStarted { session, .. }
            | Self::TerminalGrew { session, .. }
            | Self::TerminalEnded { session, .. }
            | Self::FileServed { session, .. }
            | Self::LimitMet { session, .. }
            | Self::CountWanted { session, .. }
            | Self::CommandRefused { session, .. }
            | Self::ToolsOutOfReach { session }
            | Self::ToolCalled { session, .. } => Some(session),
            Self::Called { session, .. }
            | Self::Told { session, .. }
            | Self::RequestFailed { session, .. }
            | Self::Noted { session, .. } => session.as_mut(),
            Self::Started { .. }
            | Self::Connected { .. }
            | Self::Listed { .. }
            | Self::StatusTold { .. }
            | Self::StoredTitleKept { .. }
            | Self::LoggedIn { .. }
            | Self::LoggedOut { .. }
            | Self::AuthReported { .. }
            | Self::Resolved { .. }
            | Self::FileChanged { .. }
            | Self::FilesChanged { .. }
            | Self::Allowed { .. }
            | Self::Advised { .. }
            | Self::Computed { .. }
            | Self::Recalled { .. }
            | Self::ChoicesRead { .. }
            | Self::UsageRead { .. }
            | Self::AuditRead { .. }
            | Self::Inspected(_)
            | Self::AgentsRead { .. }
            | Self::Checkpointed { .. }
            | Self::LeftUndecided { .. }
            | Self::RecordFailed { .. }
            | Self::FolderUnwatched { .. }
            | Self::ToolCancelled { .. }
            | Self::Archived { .. }
            | Self::ToolServed { .. }
            | Self::Found { .. }
            | Self::PastPrompts { .. }
            | Self::Adopted { .. }
            | Self::NotKept { .. }
            | Self::Exited { .. } => None,
        }
    }

    /// Whether it counts also when the session has been opened anew meanwhile: what ran in a terminal
    /// has ended, and what was written stands in the file.
    pub fn outlives_its_session(&self) -> bool {
        matches!(
            self,
            Self::TerminalStarted { .. }
                | Self::TerminalGrew { .. }
                | Self::TerminalEnded { .. }
                | Self::FileServed { .. }
        )
    }
}
