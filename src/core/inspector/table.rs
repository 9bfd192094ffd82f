//! The messages that were told of, with what belongs together: a request and its answer, how long that took, and what
//! is wrong with either. It holds what the ring holds and no more.

use std::collections::{HashMap, VecDeque};

use super::Batch;
use super::ring::Way;
use super::summary::{Kind, Summary};
use crate::core::replay;

/// An answer that took longer is slow, in milliseconds.
pub const SLOW: u64 = 2000;

/// What waits for a person, or for as long as the work takes: these are never slow.
const PATIENT: &[&str] = &[
    "session/prompt",
    "session/request_permission",
    "elicitation/create",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/wait_for_exit",
    "mcp/message",
    "authenticate",
    "auth/login",
    "_session/steering",
];

/// The notifications of agents that are understood, but for those of extensions.
pub const NOTIFICATIONS: &[&str] =
    &["session/update", "elicitation/complete", "auth/status_update", "$/cancel_request"];

/// The updates that are understood, in any version and dialect.
pub const UPDATES: &[&str] = &[
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "thought_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "plan_update",
    "plan_removed",
    "prompt_suggestions_update",
    "available_commands",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
    "subagent_update",
    "subagent_spawned",
    "subagent_state_update",
    "session_message",
    "session_message_chunk",
    "user_message",
    "agent_message",
    "agent_thought",
    "state_update",
    "terminal_update",
    "terminal_output_chunk",
    "tool_call_content_chunk",
];

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    UnknownUpdate,
    UnknownMethod,
    /// The request was answered with this error.
    Failed(i64),
    Slow,
    /// The agent was gone before it was answered.
    Unanswered,
    /// An answer to nothing that was asked.
    Unasked,
    NoMessage,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub summary: Summary,
    /// The number of the request that this answers, or of the answer to this.
    pub pair: Option<u64>,
    /// Between the two, in milliseconds.
    pub took: Option<u64>,
    /// Of an answer, the method of its request.
    pub answers: Option<String>,
    pub problem: Option<Problem>,
    /// A request that has no answer yet.
    pub is_open: bool,
}

/// Who asked what: the agent, which way the request went, its id.
type Asked = (u32, Way, String);

#[derive(Debug, Default)]
pub struct Table {
    pub agents: Vec<String>,
    rows: VecDeque<Row>,
    /// The number of the oldest message that there still is.
    first: u64,
    /// The number that comes next.
    next: u64,
    open: HashMap<Asked, u64>,
}

impl Table {
    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.rows.iter()
    }

    pub fn get(&self, number: u64) -> Option<&Row> {
        self.rows.get(self.place(number)?)
    }

    fn place(&self, number: u64) -> Option<usize> {
        let at = self.rows.partition_point(|row| row.summary.number < number);
        self.rows.get(at).filter(|row| row.summary.number == number).map(|_| at)
    }

    fn change(&mut self, number: u64, change: impl FnOnce(&mut Row)) {
        if let Some(at) = self.place(number) {
            change(&mut self.rows[at]);
        }
    }

    /// Takes in what came. Gives the numbers of older rows that say something else now.
    pub fn add(&mut self, batch: Batch) -> Vec<u64> {
        while self.rows.front().is_some_and(|row| row.summary.number < batch.first) {
            self.rows.pop_front();
        }
        self.open.retain(|_, number| *number >= batch.first);
        self.agents = batch.agents;
        (self.first, self.next) = (batch.first, batch.next);
        let begin = batch.summaries.first().map_or(batch.next, |summary| summary.number);
        let mut changed = Vec::new();
        for summary in batch.summaries {
            let row = self.row(summary, &mut changed);
            self.rows.push_back(row);
        }
        changed.retain(|number| *number < begin);
        changed
    }

    fn row(&mut self, summary: Summary, changed: &mut Vec<u64>) -> Row {
        let mut row = Row { summary, pair: None, took: None, answers: None, problem: None, is_open: false };
        let Summary { number, at, agent, way, .. } = row.summary;
        match &row.summary.kind {
            Kind::Request { id, .. } => {
                // An id that is used again asks something new.
                self.open.insert((agent, way, id.clone()), number);
                row.is_open = true;
            }
            Kind::Notification { method, update } => {
                let is_known = update.as_deref().is_none_or(is_known_update);
                if !is_known {
                    row.problem = Some(Problem::UnknownUpdate);
                } else if way == Way::FromAgent && !is_known_notification(method) {
                    row.problem = Some(Problem::UnknownMethod);
                }
            }
            Kind::Answer { id, error } => {
                let asked = if way == Way::ToAgent { Way::FromAgent } else { Way::ToAgent };
                let code = error.as_ref().map(|(code, _)| *code);
                match self.open.remove(&(agent, asked, id.clone())) {
                    Some(request) => {
                        self.answered(&mut row, request, (at, code));
                        changed.push(request);
                    }
                    None if self.has_all_of(agent) => row.problem = Some(Problem::Unasked),
                    // What it answers may be forgotten.
                    None => row.problem = code.map(Problem::Failed),
                }
            }
            Kind::Noise(_) => row.problem = Some(Problem::NoMessage),
            Kind::Text(_) if way == Way::End => {
                let gone: Vec<Asked> = self.open.keys().filter(|asked| asked.0 == agent).cloned().collect();
                for asked in gone {
                    let Some(request) = self.open.remove(&asked) else { continue };
                    self.change(request, |row| {
                        row.is_open = false;
                        row.problem = Some(Problem::Unanswered);
                    });
                    changed.push(request);
                }
            }
            Kind::Text(_) => {}
        }
        row
    }

    /// Whether nothing that went to the agent or came from it was given up to make room.
    fn has_all_of(&self, agent: u32) -> bool {
        let is_beginning = |row: &Row| {
            let summary = &row.summary;
            summary.agent == agent
                && matches!(&summary.kind, Kind::Request { method, .. } if method == "initialize")
        };
        self.first == 0 || self.rows.iter().any(is_beginning)
    }

    fn answered(&mut self, answer: &mut Row, request: u64, (at, code): (u64, Option<i64>)) {
        let number = answer.summary.number;
        self.change(request, |row| {
            let took = at.saturating_sub(row.summary.at);
            row.is_open = false;
            row.pair = Some(number);
            row.took = Some(took);
            let Kind::Request { method, .. } = &row.summary.kind else { return };
            let problem = match code {
                Some(-32601) => Some(Problem::UnknownMethod),
                Some(code) => Some(Problem::Failed(code)),
                None if took > SLOW && !PATIENT.contains(&method.as_str()) => Some(Problem::Slow),
                None => None,
            };
            row.problem.clone_from(&problem);
            answer.answers = Some(method.clone());
            answer.pair = Some(request);
            answer.took = Some(took);
            answer.problem = match problem {
                Some(Problem::UnknownMethod) => code.map(Problem::Failed),
                problem => problem,
            };
        });
    }

    /// When the oldest request that should have an answer by then becomes one that is slow.
    pub fn slow_at(&self, now: u64) -> Option<u64> {
        let open = self.open.values().filter_map(|number| self.get(*number));
        open.filter(|row| row.can_be_slow()).map(|row| row.summary.at + SLOW + 1).filter(|at| *at > now).min()
    }
}

impl Row {
    fn can_be_slow(&self) -> bool {
        matches!(&self.summary.kind, Kind::Request { method, .. } if !PATIENT.contains(&method.as_str()))
    }

    /// What is wrong with it at this time.
    pub fn problem_at(&self, now: u64) -> Option<Problem> {
        let is_late = self.is_open && self.can_be_slow() && now > self.summary.at + SLOW;
        self.problem.clone().or_else(|| is_late.then_some(Problem::Slow))
    }
}

/// What a replay is told by besides what was recorded is none of the agent's.
fn is_known_update(update: &str) -> bool {
    UPDATES.contains(&update) || [replay::TURN_ENDED, replay::OVER].contains(&update)
}

fn is_known_notification(method: &str) -> bool {
    // Others' extensions begin with an underscore, and what may be ignored with a dollar.
    method.starts_with(['_', '$']) || NOTIFICATIONS.contains(&method)
}

impl Problem {
    /// In a few words.
    pub fn text(&self) -> String {
        match self {
            Self::UnknownUpdate => "unknown update".into(),
            Self::UnknownMethod => "unknown method".into(),
            Self::Failed(code) => format!("error {code}"),
            Self::Slow => "slow".into(),
            Self::Unanswered => "never answered".into(),
            Self::Unasked => "answers nothing".into(),
            Self::NoMessage => "no message".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn came(number: u64, at: u64, (agent, way): (u32, Way), kind: Kind) -> Summary {
        Summary { number, at, agent, way, size: 10, kind }
    }

    fn request(id: &str, method: &str) -> Kind {
        Kind::Request { id: id.into(), method: method.into() }
    }

    fn answer(id: &str, error: Option<(i64, String)>) -> Kind {
        Kind::Answer { id: id.into(), error }
    }

    fn table(summaries: Vec<Summary>) -> Table {
        let mut table = Table::default();
        let next = summaries.last().map_or(0, |last| last.number + 1);
        table.add(Batch { first: 0, next, agents: vec!["a".into(), "b".into()], summaries });
        table
    }

    const OUT: (u32, Way) = (0, Way::ToAgent);
    const IN: (u32, Way) = (0, Way::FromAgent);

    #[test]
    fn an_answer_is_paired_with_its_request_and_has_its_method_and_its_time() {
        let table = table(vec![
            came(0, 100, OUT, request("1", "session/prompt")),
            // The same id the other way, and with another agent, is another request.
            came(1, 110, IN, request("1", "fs/read_text_file")),
            came(2, 120, (1, Way::ToAgent), request("1", "initialize")),
            came(3, 150, OUT, answer("1", None)),
            came(4, 5000, IN, answer("1", None)),
        ]);
        let facts = |number| {
            let row = table.get(number).expect("there");
            (row.pair, row.took, row.answers.clone(), row.is_open)
        };
        assert_eq!(facts(0), (Some(4), Some(4900), None, false));
        assert_eq!(facts(3), (Some(1), Some(40), Some("fs/read_text_file".into()), false));
        assert_eq!(facts(4), (Some(0), Some(4900), Some("session/prompt".into()), false));
        assert_eq!(facts(2), (None, None, None, true));
        assert!(table.rows().all(|row| row.problem.is_none()), "a prompt may take its time");
    }

    #[test]
    fn what_is_wrong_is_marked_on_both_ends() {
        let update =
            |kind: &str| Kind::Notification { method: "session/update".into(), update: Some(kind.into()) };
        let table = table(vec![
            came(0, 0, IN, update("plan")),
            came(1, 0, IN, update("hologram")),
            came(2, 0, IN, Kind::Notification { method: "session/blink".into(), update: None }),
            came(3, 0, IN, Kind::Notification { method: "_theirs".into(), update: None }),
            came(4, 0, OUT, request("1", "session/fork")),
            came(5, 1, IN, answer("1", Some((-32601, "no".into())))),
            came(6, 0, OUT, request("2", "session/new")),
            came(7, 2001, IN, answer("2", None)),
            came(8, 0, IN, Kind::Noise("hello".into())),
            came(9, 0, IN, answer("9", None)),
            came(10, 0, OUT, request("3", "session/prompt")),
            came(11, 9, (0, Way::End), Kind::Text("exited with code 1".into())),
            came(12, 10, IN, update(replay::TURN_ENDED)),
            came(13, 10, IN, update(replay::OVER)),
        ]);
        let problems: Vec<Option<String>> =
            table.rows().map(|row| row.problem_at(0).map(|problem| problem.text())).collect();
        let expected = [
            None,
            Some("unknown update"),
            Some("unknown method"),
            None,
            Some("unknown method"),
            Some("error -32601"),
            Some("slow"),
            Some("slow"),
            Some("no message"),
            Some("answers nothing"),
            Some("never answered"),
            None,
            None,
            None,
        ];
        assert_eq!(problems, expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn nothing_is_wrong_with_what_is_served_or_waits_for_a_person() {
        let mut summaries: Vec<Summary> = Vec::new();
        for method in NOTIFICATIONS.iter().chain(&["_auth/status_update"]) {
            let told = Kind::Notification { method: (*method).into(), update: None };
            summaries.push(came(summaries.len() as u64, 0, IN, told));
        }
        for (way, method) in [
            (OUT, "auth/login"),
            (IN, "mcp/message"),
            (IN, "terminal/create"),
            (IN, "fs/read_text_file"),
            (IN, "fs/write_text_file"),
        ] {
            let number = summaries.len() as u64;
            summaries.push(came(number, 0, way, request(method, method)));
            let back = if way == OUT { IN } else { OUT };
            summaries.push(came(number + 1, SLOW + 1, back, answer(method, None)));
        }
        let table = table(summaries);
        let problems: Vec<&Row> = table.rows().filter(|row| row.problem_at(u64::MAX).is_some()).collect();
        assert!(problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn a_request_without_an_answer_becomes_slow_by_itself() {
        let table = table(vec![
            came(0, 100, OUT, request("1", "session/new")),
            came(1, 100, OUT, request("2", "session/prompt")),
        ]);
        let slow = |number, now| table.get(number).expect("there").problem_at(now).is_some();
        assert_eq!(table.slow_at(100), Some(100 + SLOW + 1));
        assert!(!slow(0, 100 + SLOW) && slow(0, 101 + SLOW) && !slow(1, u64::MAX));
        assert_eq!(table.slow_at(101 + SLOW), None);
    }

    #[test]
    fn rows_go_with_the_ring_and_the_other_half_of_a_pair_stays() {
        let mut table = table(vec![
            came(0, 0, OUT, request("1", "initialize")),
            came(1, 0, OUT, request("2", "session/new")),
            came(2, 1, IN, answer("1", None)),
        ]);
        let batch = Batch {
            first: 2,
            next: 4,
            summaries: vec![came(3, 5, IN, answer("2", None))],
            ..Batch::default()
        };
        assert_eq!(table.add(batch), [0; 0], "who is gone does not change");
        assert_eq!(table.rows().map(|row| row.summary.number).collect::<Vec<_>>(), [2, 3]);
        assert!(table.get(0).is_none() && table.slow_at(0).is_none());
    }

    #[test]
    fn an_answer_whose_request_was_given_up_for_room_is_no_problem() {
        let problems = |first: u64, summaries: Vec<Summary>| {
            let mut table = Table::default();
            table.add(Batch { first, next: 20, summaries, ..Batch::default() });
            table.rows().map(|row| row.problem.clone()).collect::<Vec<_>>()
        };
        let told = || Kind::Notification { method: "session/update".into(), update: None };
        let late = |number| vec![came(number, 0, IN, told()), came(number + 1, 0, IN, answer("3", None))];
        assert_eq!(problems(0, late(0)), [None, Some(Problem::Unasked)]);
        assert_eq!(problems(7, late(7)), [None, None]);
        let failed = vec![came(7, 0, IN, told()), came(8, 0, IN, answer("3", Some((-32603, "no".into()))))];
        assert_eq!(problems(7, failed), [None, Some(Problem::Failed(-32603))]);
        // Others' messages may be given up; of an agent that began later all is there.
        let later = [vec![came(8, 0, OUT, request("1", "initialize"))], late(9)].concat();
        assert_eq!(problems(7, later), [None, None, Some(Problem::Unasked)]);
        // So it is where somebody looked all the time.
        let mut table = table(vec![came(0, 0, OUT, request("3", "session/prompt"))]);
        table.add(Batch { first: 5, next: 7, summaries: late(5), ..Batch::default() });
        assert!(table.rows().all(|row| row.problem.is_none()));
    }

    proptest! {
        #[test]
        fn pairs_are_right_however_messages_are_mixed(
            // For each request: its agent, its way, how many are asked before it is answered.
            asks in prop::collection::vec((0..2_u32, any::<bool>(), 0..6_usize), 1..60),
            split in 1..7_usize,
        ) {
            let mut due: Vec<(usize, u64, u32, Way, String)> = Vec::new();
            let (mut summaries, mut pairs) = (Vec::new(), Vec::new());
            let mut number = 0;
            let mut answer_due = |due: &mut Vec<(usize, u64, u32, Way, String)>, all: bool, number: &mut u64, out: &mut Vec<Summary>| {
                due.iter_mut().for_each(|each| each.0 = each.0.saturating_sub(1));
                while let Some(at) = due.iter().position(|each| all || each.0 == 0) {
                    let (_, asked, agent, way, id) = due.remove(at);
                    let back = if way == Way::ToAgent { Way::FromAgent } else { Way::ToAgent };
                    out.push(came(*number, *number, (agent, back), answer(&id, None)));
                    pairs.push((asked, *number));
                    *number += 1;
                }
            };
            for (index, (agent, to_agent, wait)) in asks.iter().enumerate() {
                let way = if *to_agent { Way::ToAgent } else { Way::FromAgent };
                // Ids are used by both sides and by all agents, and are free again once answered.
                let id = (0..).map(|id: usize| id.to_string())
                    .find(|id| !due.iter().any(|each| (each.2, each.3, &each.4) == (*agent, way, id)))
                    .expect("one is free");
                summaries.push(came(number, number, (*agent, way), request(&id, &format!("m{index}"))));
                due.push((*wait + 1, number, *agent, way, id));
                number += 1;
                answer_due(&mut due, false, &mut number, &mut summaries);
            }
            answer_due(&mut due, true, &mut number, &mut summaries);
            let mut table = Table::default();
            for part in summaries.chunks(split) {
                let next = part[part.len() - 1].number + 1;
                table.add(Batch { first: 0, next, summaries: part.to_vec(), ..Batch::default() });
            }
            for (asked, answered) in pairs {
                let (one, other) = (table.get(asked).expect("there"), table.get(answered).expect("there"));
                prop_assert_eq!((one.pair, other.pair), (Some(answered), Some(asked)));
                let Kind::Request { method, .. } = &one.summary.kind else { panic!("a request") };
                prop_assert_eq!(other.answers.as_ref(), Some(method));
                prop_assert_eq!(one.took, Some(answered - asked));
            }
            prop_assert!(table.rows().all(|row| !row.is_open && row.problem.is_none()));
        }
    }
}
