//! The record of what agents asked for and did, and of who decided it: one line for each request for permission, each
//! file and command through this client, and each tool call. How a line comes about is in `entry`, what a person sees of
//! it in `page`, what they look for in `filter`; where it is kept is left to `acp::store::audit_log`.

pub mod entry;
pub mod filter;
pub mod line;
pub mod page;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use self::filter::Filter;
use crate::core::ids::JobId;

pub use self::line::{By, Decision, Line, Outcome, What};

/// What is wanted of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// The last lines that pass. Answered by `AuditRead`, as is the next.
    Read { job: JobId, filter: Filter },
    /// All that pass, into a file that is not there yet.
    Export { job: JobId, filter: Filter, path: PathBuf },
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The oldest first.
    pub lines: Vec<Line>,
    /// How many there are in all, how many of them pass, and how many can't be read.
    pub all: usize,
    pub passing: usize,
    pub broken: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Read(Box<Read>),
    /// So many lines were written to the file.
    Exported {
        path: PathBuf,
        lines: usize,
        broken: usize,
    },
}
