//! Unsaved edits when a prompt goes out: agents that read the disk do not see them, so they are told, or
//! the buffers are saved. A prompt that waits for its differences to be worked out is held here.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;

use mlua::Result;

use crate::config::Unsaved;
use crate::core::ids::{JobId, SessionKey};
use crate::core::message::{Command, Content, Severity, UnsavedText, Work};
use crate::core::session::references::file_uri;
use crate::nvim::app::{App, Job};
use crate::nvim::buffers::is_modified;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::editor::Buf;
use crate::nvim::files::engine::stamp_of;
use crate::nvim::files::save;

/// The differences of longer texts are not told, only that there are some.
const LONGEST: usize = 20_000;

/// What each agent was told of last: the buffers' files and ticks.
#[derive(Default)]
pub struct Mentions(HashMap<SessionKey, Vec<(PathBuf, u64)>>);

/// A prompt on its way.
pub struct Mention {
    pub session: SessionKey,
    content: Vec<Content>,
    names: Vec<String>,
}

impl App {
    /// What is to be sent now in the place of a prompt. `None`: it follows.
    pub fn with_mention(&mut self, session: SessionKey, content: Vec<Content>) -> Result<Option<Command>> {
        let mut unsaved = self.unsaved_of(session);
        // A file that goes along does so with its unsaved edits.
        let uris = content.iter().filter_map(|block| match block {
            Content::Resource { uri, .. } => Some(uri.as_str()),
            _ => None,
        });
        let along: Vec<&str> = uris.collect();
        unsaved.retain(|(path, _)| !along.contains(&file_uri(path, None).as_str()));
        if unsaved.is_empty() || self.cx.config.files.unsaved == Unsaved::Nothing {
            self.mentions.0.remove(&session);
            return Ok(Some(Command::Prompt { session, content }));
        }
        if self.cx.config.files.unsaved == Unsaved::Save {
            for (path, buf) in unsaved {
                self.save_before_prompt(session, path, buf)?;
            }
            return Ok(Some(Command::Prompt { session, content }));
        }
        let mut ticks = Vec::new();
        for (path, buf) in &unsaved {
            // What the edits began with is needed for more than this.
            self.buffer_modified(*buf)?;
            ticks.push((path.clone(), self.cx.editor.changedtick(*buf)?));
        }
        if self.mentions.0.get(&session) == Some(&ticks) {
            return Ok(Some(Command::Prompt { session, content }));
        }
        self.mentions.0.insert(session, ticks);
        let mut files = VecDeque::new();
        let mut names = Vec::new();
        for (path, buf) in unsaved {
            let name = self.cx.short_name(Some(session), &path);
            let is_short = self.cx.editor.line_count(buf)? <= LONGEST;
            let base = self.cx.buffers.held(&path).and_then(|held| held.saved.clone()).filter(|_| is_short);
            files.push_back((UnsavedText { name: name.clone(), saved: base, ours: None }, buf));
            names.push(name);
        }
        let job = self.next_job(Job::Mention(Mention { session, content, names }));
        self.read_unsaved(job, files, Vec::new())?;
        Ok(None)
    }

    /// The session is closed.
    pub fn forget_mention(&mut self, session: SessionKey) {
        self.mentions.0.remove(&session);
    }

    /// Reads the buffers one after the other, and has it worked out in the background what they differ in.
    fn read_unsaved(
        &mut self,
        job: JobId,
        mut left: VecDeque<(UnsavedText, Buf)>,
        mut done: Vec<UnsavedText>,
    ) -> Result<()> {
        while let Some((mut file, buf)) = left.pop_front() {
            if file.saved.is_some() {
                return self.with_text(buf, move |app, snapshot| {
                    file.ours = snapshot.map(|snapshot| snapshot.text.body());
                    done.push(file);
                    app.read_unsaved(job, left, done)
                });
            }
            done.push(file);
        }
        // It may have been sent without, to be cancelled.
        if self.jobs.contains_key(&job) {
            self.dispatch(Command::Compute { job, work: Work::Mention(done) })?;
        }
        Ok(())
    }

    pub fn mentioned(&mut self, mention: Mention, text: String) -> Result<()> {
        let Mention { session, mut content, names } = mention;
        content.push(Content::Text(text.into()));
        let name = self.cx.sessions.get(&session).map(|session| session.name()).unwrap_or_default();
        let files = match &*names {
            few if few.len() <= 4 => few.join(", "),
            many => format!("{} and {} more", many[..3].join(", "), many.len() - 3),
        };
        self.note(Some(session), Severity::Info, format!("{name} is told about unsaved edits in {files}"))?;
        self.dispatch(Command::Prompt { session, content })
    }

    /// A prompt that is to be stopped must be there first.
    pub fn send_held(&mut self, session: SessionKey) -> Result<()> {
        let is_it = |job: &Job| matches!(job, Job::Mention(mention) if mention.session == session);
        let held = self.jobs.iter().find(|(_, job)| is_it(job)).map(|(id, _)| *id);
        match held.and_then(|id| self.jobs.remove(&id)) {
            Some(Job::Mention(Mention { session, content, .. })) => {
                self.dispatch(Command::Prompt { session, content })
            }
            _ => Ok(()),
        }
    }

    /// The files in the session's folders with unsaved edits, by name.
    fn unsaved_of(&self, session: SessionKey) -> Vec<(PathBuf, Buf)> {
        let Some(session) = self.cx.sessions.get(&session) else { return Vec::new() };
        let roots: Vec<PathBuf> =
            [&session.place.cwd].into_iter().chain(&session.place.additional).map(|p| canonical(p)).collect();
        let mut unsaved: Vec<(PathBuf, Buf)> = self
            .cx
            .buffers
            .all()
            .filter(|(path, held)| {
                roots.iter().any(|root| path.starts_with(root)) && is_modified(&self.cx.editor, held.buf)
            })
            .map(|(path, held)| (path.to_owned(), held.buf))
            .collect();
        unsaved.sort();
        unsaved
    }

    fn save_before_prompt(&mut self, session: SessionKey, path: PathBuf, buf: Buf) -> Result<()> {
        let known = self.cx.buffers.held(&path).and_then(|held| held.stamp);
        let failed = match stamp_of(&path) {
            // Neovim would ask; a prompt must not overwrite what it was not asked to.
            now if now.is_some() && known.is_some() && now != known => {
                Some("it was changed on the disk, too, and is merged first".to_owned())
            }
            _ if self.cx.editor.buf_option(buf, "readonly").unwrap_or(false) => {
                Some("its buffer is 'readonly'".to_owned())
            }
            _ => save(&self.cx.editor, buf, true).err(),
        };
        match failed {
            Some(why) => {
                let name = self.cx.short_name(Some(session), &path);
                self.note(Some(session), Severity::Warning, format!("couldn't save {name}: {why}"))
            }
            None => self.buffer_saved(buf),
        }
    }
}
