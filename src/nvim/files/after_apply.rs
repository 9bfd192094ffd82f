//! What comes of a text that has landed in a buffer: it is saved or left unsaved, Neovim is told that it
//! knows the file, agents get their answers and the user a line in the chat.

use std::path::Path;

use mlua::Result;

use crate::config::Save;
use crate::core::changes::file_job::{Landing, Start};
use crate::core::changes::file_task::Task;
use crate::core::changes::reconcile::body;
use crate::core::changes::told::News;
use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Answer, Command, OnDisk, Severity, Stamp, ToolKind, Work};
use crate::core::session::tool_call::{ConflictOutcome, ToolCall};
use crate::core::session::written::Write;
use crate::core::session::written_files::{FileChangeKind, Road};
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::core::text::capitalized;
use crate::core::text::file_format::{as_lines, is_dos};
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::as_held;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::reading::Reading;
use crate::nvim::buffers::saving::{save, stamp_of};
use crate::nvim::buffers::texts::{Snapshot, Texts};
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::files::Files;
use crate::nvim::files::engine::Known;
use crate::nvim::files::job::Job;
use crate::nvim::files::whose::call_about;

impl Files {
    pub fn landed(&mut self, cx: &mut Context, job: &Job, landing: Landing) -> Result<()> {
        let tick = cx.editor.changedtick(job.buf)?;
        self.set_end_of_file(cx, job.buf, &landing.text)?;
        self.keep_landed(cx, job.buf, tick, &landing.text)?;
        match job.task() {
            Task::Write { .. } => self.landed_write(cx, job, landing)?,
            Task::Take { .. } => self.landed_take(cx, job, landing)?,
            Task::Read { .. } | Task::Remember => {}
        }
        cx.raise(EditorEvent::FileTaskEnded(job.path.clone()));
        Ok(())
    }

    fn set_end_of_file(&self, cx: &Context, buf: Buf, text: &str) -> Result<()> {
        let ended = text.ends_with('\n') || text.is_empty();
        if cx.editor.buf_option::<bool>(buf, "endofline")? != ended {
            cx.editor.set_buf_option(buf, "endofline", ended)?;
        }
        if !ended && cx.editor.buf_option::<bool>(buf, "fixendofline")? {
            // Saving would add the line break that the text does not have.
            cx.editor.set_buf_option(buf, "fixendofline", false)?;
        }
        Ok(())
    }

    /// What was put into a buffer need not be read out of it again.
    fn keep_landed(&mut self, cx: &mut Context, buf: Buf, tick: u64, text: &Text) -> Result<()> {
        // An empty text and one empty line look the same in a buffer.
        if body(text).is_empty() {
            return Ok(());
        }
        let snapshot = Snapshot { tick, text: text.clone() };
        cx.buffers.texts.keep(buf, text.ends_with('\n'), &snapshot);
        debug_assert!({
            let read = Reading::of(buf).go_on(&cx.editor, &mut Texts::default())?;
            read.is_none_or(|read| read.text == snapshot.text)
        });
        Ok(())
    }

    fn landed_write(&mut self, cx: &mut Context, job: &Job, landing: Landing) -> Result<()> {
        let Task::Write { session, ask, content, .. } = job.task() else { return Ok(()) };
        let (key, ask) = (*session, *ask);
        let format: String = cx.editor.buf_option(job.buf, "fileformat")?;
        let kind: String = cx.editor.buf_option(job.buf, "buftype")?;
        let Landing { text: mut after, is_theirs, ranges, start, disk } = landing;
        let mut failed = None;
        let saves = start.was_clean || cx.config.files.save == Save::Always;
        if saves {
            let formats = cx.config.files.format_on_save || !kind.is_empty();
            let tick = cx.editor.changedtick(job.buf)?;
            match save(&cx.editor, job.buf, formats) {
                Ok(()) => {
                    let stamp = stamp_of(&job.path);
                    self.own_saves.note(job.buf, cx.editor.changedtick(job.buf)?, stamp);
                    if let Some(held) = cx.buffers.held(&job.path) {
                        (held.stamp, held.saved) = (stamp, None);
                    }
                }
                Err(why) => failed = Some(why),
            }
            if formats && cx.editor.changedtick(job.buf)? != tick {
                after = cx.read_now(job.buf)?.text;
            }
        }
        // The agent does not know what the user added, so it has seen what it wrote, and no more. What a
        // formatter made of it is what it will find.
        let seen = if is_theirs { after.clone() } else { as_lines(content, &format) };
        self.see(cx, job, seen);
        let answer = match &failed {
            None => Answer::Done { decided: job.decided.clone() },
            Some(why) => Answer::Refused(format!(
                "couldn't write {}: the change is in Neovim's buffer, but could not be saved: {why}",
                job.path.display()
            )),
        };
        cx.send(Command::Answer { ask, answer });
        let name = cx.short_name(Some(key), &job.path);
        if let Some(why) = &failed {
            let text = format!("{name} holds the agent's change, but could not be saved: {why}; :write it");
            cx.note(Some(key), Severity::Warning, text);
        } else if !saves && after != start.text {
            let text =
                format!("{name} had unsaved edits: the agent's change is in the buffer, not saved yet");
            cx.note(Some(key), Severity::Info, text);
        }
        let lines = ranges.first().and_then(|(first, end)| {
            Lines::span(u32::try_from(first + 1).ok(), u32::try_from(end.saturating_sub(*first).max(1)).ok())
        });
        cx.raise(EditorEvent::FileVisited {
            session: key,
            path: job.path.clone(),
            lines,
            verb: Verb::Editing,
        });
        let call = call_about(cx, key, &job.path);
        note_conflict(cx, (key, call), job, after == start.text);
        let held = (held_before(&cx.editor, job.buf, &start, &disk), as_held(&cx.editor, job.buf, &after));
        if saves && failed.is_none() {
            self.on_disk.told.holds(&job.path, &held.1);
        }
        let kind = change_kind(cx, key, None, (&held.0, &held.1));
        let texts = (Some(start.text.body()), Some(after.body()));
        note_write(cx, key, (&job.path, Road::Editor), kind, texts);
        cx.raise(EditorEvent::FileChanged(Box::new(Change {
            session: key,
            call,
            others: Vec::new(),
            path: job.path.clone(),
            buf: Some(job.buf),
            before: (held.0 != Held::Absent).then(|| start.text.body()),
            after: Some(after.body()),
            held,
            ranges,
            lines: Some((start.lines, cx.editor.line_count(job.buf)?)),
            saved: saves && failed.is_none(),
            is_in_buffer: true,
            unknown: None,
            renamed: None,
        })));
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(())
    }

    fn landed_take(&mut self, cx: &mut Context, job: &Job, landing: Landing) -> Result<()> {
        let Task::Take { writers, .. } = job.task() else { return Ok(()) };
        let (session, writer) = (job.session(), writers.first());
        let OnDisk::Text { text, bomb, stamp } = &landing.disk else { return Ok(()) };
        let is_clean = landing.is_theirs;
        // As the file was written before the buffer takes over how it is written now.
        let was = held_before(&cx.editor, job.buf, &landing.start, &landing.disk);
        let format = take_format(&cx.editor, job.buf, (text, *bomb))?;
        // What unsaved edits began with is there again, or still: nobody has written anything.
        let is_old = cx.buffers.held(&job.path).is_some_and(|held| held.saved.as_ref() == Some(text));
        if let Some(held) = cx.buffers.held(&job.path) {
            held.stamp = Some(*stamp);
            held.saved = (!is_clean).then(|| text.clone());
        }
        self.acknowledge(cx, job.buf, &job.path, Some(*stamp))?;
        if is_clean {
            cx.editor.set_buf_option(job.buf, "modified", false)?;
        }
        self.clear_gone(cx, job.buf)?;
        if !is_old && self.is_own_write(cx, writers, &job.path) {
            // The agent has written this itself.
            self.see(cx, job, as_lines(text, &format));
        }
        self.watching.has_settled(&job.path);
        let now = Held::text(if *bomb { format!("\u{feff}{text}").into() } else { text.clone() });
        if writer.is_none() {
            // It may turn out to be an agent's.
            self.on_disk.told.forget(&job.path);
        }
        if let Some(Writer { session, call }) = writer {
            let call = call.or_else(|| call_about(cx, session, &job.path));
            note_conflict(cx, (session, call), job, landing.text == landing.start.text);
        }
        if landing.text == landing.start.text || self.shows_a_link(cx, job.buf) {
            return Ok(());
        }
        if !is_clean {
            let name = cx.short_name(session, &job.path);
            let text = format!("{name} had unsaved edits: the change on the disk is merged into them");
            cx.note(session, Severity::Info, text);
        }
        let Some(Writer { session, call }) = writer else { return Ok(()) };
        let call = call.or_else(|| call_about(cx, session, &job.path));
        let is_new = landing.start.text.is_empty() && self.on_disk.is_new(&job.path);
        let (old_mode, mode) = self.on_disk.modes_of(&job.path);
        let reported = self.on_disk.text_before(&job.path, &now).filter(|_| is_clean);
        let text_before = match reported.as_ref().and_then(Held::as_text) {
            Some(text) => text.plain_lines(),
            None => landing.start.text.body(),
        };
        let bytes = self.on_disk.bytes_of(&job.path).filter(|_| is_clean && !is_new && was == Held::Unknown);
        let before = if is_new { Held::Absent } else { reported.unwrap_or(was.with_mode(old_mode)) };
        let now = now.with_mode(mode);
        let news = self.on_disk.told.news(&job.path, &before, &now);
        if news == News::Nothing {
            cx.raise(EditorEvent::ReviewOutdated(job.buf));
            return Ok(());
        }
        let told = [&[Writer { session, call }], writers.others()].concat();
        self.on_disk.has_told(&job.path, told);
        if call.is_none() {
            let texts = ((!is_new).then(|| text_before.clone()), Some(landing.text.body()));
            let kind = change_kind(cx, session, None, (&before, &now));
            note_write(cx, session, (&job.path, Road::Disk), kind, texts);
        }
        cx.raise(EditorEvent::FileChanged(Box::new(Change {
            session,
            call,
            others: writers.others().to_vec(),
            path: job.path.clone(),
            buf: Some(job.buf),
            before: (!is_new).then_some(text_before),
            after: Some(landing.text.body()),
            held: bytes.unwrap_or((before, as_held(&cx.editor, job.buf, &landing.text).with_mode(mode))),
            ranges: landing.ranges,
            lines: Some((landing.start.lines, cx.editor.line_count(job.buf)?)),
            saved: is_clean,
            is_in_buffer: true,
            unknown: None,
            renamed: None,
        })));
        cx.raise(EditorEvent::SessionChanged(session));
        Ok(())
    }

    /// Whether a buffer's file has become a link: the text is that of another file.
    fn shows_a_link(&self, cx: &Context, buf: Buf) -> bool {
        Buffers::name_as_written(&cx.editor, buf).is_some_and(|name| self.on_disk.is_link(&name))
    }

    /// Tells Neovim that the buffer knows what is on the disk, which was in this state; `None` where there was no file.
    pub fn acknowledge(
        &mut self,
        cx: &mut Context,
        buf: Buf,
        path: &Path,
        stamp: Option<Stamp>,
    ) -> Result<()> {
        cx.editor.helper::<()>("acknowledge", buf)?;
        if stamp_of(path) != stamp {
            // Neovim has been told of a newer state than the one that was taken.
            cx.editor.helper::<()>("fall_behind", buf)?;
            return self.take_what_was_found(cx, path.to_owned());
        }
        self.write_what_was_refused(cx, buf, path)
    }

    /// Whether a change on the disk came with a call that writes the file, or while there was one, and nobody else may
    /// have made it.
    fn is_own_write(&self, cx: &Context, writers: &Writers, path: &Path) -> bool {
        let Some(Writer { session: key, call }) = writers.first().filter(|_| writers.others().is_empty())
        else {
            return false;
        };
        let tool = |entry| cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
        let writes = |call: &&ToolCall| call.kind == ToolKind::Edit;
        match call {
            Some(call) => tool(call).filter(writes).is_some(),
            None => {
                let call = call_about(cx, key, path).and_then(tool);
                call.filter(writes).is_some_and(|call| !call.status.is_over())
            }
        }
    }

    /// A buffer was saved: what the disk holds now is no news, whoever reports it.
    fn note_saved(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let saved = cx.editor.changedtick(buf)?;
        self.on_disk.told.forget(&path);
        cx.with_text(self, buf, move |files: &mut Self, cx, snapshot| {
            if let Some(Snapshot { text, .. }) = snapshot.filter(|snapshot| snapshot.tick == saved) {
                files.on_disk.told.holds(&path, &as_held(&cx.editor, buf, &text));
            }
            Ok(())
        })
    }

    /// The user has written a buffer, or some lines of one, to another file than its own: that is no agent's doing.
    pub fn file_written(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        let is_own = Buffers::name_as_written(&cx.editor, buf).is_some_and(|name| name == path);
        if cx.has_background
            && !is_own
            && path.is_absolute()
            && let Some(stamp) = stamp_of(path)
        {
            self.on_disk.was_written_by_user(canonical(path), cx.now());
            let work = Work::Saved { path: path.to_owned(), stamp };
            cx.compute(work, |_: &mut Self, _, _| Ok(()));
        }
        Ok(())
    }

    pub fn buffer_saved(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        if cx.has_background && cx.buffers.name_of(buf).is_some() {
            self.clear_gone(cx, buf)?;
            self.note_saved(cx, buf)?;
            if !is_modified(&cx.editor, buf) {
                self.buffer_modified(cx, buf)?;
                self.file_known(cx, buf, Known::Saved)?;
                self.decide_by_writing(cx, buf)?;
            }
        }
        Ok(())
    }
}

/// The buffer writes its file as this text is written from now on. Gives its 'fileformat'.
fn take_format(editor: &Editor, buf: Buf, (text, bomb): (&Text, bool)) -> Result<String> {
    if editor.buf_option::<bool>(buf, "bomb")? != bomb {
        editor.set_buf_option(buf, "bomb", bomb)?;
    }
    let format: String = editor.buf_option(buf, "fileformat")?;
    let on_disk = match text.contains('\n') {
        true if is_dos(text) => "dos",
        true if format == "dos" => "unix",
        _ => return Ok(format),
    };
    if on_disk != format {
        editor.set_buf_option(buf, "fileformat", on_disk)?;
    }
    Ok(on_disk.to_owned())
}

/// What the file held before a task, as far as the buffer knows.
fn held_before(editor: &Editor, buf: Buf, start: &Start, disk: &OnDisk) -> Held {
    match (disk, start.text.is_empty()) {
        (OnDisk::Gone, true) => Held::Absent,
        _ => as_held(editor, buf, &start.text),
    }
}

/// What was done to a file that had another name before, if it had.
pub fn change_kind(
    cx: &Context,
    session: SessionKey,
    from: Option<&Path>,
    (before, after): (&Held, &Held),
) -> FileChangeKind {
    match (from, before, after) {
        (Some(from), ..) => FileChangeKind::Renamed(cx.short_name(Some(session), from)),
        (None, _, Held::Absent) => FileChangeKind::Deleted,
        (None, Held::Absent, _) => FileChangeKind::Created,
        (None, ..) => FileChangeKind::Changed,
    }
}

/// A call says what the user decided where they had changed the same lines as it.
fn note_conflict(cx: &mut Context, (key, call): (SessionKey, Option<EntryId>), job: &Job, is_all_kept: bool) {
    let (Some(decided), Some(call)) = (&job.decided, call) else { return };
    let outcome = ConflictOutcome { words: capitalized(decided), is_all_kept };
    if let Some(session) = cx.sessions.get_mut(&key) {
        session.conflict_settled(call, job.path.clone(), outcome);
        cx.raise(EditorEvent::SessionChanged(key));
    }
}

/// An agent has written, deleted or renamed a file, or had it done: the chat says so, where no call of its does.
pub fn note_write(
    cx: &mut Context,
    key: SessionKey,
    (path, road): (&Path, Road),
    kind: FileChangeKind,
    (before, after): (Option<Text>, Option<Text>),
) {
    let (now, name, call) = (cx.now(), cx.short_name(Some(key), path), call_about(cx, key, path));
    let write = Write { name, call, kind, before, after };
    if let Some(session) = cx.sessions.get_mut(&key) {
        session.wrote(path, road, write, now);
    }
    cx.raise(EditorEvent::SessionChanged(key));
}
