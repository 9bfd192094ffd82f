//! One tool call of an agent: what it is about and how far it is. Messages about it may come in any order
//! and repeat; this file defines what each of them changes. Drawing is left to `transcript`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{tool_input, tool_output};
use crate::core::changes::text_edits::common_ends;
use crate::core::ids::{Moment, TerminalId, ToolCallId};
use crate::core::message::{
    Exit, FileDiff, Location, PlanItem, ToolCallPatch, ToolContent, ToolKind, WireStatus,
};
use crate::core::rules::unasked::Unasked;
use crate::core::rules::{Decision, Ruling};
use crate::core::session::call_commands::CallCommands;
use crate::core::session::waiting_time::WaitingTime;
use crate::core::text::Text;

/// How far a call is, as the user should see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    /// Waits for the user's answer.
    Waiting,
    Running,
    Done,
    Failed,
    /// Its turn was stopped; what became of it is told when that ends.
    Stopping,
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
    /// The user stops its turn; the agent has not confirmed that.
    StopAsked,
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
        // What it was doing was cut off: that it failed, or got no further, is no news.
        (Stopping, Cause::Reported(WireStatus::Failed) | Cause::TurnEnded) => Cancelled,
        (Stopping, Cause::TurnCancelled | Cause::AgentGone) => Cancelled,
        (_, Cause::Reported(WireStatus::Failed)) => Failed,
        (_, Cause::Reported(WireStatus::Other(word))) => match word.as_str() {
            "cancelled" | "canceled" => Cancelled,
            "denied" | "rejected" => Rejected,
            "error" => Failed,
            _ => status,
        },
        (Stopping, _) => Stopping,
        // Some agents go back to pending after they asked; a finished call stays finished.
        (Done | Failed, _) => status,
        // Nothing was known of it, so what comes late is news; that it is yet to begin is none.
        (Unreported, Cause::Reported(WireStatus::Pending) | Cause::Withdrawn) => Unreported,
        (Unreported, Cause::StopAsked | Cause::TurnCancelled | Cause::AgentGone) => Unreported,
        (Waiting, Cause::Reported(_)) => Waiting,
        (Running, Cause::Reported(WireStatus::Pending)) => Running,
        (_, Cause::Reported(WireStatus::Pending)) => Pending,
        (_, Cause::Reported(WireStatus::InProgress)) => Running,
        (_, Cause::Asked) => Waiting,
        (_, Cause::Allowed) => Running,
        (_, Cause::Rejected) => Rejected,
        (Waiting, Cause::Withdrawn) => Pending,
        (_, Cause::Withdrawn) => status,
        // Its question was answered as cancelled: it was not done.
        (Waiting, Cause::StopAsked) => Cancelled,
        (_, Cause::StopAsked) => Stopping,
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
    pub counted: Option<(usize, usize)>,
    pub locations: Vec<Location>,
    /// The files that it was seen to change on the disk.
    pub changed: BTreeSet<PathBuf>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    /// The commands that it runs in terminals, also those that its content shows no more.
    pub commands: CallCommands,
    /// The agent has told of no call: this is a command that it runs all the same.
    pub is_command_alone: bool,
    /// What the raw input says of files, which counts where content and locations say nothing.
    from_input: FromInput,
    /// The last message about the call changed that.
    news_in_input: bool,
    /// What the user may answer, while they are asked.
    pub choices: Vec<String>,
    /// Not all that they are asked about can be seen at once: they are told how to read and to answer it.
    pub is_long: bool,
    /// What the user's rules said when the agent asked for it.
    pub ruling: Option<Box<Ruling>>,
    /// Whoever decides was asked about it.
    pub was_asked: bool,
    /// What the user chose then.
    pub answer: Option<UserAnswer>,
    /// By file what the user decided about lines that they and the agent had changed.
    conflicts: BTreeMap<PathBuf, ConflictOutcome>,
    /// The user or a rule said no to it, whatever the agent says of it since.
    pub was_rejected: bool,
    /// It was over, and put aside for rules to judge.
    pub is_put_aside: bool,
    /// The rule that should have been.
    pub unasked: Option<Box<Unasked>>,
    pub started: Moment,
    pub ended: Option<Moment>,
    /// How many milliseconds it took, as the agent says.
    told_time: Option<u64>,
    /// For how long the user thought about it or about something else that the agent asked.
    user_time: WaitingTime,
    /// The agent waits for an answer of theirs, to whatever question.
    user_is_asked: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct FromInput {
    diffs: Vec<FileDiff>,
    locations: Vec<Location>,
}

/// A path without the folder that it is in.
pub fn relative<'a>(path: &'a Path, root: &Path) -> &'a Path {
    path.strip_prefix(root).ok().filter(|rest| *rest != Path::new("")).unwrap_or(path)
}

/// An answer of the user's to a question for permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAnswer {
    /// As it was offered, with what it comes to.
    pub label: String,
    /// The agent won't ask again.
    pub is_for_good: bool,
}

/// What the user decided about lines of a file that they and an agent had changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictOutcome {
    /// "You kept yours in 1 place".
    pub words: String,
    /// Nothing of what the agent made of the file is in the buffer.
    pub is_all_kept: bool,
}

impl ToolCall {
    pub fn conflict_settled(&mut self, path: PathBuf, outcome: ConflictOutcome) {
        self.conflicts.insert(path, outcome);
    }

    /// What the user decided where they and the agent had changed the same lines, a line for each file.
    pub fn conflict_words(&self) -> Vec<String> {
        let words = |(path, outcome): (&PathBuf, &ConflictOutcome)| match self.conflicts.len() {
            1 => outcome.words.clone(),
            _ => format!("{}: {}", relative(path, &self.root).display(), outcome.words),
        };
        self.conflicts.iter().map(words).collect()
    }

    /// Whether the user kept all of their own in each of its files, so that nothing of its changes is there.
    pub fn is_kept_out(&self) -> bool {
        let files: BTreeSet<&PathBuf> = self.diffs().map(|diff| &diff.path).collect();
        !self.conflicts.is_empty()
            && self.conflicts.len() >= files.len()
            && self.conflicts.values().all(|outcome| outcome.is_all_kept)
    }

    /// The files that it reads from the beginning; of a part of a file it is not known which.
    pub fn read_whole(&self, cwd: &Path) -> Vec<PathBuf> {
        let reads = self.kind == ToolKind::Read;
        let places = self.places();
        let whole = places.iter().filter(|place| reads && place.line.is_none_or(|line| line <= 1));
        whole.map(|place| cwd.join(&place.path)).collect()
    }

    /// The files that it may have written.
    pub fn may_have_written(&self, cwd: &Path) -> BTreeSet<PathBuf> {
        let diffs = self.diffs().map(|diff| diff.path.clone());
        let places = self.places().into_iter().map(|place| place.path);
        diffs.chain(places).map(|path| cwd.join(path)).collect()
    }

    pub fn new(id: ToolCallId, now: Moment) -> Self {
        Self {
            id,
            root: PathBuf::new(),
            title: String::new(),
            name: None,
            kind: ToolKind::Other,
            status: Status::Pending,
            content: Vec::new(),
            counted: None,
            locations: Vec::new(),
            changed: BTreeSet::new(),
            raw_input: None,
            raw_output: None,
            commands: CallCommands::default(),
            is_command_alone: false,
            from_input: FromInput::default(),
            news_in_input: false,
            choices: Vec::new(),
            is_long: false,
            ruling: None,
            was_asked: false,
            answer: None,
            conflicts: BTreeMap::new(),
            was_rejected: false,
            is_put_aside: false,
            unasked: None,
            started: now,
            ended: None,
            told_time: None,
            user_time: WaitingTime::default(),
            user_is_asked: false,
        }
    }

    /// What stands for a command of which the agent has told no call.
    pub fn of_command(terminal: &TerminalId, line: &str, now: Moment) -> Self {
        let mut call = Self::new(ToolCallId(String::new()), now);
        call.patch(
            ToolCallPatch {
                kind: Some(ToolKind::Execute),
                title: Some(line.to_owned()),
                raw_input: Some(json!({ "command": line })),
                status: Some(WireStatus::InProgress),
                ..ToolCallPatch::new("")
            },
            now,
        );
        call.commands.add(terminal);
        call.is_command_alone = true;
        call
    }

    /// Its id as the agent wrote it; none of a command without a call.
    pub fn told_id(&self) -> Option<&str> {
        (!self.is_command_alone).then(|| self.id.as_told())
    }

    /// Given fields replace, absent ones stay; lists are replaced as a whole.
    pub fn patch(&mut self, patch: ToolCallPatch, now: Moment) {
        let ToolCallPatch {
            id: _,
            title,
            name,
            kind,
            status,
            content,
            locations,
            raw_input,
            raw_output,
            took,
        } = patch;
        self.told_time = took.or(self.told_time);
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            self.title = title;
        }
        self.name = name.or(self.name.take());
        let has_input = kind.is_some() || raw_input.is_some();
        self.kind = kind.unwrap_or(self.kind);
        self.raw_input = raw_input.or(self.raw_input.take());
        self.raw_output = raw_output.or(self.raw_output.take());
        let has_content = content.is_some();
        if let Some(content) = content {
            self.content = content;
            for content in &self.content {
                if let ToolContent::Terminal(terminal) = content {
                    self.commands.add(terminal);
                }
            }
        }
        if let Some(mut locations) = locations {
            // The project's folder is where everything happens: it is no file that a call is about.
            locations
                .retain(|place| self.root.as_os_str().is_empty() || self.root.join(&place.path) != self.root);
            self.locations = locations;
        }
        self.news_in_input = has_input && self.read_input();
        if has_content || has_input {
            self.counted = self.count();
        }
        if let Some(status) = status {
            self.advance(&Cause::Reported(status), now);
        }
    }

    pub fn advance(&mut self, cause: &Cause, now: Moment) {
        match cause {
            Cause::StopAsked | Cause::TurnCancelled
                if !self.status.is_over() && self.status != Status::Stopping =>
            {
                self.commands.interrupt();
            }
            Cause::Reported(WireStatus::Completed)
                if !self.commands.completed()
                    && matches!(self.status, Status::Stopping | Status::Cancelled) =>
            {
                return;
            }
            _ => {}
        }
        self.was_asked |= *cause == Cause::Asked;
        let status = next(self.status, cause);
        match cause {
            Cause::Rejected => self.was_rejected = status == Status::Rejected,
            Cause::Allowed => self.was_rejected = false,
            _ => {}
        }
        // When one ended of which nobody told is not known either.
        if status.is_over() && status != Status::Unreported && self.ended.is_none() {
            self.ended = Some(now);
        }
        self.status = status;
        self.note_user_time(self.user_is_asked, now);
    }

    /// Nobody here was asked about a call of a stored session: that its user rejected it is only in what the agent tells.
    pub fn was_told_again(&mut self) {
        let text = |content: &ToolContent| content.text().is_some_and(|text| tool_output::is_rejection(text));
        let output = self.raw_output.as_ref();
        let is_rejected = || output.is_some_and(tool_output::says_rejected) || self.content.iter().any(text);
        if self.status == Status::Failed && is_rejected() {
            self.status = Status::Rejected;
            self.was_rejected = true;
        }
    }

    /// Whether the agent waits for an answer of the user's now, to whatever question.
    pub fn note_user_time(&mut self, user_is_asked: bool, now: Moment) {
        self.user_is_asked = user_is_asked;
        // A command goes on meanwhile.
        let is_held_up = user_is_asked && self.terminals().next().is_none();
        let waits = self.ended.is_none() && (is_held_up || self.status == Status::Waiting);
        self.user_time.note(waits, now);
    }

    /// When the agent was at it, in milliseconds, once it is over: what the user took to answer is not the agent's time.
    /// What the agent says of it counts more.
    pub fn span(&self) -> Option<(u64, u64)> {
        let ended = self.ended?.0.max(self.started.0);
        if let Some(took) = self.told_time {
            return Some((ended.saturating_sub(took), ended));
        }
        Some(((self.started.0 + self.user_time.until(Moment(ended))).min(ended), ended))
    }

    /// For how many milliseconds the agent was at it, once it is over.
    pub fn took(&self) -> Option<u64> {
        self.span().map(|(start, end)| end - start)
    }

    /// A rule allows it, and the user is asked about a limit before that counts.
    pub fn waits_at_limit(&self) -> bool {
        let is_allowed = self.ruling.as_ref().is_some_and(|ruling| ruling.decision == Some(Decision::Allow));
        self.status == Status::Waiting && self.choices.is_empty() && is_allowed
    }

    /// How it is shown: a call whose command failed has not gone well, though it is completed; and what was rejected is
    /// not done because the agent says so.
    pub fn shown_status(&self) -> Status {
        match self.status {
            Status::Done if self.was_rejected => Status::Rejected,
            Status::Done if self.exit_words().is_some() => Status::Failed,
            status => status,
        }
    }

    /// Read when it comes rather than when it is drawn, too. Says whether it says something else now.
    fn read_input(&mut self) -> bool {
        let Some(input) = &self.raw_input else { return false };
        let said = FromInput {
            diffs: tool_input::edits(input, self.kind),
            locations: tool_input::locations(input, self.kind),
        };
        let is_news = said != self.from_input;
        self.from_input = said;
        is_news
    }

    /// Whether the last message about the call had an input that says something new of files.
    pub fn has_news_in_input(&self) -> bool {
        self.news_in_input
    }

    /// Counted when diffs come rather than when they are drawn, which is often.
    fn count(&self) -> Option<(usize, usize)> {
        let bytes =
            |diff: &FileDiff| diff.old_text.as_ref().map_or(0, |text| text.len()) + diff.new_text.len();
        if self.diffs().map(bytes).sum::<usize>() > SEARCHED {
            return None;
        }
        count_lines_of_all(self.diffs())
    }

    /// What it changes, as far as it is known: by its content, else by its input.
    pub fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.content_diffs().chain(self.input_diffs())
    }

    fn content_diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }

    /// What only its input says that it changes.
    pub fn input_diffs(&self) -> &[FileDiff] {
        match self.content_diffs().next() {
            Some(_) => &[],
            None => &self.from_input.diffs,
        }
    }

    /// Its terminals, those that its content shows first.
    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        let shown = self.content.iter().filter_map(|content| match content {
            ToolContent::Terminal(terminal) => Some(terminal),
            _ => None,
        });
        shown.chain(self.terminals_not_shown())
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

    /// Those that its content does not show, or shows no more.
    pub fn terminals_not_shown(&self) -> impl Iterator<Item = &TerminalId> {
        let shown = |terminal: &TerminalId| {
            self.content
                .iter()
                .any(|content| matches!(content, ToolContent::Terminal(shown) if shown == terminal))
        };
        self.commands.terminals().filter(move |terminal| !shown(terminal))
    }

    /// One of its commands has ended; a completion that was not believed may be true after all.
    pub fn command_ended(&mut self, terminal: &TerminalId, exit: Exit) {
        self.commands.ended(terminal, exit);
        if matches!(self.status, Status::Stopping | Status::Cancelled) && self.commands.has_completed() {
            self.status = Status::Done;
        }
    }

    /// How its command ended, where that is known and was not well: `exit 1`, `SIGTERM`.
    pub fn exit_words(&self) -> Option<String> {
        if let Some(exit) = self.commands.failure() {
            return Some(exit.words());
        }
        let told = self.raw_output.as_ref().filter(|_| self.commands.is_empty())?;
        let code = tool_output::exit_code(told).filter(|code| *code != 0);
        match code {
            Some(code) => Some(Exit { code: Some(code), signal: None }.words()),
            None => tool_output::has_failed(told).then(|| "failed".to_owned()),
        }
    }

    /// Where the call is at work: its locations, else what its input names, else the files of its diffs.
    pub fn places(&self) -> Vec<Location> {
        [&self.locations, &self.from_input.locations]
            .into_iter()
            .find(|places| !places.is_empty())
            .cloned()
            .unwrap_or_else(|| {
                self.diffs().map(|diff| Location { path: diff.path.clone(), line: None }).collect()
            })
    }

    /// The plan that it sets down, for agents whose tool for that is a call like any other.
    pub fn plan(&self) -> Option<Vec<PlanItem>> {
        if let Some(items) = self.raw_input.as_ref().and_then(tool_input::todos) {
            return Some(items);
        }
        // Any other output may hold a list whose items have a title and a status.
        let names = [Some(&self.title), self.name.as_ref()];
        let is_meant = names.into_iter().flatten().any(|name| name.to_lowercase().contains("todo"));
        if !is_meant || self.status != Status::Done {
            return None;
        }
        let text = self.content.iter().find_map(ToolContent::text).map(ToString::to_string).or(self.output());
        match tool_input::read_json(&text?)? {
            Value::Array(items) => tool_input::items(&items),
            fields => tool_input::todos(&fields),
        }
    }

    /// What it put out, where that is told as raw output alone.
    pub fn output(&self) -> Option<String> {
        let told = |content: &ToolContent| !matches!(content, ToolContent::Diff(_));
        match self.content.iter().any(told) {
            true => None,
            false => tool_output::text(self.raw_output.as_ref()?),
        }
    }

    /// Why a call failed, where the agent tells it as raw output alone.
    pub fn reason(&self) -> Option<String> {
        tool_output::text(self.raw_output.as_ref()?)
    }

    /// A path as the user knows it.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        relative(path, &self.root)
    }

    /// Whether a question about it is asked in full by its title, or by its diffs.
    fn is_asked_by_title(&self) -> bool {
        let names_all = matches!(self.kind, ToolKind::Delete | ToolKind::Move | ToolKind::Read);
        self.command().is_some() || self.diffs().next().is_some() || names_all && !self.places().is_empty()
    }

    /// What its content says of what is asked about, where neither its title nor a diff does.
    pub fn asked_texts(&self) -> Vec<&Text> {
        let texts = self.content.iter().filter_map(ToolContent::text);
        if self.is_asked_by_title() { Vec::new() } else { texts.collect() }
    }

    /// What only its input says of that, line by line.
    pub fn asked_input(&self) -> Vec<String> {
        let has_text = self.content.iter().any(|content| content.text().is_some());
        let Some(input) = self.raw_input.as_ref().filter(|_| !has_text && !self.is_asked_by_title()) else {
            return Vec::new();
        };
        let (title, places) = (self.headline(), self.places());
        if tool_input::question(input).is_some_and(|question| title.contains(&question)) {
            return Vec::new();
        }
        let names_place = |line: &str| {
            let value = line.split_once(": ").map(|(_, value)| self.root.join(value));
            value.is_some_and(|value| places.iter().any(|place| self.root.join(&place.path) == value))
        };
        let mut lines = tool_input::asked_lines(input);
        lines.retain(|line| !title.contains(line.as_str()) && !names_place(line));
        lines
    }

    /// Whether its kind is to change files.
    pub fn edits(&self) -> bool {
        matches!(self.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move)
    }

    /// Whether its kind is to run commands.
    pub fn runs_commands(&self) -> bool {
        self.kind == ToolKind::Execute
    }

    /// The command line, where the agent tells it in the way that most do.
    pub fn command(&self) -> Option<String> {
        let command = tool_input::command_line(&tool_input::command(self.raw_input.as_ref()?)?);
        (!command.is_empty()).then_some(command)
    }
}

/// So many lines of what only the input says are read without a key.
pub const ASKED: usize = 12;

/// Files with more bytes than this, the old text and the new together, are not compared on the editor's
/// thread.
pub const COMPARED: usize = 200_000;

/// Bytes of texts that are searched for what is to be compared: 2 ms.
const SEARCHED: usize = 4 << 20;

/// A text's lines, without what ends them.
pub fn lines_of(text: &str) -> Vec<&str> {
    text.split_terminator('\n').collect()
}

/// Lines that come and lines that go; `None` where too much differs to be compared on the editor's thread.
pub fn count_lines(diff: &FileDiff) -> Option<(usize, usize)> {
    let old = diff.old_text.as_deref().unwrap_or_default();
    if old.len() + diff.new_text.len() > SEARCHED {
        return None;
    }
    let (old, new) = between_same_lines(old, &diff.new_text);
    if old.len() + new.len() > COMPARED {
        return None;
    }
    // A text that ends without a line break has the same lines as one that ends with one.
    let (old, new): (Vec<&str>, Vec<&str>) = (lines_of(old), lines_of(new));
    let changes = similar::TextDiff::from_slices(&old, &new);
    Some(changes.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        similar::ChangeTag::Insert => (added + 1, removed),
        similar::ChangeTag::Delete => (added, removed + 1),
        similar::ChangeTag::Equal => (added, removed),
    }))
}

/// The sum over diffs, without those that are not counted; `None` if none is.
fn count_lines_of_all<'a>(diffs: impl Iterator<Item = &'a FileDiff>) -> Option<(usize, usize)> {
    diffs.filter_map(count_lines).reduce(|(added, removed), (more, fewer)| (added + more, removed + fewer))
}

/// What is left of two texts without the lines that both begin and end with.
fn between_same_lines<'a>(old: &'a str, new: &'a str) -> (&'a str, &'a str) {
    let (head, tail) = common_ends(old, new);
    let head = old[..head].rfind('\n').map_or(0, |at| at + 1);
    let tail = old[old.len() - tail..].split_once('\n').map_or(0, |(_, lines)| lines.len());
    (&old[head..old.len() - tail], &new[head..new.len() - tail])
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
    use Status::*;
    use proptest::prelude::*;

    use super::*;

    const ALL: [Status; 9] =
        [Pending, Waiting, Running, Stopping, Done, Failed, Rejected, Cancelled, Unreported];

    fn after(cause: Cause) -> [Status; 9] {
        ALL.map(|status| next(status, &cause))
    }

    fn word(word: &str) -> Cause {
        Cause::Reported(WireStatus::Other(word.into()))
    }

    fn counted(old: &str, new: &str) -> Option<(usize, usize)> {
        count_lines(&FileDiff { path: "/a".into(), old_text: Some(old.into()), new_text: new.into() })
    }

    #[test]
    fn lines_of_a_large_file_are_counted_where_few_of_them_differ() {
        let lines: Vec<String> = (0..50_000).map(|number| format!("line {number}\n")).collect();
        let mut changed = lines.clone();
        changed[49_000] = "another\n".to_owned();
        changed.push("one more\n".to_owned());
        assert_eq!(counted(&lines.concat(), &changed.concat()), Some((2, 1)));
        let others: String = lines.iter().map(|line| format!("no {line}")).collect();
        assert_eq!(counted(&lines.concat(), &others), None, "all of them differ, and that is not compared");
    }

    proptest! {
        #[test]
        fn what_texts_begin_and_end_with_alike_counts_for_nothing(old in "[ab\n]{0,12}", new in "[ab\n]{0,12}") {
            let (all_old, all_new) = (lines_of(&old), lines_of(&new));
            let changes = similar::TextDiff::from_slices(&all_old, &all_new);
            let of = |tag| changes.iter_all_changes().filter(|change| change.tag() == tag).count();
            let all = (of(similar::ChangeTag::Insert), of(similar::ChangeTag::Delete));
            prop_assert_eq!(counted(&old, &new), Some(all));
        }
    }

    #[test]
    fn every_cause_has_its_effect_on_every_status() {
        // In the order of ALL.
        let table = [
            (
                Cause::Reported(WireStatus::Pending),
                [Pending, Waiting, Running, Stopping, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::Reported(WireStatus::InProgress),
                [Running, Waiting, Running, Stopping, Done, Failed, Rejected, Cancelled, Running],
            ),
            (Cause::Reported(WireStatus::Completed), [Done; 9]),
            (
                Cause::Reported(WireStatus::Failed),
                [Failed, Failed, Failed, Cancelled, Failed, Failed, Rejected, Cancelled, Failed],
            ),
            (Cause::Asked, [Waiting, Waiting, Waiting, Stopping, Done, Failed, Rejected, Cancelled, Waiting]),
            (
                Cause::Allowed,
                [Running, Running, Running, Stopping, Done, Failed, Rejected, Cancelled, Running],
            ),
            (
                Cause::Rejected,
                [Rejected, Rejected, Rejected, Stopping, Done, Failed, Rejected, Cancelled, Rejected],
            ),
            (
                Cause::Withdrawn,
                [Pending, Pending, Running, Stopping, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::StopAsked,
                [Stopping, Cancelled, Stopping, Stopping, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::TurnCancelled,
                [Cancelled, Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::TurnEnded,
                [Unreported, Waiting, Unreported, Cancelled, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                Cause::AgentGone,
                [Cancelled, Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled, Unreported],
            ),
            (
                word("denied"),
                [Rejected, Rejected, Rejected, Rejected, Rejected, Rejected, Rejected, Cancelled, Rejected],
            ),
            (
                word("surprise"),
                [Pending, Waiting, Running, Stopping, Done, Failed, Rejected, Cancelled, Unreported],
            ),
        ];
        for (cause, expected) in table {
            assert_eq!(after(cause.clone()), expected, "{cause:?}");
        }
    }

    #[test]
    fn what_the_user_took_to_answer_is_not_the_calls_time() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(1000));
        assert_eq!(call.took(), None);
        call.advance(&Cause::Asked, Moment(1500));
        call.advance(&Cause::Reported(WireStatus::Pending), Moment(2000));
        call.advance(&Cause::Allowed, Moment(61_500));
        call.advance(&Cause::Reported(WireStatus::Completed), Moment(63_000));
        assert_eq!(call.took(), Some(2000));
        let mut rejected = ToolCall::new(ToolCallId("2".into()), Moment(0));
        rejected.advance(&Cause::Asked, Moment(0));
        rejected.advance(&Cause::Rejected, Moment(9000));
        assert_eq!(rejected.took(), Some(0));
        let patch = |took| ToolCallPatch { took, ..ToolCallPatch::new("1") };
        call.patch(patch(Some(45)), Moment(63_100));
        call.patch(patch(None), Moment(63_200));
        assert_eq!((call.took(), call.span()), (Some(45), Some((62_955, 63_000))));
    }

    #[test]
    fn a_call_whose_command_failed_is_not_shown_as_if_it_had_gone_well() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.advance(&Cause::Reported(WireStatus::Completed), Moment(1));
        assert_eq!(call.shown_status(), Done);
        call.raw_output = Some(serde_json::json!({ "exitCode": 3 }));
        assert_eq!((call.status, call.shown_status()), (Done, Failed));
        let error = "Command exited with code 3";
        call.raw_output = Some(serde_json::json!([{ "query": "x", "error": error, "success": false }]));
        assert_eq!((call.exit_words().as_deref(), call.shown_status()), (Some("exit 3"), Failed));
        call.raw_output = Some(serde_json::json!([{ "query": "x", "success": true }]));
        assert_eq!((call.exit_words(), call.shown_status()), (None, Done));
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

    fn cline() -> ToolCall {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.root = "/p".into();
        let input = serde_json::json!({"path": "notes.txt", "old_text": "beta", "new_text": "BETA"});
        let patch = ToolCallPatch { raw_input: Some(input), ..ToolCallPatch::new("1") };
        call.patch(patch, Moment(0));
        call
    }

    #[test]
    fn what_only_the_input_says_is_what_the_call_changes() {
        let mut call = cline();
        call.patch(ToolCallPatch { kind: Some(ToolKind::Edit), ..ToolCallPatch::new("1") }, Moment(0));
        let place = Location { path: "notes.txt".into(), line: None };
        assert_eq!((call.diffs().count(), call.places(), call.counted), (1, vec![place], Some((1, 1))));
        // Once the agent says it in the protocol's words, that counts.
        let diff = FileDiff { path: "/p/notes.txt".into(), old_text: None, new_text: "all".into() };
        let content = Some(vec![ToolContent::Diff(diff.clone())]);
        call.patch(ToolCallPatch { content, ..ToolCallPatch::new("1") }, Moment(0));
        assert_eq!(call.diffs().collect::<Vec<_>>(), [&diff]);
        assert_eq!(call.input_diffs(), []);
    }

    #[test]
    fn an_input_is_news_once() {
        let mut call = cline();
        assert!(call.has_news_in_input());
        let again = ToolCallPatch { raw_input: call.raw_input.clone(), ..ToolCallPatch::new("1") };
        call.patch(again, Moment(0));
        assert!(!call.has_news_in_input());
    }

    #[test]
    fn the_projects_folder_is_no_place() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.root = "/p".into();
        let location = |path: &str| Location { path: path.into(), line: None };
        let locations = Some(["/p", "/p/", "", "/p/a"].map(location).to_vec());
        call.patch(ToolCallPatch { locations, ..ToolCallPatch::new("1") }, Moment(0));
        assert_eq!(call.places(), [location("/p/a")]);
    }
}
