//! Questions of an agent that wait for the editor: each is answered exactly once, by the user, by
//! the end of what it was about, or by the agent taking it back.

use std::collections::{BTreeMap, VecDeque};

use super::deferred_replies::HeldCommand;
use crate::acp::files::queue::PendingAccess;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::{INTERNAL_ERROR, REQUEST_CANCELLED, RequestId, RpcError};
use crate::acp::wire::to_acp;
use crate::core::audit::Line;
use crate::core::ids::{AgentId, AskId, SessionKey, SubagentId, ToolCallId};
use crate::core::message::{Answer, PermissionKind, Question};
use crate::core::store::allowlist::Choice;

/// As many pages are known of.
const MOST_PAGES: usize = 64;

/// One agent's open questions.
pub struct PendingQuestions {
    agent: AgentId,
    count: u32,
    open: BTreeMap<AskId, PendingQuestion>,
    /// The pages that were asked about or done, not yet both, the last one last: over HTTP a question and the end of
    /// what it asks for have streams of their own, and nothing orders them.
    pages: VecDeque<Page>,
}

struct Page {
    elicitation: String,
    is_done: bool,
}

struct PendingQuestion {
    session: Option<SessionKey>,
    ends_with: EndsWith,
    kind: QuestionKind,
    reply: Reply,
}

/// What ends a question that nobody has answered.
#[derive(Debug, PartialEq)]
pub enum EndsWith {
    Session,
    /// The turn that it was asked in.
    Turn,
    /// A request of ours.
    Request(RequestId),
    /// What the subagent does now. It may go on when the turn of its session is over.
    Subagent(SubagentId),
}

enum QuestionKind {
    /// For a call, with the options there are.
    Permission(ToolCallId, Vec<(String, PermissionKind)>),
    Read,
    Write,
    Form,
    Url {
        elicitation: String,
    },
    /// A method beyond the protocol.
    Call,
    /// A read or write outside of the session's folders.
    Outside(PendingAccess),
    /// A command there.
    Command(Box<HeldCommand>),
}

/// What ends questions without the user.
pub enum EndReason<'a> {
    /// The user cancelled: all that asks the user, rather than the editor, goes with it.
    TurnCancelled(SessionKey),
    TurnEnded(SessionKey),
    SubagentIdle(SessionKey, &'a SubagentId),
    /// A request of ours has its answer.
    Answered(&'a RequestId),
    Session(SessionKey),
    /// The agent took its request back.
    CancelledByAgent(&'a RequestId),
    /// What the user was to do in a browser is done.
    Completed(&'a str),
    All,
}

/// The agent that a question came from: its number is the upper half of the question's.
pub fn asker(ask: AskId) -> AgentId {
    AgentId(u32::try_from(ask.0 >> 32).unwrap_or_default())
}

impl PendingQuestions {
    pub fn of(agent: AgentId) -> Self {
        Self { agent, count: 0, open: BTreeMap::new(), pages: VecDeque::new() }
    }

    pub fn open(
        &mut self,
        session: SessionKey,
        ends_with: EndsWith,
        question: &Question,
        reply: Reply,
    ) -> AskId {
        let kind = match question {
            Question::Permission { call, options } => {
                let options = options.iter().map(|option| (option.id.clone(), option.kind.clone()));
                QuestionKind::Permission(call.id.clone(), options.collect())
            }
            // Without what it is about nothing but a no could come of `Outside`.
            Question::Read { .. } | Question::Outside { .. } => QuestionKind::Read,
            Question::Write { .. } => QuestionKind::Write,
            Question::Form { .. } => QuestionKind::Form,
            Question::Url { elicitation, .. } => QuestionKind::Url { elicitation: elicitation.clone() },
        };
        self.add(PendingQuestion { session: Some(session), ends_with, kind, reply })
    }

    /// A call of a method that the user serves; it need not be about a session.
    pub fn open_call(&mut self, session: Option<SessionKey>, reply: Reply) -> AskId {
        self.add(PendingQuestion { session, ends_with: EndsWith::Session, kind: QuestionKind::Call, reply })
    }

    /// Whether an agent may read or write outside of its session's folders.
    pub fn open_outside(&mut self, ends_with: EndsWith, held: PendingAccess, reply: Reply) -> AskId {
        self.add(PendingQuestion {
            session: Some(held.session),
            ends_with,
            kind: QuestionKind::Outside(held),
            reply,
        })
    }

    /// Whether an agent may run a command there.
    pub fn open_command(
        &mut self,
        session: SessionKey,
        ends_with: EndsWith,
        held: HeldCommand,
        reply: Reply,
    ) -> AskId {
        let kind = QuestionKind::Command(Box::new(held));
        self.add(PendingQuestion { session: Some(session), ends_with, kind, reply })
    }

    fn add(&mut self, ask: PendingQuestion) -> AskId {
        self.count += 1;
        let id = AskId(u64::from(self.agent.0) << 32 | u64::from(self.count));
        self.open.insert(id, ask);
        id
    }

    /// The call that waits for an answer, and whether this one allows it.
    pub fn permission(&self, id: AskId, answer: &Answer) -> Option<(SessionKey, ToolCallId, bool)> {
        let ask = self.open.get(&id)?;
        let QuestionKind::Permission(call, offered) = &ask.kind else { return None };
        let allows = |(id, kind): &(String, PermissionKind)| {
            let selected =
                matches!(answer, Answer::Selected(option) | Answer::Ruled { option, .. } if option == id);
            selected && !matches!(kind, PermissionKind::RejectOnce | PermissionKind::RejectAlways)
        };
        Some((ask.session?, call.clone(), offered.iter().any(allows)))
    }

    /// The calls whose questions end for this reason.
    pub fn permissions(&self, reason: &EndReason) -> Vec<(SessionKey, ToolCallId)> {
        let ended = self.open.values().filter(|ask| reason.covers(ask));
        let calls = ended.filter_map(|ask| match &ask.kind {
            QuestionKind::Permission(call, _) => Some((ask.session?, call.clone())),
            _ => None,
        });
        calls.collect()
    }

    /// Passes the user's answer on. Says what was wrong with one that does not fit the question.
    pub fn answer(&mut self, id: AskId, answer: Answer) -> Result<(), String> {
        match self.open.remove(&id) {
            Some(ask) => ask.answer(answer),
            // Taken back or answered already.
            None => Ok(()),
        }
    }

    /// The agent asks about a page, or says that it is done with one. Gives whether the other came before.
    pub fn note_page(&mut self, elicitation: &str, is_done: bool) -> bool {
        let known = self.pages.iter().position(|page| page.elicitation == elicitation);
        let before = known.and_then(|at| self.pages.remove(at));
        if before.as_ref().is_some_and(|page| page.is_done != is_done) {
            return true;
        }
        if self.pages.len() == MOST_PAGES {
            self.pages.pop_front();
        }
        self.pages.push_back(Page { elicitation: elicitation.to_owned(), is_done });
        false
    }

    /// Answers what is over without the user, and names what the user may be looking at.
    pub fn withdraw(&mut self, reason: &EndReason) -> Vec<(SessionKey, AskId)> {
        let ids: Vec<_> = self.open.iter().filter(|(_, ask)| reason.covers(ask)).map(|(id, _)| *id).collect();
        let withdraw = |id| {
            let ask = self.open.remove(&id)?;
            let session = ask.session;
            let seen = !matches!(ask.kind, QuestionKind::Call);
            ask.cancel();
            Some((session.filter(|_| seen)?, id))
        };
        ids.into_iter().filter_map(withdraw).collect()
    }
}

impl EndReason<'_> {
    fn covers(&self, ask: &PendingQuestion) -> bool {
        let for_user = !matches!(ask.kind, QuestionKind::Read | QuestionKind::Write | QuestionKind::Call);
        match self {
            EndReason::TurnCancelled(session) => {
                let is_own = !matches!(ask.ends_with, EndsWith::Subagent(_));
                ask.session == Some(*session) && for_user && is_own
            }
            EndReason::SubagentIdle(session, id) => {
                let is_its = matches!(&ask.ends_with, EndsWith::Subagent(asker) if asker == *id);
                ask.session == Some(*session) && for_user && is_its
            }
            EndReason::TurnEnded(session) => {
                ask.session == Some(*session) && for_user && ask.ends_with == EndsWith::Turn
            }
            EndReason::Answered(request) => {
                matches!(&ask.ends_with, EndsWith::Request(ends_with) if ends_with == *request)
            }
            EndReason::Session(session) => ask.session == Some(*session),
            EndReason::CancelledByAgent(request) => ask.reply.id() == *request,
            EndReason::Completed(done) => {
                matches!(&ask.kind, QuestionKind::Url { elicitation } if elicitation == done)
            }
            EndReason::All => true,
        }
    }
}

impl PendingQuestion {
    fn answer(self, answer: Answer) -> Result<(), String> {
        let mut reply = self.reply;
        if let (QuestionKind::Permission(_, offered), Answer::Selected(option)) = (&self.kind, &answer)
            && let Some((_, kind)) = offered.iter().find(|(id, _)| id == option)
        {
            reply.note(|line| line.answered(kind.word(), !kind.rejects()));
        }
        if let (QuestionKind::Outside(_) | QuestionKind::Command(_), Some(choice)) =
            (&self.kind, choice_of(&answer))
        {
            reply.note(|line| match &answer {
                Answer::Ruled { by, .. } => line.ruled(choice.id(), choice.allows(), by.clone()),
                _ => line.chosen(choice),
            });
        }
        let by = match &answer {
            Answer::Ruled { by, .. } => Some(by.clone()),
            _ => None,
        };
        match (self.kind, answer) {
            (QuestionKind::Permission(_, offered), Answer::Ruled { option, by }) => {
                let Some((_, kind)) = offered.iter().find(|(id, _)| *id == option) else {
                    return Err(misfit(reply, &format!("the answer of a rule doesn't fit: {option:?}")));
                };
                reply.note(|line| line.ruled(kind.word(), kind.allows(), by));
                reply.ok(to_acp::selected(&option));
            }
            (QuestionKind::Permission(_, offered), Answer::Selected(option))
                if offered.iter().any(|(id, _)| *id == option) =>
            {
                reply.ok(to_acp::selected(&option));
            }
            (QuestionKind::Permission(..), Answer::Cancelled) => {
                reply.note(Line::dropped);
                reply.ok(to_acp::permission_cancelled());
            }
            (
                kind @ (QuestionKind::Outside(_) | QuestionKind::Command(_)),
                Answer::Selected(option) | Answer::Ruled { option, .. },
            ) => match (kind, Choice::of_id(&option)) {
                (QuestionKind::Outside(held), Some(choice)) => held.decide(reply, choice, by),
                (QuestionKind::Command(held), Some(choice)) => held.decide(reply, choice, by),
                _ => return Err(misfit(reply, &unknown_choice(&option))),
            },
            (QuestionKind::Outside(_) | QuestionKind::Command(_), Answer::Cancelled) => {
                reply.fail(&cancelled())
            }
            (QuestionKind::Read, Answer::Text(text)) => reply.ok(to_acp::read(text.to_string())),
            (QuestionKind::Write, Answer::Done { decided }) => {
                let mut reply = reply;
                reply.note(|line| line.decided = decided);
                reply.ok(to_acp::written());
            }
            (QuestionKind::Write, Answer::RefusedByUser(why)) => {
                let mut reply = reply;
                reply.note(Line::write_refused);
                reply.fail(&RpcError::new(INTERNAL_ERROR, why));
            }
            (QuestionKind::Call, Answer::Returned(result)) => reply.ok(result),
            (QuestionKind::Read | QuestionKind::Write | QuestionKind::Call, Answer::Refused(why)) => {
                reply.fail(&RpcError::new(INTERNAL_ERROR, why))
            }
            (QuestionKind::Read | QuestionKind::Write, Answer::Cancelled) => reply.fail(&cancelled()),
            (QuestionKind::Form | QuestionKind::Url { .. }, Answer::Declined) => reply.ok(to_acp::declined()),
            (QuestionKind::Form | QuestionKind::Url { .. }, Answer::Cancelled) => {
                reply.ok(to_acp::elicitation_cancelled())
            }
            (QuestionKind::Form | QuestionKind::Url { .. }, Answer::Accepted(values)) => {
                match to_acp::accepted(values) {
                    Ok(accepted) => reply.ok(accepted),
                    Err(error) => {
                        return Err(misfit(reply, &format!("the form's values can't be sent: {error}")));
                    }
                }
            }
            (_, answer) => {
                return Err(misfit(reply, &format!("the editor's answer doesn't fit: {answer:.80?}")));
            }
        }
        Ok(())
    }

    fn cancel(mut self) {
        self.reply.note(Line::dropped);
        match self.kind {
            QuestionKind::Permission(..) => self.reply.ok(to_acp::permission_cancelled()),
            QuestionKind::Form | QuestionKind::Url { .. } => self.reply.ok(to_acp::elicitation_cancelled()),
            QuestionKind::Read
            | QuestionKind::Write
            | QuestionKind::Call
            | QuestionKind::Outside(_)
            | QuestionKind::Command(_) => self.reply.fail(&cancelled()),
        }
    }
}

/// The choice of ours that an answer is, whoever has made it.
fn choice_of(answer: &Answer) -> Option<Choice> {
    match answer {
        Answer::Selected(option) | Answer::Ruled { option, .. } => Choice::of_id(option),
        _ => None,
    }
}

fn unknown_choice(option: &str) -> String {
    format!("the editor's answer doesn't fit: {option:?}")
}

fn cancelled() -> RpcError {
    RpcError::new(REQUEST_CANCELLED, "request cancelled")
}

/// A mistake of this plugin's own: the agent gets an error rather than silence.
fn misfit(reply: Reply, why: &str) -> String {
    reply.fail(&RpcError::new(INTERNAL_ERROR, "internal error"));
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_done_before_it_is_asked_about_is_known() {
        let mut questions = PendingQuestions::of(AgentId(1));
        assert!(!questions.note_page("a", true), "the question is to come");
        assert!(questions.note_page("a", false), "it is done already");
        assert!(!questions.note_page("a", false), "another one under the same name");
        assert!(questions.note_page("a", true));
        assert!(!questions.note_page("a", false), "what is over is forgotten");
    }

    #[test]
    fn no_agent_fills_the_memory_with_pages() {
        let mut questions = PendingQuestions::of(AgentId(1));
        (0..1000).for_each(|number| assert!(!questions.note_page(&number.to_string(), true)));
        assert_eq!(questions.pages.len(), MOST_PAGES);
        assert!(questions.note_page("999", false));
    }
}
