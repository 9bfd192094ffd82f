//! One tool call of an agent: what it is about and how far it is. Messages about it may come in any order
//! and repeat; this file defines what each of them changes. Drawing is left to `transcript`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::core::ids::{Moment, TerminalId, ToolCallId};
use crate::core::message::{FileDiff, Location, ToolCallPatch, ToolContent, ToolKind, WireStatus};
use crate::core::text::one_line;

/// How far a call is, as the user should see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    /// Waits for the user's answer.
    Waiting,
    Running,
    Done,
    Failed,
    /// The user said no.
    Rejected,
    /// Its turn was cancelled or its agent is gone.
    Cancelled,
    /// Its turn ended well, and the agent never said what became of it.
    Unreported,
}

impl Status {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Rejected | Self::Cancelled | Self::Unreported)
    }
}

/// What may change a call's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Reported(WireStatus),
    Asked,
    Allowed,
    Rejected,
    /// The question went away without an answer of the user's.
    Withdrawn,
    TurnCancelled,
    /// Its turn ended by itself.
    TurnEnded,
    AgentGone,
}

/// The status after `cause`. A verdict of the user's sticks: late progress does not revive a
/// rejected or cancelled call. That it was completed after all always wins, since it is then true.
pub fn next(status: Status, cause: &Cause) -> Status {
    use Status::*;
    match (status, cause) {
        (_, Cause::Reported(WireStatus::Completed)) => Done,
        (Rejected | Cancelled, _) => status,
        (_, Cause::Reported(WireStatus::Failed)) => Failed,
        (_, Cause::Reported(WireStatus::Other(word))) => match word.as_str() {
            "cancelled" | "canceled" => Cancelled,
            "denied" | "rejected" => Rejected,
            "error" => Failed,
            _ => status,
        },
        // Some agents go back to pending after they asked; a finished call stays finished.
        (Done | Failed, _) => status,
        // Nothing was known of it, so what comes late is news; that it is yet to begin is none.
        (Unreported, Cause::Reported(WireStatus::Pending) | Cause::Withdrawn) => Unreported,
        (Unreported, Cause::TurnCancelled | Cause::AgentGone) => Unreported,
        (Waiting, Cause::Reported(_)) => Waiting,
        (Running, Cause::Reported(WireStatus::Pending)) => Running,
        (_, Cause::Reported(WireStatus::Pending)) => Pending,
        (_, Cause::Reported(WireStatus::InProgress)) => Running,
        (_, Cause::Asked) => Waiting,
        (_, Cause::Allowed) => Running,
        (_, Cause::Rejected) => Rejected,
        (Waiting, Cause::Withdrawn) => Pending,
        (_, Cause::Withdrawn) => status,
        (_, Cause::TurnCancelled | Cause::AgentGone) => Cancelled,
        // A question that is still open can still be answered.
        (Waiting, Cause::TurnEnded) => Waiting,
        (_, Cause::TurnEnded) => Unreported,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: ToolCallId,
    /// The session's folder: what is in it is named without it.
    pub root: PathBuf,
    pub title: String,
    pub name: Option<String>,
    pub kind: ToolKind,
    pub status: Status,
    pub content: Vec<ToolContent>,
    /// Lines that come and lines that go, in all its diffs.
    pub counted: (usize, usize),
    pub locations: Vec<Location>,
    /// The files that it was seen to change on the disk.
    pub changed: BTreeSet<PathBuf>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    /// What the user may answer, while they are asked.
    pub choices: Vec<String>,
    pub started: Moment,
    pub ended: Option<Moment>,
}

/// A path without the folder that it is in.
pub fn relative<'a>(path: &'a Path, root: &Path) -> &'a Path {
    path.strip_prefix(root).ok().filter(|rest| *rest != Path::new("")).unwrap_or(path)
}

impl ToolCall {
    pub fn new(id: ToolCallId, now: Moment) -> Self {
        Self {
            id,
            root: PathBuf::new(),
            title: String::new(),
            name: None,
            kind: ToolKind::Other,
            status: Status::Pending,
            content: Vec::new(),
            counted: (0, 0),
            locations: Vec::new(),
            changed: BTreeSet::new(),
            raw_input: None,
            raw_output: None,
            choices: Vec::new(),
            started: now,
            ended: None,
        }
    }

    /// Given fields replace, absent ones stay; lists are replaced as a whole.
    pub fn patch(&mut self, patch: ToolCallPatch, now: Moment) {
        let ToolCallPatch { id: _, title, name, kind, status, content, locations, raw_input, raw_output } =
            patch;
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            self.title = title;
        }
        self.name = name.or(self.name.take());
        self.kind = kind.unwrap_or(self.kind);
        if let Some(content) = content {
            self.content = content;
            self.counted = self.count();
        }
        self.locations = locations.unwrap_or_else(|| std::mem::take(&mut self.locations));
        self.raw_input = raw_input.or(self.raw_input.take());
        self.raw_output = raw_output.or(self.raw_output.take());
        if let Some(status) = status {
            self.advance(&Cause::Reported(status), now);
        }
    }

    pub fn advance(&mut self, cause: &Cause, now: Moment) {
        let status = next(self.status, cause);
        // When one ended of which nobody told is not known either.
        if status.is_over() && status != Status::Unreported && self.ended.is_none() {
            self.ended = Some(now);
        }
        self.status = status;
    }

    /// Counted when diffs come rather than when they are drawn, which is often.
    fn count(&self) -> (usize, usize) {
        let bytes =
            |diff: &FileDiff| diff.old_text.as_ref().map_or(0, |text| text.len()) + diff.new_text.len();
        if self.diffs().map(bytes).sum::<usize>() > 4 * COMPARED {
            return (0, 0);
        }
        self.diffs().map(count_lines).fold((0, 0), |(a, r), (x, y)| (a + x, r + y))
    }

    pub fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }

    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Terminal(terminal) => Some(terminal),
            _ => None,
        })
    }

    /// What it changed on the disk, where neither its kind nor a diff says so: `changed a.txt`, `changed 312 files`.
    pub fn changed_words(&self) -> Option<String> {
        let is_edit = matches!(self.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        if is_edit || self.diffs().next().is_some() {
            return None;
        }
        match self.changed.len() {
            0 => None,
            1 => self.changed.first().map(|path| format!("changed {}", self.relative(path).display())),
            files => Some(format!("changed {files} files")),
        }
    }

    /// Where the call is at work: its locations, else the files of its diffs.
    pub fn places(&self) -> Vec<Location> {
        if self.locations.is_empty() {
            self.diffs().map(|diff| Location { path: diff.path.clone(), line: None }).collect()
        } else {
            self.locations.clone()
        }
    }

    /// The title on one line; when the agent gave none, its name or kind. What the call is about follows
    /// where the title does not say it: whoever is asked has to know which file, and which command.
    pub fn headline(&self) -> String {
        let mut title = one_line(&self.title);
        if title.is_empty() {
            title = self.name.clone().unwrap_or_else(|| kind_word(self.kind).to_owned());
        }
        let about = match self.kind {
            // A command is shown as it runs, down to its folders.
            ToolKind::Execute | ToolKind::Other => self.command(),
            ToolKind::Read | ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Search => {
                title = without_folder(&title, &self.root);
                self.files(&title)
            }
            _ => None,
        };
        match about {
            Some(about) if !title.contains(&about) => format!("{title}: {about}"),
            _ => title,
        }
    }

    /// Why a call failed, where the agent tells it as raw output alone.
    pub fn reason(&self) -> Option<&str> {
        let output = self.raw_output.as_ref()?;
        output.as_str().or_else(|| output.get("message")?.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// A path as the user knows it.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        relative(path, &self.root)
    }

    /// The command line, where the agent tells it in the way that most do.
    pub fn command(&self) -> Option<String> {
        let input = self.raw_input.as_ref()?;
        let command = one_line(input.get("command").or(input.get("cmd"))?.as_str()?);
        (!command.is_empty()).then_some(command)
    }

    /// The files that a title does not name, if it names none of them.
    fn files(&self, title: &str) -> Option<String> {
        let places = self.places();
        let mut names: Vec<String> = Vec::new();
        for place in places.iter().take(NAMED) {
            let file = place.path.file_name()?.to_string_lossy();
            if title.contains(&*file) {
                return None;
            }
            let name = self.relative(&place.path).display().to_string();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let others = places.len().saturating_sub(NAMED);
        match &names[..] {
            [] => None,
            [first, second, third, more @ ..] if more.len() + others > 0 => {
                Some(format!("{first}, {second}, {third} and {} more", more.len() + others))
            }
            names => Some(names.join(", ")),
        }
    }
}

/// Of so many files of a call it is looked whether its title names them.
const NAMED: usize = 100;

/// Files with more bytes than this, the old text and the new together, are not compared on the editor's
/// thread.
pub const COMPARED: usize = 200_000;

/// Lines that come and lines that go.
pub fn count_lines(diff: &FileDiff) -> (usize, usize) {
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old.len() + diff.new_text.len() > COMPARED {
        // Counting is a courtesy; a big file is not compared on the editor's thread for it.
        return (0, 0);
    }
    let changes = similar::TextDiff::from_lines(old, &*diff.new_text);
    changes.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        similar::ChangeTag::Insert => (added + 1, removed),
        similar::ChangeTag::Delete => (added, removed + 1),
        similar::ChangeTag::Equal => (added, removed),
    })
}

/// A text with the paths in a folder written from there.
fn without_folder(text: &str, folder: &Path) -> String {
    let Some(folder) = folder.to_str().filter(|folder| folder.len() > 1) else { return text.to_owned() };
    let folder = format!("{}/", folder.trim_end_matches('/'));
    let mut short = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&folder) {
        let (before, after) = (&rest[..at], &rest[at + folder.len()..]);
        short.push_str(before);
        // The end of a longer path is another folder.
        if short.ends_with(|last: char| last.is_alphanumeric() || "/._-~".contains(last)) {
            short.push_str(&folder);
        }
        rest = after;
    }
    short + rest
}

/// The verb for a kind, for screens without icons.
pub fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "run",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch mode",
        ToolKind::Other => "tool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::*;

    const ALL: [Status; 8] = [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled, Unreported];

    fn after(cause: Cause) -> [Status; 8] {
        ALL.map(|status| next(status, &cause))
    }

    fn word(word: &str) -> Cause {
        Cause::Reported(WireStatus::Other(word.into()))
    }

    #[test]
    fn every_cause_has_its_effect_on_every_status() {
        //                      Pending    Waiting    Running    Done  Failed  Rejected  Cancelled  Unreported
        let table = [
            (
                Cause::Reported(WireStatus::Pending),
                [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::Reported(WireStatus::InProgress),
                [Running, Waiting, Running, Done, Failed, Rejected, Cancelled, Running],
            ),
            (Cause::Reported(WireStatus::Completed), [Done; 8]),
            (
                Cause::Reported(WireStatus::Failed),
                [Failed, Failed, Failed, Failed, Failed, Rejected, Cancelled, Failed],
            ),
            (Cause::Asked, [Waiting, Waiting, Waiting, Done, Failed, Rejected, Cancelled, Waiting]),
            (Cause::Allowed, [Running, Running, Running, Done, Failed, Rejected, Cancelled, Running]),
            (Cause::Rejected, [Rejected, Rejected, Rejected, Done, Failed, Rejected, Cancelled, Rejected]),
            (Cause::Withdrawn, [Pending, Pending, Running, Done, Failed, Rejected, Cancelled, Unreported]),
            (
                Cause::TurnCancelled,
                [Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::TurnEnded,
                [Unreported, Waiting, Unreported, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::AgentGone,
                [Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                word("denied"),
                [Rejected, Rejected, Rejected, Rejected, Rejected, Rejected, Cancelled, Rejected],
            ),
            (word("surprise"), [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled, Unreported]),
        ];
        for (cause, expected) in table {
            assert_eq!(after(cause.clone()), expected, "{cause:?}");
        }
    }

    #[test]
    fn absent_fields_stay_and_lists_are_replaced() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        let location = |path: &str| Location { path: path.into(), line: None };
        call.patch(
            ToolCallPatch {
                title: Some("Read a".into()),
                locations: Some(vec![location("a"), location("b")]),
                ..ToolCallPatch::new("1")
            },
            Moment(1),
        );
        call.patch(
            ToolCallPatch { locations: Some(vec![location("c")]), ..ToolCallPatch::new("1") },
            Moment(2),
        );
        assert_eq!(call.title, "Read a");
        assert_eq!(call.locations, [location("c")]);
    }

    /// The headline of a call in `/p` that is about these paths.
    fn headline(title: &str, kind: ToolKind, paths: &[&str], command: Option<&str>) -> String {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.root = "/p".into();
        let location = |path: &&str| Location { path: path.into(), line: None };
        call.patch(
            ToolCallPatch {
                title: Some(title.into()),
                kind: Some(kind),
                locations: Some(paths.iter().map(location).collect()),
                raw_input: command.map(|command| serde_json::json!({ "command": command })),
                ..ToolCallPatch::new("1")
            },
            Moment(0),
        );
        call.headline()
    }

    #[test]
    fn a_headline_names_the_files_that_the_title_keeps_to_itself() {
        let edit = |title: &str, paths: &[&str]| headline(title, ToolKind::Edit, paths, None);
        assert_eq!(edit("Edit file", &["/p/src/a.rs"]), "Edit file: src/a.rs");
        assert_eq!(edit("Edit files", &["/p/a1", "/p/a2", "/p/a1"]), "Edit files: a1, a2");
        assert_eq!(edit("Edit files", &["a1", "a2", "a3", "a4", "a5"]), "Edit files: a1, a2, a3 and 2 more");
        assert_eq!(edit("Edit a.rs", &["/p/src/a.rs"]), "Edit a.rs");
        assert_eq!(edit("Edit file", &["/other/a.rs"]), "Edit file: /other/a.rs");
        assert_eq!(edit("Edit file", &[]), "Edit file");
    }

    #[test]
    fn a_headline_names_the_command_that_the_title_keeps_to_itself() {
        let run = |title: &str, command: &str| headline(title, ToolKind::Execute, &[], Some(command));
        assert_eq!(run("Run the tests", "cargo  test\n--all"), "Run the tests: cargo test --all");
        assert_eq!(run("`cargo test`", "cargo test"), "`cargo test`");
        assert_eq!(run("Run the tests", ""), "Run the tests");
        assert_eq!(headline("bash", ToolKind::Other, &[], Some("ls")), "bash: ls");
    }

    #[test]
    fn paths_in_the_project_are_short_and_commands_are_left_as_they_are() {
        let edit = |title: &str| headline(title, ToolKind::Edit, &[], None);
        assert_eq!(edit("Edit `/p/src/a.rs` and /p/b"), "Edit `src/a.rs` and b");
        assert_eq!(edit("Edit /home/p/a.rs, /px/a and /p"), "Edit /home/p/a.rs, /px/a and /p");
        assert_eq!(headline("rm -r /p/build", ToolKind::Execute, &[], None), "rm -r /p/build");
    }

    #[test]
    fn a_title_of_many_lines_is_one_line() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.patch(
            ToolCallPatch { title: Some("run\n  ls\r\n".into()), ..ToolCallPatch::new("1") },
            Moment(0),
        );
        assert_eq!(call.headline(), "run ls");
    }
}
