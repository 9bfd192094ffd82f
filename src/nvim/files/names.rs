//! Paths, as far as the disk has to be asked about them: it is the background that asks, and what depends on
//! the answer is done when that is there. What is known of names already is kept in `buffers::path_cache`.

use std::path::PathBuf;

use mlua::Result;

use crate::core::message::Command;
use crate::core::session::Session;
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::path_cache;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;

impl Files {
    /// Has the background resolve what nobody knows yet.
    pub fn ask_names(&self, cx: &mut Context) {
        let paths = path_cache::take_wanted();
        // Without a background nothing is done that depends on it.
        if !paths.is_empty() && cx.has_background {
            cx.send(Command::Resolve { paths });
        }
    }

    /// The background has resolved paths: buffers are known by what their files are called.
    pub fn resolved(&mut self, cx: &mut Context, names: Vec<(PathBuf, PathBuf)>) -> Result<()> {
        let news = path_cache::learn(names);
        if news.is_empty() {
            return Ok(());
        }
        let bufs: Vec<Buf> = cx.buffers.all().map(|(_, held)| held.buf).collect();
        for buf in bufs {
            if Buffers::name_as_written(&cx.editor, buf).is_some_and(|name| news.contains(&name)) {
                self.renamed(cx, buf)?;
            }
        }
        let is_root = |session: &Session| session.place.folders().any(|root| news.contains(root));
        // What lies in a folder is only known by what the folder is called.
        if cx.sessions.values().any(is_root) { self.guard_all(cx) } else { Ok(()) }
    }

    /// Takes note that a buffer's file is called something else than was thought. What is being done with it
    /// is brought to its end first.
    pub fn renamed(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = Buffers::path_of(&cx.editor, buf) else { return Ok(()) };
        let Some(old) = self.rename(&mut cx.buffers, buf, &path) else { return Ok(()) };
        cx.send(Command::FileUnloaded { path: old });
        cx.send(Command::FileLoaded { path: path.clone() });
        cx.raise(EditorEvent::FileLoaded { buf, path });
        Ok(())
    }
}
