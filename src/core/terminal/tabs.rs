//! The one terminal window of a tab page: which of several commands it shows, and the line that says how all of them
//! do. Pure text and choices; windows and buffers are the editor's part.

use crate::core::ids::Moment;
use crate::core::terminal::bar::State;
use crate::core::text::cells;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::visible::visible_line;

/// The shortest label of a command.
const SHORTEST: usize = 8;
const LONGEST: usize = 24;
/// That of one beside which not even the number of others has room.
const LEAST: usize = 4;

/// A command of the line.
#[derive(Clone, Copy, Debug)]
pub struct Tab<'a> {
    pub label: &'a str,
    pub state: State<'a>,
    pub is_shown: bool,
}

/// The command that takes the place of one that is put away: the newest that runs, else the newest that has failed.
pub fn successor<Id: Copy>(others: &[(Id, State<'_>)]) -> Option<Id> {
    let newest = |fits: fn(&State<'_>) -> bool| {
        let fitting = others.iter().filter(|(_, state)| fits(state));
        fitting.max_by_key(|(_, state)| state.started.0).map(|(id, _)| *id)
    };
    newest(|state| state.exit.is_none()).or_else(|| newest(|state| state.has_failed()))
}

/// In the format of 'winbar', for a window of this width: each command with its state, and the time of the shown one.
pub fn line(tabs: &[Tab<'_>], now: Moment, width: usize) -> String {
    let words = tabs.iter().find(|tab| tab.is_shown).map(|tab| tab.state.words(now)).unwrap_or_default();
    let words = cut_end(&words, width.saturating_sub(2));
    let room = width.saturating_sub(cells(&words) + 2);
    let shown = tabs.iter().position(|tab| tab.is_shown).unwrap_or_default();
    // As many as have room, around the shown one; that there are more gives way to its label.
    let fitting = (1..=tabs.len()).rev().find_map(|count| {
        let first = shown.saturating_sub(count / 2).min(tabs.len() - count);
        let rest = tabs.len() - first - count;
        let left = room.saturating_sub(cells(&before(first)) + cells(&after(rest)));
        // A sign, and a blank on each side.
        let each = (left / count).saturating_sub(4);
        (each >= SHORTEST).then(|| (before(first), first..first + count, after(rest), each.min(LONGEST)))
    });
    // Where not even that has a label, its state says what matters.
    let alone = || {
        let left = room.saturating_sub(4);
        (left >= LEAST && !tabs.is_empty()).then(|| (String::new(), shown..shown + 1, String::new(), left))
    };
    let mut line = String::new();
    if let Some((before, listed, after, each)) = fitting.or_else(alone) {
        line.push_str(&format!("%#AcpMeta#{before}"));
        // What others leave free is the shown one's.
        let free = |tab: &Tab<'_>| each.saturating_sub(cells(&visible_line(tab.label)));
        let left: usize = tabs[listed.clone()].iter().filter(|tab| !tab.is_shown).map(free).sum();
        for tab in &tabs[listed] {
            let most = if tab.is_shown { (each + left).min(LONGEST) } else { each };
            let label = cut_middle(&visible_line(tab.label), most).replace('%', "%%");
            let (sign, group) = (tab.state.sign(), tab.state.group());
            let name = if tab.is_shown { "AcpWinbar" } else { "AcpMeta" };
            line.push_str(&format!("%#{group}# {sign} %#{name}#{label} "));
        }
        line.push_str(&format!("%#AcpMeta#{after}"));
    }
    let group = tabs.get(shown).map_or("AcpMeta", |tab| tab.state.group());
    format!("{line}%=%#{group}#{} ", words.replace('%', "%%"))
}

/// How many there are before and after those that have room.
fn before(count: usize) -> String {
    if count > 0 { format!(" +{count}") } else { String::new() }
}

fn after(count: usize) -> String {
    if count > 0 { format!("+{count} ") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::Exit;

    const GOOD: Exit = Exit { code: Some(0), signal: None };
    const BAD: Exit = Exit { code: Some(1), signal: None };

    fn state(exit: Option<&Exit>, started: u64) -> State<'_> {
        State { exit, started: Moment(started), ended: exit.map(|_| Moment(started + 2000)) }
    }

    fn plain(line: &str) -> String {
        line.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text)).collect()
    }

    #[test]
    fn what_runs_comes_before_what_failed_and_success_needs_no_look() {
        assert_eq!(
            successor(&[(1, state(None, 1)), (2, state(None, 5)), (3, state(Some(&BAD), 9))]),
            Some(2)
        );
        assert_eq!(successor(&[(1, state(Some(&BAD), 1)), (2, state(Some(&GOOD), 5))]), Some(1));
        assert_eq!(successor(&[(2, state(Some(&GOOD), 5))]), None);
        assert_eq!(successor::<u8>(&[]), None);
    }

    #[test]
    fn the_line_says_how_each_command_does() {
        let tabs = [
            Tab { label: "cargo test 100%", state: state(Some(&BAD), 0), is_shown: false },
            Tab { label: "make", state: state(None, 1000), is_shown: true },
            Tab { label: "ls", state: state(Some(&GOOD), 0), is_shown: false },
        ];
        let line = line(&tabs, Moment(13_000), 80);
        assert_eq!(plain(&line), " \u{2717} cargo test 100%%  \u{25cf} make  \u{2713} ls %=running 12 s ");
    }

    #[test]
    fn in_a_narrow_window_the_shown_command_has_the_room_that_there_is() {
        let tab = |label, is_shown| Tab { label, state: state(Some(&BAD), 0), is_shown };
        let tabs = [tab("ls", false), tab("Tests, slowly", true)];
        let shown = |width| plain(&line(&tabs, Moment(9000), width));
        let words = "exit 1 \u{b7} 2.0 s ";
        assert_eq!(shown(40), format!(" \u{2717} ls  \u{2717} Tests, slowly %={words}"));
        assert_eq!(shown(29), format!(" \u{2717} Test\u{2026}owly %={words}"));
        assert_eq!(shown(24), format!(" \u{2717} T\u{2026}ly %={words}"));
        assert_eq!(shown(20), format!("%={words}"));
    }

    #[test]
    fn where_there_are_too_many_the_shown_one_is_among_those_that_are_listed() {
        let labels: Vec<String> = (0..12).map(|number| format!("command {number}")).collect();
        for (shown, width) in (0..12).flat_map(|shown| (0..90).map(move |width| (shown, width))) {
            let tabs = labels.iter().enumerate().map(|(at, label)| Tab {
                label,
                state: state(None, 0),
                is_shown: at == shown,
            });
            let tabs: Vec<Tab<'_>> = tabs.collect();
            let line = plain(&line(&tabs, Moment(1000), width));
            let before = line.split("%=").next().unwrap_or_default();
            assert!(cells(&line.replace("%=", "")) <= width.max(2), "{line:?} in {width}");
            let is_there = before.contains(&format!(" {shown} "));
            assert!(width < 39 || is_there && line.contains('+'), "{shown} in {width}: {line}");
        }
    }
}
