//! The prompt: what it refers to and what of that reaches the agent, completion, the history, drafts and
//! the prompts that wait. Real keys, a real Neovim, a scripted agent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::path::Path;

use serde_json::{Value, json};

use support::project::TempProject;
use support::script::{Scripted, ends, opened, prompt, says};
use support::{Nvim, Options, demo_agent};

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
fn no_menu_opens_for_a_prompt_of_before_that_ends_with_a_reference() {
    let mut chat = Scripted::new(&[("a.txt", "one\n"), ("b.txt", "two\n")], answering(1));
    chat.chat();
    chat.send("Look at @a.txt");
    chat.wait_for("Done");
    let count = "local complete = require('acp.complete')
        local trigger = complete.trigger
        _G.count = 0
        complete.trigger = function() _G.count = _G.count + 1 trigger() end";
    chat.nvim.exec_lua(count, []);
    chat.nvim.input("<C-p>");
    wait_for_prompt(&mut chat.nvim, "Look at @a.txt");
    assert_eq!(chat.nvim.mode().name, "i");
    assert_eq!(
        chat.nvim.exec_lua("return { _G.count, vim.fn.pumvisible() }", []),
        rmpv::Value::Array(vec![0.into(), 0.into()])
    );
    // What is typed from there on is completed.
    chat.nvim.input(" and @b");
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return vim.fn.pumvisible()", []) == 1.into(), "the menu");
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
    chat.nvim.stop_insert();
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

/// Shows a folder as a plugin or Neovim itself does.
const EXPLORERS: [&str; 3] = [
    "vim.cmd('edit ' .. folder)",
    "vim.cmd('enew') vim.api.nvim_buf_set_name(0, 'oil://' .. folder .. '/')
     vim.bo.buftype = 'acwrite' vim.bo.filetype = 'oil'",
    "vim.cmd('enew') vim.api.nvim_buf_set_name(0, 'minifiles://7/' .. folder) vim.bo.buftype = 'acwrite'",
];

#[test]
fn from_a_folders_listing_the_session_is_in_its_project_and_the_buffer_is_the_folder() {
    for explorer in EXPLORERS {
        let files = [("a.txt", "one\n"), ("other/.git/HEAD", ""), ("other/src/b.txt", "two\n")];
        let mut chat = Scripted::new(&files, answering(1));
        let open = format!("local folder = ...; vim.cmd('runtime plugin/netrwPlugin.vim'); {explorer}");
        let folder = chat.project.file("other/src");
        chat.nvim.exec_lua(&open, [folder.to_str().expect("a path in UTF-8").into()]);
        chat.chat();
        let root = chat.project.file("other");
        assert_eq!(chat.got("session/new")["params"]["cwd"], root.to_str().expect("a path"), "{explorer}");
        chat.send("What is in @buffer");
        let sent = blocks(&mut chat);
        let uri = format!("file://{}", folder.display());
        assert_eq!(sent[1]["uri"].as_str(), Some(&*uri), "{explorer}: {sent:?}");
        assert_eq!(sent[1]["type"], "resource_link");
    }
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

#[test]
fn a_script_that_asks_begins_the_session_that_there_is_not() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], answering(2));
    chat.nvim.command("edit a.txt");
    let ask = "local text = ...
               require('acp').ask(text, {}, function(answer, err) _G.answer = answer or ('failed: ' .. err) end)
               return vim.fn.expand('%:t')";
    assert_eq!(chat.nvim.exec_lua(ask, ["what is this?".into()]), "a.txt".into());
    let answer = "return _G.answer";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(answer, []).as_str() == Some("Answer 0."), "the answer");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.expand('%:t')", []), "a.txt".into());
    assert_eq!(chat.nvim.mode().name, "n");
    chat.nvim.exec_lua(ask, ["and now?".into()]);
    chat.nvim.wait_until(|nvim| nvim.exec_lua(answer, []).as_str() == Some("Answer 1."), "the next answer");
    assert_eq!(texts(&mut chat, 2), ["what is this?", "and now?"]);
    assert_eq!(chat.nvim.exec_lua("return #require('acp').status().sessions", []).as_u64(), Some(1));
}

#[test]
fn a_script_that_asks_hears_that_no_session_was_begun() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.nvim.exec_lua(
        "vim.ui.select = function(_, _, done) _G.picker = done end
         local acp = require('acp')
         acp.setup({ agents = { one = { command = vim.v.progpath }, two = { command = vim.v.progpath } } })
         _G.told = {}
         acp.ask('what?', {}, function(answer, why) table.insert(_G.told, { answer or false, why }) end)",
        [],
    );
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.picker ~= nil", []) == true.into(), "the picker");
    assert_eq!(chat.nvim.exec_lua("return #_G.told", []), 0.into());
    // Its user closes it.
    chat.nvim.exec_lua("_G.picker(nil) _G.picker = nil collectgarbage()", []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return #_G.told", []) == 1.into(), "the reason");
    let told = chat.nvim.exec_lua("return tostring(_G.told[1][1]) .. ': ' .. _G.told[1][2]", []);
    assert_eq!(
        told.as_str(),
        Some("false: no session was begun: no agent was chosen, or it could not be started")
    );
    // Where it is clear at once that nothing can be sent, the reason is returned.
    let returned =
        "require('acp').setup({ default_agent = 'one', agents = { one = { command = '/no/such' } } })
         local off, why = require('acp').ask('what?', {}, function() table.insert(_G.told, {}) end)
         return tostring(off) .. ': ' .. why";
    let returned = chat.nvim.exec_lua(returned, []);
    assert!(
        returned.as_str().is_some_and(|why| why.starts_with("nil: ") && why.contains("/no/such")),
        "{returned}"
    );
    let after = "vim.schedule(function() _G.is_over = true end)";
    chat.nvim.exec_lua(after, []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.is_over == true", []) == true.into(), "a moment");
    assert_eq!(chat.nvim.exec_lua("return #_G.told", []), 1.into(), "each is told once");
}

// History.

#[test]
fn the_history_is_gone_through_at_the_edges_and_what_was_typed_comes_back() {
    let mut chat = Scripted::new(&[], answering(2));
    chat.chat();
    chat.send("first");
    chat.send("second<CR>with two lines");
    texts(&mut chat, 2);
    chat.nvim.input("half a<CR>thought");
    // In the second line it moves up only.
    chat.nvim.input("<C-p>");
    wait_for_prompt(&mut chat.nvim, "half a\nthought");
    chat.nvim.input("<C-p>");
    wait_for_prompt(&mut chat.nvim, "second\nwith two lines");
    chat.nvim.input("<C-p>");
    wait_for_prompt(&mut chat.nvim, "first");
    chat.nvim.input("<Esc><C-n>");
    wait_for_prompt(&mut chat.nvim, "second\nwith two lines");
    chat.nvim.input("<C-n>");
    wait_for_prompt(&mut chat.nvim, "half a\nthought");
    chat.nvim.input("u");
    wait_for_prompt(&mut chat.nvim, "second\nwith two lines");
}

#[test]
fn u_in_a_prompt_that_was_sent_brings_its_text_back_to_be_mended() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.chat();
    chat.nvim.input("never sent<Esc>Ssent<Esc><CR>");
    texts(&mut chat, 1);
    wait_for_prompt(&mut chat.nvim, "");
    chat.nvim.input("u");
    wait_for_prompt(&mut chat.nvim, "sent");
    // Nor is what stood there before lost.
    chat.nvim.input("u");
    wait_for_prompt(&mut chat.nvim, "never sent");
}

#[test]
fn a_command_that_is_typed_into_the_prompt_is_not_sent_before_the_second_time() {
    let mut chat = Scripted::new(&[], answering(2));
    chat.chat();
    chat.send(":Acp allow");
    chat.nvim.wait_for_screen(":Acp allow is a command");
    wait_for_prompt(&mut chat.nvim, ":Acp allow");
    chat.nvim.input("<Esc>dd");
    chat.nvim.input("iWhat does :Acp allow do?<C-s>");
    assert_eq!(texts(&mut chat, 1), ["What does :Acp allow do?"]);
    chat.send(":Acp allow");
    chat.nvim.wait_for_screen(":Acp allow is a command");
    chat.nvim.input("<C-s>");
    assert_eq!(texts(&mut chat, 2)[1], ":Acp allow");
}

/// Another Neovim with the same home and project as the chat's.
fn beside(chat: &Scripted) -> Nvim {
    let state = chat.nvim.home().join("state");
    let path = |name: &str| chat.project.file(name).to_string_lossy().into_owned();
    let mut nvim = Nvim::start(Options {
        columns: 100,
        rows: 30,
        cwd: Some(chat.project.path().to_owned()),
        env: vec![("XDG_STATE_HOME".into(), state.to_string_lossy().into_owned())],
        ..Options::default()
    });
    nvim.setup_agent("fake", demo_agent(), &["--script", &path(".agent/script.json")]);
    nvim
}

/// The files below the plugin's state whose names hold a text.
fn kept(home: &Path, name: &str) -> Vec<String> {
    let read = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = read(&home.join("state/nvim/acp/projects")).flat_map(|folder| read(&folder.path()));
    let fits = files.filter(|file| file.file_name().to_string_lossy().contains(name));
    fits.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}

#[test]
fn two_neovims_share_the_history_and_neither_loses_the_others_prompts() {
    let mut chat = Scripted::new(&[], answering(9));
    chat.chat();
    let mut other = beside(&chat);
    other.command("AcpChat");
    other.wait_for_screen("Fake 1.0");
    for number in 0..3 {
        chat.send(&format!("mine {number}"));
        other.input(&format!("theirs {number}<C-s>"));
    }
    let home = chat.nvim.home().to_owned();
    let all = |_: &mut Nvim| kept(&home, "prompts.jsonl").concat().lines().count() == 6;
    chat.nvim.wait_until(all, "all prompts to be kept");
    drop(other);
    chat.nvim.kill9();
    let mut third = beside(&chat);
    third.command("AcpChat");
    third.wait_for_screen("Fake 1.0");
    third.exec_lua("vim.ui.select = function(items) _G.offered = items end", []);
    third.command("Acp history");
    let offered = third.exec_lua("return table.concat(_G.offered, ' ')", []);
    let offered = offered.as_str().expect("a text");
    for number in 0..3 {
        assert!(offered.contains(&format!("mine {number}")), "{offered}");
        assert!(offered.contains(&format!("theirs {number}")), "{offered}");
    }
}

// Drafts.

#[test]
fn what_was_typed_survives_the_kill_of_neovim() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.chat();
    chat.nvim.input("sent<C-s>");
    texts(&mut chat, 1);
    chat.nvim.input("not sent,<CR>two lines");
    let home = chat.nvim.home().to_owned();
    let on_disk = |_: &mut Nvim| kept(&home, "draft-").iter().any(|draft| draft.contains("two lines"));
    chat.nvim.wait_until(on_disk, "the draft to be kept");
    // One that lives keeps its own.
    let mut other = beside(&chat);
    other.command("AcpChat");
    other.wait_for_screen("Fake 1.0");
    other.exec_lua("vim.cmd.stopinsert()", []);
    assert_eq!(typed(&mut other), "");
    drop(other);
    chat.nvim.kill9();
    let mut after = beside(&chat);
    after.command("AcpChat");
    wait_for_prompt(&mut after, "not sent,\ntwo lines");
    after.wait_until(|nvim| nvim.messages().contains("what you had typed and not sent"), "the note");
    // It is that Neovim's now, and is kept there until it is sent.
    after.kill9();
    let mut last = beside(&chat);
    last.command("AcpChat");
    wait_for_prompt(&mut last, "not sent,\ntwo lines");
    last.wait_for_screen("Fake 1.0");
    last.input("<C-s>");
    wait_for_prompt(&mut last, "");
    assert!(last.quit().success());
    assert_eq!(kept(&home, "draft-"), [""; 0]);
}

#[test]
fn what_was_typed_survives_all_that_can_happen_to_a_chat() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.chat();
    chat.nvim.input("a thought<Esc>");
    chat.nvim.command("Acp toggle");
    chat.nvim.command("AcpChat");
    wait_for_prompt(&mut chat.nvim, "a thought");
    chat.nvim.input("<Esc>");
    let buffer = chat.nvim.exec_lua("return vim.api.nvim_get_current_buf()", []);
    chat.nvim.exec_lua("vim.api.nvim_buf_delete(..., { force = true })", [buffer]);
    chat.nvim.command("AcpChat");
    wait_for_prompt(&mut chat.nvim, "a thought");
    chat.nvim.command("Acp stop");
    chat.wait_for("was stopped");
    wait_for_prompt(&mut chat.nvim, "a thought");
    // A second session has its own; that of a session that is closed is in the history.
    chat.nvim.command("AcpChat!");
    wait_for_prompt(&mut chat.nvim, "");
    chat.nvim.command("1Acp sessions 1");
    chat.nvim.command("Acp close");
    chat.nvim.command("AcpChat");
    chat.nvim.input("<C-p>");
    wait_for_prompt(&mut chat.nvim, "a thought");
}

// Prompts that wait.

/// An agent that works until it is cancelled, or steered to its end.
fn busy(rest: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut parts =
        vec![prompt(), says("Working."), json!({ "expect": "session/cancel" }), ends("cancelled")];
    parts.extend(rest);
    embedding(parts)
}

#[test]
fn waiting_prompts_are_seen_taken_back_moved_and_sent_at_once() {
    let mut chat =
        Scripted::new(&[], busy([prompt(), says("Next."), ends("end_turn"), prompt(), ends("end_turn")]));
    chat.chat();
    chat.send("go");
    chat.wait_for("Working.");
    chat.send("one");
    chat.send("two");
    chat.send("three");
    chat.nvim.wait_for_screen("waiting: three");
    let screen = chat.nvim.screen();
    let below: Vec<&str> = screen
        .lines()
        .rev()
        .take(8)
        .filter_map(|row| row.split_once('\u{2502}'))
        .map(|(_, right)| right)
        .collect();
    // Newer versions' status line says that the chat can't be changed.
    let below = below.into_iter().rev().collect::<Vec<_>>().join("\n").replace(" [-]", "");
    assert_eq!(
        below,
        "acp://fake chat\n 3 waiting (<C-q>) · <C-c> stop · g? keys\n\n waiting: one\n waiting: two\n waiting: three"
    );
    chat.nvim.input("<Up>");
    wait_for_prompt(&mut chat.nvim, "three");
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("waiting: three"), "it to wait no more");
    // What is typed is not replaced: the key is the key then.
    chat.nvim.input("<Up>");
    wait_for_prompt(&mut chat.nvim, "three");
    let choose = "local first, second = ...
         local answers = { first, second }
         vim.ui.select = function(items, _, choose)
           local answer = table.remove(answers, 1)
           for index, item in ipairs(items) do
             if item:find(answer, 1, true) then return choose(item, index) end
           end
         end
         vim.cmd('Acp queue')";
    chat.nvim.exec_lua(choose, ["two".into(), "move it up".into()]);
    chat.nvim.wait_until(
        |nvim| {
            let screen = nvim.screen();
            screen.find("waiting: two") < screen.find("waiting: one") && screen.contains("waiting: two")
        },
        "the prompts to change places",
    );
    chat.nvim.exec_lua(choose, ["one".into(), "remove".into()]);
    chat.nvim.wait_until(|nvim| !nvim.screen().contains("waiting: one"), "it to be removed");
    chat.nvim.command("Acp send! urgent");
    assert_eq!(texts(&mut chat, 3), ["go", "urgent", "two"]);
    wait_for_prompt(&mut chat.nvim, "three");
}

#[test]
fn a_clipboard_that_is_not_there_is_said() {
    let mut chat = Scripted::new(&[], answering(1));
    chat.nvim
        .exec_lua("vim.env.DISPLAY, vim.env.WAYLAND_DISPLAY, vim.env.WSL_DISTRO_NAME = nil, nil, nil", []);
    chat.chat();
    chat.nvim.command("Acp paste");
    chat.nvim.wait_until(
        |nvim| nvim.messages().contains("couldn't paste an image: this session has no clipboard"),
        "the reason why there is no image",
    );
}

// Completion.

#[test]
fn completion_works_before_the_agent_and_leaves_it_to_a_plugin() {
    let mut all = vec![json!({ "expect": "initialize" }), json!({ "wait_eof": true })];
    all.truncate(2);
    let mut chat = Scripted::new(&[("docs/guide.md", "x")], all);
    chat.nvim.command("AcpChat");
    chat.nvim.input("@gui");
    chat.nvim.wait_for_screen("@docs/guide.md");
    chat.nvim.input("<C-e><C-u>@di<C-x><C-o>");
    chat.nvim.wait_for_screen("the output of `git diff`");
    chat.nvim.input("<C-e><C-u>");
    chat.nvim.exec_lua("package.loaded['blink.cmp'] = {}", []);
    let found = "local source = require('acp.blink').new()
         _G.items = nil
         source:get_completions({ bufnr = 0, cursor = { 1, 8 }, line = 'see @gui' }, function(r) _G.items = r.items end)";
    chat.nvim.input("see @gui");
    chat.nvim.exec_lua(found, []);
    let label = "return _G.items and _G.items[1] and _G.items[1].textEdit.newText or ''";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(label, []) == "@docs/guide.md".into(), "blink's item");
    let range = "local range = _G.items[1].textEdit.range
                 return range.start.character .. '-' .. range['end'].character";
    assert_eq!(chat.nvim.exec_lua(range, []), "4-8".into());
    let found = "local source = require('acp.cmp').new()
         _G.items = nil
         local context = { cursor_line = 'see @gui', cursor = { row = 1, col = 9 } }
         source:complete({ context = context }, function(r) _G.items = r.items end)";
    chat.nvim.exec_lua(found, []);
    chat.nvim.wait_until(|nvim| nvim.exec_lua(label, []) == "@docs/guide.md".into(), "nvim-cmp's item");
    assert_eq!(chat.nvim.exec_lua(range, []), "4-8".into());
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into(), "the plugin's menu is enough");
}

/// As much of blink.cmp as is asked of it, with the sources that the user has configured for prompts, and a
/// Neovim with a chat beside it.
fn beside_blink(for_prompts: &str) -> Scripted {
    let steps = vec![json!({ "expect": "initialize" }), json!({ "wait_eof": true })];
    let mut chat = Scripted::new(&[("docs/guide.md", "x")], steps);
    let code = "_G.on = true
         _G.sources = { providers = { buffer = { module = 'blink.cmp.sources.buffer' } },
           per_filetype = { ['acp-prompt'] = FOR_PROMPTS } }
         package.loaded['blink.cmp'] = {}
         package.loaded['blink.cmp.config'] = { sources = _G.sources, enabled = function() return _G.on end }
         package.loaded['blink.cmp.sources.lib'] = {
           get_enabled_provider_ids = function()
             return _G.sources.per_filetype[vim.bo.filetype] or { 'buffer' }
           end,
         }";
    chat.nvim.exec_lua(&code.replace("FOR_PROMPTS", for_prompts), []);
    chat
}

/// What `:checkhealth` says of completion in prompts.
fn completion_health(nvim: &mut Nvim) -> String {
    nvim.command("checkhealth acp");
    let text = nvim.exec_lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')", []);
    nvim.command("bwipeout");
    text.as_str().expect("a text").to_owned()
}

/// The plugin's own menu opens in a prompt, and `:checkhealth` says so.
fn assert_own_menu_opens(chat: &mut Scripted) {
    chat.nvim.command("AcpChat");
    chat.nvim.input("@gui");
    chat.nvim.wait_for_screen("@docs/guide.md");
    chat.nvim.input("<C-e><C-u><Esc>");
    let text = completion_health(&mut chat.nvim);
    assert!(text.contains("blink.cmp doesn't complete in prompts"), "{text}");
}

#[test]
fn a_completion_plugin_that_lacks_the_source_does_not_cost_the_menu() {
    let mut chat = beside_blink("{ 'buffer' }");
    assert_own_menu_opens(&mut chat);
    // With the source the plugin's menu is enough.
    chat.nvim.exec_lua(
        "_G.sources.providers.mine = { module = 'acp.blink' }
         _G.sources.per_filetype['acp-prompt'] = { 'mine' }",
        [],
    );
    let text = completion_health(&mut chat.nvim);
    assert!(text.contains("blink.cmp completes in prompts"), "{text}");
}

#[test]
fn a_completion_plugin_completes_in_prompts_without_set_up() {
    let mut chat = beside_blink("nil");
    let text = completion_health(&mut chat.nvim);
    assert!(text.contains("blink.cmp completes in prompts"), "{text}");
    chat.nvim.command("AcpChat");
    chat.nvim.input("@gui");
    let has = "return vim.deep_equal(_G.sources.per_filetype['acp-prompt'], { 'acp' })
        and _G.sources.providers.acp.module";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(has, []) == "acp.blink".into(), "the source");
    assert_eq!(chat.nvim.exec_lua("return vim.fn.pumvisible()", []), 0.into(), "one menu is enough");
    // Where it is turned off, the plugin's own opens.
    chat.nvim.exec_lua("_G.on = false", []);
    chat.nvim.input("<C-u>@gui");
    chat.nvim.wait_for_screen("@docs/guide.md");
}

#[test]
fn no_completion_plugin_is_told_of_prompts_where_the_plugins_own_menu_is_wanted() {
    let mut chat = beside_blink("nil");
    chat.configure("prompt = { complete = 'always' }");
    assert_own_menu_opens(&mut chat);
}

/// How long it takes to find files among 100,000; run it with `--ignored`, and with `--release` for the
/// figures of what users have.
#[test]
#[ignore = "makes 100,000 files to measure with"]
fn files_are_found_among_a_hundred_thousand() {
    use std::io::Write as _;
    use std::time::Instant;

    use acp_nvim::acp::files::find::Listing;

    let project = TempProject::new(&[]);
    for folder in 0..1000 {
        let folder = project.file(&format!("crates/part{}/src/module{folder}", folder % 40));
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in 0..100 {
            std::fs::write(folder.join(format!("file_{file}.rs")), "").expect("a file");
        }
    }
    let began = Instant::now();
    let listing = Listing::make(project.path());
    let listed = began.elapsed();
    assert!(listing.len() > 100_000);
    let mut report = format!("listing {} paths: {listed:?}\n", listing.len());
    for query in ["", "f", "mod7file_42", "crates/part3/src", "zzzz"] {
        let began = Instant::now();
        let found = listing.best(query, &|| false).map_or(0, |found| found.len());
        report.push_str(&format!("{query:?}: {found} in {:?}\n", began.elapsed()));
    }
    std::io::stderr().write_all(report.as_bytes()).expect("somewhere to write to");
}
