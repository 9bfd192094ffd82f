//! What comes of a text that has landed in a buffer: it is saved or left unsaved, Neovim is told that it
//! knows the file, agents get their answers and the user a line in the chat.

use std::path::Path;

use mlua::Result;

use crate::config::Save;
use crate::core::changes::reconcile::body;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Answer, Command, OnDisk, Severity, Stamp, ToolKind};
use crate::core::session::tool_call::ToolCall;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::app::App;
use crate::nvim::buffers::as_held;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::reading::{Reading, as_lines};
use crate::nvim::buffers::saving::{save, stamp_of};
use crate::nvim::buffers::texts::{Snapshot, Texts};
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::events::Change;
use crate::nvim::files::engine::{Known, is_dos};
use crate::nvim::files::{FileJob, Landing, Task};

/// How many entries back a tool call is looked for.
const RECENT: usize = 64;

impl App {
    pub fn landed(&mut self, job: Box<FileJob>, landing: Landing) -> Result<()> {
        let tick = self.cx.editor.changedtick(job.buf)?;
        self.set_end_of_file(job.buf, &landing.text)?;
        self.keep_landed(job.buf, tick, &landing.text)?;
        match &job.task {
            Task::Write { .. } => self.landed_write(&job, landing)?,
            Task::Take { .. } => self.landed_take(&job, landing)?,
            Task::Read { .. } | Task::Remember => {}
        }
        self.end_task(&job)
    }

    fn set_end_of_file(&self, buf: Buf, text: &str) -> Result<()> {
        let ended = text.ends_with('\n') || text.is_empty();
        if self.cx.editor.buf_option::<bool>(buf, "endofline")? != ended {
            self.cx.editor.set_buf_option(buf, "endofline", ended)?;
        }
        if !ended && self.cx.editor.buf_option::<bool>(buf, "fixendofline")? {
            // Saving would add the line break that the text does not have.
            self.cx.editor.set_buf_option(buf, "fixendofline", false)?;
        }
        Ok(())
    }

    /// What was put into a buffer need not be read out of it again.
    fn keep_landed(&mut self, buf: Buf, tick: u64, text: &Text) -> Result<()> {
        // An empty text and one empty line look the same in a buffer.
        if body(text).is_empty() {
            return Ok(());
        }
        let snapshot = Snapshot { tick, text: text.clone() };
        self.cx.buffers.texts.keep(buf, text.ends_with('\n'), &snapshot);
        debug_assert!({
            let read = Reading::of(buf).go_on(&self.cx.editor, &mut Texts::default())?;
            read.is_none_or(|read| read.text == snapshot.text)
        });
        Ok(())
    }

    fn landed_write(&mut self, job: &FileJob, landing: Landing) -> Result<()> {
        let Task::Write { session, ask, content, .. } = &job.task else { return Ok(()) };
        let (key, ask) = (*session, *ask);
        let format: String = self.cx.editor.buf_option(job.buf, "fileformat")?;
        let kind: String = self.cx.editor.buf_option(job.buf, "buftype")?;
        let mut after = landing.text;
        let mut failed = None;
        let saves = job.was_clean || self.cx.config.files.save == Save::Always;
        if saves {
            let formats = self.cx.config.files.format_on_save || !kind.is_empty();
            let tick = self.cx.editor.changedtick(job.buf)?;
            match save(&self.cx.editor, job.buf, formats) {
                Ok(()) => {
                    let stamp = stamp_of(&job.path);
                    if let Some(held) = self.cx.buffers.held(&job.path) {
                        (held.stamp, held.saved) = (stamp, None);
                    }
                }
                Err(why) => failed = Some(why),
            }
            if formats && self.cx.editor.changedtick(job.buf)? != tick {
                after = self.read_now(job.buf)?.text;
            }
        }
        // The agent does not know what the user added, so it has seen what it wrote, and no more. What a
        // formatter made of it is what it will find.
        let seen = if landing.is_theirs { after.clone() } else { as_lines(content, &format) };
        self.files.see(&self.cx.buffers, key, &job.path, seen);
        let answer = match &failed {
            None => Answer::Done,
            Some(why) => Answer::Refused(format!(
                "couldn't write {}: the change is in Neovim's buffer, but could not be saved: {why}",
                job.path.display()
            )),
        };
        self.send(Command::Answer { ask, answer })?;
        let name = self.cx.short_name(Some(key), &job.path);
        if let Some(why) = &failed {
            let text = format!("{name} holds the agent's change, but could not be saved: {why}; :write it");
            self.note(Some(key), Severity::Warning, text)?;
        } else if !saves {
            let text =
                format!("{name} had unsaved edits: the agent's change is in the buffer, not saved yet");
            self.note(Some(key), Severity::Info, text)?;
        }
        let lines = landing.ranges.first().and_then(|(first, end)| {
            Lines::span(u32::try_from(first + 1).ok(), u32::try_from(end.saturating_sub(*first).max(1)).ok())
        });
        self.file_visited(key, &job.path, lines, Verb::Editing)?;
        let call = self.call_about(key, &job.path);
        let before = held_before(&self.cx.editor, job);
        self.changed(Change {
            session: key,
            call,
            path: job.path.clone(),
            buf: Some(job.buf),
            before: Some(job.before.body()),
            after: Some(after.body()),
            held: (before, as_held(&self.cx.editor, job.buf, &after)),
            ranges: landing.ranges,
            lines: Some((job.lines_before, self.cx.editor.line_count(job.buf)?)),
            saved: saves && failed.is_none(),
        })?;
        self.after_change(key)
    }

    fn landed_take(&mut self, job: &FileJob, landing: Landing) -> Result<()> {
        let Task::Take { session, call } = &job.task else { return Ok(()) };
        let OnDisk::Text { text, bomb, stamp } = &job.disk else { return Ok(()) };
        let is_clean = landing.is_theirs;
        if self.cx.editor.buf_option::<bool>(job.buf, "bomb")? != *bomb {
            self.cx.editor.set_buf_option(job.buf, "bomb", *bomb)?;
        }
        let format: String = self.cx.editor.buf_option(job.buf, "fileformat")?;
        let on_disk = match text.contains('\n') {
            true if is_dos(text) => "dos",
            true if format == "dos" => "unix",
            _ => &format,
        };
        if on_disk != format {
            self.cx.editor.set_buf_option(job.buf, "fileformat", on_disk)?;
        }
        if let Some(held) = self.cx.buffers.held(&job.path) {
            held.stamp = Some(*stamp);
            held.saved = (!is_clean).then(|| text.clone());
        }
        self.acknowledge(job.buf, &job.path, *stamp)?;
        if is_clean {
            self.cx.editor.set_buf_option(job.buf, "modified", false)?;
        }
        self.clear_gone(job.buf)?;
        if let Some(key) = *session
            && self.is_own_write(key, *call, &job.path)
        {
            // The agent has written this itself.
            self.files.see(&self.cx.buffers, key, &job.path, as_lines(text, on_disk));
        }
        if landing.text == job.before {
            return Ok(());
        }
        if !is_clean {
            let name = self.cx.short_name(*session, &job.path);
            let text = format!("{name} had unsaved edits: the change on the disk is merged into them");
            self.note(*session, Severity::Info, text)?;
        }
        let Some(key) = *session else { return Ok(()) };
        let call = call.or_else(|| self.call_about(key, &job.path));
        self.changed(Change {
            session: key,
            call,
            path: job.path.clone(),
            buf: Some(job.buf),
            before: Some(job.before.body()),
            after: Some(landing.text.body()),
            held: (held_before(&self.cx.editor, job), as_held(&self.cx.editor, job.buf, &landing.text)),
            ranges: landing.ranges,
            lines: Some((job.lines_before, self.cx.editor.line_count(job.buf)?)),
            saved: is_clean,
        })?;
        self.after_change(key)
    }

    /// Tells Neovim that the buffer knows what is on the disk, which was in this state.
    pub fn acknowledge(&mut self, buf: Buf, path: &Path, stamp: Stamp) -> Result<()> {
        self.cx.editor.helper::<()>("acknowledge", buf)?;
        if stamp_of(path) != Some(stamp) {
            // Neovim has been told of a newer state than the one that was taken.
            self.cx.editor.helper::<()>("fall_behind", buf)?;
            return self.file_touched(self.session_about(path), None, path);
        }
        Ok(())
    }

    // For the chat.

    /// A line in the chat of a session, or of the one used last.
    pub fn note(&mut self, key: Option<SessionKey>, severity: Severity, text: String) -> Result<()> {
        let now = self.cx.now();
        let Some(key) = key.or(self.cx.current) else { return Ok(()) };
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.notice(severity, text, now);
        }
        self.after_change(key)
    }

    /// Whether a change on the disk came with a call that writes the file, or while there was one.
    fn is_own_write(&self, key: SessionKey, call: Option<EntryId>, path: &Path) -> bool {
        let tool = |entry| self.cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
        let writes = |call: &&ToolCall| call.kind == ToolKind::Edit;
        match call {
            Some(call) => tool(call).filter(writes).is_some(),
            None => {
                let call = self.call_about(key, path).and_then(tool);
                call.filter(writes).is_some_and(|call| !call.status.is_over())
            }
        }
    }

    /// The newest tool call of a session that speaks of a file.
    pub fn call_about(&self, key: SessionKey, path: &Path) -> Option<EntryId> {
        let session = self.cx.sessions.get(&key)?;
        let names = |named: &Path| {
            let full = session.place.cwd.join(named);
            full == path || (full.file_name() == path.file_name() && canonical(&full) == path)
        };
        let about = |entry: EntryId| {
            let call = session.entry(entry)?.tool()?;
            let mut paths = call.diffs().map(|diff| diff.path.as_path());
            let named = paths.any(names) || call.places().iter().any(|place| names(&place.path));
            named.then_some(call.status.is_over())
        };
        let calls = (0..session.entries().len()).rev().take(RECENT).map(EntryId);
        let found: Vec<(EntryId, bool)> = calls.filter_map(|id| Some((id, about(id)?))).collect();
        found.iter().find(|(_, over)| !over).or(found.first()).map(|(id, _)| *id)
    }

    pub fn buffer_saved(&mut self, buf: Buf) -> Result<()> {
        if self.background.is_some() && self.cx.buffers.name_of(buf).is_some() {
            self.clear_gone(buf)?;
            if !is_modified(&self.cx.editor, buf) {
                self.buffer_modified(buf)?;
                self.file_known(buf, Known::Saved)?;
            }
        }
        Ok(())
    }
}

/// What the file held before a task, as far as the buffer knows.
fn held_before(editor: &Editor, job: &FileJob) -> Held {
    match (&job.disk, job.before.is_empty()) {
        (OnDisk::Gone, true) => Held::Absent,
        _ => as_held(editor, job.buf, &job.before),
    }
}
