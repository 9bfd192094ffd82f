//! The router's part for sessions: what others want of them, and what the others do when a session is
//! prompted, stopped, restarted or closed.

use std::path::PathBuf;

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::config::Stay;
use crate::core::ids::{AgentId, EntryId, SessionKey};
use crate::core::message::{Content, Launch, Reopen, Severity};
use crate::core::store::record::Kept;
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::garbage::collect_garbage;
use crate::nvim::sessions::Sessions;
use crate::nvim::sessions::lifecycle::Stop;
use crate::nvim::sessions::{status, subagents};

impl App {
    // From opening to closing.

    /// Opens a session and its chat; the agent comes up behind it.
    pub fn open_chat(
        &mut self,
        launch: Launch,
        cwd: PathBuf,
        stored: Option<(String, Reopen)>,
    ) -> Result<SessionKey> {
        let key = self.sessions.open(&mut self.cx, launch, cwd, stored);
        self.route()?;
        Ok(key)
    }

    /// Goes on with a session that the record knows, once it is known how its agent is started.
    pub(super) fn open_recorded(&mut self, kept: Kept) -> Result<()> {
        let (name, cwd) = (kept.owner.agent.clone(), kept.owner.cwd.clone());
        self.launch_agent(&name, cwd, move |app, launch| {
            app.agents.hide(&app.cx)?;
            app.sessions.open_recorded(&mut app.cx, kept, launch);
            app.route()
        })
    }

    pub fn prompt(&mut self, key: SessionKey, content: Vec<Content>) -> Result<()> {
        let content = self.reviews.with_undone(&self.cx, key, content);
        let content = self.prompts.with_before(key, content);
        self.reviews.settle_reviews(&mut self.cx, key, Stay::Prompt)?;
        self.route()?;
        Sessions::prompt(&mut self.cx, key, content)?;
        self.route()
    }

    /// Sends a prompt into the turn that runs, or as the next one.
    pub fn steer(&mut self, key: SessionKey, content: Vec<Content>) -> Result<()> {
        match Sessions::steer(&mut self.cx, key, content) {
            Some(content) => self.prompt(key, content),
            None => self.route(),
        }
    }

    /// A prompt has gone out.
    pub fn turn_started(&mut self, key: SessionKey, content: &[Content]) -> Result<()> {
        self.sessions.turn_started(&mut self.cx, key);
        self.checkpoints.turn_started(&mut self.cx, key, content);
        self.sessions.keep_prompt(&mut self.cx, key, content);
        self.serve_commands()
    }

    /// The subagent that the cursor is on in the chat, if it can be stopped by itself.
    pub fn subagent_under_cursor(&self, key: SessionKey) -> Result<Option<EntryId>> {
        let entry = self.chats.entry_under_cursor(&self.cx, key)?;
        Ok(entry.and_then(|entry| subagents::stoppable_at(&self.cx, key, entry)))
    }

    /// Stops one of the subagents: that under the cursor, else the only one, else the one that the user picks.
    pub fn choose_subagent(&mut self, key: SessionKey) -> Result<()> {
        let here = self.subagent_under_cursor(key)?;
        subagents::choose(&mut self.cx, key, here)
    }

    /// The user stops what a session is doing: what waits for the turn to end waits for them. Says whether there
    /// was anything to stop.
    pub fn cancel(&mut self, key: SessionKey) -> Result<bool> {
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            session.hold_queue();
        }
        self.cancel_turn(key)
    }

    /// Stops what a session is doing, and goes on with what waits.
    pub fn cancel_turn(&mut self, key: SessionKey) -> Result<bool> {
        let commands = match self.sessions.cancel(&mut self.cx, key) {
            Stop::Nothing => return Ok(false),
            Stop::Told => {
                self.route()?;
                // No event of the agent's follows by which it would be.
                self.chats.draw_now(&self.cx)?;
                return Ok(true);
            }
            Stop::Send(commands) => commands,
        };
        let any = !commands.is_empty();
        self.files.drop_conflicts(&mut self.cx, key)?;
        self.route()?;
        self.send_all(commands)?;
        self.after_change(key)?;
        Ok(any)
    }

    /// Starts a session's agent again, in the same chat. The old process is ended if it still runs and
    /// nobody else uses it.
    pub fn restart(&mut self, key: SessionKey) -> Result<()> {
        if self.sessions.open_anew(&mut self.cx, key) {
            return self.route();
        }
        let Some(launch) = self.sessions.relaunch(&self.cx, key)? else { return Ok(()) };
        // The session's files are watched anew once they are named in the next one.
        self.files.watching.edits_over(&mut self.cx, key);
        self.files.watching.ended(key);
        self.sessions.leave_agent(&mut self.cx, key);
        self.route()?;
        self.sessions.restart(&mut self.cx, key, launch);
        self.route()
    }

    /// An agent has put a session away, or brought it back. The chat of one that was open here goes with it.
    pub fn archived(&mut self, agent: AgentId, open: Option<SessionKey>, archived: bool) -> Result<()> {
        let text = match archived {
            true => "the session is archived; :Acp! archive brings it back",
            false => "the session is in the list again: :Acp sessions",
        };
        let Some(key) = open else {
            Sessions::note(&mut self.cx, (agent, None), Severity::Info, text.to_owned());
            return self.route();
        };
        self.close_session(key)?;
        self.cx.notify(text, Level::Info);
        Ok(())
    }

    /// Ends a session for good: its chat goes, and its agent too when nobody else uses it.
    pub fn close_session(&mut self, key: SessionKey) -> Result<()> {
        if !self.cx.sessions.contains_key(&key) {
            return Ok(());
        }
        self.sessions.end_turn(&mut self.cx, key);
        self.cx.emit("AcpClosed", key, json!({}));
        self.prompts.forget_prompt(&mut self.cx, key)?;
        self.route()?;
        self.sessions.close(&mut self.cx, key);
        self.route()?;
        let other = self.cx.sessions.keys().rev().find(|other| **other != key).copied();
        let was_current = self.cx.current == Some(key);
        if let Some(other) = other.filter(|_| self.chats.is_shown(&self.cx, key)) {
            self.show_in_place(key, other)?;
        }
        self.forget_session(key)?;
        collect_garbage(&self.cx.editor)?;
        if was_current {
            self.cx.current = other;
        }
        self.files.guard_all(&mut self.cx)
    }

    /// The windows of a chat that is about to go show another one. The cursor goes along only if it was there.
    fn show_in_place(&mut self, gone: SessionKey, other: SessionKey) -> Result<()> {
        let (win, buf) = (self.cx.editor.current_win()?, self.cx.editor.current_buf()?);
        let was_there =
            self.cx.chats.get(&gone).is_some_and(|chat| chat.prompt == buf || chat.transcript == buf);
        let was_normal = self.cx.editor.mode().0 == "n";
        self.show_undrawn(other)?;
        if was_normal {
            // Nobody asked to type there.
            self.cx.editor.command("stopinsert")?;
        }
        self.cx.editor.command("redraw")?;
        match was_there || !self.cx.editor.win_is_valid(win) {
            true => Ok(()),
            false => self.cx.editor.set_current_win(win),
        }
    }

    /// Each feature lets go of what it has of a session.
    fn forget_session(&mut self, key: SessionKey) -> Result<()> {
        let editor = self.cx.editor.clone();
        self.reviews.clear_proposals(&self.cx, key)?;
        self.follow.forget(&editor, key)?;
        self.terminals.forget(&mut self.cx, key)?;
        self.close_chat(key)?;
        self.files.drop_conflicts(&mut self.cx, key)?;
        self.route()?;
        self.prompts.forget_notes(key);
        self.reviews.forget(key);
        self.checkpoints.forget_turn(&mut self.cx, key);
        self.files.views.forget(key);
        if let Some(session) = self.cx.sessions.remove(&key) {
            self.discard(session);
        }
        self.sessions.forget(&mut self.cx, key);
        self.files.watching.ended(key);
        Ok(())
    }

    // What users choose.

    // What others want to know, and to have told.

    /// What `require("acp").status()` gives: the session used last comes first.
    pub fn status(&self, only: Option<SessionKey>) -> Json {
        let mut keys: Vec<SessionKey> = self.cx.sessions.keys().copied().collect();
        let here = self.cx.session_here();
        keys.sort_by_key(|key| (Some(*key) != here, std::cmp::Reverse(*key)));
        keys.retain(|key| only.is_none_or(|only| only == *key));
        let sessions = keys
            .into_iter()
            .filter_map(|key| status::of_session(&self.cx, key, self.follow.location_status(&self.cx, key)));
        let sessions: Vec<Json> = sessions.collect();
        let agents = self.sessions.agents_status();
        let unwatched = self.files.watching.unwatched_status();
        json!({
            "sessions": sessions,
            "agents": agents,
            "log": self.cx.log(),
            "following": self.follow.is_following(&self.cx),
            "unwatched": unwatched,
        })
    }

    /// Has the status at hand for those who ask while the app is busy. Once in a drain: there may be a hundred
    /// sessions.
    pub fn refresh_status(&mut self) {
        if self.sessions.takes_status() {
            status::keep(self.status(None));
        }
    }
}
