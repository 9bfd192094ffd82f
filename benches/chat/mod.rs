//! The benchmarks of the chat: scenarios, the Neovim they run in, and the report. Used by the program
//! that measures and by the test that only sees that all of it works.

mod files;
mod hostile;
mod large;
mod lines;
pub mod report;
pub mod scenarios;
mod scripts;
pub mod stage;
mod startup;
mod tools;
mod typing;
