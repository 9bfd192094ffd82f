//! What features tell each other: a closed list of events, each told once to all who show it, keep it,
//! or listen for it.

use std::path::PathBuf;
use std::rc::Rc;

use crate::core::changes::aim::Aim;
use crate::core::changes::writers::Writer;
use crate::core::ids::{AskId, EntryId, SessionKey, TerminalId};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Content, Launch};
use crate::core::rules::offer::{Offer, Scope};
use crate::core::session::references::Reference;
use crate::core::store::checkpoint::Held;
use crate::core::store::record::Kept;
use crate::core::text::Text;
use crate::nvim::editor::Buf;
use crate::nvim::guard::Then;

/// A change of a file that has come about, whoever wrote it and whereto. Texts are lines joined by
/// `\n`, without a last line break.
pub struct Change {
    pub session: SessionKey,
    /// The tool call behind it, where one can be told.
    pub call: Option<EntryId>,
    /// It may have been one of these as well: several were at work.
    pub others: Vec<Writer>,
    /// Absolute, links resolved.
    pub path: PathBuf,
    /// The buffer that holds the file; `None` when none does.
    pub buf: Option<Buf>,
    /// `None` for a file that was not there, or whose text nobody knows.
    pub before: Option<Text>,
    /// `None` for a file that is gone, or whose text nobody knows.
    pub after: Option<Text>,
    /// The same as the file had it, byte for byte.
    pub held: (Held, Held),
    /// The rows of the text after that were touched, from 0, the last one excluded.
    pub ranges: Vec<(usize, usize)>,
    /// How many lines the buffer had before, and has now; none where they are still to be counted.
    pub lines: Option<(usize, usize)>,
    /// It is on the disk.
    pub saved: bool,
    /// The buffer, if there is one, holds the text after. Otherwise it may hold a later one.
    pub is_in_buffer: bool,
    /// Why a text is not known, for the user.
    pub unknown: Option<String>,
    pub renamed: Option<Renamed>,
}

/// What a file that is gone is called now, or what a new one was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renamed {
    To(PathBuf),
    From(PathBuf),
}

/// A file in a session's folders that has changed on the disk while no agent was at work.
pub struct OutsideChange {
    /// Absolute, links resolved.
    pub path: PathBuf,
    pub before: Held,
    pub after: Held,
}

/// A change that was told already is known to be another's than was said, or which call's it was.
pub struct Attribution {
    pub path: PathBuf,
    /// Who was said to have done it.
    pub from: Vec<Writer>,
    /// Who has; nobody for somebody outside.
    pub to: Vec<Writer>,
    /// What the file held before and after.
    pub held: (Held, Held),
}

/// What to do with a prompt while the agent works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMode {
    /// It waits for the turn to end.
    InLine,
    /// The same, where it stood in the line before it was edited.
    InPlace,
    /// It goes into the turn, where the agent can be steered; else it waits.
    Steer,
    /// As `Steer`, but where that cannot be the turn is stopped for it.
    Now,
}

/// A question that waits for the user, to be shown as a list.
pub struct Choosing {
    pub ask: AskId,
    /// As `vim.ui.select()` is told.
    pub kind: &'static str,
    pub prompt: String,
    pub items: Vec<String>,
    /// What it is about, for pickers that show that beside the items.
    pub preview: Rc<Vec<String>>,
    /// Gets what was chosen, counted from 0, or nothing where the list was closed.
    pub then: Then<Option<usize>>,
}

/// What one feature tells the others. The router says who hears of it.
pub enum EditorEvent {
    /// Something of a session is another: its entries, its state, what it offers.
    SessionChanged(SessionKey),
    /// A loaded buffer holds a file, under this name from now on.
    FileLoaded {
        buf: Buf,
        path: PathBuf,
    },
    BufferUnloaded(Buf),
    /// There is another text in a session's prompt.
    PromptChanged(SessionKey),
    /// An agent read or wrote a file, at these lines.
    FileVisited {
        session: SessionKey,
        path: PathBuf,
        lines: Option<Lines>,
        verb: Verb,
    },
    /// What was to be done with a file is done; what waits for that begins once all before this was told.
    FileTaskEnded(PathBuf),
    /// Edits of a buffer ended with an error; some of them may be in.
    EditsFailed(Buf),
    /// The user has closed a question without an answer.
    QuestionClosed(AskId),
    /// A session was made, which has no chat yet.
    SessionBegan(SessionKey),
    /// A session has begun with what was said in another one.
    SessionForked {
        from: SessionKey,
        to: SessionKey,
    },
    /// A session is to be closed for good.
    SessionClosing(SessionKey),
    /// The user wants to see a session.
    SessionChosen(SessionKey),
    /// The user wants to go on with a session that the record knows.
    StoredSessionChosen(Box<Kept>),
    /// A session is to be begun in this folder, with an agent of which it is known how it is started.
    SessionWanted {
        launch: Box<Launch>,
        cwd: PathBuf,
    },
    /// The user has logged in with the program of a session's agent.
    LoginEnded(SessionKey),
    /// An agent that ended is to be started again, without the user.
    AgentWanted(SessionKey),
    /// A prompt has gone to the agent, or waits for it.
    PromptSent(SessionKey),
    /// The session's agent is not at work any more, for the user has it started again.
    TurnLeft(SessionKey),
    /// What stands in the bar of a chat may be another: its windows are new ones, or its agent is elsewhere.
    BarOutdated(SessionKey),
    /// A file was loaded into a buffer, but not by the user.
    BufferLoaded(Buf),
    /// A buffer was written into its file.
    BufferSaved(Buf),
    /// A buffer has unsaved edits of which an agent is told: what they began with is needed for more than this.
    BufferModified(Buf),
    /// The agent has said how the turn ended.
    TurnEnded(SessionKey),
    /// The session's agent is gone.
    AgentExited(SessionKey),
    /// The agent has opened the session.
    SessionOpened(SessionKey),
    /// The agent told what the session has used up, or of a rate limit.
    UsageTold(SessionKey),
    /// The agent told of a tool call: of its locations, of its content, or of neither.
    CallChanged {
        session: SessionKey,
        entry: EntryId,
        moved: bool,
        content: bool,
    },
    /// The user is asked for a permission.
    PermissionAsked {
        session: SessionKey,
        /// What the call does.
        title: String,
        /// The same, to stand after the agent's name.
        request: String,
        /// That of the call.
        entry: Option<EntryId>,
    },
    /// The user makes rules by an answer.
    RuleMade {
        session: SessionKey,
        offer: Offer,
        scope: Scope,
    },
    /// The rules for what agents may do are others.
    RulesChanged,
    /// What the session had changed when this number was asked for is told.
    ChangesCounted {
        session: SessionKey,
        upto: u64,
    },
    /// Windows have other sizes, or were opened or closed.
    WindowsResized,
    /// The user wants to see a location in a file.
    LocationChosen {
        path: PathBuf,
        line: Option<u32>,
        column: Option<u32>,
    },
    /// The user wants to work with the agent of this name; what is done once its chat is there.
    AgentChosen(String, Then<SessionKey>),
    /// A command has ended.
    TerminalEnded,
    /// The user has sent a text.
    PromptTyped {
        session: SessionKey,
        text: Text,
        mode: SendMode,
    },
    /// It is known what a long prompt that was sent refers to.
    ReferencesFound {
        session: SessionKey,
        number: u64,
        found: Vec<Reference>,
    },
    /// What a prompt refers to was read: it may go out.
    PromptReady {
        session: SessionKey,
        content: Vec<Content>,
        mode: SendMode,
    },
    /// The user wants to edit an earlier prompt of a session in another one; what was said before it.
    PromptEdited {
        session: SessionKey,
        text: Text,
        before: Option<Content>,
    },
    /// A prompt that goes out has got its note of unsaved edits.
    PromptCompleted {
        session: SessionKey,
        content: Vec<Content>,
    },
    /// Something needs a chat, and there is none yet.
    ChatNeeded(Then<SessionKey>),
    /// What has changed is to be drawn as soon as a frame is due.
    FrameDue,
    /// The user wants to go to what the line under the cursor in a chat is about.
    EntryChosen(SessionKey),
    /// The user wants to answer a question.
    QuestionChosen(AskId),
    /// The user has chosen an answer of an entry's question in the chat, which are counted from 1.
    AnswerChosen {
        session: SessionKey,
        entry: EntryId,
        number: usize,
    },
    /// The user wants to see a terminal.
    TerminalChosen(SessionKey, TerminalId),
    /// A question of another feature's is next.
    QuestionReached(AskId),
    /// It is to be shown as a list.
    QuestionAsked(Box<Choosing>),
    /// What has changed has to be on the screen at once: what a question is about, above all.
    DrawingWanted,
    /// Somebody has answered what is not the question on the screen any more.
    AnsweredInVain(AskId),
    /// A question came or went.
    QuestionsChanged,
    /// Lines that both sides have changed are shown in a buffer.
    ConflictShown(Buf),
    /// The user has put a file back to what it was; what is on the disk now.
    FileRestored {
        path: PathBuf,
        held: Held,
    },
    /// The user has had a file put back on the disk: a buffer that holds it is to learn of that.
    FileReplaced(PathBuf),
    /// What the user has decided about a file was written into it.
    FileWritten(PathBuf),
    /// The same on the disk, past a buffer with unsaved edits or of a file that no buffer holds; what it has now, if
    /// that is a text.
    FilePutBack {
        path: PathBuf,
        now: Option<Text>,
    },
    /// All files of a restore are put back, as far as they can be.
    RestoreEnded,
    /// The user has put a file back, by its name, to what it was before something that an agent did, or has undone that.
    /// With the prints of what it held and holds, where they are known.
    ChangeUndone {
        session: SessionKey,
        name: String,
        aim: Aim,
        prints: (Option<u64>, Option<u64>),
    },
    /// The user asks who wrote a row, counted from 0, and it was no agent of this Neovim.
    LineUnattributed {
        buf: Buf,
        path: PathBuf,
        row: usize,
    },
    /// The user wants to see a row of a file, counted from 0.
    LineChosen {
        path: PathBuf,
        row: usize,
    },
    /// The user wants to see the keys.
    KeysAsked,
    /// A buffer may hold another text than its review says.
    ReviewOutdated(Buf),
    /// What a call of a session proposes is where it belongs, or it is known that it can't be.
    DiffsPlaced,
    /// The user has closed the page, or the window, of what they are asked about: the chat shows it.
    ProposalPutAway,
    /// The window that showed what was asked about shows again what the user had in it.
    WindowGivenBack,
    /// The user has sent comments on changes to an agent.
    CommentsSent {
        session: SessionKey,
        text: String,
        count: usize,
    },
    /// An agent changed a file.
    FileChanged(Box<Change>),
    /// Somebody else did.
    FileChangedOutside(Box<OutsideChange>),
    /// Who made a change that was told is known by now.
    ChangeAttributed(Box<Attribution>),
}
