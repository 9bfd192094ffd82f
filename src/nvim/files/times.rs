//! Buffers that sessions have to do with, as to what Neovim itself would ask about their files: which ones
//! those are, and what is done instead. How Neovim is kept from asking is in `files/times.lua`.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::text::Text;
use crate::core::text::fitting::message_about;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::saving::stamp_of;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level, first_line};
use crate::nvim::files::Files;
use crate::nvim::files::engine::Known;

impl Files {
    /// Whether a file was touched by a session, or lies in one's folders.
    pub fn is_of_a_session(&self, cx: &Context, path: &Path) -> bool {
        self.any_session_of(cx, path).is_some()
    }

    /// A buffer with a file was loaded, or named.
    pub fn guard(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        let is_guarded = self.is_of_a_session(cx, path) || self.watching.is_touched(buf);
        if is_guarded && cx.editor.buf_option::<String>(buf, "buftype")?.is_empty() {
            cx.editor.helper("guard", buf)
        } else {
            cx.editor.helper("unguard", buf)
        }
    }

    /// A session has begun, or is over.
    pub fn guard_all(&mut self, cx: &mut Context) -> Result<()> {
        let all: Vec<(PathBuf, Buf, bool)> = cx
            .buffers
            .all()
            .map(|(path, held)| (path.to_owned(), held.buf, held.stamp.is_some()))
            .filter(|(_, buf, _)| cx.editor.buf_is_loaded(*buf))
            .collect();
        for (path, buf, is_known) in all {
            self.guard(cx, buf, &path)?;
            if !is_known && cx.has_background && self.is_of_a_session(cx, &path) {
                // Neovim is to be told of one that is not there.
                self.file_known(cx, buf, Known::Once)?;
            }
        }
        Ok(())
    }

    /// A buffer was made for a file that is not there yet.
    pub fn buffer_new(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        self.buffer_loaded(cx, buf)?;
        match cx.buffers.name_of(buf).map(Path::to_owned) {
            Some(path) if cx.has_background => self.without_file(cx, buf, &path),
            _ => Ok(()),
        }
    }

    /// A loaded buffer has no file.
    pub fn without_file(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        if cx.editor.buf_is_loaded(buf)
            && self.is_of_a_session(cx, path)
            && cx.editor.buf_option::<String>(buf, "buftype")?.is_empty()
        {
            cx.editor.helper::<()>("guard", buf)?;
            self.acknowledge(cx, buf, path, None)?;
        }
        Ok(())
    }

    /// The user has had a file put back on the disk. It is no news for a buffer whose unsaved edits stay: they begin
    /// with what is there now, or was.
    pub fn put_back(&mut self, cx: &mut Context, path: &Path, now: Option<Text>) -> Result<()> {
        self.on_disk.told.forget(path);
        if let Some(buf) = cx.buf_of(path).filter(|_| stamp_of(path).is_none()) {
            cx.editor.helper::<()>("has_only_text", buf)?;
        }
        let Some(buf) = cx.buf_of(path).filter(|buf| is_modified(&cx.editor, *buf)) else { return Ok(()) };
        let saved = now.or_else(|| cx.buffers.held(path)?.saved.clone());
        self.without_file(cx, buf, path)?;
        if let Some(held) = cx.buffers.held(path) {
            held.saved = saved;
        }
        Ok(())
    }

    /// Neovim has found that a buffer's file is another one.
    pub fn file_looked_at(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        self.take_what_was_found(cx, path)
    }

    /// Somebody has written the file, and nobody but Neovim says so.
    pub fn take_what_was_found(&mut self, cx: &mut Context, path: PathBuf) -> Result<()> {
        let writers = self.guess_writers(cx, &path);
        self.take(cx, path, writers, false)
    }

    /// A `:write` was refused when `b:changedtick` was this: it would have overwritten what somebody else has put there.
    pub fn write_refused(&mut self, cx: &mut Context, buf: Buf, tick: u64) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let name = cx.short_name(None, &path);
        if cx.conflicts.about(&path) {
            let text = message_about(&name, " changed on the disk, too: :Acp answer decides");
            cx.notify(text, Level::Warn);
            return Ok(());
        }
        self.refused_writes.insert(buf, tick);
        // Who has left what is there as it was is asked once more.
        if let Some(held) = cx.buffers.held(&path) {
            held.left = None;
        }
        if !cx.editor.helper::<bool>("is_behind", buf)? {
            // It has become known meanwhile.
            return self.write_what_was_refused(cx, buf, &path);
        }
        let text = message_about(&name, " changed on the disk: :write once it is merged");
        cx.notify(text, Level::Warn);
        self.take_what_was_found(cx, path)
    }

    /// The buffer knows what is on the disk: does a `:write` that was refused until then, unless the text is another one
    /// by now, which the user is to see first.
    pub fn write_what_was_refused(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        let Some(refused) = self.refused_writes.remove(&buf) else { return Ok(()) };
        if !is_modified(&cx.editor, buf) {
            return Ok(());
        }
        let name = cx.short_name(None, path);
        if cx.editor.changedtick(buf)? != refused {
            let text = message_about(&name, " changed, also on the disk: look and :write again");
            cx.notify(text, Level::Warn);
            return Ok(());
        }
        cx.run_effect("couldn't write", move |editor| -> std::result::Result<(), String> {
            editor.command_in(buf, "silent keepalt write").map_err(|error| first_line(&error))?;
            if !is_modified(editor, buf) {
                editor.notify(&format!("{name} is written now: there was nothing to merge"), Level::Info);
            }
            Ok(())
        });
        Ok(())
    }
}
