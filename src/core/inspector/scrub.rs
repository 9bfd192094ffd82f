//! Takes out of messages what is nobody else's: what is named like a secret or looks like one, and where and by whom
//! they were recorded. The log, the inspector and recordings hide by this; doing it twice changes nothing more.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const HIDDEN: &str = "[hidden]";

const PROJECT: &str = "/project";
const HOME: &str = "/home/user";
const USER: &str = "user";
const HOST: &str = "host";

/// Where a recording is made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The folders of the project and of its sessions.
    pub projects: Vec<String>,
    pub homes: Vec<String>,
    pub user: String,
    pub host: String,
}

/// What secrets look like.
struct SecretPatterns {
    /// The group `keep` stays.
    patterns: [Regex; KINDS],
    /// Finds in one go which of the patterns are worth a try: each of what they find has one of their needles in it,
    /// in letters of any case.
    needles: AhoCorasick,
    /// Whose each needle is.
    owners: Vec<usize>,
}

/// Kinds of secrets.
const KINDS: usize = 9;

static SECRETS: LazyLock<SecretPatterns> = LazyLock::new(|| {
    let all: [(&[&str], &str); KINDS] = [
        // A private key, also where its line breaks are escaped.
        (&["-----BEGIN "], r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?"),
        (&["bearer", "basic"], r"(?i)(?P<keep>\b(?:bearer|basic)\s+)[A-Za-z0-9+/=._~-]{6,}"),
        (&["eyJ"], r"\beyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*){0,2}"),
        (
            &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "xai", "glpat", "dop_v1", "shpat", "xox"],
            r"\b(?:sk|pk|rk|xai|gsk|glpat|dop_v1|shpat|xox[abeoprs])[-_][A-Za-z0-9_-]{8,}",
        ),
        (
            &["gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "npm_", "hf_", "pypi-", "r8_"],
            r"\b(?:gh[oprsu]_|github_pat_|npm_|hf_|pypi-|r8_)[A-Za-z0-9_-]{8,}",
        ),
        (&["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"),
        (&["AIza"], r"\bAIza[A-Za-z0-9_-]{16,}"),
        (&["://"], r"(?P<keep>://)[^/\s:@\x22']+:[^/\s@\x22']+@"),
        // What stands after a name like that of a secret; in JSON inside of a text quotes are escaped.
        (
            &["token", "key", "secret", "passw", "passphrase", "authorization", "credential", "cookie"],
            r#"(?i)(?P<keep>(?:token|api[-_ ]?key|access[-_ ]?key|secret|passw(?:or)?d|passphrase|authorization|credentials?|cookie|private[-_ ]?key)[A-Za-z0-9_-]*(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?)(?:(?:bearer|basic)\s+)?[^\s"'\\,;(){}<>]{6,}"#,
        ),
    ];
    let needles = all.iter().flat_map(|(needles, _)| needles.iter());
    let owners = all.iter().enumerate().flat_map(|(owner, (needles, _))| needles.iter().map(move |_| owner));
    SecretPatterns {
        needles: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(needles)
            .expect("there are few of them"),
        owners: owners.collect(),
        patterns: all.map(|(_, pattern)| Regex::new(pattern).expect("a pattern that was tried")),
    }
});

impl SecretPatterns {
    /// Which patterns may find something.
    fn possible(&self, text: &str) -> [bool; KINDS] {
        let mut possible = [false; KINDS];
        for found in self.needles.find_overlapping_iter(text) {
            possible[self.owners[found.pattern().as_usize()]] = true;
        }
        possible
    }
}

/// Takes out what belongs to one place and its people.
#[derive(Clone, Debug, Default)]
pub struct Scrubber {
    /// What is replaced, by what, and whether it is a word.
    literals: Vec<(String, &'static str, bool)>,
    replaced: usize,
}

impl Scrubber {
    /// `secrets` are hidden wherever they stand.
    pub fn new(origin: &Origin, secrets: &[String]) -> Self {
        let mut literals: Vec<(String, &'static str, bool)> = Vec::new();
        let folders = |all: &[String], stands: &'static str| -> Vec<(String, &'static str, bool)> {
            let long =
                all.iter().map(|path| path.trim_end_matches(['/', '\\'])).filter(|path| path.len() > 3);
            long.flat_map(|path| {
                // Some name folders of their own after one.
                let flat = path.replace(['/', '\\', ':', '.'], "-");
                [
                    (path.to_owned(), stands, false),
                    (path.replace('\\', "/"), stands, false),
                    (flat, stands, false),
                ]
            })
            .collect()
        };
        literals.extend(folders(&origin.projects, PROJECT));
        literals.extend(folders(&origin.homes, HOME));
        literals.extend(secrets.iter().map(|secret| (secret.clone(), HIDDEN, false)));
        let short = origin.host.split('.').next().unwrap_or_default().to_owned();
        for (name, stands) in [(&origin.user, USER), (&origin.host, HOST), (&short, HOST)] {
            if name.len() > 2 && name != "localhost" && name != "root" {
                literals.push((name.clone(), stands, true));
            }
        }
        // What stands for others is not replaced again.
        literals.retain(|(text, ..)| {
            ![PROJECT, HOME, USER, HOST, HIDDEN].iter().any(|all| all.contains(text.as_str()))
        });
        literals.sort_by_key(|(text, ..)| std::cmp::Reverse(text.len()));
        literals.dedup();
        Self { literals, replaced: 0 }
    }

    /// How much was taken out so far.
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    pub fn message(&mut self, message: &mut Value) {
        hide(message);
        self.value(message);
    }

    /// Whether something in it may have to be taken out. A no is certain, also of what stands in this text as JSON.
    pub fn may_find(&self, text: &str) -> bool {
        // As JSON such a literal reads otherwise.
        let is_written_otherwise = |char: char| matches!(char, '"' | '\\') || char.is_control();
        self.literals
            .iter()
            .any(|(literal, ..)| literal.contains(is_written_otherwise) || text.contains(literal.as_str()))
            || SECRETS.needles.is_match(text)
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(scrubbed) = self.scrubbed(text) {
                    *text = scrubbed;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                let old = std::mem::take(fields);
                for (key, mut value) in old {
                    self.value(&mut value);
                    fields.insert(self.scrubbed(&key).unwrap_or(key), value);
                }
            }
            _ => {}
        }
    }

    pub fn text(&mut self, text: &str) -> String {
        self.scrubbed(text).unwrap_or_else(|| text.to_owned())
    }

    /// The text without what is taken out; nothing where all of it stays.
    fn scrubbed(&mut self, text: &str) -> Option<String> {
        let mut scrubbed: Option<String> = None;
        for (literal, stands, is_word) in &self.literals {
            if let Some((replaced, count)) =
                replace(scrubbed.as_deref().unwrap_or(text), literal, stands, *is_word)
            {
                self.replaced += count;
                scrubbed = Some(replaced);
            }
        }
        // What is hidden on the way adds no needle: its own name has none.
        let possible = SECRETS.possible(scrubbed.as_deref().unwrap_or(text));
        for (pattern, _) in SECRETS.patterns.iter().zip(possible).filter(|(_, is_possible)| *is_possible) {
            let mut count = 0;
            let before = scrubbed.as_deref().unwrap_or(text);
            let replaced = pattern.replace_all(before, |found: &regex_lite::Captures<'_>| {
                count += usize::from(!found[0].ends_with(HIDDEN));
                let kept = found.name("keep").map_or("", |kept| kept.as_str());
                let end = if found[0].ends_with('@') { "@" } else { "" };
                format!("{kept}{HIDDEN}{end}")
            });
            if let std::borrow::Cow::Owned(replaced) = replaced {
                scrubbed = Some(replaced);
            }
            self.replaced += count;
        }
        scrubbed
    }
}

/// Replaces a text where no longer name begins with it; a word also where none ends with it. Nothing where it occurs
/// nowhere.
fn replace(text: &str, literal: &str, stands: &str, is_word: bool) -> Option<(String, usize)> {
    text.find(literal)?;
    let is_letter = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    let (mut all, mut rest, mut count) = (String::with_capacity(text.len()), text, 0);
    while let Some(at) = rest.find(literal) {
        let (before, found) = rest.split_at(at);
        let after = &found[literal.len()..];
        let last = before.chars().next_back().or_else(|| all.chars().next_back());
        let is_part = stands != HIDDEN && is_letter(after.chars().next()) || is_word && is_letter(last);
        all.push_str(before);
        all.push_str(if is_part { literal } else { stands });
        count += usize::from(!is_part);
        rest = after;
    }
    all.push_str(rest);
    Some((all, count))
}

/// Replaces the texts under keys that hold secrets, all values of environments and headers, and what
/// was filled into a form.
pub fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            let is_form = fields.get("action").is_some_and(|action| action == "accept");
            for (key, value) in fields {
                match key.as_str() {
                    // What the user filled in is for the agent alone.
                    "content" if is_form => hide_values(value),
                    // Whose account it is, is the agent's and its user's business.
                    "env" | "headers" | "account" | "accounts" | "email" | "authStatus" => hide_all(value),
                    _ if is_secret(key) => hide_all(value),
                    _ => hide(value),
                }
            }
        }
        _ => {}
    }
}

fn hide_values(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.iter_mut().for_each(|(_, value)| *value = HIDDEN.into());
    }
}

fn hide_all(value: &mut Value) {
    match value {
        Value::String(text) => HIDDEN.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide_all),
        Value::Object(fields) => {
            // In a list of pairs the name says which one it was.
            fields.iter_mut().filter(|(key, _)| *key != "name").for_each(|(_, value)| hide_all(value));
        }
        // Numbers are counts of tokens, not tokens.
        _ => {}
    }
}

/// Whether what has this name is a secret.
pub fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 8] =
        ["token", "apikey", "authorization", "password", "passwd", "secret", "credential", "cookie"];
    let name: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    PARTS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn origin() -> Origin {
        Origin {
            projects: vec!["/home/ada/code/engine".into()],
            homes: vec!["/home/ada".into()],
            user: "ada".into(),
            host: "lovelace.example.org".into(),
        }
    }

    fn scrubbed(text: &str) -> String {
        Scrubber::new(&origin(), &["hunter2-of-env".into()]).text(text)
    }

    #[test]
    fn where_and_by_whom_it_was_recorded_is_taken_out() {
        for (text, left) in [
            ("/home/ada/code/engine/src/a.rs", "/project/src/a.rs"),
            ("/home/ada/code/engine", "/project"),
            ("/home/ada/code/engineering/x", "/home/user/code/engineering/x"),
            ("/home/ada/.config", "/home/user/.config"),
            ("/home/adamson/x", "/home/adamson/x"),
            ("-home-ada-code-engine/1.jsonl", "/project/1.jsonl"),
            ("ada@lovelace: all of Canada", "user@host: all of Canada"),
            ("at lovelace.example.org", "at host"),
            ("x hunter2-of-env y", "x [hidden] y"),
        ] {
            assert_eq!(scrubbed(text), left);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_taken_out_and_its_name_stays() {
        for (text, left) in [
            ("Authorization: Bearer abc.def-123", "Authorization: [hidden]"),
            ("curl -H 'x: bearer abcdefgh'", "curl -H 'x: bearer [hidden]'"),
            ("export OPENAI_API_KEY=abcdef0123", "export OPENAI_API_KEY=[hidden]"),
            (r#"{\"password\": \"correct horse"#, r#"{\"password\": \"[hidden] horse"#),
            ("use sk-ant-0123456789abcdef now", "use [hidden] now"),
            ("git clone https://ada:s3cret@host/x", "git clone https://[hidden]@host/x"),
            ("eyJhbGciOi.eyJzdWIiOi.abc_-1", "[hidden]"),
            ("the token count is 240", "the token count is 240"),
            ("tokens: 240", "tokens: 240"),
        ] {
            assert_eq!(scrubbed(text), left);
        }
    }

    #[test]
    fn a_message_keeps_its_shape_and_says_how_much_was_taken_out() {
        let mut message = json!({ "params": { "cwd": "/home/ada/code/engine", "n": 1,
            "/home/ada/x": [{ "text": "ghp_0123456789abcdef" }], "apiKey": "k" } });
        let mut scrubber = Scrubber::new(&origin(), &[]);
        scrubber.message(&mut message);
        assert_eq!(
            message,
            json!({ "params": { "cwd": "/project", "n": 1, "/home/user/x": [{ "text": HIDDEN }], "apiKey": HIDDEN } })
        );
        assert_eq!(scrubber.replaced(), 3);
    }

    /// A secret, and how it stands in a text.
    fn secret() -> impl Strategy<Value = (String, String)> {
        let word = "[A-Za-z0-9]{16,40}";
        let as_is = |text: String| (text.clone(), text);
        prop_oneof![
            word.prop_map(move |it| as_is(format!("sk-{it}"))),
            word.prop_map(move |it| as_is(format!("ghp_{it}"))),
            word.prop_map(move |it| as_is(format!("github_pat_{it}"))),
            "[A-Z0-9]{16}".prop_map(move |it| as_is(format!("AKIA{it}"))),
            (word, word, word).prop_map(move |(a, b, c)| as_is(format!("eyJ{a}.{b}.{c}"))),
            word.prop_map(|it| (it.clone(), format!("Bearer {it}"))),
            "[a-f0-9]{32,64}".prop_map(|it| (it.clone(), format!("MY_SECRET={it}"))),
            "[A-Za-z0-9+/]{32,64}".prop_map(|it| (it.clone(), format!("\"access_token\": \"{it}\""))),
            "[A-Za-z0-9+/]{32,64}".prop_map(|it| (it.clone(), format!("\\\"api-key\\\":\\\"{it}\\\""))),
            word.prop_map(|it| (it.clone(), format!("https://me:{it}@example.org/x"))),
            word.prop_map(|it| (
                it.clone(),
                format!("-----BEGIN PRIVATE KEY-----\n{it}\n-----END PRIVATE KEY-----")
            )),
            Just(("/home/ada".to_owned(), "/home/ada/notes".to_owned())),
            Just(("engine".to_owned(), "/home/ada/code/engine/x".to_owned())),
            Just(("lovelace".to_owned(), "lovelace.example.org".to_owned())),
        ]
    }

    proptest! {
        /// Otherwise the pattern would not be tried.
        #[test]
        fn what_a_pattern_finds_has_one_of_its_needles(
            words in prop::collection::vec(prop_oneof![
                secret().prop_map(|(_, text)| text),
                "(TOKEN|Api Key|access_key|PassWord|passwd|PASSPHRASE|Credentials|private-key)(=|: )[a-z]{6,9}",
                "(bearer|BASIC|sk|rk|gsk|xoxb|ghp|r8|npm|AKIA|AIza|eyJ)[ _-]?[A-Za-z0-9]{4,20}",
                "[a-zA-Z_:=/@-]{1,9}",
            ], 1..6),
        ) {
            let text = words.join(" ");
            for (pattern, is_possible) in SECRETS.patterns.iter().zip(SECRETS.possible(&text)) {
                prop_assert!(is_possible || !pattern.is_match(&text), "{} in {}", pattern.as_str(), text);
            }
        }

        #[test]
        fn no_secret_survives_and_twice_is_as_once(
            secrets in prop::collection::vec((secret(), "[ a-z.,:\n]{0,12}"), 1..5),
            is_nested in any::<bool>(),
        ) {
            let text: String = secrets.iter().map(|((_, text), filler)| format!("{filler} {text} ")).collect();
            let message = if is_nested { json!({ "raw": text }).to_string() } else { text };
            let mut value = json!({ "params": [{ "text": message }] });
            let mut scrubber = Scrubber::new(&origin(), &[]);
            scrubber.message(&mut value);
            let left = value.to_string();
            for ((secret, _), _) in &secrets {
                prop_assert!(!left.contains(secret.as_str()), "{} in {}", secret, left);
            }
            let once = value.clone();
            Scrubber::new(&origin(), &[]).message(&mut value);
            prop_assert_eq!(value, once);
        }

        #[test]
        fn any_text_is_the_same_the_second_time(text in "(?s).{0,80}", more in "[a-z:=/@\"'\\\\ -]{0,60}") {
            let once = scrubbed(&format!("{text}{more}"));
            prop_assert_eq!(scrubbed(&once), once);
        }
    }
}
