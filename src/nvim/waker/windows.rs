//! On Windows Neovim keeps libuv's functions to itself, and what it gives to Lua may not be called from
//! other threads. So a wake-up is a byte in a pipe that has a name, which Lua reads in the event loop.

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::{Function, Lua};

/// Nothing is needed.
///
/// # Safety
/// None; it is that of the other systems' function.
pub unsafe fn init(_: *mut mlua::lua_State) {}

/// A byte is on its way: another would tell nothing more, and might have to wait.
static SENT: AtomicBool = AtomicBool::new(false);

pub struct AsyncHandle(File);

impl AsyncHandle {
    /// `woken` runs in a libuv callback after a wake-up; many wake-ups may lead to one run.
    pub fn new(lua: &Lua, woken: fn()) -> Result<Self, Box<dyn std::error::Error>> {
        let heard = lua.create_function(move |_, ()| {
            SENT.store(false, Ordering::Release);
            woken();
            Ok(())
        })?;
        let listen: Function = lua.load(include_str!("pipe.lua")).set_name("=acp/pipe").eval()?;
        let name: String = listen.call(heard)?;
        Ok(Self(File::options().write(true).open(name)?))
    }

    pub fn send(&self) {
        // It only fails once the loop is closed, when Neovim is gone.
        if !SENT.swap(true, Ordering::AcqRel) && (&self.0).write_all(&[0]).is_err() {
            SENT.store(false, Ordering::Release);
        }
    }
}
