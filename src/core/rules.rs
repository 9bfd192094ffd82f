//! Rules about what agents do: who does what to what, and whether that is allowed, asked about or rejected. The
//! most specific rule decides; of two alike, one that rejects comes before one that asks, and that before one that
//! allows. A shell line is judged by every command in it. Real paths are looked up by the caller.

pub mod danger;
pub mod judge;
pub mod kept;
pub mod likeness;
pub mod line;
pub mod offer;
pub mod offers;
pub mod page;
pub mod pattern;
pub mod place;
pub mod project;
pub mod request;
pub mod retrial;
pub mod retrial_page;
pub mod rule;
pub mod ruling;
pub mod sets;
pub mod shell;
pub mod unasked;
pub mod variables;
mod wrappers;
mod writers;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::judge::Judge;
use self::offer::Offer;
use self::place::Place;
pub use self::request::{Act, Request};
pub use self::rule::{Decision, Rule, Source, Who};
pub use self::ruling::{Ground, Judgement, Ruling, Step};

/// All that is needed to judge a request, but for what the disk says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    pub request: Request,
    pub agent: String,
    pub mode: Option<String>,
    /// The session's, where it works, and all of them.
    pub cwd: PathBuf,
    pub folders: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    pub rules: Vec<Rule>,
    /// What else the disk knows of rules.
    pub files: RuleFiles,
}

/// Where the disk knows something of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFiles {
    /// Neovim's list of trusted files, which says whether the rules of the project count.
    pub trust: Option<PathBuf>,
    /// The rules that the user has made by answers, for projects.
    pub kept: Option<PathBuf>,
}

impl Case {
    /// Whether a rule that is not built in asks about commands or rejects them.
    pub fn forbids_commands(&self) -> bool {
        let forbids = |rule: &Rule| {
            rule.source != Source::BuiltIn && rule.command.is_some() && rule.decision != Decision::Allow
        };
        self.rules.iter().any(forbids)
    }

    /// Judges it. `resolve` gives a path without links, as far as it is there.
    pub fn judge(&self, resolve: &dyn Fn(&Path) -> Option<PathBuf>) -> Ruling {
        self.with_judge(resolve, |judge| judge.judge(&self.request))
    }

    /// The rules that the user could make of it; `ruling` is what came of it.
    pub fn offers(&self, ruling: &Ruling, resolve: &dyn Fn(&Path) -> Option<PathBuf>) -> Vec<Offer> {
        self.with_judge(resolve, |judge| offers::offers(judge, &self.request, ruling))
    }

    fn with_judge<T>(&self, resolve: &dyn Fn(&Path) -> Option<PathBuf>, work: impl FnOnce(&Judge) -> T) -> T {
        let real = |path: &PathBuf| resolve(path).unwrap_or_else(|| path.clone());
        let roots: Vec<PathBuf> = self.folders.iter().map(real).collect();
        let place = Place {
            folder: self.request.folder.as_ref().unwrap_or(&self.cwd),
            roots: &roots,
            home: self.home.as_deref(),
            resolve,
        };
        let who = Who { agent: &self.agent, mode: self.mode.as_deref() };
        work(&Judge::new(&self.rules, who, place))
    }
}

/// All rules in force: the defaults, those of the sets that are on, and the user's own.
pub fn in_force(sets: &[String], own: &[Rule]) -> Vec<Rule> {
    let sets = sets.iter().flat_map(|name| sets::rules_of(name));
    sets::defaults().into_iter().chain(sets).chain(own.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
