//! The output of commands: the stored bytes, a screen of lines, text without harmful escape sequences,
//! and the locations that it names.

pub mod backlog;
pub mod bar;
pub mod error_locations;
pub mod last_lines;
pub mod output;
pub mod refit;
pub mod render;
pub mod sanitize;
pub mod screen;
pub mod shown;
pub mod tabs;
pub mod tails;
