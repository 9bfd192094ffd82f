//! Prompts as they are typed: kept as drafts at each change, filled from the history, and given back
//! when something that was sent could not be. Sending is left to `submit`, what they refer to to `references`.

use std::path::PathBuf;
use std::time::Duration;

use mlua::{Function, Result};

use crate::config::Complete;
use crate::core::ids::SessionKey;
use crate::core::message::{Command, Draft, Event, Keep};
use crate::core::session::prompt_history::{Browse, History};
use crate::core::session::references::Lines;
use crate::core::session::references::Target;
use crate::core::text::Text;
use crate::core::transcript::clean_lines;
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context, LONG_PROMPT};
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::prompt::{Prompt, Prompts};

/// How long a prompt takes to be filled or emptied, at least.
const FILLING: Duration = Duration::from_millis(20);

impl Prompts {
    /// Looks after the prompt of a chat whose buffers were made just now.
    pub fn attach_prompt(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(chat), Some(session)) = (cx.chats.get(&key).copied(), cx.sessions.get(&key)) else {
            return Ok(());
        };
        let buf = chat.prompt;
        let folder = self.folder_of(&session.place.cwd);
        if self.last_buffer.is_none() {
            let here = cx.editor.current_buf()?;
            self.buffer_entered(cx, here)?;
        }
        let is_new = !self.open.contains_key(&key);
        self.open.entry(key).or_insert_with(|| Prompt::new(folder.clone()));
        let callback = |run_it: fn(&mut Self, &mut Context, SessionKey) -> Result<()>| -> Result<Function> {
            cx.editor.lua.create_function(move |_, ()| {
                context::run(move |this: &mut Self, cx| run_it(this, cx, key));
                Ok(())
            })
        };
        let changed = callback(Self::prompt_changed)?;
        let entered = callback(Self::prompt_entered)?;
        let written = callback(Self::send_prompt)?;
        let complete = match cx.config.prompt.complete {
            Complete::Auto => "auto",
            Complete::Always => "always",
            Complete::Never => "never",
        };
        self.live::<()>("attach", (buf, complete, changed, entered, written))?;
        if !is_new {
            // The buffer is a new one; what stood in the old one is not lost.
            let text = self.open[&key].text.clone();
            return self.set_prompt(cx, key, &text);
        }
        cx.send(Command::Keep(Keep::Recall { folder: folder.clone() }));
        cx.send(Command::Keep(Keep::Adopt { folder }));
        Ok(())
    }

    /// A text in the prompt's place, as an undo step.
    pub fn set_prompt(&mut self, cx: &mut Context, key: SessionKey, text: &Text) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        if text.len() > LONG_PROMPT || chat.has_long_prompt(&cx.editor)? {
            return self.fill_prompt(cx, key, text.clone());
        }
        let lines: Vec<&str> = clean_lines(text).collect();
        self.live::<()>("replace", (chat.prompt, lines))?;
        self.prompt_changed(cx, key)
    }

    /// Puts a text above what stands in the prompt by now.
    pub fn give_back(&mut self, cx: &mut Context, key: SessionKey, text: &Text) -> Result<()> {
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.edit_on();
        }
        if self.open.get(&key).is_some_and(|prompt| prompt.filling) {
            // What stands there is on its way out.
            let text = text.clone();
            return cx.later(FILLING, move |this: &mut Self, cx| this.give_back(cx, key, &text));
        }
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        if chat.has_long_prompt(&cx.editor)? {
            let (buf, text) = (chat.prompt, text.clone());
            return cx.with_typed_text(self, buf, move |this: &mut Self, cx, there| {
                let there = there.map(|there| there.text.body()).unwrap_or_default();
                this.set_prompt(cx, key, &[&*text, "\n\n", &*there].concat().into())
            });
        }
        let there = chat.prompt_text(&cx.editor)?;
        match there.trim().is_empty() {
            true => self.set_prompt(cx, key, text),
            false => self.set_prompt(cx, key, &format!("{text}\n\n{there}").into()),
        }
    }

    /// The user, or this plugin, changed a prompt.
    pub fn prompt_changed(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        if !cx.editor.buf_is_loaded(chat.prompt) {
            return Ok(());
        }
        if self.open.get(&key).is_some_and(|prompt| prompt.filling) {
            return Ok(());
        }
        if chat.has_long_prompt(&cx.editor)? {
            self.show_suggestion(cx, key)?;
            return self.read_long_prompt(cx, key);
        }
        let text = chat.prompt_text(&cx.editor)?.into();
        self.prompt_read(cx, key, text)
    }

    pub fn prompt_read(&mut self, cx: &mut Context, key: SessionKey, text: Text) -> Result<()> {
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let differs = prompt.text != text;
        let is_emptied = text.trim().is_empty() && !prompt.text.trim().is_empty();
        prompt.text = text;
        let folder = prompt.folder.clone();
        // Who is in the middle of typing may go on with another text.
        if is_emptied && !cx.editor.mode().0.starts_with('i') {
            Self::drop_edited(cx, key);
        }
        self.mark_references(cx, key)?;
        self.show_queue(cx, key)?;
        cx.raise(EditorEvent::PromptChanged(key));
        if differs {
            self.keep_drafts(cx, folder);
        }
        Ok(())
    }

    /// The user has left Insert mode in a buffer.
    pub fn insert_left(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let chat = cx.chats.iter().find(|(_, chat)| chat.prompt == buf).map(|(key, chat)| (*key, *chat));
        if let Some((key, chat)) = chat
            && chat.is_prompt_blank(&cx.editor)?
        {
            Self::drop_edited(cx, key);
        }
        Ok(())
    }

    fn prompt_entered(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.follow_anchors(cx, key)
    }

    /// The user went to a buffer.
    pub fn buffer_entered(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        // By the time that this is heard of it may be gone.
        if !cx.editor.buf_is_valid(buf) {
            return Ok(());
        }
        let kind: String = cx.editor.buf_option(buf, "buftype")?;
        let is_file = kind.is_empty() || kind == "acwrite";
        if is_file && !cx.editor.buf_name(buf).starts_with("acp://") || cx.editor.folder_of(buf).is_some() {
            self.last_buffer = Some(buf);
        }
        Ok(())
    }

    /// Has all that is typed and not sent in a project kept, whatever ends Neovim.
    pub fn keep_drafts(&mut self, cx: &mut Context, folder: PathBuf) {
        let at = cx.now().0;
        let mut drafts = self.adopted.get(&folder).cloned().unwrap_or_default();
        for (key, prompt) in self.open.iter().filter(|(_, prompt)| prompt.folder == folder) {
            let Some(session) = cx.sessions.get(key) else { continue };
            let behind = prompt.browse.as_ref().and_then(Browse::left_behind);
            // A prompt that stands in the history anyway is not typed.
            let typed = Some(&prompt.text).filter(|text| !text.trim().is_empty());
            for text in behind.into_iter().chain(typed) {
                drafts.push(Draft {
                    text: text.clone(),
                    agent: session.agent_name.clone(),
                    session: session.acp_id.clone(),
                    at,
                });
            }
        }
        cx.send(Command::Keep(Keep::Drafts { folder, drafts }));
    }

    /// A session is going for good: what was typed there is found in the history.
    pub fn forget_prompt(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(prompt) = self.open.remove(&key) else { return Ok(()) };
        self.before.remove(&key);
        for anchor in &prompt.anchors {
            anchor.remove(&cx.editor, self.anchors)?;
        }
        let behind = prompt.browse.as_ref().and_then(Browse::left_behind).cloned();
        let folder = prompt.folder;
        for text in behind.into_iter().chain([prompt.text]) {
            self.remember(cx, &folder, &text);
        }
        self.keep_drafts(cx, folder);
        Ok(())
    }

    /// Adds to the prompts of before.
    pub fn remember(&mut self, cx: &mut Context, folder: &std::path::Path, text: &Text) {
        let text = text.trimmed_end();
        if text.trim().is_empty() {
            return;
        }
        self.histories.entry(folder.to_owned()).or_default().add(text.clone());
        cx.send(Command::Keep(Keep::Prompt { folder: folder.to_owned(), text }));
    }

    /// What the background says of what is kept, and of files that were looked for.
    pub fn kept(&mut self, cx: &mut Context, event: Event) -> Result<()> {
        match event {
            Event::PastPrompts { folder, prompts } => {
                let mut history = History::new(prompts);
                // What was sent since is on its way to the disk.
                for prompt in self.histories.get(&folder).map(History::prompts).unwrap_or_default() {
                    if !history.prompts().contains(prompt) {
                        history.add(prompt.clone());
                    }
                }
                self.histories.insert(folder, history);
            }
            Event::Adopted { folder, drafts } => {
                self.adopted.entry(folder.clone()).or_default().extend(drafts);
                self.place_adopted(cx, &folder)?;
            }
            Event::Found { search, files } => {
                cx.run_effect("the completion failed", move |editor| {
                    let require: mlua::Function = editor.lua.globals().get("require")?;
                    let module: mlua::Table = require.call("acp.complete")?;
                    module.get::<mlua::Function>("found")?.call::<()>((search.0, files))
                });
            }
            Event::NotKept { why } => {
                let text = format!("couldn't keep your prompts: {why}; they are lost when Neovim ends");
                cx.notify(text, Level::Warn);
            }
            _ => {}
        }
        Ok(())
    }

    /// Puts what other Neovims left unsent into the prompt of its session, else into one that is empty;
    /// what finds no place is in the history.
    fn place_adopted(&mut self, cx: &mut Context, folder: &std::path::Path) -> Result<()> {
        let mut drafts = self.adopted.remove(folder).unwrap_or_default();
        let empty: Vec<SessionKey> = self
            .open
            .iter()
            .filter(|(_, prompt)| prompt.folder == folder && prompt.text.trim().is_empty())
            .map(|(key, _)| *key)
            .collect();
        for key in empty {
            let Some(session) = cx.sessions.get(&key) else { continue };
            let of = session.stored_id();
            let own = drafts.iter().rposition(|draft| of.is_some() && draft.session.as_deref() == of);
            let Some(index) = own.or(drafts.len().checked_sub(1)) else { break };
            let draft = drafts.remove(index);
            self.set_prompt(cx, key, &draft.text)?;
            let text = "this is what you had typed and not sent";
            cx.notify(text, Level::Info);
        }
        for draft in drafts {
            self.remember(cx, folder, &draft.text);
        }
        self.keep_drafts(cx, folder.to_owned());
        Ok(())
    }

    /// Has files looked for whose names fit; `acp.complete` is told of them under the number.
    pub fn find(cx: &mut Context, query: String) -> u64 {
        let root = match cx.session_here().and_then(|key| cx.sessions.get(&key)) {
            Some(session) => session.place.cwd.clone(),
            None => cx.editor.cwd(),
        };
        let search = cx.next_job();
        cx.send(Command::Find { search, root, query });
        search.0
    }

    // The history.

    /// One prompt back, or forth, where the cursor stands at the edge; else one line.
    pub fn browse(&mut self, cx: &mut Context, key: SessionKey, older: bool) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        if cx.editor.func::<i64>("pumvisible", ())? == 1 {
            return type_keys(cx, if older { "<C-p>" } else { "<C-n>" });
        }
        let (line, _) = cx.editor.cursor(cx.editor.current_win()?)?;
        let edge = if older { 1 } else { cx.editor.line_count(chat.prompt)? };
        if line != edge {
            return type_keys(cx, if older { "<Up>" } else { "<Down>" });
        }
        if chat.has_long_prompt(&cx.editor)?
            && let Some(prompt) = self.open.get(&key)
            && prompt.read_at != Some(cx.editor.changedtick(chat.prompt)?)
        {
            // What was typed since it was last read would be left behind.
            return self.read_long_prompt(cx, key);
        }
        let text = match chat.has_long_prompt(&cx.editor)? {
            true => self.open.get(&key).map(|prompt| prompt.text.clone()).unwrap_or_default(),
            false => chat.prompt_text(&cx.editor)?.into(),
        };
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let history = self.histories.entry(prompt.folder.clone()).or_default();
        let browse = prompt.browse.get_or_insert_with(|| Browse::new(history));
        let found = if older { browse.older(&text) } else { browse.newer(&text) };
        let Some(text) = found else { return Ok(()) };
        self.set_prompt(cx, key, &text)?;
        if older {
            // Where the next step back begins.
            let first = clean_lines(&text).next().map_or(0, str::len);
            cx.editor.set_cursor(cx.editor.current_win()?, 1, first)?;
        }
        Ok(())
    }

    /// Adds a reference to lines of a buffer to the prompt.
    pub fn refer_to(&mut self, cx: &mut Context, key: SessionKey, buf: Buf, lines: Lines) -> Result<()> {
        let Some(target) = target_of(cx, key, buf, lines) else { return Ok(()) };
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        if chat.has_long_prompt(&cx.editor)? {
            return self.append_to_prompt(cx, key, &format!(" {} ", target.token()));
        }
        let before = chat.prompt_text(&cx.editor)?;
        let before = before.trim_end();
        let space = match before.is_empty() {
            true => "",
            false => " ",
        };
        self.set_prompt(cx, key, &format!("{before}{space}{} ", target.token()).into())
    }
}

/// Types keys that mean what they mean without mappings.
pub fn type_keys(cx: &Context, keys: &str) -> Result<()> {
    let keys: mlua::LuaString = cx.editor.api("nvim_replace_termcodes", (keys, true, false, true))?;
    // Before what is typed already.
    cx.editor.func("feedkeys", (keys, "ni"))
}

/// How a prompt of this session refers to lines of a buffer.
pub fn target_of(cx: &Context, key: SessionKey, buf: Buf, lines: Lines) -> Option<Target> {
    let root = cx.sessions.get(&key)?.place.cwd.clone();
    let lines = Some(lines);
    Some(match Buffers::path_of(&cx.editor, buf) {
        Some(path) => {
            let inside = path.strip_prefix(&root).or_else(|_| path.strip_prefix(canonical(&root)));
            let path = inside.unwrap_or(&path).to_string_lossy().into_owned();
            Target::File { path, lines }
        }
        None => Target::Numbered { buffer: buf.0, lines },
    })
}
