//! Checkpoints, as the editor sees them: each change of an agent's is told to the record, and files are
//! put back to what they were before a turn. What the user chooses of them is left to `actions`.

pub mod actions;
pub mod blame;
pub mod preview;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mlua::Result;

use crate::core::changes::diff::Hunk;
use crate::core::changes::review::Splice;
use crate::core::changes::text_edits::TextEdit;
use crate::core::ids::{EntryId, JobId, SessionKey};
use crate::core::message::{Command, Content};
use crate::core::session::Session;
use crate::core::session::tool_call::Status;
use crate::core::store::checkpoint::{
    Fetched, Head, Held, Kind, Limits, Loaded, Planned, Reply, TurnKey, Wish, unmarked, with_hunk,
};
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::{self, saving};
use crate::nvim::checkpoints::preview::Preview;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::{Change, EditorEvent};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// How often files are fetched again because the user typed meanwhile.
const TRIES: u32 = 3;

/// Each with its tick, and what is to be told of it.
type ForFetching = (Vec<Option<(Buf, u64)>>, Vec<(Planned, Option<Loaded>)>);

type WithReply = Box<dyn FnOnce(&mut Checkpoints, &mut Context, Reply) -> Result<()>>;

pub struct Checkpoints {
    folder: PathBuf,
    /// The turn that each session is in, or was in last, and what it was asked.
    turns: HashMap<SessionKey, (TurnKey, String)>,
    waiting: HashMap<JobId, WithReply>,
    number: u64,
    /// What a restore would change.
    preview: Option<Preview>,
}

/// What is to be restored, and what to call it.
#[derive(Clone)]
pub struct Restore {
    /// Of the turn.
    pub head: Head,
    pub files: Vec<Planned>,
    /// Of the one file, only this is to be put back.
    pub hunk: Option<Hunk>,
}

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
    turn: TurnKey,
    done: usize,
    left: usize,
    failed: Vec<String>,
}

impl Checkpoints {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, turns: HashMap::new(), waiting: HashMap::new(), number: 0, preview: None }
    }

    fn turn_key(&mut self, cx: &Context) -> TurnKey {
        self.number += 1;
        TurnKey { at: cx.now().0, number: self.number }
    }

    /// A prompt has gone out.
    pub fn turn_started(&mut self, cx: &mut Context, key: SessionKey, content: &[Content]) {
        self.forget_turn(cx, key);
        let text = content.iter().find_map(|content| match content {
            Content::Text(text) => Some(Head::short_prompt(text)),
            _ => None,
        });
        let turn = self.turn_key(cx);
        self.turns.insert(key, (turn, text.unwrap_or_default()));
    }

    /// Nothing more comes of the session's last turn: another one begins, or the session is closed.
    pub fn forget_turn(&mut self, cx: &mut Context, key: SessionKey) {
        if let Some((turn, _)) = self.turns.remove(&key)
            && cx.config.checkpoints.enabled
        {
            self.tell_store(cx, Wish::Finish { turn });
        }
    }

    /// A change of an agent's has come about.
    pub fn record(&mut self, cx: &mut Context, change: &Change) {
        if !cx.config.checkpoints.enabled || change.held.0 == change.held.1 {
            return;
        }
        let key = change.session;
        if !self.turns.contains_key(&key) {
            self.turn_started(cx, key, &[]);
        }
        let Some((turn, head)) = self.turn_head(cx, key) else { return };
        let (before, after) = change.held.clone();
        let path = change.path.clone();
        let call = change.call.and_then(|entry| title_of(cx, key, entry));
        self.tell_store(cx, Wish::Add { turn, head, at: cx.now().0, path, call, before, after });
    }

    fn turn_head(&self, cx: &Context, key: SessionKey) -> Option<(TurnKey, Head)> {
        let session = cx.sessions.get(&key)?;
        let (turn, prompt) = self.turns.get(&key)?;
        let head = Head {
            agent: session.name(),
            acp_id: session.acp_id.clone().unwrap_or_default(),
            title: session.title.clone(),
            cwd: session.place.cwd.clone(),
            prompt: prompt.clone(),
            kind: Kind::Turn,
        };
        Some((*turn, head))
    }

    /// A call that is about a file has changed. Agents that write without the client are known by it.
    pub fn record_call(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId, path: &Path) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return };
        let here = cx.config.checkpoints.enabled && session.taking_up.is_none();
        let Some((turn, head)) = self.turn_head(cx, key).filter(|_| here) else { return };
        let full = canonical(path);
        if call.status.is_over() && !matches!(call.status, Status::Done | Status::Unreported) {
            return self.tell_store(cx, Wish::Unlook { turn, path: full, entry: entry.0 });
        }
        // What a buffer holds comes by the buffer.
        if cx.buf_of(path).is_some() {
            return;
        }
        let wish = match call.status {
            Status::Done => {
                let diffs =
                    call.diffs().filter(|diff| session.place.cwd.join(&diff.path) == path).cloned().collect();
                let call = title_of(cx, key, entry);
                Wish::Settle { turn, head, at: cx.now().0, path: full, call, diffs }
            }
            _ if call.status.is_over() => return,
            _ => Wish::Look { turn, path: full, entry: entry.0 },
        };
        self.tell_store(cx, wish);
    }

    fn tell_store(&self, cx: &mut Context, wish: Wish) {
        let options = cx.config.checkpoints;
        let limits = Limits { age: u64::from(options.days) * DAY, bytes: u64::from(options.size) << 20 };
        let folder = self.folder.clone();
        cx.send(Command::Checkpoint { folder, limits, wish: Box::new(wish) });
    }

    /// Wishes for something that is answered.
    pub fn ask_store(
        &mut self,
        cx: &mut Context,
        wish: impl FnOnce(JobId) -> Wish,
        then: impl FnOnce(&mut Self, &mut Context, Reply) -> Result<()> + 'static,
    ) {
        let job = cx.next_job();
        self.waiting.insert(job, Box::new(then));
        self.tell_store(cx, wish(job));
    }

    pub fn replied(&mut self, cx: &mut Context, job: JobId, reply: Reply) -> Result<()> {
        let Some(then) = self.waiting.remove(&job) else { return Ok(()) };
        match reply {
            Reply::Failed(why) => {
                cx.advise(format!("couldn't use the checkpoints in {why}"), Level::Error);
                Ok(())
            }
            reply => then(self, cx, reply),
        }
    }

    /// Puts files back. Asks when others have changed them since the session has.
    pub fn restore(&mut self, cx: &mut Context, restore: Restore) -> Result<()> {
        self.restore_again(cx, restore, TRIES)
    }

    fn restore_again(&mut self, cx: &mut Context, restore: Restore, tries: u32) -> Result<()> {
        let (bufs, files) = for_fetching(cx, &restore)?;
        let cwd = restore.head.cwd.clone();
        self.ask_store(
            cx,
            |job| Wish::Fetch { job, cwd, files },
            move |this, cx, reply| match reply {
                Reply::Fetched(fetched) => this.fetched(cx, restore, bufs, fetched, tries),
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
        restore: Restore,
        bufs: Vec<Option<(Buf, u64)>>,
        fetched: Vec<Fetched>,
        tries: u32,
    ) -> Result<()> {
        let mut ready = Vec::new();
        let mut failed = Vec::new();
        for (fetched, buf) in fetched.into_iter().zip(bufs) {
            let Fetched { path, mut target, expected, disk, mut edits, hunks: _ } = fetched;
            let name = name_below(&restore, &path);
            let now = match buf {
                Some((buf, tick)) if tick > 0 && cx.editor.buf_is_loaded(buf) => {
                    buffers::held(&cx.editor, buf, disk != Held::Absent)
                }
                Some(_) => Held::Unknown,
                None => disk.clone(),
            };
            if let (Some(hunk), Held::Text(text), Ok(Held::Text(_))) = (&restore.hunk, &now, &target) {
                target = match with_hunk(text, hunk) {
                    Some(text) => Ok(Held::Text(text.into())),
                    None => Err("that place has changed since it was shown".to_owned()),
                };
                let rows = hunk.row..hunk.row + hunk.removed.len();
                edits = vec![TextEdit::from(Splice { rows, lines: hunk.added.clone() })];
            }
            match target {
                Err(why) => failed.push(format!("{name}: {why}")),
                Ok(target) if target == now => {}
                Ok(_) if now == Held::Unknown => {
                    failed.push(format!("{name}: what it holds now is too large to be kept, or no text"));
                }
                Ok(target) => {
                    if !is_unchanged(cx, &path, buf)? {
                        return self.restore_anew(cx, restore, tries);
                    }
                    let changed = expected.as_ref() != Some(&now);
                    ready.push(Ready { path, buf, now, disk, target, edits, changed });
                }
            }
        }
        if ready.is_empty() {
            let text = match failed.is_empty() {
                true => "nothing to restore: the files are as they were before that turn".to_owned(),
                false => format!("couldn't restore {}", failed.join("; ")),
            };
            cx.advise(text, if failed.is_empty() { Level::Info } else { Level::Error });
            return Ok(());
        }
        let changed: Vec<String> =
            ready.iter().filter(|file| file.changed).map(|file| name_below(&restore, &file.path)).collect();
        if changed.is_empty() {
            return self.put_all(cx, restore, ready, failed, tries);
        }
        let all = ready.len();
        let prompt = match all {
            1 => format!("{} was changed since by you or others", changed[0]),
            _ => format!(
                "{} of these {all} files changed since by you or others: {}",
                changed.len(),
                changed.join(", ")
            ),
        };
        let mut items = vec![match all {
            1 => "Restore it all the same; that can be undone".to_owned(),
            _ => "Restore all of them all the same; that can be undone".to_owned(),
        }];
        if changed.len() < all {
            items.push(format!("Restore the other {} alone", all - changed.len()));
        }
        items.push("Leave all as it is".to_owned());
        let last = items.len() - 1;
        cx.offer(&prompt, "acp_restore", items, move |this: &mut Self, cx, index| match index {
            0 => this.put_all(cx, restore, ready, failed, tries),
            index if index == last => Ok(()),
            _ => {
                ready.retain(|file| !file.changed);
                this.put_all(cx, restore, ready, failed, tries)
            }
        });
        Ok(())
    }

    fn restore_anew(&mut self, cx: &mut Context, restore: Restore, tries: u32) -> Result<()> {
        match tries.checked_sub(1) {
            Some(tries) => self.restore_again(cx, restore, tries),
            None => {
                cx.advise(
                    "couldn't restore: the files change all the time; try again".to_owned(),
                    Level::Error,
                );
                Ok(())
            }
        }
    }

    fn put_all(
        &mut self,
        cx: &mut Context,
        restore: Restore,
        ready: Vec<Ready>,
        failed: Vec<String>,
        tries: u32,
    ) -> Result<()> {
        for file in &ready {
            if !is_unchanged(cx, &file.path, file.buf)? {
                // The user typed while they were asked.
                return self.restore_anew(cx, restore, tries);
            }
        }
        let turn = self.turn_key(cx);
        let mut of = restore;
        let what = match of.head.kind {
            Kind::Turn => format!("Restored to before: {}", of.head.prompt),
            Kind::Restore => format!("Undone: {}", of.head.prompt),
        };
        let head = Head { kind: Kind::Restore, prompt: Head::short_prompt(&what), ..of.head.clone() };
        let label = std::mem::replace(&mut of.head, head).prompt;
        let outcome = Outcome { of, turn, done: 0, left: ready.len(), failed };
        let outcome = Rc::new(RefCell::new(outcome));
        for file in ready {
            let done = match file.buf {
                Some((buf, _)) => self.put_in_buffer(cx, &outcome, &label, &file, buf)?,
                None => None,
            };
            match done {
                Some(done) => self.put_one(cx, &outcome, &label, &file.path, done)?,
                None => {
                    let (head, path) = (outcome.borrow().of.head.clone(), file.path.clone());
                    let (seen, target, at) = (file.disk.clone(), file.target.clone(), cx.now().0);
                    let (outcome, label) = (outcome.clone(), label.clone());
                    self.ask_store(
                        cx,
                        |job| Wish::Put { job, turn, head, at, path, seen, target },
                        move |this, cx, reply| {
                            let Reply::Put(done) = reply else { return Ok(()) };
                            if done.is_ok() {
                                let (path, held) = (file.path.clone(), file.target.clone());
                                cx.raise(EditorEvent::FileRestored { path, held });
                            }
                            this.put_one(cx, &outcome, &label, &file.path, done)
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
        label: &str,
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
        note_restored(cx, outcome, label, &file.path);
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
        label: &str,
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
        let (done, failed) = (state.done, state.failed.join("; "));
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

/// What a call is called in the list of checkpoints.
fn title_of(cx: &Context, key: SessionKey, entry: EntryId) -> Option<String> {
    let call = cx.sessions.get(&key)?.entry(entry)?.tool()?;
    Some(Head::short_prompt(&call.title)).filter(|title| !title.is_empty())
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
fn note_restored(cx: &mut Context, outcome: &RefCell<Outcome>, label: &str, path: &Path) {
    let outcome = outcome.borrow();
    let name = name_below(&outcome.of, path);
    let head = &outcome.of.head;
    let of =
        |session: &&Session| session.acp_id.as_ref() == Some(&head.acp_id) && session.name() == head.agent;
    if let Some(session) = cx.sessions.values().find(of).map(|session| session.key) {
        let text = format!("- {name}: all of it, back to before \"{label}\"");
        cx.raise(EditorEvent::ChangeUndone { session, text });
    }
}

fn name_below(restore: &Restore, path: &Path) -> String {
    path.strip_prefix(canonical(&restore.head.cwd)).unwrap_or(path).display().to_string()
}
