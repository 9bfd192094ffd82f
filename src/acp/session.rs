//! One session as the background knows it: by which name the agent calls it, whether a turn runs in
//! it, and what the agent shows in it. What is shown is kept by the core, not here.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::core::message::{ConfigOption, Content, OptionKind, OptionValue, Place, SessionKey, TerminalId};

pub struct Session {
    pub key: SessionKey,
    pub acp_id: String,
    pub place: Arc<Place>,
    pub turn: Option<Turn>,
    /// Prompts that came while a turn was running.
    pub waiting: VecDeque<Vec<Content>>,
    /// As last heard, for agents that confirm a choice without the list.
    pub options: Vec<ConfigOption>,
    /// The terminals that only the agent has, each with whether its output ends in a carriage return.
    pub shown: HashMap<TerminalId, bool>,
}

#[derive(Default)]
pub struct Turn {
    pub cancelled: bool,
    /// Commands that the agent ran in this turn and has not released.
    pub terminals: Vec<TerminalId>,
}

impl Session {
    pub fn new(key: SessionKey, acp_id: String, place: Arc<Place>) -> Self {
        Self {
            key,
            acp_id,
            place,
            turn: None,
            waiting: VecDeque::new(),
            options: Vec::new(),
            shown: HashMap::new(),
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

    /// Output as a terminal would have got it: an agent that ran the command without one has plain
    /// line ends.
    pub fn raw_output(&mut self, terminal: &TerminalId, text: &str) -> Vec<u8> {
        let returned = self.shown.entry(terminal.clone()).or_default();
        let mut bytes = Vec::with_capacity(text.len() + text.len() / 16);
        for byte in text.bytes() {
            if byte == b'\n' && !*returned {
                bytes.push(b'\r');
            }
            *returned = byte == b'\r';
            bytes.push(byte);
        }
        bytes
    }
}

/// The sessions of one agent, by our name and by its own.
#[derive(Default)]
pub struct Sessions {
    by_key: HashMap<SessionKey, Session>,
    by_acp_id: HashMap<String, SessionKey>,
}

impl Sessions {
    pub fn insert(&mut self, session: Session) {
        self.by_acp_id.insert(session.acp_id.clone(), session.key);
        self.by_key.insert(session.key, session);
    }

    pub fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let session = self.by_key.remove(&key)?;
        // The agent's name may be that of another session of ours by now.
        if self.by_acp_id.get(&session.acp_id) == Some(&key) {
            self.by_acp_id.remove(&session.acp_id);
        }
        Some(session)
    }

    pub fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        self.by_key.get_mut(&key)
    }

    pub fn find(&self, acp_id: &str) -> Option<&Session> {
        self.by_key.get(self.by_acp_id.get(acp_id)?)
    }

    pub fn any(&self) -> Option<&Session> {
        self.by_key.values().min_by_key(|session| session.key)
    }

    pub fn keys(&self) -> Vec<SessionKey> {
        self.by_key.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_line_ends_get_the_carriage_return_that_a_terminal_adds() {
        let mut session = Session::new(SessionKey(1), "s".into(), Arc::default());
        let terminal = TerminalId("t".into());
        assert_eq!(session.raw_output(&terminal, "a\nb\r\nc\r"), b"a\r\nb\r\nc\r");
        assert_eq!(session.raw_output(&terminal, "\nd\n"), b"\nd\r\n");
    }
}
