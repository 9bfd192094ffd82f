//! Prints of what files hold: they tell texts from each other without keeping them.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use crate::core::text::print_of_bytes;

/// A number that no agent knows, the same as long as this Neovim lives.
pub fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0))
}

pub fn print_of_text(text: &str) -> u64 {
    print_of_bytes(seed(), text.as_bytes())
}
