//! What an agent did to a file, told once to everything that shows it, keeps it, or listens for it.

use std::path::Path;

use mlua::Result;
use serde_json::json;

use crate::core::changes::writers::Writer;
use crate::core::session::written::Write;
use crate::core::session::written_files::Road;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::app::App;
use crate::nvim::context::Context;
use crate::nvim::events::{Attribution, Change, EditorEvent, OutsideChange, Renamed};
use crate::nvim::files::after_apply::change_kind;
use crate::nvim::follow;
use crate::nvim::sessions::Sessions;
use crate::nvim::tools::Tools;

/// More ranges than this are only put together for somebody: each is a table of Lua's.
const MAX_TOLD_RANGES: usize = 50;

/// The line about a write that no call speaks of is that of whoever has done it.
fn reword(cx: &mut Context, change: &Attribution, from_name: Option<&Path>) {
    let text = |held: &Held| held.as_text().map(Text::plain_lines);
    let silent =
        |writers: &[Writer]| writers.first().filter(|writer| writer.call.is_none()).map(|it| it.session);
    let (from, to) = (silent(&change.from), silent(&change.to));
    if from == to {
        return;
    }
    let now = cx.now();
    for (key, is_told) in [(from, false), (to, true)] {
        let Some(key) = key else { continue };
        let write = Write {
            name: cx.short_name(Some(key), &change.path),
            call: None,
            kind: change_kind(cx, key, from_name, (&change.held.0, &change.held.1)),
            before: text(&change.held.0),
            after: text(&change.held.1),
        };
        if let Some(session) = cx.sessions.get_mut(&key) {
            match is_told {
                true => session.wrote(&change.path, Road::Disk, write, now),
                false => session.wrote_not(&change.path, write),
            }
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }
}

impl App {
    /// Somebody else has changed a file of a session's folders.
    pub fn changed_outside(&mut self, change: &OutsideChange) -> Result<()> {
        self.reviews.changed_outside(&mut self.cx, change)?;
        self.route()
    }

    /// Somebody else has made a change than was told.
    pub fn attributed(&mut self, change: &Attribution) -> Result<()> {
        // A renamed file is one.
        let is_old_name = self.reviews.renamed.values().any(|from| *from == change.path);
        for Writer { session, call } in change.to.iter().filter(|_| !is_old_name) {
            if let Some(session) = self.cx.sessions.get_mut(session)
                && let Some(call) = call
            {
                session.call_changed(*call, &change.path);
            }
        }
        if !is_old_name {
            reword(&mut self.cx, change, self.reviews.renamed.get(&change.path).map(|from| &**from));
        }
        self.checkpoints.attributed(&mut self.cx, change);
        self.reviews.attribute(&mut self.cx, change)?;
        self.route()
    }

    pub fn changed(&mut self, change: Change) -> Result<()> {
        self.sessions.file_done(&mut self.cx, &change);
        if let Some(call) = change.call
            // A renamed file is one: the one that is there.
            && !matches!(change.renamed, Some(Renamed::To(_)))
            && let Some(session) = self.cx.sessions.get_mut(&change.session)
        {
            session.call_changed(call, &change.path);
        }
        Sessions::count_change(&mut self.cx, &change);
        self.sessions.check_limits(&mut self.cx, change.session);
        self.checkpoints.record(&mut self.cx, &change);
        Tools::file_changed(&mut self.cx, &change);
        self.reviews.stats.add(&change);
        if let Some(session) = self.cx.sessions.get_mut(&change.session) {
            session.has_worked();
        }
        self.reviews.review_change(&mut self.cx, &change)?;
        if change.held.1 != Held::Absent {
            self.follow.file_came(&mut self.cx, &change.path)?;
        }
        self.route()?;
        let Change { session, call, path, buf, ranges, saved, held, renamed, .. } = change;
        if let Some(buf) = buf.or_else(|| self.cx.buf_of(&path)) {
            follow::list(&self.cx.editor, buf)?;
        }
        self.reviews.refresh_diffs(&mut self.cx, session, &path)?;
        self.route()?;
        if ranges.len() > MAX_TOLD_RANGES && !self.cx.has_listeners("AcpFileChanged") {
            return Ok(());
        }
        let (to, from) = match renamed {
            Some(Renamed::To(path)) => (Some(path), None),
            Some(Renamed::From(path)) => (None, Some(path)),
            None => (None, None),
        };
        let kind = match held {
            (_, Held::Absent) => "deleted",
            (Held::Absent, _) => "created",
            _ => "changed",
        };
        let ranges: Vec<[usize; 2]> = ranges.iter().map(|(first, end)| [*first + 1, *end]).collect();
        let call = call
            .and_then(|entry| self.cx.sessions.get(&session)?.entry(entry)?.tool())
            .and_then(|call| call.told_id().map(str::to_owned));
        self.cx.emit(
            "AcpFileChanged",
            session,
            json!({
                "path": path.to_string_lossy(),
                "ranges": ranges,
                "tool_call": call,
                "saved": saved,
                "type": kind,
                "renamed_to": to.map(|path| path.to_string_lossy().into_owned()),
                "renamed_from": from.map(|path| path.to_string_lossy().into_owned()),
            }),
        );
        Ok(())
    }
}
