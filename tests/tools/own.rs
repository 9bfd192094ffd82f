//! A user's own tools under load: called by several sessions at once, with answers that are too large or no text, and what
//! an agent reads when they fail.

use serde_json::json;

use crate::client::Client;
use crate::support::script::{Scripted, steps};

#[test]
fn each_session_has_the_answer_of_its_own_call() {
    let second = [
        json!({ "expect": "session/new" }),
        json!({ "reply": "session/new", "result": { "sessionId": "s2" } }),
    ];
    let mut chat = Scripted::new(&[], steps(second));
    chat.chat();
    let code = "_G.waiting = {}
        require('acp').tool({ name = 'wait', description = 'waits', run = function(args, ctx)
          _G.waiting[args.name] = ctx
        end, schema = { type = 'object', properties = { name = { type = 'string' } } } })";
    chat.nvim.exec_lua(code, []);
    let mut first = Client::of(&mut chat);
    chat.nvim.command("AcpChat!");
    let is_open = "local session = require('acp').status().sessions[2]
        return session ~= nil and require('acp').status().sessions[1].state == 'idle'";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(is_open, []) == true.into(), "two sessions");
    let mut second = Client::of(&mut chat);

    let names = ["one", "two", "three"];
    let mut begin = |name: &str| {
        let client = if name == "two" { &mut second } else { &mut first };
        client.begin_call("wait", json!({ "name": name }))
    };
    let calls = names.map(&mut begin);
    let all = "return vim.tbl_count(_G.waiting)";
    chat.nvim.wait_until(|nvim| nvim.exec_lua(all, []) == 3.into(), "three calls");
    let sessions = "return _G.waiting.one.session == _G.waiting.three.session
        and _G.waiting.one.session ~= _G.waiting.two.session";
    assert_eq!(chat.nvim.exec_lua(sessions, []), true.into());
    // The last one first.
    chat.nvim
        .exec_lua("for _, name in ipairs({ 'three', 'two', 'one' }) do _G.waiting[name].done(name) end", []);
    assert_eq!(second.answer(calls[1]), ("two".to_owned(), false));
    assert_eq!(first.answer(calls[2]), ("three".to_owned(), false));
    assert_eq!(first.next()["id"], calls[0]);
}

#[test]
fn what_is_wrong_with_an_answer_is_told_in_words_for_the_agent() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    let code = "local function add(name, run)
          require('acp').tool({ name = name, description = name, run = run })
        end
        add('large', function() return ('x'):rep(1048577) end)
        add('fits', function() return ('x'):rep(1048576) end)
        add('function', function() return { print } end)
        add('bytes', function() return 'a\\255b' end)
        add('none', function(_, ctx) ctx.done(nil, 'the database is locked') end)
        add('table', function() error({ code = 7 }) end)
        add('deep', function() local x = nil; return x.y end)";
    chat.nvim.exec_lua(code, []);
    let mut client = Client::of(&mut chat);
    let too_long = "the answer is too long: 1048577 bytes, of 1048576 at most; ask for less";
    assert_eq!(client.fails("large", json!({})), too_long);
    assert_eq!(client.gives("fits", json!({})).len(), 1 << 20);
    let no_json = client.fails("function", json!({}));
    assert!(no_json.contains("function"), "{no_json}");
    assert_eq!(client.gives("bytes", json!({})), "a\u{fffd}b");
    assert_eq!(client.fails("none", json!({})), "the database is locked");
    assert!(!client.fails("table", json!({})).is_empty());
    let deep = client.fails("deep", json!({}));
    assert!(deep.starts_with("attempt to index"), "{deep}");
}

#[test]
fn the_last_answer_of_a_bridge_that_is_killed_harms_nobody() {
    let mut chat = Scripted::new(&[], steps([]));
    chat.chat();
    let code = "require('acp').tool({ name = 'wait', description = 'waits', run = function(_, ctx)
        _G.waiting = ctx
      end })";
    chat.nvim.exec_lua(code, []);
    let mut client = Client::of(&mut chat);
    client.begin_call("wait", json!({}));
    chat.nvim.wait_until(|nvim| nvim.exec_lua("return _G.waiting ~= nil", []) == true.into(), "the call");
    client.bridge.kill().expect("the bridge to be killed");
    // Whether it is known already that nobody waits, or not.
    chat.nvim.exec_lua("_G.waiting.done('late')", []);
    let mut client = Client::of(&mut chat);
    assert_eq!(client.gives("buffers", json!({})), "no open files");
    assert_eq!(chat.nvim.messages(), "");
}
