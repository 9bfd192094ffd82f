//! Limits for what an agent may use up: the user is asked when one is reached, and what would change something waits for
//! the answer. The agents are scripted; the Neovim is real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{
    Scripted, answered, asks, awaits, ends, permission, prompt, runs, runs_alone, says, steps, update, writes,
};

fn chat(parts: Vec<Value>, options: &str) -> Scripted {
    let turn = [prompt()].into_iter().chain(parts).chain([ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(turn));
    chat.configure(&format!("permission = {{ open = 'never', rules = {{ {{ decision = 'allow', command = 'just **' }} }} }}, {options}"));
    chat.chat();
    chat
}

/// Three files, one after the other; the agent does not wait for the third before it goes on.
fn three_writes() -> Vec<Value> {
    ["one.txt", "two.txt", "three.txt"].into_iter().flat_map(|name| writes(name, "x\ny\n")).collect()
}

#[test]
fn files_beyond_the_limit_wait_for_the_user() {
    let mut chat = chat(three_writes(), "limits = { turn = { files = 1 } }");
    chat.send("go");
    chat.wait_for("wants to change more than 1 file in this turn, your limit");
    chat.wait_for("What it wants to change or run waits for your answer.");
    chat.nvim.stop_insert();
    let [second, third] = ["two.txt", "three.txt"].map(|name| chat.project.file(name));
    assert!(!second.exists(), "it was written before the answer");
    chat.nvim.wait_for_screen("1 Continue");
    chat.decide("allow");
    // As much more is within it again.
    chat.nvim.wait_until(|_| second.exists(), "the second file");
    chat.wait_for("wants to change more than 2 files in this turn, your limit");
    assert!(!third.exists(), "it was written before the answer");
    chat.decide("allow unlimited");
    chat.nvim.wait_for_screen("no limit any more");
    chat.nvim.wait_until(|_| third.exists(), "the third file");
    chat.wait_for("Done");
}

#[test]
fn what_a_command_changes_counts_for_the_limits() {
    for (limit, asked) in [
        ("files = 1", "has changed 2 files in this session; your limit is 1"),
        ("lines = 3", "has changed 4 lines in this session; your limit is 3"),
    ] {
        let line = "echo b >> a.txt; printf '1\\n2\\n3\\n' > made.txt";
        let next_turn = [ends("end_turn"), prompt()];
        let parts = runs("c", line).into_iter().chain(next_turn).chain(writes("next.txt", "x\n")).collect();
        let mut chat = chat(parts, &format!("limits = {{ session = {{ {limit} }} }}"));
        chat.send("go");
        chat.wait_for("Done");
        chat.send("go on");
        next_waits(&mut chat, asked, limit);
    }
}

/// The next file is written once the user, who is asked this, allows it.
fn next_waits(chat: &mut Scripted, asked: &str, limit: &str) {
    chat.wait_for(asked);
    let next = chat.project.file("next.txt");
    assert!(!next.exists(), "{limit}: it was written before the answer");
    chat.nvim.stop_insert();
    chat.decide("allow unlimited");
    chat.nvim.wait_until(|_| next.exists(), "the next file");
}

#[test]
fn what_a_command_has_just_changed_counts_before_the_next_write() {
    let line = "echo b >> a.txt; printf '1\n2\n3\n' > made.txt";
    for run in [runs("c", line), runs_alone("c", line)] {
        for (limit, asked) in [
            ("files = 1", "has changed 2 files in this turn; your limit is 1"),
            ("files = 2", "wants to change more than 2 files in this turn, your limit"),
            ("lines = 3", "has changed 4 lines in this turn; your limit is 3"),
        ] {
            let parts = run.iter().cloned().chain(writes("next.txt", "x\n")).collect();
            let mut chat = chat(parts, &format!("limits = {{ turn = {{ {limit} }} }}"));
            chat.nvim.command("call bufload(bufadd('a.txt'))");
            chat.send("go");
            next_waits(&mut chat, asked, limit);
        }
    }
}

#[test]
fn what_a_command_has_just_changed_counts_before_rules_answer() {
    let line = "for n in $(seq 40); do seq 5000 > $n; done";
    for run in [runs("c", line), runs_alone("c", line)] {
        let parts = run.into_iter().chain(asks_to_run("a")).collect();
        let mut chat = chat(parts, "limits = { turn = { files = 30 } }");
        chat.send("go");
        chat.wait_for("files in this turn; your limit is 30");
        chat.wait_for("Waits for your answer about the limit; a rule allows it: allow command just **");
        chat.nvim.stop_insert();
        chat.decide("allow unlimited");
        chat.wait_for("Done");
    }
}

#[test]
fn stopping_at_a_limit_ends_the_turn_and_writes_nothing_more() {
    let mut chat = chat(three_writes(), "limits = { session = { files = 1 } }");
    chat.send("go");
    chat.wait_for("wants to change more than 1 file in this session, your limit");
    chat.nvim.stop_insert();
    chat.decide("reject");
    chat.nvim.wait_for_screen("stopped");
    chat.nvim.wait_until(|nvim| nvim.screen().contains("ready"), "the turn to end");
    chat.wait_for("two.txt was not written: it waited at your limit when the turn ended");
    for name in ["two.txt", "three.txt"] {
        assert!(!chat.project.file(name).exists(), "{name}");
    }
}

fn asks_to_run(id: &str) -> [Value; 2] {
    let line = format!("just {id}");
    let call = json!({ "toolCallId": id, "title": line, "kind": "execute", "rawInput": { "command": line } });
    [permission(&format!("p-{id}"), call), answered(&format!("p-{id}"))]
}

#[test]
fn what_rules_allow_waits_too_once_too_many_commands_were_run() {
    let parts = ["a", "b", "c"].iter().flat_map(|id| asks_to_run(id)).collect();
    let mut chat = chat(parts, "limits = { turn = { commands = 1 } }");
    chat.send("go");
    let option =
        |answer: &Value| answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default().to_owned();
    assert_eq!(option(&chat.answer("p-a")), "a");
    // The second has not run yet.
    chat.wait_for("wants to run more than 1 command in this turn, your limit");
    // It is the limit that asks.
    chat.wait_for("Waits for your answer about the limit; a rule allows it: allow command just **");
    assert!(!chat.transcript().contains("Allow this command?"), "{}", chat.transcript());
    chat.nvim.stop_insert();
    chat.decide("allow unlimited");
    assert_eq!(["p-b", "p-c"].map(|id| option(&chat.answer(id))), ["a", "a"]);
    chat.wait_for("Done");
}

#[test]
fn a_command_in_a_terminal_waits_for_the_answer() {
    let create = json!({ "command": "touch", "args": ["made.txt"] });
    let mut chat =
        chat(awaits("t", "terminal/create", create).to_vec(), "limits = { turn = { commands = 0 } }");
    chat.send("go");
    chat.wait_for("wants to run more than 0 commands in this turn, your limit");
    let made = chat.project.file("made.txt");
    assert!(!made.exists(), "it ran before the answer");
    chat.nvim.stop_insert();
    chat.decide("allow");
    assert!(chat.answer("t")["result"]["terminalId"].is_string());
    chat.nvim.wait_until(|_| made.exists(), "the command's file");
}

#[test]
fn time_is_up_while_the_agent_works_and_the_users_time_does_not_count() {
    let said = update(
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "so" } }),
    );
    let never = json!({ "expect": "session/cancel" });
    let mut chat = chat(vec![said, never], "limits = { turn = { time = 0.3 } }");
    chat.send("go");
    chat.wait_for("in this turn; your limit is 300 ms");
    chat.nvim.stop_insert();
    chat.decide("reject");
    chat.nvim.wait_for_screen("stopped");
}

#[test]
fn what_costs_more_than_the_limit_waits_for_the_user() {
    let costs = |amount: f64| {
        update(json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2,
            "cost": { "amount": amount, "currency": "USD" } }))
    };
    let parts =
        [costs(0.75)].into_iter().chain(asks_to_run("a")).chain([costs(1.25)]).chain(asks_to_run("b"));
    let parts = parts.chain(writes("a.txt", "b\n"));
    let mut chat = chat(parts.collect(), "limits = { session = { cost = 1 } }");
    chat.send("go");
    let option =
        |answer: &Value| answer["result"]["outcome"]["optionId"].as_str().unwrap_or_default().to_owned();
    assert_eq!(option(&chat.answer("p-a")), "a", "a rule allows it within the limit");
    chat.wait_for("has cost 1.25 in this session; your limit is 1.00");
    chat.nvim.stop_insert();
    assert_eq!(std::fs::read_to_string(chat.project.file("a.txt")).expect("the file"), "a\n");
    chat.decide("allow");
    // Now the rule counts again, and what comes after it.
    assert_eq!(option(&chat.answer("p-b")), "a");
    let file = chat.project.file("a.txt");
    chat.nvim.wait_until(|_| std::fs::read_to_string(&file).is_ok_and(|text| text == "b\n"), "the write");
}

/// Asks for what no rule allows.
fn asks_for_another(id: &str) -> [Value; 2] {
    let call = json!({ "toolCallId": id, "title": "make all", "kind": "execute",
        "rawInput": { "command": "make all" } });
    [permission(&format!("p-{id}"), call), answered(&format!("p-{id}"))]
}

#[test]
fn a_question_about_a_limit_ends_with_its_turn() {
    let unanswered =
        asks("late", "fs/write_text_file", json!({ "path": "$PROJECT/two.txt", "content": "x\n" }));
    // The agent ends its turn while the second file waits.
    let first = writes("one.txt", "x\n").into_iter().chain([unanswered]).chain(asks_for_another("a"));
    let turns = [prompt()].into_iter().chain(first).chain([ends("end_turn"), prompt()]);
    let turns = turns.chain(asks_for_another("b")).chain([ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(turns));
    chat.configure("permission = { open = 'never' }, limits = { turn = { files = 1 } }");
    chat.chat();
    chat.send("go");
    chat.wait_for("wants to change more than 1 file in this turn, your limit");
    chat.go_to("make all");
    chat.nvim.wait_until(
        |nvim| {
            // A key that comes right after a question appears is not meant for it.
            nvim.input("3");
            nvim.screen().contains("the turn has ended")
        },
        "the question to end with its turn",
    );
    chat.wait_for("two.txt was not written: it waited at your limit when the turn ended");
    assert!(chat.answer("late")["error"].is_object());
    chat.nvim.command("Acp send again");
    chat.nvim.wait_until(
        |nvim| nvim.screen().matches("Allow this command?").count() == 1,
        "the question of the second turn",
    );
    chat.decide("reject");
    assert_eq!(chat.answer("p-b")["result"]["outcome"]["optionId"], "r");
    assert!(!chat.project.file("two.txt").exists(), "what waited in the turn before was written");
}

#[test]
fn limits_that_are_set_later_count_for_an_open_session() {
    let mut chat = chat(three_writes(), "limits = { turn = { files = 5 } }");
    chat.configure("permission = { open = 'never' }, limits = { turn = { files = 1 } }");
    chat.send("go");
    chat.wait_for("wants to change more than 1 file in this turn, your limit");
    chat.nvim.stop_insert();
    let [second, third] = ["two.txt", "three.txt"].map(|name| chat.project.file(name));
    assert!(!second.exists(), "it was written before the answer");
    chat.configure("permission = { open = 'never' }");
    chat.decide("allow");
    // Without a limit nothing waits for one.
    chat.nvim.wait_until(|_| third.exists(), "the third file");
    chat.wait_for("Done");
    assert!(!chat.transcript().contains("more than 2 files"), "{}", chat.transcript());
}

#[test]
fn while_an_agent_goes_on_the_screen_says_how_to_answer_what_it_has_pushed_out_of_sight() {
    let text: String = (1..=60).map(|line| format!("line {line}\n\n")).collect();
    let turn = [prompt()].into_iter().chain(writes("one.txt", "x\ny\n")).chain([says(&text)]);
    let mut chat = Scripted::sized(&[], steps(turn), 80, 24);
    chat.configure("permission = { open = 'never' }, limits = { turn = { lines = 1 } }");
    chat.chat();
    chat.send("go");
    chat.wait_for("has changed 2 lines in this turn; your limit is 1");
    chat.nvim.wait_for_screen("line 60");
    assert!(!chat.nvim.screen().contains("Go on?"), "{}", chat.nvim.screen());
    chat.nvim.wait_for_screen(":Acp answer");
    chat.nvim.stop_insert();
    chat.decide("allow");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains(":Acp answer"), "the hint to go");
}
