//! Sessions as lines of a picker: those that are open, those that are remembered, and those that an agent
//! has listed.

use std::path::Path;

use crate::core::message::{StoredSession, StoredState};
use crate::core::session::Session;
use crate::core::session::status::state;
use crate::core::store::record::{Kept, ago, holds};
use crate::core::store::stored_sessions::{Earlier, state_of};
use crate::core::text::fitting::{cut_between_words, cut_end, taken};
use crate::core::text::one_line;

/// So many bytes of what was said in a session are put into its item.
const MAX_ITEM: usize = 2000;

/// The cells of the longest title, and those that it has as long as the agent's name can be cut instead.
const TITLE: usize = 60;
const SHORTEST_TITLE: usize = 12;

/// Less of the agent's name says nothing.
const SHORTEST_NAME: usize = 4;

/// What the items of a list are made for.
#[derive(Clone, Copy, Debug)]
pub struct List<'a> {
    pub root: &'a Path,
    /// What the user looks for.
    pub words: &'a [String],
    pub now: u64,
    /// So much of an item is shown.
    pub width: usize,
}

/// An item's beginning: the middle of the title gives way to the state behind it, and then the agent's name.
fn titled(agent: &str, title: &str, state: &str, width: usize) -> String {
    // What follows is cut at least.
    let room = width.saturating_sub(taken(state) + 1);
    let before = match agent {
        "" => String::new(),
        agent => {
            let most = room.saturating_sub(taken(title).min(SHORTEST_TITLE) + 2);
            format!("{}: ", cut_end(agent, most.max(SHORTEST_NAME)))
        }
    };
    let room = room.saturating_sub(taken(&before)).min(TITLE);
    format!("{before}{}{state}", cut_between_words(title, room))
}

/// Whether all these words were said in the session, or are in its title.
pub fn is_about(session: &Session, words: &[String]) -> bool {
    words.is_empty() || {
        let prompts = session.prompts().map(|prompt| &**prompt);
        holds(session.title.as_deref().into_iter().chain(prompts), words)
    }
}

/// Of an open one: its agent, what it is about, and what it does.
pub fn of_session(session: &Session, width: usize) -> String {
    let title = session.title.as_deref().or(session.first_prompt()).unwrap_or("nothing said yet");
    let whole = one_line(title);
    let state = match state(session) {
        "waiting" => "waiting for you",
        state => state,
    };
    let mut item = titled(&session.name(), &whole, &format!(" · {state}"), width);
    let last = session.prompts().last().map(|prompt| one_line(prompt)).filter(|last| *last != whole);
    if let Some(last) = last {
        item.push_str(&format!(" · {last}"));
    }
    item
}

/// The same for one that is remembered, with what its agent is called: when it was used, where if not here, what was asked.
pub fn of_recorded(kept: &Kept, agent: &str, list: List<'_>) -> String {
    of_kept(kept, state_of(kept), agent, list)
}

/// The same for one of which a running agent may have told more.
pub fn of_earlier(earlier: &Earlier, agent: &str, list: List<'_>) -> String {
    of_kept(&earlier.kept, earlier.state, agent, list)
}

fn of_kept(kept: &Kept, state: StoredState, agent: &str, list: List<'_>) -> String {
    let List { root, words, now, width } = list;
    let whole = kept.headline();
    let used =
        if kept.used > 0 { format!(" · {}", ago(now.saturating_sub(kept.used))) } else { String::new() };
    let mut item = titled(agent, &whole, &format!("{}{used}", of_state(state)), width);
    if !kept.is_of(root) {
        item.push_str(&format!(" · {}", kept.owner.cwd.display()));
    }
    if let Some(excerpt) = kept.excerpt(words).filter(|excerpt| *excerpt != whole) {
        item.push_str(&format!(" · {excerpt}"));
    }
    // For pickers that search in it; nobody else sees that much of it.
    for prompt in kept.prompts.iter().rev().skip(1) {
        if item.len() > MAX_ITEM {
            break;
        }
        item.push_str(&format!(" · {}", one_line(&prompt.text)));
    }
    item
}

/// One that an agent has listed.
pub fn of_stored(stored: &StoredSession, width: usize) -> String {
    let title = one_line(stored.title.as_deref().unwrap_or("untitled"));
    let time = stored.updated_at.as_ref().map(|time| {
        // The day and the minute of an ISO 8601 time are enough.
        format!(" ({})", time.get(..16).unwrap_or(time).replace('T', " "))
    });
    titled("", &title, &format!("{}{}", time.unwrap_or_default(), of_state(stored.state)), width)
}

/// What an item says of a session's state with its agent, if anything.
fn of_state(state: StoredState) -> &'static str {
    match state {
        StoredState::Saved => "",
        StoredState::Open => " · open in the agent",
        StoredState::Gone => " · gone, says the agent",
        StoredState::Elsewhere => " · open in another Neovim",
    }
}

/// A text of at most `width` cells.
pub fn shortened(text: &str, width: usize) -> String {
    cut_end(text, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey};
    use crate::core::message::{Content, Opened, Place};
    use crate::core::session::AgentRun;
    use crate::core::store::record::{Owner, Prompt};
    use crate::core::text::cells;

    fn open(prompts: &[&str]) -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        for prompt in prompts {
            session.prompt(vec![Content::Text((*prompt).into())], Moment(0));
        }
        session
    }

    fn kept(title: Option<&str>, used: u64, prompts: &[&str]) -> Kept {
        let prompts = prompts.iter().map(|text| Prompt { at: 0, text: (*text).into() }).collect();
        let owner = Owner { agent: "demo".into(), acp_id: "a".into(), cwd: "/p".into(), called: None };
        Kept {
            owner,
            title: title.map(str::to_owned),
            named: false,
            prompts,
            began: 0,
            used,
            is_cut_off: false,
            elsewhere: false,
        }
    }

    fn list(root: &str, now: u64) -> List<'_> {
        List { root: Path::new(root), words: &[], now, width: 80 }
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn an_open_session_is_called_by_its_title_or_else_by_what_was_asked_first() {
        assert_eq!(of_session(&open(&[]), 80), "demo: nothing said yet · idle");
        let mut session = open(&["fix\nit"]);
        assert_eq!(of_session(&session, 80), "demo: fix it · working");
        session.rename("Bugs");
        assert_eq!(of_session(&session, 80), "demo: Bugs · working · fix it");
    }

    #[test]
    fn the_middle_of_a_long_title_gives_way_to_what_tells_sessions_apart() {
        let name = "a very long name for a session that goes on and on over more than the eighty columns";
        let mut session = open(&["hello"]);
        session.rename(&format!("{name} (fork)"));
        let item = |width| of_session(&session, width);
        let shown = "demo: a very long name for a session that goes on… columns (fork) · working · hello";
        assert_eq!(item(80), shown);
        assert_eq!(item(55), "demo: a very long name for a session… (fork) · working · hello");
        let kept = kept(Some(&format!("{name} (fork)")), 1000, &[]);
        let shown = of_recorded(&kept, "demo", List { width: 50, ..list("/p", 1000) });
        assert_eq!(shown, "demo: a very long name for a… (fork) · just now");
        let (title, updated_at) = (kept.title, Some("2026-11-22T10:00:30Z".to_owned()));
        let stored =
            StoredSession { title, updated_at, state: StoredState::Gone, ..StoredSession::default() };
        assert_eq!(
            of_stored(&stored, 74),
            "a very long name for a… (fork) (2026-11-22 10:00) · gone, says the agent"
        );
    }

    #[test]
    fn no_title_and_no_name_of_an_agent_takes_the_state_of_a_session_out_of_sight() {
        let name = "a name for a session that goes on and on and on";
        let mut session = open(&["hello"]);
        session.rename(name);
        let mut kept = kept(Some(name), 1000, &[]);
        kept.elsewhere = true;
        let agent = "An agent with a name of many words";
        for width in 34..80 {
            let open = shortened(&of_session(&session, width), width);
            assert!(open.contains(" · working"), "{open:?} in {width}");
            let recorded = of_recorded(&kept, agent, List { width, ..list("/p", 1000) });
            let recorded = shortened(&recorded, width);
            assert!(recorded.contains(" · open in another Neovim"), "{recorded:?} in {width}");
            assert!(cells(&open) <= width && cells(&recorded) <= width, "{open:?} {recorded:?} in {width}");
        }
        // Wide characters take two cells each.
        session.rename(&"日本語の題名".repeat(9));
        let open = shortened(&of_session(&session, 50), 50);
        assert!(open.contains(" · working") && cells(&open) <= 50, "{open:?}");
    }

    #[test]
    fn a_session_is_about_words_of_its_title_and_its_prompts() {
        let mut session = open(&["fix the parser"]);
        session.rename("Bugs");
        assert!(is_about(&session, &[]) && is_about(&session, &words(&["bugs", "parser"])));
        assert!(!is_about(&session, &words(&["lexer"])));
    }

    #[test]
    fn a_remembered_session_says_when_it_was_used_and_where_if_not_here() {
        let kept = kept(Some("Bugs"), 1000, &[]);
        let item = |root: &str| of_recorded(&kept, "Mine", list(root, 61_000));
        assert_eq!(item("/p"), format!("Mine: Bugs · {}", ago(60_000)));
        assert_eq!(item("/q"), format!("Mine: Bugs · {} · /p", ago(60_000)));
    }

    #[test]
    fn an_item_holds_what_pickers_search_in_but_not_without_end() {
        let long = "x".repeat(1500);
        let item = of_recorded(&kept(Some("Bugs"), 0, &["one", &long, &long, &long]), "demo", list("/p", 0));
        assert!(item.len() > MAX_ITEM && item.len() < 2 * MAX_ITEM + 100, "{}", item.len());
        assert!(!item.ends_with("one"));
    }

    #[test]
    fn a_listed_session_has_its_day_and_minute() {
        let stored = |title: Option<&str>, time: Option<&str>| {
            let (title, updated_at) = (title.map(str::to_owned), time.map(str::to_owned));
            let state = StoredState::Saved;
            of_stored(&StoredSession { acp_id: "a".into(), cwd: "/p".into(), title, updated_at, state }, 80)
        };
        assert_eq!(stored(Some("Bugs"), Some("2026-11-22T10:00:30Z")), "Bugs (2026-11-22 10:00)");
        assert_eq!(stored(None, Some("today")), "untitled (today)");
        assert_eq!(stored(Some("Bugs"), None), "Bugs");
    }

    #[test]
    fn a_text_is_cut_at_whole_characters() {
        assert_eq!(shortened("größe", 5), "größe");
        assert_eq!(shortened("größer", 5), "größ…");
    }
}
