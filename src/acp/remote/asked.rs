//! The requests about sessions that have no answer yet. Where a server gives no stream for a session, they say whether
//! one is worth waiting for, and who has to be told that none comes.

use std::collections::HashMap;
use std::sync::Mutex;

use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::acp::mutex::lock;

#[derive(Default)]
pub struct Asked(Mutex<HashMap<String, Request>>);

struct Request {
    session: String,
    /// The session is over once it is granted.
    closes: bool,
}

/// What a request that is answered was about.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    pub session: String,
    /// By this the session is over.
    pub is_over: bool,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

impl Asked {
    pub fn add(&self, id: &RawValue, session: &str, method: &str) {
        let closes = ["session/close", "session/delete"].contains(&method);
        lock(&self.0).insert(id.get().to_owned(), Request { session: session.to_owned(), closes });
    }

    pub fn has(&self, id: &RawValue) -> bool {
        lock(&self.0).contains_key(id.get())
    }

    /// Takes note of a message that may be an answer.
    pub fn heard(&self, message: &[u8]) -> Option<Answered> {
        // Most messages are no answers, which is seen without parsing them.
        memmem::find(message, b"\"result\"").or_else(|| memmem::find(message, b"\"error\""))?;
        let Answer { id, method: None, error } = serde_json::from_slice(message).ok()? else { return None };
        let Request { session, closes } = lock(&self.0).remove(id?.get())?;
        Some(Answered { session, is_over: closes && error.is_none() })
    }

    pub fn waits_for(&self, session: &str) -> bool {
        lock(&self.0).values().any(|request| request.session == session)
    }

    /// Forgets the requests about a session. Gives their ids, as JSON.
    pub fn give_up(&self, session: &str) -> Vec<Box<RawValue>> {
        let mut requests = lock(&self.0);
        let given_up = requests.extract_if(|_, request| request.session == session);
        given_up.filter_map(|(id, _)| RawValue::from_string(id).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(id: &str) -> Box<RawValue> {
        RawValue::from_string(id.to_owned()).expect("JSON")
    }

    #[test]
    fn a_session_is_waited_for_until_each_request_is_answered() {
        let asked = Asked::default();
        asked.add(&id("1"), "s", "session/load");
        asked.add(&id("\"b\""), "s", "session/prompt");
        assert!(asked.waits_for("s") && !asked.waits_for("t") && asked.has(&id("1")));
        for message in [
            r#"{"id":1,"method":"fs/read_text_file","params":{"result":0}}"#,
            r#"{"id":2,"result":{}}"#,
            r#"{"method":"session/update","params":{"error":1}}"#,
        ] {
            assert_eq!(asked.heard(message.as_bytes()), None, "{message}");
        }
        let answered = Some(Answered { session: "s".into(), is_over: false });
        assert_eq!(asked.heard(br#"{"id":1,"result":null}"#), answered);
        assert!(asked.waits_for("s"));
        let left: Vec<String> = asked.give_up("s").iter().map(|id| id.get().to_owned()).collect();
        assert_eq!((left, asked.waits_for("s")), (vec!["\"b\"".to_owned()], false));
    }

    #[test]
    fn a_session_is_over_when_its_end_is_granted() {
        let asked = Asked::default();
        let heard = |method: &str, answer: &str| {
            asked.add(&id("1"), "s", method);
            asked.heard(answer.as_bytes()).expect("an answer").is_over
        };
        assert!(heard("session/close", r#"{"id":1,"result":null}"#));
        assert!(heard("session/delete", r#"{"id":1,"result":{}}"#));
        assert!(!heard("session/close", r#"{"id":1,"error":{"code":1,"message":"no"}}"#));
        assert!(!heard("session/load", r#"{"id":1,"result":{}}"#));
    }
}
