//! Which terminals were made for which call of a tool, so that none outlives its call. Making and ending them is left to
//! `tool_requests`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::acp::mutex::lock;
use crate::core::ids::{TerminalId, ToolRunId};

/// The terminals that calls of tools have had made. They end with the call.
#[derive(Clone, Default)]
pub struct ToolTerminals(Arc<Mutex<HashMap<ToolRunId, Vec<TerminalId>>>>);

impl ToolTerminals {
    pub fn expect(&self, run: ToolRunId) {
        lock(&self.0).entry(run).or_default();
    }

    /// Says whether the call still runs.
    pub fn made(&self, run: ToolRunId, terminal: TerminalId) -> bool {
        match lock(&self.0).get_mut(&run) {
            Some(terminals) => {
                terminals.push(terminal);
                true
            }
            None => false,
        }
    }

    pub fn left(&self, run: ToolRunId) -> Vec<TerminalId> {
        lock(&self.0).remove(&run).unwrap_or_default()
    }
}
