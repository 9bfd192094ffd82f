//! What sessions have used up, as it is kept: an append-only list of what was new each time, so that no Neovim loses
//! what another writes, and the sums that a page shows of it. What is new is `core::session::meter`'s part; where the
//! list is kept is left to `acp::store::usage_log`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::core::ids::JobId;
use crate::core::message::spent::{Spent, Told};

/// Lines that are older are joined where there are too many of them.
const RECENT: u64 = 86_400_000;

/// What is joined keeps its time to a quarter of an hour, by which all time zones differ.
const BUCKET: u64 = 15 * 60_000;

/// One line: what a session has used up since the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Milliseconds since 1970.
    pub at: u64,
    /// The configured name.
    pub agent: String,
    /// The agent's own id of the session; empty where those of several were joined.
    pub session: String,
    pub spent: Spent,
    /// The sums that the agent had told by then.
    pub told: Told,
}

/// What the editor wants of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    Keep(Box<Line>),
    /// What a session told last. Answered by `UsageRead`, as are the sums.
    Last {
        job: JobId,
        agent: String,
        session: String,
    },
    Sum {
        job: JobId,
        spans: Spans,
        /// The agent and its id of the session that is looked at.
        session: Option<(String, String)>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Last(Option<Told>),
    Sums(Box<Sums>),
}

/// When days and months begin where the user is, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spans {
    pub today: u64,
    pub month: u64,
    pub last_month: u64,
}

/// What was used up, by the configured names of agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// Of the session that was asked for.
    pub session: Option<Sum>,
    pub today: BTreeMap<String, Sum>,
    pub month: BTreeMap<String, Sum>,
    pub last_month: BTreeMap<String, Sum>,
    /// Lines that can't be read.
    pub broken: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub spent: Spent,
    pub sessions: u64,
    /// When the first of it was used up.
    pub since: u64,
}

/// Adds lines up.
pub struct Adding {
    spans: Spans,
    session: Option<(String, String)>,
    sums: Sums,
    seen: BTreeSet<(u8, String, String)>,
}

impl Adding {
    pub fn new(spans: Spans, session: Option<(String, String)>) -> Self {
        Self { spans, session, sums: Sums::default(), seen: BTreeSet::new() }
    }

    pub fn broken(&mut self) {
        self.sums.broken += 1;
    }

    pub fn add(&mut self, line: &Line) {
        let Spans { today, month, last_month } = self.spans;
        let is_asked = self
            .session
            .as_ref()
            .is_some_and(|(agent, session)| *agent == line.agent && *session == line.session);
        if is_asked {
            self.sums.session.get_or_insert_default().add(line, false);
        }
        let spans = [
            (0, line.at >= today, &mut self.sums.today),
            (1, line.at >= month, &mut self.sums.month),
            (2, (last_month..month).contains(&line.at), &mut self.sums.last_month),
        ];
        for (number, is_in, sums) in spans {
            if is_in {
                let is_new = self.seen.insert((number, line.agent.clone(), line.session.clone()));
                sums.entry(line.agent.clone()).or_default().add(line, is_new);
            }
        }
    }

    pub fn sums(self) -> Sums {
        self.sums
    }
}

impl Sum {
    fn add(&mut self, line: &Line, is_new: bool) {
        let is_first = self.spent.is_nothing() || line.at < self.since;
        if is_first {
            self.since = line.at;
        }
        self.spent.add(&line.spent);
        self.sessions += u64::from(is_new);
    }

    /// The sum of several agents.
    pub fn of_all<'a>(sums: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self { since: u64::MAX, ..Self::default() };
        for sum in sums {
            all.spent.add(&sum.spent);
            all.sessions += sum.sessions;
            all.since = all.since.min(sum.since);
        }
        all
    }
}

/// The same in fewer lines: of what is not of today, one for each quarter of an hour and session. `roughly` also joins
/// sessions, which are then not known any more.
pub fn joined(lines: Vec<Line>, now: u64, roughly: bool) -> Vec<Line> {
    let mut joined: Vec<Line> = Vec::new();
    let mut places: BTreeMap<(u64, String, String), usize> = BTreeMap::new();
    for mut line in lines {
        if line.at.saturating_add(RECENT) > now {
            joined.push(line);
            continue;
        }
        if roughly {
            (line.session, line.told) = (String::new(), Told::default());
        }
        let key = (line.at / BUCKET, line.agent.clone(), line.session.clone());
        match places.get(&key) {
            Some(place) => {
                joined[*place].spent.add(&line.spent);
                joined[*place].told = line.told;
            }
            None => {
                places.insert(key, joined.len());
                joined.push(line);
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::turn::Tokens;
    use crate::core::message::update::Cost;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;

    fn line(at: u64, agent: &str, session: &str, dollars: f64) -> Line {
        let costs = vec![Cost { amount: dollars, currency: "USD".into() }];
        let tokens = Some(Tokens { total: 10, input: 8, output: 2, ..Tokens::default() });
        Line {
            at,
            agent: agent.into(),
            session: session.into(),
            spent: Spent { costs: costs.clone(), tokens, turns: 1, at_least: false },
            told: Told { costs, tokens },
        }
    }

    fn sums(lines: &[Line]) -> Sums {
        let spans = Spans { today: 40 * DAY, month: 35 * DAY, last_month: 5 * DAY };
        let mut adding = Adding::new(spans, Some(("claude".into(), "a".into())));
        lines.iter().for_each(|line| adding.add(line));
        adding.sums()
    }

    fn of(sums: &BTreeMap<String, Sum>) -> Vec<(&str, f64, u64, u64)> {
        let one = |(name, sum): (&'static str, &Sum)| {
            (name, sum.spent.costs[0].amount, sum.sessions, sum.spent.turns)
        };
        let names = ["claude", "codex"];
        names.into_iter().filter_map(|name| Some(one((name, sums.get(name)?)))).collect()
    }

    #[test]
    fn what_was_used_up_is_added_by_day_month_session_and_agent() {
        let sums = sums(&[
            line(4 * DAY, "claude", "a", 64.0),
            line(34 * DAY, "claude", "a", 8.0),
            line(36 * DAY, "codex", "c", 4.0),
            line(40 * DAY - 1, "claude", "b", 2.0),
            line(40 * DAY, "claude", "a", 1.0),
            line(41 * DAY, "claude", "a", 0.5),
        ]);
        assert_eq!(of(&sums.today), [("claude", 1.5, 1, 2)]);
        assert_eq!(of(&sums.month), [("claude", 3.5, 2, 3), ("codex", 4.0, 1, 1)]);
        assert_eq!(of(&sums.last_month), [("claude", 8.0, 1, 1)]);
        let session = sums.session.expect("its session");
        assert_eq!((session.spent.costs[0].amount, session.spent.turns, session.since), (73.5, 4, 4 * DAY));
        let all = Sum::of_all(sums.month.values());
        assert_eq!((all.spent.costs[0].amount, all.sessions), (7.5, 3));
    }

    #[test]
    fn fewer_lines_have_the_same_sums() {
        let mut lines: Vec<Line> = (0..200)
            .map(|at| line(36 * DAY + at * 60_000, if at % 3 == 0 { "codex" } else { "claude" }, "a", 0.25))
            .collect();
        lines.push(line(41 * DAY - HOUR, "claude", "a", 0.25));
        let before = sums(&lines);
        let fewer = joined(lines.clone(), 41 * DAY, false);
        assert!(fewer.len() < 35, "{}", fewer.len());
        assert_eq!(sums(&fewer), before);
        assert_eq!(fewer.last(), lines.last(), "what is of today stays as it is");
        let sessions: Vec<Line> =
            (0..200).map(|at| line(36 * DAY, "claude", &at.to_string(), 0.25)).collect();
        let roughly = joined(sessions.clone(), 41 * DAY, true);
        assert_eq!(roughly.len(), 1);
        assert_eq!(sums(&roughly).month["claude"].spent, sums(&sessions).month["claude"].spent);
    }
}
