//! One conversation as data: its entries, its turn, what is open and what may be done. Updates are
//! absorbed in whatever order an agent sends them; none of them can fail. What to send is handed
//! back as [`Command`]s, what to draw as a set of touched entries.

mod asks;
mod outside;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;

pub use asks::{OpenAsk, Wanted};

use crate::core::context;
use crate::core::entry::{Body, Entry, EntryId, Greeting, Verdict, display_name};
use crate::core::image;
use crate::core::message::{
    AgentId, AgentInfo, Answer, AuthMethod, Chosen, Command, ConfigOption, Content, Cost, Ending, Failure,
    FailureKind, Models, Modes, Opened, Picture, Place, PlanItem, Reopen, ResourceBody, Role, SessionKey,
    Severity, SlashCommand, Steering, StopReason, TerminalId, ToolCallId, ToolCallPatch, TurnEnd, Update,
};
use crate::core::text::one_line;
use crate::core::tool_call::{Cause, ToolCall};

/// Milliseconds on the editor's clock; the core has none of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment(pub u64);

impl Moment {
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// How long an agent may take to confirm a cancel, in milliseconds.
const GRACE: u64 = 10_000;

/// What a session is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The agent starts, initializes or opens the session.
    Opening {
        since: Moment,
    },
    /// `session/new` wants a login.
    LoginNeeded,
    Idle,
    Working {
        since: Moment,
    },
    /// Cancel was sent; the agent has not confirmed it.
    Cancelling {
        since: Moment,
        asked: Moment,
    },
    /// The agent is gone; a restart opens a new session.
    Gone,
}

/// What a login leads to.
#[derive(Debug, PartialEq)]
pub enum LoggedIn {
    Nothing,
    Open,
    Send(Vec<Command>),
}

pub struct Session {
    pub key: SessionKey,
    pub agent: AgentId,
    /// The configured name of the agent.
    pub agent_name: String,
    pub place: Place,
    pub info: Option<AgentInfo>,
    pub acp_id: Option<String>,
    /// The stored session that is being taken up, until it is open.
    pub taking_up: Option<(String, Reopen)>,
    pub phase: Phase,
    pub title: Option<String>,
    /// The title is the user's: the agent does not change it.
    named: bool,
    pub modes: Option<Modes>,
    pub models: Option<Models>,
    pub options: Vec<ConfigOption>,
    pub commands: Vec<SlashCommand>,
    pub usage: Option<(u64, u64)>,
    pub cost: Option<Cost>,
    /// Updates of kinds this client does not know, by kind.
    pub unknown: BTreeMap<String, u32>,
    entries: Vec<Entry>,
    asks: Vec<OpenAsk>,
    queue: VecDeque<Queued>,
    /// Sent into the running turn; whether the agent takes it is still to be told.
    steering: Vec<Vec<Content>>,
    turn: Turn,
    touched: BTreeSet<EntryId>,
    /// Something outside the entries changed: phase, title, mode, usage, queue.
    status_touched: bool,
    speaker_shown: bool,
    /// The newest plan.
    plan: Option<EntryId>,
    /// What the conversation had cost when the turn began.
    cost_before: Option<Cost>,
}

/// A prompt that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    pub content: Vec<Content>,
    /// It was sent before and stands in the transcript; the agent wanted a login first.
    again: bool,
}

impl Queued {
    /// As its user wrote it.
    pub fn text(&self) -> String {
        describe(&self.content, Path::new("")).0
    }
}

/// What belongs to the turn under way, or to the last one.
#[derive(Default)]
struct Turn {
    /// Ids are scoped by turn: some agents use them again.
    calls: HashMap<ToolCallId, EntryId>,
    messages: HashMap<(Role, String), EntryId>,
    plan: Option<EntryId>,
    compactions: HashMap<String, EntryId>,
    /// The text sent, to know an echo by.
    prompt: String,
    content: Vec<Content>,
    answered: bool,
    /// It was over, and the agent went on by itself; nobody will say when that ends.
    detached: bool,
    /// Where the turn begins: at the prompt.
    first: usize,
    /// The user was told that the agent does not confirm the cancel.
    stuck: bool,
}

impl Session {
    pub fn new(
        key: SessionKey,
        agent: AgentId,
        agent_name: &str,
        command: &str,
        place: Place,
        now: Moment,
    ) -> Self {
        let mut session = Self {
            key,
            agent,
            agent_name: agent_name.to_owned(),
            place,
            info: None,
            acp_id: None,
            taking_up: None,
            phase: Phase::Opening { since: now },
            title: None,
            named: false,
            modes: None,
            models: None,
            options: Vec::new(),
            commands: Vec::new(),
            usage: None,
            cost: None,
            unknown: BTreeMap::new(),
            entries: Vec::new(),
            asks: Vec::new(),
            queue: VecDeque::new(),
            steering: Vec::new(),
            turn: Turn::default(),
            touched: BTreeSet::new(),
            status_touched: true,
            speaker_shown: false,
            plan: None,
            cost_before: None,
        };
        session.add(
            Body::Greeting(Greeting::Connecting { name: agent_name.to_owned(), command: command.to_owned() }),
            now,
        );
        session
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.0)
    }

    /// The entry of a tool call of the present turn.
    pub fn call_entry(&self, id: &ToolCallId) -> Option<EntryId> {
        self.turn.calls.get(id).copied()
    }

    /// The tool calls of the present turn that are not over.
    pub fn open_calls(&self) -> impl Iterator<Item = (EntryId, &ToolCall)> {
        self.turn.calls.values().filter_map(|entry| {
            let call = self.entry(*entry)?.tool()?;
            (!call.status.is_over()).then_some((*entry, call))
        })
    }

    /// The newest plan.
    pub fn plan(&self) -> Option<&[PlanItem]> {
        match &self.entry(self.plan?)?.body {
            Body::Plan(items) => Some(items),
            _ => None,
        }
    }

    /// The plan of the turn that runs, or that ran last.
    pub fn present_plan(&self) -> Option<&[PlanItem]> {
        self.turn.plan.and_then(|_| self.plan())
    }

    /// Prompts that wait for the turn to end, oldest first.
    pub fn queue(&self) -> &VecDeque<Queued> {
        &self.queue
    }

    /// Takes a prompt out of the line. One that stands in the transcript already stays in it.
    pub fn unqueue(&mut self, index: usize) -> Option<Queued> {
        self.queue.get(index).filter(|queued| !queued.again)?;
        self.status_touched = true;
        self.queue.remove(index)
    }

    /// Moves a prompt to another place in the line; none gets before one that is sent again.
    pub fn move_queued(&mut self, from: usize, to: usize) {
        let first = usize::from(self.queue.front().is_some_and(|queued| queued.again));
        if from < first || from >= self.queue.len() {
            return;
        }
        if let Some(queued) = self.queue.remove(from) {
            self.queue.insert(to.clamp(first, self.queue.len().max(first)), queued);
            self.status_touched = true;
        }
    }

    /// How many prompts were sent into the running turn and are not confirmed yet.
    pub fn steering(&self) -> usize {
        self.steering.len()
    }

    /// Whether prompts may be sent into a running turn.
    pub fn can_be_steered(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.can.steering)
    }

    /// What the agent is called on screen.
    pub fn name(&self) -> String {
        display_name(&self.agent_name, self.info.as_ref())
    }

    /// The agent ended because the user wanted it.
    pub fn was_stopped(&self) -> bool {
        let last = self.entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Greeting(greeting) => Some(greeting),
            _ => None,
        });
        matches!(last, Some(Greeting::Stopped { .. } | Greeting::Gone { expected: true, .. }))
    }

    /// There is something that the user can stop.
    pub fn is_busy(&self) -> bool {
        self.is_working() || matches!(self.phase, Phase::Opening { .. })
    }

    pub fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working { .. } | Phase::Cancelling { .. })
    }

    /// Whether the agent tells again what was said in a stored session.
    pub fn is_replaying(&self) -> bool {
        self.taking_up.is_some() && matches!(self.phase, Phase::Opening { .. })
    }

    /// The entries to draw again since the last call, oldest first, and whether the status changed.
    pub fn take_touched(&mut self) -> (BTreeSet<EntryId>, bool) {
        (std::mem::take(&mut self.touched), std::mem::take(&mut self.status_touched))
    }

    pub fn has_touched(&self) -> bool {
        self.status_touched || !self.touched.is_empty()
    }

    /// A terminal of this session grew: the calls that show it are drawn again.
    pub fn touch_terminal(&mut self, terminal: &TerminalId) {
        for (index, entry) in self.entries.iter().enumerate().rev() {
            if entry.tool().is_some_and(|call| call.terminals().any(|shown| shown == terminal)) {
                self.touched.insert(EntryId(index));
                return;
            }
        }
    }

    /// The title of the tool call that shows a terminal.
    pub fn title_of(&self, terminal: &TerminalId) -> Option<String> {
        let calls = self.entries.iter().rev().filter_map(Entry::tool);
        calls.filter(|call| call.terminals().any(|shown| shown == terminal)).map(ToolCall::headline).next()
    }

    pub fn toggle(&mut self, id: EntryId) {
        if let Some(entry) = self.entries.get_mut(id.0) {
            entry.open = !entry.open;
            self.touched.insert(id);
        }
    }

    /// The user calls the conversation this; nothing gives the naming back to the agent.
    pub fn rename(&mut self, title: &str) {
        let title = one_line(title);
        self.named = !title.is_empty();
        self.title = Some(title).filter(|title| !title.is_empty());
        self.status_touched = true;
    }

    pub fn was_named(&self) -> bool {
        self.named
    }

    /// The first thing that the user said.
    pub fn first_prompt(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match &entry.body {
            Body::User { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    /// Everything that the user said.
    pub fn prompts(&self) -> impl Iterator<Item = &String> {
        self.entries.iter().filter_map(|entry| match &entry.body {
            Body::User { text, .. } => Some(text),
            _ => None,
        })
    }

    /// Shows what was said before this session was taken up, where the agent does not.
    pub fn recall<'a>(&mut self, prompts: impl Iterator<Item = &'a str>, now: Moment) {
        for text in prompts {
            self.add(Body::User { text: text.to_owned(), attachments: Vec::new() }, now);
        }
        self.speaker_shown = false;
    }

    /// What the agent has said in the present turn, or in the last one.
    pub fn answer_text(&self) -> String {
        let said = self.entries[self.turn.first.min(self.entries.len())..].iter().filter_map(Entry::stream);
        said.collect::<Vec<_>>().join("\n\n")
    }

    // Opening and ending.

    pub fn connected(&mut self, info: AgentInfo) {
        self.info = Some(info);
        let title = self.name();
        self.greet(Greeting::Opening { title });
    }

    /// The session is open; prompts that were sent before may go now.
    pub fn opened(&mut self, opened: Opened, now: Moment) -> Vec<Command> {
        let Opened { acp_id, modes, models, options } = opened;
        self.acp_id = Some(acp_id);
        self.taking_up = None;
        self.end_thought(now);
        self.speaker_shown = false;
        // What was told again of an earlier time is all that there is of it.
        self.close_calls(&Cause::TurnEnded, now);
        self.turn = Turn::default();
        self.modes = modes;
        self.models = models;
        self.options = options;
        self.phase = Phase::Idle;
        let version = self.info.as_ref().and_then(|info| info.version.clone());
        self.greet(Greeting::Ready { title: self.name(), version });
        self.next_prompt(now)
    }

    pub fn open_failed(&mut self, failure: Failure) {
        let methods: Vec<AuthMethod> =
            self.info.as_ref().map(|info| info.auth_methods.clone()).unwrap_or_default();
        if failure.kind == FailureKind::AuthRequired {
            self.phase = Phase::LoginNeeded;
            self.greet(Greeting::LoginNeeded { title: self.name(), methods, message: failure.message });
        } else {
            self.phase = Phase::Gone;
            let name = self.name();
            self.greet(match failure.kind {
                FailureKind::Cancelled => Greeting::Stopped { name },
                _ => Greeting::Failed { name, failure, stderr: Vec::new() },
            });
        }
    }

    /// Logged in: what waited for it goes on. A session that was never opened has to be opened by the
    /// caller, who is told so.
    pub fn logged_in(&mut self, now: Moment) -> LoggedIn {
        if self.phase != Phase::LoginNeeded {
            return LoggedIn::Nothing;
        }
        if self.acp_id.is_some() {
            self.phase = Phase::Idle;
            self.status_touched = true;
            return LoggedIn::Send(self.next_prompt(now));
        }
        self.phase = Phase::Opening { since: now };
        self.greet(Greeting::Opening { title: self.name() });
        LoggedIn::Open
    }

    /// A new process takes the place of a dead one; the transcript stays.
    pub fn restarted(&mut self, agent: AgentId, command: &str, now: Moment) {
        self.agent = agent;
        // A resumed session goes on where it was; else what the agent knew is gone.
        self.taking_up = match (self.acp_id.take(), &self.info) {
            (Some(id), Some(info)) if info.can.resume => Some((id, Reopen::Resume)),
            _ => self.taking_up.take(),
        };
        self.info = None;
        self.phase = Phase::Opening { since: now };
        self.turn = Turn::default();
        self.speaker_shown = false;
        let body = Body::Greeting(Greeting::Connecting {
            name: self.agent_name.clone(),
            command: command.to_owned(),
        });
        match self.entries.last().map(|entry| &entry.body) {
            Some(Body::Greeting(Greeting::Failed { .. } | Greeting::Gone { .. }))
                if self.entries.len() == 1 =>
            {
                self.entries[0].body = body;
                self.touched.insert(EntryId(0));
            }
            _ => {
                self.add(body, now);
            }
        }
        self.status_touched = true;
    }

    pub fn exited(&mut self, ending: Ending, now: Moment) {
        let was_open = self.acp_id.is_some();
        self.close_calls(&Cause::AgentGone, now);
        self.close_asks(&Verdict::Withdrawn);
        let unanswered = std::mem::take(&mut self.steering).into_iter();
        self.queue.extend(unanswered.map(|content| Queued { content, again: false }));
        self.end_thought(now);
        self.phase = Phase::Gone;
        self.status_touched = true;
        let name = self.name();
        let Ending { failure, exit, stderr, expected } = ending;
        if !was_open {
            if expected {
                self.greet(Greeting::Stopped { name });
                return;
            }
            let failure = failure.unwrap_or_else(|| Failure {
                kind: FailureKind::Disconnected,
                message: format!("{} before it was ready", exit_text(exit.as_ref())),
                details: None,
            });
            self.greet(Greeting::Failed { name, failure, stderr });
            return;
        }
        let what = match (failure, expected) {
            (_, true) => "was stopped".to_owned(),
            (Some(failure), false) => failure.message,
            (None, false) => exit_text(exit.as_ref()),
        };
        self.add(Body::Greeting(Greeting::Gone { name, what, stderr, expected }), now);
    }

    // The turn.

    /// Sends a prompt, or keeps it until it can be sent.
    pub fn prompt(&mut self, content: Vec<Content>, now: Moment) -> Vec<Command> {
        self.queue.push_back(Queued { content, again: false });
        self.status_touched = true;
        self.next_prompt(now)
    }

    fn next_prompt(&mut self, now: Moment) -> Vec<Command> {
        if self.phase != Phase::Idle {
            return Vec::new();
        }
        let Some(Queued { content, again }) = self.queue.pop_front() else {
            return Vec::new();
        };
        let (text, attachments) = describe(&content, &self.place.cwd);
        let asked = |entry: &Entry| matches!(entry.body, Body::User { .. });
        let first = match again {
            true => self.entries.iter().rposition(asked).unwrap_or_default(),
            false => self.entries.len(),
        };
        // An agent that went on by itself does not say when that ended.
        self.close_calls(&Cause::TurnEnded, now);
        self.turn = Turn { prompt: text.clone(), content: content.clone(), first, ..Turn::default() };
        self.cost_before.clone_from(&self.cost);
        if !again {
            self.add(Body::User { text, attachments }, now);
        }
        self.speaker_shown = false;
        self.phase = Phase::Working { since: now };
        self.status_touched = true;
        vec![Command::Prompt { session: self.key, content }]
    }

    /// Sends a prompt into the running turn. Where that cannot be, it is a prompt like any other.
    pub fn steer(&mut self, content: Vec<Content>, now: Moment) -> Vec<Command> {
        if !matches!(self.phase, Phase::Working { .. }) || !self.can_be_steered() {
            return self.prompt(content, now);
        }
        self.steering.push(content.clone());
        self.status_touched = true;
        vec![Command::Steer { session: self.key, content }]
    }

    /// What the agent took is shown as said; what it did not take is a prompt like any other.
    pub fn steered(&mut self, content: Vec<Content>, outcome: Steering, now: Moment) -> Vec<Command> {
        // One that is not waited for was put in line already.
        let Some(index) = self.steering.iter().position(|sent| *sent == content) else { return Vec::new() };
        self.steering.remove(index);
        self.status_touched = true;
        let failure = match outcome {
            Steering::Injected => {
                self.said_meanwhile(&content, now);
                return Vec::new();
            }
            Steering::StartedNewTurn => {
                self.said_meanwhile(&content, now);
                self.turn.detached = true;
                let text = "The turn was over by then: the agent works on this by itself, and does not say \
                            when it is done; <C-c> stops it.";
                self.notice(Severity::Info, text.into(), now);
                return Vec::new();
            }
            Steering::NotTaken(failure) => failure,
        };
        // That the agent is gone is about to be told with its reason.
        if let Some(failure) = failure.filter(|failure| failure.kind != FailureKind::Disconnected) {
            let text = format!("Couldn't steer the turn: {}; the prompt waits in line.", failure.message);
            self.notice(Severity::Warning, text, now);
        }
        self.prompt(content, now)
    }

    /// Shows what the user said while the agent was at work; agents do not send it back.
    fn said_meanwhile(&mut self, content: &[Content], now: Moment) {
        self.end_thought(now);
        let (text, attachments) = describe(content, &self.place.cwd);
        // Should one do so after all, it is known by this.
        self.turn.prompt.push('\n');
        self.turn.prompt.push_str(&text);
        self.add(Body::User { text, attachments }, now);
        self.speaker_shown = false;
    }

    /// Stops the turn. The calls that are not over look cancelled at once; the turn itself ends when
    /// the agent says so.
    pub fn cancel(&mut self, now: Moment) -> Vec<Command> {
        let Phase::Working { since } = self.phase else {
            if self.phase == Phase::Idle && std::mem::take(&mut self.turn.detached) {
                self.close_calls(&Cause::TurnCancelled, now);
                return vec![Command::Cancel { session: self.key }];
            }
            return Vec::new();
        };
        self.phase = Phase::Cancelling { since, asked: now };
        self.close_calls(&Cause::TurnCancelled, now);
        self.end_thought(now);
        self.status_touched = true;
        let asks = self.close_asks(&Verdict::Cancelled);
        let cancelled = |ask| Command::Answer { ask, answer: Answer::Cancelled };
        let mut commands: Vec<Command> = asks.into_iter().map(cancelled).collect();
        commands.push(Command::Cancel { session: self.key });
        commands
    }

    /// Time has passed: an agent that does not confirm a cancel is said to be stuck, once.
    pub fn ticked(&mut self, now: Moment) {
        let Phase::Cancelling { asked, .. } = self.phase else { return };
        if self.turn.stuck || now.since(asked) < GRACE {
            return;
        }
        self.turn.stuck = true;
        let text = format!(
            "{} did not stop within {} s\nR in here ends it and starts it again; what stands here stays",
            self.name(),
            GRACE / 1000
        );
        self.notice(Severity::Warning, text, now);
    }

    /// The agent was to stop and did not.
    pub fn is_stuck(&self) -> bool {
        matches!(self.phase, Phase::Cancelling { .. }) && self.turn.stuck
    }

    pub fn turn_ended(&mut self, end: TurnEnd, now: Moment) -> Vec<Command> {
        let (since, cancelling) = match self.phase {
            Phase::Working { since } => (since, false),
            Phase::Cancelling { since, .. } => (since, true),
            _ => return Vec::new(),
        };
        if matches!(&end, TurnEnd::Failed(failure) if failure.kind == FailureKind::Disconnected) {
            // That the agent is gone is about to be told with its reason.
            return Vec::new();
        }
        self.end_thought(now);
        let took = now.since(since);
        let body = match end {
            // Many agents leak the exception that aborting them raised; the user asked for the end.
            TurnEnd::Failed(_) if cancelling => {
                self.close_calls(&Cause::TurnCancelled, now);
                Body::Stop {
                    reason: StopReason::Cancelled,
                    silent: false,
                    took,
                    usage: None,
                    cost: self.turn_cost(),
                }
            }
            TurnEnd::Failed(failure) => {
                self.close_calls(&Cause::AgentGone, now);
                if failure.kind == FailureKind::AuthRequired {
                    // Nothing typed is lost: the prompt goes out again after the login.
                    let content = std::mem::take(&mut self.turn.content);
                    self.queue.push_front(Queued { content, again: true });
                    self.add(Body::TurnFailed(failure), now);
                    self.speaker_shown = false;
                    self.phase = Phase::LoginNeeded;
                    self.status_touched = true;
                    return Vec::new();
                }
                Body::TurnFailed(failure)
            }
            TurnEnd::Stopped { reason, usage } => {
                let cancelled = reason == StopReason::Cancelled;
                // Some agents end a turn without a word of what became of a call.
                self.close_calls(if cancelled { &Cause::TurnCancelled } else { &Cause::TurnEnded }, now);
                if reason == StopReason::Refusal {
                    for index in self.turn.first..self.entries.len() {
                        self.entries[index].refused = true;
                        self.touched.insert(EntryId(index));
                    }
                }
                Body::Stop { reason, silent: !self.turn.answered, took, usage, cost: self.turn_cost() }
            }
        };
        self.add(body, now);
        self.speaker_shown = false;
        self.phase = Phase::Idle;
        self.status_touched = true;
        self.next_prompt(now)
    }

    /// What the turn has cost, where the agent tells what the conversation has.
    fn turn_cost(&self) -> Option<Cost> {
        let now = self.cost.as_ref()?;
        let before = self.cost_before.as_ref().filter(|before| before.currency == now.currency);
        let amount = now.amount - before.map_or(0.0, |before| before.amount);
        (amount > 0.0).then(|| Cost { amount, currency: now.currency.clone() })
    }

    // Updates.

    pub fn chosen(&mut self, chosen: Chosen) {
        match chosen {
            Chosen::Mode(mode) => self.set_mode(mode),
            Chosen::Model(model) => {
                if let Some(models) = &mut self.models {
                    models.current = model;
                }
            }
            Chosen::Options(options) => self.options = options,
        }
        self.status_touched = true;
    }

    /// Absorbs one update, whenever it comes.
    pub fn apply(&mut self, update: Update, now: Moment) {
        match update {
            Update::Message { role, message, content } => self.message(role, message, content, now),
            Update::ToolCall(patch) => {
                self.upsert(*patch, now);
            }
            Update::Plan(items) => {
                match self.turn.plan {
                    Some(entry) => {
                        self.entries[entry.0].body = Body::Plan(items);
                        self.touched.insert(entry);
                    }
                    None if items.is_empty() => {}
                    None => {
                        self.turn.plan = Some(self.say(Body::Plan(items), now));
                        self.plan = self.turn.plan;
                    }
                }
                self.status_touched = true;
            }
            Update::Commands(commands) => self.commands = commands,
            Update::Mode(mode) => {
                self.set_mode(mode);
                self.status_touched = true;
            }
            Update::Options(options) => {
                self.options = options;
                self.status_touched = true;
            }
            Update::Info { title, updated_at: _ } => {
                if let Some(title) = title.filter(|_| !self.named) {
                    self.title = title.map(|title| one_line(&title));
                    self.status_touched = true;
                }
            }
            Update::Usage { used, size, cost } => {
                self.usage = Some((used, size));
                self.cost = cost.or(self.cost.take());
                self.status_touched = true;
            }
            Update::Notice { severity, title, description } => {
                let text = match description {
                    Some(description) => format!("{title}\n{description}"),
                    None => title,
                };
                self.notice(severity, text, now);
            }
            Update::Compaction { id, status, summary, error } => {
                let entry = self.compaction(id, now);
                if let Body::Compaction { status: s, summary: text, error: e } =
                    &mut self.entries[entry.0].body
                {
                    *s = status.unwrap_or_else(|| std::mem::take(s));
                    if let Some(summary) = summary {
                        *text = summary.unwrap_or_default();
                    }
                    if let Some(error) = error {
                        *e = error;
                    }
                }
            }
            Update::CompactionSummary { id, text } => {
                let entry = self.compaction(id, now);
                if let Body::Compaction { summary, .. } = &mut self.entries[entry.0].body {
                    summary.push_str(&text);
                }
            }
            Update::Unknown { kind } => *self.unknown.entry(kind).or_default() += 1,
        }
    }

    /// Something the user should know that no entry of the agent's says.
    pub fn notice(&mut self, severity: Severity, text: String, now: Moment) {
        self.add(Body::Notice { severity, text }, now);
    }

    fn set_mode(&mut self, mode: String) {
        for option in &mut self.options {
            if option.category.as_deref() == Some("mode")
                && let crate::core::message::OptionKind::Select { current, .. } = &mut option.kind
            {
                *current = mode.clone();
            }
        }
        match &mut self.modes {
            Some(modes) => modes.current = mode,
            None => self.modes = Some(Modes { current: mode, available: Vec::new() }),
        }
    }

    fn message(&mut self, role: Role, message: Option<String>, content: Content, now: Moment) {
        let content = match content {
            Content::Picture(picture) if role != Role::User => {
                return self.picture(role, message, *picture, now);
            }
            content => content,
        };
        let text = as_markdown(&content);
        if role == Role::Agent && self.took_mode_from(&text) {
            return;
        }
        if role == Role::User && self.is_working() && self.turn.prompt.contains(text.trim()) {
            // Some agents send the user's own words back; they are on the screen already.
            return;
        }
        if role != Role::Thought {
            self.end_thought(now);
        }
        if role == Role::Agent {
            self.turn.answered = true;
        }
        let known = match &message {
            Some(id) => self.turn.messages.get(&(role, id.clone())).copied(),
            None => self.entries.len().checked_sub(1).map(EntryId).filter(|last| self.continues(*last, role)),
        };
        let entry = known.unwrap_or_else(|| match role {
            Role::User => {
                self.speaker_shown = false;
                self.add(Body::User { text: String::new(), attachments: Vec::new() }, now)
            }
            Role::Agent => self.say(Body::Message { text: String::new() }, now),
            Role::Thought => self.say(Body::Thought { text: String::new(), ended: None }, now),
        });
        if let Some(id) = message {
            self.turn.messages.insert((role, id), entry);
        }
        if let Body::User { text: body, .. }
        | Body::Message { text: body }
        | Body::Thought { text: body, .. } = &mut self.entries[entry.0].body
        {
            // What some agents put before a text that follows a call would indent its first line only.
            body.push_str(if body.is_empty() { without_lead(&text) } else { &text });
        }
        self.touched.insert(entry);
    }

    /// An image stands for itself; what is said after it is a text of its own.
    fn picture(&mut self, role: Role, message: Option<String>, picture: Picture, now: Moment) {
        self.end_thought(now);
        self.turn.answered |= role == Role::Agent;
        if let Some(id) = message {
            self.turn.messages.remove(&(role, id));
        }
        self.say(Body::Picture(picture), now);
    }

    /// Gemini tells of a new mode by a message in the place of the update that there is for it.
    fn took_mode_from(&mut self, text: &str) -> bool {
        let Some(mode) = text.strip_prefix("[MODE_UPDATE] ") else { return false };
        let offers = |modes: &Modes| modes.available.iter().any(|offered| offered.id == mode);
        if !self.modes.as_ref().is_some_and(offers) {
            return false;
        }
        self.set_mode(mode.to_owned());
        self.status_touched = true;
        true
    }

    fn continues(&self, entry: EntryId, role: Role) -> bool {
        matches!(
            (&self.entries[entry.0].body, role),
            (Body::User { .. }, Role::User)
                | (Body::Message { .. }, Role::Agent)
                | (Body::Thought { ended: None, .. }, Role::Thought)
        ) && !self.turn.messages.values().any(|named| *named == entry)
    }

    fn upsert(&mut self, patch: ToolCallPatch, now: Moment) -> EntryId {
        self.end_thought(now);
        self.turn.answered = true;
        let entry = match self.turn.calls.get(&patch.id) {
            Some(entry) => *entry,
            None => {
                let id = patch.id.clone();
                let mut call = ToolCall::new(id.clone(), now);
                call.root.clone_from(&self.place.cwd);
                let entry = self.say(Body::Tool(Box::new(call)), now);
                self.turn.calls.insert(id, entry);
                entry
            }
        };
        if let Body::Tool(call) = &mut self.entries[entry.0].body {
            call.patch(patch, now);
        }
        self.touched.insert(entry);
        entry
    }

    fn advance(&mut self, entry: EntryId, cause: &Cause, now: Moment) {
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.advance(cause, now);
            self.touched.insert(entry);
        }
    }

    fn close_calls(&mut self, cause: &Cause, now: Moment) {
        let open: Vec<EntryId> = self.turn.calls.values().copied().collect();
        for entry in open {
            if self.entry(entry).and_then(Entry::tool).is_some_and(|call| !call.status.is_over()) {
                self.advance(entry, cause, now);
            }
        }
    }

    fn end_thought(&mut self, now: Moment) {
        if let Some(last) = self.entries.len().checked_sub(1)
            && let Body::Thought { ended: ended @ None, .. } = &mut self.entries[last].body
        {
            *ended = Some(now);
            self.touched.insert(EntryId(last));
        }
    }

    fn compaction(&mut self, id: String, now: Moment) -> EntryId {
        let entry = match self.turn.compactions.get(&id) {
            Some(entry) => *entry,
            None => {
                let body =
                    Body::Compaction { status: "in_progress".into(), summary: String::new(), error: None };
                let entry = self.say(body, now);
                self.turn.compactions.insert(id, entry);
                entry
            }
        };
        self.touched.insert(entry);
        entry
    }

    fn greet(&mut self, greeting: Greeting) {
        let at = self.entries.iter().rposition(|entry| matches!(entry.body, Body::Greeting(_)));
        if let Some(at) = at {
            self.entries[at].body = Body::Greeting(greeting);
            self.touched.insert(EntryId(at));
        }
        self.status_touched = true;
    }

    /// Adds an entry of the agent's, under its name.
    fn say(&mut self, body: Body, now: Moment) -> EntryId {
        self.end_thought(now);
        if !self.speaker_shown {
            self.speaker_shown = true;
            self.add(Body::Speaker(self.name()), now);
        }
        self.add(body, now)
    }

    fn add(&mut self, body: Body, now: Moment) -> EntryId {
        let id = EntryId(self.entries.len());
        self.entries.push(Entry { at: now, body, open: false, refused: false });
        self.touched.insert(id);
        id
    }
}

/// "ended with exit code 3", "was ended by SIGKILL".
pub fn exit_text(exit: Option<&crate::core::message::Exit>) -> String {
    match exit {
        Some(exit) => match (&exit.signal, exit.code_text()) {
            (Some(signal), _) => format!("was ended by {signal}"),
            (None, Some(code)) => format!("ended with exit code {code}"),
            (None, None) => "ended".to_owned(),
        },
        None => "closed the connection".to_owned(),
    }
}

/// A prompt as its user sees it: the text, and a line for each attachment.
fn describe(content: &[Content], root: &Path) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut attachments = Vec::new();
    for block in content {
        match block {
            Content::Text(part) => text.push_str(part),
            other => attachments.push(context::label(other, root).unwrap_or_else(|| as_markdown(other))),
        }
    }
    (text, attachments)
}

/// A content block as Markdown; what is no text becomes a line that names it.
pub fn as_markdown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Image { data, mime, uri } => media("image", mime, data, uri.as_deref()),
        Content::Audio { data, mime } => media("audio", mime, data, None),
        Content::Link { uri, name, title, .. } => {
            let name = title.as_deref().unwrap_or(name);
            format!("[{}]({uri})", one_line(name))
        }
        Content::Resource { uri, body: ResourceBody::Text(text), .. } => {
            format!("[{uri}]({uri}) ({} lines)", text.lines().count())
        }
        Content::Resource { uri, mime, body: ResourceBody::Blob(data) } => {
            media("resource", mime.as_deref().unwrap_or("binary"), data, Some(uri))
        }
        Content::Picture(picture) => image::label(picture),
        Content::Unknown { kind } => format!("[{}: this client cannot show it]", one_line(kind)),
    }
}

/// A text without blank lines at its beginning, and without an indent that means nothing in Markdown.
fn without_lead(text: &str) -> &str {
    let text = text.trim_start_matches(['\r', '\n']);
    let inner = text.trim_start_matches(' ');
    if text.len() - inner.len() < 4 { inner } else { text }
}

fn media(what: &str, mime: &str, data: &str, uri: Option<&str>) -> String {
    let bytes = data.len() / 4 * 3;
    let size = match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} kB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    };
    let label = format!("{what}: {}, {size}", one_line(mime));
    match uri {
        Some(uri) => format!("[{label}]({uri})"),
        None => format!("[{label}]"),
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
