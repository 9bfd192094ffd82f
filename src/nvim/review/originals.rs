//! What files were, byte for byte, before agents changed them: a review knows lines, and to undo all of it also takes
//! line ends, a byte order mark, the end of the last line, and permissions. Putting files back is left to `actions`.

use std::path::Path;

use crate::core::store::checkpoint::Held;
use crate::nvim::review::Reviews;

impl Reviews {
    /// An agent has changed a file that held this before. What was there before the first change that is still to be
    /// decided on is what counts.
    pub fn note_original(&mut self, path: &Path, before: &Held) {
        let is_open = self.files.get(path).is_some_and(|reviewed| {
            // The background has it, so something is being changed.
            reviewed.file.as_deref().is_none_or(|file| !file.is_settled())
        });
        let known = self.originals.remove(path).filter(|_| is_open);
        let original = match known {
            // Whoever told of the first change may not have looked at its permissions.
            Some(known) if known.bytes().is_some() => {
                let mode = known.mode().or(before.mode());
                known.with_mode(mode)
            }
            Some(known) => known,
            None if is_open => return,
            None => before.clone(),
        };
        self.originals.insert(path.to_owned(), original);
    }

    /// What a file was before agents changed it, if these are the lines it had; none where there was no file.
    pub fn original(&self, path: &Path, lines: Option<&str>) -> Option<&Held> {
        let original = self.originals.get(path)?;
        let fits = match (original, lines) {
            (Held::Absent, None) => true,
            (Held::Text(text, _), Some(lines)) => *text.plain_lines() == *lines,
            _ => false,
        };
        fits.then_some(original)
    }
}
