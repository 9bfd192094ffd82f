//! Images in the transcript, drawn in place where something can do that. The drawing is done by
//! `lua/acp/images.lua`, since what can draw is Lua; this file hands over which rows stand for which files.
//! It is a courtesy: when it fails, the line that leads to the image remains.

use std::ops::Range;

use mlua::{Function, Result, Table};

use crate::config::Images;
use crate::core::message::{Picture, PicturePlace};
use crate::nvim::editor::{Buf, Editor};

fn module(editor: &Editor) -> Result<Table> {
    let require: Function = editor.lua.globals().get("require")?;
    require.call("acp.images")
}

/// How the user wants them.
pub fn configure(editor: &Editor, images: Images) -> Result<()> {
    module(editor)?.set("enabled", images == Images::Auto)
}

/// These rows hold these images, by their rows from the first, and no others.
pub fn place(editor: &Editor, buf: Buf, rows: Range<usize>, pictures: &[(usize, Picture)]) {
    let place = || -> Result<()> {
        let list = editor.lua.create_table()?;
        for (row, picture) in pictures {
            let (PicturePlace::File(path), Some((width, height))) = (&picture.place, picture.size) else {
                continue;
            };
            let item = editor.lua.create_table()?;
            item.set("row", rows.start + row)?;
            item.set("path", editor.string(path.as_os_str().as_encoded_bytes())?)?;
            item.set("width", width)?;
            item.set("height", height)?;
            list.raw_push(item)?;
        }
        module(editor)?.get::<Function>("place")?.call((buf, rows.start, rows.end, list))
    };
    // The line that leads to it is what remains when drawing fails.
    let _ = place();
}
