//! One chat on screen: a transcript buffer, a prompt buffer under it, and the entries of a session
//! drawn into the first. Each entry owns a region that begins at an extmark; only touched regions are
//! edited, and text that streams is appended. What an entry looks like is `core::transcript`'s word.

use std::collections::BTreeSet;
use std::time::Instant;

use mlua::{Result, Table, Value};

use crate::config::{Layout, WindowOptions};
use crate::core::entry::{Body, Entry, EntryId};
use crate::core::message::{SessionKey, TerminalId};
use crate::core::session::Session;
use crate::core::transcript::{Drawing, Style, Tail, clean_lines, draw};
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::highlight::Highlight;

/// At most this much of an entry's new text is appended in one edit, so that a burst is drawn in
/// pieces that fit into a frame.
const PIECE: usize = 16 << 10;

pub struct Chat {
    pub session: SessionKey,
    pub transcript: Buf,
    pub prompt: Buf,
    marks: i64,
    regions: i64,
    drawn: Vec<Region>,
    /// Touched entries that no frame had time for yet.
    waiting: BTreeSet<EntryId>,
}

/// What stands in the buffer for one entry.
struct Region {
    /// The extmark at its first row.
    start: i64,
    /// Empty for an entry that streams: its text is only ever appended to.
    lines: Vec<String>,
    /// How much of a stream's text is in the buffer.
    streamed: usize,
    /// Its Markdown grows, and is being coloured as it does.
    colouring: bool,
}

impl Chat {
    pub fn new(editor: &Editor, session: SessionKey, title: &str) -> Result<Self> {
        let transcript = buffer(editor, "acp", &format!("acp://chat/{}/{title}", session.0))?;
        editor.set_buf_option(transcript, "modifiable", false)?;
        editor.set_buf_option(transcript, "undolevels", -1)?;
        let prompt = buffer(editor, "acp-prompt", &format!("acp://prompt/{}/{title}", session.0))?;
        editor.set_buf_option(prompt, "omnifunc", "v:lua.require'acp.complete'.omnifunc")?;
        Ok(Self {
            session,
            transcript,
            prompt,
            marks: editor.namespace("acp.marks")?,
            regions: editor.namespace("acp.regions")?,
            drawn: Vec::new(),
            waiting: BTreeSet::new(),
        })
    }

    /// Both buffers are still there; a user may have wiped one.
    pub fn is_valid(&self, editor: &Editor) -> bool {
        editor.buf_is_loaded(self.transcript) && editor.buf_is_loaded(self.prompt)
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    // Windows.

    /// The transcript's window in the current tab page.
    pub fn window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.transcript)
    }

    pub fn prompt_window(&self, editor: &Editor) -> Option<Win> {
        in_tab(editor, self.prompt)
    }

    /// Shows the chat in the current tab page, or what is missing of it there, and goes to the prompt.
    pub fn show(&self, editor: &Editor, options: &WindowOptions) -> Result<()> {
        let transcript = match self.window(editor) {
            Some(win) => win,
            None => self.open_transcript(editor, options)?,
        };
        let prompt = match self.prompt_window(editor) {
            Some(win) => win,
            None => self.open_prompt(editor, transcript, options)?,
        };
        self.dress(editor, transcript, prompt)?;
        editor.set_current_win(prompt)?;
        editor.command("startinsert!")?;
        let last = editor.line_count(self.transcript)?;
        editor.set_cursor(transcript, last, 0)
    }

    fn open_transcript(&self, editor: &Editor, options: &WindowOptions) -> Result<Win> {
        let (columns, lines) = editor.size();
        let width = options.width.of(columns);
        let height = options.height.of(lines);
        let split = |direction: &str, name: &str, size: u16| -> Result<Win> {
            let config = editor.table([
                ("split", editor.string(direction)?),
                ("win", Value::Integer(-1)),
                (name, Value::Integer(size.into())),
            ])?;
            editor.open_win(self.transcript, false, config)
        };
        match options.layout {
            Layout::Right => split("right", "width", width),
            Layout::Left => split("left", "width", width),
            Layout::Bottom => split("below", "height", height),
            Layout::Top => split("above", "height", height),
            Layout::Float => {
                let height = height.saturating_sub(options.prompt_height + 4).max(3);
                editor.open_win(
                    self.transcript,
                    false,
                    float(editor, width, height, 0, (columns, lines), options)?,
                )
            }
            Layout::Tab => {
                editor.command("tab split")?;
                let win = editor.current_win()?;
                editor.set_win_buf(win, self.transcript)?;
                Ok(win)
            }
            Layout::Current => {
                let win = editor.current_win()?;
                editor.set_win_buf(win, self.transcript)?;
                Ok(win)
            }
        }
    }

    fn open_prompt(&self, editor: &Editor, transcript: Win, options: &WindowOptions) -> Result<Win> {
        if options.layout == Layout::Float {
            let (columns, lines) = editor.size();
            let height = options.height.of(lines).saturating_sub(options.prompt_height + 4).max(3);
            let config = float(
                editor,
                options.width.of(columns),
                options.prompt_height,
                height + 2,
                (columns, lines),
                options,
            )?;
            return editor.open_win(self.prompt, false, config);
        }
        let config = editor.table([
            ("split", editor.string("below")?),
            ("win", Value::Integer(transcript.0)),
            ("height", Value::Integer(options.prompt_height.into())),
        ])?;
        editor.open_win(self.prompt, false, config)
    }

    /// Window options, set each time since a window may have shown something else before.
    fn dress(&self, editor: &Editor, transcript: Win, prompt: Win) -> Result<()> {
        for win in [transcript, prompt] {
            for (name, value) in [
                ("number", false),
                ("relativenumber", false),
                ("cursorline", false),
                ("list", false),
                ("spell", false),
                ("wrap", true),
                ("linebreak", true),
                ("breakindent", true),
            ] {
                editor.set_win_option(win, name, value)?;
            }
            editor.set_win_option(win, "signcolumn", "no")?;
            // A margin. 'statuscolumn' could draw it as well, but has every row of the window drawn again
            // whenever lines are added.
            editor.set_win_option(win, "foldcolumn", "1")?;
            editor.set_win_option(win, "winhighlight", "FoldColumn:EndOfBuffer")?;
            editor.set_win_option(win, "foldenable", false)?;
            editor.set_win_option(win, "colorcolumn", "")?;
            editor.set_win_option(win, "conceallevel", 2)?;
            editor.set_win_option(win, "concealcursor", "nc")?;
            editor.set_win_option(win, "statuscolumn", "")?;
            editor.set_win_option(win, "fillchars", "eob: ")?;
        }
        editor.set_win_option(prompt, "winfixheight", true)
    }

    pub fn hide(&self, editor: &Editor) -> Result<()> {
        for buf in [self.prompt, self.transcript] {
            if let Some(win) = in_tab(editor, buf)
                && let Err(error) = editor.close_win(win)
            {
                // The last window cannot be closed (E444): show something else in it.
                if editor.tab_wins()?.len() > 1 {
                    return Err(error);
                }
                let empty = editor.create_buf(true, false)?;
                editor.set_win_buf(win, empty)?;
            }
        }
        Ok(())
    }

    pub fn close(&self, editor: &Editor) {
        for buf in [self.prompt, self.transcript] {
            if editor.buf_is_valid(buf) {
                let force = editor.table([("force", Value::Boolean(true))]);
                // A buffer that cannot go stays; it holds nothing that works any more.
                let _ = force.and_then(|force| editor.api::<()>("nvim_buf_delete", (buf, force)));
            }
        }
    }

    // The prompt.

    pub fn prompt_text(&self, editor: &Editor) -> Result<String> {
        Ok(editor.lines(self.prompt, 0, -1)?.join("\n"))
    }

    // Drawing.

    /// Notes what to draw at the next frame.
    pub fn touch(&mut self, entries: BTreeSet<EntryId>) {
        self.waiting.extend(entries);
    }

    /// Draws what is waiting until `until`; what is left then stays waiting.
    pub fn draw(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        session: &Session,
        icons: bool,
        tail: &dyn Fn(&TerminalId) -> Option<Tail>,
        until: Instant,
    ) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let Some(unlocked) = editor.unlock(self.transcript)? else {
            // The user wiped it; a chat that is shown again is drawn anew.
            self.waiting.clear();
            return Ok(());
        };
        let style = Style { icons, width: unlocked.width.unwrap_or(80).into() };
        let drawn = self.draw_waiting(editor, highlight, session, &style, tail, until);
        let locked = editor.lock(self.transcript, unlocked);
        drawn.and(locked)
    }

    fn draw_waiting(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        session: &Session,
        style: &Style,
        tail: &dyn Fn(&TerminalId) -> Option<Tail>,
        until: Instant,
    ) -> Result<()> {
        while let Some(id) = self.waiting.first().copied() {
            let Some(entry) = session.entry(id) else {
                self.waiting.remove(&id);
                continue;
            };
            let before = id.0.checked_sub(1).and_then(|before| session.entry(EntryId(before)));
            let whole = if id.0 >= self.drawn.len() {
                // Regions are made in order; an earlier one that is missing comes first.
                let next = EntryId(self.drawn.len());
                if next != id {
                    self.waiting.insert(next);
                    continue;
                }
                if let Some(previous) = self.drawn.len().checked_sub(1) {
                    self.finish(editor, highlight, previous)?;
                }
                self.add(editor, highlight, before, entry, style, tail)?
            } else if entry.stream().is_some() {
                self.append(editor, highlight, id, entry)?
            } else {
                let drawing = draw(before, entry, style, tail);
                self.replace(editor, highlight, id, drawing)?;
                true
            };
            if whole {
                self.waiting.remove(&id);
            }
            if Instant::now() >= until {
                break;
            }
        }
        Ok(())
    }

    /// Draws an entry for the first time, at the end. Says whether all of it is there.
    fn add(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        before: Option<&Entry>,
        entry: &Entry,
        style: &Style,
        tail: &dyn Fn(&TerminalId) -> Option<Tail>,
    ) -> Result<bool> {
        let stream = entry.stream().is_some();
        let mut drawing = if stream {
            // The text itself comes by `append`, piece by piece.
            let empty = Entry {
                at: entry.at,
                body: Body::Message { text: String::new() },
                open: entry.open,
                refused: false,
            };
            draw(before, &empty, style, tail)
        } else {
            draw(before, entry, style, tail)
        };
        let first = self.drawn.is_empty();
        let row = if first { 0 } else { editor.line_count(self.transcript)? };
        if first {
            editor.set_text(self.transcript, (0, 0), (0, 0), &drawing.lines)?;
        } else {
            let mut lines = vec![String::new()];
            lines.append(&mut drawing.lines.clone());
            editor.set_text(self.transcript, (-1, -1), (-1, -1), &lines)?;
        }
        let options = editor.table([("right_gravity", Value::Boolean(false))])?;
        let start = editor.set_extmark(self.transcript, self.regions, row, 0, options)?;
        let lines = if stream { Vec::new() } else { std::mem::take(&mut drawing.lines) };
        self.drawn.push(Region { start, lines, streamed: 0, colouring: false });
        let id = self.drawn.len() - 1;
        if stream {
            let first = drawing.markdown.map_or(0, |rows| rows.start);
            highlight.open(self.transcript, id, row + first);
            self.drawn[id].colouring = true;
            return self.append(editor, highlight, EntryId(id), entry);
        }
        self.colour(editor, highlight, id, row, &drawing)?;
        Ok(true)
    }

    /// Appends what a stream has grown by. Says whether all of it is there.
    fn append(&mut self, editor: &Editor, highlight: &Highlight, id: EntryId, entry: &Entry) -> Result<bool> {
        let text = entry.stream().unwrap_or_default();
        let region = &self.drawn[id.0];
        // Line breaks at the end wait for what follows them: agents often end a message with some, and
        // what comes next is set off by a blank line anyway.
        let ready = text.trim_end_matches(['\n', '\r']);
        let Some(new) = ready.get(region.streamed..).filter(|new| !new.is_empty()) else {
            return Ok(true);
        };
        let end = (0..=PIECE.min(new.len())).rev().find(|end| new.is_char_boundary(*end)).unwrap_or_default();
        let piece = &new[..end];
        // Half of a line end waits for its other half.
        let piece = piece.strip_suffix('\r').filter(|rest| !rest.is_empty()).unwrap_or(piece);
        let lines: Vec<&str> = clean_lines(piece).collect();
        let end = self.end_row(editor, id)?;
        let position = if id.0 + 1 == self.drawn.len() {
            (-1, -1)
        } else {
            (end as i64 - 1, editor.line_len(self.transcript, end - 1)? as i64)
        };
        editor.set_text(self.transcript, position, position, &lines)?;
        let region = &mut self.drawn[id.0];
        region.streamed += piece.len();
        if region.colouring {
            highlight.grew(self.transcript, id.0, end + lines.len() - 1);
        }
        Ok(region.streamed >= ready.len())
    }

    /// Replaces the lines of a region that differ.
    fn replace(
        &mut self,
        editor: &Editor,
        highlight: &Highlight,
        id: EntryId,
        drawing: Drawing,
    ) -> Result<()> {
        if drawing.markdown.is_some() {
            highlight.drop(self.transcript, id.0);
        }
        let start = self.start_row(editor, id)?;
        let old = std::mem::take(&mut self.drawn[id.0].lines);
        let new = &drawing.lines;
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - head;
        let foot = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count().min(rest);
        self.replace_rows(editor, start, &old, head..old.len() - foot, &new[head..new.len() - foot])?;
        let (from, to) = (start as i64, (start + new.len()) as i64);
        editor.clear_namespace(self.transcript, self.marks, from, to)?;
        self.colour(editor, highlight, id.0, start, &drawing)?;
        self.drawn[id.0].lines = drawing.lines;
        Ok(())
    }

    /// Turns rows of a region into others without touching the line break at its end, since the next
    /// region's extmark stands right behind it.
    fn replace_rows(
        &self,
        editor: &Editor,
        start: usize,
        old: &[String],
        rows: std::ops::Range<usize>,
        new: &[String],
    ) -> Result<()> {
        let at = |row: usize| (start + row) as i64;
        let len = |row: usize| old[row].len() as i64;
        if rows.is_empty() && new.is_empty() {
            return Ok(());
        }
        if rows.is_empty() {
            let mut lines = new.to_vec();
            if rows.start == 0 {
                lines.push(String::new());
                return editor.set_text(self.transcript, (at(0), 0), (at(0), 0), &lines);
            }
            lines.insert(0, String::new());
            let position = (at(rows.start - 1), len(rows.start - 1));
            return editor.set_text(self.transcript, position, position, &lines);
        }
        let end = (at(rows.end - 1), len(rows.end - 1));
        if !new.is_empty() {
            return editor.set_text(self.transcript, (at(rows.start), 0), end, new);
        }
        if rows.start > 0 {
            let begin = (at(rows.start - 1), len(rows.start - 1));
            return editor.set_text(self.transcript, begin, end, &[""]);
        }
        editor.set_text(self.transcript, (at(0), 0), (at(rows.end), 0), &[""])
    }

    fn colour(
        &self,
        editor: &Editor,
        highlight: &Highlight,
        id: usize,
        start: usize,
        drawing: &Drawing,
    ) -> Result<()> {
        if let Some(rows) = &drawing.markdown {
            highlight.open(self.transcript, id, start + rows.start);
            highlight.close(self.transcript, id, start + rows.end);
        }
        let list = editor.lua.create_table()?;
        for mark in &drawing.marks {
            let options = editor.table([
                ("end_col", Value::Integer(mark.end as i64)),
                ("hl_group", editor.string(mark.group)?),
            ])?;
            push(&list, start + mark.row, mark.start, options)?;
        }
        for (row, text) in &drawing.right {
            let chunk = editor.lua.create_sequence_from([
                editor.lua.create_string(format!("{text} "))?,
                editor.lua.create_string("AcpMeta")?,
            ])?;
            let options = editor.table([
                ("virt_text", Value::Table(editor.lua.create_sequence_from([chunk])?)),
                ("virt_text_pos", editor.string("right_align")?),
                ("hl_mode", editor.string("combine")?),
            ])?;
            push(&list, start + row, 0, options)?;
        }
        editor.paint(self.transcript, self.marks, list)
    }

    /// A region that nothing follows any more is coloured to its end.
    pub fn finish(&mut self, editor: &Editor, highlight: &Highlight, index: usize) -> Result<()> {
        if self.drawn.get(index).is_some_and(|region| region.colouring) {
            let end = self.end_row(editor, EntryId(index))?;
            highlight.close(self.transcript, index, end);
            self.drawn[index].colouring = false;
        }
        Ok(())
    }

    /// The last region is complete: the turn is over.
    pub fn settle(&mut self, editor: &Editor, highlight: &Highlight) -> Result<()> {
        match self.drawn.len().checked_sub(1) {
            Some(last) => self.finish(editor, highlight, last),
            None => Ok(()),
        }
    }

    // Rows and entries.

    /// The 0-based first row of an entry.
    pub fn start_row(&self, editor: &Editor, id: EntryId) -> Result<usize> {
        let region = self.drawn.get(id.0).ok_or_else(|| mlua::Error::runtime("no such entry is drawn"))?;
        editor
            .extmark_row(self.transcript, self.regions, region.start)?
            .ok_or_else(|| mlua::Error::runtime("an entry's mark is gone"))
    }

    /// The row after an entry's last.
    fn end_row(&self, editor: &Editor, id: EntryId) -> Result<usize> {
        if id.0 + 1 < self.drawn.len() {
            self.start_row(editor, EntryId(id.0 + 1))
        } else {
            editor.line_count(self.transcript)
        }
    }

    /// The entry at a 0-based row.
    pub fn entry_at(&self, editor: &Editor, row: usize) -> Result<Option<EntryId>> {
        let (mut low, mut high) = (0, self.drawn.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.start_row(editor, EntryId(middle))? <= row {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low.checked_sub(1).map(EntryId))
    }
}

fn push(list: &Table, row: usize, column: usize, options: Table) -> Result<()> {
    list.raw_push(row)?;
    list.raw_push(column)?;
    list.raw_push(options)
}

fn in_tab(editor: &Editor, buf: Buf) -> Option<Win> {
    let wins = editor.tab_wins().ok()?;
    wins.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|shown| shown == buf))
}

fn buffer(editor: &Editor, filetype: &str, name: &str) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    editor.set_buf_option(buf, "swapfile", false)?;
    // A session that was restored may have left a buffer of this name.
    if editor.set_buf_name(buf, name).is_err() {
        editor.set_buf_name(buf, &format!("{name}#{}", buf.0))?;
    }
    editor.set_buf_option(buf, "filetype", filetype)?;
    Ok(buf)
}

fn float(
    editor: &Editor,
    width: u16,
    height: u16,
    offset: u16,
    (columns, lines): (u16, u16),
    options: &WindowOptions,
) -> Result<Table> {
    let whole = options.height.of(lines);
    editor.table([
        ("relative", editor.string("editor")?),
        ("width", Value::Integer(width.into())),
        ("height", Value::Integer(height.into())),
        ("row", Value::Integer((lines.saturating_sub(whole) / 2 + offset).into())),
        ("col", Value::Integer((columns.saturating_sub(width) / 2).into())),
        ("border", editor.string("rounded")?),
    ])
}
