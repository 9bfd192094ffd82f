//! What the plugin itself remembers about sessions: agent, folder, title and prompts, so that a session
//! can be found and resumed after Neovim has exited. A session's record is an append-only list of facts,
//! so that no process overwrites another's. Where it is stored is left to `acp::store::session_index`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::ids::JobId;
use crate::core::store::stored_path;
use crate::core::text::{cut, one_line};

/// Prompts of a session that are kept: the first, and the newest.
pub const MOST_PROMPTS: usize = 200;

/// Bytes of one prompt that are kept.
pub const LONGEST_PROMPT: usize = 4000;

/// Whose record it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The configured name.
    pub agent: String,
    /// The agent's own id of the session.
    pub acp_id: String,
    #[serde(with = "stored_path")]
    pub cwd: PathBuf,
    /// What the agent calls itself, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
}

impl Owner {
    /// Whether it is the session of this name.
    pub fn is_called(&self, name: &SessionName) -> bool {
        (&self.agent, &self.acp_id) == (&name.agent, &name.acp_id)
    }
}

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub fact: Fact,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The first line of each record.
    Owner(Owner),
    Prompt(String),
    /// What the agent calls the conversation.
    Title(String),
    /// What the user calls it, which counts more.
    Name(String),
    Turn(TurnFact),
}

/// What is known of the last turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnFact {
    Began,
    Ended,
}

/// A session by its agent's configured name and the agent's own id of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SessionName {
    pub agent: String,
    pub acp_id: String,
}

/// What the editor wants of the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordRequest {
    /// All that this Neovim has open, for others to know.
    TellOpen {
        sessions: Vec<SessionName>,
    },
    Keep {
        owner: Box<Owner>,
        line: Line,
    },
    /// All that is kept. Answered by `Recalled`.
    Recall {
        job: JobId,
    },
    Forget {
        agent: String,
        acp_id: String,
    },
}

/// A session as it is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub owner: Owner,
    pub title: Option<String>,
    /// The title is the user's.
    pub named: bool,
    /// Oldest first.
    pub prompts: Vec<Prompt>,
    pub began: u64,
    pub used: u64,
    /// Its last turn began, and nobody saw it end.
    #[serde(default)]
    pub is_cut_off: bool,
    /// Another Neovim has it open. No line says so.
    #[serde(default)]
    pub elsewhere: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    pub at: u64,
    pub text: String,
}

/// What agents call themselves, by their configured names, as the sessions that were used last say.
pub fn names_told<'a>(all: impl Iterator<Item = &'a Kept>) -> BTreeMap<String, String> {
    let mut told: Vec<&Kept> = all.filter(|kept| kept.owner.called.is_some()).collect();
    told.sort_by_key(|kept| kept.used);
    let owners = told.into_iter().map(|kept| &kept.owner);
    owners.filter_map(|owner| Some((owner.agent.clone(), owner.called.clone()?))).collect()
}

impl Line {
    pub fn prompt(at: u64, text: &str) -> Self {
        let mut end = LONGEST_PROMPT.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Self { at, fact: Fact::Prompt(text[..end].to_owned()) }
    }
}

impl Kept {
    /// Reads a record; nothing without its first line. What cannot be read, such as a line that was cut
    /// off by the end of all things, is passed over.
    pub fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let (began, owner) = lines.by_ref().find_map(|line| match line.fact {
            Fact::Owner(owner) => Some((line.at, owner)),
            _ => None,
        })?;
        let mut kept = Self {
            owner,
            title: None,
            named: false,
            prompts: Vec::new(),
            began,
            used: began,
            is_cut_off: false,
            elsewhere: false,
        };
        for Line { at, fact } in lines {
            kept.used = kept.used.max(at);
            match fact {
                Fact::Owner(_) => kept.began = kept.began.min(at),
                Fact::Prompt(text) => {
                    // One that was sent again after a login was said once.
                    if kept.prompts.last().is_none_or(|last| last.text != text) {
                        kept.prompts.push(Prompt { at, text });
                    }
                }
                Fact::Title(title) if !kept.named => {
                    kept.title = Some(title).filter(|title| !title.is_empty())
                }
                Fact::Title(_) => {}
                Fact::Turn(turn) => kept.is_cut_off = turn == TurnFact::Began,
                Fact::Name(name) => {
                    kept.named = !name.is_empty();
                    kept.title = Some(name).filter(|name| !name.is_empty());
                }
            }
        }
        if kept.prompts.len() > MOST_PROMPTS {
            let dropped = kept.prompts.len() - MOST_PROMPTS;
            kept.prompts.drain(1..=dropped);
        }
        Some(kept)
    }

    /// The record that reads as this one.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = vec![Line { at: self.began, fact: Fact::Owner(self.owner.clone()) }];
        lines.extend(
            self.prompts.iter().map(|prompt| Line { at: prompt.at, fact: Fact::Prompt(prompt.text.clone()) }),
        );
        if let Some(title) = self.title.clone() {
            let fact = if self.named { Fact::Name(title) } else { Fact::Title(title) };
            lines.push(Line { at: self.used, fact });
        }
        if self.is_cut_off {
            lines.push(Line { at: self.used, fact: Fact::Turn(TurnFact::Began) });
        }
        lines
    }

    /// What it is called: its title, else the first thing that was asked.
    pub fn headline(&self) -> String {
        let first = self.prompts.first().map(|prompt| prompt.text.as_str());
        one_line(self.title.as_deref().or(first).unwrap_or("untitled"))
    }

    /// Whether each of these words is in its title or in one of the prompts.
    pub fn holds(&self, words: &[String]) -> bool {
        let prompts = self.prompts.iter().map(|prompt| prompt.text.as_str());
        holds(self.title.as_deref().into_iter().chain(prompts), words)
    }

    /// The newest prompt with one of these words in it, else the newest.
    pub fn excerpt(&self, words: &[String]) -> Option<String> {
        let fits = |prompt: &&Prompt| {
            let text = prompt.text.to_lowercase();
            words.iter().any(|word| text.contains(&word.to_lowercase()))
        };
        let found = self.prompts.iter().rev().find(fits).or(self.prompts.last());
        found.map(|prompt| one_line(&prompt.text))
    }

    /// Whether it belongs to a folder.
    pub fn is_of(&self, folder: &Path) -> bool {
        self.owner.cwd == folder
    }
}

/// Whether each of these words is in one of the texts; case does not count.
pub fn holds<'a>(texts: impl Iterator<Item = &'a str>, words: &[String]) -> bool {
    // No more of a text than is kept of it.
    let texts: Vec<String> = texts.map(|text| cut(text, LONGEST_PROMPT).to_lowercase()).collect();
    words.iter().all(|word| {
        let word = word.to_lowercase();
        texts.iter().any(|text| text.contains(&word))
    })
}

/// How long ago something was, in words.
pub fn ago(ms: u64) -> String {
    let minutes = ms / 60_000;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "yesterday".to_owned(),
        _ => format!("{} days ago", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owner() -> Owner {
        Owner { agent: "claude".into(), acp_id: "s/1".into(), cwd: "/src/shop".into(), called: None }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| serde_json::to_string(line).expect("plain data") + "\n").collect()
    }

    fn record(facts: Vec<Fact>) -> String {
        let mut lines = vec![Line { at: 1, fact: Fact::Owner(owner()) }];
        lines.extend(facts.into_iter().enumerate().map(|(at, fact)| Line { at: at as u64 + 2, fact }));
        text(&lines)
    }

    #[test]
    fn a_record_is_readable_lines() {
        insta::assert_snapshot!(record(vec![Fact::Prompt("fix it".into()), Fact::Title("A fix".into())]), @r#"
        {"at":1,"owner":{"agent":"claude","acp_id":"s/1","cwd":"/src/shop"}}
        {"at":2,"prompt":"fix it"}
        {"at":3,"title":"A fix"}
        "#);
    }

    #[test]
    fn the_users_name_for_a_session_outlives_the_agents_titles() {
        let kept = Kept::read(&record(vec![
            Fact::Title("One".into()),
            Fact::Name("Mine".into()),
            Fact::Title("Two".into()),
        ]));
        assert_eq!(kept.expect("a record").headline(), "Mine");
    }

    #[test]
    fn a_turn_that_began_and_has_no_end_was_cut_off() {
        use TurnFact::{Began, Ended};
        let prompt = || Fact::Prompt("fix it".into());
        for (turns, is_cut_off) in [
            // Earlier versions said nothing of turns.
            (vec![], false),
            (vec![Began], true),
            (vec![Began, Ended], false),
            (vec![Began, Began, Ended], false),
            (vec![Began, Ended, Began], true),
        ] {
            let facts = std::iter::once(prompt()).chain(turns.into_iter().map(Fact::Turn));
            let kept = Kept::read(&record(facts.collect())).expect("a record");
            assert_eq!(kept.is_cut_off, is_cut_off);
            assert_eq!(Kept::read(&text(&kept.lines())).map(|again| again.is_cut_off), Some(is_cut_off));
        }
        assert!(record(vec![Fact::Turn(Began)]).ends_with("{\"at\":2,\"turn\":\"began\"}\n"));
    }

    #[test]
    fn a_line_that_was_cut_off_costs_only_itself() {
        let mut text = record(vec![Fact::Prompt("whole".into())]);
        text.push_str("{\"at\":9,\"prom\n{\"at\":10,\"prompt\":\"after\"}\n{\"at\":11,\"future\":{}}\n");
        let kept = Kept::read(&text).expect("a record");
        let prompts: Vec<&str> = kept.prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!(prompts, ["whole", "after"]);
        assert_eq!(Kept::read("{\"at\":1,\"prompt\":\"nobody's\"}"), None);
    }

    #[test]
    fn of_very_many_prompts_the_first_and_the_newest_are_kept() {
        let many = (0..MOST_PROMPTS + 50).map(|number| Fact::Prompt(number.to_string())).collect();
        let kept = Kept::read(&record(many)).expect("a record");
        assert_eq!(kept.prompts.len(), MOST_PROMPTS);
        assert_eq!(kept.prompts[0].text, "0");
        assert_eq!(kept.prompts[1].text, "51");
        assert_eq!(kept.prompts.last().expect("many").text, (MOST_PROMPTS + 49).to_string());
    }

    #[test]
    fn a_long_prompt_is_cut_between_characters() {
        let Fact::Prompt(text) = Line::prompt(1, &"ä".repeat(3000)).fact else { panic!("a prompt") };
        assert_eq!(text, "ä".repeat(2000));
    }

    #[test]
    fn words_are_looked_for_in_titles_and_prompts_alike() {
        let kept = Kept::read(&record(vec![
            Fact::Prompt("Fix the Login\nrace".into()),
            Fact::Prompt("and the docs".into()),
            Fact::Title("Races".into()),
        ]));
        let kept = kept.expect("a record");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(kept.holds(&words(&["login", "DOCS"])));
        assert!(!kept.holds(&words(&["login", "absent"])));
        assert_eq!(kept.excerpt(&words(&["login"])).as_deref(), Some("Fix the Login race"));
        assert_eq!(kept.excerpt(&[]).as_deref(), Some("and the docs"));
    }

    proptest! {
        #[test]
        fn a_record_made_shorter_reads_the_same(facts in prop::collection::vec(prop_oneof![
            "[a-c]{0,3}".prop_map(Fact::Prompt),
            "[a-c]{0,3}".prop_map(Fact::Title),
            "[a-c]{0,3}".prop_map(Fact::Name),
            prop_oneof![Just(TurnFact::Began), Just(TurnFact::Ended)].prop_map(Fact::Turn),
        ], 0..12)) {
            let kept = Kept::read(&record(facts)).expect("a record");
            let again = Kept::read(&text(&kept.lines())).expect("a record");
            // Without a title nothing says when it was used last but its prompts.
            prop_assert_eq!(&again.prompts, &kept.prompts);
            prop_assert_eq!(&again.title, &kept.title);
            prop_assert_eq!(again.named, kept.named);
        }

        #[test]
        fn no_prompt_is_lost_when_two_write_at_once(order in prop::collection::vec(any::<bool>(), 0..40)) {
            let facts = order.iter().enumerate().map(|(n, mine)| Fact::Prompt(format!("{mine} {n}"))).collect();
            let kept = Kept::read(&record(facts)).expect("a record");
            prop_assert_eq!(kept.prompts.len(), order.len());
        }
    }
}
