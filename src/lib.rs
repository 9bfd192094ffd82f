//! acp.nvim: a client of the Agent Client Protocol that lives in Neovim. This file assembles the
//! parts; ARCHITECTURE.md says how they fit.

pub mod acp;
pub mod config;
pub mod core;
pub mod mailbox;
mod nvim;

use std::ffi::c_int;

/// What `package.loadlib()` calls. nvim-oxi's own entry would end Neovim on an error, so the two
/// parts of it that are needed, its Lua state and its event loop, are set up by hand.
///
/// # Safety
/// Called by Lua with its own state.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn luaopen_acp_nvim(state: *mut mlua::lua_State) -> c_int {
    // SAFETY: `state` is a live Lua state, which both take for the time that Neovim runs; the pointer
    // types are the same struct under two names.
    unsafe {
        nvim_oxi::lua::init(state.cast());
        nvim_oxi::libuv::init(state.cast());
        mlua::Lua::entrypoint1(state, nvim::module)
    }
}
