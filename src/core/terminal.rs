//! What commands print: the bytes as they are kept, as a screen of lines, without what would harm a
//! terminal, and the locations that they name.

pub mod backlog;
pub mod bar;
pub mod error_locations;
pub mod output;
pub mod sanitize;
pub mod screen;
pub mod shown;
