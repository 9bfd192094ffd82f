//! Buffers' texts, read in slices, for what is not a feature of its own yet.

use std::time::Duration;

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::buffers::reading::Reading;
use crate::nvim::buffers::texts::Snapshot;
use crate::nvim::editor::Buf;
use crate::nvim::later;

/// Between two slices keys are taken in.
const PAUSE: Duration = Duration::from_millis(1);

impl App {
    /// Reads a buffer's text for others, in slices. `None` when that can't be: the buffer is gone, or
    /// holds no UTF-8 text.
    pub fn with_text(
        &mut self,
        buf: Buf,
        then: impl FnOnce(&mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.go_on_reading(Reading::of(buf), buf, then)
    }

    fn go_on_reading(
        &mut self,
        mut reading: Reading,
        buf: Buf,
        then: impl FnOnce(&mut Self, Option<Snapshot>) -> Result<()> + 'static,
    ) -> Result<()> {
        if !self.cx.editor.buf_is_loaded(buf) {
            return then(self, None);
        }
        match reading.go_on(&self.cx.editor, &mut self.cx.buffers.texts) {
            Ok(Some(snapshot)) => then(self, Some(snapshot)),
            Ok(None) => later(&self.cx.editor.lua, PAUSE, move |app| app.go_on_reading(reading, buf, then)),
            Err(_) => then(self, None),
        }
    }
}
