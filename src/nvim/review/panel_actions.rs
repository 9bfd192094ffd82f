//! What can be done in the review's buffer, and with its list: opening it, deciding at the cursor,
//! commenting, sending the comments, going to the place.

use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mlua::{Result, Value};

use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_page::{About, Listed, Page, Selected, visible_counts};
use crate::core::changes::review_page::{Hints, Shown, count, review_page};
use crate::core::changes::scope::Scope;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::Context;
use crate::nvim::diff_view::page::{PageView, nothing_left, paint_later, text_width};
use crate::nvim::diff_view::page_window::{page_buf, rows_here, rows_seen_as_one, show_page, step_in_page};
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::actions::Verdict;
use crate::nvim::review::panel::Panel;

const EDITED: &str = "write the review first: :w applies its edits, :e! drops them";

impl Reviews {
    /// Opens the review of what is meant, or lists it.
    pub fn open_review(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let quickfix = args.bang || args.words.iter().any(|word| word == "quickfix");
        let word = args.words.iter().find(|word| *word != "quickfix").map_or("all", String::as_str);
        if !["turn", "session", "file", "all"].contains(&word) {
            return fail(format!("review takes turn, session, file, all or quickfix, not {word:?}"));
        }
        let scope = self.scope(cx, &Args { words: vec![word.to_owned()], ..Args::default() }, None)?;
        let wanted = scope.clone();
        self.when_reports_are_known(cx, move |this: &mut Self, cx| {
            let show = move |this: &mut Self, cx: &mut Context| match quickfix {
                true => this.review_quickfix(cx, &scope),
                false => this.open_panel(cx, scope),
            };
            if this.is_open(&wanted) {
                this.adopt_left(cx);
                return show(this, cx);
            }
            this.when_left_is_known(cx, move |this: &mut Self, cx| match this.is_open(&wanted) {
                true => show(this, cx),
                false => fail(this.nothing_left(cx)),
            })
        })
    }

    fn review_quickfix(&mut self, cx: &mut Context, scope: &Scope) -> Result<()> {
        let items = cx.editor.lua.create_table()?;
        for (path, _, file) in self.open() {
            let all = file.hunks();
            for at in self.origins.hunks_in(scope, path, file) {
                let hunk = &all[at];
                let (added, removed) = visible_counts([hunk], (file.was_there, file.is_there));
                let origin = self.origins.of_hunk(file, at);
                let by =
                    origin.map(|origin| format!(" {}: {}", origin.agent, origin.title)).unwrap_or_default();
                let line = (hunk.row + 1).min(file.line_count());
                let last = (hunk.row + hunk.added.len()).max(line);
                items.raw_push(cx.editor.table([
                    ("filename", cx.editor.string(path.as_os_str().as_encoded_bytes())?),
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
            .and_then(|panel| panel.view.page.rows.iter().position(|row| matches!(row, About::Hunk { .. })));
        let win = editor.current_win()?;
        editor.set_cursor(win, first.map_or(1, |row| row + 1), 0)
    }

    fn panel_buf(&mut self, cx: &mut Context) -> Result<Buf> {
        let buf = page_buf(&cx.editor, &cx.config.keys, "acp://review")?;
        // Its lines may be edited, and written into the files.
        cx.editor.set_buf_option(buf, "buftype", "acwrite")?;
        let (written, read) = (self.page_written(cx, buf)?, self.page_read(cx)?);
        cx.editor.helper::<()>("edit_page", (buf, written, read, self.page_edited(cx, buf)?))?;
        Ok(buf)
    }

    /// What is to be shown in the panel now.
    pub fn page_of(&self, cx: &Context, panel: &Panel) -> Page {
        let keys = &cx.config.keys;
        let shown = self.shown(&panel.scope, &panel.root);
        let files = self.listed();
        let hints = [
            ("review_keep", "keep"),
            ("review_undo", "undo"),
            ("review_take_back", "take back"),
            ("review_comment", "comment"),
            ("review_send", "send"),
            ("review_go", "go"),
            ("review_help", "keys"),
        ];
        let some = keys.line_within(&hints, text_width(&cx.editor, panel.buf));
        let none = nothing_left(&self.nothing_left_on_page(), keys, self.decisions.has_any());
        review_page(&shown, &files, Hints { some, none })
    }

    fn shown<'a>(&'a self, scope: &'a Scope, root: &'a Path) -> Shown<'a> {
        Shown {
            scope,
            origins: &self.origins,
            comments: &self.comments,
            decided: self.decided,
            renamed: &self.renamed,
            root,
            by: RefCell::default(),
        }
    }

    /// Has the review show what is left to decide now.
    pub fn draw_panel(&mut self, cx: &mut Context) -> Result<()> {
        self.keep_soon(cx);
        let Some(mut panel) = self.panel.take() else { return Ok(()) };
        if !cx.editor.buf_is_valid(panel.buf) {
            return Ok(());
        }
        let drawn = panel.draw(&cx.editor, |panel| self.page_of(cx, panel));
        self.panel = Some(panel);
        drawn?;
        paint_later(cx, self, Self::panel_view)?;
        self.read_seen(cx)
    }

    pub fn panel_view(&mut self) -> Option<(&mut PageView, Buf)> {
        self.panel.as_mut().map(|panel| (&mut panel.view, panel.buf))
    }

    /// A key of the review's; says whether it is one.
    pub fn panel_key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "review_keep" => self.panel_decide(cx, Verdict::Keep, None),
            "review_undo" => self.panel_decide(cx, Verdict::Undo, None),
            "review_take_back" => self.panel_take_back(cx),
            "review_keep_all" => self.panel_decide_all(cx, Verdict::Keep),
            "review_undo_all" => self.panel_decide_all(cx, Verdict::Undo),
            "review_go" => self.panel_go(cx),
            "review_comment" => self.panel_comment(cx),
            "review_send" => self.send_comments(cx),
            "review_close" => cx.editor.close_page(),
            "review_help" => {
                cx.raise(EditorEvent::KeysAsked);
                Ok(())
            }
            "review_next" => self.panel_step(cx, true),
            "review_previous" => self.panel_step(cx, false),
            _ => return self.comment_key(cx, name),
        })
    }

    pub fn panel_about(&self, cx: &Context) -> Result<About> {
        let Some(panel) = &self.panel else { return Ok(About::Nothing) };
        let row = rows_here(&cx.editor)?.start;
        Ok(panel.view.page.rows.get(row).cloned().unwrap_or(About::Nothing))
    }

    /// What a line is about cannot be told while lines are being edited.
    pub fn refuse_edited(&self, cx: &Context) -> Result<()> {
        match self.panel.as_ref().is_some_and(|panel| panel.is_edited(&cx.editor)) {
            true => fail(EDITED),
            false => Ok(()),
        }
    }

    /// Decides about what is at the cursor, or about selected lines: rows of the page, counted from 0.
    pub fn panel_decide(
        &mut self,
        cx: &mut Context,
        verdict: Verdict,
        range: Option<Range<usize>>,
    ) -> Result<()> {
        self.refuse_edited(cx)?;
        let selected = match range {
            Some(rows) => Some(rows),
            None => selected_rows(cx)?.or(Some(rows_here(&cx.editor)?).filter(|rows| rows.len() > 1)),
        };
        if let Some(rows) = selected {
            let all = self.panel.as_ref().map(|panel| panel.view.page.selected(&rows)).unwrap_or_default();
            if all.is_empty() {
                return fail("the lines are not of a hunk or a file");
            }
            return all.into_iter().try_for_each(|one| {
                let scope = match one {
                    Selected::File(path) => Scope::File(path),
                    Selected::Hunk(path, hunk) => Scope::Hunk(path, Arc::unwrap_or_clone(hunk)),
                    Selected::Part(path, hunk, lines) => Scope::Part(path, Arc::unwrap_or_clone(hunk), lines),
                };
                self.decide_scope(cx, verdict, scope)
            });
        }
        match self.panel_about(cx)? {
            About::Hunk { path, hunk, .. } => {
                self.decide_scope(cx, verdict, Scope::Hunk(path, Arc::unwrap_or_clone(hunk)))
            }
            About::File(path) => self.decide_scope(cx, verdict, Scope::File(path)),
            About::Comment(_) | About::Nothing => fail("the cursor is not on a hunk or a file"),
        }
    }

    /// Decides about all that the review shows, once the user has said so.
    fn panel_decide_all(&mut self, cx: &mut Context, verdict: Verdict) -> Result<()> {
        self.refuse_edited(cx)?;
        match self.panel.as_ref().map(|panel| panel.scope.clone()) {
            Some(scope) => self.decide_if_sure(cx, verdict, scope),
            None => Ok(()),
        }
    }

    /// Decides about much at once when the user has said so; a single change is not asked about.
    pub fn decide_if_sure(&mut self, cx: &mut Context, verdict: Verdict, scope: Scope) -> Result<()> {
        let root = cx.editor.cwd();
        let count = count(&self.shown(&scope, &root), &self.listed());
        if count.files <= 1 && count.hunks <= 1 {
            return self.decide_scope(cx, verdict, scope);
        }
        let word = if verdict == Verdict::Keep { "Keep" } else { "Undo" };
        let items = vec![format!("{word} all {}", count.in_words()), "Leave them undecided".to_owned()];
        cx.offer(&format!("{word} all?"), "acp_all", items, move |this: &mut Self, cx, index| match index {
            0 => this.decide_scope(cx, verdict, scope),
            _ => Ok(()),
        });
        Ok(())
    }

    /// `u`: of edits that are not written yet as ever, else of the last decision.
    fn panel_take_back(&mut self, cx: &mut Context) -> Result<()> {
        let is_edited = self.panel.as_ref().is_some_and(|panel| panel.is_edited(&cx.editor));
        if is_edited {
            let count = cx.editor.count()?;
            return cx.editor.command(&format!("normal! {count}u"));
        }
        let place = |listed: &Listed| (listed.path.clone(), listed.hunk.clone());
        let before: Vec<(PathBuf, Arc<Hunk>)> = self.panel_hunks().map(place).collect();
        self.take_back(cx)?;
        cx.after_events(move |this: &mut Self, cx| this.go_to_new_hunk(cx, &before));
        Ok(())
    }

    fn panel_hunks(&self) -> impl Iterator<Item = &Listed> {
        self.panel.iter().flat_map(|panel| &panel.view.page.hunks)
    }

    /// To the first hunk that has come into the review, as `u` goes to what it brings back.
    fn go_to_new_hunk(&self, cx: &Context, before: &[(PathBuf, Arc<Hunk>)]) -> Result<()> {
        let was_there =
            |listed: &Listed| before.iter().any(|(path, hunk)| *path == listed.path && *hunk == listed.hunk);
        let new = self.panel_hunks().find(|listed| !was_there(listed)).map(Listed::head);
        let win = self.panel.as_ref().and_then(|panel| cx.editor.wins_of(panel.buf).first().copied());
        match (win, new) {
            (Some(win), Some(row)) => cx.editor.set_cursor(win, row + 1, 0),
            _ => Ok(()),
        }
    }

    fn panel_go(&mut self, cx: &mut Context) -> Result<()> {
        match self.panel_about(cx)? {
            About::Hunk { path, row, .. } => self.go_to_row(cx, &path, row),
            About::File(path) => self.go_to_row(cx, &path, 0),
            About::Comment(at) => {
                self.follow_comments(cx);
                let place = self.comments.iter().find(|comment| comment.at == at);
                match place.map(|comment| (comment.path.clone(), comment.rows().start)) {
                    Some((path, row)) => self.go_to_row(cx, &path, row),
                    None => Ok(()),
                }
            }
            About::Nothing => Ok(()),
        }
    }

    fn panel_step(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        let rows = self.panel.as_ref().map_or(&[][..], |panel| &panel.view.page.rows);
        step_in_page(&cx.editor, rows, forward)
    }
}

/// The rows that are selected, counted from 0, if some are; they are not after this.
fn selected_rows(cx: &Context) -> Result<Option<Range<usize>>> {
    let (mode, _) = cx.editor.mode();
    if !mode.starts_with(['v', 'V', '\u{16}']) {
        return Ok(None);
    }
    let [one, other]: [usize; 2] = [cx.editor.func("line", "v")?, cx.editor.func("line", ".")?];
    cx.editor.command("normal! \u{1b}")?;
    rows_seen_as_one(&cx.editor, &(one.min(other) - 1..one.max(other))).map(Some)
}
