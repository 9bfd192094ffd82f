//! What must be remembered between the messages of one connection. How it is used is left to the siblings.

use std::collections::HashMap;

use serde_json::Value;

use super::messages::Messages;
use super::recent::Recent;
use super::terminals::Terminals;
use super::turns::Turns;

/// How many calls are remembered for what is added to them; a turn has rarely more at once.
pub const CALLS: usize = 256;

/// A call is shown with no more parts, whatever is added to it.
pub const PARTS: usize = 1000;

/// What an agent has agreed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// It has not answered yet.
    #[default]
    Asked,
    First,
    Second,
}

/// What is to be remembered between the messages of one connection.
#[derive(Default)]
pub struct V2 {
    pub(super) version: Version,
    pub(super) ours: HashMap<i64, Ours>,
    pub(super) turns: Turns,
    pub(super) messages: Messages,
    pub(super) terminals: Terminals,
    /// The parts of each call, by its session and its id.
    pub(super) calls: Recent<(String, String), Vec<Value>, CALLS>,
    /// Questions that name no call get one of these.
    pub(super) questions: u64,
}

/// A request of ours that the agent has not answered.
pub enum Ours {
    Initialize,
    /// A session begins, whose name the answer has.
    New,
    /// A session that has a name is taken up.
    TakeUp {
        session: String,
    },
    Prompt {
        session: String,
    },
    Close {
        session: String,
    },
    /// What is answered has options in it.
    Options,
    Other,
}
