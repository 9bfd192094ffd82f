//! Computations for the background, and their results. They are pure functions of the core.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::call::FileDiff;
use super::files::{HalfWritten, OnDisk, Stamp, UnsavedText};
use super::prompts::{Gathered, Want};
use crate::core::changes::diff::Placed;
use crate::core::changes::file_review::{FileReview, Written};
use crate::core::changes::proposal::ProposedFile;
use crate::core::changes::reconcile::{Reconciled, Sides};
use crate::core::changes::text_edits::TextEdit;
use crate::core::locations::Look;
use crate::core::rules::kept::Change;
use crate::core::rules::project::FolderRules;
use crate::core::rules::retrial::Retrial;
use crate::core::rules::unasked::Unasked;
use crate::core::rules::{Case, RuleFiles, Ruling};
use crate::core::session::references::Reference;
use crate::core::store::checkpoint::Held;
use crate::core::store::undecided::StoredFile;
use crate::core::text::Text;

/// Computing for the background; pure functions of the core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// The smallest edits that turn `old` into `new` (`core::changes::text_edits`).
    Edits { old: String, new: String },
    /// Where the diffs of one file stand in its text (`core::changes::diff`).
    Place { text: Text, diffs: Vec<FileDiff> },
    /// What the diffs of one file make of it, for a page (`core::changes::proposal`). Without a text there is no such
    /// file.
    Propose { path: PathBuf, text: Option<Text>, diffs: Vec<FileDiff> },
    /// What the text of one file was before the diffs that are in it (`core::changes::file_review`).
    Before { text: Text, diffs: Vec<FileDiff> },
    /// What a file without a buffer is, and was before the diffs that are in it.
    Recall { path: PathBuf, diffs: Vec<FileDiff> },
    /// Take what was written into the review of its file (`core::changes::file_review`), or into a new one.
    Review { file: Option<Box<FileReview>>, written: Written },
    /// The review of a file in which something was left to decide, as the disk has it now.
    Stand { path: PathBuf, left: Box<StoredFile> },
    /// What a prompt refers to, piece by piece. `images` says whether the agent takes them.
    Gather { wants: Vec<Want>, images: bool },
    /// What a long prompt refers to (`core::session::references`).
    References { text: Text },
    /// Which of these paths are there.
    Exists { paths: Vec<PathBuf> },
    /// The folders of these paths whose disks answer.
    Reach { paths: Vec<PathBuf> },
    /// The places in files that a command names in its raw output (`core::terminal::error_locations`).
    Places { output: Vec<u8>, cwd: PathBuf },
    /// What there is at a path, and which lines of it these diffs touch: those of the hunk that is nearest
    /// to a line, if there is one, else the first.
    /// Nothing is told of what is outside of the roots, if there are any.
    Look { path: PathBuf, roots: Vec<PathBuf>, diffs: Vec<FileDiff>, near: Option<u32> },
    /// Which sources lie in the plugin's folder (`fingerprint`).
    Fingerprint { root: PathBuf },
    /// The clipboard's image, written to a new file in the folder.
    Paste { folder: PathBuf },
    /// What a file that a buffer holds is on the disk. `encoding` is the buffer's; a file that is still as
    /// `known` says is not read. `half` is for one that is being written.
    Examine { path: PathBuf, encoding: String, known: Option<Stamp>, half: HalfWritten },
    /// In what state a file is that was just read; no text is read. `read` is the time of day at which it was read:
    /// what was written since is not what was read.
    Stamp { path: PathBuf, read: (i64, i64) },
    /// A file was saved, and was in this state right after. It may be in another one by now.
    Saved { path: PathBuf, stamp: Stamp },
    /// What files held before and after changes whose texts came without them (`ChangedFile::later`).
    ChangedTexts { numbers: Vec<u64> },
    /// What an agent is told of unsaved edits (`core::session::unsaved_note`).
    Mention(Vec<UnsavedText>),
    /// What the user's rules say of what an agent asks for (`core::rules`).
    Judge(Box<Case>),
    /// The rules that count in a folder besides those of the options.
    FolderRules { cwd: PathBuf, files: RuleFiles },
    /// What today's rules would have made of what agents asked for in the folder of this case, by the record.
    RetryRules { record: PathBuf, case: Box<Case> },
    /// What becomes of the rules that the user has made for the project in a folder, in the file of all of them.
    KeepRules { cwd: PathBuf, file: PathBuf, change: Box<Change> },
    /// What becomes of a buffer whose file another side has written (`core::changes::reconcile`), and in what state
    /// the file is after that.
    Reconcile { path: PathBuf, sides: Box<Sides> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    Edits(Vec<TextEdit>),
    Placed(Vec<Placed>),
    Proposed(Box<ProposedFile>),
    Before(Text),
    /// Before the diffs and now, as buffers have it; nothing where there is no such file, or no text in it.
    Recalled(Option<(Text, Text)>),
    Examined(OnDisk),
    Stamped {
        is_there: bool,
        /// `None` also for a file that may have been written after the buffer read it.
        stamp: Option<Stamp>,
    },
    Mention(String),
    /// Nothing where the disk did not answer in time.
    Judged(Option<Box<Ruling>>),
    FolderRules(FolderRules),
    /// Of each action the rule that was not asked; nothing at all where the disk did not answer in time.
    JudgedDone(Vec<Option<Unasked>>),
    /// The error says why the record can't be read.
    RulesRetried(Result<Box<Retrial>, String>),
    /// What the user should know of it, if it couldn't be done as it should.
    RulesKept(Option<String>),
    /// In the order of the numbers; nothing where it is not known any more.
    ChangedTexts(Vec<Option<(Held, Held)>>),
    Reconciled(Box<Reconciled>, Option<Stamp>),
    Reviewed(Box<FileReview>),
    /// Nothing where the file can't be read.
    Stood(Option<Box<FileReview>>),
    /// What the file held until then; else why not, fit for "couldn't undo ..: ".
    PutBack(Result<Held, String>),
    /// In the order of the wants.
    Gathered(Vec<Gathered>),
    References(Vec<Reference>),
    Exists(Vec<bool>),
    Reached(BTreeSet<PathBuf>),
    /// Nothing where there are no sources, as in a package.
    Fingerprint(Option<String>),
    /// The file, or why there is none (fit for "couldn't paste an image: …").
    Pasted(Result<PathBuf, String>),
    Looked(Look),
    /// Of these, only places in files that are there.
    Places(Vec<crate::core::terminal::error_locations::Place>),
}
