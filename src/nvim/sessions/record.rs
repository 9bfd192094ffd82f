//! What the plugin itself remembers of sessions: what is told to the record as they go on, what is
//! recalled from it, and resuming a session that it knows.

use mlua::Result;

use crate::core::ids::{JobId, Moment, SessionKey};
use crate::core::locations::Look;
use crate::core::message::{Command, Content, Launch, Reopen, Severity};
use crate::core::session::Session;
use crate::core::session::entry::LastChat;
use crate::core::session::retold::Retold;
use crate::core::store::record::{
    Fact, Kept, LONGEST_PROMPT, Line, Owner, RecordRequest, SessionName, TurnFact, ago,
};
use crate::core::text::{cut, one_line};
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context, Then};
use crate::nvim::editor::Level;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

/// So much of two prompts tells whether they are the same one.
const COMPARED: usize = 200;

impl Sessions {
    fn tell_record(&self, cx: &mut Context, request: RecordRequest) {
        let folder = self.record_folder.clone();
        cx.send(Command::Record { folder, request });
    }

    /// A prompt goes out: the session is worth remembering from the first of them on, if it was not named before.
    pub fn keep_prompt(&mut self, cx: &mut Context, key: SessionKey, content: &[Content]) {
        let texts = content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(&**text),
            _ => None,
        });
        // Of a long one only the beginning is kept.
        let texts: Vec<&str> = texts.map(|text| cut(text.trim_start(), LONGEST_PROMPT)).collect();
        self.keep(cx, key, Line::prompt(cx.now().0, texts.join("\n").trim()));
        self.keep(cx, key, Line { at: cx.now().0, fact: Fact::Turn(TurnFact::Began) });
        if self.begin_record(cx, key) && cx.sessions.get(&key).is_some_and(|session| session.title.is_some())
        {
            self.write_title(cx, key);
        }
    }

    /// A turn has come to an end, whichever it was.
    pub(super) fn keep_turn_end(&self, cx: &mut Context, key: SessionKey) {
        if self.recorded.contains_key(&key) {
            self.keep(cx, key, Line { at: cx.now().0, fact: Fact::Turn(TurnFact::Ended) });
        }
    }

    /// Whether a session's record begins with this. It is another one where the agent has begun a new session.
    fn begin_record(&mut self, cx: &Context, key: SessionKey) -> bool {
        let Some(acp_id) = cx.sessions.get(&key).and_then(|session| session.acp_id.clone()) else {
            return false;
        };
        self.recorded.insert(key, acp_id.clone()) != Some(acp_id)
    }

    /// The session is open: what the user has called it by now is kept, and that it is a fork. The agent is told.
    pub(super) fn keep_early_name(&mut self, cx: &mut Context, key: SessionKey, is_fork: bool) {
        let was_named = cx.sessions.get(&key).is_some_and(Session::was_named);
        if (was_named || is_fork) && self.begin_record(cx, key) {
            self.write_title(cx, key);
            let told = cx.sessions.get(&key).and_then(Session::title_to_tell);
            told.into_iter().for_each(|command| cx.send(command));
        }
    }

    /// The conversation is called something else. One that the user named can be found by that before anything is asked.
    pub fn keep_title(&mut self, cx: &mut Context, key: SessionKey) {
        let was_named = cx.sessions.get(&key).is_some_and(Session::was_named);
        if was_named {
            self.begin_record(cx, key);
        }
        if self.recorded.contains_key(&key) {
            self.write_title(cx, key);
        }
    }

    fn write_title(&self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let title = session.title.clone().unwrap_or_default();
        let fact = if session.was_named() { Fact::Name(title) } else { Fact::Title(title) };
        self.keep(cx, key, Line { at: cx.now().0, fact });
    }

    fn keep(&self, cx: &mut Context, key: SessionKey, line: Line) {
        // A recording is a file already.
        let Some(session) = cx.sessions.get(&key).filter(|session| !session.plays_recording()) else {
            return;
        };
        let Some(acp_id) = session.acp_id.clone() else { return };
        let (agent, cwd) = (session.agent_name.clone(), session.place.cwd.clone());
        let called = Some(session.own_name()).filter(|own| *own != agent);
        let owner = Owner { agent, acp_id, cwd, called };
        self.keep_line(cx, owner, line);
    }

    pub(super) fn keep_line(&self, cx: &mut Context, owner: Owner, line: Line) {
        if cx.config.record {
            self.tell_record(cx, RecordRequest::Keep { owner: Box::new(owner), line });
        }
    }

    /// What to say when a session is closed whose agent is at work: that it is stopped, and what is left of it.
    pub fn stopped_by_closing(&self, cx: &Context, key: SessionKey) -> Option<String> {
        let session = cx.sessions.get(&key).filter(|session| session.is_in_turn())?;
        let can = session.info.as_ref().map(|info| info.can).unwrap_or_default();
        let is_kept = cx.config.record && session.acp_id.is_some() && self.recorded.contains_key(&key);
        let left = match is_kept && (can.load || can.resume) {
            true => ":Acp resume takes the session up again",
            false => "what it changed stays",
        };
        let queued = if session.queue().is_empty() { "" } else { ", :Acp history has what was queued" };
        Some(format!("stopped {} in its turn; {left}{queued}", session.name()))
    }

    /// Tells other Neovims which sessions are open here.
    pub(super) fn tell_open(&mut self, cx: &mut Context) {
        if !cx.config.record {
            return;
        }
        let open = cx.sessions.values().filter(|session| !session.plays_recording());
        let open = open.filter_map(|session| Some((session.agent_name.as_str(), session.stored_id()?)));
        // This is asked at every change of a session, and nearly always nothing is new.
        if open.clone().eq(self.told_open.iter().map(|told| (told.agent.as_str(), told.acp_id.as_str()))) {
            return;
        }
        let name = |(agent, acp_id): (&str, &str)| SessionName { agent: agent.into(), acp_id: acp_id.into() };
        self.told_open = open.map(name).collect();
        let sessions = self.told_open.clone();
        self.tell_record(cx, RecordRequest::TellOpen { sessions });
    }

    /// Recalls all sessions; `then` gets those that are not open here.
    pub(super) fn recall(
        &mut self,
        cx: &mut Context,
        then: impl FnOnce(&mut Self, &mut Context, Vec<Kept>) -> Result<()> + 'static,
    ) -> Result<()> {
        if !cx.config.record {
            return then(self, cx, Vec::new());
        }
        self.ask_record(cx, move |sessions, cx, kept| {
            let kept = kept.unwrap_or_else(|why| {
                cx.notify(why, Level::Warn);
                Vec::new()
            });
            then(sessions, cx, kept)
        });
        Ok(())
    }

    fn ask_record(
        &mut self,
        cx: &mut Context,
        then: impl FnOnce(&mut Self, &mut Context, std::result::Result<Vec<Kept>, String>) -> Result<()> + 'static,
    ) {
        let job = cx.next_job();
        self.recalls.insert(job, Box::new(then));
        self.tell_record(cx, RecordRequest::Recall { job });
    }

    /// The first chat of this Neovim in a project says how to go on with the one that the user had there before.
    pub(super) fn recall_last_chat(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let (root, name) = (session.place.cwd.clone(), session.agent_name.clone());
        let is_other = |session: &&Session| session.key != key && session.place.cwd == root;
        // `:Acp resume` looks in the folder that the user is in.
        if !cx.config.record || root != cx.root() || cx.sessions.values().any(|session| is_other(&session)) {
            return;
        }
        self.ask_record(cx, move |_, cx, kept| {
            // Nobody has asked for it: a record that can't be read is told to who does, and with the first prompt.
            let kept = kept.unwrap_or_default();
            let mut free = kept.iter().filter(|kept| kept.is_of(&root) && !kept.elsewhere).enumerate();
            let Some((at, last)) = free.find(|(_, kept)| kept.owner.agent == name) else { return Ok(()) };
            let command = if at == 0 { ":Acp resume".to_owned() } else { format!(":Acp resume {name}") };
            let ago = ago(cx.now().0.saturating_sub(last.used));
            if let Some(session) = cx.sessions.get_mut(&key) {
                session.had_before(LastChat { title: last.headline(), ago, command });
                cx.raise(EditorEvent::SessionChanged(key));
            }
            Ok(())
        });
    }

    pub fn recalled(
        &mut self,
        cx: &mut Context,
        job: JobId,
        kept: std::result::Result<Vec<Kept>, String>,
    ) -> Result<()> {
        let Some(then) = self.recalls.remove(&job) else { return Ok(()) };
        let not_open =
            |kept: Vec<Kept>| kept.into_iter().filter(|kept| open_as(cx, &kept.owner).is_none()).collect();
        let stored = kept.map(not_open);
        then(self, cx, stored)
    }

    pub(super) fn forget_stored(&self, cx: &mut Context, agent: String, acp_id: String) {
        self.tell_record(cx, RecordRequest::Forget { agent, acp_id });
    }

    /// Resumes a session that the record knows, in a chat of its own.
    pub(super) fn resume_recorded(cx: &mut Context, kept: Kept) {
        if let Some(key) = open_as(cx, &kept.owner) {
            return cx.raise(EditorEvent::SessionChosen(key));
        }
        cx.look_first(&kept.owner.cwd.clone(), move |_: &mut Self, cx, look| {
            let why = match look {
                Look::Folder => {
                    cx.raise(EditorEvent::StoredSessionChosen(Box::new(kept)));
                    return Ok(());
                }
                Look::Silent => "is on a disk that does not answer",
                _ => "is gone",
            };
            fail(format!("couldn't take the session up: its folder {} {why}", kept.owner.cwd.display()))
        });
    }

    /// Goes on with a session that the record knows, once it is known how its agent is started.
    pub fn reopen_when_known(kept: Kept) -> Then<Launch> {
        context::then(move |this: &mut Self, cx, launch| {
            this.open_recorded(cx, kept, launch);
            Ok(())
        })
    }

    fn open_recorded(&mut self, cx: &mut Context, kept: Kept, launch: Launch) {
        let acp_id = kept.owner.acp_id.clone();
        let key = self.open(cx, launch, kept.owner.cwd.clone(), Some((acp_id.clone(), Reopen::Load)));
        if kept.elsewhere {
            self.open_twice.insert(key);
        }
        if let Some(session) = cx.sessions.get_mut(&key) {
            session.retold = Retold::new(kept.prompts.iter().map(|prompt| prompt.text.clone()).collect());
            match (kept.named, kept.title.clone()) {
                (true, Some(title)) => session.rename(&title),
                (_, title) => session.title = title,
            }
        }
        self.recorded.insert(key, acp_id);
        self.resumed.insert(key, kept);
    }

    /// A session that is resumed is open. Where the agent sends nothing of what was, the record has the
    /// prompts at least.
    pub fn opened_again(&mut self, cx: &mut Context, key: SessionKey) {
        let now = cx.now();
        let Some(kept) = self.resumed.remove(&key) else { return };
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        if session.entries().len() <= 1 && !kept.prompts.is_empty() {
            session.recall(kept.prompts.iter().map(|prompt| prompt.text.as_str()), now);
            let text = format!(
                "{} goes on where it was, but sends nothing of what was said: above is what you had asked.",
                session.name()
            );
            session.notice(Severity::Info, text, now);
        }
        say_cut_off(session, &kept, now);
    }

    /// A session that another Neovim has open, too, is open here.
    pub(super) fn warn_of_two(&mut self, cx: &mut Context, key: SessionKey) {
        if self.open_twice.remove(&key) {
            let text = "Another Neovim has this session open, too. Neither shows what is said in the other, and the \
                        agent may lose one of the two: go on in one of them alone.";
            cx.note(Some(key), Severity::Warning, text.to_owned());
        }
    }

    /// A session cannot be resumed: what is remembered of it is shown, and a new one may begin here.
    pub fn not_opened_again(&mut self, cx: &mut Context, key: SessionKey, why: &str) {
        let now = cx.now();
        let Some(kept) = self.resumed.remove(&key) else { return };
        let restart = cx.config.keys.get("restart").first().map_or(":Acp restart", String::as_str).to_owned();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        session.taking_up = None;
        session.recall(kept.prompts.iter().map(|prompt| prompt.text.as_str()), now);
        say_cut_off(session, &kept, now);
        let text = format!(
            "This session can't be taken up again: {why}\nAbove is what you had asked in it; {restart} begins a new \
             session here."
        );
        session.notice(Severity::Warning, text, now);
    }
}

/// Says that the last turn of a session that is taken up had no end. One that another Neovim has open may go on there,
/// and one that another program has gone on with has been asked something else since.
fn say_cut_off(session: &mut Session, kept: &Kept, now: Moment) {
    if !kept.is_cut_off || kept.elsewhere {
        return;
    }
    let last = session.prompt_entries().pop().map(|(_, text)| one_line(&text));
    let known = kept.prompts.last().map(|prompt| one_line(cut(&prompt.text, COMPARED)));
    if last.zip(known).is_some_and(|(last, known)| !last.contains(&known)) {
        return;
    }
    let text = format!(
        "Cut off: {} never finished its work on your last prompt; a part of it may be done.",
        session.name()
    );
    session.notice(Severity::Warning, text, now);
}

/// The session of this Neovim that an agent with this configured name knows by this id.
pub(super) fn open_with(cx: &Context, agent: &str, acp_id: &str) -> Option<SessionKey> {
    let is_it = |session: &&Session| session.agent_name == agent && session.stored_id() == Some(acp_id);
    cx.sessions.values().find(is_it).map(|session| session.key)
}

/// The session of this Neovim that a record is about.
fn open_as(cx: &Context, owner: &Owner) -> Option<SessionKey> {
    open_with(cx, &owner.agent, &owner.acp_id)
}
