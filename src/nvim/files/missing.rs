//! Buffers whose file was deleted or renamed under them: the text stays, a mark says so, and the user
//! chooses what becomes of it. Who noticed that the file is gone is left to `engine`.

use std::path::Path;

use mlua::{Result, Value};

use crate::core::message::Severity;
use crate::core::text::visible::visible_line;
use crate::core::transcript::cut_middle;
use crate::nvim::buffers::Gone;
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::diff_view::marks::{forget_above_first_line, show_above_first_line};
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::files::Files;
use crate::nvim::files::job::Job;

/// The new name of a file has this many cells at most in the line that tells of it.
const LONGEST_NAME: usize = 40;

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
        let Some(held) = cx.buffers.held(&job.path) else { return Ok(()) };
        let gone = held.moved.take().map_or(Gone::Deleted, Gone::Renamed);
        // That it has another name now may be found out later.
        let is_known = held.gone.as_ref().is_some_and(|known| *known == gone || gone == Gone::Deleted);
        // A file that was never there is not missed.
        let is_new =
            !was_there && cx.editor.line_count(job.buf)? == 1 && cx.editor.line_len(job.buf, 0)? == 0;
        if is_new || is_known {
            return Ok(());
        }
        if let Some(held) = cx.buffers.held(&job.path) {
            held.gone = Some(gone.clone());
        }
        cx.editor.set_buf_option(job.buf, "modified", true)?;
        let name = cx.short_name(job.session(), &job.path);
        let (mark, text) = match &gone {
            Gone::Deleted => (
                "deleted on the disk \u{b7} :Acp settle".to_owned(),
                format!("{name} is gone from the disk; its buffer keeps the text: :Acp settle in it chooses"),
            ),
            Gone::Renamed(to) => {
                let to = cx.short_name(job.session(), to);
                (
                    format!("renamed to {} \u{b7} :Acp settle", cut_middle(&to, LONGEST_NAME)),
                    format!("{name} is {to} now; its buffer keeps the text: :Acp settle in it chooses"),
                )
            }
        };
        cx.editor.clear_namespace(job.buf, cx.editor.namespace("acp.gone")?, 0, -1)?;
        mark_gone(&cx.editor, job.buf, &mark)?;
        cx.note(job.session(), Severity::Warning, text);
        self.acknowledge(cx, job.buf, &job.path, None)
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

/// A line above the first one: beside it, a long line would hide it.
fn mark_gone(editor: &Editor, buf: Buf, text: &str) -> Result<()> {
    let ns = editor.namespace("acp.gone")?;
    let chunk = editor.lua.create_sequence_from([visible_line(text).as_str(), "AcpError"])?;
    let line = editor.lua.create_sequence_from([chunk])?;
    let options = editor.table([
        ("virt_lines", Value::Table(editor.lua.create_sequence_from([line])?)),
        ("virt_lines_above", Value::Boolean(true)),
    ])?;
    editor.set_extmark(buf, ns, 0, 0, options)?;
    show_above_first_line(editor, buf);
    Ok(())
}
