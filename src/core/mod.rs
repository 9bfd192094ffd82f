//! The conversation as data: what happened, what is open, what may be done, and what it looks like as
//! lines. Nothing in here knows Neovim, tokio, a clock or the disk.

pub mod audit;
pub mod beside;
pub mod changes;
pub mod contrast;
pub mod ids;
pub mod inspector;
pub mod locations;
pub mod maps;
pub mod message;
pub mod policy;
pub mod quit;
pub mod replay;
pub mod rules;
pub mod session;
pub mod store;
pub mod terminal;
pub mod text;
pub mod tools;
pub mod transcript;
pub mod window_shares;
pub mod window_sizes;
