//! Paths, as far as the disk has to be asked about them: it is the background that asks, and what depends on
//! the answer is done when that is there. What is known of names already is kept in `resolve`.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::locations::Look;
use crate::core::message::{Command, Work};
use crate::core::session::Session;
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::path_cache;
use crate::nvim::editor::Buf;

impl App {
    /// Has the background resolve what nobody knows yet.
    pub fn ask_names(&mut self) -> Result<()> {
        let paths = path_cache::take_wanted();
        // Without a background nothing is done that depends on it.
        if paths.is_empty() || self.background.is_none() {
            return Ok(());
        }
        self.send(Command::Resolve { paths })
    }

    /// The background has resolved paths: buffers are known by what their files are called.
    pub fn resolved(&mut self, names: Vec<(PathBuf, PathBuf)>) -> Result<()> {
        let news = path_cache::learn(names);
        if news.is_empty() {
            return Ok(());
        }
        let bufs: Vec<Buf> = self.cx.buffers.all().map(|(_, held)| held.buf).collect();
        for buf in bufs {
            if Buffers::name_as_written(&self.cx.editor, buf).is_some_and(|name| news.contains(&name)) {
                self.renamed(buf)?;
            }
        }
        let is_root = |session: &Session| {
            [&session.place.cwd].into_iter().chain(&session.place.additional).any(|root| news.contains(root))
        };
        // What lies in a folder is only known by what the folder is called.
        if self.cx.sessions.values().any(is_root) { self.guard_all() } else { Ok(()) }
    }

    /// Takes note that a buffer's file is called something else than was thought. What is being done with it
    /// is brought to its end first.
    pub fn renamed(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = Buffers::path_of(&self.cx.editor, buf) else { return Ok(()) };
        let Some(old) = self.files.rename(&mut self.cx.buffers, buf, &path) else { return Ok(()) };
        self.send(Command::FileUnloaded { path: old })?;
        self.send(Command::FileLoaded { path: path.clone() })?;
        self.review_loaded(buf, &path)
    }

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

    /// As [`Self::look_first`] for what the user wants to see: not once they have gone elsewhere, and not
    /// where there is no file.
    pub fn visit_file(
        &mut self,
        path: &Path,
        then: impl FnOnce(&mut App) -> Result<()> + 'static,
    ) -> Result<()> {
        let (win, named) = (self.cx.editor.current_win()?, path.to_owned());
        self.look_first(path, move |app, look| match look {
            look if look.finds_file() && app.cx.editor.current_win()? == win => then(app),
            look if look.finds_file() => Ok(()),
            Look::Silent => {
                let text = format!("couldn't open {}: its disk does not answer", named.display());
                Err(mlua::Error::runtime(text))
            }
            _ => Err(mlua::Error::runtime(format!("{} is no file that can be opened", named.display()))),
        })
    }
}
