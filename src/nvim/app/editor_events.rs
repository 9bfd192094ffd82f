//! What features tell each other, event by event: which of them hear of it, and in which order.

use std::time::Duration;

use mlua::Result;
use serde_json::json;

use crate::config::Stay;
use crate::core::changes::undone::RestoredFile;
use crate::core::ids::SessionKey;
use crate::core::message::{Command, Content};
use crate::nvim::app::App;
use crate::nvim::chat::links::{Place, visit_place};
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::questions::Questions;
use crate::nvim::rules::Rules;
use crate::nvim::sessions::Sessions;

impl App {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub(super) fn serve_event(&mut self, event: EditorEvent) -> Result<()> {
        let cx = &mut self.cx;
        match event {
            EditorEvent::SessionChanged(key) => {
                self.sessions.check_limits(cx, key);
                self.after_change(key)?;
            }
            EditorEvent::SessionBegan(key) => self.session_began(key)?,
            EditorEvent::SessionForked { from, to } => cx.tails.copy(from, to),
            EditorEvent::SessionChosen(key) => self.show(key)?,
            EditorEvent::SessionClosing(key) => self.close_session(key)?,
            EditorEvent::StoredSessionChosen(kept) => {
                let (name, cwd) = (kept.owner.agent.clone(), kept.owner.cwd.clone());
                self.agents.launch(cx, &name, cwd, Sessions::reopen_when_known(*kept))?;
            }
            EditorEvent::SessionWanted { launch, cwd } => drop(self.sessions.open(cx, *launch, cwd, None)),
            EditorEvent::LoginEnded(key) | EditorEvent::AgentWanted(key) => self.restart(key)?,
            EditorEvent::PromptChanged(key) => self.chats.fit_prompt(cx, key)?,
            EditorEvent::PromptSent(key) => {
                Sessions::check_rules(cx, key)?;
                cx.emit("AcpPromptSent", key, json!({}));
            }
            EditorEvent::TurnLeft(key) => self.turn_left(key)?,
            EditorEvent::BarOutdated(key) => self.update_bar(key)?,
            EditorEvent::BufferLoaded(buf) => self.files.buffer_loaded(cx, buf)?,
            EditorEvent::BufferSaved(buf) => {
                self.reviews.saved(cx, buf);
                self.files.buffer_saved(cx, buf)?;
            }
            EditorEvent::BufferModified(buf) => self.files.buffer_modified(cx, buf)?,
            EditorEvent::TurnEnded(key) => {
                Sessions::check_rules(cx, key)?;
                self.turn_left(key)?;
                self.reviews.settle_reviews(&mut self.cx, key, Stay::Turn)?;
                self.route()?;
                self.after_change(key)?;
                self.chats.settle(&self.cx, key)?;
            }
            EditorEvent::AgentExited(key) => {
                self.files.watching.ended(key);
                self.turn_left(key)?;
                self.after_change(key)?;
                self.chats.settle(&self.cx, key)?;
            }
            EditorEvent::SessionOpened(key) => {
                self.usage.session_opened(cx, key);
                Sessions::check_rules(cx, key)?;
                cx.emit("AcpOpened", key, json!({}));
            }
            EditorEvent::UsageTold(key) => self.usage.told(cx, key)?,
            EditorEvent::CallChanged { session, entry, moved, content } => {
                self.call_changed(session, entry, (moved, content))?;
            }
            EditorEvent::PermissionAsked { session, title, request, entry } => {
                Sessions::tell_permission_asked(cx, session, (&title, &request), entry);
            }
            EditorEvent::RuleMade { session, offer, scope } => Rules::made(cx, session, offer, scope)?,
            EditorEvent::RulesChanged => {
                Sessions::judge_waiting(cx);
                self.rules.renew(cx)?;
            }
            EditorEvent::ChangesCounted { session, upto } => Sessions::changes_counted(cx, session, upto),
            EditorEvent::WindowsResized => self.resized()?,
            EditorEvent::LocationChosen { path, line, column } => {
                visit_place(cx, Place { path, line, column, text: None })?;
            }
            EditorEvent::AgentChosen(name, then) => self.begin(&name, then)?,
            EditorEvent::TerminalEnded => self.keep_time()?,
            EditorEvent::PromptTyped { session, text, mode } => {
                self.prompts.submit(cx, session, (&text, mode), &self.terminals.bufs())?;
            }
            EditorEvent::ReferencesFound { session, number, found } => {
                self.prompts.referred(cx, (session, number), found, &self.terminals.bufs())?;
            }
            EditorEvent::PromptReady { session, content, mode } => {
                self.prompt_ready(session, content, mode)?
            }
            EditorEvent::PromptEdited { session, text, before } => {
                let new = self.sessions.open_beside(cx, session)?;
                self.route()?;
                self.prompts.edit_again(&mut self.cx, new, &text, before)?;
            }
            EditorEvent::PromptCompleted { session, content } => {
                self.dispatch(Command::Prompt { session, content })?;
            }
            EditorEvent::ChatNeeded(then) => self.begin_with(None, then)?,
            EditorEvent::FrameDue => self.frame_due(Duration::ZERO)?,
            EditorEvent::EntryChosen(key) => self.chats.go_to(cx, key)?,
            EditorEvent::QuestionChosen(ask) => self.asking.take_up(ask),
            EditorEvent::AnswerChosen { session, entry, number } => {
                // As with a key: not what has only just come there, nor for who has answered a moment ago.
                let answer = self.asking.answer_of_key(cx, session, entry, number);
                if let Some(answer) = answer.filter(|_| !self.asking.has_just_answered()) {
                    self.asking.answer_by_key(cx, &answer);
                }
            }
            EditorEvent::TerminalChosen(key, terminal) => self.terminals.go_to(cx, &(key, terminal))?,
            EditorEvent::QuestionReached(ask) => self.files.ask_about_conflict(cx, ask),
            EditorEvent::QuestionAsked(choosing) => self.asking.ask_to_choose(cx, *choosing),
            EditorEvent::DrawingWanted => {
                let done = self.chats.draw_now(cx);
                cx.editor.notify_error(done);
            }
            EditorEvent::AnsweredInVain(ask) => Questions::answered_in_vain(cx, ask),
            EditorEvent::QuestionsChanged | EditorEvent::DiffsPlaced => self.asking.retry = true,
            EditorEvent::ProposalPutAway => {
                self.chats.proposal_put_away();
                self.asking.retry = true;
            }
            EditorEvent::ConflictShown(buf) => self.reviews.clear_proposals_in(cx, buf)?,
            EditorEvent::WindowGivenBack => self.follow.follow_due(cx)?,
            EditorEvent::FileRestored { path, held } => {
                self.files.on_disk.told.holds(&path, &held);
                self.reviews.file_restored(cx, &path, &held)?;
                self.route()?;
                self.files.replaced(&mut self.cx, &path)?;
            }
            EditorEvent::RestoreEnded => self.reviews.draw_reviews(cx)?,
            EditorEvent::ChangeUndone { session, name, aim, prints: (from, to) } => {
                self.reviews.undone.add_restored(session, RestoredFile { name, aim, from, to });
            }
            EditorEvent::ReviewOutdated(buf) | EditorEvent::EditsFailed(buf) => {
                // Edits on their way are told of once they are in.
                if !self.reviews.path_of(buf).is_some_and(|path| self.files.is_being_edited(path)) {
                    self.reviews.review_stale(cx, buf)?;
                }
            }
            EditorEvent::CommentsSent { session, text, count } => {
                self.prompt(session, vec![Content::Text(text.into())], SendMode::InLine)?;
                self.reviews.comments_sent(&mut self.cx, session, count)?;
            }
            EditorEvent::LineUnattributed { buf, path, row } => self.checkpoints.blame(cx, buf, path, row)?,
            EditorEvent::LineChosen { path, row } => self.reviews.go_to_row(cx, &path, row)?,
            EditorEvent::KeysAsked => self.show_keys()?,
            EditorEvent::FileChanged(change) => self.changed(*change)?,
            EditorEvent::FileChangedOutside(change) => self.reviews.changed_outside(cx, &change)?,
            EditorEvent::ChangeAttributed(change) => self.attributed(&change)?,
            EditorEvent::FileReplaced(path) => self.files.replaced(cx, &path)?,
            EditorEvent::FileWritten(path) => self.files.on_disk.told.forget(&path),
            EditorEvent::FilePutBack { path, now } => self.files.put_back(cx, &path, now)?,
            EditorEvent::FileTaskEnded(path) => self.files.finish_task(cx, &path)?,
            EditorEvent::FileVisited { session, path, lines, verb } => {
                self.follow.file_visited(cx, session, &path, (lines, verb))?;
            }
            EditorEvent::FileLoaded { buf, path } => self.reviews.file_loaded(cx, buf, &path)?,
            EditorEvent::BufferUnloaded(buf) => self.reviews.buffer_unloaded(cx, buf)?,
            EditorEvent::QuestionClosed(ask) => self.asking.defer(ask),
        }
        Ok(())
    }

    /// The session's agent is not at work any more, however that came.
    fn turn_left(&mut self, key: SessionKey) -> Result<()> {
        self.files.turn_left(&mut self.cx, key)?;
        self.route()?;
        self.reviews.clear_proposals(&self.cx, key)?;
        self.follow.turn_left(&mut self.cx, key)?;
        self.route()
    }
}
