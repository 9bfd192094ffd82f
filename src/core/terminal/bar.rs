//! The bar above a terminal: what runs, how it is going, and what could not be shown. Pure text; where
//! it goes is for `window`.

use crate::core::ids::Moment;
use crate::core::message::Exit;
use crate::core::text::visible::visible_line;
use crate::core::transcript::cut_middle;

/// The longest command that is shown whole, and what is left of one in the narrowest window.
const LABEL: usize = 80;
const SHORTEST: usize = 16;

/// How a command is going.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    pub exit: Option<&'a Exit>,
    pub started: Moment,
    pub ended: Option<Moment>,
}

impl State<'_> {
    /// In words, with the time: `running 0:12`, `exit 1 · 0:03`.
    pub fn words(&self, now: Moment) -> String {
        let time = clock(self.ended.unwrap_or(now).since(self.started));
        match self.exit {
            None => format!("running {time}"),
            Some(exit) => format!("{} \u{b7} {time}", exit.words()),
        }
    }

    pub fn has_failed(&self) -> bool {
        self.exit.is_some_and(|exit| match exit.code {
            Some(code) => code != 0,
            // Of some commands nobody says how they ended.
            None => exit.signal.is_some(),
        })
    }

    pub fn sign(&self) -> char {
        match self.exit {
            None => '\u{25cf}',
            Some(_) if self.has_failed() => '\u{2717}',
            Some(_) => '\u{2713}',
        }
    }

    pub fn group(&self) -> &'static str {
        match self.exit {
            None => "AcpToolRunning",
            Some(Exit { code: Some(0), .. }) => "AcpToolDone",
            Some(Exit { code: None, signal: None }) => "AcpMeta",
            Some(_) => "AcpToolFailed",
        }
    }
}

/// Bytes of a command's output that are missing somewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// They came too fast to be shown.
    pub skipped: usize,
    /// They are gone from the beginning of what the agent can read.
    pub cut: usize,
}

impl Lost {
    fn words(self) -> String {
        let mut words = String::new();
        if self.cut > 0 {
            words.push_str(&format!("{} cut for the agent \u{b7} ", amount(self.cut)));
        }
        if self.skipped > 0 {
            words.push_str(&format!("{} not shown \u{b7} ", amount(self.skipped)));
        }
        words
    }
}

/// In the format of 'winbar', for a window of this width.
pub fn bar(label: &str, state: State<'_>, lost: Lost, now: Moment, width: usize) -> String {
    let (lost, words) = (lost.words(), state.words(now));
    let room = width.saturating_sub(lost.chars().count() + words.chars().count() + 4);
    let label = cut_middle(&visible_line(label), room.clamp(SHORTEST, LABEL));
    let lost = if lost.is_empty() { lost } else { format!("%#AcpMeta#{lost}") };
    // Where there is still too little room, what is lost gives way first.
    format!("%#AcpWinbar# {}%=%<{lost}%#{}#{} ", escape(&label), state.group(), escape(&words))
}

/// `0:12`, `1:02:03`.
fn clock(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}

/// `12 kB`, `3.4 MB`.
pub fn amount(bytes: usize) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
        _ => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
    }
}

/// A text in which 'winbar' finds nothing to evaluate.
fn escape(text: &str) -> String {
    text.replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(exit: Option<Exit>, ended: Option<u64>, (skipped, cut): (usize, usize)) -> String {
        let state = State { exit: exit.as_ref(), started: Moment(1000), ended: ended.map(Moment) };
        let bar = bar("date +%s\n\x1b && true", state, Lost { skipped, cut }, Moment(13_900), 80);
        bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text)).collect()
    }

    #[test]
    fn the_bar_says_what_runs_and_for_how_long() {
        assert_eq!(plain(None, None, (0, 0)), " date +%%s ^[ && true%=%<running 0:12 ");
        assert_eq!(
            plain(None, None, (12_345_678, 0)),
            " date +%%s ^[ && true%=%<12.3 MB not shown \u{b7} running 0:12 "
        );
        assert_eq!(
            plain(None, None, (0, 2_300_000)),
            " date +%%s ^[ && true%=%<2.3 MB cut for the agent \u{b7} running 0:12 "
        );
        let both = plain(None, None, (1_000_000, 123_000_000_000));
        assert!(both.contains('\u{2026}') && both.ends_with("0:12 "), "the command gives way: {both}");
    }

    #[test]
    fn the_bar_says_how_it_ended_and_its_time_stands_still() {
        let exit = |code, signal: Option<&str>| Some(Exit { code, signal: signal.map(str::to_owned) });
        let ended = |exit| plain(exit, Some(4_000_000), (0, 0)).split("%<").last().map(str::to_owned);
        assert_eq!(ended(exit(Some(0), None)).as_deref(), Some("exit 0 \u{b7} 1:06:39 "));
        assert_eq!(ended(exit(None, Some("SIGTERM"))).as_deref(), Some("SIGTERM \u{b7} 1:06:39 "));
        assert_eq!(ended(exit(None, None)).as_deref(), Some("ended \u{b7} 1:06:39 "));
    }
}
