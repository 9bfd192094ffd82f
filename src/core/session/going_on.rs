//! A limit of the user's is reached: they are asked whether the agent goes on. What a session uses up is told by whoever
//! sees it; what the limits are, and what of them is left, is `budget`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::asks::{OpenAsk, Wanted};
use super::budget::{Budget, Reached, Used, Word};
use super::entry::{Body, Elicitation, Subject, Verdict};
use super::tool_call::{Status, ToolCall};
use super::{Phase, Session};
use crate::core::ids::{AskId, EntryId, Moment};
use crate::core::message::{Command, Hold, Measure, Span, ToolKind};

impl Session {
    /// A call has begun, or is known better now. One that is rejected uses nothing up.
    pub fn count_call(&mut self, entry: EntryId) {
        let Some(call) = self.entry(entry).and_then(|entry| entry.tool()) else { return };
        let (is_command, was_refused) = (call.kind == ToolKind::Execute, call.status == Status::Rejected);
        let used = [&mut self.budget.turn, &mut self.budget.session];
        if was_refused && self.budget.counted.remove(&entry) {
            used.into_iter().for_each(|used| used.commands = used.commands.saturating_sub(1));
        } else if is_command && !was_refused && self.budget.counted.insert(entry) {
            used.into_iter().for_each(|used| used.commands += 1);
        }
    }

    /// The agent has changed a file.
    pub fn count_change(&mut self, path: &Path, lines: usize) {
        for used in [&mut self.budget.turn, &mut self.budget.session] {
            if !used.files.contains(path) {
                used.files.insert(path.to_owned());
            }
            used.lines += lines;
        }
    }

    /// The files that it has changed, in the turn and in all.
    pub fn files_counted(&self) -> (&HashSet<PathBuf>, &HashSet<PathBuf>) {
        (&self.budget.turn.files, &self.budget.session.files)
    }

    /// A prompt was sent: what the turn uses up is counted anew.
    pub(super) fn begin_budget(&mut self) {
        self.budget.turn = Used::default();
    }

    /// The turn is over, and with it the question whether it goes on.
    pub(super) fn end_budget(&mut self, now: Moment) {
        self.budget.before += self.worked(now);
        if let Some((ask, _)) = self.budget.asked.take() {
            self.end_question(ask, Verdict::TurnOver, now);
        }
    }

    /// A limit is reached by an agent that works, and that the user is not asked about already.
    fn may_reach_limit(&self) -> bool {
        matches!(self.phase, Phase::Working { .. }) && !self.is_held()
    }

    /// The limit that is reached, if the user was not asked about one yet.
    pub fn limit_reached(&self, now: Moment) -> Option<Reached> {
        if !self.may_reach_limit() {
            return None;
        }
        let Budget { bounds, turn, session, before, .. } = &self.budget;
        let worked = self.worked(now);
        let in_turn = self.meter.turn_cost();
        let in_session = self.cost.as_ref().map_or(in_turn, |cost| cost.amount);
        turn.reached(Span::Turn, &bounds.turn, worked, in_turn)
            .or_else(|| session.reached(Span::Session, &bounds.session, before + worked, in_session))
            .map(|reached| reached.without(self.commands_not_begun()))
    }

    /// How many of the commands that were counted have not begun, as far as the agent tells.
    fn commands_not_begun(&self) -> usize {
        let is_next = |call: &ToolCall| matches!(call.status, Status::Pending | Status::Waiting);
        let next = self.open_calls().filter(|(_, call)| is_next(call));
        next.filter(|(entry, _)| self.budget.counted.contains(entry)).count()
    }

    /// The limit that what is wanted next would go beyond, unless it counts no longer or the user is asked already.
    pub fn limit_met(&self, span: Span, measure: Measure) -> Option<Reached> {
        if !self.may_reach_limit() {
            return None;
        }
        let hold = self.hold();
        let ceiling = if span == Span::Turn { hold.turn } else { hold.session };
        let limit = if measure == Measure::Commands { ceiling.commands } else { ceiling.files }? as f64;
        Some(Reached { span, measure, used: limit, not_begun: 0, limit, is_wanted: true })
    }

    /// What it may do before the user is asked.
    pub fn hold(&self) -> Hold {
        let Budget { bounds, turn, session, .. } = &self.budget;
        Hold {
            held: self.is_held(),
            stopped: matches!(self.phase, Phase::Cancelling { .. }),
            counts_changes: [bounds.turn, bounds.session]
                .iter()
                .any(|limits| limits.files.is_some() || limits.lines.is_some()),
            turn: turn.ceiling(&bounds.turn),
            session: session.ceiling(&bounds.session),
        }
    }

    /// In how many milliseconds of work a limit of time is reached.
    pub fn time_left(&self, now: Moment) -> Option<u64> {
        if !self.may_reach_limit() {
            return None;
        }
        let left = |used: &Used, limit: Option<u64>, worked: u64| {
            let limit = limit.filter(|_| !used.lifted)? as f64 * used.times(Measure::Time);
            Some((limit as u64).saturating_sub(worked))
        };
        let Budget { bounds, turn, session, before, .. } = &self.budget;
        let worked = self.worked(now);
        let all = [left(turn, bounds.turn.time, worked), left(session, bounds.session.time, before + worked)];
        all.into_iter().flatten().min()
    }

    /// A limit is reached: the user is asked whether the agent goes on. Until then nothing is allowed without them.
    pub fn ask_to_go_on(&mut self, ask: AskId, reached: Reached, now: Moment) {
        let elicitation = Elicitation {
            asker: self.name(),
            message: reached.words(),
            subject: Subject::Limit,
            verdict: Verdict::Open,
            choices: Vec::new(),
            is_long: false,
        };
        let entry = self.say(Body::Elicitation(Box::new(elicitation)), now);
        let wanted = Wanted::Permission(Word::ALL.map(|word| word.option(reached.span)).to_vec());
        self.budget.asked = Some((ask, reached));
        // What else waits depends on it.
        self.asks.insert(0, OpenAsk::new(ask, entry, wanted));
        self.show_choices(entry);
        self.note_user_time(now);
        self.status_touched = true;
    }

    /// Whether the user is asked about a limit: what would change something waits for that.
    pub fn is_held(&self) -> bool {
        self.budget.asked.is_some_and(|(ask, _)| self.asks.iter().any(|open| open.ask == ask))
    }

    /// What the user says to a limit.
    pub(super) fn go_on(&mut self, word: Word, now: Moment) -> Vec<Command> {
        let Some((_, reached)) = self.budget.asked.take() else { return Vec::new() };
        let used = match reached.span {
            Span::Turn => &mut self.budget.turn,
            Span::Session => &mut self.budget.session,
        };
        match word {
            Word::GoOn => used.pass(&reached),
            Word::Lift => used.lifted = true,
            Word::Stop => return self.cancel(now),
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{
        AgentInfo, Answer, Content, Opened, PermissionKind, PermissionOption, Place, StopReason,
        ToolCallPatch, TurnEnd, WireStatus,
    };
    use crate::core::rules::{Decision, Ruling};
    use crate::core::session::AgentRun;
    use crate::core::session::budget::{Bounds, Limits};

    const ASK: AskId = AskId(9);

    fn working(turn: Limits, session: Limits) -> Session {
        let mut it = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        it.connected(AgentInfo { title: Some("Demo".into()), ..AgentInfo::default() });
        it.opened(Opened::default(), Moment(0));
        it.budget.bounds = Bounds { turn, session };
        it.prompt(vec![Content::Text("x".into())], Moment(0));
        it
    }

    fn change(session: &mut Session, names: &[&str]) {
        names.iter().for_each(|name| session.count_change(Path::new(name), 10));
    }

    fn words(session: &Session, now: u64) -> Option<String> {
        session.limit_reached(Moment(now)).map(|reached| reached.words())
    }

    #[test]
    fn each_limit_is_reached_by_what_it_counts() {
        let mut session = working(Limits { files: Some(2), ..Limits::default() }, Limits::default());
        change(&mut session, &["/a", "/b", "/a"]);
        assert_eq!(words(&session, 1), None, "as many as the limit are within it");
        change(&mut session, &["/c"]);
        assert_eq!(words(&session, 1).as_deref(), Some("has changed 3 files in this turn; your limit is 2"));

        let mut session = working(Limits { lines: Some(15), ..Limits::default() }, Limits::default());
        change(&mut session, &["/a", "/a"]);
        assert_eq!(
            words(&session, 1).as_deref(),
            Some("has changed 20 lines in this turn; your limit is 15")
        );

        let mut session = working(Limits { commands: Some(1), ..Limits::default() }, Limits::default());
        for (id, status) in
            [("1", WireStatus::InProgress), ("2", WireStatus::Pending), ("2", WireStatus::InProgress)]
        {
            let wanted = words(&session, 1);
            assert!(wanted.is_none_or(|words| words.starts_with("wants to run more than 1 command in ")));
            let kind = Some(ToolKind::Execute);
            let patch = ToolCallPatch { kind, status: Some(status), ..ToolCallPatch::new(id) };
            let entry = session.upsert(patch, Moment(1));
            session.count_call(entry);
        }
        assert_eq!(words(&session, 1).as_deref(), Some("has run 2 commands in this turn; your limit is 1"));
        let kind = PermissionKind::RejectOnce;
        let reject = PermissionOption { id: "no".into(), name: "no".into(), kind };
        session.asked_first(AskId(1), ToolCallPatch::new("2"), vec![reject], Moment(1));
        let ruling = Ruling { decision: Some(Decision::Reject), ..Ruling::default() };
        session.judged(AskId(1), Some(Box::new(ruling)), Moment(1));
        let entry = session.upsert(ToolCallPatch::new("2"), Moment(1));
        session.count_call(entry);
        assert_eq!(words(&session, 1), None, "what is rejected is not run");

        let session = working(Limits { time: Some(60_000), ..Limits::default() }, Limits::default());
        assert_eq!((words(&session, 59_999), session.time_left(Moment(59_000))), (None, Some(1000)));
        assert_eq!(
            words(&session, 90_000).as_deref(),
            Some("has worked for 1 min 30 s in this turn; your limit is 1 min")
        );
    }

    #[test]
    fn nothing_is_asked_twice_and_who_goes_on_may_use_up_as_much_again() {
        let mut session = working(Limits { files: Some(2), ..Limits::default() }, Limits::default());
        change(&mut session, &["/a", "/b", "/c"]);
        let reached = session.limit_reached(Moment(1)).expect("a limit");
        session.ask_to_go_on(ASK, reached, Moment(1));
        assert!(session.is_held());
        assert_eq!(session.limit_reached(Moment(2)), None);
        assert_eq!(session.answer(ASK, "continue", Moment(3)), []);
        assert!(!session.is_held());
        change(&mut session, &["/d"]);
        assert_eq!(words(&session, 4), None);
        change(&mut session, &["/e"]);
        assert_eq!(words(&session, 4).as_deref(), Some("has changed 5 files in this turn; your limit is 4"));
        let reached = session.limit_reached(Moment(5)).expect("a limit");
        session.ask_to_go_on(AskId(10), reached, Moment(5));
        assert_eq!(session.answer(AskId(10), "unlimited", Moment(6)), []);
        change(&mut session, &["/f", "/g", "/h", "/i", "/j"]);
        assert_eq!(words(&session, 7), None);
    }

    #[test]
    fn to_stop_cancels_the_turn_and_a_cancelled_turn_holds_nothing() {
        let limits = Limits { files: Some(0), ..Limits::default() };
        for stops in [true, false] {
            let mut session = working(limits, Limits::default());
            change(&mut session, &["/a"]);
            let reached = session.limit_reached(Moment(1)).expect("a limit");
            session.ask_to_go_on(ASK, reached, Moment(1));
            let commands = match stops {
                true => session.answer(ASK, "stop", Moment(2)),
                false => session.cancel(Moment(2)),
            };
            assert!(commands.contains(&Command::Cancel { session: SessionKey(1) }), "{commands:?}");
            assert!(!session.is_held() && session.limit_reached(Moment(3)).is_none());
        }
    }

    #[test]
    fn the_question_ends_with_its_turn() {
        let mut session = working(Limits { files: Some(0), ..Limits::default() }, Limits::default());
        change(&mut session, &["/a"]);
        let reached = session.limit_reached(Moment(1)).expect("a limit");
        session.ask_to_go_on(ASK, reached, Moment(1));
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(2));
        assert!(session.asks().is_empty() && !session.is_held());
        session.prompt(vec![Content::Text("y".into())], Moment(3));
        assert_eq!(session.answer(ASK, "stop", Moment(4)), [], "another turn than the one it was about");
        assert!(session.is_working());
    }

    #[test]
    fn what_a_rule_allows_waits_at_a_limit_without_a_question_of_its_own() {
        let mut session = working(Limits { files: Some(0), ..Limits::default() }, Limits::default());
        change(&mut session, &["/a"]);
        let reached = session.limit_reached(Moment(1)).expect("a limit");
        session.ask_to_go_on(ASK, reached, Moment(1));
        let ask = AskId(1);
        let kind = PermissionKind::AllowOnce;
        let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind };
        session.asked_first(ask, ToolCallPatch::new("1"), vec![option], Moment(2));
        let ruling = Ruling { decision: Some(Decision::Allow), ..Ruling::default() };
        assert_eq!(session.judged(ask, Some(Box::new(ruling.clone())), Moment(2)), []);
        assert_eq!(session.asks().iter().map(|open| open.ask).collect::<Vec<_>>(), [ASK]);
        assert_eq!(session.held_by_limit().map(|open| open.ask).collect::<Vec<_>>(), [ask]);
        session.answer(ASK, "continue", Moment(3));
        let commands = session.judged(ask, Some(Box::new(ruling)), Moment(4));
        assert!(
            matches!(&commands[..], [Command::Answer { answer: Answer::Ruled { .. }, .. }]),
            "{commands:?}"
        );
        assert_eq!(session.held_by_limit().count(), 0);
    }

    #[test]
    fn a_session_counts_its_turns_together() {
        let limits = Limits { files: Some(1), time: Some(100), ..Limits::default() };
        let mut session = working(Limits::default(), limits);
        change(&mut session, &["/a"]);
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(60));
        session.prompt(vec![Content::Text("y".into())], Moment(100));
        assert_eq!((words(&session, 139), session.time_left(Moment(139))), (None, Some(1)));
        assert_eq!(
            words(&session, 140).as_deref(),
            Some("has worked for 100 ms in this session; your limit is 100 ms")
        );
        session.budget.bounds.session.time = None;
        change(&mut session, &["/b"]);
        assert_eq!(
            words(&session, 140).as_deref(),
            Some("has changed 2 files in this session; your limit is 1")
        );
    }
}
