//! The last lines of a command's output on their way from the background to the chat: only those from the first that
//! changed on. They are made from a `screen` by `render`.

use serde::{Deserialize, Serialize};

use crate::core::terminal::screen::{Line, Screen, Span};

/// How many lines are kept.
pub const MAX_LINES: usize = 200;

/// Lines of an output from one of them on to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastLines {
    /// How many lines of the output are before these.
    pub from: usize,
    pub lines: Vec<Line>,
    /// A program has the whole screen for itself, such as an editor or a pager.
    pub is_taken: bool,
}

impl LastLines {
    /// What has changed in a command's output since this was last asked.
    pub fn changed(screen: &mut Screen) -> Self {
        match screen.changed(MAX_LINES) {
            Some((from, lines)) => Self { from, lines, is_taken: false },
            None => Self { is_taken: true, ..Self::default() },
        }
    }

    /// Takes in what came later.
    pub fn take_in(&mut self, later: Self) {
        self.is_taken = later.is_taken;
        if later.is_taken {
            return;
        }
        match later.from.checked_sub(self.from) {
            // Nothing is missing in between.
            Some(kept) if kept <= self.lines.len() => {
                self.lines.truncate(kept);
                self.lines.extend(later.lines);
            }
            _ => (self.from, self.lines) = (later.from, later.lines),
        }
        let over = self.lines.len().saturating_sub(MAX_LINES);
        self.lines.drain(..over);
        self.from += over;
    }

    /// How many lines there have been in all.
    pub fn total(&self) -> usize {
        self.from + self.lines.len()
    }

    /// About how much memory they take.
    pub fn size(&self) -> usize {
        let of_line =
            |line: &Line| size_of::<Line>() + line.text.len() + line.spans.len() * size_of::<Span>();
        self.lines.iter().map(of_line).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn lines(from: usize, texts: &[&str]) -> LastLines {
        let line = |text: &&str| Line { text: (*text).to_owned(), spans: Vec::new() };
        LastLines { from, lines: texts.iter().map(line).collect(), is_taken: false }
    }

    fn after(mut first: LastLines, later: LastLines) -> LastLines {
        first.take_in(later);
        first
    }

    #[test]
    fn what_came_later_takes_the_place_of_what_changed() {
        assert_eq!(after(lines(5, &["a", "b"]), lines(6, &["B", "c"])), lines(5, &["a", "B", "c"]));
        assert_eq!(after(lines(5, &["a"]), lines(6, &["b"])), lines(5, &["a", "b"]));
        assert_eq!(after(lines(5, &["a", "b"]), lines(6, &[])), lines(5, &["a"]));
        assert_eq!(after(lines(5, &["a"]), lines(2, &["x"])), lines(2, &["x"]));
        assert_eq!(after(lines(5, &["a"]), lines(9, &["x"])), lines(9, &["x"]), "some were never told");
    }

    #[test]
    fn memory_is_bounded_and_all_lines_are_counted() {
        let mut kept = LastLines::default();
        for number in 0..3 * MAX_LINES {
            kept.take_in(lines(number, &["x"]));
        }
        assert_eq!((kept.lines.len(), kept.total()), (MAX_LINES, 3 * MAX_LINES));
    }

    /// Texts, breaks, movements and erasures, the whole screen among them.
    const PARTS: [&str; 22] = [
        "a",
        "word",
        "\u{e4}",
        "\n",
        "\r\n",
        "\r\n\r\n\r\n",
        "\r",
        "\t",
        "\x08",
        "\x1b[A",
        "\x1b[3B",
        "\x1b[31m",
        "\x1b[J",
        "\x1b[2J",
        "\x1b[3J",
        "\x1b[H",
        "\x1b[4;7H",
        "\x1b[K",
        "\x1b[1K",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1bc",
    ];

    proptest! {
        /// Told piece by piece, or joined on the way, or all at once: the same lines in the end.
        #[test]
        fn changes_come_to_the_same_as_the_whole(
            pieces in vec((vec(0..PARTS.len(), 0..12), any::<bool>()), 0..40),
            rows in 1_usize..30,
        ) {
            let (mut screen, mut whole) = (Screen::new(MAX_LINES), Screen::new(MAX_LINES));
            screen.resize(rows);
            whole.resize(rows);
            let (mut kept, mut under_way) = (LastLines::default(), None::<LastLines>);
            for (parts, arrives) in pieces {
                let text: String = parts.into_iter().map(|part| PARTS[part]).collect();
                screen.feed(text.as_bytes());
                whole.feed(text.as_bytes());
                let changed = LastLines::changed(&mut screen);
                match &mut under_way {
                    Some(joined) => joined.take_in(changed),
                    None => under_way = Some(changed),
                }
                if arrives && let Some(joined) = under_way.take() {
                    kept.take_in(joined);
                }
            }
            if let Some(joined) = under_way {
                kept.take_in(joined);
            }
            let expected = LastLines::changed(&mut whole);
            prop_assert_eq!(kept.is_taken, expected.is_taken);
            if !kept.is_taken {
                prop_assert_eq!(kept.total(), expected.total());
                let ours = &kept.lines[kept.lines.len().saturating_sub(expected.lines.len())..];
                prop_assert_eq!(ours, &expected.lines[..]);
            }
        }
    }
}
