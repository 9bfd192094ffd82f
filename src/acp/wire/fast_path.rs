//! The short way of an agent's text: from the thread that reads what the agent writes to the editor's
//! mailbox, without waking the background in between, which costs more than the reading. It is taken
//! only while nothing that the agent wrote before is on the slow path, so that all arrives in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::from_acp::Chunk;
use crate::core::changes::half_written::Millis;
use crate::core::ids::SessionKey;
use crate::core::maps::FastMap;
use crate::core::message::Event;
use crate::mailbox::Mailbox;

/// One agent's sessions by the names that it gave them. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct SessionNames(Arc<Mutex<FastMap<String, SessionKey>>>);

impl SessionNames {
    pub fn lock(&self) -> MutexGuard<'_, FastMap<String, SessionKey>> {
        // Plain data: no panic leaves it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who wants to know when agents say something: what changes in their folders is told apart by that.
pub struct Listener {
    /// Something was read right now. Gives the time.
    pub arrived: Box<dyn Fn() -> Millis + Send + Sync>,
    /// The time by the same clock.
    pub time: Box<dyn Fn() -> Millis + Send + Sync>,
    /// A session has text that takes the short way.
    pub heard: Box<dyn Fn(SessionKey) + Send + Sync>,
}

pub struct FastPath {
    mailbox: Arc<Mailbox>,
    names: SessionNames,
    listener: Listener,
    /// Batches on the slow path that were not dealt with yet.
    on_slow_path: AtomicUsize,
}

impl FastPath {
    pub fn new(mailbox: Arc<Mailbox>, names: SessionNames, listener: Listener) -> Self {
        Self { mailbox, names, listener, on_slow_path: AtomicUsize::new(0) }
    }

    /// The time of what has just been read.
    pub fn arrived(&self) -> Millis {
        (self.listener.arrived)()
    }

    pub fn time(&self) -> Millis {
        (self.listener.time)()
    }

    /// Posts a piece of text, or gives it back when it has to take the slow path: behind others, because
    /// its session has no name yet, or since the editor must catch up first.
    pub fn post(&self, chunk: Chunk) -> Result<(), Chunk> {
        if self.on_slow_path.load(Ordering::Acquire) > 0 || !self.mailbox.has_room() {
            return Err(chunk);
        }
        let session = self.names.lock().get(&chunk.session).copied();
        match session {
            Some(session) => {
                (self.listener.heard)(session);
                self.mailbox.post(Event::Updated { session, update: chunk.update() });
                Ok(())
            }
            None => Err(chunk),
        }
    }

    /// A batch goes the slow path.
    pub fn slow_batch_sent(&self) {
        self.on_slow_path.fetch_add(1, Ordering::AcqRel);
    }

    /// A batch of the slow path was dealt with.
    pub fn slow_batch_done(&self) {
        self.on_slow_path.fetch_sub(1, Ordering::AcqRel);
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
        let (mailbox, names) = (Mailbox::new(|_| {}), SessionNames::default());
        names.lock().insert("s".into(), SessionKey(7));
        let heard = Arc::new(AtomicUsize::new(0));
        let count = heard.clone();
        let listener = Listener {
            arrived: Box::new(|| 0),
            time: Box::new(|| 0),
            heard: Box::new(move |session| count.store(session.0 as usize, Ordering::Release)),
        };
        let fast_path = FastPath::new(mailbox.clone(), names, listener);
        fast_path.slow_batch_sent();
        assert_eq!(fast_path.post(chunk("s")), Err(chunk("s")));
        assert!(mailbox.is_empty());
        assert_eq!(heard.load(Ordering::Acquire), 0, "the slow path tells of it");
        fast_path.slow_batch_done();
        assert_eq!(fast_path.post(chunk("s")), Ok(()));
        assert_eq!(heard.load(Ordering::Acquire), 7);
        let content = Content::Text("t".into());
        let update = Update::Message { role: Role::Agent, message: None, content };
        assert_eq!(mailbox.take(), Some(Event::Updated { session: SessionKey(7), update }));
        assert_eq!(fast_path.post(chunk("other")), Err(chunk("other")));
    }
}
