//! What the background has computed, handed on to what waits for it.

use mlua::Result;

use crate::core::ids::JobId;
use crate::core::message::Outcome;
use crate::nvim::app::{App, Job};

impl App {
    pub fn next_job(&mut self, job: Job) -> JobId {
        let id = self.cx.next_job();
        self.jobs.insert(id, job);
        id
    }

    pub fn computed(&mut self, job: JobId, outcome: Outcome) -> Result<()> {
        if let Some(then) = self.cx.take_job(job) {
            return then(self, outcome);
        }
        match (self.jobs.remove(&job), outcome) {
            (Some(Job::Diff { session, call, buf, tick, diffs }), Outcome::Placed(placed)) => {
                self.asking.retry = true;
                let waits = self
                    .cx
                    .sessions
                    .get(&session)
                    .and_then(|session| session.entry(call))
                    .and_then(|entry| entry.tool())
                    .is_some_and(|call| !call.status.is_over());
                if !waits || !self.cx.editor.buf_is_loaded(buf) {
                    return Ok(());
                }
                if self.cx.editor.changedtick(buf)? != tick {
                    return self.place_diffs(session, call, buf, diffs);
                }
                if self.split_proposal(session, call, buf, &placed)? {
                    return self.review.clear(&self.cx.editor, (session, call));
                }
                let made_shown = self.reviews.path_of(buf).is_some();
                self.review.begin(&self.cx.editor, (session, call), (buf, tick), placed, made_shown)?;
                self.draw_proposals()
            }
            (Some(Job::Review { path }), Outcome::Reviewed(file)) => self.reviewed(&path, file),
            (Some(Job::Recall { path, buf, origin, text }), Outcome::Before(before)) => {
                self.reconstructed(&path, buf, origin, text, before)?;
                self.all_known()
            }
            (Some(Job::RecallUnopened { path, told }), Outcome::Recalled(found)) => {
                self.recalled_unopened(&path, told, found)?;
                self.all_known()
            }
            (Some(Job::PutBack { path, was }), Outcome::PutBack(done)) => self.was_put_back(&path, was, done),
            (Some(Job::Fingerprint { then }), Outcome::Fingerprint(found)) => {
                self.cx.attempt("couldn't compare the library with its sources", move |_| {
                    then.call::<()>(found)
                });
                Ok(())
            }
            (Some(Job::LookFirst(then)), Outcome::Looked(look)) => then(self, look),
            _ => Ok(()),
        }
    }
}
