//! The short way of an agent's text: from the thread that reads what the agent writes to the editor's
//! mailbox, without waking the background in between, which costs more than the reading. It is taken
//! only while nothing that the agent wrote before is on the long way, so that all arrives in order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::from_acp::Chunk;
use crate::core::ids::SessionKey;
use crate::core::message::Event;
use crate::mailbox::Mailbox;

/// One agent's sessions by the names that it gave them. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Names(Arc<Mutex<HashMap<String, SessionKey>>>);

impl Names {
    pub fn lock(&self) -> MutexGuard<'_, HashMap<String, SessionKey>> {
        // Plain data: no panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Shortcut {
    mailbox: Arc<Mailbox>,
    names: Names,
    /// Batches on the long way that were not dealt with yet.
    under_way: AtomicUsize,
}

impl Shortcut {
    pub fn new(mailbox: Arc<Mailbox>, names: Names) -> Self {
        Self { mailbox, names, under_way: AtomicUsize::new(0) }
    }

    /// Posts a piece of text, or gives it back when it has to go the long way: behind others, because
    /// its session has no name yet, or since the editor must catch up first.
    pub fn post(&self, chunk: Chunk) -> Result<(), Chunk> {
        if self.under_way.load(Ordering::Acquire) > 0 || !self.mailbox.has_room() {
            return Err(chunk);
        }
        let session = self.names.lock().get(&chunk.session).copied();
        match session {
            Some(session) => {
                self.mailbox.post(Event::Updated { session, update: chunk.update() });
                Ok(())
            }
            None => Err(chunk),
        }
    }

    /// A batch goes the long way.
    pub fn sent(&self) {
        self.under_way.fetch_add(1, Ordering::AcqRel);
    }

    /// A batch of the long way was dealt with.
    pub fn arrived(&self) {
        self.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::{Content, Role, Update};

    fn chunk(session: &str) -> Chunk {
        let line = r#"{"method":"session/update","params":{"sessionId":"$","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"t"}}}}"#;
        Chunk::read(&line.replace('$', session)).expect("a chunk")
    }

    #[test]
    fn text_is_short_of_others_only_when_none_are_before_it() {
        let (mailbox, names) = (Mailbox::new(|_| {}), Names::default());
        names.lock().insert("s".into(), SessionKey(7));
        let shortcut = Shortcut::new(mailbox.clone(), names);
        shortcut.sent();
        assert_eq!(shortcut.post(chunk("s")), Err(chunk("s")));
        assert!(mailbox.is_empty());
        shortcut.arrived();
        assert_eq!(shortcut.post(chunk("s")), Ok(()));
        let content = Content::Text("t".into());
        let update = Update::Message { role: Role::Agent, message: None, content };
        assert_eq!(mailbox.take(), Some(Event::Updated { session: SessionKey(7), update }));
        assert_eq!(shortcut.post(chunk("other")), Err(chunk("other")));
    }
}
