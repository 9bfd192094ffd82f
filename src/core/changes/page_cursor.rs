//! Where the cursor of a page of hunks goes when the hunk or file that it was on is not there any more: to the next one.

use std::path::Path;

use crate::core::changes::diff::Hunk;
use crate::core::changes::hunk_page::{About, Listed, Page};

/// The row of the page `new` for a cursor that was at this row of `old`; `None` where that is still there, or was about
/// no file.
pub fn row_of_next(old: &Page, new: &Page, row: usize) -> Option<usize> {
    let (path, next) = match old.rows.get(row)? {
        About::Hunk { path, hunk, .. } if new_has_fewer(old, new, path, hunk) => {
            (path, old.hunks.partition_point(|listed| listed.head() <= row).checked_sub(1)?)
        }
        About::File(path)
            if !new.rows.iter().any(|about| matches!(about, About::File(other) if other == path)) =>
        {
            (path, old.hunks.partition_point(|listed| listed.head() <= row))
        }
        _ => return None,
    };
    // Pages have their files in order: those above, as many hunks as they have now, and then those of the same file.
    let in_file = |listed: &&Listed| listed.path == *path;
    let of_file =
        old.hunks[..next].iter().filter(in_file).count().min(new.hunks.iter().filter(in_file).count());
    let at = new.hunks.iter().take_while(|listed| listed.path < *path).count() + of_file;
    new.hunks.get(at).or(new.hunks.last()).map(Listed::head)
}

/// Whether a change is gone from a file: there may be several alike, which have other lines by then.
fn new_has_fewer(old: &Page, new: &Page, path: &Path, hunk: &Hunk) -> bool {
    let count = |page: &Page| {
        let alike = page.hunks.iter().filter(|listed| {
            // Paths take longest to compare.
            listed.hunk.removed == hunk.removed && listed.hunk.added == hunk.added && listed.path == path
        });
        alike.count()
    };
    count(new) < count(old)
}
