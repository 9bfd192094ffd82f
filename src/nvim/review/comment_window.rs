//! Writing a comment: a small window beside the lines, with a buffer of its own. `<CR>` or `:write` finishes it; however
//! else the window is left, what stands in it is a draft. What becomes of comments is left to `comments`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use mlua::{Function, Result, Value};

use crate::config::Pane;
use crate::core::beside::first_row;
use crate::core::changes::anchor::Anchor;
use crate::core::changes::comments::Comment;
use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_page::About;
use crate::core::changes::review_page::there;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Buf, Win};
use crate::nvim::keys::bind::bind_pane;
use crate::nvim::review::Reviews;
use crate::nvim::review::comment_marks::Writing;
use crate::nvim::review::comments::anchor;
use crate::nvim::review::splits::name_in_project;

const WIDTH: u16 = 72;
const HEIGHT: u16 = 6;
/// The rows of its border.
const BORDERS: usize = 2;

impl Reviews {
    /// `:Acp comment`: on the line at the cursor, on a range, or on the change at the cursor of the review.
    pub fn comment_command(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let buf = cx.editor.current_buf()?;
        if self.panel.as_ref().is_some_and(|panel| panel.buf == buf) {
            return if args.bang { self.panel_delete_comment(cx) } else { self.panel_comment(cx) };
        }
        let Some(path) = Buffers::path_of(&cx.editor, buf).map(|path| canonical(&path)) else {
            return fail("this buffer is not a file; comments are on lines of files");
        };
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        let rows = args.range.map_or(row..row + 1, |range| range.first.saturating_sub(1)..range.last);
        let known = self.comment_at(cx, &path, &rows).cloned();
        match (known, args.bang) {
            (Some(comment), true) => self.delete_comment(cx, comment.at),
            (None, true) => fail("there is no comment on this line; :Acp comments lists all"),
            // Another range is another comment.
            (Some(comment), false) if args.range.is_none() || comment.rows() == rows => {
                self.write_comment(cx, comment)
            }
            _ => {
                let anchor = anchor(cx, buf, rows.clone())?;
                let hunk = self.hunk_in(&path, &rows, args.range.is_none());
                self.begin_comment(cx, path, (anchor, hunk))
            }
        }
    }

    /// The change that a line is in: then the comment is about that.
    fn hunk_in(&self, path: &Path, rows: &Range<usize>, is_line: bool) -> Option<Hunk> {
        let file = self.files.get(path)?.file.as_deref()?;
        let at = file.hunks_at(rows.clone()).first().copied().filter(|_| is_line)?;
        file.hunks().get(at).cloned()
    }

    fn begin_comment(
        &mut self,
        cx: &mut Context,
        path: PathBuf,
        (lines, hunk): (Anchor, Option<Hunk>),
    ) -> Result<()> {
        let latest = self.comments.iter().map(|comment| comment.at).max().unwrap_or(0);
        let is_about_change = hunk.is_some();
        let file = self.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
        let there = file.filter(|_| is_about_change).map_or((true, true), there);
        let anchor = match hunk {
            Some(hunk) => self.anchor_of(&path, hunk),
            None => lines,
        };
        let comment = Comment {
            at: cx.now().0.max(latest + 1),
            path,
            anchor,
            is_about_change,
            there,
            text: String::new(),
            is_draft: true,
            is_lost: false,
        };
        self.write_comment(cx, comment)
    }

    fn anchor_of(&self, path: &Path, hunk: Hunk) -> Anchor {
        let file = self.files.get(path).and_then(|reviewed| reviewed.file.as_deref());
        match file {
            Some(file) => Anchor::new(hunk, file.lines()),
            None => Anchor::new::<&str>(hunk, &[]),
        }
    }

    /// In the review: on the change at the cursor, or the comment there.
    pub fn panel_comment(&mut self, cx: &mut Context) -> Result<()> {
        self.refuse_edited(cx)?;
        self.follow_comments(cx);
        match self.panel_about(cx)? {
            About::Comment(at) => match self.comments.iter().find(|comment| comment.at == at).cloned() {
                Some(comment) => self.write_comment(cx, comment),
                None => Ok(()),
            },
            About::Hunk { path, hunk, .. } => self.comment_on_hunk(cx, path, &hunk),
            About::File(path) => self.comment_on_file(cx, path),
            About::Nothing => fail("the cursor is on no change or comment; files have :Acp comment"),
        }
    }

    fn comment_on_hunk(&mut self, cx: &mut Context, path: PathBuf, hunk: &Hunk) -> Result<()> {
        let is_it = |comment: &&Comment| comment.is_about_change && comment.is_on(&path, hunk);
        match self.comments.iter().find(is_it).cloned() {
            Some(comment) => self.write_comment(cx, comment),
            None => {
                let none = Anchor::new::<&str>(hunk.clone(), &[]);
                self.begin_comment(cx, path, (none, Some(hunk.clone())))
            }
        }
    }

    /// What is said of a file stands at its first line; of one that is gone, at what was in it.
    fn comment_on_file(&mut self, cx: &mut Context, path: PathBuf) -> Result<()> {
        let known = self.comment_at(cx, &path, &(0..1)).cloned();
        if let Some(comment) = known {
            return self.write_comment(cx, comment);
        }
        let file = self.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
        match file {
            Some(file) if file.is_there => {
                let added = file.lines().iter().take(1).map(|line| line.as_ref().to_owned()).collect();
                let hunk = Hunk { row: 0, removed: Vec::new(), added };
                let anchor = Anchor::new(hunk, file.lines());
                self.begin_comment(cx, path, (anchor, None))
            }
            Some(file) if !file.hunks().is_empty() => {
                let hunk = file.hunks()[0].clone();
                self.comment_on_hunk(cx, path, &hunk)
            }
            _ => fail("its lines are not known here; use :Acp comment in the file"),
        }
    }

    pub fn panel_delete_comment(&mut self, cx: &mut Context) -> Result<()> {
        self.refuse_edited(cx)?;
        match self.panel_about(cx)? {
            About::Comment(at) => self.delete_comment(cx, at),
            _ => fail("the cursor is not on a comment"),
        }
    }

    fn write_comment(&mut self, cx: &mut Context, comment: Comment) -> Result<()> {
        self.leave_comment(cx)?;
        let editor = cx.editor.clone();
        let buf = editor.create_buf(false, true)?;
        // Neovim may still hold the buffer of a window that was just left.
        editor.set_free_name(buf, &format!("acp://comment/{}", comment.at))?;
        let lines: Vec<&str> = comment.text.split('\n').collect();
        editor.set_lines(buf, 0..1, &lines)?;
        for (option, value) in [("buftype", "acwrite"), ("bufhidden", "wipe"), ("filetype", "acp-comment")] {
            editor.set_buf_option(buf, option, value)?;
        }
        editor.set_buf_option(buf, "swapfile", false)?;
        // Where a line was just begun with it, Neovim takes blanks away at the cursor when insert mode ends, which is in
        // another window by then.
        editor.set_buf_option(buf, "autoindent", false)?;
        editor.set_buf_option(buf, "modified", false)?;
        bind_pane(&editor, &cx.config.keys, Pane::Comment, buf)?;
        let (columns, _) = editor.size();
        let name = name_in_project(cx, &comment.path);
        let title: String = format!(" Comment on {name}:{} ", comment.shown_rows());
        let keys =
            cx.config.keys.line(&[("comment_save_insert", "done"), ("comment_close", "keeps a draft")]);
        let (relative, row, col) = beside(cx, &comment)?;
        let config = editor.table([
            ("relative", editor.string(relative)?),
            ("row", Value::Integer(row)),
            ("col", Value::Integer(col)),
            ("width", Value::Integer(WIDTH.min(columns.saturating_sub(4)).into())),
            ("height", Value::Integer(HEIGHT.into())),
            ("border", editor.string("rounded")?),
            ("style", editor.string("minimal")?),
            ("title", editor.string(title)?),
            ("footer", editor.string(format!(" {keys} "))?),
        ])?;
        let last = (lines.len(), lines.last().map_or(0, |line| line.len()));
        let win = editor.open_win(buf, true, config)?;
        editor.set_win_option(win, "wrap", true)?;
        editor.set_win_option(win, "linebreak", true)?;
        self.writing = Some(Writing { buf, win, comment });
        editor.helper::<()>("edit_comment", (buf, self.comment_written(cx)?, self.comment_left(cx, buf)?))?;
        editor.set_cursor(win, last.0, last.1)?;
        // Behind what is there.
        editor.command("startinsert!")
    }

    fn comment_written(&self, cx: &Context) -> Result<Function> {
        cx.editor.lua.create_function(|_, ()| {
            context::run(|this: &mut Self, cx| this.finish_comment(cx));
            Ok(())
        })
    }

    fn comment_left(&self, cx: &Context, buf: Buf) -> Result<Function> {
        cx.editor.lua.create_function(move |_, ()| {
            context::run(move |this: &mut Self, cx| match &this.writing {
                Some(writing) if writing.buf == buf => this.leave_comment(cx),
                _ => Ok(()),
            });
            Ok(())
        })
    }

    /// A key of the window's; says whether it is one.
    pub fn comment_key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "comment_save" | "comment_save_insert" => self.finish_comment(cx),
            "comment_close" => self.leave_comment(cx),
            _ => return None,
        })
    }

    /// The comment is done; one without a text is deleted.
    fn finish_comment(&mut self, cx: &mut Context) -> Result<()> {
        let Some(Writing { buf, win, comment }) = self.writing.take() else { return Ok(()) };
        let text = typed(cx, buf)?;
        close(cx, win)?;
        if text.is_empty() {
            return self.delete_comment(cx, comment.at);
        }
        self.put_comment(cx, Comment { text, is_draft: false, ..comment })
    }

    /// The window goes: what is new in it is a draft.
    fn leave_comment(&mut self, cx: &mut Context) -> Result<()> {
        let Some(Writing { buf, win, comment }) = self.writing.take() else { return Ok(()) };
        if !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        let text = typed(cx, buf)?;
        close(cx, win)?;
        if text.is_empty() || text == comment.text {
            return Ok(());
        }
        self.put_comment(cx, Comment { text, is_draft: true, ..comment })
    }

    fn put_comment(&mut self, cx: &mut Context, comment: Comment) -> Result<()> {
        self.follow_comments(cx);
        let path = comment.path.clone();
        match self.comments.iter_mut().find(|known| known.at == comment.at) {
            // Its lines may have moved while it was written.
            Some(known) => (known.text, known.is_draft) = (comment.text, comment.is_draft),
            None => self.comments.push(comment),
        }
        self.comments_changed(cx, &path)
    }
}

/// Where the window goes: beside the lines if they are on the screen, else at the cursor.
fn beside(cx: &Context, comment: &Comment) -> Result<(&'static str, i64, i64)> {
    let at_cursor = ("cursor", 1, 0);
    let win = cx.editor.current_win()?;
    let path = Buffers::path_of(&cx.editor, cx.editor.win_buf(win)?).map(|path| canonical(&path));
    if path.as_ref() != Some(&comment.path) {
        return Ok(at_cursor);
    }
    let rows = comment.rows();
    type Found = (Option<usize>, Option<usize>, Option<i64>, Option<usize>);
    let lines = (win, rows.start + 1, rows.end.max(rows.start + 1));
    let (Some(first), Some(end), Some(column), Some(all)) =
        cx.editor.helper::<Found>("screen_rows", lines)?
    else {
        return Ok(at_cursor);
    };
    let row = first_row(&(first..end), usize::from(HEIGHT) + BORDERS, all);
    Ok(("editor", i64::try_from(row).unwrap_or(1), column))
}

fn typed(cx: &Context, buf: Buf) -> Result<String> {
    Ok(cx.editor.lines(buf, 0, -1)?.join("\n").trim().to_owned())
}

fn close(cx: &mut Context, win: Win) -> Result<()> {
    cx.editor.command("stopinsert")?;
    // It may be on its way out already.
    cx.run_effect("couldn't close the comment's window", move |editor| match editor.win_is_valid(win) {
        true => editor.close_win(win),
        false => Ok(()),
    });
    Ok(())
}
