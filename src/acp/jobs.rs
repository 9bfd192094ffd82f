//! Computing off the editor's thread: which function of the core does which piece of work.

use crate::core::message::{Outcome, Work};
use crate::core::{changes, diff};

/// Does the work. It may take long; call it where waiting is allowed.
pub fn run(work: Work) -> Outcome {
    match work {
        Work::Edits { old, new } => Outcome::Edits(changes::edits(&old, &new)),
        Work::Review { mut file, before, after, origin } => {
            file.agent_wrote(before.as_deref(), after.as_deref(), origin);
            Outcome::Reviewed(file)
        }
        Work::Place { text, diffs } => Outcome::Placed(diff::place(&text, &diffs)),
    }
}
