//! Buffers as every feature may know them: which files they hold, what is known of those, and their
//! texts, read in slices. What is done to files is left to `files`.

pub mod applying;
pub mod open;
pub mod path_cache;
pub mod reading;
pub mod saving;
pub mod texts;

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::maps::FastMap;
use crate::core::message::Stamp;
use crate::core::store::checkpoint::{self, Mode};
use crate::core::text::Text;
use crate::core::text::encoding;
use crate::core::text::file_format::as_file;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::texts::Texts;
use crate::nvim::editor::{Buf, Editor};

/// The files that loaded buffers hold, by their paths: absolute, links resolved.
#[derive(Default)]
pub struct Buffers {
    loaded: FastMap<PathBuf, Held>,
    pub texts: Texts,
}

/// A file that a buffer holds.
pub struct Held {
    pub buf: Buf,
    /// The state of the file whose text a clean buffer is known to hold.
    pub stamp: Option<Stamp>,
    /// The file's text that the unsaved edits began with.
    pub saved: Option<Text>,
    /// The disk's text beside which the user has left theirs as it is.
    pub left: Option<Text>,
    /// Where the file went, when it was renamed.
    pub moved: Option<PathBuf>,
    /// The file is gone, and the buffer has the only text of it.
    pub gone: Option<Gone>,
}

/// What became of a file that is not where its buffer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    Deleted,
    Renamed(PathBuf),
}

impl Buffers {
    /// What a buffer's file is called everywhere here: absolute, links resolved; `None` for buffers
    /// that are no files.
    pub fn path_of(editor: &Editor, buf: Buf) -> Option<PathBuf> {
        Self::name_as_written(editor, buf).map(|name| canonical(&name))
    }

    /// The same with its links.
    pub fn name_as_written(editor: &Editor, buf: Buf) -> Option<PathBuf> {
        let kind: String = editor.buf_option(buf, "buftype").ok()?;
        let name = editor.buf_path(buf);
        // What is no path belongs to another plugin, which knows what it means.
        let is_file = name.is_absolute() && !name.to_string_lossy().contains("://");
        (is_file && (kind.is_empty() || kind == "acwrite")).then_some(name)
    }

    /// A buffer was read or named.
    pub fn loaded(&mut self, editor: &Editor, buf: Buf) -> Option<PathBuf> {
        let path = Self::path_of(editor, buf)?;
        self.loaded.retain(|known, held| held.buf != buf || *known == path);
        let held = Held { buf, stamp: None, saved: None, left: None, moved: None, gone: None };
        self.loaded.insert(path.clone(), held);
        Some(path)
    }

    /// A buffer is being unloaded.
    pub fn unloaded(&mut self, buf: Buf) -> Option<PathBuf> {
        let path = self.name_of(buf)?.to_owned();
        self.loaded.remove(&path);
        Some(path)
    }

    /// The file that a loaded buffer holds.
    pub fn name_of(&self, buf: Buf) -> Option<&Path> {
        self.loaded.iter().find(|(_, held)| held.buf == buf).map(|(path, _)| path.as_path())
    }

    pub fn all(&self) -> impl Iterator<Item = (&Path, &Held)> {
        self.loaded.iter().map(|(path, held)| (path.as_path(), held))
    }

    pub fn held(&mut self, path: &Path) -> Option<&mut Held> {
        self.loaded.get_mut(path)
    }

    /// The buffer of this very path: not of the file that it leads to if it is a link.
    pub fn buf_named(&self, editor: &Editor, path: &Path) -> Option<Buf> {
        self.loaded.get(path).map(|held| held.buf).filter(|buf| editor.buf_is_loaded(*buf))
    }

    pub fn buf_of(&self, editor: &Editor, path: &Path) -> Option<Buf> {
        let held = self.loaded.get(path).or_else(|| self.loaded.get(&canonical(path)))?;
        editor.buf_is_loaded(held.buf).then_some(held.buf)
    }

    /// The file of a buffer is called something else from now on.
    pub fn rename(&mut self, old: &Path, path: &Path) -> bool {
        let Some(held) = self.loaded.remove(old) else { return false };
        self.loaded.insert(path.to_owned(), held);
        true
    }

    /// The state of the file that its buffer knows.
    pub fn stamp_of(&self, path: &Path) -> Option<Stamp> {
        self.loaded.get(path).and_then(|held| held.stamp)
    }
}

/// Whether the buffer holds unsaved edits.
pub fn is_modified(editor: &Editor, buf: Buf) -> bool {
    editor.buf_option(buf, "modified").unwrap_or(false)
}

/// What a buffer's file would hold if it were saved now; `Absent` where neither holds anything.
pub fn held(editor: &Editor, buf: Buf, is_there: bool) -> checkpoint::Held {
    let whole = || -> Result<Option<String>> {
        let Some(mut text) = editor.text(buf)? else { return Ok(None) };
        let is_empty = text.is_empty() && editor.line_count(buf)? == 1;
        if editor.buf_option::<bool>(buf, "endofline")? && !is_empty {
            text.push('\n');
        }
        Ok(Some(text))
    };
    match whole() {
        Ok(Some(text)) if text.is_empty() && !is_there => checkpoint::Held::Absent,
        Ok(Some(text)) => as_held(editor, buf, &text.into()),
        Ok(None) | Err(_) => checkpoint::Held::Unknown,
    }
}

/// A text with `\n` for line ends as the buffer's file would hold it.
pub fn as_held(editor: &Editor, buf: Buf, text: &Text) -> checkpoint::Held {
    let read = || -> Result<checkpoint::Held> {
        let encoding: String = editor.buf_option(buf, "fileencoding")?;
        let format: String = editor.buf_option(buf, "fileformat")?;
        let (text, bomb) = (as_file(text, &format), editor.buf_option::<bool>(buf, "bomb")?);
        if matches!(encoding.as_str(), "" | "utf-8") {
            let text = if bomb { Text::from("\u{feff}".to_owned() + &text) } else { text };
            return Ok(checkpoint::Held::text(text));
        }
        let bytes = encoding::encode(&text, bomb, &encoding);
        Ok(bytes
            .map_or(checkpoint::Held::Unknown, |bytes| checkpoint::Held::of_bytes(bytes, Mode::default())))
    };
    read().unwrap_or(checkpoint::Held::Unknown)
}
