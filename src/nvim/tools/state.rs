//! The state of the editor's tools: the user's own, and the calls that are under way.

use std::collections::{BTreeMap, HashMap};

use mlua::Function;
use serde_json::{Map, Value as Json};

use crate::core::ids::{SessionKey, ToolRunId};
use crate::core::message::ToolSpec;

#[derive(Default)]
pub struct Tools {
    pub(super) own: BTreeMap<String, Own>,
    pub(super) running: HashMap<ToolRunId, Running>,
}

/// A tool of the user's.
pub struct Own {
    pub spec: ToolSpec,
    pub run: Function,
}

/// A call that is under way.
pub struct Running {
    pub session: SessionKey,
    pub name: String,
    pub args: Map<String, Json>,
    /// There once it has begun.
    pub stop: Option<Function>,
    /// It has asked the background for something.
    pub has_asked: bool,
    /// Goes on with what it has asked the background for.
    pub waiting: Option<Function>,
}
