//! Commands that agents run in terminals of this client: whether they may, which is asked where their folder is none of
//! the session's, and their start. What is known of them later is asked in `incoming_requests`.

use super::deferred_replies::{Chosen, Judged, Next, PendingCommand};
use super::pending_questions::EndsWith;
use super::state::Connection;
use crate::acp::audit::Entry;
use crate::acp::files::disk;
use crate::acp::policy::UnderRules;
use crate::acp::terminals::TerminalError;
use crate::acp::wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, RpcError};
use crate::acp::wire::to_acp;
use crate::core::audit::What;
use crate::core::changes::half_written::Millis;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Access, AskReason, Event, Question, RuledBy, Severity};
use crate::core::policy::{Reason, Verdict};
use crate::core::text::fitting::cut_middle;
use crate::core::text::one_line;

const NOT_ALLOWED: &str = "the user did not allow it";

/// Of a command in a note, in cells.
const MOST_COMMAND: usize = 80;

impl Connection {
    pub(super) fn command_next(&mut self, next: Next) {
        match next {
            Next::Judge(pending, judged) => self.command_judged(*pending, judged),
            Next::Decided(pending, chosen) => self.command_decided(*pending, chosen),
        }
    }

    /// Runs a command whose folder's disk answers, or asks the user first.
    fn command_judged(&mut self, mut pending: PendingCommand, judged: Judged) {
        let Judged { folder, under: UnderRules { decision, rule, judgement, is_allowed }, trouble } = judged;
        if let Some(trouble) = trouble {
            self.note(Some(pending.session), Severity::Warning, trouble);
        }
        pending.reply.note(|line| line.decided_under(decision, rule.clone()));
        match decision.verdict {
            Verdict::Allow => {
                self.start_command(PendingCommand { folder: Some(folder), is_allowed, ..pending });
            }
            Verdict::Deny => match (rule, decision.reason) {
                (Some(rule), Reason::RuleRejects) => {
                    let (session, command) = (pending.session, shown(&pending));
                    self.fail_command(pending, &RuledBy::Rule(rule.clone()).refusal());
                    self.post(Event::CommandRefused { session, command, rule });
                }
                (Some(_), _) => self.refuse_command(pending, NOT_ALLOWED),
                (None, _) => self.refuse_folder(pending),
            },
            Verdict::Ask => {
                let session = pending.session;
                let Some(known) = self.sessions.get_mut(session) else { return };
                let ends_with = match &known.turn {
                    Some(turn) if turn.cancelled && pending.in_turn => return,
                    Some(_) if pending.in_turn => EndsWith::Turn,
                    _ => EndsWith::Session,
                };
                let by_rule = rule.is_some();
                let question = Question::Outside {
                    path: folder.clone(),
                    target: folder.clone(),
                    access: Access::Wrote,
                    why: match rule {
                        Some(rule) => AskReason::Rule(rule),
                        None => AskReason::OutsideFolders,
                    },
                    command: Some(pending.line()),
                    judgement: Some(judgement),
                };
                let (held, reply) = self.deferred.hold(&self.shared, (folder, by_rule), pending);
                let ask = self.questions.open_command(session, ends_with, held, reply);
                self.post(Event::Asked { session, branch: None, ask, question });
            }
        }
    }

    /// The user has answered.
    fn command_decided(&mut self, pending: PendingCommand, chosen: Chosen) {
        match (chosen.choice.allows(), chosen.by) {
            (true, _) => self.start_command(pending),
            (false, Some(by)) => self.refuse_command(pending, &by.refusal()),
            (false, None) if chosen.by_rule => self.refuse_command(pending, NOT_ALLOWED),
            (false, None) => self.refuse_folder(pending),
        }
    }

    /// The user did not allow it where it was to run.
    fn refuse_folder(&mut self, pending: PendingCommand) {
        let place = self.sessions.get(pending.session).map(|known| known.place.clone());
        let folders = place.iter().flat_map(|place| place.folders());
        let folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
        let text = format!(
            "the user did not allow it in {}; run it in the session's folders ({})",
            pending.spec.cwd.display(),
            folders.join(", ")
        );
        self.refuse_command(pending, &text);
    }

    /// The user reads in the chat which one it was; the agent knows.
    fn refuse_command(&mut self, pending: PendingCommand, why: &str) {
        let text = format!("couldn't run `{}`: {why}", shown(&pending));
        self.note(Some(pending.session), Severity::Info, text);
        self.fail_command(pending, why);
    }

    /// It is not run, so it counts for no limit.
    fn fail_command(&self, pending: PendingCommand, why: &str) {
        self.shared.policy.holds.give_command_back(pending.session);
        pending.reply.fail(&RpcError::new(INVALID_PARAMS, format!("couldn't run the command: {why}")));
    }

    /// Starts a command that may run.
    fn start_command(&mut self, starting: PendingCommand) {
        let PendingCommand { session, in_turn, reply, mut spec, folder, is_allowed } = starting;
        if self.sessions.get_mut(session).is_none() {
            return;
        }
        // Where it was allowed, however the name that the agent gave leads by now.
        if let Some(folder) = folder {
            if disk::check_place(&folder).is_err() {
                return reply.fail(&not_run(&TerminalError::Moved(folder)));
            }
            spec.cwd = folder;
        }
        let began = self.shared.folder_indexes.now();
        let ended = self.record_command(session, What::Exit, &spec);
        let confined = self.sandbox.as_ref().map(|sandbox| sandbox.confined.clone());
        match self.shared.terminals.create_within(session, spec, confined.as_deref()) {
            Ok(terminal) => {
                if is_allowed {
                    self.shared.folder_indexes.command_allowed(session, &terminal);
                }
                self.command_began(session, &terminal, began, ended);
                if self.outbox.pushes_output()
                    && let Ok(output) = self.shared.terminals.follow(session, &terminal)
                {
                    self.pushed.begin(&terminal, output, self.outbox.clone());
                }
                reply.ok(to_acp::terminal_created(&terminal.0));
                let turn = self.sessions.get_mut(session).and_then(|known| known.turn.as_mut());
                // A subagent's may go on when the turn is over.
                let turn = turn.filter(|_| in_turn);
                let is_cancelled = turn.as_ref().is_some_and(|turn| turn.cancelled);
                if let Some(turn) = turn {
                    turn.terminals.push(terminal.clone());
                }
                if is_cancelled {
                    self.end_terminals_soon(session, vec![terminal]);
                }
            }
            Err(error) => {
                ended.into_iter().for_each(Entry::forget);
                reply.fail(&not_run(&error));
            }
        }
    }

    /// What a command changes is its call's.
    fn command_began(&self, session: SessionKey, terminal: &TerminalId, began: Millis, ended: Option<Entry>) {
        let root = self.shared.terminals.root(session, terminal);
        self.shared.folder_indexes.command_began(session, terminal, root, began);
        let ends = || {
            let terminals = &self.shared.terminals;
            terminals.wait(session, terminal).ok().zip(terminals.wait_for_all(session, terminal).ok())
        };
        // One that is gone already has changed what it has.
        let Some((end, nothing_left)) = ends() else {
            self.shared.folder_indexes.nothing_left(session, terminal);
            return self.shared.policy.holds.call_ended(session);
        };
        self.shared.policy.holds.command_began(session);
        let watch = self.watch_confined(session, terminal);
        let (shared, terminal) = (self.shared.clone(), terminal.clone());
        tokio::spawn(async move {
            let exit = end.await;
            watch(&exit);
            ended.into_iter().for_each(|ended| ended.exited(&exit));
            shared.folder_indexes.command_ended(session, &terminal);
            shared.policy.holds.command_ended(session);
            nothing_left.await;
            shared.folder_indexes.nothing_left(session, &terminal);
        });
    }
}

impl PendingCommand {
    /// As one would type it.
    fn line(&self) -> String {
        crate::acp::terminals::line(&self.spec)
    }
}

fn not_run(error: &TerminalError) -> RpcError {
    let code = match error {
        TerminalError::Start { .. }
        | TerminalError::System(_)
        | TerminalError::TooMany(_)
        | TerminalError::Leaving => INTERNAL_ERROR,
        _ => INVALID_PARAMS,
    };
    RpcError::new(code, format!("couldn't run the command: {error}"))
}

/// A command as a note shows it.
fn shown(pending: &PendingCommand) -> String {
    cut_middle(&one_line(&pending.line()), MOST_COMMAND)
}
