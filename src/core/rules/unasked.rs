//! What an agent has done without asking anybody, to be held against the rules afterwards: what rules would have asked
//! about or rejected is marked. Which acts were judged before they were done is known by the caller.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::request::Request;
use super::rule::Decision;
use crate::core::ids::ToolCallId;
use crate::core::text::{cut, one_line};

/// A rule is read, not studied.
const MAX_REASON_BYTES: usize = 300;

/// Something that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnaskedAction {
    /// The tool call behind it, where one can be told.
    pub call: Option<ToolCallId>,
    pub request: Request,
    /// It was found done, rather than told of.
    pub is_found: bool,
    /// What the call did as a whole, where this is only what was found of it.
    pub part_of: Option<Request>,
    /// Whoever decides was asked about the call, which says nothing of this file.
    pub of_asked: Option<PathBuf>,
}

/// What is done by a session that works here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnaskedActions {
    pub cwd: PathBuf,
    pub folders: Vec<PathBuf>,
    pub done: Vec<UnaskedAction>,
}

/// A rule that was not asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unasked {
    pub decision: Decision,
    pub rule: String,
    /// The file that was changed by what was asked about or allowed, and not named by it.
    pub of_asked: Option<PathBuf>,
}

impl Unasked {
    /// For the user, on one line.
    pub fn words(&self) -> String {
        let rule = one_line(cut(&self.rule, MAX_REASON_BYTES));
        match &self.of_asked {
            Some(file) => {
                let file = one_line(cut(&file.to_string_lossy(), MAX_REASON_BYTES));
                format!("It changed {file} without asking: {rule}")
            }
            None => format!("Done without asking: {rule}"),
        }
    }

    /// How loud that is said.
    pub fn group(&self) -> &'static str {
        if self.decision == Decision::Reject { "AcpDanger" } else { "AcpToolWaiting" }
    }
}
