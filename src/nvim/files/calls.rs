//! What agents do with files, by tool calls or by asking for it: which buffers that is about, what they have seen, what
//! is told of it.

use std::path::Path;

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::locations::{Lines, Verb};
use crate::core::message::{Access, Event, Question};
use crate::core::session::call_news::CallNews;
use crate::core::session::written_files::{FileChangeKind, Road};
use crate::core::store::checkpoint::Held;
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::files::after_apply::note_write;
use crate::nvim::files::whose::call_about;
use crate::nvim::files::{Files, Task};

impl Files {
    /// An agent told of a tool call.
    pub fn call_changed(&mut self, cx: &mut Context, news: &CallNews) -> Result<()> {
        let &CallNews { session, entry, content, .. } = news;
        if news.places {
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

    /// An agent asks the editor for a file, or to write one.
    pub fn asked(
        &mut self,
        cx: &mut Context,
        (session, ask): (SessionKey, AskId),
        question: Question,
    ) -> Result<()> {
        match question {
            Question::Read { path, line, limit } => {
                let task = Task::Read { session, ask, line, limit, checked: false };
                self.file_task(cx, path.clone(), task)?;
                let (lines, verb) = (Lines::span(line, limit), Verb::Reading);
                cx.raise(EditorEvent::FileVisited { session, path, lines, verb });
            }
            Question::Write { path, content } => {
                self.file_task(cx, path, Task::Write { session, ask, content, checked: false })?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The background has read or written a file for an agent.
    pub fn served(&mut self, cx: &mut Context, event: Event) {
        let Event::FileServed { session, path, resolved, access, created, before, after } = event else {
            return;
        };
        let verb = if access == Access::Wrote { Verb::Editing } else { Verb::Reading };
        cx.raise(EditorEvent::FileVisited { session, path, lines: None, verb });
        if access != Access::Wrote {
            return;
        }
        let kind = if created { FileChangeKind::Created } else { FileChangeKind::Changed };
        let texts = (before.clone(), after.clone());
        note_write(cx, session, (&resolved, Road::Editor), kind, texts);
        let was = before.clone().map_or(if created { Held::Absent } else { Held::Unknown }, Held::text);
        let is = after.clone().map_or(Held::Unknown, Held::text);
        if !self.on_disk.told.is_news(&resolved, &was, &is) && was != is {
            return;
        }
        cx.raise(EditorEvent::FileChanged(Box::new(Change {
            session,
            call: call_about(cx, session, &resolved),
            others: Vec::new(),
            path: resolved,
            buf: None,
            held: (was, is),
            before: before.map(|text| text.plain_lines()),
            after: after.map(|text| text.plain_lines()),
            ranges: Vec::new(),
            lines: None,
            saved: true,
            is_in_buffer: false,
            unknown: None,
            renamed: None,
        })));
    }

    /// A session is closed.
    pub fn forget(&mut self, session: SessionKey) {
        self.views.forget(session);
        self.earlier.forget(session);
        self.watching.ended(session);
    }

    /// The session's agent is not at work any more.
    pub fn turn_left(&mut self, cx: &mut Context, session: SessionKey) -> Result<()> {
        self.drop_conflicts(cx, session)?;
        self.watching.edits_over(cx, session);
        Ok(())
    }
}
