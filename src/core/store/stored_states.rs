//! Which of an agent's stored sessions it has open, for lists of them. An agent that can tell is asked before its sessions
//! are shown, and only of the first ones; the list waits a moment for that. Asking is left to others.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::ids::AgentId;
use crate::core::message::{StoredSession, StoredState};

/// So many sessions of an agent are asked about for one list.
pub const MOST_ASKED: usize = 20;

#[derive(Default)]
pub struct StoredStates {
    under_way: BTreeMap<AgentId, Asked>,
    number: u64,
}

struct Asked {
    number: u64,
    stored: Vec<StoredSession>,
    /// The sessions that the agent has yet to tell of.
    waiting: BTreeSet<String>,
}

impl StoredStates {
    /// An agent's list waits to be shown. Gives the sessions to ask about, and the number by which the time is up.
    pub fn begin(
        &mut self,
        agent: AgentId,
        stored: Vec<StoredSession>,
        is_wanted: impl Fn(&str) -> bool,
    ) -> (Vec<String>, u64) {
        let ids = stored.iter().map(|session| session.acp_id.as_str()).filter(|id| is_wanted(id));
        let waiting: BTreeSet<String> = ids.take(MOST_ASKED).map(str::to_owned).collect();
        let ids = waiting.iter().cloned().collect();
        self.number += 1;
        self.under_way.insert(agent, Asked { number: self.number, stored, waiting });
        (ids, self.number)
    }

    /// The agent has told of a session. Gives its list once that is complete.
    pub fn told(&mut self, agent: AgentId, acp_id: &str, state: StoredState) -> Option<Vec<StoredSession>> {
        let asked = self.under_way.get_mut(&agent)?;
        if asked.waiting.remove(acp_id) {
            asked.stored.iter_mut().filter(|one| one.acp_id == acp_id).for_each(|one| one.state = state);
        }
        if asked.waiting.is_empty() { self.finish(agent) } else { None }
    }

    /// The list with this number waits no longer.
    pub fn time_is_up(&mut self, agent: AgentId, number: u64) -> Option<Vec<StoredSession>> {
        let is_due = self.under_way.get(&agent).is_some_and(|asked| asked.number == number);
        if is_due { self.finish(agent) } else { None }
    }

    /// No list waits any longer.
    pub fn take_all(&mut self) -> Vec<(AgentId, Vec<StoredSession>)> {
        std::mem::take(&mut self.under_way).into_iter().map(|(agent, asked)| (agent, asked.stored)).collect()
    }

    fn finish(&mut self, agent: AgentId) -> Option<Vec<StoredSession>> {
        self.under_way.remove(&agent).map(|asked| asked.stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: AgentId = AgentId(1);

    fn stored(ids: &[&str]) -> Vec<StoredSession> {
        let one = |id: &&str| StoredSession { acp_id: (*id).into(), ..StoredSession::default() };
        ids.iter().map(one).collect()
    }

    #[test]
    fn a_list_is_complete_when_the_agent_has_told_of_all() {
        let mut states = StoredStates::default();
        let (ids, number) = states.begin(AGENT, stored(&["a", "b", "c"]), |id| id != "b");
        assert_eq!(ids, ["a", "c"]);
        assert_eq!(states.told(AGENT, "a", StoredState::Open), None);
        assert_eq!(states.told(AGENT, "b", StoredState::Open), None, "nobody has asked");
        let list = states.told(AGENT, "c", StoredState::Gone).expect("a list");
        let states_of: Vec<_> = list.iter().map(|one| one.state).collect();
        assert_eq!(states_of, [StoredState::Open, StoredState::Saved, StoredState::Gone]);
        assert_eq!(states.time_is_up(AGENT, number), None);
        assert_eq!(states.told(AGENT, "a", StoredState::Saved), None, "it is shown already");
    }

    #[test]
    fn a_list_is_shown_with_what_was_told_in_time() {
        let mut states = StoredStates::default();
        let (_, first) = states.begin(AGENT, stored(&["a"]), |_| true);
        let (_, second) = states.begin(AGENT, stored(&["a", "b"]), |_| true);
        states.told(AGENT, "b", StoredState::Open);
        assert_eq!(states.time_is_up(AGENT, first), None);
        let list = states.time_is_up(AGENT, second).expect("a list");
        assert_eq!(list[1].state, StoredState::Open);
        states.begin(AGENT, stored(&["a"]), |_| true);
        assert_eq!(states.take_all(), [(AGENT, stored(&["a"]))]);
    }

    #[test]
    fn of_many_sessions_only_the_first_are_asked_about() {
        let many: Vec<String> = (100..100 + 10 * MOST_ASKED).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (ids, _) = StoredStates::default().begin(AGENT, stored(&many), |_| true);
        assert_eq!(ids, many[..MOST_ASKED]);
    }
}
