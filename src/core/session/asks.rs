//! The agent's questions that wait for the user: for permission, for a form to be filled in, for a
//! page to be opened. Each is answered exactly once; what comes later does nothing. In what order
//! and how they are put to the user is the editor's side's business.

use serde_json::Value;

use super::{Moment, Phase, Session};
use crate::core::address::Address;
use crate::core::entry::{Body, Elicitation, EntryId, Subject, Verdict};
use crate::core::form::{Filling, Form};
use crate::core::message::{
    Answer, AskId, Command, PermissionKind, PermissionOption, Severity, ToolCallPatch,
};
use crate::core::tool_call::Cause;

/// A question that waits for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenAsk {
    pub ask: AskId,
    /// The entry that shows it.
    pub entry: EntryId,
    pub wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Wanted {
    Permission(Vec<PermissionOption>),
    /// With what has been filled in so far; nowhere else is it kept.
    Form(Filling),
    Page(Address),
}

impl OpenAsk {
    /// The answers to a question for permission.
    pub fn options(&self) -> &[PermissionOption] {
        match &self.wanted {
            Wanted::Permission(options) => options,
            Wanted::Form(_) | Wanted::Page(_) => &[],
        }
    }

    pub fn is_permission(&self) -> bool {
        matches!(self.wanted, Wanted::Permission(_))
    }
}

impl Session {
    /// What waits for the user, oldest first.
    pub fn asks(&self) -> &[OpenAsk] {
        &self.asks
    }

    pub fn open_ask(&self, ask: AskId) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.ask == ask)
    }

    /// The oldest question for permission.
    pub fn permission(&self) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| open.is_permission())
    }

    /// The oldest question that is none for permission.
    pub fn elicitation(&self) -> Option<&OpenAsk> {
        self.asks.iter().find(|open| !open.is_permission())
    }

    // Permission.

    /// The agent asks; the call it is about is updated by what the question carries.
    pub fn asked(
        &mut self,
        ask: AskId,
        call: ToolCallPatch,
        options: Vec<PermissionOption>,
        now: Moment,
    ) -> Vec<Command> {
        let entry = self.upsert(call, now);
        if options.is_empty() || matches!(self.phase, Phase::Cancelling { .. }) {
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
        self.advance(entry, &Cause::Asked, now);
        self.asks.push(OpenAsk { ask, entry, wanted: Wanted::Permission(options) });
        self.status_touched = true;
        Vec::new()
    }

    /// The user chose. Nothing happens when the question is over already.
    pub fn answer(&mut self, ask: AskId, option: &str, now: Moment) -> Vec<Command> {
        let offered = self.open_ask(ask).and_then(|open| open.options().iter().find(|one| one.id == option));
        let Some(kind) = offered.map(|offered| offered.kind.clone()) else { return Vec::new() };
        let Some(open) = self.close(ask) else { return Vec::new() };
        let cause = match kind {
            PermissionKind::AllowOnce | PermissionKind::AllowAlways => Cause::Allowed,
            PermissionKind::RejectOnce | PermissionKind::RejectAlways => Cause::Rejected,
            PermissionKind::Other(_) => Cause::Withdrawn,
        };
        self.advance(open.entry, &cause, now);
        vec![Command::Answer { ask, answer: Answer::Selected(option.to_owned()) }]
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
        let subject = Subject::Form(form.clone());
        self.elicit(ask, message, subject, Wanted::Form(Filling::new(form)), now)
    }

    /// The agent wants the user to open a page in a browser.
    pub fn asked_to_open(&mut self, ask: AskId, message: String, url: &str, now: Moment) -> Vec<Command> {
        let address = Address::read(url);
        self.elicit(ask, message, Subject::Page(address.clone()), Wanted::Page(address), now)
    }

    fn elicit(
        &mut self,
        ask: AskId,
        message: String,
        subject: Subject,
        wanted: Wanted,
        now: Moment,
    ) -> Vec<Command> {
        if matches!(self.phase, Phase::Cancelling { .. } | Phase::Gone) {
            return vec![Command::Answer { ask, answer: Answer::Cancelled }];
        }
        self.turn.answered = true;
        let elicitation = Elicitation { asker: self.name(), message, subject, verdict: Verdict::Open };
        let entry = self.say(Body::Elicitation(Box::new(elicitation)), now);
        self.asks.push(OpenAsk { ask, entry, wanted });
        self.status_touched = true;
        Vec::new()
    }

    /// Fills a field of a form in, or leaves it out. The error says what to do.
    pub fn fill(&mut self, ask: AskId, field: usize, value: Option<Value>) -> Result<(), String> {
        match self.asks.iter_mut().find(|open| open.ask == ask).map(|open| &mut open.wanted) {
            Some(Wanted::Form(filling)) => filling.fill(field, value),
            _ => Ok(()),
        }
    }

    /// The user sends the form, or agrees to open the page. A form that is not complete stays open.
    pub fn accept(&mut self, ask: AskId) -> Vec<Command> {
        let (content, verdict) = match self.open_ask(ask).map(|open| &open.wanted) {
            Some(Wanted::Form(filling)) => match filling.content() {
                Ok(content) => (content, Verdict::Answered(filling.filled())),
                Err(_) => return Vec::new(),
            },
            Some(Wanted::Page(_)) => (Value::Null, Verdict::Agreed),
            Some(Wanted::Permission(_)) | None => return Vec::new(),
        };
        self.conclude(ask, verdict, Answer::Accepted(content))
    }

    pub fn decline(&mut self, ask: AskId) -> Vec<Command> {
        self.conclude(ask, Verdict::Declined, Answer::Declined)
    }

    /// The user stops a form or page without a decision.
    pub fn dismiss(&mut self, ask: AskId) -> Vec<Command> {
        self.conclude(ask, Verdict::Cancelled, Answer::Cancelled)
    }

    fn conclude(&mut self, ask: AskId, verdict: Verdict, answer: Answer) -> Vec<Command> {
        if self.open_ask(ask).is_none_or(OpenAsk::is_permission) {
            return Vec::new();
        }
        let Some(open) = self.close(ask) else { return Vec::new() };
        self.judge(open.entry, verdict);
        vec![Command::Answer { ask, answer }]
    }

    // All of them.

    /// A question is over without the user.
    pub fn withdrawn(&mut self, ask: AskId, now: Moment) -> bool {
        let Some(open) = self.close(ask) else { return false };
        self.advance(open.entry, &Cause::Withdrawn, now);
        self.judge(open.entry, Verdict::Withdrawn);
        true
    }

    /// All questions are over at once; their ids are still to be answered.
    pub(super) fn close_asks(&mut self, verdict: &Verdict) -> Vec<AskId> {
        let asks = std::mem::take(&mut self.asks);
        self.status_touched |= !asks.is_empty();
        for open in &asks {
            self.judge(open.entry, verdict.clone());
        }
        asks.into_iter().map(|open| open.ask).collect()
    }

    fn close(&mut self, ask: AskId) -> Option<OpenAsk> {
        let index = self.asks.iter().position(|open| open.ask == ask)?;
        self.status_touched = true;
        Some(self.asks.remove(index))
    }

    fn judge(&mut self, entry: EntryId, verdict: Verdict) {
        if let Some(Body::Elicitation(elicitation)) =
            self.entries.get_mut(entry.0).map(|entry| &mut entry.body)
        {
            elicitation.verdict = verdict;
            self.touched.insert(entry);
        }
    }
}
