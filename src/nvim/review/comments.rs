//! The user's comments on lines of files: their marks in buffers, which move along with the lines, the list of them,
//! sending and sharing. Writing one is left to `comment_window`.

use std::ops::Range;
use std::path::Path;

use mlua::{Result, Table, Value};

use crate::core::changes::anchor::Anchor;
use crate::core::changes::comments::{Comment, as_markdown, as_prompt};
use crate::core::changes::diff::Hunk;
use crate::core::ids::SessionKey;
use crate::core::session::{Phase, Session};
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::context::Context;
use crate::nvim::diff_view::marks::push;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;

pub const NO_COMMENT: &str = "there is no comment yet; :Acp comment adds one here";

/// What the quickfix list of comments is called.
const LIST: &str = "acp: comments";

/// More characters of a comment are not shown beside its line.
const LONGEST: usize = 60;

impl Reviews {
    /// Has the comments say where their lines are now, in files that buffers hold.
    pub fn follow_comments(&mut self, cx: &Context) {
        let marked: Vec<(Buf, Vec<u64>)> =
            self.comment_marks.0.iter().map(|(buf, all)| (*buf, all.clone())).collect();
        for (buf, all) in marked.into_iter().filter(|(buf, _)| cx.editor.buf_is_loaded(*buf)) {
            for (number, at) in (1..).zip(all) {
                let followed = self.follow_comment(cx, (buf, number), at);
                cx.editor.notify_error(followed);
            }
        }
    }

    fn follow_comment(&mut self, cx: &Context, (buf, number): (Buf, i64), at: u64) -> Result<()> {
        let Some(comment) = self.comments.iter_mut().find(|comment| comment.at == at) else { return Ok(()) };
        let options = cx.editor.table([("details", Value::Boolean(true))])?;
        let ns = cx.editor.namespace("acp.comments")?;
        let found: Table = cx.editor.api("nvim_buf_get_extmark_by_id", (buf, ns, number, options))?;
        let (Ok(row), Ok(details)) = (found.raw_get::<usize>(1), found.raw_get::<Table>(3)) else {
            return Ok(());
        };
        let rows = row..row + comment.rows().len();
        let end: usize = details.get("end_row").unwrap_or(rows.end);
        if comment.is_about_change {
            comment.anchor.hunk.row = row;
            return Ok(());
        }
        comment.anchor = anchor(cx, buf, row..end.max(row + 1))?;
        Ok(())
    }

    /// A buffer holds a file from now on: its comments stand where their lines are.
    pub fn comments_loaded(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        if !self.comments.iter().any(|comment| comment.path == path) {
            return Ok(());
        }
        let path = path.to_owned();
        cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| {
            let Some(Snapshot { text, .. }) = snapshot else { return Ok(()) };
            let text = text.body();
            let lines: Vec<&str> = text.split('\n').collect();
            for comment in this.comments.iter_mut().filter(|comment| comment.path == path) {
                comment.move_to(&lines);
            }
            this.mark_comments(cx, buf, &path)
        })
    }

    /// Draws the comments of a file in its buffer anew.
    fn mark_comments(&mut self, cx: &Context, buf: Buf, path: &Path) -> Result<()> {
        let editor = &cx.editor;
        let ns = editor.namespace("acp.comments")?;
        editor.clear_namespace(buf, ns, 0, -1)?;
        let (marks, mut all) = (editor.lua.create_table()?, Vec::new());
        let count = editor.line_count(buf)?;
        for (number, comment) in (1..).zip(self.comments.iter().filter(|comment| comment.path == path)) {
            let rows = comment.rows();
            let row = rows.start.min(count - 1);
            let text: String = visible_line(&comment.headline()).chars().take(LONGEST).collect();
            let chunk = editor.lua.create_sequence_from([
                editor.string(format!("\u{270e} {text}"))?,
                editor.string("AcpUser")?,
            ])?;
            push(
                &marks,
                row,
                0,
                editor.table([
                    ("id", Value::Integer(number)),
                    ("end_row", Value::Integer(rows.end.clamp(row, count) as i64)),
                    ("end_col", Value::Integer(0)),
                    ("right_gravity", Value::Boolean(false)),
                    ("virt_text", Value::Table(editor.lua.create_sequence_from([chunk])?)),
                    ("strict", Value::Boolean(false)),
                ])?,
            )?;
            all.push(comment.at);
        }
        editor.paint(buf, ns, marks)?;
        match all.is_empty() {
            true => drop(self.comment_marks.0.remove(&buf)),
            false => drop(self.comment_marks.0.insert(buf, all)),
        }
        Ok(())
    }

    /// A buffer is gone.
    pub fn unmark_comments(&mut self, buf: Buf) {
        self.comment_marks.0.remove(&buf);
    }

    /// There are others now.
    pub fn comments_changed(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        self.outdate_comments();
        if let Some(buf) = cx.buf_of(path).filter(|buf| cx.editor.buf_is_loaded(*buf)) {
            self.mark_comments(cx, buf, path)?;
        }
        self.list_comments_again(cx)?;
        self.draw_panel(cx)
    }

    /// What other Neovims have left.
    pub fn adopt_comments(&mut self, cx: &mut Context, project: &Path, comments: Vec<Comment>) -> Result<()> {
        for comment in comments {
            let path = comment.path.clone();
            self.keep_in_project(&path, project);
            if self.comments.iter().all(|known| known.at != comment.at) {
                self.comments.push(comment);
            }
            if let Some(buf) = cx.buf_of(&path) {
                self.comments_loaded(cx, buf, &path)?;
            }
            self.outdate_comments();
        }
        self.draw_panel_once(cx);
        Ok(())
    }

    /// The comment on one of these rows of a file; of several the nearest to the first row.
    pub fn comment_at(&mut self, cx: &Context, path: &Path, rows: &Range<usize>) -> Option<&Comment> {
        self.follow_comments(cx);
        let here = self.comments.iter().filter(|comment| comment.path == path && comment.is_at(rows));
        here.min_by_key(|comment| comment.rows().start.abs_diff(rows.start))
    }

    pub fn delete_comment(&mut self, cx: &mut Context, at: u64) -> Result<()> {
        let Some(place) = self.comments.iter().position(|comment| comment.at == at) else { return Ok(()) };
        self.follow_comments(cx);
        let comment = self.comments.remove(place);
        self.comments_changed(cx, &comment.path)
    }

    /// `:Acp comments`.
    pub fn comments_command(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        self.follow_comments(cx);
        let word = args.first().unwrap_or("list").to_owned();
        if !["list", "send", "share", "clear"].contains(&word.as_str()) {
            return fail(format!("comments takes list, send, share or clear, not {word:?}"));
        }
        if !self.comments.is_empty() {
            return self.comments_verb(cx, &word);
        }
        self.when_left_is_known(cx, move |this: &mut Self, cx| this.comments_verb(cx, &word))
    }

    fn comments_verb(&mut self, cx: &mut Context, word: &str) -> Result<()> {
        if self.comments.is_empty() {
            return fail(NO_COMMENT);
        }
        match word {
            "send" => self.send_comments(cx),
            "share" => self.share_comments(cx),
            "clear" => self.offer_to_clear(cx),
            _ => self.list_comments(cx),
        }
    }

    fn list_comments(&self, cx: &Context) -> Result<()> {
        self.put_in_list(cx, " ")?;
        cx.editor.command("botright copen")
    }

    /// Has the quickfix list tell of the comments that there are now, if it is about comments.
    fn list_comments_again(&self, cx: &Context) -> Result<()> {
        let asked = cx.editor.table([("title", Value::Integer(1))])?;
        let list: Table = cx.editor.func("getqflist", asked)?;
        if list.get::<mlua::LuaString>("title")?.as_bytes() == LIST.as_bytes() {
            self.put_in_list(cx, "r")
        } else {
            Ok(())
        }
    }

    fn put_in_list(&self, cx: &Context, action: &str) -> Result<()> {
        let items = cx.editor.lua.create_table()?;
        for comment in &self.comments {
            let rows = comment.rows();
            items.raw_push(cx.editor.table([
                ("filename", cx.editor.string(comment.path.as_os_str().as_encoded_bytes())?),
                ("module", cx.editor.name_in_list(&comment.path)?),
                ("lnum", Value::Integer(rows.start as i64 + 1)),
                ("end_lnum", Value::Integer(rows.end.max(rows.start + 1) as i64)),
                ("text", cx.editor.string(visible_line(&comment.headline()))?),
            ])?)?;
        }
        let what = cx.editor.table([("title", cx.editor.string(LIST)?), ("items", Value::Table(items))])?;
        let none = cx.editor.lua.create_table()?;
        cx.editor.func::<i64>("setqflist", (none, action, what)).map(drop)
    }

    /// Sends the comments as a prompt, to the agent whose changes they are about.
    pub fn send_comments(&mut self, cx: &mut Context) -> Result<()> {
        self.follow_comments(cx);
        let done: Vec<Comment> = self.comments.iter().filter(|comment| !comment.is_draft).cloned().collect();
        let Some(first) = done.first() else {
            return match self.comments.is_empty() {
                true => fail(NO_COMMENT),
                false => fail("all comments are drafts; finish them by :Acp comment there"),
            };
        };
        let is_alive =
            |key: &SessionKey| cx.sessions.get(key).is_some_and(|session| session.phase != Phase::Gone);
        let author = self.author_of(&first.path, &first.anchor.hunk).filter(is_alive);
        let Some(session) = author.or(cx.session_here()).filter(is_alive) else {
            return fail("no agent is there; :AcpChat begins a chat, the comments stay");
        };
        let root = cx.sessions.get(&session).map(|session| session.place.cwd.clone()).unwrap_or_default();
        let all: Vec<&Comment> = done.iter().collect();
        let (text, count) = (as_prompt(&all, &root), all.len());
        self.comments.retain(|comment| comment.is_draft);
        for comment in &done {
            self.comments_changed(cx, &comment.path)?;
        }
        cx.raise(EditorEvent::CommentsSent { session, text, count });
        Ok(())
    }

    /// The comments have gone out.
    pub fn comments_sent(&mut self, cx: &mut Context, session: SessionKey, count: usize) -> Result<()> {
        let name = cx.sessions.get(&session).map(Session::name).unwrap_or_default();
        let what = if count == 1 { "comment" } else { "comments" };
        let drafts = match self.comments.len() {
            0 => String::new(),
            1 => "; 1 draft stays".to_owned(),
            some => format!("; {some} drafts stay"),
        };
        cx.notify(format!("sent {count} {what} to {name}{drafts}"), Level::Info);
        self.draw_panel(cx)?;
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }

    /// The comments as Markdown in a buffer of their own.
    fn share_comments(&mut self, cx: &mut Context) -> Result<()> {
        let all: Vec<&Comment> = self.comments.iter().collect();
        let text = as_markdown(&all, &cx.root());
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        cx.editor.command("tabnew")?;
        let buf = cx.editor.current_buf()?;
        cx.editor.set_lines(buf, 0..1, &lines)?;
        // Nobody has written anything here that could be lost, so `:qa` need not ask.
        cx.editor.set_buf_option(buf, "modified", false)?;
        cx.editor.set_buf_option(buf, "filetype", "markdown")
    }

    fn offer_to_clear(&mut self, cx: &mut Context) -> Result<()> {
        let count = self.comments.len();
        let what = if count == 1 { "1 comment".to_owned() } else { format!("{count} comments") };
        let items = vec![format!("Delete {what}"), "Leave them".to_owned()];
        cx.offer("Delete all comments?", "acp_comments", items, |this: &mut Self, cx, index| {
            if index > 0 {
                return Ok(());
            }
            let gone = std::mem::take(&mut this.comments);
            gone.iter().try_for_each(|comment| this.comments_changed(cx, &comment.path))
        });
        Ok(())
    }

    fn author_of(&self, path: &Path, hunk: &Hunk) -> Option<SessionKey> {
        let file = self.files.get(path)?.file.as_deref()?;
        let all = file.hunks();
        let at = all.iter().position(|other| other.has_lines_of(hunk))?;
        self.origins.of_hunk(file, at).map(|origin| origin.session)
    }
}

/// Rows of a buffer as they are, with what is around them.
pub fn anchor(cx: &Context, buf: Buf, rows: Range<usize>) -> Result<Anchor> {
    let around = Anchor::rows_around(&rows);
    let lines = cx.editor.lines(buf, around.start as i64, around.end as i64)?;
    let added = lines[rows.start - around.start..].iter().take(rows.len()).cloned().collect();
    Ok(Anchor::near(Hunk { row: rows.start, removed: Vec::new(), added }, around.start, &lines))
}
