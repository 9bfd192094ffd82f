//! The page of what was used up, as lines: the session's, the day's, the months', and the rate limits. Plain data in,
//! lines and marks out. What an agent does not tell is absent, not zero.

use crate::core::message::spent::Spent;
use crate::core::message::{Cost, Limit, LimitStatus};
use crate::core::store::usage::Sum;
use crate::core::text::fitting::{cut_end, cut_middle, filled};
use crate::core::text::visible::visible_line;
use crate::core::transcript::{grouped, price};

pub struct View<'a> {
    /// The session that the user is in.
    pub live: Option<Live>,
    pub periods: Vec<Period>,
    pub limits: Vec<Limited>,
    pub notes: &'a [String],
    pub icons: bool,
    pub width: usize,
}

pub struct Live {
    pub name: String,
    pub title: Option<String>,
    pub context: Option<(u64, u64)>,
    /// As its agent tells it.
    pub cost: Option<Cost>,
    pub sum: Option<Sum>,
}

pub struct Period {
    pub title: String,
    /// What each agent is called, and what it used up.
    pub agents: Vec<(String, Sum)>,
}

pub struct Limited {
    pub agent: String,
    pub limit: Limit,
    pub standing: LimitStatus,
    /// When it begins anew, as one reads it.
    pub resets: Option<String>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Page {
    pub lines: Vec<String>,
    /// Row, bytes from and to, group.
    pub marks: Vec<(usize, usize, usize, &'static str)>,
}

/// What stands between facts in a line.
const BETWEEN: &str = " \u{b7} ";
/// The cells of a name.
const NAME: usize = 18;
/// The cells of what a fact of the session is called.
const LABEL: usize = 9;

/// An agent's line in columns: what is longer pushes the others.
struct Row {
    name: String,
    cells: [String; 4],
}

pub fn page(view: &View<'_>) -> Page {
    let mut page = Page::default();
    let width = view.width.max(30);
    page.add("Usage, as agents tell it".to_owned(), "AcpWinbar");
    for note in view.notes {
        page.filled(note, width, "AcpToolWaiting");
    }
    page.session(view, width);
    let rows: Vec<(&Period, Vec<Row>)> = view
        .periods
        .iter()
        .filter(|period| !period.agents.is_empty())
        .map(|period| (period, rows(period, view.icons)))
        .collect();
    let widths = widths(&rows);
    for (period, rows) in &rows {
        page.title(&period.title);
        for row in rows {
            page.row(row, &widths, width);
        }
    }
    if rows.is_empty() {
        page.title("Today and this month");
        page.filled("  Nothing yet. Each turn that an agent ends is counted here.", width, "AcpMeta");
    }
    page.limits(view, width);
    page
}

impl Page {
    fn add(&mut self, line: String, group: &'static str) {
        if !group.is_empty() && !line.is_empty() {
            self.marks.push((self.lines.len(), 0, line.len(), group));
        }
        self.lines.push(line);
    }

    fn title(&mut self, title: &str) {
        self.add(String::new(), "");
        self.add(title.to_owned(), "AcpUser");
    }

    fn filled(&mut self, text: &str, width: usize, group: &'static str) {
        let indent: String = text.chars().take_while(|char| *char == ' ').collect();
        let mut line = indent.clone();
        for word in text.split_whitespace() {
            if line.trim().is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() > width {
                self.add(std::mem::replace(&mut line, format!("{indent}{word}")), group);
            } else {
                line.push(' ');
                line.push_str(word);
            }
        }
        self.add(line, group);
    }

    fn session(&mut self, view: &View<'_>, width: usize) {
        let Some(live) = &view.live else {
            self.title("This session");
            return self.filled("  There is none yet; :AcpChat starts one.", width, "AcpMeta");
        };
        let title = live.title.as_deref().map(|title| format!(" \u{b7} {}", visible_line(title)));
        let head = format!("This session, {}{}", visible_line(&live.name), title.unwrap_or_default());
        self.title(&cut_middle(&head, width));
        let spent = live.sum.as_ref().map(|sum| sum.spent.clone()).unwrap_or_default();
        let mut facts = Vec::new();
        match (&live.cost, costs(&spent)) {
            // It may have been begun elsewhere, or before anything was kept.
            (Some(told), counted) if !counted.is_empty() && price(told) != counted => {
                facts.push(("cost", format!("{counted} here; {} in all, its agent says", price(told))));
            }
            (_, counted) if !counted.is_empty() => facts.push(("cost", counted)),
            (Some(told), _) => facts.push(("cost", price(told))),
            (None, _) => {}
        }
        if let Some(counts) = spent.tokens.filter(|tokens| tokens.total > 0) {
            let cached = match counts.cached_read {
                0 => String::new(),
                cached => format!(" ({} from the cache)", grouped(cached)),
            };
            let parts = format!("{} in{cached} \u{b7} {} out", grouped(counts.input), grouped(counts.output));
            facts.push(("tokens", format!("{} \u{b7} {parts}", tokens(&spent, view.icons))));
        }
        if spent.turns > 0 {
            facts.push(("turns", grouped(spent.turns)));
        }
        if let Some((used, size)) = live.context.filter(|(_, size)| *size > 0) {
            let percent = used.saturating_mul(100) / size;
            facts.push(("context", format!("{percent}% of {} tokens", grouped(size))));
        }
        let tells = live.cost.is_some() || spent.tokens.is_some();
        if spent.turns > 0 && !tells {
            self.filled("  Its agent tells neither cost nor tokens.", width, "AcpMeta");
        } else if facts.is_empty() {
            self.filled("  Nothing yet: it is counted when a turn ends.", width, "AcpMeta");
        }
        for (what, how) in facts {
            self.marks.push((self.lines.len(), 2, 2 + what.len(), "AcpMeta"));
            self.hanging(&format!("  {what:<LABEL$} "), &how, width);
        }
    }

    /// Facts behind a head, and below each other where they have no room in one line.
    fn hanging(&mut self, head: &str, facts: &str, width: usize) {
        let indent = head.chars().count();
        let room = width.saturating_sub(indent);
        let mut lines: Vec<String> = Vec::new();
        for fact in facts.split(BETWEEN) {
            let cells = fact.chars().count() + BETWEEN.chars().count();
            match lines.last_mut().filter(|line| line.chars().count() + cells <= room) {
                Some(line) => *line = [line, BETWEEN, fact].concat(),
                None => lines.extend(filled(fact, room)),
            }
        }
        for (at, line) in lines.into_iter().enumerate() {
            let before = if at == 0 { head.to_owned() } else { " ".repeat(indent) };
            self.lines.push(before + &line);
        }
    }

    fn row(&mut self, row: &Row, widths: &[usize; 4], width: usize) {
        let name = cut_end(&row.name, NAME);
        let mut line = format!("  {name:<NAME$}");
        let at = self.lines.len();
        self.marks.push((at, 2, 2 + name.len(), "AcpAgent"));
        let has_none = row.cells[0].is_empty() && row.cells[1].is_empty();
        let numbers = if has_none {
            // In the place of both, as wide as they are.
            let both = widths[0] + widths[1] + 2;
            format!("  {:>both$}", "tells no numbers")
        } else {
            let columns = row.cells.iter().zip(widths).take(2).filter(|(_, width)| **width > 0);
            columns.map(|(cell, width)| format!("  {cell:>width$}")).collect()
        };
        if line.chars().count() + numbers.chars().count() > width {
            // Below the name, where no column has room.
            self.lines.push(line.trim_end().to_owned());
            let none = has_none.then(|| "tells no numbers".to_owned());
            let cells = none.iter().chain(&row.cells).filter(|cell| !cell.is_empty()).map(|cell| cell.trim());
            return self.hanging("    ", &cells.collect::<Vec<_>>().join(BETWEEN), width);
        }
        line.push_str(&numbers);
        for (cell, cells) in row.cells.iter().zip(widths).skip(2) {
            let next = format!("  {cell:>cells$}");
            // In a narrow window the last columns are those to miss.
            if line.chars().count() + next.chars().count() > width {
                break;
            }
            line.push_str(&next);
        }
        self.lines.push(cut_end(line.trim_end(), width));
    }

    fn limits(&mut self, view: &View<'_>, width: usize) {
        if view.limits.is_empty() {
            return;
        }
        self.title("Rate limits");
        for Limited { agent, limit, standing, resets } in &view.limits {
            let name = cut_end(&visible_line(agent), NAME);
            let mut facts = vec![visible_line(&limit.name())];
            match (standing, limit.percent()) {
                (LimitStatus::Reached, _) if limit.overage => {
                    facts.push("used up, more is paid for".to_owned())
                }
                (LimitStatus::Reached, _) => facts.push("used up".to_owned()),
                (_, Some(percent)) => facts.push(format!("{percent}% used")),
                (LimitStatus::Near, None) => facts.push("nearly used up".to_owned()),
                (LimitStatus::Fine, None) => facts.push("fine".to_owned()),
            }
            facts.extend(resets.as_ref().map(|at| format!("begins anew {at}")));
            let row = self.lines.len();
            self.marks.push((row, 2, 2 + name.len(), "AcpAgent"));
            self.hanging(&format!("  {name:<NAME$}  "), &facts.join(BETWEEN), width);
            if *standing != LimitStatus::Fine {
                let rows = self.lines.iter().enumerate().skip(row);
                let loud =
                    rows.map(|(at, line)| (at, if at == row { name.len() + 2 } else { 0 }, line.len()));
                let loud: Vec<_> = loud.map(|(at, from, to)| (at, from, to, "AcpToolWaiting")).collect();
                self.marks.extend(loud);
            }
        }
    }
}

fn rows(period: &Period, icons: bool) -> Vec<Row> {
    let row = |name: &str, sum: &Sum| Row {
        name: visible_line(name),
        cells: [
            costs(&sum.spent),
            match sum.spent.tokens {
                Some(all) if all.total > 0 => format!("{} tokens", tokens(&sum.spent, icons)),
                _ => String::new(),
            },
            several(sum.spent.turns, "turn"),
            several(sum.sessions, "session"),
        ],
    };
    let mut rows: Vec<Row> = period.agents.iter().map(|(name, sum)| row(name, sum)).collect();
    if rows.len() > 1 {
        rows.push(row("all", &Sum::of_all(period.agents.iter().map(|(_, sum)| sum))));
    }
    rows
}

/// How wide the columns are.
fn widths(periods: &[(&Period, Vec<Row>)]) -> [usize; 4] {
    let mut widths = [0; 4];
    for row in periods.iter().flat_map(|(_, rows)| rows) {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn costs(spent: &Spent) -> String {
    let costs = spent.costs.iter().filter(|cost| cost.amount > 0.0);
    costs.map(|cost| visible_line(&price(cost))).collect::<Vec<_>>().join(" + ")
}

fn tokens(spent: &Spent, icons: bool) -> String {
    let total = grouped(spent.tokens.unwrap_or_default().total);
    match spent.at_least {
        true => format!("{} {total}", if icons { "\u{2265}" } else { "at least" }),
        false => total,
    }
}

fn several(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{} {what}s", grouped(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::Tokens;

    fn sum(costs: &[(f64, &str)], total: u64, turns: u64) -> Sum {
        let costs = costs
            .iter()
            .map(|(amount, currency)| Cost { amount: *amount, currency: (*currency).into() })
            .collect();
        let tokens = Tokens { total, input: total / 2, output: total - total / 2, ..Tokens::default() };
        let tokens = (total > 0).then_some(tokens);
        Sum { spent: Spent { costs, tokens, turns, at_least: false }, sessions: turns.div_ceil(4), since: 1 }
    }

    fn view(width: usize) -> View<'static> {
        let mut least = sum(&[], 12_000, 3);
        least.spent.at_least = true;
        let today = vec![
            ("Claude Agent".to_owned(), sum(&[(1.24, "USD"), (0.3, "EUR")], 123_456, 12)),
            ("Cline".to_owned(), sum(&[], 0, 2)),
            ("OpenCode".to_owned(), least),
        ];
        let month = vec![("Claude Agent".to_owned(), sum(&[(0.0048, "USD")], 1_123_456, 120))];
        View {
            live: Some(Live {
                name: "Claude Agent".into(),
                title: Some("Fix the login race".into()),
                context: Some((34_000, 100_000)),
                cost: Some(Cost { amount: 0.5, currency: "USD".into() }),
                sum: Some(sum(&[(0.124, "USD")], 2345, 4)),
            }),
            periods: vec![
                Period { title: "Today, 2026-11-23".into(), agents: today },
                Period { title: "This month, 2026-11".into(), agents: month },
                Period { title: "Last month, 2026-10".into(), agents: Vec::new() },
            ],
            limits: vec![Limited {
                agent: "Claude Agent".into(),
                limit: Limit {
                    window: "five_hour".into(),
                    status: LimitStatus::Near,
                    used: Some(0.82),
                    resets: Some(1),
                    overage: false,
                },
                standing: LimitStatus::Near,
                resets: Some("2026-11-23 14:30".into()),
            }],
            notes: &[],
            icons: true,
            width,
        }
    }

    #[test]
    fn a_page_of_everything_reads_at_a_glance() {
        insta::assert_snapshot!(page(&view(74)).lines.join("\n"), @r"
        Usage, as agents tell it

        This session, Claude Agent · Fix the login race
          cost      $0.12 here; $0.50 in all, its agent says
          tokens    2,345 · 1,172 in · 1,173 out
          turns     4
          context   34% of 100,000 tokens

        Today, 2026-11-23
          Claude Agent        $1.24 + 0.30 EUR    123,456 tokens   12 turns
          Cline                                 tells no numbers    2 turns
          OpenCode                               ≥ 12,000 tokens    3 turns
          all                 $1.24 + 0.30 EUR  ≥ 135,456 tokens   17 turns

        This month, 2026-11
          Claude Agent                 $0.0048  1,123,456 tokens  120 turns

        Rate limits
          Claude Agent        5 hours · 82% used · begins anew 2026-11-23 14:30
        ");
    }

    #[test]
    fn an_empty_page_says_how_it_fills() {
        let empty =
            View { live: None, periods: Vec::new(), limits: Vec::new(), notes: &[], icons: true, width: 74 };
        insta::assert_snapshot!(page(&empty).lines.join("\n"), @r"
        Usage, as agents tell it

        This session
          There is none yet; :AcpChat starts one.

        Today and this month
          Nothing yet. Each turn that an agent ends is counted here.
        ");
    }

    #[test]
    fn an_agent_that_tells_nothing_is_said_to_tell_nothing() {
        let live =
            Live { name: "Cline".into(), title: None, context: None, cost: None, sum: Some(sum(&[], 0, 2)) };
        let silent = View { live: Some(live), ..view(74) };
        let page = page(&silent);
        assert!(
            page.lines.contains(&"  Its agent tells neither cost nor tokens.".to_owned()),
            "{:#?}",
            page.lines
        );
    }

    #[test]
    fn in_a_narrow_window_no_number_and_no_word_is_cut() {
        let page = page(&view(38));
        let lines = page.lines.join("\n");
        // But of the session's own words.
        assert_eq!(lines.matches('…').count(), 1, "{lines}");
        assert!(
            lines.contains("  Claude Agent\n    $1.24 + 0.30 EUR · 123,456 tokens\n    12 turns"),
            "{lines}"
        );
        assert!(lines.contains("  Cline\n    tells no numbers"), "{lines}");
    }

    #[test]
    fn no_line_is_wider_than_the_window_and_marks_are_within() {
        for width in [20, 34, 54, 74, 134] {
            let page = page(&view(width));
            for line in &page.lines {
                assert!(line.chars().count() <= width.max(44), "{width}: {line:?}");
            }
            for (row, from, to, _) in &page.marks {
                assert!(from <= to && *to <= page.lines[*row].len(), "{width}: {:?}", page.lines[*row]);
                assert!(page.lines[*row].is_char_boundary(*from) && page.lines[*row].is_char_boundary(*to));
            }
        }
    }
}
