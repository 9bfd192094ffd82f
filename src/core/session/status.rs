//! A session's state, mode and model in a word, for bars, lists and users' status lines.

use crate::core::ids::EntryId;
use crate::core::message::{OptionKind, ToolKind};
use crate::core::session::tool_call::Status;
use crate::core::session::{Phase, Session};
use crate::core::text::{cut, one_line};

/// A longer name of a mode, and what it means, are cut in messages after so many bytes.
const LONG_NAME: usize = 40;
const LONG_MEANING: usize = 100;

/// `starting`, `idle`, `working`, `stopping`, `waiting` for the user, `failed`, or `ended` as the user asked.
pub fn state(session: &Session) -> &'static str {
    match session.phase {
        _ if session.waits_for_user() => "waiting",
        Phase::Opening { .. } => "starting",
        Phase::LoginNeeded => "waiting",
        Phase::Gone if session.was_stopped() => "ended",
        Phase::Gone => "failed",
        Phase::Idle => "idle",
        Phase::Working { .. } | Phase::Waiting { .. } => "working",
        Phase::Cancelling { .. } | Phase::Ending { .. } => "stopping",
    }
}

/// The name of the mode the session is in.
pub fn mode(session: &Session) -> Option<String> {
    choice(session, "mode").or_else(|| {
        let modes = session.modes.as_ref()?;
        let named = modes.available.iter().find(|mode| mode.id == modes.current);
        Some(named.map_or_else(|| modes.current.clone(), |mode| mode.name.clone()))
    })
}

/// The id of the mode the session is in.
pub fn mode_id(session: &Session) -> Option<String> {
    match session.selection("mode").map(|option| &option.kind) {
        Some(OptionKind::Select { current, .. }) => Some(current.clone()),
        _ => session.modes.as_ref().map(|modes| modes.current.clone()),
    }
}

/// What to tell the user whose agent is in another mode than before: its name, and what the agent says it means.
pub fn mode_news(session: &Session, before: Option<&str>) -> Option<String> {
    let now = mode(session)?;
    before.filter(|before| *before != now)?;
    let told = match session.selection("mode").map(|option| &option.kind) {
        Some(OptionKind::Select { current, groups }) => {
            groups.iter().flat_map(|group| &group.values).find(|value| value.id == *current)
        }
        _ => session
            .modes
            .as_ref()
            .and_then(|modes| modes.available.iter().find(|mode| mode.id == modes.current)),
    };
    let means = told.and_then(|value| value.description.as_deref()).map(one_line);
    let means =
        means.filter(|means| !means.is_empty()).map(|means| format!(": {}", shortened(&means, LONG_MEANING)));
    let now = shortened(&one_line(&now), LONG_NAME);
    // The name first: lines that are too long for the screen are cut behind their beginning.
    Some(format!("mode {now:?} ({}){}", session.name(), means.unwrap_or_default()))
}

fn shortened(text: &str, bytes: usize) -> String {
    let start = cut(text, bytes);
    if start.len() < text.len() { format!("{start}…") } else { start.to_owned() }
}

pub fn model(session: &Session) -> Option<String> {
    choice(session, "model").or_else(|| {
        let models = session.models.as_ref()?;
        let named = models.available.iter().find(|model| model.id == models.current);
        Some(named.map_or_else(|| models.current.clone(), |model| model.name.clone()))
    })
}

/// What is chosen of the option that is the mode or the model.
fn choice(session: &Session, category: &str) -> Option<String> {
    let OptionKind::Select { current, groups } = &session.selection(category)?.kind else { return None };
    let named = groups.iter().flat_map(|group| &group.values).find(|value| value.id == *current);
    Some(named.map_or_else(|| current.clone(), |value| value.name.clone()))
}

/// What a call does now that is about no file, such as a command: for a bar. The newest call that is not over counts.
pub fn running(session: &Session) -> Option<(EntryId, String)> {
    let (entry, call) = session
        .open_calls()
        .last()
        .filter(|(_, call)| !matches!(call.status, Status::Waiting | Status::Stopping))?;
    let words = match call.kind {
        ToolKind::Execute => format!("running {}", call.command().unwrap_or_else(|| call.subject())),
        ToolKind::Fetch => call.headline(),
        _ => return None,
    };
    Some((entry, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AskId, Moment, SessionKey};
    use crate::core::message::{
        Chosen, Content, Ending, Failure, FailureKind, Modes, Named, Opened, PermissionKind,
        PermissionOption, Place, ToolCallPatch, ToolKind, Update, WireStatus,
    };
    use crate::core::session::AgentRun;

    fn starting() -> Session {
        Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0))
    }

    #[test]
    fn a_session_starts_is_idle_works_and_stops() {
        let mut session = starting();
        assert_eq!(state(&session), "starting");
        session.opened(Opened::default(), Moment(0));
        assert_eq!(state(&session), "idle");
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert_eq!(state(&session), "working");
        session.cancel(Moment(1));
        assert_eq!(state(&session), "stopping");
    }

    #[test]
    fn an_agent_that_ends_as_the_user_wished_has_ended_and_else_has_failed() {
        let ended = |expected: bool| {
            let mut session = starting();
            session.opened(Opened::default(), Moment(0));
            if expected {
                session.ending(Moment(1));
                assert_eq!(state(&session), "stopping");
            }
            session.exited(Ending { failure: None, exit: None, stderr: Vec::new(), expected }, Moment(2));
            state(&session)
        };
        assert_eq!((ended(true), ended(false)), ("ended", "failed"));
    }

    #[test]
    fn a_mode_that_is_another_one_is_told_with_what_it_means() {
        let mode = |id: &str, name: &str, description: Option<&str>| Named {
            id: id.into(),
            name: name.into(),
            description: description.map(Into::into),
        };
        let mut session = starting();
        let available = vec![
            mode("ask", "Ask", None),
            mode("auto", "Auto", Some("Works without\nasking")),
            mode("x", &"x".repeat(99), None),
        ];
        let modes = Modes { current: "ask".into(), available };
        session.opened(Opened { modes: Some(modes), ..Opened::default() }, Moment(0));
        let mut change = |to: &str| {
            let before = super::mode(&session);
            session.chosen(Chosen::Mode(to.into()));
            mode_news(&session, before.as_deref())
        };
        assert_eq!(change("ask"), None);
        let expected = "mode \"Auto\" (demo): Works without asking";
        assert_eq!(change("auto").as_deref(), Some(expected));
        assert_eq!(change("unheard-of").as_deref(), Some("mode \"unheard-of\" (demo)"));
        assert!(change("x").is_some_and(|told| told.len() < 90));
    }

    #[test]
    fn a_write_that_waits_for_the_users_decision_waits_for_the_user_and_takes_none_of_the_agents_time() {
        let mut session = starting();
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session.set_conflicts(1, Moment(1000));
        assert_eq!((state(&session), session.worked(Moment(5000))), ("waiting", 1000));
        session.set_conflicts(0, Moment(6000));
        assert_eq!((state(&session), session.worked(Moment(7000))), ("working", 2000));
    }

    #[test]
    fn a_login_waits_for_the_user() {
        let mut session = starting();
        let message = "log in".to_owned();
        session.open_failed(Failure { kind: FailureKind::AuthRequired, message, details: None });
        assert_eq!(state(&session), "waiting");
    }

    #[test]
    fn a_bar_says_the_command_that_runs_and_not_what_was_edited_before() {
        let call = |id: &str, kind, status, title: &str| {
            let (kind, status, title) = (Some(kind), Some(status), Some(title.to_owned()));
            Update::ToolCall(Box::new(ToolCallPatch { kind, status, title, ..ToolCallPatch::new(id) }))
        };
        let mut session = starting();
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let words = |session: &Session| running(session).map(|(_, words)| words);
        assert_eq!(words(&session), None);
        session.apply(call("1", ToolKind::Execute, WireStatus::InProgress, "cargo test"), Moment(1));
        assert_eq!(words(&session).as_deref(), Some("running cargo test"));
        session.apply(call("2", ToolKind::Fetch, WireStatus::InProgress, "Fetch the docs"), Moment(1));
        assert_eq!(words(&session).as_deref(), Some("Fetch the docs"));
        session.apply(call("2", ToolKind::Fetch, WireStatus::Completed, "Fetch the docs"), Moment(1));
        let yes = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
        session.asked(AskId(1), ToolCallPatch::new("1"), vec![yes], Moment(1));
        assert_eq!(words(&session), None, "it waits for the user");
    }
}
