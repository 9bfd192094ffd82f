//! Ends process groups when Neovim is killed and can no longer do it itself.

use std::sync::Arc;

/// Process groups that must not outlive Neovim.
pub struct Guard;

impl Guard {
    pub fn start() -> Arc<Self> {
        Arc::new(Self)
    }

    pub fn add(&self, _pgid: i32) {}

    pub fn remove(&self, _pgid: i32) {}
}
