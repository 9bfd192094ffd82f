//! Computing off the editor's thread: which function of the core does which piece of work, and what
//! the disk holds in the place of a buffer's file. What needs a whole text waits here for one, if it may;
//! when a text is whole is for `watch` to say.

mod load_context;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout, timeout_at};

use super::files::disks::PATIENCE;
use super::files::watch::Watch;
use super::files::{buffer_state, probe};
use super::rules;
use super::shared::Shared;
use crate::core::changes::file_review::{FileReview, without};
use crate::core::changes::proposal::ProposedFile;
use crate::core::changes::{diff, text_edits};
use crate::core::ids::JobId;
use crate::core::locations::Look;
use crate::core::message::{Event, HalfWritten, OnDisk, Outcome, Stamp, Work};
use crate::core::rules::project::{FolderRules, NO_DISK, ProjectRules};
use crate::core::session::references::references;
use crate::core::session::unsaved_note;
use crate::core::store::undecided::StoredFile;
use crate::core::terminal::error_locations;
use crate::core::terminal::output::Output;
use crate::fingerprint;

/// How long one who reads waits for a file that is being written: an agent waits with it, and the writer may
/// be the agent.
const WRITER: Duration = Duration::from_millis(1200);

/// Does a piece of work on a thread or task of its own, and posts what comes of it (`Event::Computed`).
pub fn start(shared: &Arc<Shared>, job: JobId, work: Work) {
    let shared = shared.clone();
    if let Work::Reach { paths } = work {
        tokio::spawn(async move {
            let outcome = Outcome::Reached(shared.disks.answering(&paths).await);
            shared.mailbox.post(Event::Computed { job, outcome });
        });
        return;
    }
    if let Work::Judge(case) = work {
        tokio::spawn(async move {
            let folder = case.cwd.join("any");
            let judged = shared.disks.run(&folder, move || rules::judge(*case));
            // Who waits for an answer is not to wait for a disk.
            let ruling = timeout(PATIENCE, judged).await.ok().flatten();
            shared.mailbox.post(Event::Computed { job, outcome: Outcome::Judged(ruling.map(Box::new)) });
        });
        return;
    }
    if let Work::FolderRules { cwd, files } = work {
        tokio::spawn(async move {
            let folder = cwd.join("any");
            let read = shared.disks.run(&folder, move || rules::of_folder(&cwd, &files));
            let broken = || FolderRules {
                project: ProjectRules::Broken(NO_DISK.to_owned()),
                held: Vec::new(),
                kept: Ok(Vec::new()),
            };
            let found = timeout(PATIENCE, read).await.ok().flatten().unwrap_or_else(broken);
            shared.mailbox.post(Event::Computed { job, outcome: Outcome::FolderRules(found) });
        });
        return;
    }
    if let Work::ChangedTexts { numbers } = work {
        spawn_blocking(move || {
            let outcome = Outcome::ChangedTexts(shared.folder_indexes.texts(&numbers));
            shared.mailbox.post(Event::Computed { job, outcome });
        });
        return;
    }
    let Some(path) = on_disk(&work) else {
        spawn_blocking(move || {
            shared.mailbox.post(Event::Computed { job, outcome: run(work, &shared.watch) });
        });
        return;
    };
    tokio::spawn(async move {
        if let Some(outcome) = run_on_disk(shared.clone(), path, work).await {
            shared.mailbox.post(Event::Computed { job, outcome });
        }
    });
}

/// The path on whose disk the work depends, if it does on one.
fn on_disk(work: &Work) -> Option<PathBuf> {
    match work {
        Work::Look { path, .. }
        | Work::Recall { path, .. }
        | Work::Stand { path, .. }
        | Work::Examine { path, .. }
        | Work::Reconcile { path, .. }
        | Work::Stamp { path, .. }
        | Work::Saved { path, .. } => Some(path.clone()),
        Work::Places { cwd, .. } => Some(cwd.join("any")),
        Work::Exists { paths } => paths.first().cloned(),
        _ => None,
    }
}

/// Does work that depends on the disk of this path. Nothing comes of a panic.
async fn run_on_disk(shared: Arc<Shared>, path: PathBuf, work: Work) -> Option<Outcome> {
    let waits = matches!(work, Work::Examine { half: HalfWritten::Wait, .. })
        // The user who goes somewhere is not to wait for a writer.
        || matches!(&work, Work::Look { roots, .. } if !roots.is_empty());
    if waits && let Some(outcome) = once_whole(&shared, &path, &work).await {
        return Some(outcome);
    }
    let work = match work {
        Work::Examine { path, encoding, known, half: HalfWritten::Wait } => {
            Work::Examine { path, encoding, known, half: HalfWritten::Take }
        }
        work => work,
    };
    let is_look = matches!(work, Work::Look { .. });
    let theirs = shared.clone();
    answered(is_look, shared.disks.run(&path, move || run(work, &theirs.watch))).await
}

/// Does the work when the file is whole, unless that takes too long.
async fn once_whole(shared: &Arc<Shared>, path: &Path, work: &Work) -> Option<Outcome> {
    let is_look = matches!(work, Work::Look { .. });
    let deadline = Instant::now() + WRITER;
    loop {
        let news = shared.watch.news();
        tokio::pin!(news);
        news.as_mut().enable();
        let (trying, theirs) = (work.clone(), shared.clone());
        let tried = shared.disks.run(path, move || match trying {
            Work::Examine { path, encoding, known, .. } => {
                let half = HalfWritten::Tell;
                run(Work::Examine { path, encoding, known, half }, &theirs.watch)
            }
            Work::Look { path, roots, .. } if probe::is_outside(&path, &roots) => {
                Outcome::Looked(Look::Outside)
            }
            Work::Look { path, .. } if theirs.watch.is_half_written(&path) => {
                Outcome::Examined(OnDisk::HalfWritten)
            }
            Work::Look { path, diffs, near, .. } => Outcome::Looked(probe::at(&path, &diffs, near)),
            work => run(work, &theirs.watch),
        });
        match answered(is_look, tried).await? {
            Outcome::Examined(OnDisk::HalfWritten) => {}
            outcome => return Some(outcome),
        }
        timeout_at(deadline, news).await.ok()?;
    }
}

/// What comes of work on a disk. Who goes to a place wants to know soon that it cannot be looked at.
async fn answered(is_look: bool, work: impl Future<Output = Option<Outcome>>) -> Option<Outcome> {
    match is_look {
        true => timeout(PATIENCE, work).await.unwrap_or(Some(Outcome::Looked(Look::Silent))),
        false => work.await,
    }
}

/// What a file holds; of one that is being written what it held before, if that is wanted and known.
fn examine(watch: &Watch, path: &Path, encoding: &str, known: Option<Stamp>, half: HalfWritten) -> OnDisk {
    let is_whole = |read: Option<(&[u8], Stamp)>| watch.is_whole(path, read) || half == HalfWritten::Take;
    let disk = buffer_state::examine(path, encoding, known, is_whole);
    let before =
        (disk == OnDisk::HalfWritten && half == HalfWritten::Before).then(|| watch.before(path)).flatten();
    match before {
        Some((stamp, bytes)) => buffer_state::decoded(bytes.to_vec(), stamp, encoding),
        None => disk,
    }
}

/// Does the work. It may take long; call it where waiting is allowed.
fn run(work: Work, watch: &Watch) -> Outcome {
    match work {
        Work::Edits { old, new } => Outcome::Edits(text_edits::edits(&old, &new)),
        Work::Review { file: Some(mut file), written } => {
            written.into_review(&mut file);
            Outcome::Reviewed(file)
        }
        Work::Review { file: None, written } => Outcome::Reviewed(Box::new(written.review())),
        Work::Look { path, roots, diffs, near } => Outcome::Looked(match probe::is_outside(&path, &roots) {
            true => Look::Outside,
            false => probe::at(&path, &diffs, near),
        }),
        Work::Places { output, cwd } => {
            let mut plain = Output::new(usize::MAX);
            plain.feed(&output);
            let mut known: HashMap<PathBuf, bool> = HashMap::new();
            let is_file = |path: &Path| match known.get(path) {
                Some(known) => *known,
                None => *known.entry(path.to_owned()).or_insert(path.is_file()),
            };
            Outcome::Places(error_locations::all(&plain.text(), &cwd, is_file))
        }
        Work::Place { text, diffs } => Outcome::Placed(diff::place(&text, &diffs)),
        Work::Propose { path, text, diffs } => {
            Outcome::Proposed(Box::new(ProposedFile::new(path, text.as_ref(), &diffs)))
        }
        Work::Before { text, diffs } => Outcome::Before(without(&text, &diff::place(&text, &diffs)).into()),
        Work::Recall { path, diffs } => {
            Outcome::Recalled(match buffer_state::examine(&path, "utf-8", None, |_| true) {
                OnDisk::Text { text, .. } => {
                    let text = text.plain_lines();
                    Some((without(&text, &diff::place(&text, &diffs)).into(), text))
                }
                OnDisk::Same | OnDisk::Gone | OnDisk::HalfWritten | OnDisk::Unreadable(_) => None,
            })
        }
        Work::Stand { path, left } => {
            let StoredFile { sides, last, hunks, .. } = left.with_hunks();
            let stand = |text: Option<&str>| Box::new(FileReview::standing(text, sides, last, hunks));
            Outcome::Stood(match buffer_state::examine(&path, "utf-8", None, |_| true) {
                OnDisk::Text { text, .. } => Some(stand(Some(&text.plain_lines()))),
                OnDisk::Gone => Some(stand(None)),
                OnDisk::Same | OnDisk::HalfWritten | OnDisk::Unreadable(_) => None,
            })
        }
        Work::Examine { path, encoding, known, half } => {
            Outcome::Examined(examine(watch, &path, &encoding, known, half))
        }
        Work::Stamp { path, read } => {
            let found = state(&path);
            let stamp = found.filter(|stamp| buffer_state::is_older(*stamp, read));
            if let Some(stamp) = stamp {
                watch.held(&path, stamp);
            }
            Outcome::Stamped { is_there: found.is_some(), stamp }
        }
        Work::Saved { path, stamp } => {
            watch.held(&path, stamp);
            watch.saved(&path, stamp);
            Outcome::Stamped { is_there: true, stamp: Some(stamp) }
        }
        // Answered where all that agents share is at hand.
        Work::ChangedTexts { .. } => Outcome::ChangedTexts(Vec::new()),
        Work::Judge(_) | Work::FolderRules { .. } => Outcome::Judged(None),
        Work::RetryRules { record, case } => Outcome::RulesRetried(rules::retry(&record, *case)),
        Work::KeepRules { cwd, file, change } => Outcome::RulesKept(rules::keep(&cwd, &file, *change)),
        Work::Mention(files) => Outcome::Mention(unsaved_note::unsaved(&files)),
        Work::Reconcile { path, sides } => {
            let reconciled = Box::new(sides.reconcile());
            Outcome::Reconciled(reconciled, state(&path))
        }
        Work::Gather { wants, images } => {
            Outcome::Gathered(wants.into_iter().map(|want| load_context::gather(want, images)).collect())
        }
        // The hub knows which disks answer.
        Work::Reach { .. } => Outcome::Reached(BTreeSet::new()),
        Work::References { text } => Outcome::References(references(&text)),
        Work::Exists { paths } => Outcome::Exists(paths.iter().map(|path| path.exists()).collect()),
        Work::Fingerprint { root } => Outcome::Fingerprint(fingerprint::of(&root).ok()),
        Work::Paste { folder } => Outcome::Pasted(load_context::paste(&folder)),
    }
}

fn state(path: &Path) -> Option<Stamp> {
    path.metadata().ok().map(|metadata| buffer_state::stamp(&metadata))
}
