//! What the features do when a session is stopped, restarted or closed, and what they know of it together.

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::core::ids::SessionKey;
use crate::core::session::Session;
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::garbage::collect_garbage;

impl App {
    /// Stops what a session is doing. Says whether there was anything to stop.
    pub fn cancel(&mut self, key: SessionKey, by_user: bool) -> Result<bool> {
        self.files.drop_conflicts(&mut self.cx, key)?;
        self.route()?;
        let any = self.sessions.cancel(&mut self.cx, key, by_user);
        self.route()?;
        Ok(any)
    }

    /// The same for a command, whose user may not see what comes of it.
    pub fn cancel_by_command(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let is_idle = !session.is_busy() && !session.has_conflict();
        let (before, still_running) = (session.held(), session.left().len());
        let any = self.cancel(key, true)?;
        let held = self.cx.sessions.get(&key).map_or(0, Session::held);
        let text = if is_idle && !any {
            match still_running {
                0 => "nothing is running".to_owned(),
                _ => "no turn is running; :Acp terminal kill ends what is left".to_owned(),
            }
        } else if held == before || self.cx.shows_chat(key) {
            return Ok(());
        } else {
            match held {
                1 => "1 queued prompt is held; :Acp queue".to_owned(),
                held => format!("{held} queued prompts are held; :Acp queue"),
            }
        };
        self.cx.notify(text, Level::Info);
        Ok(())
    }

    /// Starts a session's agent again, in the same chat. The old process is ended if it still runs and
    /// nobody else uses it.
    pub fn restart(&mut self, key: SessionKey) -> Result<()> {
        if self.sessions.open_anew(&mut self.cx, key) {
            return Ok(());
        }
        let Some(launch) = self.sessions.relaunch(&self.cx, key)? else { return Ok(()) };
        // The session's files are watched anew once they are named in the next one.
        self.files.watching.given_up(&mut self.cx, key);
        self.sessions.leave_agent(&mut self.cx, key);
        self.route()?;
        self.sessions.restart(&mut self.cx, key, launch);
        Ok(())
    }

    /// Ends a session as its user wants it: they are told what is left of a turn that runs.
    pub fn close_by_user(&mut self, key: SessionKey) -> Result<()> {
        let stopped = self.sessions.stopped_by_closing(&self.cx, key);
        self.close_session(key)?;
        if let Some(text) = stopped {
            self.cx.notify(text, Level::Info);
        }
        Ok(())
    }

    /// Ends a session for good: its chat goes, and its agent too when nobody else uses it.
    pub fn close_session(&mut self, key: SessionKey) -> Result<()> {
        if !self.cx.sessions.contains_key(&key) {
            return Ok(());
        }
        self.sessions.end_turn(&mut self.cx, key);
        self.prompts.forget_prompt(&mut self.cx, key)?;
        self.sessions.close(&mut self.cx, key);
        self.route()?;
        let other = self.cx.sessions.keys().rev().find(|other| **other != key).copied();
        let was_current = self.cx.current == Some(key);
        if let Some(other) = other.filter(|_| self.chats.is_shown(&self.cx, key)) {
            let seat = self.chats.seat(&self.cx, key)?;
            self.show_undrawn(other)?;
            seat.take_again(&self.cx.editor)?;
        }
        self.forget_session(key)?;
        collect_garbage(&self.cx.editor)?;
        if was_current {
            self.cx.current = other;
        }
        self.files.guard_all(&mut self.cx)
    }

    /// Each feature lets go of what it has of a session.
    fn forget_session(&mut self, key: SessionKey) -> Result<()> {
        let editor = self.cx.editor.clone();
        self.reviews.clear_proposals(&self.cx, key)?;
        self.follow.forget(&editor, key)?;
        self.terminals.forget(&mut self.cx, key)?;
        self.chats.close(&mut self.cx, key)?;
        self.files.drop_conflicts(&mut self.cx, key)?;
        self.route()?;
        self.prompts.forget_notes(key);
        self.reviews.forget(key);
        self.checkpoints.forget_turn(&mut self.cx, key);
        self.files.forget(key);
        self.sessions.forget(&mut self.cx, key);
        Ok(())
    }

    /// What `require("acp").status()` gives.
    pub fn status(&self) -> Json {
        let location = |key| self.follow.location_status(&self.cx, key);
        let mut status = self.sessions.status(&self.cx, &location);
        status["following"] = json!(self.follow.is_following(&self.cx));
        status["unwatched"] = json!(self.files.watching.unwatched_status());
        status
    }
}
