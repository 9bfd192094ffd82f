//! The conversion of one connection's messages, where the agent does not speak the official protocol. The
//! conversation knows nothing of it.

use std::sync::{Arc, Mutex, MutexGuard};

use super::draft::Draft;
use crate::acp::mutex::lock;
use crate::core::message::Dialect;

/// What stands between a conversation and the lines of its agent. Cheap to clone; all clones remember the same.
#[derive(Clone, Default)]
pub struct Converter(Option<Arc<Mutex<Draft>>>);

impl std::fmt::Debug for Converter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Converter").field(&self.0.is_some()).finish()
    }
}

impl Converter {
    /// `most_commands` is how many commands of the agent's may run at once.
    pub fn to(dialect: Option<Dialect>, most_commands: usize) -> Self {
        let draft = || Arc::new(Mutex::new(Draft::new(most_commands)));
        Self((dialect == Some(Dialect::Draft)).then(draft))
    }

    /// Nothing where messages are as the agent wants them.
    pub fn draft(&self) -> Option<MutexGuard<'_, Draft>> {
        self.0.as_deref().map(lock)
    }
}
