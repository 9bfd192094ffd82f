//! What features tell each other: a closed list of events, each told once to all who show it, keep it,
//! or listen for it.

use std::path::PathBuf;

use crate::core::ids::{EntryId, SessionKey};
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
    /// What the chat's bar says of where an agent is may be another.
    LocationShown(SessionKey),
    /// The window that follows has to know from now on what the user does.
    FollowBegan,
    /// A file was loaded into a buffer, but not by the user.
    BufferLoaded(Buf),
    /// The user has put a file back to what it was; what is on the disk now.
    FileRestored { path: PathBuf, held: Held },
    /// All files of a restore are put back, as far as they can be.
    RestoreEnded,
    /// The user has undone what an agent did; how that is told to it.
    ChangeUndone { session: SessionKey, text: String },
    /// The user asks who wrote a row, counted from 0, and it was no agent of this Neovim.
    LineUnattributed { buf: Buf, path: PathBuf, row: usize },
    /// The user wants to see a row of a file, counted from 0.
    LineChosen { path: PathBuf, row: usize },
    /// The user wants to see the keys.
    KeysAsked,
    /// A buffer may hold another text than its review says.
    ReviewOutdated(Buf),
    /// What a call of a session proposes is where it belongs, or it is known that it can't be.
    DiffsPlaced,
    /// The user has sent comments on changes to an agent.
    CommentsSent { session: SessionKey, text: String, count: usize },
    /// An agent changed a file.
    FileChanged(Box<Change>),
}
