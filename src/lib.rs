//! acp.nvim: a client of the Agent Client Protocol that lives in Neovim. This file assembles the
//! parts; ARCHITECTURE.md says how they fit.

pub mod acp;
pub mod config;
pub mod core;
pub mod mailbox;
mod nvim;
