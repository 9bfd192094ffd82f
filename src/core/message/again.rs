//! What the user wanted of an agent that wants a login first: it is wanted once more after that.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Command;
use super::choices::OptionValue;
use crate::core::ids::{AgentId, SessionKey};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Again {
    List {
        cwd: Option<PathBuf>,
        archived: bool,
    },
    Archive {
        acp_id: String,
        archived: bool,
    },
    Delete {
        acp_id: String,
    },
    /// Of a session that is forgotten here.
    Close {
        acp_id: String,
    },
    SetMode {
        mode: String,
    },
    SetModel {
        model: String,
    },
    SetTitle {
        title: String,
    },
    SetStoredTitle {
        acp_id: String,
        title: String,
    },
    SetOption {
        option: String,
        value: OptionValue,
    },
}

impl Again {
    pub fn of(command: &Command) -> Option<Self> {
        Some(match command.clone() {
            Command::List { cwd, archived, .. } => Self::List { cwd, archived },
            Command::Archive { acp_id, archived, .. } => Self::Archive { acp_id, archived },
            Command::Delete { acp_id, .. } => Self::Delete { acp_id },
            Command::CloseStored { acp_id, .. } => Self::Close { acp_id },
            Command::SetMode { mode, .. } => Self::SetMode { mode },
            Command::SetModel { model, .. } => Self::SetModel { model },
            Command::SetTitle { title, .. } => Self::SetTitle { title },
            Command::SetStoredTitle { acp_id, title, .. } => Self::SetStoredTitle { acp_id, title },
            Command::SetOption { option, value, .. } => Self::SetOption { option, value },
            _ => return None,
        })
    }

    /// For the agent as it runs now.
    pub fn command(self, agent: AgentId, session: SessionKey) -> Command {
        match self {
            Self::List { cwd, archived } => Command::List { agent, cwd, cursor: None, archived },
            Self::Archive { acp_id, archived } => Command::Archive { agent, acp_id, archived },
            Self::Delete { acp_id } => Command::Delete { agent, acp_id },
            Self::Close { acp_id } => Command::CloseStored { agent, acp_id },
            Self::SetMode { mode } => Command::SetMode { session, mode },
            Self::SetModel { model } => Command::SetModel { session, model },
            Self::SetTitle { title } => Command::SetTitle { session, title },
            Self::SetStoredTitle { acp_id, title } => Command::SetStoredTitle { agent, acp_id, title },
            Self::SetOption { option, value } => Command::SetOption { session, option, value },
        }
    }

    /// Whether a later one takes this one's place.
    pub fn is_replaced_by(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::SetOption { option, .. }, Self::SetOption { option: other, .. }) => option == other,
            (Self::Archive { acp_id, .. }, Self::Archive { acp_id: other, .. })
            | (Self::SetStoredTitle { acp_id, .. }, Self::SetStoredTitle { acp_id: other, .. })
            | (Self::Delete { acp_id }, Self::Delete { acp_id: other })
            | (Self::Close { acp_id }, Self::Close { acp_id: other }) => acp_id == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(later),
        }
    }
}
