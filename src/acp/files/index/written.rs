//! What this client has written to a file, taken down by the one who wrote it: by the time that `worker` hears of it,
//! somebody else may have changed the file again.

use std::path::Path;
use std::sync::Arc;

use super::before;
use super::walk;
use crate::core::changes::folder_index::FileState;
use crate::core::changes::half_written::Millis;

#[derive(Clone, Debug)]
pub struct Written {
    /// What the file was right after it was written; `None` if it was removed.
    pub state: Option<FileState>,
    /// What it held then, unless that is too much to be copied.
    pub text: Option<Arc<[u8]>>,
    pub at: Millis,
}

impl Written {
    /// The file has just been written.
    pub fn now(path: &Path, at: Millis) -> Self {
        let state = walk::look(path);
        let text = state.and_then(|state| before::copy_of(path, &state)).map(Arc::from);
        Self { state, text, at }
    }
}
