//! Earlier sessions, from the record and from the agents that run. Agents are asked when the list is
//! to open, which waits for them a moment: what they say in time is in it. What a list looks like and
//! where its items lead is left to `sessions`.

use std::collections::BTreeSet;
use std::time::Duration;

use mlua::Result;

use crate::core::ids::AgentId;
use crate::core::message::StoredSession;
use crate::core::store::record::Kept;
use crate::core::store::stored_sessions::{Listed, join};
use crate::nvim::app::App;

/// How long the list waits for agents.
const PATIENCE: Duration = Duration::from_millis(400);

/// What is known so far.
#[derive(Default)]
pub struct Gathering {
    under_way: Option<Gathered>,
    number: u64,
    /// Agents that have yet to answer, and whose answer nobody waits for.
    late: BTreeSet<AgentId>,
}

struct Gathered {
    words: Vec<String>,
    kept: Vec<Kept>,
    listed: Vec<Listed>,
    waiting: BTreeSet<AgentId>,
}

impl App {
    /// Asks all agents that can tell, and lets the user choose.
    pub fn gather_sessions(&mut self, words: Vec<String>, kept: Vec<Kept>) -> Result<()> {
        let can = self.agents().into_iter().map(|(agent, info)| (agent, info.can));
        let agents: BTreeSet<AgentId> =
            can.filter(|(_, can)| can.list && (can.load || can.resume)).map(|(agent, _)| agent).collect();
        self.deleting = false;
        self.gathering.number += 1;
        let number = self.gathering.number;
        let waiting = agents.clone();
        self.gathering.under_way = Some(Gathered { words, kept, listed: Vec::new(), waiting });
        if agents.is_empty() {
            return self.offer_gathered();
        }
        let root = self.cx.root();
        for agent in agents {
            self.list_for_gathering(agent, root.clone())?;
        }
        crate::nvim::later(&self.cx.editor.lua, PATIENCE, move |app| match app.gathering.number == number {
            true => app.offer_gathered(),
            false => Ok(()),
        })
    }

    /// An agent has told all the sessions that it stores.
    pub fn told_stored(&mut self, agent: AgentId, stored: Vec<StoredSession>) -> Result<()> {
        let name = self.configured_name(agent).unwrap_or_default();
        if let Some(gathered) = &mut self.gathering.under_way
            && gathered.waiting.remove(&agent)
        {
            gathered.listed.extend(stored.into_iter().map(|stored| (agent, name.clone(), stored)));
            return match gathered.waiting.is_empty() {
                true => self.offer_gathered(),
                false => Ok(()),
            };
        }
        match self.gathering.late.remove(&agent) {
            true => Ok(()),
            false => self.offer_stored(agent, stored),
        }
    }

    /// What an agent tells next is what the user wants to see.
    pub fn listen_to(&mut self, agent: AgentId) {
        self.gathering.late.remove(&agent);
        if let Some(gathered) = &mut self.gathering.under_way {
            gathered.waiting.remove(&agent);
        }
    }

    fn offer_gathered(&mut self) -> Result<()> {
        let Some(Gathered { words, kept, mut listed, waiting }) = self.gathering.under_way.take() else {
            return Ok(());
        };
        // What is open is in the list as that.
        listed.retain(|(_, name, stored)| !self.is_open(name, &stored.acp_id));
        let root = self.cx.root();
        let earlier = join(kept, listed, &root, &words);
        let late: Vec<AgentId> = waiting.iter().copied().filter(|_| words.is_empty()).collect();
        self.gathering.late.extend(waiting);
        self.offer_sessions(&words, earlier, late, &root)
    }

    fn is_open(&self, name: &str, acp_id: &str) -> bool {
        self.cx.sessions.values().any(|session| {
            let id = session.acp_id.as_deref().or(session.taking_up.as_ref().map(|(id, _)| id.as_str()));
            session.agent_name == name && id == Some(acp_id)
        })
    }
}
