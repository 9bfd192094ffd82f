//! Prompts that are longer than a slice has time for, such as a log that was pasted: they are read when
//! their user pauses, and filled and emptied some lines at a time. Short ones are left to `buffers`.

use std::time::Duration;

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::core::text::Text;
use crate::core::transcript::clean_lines;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::prompt::Prompts;

/// A text that is being typed is read after so long a pause.
const REST: Duration = Duration::from_millis(200);

/// Between two slices keys are taken in.
const PAUSE: Duration = Duration::from_millis(1);

/// So many lines go in or out at once, and so many bytes.
const LINES: usize = 4000;
const BYTES: usize = 256 << 10;

/// A text on its way into a prompt.
struct Filling {
    /// Where the old text ends while it is emptied, then where the new one ends so far.
    mark: i64,
    text: Text,
    /// So much of it is in.
    done: usize,
    /// The old text is still on its way out.
    empties: bool,
    /// There was a slice: what follows belongs to the same undo step.
    begun: bool,
}

impl Prompts {
    /// Has a long prompt read once its user pauses, so that what is typed is kept.
    pub fn read_long_prompt(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        if std::mem::replace(&mut prompt.reads, true) {
            return Ok(());
        }
        cx.later(REST, move |this: &mut Self, cx| {
            if let Some(prompt) = this.open.get_mut(&key) {
                prompt.reads = false;
            }
            let Some(buf) = cx.chats.get(&key).copied().map(|chat| chat.prompt) else { return Ok(()) };
            cx.with_typed_text(this, buf, move |this: &mut Self, cx, snapshot| {
                let Some(snapshot) = snapshot else { return Ok(()) };
                let Some(prompt) = this.open.get_mut(&key).filter(|prompt| !prompt.filling) else {
                    return Ok(());
                };
                prompt.read_at = Some(snapshot.tick);
                this.prompt_read(cx, key, snapshot.text.body())
            })
        })
    }

    /// Sends a long prompt as soon as it is read, and empties its buffer.
    pub fn send_long_prompt(&mut self, cx: &mut Context, key: SessionKey, mode: SendMode) -> Result<()> {
        Self::can_take_prompt(cx, key)?;
        let Some(buf) = cx.chats.get(&key).copied().map(|chat| chat.prompt) else { return Ok(()) };
        if self.open.get(&key).is_none_or(|prompt| prompt.filling) {
            return Ok(());
        }
        cx.with_typed_text(self, buf, move |this: &mut Self, cx, snapshot| {
            let Some(snapshot) = snapshot else {
                return Err(mlua::Error::runtime("couldn't send the prompt: it is no UTF-8 text"));
            };
            Self::can_take_prompt(cx, key)?;
            match this.open.get_mut(&key) {
                // The key was pressed twice.
                Some(prompt) if prompt.filling => return Ok(()),
                Some(prompt) => prompt.browse = None,
                None => return Ok(()),
            }
            let mode = Self::mode_of_edited(cx, key, mode);
            this.fill_prompt(cx, key, Text::default())?;
            cx.raise(EditorEvent::PromptTyped { session: key, text: snapshot.text.body(), mode });
            cx.raise(EditorEvent::FrameDue);
            Ok(())
        })
    }

    /// Puts a text in the place of a prompt's, some lines at a time, as one undo step. What is typed below
    /// meanwhile stays.
    pub fn fill_prompt(&mut self, cx: &mut Context, key: SessionKey, text: Text) -> Result<()> {
        let Some(buf) = cx.chats.get(&key).copied().map(|chat| chat.prompt) else { return Ok(()) };
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let is_filling = std::mem::replace(&mut prompt.filling, true);
        // Whatever ends Neovim now, the text is kept.
        prompt.text = text.clone();
        let folder = prompt.folder.clone();
        self.keep_drafts(cx, folder);
        if is_filling {
            // What is on its way gives way to this.
            cx.editor.clear_namespace(buf, self.filling, 0, -1)?;
        }
        let last = cx.editor.line_count(buf)? - 1;
        let options = cx.editor.table([("right_gravity", Value::Boolean(false))])?;
        let end = cx.editor.line_len(buf, last)?;
        let mark = cx.editor.set_extmark(buf, self.filling, (last, end), options)?;
        cx.editor.helper::<()>("break_undo", (buf, true))?;
        self.fill_slice(cx, key, Filling { mark, text, done: 0, empties: true, begun: false })
    }

    fn fill_slice(&mut self, cx: &mut Context, key: SessionKey, mut filling: Filling) -> Result<()> {
        let Filling { mark, ref text, done, empties, begun } = filling;
        let Some(buf) = cx.chats.get(&key).copied().map(|chat| chat.prompt) else { return Ok(()) };
        if !cx.editor.buf_is_loaded(buf) {
            return self.filled(cx, key);
        }
        let none = cx.editor.lua.create_table()?;
        let at: Vec<i64> = cx.editor.api("nvim_buf_get_extmark_by_id", (buf, self.filling, mark, none))?;
        // Another text took its place.
        let [row, column] = at[..] else { return Ok(()) };
        if begun {
            cx.editor.helper::<()>("join_undo", buf)?;
        }
        filling.begun = true;
        if empties {
            let rows = usize::try_from(row).unwrap_or_default();
            let most = rows_within(cx, buf, rows);
            if most < rows {
                cx.editor.set_lines(buf, 0..most, &[] as &[&str])?;
            } else {
                cx.editor.set_text(buf, (0, 0), (row, column), &[""])?;
                filling.empties = false;
                return self.fill_later(cx, key, filling);
            }
        } else {
            let rest = &text[done..];
            let piece = piece(rest);
            filling.done = done + piece.len();
            let lines: Vec<&str> = clean_lines(piece).collect();
            cx.editor.set_text(buf, (row, column), (row, column), &lines)?;
            let options =
                cx.editor.table([("right_gravity", Value::Boolean(false)), ("id", Value::Integer(mark))])?;
            let end = match &lines[..] {
                [only] => column as usize + only.len(),
                lines => lines.last().map_or(0, |line| line.len()),
            };
            cx.editor.set_extmark(buf, self.filling, (row as usize + lines.len() - 1, end), options)?;
            if filling.done == text.len() {
                let wins = cx.editor.wins_of(buf);
                for win in wins {
                    cx.editor.set_cursor(win, row as usize + lines.len(), end)?;
                }
                return self.filled(cx, key);
            }
        }
        self.fill_later(cx, key, filling)
    }

    fn fill_later(&mut self, cx: &mut Context, key: SessionKey, filling: Filling) -> Result<()> {
        if !filling.empties && filling.text.is_empty() {
            return self.filled(cx, key);
        }
        cx.later(PAUSE, move |this: &mut Self, cx| this.fill_slice(cx, key, filling))
    }

    fn filled(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        if let Some(prompt) = self.open.get_mut(&key) {
            prompt.filling = false;
        }
        if let Some(chat) = cx.chats.get(&key).copied()
            && cx.editor.buf_is_loaded(chat.prompt)
        {
            cx.editor.clear_namespace(chat.prompt, self.filling, 0, -1)?;
        }
        self.prompt_changed(cx, key)
    }

    /// Adds to the end of a long prompt.
    pub fn append_to_prompt(&mut self, cx: &mut Context, key: SessionKey, text: &str) -> Result<()> {
        let Some(buf) = cx.chats.get(&key).copied().map(|chat| chat.prompt) else { return Ok(()) };
        cx.editor.set_text(buf, (-1, -1), (-1, -1), &[text])?;
        self.prompt_changed(cx, key)
    }
}

/// How many of a buffer's first rows one slice has time for.
fn rows_within(cx: &Context, buf: Buf, rows: usize) -> usize {
    let (mut few, mut many) = (1, rows.min(LINES));
    while few < many {
        let middle = (few + many).div_ceil(2);
        if cx.editor.byte_count(buf, middle) <= BYTES {
            few = middle;
        } else {
            many = middle - 1;
        }
    }
    many.max(1)
}

/// What of a text goes in at once, without the half of a line end.
fn piece(text: &str) -> &str {
    let mut end = BYTES.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some((at, _)) = text[..end].match_indices('\n').nth(LINES) {
        end = at;
    }
    let piece = &text[..end];
    match piece.strip_suffix('\r') {
        Some(shorter) if end < text.len() && !shorter.is_empty() => shorter,
        _ => piece,
    }
}
