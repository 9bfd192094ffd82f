//! The help's examples of tools, word for word: each is taken from the help, added and called.

use serde_json::{Value, json};

use crate::client::Client;
use crate::support::script::{Scripted, steps};

const HELP: &str = include_str!("../../doc/acp.txt");

/// The code of the section about a user's own tools.
fn examples() -> Vec<String> {
    let (_, section) = HELP.split_once("*acp.tool()*").expect("the section");
    let (section, _) = section.split_once("\n====").expect("its end");
    let mut examples = Vec::new();
    let mut code: Option<String> = None;
    for line in section.lines() {
        match &mut code {
            Some(text) if line.is_empty() || line.starts_with(' ') => *text += &format!("{line}\n"),
            Some(_) => examples.extend(code.take()),
            None if line.ends_with(">lua") => code = Some(String::new()),
            None => {}
        }
    }
    examples
}

/// A chat that has all examples, with what they need.
fn with_examples() -> (Scripted, Client) {
    let tests = "import sys\n\ndef test_good():\n    assert True\n\ndef test_bad():\n    assert False\n";
    let mut chat = Scripted::new(&[("test_it.py", tests)], steps([]));
    chat.project.write("bin/pytest", "#!/bin/sh\necho \"$*\"\ntest \"$2\" = test_good\n");
    let database =
        "#!/bin/sh\ncase \"$4\" in *wrong*) echo no such table >&2; exit 1;; esac\necho \"[\\\"$*\\\"]\"\n";
    chat.project.write("bin/sqlite3", database);
    chat.chat();
    let code = "local folder = ...
        vim.uv.fs_chmod(folder .. '/bin/sqlite3', 448)
        vim.uv.fs_chmod(folder .. '/bin/pytest', 448)
        vim.env.PATH = folder .. '/bin:' .. vim.env.PATH
        vim.env.HOME = folder
        vim.fn.mkdir(folder .. '/notes', 'p')
        vim.fn.writefile({ 'buy milk', 'call Ada' }, folder .. '/notes/today')
        package.loaded.dap = { session = function() return _G.debugged end }";
    let folder = chat.project.path().to_string_lossy().into_owned();
    chat.nvim.exec_lua(code, [folder.into()]);
    let examples = examples();
    assert_eq!(examples.len(), 5);
    for code in examples {
        chat.nvim.exec_lua(&code, []);
    }
    let client = Client::of(&mut chat);
    (chat, client)
}

#[test]
fn the_examples_of_the_help_do_what_they_say() {
    let (mut chat, mut client) = with_examples();
    chat.nvim.command("echomsg 'the last word'");
    assert_eq!(client.gives("last_message", json!({})), "the last word");

    let test = |line: usize| json!({ "file": "test_it.py", "line": line });
    assert_eq!(client.gives("nearest_test", test(4)), "exit 0\n-k test_good test_it.py\n");
    assert_eq!(client.gives("nearest_test", test(6)), "exit 1\n-k test_bad test_it.py\n");
    assert_eq!(client.fails("nearest_test", test(2)), "there is no test at or above line 2");
    assert_eq!(client.fails("nearest_test", json!({ "file": "test_it.py" })), "line: missing");

    let found = client.gives("search_notes", json!({ "text": "milk" }));
    assert!(found.ends_with("/notes/today:1:buy milk\n"), "{found}");
    assert_eq!(client.gives("search_notes", json!({ "text": "beer" })), "nothing found");

    let rows = client.gives("query", json!({ "sql": "SELECT 1" }));
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    assert_eq!(rows, json!(["-readonly -json dev.db SELECT 1"]));
    assert_eq!(client.fails("query", json!({ "sql": "wrong" })), "no such table");

    assert_eq!(client.fails("variable", json!({ "expression": "x" })), "no debug session runs");
    let debugger = "_G.debugged = { evaluate = function(_, expression, answer)
        if expression == 'x' then answer(nil, { result = '42' }) else answer({ message = 'not defined' }) end
      end }";
    chat.nvim.exec_lua(debugger, []);
    assert_eq!(client.gives("variable", json!({ "expression": "x" })), "42");
    assert_eq!(client.fails("variable", json!({ "expression": "y" })), "not defined");
}
