//! One chat on screen: a transcript buffer, a prompt buffer under it, and the entries of a session
//! drawn into the first. This file has the buffers and their windows; how the entries get into the
//! transcript is `drawing`'s.

mod drawing;

use mlua::{Result, Table, Value};

use self::drawing::Canvas;
pub use self::drawing::Fold;
use crate::config::{Layout, WindowOptions};
use crate::core::message::SessionKey;
use crate::nvim::editor::{Buf, Editor, Win};

pub struct Chat {
    pub session: SessionKey,
    pub transcript: Buf,
    pub prompt: Buf,
    canvas: Canvas,
}

impl Chat {
    pub fn new(editor: &Editor, session: SessionKey, title: &str) -> Result<Self> {
        let transcript = buffer(editor, "acp", &format!("acp://chat/{}/{title}", session.0))?;
        editor.set_buf_option(transcript, "modifiable", false)?;
        editor.set_buf_option(transcript, "undolevels", -1)?;
        let prompt = buffer(editor, "acp-prompt", &format!("acp://prompt/{}/{title}", session.0))?;
        editor.set_buf_option(prompt, "omnifunc", "v:lua.require'acp.complete'.omnifunc")?;
        Ok(Self { session, transcript, prompt, canvas: Canvas::new(editor)? })
    }

    /// Both buffers are still there; a user may have wiped one.
    pub fn is_valid(&self, editor: &Editor) -> bool {
        editor.buf_is_loaded(self.transcript) && editor.buf_is_loaded(self.prompt)
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
