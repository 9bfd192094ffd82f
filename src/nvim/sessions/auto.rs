//! `:Acp auto`: the user leaves a session alone, or comes back to it. What that means for what its agent asks is
//! `core::session::auto`.

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::config::AutoQuestions;
use crate::core::message::{Outcome, Work};
use crate::core::rules::Decision;
use crate::core::session::Session;
use crate::core::session::auto::Auto;
use crate::core::session::auto_turn::AutoTurn;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

impl Sessions {
    /// `word` is what becomes of what rules leave open, or `off`; without one it is turned on or off.
    pub fn set_auto(cx: &mut Context, word: Option<&str>) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        let is_on = session.auto().is_some();
        let questions = match word {
            None if is_on => None,
            None | Some("on") => Some(cx.config.auto.questions),
            Some("off") => None,
            Some("wait") => Some(AutoQuestions::Wait),
            Some("reject") => Some(AutoQuestions::Reject),
            Some(other) => return fail(format!(":Acp auto takes wait, reject or off, not {other:?}")),
        };
        if session.plays_recording() {
            return fail("what is replayed asks nothing");
        }
        let auto = questions.map(|questions| Auto { questions, reason: cx.config.auto.reason.clone() });
        let (name, has_rules) = (session.name(), allows_anything(cx, session));
        let text = match &auto {
            Some(auto) => auto.news(&name),
            None => format!("from now on {name} asks you"),
        };
        let cwd = session.place.cwd.clone();
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
        let is_new = auto.is_some() && !is_on;
        if is_new && has_rules {
            session.warn_of_auto(true, now);
        }
        let commands = session.set_auto(auto, now);
        cx.send_all(commands);
        if is_new && !has_rules {
            // Rules that count in the project are on the disk.
            let work = Work::FolderRules { cwd, files: cx.rule_files()? };
            cx.compute(work, move |_: &mut Self, cx, outcome| {
                let has_rules = matches!(outcome, Outcome::FolderRules(found) if found.allows_anything());
                let now = cx.now();
                if let Some(session) = cx.sessions.get_mut(&key).filter(|session| session.auto().is_some()) {
                    session.warn_of_auto(has_rules, now);
                    cx.raise(EditorEvent::SessionChanged(key));
                }
                Ok(())
            });
        }
        cx.notify(text, Level::Info);
        cx.raise(EditorEvent::SessionChanged(key));
        cx.raise(EditorEvent::QuestionsChanged);
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }
}

/// What a turn that was left alone has come to, for those who listen.
pub fn data(turn: &AutoTurn) -> Json {
    json!({
        "done": turn.done,
        "failed": turn.failed,
        "allowed": turn.allowed,
        "refused": turn.refused,
        "without_asking": turn.without_asking,
        "waiting": turn.waiting,
    })
}

/// Whether any rule that is known here allows something. Those of the project's file and those that were made by answers
/// are known in the background alone.
fn allows_anything(cx: &Context, session: &Session) -> bool {
    let permission = &cx.config.permission;
    let own = permission.rules.iter().chain(&session.rules);
    !permission.sets.is_empty() || own.into_iter().any(|rule| rule.decision == Decision::Allow)
}
