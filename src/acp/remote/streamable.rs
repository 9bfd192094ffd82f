//! The transport over HTTP: each message to the agent is a request, and what it says comes through streams of
//! events, one for the connection and one for each session. A stream that breaks is opened again; the server keeps
//! what it has to say meanwhile. Some servers have no stream for a session before they know it by a request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, COOKIE, HeaderValue, LOCATION, RETRY_AFTER, SET_COOKIE};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::asked::Asked;
use super::cookies::Cookies;
use super::events::{EventReader, TooLong};
use super::taken_back::{Kind, TakenBack};
use super::trouble::Trouble;
use super::{Dial, IN_FLIGHT, LONGEST_PAUSE, Pace, Pipe};
use crate::acp::mutex::lock;

const CONNECTION: &str = "acp-connection-id";
const SESSION: &str = "acp-session-id";

/// More streams than anybody has sessions, subagents and all.
const MOST_STREAMS: usize = 500;

/// How often a stream is opened again that brings nothing, or a message sent again that isn't taken.
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
    asked: Asked,
    taken_back: TakenBack,
    /// Something was taken or answered, so that a stream may be given that wasn't before.
    moved: Notify,
    /// A stream has broken off while something was under way, and the user was told.
    has_told_of_a_break: AtomicBool,
    news: mpsc::Sender<News>,
}

/// What becomes known of a session by what the agent says.
enum News {
    CameUp(String),
    Closed(String),
}

/// Which task is done.
enum Done {
    Lane,
    /// Nothing comes any more through the stream of this session, or of the connection.
    Stream(Option<String>),
}

type Tasks = JoinSet<Result<Done, Trouble>>;

/// The streams that are open, or are being opened.
type Streams = HashMap<Option<String>, AbortHandle>;

/// How a try to read a stream went.
enum Attempt {
    /// It was open, and ended as streams do.
    Ended(Came),
    /// It was open, and broke off: what was on its way is lost.
    Broke(Came),
    /// Nobody listens any more.
    Unheard,
    Refused(StatusCode, Trouble),
    Failed(Trouble),
}

/// What a stream has brought.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Came {
    Nothing,
    SignsOfLife,
    Messages,
}

/// A message on its way to the agent, with what matters of it here.
struct Outgoing {
    line: Vec<u8>,
    session: Option<String>,
    /// Of a request, what its answer names.
    id: Option<Box<RawValue>>,
    /// An answer has none.
    method: Option<String>,
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
    let (news, mut heard) = mpsc::channel(IN_FLIGHT);
    let link = Arc::new(Link {
        client: client(&dial),
        dial,
        id: Mutex::default(),
        cookies: Mutex::default(),
        incoming: pipe.incoming.clone(),
        asked: Asked::default(),
        taken_back: TakenBack::default(),
        moved: Notify::new(),
        has_told_of_a_break: AtomicBool::new(false),
        news,
    });
    let Some(first) = pipe.lines.recv().await else { return Ok(()) };
    if !link.initialize(first).await? {
        return Ok(());
    }
    let mut tasks = JoinSet::new();
    let talked = talk(&link, pipe, &mut tasks, &mut heard).await;
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
    tasks: &mut Tasks,
    news: &mut mpsc::Receiver<News>,
) -> Result<(), Trouble> {
    let (requests, queue) = mpsc::channel(IN_FLIGHT);
    tasks.spawn(link.clone().post_all(queue));
    // The agent may wait for an answer of ours before it takes a request.
    let (answers, queue) = mpsc::channel(IN_FLIGHT);
    tasks.spawn(link.clone().post_all(queue));
    let mut streams = Streams::new();
    listen(link, tasks, &mut streams, None).await;
    loop {
        let ended = tokio::select! {
            biased;
            Some(done) = tasks.join_next() => match done {
                Ok(Ok(Done::Stream(Some(session)))) => session,
                Ok(Err(trouble)) => return Err(trouble),
                _ => continue,
            },
            Some(news) = news.recv() => match news {
                News::CameUp(session) => {
                    listen(link, tasks, &mut streams, Some(session)).await;
                    continue;
                }
                News::Closed(session) => session,
            },
            line = pipe.lines.recv() => {
                let Some(line) = line else {
                    // All that was sent is still to be taken; then the lanes end.
                    drop((requests, answers));
                    return settle(link, tasks).await;
                };
                let outgoing = Outgoing::read(line);
                if let Some(session) = &outgoing.session {
                    if let (Some(id), Some(method)) = (&outgoing.id, &outgoing.method) {
                        link.asked.add(id, session, method);
                    }
                    listen(link, tasks, &mut streams, Some(session.clone())).await;
                    if outgoing.id.as_ref().is_some_and(|id| !link.asked.has(id)) {
                        // There is no stream for its answer, and it was refused.
                        continue;
                    }
                }
                let lane = if outgoing.method.is_none() { &answers } else { &requests };
                // A lane that is gone has told why.
                let _ = lane.send(outgoing).await;
                continue;
            }
        };
        if let Some(stream) = streams.remove(&Some(ended.clone())) {
            stream.abort();
        }
        // It may have been asked for again meanwhile.
        if link.asked.waits_for(&ended) {
            listen(link, tasks, &mut streams, Some(ended)).await;
        }
    }
}

/// Waits until all that was sent is taken, as long as one message after the other is; but not for ever.
async fn settle(link: &Link, tasks: &mut Tasks) -> Result<(), Trouble> {
    let Pace { farewell, longest_farewell, .. } = link.dial.pace;
    let end = Instant::now() + longest_farewell;
    let mut lanes = 2;
    while lanes > 0 {
        tokio::select! {
            done = tasks.join_next() => match done {
                Some(Ok(Ok(Done::Lane))) => lanes -= 1,
                Some(Ok(Err(trouble))) => return Err(trouble),
                Some(_) => {}
                None => break,
            },
            () = link.moved.notified() => {}
            () = sleep_until(end.min(Instant::now() + farewell)) => break,
        }
    }
    Ok(())
}

/// Opens a stream, unless it is open, and waits until it is or can't be yet.
async fn listen(link: &Arc<Link>, tasks: &mut Tasks, streams: &mut Streams, session: Option<String>) {
    if streams.len() >= MOST_STREAMS || streams.contains_key(&session) {
        return;
    }
    let (tell, opened) = oneshot::channel();
    let task = tasks.spawn(link.clone().stream(session.clone(), tell));
    streams.insert(session, task);
    // If it wasn't, the task says why.
    let _ = timeout(link.dial.pace.connect, opened).await;
}

impl Outgoing {
    fn read(mut line: Vec<u8>) -> Self {
        line.truncate(line.trim_ascii_end().len());
        // What is written here is JSON.
        let envelope = serde_json::from_slice::<Envelope>(&line).ok();
        let (id, method, params) =
            envelope.map_or((None, None, None), |it| (it.id.map(RawValue::to_owned), it.method, it.params));
        let is_general = method.as_deref().is_none_or(|method| method.starts_with("$/"));
        let session = params.and_then(|params| params.session).filter(|_| !is_general);
        let id = id.filter(|_| method.is_some());
        Self { line, session, id, method }
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

    async fn post_all(self: Arc<Self>, mut queue: mpsc::Receiver<Outgoing>) -> Result<Done, Trouble> {
        while let Some(outgoing) = queue.recv().await {
            self.post(outgoing).await?;
        }
        Ok(Done::Lane)
    }

    async fn post(&self, outgoing: Outgoing) -> Result<(), Trouble> {
        let Outgoing { line, session, id, .. } = outgoing;
        let response = self.send_until_taken(line.into(), session.as_deref(), id.is_some()).await?;
        let status = response.status();
        if status.is_success() {
            // Read to its end, the connection below can be used again.
            let _ = Limited::new(response.into_body(), LONGEST_COMPLAINT).collect().await;
            self.moved.notify_waiters();
            return Ok(());
        }
        if status == StatusCode::NOT_FOUND {
            let Some(session) = session else {
                return Err(Trouble::passing("its server doesn't know the connection any more"));
            };
            return self.not_known(&session, id).await;
        }
        let after = retry_after(response.headers());
        let trouble = self.complaint(response).await;
        // With these only this message is meant.
        let (message, data) = match status {
            StatusCode::BAD_REQUEST => (trouble.text.clone(), None),
            StatusCode::PAYLOAD_TOO_LARGE => {
                ("the agent's server takes no message of this size".to_owned(), None)
            }
            StatusCode::TOO_MANY_REQUESTS => (
                "the agent's server has too many requests".to_owned(),
                Some(
                    json!({ "reason": "too many requests", "retryAfter": after.map(|after| after.as_secs()) }),
                ),
            ),
            _ => return Err(trouble),
        };
        self.dial.log.note(&trouble.text);
        match id {
            Some(id) => self.refuse(&id, &message, data).await,
            None if status == StatusCode::TOO_MANY_REQUESTS => {
                (self.dial.tell)(format!("{message}, and didn't take what was sent; try again later"));
            }
            None => {}
        }
        Ok(())
    }

    /// The server doesn't know a session, or not even the connection; of that the connection's own stream tells.
    async fn not_known(&self, session: &str, id: Option<Box<RawValue>>) -> Result<(), Trouble> {
        let text = format!("the agent's server doesn't know the session {session}");
        self.dial.log.note(&text);
        sleep(self.dial.pace.first_pause).await;
        if let Some(id) = id {
            self.refuse(&id, &text, Some(json!({ "reason": "session not found" }))).await;
        }
        Ok(())
    }

    /// Whoever waits for a request's answer is told that the server is busy. Nobody waits for other messages, which
    /// must arrive all the same: they are sent again.
    async fn send_until_taken(
        &self,
        line: Bytes,
        session: Option<&str>,
        is_request: bool,
    ) -> Result<Response<Incoming>, Trouble> {
        let (mut tries, mut pause) = (0, self.dial.pace.first_pause);
        loop {
            let response = self.send(Method::POST, session, Some(line.clone())).await?;
            let is_busy = response.status() == StatusCode::TOO_MANY_REQUESTS;
            if !is_busy || is_request || tries == MOST_TRIES {
                return Ok(response);
            }
            self.dial.log.note("its server has too many requests; sending the message again");
            sleep(retry_after(response.headers()).unwrap_or_default().max(pause).min(LONGEST_PAUSE)).await;
            (tries, pause) = (tries + 1, pause * 2);
        }
    }

    /// Answers a request of ours in the agent's place.
    async fn refuse(&self, id: &RawValue, message: &str, data: Option<Value>) {
        let mut error = json!({ "code": -32603, "message": message });
        if let Some(data) = data {
            error["data"] = data;
        }
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        self.pass_on(answer.to_string().into_bytes()).await;
    }

    /// Reads a stream, and opens it again whenever it breaks.
    async fn stream(
        self: Arc<Self>,
        session: Option<String>,
        tell: oneshot::Sender<()>,
    ) -> Result<Done, Trouble> {
        let first_pause = self.dial.pace.first_pause / 4;
        let (mut tell, mut tries, mut pause) = (Some(tell), 0, first_pause);
        let (mut was_open, mut noted) = (false, String::new());
        loop {
            let begun = Instant::now();
            let attempt = self.attempt(session.as_deref(), &mut tell).await;
            let is_asked = session.as_deref().is_some_and(|session| self.asked.waits_for(session));
            if is_asked && matches!(attempt, Attempt::Broke(_)) {
                self.tell_of_the_first_break();
            }
            let (trouble, is_over) = match attempt {
                Attempt::Unheard => return Ok(Done::Stream(session)),
                Attempt::Ended(came) | Attempt::Broke(came) => {
                    was_open = true;
                    noted.clear();
                    // On the way here idle streams may be ended again and again.
                    if came > Came::Nothing {
                        tries = 0;
                    }
                    if came == Came::Messages || begun.elapsed() > pause {
                        pause = first_pause;
                    }
                    (Trouble::passing("its stream of messages ended"), tries == MOST_TRIES)
                }
                Attempt::Refused(status, trouble) => {
                    let is_unknown = matches!(status, StatusCode::NOT_FOUND | StatusCode::CONFLICT);
                    if is_unknown && session.is_some() {
                        // What makes the session known may wait for this.
                        tell = None;
                    }
                    if is_unknown && is_asked && !was_open {
                        (tries, pause) = (0, pause.min(self.dial.pace.first_pause));
                    }
                    let was_closed = status == StatusCode::NOT_FOUND && was_open && !is_asked;
                    let is_over = was_closed || tries == MOST_TRIES || !trouble.passes;
                    (trouble, is_over)
                }
                Attempt::Failed(trouble) if tries == MOST_TRIES => return Err(trouble),
                Attempt::Failed(trouble) => (trouble, false),
            };
            if is_over {
                let Some(name) = &session else { return Err(trouble) };
                self.give_up(name, &trouble).await;
                return Ok(Done::Stream(session));
            }
            if noted != trouble.text {
                self.dial.log.note(&format!("{}; opening it again", trouble.text));
                noted = trouble.text;
            }
            // When something has happened it is worth a try at once.
            if timeout(pause, self.moved.notified()).await.is_err() {
                (tries, pause) = (tries + 1, (pause * 2).min(LONGEST_PAUSE));
            }
        }
    }

    async fn attempt(&self, session: Option<&str>, tell: &mut Option<oneshot::Sender<()>>) -> Attempt {
        if let Some(session) = session.filter(|session| !is_nameable(session)) {
            let text = format!("the name of session {session:?} can't be sent over HTTP");
            return Attempt::Refused(StatusCode::BAD_REQUEST, Trouble::lasting(text));
        }
        let response = match self.send(Method::GET, session, None).await {
            Ok(response) => response,
            Err(trouble) => return Attempt::Failed(trouble),
        };
        let status = response.status();
        if status.is_success() {
            if let Some(tell) = tell.take() {
                // Whoever waited may have had enough.
                let _ = tell.send(());
            }
            return self.read(response.into_body()).await;
        }
        let complaint = self.complaint(response).await;
        let trouble = match (status, session) {
            (StatusCode::NOT_FOUND, None) => {
                Trouble::lasting("its server doesn't know the connection any more")
            }
            (StatusCode::NOT_FOUND, Some(session)) => {
                Trouble::passing(format!("its server has no stream for session {session}"))
            }
            // It hasn't noticed yet that the last one broke, or doesn't know the session yet.
            (StatusCode::CONFLICT, _) => Trouble::passing("its server gives a stream to nobody else"),
            _ => complaint,
        };
        Attempt::Refused(status, trouble)
    }

    /// Nothing comes through a session's stream any more: who waits for an answer is told so.
    async fn give_up(&self, session: &str, trouble: &Trouble) {
        self.dial.log.note(&format!("no stream for session {session} any more: {}", trouble.text));
        for id in self.asked.give_up(session) {
            self.refuse(&id, &trouble.text, None).await;
        }
    }

    /// Streams have no numbers to go on from, so what is lost can't be asked for again. On bad ways it happens again
    /// and again, and is said once.
    fn tell_of_the_first_break(&self) {
        if !self.has_told_of_a_break.swap(true, Ordering::AcqRel) {
            let text =
                "the connection to the agent broke for a moment; what it said just then may be missing";
            (self.dial.tell)(text.to_owned());
        }
    }

    /// Until the stream's end.
    async fn read(&self, mut body: Incoming) -> Attempt {
        let mut reader = EventReader::new(self.dial.limit);
        let (mut came, mut is_lively) = (Came::Nothing, false);
        loop {
            // A server that shows that it is there is missed when it stops.
            let next = match is_lively {
                true => match timeout(self.dial.pace.silence, body.frame()).await {
                    Ok(next) => next,
                    Err(_) => return Attempt::Broke(came),
                },
                false => body.frame().await,
            };
            let frame = match next {
                Some(Ok(frame)) => frame,
                None => return Attempt::Ended(came),
                Some(Err(_)) => return Attempt::Broke(came),
            };
            let Ok(bytes) = frame.into_data() else { continue };
            came = came.max(Came::SignsOfLife);
            let mut messages = Vec::new();
            let read = reader.push(&bytes, |message| messages.push(message));
            is_lively |= messages.is_empty() && bytes.starts_with(b":");
            for message in messages {
                came = Came::Messages;
                let came_up = announced(&message).map(News::CameUp);
                for news in self.pass_on(message).await.into_iter().chain(came_up) {
                    // Its end is the end of all.
                    let _ = self.news.send(news).await;
                }
            }
            if let Err(TooLong(beginning)) = read {
                // Whoever reads messages says so.
                return match self.incoming.send(beginning).await {
                    Ok(()) => Attempt::Ended(came),
                    Err(_) => Attempt::Unheard,
                };
            }
            if self.incoming.is_closed() {
                return Attempt::Unheard;
            }
        }
    }

    /// Gives what its being an answer means.
    async fn pass_on(&self, mut message: Vec<u8>) -> Option<News> {
        let answered = self.asked.heard(&message);
        if answered.is_some() {
            self.moved.notify_waiters();
        }
        message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
        message.push(b'\n');
        let kind = Kind::of(&message);
        let message = match &kind {
            Kind::Word(id) => self.taken_back.word(id.clone(), message),
            _ => Some(message),
        };
        // Nobody wants it where the conversation is over.
        if let Some(message) = message {
            let _ = self.incoming.send(message).await;
        }
        if let Kind::Request(id) = kind {
            for word in self.taken_back.came(id) {
                let _ = self.incoming.send(word).await;
            }
        }
        answered.filter(|answered| answered.is_over).map(|answered| News::Closed(answered.session))
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
        // The message has the name as well.
        let session = session.filter(|session| is_nameable(session));
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

/// Whether a session's name can be a header.
fn is_nameable(session: &str) -> bool {
    HeaderValue::from_str(session).is_ok()
}

/// When a server wants to be asked again, unless it is a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    header(headers, RETRY_AFTER.as_str())?.trim().parse().ok().map(Duration::from_secs)
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
            let outgoing = Outgoing::read(format!("{line}\n").into_bytes());
            (outgoing.session, outgoing.id.map(|id| id.get().to_owned()), outgoing.method.is_none())
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
