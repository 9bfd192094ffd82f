//! The conversion of one connection's messages, where the agent does not speak the first version of the official
//! protocol, as the conversation does. The conversation knows nothing of it.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;

use super::converted::Converted;
use super::draft::Draft;
use super::from_acp::Chunk;
use super::incoming::Incoming;
use super::paths::Paths;
use super::rpc::{Message, RequestId, RpcError};
use super::v2::V2;
use crate::acp::mutex::lock;
use crate::core::message::{Dialect, Launch};

/// What stands between a conversation and the lines of its agent. Cheap to clone; all clones remember the same.
#[derive(Clone, Default)]
pub struct Converter {
    translation: Option<Arc<Mutex<Translation>>>,
    paths: Paths,
}

/// What an agent speaks instead.
pub enum Translation {
    Draft(Box<Draft>),
    V2(Box<V2>),
}

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter")
            .field("translation", &self.translation.is_some())
            .field("paths", &self.paths)
            .finish()
    }
}

impl Converter {
    /// `most_commands` is how many commands of the agent's may run at once.
    pub fn to(launch: &Launch, most_commands: usize) -> Self {
        let translation = match launch.dialect {
            Some(Dialect::Draft) => Some(Translation::Draft(Box::new(Draft::new(most_commands)))),
            Some(Dialect::V2) => Some(Translation::V2(Box::default())),
            Some(Dialect::Official) | None => None,
        };
        let paths = Paths::of(&launch.name, &launch.paths);
        Self { translation: translation.map(|translation| Arc::new(Mutex::new(translation))), paths }
    }

    /// Messages go as they are.
    pub fn is_none(&self) -> bool {
        self.translation.is_none() && self.paths.is_none()
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Nothing where messages are as the agent wants them.
    pub fn translation(&self) -> Option<MutexGuard<'_, Translation>> {
        self.translation.as_deref().map(lock)
    }
}

impl Translation {
    /// Reads a line that comes often, and needs no conversion as a message.
    pub fn quick(&mut self, line: &str) -> Option<Incoming> {
        match self {
            Self::Draft(draft) => {
                let chunk = if draft.ends_messages() { None } else { Chunk::read_draft(line) };
                chunk.map(Incoming::Chunk).or_else(|| draft.quick(line).map(Incoming::Told))
            }
            // Each piece counts for what is told of the whole message later.
            Self::V2(_) => None,
        }
    }

    /// Whether the agent expects the output of its commands to be sent as it comes.
    pub fn pushes_output(&self) -> bool {
        matches!(self, Self::Draft(_))
    }

    /// Whether the agent is told when a session is opened what that begins with.
    pub fn takes_beginning(&self) -> bool {
        matches!(self, Self::Draft(_))
    }

    /// Whether the agent speaks an older version than it was asked for.
    pub fn fell_back(&self) -> bool {
        matches!(self, Self::V2(v2) if v2.fell_back())
    }

    /// Converts a request of ours, which the agent will answer by this id.
    pub fn request(&mut self, id: i64, method: &str, params: Value) -> (String, Value) {
        match self {
            Self::Draft(draft) => (method.to_owned(), draft.request(id, method, params)),
            Self::V2(v2) => v2.request(id, method, params),
        }
    }

    /// Converts a notification of ours; nothing where there is none like it.
    pub fn notification(&mut self, method: &str, params: Value) -> Option<Value> {
        match self {
            Self::Draft(draft) => draft.notification(method, params),
            Self::V2(_) => Some(params),
        }
    }

    /// Converts our answer to a request of the agent's.
    pub fn result(&mut self, id: &RequestId, result: Value) -> Value {
        match self {
            Self::Draft(draft) => draft.result(id, result),
            Self::V2(_) => result,
        }
    }

    /// Converts our refusal of a request of the agent's.
    pub fn error(&mut self, id: &RequestId, error: RpcError) -> RpcError {
        match self {
            Self::Draft(draft) => draft.error(id, error),
            Self::V2(_) => error,
        }
    }

    /// What this client would have said in the first version of the official protocol where it said this.
    pub fn recorded(&self, message: Value) -> Value {
        match self {
            Self::Draft(_) => Draft::recorded(message),
            Self::V2(_) => V2::recorded(message),
        }
    }

    /// The fields that the other protocol has nothing like, of which nobody was told yet.
    pub fn left_out(&mut self) -> Vec<String> {
        match self {
            Self::Draft(draft) => draft.left_out(),
            Self::V2(_) => Vec::new(),
        }
    }

    /// Converts what the agent has sent.
    pub fn incoming(&mut self, message: Message) -> Converted {
        match self {
            Self::Draft(draft) => draft.incoming(message),
            Self::V2(v2) => v2.incoming(message),
        }
    }
}
