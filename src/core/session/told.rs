//! What of a session was told to users' autocommands, so that each of its changes is told once.

use std::collections::BTreeSet;

use crate::core::ids::EntryId;
use crate::core::session::Session;
use crate::core::session::status::{mode, state};
use crate::core::session::tool_call::Status;

#[derive(Default)]
pub struct Told {
    state: Option<&'static str>,
    mode: Option<String>,
    turns: u64,
    /// By the number of the entry.
    calls: Vec<Option<Status>>,
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A tool call has another status, or is new.
    Call(EntryId),
    Mode(String),
    State(&'static str),
}

impl Told {
    /// A turn begins; gives its number.
    pub fn turn_started(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    /// The number of the present turn, or of the last one; the first is 1, before it there is 0.
    pub fn turn(&self) -> u64 {
        self.turns
    }

    /// What has changed since the last time, of these entries and, with `status`, of the session itself.
    pub fn news(&mut self, session: &Session, entries: &BTreeSet<EntryId>, status: bool) -> Vec<News> {
        let mut news = Vec::new();
        for entry in entries {
            let call = session.entry(*entry).and_then(|entry| entry.tool());
            let Some(call) = call.filter(|call| !call.is_command_alone) else { continue };
            if self.calls.len() <= entry.0 {
                self.calls.resize(entry.0 + 1, None);
            }
            if self.calls[entry.0].replace(call.status) != Some(call.status) {
                news.push(News::Call(*entry));
            }
        }
        if !status {
            return news;
        }
        if let Some(mode) = mode(session)
            && self.mode.as_ref() != Some(&mode)
        {
            // What a session begins with is no change.
            if self.mode.replace(mode.clone()).is_some() {
                news.push(News::Mode(mode));
            }
        }
        let state = state(session);
        if self.state.replace(state) != Some(state) {
            news.push(News::State(state));
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey, ToolCallId};
    use crate::core::message::{Content, Modes, Named, Opened, Place, ToolCallPatch, Update};
    use crate::core::session::AgentRun;

    fn mode_named(id: &str) -> Modes {
        let named = |id: &str| Named { id: id.into(), name: id.to_uppercase(), description: None };
        Modes { current: id.into(), available: vec![named("ask"), named("code")] }
    }

    fn open(modes: Option<Modes>) -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened { modes, ..Opened::default() }, Moment(0));
        session
    }

    #[test]
    fn a_state_is_told_once_and_again_when_it_is_another_one() {
        let (mut told, mut session) = (Told::default(), open(None));
        let nothing = BTreeSet::new();
        assert_eq!(told.news(&session, &nothing, true), [News::State("idle")]);
        assert_eq!(told.news(&session, &nothing, true), []);
        session.prompt(vec![Content::Text("x".into())], Moment(1));
        assert_eq!(told.news(&session, &nothing, false), [], "nothing of the session was touched");
        assert_eq!(told.news(&session, &nothing, true), [News::State("working")]);
    }

    #[test]
    fn the_mode_that_a_session_begins_with_is_no_news() {
        let (mut told, mut session) = (Told::default(), open(Some(mode_named("ask"))));
        let nothing = BTreeSet::new();
        assert_eq!(told.news(&session, &nothing, true), [News::State("idle")]);
        session.modes = Some(mode_named("code"));
        assert_eq!(told.news(&session, &nothing, true), [News::Mode("CODE".into())]);
        session.modes = None;
        assert_eq!(told.news(&session, &nothing, true), []);
        session.modes = Some(mode_named("code"));
        assert_eq!(told.news(&session, &nothing, true), [], "it was that before");
    }

    #[test]
    fn a_call_is_told_when_its_status_is_another_one() {
        let (mut told, mut session) = (Told::default(), open(None));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let id = ToolCallId("c1".into());
        let call = ToolCallPatch::new("c1");
        session.apply(Update::ToolCall(Box::new(call)), Moment(0));
        let entry = session.call_entry(&id).expect("the call has an entry");
        let touched = BTreeSet::from([EntryId(0), entry]);
        assert_eq!(told.news(&session, &touched, false), [News::Call(entry)]);
        assert_eq!(told.news(&session, &touched, false), []);
        session.cancel(Moment(1));
        assert_eq!(told.news(&session, &touched, false), [News::Call(entry)]);
    }

    #[test]
    fn turns_are_counted_from_one() {
        let mut told = Told::default();
        assert_eq!((told.turn(), told.turn_started(), told.turn_started(), told.turn()), (0, 1, 2, 2));
    }
}
