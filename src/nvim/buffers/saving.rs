//! Texts on their way from buffers to the disk: edits that are made at once, and Neovim's own write, after a
//! look whether the disk has room. What is to be written when is left to others.

use std::path::Path;

use mlua::{Result, Value};

use crate::core::changes::text_edits::TextEdit;
use crate::core::message::Stamp;
use crate::core::store::checkpoint::{format_for, unmarked};
use crate::nvim::buffers::applying::apply;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::editor::{Buf, Editor, first_line};
use crate::platform::files::{is_pipe, stamp};

/// A text that is to be in a buffer, as to its end.
#[derive(Clone)]
pub struct Content {
    pub ends_with_newline: bool,
    /// The file is to be empty, which is less than one empty line.
    pub is_empty: bool,
    /// The buffer's 'fileformat' and 'bomb', where they are to be others.
    pub format: Option<String>,
    pub mark: Option<bool>,
}

impl Content {
    /// What makes a file with the right lines this text, in a buffer with that 'fileformat'.
    pub fn of(text: &str, format: &str) -> Self {
        let plain = unmarked(text);
        let format = format_for(plain, format).to_owned();
        let end = if format == "mac" { '\r' } else { '\n' };
        Self {
            ends_with_newline: plain.ends_with(end) || plain.is_empty(),
            is_empty: plain.is_empty(),
            format: Some(format),
            mark: Some(plain.len() < text.len()),
        }
    }

    /// The buffer's file ends its lines as before.
    pub fn as_before(editor: &Editor, buf: Buf) -> Result<Self> {
        let ends_with_newline = editor.buf_option(buf, "endofline")?;
        Ok(Self { ends_with_newline, is_empty: false, format: None, mark: None })
    }

    /// What the buffer has now, for when it is to have its text again. Whether it has no line, or an empty one, is
    /// nothing that Neovim would tell.
    pub fn now(editor: &Editor, buf: Buf) -> Result<Self> {
        Ok(Self {
            ends_with_newline: editor.buf_option(buf, "endofline")?,
            is_empty: false,
            format: Some(editor.buf_option(buf, "fileformat")?),
            mark: Some(editor.buf_option(buf, "bomb")?),
        })
    }
}

/// Applies edits of the user's own making at once, and saves where nothing was unsaved before.
pub fn write(
    editor: &Editor,
    buf: Buf,
    edits: &[TextEdit],
    content: &Content,
) -> std::result::Result<(), String> {
    let was_modified = is_modified(editor, buf);
    let apply = || -> Result<()> {
        edits.iter().try_for_each(|edit| apply(editor, buf, edit))?;
        if content.is_empty {
            editor.set_lines(buf, 0..editor.line_count(buf)?, &[] as &[&str])?;
        }
        if let Some(format) = &content.format
            && editor.buf_option::<String>(buf, "fileformat")? != *format
        {
            editor.set_buf_option(buf, "fileformat", format.as_str())?;
        }
        if let Some(mark) = content.mark
            && editor.buf_option::<bool>(buf, "bomb")? != mark
        {
            editor.set_buf_option(buf, "bomb", mark)?;
        }
        if editor.buf_option::<bool>(buf, "endofline")? != content.ends_with_newline {
            editor.set_buf_option(buf, "endofline", content.ends_with_newline)?;
        }
        if !content.ends_with_newline && editor.buf_option::<bool>(buf, "fixendofline")? {
            // Saving would add the line break that the text does not have.
            editor.set_buf_option(buf, "fixendofline", false)?;
        }
        Ok(())
    };
    apply().map_err(|error| first_line(&error))?;
    if was_modified { Ok(()) } else { save(editor, buf, false) }
}

/// Saves a buffer whose text is the agent's; `with_autocmds` lets formatters change it first.
pub fn save(editor: &Editor, buf: Buf, with_autocmds: bool) -> std::result::Result<(), String> {
    let name = editor.buf_name(buf);
    // The ! below is for the time of the file, not for what its permissions forbid: Neovim would change
    // them for it. It looks at them itself whenever it saves.
    let is_protected = editor.func::<i64>("filewritable", name.as_str()).is_ok_and(|can| can == 0);
    if is_protected && editor.func::<i64>("filereadable", name.as_str()).is_ok_and(|can| can == 1) {
        return Err("permission denied; make the file writable".to_owned());
    }
    if let Some(folder) = Path::new(&name).parent()
        // On this thread, as the write is that follows.
        && !folder.exists()
    {
        // When this fails the write below says why.
        let _ = std::fs::create_dir_all(folder);
    }
    // Neovim would wait until somebody reads what it writes.
    if Path::new(&name).metadata().is_ok_and(|found| is_pipe(found.file_type())) {
        return Err("a pipe has taken its place; remove it first".to_owned());
    }
    // Neovim would empty the file first, or go on without a backup for the ! below.
    check_room(editor, buf, Path::new(&name))?;
    // The time of the file was compared by us; for Neovim to do it, it would ask.
    let command = if with_autocmds { "silent keepalt write!" } else { "silent keepalt noautocmd write!" };
    editor.command_in(buf, command).map_err(|error| first_line(&error))?;
    if !with_autocmds {
        let announce = || -> Result<()> {
            let options =
                editor.table([("buffer", Value::Integer(buf.0)), ("modeline", Value::Boolean(false))])?;
            editor.api("nvim_exec_autocmds", ("BufWritePost", options))
        };
        // A failing autocommand of somebody else's does not undo the save.
        let _ = announce();
    }
    Ok(())
}

/// Whether the disk has room for a buffer's text beside the one that it has.
fn check_room(editor: &Editor, buf: Buf, name: &Path) -> std::result::Result<(), String> {
    let look = || -> Result<(String, u64)> {
        let kind: String = editor.buf_option(buf, "buftype")?;
        let lines = editor.line_count(buf)?;
        let bytes = editor.byte_count(buf, lines) + lines + 4;
        let encoding: String = editor.buf_option(buf, "fileencoding")?;
        let width = match &*encoding {
            wide if wide.starts_with("ucs-4") || wide.starts_with("utf-32") => 4,
            wide if wide.starts_with("ucs-2") || wide.starts_with("utf-16") => 2,
            _ => 1,
        };
        Ok((kind, bytes as u64 * width))
    };
    let (kind, bytes) = look().map_err(|error| first_line(&error))?;
    let path = canonical(name);
    match path.parent() {
        Some(folder) if kind.is_empty() => crate::platform::files::check_room(folder, bytes)
            .map_err(|why| format!("{why}, so nothing was written; make room")),
        _ => Ok(()),
    }
}

/// The state of a file; one look at the disk that Neovim takes itself whenever it saves.
pub fn stamp_of(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|metadata| stamp(&metadata))
}

/// Whether there is a file; one look at the disk, as with [`stamp_of`].
pub fn is_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file())
}
