//! What the agent answers to our requests, made into events.

use std::ops::ControlFlow;

use serde_json::Value;

use super::open_requests::{OnSuccess, OutgoingRequest};
use super::pending_questions::EndReason;
use super::sessions::Session;
use super::state::{Connection, State};
use crate::acp::quirks::Quirk;
use crate::acp::wire::rpc::RpcError;
use crate::acp::wire::{from_acp, to_acp};
use crate::core::ids::SessionKey;
use crate::core::message::again::Again;
use crate::core::message::{
    AuthStatus, Chosen, Counts, Event, Failure, FailureKind, Opened, Severity, Steering, StopReason, TurnEnd,
};

impl Connection {
    pub(super) fn answered(
        &mut self,
        call: OutgoingRequest,
        result: Result<Value, RpcError>,
    ) -> ControlFlow<Failure> {
        if let Err(error) = &result {
            self.learn_logins(error);
        }
        if let Err(error) = &result
            && from_acp::is_about_system_prompt(error)
            && self.goes_on_without_prompt(&call, error)
        {
            return ControlFlow::Continue(());
        }
        if let OutgoingRequest::Prompt { session } = call {
            self.turn_answered(session, result);
            return ControlFlow::Continue(());
        }
        match (call, result.map_err(from_acp::failure)) {
            (OutgoingRequest::Initialize, result) => return self.initialized(result),
            (OutgoingRequest::Open { session, place, fork_of }, result) => {
                let created = result.and_then(|answer| from_acp::created(&answer));
                match created.and_then(|opened| is_another(opened, fork_of.as_deref())) {
                    Ok(opened) => {
                        let mut known = Session::new(self.agent, session, opened.acp_id.clone(), place);
                        known.options.clone_from(&opened.options);
                        self.sessions.insert(known);
                        self.post(Event::Opened { session, opened: Box::new(opened) });
                    }
                    Err(failure) => {
                        self.shared.folder_indexes.session_ended(session);
                        self.post(Event::OpenFailed { session, failure });
                    }
                }
                self.replay_buffered();
            }
            (OutgoingRequest::Load { session, .. }, Ok(answer)) => {
                if let Some(known) = self.sessions.get_mut(session) {
                    let opened = from_acp::opened(known.acp_id.clone(), &answer);
                    known.options.clone_from(&opened.options);
                    known.loading = false;
                    let next = known.waiting.pop_front();
                    // What ran at an earlier time does not run any more.
                    self.end_agent_terminals(session);
                    self.post(Event::Opened { session, opened: Box::new(opened) });
                    if let Some(content) = next {
                        self.prompt(session, content);
                    }
                }
            }
            (OutgoingRequest::Load { session, .. }, Err(failure)) => self.not_opened(session, failure),
            (OutgoingRequest::Unwanted, result) => self.close_unwanted(result),
            (OutgoingRequest::AuthStatus, Ok(answer)) => self.auth_reported(from_acp::auth_status(&answer)),
            (OutgoingRequest::AuthStatus, Err(failure)) => {
                self.log.note(&format!("the agent can't say whether it is logged in: {}", failure.message));
            }
            (OutgoingRequest::Status { acp_id }, result) => {
                let state = from_acp::stored_state(result);
                self.post(Event::StatusTold { agent: self.agent, acp_id, state });
            }
            (OutgoingRequest::Close { acp_id }, Err(failure)) => {
                self.needs_login(None, "close the session", failure, Some(Again::Close { acp_id }));
            }
            (OutgoingRequest::Steer { session, content }, result) => {
                let outcome = match result {
                    Ok(answer) => from_acp::steered(&answer),
                    Err(failure) => Steering::NotTaken(Some(failure)),
                };
                if let Some(known) = self.sessions.get_mut(session) {
                    known.detached |= outcome == Steering::StartedNewTurn;
                }
                self.post(Event::Steered { session, content, outcome });
            }
            (OutgoingRequest::Other { session, what, on_success, is_late, again }, result) => match result {
                // Nobody expects a list to open any more.
                Ok(_) if is_late && matches!(on_success, OnSuccess::List) => {}
                Ok(answer) => self.granted(session, on_success, &answer),
                Err(failure) if failure.kind == FailureKind::AuthRequired => {
                    self.needs_login(session, what, failure, again);
                }
                Err(_) if is_late => {}
                Err(failure) => self.request_failed(session, what, failure),
            },
            (OutgoingRequest::Close { .. }, Ok(_)) | (OutgoingRequest::Prompt { .. }, _) => {}
        }
        ControlFlow::Continue(())
    }

    fn initialized(&mut self, result: Result<Value, Failure>) -> ControlFlow<Failure> {
        let is_asked = self.dialect.is_none();
        let connected = |answer: Value| match is_asked && from_acp::speaks_draft(&answer) {
            true => Err(speaks_draft(&self.name)),
            false => from_acp::connected(&answer),
        };
        match result.and_then(connected) {
            Ok(info) => {
                if self.outbox.fell_back() {
                    let text = format!(
                        "{} has no version 2 of the protocol, so it is spoken to in version 1",
                        self.name
                    );
                    self.note(None, Severity::Info, text);
                }
                let info = Box::new(info);
                self.post(Event::Connected { agent: self.agent, info: info.clone() });
                let asks_login = info.can.auth_status;
                if let State::Starting(waiting) = std::mem::replace(&mut self.state, State::Ready(info)) {
                    if asks_login {
                        self.ask_auth_status();
                    }
                    waiting.into_iter().for_each(|command| self.command(command));
                }
                ControlFlow::Continue(())
            }
            Err(failure) => ControlFlow::Break(failure),
        }
    }

    /// Some agents say how to log in only where they demand it.
    fn learn_logins(&mut self, error: &RpcError) {
        let State::Ready(info) = &mut self.state else { return };
        let mut new = from_acp::logins_in_error(error);
        new.retain(|method| info.auth_methods.iter().all(|known| known.id != method.id));
        if !new.is_empty() {
            info.auth_methods.extend(new);
            let info = info.clone();
            self.post(Event::Connected { agent: self.agent, info });
        }
    }

    /// A session is not to be had, and so are the turns that waited for it.
    pub(super) fn not_opened(&mut self, session: SessionKey, failure: Failure) {
        self.fail_waiting(session, &failure);
        self.sessions.remove(session);
        self.subagents.forget(session);
        self.shared.folder_indexes.session_ended(session);
        self.post(Event::OpenFailed { session, failure });
    }

    fn close_unwanted(&mut self, result: Result<Value, Failure>) {
        self.replay_buffered();
        let State::Ready(info) = &self.state else { return };
        if let Ok(opened) = result.and_then(|answer| from_acp::created(&answer))
            && info.can.close
        {
            // Should it fail, it is a session that nobody misses.
            let params = to_acp::close_session(&opened.acp_id);
            self.request(OutgoingRequest::Unwanted, to_acp::SESSION_CLOSE, &params);
        }
    }

    fn turn_answered(&mut self, session: SessionKey, result: Result<Value, RpcError>) {
        // A session that was closed meanwhile is forgotten, and so is its turn.
        let Some(known) = self.sessions.get_mut(session) else { return };
        let turn = known.turn.take().unwrap_or_default();
        self.shared.folder_indexes.turn_ended(session, self.arrived);
        self.shared.policy.holds.turn_ended(session);
        let next = known.waiting.pop_front();
        let cancelled = TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None };
        let end = match result.map(|answer| self.turn_end(&answer)) {
            Ok(TurnEnd::Stopped { reason: StopReason::Other(word), .. })
                if turn.cancelled && word.is_empty() =>
            {
                cancelled
            }
            Ok(end) => end,
            // Many agents let the exception out that their own cancelling throws.
            Err(_) if turn.cancelled => cancelled,
            Err(error) => TurnEnd::Failed(from_acp::failure(error)),
        };
        self.withdraw(&EndReason::TurnEnded(session));
        if turn.cancelled || matches!(end, TurnEnd::Stopped { reason: StopReason::Cancelled, .. }) {
            // Some agents forget the commands of a turn that was cancelled.
            for terminal in &turn.terminals {
                // One that is gone already needs no ending.
                let _ = self.shared.terminals.kill(session, terminal);
            }
            self.tell_left_running(session, turn.began);
        }
        self.end_agent_terminals(session);
        self.post(Event::TurnEnded { session, end });
        if let Some(content) = next {
            self.prompt(session, content);
        }
    }

    /// The answer to a prompt. What its tokens are a count of, only the agent's name tells.
    fn turn_end(&self, answer: &Value) -> TurnEnd {
        let mut end = from_acp::turn_end(answer);
        if let TurnEnd::Stopped { usage: Some(usage), .. } = &mut end
            && usage.counts == Counts::Session
        {
            usage.counts = match () {
                () if self.needs(Quirk::TokensOfTurn) => Counts::Turn,
                () if self.needs(Quirk::TokensOfLastRequest) => Counts::LastRequest,
                () if self.needs(Quirk::TokensOfProcess) => Counts::Process,
                () => Counts::Session,
            };
        }
        end
    }

    fn granted(&mut self, session: Option<SessionKey>, on_success: OnSuccess, answer: &Value) {
        let agent = self.agent;
        match on_success {
            OnSuccess::Nothing => {}
            OnSuccess::List => {
                let (sessions, next_cursor) = from_acp::listed(answer);
                self.post(Event::Listed { agent, sessions, next_cursor });
            }
            OnSuccess::Archived(acp_id, archived) => self.archived(&acp_id, archived),
            OnSuccess::LoggedIn => {
                self.post(Event::LoggedIn { agent });
                self.ask_auth_status();
            }
            OnSuccess::LoggedOut => {
                self.post(Event::LoggedOut { agent });
                self.ask_auth_status();
            }
            OnSuccess::Mode(mode) => self.chosen(session, Chosen::Mode(mode)),
            OnSuccess::Model(model) => self.chosen(session, Chosen::Model(model)),
            OnSuccess::Title(asked) => {
                let title = from_acp::title_kept(answer).unwrap_or_else(|| asked.clone());
                if let Some(session) = session.filter(|session| self.sessions.get_mut(*session).is_some()) {
                    self.post(Event::TitleKept { session, asked, title });
                }
            }
            OnSuccess::StoredTitle { acp_id, asked } => {
                let title = from_acp::title_kept(answer).unwrap_or_else(|| asked.clone());
                self.post(Event::StoredTitleKept { agent, acp_id, asked, title });
            }
            OnSuccess::Option(option, value) => {
                let Some(known) = session.and_then(|session| self.sessions.get_mut(session)) else { return };
                let options = from_acp::changed_options(answer);
                known.options = options.unwrap_or_else(|| known.options_with(&option, &value));
                let chosen = Chosen::Options(known.options.clone());
                self.chosen(session, chosen);
            }
        }
    }

    /// An agent ends a session that it archives, so there is nothing left of it to be closed.
    fn archived(&mut self, acp_id: &str, archived: bool) {
        let open = self.sessions.find(acp_id).map(|session| session.key).filter(|_| archived);
        if let Some(session) = open {
            self.sessions.remove(session);
            self.subagents.forget(session);
        }
        self.post(Event::Archived { agent: self.agent, open, archived });
    }

    /// Agents need not tell unasked that it has changed.
    fn ask_auth_status(&mut self) {
        if matches!(&self.state, State::Ready(info) if info.can.auth_status) {
            self.request(OutgoingRequest::AuthStatus, to_acp::AUTH_STATUS, &to_acp::auth_status());
        }
    }

    pub(super) fn auth_reported(&self, status: AuthStatus) {
        self.post(Event::AuthReported { agent: self.agent, status });
    }

    fn chosen(&mut self, session: Option<SessionKey>, chosen: Chosen) {
        // A session that was closed meanwhile has nothing to choose any more.
        if let Some(session) = session.filter(|session| self.sessions.get_mut(*session).is_some()) {
            self.post(Event::Chosen { session, chosen });
        }
    }
}

/// What is said in a fork must not be taken for what is said in the session that it comes from.
fn is_another(opened: Opened, fork_of: Option<&str>) -> Result<Opened, Failure> {
    match fork_of {
        Some(acp_id) if acp_id == opened.acp_id => Err(Failure {
            kind: FailureKind::Protocol,
            message: "the agent's answer names the session that was to be forked".into(),
            details: None,
        }),
        _ => Ok(opened),
    }
}

fn speaks_draft(agent: &str) -> Failure {
    let message = format!(
        "it speaks a draft dialect of the protocol; starting it again speaks that with it, and \
         `agents = {{ [{agent:?}] = {{ dialect = \"draft\" }} }}` does so from the start"
    );
    Failure { kind: FailureKind::Dialect, message, details: None }
}
