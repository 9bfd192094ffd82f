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

    /// The same where there is little room.
    pub fn short_words(self) -> &'static str {
        match self {
            Self::Editor => "(editor)",
            Self::Disk => "(disk)",
        }
    }
}

/// What was done to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FileChangeKind {
    #[default]
    Changed,
    Created,
    Deleted,
    /// It had this name before, as the user knows it.
    Renamed(String),
}

impl FileChangeKind {
    /// What was done altogether when this came after what was done before.
    fn after(self, earlier: &Self) -> Self {
        match (earlier, self) {
            (Self::Created | Self::Renamed(_), Self::Changed) => earlier.clone(),
            (Self::Deleted, Self::Created) => Self::Changed,
            (_, later) => later,
        }
    }
}

/// A file that was written, deleted or renamed, perhaps several times in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    pub path: PathBuf,
    /// As the user knows it.
    pub name: String,
    pub kind: FileChangeKind,
    pub times: usize,
    /// Lines that came and lines that went; nothing where the texts are not known, or too long to be compared.
    pub counted: Option<(usize, usize)>,
    /// The rule that should have been asked about it.
    pub unasked: Option<Box<Unasked>>,
}

/// Files that were written, deleted or renamed one after the other.
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
                known.kind = file.kind.after(&known.kind);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_to_a_file_in_a_row_is_told_as_what_came_of_it() {
        use FileChangeKind::{Changed, Created, Deleted, Renamed};
        let renamed = || Renamed("a".into());
        let table = [
            (Changed, Changed, Changed),
            (Created, Changed, Created),
            (renamed(), Changed, renamed()),
            (Changed, Deleted, Deleted),
            (Created, Deleted, Deleted),
            (Deleted, Created, Changed),
            (Deleted, renamed(), renamed()),
        ];
        for (earlier, later, all) in table {
            assert_eq!(later.clone().after(&earlier), all, "{earlier:?}, then {later:?}");
        }
    }
}
