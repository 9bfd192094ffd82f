//! The subagents of one agent: whose work they do, where, and whether they can be cancelled. An agent announces each
//! before anything else of it; what comes too early is kept for a moment. What they say and do is told to the core
//! as a part of the session that they work for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::pending_questions::EndReason;
use super::sessions::Session;
use super::state::Connection;
use crate::acp::terminals::agent_terminals::AgentTerminals;
use crate::acp::wire::from_acp::Roots;
use crate::acp::wire::to_acp;
use crate::core::ids::{SessionKey, SubagentId};
use crate::core::message::{Branch, Place, SubagentPatch, SubagentState};

/// Updates kept for sessions that nobody has told of.
const MAX_EARLY: usize = 100;

/// An agent that announces more is broken.
const MAX_KNOWN: usize = 10_000;

pub struct Subagent {
    /// The session of ours that it works for in the end.
    pub session: SessionKey,
    /// The subagent that it works for, where that is another one.
    parent: Option<SubagentId>,
    roots: Roots,
    can_cancel: bool,
    is_working: bool,
    pub terminals: AgentTerminals,
}

#[derive(Default)]
pub struct Subagents {
    known: HashMap<SubagentId, Subagent>,
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

    fn take_early(&mut self, id: &SubagentId) -> Vec<Value> {
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

impl Connection {
    /// Whose update or request names this session.
    pub(super) fn actor(&self, acp_id: &str) -> Option<Actor> {
        if let Some(known) = self.sessions.find(acp_id) {
            return Some(Actor { session: known.key, branch: None });
        }
        let (id, subagent) = self.subagents.find(acp_id)?;
        Some(Actor { session: subagent.session, branch: Some(Branch::Subagent(id.clone())) })
    }

    pub(super) fn place_of(&self, actor: &Actor) -> Option<Arc<Place>> {
        let place = self.sessions.get(actor.session)?.place.clone();
        match actor.subagent() {
            Some(id) => Some(Arc::new(self.subagents.place(id, &place))),
            None => Some(place),
        }
    }

    /// The terminals that only the agent has, of whoever runs them.
    pub(super) fn agent_terminals<'c>(
        sessions: &'c mut super::sessions::Sessions,
        subagents: &'c mut Subagents,
        actor: &Actor,
    ) -> Option<&'c mut AgentTerminals> {
        match actor.subagent() {
            Some(id) => subagents.get_mut(id).map(|subagent| &mut subagent.terminals),
            None => sessions.get_mut(actor.session).map(|known: &mut Session| &mut known.agent_terminals),
        }
    }

    /// Takes in what is told of a subagent. Gives what came of it before it was announced, and
    /// nothing where it is to be ignored.
    pub(super) fn subagent_told(
        &mut self,
        teller: &Actor,
        patch: &SubagentPatch,
        roots: Roots,
    ) -> Option<Vec<Value>> {
        let is_new = !self.subagents.known.contains_key(&patch.id);
        let is_ours = self.sessions.find(&patch.id.0).is_some();
        if is_new && (is_ours || self.subagents.known.len() >= MAX_KNOWN) {
            self.log.note("a subagent that is a session of the user's, or one of too many");
            return None;
        }
        let place = self.place_of(teller)?;
        let generation = self.sessions.next_generation();
        let agent = self.agent;
        let known = self.subagents.known.entry(patch.id.clone()).or_insert_with(|| {
            let mut terminals = AgentTerminals::new(teller.session, agent, place.cwd.clone());
            terminals.generation = generation;
            Subagent {
                session: teller.session,
                parent: teller.subagent().cloned(),
                roots: Roots::default(),
                can_cancel: false,
                is_working: false,
                terminals,
            }
        });
        known.roots.cwd = roots.cwd.or(known.roots.cwd.take());
        known.roots.additional = roots.additional.or(known.roots.additional.take());
        known.can_cancel = patch.can_cancel.unwrap_or(known.can_cancel);
        if let Some(state) = &patch.state {
            let works = state.as_ref().is_some_and(SubagentState::is_working);
            if works && !std::mem::replace(&mut known.is_working, works) {
                known.terminals.begin_turn();
            }
            known.is_working = works;
        }
        let session = known.session;
        if let Some(Some(SubagentState::Idle { .. })) = &patch.state {
            let over = known.terminals.end_all();
            self.tell(&Actor { session, branch: Some(Branch::Subagent(patch.id.clone())) }, over);
            self.withdraw(&EndReason::SubagentIdle(session, &patch.id));
        }
        Some(if is_new { self.subagents.take_early(&patch.id) } else { Vec::new() })
    }

    /// Stops one subagent, as long as the agent offers that.
    pub(super) fn cancel_subagent(&mut self, id: &SubagentId) {
        if self.subagents.get_mut(id).is_some_and(|subagent| subagent.can_cancel) {
            self.outbox.notify(to_acp::SESSION_CANCEL, &to_acp::cancel(&id.0));
        }
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
