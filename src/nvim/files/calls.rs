//! What a tool call means for the files that buffers hold: they are watched, and what the agent has seen of them or
//! written into them is known.

use std::path::Path;

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::session::call_news::CallNews;
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::files::Files;

impl Files {
    /// An agent told of a tool call.
    pub fn call_changed(&mut self, cx: &mut Context, news: &CallNews) -> Result<()> {
        let &CallNews { session, entry, content, .. } = news;
        if news.is_new() {
            self.watching.watch_files_of(cx, session, entry)?;
        }
        if news.edits {
            self.watching.announce_edits(cx, session, entry, content);
        }
        for path in &news.read {
            if let Some(buf) = cx.buf_of(path)
                && let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned)
            {
                let now = cx.buffers.stamp_of(&path);
                self.views.look(session, &path, now, news.done);
            }
        }
        Ok(())
    }

    /// Has the buffers take what the call may have written into their files.
    pub fn call_wrote(&mut self, cx: &mut Context, news: &CallNews) -> Result<()> {
        for path in &news.touched {
            self.file_touched(cx, news.writers(), path)?;
            if news.done
                && news.edits
                && let Some(buf) = cx.buf_of(path)
            {
                open::list(&cx.editor, buf)?;
            }
        }
        Ok(())
    }

    /// The session's agent is not at work any more.
    pub fn turn_left(&mut self, cx: &mut Context, session: SessionKey) -> Result<()> {
        self.drop_conflicts(cx, session)?;
        self.watching.edits_over(cx, session);
        Ok(())
    }
}
