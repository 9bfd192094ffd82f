//! The bar above a terminal: what runs, how it is going, and what could not be shown. Pure text; where
//! it goes is for `window`.

use std::borrow::Cow;

use crate::core::ids::Moment;
use crate::core::message::Exit;
use crate::core::text::cells;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::visible::visible_line;
use crate::core::transcript::{running_time, seconds};

/// The longest command that is shown whole, and what is left of one in the narrowest window.
const LABEL: usize = 80;
const SHORTEST: usize = 8;

/// How a command is going.
#[derive(Clone, Copy, Debug)]
pub struct State<'a> {
    pub exit: Option<&'a Exit>,
    pub started: Moment,
    pub ended: Option<Moment>,
}

impl State<'_> {
    /// In words, with the time as the chat says it: `running 12 s`, `exit 1 · 3.2 s`.
    pub fn words(&self, now: Moment) -> String {
        let time = self.ended.unwrap_or(now).since(self.started);
        match self.exit {
            None => format!("running {}", running_time(time)),
            Some(exit) => format!("{} \u{b7} {}", exit.words(), seconds(time)),
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
    /// In words, the longest way first.
    fn variants(self) -> [String; 3] {
        let words = |bytes: usize, what: &str| match bytes {
            0 => String::new(),
            _ => format!("{} {what} \u{b7} ", amount(bytes)),
        };
        let (cut, skipped) = (words(self.cut, "cut for the agent"), words(self.skipped, "not shown"));
        [format!("{cut}{skipped}"), skipped, cut]
    }
}

/// A command without the shell that an agent runs it in: `sh -c 'make test'` is `make test`.
pub fn without_shell(command: &str) -> Cow<'_, str> {
    let inside = || {
        let (program, rest) = command.trim().split_once(' ')?;
        let name = program.rsplit(['/', '\\']).next()?;
        let (flag, script) = rest.trim_start().split_once(' ')?;
        let is_shell = matches!(name, "sh" | "bash" | "zsh" | "dash") && matches!(flag, "-c" | "-lc");
        let script = script.trim();
        let bare = match script.chars().next() {
            Some(quote @ ('\'' | '"')) => quoted(script, quote).unwrap_or(script),
            _ => script,
        };
        let bare = bare.trim();
        (is_shell && !bare.is_empty()).then(|| match script.starts_with('\'') {
            // As the shell writes a quote in quotes.
            true => Cow::Owned(bare.replace(r"'\''", "'")),
            false => Cow::Borrowed(bare),
        })
    };
    inside().unwrap_or(Cow::Borrowed(command))
}

/// What stands in the quotes that a text begins with: what follows are arguments of the script.
fn quoted(text: &str, quote: char) -> Option<&str> {
    // How each of the two is written inside of itself: after the quote, or before it.
    let (after, before) = if quote == '\'' { (r"\''", "") } else { ("", "\\") };
    let inner = text.strip_prefix(quote)?;
    let mut from = 0;
    loop {
        let at = from + inner[from..].find(quote)?;
        let (head, rest) = (&inner[..at], &inner[at + 1..]);
        if !after.is_empty() && rest.starts_with(after) {
            from = at + 1 + after.len();
        } else if !before.is_empty() && head.ends_with(before) {
            from = at + 1;
        } else {
            return Some(head);
        }
    }
}

/// What a command is called for short: without the shell that runs it, and of a script that begins with a comment
/// what that says.
pub fn name_of(command: &str) -> Cow<'_, str> {
    let script = without_shell(command);
    let comment = script.lines().next().and_then(|line| line.strip_prefix('#')).map(str::trim);
    match comment.filter(|comment| !comment.is_empty() && !comment.starts_with('!')) {
        Some(comment) => Cow::Owned(comment.to_owned()),
        None => script,
    }
}

/// In the format of 'winbar', for a window of this width. Where there is too little room, what is lost gives way to the
/// command first, then the command's middle, then the end of how it is going.
pub fn bar(label: &str, state: State<'_>, lost: Lost, now: Moment, width: usize) -> String {
    let label = cut_middle(&visible_line(label), LABEL);
    let words = cut_end(&words_beside(&label, state, lost, now, width), width.saturating_sub(2));
    // A blank at both ends, and one at least between the two.
    let room = width.saturating_sub(cells(&words) + 3);
    let mut variants = lost.variants().into_iter().filter(|lost| !lost.is_empty());
    let lost = variants.find(|lost| cells(lost) + cells(&label).min(SHORTEST) <= room).unwrap_or_default();
    let label = cut_middle(&label, room.saturating_sub(cells(&lost)));
    let lost = if lost.is_empty() { lost } else { format!("%#AcpMeta#{lost}") };
    format!("%#AcpWinbar# {}%={lost}%#{}#{} ", escape(&label), state.group(), escape(&words))
}

/// How it is going. How long it took is left out where that is what a label needs to be whole.
fn words_beside(label: &str, state: State<'_>, lost: Lost, now: Moment, width: usize) -> String {
    let all = state.words(now);
    let has_room = |words: &str| cells(label) + cells(words) + 3 <= width;
    let is_lost = lost.skipped > 0 || lost.cut > 0;
    match state.exit.map(Exit::words) {
        Some(brief) if !is_lost && !has_room(&all) && has_room(&brief) => brief,
        _ => all,
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
    fn a_script_that_begins_with_a_comment_is_named_by_it() {
        for (command, name) in [
            ("sh -c '# the checks\nprintf 1' sh 2", "the checks"),
            ("sh -c '#!/bin/sh\nprintf 1'", "#!/bin/sh\nprintf 1"),
            ("sh -c '#\nprintf 1'", "#\nprintf 1"),
            ("make # all", "make # all"),
        ] {
            assert_eq!(name_of(command), name);
        }
    }

    #[test]
    fn a_command_is_called_by_what_it_does_rather_than_by_its_shell() {
        for (command, name) in [
            ("sh -c ' printf \"a\"; exit 3'", "printf \"a\"; exit 3"),
            ("/bin/bash -lc make", "make"),
            (r"sh -c 'echo '\''a'\'''", "echo 'a'"),
            (r"sh -c 'echo '\''a'\'' b' sh 0.15", "echo 'a' b"),
            ("sh -c \"echo \\\"a\\\"\" sh", "echo \\\"a\\\""),
            ("sh -c 'a", "'a"),
            ("bash run.sh", "bash run.sh"),
            ("sh -c ''", "sh -c ''"),
            ("make -c x y", "make -c x y"),
        ] {
            assert_eq!(without_shell(command), name);
        }
    }

    #[test]
    fn the_bar_says_what_runs_and_for_how_long() {
        assert_eq!(plain(None, None, (0, 0)), " date +%%s ^[ && true%=running 12 s ");
        assert_eq!(
            plain(None, None, (12_345_678, 0)),
            " date +%%s ^[ && true%=12.3 MB not shown \u{b7} running 12 s "
        );
        assert_eq!(
            plain(None, None, (0, 2_300_000)),
            " date +%%s ^[ && true%=2.3 MB cut for the agent \u{b7} running 12 s "
        );
        let both = plain(None, None, (1_000_000, 123_000_000_000));
        assert!(both.contains('\u{2026}') && both.ends_with("12 s "), "the command gives way: {both}");
    }

    #[test]
    fn the_bar_says_how_it_ended_and_its_time_stands_still() {
        let exit = |code, signal: Option<&str>| Some(Exit { code, signal: signal.map(str::to_owned) });
        let ended = |exit| plain(exit, Some(4_000_000), (0, 0)).split("%=").last().map(str::to_owned);
        assert_eq!(ended(exit(Some(0), None)).as_deref(), Some("exit 0 \u{b7} 1:06:39 "));
        assert_eq!(ended(exit(None, Some("SIGTERM"))).as_deref(), Some("SIGTERM \u{b7} 1:06:39 "));
        assert_eq!(ended(exit(None, None)).as_deref(), Some("ended \u{b7} 1:06:39 "));
    }

    #[test]
    fn a_label_that_has_room_without_the_time_is_whole() {
        let exit = Exit { code: Some(0), signal: None };
        let state = State { exit: Some(&exit), started: Moment(0), ended: Some(Moment(1500)) };
        let ends = |width| bar("Run it with colours", state, Lost::default(), Moment(0), width);
        assert!(ends(36).ends_with("exit 0 \u{b7} 1.5 s "), "{}", ends(36));
        for width in [35, 28] {
            let bar = ends(width);
            assert!(bar.contains(" Run it with colours%=") && bar.ends_with("exit 0 "), "{bar} in {width}");
        }
        assert!(ends(27).contains('\u{2026}') && ends(27).ends_with("1.5 s "), "{}", ends(27));
    }

    #[test]
    fn the_bar_is_never_wider_than_its_window() {
        let exits = [None, Some(Exit { code: Some(101), signal: None })];
        for (width, exit) in (0..100).flat_map(|width| exits.iter().map(move |exit| (width, exit))) {
            let state = State {
                exit: exit.as_ref(),
                started: Moment(0),
                ended: exit.as_ref().map(|_| Moment(62_000)),
            };
            let lost = Lost { skipped: 12_345_678, cut: 2_300_000 };
            let bar = bar("cargo test --workspace \u{65e5}\u{672c}", state, lost, Moment(62_000), width);
            let plain: String =
                bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text)).collect();
            let plain = plain.replace("%=", "").replace("%%", "%");
            assert!(cells(&plain) <= width.max(2), "{plain:?} in {width}");
            assert!(width < 20 || plain.ends_with("1:02 "), "{plain:?} in {width}");
            assert!(width < 39 || plain.starts_with(" ca"), "{plain:?} in {width}");
        }
    }
}
