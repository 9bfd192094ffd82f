//! Computing off the editor's thread: which function of the core does which piece of work, and what
//! the disk holds in the place of a buffer's file.

mod examine;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::{gather, look};
use crate::core::changeset::without;
use crate::core::locations::Look;
use crate::core::message::{OnDisk, Outcome, Stamp, Work};
use crate::core::output::Output;
use crate::core::{changes, diff, mention, places};
use crate::fingerprint;

/// The path on whose disk the work depends, if it does on one.
pub fn on_disk(work: &Work) -> Option<PathBuf> {
    match work {
        Work::Look { path, .. }
        | Work::Recall { path, .. }
        | Work::Examine { path, .. }
        | Work::Reconcile { path, .. }
        | Work::Stamp { path } => Some(path.clone()),
        Work::Places { cwd, .. } => Some(cwd.join("any")),
        Work::Exists { paths } => paths.first().cloned(),
        _ => None,
    }
}

/// Does the work. It may take long; call it where waiting is allowed.
pub fn run(work: Work) -> Outcome {
    match work {
        Work::Edits { old, new } => Outcome::Edits(changes::edits(&old, &new)),
        Work::Review { file: Some(mut file), written } => {
            written.into_review(&mut file);
            Outcome::Reviewed(file)
        }
        Work::Review { file: None, written } => Outcome::Reviewed(Box::new(written.review())),
        Work::Look { path, roots, diffs, near } => Outcome::Looked(match look::is_outside(&path, &roots) {
            true => Look::Outside,
            false => look::at(&path, &diffs, near),
        }),
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
        Work::Recall { path, diffs } => Outcome::Recalled(match examine::examine(&path, "utf-8", None) {
            OnDisk::Text { text, .. } => {
                let text = text.plain_lines();
                Some((without(&text, &diff::place(&text, &diffs)).into(), text))
            }
            OnDisk::Same | OnDisk::Gone | OnDisk::Unreadable(_) => None,
        }),
        Work::Examine { path, encoding, known } => {
            Outcome::Examined(examine::examine(&path, &encoding, known))
        }
        Work::Stamp { path } => Outcome::Stamped(state(&path)),
        Work::Mention(files) => Outcome::Mention(mention::unsaved(&files)),
        Work::Reconcile { path, sides } => {
            let reconciled = Box::new(sides.reconcile());
            Outcome::Reconciled(reconciled, state(&path))
        }
        Work::Gather { wants, images } => {
            Outcome::Gathered(wants.into_iter().map(|want| gather::gather(want, images)).collect())
        }
        // The hub knows which disks answer.
        Work::Reach { .. } => Outcome::Reached(BTreeSet::new()),
        Work::Exists { paths } => Outcome::Exists(paths.iter().map(|path| path.exists()).collect()),
        Work::Fingerprint { root } => Outcome::Fingerprint(fingerprint::of(&root).ok()),
        Work::Paste { folder } => Outcome::Pasted(gather::paste(&folder)),
    }
}

fn state(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|metadata| examine::stamp(&metadata))
}
