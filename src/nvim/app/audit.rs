//! The router's part for the record of what agents did.

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::arguments::{Args, fail};

impl App {
    /// Opens the record; with a `!` it is saved in a file.
    pub fn audit_command(&mut self, args: &Args) -> Result<()> {
        if !args.bang {
            return self.audit.open(&mut self.cx, &args.text);
        }
        let Some(name) = args.first() else {
            return fail("name the file to save it in, as in :Acp! audit record.jsonl");
        };
        let path = self.absolute(name);
        self.audit.export(&mut self.cx, path);
        Ok(())
    }
}
