//! What is asked of the agent once more by itself: how long that waits, what is said of it meanwhile, and how the user
//! stops it. Whether it is done at all decides `recovery`.

use super::recovery::{Lost, Sent, Trouble, Way, reconnect, way};
use super::turn::Queued;
use super::{Phase, Session};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{Command, Content, Ending, Failure, FailureKind, Reopen, Update};
use crate::core::session::entry::{Body, Greeting, Restart, Then};

impl Session {
    /// The agent does something of the turn: what it has begun is not asked for twice.
    pub fn agent_works(&mut self) {
        self.turn.begun = true;
    }

    /// The same by an update that is more than an echo or the state of things.
    pub(super) fn note_work(&mut self, update: &Update) {
        use crate::core::message::Role;
        let is_state = match update {
            Update::Message { role, .. } => *role == Role::User,
            Update::Commands(_)
            | Update::Dated(_)
            | Update::Replayed(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Info { .. }
            | Update::Usage { .. }
            | Update::Limit(_)
            | Update::Notice { .. }
            | Update::Unknown { .. } => true,
            _ => false,
        };
        self.turn.begun |= !is_state;
    }

    /// What to do about a failed turn.
    pub(super) fn way_back(&self, failure: &Failure) -> Way {
        let said = format!("{} {}", failure.message, failure.details.as_deref().unwrap_or_default());
        let of_session = said.to_lowercase().contains("session")
            || self.acp_id.as_ref().is_some_and(|id| !id.is_empty() && said.contains(id.as_str()));
        let (begun, times) = (self.turn.begun, self.turn.times);
        way(Trouble { sent: Sent::Prompt, failure, of_session, begun, times }, self.recovery)
    }

    /// The turn has failed, and its prompt goes out again after a while.
    pub(super) fn prompt_again(&mut self, failure: Failure, after: u64, now: Moment) {
        let due = Moment(now.0 + after);
        self.add(Body::TurnFailed(failure, Then::Again { seconds: seconds_left(due, now) }), now);
        self.phase = Phase::Waiting { since: now, due, sent: Sent::Prompt };
    }

    /// The agent does not know the session any more: another one takes the prompt when the user wants it.
    pub(super) fn session_lost(&mut self, failure: Failure, now: Moment) {
        let content = std::mem::take(&mut self.turn.content);
        self.queue.push_front(Queued::again(content));
        self.acp_id = None;
        self.text_stays = true;
        self.is_lost = true;
        self.add(Body::TurnFailed(failure, Then::NewSession), now);
        self.phase = Phase::Gone;
    }

    /// Whether the agent is there and only the session is not.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// A new session takes the place of one that the agent does not know any more.
    pub fn begins_anew(&mut self, now: Moment) {
        self.is_lost = false;
        self.taking_up = None;
        self.phase = Phase::Opening { since: now };
        self.add(Body::Greeting(Greeting::Opening { title: self.name() }), now);
        self.status_touched = true;
    }

    /// The agent did not open the session. Says what to ask it for now, if it is asked again, or that it will be.
    pub fn opening_failed(&mut self, failure: &Failure, now: Moment) -> Option<Vec<Command>> {
        let Phase::Opening { .. } = self.phase else { return None };
        let sent = if self.taking_up.is_some() { Sent::Stored } else { Sent::New };
        let trouble = Trouble { sent, failure, of_session: true, begun: false, times: self.opening_times };
        let Way::Again(after) = way(trouble, self.recovery) else { return None };
        self.opening_times += 1;
        if after == 0 {
            let text = format!("{}; it is asked once more, with more time", failure.message);
            self.notice(crate::core::message::Severity::Warning, text, now);
            return Some(vec![self.open_command()]);
        }
        let due = Moment(now.0 + after);
        self.greet(Greeting::Waiting {
            name: self.name(),
            failure: failure.clone(),
            seconds: seconds_left(due, now),
        });
        self.phase = Phase::Waiting { since: now, due, sent };
        Some(Vec::new())
    }

    /// What has the agent open the session, or resume the stored one that is meant.
    pub fn open_command(&self) -> Command {
        let (agent, session, mut place) = (self.agent, self.key, self.place.clone());
        match self.taking_up.clone() {
            Some((acp_id, how)) => Command::Load { agent, session, place, acp_id, how },
            None => {
                place.beginning = Box::new(self.defaults.beginning());
                Command::Open { agent, session, place }
            }
        }
    }

    /// Time has passed: what is due is sent, else the seconds that are left are counted.
    pub(super) fn count_down(&mut self, now: Moment) -> Vec<Command> {
        let Phase::Waiting { due, sent, .. } = self.phase else { return Vec::new() };
        if now < due {
            let left = seconds_left(due, now);
            self.tell_waiting(|then| *then = Then::Again { seconds: left }, |seconds| *seconds = left);
            return Vec::new();
        }
        self.status_touched = true;
        if sent == Sent::Prompt {
            self.tell_waiting(|then| *then = Then::Sent, |_| {});
            self.phase = Phase::Idle;
            self.times = self.turn.times + 1;
            let content = std::mem::take(&mut self.turn.content);
            self.queue.push_front(Queued::again(content));
            return self.next_prompt(now);
        }
        self.phase = Phase::Opening { since: now };
        self.greet(Greeting::Opening { title: self.name() });
        vec![self.open_command()]
    }

    /// The user does not want it sent again by itself. It waits for them, and what was typed after it does, too.
    pub fn stop_waiting(&mut self) -> bool {
        let Phase::Waiting { sent, .. } = self.phase else { return false };
        self.status_touched = true;
        if sent != Sent::Prompt {
            let failure = self.entries.iter().rev().find_map(|entry| match &entry.body {
                Body::Greeting(Greeting::Waiting { failure, .. }) => Some(failure.clone()),
                _ => None,
            });
            let cancelled =
                || Failure { kind: FailureKind::Cancelled, message: "it was stopped".into(), details: None };
            self.phase = Phase::Gone;
            let restart = self.restart();
            let failure = failure.unwrap_or_else(cancelled);
            self.greet(Greeting::Failed { name: self.name(), failure, stderr: Vec::new(), restart });
            return true;
        }
        self.tell_waiting(|then| *then = Then::Held, |_| {});
        self.phase = Phase::Idle;
        let content = self.content_waiting();
        self.queue.push_front(Queued { held: true, ..Queued::new(content) });
        self.queue.iter_mut().for_each(|queued| queued.held = true);
        true
    }

    /// The agent ends meanwhile: the prompt that waits is for the next one.
    pub(super) fn keep_waiting_prompt(&mut self) {
        if !matches!(self.phase, Phase::Waiting { sent: Sent::Prompt, .. }) {
            return;
        }
        self.tell_waiting(|then| *then = Then::Nothing, |_| {});
        let content = self.content_waiting();
        self.queue.push_front(Queued::again(content));
    }

    fn content_waiting(&mut self) -> Vec<Content> {
        std::mem::take(&mut self.turn.content)
    }

    fn tell_waiting(&mut self, turn: impl FnOnce(&mut Then), opening: impl FnOnce(&mut u64)) {
        let waits = |body: &Body| {
            matches!(body, Body::TurnFailed(_, Then::Again { .. }) | Body::Greeting(Greeting::Waiting { .. }))
        };
        let Some(at) = self.entries.iter().rposition(|entry| waits(&entry.body)) else { return };
        let before = self.entries[at].body.clone();
        match &mut self.entries[at].body {
            Body::TurnFailed(_, then) => turn(then),
            Body::Greeting(Greeting::Waiting { seconds, .. }) => opening(seconds),
            _ => {}
        }
        if self.entries[at].body != before {
            self.touched.insert(EntryId(at));
        }
    }

    /// After how long the agent is started again by itself, now that it is gone. To be asked before `exited`.
    pub fn reconnects(&self, ending: &Ending) -> Option<u64> {
        let idle = self.acp_id.is_some() && matches!(self.phase, Phase::Idle);
        let (restart, expected) = (self.restart(), ending.expected);
        reconnect(Lost { restart, idle, expected, times: self.reconnected }, self.recovery)
    }

    /// The agent that has just ended is started again by itself.
    pub fn comes_back(&mut self) {
        self.reconnected += 1;
        if let Some(at) = self.entries.len().checked_sub(1)
            && let Body::Greeting(Greeting::Gone { restart, .. }) = &mut self.entries[at].body
        {
            let how = if *restart == Restart::Resume { Reopen::Resume } else { Reopen::Load };
            *restart = Restart::ByItself(how);
            self.touched.insert(EntryId(at));
        }
    }
}

fn seconds_left(due: Moment, now: Moment) -> u64 {
    due.since(now).div_ceil(1000)
}

#[cfg(test)]
mod tests;
