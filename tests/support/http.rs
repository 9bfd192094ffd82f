//! A web server on this machine for a test: it serves the files of a folder, and answers as a broken or slow server
//! would where a test says so. It ends with the test.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// How a file is answered for, if not by its content.
#[derive(Clone, Debug)]
pub enum Answer {
    /// As if nothing had been said.
    Whole,
    /// 404.
    Missing,
    /// The connection ends after this many bytes of the file.
    Cut(usize),
    /// After this many bytes nothing comes any more, and the connection stays.
    Stalled(usize),
    /// Another content.
    Text(String),
}

#[derive(Default)]
struct State {
    answers: HashMap<String, Answer>,
    asked: Vec<String>,
    open: Vec<TcpStream>,
    over: bool,
}

pub struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = listener.local_addr().expect("the port").to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, folder) = (state.clone(), folder.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                let (shared, folder) = (shared.clone(), folder.clone());
                if lock(&shared).over {
                    return;
                }
                thread::spawn(move || {
                    let end = stream.try_clone();
                    // A client that went away wants no answer.
                    let _ = serve(stream, &folder, &shared);
                    // The server itself keeps the connection, to break it at its end.
                    let _ = end.and_then(|end| end.shutdown(Shutdown::Both));
                });
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers for a path, which begins with a slash, in this way from now on.
    pub fn answer(&self, path: &str, answer: Answer) {
        lock(&self.state).answers.insert(path.to_owned(), answer);
    }

    /// The paths that were asked for since the last call, in order.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).asked)
    }
}

impl Server {
    /// Takes no more connections, and breaks those that there are.
    pub fn end(&self) {
        let mut state = lock(&self.state);
        state.over = true;
        for stream in state.open.drain(..) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes the thread that waits for the next client.
        let _ = TcpStream::connect(&self.address);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, folder: &Path, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let answer = {
        let mut state = lock(state);
        state.asked.push(path.clone());
        state.open.push(stream.try_clone()?);
        state.answers.get(&path).cloned()
    };
    let file: PathBuf = folder.join(path.trim_start_matches('/'));
    let content = match &answer {
        Some(Answer::Missing) => None,
        Some(Answer::Text(text)) => Some(text.clone().into_bytes()),
        _ => std::fs::read(file).ok(),
    };
    let Some(content) = content else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    let length = content.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    match answer {
        Some(Answer::Cut(bytes)) => stream.write_all(&content[..bytes.min(length)]),
        Some(Answer::Stalled(bytes)) => {
            stream.write_all(&content[..bytes.min(length)])?;
            // Until the client, or the test, has had enough.
            reader.read_to_end(&mut Vec::new()).map(drop)
        }
        _ => stream.write_all(&content),
    }
}
