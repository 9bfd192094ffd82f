//! The review of all that is left to decide as one buffer: files, their hunks, comments on them. This
//! file says what stands in it; how that looks is left to `page`, what its keys do to `actions`.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::config::Keys;
use crate::core::changes::diff::{Hunk, counts};
pub use crate::nvim::diff_view::page::{About, plural};
use crate::nvim::diff_view::page::{Page, nothing_left, visible};
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::review::Reviews;
use crate::nvim::review::actions::Scope;

pub struct Panel {
    pub buf: Buf,
    pub scope: Scope,
    /// Where relative paths begin.
    pub root: PathBuf,
    pub page: Page,
}

impl Panel {
    pub fn new(buf: Buf, scope: Scope, root: PathBuf) -> Self {
        Self { buf, scope, root, page: Page::default() }
    }

    /// Whether the user has edited it, and not written that yet.
    pub fn is_edited(&self, editor: &Editor) -> bool {
        editor.buf_option(self.buf, "modified").unwrap_or(false)
    }

    /// Draws the buffer anew where it has changed, unless the user is editing it.
    pub fn draw(&mut self, editor: &Editor, reviews: &Reviews, keys: &Keys) -> Result<()> {
        if !editor.buf_is_loaded(self.buf) || self.is_edited(editor) {
            return Ok(());
        }
        let page = self.page(reviews, keys);
        if page.lines == self.page.lines {
            self.page = page;
            return Ok(());
        }
        page.put(editor, self.buf, &self.page.lines)?;
        self.page = page;
        Ok(())
    }

    /// Draws all of it anew, whatever the user did to it.
    pub fn draw_anew(&mut self, editor: &Editor, reviews: &Reviews, keys: &Keys) -> Result<()> {
        self.page = Page::default();
        editor.set_buf_option(self.buf, "modified", false)?;
        self.draw(editor, reviews, keys)
    }

    fn page(&self, reviews: &Reviews, keys: &Keys) -> Page {
        let (mut files, mut hunks) = (0, 0);
        let meant = |path: &Path, file| reviews.meant(&self.scope, path, file);
        for (path, _, file) in reviews.open() {
            let meant = meant(path, file);
            files += usize::from(!meant.is_empty());
            hunks += meant.len();
        }
        let mut page = Page::default();
        let (kept, undone) = reviews.decided;
        let mut title =
            format!("Review: {files} {} · {hunks} {}", plural(files, "file"), plural(hunks, "hunk"));
        for (count, what) in [(kept, "kept"), (undone, "undone"), (reviews.comments.len(), "commented")] {
            if count > 0 {
                title.push_str(&format!(" · {count} {what}"));
            }
        }
        page.add(title, About::Nothing, "0", "AcpWinbar");
        let hint = match hunks {
            0 => nothing_left("Nothing is left to decide", keys),
            _ => keys.line(&[
                ("review_keep", "keep"),
                ("review_undo", "undo"),
                ("review_keep_all", "keep all"),
                ("review_undo_all", "undo all"),
                ("review_comment", "comment"),
                ("review_send", "send comments"),
                ("review_go", "go"),
                ("review_help", "keys"),
            ]),
        };
        page.add(hint, About::Nothing, "0", "AcpMeta");
        page.add(String::new(), About::Nothing, "0", "");
        for (path, _, file) in reviews.open() {
            let meant = meant(path, file);
            if meant.is_empty() {
                continue;
            }
            let all = file.hunks();
            let of_file: Vec<Hunk> = meant.iter().map(|at| all[*at].clone()).collect();
            let sides = (file.was_there, file.is_there);
            let visible: Vec<Hunk> = of_file.iter().map(|hunk| visible(hunk, sides)).collect();
            let (added, removed) = counts(&visible);
            let state = match sides {
                (false, true) => " · new file",
                (true, false) => " · deleted",
                _ => "",
            };
            let count = format!("{} {}", of_file.len(), plural(of_file.len(), "hunk"));
            let head = format!("{}  {count} · +{added} -{removed}{state}", self.name(path));
            page.add(head, About::File(path.to_owned()), ">1", "AcpTool");
            for (at, hunk) in meant.iter().zip(&of_file) {
                let origin = file.origins(*at).iter().next_back().and_then(|origin| reviews.of(*origin));
                let by =
                    origin.map(|origin| format!("  {}: {}", origin.agent, origin.title)).unwrap_or_default();
                let mixed = if file.is_mixed(*at) { "  (with your edits)" } else { "" };
                page.hunk(path, hunk, format!("  @@ {}{by}{mixed}", hunk.row + 1), sides);
                let comments =
                    reviews.comments.iter().filter(|comment| comment.path == path && comment.hunk == *hunk);
                for comment in comments {
                    let about = About::Hunk { path: path.to_owned(), hunk: hunk.clone(), row: hunk.row };
                    page.add(format!("  \u{270e} {}", comment.text), about, "2", "AcpUser");
                }
            }
        }
        page
    }

    pub fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}
