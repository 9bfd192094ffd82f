//! Files that agents read and write through the client: which of them a buffer holds, so that the
//! editor must be asked, and serving the others from the disk. In which order, and whether at all, is
//! left to `queue`.

pub(crate) mod buffer_state;
pub mod disk;
pub(crate) mod disks;
pub(crate) mod file_access;
pub mod find;
pub(crate) mod hard_links;
pub(crate) mod index;
pub(crate) mod open_files;
pub(crate) mod probe;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod resolved_names;
pub(crate) mod restore;
pub(crate) mod watch;
