//! What is done with files that buffers hold, from start to end: an agent reads, an agent writes, the
//! file on the disk was written by somebody else. Each goes through the same stages, none of which waits:
//! the disk is looked at and texts are merged in the background, the buffer is read and edited in slices.
//! When the user types in between, the stages begin again. What comes of it is in `after_apply`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mlua::Result;

use crate::config::Save;
use crate::core::changes::reconcile::{Base, Reconciled, Sides, body};
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Answer, Command, FileChange, HalfWritten, OnDisk, Outcome, Severity, Work};
use crate::core::text::Text;
use crate::core::text::encoding::foreign;
use crate::core::text::line_range;
use crate::nvim::buffers::applying::{Applying, Progress};
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::reading::{Reading, as_file, as_lines};
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::editor::first_line;
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;
use crate::nvim::files::job::{FileJob, Landing, Task};

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

impl Files {
    pub fn buffer_loaded(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.loaded(&cx.editor, buf) else { return Ok(()) };
        if cx.has_background {
            cx.send(Command::FileLoaded { path: path.clone() });
            self.guard(cx, buf, &path)?;
            self.buffer_modified(cx, buf)?;
        }
        cx.raise(EditorEvent::FileLoaded { buf, path });
        Ok(())
    }

    /// Has the background note the state of a buffer's file.
    pub fn file_known(&mut self, cx: &mut Context, buf: Buf, known: Known) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let tick = cx.editor.changedtick(buf)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (now.as_secs().cast_signed(), i64::from(now.subsec_nanos()));
        let read = match known {
            Known::Saved => None,
            Known::Read => Some(now),
            Known::Once => Some((i64::MIN, 0)),
        };
        let work = Work::Stamp { path: path.clone(), read };
        cx.compute(work, move |files: &mut Self, cx, outcome| {
            let Outcome::Stamped { is_there, stamp } = outcome else { return Ok(()) };
            if cx.editor.buf_is_loaded(buf)
                && cx.editor.changedtick(buf)? == tick
                && let Some(held) = cx.buffers.held(&path)
            {
                held.stamp = stamp;
            }
            if is_there { Ok(()) } else { files.without_file(cx, buf, &path) }
        });
        Ok(())
    }

    pub fn buffer_read(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        self.buffer_loaded(cx, buf)?;
        if cx.has_background && !is_modified(&cx.editor, buf) {
            self.file_known(cx, buf, Known::Read)?;
        }
        Ok(())
    }

    pub fn buffer_unloaded(&mut self, cx: &mut Context, buf: Buf) {
        cx.raise(EditorEvent::BufferUnloaded(buf));
        self.watching.unloaded(buf);
        cx.buffers.texts.forget(buf);
        if let Some(path) = cx.buffers.unloaded(buf)
            && cx.has_background
        {
            cx.send(Command::FileUnloaded { path });
        }
    }

    /// The content of a file that a session has to do with is another one on the disk.
    pub fn file_changed_outside(&mut self, cx: &mut Context, path: &Path, kind: &FileChange) -> Result<()> {
        let session = self.session_about(cx, path);
        if let FileChange::Renamed(to) = kind
            && let Some(held) = cx.buffers.held(path)
        {
            held.moved = Some(to.clone());
        }
        self.file_touched(cx, session, None, path)
    }

    /// A session's agent may have written a file itself: a buffer that holds it takes what is on the disk.
    pub fn file_touched(
        &mut self,
        cx: &mut Context,
        session: Option<SessionKey>,
        call: Option<EntryId>,
        path: &Path,
    ) -> Result<()> {
        let Some(buf) = cx.buf_of(path) else { return Ok(()) };
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.file_task(cx, path, Task::Take { session, call })
    }

    /// The session whose agent may have written a file.
    pub fn session_about(&self, cx: &Context, path: &Path) -> Option<SessionKey> {
        let mut sessions = self.watching.sessions_of(path);
        sessions.extend(self.readers_of(path));
        // The one at work is the most likely to have done it.
        let works = |key: &SessionKey| cx.sessions.get(key).is_some_and(|session| session.is_working());
        sessions.iter().copied().find(works).or(sessions.first().copied())
    }

    /// A buffer got its first unsaved edit, or was saved. What its edits began with is what the disk
    /// holds now.
    pub fn buffer_modified(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let modified = is_modified(&cx.editor, buf);
        let Some(held) = cx.buffers.held(&path) else { return Ok(()) };
        if !modified {
            held.saved = None;
        } else if held.saved.is_none() && cx.has_background {
            return self.file_task(cx, path, Task::Remember);
        }
        Ok(())
    }

    /// Has something done with a file that a buffer holds, after all that is to be done with it already.
    pub fn file_task(&mut self, cx: &mut Context, path: PathBuf, task: Task) -> Result<()> {
        if !matches!(task, Task::Remember)
            && let Some(buf) = cx.buf_of(&path)
        {
            cx.editor.helper::<()>("guard", buf)?;
        }
        if cx.conflicts.about(&path) && matches!(task, Task::Read { .. }) {
            // The user may take minutes to decide; the file can be read as it is.
            let Some(buf) = cx.buf_of(&path) else {
                return self.refuse_task(cx, &path, &task, "its buffer was just closed; try again");
            };
            let mut job = FileJob::new(path, buf, task);
            job.aside = true;
            return self.stage(cx, Box::new(job), Self::examine);
        }
        if self.push(&path, task) { self.next_file_task(cx, &path) } else { Ok(()) }
    }

    fn next_file_task(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        while let Some(task) = self.begin(path) {
            match cx.buf_of(path) {
                Some(buf) => {
                    let job = FileJob::new(path.to_owned(), buf, task);
                    return self.stage(cx, Box::new(job), Self::examine);
                }
                None => {
                    self.ended(path);
                    self.refuse_task(cx, path, &task, "its buffer was just closed; try again")?;
                }
            }
        }
        match self.take_renamed(&cx.buffers, path) {
            Some(buf) => self.renamed(cx, buf),
            None => Ok(()),
        }
    }

    /// The task is over; the next one for the file may begin.
    pub fn end_task(&mut self, cx: &mut Context, job: &FileJob) -> Result<()> {
        if job.aside {
            return Ok(());
        }
        self.finish_task(cx, &job.path)
    }

    pub fn finish_task(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        self.ended(path);
        self.next_file_task(cx, path)
    }

    /// Goes on with a task. When that fails, who waits for it is told why.
    pub fn stage(
        &mut self,
        cx: &mut Context,
        job: Box<FileJob>,
        next: impl FnOnce(&mut Self, &mut Context, Box<FileJob>) -> Result<()>,
    ) -> Result<()> {
        let (path, buf, task, aside) = (job.path.clone(), job.buf, job.task.clone(), job.aside);
        if cx.buf_of(&path) != Some(job.buf) {
            return self.again(cx, job);
        }
        match next(self, cx, job) {
            Ok(()) => Ok(()),
            Err(error) => {
                if !aside {
                    self.ended(&path);
                }
                self.refuse_task(cx, &path, &task, &first_line(&error))?;
                // Some of the edits may be in.
                cx.raise(EditorEvent::EditsFailed(buf));
                self.next_file_task(cx, &path)
            }
        }
    }

    /// The buffer is another one, or none any more.
    fn again(&mut self, cx: &mut Context, job: Box<FileJob>) -> Result<()> {
        let FileJob { path, task, aside, .. } = *job;
        if !aside {
            self.ended(&path);
            self.push_front(&path, task);
            return self.next_file_task(cx, &path);
        }
        self.refuse_task(cx, &path, &task, "its buffer was just closed; try again")
    }

    /// Tells an agent that its wish was not granted, and the user that a file on the disk was not taken.
    pub fn refuse_task(&mut self, cx: &mut Context, path: &Path, task: &Task, why: &str) -> Result<()> {
        let (ask, verb) = match task {
            Task::Read { ask, .. } => (*ask, "read"),
            Task::Write { ask, .. } => (*ask, "write"),
            Task::Take { session, .. } => {
                let text = format!("couldn't take {} from the disk: {why}", cx.short_name(None, path));
                cx.note(*session, Severity::Warning, text);
                return Ok(());
            }
            Task::Remember => return Ok(()),
        };
        let text = format!("couldn't {verb} {}: {why}", cx.short_name(None, path));
        cx.send(Command::Answer { ask, answer: Answer::Refused(text) });
        Ok(())
    }

    // The stages.

    /// First, what is on the disk?
    pub fn examine(&mut self, cx: &mut Context, job: Box<FileJob>) -> Result<()> {
        let modified = is_modified(&cx.editor, job.buf);
        let kind: String = cx.editor.buf_option(job.buf, "buftype")?;
        let known = cx.buffers.held(&job.path).and_then(|held| held.stamp);
        let known = match &job.task {
            // The live text is what is asked for.
            Task::Read { .. } if modified || !kind.is_empty() => return self.read_on(cx, job),
            Task::Write { .. } if !kind.is_empty() => return self.read_on(cx, job),
            Task::Remember if !modified => return self.end_task(cx, &job),
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
        let encoding = cx.editor.buf_option(job.buf, "fileencoding")?;
        let work = Work::Examine { path: job.path.clone(), encoding, known, half };
        cx.compute(work, move |files: &mut Self, cx, outcome| match outcome {
            Outcome::Examined(disk) => files.stage(cx, job, |files, cx, job| files.examined(cx, job, disk)),
            _ => Ok(()),
        });
        Ok(())
    }

    pub fn examined(&mut self, cx: &mut Context, mut job: Box<FileJob>, disk: OnDisk) -> Result<()> {
        job.disk = disk;
        let modified = is_modified(&cx.editor, job.buf);
        let buf = job.buf;
        // It was another one for Neovim already when the buffer was read, or is by now.
        let behind =
            matches!(job.task, Task::Remember) && modified && cx.editor.helper("is_behind_now", buf)?;
        let Some(held) = cx.buffers.held(&job.path) else { return self.again(cx, job) };
        match (&job.task, &job.disk) {
            // It is told when there is a whole text.
            (_, OnDisk::HalfWritten) => self.end_task(cx, &job),
            (Task::Remember, OnDisk::Text { stamp, .. })
                if modified && (behind || held.stamp.is_some_and(|known| known != *stamp)) =>
            {
                // It was written before anybody looked: what the edits began with is not known any more.
                held.saved = None;
                if !self.is_of_a_session(cx, &job.path) {
                    return self.end_task(cx, &job);
                }
                job.task = Task::Take { session: self.session_about(cx, &job.path), call: None };
                self.read_on(cx, job)
            }
            (Task::Remember, OnDisk::Text { text, stamp, .. }) => {
                if held.saved.is_none() && modified {
                    held.saved = Some(text.clone());
                    held.stamp = Some(*stamp);
                }
                self.end_task(cx, &job)
            }
            (Task::Take { .. }, OnDisk::Text { .. })
                if !modified && cx.editor.line_count(buf)? == 1 && cx.editor.line_len(buf, 0)? == 0 =>
            {
                // It may be new to Neovim, which asks about such a file unless it reads it.
                cx.editor.take_from_disk(buf)?;
                self.end_task(cx, &job)
            }
            (Task::Take { .. }, OnDisk::Same) => {
                if cx.editor.helper("is_behind", buf)? {
                    // Neovim compares with what it has read itself, and that may be older.
                    cx.editor.helper::<()>("acknowledge", buf)?;
                }
                self.end_task(cx, &job)
            }
            (Task::Remember, _) => self.end_task(cx, &job),
            (Task::Take { .. }, OnDisk::Gone) => self.file_gone(cx, job),
            (Task::Take { .. }, OnDisk::Unreadable(why)) if modified => {
                let why = why.clone();
                self.refuse_task(cx, &job.path, &job.task, &why)?;
                self.end_task(cx, &job)
            }
            (Task::Take { .. }, OnDisk::Unreadable(_)) => {
                // Neovim may know the encoding.
                cx.editor.take_from_disk(buf)?;
                self.end_task(cx, &job)
            }
            (Task::Take { .. }, OnDisk::Text { text, stamp, .. })
                if modified && held.saved.as_ref() == Some(text) =>
            {
                if held.stamp != Some(*stamp) || cx.editor.helper("is_behind", buf)? {
                    held.stamp = Some(*stamp);
                    self.acknowledge(cx, buf, &job.path, *stamp)?;
                }
                self.end_task(cx, &job)
            }
            _ => self.read_on(cx, job),
        }
    }

    /// Then, what is in the buffer?
    pub fn read_on(&mut self, cx: &mut Context, job: Box<FileJob>) -> Result<()> {
        let reading = Reading::of(job.buf);
        self.read_slice(cx, job, reading)
    }

    fn read_slice(&mut self, cx: &mut Context, mut job: Box<FileJob>, mut reading: Reading) -> Result<()> {
        match reading.go_on(&cx.editor, &mut cx.buffers.texts)? {
            Some(snapshot) => {
                job.ours = snapshot;
                self.read(cx, job)
            }
            None => cx.later(PAUSE, move |files: &mut Files, cx| {
                files.stage(cx, job, |files, cx, job| files.read_slice(cx, job, reading))
            }),
        }
    }

    fn read(&mut self, cx: &mut Context, mut job: Box<FileJob>) -> Result<()> {
        let modified = is_modified(&cx.editor, job.buf);
        let format: String = cx.editor.buf_option(job.buf, "fileformat")?;
        if !modified && !job.begun {
            job.clean = Some(job.ours.text.clone());
        }
        // Unsaved edits that nobody has seen begin did so with what the disk holds now only if Neovim has read that.
        let behind = modified && cx.editor.helper("is_behind_now", job.buf)?;
        let Some(held) = cx.buffers.held(&job.path) else { return self.again(cx, job) };
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
                self.push_front(&job.path, task);
                self.push_front(&job.path, Task::Take { session, call: None });
                return self.end_task(cx, &job);
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
                if (line, limit) == (&None, &None) || self.seen(session, &job.path).is_none() {
                    self.see(&cx.buffers, session, &job.path, job.ours.text.clone());
                }
                cx.send(Command::Answer { ask, answer: Answer::Text(text) });
                self.end_task(cx, &job)
            }
            Task::Remember => self.end_task(cx, &job),
            Task::Write { .. } | Task::Take { .. } => self.merge(cx, job, modified, &format),
        }
    }

    /// Then, what are the two together?
    fn merge(&mut self, cx: &mut Context, job: Box<FileJob>, modified: bool, format: &str) -> Result<()> {
        let sides = self.sides(cx, &job, modified, format)?;
        let Some(sides) = sides else {
            // Only Neovim itself may change it.
            if modified {
                self.refuse_task(cx, &job.path, &job.task, "its buffer is not 'modifiable' in Neovim")?;
            } else {
                cx.editor.take_from_disk(job.buf)?;
            }
            return self.end_task(cx, &job);
        };
        let work = Work::Reconcile { path: job.path.clone(), sides: Box::new(sides) };
        cx.compute(work, move |files: &mut Self, cx, outcome| match outcome {
            Outcome::Reconciled(outcome, now) => files.stage(cx, job, move |files, cx, mut job| {
                job.now = now;
                files.reconciled(cx, job, *outcome)
            }),
            _ => Ok(()),
        });
        Ok(())
    }

    /// What comes together. `None` for a buffer that cannot take a text from the disk.
    fn sides(
        &mut self,
        cx: &mut Context,
        job: &FileJob,
        modified: bool,
        format: &str,
    ) -> Result<Option<Sides>> {
        let modifiable: bool = cx.editor.buf_option(job.buf, "modifiable").unwrap_or(true);
        let agent = job.session().and_then(|key| cx.sessions.get(&key)).map(|session| session.name());
        let names = ["mine".to_owned(), agent.unwrap_or_else(|| "agent".to_owned())];
        let ours = job.ours.text.clone();
        let (picks, rest) = (job.picks.clone(), job.rest);
        if let Some((half, whole)) = &job.half {
            let (base, theirs) = (Base::Text(half.clone()), whole.clone());
            return Ok(Some(Sides { base, ours, theirs, dos: false, picks, rest, names }));
        }
        let saved = cx.buffers.held(&job.path).and_then(|held| held.saved.clone());
        // What was clean when this began is what the user began with.
        let saved = saved.or_else(|| job.clean.clone()).map(Base::Text);
        let (base, theirs) = match &job.task {
            Task::Write { session, content, .. } => {
                if !modifiable {
                    return Err(mlua::Error::runtime("its buffer is not 'modifiable' in Neovim"));
                }
                if cx.editor.buf_option(job.buf, "readonly")? {
                    let why = "its buffer is 'readonly' in Neovim; the user can :set noreadonly";
                    return Err(mlua::Error::runtime(why));
                }
                let encoding: String = cx.editor.buf_option(job.buf, "fileencoding")?;
                if let Some(char) = foreign(content, &encoding) {
                    let why = format!("the file is in {encoding}, which has no {char:?}; write it without");
                    return Err(mlua::Error::runtime(why));
                }
                let disk = match modified {
                    true => saved.clone(),
                    false => Some(Base::Text(ours.clone())),
                };
                let newer = self.is_older_than_disk(&cx.buffers, *session, &job.path);
                let base = match (self.seen(*session, &job.path), disk) {
                    (Some(_), Some(disk)) if self.has_looked(&cx.buffers, *session, &job.path) => disk,
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

    pub fn reconciled(&mut self, cx: &mut Context, mut job: Box<FileJob>, outcome: Reconciled) -> Result<()> {
        if job.waits < WAITS && cx.editor.helper("is_occupied", job.buf)? {
            // An open menu has no end that could be waited for in all versions.
            job.waits += 1;
            return cx.later(WAIT, move |files: &mut Files, cx| {
                files.stage(cx, job, |files, cx, job| files.reconciled(cx, job, outcome))
            });
        }
        if cx.editor.changedtick(job.buf)? != job.ours.tick {
            job.tries += 1;
            if job.tries < TRIES {
                return self.read_on(cx, job);
            }
        }
        let outcome = match cx.editor.changedtick(job.buf)? == job.ours.tick {
            true => outcome,
            false => match self.merge_now(cx, &mut job)? {
                Some(outcome) => outcome,
                None => return self.end_task(cx, &job),
            },
        };
        match outcome {
            Reconciled::Conflicts(clashes) => self.clashed(cx, job, clashes),
            Reconciled::Edits { edits, text, is_theirs } => {
                let modified = is_modified(&cx.editor, job.buf);
                if !job.begun {
                    job.was_clean = !modified;
                    job.before = job.ours.text.clone();
                    job.lines_before = cx.editor.line_count(job.buf)?;
                }
                let saves = job.was_clean || cx.config.files.save == Save::Always;
                if (saves || job.task.is_take()) && self.is_stale(cx, &job) {
                    // Written by somebody else just now; or, if it is to be taken, by the user.
                    job.tries += 1;
                    return if job.tries < TRIES { self.examine(cx, job) } else { self.give_up(cx, &job) };
                }
                let is_theirs = is_theirs && job.half.is_none();
                let landing = Landing { ranges: ranges(&edits), text, is_theirs };
                if job.task.is_take() && job.was_clean && !edits.is_empty() {
                    // Undone, the buffer is no longer what the disk holds: it is to count as modified then.
                    cx.editor.set_buf_option(job.buf, "modified", true)?;
                }
                let tick = cx.editor.changedtick(job.buf)?;
                let applying = Applying::new(job.buf, edits, &landing.text, tick);
                job.begun = true;
                self.set_editing(&job.path, true);
                self.apply_slice(cx, job, applying, landing)
            }
        }
    }

    /// The user types faster than the background compares: now is the only time that fits.
    fn merge_now(&mut self, cx: &mut Context, job: &mut FileJob) -> Result<Option<Reconciled>> {
        job.ours = cx.read_now(job.buf)?;
        let modified = is_modified(&cx.editor, job.buf);
        let format: String = cx.editor.buf_option(job.buf, "fileformat")?;
        Ok(self.sides(cx, job, modified, &format)?.map(|sides| sides.reconcile()))
    }

    /// Whether the file is another one than the one that was looked at.
    fn is_stale(&mut self, cx: &mut Context, job: &FileJob) -> bool {
        let known = match &job.disk {
            OnDisk::Text { stamp, .. } => Some(*stamp),
            _ => cx.buffers.held(&job.path).and_then(|held| held.stamp),
        };
        match (job.now, &job.disk) {
            (now, OnDisk::Gone) => now.is_some(),
            (now, _) => known.is_some() && now.is_some() && now != known,
        }
    }

    fn give_up(&mut self, cx: &mut Context, job: &FileJob) -> Result<()> {
        self.refuse_task(cx, &job.path, &job.task, "the file keeps changing on the disk; read it again")?;
        self.end_task(cx, job)
    }

    /// Last, the edits.
    fn apply_slice(
        &mut self,
        cx: &mut Context,
        mut job: Box<FileJob>,
        mut applying: Applying,
        landing: Landing,
    ) -> Result<()> {
        match applying.go_on(&cx.editor)? {
            Progress::Done => self.landed(cx, job, landing),
            Progress::More => cx.later(PAUSE, move |files: &mut Files, cx| {
                files.stage(cx, job, |files, cx, job| files.apply_slice(cx, job, applying, landing))
            }),
            Progress::Overtaken => {
                // What the user did since the last slice is merged with what is left to do.
                job.half = Some((applying.so_far(&job.ours.text).into(), landing.text));
                (job.picks, job.rest) = (Vec::new(), None);
                job.tries += 1;
                job.was_clean = false;
                self.set_editing(&job.path, false);
                self.read_on(cx, job)
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
