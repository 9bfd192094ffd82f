//! The record of what agents asked for and did: what a turn leaves in it, who decided, the page that reads it, and the
//! file that it is saved in. The agents are scripted; the Neovim, the processes and the files are real.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::PathBuf;

use serde_json::{Value, json};

use support::Nvim;
use support::script::{
    Scripted, answered, awaits, ends, permission, prompt, says, steps, turn_that_runs, update, writes,
};

/// A turn with one of each kind, in an order that does not depend on how long a command takes.
fn busy_turn() -> Vec<Value> {
    let call = json!({ "toolCallId": "c1", "title": "Run it", "kind": "execute",
        "rawInput": { "command": "curl -H 'Authorization: Bearer abcdefgh12345'" } });
    let announced = |mut fields: Value| {
        fields["sessionUpdate"] = "tool_call".into();
        update(fields)
    };
    let mut turn = vec![
        prompt(),
        announced(call.clone()),
        permission("p", json!({ "toolCallId": "c1" })),
        answered("p"),
    ];
    turn.push(update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "failed" })));
    turn.extend(writes("new.txt", "one\n"));
    turn.extend(awaits("r", "fs/read_text_file", json!({ "path": "$PROJECT/missing.txt" })));
    turn.extend(awaits("n", "terminal/create", json!({ "command": "no-such-program-here" })));
    turn.push(announced(
        json!({ "toolCallId": "c2", "title": "Edit on its own", "kind": "edit", "status": "completed",
        "locations": [{ "path": "$PROJECT/own.txt" }] }),
    ));
    turn.extend([says("Done."), ends("end_turn")]);
    turn
}

fn chat(size: (u16, u16)) -> Scripted {
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(busy_turn()), size.0, size.1);
    chat.chat();
    chat
}

/// Plays the turn; the question is rejected.
fn ask(chat: &mut Scripted) {
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("require('acp').send('go')", []);
    chat.nvim.wait_for_screen("Allow this command?");
    chat.nvim.wait_for_screen("Type number");
    chat.nvim.input("3<CR>");
    chat.nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state", []).as_str() == Some("idle"),
        "the turn to end",
    );
}

fn folder(nvim: &Nvim) -> PathBuf {
    nvim.home().join("state/nvim/acp/audit")
}

/// What is kept on the disk, once there are so many lines.
fn kept(nvim: &mut Nvim, count: usize) -> Vec<Value> {
    let folder = folder(nvim);
    let mut lines = Vec::new();
    nvim.wait_until(
        |_| {
            let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let files = files.filter(|file| file.path().extension().is_some_and(|it| it == "jsonl"));
            let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
            lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            lines.len() >= count
        },
        "it to be recorded",
    );
    lines
}

fn page(nvim: &mut Nvim, text: &str) -> String {
    let code =
        "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('acp://audit'), 0, -1, false), '\\n')";
    let mut shown = String::new();
    nvim.wait_until(
        |nvim| {
            shown = nvim.exec_lua(code, []).as_str().unwrap_or_default().to_owned();
            shown.contains(text)
        },
        text,
    );
    shown
}

/// A line without its day and time.
fn timeless(line: &str) -> String {
    let is_timed = line.len() > 16
        && line.is_char_boundary(2)
        && line.as_bytes()[4] == b'-'
        && line.as_bytes()[10] == b':';
    if is_timed { format!("{}mm-dd hh:mm:ss{}", &line[..2], &line[16..]) } else { line.to_owned() }
}

#[test]
fn the_end_of_a_command_stands_in_the_record_at_the_time_of_its_end() {
    let mut chat = Scripted::new(&[], steps(turn_that_runs(&["sleep 0.4"])));
    chat.chat();
    chat.send("go");
    chat.wait_for("Ran.");
    let lines = kept(&mut chat.nvim, 3);
    let at = |what: &str| {
        let line = lines.iter().find(|line| line["what"] == what);
        line.and_then(|line| line["at"].as_u64()).unwrap_or_else(|| panic!("{what} in {lines:#?}"))
    };
    assert!(at("exit") - at("command") >= 400, "{lines:#?}");
}

#[test]
fn a_turn_leaves_a_line_for_each_thing_with_who_decided_it_and_without_secrets() {
    let mut chat = chat((100, 30));
    ask(&mut chat);
    let lines = kept(&mut chat.nvim, 6);
    let facts: Vec<String> = lines
        .iter()
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
            ["what", "decision", "by", "answer", "outcome"].map(text).join(" ")
        })
        .collect();
    assert_eq!(
        facts,
        [
            "permission rejected person reject_once done",
            "call rejected - - -",
            "write allowed default - done",
            "read allowed default - failed",
            "command allowed default - failed",
            "call - agent - done",
        ],
        "{lines:#?}"
    );
    let asked = &lines[0];
    assert_eq!(asked["options"], json!(["allow_once", "allow_always", "reject_once"]));
    assert_eq!(
        (&asked["session"], &asked["agent"], &asked["call"]),
        (&json!("s1"), &json!("fake"), &json!("c1"))
    );
    assert_eq!(asked["command"], "curl -H 'Authorization: [hidden]'");
    assert_eq!(lines[2]["paths"], json!([chat.project.file("new.txt")]));
    assert!(lines[3]["error"].as_str().is_some_and(|why| why.contains("missing.txt")), "{lines:#?}");
    let all = serde_json::to_string(&lines).expect("JSON");
    assert!(!all.contains("abcdefgh12345"), "{all}");
}

#[test]
fn the_page_shows_the_record_at_both_sizes_and_first_says_that_it_is_empty() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let mut chat = chat((columns, rows));
        chat.nvim.stop_insert();
        chat.nvim.command("Acp audit");
        page(&mut chat.nvim, "Nothing is recorded yet.");
        chat.nvim.input("q");
        ask(&mut chat);
        kept(&mut chat.nvim, 6);
        chat.nvim.command("only | Acp audit");
        page(&mut chat.nvim, "Edit on its own");
        chat.nvim.wait_for_screen("6 lines");
        let shown: Vec<String> = chat.nvim.screen().lines().map(timeless).collect();
        let record = shown.iter().skip_while(|line| !line.contains("Record  6 lines")).take(8);
        let record: Vec<&str> = record.map(|line| line.trim_end()).collect();
        support::screens::assert_looks(&format!("audit/{columns}x{rows}"), &record.join("\n"));
    }
}

#[test]
fn a_filter_chooses_lines_a_line_leads_to_its_file_or_chat_and_what_passes_is_saved() {
    let mut chat = chat((100, 30));
    ask(&mut chat);
    kept(&mut chat.nvim, 6);
    chat.nvim.command("Acp audit is:write");
    let shown = page(&mut chat.nvim, "new.txt");
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let out = chat.project.file("out.jsonl");
    chat.nvim.command(&format!("Acp! audit {}", out.display()));
    chat.nvim.wait_for_screen("saved 1 line to");
    let saved = std::fs::read_to_string(&out).expect("a file");
    assert_eq!(saved.lines().count(), 1, "{saved}");
    chat.nvim.command("call cursor(1, 1)");
    chat.nvim.input("<CR>");
    let name = "return vim.fn.expand('%:t')";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(name, []).as_str() == Some("new.txt"), "the file");
    chat.nvim.command("Acp audit is:permission");
    page(&mut chat.nvim, "by you");
    chat.nvim.command("call cursor(1, 1)");
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("offered   allow_once, allow_always, reject_once");
    chat.nvim.input("q!");
    page(&mut chat.nvim, "rejected");
    chat.nvim.command("Acp audit nowhere");
    page(&mut chat.nvim, "Nothing in the record passes the filter.");
    chat.nvim.resize(80, 24);
    chat.nvim.command("Acp audit is:typo");
    let said = page(&mut chat.nvim, "is: takes permission, read, write");
    assert!(said.contains("is none of them.") && said.lines().all(|line| line.len() <= 80), "{said}");
    chat.nvim.resize(60, 14);
    let fits = |said: &str| said.lines().all(|line| line.len() <= 60) && said.contains("is none of them.");
    chat.nvim.wait_until(|nvim| fits(&page(nvim, "is: takes permission")), "lines for a narrow window");
    chat.nvim.resize(100, 30);
    chat.nvim.input("F");
    let all = page(&mut chat.nvim, "Edit on its own");
    assert_eq!(all.lines().count(), 6, "{all}");
    chat.nvim.input("g?");
    chat.nvim.wait_for_screen("rejected or failed only");
}

#[test]
fn all_that_a_line_says_is_seen_also_where_it_wraps() {
    let call = json!({ "toolCallId": "c1", "title": "Run it", "kind": "execute",
        "rawInput": { "command": format!("make {}", "--with everything ".repeat(12)) } });
    let turn = [prompt(), permission("p", call), answered("p"), ends("end_turn")];
    let mut chat = Scripted::sized(&[("a.txt", "a\n")], steps(turn), 80, 24);
    chat.configure("permission = { open = 'never' }");
    chat.chat();
    chat.send("go");
    chat.wait_for("Allow this command?");
    chat.nvim.stop_insert();
    chat.decide("reject");
    kept(&mut chat.nvim, 1);
    chat.nvim.command("Acp audit");
    page(&mut chat.nvim, "by you");
    chat.nvim.input("K");
    chat.nvim.wait_for_screen("verdict   rejected by you");
}

#[test]
fn nothing_is_recorded_where_that_is_off() {
    let mut chat = Scripted::new(&[("a.txt", "a\n")], steps(busy_turn()));
    chat.configure("audit = false");
    chat.chat();
    ask(&mut chat);
    chat.nvim.command("Acp audit");
    page(&mut chat.nvim, "`audit` is off in your setup");
    assert!(!folder(&chat.nvim).exists());
}
