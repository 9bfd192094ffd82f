//! The terminals that an agent runs itself: what it tells of them, made into the events that those of
//! this client make. Agents use names again, leave out beginnings and ends, and tell either what is
//! new or all there is; here each run of a command gets a name of its own, and what is missing is
//! filled in. Commands whose output is streamed as a call's text have terminals, too. What the messages
//! look like is left to `from_acp`.

mod stream;
mod written;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::stream::{Calls, New};
use self::written::Written;
use crate::acp::wire::from_acp::{self, Data};
use crate::core::ids::{AgentId, SessionKey, TerminalId, ToolCallId};
use crate::core::message::{Content, Event, Exit, Skipped, ToolCallPatch, ToolContent, Update};
use crate::core::terminal::render::Renderer;

/// The most that is kept of a call's own output; of more, the end is.
const MOST_TEXT: usize = 64 << 10;

/// Clears a terminal with all that was scrolled out of it.
const CLEAR: &str = "\x1b[0m\x1b[H\x1b[2J\x1b[3J";

/// The terminals that only the agent has, in one session.
pub struct AgentTerminals {
    session: SessionKey,
    agent: AgentId,
    /// How many sessions the agent had before; one may be opened again under the same key.
    pub generation: u32,
    /// Where a command runs if the agent does not say.
    cwd: PathBuf,
    /// Names of calls, and often those of terminals, are used again from turn to turn.
    turn: u32,
    count: u32,
    /// By the agent's names, the last one of each.
    terminals: HashMap<TerminalId, Terminal>,
    /// What calls of this turn put out that show no terminal.
    texts: HashMap<ToolCallId, CallText>,
    /// What is known of the calls of this turn.
    calls: Calls,
}

struct Terminal {
    id: TerminalId,
    call: ToolCallId,
    turn: u32,
    state: State,
    /// The call's title, for a command line that is not told.
    title: String,
    cwd: Option<PathBuf>,
    written: Written,
    /// The output ended in a carriage return.
    returned: bool,
    /// With the usual 24 rows: no agent says how many its command has, and the user's window is not told to it.
    renderer: Renderer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A call shows it, and nothing else is known.
    Named,
    /// It was announced; its command line is still being put together.
    Announced,
    Running,
    Ended,
}

#[derive(Default)]
struct CallText {
    all: String,
    written: Written,
}

impl AgentTerminals {
    pub fn new(session: SessionKey, agent: AgentId, cwd: PathBuf) -> Self {
        Self {
            session,
            agent,
            generation: 0,
            cwd,
            turn: 0,
            count: 0,
            terminals: HashMap::new(),
            texts: HashMap::new(),
            calls: Calls::default(),
        }
    }

    pub fn begin_turn(&mut self) {
        self.turn += 1;
        self.texts.clear();
        self.calls.clear();
    }

    /// The agent runs a command. It counts as started once its command line is known; see
    /// [`Self::show`], which comes next.
    pub fn announced(&mut self, call: &ToolCallId, name: TerminalId, cwd: Option<PathBuf>) -> Vec<Event> {
        let known = self.terminals.get_mut(&name);
        if let Some(terminal) = known.filter(|known| known.is_of(call, self.turn) && !known.is_over()) {
            if terminal.state == State::Named {
                terminal.state = State::Announced;
                terminal.cwd = cwd;
            }
            return Vec::new();
        }
        // The name is used again: whatever had it before is over.
        let ended = self.ended(&name, Exit::default());
        let terminal = self.named(call, name);
        terminal.state = State::Announced;
        terminal.cwd = cwd;
        ended
    }

    /// A call shows terminals: their names become those that the editor knows them by. `ours` are those
    /// that the agent had this client make.
    pub fn show(&mut self, call: &mut ToolCallPatch, ours: impl Fn(&TerminalId) -> bool) -> Vec<Event> {
        self.calls.note(call);
        for item in call.content.iter_mut().flatten() {
            let ToolContent::Terminal(name) = item else { continue };
            if ours(name) {
                continue;
            }
            let known = self.terminals.get(name).filter(|known| known.turn == self.turn || !known.is_over());
            *name = match known {
                Some(known) => known.id.clone(),
                None => self.named(&call.id, name.clone()).id.clone(),
            };
        }
        let command = from_acp::command(call);
        // Some agents announce a call before they know its input.
        let unfinished = call.raw_input.is_some() && command.is_none();
        let mut events = Vec::new();
        for terminal in self.terminals.values_mut().filter(|known| known.is_of(&call.id, self.turn)) {
            if let Some(title) = &call.title {
                terminal.title.clone_from(title);
            }
            if terminal.state == State::Announced && !unfinished {
                events.push(terminal.start(self.session, &self.cwd, command.clone()));
            }
        }
        events
    }

    /// What output of a call's becomes: a terminal's, or text in the call where no terminal is shown.
    pub fn grew(&mut self, call: &ToolCallId, name: &TerminalId, data: &Data) -> Vec<Event> {
        let session = self.session;
        let Some(terminal) = self.terminals.get_mut(name) else { return self.grew_as_text(call, data) };
        let mut events = terminal.start_late(session, &self.cwd);
        let (anew, text) = terminal.written.what_is_new(data);
        events.extend(terminal.grow(session, anew, text));
        events
    }

    /// Output that a call brings as its text is put into a terminal, which the call then shows. Comes after
    /// [`Self::show`]. Also says whether the update is told by that and nothing of it is left.
    pub fn stream(&mut self, call: &mut ToolCallPatch) -> (Vec<Event>, bool) {
        let nothing = (Vec::new(), false);
        let Some(known) = self.calls.of(call) else { return nothing };
        let Some(content) = &call.content else { return nothing };
        let begins = !known.streams();
        if begins {
            let turn = self.turn;
            let shows_another = self.terminals.values().any(|terminal| terminal.is_of(&call.id, turn));
            let is_output = stream::text(content).is_some_and(|text| known.begins(call, &text));
            if shows_another || !is_output {
                return nothing;
            }
        }
        let (texts, mut others): (Vec<_>, Vec<_>) =
            content.iter().cloned().partition(|item| matches!(item, ToolContent::Content(Content::Text(_))));
        let text = stream::text(&texts).unwrap_or_default();
        let new = if texts.is_empty() { New::More("") } else { known.what_is_new(&text) };
        let name = TerminalId(format!("the text of {}", call.id.0));
        let (command, title, over) = (known.command.clone(), known.title.clone(), known.is_over());
        let cwd = known.cwd.as_ref().map(|cwd| self.cwd.join(cwd));
        let (session, root) = (self.session, self.cwd.clone());
        let mut events = Vec::new();
        let terminal = if begins {
            let terminal = self.named(&call.id, name);
            (terminal.title, terminal.cwd) = (title, cwd);
            events.push(terminal.start(session, &root, command));
            terminal
        } else {
            // It was named when the stream began, and names are kept as long as the turn.
            let Some(terminal) = self.terminals.get_mut(&name) else { return nothing };
            terminal
        };
        match new {
            New::More(text) => events.extend(terminal.grow(session, false, text)),
            New::Anew(text) => events.extend(terminal.grow(session, true, text)),
            New::Other => others.splice(0..0, texts).for_each(drop),
        }
        others.insert(0, ToolContent::Terminal(terminal.id.clone()));
        call.content = Some(others).filter(|shown| begins || over || shown.len() > 1);
        let told = *call == ToolCallPatch::new(&*call.id.0);
        (events, told)
    }

    fn grew_as_text(&mut self, call: &ToolCallId, data: &Data) -> Vec<Event> {
        let CallText { all, written } = self.texts.entry(call.clone()).or_default();
        let (anew, text) = written.what_is_new(data);
        if anew {
            all.clear();
        }
        all.push_str(text);
        let surplus = all.len().saturating_sub(MOST_TEXT);
        let cut = (surplus..all.len()).find(|at| all.is_char_boundary(*at)).unwrap_or(surplus);
        all.drain(..cut);
        let content = Some(vec![ToolContent::Content(Content::Text(all.clone().into()))]);
        let mut patch = ToolCallPatch { content, ..ToolCallPatch::new(call.0.clone()) };
        let (mut events, told) = self.stream(&mut patch);
        if !told {
            let update = Update::ToolCall(Box::new(patch));
            events.push(Event::Updated { session: self.session, update });
        }
        events
    }

    /// The agent says that a command is over. Of one that was taken for over, this says how it ended.
    pub fn ended(&mut self, name: &TerminalId, exit: Exit) -> Vec<Event> {
        let Some(terminal) = self.terminals.get_mut(name) else { return Vec::new() };
        if terminal.state == State::Ended && exit == Exit::default() {
            return Vec::new();
        }
        let mut events = terminal.start_late(self.session, &self.cwd);
        events.push(terminal.end(self.session, exit));
        events
    }

    /// A call is over, and its commands with it, whether the agent says that or not. `exit` is how the call
    /// itself says that they ended.
    pub fn call_over(&mut self, call: &ToolCallId, exit: &Exit) -> Vec<Event> {
        let turn = self.turn;
        self.end(|terminal| terminal.is_of(call, turn), exit)
    }

    /// No call goes on: the turn is over, or the session, or the agent.
    pub fn end_all(&mut self) -> Vec<Event> {
        self.end(|_| true, &Exit::default())
    }

    fn end(&mut self, which: impl Fn(&Terminal) -> bool, exit: &Exit) -> Vec<Event> {
        let mut events = Vec::new();
        let running = |terminal: &&mut Terminal| matches!(terminal.state, State::Announced | State::Running);
        for terminal in self.terminals.values_mut().filter(running).filter(|terminal| which(terminal)) {
            events.extend(terminal.start_late(self.session, &self.cwd));
            events.push(terminal.end(self.session, exit.clone()));
        }
        events
    }

    /// A terminal under a name that is new, or used again.
    fn named(&mut self, call: &ToolCallId, name: TerminalId) -> &mut Terminal {
        self.count += 1;
        let terminal = Terminal {
            // An agent that is started anew has another number, and so have its terminals.
            id: TerminalId(format!("agent-{}-{}-{}", self.agent.0, self.generation, self.count)),
            call: call.clone(),
            turn: self.turn,
            state: State::Named,
            title: String::new(),
            cwd: None,
            written: Written::default(),
            returned: false,
            renderer: Renderer::default(),
        };
        self.terminals.entry(name).insert_entry(terminal).into_mut()
    }
}

impl Terminal {
    fn is_of(&self, call: &ToolCallId, turn: u32) -> bool {
        self.call == *call && self.turn == turn
    }

    fn is_over(&self) -> bool {
        self.state == State::Ended
    }

    fn start(&mut self, session: SessionKey, cwd: &Path, command: Option<String>) -> Event {
        self.state = State::Running;
        Event::TerminalStarted {
            session,
            terminal: self.id.clone(),
            command: command.unwrap_or_else(|| self.title.clone()),
            cwd: self.cwd.take().unwrap_or_else(|| cwd.to_owned()),
            typing: false,
        }
    }

    /// Something is told of it before its command line is.
    fn start_late(&mut self, session: SessionKey, cwd: &Path) -> Vec<Event> {
        let unstarted = matches!(self.state, State::Named | State::Announced);
        unstarted.then(|| self.start(session, cwd, None)).into_iter().collect()
    }

    fn grow(&mut self, session: SessionKey, anew: bool, text: &str) -> Option<Event> {
        let mut bytes = Vec::with_capacity(text.len() + text.len() / 16);
        if anew {
            bytes.extend_from_slice(CLEAR.as_bytes());
        }
        as_from_a_terminal(text, &mut self.returned, &mut bytes);
        let terminal = self.id.clone();
        if bytes.is_empty() {
            return None;
        }
        let (bytes, lines) = self.renderer.render(&bytes);
        Some(Event::TerminalGrew { session, terminal, bytes, lines, skipped: Skipped::default(), cut: 0 })
    }

    fn end(&mut self, session: SessionKey, exit: Exit) -> Event {
        self.state = State::Ended;
        Event::TerminalEnded { session, terminal: self.id.clone(), exit }
    }
}

/// Output as a terminal would have made it: an agent that ran the command without one has plain
/// line ends.
fn as_from_a_terminal(text: &str, returned: &mut bool, bytes: &mut Vec<u8>) {
    for byte in text.bytes() {
        if byte == b'\n' && !*returned {
            bytes.push(b'\r');
        }
        *returned = byte == b'\r';
        bytes.push(byte);
    }
}

#[cfg(test)]
mod tests;
