//! The records of sessions on the disk: a folder with one file for each, to which lines are only ever
//! appended, so that several Neovims do not lose each other's, and a file for each Neovim with the
//! sessions that it has open. A thread of its own does it, in the order in which it was asked for. What
//! the lines say is `core::store::record`'s word.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::acp::files::disk;
use crate::acp::store::owned::{Names, Owned, others};
use crate::acp::worker::{Serve, Service};
use crate::core::message::Event;
use crate::core::store::record::{Fact, Kept, Line, Owner, RecordRequest, SessionName};
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private};

/// Sessions that are kept; of more, those go that were used least lately.
const MAX_SESSIONS: usize = 500;

/// A file of more bytes is written anew, with what counts of it.
const LARGE: u64 = 1 << 20;

/// Which sessions each Neovim has open.
const OPEN: Names = Names { prefix: "open", extension: "json" };

/// The handle to the index; what is asked for is about the folder that it is in.
pub type SessionIndex = Service<Index>;

pub struct Index {
    mailbox: Arc<Mailbox>,
    /// What this Neovim has open, by folder.
    open: HashMap<PathBuf, Owned>,
    /// It was said already that something can't be kept.
    told: bool,
}

impl Service<Index> {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self::named("acp-sessions", move || Index {
            mailbox: mailbox.clone(),
            open: HashMap::new(),
            told: false,
        })
    }
}

impl Serve for Index {
    type Request = RecordRequest;

    fn serve(&mut self, folder: &Path, request: RecordRequest) {
        self.handle(folder, request);
    }

    fn refuse(&mut self, folder: &Path, request: RecordRequest, why: &io::Error) {
        self.failed(request, folder, why);
    }

    fn end(self) {
        self.open.into_values().for_each(Owned::remove);
    }
}

impl Index {
    fn handle(&mut self, folder: &Path, request: RecordRequest) {
        let done = match &request {
            RecordRequest::TellOpen { sessions } => self.tell_open(folder, sessions),
            RecordRequest::Keep { owner, line } => keep(folder, owner, line),
            RecordRequest::Forget { agent, acp_id } => {
                match fs::remove_file(folder.join(file_name(agent, acp_id))) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                }
            }
            RecordRequest::Recall { job } => match self.recall(folder) {
                Ok(kept) => return self.mailbox.post(Event::Recalled { job: *job, kept: Ok(kept) }),
                Err(error) => Err(error),
            },
        };
        if let Err(error) = done {
            self.failed(request, folder, &error);
        }
    }

    /// What cannot be kept is told of once; the reason will be the same next time.
    fn failed(&mut self, request: RecordRequest, folder: &Path, error: &io::Error) {
        let folder = folder.display();
        match request {
            RecordRequest::Recall { job } => {
                let why = format!("couldn't read the record of sessions in {folder}: {error}");
                self.mailbox.post(Event::Recalled { job, kept: Err(why) });
            }
            _ if self.told => {}
            _ => {
                self.told = true;
                let text = format!(
                    "couldn't keep the record of sessions in {folder}: {error}; setup{{ record = false }} does without"
                );
                self.mailbox.post(Event::RecordFailed { text });
            }
        }
    }

    fn tell_open(&mut self, folder: &Path, sessions: &[SessionName]) -> io::Result<()> {
        if sessions.is_empty() {
            if let Some(owned) = self.open.remove(folder) {
                owned.remove();
            }
            return Ok(());
        }
        if !self.open.contains_key(folder) {
            self.open.insert(folder.to_owned(), Owned::new(folder, OPEN)?);
        }
        let Some(owned) = self.open.get(folder) else { return Ok(()) };
        disk::replace_private(&owned.file, &serde_json::to_vec(sessions)?)
    }

    /// All records, the one used last first. One that cannot be read is none.
    fn recall(&self, folder: &Path) -> io::Result<Vec<Kept>> {
        let elsewhere = self.open_elsewhere(folder)?;
        let read = |path: &PathBuf| Kept::read(&String::from_utf8_lossy(&fs::read(path).ok()?));
        let mut kept: Vec<Kept> = files(folder)?.iter().filter_map(|(_, path)| read(path)).collect();
        for kept in &mut kept {
            kept.elsewhere = elsewhere.iter().any(|name| kept.owner.is_called(name));
        }
        kept.sort_by_key(|kept| std::cmp::Reverse(kept.used));
        Ok(kept)
    }

    /// The sessions that other Neovims have open. What those have left that are gone is removed.
    fn open_elsewhere(&self, folder: &Path) -> io::Result<Vec<SessionName>> {
        let (gone, living) = others(folder, OPEN, self.open.get(folder))?;
        gone.into_iter().for_each(Owned::remove);
        // A Neovim that goes at this moment has none, and what a later version writes may be another thing.
        let read = |path: &PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        Ok(living.iter().filter_map(read).flat_map(|open: Vec<SessionName>| open).collect())
    }
}

fn keep(folder: &Path, owner: &Owner, line: &Line) -> io::Result<()> {
    create_private_folder(folder)?;
    let path = folder.join(file_name(&owner.agent, &owner.acp_id));
    // Prompts are nobody else's business.
    let mut file = private().create(true).append(true).read(true).open(&path)?;
    let length = file.metadata()?.len();
    let mut text = Vec::new();
    if length == 0 {
        write_line(&mut text, &Line { at: line.at, fact: Fact::Owner(owner.clone()) })?;
    }
    write_line(&mut text, line)?;
    disk::append_lines(&mut file, &text)?;
    // Windows replaces no file that is open.
    drop(file);
    if length == 0 {
        make_room(folder)?;
    } else if length > LARGE {
        shorten(&path)?;
    }
    Ok(())
}

fn write_line(text: &mut Vec<u8>, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *text, line)?;
    text.push(b'\n');
    Ok(())
}

/// Writes a record anew with what counts of it; the new one is there wholly or not at all.
fn shorten(path: &Path) -> io::Result<()> {
    let Some(kept) = Kept::read(&String::from_utf8_lossy(&fs::read(path)?)) else { return Ok(()) };
    let mut text = Vec::new();
    for line in kept.lines() {
        write_line(&mut text, &line)?;
    }
    disk::replace_private(path, &text)
}

fn files(folder: &Path) -> io::Result<Vec<(SystemTime, PathBuf)>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        // One that another Neovim takes away at this moment is not there.
        if path.extension().is_some_and(|extension| extension == "jsonl")
            && let Ok(facts) = path.metadata()
        {
            files.push((facts.modified()?, path));
        }
    }
    files.sort();
    Ok(files)
}

fn make_room(folder: &Path) -> io::Result<()> {
    let files = files(folder)?;
    for (_, path) in files.iter().take(files.len().saturating_sub(MAX_SESSIONS)) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// An agent's ids may be anything; the file's name is none of that, but always the same.
fn file_name(agent: &str, acp_id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let agent_part: String = agent.chars().take(40).map(plain).collect();
    // FNV-1a: the standard library's hashes differ between versions.
    let bytes = agent.bytes().chain([0]).chain(acp_id.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{agent_part}-{hash:016x}.jsonl")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-record-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn index() -> Index {
        Index { mailbox: Mailbox::new(|_| {}), open: HashMap::new(), told: false }
    }

    fn recall(folder: &Path) -> io::Result<Vec<Kept>> {
        index().recall(folder)
    }

    fn owner(acp_id: &str) -> Owner {
        Owner { agent: "claude".into(), acp_id: acp_id.into(), cwd: "/src".into(), called: None }
    }

    #[test]
    fn what_was_kept_is_recalled_newest_first() {
        let folder = &Folder::new("order").0;
        assert_eq!(recall(folder).expect("an empty record"), []);
        keep(folder, &owner("a"), &Line::prompt(1, "one")).expect("to keep");
        keep(folder, &owner("b"), &Line::prompt(3, "three")).expect("to keep");
        keep(folder, &owner("a"), &Line::prompt(2, "two")).expect("to keep");
        let kept = recall(folder).expect("to recall");
        let found: Vec<(&str, usize)> =
            kept.iter().map(|kept| (kept.owner.acp_id.as_str(), kept.prompts.len())).collect();
        assert_eq!(found, [("b", 1), ("a", 2)]);
    }

    #[test]
    fn two_neovims_that_write_at_once_lose_nothing() {
        let folder = Folder::new("two");
        thread::scope(|scope| {
            for who in 0..4 {
                let folder = &folder.0;
                scope.spawn(move || {
                    for number in 0..40 {
                        let line = Line::prompt(number, &format!("{who} {number}"));
                        keep(folder, &owner("shared"), &line).expect("to keep");
                        keep(folder, &owner(&format!("own {who}")), &line).expect("to keep");
                    }
                });
            }
        });
        let kept = recall(&folder.0).expect("to recall");
        let mut counts: Vec<usize> = kept.iter().map(|kept| kept.prompts.len()).collect();
        counts.sort_unstable();
        assert_eq!(counts, [40, 40, 40, 40, 160]);
    }

    #[test]
    fn what_another_neovim_has_open_is_told_until_it_closes_it_or_is_gone() {
        let folder = &Folder::new("open").0;
        for id in ["a", "b"] {
            keep(folder, &owner(id), &Line::prompt(1, "one")).expect("to keep");
        }
        let name = |acp_id: &str| SessionName { agent: "claude".into(), acp_id: acp_id.into() };
        let elsewhere = |index: &Index| -> Vec<String> {
            let kept = index.recall(folder).expect("to recall");
            kept.into_iter().filter(|kept| kept.elsewhere).map(|kept| kept.owner.acp_id).collect()
        };
        let (mut first, second) = (index(), index());
        first.tell_open(folder, &[name("a"), name("new")]).expect("to tell");
        assert_eq!((elsewhere(&first), elsewhere(&second)), (vec![], vec!["a".to_owned()]));
        first.tell_open(folder, &[name("b")]).expect("to tell");
        assert_eq!(elsewhere(&second), ["b"]);
        // Its lock goes with it, its file stays.
        drop(first);
        assert_eq!(elsewhere(&second), [""; 0]);
        let left = fs::read_dir(folder).expect("the folder").flatten().count();
        assert_eq!(left, 2, "the records alone");
    }

    #[test]
    fn a_neovim_that_ended_within_a_line_costs_only_that_line() {
        let folder = Folder::new("half");
        keep(&folder.0, &owner("a"), &Line::prompt(1, "one")).expect("to keep");
        let path = folder.0.join(file_name("claude", "a"));
        let mut file = fs::OpenOptions::new().append(true).open(&path).expect("the file");
        file.write_all(b"{\"at\":2,\"pro").expect("to write");
        keep(&folder.0, &owner("a"), &Line::prompt(3, "three")).expect("to keep");
        let kept = recall(&folder.0).expect("to recall");
        let prompts: Vec<&str> = kept[0].prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!(prompts, ["one", "three"]);
    }

    #[test]
    fn a_record_that_has_grown_large_is_made_shorter_and_stays_private() {
        let folder = Folder::new("large");
        let long = "x".repeat(4000);
        for number in 0..600 {
            keep(&folder.0, &owner("a"), &Line::prompt(number, &format!("{number} {long}")))
                .expect("to keep");
        }
        let path = folder.0.join(file_name("claude", "a"));
        let facts = path.metadata().expect("the file");
        assert!(facts.len() < 2 << 20, "{}", facts.len());
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&facts.permissions()) & 0o777, 0o600);
        let kept = recall(&folder.0).expect("to recall");
        assert!(kept[0].prompts[0].text.starts_with("0 "));
        assert!(kept[0].prompts.last().expect("prompts").text.starts_with("599 "));
    }

    #[test]
    fn of_too_many_sessions_those_used_least_lately_go() {
        let folder = Folder::new("many");
        for number in 0..MAX_SESSIONS + 3 {
            keep(&folder.0, &owner(&number.to_string()), &Line::prompt(1, "x")).expect("to keep");
        }
        let kept = recall(&folder.0).expect("to recall");
        assert_eq!(kept.len(), MAX_SESSIONS);
        assert!(kept.iter().any(|kept| kept.owner.acp_id == (MAX_SESSIONS + 2).to_string()));
    }

    #[test]
    fn ids_of_any_shape_make_plain_and_different_names() {
        let name = file_name("my agent/..", "../../etc\0passwd");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)), "{name}");
        assert!(!name.contains('/') && name.ends_with(".jsonl"));
        assert_ne!(file_name("a", "b"), file_name("a", "c"));
        assert_ne!(file_name("ab", "c"), file_name("a", "bc"));
    }
}
