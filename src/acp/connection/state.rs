//! What one agent's connection consists of, and the few things that all its parts do: post events, answer
//! what is over. The parts are its siblings: each adds methods of its own, and only `connection` knows all.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::Instant;

use super::confined::Sandboxed;
use super::deadlines::Deadlines;
use super::deferred_replies::DeferredReplies;
use super::open_requests::OutgoingRequest;
use super::pending_questions::{EndReason, PendingQuestions};
use super::pushed_output::PushedOutput;
use super::sessions::Sessions;
use super::subagents::Subagents;
use super::tool_servers::ToolServers;
use super::tool_terminals::ToolTerminals;
use crate::acp::audit::{Calls, Recorder};
use crate::acp::files::queue::FileQueue;
use crate::acp::processes::escaped::Origin;
use crate::acp::shared::Shared;
use crate::acp::wire::fast_path::FastPath;
use crate::acp::wire::log::AgentLog;
use crate::acp::wire::outbox::Outbox;
use crate::acp::wire::rpc::{Message, OpenRequests};
use crate::acp::wire::to_acp::Without;
use crate::core::changes::half_written::Millis;
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Again, AgentInfo, Command, Dialect, Event, Failure, Severity};

pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    /// What the agent is kept to, if it is.
    pub(super) is_replay: bool,
    pub(super) sandbox: Option<Sandboxed>,
    pub(super) agent: AgentId,
    pub(super) name: String,
    pub(super) log: AgentLog,
    pub(super) recorder: Recorder,
    pub(super) calls: Calls,
    pub(super) outbox: Outbox,
    pub(super) open_requests: OpenRequests<OutgoingRequest>,
    pub(super) sessions: Sessions,
    pub(super) subagents: Subagents,
    /// The session that was opened last, or is yet to be: what is about none is shown there.
    pub(super) home: Option<SessionKey>,
    pub(super) fast_path: Arc<FastPath>,
    /// What the user says that the agent speaks.
    pub(super) dialect: Option<Dialect>,
    pub(super) without: Without,
    /// By what all that the agent starts can be found, if it runs here.
    pub(super) origin: Option<Origin>,
    pub(super) questions: PendingQuestions,
    pub(super) deferred: DeferredReplies,
    pub(super) pushed: PushedOutput,
    pub(super) tool_terminals: ToolTerminals,
    pub(super) tool_servers: ToolServers,
    pub(super) file_queue: FileQueue,
    pub(super) state: State,
    /// What was wanted of the agent when nobody listened any more.
    pub(super) unsent: Vec<Command>,
    /// What came for sessions whose names are still on their way, with those names.
    pub(super) buffered: Vec<(String, Message)>,
    pub(super) patience: Deadlines,
    /// A session was not open in time: it may take longer from then on.
    pub(super) is_slow: bool,
    /// When the agent said something last.
    pub(super) heard: Instant,
    /// When that of it came which is dealt with now.
    pub(super) arrived: Millis,
    /// When there was nothing more to be read before that, as far as the system tells.
    pub(super) unsaid: Option<Millis>,
    /// In which calls have ended whose changes are still to be told of.
    pub(super) ended_calls: BTreeSet<SessionKey>,
    /// The user was told that the agent writes other things than messages.
    pub(super) noise_told: bool,
}

pub(super) enum State {
    /// Until `initialize` is answered, requests wait.
    Starting(Vec<Command>),
    Ready(Box<AgentInfo>),
}

impl Connection {
    pub(super) fn post(&self, event: Event) {
        self.shared.mailbox.post(event);
    }

    pub(super) fn note(&self, session: Option<SessionKey>, severity: Severity, text: String) {
        self.post(Event::Noted { agent: self.agent, session, severity, text });
    }

    pub(super) fn withdraw(&mut self, reason: &EndReason) {
        match reason {
            EndReason::TurnCancelled(session)
            | EndReason::TurnEnded(session)
            | EndReason::Session(session) => {
                self.file_queue.cancel(*session);
                self.deferred.forget(*session);
            }
            EndReason::CancelledByAgent(request) => self.file_queue.take_back(request),
            EndReason::Answered(_)
            | EndReason::Completed(_)
            | EndReason::SubagentIdle(..)
            | EndReason::All => {}
        }
        for (session, call) in self.questions.permissions(reason) {
            // An agent that takes its question back goes on without an answer.
            let goes_on = matches!(reason, EndReason::CancelledByAgent(_));
            self.shared.folder_indexes.answered(session, &call, goes_on);
        }
        for (session, ask) in self.questions.withdraw(reason) {
            self.post(Event::Withdrawn { session, ask });
        }
    }

    pub(super) fn request_failed(&self, session: Option<SessionKey>, what: &str, failure: Failure) {
        self.needs_login(session, what, failure, None);
    }

    /// `again` is to be done once more after a login, if it is that which is missing.
    pub(super) fn needs_login(
        &self,
        session: Option<SessionKey>,
        what: &str,
        failure: Failure,
        again: Option<Again>,
    ) {
        let what = what.to_owned();
        self.post(Event::RequestFailed { agent: self.agent, session, what, failure, again });
    }
}
