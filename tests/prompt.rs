//! The prompt: what it refers to and what of that reaches the agent, completion, the history, drafts and
//! the prompts that wait. Real keys, a real Neovim, a scripted agent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::Nvim;
use support::project::TempProject;
use support::script::{Scripted, ends, opened, prompt, says};

/// An agent that takes what these capabilities say.
fn taking(capabilities: Value, parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all[1]["result"]["agentCapabilities"] = json!({ "promptCapabilities": capabilities });
    all.extend(parts);
    all
}

fn embedding(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    taking(json!({ "embeddedContext": true, "image": true }), parts)
}

/// An agent that answers each of so many prompts.
fn answering(count: usize) -> Vec<Value> {
    embedding((0..count).flat_map(|number| [prompt(), says(&format!("Answer {number}.")), ends("end_turn")]))
}

/// The blocks of the last prompt that reached the agent.
fn blocks(chat: &mut Scripted) -> Vec<Value> {
    chat.got("session/prompt")["params"]["prompt"].as_array().cloned().unwrap_or_default()
}

/// Waits until the agent got so many prompts, and gives their texts.
fn texts(chat: &mut Scripted, count: usize) -> Vec<String> {
    let path = chat.project.file(".agent/record.jsonl");
    let mut found = Vec::new();
    chat.nvim.wait_until(
        |_| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let prompts = lines.filter(|line| line["method"] == "session/prompt");
            found = prompts
                .map(|line| line["params"]["prompt"][0]["text"].as_str().unwrap_or_default().to_owned())
                .collect();
            found.len() >= count
        },
        &format!("{count} prompts to reach the agent"),
    );
    found
}

/// The text of the session's prompt buffer.
fn typed(nvim: &mut Nvim) -> String {
    let code = "local chat = require('acp').status().sessions[1]
                return table.concat(vim.api.nvim_buf_get_lines(chat.prompt, 0, -1, false), '\\n')";
    nvim.exec_lua(code, []).as_str().expect("a text").to_owned()
}

fn wait_for_prompt(nvim: &mut Nvim, text: &str) {
    nvim.wait_until(|nvim| typed(nvim) == text, &format!("the prompt to read {text:?}"));
}

fn uri(project: &TempProject, name: &str) -> String {
    format!("file://{}/{name}", project.path().display())
}

// References.

#[test]
fn a_file_is_completed_as_it_is_typed_and_goes_along_with_its_unsaved_text() {
    let files = [
        ("src/auth.rs", "fn login() {}\n"),
        ("src/main.rs", "fn main() {}\n"),
        (".gitignore", "target\n"),
        ("target/auth.rs", "no\n"),
    ];
    let mut chat = Scripted::new(&files, answering(1));
    chat.nvim.command("edit src/auth.rs");
    chat.nvim.command("call setline(1, 'fn login() { todo }')");
    chat.chat();
    chat.nvim.input("Look at @auth");
    chat.nvim.wait_for_screen("@src/auth.rs");
    assert!(!chat.nvim.screen().contains("target/auth.rs"), "what git ignores is not offered");
    chat.nvim.input("<C-y>");
    wait_for_prompt(&mut chat.nvim, "Look at @src/auth.rs");
    chat.nvim.wait_until(
        |nvim| nvim.groups_of("@src/auth.rs").iter().any(|group| group == "Underlined"),
        "the reference to be coloured",
    );
    chat.nvim.input(" and @src/main.rs, please<C-s>");
    let sent = blocks(&mut chat);
    assert_eq!(sent[0], json!({ "type": "text", "text": "Look at @src/auth.rs and @src/main.rs, please" }));
    assert_eq!(sent[1]["resource"]["uri"], uri(&chat.project, "src/auth.rs"));
    assert_eq!(sent[1]["resource"]["text"], "fn login() { todo }\n");
    assert_eq!(sent[2]["resource"]["uri"], uri(&chat.project, "src/main.rs"));
    assert_eq!(sent[2]["resource"]["text"], "fn main() {}\n");
    assert_eq!(sent.len(), 3);
    chat.wait_for("+ src/auth.rs (1 line)\n+ src/main.rs (1 line)");
}

#[test]
fn an_agent_that_takes_no_files_gets_links_to_them() {
    let mut chat = Scripted::new(
        &[("a.txt", "one\n"), ("shot.png", "\u{0}")],
        taking(json!({}), [prompt(), ends("end_turn")]),
    );
    chat.chat();
    chat.send("see @a.txt and @https://example.com/x.");
    let sent = blocks(&mut chat);
    let link = json!({ "type": "resource_link", "name": "a.txt", "uri": uri(&chat.project, "a.txt"), "mimeType": "text/plain" });
    assert_eq!(sent[1], link);
    assert_eq!(sent[2]["uri"], "https://example.com/x");
    assert_eq!(sent.len(), 3);
}

#[test]
fn a_range_becomes_a_reference_that_moves_with_its_lines() {
    let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
    let mut chat = Scripted::new(&[("notes.txt", &text)], answering(1));
    chat.chat();
    chat.nvim.command("stopinsert");
    chat.nvim.command("wincmd t");
    chat.nvim.command("edit notes.txt");
    chat.nvim.command("5,7AcpChat");
    wait_for_prompt(&mut chat.nvim, "@notes.txt:5-7 ");
    chat.nvim.input("why?<Esc>");
    chat.nvim.command("wincmd t");
    chat.nvim.input("ggOnew<Esc>6jOinside<Esc>");
    chat.nvim.command("AcpChat");
    wait_for_prompt(&mut chat.nvim, "@notes.txt:6-9 why?");
    chat.nvim.input("<C-s>");
    let sent = blocks(&mut chat);
    assert_eq!(sent[0]["text"], "@notes.txt:6-9 why?");
    assert_eq!(sent[1]["resource"]["uri"], format!("{}#L6:9", uri(&chat.project, "notes.txt")));
    assert_eq!(sent[1]["resource"]["text"], "line 5\ninside\nline 6\nline 7");
    chat.wait_for("+ notes.txt:6-9 (4 lines)");
}

#[test]
fn what_is_no_file_stays_text_and_is_said() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.chat();
    chat.send("ask @alice about @src/none.rs");
    let sent = blocks(&mut chat);
    assert_eq!(sent, [json!({ "type": "text", "text": "ask @alice about @src/none.rs" })]);
    chat.nvim.wait_until(|nvim| nvim.messages().contains("There is no file src/none.rs"), "the note");
    assert!(!chat.nvim.messages().contains("alice"));
}

#[test]
fn a_prompt_that_cannot_go_comes_back_and_those_after_it_go() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(2));
    chat.chat();
    chat.nvim.input("see @a.txt:9<C-s>next<C-s>");
    assert_eq!(texts(&mut chat, 1), ["next"]);
    wait_for_prompt(&mut chat.nvim, "see @a.txt:9");
    let messages = chat.nvim.messages();
    assert!(messages.contains("couldn't send the prompt: a.txt ends at line 1"), "{messages}");
}

#[test]
fn what_the_editor_knows_goes_along_by_its_name() {
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\nthree\n")], answering(1));
    chat.nvim.command("edit a.txt");
    chat.nvim.input("ggVj<Esc>");
    chat.nvim.exec_lua(
        "local ns = vim.api.nvim_create_namespace('test')
         vim.diagnostic.set(ns, 0, { { lnum = 1, col = 0, message = 'bad word', severity = 1, source = 'spell' } })
         vim.fn.setqflist({ { filename = 'a.txt', lnum = 3, text = 'look here' } })",
        [],
    );
    chat.chat();
    chat.send("@selection @diagnostics @quickfix @buffer");
    let sent = blocks(&mut chat);
    let texts: Vec<&str> = sent[1..].iter().filter_map(|block| block["resource"]["text"].as_str()).collect();
    assert_eq!(
        texts,
        ["one\ntwo", "a.txt:2:1: error: bad word [spell]", "a.txt:3: look here", "one\ntwo\nthree\n"]
    );
    chat.wait_for("+ a.txt:1-2 (2 lines)\n+ diagnostics (1 line)\n+ quickfix (1 line)\n+ a.txt (3 lines)");
}

#[test]
fn gits_diff_and_images_are_read_in_the_background() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(1));
    let image = b"\x89PNG\r\n\x1a\nrest";
    std::fs::write(chat.project.file("my shot.png"), image).expect("a file");
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let status = std::process::Command::new("git")
            .current_dir(chat.project.path())
            .args(identity)
            .args(args)
            .status();
        assert!(status.expect("git").success());
    };
    git(&["init", "-q"]);
    git(&["add", "a.txt"]);
    git(&["commit", "-qm", "x"]);
    chat.project.write("a.txt", "two\n");
    chat.chat();
    chat.send("@diff and @\"my shot.png\"");
    let sent = blocks(&mut chat);
    let diff = sent[1]["resource"]["text"].as_str().unwrap_or_default();
    assert!(diff.contains("-one\n+two"), "{diff}");
    assert_eq!(sent[2]["type"], "image");
    assert_eq!(sent[2]["mimeType"], "image/png");
    assert_eq!(sent[2]["data"], "iVBORw0KGgpyZXN0");
    chat.wait_for("+ my shot.png (PNG, 12 bytes)");
}

#[test]
fn an_image_for_an_agent_that_takes_none_is_refused_and_nothing_is_lost() {
    let mut chat = Scripted::new(&[], taking(json!({}), [prompt(), ends("end_turn")]));
    std::fs::write(chat.project.file("shot.png"), b"\x89PNG\r\n\x1a\nrest").expect("a file");
    chat.chat();
    chat.send("see @shot.png");
    chat.nvim.wait_until(
        |nvim| nvim.messages().contains("shot.png is an image, and the agent takes none"),
        "the reason",
    );
    wait_for_prompt(&mut chat.nvim, "see @shot.png");
}

#[test]
fn asking_leaves_the_user_where_they_are() {
    let mut chat = Scripted::new(&[("a.txt", "one\ntwo\n")], answering(2));
    chat.nvim.command("edit a.txt");
    chat.nvim.command("2Acp ask what is this?");
    assert_eq!(texts(&mut chat, 1), ["what is this? @a.txt:2"]);
    let name = "return vim.fn.expand('%:t')";
    assert_eq!(chat.nvim.exec_lua(name, []), "a.txt".into());
    assert_eq!(chat.nvim.mode().name, "n");
    chat.wait_for("Answer 0.");
    chat.nvim.command("Acp ask and now?");
    assert_eq!(texts(&mut chat, 2)[1], "and now?");
    assert_eq!(chat.nvim.exec_lua(name, []), "a.txt".into());
}
