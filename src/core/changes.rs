//! Changes to a file's text: what differs, which part is the agent's and which the user's, how two sides
//! are merged, and what the user decided about each hunk. Buffers and the disk are left to others.

pub mod agent_views;
pub mod anchor;
pub mod attribution;
pub mod author_note;
pub mod authors;
pub mod blame;
pub mod comments;
pub mod conflict;
pub mod diff;
pub mod file_job;
pub mod file_review;
pub mod file_task;
pub mod folder_index;
pub mod half_written;
pub mod hunk_header;
pub mod hunk_history;
pub mod hunk_page;
pub mod input_queue;
pub mod merge;
pub mod origin;
pub mod proposal;
pub mod reconcile;
pub mod reported;
pub mod review;
pub mod review_edits;
pub mod review_page;
pub mod scope;
pub mod stepping;
pub mod text_edits;
pub mod told;
pub mod undecided;
pub mod undone;
pub mod unknown_change;
pub mod words;
pub mod writers;
