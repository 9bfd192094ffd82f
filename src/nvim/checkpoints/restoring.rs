//! Files put back to what they were: looked at, asked about where others have changed them, then written into their
//! buffers or to the disk. What becomes of each is decided in `core::store::restore`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use mlua::Result;

use crate::core::changes::aim::Aim;
use crate::core::changes::text_edits::TextEdit;
use crate::core::session::Session;
use crate::core::store::checkpoint::{
    CheckpointRequest, Fetched, Held, Loaded, Planned, Reply, Saved, TurnKey,
};
use crate::core::store::restore::{Choice, InBuffer, Plan, Question, Restore, Road, question, road};
use crate::core::store::restore_page::Found;
use crate::core::text::cells;
use crate::core::text::fitting::cut_middle;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::{self, open, saving};
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor, Level, first_line};
use crate::nvim::events::EditorEvent;
use crate::nvim::prints::print_of_text;

/// How often files are fetched again because the user typed meanwhile.
const MAX_TRIES: u32 = 3;

/// A message's beginning and what Neovim keeps free after it take so many cells of a row.
const BESIDE_MESSAGE: usize = 19;
/// A label of what was restored that is cut to fewer cells says nothing.
const LEAST_LABEL: usize = 12;

/// Each with its tick, and what is to be told of it.
type ForFetching = (Vec<Option<(Buf, u64)>>, Vec<(Planned, Option<Loaded>)>);

/// A file to be put back, looked at.
struct Ready {
    path: PathBuf,
    /// The buffer that holds it, and its tick.
    buf: Option<(Buf, u64)>,
    road: Road,
    now: Held,
    disk: Held,
    target: Held,
    edits: Vec<TextEdit>,
    /// The target is to be unsaved, and the file to hold this.
    saved: Option<Saved>,
    /// Others have changed it since the session has.
    changed: bool,
}

/// What became of the files of one restore.
struct Outcome {
    of: Restore,
    /// What the files are put back to.
    aim: Aim,
    turn: TurnKey,
    done: usize,
    left: usize,
    failed: Vec<String>,
    is_git_kept: bool,
}

/// One try to put files back.
struct Attempt {
    restore: Restore,
    ready: Vec<Ready>,
    failed: Vec<String>,
    /// How often it may be begun again.
    tries: u32,
    /// Git's own state is another one than it was then, and stays.
    is_git_kept: bool,
}

impl Checkpoints {
    /// Puts files back. Asks when others have changed them since the session has.
    pub fn restore(&mut self, cx: &mut Context, restore: Restore) -> Result<()> {
        self.restore_again(cx, restore, MAX_TRIES)
    }

    fn restore_again(&mut self, cx: &mut Context, restore: Restore, tries: u32) -> Result<()> {
        let (bufs, files) = for_fetching(cx, &restore)?;
        let (cwd, since) = (restore.head.cwd.clone(), restore.since);
        self.ask_store(
            cx,
            |job| CheckpointRequest::Fetch { job, cwd, since, files },
            move |this, cx, reply| match reply {
                Reply::Fetched(fetched) => this.fetched(cx, (restore, tries), bufs, fetched),
                _ => Ok(()),
            },
        );
        Ok(())
    }

    /// Finds out what a restore would change, and changes nothing.
    pub fn fetch_restore(
        &mut self,
        cx: &mut Context,
        restore: Restore,
        then: impl FnOnce(&mut Self, &mut Context, Restore, Vec<Found>) -> Result<()> + 'static,
    ) -> Result<()> {
        let (bufs, files) = for_fetching(cx, &restore)?;
        let (cwd, since) = (restore.head.cwd.clone(), restore.since);
        self.ask_store(
            cx,
            |job| CheckpointRequest::Fetch { job, cwd, since, files },
            move |this, cx, reply| match reply {
                Reply::Fetched(fetched) => {
                    let found = fetched.into_iter().zip(bufs).map(|(file, buf)| {
                        let buffer = buf.map(|buf| in_buffer(cx, buf, &file.disk));
                        (file, buffer)
                    });
                    let found = found.collect();
                    then(this, cx, restore, found)
                }
                _ => Ok(()),
            },
        );
        Ok(())
    }

    fn fetched(
        &mut self,
        cx: &mut Context,
        (restore, tries): (Restore, u32),
        bufs: Vec<Option<(Buf, u64)>>,
        fetched: Vec<Fetched>,
    ) -> Result<()> {
        let is_git_kept = fetched.iter().any(|file| file.repository.is_some());
        let mut attempt = Attempt { restore, ready: Vec::new(), failed: Vec::new(), tries, is_git_kept };
        for (fetched, buf) in fetched.into_iter().zip(bufs) {
            let (path, disk) = (fetched.path.clone(), fetched.disk.clone());
            let in_buffer = buf.map(|buf| in_buffer(cx, buf, &disk));
            let (now, road) = match road(in_buffer, &fetched) {
                Ok(found) => found,
                Err(why) => {
                    attempt.failed.push(format!("{}: {why}", name_below(&attempt.restore, &path)));
                    continue;
                }
            };
            let saved = attempt.restore.saved(&fetched, &now);
            match attempt.restore.plan(fetched, &now) {
                Plan::Nothing => {}
                Plan::Refuse(why) => {
                    attempt.failed.push(format!("{}: {why}", name_below(&attempt.restore, &path)));
                }
                Plan::Put { target, edits, changed } => {
                    if !is_unchanged(cx, &path, buf)? {
                        return self.restore_anew(cx, attempt);
                    }
                    attempt.ready.push(Ready { path, buf, road, now, disk, target, edits, saved, changed });
                }
            }
        }
        clear_the_way(&mut attempt.ready);
        for at in 0..attempt.ready.len() {
            let (file, others) = (&attempt.ready[at], &attempt.ready);
            // A buffer could be saved only when what is in the way is gone: a folder in its place, or a file in that of its
            // folder.
            if let Some((buf, _)) =
                file.buf.filter(|(buf, _)| file.is_blocked(others) && file.is_of_disk(cx, *buf))
            {
                attempt.ready[at].road = Road::Disk;
                attempt.ready[at].buf = Some((buf, 0));
            }
        }
        if attempt.ready.is_empty() {
            let failed = attempt.failed;
            let text = match failed.is_empty() {
                true => "nothing to restore: the files are as they were before that turn".to_owned(),
                false => format!("couldn't restore {}", failed.join("; ")),
            };
            cx.notify(text, if failed.is_empty() { Level::Info } else { Level::Error });
            return Ok(());
        }
        let changed = attempt.ready.iter().filter(|file| file.changed);
        let changed: Vec<String> = changed.map(|file| name_below(&attempt.restore, &file.path)).collect();
        let Some(Question { prompt, items, choices }) = question(attempt.ready.len(), &changed) else {
            return self.put_all(cx, attempt);
        };
        cx.offer(&prompt, "acp_restore", items, move |this: &mut Self, cx, index| {
            match choices.get(index) {
                Some(Choice::All) => {}
                Some(Choice::Unchanged) => attempt.ready.retain(|file| !file.changed),
                Some(Choice::Nothing) | None => return Ok(()),
            }
            this.put_all(cx, attempt)
        });
        Ok(())
    }

    /// Files were changed while it was found out what to do with them.
    fn restore_anew(&mut self, cx: &mut Context, attempt: Attempt) -> Result<()> {
        match attempt.tries.checked_sub(1) {
            Some(tries) => self.restore_again(cx, attempt.restore, tries),
            None => {
                cx.notify("couldn't restore: the files change all the time; try again", Level::Error);
                Ok(())
            }
        }
    }

    fn put_all(&mut self, cx: &mut Context, attempt: Attempt) -> Result<()> {
        for file in &attempt.ready {
            if !is_unchanged(cx, &file.path, file.buf)? {
                // The user typed while they were asked.
                return self.restore_anew(cx, attempt);
            }
        }
        let turn = self.turn_key(cx);
        let Attempt { restore: mut of, ready, failed, is_git_kept, .. } = attempt;
        let head = of.recorded_head();
        let aim = std::mem::replace(&mut of.head, head).aim();
        let outcome = Outcome { of, aim, turn, done: 0, left: ready.len(), failed, is_git_kept };
        let outcome = Rc::new(RefCell::new(outcome));
        for file in ready {
            let done = match (file.road, file.buf) {
                (Road::Buffer | Road::NewFile, Some((buf, _))) => {
                    self.put_in_buffer(cx, &outcome, &file, buf)?
                }
                _ => None,
            };
            match done {
                Some(Ok(())) if file.needs_mode() => self.put_mode(cx, &outcome, file),
                Some(done) => self.put_one(cx, &outcome, &file.path, done)?,
                None => self.put_on_disk(cx, &outcome, file),
            }
        }
        Ok(())
    }

    fn put_on_disk(&mut self, cx: &mut Context, outcome: &Rc<RefCell<Outcome>>, file: Ready) {
        let (turn, outcome) = (outcome.borrow().turn, outcome.clone());
        let (head, since) = (outcome.borrow().of.head.clone(), outcome.borrow().of.since);
        let (path, at) = (file.path.clone(), cx.now().0);
        let (seen, target) = (file.disk.clone(), file.on_disk().clone());
        self.ask_store(
            cx,
            |job| CheckpointRequest::Put { job, turn, head, at, since, path, seen, target },
            move |this, cx, reply| {
                let Reply::Put(mut done) = reply else { return Ok(()) };
                if done.is_ok() {
                    if file.road == Road::Disk {
                        note_restored(cx, &outcome, &file);
                    }
                    let (path, held) = (file.path.clone(), file.on_disk().clone());
                    cx.raise(EditorEvent::FileRestored { path, held });
                    if file.buf.is_none() && file.saved.is_some() {
                        done = put_unsaved_in_new_buffer(cx, &file);
                        // When it is known which file the buffer holds.
                        cx.later(Duration::ZERO, |this: &mut Self, cx| this.refresh_preview(cx))?;
                    }
                }
                this.put_one(cx, &outcome, &file.path, done)
            },
        );
    }

    /// The text is in the file; its permissions are still to be what they were.
    fn put_mode(&mut self, cx: &mut Context, outcome: &Rc<RefCell<Outcome>>, file: Ready) {
        let (outcome, path, mode) = (outcome.clone(), file.path.clone(), file.target.mode());
        self.ask_store(
            cx,
            |job| CheckpointRequest::SetMode { job, path, mode },
            move |this, cx, reply| {
                let Reply::Put(done) = reply else { return Ok(()) };
                this.put_one(cx, &outcome, &file.path, done)
            },
        );
    }

    /// Puts a text into a buffer. Gives nothing where the file is still to be removed.
    fn put_in_buffer(
        &mut self,
        cx: &mut Context,
        outcome: &RefCell<Outcome>,
        file: &Ready,
        buf: Buf,
    ) -> Result<Option<std::result::Result<(), String>>> {
        let editor = cx.editor.clone();
        if !editor.buf_option::<bool>(buf, "modifiable")? {
            return Ok(Some(Err("its buffer is not 'modifiable'".to_owned())));
        }
        let (head, turn) = (outcome.borrow().of.head.clone(), outcome.borrow().turn);
        // First the record: what is not recorded could not be undone.
        self.tell_store(
            cx,
            CheckpointRequest::Add {
                turn,
                head,
                at: cx.now().0,
                path: file.path.clone(),
                call: None,
                before: file.now.clone(),
                after: file.target.clone(),
                saved: file.unsaved_now(cx, buf),
            },
        );
        note_restored(cx, outcome, file);
        // A step of its own for `u`.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let was_modified: bool = editor.buf_option(buf, "modified")?;
        let Held::Text(target, _) = &file.target else {
            // Not to be saved on the way.
            editor.set_buf_option(buf, "modified", true)?;
            let content =
                saving::Content { ends_with_newline: true, is_empty: true, format: None, mark: None };
            let done = saving::write(&editor, buf, &file.edits, &content);
            editor.set_buf_option(buf, "modified", was_modified)?;
            return Ok(done.err().map(Err));
        };
        if file.now.bytes() == Some(target.as_bytes()) {
            // Its permissions alone are others.
            return Ok(Some(Ok(())));
        }
        if file.road == Road::NewFile {
            // There are no unsaved edits to a file that is not there.
            editor.set_buf_option(buf, "modified", false)?;
        }
        let content = |text: &str| -> Result<saving::Content> {
            Ok(saving::Content::of(text, &editor.buf_option::<String>(buf, "fileformat")?))
        };
        if let Some((saved, text)) =
            file.saved.as_ref().and_then(|saved| Some((saved, saved.held.as_text()?)))
            && !buffers::is_modified(&editor, buf)
        {
            return Ok(Some(match saving::write(&editor, buf, &saved.edits, &content(text)?) {
                Ok(()) => put_unsaved(&editor, buf, saved, &content(target)?),
                failed => failed,
            }));
        }
        Ok(Some(saving::write(&editor, buf, &file.edits, &content(target)?)))
    }

    fn put_one(
        &mut self,
        cx: &mut Context,
        outcome: &Rc<RefCell<Outcome>>,
        path: &Path,
        done: std::result::Result<(), String>,
    ) -> Result<()> {
        let name = name_below(&outcome.borrow().of, path);
        let mut state = outcome.borrow_mut();
        state.left -= 1;
        match done {
            Ok(()) => state.done += 1,
            Err(why) => state.failed.push(format!("{name}: {why}")),
        }
        if state.left > 0 {
            return Ok(());
        }
        let (done, failed, aim) = (state.done, state.failed.join("; "), state.aim.clone());
        let is_git_kept = state.is_git_kept;
        drop(state);
        let turn = outcome.borrow().turn;
        self.tell_store(cx, CheckpointRequest::Finish { turn });
        if done > 0 {
            let files = if done == 1 { name } else { format!("{done} files") };
            // First, since a narrow screen cuts the end.
            let kept = if is_git_kept { "git's own state stays as it is; " } else { "" };
            let (what, again) = (aim.done(&files), aim.takes_back());
            let said = |before: &str| format!("{kept}{what}{before}; :Acp checkpoints {again}");
            let before = |label: &str| format!(" to before \"{label}\"");
            let room =
                usize::from(cx.editor.size().0).saturating_sub(BESIDE_MESSAGE + cells(&said(&before(""))));
            let least = LEAST_LABEL.min(cells(aim.asked()));
            let before = if room < least { String::new() } else { before(&cut_middle(aim.asked(), room)) };
            cx.notify(said(&before), Level::Info);
        }
        if !failed.is_empty() {
            cx.notify(format!("couldn't restore {failed}"), Level::Error);
        }
        cx.raise(EditorEvent::RestoreEnded);
        self.refresh_preview(cx)
    }
}

/// Puts what was not saved into a buffer that has what was.
fn put_unsaved(
    editor: &Editor,
    buf: Buf,
    saved: &Saved,
    content: &saving::Content,
) -> std::result::Result<(), String> {
    let set = editor.set_buf_option(buf, "modified", true);
    set.map_err(|error| first_line(&error))?;
    saving::write(editor, buf, &saved.unsaved, content)
}

/// The same of a file that no buffer holds any more.
fn put_unsaved_in_new_buffer(cx: &Context, file: &Ready) -> std::result::Result<(), String> {
    let (Some(saved), Some(target)) = (&file.saved, file.target.as_text()) else { return Ok(()) };
    let loaded = || {
        let buf = open::load(&cx.editor, &file.path)?;
        open::list(&cx.editor, buf)?;
        Ok((buf, cx.editor.buf_option::<String>(buf, "fileformat")?))
    };
    let (buf, format) = loaded().map_err(|error: mlua::Error| first_line(&error))?;
    put_unsaved(&cx.editor, buf, saved, &saving::Content::of(target, &format))
}

/// The files of a restore as buffers hold them.
fn for_fetching(cx: &Context, restore: &Restore) -> Result<ForFetching> {
    let mut bufs = Vec::new();
    let mut files = Vec::new();
    for planned in &restore.files {
        let buf = cx.buffers.buf_named(&cx.editor, &planned.path);
        let text = match buf {
            Some(buf) => cx.editor.text(buf)?,
            None => None,
        };
        let (buf, loaded) = match (buf, text) {
            (Some(buf), Some(text)) => {
                let format: String = cx.editor.buf_option(buf, "fileformat")?;
                let tick = cx.editor.changedtick(buf)?;
                (Some((buf, tick)), Some(Loaded { text, format }))
            }
            // A buffer that is no text is not touched: what comes of it is told when it is known.
            (Some(buf), None) => (Some((buf, 0)), None),
            _ => (None, None),
        };
        bufs.push(buf);
        files.push((planned.clone(), loaded));
    }
    Ok((bufs, files))
}

/// The buffer that holds a file; of what is no text, or was unloaded, nothing is known.
fn in_buffer(cx: &Context, (buf, tick): (Buf, u64), disk: &Held) -> InBuffer {
    let held = match tick > 0 && cx.editor.buf_is_loaded(buf) {
        true => buffers::held(&cx.editor, buf, *disk != Held::Absent).with_mode(disk.mode()),
        false => Held::Unknown,
    };
    InBuffer { held, is_modified: buffers::is_modified(&cx.editor, buf) }
}

/// What goes comes first where it is in the way: a file in the place of a folder, or the other way round.
fn clear_the_way(ready: &mut [Ready]) {
    let all: HashSet<PathBuf> = ready.iter().map(|file| file.path.clone()).collect();
    let above: HashSet<PathBuf> =
        all.iter().flat_map(|path| path.ancestors().skip(1)).map(Path::to_owned).collect();
    ready.sort_by_key(|file| {
        let is_below = || file.path.ancestors().skip(1).any(|folder| all.contains(folder));
        file.target != Held::Absent || !(above.contains(&file.path) || is_below())
    });
}

impl Ready {
    /// Whether something else has to go before it can be written.
    fn is_blocked(&self, all: &[Self]) -> bool {
        let is_in_place = |other: &Self| other.path.starts_with(&self.path);
        let is_above = |other: &Self| self.path.starts_with(&other.path) && other.target == Held::Absent;
        all.iter().any(|other| other.path != self.path && (is_in_place(other) || is_above(other)))
    }

    /// What the file is to hold itself.
    fn on_disk(&self) -> &Held {
        self.saved.as_ref().map_or(&self.target, |saved| &saved.held)
    }

    /// What the file holds, if what is there now is not saved.
    fn unsaved_now(&self, cx: &Context, buf: Buf) -> Option<Held> {
        let is_unsaved = buffers::is_modified(&cx.editor, buf) && self.disk.as_text().is_some();
        (is_unsaved && !self.disk.matches(&self.now)).then(|| self.disk.clone())
    }

    /// Whether nothing of the user's is in its buffer: that of a file that is gone has kept the text.
    fn is_of_disk(&self, cx: &Context, buf: Buf) -> bool {
        !buffers::is_modified(&cx.editor, buf) || self.road == Road::NewFile && self.now == Held::Absent
    }

    /// Whether its permissions are not yet what they were when its text is back.
    fn needs_mode(&self) -> bool {
        let is_there = self.disk.bytes().is_some() || self.road == Road::NewFile;
        self.target.mode().0.is_some() && is_there && self.disk.mode() != self.target.mode()
    }
}

/// Whether the buffer holds the file as it did.
fn is_unchanged(cx: &Context, path: &Path, buf: Option<(Buf, u64)>) -> Result<bool> {
    let now = match cx.buffers.buf_named(&cx.editor, path) {
        Some(now) => Some((now, cx.editor.changedtick(now)?)),
        None => None,
    };
    // A buffer that is no text is not read, so it has no tick.
    Ok(now == buf || matches!((now, buf), (Some((now, _)), Some((then, 0))) if now == then))
}

/// The agent is to know that the file is another one now.
fn note_restored(cx: &mut Context, outcome: &RefCell<Outcome>, file: &Ready) {
    let outcome = outcome.borrow();
    let name = name_below(&outcome.of, &file.path);
    let head = &outcome.of.head;
    let of =
        |session: &&Session| session.acp_id.as_ref() == Some(&head.acp_id) && session.name() == head.agent;
    if let Some(session) = cx.sessions.values().find(of).map(|session| session.key) {
        let aim = outcome.aim.clone();
        let prints = (print_of(&file.now), print_of(&file.target));
        cx.raise(EditorEvent::ChangeUndone { session, name, aim, prints });
    }
}

/// What tells texts from each other, and from no file.
fn print_of(held: &Held) -> Option<u64> {
    match held {
        Held::Absent => Some(0),
        held => held.as_text().map(|text| print_of_text(text)),
    }
}

fn name_below(restore: &Restore, path: &Path) -> String {
    path.strip_prefix(canonical(&restore.head.cwd)).unwrap_or(path).display().to_string()
}
