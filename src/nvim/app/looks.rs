//! What depends on the disk waits until the background has looked at it. For what is not a feature of its own yet.

use std::path::Path;

use mlua::Result;

use crate::core::locations::Look;
use crate::core::message::{Command, Work};
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache;
use crate::nvim::editor::Buf;

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

    /// Goes on with the buffer of a file that is to be changed. It is loaded if need be, once the background has
    /// seen that it is a text or not there yet, and not at all where it is anything else.
    pub fn load_first(
        &mut self,
        path: &Path,
        then: impl FnOnce(&mut App, Buf) -> Result<()> + 'static,
    ) -> Result<()> {
        if let Some(buf) = self.cx.buf_of(path) {
            return then(self, buf);
        }
        let named = path.to_owned();
        self.look_first(path, move |app, look| match look {
            Look::File(_) | Look::Missing => {
                let buf = open::load(&app.cx.editor, &path_cache::canonical(&named))?;
                then(app, buf)
            }
            _ => Ok(()),
        })
    }
}
