//! The rules that the user has made by answers and that count for a project from then on, in every Neovim: what one is
//! in their list, and how the list changes. Where the list is kept is left to `acp::rules`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::project::WrittenRule;
use super::rule::{Rule, Source};
use crate::core::store::stored_path;

/// The oldest of a project are forgotten beyond so many.
const MAX_RULES: usize = 200;

/// A rule of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The session's folder.
    #[serde(with = "stored_path")]
    pub project: PathBuf,
    pub rule: WrittenRule,
}

/// What becomes of a project's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    Add(Vec<Rule>),
    Remove(Rule),
    /// The first by the second.
    Replace(Box<(Rule, Rule)>),
}

impl Change {
    pub fn apply(self, project: &Path, list: &mut Vec<Kept>) {
        let kept = |rule: Rule| Kept { project: project.to_owned(), rule: (&rule).into() };
        self.change(list, kept, |one| one.project == project);
    }

    /// The same for rules that are kept nowhere.
    pub fn apply_to(self, rules: &mut Vec<Rule>) {
        self.change(rules, |rule| rule, |_| true);
    }

    /// Changes a list that may hold those of others, too.
    fn change<T: PartialEq>(self, list: &mut Vec<T>, item: impl Fn(Rule) -> T, is_own: impl Fn(&T) -> bool) {
        match self {
            Self::Add(rules) => {
                for new in rules.into_iter().map(item) {
                    list.retain(|one| *one != new);
                    list.push(new);
                }
                let count = list.iter().filter(|one| is_own(one)).count();
                let mut spare = count.saturating_sub(MAX_RULES);
                list.retain(|one| {
                    let goes = spare > 0 && is_own(one);
                    spare -= usize::from(goes);
                    !goes
                });
            }
            Self::Remove(rule) => {
                let gone = item(rule);
                list.retain(|one| *one != gone);
            }
            Self::Replace(by) => {
                let (old, new) = (item(by.0), item(by.1));
                match list.iter().position(|one| *one == old) {
                    Some(at) => list[at] = new,
                    None => list.push(new),
                }
            }
        }
    }
}

/// The rules of a project. One that can't be used makes all of them void, since it could be the one that forbids.
pub fn of_project(list: Vec<Kept>, project: &Path) -> Result<Vec<Rule>, String> {
    let own = list.into_iter().filter(|kept| kept.project == project);
    own.map(|kept| kept.rule.into_rule(Source::Kept)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rules::Decision;

    fn rule(command: &str) -> Rule {
        Rule { command: Some(command.into()), ..Rule::new(Decision::Allow, Source::Kept) }
    }

    fn commands(list: &[Kept], project: &str) -> Vec<String> {
        let rules = of_project(list.to_vec(), Path::new(project)).expect("sound rules");
        rules.into_iter().filter_map(|rule| rule.command).collect()
    }

    #[test]
    fn rules_are_kept_changed_and_removed_for_their_project_alone() {
        let mut list = Vec::new();
        let (p, q) = (Path::new("/p"), Path::new("/q"));
        Change::Add(vec![rule("make a"), rule("make b")]).apply(p, &mut list);
        Change::Add(vec![rule("make a")]).apply(q, &mut list);
        // The same again is not there twice.
        Change::Add(vec![rule("make a")]).apply(p, &mut list);
        assert_eq!(commands(&list, "/p"), ["make b", "make a"]);
        Change::Replace(Box::new((rule("make b"), rule("make c")))).apply(p, &mut list);
        Change::Remove(rule("make a")).apply(p, &mut list);
        assert_eq!(
            (commands(&list, "/p"), commands(&list, "/q")),
            (vec!["make c".to_owned()], vec!["make a".to_owned()])
        );
        for number in 0..300 {
            Change::Add(vec![rule(&format!("make {number}"))]).apply(p, &mut list);
        }
        assert_eq!((commands(&list, "/p").len(), commands(&list, "/q").len()), (MAX_RULES, 1));
        assert_eq!(commands(&list, "/p")[0], "make 100");
    }

    #[test]
    fn rules_of_a_session_change_alike() {
        let mut rules = Vec::new();
        Change::Add(vec![rule("make a"), rule("make b")]).apply_to(&mut rules);
        Change::Add(vec![rule("make a")]).apply_to(&mut rules);
        assert_eq!(rules, [rule("make b"), rule("make a")]);
        Change::Replace(Box::new((rule("make b"), rule("make c")))).apply_to(&mut rules);
        Change::Remove(rule("make a")).apply_to(&mut rules);
        assert_eq!(rules, [rule("make c")]);
    }

    #[test]
    fn a_rule_that_cannot_be_used_makes_all_of_the_projects_void() {
        let mut list = Vec::new();
        Change::Add(vec![rule("make a"), rule("make {b")]).apply(Path::new("/p"), &mut list);
        let error = of_project(list.clone(), Path::new("/p")).expect_err("a broken rule");
        assert!(error.contains("brace"), "{error}");
        assert_eq!(of_project(list, Path::new("/q")), Ok(Vec::new()));
    }
}
