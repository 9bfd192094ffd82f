//! The tools by which agents learn what the editor knows: which there are, what they take, what their answers look
//! like. Finding out is left to Lua, the protocol to the background.

pub mod results;
pub mod schema;
pub mod table;
pub mod titles;

pub use results::{Found, Item};
pub use table::{Tool, find, specs};
