//! Sessions: how they are opened, resumed and closed, which agent's process each of them has, what is
//! remembered of them, and what users' autocommands are told. Their entries are `core::session`'s part; what
//! else hears of them is the router's.

pub mod actions;
mod auto;
pub mod background;
mod forking;
pub mod lifecycle;
mod limits;
mod login;
pub mod options;
pub mod permission;
pub mod record;
pub mod remembering;
mod renaming;
pub mod status;
pub mod stored;
pub mod subagents;
mod unasked;
pub mod user_events;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::{AgentId, JobId, SessionKey};
use crate::core::message::{Command, Event, Hold, StoredSession};
use crate::core::session::lifecycle::{Admitted, Agents, Openings};
use crate::core::session::told::Told;
use crate::core::store::gathering::Gathering;
use crate::core::store::record::{Kept, SessionName};
use crate::core::store::remembered::{Remembered, What};
use crate::core::store::stored_states::StoredStates;
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;

/// What is done with what the record holds.
type AfterRecall =
    Box<dyn FnOnce(&mut Sessions, &mut Context, std::result::Result<Vec<Kept>, String>) -> Result<()>>;

/// What is done with what is remembered for projects, or with why it can't be had.
type AfterChoices =
    Box<dyn FnOnce(&mut Sessions, &mut Context, std::result::Result<Vec<Remembered>, String>) -> Result<()>>;

/// What becomes of the one of an agent's stored sessions that the user chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Purpose {
    #[default]
    TakeUp,
    Delete,
    Archive,
    BringBack,
    /// To this; to what the user is asked for if it is empty.
    Rename(String),
}

pub struct Sessions {
    processes: Agents,
    openings: Openings,
    /// The number of the last session.
    last: u32,
    record_folder: PathBuf,
    /// What waits for the record to be read.
    recalls: HashMap<JobId, AfterRecall>,
    /// The sessions that the record knows of.
    recorded: BTreeMap<SessionKey, String>,
    /// The sessions being resumed, as the record knows them.
    resumed: HashMap<SessionKey, Kept>,
    /// What other Neovims were told to be open here.
    told_open: Vec<SessionName>,
    /// Those being taken up that another Neovim has open.
    open_twice: BTreeSet<SessionKey>,
    /// Stored sessions as they are being listed, page by page.
    listing: HashMap<AgentId, Vec<StoredSession>>,
    /// What the listing under way is for.
    listing_for: Purpose,
    gathering: Gathering,
    /// Stored sessions that agents were told the names of, with the last name.
    renamed: HashMap<(AgentId, String), (Kept, String)>,
    states: StoredStates,
    /// What waits for what is remembered for projects.
    choice_reads: HashMap<JobId, AfterChoices>,
    /// What is remembered as soon as it is chosen, with the id of the value.
    to_remember: Vec<(SessionKey, What, String)>,
    /// What of each session has been told.
    told: BTreeMap<SessionKey, Told>,
    /// For which agent and mode the background holds rules against it.
    told_who: BTreeMap<SessionKey, (String, Option<String>)>,
    /// What sessions may do before the user is asked, as the background was told.
    held: HashMap<SessionKey, Hold>,
    /// Those for which it is looked again when their time is over.
    timed: BTreeSet<SessionKey>,
    /// How many questions about limits there were.
    limits_asked: u64,
    /// What agents did on their own, for rules to be held against it.
    unjudged: unasked::Unjudged,
    /// Something changed since the status was last kept.
    status_is_stale: bool,
}

impl Sessions {
    pub fn new(record_folder: PathBuf) -> Self {
        Self {
            processes: Agents::default(),
            openings: Openings::default(),
            last: 0,
            record_folder,
            recalls: HashMap::new(),
            recorded: BTreeMap::new(),
            resumed: HashMap::new(),
            told_open: Vec::new(),
            open_twice: BTreeSet::new(),
            listing: HashMap::new(),
            listing_for: Purpose::default(),
            gathering: Gathering::default(),
            renamed: HashMap::new(),
            states: StoredStates::default(),
            choice_reads: HashMap::new(),
            to_remember: Vec::new(),
            told_who: BTreeMap::new(),
            held: HashMap::new(),
            timed: BTreeSet::new(),
            limits_asked: 0,
            told: BTreeMap::new(),
            unjudged: unasked::Unjudged::default(),
            status_is_stale: false,
        }
    }

    // On the way from and to the background.

    /// A command as the background knows its session.
    pub fn outgoing(&mut self, cx: &mut Context, command: Command) -> Command {
        // Not before: what was sent to the session of before is not for the new one.
        if let Command::Open { session, .. } | Command::Load { session, .. } = &command {
            self.openings.open(*session);
            // What it was told of the session was about the opening before.
            self.told_who.remove(session);
            self.held.remove(session);
            cx.tell_offer(*session);
        }
        self.openings.outgoing(command)
    }

    /// An event as the editor knows its session.
    pub fn incoming(&self, event: Event) -> Admitted {
        self.openings.incoming(event)
    }

    // The agents' processes.

    /// The programs of agents that run.
    pub fn programs(&self) -> Vec<PathBuf> {
        self.processes
            .living()
            .filter(|launch| launch.remote.is_none())
            .map(|launch| PathBuf::from(&launch.command))
            .collect()
    }

    /// The session is closed.
    pub fn forget(&mut self, cx: &mut Context, key: SessionKey) {
        if let Some(session) = cx.sessions.remove(&key) {
            cx.discard(session);
        }
        // What it asked about is on the screen.
        cx.raise(EditorEvent::QuestionsChanged);
        self.resumed.remove(&key);
        self.open_twice.remove(&key);
        self.tell_open(cx);
        self.recorded.remove(&key);
        self.told.remove(&key);
        self.not_chosen(Some(key));
        self.status_is_stale = true;
    }
}
