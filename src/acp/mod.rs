//! The background: agents, processes, terminals and the disk, spoken to in ACP.

pub mod disk;
pub mod exit;
pub mod guard;
pub mod terminals;
