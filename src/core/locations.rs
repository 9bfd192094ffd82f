//! The locations that agents have visited, in order: which of the locations in a message are new, and how
//! they are described. How often to move the user's window is decided in [`throttle`]; windows, buffers
//! and the disk are left to the editor's side and the background.

pub mod throttle;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::ids::{EntryId, Moment, SessionKey};
use crate::core::message::ToolKind;
use crate::core::rules::place::is_normal;
use crate::core::text::uri;

/// So many places of a session are kept; the oldest go first.
const KEPT: usize = 10_000;

/// What an agent does at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Reading,
    Searching,
    Editing,
    Deleting,
    Moving,
    Running,
    /// With a tool of a kind that says nothing.
    Working,
}

impl Verb {
    pub fn of(kind: ToolKind) -> Self {
        match kind {
            ToolKind::Read | ToolKind::Fetch => Self::Reading,
            ToolKind::Search => Self::Searching,
            ToolKind::Edit => Self::Editing,
            ToolKind::Delete => Self::Deleting,
            ToolKind::Move => Self::Moving,
            ToolKind::Execute => Self::Running,
            ToolKind::Think | ToolKind::SwitchMode | ToolKind::Other => Self::Working,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Searching => "searching",
            Self::Editing => "editing",
            Self::Deleting => "deleting",
            Self::Moving => "moving",
            Self::Running => "running",
            Self::Working => "working",
        }
    }

    /// Whether the file is another one afterwards.
    pub fn changes(self) -> bool {
        matches!(self, Self::Editing | Self::Deleting | Self::Moving)
    }
}

/// 1-based lines, the last one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lines {
    pub first: u32,
    pub last: u32,
}

impl Lines {
    /// One line; nothing for the line 0 that some agents write where they know none.
    pub fn at(line: Option<u32>) -> Option<Self> {
        Self::span(line, None)
    }

    /// `limit` lines from `line` on.
    pub fn span(line: Option<u32>, limit: Option<u32>) -> Option<Self> {
        let first = line.filter(|line| *line > 0)?;
        Some(Self { first, last: first.saturating_add(limit.unwrap_or(1).max(1) - 1) })
    }
}

/// An agent was at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    pub session: SessionKey,
    /// The tool call that led there; none for a file that was asked of the editor.
    pub call: Option<EntryId>,
    /// Absolute.
    pub path: PathBuf,
    pub lines: Option<Lines>,
    pub verb: Verb,
    pub at: Moment,
}

impl Visit {
    pub fn line(&self) -> Option<u32> {
        self.lines.map(|lines| lines.first)
    }

    /// Whether an editor might take the path for something else than a file's name (`:help BufReadCmd`): the
    /// address of a file elsewhere, a program to run, a file in an archive.
    pub fn wakes_others(&self) -> bool {
        let path = self.path.to_string_lossy();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        path.contains("://")
            || self.path.iter().any(|part| is_scheme(&part.to_string_lossy()))
            || is_scheme(&name)
    }

    /// The path as one knows it in `root`, with the line.
    pub fn label(&self, root: &Path) -> String {
        let path = self.path.strip_prefix(root).ok().filter(|rest| *rest != Path::new(""));
        let path = path.unwrap_or(&self.path).display();
        match self.line() {
            Some(line) => format!("{path}:{line}"),
            None => path.to_string(),
        }
    }
}

/// What a session's agent has visited.
#[derive(Default)]
struct Trail {
    turn: u32,
    visits: VecDeque<(u32, Visit)>,
    /// Where a place stands, counted from the session's begin.
    known: BTreeMap<Place, usize>,
    /// So many were forgotten.
    forgotten: usize,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    turn: u32,
    call: Option<EntryId>,
    /// Absolute paths are the same where their bytes are, which costs less to see than that their parts are.
    path: OsString,
    line: Option<u32>,
}

/// Every place of every session.
#[derive(Default)]
pub struct History(BTreeMap<SessionKey, Trail>);

impl History {
    /// What comes from now on belongs to another turn.
    pub fn begin_turn(&mut self, session: SessionKey) {
        self.0.entry(session).or_default().turn += 1;
    }

    /// The number of the turn under way, or of the last one.
    pub fn turn(&self, session: SessionKey) -> u32 {
        self.0.get(&session).map_or(0, |trail| trail.turn)
    }

    pub fn forget(&mut self, session: SessionKey) {
        self.0.remove(&session);
    }

    /// Keeps a place. Gives back whether it is news: agents repeat what they have said of a call, tell the
    /// line after the file, and read a file through the editor that their call has named.
    pub fn record(&mut self, visit: Visit) -> bool {
        let trail = self.0.entry(visit.session).or_default();
        let turn = trail.turn;
        let path = visit.path.clone().into_os_string();
        let mut place = Place { turn, call: visit.call, path, line: visit.line() };
        if let Some(at) = trail.known.get(&place) {
            let Some((_, known)) = trail.visits.get_mut(at - trail.forgotten) else { return false };
            let news = known.verb != visit.verb;
            (known.verb, known.lines) = (visit.verb, visit.lines);
            return news;
        }
        if visit.call.is_none()
            && trail.visits.back().is_some_and(|(of, last)| *of == turn && says_no_more(last, &visit))
        {
            return false;
        }
        let line = place.line.take();
        let vague = trail.known.remove(&place);
        place.line = line;
        if let Some(at) = vague {
            // The file was told before; now it is known where in it.
            if let Some(known) = trail.visits.get_mut(at - trail.forgotten) {
                known.1 = Visit { at: known.1.at, ..visit };
            }
            trail.known.insert(place, at);
            return true;
        }
        trail.known.insert(place, trail.forgotten + trail.visits.len());
        trail.visits.push_back((turn, visit));
        if trail.visits.len() > KEPT
            && let Some((turn, gone)) = trail.visits.pop_front()
        {
            trail.forgotten += 1;
            let (call, line) = (gone.call, gone.line());
            trail.known.remove(&Place { turn, call, line, path: gone.path.into_os_string() });
        }
        true
    }

    pub fn last(&self, session: SessionKey) -> Option<&Visit> {
        self.0.get(&session)?.visits.back().map(|(_, visit)| visit)
    }

    /// The places of the turn under way, or of the last one, in order.
    pub fn of_turn(&self, session: SessionKey) -> impl Iterator<Item = &Visit> {
        let now = self.turn(session);
        self.trail(session).filter(move |(turn, _)| *turn == now).map(|(_, visit)| visit)
    }

    /// All places of a session, in order.
    pub fn of_session(&self, session: SessionKey) -> impl Iterator<Item = &Visit> {
        self.trail(session).map(|(_, visit)| visit)
    }

    fn trail(&self, session: SessionKey) -> impl Iterator<Item = &(u32, Visit)> {
        self.0.get(&session).into_iter().flat_map(|trail| &trail.visits)
    }
}

/// Whether a file that was asked of the editor is the one that a call has just named.
fn says_no_more(last: &Visit, visit: &Visit) -> bool {
    last.path == visit.path
        && (visit.lines.is_none() || visit.line() == last.line())
        && (last.verb.changes() || !visit.verb.changes())
}

/// Whether a part of a path begins as an address does, such as `zipfile:` or `term:`. Drives have one letter.
fn is_scheme(part: &str) -> bool {
    part.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|char: char| char.is_ascii_alphabetic())
            && scheme.chars().all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
    })
}

/// A path as an agent wrote it, as an absolute one: relative ones are meant from `root`, and some write
/// the address of the file.
pub fn absolute(path: &Path, root: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    let named = uri::to_path(&text).map_or_else(|| path.to_owned(), PathBuf::from);
    let path = root.join(named);
    if is_normal(&path) {
        return path;
    }
    path.components().filter(|part| *part != Component::CurDir).collect()
}

/// What there is at a path, as far as one wants to know before opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Look {
    /// A text of a size to show. The lines are those that the call's diffs touch.
    File(Option<Lines>),
    Folder,
    Missing,
    /// Too big to open just to look at it; in bytes.
    Big(u64),
    Binary,
    /// No file at all, such as a pipe, or one that cannot be read.
    Closed,
    /// Its disk does not answer.
    Silent,
    /// Not in the project.
    Outside,
    /// Another plugin would take its name for something else.
    Strange,
}

impl Look {
    /// There is a file, whatever is in it.
    pub fn finds_file(&self) -> bool {
        matches!(self, Self::File(_) | Self::Big(_) | Self::Binary)
    }

    /// Why it is not opened.
    pub fn refusal(&self) -> Option<String> {
        Some(match self {
            Self::File(_) => return None,
            Self::Folder => "a folder".to_owned(),
            Self::Missing => "not there".to_owned(),
            Self::Big(bytes) => format!("{} MB, not opened", bytes >> 20),
            Self::Binary => "binary, not opened".to_owned(),
            Self::Closed => "cannot be read".to_owned(),
            Self::Outside => "outside the project, not opened".to_owned(),
            Self::Strange => "not a file's name, not opened".to_owned(),
            Self::Silent => "its disk does not answer".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit(call: usize, path: &str, line: u32) -> Visit {
        Visit {
            session: SessionKey(1),
            call: Some(EntryId(call)),
            path: path.into(),
            lines: Lines::at(Some(line)),
            verb: Verb::Reading,
            at: Moment(0),
        }
    }

    fn labels<'a>(visits: impl Iterator<Item = &'a Visit>) -> Vec<String> {
        visits.map(|visit| visit.label(Path::new("/p"))).collect()
    }

    #[test]
    fn what_an_agent_repeats_is_no_news() {
        let mut history = History::default();
        assert!(history.record(visit(1, "/p/a", 3)));
        assert!(!history.record(visit(1, "/p/a", 3)));
        assert!(history.record(visit(2, "/p/a", 3)), "another call has come back to it");
        assert!(history.record(Visit { verb: Verb::Editing, ..visit(2, "/p/a", 3) }), "it does more there");
        assert_eq!(labels(history.of_turn(SessionKey(1))), ["a:3", "a:3"]);
        assert!(history.of_session(SessionKey(2)).next().is_none());
    }

    #[test]
    fn a_line_that_comes_late_belongs_to_the_file_that_was_told() {
        let mut history = History::default();
        assert!(history.record(visit(1, "/p/a", 0)));
        assert!(history.record(visit(1, "/p/a", 7)));
        assert!(history.record(visit(1, "/p/a", 9)), "a second place in the same file");
        assert_eq!(labels(history.of_turn(SessionKey(1))), ["a:7", "a:9"]);
    }

    #[test]
    fn a_file_that_the_call_has_named_is_not_listed_again_when_it_is_read_through_the_editor() {
        let mut history = History::default();
        let asked = |path: &str, verb| Visit { call: None, verb, ..visit(0, path, 0) };
        assert!(history.record(visit(1, "/p/a", 7)));
        assert!(!history.record(asked("/p/a", Verb::Reading)));
        assert!(history.record(asked("/p/a", Verb::Editing)));
        assert!(history.record(asked("/p/b", Verb::Reading)));
        assert_eq!(labels(history.of_turn(SessionKey(1))), ["a:7", "a", "b"]);
    }

    #[test]
    fn turns_are_told_apart() {
        let mut history = History::default();
        history.record(visit(1, "/p/a", 1));
        history.begin_turn(SessionKey(1));
        assert_eq!(labels(history.of_turn(SessionKey(1))), [""; 0]);
        history.record(visit(2, "/other/b", 0));
        assert_eq!(labels(history.of_turn(SessionKey(1))), ["/other/b"]);
        assert_eq!(labels(history.of_session(SessionKey(1))), ["a:1", "/other/b"]);
    }

    #[test]
    fn the_oldest_places_of_a_long_session_are_forgotten() {
        let mut history = History::default();
        for line in 1..=KEPT as u32 + 5 {
            assert!(history.record(visit(1, "/p/a", line)));
        }
        let all: Vec<u32> = history.of_session(SessionKey(1)).filter_map(Visit::line).collect();
        assert_eq!((all.len(), all[0]), (KEPT, 6));
        assert!(!history.record(visit(1, "/p/a", 6)), "what is kept is known");
        assert!(history.record(visit(1, "/p/a", 1)), "what was forgotten is not");
    }

    #[cfg(windows)]
    #[test]
    fn paths_are_read_with_either_slash() {
        let read = |path: &str| absolute(Path::new(path), Path::new(r"C:\p")).display().to_string();
        assert_eq!(read("src/a.rs"), r"C:\p\src\a.rs");
        assert_eq!(read(r"c:/p\b"), r"c:\p\b");
        assert_eq!(read("file:///C:/p/a%20b"), r"C:\p\a b");
    }

    #[test]
    #[cfg_attr(windows, ignore = "its paths are those of Unix")]
    fn paths_are_read_as_agents_write_them() {
        let read = |path: &str| absolute(Path::new(path), Path::new("/p")).display().to_string();
        assert_eq!(read("src/a.rs"), "/p/src/a.rs");
        assert_eq!(read("./src/./a.rs"), "/p/src/a.rs");
        assert_eq!(read("/tmp/a"), "/tmp/a");
        assert_eq!(read("file:///p/a%20b%"), "/p/a b%");
        assert_eq!(read("file://localhost/p/a"), "/p/a");
        assert_eq!(read("file://"), "/p");
        assert_eq!(read("%41"), "/p/%41");
    }

    #[test]
    fn a_line_0_is_no_line_and_a_span_ends_where_it_should() {
        assert_eq!(Lines::at(Some(0)), None);
        assert_eq!(Lines::span(Some(3), Some(2)), Some(Lines { first: 3, last: 4 }));
        assert_eq!(Lines::span(Some(3), Some(0)), Some(Lines { first: 3, last: 3 }));
        assert_eq!(Lines::span(Some(u32::MAX), Some(9)).map(|lines| lines.last), Some(u32::MAX));
    }
}
