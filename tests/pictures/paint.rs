//! Draws screens as SVG: text, backgrounds, lines, the cursor. Each piece of text carries its length, so
//! that columns line up in any font. Animation is left to `film`.

use std::collections::HashMap;

use super::screen::{Cursor, Glyph, Screen};
use crate::support::grid::{CursorShape, Style};

/// The size of a cell. Most monospaced fonts are 0.6 times as wide as their size.
const WIDTH: usize = 10;
const HEIGHT: usize = 21;
/// From the top of a cell to the baseline of its text.
const BASELINE: usize = 15;
/// Around the screen, within the frame.
const MARGIN: usize = 14;

const FONTS: &str =
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono','DejaVu Sans Mono',monospace";

/// A part of the screen, as markup that is placed by its upper left corner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Strip {
    pub row: usize,
    pub column: usize,
    pub markup: String,
}

impl Strip {
    /// Where its upper left corner is.
    pub fn corner(&self) -> (usize, usize) {
        (self.column * WIDTH, self.row * HEIGHT)
    }
}

/// The colours of a picture, in the order of first use.
#[derive(Default)]
pub struct Palette {
    colors: Vec<u32>,
    classes: HashMap<u32, usize>,
}

impl Palette {
    /// The name of the class that fills with a colour.
    pub fn fill(&mut self, color: u32) -> String {
        let next = self.colors.len();
        let number = *self.classes.entry(color).or_insert(next);
        if number == next {
            self.colors.push(color);
        }
        format!("c{number}")
    }

    pub fn css(&self) -> String {
        let rule = |(number, color): (usize, &u32)| format!(".c{number}{{fill:#{color:06x}}}");
        self.colors.iter().enumerate().map(rule).collect()
    }
}

/// Everything on a screen but the cursor: its rows, cut at the separators of windows, and the vertical
/// lines. Blank parts are left out.
pub fn strips(screen: &Screen, palette: &mut Palette) -> Vec<Strip> {
    let mut strips = Vec::new();
    for (number, row) in screen.rows.iter().enumerate() {
        let mut column = 0;
        // A separator ends the strip that it closes.
        for part in row.split_inclusive(|glyph| glyph.text == "│") {
            let markup = markup(part, screen.background, palette);
            if !markup.is_empty() {
                strips.push(Strip { row: number, column, markup });
            }
            column += part.len();
        }
    }
    for column in 0..screen.columns() {
        vertical_lines(screen, column, palette, &mut strips);
    }
    strips
}

/// The cursor, to be drawn over the rest.
pub fn cursor(screen: &Screen, palette: &mut Palette) -> String {
    let Cursor { row, column, shape } = screen.cursor;
    let (x, y) = (column * WIDTH, row * HEIGHT);
    let fill = palette.fill(screen.foreground);
    match shape {
        CursorShape::Bar => format!(r#"<path class="{fill}" d="M{x} {y}h2v{HEIGHT}h-2z"/>"#),
        CursorShape::Underline => {
            format!(r#"<path class="{fill}" d="M{x} {}h{WIDTH}v3h-{WIDTH}z"/>"#, y + HEIGHT - 3)
        }
        CursorShape::Block => {
            let mut drawn = format!(r#"<path class="{fill}" d="M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z"/>"#);
            let under = &screen.rows[row][column];
            if !under.text.trim().is_empty() {
                let inverse = Style { foreground: screen.background, ..under.style };
                text(&mut drawn, &under.text, inverse, (x, y + BASELINE), palette);
            }
            drawn
        }
    }
}

/// The whole SVG: a frame around what was drawn of the screen.
pub fn frame(title: &str, screen: &Screen, css: &str, content: &str) -> String {
    let (width, height) = (screen.columns() * WIDTH, screen.rows.len() * HEIGHT);
    let (outer_width, outer_height) = (width + 2 * MARGIN, height + 2 * MARGIN);
    let edge = mix(screen.background, screen.foreground, 22);
    let background = screen.background;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {outer_width} {outer_height}" width="{outer_width}" height="{outer_height}" role="img">
<title>{title}</title>
<style>
text{{font:16.6px {FONTS}}}.m{{text-anchor:middle}}.b{{font-weight:700}}.i{{font-style:italic}}path{{shape-rendering:crispEdges}}.l{{shape-rendering:auto}}
{css}
</style>
<rect x=".5" y=".5" width="{}" height="{}" rx="9" fill="#{background:06x}" stroke="#{edge:06x}"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{width}" height="{height}">
{content}</svg>
</svg>
"##,
        outer_width - 1,
        outer_height - 1,
        title = escape(title),
    )
}

/// A picture of one screen.
pub fn still(title: &str, screen: &Screen) -> String {
    let mut palette = Palette::default();
    let mut content = String::new();
    for strip in strips(screen, &mut palette) {
        let (x, y) = strip.corner();
        content.push_str(&format!("<g transform=\"translate({x},{y})\">{}</g>\n", strip.markup));
    }
    content.push_str(&cursor(screen, &mut palette));
    content.push('\n');
    frame(title, screen, &palette.css(), &content)
}

/// A part of a row: backgrounds first, then text.
fn markup(row: &[Glyph], background: u32, palette: &mut Palette) -> String {
    let mut markup = String::new();
    let mut column = 0;
    for run in row.chunk_by(|one, next| one.style.background == next.style.background) {
        let (color, left, wide) = (run[0].style.background, column * WIDTH, run.len() * WIDTH);
        if color != background {
            let fill = palette.fill(color);
            markup.push_str(&format!(r#"<path class="{fill}" d="M{left} 0h{wide}v{HEIGHT}h-{wide}z"/>"#));
        }
        column += run.len();
    }
    column = 0;
    for run in row.chunk_by(|one, next| letters(one.style) == letters(next.style)) {
        runs(&mut markup, run, column, palette);
        column += run.len();
    }
    markup
}

/// The style without the background.
fn letters(style: Style) -> Style {
    Style { background: 0, ..style }
}

/// Cells of one style. Words with single blanks between them are one text; a character outside of ASCII
/// is a text of its own, since it may come from another font, with another width.
fn runs(markup: &mut String, cells: &[Glyph], column: usize, palette: &mut Palette) {
    let style = cells[0].style;
    if style.underlined || style.struck {
        let from = if style.underlined { BASELINE + 3 } else { HEIGHT / 2 };
        let (left, wide, fill) = (column * WIDTH, cells.len() * WIDTH, palette.fill(style.foreground));
        markup.push_str(&format!(r#"<path class="{fill}" d="M{left} {from}h{wide}v1h-{wide}z"/>"#));
    }
    let mut at = 0;
    while at < cells.len() {
        let first = cells[at].text.as_str();
        if first.trim().is_empty() {
            at += 1;
            continue;
        }
        let left = (column + at) * WIDTH;
        if let Some(arms) = arms(first) {
            let same = cells[at..].iter().take_while(|cell| cell.text == first).count();
            let (fill, wide) = (palette.fill(style.foreground), same * WIDTH);
            let from = if arms.left { left } else { left + WIDTH / 2 };
            let to = if arms.right { left + wide } else { left + wide - WIDTH / 2 };
            if from < to {
                let y = HEIGHT / 2;
                markup.push_str(&format!(r#"<path class="{fill} l" d="M{from} {y}H{to}v1H{from}z"/>"#));
            }
            at += same;
            continue;
        }
        let is_plain = |cell: &Glyph| cell.text.len() == 1;
        let end = if is_plain(&cells[at]) {
            let mut end = at + 1;
            while end < cells.len() && is_plain(&cells[end]) {
                // Only a single blank between two words is part of a text.
                if cells[end].text == " "
                    && !cells.get(end + 1).is_some_and(|next| is_plain(next) && next.text != " ")
                {
                    break;
                }
                end += 1;
            }
            end
        } else {
            // With the right half of a wide one.
            at + 1 + cells[at + 1..].iter().take_while(|cell| cell.text.is_empty()).count()
        };
        let words: String = cells[at..end].iter().map(|cell| cell.text.as_str()).collect();
        if is_plain(&cells[at]) {
            text(markup, &words, style, (left, BASELINE), palette);
        } else {
            symbol(markup, &words, style, (left + (end - at) * WIDTH / 2, BASELINE), palette);
        }
        at = end;
    }
}

fn text(markup: &mut String, words: &str, style: Style, (x, y): (usize, usize), palette: &mut Palette) {
    let count = words.chars().count();
    if count == 1 {
        return symbol(markup, words, style, (x + WIDTH / 2, y), palette);
    }
    let (class, length, words) = (classes(style, palette), count * WIDTH, escape(words));
    markup
        .push_str(&format!(r#"<text class="{class}" x="{x}" y="{y}" textLength="{length}">{words}</text>"#));
}

/// One character, centred in its cells.
fn symbol(markup: &mut String, words: &str, style: Style, (x, y): (usize, usize), palette: &mut Palette) {
    let (class, words) = (classes(style, palette), escape(words));
    markup.push_str(&format!(r#"<text class="{class} m" x="{x}" y="{y}">{words}</text>"#));
}

fn classes(style: Style, palette: &mut Palette) -> String {
    let mut classes = palette.fill(style.foreground);
    if style.bold {
        classes.push_str(" b");
    }
    if style.italic {
        classes.push_str(" i");
    }
    classes
}

/// Where a line goes from the middle of its cell.
#[derive(Clone, Copy)]
struct Arms {
    left: bool,
    right: bool,
    up: bool,
    down: bool,
}

/// Box drawing characters are drawn as paths: as text they would leave gaps between rows.
fn arms(text: &str) -> Option<Arms> {
    let [left, right, up, down] = match text {
        "─" => [true, true, false, false],
        "│" => [false, false, true, true],
        "┼" => [true, true, true, true],
        "├" => [false, true, true, true],
        "┤" => [true, false, true, true],
        "┬" => [true, true, false, true],
        "┴" => [true, true, true, false],
        "┌" | "╭" => [false, true, false, true],
        "┐" | "╮" => [true, false, false, true],
        "└" | "╰" => [false, true, true, false],
        "┘" | "╯" => [true, false, true, false],
        _ => return None,
    };
    Some(Arms { left, right, up, down })
}

/// The vertical lines of a column, each as one path: at the joints between two paths, which may lie within
/// a pixel, gaps or dots would show.
fn vertical_lines(screen: &Screen, column: usize, palette: &mut Palette, strips: &mut Vec<Strip>) {
    let at = |row: usize| arms(&screen.rows[row][column].text);
    let color = |row: usize| screen.rows[row][column].style.foreground;
    let mut row = 0;
    while row < screen.rows.len() {
        let Some(first) = at(row).filter(|arms| arms.up || arms.down) else {
            row += 1;
            continue;
        };
        let begin = row;
        let mut last = first;
        row += 1;
        while row < screen.rows.len()
            && last.down
            && let Some(next) = at(row).filter(|arms| arms.up && color(row) == color(begin))
        {
            last = next;
            row += 1;
        }
        let from = if first.up { 0 } else { HEIGHT / 2 };
        let to = (row - begin) * HEIGHT - if last.down { 0 } else { HEIGHT / 2 };
        let (fill, x) = (palette.fill(color(begin)), WIDTH / 2);
        let markup = format!(r#"<path class="{fill} l" d="M{x} {from}h1V{to}h-1z"/>"#);
        strips.push(Strip { row: begin, column, markup });
    }
}

fn mix(one: u32, other: u32, percent: u32) -> u32 {
    let channel = |shift: u32| {
        let (one, other) = (one >> shift & 0xff, other >> shift & 0xff);
        ((one * (100 - percent) + other * percent) / 100) << shift
    };
    channel(16) | channel(8) | channel(0)
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
