//! A command whose output the user sees: what came of it, and from that what its windows still lack, what
//! the chat shows, and what the bar says. Buffers and windows are the editor's part.

use std::path::PathBuf;

use crate::core::ids::Moment;
use crate::core::message::{Exit, Skipped};
use crate::core::session::exit_text;
use crate::core::terminal::backlog::Backlog;
use crate::core::terminal::bar::{self, Lost, State, amount};
use crate::core::terminal::last_lines::LastLines;
use crate::core::terminal::refit::Refit;
use crate::core::text::cells;
use crate::core::text::fitting::cut_end;
use crate::core::transcript::Tail;

/// What runs in a terminal.
pub struct Program {
    pub command: String,
    pub cwd: PathBuf,
    /// What the user types reaches it.
    pub typing: bool,
    pub started: Moment,
}

pub struct Shown {
    program: Program,
    exit: Option<Exit>,
    ended: Option<Moment>,
    /// The line that stands below its output then.
    end: String,
    /// The user was told that typing does nothing here.
    told: bool,
    /// There has been output.
    grew: bool,
    backlog: Backlog,
    /// What the chat shows.
    last_lines: LastLines,
    /// How many bytes came too fast to be shown, and how many the agent's record lacks at its beginning.
    lost: Lost,
    /// Lines in what came too fast to be shown.
    skipped_lines: usize,
    /// Rows and columns, as the program was last told.
    size: (u16, u16),
    refit: Refit,
}

impl Shown {
    pub fn new(program: Program) -> Self {
        Self {
            program,
            exit: None,
            ended: None,
            end: String::new(),
            told: false,
            grew: false,
            backlog: Backlog::default(),
            last_lines: LastLines::default(),
            lost: Lost::default(),
            skipped_lines: 0,
            size: (24, 80),
            refit: Refit::default(),
        }
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    pub fn is_running(&self) -> bool {
        self.exit.is_none()
    }

    pub fn has_succeeded(&self) -> bool {
        self.exit.as_ref().is_some_and(|exit| exit.code == Some(0))
    }

    // What comes in.

    /// Takes new output in, as `render` made it, and how much was skipped before it and is cut from the agent's
    /// record. Says whether it is the first.
    pub fn grew(&mut self, bytes: &[u8], lines: LastLines, (skipped, cut): (Skipped, usize)) -> bool {
        self.lost.cut = self.lost.cut.max(cut);
        let first = !std::mem::replace(&mut self.grew, true);
        self.last_lines.take_in(lines);
        if skipped.bytes > 0 {
            self.lost.skipped += skipped.bytes;
            self.skipped_lines += skipped.lines;
            let amount = amount(skipped.bytes);
            let note = format!("\x1b[0m\r\n\x1b[2m\u{2026} {amount} not shown \u{2026}\x1b[0m\r\n");
            self.backlog.push(note.as_bytes());
        }
        self.backlog.push(bytes);
        first
    }

    pub fn ended(&mut self, exit: Exit, now: Moment) {
        if self.exit.is_some() {
            // It was taken for over; the agent says only now how it ended.
            self.exit = Some(exit);
            return;
        }
        self.exit = Some(exit);
        self.ended = Some(now);
        self.end = self.end_line();
        self.backlog.push(written(&self.end).as_bytes());
    }

    /// What stands below the output of a command that is over: how it ended, in a line that its windows have room for.
    fn end_line(&self) -> String {
        let Some(exit) = &self.exit else { return String::new() };
        let columns = usize::from(self.refit.columns().unwrap_or(self.size.1));
        let text = exit_text(Some(exit));
        let all = [format!("[The command {text}]"), format!("[{text}]"), format!("[{}]", exit.words())];
        let fitting = all.iter().find(|line| cells(line) <= columns);
        fitting.cloned().unwrap_or_else(|| cut_end(&all[2], columns))
    }

    /// The same for windows of another size. Says whether it is another line.
    fn fit_end(&mut self) -> bool {
        let line = self.end_line();
        let is_other = line != self.end;
        if is_other {
            self.backlog.replace_end(written(&self.end).len(), written(&line).as_bytes());
            self.end = line;
        }
        is_other
    }

    /// The line before and the one that takes its place, where windows that keep what they were given are to have
    /// another one.
    pub fn refit_end(&mut self) -> Option<(String, String)> {
        let before = self.end.clone();
        let is_other = self.is_fed() && !self.wants_refit() && self.fit_end();
        is_other.then(|| (before, self.end.clone()))
    }

    /// The window has this many rows and columns. Says whether the program is to be told.
    pub fn resize(&mut self, rows: u16, columns: u16) -> bool {
        if !self.is_running() || self.size == (rows, columns) {
            return false;
        }
        self.size = (rows, columns);
        self.window_resized();
        true
    }

    /// The widest of its windows has this many columns.
    pub fn seen_in(&mut self, columns: u16) {
        self.refit.seen(columns, self.backlog.is_begun());
        if !self.is_running() && !self.backlog.is_begun() {
            self.fit_end();
        }
    }

    /// Its windows have another size, or had one for a moment.
    pub fn window_resized(&mut self) {
        if self.backlog.is_begun() {
            self.refit.may_have_changed();
        }
    }

    /// Whether a new buffer would show more of the output than the one that is there.
    pub fn wants_refit(&self) -> bool {
        !self.is_running() && self.backlog.is_whole() && self.refit.is_wanted(self.backlog.all(), self.size.1)
    }

    /// There is a new buffer, which is given everything.
    pub fn begin_again(&mut self) {
        self.backlog.again();
        self.refit.done();
        if !self.is_running() {
            self.fit_end();
        }
    }

    /// Whether it is time to say that typing does nothing: the first time that the user does it.
    pub fn tell_once(&mut self) -> bool {
        !std::mem::replace(&mut self.told, true)
    }

    // What goes out.

    /// What windows still lack of the raw output.
    pub fn backlog(&mut self) -> &mut Backlog {
        &mut self.backlog
    }

    /// Whether it is over and no window has been given anything of it.
    pub fn is_unseen(&self) -> bool {
        !self.is_running() && !self.backlog.is_begun()
    }

    /// Whether windows have been given all that there will be.
    pub fn is_fed(&self) -> bool {
        !self.is_running() && self.backlog.is_begun() && !self.backlog.has_more()
    }

    /// What is kept of the raw output.
    pub fn raw(&self) -> &[u8] {
        self.backlog.all()
    }

    /// The lines for the chat.
    pub fn tail(&self) -> Tail {
        let running = self.is_running();
        let failed = self.state().has_failed();
        let took = self.ended.map(|ended| ended.since(self.program.started));
        if self.last_lines.is_taken {
            let lines = vec!["(it has the whole terminal for itself, <CR> shows it)".to_owned()];
            return Tail { lines, spans: Vec::new(), total: 1, running, failed, took };
        }
        let lines = self.last_lines.lines.iter().map(|line| (line.text.clone(), line.spans.clone()));
        let (lines, spans) = lines.unzip::<_, _, Vec<_>, Vec<_>>();
        let total = self.last_lines.total() + self.skipped_lines;
        Tail { lines, spans, total, running, failed, took }
    }

    pub fn state(&self) -> State<'_> {
        State { exit: self.exit.as_ref(), started: self.program.started, ended: self.ended }
    }

    /// The bar of its windows. `label` is what the chat calls what runs.
    pub fn bar(&self, label: Option<&str>, now: Moment, width: usize) -> String {
        bar::bar(
            label.unwrap_or(&bar::without_shell(&self.program.command)),
            self.state(),
            self.lost,
            now,
            width,
        )
    }
}

/// How a command ended as its terminal is given it.
fn written(line: &str) -> String {
    format!("\x1b[0m\r\n\x1b[2m{line}\x1b[0m\x1b[?25l")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terminal::render::Renderer;

    /// Nothing was skipped, nothing cut.
    const NOTHING: (Skipped, usize) = (Skipped { bytes: 0, lines: 0 }, 0);

    fn shown() -> Shown {
        let (command, cwd) = ("make".to_owned(), PathBuf::from("/p"));
        Shown::new(Program { command, cwd, typing: true, started: Moment(1000) })
    }

    /// What comes of pieces of raw output.
    fn grow(shown: &mut Shown, pieces: &[(&[u8], (Skipped, usize))]) -> Vec<bool> {
        let mut renderer = Renderer::default();
        let grow = |(raw, lost): &(&[u8], (Skipped, usize))| {
            let (bytes, lines) = renderer.render(raw);
            shown.grew(&bytes, lines, *lost)
        };
        pieces.iter().map(grow).collect()
    }

    fn exit(code: Option<u32>, signal: Option<&str>) -> Exit {
        Exit { code, signal: signal.map(str::to_owned) }
    }

    fn text(shown: &mut Shown) -> String {
        let mut text = Vec::new();
        while shown.backlog().has_more() {
            text.extend_from_slice(shown.backlog().next_piece().0);
        }
        String::from_utf8(text).expect("only text was given")
    }

    #[test]
    fn only_the_first_output_is_the_first() {
        let mut shown = shown();
        let firsts = grow(&mut shown, &[(b"one\r\n", NOTHING), (b"two\r\n", NOTHING)]);
        assert_eq!(firsts, [true, false]);
        assert_eq!(shown.tail().lines, ["one", "two"]);
        assert_eq!(shown.raw(), b"one\r\ntwo\r\n");
    }

    #[test]
    fn what_was_skipped_is_named_where_it_is_missing_and_in_the_bar() {
        let mut shown = shown();
        let lost = (Skipped { bytes: 2_000_000, lines: 40_000 }, 0);
        grow(&mut shown, &[(b"before\r\n", NOTHING), (b"after\r\n", lost)]);
        let text = text(&mut shown);
        let (before, after) = text.split_once("2.0 MB not shown").expect("it is named");
        assert!(before.starts_with("before") && after.ends_with("after\r\n"), "{text:?}");
        assert!(shown.bar(None, Moment(2000), 80).contains("2.0 MB not shown"));
        // The chat shows the end of it all the same.
        assert_eq!(shown.tail().lines, ["before", "after"]);
        assert_eq!(shown.tail().total, 40_002, "what nobody saw is counted");
    }

    #[test]
    fn the_most_that_was_cut_for_the_agent_counts() {
        let mut shown = shown();
        grow(&mut shown, &[(b"x", (Skipped::default(), 5000)), (b"y", (Skipped::default(), 3000))]);
        assert!(shown.bar(None, Moment(2000), 80).contains("5 kB cut"));
    }

    #[test]
    fn the_end_is_written_once_and_a_later_word_of_how_it_ended_counts() {
        let mut shown = shown();
        shown.ended(exit(None, None), Moment(3000));
        assert!(!shown.is_running() && !shown.has_succeeded());
        shown.ended(exit(Some(1), None), Moment(9000));
        assert_eq!(text(&mut shown).matches("[The command").count(), 1);
        assert!(shown.tail().failed);
        assert_eq!(shown.state().words(Moment(10_000)), "exit 1 \u{b7} 2.0 s");
    }

    #[test]
    fn the_end_is_said_in_one_line_of_the_windows_that_are_given_it() {
        for (columns, line) in [
            (80, "[The command ended with exit code 1]"),
            (36, "[The command ended with exit code 1]"),
            (35, "[ended with exit code 1]"),
            (23, "[exit 1]"),
            (5, "[exi\u{2026}"),
        ] {
            let mut shown = shown();
            grow(&mut shown, &[(b"one\r\n", NOTHING)]);
            shown.ended(exit(Some(1), None), Moment(3000));
            shown.seen_in(columns);
            let given = text(&mut shown);
            assert!(
                given.starts_with("one\r\n") && given.contains(&format!("\x1b[2m{line}\x1b[0m")),
                "{given:?}"
            );
            assert_eq!(given.matches('[').count(), 5, "{given:?}");
            // They are made wider.
            shown.seen_in(100);
            shown.begin_again();
            assert!(text(&mut shown).contains("[The command ended with exit code 1]"), "{columns}");
        }
    }

    #[test]
    fn windows_that_keep_what_they_were_given_have_another_last_line() {
        let mut shown = shown();
        grow(&mut shown, &[(b"10 %\r20 %\r\n", NOTHING)]);
        shown.seen_in(80);
        shown.ended(exit(Some(1), None), Moment(3000));
        assert_eq!(shown.refit_end(), None, "they have not been given it");
        text(&mut shown);
        assert_eq!(shown.refit_end(), None);
        shown.seen_in(30);
        let whole = "[The command ended with exit code 1]".to_owned();
        let short = "[ended with exit code 1]".to_owned();
        assert_eq!(shown.refit_end(), Some((whole, short)));
        assert_eq!(shown.refit_end(), None);
        assert!(
            !shown.backlog().has_more() && shown.raw().ends_with(b"[ended with exit code 1]\x1b[0m\x1b[?25l")
        );
    }

    #[test]
    fn an_end_that_nobody_explains_is_no_failure() {
        let failed = |exit| {
            let mut shown = shown();
            shown.ended(exit, Moment(2000));
            shown.tail().failed
        };
        assert!(!failed(exit(None, None)) && !failed(exit(Some(0), None)));
        assert!(failed(exit(None, Some("SIGKILL"))) && failed(exit(Some(2), None)));
    }

    #[test]
    fn a_program_is_told_its_size_when_it_is_another_one_and_while_it_runs() {
        let mut shown = shown();
        assert!(!shown.resize(24, 80));
        assert!(shown.resize(10, 80));
        assert!(!shown.resize(10, 80));
        shown.ended(exit(Some(0), None), Moment(2000));
        assert!(!shown.resize(30, 100));
    }

    #[test]
    fn output_that_was_narrower_is_given_again_when_the_command_is_over() {
        let mut shown = shown();
        grow(&mut shown, &[(b"one line\r\n", NOTHING)]);
        shown.seen_in(39);
        text(&mut shown);
        shown.seen_in(19);
        assert!(!shown.wants_refit(), "it may draw its screen anew");
        shown.ended(exit(Some(0), None), Moment(2000));
        assert!(shown.wants_refit());
        shown.begin_again();
        assert!(text(&mut shown).starts_with("one line") && !shown.wants_refit());
        shown.seen_in(39);
        assert!(shown.wants_refit());
    }

    #[test]
    fn output_whose_beginning_is_gone_is_not_given_again() {
        let mut shown = shown();
        shown.seen_in(39);
        let line = [b"0123456789".repeat(10).as_slice(), b"\r\n"].concat();
        for _ in 0..20 {
            grow(&mut shown, &[(&line.repeat(400), NOTHING)]);
        }
        text(&mut shown);
        shown.ended(exit(Some(0), None), Moment(2000));
        shown.seen_in(50);
        assert!(!shown.wants_refit());
    }

    #[test]
    fn what_takes_the_whole_screen_is_not_drawn_into_the_chat() {
        let mut shown = shown();
        grow(&mut shown, &[(b"\x1b[?1049hfull", NOTHING)]);
        let tail = shown.tail();
        assert_eq!((tail.lines.len(), tail.total, tail.running), (1, 1, true));
        assert!(tail.lines[0].contains("<CR>"));
    }

    #[test]
    fn typing_that_does_nothing_is_told_once() {
        let mut shown = shown();
        assert!(shown.tell_once() && !shown.tell_once());
    }

    #[test]
    fn the_bar_calls_a_command_what_the_chat_calls_it() {
        let shown = shown();
        assert!(shown.bar(Some("Build it"), Moment(2000), 80).contains("Build it"));
        assert!(shown.bar(None, Moment(2000), 80).contains("make"));
    }
}
