//! What stands on Neovim's screen, from its `redraw` events (`:help ui-linegrid`), with the names of
//! the highlight groups that coloured it (`:help ui-ext-hlstate`), its colours and its cursor. How they
//! are drawn is left to others.

use std::collections::HashMap;

use rmpv::Value;

/// How a cell looks, with `reverse` and the default colours worked in. Colours are 24 bits of RGB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub foreground: u32,
    pub background: u32,
    pub bold: bool,
    pub italic: bool,
    /// With any kind of line.
    pub underlined: bool,
    pub struck: bool,
}

/// What the cursor looks like in the present mode (`:help 'guicursor'`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CursorShape {
    #[default]
    Block,
    Bar,
    Underline,
}

#[derive(Clone, Debug)]
struct Cell {
    /// Empty in the right half of a character that is two columns wide.
    text: String,
    highlight: u64,
}

#[derive(Default)]
pub struct Grid {
    /// The last screen that Neovim declared complete.
    rows: Vec<Vec<Cell>>,
    /// Where the cursor stood on it: row and column, from 0.
    pub cursor: (usize, usize),
    /// What is being drawn since.
    draft: Vec<Vec<Cell>>,
    draft_cursor: (usize, usize),
    /// How often it rang.
    pub bells: usize,
    /// The names of the groups that are combined in a highlight, lowest first.
    groups: HashMap<u64, Vec<String>>,
    /// A highlight's attributes as they came; which colours are meant by "none" may change after.
    attributes: HashMap<u64, Value>,
    /// The screen's own foreground and background.
    default_colors: (u32, u32),
    /// By the index that `mode_change` names.
    cursor_shapes: Vec<CursorShape>,
    mode: usize,
}

impl Grid {
    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        (self.rows.first().map_or(0, Vec::len), self.rows.len())
    }

    pub fn text(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(|row| row_text(row).trim_end().to_owned()).collect();
        rows.join("\n")
    }

    /// The text with its edges drawn, for a failing test's report.
    pub fn framed(&self) -> String {
        let edge = format!("+{}+\n", "-".repeat(self.size().0));
        let rows: String = self.rows.iter().map(|row| format!("|{}|\n", row_text(row))).collect();
        format!("{edge}{rows}{edge}")
    }

    pub fn text_with_groups(&self) -> String {
        let rows: Vec<_> = self.rows.iter().map(|row| self.row_with_groups(row)).collect();
        rows.join("\n")
    }

    /// Row and column of a text that lies within one row.
    pub fn find(&self, text: &str) -> Option<(usize, usize)> {
        self.rows.iter().enumerate().find_map(|(number, row)| {
            let byte = row_text(row).find(text)?;
            let mut passed = 0;
            let column = row.iter().position(|cell| {
                let here = passed == byte && !cell.text.is_empty();
                passed += cell.text.len();
                here
            });
            Some((number, column?))
        })
    }

    /// What stands in the columns from `column` on, of the rows from `row` on, as one text.
    pub fn part(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> String {
        let rows = self.rows.get(rows).unwrap_or_default();
        rows.iter().map(|row| row_text(row.get(columns.clone()).unwrap_or_default())).collect()
    }

    pub fn groups(&self, row: usize, column: usize) -> Vec<String> {
        self.groups_of(&self.rows[row][column]).to_vec()
    }

    /// The text of a cell; empty in the right half of a character that is two columns wide.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        &self.rows[row][column].text
    }

    pub fn style(&self, row: usize, column: usize) -> Style {
        let attributes = self.attributes.get(&self.rows[row][column].highlight);
        let attribute = |name: &str| attributes.map_or(&Value::Nil, |all| &all[name]);
        let has = |name: &str| attribute(name).as_bool() == Some(true);
        let color = |name: &str, default| attribute(name).as_u64().map_or(default, |color| color as u32);
        let foreground = color("foreground", self.default_colors.0);
        let background = color("background", self.default_colors.1);
        let lines = ["underline", "undercurl", "underdouble", "underdotted", "underdashed"];
        Style {
            foreground: if has("reverse") { background } else { foreground },
            background: if has("reverse") { foreground } else { background },
            bold: has("bold"),
            italic: has("italic"),
            underlined: lines.into_iter().any(has),
            struck: has("strikethrough"),
        }
    }

    /// The screen's own foreground and background.
    pub fn default_colors(&self) -> (u32, u32) {
        self.default_colors
    }

    pub fn cursor_shape(&self) -> CursorShape {
        self.cursor_shapes.get(self.mode).copied().unwrap_or_default()
    }

    /// Takes one `redraw` notification and says how often it declared the screen complete.
    pub fn redraw(&mut self, events: &[Value]) -> u64 {
        let mut flushes = 0;
        for event in events {
            let event = event.as_array().expect("an event is an array");
            let name = event[0].as_str().expect("an event has a name");
            for args in &event[1..] {
                let args = args.as_array().expect("an event's arguments are an array");
                match name {
                    "flush" => {
                        flushes += 1;
                        self.rows.clone_from(&self.draft);
                        self.cursor = self.draft_cursor;
                    }
                    "grid_resize" => self.resize(number(&args[1]), number(&args[2])),
                    "grid_clear" => self.draft.iter_mut().flatten().for_each(|cell| *cell = blank()),
                    "grid_line" => self.line(args),
                    "grid_scroll" => self.scroll(args),
                    "grid_cursor_goto" => self.draft_cursor = (number(&args[1]), number(&args[2])),
                    "bell" | "visual_bell" => self.bells += 1,
                    "hl_attr_define" => self.define(args),
                    "default_colors_set" => {
                        let color = |value: &Value| value.as_u64().unwrap_or_default() as u32;
                        self.default_colors = (color(&args[0]), color(&args[1]));
                    }
                    "mode_info_set" => self.cursor_shapes = shapes(&args[1]),
                    "mode_change" => self.mode = number(&args[1]),
                    _ => {}
                }
            }
        }
        flushes
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.draft.resize_with(rows, Vec::new);
        for row in &mut self.draft {
            row.resize(columns, blank());
        }
    }

    /// `[grid, row, column, cells, wrap]`, each cell `[text, highlight?, repeat?]`.
    fn line(&mut self, args: &[Value]) {
        let (row, mut column) = (number(&args[1]), number(&args[2]));
        let mut highlight = 0;
        for cell in args[3].as_array().expect("cells are an array") {
            let cell = cell.as_array().expect("a cell is an array");
            // A highlight that is left out is the one to the left.
            highlight = cell.get(1).and_then(Value::as_u64).unwrap_or(highlight);
            let repeat = cell.get(2).map_or(1, number);
            let text = cell[0].as_str().expect("a cell has a text").to_owned();
            self.draft[row][column..column + repeat].fill(Cell { text, highlight });
            column += repeat;
        }
    }

    /// `[grid, top, bottom, left, right, rows, columns]`: the region's text goes up by `rows`, or
    /// down where that is negative. What comes into view is drawn by `grid_line`.
    fn scroll(&mut self, args: &[Value]) {
        let [top, bottom, left, right] = [1, 2, 3, 4].map(|index| number(&args[index]));
        let up = args[5].as_i64().expect("a number of rows");
        let by = up.unsigned_abs() as usize;
        let mut copy = |from: usize, to: usize| {
            let cells = self.draft[from][left..right].to_vec();
            self.draft[to][left..right].clone_from_slice(&cells);
        };
        if up > 0 {
            (top..bottom - by).for_each(|row| copy(row + by, row));
        } else {
            (top..bottom - by).rev().for_each(|row| copy(row, row + by));
        }
    }

    /// `[id, colours, terminal colours, info]`, `info` a list with one entry per combined group.
    fn define(&mut self, args: &[Value]) {
        let id = args[0].as_u64().expect("a highlight has a number");
        let info = args[3].as_array().expect("a highlight's origin is a list");
        let name = |entry: &Value| {
            let name = [&entry["hi_name"], &entry["ui_name"]].into_iter().find_map(Value::as_str);
            name.map(str::to_owned)
        };
        self.groups.insert(id, info.iter().filter_map(name).collect());
        self.attributes.insert(id, args[1].clone());
    }

    fn groups_of(&self, cell: &Cell) -> &[String] {
        self.groups.get(&cell.highlight).map_or(&[], Vec::as_slice)
    }

    fn row_with_groups(&self, row: &[Cell]) -> String {
        let runs = row.chunk_by(|a, b| self.groups_of(a) == self.groups_of(b));
        let text: String = runs
            .map(|run| match self.groups_of(&run[0]) {
                [] => row_text(run),
                groups => format!("{{{}:{}}}", groups.join("+"), row_text(run)),
            })
            .collect();
        text.trim_end().to_owned()
    }
}

fn row_text(row: &[Cell]) -> String {
    row.iter().map(|cell| cell.text.as_str()).collect()
}

fn shapes(modes: &Value) -> Vec<CursorShape> {
    let modes = modes.as_array().expect("modes are a list");
    let shape = |mode: &Value| match mode["cursor_shape"].as_str() {
        Some("vertical") => CursorShape::Bar,
        Some("horizontal") => CursorShape::Underline,
        _ => CursorShape::Block,
    };
    modes.iter().map(shape).collect()
}

fn blank() -> Cell {
    Cell { text: " ".to_owned(), highlight: 0 }
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number that is not negative") as usize
}
