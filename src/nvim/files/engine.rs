//! What is done with files that buffers hold, from start to end: an agent reads, an agent writes, the
//! file on the disk was written by somebody else. What comes next is decided by `core::changes::file_job`; here it
//! is done, and none of it waits: the disk is looked at and texts are merged in the background, the buffer is read
//! and edited in slices. What comes of it is in `after_apply`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mlua::Result;

use crate::config::Save;
use crate::core::changes::agent_views::Seen;
use crate::core::changes::file_job::{
    BufferFacts, BufferText, Do, Facts, FileJob, Input, Known as KnownFile, Owner,
};
use crate::core::changes::file_task::Task;
use crate::core::changes::reconcile::Sides;
use crate::core::changes::writers::Writers;
use crate::core::message::{Answer, Cause, Command, FileChange, HalfWritten, Outcome, Severity, Stamp, Work};
use crate::core::text::Text;
use crate::nvim::buffers::applying::{Applying, Progress};
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::reading::Reading;
use crate::nvim::buffers::saving::stamp_of;
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, first_line};
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;
use crate::nvim::files::job::Job;
use crate::nvim::files::whose::writers_of;

/// How long an edit is put off while the user is in the middle of a word or a key.
const WAIT: Duration = Duration::from_millis(50);

/// Between two slices keys are taken in.
const PAUSE: Duration = Duration::from_millis(1);

const CLOSED: &str = "its buffer was just closed; try again";

/// Since when a buffer has the text of its file.
#[derive(Clone, Copy, PartialEq)]
pub enum Known {
    /// It was saved just now. Whoever looks later may see what somebody else has written since, so this is where to look.
    Saved,
    /// It was read just now; the file may have changed since.
    Read,
    /// It was read before anybody took note: only whether there is a file can be told.
    Once,
}

impl Files {
    pub fn buffer_loaded(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        // `:saveas` leaves the old name to a buffer that holds nothing.
        if !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        let Some(path) = cx.buffers.loaded(&cx.editor, buf) else { return Ok(()) };
        if cx.has_background {
            cx.send(Command::FileLoaded { path: path.clone() });
            self.guard(cx, buf, &path)?;
            self.buffer_modified(cx, buf)?;
        }
        cx.raise(EditorEvent::FileLoaded { buf, path });
        Ok(())
    }

    /// The background has come up: it is told of the files that buffers hold already.
    pub fn tell_loaded(&mut self, cx: &mut Context) -> Result<()> {
        cx.editor.list_bufs()?.into_iter().try_for_each(|buf| self.buffer_loaded(cx, buf))
    }

    /// Has the background note the state of a buffer's file.
    pub fn file_known(&mut self, cx: &mut Context, buf: Buf, known: Known) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let tick = cx.editor.changedtick(buf)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = (now.as_secs().cast_signed(), i64::from(now.subsec_nanos()));
        let stamped = |read| Work::Stamp { path: path.clone(), read };
        let work = match known {
            Known::Saved => match self.own_saves.take(buf, tick).or_else(|| stamp_of(&path)) {
                Some(stamp) => Work::Saved { path: path.clone(), stamp },
                None => stamped((i64::MIN, 0)),
            },
            Known::Read => stamped(now),
            Known::Once => stamped((i64::MIN, 0)),
        };
        cx.compute(work, move |files: &mut Self, cx, outcome| {
            let Outcome::Stamped { is_there, stamp } = outcome else { return Ok(()) };
            if cx.editor.buf_is_loaded(buf)
                && cx.editor.changedtick(buf)? == tick
                && let Some(held) = cx.buffers.held(&path)
            {
                // What was found out meanwhile about a buffer that was read long ago is more than this look can tell.
                held.stamp = stamp.or(held.stamp.filter(|_| known == Known::Once));
            }
            if is_there { Ok(()) } else { files.without_file(cx, buf, &path) }
        });
        Ok(())
    }

    pub fn buffer_read(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        self.buffer_loaded(cx, buf)?;
        if cx.has_background && !is_modified(&cx.editor, buf) {
            self.file_known(cx, buf, Known::Read)?;
            self.decide_by_reading(cx, buf)?;
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
    pub fn file_changed_outside(
        &mut self,
        cx: &mut Context,
        path: &Path,
        kind: &FileChange,
        cause: Cause,
    ) -> Result<()> {
        let writers = match cause {
            // It may still turn out to be an agent's.
            Cause::Outside => self.guess_writers(cx, path),
            cause => match writers_of(cx, cause) {
                writers if writers.first().is_some_and(|writer| writer.call.is_some()) => writers,
                _ => self.guess_writers(cx, path),
            },
        };
        if let FileChange::Renamed(to) = kind
            && let Some(held) = cx.buffers.held(path)
        {
            held.moved = Some(to.clone());
        }
        self.file_touched(cx, writers, path)
    }

    /// The user has had a file put back on the disk, which is nobody else's change.
    pub fn replaced(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        self.file_touched(cx, Writers::known(Vec::new()), path)
    }

    /// Somebody may have written a file on the disk: a buffer that holds it takes what is there.
    pub fn file_touched(&mut self, cx: &mut Context, writers: Writers, path: &Path) -> Result<()> {
        let Some(buf) = cx.buf_of(path) else { return Ok(()) };
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.take(cx, path, writers, true)?;
        self.draw_conflict_again(cx, buf)
    }

    /// Has a buffer take what its file holds. `told` says that somebody who watches it has told of it.
    pub fn take(&mut self, cx: &mut Context, path: PathBuf, writers: Writers, told: bool) -> Result<()> {
        let about = self.session_about(cx, &path);
        self.file_task(cx, path, Task::Take { writers, about, told })
    }

    /// A buffer got its first unsaved edit, or was saved. What its edits began with is what the disk
    /// holds now.
    pub fn buffer_modified(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let modified = is_modified(&cx.editor, buf);
        let Some(held) = cx.buffers.held(&path) else { return Ok(()) };
        if !modified {
            (held.saved, held.left) = (None, None);
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
                self.refuse_task(cx, &path, &task, CLOSED);
                return Ok(());
            };
            let mut job = Job::new(path, buf, task);
            job.aside = true;
            return self.step(cx, Box::new(job), Input::Begun);
        }
        if self.queues.push(&path, task) { self.next_file_task(cx, &path) } else { Ok(()) }
    }

    fn next_file_task(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        while let Some(task) = self.queues.begin(path) {
            match cx.buf_of(path) {
                Some(buf) => {
                    let mut job = Job::new(path.to_owned(), buf, task);
                    if job.task().is_take() {
                        job.earlier = self.earlier.take(path);
                    }
                    return self.step(cx, Box::new(job), Input::Begun);
                }
                None => {
                    self.queues.ended(path);
                    self.refuse_task(cx, path, &task, CLOSED);
                }
            }
        }
        self.tell_taken(cx, path);
        match self.take_renamed(&cx.buffers, path) {
            Some(buf) => self.renamed(cx, buf),
            None => Ok(()),
        }
    }

    /// The task is over; the next one for the file may begin.
    pub fn end_task(&mut self, cx: &mut Context, job: &Job) -> Result<()> {
        if job.aside {
            return Ok(());
        }
        self.finish_task(cx, &job.path)
    }

    pub fn finish_task(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        self.queues.ended(path);
        self.next_file_task(cx, path)
    }

    /// Goes on with a task. When that fails, who waits for it is told why.
    fn run_step(
        &mut self,
        cx: &mut Context,
        job: Box<Job>,
        next: impl FnOnce(&mut Self, &mut Context, Box<Job>) -> Result<()>,
    ) -> Result<()> {
        if cx.buf_of(&job.path) != Some(job.buf) {
            return self.restart(cx, job);
        }
        let failed = Job {
            path: job.path.clone(),
            state: FileJob::new(job.task().clone()),
            decided: None,
            earlier: None,
            ..*job
        };
        match next(self, cx, job) {
            Ok(()) => Ok(()),
            Err(error) => self.fail(cx, &failed, &first_line(&error)),
        }
    }

    fn fail(&mut self, cx: &mut Context, job: &Job, why: &str) -> Result<()> {
        if !job.aside {
            self.queues.ended(&job.path);
        }
        self.refuse_task(cx, &job.path, job.task(), why);
        // Some of the edits may be in.
        cx.raise(EditorEvent::EditsFailed(job.buf));
        self.next_file_task(cx, &job.path)
    }

    /// The buffer is another one, or none any more.
    fn restart(&mut self, cx: &mut Context, job: Box<Job>) -> Result<()> {
        let Job { path, aside, state, .. } = *job;
        if !aside {
            self.queues.ended(&path);
            self.queues.push_front(&path, state.into_task());
            return self.next_file_task(cx, &path);
        }
        self.refuse_task(cx, &path, state.task(), CLOSED);
        Ok(())
    }

    /// Tells an agent that its request was not granted, and the user that a file on the disk was not taken.
    pub fn refuse_task(&self, cx: &mut Context, path: &Path, task: &Task, why: &str) {
        self.refuse_task_as(cx, path, task, (why, Answer::Refused));
    }

    /// The same with the answer that has the text for the agent.
    pub fn refuse_task_as(
        &self,
        cx: &mut Context,
        path: &Path,
        task: &Task,
        (why, answer): (&str, fn(String) -> Answer),
    ) {
        let (ask, verb) = match task {
            Task::Read { ask, .. } => (*ask, "read"),
            Task::Write { ask, .. } => (*ask, "write"),
            Task::Take { .. } => {
                let text = format!("couldn't take {} from the disk: {why}", cx.short_name(None, path));
                cx.note(task.session(), Severity::Warning, text);
                return;
            }
            Task::Remember => return,
        };
        let text = format!("couldn't {verb} {}: {why}", cx.short_name(None, path));
        cx.send(Command::Answer { ask, answer: answer(text) });
    }

    // The steps.

    /// Takes a step of a task, and does what comes of it.
    pub fn step(&mut self, cx: &mut Context, job: Box<Job>, input: Input) -> Result<()> {
        self.run_step(cx, job, move |files, cx, mut job| {
            let facts = files.facts(cx, &job, &input)?;
            for each in job.state.step(input, &facts) {
                match files.carry_out(cx, job, each)? {
                    Some(same) => job = same,
                    None => return Ok(()),
                }
            }
            files.end_task(cx, &job)
        })
    }

    /// What the core has to know for a step.
    fn facts(&self, cx: &mut Context, job: &Job, input: &Input) -> Result<Facts> {
        let (editor, buf, path) = (cx.editor.clone(), job.buf, &job.path);
        let lines = editor.line_count(buf)?;
        let buffer = BufferFacts {
            tick: editor.changedtick(buf)?,
            modified: is_modified(&editor, buf),
            is_plain: editor.buf_option::<String>(buf, "buftype")?.is_empty(),
            fileformat: editor.buf_option(buf, "fileformat")?,
            fileencoding: editor.buf_option(buf, "fileencoding")?,
            modifiable: editor.buf_option(buf, "modifiable").unwrap_or(true),
            readonly: editor.buf_option(buf, "readonly")?,
            lines,
            is_blank: lines == 1 && editor.line_len(buf, 0)? == 0,
            is_occupied: match input {
                Input::Merged { .. } => editor.helper("is_occupied", buf)?,
                _ => false,
            },
        };
        let session = job.session();
        let owner = match job.task() {
            Task::Remember if self.is_of_a_session(cx, path) => Owner::Session(self.session_about(cx, path)),
            _ => Owner::Nobody,
        };
        let known = cx.buffers.held(path);
        Ok(Facts {
            buffer,
            left: known.as_ref().and_then(|held| held.left.clone()),
            known: known.map(|held| KnownFile { stamp: held.stamp, saved: held.saved.clone() }),
            agent: session.and_then(|key| cx.sessions.get(&key)).map(|session| session.name()),
            seen: session.and_then(|key| self.views.seen(key, path)).cloned(),
            look: session.and_then(|key| self.views.look_of(key, path)),
            owner,
            writers: self.guess_writers(cx, path),
            saves_always: cx.config.files.save == Save::Always,
        })
    }

    /// Does one thing. Gives the job back if there may be more to do at once.
    fn carry_out(&mut self, cx: &mut Context, job: Box<Job>, what: Do) -> Result<Option<Box<Job>>> {
        let buf = job.buf;
        match what {
            Do::Touch => self.watching.touch(buf),
            Do::Watch => {
                if let Some(session) = self.any_session_of(cx, &job.path) {
                    cx.send(Command::Watch { session, path: job.path.clone() });
                }
            }
            Do::Know(known) => {
                if let Some(held) = cx.buffers.held(&job.path) {
                    (held.stamp, held.saved) = (known.stamp, known.saved);
                }
            }
            Do::See(text) => self.see(cx, &job, text),
            Do::Answer(text) => {
                if let Task::Read { ask, .. } = job.task() {
                    cx.send(Command::Answer { ask: *ask, answer: Answer::Text(text) });
                }
            }
            Do::MarkModified => cx.editor.set_buf_option(buf, "modified", true)?,
            Do::TakeFromDisk => cx.editor.take_from_disk(buf)?,
            Do::CatchUp => {
                self.watching.has_settled(&job.path);
                if cx.editor.helper("is_behind", buf)? {
                    let known = cx.buffers.stamp_of(&job.path);
                    self.acknowledge(cx, buf, &job.path, known)?;
                }
            }
            Do::Acknowledge { stamp, only_if_behind } => {
                if !only_if_behind || cx.editor.helper("is_behind", buf)? {
                    if let Some(held) = cx.buffers.held(&job.path) {
                        held.stamp = Some(stamp);
                    }
                    self.acknowledge(cx, buf, &job.path, Some(stamp))?;
                }
            }
            Do::NotWhole => {
                self.on_disk.is_not_whole(&job.path);
                self.earlier.keep(&job.path, job.earlier);
            }
            Do::FileGone { was_there } => self.file_gone(cx, &job, was_there)?,
            Do::Refuse(why) => self.refuse_task(cx, &job.path, job.task(), &why),
            Do::PutFirst(task) => self.queues.push_front(&job.path, task),
            // The rest goes on later, or with another step.
            Do::Examine { known, half } => return self.examine(cx, job, known, half).map(|()| None),
            Do::Compare => {
                let is_behind = cx.editor.helper("is_behind_now", buf)?;
                return self.step(cx, job, Input::Compared { is_behind }).map(|()| None);
            }
            Do::Read => return self.read_slice(cx, job, Reading::of(buf)).map(|()| None),
            Do::ReadNow => {
                let Snapshot { tick, text } = cx.read_now(buf)?;
                return self.step(cx, job, Input::Read(BufferText { tick, text })).map(|()| None);
            }
            Do::Merge(sides) => {
                merge(cx, job, sides);
                return Ok(None);
            }
            Do::Wait { outcome, now } => {
                let again = Input::Merged { outcome, now };
                return cx.later(WAIT, |files: &mut Self, cx| files.step(cx, job, again)).map(|()| None);
            }
            Do::Edit { edits, ours, text } => {
                let applying = Applying::new(buf, edits, &text, cx.editor.changedtick(buf)?);
                self.queues.set_editing(&job.path, true);
                return self.apply_slice(cx, job, applying, ours).map(|()| None);
            }
            Do::Land(landing) => return self.landed(cx, &job, landing).map(|()| None),
            Do::Conflict(hunks) => return self.on_conflict(cx, job, hunks).map(|()| None),
            Do::Fail(why) => return self.fail(cx, &job, &why).map(|()| None),
            Do::Restart => return self.restart(cx, job).map(|()| None),
            Do::End => return self.end_task(cx, &job).map(|()| None),
        }
        Ok(Some(job))
    }

    /// The job's agent has seen this text of the file, as the buffer knows the disk now.
    pub fn see(&mut self, cx: &Context, job: &Job, text: Text) {
        if let Some(session) = job.session() {
            let stamp = cx.buffers.stamp_of(&job.path);
            self.views.see(session, &job.path, Seen { text, stamp });
        }
    }

    fn examine(
        &mut self,
        cx: &mut Context,
        job: Box<Job>,
        known: Option<Stamp>,
        half: HalfWritten,
    ) -> Result<()> {
        let encoding = cx.editor.buf_option(job.buf, "fileencoding")?;
        let work = Work::Examine { path: job.path.clone(), encoding, known, half };
        cx.compute(work, move |files: &mut Self, cx, outcome| match outcome {
            Outcome::Examined(disk) => files.step(cx, job, Input::Examined(disk)),
            _ => Ok(()),
        });
        Ok(())
    }

    fn read_slice(&mut self, cx: &mut Context, job: Box<Job>, mut reading: Reading) -> Result<()> {
        match reading.go_on(&cx.editor, &mut cx.buffers.texts)? {
            Some(Snapshot { tick, text }) => self.step(cx, job, Input::Read(BufferText { tick, text })),
            None => cx.later(PAUSE, move |files: &mut Self, cx| {
                files.run_step(cx, job, |files, cx, job| files.read_slice(cx, job, reading))
            }),
        }
    }

    /// `ours` is what the buffer held before the first of these edits.
    fn apply_slice(
        &mut self,
        cx: &mut Context,
        job: Box<Job>,
        mut applying: Applying,
        ours: Text,
    ) -> Result<()> {
        match applying.go_on(&cx.editor)? {
            Progress::Done => self.step(cx, job, Input::Edited),
            Progress::More => cx.later(PAUSE, move |files: &mut Self, cx| {
                files.run_step(cx, job, |files, cx, job| files.apply_slice(cx, job, applying, ours))
            }),
            Progress::Overtaken => {
                self.queues.set_editing(&job.path, false);
                self.step(cx, job, Input::Overtaken { so_far: applying.so_far(&ours).into() })
            }
        }
    }
}

/// Has the texts merged in the background.
fn merge(cx: &mut Context, job: Box<Job>, sides: Box<Sides>) {
    let work = Work::Reconcile { path: job.path.clone(), sides };
    cx.compute(work, move |files: &mut Files, cx, outcome| match outcome {
        Outcome::Reconciled(outcome, now) => files.step(cx, job, Input::Merged { outcome: *outcome, now }),
        _ => Ok(()),
    });
}
