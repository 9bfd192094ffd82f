//! What is kept on the disk below Neovim's state folder: the index of sessions, what they used up, prompts and drafts,
//! checkpoints, the agents' registry, and images. What the files say is `core::store`'s part.

pub(crate) mod checkpoints;
pub(crate) mod choices;
pub(crate) mod drafts;
pub(crate) mod images;
pub(crate) mod registry;
pub(crate) mod session_index;
mod undoing;
pub(crate) mod usage_log;
