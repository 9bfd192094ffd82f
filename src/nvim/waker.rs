//! From any thread to Neovim's: one thing that is rung, and one Lua function that Neovim then
//! runs when it is safe. The libuv callback itself only schedules, or waits for the next frame, since
//! it fires in the middle of Ex commands, where nothing would refuse an edit.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use mlua::{Function, Lua, Table};

#[cfg(unix)]
#[path = "waker/unix.rs"]
pub mod ringer;
#[cfg(windows)]
#[path = "waker/windows.rs"]
pub mod ringer;

use crate::mailbox::Wake;
use crate::nvim::frame_clock::Frames;
pub use ringer::init;

thread_local! {
    /// Never dropped: a thread's locals go when Lua may be closed already (`os.exit(0, true)`).
    static BELL: RefCell<ManuallyDrop<Option<Rc<Bell>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// What a ring leads to; lives as long as Neovim does.
struct Bell {
    /// `vim.schedule`.
    schedule: Function,
    drain: Function,
    frames: Rc<Frames>,
}

/// A ring since the last look was for something that does not wait for a frame.
static NOW: AtomicBool = AtomicBool::new(false);

/// Rings Neovim's event loop.
pub struct Waker(ringer::Ringer);

impl Waker {
    /// `drain` runs in Neovim's main loop after a ring; many rings may lead to one run. `frames` runs
    /// the same when it was told to wait.
    pub fn new(lua: &Lua, drain: Function, frames: Rc<Frames>) -> Result<Self, Box<dyn std::error::Error>> {
        let vim: Table = lua.globals().get("vim")?;
        let schedule: Function = vim.get("schedule")?;
        BELL.set(ManuallyDrop::new(Some(Rc::new(Bell { schedule, drain, frames }))));
        let ringer = ringer::Ringer::new(lua, || {
            // Above this is C: nothing may unwind into it. A failed schedule is tried at the next ring.
            let _ = catch_unwind(AssertUnwindSafe(rung));
        })?;
        Ok(Self(ringer))
    }

    pub fn ring(&self, wake: Wake) {
        if wake == Wake::Now {
            NOW.store(true, Ordering::Release);
        }
        self.0.ring();
    }
}

fn rung() {
    let Some(bell) = BELL.with_borrow(|bell| (**bell).clone()) else { return };
    // Both fail only when memory is out.
    let _ = if NOW.swap(false, Ordering::AcqRel) || bell.frames.is_due() {
        bell.schedule.call::<()>(&bell.drain)
    } else {
        bell.frames.wait()
    };
}
