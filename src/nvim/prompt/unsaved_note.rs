//! Unsaved edits when a prompt goes out: agents that read the disk do not see them, so they are told, or
//! the buffers are saved. A prompt that waits for its differences to be worked out is held here.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use mlua::Result;

use crate::config::Unsaved;
use crate::core::ids::SessionKey;
use crate::core::message::{Content, Outcome, Severity, UnsavedText, Work};
use crate::core::session::references::file_uri;
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::buffers::saving::save;
use crate::nvim::buffers::saving::stamp_of;
use crate::nvim::context::Context;
use crate::nvim::editor::Buf;
use crate::nvim::events::EditorEvent;
use crate::nvim::prompt::{Held, Prompts};

/// The differences of longer texts are not told, only that there are some.
const LONGEST: usize = 20_000;

/// A prompt that goes out.
pub struct Outgoing {
    session: SessionKey,
    content: Vec<Content>,
    /// The files with unsaved edits that its agent may have to be told of.
    unsaved: Vec<(PathBuf, Buf)>,
    /// There are any, or buffers that were saved for it; events were raised.
    pub is_about_files: bool,
}

impl Prompts {
    /// What of a prompt's agent is to be told, as the options say: nothing of what goes along with it, or was saved
    /// for it just now.
    pub fn outgoing(
        &mut self,
        cx: &mut Context,
        session: SessionKey,
        content: Vec<Content>,
    ) -> Result<Outgoing> {
        let mut unsaved = unsaved_of(cx, session);
        // A file that goes along does so with its unsaved edits.
        let uris = content.iter().filter_map(|block| match block {
            Content::Resource { uri, .. } => Some(uri.as_str()),
            _ => None,
        });
        let along: Vec<&str> = uris.collect();
        unsaved.retain(|(path, _)| !along.contains(&file_uri(path, None).as_str()));
        if unsaved.is_empty() || cx.config.files.unsaved == Unsaved::Nothing {
            self.notes.told.remove(&session);
            return Ok(Outgoing { session, content, unsaved: Vec::new(), is_about_files: false });
        }
        if cx.config.files.unsaved == Unsaved::Save {
            unsaved.retain(|(path, buf)| save_before_prompt(cx, session, path, *buf));
            unsaved.iter().for_each(|(_, buf)| cx.raise(EditorEvent::BufferSaved(*buf)));
            let is_about_files = !unsaved.is_empty();
            return Ok(Outgoing { session, content, unsaved: Vec::new(), is_about_files });
        }
        unsaved.iter().for_each(|(_, buf)| cx.raise(EditorEvent::BufferModified(*buf)));
        Ok(Outgoing { session, content, unsaved, is_about_files: true })
    }

    /// Gives the content back that is to be sent now. `None`: it follows, with a note.
    pub fn with_note(&mut self, cx: &mut Context, outgoing: Outgoing) -> Result<Option<Vec<Content>>> {
        let Outgoing { session, content, unsaved, is_about_files: _ } = outgoing;
        if unsaved.is_empty() {
            return Ok(Some(content));
        }
        let mut ticks = Vec::new();
        for (path, buf) in &unsaved {
            ticks.push((path.clone(), cx.editor.changedtick(*buf)?));
        }
        if self.notes.told.get(&session) == Some(&ticks) {
            return Ok(Some(content));
        }
        self.notes.told.insert(session, ticks);
        let mut files = VecDeque::new();
        let mut names = Vec::new();
        for (path, buf) in unsaved {
            let name = cx.short_name(Some(session), &path);
            let is_short = cx.editor.line_count(buf)? <= LONGEST;
            let base = cx.buffers.held(&path).and_then(|held| held.saved.clone()).filter(|_| is_short);
            files.push_back((UnsavedText { name: name.clone(), saved: base, ours: None }, buf));
            names.push(name);
        }
        self.notes.last += 1;
        let number = self.notes.last;
        self.notes.held.insert(number, Held { session, content, names });
        self.read_unsaved(cx, number, files, Vec::new())?;
        Ok(None)
    }

    /// The session is closed.
    pub fn forget_notes(&mut self, session: SessionKey) {
        self.notes.told.remove(&session);
    }

    /// Reads the buffers one after the other, and has it worked out in the background what they differ in.
    fn read_unsaved(
        &mut self,
        cx: &mut Context,
        number: u64,
        mut left: VecDeque<(UnsavedText, Buf)>,
        mut done: Vec<UnsavedText>,
    ) -> Result<()> {
        while let Some((mut file, buf)) = left.pop_front() {
            if file.saved.is_some() {
                return cx.with_text(self, buf, move |this: &mut Self, cx, snapshot| {
                    file.ours = snapshot.map(|snapshot| snapshot.text.body());
                    done.push(file);
                    this.read_unsaved(cx, number, left, done)
                });
            }
            done.push(file);
        }
        // It may have been sent without, to be cancelled.
        if self.notes.held.contains_key(&number) {
            cx.compute(Work::Mention(done), move |this: &mut Self, cx, outcome| {
                if let (Outcome::Mention(text), Some(held)) = (outcome, this.notes.held.remove(&number)) {
                    send_with_note(cx, held, text);
                }
                Ok(())
            });
        }
        Ok(())
    }

    /// A prompt that is to be stopped must be there first: gives the one back that waits for its note.
    pub fn take_held(&mut self, session: SessionKey) -> Option<Vec<Content>> {
        let number = *self.notes.held.iter().find(|(_, held)| held.session == session)?.0;
        Some(self.notes.held.remove(&number)?.content)
    }
}

fn send_with_note(cx: &mut Context, held: Held, text: String) {
    let Held { session, mut content, names } = held;
    content.push(Content::Text(text.into()));
    let name = cx.sessions.get(&session).map(|session| session.name()).unwrap_or_default();
    let files = match &*names {
        few if few.len() <= 4 => few.join(", "),
        many => format!("{} and {} more", many[..3].join(", "), many.len() - 3),
    };
    cx.note(Some(session), Severity::Info, format!("{name} is told about unsaved edits in {files}"));
    cx.raise(EditorEvent::PromptCompleted { session, content });
}

/// The files in the session's folders with unsaved edits, by name.
fn unsaved_of(cx: &Context, session: SessionKey) -> Vec<(PathBuf, Buf)> {
    let Some(session) = cx.sessions.get(&session) else { return Vec::new() };
    let roots: Vec<PathBuf> = session.place.folders().map(|folder| canonical(folder)).collect();
    let mut unsaved: Vec<(PathBuf, Buf)> = cx
        .buffers
        .all()
        .filter(|(path, held)| {
            roots.iter().any(|root| path.starts_with(root)) && is_modified(&cx.editor, held.buf)
        })
        .map(|(path, held)| (path.to_owned(), held.buf))
        .collect();
    unsaved.sort();
    unsaved
}

/// Says whether it could be saved.
fn save_before_prompt(cx: &mut Context, session: SessionKey, path: &Path, buf: Buf) -> bool {
    let known = cx.buffers.held(path).and_then(|held| held.stamp);
    let failed = match stamp_of(path) {
        // Neovim would ask; a prompt must not overwrite what it was not asked to.
        now if now.is_some() && known.is_some() && now != known => {
            Some("it was changed on the disk, too, and is merged first".to_owned())
        }
        _ if cx.editor.buf_option(buf, "readonly").unwrap_or(false) => {
            Some("its buffer is 'readonly'".to_owned())
        }
        _ => save(&cx.editor, buf, true).err(),
    };
    let is_saved = failed.is_none();
    if let Some(why) = failed {
        let name = cx.short_name(Some(session), path);
        cx.note(Some(session), Severity::Warning, format!("couldn't save {name}: {why}"));
    }
    is_saved
}
