//! For how long the agent has waited for the user in a turn: what they take to answer is not the agent's time.

use super::entry::{Body, Entry};
use super::{Phase, Session};
use crate::core::ids::{EntryId, Moment};

impl Session {
    /// A question came, or is over.
    pub(super) fn note_user_time(&mut self, now: Moment) {
        let waits = self.waits_for_user();
        self.turn.user_time.note(waits, now);
        // A call that is open meanwhile is no longer at work for that.
        let open: Vec<EntryId> = self.open_calls().map(|(entry, _)| entry).collect();
        for entry in open {
            if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
                call.note_user_time(waits, now);
            }
        }
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
    use crate::core::ids::{AskId, SessionKey};
    use crate::core::message::{
        Content, Opened, PermissionKind, PermissionOption, Place, StopReason, ToolCallPatch, TurnEnd, Update,
        WireStatus,
    };
    use crate::core::session::AgentRun;
    use crate::core::session::tool_call::ToolCall;

    fn at_work() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
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
    fn what_the_user_took_to_answer_is_not_the_time_of_other_calls() {
        let mut session = at_work();
        let report = |session: &mut Session, id: &str, status, now| {
            let patch = ToolCallPatch { status: Some(status), ..ToolCallPatch::new(id) };
            session.apply(Update::ToolCall(patch.into()), Moment(now));
        };
        let took = |session: &Session, id: &str| {
            let calls = session.entries().iter().filter_map(Entry::tool);
            calls.filter(|call| call.id.0 == id).find_map(ToolCall::took)
        };
        report(&mut session, "before", WireStatus::Pending, 0);
        ask(&mut session, 1, 1000);
        report(&mut session, "during", WireStatus::InProgress, 5000);
        report(&mut session, "short", WireStatus::InProgress, 6000);
        report(&mut session, "short", WireStatus::Completed, 7000);
        session.answer(AskId(1), "y", Moment(61_000));
        for (id, now) in [("before", 62_000), ("during", 63_000), ("1", 64_000)] {
            report(&mut session, id, WireStatus::Completed, now);
        }
        let all = ["before", "during", "short", "1"].map(|id| took(&session, id));
        assert_eq!(all, [Some(2000), Some(2000), Some(0), Some(3000)]);
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
