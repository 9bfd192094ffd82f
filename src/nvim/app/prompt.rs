//! A prompt on its way: from what was typed to the agent, with what others have to say to it.

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::core::ids::SessionKey;
use crate::core::message::{Command, Content};
use crate::nvim::app::App;
use crate::nvim::app_of;
use crate::nvim::arguments::Args;
use crate::nvim::events::SendMode;
use crate::nvim::guard::Features;
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::asker::Asker;
use crate::nvim::sessions::Sessions;

impl App {
    /// Sends a prompt, and says in which turn of which session it will be answered: at once, or to `then` when a
    /// session has to be begun for it.
    pub fn send_for_answer(&mut self, args: Args) -> Result<Json> {
        let is_meant = args.session.is_some();
        if let Some(key) = self.cx.session_here().filter(|key| is_meant || !self.cx.is_dead(*key)) {
            return self.send_numbered(key, args);
        }
        let win = self.cx.editor.current_win()?;
        let asker = Asker::new(args.then.clone());
        let send = move |features: &mut dyn Features, key| {
            let app = app_of(features);
            Prompts::stay_in(&app.cx, win)?;
            asker.begun(app.send_numbered(key, args)?);
            Ok(())
        };
        self.begin_with(None, Box::new(send))?;
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

    /// What a prompt refers to was read.
    pub(super) fn prompt_ready(
        &mut self,
        key: SessionKey,
        content: Vec<Content>,
        mode: SendMode,
    ) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let stops = mode == SendMode::Now && session.keeps_prompts_waiting();
        let waits = matches!(mode, SendMode::InLine | SendMode::InPlace);
        let content = match waits || stops {
            true => Some(content),
            false => Sessions::steer(&mut self.cx, key, content),
        };
        let Some(content) = content else { return Ok(()) };
        self.prompt(key, content, mode)?;
        if stops {
            Sessions::hurry_last(&mut self.cx, key);
            self.cancel(key, false)?;
        }
        Ok(())
    }

    pub(super) fn prompt(&mut self, key: SessionKey, content: Vec<Content>, mode: SendMode) -> Result<()> {
        let content = self.reviews.prompted(&mut self.cx, key, content)?;
        self.route()?;
        let content = self.prompts.with_before(key, content);
        Sessions::prompt(&mut self.cx, key, content, mode)?;
        self.route()
    }

    /// A prompt goes out: its agent is told of unsaved edits first, which may take a while.
    pub(super) fn send_with_note(&mut self, session: SessionKey, content: Vec<Content>) -> Result<()> {
        let outgoing = self.prompts.outgoing(&mut self.cx, session, content)?;
        if outgoing.is_about_files {
            // The files hear of it first.
            self.route()?;
        }
        match self.prompts.with_note(&mut self.cx, outgoing)? {
            Some(content) => self.dispatch(Command::Prompt { session, content }),
            None => Ok(()),
        }
    }
}
