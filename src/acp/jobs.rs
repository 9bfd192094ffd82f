//! Computing off the editor's thread: which function of the core does which piece of work.

use super::look;
use crate::core::message::{Outcome, Work};
use crate::core::{changes, diff};

/// Does the work. It may take long; call it where waiting is allowed.
pub fn run(work: Work) -> Outcome {
    match work {
        Work::Edits { old, new } => Outcome::Edits(changes::edits(&old, &new)),
        Work::Look { path, diffs, near } => Outcome::Looked(look::at(&path, &diffs, near)),
        Work::Place { text, diffs } => Outcome::Placed(diff::place(&text, &diffs)),
    }
}
