//! Times on the screen. They differ from run to run, so each is replaced by the screenplay's: about what
//! it would be with a real agent. Text at the right edge stays at the right edge.

use regex_lite::Regex;

use super::screen::{Glyph, Screen};
use crate::support::grid::Style;

const TIME: &str = r"(?:\d[\d.]* m?s|\d+:\d\d)";

/// The times that a picture shows.
#[derive(Clone)]
pub struct Times {
    /// How long the turn has run, in the chat's winbar.
    pub working: String,
    /// How long a thought took.
    pub thought: String,
    /// How long the whole turn took.
    pub turn: String,
    /// How long calls took, by a text in their line. Other calls show no time.
    pub calls: Vec<(String, String)>,
    /// The clock in a terminal's bar, by a text in that bar.
    pub terminals: Vec<(String, String)>,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            working: "6 s".into(),
            thought: "2.1 s".into(),
            turn: "14 s".into(),
            calls: Vec::new(),
            terminals: Vec::new(),
        }
    }
}

impl Times {
    /// `meta` is the colour of times in the chat.
    pub fn put(&self, screen: &mut Screen, meta: u32) {
        for row in &mut screen.rows {
            // Each window's part of the row.
            for part in row.split_mut(|glyph| ["│", "├", "┤", "┼"].contains(&glyph.text.as_str())) {
                self.put_into(part, meta);
            }
        }
    }

    fn put_into(&self, part: &mut [Glyph], meta: u32) {
        // It turns all the time.
        part.iter_mut().filter(|glyph| "⣾⣽⣻⢿⡿⣟⣯⣷".contains(&*glyph.text) && !glyph.text.is_empty()).for_each(
            |glyph| {
                glyph.text = "⣾".into();
            },
        );
        let text = text(part);
        if let Some(found) = find(&format!("working ({TIME}) *$"), &text) {
            right(part, found, &self.working);
        } else if let Some(found) = find(&format!("▸ thought( for {TIME})?"), &text) {
            left(part, found, &format!(" for {}", self.thought));
        } else if let Some(found) = find(&format!("(?:Done|Cancelled) · ({TIME})"), &text) {
            left(part, found, &self.turn);
        } else if let Some(found) = find(&format!(r"(?:running|exit \d+ ·|SIG\w+ ·) ({TIME}) *$"), &text) {
            let named = self.terminals.iter().find(|(name, _)| text.contains(name.as_str()));
            right(part, found, named.map_or("0:00", |(_, time)| time.as_str()));
        } else if Regex::new("^ ?[✓✗] ").expect("a pattern").is_match(&text) {
            let named = self
                .calls
                .iter()
                .find(|(name, _)| text.contains(name.as_str()))
                .map(|(_, time)| time.as_str());
            facts(part, named, meta);
        }
    }
}

/// The cells that the pattern's group matches, as first and end. Where an optional group matches nothing
/// it is the empty span at the end of the match.
fn find(pattern: &str, text: &str) -> Option<(usize, usize)> {
    let found = Regex::new(pattern).expect("a pattern").captures(text)?;
    let whole = found.get(0).expect("the whole match");
    let span = found.get(1).map_or(whole.end()..whole.end(), |group| group.range());
    let cells = |byte: usize| text[..byte].chars().count();
    Some((cells(span.start), cells(span.end)))
}

/// One character for each cell, which is true unless there are double-width characters.
fn text(part: &[Glyph]) -> String {
    part.iter().map(|glyph| glyph.text.chars().next().unwrap_or(' ')).collect()
}

/// Replaces some cells; the text to the left of them moves, up to the next gap of two blanks.
fn right(part: &mut [Glyph], (first, end): (usize, usize), new: &str) {
    let style = part[first.min(end - 1)].style;
    let gap = (1..first).rev().find(|&at| part[at].text == " " && part[at - 1].text == " ").unwrap_or(0);
    let mut cells: Vec<_> = part[gap + 1..first].to_vec();
    cells.extend(new.chars().map(|letter| Glyph { text: letter.into(), style }));
    put_before(part, gap + 1, end, cells);
}

/// Replaces some cells; the text to the right of them moves.
fn left(part: &mut [Glyph], (first, end): (usize, usize), new: &str) {
    let style = part[first.saturating_sub(1)].style;
    let blank = part[part.len() - 1].clone();
    let mut cells: Vec<_> = new.chars().map(|letter| Glyph { text: letter.into(), style }).collect();
    cells.extend_from_slice(&part[end..]);
    cells.resize(part.len() - first, blank);
    part[first..].clone_from_slice(&cells);
}

/// Sets or removes a call's time, at the right edge of its line and after the counts.
fn facts(part: &mut [Glyph], time: Option<&str>, meta: u32) {
    let whole = text(part);
    let written = match whole.trim_end().rsplit_once("  ") {
        Some((before, facts)) if !before.trim().is_empty() => facts.to_owned(),
        _ => String::new(),
    };
    let is_time = Regex::new(&format!("^{TIME}$")).expect("a pattern");
    let facts = written.split(" · ").filter(|fact| !fact.is_empty() && !is_time.is_match(fact)).chain(time);
    let facts = facts.collect::<Vec<_>>().join(" · ");
    if facts == written {
        return;
    }
    let end = if written.is_empty() { part.len() - 1 } else { whole.trim_end().chars().count() };
    let style = Style { foreground: meta, ..part[end - 1].style };
    let cells = facts.chars().map(|letter| Glyph { text: letter.into(), style }).collect();
    put_before(part, end - written.chars().count(), end, cells);
}

/// Writes cells that end at `end`; the rest from `from` on becomes blank.
fn put_before(part: &mut [Glyph], from: usize, end: usize, cells: Vec<Glyph>) {
    let begin = end - cells.len();
    let style = part[end - 1].style;
    for glyph in &mut part[from.min(begin)..begin] {
        *glyph = Glyph { text: " ".into(), style };
    }
    part[begin..end].clone_from_slice(&cells);
}
