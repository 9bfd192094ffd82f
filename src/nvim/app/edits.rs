//! Agents' writes to files that a buffer holds: worked out in the background, applied here.

use std::path::{Path, PathBuf};

use mlua::Result;

use super::changed::Change;
use super::{App, Job, Write};
use crate::core::message::{Answer, AskId, Command, FileChange, JobId, Outcome, SessionKey, Severity, Work};
use crate::nvim::editor::Buf;
use crate::nvim::files::{self, Content, Written, canonical, held};

/// How often an agent's write is worked out again because the user typed meanwhile.
const TRIES: u32 = 3;

impl App {
    pub fn buffer_loaded(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = self.files.loaded(&self.editor, buf) else { return Ok(()) };
        if self.background.is_some() {
            self.send(Command::FileLoaded { path: path.clone() })?;
        }
        self.review_loaded(buf, &path)
    }

    pub fn buffer_unloaded(&mut self, buf: Buf) -> Result<()> {
        self.reviews.release(buf);
        if let Some(path) = self.files.unloaded(buf)
            && self.background.is_some()
        {
            self.send(Command::FileUnloaded { path })?;
        }
        Ok(())
    }

    /// The content of a file that a session has to do with is another one on the disk.
    pub(super) fn file_changed_outside(&mut self, path: &Path, kind: &FileChange) -> Result<()> {
        match kind {
            FileChange::Changed => self.files.refresh(&self.editor, path),
            // The buffer keeps its text.
            FileChange::Gone | FileChange::Renamed(_) => Ok(()),
        }
    }

    /// Has the smallest edits worked out in the background against the buffer as it is now.
    pub(super) fn write(
        &mut self,
        session: SessionKey,
        ask: AskId,
        path: PathBuf,
        content: String,
        tries: u32,
    ) -> Result<()> {
        match self.files.snapshot(&self.editor, &path) {
            Ok(snapshot) => {
                let new = Content::for_buffer(&self.editor, snapshot.buf, &content).text;
                let work = Work::Edits { old: snapshot.text.clone(), new };
                let job = self.next_job(Job::Write(Write { session, ask, path, content, snapshot, tries }));
                self.send(Command::Compute { job, work })
            }
            Err(why) => self.refuse(ask, &path, &why),
        }
    }

    fn refuse(&mut self, ask: AskId, path: &Path, why: &str) -> Result<()> {
        let text = format!("couldn't write {}: {why}", path.display());
        self.send(Command::Answer { ask, answer: Answer::Refused(text) })
    }

    pub fn next_job(&mut self, job: Job) -> JobId {
        self.numbers.job += 1;
        let id = JobId(self.numbers.job);
        self.jobs.insert(id, job);
        id
    }

    pub(super) fn computed(&mut self, job: JobId, outcome: Outcome) -> Result<()> {
        match (self.jobs.remove(&job), outcome) {
            (Some(Job::Write(write)), Outcome::Edits(edits)) => self.finish_write(write, edits),
            (Some(Job::Diff { session, call, buf, tick, diffs }), Outcome::Placed(placed)) => {
                self.asking.retry = true;
                let waits = self
                    .sessions
                    .get(&session)
                    .and_then(|session| session.entry(call))
                    .and_then(|entry| entry.tool())
                    .is_some_and(|call| !call.status.is_over());
                if !waits || !self.editor.buf_is_loaded(buf) {
                    return Ok(());
                }
                if self.editor.changedtick(buf)? != tick {
                    return self.place_diffs(session, call, buf, diffs);
                }
                let made_shown = self.reviews.path_of(buf).is_some();
                self.review.draw(&self.editor, (session, call), buf, &placed, made_shown)
            }
            (Some(Job::Review { path }), Outcome::Reviewed(file)) => self.reviewed(&path, file),
            (Some(Job::Recall { path, buf, origin, text }), Outcome::Placed(placed)) => {
                self.reconstructed(&path, buf, origin, text, &placed)
            }
            (Some(Job::PutBack { path, was }), Outcome::PutBack(done)) => self.was_put_back(&path, was, done),
            (Some(Job::Prompt { session }), Outcome::Gathered(gathered)) => {
                self.gathered(session, job, gathered)
            }
            (Some(Job::Exists { session, paths }), Outcome::Exists(there)) => {
                self.told_which_exist(session, paths, &there)
            }
            (Some(Job::Paste { session }), Outcome::Pasted(image)) => self.pasted(session, image),
            (Some(Job::Look { visit, number }), Outcome::Looked(look)) => self.looked(visit, number, look),
            (Some(Job::Places { title }), Outcome::Places(places)) => self.list_places(&title, &places),
            _ => Ok(()),
        }
    }

    fn finish_write(&mut self, write: Write, edits: Vec<crate::core::changes::TextEdit>) -> Result<()> {
        let Write { session, ask, path, content, snapshot, tries } = write;
        let fresh = self.editor.buf_is_loaded(snapshot.buf)
            && self.editor.changedtick(snapshot.buf)? == snapshot.tick;
        if !fresh && tries < TRIES {
            return self.write(session, ask, path, content, tries + 1);
        }
        let (buf, before, edits) = if fresh {
            (snapshot.buf, snapshot.text, edits)
        } else {
            // The user types faster than the background compares: now is the only time that fits.
            match self.files.snapshot(&self.editor, &path) {
                Ok(now) => {
                    let new = Content::for_buffer(&self.editor, now.buf, &content).text;
                    let edits = crate::core::changes::edits(&now.text, &new);
                    (now.buf, now.text, edits)
                }
                Err(why) => return self.refuse(ask, &path, &why),
            }
        };
        let new = Content::for_buffer(&self.editor, buf, &content);
        let held = held(&self.editor, buf, &path);
        match self.files.write(&self.editor, buf, &edits, &new) {
            Ok(written) => {
                self.send(Command::Answer { ask, answer: Answer::Done })?;
                self.wrote(session, &path, &edits)?;
                let now = self.now();
                if written == Written::LeftUnsaved
                    && let Some(session) = self.sessions.get_mut(&session)
                {
                    let name = path.strip_prefix(&session.place.cwd).unwrap_or(&path).display().to_string();
                    let text = format!(
                        "{name} had unsaved edits: the agent's change is in the buffer, not saved yet"
                    );
                    session.notice(Severity::Info, text, now);
                }
                self.changed(Change {
                    session,
                    call: None,
                    path: canonical(&path),
                    buf: Some(buf),
                    before: Some(before),
                    after: self.editor.text(buf)?,
                    held: (held, files::held(&self.editor, buf, &path)),
                })?;
                self.after_change(session)
            }
            Err(why) => self.refuse(ask, &path, &why),
        }
    }
}
