//! The queue of the agents' questions: they are put to the user one at a time, and never over
//! somebody who is typing. One that was put off waits in the chat until the user takes it up. How a
//! question is asked is left to `permission` and `elicit`.

use std::collections::BTreeSet;

use mlua::Result;

use crate::core::message::{AskId, SessionKey};
use crate::core::session::Wanted;
use crate::nvim::app::App;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::{on_mode_change, picker, run};

/// Which question is on the screen, and which the user put off.
#[derive(Default)]
pub struct Asking {
    shown: Option<Shown>,
    put_off: BTreeSet<AskId>,
    count: u64,
    /// A question came or went: see whether one can be shown.
    pub retry: bool,
}

/// One picker, for one question. Only the newest is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    ask: AskId,
    number: u64,
}

impl Asking {
    /// The question has the screen from now on; what earlier pickers say is about nothing.
    pub fn show(&mut self, ask: AskId) -> Shown {
        self.count += 1;
        let shown = Shown { ask, number: self.count };
        self.shown = Some(shown);
        shown
    }

    /// A picker has answered. Says whether it is listened to; then the screen is free again.
    pub fn close(&mut self, shown: Shown) -> bool {
        let current = self.shown == Some(shown);
        if current {
            self.shown = None;
            self.retry = true;
        }
        current
    }

    /// The question waits in the chat until the user takes it up.
    pub fn put_off(&mut self, ask: AskId) {
        self.put_off.insert(ask);
    }

    pub fn was_put_off(&self, ask: AskId) -> bool {
        self.put_off.contains(&ask)
    }
}

impl App {
    /// Puts the next question on the screen, if there is one and the user is not typing.
    pub fn ask_next(&mut self) {
        self.asking.retry = false;
        let waiting: Vec<(SessionKey, AskId)> = self
            .sessions
            .values()
            .flat_map(|session| session.asks().iter().map(|open| (session.key, open.ask)))
            .chain(self.conflicts.waiting())
            .collect();
        let waits = |ask: AskId| waiting.iter().any(|(_, other)| *other == ask);
        // One that is over without its picker; whatever that says later is about nothing.
        self.asking.shown = self.asking.shown.filter(|shown| waits(shown.ask));
        self.asking.put_off.retain(|ask| waits(*ask));
        if self.asking.shown.is_some() {
            return;
        }
        let Some((key, ask)) = waiting.into_iter().find(|(_, ask)| !self.asking.was_put_off(*ask)) else {
            return;
        };
        if self.has_diffs_under_way(key) {
            // The change is seen before it is judged.
            return;
        }
        if self.is_typing() {
            let wait = on_mode_change(&self.editor);
            if let Err(error) = wait {
                self.editor.notify(&error.to_string(), Level::Error);
            }
            return;
        }
        self.put_up(key, ask);
    }

    /// Asks a question, also one that was put off.
    pub fn put_up(&mut self, key: SessionKey, ask: AskId) {
        let open = self.sessions.get(&key).and_then(|session| session.open_ask(ask));
        match open.map(|open| &open.wanted) {
            Some(Wanted::Permission(_)) => self.put_up_permission(key, ask),
            Some(Wanted::Form(_)) => self.put_up_form(key, ask),
            Some(Wanted::Page(_)) => self.put_up_page(key, ask),
            None => self.put_up_conflict(ask),
        }
    }

    /// Lets the user choose an answer to a question that is open; `then` gets the index, or nothing.
    pub fn ask_to_choose(
        &mut self,
        ask: AskId,
        kind: &'static str,
        prompt: String,
        items: Vec<String>,
        then: impl FnOnce(&mut App, Option<usize>) -> Result<()> + 'static,
    ) {
        self.ask_with(ask, then, move |editor, answer| picker::select(editor, &prompt, kind, items, answer));
    }

    /// Lets the user type an answer to a question that is open.
    pub fn ask_to_type(
        &mut self,
        ask: AskId,
        prompt: String,
        text: String,
        then: impl FnOnce(&mut App, Option<String>) -> Result<()> + 'static,
    ) {
        self.ask_with(ask, then, move |editor, answer| picker::input(editor, &prompt, &text, answer));
    }

    fn ask_with<T: 'static>(
        &mut self,
        ask: AskId,
        then: impl FnOnce(&mut App, Option<T>) -> Result<()> + 'static,
        picker: impl FnOnce(&Editor, Box<dyn FnOnce(Option<T>)>) -> Result<()> + 'static,
    ) {
        let shown = self.asking.show(ask);
        if let Err(error) = self.draw_now() {
            self.editor.notify(&error.to_string(), Level::Error);
        }
        self.effects.push_back(Box::new(move |editor| {
            let answer = Box::new(move |answer: Option<T>| {
                run(move |app| {
                    if app.asking.close(shown) {
                        return then(app, answer);
                    }
                    if answer.is_some()
                        && !app.conflicts.is_open(ask)
                        && !app.sessions.values().any(|session| session.open_ask(ask).is_some())
                    {
                        app.editor.notify("the agent no longer waits for this answer", Level::Info);
                    }
                    Ok(())
                });
            });
            if let Err(error) = picker(editor, answer) {
                let text = format!("the picker failed ({error}); the chat says how to answer by command");
                editor.notify(&text, Level::Error);
                run(move |app| {
                    if app.asking.close(shown) {
                        app.asking.put_off(ask);
                    }
                    Ok(())
                });
            }
        }));
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
