//! What can be wrong with the options, in words that say what to do.

use thiserror::Error;

/// What is wrong with the options, or with what they lead to. The texts fit after a colon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    #[error("{key}: unknown key, {}", advice(.nearest.as_deref(), "acp-config"))]
    UnknownKey { key: String, nearest: Option<String> },
    #[error("{key}: expected {expected}, got {got}")]
    Unexpected { key: String, expected: String, got: String },
    #[error("{key}: {problem}")]
    Invalid { key: String, problem: String },
    #[error("no agent is called {name:?}, {}", advice(.nearest.as_deref(), "acp-agents"))]
    UnknownAgent { name: String, nearest: Option<String> },
    #[error("{name:?} is switched off: remove `enabled = false` from agents.{name}")]
    Disabled { name: String },
    #[error("no such program {program:?}: {todo}")]
    NoProgram { program: String, todo: String },
    #[error("{name} isn't published for this system ({system}): see its website in :Acp agents")]
    OtherSystem { name: String, system: String },
}

fn advice(nearest: Option<&str>, help: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest:?}?"),
        None => format!("see :help {help}"),
    }
}
