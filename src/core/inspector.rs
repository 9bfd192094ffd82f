//! What goes over the wire, to be looked at: the last messages of all agents in a bounded ring, what each of them
//! says in a few words, which answer belongs to which request, and what is wrong with one. Where messages are read
//! and written is the wire's part, the page on the screen the editor's.

pub mod filter;
pub mod json;
pub mod line;
pub mod recording;
pub mod ring;
pub mod scrub;
pub mod summary;
pub mod table;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::ids::JobId;
use crate::core::inspector::scrub::Origin;
use crate::core::inspector::summary::Summary;

/// What the editor wants of the ring.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// The messages from this number on, as soon as there are any. Answered by [`Reply::Came`].
    After { job: JobId, from: u64 },
    /// Which messages from this number on hold these texts. Answered by [`Reply::Found`].
    Find { job: JobId, from: u64, texts: Vec<String> },
    /// One message as one reads it. Answered by [`Reply::Read`].
    Read { job: JobId, number: u64 },
    /// All that is kept of one run of an agent: the last of this name, or the one that spoke last. Nothing is written
    /// yet. Answered by [`Reply::Recorded`].
    Record { job: JobId, agent: Option<String>, target: Target, origin: Origin },
    /// Whether a recording can be played. Answered by [`Reply::Playable`].
    LookAt { job: JobId, path: PathBuf },
    /// Write a recording. Answered by [`Reply::Saved`].
    Save { job: JobId, target: Target, text: String },
}

/// Where a recording is to be written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Absolute.
    pub path: PathBuf,
    /// A file that is there goes.
    pub replaces: bool,
}

/// A recording before anybody has read it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    pub agent: String,
    /// How many names and secrets were taken out.
    pub replaced: usize,
    /// It begins with the first message, which is not so where newer ones took its place.
    pub is_whole: bool,
    pub lines: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Came {
        job: JobId,
        batch: Batch,
    },
    /// For each text the numbers of the messages that hold it, in order.
    Found {
        job: JobId,
        numbers: Vec<Vec<u64>>,
    },
    /// Nothing where newer messages have taken its place.
    Read {
        job: JobId,
        text: Option<String>,
    },
    /// The recording, or why there can be none.
    Recorded {
        job: JobId,
        recorded: Result<Recorded, String>,
    },
    Saved {
        job: JobId,
        saved: Result<(), String>,
    },
    /// The folder in which the recorded session worked, or why it can't be played.
    Playable {
        job: JobId,
        cwd: Result<Option<String>, String>,
    },
}

/// Messages that came one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The oldest message that there still is.
    pub first: u64,
    /// Where the next batch begins.
    pub next: u64,
    /// What agents are called, by their number.
    pub agents: Vec<String>,
    pub summaries: Vec<Summary>,
}

impl Reply {
    pub fn job(&self) -> JobId {
        match self {
            Self::Came { job, .. }
            | Self::Found { job, .. }
            | Self::Read { job, .. }
            | Self::Recorded { job, .. }
            | Self::Saved { job, .. }
            | Self::Playable { job, .. } => *job,
        }
    }

    /// About how much memory the texts in it take.
    pub fn size(&self) -> usize {
        match self {
            Self::Came { batch, .. } => batch.summaries.iter().map(Summary::held).sum(),
            Self::Found { numbers, .. } => numbers.iter().map(|found| size_of_val(found.as_slice())).sum(),
            Self::Read { text, .. } => text.as_ref().map_or(0, String::len),
            Self::Recorded { recorded, .. } => {
                recorded.iter().flat_map(|recorded| &recorded.lines).map(String::len).sum()
            }
            Self::Saved { .. } | Self::Playable { .. } => 0,
        }
    }
}
