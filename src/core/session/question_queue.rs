//! The queue of the agents' questions: which is shown next, whether it may be shown now, and what a key
//! that answers does. Nothing in here knows the editor: where the user is, and for how long they have been
//! quiet, is told.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::session::{OpenAsk, Pick};

/// A question does not come before the user has been quiet for so long: what they are typing is not meant
/// for it. Shorter where one waits for the agent.
const QUIET: Duration = Duration::from_millis(700);
const QUIET_IN_CHAT: Duration = Duration::from_millis(300);

/// When a question of an agent's opens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenQuestions {
    /// Not while the user types.
    Auto,
    Always,
    Never,
}

/// Where the user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    Transcript,
    Prompt {
        is_blank: bool,
    },
    /// Somewhere else, such as in a file.
    Elsewhere,
    /// In a floating window, where somebody else's picker may be open, or in the command-line window, from
    /// which no other window can be gone to.
    Captured,
    /// It cannot be told.
    Unknown,
}

/// What the user is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// As `nvim_get_mode()` names it.
    pub mode: String,
    /// In the midst of a command.
    pub is_blocking: bool,
    pub position: Position,
    /// For how long no key was typed.
    pub quiet: Duration,
}

/// Whether a question may take the screen and the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Now,
    /// When no key comes for so long.
    After(Duration),
    /// Not where the user is now.
    NotHere,
}

/// How much can be seen of what a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing yet: a change is seen before it is judged.
    Pending,
    /// Not before the user leaves the window alone that is to show it.
    Blocked,
    Whole,
    /// It has to be scrolled to be read, which cannot be done below a picker that has the screen for itself.
    Part,
}

/// A question that waits for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub session: SessionKey,
    pub ask: AskId,
    /// The user has just done something, and this came of it: an empty prompt is no sign that they wait for it.
    pub is_sudden: bool,
    /// Its session is left alone: it stands in the chat until the user takes it up.
    pub is_quiet: bool,
    /// The user is in its session's chat.
    pub is_here: bool,
}

/// Which session the user has to do with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Here {
    /// The one whose chat the cursor is in.
    pub chat: Option<SessionKey>,
    /// Else the one whose chat was used last.
    pub used: Option<SessionKey>,
}

/// What is to be done about the questions that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Nothing,
    Show(SessionKey, AskId),
    /// It does not open by itself: it can be read, and is answered where it stands, or opened.
    Stand(SessionKey, AskId),
    /// Look again after so long.
    Pause(Duration),
    /// The user is busy: they are told that this one waits, and it is tried again when they do something
    /// else.
    Tell(SessionKey, AskId),
}

/// One picker, for one question. Only the newest is listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    ask: AskId,
    number: u64,
}

/// Which question is on the screen, and which the user deferred.
#[derive(Debug, Default)]
pub struct QuestionQueue {
    shown: Option<Shown>,
    /// The one that the user saw last, while it waits.
    seen: Option<AskId>,
    /// The user wants to answer this one now.
    wanted: Option<AskId>,
    deferred: BTreeSet<AskId>,
    /// Since when each has waited.
    since: BTreeMap<AskId, Moment>,
    /// The user, who was busy, has been told of these.
    told: BTreeSet<AskId>,
    count: u64,
    /// When a key answered the last time.
    answered: Option<Moment>,
    /// It will be looked at again when the user has been quiet for long enough.
    pausing: bool,
}

impl Activity {
    /// Whether a picker would take the keys of somebody who is writing. `is_sudden` is as for [`Waiting`].
    pub fn readiness(&self, rule: OpenQuestions, is_sudden: bool) -> Readiness {
        match rule {
            _ if self.is_blocking => return Readiness::NotHere,
            OpenQuestions::Always => return Readiness::Now,
            OpenQuestions::Never => return Readiness::NotHere,
            OpenQuestions::Auto => {}
        }
        let is_normal = self.mode == "n";
        let (fits, pause) = match self.position {
            Position::Transcript => (is_normal, QUIET_IN_CHAT),
            // An empty prompt is where one waits for the agent.
            Position::Prompt { is_blank } => {
                (is_normal || is_blank && !is_sudden && self.mode.starts_with('i'), QUIET_IN_CHAT)
            }
            Position::Elsewhere => (is_normal, QUIET),
            // The user is left alone.
            Position::Captured | Position::Unknown => return Readiness::NotHere,
        };
        match pause.saturating_sub(self.quiet) {
            _ if !fits => Readiness::NotHere,
            Duration::ZERO => Readiness::Now,
            rest => Readiness::After(rest),
        }
    }
}

impl QuestionQueue {
    /// The question that has its turn: what it is about is to be on the screen. Those of the chat that the user is in
    /// come first, also if they were put off; for who is elsewhere, what they have before them stays.
    pub fn front(&self, waiting: &[Waiting]) -> Option<Waiting> {
        let find = |ask: AskId| waiting.iter().find(|question| question.ask == ask);
        let next = |fits: fn(&Waiting) -> bool| {
            waiting.iter().find(|question| fits(question) && !self.is_put_off(question))
        };
        let wanted = self.wanted.and_then(find);
        let shown = || self.shown.and_then(|shown| find(shown.ask));
        let seen = || self.seen.and_then(find).filter(|question| !self.is_put_off(question));
        let rest =
            |fits: fn(&Waiting) -> bool| waiting.iter().find(|question| fits(question) && !question.is_quiet);
        let of_chat = || next(|question| question.is_here).or_else(|| rest(|question| question.is_here));
        wanted
            .or_else(shown)
            .or_else(of_chat)
            .or_else(seen)
            .or_else(|| next(|_| true))
            .or_else(|| rest(|_| true))
            .copied()
    }

    /// The one that the user would answer who wants to answer any.
    pub fn to_answer(&self, waiting: &[Waiting]) -> Option<Waiting> {
        self.front(waiting).or(waiting.first().copied())
    }

    /// It waits in the chat until the user takes it up.
    fn is_put_off(&self, question: &Waiting) -> bool {
        question.is_quiet || self.deferred.contains(&question.ask)
    }

    /// The user wants to answer a question, also one that was deferred.
    pub fn want(&mut self, ask: AskId) {
        self.wanted = Some(ask);
    }

    /// Decides about the questions that wait, the oldest first. `sight` is for the one that has its turn. What the user
    /// is doing is only asked where that matters.
    pub fn next(
        &mut self,
        waiting: &[Waiting],
        sight: Sight,
        now: Moment,
        readiness: impl FnOnce(&Waiting) -> Readiness,
    ) -> Step {
        let waits = |ask: AskId| waiting.iter().any(|other| other.ask == ask);
        // One that is over without its picker; whatever that says later is about nothing.
        self.shown.take_if(|shown| !waits(shown.ask));
        self.wanted.take_if(|wanted| !waits(*wanted));
        self.seen.take_if(|seen| !waits(*seen));
        self.deferred.retain(|ask| waits(*ask));
        self.told.retain(|ask| waits(*ask));
        self.since.retain(|ask, _| waits(*ask));
        for question in waiting {
            self.since.entry(question.ask).or_insert(now);
        }
        let Some(front) = self.front(waiting) else { return Step::Nothing };
        if sight == Sight::Pending {
            return Step::Nothing;
        }
        if self.wanted.take().is_some() {
            return Step::Show(front.session, front.ask);
        }
        if self.shown.is_some() || self.is_put_off(&front) {
            return Step::Nothing;
        }
        match readiness(&front) {
            Readiness::NotHere => Step::Tell(front.session, front.ask),
            // The user has paused since the window was looked at, which is about to be done again.
            Readiness::Now if sight == Sight::Blocked => Step::Nothing,
            _ if sight == Sight::Part => {
                self.seen = Some(front.ask);
                Step::Stand(front.session, front.ask)
            }
            Readiness::Now => Step::Show(front.session, front.ask),
            Readiness::After(_) if self.pausing => Step::Nothing,
            Readiness::After(rest) => {
                self.pausing = true;
                Step::Pause(rest)
            }
        }
    }

    /// The pause that was asked for is over.
    pub fn paused(&mut self) {
        self.pausing = false;
    }

    /// The question has the screen from now on; what earlier pickers say is about nothing.
    pub fn show(&mut self, ask: AskId) -> Shown {
        self.count += 1;
        let shown = Shown { ask, number: self.count };
        self.shown = Some(shown);
        self.seen = Some(ask);
        shown
    }

    /// A picker has answered. Says whether it is listened to; then the screen is free again.
    pub fn close(&mut self, shown: Shown) -> bool {
        self.shown.take_if(|current| *current == shown).is_some()
    }

    /// The question waits in the chat until the user takes it up.
    pub fn defer(&mut self, ask: AskId) {
        self.deferred.insert(ask);
    }

    pub fn is_deferred(&self, ask: AskId) -> bool {
        self.deferred.contains(&ask)
    }

    /// Notes that the user was told of a question. Says whether that is new.
    pub fn tell(&mut self, ask: AskId) -> bool {
        self.seen = Some(ask);
        self.told.insert(ask)
    }

    /// What a question is about is on the screen.
    pub fn see(&mut self, ask: AskId) {
        self.seen = Some(ask);
    }

    /// Which of several questions a command answers that names none: the one under the cursor, else one of the chat that
    /// the user is in, the one that they saw last before others; else any of the session that they used last. More than
    /// one: they are to say which.
    pub fn meant(
        &self,
        waiting: Vec<(SessionKey, AskId)>,
        under_cursor: Option<AskId>,
        here: Here,
    ) -> Vec<(SessionKey, AskId)> {
        let find = |ask: AskId| waiting.iter().find(|question| question.1 == ask);
        if let Some(one) = under_cursor.and_then(find) {
            return vec![*one];
        }
        let of = |session: Option<SessionKey>| -> Vec<_> {
            waiting.iter().filter(|question| Some(question.0) == session).copied().collect()
        };
        let of_chat = of(here.chat);
        let all = if of_chat.is_empty() { &waiting } else { &of_chat };
        if let Some(one) = all.iter().find(|question| Some(question.1) == self.seen) {
            return vec![*one];
        }
        let of_session = of(here.chat.or(here.used));
        if of_session.is_empty() { waiting } else { of_session }
    }

    /// What the key of this number, from 1, chooses of a question for permission.
    pub fn pick_of_key(&self, open: &OpenAsk, number: usize, now: Moment) -> Option<Pick> {
        // A key that was on its way when the question came is not meant for it.
        let since = self.since.get(&open.ask)?;
        let is_long_enough = |since: Moment| u128::from(now.since(since)) >= QUIET_IN_CHAT.as_millis();
        let is_seen = is_long_enough(*since);
        let pick = open.picks().into_iter().nth(number.checked_sub(1)?).filter(|_| is_seen)?;
        match pick {
            // Those that have come since the line was read are not meant.
            Pick::All { asks, allows } => {
                let is_seen = |ask: &&AskId| self.since.get(ask).is_some_and(|since| is_long_enough(*since));
                Some(Pick::All { asks: asks.iter().filter(is_seen).copied().collect(), allows })
            }
            pick => Some(pick),
        }
    }

    /// A key has answered.
    pub fn answered_by_key(&mut self, now: Moment) {
        self.answered = Some(now);
    }

    /// Whether a key has just answered: another one like it was meant for the same question.
    pub fn has_just_answered(&self, now: Moment) -> bool {
        self.answered.is_some_and(|at| u128::from(now.since(at)) < QUIET.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::EntryId;
    use crate::core::message::{PermissionKind, PermissionOption};
    use crate::core::session::Wanted;

    const LONG_AGO: Duration = Duration::from_secs(60);

    fn activity(mode: &str, position: Position, quiet_ms: u64) -> Activity {
        let quiet = Duration::from_millis(quiet_ms);
        Activity { mode: mode.to_owned(), is_blocking: false, position, quiet }
    }

    fn waiting(ask: u64) -> Waiting {
        Waiting { session: SessionKey(1), ask: AskId(ask), is_sudden: false, is_quiet: false, is_here: false }
    }

    fn next(queue: &mut QuestionQueue, waiting: &[Waiting], readiness: Readiness) -> Step {
        queue.next(waiting, Sight::Whole, Moment(0), |_| readiness)
    }

    fn show(ask: u64) -> Step {
        Step::Show(SessionKey(1), AskId(ask))
    }

    #[test]
    fn a_question_opens_where_no_key_is_on_its_way_to_something_else() {
        use Position::{Captured, Elsewhere, Prompt, Transcript, Unknown};
        use Readiness::{After, NotHere, Now};
        let rest = |ms| After(Duration::from_millis(ms));
        for (mode, position, quiet, expected) in [
            ("n", Elsewhere, 700, Now),
            ("n", Elsewhere, 699, rest(1)),
            ("n", Elsewhere, 0, rest(700)),
            ("n", Transcript, 300, Now),
            ("n", Transcript, 100, rest(200)),
            ("n", Prompt { is_blank: false }, 300, Now),
            ("i", Prompt { is_blank: true }, 300, Now),
            ("i", Prompt { is_blank: true }, 299, rest(1)),
            ("ic", Prompt { is_blank: true }, 300, Now),
            ("i", Prompt { is_blank: false }, 60_000, NotHere),
            ("i", Transcript, 60_000, NotHere),
            ("i", Elsewhere, 60_000, NotHere),
            ("v", Transcript, 60_000, NotHere),
            ("no", Elsewhere, 60_000, NotHere),
            ("t", Elsewhere, 60_000, NotHere),
            ("c", Elsewhere, 60_000, NotHere),
            ("n", Captured, 60_000, NotHere),
            ("n", Unknown, 60_000, NotHere),
        ] {
            let found = activity(mode, position, quiet).readiness(OpenQuestions::Auto, false);
            assert_eq!(found, expected, "{mode} {position:?} {quiet}");
        }
    }

    #[test]
    fn the_options_say_that_questions_open_always_or_never() {
        let typing = activity("i", Position::Elsewhere, 0);
        assert_eq!(typing.readiness(OpenQuestions::Always, false), Readiness::Now);
        let idle = activity("n", Position::Transcript, 60_000);
        assert_eq!(idle.readiness(OpenQuestions::Never, false), Readiness::NotHere);
    }

    #[test]
    fn no_question_opens_in_the_midst_of_a_command() {
        let idle = activity("n", Position::Transcript, 60_000);
        let blocked = Activity { is_blocking: true, ..idle };
        assert_eq!(blocked.readiness(OpenQuestions::Always, false), Readiness::NotHere);
        assert_eq!(blocked.readiness(OpenQuestions::Auto, false), Readiness::NotHere);
    }

    #[test]
    fn questions_are_shown_one_at_a_time_and_the_oldest_first() {
        let mut queue = QuestionQueue::default();
        let both = [waiting(1), waiting(2)];
        assert_eq!(next(&mut queue, &both, Readiness::Now), show(1));
        let shown = queue.show(AskId(1));
        assert_eq!(next(&mut queue, &both, Readiness::Now), Step::Nothing);
        assert!(queue.close(shown));
        assert_eq!(next(&mut queue, &both[1..], Readiness::Now), show(2));
    }

    #[test]
    fn where_the_user_is_does_not_matter_while_nothing_waits() {
        let mut queue = QuestionQueue::default();
        assert_eq!(queue.next(&[], Sight::Whole, Moment(0), |_| panic!("nobody asks")), Step::Nothing);
    }

    #[test]
    fn a_deferred_question_lets_the_others_pass() {
        let mut queue = QuestionQueue::default();
        queue.defer(AskId(1));
        assert_eq!(next(&mut queue, &[waiting(1), waiting(2)], Readiness::Now), show(2));
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::Now), Step::Nothing);
        assert!(queue.is_deferred(AskId(1)));
        // Once it is over nothing of it is known any more.
        assert_eq!(next(&mut queue, &[], Readiness::Now), Step::Nothing);
        assert!(!queue.is_deferred(AskId(1)));
    }

    #[test]
    fn what_is_left_alone_takes_no_turn_until_it_is_wanted() {
        let mut queue = QuestionQueue::default();
        let quiet = Waiting { is_quiet: true, ..waiting(1) };
        assert_eq!(next(&mut queue, &[quiet, waiting(2)], Readiness::Now), show(2), "others are asked");
        let mut queue = QuestionQueue::default();
        assert_eq!(next(&mut queue, &[quiet], Readiness::Now), Step::Nothing);
        assert_eq!(next(&mut queue, &[quiet], Readiness::NotHere), Step::Nothing, "nor is it told of");
        let front = |queue: &QuestionQueue| queue.front(&[quiet]).map(|front| front.ask.0);
        assert_eq!((front(&queue), queue.to_answer(&[quiet]).map(|it| it.ask.0)), (None, Some(1)));
        queue.want(AskId(1));
        assert_eq!(front(&queue), Some(1));
        assert_eq!(next(&mut queue, &[quiet], Readiness::NotHere), show(1));
    }

    #[test]
    fn a_change_is_seen_before_it_is_judged() {
        let mut queue = QuestionQueue::default();
        let both = [waiting(1), waiting(2)];
        let step = queue.next(&both, Sight::Pending, Moment(0), |_| Readiness::Now);
        assert_eq!(step, Step::Nothing);
        assert_eq!(next(&mut queue, &both, Readiness::Now), show(1));
    }

    #[test]
    fn nothing_opens_over_a_window_that_was_still_in_use_when_it_was_looked_at() {
        let mut queue = QuestionQueue::default();
        let step = |queue: &mut QuestionQueue, readiness| {
            queue.next(&[waiting(1)], Sight::Blocked, Moment(0), |_| readiness)
        };
        assert_eq!(step(&mut queue, Readiness::Now), Step::Nothing);
        assert_eq!(step(&mut queue, Readiness::After(LONG_AGO)), Step::Pause(LONG_AGO));
        assert_eq!(step(&mut queue, Readiness::NotHere), Step::Tell(SessionKey(1), AskId(1)));
        queue.want(AskId(1));
        assert_eq!(step(&mut queue, Readiness::Now), show(1), "it is wanted all the same");
    }

    #[test]
    fn what_has_to_be_scrolled_stands_where_it_is_until_it_is_wanted() {
        let mut queue = QuestionQueue::default();
        let both = [waiting(1), waiting(2)];
        let step =
            |queue: &mut QuestionQueue, readiness| queue.next(&both, Sight::Part, Moment(0), |_| readiness);
        assert_eq!(step(&mut queue, Readiness::Now), Step::Stand(SessionKey(1), AskId(1)));
        assert_eq!(step(&mut queue, Readiness::After(LONG_AGO)), Step::Stand(SessionKey(1), AskId(1)));
        // Somebody who types elsewhere is still told.
        assert_eq!(step(&mut queue, Readiness::NotHere), Step::Tell(SessionKey(1), AskId(1)));
        queue.want(AskId(1));
        assert_eq!(step(&mut queue, Readiness::NotHere), show(1));
    }

    #[test]
    fn the_question_on_the_screen_has_its_turn_then_those_that_were_not_put_off() {
        let mut queue = QuestionQueue::default();
        let both = [waiting(1), waiting(2)];
        let front =
            |queue: &QuestionQueue, waiting: &[Waiting]| queue.front(waiting).map(|front| front.ask.0);
        assert_eq!(front(&queue, &[]), None);
        assert_eq!(front(&queue, &both), Some(1));
        queue.defer(AskId(1));
        assert_eq!(front(&queue, &both), Some(2));
        assert_eq!(front(&queue, &both[..1]), Some(1), "nothing else waits");
        queue.show(AskId(1));
        assert_eq!(front(&queue, &both), Some(1));
        queue.want(AskId(2));
        assert_eq!(front(&queue, &both), Some(2));
        // One that is wanted waits until it can be seen.
        let step = queue.next(&both, Sight::Pending, Moment(0), |_| Readiness::Now);
        assert_eq!((step, front(&queue, &both)), (Step::Nothing, Some(2)));
        assert_eq!(next(&mut queue, &both, Readiness::NotHere), show(2));
    }

    #[test]
    fn a_command_answers_what_the_cursor_is_on_else_what_was_seen_last_else_it_asks_which() {
        let mut queue = QuestionQueue::default();
        let (here, there) = (SessionKey(1), SessionKey(2));
        let all = vec![(here, AskId(1)), (here, AskId(2)), (there, AskId(3))];
        let meant = |queue: &QuestionQueue, cursor: Option<u64>| {
            let meant = queue.meant(all.clone(), cursor.map(AskId), Here { chat: None, used: Some(here) });
            meant.into_iter().map(|(_, ask)| ask.0).collect::<Vec<_>>()
        };
        assert_eq!(meant(&queue, None), [1, 2], "nothing was seen");
        queue.show(AskId(1));
        queue.defer(AskId(1));
        let shown = queue.show(AskId(2));
        assert!(queue.close(shown));
        queue.defer(AskId(2));
        assert_eq!(meant(&queue, None), [2]);
        assert_eq!(meant(&queue, Some(1)), [1]);
        queue.see(AskId(3));
        assert_eq!(meant(&queue, None), [3], "also where another session asks");
        next(&mut queue, &[waiting(1), waiting(2)], Readiness::NotHere);
        assert_eq!(
            queue.meant(all[..2].to_vec(), None, Here { chat: None, used: Some(there) }),
            all[..2],
            "the one that was seen is over"
        );
    }

    #[test]
    fn a_command_in_a_chat_answers_what_that_chat_asks() {
        let mut queue = QuestionQueue::default();
        let (one, two) = (SessionKey(1), SessionKey(2));
        let all = vec![(one, AskId(1)), (one, AskId(2)), (two, AskId(3))];
        let in_chat = |queue: &QuestionQueue, chat| {
            let meant = queue.meant(all.clone(), None, Here { chat: Some(chat), used: Some(one) });
            meant.into_iter().map(|(_, ask)| ask.0).collect::<Vec<_>>()
        };
        queue.see(AskId(1));
        assert_eq!(in_chat(&queue, two), [3], "whatever was seen of another chat");
        assert_eq!(in_chat(&queue, one), [1]);
        assert_eq!(in_chat(&queue, SessionKey(3)), [1], "nothing waits in this one");
        queue.see(AskId(3));
        assert_eq!(in_chat(&queue, one), [1, 2]);
    }

    #[test]
    fn the_chat_that_the_user_is_in_has_its_turn_first_and_what_they_see_elsewhere_stays() {
        let mut queue = QuestionQueue::default();
        let (first, second) = (waiting(1), Waiting { session: SessionKey(2), ..waiting(2) });
        let here = |question: Waiting| Waiting { is_here: true, ..question };
        let front =
            |queue: &QuestionQueue, waiting: &[Waiting]| queue.front(waiting).map(|front| front.ask.0);
        assert_eq!(front(&queue, &[first, second]), Some(1));
        assert_eq!(front(&queue, &[first, here(second)]), Some(2));
        queue.see(AskId(2));
        assert_eq!(front(&queue, &[first, second]), Some(2), "as they go to its file");
        assert_eq!(front(&queue, &[here(first), second]), Some(1));
        queue.defer(AskId(2));
        assert_eq!(front(&queue, &[first, second]), Some(1));
        assert_eq!(front(&queue, &[first, here(second)]), Some(2), "it was put off, and is looked at");
    }

    #[test]
    fn what_comes_of_what_the_user_has_just_done_does_not_open_while_they_type() {
        let typing = activity("i", Position::Prompt { is_blank: true }, 60_000);
        assert_eq!(typing.readiness(OpenQuestions::Auto, false), Readiness::Now);
        assert_eq!(typing.readiness(OpenQuestions::Auto, true), Readiness::NotHere);
        let idle = activity("n", Position::Prompt { is_blank: true }, 60_000);
        assert_eq!(idle.readiness(OpenQuestions::Auto, true), Readiness::Now);
    }

    #[test]
    fn one_pause_is_waited_for_at_a_time() {
        let mut queue = QuestionQueue::default();
        let rest = Duration::from_millis(200);
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::After(rest)), Step::Pause(rest));
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::After(rest)), Step::Nothing);
        queue.paused();
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::After(LONG_AGO)), Step::Pause(LONG_AGO));
    }

    #[test]
    fn somebody_who_is_busy_is_told_once() {
        let mut queue = QuestionQueue::default();
        let tell = Step::Tell(SessionKey(1), AskId(1));
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::NotHere), tell);
        assert!(queue.tell(AskId(1)));
        assert_eq!(next(&mut queue, &[waiting(1)], Readiness::NotHere), tell);
        assert!(!queue.tell(AskId(1)));
    }

    #[test]
    fn only_the_newest_picker_is_listened_to() {
        let mut queue = QuestionQueue::default();
        let (old, new) = (queue.show(AskId(1)), queue.show(AskId(1)));
        assert!(!queue.close(old));
        assert!(queue.close(new));
        assert!(!queue.close(new));
    }

    #[test]
    fn a_picker_whose_question_is_over_is_not_listened_to() {
        let mut queue = QuestionQueue::default();
        let shown = queue.show(AskId(1));
        assert_eq!(next(&mut queue, &[waiting(2)], Readiness::Now), show(2));
        assert!(!queue.close(shown));
    }

    #[test]
    fn a_key_answers_only_what_was_there_to_be_seen() {
        let option =
            |id: &str| PermissionOption { id: id.into(), name: id.into(), kind: PermissionKind::AllowOnce };
        let wanted = Wanted::Permission(vec![option("yes"), option("no")]);
        let open = OpenAsk::new(AskId(1), EntryId(0), wanted);
        let mut queue = QuestionQueue::default();
        let pick = |id: &str| Some(Pick::Option(id.to_owned()));
        assert_eq!(queue.pick_of_key(&open, 1, Moment(1000)), None);
        queue.next(&[waiting(1)], Sight::Whole, Moment(1000), |_| Readiness::NotHere);
        assert_eq!(queue.pick_of_key(&open, 1, Moment(1299)), None);
        assert_eq!(queue.pick_of_key(&open, 1, Moment(1300)), pick("yes"));
        assert_eq!(queue.pick_of_key(&open, 2, Moment(1300)), pick("no"));
        assert_eq!(queue.pick_of_key(&open, 3, Moment(1300)), None);
        assert_eq!(queue.pick_of_key(&open, 0, Moment(1300)), None);
    }

    #[test]
    fn a_key_for_all_means_those_that_were_there_to_be_seen() {
        let option = |kind: PermissionKind| PermissionOption {
            id: kind.word().into(),
            name: kind.word().into(),
            kind,
        };
        let options = [PermissionKind::AllowOnce, PermissionKind::RejectOnce].map(option).to_vec();
        let mut open = OpenAsk::new(AskId(1), EntryId(0), Wanted::Permission(options));
        open.alike = [AskId(1), AskId(2), AskId(3)].into();
        let mut queue = QuestionQueue::default();
        let busy = |_: &Waiting| Readiness::NotHere;
        queue.next(&[waiting(1), waiting(2)], Sight::Whole, Moment(1000), busy);
        queue.next(&[waiting(1), waiting(2), waiting(3)], Sight::Whole, Moment(1200), busy);
        let all = |allows| Some(Pick::All { asks: [AskId(1), AskId(2)].into(), allows });
        assert_eq!(queue.pick_of_key(&open, 3, Moment(1400)), all(true));
        assert_eq!(queue.pick_of_key(&open, 4, Moment(1400)), all(false));
    }

    #[test]
    fn a_key_that_was_pressed_twice_is_meant_for_one_question() {
        let mut queue = QuestionQueue::default();
        assert!(!queue.has_just_answered(Moment(5000)));
        queue.answered_by_key(Moment(5000));
        assert!(queue.has_just_answered(Moment(5699)));
        assert!(!queue.has_just_answered(Moment(5700)));
    }
}
