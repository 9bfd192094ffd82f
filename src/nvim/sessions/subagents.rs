//! Stopping one of the subagents that work for a session, while its turn goes on. Which of them offer that is the
//! session's word; that they stand in the chat is left to `chat`.

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::session::subagent::Subagent;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

/// The subagent that an entry is about or stands under, if it can be stopped by itself.
pub fn stoppable_at(cx: &Context, key: SessionKey, entry: EntryId) -> Option<EntryId> {
    let session = cx.sessions.get(&key)?;
    let at = session.subagent_of(entry).filter(|subagent| subagent.can_be_cancelled())?;
    session.subagents().find(|(_, subagent)| subagent.id == at.id).map(|(entry, _)| entry)
}

/// Stops the one that an entry is about, else the only one, else the one that the user picks.
pub fn choose(cx: &mut Context, key: SessionKey, at: Option<EntryId>) -> Result<()> {
    let here = at.and_then(|entry| stoppable_at(cx, key, entry));
    let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
    let named = |(entry, subagent): (EntryId, &Subagent)| (entry, subagent.name().to_owned());
    let mut all: Vec<(EntryId, String)> =
        session.subagents().filter(|(_, subagent)| subagent.can_be_cancelled()).map(named).collect();
    all.sort();
    let only = match &all[..] {
        [] if session.subagents().any(|(_, subagent)| subagent.is_working()) => {
            return fail(format!(
                "{} can't stop a subagent alone; :Acp cancel stops the turn",
                session.name()
            ));
        }
        [] => return fail("no subagent is at work"),
        [(only, _)] => Some(*only),
        _ => None,
    };
    if let Some(entry) = here.or(only) {
        cancel(cx, key, entry);
        return Ok(());
    }
    let (entries, names): (Vec<EntryId>, Vec<String>) = all.into_iter().unzip();
    cx.offer("Stop a subagent", "acp_subagent", names, move |_: &mut Sessions, cx, index| {
        cancel(cx, key, entries[index]);
        Ok(())
    });
    Ok(())
}

pub fn cancel(cx: &mut Context, key: SessionKey, entry: EntryId) {
    let Some(session) = cx.sessions.get_mut(&key) else { return };
    let commands = session.cancel_subagent(entry);
    cx.send_all(commands);
    cx.raise(EditorEvent::SessionChanged(key));
    cx.raise(EditorEvent::FrameDue);
}
