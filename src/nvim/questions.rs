//! What agents ask: permission, forms, files outside the project; one question at a time. Which one is next and
//! when it may be shown is decided by `core::session::question_queue`; this is the state, and the queue's way
//! to the screen is in `queue`.

pub mod forms;
pub mod outside_files;
pub mod permission;
pub mod queue;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use crate::core::ids::{AskId, EntryId, Moment, SessionKey};
use crate::core::message::PermissionKind;
use crate::core::session::entry::Body;
use crate::core::session::question_queue::QuestionQueue;
use crate::core::session::{OpenAsk, Pick};
use crate::nvim::context::Context;
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

    /// The question of an entry, of that under the cursor.
    pub fn ask_at(cx: &Context, at: Option<(SessionKey, EntryId)>) -> Option<AskId> {
        let (session, entry) = at?;
        let asks = cx.sessions.get(&session)?.asks();
        asks.iter().find(|open| open.entry == entry).map(|open| open.ask)
    }

    /// What a question is about as lines: what its call does, or runs.
    fn subject_lines(cx: &Context, asked: Option<(SessionKey, AskId)>) -> Vec<String> {
        let text = asked.and_then(|(key, ask)| {
            let session = cx.sessions.get(&key)?;
            match &session.entry(session.open_ask(ask)?.entry)?.body {
                Body::Tool(call) => {
                    let does = call.command().unwrap_or_else(|| call.headline());
                    Some([vec![does], call.asked_input()].concat().join("\n"))
                }
                Body::Elicitation(asked) => asked.command().map(str::to_owned),
                _ => None,
            }
        });
        text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
    }

    /// What an answer to a question may name.
    pub fn answers_to_name(
        &self,
        cx: &Context,
        under_cursor: Option<AskId>,
        fits: fn(&PermissionKind) -> bool,
    ) -> Vec<String> {
        let meant = self.meant(cx, under_cursor);
        let open = meant.iter().filter_map(|(key, ask)| cx.sessions.get(key)?.open_ask(*ask));
        let fitting = open.flat_map(OpenAsk::options).filter(|option| fits(&option.kind));
        fitting.map(|option| option.id.clone()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The question waits in the chat until the user takes it up.
    pub fn defer(&mut self, ask: AskId) {
        self.queue.defer(ask);
    }
}
