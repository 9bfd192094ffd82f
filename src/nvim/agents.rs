//! Agents: which there are, how each is started, and the page that lists them.

pub mod actions;
pub mod launch;
pub mod list;
pub mod page;
