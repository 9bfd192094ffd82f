//! The page as a buffer: made once, shown in as many windows as the user likes. Rows are added where messages come, and
//! taken away where newer ones have taken their place; the cursor follows only where it stands on the last one.

use mlua::Result;

use crate::config::Pane;
use crate::core::inspector::filter::{Filter, Found};
use crate::core::inspector::line::{Look, empty, line, name_width};
use crate::core::inspector::table::{Row, Table};
use crate::core::text::bar::ListBar;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::inspector::{Inspector, Page};
use crate::nvim::keys::bind::{bind_pane, key_parts};

/// The most rows; older messages are found by a narrower filter.
const MAX_ROWS: usize = 5000;

/// The place of a window that follows what comes.
const LAST: u64 = u64::MAX;

/// How parts of a line look: by their columns and their words, so that only rows on the screen cost anything.
const SYNTAX: &[&str] = &[
    r"syntax match AcpMeta /\%3c\d\d:\d\d:\d\d\.\d\d\d/",
    r"syntax match AcpToolRunning /\%16c[\u2192>]/",
    r"syntax match AcpToolDone /\%16c[\u2190<]/",
    r"syntax match AcpError /^!/",
    r"syntax match AcpError / \zs\%(unknown update\|unknown method\|error -\?\d\+\|slow\|never answered\|answers nothing\|no message\)\ze\%(\u2026\| \{2,}\| #\| *$\)/",
    r"syntax match AcpMeta /\%( #\S\+\)\?\s\+[0-9.]\+ [kM]\?B\%( .*\)\?$/",
];

impl Inspector {
    pub(super) fn show_page(&mut self, cx: &mut Context) -> Result<()> {
        let editor = cx.editor.clone();
        let known = self.page.as_ref().map(|page| page.buf).filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => {
                let buf = make_buf(cx)?;
                self.page = Some(Page::new(buf));
                buf
            }
        };
        let here =
            editor.tab_wins()?.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|its| its == buf));
        match here {
            Some(win) => editor.set_current_win(win)?,
            None => {
                open_window(&editor, buf)?;
                self.look_again(cx)?;
                let last = editor.line_count(buf)?;
                editor.set_cursor(editor.current_win()?, last, 0)?;
            }
        }
        if let Some(page) = self.page.as_mut().filter(|page| page.table.next() == 0) {
            page.draw_to(cx, 0)?;
        }
        self.draw_bars(cx)
    }

    /// Windows have other sizes, or there is another agent: lines may have other columns.
    pub fn look_again(&mut self, cx: &mut Context) -> Result<()> {
        self.fit_other_bars(&cx.editor)?;
        let Some(page) = &mut self.page else { return Ok(()) };
        let editor = &cx.editor;
        let wins = editor.wins_of(page.buf);
        let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
        let Some(width) = widths.map(|(columns, _)| usize::from(columns)).min() else { return Ok(()) };
        let offset = editor.clock_offset()?;
        let look = Look { width, icons: cx.config.icons, offset, name: name_width(&page.table.agents) };
        if look != page.look {
            page.look = look;
            let to = page.drawn_to;
            page.note_places(editor)?;
            page.begin_anew();
            page.draw_to(cx, to)?;
        }
        self.draw_bars(cx)
    }

    /// The bars of messages and recordings, which say the same as long as there is room.
    pub(super) fn fit_other_bars(&mut self, editor: &Editor) -> Result<()> {
        self.other_bars.retain(|(buf, _)| editor.buf_is_valid(*buf));
        self.other_bars.iter().try_for_each(|(buf, parts)| editor.fit_bars(&editor.wins_of(*buf), parts, &[]))
    }

    pub(super) fn draw_bars(&self, cx: &Context) -> Result<()> {
        let Some(page) = &self.page else { return Ok(()) };
        let wins = cx.editor.wins_of(page.buf);
        if wins.is_empty() {
            return Ok(());
        }
        let now = cx.now().0;
        let all = page.table.rows().count();
        let wrong = page.table.rows().filter(|row| row.problem_at(now).is_some()).count();
        let several = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            count => format!("{count} {what}s"),
        };
        let left = ListBar {
            title: "Messages",
            all: several(all, "message"),
            passing: page.shown.len() + page.earlier,
            last: (page.earlier > 0).then_some(page.shown.len()),
            problems: (wrong > 0).then(|| several(wrong, "problem")),
            filter: page.filter.typed(),
        };
        let keys = [("inspect_filter", "filter", 6), ("inspect_help", "keys", 2)];
        cx.editor.fit_bars(&wins, &left.parts(), &key_parts(&cx.config.keys, &keys))
    }
}

impl Page {
    fn new(buf: Buf) -> Self {
        Self {
            buf,
            table: Table::default(),
            filter: Filter::default(),
            found: Found::new(),
            shown: Vec::new(),
            earlier: 0,
            drawn_to: 0,
            look: Look { width: 80, icons: true, offset: 0, name: 0 },
            asked: None,
            finding: None,
            typing: None,
            places: Vec::new(),
            due: None,
        }
    }

    /// Keeps in mind where windows are, to go there in other rows. While a filter is typed it is where that was begun.
    pub(super) fn note_places(&mut self, editor: &Editor) -> Result<()> {
        if self.typing.is_some() || self.shown.is_empty() {
            return Ok(());
        }
        let mut places = Vec::new();
        for win in editor.wins_of(self.buf) {
            let row = editor.cursor(win)?.0;
            // One at the last hit of a filter follows if it was at the end before it.
            let followed = self.place_of(win) == LAST;
            let follows = row >= self.shown.len() && (followed || self.filter.is_empty());
            let number = if follows { Some(LAST) } else { self.shown.get(row.saturating_sub(1)).copied() };
            places.extend(number.map(|number| (win, number)));
        }
        self.places = places;
        Ok(())
    }

    fn place_of(&self, win: Win) -> u64 {
        self.places.iter().find(|(known, _)| *known == win).map_or(LAST, |(_, number)| *number)
    }

    /// Has windows show the row of the message that they were at, or of the nearest one.
    fn go_to_places(&self, editor: &Editor) -> Result<()> {
        editor.wins_of(self.buf).into_iter().try_for_each(|win| {
            let row = nearest(&self.shown, self.place_of(win));
            editor.helper("show_row", (win, row + 1))
        })
    }

    /// All rows are to be drawn once more.
    pub(super) fn begin_anew(&mut self) {
        self.drawn_to = 0;
        self.shown.clear();
        self.earlier = 0;
    }

    fn passes(&self, row: &Row, now: u64) -> bool {
        self.filter.shows(&self.table, row, now, &self.found)
    }

    fn line(&self, row: &Row, now: u64) -> String {
        line(&self.table, row, &self.look, now)
    }

    /// Adds the rows up to a message.
    pub(super) fn draw_to(&mut self, cx: &Context, to: u64) -> Result<()> {
        let editor = &cx.editor;
        let now = cx.now().0;
        let is_first = self.shown.is_empty();
        let from = self.drawn_to;
        let rows = self.table.rows().filter(|row| (from..to).contains(&row.summary.number));
        let new: Vec<&Row> = rows.filter(|row| self.passes(row, now)).collect();
        let begin = new.len().saturating_sub(MAX_ROWS);
        let lines: Vec<String> = new[begin..].iter().map(|row| self.line(row, now)).collect();
        let numbers: Vec<u64> = new[begin..].iter().map(|row| row.summary.number).collect();
        self.drawn_to = self.drawn_to.max(to);
        if lines.is_empty() && !is_first {
            return Ok(());
        }
        let count = editor.line_count(self.buf)?;
        let at_end = self.at_end(editor, count)?;
        let cut = (self.shown.len() + lines.len()).saturating_sub(MAX_ROWS).min(self.shown.len());
        self.earlier += begin + cut;
        self.shown.drain(..cut);
        self.shown.extend(numbers);
        self.change(editor, |buf| match (is_first, lines.is_empty()) {
            (true, true) => {
                let keys = cx.config.keys.line(&[("inspect_all", "shows all")]);
                editor.set_lines(buf, 0..count, &empty(!self.filter.is_empty(), &keys, self.look.width))
            }
            (true, false) => editor.set_lines(buf, 0..count, &lines),
            (false, _) => {
                editor.set_lines(buf, count..count, &lines)?;
                if cut > 0 { editor.set_lines(buf, 0..cut, &[""; 0]) } else { Ok(()) }
            }
        })?;
        if is_first { self.go_to_places(editor) } else { self.follow(editor, at_end) }
    }

    /// Takes the rows away whose messages are gone.
    pub(super) fn forget_before(&mut self, editor: &Editor, first: u64) -> Result<()> {
        let gone = self.shown.partition_point(|number| *number < first);
        if gone == 0 {
            return Ok(());
        }
        self.shown.drain(..gone);
        self.change(editor, |buf| editor.set_lines(buf, 0..gone, &[""; 0]))
    }

    /// Draws rows that say something else now, which may come or go by that.
    pub(super) fn draw_again(&mut self, cx: &Context, numbers: &[u64]) -> Result<()> {
        let now = cx.now().0;
        let known = self.drawn_to;
        for number in numbers.iter().filter(|number| **number < known) {
            let Some(row) = self.table.get(*number) else { continue };
            let line = self.passes(row, now).then(|| self.line(row, now));
            let found = self.shown.binary_search(number);
            match (found, line) {
                (Ok(at), Some(line)) => {
                    self.change(&cx.editor, |buf| cx.editor.set_lines(buf, at..at + 1, &[line]))?
                }
                (Ok(at), None) if self.shown.len() > 1 => {
                    self.shown.remove(at);
                    self.change(&cx.editor, |buf| cx.editor.set_lines(buf, at..at + 1, &[""; 0]))?;
                }
                (Ok(_), None) => {
                    let to = self.drawn_to;
                    self.shown.clear();
                    self.draw_to(cx, to)?;
                }
                (Err(at), Some(line)) if at > 0 || self.earlier == 0 => {
                    let was_empty = self.shown.is_empty();
                    let count = cx.editor.line_count(self.buf)?;
                    let rows = if was_empty { 0..count } else { at..at };
                    self.shown.insert(at, *number);
                    self.change(&cx.editor, |buf| cx.editor.set_lines(buf, rows, &[line]))?;
                }
                (Err(_), _) => {}
            }
        }
        Ok(())
    }

    fn change(&self, editor: &Editor, change: impl FnOnce(Buf) -> Result<()>) -> Result<()> {
        editor.set_buf_option(self.buf, "modifiable", true)?;
        let changed = change(self.buf);
        editor.set_buf_option(self.buf, "modifiable", false)?;
        changed
    }

    /// The windows in which the cursor stands on the last row.
    fn at_end(&self, editor: &Editor, count: usize) -> Result<Vec<Win>> {
        let mut at_end = Vec::new();
        for win in editor.wins_of(self.buf) {
            if editor.cursor(win)?.0 >= count {
                at_end.push(win);
            }
        }
        Ok(at_end)
    }

    fn follow(&self, editor: &Editor, wins: Vec<Win>) -> Result<()> {
        let last = editor.line_count(self.buf)?;
        wins.into_iter().try_for_each(|win| editor.set_cursor(win, last, 0))
    }

    pub(super) fn go_to(&self, cx: &Context, number: u64) -> Result<()> {
        match self.shown.binary_search(&number) {
            Ok(row) => {
                let win = cx.editor.current_win()?;
                cx.editor.command("normal! m'")?;
                cx.editor.set_cursor(win, row + 1, 0)
            }
            Err(_) if self.table.get(number).is_none() => {
                fail("the other half is gone: newer messages have taken its place")
            }
            Err(_) => {
                let all = cx.config.keys.line(&[("inspect_all", "shows all")]);
                fail(format!("the other half does not pass the filter; {all}"))
            }
        }
    }
}

/// The row of a number among others, or of the one nearest to it.
fn nearest(numbers: &[u64], number: u64) -> usize {
    let next = numbers.partition_point(|other| *other < number);
    match (next.checked_sub(1), numbers.get(next)) {
        (Some(before), Some(after)) if number - numbers[before] <= after - number => before,
        (_, Some(_)) => next,
        (before, None) => before.unwrap_or(0),
    }
}

fn make_buf(cx: &Context) -> Result<Buf> {
    let editor = &cx.editor;
    let buf = editor.create_page("acp://messages", "acp-messages")?;
    for command in SYNTAX {
        editor.command_in(buf, command)?;
    }
    bind_pane(editor, &cx.config.keys, Pane::Inspector, buf)?;
    Ok(buf)
}

fn open_window(editor: &Editor, buf: Buf) -> Result<()> {
    let (_, rows) = editor.size();
    editor.command("stopinsert")?;
    let win = editor.split_for_page((rows * 2 / 3).max(5))?;
    editor.set_win_buf(win, buf)?;
    plain_window(editor, win)?;
    editor.set_win_option(win, "cursorline", true)?;
    editor.set_win_option(win, "foldenable", false)
}

/// A window of a list or of a message: the text and nothing beside it.
pub(super) fn plain_window(editor: &Editor, win: Win) -> Result<()> {
    for option in ["wrap", "number", "relativenumber", "spell", "list"] {
        editor.set_win_option(win, option, false)?;
    }
    editor.set_win_option(win, "signcolumn", "no")?;
    editor.set_win_option(win, "foldcolumn", "0")
}
