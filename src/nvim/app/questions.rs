//! The router's part for questions: what others need of them, and what they need to know of others.

use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::message::{Access, Branch, PermissionKind, Question};
use crate::core::store::allowlist::Allowed;
use crate::nvim::app::App;
use crate::nvim::questions::queue::Known;
use crate::nvim::questions::{KeyAnswer, Questions};

impl App {
    /// Shows the next question, if there is one and the user is not busy.
    pub fn ask_next(&mut self) {
        let reviews = &self.reviews;
        let is_visible = |key: SessionKey| !reviews.is_placing(key);
        let known = Known { others: self.cx.conflicts.waiting().collect(), is_visible: &is_visible };
        self.asking.ask_next(&mut self.cx, &known);
    }

    pub fn put_up(&mut self, key: SessionKey, ask: AskId) {
        self.asking.show(&mut self.cx, key, ask);
    }

    /// The answer that the key of this number gives in the chat, to the question under the cursor.
    pub fn answer_here(&self, number: usize) -> Option<KeyAnswer> {
        let buf = self.cx.editor.current_buf().ok()?;
        let (session, _) = self.cx.chats.iter().find(|(_, chat)| chat.transcript == buf)?;
        let entry = self.entry_under_cursor(*session).ok()??;
        self.asking.answer_of_key(&self.cx, *session, entry, number)
    }

    pub fn answer_by_key(&mut self, answer: &KeyAnswer) -> Result<()> {
        self.asking.answer_by_key(&mut self.cx, answer);
        self.route()
    }

    pub fn has_just_answered(&self) -> bool {
        self.asking.has_just_answered()
    }

    pub fn answer_question(&mut self, word: Option<&str>) -> Result<()> {
        let other = self.cx.conflicts.waiting().next();
        self.asking.answer_question(&mut self.cx, word, other)?;
        self.route()
    }

    pub fn decide(
        &mut self,
        named: Option<&str>,
        kinds: &[PermissionKind],
        fits: fn(&PermissionKind) -> bool,
    ) -> Result<()> {
        self.asking.decide(&mut self.cx, named, kinds, fits)?;
        self.route()
    }

    pub fn elicited(
        &mut self,
        by: (SessionKey, Option<&Branch>),
        ask: AskId,
        question: Question,
        now: Moment,
    ) -> Result<()> {
        Questions::elicited(&mut self.cx, by, ask, question, now);
        self.route()
    }

    pub fn asked_outside(
        &mut self,
        key: SessionKey,
        ask: AskId,
        paths: (PathBuf, PathBuf),
        access: (Access, bool),
        now: Moment,
    ) -> Result<()> {
        Questions::asked_outside(&mut self.cx, (key, ask), paths, access, now);
        self.route()
    }

    pub fn tell_outside_rules(&mut self) -> Result<()> {
        Questions::tell_outside_rules(&mut self.cx)?;
        self.route()
    }

    pub fn list_allowed(&mut self) -> Result<()> {
        Questions::list_allowed(&mut self.cx);
        self.route()
    }

    pub fn offer_allowed(&mut self, allowed: Vec<Allowed>, trouble: Option<String>) -> Result<()> {
        Questions::offer_allowed(&mut self.cx, allowed, trouble);
        Ok(())
    }
}
