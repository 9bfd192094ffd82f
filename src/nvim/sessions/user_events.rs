//! The `User Acp…` events that follow from how a session changes. Which changes are told is
//! `core::session::told`'s part.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::PermissionOption;
use crate::core::session::told::News;
use crate::core::session::tool_call::Status;
use crate::core::session::{Session, Wanted};
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::sessions::{Sessions, status};

impl Sessions {
    /// A prompt has gone out.
    pub fn turn_started(&mut self, cx: &mut Context, key: SessionKey) {
        let turn = self.told.entry(key).or_default().turn_started();
        cx.emit("AcpTurnStarted", key, json!({ "turn": turn }));
    }

    /// The number of the session's present turn, or of its last one; the first is 1.
    pub fn turn_of(&self, key: SessionKey) -> u64 {
        self.told.get(&key).map_or(0, |told| told.turn())
    }

    /// What has changed of a session since the last time: these entries, and whether its state. Listeners are told.
    pub fn take_changes(&mut self, cx: &mut Context, key: SessionKey) -> (BTreeSet<EntryId>, bool) {
        let Some(session) = cx.sessions.get_mut(&key) else { return (BTreeSet::new(), false) };
        let outdated = session.take_outdated();
        let (entries, status) = session.take_touched();
        if !outdated.is_empty() {
            cx.discard(outdated);
        }
        self.tell_changes(cx, key, &entries, status);
        (entries, status)
    }

    /// The user is asked for a permission.
    pub fn tell_permission_asked(
        cx: &mut Context,
        key: SessionKey,
        (title, request): (&str, &str),
        entry: Option<EntryId>,
    ) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let name = entry.map_or_else(|| session.name(), |entry| session.actor(entry));
        if cx.is_heard("AcpPermissionAsked") {
            let facts = permission_facts(session, title, entry);
            cx.emit("AcpPermissionAsked", key, facts);
        }
        cx.announce(key, &format!("{name} {request}"), Level::Warn);
    }

    /// Tells of what has changed since the last time.
    pub(super) fn tell_changes(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        entries: &BTreeSet<EntryId>,
        status: bool,
    ) {
        self.tell_who(cx, key);
        if status {
            self.tell_open(cx);
        }
        self.calls_done(cx, key);
        let Some(session) = cx.sessions.get(&key) else { return };
        let news = self.told.entry(key).or_default().news(session, entries, status);
        let changed = news.iter().any(|news| matches!(news, News::State(_)));
        for news in news {
            match news {
                News::Call(entry) => tell_call(cx, key, entry),
                News::Mode(mode) => cx.emit("AcpModeChanged", key, json!({ "mode": mode })),
                News::State(state) => cx.emit("AcpStateChanged", key, json!({ "state": state })),
            }
        }
        self.status_is_stale |= status;
        if changed && status::was_asked() {
            // Neovim draws a status line again when something else changes, which may take long.
            cx.run_effect("couldn't draw the status lines", |editor| editor.command("redrawstatus!"));
        }
    }
}

fn tell_call(cx: &mut Context, key: SessionKey, entry: EntryId) {
    if !cx.is_heard("AcpToolCall") {
        return;
    }
    let call = cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
    let Some(call) = call else { return };
    let data = json!({
        "id": call.told_id(),
        "title": call.headline(),
        "kind": call.kind.word(),
        "status": status_word(call.status),
    });
    cx.emit("AcpToolCall", key, data);
}

/// What is known of a call that the user is asked about.
fn permission_facts(session: &Session, title: &str, entry: Option<EntryId>) -> Value {
    let Some((entry, call)) = entry.and_then(|entry| Some((entry, session.entry(entry)?.tool()?))) else {
        return json!({ "title": title });
    };
    let mut paths: Vec<PathBuf> = call.places().into_iter().map(|place| call.root.join(place.path)).collect();
    paths.dedup();
    let options: Vec<Value> = match session.permission_of(entry).map(|open| &open.wanted) {
        Some(Wanted::Permission(options)) => options.iter().map(option_facts).collect(),
        _ => Vec::new(),
    };
    json!({
        "title": title,
        "tool_call": call.id.0,
        "kind": call.kind.word(),
        "paths": paths,
        "command": call.command(),
        "options": options,
    })
}

fn option_facts(option: &PermissionOption) -> Value {
    json!({ "id": option.id, "name": option.name, "kind": option.kind.word() })
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::Waiting => "waiting",
        Status::Running => "running",
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Rejected => "rejected",
        Status::Cancelled => "cancelled",
        Status::Stopping => "stopping",
        Status::Unreported => "unreported",
    }
}
