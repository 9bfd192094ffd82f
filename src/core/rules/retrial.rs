//! Today's rules held against what agents asked for in the past: what would have been decided in another way, and which
//! rules would have spared the user the most questions. Plain data in and out; the record is read elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::offer::{Offer, Scope};
use super::request::{Act, Request};
use super::rule::{Decision, Rule};
use super::ruling::Ruling;
use crate::core::audit::line::{By, Decision as Decided, Line, What};
use crate::core::message::call::ToolKind;

/// So many rules are proposed at the most, and a rule names so many of the requests that it would have answered.
const MOST_PROPOSALS: usize = 8;
const MOST_EXAMPLES: usize = 3;

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Fate {
    /// The user was asked.
    Asked,
    Allowed,
    Rejected,
}

/// What came of holding the rules against the past.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrial {
    /// So many requests were there.
    pub requests: usize,
    /// Of them the user was asked, and would be.
    pub asked: usize,
    pub asked_now: usize,
    /// What would be decided in another way, the most frequent first.
    pub changes: Vec<Change>,
    pub proposals: Vec<Proposal>,
}

/// Requests that would be decided in another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub was: Fate,
    pub now: Fate,
    pub what: String,
    /// The rule that decides now, or why the user is asked.
    pub why: String,
    pub count: usize,
}

/// Rules that would have answered questions as the user did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    pub offer: Offer,
    pub answers: usize,
    pub examples: Vec<String>,
}

/// What came of one request.
pub struct Judged {
    /// With the rules that could be made of it.
    pub ruling: Ruling,
    /// Users who forbid some commands are asked about those that can't be judged.
    pub forbids: bool,
}

/// Holds rules against lines of the record; `judge` gives what comes of a request of an agent.
pub fn retrial(lines: &[Line], judge: impl Fn(Request, &str) -> Judged) -> Retrial {
    let mut trial = Retrial::default();
    let mut changes: BTreeMap<(Fate, Fate, String), (String, usize)> = BTreeMap::new();
    let mut asked = Vec::new();
    let mut rejected: Vec<Vec<Offer>> = Vec::new();
    for line in lines {
        let (Some(was), Some(request)) = (fate_of(line), request_of(line)) else { continue };
        let judged = judge(request, &line.agent);
        let now = fate_now(line.what, &judged);
        trial.requests += 1;
        trial.asked += usize::from(was == Fate::Asked);
        trial.asked_now += usize::from(now == Fate::Asked);
        let what = what_of(line);
        if was != now {
            let entry = changes.entry((was, now, what.clone())).or_default();
            *entry = (judged.ruling.why, entry.1 + 1);
        }
        if was != Fate::Asked || now != Fate::Asked || line.what != What::Permission {
            continue;
        }
        match line.decision {
            Some(Decided::Allowed) => asked.push((what, judged.ruling.offers)),
            Some(Decided::Rejected) => rejected.push(judged.ruling.offers),
            _ => {}
        }
    }
    let change = |((was, now, what), (why, count))| Change { was, now, what, why, count };
    trial.changes = changes.into_iter().map(change).collect();
    trial.changes.sort_by_key(|change| usize::MAX - change.count);
    trial.proposals = propose(asked, &rejected);
    trial
}

/// The rules that answer the most questions first; then those that answer the most of the rest, and so on. None would
/// have allowed what the user rejected.
fn propose(mut asked: Vec<(String, Vec<Offer>)>, rejected: &[Vec<Offer>]) -> Vec<Proposal> {
    let mut proposals = Vec::new();
    while proposals.len() < MOST_PROPOSALS {
        let mut counts: Vec<(&Offer, usize)> = Vec::new();
        // The widest first.
        for offer in asked.iter().flat_map(|(_, offers)| offers.iter().rev()).filter(|offer| allows(offer)) {
            match counts.iter_mut().find(|(known, _)| *known == offer) {
                Some((_, count)) => *count += 1,
                None if rejected.iter().flatten().any(|other| other == offer) => {}
                None => counts.push((offer, 1)),
            }
        }
        // Of rules that answer equally much the later one is narrower.
        let best = counts.into_iter().filter(|(_, count)| *count > 1).max_by_key(|(_, count)| *count);
        let Some((offer, answers)) = best else { break };
        let offer = offer.clone();
        let (answered, rest): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|(_, offers)| offers.contains(&offer));
        let offer = narrowed(offer, answered.iter().map(|(_, offers)| &**offers));
        let mut examples: Vec<String> = answered.into_iter().map(|(what, _)| what).collect();
        examples.dedup();
        examples.truncate(MOST_EXAMPLES);
        proposals.push(Proposal { offer, answers, examples });
        asked = rest;
    }
    proposals
}

/// The rule that allows these requests and least beside them. Each has been offered what allows it alone.
fn narrowed<'o>(offer: Offer, answered: impl Iterator<Item = &'o [Offer]>) -> Offer {
    let shape = |offer: &Offer| match &offer.rules[..] {
        [rule] => rule.command.clone(),
        _ => None,
    };
    let alone = |offers: &[Offer]| {
        let shape = shape(offers.iter().find(|offer| allows(offer))?)?;
        let words: Vec<String> = shape.split(' ').map(str::to_owned).collect();
        // A shape for more than one request.
        let is_plain = !words.iter().any(|word| word.contains('*') || word.starts_with('!'));
        is_plain.then_some(words)
    };
    let (Some(wide), Some(all)) = (shape(&offer), answered.map(alone).collect::<Option<Vec<_>>>()) else {
        return offer;
    };
    let Some((first, rest)) = all.split_first() else { return offer };
    let is_same = |at: usize| rest.iter().all(|words| words.get(at) == first.get(at));
    let mut words: Vec<&str> = match rest.iter().all(|words| words.len() == first.len()) {
        true => (0..first.len()).map(|at| if is_same(at) { &*first[at] } else { "*" }).collect(),
        false => {
            let alike = (0..first.len()).take_while(|at| is_same(*at)).map(|at| &*first[at]);
            alike.chain(["**"]).collect()
        }
    };
    words.extend(wide.split(' ').filter(|word| word.starts_with('!')));
    let command = Some(words.join(" "));
    Offer { rules: offer.rules.into_iter().map(|rule| Rule { command: command.clone(), ..rule }).collect() }
}

fn allows(offer: &Offer) -> bool {
    offer.rules.iter().all(|rule| rule.decision == Decision::Allow)
}

/// What became of it then, where rules would have had a say.
fn fate_of(line: &Line) -> Option<Fate> {
    let fate = match line.decision? {
        Decided::Allowed => Fate::Allowed,
        Decided::Rejected => Fate::Rejected,
        Decided::Undecided => return None,
    };
    match (line.what, line.by?) {
        // What was rejected since the user had left would have been asked.
        (What::Permission, By::Person | By::Auto) => Some(Fate::Asked),
        (What::Read | What::Write | What::Command, By::Person | By::Auto) if line.rule.is_some() => {
            Some(Fate::Asked)
        }
        (What::Permission | What::Read | What::Write | What::Command, By::Rule) => Some(fate),
        (What::Read | What::Write | What::Command, By::Default) if fate == Fate::Allowed => Some(fate),
        _ => None,
    }
}

fn fate_now(what: What, judged: &Judged) -> Fate {
    let of = |decision| match decision {
        Decision::Allow => Fate::Allowed,
        Decision::Ask => Fate::Asked,
        Decision::Reject => Fate::Rejected,
    };
    match what {
        What::Permission => judged.ruling.decision.map_or(Fate::Asked, of),
        _ => judged.ruling.unasked(judged.forbids).map_or(Fate::Allowed, |(decision, _)| of(decision)),
    }
}

/// What was asked for, as far as the record knows it.
fn request_of(line: &Line) -> Option<Request> {
    let kind = line.tool.unwrap_or(match line.what {
        What::Read => ToolKind::Read,
        What::Write => ToolKind::Edit,
        What::Command => ToolKind::Execute,
        _ => ToolKind::Other,
    });
    let writes =
        line.what == What::Write || matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
    let acts: Vec<Act> = match &line.command {
        Some(command) if line.args.is_empty() => vec![Act::Line(command.clone())],
        Some(command) => vec![Act::Words([command].into_iter().chain(&line.args).cloned().collect())],
        None => line.paths.iter().map(|path| Act::File { path: path.into(), writes }).collect(),
    };
    let folder = line.cwd.as_ref().filter(|_| line.what == What::Command).map(Into::into);
    let request = Request { kind: Some(kind.word().to_owned()), acts, folder, escapes: false };
    (!request.acts.is_empty()).then_some(request)
}

fn what_of(line: &Line) -> String {
    let files = || {
        let verb =
            if line.what == What::Read || line.tool == Some(ToolKind::Read) { "read" } else { "write" };
        format!("{verb} {}", line.paths.join(", "))
    };
    line.command_line().unwrap_or_else(files)
}

impl Proposal {
    /// The rules in words, as they would count for the project.
    pub fn label(&self) -> String {
        self.offer.label(Scope::Project)
    }
}

impl Fate {
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Allowed => "allowed",
            Self::Rejected => "rejected",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::core::rules::place::normal;
    use crate::core::rules::{Case, Source, in_force};

    fn asked(command: &str, decision: Decided) -> Line {
        Line {
            agent: "claude".into(),
            what: What::Permission,
            tool: Some(ToolKind::Execute),
            command: Some(command.into()),
            decision: Some(decision),
            by: Some(By::Person),
            ..Line::default()
        }
    }

    fn tried(lines: &[Line], own: &[Rule]) -> Retrial {
        retrial(lines, |request, agent| {
            let case = Case {
                request,
                agent: agent.to_owned(),
                cwd: "/p".into(),
                folders: vec!["/p".into()],
                rules: in_force(&[], own),
                ..Case::default()
            };
            let resolve = |path: &Path| Some(normal(path));
            let ruling = case.judge(&resolve);
            let offers = case.offers(&ruling, &resolve);
            Judged { forbids: case.forbids_commands(), ruling: Ruling { offers, ..ruling } }
        })
    }

    #[test]
    fn what_would_be_decided_in_another_way_is_told_with_the_rule() {
        let reject =
            Rule { command: Some("git push **".into()), ..Rule::new(Decision::Reject, Source::Options(1)) };
        let allow =
            Rule { command: Some("make **".into()), ..Rule::new(Decision::Allow, Source::Options(2)) };
        let wrote = Line {
            what: What::Write,
            paths: vec!["/p/.envrc".into()],
            decision: Some(Decided::Allowed),
            by: Some(By::Default),
            ..Line::default()
        };
        let lines = [
            asked("make all", Decided::Allowed),
            asked("make all", Decided::Allowed),
            asked("git push", Decided::Allowed),
            asked("touch a", Decided::Allowed),
            wrote,
            // Nobody decided it, and what is over is no request.
            Line { decision: Some(Decided::Undecided), ..asked("make b", Decided::Allowed) },
            Line { what: What::Call, ..asked("make b", Decided::Allowed) },
        ];
        let trial = tried(&lines, &[reject, allow]);
        assert_eq!((trial.requests, trial.asked, trial.asked_now), (5, 4, 2));
        let told: Vec<String> = trial
            .changes
            .iter()
            .map(|it| {
                format!("{} -> {}: {} x{}: {}", it.was.word(), it.now.word(), it.what, it.count, it.why)
            })
            .collect();
        assert_eq!(
            told,
            [
                "asked -> allowed: make all x2: allow command make ** (permission.rules[2])",
                "asked -> rejected: git push x1: reject command git push ** (permission.rules[1])",
                "allowed -> asked: write /p/.envrc x1: ask kind write, path .envrc (by default): what it holds is run later",
            ]
        );
    }

    #[test]
    fn the_rules_that_spare_the_most_questions_come_first_and_none_allows_what_was_rejected() {
        let mut lines: Vec<Line> =
            ["a", "b", "c"].map(|name| asked(&format!("just check {name}"), Decided::Allowed)).to_vec();
        lines.extend(["x", "y"].map(|name| asked(&format!("touch {name}"), Decided::Allowed)));
        lines.extend([1, 2].map(|_| asked("just deploy --now", Decided::Allowed)));
        lines.push(asked("just deploy --all", Decided::Rejected));
        lines.push(asked("mkdir z", Decided::Allowed));
        let trial = tried(&lines, &[]);
        let told: Vec<String> = trial
            .proposals
            .iter()
            .map(|it| format!("{}: {} ({})", it.label(), it.answers, it.examples.join(", ")))
            .collect();
        assert_eq!(
            told,
            [
                "Allow just check * in this project: 3 (just check a, just check b, just check c)",
                // Just this one: the like of it was rejected.
                "Allow just deploy --now in this project: 2 (just deploy --now)",
                "Allow touch * in this project: 2 (touch x, touch y)",
            ]
        );
    }

    #[test]
    fn no_rule_is_proposed_that_is_wider_than_what_was_asked() {
        for (commands, proposed) in [
            (&["./run.sh test a", "./run.sh test b"][..], "./run.sh test *"),
            (&["./run.sh test a", "./run.sh test b --fast", "./run.sh test"], "./run.sh test **"),
            (&["npm run lint --fix a", "npm run lint --fix b"], "npm run lint --fix *"),
            (&["npm run lint", "npm run lint"], "npm run lint"),
            (&["cargo test -q a", "cargo test -q b"], "cargo test -q * !--config !-Z"),
            (&["touch a", "touch -c b"], "touch **"),
            // What has signs of a shape in it stands for no word.
            (&["touch 'a b'", "touch 'c d'"], "touch **"),
        ] {
            let lines: Vec<Line> = commands.iter().map(|command| asked(command, Decided::Allowed)).collect();
            let told: Vec<String> = tried(&lines, &[]).proposals.iter().map(Proposal::label).collect();
            assert_eq!(told, [format!("Allow {proposed} in this project")], "{commands:?}");
        }
    }
}
