//! What is on the disk about agents: the registry's index as it was fetched, what the user has
//! approved, and the agents that were downloaded. Several Neovims share it. All of it blocks, and what
//! it means is `core::store::registry`'s and `config`'s part.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::acp::files::disk;
use crate::acp::wire::log::WireLog;
use crate::acp::worker::Worker;
use crate::core::ids::JobId;
use crate::core::message::Event;
use crate::core::store::registry::{self, Change, Files, Index, MAX_INDEX_BYTES, Plan, Stored};
use crate::mailbox::Mailbox;
use crate::platform::files::{create_private_folder, private, wait_lock};

/// How the names of folders begin that a download is put together in.
const UNFINISHED: &str = ".tmp-";

/// An unfinished download that nobody has touched for so long is left over from a Neovim that is gone.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// The file of what is approved. A plan that this version doesn't understand is kept as it is.
#[derive(Serialize, Deserialize)]
struct Approvals {
    version: u32,
    approved: BTreeMap<String, Value>,
}

const VERSION: u32 = 1;

/// The handle to what is on the disk about agents. Cheap to clone.
#[derive(Clone)]
pub struct AgentRegistry {
    mailbox: Arc<Mailbox>,
    log: WireLog,
    worker: Worker<(JobId, Files, Change)>,
}

impl AgentRegistry {
    pub fn new(mailbox: Arc<Mailbox>, log: WireLog) -> Self {
        Self { mailbox, log, worker: Worker::new("acp-registry") }
    }

    /// Makes a change, then reads all there is (`Event::AgentsRead`).
    pub fn request(&self, job: JobId, files: Files, change: Change) {
        let tell = |mailbox: &Mailbox, job, (stored, failure)| {
            mailbox.post(Event::AgentsRead { job, stored: Box::new(stored), failure });
        };
        let started = self.worker.start(|_| {
            let (mailbox, log) = (self.mailbox.clone(), self.log.clone());
            move |queue| {
                for (job, files, change) in queue {
                    tell(&mailbox, job, read(&files, change, &log));
                }
            }
        });
        match started {
            Ok(()) => self.worker.send((job, files, change)),
            Err(error) => {
                let failure = Some(format!("start a thread for it: {error}"));
                tell(&self.mailbox, job, (Stored::default(), failure));
            }
        }
    }
}

/// Makes a change, then reads all there is. The text says why the change couldn't be made.
pub fn read(files: &Files, change: Change, log: &WireLog) -> (Stored, Option<String>) {
    let (mut problems, mut failure) = (Vec::new(), None);
    let done = match change {
        Change::None => Ok(()),
        Change::Approve { name, plan } => approve(&files.approved, name, &plan, &mut problems)
            .map_err(|error| format!("remember it in {}: {error}", files.approved.display())),
        Change::Remove { name, id } => remove(files, &name, &id, &mut problems),
        Change::Adopt { file } => adopt(&file, &files.index),
    };
    failure.clone_from(&done.err());
    sweep(&files.downloads);
    let mut stored = Stored { downloaded: downloaded(&files.downloads), ..Stored::default() };
    match load_index(&files.index) {
        Ok(Some((index, fetched))) => (stored.index, stored.fetched) = (Some(index), fetched),
        Ok(None) => {}
        Err(why) => problems.push(format!("the registry in {} can't be read: {why}", files.index.display())),
    }
    match load_approvals(&files.approved) {
        Ok(approvals) => stored.approved = approvals.plans(),
        Err(why) => problems.push(format!(
            "{} can't be read, so you are asked about agents again: {why}",
            files.approved.display()
        )),
    }
    let left_out = stored.index.iter().flat_map(|index| &index.problems);
    for problem in problems.iter().chain(left_out) {
        log.note(&format!("registry: {problem}"));
    }
    stored.problems = problems;
    (stored, failure)
}

/// The index and when it was written, if there is one.
fn load_index(file: &Path) -> Result<Option<(Index, u64)>, String> {
    let text = match read_bounded(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let written = fs::metadata(file).and_then(|metadata| metadata.modified()).unwrap_or(UNIX_EPOCH);
    let seconds = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    registry::parse(&text).map(|index| Some((index, seconds)))
}

fn read_bounded(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(MAX_INDEX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_INDEX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_INDEX_BYTES >> 20)));
    }
    Ok(text)
}

/// Puts an index that was fetched where it is read from. One that is none leaves the old one.
fn adopt(file: &Path, index: &Path) -> Result<(), String> {
    let text = read_bounded(file).map_err(|error| error.to_string());
    // One that stays is in the cache's folder, and written over by the next.
    let _ = fs::remove_file(file);
    let what = |why: String| format!("use what came as the registry: {why}");
    let text = text.map_err(what)?;
    let parsed = registry::parse(&text).map_err(what)?;
    if parsed.entries.is_empty() {
        return Err(what("it names no agent that can be read".to_owned()));
    }
    disk::write(index, &text).map(drop).map_err(|error| format!("write {}: {error}", index.display()))
}

impl Approvals {
    fn plans(&self) -> BTreeMap<String, Plan> {
        let plans = self.approved.iter();
        // Asked about again, if this version writes plans in another way.
        plans.filter_map(|(name, plan)| Some((name.clone(), Plan::deserialize(plan).ok()?))).collect()
    }
}

fn load_approvals(file: &Path) -> Result<Approvals, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Approvals { version: VERSION, approved: BTreeMap::new() });
        }
        Err(error) => return Err(error.to_string()),
    };
    let approvals: Approvals = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match approvals.version {
        VERSION => Ok(approvals),
        other => Err(format!("it is of version {other}, and this plugin knows {VERSION}")),
    }
}

fn approve(file: &Path, name: String, plan: &Plan, problems: &mut Vec<String>) -> io::Result<()> {
    let plan = serde_json::to_value(plan)?;
    change_approvals(file, problems, |approved| {
        approved.insert(name, plan);
    })
}

/// Changes what is approved, with the other Neovims held off. A broken file is put aside.
fn change_approvals(
    file: &Path,
    problems: &mut Vec<String>,
    change: impl FnOnce(&mut BTreeMap<String, Value>),
) -> io::Result<()> {
    create_private_folder(file.parent().unwrap_or(Path::new("")))?;
    let lock = private().create(true).write(true).truncate(false).open(file.with_extension("lock"))?;
    wait_lock(&lock)?;
    let mut approvals = match load_approvals(file) {
        Ok(approvals) => approvals,
        Err(why) => {
            let aside = disk::aside(file);
            fs::rename(file, &aside)?;
            problems.push(format!("{} was broken ({why}); it is now {}", file.display(), aside.display()));
            Approvals { version: VERSION, approved: BTreeMap::new() }
        }
    };
    change(&mut approvals.approved);
    let text = serde_json::to_string_pretty(&approvals)?;
    disk::write(file, &(text + "\n")).map(drop).map_err(io::Error::other)
}

fn remove(files: &Files, name: &str, id: &str, problems: &mut Vec<String>) -> Result<(), String> {
    change_approvals(&files.approved, problems, |approved| {
        approved.remove(name);
    })
    .map_err(|error| format!("forget the approval in {}: {error}", files.approved.display()))?;
    if !registry::is_id(id) {
        return Ok(());
    }
    let folder = files.downloads.join(id);
    // Away at once, so that nobody finds half of it.
    let away = files.downloads.join(format!("{UNFINISHED}{}-{id}", std::process::id()));
    match fs::rename(&folder, &away) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(format!("delete {}: {error}", folder.display())),
    }
    fs::remove_dir_all(&away).map_err(|error| format!("delete {}: {error}", away.display()))
}

/// The downloads that are complete: `{id}/{version}`.
fn downloaded(folder: &Path) -> BTreeSet<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let ids = names(folder).into_iter().filter(|id| !id.starts_with('.'));
    ids.flat_map(|id| {
        let versions = names(&folder.join(&id)).into_iter().filter(|version| !version.starts_with('.'));
        versions.map(|version| format!("{id}/{version}")).collect::<Vec<_>>()
    })
    .collect()
}

/// Deletes what a Neovim that was killed has left of a download.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|time| SystemTime::now().duration_since(time).is_ok_and(|age| age > LEFT_OVER))
        };
        if is_unfinished && is_old() {
            // Tried again the next time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
