//! The output of commands that is sent to the agent as it comes, where its dialect wants that. What there is to
//! send, and at which pace, is left to the terminal.

use std::collections::HashMap;

use serde_json::json;
use tokio::sync::watch;

use crate::acp::terminals::FollowedOutput;
use crate::acp::wire::outbox::Outbox;
use crate::core::ids::TerminalId;

/// The commands whose output is sent, or was.
#[derive(Default)]
pub struct PushedOutput(HashMap<TerminalId, watch::Receiver<bool>>);

impl PushedOutput {
    pub fn begin(&mut self, terminal: &TerminalId, mut output: FollowedOutput, outbox: Outbox) {
        // Of those that are over, nobody needs to know.
        self.0.retain(|_, done| !*done.borrow());
        let (tell, done) = watch::channel(false);
        self.0.insert(terminal.clone(), done);
        let terminal = terminal.0.clone();
        tokio::spawn(async move {
            while let Some(data) = output.next().await {
                outbox.notify(
                    "terminal/output",
                    &json!({ "terminalId": terminal, "data": data, "stream": "stdout" }),
                );
            }
            tell.send_replace(true);
        });
    }

    /// Waits until all that a command has put out is sent; not at all where it isn't sent.
    pub fn all(&self, terminal: &TerminalId) -> impl Future<Output = ()> + Send + use<> {
        let done = self.0.get(terminal).cloned();
        async move {
            if let Some(mut done) = done {
                // The sender goes only with the background.
                let _ = done.wait_for(|done| *done).await;
            }
        }
    }
}
