//! One session as the background knows it: by which name the agent calls it, whether a turn runs in
//! it, and what the agent shows in it. What is shown is kept by the core, not here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::acp::processes::escaped::Span;
use crate::acp::terminals::agent_terminals::AgentTerminals;
use crate::acp::wire::fast_path::SessionNames;
use crate::core::ids::{AgentId, SessionKey, TerminalId};
use crate::core::message::{ConfigOption, Content, OptionKind, OptionValue, Place};

pub struct Session {
    pub key: SessionKey,
    pub acp_id: String,
    pub place: Arc<Place>,
    pub turn: Option<Turn>,
    /// The agent has begun a turn by itself.
    pub detached: bool,
    /// The agent still shows what was said before; it takes no prompt until it is done.
    pub loading: bool,
    /// Prompts that came while a turn was running, or before the session was ready for one.
    pub waiting: VecDeque<Vec<Content>>,
    /// As last heard, for agents that confirm a choice without the list.
    pub options: Vec<ConfigOption>,
    /// The terminals that only the agent has.
    pub agent_terminals: AgentTerminals,
    pub left: Left,
}

/// What may go on of turns that were stopped.
#[derive(Default)]
pub struct Left {
    /// When these turns ran.
    pub turns: Vec<Span>,
    /// Which watch over it counts: the last one.
    pub watch: Arc<AtomicU64>,
}

#[derive(Default)]
pub struct Turn {
    pub cancelled: bool,
    /// In the ticks of processes' starts.
    pub began: u64,
    /// Commands that the agent ran in this turn and has not released.
    pub terminals: Vec<TerminalId>,
}

impl Session {
    pub fn new(agent: AgentId, key: SessionKey, acp_id: String, place: Arc<Place>) -> Self {
        Self {
            agent_terminals: AgentTerminals::new(key, agent, place.cwd.clone()),
            key,
            acp_id,
            place,
            turn: None,
            loading: false,
            detached: false,
            waiting: VecDeque::new(),
            options: Vec::new(),
            left: Left::default(),
        }
    }

    /// The options with one changed.
    pub fn options_with(&self, id: &str, value: &OptionValue) -> Vec<ConfigOption> {
        let mut options = self.options.clone();
        for option in options.iter_mut().filter(|option| option.id == id) {
            match (&mut option.kind, value) {
                (OptionKind::Select { current, .. }, OptionValue::Value(value)) => current.clone_from(value),
                (OptionKind::Toggle { current }, OptionValue::Toggle(value)) => *current = *value,
                _ => {}
            }
        }
        options
    }
}

/// The sessions of one agent, by our name and by its own.
pub struct Sessions {
    by_key: BTreeMap<SessionKey, Session>,
    names: SessionNames,
    count: u32,
}

impl Sessions {
    pub fn new(names: SessionNames) -> Self {
        Self { by_key: BTreeMap::new(), names, count: 0 }
    }

    /// Tells apart those who run terminals under the same key.
    pub fn next_generation(&mut self) -> u32 {
        self.count += 1;
        self.count
    }

    pub fn insert(&mut self, mut session: Session) {
        session.agent_terminals.generation = self.next_generation();
        self.names.lock().insert(session.acp_id.clone(), session.key);
        self.by_key.insert(session.key, session);
    }

    pub fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let session = self.by_key.remove(&key)?;
        // The agent's name may be that of another session of ours by now.
        let mut names = self.names.lock();
        if names.get(&session.acp_id) == Some(&key) {
            names.remove(&session.acp_id);
        }
        drop(names);
        Some(session)
    }

    pub fn get(&self, key: SessionKey) -> Option<&Session> {
        self.by_key.get(&key)
    }

    pub fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.by_key.get_mut(&key)
    }

    /// Whether a turn runs in any of them.
    pub fn any_turn(&self) -> bool {
        self.by_key.values().any(|session| session.turn.is_some())
    }

    pub fn find(&self, acp_id: &str) -> Option<&Session> {
        self.by_key.get(self.names.lock().get(acp_id)?)
    }

    pub fn any(&self) -> Option<&Session> {
        self.by_key.values().min_by_key(|session| session.key)
    }

    pub fn keys(&self) -> Vec<SessionKey> {
        self.by_key.keys().copied().collect()
    }
}
