//! From the bytes that an agent writes, in whatever pieces they come, to messages: framing, parsing and the
//! log, on the thread that reads. Where the bytes come from is the transport's part.

use super::framing::{Framer, TooLong, is_length_header, trim};
use super::from_acp::Chunk;
use super::log::{AgentLog, Direction};
use super::rpc::{self, Message, Noise};

/// What the agent wrote.
#[derive(Debug)]
pub enum Incoming {
    /// A message that is a piece of text, and is nothing else.
    Chunk(Chunk),
    Message(Message),
    /// A line that is no message, or its beginning.
    Noise(Noise, String),
    /// A message longer than allowed; nothing can be read after it.
    TooLong,
    /// Messages are framed as a language server does.
    LengthHeader,
}

/// From the bytes of an agent, in whatever pieces they come, to messages.
pub struct MessageReader {
    framer: Framer,
    /// A message has come.
    had_message: bool,
    log: AgentLog,
}

impl MessageReader {
    pub fn new(limit: usize, log: AgentLog) -> Self {
        Self { framer: Framer::new(limit), had_message: false, log }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<Incoming> {
        let mut batch = Vec::new();
        let (had_message, log) = (&mut self.had_message, &self.log);
        let pushed = self.framer.push(bytes, |line| batch.extend(read_line(line, had_message, log)));
        if pushed == Err(TooLong) {
            batch.push(Incoming::TooLong);
        }
        batch
    }

    /// The last line, if it had no end.
    pub fn finish(mut self) -> Option<Incoming> {
        self.framer.finish().and_then(|line| read_line(&line, &mut self.had_message, &self.log))
    }
}

fn read_line(line: &[u8], had_message: &mut bool, log: &AgentLog) -> Option<Incoming> {
    let line = trim(line);
    if line.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    if let Some(chunk) = Chunk::read(&text) {
        *had_message = true;
        log.message(Direction::FromAgent, line);
        return Some(Incoming::Chunk(chunk));
    }
    match rpc::read(&text) {
        Ok(message) => {
            *had_message = true;
            log.message(Direction::FromAgent, line);
            Some(Incoming::Message(message))
        }
        Err(noise) => {
            log.raw(Direction::FromAgent, &text);
            // A program that has sent a message knows the framing; such a line is its own output.
            if is_length_header(line) && !*had_message {
                return Some(Incoming::LengthHeader);
            }
            Some(Incoming::Noise(noise, text.chars().take(200).collect()))
        }
    }
}
