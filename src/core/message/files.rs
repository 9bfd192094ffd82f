//! Files as both sides describe them: how they are accessed, what happened to them, and their state on
//! disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::store::checkpoint::{Held, Mode};
use crate::core::text::Text;

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

/// What a file is put back to when changes in it are undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PutBack {
    /// Of a file that no buffer holds: its lines, without a last line break, unless it has others than are expected.
    /// `None` is no file.
    Lines { expected: Option<String>, lines: Option<String> },
    /// The same, and byte for byte.
    Exactly { expected: Option<String>, held: Held },
    /// The permissions of a file whose text is back already.
    Mode(Mode),
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
    /// It is being written: `FileChanged` comes when it is whole.
    HalfWritten,
    /// It cannot be read as text in the buffer's encoding; why.
    Unreadable(String),
}

/// What to do about a file that is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HalfWritten {
    /// Say so at once.
    Tell,
    /// Say what it held before, or else that it is being written.
    Before,
    /// Wait for the whole text for some time, then take what there is.
    Wait,
    /// Take what there is.
    Take,
}
