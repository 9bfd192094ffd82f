//! Unix: modes and owners, signals, process groups.

mod exit;
pub mod files;
pub mod group;
pub mod memory;
pub mod pipes;
pub mod program;
