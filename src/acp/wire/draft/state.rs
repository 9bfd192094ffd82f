//! What must be remembered between the messages of one connection. How it is used is left to the siblings, each of
//! which converts its part.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::left_out::LeftOut;

/// How many calls are remembered for the questions about them; a turn has rarely more at once.
pub const CALLS: usize = 256;

/// What is to be remembered between messages, for one connection.
pub struct Draft {
    /// How many commands may run at once, which the agent is told.
    pub(super) most_commands: usize,
    /// Whether a file is there: the dialect tells whether a write has made one. It is asked on the thread that
    /// reads from the agent, which nobody else waits for.
    pub(super) exists: fn(&Path) -> bool,
    pub(super) ours: HashMap<i64, Ours>,
    pub(super) theirs: HashMap<String, Theirs>,
    /// By the agent's names.
    pub(super) sessions: BTreeMap<String, Session>,
    pub(super) offers: Offers,
    /// What the agent was told that we can do.
    pub(super) can: Value,
    /// The terminals that this client has made for the agent.
    pub(super) terminals: HashSet<String>,
    /// The commands with a time limit of the agent's, and when that is over.
    pub(super) overdue: HashMap<String, Instant>,
    /// The ids of calls that were announced, the last ones.
    pub(super) calls: VecDeque<String>,
    /// Questions that name no call get one of these.
    pub(super) questions: u64,
    pub(super) left_out: LeftOut,
}

/// What is known of a session.
#[derive(Default)]
pub struct Session {
    pub(super) cwd: PathBuf,
    pub(super) in_turn: bool,
    pub(super) mode: String,
    /// How many messages the agent has said are over. Agents that say so mean each to stand by itself.
    pub(super) messages: u64,
    /// The options with a value that was told.
    pub(super) options: Map<String, Value>,
    /// The values of each option that were seen, in that order.
    pub(super) seen: HashMap<String, Vec<Value>>,
}

/// What the agent offers to all sessions.
#[derive(Default)]
pub struct Offers {
    pub(super) modes: Vec<String>,
    /// The names of the options that a session can be opened with.
    pub(super) options: Vec<String>,
    /// The kinds of MCP server that it can reach; none if it takes no servers at all.
    pub(super) servers: Vec<String>,
    pub(super) no_cancelling: bool,
}

/// A request of ours that the agent has not answered.
pub enum Ours {
    Initialize,
    Authenticate,
    New { cwd: PathBuf, mode: Option<String>, options: Map<String, Value>, left_out: Vec<String> },
    Load { session: String, cwd: PathBuf },
    Prompt { session: String },
    Mode { session: String, mode: String },
    Option { session: String },
    Other,
}

/// A request of the agent's that we have not answered.
pub enum Theirs {
    Permission,
    /// The whole file, where its lines can be counted.
    Read {
        whole: bool,
    },
    Write {
        bytes: usize,
        created: bool,
    },
    Create {
        timeout: Option<Duration>,
    },
    Wait {
        terminal: String,
        limited: bool,
    },
    Kill,
    Release {
        terminal: String,
    },
    Other,
}

impl Theirs {
    pub fn is_file(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Write { .. })
    }
}

impl Draft {
    /// For messages of another time: this machine's files are none of theirs.
    pub fn replayed() -> Self {
        Self { exists: |_| false, ..Self::new(1) }
    }

    pub fn new(most_commands: usize) -> Self {
        Self {
            most_commands,
            exists: |path| path.symlink_metadata().is_ok(),
            ours: HashMap::new(),
            theirs: HashMap::new(),
            sessions: BTreeMap::new(),
            offers: Offers::default(),
            can: Value::Null,
            terminals: HashSet::new(),
            overdue: HashMap::new(),
            calls: VecDeque::new(),
            questions: 0,
            left_out: LeftOut::default(),
        }
    }
}

impl Draft {
    /// Whether a piece of text may be the first after a message that is over.
    pub fn ends_messages(&self) -> bool {
        self.sessions.values().any(|session| session.messages > 0)
    }
}

impl Session {
    pub(super) fn set(&mut self, key: String, value: Value) {
        let seen = self.seen.entry(key.clone()).or_default();
        if !seen.contains(&value) {
            seen.push(value.clone());
        }
        self.options.insert(key, value);
    }

    /// The options as the official protocol lists them. The dialect tells no more than their values, so that
    /// one can choose among those that were seen.
    pub(super) fn options(&self) -> Vec<Value> {
        let option = |(key, current): (&String, &Value)| match current {
            Value::Bool(_) => json!({ "id": key, "name": key, "type": "boolean", "currentValue": current }),
            _ => {
                let seen = self.seen.get(key).into_iter().flatten().map(shown);
                let values: Vec<Value> = seen.map(|text| json!({ "value": text, "name": text })).collect();
                let mut option = json!({ "id": key, "name": key, "type": "select", "currentValue": shown(current), "options": values });
                if key == "model" {
                    option["category"] = "model".into();
                }
                option
            }
        };
        self.options.iter().map(option).collect()
    }
}

/// A value as a text to choose.
pub fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
