//! Which file stands side by side with what it was before agents changed it, or with what an open call
//! wants to make of it. One at a time; the cursor stays where it is. The windows are `review::split`'s.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{Result, Table};

use crate::config::DiffStyle;
use crate::core::changes::diff::{Placed, PlacedState};
use crate::core::changes::review::owned;
use crate::core::changes::stepping::neighbour;
use crate::core::ids::SessionKey;
use crate::core::locations::Look;
use crate::core::message::FileDiff;
use crate::core::session::tool_call::Status;
use crate::nvim::arguments::fail;
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::code_window::is_code;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::proposals::Call;
use crate::nvim::review::split::{Shown, Split, SplitContent, is_nothing};
use crate::nvim::review::stage::Lent;

impl Reviews {
    /// `:Acp diff`.
    pub fn diff_command(&mut self, cx: &mut Context, word: Option<&str>) -> Result<()> {
        match word {
            Some("close") => self.close_split(cx),
            Some("next") => self.step_split(cx, true),
            Some("previous") => self.step_split(cx, false),
            None | Some("open") => {
                let buf = cx.editor.current_buf()?;
                let here = self.path_of(buf).map(Path::to_owned);
                let shown = self.split.as_ref();
                let is_shown = |path: &PathBuf| shown.is_some_and(|split| split.path == *path);
                if word.is_none()
                    && shown.is_some_and(|split| here.as_ref().is_none_or(is_shown) || split.scratch() == buf)
                {
                    return self.close_split(cx);
                }
                // What is asked about comes first, if it is not seen.
                if here.is_none() && self.take_up_stage(cx)? {
                    return Ok(());
                }
                match here.or_else(|| self.open().next().map(|(path, ..)| path.to_owned())) {
                    Some(path) => self.split_changed(cx, &path),
                    None => fail(self.nothing_left(cx)),
                }
            }
            Some(other) => fail(format!("diff takes open, close, next or previous, not {other:?}")),
        }
    }

    /// Shows a changed file beside what it was.
    pub fn split_changed(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        self.split_changed_then(cx, path, |_, _| Ok(()))
    }

    /// The same, and what follows once it is shown.
    fn split_changed_then(
        &mut self,
        cx: &mut Context,
        path: &Path,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        let path = path.to_owned();
        self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| this.open_changed(cx, path, then))
    }

    fn open_changed(
        &mut self,
        cx: &mut Context,
        path: PathBuf,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        if cx.buf_of(&path).is_some() {
            return self.open_changed_file(cx, path, then);
        }
        cx.look_first(&path.clone(), move |this: &mut Self, cx, look| match look {
            look if look.finds_file() => this.open_changed_file(cx, path, then),
            Look::Silent => {
                fail(format!("couldn't open {}: its disk does not answer", cx.short_name(None, &path)))
            }
            _ => {
                let name = cx.short_name(None, &path);
                fail(format!("{name} is gone; {} brings it back", this.brings_back(&path)))
            }
        });
        Ok(())
    }

    fn open_changed_file(
        &mut self,
        cx: &mut Context,
        path: PathBuf,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        let reviewed = self.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
        let Some(file) = reviewed.filter(|file| !file.is_settled()) else {
            return fail(self.nothing_left(cx));
        };
        let lines = owned(file.base_lines());
        let title = if file.was_there { "before" } else { "before: it was not there" };
        let title = format!("{}: {title}", name_in_project(cx, &path));
        let buf = open::load(&cx.editor, &path)?;
        cx.raise(EditorEvent::BufferLoaded(buf));
        cx.after_events(move |this: &mut Self, cx| {
            this.split_before(cx, (path, buf), lines, &title)?;
            then(this, cx)
        });
        Ok(())
    }

    fn split_before(
        &mut self,
        cx: &mut Context,
        (path, buf): (PathBuf, Buf),
        lines: Vec<String>,
        title: &str,
    ) -> Result<()> {
        let mut before = self.split.take();
        let win = before.as_ref().map(|split| split.win);
        let lent = before.as_mut().and_then(|split| split.lent.take());
        if let Some(split) = before {
            self.end_split(cx, split)?;
        }
        let Some((win, lent)) = self.borrow_window(cx, buf, win, lent)? else { return Ok(()) };
        let name = name_in_project(cx, &path);
        let shown = Shown { path: path.clone(), name: &name, title, content: SplitContent::Before };
        let mut split = Split::open(&cx.editor, shown, (win, buf), lines)?;
        split.lent = lent;
        self.split = Some(split);
        self.draw_again(cx, &path)
    }

    /// The window for a file that is shown for a while: what it had comes back after it. `lent` is what was given for
    /// the file before.
    fn borrow_window(
        &mut self,
        cx: &mut Context,
        buf: Buf,
        likely: Option<Win>,
        lent: Option<Lent>,
    ) -> Result<Option<(Win, Option<Lent>)>> {
        let found = window_to_use(cx, buf, likely)?;
        let shows = |win: Win| cx.editor.win_buf(win).is_ok_and(|shown| shown == buf);
        match (found, lent) {
            (Some(win), Some(lent)) if lent.win == win => {
                cx.editor.helper::<()>("lend_again", (lent.kept.clone(), buf))?;
                Ok(Some((win, Some(lent))))
            }
            (found, Some(lent)) => {
                cx.editor.helper::<()>("give_back", lent.kept)?;
                self.borrow_window(cx, buf, found, None)
            }
            (None, None) => Ok(None),
            (Some(win), None) if shows(win) && self.has_lent(win) => Ok(Some((win, None))),
            (Some(win), None) if shows(win) => {
                // The diff does not wrap lines, so the view changes. It comes back unless the user has moved about.
                let kept: Table = cx.editor.helper("lend", (win, buf))?;
                kept.set("moved", cx.editor.api::<Table>("nvim_win_get_cursor", win)?)?;
                Ok(Some((win, Some(Lent { win, kept }))))
            }
            (Some(win), None) if self.has_lent(win) => {
                self.put_stage_aside(cx)?;
                self.borrow_window(cx, buf, Some(win), None)
            }
            (Some(win), None) => {
                let kept = cx.editor.helper("lend", (win, buf))?;
                Ok(Some((win, Some(Lent { win, kept }))))
            }
        }
    }

    /// Whether a window shows something for a question.
    fn has_lent(&self, win: Win) -> bool {
        let lent = self.stage.as_ref().and_then(|stage| stage.lent.as_ref());
        lent.is_some_and(|lent| lent.win == win)
    }

    /// To the next or previous of the files: of the call that is asked about, or of all that agents changed.
    fn step_split(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        self.step_split_then(cx, forward, |_, _| Ok(()))
    }

    fn step_split_then(
        &mut self,
        cx: &mut Context,
        forward: bool,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        let shown = self.split.as_ref().map(|split| (split.path.clone(), split.content.clone()));
        if let Some((path, SplitContent::Proposed(call))) = &shown {
            let paths = proposed_paths(cx, *call);
            let Some(next) = neighbour(&paths, Some(path), forward) else { return Ok(()) };
            return self.propose_beside(cx, *call, &next, then);
        }
        let paths: Vec<PathBuf> = self.open().map(|(path, ..)| path.to_owned()).collect();
        let buf = cx.editor.current_buf()?;
        let here = shown.map(|(path, _)| path).or(self.path_of(buf).map(Path::to_owned));
        match neighbour(&paths, here.as_deref(), forward) {
            Some(next) => self.split_changed_then(cx, &next, then),
            None => fail(self.nothing_left(cx)),
        }
    }

    /// Goes on to another file where the side by side view has no more changes in a direction.
    pub fn step_past_split(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        let is_here = |split: &Split, win: Win| win == split.win || win == split.other;
        let win = cx.editor.current_win()?;
        let Some(split) = self.split.as_ref().filter(|split| is_here(split, win)) else {
            return Ok(());
        };
        let on_scratch = win == split.other;
        let count = match split.content {
            SplitContent::Proposed(call) => proposed_paths(cx, call).len(),
            SplitContent::Before => self.open().count(),
        };
        if count < 2 {
            return Ok(());
        }
        self.step_split_then(cx, forward, move |this: &mut Self, cx| {
            // The user was within it and goes along.
            let Some(split) = &this.split else { return Ok(()) };
            cx.editor.set_current_win(if on_scratch { split.other } else { split.win })?;
            let keys = if forward { "gg]c" } else { "G[c" };
            cx.editor.command(&format!("silent! normal! {keys}"))
        })
    }

    // What is proposed.

    /// The user has changed the file that a proposal stands beside: it is another text, too.
    fn propose_again(&mut self, cx: &mut Context) -> Result<()> {
        let Some(split) = &self.split else { return Ok(()) };
        let SplitContent::Proposed(call) = split.content else { return Ok(()) };
        let buf = split.buf;
        let diffs = proposed_diffs(cx, call, &split.path);
        if diffs.is_empty() { Ok(()) } else { self.place_diffs(cx, call, buf, diffs) }
    }

    /// Has another file of a call shown beside what it is to become.
    fn propose_beside(
        &mut self,
        cx: &mut Context,
        call: Call,
        path: &Path,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        let win = self.split.as_ref().map(|split| split.win);
        self.close_split(cx)?;
        let path = path.to_owned();
        cx.load_first(self, &path.clone(), move |_: &mut Self, cx, buf| {
            let diffs = proposed_diffs(cx, call, &path);
            cx.raise(EditorEvent::BufferLoaded(buf));
            cx.after_events(move |this: &mut Self, cx| {
                match win.filter(|win| cx.editor.win_is_valid(*win) && this.has_window(call)) {
                    Some(win) => this.lend(cx, win, buf, &name_in_project(cx, &path))?,
                    None => drop(window_for(cx, buf, win)?),
                }
                this.place_diffs(cx, call, buf, diffs)?;
                then(this, cx)
            });
            Ok(())
        })
    }

    /// Shows what a call proposes for a buffer side by side, where the user wants that and it can be done.
    /// Says whether it is.
    pub fn split_proposal(
        &mut self,
        cx: &mut Context,
        call: Call,
        buf: Buf,
        placed: &[Placed],
    ) -> Result<bool> {
        let waits = cx
            .sessions
            .get(&call.0)
            .and_then(|session| session.entry(call.1)?.tool().map(|tool| (session.name(), tool.status)));
        let Some((agent, Status::Waiting)) = waits else { return Ok(false) };
        let proposed = placed.iter().all(|placed| placed.state == PlacedState::Proposed);
        if cx.config.diff.style != DiffStyle::Split || !proposed || !self.has_window(call) {
            return Ok(false);
        }
        let mut lines = cx.editor.lines(buf, 0, -1)?;
        let mut hunks: Vec<_> = placed.iter().flat_map(|placed| &placed.hunks).collect();
        hunks.sort_by_key(|hunk| std::cmp::Reverse(hunk.row));
        // The line of a buffer that has none is no part of what is proposed.
        if is_nothing(&lines) && hunks.iter().any(|hunk| hunk.removed.is_empty()) {
            lines.clear();
        }
        for hunk in hunks {
            let end = (hunk.row + hunk.removed.len()).min(lines.len());
            lines.splice(hunk.row.min(end)..end, hunk.added.iter().cloned());
        }
        let content = SplitContent::Proposed(call);
        match &mut self.split {
            Some(split) if split.content == content && split.buf == buf => {
                split.update(&cx.editor, &lines)?;
                return Ok(true);
            }
            // What the user looks at stays.
            Some(_) => return Ok(false),
            None => {}
        }
        let shows =
            |win: &Win| cx.editor.win_buf(*win).is_ok_and(|shown| shown == buf) && is_code(&cx.editor, *win);
        let Some(win) = cx.editor.tab_wins()?.into_iter().find(shows) else { return Ok(false) };
        let Some(path) = cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(false) };
        let name = name_in_project(cx, &path);
        let count = proposed_paths(cx, call).len();
        let more = if count > 1 { format!(" (1 of {count} files; :Acp diff next)") } else { String::new() };
        let title = format!("{name}: {agent} proposes{more}");
        let split = Split::open(
            &cx.editor,
            Shown { path: path.clone(), name: &name, title: &title, content },
            (win, buf),
            lines,
        )?;
        self.split = Some(split);
        let again = cx.editor.lua.create_function(|_, ()| {
            context::run(Self::propose_again);
            Ok(())
        })?;
        cx.editor.helper::<()>("when_typed", (buf, again))?;
        self.draw_again(cx, &path)?;
        Ok(true)
    }

    /// What was proposed has been answered, or is over.
    pub fn settle_split(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(SplitContent::Proposed((of, call))) = self.split.as_ref().map(|split| &split.content) else {
            return Ok(());
        };
        if *of != key {
            return Ok(());
        }
        let session = cx.sessions.get(&key);
        let tool = session.and_then(|session| session.entry(*call)).and_then(|entry| entry.tool());
        match tool.is_some_and(|tool| tool.status == Status::Waiting) {
            true => Ok(()),
            false => self.close_split(cx),
        }
    }

    // Its end.

    pub fn close_split(&mut self, cx: &mut Context) -> Result<()> {
        let Some(split) = self.split.take() else { return Ok(()) };
        let is_before = split.content == SplitContent::Before;
        self.end_split(cx, split)?;
        // What is asked about may have made way for it.
        if is_before {
            self.take_up_stage(cx)?;
        }
        Ok(())
    }

    fn end_split(&mut self, cx: &mut Context, mut split: Split) -> Result<()> {
        let path = split.path.clone();
        let lent = split.lent.take();
        cx.editor.helper::<()>("when_typed", split.buf)?;
        split.close(&cx.editor)?;
        if let Some(lent) = lent {
            cx.editor.helper::<()>("give_back", lent.kept)?;
        }
        self.draw_again(cx, &path)
    }

    /// The marks in a file come back, or go.
    fn draw_again(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.touched = true;
        }
        self.draw_reviews(cx)
    }

    /// One of the two windows is closed, or shows something else: so much for the other.
    pub fn check_split(&self, cx: &Context, closing: Option<Win>) -> Result<()> {
        let Some(split) = &self.split else { return Ok(()) };
        let closes = closing.is_some_and(|win| win == split.win || win == split.other);
        if !closes && split.is_whole(&cx.editor) {
            return Ok(());
        }
        // Not now: Neovim is in the middle of it.
        cx.later(Duration::ZERO, |this: &mut Self, cx| {
            match this.split.as_ref().is_some_and(|split| !split.is_whole(&cx.editor)) {
                true => this.close_split(cx),
                false => Ok(()),
            }
        })
    }

    /// What is left to decide has changed.
    pub fn update_split(&mut self, cx: &mut Context) -> Result<()> {
        let Some(split) = self.split.as_mut().filter(|split| split.content == SplitContent::Before) else {
            return Ok(());
        };
        let reviewed = self.files.get(&split.path);
        match reviewed.and_then(|reviewed| reviewed.file.as_deref()) {
            Some(file) if file.is_settled() => self.close_split(cx),
            Some(file) => split.update(&cx.editor, file.base_lines()),
            None => Ok(()),
        }
    }
}

/// What a file is called below the working folder.
pub fn name_in_project(cx: &Context, path: &Path) -> String {
    path.strip_prefix(cx.editor.cwd()).unwrap_or(path).display().to_string()
}

/// The window of the tab page that shows a buffer, or is made to.
fn window_for(cx: &Context, buf: Buf, likely: Option<Win>) -> Result<Option<Win>> {
    let win = window_to_use(cx, buf, likely)?;
    if let Some(win) = win.filter(|win| cx.editor.win_buf(*win).is_ok_and(|shown| shown != buf)) {
        cx.editor.set_win_buf(win, buf)?;
    }
    Ok(win)
}

/// The window of the tab page that shows a buffer, or is to.
fn window_to_use(cx: &Context, buf: Buf, likely: Option<Win>) -> Result<Option<Win>> {
    let shows =
        |win: &Win| cx.editor.win_buf(*win).is_ok_and(|shown| shown == buf) && is_code(&cx.editor, *win);
    if let Some(win) = cx.editor.tab_wins()?.into_iter().find(shows) {
        return Ok(Some(win));
    }
    let likely = likely.filter(|win| cx.editor.win_is_valid(*win) && is_code(&cx.editor, *win));
    match likely {
        Some(win) => Ok(Some(win)),
        None => code_window(&cx.editor),
    }
}

fn proposed_paths(cx: &Context, (key, call): Call) -> Vec<PathBuf> {
    let session = cx.sessions.get(&key);
    let call = session.and_then(|session| session.entry(call)).and_then(|entry| entry.tool());
    let cwd = session.map(|session| session.place.cwd.clone()).unwrap_or_default();
    let paths = call.into_iter().flat_map(|call| call.diffs()).map(|diff| canonical(&cwd.join(&diff.path)));
    let paths: std::collections::BTreeSet<PathBuf> = paths.collect();
    paths.into_iter().collect()
}

fn proposed_diffs(cx: &Context, (key, call): Call, path: &Path) -> Vec<FileDiff> {
    let session = cx.sessions.get(&key);
    let tool = session.and_then(|session| session.entry(call)).and_then(|entry| entry.tool());
    let cwd = session.map(|session| session.place.cwd.clone()).unwrap_or_default();
    let of_file = |diff: &&FileDiff| canonical(&cwd.join(&diff.path)) == path;
    tool.into_iter().flat_map(|tool| tool.diffs()).filter(of_file).cloned().collect()
}
