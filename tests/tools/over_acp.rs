//! The tools by messages of ACP, for agents that take servers of the client's by them.

use serde_json::{Value, json};

use crate::support::script::{Scripted, ends, initialized, opened, prompt};

/// An agent that takes such servers, and plays these steps in its first turn.
fn playing(turn: impl IntoIterator<Item = Value>) -> Scripted {
    let mut script = initialized(json!({ "mcpCapabilities": { "acp": true } }), json!([]));
    script.extend(opened().split_off(2));
    script.push(prompt());
    script.extend(turn);
    script.push(ends("end_turn"));
    let mut chat = Scripted::new(&[("a.lua", crate::CODE)], script);
    chat.configure("tools_transport = 'acp'");
    chat
}

fn message(id: &str, server: &str, method: &str, params: Value) -> Value {
    let message =
        json!({ "serverId": server, "requestId": format!("mcp-{id}"), "method": method, "params": params });
    json!({ "send": { "id": id, "method": "mcp/message", "params": message } })
}

fn awaits(id: &str, server: &str, method: &str, params: Value) -> [Value; 2] {
    [message(id, server, method, params), json!({ "expect_reply": id, "to": id })]
}

const SERVER: &str = "neovim-1";

#[test]
fn an_agent_lists_and_calls_the_tools_by_messages_of_acp() {
    let initialize = crate::client::begins();
    let call = |name: &str, args: Value| json!({ "name": name, "arguments": args });
    let turn = [
        awaits("begin", SERVER, "initialize", initialize),
        awaits("list", SERVER, "tools/list", json!({})),
        awaits("call", SERVER, "tools/call", call("outline", json!({ "file": "a.lua" }))),
        awaits("outside", SERVER, "tools/call", call("outline", json!({ "file": "/etc/passwd" }))),
        awaits("unknown", SERVER, "tools/call", call("execute", json!({}))),
        awaits("method", SERVER, "tools/none", json!({})),
        awaits("elsewhere", "neovim-2", "tools/list", json!({})),
    ];
    let mut chat = playing(turn.into_iter().flatten());
    chat.chat();
    let servers = chat.got("session/new")["params"]["mcpServers"].clone();
    assert_eq!(servers, json!([{ "type": "acp", "name": "neovim", "serverId": SERVER }]));
    chat.send("Look.");
    let elsewhere = chat.answer("elsewhere");
    assert_eq!(elsewhere["error"]["message"], "there is no MCP server \"neovim-2\" here");
    assert_eq!(chat.answer("begin")["result"]["result"]["serverInfo"]["name"], "neovim");
    let listed = chat.answer("list")["result"]["result"]["tools"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(crate::ALL));
    let text = |answer: &Value| answer["result"]["result"]["content"][0]["text"].clone();
    assert_eq!(text(&chat.answer("call")), "1 definition for a.lua\n1-3: function declaration: login");
    assert_eq!(chat.answer("outside")["result"]["result"]["isError"], true);
    // Errors of the server are no errors of ACP.
    assert_eq!(chat.answer("unknown")["result"]["error"]["message"], "there is no tool \"execute\"");
    assert_eq!(chat.answer("method")["result"]["error"]["code"], -32601);
}

#[test]
fn a_call_is_stopped_when_the_agent_takes_its_message_back() {
    let call = json!({ "name": "never", "arguments": {}, "_meta": { "progressToken": "p" } });
    let cancel = json!({ "send": { "method": "$/cancel_request", "params": { "requestId": "call" } } });
    let mut chat = playing([
        message("call", SERVER, "tools/call", call),
        json!({ "expect": "mcp/message" }),
        cancel,
        json!({ "expect_reply": "call", "to": "call" }),
    ]);
    let code = "require('acp').tool({ name = 'never', description = 'never', run = function(_, ctx)
          ctx.on_end(function() _G.stopped = true end)
        end })";
    chat.nvim.exec_lua(code, []);
    chat.chat();
    chat.send("Wait.");
    let told = chat.got("mcp/message")["params"].clone();
    assert_eq!((told["serverId"].as_str(), told["requestId"].as_str()), (Some(SERVER), Some("mcp-call")));
    assert_eq!(
        (told["method"].as_str(), &told["params"]["progressToken"]),
        (Some("notifications/progress"), &json!("p"))
    );
    assert_eq!(chat.answer("call")["error"]["code"], -32800);
    chat.nvim
        .wait_until(|nvim| nvim.exec_lua("return _G.stopped == true", []) == true.into(), "the call to stop");
}

#[test]
fn an_agent_elsewhere_has_the_tools_by_messages_of_acp() {
    let mut chat = playing(awaits("list", SERVER, "tools/list", json!({})));
    let paths = "agents = { fake = { paths = { ['/there'] = vim.fn.getcwd() } } }";
    chat.configure(&format!("tools_transport = 'acp', {paths}"));
    chat.chat();
    assert_eq!(chat.got("session/new")["params"]["cwd"], "/there");
    chat.send("Look.");
    let listed = chat.answer("list")["result"]["result"]["tools"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(crate::ALL));
    // One that takes none has none.
    let mut chat = Scripted::new(&[], opened());
    chat.configure(&format!("tools_transport = 'acp', {paths}"));
    chat.chat();
    assert_eq!(chat.got("session/new")["params"]["mcpServers"], json!([]));
    chat.wait_for("so it can't reach the editor's from where it is");
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua("vim.api.nvim_set_current_win(vim.fn.bufwinid('acp://fake chat'))", []);
    chat.nvim.input("ggK");
    chat.nvim.wait_until(|nvim| nvim.screen().contains("already shows everything"), "no word of tools");
}

#[test]
fn an_agent_that_takes_none_by_acp_starts_the_bridge_all_the_same() {
    let mut chat = Scripted::new(&[], opened());
    chat.configure("tools_transport = 'acp'");
    chat.chat();
    assert_eq!(crate::client::Client::of(&mut chat).names().len(), crate::ALL);
}
