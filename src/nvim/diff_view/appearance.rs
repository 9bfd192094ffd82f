//! How text that is not in a buffer looks there: its tabs as wide as the buffer's, what 'list' makes
//! visible, and the colours of its language. Colours are a courtesy: what would cost too much time stays
//! plain. Reading code is `lua/acp/highlight/code.lua`'s part.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use mlua::{Function, Result, Table};

use crate::core::text::visible::Visible;
use crate::nvim::editor::{Buf, Editor, Win, highlight_groups};

pub struct Appearance {
    pub shape: Shape,
    /// What reading code may still take.
    left: Cell<Duration>,
    /// See [`Self::keeps_colour`].
    kept: RefCell<HashMap<(&'static str, i64), bool>>,
}

/// What the appearance of a line depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    tabstop: usize,
    list: Option<ListChars>,
    /// Empty where no colours are wanted.
    filetype: String,
    /// The cells of a line where lines that are longer wrap.
    room: Option<usize>,
    /// The cells before and after the column of signs, which is left of the text; nothing where there is none.
    signs: Option<(usize, usize)>,
}

/// The cells of a sign.
const SIGN: usize = 2;

/// Bytes of a line, and the id of the group that colours them.
pub type Coloured = (Range<usize>, i64);

/// What 'listchars' says, as far as lines that are not there need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ListChars {
    /// Two or three characters; a tab is `^I` without.
    tab: Option<Vec<char>>,
    trail: Option<char>,
    nbsp: Option<char>,
}

impl ListChars {
    fn read(text: &str) -> Self {
        let mut chars = Self::default();
        // A comma may be one of the characters: parts begin with a name and a colon.
        for part in text.split(',') {
            let Some((name, value)) = part.split_once(':') else { continue };
            let value: Vec<char> = value.chars().collect();
            match name {
                "tab" if value.len() >= 2 => chars.tab = Some(value),
                "trail" => chars.trail = value.first().copied(),
                "nbsp" => chars.nbsp = value.first().copied(),
                _ => {}
            }
        }
        chars
    }

    /// A tab of so many cells.
    fn tab(&self, cells: usize) -> String {
        let Some(tab) = &self.tab else { return "^I".to_owned() };
        match tab.as_slice() {
            [first, fill, last] if cells > 1 => {
                let fill: String = std::iter::repeat_n(*fill, cells.saturating_sub(2)).collect();
                format!("{first}{fill}{last}")
            }
            [.., last] if tab.len() == 3 => last.to_string(),
            [first, fill, ..] => {
                let fill: String = std::iter::repeat_n(*fill, cells.saturating_sub(1)).collect();
                format!("{first}{fill}")
            }
            _ => " ".repeat(cells),
        }
    }
}

impl Appearance {
    /// As in a buffer; `budget` is what its colours may cost in all.
    pub fn of(editor: &Editor, buf: Buf, budget: Duration) -> Self {
        // Of several windows the narrowest: what is broken for a wider one is cut there.
        let width = |win: &Win| editor.win_size(*win).map_or(u16::MAX, |(columns, _)| columns);
        let win = editor.wins_of(buf).into_iter().min_by_key(width);
        let list = win.and_then(|win| {
            let on: bool = editor.win_option(win, "list").ok()?;
            let chars = on.then(|| editor.win_option::<String>(win, "listchars"))?;
            Some(ListChars::read(&chars.ok()?))
        });
        let info = win.and_then(|win| editor.func::<Vec<Table>>("getwininfo", win).ok()?.into_iter().next());
        let beside = info.as_ref().and_then(|info| {
            let aside: usize = info.get("textoff").ok()?;
            Some(aside.max(with_signs(editor, win?, buf).unwrap_or_default()))
        });
        let room = win.and_then(|win| {
            editor.win_option::<bool>(win, "wrap").ok().filter(|wrap| *wrap)?;
            let width: usize = info.as_ref()?.get("width").ok()?;
            Some(width.saturating_sub(beside?))
        });
        let signs = win.and_then(|win| {
            let folds = editor.win_option::<String>(win, "foldcolumn").ok()?.parse().unwrap_or(0);
            let has_signs = editor.win_option::<String>(win, "signcolumn").ok()? != "no";
            let rest = beside?.checked_sub(folds + SIGN).filter(|_| has_signs)?;
            Some((folds, rest))
        });
        let is_plain = editor.buf_option::<String>(buf, "syntax").is_ok_and(|syntax| syntax == "OFF");
        let filetype = match is_plain {
            true => String::new(),
            false => editor.buf_option(buf, "filetype").unwrap_or_default(),
        };
        let tabstop = editor.buf_option::<usize>(buf, "tabstop").unwrap_or(8).max(1);
        Self {
            shape: Shape { tabstop, list, filetype, room, signs },
            left: Cell::new(budget),
            kept: RefCell::default(),
        }
    }

    /// As code of a file type looks where no buffer is meant.
    pub fn of_filetype(filetype: String, budget: Duration) -> Self {
        Self {
            shape: Shape { tabstop: 8, list: None, filetype, room: None, signs: None },
            left: Cell::new(budget),
            kept: RefCell::default(),
        }
    }

    /// The cells of a line where lines that are longer wrap.
    pub fn room(&self) -> Option<usize> {
        self.shape.room
    }

    /// What stands left of a virtual line's text: its sign where the signs of lines are, if those have a column.
    pub fn margin(&self, sign: char) -> Option<String> {
        let (before, after) = self.shape.signs?;
        Some(format!("{:before$}{sign:<SIGN$}{:after$}", "", ""))
    }

    /// What is left of the budget.
    pub fn left(&self) -> Duration {
        self.left.get()
    }

    /// Whether letters in the colour of a group, by its id, can be read on the background of another one.
    pub fn keeps_colour(&self, editor: &Editor, behind: &'static str, colour: i64) -> bool {
        let keeps = || highlight_groups::keeps_colour(editor, behind, colour).unwrap_or(false);
        *self.kept.borrow_mut().entry((behind, colour)).or_insert_with(keeps)
    }

    /// The colours of lines; empty where there are none to be had.
    pub fn colours(&self, editor: &Editor, lines: &[String]) -> Vec<Vec<Coloured>> {
        if self.shape.filetype.is_empty() || self.left.get().is_zero() || lines.is_empty() {
            return Vec::new();
        }
        let began = Instant::now();
        // Colour is a courtesy.
        let colours = self.read(editor, lines).unwrap_or_default();
        self.left.set(self.left.get().saturating_sub(began.elapsed()));
        colours
    }

    fn read(&self, editor: &Editor, lines: &[String]) -> Result<Vec<Vec<Coloured>>> {
        let require: Function = editor.lua.globals().get("require")?;
        let module: Table = require.call("acp.highlight.code")?;
        let colours: Function = module.get("colours")?;
        let found: Option<Vec<Vec<i64>>> = colours.call((lines.to_vec(), self.shape.filetype.as_str()))?;
        let coloured = |line: Vec<i64>| {
            line.chunks_exact(3).map(|part| (part[0] as usize..part[1] as usize, part[2])).collect()
        };
        Ok(found.unwrap_or_default().into_iter().map(coloured).collect())
    }

    /// A piece of a line as it is shown; `column` is the cell it begins at and goes along. `trails` says
    /// that nothing but blanks follows from this byte on.
    pub fn shown(&self, editor: &Editor, text: &str, column: &mut usize, trails: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut plain = 0;
        let mut seen = Visible::default();
        for (at, char) in text.char_indices() {
            match char {
                '\t' => {
                    *column += cells(editor, &out[plain..]);
                    let wide = self.shape.tabstop - *column % self.shape.tabstop;
                    let tab = match &self.shape.list {
                        Some(list) => list.tab(wide),
                        None => " ".repeat(wide),
                    };
                    *column += tab.chars().count();
                    out.push_str(&tab);
                    plain = out.len();
                }
                ' ' if at >= trails => {
                    out.push(self.shape.list.as_ref().and_then(|list| list.trail).unwrap_or(' '))
                }
                '\u{a0}' => out.push(self.shape.list.as_ref().and_then(|list| list.nbsp).unwrap_or(char)),
                char => {
                    seen.push(char, &mut out);
                    continue;
                }
            }
            seen = Visible::after(" ");
        }
        *column += cells(editor, &out[plain..]);
        out
    }
}

/// What stands beside a window's text once it has signs: Neovim counts those only when it has drawn them.
fn with_signs(editor: &Editor, win: Win, buf: Buf) -> Result<usize> {
    if !editor.win_option::<String>(win, "signcolumn")?.starts_with("auto") {
        return Ok(0);
    }
    let numbers = if editor.win_option(win, "number")? || editor.win_option(win, "relativenumber")? {
        let digits = editor.line_count(buf)?.to_string().len() + 1;
        digits.max(editor.win_option(win, "numberwidth")?)
    } else {
        0
    };
    let folds = editor.win_option::<String>(win, "foldcolumn")?.parse().unwrap_or(0);
    Ok(numbers + folds + 2)
}

/// How wide a text without tabs is.
pub fn cells(editor: &Editor, text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => editor.func("strdisplaywidth", text).unwrap_or_else(|_| text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_shown_as_the_option_has_them() {
        let tab = |option: &str, cells| ListChars::read(option).tab(cells);
        assert_eq!(tab("tab:> ,trail:-", 4), ">   ");
        assert_eq!(tab("eol:$,tab:>-", 1), ">");
        assert_eq!(tab("tab:<->", 4), "<-->");
        assert_eq!(tab("tab:<->", 2), "<>");
        assert_eq!(tab("tab:<->", 1), ">");
        assert_eq!(tab("trail:-", 4), "^I");
        assert_eq!(ListChars::read("trail:-,nbsp:+").trail, Some('-'));
    }
}
