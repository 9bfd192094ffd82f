//! A session that its user leaves alone (`:Acp auto`): rules decide what its agent asks, and what they leave open waits in
//! the chat or is rejected. Limits hold all the same: a question about one waits for the user. What came of a turn is
//! said when it ends; how that is counted is `auto_turn`'s part.

use super::Session;
use super::auto_turn::AutoTurn;
use super::entry::{Body, Verdict};
use super::tool_call::ToolCall;
use crate::core::ids::{AskId, Moment};
use crate::core::message::{Answer, Command, PermissionKind, PermissionOption, Severity};
use crate::core::rules::{Decision, Ruling};
use crate::core::text::{cut, one_line};

/// What becomes of what rules leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoQuestions {
    Wait,
    Reject,
}

impl AutoQuestions {
    /// As the user writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Reject => "reject",
        }
    }

    /// In a message.
    fn words(self) -> &'static str {
        match self {
            Self::Wait => "waits",
            Self::Reject => "is rejected",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auto {
    pub questions: AutoQuestions,
    /// What is said of what is rejected, in the user's words.
    pub reason: Option<String>,
}

/// A reason is read, not studied.
const MAX_REASON_BYTES: usize = 300;
const NO_RULE: &str = "no rule is about it";

impl Auto {
    pub fn rejects(&self) -> bool {
        self.questions == AutoQuestions::Reject
    }

    /// What the user is told who leaves a session alone.
    pub fn news(&self, name: &str) -> String {
        format!("{name}: rules decide, the rest {}", self.questions.words())
    }

    /// What they should know of their options before they look away.
    fn lacks(has_rules: bool, has_limits: bool) -> Option<&'static str> {
        match (has_rules, has_limits) {
            (true, true) => None,
            (false, true) => Some("allow nothing"),
            (true, false) => Some("set no limits"),
            (false, false) => Some("allow nothing, and set no limits"),
        }
    }

    /// Why something is rejected that the user would have been asked, for this reason.
    fn why(&self, asked_because: &str) -> String {
        let because = if asked_because.is_empty() { NO_RULE } else { asked_because };
        match &self.reason {
            Some(reason) => format!("{} ({because})", one_line(cut(reason, MAX_REASON_BYTES))),
            None => because.to_owned(),
        }
    }
}

/// Whether a session is left alone.
#[derive(Default)]
pub(super) struct AutoState {
    now: Option<Auto>,
    /// It was at some time in the turn.
    was_in_turn: bool,
    /// What came of the last such turn, until somebody takes it.
    pub(super) last: Option<AutoTurn>,
}

impl AutoState {
    pub fn turn_began(&mut self) {
        self.was_in_turn = self.now.is_some();
    }

    /// Says whether it was left alone at some time in the turn.
    pub fn turn_ended(&mut self) -> bool {
        std::mem::take(&mut self.was_in_turn)
    }
}

impl Session {
    pub fn auto(&self) -> Option<&Auto> {
        self.auto.now.as_ref()
    }

    /// The user leaves the session alone, or comes back to it. Questions that wait are answered if they are not to wait.
    pub fn set_auto(&mut self, auto: Option<Auto>, now: Moment) -> Vec<Command> {
        self.auto.was_in_turn |= auto.is_some() && self.is_in_turn();
        self.auto.now = auto;
        self.status_touched = true;
        let open: Vec<AskId> = self.asks.iter().map(|open| open.ask).collect();
        open.into_iter().flat_map(|ask| self.reject_unseen(ask, now)).collect()
    }

    /// The user is told what they may have forgotten before they leave; `has_rules` says whether any rule allows something.
    pub fn warn_of_auto(&mut self, has_rules: bool, now: Moment) {
        if let Some(lacks) = Auto::lacks(has_rules, self.budget.is_bounded()) {
            let text = format!("Left alone from here on. Your options and rules {lacks} (:help acp-auto).");
            self.notice(Severity::Info, text, now);
        }
    }

    /// A question has come, and the user may have said that none is to wait: it is rejected. One about a limit always
    /// waits, and so does one that can't be rejected just this once.
    pub(super) fn reject_unseen(&mut self, ask: AskId, now: Moment) -> Vec<Command> {
        let Some(auto) = self.auto().filter(|auto| auto.rejects()).cloned() else { return Vec::new() };
        let Some(open) = self.open_ask(ask).filter(|open| !self.is_about_limit(open.entry)) else {
            return Vec::new();
        };
        if !open.is_permission() {
            return self.conclude(ask, Verdict::ByAuto, Answer::Declined, now);
        }
        // For good is for the user to say.
        let once = |option: &&PermissionOption| option.kind == PermissionKind::RejectOnce;
        let Some(option) = open.options().iter().find(once).cloned() else { return Vec::new() };
        let mut ruling = self.ruling_of(ask);
        ruling.why = auto.why(&ruling.why);
        (ruling.decision, ruling.by_auto) = (Some(Decision::Reject), true);
        let Some(open) = self.close(ask, now) else { return Vec::new() };
        let commands = self.ruled(&open, option, Some(ruling.into()), now);
        self.judge(open.entry, Verdict::ByAuto);
        commands
    }

    /// What rules have said of what is asked.
    fn ruling_of(&self, ask: AskId) -> Ruling {
        let body = self.open_ask(ask).and_then(|open| self.entry(open.entry)).map(|entry| &entry.body);
        match body {
            Some(Body::Tool(call)) => call.ruling.as_deref().cloned().unwrap_or_default(),
            Some(Body::Elicitation(asked)) => {
                let why = asked.asked_because().unwrap_or_default();
                Ruling { why, ..Ruling::default() }
            }
            _ => Ruling::default(),
        }
    }
}

impl ToolCall {
    /// It was rejected since the user had left the session alone.
    pub fn was_rejected_by_auto(&self) -> bool {
        self.was_rejected && self.ruling.as_ref().is_some_and(|ruling| ruling.by_auto)
    }
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{
        Access, AskReason, Content, Measure, Opened, PermissionKind, PermissionOption, Place, RuledBy,
        Severity, Span, StopReason, ToolCallPatch, ToolKind, TurnEnd, Update, WireStatus,
    };
    use crate::core::session::AgentRun;
    use crate::core::session::budget::{Bounds, Limits, Reached};
    use crate::core::session::outside::OutsideUse;
    use crate::core::session::tool_call::Status;

    fn idle() -> Session {
        let place = Place { cwd: "/p".into(), ..Place::default() };
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
        session.opened(Opened::default(), Moment(0));
        session
    }

    fn working(questions: AutoQuestions) -> Session {
        let mut session = idle();
        session.set_auto(Some(Auto { questions, reason: None }), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn options(kinds: &[PermissionKind]) -> Vec<PermissionOption> {
        let option = |kind: &PermissionKind| {
            let id = kind.word().to_owned();
            PermissionOption { id: id.clone(), name: id, kind: kind.clone() }
        };
        kinds.iter().map(option).collect()
    }

    const USUAL: &[PermissionKind] =
        &[PermissionKind::AllowOnce, PermissionKind::RejectAlways, PermissionKind::RejectOnce];

    fn ask(session: &mut Session, id: u64, ruling: Option<Ruling>) -> Vec<Command> {
        let patch = ToolCallPatch {
            kind: Some(ToolKind::Execute),
            title: Some(format!("make {id}")),
            ..ToolCallPatch::new(id.to_string())
        };
        assert_eq!(session.asked_first(AskId(id), patch, options(USUAL), Moment(1)), []);
        session.judged(AskId(id), ruling.map(Box::new), Moment(1))
    }

    fn report(session: &mut Session, id: u64, status: WireStatus) {
        let patch = ToolCallPatch { status: Some(status), ..ToolCallPatch::new(id.to_string()) };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(2));
    }

    fn ruling(decision: Option<Decision>, why: &str) -> Option<Ruling> {
        Some(Ruling { decision, why: why.into(), ..Ruling::default() })
    }

    fn rejected(ask: u64, why: &str) -> Vec<Command> {
        let by = RuledBy::Auto(why.into());
        vec![Command::Answer { ask: AskId(ask), answer: Answer::Ruled { option: "reject_once".into(), by } }]
    }

    fn outside(session: &mut Session, id: u64) -> Vec<Command> {
        let usage = OutsideUse {
            path: "/etc/hosts".into(),
            target: "/etc".into(),
            access: Access::Read,
            why: AskReason::OutsideFolders,
            command: None,
            judgement: None,
        };
        session.asked_outside(AskId(id), usage, Moment(1))
    }

    fn ended(session: &mut Session) -> String {
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(9));
        let notice = |body: &Body| match body {
            Body::Notice { severity: Severity::Info, text, .. } => Some(text.clone()),
            _ => None,
        };
        session.entries().iter().rev().find_map(|entry| notice(&entry.body)).unwrap_or_default()
    }

    #[test]
    fn what_rules_leave_open_is_rejected_once_and_what_they_decide_is_decided_by_them() {
        let mut session = working(AutoQuestions::Reject);
        assert_eq!(ask(&mut session, 1, None), rejected(1, NO_RULE));
        let doubt = ruling(Some(Decision::Ask), "it can't be judged");
        assert_eq!(ask(&mut session, 2, doubt), rejected(2, "it can't be judged"));
        let allowed = ask(&mut session, 3, ruling(Some(Decision::Allow), "allow make **"));
        let by = RuledBy::Rule("allow make **".into());
        let answer = Answer::Ruled { option: "allow_once".into(), by };
        assert_eq!(allowed, [Command::Answer { ask: AskId(3), answer }]);
        assert_eq!((session.asks(), session.waits_for_user()), (&[][..], false));
        let calls: Vec<_> = session.entries().iter().filter_map(|entry| entry.tool()).collect();
        let shown = calls.iter().map(|call| (call.status, call.was_rejected_by_auto()));
        let expected = [(Status::Rejected, true), (Status::Rejected, true), (Status::Running, false)];
        assert!(shown.eq(expected));
    }

    #[test]
    fn the_users_reason_is_said_beside_the_one_for_which_they_would_be_asked() {
        let mut session = idle();
        let auto = Auto { questions: AutoQuestions::Reject, reason: Some("use the tests\nset".into()) };
        session.set_auto(Some(auto), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert_eq!(ask(&mut session, 1, None), rejected(1, "use the tests set (no rule is about it)"));
    }

    #[test]
    fn files_forms_and_pages_are_rejected_like_calls() {
        let mut session = working(AutoQuestions::Reject);
        let by = RuledBy::Auto("it is outside of the session's folders".into());
        let answer = Answer::Ruled { option: "no".into(), by };
        assert_eq!(outside(&mut session, 1), [Command::Answer { ask: AskId(1), answer }]);
        let schema = json!({ "properties": { "who": { "type": "string" } } });
        let declined = |ask| vec![Command::Answer { ask: AskId(ask), answer: Answer::Declined }];
        assert_eq!(session.asked_to_fill(AskId(2), "Who?".into(), &schema, Moment(1)), declined(2));
        let page = session.asked_to_open(AskId(3), "Log in".into(), "https://example.org", Moment(1));
        assert_eq!(page, declined(3));
        let by_auto = |body: &Body| matches!(body, Body::Elicitation(it) if it.verdict == Verdict::ByAuto);
        assert_eq!(session.entries().iter().filter(|entry| by_auto(&entry.body)).count(), 3);
    }

    #[test]
    fn what_waits_when_the_user_leaves_is_rejected_too_but_for_a_limit() {
        let mut session = idle();
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert_eq!(ask(&mut session, 1, None), []);
        let reached = Reached {
            span: Span::Turn,
            measure: Measure::Files,
            used: 2.0,
            not_begun: 0,
            limit: 1.0,
            is_wanted: false,
        };
        session.ask_to_go_on(AskId(9), reached, Moment(1));
        let reject = Auto { questions: AutoQuestions::Reject, reason: None };
        assert_eq!(session.set_auto(Some(reject), Moment(2)), rejected(1, NO_RULE));
        let waits: Vec<AskId> = session.asks().iter().map(|open| open.ask).collect();
        assert_eq!((waits, session.is_held()), (vec![AskId(9)], true), "limits hold");
    }

    #[test]
    fn what_can_only_be_rejected_for_good_or_not_at_all_waits() {
        let mut session = working(AutoQuestions::Reject);
        for (id, last) in [(1, PermissionKind::AllowAlways), (2, PermissionKind::RejectAlways)] {
            let only = options(&[PermissionKind::AllowOnce, last]);
            session.asked_first(AskId(id), ToolCallPatch::new(id.to_string()), only, Moment(1));
            assert_eq!(session.judged(AskId(id), None, Moment(1)), []);
        }
        assert_eq!(session.asks().len(), 2);
    }

    #[test]
    fn a_question_waits_when_it_is_to_and_is_asked_again_when_the_user_is_back() {
        let mut session = working(AutoQuestions::Wait);
        assert_eq!((ask(&mut session, 1, None), outside(&mut session, 2)), (vec![], vec![]));
        assert_eq!(session.asks().len(), 2);
        assert_eq!(session.set_auto(None, Moment(3)), []);
        assert_eq!((session.asks().len(), session.auto()), (2, None));
    }

    #[test]
    fn the_turn_is_summed_up_for_who_left_it_alone() {
        let mut session = working(AutoQuestions::Reject);
        ask(&mut session, 1, ruling(Some(Decision::Allow), "allow make **"));
        report(&mut session, 1, WireStatus::Completed);
        ask(&mut session, 2, None);
        ask(&mut session, 3, ruling(Some(Decision::Reject), "reject git push **"));
        outside(&mut session, 4);
        session.command_refused("git push", "reject git push **");
        let text = ended(&mut session);
        assert_eq!(
            text,
            "While left alone: 1 call done \u{b7} 1 command \u{b7} 1 allowed by rules\n\
             Refused (4):\n\
             \x20 run make 2: no rule is about it\n\
             \x20 run make 3: reject git push **\n\
             \x20 /etc/hosts: it is outside of the session's folders\n\
             \x20 run git push: reject git push **"
        );
        let turn = session.take_auto_turn().expect("what came of it");
        assert_eq!((turn.words().as_str(), turn.refused.len()), ("4 refused", 4));
        assert_eq!(session.take_auto_turn(), None);
    }

    #[test]
    fn a_turn_that_was_watched_is_not_summed_up() {
        let mut session = idle();
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert_eq!(ended(&mut session), "");
        // Left alone in between is enough; and the next one begins anew.
        let wait = || Some(Auto { questions: AutoQuestions::Wait, reason: None });
        session.prompt(vec![Content::Text("y".into())], Moment(10));
        session.set_auto(wait(), Moment(11));
        session.set_auto(None, Moment(12));
        assert_eq!(ended(&mut session), "While left alone: no call was done");
        session.take_auto_turn();
        session.prompt(vec![Content::Text("z".into())], Moment(20));
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(21));
        assert_eq!(session.take_auto_turn(), None);
    }

    #[test]
    fn the_user_is_told_what_is_missing_before_they_leave() {
        let told = |has_rules, bounds| {
            let mut session = idle();
            session.budget.bounds = bounds;
            session.warn_of_auto(has_rules, Moment(0));
            match session.entries().last().map(|entry| &entry.body) {
                Some(Body::Notice { text, .. }) => text.clone(),
                _ => String::new(),
            }
        };
        let files = Limits { files: Some(1), ..Limits::default() };
        let bounded = Bounds { turn: files, ..Bounds::default() };
        assert_eq!(told(true, bounded), "");
        let text = "Left alone from here on. Your options and rules allow nothing (:help acp-auto).";
        assert_eq!(told(false, bounded), text);
        assert!(told(false, Bounds::default()).contains("allow nothing, and set no limits"));
        assert!(told(true, Bounds::default()).contains("Your options and rules set no limits"));
    }
}
