//! How permission is asked for: the call's title, what it would change, and the agent's own options.

use std::collections::BTreeSet;

use crate::core::changes::review::Review;
use crate::core::ids::{AskId, SessionKey};
use crate::core::message::FileDiff;
use crate::core::session::answer_label::label;
use crate::core::session::tool_call::count_lines;
use crate::nvim::app::App;

impl App {
    pub fn put_up_permission(&mut self, key: SessionKey, ask: AskId) {
        let Some(prompt) = self.permission_prompt(key, ask) else { return };
        let Some(open) = self.cx.sessions.get(&key).and_then(|session| session.open_ask(ask)) else { return };
        let ids: Vec<String> = open.options().iter().map(|option| option.id.clone()).collect();
        let items = open.options().iter().map(label).collect();
        self.ask_to_choose(ask, "acp_permission", prompt, items, move |app, index| {
            match index.and_then(|index| ids.get(index)) {
                Some(option) => app.answer(key, ask, option),
                // Closing a picker is no answer.
                None => {
                    app.left_open(ask);
                    Ok(())
                }
            }
        });
    }

    /// Who asks for what, in a line.
    pub fn permission_prompt(&self, key: SessionKey, ask: AskId) -> Option<String> {
        let session = self.cx.sessions.get(&key)?;
        let open = session.open_ask(ask).filter(|open| open.is_permission())?;
        if let Some(prompt) = App::outside_prompt(session, ask) {
            return Some(prompt);
        }
        let call = session.entry(open.entry).and_then(|entry| entry.tool());
        let title = call.map(|call| call.headline()).unwrap_or_default();
        let counts = call.map(|call| {
            let files = call.diffs().map(|diff| &diff.path).collect::<BTreeSet<_>>().len();
            let (added, removed) =
                call.diffs().map(count_lines).fold((0, 0), |(a, r), (x, y)| (a + x, r + y));
            let hunks: usize = call.diffs().map(hunks_of).sum();
            let hunks = if hunks > 1 { format!(", {hunks} hunks") } else { String::new() };
            match files {
                0 => String::new(),
                1 => format!(" (+{added} -{removed}{hunks})"),
                _ => format!(" ({files} files, +{added} -{removed}{hunks})"),
            }
        });
        Some(format!("{} asks: {title}{}", session.name(), counts.unwrap_or_default()))
    }
}

/// Larger diffs, in bytes, are not counted by the hunk: the question must be there at once.
const LARGE: usize = 64 << 10;

fn hunks_of(diff: &FileDiff) -> usize {
    let old = diff.old_text.as_deref().unwrap_or_default();
    match old.len() + diff.new_text.len() {
        size if size > LARGE => 0,
        _ => Review::new(old, &diff.new_text).hunks().len(),
    }
}
