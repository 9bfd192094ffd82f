//! What a prompt refers to, and what is stored of the user's prompts and drafts.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::content::Content;
use crate::core::session::references::Lines;
use crate::core::text::Text;

/// One thing that a prompt refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// A file on the disk, or some of its lines. `name` is what the user wrote; if that was not surely
    /// meant as a file, nothing is said where there is none.
    File { name: String, path: PathBuf, lines: Option<Lines>, deliberate: bool },
    /// What `git diff` says there.
    Diff { root: PathBuf },
    /// What `git show` says of a commit there.
    Commit { root: PathBuf, revision: String },
    /// What the help says about a tag, of which these folders may have a part.
    Help { tag: String, folders: Vec<PathBuf> },
    /// What the editor's thread has found already.
    Ready(Gathered),
}

/// What became of a [`Want`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gathered {
    Content(Content),
    /// There is no such thing; the reference stays text. Why, as a sentence for the user, if they are to
    /// know.
    Nothing(Option<String>),
    /// It can't be sent, so the prompt isn't either. Fit for "couldn't send the prompt: …".
    Refused(String),
}

/// What to do with what was typed. The folder is the project's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keep {
    /// Add to the prompts of before.
    Prompt { folder: PathBuf, text: Text },
    /// Answered by `PastPrompts`.
    Recall { folder: PathBuf },
    /// All that is typed and not sent in this Neovim, in place of what was said last.
    Drafts { folder: PathBuf, drafts: Vec<Draft> },
    /// Take over what Neovims that are gone have left. Answered by `Adopted`.
    Adopt { folder: PathBuf },
}

/// A prompt that was typed and not sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub text: Text,
    pub agent: String,
    /// The agent's own id of the session.
    pub session: Option<String>,
    /// Milliseconds since 1970.
    pub at: u64,
}
