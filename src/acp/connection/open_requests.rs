//! The kinds of requests that are made of an agent, each with what is needed when its answer comes.

use std::sync::Arc;

use crate::core::ids::SessionKey;
use crate::core::message::{Again, Content, OptionValue, Place, Reopen};

/// A request of ours, and what its answer is for.
pub(super) enum OutgoingRequest {
    Initialize,
    /// Whether the agent is logged in. Nobody waits for it.
    AuthStatus,
    /// Whether the agent has this stored session open.
    Status {
        acp_id: String,
    },
    Open {
        session: SessionKey,
        place: Arc<Place>,
        /// The agent's name for the session that it is a fork of.
        fork_of: Option<String>,
    },
    Load {
        session: SessionKey,
        how: Reopen,
    },
    Prompt {
        session: SessionKey,
    },
    Steer {
        session: SessionKey,
        content: Vec<Content>,
    },
    Close {
        /// The agent's name for the session, which is forgotten here.
        acp_id: String,
    },
    /// A session that nobody wants any more; if it comes to be, it is closed.
    Unwanted,
    /// Anything else; `what` is fit for "couldn't …".
    Other {
        session: Option<SessionKey>,
        what: &'static str,
        on_success: OnSuccess,
        /// The user was told that there is no answer; a late one counts all the same.
        is_late: bool,
        /// What is to be done again after a login, if the agent wants one first.
        again: Option<Again>,
    },
}

impl OutgoingRequest {
    pub fn other(
        session: Option<SessionKey>,
        what: &'static str,
        on_success: OnSuccess,
        again: Option<Again>,
    ) -> Self {
        Self::Other { session, what, on_success, is_late: false, again }
    }
}

/// What follows when the agent grants a request.
pub(super) enum OnSuccess {
    Nothing,
    List,
    /// Which, and whether it was put away or brought back.
    Archived(String, bool),
    LoggedIn,
    LoggedOut,
    Mode(String),
    Model(String),
    Title(String),
    /// Of a session that is not open here.
    StoredTitle {
        acp_id: String,
        asked: String,
    },
    Option(String, OptionValue),
}
