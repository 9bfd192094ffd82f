//! What a new chat says of the one that the user had last in the same project: how to go on with it. It stands at the top
//! until the first prompt. Which chat that was is for the record of sessions to say.

use super::Session;
use crate::core::ids::EntryId;
use crate::core::message::AgentInfo;
use crate::core::session::entry::{Body, Greeting, LastChat, Steps};

impl Session {
    /// The user had a chat here before, which the agent may be able to take up.
    pub fn had_before(&mut self, last: LastChat) {
        if self.prompts().next().is_some() {
            return;
        }
        self.last_chat = Some(last);
        self.show_last_chat(self.last_chat_to_offer());
    }

    /// What of it is said at the top.
    pub(super) fn last_chat_to_offer(&self) -> Option<LastChat> {
        let can = self.info.as_ref().map(|info: &AgentInfo| info.can).unwrap_or_default();
        self.last_chat.clone().filter(|_| can.load || can.resume)
    }

    /// The user goes on in this chat.
    pub(super) fn forget_last_chat(&mut self) {
        if self.last_chat.take().is_some() {
            self.show_last_chat(None);
        }
    }

    fn show_last_chat(&mut self, offered: Option<LastChat>) {
        let at = self.entries.iter().rposition(|entry| matches!(entry.body, Body::Greeting(_)));
        if let Some(at) = at
            && let Body::Greeting(Greeting::Ready { steps: Steps::Prompt, last, .. }) =
                &mut self.entries[at].body
        {
            *last = offered;
            self.touched.insert(EntryId(at));
            self.status_touched = true;
        }
    }
}
