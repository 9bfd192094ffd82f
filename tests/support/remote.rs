//! A server that puts a program's stdio behind a WebSocket or behind HTTP, as the protocol's own server does: one
//! program for each connection, streams of events for the connection and for each session.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocket};
use tokio_tungstenite::tungstenite::{Message, accept};

/// What starts the program.
type Start = Arc<dyn Fn() -> Command + Send + Sync>;

/// Streams for so many sessions that the program has not named are given.
const MOST_UNNAMED: usize = 16;

pub struct Server {
    pub port: u16,
    /// The heads of all requests.
    pub requests: Arc<Mutex<Vec<String>>>,
    /// Whether it hangs up on whoever connects.
    pub refuses: Arc<AtomicBool>,
    pub manners: Arc<Manners>,
    connections: Connections,
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

/// How an HTTP server differs from the protocol's own.
#[derive(Default)]
pub struct Manners {
    /// The status for a stream of a session that the program has not named.
    pub unnamed: AtomicU16,
    /// So many messages are not taken, since it is busy.
    pub busy: AtomicU32,
    /// A session whose messages are answered by 404, as if nobody knew it.
    pub unknown: Mutex<Option<String>>,
    /// What is for a session stays behind until the next answer of the client's.
    pub late: AtomicBool,
    /// Messages of this method are not taken before the next message has come, or before a moment in which none comes.
    pub reluctant: Mutex<Option<String>>,
    /// Milliseconds between two signs of life, where it is not the usual time.
    pub beat: AtomicU32,
    /// So many streams end after a sign of life.
    pub short: AtomicU32,
    /// Signs of life so far: what streams brought without a message, and pings.
    pub beats: AtomicU32,
}

struct Connection {
    stdin: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
    /// By session; what is about none has none.
    boxes: Mutex<HashMap<Option<String>, Mailbox>>,
    /// Of requests that are not answered, the session and the method.
    routes: Mutex<HashMap<String, (Option<String>, String)>>,
    /// The sessions that the program has named.
    named: Mutex<HashSet<String>>,
    /// So many messages of the client's have come.
    came: (Mutex<u32>, Condvar),
    /// What stays behind.
    late: Mutex<Vec<(Option<String>, String)>>,
    manners: Arc<Manners>,
}

/// What waits for a stream, and the end that a stream takes and gives back.
#[derive(Clone)]
struct Mailbox(Sender<Option<String>>, Arc<Mutex<Option<Mail>>>);

struct Mail {
    queue: Receiver<Option<String>>,
    /// A message that a broken stream could not take: it is the next one's first.
    undelivered: Option<String>,
}

type Connections = Arc<Mutex<HashMap<String, Arc<Connection>>>>;

/// What all requests to a server share.
#[derive(Clone)]
struct Place {
    start: Start,
    connections: Connections,
    heads: Arc<Mutex<Vec<String>>>,
    manners: Arc<Manners>,
}

impl Server {
    pub fn start(start: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (refuses, manners) = (Arc::new(AtomicBool::new(false)), Arc::new(Manners::default()));
        let (heads, refusing) = (requests.clone(), refuses.clone());
        let (connections, sockets) = (Connections::default(), Arc::new(Mutex::new(Vec::new())));
        let place = Place {
            start: Arc::new(start),
            connections: connections.clone(),
            heads,
            manners: manners.clone(),
        };
        let taken = sockets.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if refusing.load(Ordering::Acquire) {
                    continue;
                }
                let place = place.clone();
                taken.lock().unwrap().extend(stream.try_clone());
                // Who hangs up ends the thread.
                thread::spawn(move || serve(stream, &place));
            }
        });
        Self { port, requests, refuses, manners, connections, sockets }
    }

    /// The network between here and all clients breaks. Nobody is served anew before all of it has broken.
    pub fn cut(&self) {
        let mut sockets = self.sockets.lock().unwrap();
        for socket in sockets.drain(..) {
            // One that is gone already needs no end.
            let _ = socket.shutdown(Shutdown::Both);
        }
        for connection in self.connections.lock().unwrap().values() {
            connection.end_streams();
        }
    }

    /// So many streams have been asked for.
    pub fn streams(&self) -> usize {
        self.requests.lock().unwrap().iter().filter(|head| head.starts_with("GET ")).count()
    }

    /// As when it is started anew: it knows nothing of what was.
    pub fn forget_all(&self) {
        let known: Vec<_> = self.connections.lock().unwrap().drain().collect();
        for (_, connection) in &known {
            connection.end_streams();
        }
        self.cut();
        known.iter().for_each(|(_, connection)| connection.end());
    }

    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}/acp", self.port)
    }
}

fn serve(stream: TcpStream, place: &Place) -> Option<()> {
    // An answer goes out in pieces, none of which waits for the others to be confirmed.
    stream.set_nodelay(true).ok()?;
    let mut peeked = vec![0; 8192];
    let size = stream.peek(&mut peeked).ok()?;
    let head = String::from_utf8_lossy(&peeked[..size]).into_owned();
    if head.to_ascii_lowercase().contains("upgrade: websocket") {
        place.heads.lock().unwrap().push(head);
        return websocket(stream, place);
    }
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let request = Request::read(&mut reader)?;
        place.heads.lock().unwrap().push(request.head.clone());
        request.answer(&stream, place)?;
    }
}

fn spawn(mut command: Command) -> (Child, ChildStdin, ChildStdout) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    #[cfg(target_os = "linux")]
    let started = bound::spawn(command);
    #[cfg(not(target_os = "linux"))]
    let started = command.spawn();
    let mut child = started.expect("the program starts");
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    (child, stdin.expect("its stdin"), stdout.expect("its stdout"))
}

/// Programs that end with the tests, however those end, and hold nothing of theirs open.
#[cfg(target_os = "linux")]
mod bound {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::sync::OnceLock;
    use std::sync::mpsc::{Sender, channel};
    use std::thread;

    type Order = (Command, Sender<io::Result<Child>>);

    /// A program ends with the thread that has started it, so one thread starts them all.
    pub fn spawn(command: Command) -> io::Result<Child> {
        static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
        let orders = ORDERS.get_or_init(|| {
            let (orders, queue) = channel::<Order>();
            thread::spawn(move || {
                for (mut command, reply) in queue {
                    // SAFETY: between fork and exec only these two calls of the system are made.
                    unsafe { command.pre_exec(bind) };
                    // Who asked waits for it.
                    let _ = reply.send(command.spawn());
                }
            });
            orders
        });
        let (reply, child) = channel();
        orders.send((command, reply)).expect("the thread runs");
        child.recv().expect("an answer")
    }

    fn bind() -> io::Result<()> {
        // SAFETY: both calls take numbers only.
        let done = unsafe {
            [
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).into(),
                libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC),
            ]
        };
        if done.contains(&-1) { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn websocket(stream: TcpStream, place: &Place) -> Option<()> {
    let theirs = stream.try_clone().ok()?;
    let mut reading = accept(stream).ok()?;
    let (mut child, mut stdin, stdout) = spawn((place.start)());
    thread::spawn(move || {
        let mut writing = WebSocket::from_raw_socket(theirs, Role::Server, None);
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if writing.send(Message::Text(line.into())).is_err() {
                return;
            }
        }
        let _ = writing.close(None);
        let _ = writing.flush();
    });
    while let Ok(message) = reading.read() {
        match message {
            Message::Text(text) if writeln!(stdin, "{text}").is_err() => break,
            Message::Close(_) => break,
            Message::Ping(_) => drop(place.manners.beats.fetch_add(1, Ordering::AcqRel)),
            _ => {}
        }
    }
    drop(stdin);
    let _ = child.wait();
    None
}

struct Request {
    head: String,
    method: String,
    headers: HashMap<String, String>,
    body: String,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let (mut head, mut headers) = (String::new(), HashMap::new());
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            head += &line;
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
                None if line.trim_end().is_empty() => break,
                None => None,
            };
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let method = head.split(' ').next()?.to_owned();
        Some(Self { head, method, headers, body: String::from_utf8(body).ok()? })
    }

    fn answer(&self, mut stream: &TcpStream, place: &Place) -> Option<()> {
        let id = self.headers.get("acp-connection-id").cloned();
        let session = self.headers.get("acp-session-id").cloned();
        let found = id.as_ref().and_then(|id| place.connections.lock().unwrap().get(id).cloned());
        let mut plain = |status: &str| write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok();
        let Some(connection) = found else {
            let message: Value = serde_json::from_str(&self.body).unwrap_or_default();
            if id.is_some() || self.method != "POST" || message["method"] != "initialize" {
                return plain(if id.is_some() { "404 Not Found" } else { "400 Bad Request" });
            }
            return self.initialize(stream, place);
        };
        match self.method.as_str() {
            "DELETE" => {
                place.connections.lock().unwrap().remove(&id?);
                connection.end();
                plain("202 Accepted")
            }
            "POST" => {
                if session.is_some() && session == *place.manners.unknown.lock().unwrap() {
                    return plain("404 Not Found");
                }
                connection.wait_for_another(&self.body);
                let less = |busy: u32| busy.checked_sub(1);
                let busy = &place.manners.busy;
                match busy.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
                    Ok(_) => plain("429 Too Many Requests\r\nRetry-After: 0"),
                    Err(_) => plain(connection.take(&self.body, session)),
                }
            }
            _ if self.headers.get("accept").is_none_or(|kind| kind != "text/event-stream") => {
                plain("406 Not Acceptable")
            }
            _ => {
                let mailbox = match connection.of_stream(&session) {
                    Ok(mailbox) => mailbox,
                    Err(status) => return plain(&format!("{status} No")),
                };
                let taken = mailbox.1.lock().unwrap().take();
                let Some(mut mail) = taken else { return plain("409 Conflict") };
                let over = stream_out(stream, &mut mail, &place.manners);
                *mailbox.1.lock().unwrap() = Some(mail);
                over
            }
        }
    }

    fn initialize(&self, mut stream: &TcpStream, place: &Place) -> Option<()> {
        let (child, mut stdin, stdout) = spawn((place.start)());
        let written = writeln!(stdin, "{}", self.body);
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let connection = Arc::new(Connection {
            stdin: Mutex::new(Some(stdin)),
            child: Mutex::new(child),
            boxes: Mutex::default(),
            routes: Mutex::default(),
            named: Mutex::default(),
            came: (Mutex::default(), Condvar::new()),
            late: Mutex::default(),
            manners: place.manners.clone(),
        });
        written.ok()?;
        let answer = loop {
            let Some(line) = lines.next() else {
                return write!(stream, "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n").ok();
            };
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            if message.get("id").is_some() && message.get("method").is_none() {
                break line;
            }
            connection.route(line);
        };
        let id = format!("connection-{:p}", Arc::as_ptr(&connection));
        place.connections.lock().unwrap().insert(id.clone(), connection.clone());
        let (name, all) = (id.clone(), place.connections.clone());
        thread::spawn(move || {
            lines.for_each(|line| connection.route(line));
            // Nobody knows it after its program's end.
            all.lock().unwrap().remove(&name);
            connection.end_streams();
        });
        let (length, cookie) = (answer.len(), "node=a1; Path=/");
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAcp-Connection-Id: {id}\r\nSet-Cookie: {cookie}\r\n\
             Content-Length: {length}\r\n\r\n{answer}"
        )
        .ok()
    }
}

fn stream_out(mut stream: &TcpStream, mail: &mut Mail, manners: &Manners) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let less = |short: u32| short.checked_sub(1);
    if manners.short.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok() {
        return stream.write_all(b"3\r\n:\n\n\r\n0\r\n\r\n").ok();
    }
    let beat = match manners.beat.load(Ordering::Acquire) {
        0 => Duration::from_secs(15),
        beat => Duration::from_millis(beat.into()),
    };
    loop {
        let next = match mail.undelivered.take() {
            Some(message) => Ok(Some(message)),
            None => mail.queue.recv_timeout(beat),
        };
        let event = match &next {
            Ok(Some(message)) => format!("data: {message}\n\n"),
            Err(RecvTimeoutError::Timeout) => {
                manners.beats.fetch_add(1, Ordering::AcqRel);
                ":\n\n".to_owned()
            }
            Ok(None) | Err(RecvTimeoutError::Disconnected) => {
                return stream.write_all(b"0\r\n\r\n").ok();
            }
        };
        if write!(stream, "{:x}\r\n{event}\r\n", event.len()).is_err() {
            mail.undelivered = next.ok().flatten();
            return None;
        }
    }
}

impl Connection {
    fn mailbox(&self, session: &Option<String>) -> Mailbox {
        let mut boxes = self.boxes.lock().unwrap();
        let mailbox = boxes.entry(session.clone()).or_insert_with(|| {
            let (send, queue) = channel();
            Mailbox(send, Arc::new(Mutex::new(Some(Mail { queue, undelivered: None }))))
        });
        mailbox.clone()
    }

    /// The mail for a stream, or the status where there is none.
    fn of_stream(&self, session: &Option<String>) -> Result<Mailbox, u16> {
        let (boxes, named) = (self.boxes.lock().unwrap(), self.named.lock().unwrap());
        let is_new = session.as_ref().is_some_and(|session| !named.contains(session));
        if is_new && !boxes.contains_key(session) {
            let unnamed = boxes.keys().flatten().filter(|session| !named.contains(*session)).count();
            match self.manners.unnamed.load(Ordering::Acquire) {
                0 if unnamed < MOST_UNNAMED => {}
                0 => return Err(404),
                status => return Err(status),
            }
        }
        drop((boxes, named));
        Ok(self.mailbox(session))
    }

    fn wait_for_another(&self, body: &str) {
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let mut came = self.came.0.lock().unwrap();
        *came += 1;
        self.came.1.notify_all();
        let is_reluctant = message["method"].as_str() == self.manners.reluctant.lock().unwrap().as_deref();
        if is_reluctant && message["method"].is_string() {
            let own = *came;
            let moment = Duration::from_millis(300);
            drop(self.came.1.wait_timeout_while(came, moment, |came| *came == own).unwrap());
        }
    }

    /// A message of the client's.
    fn take(&self, body: &str, header: Option<String>) -> &'static str {
        let message: Value = serde_json::from_str(body).unwrap_or_default();
        let session = message["params"]["sessionId"].as_str().map(str::to_owned);
        if header.is_some() && header != session {
            return "400 Bad Request";
        }
        if message.get("method").is_none() {
            self.manners.late.store(false, Ordering::Release);
            for (session, line) in self.late.lock().unwrap().drain(..) {
                let _ = self.mailbox(&session).0.send(Some(line));
            }
        }
        if let Some(method) = message["method"].as_str() {
            self.routes.lock().unwrap().insert(message["id"].to_string(), (session, method.to_owned()));
        }
        let written =
            self.stdin.lock().unwrap().as_mut().is_some_and(|stdin| writeln!(stdin, "{body}").is_ok());
        if written { "202 Accepted" } else { "500 Internal Server Error" }
    }

    /// A message of the program's.
    fn route(&self, line: String) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (mut session, mut method) = (text(&message["params"]["sessionId"]), String::new());
        let is_answer = message.get("method").is_none();
        if is_answer {
            let route = self.routes.lock().unwrap().remove(&message["id"].to_string());
            (session, method) = route.unwrap_or_default();
        }
        if message.get("error").is_none() {
            let opened = text(&message["result"]["sessionId"]);
            self.named.lock().unwrap().extend(opened.into_iter().chain(session.clone()));
        }
        // What answers a request for a session that nobody has heard of is about the connection.
        let is_strict = self.manners.unnamed.load(Ordering::Acquire) != 0 && message.get("error").is_none();
        let has_box = self.boxes.lock().unwrap().contains_key(&session);
        let to = session.clone().filter(|_| !is_answer || has_box || is_strict);
        if to.is_some() && self.manners.late.load(Ordering::Acquire) {
            return self.late.lock().unwrap().push((to, line));
        }
        // The streams are gone only with the connection.
        let _ = self.mailbox(&to).0.send(Some(line));
        if ["session/close", "session/delete"].contains(&method.as_str()) && message.get("error").is_none() {
            self.forget(&session);
        }
    }

    fn end_streams(&self) {
        self.boxes.lock().unwrap().values().for_each(|mailbox| {
            let _ = mailbox.0.send(None);
        });
    }

    /// Whoever reads a closed session's stream reads on, and nothing comes.
    fn forget(&self, session: &Option<String>) {
        self.boxes.lock().unwrap().remove(session);
        self.named.lock().unwrap().retain(|named| Some(named) != session.as_ref());
    }

    fn end(&self) {
        self.stdin.lock().unwrap().take();
        let _ = self.child.lock().unwrap().wait();
    }
}
