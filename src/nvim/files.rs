//! Files that buffers hold: which ones they are, what they read as, and how an agent's text gets into
//! them. Reads give the live text with its unsaved edits; writes become the smallest edits, one undo
//! step, and a save where the buffer held nothing unsaved. Files without a buffer are the
//! background's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::changes::TextEdit;
use crate::core::checkpoint::{self, Held};
use crate::core::slice;
use crate::nvim::editor::{Buf, Editor};

#[derive(Default)]
pub struct Files {
    loaded: HashMap<PathBuf, Buf>,
}

/// A buffer as it was when an agent's write came in.
pub struct Snapshot {
    pub buf: Buf,
    /// `b:changedtick`: when it is another one later, the buffer was changed meanwhile.
    pub tick: u64,
    /// Lines joined by `\n`, without a last line break.
    pub text: String,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Saved,
    /// The buffer held unsaved edits before; saving is left to the user.
    LeftUnsaved,
}

impl Files {
    /// What a buffer's file is called everywhere here: absolute, links resolved; `None` for buffers
    /// that are no files.
    pub fn path_of(editor: &Editor, buf: Buf) -> Option<PathBuf> {
        let kind: String = editor.buf_option(buf, "buftype").ok()?;
        let name = editor.buf_name(buf);
        if !(kind.is_empty() || kind == "acwrite") || name.is_empty() || name.contains("://") {
            return None;
        }
        Some(canonical(Path::new(&name)))
    }

    /// A buffer was read or named.
    pub fn loaded(&mut self, editor: &Editor, buf: Buf) -> Option<PathBuf> {
        let path = Self::path_of(editor, buf)?;
        self.loaded.retain(|known, held| *held != buf || *known == path);
        self.loaded.insert(path.clone(), buf);
        Some(path)
    }

    /// A buffer is being unloaded.
    pub fn unloaded(&mut self, buf: Buf) -> Option<PathBuf> {
        let path = self.loaded.iter().find(|(_, held)| **held == buf).map(|(path, _)| path.clone())?;
        self.loaded.remove(&path);
        Some(path)
    }

    pub fn buf_of(&self, editor: &Editor, path: &Path) -> Option<Buf> {
        let buf = self.loaded.get(&canonical(path)).copied()?;
        editor.buf_is_loaded(buf).then_some(buf)
    }

    /// The live text of a file, as the file would hold it when saved now. `line` is 1-based.
    pub fn read(
        &self,
        editor: &Editor,
        path: &Path,
        line: Option<u32>,
        limit: Option<u32>,
    ) -> std::result::Result<String, String> {
        let buf = self
            .buf_of(editor, path)
            .ok_or_else(|| "its buffer was just closed; read it again".to_owned())?;
        let text = whole(editor, buf).map_err(|error| brief(&error))?;
        let text = text.ok_or_else(|| "it is not UTF-8 text".to_owned())?;
        Ok(match (line, limit) {
            (None, None) => text,
            _ => slice::lines(&text, line, limit).to_owned(),
        })
    }

    /// The agent may have written the file itself: a buffer without unsaved edits takes the new text.
    pub fn refresh(&self, editor: &Editor, path: &Path) -> Result<()> {
        let Some(buf) = self.buf_of(editor, path) else { return Ok(()) };
        let modified: bool = editor.buf_option(buf, "modified")?;
        // Neovim would ask about unsaved edits, and so hold the editor (W12).
        if modified || !path.is_file() { Ok(()) } else { editor.take_from_disk(buf) }
    }

    pub fn snapshot(&self, editor: &Editor, path: &Path) -> std::result::Result<Snapshot, String> {
        let buf =
            self.buf_of(editor, path).ok_or_else(|| "its buffer was just closed; try again".to_owned())?;
        let read = || -> Result<Snapshot> {
            let text = editor.text(buf)?.ok_or_else(|| mlua::Error::runtime("it is not UTF-8 text"))?;
            Ok(Snapshot { buf, tick: editor.changedtick(buf)?, text })
        };
        let snapshot = read().map_err(|error| brief(&error))?;
        let modifiable: bool = editor.buf_option(buf, "modifiable").unwrap_or(true);
        if modifiable { Ok(snapshot) } else { Err("its buffer is not 'modifiable' in Neovim".to_owned()) }
    }

    /// Applies the edits, bottom-up as they come, and saves where nothing was unsaved before.
    pub fn write(
        &self,
        editor: &Editor,
        buf: Buf,
        edits: &[TextEdit],
        content: &Content,
    ) -> std::result::Result<Written, String> {
        let was_modified: bool = editor.buf_option(buf, "modified").unwrap_or(false);
        let apply = || -> Result<()> {
            for edit in edits {
                let at = |(row, column): (usize, usize)| (row as i64, column as i64);
                match edit.whole_lines() {
                    // Marks on the lines around stay where they are only so.
                    Some((rows, lines)) => editor.set_lines(buf, rows, lines)?,
                    None => editor.set_text(buf, at(edit.start), at(edit.end), &edit.lines)?,
                }
            }
            let ends: bool = editor.buf_option(buf, "endofline")?;
            if ends != content.ends_with_newline {
                editor.set_buf_option(buf, "endofline", content.ends_with_newline)?;
                editor.set_buf_option(buf, "fixendofline", content.ends_with_newline)?;
            }
            Ok(())
        };
        apply().map_err(|error| brief(&error))?;
        if was_modified {
            return Ok(Written::LeftUnsaved);
        }
        self.save(editor, buf)?;
        Ok(Written::Saved)
    }

    fn save(&self, editor: &Editor, buf: Buf) -> std::result::Result<(), String> {
        let name = editor.buf_name(buf);
        if let Some(folder) = Path::new(&name).parent() {
            // When this fails the write below says why.
            let _ = std::fs::create_dir_all(folder);
        }
        editor.command_in(buf, "silent keepalt noautocmd write!").map_err(|error| {
            format!("the change is in Neovim's buffer, but could not be saved: {}", brief(&error))
        })?;
        let announce = || -> Result<()> {
            let options =
                editor.table([("buffer", Value::Integer(buf.0)), ("modeline", Value::Boolean(false))])?;
            editor.api("nvim_exec_autocmds", ("BufWritePost", options))
        };
        // A failing autocommand of somebody else's does not undo the save.
        let _ = announce();
        Ok(())
    }
}

/// A text from an agent, as a buffer holds it.
pub struct Content {
    /// Lines joined by `\n`, without a last line break.
    pub text: String,
    pub ends_with_newline: bool,
}

impl Content {
    /// Line ends follow the buffer's 'fileformat'.
    pub fn for_buffer(editor: &Editor, buf: Buf, content: &str) -> Self {
        let format: String = editor.buf_option(buf, "fileformat").unwrap_or_default();
        let (text, ends_with_newline) = checkpoint::in_buffer(content, format == "dos");
        Self { text, ends_with_newline }
    }
}

/// What a buffer's file would hold if it were saved now; `Absent` where neither holds anything.
pub fn held(editor: &Editor, buf: Buf, path: &Path) -> Held {
    let read = || -> Result<Option<String>> {
        let encoding: String = editor.buf_option(buf, "fileencoding")?;
        if !matches!(encoding.as_str(), "" | "utf-8") {
            return Ok(None);
        }
        let Some(text) = whole(editor, buf)? else { return Ok(None) };
        let mark: bool = editor.buf_option(buf, "bomb")?;
        Ok(Some(if mark { format!("\u{feff}{text}") } else { text }))
    };
    match read() {
        Ok(Some(text)) if text.is_empty() && !path.exists() => Held::Absent,
        Ok(Some(text)) => Held::Text(text),
        Ok(None) | Err(_) => Held::Unknown,
    }
}

/// A buffer's text as its file would hold it.
fn whole(editor: &Editor, buf: Buf) -> Result<Option<String>> {
    let Some(mut text) = editor.text(buf)? else { return Ok(None) };
    let ends: bool = editor.buf_option(buf, "endofline")?;
    let fixes: bool = editor.buf_option(buf, "fixendofline")?;
    let is_empty = text.is_empty() && editor.line_count(buf)? == 1;
    if (ends || fixes) && !is_empty {
        text.push('\n');
    }
    let format: String = editor.buf_option(buf, "fileformat")?;
    Ok(Some(match format.as_str() {
        "dos" => text.replace('\n', "\r\n"),
        "mac" => text.replace('\n', "\r"),
        _ => text,
    }))
}

/// Links resolved as far as the path exists.
pub fn canonical(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => canonical(parent).join(name),
        _ => path.to_owned(),
    }
}

/// The first line of an error of Neovim's, without where in Lua it came from.
pub fn brief(error: &mlua::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("runtime error: ").unwrap_or(line);
    match line.find("Vim(").or_else(|| line.find("E")) {
        Some(at)
            if line[at..].starts_with("Vim(") || line[at + 1..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            line[at..].to_owned()
        }
        _ => line.to_owned(),
    }
}
