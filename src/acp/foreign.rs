//! The terminals that an agent runs itself: what it tells of them, made into the events that those of
//! this client make. Agents use names again, leave out beginnings and ends, and tell either what is
//! new or all there is; here each run of a command gets a name of its own, and what is missing is
//! filled in. What the messages look like is left to `from_acp`.

use std::collections::HashMap;
use std::mem;
use std::path::PathBuf;

use super::from_acp::{self, Data};
use crate::core::message::{
    AgentId, Content, Event, Exit, SessionKey, TerminalId, ToolCallId, ToolCallPatch, ToolContent, Update,
};

/// The most that is kept of a call's own output; of more, the end is.
const MOST_TEXT: usize = 64 << 10;

/// Beyond this it is no longer looked into whether all output comes again and again.
const MOST_COMPARED: usize = 1 << 20;

/// Clears a terminal with all that was scrolled out of it.
const CLEAR: &str = "\x1b[0m\x1b[H\x1b[2J\x1b[3J";

/// The terminals that only the agent has, in one session.
pub struct Foreign {
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

impl Foreign {
    pub fn new(session: SessionKey, agent: AgentId, cwd: PathBuf) -> Self {
        let (terminals, texts) = (HashMap::new(), HashMap::new());
        Self { session, agent, generation: 0, cwd, turn: 0, count: 0, terminals, texts }
    }

    pub fn begin_turn(&mut self) {
        self.turn += 1;
        self.texts.clear();
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
        let Some(terminal) = self.terminals.get_mut(name) else { return vec![self.grew_as_text(call, data)] };
        let mut events = terminal.start_late(session, &self.cwd);
        let (anew, text) = terminal.written.what_is_new(data);
        let mut bytes = Vec::with_capacity(text.len() + text.len() / 16);
        if anew {
            bytes.extend_from_slice(CLEAR.as_bytes());
        }
        as_from_a_terminal(text, &mut terminal.returned, &mut bytes);
        if !bytes.is_empty() {
            let terminal = terminal.id.clone();
            events.push(Event::TerminalGrew { session, terminal, bytes, skipped: 0 });
        }
        events
    }

    fn grew_as_text(&mut self, call: &ToolCallId, data: &Data) -> Event {
        let CallText { all, written } = self.texts.entry(call.clone()).or_default();
        let (anew, text) = written.what_is_new(data);
        if anew {
            all.clear();
        }
        all.push_str(text);
        let surplus = all.len().saturating_sub(MOST_TEXT);
        let cut = (surplus..all.len()).find(|at| all.is_char_boundary(*at)).unwrap_or(surplus);
        all.drain(..cut);
        let content = Some(vec![ToolContent::Content(Content::Text(all.clone()))]);
        let patch = ToolCallPatch { content, ..ToolCallPatch::new(call.0.clone()) };
        Event::Updated { session: self.session, update: Update::ToolCall(Box::new(patch)) }
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

    /// A call is over, and its commands with it, whether the agent says that or not.
    pub fn call_over(&mut self, call: &ToolCallId) -> Vec<Event> {
        let turn = self.turn;
        self.end(|terminal| terminal.is_of(call, turn))
    }

    /// No call goes on: the turn is over, or the session, or the agent.
    pub fn end_all(&mut self) -> Vec<Event> {
        self.end(|_| true)
    }

    fn end(&mut self, which: impl Fn(&Terminal) -> bool) -> Vec<Event> {
        let mut events = Vec::new();
        let running = |terminal: &&mut Terminal| matches!(terminal.state, State::Announced | State::Running);
        for terminal in self.terminals.values_mut().filter(running).filter(|terminal| which(terminal)) {
            events.extend(terminal.start_late(self.session, &self.cwd));
            events.push(terminal.end(self.session, Exit::default()));
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

    fn start(&mut self, session: SessionKey, cwd: &std::path::Path, command: Option<String>) -> Event {
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
    fn start_late(&mut self, session: SessionKey, cwd: &std::path::Path) -> Vec<Event> {
        let unstarted = matches!(self.state, State::Named | State::Announced);
        unstarted.then(|| self.start(session, cwd, None)).into_iter().collect()
    }

    fn end(&mut self, session: SessionKey, exit: Exit) -> Event {
        self.state = State::Ended;
        Event::TerminalEnded { session, terminal: self.id.clone(), exit }
    }
}

/// What was put out so far, as long as it takes to see which way the agent tells it. By the custom
/// each piece is new, also under the name that sounds like all there is; an agent that takes that
/// name at its word sends everything each time.
enum Written {
    /// All of it; nothing speaks for either way yet.
    Unclear(String),
    /// Each piece is new.
    Pieces,
    /// Each is all there is; this was the last.
    Whole(String),
}

impl Default for Written {
    fn default() -> Self {
        Self::Unclear(String::new())
    }
}

impl Written {
    /// What of the data was not there yet, and whether it takes the place of all that was.
    fn what_is_new<'t>(&mut self, data: &'t Data) -> (bool, &'t str) {
        let (text, piece) = match data {
            Data::Piece(text) => (text.as_str(), true),
            Data::PieceOrWhole(text) => (text.as_str(), false),
        };
        let (next, new) = match (mem::replace(self, Self::Pieces), piece) {
            (Self::Unclear(mut all), true) => {
                all.push_str(text);
                (Self::Unclear(all), (false, text))
            }
            (Self::Unclear(all), false) if all.is_empty() => (Self::Unclear(text.to_owned()), (false, text)),
            (Self::Unclear(all), false) if repeats(&all, text) => {
                (Self::Whole(text.to_owned()), (false, &text[all.len()..]))
            }
            (Self::Unclear(_) | Self::Pieces, _) => (Self::Pieces, (false, text)),
            (Self::Whole(mut all), true) => {
                all.push_str(text);
                (Self::Whole(all), (false, text))
            }
            (Self::Whole(all), false) => match text.strip_prefix(all.as_str()) {
                Some(new) => (Self::Whole(text.to_owned()), (false, new)),
                // Such as the end of a text that has grown too long.
                None => (Self::Whole(text.to_owned()), (true, text)),
            },
        };
        *self = match next {
            Self::Unclear(all) if all.len() > MOST_COMPARED => Self::Pieces,
            next => next,
        };
        new
    }
}

/// Whether a text is all that was there and something more, rather than a piece that looks like it:
/// what a command says every second may come twice in one piece, and a dot says nothing.
fn repeats(all: &str, text: &str) -> bool {
    let telling = all.contains('\n') || all.len() >= 8;
    telling && text.len() > all.len() && text.starts_with(all) && !text.ends_with(all)
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
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A session in which an agent's words about tool calls become events, in short.
    struct Stage(Foreign);

    impl Stage {
        fn new() -> Self {
            let mut foreign = Foreign::new(SessionKey(1), AgentId(7), "/root".into());
            foreign.begin_turn();
            Self(foreign)
        }

        /// One update of the call `c`.
        fn update(&mut self, fields: Value) -> Vec<String> {
            let mut update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c" });
            for (key, value) in fields.as_object().unwrap() {
                update[key] = value.clone();
            }
            let facts = from_acp::update(&update);
            facts.into_iter().flat_map(|fact| self.fact(fact)).collect()
        }

        fn fact(&mut self, fact: from_acp::Fact) -> Vec<String> {
            use from_acp::Fact;
            let ours = |name: &TerminalId| name.0 == "terminal-1";
            let mut shown = None;
            let events = match fact {
                Fact::Update(Update::ToolCall(mut call)) => {
                    let events = self.0.show(&mut call, ours);
                    shown = call.content.map(|content| short_content(&content));
                    events
                }
                Fact::TerminalStarted { call, terminal, cwd } => self.0.announced(&call, terminal, cwd),
                Fact::TerminalGrew { call, terminal, data } => self.0.grew(&call, &terminal, &data),
                Fact::TerminalEnded { terminal, exit } => self.0.ended(&terminal, exit),
                Fact::CallOver(call) => self.0.call_over(&call),
                other => panic!("something else: {other:?}"),
            };
            events.iter().map(short).chain(shown).collect()
        }

        fn output(&mut self, text: &str) -> Vec<String> {
            self.update(json!({ "_meta": { "terminal_output": { "terminal_id": "t", "data": text } } }))
        }

        fn delta(&mut self, text: &str) -> Vec<String> {
            self.update(json!({ "_meta": { "terminal_output_delta": { "terminal_id": "t", "data": text } } }))
        }
    }

    fn short_content(content: &[ToolContent]) -> String {
        let item = |item: &ToolContent| match item {
            ToolContent::Terminal(id) => format!("[{}]", id.0),
            ToolContent::Content(Content::Text(text)) => text.clone(),
            other => panic!("something else: {other:?}"),
        };
        format!("shows {}", content.iter().map(item).collect::<String>())
    }

    fn short(event: &Event) -> String {
        match event {
            Event::TerminalStarted { terminal, command, cwd, typing, .. } => {
                assert!(!typing);
                format!("{} runs {command} in {}", terminal.0, cwd.display())
            }
            Event::TerminalGrew { terminal, bytes, .. } => {
                format!("{} {:?}", terminal.0, String::from_utf8_lossy(bytes))
            }
            Event::TerminalEnded { terminal, exit, .. } => {
                format!("{} ended {:?} {:?}", terminal.0, exit.code, exit.signal)
            }
            Event::Updated { update: Update::ToolCall(call), .. } => {
                short_content(call.content.as_deref().unwrap())
            }
            other => panic!("something else: {other:?}"),
        }
    }

    fn announcement() -> Value {
        json!({
            "title": "ls", "content": [{ "type": "terminal", "terminalId": "t" }],
            "_meta": { "terminal_info": { "terminal_id": "t", "cwd": "/p" } },
        })
    }

    fn exit(code: i64) -> Value {
        json!({ "_meta": { "terminal_exit": { "terminal_id": "t", "exit_code": code, "signal": null } } })
    }

    #[test]
    fn a_command_is_announced_grows_and_ends() {
        let mut stage = Stage::new();
        assert_eq!(stage.update(announcement()), ["agent-7-0-1 runs ls in /p", "shows [agent-7-0-1]"]);
        assert_eq!(stage.delta("a\nb"), [r#"agent-7-0-1 "a\r\nb""#]);
        assert_eq!(stage.output("\r"), [r#"agent-7-0-1 "\r""#]);
        assert_eq!(stage.output("\nc\n"), [r#"agent-7-0-1 "\nc\r\n""#]);
        assert_eq!(stage.update(exit(3)), ["agent-7-0-1 ended Some(3) None"]);
        assert_eq!(stage.update(json!({ "status": "failed" })), [""; 0]);
    }

    #[test]
    fn everything_may_come_at_once() {
        let mut all = announcement();
        all["status"] = json!("completed");
        all["_meta"]["terminal_output"] = json!({ "terminal_id": "t", "data": "x" });
        all["_meta"]["terminal_exit"] = json!({ "terminal_id": "t", "exit_code": 0 });
        assert_eq!(
            Stage::new().update(all),
            [
                "agent-7-0-1 runs ls in /p",
                "shows [agent-7-0-1]",
                r#"agent-7-0-1 "x""#,
                "agent-7-0-1 ended Some(0) None"
            ]
        );
    }

    #[test]
    fn a_command_line_is_waited_for_while_the_agent_puts_it_together() {
        let mut stage = Stage::new();
        let mut first = announcement();
        first["title"] = json!("Terminal");
        first["rawInput"] = json!({});
        assert_eq!(stage.update(first.clone()), ["shows [agent-7-0-1]"]);
        let input = json!({ "rawInput": { "command": "ls -l" }, "title": "ls -l" });
        assert_eq!(stage.update(input), ["agent-7-0-1 runs ls -l in /p"]);

        let mut stage = Stage::new();
        stage.update(first.clone());
        let words = json!({ "rawInput": { "command": ["bash", "-lc", "ls -l"] } });
        assert_eq!(stage.update(words), ["agent-7-0-1 runs bash -lc ls -l in /p"]);

        let mut stage = Stage::new();
        stage.update(first);
        assert_eq!(stage.output("x"), ["agent-7-0-1 runs Terminal in /p", r#"agent-7-0-1 "x""#]);
    }

    #[test]
    fn a_terminal_that_a_call_shows_is_started_by_its_output() {
        let mut stage = Stage::new();
        let shown = json!({ "title": "ls", "content": [{ "type": "terminal", "terminalId": "t" }] });
        assert_eq!(stage.update(shown), ["shows [agent-7-0-1]"]);
        assert_eq!(stage.output("a"), ["agent-7-0-1 runs ls in /root", r#"agent-7-0-1 "a""#]);
        assert_eq!(stage.output("b"), [r#"agent-7-0-1 "b""#]);
    }

    #[test]
    fn a_command_without_an_end_ends_with_its_call() {
        let mut stage = Stage::new();
        stage.update(announcement());
        assert_eq!(stage.update(json!({ "status": "in_progress" })), [""; 0]);
        assert_eq!(stage.update(json!({ "status": "completed" })), ["agent-7-0-1 ended None None"]);
        assert_eq!(stage.update(json!({ "status": "completed" })), [""; 0]);
        assert_eq!(stage.update(exit(2)), ["agent-7-0-1 ended Some(2) None"], "better late than never");
        assert_eq!(stage.0.end_all(), []);
    }

    #[test]
    fn a_command_without_an_end_ends_with_its_turn() {
        let mut stage = Stage::new();
        stage.update(announcement());
        let ended: Vec<_> = stage.0.end_all().iter().map(short).collect();
        assert_eq!(ended, ["agent-7-0-1 ended None None"]);
    }

    #[test]
    fn a_name_that_is_used_again_is_another_terminal() {
        let mut stage = Stage::new();
        stage.update(announcement());
        stage.output("old");
        stage.update(exit(0));
        // In the same turn it takes an announcement: a late update may show the terminal again.
        let shown = json!({ "content": [{ "type": "terminal", "terminalId": "t" }] });
        assert_eq!(stage.update(shown.clone()), ["shows [agent-7-0-1]"]);
        assert_eq!(stage.update(announcement()), ["agent-7-0-2 runs ls in /p", "shows [agent-7-0-2]"]);
        assert_eq!(stage.output("new"), [r#"agent-7-0-2 "new""#]);
        let mut other = announcement();
        other["toolCallId"] = json!("d");
        assert_eq!(
            stage.update(other),
            ["agent-7-0-2 ended None None", "agent-7-0-3 runs ls in /p", "shows [agent-7-0-3]"]
        );
        assert_eq!(stage.0.end_all().len(), 1);
        stage.0.begin_turn();
        assert_eq!(stage.update(shown), ["shows [agent-7-0-4]"]);
        assert_eq!(stage.output("x"), ["agent-7-0-4 runs  in /root", r#"agent-7-0-4 "x""#]);
    }

    #[test]
    fn announcing_a_running_command_again_changes_nothing() {
        let mut stage = Stage::new();
        stage.update(announcement());
        assert_eq!(stage.update(announcement()), ["shows [agent-7-0-1]"]);
    }

    #[test]
    fn terminals_of_this_client_keep_their_names() {
        let shown = json!({ "content": [{ "type": "terminal", "terminalId": "terminal-1" }] });
        assert_eq!(Stage::new().update(shown), ["shows [terminal-1]"]);
    }

    #[test]
    fn output_of_no_terminal_is_the_calls_text() {
        let mut stage = Stage::new();
        assert_eq!(stage.delta("a"), ["shows a"]);
        assert_eq!(stage.delta("b"), ["shows ab"]);
        let long = "é".repeat(MOST_TEXT);
        assert_eq!(stage.delta(&long), [format!("shows {}", "é".repeat(MOST_TEXT / 2))]);
        assert_eq!(stage.update(exit(0)), [""; 0]);
        stage.0.begin_turn();
        assert_eq!(stage.delta("c"), ["shows c"]);
    }

    /// What a terminal holds after an agent has told of it in these pieces.
    fn told(pieces: &[&str]) -> String {
        let mut stage = Stage::new();
        stage.update(announcement());
        let mut all = String::new();
        for piece in pieces {
            let data = Data::PieceOrWhole((*piece).to_owned());
            for event in stage.0.grew(&ToolCallId("c".into()), &TerminalId("t".into()), &data) {
                let Event::TerminalGrew { bytes, .. } = event else { panic!("something else: {event:?}") };
                let text = String::from_utf8(bytes).unwrap();
                match text.strip_prefix(CLEAR) {
                    Some(text) => all = text.to_owned(),
                    None => all.push_str(&text),
                }
            }
        }
        all.replace("\r\n", "\n")
    }

    #[test]
    fn what_is_new_each_time_is_added_up() {
        assert_eq!(told(&["a\n", "b\n", "c\n"]), "a\nb\nc\n");
        assert_eq!(told(&[".", ".F", ".."]), "..F..", "a dot may be followed by another");
        assert_eq!(told(&["y\n", "y\ny\n", "y\n"]), "y\ny\ny\ny\n");
        assert_eq!(told(&["hi\n", "hi\n"]), "hi\nhi\n");
        assert_eq!(told(&["a\n", "b\n", "a\nb\nc\n"]), "a\nb\na\nb\nc\n");
    }

    #[test]
    fn all_there_is_each_time_is_not_doubled() {
        assert_eq!(told(&["a\n", "a\nb\n", "a\nb\n", "a\nb\nc\n"]), "a\nb\nc\n");
        assert_eq!(told(&["", "compiling", "compiling a"]), "compiling a");
        assert_eq!(told(&["a\n", "a\nb\n", "…\nb\nc\n", "…\nb\nc\nd\n"]), "…\nb\nc\nd\n");
    }

    #[test]
    fn all_there_is_may_follow_on_pieces() {
        let mut stage = Stage::new();
        stage.update(announcement());
        assert_eq!(stage.delta("a\n"), [r#"agent-7-0-1 "a\r\n""#]);
        assert_eq!(stage.delta("b\n"), [r#"agent-7-0-1 "b\r\n""#]);
        assert_eq!(stage.output("a\nb\nc\n"), [r#"agent-7-0-1 "c\r\n""#]);
    }
}
