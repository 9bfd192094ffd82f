//! What is told outside of the chat: the `User Acp…` events that follow from how a session changes,
//! notifications and the bell for what the user does not see, and the state for status lines.

use std::collections::{BTreeSet, HashMap};

use mlua::Result;
use serde_json::json;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Content, ToolKind};
use crate::core::session::tool_call::Status;
use crate::nvim::app::App;
use crate::nvim::chat::winbar;

#[derive(Default)]
pub struct Signals {
    seen: HashMap<SessionKey, Seen>,
    /// Something changed since the state was last kept.
    stale: bool,
}

/// What of a session has been told.
#[derive(Default)]
struct Seen {
    state: Option<&'static str>,
    mode: Option<String>,
    /// How many turns have begun.
    turns: u64,
    calls: HashMap<EntryId, Status>,
}

impl App {
    /// A prompt has gone out.
    pub fn turn_started(&mut self, key: SessionKey, content: &[Content]) -> Result<()> {
        let seen = self.signals.seen.entry(key).or_default();
        seen.turns += 1;
        let turn = seen.turns;
        self.cx.emit("AcpTurnStarted", key, json!({ "turn": turn }));
        self.checkpoint_turn(key, content)?;
        self.keep_prompt(key, content)
    }

    /// The number of the session's present turn, or of its last one; the first is 1.
    pub fn turn_of(&self, key: SessionKey) -> u64 {
        self.signals.seen.get(&key).map_or(0, |seen| seen.turns)
    }

    /// Tells of what has changed since the last time.
    pub fn signal(&mut self, key: SessionKey, entries: &BTreeSet<EntryId>, status: bool) {
        let hears_calls = entries.is_empty() || self.cx.is_heard("AcpToolCall");
        let Some(session) = self.cx.sessions.get(&key) else { return };
        let seen = self.signals.seen.entry(key).or_default();
        let mut events = Vec::new();
        for entry in entries {
            let Some(call) = session.entry(*entry).and_then(|entry| entry.tool()) else { continue };
            if seen.calls.insert(*entry, call.status) != Some(call.status) && hears_calls {
                let data = json!({
                    "id": call.id.0,
                    "title": call.headline(),
                    "kind": kind_word(call.kind),
                    "status": status_word(call.status),
                });
                events.push(("AcpToolCall", data));
            }
        }
        if status {
            let mode = winbar::mode(session);
            if mode.is_some() && mode != seen.mode {
                let first = seen.mode.is_none();
                seen.mode.clone_from(&mode);
                // What a session begins with is no change.
                if !first {
                    events.push(("AcpModeChanged", json!({ "mode": mode })));
                }
            }
            let state = winbar::state(session);
            if seen.state.replace(state) != Some(state) {
                events.push(("AcpStateChanged", json!({ "state": state })));
            }
        }
        let changed = events.iter().any(|(name, _)| *name == "AcpStateChanged");
        for (name, data) in events {
            self.cx.emit(name, key, data);
        }
        self.signals.stale |= status;
        if changed && crate::nvim::status_was_asked() {
            // Neovim draws a status line again when something else changes, which may take long.
            self.cx.attempt("couldn't draw the status lines", |editor| editor.command("redrawstatus!"));
        }
    }

    pub fn forget_signals(&mut self, key: SessionKey) {
        self.signals.seen.remove(&key);
        self.signals.stale = true;
    }

    /// Has the state at hand for those who ask while the app is busy. Once in a drain: there may be a hundred
    /// sessions.
    pub fn refresh_status(&mut self) {
        if crate::nvim::status_was_asked() && std::mem::take(&mut self.signals.stale) {
            crate::nvim::keep_status(self.status(None));
        }
    }
}

/// As the protocol writes it.
fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "execute",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch_mode",
        ToolKind::Other => "other",
    }
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
        Status::Unreported => "unreported",
    }
}
