//! An agent's requests to read or write outside the session's folders: a question like a permission
//! request, but with answers defined by this client.

use std::path::PathBuf;

use super::{OpenAsk, Phase, Session, Wanted};
use crate::core::ids::{AskId, Moment};
use crate::core::message::{Access, Answer, AskReason, Command};
use crate::core::rules::Judgement;
use crate::core::rules::danger::Danger;
use crate::core::session::entry::{Body, Elicitation, Subject, Verdict};
use crate::core::store::allowlist;

/// What an agent is about to do with a file, or in a folder.
pub struct OutsideUse {
    /// Without links.
    pub path: PathBuf,
    /// What an answer counts for that counts for more than once.
    pub target: PathBuf,
    pub access: Access,
    pub why: AskReason,
    pub command: Option<String>,
    pub judgement: Option<Box<Judgement>>,
}

impl Session {
    pub fn asked_outside(&mut self, ask: AskId, usage: OutsideUse, now: Moment) -> Vec<Command> {
        let OutsideUse { path, target, access, why, command, mut judgement } = usage;
        if let (AskReason::OutsideFolders | AskReason::LinkedOutside, Some(judgement)) =
            (&why, &mut judgement)
        {
            // The question says so anyway.
            judgement.ruling.dangers.retain(|danger| *danger != Danger::Outside);
        }
        if matches!(self.phase, Phase::Cancelling { .. } | Phase::Ending { .. } | Phase::Gone) {
            return vec![Command::Answer { ask, answer: Answer::Cancelled }];
        }
        let folders = self.place.folders().cloned().collect();
        let options = match &why {
            AskReason::Rule(_) => allowlist::options_under_rule(access, command.is_some()),
            _ if command.is_some() => allowlist::options_for_command(&path),
            AskReason::OutsideFolders | AskReason::LinkedOutside => {
                allowlist::options(&path, &target, access)
            }
        };
        let elicitation = Elicitation {
            asker: self.name(),
            message: path.display().to_string(),
            subject: Subject::Outside { access, folders, why, command, judgement },
            verdict: Verdict::Open,
            choices: Vec::new(),
            is_long: false,
        };
        // A rule is no answer to where something is.
        let offers = elicitation.asked_by_rule().map(|judgement| judgement.ruling.offers.clone());
        let entry = self.say(Body::Elicitation(Box::new(elicitation)), now);
        let wanted = Wanted::Permission(options);
        let mut open = OpenAsk::new(ask, entry, wanted);
        open.offer(&offers.unwrap_or_default());
        self.asks.push(open);
        self.show_choices(entry);
        self.note_user_time(now);
        self.status_touched = true;
        self.reject_unseen(ask, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{AgentInfo, Content, Opened, Place};
    use crate::core::session::AgentRun;
    use crate::core::store::allowlist::Choice;

    const ASK: AskId = AskId(7);

    fn reading(path: &str, target: &str) -> OutsideUse {
        OutsideUse {
            path: path.into(),
            target: target.into(),
            access: Access::Read,
            why: AskReason::OutsideFolders,
            command: None,
            judgement: None,
        }
    }

    fn asked() -> Session {
        let place = Place { cwd: "/p".into(), ..Place::default() };
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
        session.connected(AgentInfo { title: Some("Demo".into()), ..AgentInfo::default() });
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let asked = session.asked_outside(ASK, reading("/x/a", "/x"), Moment(1));
        assert_eq!(asked, []);
        session
    }

    fn verdict(session: &Session) -> Verdict {
        let verdict = |body: &Body| match body {
            Body::Elicitation(asked) => Some(asked.verdict.clone()),
            _ => None,
        };
        session.entries().iter().find_map(|entry| verdict(&entry.body)).expect("it was asked")
    }

    #[test]
    fn it_is_answered_as_a_question_for_permission_and_once() {
        let mut session = asked();
        assert_eq!(session.permission().map(|open| open.ask), Some(ASK));
        assert_eq!(session.elicitation(), None);
        let answer = Answer::Selected("session".into());
        assert_eq!(session.answer(ASK, "session", Moment(2)), [Command::Answer { ask: ASK, answer }]);
        assert_eq!(verdict(&session), Verdict::Chosen(Choice::Session));
        assert_eq!(session.answer(ASK, "session", Moment(2)), []);
    }

    #[test]
    fn what_ends_a_turn_ends_it() {
        let mut session = asked();
        let commands = session.cancel(Moment(2));
        assert!(commands.contains(&Command::Answer { ask: ASK, answer: Answer::Cancelled }));
        assert_eq!(verdict(&session), Verdict::Cancelled);
        let late = session.asked_outside(AskId(8), reading("/y", "/y"), Moment(3));
        assert_eq!(late, [Command::Answer { ask: AskId(8), answer: Answer::Cancelled }]);
        let mut session = asked();
        assert!(session.withdrawn(ASK, Moment(2)));
        assert_eq!(verdict(&session), Verdict::Withdrawn);
    }
}
