//! How permission is asked for: the call's title, what it would change, and the agent's own options.

use mlua::Result;

use crate::core::message::{AskId, PermissionKind, SessionKey};
use crate::core::tool_call::count_lines;
use crate::nvim::app::App;

impl App {
    pub fn put_up_permission(&mut self, key: SessionKey, ask: AskId) {
        let Some(session) = self.sessions.get(&key) else { return };
        let Some(open) = session.open_ask(ask) else { return };
        let call = session.entry(open.entry).and_then(|entry| entry.tool());
        let title = call.map(|call| call.headline()).unwrap_or_default();
        let counts = call.map(|call| {
            let files = call.diffs().count();
            let (added, removed) =
                call.diffs().map(count_lines).fold((0, 0), |(a, r), (x, y)| (a + x, r + y));
            match files {
                0 => String::new(),
                1 => format!(" (+{added} -{removed})"),
                _ => format!(" ({files} files, +{added} -{removed})"),
            }
        });
        let prompt = App::outside_prompt(session, ask)
            .unwrap_or_else(|| format!("{} asks: {title}{}", session.name(), counts.unwrap_or_default()));
        let ids: Vec<String> = open.options().iter().map(|option| option.id.clone()).collect();
        let items = open.options().iter().map(|option| option.name.clone()).collect();
        self.ask_to_choose(ask, "acp_permission", prompt, items, move |app, index| {
            let chosen = index.and_then(|index| ids.get(index).cloned());
            app.permission_picked(key, ask, chosen)
        });
    }

    /// The picker closed. Without a choice the question is rejected once where the agent offers that,
    /// and else stays open; it is never allowed.
    fn permission_picked(&mut self, key: SessionKey, ask: AskId, chosen: Option<String>) -> Result<()> {
        let fallback = || {
            let open = self.sessions.get(&key)?.open_ask(ask)?;
            let reject = open.options().iter().find(|option| option.kind == PermissionKind::RejectOnce)?;
            Some(reject.id.clone())
        };
        match chosen.or_else(fallback) {
            Some(option) => self.answer(key, ask, &option),
            None => {
                self.asking.put_off(ask);
                Ok(())
            }
        }
    }
}
