//! One session that works for another, and what such sessions say to each other: what each word about them changes.
//! Where they stand among a session's entries is left to `subagents`.

use crate::core::ids::{Moment, SubagentId};
use crate::core::message::{Cost, SubagentPatch, SubagentState};
use crate::core::text::{cut, one_line};

/// A longer title or role is read by nobody.
const MOST_TITLE: usize = 1024;

/// A session that works for another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Subagent {
    pub id: SubagentId,
    title: Option<String>,
    /// What it is for, such as `general-purpose`.
    pub role: Option<String>,
    pub state: Option<SubagentState>,
    can_cancel: bool,
    /// The user wanted it to stop, and it is still at work.
    pub cancelling: bool,
    /// When it began what it works on.
    since: Option<Moment>,
    /// For how long it worked before that, in milliseconds.
    worked: u64,
    /// For how long it has worked in all, as of the last look at the clock.
    pub took: u64,
    /// How much of its context is used.
    pub used: Option<u64>,
    pub cost: Option<Cost>,
}

/// What one session said to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relayed {
    /// What they are called; none where the agent has not said.
    pub from: Option<String>,
    pub to: Option<String>,
    pub text: String,
}

impl Subagent {
    pub fn new(id: SubagentId) -> Self {
        Self {
            id,
            title: None,
            role: None,
            state: None,
            can_cancel: false,
            cancelling: false,
            since: None,
            worked: 0,
            took: 0,
            used: None,
            cost: None,
        }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        let title = self.title.as_deref().or(self.role.as_deref());
        title.filter(|title| !title.is_empty()).unwrap_or("subagent")
    }

    pub fn is_working(&self) -> bool {
        self.state.as_ref().is_some_and(SubagentState::is_working)
    }

    /// Whether the user may stop it by itself.
    pub fn can_be_cancelled(&self) -> bool {
        self.can_cancel && !self.cancelling && self.is_working()
    }

    /// Why it did not do what it was to do.
    pub fn failure(&self) -> Option<&str> {
        match &self.state {
            Some(SubagentState::Idle { error: Some(error), .. }) if error.is_empty() => {
                Some("the agent doesn't say why")
            }
            Some(SubagentState::Idle { error: Some(error), .. }) => Some(error),
            _ => None,
        }
    }

    pub fn patch(&mut self, patch: SubagentPatch, now: Moment) {
        let short = |text: Option<String>| {
            text.map(|text| one_line(cut(&text, MOST_TITLE))).filter(|text| !text.is_empty())
        };
        if let Some(title) = patch.title {
            self.title = short(title);
        }
        if let Some(role) = patch.description {
            self.role = short(role);
        }
        self.can_cancel = patch.can_cancel.unwrap_or(self.can_cancel);
        if let Some(state) = patch.state {
            self.turn_to(state, now);
        }
    }

    fn turn_to(&mut self, state: Option<SubagentState>, now: Moment) {
        self.state = state;
        if self.is_working() {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.worked += now.since(since);
            self.cancelling = false;
        }
        self.look_at_clock(now);
    }

    pub fn look_at_clock(&mut self, now: Moment) {
        self.took = self.worked + self.since.map_or(0, |since| now.since(since));
    }
}
