//! Beginning a chat: its agent is chosen and started, its session opened, its chat shown. Each of that is a
//! feature's own.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::nvim::app::App;
use crate::nvim::arguments::Args;
use crate::nvim::context::{self, Then};
use crate::nvim::prompt::Prompts;
use crate::nvim::sessions::Sessions;

impl App {
    /// Shows the chat that is meant, or begins one.
    pub fn chat(&mut self, args: &Args, new: bool) -> Result<()> {
        let (wanted, range) = (args.first(), args.range);
        let found = if new || args.bang { None } else { Sessions::to_show(&self.cx, wanted) };
        if let Some(key) = found {
            self.show(key)?;
            return self.prompts.add_to_prompt(&mut self.cx, key, range);
        }
        let add = context::then(move |prompts: &mut Prompts, cx, key| prompts.add_to_prompt(cx, key, range));
        self.begin_with(wanted.map(str::to_owned), add)
    }

    /// Begins a chat with the agent named, else the one that the user has chosen or chooses now.
    pub(super) fn begin_with(&mut self, wanted: Option<String>, then: Then<SessionKey>) -> Result<()> {
        match wanted.or_else(|| self.cx.config.default_agent.clone()) {
            Some(name) => self.begin(&name, then),
            None => {
                self.agents.choose(&mut self.cx, then);
                Ok(())
            }
        }
    }

    pub(super) fn begin(&mut self, name: &str, then: Then<SessionKey>) -> Result<()> {
        let root = self.cx.root();
        let open = Sessions::open_when_known(root.clone(), then);
        self.agents.launch(&mut self.cx, name, root, open)
    }
}
