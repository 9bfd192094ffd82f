//! An earlier prompt that is edited in a session of its own: its text stands in that one's prompt, and what was said
//! before it goes along when it is sent. Which prompt that is, and the session, are others' part.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{Content, Severity};
use crate::core::session::before::is_before;
use crate::core::text::Text;
use crate::nvim::context::Context;
use crate::nvim::prompt::Prompts;

impl Prompts {
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
}
