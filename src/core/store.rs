//! Data that outlives a session: the record of sessions, what they used up, checkpoints, remembered answers, and the
//! known agents. Reading and writing the disk is left to `acp`.

pub mod allowlist;
pub mod call_titles;
pub mod checkpoint;
pub mod gathering;
pub mod held;
pub mod looked;
pub mod project;
pub mod record;
pub mod registry;
pub mod remembered;
pub mod restore;
pub mod restore_page;
pub mod session_items;
pub mod stored_path;
pub mod stored_sessions;
pub mod stored_states;
pub mod undecided;
pub mod usage;
