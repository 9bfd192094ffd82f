//! What is on the screen of comments: their marks in buffers, and the window in which one is being written. Drawing and
//! writing is left to `comments` and `comment_window`.

use std::collections::HashMap;

use crate::core::changes::comments::Comment;
use crate::nvim::editor::{Buf, Win};

/// The marks of comments in buffers: which comment each one is, in the order of their numbers.
#[derive(Default)]
pub struct CommentMarks(pub HashMap<Buf, Vec<u64>>);

/// A comment that is being written.
pub struct Writing {
    pub buf: Buf,
    pub win: Win,
    pub comment: Comment,
}
