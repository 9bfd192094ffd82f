//! One bridge of an agent: let in by its token, then served line by line until either side ends. What the lines mean
//! is `mcp`'s part.

use std::io;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, ReadHalf, WriteHalf, split,
};
use tokio::time::timeout;

use super::calls::Calls;
use super::mcp::{self, Asked};
use super::registry::{Admitted, Tools};

/// A line may be no longer.
const LONGEST: usize = 8 << 20;
/// Nobody takes longer to show a token.
const TO_ADMIT: Duration = Duration::from_secs(5);
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
    let Some(admitted) = hello.ok().and_then(|hello| tools.admit(&hello.token)) else { return };
    let calls = Calls::new(tools.clone(), admitted.session);
    let mut bridge = Bridge { tools, writer, calls };
    // Whatever went wrong, the agent finds its server gone, and says so.
    let _ = bridge.work(lines, admitted).await;
}

struct Bridge<S> {
    tools: Tools,
    writer: WriteHalf<S>,
    calls: Calls,
}

impl<S: AsyncRead + AsyncWrite> Bridge<S> {
    async fn work(&mut self, mut lines: Lines<S>, mut admitted: Admitted) -> io::Result<()> {
        let mut listed = self.tools.watch_list();
        let mut knows_tools = false;
        loop {
            let out = tokio::select! {
                line = lines.next() => match line? {
                    Some(line) => {
                        let asked = mcp::read(&line, || self.tools.list(admitted.session));
                        knows_tools |= matches!(&asked, Asked::Initialized);
                        self.calls.asked(asked).into_iter().collect()
                    }
                    None => return Ok(()),
                },
                told = self.calls.next() => told,
                // It fails when the session is over.
                _ = admitted.over.changed() => return Ok(()),
                _ = listed.changed(), if knows_tools => vec![mcp::list_changed()],
            };
            for message in out {
                self.write(&message).await?;
            }
        }
    }

    async fn write(&mut self, message: &Value) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let write = async {
            self.writer.write_all(&line).await?;
            self.writer.flush().await
        };
        timeout(TO_WRITE, write).await?
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpStream;
    use tokio::runtime::Builder;

    use super::*;
    use crate::acp::tools::socket::Port;
    use crate::core::ids::SessionKey;
    use crate::mailbox::Mailbox;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    /// What somebody who comes in at the port and says this is told, down to the end of the connection.
    fn told(says: &str) -> String {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");
            let tools = Tools::new(Mailbox::new(|_| {}));
            tools.give(SessionKey(1), "/none".into(), TOKEN.into(), Vec::new());
            let port = Port::new(listener).expect("a port");
            tokio::spawn(port.accept_all(move |stream| drop(tokio::spawn(serve(tools.clone(), stream)))));
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            stream.write_all(says.as_bytes()).await.expect("a listener");
            stream.shutdown().await.expect("a connection");
            let mut told = Vec::new();
            // It may be cut before all that was said is read.
            let _ = timeout(Duration::from_secs(60), stream.read_to_end(&mut told)).await.expect("an end");
            String::from_utf8(told).expect("a text")
        })
    }

    #[test]
    fn at_the_port_only_the_token_on_the_first_line_lets_in() {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let right = json!({ "token": TOKEN });
        assert_eq!(told(&format!("{right}\n{ping}\n")), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let short = json!({ "token": &TOKEN[1..] });
        for wrong in [
            format!("{short}\n{ping}\n"),
            format!("{}\n{ping}\n", json!({ "token": "" })),
            format!("{}\n{ping}\n", json!({ "token": [TOKEN] })),
            format!("{TOKEN}\n{ping}\n"),
            format!("{ping}\n{right}\n{ping}\n"),
            format!("\n{right}\n{ping}\n"),
            String::new(),
        ] {
            assert_eq!(told(&wrong), "", "{wrong:?}");
        }
    }

    #[test]
    fn a_page_in_a_browser_is_let_in_by_no_address_origin_or_body() {
        let body = format!("{}\n{}\n", json!({ "token": TOKEN }), json!({ "id": 1, "method": "ping" }));
        for path in ["/", "/mcp", "/sse", "*"] {
            for origin in ["http://localhost", "https://evil.example", "null"] {
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: {origin}\r\nAuthorization: Bearer {TOKEN}"
                );
                let asked = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                assert_eq!(told(&asked), "", "{asked}");
            }
        }
    }
}
