//! The rules of a project: a file of JSON that counts once the user has trusted it, by Neovim's own `:trust`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use super::rule::PROJECT_FILE as FILE;
use super::rule::{Decision, Rule, Source};
use super::sets;

/// Why nothing is known of it.
pub const NO_DISK: &str = "its disk does not answer";

/// What a person writes is smaller.
pub const MOST_BYTES: u64 = 1 << 20;

/// What there is of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProjectRules {
    #[default]
    None,
    /// It is gone, and its rules have counted before.
    Gone,
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
    /// Of what the project brought along and the user trusted, what goes on to count though the file is gone or another.
    pub held: Vec<Rule>,
    /// What the user has made by answers; else what is wrong with the file of it.
    pub kept: Result<Vec<Rule>, String>,
}

impl FolderRules {
    /// Whether any rule that counts in the folder allows something.
    pub fn allows_anything(&self) -> bool {
        let of_project = match &self.project {
            ProjectRules::Trusted(rules) => rules.as_slice(),
            _ => &[],
        };
        of_project.iter().chain(self.kept.iter().flatten()).any(|rule| rule.decision == Decision::Allow)
    }

    /// Whether nobody could look.
    pub fn is_unknown(&self) -> bool {
        matches!(&self.project, ProjectRules::Broken(why) if why == NO_DISK)
    }

    /// What the user should know of rules that don't count.
    pub fn problem(&self) -> Option<String> {
        self.kept.as_ref().err().cloned().or_else(|| self.problem_of_project())
    }

    /// The same of the project's own.
    pub fn problem_of_project(&self) -> Option<String> {
        let problem = self.project.problem()?;
        Some(match self.held.is_empty() {
            true => problem,
            false => format!(
                "{problem}. Those that you trusted before and that reject or ask still count, until Neovim ends or you \
                 trust the file as it is then"
            ),
        })
    }
}

impl ProjectRules {
    /// What the user should know of a file that does not count though it is there.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::None | Self::Denied | Self::Trusted(_) => None,
            Self::Gone => Some(format!("the rules in {FILE} don't count any more, since the file is gone")),
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
    sets: Vec<SetName>,
    #[serde(default)]
    rules: Vec<SoundRule>,
}

/// Where rules stand in a file.
#[derive(Default, Deserialize)]
struct Places<'t> {
    #[serde(borrow, default)]
    rules: Vec<&'t RawValue>,
}

/// The name of a set that there is.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct SetName(String);

impl TryFrom<String> for SetName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if sets::is_known(&name) { Ok(Self(name)) } else { Err(sets::unknown(&name)) }
    }
}

/// A rule that makes sense; where it stands is not known yet. What is wrong is found while the file is read, so that its
/// line is known.
#[derive(Deserialize)]
#[serde(try_from = "WrittenRule")]
struct SoundRule(Rule);

impl TryFrom<WrittenRule> for SoundRule {
    type Error = String;

    fn try_from(written: WrittenRule) -> Result<Self, String> {
        written.into_rule(Source::Project { at: 0, line: 0 }).map(Self)
    }
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

const OBJECT: &str = r#"an object with "sets" and "rules""#;

/// The rules that a file holds; else what is wrong with it. A mistake anywhere makes all of it void: a rule that is
/// left out could be the one that forbids.
pub fn read(text: &str) -> Result<Vec<Rule>, String> {
    // A list would be read as the object's values.
    let begin = text.trim_start();
    if !begin.is_empty() && !begin.starts_with('{') {
        let line = text[..text.len() - begin.len()].matches('\n').count() + 1;
        return Err(format!("line {line}: {OBJECT} belongs here"));
    }
    let written: Written = serde_json::from_str(text).map_err(|error| in_words(&error))?;
    let sets = written.sets.iter().flat_map(|SetName(name)| sets::rules_of(name));
    let own = written.rules.into_iter().zip(1..).zip(lines_of_rules(text));
    let rule = |((SoundRule(rule), at), line)| Rule { source: Source::Project { at, line }, ..rule };
    Ok(sets.chain(own.map(rule)).collect())
}

/// In which line each rule of a sound file begins, from 1.
fn lines_of_rules(text: &str) -> impl Iterator<Item = u32> {
    let places: Places = serde_json::from_str(text).unwrap_or_default();
    let (mut line, mut from) = (1, 0);
    let begins = places.rules.into_iter().map(move |rule| {
        let at = (rule.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        line += text[from..at].matches('\n').count() as u32;
        from = at;
        line
    });
    // A rule is never left out, wherever it stands.
    begins.chain(std::iter::repeat(1))
}

/// What is wrong with a file: the line, and what may stand there.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what).replace('`', "\"");
    // The words are serde's, which speak of types of Rust's.
    let split = |before: &str| what.strip_prefix(before)?.split_once(", expected ");
    let what = if let Some((name, known)) = split("unknown field ") {
        format!("there is no {name} here; what may stand here: {}", known.trim_start_matches("one of "))
    } else if let Some((name, known)) = split("unknown variant ") {
        format!("there is no decision {name}; it is one of {}", known.trim_start_matches("one of "))
    } else if let Some((found, wanted)) = split("invalid type: ") {
        let wanted = match wanted {
            "a sequence" => "a list, [..]",
            "struct Written" => OBJECT,
            "struct WrittenRule" => "a rule such as {\"decision\": \"ask\", \"command\": \"git push **\"}",
            other => other,
        };
        format!(
            "{wanted} belongs here, not {}",
            found.replace("sequence", "a list").replace("map", "an object")
        )
    } else if let Some(name) = what.strip_prefix("missing field ") {
        format!("a rule needs {name}")
    } else if error.is_eof() {
        "the file ends too early: a bracket, a brace or a quote is open".to_owned()
    } else if what == "expected value" {
        "no value that belongs here".to_owned()
    } else if error.is_syntax() {
        format!("it is no JSON: {what}")
    } else {
        what
    };
    format!("line {}: {what}", error.line())
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
    fn only_rules_that_count_and_allow_something_allow_anything() {
        let rule = |decision: &str| {
            let text = format!(r#"{{ "rules": [{{ "decision": "{decision}", "command": "just" }}] }}"#);
            read(&text).expect("a rule")
        };
        let found = |project, kept| FolderRules { project, held: Vec::new(), kept }.allows_anything();
        assert!(found(ProjectRules::Trusted(rule("allow")), Ok(Vec::new())));
        assert!(found(ProjectRules::None, Ok(rule("allow"))));
        assert!(!found(ProjectRules::Trusted(rule("reject")), Ok(rule("ask"))));
        assert!(!found(ProjectRules::Untrusted, Err("broken".to_owned())));
    }

    #[test]
    fn a_file_holds_rules_as_the_options_do_and_a_mistake_makes_all_of_it_void() {
        let rules = read(r#"{"rules": [{"decision": "reject", "command": "git push **", "reason": "no"}]}"#);
        let described = rules.expect("rules").iter().map(Rule::describe).collect::<Vec<_>>();
        assert_eq!(described, ["reject command git push ** (rule 1 of .acp/rules.json): no"]);
        let text =
            "{\"sets\": [], \"rules\": [{\"decision\": \"ask\", \"kind\": \"any\"}, {\n\"decision\": \"ask\",
            \"kind\": \"any\"},\n\n{\"decision\": \"ask\", \"kind\": \"any\"}]}";
        let lines = read(text).expect("rules").into_iter().map(|rule| match rule.source {
            Source::Project { line, .. } => line,
            _ => 0,
        });
        assert_eq!(lines.collect::<Vec<_>>(), [1, 1, 5]);
        assert!(read(r#"{"sets": ["tests"]}"#).is_ok_and(|rules| !rules.is_empty()));
        for (text, why) in [
            ("{\n\n", "line 3: the file ends too early: a bracket, a brace or a quote is open"),
            ("{\n\"sets\" [] }", "line 2: it is no JSON: expected \":\""),
            (r#"{"rule": []}"#, r#"line 1: there is no "rule" here; what may stand here: "sets" or "rules""#),
            ("\n[{}]", r#"line 2: an object with "sets" and "rules" belongs here"#),
            (r#"{"rules": {}}"#, "line 1: a list, [..] belongs here, not an object"),
            (
                r#"{"rules": ["git push"]}"#,
                r#"line 1: a rule such as {"decision": "ask", "command": "git push **"} belongs"#,
            ),
            (r#"{"sets": ["all"]}"#, r#"line 1: there is no set "all"; there are "read-only", "tests""#),
            (
                "{\"rules\": [\n{\"decision\": \"permit\", \"command\": \"x\"}]}",
                r#"line 2: there is no decision "permit"; it is one of "reject", "ask", "allow""#,
            ),
            (r#"{"rules": [{"decision": 1, "command": "x"}]}"#, "line 1: no value that belongs here"),
            (r#"{"rules": [{"command": "x"}]}"#, r#"line 1: a rule needs "decision""#),
            (
                r#"{"rules": [{"decision": "ask", "command": 3}]}"#,
                "line 1: a string belongs here, not integer \"3\"",
            ),
            (
                r#"{"rules": [{"decision": "ask", "comand": "x"}]}"#,
                r#"there is no "comand" here; what may stand here: "decision", "agent""#,
            ),
            (
                "{\"rules\": [\n{\"decision\": \"reject\", \"command\": \"git {push\"}]}",
                "line 2: \"git {push\" has a brace",
            ),
            (
                r#"{"rules": [{"decision": "reject", "command": "a && b"}]}"#,
                "line 1: a rule is about one command",
            ),
            (r#"{"rules": [{"decision": "allow"}]}"#, "line 1: a rule needs one of command"),
            (r#"{"rules": [{"decision": "allow", "kind": "exec"}]}"#, r#"line 1: there is no kind "exec""#),
            (
                r#"{"rules": [{"decision": "allow", "path": "a", "command": "b"}]}"#,
                "line 1: a rule is about one thing, not both of path and command",
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
