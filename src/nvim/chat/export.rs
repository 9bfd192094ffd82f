//! The conversation as Markdown, in a buffer of its own or in a file.

use mlua::{Result, Value};

use crate::core::ids::TerminalId;
use crate::core::text::visible::visible_line;
use crate::core::transcript::export::markdown;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::chat::Chats;
use crate::nvim::context::Context;
use crate::nvim::editor::{Level, first_line};

impl Chats {
    /// Writes down the session at hand, or the entries of a range in its transcript.
    pub fn export(&self, cx: &mut Context, args: Args) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let (Some(session), Some(chat)) = (cx.sessions.get(&key), self.open.get(&key)) else {
            return fail(NO_SESSION);
        };
        let entries = match args.range.filter(|range| range.buf == chat.transcript) {
            Some(range) => {
                let first = chat.entry_at(&cx.editor, range.first.saturating_sub(1))?;
                let last = chat.entry_at(&cx.editor, range.last.saturating_sub(1))?;
                first.map_or(0, |entry| entry.0)..last.map_or(0, |entry| entry.0 + 1)
            }
            None => 0..session.entries().len(),
        };
        let tail = |terminal: &TerminalId| cx.tails.get(key, terminal);
        let text = markdown(session, entries, &tail);
        let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
        let editor = cx.editor.clone();
        let Some(path) = args.first() else {
            editor.command("tabnew")?;
            let buf = editor.current_buf()?;
            editor.set_lines(buf, 0..1, &lines)?;
            // A name that `:w` can write to; Neovim asks before that overwrites a file.
            let title = visible_line(&cx.configured_title(&session.agent_name)).replace(['/', '\\'], "-");
            editor.set_free_name(buf, &format!("{title} chat.md"))?;
            // Nobody has written anything here that could be lost, so `:qa` need not ask.
            editor.set_buf_option(buf, "modified", false)?;
            editor.set_buf_option(buf, "filetype", "markdown")?;
            if editor.helper("stop_highlighter", buf)? {
                // In slices, as in the transcript: what is in there is the agent's.
                self.highlight.attach(buf);
                self.highlight.open(buf, 0, 0);
                self.highlight.close(buf, 0, lines.len());
            }
            return Ok(());
        };
        let path: String = editor.func("fnamemodify", (path, ":p"))?;
        if !args.bang && !editor.func::<String>("getftype", path.as_str())?.is_empty()
            || editor.func::<i64>("isdirectory", path.as_str())? == 1
        {
            return fail(format!("couldn't export: {path} exists; :Acp! export overwrites it"));
        }
        let buf = editor.create_buf(false, true)?;
        editor.set_lines(buf, 0..1, &lines)?;
        let quoted: String = editor.func("fnameescape", path.as_str())?;
        // As the user's own `:write` does it, with all that listens to that.
        let written = editor.command_in(buf, &format!("silent keepalt write! {quoted}"));
        let force = editor.table([("force", Value::Boolean(true))])?;
        editor.api::<()>("nvim_buf_delete", (buf, force))?;
        if let Err(error) = written {
            return fail(format!("couldn't export: {}", first_line(&error)));
        }
        cx.notify(format!("exported to {path}"), Level::Info);
        Ok(())
    }
}
