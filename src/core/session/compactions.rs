//! How an agent makes a conversation shorter: each time has an id, which is the session's own and is never used again,
//! so that later words about it, in whichever turn, change the same entry. What it looks like is left to `transcript`.

use super::Session;
use crate::core::ids::Moment;
use crate::core::session::entry::{Body, Compaction};

/// What is told: absent leaves a field as it was, null clears it.
pub(super) struct Patch {
    pub status: Option<String>,
    pub summary: Option<Option<String>>,
    pub error: Option<Option<String>>,
}

impl Session {
    pub(super) fn compaction_told(&mut self, id: String, patch: Patch, now: Moment) {
        let Some(compaction) = self.compaction(id, now) else { return };
        let Patch { status, summary, error } = patch;
        if let Some(status) = status.filter(|status| !status.is_empty()) {
            compaction.status = status;
        }
        if let Some(summary) = summary {
            compaction.summary = summary.unwrap_or_default();
        }
        if let Some(error) = error {
            compaction.error = error;
        }
    }

    pub(super) fn summary_grew(&mut self, id: String, text: &str, now: Moment) {
        if let Some(compaction) = self.compaction(id, now) {
            compaction.summary.push_str(text);
        }
    }

    /// The first word of it gives it its place.
    fn compaction(&mut self, id: String, now: Moment) -> Option<&mut Compaction> {
        let key = (self.actor_now(), id);
        let entry = match self.compactions.get(&key) {
            Some(entry) => *entry,
            None => {
                let begun = Compaction { status: "in_progress".into(), summary: String::new(), error: None };
                self.turn.answered = true;
                let entry = self.say(Body::Compaction(begun), now);
                self.compactions.insert(key, entry);
                entry
            }
        };
        self.touched.insert(entry);
        match &mut self.entries.get_mut(entry.0)?.body {
            Body::Compaction(compaction) => Some(compaction),
            _ => None,
        }
    }

    /// The agent is gone: of what was under way nobody can tell how it ended.
    pub(super) fn lose_compactions(&mut self) {
        for entry in self.compactions.values() {
            if let Some(Body::Compaction(compaction)) =
                self.entries.get_mut(entry.0).map(|entry| &mut entry.body)
                && compaction.status == "in_progress"
            {
                compaction.status.clear();
                self.touched.insert(*entry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{SessionKey, SubagentId};
    use crate::core::message::{
        Branch, Content, Ending, Opened, Place, Severity, StopReason, SubagentPatch, TurnEnd, Update,
    };
    use crate::core::session::AgentRun;

    fn working() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn told(status: Option<&str>, summary: Option<Option<&str>>, error: Option<Option<&str>>) -> Update {
        let own = |text: &str| text.to_owned();
        Update::Compaction {
            id: "k".into(),
            status: status.map(own),
            summary: summary.map(|summary| summary.map(own)),
            error: error.map(|error| error.map(own)),
        }
    }

    fn compactions(session: &Session) -> Vec<&Compaction> {
        let all = session.entries().iter().filter_map(|entry| match &entry.body {
            Body::Compaction(compaction) => Some(compaction),
            _ => None,
        });
        all.collect()
    }

    fn only(session: &Session) -> (&str, &str, Option<&str>) {
        let [compaction] = compactions(session)[..] else { panic!("{:?}", compactions(session)) };
        (&compaction.status, &compaction.summary, compaction.error.as_deref())
    }

    #[test]
    fn later_words_about_a_compaction_change_the_same_entry_in_another_turn_too() {
        let mut session = working();
        session.apply(told(Some("in_progress"), None, None), Moment(1));
        session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(2));
        assert_eq!(only(&session), ("in_progress", "", None), "it goes on");
        session.prompt(vec![Content::Text("y".into())], Moment(3));
        session.apply(told(Some("completed"), Some(Some("kept")), None), Moment(4));
        assert_eq!(only(&session), ("completed", "kept", None));
        // As Claude does, 20 ms later.
        session.apply(told(Some("completed"), None, None), Moment(5));
        assert_eq!(only(&session), ("completed", "kept", None));
    }

    #[test]
    fn a_summary_is_kept_replaced_cleared_and_appended_to() {
        let mut session = working();
        let piece = |text: &str| Update::CompactionSummary { id: "k".into(), text: text.into() };
        session.apply(piece("one "), Moment(1));
        session.apply(piece("two"), Moment(1));
        assert_eq!(only(&session), ("in_progress", "one two", None));
        session.apply(told(None, Some(Some("three")), Some(Some("e"))), Moment(2));
        assert_eq!(only(&session), ("in_progress", "three", Some("e")));
        session.apply(piece(" four"), Moment(3));
        session.apply(told(Some("failed"), None, None), Moment(3));
        assert_eq!(only(&session), ("failed", "three four", Some("e")));
        session.apply(told(None, Some(None), Some(None)), Moment(4));
        assert_eq!(only(&session), ("failed", "", None));
        session.apply(told(Some(""), Some(Some("five")), None), Moment(5));
        session.apply(told(None, Some(Some("")), None), Moment(6));
        assert_eq!(only(&session), ("failed", "", None));
    }

    #[test]
    fn what_was_under_way_is_unknown_once_the_agent_is_gone() {
        let gone = |status: &str| {
            let mut session = working();
            session.apply(told(Some(status), None, None), Moment(1));
            session
                .exited(Ending { failure: None, exit: None, stderr: Vec::new(), expected: false }, Moment(2));
            only(&session).0.to_owned()
        };
        assert_eq!((&*gone("in_progress"), &*gone("failed"), &*gone("paused")), ("", "failed", "paused"));
    }

    #[test]
    fn a_subagents_compaction_is_its_own() {
        let mut session = working();
        session.apply(told(Some("completed"), None, None), Moment(1));
        session.apply(Update::Subagent(Box::new(SubagentPatch::new("a"))), Moment(1));
        let branch = Branch::Subagent(SubagentId("a".into()));
        let update = Box::new(told(Some("failed"), None, None));
        session.apply(Update::Within { branch, update }, Moment(2));
        let statuses: Vec<&str> = compactions(&session).iter().map(|one| one.status.as_str()).collect();
        assert_eq!(statuses, ["completed", "failed"]);
    }

    #[test]
    fn a_notice_that_is_told_again_at_once_is_shown_once() {
        let mut session = working();
        let notice = |title: &str| Update::Notice {
            severity: Severity::Warning,
            title: title.into(),
            description: None,
        };
        for title in ["a", "a", "b", "a"] {
            session.apply(notice(title), Moment(1));
        }
        let texts = session.entries().iter().filter_map(|entry| match &entry.body {
            Body::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["a", "b", "a"]);
        assert!(!notice("a").is_told_again(), "agents keep none, so it is news");
    }
}
