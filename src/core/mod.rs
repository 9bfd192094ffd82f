//! What happened, what is open, what may be done, and what it looks like as lines. Nothing in here
//! knows Neovim, tokio, a clock or the disk.

pub mod address;
pub mod authors;
pub mod blame;
pub mod changes;
pub mod changeset;
pub mod checkpoint;
pub mod context;
pub mod diff;
pub mod earlier;
pub mod edited;
pub mod encoding;
pub mod entry;
pub mod export;
pub mod form;
pub mod harmless;
pub mod history;
pub mod image;
pub mod locations;
pub mod mention;
pub mod merge;
pub mod message;
pub mod output;
pub mod outside;
pub mod pattern;
pub mod places;
pub mod reconcile;
pub mod record;
pub mod review;
pub mod screen;
pub mod session;
pub mod slice;
pub mod text;
pub mod tool_call;
pub mod transcript;
pub mod uri;
