//! The router's part for questions: what others need of them, and what they need to know of others.

use std::rc::Rc;

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::message::PermissionKind;
use crate::core::session::question_queue::{OpenQuestions, Sight};
use crate::nvim::app::App;
use crate::nvim::arguments::fail;
use crate::nvim::editor::picker::is_popup;
use crate::nvim::questions::permission::Decision;
use crate::nvim::questions::queue::Known;
use crate::nvim::questions::{KeyAnswer, Questions};
use crate::nvim::review::stage::Shape;

impl App {
    /// Brings on the screen what is asked about next, and asks if the user is not busy.
    pub fn ask_next(&mut self) {
        let others: Vec<_> = self.cx.conflicts.waiting().collect();
        let front = self.asking.front(&self.cx, &others);
        let sight = self.bring_up(front).unwrap_or_else(|error| {
            self.cx.editor.notify_error(Err(error));
            Sight::Whole
        });
        // What a call proposes says more than what it does.
        let staged = self.reviews.preview();
        let preview = match staged.is_empty() {
            true => Rc::new(Questions::subject_lines(&self.cx, front)),
            false => staged,
        };
        self.asking.ask_next(&mut self.cx, &Known { others, sight, preview });
    }

    /// Has the screen show what a question is about; says how much of it can be seen.
    fn bring_up(&mut self, front: Option<(SessionKey, AskId)>) -> Result<Sight> {
        let call = front.and_then(|(key, ask)| {
            let entry = self.cx.sessions.get(&key)?.open_ask(ask).filter(|open| open.is_permission())?.entry;
            Some(((key, entry), Questions::picker_rows(&self.cx, key, ask)))
        });
        let mut shape = self.reviews.stage(&mut self.cx, call)?;
        if let (Shape::Nothing, Some((call, _))) = (shape, call)
            && Questions::is_cut(&self.cx, call)
        {
            shape = Shape::InChat;
        }
        if let (Shape::Whole | Shape::Part | Shape::InChat, Some((_, ask))) = (shape, front) {
            self.asking.see(ask);
        }
        let in_chat = call.map(|(call, _)| call).filter(|_| shape == Shape::InChat);
        let touched = self.chats.unfold_asked(&mut self.cx, in_chat);
        for key in &touched {
            self.after_change(*key)?;
        }
        if !touched.is_empty() {
            self.draw_now()?;
        }
        self.chats.enter_put_away(&self.cx, in_chat)?;
        let sight = match (shape, call) {
            (Shape::Pending, _) => return Ok(Sight::Pending),
            (Shape::Blocked, _) if self.cx.config.permission.open == OpenQuestions::Auto => {
                return Ok(Sight::Blocked);
            }
            (Shape::InChat, Some((call, covered))) => self.chats.sight_of(&self.cx, call, covered)?,
            (Shape::Part, _) => Sight::Part,
            // How many rows it takes at the end of the screen is then of no use.
            (Shape::Whole, Some((_, covered))) if covered > 0 && is_popup(&self.cx.editor)? => Sight::Part,
            _ => Sight::Whole,
        };
        // Other pickers leave the screen to the user.
        let is_builtin = call.is_some_and(|(_, covered)| covered > 0);
        Ok(if is_builtin { sight } else { Sight::Whole })
    }

    /// Opens the question about what is on the screen.
    pub fn answer_staged(&mut self) -> Result<()> {
        let others: Vec<_> = self.cx.conflicts.waiting().collect();
        match self.asking.to_answer(&self.cx, &others) {
            Some(ask) => {
                self.show_question(ask);
                Ok(())
            }
            None => fail("nothing waits for you"),
        }
    }

    /// The key that sends: with nothing to send it opens what the session asks.
    pub fn send_or_answer(&mut self, key: SessionKey) -> Result<()> {
        let is_blank = self
            .cx
            .chats
            .get(&key)
            .is_some_and(|chat| chat.is_prompt_blank(&self.cx.editor).unwrap_or(false));
        let asks = self.cx.sessions.get(&key).into_iter().flat_map(|session| session.asks());
        let conflicts = self.cx.conflicts.waiting().filter(|(session, _)| *session == key);
        let waiting = asks.map(|open| (key, open.ask)).chain(conflicts).collect();
        match self.asking.seen_last_of(waiting).filter(|_| is_blank) {
            Some(ask) => {
                self.show_question(ask);
                Ok(())
            }
            None => self.send_prompt(key),
        }
    }

    pub fn show_question(&mut self, ask: AskId) {
        self.asking.take_up(ask);
    }

    /// The answer that the key of this number gives in the chat, to the question under the cursor.
    pub fn answer_here(&self, number: usize) -> Option<KeyAnswer> {
        let (session, entry) = self.entry_here().ok()??;
        self.asking.answer_of_key(&self.cx, session, entry, number)
    }

    pub fn answer_by_key(&mut self, answer: &KeyAnswer) -> Result<()> {
        self.asking.answer_by_key(&mut self.cx, answer);
        self.route()
    }

    pub fn answer_question(&mut self, word: Option<&str>) -> Result<()> {
        let others: Vec<_> = self.cx.conflicts.waiting().collect();
        let under_cursor = self.ask_under_cursor();
        self.asking.answer_question(&mut self.cx, word, (under_cursor, &others))
    }

    pub fn decide(
        &mut self,
        named: Option<&str>,
        kinds: &'static [PermissionKind],
        fits: fn(&PermissionKind) -> bool,
    ) -> Result<()> {
        let decision = Decision { named: named.map(str::to_owned), kinds, fits };
        let under_cursor = self.ask_under_cursor();
        self.asking.decide(&mut self.cx, under_cursor, decision)
    }

    /// The question of the entry under the cursor, in a chat.
    pub fn ask_under_cursor(&self) -> Option<AskId> {
        let (session, entry) = self.entry_here().ok()??;
        let asks = self.cx.sessions.get(&session)?.asks();
        asks.iter().find(|open| open.entry == entry).map(|open| open.ask)
    }

    pub fn tell_outside_rules(&mut self) -> Result<()> {
        Questions::tell_outside_rules(&mut self.cx)?;
        self.route()
    }
}
