//! The transport over a WebSocket: a text frame is a message, in both directions. What tells a silent agent from a
//! dead one is whether its machine answers pings.

use std::pin::pin;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::trouble::{Trouble, said};
use super::{Dial, Pipe};

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

type Stream = WebSocketStream<Box<dyn Socket>>;

pub async fn run(dial: &Dial, pipe: &mut Pipe) -> Result<(), Trouble> {
    let stream = dial.persist(|| connect(dial)).await?;
    dial.reached();
    carry(stream, dial, pipe).await
}

async fn connect(dial: &Dial) -> Result<Stream, Trouble> {
    let connecting = async {
        let address = &dial.remote.address;
        let tcp = TcpStream::connect((address.host.as_str(), address.port)).await;
        let tcp = tcp.map_err(|error| dial.trouble(&error))?;
        // Messages are small, and somebody waits for each.
        tcp.set_nodelay(true).map_err(|error| dial.trouble(&error))?;
        let socket: Box<dyn Socket> = match &dial.tls {
            None => Box::new(tcp),
            Some(config) => {
                let name = rustls::pki_types::ServerName::try_from(address.host.clone());
                let name = name.map_err(|_| Trouble::lasting("the url's host is no name"))?;
                let connector = TlsConnector::from(Arc::new(config.clone()));
                Box::new(connector.connect(name, tcp).await.map_err(|error| dial.trouble(&error))?)
            }
        };
        let mut request = address.url().into_client_request().map_err(|error| dial.trouble(&error))?;
        request.headers_mut().extend(dial.headers.iter().cloned());
        // What is a little too long is left to the reader of messages, which says so.
        let limit = Some(dial.limit.saturating_add(1024));
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        match client_async_with_config(request, socket, Some(config)).await {
            Ok((stream, _)) => Ok(stream),
            Err(Error::Http(response)) => {
                let location = response.headers().get("location").and_then(|value| value.to_str().ok());
                let body = response.body().as_deref().unwrap_or_default();
                Err(dial.status(response.status(), location, &String::from_utf8_lossy(body)))
            }
            Err(error) => Err(dial.trouble(&error)),
        }
    };
    timeout(dial.pace.connect, connecting).await.unwrap_or_else(|_| Err(dial.too_slow()))
}

/// Until one side has enough.
async fn carry(stream: Stream, dial: &Dial, pipe: &mut Pipe) -> Result<(), Trouble> {
    let Pipe { lines, incoming } = pipe;
    let (mut write, mut read) = stream.split();
    let writer = async {
        let mut pings = interval(dial.pace.ping);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        pings.reset();
        loop {
            let message = tokio::select! {
                biased;
                line = lines.recv() => match line {
                    Some(mut line) => {
                        line.truncate(line.trim_ascii_end().len());
                        // What is written here is JSON, which is text.
                        let Ok(text) = Utf8Bytes::try_from(line) else { continue };
                        Message::Text(text)
                    }
                    None => {
                        // Who is gone needs no farewell.
                        let _ = write.send(Message::Close(None)).await;
                        return Ok(());
                    }
                },
                _ = pings.tick() => Message::Ping(Vec::new().into()),
            };
            write.send(message).await.map_err(|error| dial.trouble(&error))?;
        }
    };
    let reader = async {
        loop {
            let Ok(next) = timeout(dial.pace.silence, read.next()).await else { return Err(dial.silent()) };
            let bytes = match next {
                Some(Ok(Message::Text(text))) => line_of(text),
                Some(Ok(Message::Close(frame))) => {
                    let why =
                        frame.map(|frame| format!(" ({}: {})", frame.code, said(frame.reason.as_str())));
                    return Err(Trouble::passing(format!(
                        "it closed the connection{}",
                        why.unwrap_or_default()
                    )));
                }
                Some(Ok(_)) => continue,
                Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
                    vec![b' '; dial.limit + 2]
                }
                Some(Err(error)) => return Err(dial.trouble(&error)),
                None => return Err(Trouble::passing("it closed the connection")),
            };
            if incoming.send(bytes).await.is_err() {
                return Ok(());
            }
        }
    };
    let (mut reader, writer) = (pin!(reader), pin!(writer));
    tokio::select! {
        over = &mut reader => over,
        done = writer => {
            // Its farewell shows that it has read all.
            let _ = timeout(dial.pace.farewell, reader).await;
            done
        }
    }
}

/// A message as a line: in JSON, a line break between words is as good as a blank.
fn line_of(text: Utf8Bytes) -> Vec<u8> {
    let mut line: Vec<u8> = text.as_bytes().to_vec();
    line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
    line
}
