//! What is kept on the disk below Neovim's state folder: the index of sessions, what they used up, prompts and drafts,
//! checkpoints, what is left to decide, the agents' registry, and images. What the files say is `core::store`'s part.

pub(crate) mod checkpoints;
pub(crate) mod choices;
pub(crate) mod drafts;
pub(crate) mod images;
pub(crate) mod list_file;
mod owned;
pub(crate) mod registry;
pub(crate) mod session_index;
pub(crate) mod undecided;
pub(crate) mod undoing;
pub(crate) mod usage_log;
