//! Changes to a file's text: what differs, what of it is the agent's and what the user's, how two
//! sides are joined, and what the user decided about each hunk. Buffers and the disk are left to others.

pub mod author_note;
pub mod authors;
pub mod blame;
pub mod comments;
pub mod diff;
pub mod file_review;
pub mod half_written;
pub mod merge;
pub mod origin;
pub mod reconcile;
pub mod review;
pub mod review_edits;
pub mod text_edits;
