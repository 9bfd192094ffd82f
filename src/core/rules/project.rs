//! The rules of a project: a file of JSON that counts once the user has trusted it, by Neovim's own `:trust`.

use serde::{Deserialize, Serialize};

pub use super::rule::PROJECT_FILE as FILE;
use super::rule::{Decision, Rule, Source};
use super::sets;

/// What a person writes is smaller.
pub const MOST_BYTES: u64 = 1 << 20;

/// What there is of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectRules {
    #[default]
    None,
    /// The user has not said that it counts.
    Untrusted,
    /// It is another than the one that counted.
    Changed,
    /// The user has said that it does not.
    Denied,
    /// It can't be read, and why.
    Broken(String),
    Trusted(Vec<Rule>),
}

/// The rules that count in a folder besides those of the options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderRules {
    /// What the project brings along.
    pub project: ProjectRules,
    /// What the user has made by answers; else what is wrong with the file of it.
    pub kept: Result<Vec<Rule>, String>,
}

impl FolderRules {
    /// What the user should know of rules that don't count.
    pub fn problem(&self) -> Option<String> {
        self.kept.as_ref().err().cloned().or_else(|| self.project.problem())
    }
}

impl ProjectRules {
    /// What the user should know of a file that does not count though it is there.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::None | Self::Denied | Self::Trusted(_) => None,
            Self::Untrusted => Some(format!(
                "the rules in {FILE} don't count, since you have not trusted them: read the file, and run :trust there"
            )),
            Self::Changed => Some(format!(
                "the rules in {FILE} don't count, since they have changed after you trusted them: read the file, and run \
                 :trust there again"
            )),
            Self::Broken(why) => Some(format!("the rules in {FILE} don't count: {why}")),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    sets: Vec<String>,
    #[serde(default)]
    rules: Vec<WrittenRule>,
}

/// A rule as it is written in a file: with the fields of the options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenRule {
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl WrittenRule {
    /// The rule; the error says what is wrong with it.
    pub fn into_rule(self, source: Source) -> Result<Rule, String> {
        let Self { decision, agent, mode, kind, path, command, host, mcp, reason } = self;
        Rule { decision, source, agent, mode, kind, path, command, host, mcp, reason }.checked()
    }
}

impl From<&Rule> for WrittenRule {
    fn from(rule: &Rule) -> Self {
        let Rule { decision, source: _, agent, mode, kind, path, command, host, mcp, reason } = rule.clone();
        Self { decision, agent, mode, kind, path, command, host, mcp, reason }
    }
}

/// The rules that a file holds; else what is wrong with it. A mistake anywhere makes all of it void: a rule that is
/// left out could be the one that forbids.
pub fn read(text: &str) -> Result<Vec<Rule>, String> {
    let written: Written = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut rules = Vec::new();
    for name in &written.sets {
        if !sets::is_known(name) {
            return Err(sets::unknown(name));
        }
        rules.extend(sets::rules_of(name));
    }
    for (rule, at) in written.rules.into_iter().zip(1..) {
        rules.push(rule.into_rule(Source::Project(at)).map_err(|why| format!("rule {at}: {why}"))?);
    }
    Ok(rules)
}

/// What the user has said of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    Unknown,
    /// Of an earlier text that it counts.
    Earlier,
    Denied,
    Given,
}

/// What Neovim's list of trusted files says of one with this text: its lines are the text's SHA-256 and the path, or
/// `!` and the path of one that is not to be trusted.
pub fn trusted(list: &str, path: &str, sha256: &str) -> Trust {
    let of_path = |line: &str| {
        let (mark, named) = line.split_once(' ')?;
        (named == path).then(|| mark.to_owned())
    };
    match list.lines().rev().find_map(of_path).as_deref() {
        None => Trust::Unknown,
        Some("!") => Trust::Denied,
        Some(hash) if hash == sha256 => Trust::Given,
        Some(_) => Trust::Earlier,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_rules_as_the_options_do_and_a_mistake_makes_all_of_it_void() {
        let rules = read(r#"{"rules": [{"decision": "reject", "command": "git push **", "reason": "no"}]}"#);
        let described = rules.expect("rules").iter().map(Rule::describe).collect::<Vec<_>>();
        assert_eq!(described, ["reject command git push ** (rule 1 of .acp/rules.json): no"]);
        assert!(read(r#"{"sets": ["tests"]}"#).is_ok_and(|rules| !rules.is_empty()));
        for (text, why) in [
            ("{", "EOF"),
            (r#"{"rule": []}"#, "unknown field `rule`"),
            (r#"{"sets": ["all"]}"#, r#"there is no set "all"; there are "read-only", "tests""#),
            (r#"{"rules": [{"decision": "permit", "command": "x"}]}"#, "unknown variant `permit`"),
            (
                r#"{"rules": [{"decision": "reject", "command": "git {push"}]}"#,
                "rule 1: \"git {push\" has a brace",
            ),
            (
                r#"{"rules": [{"decision": "reject", "command": "a && b"}]}"#,
                "rule 1: a rule is about one command",
            ),
            (r#"{"rules": [{"decision": "allow"}]}"#, "rule 1: a rule needs one of command"),
            (r#"{"rules": [{"decision": "allow", "kind": "exec"}]}"#, r#"rule 1: there is no kind "exec""#),
            (
                r#"{"rules": [{"decision": "allow", "path": "a", "command": "b"}]}"#,
                "rule 1: a rule is about one thing, not both of path and command",
            ),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_counts_as_the_list_of_trusted_files_says() {
        let list = "aa /p/.acp/rules.json\n! /q/.acp/rules.json\nbb /with space/.acp/rules.json\n";
        for (path, hash, says) in [
            ("/p/.acp/rules.json", "aa", Trust::Given),
            // It has changed since.
            ("/p/.acp/rules.json", "ab", Trust::Earlier),
            ("/q/.acp/rules.json", "aa", Trust::Denied),
            ("/with space/.acp/rules.json", "bb", Trust::Given),
            ("/r/.acp/rules.json", "aa", Trust::Unknown),
        ] {
            assert_eq!(trusted(list, path, hash), says, "{path} {hash}");
        }
    }
}
