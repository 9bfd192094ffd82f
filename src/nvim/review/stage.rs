//! The call that the user is asked about, as it stands on the screen: the window that it has, the page in it, and how
//! much can be seen. How it comes there and goes is left to `staging`.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use mlua::Table;

pub use crate::core::session::staged::Shape;
use crate::nvim::diff_view::page::PageView;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::review::proposals::Call;

/// The call that is asked about.
pub struct Stage {
    pub call: Call,
    /// Who looks for its files now; what others find comes too late.
    pub number: u64,
    pub shape: Shape,
    /// How many rows at the bottom of the screen the question will cover.
    pub covered: usize,
    /// The window that it has, and what that showed.
    pub lent: Option<Lent>,
    pub page: Option<ShownPage>,
    /// It was in a window, and the chat shows it now.
    pub is_put_away: bool,
    /// All that is proposed as lines.
    pub preview: Rc<Vec<String>>,
    /// Files that show what is proposed, and at which rows: beside what is left to decide in them stand bars alone, since
    /// both would look the same.
    pub proposed_in: HashMap<Buf, Vec<Range<usize>>>,
    /// Where in its files something is proposed.
    pub places: Vec<(PathBuf, usize)>,
}

impl Stage {
    /// Whether its window shows this buffer, since the question is about it.
    pub fn shows(&self, buf: Buf) -> bool {
        let shown = self.lent.as_ref().and_then(|lent| lent.kept.get::<Buf>("shown").ok());
        shown == Some(buf)
    }
}

/// A window that shows something else for a while, and what it had.
pub struct Lent {
    pub win: Win,
    pub kept: Table,
}

/// The page in its buffer.
pub struct ShownPage {
    pub buf: Buf,
    pub view: PageView,
    pub heads: Vec<usize>,
    /// What its bar is about, and the bar as it is made for the window's width.
    pub about: PageBar,
    pub bar: String,
}

/// What is said above a page.
#[derive(Clone)]
pub struct PageBar {
    pub agent: String,
    pub name: String,
    pub counts: (usize, usize),
}
