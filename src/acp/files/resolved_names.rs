//! What paths are called with their links resolved, for the editor's side, which must not ask the disk
//! itself: it is told before it hears of what names them, as far as the disk answers in time, and else as
//! soon as it does.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::disks::Disks;
use crate::acp::mutex::lock;
use crate::core::maps::FastMap;
use crate::core::message::Event;
use crate::mailbox::Mailbox;
use crate::platform::paths::{Resolver, canonicalize};

/// How long what names a path waits for the disk, on its way to the editor.
const WAIT: Duration = Duration::from_millis(50);

/// How long an answer counts. The updates of one call name the same few files again and again.
const FRESH: Duration = Duration::from_secs(1);

/// More than so many are forgotten.
const MAX_NAMES: usize = 4096;

pub struct ResolvedNames {
    mailbox: Arc<Mailbox>,
    disks: Disks,
    /// When each path was asked about.
    asked: Mutex<FastMap<PathBuf, Instant>>,
    /// The folders that did not answer, and in which something is asked already.
    silent: Arc<Mutex<HashSet<PathBuf>>>,
}

impl ResolvedNames {
    pub fn new(mailbox: Arc<Mailbox>, disks: Disks) -> Self {
        Self { mailbox, disks, asked: Mutex::default(), silent: Arc::default() }
    }

    /// As [`Self::tell`], of those paths that the editor was not told of just now.
    pub async fn tell_new(&self, mut paths: Vec<PathBuf>) {
        let now = Instant::now();
        {
            let mut asked = lock(&self.asked);
            if asked.len() + paths.len() > MAX_NAMES {
                asked.clear();
            }
            paths.retain(|path| {
                let is_fresh = |at: &Instant| now.saturating_duration_since(*at) < FRESH;
                let is_known = asked.get(path).is_some_and(is_fresh);
                if !is_known {
                    asked.insert(path.clone(), now);
                }
                !is_known
            });
        }
        self.tell(paths).await;
    }

    /// Has the editor told what these paths are called (`Event::Resolved`). Waits until it is, but not long.
    pub async fn tell(&self, paths: Vec<PathBuf>) {
        let mut by_folder: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            by_folder.entry(path.parent().unwrap_or(&path).to_owned()).or_default().push(path);
        }
        let mut told = JoinSet::new();
        for (folder, paths) in by_folder {
            let Some(first) = paths.first().cloned() else { continue };
            let (disks, mailbox, silent) = (self.disks.clone(), self.mailbox.clone(), self.silent.clone());
            let is_silent = disks.is_silent(&first);
            if is_silent && !lock(&silent).insert(folder.clone()) {
                // The editor asks again when it needs to know.
                continue;
            }
            let asking = tokio::spawn(async move {
                let look = move || {
                    let mut resolver = Resolver::default();
                    let mut found = |path: &Path| resolver.find(path).unwrap_or_else(|| look(path));
                    paths.into_iter().map(|path| (found(&path), path)).collect::<Vec<_>>()
                };
                let found = disks.run(&first, look).await.unwrap_or_default();
                let names = found.into_iter().map(|(name, path)| (path, name)).collect();
                lock(&silent).remove(&folder);
                mailbox.post(Event::Resolved { names });
            });
            if !is_silent {
                told.spawn(asking);
            }
        }
        // What comes later is told then.
        let _ = timeout(WAIT, async { while told.join_next().await.is_some() {} }).await;
    }
}

/// Links resolved as far as the path exists.
fn look(path: &Path) -> PathBuf {
    if let Ok(path) = canonicalize(path) {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => look(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_resolved_as_far_as_it_is() {
        let gone = Path::new("/no such folder/a/b");
        assert_eq!(look(gone), gone);
        assert_eq!(look(Path::new("relative, and not there")), Path::new("relative, and not there"));
    }
}
