//! Earlier sessions from both sources: the plugin's record and the agents' own lists. A session in both
//! is listed once, with the prompts of the record and the newest title and time.

use std::collections::BTreeSet;
use std::path::Path;

use crate::core::ids::AgentId;
use crate::core::message::{StoredSession, StoredState};
use crate::core::session::titles::title_told;
use crate::core::store::record::{Kept, Owner};
use crate::core::text::civil_date::days_until;

/// A session that can be taken up.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// What is known of it. `used` is 0 where nobody says when that was.
    pub kept: Kept,
    /// The running agent that alone knows of it.
    pub listed: Option<(AgentId, StoredSession)>,
    /// As a running agent tells it.
    pub state: StoredState,
}

/// What an agent lists, with the name under which it is configured.
pub type Listed = (AgentId, String, StoredSession);

/// Those in which all words are said: of a folder's first, and of those the newest first.
pub fn join(kept: Vec<Kept>, listed: Vec<Listed>, root: &Path, words: &[String]) -> Vec<Earlier> {
    let recorded = |kept: Kept| Earlier { state: state_of(&kept), kept, listed: None };
    let mut all: Vec<Earlier> = kept.into_iter().map(recorded).collect();
    let mut seen = BTreeSet::new();
    for (agent, name, stored) in listed {
        // Two processes of one agent list the same.
        if !seen.insert((name.clone(), stored.acp_id.clone())) {
            continue;
        }
        let used = used(&stored);
        let same = |earlier: &&mut Earlier| {
            earlier.kept.owner.agent == name && earlier.kept.owner.acp_id == stored.acp_id
        };
        if let Some(Earlier { kept, state, .. }) = all.iter_mut().find(same) {
            *state = state.joined(stored.state);
            kept.used = kept.used.max(used);
            kept.title = title(kept.title.take(), kept.named, stored.title);
            continue;
        }
        let kept = as_kept(&name, &stored);
        all.push(Earlier { kept, state: stored.state, listed: Some((agent, stored)) });
    }
    all.retain(|earlier| earlier.kept.holds(words));
    all.sort_by_key(|earlier| (!earlier.kept.is_of(root), std::cmp::Reverse(earlier.kept.used)));
    all
}

/// What a list says of one before its agent was asked.
pub fn state_of(kept: &Kept) -> StoredState {
    if kept.elsewhere { StoredState::Elsewhere } else { StoredState::Saved }
}

/// What an agent that is configured under this name lists, as the record would have it.
pub fn as_kept(name: &str, stored: &StoredSession) -> Kept {
    let (agent, acp_id, cwd) = (name.to_owned(), stored.acp_id.clone(), stored.cwd.clone());
    let owner = Owner { agent, acp_id, cwd, called: None };
    let used = used(stored);
    let title = stored.title.clone();
    Kept {
        owner,
        title,
        named: false,
        prompts: Vec::new(),
        began: used,
        used,
        is_cut_off: false,
        elsewhere: false,
    }
}

/// What a session is called that has a title here, which may be the user's, and one with its agent.
pub fn title(here: Option<String>, named: bool, told: Option<String>) -> Option<String> {
    match told.filter(|_| !named) {
        Some(told) => Some(title_told(here.as_deref(), told)),
        None => here,
    }
}

fn used(stored: &StoredSession) -> u64 {
    stored.updated_at.as_deref().and_then(milliseconds).unwrap_or_default()
}

/// A time of ISO 8601 in milliseconds since 1970.
pub fn milliseconds(time: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| time.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19).unwrap_or(0));
    let fits =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 25 && minute < 61 && second < 62;
    if !fits {
        return None;
    }
    let zone = time.get(19..).and_then(|rest| rest.rfind(['+', '-']).map(|at| &rest[at..]));
    let ahead = zone.and_then(|zone| {
        let minutes = zone.get(1..3)?.parse::<i64>().ok()? * 60
            + zone.get(3..).map_or("", |rest| rest.trim_start_matches(':')).parse::<i64>().unwrap_or(0);
        Some(if zone.starts_with('-') { -minutes } else { minutes })
    });
    let minutes = days_until(year, month, day) * 1440 + hour * 60 + minute - ahead.unwrap_or_default();
    u64::try_from((minutes * 60 + second) * 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::record::Prompt;

    fn kept(id: &str, cwd: &str, used: u64, prompt: &str) -> Kept {
        let owner = Owner { agent: "fake".into(), acp_id: id.into(), cwd: cwd.into(), called: None };
        let prompts = vec![Prompt { at: used, text: prompt.into() }];
        Kept {
            owner,
            title: None,
            named: false,
            prompts,
            began: used,
            used,
            is_cut_off: false,
            elsewhere: false,
        }
    }

    fn stored(id: &str, title: &str, updated: Option<&str>) -> Listed {
        let stored = StoredSession {
            acp_id: id.into(),
            cwd: "/p".into(),
            title: Some(title.into()),
            updated_at: updated.map(str::to_owned),
            state: StoredState::Saved,
        };
        (AgentId(1), "fake".into(), stored)
    }

    fn told(all: &[Earlier]) -> Vec<(&str, String, bool)> {
        let one = |earlier: &Earlier| earlier.kept.headline();
        all.iter().map(|e| (e.kept.owner.acp_id.as_str(), one(e), e.listed.is_some())).collect()
    }

    #[test]
    fn a_session_that_both_know_is_one_with_the_agents_title_and_our_prompts() {
        let ours = vec![kept("a", "/p", 10, "say hello"), kept("b", "/other", 99, "elsewhere")];
        let theirs = vec![
            stored("a", "Greeting", Some("1970-01-01T00:00:05Z")),
            stored("c", "Newest", Some("1970-01-02T00:00:00Z")),
            stored("c", "Newest", None),
            stored("d", "Nobody knows when", None),
        ];
        let all = join(ours.clone(), theirs.clone(), Path::new("/p"), &[]);
        assert_eq!(
            told(&all),
            [
                ("c", "Newest".to_owned(), true),
                ("a", "Greeting".to_owned(), false),
                ("d", "Nobody knows when".to_owned(), true),
                ("b", "elsewhere".to_owned(), false),
            ]
        );
        assert_eq!(all[1].kept.used, 5000);
        // It is found by what was asked and by what the agent calls it.
        for word in ["hello", "greet"] {
            let found = join(ours.clone(), theirs.clone(), Path::new("/p"), &[word.to_owned()]);
            assert_eq!(told(&found).len(), 1, "{word}");
        }
    }

    #[test]
    fn the_users_own_name_for_a_session_stays() {
        let mut ours = kept("a", "/p", 10, "x");
        (ours.title, ours.named) = (Some("Mine".into()), true);
        let all = join(vec![ours], vec![stored("a", "Theirs", None)], Path::new("/p"), &[]);
        assert_eq!(all[0].kept.headline(), "Mine");
    }

    #[test]
    fn times_are_read_in_their_zone() {
        assert_eq!(milliseconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(milliseconds("2026-11-21T20:31:05.250Z"), Some(1_795_293_065_000));
        assert_eq!(milliseconds("2026-11-21T22:31:05+02:00"), Some(1_795_293_065_000));
        assert_eq!(milliseconds("2024-02-29 12:00"), Some(1_709_208_000_000));
        for wrong in ["", "yesterday", "2026-13-01T00:00:00Z", "1900-01-01T00:00:00Z"] {
            assert_eq!(milliseconds(wrong), None, "{wrong}");
        }
    }
}
