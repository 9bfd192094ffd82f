//! The background against real processes and real pipes, without Neovim: what an agent gets to read,
//! and which events come of what it says.

// The attribute tells clippy that helpers in here are tests, too.
#[cfg(test)]
mod agent {
    #[path = "../support/official.rs"]
    mod official_server;
    #[path = "../support/schema.rs"]
    mod schema;
    #[path = "../support/remote.rs"]
    mod server;
    mod support;

    mod asking;
    mod changes;
    mod conversation;
    mod elsewhere;
    mod encrypted;
    mod envelope;
    mod extensions;
    mod files;
    mod framing;
    mod fuzz;
    mod lifecycle;
    mod official;
    mod outside;
    mod patience;
    mod remote;
    mod replay;
    mod safety;
    mod sessions;
    mod subagents;
    mod system_prompt;
    mod turns;
    mod watching;
}
