//! Several questions that are alike, answered at once: each gets its own answer, by the road of every answer. What makes
//! two alike is `core::rules::likeness`.

use std::collections::HashMap;
use std::sync::Arc;

use super::Session;
use super::asks::{OpenAsk, Pick};
use crate::core::ids::{AskId, EntryId};
use crate::core::message::PermissionKind;

/// Where more wait at once, each is asked about alone.
const MOST: usize = 200;

impl OpenAsk {
    /// The answers that are meant for others, too; nothing where no other is like it.
    pub(super) fn picks_for_all(&self) -> Vec<Pick> {
        let pick = |allows| Pick::All { asks: self.alike.clone(), allows };
        if self.alike.len() > 1 { vec![pick(true), pick(false)] } else { Vec::new() }
    }

    /// The answer that allows or rejects it just this once.
    pub fn once(&self, allows: bool) -> Option<&str> {
        let kind = if allows { PermissionKind::AllowOnce } else { PermissionKind::RejectOnce };
        self.options().iter().find(|option| option.kind == kind).map(|option| &*option.id)
    }
}

impl Session {
    /// Questions came or are over: which are alike is found anew, and shown where that has changed.
    pub(super) fn find_alike(&mut self) {
        let mut groups: HashMap<&str, Vec<AskId>> = HashMap::new();
        if self.asks.len() <= MOST {
            for open in &self.asks {
                if let Some(likeness) = self.likeness(open) {
                    groups.entry(likeness).or_default().push(open.ask);
                }
            }
        }
        let mut of: HashMap<AskId, Arc<[AskId]>> = HashMap::new();
        for asks in groups.into_values().filter(|asks| asks.len() > 1) {
            let asks: Arc<[AskId]> = asks.into();
            of.extend(asks.iter().map(|ask| (*ask, asks.clone())));
        }
        let mut changed: Vec<EntryId> = Vec::new();
        for open in &mut self.asks {
            let alike = of.remove(&open.ask).unwrap_or_default();
            if alike != open.alike {
                open.alike = alike;
                changed.push(open.entry);
            }
        }
        changed.into_iter().for_each(|entry| self.show_choices(entry));
    }

    fn likeness(&self, open: &OpenAsk) -> Option<&str> {
        let call = self.entry(open.entry)?.tool()?;
        let can_be_decided_once = open.once(true).is_some() && open.once(false).is_some();
        call.ruling.as_ref()?.likeness.as_deref().filter(|_| can_be_decided_once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey};
    use crate::core::message::{Content, Opened, PermissionOption, Place, ToolCallPatch, ToolKind};
    use crate::core::rules::Ruling;
    use crate::core::session::AgentRun;
    use crate::core::session::entry::Body;

    fn working() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn ask(session: &mut Session, id: u64, likeness: Option<&str>, kinds: &[PermissionKind]) {
        let option = |kind: &PermissionKind| PermissionOption {
            id: format!("{}-{id}", kind.word()),
            name: kind.word().to_owned(),
            kind: kind.clone(),
        };
        let patch = ToolCallPatch { kind: Some(ToolKind::Edit), ..ToolCallPatch::new(id.to_string()) };
        session.asked_first(AskId(id), patch, kinds.iter().map(option).collect(), Moment(1));
        let ruling = Ruling { likeness: likeness.map(str::to_owned), ..Ruling::default() };
        session.judged(AskId(id), Some(ruling.into()), Moment(1));
    }

    const USUAL: &[PermissionKind] = &[PermissionKind::AllowOnce, PermissionKind::RejectOnce];

    fn alike(session: &Session, ask: u64) -> Vec<u64> {
        session
            .open_ask(AskId(ask))
            .map(|open| open.alike.iter().map(|ask| ask.0).collect())
            .unwrap_or_default()
    }

    /// What stands below a call.
    fn choices(session: &Session, ask: u64) -> Vec<String> {
        let entry = session.open_ask(AskId(ask)).and_then(|open| session.entry(open.entry));
        match entry.map(|entry| &entry.body) {
            Some(Body::Tool(call)) => call.choices.clone(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn those_that_wait_and_are_alike_are_found_as_they_come_and_go() {
        let mut session = working();
        ask(&mut session, 1, Some("write src"), USUAL);
        assert_eq!(choices(&session, 1), ["allow_once", "reject_once"]);
        ask(&mut session, 2, Some("write tests"), USUAL);
        ask(&mut session, 3, None, USUAL);
        ask(&mut session, 4, None, USUAL);
        assert!([1, 2, 3, 4].iter().all(|ask| alike(&session, *ask).is_empty()));
        ask(&mut session, 5, Some("write src"), USUAL);
        session.take_touched();
        ask(&mut session, 6, Some("write src"), USUAL);
        assert!(session.take_touched().0.len() >= 3, "what stands below the others is another text now");
        assert_eq!((alike(&session, 1), alike(&session, 2)), (vec![1, 5, 6], vec![]));
        let all = ["allow_once", "reject_once", "Allow all 3", "Reject all 3"];
        assert_eq!(choices(&session, 5), all);
        session.answer(AskId(5), "allow_once-5", Moment(2));
        assert_eq!(choices(&session, 1).last().map(String::as_str), Some("Reject all 2"));
        session.withdrawn(AskId(6), Moment(3));
        assert_eq!(choices(&session, 1), ["allow_once", "reject_once"]);
    }

    #[test]
    fn one_that_cannot_be_decided_just_once_is_asked_about_alone() {
        let mut session = working();
        ask(&mut session, 1, Some("write src"), USUAL);
        ask(&mut session, 2, Some("write src"), &[PermissionKind::AllowOnce, PermissionKind::RejectAlways]);
        ask(&mut session, 3, Some("write src"), &[PermissionKind::AllowAlways, PermissionKind::RejectOnce]);
        assert!([1, 2, 3].iter().all(|ask| alike(&session, *ask).is_empty()));
    }
}
