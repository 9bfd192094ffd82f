//! Buffers whose file was deleted or renamed under them: the text stays, a mark says so, and the user
//! chooses what becomes of it. Who noticed that the file is gone is left to `engine`.

use std::path::Path;
use std::time::Duration;

use mlua::{Result, Table, Value};

use crate::core::message::Severity;
use crate::core::text::cells;
use crate::core::text::fitting::cut_middle;
use crate::core::text::visible::visible_line;
use crate::nvim::buffers::Gone;
use crate::nvim::buffers::open;
use crate::nvim::buffers::saving::is_file;
use crate::nvim::context::Context;
use crate::nvim::diff_view::marks::{forget_above_first_line, show_above_first_line};
use crate::nvim::editor::{Buf, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;
use crate::nvim::files::job::Job;

/// The new name of a file has this many cells at most in the line that tells of it.
const LONGEST_NAME: usize = 40;

/// What the user does about a file that is gone.
const SETTLE: &str = ":Acp settle";

#[derive(Clone, Copy)]
enum Choice {
    WriteBack,
    OpenNew,
    Drop,
    Leave,
}

impl Files {
    /// The buffer keeps its text, which is now the only one.
    pub fn file_gone(&mut self, cx: &mut Context, job: &Job, was_there: bool) -> Result<()> {
        if is_file(&job.path) {
            // The user has written it since.
            return self.take_what_was_found(cx, job.path.clone());
        }
        let Some(held) = cx.buffers.held(&job.path) else { return Ok(()) };
        let gone = held.moved.take().map_or(Gone::Deleted, Gone::Renamed);
        // That it has another name now may be found out later.
        let is_known = held.gone.as_ref().is_some_and(|known| *known == gone || gone == Gone::Deleted);
        // There is no text to keep: of a file that was never there, or that the user has had undone.
        let is_empty = cx.editor.line_count(job.buf)? == 1 && cx.editor.line_len(job.buf, 0)? == 0;
        if is_known || is_empty && !was_there {
            return Ok(());
        }
        if is_empty {
            return self.acknowledge(cx, job.buf, &job.path, None);
        }
        if let Some(held) = cx.buffers.held(&job.path) {
            held.gone = Some(gone.clone());
        }
        cx.editor.helper::<()>("has_only_text", job.buf)?;
        let name = cx.short_name(job.session(), &job.path);
        let text = match &gone {
            Gone::Deleted => {
                format!("{name} is gone from the disk; its buffer keeps the text: :Acp settle in it chooses")
            }
            Gone::Renamed(to) => {
                let to = cx.short_name(job.session(), to);
                format!("{name} is {to} now; its buffer keeps the text: :Acp settle in it chooses")
            }
        };
        mark_gone(cx, job.buf, &gone)?;
        cx.note(job.session(), Severity::Warning, text);
        self.acknowledge(cx, job.buf, &job.path, None)
    }

    /// Windows show other buffers, or have other sizes: a mark above a first line is to be seen in all of them.
    pub fn windows_changed(&mut self, cx: &mut Context) -> Result<()> {
        if self.marks_scheduled || !cx.buffers.all().any(|(_, held)| held.gone.is_some()) {
            return Ok(());
        }
        self.marks_scheduled = true;
        // A window that has just got its buffer is yet to settle what it shows of it.
        cx.later(Duration::ZERO, |files: &mut Self, cx| {
            files.marks_scheduled = false;
            let gone: Vec<(Buf, Gone)> =
                cx.buffers.all().filter_map(|(_, held)| Some((held.buf, held.gone.clone()?))).collect();
            let is_shown = |buf: &Buf| cx.editor.buf_is_loaded(*buf) && !cx.editor.wins_of(*buf).is_empty();
            gone.iter().filter(|(buf, _)| is_shown(buf)).try_for_each(|(buf, gone)| mark_gone(cx, *buf, gone))
        })
    }

    /// The file is there again.
    pub fn clear_gone(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(()) };
        let was_gone = cx.buffers.held(&path).is_some_and(|held| {
            held.moved = None;
            held.gone.take().is_some()
        });
        if was_gone {
            // What is said of it elsewhere is about this buffer again.
            cx.raise(EditorEvent::FileLoaded { buf, path });
        }
        cx.editor.clear_namespace(buf, cx.editor.namespace("acp.gone")?, 0, -1)?;
        if was_gone {
            forget_above_first_line(&cx.editor, buf);
        }
        Ok(())
    }

    /// Asks what becomes of the buffer of a file that is gone. Says whether it is one.
    pub fn offer_gone(&mut self, cx: &mut Context, buf: Buf) -> bool {
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return false };
        let Some(gone) = cx.buffers.held(&path).and_then(|held| held.gone.clone()) else {
            return false;
        };
        let name = cx.short_name(None, &path);
        let mut choices = vec![(format!("Write {name} back"), Choice::WriteBack)];
        let prompt = match &gone {
            Gone::Deleted => format!("{name} was deleted on the disk"),
            Gone::Renamed(to) => {
                let to = cx.short_name(None, to);
                choices.insert(0, (format!("Open {to} in its place"), Choice::OpenNew));
                format!("{name} is {to} now")
            }
        };
        choices.push(("Drop the buffer and its text".to_owned(), Choice::Drop));
        choices.push(("Leave it".to_owned(), Choice::Leave));
        let items = choices.iter().map(|(item, _)| item.clone()).collect();
        cx.offer(&prompt, "acp_gone", items, move |files: &mut Self, cx, index| {
            if !cx.editor.buf_is_valid(buf) {
                return Ok(());
            }
            match (choices[index].1, gone) {
                (Choice::WriteBack, _) => cx.run_effect("couldn't write the file again", move |editor| {
                    editor.helper::<()>("write_back", buf)
                }),
                (Choice::Drop, _) => cx.run_effect("couldn't drop the buffer", move |editor| {
                    editor.helper::<()>("drop_buffer", buf)
                }),
                (Choice::OpenNew, Gone::Renamed(to)) => return files.open_renamed(cx, buf, &to),
                (Choice::OpenNew | Choice::Leave, _) => {}
            }
            Ok(())
        });
        true
    }

    /// The windows go on with the new file, each at its place; the old buffer keeps what was typed.
    fn open_renamed(&mut self, cx: &mut Context, buf: Buf, to: &Path) -> Result<()> {
        let new = open::load(&cx.editor, to)?;
        let wins: Vec<Win> = cx.editor.wins_of(buf);
        for win in wins {
            let (line, column) = cx.editor.cursor(win)?;
            cx.editor.set_win_buf(win, new)?;
            let line = line.min(cx.editor.line_count(new)?);
            let column = column.min(cx.editor.line_len(new, line - 1)?);
            cx.editor.set_cursor(win, line, column)?;
        }
        open::list(&cx.editor, new)
    }
}

/// Lines above the first one: beside it, a long line would hide them. They fit into all windows that show the buffer.
fn mark_gone(cx: &Context, buf: Buf, gone: &Gone) -> Result<()> {
    let editor = &cx.editor;
    let what = match gone {
        Gone::Deleted => "deleted on the disk".to_owned(),
        Gone::Renamed(to) => format!("renamed to {}", cut_middle(&cx.short_name(None, to), LONGEST_NAME)),
    };
    let widths = editor.wins_of(buf).into_iter().filter_map(|win| editor.win_size(win).ok());
    let width = widths.map(|(columns, _)| usize::from(columns)).min().unwrap_or(usize::MAX);
    let rows = rows_of_note(&visible_line(&what), width);
    let lines: Vec<Table> = rows
        .iter()
        .map(|row| {
            let chunk = editor.lua.create_sequence_from([row.as_str(), "AcpError"])?;
            editor.lua.create_sequence_from([chunk])
        })
        .collect::<Result<_>>()?;
    let ns = editor.namespace("acp.gone")?;
    editor.clear_namespace(buf, ns, 0, -1)?;
    let options = editor.table([
        ("virt_lines", Value::Table(editor.lua.create_sequence_from(lines)?)),
        ("virt_lines_above", Value::Boolean(true)),
        ("virt_lines_leftcol", Value::Boolean(true)),
    ])?;
    editor.set_extmark(buf, ns, (0, 0), options)?;
    show_above_first_line(editor, buf);
    Ok(())
}

/// What became of the file, and what to do about it; each by itself where a row has not so many cells.
fn rows_of_note(what: &str, width: usize) -> Vec<String> {
    let whole = format!("{what} \u{b7} {SETTLE}");
    match cells(&whole) <= width {
        true => vec![whole],
        false => [in_rows(what, width), in_rows(SETTLE, width)].concat(),
    }
}

/// A text in rows of so many cells at most.
fn in_rows(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for char in text.chars() {
        let mut buffer = [0; 4];
        let char = char.encode_utf8(&mut buffer);
        match rows.last_mut() {
            Some(row) if cells(row) + cells(char) <= width.max(2) => row.push_str(char),
            _ => rows.push(char.to_owned()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_the_rows_that_it_needs() {
        assert_eq!(rows_of_note("deleted", 80), ["deleted · :Acp settle"]);
        assert_eq!(rows_of_note("deleted", 12), ["deleted", ":Acp settle"]);
        assert_eq!(rows_of_note("deleted", 6), ["delete", "d", ":Acp s", "ettle"]);
        assert_eq!(in_rows("漢字a", 3), ["漢", "字a"]);
    }
}
