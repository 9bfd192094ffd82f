//! What the user is asked about, brought on the screen: the changes of one open call in a window for files, which the
//! call has for as long as the question stands. They are shown in the file itself, if all of them can be seen there;
//! else beside it, if the user wants that, or as the lines of a page that can be scrolled. Afterwards the window
//! shows what the user had in it. Which question it is, and when it is asked, is left to `questions`.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Result, Table};

use crate::config::{DiffStyle, Pane};
use crate::core::changes::diff::{Hunk, Placed, PlacedState};
use crate::core::changes::hunk_page::{Page, plural};
use crate::core::changes::proposal::{ProposalPage, ProposedFile, fits_into_file, page, proposal_bar};
use crate::core::changes::review_edits::{ADDED, REMOVED};
use crate::core::changes::stepping::after;
use crate::core::locations::Look;
use crate::core::message::{FileDiff, Outcome, Work};
use crate::core::session::tool_call::Status;
use crate::core::text::Text;
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{AskedAbout, Context};
use crate::nvim::diff_view::appearance::Appearance;
use crate::nvim::diff_view::page::{PageView, paint_later};
use crate::nvim::editor::code_window::{code_window, code_window_but, is_code, split};
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::bind::bind_pane;
use crate::nvim::keys::last_input::quiet_for;
use crate::nvim::review::Reviews;
use crate::nvim::review::inline_proposals::files_of;
use crate::nvim::review::proposals::Call;
use crate::nvim::review::split::SplitContent;
use crate::nvim::review::splits::name_in_project;
use crate::nvim::review::stage::{Lent, PageBar, Shape, ShownPage, Stage};

/// The window that the user works in is not taken from them before they have been quiet for so long.
const QUIET: Duration = Duration::from_millis(700);

/// Of more files at once, the others are not opened: their changes are shown as the agent tells them.
const MOST_OPENED: usize = 20;

/// So many lines are shown beside the answers; all of them are in the window.
const MOST_PREVIEWED: usize = 1000;

/// A hunk in its file stands below so many lines of it, if there is room.
const CONTEXT: usize = 3;

/// The cells of the sign before a line that is not in the buffer.
const SIGN: usize = 2;

/// A file of the call, and where its changes belong in it.
struct Found {
    file: ProposedFile,
    buf: Option<(Buf, u64)>,
}

/// Those that are still to be found, and those that are.
struct Search {
    number: u64,
    left: VecDeque<(PathBuf, Vec<FileDiff>)>,
    found: Vec<Found>,
}

impl Reviews {
    /// Brings a call on the screen, or none. `covered` is what the question about it will cover.
    pub fn stage(&mut self, cx: &mut Context, wanted: Option<(Call, usize)>) -> Result<Shape> {
        let call = wanted.map(|(call, _)| call);
        if self.stage.as_ref().map(|stage| stage.call) != call {
            self.leave_stage(cx)?;
        }
        self.leave_the_files_to(cx, call)?;
        let Some((call, covered)) = wanted else { return Ok(Shape::Nothing) };
        let is_new = self.stage.is_none();
        let stage = self.stage.get_or_insert_with(|| Stage {
            call,
            number: 0,
            shape: Shape::Pending,
            covered,
            lent: None,
            page: None,
            is_put_away: false,
            preview: Rc::default(),
            proposed_in: HashMap::new(),
            places: Vec::new(),
        });
        stage.covered = covered;
        if is_new || stage.shape == Shape::Blocked {
            self.set_up_stage(cx)?;
        }
        Ok(self.stage.as_ref().map_or(Shape::Nothing, |stage| stage.shape))
    }

    /// All that the call on the screen proposes, as lines that begin with `+` and `-`.
    pub fn preview(&self) -> Rc<Vec<String>> {
        self.stage.as_ref().map(|stage| stage.preview.clone()).unwrap_or_default()
    }

    pub fn is_staged(&self, call: Call) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.call == call)
    }

    /// Whether a window shows what a call proposes, since the user is asked about it.
    pub fn has_window(&self, call: Call) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.call == call && stage.lent.is_some())
    }

    /// The call proposes something else by now, or its files have changed.
    pub fn set_up_stage(&mut self, cx: &mut Context) -> Result<()> {
        self.stages += 1;
        let number = self.stages;
        let Some(stage) = &mut self.stage else { return Ok(()) };
        (stage.number, stage.is_put_away) = (number, false);
        let call = stage.call;
        let left: VecDeque<_> = files_of(cx, call).into_iter().collect();
        let shape = if left.is_empty() {
            Shape::Nothing
        } else if cx.config.diff.style == DiffStyle::Off {
            Shape::InChat
        } else if is_taken_by_user(cx, call)? {
            Shape::Blocked
        } else {
            Shape::Pending
        };
        stage.shape = shape;
        match shape {
            Shape::Pending => self.search(cx, Search { number, left, found: Vec::new() }),
            Shape::Blocked => self.look_again(cx),
            _ => Ok(()),
        }
    }

    /// Once the user may have stopped; a change of the mode is heard of elsewhere.
    fn look_again(&mut self, cx: &mut Context) -> Result<()> {
        if cx.editor.mode().0 != "n" || std::mem::replace(&mut self.looks_again, true) {
            return Ok(());
        }
        let rest = QUIET.saturating_sub(quiet_for()) + Duration::from_millis(1);
        cx.later(rest, |this: &mut Self, cx| {
            this.looks_again = false;
            cx.raise(EditorEvent::DiffsPlaced);
            Ok(())
        })
    }

    /// Finds out what the next file holds, and where the call's changes belong in it.
    fn search(&mut self, cx: &mut Context, mut search: Search) -> Result<()> {
        if self.stage.as_ref().is_none_or(|stage| stage.number != search.number) {
            return Ok(());
        }
        let Some((path, diffs)) = search.left.pop_front() else { return self.arrange(cx, search.found) };
        if let Some(buf) = cx.buf_of(&path) {
            return self.search_buffer(cx, search, (path, buf), diffs);
        }
        cx.look_first(&path.clone(), move |this: &mut Self, cx, look| match look {
            Look::File(_) if search.found.len() < MOST_OPENED => {
                let buf = open::load(&cx.editor, &canonical(&path))?;
                cx.raise(EditorEvent::BufferLoaded(buf));
                cx.after_events(move |this: &mut Self, cx| {
                    this.search_buffer(cx, search, (path, buf), diffs)
                });
                Ok(())
            }
            Look::Missing => this.place_in(cx, search, (path, None, None), diffs),
            _ => {
                let told: Vec<&str> = diffs.iter().filter_map(|diff| diff.old_text.as_deref()).collect();
                let text = Text::from(told.join("\n"));
                this.place_in(cx, search, (path, None, Some(text)), diffs)
            }
        });
        Ok(())
    }

    fn search_buffer(
        &mut self,
        cx: &mut Context,
        search: Search,
        (path, buf): (PathBuf, Buf),
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| match snapshot {
            Some(snapshot) => {
                let at = (path, Some((buf, snapshot.tick)), Some(snapshot.text));
                this.place_in(cx, search, at, diffs)
            }
            None => this.place_in(cx, search, (path, None, None), diffs),
        })
    }

    fn place_in(
        &mut self,
        cx: &mut Context,
        mut search: Search,
        (path, buf, text): (PathBuf, Option<(Buf, u64)>, Option<Text>),
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        cx.compute(Work::Propose { path, text, diffs }, move |this: &mut Self, cx, outcome| {
            if let Outcome::Proposed(file) = outcome {
                search.found.push(Found { file: *file, buf });
            }
            this.search(cx, search)
        });
        Ok(())
    }

    /// All files are known: shows them where there is room.
    fn arrange(&mut self, cx: &mut Context, found: Vec<Found>) -> Result<()> {
        let Some(stage) = &mut self.stage else { return Ok(()) };
        let call = stage.call;
        let files: Vec<&ProposedFile> = found.iter().map(|found| &found.file).collect();
        let made = page(&files, &canonical(&cx.editor.cwd()));
        stage.preview = Rc::new(preview(&made.page));
        if !is_waiting(cx, call) {
            return Ok(());
        }
        let has_moved = |(buf, tick): &(Buf, u64)| cx.editor.changedtick(*buf).is_ok_and(|now| now != *tick);
        if found.iter().any(|found| found.buf.as_ref().is_some_and(has_moved)) {
            return self.set_up_stage(cx);
        }
        self.give_way(cx, &found)?;
        if let Some(stage) = &mut self.stage {
            stage.places = places_in(&found);
        }
        for Found { file, buf } in &found {
            if let Some(at) = buf.filter(|(buf, _)| cx.editor.buf_is_loaded(*buf)) {
                self.begin_proposal(cx, call, at, file.placed.clone())?;
            }
        }
        let shape = if is_taken_by_user(cx, call)? {
            self.look_again(cx)?;
            Shape::Blocked
        } else {
            self.show_stage(cx, call, (found, made))?
        };
        if let Some(stage) = &mut self.stage {
            stage.shape = shape;
        }
        match shape {
            // With the question, which may be modal.
            Shape::Whole => self.draw_proposals(cx)?,
            // What is looked at is on the page.
            _ => self.draw_proposals_later(cx)?,
        }
        cx.raise(EditorEvent::DiffsPlaced);
        Ok(())
    }

    /// Files show what is proposed, and bars beside what was left to decide in them before. A part of the call that is
    /// made shows among the latter.
    fn give_way(&mut self, cx: &Context, found: &[Found]) -> Result<()> {
        let is_made = |placed: &Placed| placed.state == PlacedState::Applied;
        let proposed = found.iter().filter(|found| !found.file.placed.iter().any(is_made));
        let proposed_in: HashMap<Buf, _> =
            proposed.filter_map(|found| Some((found.buf?.0, rows_of(&found.file)))).collect();
        let Some(stage) = &mut self.stage else { return Ok(()) };
        let before = std::mem::replace(&mut stage.proposed_in, proposed_in.clone());
        self.show_reviews(cx, before.into_keys().filter(|buf| !proposed_in.contains_key(buf)));
        for (buf, proposed) in proposed_in {
            if let Some(reviewed) = self.of_buf(buf) {
                reviewed.give_way(&cx.editor, buf, &proposed)?;
            }
        }
        Ok(())
    }

    /// What other calls propose goes from the screen where it would be taken for what is asked about: each has its turn.
    fn leave_the_files_to(&mut self, cx: &Context, call: Option<Call>) -> Result<()> {
        for (other, bufs) in self.proposals.all_drawn() {
            if Some(other) != call && bufs.iter().any(|buf| self.has_its_turn_later(cx, other, *buf)) {
                self.proposals.clear(&cx.editor, other)?;
            }
        }
        Ok(())
    }

    /// Whether what a call proposes is not to be seen in a file now: it waits for its answer, and another question is
    /// before it, or the file shows what is asked about.
    pub fn has_its_turn_later(&self, cx: &Context, call: Call, buf: Buf) -> bool {
        let staged = self.stage.as_ref().map(|stage| stage.call);
        staged != Some(call)
            && (is_waiting(cx, call) || staged.is_some_and(|staged| self.proposals.is_drawn_in(staged, buf)))
    }

    fn show_reviews(&mut self, cx: &Context, bufs: impl Iterator<Item = Buf>) {
        for buf in bufs {
            if let Some(reviewed) = self.of_buf(buf) {
                reviewed.touched = true;
                self.draw_reviews_soon(cx, Duration::ZERO);
            }
        }
    }

    fn show_stage(
        &mut self,
        cx: &mut Context,
        call: Call,
        (found, made): (Vec<Found>, ProposalPage),
    ) -> Result<Shape> {
        let lent = self.stage.as_ref().and_then(|stage| stage.lent.as_ref()).map(|lent| lent.win);
        let lent = lent.filter(|win| cx.editor.win_is_valid(*win));
        let first = found.first().and_then(|found| found.buf).map(|(buf, _)| buf);
        let Some(win) = (match lent {
            Some(win) => Some(win),
            None => window_for_stage(cx, call, first, true)?,
        }) else {
            return Ok(Shape::InChat);
        };
        let files: Vec<&ProposedFile> = found.iter().map(|found| &found.file).collect();
        let name = match files.as_slice() {
            [file] => name_in_project(cx, &file.path),
            files => format!("{} files", files.len()),
        };
        if let Some(buf) = first {
            if cx.config.diff.style == DiffStyle::Split {
                let first = name_in_project(cx, &files[0].path);
                self.lend(cx, win, buf, &first)?;
                if self.split_proposal(cx, call, buf, &files[0].placed)? {
                    self.proposals.clear(&cx.editor, call)?;
                    return self.split_shape(cx, &files);
                }
            }
            if fits_into_file(&files) {
                self.lend(cx, win, buf, &name)?;
                if self.show_in_file(cx, win, buf, files[0])? {
                    self.drop_page(cx);
                    return Ok(Shape::Whole);
                }
            }
        }
        self.show_page(cx, (win, call), made, &name)
    }

    /// The window shows a buffer from now on, until the question is over.
    pub fn lend(&mut self, cx: &mut Context, win: Win, buf: Buf, name: &str) -> Result<()> {
        let Some(stage) = &mut self.stage else { return Ok(()) };
        let session = stage.call.0;
        cx.editor.helper::<()>("look", buf)?;
        match stage.lent.take() {
            Some(lent) if lent.win == win => {
                cx.editor.helper::<()>("lend_again", (lent.kept.clone(), buf))?;
                stage.lent = Some(lent);
            }
            // That window is gone, or in another tab page.
            before => {
                if let Some(before) = before {
                    cx.editor.helper::<()>("give_back", before.kept)?;
                }
                let kept: Table = cx.editor.helper("lend", (win, buf))?;
                stage.lent = Some(Lent { win, kept });
            }
        }
        cx.asked_about = Some(AskedAbout { win, session, name: name.to_owned() });
        cx.raise(EditorEvent::BarOutdated(session));
        Ok(())
    }

    /// Has the window show all hunks at once, if that can be. Says whether it does.
    fn show_in_file(&mut self, cx: &Context, win: Win, buf: Buf, file: &ProposedFile) -> Result<bool> {
        let Some(call) = self.stage.as_ref().map(|stage| stage.call) else { return Ok(false) };
        let editor = &cx.editor;
        // The window is known only now.
        let label = self.proposals.place_label(editor, call, buf)?;
        let Some(stage) = &self.stage else { return Ok(false) };
        let Some(lent) = &stage.lent else { return Ok(false) };
        let hunks = file.hunks();
        let (Some((_, top)), Some(end)) =
            (hunks.first(), hunks.iter().map(|(state, hunk)| hunk.row + held(*state, hunk)).max())
        else {
            // Nothing but line ends would change: there is nothing to see in the file.
            return Ok(false);
        };
        editor.helper::<()>("unfold", lent.kept.clone())?;
        let last = editor.line_count(buf)? - 1;
        // What is above the first line of a window is not seen.
        let above = 1 + usize::from(label.is_some_and(|row| row < top.row));
        let first = top.row.saturating_sub(above).min(last);
        let end = end.saturating_sub(1).clamp(first, last);
        let rows = |from: usize, to: usize| -> Result<usize> {
            if to < from { Ok(0) } else { editor.helper("rows_beside_signs", (win, from, to)) }
        };
        // Lines that are longer than the screen is high need no measuring.
        if end - first > usize::from(editor.size().1) {
            return Ok(false);
        }
        let appearance = Appearance::of(editor, buf, Duration::ZERO);
        let beside: usize =
            hunks.iter().map(|(state, hunk)| rows_beside(cx, &appearance, *state, hunk)).sum();
        let needed = rows(first, end)? + beside + usize::from(label.is_some());
        let room: usize = editor.helper("rows_in_sight", (win, stage.covered))?;
        if needed > room || is_cut(cx, &appearance, win, file)? {
            return Ok(false);
        }
        let seen: usize = editor.helper("first_line_in_sight", win)?;
        let from_the_side: bool = editor.helper("is_scrolled_sideways", win)?;
        let is_seen = seen <= first && first - seen <= room;
        if is_seen && !from_the_side && rows(seen, first.saturating_sub(1))? + needed <= room {
            return Ok(true);
        }
        let mut from = first;
        for above in 1..=CONTEXT.min(first) {
            if rows(first - above, first.saturating_sub(1))? + needed > room {
                break;
            }
            from = first - above;
        }
        editor.helper::<()>("show_from", (lent.kept.clone(), from, top.row.min(last)))?;
        // 'scrolloff' may want more lines above.
        let seen: usize = editor.helper("first_line_in_sight", win)?;
        Ok(seen <= first && rows(seen, first.saturating_sub(1))? + needed <= room)
    }

    /// Has both windows of a split begin with the first change of the first file, or show all of them; says which.
    fn split_shape(&self, cx: &Context, files: &[&ProposedFile]) -> Result<Shape> {
        let (Some(split), Some(stage)) = (&self.split, &self.stage) else { return Ok(Shape::Whole) };
        let Some(lent) = &stage.lent else { return Ok(Shape::Whole) };
        let editor = &cx.editor;
        let [file, others @ ..] = files else { return Ok(Shape::Whole) };
        let mut shape = if others.is_empty() { Shape::Whole } else { Shape::Part };
        let appearance = Appearance::of(editor, split.buf, Duration::ZERO);
        for win in [split.win, split.other] {
            let room: usize = editor.helper("rows_in_sight", (win, stage.covered))?;
            let rows: usize = editor.helper("rows_of_text", win)?;
            if rows > room || is_cut(cx, &appearance, win, file)? {
                shape = Shape::Part;
            }
        }
        let first = file.hunks().first().map_or(0, |(_, hunk)| hunk.row);
        let from = if shape == Shape::Whole { 0 } else { first.saturating_sub(CONTEXT) };
        let line = |buf: Buf| -> Result<usize> { Ok(first.min(editor.line_count(buf)? - 1)) };
        editor.helper::<()>("show_from", (lent.kept.clone(), from, line(split.buf)?))?;
        editor.set_cursor(split.other, line(split.scratch())? + 1, 0)?;
        editor.helper::<()>("scroll_to", (split.other, from))?;
        Ok(shape)
    }

    /// Shows the changes of all files as lines.
    fn show_page(
        &mut self,
        cx: &mut Context,
        (win, call): (Win, Call),
        made: ProposalPage,
        name: &str,
    ) -> Result<Shape> {
        let about = PageBar { agent: cx.name_among_all(call.0), name: name.to_owned(), counts: made.counts };
        let bar = bar_for(cx, &about, win)?;
        let Some(stage) = &mut self.stage else { return Ok(Shape::Nothing) };
        let before = stage.page.take().filter(|shown| cx.editor.buf_is_loaded(shown.buf));
        let is_new = before.is_none();
        let (buf, mut view) = match before {
            Some(before) => (before.buf, before.view),
            None => (page_buffer(cx, name)?, PageView::default()),
        };
        let put = view.put(made.page, &cx.editor, buf);
        stage.page = Some(ShownPage { buf, view, heads: made.heads, about, bar: bar.clone() });
        let covered = stage.covered;
        put?;
        paint_later(cx, self, Self::staged_view)?;
        self.lend(cx, win, buf, name)?;
        if is_new {
            cx.editor.helper::<()>("dress_proposal", (win, bar))?;
        }
        let room: usize = cx.editor.helper("rows_in_sight", (win, covered))?;
        let rows: usize = cx.editor.helper("rows_of_text", (win, room))?;
        Ok(if rows <= room { Shape::Whole } else { Shape::Part })
    }

    /// The window of the page may have another width: its bar is made for that.
    pub fn fit_page_bar(&mut self, cx: &Context) -> Result<()> {
        let Some(Stage { lent: Some(lent), page: Some(page), .. }) = &mut self.stage else { return Ok(()) };
        let shows = cx.editor.win_is_valid(lent.win) && cx.editor.win_buf(lent.win)? == page.buf;
        if !shows {
            return Ok(());
        }
        let bar = bar_for(cx, &page.about, lent.win)?;
        if bar != page.bar {
            cx.editor.set_bars(&[lent.win], &bar)?;
            page.bar = bar;
        }
        Ok(())
    }

    fn staged_view(&mut self) -> Option<(&mut PageView, Buf)> {
        let shown = self.stage.as_mut().and_then(|stage| stage.page.as_mut());
        shown.map(|shown| (&mut shown.view, shown.buf))
    }

    /// To the next or previous hunk of the page, if the cursor is in it. Says whether it is.
    pub fn step_in_stage(&self, cx: &Context, forward: bool) -> Result<bool> {
        let buf = cx.editor.current_buf()?;
        let shown = self.stage.as_ref().and_then(|stage| stage.page.as_ref());
        let Some(shown) = shown.filter(|shown| shown.buf == buf) else { return Ok(false) };
        let win = cx.editor.current_win()?;
        let row = cx.editor.cursor(win)?.0 - 1;
        let (heads, count) = (shown.heads.iter().copied(), cx.editor.count()?);
        let head = match forward {
            true => after(heads.filter(|head| *head > row), count),
            false => after(heads.rev().filter(|head| *head < row), count),
        };
        if let Some(head) = head {
            cx.editor.set_cursor(win, head + 1, 0)?;
        }
        Ok(true)
    }

    /// The user puts away the page, or the window that shows what they are asked about: the chat has to show it then.
    pub fn stage_put_away(&mut self, cx: &Context, is_it: impl FnOnce(&Stage) -> bool) -> Result<()> {
        let Some(stage) = self.stage.as_ref().filter(|stage| is_it(stage)) else { return Ok(()) };
        let (call, number) = (stage.call, stage.number);
        // It is not gone yet.
        cx.later(Duration::ZERO, move |this: &mut Self, cx| {
            let Some(stage) = this.stage.as_ref().filter(|stage| stage.call == call) else { return Ok(()) };
            let lent = stage.lent.as_ref().map(|lent| lent.kept.clone());
            let is_shown = lent.as_ref().map(|lent| cx.editor.helper::<bool>("is_lent", lent.clone()));
            if stage.number != number && is_shown.transpose()?.unwrap_or(false) {
                return Ok(());
            }
            this.leave_to_chat(cx)?;
            if let Some(lent) = lent {
                bring_back(&cx.editor, &lent)?;
            }
            cx.raise(EditorEvent::ProposalPutAway);
            Ok(())
        })
    }

    /// A window that shows what the user is asked about may show something else by now: they have put it away.
    pub fn check_stage(&self, cx: &Context) -> Result<()> {
        if !self.has_lost_window(cx)? {
            return Ok(());
        }
        // Not now: Neovim is in the middle of it, or it is shown again at once.
        cx.later(Duration::ZERO, |this: &mut Self, cx| match this.has_lost_window(cx)? {
            true => this.stage_put_away(cx, |_| true),
            false => Ok(()),
        })
    }

    fn has_lost_window(&self, cx: &Context) -> Result<bool> {
        let Some(lent) = self.stage.as_ref().and_then(|stage| stage.lent.as_ref()) else { return Ok(false) };
        Ok(!cx.editor.helper::<bool>("is_lent", lent.kept.clone())?)
    }

    /// Has the screen show again what the user is asked about and has put away. Says whether there is such a thing.
    pub fn take_up_stage(&mut self, cx: &mut Context) -> Result<bool> {
        let is_away = self.stage.as_ref().is_some_and(|stage| stage.is_put_away);
        if is_away {
            self.set_up_stage(cx)?;
        }
        Ok(is_away)
    }

    /// The window of what the user is asked about is wanted for something else: until then the chat shows it.
    pub fn put_stage_aside(&mut self, cx: &mut Context) -> Result<()> {
        self.leave_to_chat(cx)?;
        cx.raise(EditorEvent::DiffsPlaced);
        Ok(())
    }

    /// The window of the stage is given back: the chat has to show the call.
    fn leave_to_chat(&mut self, cx: &mut Context) -> Result<()> {
        self.take_off_screen(cx)?;
        if let Some(stage) = &mut self.stage {
            (stage.shape, stage.is_put_away) = (Shape::InChat, true);
        }
        Ok(())
    }

    /// A file with a question about it is about to go: its window is given back, and shows then what is proposed without it.
    pub fn leave_buffer(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        if !self.stage.as_ref().is_some_and(|stage| stage.shows(buf)) {
            return Ok(());
        }
        self.take_off_screen(cx)?;
        cx.later(Duration::ZERO, |this: &mut Self, cx| this.set_up_stage(cx))
    }

    /// The question is over, or another one is before it.
    pub fn leave_stage(&mut self, cx: &mut Context) -> Result<()> {
        let Some(stage) = &self.stage else { return Ok(()) };
        self.show_reviews(cx, stage.proposed_in.clone().into_keys());
        self.take_off_screen(cx)?;
        self.stage = None;
        Ok(())
    }

    /// Gives the window of the stage back.
    fn take_off_screen(&mut self, cx: &mut Context) -> Result<()> {
        let Some(stage) = &mut self.stage else { return Ok(()) };
        let (call, lent) = (stage.call, stage.lent.take());
        // Also where the call goes on to wait, and another one has its turn.
        if self.split.as_ref().is_some_and(|split| split.content == SplitContent::Proposed(call)) {
            self.close_split(cx)?;
        }
        if let Some(lent) = lent {
            cx.editor.helper::<()>("give_back", lent.kept)?;
        }
        self.drop_page(cx);
        if let Some(asked) = cx.asked_about.take() {
            cx.raise(EditorEvent::WindowGivenBack);
            cx.raise(EditorEvent::BarOutdated(asked.session));
        }
        Ok(())
    }

    fn drop_page(&mut self, cx: &Context) {
        let shown = self.stage.as_mut().and_then(|stage| stage.page.take());
        if let Some(shown) = shown.filter(|shown| cx.editor.buf_is_valid(shown.buf)) {
            cx.editor.notify_error(cx.editor.delete_buf(shown.buf));
        }
    }
}

fn bar_for(cx: &Context, about: &PageBar, win: Win) -> Result<String> {
    let key = cx.config.keys.shown("ask");
    let how = if key.is_empty() { ":Acp answer".to_owned() } else { key };
    let width = cx.editor.win_size(win)?.0;
    Ok(proposal_bar(&about.agent, &about.name, about.counts, &how, width.into()))
}

/// A window that was closed with the page in it was the user's: what they had in it has one again where no other shows a
/// file.
fn bring_back(editor: &Editor, lent: &Table) -> Result<()> {
    let (buf, shown, win): (Buf, Buf, Win) = (lent.get("buf")?, lent.get("shown")?, lent.get("win")?);
    let is_file = || -> Result<bool> {
        let has_name = !editor.buf_name(buf).is_empty();
        Ok(editor.buf_is_loaded(buf) && (has_name || editor.buf_option(buf, "modified")?))
    };
    let is_lost = buf != shown && !editor.win_is_valid(win) && is_file()?;
    if !is_lost || editor.tab_wins()?.into_iter().any(|win| is_code(editor, win)) {
        return Ok(());
    }
    let win = split(editor, buf)?;
    editor.helper::<()>("set_view", (win, lent.get::<Table>("view")?))?;
    editor.set_current_win(win)
}

/// A page's lines for pickers that show them beside the answers, in windows of a few lines: the first of them is one that
/// changes. Of several files each has its name; of a single one the question has it.
fn preview(page: &Page) -> Vec<String> {
    let is_change = |line: &String| line.starts_with(REMOVED) || line.starts_with(ADDED);
    let first = page.lines.iter().position(is_change).unwrap_or_default();
    let is_one_file = page.folds.iter().filter(|fold| **fold == ">1").count() < 2;
    let head = page.lines.iter().take(if is_one_file || first == 0 { 0 } else { 1 });
    let all: Vec<&String> = head.chain(&page.lines[first..]).collect();
    let lines = all.iter().take(MOST_PREVIEWED).map(|line| line.strip_prefix("  ").unwrap_or(line));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    if let Some(more) = all.len().checked_sub(MOST_PREVIEWED).filter(|more| *more > 0) {
        lines.push(format!("\u{2026} {more} more {}", plural(more, "line")));
    }
    lines
}

/// The lines at which something is proposed. What is made already is among what is left to decide.
fn places_in(found: &[Found]) -> Vec<(PathBuf, usize)> {
    let rows = |found: &Found| -> Vec<(PathBuf, usize)> {
        let hunks = found.file.hunks();
        let proposed = hunks.iter().filter(|(state, _)| *state != PlacedState::Applied);
        let path = canonical(&found.file.path);
        proposed.map(|(_, hunk)| (path.clone(), hunk.row)).collect()
    };
    found.iter().filter(|found| found.buf.is_some()).flat_map(rows).collect()
}

/// The lines of the present text that a hunk is about.
fn held(state: PlacedState, hunk: &Hunk) -> usize {
    match state {
        PlacedState::Proposed => hunk.removed.len(),
        PlacedState::Applied => hunk.added.len(),
        PlacedState::Unmatched => 1,
    }
}

/// The rows of a file in which something is proposed, from the top down.
fn rows_of(file: &ProposedFile) -> Vec<Range<usize>> {
    file.hunks().iter().map(|(state, hunk)| hunk.row..hunk.row + held(*state, hunk)).collect()
}

/// How many rows a hunk takes that are not in the buffer.
fn rows_beside(cx: &Context, appearance: &Appearance, state: PlacedState, hunk: &Hunk) -> usize {
    let room = appearance.room().map(|room| room.saturating_sub(SIGN)).filter(|room| *room > 0);
    // Where a hunk is cut, not all of it can be seen.
    let most = usize::from(cx.editor.size().1);
    let rows = |lines: &[String]| -> usize {
        let rows_of = |line: &String| {
            let mut cells = 0;
            appearance.shown(&cx.editor, line, &mut cells, line.len());
            room.map_or(1, |room| cells.div_ceil(room).max(1))
        };
        if lines.len() > most { lines.len() } else { lines.iter().map(rows_of).sum() }
    };
    match state {
        PlacedState::Proposed => rows(&hunk.added),
        PlacedState::Applied => rows(&hunk.removed),
        PlacedState::Unmatched => 1 + rows(&hunk.removed) + rows(&hunk.added),
    }
}

/// Whether a window that does not wrap lines cuts one of those that are proposed, or that go.
fn is_cut(cx: &Context, appearance: &Appearance, win: Win, file: &ProposedFile) -> Result<bool> {
    let width: Option<usize> = cx.editor.helper("cuts_lines_at", win)?;
    let Some(width) = width.map(|width| width.saturating_sub(SIGN)) else { return Ok(false) };
    let is_longer = |line: &String| {
        let mut cells = 0;
        appearance.shown(&cx.editor, line, &mut cells, line.len());
        cells > width
    };
    Ok(file.hunks().iter().any(|(_, hunk)| hunk.added.iter().chain(&hunk.removed).any(is_longer)))
}

fn is_waiting(cx: &Context, (key, entry): Call) -> bool {
    let call = cx.sessions.get(&key).and_then(|session| session.entry(entry)?.tool());
    call.is_some_and(|call| call.status == Status::Waiting)
}

/// The window for a call's changes: one that shows the file, else one for files. `None` where there is none in the
/// tab page, or where the chat floats over it, so that the chat shows them better.
fn window_for_stage(cx: &Context, (key, _): Call, buf: Option<Buf>, may_split: bool) -> Result<Option<Win>> {
    let editor = &cx.editor;
    let chat = cx.chats.get(&key).and_then(|chat| chat.window(editor));
    let is_covered = |win: Win| -> bool {
        chat.filter(|chat| editor.is_floating(*chat))
            .is_some_and(|chat| editor.helper("overlap", (chat, win)).unwrap_or(false))
    };
    let shows =
        |win: &Win| editor.win_buf(*win).is_ok_and(|shown| Some(shown) == buf) && is_code(editor, *win);
    let win = match editor.tab_wins()?.into_iter().find(shows) {
        Some(win) => Some(win),
        None => code_window_but(editor, &[])?,
    };
    match (win, chat) {
        (Some(win), _) => Ok((!is_covered(win)).then_some(win)),
        (None, Some(_)) => Ok(None),
        (None, None) if may_split => code_window(editor),
        (None, None) => Ok(None),
    }
}

/// Whether the window for a call's changes cannot be taken now.
fn is_taken_by_user(cx: &Context, call: Call) -> Result<bool> {
    // The command-line window lets no other one change (E11).
    if !cx.editor.func::<String>("getcmdwintype", ())?.is_empty() {
        return Ok(true);
    }
    let first = files_of(cx, call).pop_first();
    let buf = first.and_then(|(path, _)| cx.buf_of(&path));
    let Some(win) = window_for_stage(cx, call, buf, false)? else { return Ok(false) };
    let is_here =
        win == cx.editor.current_win()? && cx.asked_about.as_ref().is_none_or(|asked| asked.win != win);
    Ok(is_here && (cx.editor.mode().0 != "n" || quiet_for() < QUIET))
}

fn page_buffer(cx: &Context, name: &str) -> Result<Buf> {
    let editor = &cx.editor;
    let buf = editor.create_buf(false, true)?;
    // One of another Neovim's session may have the name.
    if editor.set_buf_name(buf, &format!("acp://proposal/{name}")).is_err() {
        editor.set_buf_name(buf, &format!("acp://proposal/{name}#{}", buf.0))?;
    }
    editor.set_buf_option(buf, "swapfile", false)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    editor.command_in(buf, "noautocmd setlocal filetype=acp-proposal")?;
    editor.set_buf_option(buf, "modifiable", false)?;
    bind_pane(editor, &cx.config.keys, Pane::Proposal, buf)?;
    Ok(buf)
}
