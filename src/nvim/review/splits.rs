//! Which file stands side by side with what it was before agents changed it, or with what an open call
//! wants to make of it. One at a time; the cursor stays where it is. The windows are `review::split`'s.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::Result;

use crate::config::DiffStyle;
use crate::core::changes::diff::{Placed, PlacedState};
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::FileDiff;
use crate::core::session::tool_call::Status;
use crate::nvim::app::App;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::editor::code_window::is_code;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::review::split::{Beside, Split};
use crate::nvim::{follow, later, run};

const NOTHING: &str = "nothing is left to decide; agents' changes are all kept or undone";

fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(mlua::Error::runtime(text.to_string()))
}

impl App {
    /// `:Acp diff`.
    pub fn diff_command(&mut self, word: Option<&str>) -> Result<()> {
        match word {
            Some("close") => self.close_split(),
            Some("next") => self.step_split(true),
            Some("previous") => self.step_split(false),
            None | Some("open") => {
                let buf = self.cx.editor.current_buf()?;
                let here = self.reviews.path_of(buf).map(Path::to_owned);
                let shown = self.reviews.split.as_ref();
                let is_shown = |path: &PathBuf| shown.is_some_and(|split| split.path == *path);
                if word.is_none()
                    && shown.is_some_and(|split| here.as_ref().is_none_or(is_shown) || split.scratch() == buf)
                {
                    return self.close_split();
                }
                match here.or_else(|| self.reviews.open().next().map(|(path, ..)| path.to_owned())) {
                    Some(path) => self.split_changed(&path),
                    None => fail(NOTHING),
                }
            }
            Some(other) => fail(format!("diff takes open, close, next or previous, not {other:?}")),
        }
    }

    /// Shows a changed file beside what it was.
    pub fn split_changed(&mut self, path: &Path) -> Result<()> {
        self.split_changed_then(path, |_| Ok(()))
    }

    /// The same, and what follows once it is shown.
    fn split_changed_then(
        &mut self,
        path: &Path,
        then: impl FnOnce(&mut App) -> Result<()> + 'static,
    ) -> Result<()> {
        let path = path.to_owned();
        self.when_reviewed(&path.clone(), move |app| app.open_changed(path, then))
    }

    fn open_changed(
        &mut self,
        path: PathBuf,
        then: impl FnOnce(&mut App) -> Result<()> + 'static,
    ) -> Result<()> {
        if self.cx.buf_of(&path).is_some() {
            self.open_changed_file(path)?;
            return then(self);
        }
        self.look_first(&path.clone(), move |app, look| match look {
            look if look.finds_file() => {
                app.open_changed_file(path)?;
                then(app)
            }
            Look::Silent => {
                fail(format!("couldn't open {}: its disk does not answer", app.cx.short_name(None, &path)))
            }
            _ => fail(format!("{} is gone; :Acp undo all brings it back", app.cx.short_name(None, &path))),
        })
    }

    fn open_changed_file(&mut self, path: PathBuf) -> Result<()> {
        let reviewed = self.reviews.files.get(&path).and_then(|reviewed| reviewed.file.as_deref());
        let Some(file) = reviewed.filter(|file| !file.is_settled()) else { return fail(NOTHING) };
        let lines = file.base_lines().to_vec();
        let title = if file.was_there { "before" } else { "before: it was not there" };
        let name = self.name_in_project(&path);
        let buf = follow::load(&self.cx.editor, &path)?;
        self.buffer_loaded(buf)?;
        let before = self.reviews.split.take();
        let win = before.as_ref().map(|split| split.win);
        if let Some(split) = before {
            self.end_split(split)?;
        }
        let Some(win) = self.window_for(buf, win)? else { return Ok(()) };
        let title = format!("{name}: {title}");
        let split =
            Split::open(&self.cx.editor, (path.clone(), &name), Beside::Before, (win, buf), lines, &title)?;
        self.reviews.split = Some(split);
        self.draw_again(&path)
    }

    pub fn name_in_project(&self, path: &Path) -> String {
        path.strip_prefix(self.cx.editor.cwd()).unwrap_or(path).display().to_string()
    }

    /// The window of the tab page that shows a buffer, or is made to.
    fn window_for(&mut self, buf: Buf, likely: Option<Win>) -> Result<Option<Win>> {
        let shows = |win: &Win| {
            self.cx.editor.win_buf(*win).is_ok_and(|shown| shown == buf) && is_code(&self.cx.editor, *win)
        };
        if let Some(win) = self.cx.editor.tab_wins()?.into_iter().find(shows) {
            return Ok(Some(win));
        }
        let likely = likely.filter(|win| self.cx.editor.win_is_valid(*win) && is_code(&self.cx.editor, *win));
        let win = match likely {
            Some(win) => Some(win),
            None => follow::code_window(&self.cx.editor)?,
        };
        if let Some(win) = win {
            self.cx.editor.set_win_buf(win, buf)?;
        }
        Ok(win)
    }

    /// To the next or previous of the files: of the call that is asked about, or of all that agents changed.
    fn step_split(&mut self, forward: bool) -> Result<()> {
        self.step_split_then(forward, |_| Ok(()))
    }

    fn step_split_then(
        &mut self,
        forward: bool,
        then: impl FnOnce(&mut App) -> Result<()> + 'static,
    ) -> Result<()> {
        let shown = self.reviews.split.as_ref().map(|split| (split.path.clone(), split.beside.clone()));
        if let Some((path, Beside::Proposed(key, call))) = &shown {
            let (key, call) = (*key, *call);
            let paths = self.proposed_paths(key, call);
            let Some(next) = neighbour(&paths, Some(path), forward) else { return Ok(()) };
            return self.propose_beside(key, call, &next, then);
        }
        let paths: Vec<PathBuf> = self.reviews.open().map(|(path, ..)| path.to_owned()).collect();
        let buf = self.cx.editor.current_buf()?;
        let here = shown.map(|(path, _)| path).or(self.reviews.path_of(buf).map(Path::to_owned));
        match neighbour(&paths, here.as_deref(), forward) {
            Some(next) => self.split_changed_then(&next, then),
            None => fail(NOTHING),
        }
    }

    /// Goes on to another file where the side by side view has no more changes in a direction.
    pub fn step_past_split(&mut self, forward: bool) -> Result<()> {
        let is_here = |split: &Split, win: Win| win == split.win || win == split.other;
        let win = self.cx.editor.current_win()?;
        let Some(split) = self.reviews.split.as_ref().filter(|split| is_here(split, win)) else {
            return Ok(());
        };
        let on_scratch = win == split.other;
        let count = match split.beside {
            Beside::Proposed(key, call) => self.proposed_paths(key, call).len(),
            Beside::Before => self.reviews.open().count(),
        };
        if count < 2 {
            return Ok(());
        }
        self.step_split_then(forward, move |app| {
            // The user was within it and goes along.
            let Some(split) = &app.reviews.split else { return Ok(()) };
            app.cx.editor.set_current_win(if on_scratch { split.other } else { split.win })?;
            let keys = if forward { "gg]c" } else { "G[c" };
            app.cx.editor.command(&format!("silent! normal! {keys}"))
        })
    }

    // What is proposed.

    fn proposed_paths(&self, key: SessionKey, call: EntryId) -> Vec<PathBuf> {
        let session = self.cx.sessions.get(&key);
        let call = session.and_then(|session| session.entry(call)).and_then(|entry| entry.tool());
        let cwd = session.map(|session| session.place.cwd.clone()).unwrap_or_default();
        let paths =
            call.into_iter().flat_map(|call| call.diffs()).map(|diff| canonical(&cwd.join(&diff.path)));
        let paths: std::collections::BTreeSet<PathBuf> = paths.collect();
        paths.into_iter().collect()
    }

    fn proposed_diffs(&self, key: SessionKey, call: EntryId, path: &Path) -> Vec<FileDiff> {
        let session = self.cx.sessions.get(&key);
        let tool = session.and_then(|session| session.entry(call)).and_then(|entry| entry.tool());
        let cwd = session.map(|session| session.place.cwd.clone()).unwrap_or_default();
        let of_file = |diff: &&FileDiff| canonical(&cwd.join(&diff.path)) == path;
        tool.into_iter().flat_map(|tool| tool.diffs()).filter(of_file).cloned().collect()
    }

    /// The user has changed the file that a proposal stands beside: it is another text, too.
    fn propose_again(&mut self) -> Result<()> {
        let Some(split) = &self.reviews.split else { return Ok(()) };
        let Beside::Proposed(key, call) = split.beside else { return Ok(()) };
        let buf = split.buf;
        let diffs = self.proposed_diffs(key, call, &split.path.clone());
        if diffs.is_empty() { Ok(()) } else { self.place_diffs(key, call, buf, diffs) }
    }

    /// Has another file of a call shown beside what it is to become.
    fn propose_beside(
        &mut self,
        key: SessionKey,
        call: EntryId,
        path: &Path,
        then: impl FnOnce(&mut App) -> Result<()> + 'static,
    ) -> Result<()> {
        let win = self.reviews.split.as_ref().map(|split| split.win);
        self.close_split()?;
        let path = path.to_owned();
        self.load_first(&path.clone(), move |app, buf| {
            let diffs = app.proposed_diffs(key, call, &path);
            app.buffer_loaded(buf)?;
            app.window_for(buf, win)?;
            app.place_diffs(key, call, buf, diffs)?;
            then(app)
        })
    }

    /// Shows what a call proposes for a buffer side by side, where the user wants that and it can be done.
    /// Says whether it is.
    pub fn split_proposal(
        &mut self,
        key: SessionKey,
        call: EntryId,
        buf: Buf,
        placed: &[Placed],
    ) -> Result<bool> {
        let waits = self
            .cx
            .sessions
            .get(&key)
            .and_then(|session| session.entry(call)?.tool().map(|tool| (session.name(), tool.status)));
        let Some((agent, Status::Waiting)) = waits else { return Ok(false) };
        let proposed = placed.iter().all(|placed| placed.state == PlacedState::Proposed);
        if self.cx.config.diff.style != DiffStyle::Split || !proposed {
            return Ok(false);
        }
        let mut lines = self.cx.editor.lines(buf, 0, -1)?;
        let mut hunks: Vec<_> = placed.iter().flat_map(|placed| &placed.hunks).collect();
        hunks.sort_by_key(|hunk| std::cmp::Reverse(hunk.row));
        for hunk in hunks {
            let end = (hunk.row + hunk.removed.len()).min(lines.len());
            lines.splice(hunk.row.min(end)..end, hunk.added.iter().cloned());
        }
        let beside = Beside::Proposed(key, call);
        match &mut self.reviews.split {
            Some(split) if split.beside == beside && split.buf == buf => {
                split.update(&self.cx.editor, &lines)?;
                return Ok(true);
            }
            // What the user looks at stays.
            Some(_) => return Ok(false),
            None => {}
        }
        let shows = |win: &Win| {
            self.cx.editor.win_buf(*win).is_ok_and(|shown| shown == buf) && is_code(&self.cx.editor, *win)
        };
        let Some(win) = self.cx.editor.tab_wins()?.into_iter().find(shows) else { return Ok(false) };
        let Some(path) = self.cx.buffers.name_of(buf).map(Path::to_owned) else { return Ok(false) };
        let name = self.name_in_project(&path);
        let count = self.proposed_paths(key, call).len();
        let more = if count > 1 { format!(" (1 of {count} files; :Acp diff next)") } else { String::new() };
        let title = format!("{name}: {agent} proposes{more}");
        let split = Split::open(&self.cx.editor, (path.clone(), &name), beside, (win, buf), lines, &title)?;
        self.reviews.split = Some(split);
        let again = self.cx.editor.lua.create_function(|_, ()| {
            run(App::propose_again);
            Ok(())
        })?;
        self.cx.editor.helper::<()>("when_typed", (buf, again))?;
        self.draw_again(&path)?;
        Ok(true)
    }

    /// What was proposed has been answered, or is over.
    pub fn settle_split(&mut self, key: SessionKey) -> Result<()> {
        let Some(Beside::Proposed(of, call)) = self.reviews.split.as_ref().map(|split| &split.beside) else {
            return Ok(());
        };
        if *of != key {
            return Ok(());
        }
        let session = self.cx.sessions.get(&key);
        let tool = session.and_then(|session| session.entry(*call)).and_then(|entry| entry.tool());
        match tool.is_some_and(|tool| tool.status == Status::Waiting) {
            true => Ok(()),
            false => self.close_split(),
        }
    }

    // Its end.

    pub fn close_split(&mut self) -> Result<()> {
        match self.reviews.split.take() {
            Some(split) => self.end_split(split),
            None => Ok(()),
        }
    }

    fn end_split(&mut self, split: Split) -> Result<()> {
        let path = split.path.clone();
        self.cx.editor.helper::<()>("when_typed", split.buf)?;
        split.close(&self.cx.editor)?;
        self.draw_again(&path)
    }

    /// The marks in a file come back, or go.
    fn draw_again(&mut self, path: &Path) -> Result<()> {
        if let Some(reviewed) = self.reviews.files.get_mut(path) {
            reviewed.touched = true;
        }
        self.draw_reviews()
    }

    /// One of the two windows is closed, or shows something else: so much for the other.
    pub fn check_split(&mut self, closing: Option<Win>) -> Result<()> {
        let Some(split) = &self.reviews.split else { return Ok(()) };
        let closes = closing.is_some_and(|win| win == split.win || win == split.other);
        if !closes && split.is_whole(&self.cx.editor) {
            return Ok(());
        }
        // Not now: Neovim is in the middle of it.
        later(&self.cx.editor.lua, Duration::ZERO, |app| {
            match app.reviews.split.as_ref().is_some_and(|split| !split.is_whole(&app.cx.editor)) {
                true => app.close_split(),
                false => Ok(()),
            }
        })
    }

    /// What is left to decide has changed.
    pub fn update_split(&mut self) -> Result<()> {
        let Some(split) = self.reviews.split.as_mut().filter(|split| split.beside == Beside::Before) else {
            return Ok(());
        };
        let reviewed = self.reviews.files.get(&split.path);
        match reviewed.and_then(|reviewed| reviewed.file.as_deref()) {
            Some(file) if file.is_settled() => self.close_split(),
            Some(file) => split.update(&self.cx.editor, file.base_lines()),
            None => Ok(()),
        }
    }
}

/// The path after or before another, round and round.
fn neighbour(paths: &[PathBuf], here: Option<&Path>, forward: bool) -> Option<PathBuf> {
    let count = paths.len();
    let at = here.and_then(|here| paths.iter().position(|path| path == here));
    let next = match (at, forward) {
        (None, _) => 0,
        (Some(at), true) => (at + 1) % count,
        (Some(at), false) => (at + count - 1) % count,
    };
    paths.get(next).cloned()
}
