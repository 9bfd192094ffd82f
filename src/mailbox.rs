//! Events on their way to the editor's thread: in order, coalesced, bounded, with one wake-up for a
//! burst. Who is woken, and how, is the owner's business.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::core::message::{Content, Event, Role, Skipped, ToolCallPatch, Update};

/// Above this many waiting bytes the background stops reading from agents until some are taken.
const FULL: usize = 4 << 20;

/// For so many events there is room all the time; what a burst took is given back.
const KEPT: usize = 256;

/// How soon the reader is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wake {
    /// There is more of a text: soon enough when the next frame is drawn.
    Frame = 1,
    Now = 2,
}

/// A queue with one reader, the editor's thread, and any number of writers.
pub struct Mailbox {
    inner: Mutex<Inner>,
    /// The wake-up that is under way while the reader has not looked yet; 0 is none.
    woken: AtomicU8,
    wake: Box<dyn Fn(Wake) + Send + Sync>,
    room: Notify,
}

#[derive(Default)]
struct Inner {
    /// Each with what it counts in `bytes`.
    events: VecDeque<(usize, Event)>,
    bytes: usize,
}

impl Mailbox {
    /// `wake` is called from any thread, at most once of a kind until the reader next calls
    /// [`Self::take`].
    pub fn new(wake: impl Fn(Wake) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            inner: Mutex::default(),
            woken: AtomicU8::new(0),
            wake: Box::new(wake),
            room: Notify::new(),
        })
    }

    /// Adds an event; text that continues the last event's message or terminal is joined to it, and
    /// what a call shows takes the place of what it showed before.
    pub fn post(&self, event: Event) {
        let wake = if is_stream(&event) { Wake::Frame } else { Wake::Now };
        // What of an event takes long to count is not joined to another.
        let counts = event.size();
        {
            let inner = &mut *self.lock();
            let rest = match inner.events.back_mut() {
                Some((counted, last)) => {
                    let rest = join(last, event);
                    if rest.is_none() {
                        let before = std::mem::replace(counted, last.size());
                        inner.bytes = (inner.bytes + *counted).saturating_sub(before);
                    }
                    rest
                }
                None => Some(event),
            };
            if let Some(event) = rest {
                inner.bytes += counts;
                inner.events.push_back((counts, event));
            }
        }
        self.wake(wake);
    }

    /// Takes the oldest event.
    pub fn take(&self) -> Option<Event> {
        self.woken.store(0, Ordering::Release);
        let (event, has_room) = {
            let mut inner = self.lock();
            let (counted, event) = inner.events.pop_front()?;
            inner.bytes = inner.bytes.saturating_sub(counted);
            if inner.events.is_empty() {
                inner.events.shrink_to(KEPT);
            }
            (event, inner.bytes < FULL / 2)
        };
        if has_room {
            self.room.notify_waiters();
        }
        Some(event)
    }

    pub fn is_empty(&self) -> bool {
        self.lock().events.is_empty()
    }

    /// Asks for another wake-up; for a reader that stopped before the queue was empty.
    pub fn wake_again(&self) {
        self.wake(Wake::Now);
    }

    fn wake(&self, wake: Wake) {
        if self.woken.fetch_max(wake as u8, Ordering::AcqRel) < wake as u8 {
            (self.wake)(wake);
        }
    }

    /// Wakes a reader that was woken and could not read then.
    pub fn wake_after_failed_read(&self) {
        self.woken.store(0, Ordering::Release);
        self.wake_again();
    }

    /// Whether the reader keeps up.
    pub fn has_room(&self) -> bool {
        self.lock().bytes < FULL
    }

    /// Waits until the reader has caught up. Returns at once while there is room.
    pub async fn room(&self) {
        loop {
            let notified = self.room.notified();
            if self.has_room() {
                return;
            }
            notified.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Plain data: a panic in mid-push cannot leave it half changed in a way that matters.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an event only shows more of a text.
fn is_stream(event: &Event) -> bool {
    match event {
        Event::TerminalGrew { .. } => true,
        Event::Updated { update, .. } => streams(update),
        _ => false,
    }
}

fn streams(update: &Update) -> bool {
    match update {
        Update::Message { content: Content::Text(_), .. } => true,
        Update::ToolCall(call) => only_content(call),
        Update::Within { update, .. } => streams(update),
        _ => false,
    }
}

/// Whether an update says only what the call shows, as those do that stream a command's output.
fn only_content(call: &ToolCallPatch) -> bool {
    let ToolCallPatch { id: _, title, name, kind, status, content, locations, raw_input, raw_output, took } =
        call;
    content.is_some()
        && (title.is_none() && name.is_none() && kind.is_none() && status.is_none())
        && (locations.is_none() && raw_input.is_none() && raw_output.is_none() && took.is_none())
}

/// Joins `next` to `last` where both are one stream of text; else gives it back.
fn join(last: &mut Event, next: Event) -> Option<Event> {
    match (last, next) {
        (Event::Updated { session: s1, update: u1 }, Event::Updated { session: s2, update: u2 })
            if *s1 == s2 =>
        {
            join_updates(u1, u2).map(|update| Event::Updated { session: s2, update })
        }
        (
            Event::TerminalGrew { session: s1, terminal: t1, bytes: b1, lines: l1, cut: c1, .. },
            Event::TerminalGrew { session: s2, terminal: t2, bytes: b2, lines: l2, skipped, cut: c2 },
        ) if *s1 == s2 && *t1 == t2 && skipped == Skipped::default() => {
            b1.extend_from_slice(&b2);
            l1.take_in(l2);
            *c1 = c2;
            None
        }
        (_, next) => Some(next),
    }
}

/// What the user said is told again in parts, or as several prompts: only the pieces themselves say where one ends.
fn is_of_parts(role: Role, message: Option<&String>) -> bool {
    role == Role::User && message.is_none()
}

fn join_updates(last: &mut Update, next: Update) -> Option<Update> {
    match (last, next) {
        (
            Update::Message { role: r1, message: m1, content: Content::Text(t1) },
            Update::Message { role: r2, message: m2, content: Content::Text(t2) },
        ) if *r1 == r2 && *m1 == m2 && !is_of_parts(*r1, m1.as_ref()) => {
            t1.push_str(&t2);
            None
        }
        (Update::ToolCall(c1), Update::ToolCall(c2))
            if c1.id == c2.id && only_content(c1) && only_content(&c2) =>
        {
            *c1 = c2;
            None
        }
        (Update::Within { branch: b1, update: u1 }, Update::Within { branch: b2, update: u2 })
            if *b1 == b2 =>
        {
            join_updates(u1, *u2).map(|update| Update::Within { branch: b2, update: Box::new(update) })
        }
        (_, next) => Some(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AgentId, SessionKey};
    use crate::core::message::{Location, PlanItem, PlanStatus, Priority, ToolContent};

    fn chunk(message: &str, text: &str) -> Event {
        Event::Updated {
            session: SessionKey(1),
            update: Update::Message {
                role: Role::Agent,
                message: Some(message.into()),
                content: Content::Text(text.into()),
            },
        }
    }

    #[test]
    fn chunks_of_one_message_arrive_as_one() {
        let mailbox = Mailbox::new(|_| {});
        for text in ["a", "b", "c"] {
            mailbox.post(chunk("m1", text));
        }
        mailbox.post(chunk("m2", "d"));
        assert_eq!(mailbox.take(), Some(chunk("m1", "abc")));
        assert_eq!(mailbox.take(), Some(chunk("m2", "d")));
        assert_eq!(mailbox.take(), None);
    }

    #[test]
    fn what_the_user_said_arrives_in_the_parts_in_which_it_was_told() {
        let mailbox = Mailbox::new(|_| {});
        let part = |text: &str| {
            let content = Content::Text(text.into());
            let update = Update::Message { role: Role::User, message: None, content };
            Event::Updated { session: SessionKey(1), update }
        };
        mailbox.post(part("a"));
        mailbox.post(part("b"));
        assert_eq!(mailbox.take(), Some(part("a")));
        assert_eq!(mailbox.take(), Some(part("b")));
    }

    #[test]
    fn of_what_a_call_shows_only_the_last_counts() {
        let shows = |id: &str, text: &str| {
            let content = Some(vec![ToolContent::Content(Content::Text(text.into()))]);
            let call = ToolCallPatch { content, ..ToolCallPatch::new(id) };
            Event::Updated { session: SessionKey(1), update: Update::ToolCall(Box::new(call)) }
        };
        let mailbox = Mailbox::new(|_| {});
        for text in ["a", "ab", "abc"] {
            mailbox.post(shows("1", text));
        }
        mailbox.post(shows("2", "d"));
        assert_eq!(mailbox.lock().bytes, shows("1", "abc").size() + shows("2", "d").size());
        assert_eq!(mailbox.take(), Some(shows("1", "abc")));
        assert_eq!(mailbox.take(), Some(shows("2", "d")));
        assert_eq!((mailbox.take(), mailbox.lock().bytes), (None, 0));
    }

    #[test]
    fn a_burst_wakes_once_until_the_reader_looks() {
        let (mailbox, wakes) = listening();
        for _ in 0..5 {
            mailbox.post(chunk("m", "x"));
        }
        assert_eq!(*wakes.lock().unwrap(), [Wake::Frame]);
        mailbox.wake_after_failed_read();
        mailbox.wake_again();
        assert_eq!(std::mem::take(&mut *wakes.lock().unwrap()), [Wake::Frame, Wake::Now]);
        mailbox.take();
        mailbox.post(chunk("m", "y"));
        assert_eq!(*wakes.lock().unwrap(), [Wake::Frame]);
    }

    #[test]
    fn what_is_no_text_does_not_wait_for_a_frame() {
        let (mailbox, wakes) = listening();
        mailbox.post(chunk("m", "x"));
        mailbox.post(Event::Started { agent: AgentId(1), pid: 1 });
        mailbox.post(chunk("m", "y"));
        assert_eq!(*wakes.lock().unwrap(), [Wake::Frame, Wake::Now]);
    }

    #[test]
    fn whatever_an_event_holds_makes_agents_wait() {
        let call = |patch: ToolCallPatch| Update::ToolCall(Box::new(patch));
        let text = "x".repeat(FULL);
        let many = FULL / 64;
        let raw = serde_json::json!({ "deep": [{ "text": text }] });
        let item = PlanItem { content: String::new(), priority: Priority::Low, status: PlanStatus::Pending };
        let place = Location { path: String::new().into(), line: None };
        let updates = [
            call(ToolCallPatch { raw_input: Some(raw.clone()), ..ToolCallPatch::new("1") }),
            call(ToolCallPatch { raw_output: Some(raw), ..ToolCallPatch::new("1") }),
            call(ToolCallPatch { raw_output: Some(vec![0; many].into()), ..ToolCallPatch::new("1") }),
            call(ToolCallPatch { title: Some(text.clone()), ..ToolCallPatch::new("1") }),
            call(ToolCallPatch { locations: Some(vec![place; 2 * many]), ..ToolCallPatch::new("1") }),
            Update::Plan(vec![item; 2 * many]),
            Update::CompactionSummary { id: "1".into(), text },
        ];
        for (number, update) in updates.into_iter().enumerate() {
            let mailbox = Mailbox::new(|_| {});
            mailbox.post(Event::Updated { session: SessionKey(1), update });
            assert!(!mailbox.has_room(), "update {number}");
            mailbox.take();
            assert_eq!(mailbox.lock().bytes, 0);
        }
    }

    #[test]
    fn small_events_count_and_the_room_that_a_burst_took_is_given_back() {
        let mailbox = Mailbox::new(|_| {});
        let mut posted = 0;
        while mailbox.has_room() && posted < FULL {
            // Two messages by turns, so that none is joined.
            mailbox.post(chunk(if posted % 2 == 0 { "a" } else { "b" }, "x"));
            posted += 1;
        }
        assert!(posted <= FULL / size_of::<Event>(), "{posted} events of one byte are under way");
        assert!(mailbox.lock().events.capacity() >= posted);
        while mailbox.take().is_some() {}
        let inner = mailbox.lock();
        assert!(inner.bytes == 0 && inner.events.capacity() <= 2 * KEPT, "{}", inner.events.capacity());
    }

    fn listening() -> (Arc<Mailbox>, Arc<Mutex<Vec<Wake>>>) {
        let wakes = Arc::new(Mutex::new(Vec::new()));
        let seen = wakes.clone();
        (Mailbox::new(move |wake| seen.lock().unwrap().push(wake)), wakes)
    }

    #[test]
    fn room_waits_for_the_reader_when_much_is_waiting() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let mailbox = Mailbox::new(|_| {});
            mailbox.room().await;
            mailbox.post(chunk("m", &"x".repeat(FULL)));
            let reader = mailbox.clone();
            let waited = tokio::join!(mailbox.room(), async {
                tokio::task::yield_now().await;
                reader.take()
            });
            assert!(waited.1.is_some());
        });
    }
}
