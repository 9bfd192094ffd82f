//! What the user wants of an agent, made into requests; what the agent doesn't offer is not asked for.

use std::sync::Arc;

use serde::Serialize;

use super::open_requests::{OnSuccess, OutgoingRequest};
use super::pending_questions::EndReason;
use super::sessions::{Session, Turn};
use super::state::{Connection, State};
use crate::acp::processes::escaped;
use crate::acp::refusals::request_name;
use crate::acp::wire::rpc::{self, RequestId, RpcError};
use crate::acp::wire::to_acp;
use crate::core::ids::SessionKey;
use crate::core::message::{
    Again, AuthKind, Beginning, Capabilities, Command, Content, Event, Failure, FailureKind, Place, Reopen,
    Severity, Steering, StopReason, TurnEnd,
};

impl Connection {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub(super) fn command(&mut self, command: Command) {
        let can = match &mut self.state {
            State::Ready(info) => info.can,
            State::Starting(waiting) => return waiting.push(command),
        };
        let what = request_name(&command).unwrap_or_default();
        let again = Again::of(&command);
        match command {
            Command::Open { session, mut place, .. } => {
                self.home = Some(session);
                self.prepare_place(session, &mut place, can);
                let params = to_acp::new_session(&place, can);
                let place = Arc::new(place);
                let call = OutgoingRequest::Open { session, place, fork_of: None };
                self.request(call, to_acp::SESSION_NEW, &params);
            }
            Command::Load { session, place, acp_id, how, .. } => self.load(session, place, acp_id, how),
            Command::Close { session } => self.close(session),
            Command::Prompt { session, content } => self.prompt(session, content),
            Command::JudgeDone { session, job, actions } => self.judge_done(session, job, *actions),
            Command::Cancel { session } => self.cancel(session),
            Command::CancelSubagent { subagent, .. } => self.cancel_subagent(&subagent),
            Command::Answer { ask, answer } => {
                if let Some((session, call, allowed)) = self.questions.permission(ask, &answer) {
                    self.shared.folder_indexes.answered(session, &call, allowed);
                    self.calls.answered(session, &call, allowed);
                }
                if let Err(why) = self.questions.answer(ask, answer) {
                    self.log.note(&why);
                }
            }
            Command::List { cwd, cursor, archived, .. } => {
                let call = OutgoingRequest::other(None, what, OnSuccess::List, again);
                self.request_if(
                    can.list,
                    call,
                    to_acp::SESSION_LIST,
                    &to_acp::list_sessions(cwd, cursor, archived),
                );
            }
            Command::Archive { acp_id, archived, .. } => {
                let on_success = OnSuccess::Archived(acp_id.clone(), archived);
                let call = OutgoingRequest::other(None, what, on_success, again);
                if archived {
                    let params = to_acp::archive_session(&acp_id);
                    self.request_if(can.archive, call, to_acp::SESSION_ARCHIVE, &params);
                } else {
                    let params = to_acp::unarchive_session(&acp_id);
                    self.request_if(can.archive, call, to_acp::SESSION_UNARCHIVE, &params);
                }
            }
            // Without the capability it is never asked: what that would be answered with means nothing.
            Command::AskStatus { acp_ids, .. } => {
                for acp_id in acp_ids.into_iter().filter(|_| can.status) {
                    let params = to_acp::session_status(&acp_id);
                    self.request(OutgoingRequest::Status { acp_id }, to_acp::SESSION_STATUS, &params);
                }
            }
            Command::Delete { acp_id, .. } => {
                let call = OutgoingRequest::other(None, what, OnSuccess::Nothing, again);
                self.request_if(can.delete, call, to_acp::SESSION_DELETE, &to_acp::delete_session(&acp_id));
            }
            Command::CloseStored { acp_id, .. } => {
                let params = to_acp::close_session(&acp_id);
                self.request_if(can.close, OutgoingRequest::Close { acp_id }, to_acp::SESSION_CLOSE, &params);
            }
            Command::Login { method, .. } => {
                let State::Ready(info) = &self.state else { return };
                // Other types run elsewhere, or not at all.
                let known =
                    info.auth_methods.iter().any(|known| known.id == method && known.kind == AuthKind::Agent);
                let call = OutgoingRequest::other(None, what, OnSuccess::LoggedIn, again);
                self.request_if(known, call, to_acp::AUTHENTICATE, &to_acp::authenticate(&method));
            }
            Command::Logout { .. } => {
                let call = OutgoingRequest::other(None, what, OnSuccess::LoggedOut, again);
                self.request_if(can.logout, call, to_acp::LOGOUT, &to_acp::logout());
            }
            Command::Steer { session, content } => self.steer(session, content),
            Command::ServeTool { session, run, method, params } => {
                self.serve_tool(session, run, &method, params)
            }
            Command::LeaveTool { session, run } => self.leave_tool(session, run),
            Command::SetMode { session, mode } => {
                let Some(acp_id) = self.open_session(session, what) else { return };
                let params = to_acp::set_mode(&acp_id, &mode);
                let call = OutgoingRequest::other(Some(session), what, OnSuccess::Mode(mode), again);
                self.request(call, to_acp::SESSION_SET_MODE, &params);
            }
            Command::SetModel { session, model } => {
                let Some(acp_id) = self.open_session(session, what) else { return };
                let params = to_acp::set_model(&acp_id, &model);
                let call = OutgoingRequest::other(Some(session), what, OnSuccess::Model(model), again);
                self.request(call, to_acp::SESSION_SET_MODEL, &params);
            }
            Command::SetTitle { session, title } => {
                let Some(acp_id) = self.open_session(session, what) else { return };
                let params = to_acp::set_title(&acp_id, &title);
                let call = OutgoingRequest::other(Some(session), what, OnSuccess::Title(title), again);
                self.request_if(can.set_title, call, to_acp::SESSION_SET_TITLE, &params);
            }
            Command::SetStoredTitle { acp_id, title, .. } => {
                let params = to_acp::set_title(&acp_id, &title);
                let on_success = OnSuccess::StoredTitle { acp_id, asked: title };
                let call = OutgoingRequest::other(None, what, on_success, again);
                self.request_if(can.set_title, call, to_acp::SESSION_SET_TITLE, &params);
            }
            Command::SetOption { session, option, value } => {
                let Some(acp_id) = self.open_session(session, what) else { return };
                let params = to_acp::set_option(&acp_id, &option, &value);
                let call =
                    OutgoingRequest::other(Some(session), what, OnSuccess::Option(option, value), again);
                self.request(call, to_acp::SESSION_SET_OPTION, &params);
            }
            // The dispatcher carries these out.
            Command::Connect { .. }
            | Command::Disconnect { .. }
            | Command::EndLeft { .. }
            | Command::Resolve { .. }
            | Command::Kill { .. }
            | Command::Type { .. }
            | Command::Resize { .. }
            | Command::FileLoaded { .. }
            | Command::FileUnloaded { .. }
            | Command::Watch { .. }
            | Command::Edits { .. }
            | Command::Outside { .. }
            | Command::Rules(_)
            | Command::ListAllowed
            | Command::Revoke { .. }
            | Command::Handle { .. }
            | Command::Tools { .. }
            | Command::OfferTools { .. }
            | Command::AnswerTool { .. }
            | Command::Compute { .. }
            | Command::Checkpoint { .. }
            | Command::Undecided { .. }
            | Command::Record { .. }
            | Command::Usage { .. }
            | Command::Audit { .. }
            | Command::Inspect(_)
            | Command::PlayNext { .. }
            | Command::Choices { .. }
            | Command::PutBack { .. }
            | Command::Find { .. }
            | Command::ReadAgents { .. }
            | Command::Keep(_)
            | Command::KeepImages { .. }
            | Command::UserBegan(_)
            | Command::UserEnded
            | Command::Shutdown => {}
        }
    }

    fn load(&mut self, session: SessionKey, mut place: Place, acp_id: String, how: Reopen) {
        self.home = Some(session);
        let State::Ready(info) = &self.state else { return };
        let can = info.can;
        if how == Reopen::Fork {
            return self.fork(session, place, acp_id, can);
        }
        if !can.load && !can.resume {
            let failure = self.not_offered("load sessions");
            return self.post(Event::OpenFailed { session, failure });
        }
        self.prepare_place(session, &mut place, can);
        // The agent shows the session before it answers, so it is known from here on.
        let mut known = Session::new(self.agent, session, acp_id.clone(), Arc::new(place.clone()));
        known.loading = true;
        self.sessions.insert(known);
        let call = OutgoingRequest::Load { session, how };
        if can.load && (how == Reopen::Load || !can.resume) {
            self.request(call, to_acp::SESSION_LOAD, &to_acp::load_session(&acp_id, &place, can));
        } else {
            self.request(call, to_acp::SESSION_RESUME, &to_acp::resume_session(&acp_id, &place, can));
        }
    }

    /// The new session is known once the agent has named it.
    fn fork(&mut self, session: SessionKey, mut place: Place, acp_id: String, can: Capabilities) {
        if !can.fork {
            let failure = self.not_offered("fork sessions");
            return self.post(Event::OpenFailed { session, failure });
        }
        self.prepare_place(session, &mut place, can);
        let params = to_acp::fork_session(&acp_id, &place, can);
        let call = OutgoingRequest::Open { session, place: Arc::new(place), fork_of: Some(acp_id) };
        self.request(call, to_acp::SESSION_FORK, &params);
    }

    pub(super) fn prompt(&mut self, session: SessionKey, content: Vec<Content>) {
        let State::Ready(info) = &self.state else { return };
        let can = info.can;
        let Some(known) = self.sessions.get_mut(session) else {
            let end = TurnEnd::Failed(not_open());
            return self.post(Event::TurnEnded { session, end });
        };
        if known.turn.is_some() || known.loading {
            return known.waiting.push_back(content);
        }
        known.turn = Some(Turn { began: escaped::now(), ..Turn::default() });
        known.detached = false;
        self.calls.forget(session);
        self.shared.folder_indexes.turn_began(session);
        self.shared.policy.rules.turn_began(session);
        self.shared.policy.holds.turn_began(session);
        known.agent_terminals.begin_turn();
        let params = to_acp::prompt(&known.acp_id, content, can);
        self.request(OutgoingRequest::Prompt { session }, to_acp::SESSION_PROMPT, &params);
    }

    /// Agents are never asked whether they can be steered by trying it: some say yes to anything.
    fn steer(&mut self, session: SessionKey, content: Vec<Content>) {
        let State::Ready(info) = &self.state else { return };
        let can = info.can;
        let not_taken =
            |why| Event::Steered { session, content: content.clone(), outcome: Steering::NotTaken(why) };
        if !can.steering {
            return self.post(not_taken(Some(self.not_offered("be steered"))));
        }
        match self.sessions.get_mut(session) {
            None => self.post(not_taken(Some(not_open()))),
            Some(known) if known.turn.as_ref().is_some_and(|turn| !turn.cancelled) => {
                let params = to_acp::steer(&known.acp_id, content.clone(), can);
                self.request(OutgoingRequest::Steer { session, content }, to_acp::STEER, &params);
            }
            Some(_) => self.post(not_taken(None)),
        }
    }

    fn cancel(&mut self, session: SessionKey) {
        if self.give_up_opening(session) {
            return;
        }
        let Some(known) = self.sessions.get_mut(session) else { return };
        let waiting = std::mem::take(&mut known.waiting).len();
        let ours = known.turn.as_mut().is_some_and(|turn| !std::mem::replace(&mut turn.cancelled, true));
        let detached = std::mem::take(&mut known.detached);
        let terminals = known.turn.as_ref().map(|turn| turn.terminals.clone()).unwrap_or_default();
        if ours || detached {
            self.outbox.notify(to_acp::SESSION_CANCEL, &to_acp::cancel(&known.acp_id));
        }
        if ours {
            self.end_terminals_soon(session, terminals);
        }
        self.withdraw(&EndReason::TurnCancelled(session));
        for _ in 0..waiting {
            let end = TurnEnd::Stopped { reason: StopReason::Cancelled, usage: None };
            self.post(Event::TurnEnded { session, end });
        }
    }

    fn close(&mut self, session: SessionKey) {
        self.withdraw(&EndReason::Session(session));
        self.shared.terminals.end_session(session);
        self.shared.watch.ended(session);
        self.shared.folder_indexes.session_ended(session);
        self.shared.policy.ended(session);
        self.end_agent_terminals(session);
        if self.give_up_opening(session) {
            return;
        }
        let Some(known) = self.sessions.remove(session) else { return };
        self.subagents.forget(session);
        let State::Ready(info) = &self.state else { return };
        if info.can.close {
            let params = to_acp::close_session(&known.acp_id);
            self.request(OutgoingRequest::Close { acp_id: known.acp_id }, to_acp::SESSION_CLOSE, &params);
        } else if known.turn.is_some_and(|turn| !turn.cancelled) {
            self.outbox.notify(to_acp::SESSION_CANCEL, &to_acp::cancel(&known.acp_id));
        }
    }

    fn give_up_opening(&mut self, session: SessionKey) -> bool {
        let failure = Failure { kind: FailureKind::Cancelled, message: "given up".to_owned(), details: None };
        self.stop_opening(session, failure)
    }

    /// Stops waiting for a session that is still being opened, if it is.
    pub(super) fn stop_opening(&mut self, session: SessionKey, failure: Failure) -> bool {
        let opening = self.open_requests.iter_mut().find(|(_, call)| {
            matches!(call, OutgoingRequest::Open { session: opening, .. } | OutgoingRequest::Load { session: opening, .. } if *opening == session)
        });
        let Some((id, call)) = opening else { return false };
        *call = OutgoingRequest::Unwanted;
        self.outbox.notify(to_acp::CANCEL_REQUEST, &to_acp::cancel_request(id));
        self.not_opened(session, failure);
        self.replay_buffered();
        true
    }

    pub(super) fn request(&mut self, call: OutgoingRequest, method: &str, params: &impl Serialize) {
        let id = self.open_requests.open(call);
        self.expect_answer(id);
        if let Err(error) = self.outbox.request(id, method, params) {
            let error = RpcError::new(rpc::INTERNAL_ERROR, format!("the request can't be written: {error}"));
            if let Some(call) = self.open_requests.close(&RequestId::own(id)) {
                // Only `initialize` could end the conversation, and it has nothing that can't be written.
                let _ = self.answered(call, Err(error));
            }
        }
    }

    /// Makes a request that the agent must offer, or says that it doesn't.
    fn request_if(&mut self, offered: bool, call: OutgoingRequest, method: &str, params: &impl Serialize) {
        match call {
            OutgoingRequest::Other { session, what, .. } if !offered => {
                self.request_failed(session, what, self.not_offered(what));
            }
            call => self.request(call, method, params),
        }
    }

    fn not_offered(&self, what: &str) -> Failure {
        let message = format!("{} doesn't offer to {what}", self.name);
        Failure { kind: FailureKind::Protocol, message, details: None }
    }

    /// The agent's name for a session; says what can't be done if there is none.
    fn open_session(&mut self, session: SessionKey, what: &str) -> Option<String> {
        let acp_id = self.sessions.get_mut(session).map(|known| known.acp_id.clone());
        if acp_id.is_none() {
            self.request_failed(Some(session), what, not_open());
        }
        acp_id
    }

    /// A session is about to be opened: settles what the agent is given of the place, and looks after its folders.
    fn prepare_place(&mut self, session: SessionKey, place: &mut Place, can: Capabilities) {
        if !self.outbox.takes_beginning() {
            *place.beginning = Beginning::default();
        }
        self.reach_tools(session, place, can);
        self.tell_left_out(session, place);
        if !self.is_replay {
            self.shared.folder_indexes.session_began(self.agent, session, place);
        }
    }

    /// Says which parts of a place the agent can't take.
    fn tell_left_out(&self, session: SessionKey, place: &Place) {
        let State::Ready(info) = &self.state else { return };
        for server in place.mcp_servers.iter().filter(|server| !to_acp::takes(info.can, server)) {
            let text =
                format!("{} can't reach the MCP server {:?}, which was left out", self.name, server.name());
            self.note(Some(session), Severity::Warning, text);
        }
        match &place.system_prompt {
            Some(_) if !info.can.system_prompt => {
                let text = format!("{} takes no system prompt, so yours is left out", self.name);
                self.note(Some(session), Severity::Warning, text);
            }
            Some(prompt) if prompt.replaces && !info.can.system_prompt_override => {
                let text = format!("{} keeps its own system prompt, so yours is added to it", self.name);
                self.note(Some(session), Severity::Warning, text);
            }
            _ => {}
        }
        if !place.additional.is_empty() && !info.can.additional_directories {
            let text = format!("{} takes no further folders, so it isn't told of them", self.name);
            self.note(Some(session), Severity::Warning, text);
        }
    }
}

fn not_open() -> Failure {
    let message = "the session isn't open; open or load it first".to_owned();
    Failure { kind: FailureKind::NotFound, message, details: None }
}
