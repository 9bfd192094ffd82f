//! The last rows of a command's output with their colours, for the chat's view of a command: a terminal
//! of endless height and width that forgets its upper rows. What an agent reads is made in `output`; the
//! terminal that a user opens is the editor's own.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use vte::{Params, Parser, Perform};

/// A row is not kept beyond this; nobody sees so far to the right.
const LONGEST_ROW: usize = 1024;
/// Where tabulators are.
const TAB: usize = 8;

/// Columns count characters, not cells.
pub struct Screen {
    parser: Parser,
    page: Page,
    /// The start of a character whose other bytes have not come yet.
    partial: Vec<u8>,
    /// How many rows there were when [`Self::changed`] was last asked.
    told: usize,
}

/// One row as text, and what colours it; the spans do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub text: String,
    pub spans: Vec<Span>,
}

/// Bytes of a line that look alike, and not as text does by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    pub style: Style,
}

/// How text looks. Of more than sixteen colours the nearest is taken, so that a user's colours fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Style {
    /// 0 to 15.
    pub foreground: Option<u8>,
    pub background: Option<u8>,
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
}

/// The highlight groups of the sixteen colours, as text and behind it.
pub const COLOURS: [(&str, &str); 16] = [
    ("AcpBlack", "AcpOnBlack"),
    ("AcpRed", "AcpOnRed"),
    ("AcpGreen", "AcpOnGreen"),
    ("AcpYellow", "AcpOnYellow"),
    ("AcpBlue", "AcpOnBlue"),
    ("AcpMagenta", "AcpOnMagenta"),
    ("AcpCyan", "AcpOnCyan"),
    ("AcpWhite", "AcpOnWhite"),
    ("AcpBrightBlack", "AcpOnBrightBlack"),
    ("AcpBrightRed", "AcpOnBrightRed"),
    ("AcpBrightGreen", "AcpOnBrightGreen"),
    ("AcpBrightYellow", "AcpOnBrightYellow"),
    ("AcpBrightBlue", "AcpOnBrightBlue"),
    ("AcpBrightMagenta", "AcpOnBrightMagenta"),
    ("AcpBrightCyan", "AcpOnBrightCyan"),
    ("AcpBrightWhite", "AcpOnBrightWhite"),
];

impl Style {
    /// The highlight groups that together look so.
    pub fn groups(self) -> impl Iterator<Item = &'static str> {
        let colour = |colour: u8| COLOURS[usize::from(colour) % COLOURS.len()];
        [
            self.foreground.map(|foreground| colour(foreground).0),
            self.background.map(|background| colour(background).1),
            self.bold.then_some("AcpBold"),
            self.italic.then_some("AcpItalic"),
            self.underline.then_some("AcpUnderline"),
            self.reverse.then_some("AcpReverse"),
        ]
        .into_iter()
        .flatten()
    }
}

impl Screen {
    /// Remembers the last `rows`. Programs that draw all over the screen are taken to see as many.
    pub fn new(rows: usize) -> Self {
        Self { parser: Parser::new(), page: Page::new(rows.max(1)), partial: Vec::new(), told: 0 }
    }

    /// Takes the next bytes; how they are cut into pieces makes no difference.
    pub fn feed(&mut self, bytes: &[u8]) {
        // The parser loses characters that are cut in two.
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
            &joined
        };
        let whole = bytes.len() - incomplete(bytes);
        self.partial.extend_from_slice(&bytes[whole..]);
        self.parser.advance(&mut self.page, &bytes[..whole]);
    }

    /// How many rows the program was told that there are.
    pub fn resize(&mut self, rows: usize) {
        self.page.height = rows.max(1);
    }

    /// What has changed since this was last asked: the last rows from the first of those on, `most` of them, without
    /// empty ones at the end, and how many are before them. Nothing while a program has the whole screen.
    pub fn changed(&mut self, most: usize) -> Option<(usize, Vec<Line>)> {
        // What is under it is told anew when the program leaves.
        if self.is_taken() {
            return None;
        }
        let (gone, filled) = (self.page.gone, self.filled());
        let count = gone + filled;
        let changed = self.page.touched.min(self.told).min(count);
        let from = changed.max(gone).max(count.saturating_sub(most));
        self.page.touched = usize::MAX;
        self.told = count;
        Some((from, self.page.rows.range(from - gone..filled).map(Row::line).collect()))
    }

    /// A program has the whole screen for itself, such as an editor or a pager.
    fn is_taken(&self) -> bool {
        self.page.main.is_some()
    }

    /// How many rows there have been, without empty ones at the end.
    pub fn count(&self) -> usize {
        self.page.gone + self.filled()
    }

    /// The last rows, oldest first, without empty ones at the end.
    pub fn tail(&self, count: usize) -> Vec<Line> {
        let filled = self.filled();
        self.page.rows.range(filled.saturating_sub(count)..filled).map(Row::line).collect()
    }

    fn filled(&self) -> usize {
        self.page.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1)
    }
}

/// How many bytes at the end are the start of a character.
fn incomplete(bytes: &[u8]) -> usize {
    let near = bytes.len().saturating_sub(3);
    let start = bytes[near..].iter().rposition(|byte| byte & 0xc0 != 0x80).map(|at| near + at);
    match start.map(|start| &bytes[start..]) {
        Some(last) => match std::str::from_utf8(last) {
            Err(error) if error.error_len().is_none() => last.len() - error.valid_up_to(),
            _ => 0,
        },
        None => 0,
    }
}

/// What the parser writes on.
struct Page {
    /// Never empty.
    rows: VecDeque<Row>,
    most: usize,
    /// How many rows were forgotten.
    gone: usize,
    height: usize,
    /// An index into `rows`.
    row: usize,
    column: usize,
    saved: (usize, usize),
    style: Style,
    /// What is under a program that has the whole screen, and its cursor.
    main: Option<(VecDeque<Row>, usize, usize)>,
    /// The first row, of all that there have been, that may have changed since somebody asked.
    touched: usize,
}

#[derive(Clone, Default)]
struct Row(Vec<Cell>);

#[derive(Clone, Copy, PartialEq)]
struct Cell {
    text: char,
    style: Style,
}

const BLANK: Cell = Cell {
    text: ' ',
    style: Style {
        foreground: None,
        background: None,
        bold: false,
        italic: false,
        underline: false,
        reverse: false,
    },
};

impl Row {
    fn is_blank(&self) -> bool {
        self.0.iter().all(|cell| *cell == BLANK)
    }

    fn write(&mut self, column: usize, cell: Cell) {
        if column >= self.0.len() {
            self.0.resize(column + 1, BLANK);
        }
        self.0[column] = cell;
    }

    fn blank(&mut self, columns: std::ops::Range<usize>) {
        let end = columns.end.min(self.0.len());
        if let Some(cells) = self.0.get_mut(columns.start..end) {
            cells.fill(BLANK);
        }
    }

    fn line(&self) -> Line {
        let end = self.0.iter().rposition(|cell| *cell != BLANK).map_or(0, |last| last + 1);
        let mut line = Line::default();
        for cell in &self.0[..end] {
            let start = line.text.len();
            line.text.push(cell.text);
            if cell.style == Style::default() {
                continue;
            }
            match line.spans.last_mut() {
                Some(last) if last.end == start && last.style == cell.style => last.end = line.text.len(),
                _ => line.spans.push(Span { start, end: line.text.len(), style: cell.style }),
            }
        }
        line
    }
}

impl Page {
    fn new(most: usize) -> Self {
        Self {
            rows: VecDeque::from([Row::default()]),
            most,
            gone: 0,
            height: 24,
            row: 0,
            column: 0,
            saved: (0, 0),
            style: Style::default(),
            main: None,
            touched: 0,
        }
    }

    /// The first row that a program can reach.
    fn top(&self) -> usize {
        self.rows.len().saturating_sub(self.height)
    }

    fn here(&mut self) -> &mut Row {
        self.touch(self.row);
        &mut self.rows[self.row]
    }

    /// A row is about to change.
    fn touch(&mut self, row: usize) {
        self.touched = self.touched.min(self.gone + row);
    }

    fn line_feed(&mut self) {
        self.row += 1;
        self.grow();
    }

    /// Has the cursor's row be there.
    fn grow(&mut self) {
        while self.row >= self.rows.len() {
            self.rows.push_back(Row::default());
        }
        // A program that has the screen for itself leaves no rows behind.
        let most = if self.main.is_some() { self.height } else { self.most.max(self.height) };
        while self.rows.len() > most {
            self.rows.pop_front();
            self.row = self.row.saturating_sub(1);
            self.saved.0 = self.saved.0.saturating_sub(1);
            if self.main.is_none() {
                self.gone += 1;
            }
        }
    }

    fn go_to_row(&mut self, row: usize) {
        self.row = self.top() + row.min(self.height - 1);
        self.grow();
    }

    fn go_to_column(&mut self, column: usize) {
        self.column = column.min(LONGEST_ROW);
    }

    fn erase_screen(&mut self, how: usize) {
        let (row, column) = (self.row, self.column);
        self.touch(self.top().min(row));
        match how {
            0 => {
                self.here().0.truncate(column);
                self.rows.truncate(row + 1);
            }
            1 => {
                let top = self.top();
                (top..row).for_each(|row| self.rows[row].0.clear());
                self.here().blank(0..column + 1);
            }
            2 => {
                let top = self.top();
                self.rows.range_mut(top..).for_each(|row| row.0.clear());
            }
            3 if self.main.is_none() => {
                // What a reader can no longer go back to is not counted either.
                let top = self.top().min(self.row);
                self.rows.drain(..top);
                (self.gone, self.touched, self.row) = (0, 0, self.row - top);
                self.saved.0 = self.saved.0.saturating_sub(top);
            }
            _ => {}
        }
    }

    fn enter_whole_screen(&mut self, enter: bool) {
        self.touched = 0;
        if enter && self.main.is_none() {
            let rows = std::mem::replace(&mut self.rows, VecDeque::from([Row::default()]));
            self.main = Some((rows, self.row, self.column));
            (self.row, self.column) = (0, 0);
        } else if !enter && let Some(main) = self.main.take() {
            (self.rows, self.row, self.column) = main;
        }
    }

    fn restyle(&mut self, params: &Params) {
        let mut params = params.iter();
        while let Some(param) = params.next() {
            let style = &mut self.style;
            let first = param.first().copied().unwrap_or(0);
            match first {
                0 => *style = Style::default(),
                1 => style.bold = true,
                3 => style.italic = true,
                4 => style.underline = param.get(1) != Some(&0),
                7 => style.reverse = true,
                21 | 22 => style.bold = false,
                23 => style.italic = false,
                24 => style.underline = false,
                27 => style.reverse = false,
                30..=37 => style.foreground = Some((first - 30) as u8),
                39 => style.foreground = None,
                40..=47 => style.background = Some((first - 40) as u8),
                49 => style.background = None,
                90..=97 => style.foreground = Some((first - 90 + 8) as u8),
                100..=107 => style.background = Some((first - 100 + 8) as u8),
                38 | 48 => {
                    // With colons it is one parameter, with semicolons several.
                    let mut parts: Vec<u16> = param[1..].to_vec();
                    if parts.is_empty() {
                        let mut next = || params.next().and_then(|param| param.first().copied());
                        let kind = next();
                        let count = if kind == Some(2) { 3 } else { 1 };
                        parts.extend(kind);
                        parts.extend((0..count).filter_map(|_| next()));
                    }
                    let colour = extended(&parts);
                    let place =
                        if first == 38 { &mut self.style.foreground } else { &mut self.style.background };
                    *place = colour.or(*place);
                }
                _ => {}
            }
        }
    }
}

/// One of the sixteen colours for what follows a 38 or 48.
fn extended(parts: &[u16]) -> Option<u8> {
    let byte = |value: &u16| u8::try_from(*value).ok();
    match parts {
        [5, index] => byte(index).map(nearest_of_index),
        // Between colons a colour space may stand, or its empty place.
        [2, red, green, blue] | [2, _, red, green, blue, ..] => {
            Some(nearest([byte(red)?, byte(green)?, byte(blue)?]))
        }
        _ => None,
    }
}

fn nearest_of_index(index: u8) -> u8 {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        0..=15 => index,
        16..=231 => {
            let cube = index - 16;
            nearest([level(cube / 36), level(cube / 6 % 6), level(cube % 6)])
        }
        232.. => nearest([8 + 10 * (index - 232); 3]),
    }
}

/// The nearest of the colours as xterm has them.
fn nearest(colour: [u8; 3]) -> u8 {
    const XTERM: [[u8; 3]; 16] = [
        [0, 0, 0],
        [205, 0, 0],
        [0, 205, 0],
        [205, 205, 0],
        [0, 0, 238],
        [205, 0, 205],
        [0, 205, 205],
        [229, 229, 229],
        [127, 127, 127],
        [255, 0, 0],
        [0, 255, 0],
        [255, 255, 0],
        [92, 92, 255],
        [255, 0, 255],
        [0, 255, 255],
        [255, 255, 255],
    ];
    let distance = |known: &[u8; 3]| -> u32 {
        known.iter().zip(colour).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    (0u8..).zip(&XTERM).min_by_key(|(_, known)| distance(known)).map_or(7, |(index, _)| index)
}

impl Perform for Page {
    fn print(&mut self, c: char) {
        if self.column < LONGEST_ROW && !c.is_control() {
            let (column, cell) = (self.column, Cell { text: c, style: self.style });
            self.here().write(column, cell);
            self.column += 1;
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => self.column = 0,
            0x08 => self.column = self.column.saturating_sub(1),
            b'\t' => self.go_to_column((self.column / TAB + 1) * TAB),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        if ignore {
            return;
        }
        let number = |index: usize| params.iter().nth(index).and_then(|param| param.first().copied());
        let mode = usize::from(number(0).unwrap_or(0));
        if intermediates == b"?" && matches!(action, 'h' | 'l') {
            if params.iter().any(|param| matches!(param.first(), Some(47 | 1047 | 1049))) {
                self.enter_whole_screen(action == 'h');
            }
            return;
        }
        if !intermediates.is_empty() {
            return;
        }
        let count = mode.max(1);
        let column = self.column;
        match action {
            'm' => self.restyle(params),
            'A' => self.row = self.row.saturating_sub(count).max(self.top().min(self.row)),
            'B' | 'e' => {
                let last = (self.top() + self.height - 1).max(self.row);
                self.row = (self.row + count).min(last);
                self.grow();
            }
            'C' | 'a' => self.go_to_column(column + count),
            'D' => self.column = column.saturating_sub(count),
            'E' => {
                self.column = 0;
                self.row = (self.row + count).min((self.top() + self.height - 1).max(self.row));
                self.grow();
            }
            'F' => {
                self.column = 0;
                self.row = self.row.saturating_sub(count).max(self.top().min(self.row));
            }
            'G' | '`' => self.go_to_column(count - 1),
            'H' | 'f' => {
                self.go_to_row(count - 1);
                self.go_to_column(usize::from(number(1).unwrap_or(1).max(1)) - 1);
            }
            'd' => self.go_to_row(count - 1),
            'J' => self.erase_screen(mode),
            'K' => match mode {
                0 => self.here().0.truncate(column),
                1 => self.here().blank(0..column + 1),
                2 => self.here().0.clear(),
                _ => {}
            },
            'X' => self.here().blank(column..column.saturating_add(count)),
            'P' => {
                let row = self.here();
                let end = column.saturating_add(count).min(row.0.len());
                if column < end {
                    row.0.drain(column..end);
                }
            }
            '@' => {
                let row = self.here();
                if column < row.0.len() {
                    let count = count.min(LONGEST_ROW);
                    row.0.splice(column..column, std::iter::repeat_n(BLANK, count));
                    row.0.truncate(LONGEST_ROW);
                }
            }
            's' => self.saved = (self.row, self.column),
            'u' => self.restore(),
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        match (intermediates, byte) {
            ([], b'D') => self.line_feed(),
            ([], b'E') => {
                self.column = 0;
                self.line_feed();
            }
            ([], b'M') => self.row = self.row.saturating_sub(1).max(self.top().min(self.row)),
            ([], b'7') => self.saved = (self.row, self.column),
            ([], b'8') => self.restore(),
            ([], b'c') => {
                self.enter_whole_screen(false);
                self.style = Style::default();
                self.erase_screen(2);
                self.go_to_row(0);
                self.column = 0;
            }
            _ => {}
        }
    }
}

impl Page {
    fn restore(&mut self) {
        (self.row, self.column) = self.saved;
        self.grow();
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn screen(text: impl AsRef<[u8]>) -> Screen {
        let mut screen = Screen::new(50);
        screen.feed(text.as_ref());
        screen
    }

    fn texts(screen: &Screen) -> Vec<String> {
        screen.tail(50).into_iter().map(|line| line.text).collect()
    }

    /// Each span as its text and its groups.
    fn spans(text: &str) -> Vec<(String, String)> {
        let lines = screen(text).tail(50);
        let of_line = |line: &Line| -> Vec<(String, String)> {
            let one = |span: &Span| {
                let groups: Vec<&str> = span.style.groups().collect();
                (line.text[span.start..span.end].to_owned(), groups.join(" "))
            };
            line.spans.iter().map(one).collect()
        };
        lines.iter().flat_map(of_line).collect()
    }

    fn span(text: &str, groups: &str) -> (String, String) {
        (text.to_owned(), groups.to_owned())
    }

    #[test]
    fn colours_are_spans_of_plain_lines() {
        let text = "a \x1b[31mred\x1b[0m \x1b[1;94;41mloud\x1b[22;49m er\x1b[m\r\n\x1b[7mturned";
        assert_eq!(texts(&screen(text)), ["a red loud er", "turned"]);
        assert_eq!(
            spans(text),
            [
                span("red", "AcpRed"),
                span("loud", "AcpBrightBlue AcpOnRed AcpBold"),
                span(" er", "AcpBrightBlue"),
                span("turned", "AcpReverse"),
            ]
        );
    }

    #[test]
    fn of_many_colours_the_nearest_of_sixteen_is_taken() {
        assert_eq!(spans("\x1b[38;5;196mx"), [span("x", "AcpBrightRed")]);
        assert_eq!(spans("\x1b[38;5;244;1mx"), [span("x", "AcpBrightBlack AcpBold")]);
        assert_eq!(spans("\x1b[38;2;10;200;10;3mx"), [span("x", "AcpGreen AcpItalic")]);
        assert_eq!(spans("\x1b[48:2::0:0:230mx"), [span("x", "AcpOnBlue")]);
        assert_eq!(
            spans("\x1b[38:5:3m\x1b[4:3mx\x1b[4:0my"),
            [span("x", "AcpYellow AcpUnderline"), span("y", "AcpYellow")]
        );
        assert_eq!(spans("\x1b[38;5mx\x1b[38;2;1mx\x1b[38;9;9mx"), []);
    }

    #[test]
    fn several_rows_of_progress_are_drawn_in_their_places() {
        let mut screen = screen("a 1%\r\nb 1%\r\n");
        screen.feed(b"\x1b[2Aa 50%\x1b[K\r\n\x1b[Bc 1%\r\n\x1b[3F\x1b[2Ka done");
        assert_eq!(texts(&screen), ["a done", "b 1%", "c 1%"]);
        assert_eq!(screen.count(), 3);
    }

    #[test]
    fn a_cleared_screen_is_empty_and_what_was_scrolled_out_stays_until_that_is_cleared_too() {
        let lines: String = (1..=30).map(|n| format!("{n}\r\n")).collect();
        let cleared = screen(format!("{lines}\x1b[H\x1b[2J"));
        assert_eq!(texts(&cleared), ["1", "2", "3", "4", "5", "6", "7"]);
        let all = screen(format!("{lines}\x1b[H\x1b[2J\x1b[3Jnew"));
        assert_eq!((texts(&all), all.count()), (vec!["new".to_owned()], 1));
    }

    #[test]
    fn a_program_with_the_screen_for_itself_leaves_all_as_it_was() {
        let mut screen = screen("before\r\n\x1b[?1049h\x1b[H~\r\n~\r\n\x1b[24;1Hstatus");
        assert!(screen.is_taken());
        assert_eq!(texts(&screen).last().map(String::as_str), Some("status"));
        screen.feed(b"\x1b[?1049lafter");
        assert!(!screen.is_taken());
        assert_eq!(texts(&screen), ["before", "after"]);
    }

    #[test]
    fn only_the_last_rows_are_kept_and_all_are_counted() {
        let mut screen = Screen::new(30);
        (0..1000).for_each(|n| screen.feed(format!("line {n}\r\n").as_bytes()));
        assert_eq!((screen.count(), screen.tail(100).len()), (1000, 29));
        assert_eq!(screen.tail(1)[0].text, "line 999");
        screen.feed(&[b'x'; 100_000]);
        assert_eq!(screen.tail(1)[0].text.len(), LONGEST_ROW);
    }

    #[test]
    fn a_line_is_edited_in_place() {
        assert_eq!(texts(&screen("abcdef\x1b[3D\x1b[PX\r\na\tb\x08c")), ["abcXf", "a       c"]);
        assert_eq!(texts(&screen("abc\r\x1b[2@x\x1b7\x1b[9Gz\x1b8y")), ["xyabc   z"]);
    }

    #[test]
    fn titles_clipboards_and_questions_leave_nothing() {
        let text = "a\x1b]0;title\x07b\x1b]52;c;aGk=\x1b\\c\x1b[c\x1b[6n\x1bP1$r0m\x1b\\d";
        assert_eq!(texts(&screen(text)), ["abcd"]);
    }

    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-z\u{e9}\u{20ac}\u{1f600} ]{0,12}".prop_map(String::into_bytes),
            3 => Just(b"\r\n".to_vec()),
            4 => "\x1b\\[\\??[0-9]{0,5}(;[0-9]{1,5}){0,3}[@-z]".prop_map(String::into_bytes),
            1 => "\x1b[78cDEM]".prop_map(String::into_bytes),
            1 => "\x1b\\[\\?1049[hl]".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..6),
        ];
        vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn pieces_read_the_same_as_the_whole(bytes in noise(), cuts in vec(any::<prop::sample::Index>(), 0..12)) {
            let whole = screen(&bytes);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut pieces = Screen::new(50);
            for cut in cuts.windows(2) {
                pieces.feed(&bytes[cut[0]..cut[1]]);
            }
            prop_assert_eq!(pieces.tail(50), whole.tail(50));
            prop_assert_eq!(pieces.count(), whole.count());
        }

        #[test]
        fn lines_have_no_control_characters_and_spans_fit_them(bytes in noise(), rows in 1usize..40) {
            let mut screen = Screen::new(rows);
            screen.feed(&bytes);
            let lines = screen.tail(usize::MAX);
            prop_assert!(lines.len() <= rows.max(24) && lines.len() <= screen.count());
            for line in lines {
                prop_assert!(!line.text.chars().any(char::is_control), "{:?}", line.text);
                let mut end = 0;
                for span in line.spans {
                    prop_assert!(span.start >= end && span.start < span.end);
                    prop_assert!(line.text.get(span.start..span.end).is_some());
                    end = span.end;
                }
            }
        }
    }
}
