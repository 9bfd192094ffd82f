//! The soak test's table: what was done, what it left, and what went wrong.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use super::meter::{self, ROWS, Sample};
use super::{Soak, WARM_UP};

/// Past the harness, which keeps what is printed by macros.
pub fn print(text: &str) {
    // The numbers are in the failure's text as well.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

pub fn table(soak: &Soak, took: Duration) -> String {
    let mut text = format!(
        "\nsoak: {} turns of {}, seed {}, {:.0} s, {} violations\n\n",
        soak.turn,
        soak.plan.turns,
        soak.plan.seed,
        took.as_secs_f64(),
        soak.violations.len()
    );
    faults(soak, &mut text);
    what_grew(soak, &mut text);
    let Soak { ledger, .. } = soak;
    let _ = writeln!(
        text,
        "\nrequests of agents: {} made, {} answered (the rest of agents that were gone), {} without an answer",
        ledger.asked,
        ledger.answered,
        ledger.unanswered().len()
    );
    let _ = writeln!(text, "most resident memory seen: {:.1} MB", soak.rss_most);
    slices(soak, &mut text);
    for violation in &soak.violations {
        let _ = writeln!(text, "\n{violation}");
    }
    text
}

fn faults(soak: &Soak, text: &mut String) {
    let cells: Vec<String> = soak
        .faults
        .iter()
        .map(|(name, count)| {
            let bad = if count.violations > 0 { format!("!{}", count.violations) } else { String::new() };
            format!("{name} {}{bad}", count.turns)
        })
        .collect();
    let _ = writeln!(text, "faults ({} kinds):", cells.len());
    for row in cells.chunks(5) {
        let row: Vec<_> = row.iter().map(|cell| format!("{cell:<24}")).collect();
        let _ = writeln!(text, "  {}", row.concat().trim_end());
    }
    let actions: Vec<String> = soak.actions.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let _ = writeln!(text, "of the user meanwhile: {}\n", actions.join(", "));
}

fn what_grew(soak: &Soak, text: &mut String) {
    let samples = &soak.samples;
    let Some(last) = samples.last() else { return };
    let warm = &samples[(WARM_UP - 1).min(samples.len() - 1)..];
    let _ = writeln!(
        text,
        "{:<24}{:>10}{:>10}{:>10}{:>16}",
        "no chat open", "warmed up", "most", "end", "per 1,000 turns"
    );
    for (name, value) in ROWS {
        let most = warm.iter().map(value).fold(0.0, f64::max);
        let slope = meter::slope(warm, *value);
        let _ = writeln!(
            text,
            "{name:<24}{:>10.1}{most:>10.1}{:>10.1}{slope:>16.2}",
            value(&warm[0]),
            value(last)
        );
    }
    let _ = writeln!(text, "resident memory at the start: {:.1} MB", soak.rss_at_start);
    let _: &[Sample] = samples;
}

fn slices(soak: &Soak, text: &mut String) {
    if soak.slices.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nlongest without a look for input (the main thread's time of the processor):");
    for (millis, turn) in &soak.slices {
        let _ = writeln!(text, "{millis:>8.1} ms  {turn}");
    }
}
