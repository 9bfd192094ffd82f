//! Which session a file has to do with, which ones may be writing it now, and which tool call speaks of it. What the
//! background knows better is in `reports`.

use std::path::Path;

use crate::core::changes::writers::{Writer, Writers};
use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Activity, Cause, ToolKind};
use crate::core::session::Session;
use crate::core::session::tool_call::{Status, ToolCall};
use crate::nvim::buffers::path_cache::{canonical, is_in_folders};
use crate::nvim::context::Context;
use crate::nvim::files::Files;

/// How many entries back a tool call is looked for.
const RECENT: usize = 64;

impl Files {
    /// The session whose agent may have written a file.
    pub fn session_about(&self, cx: &Context, path: &Path) -> Option<SessionKey> {
        let mut sessions = self.watching.sessions_of(path);
        sessions.extend(self.views.sessions_of(path));
        // The one at work is the most likely to have done it.
        let works = |key: &SessionKey| cx.sessions.get(key).is_some_and(|session| session.is_working());
        sessions.iter().copied().find(works).or(sessions.first().copied())
    }

    /// The same, or else one in whose folders the file lies.
    pub fn any_session_of(&self, cx: &Context, path: &Path) -> Option<SessionKey> {
        let in_folders = || cx.sessions.values().find(|session| is_in_folders(&session.place, path));
        self.session_about(cx, path).or_else(|| in_folders().map(|session| session.key))
    }

    /// The sessions that may be writing a file now: those that have to do with it, and have a call under way. Of a
    /// change at any other time nobody knows that it is an agent's.
    pub fn guess_writers(&self, cx: &Context, path: &Path) -> Writers {
        let touched: Vec<SessionKey> =
            self.watching.sessions_of(path).into_iter().chain(self.views.sessions_of(path)).collect();
        let has_to_do =
            |session: &&Session| touched.contains(&session.key) || is_in_folders(&session.place, path);
        let writer = |session: &Session| {
            let named = call_about(cx, session.key, path);
            let open = session.open_calls().filter(|(_, call)| may_be_writing(call)).map(|(entry, _)| entry);
            let open: Vec<EntryId> = open.collect();
            let call = open.iter().copied().find(|entry| named == Some(*entry)).or(open.last().copied())?;
            Some(Writer { session: session.key, call: Some(call) })
        };
        let settling = self.watching.settling(path, cx.now());
        Writers::guess(match settling {
            Some(writer) => vec![writer],
            None => cx.sessions.values().filter(has_to_do).filter_map(writer).collect(),
        })
    }
}

/// A call that reads says nothing of who writes, nor does one that waits for the user.
fn may_be_writing(call: &ToolCall) -> bool {
    may_write(call) && call.status != Status::Waiting
}

fn may_write(call: &ToolCall) -> bool {
    !matches!(call.kind, ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Think)
}

/// The newest tool call of a session that speaks of a file, and does more than read it.
pub fn call_about(cx: &Context, key: SessionKey, path: &Path) -> Option<EntryId> {
    let session = cx.sessions.get(&key)?;
    let names = |named: &Path| {
        let full = session.place.cwd.join(named);
        full == path || (full.file_name() == path.file_name() && canonical(&full) == path)
    };
    let about = |entry: EntryId| {
        let call = session.entry(entry)?.tool().filter(|call| may_write(call))?;
        let mut paths = call.diffs().map(|diff| diff.path.as_path());
        let named = paths.any(names) || call.places().iter().any(|place| names(&place.path));
        named.then_some(call.status.is_over())
    };
    let calls = (0..session.entries().len()).rev().take(RECENT).map(EntryId);
    let found: Vec<(EntryId, bool)> = calls.filter_map(|id| Some((id, about(id)?))).collect();
    found.iter().find(|(_, over)| !over).or(found.first()).map(|(id, _)| *id)
}

/// The sessions behind a change, with their calls as the chat knows them.
pub fn writers_of(cx: &Context, cause: Cause) -> Writers {
    let activities = match cause {
        Cause::Outside => Vec::new(),
        Cause::Session(activity) => vec![activity],
        Cause::OneOf(activities) => activities,
    };
    let writer = |activity: Activity| Writer { session: activity.session, call: call_of(cx, &activity) };
    Writers::known(activities.into_iter().map(writer).collect())
}

fn call_of(cx: &Context, activity: &Activity) -> Option<EntryId> {
    let session = cx.sessions.get(&activity.session)?;
    let is_writer =
        |entry: &EntryId| session.entry(*entry).and_then(|entry| entry.tool()).is_some_and(may_write);
    let by_id = activity.call.as_ref().and_then(|call| session.call_entry(call)).filter(is_writer);
    by_id.or_else(|| {
        let terminal = activity.terminal.as_ref()?;
        (0..session.entries().len()).rev().map(EntryId).find(|entry| {
            let call = session.entry(*entry).and_then(|entry| entry.tool());
            call.is_some_and(|call| call.terminals().any(|of_call| of_call == terminal))
        })
    })
}
