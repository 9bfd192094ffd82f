//! The agents' processes: started with pipes in a group of their own, and ended in steps with all that
//! they started. Commands in terminals share the guard and the search for escaped processes.

pub(crate) mod agent_process;
pub(crate) mod escaped;
pub mod guard;
pub(crate) mod keeper;
mod process_tree;
pub(crate) mod sandbox;
