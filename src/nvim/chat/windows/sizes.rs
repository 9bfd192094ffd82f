//! The sizes of a chat's two windows while other windows come and go: looks at what they have become, and moves
//! their borders back. Only borders are moved, so that lines come from the neighbour and from no window further
//! away. Who made a change, and which sizes are right, is decided by `core::window_sizes`.

use mlua::{Result, Table, Value};

use crate::config::{Layout, WindowOptions};
use crate::core::window_sizes::{ChangedBy, Kept, Placement, Seen, Sizes};
use crate::nvim::chat::windows::layout::{self, Side};
use crate::nvim::editor::{Editor, Win};

/// The two windows whose sizes are looked after, where they stand, and what they keep.
#[derive(Clone, Debug)]
pub struct Sized {
    pub transcript: Win,
    pub prompt: Win,
    pub layout: Layout,
    pub kept: Kept,
    /// As they were when this was last done with them.
    seen: Option<Seen>,
    /// The rows of the text in the prompt.
    typed: u16,
    /// How many windows have come and gone, as far as this has heard.
    events: u64,
}

impl Sized {
    pub fn new(transcript: Win, prompt: Win, layout: Layout, prompt_height: u16) -> Self {
        let kept = Kept { share: None, prompt: prompt_height };
        Self { transcript, prompt, layout, kept, seen: None, typed: 0, events: 0 }
    }

    /// The windows whose heights are their own.
    pub fn high(&self) -> Vec<Win> {
        match self.placement() {
            _ if self.layout == Layout::Float => Vec::new(),
            Placement::Row => vec![self.transcript, self.prompt],
            Placement::Column | Placement::Inside => vec![self.prompt],
        }
    }

    /// The windows whose widths are their own.
    pub fn wide(&self) -> Vec<Win> {
        match self.placement() {
            Placement::Column => vec![self.transcript, self.prompt],
            Placement::Row | Placement::Inside => Vec::new(),
        }
    }

    /// The windows have just been opened. They keep the size that the options say, also where there is no room
    /// for it yet.
    pub fn opened(&mut self, editor: &Editor, options: &WindowOptions, events: u64) -> Result<()> {
        let wanted = layout::edge(self.layout).and_then(|side| layout::edge_share(editor, side, options));
        self.kept.share = self.kept.share.or(wanted);
        self.typed = typed_rows(editor, self.prompt)?;
        self.events = events;
        self.restore(editor)
    }

    /// Windows, or all of Neovim, have another size.
    pub fn settle(&mut self, editor: &Editor, options: &WindowOptions, events: u64) -> Result<()> {
        self.events = events;
        let Some(now) = self.look(editor)? else { return Ok(()) };
        let Some(before) = self.seen.replace(now.clone()) else { return Ok(()) };
        match before.changed_by(&now, self.placement()) {
            ChangedBy::Nobody => Ok(()),
            ChangedBy::User => {
                self.kept.learn(&before, &now, self.placement());
                Ok(())
            }
            ChangedBy::Others if self.layout == Layout::Float => self.float_again(editor, options),
            ChangedBy::Others => self.restore(editor),
        }
    }

    /// The prompt's text has changed.
    pub fn fit_prompt(&mut self, editor: &Editor) -> Result<()> {
        let rows = typed_rows(editor, self.prompt)?;
        let before = std::mem::replace(&mut self.typed, rows);
        let Some(seen) = self.look(editor)? else { return Ok(()) };
        // A height that the user gave it for a while is left alone.
        if rows == before || seen.prompt != self.kept.prompt_height(seen.whole, before) {
            return Ok(());
        }
        self.restore(editor)
    }

    fn placement(&self) -> Placement {
        match layout::edge(self.layout) {
            Some(Side::Right | Side::Left) => Placement::Column,
            Some(Side::Below | Side::Above) => Placement::Row,
            None => Placement::Inside,
        }
    }

    /// Nothing for windows that the user has put in other places.
    fn look(&self, editor: &Editor) -> Result<Option<Seen>> {
        let Some(found) = editor.helper::<Option<Table>>("chat_sizes", (self.transcript, self.prompt))?
        else {
            return Ok(None);
        };
        Ok(Some(Seen {
            screen: editor.size(),
            free: found.get("free")?,
            arrangement: found.get("arrangement")?,
            events: self.events,
            is_entered: found.get("entered")?,
            width: found.get("width")?,
            transcript: found.get("transcript")?,
            prompt: found.get("prompt")?,
            whole: found.get("whole")?,
        }))
    }

    /// Gives the windows the sizes that they keep, as far as there is room.
    fn restore(&mut self, editor: &Editor) -> Result<()> {
        let Some(now) = self.look(editor)? else { return Ok(()) };
        let Sizes { width, whole, prompt } = self.kept.sizes(&now, self.placement(), self.typed);
        if self.layout == Layout::Float {
            self.restore_float(editor, &now, prompt)?;
        } else {
            if let Some(width) = width.filter(|width| *width != now.width) {
                self.set_width(editor, width, i32::from(width) - i32::from(now.width))?;
            }
            if let Some(whole) = whole.filter(|whole| *whole != now.whole) {
                self.set_whole(editor, i32::from(whole) - i32::from(now.whole))?;
            }
            let Some(now) = self.look(editor)? else { return Ok(()) };
            let prompt = self.kept.prompt_height(now.whole, self.typed);
            move_upper_border(editor, self.prompt, i32::from(prompt) - i32::from(now.prompt))?;
        }
        self.seen = self.look(editor)?;
        Ok(())
    }

    /// The border between the chat and what is beside it. Beside a terminal the next window has the columns.
    fn set_width(&self, editor: &Editor, width: u16, more: i32) -> Result<()> {
        let is_left = layout::edge(self.layout) == Some(Side::Left);
        // The one that has all of the chat's columns.
        let is_split = editor.win_size(self.transcript)?.0 < editor.win_size(self.prompt)?.0;
        let own = if is_split { self.prompt } else { self.transcript };
        let beside = neighbour(editor, own, if is_left { 'l' } else { 'h' })?;
        let Some(beside) = beside else { return Ok(()) };
        if editor.helper("is_terminal", beside)? {
            return editor.beside_terminals(|| editor.api("nvim_win_set_width", (own, width)));
        }
        let (border, offset) = if is_left { (own, more) } else { (beside, -more) };
        editor.func::<Value>("win_move_separator", (border, offset)).map(drop)
    }

    /// The border between the chat and what is above or below it.
    fn set_whole(&self, editor: &Editor, more: i32) -> Result<()> {
        match layout::edge(self.layout) {
            // Without a window below, lines for commands would have what the chat gives away.
            Some(Side::Above) => match neighbour(editor, self.prompt, 'j')? {
                Some(_) => editor.func::<Value>("win_move_statusline", (self.prompt, more)).map(drop),
                None => Ok(()),
            },
            _ => move_upper_border(editor, self.transcript, more),
        }
    }

    fn float_again(&mut self, editor: &Editor, options: &WindowOptions) -> Result<()> {
        let (transcript, prompt) = layout::floats(editor, options)?;
        editor.api::<()>("nvim_win_set_config", (self.transcript, transcript))?;
        editor.api::<()>("nvim_win_set_config", (self.prompt, prompt))?;
        self.restore(editor)
    }

    /// The prompt's upper edge moves, and the transcript's lower one with it.
    fn restore_float(&self, editor: &Editor, now: &Seen, prompt: u16) -> Result<()> {
        if prompt == now.prompt {
            return Ok(());
        }
        let transcript = now.whole.saturating_sub(prompt).max(1);
        editor.helper("set_float_heights", (self.transcript, transcript, self.prompt, prompt))
    }
}

/// Gives a window lines of the one above it, or some of its own to that one.
fn move_upper_border(editor: &Editor, win: Win, more: i32) -> Result<()> {
    match neighbour(editor, win, 'k')?.filter(|_| more != 0) {
        Some(above) => editor.func::<Value>("win_move_statusline", (above, -more)).map(drop),
        None => Ok(()),
    }
}

/// The window beside one, in the direction that a key goes after `CTRL-W`.
fn neighbour(editor: &Editor, win: Win, direction: char) -> Result<Option<Win>> {
    let said: String = editor.func("win_execute", (win, format!("echo win_getid(winnr('{direction}'))")))?;
    Ok(said.trim().parse().ok().map(Win).filter(|found| *found != win))
}

fn typed_rows(editor: &Editor, prompt: Win) -> Result<u16> {
    editor.helper("typed_rows", prompt)
}
