//! The server by which agents use the editor's tools. It speaks the Model Context Protocol with the bridges that agents
//! start; running a tool is the editor's.

mod bridge;
mod http;
mod messages;
mod registry;
mod server;
mod socket;

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use self::http::Http;
pub use self::messages::{Request, answer};
pub use self::registry::Tools;
use crate::core::ids::SessionKey;

/// A port of this machine alone, where clients come in by HTTP, and bridges in a sandbox, which find no socket that is
/// a file. Closed when it is dropped.
pub struct Entrance {
    accepting: AbortHandle,
    port: u16,
}

impl Entrance {
    /// At whichever port is free.
    pub fn open(tools: &Tools) -> io::Result<Self> {
        Self::open_at(tools, TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?)
    }

    pub fn open_at(tools: &Tools, listener: TcpListener) -> io::Result<Self> {
        let port = listener.local_addr()?.port();
        let listener = socket::Port::new(listener)?;
        let (tools, http) = (tools.clone(), Http::new(tools.clone()));
        let accepting = tokio::spawn(listener.accept_all(move |stream| {
            tokio::spawn(admit(tools.clone(), http.clone(), stream));
        }));
        Ok(Self { accepting: accepting.abort_handle(), port })
    }

    /// What a bridge is told in place of the socket's path.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Where those come in who speak HTTP.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address(), http::PATH)
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Both kinds of clients have to show a token; they differ in their first byte.
async fn admit(tools: Tools, http: Http, stream: TcpStream) {
    let mut first = [0];
    match timeout(bridge::TO_ADMIT, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == *b"{" => bridge::serve(tools, stream).await,
        Ok(Ok(1)) => http.serve(stream).await,
        // It has nothing to say.
        _ => {}
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

#[cfg(test)]
mod tests;
