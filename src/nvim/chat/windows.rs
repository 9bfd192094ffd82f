//! The windows that chats stand in: at most one pair in a tab page, a transcript above its prompt,
//! that shows one chat after the other. Keeps the two together when one is closed, their share of the
//! screen when that changes, and each chat's place in its text while it is hidden. How the windows are
//! opened is left to `layout`, what stands in them to `chat`.

pub mod layout;

use std::collections::HashMap;

use mlua::{Result, Table, Value};

use crate::config::{Layout, WindowOptions};
use crate::core::ids::SessionKey;
use crate::core::window_sizes::{part, prompt_height, share};
use crate::nvim::chat::windows::layout::Side;
use crate::nvim::context::ChatBuffers;
use crate::nvim::editor::{Buf, Editor, Win};

/// The two windows of a chat in one tab page.
#[derive(Clone, Copy, Debug)]
struct Pair {
    transcript: Win,
    prompt: Win,
    layout: Layout,
    /// Of the editor's columns or lines, whichever the layout is about; as the user left it.
    share: Option<f32>,
    prompt_height: u16,
    /// What stood in the window that the chat took over.
    replaced: Option<Buf>,
}

/// Where a user was in a chat when it was hidden.
#[derive(Clone, Copy, Debug, Default)]
struct View {
    /// First row on the screen, line and column of the cursor in the transcript; nothing for one that
    /// follows what comes in.
    transcript: Option<(usize, usize, usize)>,
    /// Line and column of the cursor in the prompt, and whether it was behind the line's end.
    prompt: Option<(usize, usize, bool)>,
}

#[derive(Default)]
pub struct Windows {
    pairs: Vec<Pair>,
    views: HashMap<SessionKey, View>,
    /// The editor's columns and lines as the shares were last taken.
    size: (u16, u16),
}

/// What becomes of the other window when one is closed.
pub enum Left {
    Nothing,
    /// This one is to be closed as well.
    Close(Win),
    /// There is nothing else in the tab page: the chat is to be made whole again.
    Mend(Win),
}

impl Pair {
    fn has(&self, win: Win) -> bool {
        self.transcript == win || self.prompt == win
    }

    /// Gives the two together this many lines. Where Neovim takes them from, and whom it gives them to,
    /// depends on the window that is changed.
    fn set_height(&self, editor: &Editor, side: Side, whole: u16) -> Result<()> {
        let prompt = prompt_height(self.prompt_height, whole);
        if side == Side::Above {
            let rest = whole.saturating_sub(prompt).max(1);
            editor.api::<()>("nvim_win_set_height", (self.transcript, rest))?;
            return editor.api("nvim_win_set_height", (self.prompt, prompt));
        }
        editor.api::<()>("nvim_win_set_height", (self.prompt, prompt))?;
        let (_, above) = editor.win_size(self.transcript)?;
        let (_, below) = editor.win_size(self.prompt)?;
        // The lower border of the window above moves: the transcript alone gives or takes.
        let said: String = editor.func("win_execute", (self.transcript, "echo win_getid(winnr('k'))"))?;
        let Ok(border) = said.trim().parse::<i64>() else { return Ok(()) };
        let offset = i32::from(above + below) - i32::from(whole);
        editor.func::<Value>("win_move_statusline", (border, offset)).map(drop)
    }

    /// The windows whose heights are their own.
    fn fixed(&self) -> Vec<Win> {
        match (self.layout, layout::edge(self.layout)) {
            (Layout::Float, _) => Vec::new(),
            (_, Some(Side::Below | Side::Above)) => vec![self.transcript, self.prompt],
            _ => vec![self.prompt],
        }
    }

    fn other(&self, win: Win) -> Win {
        if win == self.transcript { self.prompt } else { self.transcript }
    }
}

impl Windows {
    /// Shows a chat in the current tab page, or what is missing of it there, and goes to the prompt. A
    /// chat that stands there already makes room.
    pub fn show(
        &mut self,
        editor: &Editor,
        chat: &ChatBuffers,
        chats: &[&ChatBuffers],
        options: &WindowOptions,
    ) -> Result<()> {
        let prompt = self.place(editor, chat, chats, options)?;
        editor.set_current_win(prompt)?;
        self.type_on(editor, chat, prompt)
    }

    /// The same without moving the cursor; gives the prompt's window. In a tab page without room for more windows
    /// the chat floats.
    pub fn place(
        &mut self,
        editor: &Editor,
        chat: &ChatBuffers,
        chats: &[&ChatBuffers],
        options: &WindowOptions,
    ) -> Result<Win> {
        let before: Vec<(Win, Buf)> =
            editor.tab_wins()?.into_iter().filter_map(|win| Some((win, editor.win_buf(win).ok()?))).collect();
        match self.place_in_layout(editor, chat, chats, options) {
            Err(error) if layout::is_without_room(&error) => {
                for win in editor.tab_wins()? {
                    match before.iter().find(|(known, _)| *known == win) {
                        Some((_, buf)) => self.put(editor, win, *buf)?,
                        None => editor.close_win(win)?,
                    }
                }
                self.hide(editor, chat)?;
                let floating = WindowOptions { layout: Layout::Float, ..*options };
                self.place_in_layout(editor, chat, chats, &floating)
            }
            placed => placed,
        }
    }

    fn place_in_layout(
        &mut self,
        editor: &Editor,
        chat: &ChatBuffers,
        chats: &[&ChatBuffers],
        options: &WindowOptions,
    ) -> Result<Win> {
        self.prune(editor);
        if options.layout == Layout::Tab
            && chat.window(editor).is_none()
            && let Some(win) = editor.wins_of(chat.transcript).first()
        {
            // It has its tab page.
            editor.set_current_win(*win)?;
        }
        let shown = (chat.window(editor), chat.prompt_window(editor));
        let here = editor.tab_wins()?;
        let pair =
            self.pairs.iter().find(|pair| here.contains(&pair.transcript) || here.contains(&pair.prompt));
        let pair = pair.copied();
        // A pair's window that shows something else by now is the user's.
        let free = |win: Option<Win>, filetype: &str| {
            win.filter(|win| here.contains(win) && shows(editor, *win, filetype))
                .or_else(|| here.iter().copied().find(|win| shows(editor, *win, filetype)))
        };
        for other in chats.iter().filter(|other| other.session != chat.session) {
            self.remember(editor, other);
        }
        let layout = pair.map_or(options.layout, |pair| pair.layout);
        let transcript = shown.0.or_else(|| free(pair.map(|pair| pair.transcript), "acp"));
        let prompt = shown.1.or_else(|| free(pair.map(|pair| pair.prompt), "acp-prompt"));
        let replaced = editor.current_buf().ok();
        let transcript = match (transcript, prompt) {
            (Some(win), _) => {
                self.put(editor, win, chat.transcript)?;
                win
            }
            (None, Some(prompt)) if !editor.is_floating(prompt) => {
                let (_, height) = editor.win_size(prompt)?;
                let kept = prompt_height(options.prompt_height, height);
                layout::split(
                    editor,
                    chat.transcript,
                    Side::Above,
                    height.saturating_sub(kept + 1),
                    Some(prompt),
                )?
            }
            (None, _) => layout::open_transcript(editor, chat.transcript, options)?,
        };
        let prompt = match prompt {
            Some(win) => {
                self.put(editor, win, chat.prompt)?;
                win
            }
            None => layout::open_prompt(editor, chat.prompt, transcript, options)?,
        };
        layout::dress(editor, transcript, prompt, layout)?;
        self.pairs.retain(|pair| !pair.has(transcript) && !pair.has(prompt));
        let mut next = pair.unwrap_or(Pair {
            transcript,
            prompt,
            layout,
            share: None,
            prompt_height: options.prompt_height,
            replaced: replaced.filter(|_| layout == Layout::Current),
        });
        (next.transcript, next.prompt) = (transcript, prompt);
        self.pairs.push(next);
        if shown.0.is_none() {
            self.restore_transcript(editor, chat, transcript)?;
        }
        if shown.1.is_none() {
            self.restore_prompt(editor, chat, prompt)?;
        }
        self.measure(editor);
        Ok(prompt)
    }

    fn put(&mut self, editor: &Editor, win: Win, buf: Buf) -> Result<()> {
        if editor.win_buf(win)? == buf { Ok(()) } else { editor.set_win_buf(win, buf) }
    }

    /// Goes on typing where the cursor is: behind the last character when it is on it.
    fn type_on(&self, editor: &Editor, chat: &ChatBuffers, prompt: Win) -> Result<()> {
        let (line, column) = editor.cursor(prompt)?;
        let length = editor.line_len(chat.prompt, line - 1)?;
        let text = editor.lines(chat.prompt, line as i64 - 1, line as i64)?;
        let last = text.first().and_then(|text| text.get(column..)).map_or(0, |rest| rest.chars().count());
        let behind = column >= length || last <= 1;
        editor.command(if behind { "startinsert!" } else { "startinsert" })
    }

    /// Takes a chat's windows in the current tab page away. The last window of all shows another buffer
    /// instead.
    pub fn hide(&mut self, editor: &Editor, chat: &ChatBuffers) -> Result<()> {
        self.remember(editor, chat);
        let here = editor.tab_wins()?;
        let pair = self.pairs.iter().find(|pair| here.contains(&pair.transcript)).copied();
        self.pairs.retain(|pair| !here.contains(&pair.transcript) && !here.contains(&pair.prompt));
        if let Some(pair) = pair
            && let Some(before) = pair.replaced.filter(|buf| editor.buf_is_valid(*buf))
            && editor.win_buf(pair.transcript)? == chat.transcript
        {
            // The window was there before the chat.
            editor.set_win_buf(pair.transcript, before)?;
        }
        let tabs: Vec<i64> = editor.api("nvim_list_tabpages", ())?;
        let tab: i64 = editor.api("nvim_get_current_tabpage", ())?;
        let before: i64 = editor.func("tabpagenr", "#")?;
        let before = usize::try_from(before - 1).ok().and_then(|index| tabs.get(index)).copied();
        for buf in [chat.prompt, chat.transcript] {
            for win in editor.tab_wins()? {
                if editor.win_buf(win)? == buf {
                    close_or_empty(editor, win)?;
                }
            }
            if editor.api::<i64>("nvim_get_current_tabpage", ())? != tab {
                // The tab page went with its last window: back to where the user came from.
                return match before {
                    Some(before) => editor.api("nvim_set_current_tabpage", before),
                    None => Ok(()),
                };
            }
        }
        Ok(())
    }

    /// Whether a chat stands in the current tab page, in part at least.
    pub fn is_shown(&self, editor: &Editor, chat: &ChatBuffers) -> bool {
        chat.window(editor).is_some() || chat.prompt_window(editor).is_some()
    }

    pub fn forget(&mut self, session: SessionKey) {
        self.views.remove(&session);
    }

    // What the user does to windows.

    /// A window is about to be closed: what the user saw in it is kept. Gives the other one of its pair.
    pub fn closing(&mut self, editor: &Editor, win: Win, chats: &[&ChatBuffers]) -> Option<Win> {
        let pair = self.pairs.iter().find(|pair| pair.has(win)).copied();
        let buf = editor.win_buf(win).ok()?;
        if let Some(chat) = chats.iter().find(|chat| chat.transcript == buf || chat.prompt == buf) {
            self.remember_win(editor, chat, win);
        }
        pair.map(|pair| pair.other(win))
    }

    /// A window of a pair has been closed by hand.
    pub fn closed(&mut self, editor: &Editor, win: Win, other: Win) -> Left {
        if editor.win_is_valid(win) {
            return Left::Nothing;
        }
        self.prune(editor);
        if !editor.win_is_valid(other) {
            return Left::Nothing;
        }
        let is_chat = shows(editor, other, "acp") || shows(editor, other, "acp-prompt");
        if !is_chat {
            return Left::Nothing;
        }
        match editor.normal_wins_beside(other).as_deref() {
            Ok([]) if !editor.is_floating(other) => Left::Mend(other),
            _ => Left::Close(other),
        }
    }

    /// The windows of chats, and of what their agents run, beside `win` in its tab page, if they would be
    /// all that is left without it.
    pub fn only_beside(&self, editor: &Editor, win: Win) -> Result<Vec<Win>> {
        let others = editor.normal_wins_beside(win)?;
        let of_chats = |win: &Win| self.is_of_chat(editor, *win) || shows(editor, *win, "acp-terminal");
        Ok(if others.iter().all(of_chats) { others } else { Vec::new() })
    }

    pub fn is_of_chat(&self, editor: &Editor, win: Win) -> bool {
        shows(editor, win, "acp") || shows(editor, win, "acp-prompt")
    }

    /// Neovim leaves, or the tab page goes: these windows are not in the way.
    pub fn make_way(&mut self, editor: &Editor, wins: &[Win], chats: &[&ChatBuffers]) -> Result<()> {
        for chat in chats {
            self.remember(editor, chat);
        }
        self.pairs.retain(|pair| !wins.contains(&pair.transcript) && !wins.contains(&pair.prompt));
        wins.iter().try_for_each(|win| editor.close_win(*win))
    }

    /// Windows, or all of Neovim, have another size: pairs keep their share of the screen, and what the
    /// user makes of it is their share from then on.
    pub fn resized(&mut self, editor: &Editor, options: &WindowOptions) -> Result<()> {
        self.prune(editor);
        let stacked: Vec<Win> = self.pairs.iter().flat_map(Pair::fixed).collect();
        let again: Vec<Win> = editor.helper("fix_heights", stacked)?;
        for pair in self.pairs.iter().filter(|pair| again.contains(&pair.prompt)) {
            // Others may have moved its border meanwhile.
            editor.api::<()>("nvim_win_set_height", (pair.prompt, pair.prompt_height))?;
        }
        let size = editor.size();
        if size == self.size {
            self.measure(editor);
            return Ok(());
        }
        for pair in &self.pairs {
            if pair.layout == Layout::Float {
                let (transcript, prompt) = layout::floats(editor, options)?;
                editor.api::<()>("nvim_win_set_config", (pair.transcript, transcript))?;
                editor.api::<()>("nvim_win_set_config", (pair.prompt, prompt))?;
                continue;
            }
            let share = pair.share.unwrap_or_default();
            let (columns, lines) = size;
            match layout::edge(pair.layout) {
                Some(Side::Right | Side::Left) if share > 0.0 => {
                    editor.api::<()>("nvim_win_set_width", (pair.transcript, part(columns, share)))?;
                }
                Some(side @ (Side::Below | Side::Above)) if share > 0.0 => {
                    pair.set_height(editor, side, part(lines, share))?;
                    continue;
                }
                _ => {}
            }
            let (_, above) = editor.win_size(pair.transcript)?;
            let (_, below) = editor.win_size(pair.prompt)?;
            let prompt = prompt_height(pair.prompt_height, above + below);
            if prompt != below {
                editor.api::<()>("nvim_win_set_height", (pair.prompt, prompt))?;
            }
        }
        self.size = size;
        Ok(())
    }

    /// Takes down which share of the screen each pair has.
    fn measure(&mut self, editor: &Editor) {
        let size = editor.size();
        self.size = size;
        for pair in &mut self.pairs {
            let (Ok((width, height)), Ok((_, below))) =
                (editor.win_size(pair.transcript), editor.win_size(pair.prompt))
            else {
                continue;
            };
            let kept = match layout::edge(pair.layout) {
                Some(Side::Right | Side::Left) => share(width, size.0),
                Some(Side::Below | Side::Above) => share(height + below, size.1),
                None => Some(0.0),
            };
            pair.share = kept.or(pair.share);
            if height > below {
                pair.prompt_height = below;
            }
        }
    }

    fn prune(&mut self, editor: &Editor) {
        self.pairs.retain(|pair| editor.win_is_valid(pair.transcript) && editor.win_is_valid(pair.prompt));
    }

    // Where the user was.

    /// Keeps the place in a chat that stands in the current tab page.
    fn remember(&mut self, editor: &Editor, chat: &ChatBuffers) {
        for win in [chat.window(editor), chat.prompt_window(editor)].into_iter().flatten() {
            self.remember_win(editor, chat, win);
        }
    }

    fn remember_win(&mut self, editor: &Editor, chat: &ChatBuffers, win: Win) {
        let view = self.views.entry(chat.session).or_default();
        let (Ok(buf), Ok((line, column))) = (editor.win_buf(win), editor.cursor(win)) else { return };
        if buf == chat.prompt {
            let length = editor.line_len(buf, line - 1).unwrap_or_default();
            view.prompt = Some((line, column, column >= length));
            return;
        }
        let follows = editor.line_count(buf).is_ok_and(|count| line >= count);
        view.transcript = match top_of(editor, win) {
            Ok(top) if !follows => Some((top, line, column)),
            _ => None,
        };
    }

    fn restore_transcript(&self, editor: &Editor, chat: &ChatBuffers, win: Win) -> Result<()> {
        let last = editor.line_count(chat.transcript)?;
        match self.views.get(&chat.session).and_then(|view| view.transcript) {
            Some((top, line, column)) if line <= last => {
                let view = format!("{{'topline':{top},'lnum':{line},'col':{column}}}");
                editor.func::<Value>("win_execute", (win, format!("call winrestview({view})"))).map(drop)
            }
            _ => editor.set_cursor(win, last, 0),
        }
    }

    fn restore_prompt(&self, editor: &Editor, chat: &ChatBuffers, win: Win) -> Result<()> {
        let last = editor.line_count(chat.prompt)?;
        let view = self.views.get(&chat.session).and_then(|view| view.prompt);
        let (line, column, behind) = view.unwrap_or((last, 0, true));
        let line = line.min(last);
        let length = editor.line_len(chat.prompt, line - 1)?;
        editor.set_cursor(win, line, if behind { length } else { column.min(length) })
    }
}

fn top_of(editor: &Editor, win: Win) -> Result<usize> {
    let all: Vec<Table> = editor.func("getwininfo", win)?;
    all.first().ok_or_else(|| mlua::Error::runtime("the window is gone"))?.get("topline")
}

fn shows(editor: &Editor, win: Win, filetype: &str) -> bool {
    let found = editor.win_buf(win).and_then(|buf| editor.buf_option::<String>(buf, "filetype"));
    found.is_ok_and(|found| found == filetype)
}

/// A window of one line shows its text: Neovim would say E36, which may wait for a key.
pub fn set_bar(editor: &Editor, win: Win, bar: &str) -> Result<()> {
    let (_, height) = editor.win_size(win)?;
    if height > 1 { editor.set_win_option(win, "winbar", bar) } else { Ok(()) }
}

/// Closes a window. The last one shows the file that was looked at last instead, or nothing.
pub fn close_or_empty(editor: &Editor, win: Win) -> Result<()> {
    let last = editor.normal_wins_beside(win)?.is_empty()
        && !editor.is_floating(win)
        && editor.api::<Vec<i64>>("nvim_list_tabpages", ())?.len() == 1;
    if !last {
        return editor.close_win(win);
    }
    let listed: Vec<Table> = editor.func("getbufinfo", editor.table([("buflisted", Value::Integer(1))])?)?;
    let newest = listed.iter().max_by_key(|info| info.get::<i64>("lastused").unwrap_or_default());
    let buf = match newest {
        Some(info) => info.get("bufnr")?,
        None => editor.create_buf(true, false)?,
    };
    editor.set_win_buf(win, buf)
}
