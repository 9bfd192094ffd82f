//! What a user may choose in a session of the demo agent (mode, model, thinking), how that is offered,
//! and what a session remembers from one turn to the next.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    ClientCapabilities, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption, SessionMode, SessionModeState,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    Ask,
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Model {
    Small,
    Large,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    pub mode: Mode,
    pub model: Model,
    pub thinking: bool,
}

/// What lasts longer than a turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Tokens of the context in use, as if there were a model.
    pub used: u64,
    pub prompts: u32,
    /// What the conversation is called.
    #[serde(default)]
    pub title: Option<String>,
    /// What the user has said once and for all about calls of a kind: whether they are allowed.
    #[serde(default)]
    pub settled: BTreeMap<String, bool>,
}

impl Mode {
    const ALL: [Self; 2] = [Self::Ask, Self::Auto];

    pub fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Auto => "auto",
        }
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Ask => ("Ask", "Ask before a file is changed"),
            Self::Auto => ("Auto", "Change files without asking"),
        }
    }

    fn find(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

impl Model {
    const ALL: [Self; 2] = [Self::Small, Self::Large];

    fn id(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Small => ("Small", "A small script, 32 thousand tokens"),
            Self::Large => ("Large", "The same script, 200 thousand tokens"),
        }
    }

    /// The size of the context in tokens.
    pub fn size(self) -> u64 {
        match self {
            Self::Small => 32_000,
            Self::Large => 200_000,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { mode: Mode::Ask, model: Model::Small, thinking: true }
    }
}

impl Settings {
    pub fn modes(&self) -> SessionModeState {
        let modes = Mode::ALL.into_iter().map(|mode| {
            let (name, description) = mode.describe();
            SessionMode::new(mode.id(), name).description(description)
        });
        SessionModeState::new(self.mode.id(), modes.collect())
    }

    /// The options, the mode among them: a client that knows options is asked to leave modes alone.
    pub fn options(&self, client: &ClientCapabilities) -> Vec<SessionConfigOption> {
        let choice = |id: &'static str, (name, description): (&str, &str)| {
            SessionConfigSelectOption::new(id, name).description(description)
        };
        let modes: Vec<_> = Mode::ALL.into_iter().map(|mode| choice(mode.id(), mode.describe())).collect();
        let models: Vec<_> =
            Model::ALL.into_iter().map(|model| choice(model.id(), model.describe())).collect();
        let mut options = vec![
            SessionConfigOption::select("mode", "Mode", self.mode.id(), modes)
                .description("Who decides on a change")
                .category(SessionConfigOptionCategory::Mode),
            SessionConfigOption::select("model", "Model", self.model.id(), models)
                .description("There is none; this only moves the context's size")
                .category(SessionConfigOptionCategory::Model),
        ];
        if takes_booleans(client) {
            options.push(
                SessionConfigOption::boolean("thinking", "Thinking", self.thinking)
                    .description("Begin with a thought")
                    .category(SessionConfigOptionCategory::ThoughtLevel),
            );
        }
        options
    }

    pub fn set_mode(&mut self, id: &str) -> Result<(), String> {
        self.mode = Mode::find(id).ok_or_else(|| format!("there is no mode {id}"))?;
        Ok(())
    }

    pub fn set_option(&mut self, id: &str, value: &SessionConfigOptionValue) -> Result<(), String> {
        let chosen = value.as_value_id().map(|value| value.0.as_ref());
        match (id, chosen, value.as_bool()) {
            ("mode", Some(mode), _) => self.set_mode(mode)?,
            ("model", Some(id), _) => {
                self.model = Model::ALL
                    .into_iter()
                    .find(|model| model.id() == id)
                    .ok_or_else(|| format!("there is no model {id}"))?;
            }
            ("thinking", _, Some(thinking)) => self.thinking = thinking,
            ("mode" | "model" | "thinking", ..) => return Err(format!("{id} takes another kind of value")),
            _ => return Err(format!("there is no option {id}")),
        }
        Ok(())
    }
}

fn takes_booleans(client: &ClientCapabilities) -> bool {
    let options = client.session.as_ref().and_then(|session| session.config_options.as_ref());
    options.is_some_and(|options| options.boolean.is_some())
}
