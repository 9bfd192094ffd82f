//! The router: gives the background's events to the features, and the features' events to each other, and
//! their commands to the background. Each feature owns its state; what is here puts them together. What may
//! call back into here (autocommands, pickers, users' handlers) waits as an effect until this is free.

pub mod agents;
pub mod begin;
pub mod changes;
pub mod chats;
pub mod events;
pub mod prompt;
pub mod questions;
pub mod sessions;
pub mod windows;

use std::any::{Any, TypeId};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::nvim::agents::Agents;
use crate::nvim::audit::Audit;
use crate::nvim::context::Context;
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::guard::Effect;
use crate::nvim::guard::Features;
use mlua::Result;
use serde_json::json;

use crate::core::message::{Command, Content};
use crate::mailbox::Mailbox;
use crate::nvim::background::{Background, Places, Start};
use crate::nvim::chat::Chats;
use crate::nvim::chat::links::{Place, visit_place};
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::editor::Editor;
use crate::nvim::extensions::Extensions;
use crate::nvim::files::Files;
use crate::nvim::follow::Follow;
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
    pub chats: Chats,
    pub follow: Follow,
    pub terminals: Terminals,
    pub asking: Questions,
    pub agents: Agents,
    pub extensions: Extensions,
    pub prompts: Prompts,
    pub sessions: Sessions,
    pub start: Start,
    pub background: Option<Box<dyn Background>>,
    pub mailbox: Arc<Mailbox>,
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
    pub fn new(
        editor: Rc<Editor>,
        mailbox: Arc<Mailbox>,
        start: Start,
        chats: Chats,
        agents: Agents,
    ) -> Result<Self> {
        let state: String = editor.func("stdpath", "log")?;
        let records: String = editor.func("stdpath", "state")?;
        let prompts = Prompts::new(&editor)?;
        Ok(Self {
            cx: Context::new(editor, Path::new(&state).join("acp.log")),
            chats,
            follow: Follow::default(),
            terminals: Terminals::default(),
            asking: Questions::default(),
            agents,
            extensions: Extensions::default(),
            prompts,
            sessions: Sessions::new(Path::new(&records).join("acp/sessions")),
            start,
            background: None,
            mailbox,
            files: Files::default(),
            checkpoints: Checkpoints::new(Path::new(&records).join("acp/checkpoints")),
            reviews: Reviews::new(Path::new(&records).join("acp/reviews")),
            rules: Rules::new(Path::new(&records).join("acp/audit")),
            usage: Usage::new(Path::new(&records).join("acp/usage")),
            audit: Audit::new(Path::new(&records).join("acp/audit")),
            inspector: Inspector::default(),
            tools: Tools::default(),
        })
    }

    /// Serves what features have left: commands for the background, events for each other, and answers that
    /// others wait for. What one of these leads to is served before those that waited with it.
    pub fn route(&mut self) -> Result<()> {
        loop {
            self.serve_commands()?;
            if let Some(event) = self.cx.take_event() {
                let waiting = self.cx.set_aside();
                let served = self.serve_event(event).and_then(|()| self.route());
                self.cx.put_back(waiting);
                served?;
            } else if let Some(task) = self.cx.take_task() {
                let waiting = self.cx.set_aside();
                let done = task(self).and_then(|()| self.route());
                self.cx.put_back(waiting);
                done?;
            } else {
                return Ok(());
            }
        }
    }

    #[expect(clippy::too_many_lines, reason = "a flat match")]
    fn serve_event(&mut self, event: EditorEvent) -> Result<()> {
        match event {
            EditorEvent::SessionChanged(key) => {
                self.sessions.check_limits(&mut self.cx, key);
                self.after_change(key)?;
            }
            EditorEvent::SessionBegan(key) => self.session_began(key)?,
            EditorEvent::SessionForked { from, to } => self.cx.tails.copy(from, to),
            EditorEvent::SessionChosen(key) => self.show(key)?,
            EditorEvent::StoredSessionChosen(kept) => self.open_recorded(*kept)?,
            EditorEvent::SessionWanted { launch, cwd } => self.open_chat(*launch, cwd, None).map(drop)?,
            EditorEvent::LoginEnded(key) | EditorEvent::AgentWanted(key) => self.restart(key)?,
            EditorEvent::PromptChanged(key) => self.chats.fit_prompt(&self.cx, key)?,
            EditorEvent::PromptSent(key) => self.cx.emit("AcpPromptSent", key, json!({})),
            EditorEvent::TurnLeft(key) => self.turn_left(key)?,
            EditorEvent::BarOutdated(key) => self.update_bar(key)?,
            EditorEvent::BufferLoaded(buf) => self.files.buffer_loaded(&mut self.cx, buf)?,
            EditorEvent::TurnEnded(key) => self.turn_ended(key)?,
            EditorEvent::AgentExited(key) => self.agent_exited(key)?,
            EditorEvent::SessionOpened(key) => {
                self.usage.session_opened(&mut self.cx, key);
                self.cx.emit("AcpOpened", key, json!({}));
            }
            EditorEvent::UsageTold(key) => self.usage.told(&mut self.cx, key)?,
            EditorEvent::CallChanged { session, entry, moved, content } => {
                self.call_changed(session, entry, (moved, content))?;
            }
            EditorEvent::PermissionAsked { session, title, request, entry } => {
                self.permission_asked(session, (&title, &request), entry);
            }
            EditorEvent::RuleMade { session, offer, scope } => {
                Rules::made(&mut self.cx, session, offer, scope)?;
            }
            EditorEvent::RulesChanged => {
                Sessions::judge_waiting(&mut self.cx);
                self.rules.renew(&mut self.cx)?;
            }
            EditorEvent::ChangesCounted { session, upto } => {
                Sessions::changes_counted(&mut self.cx, session, upto)
            }
            EditorEvent::WindowsResized => self.resized()?,
            EditorEvent::LocationChosen { path, line, column } => {
                visit_place(&mut self.cx, Place { path, line, column, text: None })?;
            }
            EditorEvent::AgentChosen(name) => self.begin(&name, |_, _| Ok(()))?,
            EditorEvent::TerminalEnded => self.keep_time()?,
            EditorEvent::PromptTyped { session, text, mode } => self.submit(session, &text, mode)?,
            EditorEvent::ReferencesFound { session, number, found } => {
                self.referred((session, number), found)?;
            }
            EditorEvent::PromptReady { session, content, mode } => match mode {
                SendMode::InLine => self.prompt(session, content)?,
                SendMode::Steer => self.steer(session, content)?,
                SendMode::Now => self.prompt_now(session, content)?,
            },
            EditorEvent::PromptCompleted { session, content } => {
                self.dispatch(Command::Prompt { session, content })?;
            }
            EditorEvent::ChatNeeded(then) => {
                self.begin_with(None, move |app, key| then(app, key))?;
            }
            EditorEvent::FrameDue => self.frame_due()?,
            EditorEvent::EntryChosen(key) => self.chats.go_to(&mut self.cx, key)?,
            EditorEvent::QuestionChosen(ask) => self.asking.take_up(ask),
            EditorEvent::TerminalChosen(key, terminal) => {
                self.terminals.go_to(&mut self.cx, &(key, terminal))?
            }
            EditorEvent::QuestionReached(ask) => self.files.ask_about_conflict(&mut self.cx, ask),
            EditorEvent::QuestionAsked(choosing) => {
                self.asking.ask_to_choose(&mut self.cx, *choosing);
            }
            EditorEvent::QuestionShown => {
                let done = self.chats.draw_now(&self.cx);
                self.cx.editor.notify_error(done);
            }
            EditorEvent::AnsweredInVain(ask) => {
                Questions::answered_in_vain(&self.cx, ask);
            }
            EditorEvent::QuestionsChanged | EditorEvent::DiffsPlaced => self.asking.retry = true,
            EditorEvent::ProposalPutAway => {
                self.chats.proposal_put_away();
                self.asking.retry = true;
            }
            EditorEvent::ConflictShown(buf) => self.reviews.clear_proposals_in(&self.cx, buf)?,
            EditorEvent::WindowGivenBack => self.follow.follow_due(&mut self.cx)?,
            EditorEvent::FileRestored { path, held } => {
                self.files.on_disk.told.holds(&path, &held);
                self.reviews.file_restored(&mut self.cx, &path, &held)?;
                self.route()?;
                self.files.replaced(&mut self.cx, &path)?;
            }
            EditorEvent::RestoreEnded => self.reviews.draw_reviews(&mut self.cx)?,
            EditorEvent::ChangeUndone { session, name, before } => {
                self.reviews.undone.add_restored(session, name, &before);
            }
            EditorEvent::ReviewOutdated(buf) | EditorEvent::EditsFailed(buf) => {
                // Edits on their way are told of once they are in.
                if !self.reviews.path_of(buf).is_some_and(|path| self.files.is_being_edited(path)) {
                    self.reviews.review_stale(&mut self.cx, buf)?;
                }
            }
            EditorEvent::CommentsSent { session, text, count } => {
                self.prompt(session, vec![Content::Text(text.into())])?;
                self.reviews.comments_sent(&mut self.cx, session, count)?;
                self.cx.raise(EditorEvent::FrameDue);
            }
            EditorEvent::LineUnattributed { buf, path, row } => {
                self.checkpoints.blame(&mut self.cx, buf, path, row)?;
            }
            EditorEvent::LineChosen { path, row } => self.reviews.go_to_row(&mut self.cx, &path, row)?,
            EditorEvent::KeysAsked => self.show_keys()?,
            EditorEvent::FileChanged(change) => self.changed(*change)?,
            EditorEvent::FileChangedOutside(change) => self.reviews.changed_outside(&mut self.cx, &change)?,
            EditorEvent::ChangeAttributed(change) => self.attributed(&change)?,
            EditorEvent::FileReplaced(path) => self.files.replaced(&mut self.cx, &path)?,
            EditorEvent::FileWritten(path) => self.files.on_disk.told.forget(&path),
            EditorEvent::FilePutBack { path, now } => self.files.put_back(&mut self.cx, &path, now)?,
            EditorEvent::FileTaskEnded(path) => self.files.finish_task(&mut self.cx, &path)?,
            EditorEvent::FileVisited { session, path, lines, verb } => {
                self.follow.file_visited(&mut self.cx, session, &path, (lines, verb))?;
            }
            EditorEvent::FileLoaded { buf, path } => self.reviews.file_loaded(&mut self.cx, buf, &path)?,
            EditorEvent::BufferUnloaded(buf) => self.reviews.buffer_unloaded(&mut self.cx, buf)?,
            EditorEvent::QuestionClosed(ask) => self.asking.defer(ask),
        }
        Ok(())
    }

    // To the background.

    pub fn send(&mut self, command: Command) -> Result<()> {
        // What a feature has sent comes first.
        self.cx.send(command);
        self.serve_commands()
    }

    fn serve_commands(&mut self) -> Result<()> {
        while let Some(command) = self.cx.take_command() {
            // What sending one leads to comes before those that wait: the start of the background above all.
            let waiting = self.cx.take_outbox();
            let sent = self.send_next(command).and_then(|()| self.serve_commands());
            self.cx.return_outbox(waiting);
            sent?;
        }
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

    pub fn dispatch(&mut self, command: Command) -> Result<()> {
        if self.background.is_none() {
            self.start_background()?;
        }
        if let Command::Prompt { session, .. } = &command {
            self.follow.turn_began(&mut self.cx, *session)?;
        }
        let sent = match &command {
            Command::Prompt { session, content } => Some((*session, content.clone())),
            _ => None,
        };
        let opened = match &command {
            Command::Open { session, .. } | Command::Load { session, .. } => Some(*session),
            _ => None,
        };
        if let Some(background) = &self.background {
            background.send(self.sessions.outgoing(command));
        }
        if let Some(session) = opened {
            self.cx.tell_offer(session);
        }
        match sent {
            Some((key, content)) => self.turn_started(key, &content),
            None => Ok(()),
        }
    }

    /// Frees what is not needed any more where the editor need not wait for it.
    pub fn discard(&self, what: impl Send + 'static) {
        if let Some(background) = &self.background {
            background.discard(Box::new(what));
        }
    }

    pub fn send_all(&mut self, commands: Vec<Command>) -> Result<()> {
        commands.into_iter().try_for_each(|command| self.send(command))
    }

    fn start_background(&mut self) -> Result<()> {
        let bundled = self.agents.bundled().map(Path::to_owned);
        let audit = self.cx.config.audit.then(|| self.audit.folder().to_owned());
        let mut own = Vec::new();
        for name in ["state", "cache", "log"] {
            let folder = PathBuf::from(self.cx.editor.func::<String>("stdpath", name)?);
            // Of who works on Neovim's state itself, only the plugin's part of it is left out.
            own.extend([folder.join("acp"), folder]);
        }
        let places = Places { log: self.cx.log(), audit, bundled, own };
        self.background = Some((self.start)(self.mailbox.clone(), &self.cx.config, places));
        self.cx.has_background = true;
        self.extensions.tell(&mut self.cx);
        self.tools.tell(&mut self.cx);
        Questions::tell_outside_rules(&mut self.cx)?;
        let cache: String = self.cx.editor.func("stdpath", "cache")?;
        self.send(Command::KeepImages { folder: Path::new(&cache).join("acp/images") })?;
        for buf in self.cx.editor.list_bufs()? {
            if self.cx.editor.buf_is_loaded(buf) {
                self.files.buffer_loaded(&mut self.cx, buf)?;
                self.route()?;
            }
        }
        Ok(())
    }

    /// Ends every process, or leaves that to the guard; waits for a short while at the most.
    pub fn shut_down(&mut self) {
        self.reviews.keep_all_now(&mut self.cx);
        // What can't be sent is lost with whoever would take it.
        let sent = self.serve_commands();
        self.cx.editor.notify_error(sent);
        self.cx.has_background = false;
        if let Some(background) = self.background.take() {
            background.leave(Duration::from_millis(400));
        }
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
        self.mailbox.wake_after_failed_read();
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
