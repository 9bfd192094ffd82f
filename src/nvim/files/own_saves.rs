//! In which states files were right after this plugin has saved them. It hears of its own saves (`BufWritePost`) a
//! moment later than they happen, and by then an agent may be writing the file.

use std::collections::HashMap;

use crate::core::message::Stamp;
use crate::nvim::editor::Buf;

#[derive(Default)]
pub struct OwnSaves(HashMap<Buf, (u64, Stamp)>);

impl OwnSaves {
    /// A buffer was saved when its `b:changedtick` was this.
    pub fn note(&mut self, buf: Buf, tick: u64, stamp: Option<Stamp>) {
        match stamp {
            Some(stamp) => self.0.insert(buf, (tick, stamp)),
            None => self.0.remove(&buf),
        };
    }

    /// The state after the save that is heard of now, if it was one of these.
    pub fn take(&mut self, buf: Buf, tick: u64) -> Option<Stamp> {
        self.0.remove(&buf).filter(|(at, _)| *at == tick).map(|(_, stamp)| stamp)
    }
}
