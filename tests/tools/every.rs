//! Every tool, called as an agent would that knows no more of it than its schema says. Whether the tool succeeds is
//! left to the other tests: here each call has to lead to a result, and none to an error of the protocol.

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::support::script::{Scripted, steps};

/// Every picker is answered by its first choice.
pub const PICKS_THE_FIRST: &str = "vim.ui.select = function(items, _, choose)
      vim.schedule(function() choose(items[1], 1) end)
    end";

/// The arguments without which the schema allows no call.
pub fn arguments(schema: &Value) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let names = required.iter().map(|name| name.as_str().expect("a name"));
    let value = |name: &str| match (name, schema["properties"][name]["type"].as_str()) {
        ("file", _) => json!("a.lua"),
        ("command", _) => json!("true"),
        ("places", _) => json!(["a.lua:1: here"]),
        (_, Some("integer")) => json!(1),
        (_, Some("array")) => json!(["login"]),
        (_, Some("string")) => json!("login"),
        (_, kind) => panic!("{name} is of type {kind:?}"),
    };
    names.map(|name| (name.to_owned(), value(name))).collect::<Map<_, _>>().into()
}

#[test]
fn every_tool_that_is_listed_leads_to_a_result() {
    let mut chat = Scripted::new(&[("a.lua", crate::CODE)], steps([]));
    chat.chat();
    crate::serve(&mut chat.nvim);
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    let mut client = Client::of(&mut chat);
    let listed = client.ask("tools/list", json!({}))["result"]["tools"].clone();
    let tools = listed.as_array().expect("tools");
    assert_eq!(tools.len(), crate::ALL);
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let args = arguments(&tool["inputSchema"]);
        let answer = client.ask("tools/call", json!({ "name": name, "arguments": args }));
        assert_eq!(answer.get("error"), None, "{name}: {answer}");
        assert_eq!(answer["result"]["content"][0]["type"], "text", "{name}: {answer}");
        assert!(answer["result"]["isError"].is_boolean(), "{name}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        // What the schema asked for was enough.
        assert!(!text.ends_with(": missing"), "{name}: {text}");
    }
}
