//! Files with several names (hard links): whether all of them are in a session's folders. Who writes one of
//! them writes all. The other names cannot be asked for, so they are looked for, and what is not found in time
//! counts as elsewhere. Reading one is reading what is in the project, whatever else it is called.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use ignore::gitignore::Gitignore;

use crate::platform::files::{links, same_file};

/// How long names are looked for, and in how many files and folders.
const LIMIT: Duration = Duration::from_millis(500);
const MAX_ENTRIES: usize = 200_000;

/// Whether a file in one of these folders, all without links, has a name outside of them. Gives the folder that
/// an answer counts for: the file's, or the outermost one above it that version control ignores. Package
/// managers fill such folders with names of files that they keep elsewhere, and nobody wants to be asked
/// about each.
pub fn leave(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    let file = fs::metadata(path).ok()?;
    let count = links(&file);
    if count < 2 {
        return None;
    }
    let root = roots.iter().find(|root| path.starts_with(root))?;
    let ignored = ignored(path, root);
    let mut found = HashSet::new();
    let (until, mut left) = (Instant::now() + LIMIT, MAX_ENTRIES);
    // Where the others are most likely to be comes first.
    let near = path.parent().into_iter().chain(ignored.as_deref());
    for start in near.chain(roots.iter().map(PathBuf::as_path)) {
        let mut walk = WalkBuilder::new(start);
        for entry in walk.standard_filters(false).build() {
            left = left.saturating_sub(1);
            if left == 0 || Instant::now() >= until {
                break;
            }
            // What cannot be read is no name that is known.
            let Ok(entry) = entry else { continue };
            let is_it = entry.file_type().is_some_and(|kind| kind.is_file())
                && entry.metadata().is_ok_and(|other| same_file(&file, &other));
            if is_it {
                found.insert(entry.into_path());
            }
            if found.len() as u64 >= count {
                return None;
            }
        }
    }
    let folder = ignored.or_else(|| path.parent().map(Path::to_owned))?;
    // Nobody allows the whole project by an answer about one file.
    Some(if roots.contains(&folder) { path.to_owned() } else { folder })
}

/// The outermost folder above a path that version control ignores.
fn ignored(path: &Path, root: &Path) -> Option<PathBuf> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| *folder != root).collect();
    folders.reverse();
    let mut rules = vec![Gitignore::new(root.join(".gitignore")).0];
    for folder in folders {
        if rules.iter().any(|rules| rules.matched(folder, true).is_ignore()) {
            return Some(folder.to_owned());
        }
        rules.push(Gitignore::new(folder.join(".gitignore")).0);
    }
    None
}
