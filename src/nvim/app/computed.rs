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
            (Some(Job::File(job)), Outcome::Examined(disk)) => {
                self.stage(job, |app, job| app.examined(job, disk))
            }
            (Some(Job::File(mut job)), Outcome::Reconciled(outcome, now)) => {
                job.now = now;
                self.stage(job, |app, job| app.reconciled(job, *outcome))
            }
            (Some(Job::Mention(mention)), Outcome::Mention(text)) => self.mentioned(mention, text),
            (Some(Job::Stamp { path, buf, tick }), Outcome::Stamped { is_there, stamp }) => {
                self.file_stamped(&path, buf, tick, stamp)?;
                if is_there { Ok(()) } else { self.without_file(buf, &path) }
            }
            (Some(Job::Prompt { session }), Outcome::Gathered(gathered)) => {
                self.gathered(session, job, gathered)
            }
            (Some(Job::Prompt { session }), Outcome::References(found)) => self.referred(session, job, found),
            (Some(Job::Exists { session, paths }), Outcome::Exists(there)) => {
                self.told_which_exist(session, paths, &there)
            }
            (Some(Job::Fingerprint { then }), Outcome::Fingerprint(found)) => {
                self.cx.attempt("couldn't compare the library with its sources", move |_| {
                    then.call::<()>(found)
                });
                Ok(())
            }
            (Some(Job::Paste { session }), Outcome::Pasted(image)) => self.pasted(session, image),
            (Some(Job::LookFirst(then)), Outcome::Looked(look)) => then(self, look),
            (Some(Job::Places { title }), Outcome::Places(places)) => self.list_places(&title, &places),
            _ => Ok(()),
        }
    }
}
