//! From any thread to Neovim's: one handle that is signalled, and one Lua function that Neovim then
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
pub mod async_handle;
#[cfg(windows)]
#[path = "waker/windows.rs"]
pub mod async_handle;

use crate::mailbox::Wake;
use crate::nvim::frame_clock::Frames;
pub use async_handle::init;

thread_local! {
    /// Never dropped: a thread's locals go when Lua may be closed already (`os.exit(0, true)`).
    static CALLBACKS: RefCell<ManuallyDrop<Option<Rc<Callbacks>>>> = const { RefCell::new(ManuallyDrop::new(None)) };
}

/// What a wake-up leads to; lives as long as Neovim does.
struct Callbacks {
    /// `vim.schedule`.
    schedule: Function,
    drain: Function,
    frames: Rc<Frames>,
}

/// A wake-up since the last look was for something that does not wait for a frame.
static NOW: AtomicBool = AtomicBool::new(false);

/// Wakes Neovim's event loop.
pub struct Waker(async_handle::AsyncHandle);

impl Waker {
    /// `drain` runs in Neovim's main loop after a wake-up; many wake-ups may lead to one run. `frames` runs
    /// the same when it was told to wait.
    pub fn new(lua: &Lua, drain: Function, frames: Rc<Frames>) -> Result<Self, Box<dyn std::error::Error>> {
        let vim: Table = lua.globals().get("vim")?;
        let schedule: Function = vim.get("schedule")?;
        CALLBACKS.set(ManuallyDrop::new(Some(Rc::new(Callbacks { schedule, drain, frames }))));
        let async_handle = async_handle::AsyncHandle::new(lua, || {
            // Above this is C: nothing may unwind into it. A failed schedule is tried at the next wake-up.
            let _ = catch_unwind(AssertUnwindSafe(woken));
        })?;
        Ok(Self(async_handle))
    }

    pub fn wake(&self, wake: Wake) {
        if wake == Wake::Now {
            NOW.store(true, Ordering::Release);
        }
        self.0.send();
    }
}

fn woken() {
    let Some(callbacks) = CALLBACKS.with_borrow(|callbacks| (**callbacks).clone()) else { return };
    // Both fail only when memory is out.
    let _ = if NOW.swap(false, Ordering::AcqRel) || callbacks.frames.is_due() {
        callbacks.schedule.call::<()>(&callbacks.drain)
    } else {
        callbacks.frames.wait()
    };
}
