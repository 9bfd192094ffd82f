//! One prompt being played: what a scene may do, namely to say things, to ask the client for something
//! and wait for the answer, and to take its time. A cancelled turn shows up as [`Stop::Cancelled`] from
//! whatever was waited for; which things are said and asked is for the scenes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, ContentBlock, ContentChunk, Cost, Error, PermissionOption, PermissionOptionKind,
    ReleaseTerminalRequest, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SessionId, SessionInfoUpdate, SessionNotification, SessionUpdate, TerminalId, ToolCall, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::settings::{Memory, Settings};
use crate::stored;
use crate::wire::{Outcome, Output};

/// Why a scene ends before its last line.
#[derive(Debug)]
pub enum Stop {
    Cancelled,
    /// The prompt is answered with this error.
    Failed(Error),
}

pub type Played<T = ()> = Result<T, Stop>;

/// What the thread that reads stdin tells a turn.
#[derive(Clone, Debug)]
pub enum Signal {
    Cancelled,
    Answered { id: i64, outcome: Outcome },
}

/// Numbers that no two requests or tool calls of this process share.
#[derive(Clone, Default)]
pub struct Numbers(Arc<AtomicI64>);

impl Numbers {
    fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// How long a pause really is.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    speed: f64,
}

impl Pace {
    /// From `ACP_DEMO_SPEED`; what is no number counts as 1.
    pub fn from_env() -> Self {
        let speed = std::env::var("ACP_DEMO_SPEED").ok().and_then(|text| text.trim().parse().ok());
        Self { speed: speed.filter(|speed: &f64| speed.is_finite() && *speed >= 0.0).unwrap_or(1.0) }
    }

    pub fn is_instant(self) -> bool {
        self.speed == 0.0
    }

    fn scale(self, millis: u64) -> Duration {
        if self.is_instant() {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(Duration::from_millis(millis).as_secs_f64() / self.speed)
        }
    }
}

pub struct Turn {
    pub session: SessionId,
    pub cwd: PathBuf,
    pub client: ClientCapabilities,
    pub settings: Settings,
    pub memory: Memory,
    pub pace: Pace,
    pub output: Output,
    pub numbers: Numbers,
    pub signals: Receiver<Signal>,
    /// What was said, where that is stored.
    pub said: Option<RefCell<Vec<Value>>>,
    /// Requests whose answers are waited for later on, and those of them that came.
    pub later: Later,
    /// What must not stay open when the turn is cancelled.
    pub open: Open,
}

#[derive(Default)]
pub struct Later {
    asked: Vec<i64>,
    came: HashMap<i64, Outcome>,
}

#[derive(Default)]
pub struct Open {
    calls: Vec<ToolCallId>,
    terminals: Vec<TerminalId>,
}

impl Turn {
    pub fn update(&self, update: SessionUpdate) {
        let is_kept = !matches!(update, SessionUpdate::UsageUpdate(_) | SessionUpdate::SessionInfoUpdate(_));
        if let Some(said) = self.said.as_ref().filter(|_| is_kept)
            && let Ok(update) = serde_json::to_value(&update)
        {
            stored::push(&mut said.borrow_mut(), update);
        }
        self.output.notify("session/update", SessionNotification::new(self.session.clone(), update));
    }

    /// Streams one message of the agent's, a few characters at a time.
    pub fn say(&mut self, text: &str) -> Played {
        self.stream(text, SessionUpdate::AgentMessageChunk)
    }

    /// As [`Self::say`], as a thought.
    pub fn think(&mut self, text: &str) -> Played {
        self.stream(text, SessionUpdate::AgentThoughtChunk)
    }

    fn stream(&mut self, text: &str, update: fn(ContentChunk) -> SessionUpdate) -> Played {
        let id = format!("message-{}", self.numbers.next());
        for piece in pieces(text) {
            self.update(update(ContentChunk::new(ContentBlock::from(piece)).message_id(id.as_str())));
            self.memory.used += piece.len() as u64 / 4 + 1;
            self.pause(14)?;
        }
        Ok(())
    }

    /// Gives the conversation a title.
    pub fn entitle(&mut self, title: &str) {
        self.memory.title = Some(title.to_owned());
        self.update(SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title.to_owned())));
    }

    /// Tells how full the context is, and what the conversation would have cost, had there been a model.
    pub fn tell_usage(&self) {
        let size = self.settings.model.size();
        let cost = Cost::new(self.memory.used as f64 * 0.000_003, "USD");
        let usage = UsageUpdate::new(self.memory.used.min(size), size).cost(cost);
        self.update(SessionUpdate::UsageUpdate(usage));
    }

    /// Lets time go by at the turn's pace.
    pub fn pause(&mut self, millis: u64) -> Played {
        self.sleep(self.pace.scale(millis))
    }

    /// Lets time go by whatever the pace is.
    pub fn sleep(&mut self, duration: Duration) -> Played {
        self.wait(Some(Instant::now() + duration), None).map(drop)
    }

    /// Says that a tool call began. It is open until [`Self::finish_call`], also when the turn ends early.
    pub fn start_call(&mut self, call: impl FnOnce(ToolCallId) -> ToolCall) -> ToolCallId {
        let id = ToolCallId::new(format!("call-{}", self.numbers.next()));
        self.open.calls.push(id.clone());
        self.update(SessionUpdate::ToolCall(call(id.clone())));
        id
    }

    pub fn update_call(&mut self, id: &ToolCallId, fields: ToolCallUpdateFields) {
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.clone(), fields)));
    }

    pub fn finish_call(&mut self, id: &ToolCallId, status: ToolCallStatus, fields: ToolCallUpdateFields) {
        self.open.calls.retain(|open| open != id);
        self.update_call(id, fields.status(status));
    }

    /// A call that the user said no to. The protocol has no status for that: it is told as other agents do, and read again
    /// when the session is loaded.
    pub fn reject_call(&mut self, id: &ToolCallId) {
        let output = json!({ "message": "The user rejected this tool call.", "code": "rejected" });
        self.finish_call(id, ToolCallStatus::Failed, ToolCallUpdateFields::new().raw_output(output));
    }

    /// Asks the client something and waits for the answer; the client may refuse.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        method: &str,
        params: impl Serialize,
    ) -> Played<Result<R, String>> {
        let id = self.numbers.next();
        self.output.request(id, method, params);
        let outcome = self.wait(None, Some(id))?.expect("a wait without a deadline ends with the answer");
        Ok(match outcome {
            Ok(result) => {
                // An empty answer is `{}`; some clients say `null`.
                let result = if result.is_null() { Value::Object(serde_json::Map::new()) } else { result };
                serde_json::from_value(result)
                    .map_err(|error| format!("an answer to {method} that I don't understand: {error}"))
            }
            Err(error) => Err(error["message"].as_str().unwrap_or("an error without a message").to_owned()),
        })
    }

    /// Whether calls of this kind are allowed, where the user has said so once and for all.
    pub fn settled(&self, kind: ToolKind) -> Option<bool> {
        self.memory.settled.get(&format!("{kind:?}")).copied()
    }

    /// An answer that is meant for the session counts for all calls of the kind.
    fn settle(&mut self, kind: ToolKind, chosen: Option<&PermissionOption>) {
        let allowed = match chosen.map(|option| option.kind) {
            Some(PermissionOptionKind::AllowAlways) => true,
            Some(PermissionOptionKind::RejectAlways) => false,
            _ => return,
        };
        self.memory.settled.insert(format!("{kind:?}"), allowed);
    }

    /// Asks the user; `None` when the client answered with an error or an option that was not offered.
    pub fn ask(
        &mut self,
        call: ToolCallUpdate,
        options: Vec<PermissionOption>,
    ) -> Played<Option<PermissionOption>> {
        let kind = call.fields.kind.unwrap_or_default();
        let params = RequestPermissionRequest::new(self.session.clone(), call, options.clone());
        let answer = self.call::<RequestPermissionResponse>("session/request_permission", params)?;
        self.chosen(answer.ok(), kind, options)
    }

    /// The option that the user has chosen for a call of this kind.
    fn chosen(
        &mut self,
        answer: Option<RequestPermissionResponse>,
        kind: ToolKind,
        options: Vec<PermissionOption>,
    ) -> Played<Option<PermissionOption>> {
        let selected = match answer.map(|answer| answer.outcome) {
            // Only a cancelled turn is answered so, whichever of the two messages comes first.
            Some(RequestPermissionOutcome::Cancelled) => return Err(Stop::Cancelled),
            Some(RequestPermissionOutcome::Selected(selected)) => selected,
            _ => return Ok(None),
        };
        let chosen = options.into_iter().find(|option| option.option_id == selected.option_id);
        self.settle(kind, chosen.as_ref());
        Ok(chosen)
    }

    /// Asks several things at once, and gives the answers once all of them are there.
    pub fn ask_all(
        &mut self,
        asks: Vec<(ToolCallUpdate, Vec<PermissionOption>)>,
    ) -> Played<Vec<Option<PermissionOption>>> {
        let mut open = Vec::new();
        for (call, options) in asks {
            let kind = call.fields.kind.unwrap_or_default();
            let params = RequestPermissionRequest::new(self.session.clone(), call, options.clone());
            let id = self.numbers.next();
            self.output.request(id, "session/request_permission", params);
            self.later.asked.push(id);
            open.push((id, kind, options));
        }
        let mut chosen = Vec::new();
        for (id, kind, options) in open {
            let outcome = match self.later.came.remove(&id) {
                Some(outcome) => outcome,
                None => self.wait(None, Some(id))?.expect("a wait without a deadline ends with the answer"),
            };
            self.later.asked.retain(|asked| *asked != id);
            let answer = outcome
                .ok()
                .and_then(|answer| serde_json::from_value::<RequestPermissionResponse>(answer).ok());
            chosen.push(self.chosen(answer, kind, options)?);
        }
        Ok(chosen)
    }

    /// A terminal runs from here on, and is released when the turn ends early.
    pub fn hold_terminal(&mut self, terminal: &TerminalId) {
        self.open.terminals.push(terminal.clone());
    }

    pub fn release_terminal(&mut self, terminal: &TerminalId) -> Played<Result<Value, String>> {
        self.open.terminals.retain(|open| open != terminal);
        self.call("terminal/release", ReleaseTerminalRequest::new(self.session.clone(), terminal.clone()))
    }

    /// Ends what a cancelled turn left open. Nobody waits for the answers.
    pub fn clean_up(&mut self) {
        for terminal in std::mem::take(&mut self.open.terminals) {
            let params = ReleaseTerminalRequest::new(self.session.clone(), terminal);
            self.output.request(self.numbers.next(), "terminal/release", params);
        }
        for call in std::mem::take(&mut self.open.calls) {
            self.update_call(&call, ToolCallUpdateFields::new().status(ToolCallStatus::Failed));
        }
    }

    /// Waits for the answer to `wanted`, or until the deadline. Answers that nobody waits for any more
    /// are dropped.
    fn wait(&mut self, deadline: Option<Instant>, wanted: Option<i64>) -> Played<Option<Outcome>> {
        loop {
            let signal = match deadline {
                Some(deadline) => {
                    self.signals.recv_timeout(deadline.saturating_duration_since(Instant::now()))
                }
                None => self.signals.recv().map_err(RecvTimeoutError::from),
            };
            match signal {
                Ok(Signal::Cancelled) | Err(RecvTimeoutError::Disconnected) => return Err(Stop::Cancelled),
                Ok(Signal::Answered { id, outcome }) if wanted == Some(id) => return Ok(Some(outcome)),
                Ok(Signal::Answered { id, outcome }) => {
                    if self.later.asked.contains(&id) {
                        self.later.came.insert(id, outcome);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Ok(None),
            }
        }
    }
}

/// Where a path of the project is: under the session's working folder.
pub fn under(cwd: &Path, relative: &str) -> PathBuf {
    relative.split('/').fold(cwd.to_path_buf(), |path, part| path.join(part))
}

/// Cuts a text into pieces of three to seven characters, always the same for the same text.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut sizes = [5, 3, 7, 4, 6].into_iter().cycle();
    std::iter::from_fn(move || {
        let size = sizes.next()?;
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(index, _)| index);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_text_and_never_cut_a_character() {
        let text = "caf\u{e9} \u{1f980}\u{1f980}\u{1f980} \u{4f60}\u{597d}, world\n";
        assert_eq!(pieces(text).collect::<String>(), text);
        assert!(pieces(text).count() > 3);
    }
}
