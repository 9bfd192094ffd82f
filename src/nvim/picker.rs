//! Questions to the user through `vim.ui.select`, one at a time. A picker's answer is not to be
//! trusted: it may come late, twice or never, so it is compared by id and may lead to nothing. The
//! picker does not open over somebody who is typing.

use mlua::{Function, Result, Table, Value};

use crate::core::message::{AskId, PermissionKind, SessionKey};
use crate::nvim::app::App;
use crate::nvim::editor::Editor;

/// Which permission question is on the screen, and which the user put off.
#[derive(Default)]
pub struct Asking {
    open: Option<AskId>,
    put_off: Vec<AskId>,
    /// A question came or went: see whether one can be shown.
    pub retry: bool,
}

/// Lets the user choose among `items`; `then` gets the 0-based index, or nothing.
pub fn select(
    editor: &Editor,
    prompt: &str,
    kind: &str,
    items: Vec<String>,
    then: impl FnOnce(Option<usize>) + 'static,
) -> Result<()> {
    let ui: Table = editor.module("ui")?;
    let select: Function = ui.get("select")?;
    let options = editor.table([("prompt", editor.string(prompt)?), ("kind", editor.string(kind)?)])?;
    let then = std::cell::RefCell::new(Some(then));
    let count = items.len();
    let chosen = editor.lua.create_function(move |_, (_, index): (Value, Option<usize>)| {
        if let Some(then) = then.borrow_mut().take() {
            then(index.and_then(|index| index.checked_sub(1)).filter(|index| *index < count));
        }
        Ok(())
    })?;
    select.call((items, options, chosen))
}

impl App {
    /// Puts the next permission question on the screen, if there is one and the user is not typing.
    pub fn ask_next(&mut self) {
        self.asking.retry = false;
        let waiting: Vec<(SessionKey, AskId)> = self
            .sessions
            .values()
            .flat_map(|session| session.asks().iter().map(|open| (session.key, open.ask)))
            .collect();
        if let Some(open) = self.asking.open
            && !waiting.iter().any(|(_, ask)| *ask == open)
        {
            // Over without the picker; whatever it says later is about nothing.
            self.asking.open = None;
        }
        self.asking.put_off.retain(|ask| waiting.iter().any(|(_, other)| other == ask));
        if self.asking.open.is_some() {
            return;
        }
        let Some((key, ask)) = waiting.into_iter().find(|(_, ask)| !self.asking.put_off.contains(ask)) else {
            return;
        };
        if self.has_diffs_under_way(key) {
            // The change is seen before it is judged.
            return;
        }
        if self.is_typing() {
            let wait = crate::nvim::on_mode_change(&self.editor);
            if let Err(error) = wait {
                self.editor.notify(&error.to_string(), crate::nvim::editor::Level::Error);
            }
            return;
        }
        self.put_up(key, ask);
    }

    /// Opens the picker for a question, also one that was put off.
    pub fn put_up(&mut self, key: SessionKey, ask: AskId) {
        let Some(session) = self.sessions.get(&key) else { return };
        let Some(open) = session.asks().iter().find(|open| open.ask == ask) else { return };
        let call = session.entry(open.entry).and_then(|entry| entry.tool());
        let title = call.map(|call| call.headline()).unwrap_or_default();
        let counts = call.map(|call| {
            let files = call.diffs().count();
            let (added, removed) = call
                .diffs()
                .map(crate::core::transcript::count_lines)
                .fold((0, 0), |(a, r), (x, y)| (a + x, r + y));
            match files {
                0 => String::new(),
                1 => format!(" (+{added} -{removed})"),
                _ => format!(" ({files} files, +{added} -{removed})"),
            }
        });
        let prompt = format!("{} asks: {title}{}", session.name(), counts.unwrap_or_default());
        let ids: Vec<String> = open.options.iter().map(|option| option.id.clone()).collect();
        let items: Vec<String> = open.options.iter().map(|option| option.name.clone()).collect();
        self.asking.open = Some(ask);
        if let Err(error) = self.draw_now() {
            self.editor.notify(&error.to_string(), crate::nvim::editor::Level::Error);
        }
        self.effects.push_back(Box::new(move |editor| {
            let shown = select(editor, &prompt, "acp_permission", items, move |index| {
                let chosen = index.and_then(|index| ids.get(index).cloned());
                crate::nvim::run(move |app| app.picked(key, ask, chosen));
            });
            if let Err(error) = shown {
                let text = format!("the picker failed ({error}); :Acp allow or :Acp reject answers");
                editor.notify(&text, crate::nvim::editor::Level::Error);
            }
        }));
    }

    /// The picker closed. Without a choice the question is rejected once where the agent offers that,
    /// and else stays open; it is never allowed.
    fn picked(&mut self, key: SessionKey, ask: AskId, chosen: Option<String>) -> Result<()> {
        if self.asking.open == Some(ask) {
            self.asking.open = None;
        }
        self.asking.retry = true;
        let fallback = || {
            let open = self.sessions.get(&key)?.asks().iter().find(|open| open.ask == ask)?;
            let reject = open.options.iter().find(|option| option.kind == PermissionKind::RejectOnce)?;
            Some(reject.id.clone())
        };
        match chosen.or_else(fallback) {
            Some(option) => self.answer(key, ask, &option),
            None => {
                self.asking.put_off.push(ask);
                Ok(())
            }
        }
    }

    /// Whether a picker would take the keys of somebody who is writing.
    fn is_typing(&self) -> bool {
        let (mode, blocking) = self.editor.mode();
        if blocking {
            return true;
        }
        if mode == "n" {
            return false;
        }
        // An empty prompt is where one waits for the agent.
        let waits_in_prompt = || -> Result<bool> {
            let buf = self.editor.current_buf()?;
            let Some(chat) = self.chats.values().find(|chat| chat.prompt == buf) else { return Ok(false) };
            Ok(chat.prompt_text(&self.editor)?.trim().is_empty())
        };
        !(mode.starts_with('i') && waits_in_prompt().unwrap_or(false))
    }
}
