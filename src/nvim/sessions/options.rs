//! What an agent lets the user choose: its mode, its model, its other options.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{Command, ConfigOption, OptionKind, OptionValue};
use crate::nvim::actions::{NO_SESSION, fail};
use crate::nvim::app::App;

impl App {
    pub fn modes(&self) -> Vec<(String, String)> {
        self.choices("mode", |session| session.modes.as_ref().map(|modes| modes.available.clone()))
    }

    pub fn models(&self) -> Vec<(String, String)> {
        self.choices("model", |session| session.models.as_ref().map(|models| models.available.clone()))
    }

    /// The values of the option of a category, else those of the older field: id and name.
    fn choices(
        &self,
        category: &str,
        older: impl Fn(&crate::core::session::Session) -> Option<Vec<crate::core::message::Named>>,
    ) -> Vec<(String, String)> {
        let Some(session) = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key)) else {
            return Vec::new();
        };
        let values = match session.selection(category).map(|option| &option.kind) {
            Some(OptionKind::Select { groups, .. }) => {
                groups.iter().flat_map(|group| group.values.clone()).collect()
            }
            _ => older(session).unwrap_or_default(),
        };
        values.into_iter().map(|value| (value.id, value.name)).collect()
    }

    pub fn choose_mode(&mut self, word: Option<&str>) -> Result<()> {
        let modes = self.modes();
        self.choose("mode", modes, word, App::set_mode)
    }

    fn set_mode(&mut self, key: SessionKey, mode: String) -> Result<()> {
        match self.option_of(key, "mode") {
            Some(option) => {
                self.send(Command::SetOption { session: key, option, value: OptionValue::Value(mode) })
            }
            None => self.send(Command::SetMode { session: key, mode }),
        }
    }

    /// The mode after the present one, and after the last the first.
    pub fn next_mode(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let modes = self.modes();
        let current = self.cx.sessions.get(&key).and_then(crate::nvim::chat::winbar::mode);
        let at = modes
            .iter()
            .position(|(id, name)| Some(name) == current.as_ref() || Some(id) == current.as_ref());
        match modes.get(at.map_or(0, |at| (at + 1) % modes.len())) {
            Some((id, _)) => self.set_mode(key, id.clone()),
            None => fail("this agent offers no choice of a mode"),
        }
    }

    pub fn choose_model(&mut self, word: Option<&str>) -> Result<()> {
        let models = self.models();
        self.choose("model", models, word, |app, key, model| match app.option_of(key, "model") {
            Some(option) => {
                app.send(Command::SetOption { session: key, option, value: OptionValue::Value(model) })
            }
            None => app.send(Command::SetModel { session: key, model }),
        })
    }

    fn option_of(&self, key: SessionKey, category: &str) -> Option<String> {
        Some(self.cx.sessions.get(&key)?.selection(category)?.id.clone())
    }

    fn choose(
        &mut self,
        what: &str,
        values: Vec<(String, String)>,
        word: Option<&str>,
        then: impl FnOnce(&mut App, SessionKey, String) -> Result<()> + 'static,
    ) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        if values.is_empty() {
            return fail(format!("this agent offers no choice of a {what}"));
        }
        if let Some(word) = word {
            return match values.into_iter().find(|(id, name)| id == word || name == word) {
                Some((id, _)) => then(self, key, id),
                None => fail(format!("the agent has no {what} {word:?}")),
            };
        }
        let items = values.iter().map(|(_, name)| name.clone()).collect();
        let prompt = format!("Choose a {what}");
        self.offer(&prompt, "acp_choice", items, move |app, index| then(app, key, values[index].0.clone()))
    }

    pub fn choose_option(&mut self, words: &[String]) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.options.is_empty() {
            return fail("this agent offers no options");
        }
        if let Some(id) = words.first() {
            return self.choose_value(key, id.clone(), words.get(1).map(String::as_str));
        }
        let options = in_order(&session.options);
        let ids: Vec<String> = options.iter().map(|option| option.id.clone()).collect();
        let items = options
            .iter()
            .map(|option| match &option.kind {
                OptionKind::Select { current, .. } => format!("{}: {current}", option.name),
                OptionKind::Toggle { current } => {
                    format!("{}: {}", option.name, if *current { "on" } else { "off" })
                }
            })
            .collect();
        self.offer("Options", "acp_option", items, move |app, index| {
            app.choose_value(key, ids[index].clone(), None)
        })
    }

    fn choose_value(&mut self, key: SessionKey, id: String, word: Option<&str>) -> Result<()> {
        let found = self
            .cx
            .sessions
            .get(&key)
            .and_then(|session| session.options.iter().find(|option| option.id == id))
            .map(|option| option.kind.clone());
        match found {
            None => fail(format!("the agent has no option {id:?}")),
            Some(OptionKind::Toggle { current }) => {
                let value = match word {
                    None => !current,
                    Some("on" | "true") => true,
                    Some("off" | "false") => false,
                    Some(other) => return fail(format!("{id} takes on or off, not {other:?}")),
                };
                self.send(Command::SetOption { session: key, option: id, value: OptionValue::Toggle(value) })
            }
            Some(OptionKind::Select { groups, .. }) => {
                let values: Vec<_> = groups
                    .into_iter()
                    .flat_map(|group| group.values)
                    .map(|value| (value.id, value.name))
                    .collect();
                let option = id.clone();
                self.choose(&id, values, word, move |app, key, value| {
                    app.send(Command::SetOption { session: key, option, value: OptionValue::Value(value) })
                })
            }
        }
    }
}

/// Options as the agent orders them, but what belongs to the model right after it.
fn in_order(options: &[ConfigOption]) -> Vec<&ConfigOption> {
    let is = |option: &ConfigOption, category| option.category.as_deref() == Some(category);
    let Some(model) = options.iter().position(|option| is(option, "model")) else {
        return options.iter().collect();
    };
    let (own, others): (Vec<_>, Vec<_>) = options.iter().partition(|option| is(option, "model_config"));
    let before = options[..=model].iter().filter(|option| !is(option, "model_config")).count();
    [&others[..before], &own, &others[before..]].concat()
}
