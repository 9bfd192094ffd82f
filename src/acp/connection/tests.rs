//! A whole conversation without a process.

use std::thread;

use serde_json::{Value, json};
use tokio::runtime;

use super::*;
use crate::acp::settings::Settings;
use crate::acp::wire::memory_transport::{MemoryAgent, MemoryTransport};
use crate::core::message::Exit;
use crate::core::replay::Pace;
use crate::mailbox::Mailbox;

/// What the editor hears of an agent that does as `agent` says.
fn events(agent: impl FnOnce(MemoryAgent) + Send + 'static) -> Vec<Event> {
    let mailbox = Mailbox::new(|_| {});
    let runtime = runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let shared = Arc::new(Shared::new(mailbox.clone(), Settings::default()));
        let launch = Launch {
            name: "memory".into(),
            title: None,
            command: "none".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: "/".into(),
            ..Launch::default()
        };
        let link = Link::new(&shared, AgentId(1), &launch);
        let (transport, theirs) =
            MemoryTransport::pair(link.log.clone(), link.fast_path.clone(), link.converter.clone());
        let thread = thread::spawn(move || agent(theirs));
        let (_commands, queue) = mpsc::unbounded_channel();
        let (_leave, leaving) = watch::channel(None);
        converse(shared, link, transport, queue, leaving).await;
        thread.join().expect("the agent");
    });
    std::iter::from_fn(|| mailbox.take()).collect()
}

fn next(agent: &MemoryAgent) -> Value {
    serde_json::from_slice(&agent.received.recv().expect("a line")).expect("JSON")
}

fn say(agent: &mut MemoryAgent, message: &Value) {
    let more = agent.sink.push(format!("{message}\n").as_bytes());
    assert!(more.is_continue());
}

#[test]
fn a_conversation_needs_no_process() {
    let events = events(|mut agent| {
        let request = next(&agent);
        assert_eq!(request["method"], "initialize");
        let result = json!({ "protocolVersion": 1, "agentInfo": { "name": "memory" } });
        say(&mut agent, &json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
        say(&mut agent, &json!({ "jsonrpc": "2.0", "id": 7, "method": "no/such" }));
        assert_eq!(next(&agent)["error"]["code"], -32601);
        agent.ended.send_replace(Some(Exit { code: Some(3), signal: None }));
    });
    let [Event::Connected { agent: AgentId(1), info }, Event::Exited { agent: AgentId(1), why }] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(info.name.as_deref(), Some("memory"));
    assert_eq!(why.exit, Some(Exit { code: Some(3), signal: None }));
    assert!(why.failure.is_none() && !why.expected, "{why:?}");
}

#[test]
fn an_agent_that_ends_before_it_is_ready_says_how() {
    let events = events(|agent| {
        next(&agent);
        agent.ended.send_replace(Some(Exit { code: Some(1), signal: None }));
    });
    let [Event::Exited { why, .. }] = &events[..] else { panic!("{events:?}") };
    let failure = why.failure.as_ref().expect("a failure");
    let said = "ended with exit code 1 before it was ready; it said nothing; try its command in a terminal";
    assert!(failure.message.contains(said), "{failure:?}");
}

#[test]
fn what_a_replay_was_asked_last_is_answered_before_it_counts_as_ended() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/claude-agent-acp-edit.jsonl");
    let runtime = runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    for pace in [Pace::Step, Pace::AtOnce].into_iter().cycle().take(20) {
        runtime.block_on(async {
            let shared = Arc::new(Shared::new(Mailbox::new(|_| {}), Settings::default()));
            let link = Link::new(&shared, AgentId(1), &Launch::default());
            let replay = Replay { path: recording.into(), pace };
            let mut transport = begin_replay(&shared, &link, replay).await.expect("it can be played");
            for (id, method) in [(1, "session/new"), (2, "session/close")] {
                let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
                transport.lines().send(line.to_string().into_bytes());
            }
            let (_leave, mut leaving) = watch::channel(None);
            transport.close(&mut leaving).await;
            let is_answer = |text: &[u8]| {
                serde_json::from_slice(text)
                    .is_ok_and(|told: Value| told["id"] == 2 && told["method"].is_null())
            };
            let is_told = shared.log.ring.read(|ring| ring.since(0).any(|kept| is_answer(kept.text)));
            assert!(is_told, "{pace:?}");
        });
    }
}
