//! The benchmarks of the chat: scenarios, the Neovim they run in, and the report. Used by the program
//! that measures and by the test that only sees that all of it works.

pub mod report;
pub mod scenarios;
pub mod stage;
