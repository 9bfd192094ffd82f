//! The demo agent's sessions on the disk, so that they can be listed, resumed and loaded by another process: a file for
//! each, with a line for everything that was said in it. Which sessions are open is for `agent`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::civil_date::date_of;
use crate::settings::{Memory, Settings};

/// Sessions that are kept; of more, those go that were used least lately.
const MAX_SESSIONS: usize = 30;

/// A session of more bytes is not added to.
const MAX_SESSION_BYTES: u64 = 4 << 20;

#[derive(Clone)]
pub struct Store {
    folder: PathBuf,
}

/// The first line of a file, and the last one of each turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    pub cwd: PathBuf,
    pub settings: Settings,
    pub memory: Memory,
    /// Put away, until somebody brings it back or goes on with it.
    #[serde(default)]
    pub archived: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    State(State),
    /// An update as the client got it, or as it gets it when the session is loaded.
    Update(Value),
}

/// A session as it is stored.
pub struct Stored {
    pub id: String,
    pub state: State,
    pub updates: Vec<Value>,
    pub used: SystemTime,
}

impl Stored {
    /// When it was used last, as ISO 8601.
    pub fn updated_at(&self) -> Option<String> {
        let since = self.used.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        let (year, month, day) = date_of(i64::try_from(days).ok()?);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
    }
}

impl Store {
    /// In `ACP_DEMO_SESSIONS`, else below the folder that the system has for such things. None where there is none.
    pub fn from_env() -> Option<Self> {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let state = || {
            folder("XDG_STATE_HOME")
                .or_else(|| folder("LOCALAPPDATA"))
                .or_else(|| Some(folder("HOME")?.join(".local/state")))
        };
        let folder = folder("ACP_DEMO_SESSIONS").or_else(|| Some(state()?.join("acp-demo-agent")))?;
        folder.is_absolute().then_some(Self { folder })
    }

    /// A client may send any id; those that are no names of ours are no files.
    fn file(&self, id: &str) -> Option<PathBuf> {
        let is_ours = id.starts_with("demo-") && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_ours.then(|| self.folder.join(format!("{id}.jsonl")))
    }

    /// Adds what was said, and how the session is now.
    pub fn add(&self, id: &str, updates: &[Value], state: &State) -> io::Result<()> {
        let Some(file) = self.file(id) else { return Ok(()) };
        fs::create_dir_all(&self.folder)?;
        let is_new = !file.exists();
        let mut text = Vec::new();
        let lines = updates.iter().map(|update| Line::Update(update.clone()));
        for line in lines.chain([Line::State(state.clone())]) {
            serde_json::to_writer(&mut text, &line)?;
            text.push(b'\n');
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut opened = options.open(&file)?;
        if opened.metadata()?.len() + text.len() as u64 <= MAX_SESSION_BYTES {
            opened.write_all(&text)?;
        }
        if is_new {
            self.make_room();
        }
        Ok(())
    }

    pub fn load(&self, id: &str) -> Option<Stored> {
        let file = self.file(id)?;
        let text = fs::read_to_string(&file).ok()?;
        let used = file.metadata().and_then(|facts| facts.modified()).ok()?;
        let (mut state, mut updates) = (None, Vec::new());
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(Line::State(newer)) => state = Some(newer),
                Ok(Line::Update(update)) => updates.push(update),
                // It was being written when the machine stopped.
                Err(_) => {}
            }
        }
        Some(Stored { id: id.to_owned(), state: state?, updates, used })
    }

    /// The sessions of a folder, or all of them; the one used last comes first.
    pub fn list(&self, cwd: Option<&Path>) -> Vec<Stored> {
        let ids = self.files().into_iter().rev();
        let ids = ids.filter_map(|(_, path)| Some(path.file_stem()?.to_str()?.to_owned()));
        let all = ids.filter_map(|id| self.load(&id));
        // One in which nothing was said is not worth a line.
        let all = all.filter(|stored| !stored.updates.is_empty());
        all.filter(|stored| cwd.is_none_or(|cwd| stored.state.cwd == cwd)).collect()
    }

    /// Puts a session away, or brings it back. Says whether there is one.
    pub fn archive(&self, id: &str, archived: bool) -> io::Result<bool> {
        let Some(stored) = self.load(id) else { return Ok(false) };
        self.add(id, &[], &State { archived, ..stored.state })?;
        Ok(true)
    }

    /// Deletes a session. Says whether there was one.
    pub fn delete(&self, id: &str) -> bool {
        self.file(id).is_some_and(|file| fs::remove_file(file).is_ok())
    }

    /// The files there are, the one used least lately first.
    fn files(&self) -> Vec<(SystemTime, PathBuf)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let entries = entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        let mut files: Vec<_> =
            entries.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).collect();
        files.sort();
        files
    }

    fn make_room(&self) {
        let files = self.files();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_SESSIONS)) {
            // One that cannot go is looked at again next time.
            let _ = fs::remove_file(path);
        }
    }
}

/// Adds an update to those before it. Pieces of one message become one.
pub fn push(updates: &mut Vec<Value>, update: Value) {
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    if kind.ends_with("_chunk")
        && let Some(last) = updates.last_mut()
        && (&last["sessionUpdate"], &last["messageId"]) == (&update["sessionUpdate"], &update["messageId"])
        && let (Value::String(text), Some(more)) =
            (&mut last["content"]["text"], update["content"]["text"].as_str())
    {
        text.push_str(more);
        return;
    }
    updates.push(update);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn store(name: &str) -> Store {
        let folder = std::env::temp_dir().join(format!("acp-demo-stored-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Store { folder }
    }

    fn state(cwd: &str) -> State {
        State { cwd: cwd.into(), settings: Settings::default(), memory: Memory::default(), archived: false }
    }

    #[test]
    fn a_session_is_loaded_as_it_was_left() {
        let store = store("load");
        store.add("demo-1", &[json!({ "a": 1 })], &state("/p")).expect("to be stored");
        let mut later = state("/p");
        later.memory.title = Some("Later".into());
        store.add("demo-1", &[json!({ "b": 2 })], &later).expect("to be stored");
        let stored = store.load("demo-1").expect("a session");
        assert_eq!(stored.updates, [json!({ "a": 1 }), json!({ "b": 2 })]);
        assert_eq!(stored.state.memory.title.as_deref(), Some("Later"));
        assert_eq!(store.list(Some(Path::new("/p"))).len(), 1);
        assert_eq!(store.list(Some(Path::new("/elsewhere"))).len(), 0);
        assert!(store.delete("demo-1") && !store.delete("demo-1"));
        assert!(store.load("demo-1").is_none());
    }

    #[test]
    fn an_id_that_is_a_path_is_no_session() {
        let store = store("paths");
        for id in ["../demo-1", "demo-/x", "demo-..", "x", ""] {
            store.add(id, &[], &state("/p")).expect("nothing to do");
            assert!(store.load(id).is_none() && !store.delete(id), "{id}");
        }
        assert!(!store.folder.exists());
    }

    #[test]
    fn only_the_newest_sessions_are_kept() {
        let store = store("many");
        for number in 0..MAX_SESSIONS + 3 {
            store.add(&format!("demo-{number}"), &[json!({})], &state("/p")).expect("to be stored");
        }
        assert_eq!(store.list(None).len(), MAX_SESSIONS);
    }

    #[test]
    fn pieces_of_a_message_become_one() {
        let chunk = |id: &str, text: &str| {
            json!({ "sessionUpdate": "agent_message_chunk", "messageId": id,
                "content": { "type": "text", "text": text } })
        };
        let mut updates = Vec::new();
        for update in [chunk("1", "a"), chunk("1", "b"), chunk("2", "c"), json!({ "sessionUpdate": "plan" })]
        {
            push(&mut updates, update);
        }
        assert_eq!(updates.len(), 3);
        assert_eq!(updates[0]["content"]["text"], "ab");
    }
}
