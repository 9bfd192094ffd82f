//! A quick way for what comes often or is long, calls and plans: a line is read once, into what the reader of the
//! official protocol makes of the converted one. It takes what has exactly the form that the document has;
//! everything else, however close, is left to the reading and conversion of all messages, which say the same about
//! what is taken here.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::state::Draft;
use super::updates::{DENIED, kind_of, printed, sides, status_of, title};
use crate::acp::wire::from_acp::{self, Told, What};
use crate::core::ids::TerminalId;
use crate::core::message::{Content, FileDiff, Location, PlanItem, Priority, ToolCallPatch, ToolContent};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(rename = "jsonrpc")]
    _version: Option<IgnoredAny>,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

struct Params<'a> {
    session: String,
    said: Said<'a>,
    timestamp: Option<IgnoredAny>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "it lives for a moment, and a box costs each call an allocation"
)]
enum Said<'a> {
    Call { is_first: bool, call: Call<'a> },
    Plan(Plan<'a>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Call<'a> {
    id: String,
    tool: Option<String>,
    input: Option<Value>,
    status: Option<&'a str>,
    output: Option<Output>,
    error: Option<String>,
    duration: Option<f64>,
    location: Option<Place>,
    requires_permission: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Place {
    path: String,
    line: Option<Number>,
    column: Option<IgnoredAny>,
    end_line: Option<IgnoredAny>,
    end_column: Option<IgnoredAny>,
}

enum Output {
    Text { text: String, whole: Value },
    Diff(Diff),
    Terminal(Value),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Diff {
    path: String,
    hunks: Vec<Hunk>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Hunk {
    old_start: Option<IgnoredAny>,
    old_lines: Option<IgnoredAny>,
    new_start: Option<Number>,
    new_lines: Option<IgnoredAny>,
    content: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Plan<'a> {
    plan_id: Option<String>,
    #[serde(borrow)]
    steps: Vec<Step<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step<'a> {
    id: Option<IgnoredAny>,
    description: String,
    status: Option<&'a str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Params<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfUpdates)
    }
}

struct OfUpdates;

impl<'de> Visitor<'de> for OfUpdates {
    type Value = Params<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an update")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Params<'de>, M::Error> {
        let (mut session, mut kind, mut said, mut timestamp) = (None, "", None, None);
        while let Some(name) = map.next_key::<&str>()? {
            match (name, kind) {
                ("sessionId", _) if session.is_none() => session = Some(map.next_value()?),
                ("type", "") => kind = map.next_value()?,
                ("data", "tool_call" | "tool_call_update") if said.is_none() => {
                    said = Some(Said::Call { is_first: kind == "tool_call", call: map.next_value()? });
                }
                ("data", "plan") if said.is_none() => said = Some(Said::Plan(map.next_value()?)),
                ("timestamp", _) => timestamp = map.next_value()?,
                _ => return Err(M::Error::custom("not of the form")),
            }
        }
        let (Some(session), Some(said)) = (session, said) else {
            return Err(M::Error::custom("not complete"));
        };
        Ok(Params { session, said, timestamp })
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfCalls)
    }
}

struct OfCalls;

impl<'de> Visitor<'de> for OfCalls {
    type Value = Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what a call has put out")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Output, M::Error> {
        let Some(("type", kind)) = map.next_entry::<&str, &str>()? else {
            return Err(M::Error::custom("of no type"));
        };
        if kind == "diff" {
            return Diff::deserialize(MapAccessDeserializer::new(map)).map(Output::Diff);
        }
        let mut fields = Map::new();
        fields.insert("type".to_owned(), kind.into());
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            fields.insert(name, value);
        }
        match (kind, fields.get("text")) {
            _ if fields["type"] != kind => Err(M::Error::custom("of two types")),
            ("text", Some(Value::String(text))) if fields.len() == 2 => {
                Ok(Output::Text { text: text.clone(), whole: fields.into() })
            }
            ("terminal", _) => Ok(Output::Terminal(fields.into())),
            _ => Err(M::Error::custom("of another type")),
        }
    }
}

impl Draft {
    /// What a line says that is about a call or a plan.
    pub fn quick(&mut self, line: &str) -> Option<Told> {
        let Line { method: "session/update", params, .. } = serde_json::from_str(line).ok()? else {
            return None;
        };
        let Params { session, said, timestamp } = params;
        let what = match said {
            // An update with these is of no form that the document has.
            Said::Call { is_first: false, call } if call.tool.is_some() || call.input.is_some() => {
                return None;
            }
            Said::Call { is_first, call } => {
                self.told_not(
                    if is_first { "tool_call" } else { "tool_call_update" },
                    [("requiresPermission", &call.requires_permission)],
                );
                What::Call { is_first, patch: Box::new(self.patch(is_first, call)), meta: Value::Null }
            }
            Said::Plan(plan) => self.items(plan),
        };
        self.told_not("session/update", [("timestamp", &timestamp)]);
        Some(Told { session, what })
    }

    fn patch(&mut self, is_first: bool, call: Call<'_>) -> ToolCallPatch {
        let mut patch = ToolCallPatch::new(call.id);
        let mut place = call.location.map(|place| self.place(place));
        if is_first {
            let tool = call.tool.unwrap_or_default();
            patch.title = Some(title(&tool, call.input.as_ref()));
            patch.kind = Some(from_acp::kind(kind_of(&tool)));
            patch.name = Some(tool);
            let path = call.input.as_ref().and_then(|input| input["path"].as_str());
            place = place.or_else(|| path.map(|path| Location { path: path.into(), line: None }));
            self.remember(&patch.id.0);
        }
        patch.status = call.status.map(|status| from_acp::status(status_of(status)));
        let mut content = Vec::new();
        match call.output {
            Some(Output::Text { text, whole }) => {
                content.push(shown(text));
                patch.raw_output = Some(whole);
            }
            Some(Output::Terminal(whole)) => {
                content.push(self.terminal(&whole));
                patch.raw_output = Some(whole);
            }
            Some(Output::Diff(diff)) => {
                let started = self.diff_shown(diff, &mut content);
                place = place.or(started);
            }
            None => {}
        }
        match call.error {
            Some(error) => content.push(shown(error)),
            None if call.status == Some("denied") && content.is_empty() => content.push(shown(DENIED.into())),
            None => {}
        }
        patch.content = Some(content).filter(|content| !content.is_empty());
        patch.locations = place.map(|place| vec![place]);
        patch.raw_input = call.input;
        patch.took = call.duration.and_then(from_acp::milliseconds);
        patch
    }

    /// Of a command that ran here, what it printed is known.
    fn terminal(&self, output: &Value) -> ToolContent {
        match output["terminalId"].as_str().filter(|id| self.terminals.contains(*id)) {
            Some(id) => ToolContent::Terminal(TerminalId(id.to_owned())),
            None => shown(printed(output)),
        }
    }

    /// Shows what a diff says; gives where it begins.
    fn diff_shown(&mut self, diff: Diff, content: &mut Vec<ToolContent>) -> Option<Location> {
        let Diff { path, hunks } = diff;
        for hunk in &hunks {
            let others =
                [("oldStart", &hunk.old_start), ("oldLines", &hunk.old_lines), ("newLines", &hunk.new_lines)];
            self.told_not("diff.hunks", others);
        }
        let start = hunks.first().and_then(|hunk| hunk.new_start.as_ref()?.as_u64());
        let started = start.map(|line| Location { path: path.as_str().into(), line: line_of(line) });
        let contents: Vec<&str> = hunks.iter().map(|hunk| hunk.content.as_str()).collect();
        match sides(&contents) {
            Some((mut old, mut new)) => {
                old.shrink_to_fit();
                new.shrink_to_fit();
                let diff = FileDiff { path: path.into(), old_text: Some(old.into()), new_text: new.into() };
                content.push(ToolContent::Diff(diff));
            }
            None => content.extend(hunks.into_iter().map(|hunk| shown(hunk.content))),
        }
        started
    }

    fn place(&mut self, place: Place) -> Location {
        let others =
            [("column", &place.column), ("endLine", &place.end_line), ("endColumn", &place.end_column)];
        self.told_not("location", others);
        let line = place.line.and_then(|line| line.as_u64()).and_then(line_of);
        Location { path: place.path.into(), line }
    }

    fn items(&mut self, plan: Plan<'_>) -> What {
        let mut item = |step: Step<'_>| {
            self.told_not("plan.steps", [("id", &step.id)]);
            let status = from_acp::plan_status(step.status);
            PlanItem { content: step.description, priority: Priority::Medium, status }
        };
        What::Plan { id: plan.plan_id, items: plan.steps.into_iter().map(&mut item).collect() }
    }

    fn told_not<const N: usize>(&mut self, of: &str, fields: [(&str, &Option<IgnoredAny>); N]) {
        for (name, _) in fields.into_iter().filter(|(_, value)| value.is_some()) {
            self.left_out.field(of, name);
        }
    }
}

fn shown(text: String) -> ToolContent {
    ToolContent::Content(Content::Text(text.into()))
}

/// As the official protocol's are read.
fn line_of(line: u64) -> Option<u32> {
    u32::try_from(line).ok().map(|line| line.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::acp::wire::draft::EXAMPLES;
    use crate::acp::wire::from_acp::{Fact, paths_named, session_of, update};
    use crate::acp::wire::made_up_tests::{number, object, word};
    use crate::acp::wire::rpc::{self, Message};

    /// All that a line comes to: what the core is told by which session, the paths in it, the fields that are told as left
    /// out, and the calls that are remembered.
    type Outcome = (String, Vec<Fact>, Vec<String>, Vec<String>, Vec<String>);

    /// One in which a command has run here.
    fn draft() -> Draft {
        let mut draft = Draft::new(1);
        draft.terminals.insert("ours".to_owned());
        draft
    }

    fn of_params(draft: &mut Draft, params: &Value) -> Outcome {
        let session = session_of(params).expect("a session");
        let mut paths: Vec<String> = paths_named(params).map(str::to_owned).collect();
        paths.sort();
        let mut left_out = draft.left_out();
        left_out.sort();
        (session, update(&params["update"]), paths, left_out, draft.calls.iter().cloned().collect())
    }

    fn carefully(line: &str) -> Vec<Outcome> {
        let mut draft = draft();
        let converted = draft.incoming(rpc::read(line).expect("a message"));
        let params = converted.messages.into_iter().map(|message| match message {
            Message::Notification { params, .. } => params,
            other => panic!("{other:?}"),
        });
        let params: Vec<Value> = params.collect();
        params.iter().map(|params| of_params(&mut draft, params)).collect()
    }

    fn quickly(line: &str) -> Option<Outcome> {
        let mut draft = draft();
        let told = draft.quick(line)?;
        let mut paths: Vec<String> =
            told.paths().iter().map(|path| path.to_str().expect("text").to_owned()).collect();
        paths.sort();
        let as_message = of_params(&mut Draft::new(1), &told.params());
        let mut left_out = draft.left_out();
        left_out.sort();
        let session = told.session.clone();
        let outcome = (session, told.facts(), paths, left_out, draft.calls.iter().cloned().collect());
        assert_eq!((&as_message.0, &as_message.1, &as_message.2), (&outcome.0, &outcome.1, &outcome.2));
        Some(outcome)
    }

    fn line(kind: &str, data: &Value) -> String {
        let params = json!({ "sessionId": "s", "type": kind, "data": data });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    }

    #[test]
    fn the_documents_calls_and_plans_are_read_once_and_say_the_same() {
        let (mut quick, mut all) = (0, 0);
        for line in EXAMPLES.lines().filter(|line| line.contains("session/update")) {
            let message: Value = serde_json::from_str(line).expect("JSON");
            let kind = message["params"]["type"].as_str().expect("a type");
            let is_meant = ["tool_call", "tool_call_update", "plan"].contains(&kind);
            let read = quickly(line);
            assert_eq!(read.is_some(), is_meant, "{line}");
            all += usize::from(is_meant);
            if let Some(read) = read {
                quick += 1;
                assert_eq!(vec![read], carefully(line), "{line}");
            }
        }
        assert!(quick > 8, "{quick} of {all}");
    }

    /// Each update in a recorded message, as the dialect has it.
    fn in_draft(value: &Value, found: &mut Vec<String>) {
        let update = value;
        let output = &update["content"][0];
        let output = match output["type"].as_str() {
            Some("diff") => {
                let side = |sign: char, text: &Value| -> String {
                    text.as_str().unwrap_or_default().lines().map(|line| format!("{sign}{line}\n")).collect()
                };
                let content = side('-', &output["oldText"]) + &side('+', &output["newText"]);
                json!({ "type": "diff", "path": output["path"], "hunks": [{ "newStart": 3, "content": content }] })
            }
            Some("content") => output["content"].clone(),
            _ => Value::Null,
        };
        let common = json!({ "id": update["toolCallId"], "status": update["status"], "output": output,
            "location": update["locations"][0] });
        let mut more = common.clone();
        (more["tool"], more["input"]) = (update["title"].clone(), update["rawInput"].clone());
        match update["sessionUpdate"].as_str() {
            Some("tool_call") => found.push(line("tool_call", &more)),
            Some("tool_call_update") => found.push(line("tool_call_update", &common)),
            Some("plan") => {
                let entries = update["entries"].as_array().into_iter().flatten();
                let step =
                    |entry: &Value| json!({ "description": entry["content"], "status": entry["status"] });
                found.push(line("plan", &json!({ "steps": entries.map(step).collect::<Vec<_>>() })));
            }
            _ => match value {
                Value::Object(fields) => fields.values().for_each(|value| in_draft(value, found)),
                Value::Array(items) => items.iter().for_each(|value| in_draft(value, found)),
                _ => {}
            },
        }
    }

    #[test]
    fn what_agents_have_said_is_read_the_same_by_both_ways() {
        let mut lines = Vec::new();
        for file in std::fs::read_dir("tests/data").expect("recordings") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = std::fs::read_to_string(path).expect("text");
                let messages = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
                messages.for_each(|message| in_draft(&message, &mut lines));
            }
        }
        let quick: Vec<(&String, Outcome)> =
            lines.iter().filter_map(|line| Some((line, quickly(line)?))).collect();
        assert!(quick.len() > 100 && quick.len() > lines.len() / 2, "{} of {}", quick.len(), lines.len());
        for (line, read) in quick {
            assert_eq!(vec![read], carefully(line), "{line}");
        }
    }

    #[test]
    fn what_is_not_of_the_documents_form_goes_the_other_way() {
        let call = json!({ "id": "c", "tool": "t", "input": { "path": "/p/a" }, "status": "pending" });
        let plain = line("tool_call", &call);
        assert!(quickly(&plain).is_some());
        for (from, to) in [
            ("\"method\"", "\"id\":1,\"method\""),
            ("\"method\"", "\"id\":null,\"method\""),
            ("\"method\"", "\"result\":{},\"method\""),
            ("session/update", "session/other"),
            ("\"tool_call\"", "\"tool\""),
            ("\"tool_call\"", "\"agent_message_chunk\""),
            ("\"tool_call\"", "\"tool_call_update\""),
            ("\"s\"", "7"),
            ("\"c\"", "7"),
            ("\"c\"", "null"),
            ("\"pending\"", "3"),
            ("\"t\"", "[]"),
            ("\"status\"", "\"own\":1,\"status\""),
            ("\"status\"", "\"_meta\":{},\"status\""),
            ("\"type\"", "\"_meta\":{},\"type\""),
            ("/p/a", "\\ud83d"),
        ] {
            let odd = plain.replacen(from, to, 1);
            assert_ne!(odd, plain);
            assert_eq!(quickly(&odd), None, "{odd}");
        }
        let data_first = format!(
            r#"{{"method":"session/update","params":{{"sessionId":"s","data":{call},"type":"tool_call"}}}}"#
        );
        assert_eq!(quickly(&data_first), None);
        for output in [
            json!("text"),
            json!([{ "type": "text", "text": "a" }]),
            json!({ "text": "a", "type": "text" }),
            json!({ "type": "text", "text": "a", "annotations": {} }),
            json!({ "type": "image", "source": {} }),
            json!({ "type": "diff", "path": "/p/a", "hunks": [{}] }),
            json!({ "type": "diff", "path": "/p/a", "hunks": {} }),
            json!({ "type": "diff", "hunks": [] }),
        ] {
            let line = line("tool_call_update", &json!({ "id": "c", "output": output }));
            assert_eq!(quickly(&line), None, "{line}");
        }
    }

    fn text() -> impl Strategy<Value = Value> {
        prop_oneof![".{0,12}", Just("/p/a b".to_owned()), Just("ours".to_owned())].prop_map(Value::from)
    }

    fn hunks() -> BoxedStrategy<Value> {
        let lines = prop::collection::vec("[-+ @\\\\x][a\u{e9}\r]{0,4}", 0..6);
        let content = lines.prop_map(|lines| Value::from(lines.join("\n"))).boxed();
        let hunk = object(vec![
            ("content", content),
            ("oldStart", number().boxed()),
            ("oldLines", number().boxed()),
            ("newStart", number().boxed()),
            ("newLines", number().boxed()),
        ]);
        prop::collection::vec(hunk, 0..3).prop_map(Value::from).boxed()
    }

    fn output() -> BoxedStrategy<Value> {
        let typed = |name: &'static str, fields| {
            object(fields).prop_map(move |fields| {
                let mut output = json!({ "type": name });
                output
                    .as_object_mut()
                    .expect("an object")
                    .extend(fields.as_object().cloned().expect("an object"));
                output
            })
        };
        let command = vec![
            ("terminalId", text().boxed()),
            ("command", text().boxed()),
            ("exitCode", number().boxed()),
            ("stdout", text().boxed()),
            ("stderr", text().boxed()),
        ];
        prop_oneof![
            typed("text", vec![("text", text().boxed())]),
            typed("terminal", command),
            typed("diff", vec![("path", text().boxed()), ("hunks", hunks())]),
            typed("image", vec![("source", text().boxed())]),
            text(),
        ]
        .boxed()
    }

    fn call() -> BoxedStrategy<Value> {
        let place = object(vec![
            ("path", text().boxed()),
            ("line", number().boxed()),
            ("column", number().boxed()),
            ("endLine", number().boxed()),
            ("endColumn", number().boxed()),
        ]);
        let input =
            object(vec![("path", text().boxed()), ("command", text().boxed()), ("n", number().boxed())]);
        let tools = &["fs/read_text_file", "fs/write_text_file", "terminal/create", "mcp", ""];
        let statuses = &[
            "pending",
            "awaiting_permission",
            "in_progress",
            "completed",
            "failed",
            "denied",
            "cancelled",
            "x",
        ];
        object(vec![
            ("id", text().boxed()),
            ("tool", word(tools)),
            ("input", prop_oneof![input, text()].boxed()),
            ("status", word(statuses)),
            ("output", output()),
            ("error", text().boxed()),
            ("duration", number().boxed()),
            ("location", place),
            ("requiresPermission", any::<bool>().prop_map(Value::from).boxed()),
        ])
    }

    fn plan() -> BoxedStrategy<Value> {
        let statuses = &["pending", "in_progress", "completed", "skipped"];
        let step =
            object(vec![("id", text().boxed()), ("description", text().boxed()), ("status", word(statuses))]);
        let steps = prop::collection::vec(step, 0..4).prop_map(Value::from).boxed();
        object(vec![("planId", text().boxed()), ("steps", steps)])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn both_ways_say_the_same_of_any_call_and_plan(
            (kind, data) in prop_oneof![
                2 => call().prop_map(|data| ("tool_call", data)),
                // With what only a new call has it would be of no form that the document has.
                3 => call().prop_map(|mut data| {
                    for field in ["tool", "input"] {
                        data.as_object_mut().expect("an object").remove(field);
                    }
                    ("tool_call_update", data)
                }),
                1 => plan().prop_map(|data| ("plan", data)),
            ],
        ) {
            let line = line(kind, &data);
            if let Some(read) = quickly(&line) {
                prop_assert_eq!(vec![read], carefully(&line), "{}", line);
            }
        }
    }
}
