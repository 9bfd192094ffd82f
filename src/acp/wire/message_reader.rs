//! From the bytes that an agent writes, in whatever pieces they come, to messages: framing, parsing and the
//! log, on the thread that reads. Where the bytes come from is the transport's part.

use serde_json::{Map, Value};

use super::converted::Converted;
use super::dialect::{Converter, Translation};
use super::framing::{Framer, TooLong, is_length_header, trim};
use super::from_acp::{Chunk, Told};
use super::incoming::Incoming;
use super::log::{AgentLog, Direction};
use super::paths::Paths;
use super::ring::Taking;
use super::rpc::{self, Message, RequestId};

/// From the bytes of an agent, in whatever pieces they come, to messages.
pub struct MessageReader {
    framer: Framer,
    /// A message has come.
    had_message: bool,
    log: AgentLog,
    converter: Converter,
    /// Where the lines of a read are in it; kept so that no read has to ask for memory.
    found: Vec<(u32, u32)>,
}

impl MessageReader {
    pub fn new(limit: usize, log: AgentLog, converter: Converter) -> Self {
        Self { framer: Framer::new(limit), had_message: false, log, converter, found: Vec::new() }
    }

    /// A message has begun that is not all there yet.
    pub fn is_in_message(&self) -> bool {
        self.framer.is_in_line()
    }

    pub fn push(&mut self, bytes: &[u8]) -> Vec<Incoming> {
        let mut batch = Vec::new();
        let (had_message, log) = (&mut self.had_message, &self.log);
        let mut taking = log.ring.taking(bytes, &mut self.found);
        let paths = self.converter.paths();
        let pushed = match self.converter.translation() {
            None => self.framer.push(bytes, |line| {
                match read_line(line, quick, had_message, (log, &mut taking)) {
                    Some((incoming, _)) if paths.is_none() => batch.push(incoming),
                    Some((incoming, _)) => batch.push(translated(paths, incoming)),
                    None => {}
                }
            }),
            Some(mut translation) => self.framer.push(bytes, |line| {
                let quick = |line: &str| translation.quick(line);
                if let Some(read) = read_line(line, quick, had_message, (log, &mut taking)) {
                    convert(&mut translation, (paths, log), read, &mut batch);
                }
            }),
        };
        taking.finish();
        if pushed == Err(TooLong) {
            batch.push(Incoming::TooLong);
        }
        batch
    }

    /// The last line, if it had no end.
    pub fn finish(mut self) -> Vec<Incoming> {
        let Some(line) = self.framer.finish() else { return Vec::new() };
        let mut batch = Vec::new();
        let mut taking = self.log.ring.taking(&[], &mut self.found);
        let paths = self.converter.paths();
        match self.converter.translation() {
            None => {
                let read = read_line(&line, quick, &mut self.had_message, (&self.log, &mut taking));
                batch.extend(read.map(|(incoming, _)| translated(paths, incoming)));
            }
            Some(mut translation) => {
                let quick = |line: &str| translation.quick(line);
                let read = read_line(&line, quick, &mut self.had_message, (&self.log, &mut taking));
                if let Some(read) = read {
                    convert(&mut translation, (paths, &self.log), read, &mut batch);
                }
            }
        }
        batch
    }
}

/// How a line was read: what comes by the thousand is read as the conversation knows it at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Quick,
    Careful,
}

/// What comes by the thousand.
fn quick(line: &str) -> Option<Incoming> {
    Chunk::read(line).map(Incoming::Chunk).or_else(|| Told::read(line).map(Incoming::Told))
}

/// What was sent in another version or dialect.
fn convert(
    translation: &mut Translation,
    (paths, log): (&Paths, &AgentLog),
    (incoming, manner): (Incoming, Manner),
    batch: &mut Vec<Incoming>,
) {
    match incoming {
        Incoming::Message(message) if manner == Manner::Careful => {
            let Converted { messages, refused } = translation.incoming(message);
            batch.extend(messages.into_iter().map(|message| translated(paths, Incoming::Message(message))));
            batch.extend(refused.map(|(id, error)| Incoming::Refused(id, error)));
        }
        incoming => batch.push(translated(paths, incoming)),
    }
    log.left_out(translation.left_out());
}

/// With the paths of this machine.
fn translated(paths: &Paths, incoming: Incoming) -> Incoming {
    let message = match incoming {
        Incoming::Message(message) => message,
        // Where paths may stand in it, messages know.
        Incoming::Told(told) if !paths.is_none() => {
            Message::Notification { method: "session/update".to_owned(), params: told.params() }
        }
        other => return other,
    };
    match paths.to_here(message) {
        Ok(message) => Incoming::Message(message),
        Err((id, error)) => Incoming::Refused(id, error),
    }
}

fn read_line(
    line: &[u8],
    quick: impl FnOnce(&str) -> Option<Incoming>,
    had_message: &mut bool,
    (log, taking): (&AgentLog, &mut Taking<'_>),
) -> Option<(Incoming, Manner)> {
    if let Ok(text) = str::from_utf8(trim(line))
        && let Some(incoming) = quick(text)
    {
        *had_message = true;
        log.message(Direction::FromAgent, trim(line));
        taking.line(trim(line), || envelope(&incoming));
        return Some((incoming, Manner::Quick));
    }
    read_message(line, had_message, (log, taking)).map(|incoming| (incoming, Manner::Careful))
}

fn read_message(
    line: &[u8],
    had_message: &mut bool,
    (log, taking): (&AgentLog, &mut Taking<'_>),
) -> Option<Incoming> {
    let line = trim(line);
    if line.is_empty() {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let incoming = match rpc::read(&text) {
        Ok(message) => {
            *had_message = true;
            log.message(Direction::FromAgent, line);
            Incoming::Message(message)
        }
        Err(noise) => {
            log.raw(Direction::FromAgent, &text);
            // A program that has sent a message knows the framing; such a line is its own output.
            match is_length_header(line) && !*had_message {
                true => Incoming::LengthHeader,
                false => Incoming::Noise(noise, text.chars().take(200).collect()),
            }
        }
    };
    taking.line(line, || envelope(&incoming));
    Some(incoming)
}

/// What a message is without what is in it.
fn envelope(incoming: &Incoming) -> Vec<u8> {
    let message = match incoming {
        Incoming::Message(message) => message,
        Incoming::Chunk(_) | Incoming::Told(_) => return br#"{"method":"session/update"}"#.to_vec(),
        _ => return Vec::new(),
    };
    let mut fields = Map::new();
    let mut id = |id: &RequestId| {
        // An id is JSON already.
        let id = serde_json::to_value(id).unwrap_or_default();
        fields.insert("id".into(), id);
    };
    match message {
        Message::Request { id: its, method, .. } => {
            id(its);
            fields.insert("method".into(), method.as_str().into());
        }
        Message::Notification { method, .. } => {
            fields.insert("method".into(), method.as_str().into());
        }
        Message::Response { id: its, result } => {
            id(its);
            if let Err(error) = result {
                let error = serde_json::json!({ "code": error.code, "message": error.message });
                fields.insert("error".into(), error);
            }
        }
        Message::Malformed { id: its } => id(its),
    }
    Value::Object(fields).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acp::wire::from_acp::{paths_named, session_of};
    use crate::acp::wire::log::WireLog;
    use crate::core::message::{Dialect, Launch};
    use crate::core::text::elsewhere::PathRules;

    #[test]
    fn what_is_read_quickly_of_an_agent_elsewhere_has_the_paths_of_this_machine() {
        let paths = PathRules::new([("/remote/src", "/home/me/src")]);
        let launch = Launch { dialect: Some(Dialect::Draft), paths, ..Launch::default() };
        let log = WireLog::start(None).agent("", &[]);
        let mut reader = MessageReader::new(1 << 20, log, Converter::to(&launch, 1));
        let call = r#"{"method":"session/update","params":{"sessionId":"s","type":"tool_call","data":{"id":"c","tool":"fs/read_text_file","input":{"path":"/remote/src/a"},"location":{"path":"/remote/src/a","line":3}}}}"#;
        let diff = r#"{"method":"session/update","params":{"sessionId":"s","type":"tool_call_update","data":{"id":"c","output":{"type":"diff","path":"/remote/src/b","hunks":[{"newStart":2,"content":"+x"}]}}}}"#;
        let elsewhere = r#"{"method":"session/update","params":{"sessionId":"s","type":"tool_call","data":{"id":"d","tool":"t","location":{"path":"/etc/a"}}}}"#;
        let read = reader.push(format!("{call}\n{diff}\n{elsewhere}\n").as_bytes());
        let named: Vec<Vec<String>> = read
            .iter()
            .map(|incoming| match incoming {
                Incoming::Message(Message::Notification { params, .. }) => {
                    assert_eq!(session_of(params).as_deref(), Some("s"));
                    assert!(!params.to_string().contains("/remote/"), "{params}");
                    paths_named(params).map(str::to_owned).collect()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(named, [vec!["/home/me/src/a"], vec!["/home/me/src/b", "/home/me/src/b"], vec![]]);
    }
}
