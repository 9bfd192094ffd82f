//! The files that a session's tool calls are about, for agents that change them without the editor's
//! help: the background is told of each once, and tells when the file is another one on the disk. It is told
//! of the calls that edit a file, too: what the disk holds meanwhile may be half of a text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use mlua::Result;
use serde_json::{Value as Json, json};

use crate::core::changes::writers::Writer;
use crate::core::ids::{EntryId, Moment, SessionKey};
use crate::core::maps::FastSet;
use crate::core::message::{Command, FileDiff, Severity};
use crate::core::session::Session;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;

/// A file that is cut short is taken after ten seconds as it is.
const SETTLING_MS: u64 = 12_000;

/// What the background has been told to watch.
#[derive(Default)]
pub struct Watching {
    files: FastSet<(SessionKey, PathBuf)>,
    /// The calls under way that edit files.
    edits: HashSet<(SessionKey, EntryId, PathBuf)>,
    /// Files whose last edit is over, but may not be whole on the disk yet: the call, and when it ended.
    settling: HashMap<PathBuf, (Writer, Moment)>,
    /// Loaded buffers whose files agents have touched. An agent may write after its session is over, too.
    touched: HashSet<Buf>,
    /// Folders that the system does not watch: why, and whether their files are looked at instead.
    unwatched: BTreeMap<PathBuf, (String, bool)>,
    /// Chats that say that changes in a folder are not seen.
    told_unseen: HashSet<(SessionKey, PathBuf)>,
}

impl Watching {
    /// The session's agent is left.
    pub fn given_up(&mut self, cx: &mut Context, session: SessionKey) {
        self.edits_over(cx, session);
        self.ended(session);
    }

    /// The session is over: the background has given up its files.
    pub fn ended(&mut self, session: SessionKey) {
        self.files.retain(|(known, _)| *known != session);
        self.edits.retain(|(known, ..)| *known != session);
        self.settling.retain(|_, (writer, _)| writer.session != session);
        self.told_unseen.retain(|(known, _)| *known != session);
    }

    /// The system does not watch a folder; its files may be looked at instead.
    pub fn folder_unwatched(&mut self, cx: &mut Context, folder: PathBuf, why: String, is_looked_at: bool) {
        if !is_looked_at {
            self.tell_unseen(cx, &folder, &why);
        }
        self.unwatched.insert(folder, (why, is_looked_at));
    }

    /// The chats that work in a folder say that changes there are not seen, each once.
    fn tell_unseen(&mut self, cx: &mut Context, folder: &Path, why: &str) {
        let works_there = |session: &&Session| session.place.folders().any(|one| canonical(one) == folder);
        let keys: Vec<SessionKey> =
            cx.sessions.values().filter(works_there).map(|session| session.key).collect();
        for key in keys {
            if self.told_unseen.insert((key, folder.to_owned())) {
                let text = format!(
                    "What commands change in {} is not seen, since {why}; edits through the editor, and of files that a \
                     tool call names, are.",
                    folder.display()
                );
                cx.note(Some(key), Severity::Warning, text);
            }
        }
    }

    /// The same for `status()`.
    pub fn unwatched_status(&self) -> Vec<Json> {
        let folders = self.unwatched.iter();
        let status = |(folder, (why, is_looked_at)): (&PathBuf, &(String, bool))| json!({ "folder": folder.to_string_lossy(), "why": why, "noticed": if *is_looked_at { "late" } else { "never" } });
        folders.map(status).collect()
    }

    pub fn touch(&mut self, buf: Buf) {
        self.touched.insert(buf);
    }

    pub fn is_touched(&self, buf: Buf) -> bool {
        self.touched.contains(&buf)
    }

    pub fn unloaded(&mut self, buf: Buf) {
        self.touched.remove(&buf);
    }

    /// The sessions that have to do with a file, links resolved.
    pub fn sessions_of(&self, path: &Path) -> Vec<SessionKey> {
        let is_it = |known: &Path| {
            known == path || (known.file_name() == path.file_name() && canonical(known) == path)
        };
        self.files.iter().filter(|(_, known)| is_it(known)).map(|(session, _)| *session).collect()
    }

    /// Has the files of a call's diffs and places watched.
    pub fn watch_files_of(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
        // The files of a recording are no longer what they were.
        let Some(session) = cx.sessions.get(&key).filter(|session| !session.plays_recording()) else {
            return Ok(());
        };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let places = call.places().into_iter().map(|place| place.path);
        let named = call.diffs().map(|diff| diff.path.clone()).chain(places);
        let paths: Vec<PathBuf> = named.map(|path| session.place.cwd.join(path)).collect();
        for path in paths {
            if self.files.insert((key, path.clone())) {
                if let Some(buf) = cx.buf_of(&path) {
                    self.touch(buf);
                    cx.editor.helper::<()>("guard", buf)?;
                }
                cx.send(Command::Watch { session: key, path });
            }
        }
        Ok(())
    }

    /// Tells of the files that a call edits what it has announced so far (`content` says that this is new), or
    /// that it is over.
    pub fn announce_edits(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId, content: bool) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return };
        let over = call.status.is_over();
        let absolute = |path: &Path| session.place.cwd.join(path);
        let mut edits: BTreeMap<PathBuf, Vec<FileDiff>> = BTreeMap::new();
        for place in call.places() {
            edits.entry(absolute(&place.path)).or_default();
        }
        for diff in call.diffs() {
            edits.entry(absolute(&diff.path)).or_default().push(diff.clone());
        }
        for (path, diffs) in edits {
            // What a buffer holds has a name whose links are resolved.
            let buf = cx.buf_of(&path).filter(|buf| cx.editor.buf_is_loaded(*buf));
            let path = buf.and_then(|buf| cx.buffers.name_of(buf)).map(Path::to_owned).unwrap_or(path);
            // A link has another name than its file.
            self.files.insert((key, path.clone()));
            let known = (key, entry, path.clone());
            let tells = match over {
                true => self.edits.remove(&known),
                false => self.edits.insert(known) || content,
            };
            if over && buf.is_some() {
                let writer = Writer { session: key, call: Some(entry) };
                self.settling.insert(path.clone(), (writer, cx.now()));
            }
            if tells {
                let diffs = (!over).then_some(diffs);
                let clean = buf.filter(|buf| !is_modified(&cx.editor, *buf));
                let size = clean
                    .and_then(|buf| Some(cx.editor.byte_count(buf, cx.editor.line_count(buf).ok()?) as u64));
                let held = cx.buffers.held(&path).and_then(|held| held.stamp);
                cx.send(Command::Edits { session: key, call: entry.0 as u64, path, diffs, held, size });
            }
        }
    }

    /// The call whose text is still to come, though it is over.
    pub fn settling(&self, path: &Path, now: Moment) -> Option<Writer> {
        let (writer, at) = self.settling.get(path)?;
        (now.since(*at) < SETTLING_MS).then_some(*writer)
    }

    /// The buffer has what the disk has.
    pub fn has_settled(&mut self, path: &Path) {
        self.settling.remove(path);
    }

    /// None of the session's calls is under way any more, whatever they said last.
    pub fn edits_over(&mut self, cx: &mut Context, key: SessionKey) {
        let over: Vec<_> = self.edits.iter().filter(|(session, ..)| *session == key).cloned().collect();
        for known in over {
            self.edits.remove(&known);
            let (session, entry, path) = known;
            cx.send(Command::Edits {
                session,
                call: entry.0 as u64,
                path,
                diffs: None,
                held: None,
                size: None,
            });
        }
    }
}
