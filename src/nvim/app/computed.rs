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
