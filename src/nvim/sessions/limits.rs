//! The user's limits for what an agent may use up: when one is reached they are asked, and what would change something
//! waits in the background until they have answered. What counts is `core::session::budget`.

use std::time::Duration;

use crate::core::ids::{AskId, EntryId, SessionKey};
use crate::core::message::{Command, Measure, RulesNews, Span};
use crate::core::session::budget::Reached;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::sessions::Sessions;

/// Questions of this client's own are numbered downwards from here; conflicts are above.
const FIRST_ASK: u64 = u64::MAX - (1 << 31);

/// Sooner than this it is not looked again whether a time is over.
const SOONEST: Duration = Duration::from_millis(50);

impl Sessions {
    /// The agent has changed a file: how much that is.
    pub(super) fn count_change(cx: &mut Context, change: &Change) {
        if let Some(session) = cx.sessions.get_mut(&change.session)
            && session.budget.is_bounded()
        {
            session.count_change(&change.path, lines_of(change));
        }
    }

    /// The user has other limits now, which count for open sessions, too: for what they use up from then on.
    pub fn options_changed(&mut self, cx: &mut Context) {
        let (bounds, recovery) = (cx.config.limits.bounds(), cx.config.recovery.wanted());
        let mut others = Vec::new();
        for (key, session) in &mut cx.sessions {
            session.recovery = recovery;
            if session.budget.bounds != bounds {
                session.budget.bounds = bounds;
                others.push(*key);
            }
        }
        for key in others {
            // A time may be over sooner than it was.
            self.timed.remove(&key);
            self.check_limits(cx, key);
        }
    }

    /// All that the session had changed by then was counted.
    pub fn changes_counted(cx: &mut Context, key: SessionKey, upto: u64) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let (turn, all) = session.files_counted();
        let (turn, all) = (turn.clone(), all.clone());
        cx.send(Command::Rules(RulesNews::Counted { session: key, upto, turn, all }));
    }

    /// Something of a session is another: a limit may be reached, or the user may have answered.
    pub fn check_limits(&mut self, cx: &mut Context, key: SessionKey) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        if !session.budget.is_bounded() && !self.held.contains_key(&key) {
            return;
        }
        if let Some(reached) = session.limit_reached(now) {
            self.ask_to_go_on(cx, key, reached);
        }
        let Some(session) = cx.sessions.get(&key) else { return };
        let (hold, left) = (session.hold(), session.time_left(now));
        let told = self.held.insert(key, hold).unwrap_or_default();
        if hold != told {
            cx.send(Command::Rules(RulesNews::Holds { session: key, hold }));
        }
        if told.held && !hold.held {
            // What rules allow goes on without the user.
            cx.raise(EditorEvent::RulesChanged);
        }
        if let Some(left) = left.filter(|_| self.timed.insert(key)) {
            let after = Duration::from_millis(left).max(SOONEST);
            let later = cx.later(after, move |this: &mut Self, cx| {
                this.timed.remove(&key);
                this.check_limits(cx, key);
                Ok(())
            });
            cx.editor.notify_error(later);
        }
    }

    /// What the session wants to do next would go beyond a limit, and waits.
    pub fn limit_met(&mut self, cx: &mut Context, key: SessionKey, span: Span, measure: Measure) {
        let met = cx.sessions.get(&key).and_then(|session| session.limit_met(span, measure));
        if let Some(reached) = met {
            self.ask_to_go_on(cx, key, reached);
        }
    }

    fn ask_to_go_on(&mut self, cx: &mut Context, key: SessionKey, reached: Reached) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        self.limits_asked += 1;
        session.ask_to_go_on(AskId(FIRST_ASK - self.limits_asked), reached, now);
        let text = format!("{} {}", session.name(), reached.words());
        cx.announce(key, &text, Level::Warn);
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// A call has begun, or is known better now.
    pub fn count_call(cx: &mut Context, key: SessionKey, entry: EntryId) {
        if let Some(session) = cx.sessions.get_mut(&key)
            && session.budget.is_bounded()
        {
            session.count_call(entry);
        }
    }
}

/// How many lines a change is about: those that it touched, or by which the file is shorter.
fn lines_of(change: &Change) -> usize {
    let touched: usize = change.ranges.iter().map(|(first, end)| end.saturating_sub(*first)).sum();
    let gone = match change.lines {
        Some((before, after)) => before.saturating_sub(after),
        // No buffer knows which.
        None if touched == 0 => lines_between(change.before.as_deref(), change.after.as_deref()),
        None => 0,
    };
    touched.max(gone)
}

/// How many lines lie between what two texts begin and end with alike, in the longer of them.
fn lines_between(before: Option<&str>, after: Option<&str>) -> usize {
    let [before, after] = [before, after].map(|text| text.unwrap_or_default().lines().collect::<Vec<_>>());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let first = before.iter().zip(&after).take_while(same).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    before.len().max(after.len()) - last
}
