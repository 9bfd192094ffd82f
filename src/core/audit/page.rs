//! The record as lines that one reads: when, who, what, what was decided by whom, and what came of it. Plain data in,
//! texts out.

use std::path::{Path, PathBuf};

use super::filter::Filter;
use super::line::{By, Decision, Line, Outcome, What};
use crate::core::inspector::line::clock;
use crate::core::text::cells;
use crate::core::text::civil_date::date_of;
use crate::core::text::fitting::{cut_end, cut_middle, filled};
use crate::core::text::visible::visible_line;

/// How lines are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// In cells.
    pub width: usize,
    /// How far the user's clock is ahead, in minutes.
    pub offset: i64,
}

/// The columns before what it is about.
const WHAT: usize = 10;
const AGENT: usize = 10;

/// So much of a rule is said beside a subject that needs its room.
const LONGEST_RULE: usize = 20;

/// One line of the page: a mark, day and time, agent, what was done, and the verdict at the right.
pub fn line(line: &Line, look: Look) -> String {
    let mark = if line.is_trouble() { '!' } else { ' ' };
    let when = format!("{} {}", &day(line.at, look.offset)[5..], &clock(line.at, look.offset)[..8]);
    let agent = cut_end(&visible_line(&line.agent), AGENT);
    let after_agent = " ".repeat(AGENT.saturating_sub(cells(&agent)));
    let head = format!("{mark} {when} {agent}{after_agent} {:<WHAT$} ", line.what.word());
    let subject = visible_line(&subject(line));
    // What the subject leaves free is the rule's.
    let short = verdict(line, LONGEST_RULE);
    let needed = cells(&head) + cells(&subject) + cells(&short) + 2;
    let verdict = verdict(line, LONGEST_RULE + look.width.saturating_sub(needed));
    let room = look.width.saturating_sub(cells(&head) + cells(&verdict) + 2).max(8);
    let subject = cut_middle(&subject, room);
    let gap = room.saturating_sub(cells(&subject));
    format!("{head}{subject}{}  {verdict}", " ".repeat(gap)).trim_end().to_owned()
}

/// What it is about: a command, a file, or the call's title.
fn subject(line: &Line) -> String {
    // A slash too many would have what is below the project begin with one, as if it were none of it.
    let file = |path: &String| {
        let path = Path::new(path);
        let path = path.strip_prefix(&line.project).unwrap_or(path);
        path.components().collect::<PathBuf>().display().to_string()
    };
    let paths = match line.paths.as_slice() {
        [] => None,
        [one] => Some(file(one)),
        [first, rest @ ..] => Some(format!("{} and {} more", file(first), rest.len())),
    };
    match line.what {
        What::Read | What::Write => paths.unwrap_or_default(),
        What::Permission | What::Call | What::Unasked | What::Command | What::Exit => line
            .command_line()
            .or_else(|| line.title.clone())
            .or(paths)
            .or_else(|| line.call.clone())
            .unwrap_or_default(),
    }
}

/// What was decided, by whom, and what came of it, in a few words: of the rule no more than this.
fn verdict(line: &Line, most: usize) -> String {
    let holds = line.outcome == Some(Outcome::Done) || line.decision == Some(Decision::Rejected);
    if let Some(decided) = line.decided.as_ref().filter(|_| holds) {
        return visible_line(decided);
    }
    let by = match (line.by, &line.rule) {
        (Some(By::Rule), Some(rule)) => Some(format!("by rule {}", cut_end(&visible_line(rule), most))),
        (Some(By::Person), _) => Some("by you".to_owned()),
        (Some(By::Earlier), _) => Some("before".to_owned()),
        (Some(By::Rule), None) => Some("by a rule".to_owned()),
        (Some(By::Agent), _) => Some("without asking".to_owned()),
        (Some(By::Auto), _) => Some("by :Acp auto".to_owned()),
        (Some(By::Default), _) | (None, _) => None,
    };
    let decision = match line.decision {
        Some(Decision::Undecided) => Some("not decided".to_owned()),
        Some(decision) => Some(decision.word().to_owned()),
        None => None,
    };
    let decided = [decision, by].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let outcome = match (line.exit, line.outcome) {
        (Some(code), _) => Some(format!("exit {code}")),
        (None, Some(Outcome::Failed)) => Some("failed".to_owned()),
        (None, Some(Outcome::Cancelled)) => Some("cancelled".to_owned()),
        // What was allowed and done says so by the first alone.
        (None, Some(Outcome::Done)) if decided.is_empty() => Some("done".to_owned()),
        (None, _) => None,
    };
    [Some(decided).filter(|it| !it.is_empty()), outcome].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// All that a line says, for the window that `<CR>` opens where there is no place to go to.
pub fn details(line: &Line, look: Look) -> Vec<String> {
    let text =
        |name: &str, text: &str| (!text.is_empty()).then(|| format!("{name:<10}{}", visible_line(text)));
    let mut all = vec![
        text("when", &format!("{} {}", day(line.at, look.offset), clock(line.at, look.offset))),
        text("agent", &line.agent),
        text("session", &line.session),
        text("project", &line.project),
        text("what", line.what.word()),
        text("call", line.call.as_deref().unwrap_or_default()),
        text("title", line.title.as_deref().unwrap_or_default()),
        text("command", &line.command_line().unwrap_or_default()),
        text("folder", line.cwd.as_deref().unwrap_or_default()),
    ];
    all.extend(line.paths.iter().map(|path| text("file", path)));
    all.extend([
        text("offered", &line.options.join(", ")),
        text("answer", line.answer.as_deref().unwrap_or_default()),
        text("verdict", &verdict(line, usize::MAX)),
        text("rule", line.rule.as_deref().unwrap_or_default()),
        text("unasked", line.unasked.as_deref().unwrap_or_default()),
        text("reason", line.reason.as_deref().unwrap_or_default()),
        text("error", line.error.as_deref().unwrap_or_default()),
    ]);
    all.into_iter().flatten().collect()
}

/// What the page says where it has no lines.
pub fn empty(filter: &Filter, is_on: bool, all_key: &str, width: usize) -> Vec<String> {
    let mut lines = match filter.is_empty() {
        false => vec!["Nothing in the record passes the filter.".to_owned()],
        true => vec!["Nothing is recorded yet.".to_owned(), String::new()],
    };
    if !filter.is_empty() {
        lines.extend(filter.unknown());
        lines.extend((!all_key.is_empty()).then(|| all_key.to_owned()));
    } else if is_on {
        lines.push(
            "A line comes here for each permission, file, command and tool call of an agent.".to_owned(),
        );
        lines.push("See :help acp-audit.".to_owned());
    } else {
        lines.push("`audit` is off in your setup (:help acp-config-audit).".to_owned());
    }
    lines.iter().flat_map(|line| filled(line, width)).collect()
}

/// The day of a moment where the clock is ahead by so many minutes.
fn day(at: u64, offset: i64) -> String {
    let days = (i64::try_from(at).unwrap_or_default() + offset * 60_000).div_euclid(86_400_000);
    let (year, month, day) = date_of(days);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { width: 80, offset: 0 };

    fn base(what: What) -> Line {
        Line { at: 1_700_000_000_000, agent: "claude".into(), project: "/p".into(), what, ..Line::default() }
    }

    #[test]
    fn a_line_says_what_it_was_and_who_decided() {
        let mut write = base(What::Write);
        write.paths = vec!["/p//src/./a.rs".into()];
        (write.decision, write.by, write.outcome) =
            (Some(Decision::Allowed), Some(By::Default), Some(Outcome::Done));
        let mut asked = base(What::Permission);
        asked.command = Some("rm -rf build".into());
        (asked.decision, asked.by, asked.rule) =
            (Some(Decision::Rejected), Some(By::Rule), Some("no rm".into()));
        let mut exit = base(What::Exit);
        (exit.command, exit.args, exit.exit) = (Some("make".into()), vec!["all".into()], Some(2));
        let mut call = base(What::Call);
        (call.title, call.by, call.outcome) =
            (Some("Edit \u{202e}x".into()), Some(By::Agent), Some(Outcome::Done));
        let lines = [write, asked, exit, call].map(|it| line(&it, LOOK));
        let shown = [
            "  11-14 22:13:20 claude     write      src/a.rs                          allowed",
            "! 11-14 22:13:20 claude     permission rm -rf build       rejected by rule no rm",
            "! 11-14 22:13:20 claude     exit       make all                           exit 2",
            "  11-14 22:13:20 claude     call       Edit <202e>x               without asking",
        ];
        assert_eq!(lines, shown);
    }

    #[test]
    fn a_line_fits_its_window() {
        let mut write = base(What::Write);
        write.paths = vec![format!("/p/{}.rs", "long/".repeat(40))];
        (write.decision, write.by) = (Some(Decision::Rejected), Some(By::Person));
        for width in [70, 80, 140] {
            assert!(line(&write, Look { width, offset: 0 }).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn columns_stand_below_each_other_however_wide_their_characters_are() {
        let verdict = |line: &Line| {
            let shown = super::line(line, LOOK);
            let at = shown.find("rejected").expect("a verdict");
            assert_eq!(cells(&shown), LOOK.width, "{shown}");
            cells(&shown[..at])
        };
        let what = |line: &Line| {
            let shown = super::line(line, LOOK);
            cells(&shown[..shown.find("write").expect("what was done")])
        };
        let of = |agent: &str, path: &str| {
            let mut write = base(What::Write);
            (write.agent, write.paths) = (agent.into(), vec![path.into()]);
            (write.decision, write.by) = (Some(Decision::Rejected), Some(By::Person));
            write
        };
        let plain = of("claude", "/p/a.rs");
        for (agent, path) in [
            ("日本語", "/p/a.rs"),
            ("claude", "/p/日本語.rs"),
            ("claude", "/p/日本語日本語日本語日本語日本語日本語日本語日本語.rs"),
            ("an agent of a long name", "/p/a.rs"),
        ] {
            let line = of(agent, path);
            assert_eq!((what(&line), verdict(&line)), (what(&plain), verdict(&plain)), "{agent} {path}");
        }
    }

    #[test]
    fn a_rule_is_cut_only_where_there_is_no_room_for_it() {
        let rule = "allow kind write, path src/**";
        let mut asked = base(What::Permission);
        (asked.title, asked.rule) = (Some("Edit a.rs".into()), Some(rule.into()));
        (asked.decision, asked.by) = (Some(Decision::Allowed), Some(By::Rule));
        let shown = |width| line(&asked, Look { width, offset: 0 });
        assert!(shown(140).ends_with(rule), "{}", shown(140));
        assert!(shown(86).contains("by rule allow kind write, p…"), "{}", shown(86));
        assert!(shown(86).contains("Edit a.rs "), "{}", shown(86));
        let all = details(&asked, LOOK);
        assert!(all.contains(&format!("verdict   allowed by rule {rule}")), "{all:?}");
    }

    #[test]
    fn days_are_those_of_the_users_clock() {
        for (at, offset, shown) in [
            (0, 0, "1970-01-01"),
            (0, -60, "1969-12-31"),
            (951_782_400_000, 0, "2000-02-29"),
            (951_782_400_000, -1, "2000-02-28"),
            (1_735_689_599_000, 0, "2024-12-31"),
            (1_735_689_599_000, 60, "2025-01-01"),
        ] {
            assert_eq!(day(at, offset), shown);
        }
    }
}
