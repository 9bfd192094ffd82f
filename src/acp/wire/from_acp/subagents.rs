//! What agents say of subagents, in the protocol's form and in two older ones. What becomes of them is left to
//! the connection and to the core.

use std::path::PathBuf;

use serde_json::Value;

use super::content::blocks;
use super::json::{each, id, text};
use super::usage::tokens;
use crate::core::ids::{SubagentId, ToolCallId};
use crate::core::message::{
    Branch, SessionMessage, StopReason, SubagentPatch, SubagentState, Tokens, Update,
};

/// Where a subagent works. `None` leaves a field as it was, `Some(None)` is that of the session that it works for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    pub cwd: Option<Option<PathBuf>>,
    pub additional: Option<Option<Vec<PathBuf>>>,
}

/// What the update of this kind says of a subagent, if it is about one.
pub fn told(kind: &str, update: &Value) -> Option<Update> {
    match kind {
        "subagent_update" => announced(update).map(|patch| Update::Subagent(Box::new(patch))),
        "subagent_spawned" => spawned(update).map(|patch| Update::Subagent(Box::new(patch))),
        "subagent_state_update" => moved_on(update).map(|patch| Update::Subagent(Box::new(patch))),
        "session_message" => relayed(update, false).map(|message| Update::SessionMessage(Box::new(message))),
        "session_message_chunk" => {
            relayed(update, true).map(|message| Update::SessionMessage(Box::new(message)))
        }
        _ => None,
    }
}

fn announced(update: &Value) -> Option<SubagentPatch> {
    Some(SubagentPatch {
        id: SubagentId(id(&update["sessionId"])?),
        title: given(update, "title", text),
        description: given(update, "description", text),
        can_cancel: update.get("capabilities").map(|can| can["cancel"].is_object()),
        state: given(update, "state", state),
    })
}

fn state(state: &Value) -> Option<SubagentState> {
    // A word alone is as clear.
    let word = text(&state["state"]).or_else(|| text(state))?;
    Some(match word.as_str() {
        "running" => SubagentState::Running,
        "requires_action" => SubagentState::RequiresAction,
        "unknown" => SubagentState::Unknown,
        "idle" => idle(text(&state["stopReason"]), &state["error"], tokens(&state["usage"])),
        _ => SubagentState::Other(word),
    })
}

/// That it failed is told as the reason, as the error, or as both.
fn idle(reason: Option<String>, error: &Value, usage: Option<Tokens>) -> SubagentState {
    let failed = reason.as_deref() == Some("error") || error.is_object();
    let said = text(&error["message"]).or_else(|| text(error));
    SubagentState::Idle {
        reason: reason.filter(|_| !failed).as_deref().map(stop_reason),
        error: said.or_else(|| failed.then(String::new)),
        usage,
    }
}

pub(super) fn stop_reason(word: &str) -> StopReason {
    match word {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "max_turn_requests" => StopReason::MaxTurnRequests,
        "refusal" => StopReason::Refusal,
        "cancelled" => StopReason::Cancelled,
        other => StopReason::Other(other.to_owned()),
    }
}

/// An older form: a subagent that does one task.
fn spawned(update: &Value) -> Option<SubagentPatch> {
    let id = id(&update["subagentSessionId"])?;
    Some(SubagentPatch {
        title: text(&update["task"]).map(Some),
        description: text(&update["name"]).map(Some),
        can_cancel: Some(update["capabilities"]["cancel"].is_object()),
        state: Some(Some(SubagentState::Running)),
        ..SubagentPatch::new(&id)
    })
}

fn moved_on(update: &Value) -> Option<SubagentPatch> {
    let id = id(&update["subagentSessionId"])?;
    let word = text(&update["state"]["state"]).or_else(|| text(&update["state"]))?;
    let idle = |reason: &str| idle(Some(reason.to_owned()), &update["error"], None);
    let state = match word.as_str() {
        "running" => SubagentState::Running,
        "requires_action" => SubagentState::RequiresAction,
        "completed" => idle("end_turn"),
        "failed" => idle("error"),
        "cancelled" => idle("cancelled"),
        "disconnected" | "unknown" => SubagentState::Unknown,
        _ => SubagentState::Other(word),
    };
    Some(SubagentPatch { state: Some(Some(state)), ..SubagentPatch::new(&id) })
}

fn relayed(update: &Value, is_piece: bool) -> Option<SessionMessage> {
    let content = update.get("content").map(blocks);
    Some(SessionMessage {
        id: id(&update["messageId"])?,
        sender: id(&update["senderSessionId"]),
        recipient: id(&update["recipientSessionId"]),
        counterpart: id(&update["senderMessageId"]).or_else(|| id(&update["recipientMessageId"])),
        content,
        is_piece,
    })
}

/// Where the subagent works that an update is about.
pub fn roots(update: &Value) -> Roots {
    let absolute = |path: &Value| text(path).map(PathBuf::from).filter(|path| path.is_absolute());
    Roots {
        cwd: given(update, "cwd", absolute),
        additional: given(update, "additionalDirectories", |list| {
            list.is_array().then(|| each(list, absolute))
        }),
    }
}

/// The call of the session's own that started what this update is about, as agents tell it to clients that know no
/// subagents. `None` in what is about the session itself.
pub fn started_by(update: &Value) -> Option<Branch> {
    started_by_meta(&update["_meta"])
}

/// The same by what is beside the update.
pub(super) fn started_by_meta(meta: &Value) -> Option<Branch> {
    let call = id(&meta["claudeCode"]["parentToolUseId"])?;
    Some(Branch::Call(ToolCallId(call)))
}

/// Absent leaves a value as it was, null clears it. What cannot be read leaves it, too.
#[expect(clippy::option_option, reason = "the core's own form of absent, null and given")]
pub(super) fn given<T>(update: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Option<Option<T>> {
    match update.get(key)? {
        Value::Null => Some(None),
        value => read(value).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patch(kind: &str, update: &Value) -> SubagentPatch {
        match told(kind, update) {
            Some(Update::Subagent(patch)) => *patch,
            other => panic!("no subagent: {other:?}"),
        }
    }

    #[test]
    fn what_is_left_out_null_and_given_are_three_things() {
        let fields = [
            ("title", json!("T"), patch_with(|patch| patch.title = Some(Some("T".into())))),
            ("description", json!("D"), patch_with(|patch| patch.description = Some(Some("D".into())))),
            (
                "state",
                json!({"state": "running"}),
                patch_with(|patch| patch.state = Some(Some(SubagentState::Running))),
            ),
            ("capabilities", json!({"cancel": {}}), patch_with(|patch| patch.can_cancel = Some(true))),
        ];
        for (key, value, expected) in fields {
            assert_eq!(patch("subagent_update", &json!({"sessionId": "k", key: value})), expected, "{key}");
        }
        let cleared = json!({"sessionId": "k", "title": null, "description": null, "state": null, "capabilities": null});
        let expected = SubagentPatch {
            title: Some(None),
            description: Some(None),
            can_cancel: Some(false),
            state: Some(None),
            ..SubagentPatch::new("k")
        };
        assert_eq!(patch("subagent_update", &cleared), expected);
        assert_eq!(patch("subagent_update", &json!({"sessionId": "k"})), SubagentPatch::new("k"));
        for none in [json!({}), json!({"cancel": null}), json!({"cancel": true})] {
            let told = json!({"sessionId": "k", "capabilities": none});
            assert_eq!(patch("subagent_update", &told).can_cancel, Some(false), "{told}");
        }
        assert_eq!(told("subagent_update", &json!({"title": "T"})), None, "it is about none");
    }

    fn patch_with(change: impl Fn(&mut SubagentPatch)) -> SubagentPatch {
        let mut patch = SubagentPatch::new("k");
        change(&mut patch);
        patch
    }

    #[test]
    fn a_state_is_read_with_why_it_ended() {
        let idle = |reason: Option<&str>, error: Option<&str>| SubagentState::Idle {
            reason: reason.map(stop_reason),
            error: error.map(str::to_owned),
            usage: None,
        };
        for (value, expected) in [
            (json!({"state": "running"}), SubagentState::Running),
            (json!("running"), SubagentState::Running),
            (json!({"state": "requires_action"}), SubagentState::RequiresAction),
            (json!({"state": "unknown"}), SubagentState::Unknown),
            (json!({"state": "paused"}), SubagentState::Other("paused".into())),
            (json!({"state": "idle"}), idle(None, None)),
            (json!({"state": "idle", "stopReason": "cancelled"}), idle(Some("cancelled"), None)),
            (
                json!({"state": "idle", "stopReason": "error", "error": {"code": 1, "message": "no"}}),
                idle(None, Some("no")),
            ),
            (json!({"state": "idle", "error": {"message": "no"}}), idle(None, Some("no"))),
            (json!({"state": "idle", "stopReason": "error"}), idle(None, Some(""))),
        ] {
            assert_eq!(state(&value), Some(expected), "{value}");
        }
        assert_eq!(state(&json!({})), None);
        let used = state(&json!({"state": "idle", "usage": {"inputTokens": 2, "outputTokens": 3}}));
        let usage = Some(Tokens { total: 5, input: 2, output: 3, ..Tokens::default() });
        assert_eq!(used, Some(SubagentState::Idle { reason: None, error: None, usage }));
    }

    #[test]
    fn older_forms_are_the_same_news() {
        let spawned = json!({"subagentSessionId": "k", "name": "tester", "task": "Run the tests"});
        let expected = SubagentPatch {
            title: Some(Some("Run the tests".into())),
            description: Some(Some("tester".into())),
            can_cancel: Some(false),
            state: Some(Some(SubagentState::Running)),
            ..SubagentPatch::new("k")
        };
        assert_eq!(patch("subagent_spawned", &spawned), expected);
        for (word, reason, error) in [
            ("completed", Some("end_turn"), None),
            ("failed", None, Some(String::new())),
            ("cancelled", Some("cancelled"), None),
        ] {
            let told = json!({"subagentSessionId": "k", "state": word});
            let idle = SubagentState::Idle { reason: reason.map(stop_reason), error, usage: None };
            assert_eq!(patch("subagent_state_update", &told).state, Some(Some(idle)), "{word}");
        }
    }

    #[test]
    fn a_message_between_sessions_may_come_without_anything_but_its_id() {
        let Some(Update::SessionMessage(message)) = told("session_message", &json!({"messageId": "m"}))
        else {
            panic!("no message");
        };
        assert_eq!((message.content, message.sender, message.is_piece), (None, None, false));
        for (content, expected) in
            [(json!(null), 0), (json!([]), 0), (json!([{"type": "text", "text": "a"}]), 1)]
        {
            let told = told("session_message", &json!({"messageId": "m", "content": content}));
            let Some(Update::SessionMessage(message)) = told else { panic!("no message: {content}") };
            assert_eq!(message.content.map(|content| content.len()), Some(expected), "{content}");
        }
    }

    #[test]
    fn a_message_between_sessions_keeps_who_sent_it_and_to_whom() {
        let update = json!({"messageId": "m", "senderSessionId": "p", "recipientSessionId": "k",
            "recipientMessageId": "n", "content": [{"type": "text", "text": "a"}]});
        let Some(Update::SessionMessage(message)) = told("session_message", &update) else {
            panic!("no message")
        };
        assert_eq!((message.sender.as_deref(), message.recipient.as_deref()), (Some("p"), Some("k")));
        assert_eq!((message.counterpart.as_deref(), message.is_piece), (Some("n"), false));
    }

    #[test]
    fn relative_folders_are_no_roots() {
        let told = json!({"cwd": "src", "additionalDirectories": ["/a", "b", 3]});
        let additional = Some(Some(if cfg!(windows) { Vec::new() } else { vec![PathBuf::from("/a")] }));
        assert_eq!(roots(&told), Roots { cwd: None, additional });
        let cleared = Roots { cwd: Some(None), additional: Some(None) };
        assert_eq!(roots(&json!({"cwd": null, "additionalDirectories": null})), cleared);
    }
}
