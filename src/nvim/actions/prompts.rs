//! Prompts: what is sent, what is put into the prompt's buffer, and the answers to permission questions.

use mlua::Result;

use super::{Args, NO_SESSION, Range, fail};
use crate::core::message::{AskId, Content, PermissionKind, SessionKey};
use crate::nvim::app::App;
use crate::nvim::editor::Editor;

impl App {
    pub(super) fn add_to_prompt(&mut self, key: SessionKey, quote: Option<String>) -> Result<()> {
        let (Some(quote), Some(chat)) = (quote, self.chats.get(&key)) else { return Ok(()) };
        let before = chat.prompt_text(&self.editor)?;
        let text = if before.trim().is_empty() { quote } else { format!("{}\n{quote}", before.trim_end()) };
        chat.set_prompt_text(&self.editor, &format!("{text}\n"))?;
        if let Some(win) = chat.prompt_window(&self.editor) {
            let last = self.editor.line_count(chat.prompt)?;
            self.editor.set_cursor(win, last, 0)?;
        }
        Ok(())
    }

    pub(super) fn send_prompt(&mut self, key: SessionKey) -> Result<()> {
        if let Some(content) = self.take_prompt(key)? {
            self.prompt(key, content)?;
        }
        self.frame_due()
    }

    pub(super) fn steer_prompt(&mut self, key: SessionKey) -> Result<()> {
        if let Some(content) = self.take_prompt(key)? {
            self.steer(key, content)?;
        }
        self.frame_due()
    }

    /// What stands in the prompt, which is empty from here on.
    fn take_prompt(&mut self, key: SessionKey) -> Result<Option<Vec<Content>>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let text = chat.prompt_text(&self.editor)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        if self.is_dead(key) {
            return fail("the agent is gone; R in the chat starts it again, and the prompt stays as it is");
        }
        chat.set_prompt_text(&self.editor, "")?;
        Ok(Some(vec![Content::Text(text.trim_end().to_owned())]))
    }

    pub(super) fn send_text(&mut self, args: Args) -> Result<()> {
        let quote = args.range.map(|range| quote(&self.editor, range)).transpose()?;
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        if args.text.trim().is_empty() && quote.is_none() {
            return if args.bang { self.steer_prompt(key) } else { self.send_prompt(key) };
        }
        if self.is_dead(key) {
            return fail("the agent is gone; :Acp restart starts it again");
        }
        let text = match quote {
            Some(quote) => format!("{}\n\n{quote}", args.text),
            None => args.text,
        };
        let content = vec![Content::Text(text.trim().to_owned())];
        if args.bang { self.steer(key, content) } else { self.prompt(key, content) }
    }

    /// Sends a prompt, and says in which turn of which session it will be answered.
    pub(super) fn ask(&mut self, args: Args) -> Result<serde_json::Value> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        self.send_text(Args { session: Some(key), ..args })?;
        let waiting = self.sessions.get(&key).map_or(0, |session| session.queue().len() as u64);
        Ok(serde_json::json!({ "session": key.0, "turn": self.turn_of(key) + waiting }))
    }

    /// Answers the oldest open question with the option named, else with the first of these kinds.
    pub(super) fn decide(&mut self, named: Option<&str>, kinds: &[PermissionKind]) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let others = self.sessions.values().filter(|_| self.meant.is_none());
        let waiting = self.sessions.get(&key).into_iter().chain(others);
        let Some((key, open)) =
            waiting.filter_map(|session| session.permission().map(|open| (session.key, open.clone()))).next()
        else {
            let other = self.sessions.values().any(|session| session.elicitation().is_some());
            let more = if other { "; :Acp answer is for what else the agent asks" } else { "" };
            return fail(format!("nothing waits for your permission{more}"));
        };
        let option = match named {
            Some(named) => open.options().iter().find(|option| option.id == named || option.name == named),
            None => kinds.iter().find_map(|kind| open.options().iter().find(|option| option.kind == *kind)),
        };
        match option {
            Some(option) => self.answer(key, open.ask, &option.id.clone()),
            None if named.is_some() => fail("the agent offers no such option"),
            None => {
                // Nothing of that kind is offered: the user sees what is.
                self.put_up(key, AskId(open.ask.0));
                Ok(())
            }
        }
    }
}

/// Lines of a buffer as a prompt quotes them.
pub(super) fn quote(editor: &Editor, range: Range) -> Result<String> {
    let lines = editor.lines(range.buf, range.first as i64 - 1, range.last as i64)?;
    let name = editor.buf_name(range.buf);
    let name: String =
        if name.is_empty() { "unnamed".into() } else { editor.func("fnamemodify", (name, ":."))? };
    let filetype: String = editor.buf_option(range.buf, "filetype")?;
    let fence = "`".repeat(
        lines.iter().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0).max(2) + 1,
    );
    Ok(format!("{name}:{}-{}\n{fence}{filetype}\n{}\n{fence}", range.first, range.last, lines.join("\n")))
}
