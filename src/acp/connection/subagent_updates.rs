//! What an agent tells of its subagents, and what the user wants of them. What they say and do is told to the core as
//! a part of the session that they work for; who that is, `subagents` knows.

use std::sync::Arc;

use serde_json::Value;

use super::pending_questions::EndReason;
use super::sessions::{Session, Sessions};
use super::state::Connection;
use super::subagents::{Actor, MAX_KNOWN, Subagent, Subagents};
use crate::acp::terminals::agent_terminals::AgentTerminals;
use crate::acp::wire::from_acp::Roots;
use crate::acp::wire::to_acp;
use crate::core::ids::SubagentId;
use crate::core::message::{Branch, Place, SubagentPatch, SubagentState};

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
        sessions: &'c mut Sessions,
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
