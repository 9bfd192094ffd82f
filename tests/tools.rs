//! The editor's tools for agents, in a real Neovim: the test is the MCP client that an agent would be, and starts the
//! bridge as it is told in `session/new`. What language servers know comes from a scripted one.

#![cfg(unix)]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

#[path = "tools/client.rs"]
mod client;
#[path = "tools/every.rs"]
mod every;
#[path = "tools/examples.rs"]
mod examples;
#[path = "tools/foreign.rs"]
mod foreign;
#[path = "tools/habits.rs"]
mod habits;
#[path = "tools/many.rs"]
mod many;
#[path = "tools/moves.rs"]
mod moves;
#[path = "tools/official.rs"]
mod official;
#[path = "tools/over_acp.rs"]
mod over_acp;
#[path = "tools/own.rs"]
mod own;
#[path = "tools/questions.rs"]
mod questions;
#[path = "tools/tasks.rs"]
mod tasks;

use serde_json::{Value, json};

use client::{Client, Told, begins};
use support::Nvim;
use support::process::wait_for;
use support::script::{Scripted, steps};

const CODE: &str = "local function login()\n  return 1\nend\n\nlogin() -- é\nprint(login(), wrong)\nslow()\n";

/// So many tools there are.
const ALL: usize = 28;

fn chat(files: &[(&str, &str)]) -> Scripted {
    let mut chat = Scripted::new(files, steps([]));
    chat.chat();
    chat.nvim.input("<Esc>");
    chat
}

/// Has the scripted server work in Lua files.
fn serve(nvim: &mut Nvim) {
    serve_as(nvim, "at once");
}

/// The same with one that tells what is wrong at another time.
fn serve_as(nvim: &mut Nvim, how: &str) {
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/server.py");
    start_for(nvim, "lua", "scripted", &["python3", server, how]);
}

/// Has a server started for each file of a type.
fn start_for(nvim: &mut Nvim, filetype: &str, name: &str, command: &[&str]) {
    let code = "local filetype, name, cmd = ...
        vim.api.nvim_create_autocmd('FileType', { pattern = filetype, callback = function(args)
          vim.lsp.start({ name = name, cmd = cmd, root_dir = vim.fn.getcwd() }, { bufnr = args.buf })
        end })";
    let command = command.iter().map(|&word| word.into()).collect();
    nvim.exec_lua(code, [filetype.into(), name.into(), rmpv::Value::Array(command)]);
}

#[test]
fn an_agent_lists_the_tools_and_calls_them_without_a_window_being_taken() {
    let mut chat = Scripted::new(&[("a.lua", CODE)], steps([]));
    chat.configure("follow = false");
    chat.chat();
    serve(&mut chat.nvim);
    let windows = chat.nvim.exec_lua("return #vim.api.nvim_list_wins()", []);
    let mut client = Client::of(&mut chat);
    let names = client.names();
    assert_eq!(names.len(), ALL, "{names:?}");

    let place = || json!({ "file": "a.lua", "line": 5, "symbol": "login" });
    let places =
        "a.lua:1:16: local function login()\na.lua:5:1: login() -- é\na.lua:6:7: print(login(), wrong)";
    assert_eq!(client.gives("references", place()), format!("3 places for `login`\n{places}"));
    for name in ["definition", "declaration", "type_definition", "implementation"] {
        let first = "1 place for `login`\na.lua:1:16: local function login()";
        assert_eq!(client.gives(name, place()), first, "{name}");
    }
    assert_eq!(client.gives("hover", place()), "**login** does it");
    let symbols = "2 symbols for a.lua\n1: function: login\n  1: variable: inner";
    assert_eq!(client.gives("document_symbols", json!({ "file": "a.lua" })), symbols);
    let found = client.gives("workspace_symbols", json!({ "query": "log" }));
    assert_eq!(found, "1 symbol for `log`\na.lua:1:16: function: log");
    let callers = client.gives("call_hierarchy", place());
    assert_eq!(callers, "1 function for `login`\na.lua:1:16: function: caller");
    let errors = client.gives("diagnostics", json!({ "file": "a.lua", "wait": true }));
    assert_eq!(errors, "1 diagnostic for a.lua\na.lua:6:16: error: no such name [scripted]");
    assert_eq!(client.gives("diagnostics", json!({})).lines().next(), Some("1 diagnostic"));

    let outline = client.gives("outline", json!({ "file": "a.lua" }));
    assert_eq!(outline, "1 definition for a.lua\n1-3: function declaration: login");
    let around = client.gives("node", json!({ "file": "a.lua", "line": 2 }));
    assert!(around.contains("Lines 1 to 3:\nlocal function login()"), "{around}");
    let after = chat.nvim.exec_lua("return #vim.api.nvim_list_wins()", []);
    assert_eq!(after, windows);
    assert_eq!(chat.nvim.exec_lua("return vim.fn.buflisted('a.lua')", []), 0.into());
}

#[test]
fn a_server_that_has_not_begun_is_waited_for() {
    for how in ["late", "asked late"] {
        let mut chat = Scripted::new(&[("a.lua", CODE)], steps([]));
        chat.chat();
        serve_as(&mut chat.nvim, how);
        let mut client = Client::of(&mut chat);
        let errors = client.gives("diagnostics", json!({ "file": "a.lua" }));
        assert_eq!(errors, "1 diagnostic for a.lua\na.lua:6:16: error: no such name [scripted]", "{how}");
        // After a change by which there is one less.
        let code =
            "local buf = vim.fn.bufnr('a.lua') vim.api.nvim_buf_set_lines(buf, 5, 6, false, { 'print()' })";
        chat.nvim.exec_lua(code, []);
        let errors = client.gives("diagnostics", json!({ "file": "a.lua", "wait": true }));
        assert_eq!(errors, "no diagnostics for a.lua", "{how}");
    }
}

#[test]
fn a_file_type_plugin_that_fails_keeps_no_server_from_a_file() {
    let mut chat = Scripted::new(&[("a.lua", CODE)], steps([]));
    // Neovim 0.10 has such a one for C.
    let plugin = "vim.b.undo_ftplugin = vim.b.undo_ftplugin .. '| setlocal path<'\n";
    chat.project.write("runtime/ftplugin/lua.lua", plugin);
    chat.chat();
    let runtime = chat.project.file("runtime").to_string_lossy().into_owned();
    chat.nvim.exec_lua("vim.opt.runtimepath:prepend(...)", [runtime.into()]);
    serve(&mut chat.nvim);
    let mut client = Client::of(&mut chat);
    let place = json!({ "file": "a.lua", "line": 5, "symbol": "login" });
    assert_eq!(client.gives("hover", place), "**login** does it");
}

#[test]
fn ten_thousand_diagnostics_are_told_in_slices() {
    let mut chat = chat(&[]);
    let code = "local folder = vim.fn.getcwd()
        vim.diagnostic.config({ virtual_text = false, signs = false, underline = false })
        local namespace = vim.api.nvim_create_namespace('many')
        local buf = vim.fn.bufadd(folder .. '/many.txt')
        vim.fn.bufload(buf)
        local lines, list = {}, {}
        for number = 1, 10000 do
          lines[number] = 'text'
          list[number] = { lnum = 10000 - number, col = number % 4, severity = 1, message = 'wrong ' .. number,
            user_data = { lsp = { code = 'c', range = { start = { line = 1, character = 1 } } } } }
        end
        vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
        vim.diagnostic.set(namespace, buf, list)
        -- The time of this thread, which is the same on a busy machine.
        local ffi = require('ffi')
        ffi.cdef('typedef struct { long s; long ns; } acp_time; int clock_gettime(int, acp_time *);')
        local time = ffi.new('acp_time')
        local function now()
          ffi.C.clock_gettime(3, time)
          return tonumber(time.s) * 1e3 + tonumber(time.ns) / 1e6
        end
        local longest, found = 0, nil
        local function measured(fn)
          return function(...)
            local began = now()
            fn(...)
            longest = math.max(longest, now() - began)
          end
        end
        local ctx = { roots = { folder }, guard = measured, on_end = function() end,
          done = function(all) found = all end }
        -- The first run is compiled.
        for _ = 1, 2 do
          found, longest = nil, 0
          local args = { severity = 'hint', offset = 5000, limit = 50, wait = false }
          measured(function() require('acp.tools.diagnostics').diagnostics(args, ctx) end)()
          vim.wait(10000, function() return found end, 1)
        end
        return { longest, found.total, #found.items, found.items[1].line, found.items[50].line, found.items[1].text }";
    let answer = chat.nvim.exec_lua(code, []);
    let answer = answer.as_array().expect("a list");
    let numbers: Vec<u64> = answer[1..5].iter().map(|number| number.as_u64().expect("a number")).collect();
    assert_eq!(numbers, [10000, 50, 5001, 5050]);
    assert_eq!(answer[5].as_str(), Some("wrong 5000"));
    let longest = answer[0].as_f64().expect("a time");
    assert!(longest < 8.0, "{longest} ms at once");
}

#[test]
fn what_the_editor_itself_knows_is_told() {
    let mut chat = chat(&[("a.txt", "one\ntwo\nthree\n")]);
    let code = "vim.cmd('topleft split a.txt')
        vim.api.nvim_buf_set_lines(0, 1, 2, false, { 'zwei' })
        vim.cmd('normal! 2GV')
        vim.fn.setqflist({ { filename = 'a.txt', lnum = 3, col = 2, text = 'look' } })
        vim.cmd('echomsg \"a word\"')";
    chat.nvim.exec_lua(code, []);
    let mut client = Client::of(&mut chat);
    assert_eq!(
        client.gives("buffers", json!({})),
        "1 open file\na.txt: 3 lines, text, unsaved changes, the user is here"
    );
    let selection = client.gives("selection", json!({}));
    assert!(selection.contains("Cursor: a.txt:2:1: zwei"), "{selection}");
    assert!(selection.ends_with("Selected: lines 2 to 2\nzwei"), "{selection}");
    assert_eq!(client.gives("quickfix", json!({})), "1 entry\na.txt:3:2: look");
    assert!(client.gives("jumps", json!({ "list": "changes" })).contains("a.txt:2:"));
    assert!(client.gives("messages", json!({})).contains("a word"));
    assert!(client.fails("git_hunks", json!({ "file": "a.txt" })).contains("gitsigns"));
}

#[test]
fn the_marks_that_the_user_has_set_are_told() {
    let mut chat = chat(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "four\nfive\n")]);
    let mut client = Client::of(&mut chat);
    assert_eq!(client.gives("marks", json!({})), "no marks");
    let code = "vim.cmd('topleft split a.txt | 2 | normal! lmx')
        vim.cmd('edit b.txt | 2 | mark B')
        vim.cmd('edit /etc/passwd | mark P | mark p')
        vim.cmd('edit a.txt | 1')";
    chat.nvim.exec_lua(code, []);
    assert_eq!(client.gives("marks", json!({})), "2 marks\na.txt:2:2: x: two\nb.txt:2:1: B: five");
    assert_eq!(client.gives("marks", json!({ "offset": 1 })), "2 marks, 2 to 2\nb.txt:2:1: B: five");
}

#[test]
fn what_an_agent_may_not_or_cannot_ask_is_an_error_that_it_can_read() {
    let mut chat = chat(&[("a.lua", CODE)]);
    serve(&mut chat.nvim);
    let mut client = Client::of(&mut chat);
    let outside = client.fails("outline", json!({ "file": "/etc/passwd" }));
    assert_eq!(outside, "/etc/passwd is outside of the session's folders");
    std::os::unix::fs::symlink("/etc/passwd", chat.project.file("link")).expect("a link");
    assert!(client.fails("outline", json!({ "file": "link" })).contains("outside"));
    assert!(client.fails("outline", json!({ "file": "../../etc/passwd" })).contains("outside"));
    assert_eq!(client.fails("hover", json!({ "file": "a.lua" })), "line: missing");
    let wrong = json!({ "file": "a.lua", "line": 5, "symbol": "logout" });
    assert!(client.fails("hover", wrong).starts_with("line 5 has no \"logout\""));
    assert_eq!(client.fails("hover", json!({ "file": "a.lua", "line": 99 })), "a.lua has 7 lines");
    assert_eq!(client.fails("outline", json!({ "file": "none.lua" })), "none.lua: there is no such file");
    let answer = client.ask("tools/call", json!({ "name": "execute" }));
    assert_eq!(answer["error"]["code"], -32602);
}

#[test]
fn who_does_not_know_the_token_is_refused() {
    let mut chat = chat(&[]);
    let told = Told::of(&mut chat);
    let token = |env: &mut Vec<(String, String)>, value: Option<&str>| {
        env.retain(|(name, _)| name != "ACP_NVIM_TOOLS_TOKEN");
        env.extend(value.map(|value| ("ACP_NVIM_TOOLS_TOKEN".to_owned(), value.to_owned())));
    };
    for value in [Some("guessed"), Some(""), None] {
        let mut wrong =
            Told { command: told.command.clone(), args: told.args.clone(), env: told.env.clone() };
        token(&mut wrong.env, value);
        let mut client = wrong.start();
        client.begin("initialize", json!({}));
        client.ended();
        assert!(client.lines.recv().is_err(), "an answer to {value:?}");
    }
    // The socket is the user's alone, and the secret is on no command line.
    let secret = &told.env.iter().find(|(name, _)| name == "ACP_NVIM_TOOLS_TOKEN").expect("a token").1;
    assert!(secret.len() >= 32 && !told.args.iter().any(|arg| arg.contains(secret)));
    let socket = &told.env.iter().find(|(name, _)| name == "ACP_NVIM_TOOLS").expect("a socket").1;
    let mode = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).expect("a file").permissions().mode() & 0o777
    };
    let socket = std::path::Path::new(socket);
    assert_eq!((mode(socket), mode(socket.parent().expect("a folder")) & 0o077), (0o600, 0));
    assert_eq!(Client::of(&mut chat).names().len(), ALL);
}

#[test]
fn a_bridge_ends_with_the_agent_and_with_the_session() {
    let mut chat = chat(&[]);
    let mut client = Client::of(&mut chat);
    client.input = None;
    client.ended();
    let told = Told::of(&mut chat);
    let mut client = Client::of(&mut chat);
    chat.nvim.command("Acp close");
    client.ended();
    // It is not let in again.
    told.start().ended();
}

#[test]
fn nothing_is_left_of_the_tools_when_neovim_ends() {
    let mut chat = chat(&[]);
    let told = Told::of(&mut chat);
    let mut client = Client::of(&mut chat);
    let socket = told.env.iter().find(|(name, _)| name == "ACP_NVIM_TOOLS").expect("a socket").1.clone();
    chat.nvim.type_ahead(":qa!<CR>");
    client.ended();
    wait_for(|| !std::path::Path::new(&socket).exists(), "the socket to go");
    assert!(told.start().ended().contains("gone"));
}

#[test]
fn a_bridge_does_not_outlive_a_neovim_that_is_killed() {
    let mut chat = chat(&[]);
    let mut client = Client::of(&mut chat);
    chat.nvim.kill9();
    client.ended();
}

#[test]
fn an_agent_that_reads_no_answer_holds_up_nobody() {
    use std::io::Write as _;
    let mut chat = chat(&[("a.txt", "one\n")]);
    let told = Told::of(&mut chat);
    let of = |name: &str| told.env.iter().find(|(other, _)| other == name).expect("it").1.clone();
    let mut deaf = std::os::unix::net::UnixStream::connect(of("ACP_NVIM_TOOLS")).expect("the socket");
    deaf.set_nonblocking(true).expect("a socket");
    let token = json!({ "token": of("ACP_NVIM_TOOLS_TOKEN") });
    let initialize = json!({ "jsonrpc": "2.0", "id": "first", "method": "initialize", "params": begins() });
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let mut text = format!("{token}\n{initialize}\n{initialized}\n").into_bytes();
    for id in 0..20_000 {
        let (method, params) = match id % 2 {
            0 => ("tools/list", json!({})),
            _ => ("tools/call", json!({ "name": "buffers", "arguments": {} })),
        };
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        text.extend(format!("{request}\n").into_bytes());
    }
    let mut client = Client::of(&mut chat);
    // More is taken as long as the bridge reads, which ends when nothing is taken from it.
    let (mut written, mut refused) = (0, 0);
    while written < text.len() && refused < 3 {
        match deaf.write(&text[written..]) {
            Ok(count) => (written, refused) = (written + count, 0),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
                refused += 1;
            }
        }
        // The others are served as if it were not there, and so is the user.
        assert_eq!(chat.nvim.exec_lua("return 1 + 1", []), 2.into());
        assert_eq!(client.names().len(), ALL);
    }
    assert!(written < text.len(), "all of it was taken");
    assert!(client.gives("buffers", json!({})).contains("open file"));
}

#[test]
fn what_a_user_adds_is_checked_run_and_cancelled() {
    let mut chat = chat(&[]);
    let code = "local acp = require('acp')
        acp.tool({ name = 'add', description = 'adds', reads_only = true,
          schema = { type = 'object', properties = { a = { type = 'integer' } }, required = { 'a' } },
          run = function(args, ctx) return { sum = args.a + 1, session = ctx.session } end })
        acp.tool({ name = 'later', description = 'later', run = function(_, ctx)
          vim.defer_fn(function() ctx.done('now') ctx.done('twice') end, 1)
        end })
        acp.tool({ name = 'fail', description = 'fails', run = function() error('no such table') end })
        acp.tool({ name = 'never', description = 'never', run = function(_, ctx)
          _G.begun = true
          ctx.on_end(function() _G.stopped = true end)
        end })
        acp.tool({ name = 'slow', description = 'slow', timeout = 0.05, run = function() end })";
    chat.nvim.exec_lua(code, []);
    let mut client = Client::of(&mut chat);
    assert_eq!(client.names().len(), ALL + 5);
    let sum: Value = serde_json::from_str(&client.gives("add", json!({ "a": 2 }))).expect("JSON");
    assert_eq!(sum["sum"], 3);
    assert_eq!(client.fails("add", json!({ "a": "2" })), "a: expected integer, got string");
    assert_eq!(client.gives("later", json!({})), "now");
    assert_eq!(client.fails("fail", json!({})), "no such table");
    assert_eq!(client.fails("slow", json!({})), "it took longer than 0.05 s");

    let stopped = |nvim: &mut Nvim| {
        nvim.wait_until(
            |nvim| nvim.exec_lua("return _G.begun == true", []) == true.into(),
            "the call to begin",
        );
        nvim.exec_lua("_G.begun = false", []);
    };
    let over = |nvim: &mut Nvim| {
        nvim.wait_until(
            |nvim| nvim.exec_lua("return _G.stopped == true", []) == true.into(),
            "the call to stop",
        );
        nvim.exec_lua("_G.stopped = false", []);
    };
    let id = client.begin("tools/call", json!({ "name": "never" }));
    stopped(&mut chat.nvim);
    client.tell("notifications/cancelled", json!({ "requestId": id }));
    over(&mut chat.nvim);
    // Killed in the midst of a call.
    client.begin("tools/call", json!({ "name": "never" }));
    stopped(&mut chat.nvim);
    client.bridge.kill().expect("the bridge to be killed");
    over(&mut chat.nvim);

    let mut client = Client::of(&mut chat);
    // Only who has read the list is told that it is another one.
    assert_eq!(client.names().len(), ALL + 5);
    chat.nvim.exec_lua("require('acp').tool({ name = 'add' })", []);
    loop {
        if client.next()["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    assert_eq!(client.names().len(), ALL + 4);
    let wrong = chat.nvim.try_lua(
        "require('acp').tool({ name = 'x', description = 'x', schema = { type = 'object', oneOf = {} }, run = print })",
        [],
    );
    let wrong = wrong.expect_err("an error");
    assert!(wrong.contains("schema.oneOf is not checked here"), "{wrong}");
}

#[test]
fn an_agent_is_given_no_tools_that_the_user_does_not_want_it_to_have() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.configure("agents = { fake = { tools = false } }");
    chat.chat();
    assert_eq!(chat.got("session/new")["params"]["mcpServers"], json!([]));
    let mut chat = Scripted::new(&[], steps([]));
    chat.configure("tools_denied = { 'hover' }");
    chat.chat();
    let names = Client::of(&mut chat).names();
    assert!(names.len() == ALL - 1 && !names.contains(&"hover".to_owned()));
}

#[test]
fn single_tools_are_denied_to_all_to_an_agent_and_in_a_project() {
    let mut chat = Scripted::new(&[("a.txt", "one\n")], steps([]));
    chat.configure(
        "tools_denied = { 'hover' }, agents = { fake = { tools_denied = { 'rename' } }, other = { command = 'x', tools_denied = { 'format' } } },
         projects = { [vim.fn.getcwd()] = { tools_denied = { 'edit_buffer' } }, ['/elsewhere'] = { tools_denied = { 'node' } } }",
    );
    chat.chat();
    let mut client = Client::of(&mut chat);
    let names = client.names();
    let is_given = |name: &str| names.iter().any(|given| given == name);
    assert_eq!(names.len(), ALL - 3);
    assert!(!is_given("hover") && !is_given("rename") && !is_given("edit_buffer"));
    assert!(is_given("format") && is_given("node"));
    let edit = json!({ "name": "edit_buffer", "arguments": { "file": "a.txt", "old": "one", "new": "two" } });
    let refused = client.ask("tools/call", edit);
    assert_eq!(refused["error"]["message"], "there is no tool \"edit_buffer\"");
    assert_eq!(chat.project.read("a.txt"), "one\n");
}

/// A chat in a project of two Lua files, one of them in a window with unsaved text.
fn changing() -> (Scripted, Client) {
    let mut chat = Scripted::new(&[("a.lua", CODE), ("b.lua", "login()\n")], steps([]));
    chat.configure("follow = false, files = { outside = 'refuse' }");
    chat.chat();
    chat.nvim.input("<Esc>");
    serve(&mut chat.nvim);
    chat.nvim.exec_lua(
        "vim.cmd('topleft split a.lua') vim.api.nvim_buf_set_lines(0, 0, 0, false, { '-- mine' })",
        [],
    );
    let client = Client::of(&mut chat);
    (chat, client)
}

fn text(nvim: &mut Nvim, file: &str) -> String {
    let code = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr(...), 0, -1, false), '\\n')";
    nvim.exec_lua(code, [file.into()]).as_str().expect("a text").to_owned()
}

#[test]
fn a_symbol_is_renamed_in_all_files_with_unsaved_text_and_one_undo() {
    let (mut chat, mut client) = changing();
    let place = json!({ "file": "a.lua", "line": 6, "symbol": "login", "new_name": "sign_in" });
    let answer = client.gives("rename", place);
    assert_eq!(answer, "2 changed files for `login`\na.lua: 3 edits\nb.lua: 1 edit");
    let renamed = format!("-- mine\n{}", CODE.trim_end().replace("login", "sign_in"));
    assert_eq!(text(&mut chat.nvim, "a.lua"), renamed);
    assert_eq!(chat.project.read("b.lua"), "sign_in()\n");
    chat.nvim.command("silent undo");
    assert_eq!(text(&mut chat.nvim, "a.lua"), format!("-- mine\n{}", CODE.trim_end()));
}

#[test]
fn what_a_server_offers_is_listed_and_one_is_applied() {
    let (mut chat, mut client) = changing();
    let place = |apply: Option<&str>| match apply {
        Some(apply) => json!({ "file": "a.lua", "line": 7, "apply": apply }),
        None => json!({ "file": "a.lua", "line": 7 }),
    };
    let listed = client.gives("code_action", place(None));
    let first = "7 actions for a.lua\n1: quickfix: Make it right\n2: quickfix: Run it\n3: Run it later\n";
    assert!(listed.starts_with(first), "{listed}");
    assert!(client.fails("code_action", place(Some("8"))).contains("no \"8\" among the 7"));
    assert_eq!(client.gives("code_action", place(Some("1"))), "1 changed file\na.lua: 1 edit");
    assert!(text(&mut chat.nvim, "a.lua").contains("print(login(), right)"));
    client.gives("organize_imports", json!({ "file": "a.lua" }));
    assert!(text(&mut chat.nvim, "a.lua").ends_with("quick()"));
    client.gives("format", json!({ "file": "a.lua" }));
    assert!(text(&mut chat.nvim, "a.lua").contains("  return   1"));
}

#[test]
fn a_text_is_replaced_where_it_is_once_and_files_elsewhere_are_the_users_to_allow() {
    let (mut chat, mut client) = changing();
    let edit = |file: &str, old: &str| json!({ "file": file, "old": old, "new": "yours" });
    assert_eq!(
        client.gives("edit_buffer", edit("a.lua", "-- mine")),
        "1 changed file for a.lua\na.lua: 1 edit"
    );
    assert!(text(&mut chat.nvim, "a.lua").starts_with("yours\n"));
    assert!(client.fails("edit_buffer", edit("a.lua", "login")).contains("is there 3 times"));
    assert!(client.fails("edit_buffer", edit("a.lua", "none")).contains("not in the file"));
    let outside = client.fails("edit_buffer", edit("/etc/hostname", "a"));
    assert!(outside.contains("couldn't read /etc/hostname"), "{outside}");
}

#[test]
fn a_user_is_given_places_to_go_through() {
    let (mut chat, mut client) = changing();
    let places = json!(["a.lua:2:1: look", "b.lua:1: here"]);
    let answer = client.gives("set_quickfix", json!({ "title": "To do", "places": places }));
    assert_eq!(answer, "2 entries\na.lua:2:1: look\nb.lua:1: here");
    let title = chat.nvim.exec_lua("return vim.fn.getqflist({ title = 1 }).title", []);
    assert_eq!(title.as_str(), Some("To do"));
    let elsewhere = json!({ "title": "x", "places": ["/etc/passwd:1: look"] });
    assert!(client.fails("set_quickfix", elsewhere).contains("outside"));
}
