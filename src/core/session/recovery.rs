//! What to do about an answer that is an error, and about an agent that is gone: decided by the error, by what was
//! asked, by whether the agent had begun to work and by how often it was tried. Who waits and sends is `retry`.

use crate::core::message::{Failure, FailureKind};
use crate::core::session::entry::Restart;

/// What the user wants done by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Send again what the agent did not begin to work on.
    pub again: bool,
    /// Start an agent again that is gone while nothing ran.
    pub reconnect: bool,
    /// Nothing is waited for longer than this, in milliseconds.
    pub longest: u64,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { again: true, reconnect: true, longest: 600_000 }
    }
}

/// What the agent was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Prompt,
    /// `session/new`.
    New,
    /// `session/load` or `session/resume`.
    Stored,
}

/// What went wrong, and when.
#[derive(Clone, Copy, Debug)]
pub struct Trouble<'a> {
    pub sent: Sent,
    pub failure: &'a Failure,
    /// The failure is about the session, not about something in it.
    pub of_session: bool,
    /// The agent had begun: to do it again may do it twice.
    pub begun: bool,
    /// How often it was sent again by itself.
    pub times: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Say what happened, and what the user can do.
    Tell,
    /// Ask again after so many milliseconds.
    Again(u64),
    /// The session is gone: another one can take what was typed.
    NewSession,
}

/// The first wait where an agent does not say how long it is busy; each is twice as long as the one before.
const FIRST_WAIT: u64 = 5_000;
const MOST_WAITS: u32 = 5;

/// A moment for the agent to come to itself, and for the user to stop it.
const PAUSE: u64 = 2_000;

pub fn way(trouble: Trouble<'_>, recovery: Recovery) -> Way {
    let Trouble { sent, failure, of_session, begun, times } = trouble;
    if failure.kind == FailureKind::NotFound && of_session && sent == Sent::Prompt {
        return Way::NewSession;
    }
    if begun || !recovery.again {
        return Way::Tell;
    }
    let wait = match failure.kind {
        // The time is asked for by the agent, so it does not count against it that others were.
        FailureKind::RateLimited(told) if times < MOST_WAITS => {
            told.map_or_else(|| FIRST_WAIT << times, |told| told.max(1000))
        }
        FailureKind::Timeout if times == 0 && sent == Sent::Prompt => PAUSE,
        // It has waited long enough; what is longer this time is how long the answer is waited for.
        FailureKind::Timeout if times == 0 => 0,
        // What can't be loaded is not there any more, whatever the agent calls that.
        FailureKind::Internal if times == 0 && sent != Sent::Stored => PAUSE,
        _ => return Way::Tell,
    };
    if wait <= recovery.longest { Way::Again(wait) } else { Way::Tell }
}

/// An agent that is gone.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    pub restart: Restart,
    /// No turn ran, and the session was open.
    pub idle: bool,
    /// The user wanted it to end.
    pub expected: bool,
    /// How often it was started again by itself since it last finished a turn.
    pub times: u32,
}

/// After how many milliseconds the agent is started again, if that is to be done by itself. One that goes on dying is left
/// to the user.
pub fn reconnect(lost: Lost, recovery: Recovery) -> Option<u64> {
    const WAITS: [u64; 3] = [0, 5_000, 30_000];
    let keeps = matches!(lost.restart, Restart::Resume | Restart::Load);
    let wanted = recovery.reconnect && keeps && lost.idle && !lost.expected;
    WAITS.get(usize::try_from(lost.times).ok()?).copied().filter(|wait| wanted && *wait <= recovery.longest)
}

#[cfg(test)]
mod tests {
    use super::Sent::*;
    use super::Way::*;
    use super::*;

    fn decided(sent: Sent, kind: FailureKind, begun: bool, times: u32) -> Way {
        let failure = Failure { kind, message: "no".into(), details: None };
        way(Trouble { sent, failure: &failure, of_session: true, begun, times }, Recovery::default())
    }

    #[test]
    fn each_error_has_its_way_back() {
        use FailureKind::{
            Agent, AuthRequired, Busy, Cancelled, Denied, Disconnected, Internal, NotFound, Protocol,
            RateLimited, Timeout,
        };
        let table = [
            // The session is gone, and nothing typed with it.
            (Prompt, NotFound, false, 0, NewSession),
            (Prompt, NotFound, true, 0, NewSession),
            (New, NotFound, false, 0, Tell),
            (Stored, NotFound, false, 0, Tell),
            // Nobody but the user can change a no.
            (Prompt, Denied, false, 0, Tell),
            (New, Denied, false, 0, Tell),
            // As long as the agent says, or longer each time; not for ever.
            (Prompt, RateLimited(Some(7_000)), false, 0, Again(7_000)),
            (Prompt, RateLimited(Some(7_000)), false, 4, Again(7_000)),
            (Prompt, RateLimited(Some(7_000)), false, 5, Tell),
            (Prompt, RateLimited(Some(0)), false, 0, Again(1_000)),
            (Prompt, RateLimited(Some(600_000)), false, 0, Again(600_000)),
            (Prompt, RateLimited(Some(600_001)), false, 0, Tell),
            (Prompt, RateLimited(None), false, 0, Again(5_000)),
            (Prompt, RateLimited(None), false, 1, Again(10_000)),
            (Prompt, RateLimited(None), false, 4, Again(80_000)),
            (Prompt, RateLimited(None), false, 5, Tell),
            (Prompt, RateLimited(None), true, 0, Tell),
            (New, RateLimited(None), false, 0, Again(5_000)),
            (Stored, RateLimited(None), false, 0, Again(5_000)),
            // Once more, with more time.
            (Prompt, Timeout, false, 0, Again(2_000)),
            (Prompt, Timeout, false, 1, Tell),
            (Prompt, Timeout, true, 0, Tell),
            (New, Timeout, false, 0, Again(0)),
            (New, Timeout, false, 1, Tell),
            (Stored, Timeout, false, 0, Again(0)),
            // Once, where nothing can happen twice.
            (Prompt, Internal, false, 0, Again(2_000)),
            (Prompt, Internal, false, 1, Tell),
            (Prompt, Internal, true, 0, Tell),
            (New, Internal, false, 0, Again(2_000)),
            (Stored, Internal, false, 0, Tell),
            // A login has its own way, and the rest is told.
            (Prompt, AuthRequired, false, 0, Tell),
            (Prompt, Busy, false, 0, Tell),
            (Prompt, Agent, false, 0, Tell),
            (Prompt, Cancelled, false, 0, Tell),
            (Prompt, Disconnected, false, 0, Tell),
            (New, Protocol, false, 0, Tell),
        ];
        for (sent, kind, begun, times, way) in table {
            assert_eq!(decided(sent, kind, begun, times), way, "{sent:?} {kind:?} {begun} {times}");
        }
    }

    #[test]
    fn a_file_that_is_not_found_is_no_lost_session() {
        let failure = Failure { kind: FailureKind::NotFound, message: "a.rs".into(), details: None };
        let trouble = Trouble { sent: Prompt, failure: &failure, of_session: false, begun: false, times: 0 };
        assert_eq!(way(trouble, Recovery::default()), Tell);
    }

    #[test]
    fn nothing_is_sent_again_where_the_user_does_not_want_it() {
        let off = Recovery { again: false, ..Recovery::default() };
        for kind in [FailureKind::RateLimited(None), FailureKind::Timeout, FailureKind::Internal] {
            let failure = Failure { kind, message: String::new(), details: None };
            let trouble =
                Trouble { sent: Prompt, failure: &failure, of_session: false, begun: false, times: 0 };
            assert_eq!(way(trouble, off), Tell);
        }
    }

    #[test]
    fn an_idle_agent_that_is_gone_is_started_again_and_not_for_ever() {
        let lost = |restart, times| Lost { restart, idle: true, expected: false, times };
        let on = Recovery::default();
        let waits = [0, 1, 2, 3, 4].map(|times| reconnect(lost(Restart::Resume, times), on));
        assert_eq!(waits, [Some(0), Some(5_000), Some(30_000), None, None]);
        assert_eq!(reconnect(lost(Restart::Load, 0), on), Some(0));
        for restart in [Restart::New, Restart::First] {
            assert_eq!(reconnect(lost(restart, 0), on), None, "it would know nothing of the session");
        }
        let busy = Lost { idle: false, ..lost(Restart::Resume, 0) };
        let wanted = Lost { expected: true, ..lost(Restart::Resume, 0) };
        assert_eq!([busy, wanted].map(|lost| reconnect(lost, on)), [None, None]);
        let off = Recovery { reconnect: false, ..on };
        assert_eq!(reconnect(lost(Restart::Resume, 0), off), None);
        assert_eq!(reconnect(lost(Restart::Resume, 1), Recovery { longest: 1000, ..on }), None);
    }
}
