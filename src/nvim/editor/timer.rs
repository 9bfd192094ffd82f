//! A timer on Neovim's own loop whose callback runs in the main loop, when it is safe.

use std::time::Duration;

use mlua::{Function, Lua, Result, Table};

/// Made once and kept: it can be started again and again.
pub struct Timer {
    start: Function,
    stop: Function,
}

impl Timer {
    pub fn new(lua: &Lua, callback: Function) -> Result<Self> {
        let timer: Table = lua.load(include_str!("timer.lua")).set_name("=acp/timer").call(callback)?;
        Ok(Self { start: timer.get("start")?, stop: timer.get("stop")? })
    }

    /// Calls back once; a start that is still running is replaced.
    pub fn once(&self, after: Duration) -> Result<()> {
        self.start.call((millis(after), 0))
    }

    pub fn every(&self, pace: Duration) -> Result<()> {
        self.start.call((millis(pace), millis(pace)))
    }

    pub fn stop(&self) -> Result<()> {
        self.stop.call(())
    }
}

fn millis(duration: Duration) -> u64 {
    // Rounded up: a timer that is early has to be started once more.
    u64::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}
