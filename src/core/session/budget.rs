//! What a turn and a session may use up before the user is asked whether the agent goes on: time, money, commands, files
//! and lines; as data. When the user is asked is `going_on`'s part. Reaching a limit ends nothing: what would change
//! something waits for the answer. What is used up is told by whoever sees it; time and money are the session's own.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::core::ids::{AskId, EntryId};
use crate::core::message::{Ceiling, Measure, PermissionKind, PermissionOption, Span};

/// The user's limits for a turn or a session; what is not given has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// In milliseconds that the agent works, the user's time to answer not counted.
    pub time: Option<u64>,
    /// In whatever the agent counts.
    pub cost: Option<f64>,
    pub commands: Option<usize>,
    pub files: Option<usize>,
    /// That were added, changed or removed.
    pub lines: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    pub turn: Limits,
    pub session: Limits,
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reached {
    pub span: Span,
    pub measure: Measure,
    pub used: f64,
    /// So many of the commands that were counted have not begun.
    pub not_begun: usize,
    /// What counts now: after each time that the agent may go on it is as much more.
    pub limit: f64,
    /// What is wanted next would go beyond it, and waits.
    pub is_wanted: bool,
}

/// What the user says to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    GoOn,
    /// Without any limit in the turn, or in the session.
    Lift,
    Stop,
}

#[derive(Default)]
pub struct Used {
    pub commands: usize,
    pub lines: usize,
    pub files: HashSet<PathBuf>,
    /// How often a limit was reached, and the agent went on.
    pub passed: HashMap<Measure, u32>,
    pub lifted: bool,
}

#[derive(Default)]
pub struct Budget {
    pub bounds: Bounds,
    pub turn: Used,
    pub session: Used,
    /// In milliseconds, what the turns before this one took.
    pub before: u64,
    /// The commands that were counted.
    pub counted: HashSet<EntryId>,
    /// The question that waits, and what it is about.
    pub asked: Option<(AskId, Reached)>,
}

impl Budget {
    /// Whether there is any limit.
    pub fn is_bounded(&self) -> bool {
        self.bounds != Bounds::default()
    }
}

impl Word {
    pub const ALL: [Self; 3] = [Self::GoOn, Self::Lift, Self::Stop];

    pub fn id(self) -> &'static str {
        match self {
            Self::GoOn => "continue",
            Self::Lift => "unlimited",
            Self::Stop => "stop",
        }
    }

    pub fn of_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|word| word.id() == id)
    }

    /// What came of it, in a word or two.
    pub fn fact(self) -> &'static str {
        match self {
            Self::GoOn => "went on",
            Self::Lift => "no limit any more",
            Self::Stop => "stopped",
        }
    }

    pub fn goes_on(self) -> bool {
        self != Self::Stop
    }

    pub fn option(self, span: Span) -> PermissionOption {
        let (name, kind) = match (self, span) {
            (Self::GoOn, _) => ("Continue", PermissionKind::AllowOnce),
            (Self::Lift, Span::Turn) => {
                ("Continue without any limit in this turn", PermissionKind::AllowAlways)
            }
            (Self::Lift, Span::Session) => {
                ("Continue without any limit in this session", PermissionKind::AllowAlways)
            }
            (Self::Stop, _) => ("Stop the turn", PermissionKind::RejectOnce),
        };
        PermissionOption { id: self.id().to_owned(), name: name.to_owned(), kind }
    }
}

impl Reached {
    fn done(&self) -> f64 {
        self.used - self.not_begun as f64
    }

    /// The same where so many of the commands that were counted have not begun: the next of them may be what is beyond.
    pub fn without(mut self, not_begun: usize) -> Self {
        if self.measure == Measure::Commands {
            self.not_begun = not_begun;
            self.is_wanted |= self.done() <= self.limit;
        }
        self
    }

    /// As it stands after the agent's name: `changed 31 files in this turn; your limit is 30`.
    pub fn words(&self) -> String {
        let span = match self.span {
            Span::Turn => "this turn",
            Span::Session => "this session",
        };
        if self.is_wanted {
            let (verb, what) = match self.measure {
                Measure::Commands => ("run", "command"),
                _ => ("change", "file"),
            };
            let plural = if self.limit == 1.0 { "" } else { "s" };
            return format!(
                "wants to {verb} more than {} {what}{plural} in {span}, your limit",
                self.limit as u64
            );
        }
        let number = |number: f64| (number as u64).to_string();
        let count = |what: &str| match self.done() as u64 {
            1 => format!("1 {what}"),
            used => format!("{used} {what}s"),
        };
        let (did, limit) = match self.measure {
            Measure::Time => (format!("has worked for {}", time(self.used)), time(self.limit)),
            Measure::Cost => (format!("has cost {:.2}", self.used), format!("{:.2}", self.limit)),
            Measure::Commands => (format!("has run {}", count("command")), number(self.limit)),
            Measure::Files => (format!("has changed {}", count("file")), number(self.limit)),
            Measure::Lines => (format!("has changed {}", count("line")), number(self.limit)),
        };
        format!("{did} in {span}; your limit is {limit}")
    }
}

/// Milliseconds as one reads them.
fn time(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        return format!("{} ms", milliseconds as u64);
    }
    let seconds = (milliseconds / 1000.0).round() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

impl Used {
    pub fn reached(&self, span: Span, limits: &Limits, worked: u64, cost: f64) -> Option<Reached> {
        let count = |number: Option<usize>| number.map(|number| number as f64);
        let all = [
            (Measure::Time, limits.time.map(|time| time as f64), worked as f64),
            (Measure::Cost, limits.cost, cost),
            (Measure::Commands, count(limits.commands), self.commands as f64),
            (Measure::Files, count(limits.files), self.files.len() as f64),
            (Measure::Lines, count(limits.lines), self.lines as f64),
        ];
        let reached = all.into_iter().filter(|_| !self.lifted).filter_map(|(measure, limit, used)| {
            let limit = limit? * self.times(measure);
            // As much as that is within it, but time and money are never just that.
            let is_reached = match measure {
                Measure::Time | Measure::Cost => used >= limit,
                _ => used > limit,
            };
            is_reached.then_some(Reached { span, measure, used, not_begun: 0, limit, is_wanted: false })
        });
        reached.into_iter().next()
    }

    /// As many times the limit counts by now.
    pub fn times(&self, measure: Measure) -> f64 {
        f64::from(1 + self.passed.get(&measure).copied().unwrap_or(0))
    }

    pub fn ceiling(&self, limits: &Limits) -> Ceiling {
        let now = |limit: Option<usize>, measure| {
            limit.filter(|_| !self.lifted).map(|limit| (limit as f64 * self.times(measure)) as usize)
        };
        Ceiling {
            files: now(limits.files, Measure::Files),
            commands: now(limits.commands, Measure::Commands),
        }
    }

    /// The limit is as much further on as it takes to be beyond what is used.
    pub fn pass(&mut self, reached: &Reached) {
        let step = reached.limit / self.times(reached.measure);
        if step <= 0.0 {
            // No number of times makes more of nothing.
            self.lifted = true;
            return;
        }
        let passed = self.passed.entry(reached.measure).or_insert(0);
        while step * f64::from(1 + *passed) <= reached.used {
            *passed += 1;
        }
    }
}
