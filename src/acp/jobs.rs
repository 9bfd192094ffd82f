//! Computing off the editor's thread: which function of the core does which piece of work.

use super::gather;
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
        Work::Gather { wants, images } => {
            Outcome::Gathered(wants.into_iter().map(|want| gather::gather(want, images)).collect())
        }
        Work::Look { paths } => Outcome::Looked(paths.iter().map(|path| path.exists()).collect()),
        Work::Paste { folder } => Outcome::Pasted(gather::paste(&folder)),
    }
}
