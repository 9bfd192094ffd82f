//! From any thread to Neovim's: one libuv handle that is rung, and one Lua function that Neovim then
//! runs when it is safe. The libuv callback itself only schedules, since it fires in the middle of
//! Ex commands, where nothing would refuse an edit.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mlua::{Function, Lua, Table};
use nvim_oxi::libuv::AsyncHandle;

thread_local! {
    /// `vim.schedule` and the function to give to it; both live as long as Neovim does.
    static SCHEDULE: RefCell<Option<(Function, Function)>> = const { RefCell::new(None) };
}

/// Rings Neovim's event loop. Never freed: libuv handles of this kind cannot be.
pub struct Waker(AsyncHandle);

impl Waker {
    /// `drain` runs in Neovim's main loop after a ring; many rings may lead to one run.
    pub fn new(lua: &Lua, drain: Function) -> Result<Self, Box<dyn std::error::Error>> {
        let vim: Table = lua.globals().get("vim")?;
        let schedule: Function = vim.get("schedule")?;
        SCHEDULE.set(Some((schedule, drain)));
        let handle = AsyncHandle::new(|| {
            // Above this is C: nothing may unwind into it. A failed schedule is tried at the next ring.
            let _ = catch_unwind(AssertUnwindSafe(run_soon));
        })?;
        Ok(Self(handle))
    }

    pub fn ring(&self) {
        // It only fails once the loop is closed, when Neovim is gone.
        let _ = self.0.send();
    }
}

fn run_soon() {
    let pair = SCHEDULE.with_borrow(Clone::clone);
    if let Some((schedule, drain)) = pair {
        // `vim.schedule` fails only when memory is out.
        let _ = schedule.call::<()>(drain);
    }
}
