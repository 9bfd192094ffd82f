//! Agents that are reached over the network: that the conversations of other tests are the same there, and what
//! goes wrong only there.

use std::net::TcpListener;
use std::process::Command as Process;
use std::sync::atomic::Ordering;
use std::time::Duration;

use acp_nvim::acp::{Pace, Settings};
use acp_nvim::core::ids::{AgentId, JobId, SessionKey};
use acp_nvim::core::inspector::scrub::Origin;
use acp_nvim::core::inspector::{Reply, Request, Target};
use acp_nvim::core::message::remote::Address;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

/// Conversations that have nothing to do with processes.
const SAME: [&str; 10] = [
    "agent::sessions",
    "agent::asking",
    "agent::envelope",
    "agent::subagents",
    "agent::system_prompt",
    "agent::turns",
    "agent::files",
    "agent::extensions",
    "agent::patience",
    "agent::outside",
];

/// One of them stops the agent's process to see what becomes of what it has written.
const OF_PROCESS: &str = "an_agent_that_is_faster_than_the_editor_is_held_back";

fn the_same_over(scheme: &str, others: &[&str]) {
    let mut all = Process::new(std::env::current_exe().expect("this program"));
    all.args(SAME).args(others.iter().map(|name| format!("--skip={name}"))).env(OVER, scheme);
    // No pipe: an agent that does not end with its connection would hold it open.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("said");
    let file = std::fs::File::create(&path).expect("a file");
    let status = all.stdout(file.try_clone().expect("the file")).stderr(file).status().expect("tests run");
    let said = std::fs::read_to_string(&path).expect("what they said");
    assert!(status.success() && !said.contains("running 0 tests"), "{said}");
}

/// Each session has a stream of its own over HTTP, and nothing orders what comes through different ones.
const OF_ORDER: [&str; 5] = [
    "agent::subagents",
    "what_an_agent_has_open_is_asked",
    "two_sessions_of_one_agent",
    // One names a session, and the next one none.
    "a_notification_that_the_user_listens_to",
    // The server can't read it, so it does not know that it is a session's.
    "what_is_nested_beyond_reason",
];

/// A session that nobody knows has no stream, and a header holds no name of two lines. An agent that ends at once takes along
/// what waits for a stream that is opened again.
const WITHOUT_STREAM: [&str; 6] = [
    "a_method_that_the_user_serves",
    "a_session_may_be_deleted_twice",
    "a_stray_answer",
    "a_sessions_name_is",
    "what_comes_before_a_session_has_its_name",
    "what_is_for_no_session",
];

/// All but these, and those of processes.
pub fn the_same_over_http(scheme: &str, others: &[&str]) {
    the_same_over(scheme, &[&OF_ORDER[..], &WITHOUT_STREAM[..], &[OF_PROCESS], others].concat());
}

pub fn the_same_over_a_websocket(scheme: &str, others: &[&str]) {
    the_same_over(scheme, &[&[OF_PROCESS], others].concat());
}

#[test]
fn conversations_are_the_same_over_a_websocket() {
    the_same_over_a_websocket("ws", &[]);
}

#[test]
fn conversations_are_the_same_over_http() {
    the_same_over_http("http", &[]);
}

/// Pauses between tries that nobody has to wait for.
fn hasty() -> Settings {
    let pace = Pace { first_pause: Duration::from_millis(20), ..Pace::default() };
    Settings { pace, ..Settings::default() }
}

fn load(test: &Test, session: SessionKey) {
    let (place, acp_id) = (test.place(), "s1".to_owned());
    test.send(Command::Load { agent: AGENT, session, place, acp_id, how: Reopen::Load });
}

/// What agents can do with stored sessions that have a method for each.
fn stores(how: &str) -> Value {
    let mut can = json!({"sessionCapabilities": {"close": {}, "resume": {}}});
    can["loadSession"] = json!(how == "session/load");
    json!({ "agentCapabilities": can })
}

pub fn said(test: &mut Test) -> String {
    test.updates().iter().filter_map(text).collect()
}

fn for_each(mut run: impl FnMut(&'static str)) {
    ["ws", "http"].into_iter().for_each(&mut run);
}

fn launch_at(scheme: &str, port: u16, headers: &[(&str, &str)]) -> Launch {
    let address = Address::read(&format!("{scheme}://127.0.0.1:{port}/acp")).expect("an address");
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Launch { name: "far".into(), remote: Some(Remote { address, headers }), ..Launch::default() }
}

#[test]
fn a_conversation_with_files_and_questions() {
    for_each(converse_with_files_and_questions);
}

pub fn converse_with_files_and_questions(scheme: &str) {
    let mut test = Test::new().carried_over(scheme);
    let path = test.file("notes.txt", "alpha\nbeta\n");
    test.open(&turn_with_a_file_and_a_question(&path));
    test.prompt("Hi");
    let (ask, _) = test.question();
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(said(&mut test), "Hello");
    let received = test.finish();
    assert_eq!(received.methods(), ["initialize", "session/new", "session/prompt"], "{scheme}");
    assert_eq!(received.result(8), &json!({"content": "beta\n"}));
}

#[test]
fn http_sends_cookies_back_and_ends_the_connection() {
    let mut test = Test::new().carried_over("http");
    test.open(&[]);
    let requests = test.servers[0].requests.clone();
    test.finish();
    let requests = requests.lock().expect("requests").clone();
    let later = requests.iter().skip(1).collect::<Vec<_>>();
    let has = |head: &&String, what: &str| head.to_ascii_lowercase().contains(what);
    assert!(
        later.iter().all(|head| has(head, "cookie: node=a1") && has(head, "acp-connection-id: ")),
        "{later:?}"
    );
    assert!(later.last().is_some_and(|head| head.starts_with("DELETE ")), "{later:?}");
    assert!(requests.iter().any(|head| head.starts_with("GET ") && head.contains("acp-session-id: s1")));
}

#[test]
fn a_session_is_loaded_or_resumed_where_the_server_has_no_stream_for_it_before() {
    for (how, status) in
        [("session/load", 404), ("session/load", 409), ("session/resume", 404), ("session/resume", 409)]
    {
        let mut test = Test::with(hasty()).carried_over("http");
        let steps = [
            expect(how),
            update(&chunk("once ")),
            update(&chunk("said; ")),
            answer_to(how, &json!({})),
            expect("session/prompt"),
            update(&chunk("new")),
            end_turn(),
        ];
        test.connect_with(&stores(how), &steps);
        test.servers[0].manners.unnamed.store(status, Ordering::Release);
        load(&test, SESSION);
        assert_eq!(test.opened().acp_id, "s1", "{how} {status}");
        test.prompt("Hi");
        assert_eq!(test.stop_reason(), StopReason::EndTurn);
        assert_eq!(said(&mut test), "once said; new", "{how} {status}");
        test.finish();
    }
}

#[test]
fn a_session_that_cannot_be_loaded_costs_no_other_one() {
    for status in [404, 409] {
        let mut test = Test::with(hasty()).carried_over("http");
        let gone = json!({"code": -32002, "message": "Resource not found"});
        let steps = [
            expect("session/load"),
            fail("session/load", &gone),
            expect("session/new"),
            answer_to("session/new", &json!({"sessionId": "s2"})),
            expect("session/prompt"),
            end_turn(),
        ];
        test.connect_with(&stores("session/load"), &steps);
        test.servers[0].manners.unnamed.store(status, Ordering::Release);
        load(&test, SessionKey(9));
        assert_eq!(test.open_failed().kind, FailureKind::NotFound, "{status}");
        test.send(test.open_command(SESSION));
        test.opened();
        test.prompt("Hi");
        assert_eq!(test.stop_reason(), StopReason::EndTurn, "{status}");
        test.finish();
    }
}

#[test]
fn a_session_that_was_closed_is_loaded_again_with_all_that_was_said_in_it() {
    let mut test = Test::with(hasty()).carried_over("http");
    let steps = [
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        // As another session goes on, so does the agent.
        json!({"expect": "session/new", "as": "other"}),
        answer_to("other", &json!({"sessionId": "s2"})),
        expect("session/close"),
        answer_to("session/close", &json!({})),
        expect("session/load"),
        update(&chunk("once said")),
        answer_to("session/load", &json!({})),
    ];
    test.connect_with(&stores("session/load"), &steps);
    let (first, second, third) = (SESSION, SessionKey(8), SessionKey(9));
    for session in [first, second] {
        test.send(test.open_command(session));
        test.opened();
    }
    test.send(Command::Close { session: first });
    load(&test, third);
    test.opened();
    assert_eq!(said(&mut test), "once said");
    test.finish();
}

#[test]
fn the_stream_of_a_subagent_that_the_server_refuses_is_tried_again_or_given_up_alone() {
    for (status, heard) in [(404, "early late"), (409, "early late"), (403, ""), (500, "")] {
        let mut test = Test::with(hasty()).carried_over("http");
        let of_child = |said: &str| {
            let update =
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": said}});
            notify("session/update", &json!({"sessionId": "k1", "update": update}))
        };
        let announced = json!({"sessionUpdate": "subagent_update", "sessionId": "k1", "title": "Work"});
        test.open(&[
            expect("session/prompt"),
            update(&announced),
            permission(7, "c1"),
            json!({"answer": 7}),
            of_child("early "),
            of_child("late"),
            permission(8, "c2"),
            json!({"answer": 8}),
            end_turn(),
        ]);
        let server = &test.servers[0];
        server.manners.unnamed.store(status, Ordering::Release);
        let requests = server.requests.clone();
        test.prompt("Hi");
        let (ask, _) = test.question();
        let is_tried = |head: &String| head.starts_with("GET ") && head.contains("acp-session-id: k1");
        wait_for("a try", || requests.lock().expect("requests").iter().any(is_tried));
        test.answer(ask, Answer::Selected("yes".into()));
        let (ask, _) = test.question();
        let mut within = String::new();
        while within.len() < heard.len() {
            within += &test.wait("what the subagent says", |event| match event {
                Event::Updated { update: Update::Within { update, .. }, .. } => {
                    text(update).map(str::to_owned)
                }
                _ => None,
            });
        }
        assert_eq!(within, heard, "{status}");
        test.answer(ask, Answer::Selected("yes".into()));
        assert_eq!(test.stop_reason(), StopReason::EndTurn, "{status}");
        test.finish();
    }
}

#[test]
fn a_session_whose_name_no_header_can_hold_costs_no_other_one() {
    let mut test = Test::with(hasty()).carried_over("http");
    test.connect(&[
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "two\nlines"})),
        json!({"expect": "session/new", "as": "other"}),
        answer_to("other", &json!({"sessionId": "s2"})),
        expect("session/prompt"),
        end_turn(),
    ]);
    let odd = SessionKey(9);
    test.send(test.open_command(odd));
    test.opened();
    test.send(Command::Prompt { session: odd, content: vec![Content::Text("Hi".into())] });
    match test.turn_end() {
        TurnEnd::Failed(failure) => assert!(failure.message.contains("over HTTP"), "{failure:?}"),
        other => panic!("{other:?}"),
    }
    test.send(test.open_command(SESSION));
    test.opened();
    test.prompt("Hi");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(test.finish().all("session/prompt").len(), 1);
}

#[test]
fn a_question_is_taken_back_also_by_a_word_that_is_here_before_it() {
    let mut test = Test::with(hasty()).carried_over("http");
    let taken_back = notify("$/cancel_request", &json!({"requestId": 7}));
    test.open(&[
        expect("session/prompt"),
        permission(7, "c1"),
        taken_back,
        // What it asks for without a session comes through the same stream.
        request(8, "_unknown", &json!({})),
        json!({"answer": 8}),
        json!({"answer": 7}),
        end_turn(),
    ]);
    test.servers[0].manners.late.store(true, Ordering::Release);
    test.prompt("Hi");
    let (ask, _) = test.question();
    test.wait("Withdrawn", |event| (*event == Event::Withdrawn { session: SESSION, ask }).then_some(()));
    test.stop_reason();
    assert_eq!(test.finish().result(7), &json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn a_request_of_ours_is_there_before_the_word_that_takes_it_back() {
    let mut test = Test::with(hasty()).carried_over("http");
    let able = json!({ "agentCapabilities": { "sessionCapabilities": { "close": {} } } });
    test.connect_with(
        &able,
        &[
            expect("session/new"),
            expect("$/cancel_request"),
            answer_to("session/new", &json!({"sessionId": "s1"})),
            expect("session/close"),
            answer_to("session/close", &json!({})),
            json!({"exit": 0}),
        ],
    );
    *test.servers[0].manners.reluctant.lock().expect("manners") = Some("session/new".into());
    test.send(test.open_command(SESSION));
    test.send(Command::Close { session: SESSION });
    assert_eq!(test.open_failed().kind, FailureKind::Cancelled);
    test.wait_received("both", |received| received.methods().len() >= 3);
    assert_eq!(test.received().methods()[..3], ["initialize", "session/new", "$/cancel_request"]);
}

#[test]
fn a_busy_server_costs_one_request_and_no_answer() {
    let mut test = Test::with(hasty()).carried_over("http");
    test.open(&[expect("session/prompt"), permission(7, "c1"), json!({"answer": 7}), end_turn()]);
    let manners = test.servers[0].manners.clone();
    manners.busy.store(1, Ordering::Release);
    test.prompt("Hi");
    match test.turn_end() {
        TurnEnd::Failed(failure) => {
            assert_eq!(failure.kind, FailureKind::RateLimited(Some(0)));
            assert!(failure.message.contains("too many requests"), "{failure:?}");
        }
        other => panic!("{other:?}"),
    }
    test.prompt("Hi again");
    let (ask, _) = test.question();
    manners.busy.store(3, Ordering::Release);
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(manners.busy.load(Ordering::Acquire), 0);
    test.finish();
}

#[test]
fn streams_that_break_are_opened_again_and_bring_what_was_not_yet_on_its_way() {
    let mut test = Test::with(hasty()).carried_over("http");
    test.open(&[
        expect("session/prompt"),
        update(&chunk("Hel")),
        permission(7, "c1"),
        json!({"answer": 7}),
        update(&chunk("lo")),
        end_turn(),
    ]);
    // The connection's and the session's own, which comes right after it was opened.
    wait_for("both streams", || test.servers[0].streams() == 2);
    let cut = |test: &Test| {
        let server = &test.servers[0];
        let before = server.streams();
        server.cut();
        wait_for("both streams again", || server.streams() >= before + 2);
    };
    cut(&test);
    test.prompt("Hi");
    let (ask, _) = test.question();
    cut(&test);
    test.answer(ask, Answer::Selected("yes".into()));
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(said(&mut test), "Hello");
    // The first cut came while nothing was asked.
    let notes: Vec<String> = test.events().into_iter().filter_map(noted).collect();
    assert_eq!(
        notes,
        ["the connection to the agent broke for a moment; what it said just then may be missing"]
    );
    assert_eq!(test.finish().all("initialize").len(), 1);
}

fn noted(event: Event) -> Option<String> {
    match event {
        Event::Noted { text, .. } => Some(text),
        _ => None,
    }
}

#[test]
fn streams_that_end_again_and_again_after_a_sign_of_life_are_no_end() {
    let mut test = Test::with(hasty()).carried_over("http");
    test.open(&[expect("session/prompt"), end_turn()]);
    let server = &test.servers[0];
    // More than a stream is opened that brings nothing.
    server.manners.short.store(20, Ordering::Release);
    server.cut();
    let manners = server.manners.clone();
    wait_for("the last short stream", || manners.short.load(Ordering::Acquire) == 0);
    test.prompt("Hi");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    test.finish();
}

#[test]
fn who_gives_signs_of_life_is_there_although_nothing_is_said() {
    for_each(|scheme| {
        let (ping, silence) = (Duration::from_millis(10), Duration::from_millis(500));
        let pace = Pace { ping, silence, ..Pace::default() };
        let mut test = Test::with(Settings { pace, ..Settings::default() }).carried_over(scheme);
        let mut launch = test.launch(
            "agent",
            &[
                expect("initialize"),
                answer_to("initialize", &json!({"protocolVersion": 1})),
                expect("session/new"),
                answer_to("session/new", &json!({"sessionId": "s1"})),
                expect("session/prompt"),
                end_turn(),
            ],
        );
        launch.name = "far".into();
        let manners = test.servers[0].manners.clone();
        manners.beat.store(10, Ordering::Release);
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
        test.send(test.open_command(SESSION));
        test.opened();
        let streams = |test: &Test| test.servers[0].streams();
        // The session's own comes right after it was opened.
        let all = if scheme == "http" { 2 } else { 1 };
        wait_for("its streams", || streams(&test) == all);
        // Longer than anybody may be silent.
        wait_for("signs of life", || manners.beats.load(Ordering::Acquire) > 150);
        test.prompt("Hi");
        assert_eq!(test.stop_reason(), StopReason::EndTurn, "{scheme}");
        assert_eq!(streams(&test), all, "{scheme}");
        test.finish();
    });
}

#[test]
fn a_message_for_a_session_that_the_server_does_not_know_costs_no_other_one() {
    let mut test = Test::with(hasty()).carried_over("http");
    test.open(&[
        json!({"expect": "session/new", "as": "other"}),
        answer_to("other", &json!({"sessionId": "s2"})),
        expect("session/prompt"),
        end_turn(),
    ]);
    *test.servers[0].manners.unknown.lock().expect("manners") = Some("s1".into());
    test.prompt("Hi");
    match test.turn_end() {
        TurnEnd::Failed(failure) => assert_eq!(failure.kind, FailureKind::NotFound, "{failure:?}"),
        other => panic!("{other:?}"),
    }
    let other = SessionKey(9);
    test.send(test.open_command(other));
    test.opened();
    test.send(Command::Prompt { session: other, content: vec![Content::Text("Hi".into())] });
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    assert_eq!(test.finish().all("session/prompt").len(), 1);
}

#[test]
fn an_agent_that_goes_in_the_middle_of_a_turn_is_told_of() {
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
        let settings = [expect("session/prompt"), update(&chunk("Hel")), json!({"exit": 1})];
        test.open(&settings);
        test.prompt("Hi");
        match test.turn_end() {
            TurnEnd::Failed(failure) => {
                assert!(failure.message.contains("lost its connection"), "{scheme}: {failure:?}");
            }
            other => panic!("{other:?}"),
        }
        test.exited();
    });
}

#[test]
fn a_connection_that_breaks_while_nothing_goes_on_is_told_of() {
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
        test.open(&[]);
        test.servers[0].forget_all();
        let failure = test.exited().failure.expect("a failure");
        assert!(failure.message.starts_with("lost its connection: "), "{scheme}: {failure:?}");
    });
}

#[test]
fn where_nothing_answers_the_user_is_told_at_once() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    for_each(|scheme| {
        let mut test = Test::new();
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch_at(scheme, port, &[])) });
        let failure = test.exited().failure.expect("a failure");
        assert!(failure.message.contains("nothing answers there"), "{failure:?}");
    });
}

#[test]
fn secrets_are_sent_and_stay_out_of_the_log() {
    for_each(|scheme| {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("wire.jsonl");
        let mut test =
            Test::with(Settings { log: Some(log.clone()), ..Settings::default() }).carried_over(scheme);
        let secret = test.file("secret", "Bearer sekrit-of-mine\n");
        let mut launch = test.launch(
            "agent",
            &[
                expect("initialize"),
                answer_to(
                    "initialize",
                    &json!({"protocolVersion": 1, "agentInfo": {"name": "sekrit-of-mine", "version": "1"}}),
                ),
            ],
        );
        let header = ("Authorization".to_owned(), format!("file:{}", secret.display()));
        launch.remote.as_mut().expect("a remote agent").headers.push(header);
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
        test.wait("Connected", |event| matches!(event, Event::Connected { .. }).then_some(()));
        let requests = test.servers[0].requests.clone();
        test.finish();
        let requests = requests.lock().expect("requests").clone();
        let has = |head: &String| head.to_ascii_lowercase().contains("authorization: bearer sekrit-of-mine");
        assert!(!requests.is_empty() && requests.iter().all(has), "{requests:?}");
        let written = || std::fs::read_to_string(&log).unwrap_or_default();
        wait_for("the log", || written().contains("agentInfo"));
        assert!(!written().contains("sekrit"), "{}", written());
    });
}

#[test]
fn secrets_stay_out_of_what_is_shown_and_recorded() {
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
        let info = json!({"protocolVersion": 1, "agentInfo": {"name": "sekrit-of-mine", "version": "1"}});
        let mut launch = test.launch("agent", &[expect("initialize"), answer_to("initialize", &info)]);
        let header = ("Authorization".to_owned(), "cmd:echo Bearer sekrit-of-mine".to_owned());
        launch.remote.as_mut().expect("a remote agent").headers.push(header);
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
        test.wait("Connected", |event| matches!(event, Event::Connected { .. }).then_some(()));
        let target = Target { path: test.path("session.jsonl"), replaces: false };
        for request in [
            Request::Record { job: JobId(1), agent: None, target, origin: Origin::default() },
            Request::Read { job: JobId(2), number: 1 },
            Request::Find { job: JobId(3), from: 0, texts: vec!["sekrit".into()] },
        ] {
            test.send(Command::Inspect(request));
        }
        for _ in 0..3 {
            let reply = test.wait("Inspected", |event| match event {
                Event::Inspected(reply) => Some((**reply).clone()),
                _ => None,
            });
            match reply {
                Reply::Found { numbers, .. } => assert_eq!(numbers, [[0; 0]]),
                Reply::Read { text, .. } => {
                    let text = text.expect("the answer");
                    assert!(text.contains("agentInfo") && !text.contains("sekrit"), "{text}");
                }
                Reply::Recorded { recorded, .. } => {
                    let text = recorded.expect("a recording").lines.join("\n");
                    assert!(text.contains("agentInfo") && !text.contains("sekrit"), "{text}");
                }
                other => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn an_agent_that_was_there_before_is_waited_for() {
    for_each(|scheme| {
        let mut test = Test::new().carried_over(scheme);
        test.open(&[expect("session/prompt"), json!({"exit": 1})]);
        test.prompt("Hi");
        test.exited();
        let (port, refuses) = (test.servers[0].port, test.servers[0].refuses.clone());
        refuses.store(true, Ordering::Release);
        let next = AgentId(AGENT.0 + 1);
        test.send(Command::Connect { agent: next, launch: Box::new(launch_at(scheme, port, &[])) });
        let said = test.wait("a notice", |event| match event {
            Event::Noted { agent, text, .. } if *agent == next => Some(text.clone()),
            _ => None,
        });
        assert!(said.contains("again"), "{scheme}: {said}");
        refuses.store(false, Ordering::Release);
        test.wait("Connected", |event| {
            matches!(event, Event::Connected { agent, .. } if *agent == next).then_some(())
        });
    });
}

#[test]
fn a_machine_that_is_silent_is_given_up() {
    // It takes connections, and never says a word.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let pace =
        Pace { connect: Duration::from_millis(50), post: Duration::from_millis(50), ..Pace::default() };
    for_each(|scheme| {
        let mut test = Test::with(Settings { pace, ..Settings::default() });
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch_at(scheme, port, &[])) });
        let failure = test.exited().failure.expect("a failure");
        assert!(
            failure.message.contains("within") || failure.message.contains("hasn't answered"),
            "{failure:?}"
        );
    });
}

#[test]
fn a_message_without_an_end_is_refused() {
    for_each(|scheme| {
        let settings = Settings { message_limit: 1 << 20, ..Settings::default() };
        let mut test = Test::with(settings).carried_over(scheme);
        let long = "x".repeat(3 << 20);
        test.open(&[expect("session/prompt"), update(&chunk(&long))]);
        test.prompt("Hi");
        let failure = test.exited().failure.expect("a failure");
        assert!(failure.message.contains("more than 1 MiB"), "{scheme}: {failure:?}");
    });
}
