use super::*;

use serde_json::{Value, json};

/// A session in which an agent's words about tool calls become events, in short.
struct Stage(AgentTerminals);

impl Stage {
    fn new() -> Self {
        let mut foreign = AgentTerminals::new(SessionKey(1), AgentId(7), "/root".into());
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
                let mut events = self.0.show(&mut call, ours);
                events.extend(self.0.stream(&mut call).0);
                shown = call.content.map(|content| short_content(&content));
                events
            }
            Fact::TerminalStarted { call, terminal, cwd } => self.0.announced(&call, terminal, cwd),
            Fact::TerminalGrew { call, terminal, data } => self.0.grew(&call, &terminal, &data),
            Fact::TerminalEnded { terminal, exit } => self.0.ended(&terminal, exit),
            Fact::CallOver { call, exit } => self.0.call_over(&call, &exit),
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
        ToolContent::Content(Content::Text(text)) => text.to_string(),
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
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
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
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
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
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
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
#[cfg_attr(windows, ignore = "its paths are those of Unix")]
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

/// An update that streams a command's output as the call's text.
fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "content", "content": { "type": "text", "text": text } }] })
}

fn with(mut update: Value, fields: Value) -> Value {
    for (key, value) in fields.as_object().unwrap() {
        update[key] = value.clone();
    }
    update
}

#[test]
fn output_that_is_streamed_as_text_has_a_terminal() {
    let mut stage = Stage::new();
    let input = json!({ "command": "make all", "description": "Build it", "workdir": "/p/sub" });
    let call = json!({ "title": "bash", "kind": "execute", "status": "pending", "rawInput": input });
    assert_eq!(stage.update(call), [""; 0]);
    let running = json!({ "status": "in_progress", "title": "Build it", "kind": "execute" });
    assert_eq!(
        stage.update(with(text("one\n"), running.clone())),
        ["agent-7-0-1 runs make all in /p/sub", r#"agent-7-0-1 "one\r\n""#, "shows [agent-7-0-1]"]
    );
    assert_eq!(stage.update(with(text("one\ntwo\n"), running.clone())), [r#"agent-7-0-1 "two\r\n""#]);
    assert_eq!(stage.update(with(text("one\ntwo\n"), running)), [""; 0]);
    let over = json!({ "status": "completed", "rawOutput": { "output": "..", "metadata": { "exit": 2 } } });
    assert_eq!(
        stage.update(with(text("one\ntwo\nthree"), over)),
        [r#"agent-7-0-1 "three""#, "shows [agent-7-0-1]", "agent-7-0-1 ended Some(2) None"]
    );
}

#[test]
fn a_stream_that_says_nothing_else_is_told_by_its_terminal_alone() {
    let mut stage = Stage::new();
    stage.update(json!({ "kind": "execute", "title": "make" }));
    let mut foreign = stage.0;
    let mut update = |said: &str| {
        let mut call = ToolCallPatch {
            content: Some(vec![ToolContent::Content(Content::Text(said.into()))]),
            ..ToolCallPatch::new("c")
        };
        foreign.show(&mut call, |_| false);
        let (events, told) = foreign.stream(&mut call);
        (events.len(), told)
    };
    assert_eq!(update("a"), (2, false), "the call has to show its terminal once");
    assert_eq!(update("ab"), (1, true));
    assert_eq!(update("ab"), (0, true));
}

#[test]
fn a_text_that_is_no_output_stays_one() {
    let mut stage = Stage::new();
    let input = json!({ "command": "make", "description": "Build it" });
    stage.update(json!({ "kind": "execute", "title": "make", "status": "pending", "rawInput": input }));
    assert_eq!(stage.update(text("Build it")), ["shows Build it"]);
    assert_eq!(
        stage.update(with(text("All is well"), json!({ "status": "completed" }))),
        ["shows All is well"]
    );
    let mut stage = Stage::new();
    stage.update(json!({ "kind": "read", "title": "a.rs", "status": "in_progress" }));
    assert_eq!(stage.update(text("fn main()")), ["shows fn main()"]);
    let mut stage = Stage::new();
    stage.update(with(announcement(), json!({ "kind": "execute" })));
    assert_eq!(stage.update(text("beside a terminal")), ["shows beside a terminal"]);
}

#[test]
fn what_an_agent_says_at_the_end_stands_beside_what_was_put_out() {
    let mut stage = Stage::new();
    stage.update(json!({ "kind": "execute", "title": "make", "status": "in_progress" }));
    stage.update(text("one\n"));
    assert_eq!(
        stage.update(with(text("It took too long"), json!({ "status": "failed" }))),
        ["shows [agent-7-0-1]It took too long", "agent-7-0-1 ended None None"]
    );
    // A screen that is drawn anew while the command runs is no end.
    let mut stage = Stage::new();
    stage.update(json!({ "kind": "execute", "title": "make", "status": "in_progress" }));
    stage.update(text("10%\n"));
    assert_eq!(stage.update(text("20%\n")), [format!("agent-7-0-1 {:?}", format!("{CLEAR}20%\r\n"))]);
}

#[test]
fn output_under_no_name_of_a_running_command_has_a_terminal_too() {
    let mut stage = Stage::new();
    stage.update(json!({ "kind": "execute", "title": "make", "status": "in_progress" }));
    assert_eq!(
        stage.delta("a\n"),
        ["agent-7-0-1 runs make in /root", r#"agent-7-0-1 "a\r\n""#, "shows [agent-7-0-1]"]
    );
    assert_eq!(stage.delta("b\n"), [r#"agent-7-0-1 "b\r\n""#]);
}
