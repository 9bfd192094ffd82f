//! msgpack-RPC with a child process over its stdin and stdout. Two threads read, so that nobody
//! waits longer than they said; what the messages mean is left to the caller.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rmpv::Value;

pub enum Incoming {
    Answer {
        id: u64,
        result: Result<Value, Value>,
    },
    Notified {
        method: String,
        args: Vec<Value>,
    },
    /// Nothing more comes: the child is gone, or it wrote something that is not msgpack-RPC.
    Closed,
}

pub struct Connection {
    /// None once it is closed.
    stdin: Option<ChildStdin>,
    incoming: Receiver<Incoming>,
    stderr: Arc<Mutex<Vec<u8>>>,
    last_id: u64,
}

impl Connection {
    /// Takes the child's three pipes.
    pub fn new(child: &mut Child) -> Self {
        let stdin = child.stdin.take().expect("stdin is a pipe");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let errors = child.stderr.take().expect("stderr is a pipe");
        let (sender, incoming) = channel();
        thread::spawn(move || read_messages(stdout, &sender));
        let stderr = Arc::default();
        thread::spawn({
            let stderr = Arc::clone(&stderr);
            move || collect(errors, &stderr)
        });
        Self { stdin: Some(stdin), incoming, stderr, last_id: 0 }
    }

    /// Sends a request and says which id its answer will carry.
    pub fn request(&mut self, method: &str, args: Vec<Value>) -> u64 {
        self.last_id += 1;
        self.write(vec![0.into(), self.last_id.into(), method.into(), Value::Array(args)]);
        self.last_id
    }

    /// Sends what gets no answer.
    pub fn notify(&mut self, method: &str, args: Vec<Value>) {
        self.write(vec![2.into(), method.into(), Value::Array(args)]);
    }

    /// Closes the child's stdin: nothing can be sent any more.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// The next message, if one comes in time.
    pub fn receive(&mut self, timeout: Duration) -> Option<Incoming> {
        self.incoming.recv_timeout(timeout).ok()
    }

    /// All that the child wrote to stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("no reader panics")).into_owned()
    }

    fn write(&mut self, message: Vec<Value>) {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, &Value::Array(message)).expect("memory takes all");
        // A child that is gone is noticed by the reader, which is asked next.
        let stdin = self.stdin.as_mut().expect("nothing is sent after it was closed");
        let _ = stdin.write_all(&bytes).and_then(|()| stdin.flush());
    }
}

fn read_messages(stdout: impl Read, sender: &Sender<Incoming>) {
    let mut stdout = BufReader::new(stdout);
    while let Ok(message) = rmpv::decode::read_value(&mut stdout) {
        let Some(incoming) = understand(message) else { break };
        if sender.send(incoming).is_err() {
            return;
        }
    }
    let _ = sender.send(Incoming::Closed);
}

/// `None` for what no test asks for, a request from the child's side among it.
fn understand(message: Value) -> Option<Incoming> {
    let Value::Array(parts) = message else { return None };
    let mut parts = parts.into_iter();
    match parts.next()?.as_u64()? {
        1 => {
            let (id, error, result) = (parts.next()?.as_u64()?, parts.next()?, parts.next()?);
            let result = if error.is_nil() { Ok(result) } else { Err(error) };
            Some(Incoming::Answer { id, result })
        }
        2 => {
            let (method, args) = (parts.next()?, parts.next()?);
            let Value::Array(args) = args else { return None };
            Some(Incoming::Notified { method: method.as_str()?.to_owned(), args })
        }
        _ => None,
    }
}

fn collect(mut stream: impl Read, into: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut bytes) {
        into.lock().expect("no reader panics").extend_from_slice(&bytes[..count]);
    }
}
