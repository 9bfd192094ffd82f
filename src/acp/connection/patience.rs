//! How long the agent may take to answer what the user waits for, and what is said when it takes longer. Turns
//! take as long as they take, and so do logins.

use std::time::Duration;

use tokio::time::Instant;

use super::open_requests::{OnSuccess, OutgoingRequest};
use super::state::Connection;
use crate::core::message::{Failure, FailureKind};

impl Connection {
    /// A request has gone out.
    pub(super) fn expect_answer(&mut self, id: i64) {
        let limit = self.open_requests.iter().find(|(open, _)| *open == id).map(|(_, call)| self.limit(call));
        if let Some(limit) = limit.flatten() {
            self.patience.add(Instant::now() + limit, id);
        }
    }

    fn limit(&self, call: &OutgoingRequest) -> Option<Duration> {
        let settings = &self.shared.settings;
        match call {
            OutgoingRequest::Other { on_success: OnSuccess::LoggedIn, .. } => None,
            OutgoingRequest::Other { .. } | OutgoingRequest::Close { .. } => Some(settings.request_timeout),
            // It may have to start servers of tools first, as when it is started.
            OutgoingRequest::Open { .. } | OutgoingRequest::Load { .. } => Some(self.patience_to_open()),
            _ => None,
        }
    }

    /// Longer for an agent that was too slow before.
    fn patience_to_open(&self) -> Duration {
        let settings = &self.shared.settings;
        let limit = settings.request_timeout.max(settings.initialize_timeout);
        if self.is_slow { limit.saturating_mul(2) } else { limit }
    }

    /// Says which requests have waited too long.
    pub(super) fn lose_patience(&mut self) {
        let now = Instant::now();
        while let Some(id) = self.patience.take(now) {
            let Some((_, call)) = self.open_requests.iter_mut().find(|(open, _)| *open == id) else {
                continue;
            };
            match call {
                OutgoingRequest::Other { session, what, is_late, .. } => {
                    *is_late = true;
                    let (session, what) = (*session, *what);
                    let failure = late(self.shared.settings.request_timeout);
                    self.request_failed(session, what, failure);
                }
                OutgoingRequest::Close { .. } => {
                    *call = OutgoingRequest::Unwanted;
                    let failure = late(self.shared.settings.request_timeout);
                    self.request_failed(None, "close the session", failure);
                }
                OutgoingRequest::Open { session, .. } | OutgoingRequest::Load { session, .. } => {
                    let session = *session;
                    let limit = self.patience_to_open();
                    // One that still tells what was said is at work.
                    if self.heard + limit > now {
                        self.patience.add(self.heard + limit, id);
                    } else {
                        self.is_slow = true;
                        self.stop_opening(session, late(limit));
                    }
                }
                _ => {}
            }
        }
    }
}

fn late(limit: Duration) -> Failure {
    let message = match limit.as_secs() {
        0 => format!("it didn't answer within {} ms", limit.as_millis()),
        seconds => format!("it didn't answer within {seconds} s; :Acp restart starts it again"),
    };
    Failure { kind: FailureKind::Timeout, message, details: None }
}
