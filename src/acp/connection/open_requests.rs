//! The kinds of requests that are made of an agent, each with what is needed when its answer comes.

use std::sync::Arc;

use crate::core::ids::SessionKey;
use crate::core::message::{Content, OptionValue, Place};

/// A request of ours, and what its answer is for.
pub(super) enum OutgoingRequest {
    Initialize,
    Open {
        session: SessionKey,
        place: Arc<Place>,
    },
    Load {
        session: SessionKey,
    },
    Prompt {
        session: SessionKey,
    },
    Steer {
        session: SessionKey,
        content: Vec<Content>,
    },
    Close {
        session: SessionKey,
    },
    /// A session that nobody wants any more; if it comes to be, it is closed.
    Unwanted,
    /// Anything else; `what` is fit for "couldn't …".
    Other {
        session: Option<SessionKey>,
        what: &'static str,
        on_success: OnSuccess,
    },
}

/// What follows when the agent grants a request.
pub(super) enum OnSuccess {
    Nothing,
    List,
    LoggedIn,
    LoggedOut,
    Mode(String),
    Model(String),
    Option(String, OptionValue),
}
