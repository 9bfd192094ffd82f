//! What language servers do beside answering: they read the project first, have commands that only they can run, and
//! believe what they were last told of a file.

use serde_json::{Value, json};

use crate::client::Client;
use crate::support::Nvim;
use crate::support::script::{Scripted, steps};
use crate::{CODE, serve_as, text};

fn chat_with(how: &str) -> (Scripted, Client) {
    let mut chat = Scripted::new(&[("a.lua", CODE), ("b.lua", "login()\n")], steps([]));
    chat.configure("follow = false, files = { outside = 'refuse' }");
    chat.chat();
    chat.nvim.input("<Esc>");
    serve_as(&mut chat.nvim, how);
    let client = Client::of(&mut chat);
    (chat, client)
}

fn references() -> Value {
    json!({ "file": "a.lua", "line": 5, "symbol": "login" })
}

#[test]
fn a_server_that_reads_the_project_first_is_waited_for() {
    let (mut chat, mut client) = chat_with("reads first");
    let found = client.gives("references", references());
    assert!(found.starts_with("4 places for `login`\n") && found.ends_with("b.lua:1:1: login()"), "{found}");
    // What it does later, as long as that may be, is not waited for.
    let works = "return next(vim.lsp.get_clients()[1].progress.pending) ~= nil";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(works, []) == true.into(), "the server to work on");
    chat.nvim.exec_lua("require('acp.tools.quiet').LIMIT = 700", []);
    assert_eq!(client.gives("references", references()), found);
}

#[test]
fn an_agent_is_told_of_a_server_that_is_never_done_with_reading() {
    let (mut chat, mut client) = chat_with("reads for ever");
    chat.nvim.exec_lua("require('acp.tools.quiet').LIMIT = 700", []);
    let note = "(scripted is still at work (reading), so this may not be all)";
    let found = client.gives("references", references());
    assert!(found.starts_with("3 places") && found.ends_with(note), "{found}");
    let found = client.gives("workspace_symbols", json!({ "query": "login" }));
    assert!(found.starts_with("1 symbol") && found.ends_with(note), "{found}");
    // What one place alone is about is answered as ever.
    assert_eq!(client.gives("hover", references()), "**login** does it");
}

#[test]
fn an_agent_is_told_at_once_of_a_server_that_ends_when_it_is_asked() {
    let (mut chat, mut client) = chat_with("dies");
    // Neovim's own word of it would have to be confirmed.
    chat.nvim.exec_lua("vim.notify = function() end", []);
    assert_eq!(client.fails("hover", references()), "scripted: the server has ended");
}

/// Answers the next question with the choice of this number, and keeps what was asked.
fn choose(nvim: &mut Nvim, number: u64) {
    let code = "local number = ...
        vim.ui.select = function(items, options, choose)
          _G.asked = options.prompt
          vim.schedule(function() choose(items[number], number) end)
        end";
    nvim.exec_lua(code, [number.into()]);
}

fn apply(title: &str) -> Value {
    json!({ "file": "a.lua", "line": 6, "apply": title })
}

#[test]
fn a_command_of_a_server_is_run_when_the_user_allows_it() {
    let (mut chat, mut client) = chat_with("at once");
    choose(&mut chat.nvim, 1);
    let done = client.gives("code_action", apply("Run it"));
    assert_eq!(done, "1 changed file\na.lua: 1 edit");
    assert_eq!(text(&mut chat.nvim, "a.lua"), CODE.trim_end().replace("wrong", "right"));
    // The server was told that its edit is made before it said that it is done.
    assert_eq!(chat.project.read("applied"), r#"{"applied": true}"#);
    let asked = chat.nvim.exec_lua("return _G.asked", []);
    let asked = asked.as_str().expect("a question");
    assert!(asked.contains("\"Run it\"") && asked.contains("scripted"), "{asked}");
    chat.nvim.command("Acp undo! all");
    chat.nvim.wait_until(|nvim| text(nvim, "a.lua") == CODE.trim_end(), "the text to be back");
}

#[test]
fn a_command_whose_edit_comes_after_its_answer_is_waited_for_and_one_without_says_so() {
    let (mut chat, mut client) = chat_with("at once");
    choose(&mut chat.nvim, 1);
    let done = client.gives("code_action", apply("Run it later"));
    assert_eq!(done, "1 changed file\na.lua: 1 edit");
    assert_eq!(client.gives("code_action", apply("Run nothing")), "no file was changed");
}

#[test]
fn a_command_that_is_not_allowed_or_not_the_servers_is_not_run() {
    let (mut chat, mut client) = chat_with("at once");
    choose(&mut chat.nvim, 2);
    assert_eq!(client.fails("code_action", apply("Run it")), "the user did not allow it");
    assert!(client.fails("code_action", apply("Ask the editor")).contains("not done for agents"));
    assert_eq!(text(&mut chat.nvim, "a.lua"), CODE.trim_end());
}

#[test]
fn an_edit_that_cannot_be_made_is_told_to_the_server_and_its_usual_way_is_back() {
    let (mut chat, mut client) = chat_with("at once");
    choose(&mut chat.nvim, 1);
    let why = client.fails("code_action", apply("Reach out"));
    assert!(why.contains("outside"), "{why}");
    let refused = r#"{"applied": false, "failureReason": "the edit was not made"}"#;
    let path = chat.project.file("applied");
    chat.nvim.wait_until(|_| std::fs::read_to_string(&path).is_ok_and(|text| text == refused), "a refusal");
    let usual = "return vim.lsp.get_clients()[1].handlers['workspace/applyEdit'] == nil";
    assert_eq!(chat.nvim.exec_lua(usual, []), true.into());
}

#[test]
fn lines_are_what_an_action_is_about_where_a_last_one_is_given() {
    let (_chat, mut client) = chat_with("at once");
    let args = json!({ "file": "a.lua", "line": 1, "last_line": 3 });
    let listed = client.gives("code_action", args);
    assert!(listed.contains("Lines 1 to 3"), "{listed}");
}

#[test]
fn servers_are_told_of_files_that_an_agent_changes_and_nobody_has_open() {
    let (mut chat, mut client) = chat_with("at once");
    client.gives("hover", references());
    client.gives("edit_buffer", json!({ "file": "b.lua", "old": "login", "new": "logout" }));
    let told = chat.project.file("watched");
    chat.nvim
        .wait_until(|_| std::fs::read_to_string(&told).is_ok_and(|text| text == "2 b.lua\n"), "word of it");
    // Of what is open Neovim tells them itself.
    client.gives("edit_buffer", json!({ "file": "a.lua", "old": "wrong", "new": "right" }));
    client.gives("rename", json!({ "file": "a.lua", "line": 5, "symbol": "login", "new_name": "created" }));
    let all = "2 b.lua\n1 new.lua\n";
    chat.nvim
        .wait_until(|_| std::fs::read_to_string(&told).is_ok_and(|text| text == all), "word of a new file");
}
