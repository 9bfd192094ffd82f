//! The turns of a session: prompts that are queued, sent, or steered into a running turn, and how a turn
//! is cancelled and ends. What the agent says in it is left to `updates`.

use std::collections::VecDeque;
use std::path::Path;

use super::content::describe;
use super::recovery::Way;
use super::{Phase, Session, Turn};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{
    Answer, Command, Content, Cost, FailureKind, Severity, Steering, StopReason, TurnEnd,
};
use crate::core::session::entry::{Body, Entry, Then, Verdict};
use crate::core::session::tool_call::Cause;
use crate::core::text::{Text, one_line};

/// How long an agent may take to confirm a cancel, in milliseconds.
const GRACE: u64 = 10_000;

/// A prompt that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub content: Vec<Content>,
    /// The user has stopped the turn that it waited for: it goes when they say so.
    pub held: bool,
    /// It was sent before and stands in the transcript; the agent wanted a login first, or had no time for it.
    pub(super) again: bool,
    /// Which one it was in the line when another was taken out of it to be edited, from 1 on; 0 for what came since.
    pub(super) rank: usize,
}

impl Queued {
    pub(super) fn new(content: Vec<Content>) -> Self {
        Self { content, held: false, again: false, rank: 0 }
    }

    /// One that stands in the transcript.
    pub(super) fn again(content: Vec<Content>) -> Self {
        Self { again: true, ..Self::new(content) }
    }

    /// As its user wrote it.
    pub fn text(&self) -> Text {
        describe(&self.content, Path::new("")).0
    }

    /// Its beginning on one line.
    pub fn line(&self) -> String {
        one_line(&self.text())
    }
}

/// The prompt that something was done for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its entry, and which prompt of the session it was, 1-based; zero for both where there was none.
    pub prompt: EntryId,
    pub turn: usize,
    /// On one line.
    pub asked: String,
    /// When the work on it began.
    pub since: Moment,
}

impl Session {
    /// What a call was made for, which may be told of only when the agent works on the next prompt; without one, what is
    /// worked on now, or was last.
    pub fn asked_for(&self, call: Option<EntryId>, now: Moment) -> Asked {
        let prompts = self.entries.iter().enumerate().filter_map(|(at, entry)| match &entry.body {
            Body::User { text, .. } => Some((EntryId(at), entry.at, text)),
            _ => None,
        });
        let last = prompts.clone().next_back().map(|(prompt, ..)| prompt);
        let mut before = prompts.filter(|(prompt, ..)| call.is_none_or(|call| *prompt < call));
        let turn = before.clone().count();
        let begun = self.working_since().unwrap_or(now);
        match before.next_back() {
            None => Asked { prompt: EntryId(0), turn, asked: String::new(), since: begun },
            Some((prompt, sent, text)) => {
                let since = if last == Some(prompt) { begun } else { sent };
                Asked { prompt, turn, asked: one_line(text), since }
            }
        }
    }

    /// Prompts that wait for the turn to end, oldest first.
    pub fn queue(&self) -> &VecDeque<Queued> {
        &self.queue
    }

    /// Takes a prompt out of the line. One that stands in the transcript already stays in it.
    pub fn unqueue(&mut self, index: usize) -> Option<Queued> {
        self.queue.get(index).filter(|queued| !queued.again)?;
        self.status_touched = true;
        self.queue.remove(index)
    }

    /// Puts a prompt back into the line. Where no turn ends that it could wait for, it waits for the user.
    pub fn requeue(&mut self, index: usize, mut queued: Queued) {
        queued.held |= !self.is_working() && !matches!(self.phase, Phase::Waiting { .. });
        let first = usize::from(self.queue.front().is_some_and(|queued| queued.again));
        self.queue.insert(index.max(first).min(self.queue.len()), queued);
        self.status_touched = true;
    }

    /// Moves a prompt to another place in the line; none gets before one that is sent again.
    pub fn move_queued(&mut self, from: usize, to: usize) {
        let first = usize::from(self.queue.front().is_some_and(|queued| queued.again));
        if from < first || from >= self.queue.len() {
            return;
        }
        if let Some(queued) = self.queue.remove(from) {
            self.queue.insert(to.clamp(first, self.queue.len().max(first)), queued);
            self.status_touched = true;
        }
    }

    /// The prompts that wait for the user, who has stopped the turn before them.
    pub fn held(&self) -> usize {
        self.queue.iter().filter(|queued| queued.held).count()
    }

    /// What waits goes on waiting when the turn ends, until the user sends it.
    pub fn hold_queue(&mut self) {
        if !self.is_working() && !matches!(self.phase, Phase::Waiting { .. }) {
            return;
        }
        for queued in self.queue.iter_mut().filter(|queued| !queued.again) {
            queued.held = true;
            self.status_touched = true;
        }
    }

    /// A write waits for the user to decide about lines that they have changed, too.
    pub fn has_conflict(&self) -> bool {
        self.conflicts > 0
    }

    /// When a prompt goes that is sent now; nothing where that is at once.
    pub fn goes_when(&self) -> Option<&'static str> {
        Some(match self.phase {
            Phase::Idle => return None,
            Phase::Opening { .. } => "the session is open",
            Phase::LoginNeeded => "you are logged in (:Acp login)",
            Phase::Waiting { .. } | Phase::Working { .. } | Phase::Cancelling { .. } => "the turn is over",
            Phase::Ending { .. } | Phase::Gone => "the agent is started again (:Acp restart)",
        })
    }

    /// The user sends what was held.
    pub fn release_queue(&mut self, now: Moment) -> Vec<Command> {
        self.queue.iter_mut().for_each(|queued| queued.held = false);
        self.status_touched = true;
        self.next_prompt(now)
    }

    /// How many prompts were sent into the running turn and are not confirmed yet.
    pub fn steering(&self) -> usize {
        self.steering.len()
    }

    /// Whether prompts may be sent into a running turn.
    pub fn can_be_steered(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.can.steering)
    }

    /// Whether a prompt has to wait for the turn, which it can't go into.
    pub fn keeps_prompts_waiting(&self) -> bool {
        self.is_working() && !self.can_be_steered()
    }

    /// The prompt that came last is the next one.
    pub fn hurry_last(&mut self) {
        if let Some(last) = self.queue.len().checked_sub(1) {
            self.move_queued(last, 0);
        }
    }

    /// Sends a prompt, or keeps it until it can be sent.
    pub fn prompt(&mut self, content: Vec<Content>, now: Moment) -> Vec<Command> {
        self.queue.push_back(Queued::new(content));
        self.status_touched = true;
        self.next_prompt(now)
    }

    pub(super) fn next_prompt(&mut self, now: Moment) -> Vec<Command> {
        if self.phase != Phase::Idle {
            return Vec::new();
        }
        let next = self.queue.iter().position(|queued| !queued.held);
        let Some(Queued { content, again, .. }) = next.and_then(|index| self.queue.remove(index)) else {
            return Vec::new();
        };
        let (text, attachments) = describe(&content, &self.place.cwd);
        let asked = |entry: &Entry| matches!(entry.body, Body::User { .. });
        let first = match again {
            true => self.entries.iter().rposition(asked).unwrap_or_default(),
            false => self.entries.len(),
        };
        // An agent that went on by itself does not say when that ended.
        self.close_calls(&Cause::TurnEnded, now);
        let times = if again { std::mem::take(&mut self.times) } else { 0 };
        self.turn = Turn { prompt: text.clone(), content: content.clone(), first, times, ..Turn::default() };
        self.meter.prompted();
        self.begin_budget();
        self.auto.turn_began();
        // They were about what was said before.
        self.suggestions.clear();
        let hint = self.unknown_command(&text);
        if !again {
            self.forget_last_chat();
            self.add(Body::User { text, attachments }, now);
            if let Some(hint) = hint {
                self.notice(Severity::Info, hint, now);
            }
        }
        self.speaker_shown = false;
        self.phase = Phase::Working { since: now };
        self.status_touched = true;
        vec![Command::Prompt { session: self.key, content }]
    }

    /// What to say of a prompt that begins as a command does and is none that the agent has told of.
    fn unknown_command(&self, prompt: &str) -> Option<String> {
        let name = prompt.strip_prefix('/')?.split_whitespace().next().unwrap_or_default();
        let is_name = |name: &str| {
            name.starts_with(char::is_alphanumeric)
                && name.chars().all(|char| char.is_alphanumeric() || "-_:.".contains(char))
        };
        let known = self.commands.iter().any(|command| command.name == name);
        if known || self.commands.is_empty() || prompt.starts_with("/ ") || !is_name(name) {
            return None;
        }
        let near = self.commands.iter().find(|command| command.name.starts_with(name));
        let near = near.map(|command| format!("; /{} is", one_line(&command.name))).unwrap_or_default();
        Some(format!("/{name} is no command that {} has told of{near}; it was sent as text", self.name()))
    }

    /// Sends a prompt into the running turn. Where that cannot be, it is a prompt like any other.
    pub fn steer(&mut self, content: Vec<Content>, now: Moment) -> Vec<Command> {
        if !matches!(self.phase, Phase::Working { .. }) || !self.can_be_steered() {
            return self.prompt(content, now);
        }
        self.steering.push(content.clone());
        self.status_touched = true;
        vec![Command::Steer { session: self.key, content }]
    }

    /// What the agent took is shown as said; what it did not take is a prompt like any other.
    pub fn steered(&mut self, content: Vec<Content>, outcome: Steering, now: Moment) -> Vec<Command> {
        // One that is not waited for was put in line already.
        let Some(index) = self.steering.iter().position(|sent| *sent == content) else { return Vec::new() };
        self.steering.remove(index);
        self.status_touched = true;
        let failure = match outcome {
            Steering::Injected => {
                self.said_meanwhile(&content, now);
                return Vec::new();
            }
            Steering::StartedNewTurn => {
                self.said_meanwhile(&content, now);
                self.turn.detached = true;
                let text = "The turn was over by then: the agent works on this by itself, and does not say \
                            when it is done; <C-c> stops it.";
                self.notice(Severity::Info, text.into(), now);
                return Vec::new();
            }
            Steering::NotTaken(failure) => failure,
        };
        // That the agent is gone is about to be told with its reason.
        if let Some(failure) = failure.filter(|failure| failure.kind != FailureKind::Disconnected) {
            let text = format!("Couldn't steer the turn: {}; the prompt waits in line.", failure.message);
            self.notice(Severity::Warning, text, now);
        }
        self.prompt(content, now)
    }

    /// Shows what the user said while the agent was at work; agents do not send it back.
    fn said_meanwhile(&mut self, content: &[Content], now: Moment) {
        self.end_thought(now);
        let (text, attachments) = describe(content, &self.place.cwd);
        // Should one do so after all, it is known by this.
        self.turn.prompt.push_str("\n");
        self.turn.prompt.push_str(&text);
        self.add(Body::User { text, attachments }, now);
        self.speaker_shown = false;
    }

    /// Stops the turn. The calls that are not over look stopped at once; what became of them, and that the turn
    /// has ended, is for the agent to say.
    pub fn cancel(&mut self, now: Moment) -> Vec<Command> {
        let Phase::Working { since } = self.phase else {
            if self.phase == Phase::Idle && std::mem::take(&mut self.turn.detached) {
                self.close_calls(&Cause::TurnCancelled, now);
                return vec![Command::Cancel { session: self.key }];
            }
            return Vec::new();
        };
        self.phase = Phase::Cancelling { since, asked: now };
        self.close_calls(&Cause::StopAsked, now);
        self.end_thought(now);
        self.status_touched = true;
        let asks = self.close_own_asks(&Verdict::Cancelled);
        self.note_user_time(now);
        let cancelled = |ask| Command::Answer { ask, answer: Answer::Cancelled };
        let mut commands: Vec<Command> = asks.into_iter().map(cancelled).collect();
        commands.push(Command::Cancel { session: self.key });
        commands
    }

    /// Time has passed: what waited for it is sent. An agent that does not confirm a cancel is said to be stuck, once.
    pub fn ticked(&mut self, now: Moment) -> Vec<Command> {
        self.tick_subagents(now);
        let Phase::Cancelling { asked, .. } = self.phase else { return self.count_down(now) };
        if self.turn.stuck || now.since(asked) < GRACE {
            return Vec::new();
        }
        self.turn.stuck = true;
        let text = format!(
            "{} did not stop within {} s\n:Acp restart ends it and starts it again, :Acp stop only ends it; \
             this text stays",
            self.name(),
            GRACE / 1000
        );
        self.notice(Severity::Warning, text, now);
        Vec::new()
    }

    /// The agent was to stop and did not.
    pub fn is_stuck(&self) -> bool {
        matches!(self.phase, Phase::Cancelling { .. }) && self.turn.stuck
    }

    pub fn turn_ended(&mut self, end: TurnEnd, now: Moment) -> Vec<Command> {
        let cancelling = match self.phase {
            Phase::Working { .. } => false,
            Phase::Cancelling { .. } => true,
            Phase::Ending { since, .. } => {
                self.phase = Phase::Ending { since, in_turn: false };
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        if matches!(&end, TurnEnd::Failed(failure) if failure.kind == FailureKind::Disconnected) {
            // That the agent is gone is about to be told with its reason.
            return Vec::new();
        }
        self.end_thought(now);
        let took = self.worked(now);
        self.end_budget(now);
        let usage = match &end {
            TurnEnd::Stopped { usage, .. } => *usage,
            TurnEnd::Failed(_) => None,
        };
        // One that a login is wanted for is sent again.
        if !matches!(&end, TurnEnd::Failed(failure) if failure.kind == FailureKind::AuthRequired) {
            self.meter.turn_ended(usage, self.agent);
        }
        let tokens = self.meter.turn().tokens;
        let body = match end {
            // Many agents leak the exception that aborting them raised; the user asked for the end.
            TurnEnd::Failed(_) if cancelling => {
                self.close_calls(&Cause::TurnCancelled, now);
                Body::Stop {
                    reason: StopReason::Cancelled,
                    silent: false,
                    took,
                    tokens: None,
                    cost: self.turn_cost(),
                }
            }
            TurnEnd::Failed(failure) => {
                self.close_calls(&Cause::AgentGone, now);
                if failure.kind == FailureKind::AuthRequired {
                    // Nothing typed is lost: the prompt goes out again after the login.
                    let content = std::mem::take(&mut self.turn.content);
                    self.queue.push_front(Queued::again(content));
                    self.add(Body::TurnFailed(failure, Then::Nothing), now);
                    self.speaker_shown = false;
                    self.phase = Phase::LoginNeeded;
                    self.status_touched = true;
                    return Vec::new();
                }
                match self.way_back(&failure) {
                    Way::Tell => Body::TurnFailed(failure, Then::Nothing),
                    way => {
                        self.speaker_shown = false;
                        self.status_touched = true;
                        match way {
                            Way::Again(after) => self.prompt_again(failure, after, now),
                            _ => self.session_lost(failure, now),
                        }
                        return Vec::new();
                    }
                }
            }
            TurnEnd::Stopped { reason, usage: _ } => {
                let cancelled = reason == StopReason::Cancelled;
                self.reconnected = 0;
                // Some agents end a turn without a word of what became of a call.
                self.close_calls(if cancelled { &Cause::TurnCancelled } else { &Cause::TurnEnded }, now);
                if reason == StopReason::Refusal {
                    for index in self.turn.first..self.entries.len() {
                        self.entries[index].refused = true;
                        self.touched.insert(EntryId(index));
                    }
                }
                Body::Stop { reason, silent: !self.turn.answered, took, tokens, cost: self.turn_cost() }
            }
        };
        self.tell_unknown(now);
        self.tell_auto(now);
        self.add(body, now);
        self.speaker_shown = false;
        self.phase = Phase::Idle;
        self.status_touched = true;
        self.next_prompt(now)
    }

    /// What the turn has cost, where the agent tells what the conversation has.
    pub(super) fn turn_cost(&self) -> Option<Cost> {
        self.meter.turn().costs.first().cloned()
    }
}
