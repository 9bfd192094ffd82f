//! Sessions and logins: several sessions on one agent, stored ones, and agents that want to know who
//! is there. The agents are scripted; the Neovim, the processes and the pipes are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{Scripted, ends, initialized, opened, opened_with, prompt, says, update};

/// Lets a test answer pickers: the answers in order, as numbers from 1; nothing when they run out.
fn pick(nvim: &mut Nvim, numbers: &[u64]) {
    let numbers: Vec<rmpv::Value> = numbers.iter().map(|number| (*number).into()).collect();
    nvim.exec_lua(
        "local numbers = ...
         _G.seen = {}
         vim.ui.select = function(items, options, choose)
           table.insert(_G.seen, { items = items, prompt = options.prompt })
           local number = table.remove(numbers, 1)
           if number then choose(items[number], number) end
         end",
        [rmpv::Value::Array(numbers)],
    );
}

fn seen(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.inspect(_G.seen)", []).as_str().expect("a text").to_owned()
}

fn said(nvim: &mut Nvim) -> String {
    nvim.exec_lua("return vim.inspect(_G.said)", []).as_str().expect("a text").to_owned()
}

fn new_session(id: &str) -> [Value; 2] {
    [json!({ "expect": "session/new" }), json!({ "reply": "session/new", "result": { "sessionId": id } })]
}

/// An agent that lists the sessions it has stored, and loads them.
fn stores_sessions() -> Vec<Value> {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    [initialized(can, json!([])), new_session("s1").into()].concat()
}

/// A stored session of this project as it stands in such a list.
fn listed(id: &str, title: &str) -> Value {
    json!({ "sessionId": id, "cwd": "$PROJECT", "title": title })
}

fn wants_login(method: &str) -> [Value; 2] {
    [
        json!({ "expect": method }),
        json!({ "reply": method, "error": { "code": -32000, "message": "Authentication required" } }),
    ]
}

fn steps(groups: impl IntoIterator<Item = Vec<Value>>) -> Vec<Value> {
    groups.into_iter().flatten().collect()
}

fn processes(nvim: &Nvim) -> usize {
    nvim.processes().iter().filter(|process| process.command.contains("--script")).count()
}

#[test]
fn a_second_session_shares_the_process_and_each_chat_shows_its_own() {
    let update = |session: &str, text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": session, "update": {
            "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } } } } })
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            new_session("s1").into(),
            new_session("s2").into(),
            vec![prompt(), update("s1", "for the first"), update("s2", "for the second"), ends("end_turn")],
        ]),
    );
    chat.chat();
    chat.nvim.command("AcpChat!");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return #require('acp').status().sessions", []).as_u64() == Some(2),
        "two sessions",
    );
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the second to be open",
    );
    assert_eq!(processes(&chat.nvim), 1);
    chat.send("go");
    chat.wait_for("Done");
    let text = |chat: &mut Scripted, number: u64| {
        let code = "for _, session in ipairs(require('acp').status().sessions) do
                      if session.session == ... then
                        return table.concat(vim.api.nvim_buf_get_lines(session.buffer, 0, -1, false), '\\n')
                      end
                    end";
        chat.nvim.exec_lua(code, [number.into()]).as_str().expect("a text").to_owned()
    };
    let (first, second) = (text(&mut chat, 1), text(&mut chat, 2));
    assert!(first.contains("for the first") && !first.contains("for the second"), "{first}");
    assert!(second.contains("for the second") && !second.contains("for the first"), "{second}");
}

#[test]
fn a_stored_session_is_listed_by_pages_and_taken_up_with_all_that_was_said() {
    let update = |kind: &str, text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old 2", "update": {
            "sessionUpdate": kind, "content": { "type": "text", "text": text } } } } })
    };
    let call = |id: &str, path: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old 2", "update": {
            "sessionUpdate": "tool_call", "toolCallId": id, "title": format!("Read {path}"), "kind": "read",
            "status": "completed", "locations": [{ "path": format!("$PROJECT/{path}"), "line": 1 }] } } } })
    };
    let mut chat = Scripted::new(
        &[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")],
        steps([
            stores_sessions(),
            vec![
                json!({ "expect": "session/list", "as": "first" }),
                json!({ "reply": "first", "result": { "sessions": [listed("old 1", "One")], "nextCursor": "%/x" } }),
                json!({ "expect": "session/list", "params": { "cursor": "%/x" }, "as": "second" }),
                json!({ "reply": "second", "result": { "sessions": [listed("old 2", "Two")] } }),
                json!({ "expect": "session/load", "params": { "sessionId": "old 2" } }),
                update("user_message_chunk", "And before?"),
                call("1", "a.txt"),
                update("user_message_chunk", "What was it?"),
                call("2", "b.txt"),
                call("3", "c.txt"),
                update("agent_message_chunk", "It was **this**."),
                json!({ "reply": "session/load", "result": null }),
                prompt(),
                ends("end_turn"),
            ],
        ]),
    );
    chat.chat();
    // Both pages are there before the list is.
    pick(&mut chat.nvim, &[3]);
    chat.nvim.command("Acp sessions");
    chat.wait_for("It was **this**.");
    let seen = seen(&mut chat.nvim);
    assert!(seen.contains("Fake: One") && seen.contains("Fake: Two"), "{seen}");
    assert!(!seen.contains("Earlier sessions of Fake"), "{seen}");
    assert!(chat.transcript().contains("You\nWhat was it?"), "{}", chat.transcript());
    chat.nvim.wait_for_screen("Two");
    // The last turn's places are those of its calls.
    chat.nvim.stop_insert();
    let listed = "local names = {}
        for _, item in ipairs(vim.fn.getqflist()) do
          names[#names + 1] = vim.fs.basename(vim.api.nvim_buf_get_name(item.bufnr))
        end
        return table.concat(names, ' ')";
    for (words, places) in [("", "b.txt c.txt"), (" session", "a.txt b.txt c.txt")] {
        chat.nvim.command(&format!("Acp locations{words}"));
        chat.nvim.wait_until(|nvim| nvim.exec_lua(listed, []).as_str() == Some(places), places);
    }
    chat.nvim.command("cclose | AcpChat");
    chat.send("And now?");
    assert_eq!(chat.got("session/prompt")["params"]["sessionId"], "old 2");
}

#[test]
fn a_prompt_that_is_told_again_has_the_time_that_its_agent_says_or_none() {
    let update = |kind: &str, text: &str, meta: Value| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "old", "_meta": meta, "update": {
            "sessionUpdate": kind, "content": { "type": "text", "text": text } } } } })
    };
    let sent = 1_788_754_813_345_u64;
    let mut chat = Scripted::new(
        &[],
        steps([
            stores_sessions(),
            vec![
                json!({ "expect": "session/list" }),
                json!({ "reply": "session/list", "result": { "sessions": [listed("old", "Old")] } }),
                json!({ "expect": "session/load" }),
                update("user_message_chunk", "And before?", json!({})),
                update("agent_message_chunk", "Nothing.", json!({})),
                update("user_message_chunk", "What was it?", json!({ "agentTimestampMs": sent })),
                update("agent_message_chunk", "It was this.", json!({})),
                json!({ "reply": "session/load", "result": null }),
                prompt(),
            ],
        ]),
    );
    chat.configure("timestamps = true");
    chat.chat();
    pick(&mut chat.nvim, &[2]);
    chat.nvim.command("Acp sessions");
    chat.wait_for("It was this.");
    chat.send("And now?");
    chat.got("session/prompt");
    chat.nvim.wait_for_screen("And now?");
    let at = chat.nvim.exec_lua("return os.date('%H:%M', ...)", [(sent / 1000).into()]);
    let screen = chat.nvim.screen();
    let times: Vec<&str> = screen
        .lines()
        .filter_map(|line| line.split_once("You"))
        .map(|(_, right)| right.trim_matches(|letter: char| !letter.is_ascii_digit()))
        .collect();
    assert_eq!(times[..2], ["", at.as_str().expect("a time")], "{screen}");
    assert!(times.len() == 3 && times[2].len() == 5, "{screen}");
}

#[test]
fn neovims_own_picker_shows_a_long_list_a_screenful_at_a_time() {
    let names: Vec<Value> =
        (1..=40).map(|number| listed(&format!("old {number}"), &format!("Number {number}"))).collect();
    let steps = steps([
        stores_sessions(),
        vec![
            json!({ "expect": "session/list" }),
            json!({ "reply": "session/list", "result": { "sessions": names } }),
            json!({ "expect": "session/load" }),
            json!({ "reply": "session/load", "result": null }),
        ],
    ]);
    let mut chat = Scripted::sized(&[], steps, 80, 24);
    chat.chat();
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp sessions<CR>");
    chat.nvim.wait_for_screen("Type number");
    let leads_on = |nvim: &mut Nvim| {
        let screen = nvim.screen();
        assert!(!screen.contains("-- More --"), "{screen}");
        let line = screen.lines().find(|line| line.contains(" more")).unwrap_or_default().to_owned();
        line.trim_start_matches('|').split(':').next().unwrap_or_default().to_owned()
    };
    assert!(chat.nvim.screen().contains("2: Fake: Number 1\n"), "{}", chat.nvim.screen());
    let more = leads_on(&mut chat.nvim);
    chat.nvim.input(&format!("{more}<CR>"));
    chat.nvim.wait_for_screen("back to the first ones");
    assert_ne!(leads_on(&mut chat.nvim), "");
    let screen = chat.nvim.screen();
    let first =
        screen.lines().find_map(|line| line.split_once("1: Fake: Number ")).expect("the first of the page");
    let number = first.1.split_whitespace().next().expect("its number").to_owned();
    chat.nvim.input("1<CR>");
    assert_eq!(chat.got("session/load")["params"]["sessionId"], format!("old {number}"));
}

#[test]
fn a_login_is_asked_for_and_the_session_opens_after_it() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(
                json!({}),
                json!([{ "id": "key", "name": "With a key", "description": "from your account" }]),
            ),
            wants_login("session/new").into(),
            vec![json!({ "expect": "authenticate" }), json!({ "reply": "authenticate", "result": {} })],
            new_session("s1").into(),
            vec![prompt(), says("Welcome."), ends("end_turn")],
        ]),
    );
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("With a key");
    chat.send("first words");
    pick(&mut chat.nvim, &[1]);
    chat.nvim.command("Acp login");
    chat.wait_for("Welcome.");
    assert_eq!(chat.got("authenticate")["params"]["methodId"], "key");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"][0]["text"], "first words");
}

#[test]
fn a_prompt_that_failed_for_want_of_a_login_is_sent_again_after_it() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([{ "id": "key", "name": "With a key" }])),
            new_session("s1").into(),
            wants_login("session/prompt").into(),
            vec![json!({ "expect": "authenticate" }), json!({ "reply": "authenticate", "result": {} })],
            vec![prompt(), says("Now then."), ends("end_turn")],
        ]),
    );
    chat.chat();
    chat.send("try this");
    chat.wait_for(":Acp login");
    chat.nvim.command("Acp login key");
    chat.wait_for("Now then.");
    chat.wait_for("Done");
    assert_eq!(chat.transcript().matches("try this").count(), 1, "{}", chat.transcript());
}

#[test]
fn a_login_in_a_terminal_runs_the_agents_own_program_and_starts_it_anew() {
    // The program is a script: with `login` it is the login, without the agent.
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(
                json!({}),
                json!([{ "type": "terminal", "id": "term", "name": "In a terminal", "args": ["login"],
                    "env": { "WHO": "me" }, "command": "/bin/evil" }]),
            ),
            wants_login("session/new").into(),
        ]),
    );
    let after = steps([
        initialized(json!({}), json!([])),
        new_session("s1").into(),
        vec![json!({ "wait_eof": true })],
    ]);
    chat.project.write("after.json", &Value::Array(after).to_string());
    let demo = support::demo_agent().to_str().expect("a path").to_owned();
    chat.project.write(
        "agent.sh",
        &format!(
            "#!/bin/sh\nif [ \"$1\" = login ]; then echo \"hello $WHO\"; read answer; echo $answer > logged-in; exit 0; fi\n\
             if [ -f logged-in ]; then exec {demo} --script after.json; fi\nexec {demo} --script .agent/script.json\n"
        ),
    );
    let script = chat.project.file("agent.sh");
    chat.nvim.setup_agent("fake", "/bin/sh", &[script.to_str().expect("a path")]);
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("In a terminal");
    pick(&mut chat.nvim, &[2]);
    chat.nvim.command("Acp login term");
    chat.nvim.wait_for_screen("hello me");
    assert!(seen(&mut chat.nvim).contains("Run this to log in to Fake?"));
    chat.nvim.input("yes<CR>");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the session to be open",
    );
    assert_eq!(chat.project.read("logged-in"), "yes\n");
}

#[test]
fn a_command_that_the_agent_names_logs_in_and_the_prompt_is_sent_again() {
    // As Copilot and Kimi do it: a method of no type, with the command in its `_meta`.
    let method = json!({ "id": "login", "name": "Log in with an account",
        "_meta": { "terminal-auth": { "command": "$PROJECT/log-in", "args": ["login"], "label": "Login",
            "env": { "WHO": "me" } } } });
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([method])),
            new_session("s1").into(),
            wants_login("session/prompt").into(),
        ]),
    );
    let after = steps([
        initialized(json!({}), json!([])),
        new_session("s1").into(),
        vec![json!({ "expect": "session/prompt" }), says("Welcome."), ends("end_turn")],
    ]);
    let folder = chat.project.path().to_str().expect("a path").to_owned();
    let script = chat.project.read(".agent/script.json").replace("$PROJECT", &folder);
    chat.project.write(".agent/script.json", &script);
    chat.project.write("after.json", &Value::Array(after).to_string());
    let demo = support::demo_agent().to_str().expect("a path").to_owned();
    chat.project.write(
        "agent.sh",
        &format!(
            "#!/bin/sh\nif [ -f logged-in ]; then exec {demo} --script after.json --record after.jsonl; fi\n\
             exec {demo} --script .agent/script.json --record before.jsonl\n"
        ),
    );
    let log_in = "#!/bin/sh\necho \"hello $WHO: $*\"\nread answer\n[ \"$answer\" = yes ] || exit 3\n\
                  echo $answer > logged-in\n";
    chat.project.write("log-in", log_in);
    let program = chat.project.file("log-in");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).expect("a program");
    let script = chat.project.file("agent.sh");
    chat.nvim.setup_agent("fake", "/bin/sh", &[script.to_str().expect("a path")]);
    chat.nvim.listen();
    pick(&mut chat.nvim, &[1, 2, 1, 2]);
    chat.nvim.command("AcpChat");
    chat.wait_for("Fake 1.0");
    chat.nvim.input("ihello<C-s>");
    chat.wait_for(":Acp login");
    chat.nvim.stop_insert();
    let before = chat.project.read("before.jsonl");
    assert!(!before.contains("terminal-auth"), "nobody has wished for it: {before}");

    // A login that fails changes nothing.
    chat.nvim.command("Acp login");
    chat.nvim.wait_for_screen("hello me: login");
    let whole = format!("Log in with an account: runs WHO=me {folder}/log-in login in a terminal");
    let seen = seen(&mut chat.nvim);
    assert!(seen.contains(&whole), "{whole:?} in {seen}");
    chat.nvim.input("no<CR>");
    chat.nvim.wait_until(
        |nvim| said(nvim).contains("the login ended with exit code 3; :Acp login tries again"),
        "the failure to be told",
    );
    chat.nvim.command("Acp login");
    chat.nvim.wait_until(|nvim| nvim.screen().matches("hello me: login").count() > 0, "the login to run");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "t", "the terminal to be typed in");
    chat.nvim.input("yes<CR>");
    chat.wait_for("Welcome.");
    let after = chat.project.read("after.jsonl");
    assert_eq!(after.matches("\"method\":\"session/prompt\"").count(), 1, "{after}");
    assert!(!(before + &after).contains("\"authenticate\""), "it is no method for a request");
}

/// Agents that want a login by a command of theirs, as a script of the project; what it has run for leaves a mark.
fn wants_login_by(login: Value) -> Scripted {
    let method = json!({ "id": "login", "name": "Log in", "_meta": { "terminal-auth": login } });
    let mut chat = Scripted::new(
        &[("log-in", "#!/bin/sh\ntouch ran\n")],
        steps([initialized(json!({}), json!([method])), wants_login("session/new").into()]),
    );
    let folder = chat.project.path().to_str().expect("a path").to_owned();
    let script = chat.project.read(".agent/script.json").replace("$PROJECT", &folder);
    chat.project.write(".agent/script.json", &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(chat.project.file("log-in"), mode).expect("a program");
    chat.nvim.listen();
    chat.nvim.command("AcpChat");
    chat.wait_for("Fake wants you to log in");
    chat.nvim.wait_until(|nvim| nvim.mode().name == "i", "the cursor in the prompt");
    chat
}

/// How many windows lie over the others.
fn floats(nvim: &mut Nvim) -> Option<u64> {
    let code = "return #vim.tbl_filter(function(win)
                  return vim.api.nvim_win_get_config(win).relative ~= ''
                end, vim.api.nvim_list_wins())";
    nvim.exec_lua(code, []).as_u64()
}

#[test]
fn what_a_login_runs_is_shown_whole_and_nothing_runs_before_the_user_says_so() {
    let mut chat =
        wants_login_by(json!({ "command": "$PROJECT/log-in", "args": ["a b", "it's", "\u{202e}c"],
        "env": { "LD_PRELOAD": "/tmp/x.so", "NO_COLOR": "1" } }));
    // Neovim's own picker, which covers the end of the screen.
    chat.nvim.stop_insert();
    chat.nvim.input(":Acp login login<CR>");
    chat.nvim.wait_for_screen("Run this to log in to Fake?");
    let screen = chat.nvim.screen();
    let folder = chat.project.path().to_str().expect("a path").to_owned();
    for shown in [
        "/log-in 'a b' 'it'\\''s' '<202e>c'",
        "With variables that may change what it runs or does:",
        "LD_PRELOAD=/tmp/x.so",
        "NO_COLOR=1",
        folder.as_str(),
    ] {
        assert!(screen.contains(shown), "{shown:?} in\n{screen}");
    }
    chat.nvim.input("1<CR>");
    let refused = |nvim: &mut Nvim| said(nvim).contains("nothing was run; :Acp login asks again");
    chat.nvim.wait_until(refused, "the refusal to be told");
    assert_eq!(floats(&mut chat.nvim), Some(0));

    // Chosen among the ways, and left without an answer.
    chat.nvim.listen();
    pick(&mut chat.nvim, &[1]);
    chat.nvim.command("Acp login");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("Run this to log in to Fake?"), "the question");
    assert_eq!(floats(&mut chat.nvim), Some(1));
    assert!(!chat.project.file("ran").exists());
    pick(&mut chat.nvim, &[2]);
    chat.nvim.command("Acp login login");
    let ran = chat.project.file("ran");
    chat.nvim.wait_until(|_| ran.exists(), "the login to run");
}

#[test]
fn a_login_that_can_not_be_shown_whole_is_not_asked_about() {
    let mut chat = wants_login_by(json!({ "command": "$PROJECT/log-in", "args": ["x".repeat(3000)] }));
    pick(&mut chat.nvim, &[2]);
    chat.nvim.command("Acp login login");
    let told = |nvim: &mut Nvim| said(nvim).contains("the screen has no room to show all that would be run");
    chat.nvim.wait_until(told, "the reason to be told");
    assert!(!seen(&mut chat.nvim).contains("Run this"));
    assert_eq!(floats(&mut chat.nvim), Some(0));
    assert!(!chat.project.file("ran").exists());
}

#[test]
fn a_login_by_a_program_that_is_not_there_says_what_to_do() {
    let method = json!({ "id": "login", "name": "Log in",
        "_meta": { "terminal-auth": { "command": "no-such-program", "args": ["login"] } } });
    let mut chat = Scripted::new(
        &[],
        steps([initialized(json!({}), json!([method])), wants_login("session/new").into()]),
    );
    chat.nvim.listen();
    chat.nvim.command("AcpChat");
    chat.wait_for("Log in (in a terminal: no-such-program login)");
    chat.nvim.command("Acp login login");
    chat.nvim
        .wait_until(|nvim| said(nvim).contains("couldn't start the login: no such program"), "the reason");
}

#[test]
fn closing_a_session_ends_its_agent_and_takes_the_chat_away() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "sessionCapabilities": { "close": {} } }), json!([])),
            new_session("s1").into(),
            vec![json!({ "expect": "session/close" }), json!({ "reply": "session/close", "result": {} })],
        ]),
    );
    chat.chat();
    chat.nvim.exec_lua("require('acp').on('Closed', function(data) _G.closed = data.agent end)", []);
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(|nvim| processes(nvim) == 0, "the agent to be gone");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("Fake 1.0"), "the chat to be gone");
    assert_eq!(chat.nvim.mode().name, "n");
    assert_eq!(chat.nvim.exec_lua("return _G.closed", []).as_str(), Some("fake"));
    assert_eq!(chat.nvim.exec_lua("return #require('acp').status().sessions", []).as_u64(), Some(0));
}

#[test]
fn who_closes_a_chat_at_work_is_told_that_it_was_stopped_and_how_to_take_it_up() {
    for (has_record, told) in [
        (true, "stopped Fake in its turn; :Acp resume takes the session up again"),
        (false, "stopped Fake in its turn; what it changed stays"),
    ] {
        let mut chat = Scripted::new(
            &[],
            steps([
                initialized(json!({ "loadSession": true }), json!([])),
                new_session("s1").into(),
                vec![prompt(), says("At it.")],
            ]),
        );
        chat.configure(&format!("record = {has_record}"));
        chat.chat();
        chat.send("go");
        chat.wait_for("At it.");
        chat.nvim.listen();
        chat.nvim.command("Acp close");
        chat.nvim.wait_until(|nvim| said(nvim).contains(&format!("{told}\"")), told);
        assert_eq!(chat.nvim.exec_lua("return #_G.said", []).as_u64(), Some(1), "{}", said(&mut chat.nvim));
    }
}

#[test]
fn what_was_queued_in_a_chat_that_is_closed_at_work_is_said_to_be_in_the_history() {
    let mut chat = Scripted::new(&[], steps([opened(), vec![prompt(), says("At it.")]]));
    chat.chat();
    chat.send("go");
    chat.wait_for("At it.");
    chat.send("later");
    chat.nvim.wait_for_screen("1 waiting");
    chat.nvim.listen();
    chat.nvim.command("Acp close");
    let told = "stopped Fake in its turn; what it changed stays, :Acp history has what was queued";
    chat.nvim.wait_until(|nvim| said(nvim).contains(told), told);
}

#[test]
fn who_closes_a_chat_in_normal_mode_is_in_normal_mode_in_the_next_one() {
    ["", "<C-w>k", "<C-w>h"].into_iter().for_each(close_in_normal_mode);
}

fn close_in_normal_mode(goes: &str) {
    let mut chat = Scripted::new(
        &[],
        steps([initialized(json!({}), json!([])), new_session("s1").into(), new_session("s2").into()]),
    );
    chat.chat();
    chat.second_chat();
    let count = "return #require('acp').status().sessions";
    chat.nvim.input(&format!("{goes}:Acp close<CR>"));
    chat.nvim.wait_until(|nvim| nvim.exec_lua(count, []).as_u64() == Some(1), "the second chat to go");
    let prompt = "return vim.api.nvim_get_current_buf() == require('acp').status().sessions[1].prompt";
    let is_there = goes != "<C-w>h";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(prompt, []) == is_there.into(), "the first chat");
    // The screen says so, too.
    assert!(!chat.nvim.screen().contains("(insert)"), "{goes} {}", chat.nvim.screen());
    chat.nvim.input("ix<Esc>");
    chat.nvim.wait_until(|nvim| nvim.buffer_text(0).contains('x'), "an x");
    assert_eq!((chat.nvim.mode().name.as_str(), chat.nvim.buffer_text(0).as_str()), ("n", "x"), "{goes}");
}

#[test]
fn a_stored_session_is_deleted_only_after_a_second_question() {
    let listed = json!({ "sessions": [{ "sessionId": "old", "cwd": "$PROJECT", "title": "Old one" }] });
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "sessionCapabilities": { "list": {}, "delete": {} } }), json!([])),
            new_session("s1").into(),
            vec![
                json!({ "expect": "session/list" }),
                json!({ "reply": "session/list", "result": listed }),
                json!({ "expect": "session/delete", "params": { "sessionId": "old" } }),
                json!({ "reply": "session/delete", "result": {} }),
            ],
        ]),
    );
    chat.chat();
    pick(&mut chat.nvim, &[1, 2]);
    chat.nvim.command("Acp delete");
    chat.got("session/delete");
    let seen = seen(&mut chat.nvim);
    assert!(seen.contains("Delete Old one for good?"), "{seen}");
}

#[test]
fn what_an_agent_does_not_offer_is_refused_without_asking_it() {
    let mut chat = Scripted::new(&[], steps([initialized(json!({}), json!([])), new_session("s1").into()]));
    chat.chat();
    chat.nvim.listen();
    for (command, words) in [
        ("Acp logout", "offers no logout"),
        ("Acp delete", "can't delete"),
        ("Acp login", "offers no login"),
        ("Acp mode", "no choice of a mode"),
        ("Acp model", "no choice of a model"),
        ("Acp config", "offers no options"),
    ] {
        chat.nvim.command(command);
        chat.nvim.wait_until(|nvim| said(nvim).contains(words), &format!("{words:?} to be said"));
    }
    let methods: Vec<String> =
        chat.record().iter().filter_map(|line| line["method"].as_str().map(str::to_owned)).collect();
    assert_eq!(methods, ["initialize", "session/new"]);
}

/// A chat whose agent plays the first steps when it is started, and the second ones when it is started again.
fn started_twice(first: &[Value], second: &[Value]) -> Scripted {
    let mut chat = Scripted::new(&[], Vec::new());
    chat.project.write("first.json", &json!(first).to_string());
    chat.project.write("second.json", &json!(second).to_string());
    let demo = support::demo_agent().to_str().expect("a path").to_owned();
    chat.project.write(
        "agent.sh",
        &format!(
            "if [ -f once ]; then exec {demo} --script second.json; fi\ntouch once\nexec {demo} --script first.json\n"
        ),
    );
    let script = chat.project.file("agent.sh");
    chat.nvim.setup_agent("fake", "/bin/sh", &[script.to_str().expect("a path")]);
    chat.chat();
    chat
}

/// What an agent does that was started again: it resumes the session, and plays a turn.
fn resumed_and_asked() -> Vec<Value> {
    vec![
        json!({ "expect": "session/resume", "params": { "sessionId": "s1" } }),
        json!({ "reply": "session/resume", "result": {} }),
        prompt(),
        says("After."),
        ends("end_turn"),
        json!({ "wait_eof": true }),
    ]
}

#[test]
fn a_dead_agent_that_can_resume_goes_on_with_the_same_session() {
    let first = steps([
        initialized(json!({ "sessionCapabilities": { "resume": {} } }), json!([])),
        new_session("s1").into(),
        vec![prompt(), says("Before."), ends("end_turn"), prompt(), json!({ "exit": 1 })],
    ]);
    let second = steps([
        initialized(json!({ "sessionCapabilities": { "resume": {} } }), json!([])),
        resumed_and_asked(),
    ]);
    let mut chat = started_twice(&first, &second);
    chat.send("one");
    chat.wait_for("Done");
    chat.send("two");
    chat.wait_for("R starts it again");
    chat.nvim.command("Acp restart");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the session to be resumed",
    );
    chat.send("three");
    chat.wait_for("After.");
    assert!(chat.transcript().contains("Before."), "{}", chat.transcript());
}

#[test]
fn an_idle_agent_that_dies_comes_back_with_its_session_and_without_a_key() {
    let can_resume = || initialized(json!({ "sessionCapabilities": { "resume": {} } }), json!([]));
    let first = steps([
        can_resume(),
        new_session("s1").into(),
        vec![prompt(), says("Before."), ends("end_turn"), json!({ "exit": 1 })],
    ]);
    let second = steps([can_resume(), resumed_and_asked()]);
    let mut chat = started_twice(&first, &second);
    chat.send("one");
    chat.wait_for("It is started again by itself; this text stays");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the session to be resumed",
    );
    chat.send("two");
    chat.wait_for("After.");
    assert!(chat.transcript().contains("Before."), "{}", chat.transcript());
}

#[test]
fn an_agent_that_does_not_come_back_is_not_started_for_ever() {
    let first = steps([
        initialized(json!({ "loadSession": true }), json!([])),
        new_session("s1").into(),
        vec![prompt(), ends("end_turn"), json!({ "exit": 1 })],
    ]);
    let second = steps([vec![json!({ "stderr": "no more memory\n" }), json!({ "exit": 4 })]]);
    let mut chat = started_twice(&first, &second);
    chat.send("one");
    chat.wait_for("no more memory");
    chat.wait_for("R starts it again and loads this session");
    assert!(!chat.transcript().contains("Starting"), "{}", chat.transcript());
}

#[test]
fn nothing_is_started_again_where_that_is_switched_off() {
    let steps = steps([
        initialized(json!({ "loadSession": true }), json!([])),
        new_session("s1").into(),
        vec![prompt(), ends("end_turn"), json!({ "exit": 1 })],
    ]);
    let mut chat = Scripted::new(&[], steps);
    chat.configure("recovery = { reconnect = false }");
    chat.chat();
    chat.send("one");
    chat.wait_for("R starts it again and loads this session; this text stays");
}

#[test]
fn a_key_goes_through_the_modes_one_by_one() {
    let option = |current: &str| {
        json!([{ "id": "m", "name": "Mode", "category": "mode", "type": "select", "currentValue": current,
            "options": [{ "value": "ask", "name": "Ask first" }, { "value": "auto", "name": "Go ahead" }] }])
    };
    let set = |value: &str, name: &str| {
        [
            json!({ "expect": "session/set_config_option", "as": name, "params": { "configId": "m", "value": value } }),
            json!({ "reply": name, "result": { "configOptions": option(value) } }),
        ]
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            vec![
                json!({ "expect": "session/new" }),
                json!({ "reply": "session/new", "result": { "sessionId": "s1", "configOptions": option("ask") } }),
            ],
            set("auto", "one").into(),
            set("ask", "two").into(),
        ]),
    );
    chat.chat();
    chat.nvim.wait_for_screen("Ask first");
    // While typing the key is the user's, or a completion menu's.
    chat.nvim.command("inoremap <S-Tab> typed");
    chat.nvim.input("<Esc>i<S-Tab>");
    chat.nvim.wait_for_screen("typed");
    assert!(chat.nvim.screen().contains("Ask first"), "{}", chat.nvim.screen());
    chat.nvim.input("<Esc><S-Tab>");
    chat.nvim.wait_for_screen("Go ahead");
    chat.nvim.wait_for_screen("mode \"Go ahead\" (Fake)");
    chat.nvim.input("<S-Tab>");
    chat.nvim.wait_for_screen("mode \"Ask first\" (Fake)");
}

#[test]
fn a_mode_is_told_by_its_whole_name_however_little_room_the_line_has() {
    let modes = json!({ "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "Ask" },
        { "id": "all", "name": "Bypass All Permissions And Rules",
          "description": "Run every command, and change each file, without asking first" },
    ] });
    let turn =
        vec![prompt(), update(json!({ "sessionUpdate": "current_mode_update", "currentModeId": "all" }))];
    let steps =
        [opened_with(json!({ "sessionId": "s1", "modes": modes })), turn, vec![ends("end_turn")]].concat();
    let mut chat = Scripted::sized(&[], steps, 80, 24);
    chat.chat();
    chat.send("go");
    chat.nvim.wait_for_screen("acp: mode \"Bypass All Permissions And Rules\"");
}

#[test]
fn a_title_that_is_short_stands_whole_in_the_bar_of_a_narrow_chat() {
    let title = update(json!({ "sessionUpdate": "session_info_update", "title": "Fix login" }));
    let usage = update(json!({ "sessionUpdate": "usage_update", "used": 34, "size": 100,
        "cost": { "amount": 1.0, "currency": "USD" } }));
    let turn = vec![prompt(), title, usage, says("Well."), ends("end_turn")];
    let mut chat = Scripted::sized(&[], [opened(), turn].concat(), 80, 24);
    chat.chat();
    chat.send("go");
    chat.wait_for("Done");
    chat.nvim.wait_for_screen(" Fake  Fix login");
}

#[test]
fn a_new_session_begins_as_the_setup_says_and_what_the_agent_lacks_is_said() {
    let option = |current: &str| {
        json!([{ "id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": current,
            "options": [{ "value": "small", "name": "Small" }, { "value": "opus", "name": "Opus 5" }] }])
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            vec![
                json!({ "expect": "session/new" }),
                json!({ "reply": "session/new", "result": { "sessionId": "s1", "configOptions": option("small") } }),
                json!({ "expect": "session/set_config_option", "params": { "configId": "m", "value": "opus" } }),
                json!({ "reply": "session/set_config_option", "result": { "configOptions": option("opus") } }),
                prompt(),
                says("Understood."),
                ends("end_turn"),
            ],
        ]),
    );
    chat.configure("agents = { fake = { model = 'opus 5', mode = 'plan' } }");
    chat.chat();
    chat.send("hello");
    chat.wait_for("Understood.");
    chat.nvim.wait_for_screen("Opus 5");
    let transcript = chat.transcript();
    assert!(
        transcript.contains("offers no mode: agents.fake.mode in your setup is left out"),
        "{transcript}"
    );
}

#[test]
fn a_slash_command_is_completed_with_what_it_does() {
    let commands = json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": {
        "sessionUpdate": "available_commands_update", "availableCommands": [
            { "name": "plan", "description": "Make a plan", "input": { "hint": "what for" } },
            { "name": "review", "description": "Look at the changes" },
        ] } } } });
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            vec![json!({ "expect": "session/new" }), commands],
            vec![
                json!({ "reply": "session/new", "result": { "sessionId": "s1" } }),
                prompt(),
                ends("end_turn"),
            ],
        ]),
    );
    chat.chat();
    chat.nvim.input("/<C-x><C-o>");
    chat.nvim.wait_for_screen("Make a plan <what for>");
    chat.nvim.wait_for_screen("/review");
    chat.nvim.input("<C-e>pl<C-x><C-o>");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("/review"), "the one that fits");
    chat.nvim.input("<C-y> this<C-s>");
    assert_eq!(chat.got("session/prompt")["params"]["prompt"][0]["text"], "/plan this");
}

/// The same agent in a Neovim that comes after the one of `before`, with what that one has left.
fn after(before: &Scripted, steps: Vec<Value>) -> Scripted {
    let next = Scripted::new(&[], steps);
    copy(&before.nvim.home().join("state"), &next.nvim.home().join("state"));
    next
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else if from.is_file() {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}

/// What the record on the disk says, all of it.
fn recorded(nvim: &Nvim) -> String {
    let folder = nvim.home().join("state/nvim/acp/sessions");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}

fn talked(chat: &mut Scripted, text: &str) {
    chat.chat();
    chat.send(text);
    chat.wait_for("Done");
    chat.nvim.wait_until(|nvim| recorded(nvim).contains(text), "the record");
}

fn one_turn() -> Vec<Value> {
    steps([
        initialized(json!({ "loadSession": true }), json!([])),
        new_session("s1").into(),
        vec![prompt(), says("An answer."), ends("end_turn")],
    ])
}

#[test]
fn a_session_of_a_neovim_that_was_killed_is_found_and_taken_up_with_all_that_was_said() {
    let mut first = Scripted::new(&[], one_turn());
    talked(&mut first, "Why is the sky blue?");
    let cwd = first.project.path().to_string_lossy().into_owned();
    first.nvim.kill9();
    let update = |kind: &str, text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": {
            "sessionUpdate": kind, "content": { "type": "text", "text": text } } } } })
    };
    let mut second = after(
        &first,
        steps([
            initialized(json!({ "loadSession": true }), json!([])),
            vec![
                json!({ "expect": "session/load", "params": { "sessionId": "s1", "cwd": cwd } }),
                update("user_message_chunk", "Why is the sky blue?"),
                update("agent_message_chunk", "It is the **light**."),
                json!({ "reply": "session/load", "result": null }),
                prompt(),
                ends("end_turn"),
            ],
        ]),
    );
    second.nvim.command(&format!("cd {cwd}"));
    pick(&mut second.nvim, &[1]);
    second.nvim.command("Acp sessions BLUE sky");
    second.wait_for("It is the **light**.");
    let seen = seen(&mut second.nvim);
    assert!(seen.contains("Fake: Why is the sky blue? · just now"), "{seen}");
    second.send("And at night?");
    assert_eq!(second.got("session/prompt")["params"]["sessionId"], "s1");
    second.nvim.wait_until(|nvim| recorded(nvim).contains("And at night?"), "the record to go on");
}

#[test]
fn prompts_that_were_never_answered_stand_apart_when_they_are_told_again() {
    let turn = |ends_with: Vec<Value>| std::iter::once(prompt()).chain(ends_with);
    let script = steps([
        initialized(json!({ "loadSession": true }), json!([])),
        new_session("s1").into(),
        turn(vec![says("An answer."), ends("end_turn")]).collect(),
        turn(vec![says("A second.")]).collect(),
    ]);
    let mut first = Scripted::new(&[], script);
    talked(&mut first, "Why is the sky blue?");
    first.send("And at night?");
    first.wait_for("A second.");
    let cwd = first.project.path().to_string_lossy().into_owned();
    first.nvim.kill9();
    let said = |text: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": {
            "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": text } } } } })
    };
    let mut second = after(
        &first,
        steps([
            initialized(json!({ "loadSession": true }), json!([])),
            vec![
                json!({ "expect": "session/load", "params": { "sessionId": "s1" } }),
                said("Why is the sky blue?"),
                said("And at night?"),
                json!({ "reply": "session/load", "result": null }),
            ],
        ]),
    );
    second.nvim.command(&format!("cd {cwd}"));
    second.nvim.command("Acp resume");
    second.wait_for("And at night?");
    let text = second.transcript();
    assert_eq!(text.matches("You\n").count(), 2, "{text}");
}

/// An agent that takes the session up where it was, and sends nothing of what was said.
fn resumes() -> Vec<Value> {
    steps([
        initialized(json!({ "sessionCapabilities": { "resume": {} } }), json!([])),
        vec![
            json!({ "expect": "session/resume", "params": { "sessionId": "s1" } }),
            json!({ "reply": "session/resume", "result": {} }),
        ],
    ])
}

#[test]
fn resume_takes_up_the_last_session_of_the_project() {
    let mut first = Scripted::new(&[], one_turn());
    talked(&mut first, "Remember this");
    let cwd = first.project.path().to_string_lossy().into_owned();
    first.nvim.quit();
    let mut second = after(&first, resumes());
    second.nvim.listen();
    second.nvim.command("Acp resume");
    second.nvim.wait_until(|nvim| said(nvim).contains("no earlier session is known in"), "to be told");
    second.nvim.command(&format!("cd {cwd} | Acp resume"));
    second.wait_for("sends nothing of what was said");
    assert!(second.transcript().contains("You\nRemember this"), "{}", second.transcript());
}

#[test]
fn a_new_chat_says_how_to_go_on_with_the_last_one_until_it_has_a_prompt_of_its_own() {
    const OFFER: &str = ":Acp resume goes on with your last chat";
    let new_chat = |can: Value| {
        let turn = vec![prompt(), ends("end_turn")];
        steps([initialized(can, json!([])), new_session("s2").into(), turn])
    };
    let mut first = Scripted::new(&[], one_turn());
    first.chat();
    first.wait_for("g? keys");
    first.send("Remember this");
    first.wait_for("Done");
    assert!(!first.transcript().contains("your last chat"), "{}", first.transcript());
    let cwd = first.project.path().to_string_lossy().into_owned();
    let can = || json!({ "loadSession": true });
    // While another Neovim shows it, it is not to be taken up.
    let mut meanwhile = beside(&first, new_chat(can()));
    meanwhile.chat();
    meanwhile.wait_for("g? keys");
    meanwhile.nvim.command("Acp resume");
    meanwhile.nvim.wait_until(|nvim| said(nvim).contains("open in another Neovim"), "to be told");
    assert!(!meanwhile.transcript().contains("your last chat"), "{}", meanwhile.transcript());
    meanwhile.nvim.quit();
    first.nvim.quit();

    let mut second = after(&first, new_chat(can()));
    second.nvim.command(&format!("cd {cwd}"));
    second.chat();
    second.wait_for(OFFER);
    second.wait_for("just now \u{b7} Remember this");
    second.send("Something else");
    second.wait_for("ended without an answer");
    assert!(!second.transcript().contains("your last chat"), "{}", second.transcript());

    // An agent that can't take it up offers nothing, nor is there anything in another folder.
    for (can, cwd) in [(json!({}), cwd.as_str()), (can(), ".")] {
        let mut third = after(&first, new_chat(can));
        third.nvim.command(&format!("cd {cwd}"));
        third.chat();
        third.wait_for("g? keys");
        // The record is read in the order in which it is asked for.
        third.nvim.exec_lua("require('acp').sessions(function(all) _G.known = #all end)", []);
        third.nvim.wait_until(|nvim| nvim.exec_lua("return _G.known == 1", []) == true.into(), "the record");
        assert!(!third.transcript().contains("your last chat"), "{}", third.transcript());
        third.send("Something else");
        third.wait_for("ended without an answer");
    }
}

#[test]
fn a_session_whose_last_turn_was_cut_off_says_so_when_it_is_taken_up() {
    const CUT_OFF: &str =
        "Cut off: Fake never finished its work on your last prompt; a part of it may be done.";
    for (can, taken_up) in [
        (json!({ "sessionCapabilities": { "resume": {} } }), "sends nothing of what was said"),
        (json!({}), "This session can't be taken up again"),
    ] {
        let mut first = Scripted::new(
            &[],
            steps([
                initialized(json!({ "loadSession": true }), json!([])),
                new_session("s1").into(),
                vec![prompt(), says("One."), ends("end_turn"), prompt(), says("Two.")],
            ]),
        );
        talked(&mut first, "first");
        first.send("second");
        first.wait_for("Two.");
        first.nvim.wait_until(|nvim| recorded(nvim).contains("second"), "the record");
        let cwd = first.project.path().to_string_lossy().into_owned();
        first.nvim.quit();
        let mut again = steps([initialized(can, json!([]))]);
        let resume = json!({ "expect": "session/resume", "params": { "sessionId": "s1" } });
        again.extend([resume, json!({ "reply": "session/resume", "result": {} })]);
        again.extend([prompt(), says("Three."), ends("end_turn")]);
        let mut second = after(&first, again);
        second.nvim.command(&format!("cd {cwd} | Acp resume"));
        second.wait_for(taken_up);
        second.wait_for(CUT_OFF);
        if !taken_up.starts_with("sends") {
            continue;
        }
        // Once a turn has had its end, there is nothing to say.
        second.send("third");
        second.wait_for("Done");
        second.nvim.quit();
        let mut third = after(&second, resumes());
        third.nvim.command(&format!("cd {cwd} | Acp resume"));
        third.wait_for(taken_up);
        assert!(!third.transcript().contains("Cut off"), "{}", third.transcript());
    }
}

/// Another Neovim with the state of this one, in its project, whose agent plays these steps.
fn beside(first: &Scripted, steps: Vec<Value>) -> Scripted {
    let state = first.nvim.home().join("state").to_string_lossy().into_owned();
    let mut second = Scripted::with_env(&[], steps, |_| vec![("XDG_STATE_HOME".into(), state)]);
    second.nvim.command(&format!("cd {}", first.project.path().display()));
    second.nvim.listen();
    second
}

#[test]
fn a_session_that_another_neovim_has_open_is_left_to_it_until_that_is_gone() {
    let mut first = Scripted::new(&[], one_turn());
    talked(&mut first, "Remember this");
    let mut second = beside(&first, resumes());
    second.nvim.command("Acp resume");
    second.nvim.wait_until(|nvim| said(nvim).contains("session is open in another Neovim"), "to be told");
    pick(&mut second.nvim, &[]);
    second.nvim.command("Acp sessions");
    let shown = "Fake: Remember this · open in another Neovim · just now";
    second.nvim.wait_until(|nvim| seen(nvim).contains(shown), "the list to say so");
    let told = "require('acp').sessions(function(list) _G.elsewhere = list[1].elsewhere end)";
    second.nvim.exec_lua(told, []);
    let elsewhere = |nvim: &mut Nvim| nvim.exec_lua("return _G.elsewhere", []);
    second.nvim.wait_until(|nvim| elsewhere(nvim) == true.into(), "Lua to be told");
    first.nvim.kill9();
    second.nvim.command("Acp resume");
    second.wait_for("sends nothing of what was said");
    assert!(!second.transcript().contains("Another Neovim has"), "{}", second.transcript());
}

#[test]
fn a_session_that_is_closed_or_chosen_all_the_same_can_be_taken_up_beside_another_neovim() {
    let mut first = Scripted::new(&[], one_turn());
    talked(&mut first, "Remember this");
    let mut second = beside(&first, resumes());
    pick(&mut second.nvim, &[1]);
    second.nvim.command("Acp sessions");
    second.wait_for("Another Neovim has this session open, too.");
    second.nvim.command("Acp close");
    second.nvim.wait_until(|nvim| processes(nvim) == 0, "the agent to be gone");
    first.nvim.command("Acp close");
    first.nvim.wait_until(|nvim| processes(nvim) == 0, "the agent to be gone");
    let mut third = beside(&first, resumes());
    third.nvim.command("Acp resume");
    third.wait_for("sends nothing of what was said");
    assert!(!third.transcript().contains("Another Neovim has"), "{}", third.transcript());
}

#[test]
fn a_session_that_cannot_be_taken_up_shows_what_is_remembered_and_says_so() {
    let mut first = Scripted::new(&[], one_turn());
    talked(&mut first, "Long ago");
    let cwd = first.project.path().to_string_lossy().into_owned();
    first.nvim.quit();
    let mut second = after(&first, steps([initialized(json!({}), json!([]))]));
    second.nvim.command(&format!("cd {cwd} | Acp resume"));
    second.wait_for("This session can't be taken up again");
    let transcript = second.transcript();
    assert!(
        transcript.contains("Long ago") && transcript.contains("R begins a new session here"),
        "{transcript}"
    );
}

#[test]
fn a_name_given_to_a_session_stays_and_is_remembered() {
    let title = |title: &str| {
        json!({ "send": { "method": "session/update", "params": { "sessionId": "s1", "update": {
            "sessionUpdate": "session_info_update", "title": title } } } })
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "loadSession": true }), json!([])),
            new_session("s1").into(),
            vec![prompt(), title("The agent's"), says("One."), ends("end_turn")],
            vec![prompt(), title("The agent's again"), says("Two."), ends("end_turn")],
        ]),
    );
    chat.chat();
    chat.send("first");
    chat.nvim.wait_for_screen("The agent's");
    chat.wait_for("Done");
    chat.nvim.command("Acp rename My own");
    chat.nvim.wait_for_screen("My own");
    chat.send("second");
    chat.wait_for("Two.");
    assert!(!chat.nvim.screen().contains("again"), "{}", chat.nvim.screen());
    chat.nvim.wait_until(|nvim| recorded(nvim).contains("\"name\":\"My own\""), "the record");
}

#[test]
fn nothing_is_remembered_without_leave_and_forgotten_when_it_is_wished() {
    let mut chat = Scripted::new(&[], one_turn());
    talked(&mut chat, "A secret");
    chat.nvim.command("Acp close");
    chat.nvim.wait_until(|nvim| processes(nvim) == 0, "the agent to be gone");
    pick(&mut chat.nvim, &[1, 2]);
    chat.nvim.command("Acp delete");
    chat.nvim.wait_until(|nvim| !recorded(nvim).contains("A secret"), "it to be forgotten");
    let seen = seen(&mut chat.nvim);
    assert!(seen.contains("Forget A secret?"), "{seen}");
    let mut chat = Scripted::new(&[], one_turn());
    chat.configure("record = false");
    chat.chat();
    chat.send("Nobody's business");
    chat.wait_for("Done");
    chat.nvim.quit();
    assert_eq!(recorded(&chat.nvim), "");
}

#[test]
fn the_picker_says_what_each_session_does() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            new_session("s1").into(),
            vec![prompt(), says("Working …")],
        ]),
    );
    chat.chat();
    chat.send("Take your time");
    chat.wait_for("Working …");
    pick(&mut chat.nvim, &[]);
    chat.nvim.command("Acp sessions");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("Fake: Take your time · working"), "the picker");
}

#[test]
fn what_agents_list_is_in_the_list_with_what_is_remembered_and_late_ones_are_named() {
    let mut chat = Scripted::new(
        &[],
        steps([
            stores_sessions(),
            vec![prompt(), says("Well."), ends("end_turn")],
            vec![
                json!({ "expect": "session/list" }),
                // The one that is open is in the list as that.
                json!({ "reply": "session/list", "result": { "sessions": [listed("s1", "Here"),
                    listed("old", "About tea")] } }),
                // This one is never answered.
                json!({ "expect": "session/list", "as": "never" }),
            ],
        ]),
    );
    chat.chat();
    chat.send("hello");
    chat.wait_for("Well.");
    chat.nvim.wait_for_screen("ready");
    chat.nvim
        .exec_lua("_G.shown = {}; vim.ui.select = function(items) table.insert(_G.shown, items) end", []);
    let shown = |chat: &mut Scripted, count: u64| {
        chat.nvim.wait_until(|nvim| nvim.exec_lua("return #_G.shown", []) == count.into(), "the list");
        let code = "return table.concat(_G.shown[#_G.shown], '\\n')";
        chat.nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
    };
    chat.nvim.command("Acp sessions tea");
    assert_eq!(shown(&mut chat, 1), "Fake: About tea");
    chat.nvim.command("Acp sessions");
    assert_eq!(shown(&mut chat, 2), "Fake: hello · idle\nEarlier sessions of Fake …");
}

#[test]
fn a_dead_agent_that_can_only_load_goes_on_too_and_the_text_is_there_once() {
    let again = |kind: &str, text: &str| {
        update(json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }))
    };
    let first = steps([
        initialized(json!({ "loadSession": true }), json!([])),
        new_session("s1").into(),
        vec![prompt(), says("Before."), ends("end_turn"), prompt(), json!({ "exit": 1 })],
    ]);
    let second = steps([
        initialized(json!({ "loadSession": true }), json!([])),
        vec![
            json!({ "expect": "session/load", "params": { "sessionId": "s1" } }),
            again("user_message_chunk", "one"),
            again("agent_message_chunk", "Before."),
            json!({ "reply": "session/load", "result": {} }),
            prompt(),
            says("After."),
            ends("end_turn"),
            json!({ "wait_eof": true }),
        ],
    ]);
    let mut chat = started_twice(&first, &second);
    chat.send("one");
    chat.wait_for("Done");
    chat.send("two");
    chat.wait_for("R starts it again and loads this session");
    chat.nvim.command("Acp restart");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the session to be loaded",
    );
    chat.send("three");
    chat.wait_for("After.");
    let transcript = chat.transcript();
    assert_eq!(transcript.matches("Before.").count(), 1, "{transcript}");
    assert!(!transcript.contains("Starting"), "{transcript}");
}

#[test]
fn what_an_agent_refuses_before_a_login_is_done_after_it() {
    let modes = json!({ "modes": { "currentModeId": "ask", "availableModes": [
        { "id": "ask", "name": "Ask" }, { "id": "auto", "name": "Auto" } ] } });
    let refused = json!({ "code": -32000, "message": "Log in first" });
    let methods = json!([{ "id": "key", "name": "Key" }]);
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    let mut opened = modes;
    opened["sessionId"] = "s1".into();
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(can, methods),
            vec![
                json!({ "expect": "session/new" }),
                json!({ "reply": "session/new", "result": opened }),
                json!({ "expect": "session/set_mode", "as": "m1" }),
                json!({ "reply": "m1", "error": refused }),
                json!({ "expect": "authenticate", "as": "a1" }),
                json!({ "reply": "a1", "result": {} }),
                json!({ "expect": "session/set_mode", "as": "m2", "params": { "modeId": "auto" } }),
                json!({ "reply": "m2", "result": {} }),
                json!({ "expect": "session/list", "as": "l1" }),
                json!({ "reply": "l1", "error": refused }),
                json!({ "expect": "authenticate", "as": "a2" }),
                json!({ "reply": "a2", "result": {} }),
                json!({ "expect": "session/list", "as": "l2" }),
                json!({ "reply": "l2", "result": { "sessions": [listed("old", "Old one")] } }),
                json!({ "expect": "session/load", "as": "o1", "params": { "sessionId": "old" } }),
                json!({ "reply": "o1", "error": refused }),
                json!({ "expect": "authenticate", "as": "a3" }),
                json!({ "reply": "a3", "result": {} }),
                json!({ "expect": "session/load", "as": "o2", "params": { "sessionId": "old" } }),
                json!({ "reply": "o2", "result": {} }),
            ],
        ]),
    );
    chat.chat();
    chat.nvim.command("Acp mode auto");
    chat.wait_for("Fake wants you to log in before it can change the mode: Log in first");
    chat.nvim.wait_for_screen("log in");
    chat.nvim.command("Acp login key");
    let mode = "return require('acp').status().sessions[1].mode";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(mode, []).as_str() == Some("Auto"), "the mode to be changed");
    // The list opens after the login.
    pick(&mut chat.nvim, &[]);
    chat.nvim.command("Acp sessions");
    chat.wait_for("before it can list sessions");
    // The list does not wait for the agent for long.
    chat.nvim
        .wait_until(|nvim| seen(nvim).contains("Earlier sessions of Fake"), "a list without the agent's");
    pick(&mut chat.nvim, &[1]);
    chat.nvim.command("Acp login key");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("Old one"), "the list");
    chat.wait_for("wants you to log in");
    chat.got("session/load");
    chat.nvim.wait_for_screen("Key");
    chat.nvim.command("Acp login key");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the session to be loaded after all",
    );
}

#[test]
fn what_is_set_resumed_or_closed_before_a_login_is_done_after_it() {
    let refused = json!({ "code": -32000, "message": "Log in first" });
    let effort = |value: &str| {
        json!({ "configOptions": [{ "id": "effort", "name": "Effort", "type": "select", "currentValue": value,
            "options": [{ "value": "low", "name": "Low" }, { "value": "high", "name": "High" }] }] })
    };
    let connected = || {
        let can = json!({ "sessionCapabilities": { "resume": {}, "close": {} } });
        initialized(can, json!([{ "id": "key", "name": "Key" }]))
    };
    // It is refused, the user logs in, and it is asked for once more.
    let twice = |method: &str, result: Value| {
        vec![
            json!({ "expect": method, "as": "refused" }),
            json!({ "reply": "refused", "error": refused }),
            json!({ "expect": "authenticate", "as": "login" }),
            json!({ "reply": "login", "result": {} }),
            json!({ "expect": method, "as": "again" }),
            json!({ "reply": "again", "result": result }),
        ]
    };
    let mut opened = effort("low");
    opened["sessionId"] = "s1".into();
    let first = steps([
        connected(),
        vec![json!({ "expect": "session/new" }), json!({ "reply": "session/new", "result": opened })],
        twice("session/set_config_option", effort("high")),
        vec![says("Set after all."), json!({ "wait_eof": true })],
    ]);
    let second = steps([
        connected(),
        twice("session/resume", effort("high")),
        new_session("s2").into(),
        twice("session/close", json!({})),
        vec![says("Closed after all."), json!({ "wait_eof": true })],
    ]);
    let mut chat = started_twice(&first, &second);
    let is_idle = |nvim: &mut Nvim| {
        nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle")
    };
    chat.nvim.wait_until(is_idle, "a session");
    chat.nvim.command("Acp config effort high");
    chat.wait_for("Fake wants you to log in before it can");
    chat.nvim.command("Acp login key");
    chat.wait_for("Set after all.");
    chat.nvim.command("Acp restart");
    let waits = |nvim: &mut Nvim| {
        nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("waiting")
    };
    chat.nvim.wait_until(waits, "the session to wait for a login");
    chat.nvim.command("Acp login key");
    chat.nvim.wait_until(is_idle, "the session to be resumed");
    chat.nvim.command("AcpChat!");
    let count = "return #require('acp').status().sessions";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(count, []).as_u64() == Some(2), "a second session");
    chat.nvim.wait_until(is_idle, "the second session to be open");
    chat.nvim.command("Acp close");
    chat.wait_for("before it can close the session");
    chat.nvim.command("Acp login key");
    chat.wait_for("Closed after all.");
}

#[test]
fn the_users_system_prompt_reaches_an_agent_that_takes_one() {
    let both = json!({ "mode": { "override": {} } });
    for (can, options, sent) in [
        (json!({}), "", json!({ "mode": "append" })),
        (both.clone(), "", json!({ "mode": "append" })),
        (both, "system_prompt_mode = 'override'", json!({ "mode": "override" })),
        (Value::Null, "", Value::Null),
    ] {
        let can = json!({ "sessionCapabilities": { "systemPrompt": can } });
        let steps = steps([initialized(can, json!([])), new_session("s1").into()]);
        let mut chat = Scripted::new(&[("docs/agents.md", "Ask before you delete.\n")], steps);
        let root = chat.project.path().display().to_string();
        chat.configure(&format!(
            "agents = {{ fake = {{ system_prompt = 'Be brief.', {options} }} }},
             projects = {{ ['{root}'] = {{ system_prompt = 'docs/agents.md' }} }}"
        ));
        chat.chat();
        let got = chat.got("session/new")["params"]["systemPrompt"].clone();
        let mut expected = sent;
        if expected.is_object() {
            expected["content"] = json!([{ "type": "text", "text": "Be brief.\n\nAsk before you delete." }]);
        } else {
            chat.wait_for("takes no system prompt");
        }
        assert_eq!(got, expected, "{options}");
    }
}

#[test]
fn an_agent_has_the_users_name_for_it_wherever_it_is_named() {
    let can = json!({ "loadSession": true, "sessionCapabilities": { "list": {} } });
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(can, json!([])),
            new_session("s1").into(),
            vec![prompt(), says("Welcome."), ends("end_turn")],
            vec![
                json!({ "expect": "session/list" }),
                json!({ "reply": "session/list", "result": { "sessions": [listed("old", "Old one")] } }),
            ],
        ]),
    );
    chat.configure("agents = { fake = { title = 'My helper' } }");
    chat.nvim.listen();
    chat.nvim.command("AcpChat");
    chat.nvim.wait_for_screen("My helper 1.0");
    chat.nvim.command("doautocmd FocusLost");
    chat.send("hello");
    chat.wait_for("Welcome.");
    chat.nvim.wait_for_screen("My helper");
    let screen = chat.nvim.screen();
    assert!(!screen.contains("Fake"), "{screen}");
    pick(&mut chat.nvim, &[]);
    chat.nvim.command("Acp sessions");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("Old one"), "the list");
    let list = seen(&mut chat.nvim);
    assert!(list.contains("My helper: hello") && list.contains("My helper: Old one"), "{list}");
    chat.nvim.command("Acp export");
    let exported = chat.nvim.buffer_text(0);
    assert!(exported.contains("My helper") && !exported.contains("Fake"), "{exported}");
    chat.nvim.wait_until(|nvim| said(nvim).contains("My helper is done"), "to be told");
}

#[test]
fn an_agents_account_is_shown_where_one_logs_in() {
    let told =
        json!({ "state": "authenticated", "accounts": [{ "label": "Max", "active": true, "email": "a@b" }] });
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "auth": { "status": {} } }), json!([{ "id": "key", "name": "With a key" }])),
            vec![json!({ "expect": "auth/status" }), json!({ "reply": "auth/status", "result": told })],
            new_session("s1").into(),
            vec![prompt(), says("Welcome."), ends("end_turn")],
        ]),
    );
    chat.chat();
    chat.send("hello");
    chat.wait_for("Welcome.");
    pick(&mut chat.nvim, &[]);
    chat.nvim.command("Acp login");
    chat.nvim.wait_until(|nvim| seen(nvim).contains("Log in"), "the ways to log in");
    assert!(
        seen(&mut chat.nvim).contains("Log in (now logged in with Max (a@b))"),
        "{}",
        seen(&mut chat.nvim)
    );
    let status = chat.nvim.exec_lua("return vim.json.encode(require('acp').status().agents[1])", []);
    let status: Value = serde_json::from_str(status.as_str().expect("a text")).expect("JSON");
    assert_eq!((&status["auth"], &status["accounts"]), (&json!("authenticated"), &json!(["Max (a@b)"])));
    chat.nvim.command("checkhealth acp");
    let report =
        chat.nvim.exec_lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')", []);
    assert!(report.as_str().expect("a text").contains("login: logged in with Max (a@b)"), "{report}");
}

#[test]
fn a_logout_that_the_agent_refuses_is_told_and_the_login_stands() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "auth": { "logout": {} } }), json!([])),
            new_session("s1").into(),
            vec![
                json!({ "expect": "logout" }),
                json!({ "reply": "logout", "error": { "code": -32603, "message": "the keyring is locked" } }),
                prompt(),
                says("Still here."),
                ends("end_turn"),
                json!({ "expect": "logout" }),
                json!({ "reply": "logout", "result": {} }),
            ],
        ]),
    );
    chat.chat();
    chat.nvim.command("Acp logout");
    chat.wait_for("couldn't log out: the keyring is locked");
    chat.send("hello");
    chat.wait_for("Still here.");
    assert!(!chat.transcript().contains("Logged out"), "{}", chat.transcript());
    chat.nvim.command("Acp logout");
    chat.wait_for("Logged out; :Acp login logs in again");
}

#[test]
fn a_name_that_the_user_gives_is_kept_by_an_agent_that_takes_one() {
    let told = |id: &str, answer: Value| {
        let mut reply = json!({ "reply": id });
        reply.as_object_mut().expect("an object").extend(answer.as_object().cloned().expect("an object"));
        [json!({ "expect": "session/set_title", "as": id }), reply]
    };
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "sessionCapabilities": { "title": {} } }), json!([])),
            new_session("s1").into(),
            vec![prompt(), says("Welcome."), ends("end_turn")],
            told("first", json!({ "result": { "title": "Trimmed" } })).into(),
            // As agents do for their other clients; it takes nothing from what the user said.
            vec![update(json!({ "sessionUpdate": "session_info_update", "title": "Mine" }))],
            told("second", json!({ "error": { "code": -32602, "message": "too long" } })).into(),
        ]),
    );
    chat.chat();
    chat.send("hello");
    chat.wait_for("Welcome.");
    let title = |nvim: &mut Nvim| {
        nvim.exec_lua("return require('acp').status().sessions[1].title", [])
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    chat.nvim.command("Acp rename  to be trimmed ");
    chat.nvim.wait_until(|nvim| title(nvim) == "Trimmed", "the agent's form of the name");
    chat.nvim.command("Acp rename longer");
    chat.wait_for("couldn't keep the session's name: too long");
    assert_eq!(title(&mut chat.nvim), "longer");
    let told: Vec<Value> =
        chat.record().into_iter().filter(|message| message["method"] == "session/set_title").collect();
    assert_eq!(told[0]["params"], json!({ "sessionId": "s1", "title": "to be trimmed" }));
    assert_eq!((told.len(), &told[1]["params"]["title"]), (2, &json!("longer")));
}

#[test]
fn a_name_that_is_given_before_the_session_is_open_is_told_once_it_is() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({ "sessionCapabilities": { "title": {} } }), json!([])),
            new_session("s1").into(),
            vec![json!({ "expect": "session/set_title", "as": "t" })],
            vec![json!({ "reply": "t", "result": { "title": "Early" } })],
        ]),
    );
    chat.nvim.exec_lua("vim.cmd('AcpChat') vim.cmd('Acp rename Early')", []);
    assert_eq!(chat.got("session/set_title")["params"], json!({ "sessionId": "s1", "title": "Early" }));
}

#[test]
fn a_name_is_told_only_where_that_is_offered() {
    let mut chat = Scripted::new(
        &[],
        steps([
            initialized(json!({}), json!([])),
            new_session("s1").into(),
            vec![prompt(), says("Welcome."), ends("end_turn"), prompt(), says("Again."), ends("end_turn")],
        ]),
    );
    chat.chat();
    chat.send("hello");
    chat.wait_for("Welcome.");
    chat.nvim.command("Acp rename mine");
    chat.nvim.wait_for_screen("acp: the session is called \"mine\" now");
    chat.send("more");
    chat.wait_for("Again.");
    assert!(chat.record().iter().all(|message| message["method"] != "session/set_title"));
}
