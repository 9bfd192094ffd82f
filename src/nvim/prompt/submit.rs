//! From a prompt's text to what the agent gets: what the editor holds is taken at once, with its
//! unsaved edits; the rest is read in the background. Prompts go out in the order in which they were
//! sent, and one that cannot go comes back into the prompt.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{Content, Gathered, Outcome, ResourceBody, Want, Work};
use crate::core::session::Session;
use crate::core::session::references::{
    Kind, Lines, MOST_REFERENCES, Named, Reference, Target, file_uri, references, size,
};
use crate::core::text::Text;
use crate::nvim::buffers::Buffers;
use crate::nvim::context::{self, Context, LONG_PROMPT};
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::{EditorEvent, SendMode};
use crate::nvim::prompt::{Prompts, Sending};

/// A text with more bytes is not sent along; a whole file goes as a link then.
const MOST_TEXT: usize = 1 << 20;

impl Prompts {
    /// Sends a text as a prompt, with what it refers to. `terminals` are the buffers of agents' commands.
    pub fn submit(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        (text, mode): (&Text, SendMode),
        terminals: &[Buf],
    ) -> Result<()> {
        let text = text.trimmed_end();
        let Some(folder) = self.open.get(&key).map(|prompt| prompt.folder.clone()) else {
            return Ok(());
        };
        self.remember(cx, &folder, &text);
        self.last_sending += 1;
        let number = self.last_sending;
        let mut sending = Sending { number, text, mode, content: None };
        if sending.text.len() > LONG_PROMPT {
            let text = sending.text.clone();
            if let Some(prompt) = self.open.get_mut(&key) {
                prompt.sending.push_back(sending);
            }
            cx.compute(Work::References { text }, move |_: &mut Self, cx, outcome| {
                if let Outcome::References(found) = outcome {
                    cx.raise(EditorEvent::ReferencesFound { session: key, number, found });
                }
                Ok(())
            });
            return Ok(());
        }
        let found = references(&sending.text);
        if found.iter().any(|reference| is_symbol(&reference.target))
            && let Some(buf) = self.last_buffer.filter(|buf| cx.editor.buf_is_loaded(*buf))
            && self.live::<bool>("asks_server", buf)?
        {
            if let Some(prompt) = self.open.get_mut(&key) {
                prompt.sending.push_back(sending);
            }
            return self.after_server(cx, buf, move |_: &mut Self, cx| {
                cx.raise(EditorEvent::ReferencesFound { session: key, number, found });
                Ok(())
            });
        }
        let wants = self.wants(cx, key, found, terminals)?;
        self.gather(cx, key, &mut sending, wants);
        if let Some(prompt) = self.open.get_mut(&key) {
            prompt.sending.push_back(sending);
        }
        self.deliver_ready(cx, key);
        Ok(())
    }

    /// Goes on when a buffer's language server has told its symbols, or has not in time.
    pub fn after_server(
        &self,
        cx: &Context,
        buf: Buf,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        let then = RefCell::new(Some(then));
        let done = cx.editor.lua.create_function(move |_, ()| {
            if let Some(then) = then.borrow_mut().take() {
                context::run(then);
            }
            Ok(())
        })?;
        self.live("ask_server", (buf, done))
    }

    /// What a long prompt refers to is known, or what a language server has to say of it.
    pub fn referred(
        &mut self,
        cx: &mut Context,
        (key, number): (SessionKey, u64),
        found: Vec<Reference>,
        terminals: &[Buf],
    ) -> Result<()> {
        let waiting = |sending: &Sending| sending.number == number;
        let Some(prompt) = self.open.get(&key) else { return Ok(()) };
        let Some(index) = prompt.sending.iter().position(waiting) else { return Ok(()) };
        if found.len() == MOST_REFERENCES {
            let text =
                format!("the prompt refers to more than {MOST_REFERENCES} things; the rest goes as text");
            cx.notify(text, Level::Warn);
        }
        let wants = self.wants(cx, key, found, terminals)?;
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let Some(mut sending) = prompt.sending.remove(index) else { return Ok(()) };
        self.gather(cx, key, &mut sending, wants);
        if let Some(prompt) = self.open.get_mut(&key) {
            prompt.sending.insert(index, sending);
        }
        self.deliver_ready(cx, key);
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }

    /// Has what a prompt refers to read, where that is to be read.
    fn gather(&mut self, cx: &mut Context, key: SessionKey, sending: &mut Sending, wants: Vec<Want>) {
        let is_ready = |want: &Want| matches!(want, Want::Ready(Gathered::Content(_)));
        if wants.iter().all(is_ready) {
            let gathered = wants.into_iter().filter_map(|want| match want {
                Want::Ready(gathered) => Some(gathered),
                _ => None,
            });
            sending.content = content(cx, &sending.text, gathered.collect());
        } else {
            let number = sending.number;
            let can = cx.sessions.get(&key).and_then(|session| session.info.as_ref()).map(|info| info.can);
            let images = can.is_none_or(|can| can.image);
            cx.compute(Work::Gather { wants, images }, move |this: &mut Self, cx, outcome| match outcome {
                Outcome::Gathered(gathered) => this.gathered(cx, (key, number), gathered),
                _ => Ok(()),
            });
        }
    }

    fn gathered(
        &mut self,
        cx: &mut Context,
        (key, number): (SessionKey, u64),
        gathered: Vec<Gathered>,
    ) -> Result<()> {
        let waiting = |sending: &Sending| sending.number == number;
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let Some(index) = prompt.sending.iter().position(waiting) else { return Ok(()) };
        let text = prompt.sending[index].text.clone();
        match content(cx, &text, gathered) {
            Some(content) => {
                if let Some(prompt) = self.open.get_mut(&key) {
                    prompt.sending[index].content = Some(content);
                }
            }
            None => {
                if let Some(prompt) = self.open.get_mut(&key) {
                    prompt.sending.remove(index);
                }
                self.give_back(cx, key, &text)?;
            }
        }
        self.deliver_ready(cx, key);
        cx.raise(EditorEvent::FrameDue);
        Ok(())
    }

    fn deliver_ready(&mut self, cx: &mut Context, key: SessionKey) {
        while let Some(prompt) = self.open.get_mut(&key)
            && prompt.sending.front().is_some_and(|sending| sending.content.is_some())
            && let Some(Sending { mode, content: Some(content), .. }) = prompt.sending.pop_front()
        {
            cx.raise(EditorEvent::PromptReady { session: key, content, mode });
        }
    }

    /// What a text refers to, as far as it is known here.
    fn wants(
        &self,
        cx: &Context,
        key: SessionKey,
        found: Vec<Reference>,
        terminals: &[Buf],
    ) -> Result<Vec<Want>> {
        let mut wants = Vec::new();
        for reference in found {
            let token = reference.target.token();
            match reference.target {
                Target::File { path, lines } => wants.extend(want_file(cx, key, &path, lines)?),
                Target::Numbered { buffer, lines } => {
                    let buf = Buf(buffer);
                    wants.push(Want::Ready(if cx.editor.buf_is_loaded(buf) {
                        of_buffer(cx, key, buf, lines)?
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
                    wants.push(Want::Diff { root: root_of(cx, key) });
                }
                Target::Named(Named::Buffer) if self.last_folder(cx).is_some() => {
                    let path = self.last_folder(cx).unwrap_or_default();
                    let name = Self::name_in(cx, key, &path);
                    wants.push(Want::File { name, path, lines: None, deliberate: true });
                }
                Target::Named(Named::Commit) => {
                    wants.push(Want::Commit { root: root_of(cx, key), revision: "HEAD".to_owned() });
                }
                Target::One { kind, name } => wants.push(self.want_one(cx, key, kind, name)?),
                Target::Named(named) => wants.push(Want::Ready(self.of_editor(cx, key, named, terminals)?)),
            }
        }
        Ok(wants)
    }

    /// The folder that the user was in last, if that is what the last buffer lists.
    fn last_folder(&self, cx: &Context) -> Option<PathBuf> {
        self.last_buffer.and_then(|buf| cx.editor.folder_of(buf))
    }

    /// One of its kind.
    fn want_one(&self, cx: &Context, key: SessionKey, kind: Kind, name: String) -> Result<Want> {
        let nothing = |why: String| Want::Ready(Gathered::Nothing(Some(format!("{why}: it goes as text."))));
        Ok(match kind {
            Kind::Commit => Want::Commit { root: root_of(cx, key), revision: name },
            Kind::Help => {
                let folders: Vec<String> = cx.editor.api("nvim_list_runtime_paths", ())?;
                Want::Help { tag: name, folders: folders.into_iter().map(PathBuf::from).collect() }
            }
            Kind::Symbol => match self.lines_named(cx, "symbol", Some(&name))? {
                Some((buf, lines)) => Want::Ready(of_buffer(cx, key, buf, Some(lines))?),
                None => nothing(format!("The buffer you were last in has no symbol {name}")),
            },
            Kind::Diagnostics => {
                let buf = Self::path_meant(cx, key, &name).and_then(|path| cx.buf_of(&path));
                let Some(buf) = buf else {
                    return Ok(nothing(format!("{name} is not loaded, so it has no diagnostics")));
                };
                match self.live::<Option<String>>("diagnostics", buf)? {
                    Some(text) => Want::Ready(of_text(&format!("diagnostics:{name}"), text)),
                    None => nothing(format!("{name} has no diagnostics")),
                }
            }
        })
    }

    /// Lines of the buffer that the user was last in, by what they are.
    pub fn lines_named(&self, cx: &Context, what: &str, name: Option<&str>) -> Result<Option<(Buf, Lines)>> {
        let Some(buf) = self.last_buffer.filter(|buf| cx.editor.buf_is_loaded(*buf)) else { return Ok(None) };
        let (first, last): (Option<usize>, Option<usize>) = self.live(what, (buf, name))?;
        let lines = first.zip(last).and_then(|(first, last)| Lines::new(first, last));
        Ok(lines.map(|lines| (buf, lines)))
    }

    /// What is called by its name.
    fn of_editor(&self, cx: &Context, key: SessionKey, named: Named, terminals: &[Buf]) -> Result<Gathered> {
        let nothing =
            |what: &str| Gathered::Nothing(Some(format!("{what}: @{} goes as text.", named.word())));
        let last = self.last_buffer.filter(|buf| cx.editor.buf_is_loaded(*buf));
        let text: Option<String> = match (named, last) {
            (Named::Quickfix, _) => self.live("quickfix", ())?,
            (Named::Terminal, _) => self.last_terminal(cx, key, terminals)?,
            (_, None) => return Ok(nothing("You were in no buffer yet")),
            (Named::Buffer, Some(buf)) => return of_buffer(cx, key, buf, None),
            (Named::Selection | Named::Symbol | Named::Viewport, Some(_)) => {
                return match self.lines_named(cx, named.word(), None)? {
                    Some((buf, lines)) => of_buffer(cx, key, buf, Some(lines)),
                    None => Ok(nothing(none_of(named))),
                };
            }
            (Named::Diagnostics, Some(buf)) => self.live("diagnostics", buf)?,
            (Named::Diff | Named::Commit, _) => None,
        };
        Ok(match text {
            Some(text) => of_text(named.word(), text),
            None => nothing(none_of(named)),
        })
    }

    /// The end of what the agent's last terminal showed, else of the user's own.
    fn last_terminal(&self, cx: &Context, key: SessionKey, terminals: &[Buf]) -> Result<Option<String>> {
        if let Some(output) = cx.tails.last_of(key) {
            return Ok(Some(output));
        }
        let skip = cx.editor.lua.create_table()?;
        for buf in terminals {
            skip.set(buf.0, true)?;
        }
        self.live("terminal", skip)
    }

    // Images.

    /// Has the clipboard's image put into the prompt.
    pub fn paste_image(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let can = cx.sessions.get(&key).and_then(|session| session.info.as_ref()).map(|info| info.can.image);
        if can == Some(false) {
            let name = cx.sessions.get(&key).map(Session::name).unwrap_or_default();
            return Err(mlua::Error::runtime(format!("couldn't paste an image: {name} takes none")));
        }
        let folder = self.images.clone();
        cx.compute(Work::Paste { folder }, move |this: &mut Self, cx, outcome| match outcome {
            Outcome::Pasted(image) => this.pasted(cx, key, image),
            _ => Ok(()),
        });
        Ok(())
    }

    fn pasted(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        image: std::result::Result<PathBuf, String>,
    ) -> Result<()> {
        match image {
            Ok(path) => self.add_token(cx, key, &path),
            Err(why) => {
                let text = format!("couldn't paste an image: {why}");
                cx.notify(text, Level::Error);
                Ok(())
            }
        }
    }

    fn add_token(&mut self, cx: &mut Context, key: SessionKey, path: &Path) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        let token = Target::File { path: path.to_string_lossy().into_owned(), lines: None }.token();
        if chat.has_long_prompt(&cx.editor)? {
            return self.append_to_prompt(cx, key, &format!(" {token} "));
        }
        let before = chat.prompt_text(&cx.editor)?;
        let space = if before.is_empty() || before.ends_with(char::is_whitespace) { "" } else { " " };
        self.set_prompt(cx, key, &format!("{before}{space}{token} ").into())
    }
}

fn is_symbol(target: &Target) -> bool {
    matches!(target, Target::Named(Named::Symbol) | Target::One { kind: Kind::Symbol, .. })
}

/// Why there is nothing that is called so.
pub fn none_of(named: Named) -> &'static str {
    match named {
        Named::Quickfix => "The quickfix list is empty",
        Named::Terminal => "There is no terminal with output",
        Named::Selection => "Nothing was selected",
        Named::Symbol => "No function or class is known at the cursor",
        Named::Viewport => "No window shows the buffer you were last in",
        _ => "The buffer has no diagnostics",
    }
}

fn root_of(cx: &Context, key: SessionKey) -> PathBuf {
    cx.sessions.get(&key).map(|session| session.place.cwd.clone()).unwrap_or_default()
}

fn of_text(name: &str, text: String) -> Gathered {
    if text.len() > MOST_TEXT {
        return Gathered::Refused(format!("@{name} has {}, which is too much", size(text.len() as u64)));
    }
    Gathered::Content(Content::Resource {
        uri: format!("acp://context/{name}"),
        mime: Some("text/plain".to_owned()),
        body: ResourceBody::Text(text),
    })
}

/// The blocks of a prompt; `None` where it can't be sent, which its user is told.
fn content(cx: &mut Context, text: &Text, gathered: Vec<Gathered>) -> Option<Vec<Content>> {
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
                cx.notify(text, Level::Error);
                return None;
            }
        }
    }
    if !notes.is_empty() {
        cx.notify(notes.join(" "), Level::Info);
    }
    Some(content)
}

fn want_file(cx: &Context, key: SessionKey, name: &str, lines: Option<Lines>) -> Result<Option<Want>> {
    let Some(path) = Prompts::path_meant(cx, key, name) else { return Ok(None) };
    let target = Target::File { path: name.to_owned(), lines };
    if let Some(buf) = Prompts::buffer_meant(cx, key, &target) {
        return Ok(Some(Want::Ready(of_buffer(cx, key, buf, lines)?)));
    }
    let deliberate = target.is_deliberate();
    Ok(Some(Want::File { name: name.to_owned(), path, lines, deliberate }))
}

/// A buffer's text as it is now, or some of its lines.
fn of_buffer(cx: &Context, key: SessionKey, buf: Buf, lines: Option<Lines>) -> Result<Gathered> {
    let path = Buffers::path_of(&cx.editor, buf);
    let name =
        path.as_ref().map_or_else(|| format!("buffer {}", buf.0), |path| Prompts::name_in(cx, key, path));
    let count = cx.editor.line_count(buf)?;
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
    let bytes = cx.editor.byte_count(buf, count);
    if let (Some(path), None) = (&path, lines)
        && bytes > 2 * MOST_TEXT
    {
        return Ok(link(path, bytes));
    }
    let text = match lines {
        Some(lines) if lines.first > count => {
            return Ok(Gathered::Refused(format!("{name} ends at line {count}; give other lines")));
        }
        Some(lines) => cx.editor.lines(buf, lines.first as i64 - 1, lines.last.min(count) as i64)?.join("\n"),
        None => match cx.editor.text(buf)? {
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
