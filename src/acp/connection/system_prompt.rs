//! The user's own system prompt: the part that is in a file, and what becomes of a session whose agent refuses the
//! prompt. Whether and how it is sent is for `to_acp`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::open_requests::OutgoingRequest;
use super::state::{Connection, State};
use crate::acp::wire::rpc::RpcError;
use crate::acp::wire::to_acp;
use crate::core::message::{Command, Reopen, Severity};
use crate::core::text::{cut, one_line};

/// A disk that takes longer hangs, and the session is wanted now.
const PATIENCE: Duration = Duration::from_secs(2);

/// No model reads a longer one.
const MOST_BYTES: u64 = 256 << 10;

/// Of what an agent says about its reasons.
const MOST_REASON: usize = 200;

impl Connection {
    /// Puts what is in the prompt's file into the command that opens a session.
    pub(super) async fn read_system_prompt(&self, command: &mut Command) {
        let (Command::Open { session, place, .. } | Command::Load { session, place, .. }) = command else {
            return;
        };
        let Some(prompt) = &mut place.system_prompt else { return };
        let Some(file) = prompt.file.take() else { return };
        let path = file.clone();
        let read = match timeout(PATIENCE, spawn_blocking(move || read(&path))).await {
            Ok(Ok(read)) => read.map_err(|error| error.to_string()),
            Ok(Err(_)) => Err("the plugin failed while reading it; see the log".to_owned()),
            Err(_) => Err("its disk does not answer".to_owned()),
        };
        match read {
            Ok(text) if prompt.text.is_empty() => prompt.text = text,
            Ok(text) => prompt.text = format!("{}\n\n{text}", prompt.text),
            Err(why) => {
                let text = format!("couldn't read the system prompt in {}: {why}", file.display());
                self.note(Some(*session), Severity::Warning, text);
            }
        }
    }

    /// An agent that can't have the prompt makes no session; then there is one without it. Says whether that is being
    /// done.
    pub(super) fn goes_on_without_prompt(&mut self, call: &OutgoingRequest, why: &RpcError) -> bool {
        let State::Ready(info) = &self.state else { return false };
        let can = info.can;
        let (session, place) = match call {
            OutgoingRequest::Open { session, place, .. } => (*session, place.clone()),
            OutgoingRequest::Load { session, .. } => match self.sessions.get(*session) {
                Some(known) => (*session, known.place.clone()),
                None => return false,
            },
            _ => return false,
        };
        if place.system_prompt.is_none() {
            return false;
        }
        let mut place = (*place).clone();
        place.system_prompt = None;
        let data = why.data.as_ref().map(|data| format!(" ({})", cut(&data.to_string(), MOST_REASON)));
        let text = format!(
            "{} refuses your system prompt, so the session is without it: {}{}",
            self.name,
            one_line(&why.message),
            data.unwrap_or_default()
        );
        self.note(Some(session), Severity::Warning, text);
        if let OutgoingRequest::Load { how, .. } = call {
            let how = *how;
            let Some(known) = self.sessions.get_mut(session) else { return false };
            known.place = Arc::new(place.clone());
            let acp_id = known.acp_id.clone();
            let call = OutgoingRequest::Load { session, how };
            if can.load && (how == Reopen::Load || !can.resume) {
                self.request(call, to_acp::SESSION_LOAD, &to_acp::load_session(&acp_id, &place, can));
            } else {
                self.request(call, to_acp::SESSION_RESUME, &to_acp::resume_session(&acp_id, &place, can));
            }
        } else if let OutgoingRequest::Open { fork_of: Some(acp_id), .. } = call {
            let params = to_acp::fork_session(acp_id, &place, can);
            let fork_of = Some(acp_id.clone());
            let call = OutgoingRequest::Open { session, place: Arc::new(place), fork_of };
            self.request(call, to_acp::SESSION_FORK, &params);
        } else {
            let params = to_acp::new_session(&place, can);
            let call = OutgoingRequest::Open { session, place: Arc::new(place), fork_of: None };
            self.request(call, to_acp::SESSION_NEW, &params);
        }
        true
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MOST_BYTES {
        true => Err(io::Error::other(format!("it has more than {} KiB", MOST_BYTES >> 10))),
        false => Ok(text),
    }
}
