//! What is told of a change once it is made: the user's event, and whose the line about it is.

use std::path::Path;

use mlua::Result;
use serde_json::json;

use crate::core::changes::writers::Writer;
use crate::core::session::written::Write;
use crate::core::session::written_files::Road;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::events::{Attribution, Change, EditorEvent, Renamed};
use crate::nvim::files::after_apply::change_kind;

/// More ranges than this are only put together for somebody: each is a table of Lua's.
const MAX_TOLD_RANGES: usize = 50;

/// A buffer that an agent has changed is one that the user goes to.
pub fn list_changed(cx: &Context, change: &Change) -> Result<()> {
    match change.buf.or_else(|| cx.buf_of(&change.path)) {
        Some(buf) => open::list(&cx.editor, buf),
        None => Ok(()),
    }
}

/// Has those hear of a change who listen for `AcpFileChanged`.
pub fn emit_changed(cx: &mut Context, change: Change) {
    let Change { session, call, path, ranges, saved, held, renamed, .. } = change;
    if ranges.len() > MAX_TOLD_RANGES && !cx.has_listeners("AcpFileChanged") {
        return;
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
        .and_then(|entry| cx.sessions.get(&session)?.entry(entry)?.tool())
        .and_then(|call| call.told_id().map(str::to_owned));
    cx.emit(
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
}

/// The line about a write that no call speaks of is that of whoever has done it.
pub fn reword(cx: &mut Context, change: &Attribution, from_name: Option<&Path>) {
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
