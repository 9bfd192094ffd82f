//! The transport over HTTP: each message to the agent is a request, and what it says comes through streams of
//! events, one for the connection and one for each session. A stream that breaks is opened again; the server keeps
//! what it has to say meanwhile.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::cookies::Cookies;
use super::events::{EventReader, TooLong};
use super::trouble::Trouble;
use super::{Dial, IN_FLIGHT, Pipe};
use crate::acp::mutex::lock;

const CONNECTION: &str = "acp-connection-id";
const SESSION: &str = "acp-session-id";

/// More streams than anybody has sessions, subagents and all.
const MOST_STREAMS: usize = 500;

/// How often a stream is opened again that brings nothing.
const MOST_TRIES: u32 = 6;

/// What is read of an answer that only says what is wrong.
const LONGEST_COMPLAINT: usize = 4 << 10;

/// One connection, shared by all that use it.
struct Link {
    dial: Dial,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// As the server calls it, once it does.
    id: Mutex<Option<String>>,
    cookies: Mutex<Cookies>,
    incoming: mpsc::Sender<Vec<u8>>,
    /// Sessions that came up in what the agent said.
    found: mpsc::Sender<String>,
}

/// A message on its way to the agent, with what matters of it here.
struct Outgoing {
    line: Vec<u8>,
    session: Option<String>,
    /// Of a request, what its answer names.
    id: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(default, rename = "sessionId")]
    session: Option<String>,
}

/// A message in which a session may come up that nobody has heard of.
#[derive(Deserialize)]
struct Announcing {
    result: Option<Params>,
    params: Option<Announced>,
}

#[derive(Deserialize)]
struct Announced {
    update: Option<Update>,
}

#[derive(Deserialize)]
struct Update {
    #[serde(rename = "sessionUpdate")]
    kind: String,
    #[serde(default, rename = "sessionId")]
    session: Option<String>,
}

pub async fn run(dial: Dial, pipe: &mut Pipe) -> Result<(), Trouble> {
    let (found, mut sessions_found) = mpsc::channel(IN_FLIGHT);
    let link = Arc::new(Link {
        client: client(&dial),
        dial,
        id: Mutex::default(),
        cookies: Mutex::default(),
        incoming: pipe.incoming.clone(),
        found,
    });
    let Some(first) = pipe.lines.recv().await else { return Ok(()) };
    if !link.initialize(first).await? {
        return Ok(());
    }
    let mut tasks = JoinSet::new();
    let talked = talk(&link, pipe, &mut tasks, &mut sessions_found).await;
    tasks.abort_all();
    // Who is gone needs no farewell, and what it answers doesn't matter.
    let _ = timeout(link.dial.pace.farewell, link.send(Method::DELETE, None, None)).await;
    talked
}

fn client(dial: &Dial) -> Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(dial.pace.connect));
    http.set_keepalive(Some(dial.pace.ping));
    let connector = match &dial.tls {
        Some(config) => HttpsConnectorBuilder::new().with_tls_config(config.clone()).https_only(),
        None => {
            // Without encryption nobody is trusted, so that nobody has to be known.
            let roots = rustls::RootCertStore::empty();
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .expect("the provider has the usual versions")
                .with_root_certificates(roots)
                .with_no_client_auth();
            HttpsConnectorBuilder::new().with_tls_config(config).https_or_http()
        }
    };
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(dial.pace.ping)
        .http2_keep_alive_timeout(dial.pace.silence - dial.pace.ping)
        .http2_keep_alive_while_idle(true)
        .build(connector.enable_all_versions().wrap_connector(http))
}

async fn talk(
    link: &Arc<Link>,
    pipe: &mut Pipe,
    tasks: &mut JoinSet<Result<(), Trouble>>,
    found: &mut mpsc::Receiver<String>,
) -> Result<(), Trouble> {
    let (requests, queue) = mpsc::channel(IN_FLIGHT);
    tasks.spawn(link.clone().post_all(queue));
    // The agent may wait for an answer of ours before it takes a request.
    let (answers, queue) = mpsc::channel(IN_FLIGHT);
    tasks.spawn(link.clone().post_all(queue));
    let mut open = HashSet::new();
    listen(link, tasks, &mut open, None).await;
    loop {
        tokio::select! {
            biased;
            Some(over) = tasks.join_next() => {
                if let Ok(Err(trouble)) = over {
                    return Err(trouble);
                }
            }
            Some(session) = found.recv() => listen(link, tasks, &mut open, Some(session)).await,
            line = pipe.lines.recv() => {
                let Some(line) = line else {
                    // All that was sent is still to be taken; then the lanes end.
                    drop((requests, answers));
                    return settle(link, tasks).await;
                };
                let (outgoing, is_answer) = Outgoing::read(line);
                if let Some(session) = &outgoing.session {
                    listen(link, tasks, &mut open, Some(session.clone())).await;
                }
                let lane = if is_answer { &answers } else { &requests };
                // A lane that is gone has told why.
                let _ = lane.send(outgoing).await;
            }
        }
    }
}

/// Waits until what was sent is taken, for a moment.
async fn settle(link: &Link, tasks: &mut JoinSet<Result<(), Trouble>>) -> Result<(), Trouble> {
    let both = async {
        for _ in 0..2 {
            if let Some(Ok(Err(trouble))) = tasks.join_next().await {
                return Err(trouble);
            }
        }
        Ok(())
    };
    timeout(link.dial.pace.farewell, both).await.unwrap_or(Ok(()))
}

/// Opens a stream, unless it is open, and waits until it is or can't be.
async fn listen(
    link: &Arc<Link>,
    tasks: &mut JoinSet<Result<(), Trouble>>,
    open: &mut HashSet<Option<String>>,
    session: Option<String>,
) {
    if open.len() >= MOST_STREAMS || !open.insert(session.clone()) {
        return;
    }
    let (tell, opened) = oneshot::channel();
    tasks.spawn(link.clone().stream(session, tell));
    // If it wasn't, the task says why.
    let _ = timeout(link.dial.pace.connect, opened).await;
}

impl Outgoing {
    /// With whether it is an answer.
    fn read(mut line: Vec<u8>) -> (Self, bool) {
        line.truncate(line.trim_ascii_end().len());
        // What is written here is JSON.
        let envelope = serde_json::from_slice::<Envelope>(&line).ok();
        let (id, method, params) =
            envelope.map_or((None, None, None), |it| (it.id.map(RawValue::to_owned), it.method, it.params));
        let is_general = method.as_deref().is_none_or(|method| method.starts_with("$/"));
        let session = params.and_then(|params| params.session).filter(|_| !is_general);
        let id = id.filter(|_| method.is_some());
        (Self { line, session, id }, method.is_none())
    }
}

impl Link {
    /// Gives whether there is a connection now. If not, the agent has said why in its answer.
    async fn initialize(&self, line: Vec<u8>) -> Result<bool, Trouble> {
        let line = Bytes::from(line.trim_ascii_end().to_vec());
        let attempt = || async {
            let response = self.send(Method::POST, None, Some(line.clone())).await?;
            if response.status().is_success() { Ok(response) } else { Err(self.complaint(response).await) }
        };
        let response = self.dial.persist(attempt).await?;
        let is_json = header(response.headers(), CONTENT_TYPE.as_str())
            .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"));
        let id = header(response.headers(), CONNECTION);
        if !is_json {
            let (name, place) = (&self.dial.name, self.dial.place());
            return Err(Trouble::lasting(format!("{place} is no agent; see the path in agents.{name}.url")));
        }
        let body = Limited::new(response.into_body(), self.dial.limit).collect().await;
        let body = body.map_err(|error| self.dial.trouble(&*error))?.to_bytes();
        let is_refused =
            serde_json::from_slice::<serde_json::Value>(&body).is_ok_and(|it| it.get("error").is_some());
        let is_connected = id.is_some();
        if !is_connected && !is_refused {
            return Err(Trouble::lasting(format!(
                "{} gave the connection no name ({CONNECTION})",
                self.dial.place()
            )));
        }
        *lock(&self.id) = id;
        if is_connected {
            self.dial.reached();
        }
        self.pass_on(body.to_vec()).await;
        Ok(is_connected)
    }

    async fn post_all(self: Arc<Self>, mut queue: mpsc::Receiver<Outgoing>) -> Result<(), Trouble> {
        while let Some(outgoing) = queue.recv().await {
            self.post(outgoing).await?;
        }
        Ok(())
    }

    async fn post(&self, Outgoing { line, session, id }: Outgoing) -> Result<(), Trouble> {
        let response = self.send(Method::POST, session.as_deref(), Some(line.into())).await?;
        let status = response.status();
        if status.is_success() {
            // Read to its end, the connection below can be used again.
            let _ = Limited::new(response.into_body(), LONGEST_COMPLAINT).collect().await;
            return Ok(());
        }
        if status == StatusCode::NOT_FOUND {
            return Err(Trouble::passing("its server doesn't know the connection any more"));
        }
        let trouble = self.complaint(response).await;
        if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::PAYLOAD_TOO_LARGE) {
            return Err(trouble);
        }
        // Only this message is meant.
        self.dial.log.note(&trouble.text);
        if let Some(id) = id {
            let message = match status {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    "the agent's server takes no message of this size".to_owned()
                }
                _ => trouble.text,
            };
            let error =
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": message } });
            self.pass_on(error.to_string().into_bytes()).await;
        }
        Ok(())
    }

    /// Reads a stream, and opens it again whenever it breaks.
    async fn stream(
        self: Arc<Self>,
        session: Option<String>,
        tell: oneshot::Sender<()>,
    ) -> Result<(), Trouble> {
        let (mut tell, mut tries, mut pause) = (Some(tell), 0, self.dial.pace.first_pause / 4);
        loop {
            let trouble = match self.send(Method::GET, session.as_deref(), None).await {
                Ok(response) if response.status().is_success() => {
                    if let Some(tell) = tell.take() {
                        // Whoever waited may have had enough.
                        let _ = tell.send(());
                    }
                    match self.read(response.into_body()).await {
                        Ok(true) => (tries, pause) = (0, self.dial.pace.first_pause / 4),
                        Ok(false) => {}
                        Err(()) => return Ok(()),
                    }
                    Trouble::passing("its stream of messages ended")
                }
                Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                    return match &session {
                        // It was closed, or nobody knows it.
                        Some(session) => {
                            self.dial.log.note(&format!("no stream for session {session}"));
                            Ok(())
                        }
                        None => Err(Trouble::passing("its server doesn't know the connection any more")),
                    };
                }
                // It hasn't noticed yet that the last one broke.
                Ok(response) if response.status() == StatusCode::CONFLICT => {
                    Trouble::passing("its server keeps a broken stream")
                }
                Ok(response) => {
                    let trouble = self.complaint(response).await;
                    if !trouble.passes {
                        return Err(trouble);
                    }
                    trouble
                }
                Err(trouble) => trouble,
            };
            tries += 1;
            if tries > MOST_TRIES {
                return Err(trouble);
            }
            self.dial.log.note(&format!("{}; opening it again", trouble.text));
            sleep(pause).await;
            pause *= 2;
        }
    }

    /// Until the stream's end. Gives whether anything came, and an error when nobody listens any more.
    async fn read(&self, mut body: Incoming) -> Result<bool, ()> {
        let mut reader = EventReader::new(self.dial.limit);
        let (mut has_come, mut is_lively) = (false, false);
        loop {
            // A server that shows that it is there is missed when it stops.
            let next = match is_lively {
                true => timeout(self.dial.pace.silence, body.frame()).await.unwrap_or(None),
                false => body.frame().await,
            };
            let Some(Ok(frame)) = next else { return Ok(has_come) };
            let Ok(bytes) = frame.into_data() else { continue };
            let mut messages = Vec::new();
            let read = reader.push(&bytes, |message| messages.push(message));
            is_lively |= messages.is_empty() && bytes.starts_with(b":");
            for message in messages {
                has_come = true;
                let session = announced(&message);
                self.pass_on(message).await;
                if let Some(session) = session {
                    // Its end is the end of all.
                    let _ = self.found.send(session).await;
                }
            }
            if let Err(TooLong(beginning)) = read {
                // Whoever reads messages says so.
                return self.incoming.send(beginning).await.map(|()| has_come).map_err(drop);
            }
            if self.incoming.is_closed() {
                return Err(());
            }
        }
    }

    async fn pass_on(&self, mut message: Vec<u8>) {
        message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        message.push(b'\n');
        // Nobody wants it where the conversation is over.
        let _ = self.incoming.send(message).await;
    }

    async fn send(
        &self,
        method: Method,
        session: Option<&str>,
        body: Option<Bytes>,
    ) -> Result<Response<Incoming>, Trouble> {
        let is_stream = method == Method::GET;
        let mut request = Request::builder().method(method).uri(self.dial.remote.address.url());
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request = request.header(ACCEPT, if is_stream { "text/event-stream" } else { "application/json" });
        let id = lock(&self.id).clone();
        let cookies = lock(&self.cookies).header();
        let more = [(CONNECTION, id.as_deref()), (SESSION, session), (COOKIE.as_str(), cookies.as_deref())];
        for (name, value) in more {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request.body(Full::new(body.unwrap_or_default()));
        let mut request = request.map_err(|error| self.dial.trouble(&error))?;
        request.headers_mut().extend(self.dial.headers.iter().cloned());
        let patience = if is_stream { self.dial.pace.connect } else { self.dial.pace.post };
        let response = match timeout(patience, self.client.request(request)).await {
            Ok(response) => response.map_err(|error| self.dial.trouble(&error))?,
            Err(_) => {
                let seconds = patience.as_secs();
                return Err(Trouble::passing(format!(
                    "{} hasn't answered for {seconds} s",
                    self.dial.place()
                )));
            }
        };
        for cookie in response.headers().get_all(SET_COOKIE) {
            lock(&self.cookies).set(cookie.to_str().unwrap_or_default());
        }
        Ok(response)
    }

    async fn complaint(&self, response: Response<Incoming>) -> Trouble {
        let (status, location) = (response.status(), header(response.headers(), LOCATION.as_str()));
        let body =
            timeout(self.dial.pace.farewell, Limited::new(response.into_body(), LONGEST_COMPLAINT).collect());
        let body = match body.await {
            Ok(Ok(body)) => body.to_bytes(),
            _ => Bytes::new(),
        };
        self.dial.status(status, location.as_deref(), &String::from_utf8_lossy(&body))
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The session that a message makes known: that of an answer, or a subagent's.
fn announced(message: &[u8]) -> Option<String> {
    // Most messages do not, which is seen without parsing them.
    memmem::find(message, b"sessionId")?;
    memmem::find(message, b"\"result\"").or_else(|| memmem::find(message, b"subagent_update"))?;
    let Announcing { result, params } = serde_json::from_slice(message).ok()?;
    let child = params.and_then(|params| params.update).filter(|update| update.kind == "subagent_update");
    result.and_then(|result| result.session).or_else(|| child.and_then(|child| child.session))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_in_answers_and_announcements() {
        for (message, session) in [
            (r#"{"id":1,"result":{"sessionId":"s1"}}"#, Some("s1")),
            (r#"{"id":1,"result":{"stopReason":"end_turn"}}"#, None),
            (
                r#"{"params":{"sessionId":"s1","update":{"sessionUpdate":"subagent_update","sessionId":"c1"}}}"#,
                Some("c1"),
            ),
            (r#"{"params":{"sessionId":"s1","update":{"sessionUpdate":"plan","entries":[]}}}"#, None),
            (r#"{"id":1,"result":{"sessionId":7}}"#, None),
            ("no JSON: \"result\" sessionId", None),
        ] {
            assert_eq!(announced(message.as_bytes()).as_deref(), session, "{message}");
        }
    }

    #[test]
    fn messages_are_told_apart() {
        let read = |line: &str| {
            let (outgoing, is_answer) = Outgoing::read(format!("{line}\n").into_bytes());
            (outgoing.session, outgoing.id.map(|id| id.get().to_owned()), is_answer)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(r#"{"id":7,"method":"session/prompt","params":{"sessionId":"s"}}"#),
            (text("s"), text("7"), false)
        );
        assert_eq!(
            read(r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#),
            (text("s"), None, false)
        );
        assert_eq!(read(r#"{"method":"$/cancel_request","params":{"sessionId":"s"}}"#), (None, None, false));
        assert_eq!(read(r#"{"id":"a","result":{"sessionId":"s"}}"#), (None, None, true));
        assert_eq!(read(r#"{"id":1,"method":"initialize","params":{}}"#), (None, text("1"), false));
    }
}
