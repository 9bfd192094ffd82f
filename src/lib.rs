//! acp.nvim: a client of the Agent Client Protocol that lives in Neovim. This file assembles the
//! parts; ARCHITECTURE.md says how they fit.

pub mod acp;
pub mod config;
pub mod core;
mod fingerprint;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod mailbox;
mod nvim;
mod platform;

use std::ffi::c_int;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::core::message::Command;
use crate::mailbox::Mailbox;

impl nvim::Background for acp::Background {
    fn send(&self, command: Command) {
        acp::Background::send(self, command);
    }

    fn discard(&self, what: Box<dyn Send>) {
        acp::Background::discard(what);
    }

    fn leave(&self, limit: Duration) {
        acp::Background::leave(self, limit);
    }
}

fn start(mailbox: Arc<Mailbox>, config: &Config, places: nvim::Places) -> Box<dyn nvim::Background> {
    let nvim::Places { log, audit, bundled, own } = places;
    // What a test can't wait for otherwise.
    let most_files = std::env::var("ACP_NVIM_MOST_FILES").ok().and_then(|most| most.parse().ok());
    let other = acp::Settings::default();
    let settings = acp::Settings {
        client_version: env!("CARGO_PKG_VERSION").to_owned(),
        initialize_timeout: config.timeouts.initialize,
        request_timeout: config.timeouts.request,
        log,
        audit,
        own,
        can_read: config.files.reads,
        can_write: config.files.writes,
        can_run: config.terminal.enabled,
        wants_login_commands: config.login_commands,
        keeper: bundled,
        terminals: acp::terminals::Limits {
            at_once: usize::from(config.terminal.limit),
            output: config.terminal.output_limit,
            time: config.terminal.timeout,
            is_agents: false,
        },
        most_files: most_files.unwrap_or(other.most_files),
        ..other
    };
    Box::new(acp::start(mailbox, settings))
}

/// What `package.loadlib()` calls. nvim-oxi's own entry would end Neovim on an error, so the two
/// parts of it that are needed, its Lua state and its event loop, are set up by hand.
///
/// # Safety
/// Called by Lua with its own state.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn luaopen_acp_nvim(state: *mut mlua::lua_State) -> c_int {
    // SAFETY: `state` is a live Lua state, which both take for the time that Neovim runs.
    unsafe {
        nvim::init(state);
        mlua::Lua::entrypoint1(state, |lua| {
            // Else each text and table for Lua is made in a protected call of its own. Neovim ends when
            // memory is out, and so may we.
            lua.skip_memory_check(true);
            nvim::module(lua, start)
        })
    }
}
