//! For how long the agent has waited for the user in a turn: what they take to answer is not the agent's time.

use super::{Phase, Session};
use crate::core::ids::Moment;

#[derive(Default)]
pub(super) struct UserTime {
    /// Something waits for them since then.
    since: Option<Moment>,
    /// In milliseconds, what they took for answers before.
    before: u64,
}

impl UserTime {
    fn note(&mut self, waits: bool, now: Moment) {
        match self.since {
            None if waits => self.since = Some(now),
            Some(since) if !waits => {
                self.before += now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn until(&self, now: Moment) -> u64 {
        self.before + self.since.map_or(0, |since| now.since(since))
    }
}

impl Session {
    /// A question came, or is over.
    pub(super) fn note_user_time(&mut self, now: Moment) {
        self.turn.user_time.note(self.waits_for_user(), now);
    }

    /// Whether the agent waits for an answer of the user's.
    pub fn waits_for_user(&self) -> bool {
        !self.asks.is_empty() || self.conflicts > 0
    }

    /// So many of the agent's writes wait until the user has decided about a conflict.
    pub fn set_conflicts(&mut self, count: usize, now: Moment) {
        self.status_touched |= self.conflicts != count;
        self.conflicts = count;
        self.note_user_time(now);
    }

    /// For how many milliseconds the agent has worked in the turn that runs.
    pub fn worked(&self, now: Moment) -> u64 {
        match self.phase {
            Phase::Working { since } | Phase::Cancelling { since, .. } => {
                now.since(since).saturating_sub(self.turn.user_time.until(now))
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::ids::{AgentId, AskId, SessionKey};
    use crate::core::message::{
        Content, Opened, PermissionKind, PermissionOption, Place, StopReason, ToolCallPatch, TurnEnd,
    };
    use crate::core::session::entry::Body;

    fn at_work() -> Session {
        let mut session =
            Session::new(SessionKey(1), AgentId(1), "demo", "demo", Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn ask(session: &mut Session, id: u64, now: u64) {
        let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
        session.asked(AskId(id), ToolCallPatch::new(id.to_string()), vec![option], Moment(now));
    }

    /// How long the turn has taken that ends now.
    fn took(session: &mut Session, now: u64) -> Option<u64> {
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(now));
        session.entries().iter().rev().find_map(|entry| match &entry.body {
            Body::Stop { took, .. } => Some(*took),
            _ => None,
        })
    }

    #[test]
    fn what_the_user_took_to_answer_is_not_the_turns_time() {
        let mut session = at_work();
        ask(&mut session, 1, 1000);
        assert_eq!(session.worked(Moment(30_000)), 1000);
        session.answer(AskId(1), "y", Moment(41_000));
        assert_eq!(session.worked(Moment(42_000)), 2000);
        assert_eq!(took(&mut session, 43_000), Some(3000));
    }

    #[test]
    fn questions_at_the_same_time_are_waited_for_once() {
        let mut session = at_work();
        ask(&mut session, 1, 1000);
        ask(&mut session, 2, 2000);
        session.answer(AskId(1), "y", Moment(5000));
        session.withdrawn(AskId(2), Moment(9000));
        assert_eq!(took(&mut session, 10_000), Some(2000));
    }

    #[test]
    fn a_form_is_waited_for_like_a_question_and_each_turn_begins_anew() {
        let mut session = at_work();
        session.asked_to_fill(AskId(1), "Who?".into(), &json!({}), Moment(1000));
        session.decline(AskId(1), Moment(8000));
        assert_eq!(took(&mut session, 9000), Some(2000));
        session.prompt(vec![Content::Text("y".into())], Moment(20_000));
        ask(&mut session, 2, 21_000);
        session.cancel(Moment(30_000));
        assert_eq!(took(&mut session, 31_000), Some(2000));
    }
}
