//! What agents ask: permission, forms, files outside the project; one question at a time. Which one is next and
//! when it may be shown is decided by `core::session::question_queue`; this is the state, and the queue's way
//! to the screen is in `queue`.

pub mod forms;
pub mod outside_files;
pub mod permission;
pub mod queue;

use std::rc::Rc;
use std::time::Instant;

use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::session::Pick;
use crate::core::session::question_queue::QuestionQueue;
use crate::nvim::editor::picker::OpenPicker;

pub struct Questions {
    queue: QuestionQueue,
    /// What the question that has its turn is about, as lines.
    preview: Rc<Vec<String>>,
    /// The picker on the screen, and its question.
    open: Option<(AskId, OpenPicker)>,
    /// The last one whose picker was closed without an answer, until the user is told how it is answered.
    left: Option<AskId>,
    /// A question came or went: see whether one can be shown.
    pub retry: bool,
    /// What the queue's times are counted from: a clock that is set does not matter to it.
    began: Instant,
}

/// An answer that a key gives.
pub struct KeyAnswer {
    session: SessionKey,
    ask: AskId,
    pick: Pick,
}

impl Default for Questions {
    fn default() -> Self {
        Self {
            queue: QuestionQueue::default(),
            preview: Rc::default(),
            open: None,
            left: None,
            retry: false,
            began: Instant::now(),
        }
    }
}

impl Questions {
    fn now(&self) -> Moment {
        Moment(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// What a question is about is on the screen.
    pub fn see(&mut self, ask: AskId) {
        self.queue.see(ask);
    }

    /// The one of these that the user saw last, else the oldest.
    pub fn seen_last_of(&self, waiting: Vec<(SessionKey, AskId)>) -> Option<AskId> {
        self.queue.meant(waiting, None, None).first().map(|(_, ask)| *ask)
    }

    /// The question waits in the chat until the user takes it up.
    pub fn defer(&mut self, ask: AskId) {
        self.queue.defer(ask);
    }
}
