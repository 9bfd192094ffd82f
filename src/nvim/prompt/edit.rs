//! An earlier prompt that is edited in a session of its own: its text stands in that one's prompt, and what was said
//! before it goes along when it is sent. The session is others' part.

use mlua::Result;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::message::{Content, Severity};
use crate::core::session::before::is_before;
use crate::core::store::record::ago;
use crate::core::text::fitting::cut_middle;
use crate::core::text::{Text, one_line};
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::prompt::Prompts;

impl Prompts {
    /// Lets the user edit an earlier prompt of the session at hand, the one at the cursor or one that they choose.
    pub fn edit_prompt(&mut self, cx: &mut Context, here: Option<(SessionKey, EntryId)>) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.is_working() {
            return fail("the agent is at work; edit the prompt after :Acp cancel");
        }
        let prompts = session.prompt_entries();
        let here = here.filter(|(session, _)| *session == key).map(|(_, entry)| entry);
        if let Some((entry, text)) = prompts.iter().find(|(entry, _)| Some(*entry) == here).cloned() {
            return edit_elsewhere(cx, key, entry, text);
        }
        if prompts.is_empty() {
            return fail("no prompt was sent in this session yet");
        }
        let now = cx.now().0;
        let sent = |entry: EntryId| session.entry(entry).and_then(|entry| entry.clock);
        let item = |(entry, text): &(EntryId, Text)| {
            let text = cut_middle(&one_line(text), 120);
            match sent(*entry) {
                Some(at) => format!("{text} \u{b7} {}", ago(now.saturating_sub(at))),
                None => text,
            }
        };
        let items = prompts.iter().rev().map(item).collect();
        cx.offer("Edit and send again", "acp_edit_prompt", items, move |_: &mut Self, cx, index| {
            let (entry, text) = prompts[prompts.len() - 1 - index].clone();
            edit_elsewhere(cx, key, entry, text)
        });
        Ok(())
    }

    /// Has a prompt edited in a session that was just begun for it.
    pub fn edit_again(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        text: &Text,
        before: Option<Content>,
    ) -> Result<()> {
        if let Some(before) = before {
            self.before.insert(key, before);
            let text = "What was said before this prompt goes along when you send it. Files are as they are now; \
                        :Acp checkpoints puts them back.";
            cx.note(Some(key), Severity::Info, text.to_owned());
        }
        self.give_back(cx, key, text)
    }

    /// A prompt with what was said before it in another session, if that was not sent yet.
    pub fn with_before(&mut self, key: SessionKey, mut content: Vec<Content>) -> Vec<Content> {
        content.extend(self.before.remove(&key));
        content
    }

    /// A prompt was taken back before the agent got it: the next one brings what was said before.
    pub fn keep_before(&mut self, key: SessionKey, content: Vec<Content>) {
        if let Some(before) = content.into_iter().find(is_before) {
            self.before.insert(key, before);
        }
    }

    /// A prompt that it was kept of goes after all, and takes it along.
    pub fn take_before(&mut self, key: SessionKey, content: &[Content]) {
        if content.iter().any(is_before) {
            self.before.remove(&key);
        }
    }
}

fn edit_elsewhere(cx: &mut Context, key: SessionKey, entry: EntryId, text: Text) -> Result<()> {
    let Some(session) = cx.sessions.get(&key) else { return fail("the session is gone") };
    let before = session.before(entry);
    cx.raise(EditorEvent::PromptEdited { session: key, text, before });
    Ok(())
}
