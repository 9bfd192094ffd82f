//! What features tell each other: a closed list of events, each told once to all who show it, keep it,
//! or listen for it.

use std::path::PathBuf;

use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::store::checkpoint::Held;
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
    /// A loaded buffer holds a file, under this name from now on.
    BufferLoaded {
        buf: Buf,
        path: PathBuf,
    },
    BufferUnloaded(Buf),
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
    /// Lines of a file wait for the user's decision; what to say of it.
    ConflictFound {
        session: SessionKey,
        text: String,
    },
    /// A conflict is not asked about any more: it was settled, or its turn is over.
    ConflictClosed,
    /// The next question about a conflict is to be asked right away.
    ConflictContinued(AskId),
    /// The user has closed the question about a conflict without an answer.
    ConflictPutOff(AskId),
    /// An agent changed a file.
    FileChanged(Box<Change>),
}
