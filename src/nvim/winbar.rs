//! The bars above the chat's windows, and the words for a session's state. What an agent does not
//! report is absent, not zero.

use crate::core::message::OptionKind;
use crate::core::session::{Moment, Phase, Session};
use crate::core::transcript::{cut_middle, seconds};

/// `starting`, `idle`, `working`, `waiting` for the user, `failed`, or `ended` as the user wished.
pub fn state(session: &Session) -> &'static str {
    match session.phase {
        Phase::Opening { .. } => "starting",
        Phase::LoginNeeded => "waiting",
        Phase::Gone if session.was_stopped() => "ended",
        Phase::Gone => "failed",
        _ if !session.asks().is_empty() => "waiting",
        Phase::Idle => "idle",
        Phase::Working { .. } | Phase::Cancelling { .. } => "working",
    }
}

/// The transcript's bar, in the format of 'winbar'.
pub fn transcript(session: &Session, now: Moment) -> String {
    let mut facts = Vec::new();
    facts.extend(mode(session));
    facts.extend(model(session));
    if let Some((used, size)) = session.usage
        && size > 0
    {
        facts.push(format!("ctx {}%", used.saturating_mul(100) / size));
    }
    if let Some(cost) = &session.cost {
        facts.push(match cost.currency.as_str() {
            "USD" => format!("${:.2}", cost.amount),
            currency => format!("{:.2} {currency}", cost.amount),
        });
    }
    let facts: String = facts.iter().map(|fact| format!("{} · ", escape(&cut_middle(fact, 24)))).collect();
    let (text, group) = match &session.phase {
        Phase::Opening { since } => (format!("starting {}", clock(now.since(*since))), "AcpToolRunning"),
        Phase::LoginNeeded => ("log in".to_owned(), "AcpToolWaiting"),
        Phase::Gone => ("ended".to_owned(), "AcpError"),
        _ if !session.asks().is_empty() => ("waiting for you".to_owned(), "AcpToolWaiting"),
        Phase::Idle => ("ready".to_owned(), "AcpMeta"),
        Phase::Working { since } => (format!("working {}", clock(now.since(*since))), "AcpToolRunning"),
        Phase::Cancelling { asked, .. } => {
            (format!("stopping {}", clock(now.since(*asked))), "AcpToolCancelled")
        }
    };
    let title = session.title.as_deref().map(|title| cut_middle(title, 60)).unwrap_or_default();
    let name = escape(&session.name());
    format!("%#AcpWinbar# {name}%#AcpMeta#  %<{}%=%#AcpMeta#{facts}%#{group}#{text} ", escape(&title))
}

/// The prompt's bar: what waits, and the keys that matter now.
pub fn prompt(session: &Session) -> String {
    let mut parts = Vec::new();
    match session.queue().len() {
        0 => {}
        waiting => parts.push(format!("%#AcpToolWaiting#{waiting} waiting%#AcpMeta#")),
    }
    parts.push(if session.is_working() { "<C-c> stop".to_owned() } else { "<C-s> send".to_owned() });
    if session.is_working() {
        parts.push("<C-s> send next".to_owned());
    }
    parts.push("g? keys".to_owned());
    format!("%#AcpMeta# {}", parts.join(" · "))
}

/// The name of the mode the session is in.
pub fn mode(session: &Session) -> Option<String> {
    choice(session, "mode").or_else(|| {
        let modes = session.modes.as_ref()?;
        let named = modes.available.iter().find(|mode| mode.id == modes.current);
        Some(named.map_or_else(|| modes.current.clone(), |mode| mode.name.clone()))
    })
}

pub fn model(session: &Session) -> Option<String> {
    choice(session, "model").or_else(|| {
        let models = session.models.as_ref()?;
        let named = models.available.iter().find(|model| model.id == models.current);
        Some(named.map_or_else(|| models.current.clone(), |model| model.name.clone()))
    })
}

/// The value of the first select option of a category.
fn choice(session: &Session, category: &str) -> Option<String> {
    session.options.iter().filter(|option| option.category.as_deref() == Some(category)).find_map(|option| {
        let OptionKind::Select { current, groups } = &option.kind else { return None };
        let named = groups.iter().flat_map(|group| &group.values).find(|value| value.id == *current);
        Some(named.map_or_else(|| current.clone(), |value| value.name.clone()))
    })
}

/// Whole seconds, so that the bar changes once a second.
fn clock(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{} s", ms / 1000),
        _ => seconds(ms),
    }
}

/// A text of the agent's, in which 'winbar' finds nothing to evaluate and the screen nothing to obey.
fn escape(text: &str) -> String {
    text.replace('%', "%%").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::{AgentId, Content, Cost, Opened, Place, SessionKey, Update};

    #[test]
    fn the_bar_shows_only_what_the_agent_reports() {
        let mut session =
            Session::new(SessionKey(1), AgentId(1), "demo", "demo", Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        assert_eq!(
            transcript(&session, Moment(0)),
            "%#AcpWinbar# demo%#AcpMeta#  %<%=%#AcpMeta#%#AcpMeta#ready "
        );
        let cost = Some(Cost { amount: 0.124, currency: "USD".into() });
        session.apply(Update::Usage { used: 34, size: 100, cost }, Moment(0));
        session.apply(Update::Info { title: Some(Some("100% sure".into())), updated_at: None }, Moment(0));
        session.prompt(vec![Content::Text("x".into())], Moment(0));
        let bar = transcript(&session, Moment(42_000));
        assert!(
            bar.contains("100%% sure") && bar.contains("ctx 34%% · $0.12 · ") && bar.contains("working 42 s"),
            "{bar}"
        );
    }
}
