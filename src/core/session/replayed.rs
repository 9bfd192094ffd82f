//! What a replay says beside what the recorded agent did. It is heard in the chats of replays alone.

use super::Session;
use crate::core::ids::Moment;
use crate::core::message::{Replayed, Severity, TurnEnd};
use crate::core::session::entry::{Body, Then};
use crate::core::session::tool_call::Cause;

impl Session {
    pub(super) fn replayed(&mut self, told: Replayed, now: Moment) {
        let Some(replay) = &mut self.replay else { return };
        match told {
            Replayed::TurnEnded { end, took } => self.replayed_turn_ended(end, took, now),
            Replayed::Over => {
                replay.is_over = true;
                self.end_thought(now);
                self.close_calls(&Cause::TurnEnded, now);
                let text = "The recording is over. :Acp close ends it.";
                self.notice(Severity::Info, text.into(), now);
            }
        }
        self.status_touched = true;
    }

    fn replayed_turn_ended(&mut self, end: TurnEnd, took: u64, now: Moment) {
        self.end_thought(now);
        self.close_calls(&Cause::TurnEnded, now);
        let silent = !std::mem::take(&mut self.turn.answered);
        let body = match end {
            TurnEnd::Stopped { reason, usage } => {
                self.meter.turn_ended(usage, self.agent);
                let tokens = self.meter.turn().tokens;
                Body::Stop { reason, silent, took, tokens, cost: self.turn_cost() }
            }
            TurnEnd::Failed(failure) => Body::TurnFailed(failure, Then::Nothing),
        };
        self.meter.prompted();
        self.add(body, now);
        self.speaker_shown = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AgentId, SessionKey};
    use crate::core::message::{Content, Opened, Place, Role, StopReason, Update};
    use crate::core::replay::{Pace, Replaying};
    use crate::core::session::AgentRun;

    fn played(replay: Option<Replaying>, answer: bool) -> Vec<Body> {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.replay = replay;
        let before = session.entries().len();
        if answer {
            let content = Content::Text("Hi".into());
            session.apply(Update::Message { role: Role::Agent, message: None, content }, Moment(1));
        }
        let end = TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None };
        for told in [Replayed::TurnEnded { end, took: 7000 }, Replayed::Over] {
            session.apply(Update::Replayed(Box::new(told)), Moment(2));
        }
        session.entries()[before..].iter().map(|entry| entry.body.clone()).collect()
    }

    #[test]
    fn a_replayed_turn_ends_as_it_did_and_after_it_the_recording() {
        let replay = Replaying { pace: Pace::AtOnce, is_over: false };
        for answer in [true, false] {
            let all = played(Some(replay), answer);
            let [.., stop, over] = all.as_slice() else { panic!("{all:?}") };
            let Body::Stop { took: 7000, silent, .. } = stop else { panic!("{stop:?}") };
            assert_eq!(*silent, !answer);
            assert!(matches!(over, Body::Notice { text, .. } if text.contains("is over")), "{over:?}");
        }
    }

    #[test]
    fn a_replay_that_is_started_again_is_not_over() {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.replay = Some(Replaying { pace: Pace::Step, is_over: false });
        session.apply(Update::Replayed(Box::new(Replayed::Over)), Moment(1));
        assert_eq!(session.replay.map(|replay| replay.is_over), Some(true));
        session.restarted(AgentId(2), "demo", Moment(2));
        assert_eq!(session.replay.map(|replay| replay.is_over), Some(false));
    }

    #[test]
    fn an_agent_that_plays_a_replay_is_not_heard() {
        assert_eq!(played(None, false), []);
    }
}
