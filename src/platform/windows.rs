//! Windows: jobs, handles and access control lists, programs found by `PATHEXT`.

pub mod files;
pub mod group;
pub mod memory;
pub mod pipes;
pub mod program;
