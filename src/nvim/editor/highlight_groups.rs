//! The plugin's highlight groups, with the colours of commands in the chat. Each can be read: where a colour scheme's
//! own colour can't, one that is near to it is taken (`core::contrast`). What a user or a colour scheme has set stays.

use mlua::{ObjectLike, Result, Table, Value};

use crate::core::contrast::{MIN_CONTRAST, least, of_256, readable, readable_of_256};
use crate::core::terminal::screen::COLOURS;
use crate::nvim::editor::Editor;

/// The groups, and the groups of Neovim's that they look like.
const LINKS: [(&str, &str); 29] = [
    ("AcpUser", "Title"),
    ("AcpAgent", "Title"),
    ("AcpThought", "Comment"),
    ("AcpTool", "Normal"),
    ("AcpToolPending", "Comment"),
    ("AcpToolRunning", "DiagnosticInfo"),
    ("AcpToolWaiting", "DiagnosticWarn"),
    ("AcpToolDone", "DiagnosticOk"),
    ("AcpToolFailed", "DiagnosticError"),
    ("AcpToolCancelled", "Comment"),
    ("AcpPlan", "Title"),
    ("AcpMeta", "Comment"),
    ("AcpUnprintable", "SpecialKey"),
    ("AcpMention", "Underlined"),
    ("AcpMentionMissing", "DiagnosticWarn"),
    ("AcpError", "DiagnosticError"),
    ("AcpDanger", "DiagnosticError"),
    ("AcpDiffAdd", "DiffAdd"),
    ("AcpDiffAddWord", "DiffText"),
    ("AcpDiffDeleteWord", "DiffText"),
    ("AcpConflict", "DiffChange"),
    ("AcpLocation", "Visual"),
    ("AcpAgentMark1", "DiagnosticInfo"),
    ("AcpAgentMark2", "DiagnosticOk"),
    ("AcpAgentMark3", "DiagnosticWarn"),
    ("AcpAgentMark4", "DiagnosticHint"),
    ("AcpAgentMark5", "Special"),
    ("AcpAgentMark6", "Title"),
    ("AcpWinbar", "Title"),
];

/// Letters in the colours of their language are read with less.
const MIN_LETTERS: f64 = 3.0;

/// In Lua's registry, by the group: whether its letters all have one colour, and what is behind them.
const LETTERS: &str = "acp.letters";

/// Whether letters on a group's background, in lines that are not in a buffer, keep the colour that their language has
/// for them, a group's id. As in lines of a buffer, not where the group has a colour for letters itself.
pub fn keeps_colour(editor: &Editor, group: &str, colour: i64) -> Result<bool> {
    let all: Table = editor.lua.named_registry_value(LETTERS)?;
    let of_group = match all.get::<Option<Table>>(group)? {
        Some(of_group) => of_group,
        None => {
            let of_group = Groups::new(editor)?.letters_on(group)?;
            all.set(group, &of_group)?;
            of_group
        }
    };
    if of_group.get("is_plain")? {
        return Ok(false);
    }
    let options = editor.table([("id", Value::Integer(colour)), ("link", Value::Boolean(false))])?;
    let looks: Table = editor.api("nvim_get_hl", (0, options))?;
    let is_true: bool = of_group.get("is_true")?;
    let text = match is_true {
        true => looks.get::<Option<u32>>("fg")?,
        false => looks.get::<Option<u8>>("ctermfg")?.map(of_256),
    };
    Ok(match text {
        Some(text) => least(text, &[of_group.get("behind")?]) >= MIN_LETTERS,
        // As all of the line.
        None => true,
    })
}

/// The group of the signs beside lines of a group.
pub fn of_sign(group: &'static str) -> &'static str {
    SIGNS.iter().find(|(_, of)| *of == group).map_or(group, |(sign, _)| sign)
}

const SIGNS: [(&str, &str); 2] = [("AcpDiffAddSign", "AcpDiffAdd"), ("AcpDiffDeleteSign", "AcpDiffDelete")];

pub fn define(editor: &Editor) -> Result<()> {
    editor.lua.set_named_registry_value(LETTERS, editor.lua.create_table()?)?;
    let groups = Groups::new(editor)?;
    for (group, link) in LINKS {
        let is_ours = groups.set(group, editor.table([("link", editor.string(link)?)])?)?;
        if is_ours {
            groups.make_readable(group)?;
        }
    }
    groups.define_removed()?;
    groups.define_signs()?;
    groups.define_colours()
}

struct Groups<'a> {
    editor: &'a Editor,
    /// What each group of ours was set to: whatever else it is now, somebody else has set it.
    ours: Table,
    is_light: bool,
    normal: Colours,
    /// Bars have a background of their own.
    bars: Vec<Colours>,
}

/// Of a group, as a graphical terminal has them and as one of 256 colours.
#[derive(Clone, Copy)]
struct Colours {
    gui: Pair<u32>,
    cterm: Pair<u8>,
}

#[derive(Clone, Copy)]
struct Pair<T> {
    text: T,
    behind: T,
    /// Whether the group itself says so.
    has_text: bool,
    has_behind: bool,
    is_reversed: bool,
}

impl<T: Copy + PartialEq> Pair<T> {
    /// What can be read of it before these backgrounds; nothing where it can as it is.
    fn readable(self, behind: &[T], least: fn(T, &[T]) -> f64, better: fn(T, &[T]) -> T) -> Option<Self> {
        let mut pair = self;
        if !self.has_behind {
            pair.text = better(self.text, behind);
        } else if least(self.text, &[self.behind]) < MIN_CONTRAST {
            // Letters on a background keep the colours of their language.
            match self.has_text {
                true => pair.text = better(self.text, &[self.behind]),
                false => pair.behind = better(self.behind, &[self.text]),
            }
        }
        (pair.text != self.text || pair.behind != self.behind).then_some(pair)
    }
}

impl<'a> Groups<'a> {
    fn new(editor: &'a Editor) -> Result<Self> {
        const OURS: &str = "acp.groups";
        let ours = match editor.lua.named_registry_value::<Option<Table>>(OURS)? {
            Some(ours) => ours,
            None => {
                let ours = editor.lua.create_table()?;
                editor.lua.set_named_registry_value(OURS, &ours)?;
                ours
            }
        };
        let is_light = editor.module("o")?.get::<String>("background").is_ok_and(|it| it == "light");
        let (black, white) = ((0, 0), (0xff_ffff, 15));
        let ((text, text_256), (behind, behind_256)) = if is_light { (black, white) } else { (white, black) };
        let terminal = Colours {
            gui: Pair { text, behind, has_text: false, has_behind: false, is_reversed: false },
            cterm: Pair {
                text: text_256,
                behind: behind_256,
                has_text: false,
                has_behind: false,
                is_reversed: false,
            },
        };
        let mut groups = Self { editor, ours, is_light, normal: terminal, bars: Vec::new() };
        groups.normal = groups.colours("Normal")?;
        groups.bars = vec![groups.colours("WinBar")?, groups.colours("WinBarNC")?];
        Ok(groups)
    }

    fn looks(&self, group: &str, with_link: bool) -> Result<Table> {
        let options =
            self.editor.table([("name", self.editor.string(group)?), ("link", Value::Boolean(with_link))])?;
        self.editor.api("nvim_get_hl", (0, options))
    }

    /// What a group looks like at last; what it does not say is as Neovim has it everywhere.
    fn colours(&self, group: &str) -> Result<Colours> {
        let looks = self.looks(group, false)?;
        let cterm: Option<Table> = looks.get("cterm")?;
        let is_reversed =
            |looks: &Table| looks.get::<Option<bool>>("reverse").ok().flatten().unwrap_or(false);
        let gui = pair(self.normal.gui, looks.get("fg")?, looks.get("bg")?, is_reversed(&looks));
        let reversed = cterm.is_some_and(|cterm| is_reversed(&cterm));
        let cterm = pair(self.normal.cterm, looks.get("ctermfg")?, looks.get("ctermbg")?, reversed);
        Ok(Colours { gui, cterm })
    }

    /// What is to be known of a group to tell which colours can be read on it.
    fn letters_on(&self, group: &str) -> Result<Table> {
        let screens: Vec<Table> = self.editor.api("nvim_list_uis", ())?;
        let is_true = screens.iter().any(|screen| screen.get("rgb").unwrap_or(false));
        let Colours { gui, cterm } = self.colours(group)?;
        let (is_plain, behind) = match is_true {
            true => (gui.has_text || gui.is_reversed, gui.behind),
            false => (cterm.has_text || cterm.is_reversed, of_256(cterm.behind)),
        };
        self.editor.table([
            ("is_true", Value::Boolean(is_true)),
            ("is_plain", Value::Boolean(is_plain)),
            ("behind", Value::Integer(behind.into())),
        ])
    }

    /// Sets a group, unless somebody else has. Says whether it did.
    fn set(&self, group: &str, looks: Table) -> Result<bool> {
        let now = self.looks(group, true)?;
        let is_ours = now.is_empty()
            || self
                .ours
                .get::<Option<String>>(group)?
                .is_some_and(|ours| Some(ours) == self.described(now).ok());
        if is_ours {
            self.editor.api::<()>("nvim_set_hl", (0, group, looks))?;
            self.ours.set(group, self.described(self.looks(group, true)?)?)?;
        }
        Ok(is_ours)
    }

    fn described(&self, looks: Table) -> Result<String> {
        self.editor.module("inspect")?.call(looks)
    }

    /// Gives a group colours that can be read, where its own can't.
    fn make_readable(&self, group: &str) -> Result<()> {
        let Colours { gui, cterm } = self.colours(group)?;
        // A bar whose background is another one altogether is not for the same text.
        let normal = (self.normal.gui.behind, self.normal.cterm.behind);
        let bars = self.bars.iter().map(|bar| bar.gui.behind).filter(|bar| is_alike(*bar, normal.0));
        let behind: Vec<u32> = std::iter::once(normal.0).chain(bars).collect();
        let bars = self.bars.iter().map(|bar| bar.cterm.behind);
        let bars = bars.filter(|bar| is_alike(of_256(*bar), of_256(normal.1)));
        let behind_256: Vec<u8> = std::iter::once(normal.1).chain(bars).collect();
        let new = gui.readable(&behind, least, readable);
        let new_256 = cterm.readable(&behind_256, least_of_256, readable_of_256);
        if new.is_none() && new_256.is_none() {
            return Ok(());
        }
        let looks = self.looks(group, false)?;
        if let Some(pair) = new {
            looks.set("fg", pair.text)?;
            looks.set("bg", pair.has_behind.then_some(pair.behind))?;
            looks.set("reverse", Value::Nil)?;
        }
        if let Some(pair) = new_256 {
            looks.set("ctermfg", pair.text)?;
            looks.set("ctermbg", pair.has_behind.then_some(pair.behind))?;
            if let Some(cterm) = looks.get::<Option<Table>>("cterm")? {
                cterm.set("reverse", Value::Nil)?;
            }
        }
        self.set(group, looks).map(drop)
    }

    /// Lines that are gone are told by their background: their letters have the colours of their language. Where
    /// the colour scheme's group has none, as Neovim's own, they get one.
    fn define_removed(&self) -> Result<()> {
        let scheme = self.looks("DiffDelete", false)?;
        let looks = match scheme.contains_key("bg")? || scheme.contains_key("reverse")? {
            true => self.editor.table([("link", self.editor.string("DiffDelete")?)])?,
            false => self.editor.table([
                ("bg", self.editor.string(if self.is_light { "NvimLightRed" } else { "NvimDarkRed" })?),
                ("ctermfg", Value::Integer(if self.is_light { 0 } else { 15 })),
                ("ctermbg", Value::Integer(if self.is_light { 217 } else { 52 })),
            ])?,
        };
        match self.set("AcpDiffDelete", looks)? {
            true => self.make_readable("AcpDiffDelete"),
            false => Ok(()),
        }
    }

    /// Signs beside lines that come or go have the lines' colours, and letters of their own where those have none: else
    /// they would have the pale ones of the column that they stand in.
    fn define_signs(&self) -> Result<()> {
        for (sign, of) in SIGNS {
            let Colours { gui, cterm } = self.colours(of)?;
            let looks = self.editor.table([
                ("fg", Value::Integer(gui.text.into())),
                ("ctermfg", Value::Integer(cterm.text.into())),
            ])?;
            looks.set("bg", gui.has_behind.then_some(gui.behind))?;
            looks.set("ctermbg", cterm.has_behind.then_some(cterm.behind))?;
            if self.set(sign, looks)? {
                self.make_readable(sign)?;
            }
        }
        Ok(())
    }

    /// The colours of what commands print, as they are in a terminal where the colour scheme says so
    /// (`:help terminal-config`).
    fn define_colours(&self) -> Result<()> {
        let variables = self.editor.module("g")?;
        for (number, (text, behind)) in COLOURS.iter().enumerate() {
            let named: Option<String> = variables.get(format!("terminal_color_{number}"))?;
            let (dark, light) = READABLE[number % 8];
            let (readable, turned) = if self.is_light { (light, dark) } else { (dark, light) };
            let colours = [
                (*text, "fg", "ctermfg", named.clone().unwrap_or_else(|| readable.to_owned())),
                (*behind, "bg", "ctermbg", named.unwrap_or_else(|| turned.to_owned())),
            ];
            for (group, place, cterm, colour) in colours {
                let looks = self
                    .editor
                    .table([(place, self.editor.string(colour)?), (cterm, Value::Integer(number as i64))])?;
                // What is printed on a background brings its own colour, or is as the command wants it.
                if self.set(group, looks)? && place == "fg" {
                    self.make_readable(group)?;
                }
            }
        }
        for (group, look) in [
            ("AcpBold", "bold"),
            ("AcpItalic", "italic"),
            ("AcpUnderline", "underline"),
            ("AcpReverse", "reverse"),
        ] {
            self.set(group, self.editor.table([(look, Value::Boolean(true))])?)?;
        }
        Ok(())
    }
}

/// What a group says, and what it leaves to the others.
fn pair<T: Copy>(normal: Pair<T>, text: Option<T>, behind: Option<T>, is_reversed: bool) -> Pair<T> {
    let (has_text, has_behind) = (text.is_some(), behind.is_some());
    let (text, behind) = (text.unwrap_or(normal.text), behind.unwrap_or(normal.behind));
    match is_reversed {
        true => Pair { text: behind, behind: text, has_text: has_behind, has_behind: true, is_reversed },
        false => Pair { text, behind, has_text, has_behind, is_reversed },
    }
}

fn least_of_256(colour: u8, others: &[u8]) -> f64 {
    let others: Vec<u32> = others.iter().map(|other| of_256(*other)).collect();
    least(of_256(colour), &others)
}

/// Whether two backgrounds are both dark, or both light.
fn is_alike(one: u32, other: u32) -> bool {
    let is_dark = |colour: u32| least(0xff_ffff, &[colour]) > least(0, &[colour]);
    is_dark(one) == is_dark(other)
}

/// Neovim's own names for a colour that can be read before a dark, and before a light background.
const READABLE: [(&str, &str); 8] = [
    ("NvimDarkGrey4", "NvimDarkGrey2"),
    ("NvimLightRed", "NvimDarkRed"),
    ("NvimLightGreen", "NvimDarkGreen"),
    ("NvimLightYellow", "NvimDarkYellow"),
    ("NvimLightBlue", "NvimDarkBlue"),
    ("NvimLightMagenta", "NvimDarkMagenta"),
    ("NvimLightCyan", "NvimDarkCyan"),
    ("NvimLightGrey2", "NvimDarkGrey4"),
];
