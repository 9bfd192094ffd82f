//! An agent's plans: the list of steps that each turn has one of, and those that have ids, which may be steps, a text or a
//! file. What is told of a plan is all of it. What it looks like is left to `transcript`.

use super::Session;
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{PlanContent, PlanItem};
use crate::core::session::entry::{Body, Document, Entry};

/// What is larger takes long to free.
const LARGE: usize = 64 << 10;

impl Session {
    /// The newest plan.
    pub fn plan(&self) -> Option<&Entry> {
        self.entry(self.plan?)
    }

    /// The steps of the turn that runs, or that ran last.
    pub fn present_plan(&self) -> Option<&[PlanItem]> {
        let newest = || self.plan.filter(|entry| entry.0 >= self.turn.first);
        let entry = self.turn.plan.or_else(newest)?;
        match &self.entry(entry)?.body {
            Body::Plan(items) => Some(items),
            _ => None,
        }
    }

    pub(super) fn steps_told(&mut self, items: Vec<PlanItem>, now: Moment) {
        match self.turn.plan {
            Some(entry) => {
                self.replace(entry, Body::Plan(items));
                self.plan = Some(entry);
            }
            None if items.is_empty() => {}
            None => {
                self.turn.plan = Some(self.begin_plan(Body::Plan(items), now));
            }
        }
        self.status_touched = true;
    }

    /// One that was told of in an earlier turn stands far above; then it is shown anew, if there is news.
    pub(super) fn plan_told(&mut self, id: String, plan: PlanContent, now: Moment) {
        let body = match plan {
            PlanContent::Items(items) => Body::Plan(items),
            content => Body::Document(Box::new(Document { content, removed: false })),
        };
        let key = (self.actor_now(), id);
        let known = self.plans.get(&key).copied();
        if known.and_then(|entry| self.entry(entry)).is_some_and(|entry| entry.body == body) {
            return;
        }
        match known.filter(|entry| entry.0 >= self.turn.first) {
            Some(entry) => {
                self.replace(entry, body);
                self.plan = Some(entry);
            }
            None if known.is_none() && is_empty(&body) => {}
            None => {
                let entry = self.begin_plan(body, now);
                self.plans.insert(key, entry);
            }
        }
        self.status_touched = true;
    }

    pub(super) fn plan_removed(&mut self, id: String) {
        let Some(entry) = self.plans.remove(&(self.actor_now(), id)) else { return };
        let Some(body) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) else { return };
        match body {
            Body::Plan(items) => {
                let content = PlanContent::Items(std::mem::take(items));
                *body = Body::Document(Box::new(Document { content, removed: true }));
            }
            Body::Document(document) => document.removed = true,
            _ => {}
        }
        self.touched.insert(entry);
        self.status_touched = true;
    }

    fn begin_plan(&mut self, body: Body, now: Moment) -> EntryId {
        self.turn.answered = true;
        let entry = self.say(body, now);
        self.plan = Some(entry);
        entry
    }

    fn replace(&mut self, entry: EntryId, body: Body) {
        let Some(known) = self.entries.get_mut(entry.0) else { return };
        let before = std::mem::replace(&mut known.body, body);
        let size = match &before {
            Body::Plan(items) => items.iter().map(|item| size_of::<PlanItem>() + item.content.len()).sum(),
            Body::Document(document) => document.content.size(),
            _ => 0,
        };
        if size > LARGE {
            self.outdated.push(before);
        }
        self.touched.insert(entry);
    }
}

fn is_empty(body: &Body) -> bool {
    match body {
        Body::Plan(items) => items.is_empty(),
        Body::Document(document) => document.content.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AgentId, SessionKey};
    use crate::core::message::{Content, Opened, Place, PlanStatus, Priority, Update};
    use crate::core::session::AgentRun;

    fn session() -> Session {
        let (key, agent) = (SessionKey(1), AgentId(1));
        let mut session = Session::new(
            key,
            AgentRun { id: agent, name: "fake", command: "fake" },
            Place::default(),
            Moment(0),
        );
        drop(session.opened(Opened { acp_id: "a".into(), ..Opened::default() }, Moment(1)));
        session
    }

    fn item(content: &str) -> PlanItem {
        PlanItem { content: content.into(), priority: Priority::Medium, status: PlanStatus::Pending }
    }

    fn tell(session: &mut Session, id: &str, plan: PlanContent) {
        session.apply(Update::PlanTold { id: id.into(), plan }, Moment(2));
    }

    fn text(text: &str) -> PlanContent {
        PlanContent::Markdown(text.into())
    }

    fn shown(session: &Session) -> Vec<String> {
        let words = |content: &PlanContent| match content {
            PlanContent::Items(items) => format!("{} steps", items.len()),
            PlanContent::Markdown(text) => text.to_string(),
            PlanContent::File(uri) => uri.clone(),
            PlanContent::Unknown { kind } => format!("a {kind}"),
        };
        let plan = |entry: &Entry| match &entry.body {
            Body::Plan(items) => Some(format!("{} steps", items.len())),
            Body::Document(document) if document.removed => {
                Some(format!("dropped: {}", words(&document.content)))
            }
            Body::Document(document) => Some(words(&document.content)),
            _ => None,
        };
        session.entries().iter().filter_map(plan).collect()
    }

    #[test]
    fn plans_with_ids_stand_beside_each_other_and_beside_the_list_of_steps() {
        let mut session = session();
        session.apply(Update::Plan(vec![item("a")]), Moment(1));
        tell(&mut session, "one", text("# One"));
        tell(&mut session, "two", PlanContent::Items(vec![item("a"), item("b")]));
        tell(&mut session, "one", text("# One, better"));
        session.apply(Update::Plan(vec![item("a"), item("b"), item("c")]), Moment(3));
        assert_eq!(shown(&session), ["3 steps", "# One, better", "2 steps"]);
        assert_eq!(session.present_plan().map(<[_]>::len), Some(3));
    }

    #[test]
    fn what_is_told_of_a_plan_is_all_of_it_in_whatever_form() {
        let mut session = session();
        tell(&mut session, "p", PlanContent::Items(vec![item("a"), item("b")]));
        tell(&mut session, "p", PlanContent::Items(vec![item("c")]));
        assert_eq!(shown(&session), ["1 steps"]);
        tell(&mut session, "p", text("# A"));
        assert_eq!(shown(&session), ["# A"]);
        tell(&mut session, "p", text(""));
        assert_eq!(shown(&session), [""]);
        tell(&mut session, "p", PlanContent::Unknown { kind: "chart".into() });
        assert_eq!(shown(&session), ["a chart"]);
    }

    #[test]
    fn a_plan_that_begins_empty_is_not_shown() {
        let mut session = session();
        tell(&mut session, "p", text(" \n"));
        tell(&mut session, "q", PlanContent::Items(Vec::new()));
        assert!(shown(&session).is_empty());
    }

    #[test]
    fn a_plan_that_is_removed_stays_readable_and_its_id_may_be_used_again() {
        let mut session = session();
        tell(&mut session, "p", PlanContent::Items(vec![item("a")]));
        session.apply(Update::PlanRemoved { id: "p".into() }, Moment(3));
        session.apply(Update::PlanRemoved { id: "never told".into() }, Moment(3));
        assert_eq!(shown(&session), ["dropped: 1 steps"]);
        assert_eq!(session.present_plan(), None);
        tell(&mut session, "p", text("# New"));
        assert_eq!(shown(&session), ["dropped: 1 steps", "# New"]);
    }

    #[test]
    fn a_plan_of_an_earlier_turn_is_shown_where_the_news_of_it_is() {
        let mut session = session();
        tell(&mut session, "p", text("# One"));
        drop(session.prompt(vec![Content::Text("x".into())], Moment(3)));
        tell(&mut session, "p", text("# One"));
        assert_eq!(shown(&session), ["# One"]);
        tell(&mut session, "p", text("# Two"));
        tell(&mut session, "p", text("# Three"));
        assert_eq!(shown(&session), ["# One", "# Three"]);
    }
}
