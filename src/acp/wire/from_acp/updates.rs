//! `session/update`, kind by kind. An update that cannot be read is named as unknown, so that the log
//! can be asked for it.

use std::path::PathBuf;

use serde_json::Value;

use super::chunk::role;
use super::content::{block, blocks, tool_content};
use super::json::{count, each, id, text};
use super::options::options;
use super::replayed::replayed;
use super::subagents::{self, given};
use super::usage;
use crate::core::ids::{TerminalId, ToolCallId};
use crate::core::message::{
    Content, Exit, Location, PlanContent, PlanItem, PlanStatus, Priority, Role, Severity, SlashCommand,
    ToolCallPatch, ToolContent, ToolKind, Update, WireStatus,
};
use crate::core::session::tool_call::{self, Cause, Status};
use crate::core::session::tool_output;
use crate::core::text::{Text, cut};

/// What one update says. Agents that run commands themselves put the output into `_meta` of a tool
/// call's updates, so that one update may say several things.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    Update(Update),
    TerminalStarted {
        call: ToolCallId,
        terminal: TerminalId,
        cwd: Option<PathBuf>,
    },
    TerminalGrew {
        call: ToolCallId,
        terminal: TerminalId,
        data: Data,
    },
    TerminalEnded {
        terminal: TerminalId,
        exit: Exit,
    },
    /// Nothing more is expected of the call, nor of what it runs. The exit is that of a command, if the
    /// call has it.
    CallOver {
        call: ToolCallId,
        exit: Exit,
    },
}

/// Output as an agent tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// What is new.
    Piece(String),
    /// What is new by the custom, and all there is by the name.
    PieceOrWhole(String),
}

/// Reads the `update` of a `session/update`.
pub fn update(update: &Value) -> Vec<Fact> {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    let read = match kind {
        "tool_call" | "tool_call_update" => return tool_call(update).unwrap_or_else(|| vec![unknown(kind)]),
        other => match role(other) {
            Some(role) => chunks(role, update),
            None if other == "usage_update" => usage::updates(update),
            None => one(other, update).map(|update| vec![update]),
        },
    };
    match read {
        Some(updates) => updates.into_iter().map(Fact::Update).collect(),
        None => vec![unknown(kind)],
    }
}

fn unknown(kind: &str) -> Fact {
    Fact::Update(Update::Unknown { kind: kind.to_owned() })
}

fn one(kind: &str, update: &Value) -> Option<Update> {
    Some(match kind {
        "plan" => Update::Plan(plan(&update["entries"])?),
        "plan_update" => {
            let plan = &update["plan"];
            Update::PlanTold { id: id(&plan["planId"])?, plan: plan_content(plan)? }
        }
        "plan_removed" => Update::PlanRemoved { id: id(&update["planId"])? },
        "available_commands_update" | "available_commands" => {
            Update::Commands(commands(&update["availableCommands"])?)
        }
        "current_mode_update" => {
            Update::Mode(id(&update["currentModeId"]).or_else(|| id(&update["modeId"]))?)
        }
        "config_option_update" => {
            update["configOptions"].is_array().then(|| Update::Options(options(&update["configOptions"])))?
        }
        "prompt_suggestions_update" => suggestions(&update["suggestions"], |one| words(&one["prompt"]))?,
        // How Claude tells them before there was a word for it.
        "session_info_update" if update["_meta"]["promptSuggestions"].is_object() => {
            suggestions(&update["_meta"]["promptSuggestions"]["suggestions"], |one| {
                text(&one["text"]).unwrap_or_default()
            })?
        }
        "session_info_update" => {
            Update::Info { title: given(update, "title", text), updated_at: given(update, "updatedAt", text) }
        }
        "notice" => notice(update)?,
        "compaction_update" => Update::Compaction {
            id: id(&update["compactionId"])?,
            status: text(&update["status"]),
            summary: given(update, "summary", |summary| Some(words(summary))),
            error: given(update, "error", text),
        },
        "compaction_summary_chunk" => {
            Update::CompactionSummary { id: id(&update["compactionId"])?, text: words(&update["content"]) }
        }
        other => subagents::told(other, update).or_else(|| replayed(other, update))?,
    })
}

/// So many prompts, of so many bytes, are suggested at most.
const MOST_SUGGESTIONS: usize = 10;
const MOST_SUGGESTED: usize = 8 << 10;

fn suggestions(list: &Value, read: impl Fn(&Value) -> String) -> Option<Update> {
    let all = list.as_array()?.iter().map(read).map(|text| cut(text.trim(), MOST_SUGGESTED).to_owned());
    let some = all.filter(|text| !text.is_empty()).take(MOST_SUGGESTIONS);
    Some(Update::Suggestions(some.map(Text::from).collect()))
}

fn words(content: &Value) -> String {
    let texts = blocks(content).into_iter().map(|block| match block {
        Content::Text(text) => String::from(text),
        _ => String::new(),
    });
    texts.collect()
}

fn chunks(role: Role, update: &Value) -> Option<Vec<Update>> {
    let message = id(&update["messageId"]);
    let content = match &update["content"] {
        // By far the most frequent form, and the one that comes by the thousand.
        block @ Value::Object(_) => vec![self::block(block)],
        other => blocks(other),
    };
    let updates: Vec<_> = content
        .into_iter()
        .map(|content| Update::Message { role, message: message.clone(), content })
        .collect();
    (!updates.is_empty()).then_some(updates)
}

fn plan(entries: &Value) -> Option<Vec<PlanItem>> {
    entries.is_array().then(|| {
        each(entries, |entry| {
            let content = text(&entry["content"]).or_else(|| text(entry))?;
            let priority = match entry["priority"].as_str() {
                Some("high") => Priority::High,
                Some("low") => Priority::Low,
                _ => Priority::Medium,
            };
            let status = plan_status(entry["status"].as_str());
            Some(PlanItem { content, priority, status })
        })
    })
}

pub fn plan_status(status: Option<&str>) -> PlanStatus {
    match status {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        _ => PlanStatus::Pending,
    }
}

fn plan_content(plan: &Value) -> Option<PlanContent> {
    Some(match plan["type"].as_str()? {
        "items" => PlanContent::Items(self::plan(&plan["entries"])?),
        "markdown" => PlanContent::Markdown(plan["content"].as_str()?.into()),
        "file" => PlanContent::File(text(&plan["uri"])?),
        other => PlanContent::Unknown { kind: other.to_owned() },
    })
}

fn commands(list: &Value) -> Option<Vec<SlashCommand>> {
    list.is_array().then(|| {
        each(list, |command| {
            Some(SlashCommand {
                name: text(&command["name"])?,
                description: text(&command["description"]).unwrap_or_default(),
                hint: text(&command["input"]["hint"]),
            })
        })
    })
}

fn notice(update: &Value) -> Option<Update> {
    let severity = match update["severity"].as_str() {
        Some("warning") => Severity::Warning,
        Some("error") => Severity::Error,
        _ => Severity::Info,
    };
    let (title, description) = (text(&update["title"]), text(&update["description"]));
    let (title, description) = match (title, description) {
        (Some(title), description) => (title, description),
        (None, Some(description)) => (description, None),
        (None, None) => return None,
    };
    Some(Update::Notice { severity, title, description })
}

fn tool_call(update: &Value) -> Option<Vec<Fact>> {
    patch(update).map(|patch| call(Box::new(patch), &update["_meta"]))
}

/// What an update of a call says, with what is beside it.
pub fn call(patch: Box<ToolCallPatch>, meta: &Value) -> Vec<Fact> {
    let status =
        patch.status.clone().map(|status| tool_call::next(Status::Running, &Cause::Reported(status)));
    let over = status.is_some_and(Status::is_over);
    let over = over.then(|| Fact::CallOver { call: patch.id.clone(), exit: exit(patch.raw_output.as_ref()) });
    let mut facts = terminal(meta, &patch);
    // An update that only carries output says nothing about the call itself.
    if facts.is_empty() || *patch != ToolCallPatch::new(&*patch.id.0) {
        // A terminal comes before the call that shows it.
        let at = usize::from(matches!(facts.first(), Some(Fact::TerminalStarted { .. })));
        facts.insert(at, Fact::Update(Update::ToolCall(patch)));
    }
    facts.extend(over);
    facts
}

/// How a command ended, where a call's own output says so in one of the ways that are seen.
fn exit(output: Option<&Value>) -> Exit {
    Exit { code: output.and_then(tool_output::exit_code), signal: None }
}

/// The command line that a call is about, if its input has one.
pub fn command(call: &ToolCallPatch) -> Option<String> {
    let command = &call.raw_input.as_ref()?["command"];
    text(command).or_else(|| {
        let words = command.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
        (!words.is_empty()).then(|| words.join(" "))
    })
}

/// The fields of a tool call that are given; null is as good as absent.
pub fn patch(call: &Value) -> Option<ToolCallPatch> {
    let given = |key: &str| call.get(key).filter(|value| !value.is_null()).cloned();
    Some(ToolCallPatch {
        title: text(&call["title"]),
        name: text(&call["name"]).or_else(|| named_in_meta(&call["_meta"])),
        kind: call["kind"].as_str().map(kind),
        status: call["status"].as_str().map(status),
        content: tool_content(&call["content"]),
        locations: call["locations"].is_array().then(|| each(&call["locations"], location)),
        raw_input: given("rawInput"),
        raw_output: given("rawOutput"),
        took: took(&call["_meta"]),
        ..ToolCallPatch::new(id(&call["toolCallId"])?)
    })
}

/// The tool's name, of the versions of Claude before the protocol had a place for it.
pub(super) fn named_in_meta(meta: &Value) -> Option<String> {
    text(&meta["claudeCode"]["toolName"])
}

/// As the dialects that have it are converted.
pub(super) fn took(meta: &Value) -> Option<u64> {
    meta[TOOK].as_f64().and_then(milliseconds)
}

/// Where the protocol has no place for it: the milliseconds that a call took.
pub const TOOK: &str = "acp.nvim/durationMs";

/// More than a day is no time of a call.
pub fn milliseconds(took: f64) -> Option<u64> {
    (0.0..=86_400_000.0).contains(&took).then_some(took as u64)
}

pub fn kind(kind: &str) -> ToolKind {
    match kind {
        "read" => ToolKind::Read,
        "edit" => ToolKind::Edit,
        "delete" => ToolKind::Delete,
        "move" => ToolKind::Move,
        "search" => ToolKind::Search,
        "execute" => ToolKind::Execute,
        "think" => ToolKind::Think,
        "fetch" => ToolKind::Fetch,
        "switch_mode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// The crate turns words it does not know into "pending" or nothing; here they are kept.
pub fn status(status: &str) -> WireStatus {
    match status {
        "pending" => WireStatus::Pending,
        "in_progress" => WireStatus::InProgress,
        "completed" => WireStatus::Completed,
        "failed" => WireStatus::Failed,
        other => WireStatus::Other(other.to_owned()),
    }
}

fn location(location: &Value) -> Option<Location> {
    Some(place(text(&location["path"])?, location["line"].as_u64()))
}

/// A place in a file; some agents count lines from 0.
pub(super) fn place(path: String, line: Option<u64>) -> Location {
    let line = line.and_then(|line| u32::try_from(line).ok());
    Location { path: path.into(), line: line.map(|line| line.max(1)) }
}

/// The convention by which agents show commands that they run themselves.
fn terminal(meta: &Value, call: &ToolCallPatch) -> Vec<Fact> {
    let given = |key: &str| meta.get(key).filter(|value| value.is_object());
    // Where it has no name, it is the one that the call shows, which most agents name as the call.
    let name = |value: &Value| {
        let shown = call.content.iter().flatten().find_map(|item| match item {
            ToolContent::Terminal(terminal) => Some(terminal.clone()),
            _ => None,
        });
        id(&value["terminal_id"]).map(TerminalId).or(shown).unwrap_or_else(|| TerminalId(call.id.0.clone()))
    };
    let started = given("terminal_info").map(|info| Fact::TerminalStarted {
        call: call.id.clone(),
        terminal: name(info),
        cwd: text(&info["cwd"]).map(PathBuf::from).filter(|cwd| cwd.is_absolute()),
    });
    let grew = |key: &str, data: fn(String) -> Data| {
        let output = given(key)?;
        let data = data(text(&output["data"])?);
        Some(Fact::TerminalGrew { call: call.id.clone(), terminal: name(output), data })
    };
    let grew = [grew("terminal_output", Data::PieceOrWhole), grew("terminal_output_delta", Data::Piece)];
    let ended = given("terminal_exit").map(|exit| {
        let code = count(&exit["exit_code"]).and_then(|code| u32::try_from(code).ok());
        Fact::TerminalEnded { terminal: name(exit), exit: Exit { code, signal: id(&exit["signal"]) } }
    });
    started.into_iter().chain(grew.into_iter().flatten()).chain(ended).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::message::Cost;

    fn only(value: Value) -> Update {
        let mut facts = update(&value);
        facts.retain(|fact| !matches!(fact, Fact::CallOver { .. }));
        match (facts.pop(), facts.is_empty()) {
            (Some(Fact::Update(update)), true) => update,
            other => panic!("not one update: {other:?}"),
        }
    }

    fn kind_of_unknown(value: Value) -> String {
        match only(value) {
            Update::Unknown { kind } => kind,
            other => panic!("known: {other:?}"),
        }
    }

    fn call(mut fields: Value) -> ToolCallPatch {
        fields["sessionUpdate"] = json!("tool_call_update");
        fields["toolCallId"] = json!("c");
        match only(fields) {
            Update::ToolCall(patch) => *patch,
            other => panic!("no tool call: {other:?}"),
        }
    }

    #[test]
    fn an_unknown_or_broken_update_is_named() {
        for (kind, value) in [
            ("_vendor", json!({"sessionUpdate": "_vendor"})),
            ("plan_update", json!({"sessionUpdate": "plan_update", "plan": {}})),
            (
                "plan_update",
                json!({"sessionUpdate": "plan_update", "plan": {"type": "markdown", "content": "no id"}}),
            ),
            (
                "plan_update",
                json!({"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p"}}),
            ),
            ("plan_removed", json!({"sessionUpdate": "plan_removed"})),
            ("plan", json!({"sessionUpdate": "plan"})),
            ("usage_update", json!({"sessionUpdate": "usage_update", "used": null, "size": 1})),
            ("tool_call", json!({"sessionUpdate": "tool_call", "title": "no id"})),
            ("agent_message_chunk", json!({"sessionUpdate": "agent_message_chunk"})),
            ("current_mode_update", json!({"sessionUpdate": "current_mode_update"})),
            ("", json!({"update": 1})),
            ("", json!("text")),
            ("", Value::Null),
        ] {
            assert_eq!(kind_of_unknown(value), kind);
        }
    }

    #[test]
    fn a_terminal_has_a_folder_only_where_that_is_absolute() {
        let folder = |cwd: &str| {
            let meta = json!({"terminal_info": {"terminal_id": "t", "cwd": cwd}});
            let facts =
                update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": meta}));
            facts.into_iter().find_map(|fact| match fact {
                Fact::TerminalStarted { cwd, .. } => Some(cwd),
                _ => None,
            })
        };
        assert_eq!(folder("/p/a"), Some(Some(PathBuf::from("/p/a"))));
        assert_eq!(folder("a"), Some(None));
    }

    #[test]
    fn suggestions_come_in_two_forms_and_an_empty_list_takes_them_back() {
        let texts = |update: Value| match only(update) {
            Update::Suggestions(texts) => texts.iter().map(|text| text.to_string()).collect::<Vec<_>>(),
            other => panic!("no suggestions: {other:?}"),
        };
        let blocks = |text: &str| json!({"prompt": [{"type": "text", "text": text}, {"type": "image"}]});
        let told = |list: Value| json!({"sessionUpdate": "prompt_suggestions_update", "suggestions": list});
        assert_eq!(texts(told(json!([blocks("Run the tests"), blocks(" "), 7]))), ["Run the tests"]);
        assert!(texts(told(json!([]))).is_empty());
        let many: Vec<Value> = (0..1000).map(|_| blocks(&"x".repeat(100_000))).collect();
        let many = texts(told(json!(many)));
        assert_eq!((many.len(), many[0].len()), (MOST_SUGGESTIONS, MOST_SUGGESTED));
        let meta = json!({"suggestions": [{"text": "Commit it"}, {}]});
        let claude = json!({"sessionUpdate": "session_info_update", "_meta": {"promptSuggestions": meta}});
        assert_eq!(texts(claude), ["Commit it"]);
        assert_eq!(kind_of_unknown(told(json!("x"))), "prompt_suggestions_update");
    }

    #[test]
    fn a_plan_has_an_id_and_one_of_three_forms() {
        let told = |plan: Value| match only(json!({"sessionUpdate": "plan_update", "plan": plan})) {
            Update::PlanTold { id, plan } if id == "p" => plan,
            other => panic!("no plan: {other:?}"),
        };
        let item = PlanItem { content: "a".into(), priority: Priority::High, status: PlanStatus::Completed };
        let entry = json!({"content": "a", "priority": "high", "status": "completed"});
        assert_eq!(
            told(json!({"type": "items", "planId": "p", "entries": [entry, 7]})),
            PlanContent::Items(vec![item])
        );
        assert_eq!(
            told(json!({"type": "markdown", "planId": "p", "content": "# A"})),
            PlanContent::Markdown("# A".into())
        );
        assert_eq!(
            told(json!({"type": "file", "planId": "p", "uri": "file:///p/plan.md"})),
            PlanContent::File("file:///p/plan.md".into())
        );
        assert_eq!(
            told(json!({"type": "chart", "planId": "p", "data": []})),
            PlanContent::Unknown { kind: "chart".into() }
        );
        let removed = json!({"sessionUpdate": "plan_removed", "planId": "p"});
        assert_eq!(only(removed), Update::PlanRemoved { id: "p".into() });
    }

    #[test]
    fn a_chunk_may_be_a_bare_text_or_a_list() {
        let message = |content: Content| {
            Fact::Update(Update::Message { role: Role::Agent, message: Some("m".into()), content })
        };
        let read = |content: Value| {
            update(&json!({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content}))
        };
        assert_eq!(read(json!("a")), [message(Content::Text("a".into()))]);
        assert_eq!(
            read(json!(["a", {"type": "video"}])),
            [message(Content::Text("a".into())), message(Content::Unknown { kind: "video".into() }),]
        );
    }

    #[test]
    fn each_role_has_its_chunks() {
        for (kind, expected) in [
            ("user_message_chunk", Role::User),
            ("agent_message_chunk", Role::Agent),
            ("agent_thought_chunk", Role::Thought),
            ("thought_message_chunk", Role::Thought),
        ] {
            let chunk =
                json!({"sessionUpdate": kind, "messageId": null, "content": {"type": "text", "text": "t"}});
            assert_eq!(
                only(chunk),
                Update::Message { role: expected, message: None, content: Content::Text("t".into()) }
            );
        }
    }

    #[test]
    fn words_that_are_unknown_are_kept_or_fall_back() {
        assert_eq!(call(json!({"status": "denied"})).status, Some(WireStatus::Other("denied".into())));
        assert_eq!(call(json!({"status": "completed"})).status, Some(WireStatus::Completed));
        assert_eq!(call(json!({"status": 7, "kind": null})).status, None);
        assert_eq!(call(json!({"kind": "dance"})).kind, Some(ToolKind::Other));
        assert_eq!(call(json!({"kind": "switch_mode"})).kind, Some(ToolKind::SwitchMode));
    }

    #[test]
    fn each_word_of_a_call_is_read_as_itself() {
        for (word, kind) in [
            ("read", ToolKind::Read),
            ("edit", ToolKind::Edit),
            ("delete", ToolKind::Delete),
            ("move", ToolKind::Move),
            ("search", ToolKind::Search),
            ("execute", ToolKind::Execute),
            ("think", ToolKind::Think),
            ("fetch", ToolKind::Fetch),
            ("switch_mode", ToolKind::SwitchMode),
            ("other", ToolKind::Other),
        ] {
            assert_eq!(call(json!({"kind": word})).kind, Some(kind), "{word}");
        }
        for (word, status) in [
            ("pending", WireStatus::Pending),
            ("in_progress", WireStatus::InProgress),
            ("completed", WireStatus::Completed),
            ("failed", WireStatus::Failed),
        ] {
            assert_eq!(call(json!({"status": word})).status, Some(status), "{word}");
        }
        let named = call(json!({"title": "Edit a", "name": "Edit"}));
        assert_eq!((named.title.as_deref(), named.name.as_deref()), (Some("Edit a"), Some("Edit")));
    }

    #[test]
    fn each_word_of_a_plan_and_of_a_notice_is_read_as_itself() {
        let priorities = [("high", Priority::High), ("medium", Priority::Medium), ("low", Priority::Low)];
        let statuses = [
            ("pending", PlanStatus::Pending),
            ("in_progress", PlanStatus::InProgress),
            ("completed", PlanStatus::Completed),
        ];
        for (priority, expected_priority) in priorities {
            for (status, expected_status) in statuses {
                let entry = json!({"content": "a", "priority": priority, "status": status});
                let Update::Plan(items) = only(json!({"sessionUpdate": "plan", "entries": [entry]})) else {
                    panic!("no plan")
                };
                assert_eq!((items[0].priority, items[0].status), (expected_priority, expected_status));
            }
        }
        for (word, expected) in
            [("info", Severity::Info), ("warning", Severity::Warning), ("error", Severity::Error)]
        {
            let notice =
                json!({"sessionUpdate": "notice", "severity": word, "title": "T", "description": "D"});
            assert_eq!(
                only(notice),
                Update::Notice { severity: expected, title: "T".into(), description: Some("D".into()) }
            );
        }
    }

    #[test]
    fn a_field_that_is_null_or_absent_is_not_given() {
        let empty = ToolCallPatch::new("c");
        assert_eq!(call(json!({})), empty);
        let nulls = json!({"title": null, "kind": null, "status": null, "content": null, "locations": null, "rawInput": null});
        assert_eq!(call(nulls), empty);
        assert_eq!(call(json!({"content": [], "locations": []})).content, Some(vec![]));
    }

    #[test]
    fn raw_input_and_output_are_any_json() {
        let patch = call(json!({"rawInput": "text", "rawOutput": [1, null]}));
        assert_eq!((patch.raw_input, patch.raw_output), (Some(json!("text")), Some(json!([1, null]))));
    }

    #[test]
    fn an_odd_line_does_not_cost_the_location() {
        let lines = |line: Value| {
            call(json!({"locations": [{"path": "a", "line": line}, {"line": 1}]})).locations.unwrap()
        };
        for (line, expected) in [
            (json!(3), Some(3)),
            (json!(0), Some(1)),
            (json!(-1), None),
            (json!(1.5), None),
            (json!(null), None),
            (json!(4_294_967_296_u64), None),
        ] {
            assert_eq!(lines(line), [Location { path: "a".into(), line: expected }]);
        }
    }

    #[test]
    fn a_plan_keeps_entries_of_an_odd_status() {
        let plan = only(json!({"sessionUpdate": "plan", "entries": [
            {"content": "a", "priority": "high", "status": "completed"},
            {"content": "b", "priority": "urgent", "status": "cancelled"},
            {"status": "pending"},
        ]}));
        let item = |content: &str, priority, status| PlanItem { content: content.into(), priority, status };
        assert_eq!(
            plan,
            Update::Plan(vec![
                item("a", Priority::High, PlanStatus::Completed),
                item("b", Priority::Medium, PlanStatus::Pending),
            ])
        );
    }

    #[test]
    fn a_mode_is_read_by_either_name() {
        for key in ["currentModeId", "modeId"] {
            assert_eq!(
                only(json!({"sessionUpdate": "current_mode_update", key: "ask"})),
                Update::Mode("ask".into())
            );
        }
    }

    #[test]
    fn absent_leaves_and_null_clears() {
        let info = |mut fields: Value| {
            fields["sessionUpdate"] = json!("session_info_update");
            only(fields)
        };
        let title = |title| Update::Info { title, updated_at: None };
        assert_eq!(info(json!({})), title(None));
        assert_eq!(info(json!({"title": null})), title(Some(None)));
        assert_eq!(info(json!({"title": "t"})), title(Some(Some("t".into()))));
        assert_eq!(info(json!({"title": 5})), title(None));
    }

    #[test]
    fn usage_is_read_as_any_number() {
        let usage = |used: Value, cost: Value| {
            only(json!({"sessionUpdate": "usage_update", "used": used, "size": 0, "cost": cost}))
        };
        let is = |used, cost| Update::Usage { used, size: 0, cost };
        assert_eq!(
            usage(json!(5), json!({"amount": 0.5, "currency": "EUR"})),
            is(5, Some(Cost { amount: 0.5, currency: "EUR".into() }))
        );
        assert_eq!(usage(json!(5.0), json!("free")), is(5, None));
    }

    #[test]
    fn commands_are_read_with_any_input() {
        let read = only(json!({"sessionUpdate": "available_commands_update", "availableCommands": [
            {"name": "a", "description": "A", "input": {"hint": "what"}},
            {"name": "b", "description": "B", "input": null},
            {"name": "c", "input": "odd"},
            {"description": "no name"},
        ]}));
        let command = |name: &str, description: &str, hint: Option<&str>| SlashCommand {
            name: name.into(),
            description: description.into(),
            hint: hint.map(Into::into),
        };
        assert_eq!(
            read,
            Update::Commands(vec![
                command("a", "A", Some("what")),
                command("b", "B", None),
                command("c", "", None)
            ])
        );
    }

    #[test]
    fn a_notice_of_an_unknown_severity_is_information() {
        for (severity, expected) in [
            ("info", Severity::Info),
            ("warning", Severity::Warning),
            ("error", Severity::Error),
            ("_x", Severity::Info),
        ] {
            assert_eq!(
                only(json!({"sessionUpdate": "notice", "severity": severity, "title": "t"})),
                Update::Notice { severity: expected, title: "t".into(), description: None }
            );
        }
    }

    #[test]
    fn a_compaction_is_an_upsert() {
        assert_eq!(
            only(json!({"sessionUpdate": "compaction_update", "compactionId": "c", "status": "weird",
                        "summary": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "error": null})),
            Update::Compaction {
                id: "c".into(),
                status: Some("weird".into()),
                summary: Some(Some("ab".into())),
                error: Some(None)
            }
        );
        assert_eq!(
            only(
                json!({"sessionUpdate": "compaction_summary_chunk", "compactionId": "c", "content": {"type": "text", "text": "x"}})
            ),
            Update::CompactionSummary { id: "c".into(), text: "x".into() }
        );
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn output_that_an_agent_reports_itself_is_a_terminal() {
        let (call, terminal) = (ToolCallId("t".into()), TerminalId("t".into()));
        let facts = update(&json!({
            "sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "rawInput": {"command": "ls -l"},
            "content": [{"type": "terminal", "terminalId": "t"}],
            "_meta": {"terminal_info": {"terminal_id": "t", "cwd": "/p"}, "terminal_output": {"terminal_id": "t", "data": "a\n"}},
        }));
        assert_eq!(facts.len(), 3);
        assert_eq!(
            facts[0],
            Fact::TerminalStarted { call: call.clone(), terminal: terminal.clone(), cwd: Some("/p".into()) }
        );
        assert!(matches!(&facts[1], Fact::Update(Update::ToolCall(_))));
        let grew = |data| Fact::TerminalGrew { call: call.clone(), terminal: terminal.clone(), data };
        assert_eq!(facts[2], grew(Data::PieceOrWhole("a\n".into())));

        let delta = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t",
                           "_meta": {"terminal_output_delta": {"terminal_id": "t", "data": "b"}}});
        assert_eq!(update(&delta), [grew(Data::Piece("b".into()))]);

        let end = update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed",
                                 "_meta": {"terminal_exit": {"terminal_id": "t", "exit_code": 3, "signal": null}}}));
        assert!(matches!(&end[0], Fact::Update(Update::ToolCall(_))));
        let exit = Exit { code: Some(3), signal: None };
        assert_eq!(
            end[1..],
            [Fact::TerminalEnded { terminal, exit }, Fact::CallOver { call, exit: Exit::default() }]
        );
    }

    #[test]
    fn a_terminal_without_a_name_is_the_one_that_its_call_shows() {
        let named = |fields: Value| {
            let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
                                    "_meta": {"terminal_output": {"data": "x"}}});
            for (key, value) in fields.as_object().unwrap() {
                update[key] = value.clone();
            }
            super::update(&update).into_iter().find_map(|fact| match fact {
                Fact::TerminalGrew { terminal, .. } => Some(terminal.0),
                _ => None,
            })
        };
        assert_eq!(named(json!({})), Some("c".into()));
        let shown =
            json!({"content": [{"type": "text", "text": "x"}, {"type": "terminal", "terminalId": "t"}]});
        assert_eq!(named(shown), Some("t".into()));
    }

    #[test]
    fn an_exit_is_read_as_far_as_it_can_be() {
        let exit = |exit: Value| {
            let facts = update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c",
                                       "_meta": {"terminal_exit": exit}}));
            match facts.last() {
                Some(Fact::TerminalEnded { exit, .. }) => (exit.code, exit.signal.clone()),
                other => panic!("no end: {other:?}"),
            }
        };
        for (told, code, signal) in [
            (json!({"exit_code": 1.0}), Some(1), None),
            (json!({"exit_code": -1, "signal": "SIGKILL"}), None, Some("SIGKILL")),
            (json!({"exit_code": null, "signal": 9}), None, Some("9")),
            (json!({"exit_code": "x", "signal": {}}), None, None),
            (json!({}), None, None),
        ] {
            assert_eq!(exit(told), (code, signal.map(str::to_owned)));
        }
    }

    #[test]
    fn a_call_is_over_by_any_word_for_it() {
        for (status, over) in [
            ("completed", true),
            ("failed", true),
            ("cancelled", true),
            ("denied", true),
            ("in_progress", false),
            ("awaiting", false),
        ] {
            let facts =
                update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": status}));
            assert_eq!(matches!(facts.last(), Some(Fact::CallOver { .. })), over, "{status}");
        }
    }

    #[test]
    fn foreign_meta_of_any_type_is_harmless() {
        for meta in [
            json!(null),
            json!(5),
            json!("x"),
            json!([]),
            json!({"terminal_info": 5, "terminal_exit": [], "terminal_output": {"data": 5}}),
        ] {
            assert!(call(json!({"_meta": meta, "title": "t"})).title.is_some());
        }
    }
}
