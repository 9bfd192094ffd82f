//! What a session may do before its user is asked, as the background keeps to it: limits that are reached make what would
//! change something wait.

use serde::{Deserialize, Serialize};

/// For what a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Span {
    Turn,
    Session,
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Measure {
    Time,
    Cost,
    Commands,
    Files,
    Lines,
}

/// How many files may be written, and commands run, through this client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    pub files: Option<usize>,
    pub commands: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The user is asked: all waits.
    pub held: bool,
    /// The user has stopped the turn: what would have to wait is refused.
    pub stopped: bool,
    /// It is limited how much is changed, also by commands.
    pub counts_changes: bool,
    pub turn: Ceiling,
    pub session: Ceiling,
}
