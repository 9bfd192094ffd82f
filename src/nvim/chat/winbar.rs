//! The bars above the chat's windows. What an agent does not
//! report is absent, not zero.

use crate::config::Keys;
use crate::core::ids::Moment;
use crate::core::session::status::{mode, model};
use crate::core::session::{Phase, Session};
use crate::core::text::bar::{Part, bar};
use crate::core::text::cells;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::visible::visible_line;
use crate::core::transcript::{price, progress, running_time};
use crate::nvim::chat::TICK;

/// The transcript's bar, in the format of 'winbar', for a window of `width` cells. Where that is
/// narrow a long title is cut in its middle first, then the facts that matter least go, then where the agent is if the
/// title is short, then the title, then the other facts. `place` is where the agent is, if that is to be told.
pub fn transcript(
    session: &Session,
    now: Moment,
    width: usize,
    (place, icons): (Option<&str>, bool),
) -> String {
    let (mut state, group) = match &session.phase {
        _ if session.waits_for_user() => ("waiting for you".to_owned(), "AcpToolWaiting"),
        Phase::Opening { since } => {
            (format!("starting {}", running_time(now.since(*since))), "AcpToolRunning")
        }
        Phase::LoginNeeded => ("log in".to_owned(), "AcpToolWaiting"),
        Phase::Gone => ("ended".to_owned(), "AcpError"),
        Phase::Idle => (session.replay.map_or("ready", |replay| replay.state()).to_owned(), "AcpMeta"),
        Phase::Working { .. } => (format!("working {}", running_time(session.worked(now))), "AcpToolRunning"),
        Phase::Waiting { due, .. } => {
            (format!("again in {}", running_time(due.since(now) + 999)), "AcpToolWaiting")
        }
        Phase::Cancelling { asked, .. } => {
            (format!("stopping {}", running_time(now.since(*asked))), "AcpToolCancelled")
        }
        Phase::Ending { since, .. } => {
            (format!("ending {}", running_time(now.since(*since))), "AcpToolCancelled")
        }
    };
    let waits = session.waits_for_user();
    if icons && !waits && matches!(session.phase, Phase::Working { .. } | Phase::Opening { .. }) {
        state = format!("{} {state}", spinner(now));
    }
    // The state is what one looks at.
    let name = match width.saturating_sub(4 + cells(&state)) {
        room if room >= SHORTEST_NAME => cut_end(&visible_line(&session.name()), room),
        _ => String::new(),
    };
    // What is always there: a blank at both ends, the name, two blanks, the state.
    let fixed = 4 + cells(&name) + cells(&state);
    let room = width.saturating_sub(fixed + 3);
    let (pressing, minor) = (pressing_facts(session, now), minor_facts(session));
    let of_facts = |facts: &[String]| facts.iter().map(|fact| cells(fact) + 3).sum::<usize>();
    // Where the agent is leaves room for how it works.
    let pressing: Vec<String> = shortened(pressing).collect();
    let room = room.saturating_sub(of_facts(&pressing));
    let place = place.and_then(|place| fitting_place(&visible_line(place), room.min(LONGEST_PLACE)));
    let is_placed = place.is_some();
    let firm = usize::from(is_placed) + pressing.len();
    let mut facts: Vec<String> = place.into_iter().chain(pressing).chain(shortened(minor)).collect();
    while !facts.is_empty() && fixed + of_facts(&facts) > width {
        // That nobody is asked is to be seen in any room, and it is short.
        let long = facts.iter().position(|fact| fact.starts_with("auto: "));
        match long.filter(|_| facts.len() <= firm) {
            Some(at) => facts[at] = "auto".to_owned(),
            None => drop(facts.pop()),
        }
    }
    let title = visible_line(session.title.as_deref().unwrap_or_default());
    // It ends well before what follows begins, which has the same colour.
    let room = |facts: &[String]| width.saturating_sub(fixed + of_facts(facts) + 2);
    let with_room_for = |facts: &[String], firm: usize, needed: usize| {
        let mut counts = (firm.min(facts.len())..=facts.len()).rev();
        counts.find(|count| room(&facts[..*count]) >= cells(&title).min(needed))
    };
    let fewer = [ENOUGH_OF_TITLE, LITTLE_OF_TITLE];
    let fewer = fewer.into_iter().find_map(|needed| with_room_for(&facts, firm, needed));
    let is_short = !title.is_empty() && cells(&title) <= LITTLE_OF_TITLE;
    if fewer.is_none() && is_short && is_placed && !facts.is_empty() {
        let without_place = facts.split_off(1);
        match with_room_for(&without_place, firm - 1, LITTLE_OF_TITLE) {
            Some(count) => facts = without_place[..count].to_vec(),
            None => facts.extend(without_place),
        }
    }
    facts.truncate(fewer.unwrap_or(facts.len()));
    let title = match room(&facts) {
        room if room >= cells(&title).min(SHORTEST_TITLE) => cut_middle(&title, room),
        _ => String::new(),
    };
    let facts: String = facts.iter().map(|fact| format!("{} · ", escape(fact))).collect();
    // A click on the state of a session that waits takes its question up.
    let state = if waits { format!("%@{CLICKED}@{state}%X") } else { state };
    format!(
        "%#AcpWinbar# {}%#AcpMeta#  {}%=%#AcpMeta#{facts}%#{group}#{state} ",
        escape(&name),
        escape(&title)
    )
}

/// The function that a click on what waits calls, as 'statusline' names functions of Lua.
const CLICKED: &str = "v:lua.require'acp.click'.question";

/// What shows that an agent is at work. It turns with the clock that moves the time on, which stands still when no agent
/// is: an idle chat costs nothing.
pub const SPINNER: [char; 8] = ['⣾', '⣽', '⣻', '⢿', '⡿', '⣟', '⣯', '⣷'];

fn spinner(now: Moment) -> char {
    let step = now.0 / u64::try_from(TICK.as_millis()).unwrap_or(u64::MAX);
    SPINNER[usize::try_from(step % 8).unwrap_or_default()]
}

/// Where the agent is needs no more to be found.
const LONGEST_PLACE: usize = 48;

/// A place that is cut to fewer characters says nothing.
const SHORTEST_PLACE: usize = 16;

/// In less room than this, what the agent does with it goes first.
const ROOM_FOR_BOTH: usize = 24;

/// What the agent does and where, or just where, as there is room.
fn fitting_place(place: &str, room: usize) -> Option<String> {
    if room >= ROOM_FOR_BOTH {
        return Some(cut_middle(place, room));
    }
    let bare = place.split_once(' ').map_or(place, |(_, bare)| bare);
    match [place, bare].into_iter().find(|text| cells(text) <= room) {
        Some(text) => Some(text.to_owned()),
        None => (room >= SHORTEST_PLACE).then(|| cut_middle(bare, room)),
    }
}

/// A name that is cut to fewer characters says nothing.
const SHORTEST_NAME: usize = 3;

/// A longer title that is cut to fewer characters says nothing.
const SHORTEST_TITLE: usize = 8;

/// So much of a title says more than facts that are minor.
const ENOUGH_OF_TITLE: usize = 20;

/// The same where there is no room for that.
const LITTLE_OF_TITLE: usize = 12;

fn shortened(facts: Vec<String>) -> impl Iterator<Item = String> {
    facts.into_iter().map(|fact| cut_middle(&visible_line(&fact), 24))
}

/// What the user has to know of, most important first.
fn pressing_facts(session: &Session, now: Moment) -> Vec<String> {
    let mut facts = Vec::new();
    match session.left().len() {
        0 => {}
        left => facts.push(format!("{left} still running")),
    }
    facts.extend(
        session.auto().map(|auto| if auto.rejects() { "auto: rejects" } else { "auto: waits" }.to_owned()),
    );
    facts.extend(session.pressing_limit(now).map(|limit| limit.fact(now)));
    match session.subagents().filter(|(_, subagent)| subagent.is_working()).count() {
        0 => {}
        1 => facts.push("1 subagent".to_owned()),
        working => facts.push(format!("{working} subagents")),
    }
    facts.extend(mode(session));
    facts
}

/// What the agent reports besides, most important first.
fn minor_facts(session: &Session) -> Vec<String> {
    let mut facts = Vec::new();
    if session.is_working()
        && let Some(plan) = session.present_plan().filter(|plan| !plan.is_empty())
    {
        facts.push(format!("plan {}", progress(plan)));
    }
    if let Some((used, size)) = session.usage
        && size > 0
    {
        facts.push(format!("ctx {}%", used.saturating_mul(100) / size));
    }
    facts.extend(model(session));
    if let Some(cost) = &session.cost {
        facts.push(price(cost));
    }
    facts
}

/// The prompt's bar: what waits, and the keys that matter now, as far as a window of `width` cells has room for them.
pub fn prompt(session: &Session, keys: &Keys, width: usize) -> String {
    let mut parts = waiting(session, keys);
    // What the agent says meanwhile may push the question out of the window.
    if session.waits_for_user() && !matches!(session.phase, Phase::LoginNeeded) {
        parts.push(Part::new("AcpToolWaiting", ":Acp answer", 0));
    }
    // A key that is switched off is not named.
    let key = |names: &[&str], what: &str, rank| {
        let lhs = names.iter().find_map(|name| keys.get(name).first());
        lhs.map(|lhs| Part::new("AcpMeta", format!("{lhs} {what}"), rank))
    };
    let send = ["send_insert", "send"];
    if matches!(session.phase, Phase::Ending { .. } | Phase::Gone) {
        // Nobody is there to send it to; what is typed stays.
        parts.push(Part::new("AcpMeta", ":Acp restart", 1));
    } else if session.plays_recording() {
        parts.push(Part::new("AcpMeta", ":Acp close ends it", 1));
    } else if session.is_working() || matches!(session.phase, Phase::Waiting { .. }) {
        if !matches!(session.phase, Phase::Cancelling { .. }) {
            parts.extend(key(&["cancel"], "stop", 1));
        }
        parts.extend(key(&send, "send next", 5));
        if session.can_be_steered() {
            parts.extend(key(&["steer"], "steer", 4));
        }
    } else {
        parts.extend(key(&send, "send", 1));
    }
    parts.extend(key(&["help"], "keys", 2));
    bar(&parts, &[], width)
}

/// What waits in line, with the key that shows it.
fn waiting(session: &Session, keys: &Keys) -> Vec<Part> {
    let held = session.held();
    let waiting = session.queue().len() - held;
    let counted = [(held, "held"), (waiting, "waiting")].into_iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(count, what)| format!("{count} {what}")).collect();
    let mut parts = Vec::new();
    if !counted.is_empty() {
        parts.push(Part::new("AcpToolWaiting", counted.join(", "), 0));
        let key = keys.get("queue").first();
        parts.extend(key.map(|lhs| Part::new("AcpMeta", format!("({lhs})"), 3).after(" ")));
    }
    if session.steering() > 0 {
        parts.push(Part::new("AcpToolRunning", "steering \u{2026}", 0));
    }
    parts
}

/// A text in which 'winbar' finds nothing to evaluate.
fn escape(text: &str) -> String {
    text.replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AskId, SessionKey};
    use crate::core::message::{
        Content, Cost, Limit, LimitStatus, Modes, Named, Opened, PermissionKind, PermissionOption, Place,
        ToolCallPatch, Update,
    };
    use crate::core::session::AgentRun;
    use crate::core::session::auto::{Auto, AutoQuestions};

    fn idle() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session
    }

    /// The bar without its colours, and without what a click on it is for.
    fn plain(session: &Session, now: u64, width: usize) -> String {
        plain_with(session, now, width, (None, false))
    }

    /// The same with where the agent is, and with icons.
    fn plain_with(session: &Session, now: u64, width: usize, look: (Option<&str>, bool)) -> String {
        let bar = transcript(session, Moment(now), width, look);
        let bar = bar.replace(&format!("%@{CLICKED}@"), "").replace("%X", "");
        bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text)).collect()
    }

    #[test]
    fn the_bar_shows_only_what_the_agent_reports() {
        let mut session = idle();
        assert_eq!(plain(&session, 0, 80), " demo  %=ready ");
        let cost = Some(Cost { amount: 0.124, currency: "USD".into() });
        session.apply(Update::Usage { used: 34, size: 100, cost }, Moment(0));
        session.apply(Update::Info { title: Some(Some("100% sure".into())), updated_at: None }, Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert_eq!(plain(&session, 42_000, 80), " demo  100%% sure%=ctx 34%% · $0.12 · working 42 s ");
    }

    #[test]
    fn the_bar_says_when_a_limit_is_near_until_it_begins_anew() {
        let mut session = idle();
        let limit = |status, used| Limit {
            window: "five_hour".into(),
            status,
            used: Some(used),
            resets: Some(60_000),
            overage: false,
        };
        session.apply(Update::Limit(limit(LimitStatus::Fine, 0.3)), Moment(0));
        assert_eq!(plain(&session, 0, 80), " demo  %=ready ");
        session.apply(Update::Limit(limit(LimitStatus::Near, 0.82)), Moment(0));
        assert_eq!(plain(&session, 0, 80), " demo  %=limit 82%% · ready ");
        session.apply(Update::Limit(limit(LimitStatus::Reached, 1.0)), Moment(0));
        assert_eq!(plain(&session, 0, 80), " demo  %=limit reached · ready ");
        assert_eq!(plain(&session, 60_000, 80), " demo  %=ready ");
    }

    #[test]
    fn a_spinner_turns_while_an_agent_works_and_stops_when_it_waits() {
        let mut session = idle();
        let bar = |session: &Session, now| transcript(session, Moment(now), 80, (None, true));
        let turns = |session: &Session| bar(session, 0) != bar(session, 250);
        assert!(!turns(&session), "idle");
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        assert!(turns(&session), "at work");
        let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
        session.asked(AskId(1), ToolCallPatch::new("1"), vec![option], Moment(0));
        assert!(!turns(&session), "it waits for the user");
        assert_eq!(plain(&session, 0, 80), " demo  %=waiting for you ");
    }

    #[test]
    fn a_narrow_bar_cuts_the_title_then_drops_minor_facts_then_the_title_and_keeps_the_state() {
        let mut session = idle();
        let cost = Some(Cost { amount: 1.0, currency: "USD".into() });
        session.apply(Update::Usage { used: 1, size: 2, cost }, Moment(0));
        let title = Some(Some("A title that is much too long".into()));
        session.apply(Update::Info { title, updated_at: None }, Moment(0));
        assert_eq!(plain(&session, 0, 45), " demo  A title t…h too long%=ctx 50%% · ready ");
        assert_eq!(plain(&session, 0, 32), " demo  A title …too long%=ready ");
        assert_eq!(plain(&session, 0, 24), " demo  %=ctx 50%% · ready ");
        assert_eq!(plain(&session, 0, 12), " de…  %=ready ");
        assert_eq!(plain(&session, 0, 10), "   %=ready ");
    }

    #[test]
    fn a_title_has_all_of_the_room_there_is() {
        let mut session = idle();
        let title = |session: &mut Session, title: &str| {
            session.apply(Update::Info { title: Some(Some(title.into())), updated_at: None }, Moment(0));
        };
        title(&mut session, &"x".repeat(85));
        assert!(plain(&session, 0, 100).contains(&"x".repeat(85)), "{}", plain(&session, 0, 100));
        title(&mut session, "Fix it");
        let cost = Some(Cost { amount: 1.0, currency: "USD".into() });
        session.apply(Update::Usage { used: 1, size: 2, cost }, Moment(0));
        assert_eq!(plain(&session, 0, 39), " demo  Fix it%=ctx 50%% · $1.00 · ready ");
        // One cell less, and the price gives way to it.
        assert_eq!(plain(&session, 0, 38), " demo  Fix it%=ctx 50%% · ready ");
        assert_eq!(plain(&session, 0, 21), " demo  Fix it%=ready ");
        assert_eq!(plain(&session, 0, 20), " demo  %=ready ");
    }

    #[test]
    fn where_the_agent_is_gives_way_to_a_short_title() {
        let mut session = idle();
        let title = |session: &mut Session, title: &str| {
            session.apply(Update::Info { title: Some(Some(title.into())), updated_at: None }, Moment(0));
        };
        title(&mut session, "The tour");
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let bar = |session: &Session, width| {
            plain_with(session, 12_000, width, (Some("editing acp-tour.lua"), true))
        };
        assert_eq!(bar(&session, 40), " demo  The tour%=⣾ working 12 s ");
        assert_eq!(bar(&session, 55), " demo  The tour%=editing acp-tour.lua · ⣾ working 12 s ");
        // A long one is not worth it.
        title(&mut session, "A title that is much too long for it");
        assert_eq!(bar(&session, 43), " demo  %=acp-tour.lua · ⣾ working 12 s ");
    }

    #[test]
    fn a_narrow_bar_says_of_a_session_that_is_left_alone_that_it_is() {
        let mut session = idle();
        let auto = Auto { questions: AutoQuestions::Wait, reason: None };
        session.set_auto(Some(auto), Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let option = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
        session.asked(AskId(1), ToolCallPatch::new("1"), vec![option], Moment(0));
        assert_eq!(plain(&session, 0, 40), " demo  %=auto: waits · waiting for you ");
        assert_eq!(plain(&session, 0, 34), " demo  %=auto · waiting for you ");
        assert_eq!(plain(&session, 0, 25), " demo  %=waiting for you ");
    }

    #[test]
    fn a_narrow_bar_drops_where_the_agent_is_before_how_it_works() {
        let mut session = idle();
        let available = vec![Named { id: "ask".into(), name: "Ask".into(), description: None }];
        let modes = Some(Modes { current: "ask".into(), available });
        session.opened(Opened { modes, ..Opened::default() }, Moment(0));
        session.set_auto(Some(Auto { questions: AutoQuestions::Wait, reason: None }), Moment(0));
        let bar = |width| plain_with(&session, 0, width, (Some("editing acp-tour.lua"), false));
        assert_eq!(bar(70), " demo  %=editing acp-tour.lua · auto: waits · Ask · ready ");
        assert_eq!(bar(48), " demo  %=acp-tour.lua · auto: waits · Ask · ready ");
        assert_eq!(bar(36), " demo  %=auto: waits · Ask · ready ");
        assert_eq!(bar(27), " demo  %=auto · Ask · ready ");
        assert_eq!(bar(22), " demo  %=auto · ready ");
    }

    #[test]
    fn a_narrow_bar_names_the_place_alone_and_cuts_it_to_nothing_that_is_no_name() {
        let session = idle();
        let bar = |width| plain_with(&session, 0, width, (Some("editing acp-tour.lua"), false));
        assert_eq!(bar(60), " demo  %=editing acp-tour.lua · ready ");
        assert_eq!(bar(30), " demo  %=acp-tour.lua · ready ");
        assert_eq!(bar(27), " demo  %=ready ");
    }

    #[test]
    fn a_title_ends_before_the_facts_begin_however_wide_its_characters_are() {
        let mut session = idle();
        let title = Some(Some("日本語の題名はとても長いのでここで切られます".repeat(3)));
        session.apply(Update::Info { title, updated_at: None }, Moment(0));
        session.apply(Update::Mode("ask".into()), Moment(0));
        for width in 20..120 {
            let bar = plain(&session, 0, width);
            let (left, right) = bar.split_once("%=").expect("two sides");
            assert!(cells(left) + cells(right) < width, "{bar} in {width}");
        }
    }

    #[test]
    fn a_narrow_prompts_bar_leaves_out_whole_parts_and_keeps_what_waits_and_how_to_stop() {
        let mut session = idle();
        for text in ["x", "y", "z"] {
            session.prompt(vec![Content::Text(text.into())], Moment(0));
        }
        let bar = |width| {
            let bar = prompt(&session, &Keys::default(), width);
            let parts = bar.split("%#").map(|part| part.split_once('#').map_or(part, |(_, text)| text));
            parts.collect::<String>()
        };
        for (width, expected) in [
            (59, " 2 waiting (<C-q>) \u{b7} <C-c> stop \u{b7} <C-s> send next \u{b7} g? keys"),
            (58, " 2 waiting (<C-q>) \u{b7} <C-c> stop \u{b7} g? keys"),
            (40, " 2 waiting \u{b7} <C-c> stop \u{b7} g? keys"),
            (25, " 2 waiting \u{b7} <C-c> stop"),
            (15, " 2 waiting"),
        ] {
            assert_eq!(bar(width), expected, "{width}");
        }
    }

    #[test]
    fn a_title_is_plain_text_on_one_line() {
        let mut session = idle();
        let title = Some(Some("Fix `login`:\\nsee\nthe log".into()));
        session.apply(Update::Info { title, updated_at: None }, Moment(0));
        assert_eq!(plain(&session, 0, 80), " demo  Fix login: see the log%=ready ");
    }
}
