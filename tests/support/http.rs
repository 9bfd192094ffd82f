//! A web server on this machine for tests of what is fetched: it serves what it was given, as slowly and
//! as badly as it was told to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// What a path is answered with.
#[derive(Clone)]
pub enum Answer {
    Body(Vec<u8>),
    /// Half of the body, of which all was announced.
    Truncated(Vec<u8>),
    Missing,
    /// A part of the body at once, and nothing more before [`Server::release`].
    Slow(Vec<u8>),
}

pub struct Server {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<BTreeMap<String, Answer>>,
    asked: Mutex<Vec<String>>,
    released: Mutex<bool>,
    release: Condvar,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let served = shared.clone();
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                // A client that goes away is none of ours.
                std::thread::spawn(move || drop(serve(stream, &served)));
            }
        });
        Self { port, shared }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn serve(&self, path: &str, answer: Answer) {
        self.shared.answers.lock().expect("no panic").insert(format!("/{path}"), answer);
    }

    /// The paths that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().expect("no panic").clone()
    }

    /// Lets the slow answers go on.
    pub fn release(&self) {
        *self.shared.released.lock().expect("no panic") = true;
        self.shared.release.notify_all();
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut line = String::new();
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    shared.asked.lock().expect("no panic").push(path.clone());
    let answer = shared.answers.lock().expect("no panic").get(&path).cloned().unwrap_or(Answer::Missing);
    let head = |length: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").into_bytes()
    };
    match answer {
        Answer::Missing => {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Answer::Body(body) => stream.write_all(&[head(body.len()), body].concat()),
        Answer::Truncated(body) => stream.write_all(&[&head(body.len()), &body[..body.len() / 2]].concat()),
        Answer::Slow(body) => {
            let (first, rest) = body.split_at(body.len() / 2);
            stream.write_all(&[&head(body.len()), first].concat())?;
            stream.flush()?;
            let released = shared.released.lock().expect("no panic");
            let _released = shared.release.wait_while(released, |released| !*released).expect("no panic");
            stream.write_all(rest)
        }
    }
}
