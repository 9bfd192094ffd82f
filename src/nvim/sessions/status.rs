//! What `require("acp").status()` gives, and what it gave last: status lines ask for it while nothing can be
//! computed.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;

use serde_json::{Value as Json, json};

use crate::core::ids::SessionKey;
use crate::core::message::AuthStatus;
use crate::core::session::status::{mode, model, state};
use crate::nvim::context::Context;
use crate::nvim::sessions::Sessions;

thread_local! {
    /// What `status()` last gave, for those who ask while the features are busy: status lines that are drawn
    /// because of it. And whether anybody has asked yet.
    static STATUS: RefCell<Json> = const { RefCell::new(Json::Null) };
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

pub fn keep(status: Json) {
    STATUS.set(status);
}

pub fn was_asked() -> bool {
    ASKED.get()
}

/// What the sessions are doing; `now` gives it where that can be computed.
pub fn ask(now: impl FnOnce() -> Option<Json>) -> Json {
    ASKED.set(true);
    if let Some(status) = now() {
        keep(status);
    }
    let status = STATUS.with_borrow(Clone::clone);
    match status.is_null() {
        // It is asked for the first time, and in the midst of something.
        true => json!({ "sessions": [], "agents": [], "following": false }),
        false => status,
    }
}

impl Sessions {
    /// The status has to be kept again, for somebody asks for it.
    pub fn takes_status(&mut self) -> bool {
        was_asked() && std::mem::take(&mut self.status_is_stale)
    }

    /// What is known of the sessions: the one used last comes first. `location` is where an agent is.
    pub fn status(&self, cx: &Context, location: &dyn Fn(SessionKey) -> Option<Json>) -> Json {
        let mut keys: Vec<SessionKey> = cx.sessions.keys().copied().collect();
        let here = cx.session_here();
        keys.sort_by_key(|key| (Some(*key) != here, Reverse(*key)));
        let sessions = keys.into_iter().filter_map(|key| of_session(cx, key, location(key)));
        let sessions: Vec<Json> = sessions.collect();
        json!({ "sessions": sessions, "agents": self.agents_status(), "log": cx.log() })
    }

    /// The agents that were started.
    fn agents_status(&self) -> Vec<Json> {
        let agents = self.processes.all().map(|(launch, pid, auth)| {
            let state = if pid.is_some() { "running" } else { "ended" };
            json!({
                "agent": launch.name,
                "title": launch.shown_name(),
                "pid": pid,
                "state": state,
                "confined": launch.sandbox.is_some(),
                "auth": auth.map(|auth| auth.state.word()),
                "login": auth.and_then(AuthStatus::words),
                "accounts": auth.map(AuthStatus::account_names),
            })
        });
        agents.collect()
    }
}

/// What the status says of one session. `location` is where its agent is.
fn of_session(cx: &Context, key: SessionKey, location: Option<Json>) -> Option<Json> {
    let session = cx.sessions.get(&key)?;
    let chat = cx.chats.get(&key);
    let cost = session.cost.as_ref().map(|cost| format!("{:.2} {}", cost.amount, cost.currency));
    let context =
        session.usage.filter(|(_, size)| *size > 0).map(|(used, size)| used.saturating_mul(100) / size);
    Some(json!({
        "session": key.0,
        "agent": session.name(),
        "name": session.agent_name,
        "title": session.title,
        "cwd": session.place.cwd,
        "state": state(session),
        "buffer": chat.map(|chat| chat.transcript.0),
        "prompt": chat.map(|chat| chat.prompt.0),
        "auto": session.auto().map(|auto| auto.questions.word()),
        "mode": mode(session),
        "model": model(session),
        "queued": session.queue().len(),
        "held": session.held(),
        "left": session.left().iter().map(|command| &command.line).collect::<Vec<_>>(),
        "context": context,
        "location": location,
        "cost": cost,
    }))
}
