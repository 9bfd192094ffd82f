//! The server by which agents use the editor's tools. It speaks the Model Context Protocol with the bridges that agents
//! start; running a tool is the editor's.

mod bridge;
mod calls;
mod mcp;
mod registry;
mod socket;

use std::io;
use std::path::PathBuf;

use tokio::task::AbortHandle;

pub use self::registry::Tools;
use crate::core::ids::SessionKey;

/// Where bridges of a confined agent come in, which finds no socket that is a file. Closed when it is dropped.
pub struct Entrance(AbortHandle);

impl Entrance {
    pub fn open(tools: &Tools, listener: std::net::TcpListener) -> io::Result<Self> {
        let listener = socket::Port::new(listener)?;
        let tools = tools.clone();
        let accepting = tokio::spawn(listener.accept_all(move |stream| {
            tokio::spawn(bridge::serve(tools.clone(), stream));
        }));
        Ok(Self(accepting.abort_handle()))
    }

    /// What a bridge is told in place of the socket's path.
    pub fn address(port: u16) -> String {
        format!("127.0.0.1:{port}")
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        self.0.abort();
    }
}

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
