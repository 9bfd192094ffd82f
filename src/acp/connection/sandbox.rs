//! What a sandbox means for a conversation: where a command fails because something is kept from it, the user is told
//! that this may be why.

use super::state::Connection;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Event, Exit, Failure, Severity};

/// How programs say that something is kept from them.
const REFUSED: &[&str] =
    &["Permission denied", "permission denied", "Operation not permitted", "EACCES", "EPERM"];

/// Follows what is said of an agent that did not come up.
pub(super) const MAY_BE_WHY: &str = "; perhaps its sandbox is why, see :help acp-sandbox";

impl Connection {
    /// Whether a confined agent that is gone complained that something was kept from it.
    pub(super) fn may_be_sandboxs_fault(&self, failure: &Failure) -> bool {
        let said = failure.details.as_deref().unwrap_or_default();
        self.sandbox.is_some() && REFUSED.iter().any(|words| said.contains(words))
    }

    /// Says once, when a confined command has failed and complains, that the sandbox may be why. Gives what is to be
    /// done when the command ends.
    pub(super) fn watch_confined(
        &self,
        session: SessionKey,
        terminal: &TerminalId,
    ) -> impl FnOnce(&Exit) + Send + use<> {
        let told = self.sandbox.as_ref().map(|sandbox| sandbox.told.clone());
        let (shared, terminal) = (self.shared.clone(), terminal.clone());
        let (agent, name) = (self.agent, self.name.clone());
        move |exit: &Exit| {
            let Some(told) = told.filter(|_| exit.code != Some(0)) else { return };
            let Ok(output) = shared.terminals.output(session, &terminal) else { return };
            let complains = REFUSED.iter().any(|words| output.text.contains(words));
            if complains && told.set(()).is_ok() {
                let text = format!(
                    "a command of {name} was refused something, perhaps by its sandbox: see :help acp-sandbox for how to \
                     name what it needs"
                );
                shared.mailbox.post(Event::Noted {
                    agent,
                    session: Some(session),
                    severity: Severity::Info,
                    text,
                });
            }
        }
    }
}
