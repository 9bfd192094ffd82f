//! The extmarks that changes are drawn with: marked lines, virtual lines, changed words. What they are
//! put together to is left to `hunks` and `proposals`.

use std::ops::Range;

use mlua::{Result, Table, Value};

use crate::core::changes::diff::Hunk;
use crate::core::changes::words::Words;
use crate::nvim::diff_view::appearance::{Appearance, Coloured, cells};
use crate::nvim::editor::highlight_groups::of_sign;
use crate::nvim::editor::{Buf, Editor};

/// At most this many virtual lines for one hunk; the rest is said in a line.
pub const MAX_VIRTUAL_LINES: usize = 200;

/// How far the colour of a virtual line reaches.
const PADDED_CELLS: usize = 200;

pub fn push(marks: &Table, row: usize, column: usize, options: Table) -> Result<()> {
    marks.raw_push(row)?;
    marks.raw_push(column)?;
    marks.raw_push(options)
}

pub fn line(editor: &Editor, group: &'static str, sign: &str) -> Result<Table> {
    editor.table([
        ("line_hl_group", editor.string(group)?),
        ("sign_text", editor.string(sign)?),
        ("sign_hl_group", editor.string(of_sign(group))?),
    ])
}

/// Marks changed words in a line of the buffer.
pub fn words_in(
    editor: &Editor,
    marks: &Table,
    row: usize,
    words: &[Range<usize>],
    group: &str,
) -> Result<()> {
    for word in words {
        let options = editor.table([
            ("end_col", Value::Integer(word.end as i64)),
            ("hl_group", editor.string(group)?),
            // The line may have become shorter in between.
            ("strict", Value::Boolean(false)),
        ])?;
        push(marks, row, word.start, options)?;
    }
    Ok(())
}

/// Lines that a buffer does not hold, and the sign before each.
pub struct SignedLines<'a> {
    sign: char,
    lines: &'a [String],
    /// Those that differ from what the lines stand beside, if they stand beside something.
    words: Option<&'a Words>,
}

impl<'a> SignedLines<'a> {
    pub fn new(sign: char, lines: &'a [String]) -> Self {
        Self { sign, lines, words: None }
    }

    pub fn removed(hunk: &'a Hunk, words: &'a Words) -> Self {
        Self { sign: '-', lines: &hunk.removed, words: Some(words) }
    }

    pub fn added(hunk: &'a Hunk, words: &'a Words) -> Self {
        Self { sign: '+', lines: &hunk.added, words: Some(words) }
    }

    fn words(&self, line: usize) -> &[Range<usize>] {
        match (self.words, self.sign) {
            (Some(words), '-') => words.removed(line),
            (Some(words), _) => words.added(line),
            (None, _) => &[],
        }
    }
}

/// Lines that are not in the buffer, above the row or below it.
pub fn virtual_lines(
    editor: &Editor,
    appearance: &Appearance,
    signed: &SignedLines,
    above: bool,
) -> Result<Table> {
    let SignedLines { sign, lines, .. } = *signed;
    let (group, strong) = match sign {
        '+' => ("AcpDiffAdd", "AcpDiffAddWord"),
        '-' => ("AcpDiffDelete", "AcpDiffDeleteWord"),
        _ => ("AcpMeta", "AcpMeta"),
    };
    let shown = &lines[..lines.len().min(MAX_VIRTUAL_LINES)];
    let colours = if sign == '?' { Vec::new() } else { appearance.colours(editor, shown) };
    let all = editor.lua.create_table()?;
    // Beside the text, where the signs of the buffer's own lines are: both stay on their side with the answer.
    let margin = appearance.margin(if sign == '?' { ' ' } else { sign });
    for (at, text) in shown.iter().enumerate() {
        let colours = colours.get(at).map_or(&[][..], Vec::as_slice);
        let trails = text.trim_end_matches(' ').len();
        let mut column = 0;
        let mut shown: Vec<(String, Vec<Group>)> = Vec::new();
        for (piece, is_strong, colour) in pieces(text, signed.words(at), colours) {
            let mut groups = vec![Group::Named(group)];
            groups.extend(is_strong.then_some(Group::Named(strong)));
            let behind = if is_strong { strong } else { group };
            let colour = colour.filter(|colour| appearance.keeps_colour(editor, behind, *colour));
            groups.extend(colour.map(Group::Numbered));
            let trails = trails.saturating_sub(piece.start);
            shown.push((appearance.shown(editor, &text[piece], &mut column, trails), groups));
        }
        // Neovim does not wrap lines that are none.
        let sign_in_text = if margin.is_some() { 0 } else { 2 };
        let room = appearance.room().map(|room| room.saturating_sub(sign_in_text));
        let room = room.filter(|room| *room > 0 && column > *room);
        let rows = match room {
            Some(room) => wrapped(editor, shown, room),
            None => vec![shown],
        };
        for (number, row) in rows.into_iter().enumerate() {
            let chunks = editor.lua.create_table()?;
            let begin = margin.clone().unwrap_or_else(|| format!("{sign} "));
            let begin = if number == 0 { begin } else { " ".repeat(begin.chars().count()) };
            chunks.raw_push(chunk(editor, &begin, &[Group::Named(of_sign(group))])?)?;
            for (text, groups) in &row {
                chunks.raw_push(chunk(editor, text, groups)?)?;
            }
            // Padded, so that the colour reaches across the window.
            chunks.raw_push(chunk(
                editor,
                &" ".repeat(PADDED_CELLS.saturating_sub(column)),
                &[Group::Named(group)],
            )?)?;
            all.raw_push(chunks)?;
        }
    }
    if lines.len() > MAX_VIRTUAL_LINES {
        let begin = margin.clone().unwrap_or_else(|| format!("{sign} "));
        let text = format!("{begin}… {} more lines", lines.len() - MAX_VIRTUAL_LINES);
        let more = chunk(editor, &text, &[Group::Named("AcpMeta")])?;
        all.raw_push(editor.lua.create_sequence_from([more])?)?;
    }
    editor.table([
        ("virt_lines", Value::Table(all)),
        ("virt_lines_above", Value::Boolean(above)),
        ("virt_lines_leftcol", Value::Boolean(margin.is_some())),
    ])
}

/// Pieces of a line, each with what colours it, in rows of so many cells.
fn wrapped(
    editor: &Editor,
    pieces: Vec<(String, Vec<Group>)>,
    room: usize,
) -> Vec<Vec<(String, Vec<Group>)>> {
    let mut rows = vec![Vec::new()];
    let mut column = 0;
    for (text, groups) in pieces {
        let mut piece = String::new();
        for char in text.chars() {
            let wide = if char.is_ascii() { 1 } else { cells(editor, char.encode_utf8(&mut [0; 4])) };
            if column + wide > room {
                if let Some(row) = rows.last_mut() {
                    row.push((std::mem::take(&mut piece), groups.clone()));
                }
                rows.push(Vec::new());
                column = 0;
            }
            column += wide;
            piece.push(char);
        }
        if let Some(row) = rows.last_mut() {
            row.push((piece, groups));
        }
    }
    rows
}

/// A line in pieces that look the same throughout: which bytes, whether they are changed words, and what
/// colours them.
fn pieces(
    text: &str,
    words: &[Range<usize>],
    colours: &[Coloured],
) -> Vec<(Range<usize>, bool, Option<i64>)> {
    let edges = words.iter().flat_map(|word| [word.start, word.end]);
    let edges = edges.chain(colours.iter().flat_map(|(range, _)| [range.start, range.end]));
    let mut edges: Vec<usize> =
        edges.filter(|at| text.is_char_boundary(*at)).chain([0, text.len()]).collect();
    edges.sort_unstable();
    edges.dedup();
    let within = |range: &Range<usize>, at: usize| range.contains(&at);
    edges
        .windows(2)
        .map(|edge| {
            let strong = words.iter().any(|word| within(word, edge[0]));
            let colour = colours.iter().find(|(range, _)| within(range, edge[0])).map(|(_, group)| *group);
            (edge[0]..edge[1], strong, colour)
        })
        .collect()
}

#[derive(Clone, Copy)]
enum Group {
    Named(&'static str),
    Numbered(i64),
}

/// A text in the colours of groups, later ones over earlier ones.
fn chunk(editor: &Editor, text: &str, groups: &[Group]) -> Result<Table> {
    let all = editor.lua.create_table()?;
    for group in groups {
        match group {
            Group::Named(name) => all.raw_push(*name)?,
            Group::Numbered(id) => all.raw_push(*id)?,
        }
    }
    editor.lua.create_sequence_from([editor.string(text)?, Value::Table(all)])
}

/// Neovim does not show virtual lines above the first line until the window is told to make room
/// (`:help winrestview()`, topfill).
pub fn show_above_first_line(editor: &Editor, buf: Buf) {
    fill_above_first_line(editor, buf, |before, fill| fill > 0 && before != fill);
}

/// Nor does it take that room away when they are gone: it would show dashes there.
pub fn forget_above_first_line(editor: &Editor, buf: Buf) {
    fill_above_first_line(editor, buf, |before, fill| before > fill);
}

/// Gives windows whose first line is on the screen room for what is above it, where they need it.
fn fill_above_first_line(editor: &Editor, buf: Buf, is_needed: fn(i64, i64) -> bool) {
    for win in editor.wins_of(buf) {
        let fill = || -> Result<()> {
            let height: mlua::Table =
                editor.api("nvim_win_text_height", (win, editor.table([("end_row", Value::Integer(0))])?))?;
            let fill: i64 = height.get("fill")?;
            let view: Table = editor.helper("view_of", win)?;
            if view.get::<i64>("topline")? == 1 && is_needed(view.get("topfill")?, fill) {
                editor.func::<Value>(
                    "win_execute",
                    (win, format!("call winrestview({{'topfill': {fill}}})")),
                )?;
            }
            Ok(())
        };
        // Without it the lines show, or go, once the window scrolls.
        let _ = fill();
    }
}

/// The rows of a buffer that windows show.
pub fn seen(editor: &Editor, buf: Buf) -> Vec<Range<usize>> {
    let rows = |win| -> Result<Range<usize>> {
        let first: usize = editor.func("line", ("w0", win))?;
        let last: usize = editor.func::<Value>("line", ("w$", win))?.as_usize().unwrap_or(first);
        Ok(first.saturating_sub(1)..last)
    };
    editor.wins_of(buf).into_iter().filter_map(|win| rows(win).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_falls_into_pieces_where_its_look_changes() {
        let word = 4..5;
        let found = pieces("let x = 1;", std::slice::from_ref(&word), &[(0..3, 7), (4..9, 8)]);
        assert_eq!(
            found,
            [
                (0..3, false, Some(7)),
                (3..4, false, None),
                (4..5, true, Some(8)),
                (5..9, false, Some(8)),
                (9..10, false, None)
            ]
        );
        assert_eq!(pieces("", &[], &[]), []);
        // What a parser says of another text does no harm.
        assert_eq!(pieces("\u{e9}", &[], &[(1..9, 7)]), [(0..2, false, None)]);
    }
}
