//! One bridge of an agent: let in by its token, then served line by line until either side ends. What the lines mean
//! is `server`'s part.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::service::serve_server;
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, WriteHalf, split,
};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use super::registry::Tools;
use super::server::Server;

/// A line may be no longer, nor the body of a request.
pub const LONGEST: usize = 8 << 20;
/// Nobody takes longer to show a token.
pub const TO_ADMIT: Duration = Duration::from_secs(5);
/// A bridge that takes nothing for so long is given up.
const TO_WRITE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Hello {
    token: String,
}

pub async fn serve<S: AsyncRead + AsyncWrite + Send + 'static>(tools: Tools, stream: S) {
    let (reader, writer) = split(stream);
    let mut lines = Lines { reader: BufReader::new(reader), line: Vec::new() };
    let Ok(Ok(Some(line))) = timeout(TO_ADMIT, lines.next()).await else { return };
    let hello = serde_json::from_slice::<Hello>(&line);
    let Some(mut admitted) = hello.ok().and_then(|hello| tools.admit(&hello.token)) else { return };
    let writer = Writer { half: Arc::new(Mutex::new(writer)), broken: watch::Sender::new(false) };
    let server = Server::new(tools, admitted.session);
    let work = async {
        // Whatever goes wrong, the agent finds its server gone, and says so.
        if let Ok(running) = serve_server(server, Bridge { lines, writer }).await {
            let _ = running.waiting().await;
        }
    };
    tokio::select! {
        () = work => {}
        // It fails when the session is over.
        _ = admitted.over.changed() => {}
    }
}

struct Bridge<S> {
    lines: Lines<S>,
    writer: Writer<S>,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Transport<RoleServer> for Bridge<S> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.writer.write(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Who takes no answers is asked for nothing more.
            drop(self.writer.half.lock().await);
            let mut broken = self.writer.broken.subscribe();
            let line = tokio::select! {
                line = self.lines.next() => line.ok()??,
                _ = broken.wait_for(|broken| *broken) => return None,
            };
            match read(&line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(answer) => self.writer.write(*answer).await.ok()?,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.half.lock().await.shutdown().await
    }
}

/// What a line says, if anything, or what it is answered where it makes no sense.
fn read(line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let refused = |error, id| Err(Box::new(ServerJsonRpcMessage::error(error, id)));
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return refused(ErrorData::parse_error("this is no JSON", None), None);
    };
    let id = message.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let wants_no_answer = message.get("id").is_none() && message.get("method").is_some();
    match serde_json::from_value(message) {
        Ok(message) => Ok(Some(message)),
        Err(_) if wants_no_answer => Ok(None),
        Err(_) => refused(ErrorData::invalid_request("this is no request of the protocol", None), id),
    }
}

struct Writer<S> {
    half: Arc<Mutex<WriteHalf<S>>>,
    /// Nothing reaches the other end any more.
    broken: watch::Sender<bool>,
}

impl<S: AsyncWrite + Send + 'static> Writer<S> {
    fn write(&self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + use<S> {
        let (half, broken) = (self.half.clone(), self.broken.clone());
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut half = half.lock().await;
                half.write_all(&line).await?;
                half.flush().await
            };
            let written = timeout(TO_WRITE, write).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()));
            if written.is_err() {
                broken.send_replace(true);
            }
            written
        }
    }
}

/// Splits what comes into lines; one that was begun outlives the wait for the rest.
struct Lines<S> {
    reader: BufReader<ReadHalf<S>>,
    line: Vec<u8>,
}

impl<S: AsyncRead> Lines<S> {
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let chunk = self.reader.fill_buf().await?;
            if chunk.is_empty() {
                return Ok(None);
            }
            let end = memchr::memchr(b'\n', chunk);
            let taken = end.unwrap_or(chunk.len());
            self.line.extend_from_slice(&chunk[..taken]);
            self.reader.consume(taken + usize::from(end.is_some()));
            if self.line.len() > LONGEST {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if end.is_some() {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
        }
    }
}
