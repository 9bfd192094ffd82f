//! A task under way: from a look at the disk, over the buffer's text and its merge with the other side, to the edits.
//! Each step takes what has come about and what the editor knows, and gives what is to be done next. When the user
//! types in between, or the disk changes, stages begin again. Doing it, and what follows once the text is in the
//! buffer, is left to others.

use crate::core::changes::agent_views::{Look, Seen};
use crate::core::changes::file_task::Task;
use crate::core::changes::reconcile::{Base, ConflictHunk, Pick, Reconciled, Sides, body};
use crate::core::changes::text_edits::TextEdit;
use crate::core::changes::writers::Writers;
use crate::core::ids::SessionKey;
use crate::core::message::{HalfWritten, OnDisk, Stamp};
use crate::core::text::Text;
use crate::core::text::encoding::foreign;
use crate::core::text::file_format::{as_file, as_lines, is_dos};
use crate::core::text::line_range;

/// How often a text is merged again because the user typed meanwhile, before it is done while the user waits.
pub const TRIES: u32 = 20;

/// How often an edit is put off while the user completes a word or types a key of several.
pub const WAITS: u32 = 100;

const NOT_MODIFIABLE: &str = "its buffer is not 'modifiable' in Neovim";

/// A text of a buffer, and its `b:changedtick` then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferText {
    pub tick: u64,
    pub text: Text,
}

/// What the editor knows when a step is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub buffer: BufferFacts,
    /// What is known of the buffer's file; `None` when no loaded buffer has it any more.
    pub known: Option<Known>,
    /// What the task's agent is called.
    pub agent: Option<String>,
    /// What it last saw of the file through the editor, and by itself.
    pub seen: Option<Seen>,
    pub look: Option<Look>,
    /// The session that has to do with the file; told for [`Task::Remember`] alone.
    pub owner: Owner,
    /// The sessions that may be writing the file now, as far as the editor can guess.
    pub writers: Writers,
    /// The option says that buffers are saved also when they have unsaved edits.
    pub saves_always: bool,
    /// The disk's text beside which the user has left theirs as it is.
    pub left: Option<Text>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferFacts {
    pub tick: u64,
    /// It holds unsaved edits.
    pub modified: bool,
    /// 'buftype' is empty.
    pub is_plain: bool,
    /// Options by their names.
    pub fileformat: String,
    pub fileencoding: String,
    pub modifiable: bool,
    pub readonly: bool,
    pub lines: usize,
    /// It has one line, and nothing in it.
    pub is_blank: bool,
    /// The user is in the middle of a word or a key; looked at when a merge is there.
    pub is_occupied: bool,
}

/// What is known of a file that a buffer holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The state of the file whose text a clean buffer is known to hold.
    pub stamp: Option<Stamp>,
    /// The file's text that the unsaved edits began with.
    pub saved: Option<Text>,
}

/// Whether sessions have to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    /// It lies in a session's folder, or one has touched it: that one.
    Session(Option<SessionKey>),
}

/// What has come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// It is the task's turn.
    Begun,
    /// The background has looked at the disk.
    Examined(OnDisk),
    /// The file is newer for Neovim than what it has read, or is not.
    Compared { is_behind: bool },
    /// The buffer was read.
    Read(BufferText),
    /// The background has merged the texts; the file's state after that.
    Merged { outcome: Reconciled, now: Option<Stamp> },
    /// All edits are in.
    Edited,
    /// The user typed when only some edits were in: this is what they led to.
    Overtaken { so_far: Text },
    /// The user has decided about a conflict.
    Picked { picks: Vec<Pick>, rest: Option<Pick> },
    /// Conflicts get markers, without a question.
    Marked,
    /// The buffer has another text than the one that the user was asked about.
    Again,
}

/// What is to be done next, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Do {
    /// An agent has to do with the buffer from now on.
    Touch,
    /// Watch the file from now on, so that it can be told whether a text is a whole one.
    Watch,
    /// Look at the disk in the background.
    Examine {
        known: Option<Stamp>,
        half: HalfWritten,
    },
    /// Ask Neovim at once whether the file is newer than what it has read.
    Compare,
    /// Read the buffer in slices, or while the user waits.
    Read,
    ReadNow,
    /// Merge in the background.
    Merge(Box<Sides>),
    /// Give the same input again in a while.
    Wait {
        outcome: Reconciled,
        now: Option<Stamp>,
    },
    /// Undone, the buffer is no longer what the disk holds: it is to count as modified then.
    MarkModified,
    /// Apply these, in slices, to a buffer that holds this text.
    Edit {
        edits: Vec<TextEdit>,
        ours: Text,
        text: Text,
    },
    /// The text is in the buffer.
    Land(Landing),
    /// Keep what is known of the file.
    Know(Known),
    /// The agent gets a text, and has seen the buffer's.
    Answer(Text),
    See(Text),
    /// Neovim reads the file itself.
    TakeFromDisk,
    /// If Neovim thinks that the file is newer, it is told that this is not so.
    CatchUp,
    /// Neovim is told that the buffer knows this state; only if it thinks otherwise, or in any case.
    Acknowledge {
        stamp: Stamp,
        only_if_behind: bool,
    },
    /// The text is still being written: what there is to take comes later.
    NotWhole,
    /// There is no such file any more, or never was one.
    FileGone {
        was_there: bool,
    },
    /// Ask the user, or decide by the options.
    Conflict(Vec<ConflictHunk>),
    /// Who waits is told why it is not done.
    Refuse(String),
    /// The same, and the task is over.
    Fail(String),
    /// Put a task before all that wait.
    PutFirst(Task),
    /// The buffer does not hold the file any more: begin anew with the one that does.
    Restart,
    /// The task is over.
    End,
}

/// What is in the buffer once all edits are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    pub text: Text,
    /// It is exactly what the other side has.
    pub is_theirs: bool,
    /// What the edits touched: 0-based rows of the new text, the last one excluded.
    pub ranges: Vec<(usize, usize)>,
    pub start: Start,
    pub disk: OnDisk,
}

/// The buffer before the first edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    pub text: Text,
    pub lines: usize,
    /// It had no unsaved edits, and the user has typed none since.
    pub was_clean: bool,
}

#[derive(Clone, Debug)]
pub struct FileJob {
    task: Task,
    stage: Stage,
    edits: Edits,
    /// How often it was begun again because somebody was faster.
    tries: u32,
    /// How often it was put off because the user was in the middle of something.
    waits: u32,
    /// What the user has decided about conflicts: by place, and for those beyond.
    picks: Vec<Pick>,
    rest: Option<Pick>,
    /// The disk's text that this decision was about.
    shown: Option<Text>,
}

/// What is under way, and what is known by then.
#[derive(Clone, Debug)]
enum Stage {
    /// Nothing yet.
    Waiting,
    /// The disk is looked at.
    Examining,
    /// Neovim is asked about what the disk holds.
    ComparingDisk {
        disk: OnDisk,
    },
    /// The buffer is read.
    Reading {
        disk: OnDisk,
    },
    /// Neovim is asked about a buffer with unsaved edits.
    ComparingText {
        disk: OnDisk,
        ours: BufferText,
    },
    /// The texts are merged.
    Merging {
        disk: OnDisk,
        ours: BufferText,
    },
    /// The buffer is read while the user waits, to be merged at once.
    ReadingNow {
        disk: OnDisk,
        now: Option<Stamp>,
    },
    /// The user decides.
    InConflict {
        disk: OnDisk,
    },
    /// Edits go in.
    Editing(Landing),
    Over,
}

/// What was done to the buffer before the stage that is under way.
#[derive(Clone, Debug)]
enum Edits {
    /// None is in. The last text of the buffer without unsaved edits, if it was seen in this state.
    None { clean: Option<Text> },
    /// The user typed in between: what the edits led to then, and what all of them were to lead to.
    Half { start: Start, so_far: Text, whole: Text },
}

impl FileJob {
    pub fn new(task: Task) -> Self {
        Self {
            task,
            stage: Stage::Waiting,
            edits: Edits::None { clean: None },
            tries: 0,
            waits: 0,
            picks: Vec::new(),
            rest: None,
            shown: None,
        }
    }

    pub fn task(&self) -> &Task {
        &self.task
    }

    pub fn into_task(self) -> Task {
        self.task
    }

    /// The disk's text that the user is asked about.
    pub fn disk_in_conflict(&self) -> Option<&Text> {
        match &self.stage {
            Stage::InConflict { disk: OnDisk::Text { text, .. } } => Some(text),
            _ => None,
        }
    }

    /// Takes in what has come about. What does not fit the stage is of an earlier one, and changes nothing.
    pub fn step(&mut self, input: Input, facts: &Facts) -> Vec<Do> {
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        match (stage, input) {
            (Stage::Waiting, Input::Begun) => self.examine(facts),
            (Stage::Examining, Input::Examined(disk)) => self.examined(disk, facts),
            (Stage::ComparingDisk { disk }, Input::Compared { is_behind }) => {
                self.compared_disk(disk, is_behind, facts)
            }
            (Stage::Reading { disk }, Input::Read(ours)) => self.read(disk, ours, facts),
            (Stage::ComparingText { disk, ours }, Input::Compared { is_behind }) => {
                self.compared_text(disk, ours, is_behind, facts)
            }
            (Stage::Merging { disk, ours }, Input::Merged { outcome, now }) => {
                self.merged((disk, ours), outcome, now, facts)
            }
            (Stage::ReadingNow { disk, now }, Input::Read(ours)) => {
                match self.sides(&disk, &ours.text, facts.known.as_ref(), facts) {
                    Ok(Some(sides)) => self.decided((disk, ours), sides.reconcile(), now, facts),
                    Ok(None) => vec![Do::End],
                    Err(why) => vec![Do::Fail(why)],
                }
            }
            (Stage::Editing(landing), Input::Edited) => vec![Do::Land(landing)],
            (Stage::Editing(landing), Input::Overtaken { so_far }) => self.overtaken(landing, so_far),
            (Stage::InConflict { disk }, Input::Picked { picks, rest }) => {
                (self.picks, self.rest) = (picks, rest);
                self.shown = match disk {
                    OnDisk::Text { text, .. } => Some(text),
                    _ => None,
                };
                self.examine(facts)
            }
            (Stage::InConflict { .. }, Input::Again) => self.examine(facts),
            (Stage::InConflict { disk }, Input::Marked) => {
                self.rest = Some(Pick::Markers);
                self.read_on(disk)
            }
            (stage, _) => {
                self.stage = stage;
                Vec::new()
            }
        }
    }

    /// First, what is on the disk?
    fn examine(&mut self, facts: &Facts) -> Vec<Do> {
        let BufferFacts { modified, is_plain, .. } = facts.buffer;
        let known = match &self.task {
            // The live text is what is asked for.
            Task::Read { .. } if modified || !is_plain => return self.read_on(OnDisk::Same),
            Task::Write { .. } if !is_plain => return self.read_on(OnDisk::Same),
            Task::Remember if !modified => return vec![Do::End],
            Task::Write { .. } if modified => None,
            Task::Remember => None,
            _ => facts.known.as_ref().and_then(|known| known.stamp),
        };
        let half = match &self.task {
            Task::Take { .. } => HalfWritten::Tell,
            Task::Remember => HalfWritten::Before,
            Task::Read { checked: true, .. } | Task::Write { checked: true, .. } => HalfWritten::Take,
            Task::Read { .. } | Task::Write { .. } => HalfWritten::Wait,
        };
        self.stage = Stage::Examining;
        let examine = Do::Examine { known, half };
        match &self.task {
            Task::Read { .. } | Task::Write { .. } => vec![Do::Touch, examine],
            Task::Take { .. } | Task::Remember => vec![examine],
        }
    }

    fn examined(&mut self, disk: OnDisk, facts: &Facts) -> Vec<Do> {
        if matches!(self.task, Task::Remember) && facts.buffer.modified {
            // It was another one for Neovim already when the buffer was read, or is by now.
            self.stage = Stage::ComparingDisk { disk };
            return vec![Do::Compare];
        }
        if let (Task::Take { told, .. }, OnDisk::Text { text, .. }) = (&mut self.task, &disk)
            && !*told
            && looks_cut(text, facts.known.as_ref())
        {
            // Neovim has found it by itself, and of a file that no agent has named nobody would tell until it is watched.
            *told = true;
            return [vec![Do::Watch], self.examine(facts)].concat();
        }
        if let (true, Some(shown), OnDisk::Text { text, .. }) =
            (self.task.is_take(), self.shown.take(), &disk)
            && shown != *text
        {
            // What the user has decided about is not there any more.
            (self.picks, self.rest) = (Vec::new(), None);
        }
        self.compared_disk(disk, false, facts)
    }

    fn compared_disk(&mut self, disk: OnDisk, is_behind: bool, facts: &Facts) -> Vec<Do> {
        let modified = facts.buffer.modified;
        let Some(known) = &facts.known else { return vec![Do::Restart] };
        match (&self.task, &disk) {
            // It is told when there is a whole text.
            (_, OnDisk::HalfWritten) => vec![Do::NotWhole, Do::End],
            (Task::Remember, OnDisk::Text { stamp, .. })
                if modified && (is_behind || known.stamp.is_some_and(|known| known != *stamp)) =>
            {
                // It was written before anybody looked: what the edits began with is not known any more.
                let forget = Do::Know(Known { saved: None, ..known.clone() });
                let Owner::Session(about) = facts.owner else { return vec![forget, Do::End] };
                self.task = Task::Take { writers: facts.writers.clone(), about, told: false };
                // It may be half of a text, which is no matter for what edits began with.
                self.stage = Stage::Examining;
                vec![forget, Do::Examine { known: None, half: HalfWritten::Tell }]
            }
            (Task::Remember, OnDisk::Text { text, stamp, .. }) if known.saved.is_none() && modified => {
                vec![Do::Know(Known { stamp: Some(*stamp), saved: Some(text.clone()) }), Do::End]
            }
            (Task::Remember, _) => vec![Do::End],
            (Task::Take { .. }, OnDisk::Text { .. }) if !modified && facts.buffer.is_blank => {
                // It may be new to Neovim, which asks about such a file unless it reads it.
                vec![Do::TakeFromDisk, Do::End]
            }
            // They have been asked about this one.
            (Task::Take { .. }, OnDisk::Text { text, .. }) if modified && facts.left.as_ref() == Some(text) => {
                vec![Do::End]
            }
            // Neovim compares with what it has read itself, and that may be older.
            (Task::Take { .. }, OnDisk::Same) => vec![Do::CatchUp, Do::End],
            (Task::Take { .. }, OnDisk::Gone) if modified => file_gone(known.clone(), None),
            (Task::Take { .. }, OnDisk::Unreadable(why)) if modified => {
                vec![Do::Refuse(why.clone()), Do::End]
            }
            // Neovim may know the encoding.
            (Task::Take { .. }, OnDisk::Unreadable(_)) => vec![Do::TakeFromDisk, Do::End],
            (Task::Take { .. }, OnDisk::Text { text, stamp, .. })
                // One that was gone is taken, whatever it holds.
                if modified && known.stamp.is_some() && known.saved.as_ref() == Some(text) =>
            {
                let only_if_behind = known.stamp == Some(*stamp);
                vec![Do::Acknowledge { stamp: *stamp, only_if_behind }, Do::End]
            }
            _ => self.read_on(disk),
        }
    }

    /// Then, what is in the buffer?
    fn read_on(&mut self, disk: OnDisk) -> Vec<Do> {
        self.stage = Stage::Reading { disk };
        vec![Do::Read]
    }

    fn read(&mut self, disk: OnDisk, ours: BufferText, facts: &Facts) -> Vec<Do> {
        if facts.buffer.modified {
            // Unsaved edits that nobody has seen begin did so with what the disk holds now only if Neovim
            // has read that.
            self.stage = Stage::ComparingText { disk, ours };
            return vec![Do::Compare];
        }
        if let Edits::None { clean } = &mut self.edits {
            *clean = Some(ours.text.clone());
        }
        self.compared_text(disk, ours, false, facts)
    }

    fn compared_text(&mut self, disk: OnDisk, ours: BufferText, is_behind: bool, facts: &Facts) -> Vec<Do> {
        let Some(mut known) = facts.known.clone() else { return vec![Do::Restart] };
        let BufferFacts { modified, fileformat, .. } = &facts.buffer;
        let mut all = Vec::new();
        if let OnDisk::Text { text, stamp, .. } = &disk {
            let is_stale = match *modified {
                true => known.saved.as_ref().is_some_and(|saved| saved != text),
                false => !is_same(&as_lines(text, fileformat), &ours.text),
            };
            if let (true, Some(task)) = (is_stale, self.task.checked()) {
                // Somebody else wrote the file: that comes first. Where nobody knows since when, it is no
                // change of the agent's.
                let is_dated = known.stamp.is_some();
                let writers = if is_dated { facts.writers.clone() } else { Writers::default() };
                let about = self.task.session().filter(|_| is_dated);
                let take = Task::Take { writers, about, told: true };
                return vec![Do::PutFirst(task), Do::PutFirst(take), Do::End];
            }
            if !is_stale {
                if known.saved.is_some() || !is_behind {
                    known.stamp = Some(*stamp);
                }
                if *modified && known.saved.is_none() && !is_behind {
                    known.saved = Some(text.clone());
                }
                all.push(Do::Know(known.clone()));
            }
        }
        match &self.task {
            Task::Take { .. } if matches!(disk, OnDisk::Gone) => {
                let clean = (!*modified).then(|| as_file(&ours.text, fileformat));
                all.extend(file_gone(known, clean));
            }
            Task::Read { line, limit, .. } => {
                let whole = as_file(&ours.text, fileformat);
                let is_whole = (line, limit) == (&None, &None);
                let text = if is_whole { whole } else { line_range::lines(&whole, *line, *limit).into() };
                // Of an agent that reads parts it is not known which of them are how old: what it saw
                // first is what is sure.
                if is_whole || facts.seen.is_none() {
                    all.push(Do::See(ours.text));
                }
                all.extend([Do::Answer(text), Do::End]);
            }
            Task::Remember => all.push(Do::End),
            Task::Write { .. } | Task::Take { .. } => {
                match self.sides(&disk, &ours.text, Some(&known), facts) {
                    Ok(Some(sides)) => {
                        self.stage = Stage::Merging { disk, ours };
                        all.push(Do::Merge(Box::new(sides)));
                    }
                    // Only Neovim itself may change it.
                    Ok(None) if *modified => all.extend([Do::Refuse(NOT_MODIFIABLE.to_owned()), Do::End]),
                    Ok(None) => all.extend([Do::TakeFromDisk, Do::End]),
                    Err(why) => all.push(Do::Fail(why)),
                }
            }
        }
        all
    }

    /// Then, what are the two together? `None` for a buffer that cannot take a text from the disk.
    fn sides(
        &self,
        disk: &OnDisk,
        ours: &Text,
        known: Option<&Known>,
        facts: &Facts,
    ) -> Result<Option<Sides>, String> {
        // Whoever has written it, what is taken is what the disk holds.
        let agent = facts.agent.clone().filter(|_| !self.task.is_take());
        let names = ["mine".to_owned(), agent.unwrap_or_else(|| "disk".to_owned())];
        let (ours, picks, rest) = (ours.clone(), self.picks.clone(), self.rest);
        if let Edits::Half { so_far, whole, .. } = &self.edits {
            let (base, theirs) = (Base::Text(so_far.clone()), whole.clone());
            return Ok(Some(Sides { base, ours, theirs, dos: false, picks, rest, names }));
        }
        let BufferFacts { modified, modifiable, fileformat, .. } = &facts.buffer;
        let clean = match &self.edits {
            Edits::None { clean } => clean.clone(),
            Edits::Half { .. } => None,
        };
        // What was clean when this began is what the user began with.
        let saved = known.and_then(|known| known.saved.clone()).or(clean).map(Base::Text);
        let (base, theirs) = match &self.task {
            Task::Write { content, .. } => {
                may_write(&facts.buffer, content)?;
                let stamp = known.and_then(|known| known.stamp);
                (base_of_write(saved, &ours, disk, stamp, facts), content.without_prefix('\u{feff}'))
            }
            _ if !modifiable => return Ok(None),
            _ => {
                let base = if *modified { saved.unwrap_or(Base::Unknown) } else { Base::Ours };
                let OnDisk::Text { text, .. } = disk else { return Ok(None) };
                (base, text.clone())
            }
        };
        let dos = fileformat == "dos" || (self.task.is_take() && is_dos(&theirs));
        let theirs = if fileformat == "mac" { as_lines(&theirs, fileformat) } else { theirs };
        Ok(Some(Sides { base, ours, theirs, dos, picks, rest, names }))
    }

    fn merged(
        &mut self,
        (disk, ours): (OnDisk, BufferText),
        outcome: Reconciled,
        now: Option<Stamp>,
        facts: &Facts,
    ) -> Vec<Do> {
        if self.waits < WAITS && facts.buffer.is_occupied {
            // An open menu has no end that could be waited for in all versions.
            self.waits += 1;
            self.stage = Stage::Merging { disk, ours };
            return vec![Do::Wait { outcome, now }];
        }
        if facts.buffer.tick == ours.tick {
            return self.decided((disk, ours), outcome, now, facts);
        }
        self.tries += 1;
        if self.tries < TRIES {
            return self.read_on(disk);
        }
        // The user types faster than the background compares: now is the only time that fits.
        self.stage = Stage::ReadingNow { disk, now };
        vec![Do::ReadNow]
    }

    fn decided(
        &mut self,
        (disk, ours): (OnDisk, BufferText),
        outcome: Reconciled,
        now: Option<Stamp>,
        facts: &Facts,
    ) -> Vec<Do> {
        let (edits, text, is_theirs) = match outcome {
            Reconciled::Conflicts(hunks) => {
                self.stage = Stage::InConflict { disk };
                return vec![Do::Conflict(hunks)];
            }
            Reconciled::Edits { edits, text, is_theirs } => (edits, text, is_theirs),
        };
        let (start, is_half) = match &self.edits {
            Edits::None { .. } => {
                let was_clean = !facts.buffer.modified;
                (Start { text: ours.text.clone(), lines: facts.buffer.lines, was_clean }, false)
            }
            Edits::Half { start, .. } => (start.clone(), true),
        };
        let is_take = self.task.is_take();
        let saves = start.was_clean || facts.saves_always;
        if (saves || is_take) && is_stale(&disk, now, facts.known.as_ref()) {
            // Written by somebody else just now; or, if it is to be taken, by the user.
            self.tries += 1;
            if self.tries < TRIES {
                return self.examine(facts);
            }
            let why = "the file keeps changing on the disk; read it again";
            return vec![Do::Refuse(why.to_owned()), Do::End];
        }
        let mut all = Vec::new();
        if is_take && start.was_clean && !edits.is_empty() {
            all.push(Do::MarkModified);
        }
        let ranges = ranges(&edits);
        all.push(Do::Edit { edits, ours: ours.text, text: text.clone() });
        let is_theirs = is_theirs && !is_half;
        self.stage = Stage::Editing(Landing { text, is_theirs, ranges, start, disk });
        all
    }

    /// What the user did since the last slice is merged with what is left to do.
    fn overtaken(&mut self, landing: Landing, so_far: Text) -> Vec<Do> {
        let start = Start { was_clean: false, ..landing.start };
        self.edits = Edits::Half { start, so_far, whole: landing.text };
        (self.picks, self.rest) = (Vec::new(), None);
        self.tries += 1;
        self.read_on(landing.disk)
    }
}

/// The buffer has the only text; `clean` is that of one without unsaved edits. What the file held is what unsaved edits
/// began with, if it comes back: programs take files away for a moment.
fn file_gone(known: Known, clean: Option<Text>) -> Vec<Do> {
    let was_there = known.stamp.is_some() || known.saved.is_some();
    let saved = clean.or(known.saved);
    vec![Do::Know(Known { stamp: None, saved }), Do::FileGone { was_there }, Do::End]
}

/// Whether a text may be half of one: most programs write in pieces, few of which end where a line does.
fn looks_cut(text: &str, known: Option<&Known>) -> bool {
    let saved = known.and_then(|known| known.saved.as_deref()).unwrap_or_default();
    !text.ends_with(['\n', '\r']) || (text.len() < saved.len() && saved.starts_with(text))
}

/// Whether an agent may write this into the buffer.
fn may_write(buffer: &BufferFacts, content: &Text) -> Result<(), String> {
    if !buffer.modifiable {
        return Err(NOT_MODIFIABLE.to_owned());
    }
    if buffer.readonly {
        return Err("its buffer is 'readonly' in Neovim; the user can :set noreadonly".to_owned());
    }
    let encoding = &buffer.fileencoding;
    match foreign(content, encoding) {
        Some(char) => Err(format!("the file is in {encoding}, which has no {char:?}; write it without")),
        None => Ok(()),
    }
}

/// What an agent that writes a file began with.
fn base_of_write(
    saved: Option<Base>,
    ours: &Text,
    disk: &OnDisk,
    stamp: Option<Stamp>,
    facts: &Facts,
) -> Base {
    let modified = facts.buffer.modified;
    let held = if modified { saved.clone() } else { Some(Base::Text(ours.clone())) };
    // It has read by itself what the disk holds, as far as the buffer knows.
    let has_looked = facts.look.is_some_and(|look| look.done && Some(look.stamp) == stamp);
    match (&facts.seen, held) {
        (Some(_), Some(held)) if has_looked => held,
        // The disk holds another text than when the agent last saw the file through the editor, where that is known: a
        // buffer may have been read before anybody had looked at its file.
        (Some(seen), Some(Base::Text(disk))) if seen.stamp.is_some() && seen.stamp != stamp => {
            Base::Either { seen: seen.text.clone(), disk }
        }
        (Some(seen), _) => Base::Text(seen.text.clone()),
        (None, _) if !modified => Base::Ours,
        (None, _) => saved.unwrap_or(match disk {
            OnDisk::Gone => Base::Text(Text::default()),
            _ => Base::Unknown,
        }),
    }
}

/// Whether the file is another one than the one that was looked at.
fn is_stale(disk: &OnDisk, now: Option<Stamp>, known: Option<&Known>) -> bool {
    let known = match disk {
        OnDisk::Text { stamp, .. } => Some(*stamp),
        _ => known.and_then(|known| known.stamp),
    };
    match disk {
        OnDisk::Gone => now.is_some(),
        _ => known.is_some() && now.is_some() && now != known,
    }
}

/// An empty file and one empty line look the same in a buffer.
fn is_same(disk: &str, ours: &str) -> bool {
    disk == ours || (body(disk).is_empty() && body(ours).is_empty())
}

/// The rows of the new text that edits have touched, from the top down; from 0, the last one excluded.
fn ranges(edits: &[TextEdit]) -> Vec<(usize, usize)> {
    let mut moved = 0_isize;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for edit in edits.iter().rev() {
        let (first, last, count) = match edit.whole_lines() {
            Some((rows, lines)) => (rows.start, rows.end, lines.len()),
            None => (edit.start.0, edit.end.0 + 1, edit.lines.len()),
        };
        let start = first.saturating_add_signed(moved);
        match ranges.last_mut() {
            Some(range) if range.1 >= start => range.1 = start + count,
            _ => ranges.push((start, start + count)),
        }
        moved += count as isize - (last - first) as isize;
    }
    ranges
}

#[cfg(test)]
mod tests;
