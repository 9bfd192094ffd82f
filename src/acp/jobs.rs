//! Computing off the editor's thread: which function of the core does which piece of work, and what
//! the disk holds in the place of a buffer's file. What needs a whole text waits here for one, if it may;
//! when a text is whole is for `watch` to say.

mod examine;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::hub::Shared;
use super::watch::Watch;
use super::{gather, look};
use crate::core::changeset::without;
use crate::core::message::{HalfWritten, OnDisk, Outcome, Stamp, Work};
use crate::core::output::Output;
use crate::core::{changes, diff, mention, places};
use crate::fingerprint;

/// How long one who reads waits for a file that is being written: an agent waits with it, and the writer may
/// be the agent.
const PATIENCE: Duration = Duration::from_millis(1200);

/// Whether the work is done by [`run_on_whole`].
pub fn waits(work: &Work) -> bool {
    matches!(work, Work::Examine { half: HalfWritten::Wait, .. } | Work::Look { .. })
}

/// Does the work with a file that is whole; if it does not become so in time, with what there is. Nothing
/// comes of a panic.
pub async fn run_on_whole(shared: Arc<Shared>, work: Work) -> Option<Outcome> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let news = shared.watch.news();
        tokio::pin!(news);
        news.as_mut().enable();
        let (trying, theirs) = (work.clone(), shared.clone());
        let tried = spawn_blocking(move || match trying {
            Work::Examine { path, encoding, known, .. } => {
                let half = HalfWritten::Tell;
                Some(run(Work::Examine { path, encoding, known, half }, &theirs.watch))
            }
            Work::Look { path, .. } if !theirs.watch.is_at_rest(&path) => None,
            work => Some(run(work, &theirs.watch)),
        });
        match tried.await.ok()? {
            None | Some(Outcome::Examined(OnDisk::HalfWritten)) => {}
            Some(outcome) => return Some(outcome),
        }
        if timeout_at(deadline, news).await.is_err() {
            break;
        }
    }
    let work = match work {
        Work::Examine { path, encoding, known, .. } => {
            Work::Examine { path, encoding, known, half: HalfWritten::Take }
        }
        work => work,
    };
    spawn_blocking(move || run(work, &shared.watch)).await.ok()
}

/// Does the work. It may take long; call it where waiting is allowed.
pub fn run(work: Work, watch: &Watch) -> Outcome {
    match work {
        Work::Edits { old, new } => Outcome::Edits(changes::edits(&old, &new)),
        Work::Review { file: Some(mut file), written } => {
            written.into_review(&mut file);
            Outcome::Reviewed(file)
        }
        Work::Review { file: None, written } => Outcome::Reviewed(Box::new(written.review())),
        Work::Look { path, diffs, near } => Outcome::Looked(look::at(&path, &diffs, near)),
        Work::Places { output, cwd } => {
            let mut plain = Output::new(usize::MAX);
            plain.feed(&output);
            let mut known: HashMap<PathBuf, bool> = HashMap::new();
            let is_file = |path: &Path| match known.get(path) {
                Some(known) => *known,
                None => *known.entry(path.to_owned()).or_insert(path.is_file()),
            };
            Outcome::Places(places::all(&plain.text(), &cwd, is_file))
        }
        Work::Place { text, diffs } => Outcome::Placed(diff::place(&text, &diffs)),
        Work::Before { text, diffs } => Outcome::Before(without(&text, &diff::place(&text, &diffs)).into()),
        Work::Recall { path, diffs } => {
            Outcome::Recalled(match examine::examine(&path, "utf-8", None, |_| true) {
                OnDisk::Text { text, .. } => {
                    let text = text.plain_lines();
                    Some((without(&text, &diff::place(&text, &diffs)).into(), text))
                }
                OnDisk::Same | OnDisk::Gone | OnDisk::HalfWritten | OnDisk::Unreadable(_) => None,
            })
        }
        Work::Examine { path, encoding, known, half } => {
            let is_whole =
                |read: Option<(&[u8], Stamp)>| watch.is_whole(&path, read) || half == HalfWritten::Take;
            let disk = examine::examine(&path, &encoding, known, is_whole);
            let before = (disk == OnDisk::HalfWritten && half == HalfWritten::Before)
                .then(|| watch.before(&path))
                .flatten();
            Outcome::Examined(match before {
                Some((stamp, bytes)) => examine::decoded(bytes.to_vec(), stamp, &encoding),
                None => disk,
            })
        }
        Work::Stamp { path, read } => {
            let stamp = path.metadata().ok().map(|metadata| examine::stamp(&metadata));
            let stamp = stamp.filter(|stamp| read.is_none_or(|read| examine::is_older(*stamp, read)));
            if let Some(stamp) = stamp {
                watch.held(&path, stamp);
            }
            Outcome::Stamped(stamp)
        }
        Work::Mention(files) => Outcome::Mention(mention::unsaved(&files)),
        Work::Reconcile(sides) => Outcome::Reconciled(Box::new(sides.reconcile())),
        Work::Gather { wants, images } => {
            Outcome::Gathered(wants.into_iter().map(|want| gather::gather(want, images)).collect())
        }
        Work::Exists { paths } => Outcome::Exists(paths.iter().map(|path| path.exists()).collect()),
        Work::Fingerprint { root } => Outcome::Fingerprint(fingerprint::of(&root).ok()),
        Work::Paste { folder } => Outcome::Pasted(gather::paste(&folder)),
    }
}
