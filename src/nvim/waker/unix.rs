//! On Unix Neovim gives libuv's own functions to the libraries that it loads: a handle that may be signalled
//! from any thread.

use nvim_oxi::libuv;

/// Gives nvim-oxi Neovim's Lua state, from which it takes the event loop.
///
/// # Safety
/// The state is live, and stays so as long as this library is loaded.
pub unsafe fn init(state: *mut mlua::lua_State) {
    // SAFETY: so says the caller; the pointer types are the same struct under two names.
    unsafe {
        nvim_oxi::lua::init(state.cast());
        nvim_oxi::libuv::init(state.cast());
    }
}

/// Never freed: libuv handles of this kind cannot be.
pub struct AsyncHandle(libuv::AsyncHandle);

impl AsyncHandle {
    /// `woken` runs in a libuv callback after a wake-up; many wake-ups may lead to one run.
    pub fn new(_: &mlua::Lua, woken: fn()) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(Self(libuv::AsyncHandle::new(woken)?))
    }

    pub fn send(&self) {
        // It only fails once the loop is closed, when Neovim is gone.
        let _ = self.0.send();
    }
}
