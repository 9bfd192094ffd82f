//! The router's part for checkpoints: what other features tell them, and ask of them.

use std::path::Path;

use mlua::Result;

use crate::core::ids::{EntryId, JobId, SessionKey};
use crate::core::message::Content;
use crate::core::store::checkpoint::Reply;
use crate::nvim::app::App;

impl App {
    pub fn checkpoint_turn(&mut self, key: SessionKey, content: &[Content]) -> Result<()> {
        self.checkpoints.turn_started(&mut self.cx, key, content);
        Ok(())
    }

    pub fn forget_checkpoints(&mut self, key: SessionKey) -> Result<()> {
        self.checkpoints.forget_turn(&mut self.cx, key);
        Ok(())
    }

    pub fn checkpoint_call(&mut self, key: SessionKey, entry: EntryId, path: &Path) -> Result<()> {
        self.checkpoints.record_call(&mut self.cx, key, entry, path);
        Ok(())
    }

    pub fn checkpointed(&mut self, job: JobId, reply: Reply) -> Result<()> {
        self.checkpoints.replied(&mut self.cx, job, reply)?;
        self.route()
    }

    pub fn choose_checkpoint(&mut self) -> Result<()> {
        self.checkpoints.choose(&mut self.cx)?;
        self.route()
    }
}
