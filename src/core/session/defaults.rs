//! What the user wants new sessions of an agent to begin with, and what of it is still to be set. How it is set is left
//! to `set_defaults`.

/// What the user wants of every new session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub mode: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Options by id, name or category, and their values; of a toggle `true` or `false`.
    pub options: Vec<(String, String)>,
}

/// One of them that is still to be set.
pub(super) struct Wish {
    pub what: What,
    pub value: String,
}

pub(super) enum What {
    Model,
    Mode,
    Effort,
    Option(String),
}

/// The defaults of a session that are not set yet.
#[derive(Default)]
pub(super) struct Unset {
    pub left: Vec<Wish>,
    /// Requests of ours that are not answered yet. What the agent offers may be another after each.
    pub unanswered: usize,
}

impl Unset {
    pub fn of(defaults: &Defaults) -> Self {
        // The model first: what else there is may depend on it.
        let named =
            [(What::Model, &defaults.model), (What::Mode, &defaults.mode), (What::Effort, &defaults.effort)];
        let named = named.into_iter().filter_map(|(what, value)| Some(Wish { what, value: value.clone()? }));
        let options = defaults.options.iter();
        let options =
            options.map(|(id, value)| Wish { what: What::Option(id.clone()), value: value.clone() });
        Self { left: named.chain(options).collect(), unanswered: 0 }
    }
}
