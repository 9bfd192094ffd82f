//! The bar above a window, in the format of 'winbar': parts at its left and its right, of which those that matter least
//! give way where there is too little room. What a part says is left to others.

use super::cells;
use super::fitting::cut_end;

/// Between two parts that say facts.
pub const BETWEEN: &str = " \u{b7} ";

/// A part of a bar.
#[derive(Clone, Debug)]
pub struct Part {
    /// Nothing of it is evaluated.
    text: String,
    /// The highlight group.
    group: &'static str,
    /// What is to be missed where there is no room for all: the highest goes first, of those with the same one the last.
    rank: u8,
    /// What stands between it and the part before.
    gap: &'static str,
}

impl Part {
    pub fn new(group: &'static str, text: impl Into<String>, rank: u8) -> Self {
        Self { text: text.into(), group, rank, gap: BETWEEN }
    }

    /// The same with something else before it.
    pub fn after(self, gap: &'static str) -> Self {
        Self { gap, ..self }
    }

    fn cells(&self) -> usize {
        cells(&self.text)
    }
}

/// What the bar of a page says whose lines can be filtered.
pub struct ListBar<'a> {
    pub title: &'static str,
    /// How many there are, and of what.
    pub all: String,
    /// So many pass the filter, and the last of them that stand there, where those are fewer.
    pub passing: usize,
    pub last: Option<usize>,
    pub problems: Option<String>,
    /// As it was typed; empty where there is none.
    pub filter: &'a str,
}

impl ListBar<'_> {
    /// The left side of the bar.
    pub fn parts(self) -> Vec<Part> {
        let mut parts =
            vec![Part::new("AcpWinbar", self.title, 0), Part::new("AcpMeta", self.all, 5).after("  ")];
        if !self.filter.is_empty() {
            parts.push(Part::new("AcpMeta", format!("{} shown", self.passing), 4));
        }
        parts.extend(self.last.map(|last| Part::new("AcpMeta", format!("the last {last}"), 7)));
        parts.extend(self.problems.map(|problems| Part::new("AcpError", problems, 3)));
        if !self.filter.is_empty() {
            parts.push(Part::new("AcpWinbar", format!("filter: {}", self.filter), 1));
        }
        parts
    }
}

/// What stands at the left and at the right of a window of `width` cells. A blank stands before the one, after the other,
/// and at least one between the two. Each part is there as a whole or not at all; only one that is left alone and is still too long is cut,
/// at its end.
pub fn bar(left: &[Part], right: &[Part], width: usize) -> String {
    let (mut left, mut right) = (left.to_vec(), right.to_vec());
    while left.len() + right.len() > 1 && taken(&left, &right) > width {
        let ranks = |parts: &[Part], side: usize| -> Vec<(u8, usize, usize)> {
            parts.iter().enumerate().map(|(at, part)| (part.rank, side, at)).collect()
        };
        let Some((_, side, at)) = [ranks(&left, 0), ranks(&right, 1)].concat().into_iter().max() else {
            break;
        };
        if side == 0 {
            left.remove(at)
        } else {
            right.remove(at)
        };
    }
    let room = width.saturating_sub(blanks(&right));
    for part in left.iter_mut().chain(&mut right) {
        part.text = cut_end(&part.text, room);
    }
    let right = if right.is_empty() { String::new() } else { format!("%={} ", written(&right, "AcpMeta")) };
    format!("%#AcpMeta# {}{right}", written(&left, "AcpMeta"))
}

/// A line of parts as far as it has room in so many cells: the last ones go, each as a whole.
pub fn whole_parts(line: &str, width: usize) -> String {
    let ends = line.match_indices(BETWEEN).map(|(end, _)| end).chain([line.len()]);
    let fitting = ends.filter(|end| cells(&line[..*end]) <= width).last();
    fitting.map_or_else(|| cut_end(line, width), |end| line[..end].to_owned())
}

/// The cells that all of it takes.
fn taken(left: &[Part], right: &[Part]) -> usize {
    let side = |parts: &[Part]| {
        let all: usize = parts.iter().map(|part| part.cells() + cells(part.gap)).sum();
        all - parts.first().map_or(0, |first| cells(first.gap))
    };
    let between = usize::from(!left.is_empty() && !right.is_empty());
    side(left) + side(right) + between + blanks(right)
}

/// Those at the ends.
fn blanks(right: &[Part]) -> usize {
    1 + usize::from(!right.is_empty())
}

/// Parts one after the other, with their groups.
fn written(parts: &[Part], around: &'static str) -> String {
    let mut text = String::new();
    let mut group = around;
    for (at, part) in parts.iter().enumerate() {
        let gap = if at == 0 { "" } else { part.gap };
        if !gap.is_empty() && group != around {
            text.push_str(&format!("%#{around}#"));
            group = around;
        }
        text.push_str(gap);
        if part.group != group {
            text.push_str(&format!("%#{}#", part.group));
            group = part.group;
        }
        text.push_str(&part.text.replace('%', "%%"));
    }
    if group != around {
        text.push_str(&format!("%#{around}#"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(width: usize) -> String {
        let left = vec![
            Part::new("AcpWinbar", "Page", 0),
            Part::new("AcpMeta", "12 messages", 4).after("  "),
            Part::new("AcpError", "2 problems", 2),
            Part::new("AcpWinbar", "100%", 1),
        ];
        let right = vec![Part::new("AcpMeta", "f filter", 5), Part::new("AcpMeta", "g? keys", 3)];
        let bar = bar(&left, &right, width);
        bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text)).collect()
    }

    #[test]
    fn what_matters_least_goes_first_and_as_a_whole() {
        for (width, expected) in [
            (60, " Page  12 messages \u{b7} 2 problems \u{b7} 100%%%=f filter \u{b7} g? keys "),
            (58, " Page  12 messages \u{b7} 2 problems \u{b7} 100%%%=f filter \u{b7} g? keys "),
            (57, " Page  12 messages \u{b7} 2 problems \u{b7} 100%%%=g? keys "),
            (46, " Page \u{b7} 2 problems \u{b7} 100%%%=g? keys "),
            (33, " Page \u{b7} 2 problems \u{b7} 100%%"),
            (24, " Page \u{b7} 100%%"),
            (12, " Page \u{b7} 100%%"),
            (11, " Page"),
            (5, " Page"),
            (4, " Pa\u{2026}"),
            (2, " \u{2026}"),
            (1, " "),
            (0, " "),
        ] {
            assert_eq!(shown(width), expected, "{width}");
        }
    }

    #[test]
    fn a_line_of_parts_loses_the_last_ones() {
        let line = "word \u{b7} #id \u{b7} size>10k";
        for (width, expected) in
            [(21, line), (20, "word \u{b7} #id"), (9, "word"), (4, "word"), (3, "wo\u{2026}"), (0, "")]
        {
            assert_eq!(whole_parts(line, width), expected, "{width}");
        }
    }

    #[test]
    fn a_bar_is_never_wider_than_its_window() {
        for width in 2..100 {
            let plain = shown(width).replace("%=", " ").replace("%%", "%");
            assert!(cells(&plain) <= width, "{plain:?} in {width}");
        }
    }

    #[test]
    fn each_part_has_its_colour_and_what_is_between_them_none() {
        let left = vec![Part::new("AcpError", "a", 0), Part::new("AcpMeta", "b", 1)];
        assert_eq!(bar(&left, &[], 20), "%#AcpMeta# %#AcpError#a%#AcpMeta# \u{b7} b");
    }
}
