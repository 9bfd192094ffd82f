//! What can be done in the preview of a restore: putting back all of it, a file or a hunk, going to a line.

use std::path::PathBuf;
use std::sync::Arc;

use mlua::Result;

use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_page::About;
use crate::core::store::checkpoint::Planned;
use crate::core::store::restore::Restore;
use crate::nvim::arguments::fail;
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::checkpoints::preview::{Preview, page_of};
use crate::nvim::context::Context;
use crate::nvim::diff_view::page::{PageView, paint_later, text_width};
use crate::nvim::diff_view::page_window::{page_buf, rows_here, show_page, step_in_page};
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;

impl Checkpoints {
    /// Looks at what a restore would change.
    pub fn show_preview(&mut self, cx: &mut Context, restore: Restore) -> Result<()> {
        self.fetch_restore(cx, restore, |this, cx, restore, found| {
            let known = this.preview.as_ref().map(|preview| preview.buf);
            let buf = match known.filter(|buf| cx.editor.buf_is_valid(*buf)) {
                Some(buf) => buf,
                None => page_buf(&cx.editor, &cx.config.keys, "acp://restore")?,
            };
            cx.editor.set_buf_option(buf, "modifiable", false)?;
            let page = page_of(&restore, &found, &cx.config.keys, text_width(&cx.editor, buf));
            let before = this.preview.take().filter(|preview| preview.buf == buf);
            let mut view = before.map(|preview| preview.view).unwrap_or_default();
            let first = page.rows.iter().position(|about| *about != About::Nothing);
            view.put(page, &cx.editor, buf)?;
            this.preview = Some(Preview { buf, restore, view });
            paint_later(cx, this, Self::preview_view)?;
            let win = show_page(&cx.editor, buf)?;
            cx.editor.set_cursor(win, first.map_or(1, |row| row + 1), 0)
        })
    }

    /// Something was put back: what is left is another thing now.
    pub fn refresh_preview(&mut self, cx: &mut Context) -> Result<()> {
        let Some(preview) = &self.preview else { return Ok(()) };
        if cx.editor.wins_of(preview.buf).is_empty() {
            return Ok(());
        }
        let restore = preview.restore.clone();
        self.fetch_restore(cx, restore, |this, cx, restore, found| {
            let Some(preview) = &mut this.preview else { return Ok(()) };
            if !cx.editor.buf_is_loaded(preview.buf) {
                return Ok(());
            }
            let width = text_width(&cx.editor, preview.buf);
            let page = page_of(&restore, &found, &cx.config.keys, width);
            preview.view.put(page, &cx.editor, preview.buf)?;
            paint_later(cx, this, Self::preview_view)
        })
    }

    /// The user has edited a buffer, or saved it: what a restore would change may be other lines.
    pub fn buffer_changed(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let files = self.preview.as_ref().map_or(&[][..], |preview| &preview.restore.files);
        match files.iter().any(|file| cx.buffers.buf_named(&cx.editor, &file.path) == Some(buf)) {
            true => self.refresh_preview(cx),
            false => Ok(()),
        }
    }

    fn preview_view(&mut self) -> Option<(&mut PageView, Buf)> {
        self.preview.as_mut().map(|preview| (&mut preview.view, preview.buf))
    }

    pub fn is_preview(&self, buf: Buf) -> bool {
        self.preview.as_ref().is_some_and(|preview| preview.buf == buf)
    }

    fn is_on_preview(&self, cx: &Context) -> bool {
        cx.editor.current_buf().is_ok_and(|here| self.is_preview(here))
    }

    /// A key of the review's, pressed in the preview; says whether it was.
    pub fn preview_key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        if !self.is_on_preview(cx) {
            return None;
        }
        Some(match name {
            "review_undo" => self.restore_here(cx),
            "review_undo_all" => self.restore_previewed(cx, None),
            "review_go" => self.preview_about(cx).and_then(|about| match about {
                About::Hunk { path, row, .. } => chosen(cx, path, row),
                About::File(path) => chosen(cx, path, 0),
                About::Comment(_) | About::Nothing => Ok(()),
            }),
            "review_close" => cx.editor.close_page(),
            "review_help" => {
                cx.raise(EditorEvent::KeysAsked);
                Ok(())
            }
            "review_next" | "review_previous" => {
                let rows = self.preview.as_ref().map_or(&[][..], |preview| &preview.view.page.rows);
                step_in_page(&cx.editor, rows, name == "review_next")
            }
            _ => {
                let keys = &cx.config.keys;
                let keys = keys.line(&[
                    ("review_undo", "does it for what is at the cursor"),
                    ("review_undo_all", "does it for all"),
                ]);
                let keys = if keys.is_empty() { keys } else { format!(": {keys}") };
                fail(format!("this shows what would be put back{keys}"))
            }
        })
    }

    fn preview_about(&self, cx: &Context) -> Result<About> {
        let row = rows_here(&cx.editor)?.start;
        let about = self.preview.as_ref().and_then(|preview| preview.view.page.rows.get(row).cloned());
        Ok(about.unwrap_or(About::Nothing))
    }

    fn restore_here(&mut self, cx: &mut Context) -> Result<()> {
        match self.preview_about(cx)? {
            About::Comment(_) | About::Nothing => {
                let all = cx.config.keys.line(&[("review_undo_all", "puts back all")]);
                let all = if all.is_empty() { all } else { format!("; {all}") };
                fail(format!("the cursor is not on a change or a file{all}"))
            }
            About::File(path) => self.restore_previewed(cx, Some((path, None))),
            About::Hunk { path, hunk, .. } => {
                self.restore_previewed(cx, Some((path, Some(Arc::unwrap_or_clone(hunk)))))
            }
        }
    }

    fn restore_previewed(&mut self, cx: &mut Context, only: Option<(PathBuf, Option<Hunk>)>) -> Result<()> {
        let Some(preview) = &self.preview else { return Ok(()) };
        let mut restore = preview.restore.clone();
        if let Some((path, hunk)) = only {
            restore.files.retain(|file: &Planned| file.path == path);
            restore.hunk = hunk;
        }
        self.restore(cx, restore)
    }
}

/// The user wants to see a line of a file.
fn chosen(cx: &mut Context, path: PathBuf, row: usize) -> Result<()> {
    cx.raise(EditorEvent::LineChosen { path, row });
    Ok(())
}
