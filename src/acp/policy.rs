//! The one place that each request of an agent passes for a permission, a file or a command: it looks up what
//! the user has configured and answered, and gives the decision of `core::policy`. Looking up may read the
//! disk: ask about files where waiting is allowed.

use super::files::file_access::FileAccess;
use super::holds::Holds;
use super::rules::{RuleBook, Weighed};
use super::settings::Settings;
use crate::core::ids::SessionKey;
use crate::core::message::{Place, RulesNews};
use crate::core::policy::{Action, Decision, Reason, Verdict};
use crate::core::rules::{Judgement, Request};

pub struct Policy {
    can_read: bool,
    can_write: bool,
    can_run: bool,
    /// What counts for files outside of the sessions' folders.
    pub file_access: FileAccess,
    /// What the user's rules say of what agents do without asking.
    pub rules: RuleBook,
    /// Which sessions wait for the user's word before they change anything more.
    pub holds: Holds,
}

/// What became of a decision where rules have a say.
pub struct UnderRules {
    pub decision: Decision,
    /// The rule that has decided, if one has.
    pub rule: Option<String>,
    pub judgement: Box<Judgement>,
    /// Rules allow it by name, or the user has already said that it may be.
    pub is_allowed: bool,
}

impl Policy {
    pub fn new(settings: &Settings) -> Self {
        let Settings { can_read, can_write, can_run, .. } = *settings;
        Self {
            can_read,
            can_write,
            can_run,
            file_access: FileAccess::default(),
            rules: RuleBook::default(),
            holds: Holds::default(),
        }
    }

    /// Whether this client serves a method at all. What it does not, agents were told when they started.
    pub fn serves(&self, method: &str) -> bool {
        match method {
            "fs/read_text_file" => self.can_read,
            "fs/write_text_file" => self.can_write,
            _ if method.starts_with("terminal/") => self.can_run,
            _ => true,
        }
    }

    pub fn take(&self, news: RulesNews) {
        match news {
            RulesNews::Holds { session, hold } => self.holds.set(session, hold),
            RulesNews::Counted { session, upto, turn, all } => self.holds.counted(session, upto, (turn, all)),
            news => self.rules.take(news),
        }
    }

    pub fn ended(&self, session: SessionKey) {
        self.file_access.ended(session);
        self.rules.ended(session);
        self.holds.ended(session);
    }

    /// Whether an agent may do this in a session; and what the user should know of how that was found out.
    pub fn decide(&self, session: SessionKey, action: &Action) -> (Decision, Option<String>) {
        let mut trouble = None;
        let decision = action.decide(|access, path| {
            let decision;
            (decision, trouble) = match action {
                Action::Command { command, .. } => self.file_access.decide_command(session, command, path),
                _ => self.file_access.decide(session, access, path),
            };
            decision
        });
        (decision, trouble)
    }

    /// What becomes of a decision about something that an agent does without asking for it, and which rule that was.
    /// `subject` is the file or the command, as what the user has said of it is kept. It reads the disk.
    pub fn under_rules(
        &self,
        (session, subject): (SessionKey, &str),
        place: &Place,
        decision: Decision,
        request: Request,
    ) -> UnderRules {
        let Weighed { rule, judgement, is_allowed } = self.rules.unasked(session, place, request);
        let judgement = Box::new(judgement);
        let made = |decision, rule| UnderRules { decision, rule, judgement, is_allowed };
        let Some((rule, why)) = rule else { return made(decision, None) };
        let under = decision.under(Some(rule));
        if under == decision {
            return made(decision, None);
        }
        match self.rules.answered(session, subject) {
            Some(true) if under.verdict == Verdict::Ask => {
                UnderRules { is_allowed: true, ..made(decision, None) }
            }
            Some(false) if under.verdict == Verdict::Ask => {
                made(Decision { verdict: Verdict::Deny, reason: Reason::DeniedBefore }, Some(why))
            }
            _ => made(under, Some(why)),
        }
    }
}
