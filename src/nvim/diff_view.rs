//! How changes look wherever they are shown: the marks and virtual lines of a hunk, text that is in no buffer,
//! and pages that list hunks. Which changes, and what is done with them, is left to the features.

pub mod appearance;
pub mod marks;
pub mod page;
pub mod page_window;
