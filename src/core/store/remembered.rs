//! What the user has chosen for new sessions of an agent in a project: mode, model, options. Setting it is left to
//! `core::session::set_defaults`, the disk to `acp::store::choices`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::ids::JobId;
use crate::core::store::stored_path;

/// So many are remembered; of more, those go that were chosen first.
pub const MAX_CHOICES: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    Mode,
    Model,
    /// By its id.
    Option(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The folder that sessions work in.
    #[serde(with = "stored_path")]
    pub project: PathBuf,
    /// The configured name.
    pub agent: String,
    pub what: What,
    /// The id of the value; of a toggle `true` or `false`.
    pub value: String,
}

/// What the editor wants of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// All of it. Answered by `ChoicesRead`.
    Read {
        job: JobId,
    },
    Remember(Remembered),
    Forget(Remembered),
}

impl What {
    /// What it is called: `model`, `option fast`.
    pub fn words(&self) -> String {
        match self {
            Self::Mode => "mode".to_owned(),
            Self::Model => "model".to_owned(),
            Self::Option(id) => format!("option {id}"),
        }
    }
}

impl Remembered {
    pub fn is_for(&self, project: &Path, agent: &str) -> bool {
        self.project == project && self.agent == agent
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        self.is_for(&other.project, &other.agent) && self.what == other.what
    }
}

/// Remembers a choice in the place of an earlier one of the same.
pub fn remember(all: &mut Vec<Remembered>, new: Remembered) {
    forget(all, &new);
    all.push(new);
    all.drain(..all.len().saturating_sub(MAX_CHOICES));
}

pub fn forget(all: &mut Vec<Remembered>, gone: &Remembered) {
    all.retain(|known| !known.is_about_the_same(gone));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(project: &str, what: What, value: &str) -> Remembered {
        Remembered { project: project.into(), agent: "claude".into(), what, value: value.into() }
    }

    #[test]
    fn a_later_choice_of_the_same_takes_the_place_of_an_earlier_one() {
        let mut all = Vec::new();
        for (project, what, value) in [
            ("/a", What::Model, "opus"),
            ("/a", What::Mode, "plan"),
            ("/b", What::Model, "opus"),
            ("/a", What::Option("fast".into()), "true"),
            ("/a", What::Model, "haiku"),
        ] {
            remember(&mut all, choice(project, what, value));
        }
        let values = |all: &[Remembered]| all.iter().map(|one| one.value.clone()).collect::<Vec<_>>();
        assert_eq!(values(&all), ["plan", "opus", "true", "haiku"]);
        forget(&mut all, &choice("/a", What::Model, "whatever"));
        assert_eq!(values(&all), ["plan", "opus", "true"]);
        for number in 0..MAX_CHOICES + 7 {
            remember(&mut all, choice(&number.to_string(), What::Mode, "x"));
        }
        assert_eq!((all.len(), all[0].project.as_path()), (MAX_CHOICES, Path::new("7")));
    }
}
