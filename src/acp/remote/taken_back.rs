//! Requests that the agent takes back. They come through the streams of their sessions, and the word that takes one back
//! through that of the connection, so that it may be here first: then it waits for its request.

use std::collections::VecDeque;
use std::sync::Mutex;

use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::acp::mutex::lock;

/// So many requests are remembered, and so many words that came too early; the oldest go.
const MOST: usize = 256;

#[derive(Default)]
pub struct TakenBack(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The requests that came, by their ids as JSON.
    came: VecDeque<String>,
    early: VecDeque<(String, Vec<u8>)>,
}

/// What matters of a message here.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Request(String),
    /// Takes this request back.
    Word(String),
    Other,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Word<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: Of<'a>,
}

#[derive(Deserialize)]
struct Of<'a> {
    #[serde(borrow, rename = "requestId")]
    request: &'a RawValue,
}

impl Kind {
    pub fn of(message: &[u8]) -> Self {
        if memmem::find(message, b"$/cancel_request").is_some()
            && let Ok(Word { method: "$/cancel_request", params }) = serde_json::from_slice(message)
        {
            return Self::Word(params.request.get().to_owned());
        }
        // Most messages are no requests, which is seen without parsing them.
        if memmem::find(message, b"\"id\"").is_none() {
            return Self::Other;
        }
        match serde_json::from_slice(message) {
            Ok(Envelope { id: Some(id), method: Some(_) }) => Self::Request(id.get().to_owned()),
            _ => Self::Other,
        }
    }
}

impl TakenBack {
    /// The request has been passed on. Gives the words that take it back and were here before.
    pub fn came(&self, id: String) -> Vec<Vec<u8>> {
        let Known { came, early } = &mut *lock(&self.0);
        let (mine, others) = early.drain(..).partition::<Vec<_>, _>(|(of, _)| *of == id);
        early.extend(others);
        push(came, id);
        mine.into_iter().map(|(_, message)| message).collect()
    }

    /// Gives the word back, unless it has to wait for its request.
    pub fn word(&self, id: String, message: Vec<u8>) -> Option<Vec<u8>> {
        let Known { came, early } = &mut *lock(&self.0);
        if came.contains(&id) {
            return Some(message);
        }
        push(early, (id, message));
        None
    }
}

fn push<T>(some: &mut VecDeque<T>, one: T) {
    if some.len() == MOST {
        some.pop_front();
    }
    some.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_words_are_told_from_the_rest() {
        for (message, kind) in [
            (r#"{"id":7,"method":"fs/read_text_file","params":{}}"#, Kind::Request("7".into())),
            (r#"{"id":"a","method":"x"}"#, Kind::Request("\"a\"".into())),
            (r#"{"method":"$/cancel_request","params":{"requestId":7}}"#, Kind::Word("7".into())),
            (r#"{"method":"$/cancel_request","params":{}}"#, Kind::Other),
            (r#"{"id":7,"result":{"id":1}}"#, Kind::Other),
            (
                r#"{"method":"session/update","params":{"text":"$/cancel_request","id":1,"requestId":7}}"#,
                Kind::Other,
            ),
            ("\"id\"", Kind::Other),
        ] {
            assert_eq!(Kind::of(message.as_bytes()), kind, "{message}");
        }
    }

    #[test]
    fn a_word_waits_for_its_request_alone() {
        let taken = TakenBack::default();
        assert_eq!(taken.word("7".into(), b"w7".to_vec()), None);
        assert!(taken.came("8".into()).is_empty());
        assert_eq!(taken.came("7".into()), [b"w7".to_vec()]);
        assert_eq!(taken.word("7".into(), b"again".to_vec()), Some(b"again".to_vec()));
        for id in 0..1000 {
            assert_eq!(taken.word(format!("x{id}"), Vec::new()), None);
        }
        assert!(taken.came("x0".into()).is_empty() && taken.came("x999".into()).len() == 1);
    }
}
