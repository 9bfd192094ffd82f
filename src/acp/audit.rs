//! Writes the record of what agents ask for and do. An entry goes along with the reply that the agent waits for, so that
//! each request gets exactly one line, however it ends; a tool call gets its line when it is over. What a line says is
//! `core::audit`'s part, where it is kept that of `store::audit_log`.

use std::collections::{VecDeque, hash_map};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::store::audit_log::{AuditLog, AuditRequest};
use super::wire::log::AgentLog;
use super::wire::ring::now;
use super::wire::rpc::REQUEST_CANCELLED;
use crate::core::audit::{By, Decision, Line, Outcome, What};
use crate::core::ids::{SessionKey, ToolCallId};
use crate::core::maps::FastMap;
use crate::core::message::{Exit, ToolCallPatch, WireStatus};
use crate::core::text::cut;

/// Calls of which something is known and the end is not.
const MOST_CALLS: usize = 1000;
/// Bytes of a rule in a line.
const MOST_RULE: usize = 1000;

/// The record as one agent's lines go into it.
#[derive(Clone)]
pub struct Recorder {
    /// Nothing is recorded without.
    to: Option<(AuditLog, PathBuf)>,
    agent: Arc<str>,
    /// It knows what must not be written down.
    log: AgentLog,
}

/// A line that is not finished. One that is dropped says that it was taken back.
pub struct Entry {
    recorder: Recorder,
    pub line: Box<Line>,
    is_over: bool,
}

impl Recorder {
    pub fn new(to: Option<(AuditLog, PathBuf)>, agent: &str, log: AgentLog) -> Self {
        Self { to, agent: agent.into(), log }
    }

    /// Whether anything is recorded.
    pub fn is_kept(&self) -> bool {
        self.to.is_some()
    }

    /// Begins a line about something in a session; nothing where nothing is recorded.
    pub fn begin(&self, session: &str, project: &Path, what: What) -> Option<Entry> {
        self.to.as_ref()?;
        let line = Line {
            at: now(),
            agent: self.agent.to_string(),
            session: session.to_owned(),
            project: project.to_string_lossy().into_owned(),
            what,
            ..Line::default()
        };
        Some(Entry { recorder: self.clone(), line: Box::new(line), is_over: false })
    }
}

impl Entry {
    pub fn done(self) {
        self.end(Outcome::Done, None);
    }

    /// It was answered with an error.
    pub fn refused(self, code: i64, why: &str) {
        match code {
            // Dropped, it says so itself.
            REQUEST_CANCELLED => {}
            _ => self.end(Outcome::Failed, Some(why.to_owned())),
        }
    }

    /// The command has ended, just now.
    pub fn exited(mut self, exit: &Exit) {
        self.line.at = now();
        self.line.exit = exit.code.map(i64::from);
        self.line.error = exit.signal.as_ref().map(|signal| format!("ended by {signal}"));
        self.line.outcome = Some(if exit.code == Some(0) { Outcome::Done } else { Outcome::Failed });
        self.write();
    }

    /// Nobody was asked about it, against this rule.
    pub fn unasked(mut self, rule: &str) {
        (self.line.unasked, self.line.by) = (Some(cut(rule, MOST_RULE).to_owned()), Some(By::Agent));
        self.write();
    }

    /// There is nothing to say.
    pub fn forget(mut self) {
        self.is_over = true;
    }

    fn end(mut self, outcome: Outcome, error: Option<String>) {
        self.line.outcome = Some(outcome);
        self.line.error = error;
        self.write();
    }

    fn write(&mut self) {
        if let (Some((log, folder)), false) = (&self.recorder.to, std::mem::replace(&mut self.is_over, true))
        {
            let request = AuditRequest::Keep(std::mem::take(&mut self.line), self.recorder.log.secrets.all());
            log.request(folder.clone(), request);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_over {
            self.line.outcome = Some(Outcome::Cancelled);
            self.line.decision.get_or_insert(Decision::Undecided);
            self.write();
        }
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Entry").field("line", &self.line).finish_non_exhaustive()
    }
}

/// What agents have said of their calls so far: later messages leave out what earlier ones said.
#[derive(Default)]
pub struct Calls {
    known: FastMap<(SessionKey, ToolCallId), Call>,
    /// In the order in which they came.
    order: VecDeque<(SessionKey, ToolCallId)>,
}

#[derive(Default)]
struct Call {
    line: Arc<Line>,
    is_asked: bool,
    is_rejected: bool,
    is_over: bool,
}

impl Call {
    fn take(&mut self, patch: &ToolCallPatch, cwd: &Path) -> &Line {
        let line = Arc::make_mut(&mut self.line);
        line.take_call(patch, cwd);
        line
    }

    fn ended(&mut self, entry: impl FnOnce() -> Option<Entry>) -> Option<Entry> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        let mut entry = entry()?;
        entry.line.is_about(&self.line);
        entry.line.by = (!self.is_asked).then_some(By::Agent);
        Some(entry)
    }
}

impl Calls {
    /// Takes in what is said of a call when the user, or a rule, is asked about it, and gives what is known of it.
    pub fn asked(&mut self, session: SessionKey, call: &ToolCallPatch, cwd: &Path) -> &Line {
        let known = self.get(session, &call.id);
        known.is_asked = true;
        known.take(call, cwd)
    }

    /// What is known of a call.
    pub fn known(&self, session: SessionKey, call: &ToolCallId) -> Option<Arc<Line>> {
        self.known.get(&(session, call.clone())).map(|known| known.line.clone())
    }

    /// The answer was taken.
    pub fn answered(&mut self, session: SessionKey, call: &ToolCallId, allowed: bool) {
        self.get(session, call).is_rejected = !allowed;
    }

    /// Takes in what a message says of a call. If that ends it, the call gets its line; once.
    pub fn told(
        &mut self,
        session: SessionKey,
        (patch, cwd): (&ToolCallPatch, &Path),
        entry: impl FnOnce() -> Option<Entry>,
    ) {
        let known = self.get(session, &patch.id);
        known.take(patch, cwd);
        let failed = match &patch.status {
            Some(WireStatus::Completed) => false,
            Some(WireStatus::Failed) => true,
            Some(WireStatus::Other(word)) if matches!(&word[..], "cancelled" | "canceled") => {
                return drop(known.ended(entry));
            }
            Some(WireStatus::Other(word)) if matches!(&word[..], "denied" | "error" | "rejected") => true,
            _ => return,
        };
        match known.ended(entry) {
            // Agents say of it that it failed, having done nothing.
            Some(mut entry) if failed && known.is_rejected => {
                entry.line.decision = Some(Decision::Rejected);
                entry.write();
            }
            Some(entry) if failed => entry.end(Outcome::Failed, None),
            Some(entry) => entry.done(),
            None => {}
        }
    }

    fn get(&mut self, session: SessionKey, call: &ToolCallId) -> &mut Call {
        if self.order.len() > MOST_CALLS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        match self.known.entry((session, call.clone())) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                self.order.push_back(new.key().clone());
                new.insert(Call::default())
            }
        }
    }

    pub fn forget(&mut self, session: SessionKey) {
        self.known.retain(|(of, _), _| *of != session);
        self.order.retain(|(of, _)| *of != session);
    }
}
