//! Files as both sides describe them: how they are accessed, what happened to them, and their state on
//! disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::ids::{SessionKey, TerminalId, ToolCallId};
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

/// Who changed a file on the disk, as far as it can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// No session's call or command was running: the user, or another program.
    Outside,
    /// This session's was.
    Session(Activity),
    /// Several sessions' were, and nothing says which of them it was.
    OneOf(Vec<Activity>),
}

impl Cause {
    pub fn sessions_mut(&mut self) -> impl Iterator<Item = &mut SessionKey> {
        let activities = match self {
            Self::Outside => &mut [],
            Self::Session(activity) => std::slice::from_mut(activity),
            Self::OneOf(activities) => activities.as_mut_slice(),
        };
        activities.iter_mut().map(|activity| &mut activity.session)
    }
}

/// What an agent was doing when a file changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    pub session: SessionKey,
    /// The tool call that was running, or the one that the command belongs to.
    pub call: Option<ToolCallId>,
    /// The command that was running in a terminal of this client's.
    pub terminal: Option<TerminalId>,
}

/// A file in a session's folders that has changed on the disk, whoever changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Absolute, links of its folder resolved.
    pub path: PathBuf,
    /// The path that it had before, if it was renamed.
    pub renamed_from: Option<PathBuf>,
    pub before: Held,
    pub after: Held,
    /// Why `before` or `after` is unknown, for the user: "larger than 1 MB", "not a text", ...
    pub unknown: Option<String>,
    /// Where many files changed at once the texts stay in the background: `before` and `after` are `Unknown` then,
    /// and `Work::ChangedTexts` gets them by this number.
    pub later: Option<u64>,
    /// This change was told before, as somebody else's.
    #[serde(default)]
    pub is_told: bool,
}

/// What a file is put back to when changes in it are undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PutBack {
    /// Of a file that no buffer holds: its lines, without a last line break, unless it has others than are expected.
    /// `None` is no file.
    Lines { expected: Option<String>, lines: Option<String> },
    /// The same, and byte for byte.
    Exactly { expected: Option<String>, held: Held },
    /// What has no lines, unless the path holds something else than was seen there.
    Held { seen: Held, held: Held },
    /// The permissions of a file whose text is back already.
    Mode(Mode),
}

impl PutBack {
    /// The text that the file has afterwards, if it has one.
    pub fn text(&self) -> Option<Text> {
        match self {
            Self::Lines { lines, .. } => lines.as_ref().map(|lines| Text::from(format!("{lines}\n"))),
            Self::Exactly { held, .. } | Self::Held { held, .. } => held.as_text().cloned(),
            Self::Mode(_) => None,
        }
    }

    /// Whether there is no file afterwards.
    pub fn removes(&self) -> bool {
        match self {
            Self::Lines { lines, .. } => lines.is_none(),
            Self::Exactly { held, .. } | Self::Held { held, .. } => *held == Held::Absent,
            Self::Mode(_) => false,
        }
    }
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
