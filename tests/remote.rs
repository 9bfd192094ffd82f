//! Chats with an agent behind a server: what a user sees when the connection to it breaks.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

// The attribute tells clippy that helpers in there are tests, too.
#[cfg(test)]
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
#[path = "support/remote.rs"]
mod remote;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use remote::Server;
use support::script::{Scripted, ends, initialized, prompt, says};

/// A chat whose agent plays the first steps on its first connection, and the second ones on the next one. Only what it
/// is sent on the second is recorded.
struct Far {
    chat: Scripted,
    server: Server,
    connections: Arc<AtomicU32>,
}

fn far(scheme: &str, first: &[Value], second: Vec<Value>) -> Far {
    let mut chat = Scripted::new(&[], second);
    chat.project.write(".agent/first.json", &json!(first).to_string());
    let [before, after, record] = ["first.json", "script.json", "record.jsonl"]
        .map(|name| chat.project.file(&format!(".agent/{name}")));
    let (cwd, connections) = (chat.project.path().to_owned(), Arc::new(AtomicU32::new(0)));
    let count = connections.clone();
    let server = Server::start(move || {
        let mut agent = Command::new(support::demo_agent());
        agent.current_dir(&cwd).arg("--script");
        match count.fetch_add(1, Ordering::AcqRel) {
            0 => agent.arg(&before),
            _ => agent.arg(&after).arg("--record").arg(&record),
        };
        agent
    });
    let url = server.url(scheme);
    chat.configure(&format!("agents = {{ far = {{ url = '{url}' }} }}, default_agent = 'far'"));
    chat.chat();
    Far { chat, server, connections }
}

/// How sessions are taken up again, with what an agent offers that can do only that.
fn ways() -> [(&'static str, Value); 2] {
    [
        ("session/resume", json!({ "sessionCapabilities": { "resume": {} } })),
        ("session/load", json!({ "loadSession": true })),
    ]
}

fn new_session() -> [Value; 2] {
    [json!({ "expect": "session/new" }), json!({ "reply": "session/new", "result": { "sessionId": "s1" } })]
}

/// It is taken up, and plays a turn.
fn taken_up(how: &str) -> Vec<Value> {
    vec![
        json!({ "expect": how, "params": { "sessionId": "s1" } }),
        json!({ "reply": how, "result": {} }),
        prompt(),
        says("After."),
        ends("end_turn"),
    ]
}

fn wait_until_idle(chat: &mut Scripted) {
    let state = "return require('acp').status().sessions[1].state";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(state, []).as_str() == Some("idle"), "an idle session");
}

#[test]
fn an_idle_session_goes_on_by_itself_when_its_connection_breaks() {
    for scheme in ["ws", "http"] {
        for (how, can) in ways() {
            let first = [
                initialized(can.clone(), json!([])),
                new_session().into(),
                vec![prompt(), says("Before."), ends("end_turn"), json!({ "wait_eof": true })],
            ];
            let second = [initialized(can, json!([])), taken_up(how)];
            let mut far = far(scheme, &first.concat(), second.concat());
            far.chat.send("one");
            far.chat.wait_for("Done");
            far.server.forget_all();
            far.chat.wait_for("It is started again by itself; this text stays");
            wait_until_idle(&mut far.chat);
            assert_eq!(far.chat.got(how)["params"]["sessionId"], "s1", "{scheme}");
            far.chat.send("two");
            far.chat.wait_for("After.");
            let text = far.chat.transcript();
            assert!(text.contains("lost its connection"), "{scheme}: {text}");
            assert_eq!(text.matches("Before.").count(), 1, "{scheme}: {text}");
            assert_eq!(far.connections.load(Ordering::Acquire), 2, "{scheme}");
        }
    }
}

#[test]
fn a_turn_whose_connection_breaks_has_failed_and_the_user_starts_the_agent_again() {
    for (scheme, (how, can)) in ["ws", "http"].into_iter().zip(ways()) {
        let first = [
            initialized(can.clone(), json!([])),
            new_session().into(),
            vec![prompt(), says("Half of it"), json!({ "wait_eof": true })],
        ];
        let second = [initialized(can, json!([])), taken_up(how)];
        let mut far = far(scheme, &first.concat(), second.concat());
        far.chat.send("one");
        far.chat.wait_for("Half of it");
        far.server.forget_all();
        far.chat.wait_for("R starts it again");
        let text = far.chat.transcript();
        assert!(text.contains("lost its connection"), "{scheme}: {text}");
        // What the turn did may not be done twice.
        assert_eq!(far.connections.load(Ordering::Acquire), 1, "{scheme}");
        far.chat.nvim.command("Acp restart");
        wait_until_idle(&mut far.chat);
        far.chat.got(how);
        far.chat.send("two");
        far.chat.wait_for("After.");
        assert!(far.chat.transcript().contains("Half of it"), "{scheme}: {}", far.chat.transcript());
        let prompts = far.chat.record().into_iter().filter(|message| message["method"] == "session/prompt");
        assert_eq!(prompts.count(), 1, "{scheme}");
    }
}
