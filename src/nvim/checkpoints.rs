//! Checkpoints, as the editor sees them: each change of an agent's is told to the record, and files are
//! put back to what they were before a turn. How that is done is left to `restoring`, what the user chooses of
//! them to `actions`.

pub mod actions;
pub mod blame;
pub mod preview;
pub mod preview_actions;
pub mod restoring;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::ids::{EntryId, JobId, SessionKey};
use crate::core::message::{Command, Content, FileDiff};
use crate::core::session::call_news::CallNews;
use crate::core::session::tool_call::Status;
use crate::core::store::call_titles::CallTitles;
use crate::core::store::checkpoint::{
    Attributed, CheckpointRequest, Head, Held, Kind, Limits, Reply, TurnKey,
};
use crate::core::store::looked::LookedFiles;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::checkpoints::preview::Preview;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::events::{Attribution, Change};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

type WithReply = Box<dyn FnOnce(&mut Checkpoints, &mut Context, Reply) -> Result<()>>;

pub struct Checkpoints {
    folder: PathBuf,
    /// The turn that each session is in, or was in last, and what it was asked.
    turns: BTreeMap<SessionKey, (TurnKey, String)>,
    titles: CallTitles,
    looked: LookedFiles,
    waiting: HashMap<JobId, WithReply>,
    number: u64,
    /// What a restore would change.
    preview: Option<Preview>,
}

impl Checkpoints {
    pub fn new(folder: PathBuf) -> Self {
        let (turns, waiting) = (BTreeMap::new(), HashMap::new());
        let (titles, looked) = (CallTitles::default(), LookedFiles::default());
        Self { folder, turns, titles, looked, waiting, number: 0, preview: None }
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
        self.titles.forget(key);
        let Some((turn, _)) = self.turns.remove(&key) else { return };
        self.looked.forget(turn);
        if cx.config.checkpoints.enabled {
            self.tell_store(cx, CheckpointRequest::Finish { turn });
        }
    }

    /// A change of an agent's has come about.
    pub fn record(&mut self, cx: &mut Context, change: &Change) {
        let (before, after) = &change.held;
        // What is not known may be another thing each time.
        let is_same = before.matches(after) && *before != Held::Unknown;
        if !cx.config.checkpoints.enabled || is_same {
            return;
        }
        let key = change.session;
        if !self.turns.contains_key(&key) {
            self.turn_started(cx, key, &[]);
        }
        let Some((turn, head)) = self.turn_head(cx, key) else { return };
        let (before, after) = change.held.clone();
        let path = change.path.clone();
        let call = self.title(cx, (key, change.call), &path);
        let (at, saved) = (cx.now().0, None);
        self.tell_store(cx, CheckpointRequest::Add { turn, head, at, path, call, before, after, saved });
    }

    /// A change that was recorded is another's.
    pub fn attributed(&mut self, cx: &mut Context, change: &Attribution) {
        let Some(from) = change.from.first().filter(|_| cx.config.checkpoints.enabled) else { return };
        let Some((turn, head)) = self.turn_head(cx, from.session) else { return };
        let path = change.path.clone();
        let still = change.to.iter().find(|writer| writer.session == from.session);
        let call = still.and_then(|writer| self.title(cx, (writer.session, writer.call), &path));
        let told = Attributed { path: path.clone(), call, is_another: still.is_none() };
        self.tell_store(cx, CheckpointRequest::Attribute { turn, cwd: head.cwd, at: cx.now().0, told });
        let Some(to) = change.to.first().filter(|_| still.is_none()) else { return };
        if !self.turns.contains_key(&to.session) {
            self.turn_started(cx, to.session, &[]);
        }
        let Some((turn, head)) = self.turn_head(cx, to.session) else { return };
        let (before, after) = change.held.clone();
        let call = self.title(cx, (to.session, to.call), &path);
        let (at, saved) = (cx.now().0, None);
        self.tell_store(cx, CheckpointRequest::Add { turn, head, at, path, call, before, after, saved });
    }

    /// An agent told of a tool call.
    pub fn call_changed(&mut self, cx: &mut Context, news: &CallNews) {
        for path in news.touched.iter().filter(|_| news.edits || news.done) {
            self.record_call(cx, news.session, news.entry, path);
        }
        if news.over {
            self.call_over(cx, news.session, news.entry);
        }
    }

    /// A call has its last title: what was recorded of it may have an earlier one.
    fn call_over(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) {
        if !self.titles.has((key, entry)) {
            return;
        }
        let title = title_of(cx, key, entry);
        let paths = self.titles.renamed((key, entry), &title);
        if paths.is_empty() {
            return;
        }
        let Some((turn, head)) = self.turn_head(cx, key) else { return };
        for path in paths {
            let told = Attributed { path, call: title.clone(), is_another: false };
            self.tell_store(
                cx,
                CheckpointRequest::Attribute { turn, cwd: head.cwd.clone(), at: cx.now().0, told },
            );
        }
    }

    /// What a call is called in the list of checkpoints, of which a change of this file is recorded.
    fn title(
        &mut self,
        cx: &Context,
        (key, call): (SessionKey, Option<EntryId>),
        path: &Path,
    ) -> Option<String> {
        let title = title_of(cx, key, call?);
        self.titles.record((key, call?), title.clone(), path);
        title
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
    fn record_call(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId, path: &Path) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return };
        let here = cx.config.checkpoints.enabled && session.taking_up.is_none();
        let Some(turn) = self.turns.get(&key).map(|(turn, _)| *turn).filter(|_| here) else { return };
        let full = canonical(path);
        if call.status.is_over() && !matches!(call.status, Status::Done | Status::Unreported) {
            return self.tell_store(cx, CheckpointRequest::Unlook { turn, path: full, entry: entry.0 });
        }
        // What a buffer holds comes by the buffer.
        if cx.buf_of(path).is_some() {
            return;
        }
        let request = match call.status {
            Status::Done => {
                let diffs: Vec<FileDiff> =
                    call.diffs().filter(|diff| session.place.cwd.join(&diff.path) == path).cloned().collect();
                // Of what was there before nothing is known, as with calls that read.
                if !self.looked.is_over(turn, &full) && diffs.is_empty() {
                    return;
                }
                let Some((turn, head)) = self.turn_head(cx, key) else { return };
                let call = self.title(cx, (key, Some(entry)), &full);
                CheckpointRequest::Settle { turn, head, at: cx.now().0, path: full, call, diffs }
            }
            _ if call.status.is_over() => return,
            _ => {
                self.looked.add(turn, full.clone());
                CheckpointRequest::Look { turn, path: full, entry: entry.0 }
            }
        };
        self.tell_store(cx, request);
    }

    fn tell_store(&self, cx: &mut Context, request: CheckpointRequest) {
        let options = cx.config.checkpoints;
        let limits = Limits { age: u64::from(options.days) * DAY_MS, bytes: u64::from(options.size) << 20 };
        let folder = self.folder.clone();
        cx.send(Command::Checkpoint { folder, limits, request: Box::new(request) });
    }

    /// Asks for something that is answered.
    pub fn ask_store(
        &mut self,
        cx: &mut Context,
        request: impl FnOnce(JobId) -> CheckpointRequest,
        then: impl FnOnce(&mut Self, &mut Context, Reply) -> Result<()> + 'static,
    ) {
        let job = cx.next_job();
        self.waiting.insert(job, Box::new(then));
        self.tell_store(cx, request(job));
    }

    pub fn replied(&mut self, cx: &mut Context, job: JobId, reply: Reply) -> Result<()> {
        let Some(then) = self.waiting.remove(&job) else { return Ok(()) };
        match reply {
            Reply::Failed(why) => {
                cx.notify(format!("couldn't use the checkpoints in {why}"), Level::Error);
                Ok(())
            }
            reply => then(self, cx, reply),
        }
    }
}

/// What a call is called in the list of checkpoints.
fn title_of(cx: &Context, key: SessionKey, entry: EntryId) -> Option<String> {
    let call = cx.sessions.get(&key)?.entry(entry)?.tool()?;
    Some(Head::short_prompt(&call.title)).filter(|title| !title.is_empty())
}
