//! Files that an agent wrote, as an entry of the transcript: which, how often, and by which road.

use std::path::{Path, PathBuf};

use crate::core::rules::unasked::Unasked;

/// How an agent wrote a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Road {
    /// It asked the editor to write it.
    Editor,
    /// It, or something that it had started, wrote to the disk.
    Disk,
}

impl Road {
    pub fn words(self) -> &'static str {
        match self {
            Self::Editor => "through the editor",
            Self::Disk => "on the disk",
        }
    }
}

/// A file that was written, perhaps several times in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    /// As the user knows it.
    pub name: String,
    pub created: bool,
    pub times: usize,
    /// Lines that came and lines that went; nothing where the texts are not known, or too long to be compared.
    pub counted: Option<(usize, usize)>,
    /// The rule that should have been asked about it.
    pub unasked: Option<Box<Unasked>>,
}

/// Files that were written one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub road: Road,
    pub files: Vec<WrittenFile>,
}

impl Written {
    pub fn add(&mut self, file: WrittenFile) {
        match self.files.iter_mut().find(|known| known.path == file.path) {
            Some(known) => {
                known.times += 1;
                known.counted = known.counted.zip(file.counted).map(|((a, r), (x, y))| (a + x, r + y));
            }
            None => self.files.push(file),
        }
    }

    /// Takes back one time that a file was written. Says whether it was among them.
    pub fn take_back(&mut self, path: &Path, counted: Option<(usize, usize)>) -> bool {
        let Some(at) = self.files.iter().position(|known| known.path == path) else { return false };
        let known = &mut self.files[at];
        if known.times <= 1 {
            self.files.remove(at);
            return true;
        }
        known.times -= 1;
        known.counted = known.counted.zip(counted).map(|((added, removed), (less, fewer))| {
            (added.saturating_sub(less), removed.saturating_sub(fewer))
        });
        true
    }
}
