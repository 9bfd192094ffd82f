//! Watching folders, where the system can do that for many of them. What is looked at because of it is `worker`'s.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod none;

#[cfg(target_os = "linux")]
pub use linux::{FolderWatch, Listener};
#[cfg(not(target_os = "linux"))]
pub use none::{FolderWatch, Listener};
