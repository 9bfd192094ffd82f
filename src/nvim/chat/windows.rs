//! The windows that chats stand in: at most one pair in a tab page, a transcript above its prompt,
//! that shows one chat after the other. Keeps the two together when one is closed, their share of the
//! screen when that changes, and each chat's place in its text while it is hidden. How the windows are
//! opened is left to `layout`, what stands in them to `chat`.

pub mod layout;
pub mod margin;
pub mod other_buffers;
mod shares;
pub mod sizes;

use std::collections::HashMap;

use mlua::{Result, Table, Value};

use crate::config::{Layout, WindowOptions};
use crate::core::ids::SessionKey;
use crate::core::quit::Shows;
use crate::core::window_sizes::{Area, is_mostly_hidden, prompt_height};
use crate::nvim::chat::windows::shares::keeping_shares;
use crate::nvim::chat::windows::sizes::Sized;
use crate::nvim::context::ChatBuffers;
use crate::nvim::editor::{Buf, Editor, Win};

/// The two windows of a chat in one tab page.
#[derive(Clone, Debug)]
struct Pair {
    sized: Sized,
    /// The chat that it shows.
    session: SessionKey,
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
    /// Those that were split off one of a chat's and have shown no file since.
    split_off: Vec<Win>,
    /// The new ones of them, whose columns are still to be shared.
    unshared: Vec<Win>,
    /// How often a window that does not float has come or gone, or the screen had another size.
    events: u64,
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
        self.sized.transcript == win || self.sized.prompt == win
    }

    fn is_in(&self, wins: &[Win]) -> bool {
        wins.contains(&self.sized.transcript) || wins.contains(&self.sized.prompt)
    }

    fn is_whole(&self, editor: &Editor) -> bool {
        editor.win_is_valid(self.sized.transcript) && editor.win_is_valid(self.sized.prompt)
    }

    fn other(&self, win: Win) -> Win {
        if win == self.sized.transcript { self.sized.prompt } else { self.sized.transcript }
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
        let place = || self.place_in_layout(editor, chat, chats, options);
        match editor.beside_terminals(|| keeping_shares(editor, place)) {
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
        let pair = self.pairs.iter().find(|pair| pair.is_in(&here)).cloned();
        // A pair's window that shows something else by now is the user's.
        let free = |win: Option<Win>, filetype: &str| {
            win.filter(|win| here.contains(win) && shows(editor, *win, filetype))
                .or_else(|| here.iter().copied().find(|win| shows(editor, *win, filetype)))
        };
        for other in chats.iter().filter(|other| other.session != chat.session) {
            self.remember(editor, other);
        }
        let sized = pair.as_ref().map(|pair| &pair.sized);
        let layout = sized.map_or(options.layout, |sized| sized.layout);
        let transcript = shown.0.or_else(|| free(sized.map(|sized| sized.transcript), "acp"));
        let prompt = shown.1.or_else(|| free(sized.map(|sized| sized.prompt), "acp-prompt"));
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
                    layout::Side::Above,
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
        layout::dress(editor, transcript, prompt)?;
        self.pairs.retain(|pair| !pair.has(transcript) && !pair.has(prompt));
        let mut next = pair.unwrap_or_else(|| Pair {
            sized: Sized::new(transcript, prompt, layout, options.prompt_height),
            session: chat.session,
            replaced: replaced.filter(|_| layout == Layout::Current),
        });
        next.session = chat.session;
        (next.sized.transcript, next.sized.prompt) = (transcript, prompt);
        if shown.0.is_none() {
            self.restore_transcript(editor, chat, transcript)?;
        }
        if shown.1.is_none() {
            self.restore_prompt(editor, chat, prompt)?;
        }
        editor.helper::<()>("fix_sizes", (next.sized.high(), next.sized.wide()))?;
        next.sized.opened(editor, options, self.events)?;
        self.pairs.push(next);
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
        editor.beside_terminals(|| keeping_shares(editor, || self.hide_windows(editor, chat)))
    }

    fn hide_windows(&mut self, editor: &Editor, chat: &ChatBuffers) -> Result<()> {
        self.remember(editor, chat);
        let here = editor.tab_wins()?;
        let pair = self.pairs.iter().find(|pair| pair.is_in(&here)).cloned();
        self.pairs.retain(|pair| !pair.is_in(&here));
        if let Some(pair) = pair
            && let Some(before) = pair.replaced.filter(|buf| editor.buf_is_valid(*buf))
            && let Some(win) = chat.window(editor).filter(|win| *win == pair.sized.transcript)
        {
            // The window was there before the chat.
            editor.set_win_buf(win, before)?;
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

    pub fn may_float(&self) -> bool {
        self.pairs.iter().any(|pair| pair.sized.layout == Layout::Float)
    }

    /// The chat of this tab page that floats over most of the current window, if there is one.
    pub fn floats_over_current(&self, editor: &Editor) -> Result<Option<SessionKey>> {
        let here = editor.tab_wins()?;
        let floats = |pair: &&Pair| pair.sized.layout == Layout::Float && pair.is_in(&here);
        let Some(pair) = self.pairs.iter().find(floats) else { return Ok(None) };
        let win = editor.current_win()?;
        if editor.is_floating(win) {
            return Ok(None);
        }
        let both = [pair.sized.transcript, pair.sized.prompt];
        let areas: Vec<Area> = both
            .iter()
            .filter(|win| here.contains(win))
            .map(|win| editor.win_area(*win))
            .collect::<Result<_>>()?;
        Ok(is_mostly_hidden(editor.win_area(win)?, &areas).then_some(pair.session))
    }

    pub fn forget(&mut self, session: SessionKey) {
        self.views.remove(&session);
    }

    // What the user does to windows.

    /// A window is about to be closed: what the user saw in it is kept. Gives the other one of its pair.
    pub fn closing(&mut self, editor: &Editor, win: Win, chats: &[&ChatBuffers]) -> Option<Win> {
        let pair = self.pairs.iter().find(|pair| pair.has(win)).cloned();
        let buf = editor.win_buf(win).ok()?;
        if let Some(chat) = chats.iter().find(|chat| chat.contains(buf)) {
            self.remember_win(editor, chat, win);
        }
        pair.map(|pair| pair.other(win))
    }

    /// A window of a pair has been closed by hand.
    pub fn closed(&mut self, editor: &Editor, win: Win, other: Win) -> Left {
        if editor.win_is_valid(win) {
            return Left::Nothing;
        }
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
        let of_chats = |win: &Win| {
            self.is_of_chat(editor, *win)
                || shows(editor, *win, "acp-terminal")
                || shows(editor, *win, "acp-plan")
        };
        Ok(if others.iter().all(of_chats) { others } else { Vec::new() })
    }

    /// What a window shows, as far as it matters when it is quit.
    pub fn shows(&self, editor: &Editor, win: Win) -> Shows {
        if self.is_of_chat(editor, win) {
            return Shows::Chat;
        }
        let Ok(buf) = editor.win_buf(win) else { return Shows::Other };
        let filetype: String = editor.buf_option(buf, "filetype").unwrap_or_default();
        let is_preview = editor.win_option::<bool>(win, "previewwindow").unwrap_or(false);
        match editor.buf_option::<String>(buf, "buftype").unwrap_or_default().as_str() {
            _ if is_preview || filetype.starts_with("acp") => Shows::Page,
            "" => Shows::File,
            "help" | "quickfix" => Shows::Page,
            _ => Shows::Other,
        }
    }

    pub fn is_of_chat(&self, editor: &Editor, win: Win) -> bool {
        shows(editor, win, "acp") || shows(editor, win, "acp-prompt")
    }

    /// Neovim leaves, or the tab page goes: these windows are not in the way.
    pub fn make_way(&mut self, editor: &Editor, wins: &[Win], chats: &[&ChatBuffers]) -> Result<()> {
        for chat in chats {
            self.remember(editor, chat);
        }
        self.pairs.retain(|pair| !pair.is_in(wins));
        wins.iter().try_for_each(|win| editor.close_win(*win))
    }

    /// Windows, or all of Neovim, have another size: what the user did to a chat is kept, what came with other
    /// windows is undone.
    pub fn resized(&mut self, editor: &Editor, options: &WindowOptions) -> Result<()> {
        self.prune(editor);
        // Of one whose other half was just closed nothing is looked after any more.
        let whole: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.is_whole(editor)).collect();
        let high: Vec<Win> = whole.iter().flat_map(|pair| pair.sized.high()).collect();
        let wide: Vec<Win> = whole.iter().flat_map(|pair| pair.sized.wide()).collect();
        editor.helper::<()>("fix_sizes", (high, wide))?;
        let events = self.events;
        self.pairs.iter_mut().try_for_each(|pair| pair.sized.settle(editor, options, events))?;
        self.share_with_split_off(editor)
    }

    /// A window has come or is about to go, or the screen has another size: what follows is not the user's doing.
    pub fn moved_by_others(&mut self) {
        self.events += 1;
    }

    /// The text in a chat's prompt has changed: its window grows with it, or shrinks.
    pub fn fit_prompt(&mut self, editor: &Editor, chat: &ChatBuffers) -> Result<()> {
        let Some(win) = chat.prompt_window(editor) else { return Ok(()) };
        let pair = self.pairs.iter_mut().find(|pair| pair.sized.prompt == win);
        pair.map_or(Ok(()), |pair| pair.sized.fit_prompt(editor))
    }

    /// Without those that are gone. One of which half is left is completed, or its other half closed.
    fn prune(&mut self, editor: &Editor) {
        let is_left = |win: Win| editor.win_is_valid(win);
        self.pairs.retain(|pair| is_left(pair.sized.transcript) || is_left(pair.sized.prompt));
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
