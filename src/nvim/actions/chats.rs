//! Chats: beginning one, choosing its agent, showing and hiding it.

use mlua::Result;

use super::{Args, fail};
use crate::config::Choice;
use crate::core::message::SessionKey;
use crate::nvim::app::App;

impl App {
    pub(super) fn chat(&mut self, args: Args, new: bool) -> Result<()> {
        let range = args.range;
        let wanted = args.first().map(str::to_owned);
        if !new && !args.bang {
            let fits = |key: &SessionKey| {
                !self.never_lived(*key)
                    && self.sessions.get(key).is_some_and(|session| {
                        wanted.as_ref().is_none_or(|wanted| *wanted == session.agent_name)
                    })
            };
            let found = self.session_here().filter(fits).or_else(|| {
                wanted.as_ref()?;
                self.sessions.keys().rev().find(|key| fits(key)).copied()
            });
            if let Some(key) = found {
                self.show(key)?;
                return self.add_to_prompt(key, range);
            }
        }
        self.begin_with(wanted, move |app, key| app.add_to_prompt(key, range))
    }

    /// Begins a chat with the agent named, else the one that the user has chosen or chooses now.
    pub(super) fn begin_with(
        &mut self,
        wanted: Option<String>,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        match wanted.or_else(|| self.config.default_agent.clone()) {
            Some(name) => self.begin(&name, then),
            None => self.offer_agents(then),
        }
    }

    fn begin(
        &mut self,
        name: &str,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        let root = self.root();
        let editor = self.editor.clone();
        let find = |program: &str| editor.program(program);
        let launch = match self.config.launch(name, &root, find, self.bundled.as_deref()) {
            Ok(launch) => launch,
            Err(error) => return fail(format!("couldn't start {name}: {error}")),
        };
        let key = self.open_chat(launch, root, None)?;
        then(self, key)
    }

    fn offer_agents(
        &mut self,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        let editor = self.editor.clone();
        let choices: Vec<Choice> =
            self.config.available(|program| editor.program(program), self.bundled.clone());
        if choices.is_empty() {
            return fail("no agent was found on this machine; :checkhealth acp says what to install");
        }
        if let [only] = &choices[..] {
            return self.begin(&only.name.clone(), then);
        }
        let items = choices.iter().map(|choice| format!("{} — {}", choice.title, choice.detail)).collect();
        let names: Vec<String> = choices.into_iter().map(|choice| choice.name).collect();
        self.offer("Work with", "acp_agent", items, move |app, index| app.begin(&names[index], then))
    }

    pub(super) fn toggle_chat(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return self.chat(Args::default(), false) };
        let shown = self.chats.get(&key).is_some_and(|chat| self.windows.is_shown(&self.editor, chat));
        if !shown {
            return self.show(key);
        }
        match self.chats.get(&key) {
            Some(chat) => {
                self.windows.hide(&self.editor, chat)?;
                self.leave_insert_mode()
            }
            None => Ok(()),
        }
    }
}
