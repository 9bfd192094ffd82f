//! What a question is about is brought on the screen before it is asked: in a file or on a page by the review, else in
//! the chat.

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::session::question_queue::Sight;
use crate::core::session::staged::Shape;
use crate::nvim::app::App;
use crate::nvim::questions::Questions;

impl App {
    /// Asks what is asked next, if the user is not busy.
    pub(super) fn ask_next(&mut self) {
        let front = self.asking.front(&self.cx);
        let sight = self.bring_up(front).unwrap_or_else(|error| {
            self.cx.editor.notify_error(Err(error));
            Sight::Whole
        });
        self.asking.ask_next(&mut self.cx, front, (sight, self.reviews.preview()));
    }

    /// Has the screen show what a question is about; says how much of it can be seen.
    fn bring_up(&mut self, front: Option<(SessionKey, AskId)>) -> Result<Sight> {
        let about = Questions::call_asked_about(&self.cx, front);
        let call = about.map(|about| about.call);
        let shape = self.reviews.stage(&mut self.cx, about.map(|about| (about.call, about.covered)))?;
        let shape = shape.with_call(about.is_some_and(|about| about.is_cut));
        if let Some((_, ask)) = front.filter(|_| shape.is_on_screen()) {
            self.asking.see(ask);
        }
        let in_chat = call.filter(|_| shape == Shape::InChat);
        self.chats.unfold_asked(&mut self.cx, in_chat);
        self.route()?;
        self.chats.enter_put_away(&self.cx, in_chat)?;
        let covered = about.map_or(0, |about| about.covered);
        let in_chat = in_chat.map(|call| self.chats.sight_of(&self.cx, call, covered)).transpose()?;
        Questions::sight(&self.cx, shape, covered, in_chat)
    }
}
