//! From the start of a process to its readiness: versions, capabilities, and what goes wrong on the way.

use std::time::Duration;

use acp_nvim::acp::Settings;
use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

#[test]
fn nothing_is_asked_before_initialize_is_answered() {
    let mut test = Test::new();
    let gate = test.folder.join("child");
    test.start(&[
        expect("initialize"),
        json!({"pause": 0.3}),
        json!({"spawn": "true"}),
        answer_to("initialize", &json!({"protocolVersion": 1})),
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1"})),
    ]);
    test.send(test.open_command(SESSION));
    wait_for("the agent's marker", || gate.exists());
    assert_eq!(test.received().methods()[0], "initialize");
    test.opened();
    let order: Vec<Event> = test.events();
    assert!(matches!(order[0], Event::Started { .. }) && matches!(order[1], Event::Connected { .. }));
    assert_eq!(test.finish().methods(), ["initialize", "session/new"]);
}

#[test]
fn initialize_says_who_we_are_and_what_we_can() {
    let mut test = Test::new();
    test.connect(&[]);
    let received = test.finish();
    let params = received.params("initialize");
    assert_eq!(params["protocolVersion"], json!(1));
    assert_eq!(
        params["clientInfo"],
        json!({"name": "acp.nvim", "title": "acp.nvim", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(
        params["clientCapabilities"],
        json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
            "terminal": true,
            "session": {"compaction": {}, "configOptions": {"boolean": {}}, "notices": {}},
            "subagents": {},
            "plan": {},
            "auth": {"terminal": true},
            "elicitation": {"form": {}, "url": {}},
            "_meta": {"terminal_output": true},
        })
    );
}

#[test]
fn agents_may_name_a_command_to_log_in_by_only_where_the_user_wants_it() {
    let mut test = Test::with(Settings { wants_login_commands: true, ..Settings::default() });
    test.connect(&[]);
    let received = test.finish();
    let meta = &received.params("initialize")["clientCapabilities"]["_meta"];
    assert_eq!(*meta, json!({"terminal_output": true, "terminal-auth": true}));
}

#[test]
fn what_a_session_begins_with_is_told_to_no_agent_of_the_official_protocol() {
    let mut test = Test::new();
    test.connect(&[expect("session/new"), answer_to("session/new", &json!({"sessionId": "s1"}))]);
    let beginning = Beginning { mode: Some("plan".into()), options: vec![("model".into(), "large".into())] };
    let place = Place { beginning: Box::new(beginning), ..test.place() };
    test.send(Command::Open { agent: AGENT, session: SESSION, place });
    test.opened();
    let received = test.finish();
    let fields: Vec<_> = received.params("session/new").as_object().unwrap().keys().collect();
    assert_eq!(fields, ["cwd", "mcpServers"]);
}

#[test]
fn what_is_offered_is_served() {
    let mut test = Test::new();
    let path = test.file("a.txt", "a");
    test.open(&[
        expect("session/prompt"),
        request(5, "fs/read_text_file", &json!({"sessionId": "s1", "path": path})),
        request(6, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": "b"})),
        request(7, "terminal/create", &json!({"sessionId": "s1", "command": "true"})),
        request(8, "elicitation/create", &json!({"sessionId": "s1", "mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}})),
        json!({"answer": 7}),
        json!({"answer": 6}),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, _) = test.question();
    test.answer(ask, Answer::Declined);
    test.stop_reason();
    test.wait_received("all answers", |received| (5..=8).all(|id| !received.answers(&json!(id)).is_empty()));
    let received = test.finish();
    for id in 5..=8 {
        received.result(id);
    }
}

#[test]
fn another_version_of_the_protocol_ends_it_at_once() {
    for version in
        [json!(0), json!(2), json!(65535), json!(70000), json!("1"), json!("2025-01-01"), Value::Null]
    {
        let mut test = Test::new();
        test.start(&[expect("initialize"), answer_to("initialize", &json!({ "protocolVersion": version }))]);
        test.send(test.open_command(SESSION));
        let failure = test.exited().failure.expect("a failure");
        assert_eq!(failure.kind, FailureKind::Version, "{version}");
        assert_eq!(test.open_failed().kind, FailureKind::Version);
        assert!(test.background.shut_down(Duration::from_secs(5)), "the process is still there");
        assert_eq!(test.received().methods(), ["initialize"]);
    }
}

#[test]
fn an_agent_that_offers_nothing_is_asked_for_nothing() {
    let mut test = Test::new();
    let info = test.connect(&[]);
    assert_eq!(info, AgentInfo::default());
    test.send(Command::List { agent: AGENT, cwd: None, cursor: None, archived: false });
    assert_eq!(test.failed().0, "list sessions");
    test.send(Command::Delete { agent: AGENT, acp_id: "s".into() });
    assert_eq!(test.failed().0, "delete the session");
    test.send(Command::Logout { agent: AGENT });
    assert_eq!(test.failed().0, "log out");
    test.send(Command::Login { agent: AGENT, method: "x".into() });
    assert_eq!(test.failed().0, "log in");
    test.send(Command::Load {
        agent: AGENT,
        session: SESSION,
        place: test.place(),
        acp_id: "s".into(),
        how: acp_nvim::core::message::Reopen::Load,
    });
    assert_eq!(test.open_failed().message, "agent doesn't offer to load sessions");
    assert_eq!(test.finish().methods(), ["initialize"]);
}

#[test]
fn what_an_agent_says_of_itself_is_passed_on() {
    let mut test = Test::new();
    let info = test.connect_with(
        &json!({
            "agentInfo": {"name": "x", "title": "The X", "version": "1.2"},
            "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"list": true, "fork": {}, "resume": null, "zzz": {}}},
            "clientCapabilities": {"fs": {}},
        }),
        &[],
    );
    assert_eq!(
        (info.name.as_deref(), info.title.as_deref(), info.version.as_deref()),
        (Some("x"), Some("The X"), Some("1.2"))
    );
    assert_eq!(info.can, Capabilities { load: true, list: true, fork: true, ..Capabilities::default() });
}

#[test]
fn an_agent_that_never_answers_is_given_up() {
    let mut test =
        Test::with(Settings { initialize_timeout: Duration::from_millis(200), ..Settings::default() });
    test.start(&[expect("initialize"), json!({"stderr": "downloading\n"}), json!({"pause": 600})]);
    let ending = test.exited();
    assert_eq!(ending.failure.expect("a failure").kind, FailureKind::Timeout);
}

#[test]
fn a_slow_start_can_be_given_up() {
    let mut test = Test::new();
    test.start(&[json!({"pause": 600})]);
    test.send(test.open_command(SESSION));
    test.send(Command::Disconnect { agent: AGENT });
    assert!(test.exited().expected);
    assert_eq!(test.open_failed().kind, FailureKind::Disconnected);
}

#[test]
fn an_agent_that_ends_before_it_is_ready_shows_its_last_words() {
    let mut test = Test::new();
    test.start(&[json!({"stderr": "no such package\n"}), json!({"exit": 1})]);
    let ending = test.exited();
    let failure = ending.failure.expect("a failure");
    assert_eq!(failure.kind, FailureKind::Disconnected);
    assert_eq!(failure.message, "it ended with exit code 1 before it was ready; see what it said last");
    assert_eq!(ending.stderr, ["no such package"]);
}

#[test]
fn how_an_agent_ended_is_known_with_a_keeper_and_without_one() {
    for keeper in [Some(env!("CARGO_BIN_EXE_acp-demo-agent")), None, Some("/bin/true")] {
        let settings = Settings { keeper: keeper.map(Into::into), ..Settings::default() };
        let cases = [("exit 7", Some(7), None), ("kill -SEGV $$", None, Some("SIGSEGV"))];
        for (line, code, signal) in cases {
            let mut test = Test::exactly(settings.clone());
            let mut launch = test.launch("agent", &[]);
            (launch.command, launch.args) = ("sh".into(), vec!["-c".into(), line.into()]);
            test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
            let exit = test.exited().exit.expect("an exit");
            assert_eq!((exit.code, exit.signal.as_deref()), (code, signal), "{keeper:?}: {line}");
        }
    }
}

#[test]
fn an_error_to_initialize_is_the_reason() {
    let mut test = Test::new();
    test.start(&[
        expect("initialize"),
        fail("initialize", &json!({"code": -32603, "message": "bad config"})),
    ]);
    let failure = test.exited().failure.expect("a failure");
    assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Internal, "bad config"));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    // With a keeper, without, and with one that does not know its business.
    for keeper in [Some(env!("CARGO_BIN_EXE_acp-demo-agent")), None, Some("/bin/true"), Some("/no/such")] {
        name_what_is_not_there(Settings { keeper: keeper.map(Into::into), ..Settings::default() });
    }
}

fn name_what_is_not_there(settings: Settings) {
    let mut test = Test::exactly(settings);
    let script = test.file("script", "#!/no/such/interpreter\n");
    let plain = test.file("plain", "text");
    let mut permissions = std::fs::metadata(&script).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&script, permissions).unwrap();
    let missing = test.path("missing");
    let cases = [
        (
            "no-such-program".to_owned(),
            "no program \"no-such-program\" in PATH; install it or set agents.claude.command".to_owned(),
        ),
        (
            missing.display().to_string(),
            format!("no program \"{}\"; set agents.claude.command to where it is", missing.display()),
        ),
        (
            script.display().to_string(),
            format!("\"{}\" needs an interpreter that is not there; see its first line", script.display()),
        ),
        (
            plain.display().to_string(),
            format!(
                "\"{}\" may not be run; make it executable or set agents.claude.command",
                plain.display()
            ),
        ),
    ];
    for (number, (command, message)) in (10..).zip(cases) {
        let launch = Launch { name: "claude".into(), command, cwd: test.project(), ..Launch::default() };
        test.send(Command::Connect { agent: AgentId(number), launch: Box::new(launch) });
        let failure = test.exited().failure.expect("a failure");
        assert_eq!((failure.kind, failure.message), (FailureKind::Spawn, message));
    }
    let launch = Launch {
        name: "claude".into(),
        command: "true".into(),
        cwd: "/no/such/folder".into(),
        ..Launch::default()
    };
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    assert!(test.exited().failure.unwrap().message.starts_with("no folder \"/no/such/folder\""));
}

#[test]
fn a_wish_to_an_agent_that_is_gone_is_answered() {
    let mut test = Test::new();
    test.send(test.open_command(SESSION));
    assert_eq!(test.open_failed().kind, FailureKind::Disconnected);
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(_)));
    test.send(Command::List { agent: AGENT, cwd: None, cursor: None, archived: false });
    assert_eq!(test.failed().0, "list sessions");
}

#[test]
fn a_wish_to_a_session_whose_agent_is_gone_is_answered() {
    let mut test = Test::new();
    test.open(&[json!({"exit": 0})]);
    test.exited();
    let typed = vec![Content::Text("typed with care".into())];
    test.send(Command::Steer { session: SESSION, content: typed.clone() });
    let steered = test.wait("Steered", |event| match event {
        Event::Steered { content, outcome, .. } => Some((content.clone(), outcome.clone())),
        _ => None,
    });
    let (content, Steering::NotTaken(Some(failure))) = steered else { panic!("{steered:?}") };
    assert_eq!((content, failure.kind), (typed, FailureKind::Disconnected));
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    assert_eq!(test.failed().0, "change the mode");
    test.prompt("x");
    assert!(matches!(test.turn_end(), TurnEnd::Failed(_)));
}

#[test]
fn a_wish_to_a_session_whose_agent_is_long_gone_is_answered() {
    let mut test = Test::new();
    test.open(&[json!({"exit": 0})]);
    test.exited();
    // An agent that came and went meanwhile: of the first one nothing is left.
    let mut launch = test.launch("another", &[]);
    (launch.command, launch.args) = ("true".into(), Vec::new());
    test.send(Command::Connect { agent: AgentId(AGENT.0 + 1), launch: Box::new(launch) });
    test.exited();
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    assert_eq!(test.failed().0, "change the mode");
}

#[test]
fn a_wish_to_a_session_that_is_not_open_is_answered() {
    let mut test = Test::new();
    test.connect(&[expect("session/new")]);
    test.send(test.open_command(SESSION));
    test.send(Command::SetMode { session: SESSION, mode: "ask".into() });
    let (what, failure) = test.failed();
    assert_eq!((what.as_str(), failure.kind), ("change the mode", FailureKind::NotFound));
}

#[test]
fn after_the_end_a_wish_is_still_answered() {
    let mut test = Test::new();
    assert!(test.background.shut_down(Duration::from_secs(5)));
    let launch = Launch { name: "claude".into(), ..Launch::default() };
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    assert!(test.exited().failure.is_some());
}

#[test]
fn the_environment_is_neovims_with_the_users_additions() {
    let mut test = Test::new();
    let mut launch = test.launch("agent", &[]);
    let place = test.path("env");
    launch.args = vec!["-c".into(), format!("printf '%s %s' \"$ACP_TEST\" \"$HOME\" > {}", place.display())];
    launch.command = "sh".into();
    launch.env = vec![("ACP_TEST".into(), "set".into())];
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    test.exited();
    assert_eq!(std::fs::read_to_string(place).unwrap(), format!("set {}", std::env::var("HOME").unwrap()));
}
