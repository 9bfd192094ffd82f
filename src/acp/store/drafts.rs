//! What the user typed, kept on the disk: the prompts of before, which all Neovims of a project share,
//! and drafts, which are of one Neovim until it is gone. One thread does all of it in order. A lock on
//! a file of its own says that a Neovim lives; the system takes it back however that one ends.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use serde::{Deserialize, Serialize};

use crate::acp::files::disk;
use crate::acp::store::owned::{Names, Owned, others};
use crate::acp::worker::Worker;
use crate::core::message::{Draft, Event, Keep};
use crate::core::session::prompt_history::History;
use crate::core::text::Text;
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private, wait_lock};

const PROMPTS: &str = "prompts.jsonl";
const PROMPTS_LOCK: &str = "prompts.lock";
const DRAFTS: Names = Names { prefix: "draft", extension: "json" };
/// A file of prompts that grows over this is written anew with the last ones.
const MAX_PROMPTS_BYTES: u64 = 4 << 20;

/// The handle to what is kept. Cheap to clone.
#[derive(Clone)]
pub struct DraftStore {
    mailbox: Arc<Mailbox>,
    worker: Worker<Keep>,
}

impl DraftStore {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, worker: Worker::new("acp-drafts") }
    }

    pub fn request(&self, keep: Keep) {
        let started = self.worker.start(|_| {
            let mailbox = self.mailbox.clone();
            move |queue| DraftWriter { mailbox, own: HashMap::new(), failed: false }.run(&queue)
        });
        match started {
            Ok(()) => self.worker.send(keep),
            Err(error) => not_kept(&self.mailbox, &error),
        }
    }

    /// Waits until all is written.
    pub fn finish(&self) {
        self.worker.finish();
    }
}

fn not_kept(mailbox: &Mailbox, error: &io::Error) {
    mailbox.post(Event::NotKept { why: error.to_string() });
}

#[derive(Serialize, Deserialize)]
struct Line {
    text: Text,
}

#[derive(Default, Serialize, Deserialize)]
struct Drafts {
    drafts: Vec<Draft>,
}

struct DraftWriter {
    mailbox: Arc<Mailbox>,
    /// This Neovim's drafts of each project.
    own: HashMap<PathBuf, Owned>,
    /// It was said already that nothing can be kept.
    failed: bool,
}

impl DraftWriter {
    fn run(mut self, queue: &mpsc::Receiver<Keep>) {
        let mut waiting = VecDeque::new();
        while let Some(keep) = waiting.pop_front().or_else(|| queue.recv().ok()) {
            waiting.extend(queue.try_iter());
            let newer = |later: &Keep| {
                matches!((&keep, later),
                (Keep::Drafts { folder, .. }, Keep::Drafts { folder: same, .. }) if folder == same)
            };
            if waiting.iter().any(newer) {
                // Only what stands there last counts; the one who types is faster than a disk may be.
                continue;
            }
            match self.keep(keep) {
                Ok(()) => self.failed = false,
                Err(error) if !std::mem::replace(&mut self.failed, true) => {
                    not_kept(&self.mailbox, &error);
                }
                Err(_) => {}
            }
        }
        self.own.into_values().for_each(Owned::end);
    }

    fn keep(&mut self, keep: Keep) -> io::Result<()> {
        match keep {
            Keep::Prompt { folder, text } => remember(&folder, text),
            Keep::Recall { folder } => {
                let prompts = recall(&folder)?;
                self.mailbox.post(Event::PastPrompts { folder, prompts });
                Ok(())
            }
            Keep::Drafts { folder, drafts } => self.drafts(&folder, drafts),
            Keep::Adopt { folder } => {
                let drafts = self.adopt(&folder)?;
                self.mailbox.post(Event::Adopted { folder, drafts });
                Ok(())
            }
        }
    }

    fn drafts(&mut self, folder: &Path, drafts: Vec<Draft>) -> io::Result<()> {
        if drafts.is_empty() && !self.own.contains_key(folder) {
            return Ok(());
        }
        let own = self.own(folder)?;
        if drafts.is_empty() {
            return match fs::remove_file(&own.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        disk::replace_private(&own.file, &serde_json::to_vec(&Drafts { drafts })?)
    }

    fn own(&mut self, folder: &Path) -> io::Result<&Owned> {
        if !self.own.contains_key(folder) {
            self.own.insert(folder.to_owned(), Owned::new(folder, DRAFTS)?);
        }
        Ok(&self.own[folder])
    }

    /// The drafts of Neovims that are gone. They are written as this one's before theirs go.
    fn adopt(&mut self, folder: &Path) -> io::Result<Vec<Draft>> {
        let (left, _) = others(folder, DRAFTS, self.own.get(folder))?;
        let mut drafts: Vec<Draft> = Vec::new();
        for owned in &left {
            if let Ok(bytes) = fs::read(&owned.file)
                && let Ok(read) = serde_json::from_slice::<Drafts>(&bytes)
            {
                drafts.extend(read.drafts);
            }
        }
        drafts.sort_by_key(|draft| draft.at);
        if !drafts.is_empty() {
            let mut all = match self.own.get(folder).map(|own| fs::read(&own.file)) {
                Some(Ok(bytes)) => serde_json::from_slice::<Drafts>(&bytes).unwrap_or_default().drafts,
                _ => Vec::new(),
            };
            all.extend(drafts.clone());
            self.drafts(folder, all)?;
        }
        left.into_iter().for_each(Owned::remove);
        Ok(drafts)
    }
}

/// Adds a prompt. Another Neovim that does the same waits for its turn.
fn remember(folder: &Path, text: Text) -> io::Result<()> {
    create_private_folder(folder)?;
    let held = open(&folder.join(PROMPTS_LOCK))?;
    wait_lock(&held)?;
    let path = folder.join(PROMPTS);
    let mut line = serde_json::to_vec(&Line { text })?;
    line.push(b'\n');
    let mut file = private().append(true).read(true).create(true).open(&path)?;
    if file.metadata()?.len() + line.len() as u64 <= MAX_PROMPTS_BYTES {
        return disk::append_lines(&mut file, &line);
    }
    let mut history = History::new(recall(folder)?);
    if let Ok(Line { text }) = serde_json::from_slice(&line) {
        history.add(text);
    }
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut bytes = 0;
    for text in history.prompts().iter().rev() {
        let mut line = serde_json::to_vec(&Line { text: text.clone() })?;
        line.push(b'\n');
        // The last one stays, and does not push out the others.
        if !lines.is_empty() {
            bytes += line.len() as u64;
            if bytes > MAX_PROMPTS_BYTES / 2 {
                break;
            }
        }
        lines.push(line);
    }
    lines.reverse();
    disk::replace_private(&path, &lines.concat())
}

fn recall(folder: &Path) -> io::Result<Vec<Text>> {
    let bytes = match fs::read(folder.join(PROMPTS)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let lines = bytes.split(|byte| *byte == b'\n');
    // A line that is not whole was being written when the machine stopped.
    let prompts = lines.filter_map(|line| serde_json::from_slice::<Line>(line).ok());
    Ok(History::new(prompts.map(|line| line.text)).prompts().to_vec())
}

/// Prompts are nobody else's business.
fn open(path: &Path) -> io::Result<File> {
    private().read(true).write(true).create(true).truncate(false).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_as_long_as_the_file_may_be_costs_no_other() {
        let folder = std::env::temp_dir().join(format!("acp-shelf-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let long = "x".repeat(usize::try_from(MAX_PROMPTS_BYTES).expect("a size"));
        for text in ["one", &long, "two", "three"] {
            remember(&folder, text.into()).expect("to be kept");
        }
        let size = fs::metadata(folder.join(PROMPTS)).expect("a file").len();
        assert_eq!(recall(&folder).expect("prompts"), ["one", "two", "three"]);
        assert!(size < 1000, "{size}");
        let _ = fs::remove_dir_all(&folder);
    }
}
