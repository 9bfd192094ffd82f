//! The list of earlier sessions: has the agents asked for those that they store, and opens it when they have
//! answered or took too long. Which of them are in it is `core::store::gathering`'s part.

use std::collections::BTreeSet;
use std::time::Duration;

use mlua::Result;

use crate::core::ids::AgentId;
use crate::core::message::{Command, StoredSession, StoredState};
use crate::core::store::gathering::{Gathered, Step};
use crate::core::store::record::Kept;
use crate::core::store::stored_sessions::join;
use crate::nvim::context::Context;
use crate::nvim::sessions::record::open_with;
use crate::nvim::sessions::{Purpose, Sessions};

/// How long the list waits for agents.
const PATIENCE: Duration = Duration::from_millis(400);

impl Sessions {
    /// Asks all agents that can tell, and lets the user choose.
    pub(super) fn gather(
        &mut self,
        cx: &mut Context,
        purpose: Purpose,
        words: Vec<String>,
        kept: Vec<Kept>,
    ) -> Result<()> {
        let can = self.processes.ready().into_iter().map(|(agent, info)| (agent, info.can));
        let agents: BTreeSet<AgentId> = can
            .filter(|(_, can)| can.list && (can.load || can.resume || purpose != Purpose::TakeUp))
            .map(|(agent, _)| agent)
            .collect();
        self.listing_for = purpose;
        let number = self.gathering.begin(words, kept, agents.clone());
        if agents.is_empty() {
            return self.offer_in_time(cx, number);
        }
        let root = cx.root();
        for agent in agents {
            self.list_for_gathering(cx, agent, root.clone());
        }
        cx.later(PATIENCE, move |sessions: &mut Self, cx| sessions.offer_in_time(cx, number))
    }

    fn offer_in_time(&mut self, cx: &mut Context, number: u64) -> Result<()> {
        // The list goes without what agents are yet to say of their sessions.
        for (agent, stored) in self.states.take_all() {
            self.complete(cx, agent, stored)?;
        }
        match self.gathering.time_is_up(number) {
            Some(gathered) => self.offer_gathered(cx, gathered),
            None => Ok(()),
        }
    }

    /// An agent has told all the sessions that it stores. If it can tell which of them it has open, it is asked, and the
    /// list waits a moment for that.
    pub(super) fn listed_all(
        &mut self,
        cx: &mut Context,
        agent: AgentId,
        stored: Vec<StoredSession>,
    ) -> Result<()> {
        if !self.processes.info(agent).is_some_and(|info| info.can.status) {
            return self.complete(cx, agent, stored);
        }
        let name = self.configured_name(agent).unwrap_or_default();
        let (acp_ids, number) = self.states.begin(agent, stored, |id| open_with(cx, &name, id).is_none());
        if acp_ids.is_empty() {
            return self.states_in_time(cx, agent, number);
        }
        cx.send(Command::AskStatus { agent, acp_ids });
        cx.later(PATIENCE, move |sessions: &mut Self, cx| sessions.states_in_time(cx, agent, number))
    }

    fn states_in_time(&mut self, cx: &mut Context, agent: AgentId, number: u64) -> Result<()> {
        match self.states.time_is_up(agent, number) {
            Some(stored) => self.complete(cx, agent, stored),
            None => Ok(()),
        }
    }

    /// An agent has told whether it has a stored session open.
    pub fn status_told(
        &mut self,
        cx: &mut Context,
        agent: AgentId,
        acp_id: &str,
        state: StoredState,
    ) -> Result<()> {
        match self.states.told(agent, acp_id, state) {
            Some(stored) => self.complete(cx, agent, stored),
            None => Ok(()),
        }
    }

    fn complete(&mut self, cx: &mut Context, agent: AgentId, stored: Vec<StoredSession>) -> Result<()> {
        let name = self.configured_name(agent).unwrap_or_default();
        match self.gathering.told(agent, &name, stored) {
            Step::Nothing => Ok(()),
            Step::Offer(gathered) => self.offer_gathered(cx, gathered),
            Step::OfferAlone(stored) => self.offer_stored(cx, agent, stored),
        }
    }

    fn offer_gathered(&mut self, cx: &mut Context, gathered: Gathered) -> Result<()> {
        let Gathered { words, kept, mut listed, waiting } = gathered;
        // What is open is in the list as that.
        listed.retain(|(_, name, stored)| open_with(cx, name, &stored.acp_id).is_none());
        let root = cx.root();
        let earlier = join(kept, listed, &root, &words);
        let late: Vec<AgentId> = waiting.into_iter().filter(|_| words.is_empty()).collect();
        self.offer_sessions(cx, &words, earlier, late)
    }
}
