//! The subagents of one agent: whose work they do, where, and whether they can be cancelled. An agent announces each
//! before anything else of it; what comes too early is kept for a moment. What is made of what is told of them is
//! left to `subagent_updates`.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use crate::acp::terminals::agent_terminals::AgentTerminals;
use crate::acp::wire::from_acp::Roots;
use crate::core::ids::{SessionKey, SubagentId};
use crate::core::message::{Branch, Place};

/// Updates kept for sessions that nobody has told of.
const MAX_EARLY: usize = 100;

/// An agent that announces more is broken.
pub const MAX_KNOWN: usize = 10_000;

pub struct Subagent {
    /// The session of ours that it works for in the end.
    pub session: SessionKey,
    /// The subagent that it works for, where that is another one.
    pub parent: Option<SubagentId>,
    pub roots: Roots,
    pub can_cancel: bool,
    pub is_working: bool,
    pub terminals: AgentTerminals,
}

#[derive(Default)]
pub struct Subagents {
    pub known: HashMap<SubagentId, Subagent>,
    early: VecDeque<(String, Value)>,
}

/// Who an update is of, or who asks: a session of ours, or what works for it.
#[derive(Clone, Debug)]
pub struct Actor {
    pub session: SessionKey,
    pub branch: Option<Branch>,
}

impl Actor {
    pub fn subagent(&self) -> Option<&SubagentId> {
        match &self.branch {
            Some(Branch::Subagent(id)) => Some(id),
            _ => None,
        }
    }
}

impl Subagents {
    pub fn find(&self, acp_id: &str) -> Option<(&SubagentId, &Subagent)> {
        self.known.get_key_value(&SubagentId(acp_id.to_owned()))
    }

    pub fn get_mut(&mut self, id: &SubagentId) -> Option<&mut Subagent> {
        self.known.get_mut(id)
    }

    pub fn forget(&mut self, session: SessionKey) {
        self.known.retain(|_, subagent| subagent.session != session);
    }

    /// Keeps an update of a session that may be announced yet. Says whether there was room.
    pub fn keep(&mut self, acp_id: String, params: Value) -> bool {
        let has_room = self.early.len() < MAX_EARLY;
        if !has_room {
            self.early.pop_front();
        }
        self.early.push_back((acp_id, params));
        has_room
    }

    pub fn take_early(&mut self, id: &SubagentId) -> Vec<Value> {
        let (its, others) =
            std::mem::take(&mut self.early).into_iter().partition(|(acp_id, _)| *acp_id == id.0);
        self.early = others;
        let its: VecDeque<(String, Value)> = its;
        its.into_iter().map(|(_, params)| params).collect()
    }

    /// Where a subagent works: what it doesn't say is as with the one that it works for.
    pub fn place(&self, id: &SubagentId, of_session: &Place) -> Place {
        let mut place = of_session.clone();
        let (mut cwd, mut additional) = (None, None);
        let mut next = Some(id);
        // One that works for itself in the end is an agent's mistake.
        for _ in 0..MAX_EARLY {
            let Some(subagent) = next.and_then(|id| self.known.get(id)) else { break };
            cwd = cwd.or_else(|| subagent.roots.cwd.clone().flatten());
            additional = additional.or_else(|| subagent.roots.additional.clone().flatten());
            next = subagent.parent.as_ref();
        }
        place.cwd = cwd.unwrap_or(place.cwd);
        place.additional = additional.unwrap_or(place.additional);
        place
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::ids::AgentId;

    fn subagent(parent: Option<&str>, roots: Roots) -> Subagent {
        Subagent {
            session: SessionKey(1),
            parent: parent.map(|id| SubagentId(id.into())),
            roots,
            can_cancel: false,
            is_working: false,
            terminals: AgentTerminals::new(SessionKey(1), AgentId(1), PathBuf::new()),
        }
    }

    fn roots(cwd: &str) -> Roots {
        Roots { cwd: Some(Some(cwd.into())), ..Roots::default() }
    }

    #[test]
    fn each_root_is_inherited_by_itself() {
        let mut all = Subagents::default();
        let id = |id: &str| SubagentId(id.into());
        all.known.insert(id("a"), subagent(None, roots("/a")));
        let folders = Roots { cwd: Some(None), additional: Some(Some(vec!["/more".into()])) };
        all.known.insert(id("b"), subagent(Some("a"), folders));
        all.known.insert(id("c"), subagent(Some("c"), Roots::default()));
        let place = Place { cwd: "/p".into(), additional: vec!["/q".into()], ..Place::default() };
        let of = |name: &str| {
            let place = all.place(&id(name), &place);
            (place.cwd, place.additional)
        };
        assert_eq!(of("a"), ("/a".into(), vec!["/q".into()]));
        assert_eq!(of("b"), ("/a".into(), vec!["/more".into()]));
        assert_eq!(of("c"), ("/p".into(), vec!["/q".into()]), "it can't work for itself");
    }

    #[test]
    fn what_comes_early_is_kept_in_order_and_not_without_end() {
        let mut all = Subagents::default();
        for number in 0..MAX_EARLY {
            assert!(all.keep("a".into(), number.into()));
        }
        assert!(!all.keep("b".into(), 0.into()));
        let numbers: Vec<Value> = (1..MAX_EARLY).map(Value::from).collect();
        assert_eq!(all.take_early(&SubagentId("a".into())), numbers);
        assert_eq!(all.take_early(&SubagentId("b".into())), [Value::from(0)]);
        assert_eq!(all.take_early(&SubagentId("b".into())), Vec::<Value>::new());
    }
}
