//! The rules of projects that have counted in this Neovim. An agent can remove or change the file that they stand in: those
//! that hold it back go on to count then, those that allow something end at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use crate::acp::mutex::lock;
use crate::core::rules::project::ProjectRules;
use crate::core::rules::{Decision, Rule};

/// By the project's folder. One library serves one Neovim.
static COUNTED: LazyLock<Mutex<HashMap<PathBuf, Vec<Rule>>>> = LazyLock::new(Mutex::default);

/// What there is of a project's rules, in the light of what counted before; and which of those still count.
pub fn hold(folder: &Path, found: ProjectRules) -> (ProjectRules, Vec<Rule>) {
    let mut counted = lock(&COUNTED);
    match &found {
        ProjectRules::Trusted(rules) => {
            counted.insert(folder.to_owned(), rules.clone());
            (found, Vec::new())
        }
        // The user has said otherwise.
        ProjectRules::Denied => {
            counted.remove(folder);
            (found, Vec::new())
        }
        ProjectRules::None
        | ProjectRules::Gone
        | ProjectRules::Untrusted
        | ProjectRules::Changed
        | ProjectRules::Broken(_) => {
            let Some(rules) = counted.get(folder) else { return (found, Vec::new()) };
            let holds_back = |rule: &&Rule| rule.decision != Decision::Allow;
            let held = rules.iter().filter(holds_back).cloned().collect();
            (if found == ProjectRules::None { ProjectRules::Gone } else { found }, held)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rules::Source;

    #[test]
    fn only_what_holds_back_outlives_its_file_until_the_user_says_otherwise() {
        let rule = |decision| Rule::new(decision, Source::Project { at: 1, line: 1 });
        let (folder, other) = (Path::new("/held/here"), Path::new("/held/there"));
        let all: Vec<Rule> = [Decision::Reject, Decision::Ask, Decision::Allow].map(rule).into();
        let holding = &all[..2];
        assert_eq!(hold(folder, ProjectRules::None), (ProjectRules::None, Vec::new()), "nothing counted");
        let trusted = || ProjectRules::Trusted(all.clone());
        assert_eq!(hold(folder, trusted()), (trusted(), Vec::new()));
        assert_eq!(hold(folder, ProjectRules::None), (ProjectRules::Gone, holding.to_vec()));
        assert_eq!(hold(folder, ProjectRules::Changed), (ProjectRules::Changed, holding.to_vec()));
        assert_eq!(hold(other, ProjectRules::None).1, []);
        let empty = || ProjectRules::Trusted(Vec::new());
        assert_eq!(hold(folder, empty()), (empty(), Vec::new()));
        assert_eq!(hold(folder, ProjectRules::None), (ProjectRules::Gone, Vec::new()));
        hold(folder, trusted());
        assert_eq!(hold(folder, ProjectRules::Denied).1, []);
        assert_eq!(hold(folder, ProjectRules::None), (ProjectRules::None, Vec::new()));
    }
}
