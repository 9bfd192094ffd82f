//! What an agent waits for when it reads and writes a file that is open and not saved, and when it looks
//! at a terminal. The agent takes the times; the floor reads, or replaces, the whole buffer.

use serde_json::Value;

use super::scenarios::{Samples, Values, at_once};
use super::stage::{Clock, Measured, Stage, Subject};
use crate::support::project::TempProject;

/// Reads of an unsaved file.
pub fn reads(subject: Subject, lines: usize, count: usize) -> Values {
    let (played, measured) = play(subject, lines, &["--reads", &count.to_string()], &[]);
    let times = played.times();
    vec![
        ("read p50 ms", times.at(50)),
        ("read p99 ms", times.at(99)),
        ("stale reads", count as f64 - played.report["fresh"].as_f64().expect("a number")),
        ("stall ms", measured.stall_ms),
    ]
}

/// Writes that change `changed` lines each.
pub fn writes(subject: Subject, lines: usize, count: usize, changed: usize) -> Values {
    let args = ["--writes", &count.to_string()];
    let (played, measured) = play(subject, lines, &args, &["--changed", &changed.to_string()]);
    let times = played.times();
    vec![
        ("write p50 ms", times.at(50)),
        ("write p99 ms", times.at(99)),
        ("lost marks", played.lost_marks),
        ("stall ms", measured.stall_ms),
        ("memory MB", measured.memory_mb),
    ]
}

struct Played {
    report: Value,
    lost_marks: f64,
}

impl Played {
    fn times(&self) -> Samples {
        times(&self.report)
    }
}

fn times(report: &Value) -> Samples {
    let times = report["times"].as_array().expect("a list");
    Samples(times.iter().map(|time| time.as_f64().expect("a number")).collect())
}

fn play(subject: Subject, lines: usize, what: &[&str], more: &[&str]) -> (Played, Measured) {
    let line = |number| format!("line {number} of a file that is neither short nor long\n");
    let project = TempProject::new(&[("a.txt", &(0..lines).map(line).collect::<String>())]);
    let (file, out) = (project.file("a.txt"), project.file("times.json"));
    let [file_text, out_text] = [&file, &out].map(|path| path.to_str().expect("a path in UTF-8"));
    let mut args = vec!["--time", out_text];
    args.extend(what);
    args.push(file_text);
    args.extend(more);
    let mut stage = Stage::open_in(Some(project.path()), subject, &args);
    stage.edit(&file);
    let measured = stage.prompt_and_rest(Clock::Ticking);
    let report = serde_json::from_str(&project.read("times.json")).expect("JSON");
    (Played { report, lost_marks: stage.lost_marks() }, measured)
}

/// A command that prints so many bytes, in a terminal that is shown while the agent looks at it.
pub fn terminal(subject: Subject, bytes: usize) -> Values {
    let code = format!("yes 'a line of the flood' | head -c {bytes}; printf '\\nEND-OF-FLOOD\\n'");
    let project = TempProject::new(&[]);
    let out = project.file("times.json");
    let args = match subject {
        Subject::OwnTerminal | Subject::Captured => ["sh", "-c", &code, ""],
        _ => ["--time", out.to_str().expect("a path in UTF-8"), "--polls", &code],
    };
    let measured = Stage::open(subject, &args).prompt_and_rest(Clock::Ticking);
    let mut values = at_once(&measured);
    values.push(("peak MB", measured.peak_mb));
    if !matches!(subject, Subject::OwnTerminal | Subject::Captured) {
        let report: Value = serde_json::from_str(&project.read("times.json")).expect("JSON");
        let times = times(&report);
        values.insert(1, ("poll p50 ms", times.at(50)));
        values.insert(2, ("poll max ms", times.at(100)));
    }
    values
}
