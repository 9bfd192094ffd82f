//! What of an update another reading than that of all messages has found out. Whoever has to keep it, or to look at it
//! as a message, gets it in the protocol's words again.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::updates::{self, Fact, TOOK};
use crate::core::message::{
    Content, Location, PlanContent, PlanItem, PlanStatus, Priority, ToolCallPatch, ToolContent, Update,
    WireStatus,
};

/// An update of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The session as the agent calls it.
    pub session: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A call that shows texts, diffs and terminals.
    Call {
        is_first: bool,
        patch: Box<ToolCallPatch>,
        /// What is beside it; null where there is nothing.
        meta: Value,
    },
    Plan {
        id: Option<String>,
        items: Vec<PlanItem>,
    },
}

impl Told {
    pub fn facts(self) -> Vec<Fact> {
        match self.what {
            What::Call { patch, meta, .. } => updates::call(patch, &meta),
            What::Plan { id: Some(id), items } => {
                vec![Fact::Update(Update::PlanTold { id, plan: PlanContent::Items(items) })]
            }
            What::Plan { id: None, items } => vec![Fact::Update(Update::Plan(items))],
        }
    }

    /// The files that it names.
    pub fn paths(&self) -> Vec<&Path> {
        let What::Call { patch, .. } = &self.what else { return Vec::new() };
        let places = patch.locations.iter().flatten().map(|location| location.path.as_path());
        let diffs = patch.content.iter().flatten().filter_map(|item| match item {
            ToolContent::Diff(diff) => Some(diff.path.as_path()),
            _ => None,
        });
        places.chain(diffs).collect()
    }

    /// The params of the notification that says the same.
    pub fn params(&self) -> Value {
        let update = match &self.what {
            What::Call { is_first, patch, meta } => call(*is_first, patch, meta),
            What::Plan { id: Some(id), items } => json!({
                "sessionUpdate": "plan_update",
                "plan": { "type": "items", "planId": id, "entries": entries(items) },
            }),
            What::Plan { id: None, items } => json!({ "sessionUpdate": "plan", "entries": entries(items) }),
        };
        json!({ "sessionId": self.session, "update": update })
    }
}

fn call(is_first: bool, patch: &ToolCallPatch, meta: &Value) -> Value {
    let kind = if is_first { "tool_call" } else { "tool_call_update" };
    let content = patch.content.as_ref().map(|items| items.iter().map(item).collect());
    let took = || patch.took.map(|took| json!({ TOOK: took }));
    let meta = if meta.is_null() { took() } else { Some(meta.clone()) };
    let places = patch.locations.as_ref().map(|places| places.iter().map(place).collect());
    let fields = [
        ("sessionUpdate", Some(kind.into())),
        ("toolCallId", Some(patch.id.0.as_str().into())),
        ("title", patch.title.as_deref().map(Value::from)),
        ("name", patch.name.as_deref().map(Value::from)),
        ("kind", patch.kind.map(|kind| kind.word().into())),
        ("status", patch.status.as_ref().map(|status| status_word(status).into())),
        ("content", content),
        ("locations", places),
        ("rawInput", patch.raw_input.clone()),
        ("rawOutput", patch.raw_output.clone()),
        ("_meta", meta),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    given.collect::<Map<_, _>>().into()
}

fn item(item: &ToolContent) -> Value {
    match item {
        ToolContent::Content(Content::Text(text)) => {
            json!({ "type": "content", "content": { "type": "text", "text": &**text } })
        }
        // It has no others.
        ToolContent::Content(_) => json!({ "type": "content", "content": null }),
        ToolContent::Diff(diff) => json!({
            "type": "diff", "path": diff.path, "oldText": diff.old_text.as_deref(), "newText": &*diff.new_text,
        }),
        ToolContent::Terminal(terminal) => json!({ "type": "terminal", "terminalId": terminal.0 }),
    }
}

fn place(place: &Location) -> Value {
    match place.line {
        Some(line) => json!({ "path": place.path, "line": line }),
        None => json!({ "path": place.path }),
    }
}

fn status_word(status: &WireStatus) -> &str {
    match status {
        WireStatus::Pending => "pending",
        WireStatus::InProgress => "in_progress",
        WireStatus::Completed => "completed",
        WireStatus::Failed => "failed",
        WireStatus::Other(other) => other,
    }
}

fn entries(items: &[PlanItem]) -> Vec<Value> {
    let entry = |item: &PlanItem| {
        let priority = match item.priority {
            Priority::High => "high",
            Priority::Medium => "medium",
            Priority::Low => "low",
        };
        let status = match item.status {
            PlanStatus::Pending => "pending",
            PlanStatus::InProgress => "in_progress",
            PlanStatus::Completed => "completed",
        };
        json!({ "content": item.content, "priority": priority, "status": status })
    };
    items.iter().map(entry).collect()
}
