//! What the agent tells without being asked: updates of its sessions, made into events, and kept for a
//! moment where a session has no name yet.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::open_requests::OutgoingRequest;
use super::state::Connection;
use super::subagents::Actor;
use crate::acp::wire::from_acp::{self, Chunk, Fact, Roots, Told};
use crate::acp::wire::incoming::Incoming;
use crate::acp::wire::rpc::Message;
use crate::core::changes::attribution::CallNews;
use crate::core::changes::half_written::Millis;
use crate::core::ids::{SessionKey, SubagentId, TerminalId};
use crate::core::message::{Event, SubagentPatch, ToolCallPatch, ToolContent, Update};

/// Messages kept for sessions that the agent has not named yet.
const MAX_BUFFERED: usize = 1000;

impl Connection {
    /// The files that calls in these messages name. The editor is told first what they are called.
    pub(super) fn paths_named(&self, batch: &[Incoming]) -> Vec<PathBuf> {
        let mut named = Vec::new();
        for output in batch {
            let (session, paths) = match output {
                Incoming::Told(told) => (Some(told.session.clone()), told.paths()),
                Incoming::Message(Message::Notification { params, .. } | Message::Request { params, .. }) => {
                    (from_acp::session_of(params), from_acp::paths_named(params).map(Path::new).collect())
                }
                _ => continue,
            };
            if paths.is_empty() {
                continue;
            }
            let actor = session.and_then(|acp_id| self.actor(&acp_id));
            let Some(place) = actor.and_then(|actor| self.place_of(&actor)) else { continue };
            named.extend(paths.into_iter().map(|path| place.cwd.join(path)));
        }
        named
    }

    pub(super) fn chunk(&mut self, chunk: Chunk) {
        match self.sessions.find(&chunk.session).map(|known| known.key) {
            Some(session) => {
                self.shared.folder_indexes.heard(session, self.arrived);
                self.post(Event::Updated { session, update: chunk.update() });
            }
            None => self.updated(chunk.params()),
        }
    }

    pub(super) fn told(&mut self, told: Told) {
        match self.actor(&told.session) {
            Some(actor) => told.facts().into_iter().for_each(|fact| self.fact(&actor, fact)),
            None => self.updated(told.params()),
        }
    }

    pub(super) fn updated(&mut self, params: Value) {
        if let Some(acp_id) = self.still_unnamed(&params) {
            return self
                .buffered
                .push((acp_id, Message::Notification { method: "session/update".into(), params }));
        }
        let acp_id = from_acp::session_of(&params).unwrap_or_default();
        let Some(mut actor) = self.actor(&acp_id) else {
            self.log.note("an update for no session of ours");
            // It may be a subagent's that is about to be announced.
            if !self.subagents.keep(acp_id, params) {
                self.log.note("too many updates for no session of ours; the oldest is dropped");
            }
            return;
        };
        let update = &params["update"];
        // In a session of its own a subagent need not be told from others.
        actor.branch = actor.branch.or_else(|| from_acp::started_by(update));
        if let Some(at) = from_acp::said_at(&params) {
            self.fact(&actor, Fact::Update(Update::Dated(at)));
        }
        for fact in from_acp::update(update) {
            match fact {
                Fact::Update(Update::Subagent(patch)) => {
                    self.subagent(&actor, patch, from_acp::roots(update))
                }
                fact => self.fact(&actor, fact),
            }
        }
    }

    fn subagent(&mut self, teller: &Actor, patch: Box<SubagentPatch>, roots: Roots) {
        let Some(early) = self.subagent_told(teller, &patch, roots) else { return };
        self.post(told(teller, Update::Subagent(patch)));
        for params in early {
            self.updated(params);
        }
    }

    pub(super) fn fact(&mut self, actor: &Actor, mut fact: Fact) {
        let session = actor.session;
        let Some(place) = self.place_of(actor) else { return };
        if let Some(id) = actor.subagent() {
            in_subagent(id, &mut fact);
        }
        let Some(known) = self.sessions.get_mut(session) else { return };
        let is_loading = known.loading;
        if let (Fact::Update(Update::ToolCall(call)), false) = (&fact, is_loading) {
            self.record_call(session, call, &place);
        }
        let Some(known) = self.sessions.get_mut(session) else { return };
        if let Fact::Update(Update::Options(options)) = &fact
            && actor.branch.is_none()
        {
            known.options.clone_from(options);
        }
        let terminals = Self::agent_terminals(&mut self.sessions, &mut self.subagents, actor);
        let Some(agent_terminals) = terminals else { return };
        // An agent may also tell of a command that this client runs for it, whose output is known better.
        let ours = |terminal: &TerminalId| self.shared.terminals.has(session, terminal);
        let events = match fact {
            Fact::Update(mut update) => {
                self.shared.images.take(session, &mut update);
                let (mut events, mut is_told) = (Vec::new(), false);
                if let Update::ToolCall(call) = &mut update {
                    events = agent_terminals.show(call, ours);
                    if !is_loading {
                        let news = CallNews { unsaid: self.unsaid, ..call_news(call, &place.cwd) };
                        let is_over = news.is_over();
                        self.shared.folder_indexes.call(session, &call.id, news, self.arrived);
                        if is_over {
                            self.shared.policy.holds.call_ended(session);
                            self.ended_calls.insert(session);
                        }
                        // What is said of other calls in the same moment is later.
                        self.arrived += Millis::from(is_over);
                    }
                    let streamed;
                    (streamed, is_told) = agent_terminals.stream(call);
                    events.extend(streamed);
                }
                if !matches!(update, Update::ToolCall(_)) {
                    self.shared.folder_indexes.heard(session, self.arrived);
                }
                if let Update::Unknown { kind } = &update {
                    self.log.note(&format!("an update that can't be read: {kind:?}"));
                }
                if !is_told {
                    events.push(Event::Updated { session, update });
                }
                events
            }
            Fact::TerminalStarted { terminal, .. }
            | Fact::TerminalGrew { terminal, .. }
            | Fact::TerminalEnded { terminal, .. }
                if ours(&terminal) =>
            {
                Vec::new()
            }
            Fact::TerminalStarted { call, terminal, cwd } => agent_terminals.announced(&call, terminal, cwd),
            Fact::TerminalGrew { call, terminal, data } => agent_terminals.grew(&call, &terminal, &data),
            Fact::TerminalEnded { terminal, exit } => agent_terminals.ended(&terminal, exit),
            Fact::CallOver { call, exit } => agent_terminals.call_over(&call, &exit),
        };
        self.tell(actor, events);
    }

    /// Tells what is told of sessions as a part of what the actor does.
    pub(super) fn tell(&self, actor: &Actor, events: Vec<Event>) {
        for event in events {
            self.post(match event {
                Event::Updated { update, .. } => told(actor, update),
                event => event,
            });
        }
    }

    /// Has told what the calls have changed that are over since the last time.
    pub(super) fn check_ended_calls(&mut self) {
        for session in std::mem::take(&mut self.ended_calls) {
            self.shared.folder_indexes.calls_ended(session);
        }
    }

    /// Has told what was changed before a message that is about it.
    pub(super) async fn tell_changes_before(&mut self, incoming: &Incoming) {
        let (ended, asked) = (self.turn_ended_by(incoming), self.asked_by(incoming));
        if ended.is_some() || asked.is_some() {
            // A look that came after this would be one too many: it would take what others do for what was done before.
            self.check_ended_calls();
        }
        if let Some(session) = ended {
            // What was changed in the turn is told before its end. What was not claimed waits: the editor may be about to
            // say that it has saved the file.
            self.shared.folder_indexes.settle(session).await;
        }
        if let Some(session) = asked {
            // A limit may be reached by it, and then no rule allows what is asked for.
            self.shared.count_changes(session).await;
        }
    }

    /// The session whose turn a message ends.
    fn turn_ended_by(&self, incoming: &Incoming) -> Option<SessionKey> {
        let Incoming::Message(Message::Response { id, .. }) = incoming else { return None };
        match self.open_requests.get(id)? {
            OutgoingRequest::Prompt { session } => Some(*session),
            _ => None,
        }
    }

    /// The session in which something is to be allowed, by the user or by rules.
    fn asked_by(&self, incoming: &Incoming) -> Option<SessionKey> {
        let Incoming::Message(Message::Request { method, params, .. }) = incoming else { return None };
        let acp_id = (method == "session/request_permission").then(|| from_acp::session_of(params))??;
        self.actor(&acp_id).map(|actor| actor.session)
    }

    /// The commands that the agent runs itself in a session are over, whether it says so or not.
    pub(super) fn end_agent_terminals(&mut self, session: SessionKey) {
        let ended = self.sessions.get_mut(session).map(|known| known.agent_terminals.end_all());
        ended.into_iter().flatten().for_each(|event| self.post(event));
    }

    /// The session that a message names, if it may be one whose opening is still to be answered.
    pub(super) fn still_unnamed(&self, params: &Value) -> Option<String> {
        let opening = self.open_requests.iter().any(|(_, call)| matches!(call, OutgoingRequest::Open { .. }));
        let acp_id = from_acp::session_of(params)?;
        (opening && self.actor(&acp_id).is_none() && self.buffered.len() < MAX_BUFFERED).then_some(acp_id)
    }

    /// Takes up what was held for sessions that have a name by now. What is for no session is
    /// dropped, or refused, once none is being opened.
    pub(super) fn replay_buffered(&mut self) {
        for (acp_id, message) in std::mem::take(&mut self.buffered) {
            let opening =
                self.open_requests.iter().any(|(_, call)| matches!(call, OutgoingRequest::Open { .. }));
            if opening && self.actor(&acp_id).is_none() {
                self.buffered.push((acp_id, message));
            } else {
                // Neither updates nor requests end a conversation.
                let _ = self.message(message);
            }
        }
    }
}

/// What is told as a part of a session, whoever of it does it.
fn told(actor: &Actor, update: Update) -> Event {
    let update = match &actor.branch {
        None => update,
        Some(branch) => Update::Within { branch: branch.clone(), update: Box::new(update) },
    };
    Event::Updated { session: actor.session, update }
}

/// Calls are known by names that no other session's calls have.
fn in_subagent(id: &SubagentId, fact: &mut Fact) {
    let call = match fact {
        Fact::Update(Update::ToolCall(call)) => &mut call.id,
        Fact::TerminalStarted { call, .. }
        | Fact::TerminalGrew { call, .. }
        | Fact::CallOver { call, .. } => call,
        Fact::Update(_) | Fact::TerminalEnded { .. } => return,
    };
    *call = call.within(id);
}

/// What a message says of a call that matters for whose a change is.
pub(super) fn call_news(call: &ToolCallPatch, cwd: &Path) -> CallNews {
    let content = || call.content.iter().flatten();
    let diffs = content().filter_map(|item| match item {
        ToolContent::Diff(diff) => Some(&diff.path),
        _ => None,
    });
    let names = diffs.chain(call.locations.iter().flatten().map(|location| &location.path));
    let terminals = content().filter_map(|item| match item {
        ToolContent::Terminal(terminal) => Some(terminal.clone()),
        _ => None,
    });
    CallNews {
        kind: call.kind,
        status: call.status.clone(),
        names: names.map(|name| cwd.join(name)).collect(),
        terminals: terminals.collect(),
        unsaid: None,
    }
}
