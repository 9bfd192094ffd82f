//! Prompts that wait for the turn to end: shown under what is being typed, taken back, moved, sent at
//! once. Which of them goes when is the session's word.

use mlua::{Result, Value};

use crate::config::Keys;
use crate::core::ids::SessionKey;
use crate::core::text::fitting::cut_middle;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::buffers::type_keys;

/// More are counted, not shown.
const SHOWN: usize = 3;

impl Prompts {
    /// Draws the waiting prompts as quiet lines under the prompt's text.
    pub fn show_queue(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.draw_queue(cx, key)?;
        self.show_suggestion(cx, key)?;
        let (Some(session), Some(chat)) = (cx.sessions.get(&key), cx.chats.get(&key).copied()) else {
            return Ok(());
        };
        let buf = chat.prompt;
        if !cx.editor.buf_is_loaded(buf) {
            return Ok(());
        }
        cx.editor.clear_namespace(buf, self.queue, 0, -1)?;
        let queue = session.queue();
        if queue.is_empty() {
            return Ok(());
        }
        let width = chat
            .prompt_window(&cx.editor)
            .and_then(|win| cx.editor.win_size(win).ok())
            .map_or(60, |(columns, _)| usize::from(columns).saturating_sub(12).max(12));
        let mut lines: Vec<String> = queue
            .iter()
            .take(SHOWN)
            .map(|queued| {
                let state = if queued.held { "held" } else { "waiting" };
                format!("{state}: {}", cut_middle(&visible_line(&queued.line()), width))
            })
            .collect();
        if queue.len() > SHOWN {
            let all = cx.config.keys.get("queue").first().map_or(":Acp queue", String::as_str);
            lines.push(format!("and {} more; {all} shows them", queue.len() - SHOWN));
        }
        if let Some(place) = session.edited_place() {
            lines.push(format!("the prompt goes back to place {} of {}", place + 1, queue.len() + 1));
        }
        if cx.is_dead(key) {
            lines.push(restart_hint(&cx.config.keys));
        } else if session.held() > 0 && session.asks().is_empty() {
            // Where a question waits, the keys are for that first.
            lines.push(held_hint(&cx.config.keys, chat.is_prompt_blank(&cx.editor)?));
        }
        let virtual_lines = cx.editor.lua.create_table()?;
        for line in lines {
            let chunk = cx.editor.lua.create_sequence_from([line.as_str(), "AcpMeta"])?;
            virtual_lines.push(cx.editor.lua.create_sequence_from([chunk])?)?;
        }
        let last = cx.editor.line_count(buf)?.saturating_sub(1);
        let options = cx.editor.table([("virt_lines", Value::Table(virtual_lines))])?;
        cx.editor.set_extmark(buf, self.queue, (last, 0), options).map(drop)
    }

    /// Sends what waits since the user stopped the turn before it, if anything does.
    pub fn send_held(cx: &mut Context, key: SessionKey) -> Result<()> {
        let now = cx.now();
        let is_dead = cx.is_dead(key);
        let Some(session) = cx.sessions.get_mut(&key).filter(|session| session.held() > 0) else {
            return Ok(());
        };
        if is_dead {
            return fail(format!(
                "the agent is gone; {}, then this can be sent",
                restart_hint(&cx.config.keys)
            ));
        }
        let commands = session.release_queue(now);
        if !commands.is_empty() {
            cx.raise(EditorEvent::PromptSent(key));
        }
        commands.into_iter().for_each(|command| cx.send(command));
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(())
    }

    /// Takes a waiting prompt back into the prompt; without an index the last one. When it is sent it goes back to where
    /// it stood. Says whether there was one.
    pub fn take_back(&mut self, cx: &mut Context, key: SessionKey, index: Option<usize>) -> Result<bool> {
        let Some(session) = cx.sessions.get_mut(&key) else { return Ok(false) };
        let Some(index) = index.or(session.queue().len().checked_sub(1)) else { return Ok(false) };
        let Some(queued) = session.unqueue_to_edit(index) else { return Ok(false) };
        let text = queued.text();
        self.keep_before(key, queued.content);
        self.give_back(cx, key, &text)?;
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(true)
    }

    /// The user has emptied the prompt that they had taken out of the line: it does not go back, and they are told where
    /// it is.
    pub fn drop_edited(cx: &mut Context, key: SessionKey) {
        if !cx.sessions.get_mut(&key).is_some_and(|session| session.forget_edited()) {
            return;
        }
        let brings = cx.config.keys.get("older_prompt").first().map_or(":Acp history", String::as_str);
        cx.notify(format!("no longer queued; {brings} in the prompt brings it back"), Level::Info);
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// The key for it: where nothing waits or something is typed, the key does what it always does.
    pub fn take_back_or_up(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        let empty = chat.is_prompt_blank(&cx.editor)?;
        if empty && self.take_back(cx, key, None)? {
            return Ok(());
        }
        type_keys(cx, "<Up>")
    }

    /// Moves a waiting prompt.
    pub fn move_queued(cx: &mut Context, key: SessionKey, from: usize, to: usize) {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.move_queued(from, to);
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// Removes a waiting prompt; it stays in the history, and can be brought back while the list is open.
    pub fn remove_queued(&mut self, cx: &mut Context, key: SessionKey, index: usize) {
        if let Some(queued) = cx.sessions.get_mut(&key).and_then(|session| session.unqueue(index)) {
            self.keep_before(key, queued.content.clone());
            if let Some(list) = self.queue_list.as_mut().filter(|list| list.session == key) {
                list.removed.push((index, queued));
            }
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// Brings back the prompt that was removed last in the list; gives where it stands.
    pub fn restore_queued(&mut self, cx: &mut Context, key: SessionKey) -> Result<usize> {
        let list = self.queue_list.as_mut().filter(|list| list.session == key);
        let Some((index, queued)) = list.and_then(|list| list.removed.pop()) else {
            return fail("no prompt was removed from this list");
        };
        self.take_before(key, &queued.content);
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.requeue(index, queued);
        }
        cx.raise(EditorEvent::SessionChanged(key));
        Ok(index)
    }

    /// Sends a waiting prompt now.
    pub fn send_queued(cx: &mut Context, key: SessionKey, index: usize) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        if let Some(queued) = session.unqueue(index) {
            let (content, mode) = (queued.content, SendMode::Now);
            cx.raise(EditorEvent::PromptReady { session: key, content, mode });
        }
    }
}

/// What comes before anything can be sent, where the agent is gone.
fn restart_hint(keys: &Keys) -> String {
    format!("{} starts it again", keys.restart())
}

/// How prompts are sent that were held when the turn before them was stopped. Both modes have a key for it.
fn held_hint(keys: &Keys, blank: bool) -> String {
    let send: Vec<&str> = ["send", "send_insert"]
        .iter()
        .filter_map(|name| keys.get(name).first().map(String::as_str))
        .collect();
    match (&send[..], blank) {
        ([], true) => ":Acp send sends what is held".to_owned(),
        ([], false) => "with an empty prompt, :Acp send sends these".to_owned(),
        (send, true) => format!("{} sends what is held", send.join(" or ")),
        (send, false) => format!("empty, {} sends these", send.join(" or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_says_what_the_key_does_now() {
        let keys = Keys::default();
        assert_eq!(held_hint(&keys, true), "<CR> or <C-s> sends what is held");
        assert_eq!(held_hint(&keys, false), "empty, <CR> or <C-s> sends these");
    }
}
