//! What the user wants new sessions of an agent to begin with, and what of it is still to be set. How it is set is left
//! to `set_defaults`.

use crate::core::message::Beginning;
use crate::core::store::remembered::What as Choice;

/// What the user wants of every new session of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defaults {
    pub mode: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Options by id, name or category, and their values; of a toggle `true` or `false`.
    pub options: Vec<(String, String)>,
    /// What the user has had remembered for the project, which counts more.
    pub remembered: Vec<(Choice, String)>,
}

impl Defaults {
    /// The same for agents that want to know it when they open the session.
    pub fn beginning(&self) -> Beginning {
        let mut beginning = Beginning::default();
        for Preference { what, value, .. } in Unset::of(self).left {
            let name = match what {
                What::Mode => {
                    beginning.mode = Some(value);
                    continue;
                }
                What::Model => "model".to_owned(),
                What::Effort => "effort".to_owned(),
                What::Option(name) => name,
            };
            beginning.options.push((name, value));
        }
        beginning
    }
}

/// One of them that is still to be set.
pub(super) struct Preference {
    pub what: What,
    pub value: String,
    /// It was remembered for the project, rather than set up.
    pub remembered: bool,
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
    pub left: Vec<Preference>,
    /// Requests of ours that are not answered yet. What the agent offers may be another after each.
    pub unanswered: usize,
    /// The session has begun with them.
    pub begun: bool,
}

impl Unset {
    pub fn of(defaults: &Defaults) -> Self {
        // The model first: what else there is may depend on it.
        let named =
            [(What::Model, &defaults.model), (What::Mode, &defaults.mode), (What::Effort, &defaults.effort)];
        let is_remembered = |what: &What| {
            let same = |choice: &Choice| {
                matches!((choice, what), (Choice::Model, What::Model) | (Choice::Mode, What::Mode))
            };
            defaults.remembered.iter().any(|(choice, _)| same(choice))
        };
        let preference = |what, value| Preference { what, value, remembered: false };
        let named = named.into_iter().filter(|(what, _)| !is_remembered(what));
        let named = named.filter_map(|(what, value)| Some(preference(what, value.clone()?)));
        let options = defaults.options.iter();
        let options = options.map(|(id, value)| preference(What::Option(id.clone()), value.clone()));
        // What belongs to the model that is remembered is set after it, and what is remembered last counts.
        let (models, others): (Vec<Preference>, Vec<Preference>) =
            remembered(&defaults.remembered).partition(|preference| matches!(preference.what, What::Model));
        let left = models.into_iter().chain(named).chain(options).chain(others).collect();
        Self { left, unanswered: 0, begun: false }
    }
}

pub(super) fn remembered(all: &[(Choice, String)]) -> impl Iterator<Item = Preference> {
    all.iter().map(|(choice, value)| {
        let what = match choice {
            Choice::Model => What::Model,
            Choice::Mode => What::Mode,
            Choice::Option(id) => What::Option(id.clone()),
        };
        Preference { what, value: value.clone(), remembered: true }
    })
}
