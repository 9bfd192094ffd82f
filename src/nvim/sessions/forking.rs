//! A chat that goes on twice: another session of the same agent, with what was said so far. What is copied is decided in
//! `core::session::forking`.

use mlua::Result;

use crate::core::message::Reopen;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

impl Sessions {
    pub fn fork(&mut self, cx: &mut Context) -> Result<()> {
        let here = cx.session_here().and_then(|key| cx.sessions.get(&key));
        let Some(source) = here else { return fail(NO_SESSION) };
        if let Some(why) = source.why_not_forked() {
            return fail(why);
        }
        let (place, past) = (source.place.clone(), source.past());
        let from = source.key;
        let Some(acp_id) = source.acp_id.clone() else { return Ok(()) };
        let Some(launch) = self.launch_of(cx, source.key).cloned() else {
            return fail("the agent was never started");
        };
        let key = self.open_at(cx, launch, place, Some((acp_id, Reopen::Fork)));
        let now = cx.now();
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.goes_on_from(past, now);
        }
        cx.raise(EditorEvent::SessionForked { from, to: key });
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(())
    }
}
