//! One conversation as data: its entries, its turn, its open questions and the allowed actions. What to
//! redraw is returned as a set of touched entries. How a session opens, its turns, the agent's updates
//! and its questions are modules of their own, which return commands to send.

mod alike;
pub mod answer_label;
mod asks;
pub mod auto;
pub mod auto_turn;
pub mod before;
pub mod budget;
mod call_commands;
pub mod call_news;
mod commands;
mod compactions;
mod content;
pub mod defaults;
mod edited;
pub mod entry;
mod forking;
pub mod form;
mod going_on;
mod last_chat;
mod left;
mod left_commands;
pub mod lifecycle;
pub mod limits;
pub mod login;
pub mod meter;
mod opening;
pub mod options;
pub mod outside;
mod plans;
pub mod prompt_history;
pub mod question_queue;
pub mod recovery;
pub mod references;
mod replayed;
mod requested;
pub mod retold;
mod retry;
mod set_defaults;
pub mod staged;
pub mod status;
pub mod subagent;
mod subagents;
pub mod titles;
pub mod told;
pub mod tool_call;
pub mod tool_input;
pub mod tool_output;
mod tool_patch;
mod tool_title;
pub mod turn;
mod unasked;
pub mod unsaved_note;
mod updates;
mod user_time;
mod waiting_time;
pub mod written;
pub mod written_files;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;

pub use asks::{MAKE_RULE, OpenAsk, Pick, Wanted};
pub use content::as_markdown;
use defaults::{Defaults, Unset};
pub use forking::Past;
use left_commands::Left;
pub use opening::{LoggedIn, exit_text};
use recovery::{Recovery, Sent};
use retold::Retold;
pub use turn::Queued;

use crate::core::ids::{AgentId, EntryId, Moment, SessionKey, SubagentId, TerminalId, ToolCallId};
use crate::core::maps::FastMap;
use crate::core::message::{
    Again, AgentInfo, Command, ConfigOption, Content, Cost, Exit, Limit, Models, Modes, Place, Reopen, Role,
    SlashCommand,
};
use crate::core::replay::{self, Replaying};
use crate::core::rules::Rule;
use crate::core::session::budget::Budget;
use crate::core::session::entry::{Body, Entry, Greeting, display_name};
use crate::core::session::meter::Meter;
use crate::core::session::tool_call::{Cause, ToolCall};
use crate::core::text::{Text, one_line};

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
    /// What the agent refused is asked for once more when it is time.
    Waiting {
        since: Moment,
        due: Moment,
        sent: Sent,
    },
    Working {
        since: Moment,
    },
    /// Cancel was sent; the agent has not confirmed it.
    Cancelling {
        since: Moment,
        asked: Moment,
    },
    /// The agent was told to end, and is not gone yet.
    Ending {
        since: Moment,
        /// Nobody has said yet how the turn ended that ran.
        in_turn: bool,
    },
    /// The agent is gone; a restart opens a new session.
    Gone,
}

pub struct Session {
    pub key: SessionKey,
    pub agent: AgentId,
    /// The configured name of the agent.
    pub agent_name: String,
    /// What the user has configured that it is called.
    given_name: Option<String>,
    /// How a recording is played, where that is the agent.
    pub replay: Option<Replaying>,
    pub place: Place,
    /// Those of the editor's that its agent is offered.
    pub tools: Vec<String>,
    pub info: Option<AgentInfo>,
    pub acp_id: Option<String>,
    /// The stored session that is being taken up, until it is open.
    pub taking_up: Option<(String, Reopen)>,
    pub retold: Retold,
    pub phase: Phase,
    pub title: Option<String>,
    /// The title is the user's: the agent does not change it.
    named: bool,
    pub modes: Option<Modes>,
    pub models: Option<Models>,
    pub options: Vec<ConfigOption>,
    /// What the user wants of it whenever it begins anew.
    pub defaults: Defaults,
    unset: Unset,
    pub commands: Vec<SlashCommand>,
    /// What the agent suggests to say next.
    pub suggestions: Vec<Text>,
    /// When the prompt was sent that is told next.
    dated: Option<u64>,
    pub usage: Option<(u64, u64)>,
    pub cost: Option<Cost>,
    /// Updates of kinds this client does not know, by kind.
    pub unknown: BTreeMap<String, u32>,
    /// Those of them that the user has not been told of.
    untold: BTreeMap<String, u32>,
    entries: Vec<Entry>,
    asks: Vec<OpenAsk>,
    /// How many writes wait for the user to decide about lines that they have changed, too.
    conflicts: usize,
    /// Questions for permission that rules have not been held against yet: nobody is asked before.
    judging: Vec<OpenAsk>,
    /// How often the user's rules have changed since it began: what is held against earlier ones is judged again.
    pub rule_changes: u64,
    /// What the user was told last of rules that don't count.
    pub rules_problem: Option<String>,
    /// What its agent may reach, if the kernel holds it to that.
    pub sandbox: Option<String>,
    /// The rules that the user has made for it by answers.
    pub rules: Vec<Rule>,
    /// What it may use up before the user is asked.
    pub budget: Budget,
    auto: auto::AutoState,
    /// Calls that are over and nobody was asked about: rules are to be held against them.
    unjudged: Vec<EntryId>,
    queue: VecDeque<Queued>,
    /// A prompt was taken out of the line to be edited.
    edited: Option<Edited>,
    /// Sent into the running turn; whether the agent takes it is still to be told.
    steering: Vec<Vec<Content>>,
    turn: Turn,
    touched: BTreeSet<EntryId>,
    /// Something outside the entries changed: phase, title, mode, usage, queue.
    status_touched: bool,
    speaker_shown: bool,
    /// What was said before the agent was started again is on the screen: it need not tell that again.
    text_stays: bool,
    /// The newest plan.
    plan: Option<EntryId>,
    /// Those that have ids: by whose session it is, and the agent's id.
    plans: HashMap<(Option<SubagentId>, String), EntryId>,
    /// What was replaced, for who can free it without holding the editor.
    outdated: Vec<Body>,
    /// What was used up, as far as the agent tells.
    pub meter: Meter,
    /// The rate limits that the agent has told of, by what they count.
    pub limits: Vec<Limit>,
    /// Commands of a turn that was stopped, which go on.
    left: Left,
    subagents: Subagents,
    /// How the conversation was made shorter: by whose session it is, and the agent's id.
    compactions: HashMap<(Option<SubagentId>, String), EntryId>,
    /// What the agent does only after a login.
    after_login: Vec<Again>,
    /// What the user wants done by itself when something goes wrong.
    pub recovery: Recovery,
    /// How often the prompt that is about to be sent was sent again by itself, and the session asked for.
    times: u32,
    opening_times: u32,
    /// How often the agent was started again by itself since a turn last ended well.
    reconnected: u32,
    /// The agent is there, and does not know the session any more.
    is_lost: bool,
    /// The chat that the user had here before this one, until they have asked something.
    last_chat: Option<entry::LastChat>,
}

/// Where a prompt stood that is being edited.
#[derive(Clone, Copy, Debug)]
struct Edited {
    /// So many were before it, by their ranks.
    before: usize,
    /// The user has sent it; what it refers to is being read.
    is_sent: bool,
}

/// What belongs to the turn under way, or to the last one.
#[derive(Default)]
struct Turn {
    /// Ids are scoped by turn: some agents use them again.
    calls: FastMap<ToolCallId, EntryId>,
    /// Those of them that are not over: a turn may have had 100,000.
    open: BTreeSet<EntryId>,
    messages: HashMap<(Role, String), EntryId>,
    plan: Option<EntryId>,
    /// How commands ended, since a call may show its terminal only after that.
    exits: HashMap<TerminalId, Exit>,
    /// The calls that are shown with terminals which the agent has not given to any.
    adopted: HashMap<TerminalId, EntryId>,
    /// The text sent, to know an echo by.
    prompt: Text,
    /// So much of it the agent has sent back.
    echoed: usize,
    content: Vec<Content>,
    answered: bool,
    /// The agent did something that it may do twice if it is asked again.
    begun: bool,
    /// How often its prompt was sent again by itself.
    times: u32,
    /// It was over, and the agent went on by itself; nobody will say when that ends.
    detached: bool,
    /// Where the turn begins: at the prompt.
    first: usize,
    /// The commands that a rule has rejected, in words.
    refused_commands: Vec<String>,
    /// The user was told that the agent does not confirm the cancel.
    stuck: bool,
    user_time: waiting_time::WaitingTime,
}

/// What a session knows of those who work for it.
#[derive(Default)]
struct Subagents {
    known: BTreeMap<SubagentId, Known>,
    /// What stands under an entry, in order.
    inner: HashMap<EntryId, Vec<EntryId>>,
    /// The newest entry that stands under none.
    last: Option<EntryId>,
    /// By the reader and the id in its transcript.
    relayed: HashMap<(Option<SubagentId>, String), EntryId>,
    /// Under what new entries stand at the moment.
    under: Option<EntryId>,
    /// Whose turn takes the place of the session's at the moment.
    within: Option<SubagentId>,
}

/// The run of an agent that a session is begun with: what the agent is called, and how it was started.
#[derive(Clone, Copy)]
pub struct AgentRun<'a> {
    pub id: AgentId,
    pub name: &'a str,
    pub command: &'a str,
}

#[cfg(test)]
impl AgentRun<'_> {
    pub const DEMO: Self = Self { id: AgentId(1), name: "demo", command: "demo" };
}

struct Known {
    entry: EntryId,
    /// Its calls and messages, or the session's own while it takes the place of these.
    turn: Turn,
}

impl Session {
    /// The option that is the mode or the model, where the agent has one for it.
    pub fn selection(&self, category: &str) -> Option<&ConfigOption> {
        ConfigOption::selection(&self.options, category).map(|index| &self.options[index])
    }

    pub fn new(key: SessionKey, agent: AgentRun, place: Place, now: Moment) -> Self {
        let AgentRun { id, name, command } = agent;
        let mut session = Self {
            key,
            agent: id,
            agent_name: name.to_owned(),
            given_name: None,
            replay: None,
            place,
            tools: Vec::new(),
            info: None,
            acp_id: None,
            taking_up: None,
            retold: Retold::default(),
            phase: Phase::Opening { since: now },
            title: None,
            named: false,
            modes: None,
            models: None,
            options: Vec::new(),
            defaults: Defaults::default(),
            unset: Unset::default(),
            commands: Vec::new(),
            suggestions: Vec::new(),
            dated: None,
            usage: None,
            cost: None,
            unknown: BTreeMap::new(),
            untold: BTreeMap::new(),
            entries: Vec::new(),
            asks: Vec::new(),
            conflicts: 0,
            rules_problem: None,
            sandbox: None,
            rules: Vec::new(),
            budget: Budget::default(),
            auto: auto::AutoState::default(),
            unjudged: Vec::new(),
            judging: Vec::new(),
            rule_changes: 0,
            queue: VecDeque::new(),
            edited: None,
            steering: Vec::new(),
            turn: Turn::default(),
            touched: BTreeSet::new(),
            status_touched: true,
            speaker_shown: false,
            text_stays: false,
            plan: None,
            plans: HashMap::new(),
            outdated: Vec::new(),
            meter: Meter::default(),
            limits: Vec::new(),
            left: Left::default(),
            subagents: Subagents::default(),
            compactions: HashMap::new(),
            after_login: Vec::new(),
            recovery: Recovery::default(),
            times: 0,
            opening_times: 0,
            reconnected: 0,
            is_lost: false,
            last_chat: None,
        };
        session.add(
            Body::Greeting(Greeting::Connecting { name: name.to_owned(), command: command.to_owned() }),
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

    /// The entry of a tool call of the present turn, or of a subagent's.
    pub fn call_entry(&self, id: &ToolCallId) -> Option<EntryId> {
        self.turns().find_map(|turn| turn.calls.get(id).copied())
    }

    /// The tool calls of the present turn that are not over, and those of subagents.
    pub fn open_calls(&self) -> impl Iterator<Item = (EntryId, &ToolCall)> {
        self.turns().flat_map(|turn| &turn.open).filter_map(|entry| {
            let call = self.entry(*entry)?.tool()?;
            (!call.status.is_over()).then_some((*entry, call))
        })
    }

    /// What the agent is called before it has said so itself.
    pub fn configured_name(&self) -> &str {
        self.given_name.as_deref().unwrap_or(&self.agent_name)
    }

    /// What the agent is called on screen.
    pub fn name(&self) -> String {
        let given = self.given_name.clone();
        given.unwrap_or_else(|| self.own_name())
    }

    /// What the agent calls itself, whatever the user does.
    pub fn own_name(&self) -> String {
        display_name(&self.agent_name, self.info.as_ref())
    }

    /// The user has a name of their own for the agent, which counts more than what it calls itself.
    pub fn call_agent(&mut self, name: &str) {
        self.given_name = Some(one_line(name)).filter(|name| !name.is_empty());
        let called = self.name();
        for entry in &mut self.entries {
            if let Body::Greeting(Greeting::Connecting { name, .. }) = &mut entry.body {
                name.clone_from(&called);
            }
        }
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
        self.is_working() || matches!(self.phase, Phase::Opening { .. } | Phase::Waiting { .. })
    }

    /// When the turn began that runs.
    pub fn working_since(&self) -> Option<Moment> {
        match self.phase {
            Phase::Working { since } | Phase::Cancelling { since, .. } => Some(since),
            _ => None,
        }
    }

    pub fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Working { .. } | Phase::Cancelling { .. })
    }

    /// Whether the end of a turn is still to be told.
    pub fn is_in_turn(&self) -> bool {
        self.is_working() || matches!(self.phase, Phase::Ending { in_turn: true, .. })
    }

    /// Whether there is time that moves on.
    pub fn is_under_way(&self) -> bool {
        self.is_busy() || matches!(self.phase, Phase::Ending { .. })
    }

    /// Whether its agent is a recording.
    pub fn plays_recording(&self) -> bool {
        self.agent_name == replay::NAME
    }

    /// Whether the agent tells again what was said in a stored session.
    pub fn is_replaying(&self) -> bool {
        self.is_taken_up() && !self.text_stays
    }

    fn is_taken_up(&self) -> bool {
        self.taking_up.is_some() && matches!(self.phase, Phase::Opening { .. })
    }

    /// The entries to draw again since the last call, oldest first, and whether the status changed.
    pub fn take_touched(&mut self) -> (BTreeSet<EntryId>, bool) {
        (std::mem::take(&mut self.touched), std::mem::take(&mut self.status_touched))
    }

    /// What was replaced since the last call.
    pub fn take_outdated(&mut self) -> Vec<Body> {
        std::mem::take(&mut self.outdated)
    }

    pub fn has_touched(&self) -> bool {
        self.status_touched || !self.touched.is_empty()
    }

    /// A call was seen to change a file on the disk.
    pub fn call_changed(&mut self, id: EntryId, path: &Path) {
        let Some(Body::Tool(call)) = self.entries.get_mut(id.0).map(|entry| &mut entry.body) else { return };
        if call.changed.insert(path.to_owned()) {
            self.touched.insert(id);
        }
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

    /// The agent keeps the name in this form. What the user has called it since then counts more.
    pub fn title_kept(&mut self, asked: &str, title: &str) {
        if self.named && self.title.as_deref() == Some(one_line(asked).as_str()) && !title.trim().is_empty() {
            self.rename(title);
        }
    }

    /// What the agent is to be told that the session is called, if it takes that.
    pub fn title_to_tell(&self) -> Option<Command> {
        let can = self.info.as_ref().is_some_and(|info| info.can.set_title);
        let title = self.title.clone().filter(|_| can && self.named && self.acp_id.is_some())?;
        Some(Command::SetTitle { session: self.key, title })
    }

    pub fn was_named(&self) -> bool {
        self.named
    }

    /// The first thing that the user said.
    pub fn first_prompt(&self) -> Option<&str> {
        self.entries.iter().find_map(|entry| match &entry.body {
            Body::User { text, .. } => Some(&**text),
            _ => None,
        })
    }

    /// Everything that the user said.
    pub fn prompts(&self) -> impl Iterator<Item = &Text> {
        self.entries.iter().filter_map(|entry| match &entry.body {
            Body::User { text, .. } => Some(text),
            _ => None,
        })
    }

    /// Shows what was said before this session was taken up, where the agent does not.
    pub fn recall<'a>(&mut self, prompts: impl Iterator<Item = &'a str>, now: Moment) {
        for text in prompts {
            self.add(Body::User { text: text.into(), attachments: Vec::new() }, now);
        }
        self.speaker_shown = false;
    }

    /// What the agent has said in the present turn, or in the last one.
    pub fn answer_text(&self) -> String {
        let said = self.entries[self.turn.first.min(self.entries.len())..].iter().filter_map(Entry::stream);
        said.collect::<Vec<_>>().join("\n\n")
    }

    fn advance(&mut self, entry: EntryId, cause: &Cause, now: Moment) {
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.advance(cause, now);
            self.touched.insert(entry);
        }
        self.note_open(entry);
    }

    fn note_open(&mut self, entry: EntryId) {
        let is_open = self.entry(entry).and_then(Entry::tool).is_some_and(|call| !call.status.is_over());
        let open = &mut self.turn_with(entry).open;
        match is_open {
            true => open.insert(entry),
            false => open.remove(&entry),
        };
    }

    fn close_calls(&mut self, cause: &Cause, now: Moment) {
        for entry in self.turn.open.clone() {
            self.advance(entry, cause, now);
        }
    }

    fn end_thought(&mut self, now: Moment) {
        if let Some(last) = self.last()
            && let Body::Thought { ended: ended @ None, .. } = &mut self.entries[last.0].body
        {
            *ended = Some(now);
            self.touched.insert(last);
        }
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
        if !self.speaker_shown && !self.is_within() {
            self.speaker_shown = true;
            self.add(Body::Speaker(self.name()), now);
        }
        self.add(body, now)
    }

    fn add(&mut self, body: Body, now: Moment) -> EntryId {
        let id = EntryId(self.entries.len());
        let parent = self.joins(id);
        let clock = (!self.is_replaying()).then_some(now.0);
        self.entries.push(Entry { at: now, clock, parent, body, open: false, refused: false });
        self.touched.insert(id);
        id
    }
}

#[cfg(test)]
mod tests;
