//! What of a conversation goes into the record: the beginning of each line, with what its session is. How lines end is
//! the reply's part, or that of what is waited for.

use std::sync::Arc;

use super::state::Connection;
use crate::acp::audit::Entry;
use crate::acp::terminals::TerminalSpec;
use crate::acp::wire::reply::Reply;
use crate::core::audit::{Line, What};
use crate::core::ids::SessionKey;
use crate::core::message::{PermissionOption, Place, ToolCallPatch};

impl Connection {
    /// Begins a line about a session, if there is a record.
    pub(super) fn record(
        &self,
        session: SessionKey,
        what: What,
        say: impl FnOnce(&mut Line),
    ) -> Option<Entry> {
        let known = self.sessions.get(session)?;
        let mut entry = self.recorder.begin(&known.acp_id, &known.place.cwd, what)?;
        say(&mut entry.line);
        Some(entry)
    }

    /// What is asked for is what the call has said of itself so far.
    pub(super) fn record_permission(
        &mut self,
        session: SessionKey,
        place: &Arc<Place>,
        (call, options): (&ToolCallPatch, &[PermissionOption]),
        reply: Reply,
    ) -> Reply {
        let of_call = self.calls.take(session, call, &place.cwd).clone();
        self.calls.asked(session, &call.id);
        reply.recorded(self.record(session, What::Permission, |line| {
            line.is_about(of_call);
            line.cwd = Some(place.cwd.to_string_lossy().into_owned());
            line.offer(options);
        }))
    }

    pub(super) fn record_command(
        &self,
        session: SessionKey,
        what: What,
        spec: &TerminalSpec,
    ) -> Option<Entry> {
        self.record(session, what, |line| {
            line.command = Some(spec.command.clone());
            line.args.clone_from(&spec.args);
            line.cwd = Some(spec.cwd.to_string_lossy().into_owned());
        })
    }

    /// What a message says of a call; the one that ends it has it recorded.
    pub(super) fn record_call(&mut self, session: SessionKey, call: &ToolCallPatch, place: &Place) {
        self.calls.take(session, call, &place.cwd);
        let (recorder, sessions) = (&self.recorder, &self.sessions);
        self.calls.over(session, call, || {
            let known = sessions.get(session)?;
            recorder.begin(&known.acp_id, &known.place.cwd, What::Call)
        });
    }
}
