//! Buffers that sessions have to do with, as to what Neovim itself would ask about their files: which ones
//! those are, and what is done instead. How Neovim is kept from asking is in `files/times.lua`.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::message::Stamp;
use crate::nvim::app::App;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::files::Task;
use crate::nvim::files::engine::Known;

impl App {
    /// Whether a file was touched by a session, or lies in one's folders.
    pub fn is_of_a_session(&self, path: &Path) -> bool {
        let in_folders = self.cx.sessions.values().any(|session| {
            let place = &session.place;
            [&place.cwd].into_iter().chain(&place.additional).any(|root| path.starts_with(canonical(root)))
        });
        in_folders || self.session_about(path).is_some()
    }

    /// A buffer with a file was loaded, or named.
    pub fn guard(&mut self, buf: Buf, path: &Path) -> Result<()> {
        let is_guarded = self.is_of_a_session(path) || self.watching.is_touched(buf);
        if is_guarded && self.cx.editor.buf_option::<String>(buf, "buftype")?.is_empty() {
            self.cx.editor.helper("guard", buf)
        } else {
            self.cx.editor.helper("unguard", buf)
        }
    }

    /// A session has begun, or is over.
    pub fn guard_all(&mut self) -> Result<()> {
        let all: Vec<(PathBuf, Buf, bool)> = self
            .cx
            .buffers
            .all()
            .map(|(path, held)| (path.to_owned(), held.buf, held.stamp.is_some()))
            .filter(|(_, buf, _)| self.cx.editor.buf_is_loaded(*buf))
            .collect();
        for (path, buf, is_known) in all {
            self.guard(buf, &path)?;
            if !is_known && self.background.is_some() && self.is_of_a_session(&path) {
                // Neovim is to be told of one that is not there.
                self.file_known(buf, Known::Once)?;
            }
        }
        Ok(())
    }

    /// A buffer was made for a file that is not there yet.
    pub fn buffer_new(&mut self, buf: Buf) -> Result<()> {
        self.buffer_loaded(buf)?;
        match self.cx.buffers.name_of(buf).map(Path::to_owned) {
            Some(path) if self.background.is_some() => self.without_file(buf, &path),
            _ => Ok(()),
        }
    }

    /// A loaded buffer has no file.
    pub fn without_file(&mut self, buf: Buf, path: &Path) -> Result<()> {
        if self.cx.editor.buf_is_loaded(buf)
            && self.is_of_a_session(path)
            && self.cx.editor.buf_option::<String>(buf, "buftype")?.is_empty()
        {
            self.cx.editor.helper::<()>("guard", buf)?;
            self.cx.editor.helper::<()>("acknowledge", buf)?;
        }
        Ok(())
    }

    /// The state of a buffer's file was looked at, when the buffer was in this one.
    pub fn file_stamped(&mut self, path: &Path, buf: Buf, tick: u64, stamp: Option<Stamp>) -> Result<()> {
        if !self.cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        if self.cx.editor.changedtick(buf)? == tick
            && let Some(held) = self.cx.buffers.held(path)
        {
            held.stamp = stamp;
        }
        Ok(())
    }

    /// Neovim has found that a buffer's file is another one.
    pub fn file_looked_at(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.file_touched(self.session_about(&path), None, &path)
    }

    /// A `:write` was refused: it would have overwritten what somebody else has put there.
    pub fn write_refused(&mut self, buf: Buf) -> Result<()> {
        let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let name = self.cx.short_name(None, &path);
        if self.conflicts.about(&path) {
            let text =
                format!("{name} has changed on the disk, too: :Acp answer decides, :write! puts yours there");
            self.cx.advise(text, Level::Warn);
            return Ok(());
        }
        let text = format!(
            "{name} has changed on the disk: :write again once that is merged; :write! puts yours there"
        );
        self.cx.advise(text, Level::Warn);
        let session = self.session_about(&path);
        self.file_task(path, Task::Take { session, call: None })
    }
}
