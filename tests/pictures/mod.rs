//! Takes the README's pictures: keys drive a real Neovim, a script drives its agent, and the screen is
//! drawn as SVG. Used by `tests/pictures.rs`, which compares or writes the files.

mod agent;
pub mod film;
pub mod overview;
pub mod paint;
pub mod screen;
pub mod stage;
pub mod stills;
mod times;
