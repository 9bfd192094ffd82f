//! Sessions that wait for the user's word before they may change anything more: a limit is reached, or what they want
//! would go beyond one. What they want to write or run waits with them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::mutex::lock;
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Ceiling, Event, Hold, Measure, Severity, Span};
use crate::mailbox::Mailbox;

/// What a session wants to do.
#[derive(Clone, Copy)]
pub enum Want<'a> {
    Write(&'a Path),
    /// A command, as one would type it.
    Run(&'a str),
}

#[derive(Default)]
pub struct Holds(Mutex<HashMap<SessionKey, watch::Sender<State>>>);

#[derive(Default)]
struct State {
    hold: Hold,
    /// Whether one runs, and how many there were.
    in_turn: bool,
    turns: u64,
    turn: Done,
    session: Done,
    /// Commands that may be changing files.
    running: usize,
    /// What may have changed files has ended so often, and what was changed until then is counted up to here.
    ended: u64,
    counted: u64,
}

/// What was let through.
#[derive(Default)]
struct Done {
    files: HashSet<PathBuf>,
    commands: usize,
}

/// What is to be done about a request.
enum Step {
    Go,
    Wait,
    Refuse,
    /// It would go beyond this.
    Full(Span, Measure),
}

impl Done {
    fn full(&self, ceiling: &Ceiling, want: Want) -> Option<Measure> {
        match want {
            Want::Write(path) => {
                let is_full = ceiling.files.is_some_and(|most| self.files.len() >= most);
                (is_full && !self.files.contains(path)).then_some(Measure::Files)
            }
            Want::Run(_) => {
                ceiling.commands.is_some_and(|most| self.commands >= most).then_some(Measure::Commands)
            }
        }
    }

    fn take(&mut self, want: Want) {
        match want {
            Want::Write(path) => drop(self.files.insert(path.to_owned())),
            Want::Run(_) => self.commands += 1,
        }
    }
}

impl State {
    /// `since` is the turn in which it began to wait, if it did.
    fn step(&mut self, want: Want, since: Option<u64>) -> Step {
        let full = |done: &Done, ceiling, span| Some(Step::Full(span, done.full(ceiling, want)?));
        let is_over = self.hold.stopped || !self.in_turn;
        // What waited belongs to its turn.
        if since.is_some_and(|since| is_over || since != self.turns) {
            return Step::Refuse;
        }
        let Self { hold, turn, session, .. } = self;
        if hold.held {
            return Step::Wait;
        }
        let full = full(turn, &hold.turn, Span::Turn).or_else(|| full(session, &hold.session, Span::Session));
        if let Some(full) = full {
            return if is_over { Step::Refuse } else { full };
        }
        turn.take(want);
        session.take(want);
        Step::Go
    }

    /// The number up to which has to be counted before anything more is changed.
    fn uncounted(&mut self) -> Option<u64> {
        if !self.hold.counts_changes {
            return None;
        }
        self.ended += u64::from(self.running > 0);
        (self.counted < self.ended).then_some(self.ended)
    }
}

impl Holds {
    pub fn set(&self, session: SessionKey, hold: Hold) {
        let mut all = lock(&self.0);
        all.entry(session).or_default().send_modify(|state| state.hold = hold);
    }

    pub fn turn_began(&self, session: SessionKey) {
        let mut all = lock(&self.0);
        all.entry(session).or_default().send_modify(|state| {
            (state.turn, state.in_turn) = (Done::default(), true);
            state.turns += 1;
        });
    }

    /// What waits at a limit waits no longer.
    pub fn turn_ended(&self, session: SessionKey) {
        if let Some(state) = lock(&self.0).get(&session) {
            state.send_modify(|state| state.in_turn = false);
        }
    }

    pub fn ended(&self, session: SessionKey) {
        lock(&self.0).remove(&session);
    }

    pub fn command_began(&self, session: SessionKey) {
        self.modify(session, |state| state.running += 1);
    }

    pub fn command_ended(&self, session: SessionKey) {
        self.modify(session, |state| {
            state.running = state.running.saturating_sub(1);
            state.ended += 1;
        });
    }

    /// A call of an agent's is over, which may have run a command itself.
    pub fn call_ended(&self, session: SessionKey) {
        self.modify(session, |state| state.ended += 1);
    }

    /// These files were changed, as it is known by now, in the turn and in all.
    pub fn counted(&self, session: SessionKey, upto: u64, (turn, all): (HashSet<PathBuf>, HashSet<PathBuf>)) {
        self.modify(session, |state| {
            state.counted = state.counted.max(upto);
            state.turn.files.extend(turn);
            state.session.files.extend(all);
        });
    }

    fn modify(&self, session: SessionKey, change: impl FnOnce(&mut State)) {
        if let Some(state) = lock(&self.0).get(&session) {
            state.send_modify(change);
        }
    }

    /// Has counted what the session has changed until now, as far as it is limited. The files that were changed are told
    /// by `settle`; the editor counts them. Neither is waited for long.
    pub async fn count(
        &self,
        session: SessionKey,
        settle: impl Future<Output = ()>,
        (mailbox, patience): (&Mailbox, Duration),
    ) {
        let Some((upto, mut state)) = self.uncounted(session) else { return };
        settle.await;
        mailbox.post(Event::CountWanted { session, upto });
        let is_counted = state.wait_for(|state| state.counted >= upto);
        if timeout(patience, is_counted).await.is_err() {
            // What is not counted by now counts later.
            self.counted(session, upto, Default::default());
        }
    }

    fn uncounted(&self, session: SessionKey) -> Option<(u64, watch::Receiver<State>)> {
        let all = lock(&self.0);
        let sender = all.get(&session)?;
        let mut upto = None;
        sender.send_if_modified(|state| {
            upto = state.uncounted();
            false
        });
        Some((upto?, sender.subscribe()))
    }

    /// A command that was let through is not run for another reason.
    pub fn give_command_back(&self, session: SessionKey) {
        if let Some(state) = lock(&self.0).get(&session) {
            state.send_modify(|state| {
                for done in [&mut state.turn, &mut state.session] {
                    done.commands = done.commands.saturating_sub(1);
                }
            });
        }
    }

    /// Waits until the session may do it; says whether it may. The editor hears which limit it would go beyond, and the
    /// user that it is not done.
    pub async fn admit(
        &self,
        (agent, session): (AgentId, SessionKey),
        want: Want<'_>,
        mailbox: &Mailbox,
    ) -> bool {
        let tell = |span, measure| mailbox.post(Event::LimitMet { session, span, measure });
        let may = self.enter(session, want, tell).await;
        if !may {
            let done = match want {
                Want::Write(path) => format!("{} was not written", path.display()),
                Want::Run(line) => format!("`{line}` was not run"),
            };
            let text = format!("{done}: it waited at your limit when the turn ended");
            let severity = Severity::Info;
            mailbox.post(Event::Noted { agent, session: Some(session), severity, text });
        }
        may
    }

    async fn enter(&self, session: SessionKey, want: Want<'_>, tell: impl Fn(Span, Measure)) -> bool {
        let mut since = None;
        loop {
            let (step, mut state) = {
                let all = lock(&self.0);
                let Some(sender) = all.get(&session) else { return true };
                let mut step = Step::Go;
                sender.send_if_modified(|state| {
                    step = state.step(want, since);
                    since.get_or_insert(state.turns);
                    // Nobody who waits need look again.
                    false
                });
                (step, sender.subscribe())
            };
            match step {
                Step::Go => return true,
                Step::Refuse => return false,
                Step::Wait => {}
                Step::Full(span, measure) => tell(span, measure),
            }
            // One that is gone holds nobody.
            if state.changed().await.is_err() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::Future;

    use super::*;

    const ONE: SessionKey = SessionKey(1);

    async fn waits(entering: impl Future) -> bool {
        tokio::time::timeout(Duration::from_millis(20), entering).await.is_err()
    }

    #[tokio::test]
    async fn a_session_that_is_held_waits_and_others_do_not() {
        let holds = Holds::default();
        holds.turn_began(ONE);
        holds.set(ONE, Hold { held: true, ..Hold::default() });
        holds.enter(SessionKey(2), Want::Run("x"), |_, _| {}).await;
        assert!(waits(holds.enter(ONE, Want::Run("x"), |_, _| {})).await);
        let freed =
            tokio::time::timeout(Duration::from_secs(10), holds.enter(ONE, Want::Run("x"), |_, _| {}));
        let (freed, ()) = tokio::join!(freed, async { holds.set(ONE, Hold::default()) });
        assert_eq!(freed, Ok(true));
    }

    #[tokio::test]
    async fn a_command_that_is_not_run_counts_for_no_limit() {
        let holds = Holds::default();
        holds.turn_began(ONE);
        let turn = Ceiling { commands: Some(1), ..Ceiling::default() };
        holds.set(ONE, Hold { turn, ..Hold::default() });
        assert!(holds.enter(ONE, Want::Run("x"), |_, _| {}).await);
        let next = holds.enter(ONE, Want::Run("y"), |_, _| {});
        let (may, ()) = tokio::join!(next, async { holds.give_command_back(ONE) });
        assert!(may);
        assert!(waits(holds.enter(ONE, Want::Run("z"), |_, _| {})).await);
    }

    #[tokio::test]
    async fn what_goes_beyond_waits_and_is_told_and_the_same_file_is_none_more() {
        let holds = Holds::default();
        let turn = Ceiling { files: Some(1), commands: Some(0) };
        holds.turn_began(ONE);
        holds.set(ONE, Hold { turn, ..Hold::default() });
        let told = RefCell::new(Vec::new());
        let enter = |want| holds.enter(ONE, want, |span, measure| told.borrow_mut().push((span, measure)));
        assert!(!waits(enter(Want::Write(Path::new("/a")))).await);
        assert!(!waits(enter(Want::Write(Path::new("/a")))).await);
        assert!(waits(enter(Want::Write(Path::new("/b")))).await);
        assert!(waits(enter(Want::Run("x"))).await);
        assert_eq!(*told.borrow(), [(Span::Turn, Measure::Files), (Span::Turn, Measure::Commands)]);
        // A turn has its own count, a session goes on with its.
        let session = Ceiling { files: Some(2), commands: None };
        let turn = Ceiling { files: Some(9), commands: None };
        holds.set(ONE, Hold { turn, session, ..Hold::default() });
        holds.turn_began(ONE);
        assert!(!waits(enter(Want::Write(Path::new("/b")))).await);
        assert!(waits(enter(Want::Write(Path::new("/c")))).await);
        assert_eq!(told.borrow().last(), Some(&(Span::Session, Measure::Files)));
        // Who has stopped the turn is not asked.
        let hold = Hold { session, stopped: true, ..Hold::default() };
        holds.set(ONE, hold);
        assert!(!enter(Want::Write(Path::new("/c"))).await);
        holds.ended(ONE);
        assert!(!waits(enter(Want::Write(Path::new("/c")))).await);
    }

    #[tokio::test]
    async fn what_waits_is_not_done_when_its_turn_is_stopped_or_over() {
        let held = Hold { held: true, ..Hold::default() };
        let freed: [fn(&Holds); 3] = [
            |holds| holds.set(ONE, Hold { stopped: true, ..Hold::default() }),
            |holds| holds.turn_ended(ONE),
            |holds| {
                holds.turn_ended(ONE);
                holds.set(ONE, Hold::default());
                holds.turn_began(ONE);
            },
        ];
        for free in freed {
            let holds = Holds::default();
            holds.turn_began(ONE);
            holds.set(ONE, held);
            let write = holds.enter(ONE, Want::Write(Path::new("/a")), |_, _| {});
            let (may, ()) = tokio::join!(write, async { free(&holds) });
            assert!(!may);
        }
        // What comes when no turn runs, and is beyond a limit, finds nobody who is asked.
        let holds = Holds::default();
        holds.turn_began(ONE);
        holds.set(ONE, Hold { turn: Ceiling { commands: Some(0), files: None }, ..Hold::default() });
        holds.turn_ended(ONE);
        assert!(!holds.enter(ONE, Want::Run("x"), |_, _| {}).await);
        assert!(holds.enter(ONE, Want::Write(Path::new("/a")), |_, _| {}).await);
    }
}
