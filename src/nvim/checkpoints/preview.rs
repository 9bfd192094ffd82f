//! What a restore would change, in a buffer like the review's, before anything is changed: all of it, a file
//! or a hunk is put back by key. Putting back is `checkpoints`' part.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::config::Keys;
use crate::core::changes::diff::{Hunk, counts};
use crate::core::store::checkpoint::{Fetched, Held, Kind, Planned};
use crate::nvim::arguments::fail;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::checkpoints::{Checkpoints, Restore};
use crate::nvim::context::Context;
use crate::nvim::diff_view::page::{About, Page, nothing_left, plural, visible};
use crate::nvim::diff_view::page_window::{page_buf, show_page, step_in_page};
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;

/// The buffer of a restore that is looked at.
pub struct Preview {
    pub buf: Buf,
    restore: Restore,
    page: Page,
}

impl Checkpoints {
    /// Looks at what a restore would change.
    pub fn show_preview(&mut self, cx: &mut Context, restore: Restore) -> Result<()> {
        self.fetch_restore(cx, restore, |this, cx, restore, fetched| {
            let page = page_of(&restore, &fetched, &cx.config.keys);
            let known = this.preview.as_ref().map(|preview| preview.buf);
            let buf = match known.filter(|buf| cx.editor.buf_is_valid(*buf)) {
                Some(buf) => buf,
                None => page_buf(&cx.editor, &cx.config.keys, "acp://restore")?,
            };
            cx.editor.set_buf_option(buf, "modifiable", false)?;
            let before = this.preview.take().map(|preview| preview.page.lines).unwrap_or_default();
            page.put(&cx.editor, buf, &before)?;
            let first = page.rows.iter().position(|about| *about != About::Nothing);
            this.preview = Some(Preview { buf, restore, page });
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
        self.fetch_restore(cx, restore, |this, cx, restore, fetched| {
            let page = page_of(&restore, &fetched, &cx.config.keys);
            let Some(preview) = &mut this.preview else { return Ok(()) };
            if !cx.editor.buf_is_loaded(preview.buf) {
                return Ok(());
            }
            page.put(&cx.editor, preview.buf, &preview.page.lines)?;
            preview.page = page;
            Ok(())
        })
    }

    fn is_on_preview(&self, cx: &Context) -> bool {
        let here = cx.editor.current_buf().ok();
        self.preview.as_ref().is_some_and(|preview| Some(preview.buf) == here)
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
                About::Nothing => Ok(()),
            }),
            "review_close" => cx.editor.command("close"),
            "review_help" => {
                cx.raise(EditorEvent::KeysAsked);
                Ok(())
            }
            "review_next" | "review_previous" => {
                let rows = self.preview.as_ref().map(|preview| preview.page.rows.clone()).unwrap_or_default();
                step_in_page(&cx.editor, &rows, name == "review_next")
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
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        let about = self.preview.as_ref().and_then(|preview| preview.page.rows.get(row).cloned());
        Ok(about.unwrap_or(About::Nothing))
    }

    fn restore_here(&mut self, cx: &mut Context) -> Result<()> {
        match self.preview_about(cx)? {
            About::Nothing => {
                let all = cx.config.keys.line(&[("review_undo_all", "puts back all")]);
                let all = if all.is_empty() { all } else { format!("; {all}") };
                fail(format!("the cursor is not on a change or a file{all}"))
            }
            About::File(path) => self.restore_previewed(cx, Some((path, None))),
            About::Hunk { path, hunk, .. } => self.restore_previewed(cx, Some((path, Some(hunk)))),
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

fn page_of(restore: &Restore, fetched: &[Fetched], keys: &Keys) -> Page {
    let root = canonical(&restore.head.cwd);
    let name = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let differs = |file: &&Fetched| !file.hunks.is_empty() || becomes(file).is_some();
    let files: Vec<&Fetched> = fetched.iter().filter(differs).collect();
    let hunks: usize = files.iter().map(|file| file.hunks.len()).sum();
    let mut page = Page::default();
    let what = match restore.head.kind {
        Kind::Turn => format!("Back to before \"{}\"", restore.head.prompt),
        Kind::Restore => format!("Undo \"{}\"", restore.head.prompt),
    };
    let title = match files.len() {
        0 => what,
        count => {
            format!("{what}: {count} {} · {hunks} {}", plural(count, "file"), plural(hunks, "hunk"))
        }
    };
    page.add(title, About::Nothing, "0", "AcpWinbar");
    let hint = match files.len() {
        0 => nothing_left("Nothing has changed since then", keys),
        _ => keys.line(&[
            ("review_undo", "put back this hunk or file"),
            ("review_undo_all", "put back all"),
            ("review_go", "go"),
            ("review_close", "close"),
            ("review_help", "keys"),
        ]),
    };
    page.add(hint, About::Nothing, "0", "AcpMeta");
    page.add(String::new(), About::Nothing, "0", "");
    for file in files {
        let there = |held: Option<&Held>| held != Some(&Held::Absent);
        let sides = (there(Some(&file.disk)), there(file.target.as_ref().ok()));
        let shown: Vec<Hunk> = file.hunks.iter().map(|hunk| visible(hunk, sides)).collect();
        let (added, removed) = counts(&shown);
        let count = file.hunks.len();
        let counts = match count {
            0 => String::new(),
            _ => format!("{count} {} · +{added} -{removed}", plural(count, "hunk")),
        };
        let more = becomes(file).unwrap_or_default();
        let gap = if counts.is_empty() || more.is_empty() { "" } else { " · " };
        let about = About::File(file.path.clone());
        page.add(format!("{}  {counts}{gap}{more}", name(&file.path)), about, ">1", "AcpTool");
        for hunk in &file.hunks {
            page.hunk(&file.path, hunk, format!("  @@ {}", hunk.row + 1), sides);
        }
    }
    page
}

/// What becomes of a file beside its lines; what is the same is not told.
fn becomes(file: &Fetched) -> Option<String> {
    match (&file.target, &file.disk) {
        (Err(why), _) => Some(format!("can't be put back: {why}")),
        (Ok(Held::Absent), Held::Absent) => None,
        (Ok(Held::Absent), _) => Some("was not there: is removed".to_owned()),
        (Ok(Held::Text(_)), Held::Absent) => Some("comes back".to_owned()),
        (Ok(Held::Text(_) | Held::Unknown), _) => None,
    }
}
