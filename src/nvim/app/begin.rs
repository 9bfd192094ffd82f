//! Beginning a chat: its agent is chosen and started, its session opened, its chat shown. Each of that is a
//! feature's own.

use mlua::Result;

use crate::config::Choice;
use crate::config::catalog::DEMO;
use crate::core::ids::SessionKey;
use crate::core::store::registry::Change;
use crate::nvim::app::App;
use crate::nvim::arguments::{Args, fail};

/// The last line of the picker.
const MORE: &str = "Other agents … — list all known agents (:Acp agents)";

impl App {
    pub fn chat(&mut self, args: Args, new: bool) -> Result<()> {
        let range = args.range;
        let wanted = args.first().map(str::to_owned);
        if !new && !args.bang {
            let fits = |key: &SessionKey| {
                self.cx.sessions.get(key).is_some_and(|session| {
                    !session.never_lived()
                        && wanted.as_ref().is_none_or(|wanted| *wanted == session.agent_name)
                })
            };
            let found = self.cx.session_here().filter(fits).or_else(|| {
                wanted.as_ref()?;
                self.cx.sessions.keys().rev().find(|key| fits(key)).copied()
            });
            if let Some(key) = found {
                self.show(key)?;
                return self.prompts.add_to_prompt(&mut self.cx, key, range);
            }
        }
        self.begin_with(wanted, move |app, key| app.prompts.add_to_prompt(&mut app.cx, key, range))
    }

    /// Begins a chat with the agent named, else the one that the user has chosen or chooses now.
    pub fn begin_with(
        &mut self,
        wanted: Option<String>,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        match wanted.or_else(|| self.cx.config.default_agent.clone()) {
            Some(name) => self.begin(&name, then),
            None => self.offer_agents(then),
        }
    }

    pub fn begin(
        &mut self,
        name: &str,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        let root = self.cx.root();
        self.launch_agent(name, root.clone(), move |app, launch| {
            app.agents.hide(&app.cx)?;
            let key = app.open_chat(launch, root, None)?;
            then(app, key)
        })
    }

    fn offer_agents(
        &mut self,
        then: impl FnOnce(&mut Self, SessionKey) -> Result<()> + 'static,
    ) -> Result<()> {
        self.read_agents(Change::None, move |app, _| {
            let choices: Vec<Choice> = app.agents.available(&app.cx);
            match &choices[..] {
                [] => {
                    app.agents.show(&app.cx, None)?;
                    return fail("no agent is ready on this machine; choose one from this list");
                }
                [only] if only.name != DEMO => return app.begin(&only.name.clone(), then),
                _ => {}
            }
            let items = choices.iter().map(|choice| format!("{} — {}", choice.title, choice.detail));
            let items = items.chain([MORE.to_owned()]).collect();
            app.offer("Work with", "acp_agent", items, move |app, index| match choices.get(index) {
                Some(choice) => app.begin(&choice.name, then),
                None => app.agents.open(&mut app.cx, false),
            })
        })
    }
}
