//! From a prompt's text to what the agent gets: what the editor holds is taken at once, with its
//! unsaved edits; the rest is read in the background. Prompts go out in the order in which they were
//! sent, and one that cannot go comes back into the prompt.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::ids::{JobId, SessionKey};
use crate::core::message::{Command, Content, Gathered, ResourceBody, Want, Work};
use crate::core::session::references::{
    Lines, MOST_REFERENCES, Named, Reference, Target, file_uri, references, size,
};
use crate::core::text::Text;
use crate::nvim::app::{App, Job};
use crate::nvim::chat::LONG_PROMPT;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::prompt::{How, Sending};

/// A text with more bytes is not sent along; a whole file goes as a link then.
const MOST_TEXT: usize = 1 << 20;

impl App {
    /// Sends a text as a prompt, with what it refers to.
    pub fn submit(&mut self, key: SessionKey, text: &Text, how: How) -> Result<()> {
        let text = text.trimmed_end();
        let Some(folder) = self.prompts.open.get(&key).map(|prompt| prompt.folder.clone()) else {
            return Ok(());
        };
        self.remember(&folder, &text)?;
        let mut sending = Sending { text, how, job: None, content: None };
        if sending.text.len() > LONG_PROMPT {
            let job = self.next_job(Job::Prompt { session: key });
            sending.job = Some(job);
            let text = sending.text.clone();
            if let Some(prompt) = self.prompts.open.get_mut(&key) {
                prompt.sending.push_back(sending);
            }
            return self.send(Command::Compute { job, work: Work::References { text } });
        }
        let found = references(&sending.text);
        let wants = self.wants(key, found)?;
        self.gather(key, &mut sending, wants)?;
        if let Some(prompt) = self.prompts.open.get_mut(&key) {
            prompt.sending.push_back(sending);
        }
        self.deliver_ready(key)
    }

    /// What a long prompt refers to is known.
    pub fn referred(&mut self, key: SessionKey, job: JobId, found: Vec<Reference>) -> Result<()> {
        let waiting = |sending: &Sending| sending.job == Some(job);
        let Some(prompt) = self.prompts.open.get(&key) else { return Ok(()) };
        let Some(index) = prompt.sending.iter().position(waiting) else { return Ok(()) };
        if found.len() == MOST_REFERENCES {
            let text =
                format!("the prompt refers to more than {MOST_REFERENCES} things; the rest goes as text");
            self.cx.advise(text, Level::Warn);
        }
        let wants = self.wants(key, found)?;
        let Some(prompt) = self.prompts.open.get_mut(&key) else { return Ok(()) };
        let Some(mut sending) = prompt.sending.remove(index) else { return Ok(()) };
        self.gather(key, &mut sending, wants)?;
        if let Some(prompt) = self.prompts.open.get_mut(&key) {
            prompt.sending.insert(index, sending);
        }
        self.deliver_ready(key)?;
        self.frame_due()
    }

    /// Has what a prompt refers to read, where that is to be read.
    fn gather(&mut self, key: SessionKey, sending: &mut Sending, wants: Vec<Want>) -> Result<()> {
        let is_ready = |want: &Want| matches!(want, Want::Ready(Gathered::Content(_)));
        if wants.iter().all(is_ready) {
            let gathered = wants.into_iter().filter_map(|want| match want {
                Want::Ready(gathered) => Some(gathered),
                _ => None,
            });
            sending.content = self.content(&sending.text, gathered.collect())?;
        } else {
            let job = self.next_job(Job::Prompt { session: key });
            sending.job = Some(job);
            let can =
                self.cx.sessions.get(&key).and_then(|session| session.info.as_ref()).map(|info| info.can);
            let images = can.is_none_or(|can| can.image);
            self.send(Command::Compute { job, work: Work::Gather { wants, images } })?;
        }
        Ok(())
    }

    pub fn gathered(&mut self, key: SessionKey, job: JobId, gathered: Vec<Gathered>) -> Result<()> {
        let waiting = |sending: &Sending| sending.job == Some(job);
        let Some(prompt) = self.prompts.open.get_mut(&key) else { return Ok(()) };
        let Some(index) = prompt.sending.iter().position(waiting) else { return Ok(()) };
        let text = prompt.sending[index].text.clone();
        match self.content(&text, gathered)? {
            Some(content) => {
                if let Some(prompt) = self.prompts.open.get_mut(&key) {
                    prompt.sending[index].content = Some(content);
                }
            }
            None => {
                if let Some(prompt) = self.prompts.open.get_mut(&key) {
                    prompt.sending.remove(index);
                }
                self.give_back(key, &text)?;
            }
        }
        self.deliver_ready(key)?;
        self.frame_due()
    }

    /// The blocks of a prompt; `None` where it can't be sent, which its user is told.
    fn content(&mut self, text: &Text, gathered: Vec<Gathered>) -> Result<Option<Vec<Content>>> {
        let mut content = vec![Content::Text(text.clone())];
        let mut notes = Vec::new();
        for each in gathered {
            match each {
                // What is referred to twice goes once.
                Gathered::Content(block) if !content.contains(&block) => content.push(block),
                Gathered::Content(_) => {}
                Gathered::Nothing(note) => notes.extend(note),
                Gathered::Refused(why) => {
                    let text = format!("couldn't send the prompt: {why}");
                    self.cx.advise(text, Level::Error);
                    return Ok(None);
                }
            }
        }
        if !notes.is_empty() {
            self.cx.advise(notes.join(" "), Level::Info);
        }
        Ok(Some(content))
    }

    fn deliver_ready(&mut self, key: SessionKey) -> Result<()> {
        while let Some(prompt) = self.prompts.open.get_mut(&key)
            && prompt.sending.front().is_some_and(|sending| sending.content.is_some())
            && let Some(Sending { how, content: Some(content), .. }) = prompt.sending.pop_front()
        {
            match how {
                How::InLine => self.prompt(key, content)?,
                How::Steer => self.steer(key, content)?,
                How::Now => self.prompt_now(key, content)?,
            }
        }
        Ok(())
    }

    /// What a text refers to, as far as it is known here.
    fn wants(&mut self, key: SessionKey, found: Vec<Reference>) -> Result<Vec<Want>> {
        let mut wants = Vec::new();
        for reference in found {
            let token = reference.target.token();
            match reference.target {
                Target::File { path, lines } => wants.extend(self.want_file(key, &path, lines)?),
                Target::Numbered { buffer, lines } => {
                    let buf = Buf(buffer);
                    wants.push(Want::Ready(if self.cx.editor.buf_is_loaded(buf) {
                        self.of_buffer(key, buf, lines)?
                    } else {
                        Gathered::Nothing(Some(format!("There is no buffer {buffer}: {token} goes as text.")))
                    }));
                }
                Target::Url(url) => {
                    let name = url.trim_end_matches('/').to_owned();
                    let link = Content::Link { uri: url, name, title: None, mime: None, size: None };
                    wants.push(Want::Ready(Gathered::Content(link)));
                }
                Target::Named(Named::Diff) => {
                    let root = self.cx.sessions.get(&key).map(|session| session.place.cwd.clone());
                    wants.push(Want::Diff { root: root.unwrap_or_default() });
                }
                Target::Named(named) => wants.push(Want::Ready(self.of_editor(key, named)?)),
            }
        }
        Ok(wants)
    }

    fn want_file(&mut self, key: SessionKey, name: &str, lines: Option<Lines>) -> Result<Option<Want>> {
        let Some(path) = self.path_meant(key, name) else { return Ok(None) };
        let target = Target::File { path: name.to_owned(), lines };
        if let Some(buf) = self.buffer_meant(key, &target) {
            return Ok(Some(Want::Ready(self.of_buffer(key, buf, lines)?)));
        }
        let deliberate = target.is_deliberate();
        Ok(Some(Want::File { name: name.to_owned(), path, lines, deliberate }))
    }

    /// A buffer's text as it is now, or some of its lines.
    fn of_buffer(&self, key: SessionKey, buf: Buf, lines: Option<Lines>) -> Result<Gathered> {
        let path = crate::nvim::buffers::Buffers::path_of(&self.cx.editor, buf);
        let name = path.as_ref().map_or_else(|| format!("buffer {}", buf.0), |path| self.name_in(key, path));
        let count = self.cx.editor.line_count(buf)?;
        let link = |path: &Path, bytes: usize| {
            Gathered::Content(Content::Link {
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                uri: file_uri(path, None),
                title: None,
                mime: None,
                size: Some(bytes as u64),
            })
        };
        // What is surely too long need not be read for it.
        let bytes = self.cx.editor.byte_count(buf, count);
        if let (Some(path), None) = (&path, lines)
            && bytes > 2 * MOST_TEXT
        {
            return Ok(link(path, bytes));
        }
        let text = match lines {
            Some(lines) if lines.first > count => {
                return Ok(Gathered::Refused(format!("{name} ends at line {count}; give other lines")));
            }
            Some(lines) => {
                self.cx.editor.lines(buf, lines.first as i64 - 1, lines.last.min(count) as i64)?.join("\n")
            }
            None => match self.cx.editor.text(buf)? {
                Some(text) => format!("{text}\n"),
                None => return Ok(Gathered::Refused(format!("{name} is no UTF-8 text"))),
            },
        };
        if text.len() > MOST_TEXT {
            return Ok(match (path, lines) {
                (Some(path), None) => link(&path, text.len()),
                _ => Gathered::Refused(format!(
                    "{name} has {}, and {} may be sent along; give fewer lines",
                    size(text.len() as u64),
                    size(MOST_TEXT as u64)
                )),
            });
        }
        let uri = match (&path, lines) {
            (Some(path), lines) => file_uri(path, lines),
            (None, Some(lines)) => format!("acp://context/{name}:{}", lines.text()),
            (None, None) => format!("acp://context/{name}"),
        };
        Ok(Gathered::Content(Content::Resource {
            uri,
            mime: Some("text/plain".to_owned()),
            body: ResourceBody::Text(text),
        }))
    }

    /// What is called by its name.
    fn of_editor(&self, key: SessionKey, named: Named) -> Result<Gathered> {
        let nothing =
            |what: &str| Gathered::Nothing(Some(format!("{what}: @{} goes as text.", named.word())));
        let last = self.prompts.last_buffer.filter(|buf| self.cx.editor.buf_is_loaded(*buf));
        let text: Option<String> = match (named, last) {
            (Named::Quickfix, _) => self.prompts.live("quickfix", ())?,
            (Named::Terminal, _) => self.last_terminal(key)?,
            (_, None) => return Ok(nothing("You were in no buffer yet")),
            (Named::Buffer, Some(buf)) => return self.of_buffer(key, buf, None),
            (Named::Selection, Some(buf)) => {
                let (first, last): (Option<usize>, Option<usize>) = self.prompts.live("selection", buf)?;
                return match first.zip(last).and_then(|(first, last)| Lines::new(first, last)) {
                    Some(lines) => self.of_buffer(key, buf, Some(lines)),
                    None => Ok(nothing("Nothing was selected")),
                };
            }
            (Named::Diagnostics, Some(buf)) => self.prompts.live("diagnostics", buf)?,
            (Named::Diff, _) => None,
        };
        Ok(match text {
            Some(text) if text.len() > MOST_TEXT => Gathered::Refused(format!(
                "@{} has {}, which is too much",
                named.word(),
                size(text.len() as u64)
            )),
            Some(text) => Gathered::Content(Content::Resource {
                uri: format!("acp://context/{}", named.word()),
                mime: Some("text/plain".to_owned()),
                body: ResourceBody::Text(text),
            }),
            None => nothing(match named {
                Named::Quickfix => "The quickfix list is empty",
                Named::Terminal => "There is no terminal with output",
                _ => "The buffer has no diagnostics",
            }),
        })
    }

    /// The end of what the agent's last terminal showed, else of the user's own.
    fn last_terminal(&self, key: SessionKey) -> Result<Option<String>> {
        let mine = self.terminals.all().into_iter().filter(|((session, _), _)| *session == key);
        let tails = mine.filter_map(|(terminal, _)| self.terminals.tail(terminal));
        if let Some(tail) = tails.filter(|tail| !tail.lines.is_empty()).last() {
            return Ok(Some(tail.lines.join("\n")));
        }
        let skip = self.cx.editor.lua.create_table()?;
        for (_, terminal) in self.terminals.all() {
            skip.set(terminal.buf.0, true)?;
        }
        self.prompts.live("terminal", skip)
    }

    // Images.

    /// Has the clipboard's image put into the prompt.
    pub fn paste_image(&mut self, key: SessionKey) -> Result<()> {
        let can =
            self.cx.sessions.get(&key).and_then(|session| session.info.as_ref()).map(|info| info.can.image);
        if can == Some(false) {
            let name =
                self.cx.sessions.get(&key).map(crate::core::session::Session::name).unwrap_or_default();
            return Err(mlua::Error::runtime(format!("couldn't paste an image: {name} takes none")));
        }
        let folder = self.prompts.images.clone();
        let job = self.next_job(Job::Paste { session: key });
        self.send(Command::Compute { job, work: Work::Paste { folder } })
    }

    pub fn pasted(&mut self, key: SessionKey, image: std::result::Result<PathBuf, String>) -> Result<()> {
        match image {
            Ok(path) => self.add_token(key, &path),
            Err(why) => {
                let text = format!("couldn't paste an image: {why}");
                self.cx.advise(text, Level::Error);
                Ok(())
            }
        }
    }

    fn add_token(&mut self, key: SessionKey, path: &Path) -> Result<()> {
        let Some(chat) = self.chats.get(&key) else { return Ok(()) };
        let token = Target::File { path: path.to_string_lossy().into_owned(), lines: None }.token();
        if chat.has_long_prompt(&self.cx.editor)? {
            return self.append_to_prompt(key, &format!(" {token} "));
        }
        let before = chat.prompt_text(&self.cx.editor)?;
        let space = if before.is_empty() || before.ends_with(char::is_whitespace) { "" } else { " " };
        self.set_prompt(key, &format!("{before}{space}{token} ").into())
    }
}
