//! A message as one line of the page: when, which way, what, which id, how large, how long, and what is wrong. Columns
//! are the same in all lines; what has no room is cut in the middle.

use super::ring::Way;
use super::summary::Kind;
use super::table::{Row, Table};
use crate::core::text::cells;
use crate::core::text::fitting::{cut_end, cut_middle, filled};
use crate::core::text::visible::visible_line;

/// How lines look.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The cells of the narrowest window.
    pub width: usize,
    pub icons: bool,
    /// How far the user's clock is ahead of UTC, in minutes.
    pub offset: i64,
    /// The cells that agents' names take; none where there is only one.
    pub name: usize,
}

/// The cells of a time of day.
const TIME: usize = 12;
/// Those of an id, a size, and how long it took.
const ID: usize = 6;
const SIZE: usize = 9;
const TOOK: usize = 8;

/// In a narrower window the method is worth more than the size.
const ROOMY: usize = 64;

/// The cells for the names of agents: none for one of them.
pub fn name_width(agents: &[String]) -> usize {
    let mut names: Vec<&String> = agents.iter().collect();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 { 0 } else { names.iter().map(|name| cells(name)).max().unwrap_or(0).clamp(4, 12) }
}

/// The line of a message. Its columns begin and end where `columns` says.
pub fn line(table: &Table, row: &Row, look: &Look, now: u64) -> String {
    let summary = &row.summary;
    let problem = row.problem_at(now);
    let mut line = format!(
        "{} {} {} ",
        if problem.is_some() { '!' } else { ' ' },
        clock(summary.at, look.offset),
        arrow(row, look.icons)
    );
    if look.name > 0 {
        let name =
            table.agents.get(summary.agent as usize).map(|name| visible_line(name)).unwrap_or_default();
        line.push_str(&fitted(&cut_end(&name, look.name), look.name));
        line.push(' ');
    }
    let (what, id) = what(row);
    let what = match &problem {
        Some(problem) => format!("{what} \u{b7} {}", problem.text()),
        None => what,
    };
    let has_size = look.width >= ROOMY;
    let right = ID + TOOK + 2 + if has_size { SIZE + 1 } else { 0 };
    let room = look.width.saturating_sub(cells(&line) + right).max(10);
    line.push_str(&fitted(&cut_middle(&visible_line(&what), room), room));
    let id = cut_end(&visible_line(&id), ID);
    let took = match row.took {
        Some(took) => duration(took),
        None if row.is_open => if look.icons { "\u{2026}" } else { "..." }.to_owned(),
        None => String::new(),
    };
    line.push_str(&format!(" {}", fitted(&id, ID)));
    if has_size {
        line.push_str(&format!(" {:>SIZE$}", bytes(summary.size)));
    }
    line.push_str(&format!(" {took:>TOOK$}"));
    line.trim_end().to_owned()
}

/// A text with blanks up to so many cells.
fn fitted(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

fn arrow(row: &Row, icons: bool) -> &'static str {
    match (row.summary.way, icons) {
        (Way::ToAgent, true) => "\u{2192}",
        (Way::ToAgent, false) => ">",
        (Way::FromAgent, true) => "\u{2190}",
        (Way::FromAgent, false) => "<",
        (Way::Stderr | Way::Note | Way::End, true) => "\u{b7}",
        (Way::Stderr | Way::Note | Way::End, false) => "-",
    }
}

/// What a message is, and its id.
fn what(row: &Row) -> (String, String) {
    let id = |id: &String| format!("#{}", id.trim_matches('"'));
    match &row.summary.kind {
        Kind::Request { id: its, method } => (method.clone(), id(its)),
        Kind::Notification { method, update: None } => (method.clone(), String::new()),
        Kind::Notification { method, update: Some(update) } => (format!("{method} {update}"), String::new()),
        Kind::Answer { id: its, error } => {
            let to = row.answers.as_deref().unwrap_or("a request that is not here");
            let said = error.as_ref().map(|(_, text)| format!(": {text}")).unwrap_or_default();
            (format!("answer to {to}{said}"), id(its))
        }
        Kind::Noise(text) => (text.clone(), String::new()),
        Kind::Text(text) => {
            let from = match row.summary.way {
                Way::Stderr => "stderr: ",
                Way::End => "ended: ",
                _ => "note: ",
            };
            (format!("{from}{text}"), String::new())
        }
    }
}

/// The time of day, to a thousandth of a second.
pub fn clock(at: u64, offset: i64) -> String {
    let local = at as i64 + offset * 60_000;
    let of_day = local.rem_euclid(24 * 3_600_000);
    let (hours, minutes) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let text = format!("{hours:02}:{minutes:02}:{:02}.{:03}", of_day / 1000 % 60, of_day % 1000);
    debug_assert_eq!(text.len(), TIME);
    text
}

/// How many minutes a clock is ahead: `+0130` is 90.
pub fn clock_offset(zone: &str) -> i64 {
    let (sign, digits) = match zone.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, zone.trim_start_matches('+')),
    };
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    sign * (number(digits.get(..2)) * 60 + number(digits.get(2..4)))
}

/// `120 B`, `1.2 kB`, `20.0 MB`.
pub fn bytes(size: u64) -> String {
    match size {
        0..1000 => format!("{size} B"),
        1000..1_000_000 => format!("{:.1} kB", size as f64 / 1e3),
        _ => format!("{:.1} MB", size as f64 / 1e6),
    }
}

/// `3 ms`, `1.2 s`, `2 min`.
pub fn duration(millis: u64) -> String {
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..100_000 => format!("{:.1} s", millis as f64 / 1e3),
        _ => format!("{} min", millis / 60_000),
    }
}

/// What stands in the page while there is nothing to show.
pub fn empty(is_filtered: bool, keys: &str, width: usize) -> Vec<String> {
    let lines: Vec<String> = match is_filtered {
        true => vec![format!("No message passes this filter; {keys}.")],
        false => vec![
            "No message yet. :AcpChat starts an agent.".into(),
            "What agents send and are sent stands here, also what came before you looked.".into(),
        ],
    };
    lines.iter().flat_map(|line| filled(line, width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::inspector::Batch;
    use crate::core::inspector::summary::Summary;

    fn table(agents: &[&str]) -> Table {
        let kinds = [
            (Way::ToAgent, 0, 312, Kind::Request { id: "0".into(), method: "initialize".into() }),
            (Way::FromAgent, 41, 1204, Kind::Answer { id: "0".into(), error: None }),
            (Way::ToAgent, 50, 90, Kind::Request { id: "1".into(), method: "session/fork".into() }),
            (
                Way::FromAgent,
                60,
                80,
                Kind::Answer { id: "1".into(), error: Some((-32601, "method not found".into())) },
            ),
            (
                Way::FromAgent,
                70,
                21_000_000,
                Kind::Notification {
                    method: "session/update".into(),
                    update: Some("tool_call_update".into()),
                },
            ),
            (
                Way::ToAgent,
                80,
                400,
                Kind::Request { id: "\"a\u{7}b\"".into(), method: "session/prompt".into() },
            ),
            (Way::FromAgent, 90, 7, Kind::Noise("Loading".into())),
            (Way::Stderr, 95, 20, Kind::Text("deprecated \u{1b}[31mthing".into())),
            (Way::End, 99, 4, Kind::Text("exited with code 1".into())),
        ];
        let summaries = kinds.into_iter().enumerate().map(|(number, (way, at, size, kind))| Summary {
            number: number as u64,
            at: 1_700_000_000_000 + at,
            agent: u32::from(number > 3 && agents.len() > 1),
            way,
            size,
            kind,
        });
        let agents = agents.iter().map(|&agent| agent.to_owned()).collect();
        let mut table = Table::default();
        table.add(Batch { first: 0, next: 9, agents, summaries: summaries.collect() });
        table
    }

    fn lines(table: &Table, width: usize) -> String {
        let look = Look { width, icons: true, offset: 60, name: name_width(&table.agents) };
        let lines: Vec<String> = table.rows().map(|row| line(table, row, &look, 1_700_000_000_100)).collect();
        assert!(lines.iter().all(|line| cells(line) <= width.max(60)), "{lines:#?}");
        lines.join("\n")
    }

    #[test]
    fn a_line_says_what_a_message_is_in_columns() {
        insta::assert_snapshot!(lines(&table(&["claude"]), 80), @r"
          23:13:20.000 → initialize                            #0         312 B    41 ms
          23:13:20.041 ← answer to initialize                  #0        1.2 kB    41 ms
        ! 23:13:20.050 → session/fork · unknown method         #1          90 B    10 ms
        ! 23:13:20.060 ← answer to session/…und · error -32601 #1          80 B    10 ms
          23:13:20.070 ← session/update tool_call_update                21.0 MB
        ! 23:13:20.080 → session/prompt · never answered       #a^Gb      400 B
        ! 23:13:20.090 ← Loading · no message                               7 B
          23:13:20.095 · stderr: deprecated ^[[31mthing                    20 B
          23:13:20.099 · ended: exited with code 1                          4 B
        ");
    }

    #[test]
    fn two_agents_have_their_names_and_a_wide_window_more_room() {
        insta::assert_snapshot!(lines(&table(&["claude", "codex"]), 120), @r"
          23:13:20.000 → claude initialize                                                             #0         312 B    41 ms
          23:13:20.041 ← claude answer to initialize                                                   #0        1.2 kB    41 ms
        ! 23:13:20.050 → claude session/fork · unknown method                                          #1          90 B    10 ms
        ! 23:13:20.060 ← claude answer to session/fork: method not found · error -32601                #1          80 B    10 ms
          23:13:20.070 ← codex  session/update tool_call_update                                                 21.0 MB
        ! 23:13:20.080 → codex  session/prompt · never answered                                        #a^Gb      400 B
        ! 23:13:20.090 ← codex  Loading · no message                                                                7 B
          23:13:20.095 · codex  stderr: deprecated ^[[31mthing                                                     20 B
          23:13:20.099 · codex  ended: exited with code 1                                                           4 B
        ");
    }

    #[test]
    fn in_a_narrow_window_the_columns_stay() {
        lines(&table(&["claude", "codex"]), 40);
        lines(&table(&["claude"]), 10);
    }

    #[test]
    fn times_are_those_of_the_users_clock() {
        assert_eq!(clock(0, 0), "00:00:00.000");
        assert_eq!(clock(1_700_000_000_123, 330), "03:43:20.123");
        assert_eq!(clock(1000, -60), "23:00:01.000");
    }

    #[test]
    fn a_clock_is_ahead_or_behind() {
        assert_eq!(["+0000", "+0130", "-0800", ""].map(clock_offset), [0, 90, -480, 0]);
    }
}
