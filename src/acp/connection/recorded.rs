//! What of a conversation goes into the record: the beginning of each line, with what its session is. How lines end is
//! the reply's part, or that of what is waited for.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::time::timeout;

use super::state::Connection;
use crate::acp::audit::{Entry, Recorder};
use crate::acp::files::disks::PATIENCE;
use crate::acp::shared::Shared;
use crate::acp::terminals::TerminalSpec;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::ring::now;
use crate::core::audit::{Line, What};
use crate::core::ids::{JobId, SessionKey};
use crate::core::message::{Event, Outcome, PermissionOption, Place, ToolCallPatch};
use crate::core::rules::danger::is_run_unseen;
use crate::core::rules::unasked::{Unasked, UnaskedAction, UnaskedActions};
use crate::core::rules::variables::{in_environment, is_harmless};
use crate::core::rules::{Act, Decision};

/// Stands in the record for the value of a variable.
const HIDDEN: &str = "…";

/// What was done without asking. Rules have a say in little of it, so only that gets lines.
struct Unrecorded {
    recorder: Recorder,
    acp_id: String,
    project: PathBuf,
    at: u64,
    /// What is known of the call behind each thing, and which files it is about.
    done: Vec<(Option<Arc<Line>>, Vec<PathBuf>)>,
}

impl Unrecorded {
    /// Records what a rule would have had a say in.
    fn record(self, judged: &[Option<Unasked>]) {
        let Self { recorder, acp_id, project, at, done } = self;
        for ((call, paths), unasked) in done.into_iter().zip(judged) {
            let Some(unasked) = unasked else { continue };
            let Some(mut entry) = recorder.begin(&acp_id, &project, What::Unasked) else { return };
            entry.line.at = at;
            if let Some(call) = call {
                entry.line.is_about(&call);
            }
            paths.iter().for_each(|path| entry.line.add_path(path));
            entry.unasked(&unasked.rule);
        }
    }
}

impl Connection {
    /// Begins a line about a session, if there is a record.
    pub(super) fn record(
        &self,
        session: SessionKey,
        what: What,
        say: impl FnOnce(&mut Line),
    ) -> Option<Entry> {
        let known = self.sessions.get(session)?;
        let mut entry = self.recorder.begin(&known.acp_id, &known.place.cwd, what)?;
        say(&mut entry.line);
        Some(entry)
    }

    /// What is asked for is what the call has said of itself so far.
    pub(super) fn record_permission(
        &mut self,
        session: SessionKey,
        place: &Arc<Place>,
        (call, options): (&ToolCallPatch, &[PermissionOption]),
        reply: Reply,
    ) -> Reply {
        let of_call = self.calls.asked(session, call, &place.cwd).clone();
        reply.recorded(self.record(session, What::Permission, |line| {
            line.is_about(&of_call);
            line.cwd = Some(place.cwd.to_string_lossy().into_owned());
            line.offer(options);
        }))
    }

    pub(super) fn record_command(
        &self,
        session: SessionKey,
        what: What,
        spec: &TerminalSpec,
    ) -> Option<Entry> {
        self.record(session, what, |line| {
            // What variables hold may be secret; which they are has to be known to judge the command again.
            let changes = spec.env.iter().filter(|(name, value)| !is_harmless(name, value));
            let names: Vec<_> = changes.map(|(name, _)| (name.clone(), HIDDEN.to_owned())).collect();
            match in_environment("sh", &spec.command, &spec.args, &names) {
                Act::Words(words) => {
                    let mut words = words.into_iter();
                    line.command = words.next();
                    line.args = words.collect();
                }
                _ => line.command = Some(spec.command.clone()),
            }
            line.cwd = Some(spec.cwd.to_string_lossy().into_owned());
        })
    }

    /// What was done without asking is held against the rules, and told to who wants to know; it is recorded where a
    /// rule would have had a say.
    pub(super) fn judge_done(&self, session: SessionKey, job: JobId, actions: UnaskedActions) {
        let unrecorded = self.unrecorded(session, &actions);
        let shared = self.shared.clone();
        let of_allowed = |action| shared.file_of_allowed_command(session, action);
        let allowed: Vec<Option<PathBuf>> = actions.done.iter().map(of_allowed).collect();
        tokio::spawn(async move {
            let cwd = actions.cwd.clone();
            let (folder, rules) = (cwd.join("any"), shared.clone());
            let judged = shared.disks.run(&folder, move || rules.policy.rules.judge_done(session, actions));
            let mut judged = timeout(PATIENCE, judged).await.ok().flatten().unwrap_or_default();
            for (unasked, file) in judged.iter_mut().zip(allowed) {
                let Some(file) = file else { continue };
                // What a rule forbids was not allowed with the command, nor what is run later and seen by nobody.
                unasked.take_if(|unasked| unasked.decision == Decision::Ask && !is_run_unseen(&file));
                if let Some(unasked) = unasked {
                    unasked.of_asked = Some(file.strip_prefix(&cwd).unwrap_or(&file).to_owned());
                }
            }
            if let Some(unrecorded) = unrecorded {
                unrecorded.record(&judged);
            }
            shared.mailbox.post(Event::Computed { job, outcome: Outcome::JudgedDone(judged) });
        });
    }

    fn unrecorded(&self, session: SessionKey, actions: &UnaskedActions) -> Option<Unrecorded> {
        let known = self.sessions.get(session).filter(|_| self.recorder.is_kept())?;
        let of = |action: &UnaskedAction| {
            let call = action.call.as_ref().and_then(|call| self.calls.known(session, call));
            let paths = action.request.acts.iter().filter_map(|act| match act {
                Act::File { path, .. } => Some(path.clone()),
                _ => None,
            });
            (call, paths.collect())
        };
        Some(Unrecorded {
            recorder: self.recorder.clone(),
            acp_id: known.acp_id.clone(),
            project: known.place.cwd.clone(),
            at: now(),
            done: actions.done.iter().map(of).collect(),
        })
    }

    /// What a message says of a call; the one that ends it has it recorded.
    pub(super) fn record_call(&mut self, session: SessionKey, call: &ToolCallPatch, place: &Place) {
        let (recorder, sessions) = (&self.recorder, &self.sessions);
        self.calls.told(session, (call, &place.cwd), || {
            let known = sessions.get(session)?;
            recorder.begin(&known.acp_id, &known.place.cwd, What::Call)
        });
    }
}

impl Shared {
    /// A file that was changed by a command which was asked about or allowed by a rule.
    fn file_of_allowed_command(&self, session: SessionKey, action: &UnaskedAction) -> Option<PathBuf> {
        let [Act::File { path, .. }] = &action.request.acts[..] else { return None };
        let is_allowed = action.is_found && self.folder_indexes.was_allowed(session, path);
        is_allowed.then(|| path.clone())
    }
}
