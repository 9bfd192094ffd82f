//! The background against real processes and real pipes, without Neovim: what an agent gets to read,
//! and which events come of what it says.

// The attribute tells clippy that helpers in here are tests, too.
#[cfg(test)]
mod agent {
    #[expect(dead_code, reason = "not every part has its tests yet")]
    mod support;

    mod conversation;
}
