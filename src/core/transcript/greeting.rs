//! The top of a chat: what is being started, which agent it is, and what to do if there is none.

use super::drawing::Drawing;
use super::hints::Hints;
use super::last_words;
use super::wording::wait;
use crate::core::message::{AuthKind, AuthMethod, FailureKind, Reopen};
use crate::core::replay::Pace;
use crate::core::session::entry::{Greeting, LastChat, Restart, Steps};
use crate::core::text::fitting::cut_between_words;
use crate::core::text::{capitalized, one_line};

pub fn draw(drawing: &mut Drawing, greeting: &Greeting, hints: &Hints) {
    let (restart, cancel) = (hints.restart(), hints.cancel());
    match greeting {
        Greeting::Connecting { name, command } => {
            drawing.line(format!("Starting {name} …"), Some("AcpAgent"));
            drawing.line(command.clone(), Some("AcpMeta"));
            if command.starts_with("npx ") {
                drawing.line("The first start downloads the agent and may take a minute.", Some("AcpMeta"));
            }
            drawing.line(format!("You can type already; {cancel} stops it."), Some("AcpMeta"));
        }
        Greeting::Opening { title } => {
            drawing.line(format!("{title} is opening a session …"), Some("AcpAgent"));
            drawing.line(format!("You can type already; {cancel} stops it."), Some("AcpMeta"));
        }
        Greeting::Ready { title, version, is_confined, steps, last } => {
            let version = version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            drawing.line(format!("{title}{version}"), Some("AcpAgent"));
            if *is_confined {
                drawing.line(CONFINED, Some("AcpMeta"));
            }
            for line in first_steps(*steps, hints) {
                drawing.line(line, Some("AcpMeta"));
            }
            if let Some(last) = last {
                draw_last_chat(drawing, last);
            }
        }
        Greeting::LoginNeeded { title, methods, message } => {
            draw_logins(drawing, title, (methods, message), hints);
        }
        Greeting::Waiting { name, failure, seconds } => {
            let text = format!("{name} can't open a session now: {}", one_line(&failure.message));
            drawing.line(text, Some("AcpToolWaiting"));
            drawing.hint(format!("It is asked again in {} · {cancel} stops that", wait(*seconds)));
        }
        Greeting::Failed { name, failure, stderr, restart: how } => {
            let text = match failure.kind {
                FailureKind::Spawn => one_line(&failure.message),
                _ => format!("couldn't start {name}: {}", one_line(&failure.message)),
            };
            drawing.line(capitalized(&text), Some("AcpError"));
            last_words::draw(drawing, stderr, hints);
            let restart = does(*how).map(|does| format!("{restart} {does} · ")).unwrap_or_default();
            drawing.hint(format!("{restart}:Acp inspect shows messages · :checkhealth acp finds causes"));
        }
        Greeting::Stopped { name, restart: how } => {
            drawing.line(format!("Starting {name} was stopped"), Some("AcpMeta"));
            if *how != Restart::Done {
                drawing.hint(format!("{restart} starts it again"));
            }
        }
        Greeting::Gone { name, what, stderr, expected, restart: how } => {
            let group = if *expected { "AcpMeta" } else { "AcpError" };
            drawing.line(format!("{name} {}", one_line(what)), Some(group));
            if !expected {
                last_words::draw(drawing, stderr, hints);
            }
            match (how, does(*how)) {
                (Restart::ByItself(_), _) => {
                    drawing.hint("It is started again by itself; this text stays".to_owned());
                }
                (_, Some(does)) => drawing.hint(format!("{restart} {does}; this text stays")),
                (_, None) => {}
            }
        }
    }
}

/// It fits into half of 80 columns.
const CONFINED: &str = "Sandboxed: may write in the project";

/// Each fits into half of 80 columns.
fn first_steps(steps: Steps, hints: &Hints) -> Vec<String> {
    match steps {
        Steps::Said | Steps::Replay(Pace::Percent(_) | Pace::AtOnce) => Vec::new(),
        Steps::Prompt => vec![
            "Ask for a change, or about the code".to_owned(),
            "@ adds a file, errors, a selection".to_owned(),
            "/ gives the agent's own commands".to_owned(),
            hints.first_steps(),
        ],
        Steps::Replay(Pace::Step) => hints.steps_of_replay(),
    }
}

/// Both lines fit into half of 80 columns, where the command names no agent.
fn draw_last_chat(drawing: &mut Drawing, last: &LastChat) {
    let LastChat { title, ago, command } = last;
    let room = HALF.saturating_sub(ago.len() + 5);
    let title = cut_between_words(&one_line(title), room);
    drawing.line(format!("{command} goes on with your last chat"), Some("AcpMeta"));
    drawing.line(format!("  {ago} \u{b7} {title}"), Some("AcpMeta"));
}

const HALF: usize = 40;

fn draw_logins(drawing: &mut Drawing, title: &str, (methods, message): (&[AuthMethod], &str), hints: &Hints) {
    drawing.line(format!("{title} wants you to log in"), Some("AcpToolWaiting"));
    if !message.is_empty() {
        drawing.line(one_line(message), Some("AcpMeta"));
    }
    for method in methods {
        let how = match &method.kind {
            AuthKind::Agent => String::new(),
            AuthKind::Terminal { .. } => " (in a terminal)".to_owned(),
            AuthKind::Command { .. } => {
                let line = method.command_line().unwrap_or_default();
                format!(" (in a terminal: {})", one_line(&line))
            }
            AuthKind::Unsupported(_) => " (this client cannot do it)".to_owned(),
        };
        let description =
            method.description.as_ref().map(|text| format!(": {}", one_line(text))).unwrap_or_default();
        drawing.line(format!("  {}{how}{description}", one_line(&method.name)), None);
    }
    let press = if hints.restart.is_empty() { "" } else { "press " };
    drawing.hint(format!(
        ":Acp login starts it · or log in with the agent's own program, then {press}{}",
        hints.restart()
    ));
}

/// What the key for a restart does, where there is still something to do.
fn does(restart: Restart) -> Option<&'static str> {
    Some(match restart {
        Restart::Resume | Restart::ByItself(Reopen::Resume) => "starts it again and resumes this session",
        Restart::Load | Restart::ByItself(Reopen::Load) => "starts it again and loads this session",
        // Nothing is forked by itself.
        Restart::New | Restart::ByItself(Reopen::Fork) => "starts it again with a new session",
        Restart::First => "starts it again",
        Restart::Done => return None,
    })
}
