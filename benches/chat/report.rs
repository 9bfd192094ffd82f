//! What becomes of the figures: medians over the runs, a table with ratios to the floor and to the goals,
//! and lines of JSON for those who compare. It measures nothing.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use super::scenarios::{Scenario, Values};
use super::stage::Subject;

/// What a figure of the plugin's should be.
#[derive(Clone, Copy)]
enum Goal {
    /// At most so many times the floor's.
    Times(f64),
    /// At most this.
    Most(f64),
    /// At most so much more than the floor's.
    Over(f64),
    /// At most so many times what it is in an empty chat on a calm machine.
    Calm(f64),
}

fn goal(scenario: Scenario, value: &str) -> Option<Goal> {
    use Goal::{Calm, Most, Over, Times};
    use Scenario as S;
    let filled = matches!(scenario, S::Paced100K | S::Paced10M);
    let paced = filled || scenario == S::Paced;
    Some(match (scenario, value) {
        (S::Burst, "wall ms") => Times(1.5),
        (S::Burst, "memory MB") => Most(15.0),
        (S::KeysBurst, "key p95 ms") => Most(10.0),
        (S::Paced, "key p95 ms") => Times(2.0),
        (S::Paced, "CPU s" | "CPU s with ticks") => Times(1.5),
        (_, "key max ms") if paced => Most(8.0),
        (_, "chunk p50 ms" | "chunk p95 ms") if paced => Times(1.0),
        (_, "key p95 ms" | "CPU s" | "CPU s with ticks") if filled => Calm(1.2),
        (S::Busy, "key p95 ms") => Calm(3.0),
        (S::Prompt, "sent p95 ms") => Most(1.0),
        (S::Tools | S::ToolsFiles, "wall ms") => Times(2.0),
        (S::CommandFiles, "told stall ms" | "review stall ms" | "scroll stall ms" | "undo stall ms") => {
            Most(4.0)
        }
        (S::Closed, "left times") => Most(1.5),
        (S::Hostile, "slice ms") => Most(8.0),
        (S::Hostile, "redraw ms") => Most(20.0),
        (S::Hostile, "over the goals") => Most(0.0),
        (S::Load, "wall ms") => Most(160.0),
        (S::Lines, "frame growth" | "scroll growth" | "open growth") => Most(1.5),
        (S::Review, "open stall ms" | "keep stall ms") => Most(8.0),
        (S::LongHunk, "written stall ms" | "typed stall ms") => Most(8.0),
        (S::Diff, "shown ms") => Times(1.5),
        (S::DiffLarge, "shown ms") => Most(500.0),
        (S::Reads, "read p50 ms") => Times(0.7),
        (S::Reads, "read p99 ms") => Most(2.0),
        (S::Reads | S::ReadLarge, "stale reads") => Most(0.0),
        (S::ReadLarge, "read p50 ms") => Most(150.0),
        (S::Writes, "write p50 ms") => Times(1.0),
        (S::Writes, "memory MB") => Most(5.0),
        (S::Writes | S::Rewrite, "lost marks") => Most(0.0),
        (S::Terminal, "wall ms") => Times(0.7),
        (S::Terminal, "poll p50 ms") => Most(3.0),
        (S::TerminalCaptured, "CPU s") => Times(1.0),
        (S::Startup, "start ms") => Over(0.5),
        (S::Startup, "start with setup ms") => Over(1.5),
        (S::Startup, "first chat open ms") => Most(10.0),
        (S::Startup, "agent ready ms") => Over(10.0),
        (S::Terminal | S::TerminalCaptured, "stall ms") => Most(4.0),
        (S::Follow, "a move ms") => Most(16.0),
        (S::EditorTools, "call p50 ms") => Over(2.0),
        (_, "stall ms") if paced => Most(4.0),
        (S::Busy, "stall ms") => return None,
        (_, "stall ms") => Most(8.0),
        _ => return None,
    })
}

/// All that was measured.
#[derive(Default)]
pub struct Report {
    runs: Vec<Run>,
    before: String,
}

struct Run {
    scenario: Scenario,
    subject: Subject,
    load: String,
    values: Values,
}

impl Report {
    pub fn new() -> Self {
        Self { runs: Vec::new(), before: load() }
    }

    pub fn add(&mut self, scenario: Scenario, subject: Subject, values: Values) {
        self.runs.push(Run { scenario, subject, load: load(), values });
    }

    fn of(&self, scenario: Scenario, subject: Subject) -> Vec<&Values> {
        let runs = self.runs.iter().filter(|run| run.scenario == scenario && run.subject == subject);
        runs.map(|run| &run.values).collect()
    }

    fn median(&self, scenario: Scenario, subject: Subject, value: &str) -> Option<f64> {
        let runs = self.of(scenario, subject);
        let mut all: Vec<f64> = runs.iter().filter_map(|values| find(values, value)).collect();
        all.sort_by(f64::total_cmp);
        let middle = all.len() / 2;
        match all.len() {
            0 => None,
            even if even % 2 == 0 => Some(f64::midpoint(all[middle - 1], all[middle])),
            _ => Some(all[middle]),
        }
    }

    /// One line for the machine, one for each run, one for each median.
    pub fn json(&self, about: &Value) -> String {
        let mut lines = vec![json!({ "about": about, "load_before": self.before, "load_after": load() })];
        let object = |values: &[(&str, f64)]| -> Value {
            values.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
        };
        for run in &self.runs {
            lines.push(json!({
                "scenario": run.scenario.name(), "subject": run.subject.name(), "load": run.load,
                "run": object(&run.values),
            }));
        }
        for scenario in self.scenarios() {
            for subject in scenario.subjects() {
                let runs = self.of(scenario, *subject);
                let names = runs.first().map(|values| values.iter().map(|(name, _)| *name));
                let medians: Vec<_> = names
                    .into_iter()
                    .flatten()
                    .filter_map(|name| Some((name, self.median(scenario, *subject, name)?)))
                    .collect();
                let mut line = json!({
                    "scenario": scenario.name(), "subject": subject.name(), "runs": runs.len(),
                    "median": object(&medians),
                });
                if *subject == Subject::Ours {
                    let ratios: Vec<_> = medians
                        .iter()
                        .filter_map(|(name, _)| Some((*name, self.ratio(scenario, name)?)))
                        .collect();
                    let missed: Vec<_> = medians
                        .iter()
                        .map(|(name, _)| *name)
                        .filter(|name| self.verdict(scenario, name).1 == "missed")
                        .collect();
                    line["ratio"] = object(&ratios);
                    line["missed"] = json!(missed);
                }
                lines.push(line);
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// A Markdown table for each scenario.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for scenario in self.scenarios() {
            let subjects: Vec<Subject> = scenario
                .subjects()
                .iter()
                .copied()
                .filter(|subject| !self.of(scenario, *subject).is_empty())
                .collect();
            let _ = writeln!(text, "### {}: {}\n", scenario.name(), scenario.about());
            let heads: Vec<&str> = subjects.iter().map(|subject| subject.name()).collect();
            let _ = writeln!(text, "| | {} | to floor | goal | |", heads.join(" | "));
            let _ = writeln!(text, "|---|{}---:|---|---|", "---:|".repeat(heads.len()));
            let runs = self.of(scenario, Subject::Ours);
            for (name, _) in runs.first().into_iter().copied().flatten() {
                let cells: Vec<String> =
                    subjects.iter().map(|subject| figure(self.median(scenario, *subject, name))).collect();
                let ratio = self.ratio(scenario, name).map_or(String::new(), |ratio| format!("{ratio:.2}"));
                let (goal, met) = self.verdict(scenario, name);
                let _ = writeln!(text, "| {name} | {} | {ratio} | {goal} | {met} |", cells.join(" | "));
            }
            text.push('\n');
        }
        text
    }

    fn ratio(&self, scenario: Scenario, value: &str) -> Option<f64> {
        let floor = self.median(scenario, scenario.floor(), value).filter(|floor| *floor > 0.0)?;
        Some(self.median(scenario, Subject::Ours, value)? / floor)
    }

    /// The goal, and whether it is met.
    fn verdict(&self, scenario: Scenario, value: &str) -> (String, &'static str) {
        let Some(goal) = goal(scenario, value) else { return (String::new(), "") };
        let ours = self.median(scenario, Subject::Ours, value);
        let at_most = |most: Option<f64>| ours.zip(most).map(|(ours, most)| ours <= most);
        let (text, met) = match goal {
            Goal::Times(times) => {
                (format!("{times} times"), self.ratio(scenario, value).map(|ratio| ratio <= times))
            }
            Goal::Most(most) => (format!("{most}"), at_most(Some(most))),
            Goal::Over(more) => {
                let floor = self.median(scenario, scenario.floor(), value);
                (format!("floor + {more}"), at_most(floor.map(|floor| floor + more)))
            }
            Goal::Calm(times) => {
                let calm = self.median(Scenario::Paced, Subject::Ours, value);
                (format!("{times} times paced"), at_most(calm.map(|calm| calm * times)))
            }
        };
        (text, met.map_or("", |met| if met { "met" } else { "missed" }))
    }

    fn scenarios(&self) -> Vec<Scenario> {
        let mut scenarios: Vec<Scenario> = self.runs.iter().map(|run| run.scenario).collect();
        scenarios.dedup();
        scenarios
    }

    /// The machine's load over the time of the runs.
    pub fn load(&self) -> String {
        let mut loads: Vec<f64> = self.runs.iter().filter_map(|run| run.load.parse().ok()).collect();
        loads.sort_by(f64::total_cmp);
        match (loads.first(), loads.last()) {
            (Some(least), Some(most)) => format!("load {least} to {most}"),
            _ => "load unknown".to_owned(),
        }
    }
}

fn find(values: &Values, name: &str) -> Option<f64> {
    values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

fn figure(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// How many processes wanted to run during the last minute, where the system tells.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// The processor and how many of it.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, name)| name);
    format!("{cores} cores of {model}, {} {}", std::env::consts::OS, std::env::consts::ARCH)
}
