//! What the plugin itself remembers of sessions: what is told to the record as they go on, what is
//! recalled from it, and taking up a session that it knows.

use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::{JobId, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Content, Launch, Reopen, Severity};
use crate::core::store::record::{Fact, Kept, LONGEST_PROMPT, Line, Owner, Wish};
use crate::core::text::cut;
use crate::nvim::app::App;
use crate::nvim::editor::Level;

/// What is done with all that was recalled.
pub type WithRecord = Box<dyn FnOnce(&mut App, Vec<Kept>) -> Result<()>>;

impl App {
    fn wish(&mut self, wish: Wish) -> Result<()> {
        let folder = self.record_folder.clone();
        self.send(Command::Record { folder, wish })
    }

    /// A prompt goes out: the session is worth remembering from the first of them on.
    pub fn keep_prompt(&mut self, key: SessionKey, content: &[Content]) -> Result<()> {
        let texts = content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(&**text),
            _ => None,
        });
        // Of a long one only the beginning is kept.
        let texts: Vec<&str> = texts.map(|text| cut(text.trim_start(), LONGEST_PROMPT)).collect();
        self.keep(key, Line::prompt(self.cx.now().0, texts.join("\n").trim()))?;
        let Some(session) = self.cx.sessions.get(&key).filter(|_| self.recorded.insert(key)) else {
            return Ok(());
        };
        let Some(title) = session.title.clone() else { return Ok(()) };
        let fact = if session.was_named() { Fact::Name(title) } else { Fact::Title(title) };
        self.keep(key, Line { at: self.cx.now().0, fact })
    }

    /// The conversation is called something else.
    pub fn keep_title(&mut self, key: SessionKey) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key).filter(|_| self.recorded.contains(&key)) else {
            return Ok(());
        };
        let title = session.title.clone().unwrap_or_default();
        let fact = if session.was_named() { Fact::Name(title) } else { Fact::Title(title) };
        self.keep(key, Line { at: self.cx.now().0, fact })
    }

    fn keep(&mut self, key: SessionKey, line: Line) -> Result<()> {
        if !self.cx.config.record {
            return Ok(());
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(acp_id) = session.acp_id.clone() else { return Ok(()) };
        let owner = Owner { agent: session.agent_name.clone(), acp_id, cwd: session.place.cwd.clone() };
        self.wish(Wish::Keep { owner, line })
    }

    /// Recalls all sessions; `then` gets those that are not open here.
    pub fn recall(&mut self, then: impl FnOnce(&mut App, Vec<Kept>) -> Result<()> + 'static) -> Result<()> {
        if !self.cx.config.record {
            return then(self, Vec::new());
        }
        let job = self.cx.next_job();
        self.recalls.insert(job, Box::new(then));
        self.wish(Wish::Recall { job })
    }

    pub fn recalled(&mut self, job: JobId, kept: std::result::Result<Vec<Kept>, String>) -> Result<()> {
        let Some(then) = self.recalls.remove(&job) else { return Ok(()) };
        let kept = kept.unwrap_or_else(|why| {
            self.cx.advise(why, Level::Warn);
            Vec::new()
        });
        let stored = kept.into_iter().filter(|kept| self.open_as(&kept.owner).is_none()).collect();
        then(self, stored)
    }

    pub fn forget(&mut self, agent: String, acp_id: String) -> Result<()> {
        self.wish(Wish::Forget { agent, acp_id })
    }

    /// The session of this Neovim that a record is about.
    fn open_as(&self, owner: &Owner) -> Option<SessionKey> {
        let same = self.cx.sessions.values().find(|session| {
            let id = session.acp_id.as_ref().or(session.taking_up.as_ref().map(|(id, _)| id));
            session.agent_name == owner.agent && id == Some(&owner.acp_id)
        });
        same.map(|session| session.key)
    }

    /// Takes up a session that the record knows, in a chat of its own.
    pub fn take_up_kept(&mut self, kept: Kept) -> Result<()> {
        if let Some(key) = self.open_as(&kept.owner) {
            return self.show(key);
        }
        let (name, cwd) = (kept.owner.agent.clone(), kept.owner.cwd.clone());
        self.look_first(&cwd.clone(), move |app, look| {
            let why = match look {
                Look::Folder => {
                    let folder = cwd.clone();
                    return app
                        .launch_agent(&name, folder, move |app, launch| app.open_kept(kept, launch, cwd));
                }
                Look::Silent => "is on a disk that does not answer",
                _ => "is gone",
            };
            let text = format!("couldn't take the session up: its folder {} {why}", cwd.display());
            Err(mlua::Error::runtime(text))
        })
    }

    fn open_kept(&mut self, kept: Kept, launch: Launch, cwd: PathBuf) -> Result<()> {
        self.hide_agents()?;
        let key = self.open_chat(launch, cwd, Some((kept.owner.acp_id.clone(), Reopen::Load)))?;
        if let Some(session) = self.cx.sessions.get_mut(&key) {
            match (kept.named, kept.title.clone()) {
                (true, Some(title)) => session.rename(&title),
                (_, title) => session.title = title,
            }
        }
        self.recorded.insert(key);
        self.taken_up.insert(key, kept);
        self.bars.remove(&key);
        self.update_bar(key)
    }

    /// A session that was taken up is open. Where the agent sends nothing of what was, the record has the
    /// prompts at least.
    pub fn opened_again(&mut self, key: SessionKey) {
        let now = self.cx.now();
        let Some(kept) = self.taken_up.remove(&key) else { return };
        let Some(session) = self.cx.sessions.get_mut(&key) else { return };
        if session.entries().len() > 1 || kept.prompts.is_empty() {
            return;
        }
        session.recall(kept.prompts.iter().map(|prompt| prompt.text.as_str()), now);
        let text = format!(
            "{} goes on where it was, but sends nothing of what was said: above is what you had asked.",
            session.name()
        );
        session.notice(Severity::Info, text, now);
    }

    /// A session cannot be taken up: what is remembered of it is shown, and a new one may begin here.
    pub fn not_opened_again(&mut self, key: SessionKey, why: &str) {
        let now = self.cx.now();
        let Some(kept) = self.taken_up.remove(&key) else { return };
        let Some(session) = self.cx.sessions.get_mut(&key) else { return };
        session.taking_up = None;
        session.recall(kept.prompts.iter().map(|prompt| prompt.text.as_str()), now);
        let text = format!(
            "This session can't be taken up again: {why}\nAbove is what you had asked in it; R begins a new \
             session here."
        );
        session.notice(Severity::Warning, text, now);
    }
}
