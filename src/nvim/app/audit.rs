//! The router's part for the record of what agents did.

use mlua::Result;

use crate::nvim::app::App;
use crate::nvim::arguments::{Args, fail};

impl App {
    /// Opens the record; with a `!` it is saved in a file.
    pub fn audit_command(&mut self, args: &Args) -> Result<()> {
        if !args.bang {
            self.audit.open(&mut self.cx, &args.text)?;
            return self.route();
        }
        let Some(name) = args.first() else {
            return fail("name the file to save it in, as in :Acp! audit record.jsonl");
        };
        let path = self.absolute(name);
        self.audit.export(&mut self.cx, path);
        self.route()
    }

    pub fn audit_key(&mut self, name: &str) -> Option<Result<()>> {
        let done = match name {
            "audit_help" => self.show_keys(),
            _ => self.audit.key(&mut self.cx, name)?,
        };
        Some(done.and_then(|()| self.route()))
    }
}
