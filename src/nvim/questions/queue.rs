//! The queue of the agents' questions: they are put to the user one at a time, and never over
//! somebody who is typing. One that was put off waits in the chat until the user takes it up. How a
//! question is asked is left to `permission` and `elicit`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use mlua::Result;

use crate::config::OpenQuestions;
use crate::core::ids::{AskId, SessionKey};
use crate::core::session::Wanted;
use crate::core::transcript::cut_end;
use crate::nvim::app::App;
use crate::nvim::autocommands::on_mode_change;
use crate::nvim::editor::picker;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::keys::{Given, quiet_for};
use crate::nvim::{later, run};

/// A question does not come before the user has been quiet for so long: what they are typing is not meant
/// for it. Shorter where one waits for the agent.
const QUIET: Duration = Duration::from_millis(700);
const QUIET_IN_CHAT: Duration = Duration::from_millis(300);

/// Which question is on the screen, and which the user put off.
#[derive(Default)]
pub struct Asking {
    shown: Option<Shown>,
    put_off: BTreeSet<AskId>,
    /// Since when each has waited.
    since: BTreeMap<AskId, Instant>,
    /// The user, who was busy, has been told of these.
    told: BTreeSet<AskId>,
    count: u64,
    /// When a key answered the last time.
    answered: Option<Instant>,
    /// A question came or went: see whether one can be shown.
    pub retry: bool,
    /// It will be looked at again when the user has been quiet for long enough.
    pausing: bool,
}

/// Whether a question may take the screen and the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Now,
    /// When no key comes for so long.
    After(Duration),
    /// Not where the user is now.
    Not,
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

    /// Whether a question has waited for so long that a key may be meant for it.
    fn has_been_seen(&self, ask: AskId) -> bool {
        self.since.get(&ask).is_some_and(|since| since.elapsed() >= QUIET_IN_CHAT)
    }
}

impl App {
    /// Puts the next question on the screen, if there is one and the user is not busy.
    pub fn ask_next(&mut self) {
        let sign = self.ask_or_wait();
        let done = self.cx.editor.sign(sign.as_deref());
        self.cx.editor.complain(done);
    }

    /// The same; gives what is to be on the screen while the question waits.
    fn ask_or_wait(&mut self) -> Option<String> {
        self.asking.retry = false;
        let waiting: Vec<(SessionKey, AskId)> = self
            .cx
            .sessions
            .values()
            .flat_map(|session| session.asks().iter().map(|open| (session.key, open.ask)))
            .chain(self.cx.conflicts.waiting())
            .collect();
        let waits = |ask: AskId| waiting.iter().any(|(_, other)| *other == ask);
        // One that is over without its picker; whatever that says later is about nothing.
        self.asking.shown = self.asking.shown.filter(|shown| waits(shown.ask));
        self.asking.put_off.retain(|ask| waits(*ask));
        self.asking.told.retain(|ask| waits(*ask));
        self.asking.since.retain(|ask, _| waits(*ask));
        for (_, ask) in &waiting {
            self.asking.since.entry(*ask).or_insert_with(Instant::now);
        }
        if self.asking.shown.is_some() {
            return None;
        }
        let (key, ask) = waiting.into_iter().find(|(_, ask)| !self.asking.was_put_off(*ask))?;
        if self.has_diffs_under_way(key) {
            // The change is seen before it is judged.
            return None;
        }
        let wait = match self.ready() {
            Ready::Now => {
                self.put_up(key, ask);
                return None;
            }
            Ready::After(_) if self.asking.pausing => return None,
            Ready::After(rest) => {
                self.asking.pausing = true;
                later(&self.cx.editor.lua, rest, |app| {
                    app.asking.pausing = false;
                    app.asking.retry = true;
                    Ok(())
                })
            }
            Ready::Not => {
                self.tell_busy(key, ask);
                // Never over somebody who types; but once they stop.
                self.cx.editor.complain(on_mode_change(&self.cx.editor));
                return self.waiting_sign(key, ask);
            }
        };
        self.cx.editor.complain(wait);
        None
    }

    /// What somebody sees who types elsewhere than in the chat: who waits, and how to answer.
    fn waiting_sign(&self, key: SessionKey, ask: AskId) -> Option<String> {
        let (mode, blocking) = self.cx.editor.mode();
        let typing = mode.starts_with(['i', 'R', 't']) && !blocking;
        let chat = self.chats.get(&key)?;
        let here = self.cx.editor.current_buf().is_ok_and(|buf| buf == chat.prompt || buf == chat.transcript);
        if !typing || here || !self.cx.config.notify {
            return None;
        }
        let how = match self.cx.config.permission.open {
            OpenQuestions::Never => ":Acp answer",
            _ if mode.starts_with('t') => "leave the terminal to answer",
            _ => "<Esc> to answer",
        };
        let prompt = self.permission_prompt(key, ask).or_else(|| {
            let session = self.cx.sessions.get(&key)?;
            Some(format!("{} asks", session.name()))
        })?;
        let room = usize::from(self.cx.editor.size().0).saturating_sub(how.len() + 8).max(20);
        Some(format!("{} \u{b7} {how}", cut_end(&prompt, room)))
    }

    /// Somebody who does not see the chat's last lines, or types elsewhere, is told once that a question
    /// waits. Whom `announce` has told is not told again.
    fn tell_busy(&mut self, key: SessionKey, ask: AskId) {
        let (mode, blocking) = self.cx.editor.mode();
        let Some(chat) = self.chats.get(&key) else { return };
        let here = self.cx.editor.current_buf().is_ok_and(|buf| buf == chat.prompt || buf == chat.transcript);
        let hidden = chat.window(&self.cx.editor).is_none();
        // A message would stand over the command line that is being typed.
        if here || hidden || self.signals.away || blocking || mode.starts_with('c') || !self.cx.config.notify
        {
            return;
        }
        let Some(prompt) = self.permission_prompt(key, ask) else { return };
        if !self.asking.told.insert(ask) {
            return;
        }
        let how = match self.cx.config.permission.open {
            OpenQuestions::Never => ":Acp answer",
            _ => "when you pause",
        };
        // A message that is longer than the line would have Neovim wait for a key.
        let room = usize::from(self.cx.editor.size().0).saturating_sub(how.len() + 24).max(20);
        let text = format!("{} ({how})", cut_end(&prompt, room));
        self.cx.advise(text, Level::Warn);
    }

    /// The answer that the key of this number gives in the chat, to the question under the cursor.
    pub fn answer_here(&self, number: usize) -> Option<Given> {
        let buf = self.cx.editor.current_buf().ok()?;
        let session = self.chats.values().find(|chat| chat.transcript == buf)?.session;
        let entry = self.entry_under_cursor(session).ok()??;
        let open = self.cx.sessions.get(&session)?.permission_of(entry)?;
        // A key that was on its way when the question came is not meant for it.
        let option =
            open.options().get(number.checked_sub(1)?).filter(|_| self.asking.has_been_seen(open.ask))?;
        Some(Given { session, ask: open.ask, option: option.id.clone() })
    }

    /// Says how a question is answered that was closed and stays open.
    pub fn left_open(&mut self, ask: AskId) {
        self.asking.put_off(ask);
        let keys = self.cx.config.keys.shown("answer");
        let keys = if keys.is_empty() { String::new() } else { format!("{keys} on it in the chat, or ") };
        let text = format!("left open; {keys}:Acp answer");
        // Not right below what a picker wrote on the screen, or Neovim would wait for a key.
        let soon = later(&self.cx.editor.lua, Duration::from_millis(10), move |app| {
            // Or what is drawn for that screen next, such as the mode, would wipe the message out.
            app.cx.editor.command("redraw")?;
            app.cx.editor.notify(&text, Level::Info);
            Ok(())
        });
        self.cx.editor.complain(soon);
    }

    /// A key in the chat answers.
    pub fn answer_by_key(&mut self, given: &Given) -> Result<()> {
        self.asking.answered = Some(Instant::now());
        self.answer(given.session, given.ask, &given.option)
    }

    /// Whether a key has just answered: another one like it was meant for the same question.
    pub fn has_just_answered(&self) -> bool {
        self.asking.answered.is_some_and(|at| at.elapsed() < QUIET)
    }

    /// Asks a question, also one that was put off.
    pub fn put_up(&mut self, key: SessionKey, ask: AskId) {
        let open = self.cx.sessions.get(&key).and_then(|session| session.open_ask(ask));
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
        let done = self.draw_now();
        self.cx.editor.complain(done);
        self.cx.effects.push_back(Box::new(move |editor| {
            let answer = Box::new(move |answer: Option<T>| {
                run(move |app| {
                    if app.asking.close(shown) {
                        return then(app, answer);
                    }
                    if answer.is_some()
                        && !app.cx.conflicts.is_open(ask)
                        && !app.cx.sessions.values().any(|session| session.open_ask(ask).is_some())
                    {
                        app.cx.editor.notify("the agent no longer waits for this answer", Level::Info);
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
    fn ready(&self) -> Ready {
        let (mode, blocking) = self.cx.editor.mode();
        if blocking {
            return Ready::Not;
        }
        match self.cx.config.permission.open {
            OpenQuestions::Always => return Ready::Now,
            OpenQuestions::Never => return Ready::Not,
            OpenQuestions::Auto => {}
        }
        let look = || -> Result<Option<Duration>> {
            let buf = self.cx.editor.current_buf()?;
            let chat = self.chats.values().find(|chat| chat.transcript == buf || chat.prompt == buf);
            let quiet = if chat.is_some() { QUIET_IN_CHAT } else { QUIET };
            // An empty prompt is where one waits for the agent.
            let waits = match chat.filter(|chat| chat.prompt == buf) {
                Some(chat) => mode.starts_with('i') && chat.is_prompt_blank(&self.cx.editor)?,
                None => false,
            };
            // In a floating window somebody else's picker may be open, and in the command-line window no
            // other window can be gone to.
            let elsewhere = chat.is_none() && self.cx.editor.is_floating(self.cx.editor.current_win()?)
                || !self.cx.editor.func::<String>("getcmdwintype", ())?.is_empty();
            Ok((waits || mode == "n" && !elsewhere).then_some(quiet))
        };
        match look() {
            Ok(Some(quiet)) => match quiet.checked_sub(quiet_for()) {
                Some(rest) if !rest.is_zero() => Ready::After(rest),
                _ => Ready::Now,
            },
            // Where the user is cannot be told: they are left alone.
            Ok(None) | Err(_) => Ready::Not,
        }
    }
}
