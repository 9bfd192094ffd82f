//! A quick way for calls, of which agents tell by the thousand: a line is read once, into what the reading of all messages
//! makes of it. It takes what has exactly the protocol's form; everything else, however close, is left to that reading,
//! which says the same about what is taken here.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::subagents::started_by_meta;
use super::told::{Told, What};
use super::updates::{kind, named_in_meta, place, status, took};
use crate::core::ids::TerminalId;
use crate::core::message::{Content, FileDiff, Location, ToolCallPatch, ToolContent};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "jsonrpc")]
    _version: Option<IgnoredAny>,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    #[serde(rename = "sessionId")]
    session: String,
    #[serde(borrow)]
    update: Call<'a>,
    _meta: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Call<'a> {
    session_update: &'a str,
    tool_call_id: String,
    title: Option<String>,
    name: Option<String>,
    kind: Option<&'a str>,
    status: Option<&'a str>,
    #[serde(borrow)]
    content: Option<Vec<Item<'a>>>,
    locations: Option<Vec<Place>>,
    raw_input: Option<Value>,
    raw_output: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
}

/// What a call shows: which fields there are depends on the type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Item<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    content: Option<Block<'a>>,
    path: Option<String>,
    old_text: Option<String>,
    new_text: Option<String>,
    terminal_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    path: String,
    line: Option<Number>,
}

impl Told {
    /// What a line says that is about a call.
    pub fn read(line: &str) -> Option<Self> {
        // Cheaper than to find out by reading.
        if !line.contains("\"tool_call") {
            return None;
        }
        let Line { method: "session/update", params, .. } = serde_json::from_str(line).ok()? else {
            return None;
        };
        let Params { session, update: call, _meta } = params;
        let is_first = match call.session_update {
            "tool_call" => true,
            "tool_call_update" => false,
            _ => return None,
        };
        let meta = call.meta.unwrap_or_default();
        // What a subagent does is told of as the session's own.
        if started_by_meta(&meta).is_some() {
            return None;
        }
        let content = match call.content {
            Some(items) => Some(items.into_iter().map(shown).collect::<Option<Vec<_>>>()?),
            None => None,
        };
        let patch = ToolCallPatch {
            title: call.title,
            name: call.name.or_else(|| named_in_meta(&meta)),
            kind: call.kind.map(kind),
            status: call.status.map(status),
            content,
            locations: call.locations.map(|places| places.into_iter().map(location).collect()),
            raw_input: call.raw_input,
            raw_output: call.raw_output,
            took: took(&meta),
            ..ToolCallPatch::new(call.tool_call_id)
        };
        Some(Self { session, what: What::Call { is_first, patch: Box::new(patch), meta } })
    }
}

fn shown(item: Item<'_>) -> Option<ToolContent> {
    let Item { kind, content, path, old_text, new_text, terminal_id } = item;
    match (kind, content, (path, old_text, new_text), terminal_id) {
        ("content", Some(Block { kind: "text", text }), (None, None, None), None) => {
            Some(ToolContent::Content(Content::Text(text.into())))
        }
        ("diff", None, (Some(path), old_text, Some(new_text)), None) => {
            let old_text = old_text.map(Into::into);
            Some(ToolContent::Diff(FileDiff { path: path.into(), old_text, new_text: new_text.into() }))
        }
        ("terminal", None, (None, None, None), Some(terminal)) => {
            Some(ToolContent::Terminal(TerminalId(terminal)))
        }
        _ => None,
    }
}

fn location(Place { path, line }: Place) -> Location {
    place(path, line.and_then(|line| line.as_u64()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::acp::wire::from_acp::{Fact, paths_named, said_at, session_of, started_by, update};
    use crate::acp::wire::made_up_tests::{number, object, word};
    use crate::acp::wire::rpc::{self, Message};

    /// All that a line comes to: what is told by which session, and the paths in it.
    type Outcome = (String, Vec<Fact>, Vec<String>);

    fn of_params(params: &Value) -> Option<Outcome> {
        let mut paths: Vec<String> = paths_named(params).map(str::to_owned).collect();
        paths.sort();
        Some((session_of(params)?, update(&params["update"]), paths))
    }

    fn carefully(line: &str) -> Option<Outcome> {
        match rpc::read(line) {
            Ok(Message::Notification { method, params }) if method == "session/update" => {
                assert_eq!(started_by(&params["update"]), None, "{line}");
                assert_eq!(said_at(&params), None, "{line}");
                of_params(&params)
            }
            _ => None,
        }
    }

    fn quickly(line: &str) -> Option<Outcome> {
        let told = Told::read(line)?;
        let mut paths: Vec<String> =
            told.paths().iter().map(|path| path.to_str().expect("text").to_owned()).collect();
        paths.sort();
        let as_message = of_params(&told.params());
        let outcome = (told.session.clone(), told.facts(), paths);
        assert_eq!(as_message.as_ref(), Some(&outcome), "{line}");
        Some(outcome)
    }

    fn line(update: &Value) -> String {
        let params = json!({ "sessionId": "s", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    }

    fn call() -> Value {
        json!({
            "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit", "kind": "edit", "status": "pending",
            "locations": [{ "path": "/p/a", "line": 0 }, { "path": "b" }],
            "content": [
                { "type": "content", "content": { "type": "text", "text": "words" } },
                { "type": "diff", "path": "/p/a", "oldText": null, "newText": "n" },
                { "type": "terminal", "terminalId": "t" },
            ],
            "rawInput": { "path": "/p/a" }, "rawOutput": null,
        })
    }

    #[test]
    fn a_call_is_read_as_all_messages_are() {
        let over = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed" });
        let cleared = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "c", "content": [] });
        let mut of_claude = call();
        of_claude["_meta"] = json!({ "claudeCode": { "toolName": "Edit" }, "acp.nvim/durationMs": 5 });
        let mut ran = over.clone();
        ran["_meta"] = json!({ "terminal_output": { "terminal_id": "t", "data": "x" }, "terminal_exit": { "exit_code": 1 } });
        for update in [call(), over, cleared, of_claude, ran] {
            let line = line(&update);
            let read = quickly(&line);
            assert!(read.is_some(), "{line}");
            assert_eq!(read, carefully(&line), "{line}");
        }
    }

    #[test]
    fn what_is_not_of_the_protocols_form_goes_the_other_way() {
        let plain = line(&call());
        for (from, to) in [
            ("\"method\"", "\"id\":1,\"method\""),
            ("\"method\"", "\"id\":null,\"method\""),
            ("\"method\"", "\"result\":{},\"method\""),
            ("session/update", "session/other"),
            ("\"tool_call\"", "\"tool_call_end\""),
            ("\"tool_call\"", "\"plan\""),
            ("\"s\"", "7"),
            ("\"c\"", "7"),
            ("\"c\"", "null"),
            ("\"pending\"", "3"),
            ("\"Edit\"", "[]"),
            ("\"status\"", "\"own\":1,\"status\""),
            ("\"status\"", "\"status\":\"failed\",\"status\""),
            ("\"status\"", "\"_meta\":{\"claudeCode\":{\"parentToolUseId\":\"d\"}},\"status\""),
            ("\"sessionId\"", "\"own\":1,\"sessionId\""),
            ("\"line\":0", "\"line\":\"0\""),
            ("\"path\":\"b\"", "\"column\":1"),
            ("\"text\",", "\"image\","),
            ("\"words\"", "\"words\",\"annotations\":{}"),
            ("\"newText\":\"n\"", "\"deleted\":true"),
            ("\"newText\":\"n\"", "\"newText\":\"n\",\"terminalId\":\"t\""),
            ("\"terminalId\"", "\"sessionId\""),
            ("/p/a", "\\ud83d"),
        ] {
            let odd = plain.replacen(from, to, 1);
            assert_ne!(odd, plain, "{from}");
            assert_eq!(Told::read(&odd), None, "{odd}");
        }
    }

    /// Each update of a call in a recorded message.
    fn updates(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) if fields.contains_key("toolCallId") => found.push(line(value)),
            Value::Object(fields) => fields.values().for_each(|value| updates(value, found)),
            Value::Array(items) => items.iter().for_each(|value| updates(value, found)),
            _ => {}
        }
    }

    #[test]
    fn what_agents_have_said_of_calls_is_read_the_same_by_both_ways() {
        let mut lines = Vec::new();
        for file in std::fs::read_dir("tests/data").expect("recordings") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(path).expect("text");
                let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                messages.for_each(|message| updates(&message, &mut lines));
            }
        }
        let read: Vec<_> = lines.iter().filter_map(|line| Some((line, quickly(line)?))).collect();
        assert!(read.len() > 100 && read.len() > lines.len() / 2, "{} of {}", read.len(), lines.len());
        for (line, read) in read {
            assert_eq!(Some(read), carefully(line), "{line}");
        }
    }

    fn text() -> impl Strategy<Value = Value> {
        prop_oneof![".{0,12}", Just("/p/a b".to_owned())].prop_map(Value::from)
    }

    fn any_call() -> BoxedStrategy<Value> {
        let block = object(vec![("type", word(&["text", "image"])), ("text", text().boxed())]);
        let item = object(vec![
            ("type", word(&["content", "diff", "terminal", "session"])),
            ("content", block),
            ("path", text().boxed()),
            ("oldText", text().boxed()),
            ("newText", text().boxed()),
            ("terminalId", text().boxed()),
        ]);
        let of_type = prop_oneof![
            text().prop_map(|text| json!({ "type": "content", "content": { "type": "text", "text": text } })),
            (text(), text(), prop::option::of(text())).prop_map(
                |(path, new, old)| json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
            ),
            text().prop_map(|id| json!({ "type": "terminal", "terminalId": id })),
        ];
        let items = prop::collection::vec(prop_oneof![1 => item, 3 => of_type], 0..3).prop_map(Value::from);
        let place = object(vec![("path", text().boxed()), ("line", number().boxed())]);
        let places = prop::collection::vec(place, 0..3).prop_map(Value::from);
        let output = object(vec![
            ("exit_code", number().boxed()),
            ("data", text().boxed()),
            ("terminal_id", text().boxed()),
        ]);
        let meta = object(vec![
            ("claudeCode", object(vec![("toolName", text().boxed())])),
            ("acp.nvim/durationMs", number().boxed()),
            ("terminal_info", object(vec![("cwd", text().boxed())])),
            ("terminal_output", output.clone()),
            ("terminal_exit", output.clone()),
        ]);
        object(vec![
            ("sessionUpdate", word(&["tool_call", "tool_call_update"])),
            ("toolCallId", text().boxed()),
            ("title", text().boxed()),
            ("name", text().boxed()),
            ("kind", word(&["read", "edit", "switch_mode", "dance"])),
            ("status", word(&["pending", "in_progress", "completed", "failed", "denied"])),
            ("content", items.boxed()),
            ("locations", places.boxed()),
            ("rawInput", prop_oneof![output.clone(), text()].boxed()),
            ("rawOutput", prop_oneof![output, text()].boxed()),
            ("_meta", meta),
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn both_ways_say_the_same_of_any_call(update in any_call()) {
            let line = line(&update);
            if let Some(read) = quickly(&line) {
                prop_assert_eq!(Some(read), carefully(&line), "{}", line);
            }
        }
    }
}
