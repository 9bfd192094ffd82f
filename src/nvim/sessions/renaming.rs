//! What the user calls sessions: those that are open, and those that are stored. An agent that takes names is told;
//! here the name counts either way.

use mlua::Result;

use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Command, StoredSession};
use crate::core::session::Session;
use crate::core::store::record::{Fact, Kept, Line};
use crate::core::store::stored_sessions::{state_of, title};
use crate::core::text::fitting::cut_middle;
use crate::core::text::one_line;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Level, picker};
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::{Purpose, Sessions};

impl Sessions {
    /// The user calls the session this; asked for it where nothing is given. Without a session, or with a `!`, it is
    /// one from the list.
    pub fn rename(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        match cx.session_here().filter(|_| !args.bang) {
            Some(key) => self.rename_open(cx, key, &args.text),
            None => self.choose_renaming(cx, &args.text),
        }
    }

    /// The user chooses the session from the list.
    fn choose_renaming(&mut self, cx: &mut Context, title: &str) -> Result<()> {
        let purpose = Purpose::Rename(title.to_owned());
        self.recall(cx, move |sessions, cx, stored| sessions.gather(cx, purpose, Vec::new(), stored))
    }

    pub(super) fn rename_open(&mut self, cx: &mut Context, key: SessionKey, title: &str) -> Result<()> {
        let before = cx.sessions.get(&key).and_then(|session| session.title.clone()).unwrap_or_default();
        self.with_name(cx, (title, before), move |sessions, cx, title| {
            let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
            session.rename(title);
            let told = session.title_to_tell();
            told.into_iter().for_each(|command| cx.send(command));
            sessions.keep_title(cx, key);
            cx.raise(EditorEvent::SessionChanged(key));
            // The chat's bar may have no room for it.
            cx.notify(renamed(title), Level::Info);
            Ok(())
        })
    }

    /// Renames a session that is not open, of which this is known.
    pub(super) fn rename_stored(&mut self, cx: &mut Context, kept: Kept, title: &str) -> Result<()> {
        let before = kept.title.clone().unwrap_or_default();
        self.with_name(cx, (title, before), move |sessions, cx, title| {
            sessions.rename_stored_to(cx, kept, one_line(title))
        })
    }

    fn rename_stored_to(&mut self, cx: &mut Context, kept: Kept, title: String) -> Result<()> {
        let ready = self.processes.ready();
        let mut takers = ready.into_iter().filter(|(_, info)| info.can.set_title).map(|(agent, _)| agent);
        let taker = takers.find(|agent| self.configured_name(*agent).as_ref() == Some(&kept.owner.agent));
        if taker.is_none() && !cx.config.record {
            let name = cx.called(&kept.owner.agent, kept.owner.called.as_ref());
            return fail(format!("{name} keeps no names; setup{{ record = true }} keeps them here"));
        }
        self.keep_name(cx, &kept, &title);
        let Some(agent) = taker else {
            cx.notify(renamed(&title), Level::Info);
            return Ok(());
        };
        let acp_id = kept.owner.acp_id.clone();
        self.renamed.insert((agent, acp_id.clone()), (kept, title.clone()));
        cx.send(Command::SetStoredTitle { agent, acp_id, title });
        Ok(())
    }

    /// The agent keeps a stored session's name in this form. What the user has called it since then counts more.
    pub fn stored_title_kept(
        &mut self,
        cx: &mut Context,
        (agent, acp_id): (AgentId, String),
        (asked, title): (&str, &str),
    ) {
        let last = self.renamed.get(&(agent, acp_id.clone())).is_some_and(|(_, last)| last == asked);
        let Some((kept, _)) = self.renamed.remove(&(agent, acp_id)).filter(|_| last) else { return };
        if title != asked {
            self.keep_name(cx, &kept, title);
        }
        cx.notify(renamed(title), Level::Info);
    }

    /// Sessions of an agent's list, by the names that the user has given them.
    pub(super) fn with_names(
        &self,
        cx: &Context,
        agent: AgentId,
        mut stored: Vec<StoredSession>,
        kept: &[Kept],
    ) -> Vec<StoredSession> {
        let owner = self.configured_name(agent);
        for session in &mut stored {
            let is_it =
                |open: &&Session| open.agent == agent && open.acp_id.as_ref() == Some(&session.acp_id);
            let is_kept = |kept: &&Kept| {
                Some(&kept.owner.agent) == owner.as_ref() && kept.owner.acp_id == session.acp_id
            };
            let open = cx.sessions.values().find(is_it).map(|open| (open.title.clone(), open.was_named()));
            let kept = kept.iter().find(is_kept);
            if let Some(kept) = kept {
                session.state = state_of(kept).joined(session.state);
            }
            if let Some((here, named)) = open.or(kept.map(|kept| (kept.title.clone(), kept.named))) {
                session.title = title(here, named, session.title.take());
            }
        }
        stored
    }

    fn keep_name(&self, cx: &mut Context, kept: &Kept, title: &str) {
        // To name a session is not to use it.
        let line = Line { at: kept.used, fact: Fact::Name(one_line(title)) };
        self.keep_line(cx, kept.owner.clone(), line);
    }

    /// Goes on with the name, which the user is asked for where none is given.
    fn with_name(
        &mut self,
        cx: &mut Context,
        (title, before): (&str, String),
        then: impl FnOnce(&mut Self, &mut Context, &str) -> Result<()> + 'static,
    ) -> Result<()> {
        if !title.trim().is_empty() {
            return then(self, cx, title);
        }
        cx.effects.push_back(Box::new(move |editor| {
            let shown = picker::input(editor, "Call the session", &before, move |title| {
                if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
                    context::run(move |sessions: &mut Self, cx| then(sessions, cx, &title));
                }
            });
            if let Err(error) = shown {
                editor.notify(
                    &format!("couldn't ask for a name: {error}; give it to :Acp rename"),
                    Level::Error,
                );
            }
        }));
        Ok(())
    }
}

fn renamed(title: &str) -> String {
    format!("the session is called {:?} now", cut_middle(&visible_line(&one_line(title)), 40))
}
