//! What an agent has told of a tool call, for those who show more of it than the chat does: its files, its changes, its
//! locations.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::{EntryId, SessionKey};
use crate::core::session::Session;
use crate::core::session::tool_call::Status;

pub struct CallNews {
    pub session: SessionKey,
    pub entry: EntryId,
    /// It may have told other places: locations, or a content with diffs.
    pub places: bool,
    /// It has told another content.
    pub content: bool,
    /// The call is over, and has done what it was for.
    pub over: bool,
    pub done: bool,
    /// It changes files by its kind.
    pub edits: bool,
    /// The files that it has read from the first line to the last.
    pub read: Vec<PathBuf>,
    /// The files that may be other ones by now.
    pub touched: BTreeSet<PathBuf>,
}

impl CallNews {
    /// Who has changed the files, as far as the editor can guess.
    pub fn writers(&self) -> Writers {
        Writers::guess(vec![Writer { session: self.session, call: Some(self.entry) }])
    }
}

impl Session {
    /// `moved` and `content` say whether the agent has told other locations, or another content.
    pub fn call_news(&self, entry: EntryId, (moved, content): (bool, bool)) -> Option<CallNews> {
        let call = self.entry(entry)?.tool()?;
        let (over, done, edits) = (call.status.is_over(), call.status == Status::Done, call.edits());
        let cwd = &self.place.cwd;
        let touched = if edits || over { call.may_have_written(cwd) } else { BTreeSet::new() };
        let read = call.read_whole(cwd);
        let places = moved || content && call.diffs().next().is_some();
        Some(CallNews { session: self.key, entry, places, content, over, done, edits, read, touched })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::Moment;
    use crate::core::message::{
        Content, FileDiff, Location, Place, ToolCallPatch, ToolContent, ToolKind, Update, WireStatus,
    };
    use crate::core::session::AgentRun;

    fn news(kind: ToolKind, status: WireStatus) -> CallNews {
        news_of(kind, status, (true, false), Vec::new())
    }

    fn news_of(kind: ToolKind, status: WireStatus, new: (bool, bool), content: Vec<ToolContent>) -> CallNews {
        let place = Place { cwd: "/p".into(), ..Place::default() };
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
        let patch = ToolCallPatch {
            kind: Some(kind),
            status: Some(status),
            locations: Some(vec![Location { path: "a.rs".into(), line: None }]),
            content: Some(content),
            ..ToolCallPatch::new("c")
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
        let mut entries = (0..session.entries().len()).map(EntryId);
        entries.find_map(|entry| session.call_news(entry, new)).expect("there is a call")
    }

    #[test]
    fn an_edit_may_have_touched_its_files_before_it_is_over() {
        let paths = |kind, status| news(kind, status).touched.into_iter().collect::<Vec<_>>();
        assert_eq!(paths(ToolKind::Edit, WireStatus::InProgress), [PathBuf::from("/p/a.rs")]);
        assert!(paths(ToolKind::Execute, WireStatus::InProgress).is_empty());
        assert_eq!(paths(ToolKind::Execute, WireStatus::Failed), [PathBuf::from("/p/a.rs")]);
    }

    #[test]
    fn what_failed_is_over_and_not_done() {
        let told = |status| {
            let news = news(ToolKind::Read, status);
            (news.over, news.done, news.read)
        };
        let read = || vec![PathBuf::from("/p/a.rs")];
        assert_eq!(told(WireStatus::InProgress), (false, false, read()));
        assert_eq!(told(WireStatus::Failed), (true, false, read()));
        assert_eq!(told(WireStatus::Completed), (true, true, read()));
    }

    #[test]
    fn places_are_told_as_locations_or_by_diffs() {
        let told = news(ToolKind::Read, WireStatus::Pending);
        assert!(told.places && !told.content && !told.edits);
        assert_eq!(told.writers().first().and_then(|writer| writer.call), Some(told.entry));
        let shows = |item| {
            let told = news_of(ToolKind::Read, WireStatus::Completed, (false, true), vec![item]);
            assert!(told.content);
            told.places
        };
        let diff = FileDiff { path: "b.rs".into(), old_text: None, new_text: "n".into() };
        assert!(!shows(ToolContent::Content(Content::Text("a line".into()))));
        assert!(shows(ToolContent::Diff(diff)));
    }
}
