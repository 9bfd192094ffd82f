//! The server by which agents use the editor's tools. It speaks the Model Context Protocol with the bridges that agents
//! start; running a tool is the editor's.

mod bridge;
mod mcp;
mod registry;
mod socket;

use std::path::PathBuf;

pub use self::registry::Tools;
use crate::core::ids::SessionKey;

/// Lets those to a session's tools who find the socket and know the token.
pub fn offer(tools: &Tools, session: SessionKey, socket: PathBuf, (token, without): (String, Vec<String>)) {
    if !tools.give(session, socket.clone(), token, without) {
        return;
    }
    match socket::listen(&socket) {
        Ok(listener) => {
            let tools = tools.clone();
            tokio::spawn(listener.accept_all(move |stream| {
                tokio::spawn(bridge::serve(tools.clone(), stream));
            }));
        }
        Err(error) => tools.no_door(&socket, &error.to_string()),
    }
}
