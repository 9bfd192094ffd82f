//! The router's part for prompts: what others tell them, and what they need to know of others.

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Command, Content};
use crate::core::session::references::Reference;
use crate::core::text::{Text, one_line};
use crate::core::transcript::cut_middle;
use crate::nvim::app::App;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::events::SendMode;
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::asker::Asker;

impl App {
    // Sending.

    /// Sends a prompt, and says in which turn of which session it will be answered: at once, or to `then` when a
    /// session has to be begun for it.
    pub fn send_for_answer(&mut self, args: Args) -> Result<Json> {
        let is_meant = args.session.is_some();
        if let Some(key) = self.cx.session_here().filter(|key| is_meant || !self.cx.is_dead(*key)) {
            return self.send_numbered(key, args);
        }
        let win = self.cx.editor.current_win()?;
        let asker = Asker::new(args.then.clone());
        self.begin_with(None, move |app, key| {
            Prompts::stay_in(&app.cx, win)?;
            asker.begun(app.send_numbered(key, args)?);
            Ok(())
        })?;
        Ok(Json::Null)
    }

    fn send_numbered(&mut self, key: SessionKey, args: Args) -> Result<Json> {
        let meant = self.cx.meant.replace(key);
        let sent = self.prompts.send_text(&mut self.cx, args).and_then(|()| self.route());
        self.cx.meant = meant;
        sent?;
        let turn = self.sessions.turn_of(key) + self.prompts.count_waiting(&self.cx, key);
        Ok(json!({ "session": key.0, "turn": turn }))
    }

    pub(super) fn submit(&mut self, key: SessionKey, text: &Text, mode: SendMode) -> Result<()> {
        self.prompts.submit(&mut self.cx, key, (text, mode), &self.terminals.bufs())
    }

    pub fn referred(&mut self, prompt: (SessionKey, u64), found: Vec<Reference>) -> Result<()> {
        self.prompts.referred(&mut self.cx, prompt, found, &self.terminals.bufs())
    }

    /// Steers the turn where that can be, else stops it and sends this next.
    pub fn prompt_now(&mut self, key: SessionKey, content: Vec<Content>) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        if !session.is_working() || session.can_be_steered() {
            return self.steer(key, content);
        }
        self.prompt(key, content)?;
        if let Some(session) = self.cx.sessions.get_mut(&key)
            && let Some(last) = session.queue().len().checked_sub(1)
        {
            session.move_queued(last, 0);
        }
        self.after_change(key)?;
        self.cancel_turn(key).map(drop)
    }

    /// A prompt goes out: its agent is told of unsaved edits first, which may take a while.
    pub fn send_with_note(&mut self, session: SessionKey, content: Vec<Content>) -> Result<()> {
        let outgoing = self.prompts.outgoing(&mut self.cx, session, content)?;
        for buf in &outgoing.saved {
            self.reviews.saved(&self.cx, *buf);
            self.files.buffer_saved(&mut self.cx, *buf)?;
            self.route()?;
        }
        for (_, buf) in &outgoing.unsaved {
            // What the edits began with is needed for more than this.
            self.files.buffer_modified(&mut self.cx, *buf)?;
            self.route()?;
        }
        match self.prompts.with_note(&mut self.cx, outgoing)? {
            Some(content) => self.dispatch(Command::Prompt { session, content }),
            None => Ok(()),
        }
    }

    // The prompts of before, and those that wait.

    /// Lets the user edit an earlier prompt of the session, the one at the cursor or one that they choose, in a
    /// session of its own.
    pub fn edit_prompt(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.is_working() {
            return fail("the agent is at work; edit the prompt after :Acp cancel");
        }
        let prompts = session.prompt_entries();
        let here =
            self.chats.entry_here(&self.cx)?.filter(|(session, _)| *session == key).map(|(_, entry)| entry);
        if let Some((entry, text)) = prompts.iter().find(|(entry, _)| Some(*entry) == here).cloned() {
            return self.edit_in_new_session(key, entry, text);
        }
        if prompts.is_empty() {
            return fail("no prompt was sent in this session yet");
        }
        let items = prompts.iter().rev().map(|(_, text)| cut_middle(&one_line(text), 120)).collect();
        self.offer("Edit and send again", "acp_edit_prompt", items, move |app, index| {
            let (entry, text) = prompts[prompts.len() - 1 - index].clone();
            app.edit_in_new_session(key, entry, text)
        })
    }

    fn edit_in_new_session(&mut self, key: SessionKey, entry: EntryId, text: Text) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return fail("the session is gone") };
        let (before, cwd) = (session.before(entry), session.place.cwd.clone());
        let Some(launch) = self.sessions.relaunch(&self.cx, key)? else { return fail("the session is gone") };
        let new = self.open_chat(launch, cwd, None)?;
        self.prompts.edit_again(&mut self.cx, new, &text, before)?;
        self.route()
    }
}
