//! Whose change it was: when the calls, commands and turns of each session ran, and which of them was at work
//! when a file changed. Times are an input. Who looks at the disk is left to `acp::files::index`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::half_written::Millis;
use crate::core::ids::{SessionKey, TerminalId, ToolCallId};
use crate::core::maps::FastMap;
use crate::core::message::{Activity, Cause, ToolKind, WireStatus};

/// An agent may be at work on a file this long before its message that names the file has been read, or after the one
/// that says that it is done.
pub const SLACK: Millis = 400;

/// The same of a call that does not name the file, where it is known until when the agent had not said anything of it:
/// some start a command, and say so then.
const HASTE: Millis = 40;

/// The system may be heard of a change this long after it: a busy machine lets the thread that listens wait. A file's own
/// time that is older is not believed: the disk of another machine has that one's clock.
const HEARD_LATE: Millis = 1000;

/// The clock that files have their times from may be late by so much.
pub const COARSE: Millis = 10;

/// So many of the things that were learned last are known by the time that they are about.
const LEARNED: usize = 256;

/// What ended longer ago is nobody's work any more.
const OLD: Millis = 10 * 60 * 1000;

/// The user's times that are remembered; the older ones go.
const MAX_USER_SPANS: usize = 256;

/// When each session's calls and commands ran.
#[derive(Debug, Default)]
pub struct Activities {
    sessions: BTreeMap<SessionKey, Session>,
    /// When the user had Neovim do something that may change files. The last one may go on.
    user: VecDeque<UserSpan>,
    /// From when on changes may be judged otherwise since something was learned; the latest last.
    learned: VecDeque<Millis>,
    /// How many there were.
    count: u64,
}

/// Of whom a process was seen with a file open: an agent's may work for any of its sessions, a command for the one that has
/// the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub sessions: BTreeSet<SessionKey>,
    pub terminal: Option<TerminalId>,
}

/// What a message says of a call.
#[derive(Clone, Debug, Default)]
pub struct CallNews {
    pub kind: Option<ToolKind>,
    pub status: Option<WireStatus>,
    /// The files that it names, absolute.
    pub names: Vec<PathBuf>,
    pub terminals: Vec<TerminalId>,
    /// Its agent had not said by then what it says now, as far as the system tells.
    pub unsaid: Option<Millis>,
}

impl CallNews {
    /// Whether it says that the call has ended.
    pub fn is_over(&self) -> bool {
        self.status.as_ref().is_some_and(is_over)
    }
}

/// What is known of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    By(Cause),
    /// An agent that announces its calls when they are over may still say that it was one of them.
    Open,
}

/// When a change was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub first: Millis,
    pub last: Millis,
    /// The last change was no later by the clock that files have their times from, if that was looked at.
    pub written: Option<Millis>,
}

impl From<(Millis, Millis)> for Times {
    fn from((first, last): (Millis, Millis)) -> Self {
        Self { first, last, written: None }
    }
}

#[derive(Debug, Default)]
struct Session {
    folders: Vec<PathBuf>,
    /// Since when a turn runs.
    turn: Option<Millis>,
    /// When its agent said something last.
    heard: Millis,
    /// Of this turn.
    calls: FastMap<ToolCallId, Call>,
    /// Calls know theirs by their places here, so none goes while a turn's calls are known.
    spans: Vec<Span>,
}

#[derive(Debug)]
struct UserSpan {
    began: Millis,
    /// The same by the clock that files have their times from.
    by_files: Millis,
    ended: Option<Millis>,
}

#[derive(Debug)]
struct Call {
    rank: Rank,
    names: Vec<PathBuf>,
    terminals: Vec<TerminalId>,
    state: State,
    /// Which of the session's spans are its; the last is the only one that may not have ended.
    spans: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    /// For the user.
    Waiting,
    Over,
}

/// How likely a call of this kind changes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Reads,
    Unknown,
    Writes,
}

#[derive(Debug)]
struct Span {
    /// What changed before is not its work: its turn began then, or the user allowed it.
    earliest: Millis,
    /// Nor what changed after: its turn was over.
    latest: Millis,
    /// Its agent had not said by then that it begins.
    unsaid: Option<Millis>,
    call: Option<ToolCallId>,
    terminal: Option<TerminalId>,
    began: Millis,
    ended: Option<Millis>,
    /// It ended with the first question whether the call may go on: hardly any agent does something before that.
    is_before_question: bool,
    /// Of the call when the span was over, for calls of earlier turns.
    rank: Rank,
    names: Vec<PathBuf>,
}

/// How well a span explains a change; the greatest does best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The call says that it is about this file.
    names: bool,
    /// It is not a call that works by commands alone, none of which ran then.
    worked: bool,
    rank: Rank,
    began: Millis,
}

impl Rank {
    fn of(kind: Option<ToolKind>) -> Self {
        match kind {
            Some(ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute) => Self::Writes,
            Some(ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Fetch) => Self::Reads,
            Some(ToolKind::SwitchMode | ToolKind::Other) | None => Self::Unknown,
        }
    }
}

impl Activities {
    /// A session works in these folders, which have no links in them.
    pub fn session_began(&mut self, session: SessionKey, folders: Vec<PathBuf>) {
        self.sessions.entry(session).or_default().folders = folders;
    }

    pub fn session_ended(&mut self, session: SessionKey) {
        self.sessions.remove(&session);
    }

    pub fn turn_began(&mut self, session: SessionKey, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.end_all(now);
        known.calls.clear();
        known.spans.retain(|span| span.ended.is_none_or(|ended| ended + OLD >= now));
        // What was changed at this very moment was changed before the agent knew of the prompt.
        (known.turn, known.heard) = (Some(now + 1), now + 1);
    }

    /// Nothing of it goes on: a command that does is a server, and has changed nothing unless it is seen doing so.
    pub fn turn_ended(&mut self, session: SessionKey, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.end_all(now);
        (known.turn, known.heard) = (None, now);
        known.spans.iter_mut().for_each(|span| span.latest = span.latest.min(now));
    }

    /// The agent said something that is about no call.
    pub fn heard(&mut self, session: SessionKey, now: Millis) {
        if let Some(known) = self.sessions.get_mut(&session) {
            known.heard = known.heard.max(now);
        }
    }

    pub fn call(&mut self, session: SessionKey, id: &ToolCallId, news: CallNews, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let from = known.call(id, news, now);
        known.heard = known.heard.max(now);
        self.learn(from);
    }

    /// The user is asked whether the call may go on.
    pub fn asked(&mut self, session: SessionKey, id: &ToolCallId, news: CallNews, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        let mut from = known.learn(id, news);
        known.heard = known.heard.max(now);
        let is_first = known.calls.get(id).is_some_and(|call| call.spans.len() == 1);
        if let Some(span) = known.open_span(id).filter(|_| is_first) {
            span.is_before_question = true;
            // What was changed before the question may have been judged already.
            from = from.into_iter().chain([span.began.saturating_sub(SLACK)]).min();
        }
        known.pass(id, State::Waiting, now);
        self.learn(from);
    }

    /// The user has answered, or the question is over.
    pub fn answered(&mut self, session: SessionKey, id: &ToolCallId, allowed: bool, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        if known.calls.get(id).is_none_or(|call| call.state != State::Waiting) {
            return;
        }
        // What was changed at this very moment was changed before the agent knew of the answer.
        let began = now + 1;
        known.pass(id, if allowed { State::Running } else { State::Over }, began);
        if let Some(span) = known.open_span(id) {
            span.earliest = began;
        }
    }

    /// A command is begun here, so it has done nothing before.
    pub fn command_began(&mut self, session: SessionKey, terminal: TerminalId, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        known.spans.push(Span {
            call: None,
            terminal: Some(terminal),
            earliest: now,
            latest: Millis::MAX,
            unsaid: None,
            began: now,
            ended: None,
            is_before_question: false,
            rank: Rank::Writes,
            names: Vec::new(),
        });
        self.learn(Some(now.saturating_sub(SLACK)));
    }

    pub fn command_ended(&mut self, session: SessionKey, terminal: &TerminalId, now: Millis) {
        let Some(known) = self.sessions.get_mut(&session) else { return };
        for span in known.spans.iter_mut().filter(|span| span.terminal.as_ref() == Some(terminal)) {
            span.ended.get_or_insert(now);
        }
    }

    /// The user has Neovim do something from now on: a command of theirs, a key in another plugin's buffer. The clock
    /// that files have their times from is late, and shows `by_files`.
    pub fn user_began(&mut self, at: Millis, by_files: Millis) {
        self.user_ended(at);
        if self.user.len() == MAX_USER_SPANS {
            self.user.pop_front();
        }
        self.user.push_back(UserSpan { began: at, by_files, ended: None });
    }

    /// It is done.
    pub fn user_ended(&mut self, at: Millis) {
        if let Some(last) = self.user.back_mut() {
            last.ended.get_or_insert(at.max(last.began));
        }
    }

    /// Whether the user had Neovim do something when this changed, and not only when it was heard of.
    pub fn is_users(&self, times: Times) -> bool {
        let Times { first, last, written } = times;
        let written = written.filter(|written| first <= written + HEARD_LATE);
        let last = written.map_or(last, |written| last.min(written.saturating_sub(COARSE)));
        let holds = |span: &UserSpan| {
            let was_before = written.is_some_and(|written| written < span.by_files);
            span.began <= first && !was_before && span.ended.is_none_or(|ended| last <= ended)
        };
        self.user.iter().any(holds)
    }

    /// Whether a turn runs in a session that works where the path is.
    pub fn is_at_work(&self, path: &Path) -> bool {
        self.about(path).any(|(_, known)| known.turn.is_some())
    }

    /// Whether several sessions or commands run where the path is, or the user is at work, too: it is worth a look which
    /// of them has the file open.
    pub fn is_contested(&self, path: &Path) -> bool {
        let commands = |known: &Session| {
            known.spans.iter().filter(|span| span.terminal.is_some() && span.ended.is_none()).count()
        };
        let running = self.running(path).len();
        let is_user_at_work = self.user.back().is_some_and(|span| span.ended.is_none());
        running > 1
            || running > 0 && is_user_at_work
            || self.about(path).any(|(_, known)| commands(known) > 1)
    }

    /// The sessions with something running where the path is.
    pub fn running(&self, path: &Path) -> Vec<SessionKey> {
        let runs =
            |known: &Session| known.turn.is_some() || known.spans.iter().any(|span| span.ended.is_none());
        self.about(path).filter(|(_, known)| runs(known)).map(|(session, _)| session).collect()
    }

    /// Who changed a file that was seen changing at these times. A process of the holder's was seen with the
    /// file open.
    pub fn judge(&self, path: &Path, times: impl Into<Times>, holder: Option<&Holder>) -> Judgement {
        let times = times.into();
        let Times { first, last, .. } = times;
        if let Some(Holder { sessions, terminal }) = holder
            && let Some((session, known)) = self.only_one(path, sessions)
        {
            let of_terminal =
                known.spans.iter().rev().find(|span| terminal.is_some() && span.terminal == *terminal);
            let span = of_terminal
                .or_else(|| known.best(path, first, last))
                .or_else(|| known.best_soon_after(path, last));
            let unknown = Activity { session, call: None, terminal: None };
            let mut activity = span.map_or(unknown, |span| known.activity(session, span));
            activity.terminal = terminal.clone().or(activity.terminal);
            return Judgement::By(Cause::Session(activity));
        }
        let explained = |session: SessionKey, known: &Session, span: &Span| {
            (known.fit(span, path, (first, last)), known.activity(session, span))
        };
        let held = holder.map(|holder| &holder.sessions);
        let is_held = self.about(path).any(|(session, _)| held.is_some_and(|held| held.contains(&session)));
        let held = held.filter(|_| is_held);
        let about = || self.about(path).filter(|(session, _)| held.is_none_or(|held| held.contains(session)));
        let then = about()
            .filter_map(|(session, known)| Some(explained(session, known, known.best(path, first, last)?)));
        let mut best: Vec<(Fit, Activity)> = then.collect();
        if self.is_users(times) {
            // What the user does is never taken for an agent's, unless a call says that it is about this file.
            best.retain(|(fit, _)| fit.names);
            if best.is_empty() {
                return Judgement::By(Cause::Outside);
            }
        }
        if best.is_empty() {
            let soon = about().filter_map(|(session, known)| {
                let before = || known.best_soon_before(path, first);
                Some(explained(session, known, known.best_soon_after(path, last).or_else(before)?))
            });
            best = soon.collect();
        }
        // Who only reads is not suspected beside one who writes, nor who writes anything beside one who writes this.
        let suspicion = |fit: &Fit| (fit.names, fit.worked, fit.rank.min(Rank::Unknown));
        let likely = best.iter().map(|(fit, _)| suspicion(fit)).max();
        best.retain(|(fit, _)| Some(suspicion(fit)) == likely);
        // Nor is one who only reads at all, as long as somebody may say that it was another call.
        let is_doubtful = likely.is_none_or(|(names, _, rank)| !names && rank == Rank::Reads);
        let mut activities: Vec<Activity> = best.into_iter().map(|(_, activity)| activity).collect();
        match activities.len() {
            _ if is_doubtful && about().any(|(_, known)| known.may_claim(last)) => Judgement::Open,
            0 => Judgement::By(Cause::Outside),
            1 => Judgement::By(Cause::Session(activities.remove(0))),
            _ => Judgement::By(Cause::OneOf(activities)),
        }
    }

    /// Which of these it is, if it is one: that has something running, if several are known.
    fn only_one(&self, path: &Path, sessions: &BTreeSet<SessionKey>) -> Option<(SessionKey, &Session)> {
        let running = self.running(path);
        let mut ones = sessions.iter().filter(|session| sessions.len() == 1 || running.contains(session));
        let session = ones.next().filter(|_| ones.next().is_none())?;
        self.sessions.get(session).map(|known| (*session, known))
    }

    fn learn(&mut self, from: Option<Millis>) {
        let Some(from) = from else { return };
        if self.learned.len() == LEARNED {
            self.learned.pop_front();
        }
        self.learned.push_back(from);
        self.count += 1;
    }

    /// How many things were learned.
    pub fn learned(&self) -> u64 {
        self.count
    }

    /// Changes from this time on may be judged otherwise than when so many things were learned.
    pub fn learned_since(&self, count: u64) -> Option<Millis> {
        let more = usize::try_from(self.count.saturating_sub(count)).unwrap_or(usize::MAX);
        match more {
            0 => None,
            more if more > self.learned.len() => Some(0),
            more => self.learned.iter().rev().take(more).min().copied(),
        }
    }

    /// Whether nothing can be learned any more of a change: another turn has begun since, or the session is over.
    pub fn is_final(&self, path: &Path, last: Millis) -> bool {
        self.about(path).all(|(_, known)| known.turn.is_some_and(|turn| turn > last))
    }

    fn about(&self, path: &Path) -> impl Iterator<Item = (SessionKey, &Session)> {
        let is_in = |known: &Session| known.folders.iter().any(|folder| path.starts_with(folder));
        self.sessions.iter().filter(move |(_, known)| is_in(known)).map(|(session, known)| (*session, known))
    }
}

impl Session {
    /// Takes in what is said of a call. Gives the time from which on that may matter, if it is anything new.
    fn learn(&mut self, id: &ToolCallId, news: CallNews) -> Option<Millis> {
        let call = self.calls.entry(id.clone()).or_insert(Call {
            rank: Rank::Unknown,
            names: Vec::new(),
            terminals: Vec::new(),
            state: State::Over,
            spans: Vec::new(),
        });
        let was = (call.rank, call.names.len(), call.terminals.len());
        if news.kind.is_some() {
            call.rank = Rank::of(news.kind);
        }
        for name in news.names {
            if !call.names.contains(&name) {
                call.names.push(name);
            }
        }
        for terminal in news.terminals {
            if !call.terminals.contains(&terminal) {
                call.terminals.push(terminal);
            }
        }
        if was == (call.rank, call.names.len(), call.terminals.len()) {
            return None;
        }
        for place in &call.spans {
            let span = &mut self.spans[*place];
            // Some agents say only at its end what a call was about.
            if self.turn.is_some_and(|turn| turn <= span.began) {
                (span.rank, span.names) = (call.rank, call.names.clone());
            }
        }
        let from = call.spans.iter().map(|place| self.spans[*place].began).min();
        from.map(|from| from.saturating_sub(SLACK))
    }

    /// The same of a call that begins, goes on or ends by that.
    fn call(&mut self, id: &ToolCallId, news: CallNews, now: Millis) -> Option<Millis> {
        let is_new = !self.calls.contains_key(id);
        let (over, unsaid) = (news.status.as_ref().map(is_over), news.unsaid);
        let known = self.learn(id, news);
        let state = self.calls.get(id).map(|call| call.state);
        match (over, state) {
            (Some(true), _) if is_new => {
                // It ran since whatever the agent said before; without a turn it may have run at any time, and what
                // the user does between turns is not to be taken for its work.
                let began = if self.turn.is_some() { self.heard } else { now };
                self.begin_span(id, began);
                self.pass(id, State::Over, now);
            }
            (Some(true), _) => self.pass(id, State::Over, now),
            // Until there is an answer it does nothing.
            (_, Some(State::Waiting)) => {}
            // What goes on after its end is progress that comes late, unless the agent takes it up again.
            (Some(false), Some(State::Over)) | (None, Some(State::Over)) if is_new => {
                self.pass(id, State::Running, now);
                self.spans.last_mut().into_iter().for_each(|span| span.unsaid = unsaid);
            }
            _ => {}
        }
        let began = || self.spans.last().map_or(now, |span| span.began.min(now));
        if is_new { Some(began().saturating_sub(SLACK)) } else { known }
    }

    /// The call is in another state from now on.
    fn pass(&mut self, id: &ToolCallId, state: State, now: Millis) {
        let Some(call) = self.calls.get_mut(id) else { return };
        call.state = state;
        let last = call.spans.last().and_then(|place| self.spans.get_mut(*place));
        if let Some(span) = last.filter(|span| span.ended.is_none()) {
            (span.ended, span.rank) = (Some(now), call.rank);
            span.names.clone_from(&call.names);
        }
        if state == State::Running {
            call.spans.push(self.spans.len());
            self.spans.push(Span::of(id, self.turn, now));
        }
    }

    fn begin_span(&mut self, id: &ToolCallId, began: Millis) {
        if let Some(call) = self.calls.get_mut(id) {
            call.spans.push(self.spans.len());
        }
        self.spans.push(Span::of(id, self.turn, began));
    }

    /// What the call does now.
    fn open_span(&mut self, id: &ToolCallId) -> Option<&mut Span> {
        let place = self.calls.get(id)?.spans.last()?;
        self.spans.get_mut(*place).filter(|span| span.ended.is_none())
    }

    fn end_all(&mut self, now: Millis) {
        let ids: Vec<ToolCallId> = self.calls.keys().cloned().collect();
        for id in ids {
            self.pass(&id, State::Over, now);
        }
        for span in &mut self.spans {
            span.ended.get_or_insert(now);
        }
    }

    /// The span that explains a change best, of those that ran then.
    fn best(&self, path: &Path, first: Millis, last: Millis) -> Option<&Span> {
        let times = (first, last);
        let best = self
            .spans
            .iter()
            .filter(|span| span.ran(times))
            .max_by_key(|span| self.fit(span, path, times))?;
        // One that follows without a pause, or has hardly ended, may say that it was this one.
        let names = |span: &&Span| self.fit(span, path, times).names;
        let beside =
            || self.best_soon_after(path, last).filter(names).or_else(|| self.best_soon_before(path, first));
        Some(if names(&best) { best } else { beside().unwrap_or(best) })
    }

    /// The one of those that named the file and have just ended: what they wrote may reach the disk late.
    fn best_soon_before(&self, path: &Path, first: Millis) -> Option<&Span> {
        let ended = |span: &&Span| {
            let just = span.ended.is_some_and(|ended| ended < first && first <= ended + SLACK);
            just && first <= span.latest && self.fit(span, path, (first, first)).names
        };
        self.spans.iter().filter(ended).max_by_key(|span| span.ended)
    }

    /// The same of those whose message may have been read late.
    fn best_soon_after(&self, path: &Path, last: Millis) -> Option<&Span> {
        let began = |span: &&Span| {
            let soon = span.began > last && span.began <= last + SLACK && span.earliest <= last;
            let said = || span.unsaid.is_none_or(|unsaid| unsaid <= last + HASTE);
            soon && (said() || self.fit(span, path, (last, last)).names)
        };
        self.spans.iter().filter(began).max_by_key(|span| self.fit(span, path, (last, last)))
    }

    fn fit(&self, span: &Span, path: &Path, times: (Millis, Millis)) -> Fit {
        let call = span.call.as_ref().and_then(|id| self.calls.get(id));
        let open = call.filter(|_| span.ended.is_none());
        let (rank, names) = open.map_or((span.rank, &span.names), |call| (call.rank, &call.names));
        let terminals = call.map_or(&[][..], |call| &call.terminals);
        let mut commands = self
            .spans
            .iter()
            .filter(|command| command.terminal.as_ref().is_some_and(|terminal| terminals.contains(terminal)));
        let is_idle = !terminals.is_empty()
            && commands.clone().next().is_some()
            && !commands.any(|command| command.ran(times));
        let is_early = span.is_before_question;
        Fit {
            names: !is_early && rank != Rank::Reads && names.iter().any(|name| name == path),
            worked: !is_idle,
            rank: if is_early { rank.min(Rank::Unknown) } else { rank },
            began: span.began,
        }
    }

    fn activity(&self, session: SessionKey, span: &Span) -> Activity {
        let (mut call, mut terminal) = (span.call.clone(), span.terminal.clone());
        let ended = span.ended.unwrap_or(Millis::MAX);
        if let Some(terminal) = &terminal {
            // The call that shows it, or the only one that can have started it.
            let shows = self.calls.iter().find(|(_, known)| known.terminals.contains(terminal));
            let mut beside = self.spans.iter().filter(|other| {
                let runs = other.began <= span.began && other.ended.unwrap_or(Millis::MAX) >= span.began;
                let fit = self.fit(other, Path::new(""), (span.began, span.began));
                runs && other.call.is_some() && fit.rank != Rank::Reads
            });
            let only = beside.next().filter(|_| beside.next().is_none());
            call = shows.map(|(id, _)| id.clone()).or(only.and_then(|only| only.call.clone()));
        } else if let Some(known) = call.as_ref().and_then(|id| self.calls.get(id)) {
            let of_call = self.spans.iter().filter(|other| other.began <= ended);
            terminal = of_call
                .filter_map(|other| other.terminal.clone())
                .find(|terminal| known.terminals.contains(terminal));
        }
        Activity { session, call, terminal }
    }

    /// Whether a call that is announced from now on may have been running then.
    fn may_claim(&self, last: Millis) -> bool {
        self.turn.is_some_and(|turn| turn <= last && self.heard <= last + SLACK)
    }
}

impl Span {
    fn ran(&self, (first, last): (Millis, Millis)) -> bool {
        self.began <= last && self.ended.is_none_or(|ended| ended >= first)
    }

    fn of(id: &ToolCallId, turn: Option<Millis>, began: Millis) -> Self {
        let (rank, names) = (Rank::Unknown, Vec::new());
        Self {
            earliest: turn.unwrap_or(began),
            latest: Millis::MAX,
            unsaid: None,
            call: Some(id.clone()),
            terminal: None,
            began,
            ended: None,
            is_before_question: false,
            rank,
            names,
        }
    }
}

fn is_over(status: &WireStatus) -> bool {
    match status {
        WireStatus::Completed | WireStatus::Failed => true,
        WireStatus::Pending | WireStatus::InProgress => false,
        WireStatus::Other(word) => {
            ["cancelled", "canceled", "denied", "rejected", "error"].contains(&word.as_str())
        }
    }
}

pub mod verdicts;

#[cfg(test)]
mod tests;
