//! What the background is told for rules: which there are, who works in which session, and what the user has allowed
//! there already.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::hold::Hold;
use crate::core::ids::SessionKey;
use crate::core::rules::{Request, Rule, RuleFiles};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RulesNews {
    /// These are in force for all sessions, and what is in these files.
    Are { rules: Vec<Rule>, files: RuleFiles },
    /// These are in force for a session, too: the user has made them by answers.
    OfSession { session: SessionKey, rules: Vec<Rule> },
    /// A session's agent, and the id of the mode it is in.
    Who { session: SessionKey, agent: String, mode: Option<String> },
    /// What it may do before the user is asked.
    Holds { session: SessionKey, hold: Hold },
    /// What it had changed when this number was asked for is counted, and `Holds` says what came of it: these files, in the
    /// turn and in all.
    Counted { session: SessionKey, upto: u64, turn: HashSet<PathBuf>, all: HashSet<PathBuf> },
    /// It was allowed when the agent asked for it, until the turn ends.
    Granted { session: SessionKey, request: Request },
}

impl RulesNews {
    /// The session that it is about, if it is about one.
    pub fn session_mut(&mut self) -> Option<&mut SessionKey> {
        match self {
            Self::Are { .. } => None,
            Self::OfSession { session, .. }
            | Self::Who { session, .. }
            | Self::Holds { session, .. }
            | Self::Counted { session, .. }
            | Self::Granted { session, .. } => Some(session),
        }
    }
}
