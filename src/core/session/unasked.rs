//! What an agent does on its own: calls that are over without a question are put aside, for rules to be held against
//! them, and those that rules would have asked about are marked. What is told again of a stored session is left alone.

use std::path::Path;

use super::Session;
use crate::core::ids::EntryId;
use crate::core::message::ToolKind;
use crate::core::rules::danger::is_run_unseen;
use crate::core::rules::unasked::{Unasked, UnaskedAction};
use crate::core::rules::{Act, Request};
use crate::core::session::entry::Body;
use crate::core::session::tool_call::{Status, ToolCall, relative};

impl Session {
    /// A message about a call came. It is put aside once, when it is over.
    pub(super) fn note_done(&mut self, entry: EntryId) {
        // It may be asked about at this very moment.
        let is_asked = self.judging.iter().any(|open| open.entry == entry);
        let is_told_again = self.is_taken_up();
        let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) else {
            return;
        };
        if matches!(call.status, Status::Done | Status::Failed)
            && !std::mem::replace(&mut call.is_put_aside, true)
            && !(call.was_asked || is_asked || is_told_again)
        {
            self.unjudged.push(entry);
        }
    }

    /// What was put aside since the last call, for rules to judge.
    pub fn take_done(&mut self) -> Vec<(EntryId, UnaskedAction)> {
        let entries = std::mem::take(&mut self.unjudged);
        let action = |entry| {
            let call = self.entry(entry)?.tool()?;
            let request = call.requested(&self.place.cwd);
            // What runs in a terminal of the editor's was judged there.
            let is_known = !request.acts.is_empty() || call.terminals().next().is_none();
            is_known.then(|| {
                (entry, UnaskedAction { call: Some(call.id.clone()), request, ..UnaskedAction::default() })
            })
        };
        entries.into_iter().filter_map(action).collect()
    }

    /// A file was found changed by what a call did. Where the user or a rule was asked about the call, it is put aside
    /// only if what it holds is run later, and the call did not name it.
    pub fn changed_file_action(&self, entry: Option<EntryId>, path: &Path) -> Option<UnaskedAction> {
        let call = entry.and_then(|entry| self.entry(entry)?.tool());
        let act = Act::File { path: path.to_owned(), writes: true };
        let of_asked = match call.filter(|call| call.was_asked) {
            Some(call) => {
                let is_named = call.requested(&self.place.cwd).acts.iter().any(|named| named.covers(&act));
                if is_named || !is_run_unseen(path) {
                    return None;
                }
                Some(relative(path, &self.place.cwd).to_owned())
            }
            None => None,
        };
        let kind = Some(ToolKind::Edit.word().to_owned());
        Some(UnaskedAction {
            call: call.filter(|call| !call.is_command_alone).map(|call| call.id.clone()),
            request: Request { kind, acts: vec![act], ..Request::default() },
            is_found: true,
            part_of: call.map(|call| call.requested(&self.place.cwd)),
            of_asked,
        })
    }

    /// A rule would have asked about a call or rejected it. The strictest counts. Says whether that is news.
    pub fn mark_unasked(&mut self, entry: EntryId, unasked: Unasked) -> bool {
        let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) else {
            return false;
        };
        let is_known = call.was_asked && unasked.of_asked.is_none();
        if is_known || call.unasked.as_ref().is_some_and(|known| known.decision <= unasked.decision) {
            return false;
        }
        call.unasked = Some(Box::new(unasked));
        self.touched.insert(entry);
        true
    }

    /// The same of a file that was written without a call that says so.
    pub fn mark_written(&mut self, path: &Path, unasked: &Unasked) -> bool {
        let entries = self.entries.iter_mut().enumerate().skip(self.turn.first).rev();
        for (at, entry) in entries {
            if let Body::Written(written) = &mut entry.body
                && let Some(file) = written.files.iter_mut().find(|file| file.path == path)
            {
                let is_news = file.unasked.is_none();
                file.unasked.get_or_insert_with(|| Box::new(unasked.clone()));
                self.touched.insert(EntryId(at));
                return is_news;
            }
        }
        false
    }
}

impl ToolCall {
    /// What the user should know of what the agent has not asked about.
    pub fn unasked_words(&self) -> Option<String> {
        self.unasked.as_ref().map(|unasked| unasked.words())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::core::ids::{AskId, Moment, SessionKey};
    use crate::core::message::{
        Content, Opened, PermissionKind, PermissionOption, Place, Reopen, ToolCallPatch, Update, WireStatus,
    };
    use crate::core::rules::Decision;
    use crate::core::session::AgentRun;

    fn session() -> Session {
        let place = Place { cwd: "/p".into(), ..Place::default() };
        Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0))
    }

    fn working() -> Session {
        let mut session = session();
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn told(session: &mut Session, id: &str, status: WireStatus) {
        let patch = ToolCallPatch {
            kind: Some(ToolKind::Execute),
            raw_input: Some(json!({ "command": "make" })),
            status: Some(status),
            ..ToolCallPatch::new(id)
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
    }

    fn done(session: &mut Session) -> Vec<String> {
        session.take_done().into_iter().filter_map(|(_, action)| Some(action.call?.0)).collect()
    }

    #[test]
    fn a_call_is_put_aside_once_when_it_is_over() {
        let mut session = working();
        told(&mut session, "a", WireStatus::InProgress);
        assert!(done(&mut session).is_empty());
        told(&mut session, "b", WireStatus::Failed);
        told(&mut session, "a", WireStatus::Completed);
        assert_eq!(done(&mut session), ["b", "a"]);
        told(&mut session, "a", WireStatus::Completed);
        assert!(done(&mut session).is_empty());
    }

    #[test]
    fn what_was_asked_about_or_is_told_again_is_left_alone() {
        let mut asked = working();
        let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
        asked.asked(AskId(1), ToolCallPatch::new("a"), vec![option], Moment(1));
        asked.answer(AskId(1), "y", Moment(2));
        told(&mut asked, "a", WireStatus::Completed);
        assert!(done(&mut asked).is_empty());
        let entry = asked.call_entry(&ToolCallPatch::new("a").id);
        assert_eq!(asked.changed_file_action(entry, Path::new("/p/x")), None);

        let mut loading = session();
        loading.taking_up = Some(("s".into(), Reopen::Load));
        told(&mut loading, "a", WireStatus::Completed);
        assert!(done(&mut loading).is_empty());
    }

    #[test]
    fn the_strictest_rule_marks_a_call() {
        let mut session = working();
        told(&mut session, "a", WireStatus::Completed);
        let entry = session.take_done()[0].0;
        let mut mark = |decision, rule: &str| {
            session.mark_unasked(entry, Unasked { decision, rule: rule.into(), of_asked: None })
        };
        assert!(mark(Decision::Ask, "one"));
        assert!(!mark(Decision::Ask, "two"));
        assert!(mark(Decision::Reject, "three"));
        assert!(!mark(Decision::Ask, "four"));
        let words = session.entry(entry).and_then(|entry| entry.tool()?.unasked_words());
        assert_eq!(words.as_deref(), Some("Done without asking: three"));
    }
}
