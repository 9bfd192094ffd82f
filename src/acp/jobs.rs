//! Computing off the editor's thread: which function of the core does which piece of work, and what
//! the disk holds in the place of a buffer's file.

mod examine;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{gather, look};
use crate::core::changeset::without;
use crate::core::context::references;
use crate::core::message::{OnDisk, Outcome, Work};
use crate::core::output::Output;
use crate::core::{changes, diff, mention, places};
use crate::fingerprint;

/// Does the work. It may take long; call it where waiting is allowed.
pub fn run(work: Work) -> Outcome {
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
        Work::Stamp { path } => {
            Outcome::Stamped(path.metadata().ok().map(|metadata| examine::stamp(&metadata)))
        }
        Work::Mention(files) => Outcome::Mention(mention::unsaved(&files)),
        Work::Reconcile(sides) => Outcome::Reconciled(Box::new(sides.reconcile())),
        Work::Gather { wants, images } => {
            Outcome::Gathered(wants.into_iter().map(|want| gather::gather(want, images)).collect())
        }
        Work::References { text } => Outcome::References(references(&text)),
        Work::Exists { paths } => Outcome::Exists(paths.iter().map(|path| path.exists()).collect()),
        Work::Fingerprint { root } => Outcome::Fingerprint(fingerprint::of(&root).ok()),
        Work::Paste { folder } => Outcome::Pasted(gather::paste(&folder)),
    }
}
