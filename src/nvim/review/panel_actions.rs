//! What can be done in the review's buffer, and with its list: opening it, deciding at the cursor,
//! commenting, sending the comments, going to the place.

use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::changes::diff::{Hunk, counts};
use crate::core::ids::SessionKey;
use crate::core::message::Content;
use crate::core::text::visible::visible_line;
use crate::nvim::actions::{Args, fail};
use crate::nvim::app::App;
use crate::nvim::diff_view::page::{About, visible};
use crate::nvim::diff_view::page_window::{page_buf, show_page, step_in_page};
use crate::nvim::editor::picker;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::review::actions::{Scope, Verdict};
use crate::nvim::review::panel::{Comment, Panel};
use crate::nvim::run;

const EDITED: &str = "the review has edits that are not written: :write applies them, :edit! drops them";

const NOTHING: &str = "nothing is left to decide; agents' changes are all kept or undone";

impl App {
    /// Opens the review of what is meant, or lists it.
    pub fn open_review(&mut self, args: &Args) -> Result<()> {
        let quickfix = args.bang || args.words.iter().any(|word| word == "quickfix");
        let word = args.words.iter().find(|word| *word != "quickfix").map_or("all", String::as_str);
        if !["turn", "session", "file", "all"].contains(&word) {
            return fail(format!("review takes turn, session, file, all or quickfix, not {word:?}"));
        }
        let scope = self.scope(&Args { words: vec![word.to_owned()], ..Args::default() })?;
        self.when_told_is_known(move |app| {
            let any =
                app.reviews.open().any(|(path, _, file)| !app.reviews.meant(&scope, path, file).is_empty());
            if !any {
                return fail(NOTHING);
            }
            if quickfix { app.review_quickfix(&scope) } else { app.open_panel(scope) }
        })
    }

    fn review_quickfix(&mut self, scope: &Scope) -> Result<()> {
        let items = self.cx.editor.lua.create_table()?;
        for (path, _, file) in self.reviews.open() {
            let all = file.hunks();
            for at in self.reviews.meant(scope, path, file) {
                let hunk = &all[at];
                let shown = visible(hunk, (file.was_there, file.is_there));
                let (added, removed) = counts(std::slice::from_ref(&shown));
                let origin = file.origins(at).iter().next_back().and_then(|origin| self.reviews.of(*origin));
                let by =
                    origin.map(|origin| format!(" {}: {}", origin.agent, origin.title)).unwrap_or_default();
                let line = (hunk.row + 1).min(file.line_count());
                let last = (hunk.row + hunk.added.len()).max(line);
                items.raw_push(self.cx.editor.table([
                    ("filename", self.cx.editor.string(path.to_string_lossy().as_bytes())?),
                    ("module", self.cx.editor.name_in_list(path)?),
                    ("lnum", Value::Integer(line as i64)),
                    ("end_lnum", Value::Integer(last as i64)),
                    ("text", self.cx.editor.string(visible_line(&format!("+{added} -{removed}{by}")))?),
                ])?)?;
            }
        }
        let what = self
            .cx
            .editor
            .table([("title", self.cx.editor.string("acp: changes")?), ("items", Value::Table(items))])?;
        let none = self.cx.editor.lua.create_table()?;
        self.cx.editor.func::<i64>("setqflist", (none, " ", what))?;
        self.cx.editor.command("botright copen")
    }

    fn open_panel(&mut self, scope: Scope) -> Result<()> {
        let editor = self.cx.editor.clone();
        let known = self.reviews.panel.as_ref().map(|panel| panel.buf);
        let known = known.filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => self.panel_buf()?,
        };
        show_page(&editor, buf)?;
        if editor.buf_option::<bool>(buf, "modified")? {
            return fail(EDITED);
        }
        self.reviews.decided = (0, 0);
        self.reviews.panel = Some(Panel::new(buf, scope, editor.cwd()));
        self.draw_panel()?;
        let first = self
            .reviews
            .panel
            .as_ref()
            .and_then(|panel| panel.page.rows.iter().position(|row| matches!(row, About::Hunk { .. })));
        let win = editor.current_win()?;
        editor.set_cursor(win, first.map_or(1, |row| row + 1), 0)
    }

    fn panel_buf(&mut self) -> Result<Buf> {
        let buf = page_buf(&self.cx.editor, &self.cx.config.keys, "acp://review")?;
        // Its lines may be edited, and written into the files.
        self.cx.editor.set_buf_option(buf, "buftype", "acwrite")?;
        self.cx.editor.helper::<()>("edit_page", (buf, self.page_written(buf)?, self.page_read()?))?;
        Ok(buf)
    }

    /// Has the review show what is left to decide now.
    pub fn draw_panel(&mut self) -> Result<()> {
        let Some(mut panel) = self.reviews.panel.take() else { return Ok(()) };
        if !self.cx.editor.buf_is_valid(panel.buf) {
            return Ok(());
        }
        let drawn = panel.draw(&self.cx.editor, &self.reviews, &self.cx.config.keys);
        self.reviews.panel = Some(panel);
        drawn
    }

    /// A key of the review's; says whether it is one.
    pub fn panel_key(&mut self, name: &str) -> Option<Result<()>> {
        if name.starts_with("review_")
            && let Some(done) = self.checkpoints.preview_key(&mut self.cx, name)
        {
            return Some(done.and_then(|()| self.route()));
        }
        Some(match name {
            "review_keep" => self.panel_decide(Verdict::Keep),
            "review_undo" => self.panel_decide(Verdict::Undo),
            "review_keep_all" => self.panel_decide_all(Verdict::Keep),
            "review_undo_all" => self.panel_decide_all(Verdict::Undo),
            "review_go" => self.panel_go(),
            "review_comment" => self.panel_comment(),
            "review_send" => self.panel_send(),
            "review_close" => self.cx.editor.command("close"),
            "review_help" => self.show_keys(),
            "review_next" => self.panel_step(true),
            "review_previous" => self.panel_step(false),
            _ => return None,
        })
    }

    fn panel_about(&self) -> Result<About> {
        let Some(panel) = &self.reviews.panel else { return Ok(About::Nothing) };
        let row = self.cx.editor.cursor(self.cx.editor.current_win()?)?.0 - 1;
        Ok(panel.page.rows.get(row).cloned().unwrap_or(About::Nothing))
    }

    /// What a line is about cannot be told while lines are being edited.
    fn refuse_edited(&self) -> Result<()> {
        match self.reviews.panel.as_ref().is_some_and(|panel| panel.is_edited(&self.cx.editor)) {
            true => fail(EDITED),
            false => Ok(()),
        }
    }

    fn panel_decide(&mut self, verdict: Verdict) -> Result<()> {
        self.refuse_edited()?;
        match self.panel_about()? {
            About::Hunk { path, hunk, .. } => self.decide_scope(verdict, Scope::Hunk(path, hunk)),
            About::File(path) => self.decide_scope(verdict, Scope::File(path)),
            About::Nothing => fail("the cursor is not on a hunk or a file"),
        }
    }

    fn panel_decide_all(&mut self, verdict: Verdict) -> Result<()> {
        self.refuse_edited()?;
        match self.reviews.panel.as_ref().map(|panel| panel.scope.clone()) {
            Some(scope) => self.decide_scope(verdict, scope),
            None => Ok(()),
        }
    }

    fn panel_go(&mut self) -> Result<()> {
        match self.panel_about()? {
            About::Hunk { path, row, .. } => self.go_to_row(&path, row),
            About::File(path) => self.go_to_row(&path, 0),
            About::Nothing => Ok(()),
        }
    }

    fn panel_step(&mut self, forward: bool) -> Result<()> {
        let rows = self.reviews.panel.as_ref().map(|panel| panel.page.rows.clone()).unwrap_or_default();
        step_in_page(&self.cx.editor, &rows, forward)
    }

    fn panel_comment(&mut self) -> Result<()> {
        self.refuse_edited()?;
        let About::Hunk { path, hunk, .. } = self.panel_about()? else {
            return fail("the cursor is not on a hunk; a comment is about one");
        };
        let is_here = move |comment: &Comment| comment.path == path && comment.hunk == hunk;
        let before =
            self.reviews.comments.iter().find(|comment| is_here(comment)).map(|comment| comment.text.clone());
        let About::Hunk { path, hunk, .. } = self.panel_about()? else { return Ok(()) };
        self.cx.attempt("the comment could not be typed", move |editor| {
            picker::input(editor, "Comment", &before.unwrap_or_default(), move |text| {
                if let Some(text) = text {
                    run(move |app| app.commented(path, hunk, text));
                }
            })
        });
        Ok(())
    }

    fn commented(&mut self, path: PathBuf, hunk: Hunk, text: String) -> Result<()> {
        self.reviews.comments.retain(|comment| comment.path != path || comment.hunk != hunk);
        if !text.trim().is_empty() {
            self.reviews.comments.push(Comment { path, hunk, text: text.trim().to_owned() });
        }
        self.draw_panel()
    }

    /// Sends the comments as a prompt, to the agent whose changes they are about.
    fn panel_send(&mut self) -> Result<()> {
        let comments = self.reviews.comments.clone();
        let Some(first) = comments.first() else {
            return fail("there is no comment yet; c writes one on the hunk at the cursor");
        };
        let alive = |key: &SessionKey| self.cx.sessions.contains_key(key) && !self.is_dead(*key);
        let author = self.author_of(&first.path, &first.hunk).filter(alive);
        let Some(key) = author.or(self.cx.session_here()).filter(alive) else {
            return fail("the agent is gone; :Acp restart starts it again, the comments stay");
        };
        let root = self.cx.sessions.get(&key).map(|session| session.place.cwd.clone()).unwrap_or_default();
        let mut text = "My comments on your changes:".to_owned();
        for Comment { path, hunk, text: comment } in &comments {
            let name = path.strip_prefix(&root).unwrap_or(path).display();
            let last = hunk.row + hunk.added.len().max(1);
            let place =
                if last == hunk.row + 1 { format!("{last}") } else { format!("{}-{last}", hunk.row + 1) };
            let lines = hunk.removed.iter().map(|line| format!("-{line}\n"));
            let lines: String = lines.chain(hunk.added.iter().map(|line| format!("+{line}\n"))).collect();
            let fence = "`".repeat(longest_run(&lines, '`').max(2) + 1);
            text.push_str(&format!("\n\n{name}:{place}\n{fence}diff\n{lines}{fence}\n{comment}"));
        }
        self.reviews.comments.clear();
        self.prompt(key, vec![Content::Text(text.into())])?;
        let name = self.cx.sessions.get(&key).map(crate::core::session::Session::name).unwrap_or_default();
        let count = comments.len();
        let what = if count == 1 { "comment" } else { "comments" };
        self.cx.advise(format!("sent {count} {what} to {name}"), Level::Info);
        self.draw_panel()?;
        self.frame_due()
    }

    fn author_of(&self, path: &Path, hunk: &Hunk) -> Option<SessionKey> {
        let file = self.reviews.files.get(path)?.file.as_deref()?;
        let at = file.hunks().iter().position(|other| other == hunk)?;
        let origins = file.origins(at);
        origins.iter().next_back().and_then(|origin| self.reviews.of(*origin)).map(|origin| origin.session)
    }
}

fn longest_run(text: &str, char: char) -> usize {
    text.split(|other| other != char).map(str::len).max().unwrap_or(0)
}
