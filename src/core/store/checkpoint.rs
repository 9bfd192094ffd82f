//! Checkpoints: the contents of files before and after each turn that changed them. This is the journal's
//! format, and what follows from it: what a turn did to each file, and what to write to restore the state
//! before it. Where journal and texts are stored is left to `acp::store::checkpoints`.

use std::ops::Deref;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::core::changes::aim::Aim;
use crate::core::changes::diff::{Hunk, place};
use crate::core::changes::file_review::without;
use crate::core::changes::review::Review;
use crate::core::changes::text_edits::{self, TextEdit};
use crate::core::ids::JobId;
use crate::core::message::call::FileDiff;
use crate::core::store::stored_path;
use crate::core::text::file_format::{as_lines, is_dos};
use crate::core::text::one_line;

pub use crate::core::store::held::{Bytes, Held, MAX_FILE_BYTES, Mode, Stored};

/// Characters of a prompt that are kept.
const LONGEST_PROMPT: usize = 200;

/// A turn of this Neovim's, before it has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TurnKey {
    /// Milliseconds since 1970.
    pub at: u64,
    pub number: u64,
}

/// Whose turn it was, and what for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// As it is shown.
    pub agent: String,
    /// The agent's own id of the session.
    pub acp_id: String,
    /// The session's title, if it has one by then.
    pub title: Option<String>,
    #[serde(with = "stored_path")]
    pub cwd: PathBuf,
    pub prompt: String,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Turn,
    /// The user put files back to what they were.
    Restore,
}

/// One line of a journal, which is one turn's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub fact: Fact,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The first line.
    Turn(Head),
    Change(Touched),
    Attributed(Attributed),
}

/// Whose the last change of a file was is known better by now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attributed {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// What the tool call was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// It was none of this turn's.
    #[serde(default)]
    pub is_another: bool,
}

/// What became of a file. In the journal, since the turn's beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touched {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    pub before: Stored,
    pub after: Stored,
    pub added: usize,
    pub removed: usize,
    #[serde(flatten)]
    pub last: Last,
}

/// The last of a file's changes in a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// What the tool call was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What the file held right before, where somebody else has changed it since the change before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Stored>,
    /// What the file held on the disk where what was there before were unsaved edits of a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<Stored>,
}

/// A turn as its journal tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Sorts by time.
    pub id: String,
    pub at: u64,
    pub head: Head,
    /// In the order in which they were first changed.
    pub files: Vec<Touched>,
    /// Each change by itself.
    pub steps: Vec<Change>,
}

/// One change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub at: u64,
    pub path: PathBuf,
    pub call: Option<String>,
    pub before: Stored,
    pub after: Stored,
    /// As in [`Last`].
    pub saved: Option<Stored>,
}

/// A file to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    pub path: PathBuf,
    pub target: Stored,
    /// What it holds if nobody else has changed it.
    pub expected: Stored,
    /// What the file is to hold on the disk, where the target was not saved.
    pub saved: Option<Stored>,
}

/// A buffer that holds a file to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Lines joined by `\n`, without a last line break.
    pub text: String,
    /// Its 'fileformat'.
    pub format: String,
}

/// A file to put back with all that is needed for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fetched {
    pub path: PathBuf,
    /// Why it can't be had is fit for "couldn't restore ..: ".
    pub target: Result<Held, String>,
    /// `None` where it can't be had.
    pub expected: Option<Held>,
    pub disk: Held,
    /// There is a named pipe in its place, to which no buffer can be written.
    pub is_pipe: bool,
    /// Goes with the file, or comes back with it: the outermost folder.
    pub folder: Option<PathBuf>,
    /// The repository that it is in, if what git keeps for itself there is another thing than it was then.
    pub repository: Option<Repository>,
    /// What makes the buffer's text the target's.
    pub edits: Vec<TextEdit>,
    /// The same by the hunk: in rows of what is there now, what goes and what comes back.
    pub hunks: Vec<Hunk>,
    /// The target was not saved: the file held something else.
    pub saved: Option<Saved>,
}

/// What a file held on the disk while its buffer had unsaved edits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    pub held: Held,
    /// What makes the buffer's text this.
    pub edits: Vec<TextEdit>,
    /// And what makes this the buffer's text of then.
    pub unsaved: Vec<TextEdit>,
}

/// A repository with commits, or a `.git`, that came since then. Only the files that it is about are put back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Repository {
    #[serde(with = "stored_path")]
    pub folder: PathBuf,
    /// It was none then.
    pub is_new: bool,
}

/// What the editor wants of the checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckpointRequest {
    Add {
        turn: TurnKey,
        head: Head,
        at: u64,
        path: PathBuf,
        /// What the tool call was about.
        call: Option<String>,
        before: Held,
        after: Held,
        /// What the file holds, where what is there before are unsaved edits.
        saved: Option<Held>,
    },
    /// A call is about to change a file, maybe without the client: what does it hold?
    Look { turn: TurnKey, path: PathBuf, entry: usize },
    /// The call came to nothing: what the file held when it began is not needed for it.
    Unlook { turn: TurnKey, path: PathBuf, entry: usize },
    /// The last change of a file that was added is another's than was told.
    Attribute { turn: TurnKey, cwd: PathBuf, at: u64, told: Attributed },
    /// Nothing more comes of the turn.
    Finish { turn: TurnKey },
    /// The call is over. What it did to the file is added, whoever wrote it: by what the file held then,
    /// else by what the call's diffs say.
    Settle { turn: TurnKey, head: Head, at: u64, path: PathBuf, call: Option<String>, diffs: Vec<FileDiff> },
    /// Who wrote a row of a file, whose text is lines joined by `\n`, without a last line break? Answered by
    /// `Blamed`.
    Blame { job: JobId, path: PathBuf, text: String, row: usize },
    /// All of a project. Answered by `Listed`.
    List { job: JobId, cwd: PathBuf },
    /// Answered by `Fetched`.
    Fetch { job: JobId, cwd: PathBuf, since: u64, files: Vec<(Planned, Option<Loaded>)> },
    /// Writes a file, if it still holds what was seen, and adds that to the turn. With a file go the folders that are
    /// empty then and were made after `since`. Answered by `Put`.
    Put {
        job: JobId,
        turn: TurnKey,
        head: Head,
        at: u64,
        since: u64,
        path: PathBuf,
        seen: Held,
        target: Held,
    },
    /// Gives a file permissions. Answered by `Put`.
    SetMode { job: JobId, path: PathBuf, mode: Mode },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// The newest first, and of how many records not all could be read.
    Listed {
        turns: Vec<Turn>,
        broken: usize,
    },
    Fetched(Vec<Fetched>),
    Put(Result<(), String>),
    Blamed(Option<Author>),
    /// Fit for "couldn't read the checkpoints: ".
    Failed(String),
}

/// Who wrote a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub head: Head,
    pub at: u64,
    pub call: Option<String>,
    /// The user has changed the line since.
    pub edited: bool,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Milliseconds.
    pub age: u64,
    pub bytes: u64,
}

impl Head {
    pub fn short_prompt(text: &str) -> String {
        one_line(text).chars().take(LONGEST_PROMPT).collect()
    }

    /// What putting files back to before it leads to.
    pub fn aim(&self) -> Aim {
        match self.kind {
            Kind::Turn => Aim::Before(self.prompt.clone()),
            Kind::Restore => Aim::of_undoing(&self.prompt),
        }
    }

    fn is_of_session(&self, other: &Self) -> bool {
        self.acp_id == other.acp_id && self.agent == other.agent
    }
}

impl Turn {
    /// Reads a journal, and tells whether all of it could be read. Nothing without its first line.
    pub fn read(id: &str, text: &str) -> Option<(Self, bool)> {
        let mut whole = text.ends_with('\n');
        let mut turn: Option<Self> = None;
        for line in text.lines().filter(|line| !line.is_empty()) {
            match (serde_json::from_str::<Line>(line), &mut turn) {
                (Ok(Line { at, fact: Fact::Turn(head) }), None) => {
                    turn = Some(Self { id: id.to_owned(), at, head, files: Vec::new(), steps: Vec::new() });
                }
                (Ok(Line { at, fact: Fact::Change(touched) }), Some(turn)) => turn.touched(at, touched),
                (Ok(Line { fact: Fact::Attributed(told), .. }), Some(turn)) => turn.attributed(told),
                (Ok(Line { fact: Fact::Turn(_), .. }), Some(_)) => {}
                _ => whole = false,
            }
        }
        Some((turn?, whole))
    }

    fn touched(&mut self, at: u64, touched: Touched) {
        let known = self.files.iter().find(|known| known.path == touched.path);
        let before = known.map_or(&touched.before, |known| &known.after);
        self.steps.push(Change {
            at,
            path: touched.path.clone(),
            call: touched.last.call.clone(),
            before: touched.last.found.as_ref().unwrap_or(before).clone(),
            after: touched.after.clone(),
            saved: touched.last.saved.clone(),
        });
        match self.files.iter_mut().find(|known| known.path == touched.path) {
            Some(known) => *known = Touched { before: known.before.clone(), ..touched },
            None => self.files.push(touched),
        }
    }

    fn attributed(&mut self, told: Attributed) {
        let Some(at) = self.steps.iter().rposition(|step| step.path == told.path) else { return };
        if !told.is_another {
            self.steps[at].call = told.call;
            return;
        }
        self.steps.remove(at);
        let before = self.steps.iter().rev().find(|step| step.path == told.path);
        match (before, self.files.iter_mut().find(|file| file.path == told.path)) {
            (Some(before), Some(file)) => file.after = before.after.clone(),
            _ => self.files.retain(|file| file.path != told.path),
        }
    }

    /// Where the turn's tool calls begin among its steps, the first one excepted, and what each was about.
    pub fn later_calls(&self) -> impl Iterator<Item = (usize, u64, &str)> {
        let begins = self.steps.windows(2).zip(1..).filter(|(pair, _)| pair[0].call != pair[1].call);
        begins.filter_map(|(pair, at)| Some((at, pair[1].at, pair[1].call.as_deref()?)))
    }

    /// The contents that the record names.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let of_files = self.files.iter().flat_map(|file| [&file.before, &file.after]);
        let of_steps =
            self.steps.iter().flat_map(|step| [&step.before, &step.after].into_iter().chain(&step.saved));
        of_files.chain(of_steps).filter_map(Stored::name)
    }

    /// How many files are others after it, and how many lines were added and removed. One that only has another name is
    /// one file.
    pub fn counts(&self) -> (usize, (usize, usize)) {
        let mut files: Vec<&Touched> = self.changed().collect();
        let gone: Vec<&Touched> = files.iter().filter(|file| file.after == Stored::Absent).copied().collect();
        let mut renamed = 0;
        for old in gone {
            let is_new = |file: &&Touched| {
                file.before == Stored::Absent
                    && old.before.name().is_some()
                    && file.after.matches(&old.before)
            };
            if let Some(new) = files.iter().position(is_new) {
                files.remove(new);
                files.retain(|file| file.path != old.path);
                renamed += 1;
            }
        }
        let lines = files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
        (files.len() + renamed, lines)
    }

    /// The files that are others after it.
    pub fn changed(&self) -> impl Iterator<Item = &Touched> {
        self.files.iter().filter(|file| !file.before.matches(&file.after) || file.before == Stored::Unknown)
    }
}

/// What to write to have a session's files as they were before one of its turns, or before one of the
/// changes in it: that one, the later ones of the turn and all later turns of the session are taken back.
pub fn plan(turns: &[Turn], chosen: &str, from: usize) -> Vec<Planned> {
    let Some(of) = turns.iter().find(|turn| turn.id == chosen) else { return Vec::new() };
    let mut later: Vec<&Turn> =
        turns.iter().filter(|turn| turn.id.as_str() > chosen && turn.head.is_of_session(&of.head)).collect();
    later.sort_by(|a, b| a.id.cmp(&b.id));
    let mut planned: Vec<Planned> = Vec::new();
    for step in of.steps.iter().skip(from).chain(later.iter().flat_map(|turn| &turn.steps)) {
        match planned.iter_mut().find(|known| known.path == step.path) {
            Some(known) => {
                known.expected = step.after.clone();
                // Editors and agents leave the permissions of what they write: whoever tells of them first tells what
                // they were from the beginning.
                if known.target.mode().0.is_none() {
                    known.target = known.target.clone().with_mode(step.before.mode());
                }
            }
            None => planned.push(Planned {
                path: step.path.clone(),
                target: step.before.clone(),
                expected: step.after.clone(),
                saved: step.saved.clone(),
            }),
        }
    }
    planned
}

/// From when on what was made is taken back by that [`plan`]: milliseconds since 1970.
pub fn since(turns: &[Turn], chosen: &str, from: usize) -> u64 {
    let Some(of) = turns.iter().find(|turn| turn.id == chosen) else { return u64::MAX };
    from.checked_sub(1).and_then(|before| of.steps.get(before)).map_or(of.at, |step| step.at)
}

/// How many lines differ between two texts.
pub fn counts(before: &Held, after: &Held) -> (usize, usize) {
    fn text(held: &Held) -> Option<&str> {
        match held {
            Held::Absent => Some(""),
            held => held.as_text().map(Deref::deref),
        }
    }
    let (Some(before), Some(after)) = (text(before), text(after)) else { return (0, 0) };
    let diff = similar::TextDiff::from_lines(before, after);
    diff.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        similar::ChangeTag::Insert => (added + 1, removed),
        similar::ChangeTag::Delete => (added, removed + 1),
        similar::ChangeTag::Equal => (added, removed),
    })
}

/// What a restore would change, as [`Fetched::hunks`] has it. Texts are as files have them.
pub fn hunks(now: &Held, target: &Held) -> Vec<Hunk> {
    let text = |held: &Held| match held {
        Held::Text(text, _) => {
            let text = unmarked(text);
            Some(in_buffer(text, is_dos(text)).0)
        }
        Held::Absent => Some(String::new()),
        Held::Bytes(..) | Held::Link(_) | Held::Unknown => None,
    };
    let is_there = [now, target].map(|held| *held != Held::Absent);
    let (Some(now), Some(target)) = (text(now), text(target)) else { return Vec::new() };
    if let [true, false] | [false, true] = is_there {
        // An empty line of a file is none that one has that is not there.
        let [removed, added] = [now, target].map(|text| text.split('\n').map(str::to_owned).collect());
        return vec![Hunk { row: 0, removed, added }];
    }
    let turned = |hunk: Hunk| Hunk { removed: hunk.added, added: hunk.removed, ..hunk };
    Review::new(&target, &now).hunks().into_iter().map(turned).collect()
}

/// A file's text with one of the hunks of a restore, byte for byte as it was elsewhere. Nothing where the
/// hunk is not that of this text.
pub fn with_hunk(now: &str, hunk: &Hunk) -> Option<String> {
    let (text, _) = in_buffer(unmarked(now), is_dos(now));
    let mut lines: Vec<&str> = text.split('\n').collect();
    let rows = hunk.row..hunk.row + hunk.removed.len();
    if lines.get(rows.clone())? != hunk.removed.as_slice() {
        return None;
    }
    lines.splice(rows, hunk.added.iter().map(String::as_str));
    Some(as_file(now, lines.join("\n"), lines.is_empty()))
}

/// The same as far as the file held it, where the hunk has lines that were not saved.
fn with_saved_of_hunk(now: &str, hunk: &Hunk, saved: &str) -> String {
    let (text, _) = in_buffer(unmarked(now), is_dos(now));
    let (saved, _) = in_buffer(unmarked(saved), is_dos(saved));
    let rows = hunk.row..hunk.row + hunk.removed.len();
    let mut edits = text_edits::edits(&text, &saved);
    edits.retain(|edit| {
        // Behind the end of a line: the next ones come or go.
        let is_behind = edit.start.1 > 0 && (edit.lines.len() > 1 || edit.end.0 > edit.start.0);
        let first = edit.start.0 + usize::from(is_behind);
        let end = edit.end.0 + usize::from(edit.end.1 > 0 || edit.start == edit.end && edit.start.1 > 0);
        rows.start <= first && end <= rows.end
    });
    as_file(now, text_edits::apply(&text, &edits), false)
}

/// Lines as the file has them that now holds a text: with its byte order mark, its line ends and the last one of these.
fn as_file(now: &str, mut lines: String, is_empty: bool) -> String {
    let mark = &now[..now.len() - unmarked(now).len()];
    let dos = is_dos(now);
    if in_buffer(unmarked(now), dos).1 && !is_empty {
        lines.push('\n');
    }
    let lines = if dos { lines.replace('\n', "\r\n") } else { lines };
    format!("{mark}{lines}")
}

/// What a file held before a call's diffs that are in it now; `None` if that can't be told.
pub fn before_diffs(now: &Held, diffs: &[FileDiff]) -> Option<Held> {
    let (text, mode) = match now {
        Held::Text(text, mode) if !diffs.is_empty() => (text, *mode),
        _ => return None,
    };
    let dos = is_dos(text);
    let plain = if dos { text.replace("\r\n", "\n").into() } else { text.clone() };
    let before = match diffs {
        [FileDiff { old_text: None, new_text, .. }] if *new_text == plain => return Some(Held::Absent),
        diffs => without(&plain, &place(&plain, diffs)),
    };
    let before = if dos { before.replace('\n', "\r\n") } else { before };
    (before != **text).then(|| Held::Text(before.into(), mode))
}

/// A text without its byte order mark, which buffers have apart.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A file's text as a buffer holds it, and whether it ends with a line break.
pub fn in_buffer(text: &str, dos: bool) -> (String, bool) {
    let mut text = if dos { text.replace("\r\n", "\n") } else { text.to_owned() };
    let ends = text.ends_with('\n') || text.is_empty();
    if text.ends_with('\n') {
        text.pop();
    }
    (text, ends)
}

/// The 'fileformat' that a buffer of the file takes, if it had another one before.
pub fn format_for<'a>(text: &str, before: &'a str) -> &'a str {
    match text.contains('\n') {
        true if is_dos(text) => "dos",
        true => "unix",
        // The end of a single line says nothing.
        false => before,
    }
}

impl Saved {
    /// By which steps a buffer gets what was saved, and then what was not.
    pub fn of(held: Held, loaded: Option<&Loaded>, target: &Held) -> Option<Self> {
        let (text, dos) = match &held {
            Held::Text(text, _) if target.as_text().is_some() && !held.matches(target) => {
                (unmarked(text), is_dos(text))
            }
            _ => return None,
        };
        let format = loaded.map_or("unix", |loaded| &loaded.format);
        let then = Loaded { text: in_buffer(text, dos).0, format: format_for(text, format).to_owned() };
        let to_saved = loaded.map(|loaded| edits(loaded, &held)).unwrap_or_default();
        let unsaved = edits(&then, target);
        Some(Self { held, edits: to_saved, unsaved })
    }

    /// The same where only a hunk is put into what is there `now`: its lines that were saved are, and no others.
    pub fn of_hunk(&self, now: &Held, hunk: &Hunk) -> Option<Self> {
        let (Held::Text(text, mode), Some(saved)) = (now, self.held.as_text()) else { return None };
        let target = Held::Text(with_hunk(text, hunk)?.into(), *mode);
        let held = Held::Text(with_saved_of_hunk(text, hunk, saved).into(), *mode);
        let dos = is_dos(text);
        let format = if dos { "dos" } else { "unix" };
        let loaded = Loaded { text: in_buffer(unmarked(text), dos).0, format: format.to_owned() };
        Self::of(held, Some(&loaded), &target)
    }
}

/// What makes a buffer's text the target's.
pub fn edits(loaded: &Loaded, target: &Held) -> Vec<TextEdit> {
    match target {
        Held::Text(text, _) => {
            let text = unmarked(text);
            let lines = as_lines(&text.into(), format_for(text, &loaded.format));
            text_edits::edits(&loaded.text, &lines.body())
        }
        Held::Absent => text_edits::edits(&loaded.text, ""),
        Held::Bytes(..) | Held::Link(_) | Held::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn of_a_hunk_what_was_saved_is_saved_and_no_more() {
        let saved = Saved { held: Held::text("1\nTWO\n3\n"), edits: Vec::new(), unsaved: Vec::new() };
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        for (now, row, removed, added, on_disk) in [
            ("1\n2\n3\n", 0, &[][..], &["mine"][..], Some("1\n2\n3\n")),
            ("1\n2\n3\n", 1, &["2"], &["TWO"], None),
            ("1\n2\n3\n", 1, &["2"], &["TWO", "mine"], Some("1\nTWO\n3\n")),
            ("1\n2\n3\n", 3, &[], &["mine"], Some("1\n2\n3\n")),
            ("1\r\n2\r\n3\r\n", 1, &["2"], &["TWO", "mine"], Some("1\r\nTWO\r\n3\r\n")),
            ("1\n", 1, &[], &["TWO", "3"], None),
            ("1\n", 1, &[], &["TWO", "3", "mine"], Some("1\nTWO\n3\n")),
            ("1\n3\n", 1, &[], &["TWO", "mine"], Some("1\nTWO\n3\n")),
            ("1\nTWO\n3\nx\n", 3, &["x"], &["mine"], Some("1\nTWO\n3\n")),
        ] {
            let hunk = Hunk { row, removed: lines(removed), added: lines(added) };
            let found = saved.of_hunk(&Held::text(now), &hunk).map(|saved| saved.held);
            assert_eq!(found, on_disk.map(Held::text), "{now:?} {hunk:?}");
        }
    }

    fn head(acp_id: &str) -> Head {
        Head {
            agent: "Fake".into(),
            acp_id: acp_id.into(),
            title: None,
            cwd: "/src".into(),
            prompt: "fix it".into(),
            kind: Kind::Turn,
        }
    }

    fn stored_as(name: &str) -> Stored {
        Stored::Text(name.to_owned())
    }

    fn touched(path: &str, before: &str, after: &str) -> Touched {
        let stored = |text: &str| match text {
            "" => Stored::Absent,
            text => stored_as(text),
        };
        let (before, after) = (stored(before), stored(after));
        Touched { path: path.into(), before, after, added: 1, removed: 0, last: Last::default() }
    }

    fn turn(id: &str, session: &str, files: &[(&str, &str, &str)]) -> Turn {
        let mut turn = Turn { id: id.into(), at: 1, head: head(session), files: vec![], steps: vec![] };
        files.iter().for_each(|(path, before, after)| turn.touched(1, touched(path, before, after)));
        turn
    }

    fn journal(facts: Vec<Fact>) -> String {
        facts
            .into_iter()
            .map(|fact| serde_json::to_string(&Line { at: 7, fact }).expect("plain data") + "\n")
            .collect()
    }

    #[test]
    fn a_journal_is_readable_lines_and_tells_each_file_once() {
        let text = journal(vec![
            Fact::Turn(head("s1")),
            Fact::Change(touched("/a", "", "1")),
            Fact::Change(touched("/b", "x", "y")),
            Fact::Change(touched("/a", "1", "2")),
        ]);
        insta::assert_snapshot!(text, @r#"
        {"at":7,"turn":{"agent":"Fake","acp_id":"s1","title":null,"cwd":"/src","prompt":"fix it","kind":"turn"}}
        {"at":7,"change":{"path":"/a","before":"absent","after":{"text":"1"},"added":1,"removed":0}}
        {"at":7,"change":{"path":"/b","before":{"text":"x"},"after":{"text":"y"},"added":1,"removed":0}}
        {"at":7,"change":{"path":"/a","before":{"text":"1"},"after":{"text":"2"},"added":1,"removed":0}}
        "#);
        let (turn, whole) = Turn::read("1", &text).expect("a turn");
        assert!(whole);
        assert_eq!(turn.files, [touched("/a", "", "2"), touched("/b", "x", "y")]);
    }

    #[test]
    fn whose_the_last_change_was_is_corrected_later() {
        let told = |path: &str, call: Option<&str>, is_another| {
            Fact::Attributed(Attributed { path: path.into(), call: call.map(str::to_owned), is_another })
        };
        let text = journal(vec![
            Fact::Turn(head("s1")),
            Fact::Change(touched("/a", "", "1")),
            Fact::Change(touched("/b", "x", "y")),
            told("/a", Some("Editing"), false),
            Fact::Change(touched("/a", "", "2")),
            told("/b", None, true),
            told("/a", None, true),
            told("/c", None, true),
        ]);
        let (turn, whole) = Turn::read("1", &text).expect("a turn");
        assert!(whole);
        let steps: Vec<_> =
            turn.steps.iter().map(|step| (step.path.to_str(), step.call.as_deref())).collect();
        assert_eq!(steps, [(Some("/a"), Some("Editing"))]);
        assert_eq!(turn.files, [touched("/a", "", "1")]);
    }

    #[test]
    fn each_change_of_a_turn_is_told_with_its_call_and_what_it_found() {
        let mut second = touched("/a", "0", "2");
        second.last = Last { call: Some("Edit a".into()), found: Some(stored_as("mine")), saved: None };
        let text = journal(vec![
            Fact::Turn(head("s1")),
            Fact::Change(touched("/a", "0", "1")),
            Fact::Change(second),
            Fact::Change(touched("/a", "0", "3")),
        ]);
        let (turn, _) = Turn::read("1", &text).expect("a turn");
        let told = |stored: &Stored| stored.name().unwrap_or_default().to_owned();
        let steps: Vec<[String; 3]> = turn
            .steps
            .iter()
            .map(|step| [told(&step.before), told(&step.after), step.call.clone().unwrap_or_default()])
            .collect();
        assert_eq!(steps, [["0", "1", ""], ["mine", "2", "Edit a"], ["2", "3", ""]]);
        assert_eq!(turn.texts().collect::<std::collections::BTreeSet<_>>().len(), 5);
    }

    #[test]
    fn a_file_that_has_another_name_is_one_file() {
        let counts = |files: &[(&str, &str, &str)]| turn("1", "s1", files).counts();
        assert_eq!(counts(&[("/a", "x", ""), ("/b", "", "x")]), (1, (0, 0)));
        assert_eq!(counts(&[("/b", "", "x"), ("/a", "x", ""), ("/c", "1", "2")]), (2, (1, 0)));
        // A copy of one that is gone, and one that is another file.
        assert_eq!(counts(&[("/a", "x", ""), ("/b", "", "x"), ("/c", "", "x")]), (2, (1, 0)));
        assert_eq!(counts(&[("/a", "x", ""), ("/b", "", "y")]), (2, (2, 0)));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told_of_and_costs_only_itself() {
        let mut text = journal(vec![Fact::Turn(head("s1")), Fact::Change(touched("/a", "1", "2"))]);
        text.insert_str(text.len(), "{\"at\":7,\"chan");
        let (turn, whole) = Turn::read("1", &text).expect("a turn");
        assert_eq!((turn.files.len(), whole), (1, false));
        assert_eq!(Turn::read("1", "{}\n"), None);
    }

    #[test]
    fn to_be_before_a_turn_takes_back_the_later_ones_of_that_session_alone() {
        let turns = [
            turn("3", "s1", &[("/a", "2", "3"), ("/c", "", "new")]),
            turn("2", "s1", &[("/a", "1", "2"), ("/b", "x", "")]),
            turn("2", "s2", &[("/other", "1", "2")]),
            turn("1", "s1", &[("/a", "0", "1"), ("/early", "1", "2")]),
        ];
        let plan_of = |chosen: &str, from: usize| -> Vec<String> {
            let planned = plan(&turns, chosen, from);
            planned
                .into_iter()
                .map(|file| {
                    format!("{} {:?} {:?}", file.path.display(), file.expected.name(), file.target.name())
                })
                .collect()
        };
        assert_eq!(
            plan_of("2", 0),
            [r#"/a Some("3") Some("1")"#, r#"/b None Some("x")"#, r#"/c Some("new") None"#,]
        );
        assert_eq!(
            plan_of("2", 1),
            [r#"/b None Some("x")"#, r#"/a Some("3") Some("2")"#, r#"/c Some("new") None"#],
            "before the second of its changes"
        );
        assert_eq!(plan_of("9", 0), [""; 0]);
    }

    #[test]
    fn the_calls_of_a_turn_are_told_by_what_they_were_about() {
        let mut turn = turn("1", "s1", &[]);
        for (number, call) in [Some("Edit a"), Some("Edit a"), Some("Edit b"), None].into_iter().enumerate() {
            let mut change = touched("/a", "0", "1");
            change.last.call = call.map(str::to_owned);
            turn.touched(number as u64, change);
        }
        assert_eq!(turn.later_calls().collect::<Vec<_>>(), [(2, 2, "Edit b")]);
    }

    #[test]
    fn what_a_file_held_is_told_by_the_diffs_that_are_in_it() {
        let diff = |old: Option<&str>, new: &str| FileDiff {
            path: "a".into(),
            old_text: old.map(Into::into),
            new_text: new.into(),
        };
        let text = |text: &str| Held::text(text);
        let now = text("one\r\nTWO\r\n");
        assert_eq!(before_diffs(&now, &[diff(Some("two"), "TWO")]), Some(text("one\r\ntwo\r\n")));
        assert_eq!(before_diffs(&now, &[diff(Some("x"), "y")]), None, "it is not in there");
        assert_eq!(before_diffs(&now, &[diff(None, "one\nTWO\n")]), Some(Held::Absent));
        assert_eq!(before_diffs(&Held::Absent, &[diff(Some("x"), "y")]), None);
    }

    #[test]
    fn a_restore_is_told_and_done_by_the_hunk() {
        let text = |text: &str| Held::text(text);
        let now = "\u{feff}a\r\nB\r\nc\r\nd\r\n";
        let all = hunks(&text(now), &text("a\r\nb\r\nc\r\n"));
        let shown: Vec<String> =
            all.iter().map(|hunk| format!("{} {:?} {:?}", hunk.row, hunk.removed, hunk.added)).collect();
        assert_eq!(shown, [r#"1 ["B"] ["b"]"#, r#"3 ["d"] []"#]);
        assert_eq!(with_hunk(now, &all[0]).as_deref(), Some("\u{feff}a\r\nb\r\nc\r\nd\r\n"));
        assert_eq!(with_hunk(now, &all[1]).as_deref(), Some("\u{feff}a\r\nB\r\nc\r\n"));
        assert_eq!(with_hunk("a\nb\n", &all[0]), None);
        let lines = |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| (*line).to_owned()).collect() };
        let (new, none) = (text("x\n\ny\n"), lines(&[""]));
        let comes = Hunk { row: 0, removed: none.clone(), added: lines(&["x", "", "y"]) };
        let goes = Hunk { row: 0, removed: comes.added.clone(), added: none };
        assert_eq!((hunks(&Held::Absent, &new), hunks(&new, &Held::Absent)), (vec![comes], vec![goes]));
        assert_eq!(hunks(&Held::Unknown, &text("x\n")), []);
    }

    #[test]
    fn a_text_is_taken_as_a_buffer_holds_it() {
        assert_eq!(in_buffer(unmarked("\u{feff}a\r\nb\r\n"), true), ("a\nb".to_owned(), true));
        assert_eq!(in_buffer("a\r\nb", false), ("a\r\nb".to_owned(), false));
        assert_eq!(counts(&Held::text("a\nb\n"), &Held::text("a\nc\nd\n")), (2, 1));
    }

    proptest! {
        /// Whatever the turns did, to write the plan's targets gives the texts of before the change chosen.
        #[test]
        fn the_plan_leads_back(steps in prop::collection::vec((0..3usize, 0..4u8, any::<bool>()), 1..20), at in 0..20usize) {
            let mut files = [0u8; 3];
            let mut turns: Vec<Turn> = Vec::new();
            // The turn and the step of each change, and what the files held before it.
            let mut points = Vec::new();
            for (number, (file, text, same_turn)) in steps.into_iter().enumerate() {
                if !same_turn || turns.is_empty() {
                    turns.push(turn(&format!("{number:03}"), "s", &[]));
                }
                let shown = |text: u8| if text == 0 { String::new() } else { text.to_string() };
                let (before, last) = (files[file], turns.len() - 1);
                points.push((last, turns[last].steps.len(), files));
                files[file] = text;
                turns[last].touched(1, touched(&format!("/{file}"), &shown(before), &shown(text)));
            }
            let (chosen, from, state) = points[at % points.len()];
            let mut restored = files;
            for planned in plan(&turns, &turns[chosen].id, from) {
                let file: usize = planned.path.to_str().unwrap_or_default()[1..].parse().expect("a number");
                let value = |stored: &Stored| stored.name().map_or(0, |name| name.parse().expect("a number"));
                prop_assert_eq!(value(&planned.expected), files[file]);
                restored[file] = value(&planned.target);
            }
            prop_assert_eq!(restored, state);
        }
    }
}
