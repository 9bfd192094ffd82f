//! The transports to agents that run elsewhere already: over a WebSocket or over HTTP, as the address says. The
//! network is read and written on the background's own thread; what is read goes to a thread that parses it, as
//! an agent's stdout does. What the messages mean is left to `connection`.

mod asked;
mod cookies;
mod events;
mod secrets;
mod streamable;
mod taken_back;
mod tls;
mod trouble;
mod websocket;

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use rustls::ClientConfig;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use self::trouble::Trouble;
use crate::acp::mutex::lock;
use crate::acp::processes::guard::Guard;
use crate::acp::wire::dialect::Converter;
use crate::acp::wire::fast_path::FastPath;
use crate::acp::wire::log::AgentLog;
use crate::acp::wire::transport::{Batch, LineSender, MessageSink, Transport};
use crate::core::message::remote::Carrier;
use crate::core::message::{Exit, Remote};

/// Messages in flight between the network and the threads beside it.
const IN_FLIGHT: usize = 16;

/// The longest pause between two tries to reach an agent.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// To reach the agent's machine and be let in.
    pub connect: Duration,
    /// To have a message taken.
    pub post: Duration,
    /// Between two pings.
    pub ping: Duration,
    /// Without a word, nor an answer to a ping: after this, nobody is there any more.
    pub silence: Duration,
    /// Before the second try to reach an agent; each pause is twice the one before.
    pub first_pause: Duration,
    /// For the other side to say goodbye.
    pub farewell: Duration,
    /// For all that was sent to be taken, one message after the other, before goodbye is said.
    pub longest_farewell: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(20),
            post: Duration::from_secs(60),
            ping: Duration::from_secs(20),
            silence: Duration::from_secs(50),
            first_pause: Duration::from_secs(1),
            farewell: Duration::from_millis(500),
            longest_farewell: Duration::from_secs(5),
        }
    }
}

/// What a connection is made with.
pub struct Context {
    /// The agent's configured name.
    pub name: String,
    pub remote: Remote,
    /// The most bytes of one message.
    pub message_limit: usize,
    pub guard: Arc<Guard>,
    pub log: AgentLog,
    pub fast_path: Arc<FastPath>,
    pub converter: Converter,
    pub pace: Pace,
    /// Addresses at which an agent has answered before. There one that doesn't is waited for.
    pub reached: Arc<Mutex<Vec<String>>>,
    /// Tells the user.
    pub tell: Box<dyn Fn(String) + Send + Sync>,
}

/// An agent at the other end of a connection.
pub struct RemoteAgent {
    lines: LineSender,
    incoming: mpsc::Receiver<Batch>,
    ended: watch::Receiver<Option<Exit>>,
    trouble: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
    /// The end of the conversation takes no longer.
    farewell: Duration,
}

/// All that a connection needs to know.
struct Dial {
    name: String,
    remote: Remote,
    headers: Vec<(HeaderName, HeaderValue)>,
    tls: Option<ClientConfig>,
    limit: usize,
    pace: Pace,
    log: AgentLog,
    reached: Arc<Mutex<Vec<String>>>,
    tell: Box<dyn Fn(String) + Send + Sync>,
}

/// What goes through a connection: whole lines both ways, although what comes in may be cut anywhere.
struct Pipe {
    lines: mpsc::Receiver<Vec<u8>>,
    incoming: mpsc::Sender<Vec<u8>>,
}

impl RemoteAgent {
    /// Begins to connect; whether it works is heard from [`Transport::ended`] and [`Transport::trouble`].
    pub fn connect(context: Context) -> Self {
        let (lines, queue) = LineSender::channel();
        let (log, fast_path) = (context.log.clone(), context.fast_path.clone());
        let (mut sink, incoming) =
            MessageSink::channel(context.message_limit, log, fast_path, context.converter.clone());
        let (write, to_write) = mpsc::channel(IN_FLIGHT);
        let (was_read, mut read) = mpsc::channel::<Vec<u8>>(IN_FLIGHT);
        run("acp-in", move || {
            for line in queue {
                if write.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        run("acp-out", move || {
            while let Some(bytes) = read.blocking_recv() {
                if sink.push(&bytes).is_break() {
                    return;
                }
            }
            sink.finish();
        });
        let (tell, ended) = watch::channel(None);
        let Pace { farewell, longest_farewell, .. } = context.pace;
        let farewell = match context.remote.address.carrier {
            Carrier::WebSocket => farewell * 2,
            // Each message is a request of its own.
            Carrier::Http => longest_farewell + farewell * 2,
        };
        let trouble = Arc::default();
        let task = tokio::spawn({
            let trouble = Arc::clone(&trouble);
            async move {
                let mut pipe = Pipe { lines: to_write, incoming: was_read };
                if let Err(Trouble { text, .. }) = talk(context, &mut pipe).await {
                    *lock(&trouble) = Some(text);
                }
                drop(pipe);
                tell.send_replace(Some(Exit::default()));
            }
        });
        Self { lines, incoming, ended, trouble, task, farewell }
    }
}

impl Transport for RemoteAgent {
    fn lines(&self) -> LineSender {
        self.lines.clone()
    }

    async fn receive(&mut self) -> Option<Batch> {
        self.incoming.recv().await
    }

    fn ended(&self) -> watch::Receiver<Option<Exit>> {
        self.ended.clone()
    }

    fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// What was sent before is still written, and the other side told, if that takes no longer than a moment, or goes on.
    async fn close(&mut self, leaving: &mut watch::Receiver<Option<Instant>>) {
        self.lines.close();
        let left = async {
            let until = leaving.wait_for(Option::is_some).await.ok().and_then(|until| *until);
            match until {
                Some(until) => sleep_until(until).await,
                // Nobody is there any more who could say so.
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = timeout(self.farewell, &mut self.task) => {}
            () = left => {}
        }
        self.task.abort();
    }
}

impl Drop for RemoteAgent {
    fn drop(&mut self) {
        self.lines.close();
        self.task.abort();
    }
}

fn run(name: &str, body: impl FnOnce() + Send + 'static) {
    // A thread that can't be had drops its end of the channel, which reads as the end of the agent.
    let _ = thread::Builder::new().name(name.to_owned()).spawn(body);
}

async fn talk(context: Context, pipe: &mut Pipe) -> Result<(), Trouble> {
    let carrier = context.remote.address.carrier;
    let failed = |_| Trouble::lasting("the plugin failed while it prepared the connection; see the log");
    let dial =
        spawn_blocking(move || Dial::prepare(context)).await.map_err(failed)?.map_err(Trouble::lasting)?;
    match carrier {
        Carrier::WebSocket => websocket::run(&dial, pipe).await,
        Carrier::Http => streamable::run(dial, pipe).await,
    }
}

impl Dial {
    /// Fetches what the connection needs, which blocks.
    fn prepare(context: Context) -> Result<Self, String> {
        let Context { name, remote, message_limit: limit, guard, log, pace, reached, tell, .. } = context;
        let values = secrets::fetch(&name, &remote.headers, &guard)?;
        log.secrets.add_headers(values.iter().map(|(_, value)| value.as_str()));
        let header = |(key, value): (String, String)| {
            let header = HeaderName::from_bytes(key.as_bytes()).ok();
            let value = HeaderValue::from_str(&value).ok().map(|mut value| {
                value.set_sensitive(true);
                value
            });
            header.zip(value).ok_or_else(|| format!("agents.{name}.headers.{key} can't be sent"))
        };
        let headers = values.into_iter().map(header).collect::<Result<_, _>>()?;
        let tls = if remote.address.encrypted { Some(tls::config()?) } else { None };
        Ok(Self { name, remote, headers, tls, limit, pace, log, reached, tell })
    }

    /// The address as the user may see it.
    fn place(&self) -> String {
        self.remote.address.shown()
    }

    fn trouble(&self, error: &(dyn Error + 'static)) -> Trouble {
        self.without_secrets(Trouble::of(error, &self.place()))
    }

    fn status(&self, status: StatusCode, location: Option<&str>, body: &str) -> Trouble {
        self.without_secrets(Trouble::status(status, location, body, &self.name, &self.place()))
    }

    /// What is sent to a server, it may send back.
    fn without_secrets(&self, mut trouble: Trouble) -> Trouble {
        trouble.text = self.log.secrets.hidden(&trouble.text);
        trouble
    }

    fn too_slow(&self) -> Trouble {
        let seconds = self.pace.connect.as_secs();
        Trouble::passing(format!("couldn't reach {}: it didn't let us in within {seconds} s", self.place()))
    }

    fn silent(&self) -> Trouble {
        let seconds = self.pace.silence.as_secs();
        Trouble::passing(format!("its machine hasn't answered for {seconds} s"))
    }

    /// An agent has answered here.
    fn reached(&self) {
        let place = self.remote.address.url();
        let mut reached = lock(&self.reached);
        if !reached.contains(&place) {
            reached.push(place);
        }
    }

    /// Tries again, ever more slowly, where an agent has answered before and only the way there is broken. Whoever
    /// waits for the agent ends it.
    async fn persist<T, F>(&self, attempt: impl Fn() -> F + Send) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Trouble>> + Send,
    {
        let is_known = lock(&self.reached).contains(&self.remote.address.url());
        let mut pause = self.pace.first_pause;
        loop {
            match attempt().await {
                Err(trouble) if trouble.passes && is_known => {
                    self.log.note(&format!("{}; trying again", trouble.text));
                    let seconds = pause.as_secs_f64().ceil();
                    (self.tell)(format!(
                        "{}; trying again in {seconds} s (:Acp cancel stops that)",
                        trouble.text
                    ));
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::wire::log::WireLog;
    use crate::core::message::remote::Address;

    fn dial(is_known: bool) -> Dial {
        let address = Address::read("wss://far.example/acp").expect("an address");
        let reached = if is_known { vec![address.url()] } else { Vec::new() };
        Dial {
            name: "far".into(),
            remote: Remote { address, headers: Vec::new() },
            headers: Vec::new(),
            tls: None,
            limit: 1 << 20,
            pace: Pace::default(),
            log: WireLog::start(None).agent("far", &[]),
            reached: Arc::new(Mutex::new(reached)),
            tell: Box::new(|_| {}),
        }
    }

    /// When each try was made, in seconds since the first; so many of them fail.
    async fn tries(dial: &Dial, failing: usize, trouble: &Trouble) -> (Vec<u64>, Result<(), Trouble>) {
        let (begun, made) = (Instant::now(), Mutex::new(Vec::new()));
        let attempt = || async {
            let mut made = lock(&made);
            made.push(begun.elapsed().as_secs());
            if made.len() > failing { Ok(()) } else { Err(trouble.clone()) }
        };
        let done = dial.persist(attempt).await;
        let made = lock(&made).clone();
        (made, done)
    }

    #[tokio::test(start_paused = true)]
    async fn each_pause_between_tries_is_twice_the_one_before_but_never_longer_than_half_a_minute() {
        let (made, done) = tries(&dial(true), 8, &Trouble::passing("nothing answers there")).await;
        assert_eq!(made, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
        assert_eq!(done, Ok(()));
        // The user is told how long each takes.
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = said.clone();
        let told = Dial { tell: Box::new(move |text| lock(&heard).push(text)), ..dial(true) };
        let _ = tries(&told, 2, &Trouble::passing("nothing answers there")).await;
        let again =
            |seconds| format!("nothing answers there; trying again in {seconds} s (:Acp cancel stops that)");
        assert_eq!(*lock(&said), [again(1), again(2)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_time_mends_or_never_worked_is_tried_once() {
        let lasting = Trouble::lasting("refuses you");
        assert_eq!(tries(&dial(true), 8, &lasting).await, (vec![0], Err(lasting)));
        let passing = Trouble::passing("nothing answers there");
        assert_eq!(tries(&dial(false), 8, &passing).await, (vec![0], Err(passing)));
    }
}
