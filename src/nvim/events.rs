//! What features tell each other: a closed list of events, each told once to all who show it, keep it,
//! or listen for it.

use std::path::PathBuf;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::store::checkpoint::Held;
use crate::core::store::record::Kept;
use crate::core::text::Text;
use crate::nvim::editor::Buf;

/// A change of a file that has come about, whoever wrote it and whereto. Texts are lines joined by
/// `\n`, without a last line break.
pub struct Change {
    pub session: SessionKey,
    /// The tool call behind it, where one can be told.
    pub call: Option<EntryId>,
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
}

/// What one feature tells the others. The router says who hears of it.
pub enum EditorEvent {
    /// Something of a session is another: its entries, its state, what it offers.
    SessionChanged(SessionKey),
    /// A session was made, which has no chat yet.
    SessionBegan(SessionKey),
    /// The user wants to see a session.
    SessionChosen(SessionKey),
    /// The user wants to go on with a session that the record knows.
    StoredSessionChosen(Box<Kept>),
    /// The user has logged in with the program of a session's agent.
    LoginEnded(SessionKey),
    /// A prompt has gone to the agent, or waits for it.
    PromptSent(SessionKey),
    /// The session's agent is not at work any more, however that came.
    TurnLeft(SessionKey),
    /// Windows have other sizes, or were opened or closed.
    WindowsResized,
    /// The user wants to see a location in a file.
    LocationChosen { path: PathBuf, line: Option<u32>, column: Option<u32> },
    /// The user wants to work with the agent of this name.
    AgentChosen(String),
    /// A command has ended.
    TerminalEnded,
    /// An agent changed a file.
    FileChanged(Box<Change>),
}
