//! The buffer of a restore that is looked at. What stands in it is `core::store::restore_page`'s part, what its keys
//! do `preview_actions`'.

use crate::config::Keys;
use crate::core::changes::hunk_page::Page;
use crate::core::changes::review_page::Hints;
use crate::core::store::restore::Restore;
use crate::core::store::restore_page::{Found, restore_page};
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::diff_view::page::{PageView, nothing_left};
use crate::nvim::editor::Buf;

pub struct Preview {
    pub buf: Buf,
    pub restore: Restore,
    pub view: PageView,
}

/// In a line of so many cells it says what its keys do.
pub fn page_of(restore: &Restore, found: &[Found], keys: &Keys, width: usize) -> Page {
    let hints = [
        ("review_undo", "put back this hunk or file"),
        ("review_undo_all", "put back all"),
        ("review_go", "go"),
        ("review_close", "close"),
        ("review_help", "keys"),
    ];
    let some = keys.line_within(&hints, width);
    let none = nothing_left("Nothing has changed since then", keys, false);
    restore_page(restore, found, &canonical(&restore.head.cwd), Hints { some, none }, width)
}
