//! What an agent suggests to say next: in grey in an empty prompt, where a key takes it. It is never sent by itself, and
//! the key is the plugin's only for as long as the text shows.

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::core::text::Text;
use crate::core::text::fitting::cut_end;
use crate::core::text::visible::visible_line;
use crate::core::transcript::clean_lines;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::keys::bind::{SUGGESTION, key_action};
use crate::nvim::prompt::Prompts;

/// A picker shows no longer ones.
const LONGEST: usize = 200;

impl Prompts {
    /// Shows the suggestion if nothing is typed and nothing is under way, and takes it away otherwise.
    pub fn show_suggestion(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(session), Some(chat)) = (cx.sessions.get(&key), cx.chats.get(&key).copied()) else {
            return Ok(());
        };
        if !cx.editor.buf_is_loaded(chat.prompt) {
            return Ok(());
        }
        let is_wanted = cx.config.prompt.suggestions && !session.is_busy() && session.queue().is_empty();
        let first = session.suggestions.first().filter(|_| is_wanted);
        // Whether the prompt is empty is asked of Neovim only where it matters.
        let first = match first {
            Some(first) if chat.is_prompt_empty(&cx.editor)? => Some(first),
            _ => None,
        };
        let width = chat
            .prompt_window(&cx.editor)
            .and_then(|win| cx.editor.win_size(win).ok())
            .map_or(60, |(columns, _)| usize::from(columns).max(12));
        let line = first.map(|text| ghost(text, session.suggestions.len(), width));
        let lhs = cx.config.keys.get(SUGGESTION);
        let keys = cx.editor.lua.create_sequence_from(lhs.iter().map(String::as_str))?;
        let take = key_action(&cx.editor.lua, SUGGESTION)?;
        let line = match line {
            Some(line) => Value::String(cx.editor.lua.create_string(line)?),
            None => Value::Nil,
        };
        self.live::<()>("suggest", (chat.prompt, line, keys, take))
    }

    /// Puts a suggestion into the prompt.
    pub fn take_suggestion(&mut self, cx: &mut Context, key: SessionKey, index: usize) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(text) = session.suggestions.get(index) else {
            return fail(format!("{} suggests nothing", session.name()));
        };
        // What is seen is what will be sent.
        let lines: Vec<String> = clean_lines(text).map(visible_line).collect();
        self.give_back(cx, key, &Text::from(lines.join("\n")))?;
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        self.live::<()>("to_end", chat.prompt)
    }

    pub fn choose_suggestion(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        if session.suggestions.is_empty() {
            return fail(format!("{} suggests nothing", session.name()));
        }
        let items = session.suggestions.iter().map(|text| cut_end(&visible_line(text), LONGEST)).collect();
        cx.offer("Say next", "acp_suggestion", items, move |this: &mut Self, cx, index| {
            this.take_suggestion(cx, key, index)
        });
        Ok(())
    }
}

/// The line that stands for a suggestion.
fn ghost(text: &str, count: usize, width: usize) -> String {
    let mut lines = clean_lines(text);
    let first = visible_line(lines.next().unwrap_or_default());
    let more = if lines.next().is_some() { " …" } else { "" };
    let others = if count > 1 { format!(" (1 of {count})") } else { String::new() };
    let end = format!("{more}{others}");
    format!("{}{end}", cut_end(&first, width.saturating_sub(end.chars().count() + 2).max(8)))
}

#[cfg(test)]
mod tests {
    use super::ghost;

    #[test]
    fn a_suggestion_is_one_line_that_fits() {
        assert_eq!(ghost("Run the tests", 1, 40), "Run the tests");
        assert_eq!(ghost("Run the tests\nand fix them", 3, 40), "Run the tests … (1 of 3)");
        let long = ghost(&"word ".repeat(100), 1, 40);
        assert!(long.chars().count() <= 38, "{long}");
        assert!(!ghost("a\u{1b}[31mb\u{202e}", 1, 40).contains(['\u{1b}', '\u{202e}']));
    }
}
