//! The reviews of changed files, kept right: what agents and the user write is taken in, in order, and
//! what is left to decide is drawn. What the user does about it is left to `actions`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mlua::{Result, Value};

use crate::config::{DiffStyle, Stay};
use crate::core::changes::file_review::{FileReview, Written};
use crate::core::changes::review::Splice;
use crate::core::changes::scope::{Origin, Other, Scope};
use crate::core::changes::unknown_change::{OutsideLines, UnknownChange};
use crate::core::changes::writers::Writer;
use crate::core::ids::{EntryId, OriginId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{FileDiff, HalfWritten, OnDisk, Outcome, ToolKind, Work};
use crate::core::session::tool_call::Status;
use crate::core::session::turn::Asked;
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::context::{self, Context};
use crate::nvim::diff_view::marks::show_above_first_line;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::{Change, EditorEvent, OutsideChange, Renamed};
use crate::nvim::review::{Input, Reviews, Then};

/// Larger texts, in bytes, are compared in the background.
const LARGE_BYTES: usize = 128 << 10;

/// The same for files that no buffer holds: there may be many of them.
const SMALL_BYTES: usize = 16 << 10;

/// Hunks are drawn for this long, then the editor has its turn.
pub const BUDGET: Duration = Duration::from_millis(3);
pub const PAUSE: Duration = Duration::from_millis(15);

/// The hunks of so many files are worked out at once; of more than these, when they are seen.
const MAX_READ: usize = 50;

/// Between two drawings while files that no buffer holds are read: all of the review is made anew each time.
pub const MANY_PAUSE: Duration = Duration::from_millis(60);

thread_local! {
    /// The buffers that were changed while the app was busy, and are still to be looked at.
    static STALE: RefCell<BTreeSet<Buf>> = const { RefCell::new(BTreeSet::new()) };
}

impl Reviews {
    /// The number of what was behind a change of one session, or of one of several.
    fn origin_of_change(&mut self, cx: &Context, change: &Change) -> Option<OriginId> {
        let writer = Writer { session: change.session, call: change.call };
        self.origin_of_writers(cx, &change.path, (writer, &change.others))
    }

    pub fn origin_of_writers(
        &mut self,
        cx: &Context,
        path: &Path,
        (first, others): (Writer, &[Writer]),
    ) -> Option<OriginId> {
        let mut origin = origin_of(cx, first.session, first.call, path)?;
        for writer in others {
            let Some(other) = origin_of(cx, writer.session, writer.call, path) else { continue };
            if other.agent != origin.agent {
                origin.agent = format!("{} or {}", origin.agent, other.agent);
            }
            if other.title != origin.title {
                origin.title = format!("{} or {}", origin.title, other.title);
            }
            origin.others.push(Other { session: other.session, prompt: other.prompt, call: other.call });
        }
        Some(self.origins.number(origin))
    }

    fn number_origin(
        &mut self,
        cx: &Context,
        key: SessionKey,
        call: Option<EntryId>,
        path: &Path,
    ) -> Option<OriginId> {
        origin_of(cx, key, call, path).map(|origin| self.origins.number(origin))
    }

    /// A change came about whose texts are known, of one side at least.
    pub fn review_change(&mut self, cx: &mut Context, change: &Change) -> Result<()> {
        let Change { path, buf, before, after, held, .. } = change;
        self.stats.add(change);
        let Some(origin) = self.origin_of_change(cx, change) else { return Ok(()) };
        if let Some(Renamed::From(from)) = &change.renamed {
            self.note_renamed(path, from);
        }
        // What nobody knows cannot be brought back: to take it for no file would remove one.
        let unknown = |text: &Option<Text>, held: &Held| text.is_none() && *held != Held::Absent;
        let is_mode_alone = before == after && !held.0.matches(&held.1);
        if unknown(before, &held.0) || unknown(after, &held.1) || is_mode_alone {
            return self.review_unknown(cx, change, origin);
        }
        self.reported.take(path);
        self.unknown.remove(path);
        self.outdate(path);
        if after.is_none() && !change.is_in_buffer {
            // What a buffer still shows of it is the user's to write or to drop.
            self.note_original(path, &held.0);
            self.let_go(cx, path)?;
            return self.review_written(cx, (path, None), (before.clone(), None), origin);
        }
        let buf = buf.or_else(|| cx.buf_of(path));
        self.note_original(path, &held.0);
        let texts = (before.clone(), after.clone());
        if buf.is_none() && self.files.len() >= MAX_READ && !self.files.contains_key(path) {
            self.begin_unread(cx, path, texts, origin);
            return Ok(());
        }
        self.review_written(cx, (path, buf), texts, origin)?;
        match buf {
            Some(buf) if !change.is_in_buffer => self.review_again(cx, path, buf),
            _ => Ok(()),
        }
    }

    /// A file has changed whose text is not known: it is listed, without hunks.
    fn review_unknown(&mut self, cx: &mut Context, change: &Change, origin: OriginId) -> Result<()> {
        let why = change.unknown.clone().unwrap_or_else(|| why_unknown(&change.held).to_owned());
        let sides = (change.held.0 != Held::Absent, change.held.1 != Held::Absent);
        if matches!(change.held.1, Held::Link(_)) {
            self.forget_lines(cx, &change.path)?;
        }
        let undo = UnknownChange::undo((&change.held.0, &change.held.1), self.unknown.get(&change.path));
        self.unknown.insert(change.path.clone(), UnknownChange { origin, why, sides, undo });
        self.outdate(&change.path);
        // There may be many of them.
        self.draw_reviews_soon(cx, MANY_PAUSE);
        Ok(())
    }

    /// The file is a link by now: what a buffer has taken from where it leads is no change of the file's lines.
    fn forget_lines(&mut self, cx: &Context, path: &Path) -> Result<()> {
        self.let_go(cx, path)?;
        self.reported.take(path);
        self.files.remove(path);
        Ok(())
    }

    /// Somebody else has changed a file: what an agent did to it stays to be decided, around that.
    pub fn changed_outside(&mut self, cx: &mut Context, change: &OutsideChange) -> Result<()> {
        self.stats.add_outside(change);
        let path = &change.path;
        // Another Neovim's undo, a checkpoint or git has brought back what was there: nothing is left to decide.
        if self.unknown.get(path).is_some_and(|unknown| unknown.is_undone_by(&change.after)) {
            self.unknown.remove(path);
            self.outdate(path);
            self.draw_panel_once(cx);
        }
        // A buffer brings the text itself.
        if self.files.get(path).is_none_or(|reviewed| reviewed.buf.is_some()) {
            return Ok(());
        }
        match &change.after {
            Held::Text(text, _) => self.take_in(cx, path, Input::Text(text.plain_lines())),
            Held::Absent => {
                let file = path.clone();
                // It may come again, as with another branch.
                let gone = move |this: &mut Self, _: &mut Context| {
                    if let Some(review) =
                        this.files.get_mut(&file).and_then(|reviewed| reviewed.file.as_mut())
                    {
                        review.user_removed();
                    }
                    Ok(())
                };
                self.read(cx, path)?;
                self.take_in(cx, path, Input::Then(Box::new(gone)))
            }
            // To undo something in it is refused, since the file is another one.
            Held::Bytes(..) | Held::Link(_) | Held::Unknown => Ok(()),
        }
    }

    /// The buffer of a file that is gone, or that it holds no more, has nothing to do with its review.
    fn let_go(&mut self, cx: &Context, path: &Path) -> Result<()> {
        let Some(reviewed) = self.files.get_mut(path) else { return Ok(()) };
        let Some(buf) = reviewed.buf else { return Ok(()) };
        reviewed.drawn.clear(&cx.editor, buf)?;
        self.release(buf);
        Ok(())
    }

    /// A file's buffer has gone with edits that were never saved: what counts is on the disk.
    pub fn review_disk(&mut self, cx: &mut Context, path: &Path) {
        if !cx.has_background || !self.files.contains_key(path) {
            return;
        }
        let work = Work::Examine {
            path: path.to_owned(),
            encoding: "utf-8".into(),
            known: None,
            half: HalfWritten::Take,
        };
        let path = path.to_owned();
        cx.compute(work, move |this: &mut Self, cx, outcome| {
            let has_buffer = this.files.get(&path).is_none_or(|reviewed| reviewed.buf.is_some());
            match outcome {
                Outcome::Examined(OnDisk::Text { text, .. }) if !has_buffer => {
                    this.take_in(cx, &path, Input::Text(text.plain_lines()))
                }
                _ => Ok(()),
            }
        });
    }

    /// Takes what an agent wrote into the review of its file, which is made when there is none.
    fn review_written(
        &mut self,
        cx: &mut Context,
        (path, buf): (&Path, Option<Buf>),
        (before, after): (Option<Text>, Option<Text>),
        origin: OriginId,
    ) -> Result<()> {
        if let Some(reviewed) = self.files.get_mut(path) {
            if !reviewed.unread.is_empty() {
                reviewed.unread.push(origin);
            }
            if let Some(buf) = buf {
                self.attach(cx, path, buf)?;
            }
            return self.take_in(cx, path, Input::Agent { before, after, origin });
        }
        let written = Written { user: before, agent: Some((after, origin)) };
        let most = if buf.is_some() { LARGE_BYTES } else { SMALL_BYTES };
        let is_large = written.texts().any(|text| text.len() >= most);
        let file = (!is_large).then(|| Box::new(written.clone().review()));
        self.begin(path, file);
        if let Some(buf) = buf {
            self.attach(cx, path, buf)?;
            self.set_reviewed_tick(cx, path, buf)?;
        }
        if is_large { self.compare(cx, path, None, written) } else { self.draw_reviews(cx) }
    }

    /// Has the background take what was written into a review, or into a new one. What comes in meanwhile
    /// waits.
    fn compare(
        &mut self,
        cx: &mut Context,
        path: &Path,
        file: Option<Box<FileReview>>,
        written: Written,
    ) -> Result<()> {
        let (path, is_by_user) = (path.to_owned(), written.agent.is_none());
        self.recalling += 1;
        if let Some(reviewed) = self.files.get_mut(&path) {
            reviewed.is_away = true;
        }
        cx.compute(Work::Review { file, written }, move |this: &mut Self, cx, outcome| {
            this.recalling -= 1;
            if let Outcome::Reviewed(file) = outcome {
                if is_by_user {
                    this.decisions.user_changed(&path, &file);
                }
                this.reviewed(cx, &path, file)?;
            }
            this.all_known(cx)
        });
        Ok(())
    }

    /// A call is over: files that it says it changed, and that were not written through the editor, are
    /// looked at.
    pub fn review_call(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        self.origins.retitle(key, entry, || call.headline());
        if call.status != Status::Done || session.taking_up.is_some() {
            return Ok(());
        }
        let diffs: Vec<(PathBuf, FileDiff)> =
            call.diffs().map(|diff| (canonical(&session.place.cwd.join(&diff.path)), diff.clone())).collect();
        let mut paths: Vec<PathBuf> = diffs.iter().map(|(path, _)| path.clone()).collect();
        paths.dedup();
        for path in paths {
            let Some(origin) = self.number_origin(cx, key, Some(entry), &path) else { continue };
            let of_file = || diffs.iter().filter(|(of, _)| *of == path).map(|(_, diff)| diff.clone());
            if let Some(before) = taken_away(&mut of_file()) {
                let diffs = of_file().collect();
                // What follows in the review rests on whether the file is gone.
                cx.look_first(&path.clone(), move |this: &mut Self, cx, look| match look {
                    // What a buffer still shows of it is the user's to write or to drop.
                    Look::Missing => this.review_written(cx, (&path, None), (Some(before), None), origin),
                    _ => this.review_diffs(cx, &path, origin, diffs),
                });
                continue;
            }
            self.review_diffs(cx, &path, origin, of_file().collect())?;
            self.claim(cx, &path, origin, of_file().collect())?;
        }
        Ok(())
    }

    /// Takes a file into the review that a call has changed.
    fn review_diffs(
        &mut self,
        cx: &mut Context,
        path: &Path,
        origin: OriginId,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let known = self.files.contains_key(path);
        match cx.buf_of(path) {
            Some(buf) if known => {
                self.attach(cx, path, buf)?;
                let wrote = move |text| Input::Agent { before: None, after: Some(text), origin };
                self.review_text(cx, (path, buf), wrote)
            }
            Some(buf) => self.reconstruct(cx, (path, buf), origin, diffs),
            None if known => Ok(()),
            None => {
                diffs.into_iter().for_each(|diff| self.reported.add(path.to_owned(), origin, diff));
                Ok(())
            }
        }
    }

    /// Has it worked out what a file was before diffs that are in it already.
    fn reconstruct(
        &mut self,
        cx: &mut Context,
        (path, buf): (&Path, Buf),
        origin: OriginId,
        diffs: Vec<FileDiff>,
    ) -> Result<()> {
        let path = path.to_owned();
        cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| {
            let Some(Snapshot { text, .. }) = snapshot else { return Ok(()) };
            let text = text.body();
            let work = Work::Before { text: text.clone(), diffs };
            this.recalling += 1;
            cx.compute(work, move |this: &mut Self, cx, outcome| {
                this.recalling -= 1;
                if let Outcome::Before(before) = outcome {
                    this.reconstructed(cx, (&path, buf), (before, text), origin)?;
                }
                this.all_known(cx)
            });
            Ok(())
        })
    }

    fn reconstructed(
        &mut self,
        cx: &mut Context,
        (path, buf): (&Path, Buf),
        (before, text): (Text, Text),
        origin: OriginId,
    ) -> Result<()> {
        if before == text || self.files.contains_key(path) || !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        self.review_written(cx, (path, Some(buf)), (Some(before), Some(text)), origin)?;
        cx.raise(EditorEvent::ReviewOutdated(buf));
        Ok(())
    }

    /// Has the background look into what calls reported of files that nobody has opened yet, and goes on when that is
    /// known.
    pub fn when_reports_are_known(
        &mut self,
        cx: &mut Context,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        for path in self.reported.files() {
            let reported = self.reported.take(&path);
            let work = Work::Recall {
                path: path.clone(),
                diffs: reported.iter().map(|(_, diff)| diff.clone()).collect(),
            };
            self.recalling += 1;
            cx.compute(work, move |this: &mut Self, cx, outcome| {
                this.recalling -= 1;
                if let Outcome::Recalled(found) = outcome {
                    this.recalled_unopened(cx, &path, reported, found)?;
                }
                this.all_known(cx)
            });
        }
        self.when_known.push(Box::new(then));
        self.all_known(cx)
    }

    /// A file that nobody had opened has been looked into.
    fn recalled_unopened(
        &mut self,
        cx: &mut Context,
        path: &Path,
        reported: Vec<(OriginId, FileDiff)>,
        found: Option<(Text, Text)>,
    ) -> Result<()> {
        let Some((origin, _)) = reported.last() else { return Ok(()) };
        if self.files.contains_key(path) {
            return Ok(());
        }
        // Somebody has opened it meanwhile: what is in the buffer counts.
        if let Some(buf) = cx.buf_of(path) {
            return self.reconstruct(
                cx,
                (path, buf),
                *origin,
                reported.into_iter().map(|(_, diff)| diff).collect(),
            );
        }
        match found {
            Some((before, after)) if before == after => Ok(()),
            Some((before, after)) => {
                self.review_written(cx, (path, None), (Some(before), Some(after)), *origin)
            }
            // It may be there later.
            None => {
                reported
                    .into_iter()
                    .for_each(|(origin, diff)| self.reported.add(path.to_owned(), origin, diff));
                Ok(())
            }
        }
    }

    /// Goes on with what waited until nothing is to be found out any more.
    pub fn all_known(&mut self, cx: &mut Context) -> Result<()> {
        if self.recalling > 0 {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.when_known);
        waiting.into_iter().try_for_each(|then| then(self, cx))
    }

    /// A buffer holds the file from now on.
    pub fn file_loaded(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        self.review_loaded(cx, buf, path)?;
        self.comments_loaded(cx, buf, path)
    }

    fn review_loaded(&mut self, cx: &mut Context, buf: Buf, path: &Path) -> Result<()> {
        // It has held another one, as before `:saveas`.
        if let Some(other) = self.path_of(buf).filter(|other| *other != path).map(Path::to_owned) {
            self.let_go(cx, &other)?;
            self.review_disk(cx, &other);
        }
        if self.files.contains_key(path) {
            self.attach(cx, path, buf)?;
            return self.review_text(cx, (path, buf), Input::Loaded);
        }
        let reported = self.reported.take(path);
        match reported.last() {
            Some((origin, _)) => {
                let origin = *origin;
                self.reconstruct(
                    cx,
                    (path, buf),
                    origin,
                    reported.into_iter().map(|(_, diff)| diff).collect(),
                )
            }
            None => Ok(()),
        }
    }

    pub fn attach(&mut self, cx: &mut Context, path: &Path, buf: Buf) -> Result<()> {
        self.hold(path, buf);
        self.read(cx, path)?;
        if !self.listening.insert(buf) {
            return Ok(());
        }
        self.listeners += 1;
        let number = self.listeners;
        if let Some(reviewed) = self.of_buf(buf) {
            reviewed.listener = number;
        }
        let on_lines = cx.editor.lua.create_function(
            move |_, (_, _, _, first, last, new): (Value, Buf, Value, usize, usize, usize)| {
                let rows = first..last;
                let heard =
                    context::note(|this: &mut Self, cx| this.lines_changed(cx, (buf, number), rows, new));
                if heard.is_none() && STALE.with_borrow_mut(|stale| stale.insert(buf)) {
                    // In the midst of a change of ours: see afterwards what came of it.
                    context::run(move |_: &mut Self, cx| {
                        STALE.with_borrow_mut(|stale| stale.remove(&buf));
                        cx.raise(EditorEvent::ReviewOutdated(buf));
                        Ok(())
                    });
                }
                Ok(heard == Some(false))
            },
        )?;
        let on_reload = cx.editor.lua.create_function(move |lua, _: Value| {
            context::later(lua, Duration::ZERO, move |this: &mut Self, cx| this.review_reloaded(cx, buf))
        })?;
        let options = cx
            .editor
            .table([("on_lines", Value::Function(on_lines)), ("on_reload", Value::Function(on_reload))])?;
        cx.editor.api::<bool>("nvim_buf_attach", (buf, false, options))?;
        self.bind_file_keys(cx, buf)
    }

    /// Lines of a buffer changed. Says whether there is a request to hear more.
    fn lines_changed(
        &mut self,
        cx: &mut Context,
        (buf, listener): (Buf, u64),
        rows: Range<usize>,
        new_end: usize,
    ) -> bool {
        let editor = cx.editor.clone();
        let Some(reviewed) = self.of_buf(buf) else { return false };
        if reviewed.listener != listener {
            return false;
        }
        let (Ok(lines), Ok(count), Ok(tick)) = (
            editor.lines(buf, rows.start as i64, new_end as i64),
            editor.line_count(buf),
            editor.changedtick(buf),
        ) else {
            return true;
        };
        match &mut reviewed.file {
            Some(file)
                if reviewed.waiting.is_empty()
                    && rows.end <= file.line_count()
                    && file.line_count() + lines.len() == count + rows.len() =>
            {
                file.user_spliced(Splice { rows, lines });
                reviewed.tick = tick;
                reviewed.touched = true;
                if let Some(path) = self.path_of(buf).map(Path::to_owned) {
                    if let Some(file) = self.files.get(&path).and_then(|reviewed| reviewed.file.as_ref()) {
                        self.decisions.user_changed(&path, file);
                    }
                    self.outdate(&path);
                }
                self.draw_reviews_soon(cx, Duration::ZERO);
            }
            Some(_) if reviewed.waiting.is_empty() => {
                // Lines were missed: the whole text says what is true.
                let check = cx.later(Duration::ZERO, move |_: &mut Self, cx| {
                    cx.raise(EditorEvent::ReviewOutdated(buf));
                    Ok(())
                });
                editor.notify_error(check);
            }
            _ => reviewed.waiting.push(Input::Splice(Splice { rows, lines })),
        }
        true
    }

    /// The buffer may hold another text than its review says, and nothing of ours is on its way into it: what is
    /// new is the user's.
    pub fn review_stale(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        if !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        let tick = cx.editor.changedtick(buf)?;
        let Some(path) = self.path_of(buf).map(Path::to_owned) else { return Ok(()) };
        if self.of_buf(buf).is_none_or(|reviewed| reviewed.tick == tick) {
            return Ok(());
        }
        self.review_text(cx, (&path, buf), Input::Text)
    }

    /// Has a buffer's text taken into its review, in the place of the order in which it was asked for.
    pub fn review_text(
        &mut self,
        cx: &mut Context,
        (path, buf): (&Path, Buf),
        input: impl FnOnce(Text) -> Input + 'static,
    ) -> Result<()> {
        let tick = cx.editor.changedtick(buf)?;
        self.readings += 1;
        let number = self.readings;
        let Some(reviewed) = self.files.get_mut(path) else { return Ok(()) };
        reviewed.tick = tick;
        reviewed.waiting.push_reading(number);
        let path = path.to_owned();
        cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| {
            let Some(reviewed) = this.files.get_mut(&path) else { return Ok(()) };
            reviewed.has_read(number, snapshot.map(|Snapshot { tick, text }| (tick, input(text.body()))));
            this.take_waiting(cx, &path)
        })
    }

    /// The buffer was read from the disk again: while a call is at work on the file, that is the agent's
    /// doing, and else the user's.
    fn review_reloaded(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(path) = self.path_of(buf).map(Path::to_owned) else { return Ok(()) };
        let works_on = |session: &&crate::core::session::Session| {
            session.open_calls().any(|(_, call)| {
                call.places().iter().any(|place| canonical(&session.place.cwd.join(&place.path)) == path)
            })
        };
        let Some(key) = cx.sessions.values().find(works_on).map(|session| session.key) else {
            cx.raise(EditorEvent::ReviewOutdated(buf));
            return Ok(());
        };
        let tick = cx.editor.changedtick(buf)?;
        if self.of_buf(buf).is_none_or(|reviewed| reviewed.tick == tick) {
            return Ok(());
        }
        let Some(origin) = self.number_origin(cx, key, None, &path) else { return Ok(()) };
        let wrote = move |text| Input::Agent { before: None, after: Some(text), origin };
        self.review_text(cx, (&path, buf), wrote)
    }

    /// Something happened until which undecided changes of a session stay at the longest.
    pub fn settle_reviews(&mut self, cx: &mut Context, key: SessionKey, until: Stay) -> Result<()> {
        if cx.config.diff.stay != until {
            return Ok(());
        }
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        paths.into_iter().try_for_each(|path| {
            self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| {
                let meant = this.files.get(&path).and_then(|reviewed| {
                    Some(this.origins.hunks_in(&Scope::Session(key), &path, reviewed.file.as_deref()?))
                });
                this.keep_in(&path, (&meant.unwrap_or_default(), &[]));
                this.draw_reviews(cx)
            })
        })
    }

    /// Runs what needs a file's review when all that came before is in it.
    pub fn when_reviewed(
        &mut self,
        cx: &mut Context,
        path: &Path,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        self.read(cx, path)?;
        let Some(buf) = self.files.get(path).and_then(|reviewed| reviewed.buf) else {
            return self.take_in_turn(cx, path, Box::new(then));
        };
        cx.raise(EditorEvent::ReviewOutdated(buf));
        let path = path.to_owned();
        cx.after_events(move |this: &mut Self, cx| this.take_in_turn(cx, &path, Box::new(then)));
        Ok(())
    }

    fn take_in_turn(&mut self, cx: &mut Context, path: &Path, then: Then) -> Result<()> {
        match self.files.get_mut(path) {
            Some(reviewed) => reviewed.waiting.push(Input::Then(then)),
            None => return Ok(()),
        }
        self.take_waiting(cx, path)
    }

    pub fn take_in(&mut self, cx: &mut Context, path: &Path, input: Input) -> Result<()> {
        let editor = cx.editor.clone();
        let Some(reviewed) = self.files.get_mut(path) else { return Ok(()) };
        reviewed.waiting.push(input);
        if let Some(buf) = reviewed.buf {
            reviewed.tick = editor.changedtick(buf)?;
        }
        self.take_waiting(cx, path)
    }

    pub fn take_waiting(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        if self.files.get(path).is_some_and(|reviewed| !reviewed.unread.is_empty()) {
            return Ok(());
        }
        if self.is_unmade(path) {
            return self.make(cx, path);
        }
        while let Some(reviewed) = self.files.get_mut(path)
            && let Some(file) = &mut reviewed.file
            && let Some(input) = reviewed.waiting.take_next()
        {
            let is_large = |text: &Text| text.len() >= LARGE_BYTES;
            match input {
                Input::Then(then) => {
                    then(self, cx)?;
                    continue;
                }
                Input::Splice(splice) if splice.rows.end <= file.line_count() => {
                    file.user_spliced(splice);
                    self.decisions.user_changed(path, file);
                }
                Input::Splice(_) => {}
                Input::Loaded(text) => {
                    if !text.contains('\r') && file.has_returns() {
                        file.without_returns();
                    }
                    reviewed.waiting.push_front(Input::Text(text));
                    continue;
                }
                Input::Text(text) if is_large(&text) => {
                    let file = reviewed.file.take();
                    return self.compare(cx, path, file, Written { user: Some(text), agent: None });
                }
                Input::Text(text) => {
                    file.user_wrote(&text);
                    self.decisions.user_changed(path, file);
                }
                Input::Attributed { before, after, to } => {
                    file.attribute((before.as_deref(), after.as_deref()), to);
                }
                Input::Agent { before, after, origin } => {
                    let written = Written { user: before, agent: Some((after, origin)) };
                    if written.texts().any(is_large) {
                        let file = reviewed.file.take();
                        return self.compare(cx, path, file, written);
                    }
                    written.into_review(file);
                }
            }
            if let Some(reviewed) = self.files.get_mut(path) {
                reviewed.touched = true;
            }
            self.outdate(path);
        }
        if self.files.get(path).is_some_and(|reviewed| reviewed.buf.is_none()) {
            // There may be many of them, one right after the other.
            self.draw_reviews_soon(cx, MANY_PAUSE);
            return Ok(());
        }
        self.draw_reviews(cx)
    }

    /// Whether no review of a file was begun yet, and there is one to be made of what waits.
    fn is_unmade(&self, path: &Path) -> bool {
        self.files.get(path).is_some_and(|reviewed| reviewed.file.is_none() && !reviewed.is_away)
    }

    /// Has the review of a file made of the first change that waits.
    fn make(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        let Some(reviewed) = self.files.get_mut(path) else { return Ok(()) };
        match reviewed.waiting.take_next() {
            Some(Input::Agent { before, after, origin }) => {
                let written = Written { user: before, agent: Some((after, origin)) };
                self.compare(cx, path, None, written)
            }
            _ => Ok(()),
        }
    }

    /// The background has compared.
    pub fn reviewed(&mut self, cx: &mut Context, path: &Path, file: Box<FileReview>) -> Result<()> {
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.file = Some(file);
            reviewed.is_away = false;
            reviewed.touched = true;
        }
        self.outdate(path);
        self.take_waiting(cx, path)
    }

    /// A file on the disk was put back, or could not be: then its hunks are there again.
    pub fn was_put_back(
        &mut self,
        cx: &mut Context,
        path: &Path,
        was: Box<FileReview>,
        done: std::result::Result<Held, String>,
    ) -> Result<()> {
        let why = match done {
            Ok(held) => {
                self.decisions.note_replaced(path, held);
                return Ok(());
            }
            Err(why) => why,
        };
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.file = Some(was);
            reviewed.touched = true;
        }
        self.outdate(path);
        let text = format!("couldn't undo in {}: {why}", cx.short_name(None, path));
        cx.notify(text, Level::Error);
        self.take_waiting(cx, path)?;
        // The user may have saved a buffer of it meanwhile.
        match self.files.get(path).and_then(|reviewed| reviewed.buf) {
            Some(buf) if cx.editor.buf_is_loaded(buf) => self.review_again(cx, path, buf),
            _ => Ok(()),
        }
    }

    /// A file on the disk was put back by the checkpoints.
    pub fn file_restored(&mut self, cx: &mut Context, path: &Path, held: &Held) -> Result<()> {
        if self.unknown.remove(path).is_some() {
            self.outdate(path);
            self.draw_panel_once(cx);
        }
        // What nobody has looked at waits: it came before this.
        self.read(cx, path)?;
        let (is_there, file) = (*held != Held::Absent, path.to_owned());
        let know = move |this: &mut Self, _: &mut Context| {
            if let Some(review) = this.files.get_mut(&file).and_then(|reviewed| reviewed.file.as_mut()) {
                review.is_there = is_there;
            }
            Ok(())
        };
        self.take_in(cx, path, Input::Then(Box::new(know)))?;
        let text = held.as_text().map(Text::plain_lines).unwrap_or_default();
        self.take_in(cx, path, Input::Text(text))?;
        // The user has decided about what went with it.
        let file = path.to_owned();
        let forget = move |this: &mut Self, _: &mut Context| {
            if let Some(review) = this.files.get_mut(&file).and_then(|reviewed| reviewed.file.as_mut()) {
                review.forget_missing();
            }
            Ok(())
        };
        self.take_in(cx, path, Input::Then(Box::new(forget)))
    }

    /// The review and its buffer are the same now.
    pub fn set_reviewed_tick(&mut self, cx: &mut Context, path: &Path, buf: Buf) -> Result<()> {
        let tick = cx.editor.changedtick(buf)?;
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.tick = tick;
        }
        Ok(())
    }

    /// The buffer is what counts, whatever the review says.
    pub fn review_again(&mut self, cx: &mut Context, path: &Path, buf: Buf) -> Result<()> {
        self.review_text(cx, (path, buf), Input::Text)
    }

    pub fn draw_reviews_soon(&mut self, cx: &Context, after: Duration) {
        if std::mem::replace(&mut self.drawing, true) {
            return;
        }
        let soon = cx.later(after, |this: &mut Self, cx| {
            this.drawing = false;
            this.draw_reviews(cx)
        });
        cx.editor.notify_error(soon);
    }

    /// Buffers may look otherwise now, in windows of other sizes or with other options: so do lines that are
    /// gone.
    pub fn looks_changed(&mut self, cx: &mut Context) -> Result<()> {
        for buf in self.proposals.outdated_looks(&cx.editor) {
            self.proposals_outdated(cx, buf)?;
        }
        let mut any = self.proposals.is_any_drawn();
        for reviewed in self.files.values_mut().filter(|reviewed| reviewed.buf.is_some()) {
            reviewed.touched = true;
            any = true;
        }
        if any {
            self.needs_room_above = true;
            self.draw_reviews_soon(cx, PAUSE);
        }
        Ok(())
    }

    /// Draws the hunks of files whose reviews have changed, as far as the time goes.
    pub fn draw_reviews(&mut self, cx: &mut Context) -> Result<()> {
        let until = Instant::now() + BUDGET;
        let editor = cx.editor.clone();
        let off = cx.config.diff.style == DiffStyle::Off;
        // Lines that are no text would have the two windows of a diff stand askew.
        let beside = self.split.as_ref().map(|split| split.buf);
        let proposed_in = self.stage.as_ref().map(|stage| stage.proposed_in.clone()).unwrap_or_default();
        self.update_split(cx)?;
        let mut left = false;
        for reviewed in self.files.values_mut() {
            let (Some(file), Some(buf), true) = (&mut reviewed.file, reviewed.buf, reviewed.touched) else {
                continue;
            };
            if !editor.buf_is_loaded(buf) {
                continue;
            }
            if off || beside == Some(buf) {
                reviewed.drawn.clear(&editor, buf)?;
                reviewed.touched = false;
                continue;
            }
            if let Some(proposed) = proposed_in.get(&buf) {
                reviewed.drawn.draw_bars(&editor, buf, (file, proposed))?;
                reviewed.touched = false;
                continue;
            }
            reviewed.drawn.update(&editor, buf, file)?;
            (file.has_hunks_back, reviewed.touched) = (false, false);
            reviewed.drawn.draw(&editor, buf, until)?;
            left |= reviewed.drawn.is_waiting();
        }
        if std::mem::take(&mut self.needs_room_above) {
            let reviewed = self.files.values().filter(|reviewed| reviewed.drawn.is_above_first_line());
            let reviewed = reviewed.filter_map(|reviewed| reviewed.buf);
            let proposed = self.proposals.all_drawn().into_iter().flat_map(|(_, bufs)| bufs);
            reviewed.chain(proposed).for_each(|buf| show_above_first_line(&editor, buf));
        }
        if left {
            self.draw_rest_soon(cx);
        }
        self.draw_panel_once(cx);
        Ok(())
    }

    /// Has the review's page drawn when all that is done now is done: it takes as long as it is.
    pub fn draw_panel_once(&mut self, cx: &mut Context) {
        if !std::mem::replace(&mut self.draws_panel, true) {
            cx.after_events(|this: &mut Self, cx| {
                this.draws_panel = false;
                this.draw_panel(cx)
            });
        }
    }

    fn draw_rest_soon(&mut self, cx: &Context) {
        if std::mem::replace(&mut self.drawing_rest, true) {
            return;
        }
        let soon = cx.later(PAUSE, |this: &mut Self, cx| {
            this.drawing_rest = false;
            this.draw_rest(cx)
        });
        cx.editor.notify_error(soon);
    }

    /// Goes on drawing hunks that are known. To look whether they are still the same costs what they are long.
    fn draw_rest(&mut self, cx: &Context) -> Result<()> {
        let until = Instant::now() + BUDGET;
        let mut left = false;
        for reviewed in self.files.values_mut().filter(|reviewed| reviewed.drawn.is_waiting()) {
            // What has changed is drawn with the rest of the reviews.
            let Some(buf) = reviewed.buf.filter(|buf| !reviewed.touched && cx.editor.buf_is_loaded(*buf))
            else {
                continue;
            };
            reviewed.drawn.draw(&cx.editor, buf, until)?;
            left |= reviewed.drawn.is_waiting();
        }
        if left {
            self.draw_rest_soon(cx);
        }
        Ok(())
    }
}

/// What was behind a change of a file.
fn origin_of(cx: &Context, key: SessionKey, call: Option<EntryId>, path: &Path) -> Option<Origin> {
    let session = cx.sessions.get(&key)?;
    let about = |call: &crate::core::session::tool_call::ToolCall| {
        call.places().iter().any(|place| canonical(&session.place.cwd.join(&place.path)) == path)
    };
    let call = call.or_else(|| {
        let changes = |kind| matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        let open: Vec<_> = session.open_calls().collect();
        let reads =
            |kind| matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Think);
        let named = open.iter().rev().find(|(_, call)| about(call) && !reads(call.kind));
        named.or(open.iter().rev().find(|(_, call)| changes(call.kind))).map(|(entry, _)| *entry)
    });
    let (at, others) = (cx.now(), Vec::new());
    let Asked { prompt, turn, asked, since } = session.asked_for(call, at);
    let title = call
        .and_then(|call| session.entry(call))
        .and_then(|entry| entry.tool())
        .map_or_else(|| "write".to_owned(), |call| call.headline());
    let agent = session.name();
    Some(Origin { session: key, agent, prompt, turn, asked, call, title, at, since, others })
}

/// Why a change has no hunks.
fn why_unknown((before, after): &(Held, Held)) -> &'static str {
    match (before, after) {
        (Held::Link(_), _) | (_, Held::Link(_)) => "a symbolic link",
        (Held::Bytes(..), _) | (_, Held::Bytes(..)) => "not a text",
        (Held::Text(one, _), Held::Text(other, _)) => {
            OutsideLines::of(one, other).map_or("its permissions changed", OutsideLines::changed)
        }
        _ => "its text before is not known",
    }
}

/// What a file held that a call says it has taken away.
fn taken_away(diffs: &mut dyn Iterator<Item = FileDiff>) -> Option<Text> {
    let (diff, more) = (diffs.next()?, diffs.next());
    let old = diff.old_text.filter(|_| diff.new_text.is_empty() && more.is_none())?;
    Some(old.plain_lines())
}
