//! The router: gives the background's events to the features, and the features' events to each other, and
//! their commands to the background. Each feature owns its state; what is here puts them together. What may
//! call back into here (autocommands, pickers, users' handlers) waits as an effect until this is free.

mod begin;
mod changes;
mod chats;
mod editor_events;
mod events;
mod prompt;
mod questions;
mod sessions;
mod windows;

use std::any::{Any, TypeId};
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

use mlua::Result;

use crate::core::message::Command;
use crate::nvim::agents::Agents;
use crate::nvim::audit::Audit;
use crate::nvim::background::{Link, Places};
use crate::nvim::chat::Chats;
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::context::leftovers::Left;
use crate::nvim::editor::Editor;
use crate::nvim::extensions::Extensions;
use crate::nvim::files::Files;
use crate::nvim::follow::Follow;
use crate::nvim::guard::{Effect, Features};
use crate::nvim::inspector::Inspector;
use crate::nvim::prompt::Prompts;
use crate::nvim::questions::Questions;
use crate::nvim::review::Reviews;
use crate::nvim::rules::Rules;
use crate::nvim::sessions::Sessions;
use crate::nvim::terminals::Terminals;
use crate::nvim::tools::Tools;
use crate::nvim::usage::Usage;

pub struct App {
    pub cx: Context,
    link: Link,
    pub chats: Chats,
    pub follow: Follow,
    pub terminals: Terminals,
    pub asking: Questions,
    pub agents: Agents,
    pub extensions: Extensions,
    pub prompts: Prompts,
    pub sessions: Sessions,
    pub files: Files,
    pub reviews: Reviews,
    pub checkpoints: Checkpoints,
    pub usage: Usage,
    pub rules: Rules,
    pub audit: Audit,
    pub inspector: Inspector,
    pub tools: Tools,
}

impl App {
    pub fn new(editor: Rc<Editor>, link: Link, chats: Chats, agents: Agents) -> Result<Self> {
        let logs: String = editor.func("stdpath", "log")?;
        let records = Path::new(&editor.func::<String>("stdpath", "state")?).join("acp");
        Ok(Self {
            prompts: Prompts::new(&editor)?,
            cx: Context::new(editor, Path::new(&logs).join("acp.log")),
            link,
            chats,
            follow: Follow::default(),
            terminals: Terminals::default(),
            asking: Questions::default(),
            agents,
            extensions: Extensions::default(),
            sessions: Sessions::new(records.join("sessions")),
            files: Files::default(),
            checkpoints: Checkpoints::new(records.join("checkpoints")),
            reviews: Reviews::new(records.join("reviews")),
            rules: Rules::new(records.join("audit")),
            usage: Usage::new(records.join("usage")),
            audit: Audit::new(records.join("audit")),
            inspector: Inspector::default(),
            tools: Tools::default(),
        })
    }

    /// Serves what features have left: commands for the background, events for each other, and answers that
    /// others wait for. What one of these leads to is served before those that waited with it.
    pub fn route(&mut self) -> Result<()> {
        let mut waiting = VecDeque::new();
        loop {
            match self.serve_next(&mut waiting) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    self.cx.leftovers.put_back(waiting);
                    return Err(error);
                }
            }
        }
    }

    /// Says whether there was anything.
    fn serve_next(&mut self, waiting: &mut VecDeque<Left>) -> Result<bool> {
        self.serve_commands()?;
        match self.cx.leftovers.next(waiting) {
            Some(Left::Event(event)) => self.serve_event(event)?,
            Some(Left::Task(task)) => task(self)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    // To the background.

    fn serve_commands(&mut self) -> Result<()> {
        while let Some(command) = self.cx.take_command() {
            // What sending one leads to comes before those that wait: the start of the background above all.
            let waiting = self.cx.take_outbox();
            let sent = self.send_next(command).and_then(|()| self.serve_commands());
            self.cx.return_outbox(waiting);
            sent?;
        }
        self.cx.take_discarded().into_iter().for_each(|what| self.link.discard(what));
        Ok(())
    }

    fn send_next(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Prompt { session, content } => self.send_with_note(session, content),
            Command::Cancel { session } => {
                if let Some(content) = self.prompts.take_held(session) {
                    self.dispatch(Command::Prompt { session, content })?;
                }
                self.dispatch(Command::Cancel { session })
            }
            command => self.dispatch(command),
        }
    }

    fn dispatch(&mut self, command: Command) -> Result<()> {
        if !self.link.is_started() {
            self.start_background()?;
        }
        let prompt = match &command {
            Command::Prompt { session, content } => Some((*session, content.clone())),
            _ => None,
        };
        if let Some((session, _)) = &prompt {
            self.follow.turn_began(&mut self.cx, *session)?;
        }
        self.link.send(self.sessions.outgoing(&mut self.cx, command));
        let Some((session, content)) = prompt else { return Ok(()) };
        self.sessions.turn_started(&mut self.cx, session);
        self.checkpoints.turn_started(&mut self.cx, session, &content);
        self.sessions.keep_prompt(&mut self.cx, session, &content);
        self.serve_commands()
    }

    fn start_background(&mut self) -> Result<()> {
        let places = Places::of(&self.cx, self.audit.folder(), self.agents.bundled())?;
        self.link.start(&self.cx.config, places);
        self.cx.has_background = true;
        self.extensions.tell(&mut self.cx);
        self.tools.tell(&mut self.cx);
        Questions::tell_outside_rules(&mut self.cx)?;
        self.prompts.keep_images(&mut self.cx);
        self.files.tell_loaded(&mut self.cx)?;
        self.route()
    }

    /// Ends every process, or leaves that to the guard; waits for a short while at the most.
    pub fn shut_down(&mut self) {
        self.reviews.keep_all_now(&mut self.cx);
        // What can't be sent is lost with whoever would take it.
        let sent = self.serve_commands();
        self.cx.editor.notify_error(sent);
        self.cx.has_background = false;
        self.link.leave();
    }
}

impl Features for App {
    fn find(&mut self, feature: TypeId) -> Option<(&mut dyn Any, &mut dyn Any)> {
        let features: [&mut dyn Any; 16] = [
            &mut self.chats,
            &mut self.prompts,
            &mut self.checkpoints,
            &mut self.files,
            &mut self.follow,
            &mut self.terminals,
            &mut self.asking,
            &mut self.reviews,
            &mut self.agents,
            &mut self.extensions,
            &mut self.sessions,
            &mut self.usage,
            &mut self.rules,
            &mut self.inspector,
            &mut self.audit,
            &mut self.tools,
        ];
        let found = features.into_iter().find(|each| (**each).type_id() == feature)?;
        Some((found, &mut self.cx))
    }

    fn serve(&mut self) -> Result<()> {
        self.route()
    }

    fn settle(&mut self) -> Result<()> {
        self.route()?;
        if self.asking.retry {
            self.ask_next();
        }
        self.files.ask_names(&mut self.cx);
        self.route()
    }

    fn ring(&mut self) {
        self.link.ring();
    }

    fn next_effect(&mut self) -> Option<Effect> {
        self.cx.effects.pop_front()
    }

    fn key(&mut self, name: &str) -> Result<()> {
        App::key(self, name)
    }

    fn interrupted(&mut self) -> Result<()> {
        App::interrupted(self)
    }
}
