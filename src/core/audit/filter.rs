//! Which lines of the record are looked at: words as one types them, each of which has to hold. Some words name a part
//! of a line; any other is looked for in all that the line says.

use serde::{Deserialize, Serialize};

use super::line::{By, Decision, Line, Outcome, What};
use crate::core::inspector::filter::unnegated;

/// What the window says of it.
pub const HELP: &str = "word, -word, !, is:write, by:person, agent:x, rule:x";

/// The words as they were typed, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    typed: String,
}

impl Filter {
    pub fn read(typed: &str) -> Self {
        Self { typed: typed.trim().to_owned() }
    }

    pub fn typed(&self) -> &str {
        &self.typed
    }

    pub fn is_empty(&self) -> bool {
        self.typed.is_empty()
    }

    pub fn passes(&self, line: &Line) -> bool {
        self.typed.to_lowercase().split_whitespace().all(|word| {
            let (is_not, word) = unnegated(word);
            holds(word, line) != is_not
        })
    }

    /// What to say of a word that no line can hold, as `is:typo`.
    pub fn unknown(&self) -> Option<String> {
        self.typed.to_lowercase().split_whitespace().find_map(|word| {
            let (name, value) = unnegated(word).1.split_once(':')?;
            let known = match name {
                "is" => WHATS.map(What::word).into_iter().chain(DECISIONS.map(Decision::word)).collect(),
                "by" => WHO.map(By::word).to_vec(),
                _ => return None,
            };
            let is_known = known.iter().any(|it| it.starts_with(value));
            (!is_known).then(|| format!("{name}: takes {}; {value:?} is none of them.", known.join(", ")))
        })
    }
}

const WHATS: [What; 7] =
    [What::Permission, What::Read, What::Write, What::Command, What::Exit, What::Unasked, What::Call];
const DECISIONS: [Decision; 3] = [Decision::Allowed, Decision::Rejected, Decision::Undecided];
const WHO: [By; 6] = [By::Person, By::Rule, By::Auto, By::Earlier, By::Default, By::Agent];

fn holds(word: &str, line: &Line) -> bool {
    let starts = |text: &str, with: &str| text.to_lowercase().starts_with(with);
    match word.split_once(':') {
        Some(("is", what)) => {
            starts(line.what.word(), what) || line.decision.is_some_and(|it| starts(it.word(), what))
        }
        Some(("by", who)) => {
            // What was decided about their lines was so by the user, whoever allowed the write.
            let by_user = line.decided.as_ref().map(|_| By::Person);
            [line.by, by_user].into_iter().flatten().any(|by| starts(by.word(), who))
        }
        Some(("agent", name)) => starts(&line.agent, name),
        Some(("rule", name)) => {
            let mut rules = [&line.rule, &line.unasked].into_iter().flatten();
            rules.any(|rule| starts(rule, name))
        }
        _ if word == "!" => line.is_trouble(),
        _ => texts(line).any(|text| text.to_lowercase().contains(word)),
    }
}

fn texts(line: &Line) -> impl Iterator<Item = &str> {
    let some = [
        &line.title,
        &line.command,
        &line.cwd,
        &line.call,
        &line.rule,
        &line.unasked,
        &line.reason,
        &line.decided,
        &line.error,
        &line.answer,
    ];
    let lists = line.paths.iter().chain(&line.args).map(String::as_str);
    let all = [line.agent.as_str(), &line.session, &line.project, line.what.word()];
    some.into_iter().flatten().map(String::as_str).chain(lists).chain(all)
}

impl Line {
    /// It was rejected, went wrong, or should have been asked about.
    pub fn is_trouble(&self) -> bool {
        self.decision == Some(Decision::Rejected)
            || self.outcome == Some(Outcome::Failed)
            || self.what == What::Unasked
            || self.exit.is_some_and(|exit| exit != 0)
    }
}

impl What {
    pub fn word(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Read => "read",
            Self::Write => "write",
            Self::Command => "command",
            Self::Exit => "exit",
            Self::Unasked => "unasked",
            Self::Call => "call",
        }
    }
}

impl Decision {
    pub fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Rejected => "rejected",
            Self::Undecided => "undecided",
        }
    }
}

impl By {
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Rule => "rule",
            Self::Earlier => "earlier",
            Self::Default => "default",
            Self::Agent => "agent",
            Self::Auto => "auto",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_must_all_hold_and_some_name_a_part_of_the_line() {
        let line = Line {
            agent: "claude".into(),
            what: What::Write,
            paths: vec!["/p/src/Main.rs".into()],
            decision: Some(Decision::Rejected),
            by: Some(By::Rule),
            rule: Some("no sources".into()),
            ..Line::default()
        };
        for (typed, passes) in [
            ("", true),
            ("main", true),
            ("main -src", false),
            ("is:write by:rule", true),
            ("is:rejected", true),
            ("is:read", false),
            ("agent:cl rule:no", true),
            ("agent:codex", false),
            ("!", true),
            ("-!", false),
            ("a:b", false),
        ] {
            assert_eq!(Filter::read(typed).passes(&line), passes, "{typed:?}");
        }
        assert!(!Filter::read("by:person").passes(&line));
        let decided = Line { decided: Some("you kept yours in 1 place".into()), ..line };
        assert!(Filter::read("by:person by:rule").passes(&decided), "both had a part in it");
    }

    #[test]
    fn a_word_that_no_line_can_hold_is_told_of() {
        for typed in ["", "typo", "a:typo", "is:wr", "-is:allowed by:p", "agent:typo rule:typo"] {
            assert_eq!(Filter::read(typed).unknown(), None, "{typed}");
        }
        assert_eq!(
            Filter::read("main -IS:typo").unknown().as_deref(),
            Some(
                "is: takes permission, read, write, command, exit, unasked, call, allowed, rejected, undecided; \"typo\" \
                 is none of them."
            )
        );
        assert_eq!(
            Filter::read("by:me").unknown().as_deref(),
            Some("by: takes person, rule, auto, earlier, default, agent; \"me\" is none of them.")
        );
    }
}
