//! Answers to commands that cannot be carried out: each one that somebody waits for gets an event that
//! says why.

use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Command, Ending, Event, Failure, Steering, TurnEnd};
use crate::mailbox::Mailbox;

/// The session that a command is about, where it names nothing else.
pub fn session_of(command: &Command) -> Option<SessionKey> {
    match command {
        Command::Close { session }
        | Command::Prompt { session, .. }
        | Command::Steer { session, .. }
        | Command::Cancel { session }
        | Command::CancelSubagent { session, .. }
        | Command::SetMode { session, .. }
        | Command::SetModel { session, .. }
        | Command::SetOption { session, .. }
        | Command::SetTitle { session, .. }
        | Command::JudgeDone { session, .. }
        | Command::ServeTool { session, .. }
        | Command::LeaveTool { session, .. } => Some(*session),
        _ => None,
    }
}

/// Answers a command that cannot be carried out. Those that nobody waits for are dropped.
pub fn refuse(mailbox: &Mailbox, agent: Option<AgentId>, command: Command, failure: Failure) {
    let (agent, what, session) = match (command, agent) {
        (Command::Connect { agent, .. }, _) => {
            return mailbox.post(Event::Exited { agent, why: failed_to_start(failure) });
        }
        (Command::Open { session, .. } | Command::Load { session, .. }, _) => {
            return mailbox.post(Event::OpenFailed { session, failure });
        }
        (Command::Prompt { session, .. }, _) => {
            return mailbox.post(Event::TurnEnded { session, end: TurnEnd::Failed(failure) });
        }
        (Command::ServeTool { run, .. }, _) => {
            return mailbox.post(Event::ToolServed { run, outcome: Err(failure.message) });
        }
        (Command::Steer { session, content }, _) => {
            let outcome = Steering::NotTaken(Some(failure));
            return mailbox.post(Event::Steered { session, content, outcome });
        }
        (command, Some(agent)) => match request_name(&command) {
            Some(what) => (agent, what, session_of(&command)),
            None => return,
        },
        (_, None) => return,
    };
    mailbox.post(Event::RequestFailed { agent, session, what: what.to_owned(), failure, again: None });
}

/// What a command asks of an agent, fit for "couldn't …".
pub fn request_name(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::List { .. } => "list sessions",
        Command::Archive { archived: true, .. } => "archive the session",
        Command::Archive { archived: false, .. } => "bring the session back",
        Command::Delete { .. } => "delete the session",
        Command::CloseStored { .. } => "close the session",
        Command::Login { .. } => "log in",
        Command::Logout { .. } => "log out",
        Command::SetMode { .. } => "change the mode",
        Command::SetModel { .. } => "change the model",
        Command::SetOption { .. } => "change the option",
        Command::SetTitle { .. } | Command::SetStoredTitle { .. } => "keep the session's name",
        _ => return None,
    })
}

/// Says why an agent that never came to life is gone.
pub fn failed_to_start(failure: Failure) -> Ending {
    Ending { failure: Some(failure), exit: None, stderr: Vec::new(), expected: false }
}
