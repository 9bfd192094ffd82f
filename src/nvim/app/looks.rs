//! What depends on the disk waits until the background has looked at it. For what is not a feature of its own yet.

use std::path::Path;

use mlua::Result;

use crate::core::locations::Look;
use crate::core::message::{Command, Work};
use crate::nvim::app::{App, Job};

impl App {
    /// Has the background look at a path, and goes on with what it found; soon, whatever the disk does.
    pub fn look_first(
        &mut self,
        path: &Path,
        then: impl FnOnce(&mut App, Look) -> Result<()> + 'static,
    ) -> Result<()> {
        let job = self.next_job(Job::LookFirst(Box::new(then)));
        let work = Work::Look { path: path.to_owned(), roots: Vec::new(), diffs: Vec::new(), near: None };
        self.send(Command::Compute { job, work })
    }
}
