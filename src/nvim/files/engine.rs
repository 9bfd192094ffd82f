//! What is done with files that buffers hold, from start to end: an agent reads, an agent writes, the
//! file on the disk was written by somebody else. Each goes through the same stages, none of which waits:
//! the disk is looked at and texts are merged in the background, the buffer is read and edited in slices.
//! When the user types in between, the stages begin again. What comes of it is in `landing`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mlua::Result;

use crate::config::Save;
use crate::core::changes::reconcile::{Base, Reconciled, Sides, body};
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::SessionKey;
use crate::core::message::{Answer, Command, FileChange, HalfWritten, OnDisk, Severity, Work};
use crate::core::text::Text;
use crate::core::text::encoding::foreign;
use crate::core::text::line_range;
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::applying::{Applying, Progress};
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::reading::{Reading, as_file, as_lines};
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::editor::Buf;
use crate::nvim::editor::first_line;
use crate::nvim::files::{FileJob, Landing, Task};
use crate::nvim::later;

/// How often a text is merged again because the user typed meanwhile, before it is done while the user
/// waits.
const TRIES: u32 = 20;

/// How long, and how often, an edit is put off while the user completes a word or types a key of several.
const WAIT: Duration = Duration::from_millis(50);
const WAITS: u32 = 100;

/// Between two slices keys are taken in.
const PAUSE: Duration = Duration::from_millis(1);

/// Since when a buffer has the text of its file.
#[derive(Clone, Copy, PartialEq)]
pub enum Known {
    /// It was saved just now.
    Saved,
    /// It was read just now; the file may have changed since.
    Read,
    /// It was read before anybody took note: only whether there is a file can be told.
    Once,
}

impl App {
    pub fn buffer_loaded(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = self.cx.buffers.loaded(&self.cx.editor, buf) else { return Ok(()) };
        if self.background.is_some() {
            self.send(Command::FileLoaded { path: path.clone() })?;
            self.guard(buf, &path)?;
            self.buffer_modified(buf)?;
        }
        self.review_loaded(buf, &path)
    }

    /// Has the background note the state of a buffer's file.
    pub fn file_known(&mut self, buf: Buf, known: Known) -> Result<()> {
        let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let tick = self.cx.editor.changedtick(buf)?;
        let job = self.next_job(Job::Stamp { path: path.clone(), buf, tick });
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (now.as_secs().cast_signed(), i64::from(now.subsec_nanos()));
        let read = match known {
            Known::Saved => None,
            Known::Read => Some(now),
            Known::Once => Some((i64::MIN, 0)),
        };
        self.send(Command::Compute { job, work: Work::Stamp { path, read } })
    }

    pub fn buffer_read(&mut self, buf: Buf) -> Result<()> {
        self.buffer_loaded(buf)?;
        if self.background.is_some() && !is_modified(&self.cx.editor, buf) {
            self.file_known(buf, Known::Read)?;
        }
        Ok(())
    }

    pub fn buffer_unloaded(&mut self, buf: Buf) -> Result<()> {
        self.reviews.release(buf);
        self.watching.unloaded(buf);
        self.cx.buffers.texts.forget(buf);
        if let Some(path) = self.cx.buffers.unloaded(buf)
            && self.background.is_some()
        {
            self.send(Command::FileUnloaded { path })?;
        }
        Ok(())
    }

    /// The content of a file that a session has to do with is another one on the disk.
    pub fn file_changed_outside(&mut self, path: &Path, kind: &FileChange) -> Result<()> {
        let session = self.session_about(path);
        if let FileChange::Renamed(to) = kind
            && let Some(held) = self.cx.buffers.held(path)
        {
            held.moved = Some(to.clone());
        }
        self.file_touched(session, None, path)
    }

    /// The session whose agent may have written a file.
    pub fn session_about(&self, path: &Path) -> Option<SessionKey> {
        let mut sessions = self.watching.sessions_of(path);
        sessions.extend(self.files.readers_of(path));
        // The one at work is the most likely to have done it.
        let works = |key: &SessionKey| self.cx.sessions.get(key).is_some_and(|session| session.is_working());
        sessions.iter().copied().find(works).or(sessions.first().copied())
    }

    /// A buffer got its first unsaved edit, or was saved. What its edits began with is what the disk
    /// holds now.
    pub fn buffer_modified(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let modified = is_modified(&self.cx.editor, buf);
        let Some(held) = self.cx.buffers.held(&path) else { return Ok(()) };
        if !modified {
            held.saved = None;
        } else if held.saved.is_none() && self.background.is_some() {
            return self.file_task(path, Task::Remember);
        }
        Ok(())
    }

    /// Has something done with a file that a buffer holds, after all that is to be done with it already.
    pub fn file_task(&mut self, path: PathBuf, task: Task) -> Result<()> {
        if !matches!(task, Task::Remember)
            && let Some(buf) = self.cx.buf_of(&path)
        {
            self.cx.editor.helper::<()>("guard", buf)?;
        }
        if self.conflicts.about(&path) && matches!(task, Task::Read { .. }) {
            // The user may take minutes to decide; the file can be read as it is.
            let Some(buf) = self.cx.buf_of(&path) else {
                return self.refuse_task(&path, &task, "its buffer was just closed; try again");
            };
            let mut job = FileJob::new(path, buf, task);
            job.aside = true;
            return self.stage(Box::new(job), Self::examine);
        }
        if self.files.push(&path, task) { self.next_file_task(&path) } else { Ok(()) }
    }

    fn next_file_task(&mut self, path: &Path) -> Result<()> {
        while let Some(task) = self.files.begin(path) {
            match self.cx.buf_of(path) {
                Some(buf) => {
                    let job = FileJob::new(path.to_owned(), buf, task);
                    return self.stage(Box::new(job), Self::examine);
                }
                None => {
                    self.files.ended(path);
                    self.refuse_task(path, &task, "its buffer was just closed; try again")?;
                }
            }
        }
        match self.files.take_renamed(&self.cx.buffers, path) {
            Some(buf) => self.renamed(buf),
            None => Ok(()),
        }
    }

    /// The task is over; the next one for the file may begin.
    pub fn end_task(&mut self, job: &FileJob) -> Result<()> {
        if job.aside {
            return Ok(());
        }
        self.files.ended(&job.path);
        self.next_file_task(&job.path)
    }

    /// Goes on with a task. When that fails, who waits for it is told why.
    pub fn stage(
        &mut self,
        job: Box<FileJob>,
        next: impl FnOnce(&mut Self, Box<FileJob>) -> Result<()>,
    ) -> Result<()> {
        let (path, buf, task, aside) = (job.path.clone(), job.buf, job.task.clone(), job.aside);
        if self.cx.buf_of(&path) != Some(job.buf) {
            return self.again(job);
        }
        match next(self, job) {
            Ok(()) => Ok(()),
            Err(error) => {
                if !aside {
                    self.files.ended(&path);
                }
                self.refuse_task(&path, &task, &first_line(&error))?;
                // Some of the edits may be in.
                self.review_stale(buf)?;
                self.next_file_task(&path)
            }
        }
    }

    /// The buffer is another one, or none any more.
    fn again(&mut self, job: Box<FileJob>) -> Result<()> {
        let FileJob { path, task, aside, .. } = *job;
        if !aside {
            self.files.ended(&path);
            self.files.push_front(&path, task);
            return self.next_file_task(&path);
        }
        self.refuse_task(&path, &task, "its buffer was just closed; try again")
    }

    /// Tells an agent that its wish was not granted, and the user that a file on the disk was not taken.
    pub fn refuse_task(&mut self, path: &Path, task: &Task, why: &str) -> Result<()> {
        let (ask, verb) = match task {
            Task::Read { ask, .. } => (*ask, "read"),
            Task::Write { ask, .. } => (*ask, "write"),
            Task::Take { session, .. } => {
                let text = format!("couldn't take {} from the disk: {why}", self.cx.short_name(None, path));
                return self.note(*session, Severity::Warning, text);
            }
            Task::Remember => return Ok(()),
        };
        let text = format!("couldn't {verb} {}: {why}", self.cx.short_name(None, path));
        self.send(Command::Answer { ask, answer: Answer::Refused(text) })
    }

    // The stages.

    /// First, what is on the disk?
    pub fn examine(&mut self, job: Box<FileJob>) -> Result<()> {
        let modified = is_modified(&self.cx.editor, job.buf);
        let kind: String = self.cx.editor.buf_option(job.buf, "buftype")?;
        let known = self.cx.buffers.held(&job.path).and_then(|held| held.stamp);
        let known = match &job.task {
            // The live text is what is asked for.
            Task::Read { .. } if modified || !kind.is_empty() => return self.read_on(job),
            Task::Write { .. } if !kind.is_empty() => return self.read_on(job),
            Task::Remember if !modified => return self.end_task(&job),
            Task::Write { .. } if modified => None,
            Task::Remember => None,
            _ => known,
        };
        let half = match &job.task {
            Task::Take { .. } => HalfWritten::Tell,
            Task::Remember => HalfWritten::Before,
            Task::Read { checked, .. } | Task::Write { checked, .. } if *checked => HalfWritten::Take,
            Task::Read { .. } | Task::Write { .. } => HalfWritten::Wait,
        };
        if matches!(job.task, Task::Read { .. } | Task::Write { .. }) {
            self.watching.touch(job.buf);
        }
        let encoding = self.cx.editor.buf_option(job.buf, "fileencoding")?;
        let work = Work::Examine { path: job.path.clone(), encoding, known, half };
        let job = self.next_job(Job::File(job));
        self.send(Command::Compute { job, work })
    }

    pub fn examined(&mut self, mut job: Box<FileJob>, disk: OnDisk) -> Result<()> {
        job.disk = disk;
        let modified = is_modified(&self.cx.editor, job.buf);
        let buf = job.buf;
        // It was another one for Neovim already when the buffer was read, or is by now.
        let behind =
            matches!(job.task, Task::Remember) && modified && self.cx.editor.helper("is_behind_now", buf)?;
        let Some(held) = self.cx.buffers.held(&job.path) else { return self.again(job) };
        match (&job.task, &job.disk) {
            // It is told when there is a whole text.
            (_, OnDisk::HalfWritten) => self.end_task(&job),
            (Task::Remember, OnDisk::Text { stamp, .. })
                if modified && (behind || held.stamp.is_some_and(|known| known != *stamp)) =>
            {
                // It was written before anybody looked: what the edits began with is not known any more.
                held.saved = None;
                if !self.is_of_a_session(&job.path) {
                    return self.end_task(&job);
                }
                job.task = Task::Take { session: self.session_about(&job.path), call: None };
                self.read_on(job)
            }
            (Task::Remember, OnDisk::Text { text, stamp, .. }) => {
                if held.saved.is_none() && modified {
                    held.saved = Some(text.clone());
                    held.stamp = Some(*stamp);
                }
                self.end_task(&job)
            }
            (Task::Take { .. }, OnDisk::Text { .. })
                if !modified
                    && self.cx.editor.line_count(buf)? == 1
                    && self.cx.editor.line_len(buf, 0)? == 0 =>
            {
                // It may be new to Neovim, which asks about such a file unless it reads it.
                self.cx.editor.take_from_disk(buf)?;
                self.end_task(&job)
            }
            (Task::Take { .. }, OnDisk::Same) => {
                if self.cx.editor.helper("is_behind", buf)? {
                    // Neovim compares with what it has read itself, and that may be older.
                    self.cx.editor.helper::<()>("acknowledge", buf)?;
                }
                self.end_task(&job)
            }
            (Task::Remember, _) => self.end_task(&job),
            (Task::Take { .. }, OnDisk::Gone) => self.file_gone(job),
            (Task::Take { .. }, OnDisk::Unreadable(why)) if modified => {
                let why = why.clone();
                self.refuse_task(&job.path, &job.task, &why)?;
                self.end_task(&job)
            }
            (Task::Take { .. }, OnDisk::Unreadable(_)) => {
                // Neovim may know the encoding.
                self.cx.editor.take_from_disk(buf)?;
                self.end_task(&job)
            }
            (Task::Take { .. }, OnDisk::Text { text, stamp, .. })
                if modified && held.saved.as_ref() == Some(text) =>
            {
                if held.stamp != Some(*stamp) || self.cx.editor.helper("is_behind", buf)? {
                    held.stamp = Some(*stamp);
                    self.acknowledge(buf, &job.path, *stamp)?;
                }
                self.end_task(&job)
            }
            _ => self.read_on(job),
        }
    }

    /// Then, what is in the buffer?
    pub fn read_on(&mut self, job: Box<FileJob>) -> Result<()> {
        let reading = Reading::of(job.buf);
        self.read_slice(job, reading)
    }

    fn read_slice(&mut self, mut job: Box<FileJob>, mut reading: Reading) -> Result<()> {
        match reading.go_on(&self.cx.editor, &mut self.cx.buffers.texts)? {
            Some(snapshot) => {
                job.ours = snapshot;
                self.read(job)
            }
            None => later(&self.cx.editor.lua, PAUSE, move |app| {
                app.stage(job, |app, job| app.read_slice(job, reading))
            }),
        }
    }

    /// Reads a buffer's text for others, in slices. `None` when that can't be: the buffer is gone, or
    /// holds no UTF-8 text.
    pub fn with_text(
        &mut self,
        buf: Buf,
        then: impl FnOnce(&mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.go_on_reading(Reading::of(buf), buf, then)
    }

    /// The same for a text that is being typed: it is read when the user pauses.
    pub fn with_typed_text(
        &mut self,
        buf: Buf,
        then: impl FnOnce(&mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.go_on_reading(Reading::patiently(buf), buf, then)
    }

    fn go_on_reading(
        &mut self,
        mut reading: Reading,
        buf: Buf,
        then: impl FnOnce(&mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        if !self.cx.editor.buf_is_loaded(buf) {
            return then(self, None);
        }
        match reading.go_on(&self.cx.editor, &mut self.cx.buffers.texts) {
            Ok(Some(snapshot)) => then(self, Some(snapshot)),
            Ok(None) => later(&self.cx.editor.lua, PAUSE, move |app| app.go_on_reading(reading, buf, then)),
            Err(_) => then(self, None),
        }
    }

    /// Reads a buffer while the user waits.
    pub fn read_now(&mut self, buf: Buf) -> Result<Snapshot> {
        let mut reading = Reading::of(buf);
        loop {
            if let Some(snapshot) = reading.go_on(&self.cx.editor, &mut self.cx.buffers.texts)? {
                return Ok(snapshot);
            }
        }
    }

    fn read(&mut self, mut job: Box<FileJob>) -> Result<()> {
        let modified = is_modified(&self.cx.editor, job.buf);
        let format: String = self.cx.editor.buf_option(job.buf, "fileformat")?;
        if !modified && !job.begun {
            job.clean = Some(job.ours.text.clone());
        }
        // Unsaved edits that nobody has seen begin did so with what the disk holds now only if Neovim has read that.
        let behind = modified && self.cx.editor.helper("is_behind_now", job.buf)?;
        let Some(held) = self.cx.buffers.held(&job.path) else { return self.again(job) };
        if let OnDisk::Text { text, stamp, .. } = &job.disk {
            let is_stale = match modified {
                true => held.saved.as_ref().is_some_and(|saved| saved != text),
                false => !is_same(&as_lines(text, &format), &job.ours.text),
            };
            if !is_stale {
                if held.saved.is_some() || !behind {
                    held.stamp = Some(*stamp);
                }
                if modified && held.saved.is_none() && !behind {
                    held.saved = Some(text.clone());
                }
            } else if let Some(task) = job.task.checked() {
                // Somebody else wrote the file: that comes first. Where nobody knows since when, it is no
                // change of the agent's.
                let session = job.session().filter(|_| held.stamp.is_some());
                self.files.push_front(&job.path, task);
                self.files.push_front(&job.path, Task::Take { session, call: None });
                return self.end_task(&job);
            }
        }
        match &job.task {
            Task::Read { session, ask, line, limit, .. } => {
                let (session, ask) = (*session, *ask);
                let whole = as_file(&job.ours.text, &format);
                let text = match (line, limit) {
                    (None, None) => whole,
                    (line, limit) => line_range::lines(&whole, *line, *limit).into(),
                };
                // Of an agent that reads parts it is not known which of them are how old: what it saw
                // first is what is sure.
                if (line, limit) == (&None, &None) || self.files.seen(session, &job.path).is_none() {
                    self.files.see(&self.cx.buffers, session, &job.path, job.ours.text.clone());
                }
                self.send(Command::Answer { ask, answer: Answer::Text(text) })?;
                self.end_task(&job)
            }
            Task::Remember => self.end_task(&job),
            Task::Write { .. } | Task::Take { .. } => self.merge(job, modified, &format),
        }
    }

    /// Then, what are the two together?
    fn merge(&mut self, job: Box<FileJob>, modified: bool, format: &str) -> Result<()> {
        let sides = self.sides(&job, modified, format)?;
        let Some(sides) = sides else {
            // Only Neovim itself may change it.
            if modified {
                self.refuse_task(&job.path, &job.task, "its buffer is not 'modifiable' in Neovim")?;
            } else {
                self.cx.editor.take_from_disk(job.buf)?;
            }
            return self.end_task(&job);
        };
        let work = Work::Reconcile { path: job.path.clone(), sides: Box::new(sides) };
        let job = self.next_job(Job::File(job));
        self.send(Command::Compute { job, work })
    }

    /// What comes together. `None` for a buffer that cannot take a text from the disk.
    fn sides(&mut self, job: &FileJob, modified: bool, format: &str) -> Result<Option<Sides>> {
        let modifiable: bool = self.cx.editor.buf_option(job.buf, "modifiable").unwrap_or(true);
        let agent = job.session().and_then(|key| self.cx.sessions.get(&key)).map(|session| session.name());
        let names = ["mine".to_owned(), agent.unwrap_or_else(|| "agent".to_owned())];
        let ours = job.ours.text.clone();
        let (picks, rest) = (job.picks.clone(), job.rest);
        if let Some((half, whole)) = &job.half {
            let (base, theirs) = (Base::Text(half.clone()), whole.clone());
            return Ok(Some(Sides { base, ours, theirs, dos: false, picks, rest, names }));
        }
        let saved = self.cx.buffers.held(&job.path).and_then(|held| held.saved.clone());
        // What was clean when this began is what the user began with.
        let saved = saved.or_else(|| job.clean.clone()).map(Base::Text);
        let (base, theirs) = match &job.task {
            Task::Write { session, content, .. } => {
                if !modifiable {
                    return Err(mlua::Error::runtime("its buffer is not 'modifiable' in Neovim"));
                }
                if self.cx.editor.buf_option(job.buf, "readonly")? {
                    let why = "its buffer is 'readonly' in Neovim; the user can :set noreadonly";
                    return Err(mlua::Error::runtime(why));
                }
                let encoding: String = self.cx.editor.buf_option(job.buf, "fileencoding")?;
                if let Some(char) = foreign(content, &encoding) {
                    let why = format!("the file is in {encoding}, which has no {char:?}; write it without");
                    return Err(mlua::Error::runtime(why));
                }
                let disk = match modified {
                    true => saved.clone(),
                    false => Some(Base::Text(ours.clone())),
                };
                let newer = self.files.is_older_than_disk(&self.cx.buffers, *session, &job.path);
                let base = match (self.files.seen(*session, &job.path), disk) {
                    (Some(_), Some(disk)) if self.files.has_looked(&self.cx.buffers, *session, &job.path) => {
                        disk
                    }
                    (Some(seen), Some(Base::Text(disk))) if newer => Base::Either { seen, disk },
                    (Some(seen), _) => Base::Text(seen),
                    (None, _) if !modified => Base::Ours,
                    (None, _) => saved.unwrap_or(match job.disk {
                        OnDisk::Gone => Base::Text(Text::default()),
                        _ => Base::Unknown,
                    }),
                };
                (base, content.without_prefix('\u{feff}'))
            }
            _ if !modifiable => return Ok(None),
            _ => {
                let base = if modified { saved.unwrap_or(Base::Unknown) } else { Base::Ours };
                let OnDisk::Text { text, .. } = &job.disk else { return Ok(None) };
                (base, text.clone())
            }
        };
        let dos = format == "dos" || (job.task.is_take() && is_dos(&theirs));
        let theirs = if format == "mac" { as_lines(&theirs, format) } else { theirs };
        Ok(Some(Sides { base, ours, theirs, dos, picks, rest, names }))
    }

    pub fn reconciled(&mut self, mut job: Box<FileJob>, outcome: Reconciled) -> Result<()> {
        if job.waits < WAITS && self.cx.editor.helper("is_occupied", job.buf)? {
            // An open menu has no end that could be waited for in all versions.
            job.waits += 1;
            return later(&self.cx.editor.lua, WAIT, move |app| {
                app.stage(job, |app, job| app.reconciled(job, outcome))
            });
        }
        if self.cx.editor.changedtick(job.buf)? != job.ours.tick {
            job.tries += 1;
            if job.tries < TRIES {
                return self.read_on(job);
            }
        }
        let outcome = match self.cx.editor.changedtick(job.buf)? == job.ours.tick {
            true => outcome,
            false => match self.merge_now(&mut job)? {
                Some(outcome) => outcome,
                None => return self.end_task(&job),
            },
        };
        match outcome {
            Reconciled::Conflicts(clashes) => self.clashed(job, clashes),
            Reconciled::Edits { edits, text, is_theirs } => {
                let modified = is_modified(&self.cx.editor, job.buf);
                if !job.begun {
                    job.was_clean = !modified;
                    job.before = job.ours.text.clone();
                    job.lines_before = self.cx.editor.line_count(job.buf)?;
                }
                let saves = job.was_clean || self.cx.config.files.save == Save::Always;
                if (saves || job.task.is_take()) && self.is_stale(&job) {
                    // Written by somebody else just now; or, if it is to be taken, by the user.
                    job.tries += 1;
                    return if job.tries < TRIES { self.examine(job) } else { self.give_up(&job) };
                }
                let is_theirs = is_theirs && job.half.is_none();
                let landing = Landing { ranges: ranges(&edits), text, is_theirs };
                if job.task.is_take() && job.was_clean && !edits.is_empty() {
                    // Undone, the buffer is no longer what the disk holds: it is to count as modified then.
                    self.cx.editor.set_buf_option(job.buf, "modified", true)?;
                }
                let tick = self.cx.editor.changedtick(job.buf)?;
                let applying = Applying::new(job.buf, edits, &landing.text, tick);
                job.begun = true;
                self.files.set_editing(&job.path, true);
                self.apply_slice(job, applying, landing)
            }
        }
    }

    /// The user types faster than the background compares: now is the only time that fits.
    fn merge_now(&mut self, job: &mut FileJob) -> Result<Option<Reconciled>> {
        job.ours = self.read_now(job.buf)?;
        let modified = is_modified(&self.cx.editor, job.buf);
        let format: String = self.cx.editor.buf_option(job.buf, "fileformat")?;
        Ok(self.sides(job, modified, &format)?.map(|sides| sides.reconcile()))
    }

    /// Whether the file is another one than the one that was looked at.
    fn is_stale(&mut self, job: &FileJob) -> bool {
        let known = match &job.disk {
            OnDisk::Text { stamp, .. } => Some(*stamp),
            _ => self.cx.buffers.held(&job.path).and_then(|held| held.stamp),
        };
        match (job.now, &job.disk) {
            (now, OnDisk::Gone) => now.is_some(),
            (now, _) => known.is_some() && now.is_some() && now != known,
        }
    }

    fn give_up(&mut self, job: &FileJob) -> Result<()> {
        self.refuse_task(&job.path, &job.task, "the file keeps changing on the disk; read it again")?;
        self.end_task(job)
    }

    /// Last, the edits.
    fn apply_slice(&mut self, mut job: Box<FileJob>, mut applying: Applying, landing: Landing) -> Result<()> {
        match applying.go_on(&self.cx.editor)? {
            Progress::Done => self.landed(job, landing),
            Progress::More => later(&self.cx.editor.lua, PAUSE, move |app| {
                app.stage(job, |app, job| app.apply_slice(job, applying, landing))
            }),
            Progress::Overtaken => {
                // What the user did since the last slice is merged with what is left to do.
                job.half = Some((applying.so_far(&job.ours.text).into(), landing.text));
                (job.picks, job.rest) = (Vec::new(), None);
                job.tries += 1;
                job.was_clean = false;
                self.files.set_editing(&job.path, false);
                self.read_on(job)
            }
        }
    }
}

/// An empty file and one empty line look the same in a buffer.
fn is_same(disk: &str, ours: &str) -> bool {
    disk == ours || (body(disk).is_empty() && body(ours).is_empty())
}

/// Whether Neovim would read the file with 'fileformat' "dos".
pub fn is_dos(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
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
