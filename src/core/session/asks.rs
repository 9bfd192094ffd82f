//! The agent's questions that wait for the user: permission requests, forms to fill in, pages to open.
//! Each is answered exactly once; later answers do nothing. When and how to ask the user is left to the
//! editor's side.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use super::{Phase, Session};
use crate::core::ids::{AskId, EntryId, Moment};
use crate::core::message::{
    Answer, Command, PermissionKind, PermissionOption, RuledBy, Severity, ToolCallPatch,
};
use crate::core::rules::offer::Offer;
use crate::core::rules::{Decision, Ruling};
use crate::core::session::answer_label::{described, for_all, label};
use crate::core::session::budget::Word;
use crate::core::session::entry::{Body, Elicitation, Subject, Verdict};
use crate::core::session::form::{Filling, Form};
use crate::core::session::tool_call::{Cause, ConflictOutcome, ToolCall, UserAnswer};
use crate::core::store::allowlist::Choice;
use crate::core::text::url_check::Address;
use crate::core::text::{cut, one_line};

/// A question that waits for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAsk {
    pub ask: AskId,
    /// The entry that shows it.
    pub entry: EntryId,
    pub wanted: Wanted,
    /// Rules that answer it, and the like of it from then on.
    pub offers: Vec<Offer>,
    /// It and the others that wait and are like it; empty where there is no other.
    pub alike: Arc<[AskId]>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    Permission(Vec<PermissionOption>),
    /// With what has been filled in so far; nowhere else is it kept.
    Form(Filling),
    Page(Address),
}

impl OpenAsk {
    pub fn new(ask: AskId, entry: EntryId, wanted: Wanted) -> Self {
        Self { ask, entry, wanted, offers: Vec::new(), alike: Arc::default() }
    }

    /// The answers to a question for permission.
    pub fn options(&self) -> &[PermissionOption] {
        match &self.wanted {
            Wanted::Permission(options) => options,
            Wanted::Form(_) | Wanted::Page(_) => &[],
        }
    }

    /// Whether an answer is one that allows something.
    pub fn allows(&self, option: &str) -> bool {
        self.options().iter().any(|one| one.id == option && one.kind.allows())
    }

    pub fn is_permission(&self) -> bool {
        matches!(self.wanted, Wanted::Permission(_))
    }

    /// What may be answered to a question for permission, or to one with one of several answers, in order.
    pub fn picks(&self) -> Vec<Pick> {
        if let Wanted::Form(filling) = &self.wanted {
            return filling.form.answers().into_iter().map(|(_, value)| Pick::Value(value)).collect();
        }
        let options = self.options().iter().map(|option| Pick::Option(option.id.clone()));
        let rule = (!self.offers.is_empty()).then_some(Pick::Rule);
        options.chain(rule).chain(self.picks_for_all()).collect()
    }

    /// How these are called in the chat; none where there are too many to be told at a glance.
    fn choices(&self) -> Vec<String> {
        if let Wanted::Form(filling) = &self.wanted {
            let answers = Some(filling.form.answers()).filter(|answers| answers.len() <= MOST_CHOICES);
            let name = |(name, _): (String, Value)| one_line(cut(&name, MAX_NAME_BYTES));
            return answers.into_iter().flatten().map(name).collect();
        }
        self.options().iter().map(label).chain(self.own_names(for_all)).collect()
    }

    /// How the answers are called that are not the agent's; those for several as `for_all` says.
    pub fn own_names(&self, for_all: fn(usize, bool) -> String) -> Vec<String> {
        let name = |pick: &Pick| match pick {
            Pick::Rule => Some(MAKE_RULE.to_owned()),
            Pick::All { asks, allows } => Some(for_all(asks.len(), *allows)),
            Pick::Option(_) | Pick::Value(_) => None,
        };
        self.picks().iter().filter_map(name).collect()
    }

    /// Keeps what rules can do that the agent has an answer for.
    pub(super) fn offer(&mut self, offers: &[Offer]) {
        let fits = |offer: &&Offer| {
            let decision = offer.rules.first().map(|rule| rule.decision);
            decision.is_some_and(|decision| option_of(decision, self.options()).is_some())
        };
        self.offers = offers.iter().filter(fits).cloned().collect();
    }
}

/// There are keys for so many.
const MOST_CHOICES: usize = 9;
/// Of an answer that stands beside others.
const MAX_NAME_BYTES: usize = 120;

/// What the user takes of what a question can be answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The value of a form's only field.
    Value(Value),
    /// An option of the agent's, by its id.
    Option(String),
    /// To make a rule.
    Rule,
    /// To allow or reject all of these just this once.
    All { asks: Arc<[AskId]>, allows: bool },
}

/// How the latter is called among the answers.
pub const MAKE_RULE: &str = "Make a rule\u{2026}";

impl Session {
    /// What waits for the user, oldest first.
    pub fn asks(&self) -> &[OpenAsk] {
        &self.asks
    }

    pub fn open_ask(&self, ask: AskId) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.ask == ask)
    }

    /// The oldest question for permission.
    #[cfg(test)]
    pub fn permission(&self) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.is_permission())
    }

    /// The oldest question that is none for permission.
    pub fn elicitation(&self) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| !open.is_permission())
    }

    // Permission.

    /// The agent asks, and there are no rules to hold against that.
    #[cfg(test)]
    pub fn asked(
        &mut self,
        ask: AskId,
        call: ToolCallPatch,
        options: Vec<PermissionOption>,
        now: Moment,
    ) -> Vec<Command> {
        let mut commands = self.asked_first(ask, call, options, now);
        commands.extend(self.judged(ask, None, now));
        commands
    }

    /// The agent asks; the call it is about is updated by what the question carries. The user is not asked before it
    /// was [judged](Self::judged).
    pub fn asked_first(
        &mut self,
        ask: AskId,
        call: ToolCallPatch,
        options: Vec<PermissionOption>,
        now: Moment,
    ) -> Vec<Command> {
        self.agent_works();
        // What the call showed before is what the user decides about.
        let content = call.content.filter(|content| !content.is_empty());
        let entry = self.upsert(ToolCallPatch { content, ..call }, now);
        let is_over = self.answers_no_more();
        if options.is_empty() || is_over {
            if options.is_empty() {
                self.notice(
                    Severity::Warning,
                    "The agent asked for permission without any option to choose; answered as cancelled."
                        .into(),
                    now,
                );
            }
            return vec![Command::Answer { ask, answer: Answer::Cancelled }];
        }
        let wanted = Wanted::Permission(options);
        self.judging.push(OpenAsk::new(ask, entry, wanted));
        Vec::new()
    }

    /// What a question is about that waits to be judged.
    pub fn to_judge(&self, ask: AskId) -> Option<(EntryId, &ToolCall)> {
        let open = self.judging.iter().find(|open| open.ask == ask)?;
        Some((open.entry, self.entry(open.entry)?.tool()?))
    }

    /// What rules allow, and what waits since the user is asked about a limit.
    pub fn held_by_limit(&self) -> impl Iterator<Item = &OpenAsk> {
        let is_held = |open: &&OpenAsk| {
            self.entry(open.entry).and_then(|entry| entry.tool()).is_some_and(ToolCall::waits_at_limit)
        };
        self.judging.iter().filter(is_held)
    }

    /// Whether a question about this call waits to be judged.
    pub fn is_judged_now(&self, entry: EntryId) -> bool {
        self.judging.iter().any(|open| open.entry == entry)
    }

    /// The user's rules were held against a question: it is answered by them, else the user is asked. Nothing happens
    /// when it is over already.
    pub fn judged(&mut self, ask: AskId, mut ruling: Option<Box<Ruling>>, now: Moment) -> Vec<Command> {
        let Some(at) = self.judging.iter().position(|open| open.ask == ask) else { return Vec::new() };
        let mut open = self.judging.remove(at);
        self.advance(open.entry, &Cause::Asked, now);
        open.offer(ruling.as_deref().map_or(&[], |ruling| &ruling.offers));
        let option = answer_of(ruling.as_deref_mut(), open.options());
        let entry = open.entry;
        match option {
            // Nothing is allowed without the user while they are asked about a limit; and it is that which asks them.
            Some(option) if self.is_held() && option.kind.allows() => {
                self.set_ruling(entry, ruling);
                self.judging.insert(at, open);
                return Vec::new();
            }
            Some(option) => return self.ruled(&open, option, ruling, now),
            None => self.set_ruling(entry, ruling),
        }
        // In the order in which they came, however long each took to judge.
        let is_before = |other: &OpenAsk| other.ask < ask || self.is_about_limit(other.entry);
        let at = self.asks.iter().rposition(is_before).map_or(0, |before| before + 1);
        self.asks.insert(at, open);
        self.find_alike();
        self.show_choices(entry);
        self.note_user_time(now);
        self.status_touched = true;
        self.reject_unseen(ask, now)
    }

    /// A rule answers a question.
    pub(super) fn ruled(
        &mut self,
        open: &OpenAsk,
        option: PermissionOption,
        ruling: Option<Box<Ruling>>,
        now: Moment,
    ) -> Vec<Command> {
        let why = ruling.as_ref().map(|ruling| ruling.why.clone()).unwrap_or_default();
        let by_auto = ruling.as_ref().is_some_and(|ruling| ruling.by_auto);
        let by = if by_auto { RuledBy::Auto(why) } else { RuledBy::Rule(why) };
        self.set_ruling(open.entry, ruling);
        let cause = if option.kind.allows() { Cause::Allowed } else { Cause::Rejected };
        self.advance(open.entry, &cause, now);
        if let Some(choice) = Choice::of_id(&option.id) {
            self.judge(open.entry, Verdict::Chosen(choice));
        }
        vec![Command::Answer { ask: open.ask, answer: Answer::Ruled { option: option.id, by } }]
    }

    /// The user has other rules now, and they were held against a question that waits for the user: it is answered if
    /// they decide it.
    pub fn judged_again(&mut self, ask: AskId, mut ruling: Option<Box<Ruling>>, now: Moment) -> Vec<Command> {
        let Some(open) = self.open_ask(ask) else { return Vec::new() };
        let Some(option) = answer_of(ruling.as_deref_mut(), open.options()) else { return Vec::new() };
        if self.is_held() && option.kind.allows() {
            return Vec::new();
        }
        match self.close(ask, now) {
            Some(open) => self.ruled(&open, option, ruling, now),
            None => Vec::new(),
        }
    }

    fn set_ruling(&mut self, entry: EntryId, ruling: Option<Box<Ruling>>) {
        if let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            call.ruling = ruling;
            self.touched.insert(entry);
        }
    }

    /// The user chose. Nothing happens when the question is over already.
    pub fn answer(&mut self, ask: AskId, option: &str, now: Moment) -> Vec<Command> {
        let offered = self.open_ask(ask).and_then(|open| open.options().iter().find(|one| one.id == option));
        let Some(offered) = offered.cloned() else { return Vec::new() };
        let Some(open) = self.close(ask, now) else { return Vec::new() };
        let cause = match offered.kind {
            PermissionKind::AllowOnce | PermissionKind::AllowAlways => Cause::Allowed,
            PermissionKind::RejectOnce | PermissionKind::RejectAlways => Cause::Rejected,
            PermissionKind::Other(_) => Cause::Withdrawn,
        };
        self.advance(open.entry, &cause, now);
        self.note_answer(open.entry, &offered);
        if let Some(choice) = Choice::of_id(option) {
            self.judge(open.entry, Verdict::Chosen(choice));
        }
        if let Some(word) = Word::of_id(option).filter(|_| self.is_about_limit(open.entry)) {
            self.judge(open.entry, Verdict::Limited(word));
            return self.go_on(word, now);
        }
        vec![Command::Answer { ask, answer: Answer::Selected(option.to_owned()) }]
    }

    /// The user has decided about lines of a file that they and a call of the agent's had changed.
    pub fn conflict_settled(&mut self, entry: EntryId, path: PathBuf, outcome: ConflictOutcome) {
        if let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            call.conflict_settled(path, outcome);
            self.touched.insert(entry);
        }
    }

    fn note_answer(&mut self, entry: EntryId, chosen: &PermissionOption) {
        let is_for_good = matches!(chosen.kind, PermissionKind::AllowAlways | PermissionKind::RejectAlways);
        if let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            call.answer = Some(UserAnswer { label: described(chosen), is_for_good });
        }
    }

    pub(super) fn is_about_limit(&self, entry: EntryId) -> bool {
        let body = self.entry(entry).map(|entry| &entry.body);
        matches!(body, Some(Body::Elicitation(asked)) if asked.subject == Subject::Limit)
    }

    // Forms and pages.

    /// The agent wants a form filled in.
    pub fn asked_to_fill(
        &mut self,
        ask: AskId,
        message: String,
        schema: &Value,
        now: Moment,
    ) -> Vec<Command> {
        let form = Form::read(schema);
        let asked = self.asking(message, Subject::Form(form.clone()));
        self.elicit(ask, asked, Wanted::Form(Filling::new(form)), now)
    }

    /// The agent wants the user to open a page in a browser.
    pub fn asked_to_open(&mut self, ask: AskId, message: String, url: &str, now: Moment) -> Vec<Command> {
        let address = Address::read(url);
        let asked = self.asking(message, Subject::Page(address.clone()));
        self.elicit(ask, asked, Wanted::Page(address), now)
    }

    fn asking(&self, message: String, subject: Subject) -> Elicitation {
        Elicitation {
            asker: self.speaker(),
            message,
            subject,
            verdict: Verdict::Open,
            choices: Vec::new(),
            is_long: false,
        }
    }

    fn elicit(&mut self, ask: AskId, elicitation: Elicitation, wanted: Wanted, now: Moment) -> Vec<Command> {
        if self.answers_no_more() {
            return vec![Command::Answer { ask, answer: Answer::Cancelled }];
        }
        self.turn.answered = true;
        let entry = self.say(Body::Elicitation(Box::new(elicitation)), now);
        self.asks.push(OpenAsk::new(ask, entry, wanted));
        self.show_choices(entry);
        self.note_user_time(now);
        self.status_touched = true;
        self.reject_unseen(ask, now)
    }

    /// Fills a field of a form in, or leaves it out. The error says what to do.
    pub fn fill(&mut self, ask: AskId, field: usize, value: Option<Value>) -> Result<(), String> {
        match self.asks.iter_mut().find(|open| open.ask == ask).map(|open| &mut open.wanted) {
            Some(Wanted::Form(filling)) => filling.fill(field, value),
            _ => Ok(()),
        }
    }

    /// The user sends the form, or agrees to open the page. A form that is not complete stays open.
    pub fn accept(&mut self, ask: AskId, now: Moment) -> Vec<Command> {
        let (content, verdict) = match self.open_ask(ask).map(|open| &open.wanted) {
            Some(Wanted::Form(filling)) => match filling.content() {
                Ok(content) => (content, Verdict::Answered(filling.filled())),
                Err(_) => return Vec::new(),
            },
            Some(Wanted::Page(_)) => (Value::Null, Verdict::Agreed),
            Some(Wanted::Permission(_)) | None => return Vec::new(),
        };
        self.conclude(ask, verdict, Answer::Accepted(content), now)
    }

    pub fn decline(&mut self, ask: AskId, now: Moment) -> Vec<Command> {
        self.conclude(ask, Verdict::Declined, Answer::Declined, now)
    }

    /// The user stops a form or page without a decision.
    pub fn dismiss(&mut self, ask: AskId, now: Moment) -> Vec<Command> {
        self.conclude(ask, Verdict::Cancelled, Answer::Cancelled, now)
    }

    pub(super) fn conclude(
        &mut self,
        ask: AskId,
        verdict: Verdict,
        answer: Answer,
        now: Moment,
    ) -> Vec<Command> {
        if self.open_ask(ask).is_none_or(OpenAsk::is_permission) {
            return Vec::new();
        }
        let Some(open) = self.close(ask, now) else { return Vec::new() };
        self.judge(open.entry, verdict);
        vec![Command::Answer { ask, answer }]
    }

    // All of them.

    /// A question is over without the user.
    pub fn withdrawn(&mut self, ask: AskId, now: Moment) -> bool {
        if let Some(at) = self.judging.iter().position(|open| open.ask == ask) {
            let open = self.judging.remove(at);
            self.advance(open.entry, &Cause::Withdrawn, now);
        }
        self.end_question(ask, Verdict::Withdrawn, now)
    }

    /// The same of one that the user has seen; says whether it was open.
    pub(super) fn end_question(&mut self, ask: AskId, verdict: Verdict, now: Moment) -> bool {
        let Some(open) = self.close(ask, now) else { return false };
        self.advance(open.entry, &Cause::Withdrawn, now);
        self.judge(open.entry, verdict);
        true
    }

    /// What is asked now is over already. A turn that is cancelled says nothing of what subagents ask: those that
    /// end with it take their questions back.
    fn answers_no_more(&self) -> bool {
        match self.phase {
            Phase::Cancelling { .. } => !self.is_within_subagent(),
            Phase::Ending { .. } | Phase::Gone => true,
            _ => false,
        }
    }

    /// All questions but those of subagents are over at once; their ids are still to be answered.
    pub(super) fn close_own_asks(&mut self, verdict: &Verdict) -> Vec<AskId> {
        let asks = std::mem::take(&mut self.asks);
        let judging = std::mem::take(&mut self.judging);
        let of_subagent = |open: &OpenAsk| self.subagent_of(open.entry).is_some();
        let (kept, own) = asks.into_iter().partition(of_subagent);
        let (still_judging, own_judging) = judging.into_iter().partition(of_subagent);
        (self.asks, self.judging) = (own, own_judging);
        let closed = self.close_asks(verdict);
        (self.asks, self.judging) = (kept, still_judging);
        self.find_alike();
        closed
    }

    /// All questions are over at once; their ids are still to be answered.
    pub(super) fn close_asks(&mut self, verdict: &Verdict) -> Vec<AskId> {
        let judging = std::mem::take(&mut self.judging);
        let asks = std::mem::take(&mut self.asks);
        self.status_touched |= !asks.is_empty();
        for open in &asks {
            self.judge(open.entry, verdict.clone());
            self.show_choices(open.entry);
        }
        asks.into_iter().chain(judging).map(|open| open.ask).collect()
    }

    pub(super) fn close(&mut self, ask: AskId, now: Moment) -> Option<OpenAsk> {
        let index = self.asks.iter().position(|open| open.ask == ask)?;
        self.status_touched = true;
        let open = self.asks.remove(index);
        self.find_alike();
        self.note_user_time(now);
        self.show_choices(open.entry);
        Some(open)
    }

    /// The question that an entry shows, which is its oldest one.
    pub fn asked_at(&self, entry: EntryId) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.entry == entry)
    }

    /// The question for permission that an entry shows, which is its oldest one.
    pub fn permission_of(&self, entry: EntryId) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.entry == entry && open.is_permission())
    }

    /// Has an entry show what may be answered to its question.
    pub(super) fn show_choices(&mut self, entry: EntryId) {
        let choices = self.asked_at(entry).map(OpenAsk::choices).unwrap_or_default();
        match self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            Some(Body::Tool(call)) => {
                call.is_long &= !choices.is_empty();
                call.choices = choices;
            }
            Some(Body::Elicitation(asked)) => {
                asked.is_long &= !choices.is_empty();
                asked.choices = choices;
            }
            _ => return,
        }
        self.touched.insert(entry);
    }

    /// Not all that a question is about can be seen at once. Says whether that is new.
    pub fn set_long(&mut self, ask: AskId) -> bool {
        let Some(entry) = self.open_ask(ask).map(|open| open.entry) else { return false };
        match self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            Some(Body::Tool(call)) if !call.is_long => call.is_long = true,
            Some(Body::Elicitation(asked)) if !asked.is_long => asked.is_long = true,
            _ => return false,
        }
        self.touched.insert(entry)
    }

    pub(super) fn judge(&mut self, entry: EntryId, verdict: Verdict) {
        if let Some(Body::Elicitation(elicitation)) =
            self.entries.get_mut(entry.0).map(|entry| &mut entry.body)
        {
            elicitation.verdict = verdict;
            self.touched.insert(entry);
        }
    }
}

/// Why the user is asked what a rule has decided.
const NO_OPTION: &str = "the agent offers no answer that does what the rule says this one time";

/// The answer that rules give, if they do. Where the agent has none that does just that, the ruling becomes a question.
fn answer_of(ruling: Option<&mut Ruling>, options: &[PermissionOption]) -> Option<PermissionOption> {
    let ruling = ruling?;
    let option = option_of(ruling.decision?, options);
    if option.is_none() && ruling.decision != Some(Decision::Ask) {
        (ruling.decision, ruling.why) = (Some(Decision::Ask), NO_OPTION.to_owned());
    }
    option
}

/// The answer that does what rules say and nothing beyond: one for this time rather than for all times. A rule allows
/// nothing for later, since the agent would not ask again.
fn option_of(decision: Decision, options: &[PermissionOption]) -> Option<PermissionOption> {
    let kinds: &[PermissionKind] = match decision {
        Decision::Allow => &[PermissionKind::AllowOnce],
        Decision::Reject => &[PermissionKind::RejectOnce, PermissionKind::RejectAlways],
        Decision::Ask => &[],
    };
    kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind)).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{AgentInfo, Content, Ending, Opened, Place, StopReason, TurnEnd};
    use crate::core::session::AgentRun;
    use crate::core::session::entry::Greeting;

    const ASK: AskId = AskId(7);

    fn working() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.connected(AgentInfo { title: Some("Demo".into()), ..AgentInfo::default() });
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn schema() -> Value {
        json!({ "properties": { "who": { "type": "string", "title": "Name" } }, "required": ["who"] })
    }

    fn asked() -> Session {
        let mut session = working();
        assert_eq!(session.asked_to_fill(ASK, "Who?".into(), &schema(), Moment(1)), []);
        session
    }

    fn verdicts(session: &Session) -> Vec<Verdict> {
        let verdict = |body: &Body| match body {
            Body::Elicitation(asked) => Some(asked.verdict.clone()),
            _ => None,
        };
        session.entries().iter().filter_map(|entry| verdict(&entry.body)).collect()
    }

    fn is(answer: Answer) -> Vec<Command> {
        vec![Command::Answer { ask: ASK, answer }]
    }

    #[test]
    fn a_form_is_sent_when_it_is_complete_and_only_once() {
        let mut session = asked();
        assert_eq!(session.accept(ASK, Moment(0)), [], "not complete");
        assert!(session.fill(ASK, 0, Some(json!(1))).is_err());
        session.fill(ASK, 0, Some(json!("Ada"))).expect("a fit");
        session.take_touched();
        assert_eq!(session.accept(ASK, Moment(0)), is(Answer::Accepted(json!({ "who": "Ada" }))));
        assert_eq!(verdicts(&session), [Verdict::Answered(vec!["Name".into()])]);
        assert!(session.take_touched().1, "the state changed");
        for again in [Session::accept, Session::decline, Session::dismiss] {
            assert_eq!(again(&mut session, ASK, Moment(0)), []);
        }
        assert!(!session.withdrawn(ASK, Moment(2)));
        assert_eq!(verdicts(&session).len(), 1);
    }

    #[test]
    fn no_value_is_kept_once_the_form_is_sent() {
        let mut session = asked();
        session.fill(ASK, 0, Some(json!("hunter2"))).expect("a fit");
        session.accept(ASK, Moment(0));
        let kept = format!("{:?}{:?}", session.entries(), session.asks());
        assert!(!kept.contains("hunter2"), "{kept}");
    }

    #[test]
    fn a_form_is_declined_or_dismissed() {
        let mut session = asked();
        assert_eq!(session.decline(ASK, Moment(0)), is(Answer::Declined));
        assert_eq!(verdicts(&session), [Verdict::Declined]);
        let mut session = asked();
        assert_eq!(session.dismiss(ASK, Moment(0)), is(Answer::Cancelled));
        assert_eq!(verdicts(&session), [Verdict::Cancelled]);
    }

    #[test]
    fn a_page_is_agreed_to() {
        let mut session = working();
        session.asked_to_open(ASK, "Log in".into(), "https://example.com/", Moment(1));
        assert_eq!(session.accept(ASK, Moment(0)), is(Answer::Accepted(Value::Null)));
        assert_eq!(verdicts(&session), [Verdict::Agreed]);
    }

    #[test]
    fn permission_is_not_answered_as_a_form_nor_a_form_as_permission() {
        let mut session = asked();
        let options =
            vec![PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce }];
        session.asked(AskId(8), ToolCallPatch::new("c"), options, Moment(1));
        assert_eq!(session.answer(ASK, "y", Moment(2)), []);
        for wrong in [Session::accept, Session::decline, Session::dismiss] {
            assert_eq!(wrong(&mut session, AskId(8), Moment(0)), []);
        }
        assert_eq!(session.permission().map(|open| open.ask), Some(AskId(8)));
        assert_eq!(session.elicitation().map(|open| open.ask), Some(ASK));
        assert_eq!(session.asks().len(), 2);
    }

    #[test]
    fn what_ends_a_turn_or_an_agent_ends_its_forms() {
        let mut session = asked();
        let commands = session.cancel(Moment(2));
        assert_eq!(commands[0], is(Answer::Cancelled)[0]);
        assert_eq!((verdicts(&session), session.asks()), (vec![Verdict::Cancelled], &[][..]));
        assert_eq!(session.asked_to_fill(AskId(8), "Late?".into(), &schema(), Moment(3)).len(), 1);
        let end = TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None };
        session.turn_ended(end, Moment(4));
        assert_eq!(verdicts(&session), [Verdict::Cancelled]);

        let mut session = asked();
        assert!(session.withdrawn(ASK, Moment(2)));
        assert_eq!(verdicts(&session), [Verdict::Withdrawn]);

        let mut session = asked();
        session.exited(Ending { failure: None, exit: None, stderr: Vec::new(), expected: false }, Moment(2));
        assert_eq!((verdicts(&session), session.asks()), (vec![Verdict::Withdrawn], &[][..]));
        assert_eq!(session.asked_to_fill(AskId(8), "Late?".into(), &schema(), Moment(3)).len(), 1);
    }

    #[test]
    fn a_form_may_come_before_the_session_is_open() {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.connected(AgentInfo::default());
        session.asked_to_fill(ASK, "Who?".into(), &schema(), Moment(1));
        session.opened(Opened::default(), Moment(2));
        assert_eq!(session.asks().len(), 1);
        assert!(matches!(&session.entries()[0].body, Body::Greeting(Greeting::Ready { .. })));
    }
}
