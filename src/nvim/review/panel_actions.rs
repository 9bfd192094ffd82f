//! What can be done in the review's buffer, and with its list: opening it, deciding at the cursor,
//! commenting, sending the comments, going to the place.

use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::config::Keys;
use crate::core::changes::comments::{Comment, as_prompt};
use crate::core::changes::diff::{Hunk, counts};
use crate::core::changes::hunk_page::{About, Page, visible};
use crate::core::changes::review_page::{Hints, Shown, review_page};
use crate::core::changes::scope::Scope;
use crate::core::ids::SessionKey;
use crate::core::session::{Phase, Session};
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::diff_view::page::nothing_left;
use crate::nvim::diff_view::page_window::{page_buf, show_page, step_in_page};
use crate::nvim::editor::picker;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::actions::Verdict;
use crate::nvim::review::panel::Panel;

const EDITED: &str = "the review has edits that are not written: :write applies them, :edit! drops them";

const NOTHING: &str = "nothing is left to decide; agents' changes are all kept or undone";

impl Reviews {
    /// Opens the review of what is meant, or lists it.
    pub fn open_review(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let quickfix = args.bang || args.words.iter().any(|word| word == "quickfix");
        let word = args.words.iter().find(|word| *word != "quickfix").map_or("all", String::as_str);
        if !["turn", "session", "file", "all"].contains(&word) {
            return fail(format!("review takes turn, session, file, all or quickfix, not {word:?}"));
        }
        let scope = self.scope(cx, &Args { words: vec![word.to_owned()], ..Args::default() }, None)?;
        self.when_reports_are_known(cx, move |this: &mut Self, cx| {
            if !this.is_open(&scope) {
                return fail(NOTHING);
            }
            if quickfix { this.review_quickfix(cx, &scope) } else { this.open_panel(cx, scope) }
        })
    }

    fn review_quickfix(&mut self, cx: &mut Context, scope: &Scope) -> Result<()> {
        let items = cx.editor.lua.create_table()?;
        for (path, _, file) in self.open() {
            let all = file.hunks();
            for at in self.origins.hunks_in(scope, path, file) {
                let hunk = &all[at];
                let shown = visible(hunk, (file.was_there, file.is_there));
                let (added, removed) = counts(std::slice::from_ref(&shown));
                let origin = self.origins.of_hunk(file, at);
                let by =
                    origin.map(|origin| format!(" {}: {}", origin.agent, origin.title)).unwrap_or_default();
                let line = (hunk.row + 1).min(file.line_count());
                let last = (hunk.row + hunk.added.len()).max(line);
                items.raw_push(cx.editor.table([
                    ("filename", cx.editor.string(path.to_string_lossy().as_bytes())?),
                    ("module", cx.editor.name_in_list(path)?),
                    ("lnum", Value::Integer(line as i64)),
                    ("end_lnum", Value::Integer(last as i64)),
                    ("text", cx.editor.string(visible_line(&format!("+{added} -{removed}{by}")))?),
                ])?)?;
            }
        }
        let what = cx
            .editor
            .table([("title", cx.editor.string("acp: changes")?), ("items", Value::Table(items))])?;
        let none = cx.editor.lua.create_table()?;
        cx.editor.func::<i64>("setqflist", (none, " ", what))?;
        cx.editor.command("botright copen")
    }

    fn open_panel(&mut self, cx: &mut Context, scope: Scope) -> Result<()> {
        let editor = cx.editor.clone();
        let known = self.panel.as_ref().map(|panel| panel.buf);
        let known = known.filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => self.panel_buf(cx)?,
        };
        show_page(&editor, buf)?;
        if editor.buf_option::<bool>(buf, "modified")? {
            return fail(EDITED);
        }
        self.decided = (0, 0);
        self.panel = Some(Panel::new(buf, scope, editor.cwd()));
        self.draw_panel(cx)?;
        let first = self
            .panel
            .as_ref()
            .and_then(|panel| panel.page.rows.iter().position(|row| matches!(row, About::Hunk { .. })));
        let win = editor.current_win()?;
        editor.set_cursor(win, first.map_or(1, |row| row + 1), 0)
    }

    fn panel_buf(&mut self, cx: &mut Context) -> Result<Buf> {
        let buf = page_buf(&cx.editor, &cx.config.keys, "acp://review")?;
        // Its lines may be edited, and written into the files.
        cx.editor.set_buf_option(buf, "buftype", "acwrite")?;
        cx.editor.helper::<()>("edit_page", (buf, self.page_written(cx, buf)?, self.page_read(cx)?))?;
        Ok(buf)
    }

    /// What is to be shown in the panel now.
    pub fn page_of(&self, panel: &Panel, keys: &Keys) -> Page {
        let shown = Shown {
            scope: &panel.scope,
            origins: &self.origins,
            comments: &self.comments,
            decided: self.decided,
            root: &panel.root,
        };
        let files = self.listed();
        let some = keys.line(&[
            ("review_keep", "keep"),
            ("review_undo", "undo"),
            ("review_keep_all", "keep all"),
            ("review_undo_all", "undo all"),
            ("review_comment", "comment"),
            ("review_send", "send comments"),
            ("review_go", "go"),
            ("review_help", "keys"),
        ]);
        review_page(&shown, &files, Hints { some, none: nothing_left("Nothing is left to decide", keys) })
    }

    /// Has the review show what is left to decide now.
    pub fn draw_panel(&mut self, cx: &mut Context) -> Result<()> {
        let Some(mut panel) = self.panel.take() else { return Ok(()) };
        if !cx.editor.buf_is_valid(panel.buf) {
            return Ok(());
        }
        let drawn = panel.draw(&cx.editor, |panel| self.page_of(panel, &cx.config.keys));
        self.panel = Some(panel);
        drawn?;
        self.read_seen(cx)
    }

    /// A key of the review's; says whether it is one.
    pub fn panel_key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "review_keep" => self.panel_decide(cx, Verdict::Keep),
            "review_undo" => self.panel_decide(cx, Verdict::Undo),
            "review_keep_all" => self.panel_decide_all(cx, Verdict::Keep),
            "review_undo_all" => self.panel_decide_all(cx, Verdict::Undo),
            "review_go" => self.panel_go(cx),
            "review_comment" => self.panel_comment(cx),
            "review_send" => self.panel_send(cx),
            "review_close" => cx.editor.close_page(),
            "review_help" => {
                cx.raise(EditorEvent::KeysAsked);
                Ok(())
            }
            "review_next" => self.panel_step(cx, true),
            "review_previous" => self.panel_step(cx, false),
            _ => return None,
        })
    }

    fn panel_about(&self, cx: &Context) -> Result<About> {
        let Some(panel) = &self.panel else { return Ok(About::Nothing) };
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        Ok(panel.page.rows.get(row).cloned().unwrap_or(About::Nothing))
    }

    /// What a line is about cannot be told while lines are being edited.
    fn refuse_edited(&self, cx: &Context) -> Result<()> {
        match self.panel.as_ref().is_some_and(|panel| panel.is_edited(&cx.editor)) {
            true => fail(EDITED),
            false => Ok(()),
        }
    }

    fn panel_decide(&mut self, cx: &mut Context, verdict: Verdict) -> Result<()> {
        self.refuse_edited(cx)?;
        match self.panel_about(cx)? {
            About::Hunk { path, hunk, .. } => self.decide_scope(cx, verdict, Scope::Hunk(path, hunk)),
            About::File(path) => self.decide_scope(cx, verdict, Scope::File(path)),
            About::Nothing => fail("the cursor is not on a hunk or a file"),
        }
    }

    fn panel_decide_all(&mut self, cx: &mut Context, verdict: Verdict) -> Result<()> {
        self.refuse_edited(cx)?;
        match self.panel.as_ref().map(|panel| panel.scope.clone()) {
            Some(scope) => self.decide_scope(cx, verdict, scope),
            None => Ok(()),
        }
    }

    fn panel_go(&mut self, cx: &mut Context) -> Result<()> {
        match self.panel_about(cx)? {
            About::Hunk { path, row, .. } => self.go_to_row(cx, &path, row),
            About::File(path) => self.go_to_row(cx, &path, 0),
            About::Nothing => Ok(()),
        }
    }

    fn panel_step(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        let rows = self.panel.as_ref().map(|panel| panel.page.rows.clone()).unwrap_or_default();
        step_in_page(&cx.editor, &rows, forward)
    }

    fn panel_comment(&mut self, cx: &mut Context) -> Result<()> {
        self.refuse_edited(cx)?;
        let About::Hunk { path, hunk, .. } = self.panel_about(cx)? else {
            return fail("the cursor is not on a hunk; a comment is about one");
        };
        let is_here = move |comment: &Comment| comment.path == path && comment.hunk == hunk;
        let before =
            self.comments.iter().find(|comment| is_here(comment)).map(|comment| comment.text.clone());
        let About::Hunk { path, hunk, .. } = self.panel_about(cx)? else { return Ok(()) };
        cx.attempt("the comment could not be typed", move |editor| {
            picker::input(editor, "Comment", &before.unwrap_or_default(), move |text| {
                if let Some(text) = text {
                    context::run(move |this: &mut Self, cx| this.commented(cx, path, hunk, text));
                }
            })
        });
        Ok(())
    }

    fn commented(&mut self, cx: &mut Context, path: PathBuf, hunk: Hunk, text: String) -> Result<()> {
        self.comments.retain(|comment| comment.path != path || comment.hunk != hunk);
        if !text.trim().is_empty() {
            self.comments.push(Comment { path, hunk, text: text.trim().to_owned() });
        }
        self.draw_panel(cx)
    }

    /// Sends the comments as a prompt, to the agent whose changes they are about.
    fn panel_send(&mut self, cx: &mut Context) -> Result<()> {
        let comments = self.comments.clone();
        let Some(first) = comments.first() else {
            return fail("there is no comment yet; c writes one on the hunk at the cursor");
        };
        let is_alive =
            |key: &SessionKey| cx.sessions.get(key).is_some_and(|session| session.phase != Phase::Gone);
        let author = self.author_of(&first.path, &first.hunk).filter(is_alive);
        let Some(session) = author.or(cx.session_here()).filter(is_alive) else {
            return fail("the agent is gone; :Acp restart starts it again, the comments stay");
        };
        let root = cx.sessions.get(&session).map(|session| session.place.cwd.clone()).unwrap_or_default();
        self.comments.clear();
        let (text, count) = (as_prompt(&comments, &root), comments.len());
        cx.raise(EditorEvent::CommentsSent { session, text, count });
        Ok(())
    }

    /// The comments have gone out.
    pub fn comments_sent(&mut self, cx: &mut Context, session: SessionKey, count: usize) -> Result<()> {
        let name = cx.sessions.get(&session).map(Session::name).unwrap_or_default();
        let what = if count == 1 { "comment" } else { "comments" };
        cx.advise(format!("sent {count} {what} to {name}"), Level::Info);
        self.draw_panel(cx)
    }

    fn author_of(&self, path: &Path, hunk: &Hunk) -> Option<SessionKey> {
        let file = self.files.get(path)?.file.as_deref()?;
        let at = file.hunks().iter().position(|other| other == hunk)?;
        self.origins.of_hunk(file, at).map(|origin| origin.session)
    }
}
