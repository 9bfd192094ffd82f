//! Files put back to what they were: looked at, asked about where others have changed them, then written into their
//! buffers or to the disk. What becomes of each is decided in `core::store::restore`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::Result;

use crate::core::changes::text_edits::TextEdit;
use crate::core::session::Session;
use crate::core::store::checkpoint::{Fetched, Held, Loaded, Planned, Reply, TurnKey, Wish, unmarked};
use crate::core::store::restore::{Choice, Plan, Question, Restore, question};
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::{self, saving};
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;

/// How often files are fetched again because the user typed meanwhile.
const MAX_TRIES: u32 = 3;

/// Each with its tick, and what is to be told of it.
type ForFetching = (Vec<Option<(Buf, u64)>>, Vec<(Planned, Option<Loaded>)>);

/// A file to be put back, looked at.
struct Ready {
    path: PathBuf,
    /// The buffer that holds it, and its tick.
    buf: Option<(Buf, u64)>,
    now: Held,
    disk: Held,
    target: Held,
    edits: Vec<TextEdit>,
    /// Others have changed it since the session has.
    changed: bool,
}

/// What became of the files of one restore.
struct Outcome {
    of: Restore,
    /// What the files are restored to before.
    label: String,
    turn: TurnKey,
    done: usize,
    left: usize,
    failed: Vec<String>,
}

/// One try to put files back.
struct Attempt {
    restore: Restore,
    ready: Vec<Ready>,
    failed: Vec<String>,
    /// How often it may be begun again.
    tries: u32,
}

impl Checkpoints {
    /// Puts files back. Asks when others have changed them since the session has.
    pub fn restore(&mut self, cx: &mut Context, restore: Restore) -> Result<()> {
        self.restore_again(cx, restore, MAX_TRIES)
    }

    fn restore_again(&mut self, cx: &mut Context, restore: Restore, tries: u32) -> Result<()> {
        let (bufs, files) = for_fetching(cx, &restore)?;
        let cwd = restore.head.cwd.clone();
        self.ask_store(
            cx,
            |job| Wish::Fetch { job, cwd, files },
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
        then: impl FnOnce(&mut Self, &mut Context, Restore, Vec<Fetched>) -> Result<()> + 'static,
    ) -> Result<()> {
        let (_, files) = for_fetching(cx, &restore)?;
        let cwd = restore.head.cwd.clone();
        self.ask_store(
            cx,
            |job| Wish::Fetch { job, cwd, files },
            move |this, cx, reply| match reply {
                Reply::Fetched(fetched) => then(this, cx, restore, fetched),
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
        let mut attempt = Attempt { restore, ready: Vec::new(), failed: Vec::new(), tries };
        for (fetched, buf) in fetched.into_iter().zip(bufs) {
            let (path, disk) = (fetched.path.clone(), fetched.disk.clone());
            let now = match buf {
                Some((buf, tick)) if tick > 0 && cx.editor.buf_is_loaded(buf) => {
                    buffers::held(&cx.editor, buf, disk != Held::Absent)
                }
                Some(_) => Held::Unknown,
                None => disk.clone(),
            };
            match attempt.restore.plan(fetched, &now) {
                Plan::Nothing => {}
                Plan::Refuse(why) => {
                    attempt.failed.push(format!("{}: {why}", name_below(&attempt.restore, &path)));
                }
                Plan::Put { target, edits, changed } => {
                    if !is_unchanged(cx, &path, buf)? {
                        return self.restore_anew(cx, attempt);
                    }
                    attempt.ready.push(Ready { path, buf, now, disk, target, edits, changed });
                }
            }
        }
        if attempt.ready.is_empty() {
            let failed = attempt.failed;
            let text = match failed.is_empty() {
                true => "nothing to restore: the files are as they were before that turn".to_owned(),
                false => format!("couldn't restore {}", failed.join("; ")),
            };
            cx.advise(text, if failed.is_empty() { Level::Info } else { Level::Error });
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
                cx.advise("couldn't restore: the files change all the time; try again", Level::Error);
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
        let Attempt { restore: mut of, ready, failed, .. } = attempt;
        let head = of.recorded_head();
        let label = std::mem::replace(&mut of.head, head).prompt;
        let outcome = Outcome { of, label, turn, done: 0, left: ready.len(), failed };
        let outcome = Rc::new(RefCell::new(outcome));
        for file in ready {
            let done = match file.buf {
                Some((buf, _)) => self.put_in_buffer(cx, &outcome, &file, buf)?,
                None => None,
            };
            match done {
                Some(done) => self.put_one(cx, &outcome, &file.path, done)?,
                None => {
                    let (head, path) = (outcome.borrow().of.head.clone(), file.path.clone());
                    let (seen, target, at) = (file.disk.clone(), file.target.clone(), cx.now().0);
                    let outcome = outcome.clone();
                    self.ask_store(
                        cx,
                        |job| Wish::Put { job, turn, head, at, path, seen, target },
                        move |this, cx, reply| {
                            let Reply::Put(done) = reply else { return Ok(()) };
                            if done.is_ok() {
                                let (path, held) = (file.path.clone(), file.target.clone());
                                cx.raise(EditorEvent::FileRestored { path, held });
                            }
                            this.put_one(cx, &outcome, &file.path, done)
                        },
                    );
                }
            }
        }
        Ok(())
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
            Wish::Add {
                turn,
                head,
                at: cx.now().0,
                path: file.path.clone(),
                call: None,
                before: file.now.clone(),
                after: file.target.clone(),
            },
        );
        note_restored(cx, outcome, &file.path);
        // A step of its own for `u`.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let was_modified: bool = editor.buf_option(buf, "modified")?;
        let text = match &file.target {
            Held::Text(text) => unmarked(text),
            Held::Absent | Held::Unknown => {
                // Not to be saved on the way.
                editor.set_buf_option(buf, "modified", true)?;
                ""
            }
        };
        let content = saving::Content { ends_with_newline: text.ends_with('\n') || text.is_empty() };
        let done = saving::write(&editor, buf, &file.edits, &content);
        if file.target == Held::Absent {
            editor.set_buf_option(buf, "modified", was_modified)?;
            return Ok(done.err().map(Err));
        }
        Ok(Some(done))
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
        let (done, failed, label) = (state.done, state.failed.join("; "), state.label.clone());
        drop(state);
        let turn = outcome.borrow().turn;
        self.tell_store(cx, Wish::Finish { turn });
        if done > 0 {
            let files = if done == 1 { name } else { format!("{done} files") };
            let text = format!("restored {files} to before \"{label}\"; :Acp checkpoints can undo it");
            cx.advise(text, Level::Info);
        }
        if !failed.is_empty() {
            cx.advise(format!("couldn't restore {failed}"), Level::Error);
        }
        cx.raise(EditorEvent::RestoreEnded);
        self.refresh_preview(cx)
    }
}

/// The files of a restore as buffers hold them.
fn for_fetching(cx: &Context, restore: &Restore) -> Result<ForFetching> {
    let mut bufs = Vec::new();
    let mut files = Vec::new();
    for planned in &restore.files {
        let buf = cx.buf_of(&planned.path);
        let text = match buf {
            Some(buf) => cx.editor.text(buf)?,
            None => None,
        };
        let (buf, loaded) = match (buf, text) {
            (Some(buf), Some(text)) => {
                let format: String = cx.editor.buf_option(buf, "fileformat")?;
                let tick = cx.editor.changedtick(buf)?;
                (Some((buf, tick)), Some(Loaded { text, dos: format == "dos" }))
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

/// Whether the buffer holds the file as it did.
fn is_unchanged(cx: &Context, path: &Path, buf: Option<(Buf, u64)>) -> Result<bool> {
    let now = match cx.buf_of(path) {
        Some(now) => Some((now, cx.editor.changedtick(now)?)),
        None => None,
    };
    Ok(now == buf)
}

/// The agent is to know that the file is another one now.
fn note_restored(cx: &mut Context, outcome: &RefCell<Outcome>, path: &Path) {
    let outcome = outcome.borrow();
    let name = name_below(&outcome.of, path);
    let head = &outcome.of.head;
    let of =
        |session: &&Session| session.acp_id.as_ref() == Some(&head.acp_id) && session.name() == head.agent;
    if let Some(session) = cx.sessions.values().find(of).map(|session| session.key) {
        let text = format!("- {name}: all of it, back to before \"{}\"", outcome.label);
        cx.raise(EditorEvent::ChangeUndone { session, text });
    }
}

fn name_below(restore: &Restore, path: &Path) -> String {
    path.strip_prefix(canonical(&restore.head.cwd)).unwrap_or(path).display().to_string()
}
