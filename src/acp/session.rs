//! One session as the background knows it: by which name the agent calls it, whether a turn runs in
//! it, and what the agent shows in it. What is shown is kept by the core, not here.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use crate::core::message::{
    ConfigOption, Content, Event, Exit, OptionKind, OptionValue, Place, SessionKey, TerminalId, ToolCallId,
    ToolCallPatch, ToolContent, Update,
};

pub struct Session {
    pub key: SessionKey,
    pub acp_id: String,
    pub place: Arc<Place>,
    pub turn: Option<Turn>,
    /// Prompts that came while a turn was running.
    pub waiting: VecDeque<Vec<Content>>,
    /// As last heard, for agents that confirm a choice without the list.
    pub options: Vec<ConfigOption>,
    /// The terminals that only the agent has.
    foreign: HashMap<TerminalId, Foreign>,
}

/// A terminal that the agent has itself, and tells of.
enum Foreign {
    /// A tool call shows it, and nothing else is known.
    Named,
    Started {
        /// Its output ended in a carriage return.
        returned: bool,
    },
    /// It is no terminal at all: no call shows it, so this is the call's own output.
    Text(String),
}

/// The most that is kept of a call's own output; of more, the end is.
const MOST_TEXT: usize = 64 << 10;

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
            foreign: HashMap::new(),
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

    /// A tool call shows terminals; those that are not ours may get output from the agent.
    pub fn name_terminals(&mut self, content: &[ToolContent]) {
        for item in content {
            if let ToolContent::Terminal(terminal) = item {
                self.foreign.entry(terminal.clone()).or_insert(Foreign::Named);
            }
        }
    }

    pub fn start_terminal(&mut self, terminal: TerminalId, command: String, cwd: Option<PathBuf>) -> Event {
        self.foreign.insert(terminal.clone(), Foreign::Started { returned: false });
        let cwd = cwd.unwrap_or_else(|| self.place.cwd.clone());
        Event::TerminalStarted { session: self.key, terminal, command, cwd }
    }

    /// What output of a call's becomes: a terminal's, or text in the call where no terminal is shown.
    pub fn grow(&mut self, call: ToolCallId, terminal: TerminalId, text: &str) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(Foreign::Named) = self.foreign.get(&terminal) {
            events.push(self.start_terminal(terminal.clone(), String::new(), None));
        }
        let session = self.key;
        match self.foreign.entry(terminal.clone()).or_insert_with(|| Foreign::Text(String::new())) {
            Foreign::Started { returned } => {
                let bytes = as_from_a_terminal(text, returned);
                events.push(Event::TerminalGrew { session, terminal, bytes, skipped: 0 });
            }
            Foreign::Named => {}
            Foreign::Text(all) => {
                all.push_str(text);
                let surplus = all.len().saturating_sub(MOST_TEXT);
                let cut = (surplus..all.len()).find(|at| all.is_char_boundary(*at)).unwrap_or(surplus);
                all.drain(..cut);
                let content = Some(vec![ToolContent::Content(Content::Text(all.clone()))]);
                let patch = ToolCallPatch { content, ..ToolCallPatch::new(call.0) };
                events.push(Event::Updated { session, update: Update::ToolCall(Box::new(patch)) });
            }
        }
        events
    }

    pub fn end_terminal(&mut self, terminal: TerminalId, exit: Exit) -> Option<Event> {
        let started = matches!(self.foreign.get(&terminal), Some(Foreign::Started { .. }));
        started.then_some(Event::TerminalEnded { session: self.key, terminal, exit })
    }
}

/// Output as a terminal would have made it: an agent that ran the command without one has plain
/// line ends.
fn as_from_a_terminal(text: &str, returned: &mut bool) -> Vec<u8> {
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

    fn session() -> Session {
        Session::new(SessionKey(1), "s".into(), Arc::default())
    }

    fn grow(session: &mut Session, text: &str) -> Vec<Event> {
        session.grow(ToolCallId("c".into()), TerminalId("t".into()), text)
    }

    #[test]
    fn plain_line_ends_get_the_carriage_return_that_a_terminal_adds() {
        let mut returned = false;
        assert_eq!(as_from_a_terminal("a\nb\r\nc\r", &mut returned), b"a\r\nb\r\nc\r");
        assert_eq!(as_from_a_terminal("\nd\n", &mut returned), b"\nd\r\n");
    }

    #[test]
    fn a_terminal_that_a_call_shows_is_started_with_its_first_output() {
        let mut session = session();
        session.name_terminals(&[ToolContent::Terminal(TerminalId("t".into()))]);
        assert!(matches!(
            grow(&mut session, "a")[..],
            [Event::TerminalStarted { .. }, Event::TerminalGrew { .. }]
        ));
        assert!(matches!(grow(&mut session, "b")[..], [Event::TerminalGrew { .. }]));
        assert!(session.end_terminal(TerminalId("t".into()), Exit::default()).is_some());
    }

    #[test]
    fn output_of_no_terminal_is_the_calls_text() {
        let mut session = session();
        let shown = |events: Vec<Event>| match &events[..] {
            [Event::Updated { update: Update::ToolCall(patch), .. }] => patch.content.clone(),
            other => panic!("something else: {other:?}"),
        };
        let text = |text: &str| Some(vec![ToolContent::Content(Content::Text(text.into()))]);
        assert_eq!(shown(grow(&mut session, "a")), text("a"));
        assert_eq!(shown(grow(&mut session, "b")), text("ab"));
        let long = "é".repeat(MOST_TEXT);
        assert_eq!(shown(grow(&mut session, &long)), text(&"é".repeat(MOST_TEXT / 2)));
        assert_eq!(session.end_terminal(TerminalId("t".into()), Exit::default()), None);
    }
}
