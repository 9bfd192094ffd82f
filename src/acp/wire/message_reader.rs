//! From the bytes that an agent writes, in whatever pieces they come, to messages: framing, parsing and the
//! log, on the thread that reads. Where the bytes come from is the transport's part.

use super::dialect::Converter;
use super::draft::{Converted, Draft};
use super::framing::{Framer, TooLong, is_length_header, trim};
use super::from_acp::Chunk;
use super::log::{AgentLog, Direction};
use super::rpc::{self, Message, Noise, RequestId, RpcError};

/// What the agent wrote.
#[derive(Debug)]
pub enum Incoming {
    /// A message that is a piece of text, and is nothing else.
    Chunk(Chunk),
    Message(Message),
    /// A request that is answered by this already.
    Refused(RequestId, RpcError),
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
    converter: Converter,
}

impl MessageReader {
    pub fn new(limit: usize, log: AgentLog, converter: Converter) -> Self {
        Self { framer: Framer::new(limit), had_message: false, log, converter }
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<Incoming> {
        let mut batch = Vec::new();
        let (had_message, log) = (&mut self.had_message, &self.log);
        let pushed = match self.converter.draft() {
            None => self.framer.push(bytes, |line| batch.extend(read_line(line, had_message, log))),
            Some(mut draft) => self.framer.push(bytes, |line| {
                if let Some(incoming) = read_message(line, had_message, log) {
                    convert(&mut draft, incoming, &mut batch);
                }
            }),
        };
        if pushed == Err(TooLong) {
            batch.push(Incoming::TooLong);
        }
        batch
    }

    /// The last line, if it had no end.
    pub fn finish(mut self) -> Vec<Incoming> {
        let Some(line) = self.framer.finish() else { return Vec::new() };
        let mut batch = Vec::new();
        match self.converter.draft() {
            None => batch.extend(read_line(&line, &mut self.had_message, &self.log)),
            Some(mut draft) => {
                if let Some(incoming) = read_message(&line, &mut self.had_message, &self.log) {
                    convert(&mut draft, incoming, &mut batch);
                }
            }
        }
        batch
    }
}

/// What another dialect has sent.
fn convert(draft: &mut Draft, incoming: Incoming, batch: &mut Vec<Incoming>) {
    let Incoming::Message(message) = incoming else { return batch.push(incoming) };
    let Converted { messages, refused } = draft.incoming(message);
    batch.extend(messages.into_iter().map(Incoming::Message));
    batch.extend(refused.map(|(id, error)| Incoming::Refused(id, error)));
}

fn read_line(line: &[u8], had_message: &mut bool, log: &AgentLog) -> Option<Incoming> {
    if let Ok(text) = str::from_utf8(trim(line))
        && let Some(chunk) = Chunk::read(text)
    {
        *had_message = true;
        log.message(Direction::FromAgent, trim(line));
        return Some(Incoming::Chunk(chunk));
    }
    read_message(line, had_message, log)
}

fn read_message(line: &[u8], had_message: &mut bool, log: &AgentLog) -> Option<Incoming> {
    let line = trim(line);
    if line.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(line);
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
