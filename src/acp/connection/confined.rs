//! What a confined agent has for as long as its conversation lasts: what it is kept to, and a port by which the editor's
//! tools are reached from there. What that means for requests is `sandbox`'s.

use std::sync::{Arc, OnceLock};

use tokio::task::spawn_blocking;

use crate::acp::processes::sandbox::Confined;
use crate::acp::shared::Shared;
use crate::acp::tools;
use crate::core::message::{Failure, FailureKind, Launch};

/// What an agent is kept to, and where it finds the editor's tools from there.
pub struct Sandboxed {
    pub confined: Arc<Confined>,
    /// Closed with the connection.
    pub entrance: tools::Entrance,
    /// The user was told that the sandbox may be why a command failed.
    pub told: Arc<OnceLock<()>>,
}

/// Prepares what the agent is kept to, if it is. It is not started where that fails.
pub async fn confine(shared: &Arc<Shared>, launch: &Launch) -> Result<Option<Sandboxed>, Failure> {
    let Some(mut sandbox) = launch.sandbox.clone() else { return Ok(None) };
    // It is kept to the same.
    sandbox.read.extend(shared.settings.keeper.clone());
    let wanted = launch.clone();
    let confined = spawn_blocking(move || Confined::new(&wanted, &sandbox)).await;
    let message = match confined {
        Ok(Ok((confined, listener))) => match tools::Entrance::open_at(&shared.tools, listener) {
            Ok(entrance) => {
                let confined = Arc::new(confined);
                return Ok(Some(Sandboxed { confined, entrance, told: Arc::default() }));
            }
            Err(error) => format!("the editor's tools can't be offered into its sandbox: {error}"),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => "the plugin failed while making its sandbox; see the log".to_owned(),
    };
    Err(Failure { kind: FailureKind::Spawn, message, details: None })
}
