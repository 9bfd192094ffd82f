//! What agents ask: permission, forms, files outside the project; one question at a time.

pub mod forms;
pub mod outside_files;
pub mod permission;
pub mod queue;
