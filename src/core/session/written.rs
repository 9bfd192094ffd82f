//! Files that an agent wrote, deleted or renamed without a tool call that says so. Each leaves a line in the chat: which file, how
//! much of it, and by which road. Reviews and checkpoints know of the same changes, but not from here.

use std::path::Path;

use super::Session;
use crate::core::ids::{EntryId, Moment};
use crate::core::message::FileDiff;
use crate::core::session::entry::Body;
use crate::core::session::tool_call::count_lines;
use crate::core::session::written_files::{FileChangeKind, Road, Written, WrittenFile};
use crate::core::text::Text;

/// A file that was written, deleted or renamed: what it held before, and what it holds since then. Of a renamed one
/// neither is compared.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// As the user knows it.
    pub name: String,
    /// A call that speaks of it.
    pub call: Option<EntryId>,
    pub kind: FileChangeKind,
    pub before: Option<Text>,
    pub after: Option<Text>,
}

impl Write {
    fn count(self, path: &Path) -> Option<(usize, usize)> {
        let (before, after) = match self.kind {
            FileChangeKind::Changed => (Some(self.before?), self.after?),
            FileChangeKind::Created => (None, self.after?),
            FileChangeKind::Deleted => (Some(self.before?), Text::default()),
            FileChangeKind::Renamed(_) => return None,
        };
        count_lines(&FileDiff { path: path.to_owned(), old_text: before, new_text: after })
    }
}

impl Session {
    /// The agent has written, deleted or renamed a file. Where a call of this turn says so there is no line of its own.
    pub fn wrote(&mut self, path: &Path, road: Road, write: Write, now: Moment) {
        self.has_worked();
        if self.is_told_by_call(path, write.call) {
            return;
        }
        let (name, kind) = (write.name.clone(), write.kind.clone());
        let counted = write.count(path);
        let file = WrittenFile { path: path.to_owned(), name, kind, times: 1, counted, unasked: None };
        self.end_thought(now);
        if let Some(last) = self.last()
            && let Body::Written(written) = &mut self.entries[last.0].body
            && written.road == road
        {
            written.add(file);
            self.touched.insert(last);
            return;
        }
        self.say(Body::Written(Box::new(Written { road, files: vec![file] })), now);
    }

    /// What was told of a write to the disk was not this agent's, or a call of its says it.
    pub fn wrote_not(&mut self, path: &Path, write: Write) {
        let counted = write.count(path);
        for at in (self.turn.first..self.entries.len()).rev() {
            if let Body::Written(written) = &mut self.entries[at].body
                && written.road == Road::Disk
                && written.take_back(path, counted)
            {
                self.touched.insert(EntryId(at));
                return;
            }
        }
    }

    /// What the agent did counts as an answer, also when it says nothing.
    pub fn has_worked(&mut self) {
        self.turn.answered = true;
    }

    /// Whether a call of this turn that edits says that it writes this file.
    fn is_told_by_call(&self, path: &Path, found: Option<EntryId>) -> bool {
        let cwd = &self.place.cwd;
        let found = found.filter(|entry| entry.0 >= self.turn.first);
        let tool = |entry: EntryId| self.entry(entry).and_then(|entry| entry.tool());
        if found.and_then(tool).is_some_and(|call| call.edits() || call.diffs().next().is_some()) {
            return true;
        }
        self.turns().flat_map(|turn| turn.calls.values()).filter_map(|entry| tool(*entry)).any(|call| {
            let edits = call.diffs().any(|diff| cwd.join(&diff.path) == path);
            edits || (call.edits() && call.locations.iter().any(|place| cwd.join(&place.path) == path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::SessionKey;
    use crate::core::message::{
        Content, Opened, Place, StopReason, ToolCallPatch, ToolContent, ToolKind, TurnEnd, Update,
    };
    use crate::core::session::AgentRun;

    fn working() -> Session {
        let place = Place { cwd: "/p".into(), ..Place::default() };
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, place, Moment(0));
        session.opened(Opened::default(), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        session
    }

    fn texts(before: &str, after: &str) -> Write {
        Write { before: Some(before.into()), after: Some(after.into()), ..Write::default() }
    }

    fn written(session: &Session) -> Vec<&Written> {
        let entries = session.entries().iter();
        entries
            .filter_map(|entry| match &entry.body {
                Body::Written(written) => Some(&**written),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn writes_in_a_row_share_an_entry_and_those_of_a_file_a_line() {
        let mut session = working();
        session.wrote(Path::new("/p/a"), Road::Editor, texts("1\n", "2\n3\n"), Moment(1));
        session.wrote(Path::new("/p/b"), Road::Editor, Write::default(), Moment(1));
        session.wrote(Path::new("/p/a"), Road::Editor, texts("2\n3\n", "3\n"), Moment(2));
        session.wrote(Path::new("/p/c"), Road::Disk, Write::default(), Moment(2));
        let all = written(&session);
        assert_eq!(all.len(), 2, "another road is another entry");
        let names: Vec<_> =
            all[0].files.iter().map(|file| (file.path.to_str(), file.times, file.counted)).collect();
        assert_eq!(names, [(Some("/p/a"), 2, Some((2, 2))), (Some("/p/b"), 1, None)]);
    }

    #[test]
    fn what_turns_out_to_be_a_calls_work_has_no_line_of_its_own() {
        let mut session = working();
        let (a, b) = (Path::new("/p/a"), Path::new("/p/b"));
        session.wrote(a, Road::Disk, texts("1\n", "2\n3\n"), Moment(1));
        session.wrote(a, Road::Disk, texts("2\n3\n", "3\n"), Moment(1));
        session.wrote(b, Road::Disk, Write::default(), Moment(1));
        session.touched.clear();
        session.wrote_not(a, texts("1\n", "2\n3\n"));
        let left: Vec<_> = written(&session)[0].files.iter().map(|file| (file.times, file.counted)).collect();
        assert_eq!(left, [(1, Some((0, 1))), (1, None)]);
        session.wrote_not(a, Write::default());
        session.wrote_not(a, Write::default());
        session.wrote_not(b, Write::default());
        assert_eq!(written(&session)[0].files, []);
        assert_eq!(session.touched.len(), 1);
        session.wrote(b, Road::Editor, Write::default(), Moment(2));
        session.wrote_not(b, Write::default());
        assert_eq!(
            written(&session)[1].files.len(),
            1,
            "what went through the editor is known to be its own"
        );
    }

    #[test]
    fn a_call_that_edits_the_file_says_it_and_one_that_read_it_does_not() {
        let call = |id: &str, kind, content| {
            let locations = Some(vec![crate::core::message::Location { path: "a".into(), line: None }]);
            Update::ToolCall(Box::new(ToolCallPatch {
                kind: Some(kind),
                locations,
                content,
                ..ToolCallPatch::new(id)
            }))
        };
        let diff = FileDiff { path: "/p/b".into(), old_text: None, new_text: "x".into() };
        let mut session = working();
        session.apply(call("1", ToolKind::Read, None), Moment(1));
        session.wrote(Path::new("/p/a"), Road::Editor, Write::default(), Moment(1));
        assert_eq!(written(&session).len(), 1);
        session.apply(call("2", ToolKind::Edit, None), Moment(1));
        session.apply(call("3", ToolKind::Other, Some(vec![ToolContent::Diff(diff)])), Moment(1));
        for path in ["/p/a", "/p/b"] {
            session.wrote(Path::new(path), Road::Editor, Write::default(), Moment(1));
        }
        assert_eq!(written(&session).len(), 1);
    }

    #[test]
    fn a_turn_that_wrote_or_ran_something_did_not_end_without_an_answer() {
        let is_silent = |work: fn(&mut Session)| {
            let mut session = working();
            work(&mut session);
            session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(9));
            let last = session.entries().last().map(|entry| entry.body.clone());
            let Some(Body::Stop { silent, .. }) = last else { panic!("{last:?}") };
            silent
        };
        assert!(is_silent(|_| ()));
        assert!(!is_silent(|session| session.wrote(
            Path::new("/p/a"),
            Road::Editor,
            Write::default(),
            Moment(1)
        )));
        let run = |session: &mut Session| {
            session.command_started(&crate::core::ids::TerminalId("t".into()), "x", Moment(1))
        };
        assert!(!is_silent(run));
    }
}
