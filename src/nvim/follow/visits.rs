//! Where agents are: kept for the lists, told to whoever listens, and handed to the window that follows at
//! a pace that a person can go along with. How that window moves is left to `nvim::follow`.

use std::path::Path;

use mlua::{Function, Result, Value};
use serde_json::{Value as Json, json};

use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Look, Verb, Visit, absolute};
use crate::core::message::{Command, Severity, Work};
use crate::core::session::{Phase, Session};
use crate::nvim::app::{App, Job};
use crate::nvim::editor::first_line;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Editor, Level, Win};
use crate::nvim::follow;
use crate::nvim::follow::{Pause, Tag, Target};
use crate::nvim::{autocommands, follow_timer, run};

/// What the user's function wants.
enum Choice {
    /// The window that is taken anyway.
    Usual,
    Window(Win),
    Veto,
}

impl App {
    /// A call names where it is at work: its locations, or the files of its diffs.
    pub fn call_moved(&mut self, key: SessionKey, entry: EntryId) -> Result<()> {
        let at = self.cx.now();
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        let verb = Verb::of(call.kind);
        let visits: Vec<Visit> = call
            .places()
            .into_iter()
            .map(|place| Visit {
                session: key,
                call: Some(entry),
                path: absolute(&place.path, &session.place.cwd),
                lines: Lines::at(place.line),
                verb,
                at,
            })
            .collect();
        self.visited(visits)
    }

    /// The agent reads or writes a file through the editor, or its background.
    pub fn file_visited(
        &mut self,
        key: SessionKey,
        path: &Path,
        lines: Option<Lines>,
        verb: Verb,
    ) -> Result<()> {
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let path = absolute(path, &session.place.cwd);
        self.visited(vec![Visit { session: key, call: None, path, lines, verb, at: self.cx.now() }])
    }

    /// Takes in the places of one message. The last of those that are new is where the agent is.
    fn visited(&mut self, visits: Vec<Visit>) -> Result<()> {
        let mut newest = None;
        for visit in visits {
            if self.places.record(visit.clone()) {
                newest = Some(visit);
            }
        }
        let Some(visit) = newest else { return Ok(()) };
        let Some(session) = self.cx.sessions.get(&visit.session) else { return Ok(()) };
        if matches!(session.phase, Phase::Opening { .. }) {
            // A session is taken up: this was long ago.
            return Ok(());
        }
        let data = place_data(session, &visit);
        self.cx.emit("AcpLocation", visit.session, data);
        if !self.is_followed(visit.session) {
            return Ok(());
        }
        let now = self.cx.now();
        let due = self.follow.pace.left(now);
        self.follow.pace.offer(visit);
        // Of a burst, all but the first wait for what has been seen to already: the timer, or the user's
        // next step.
        if due.is_none() || self.follow.pace.left(now) < due { self.follow_due() } else { Ok(()) }
    }

    /// A prompt is on its way.
    pub fn turn_began(&mut self, key: SessionKey) -> Result<()> {
        self.places.begin_turn(key);
        if !self.is_followed(key) {
            return Ok(());
        }
        self.watch_user()?;
        let (editor, now) = (self.cx.editor.clone(), self.cx.now());
        self.follow.turn_began(&editor, now)
    }

    /// Has the user's steps told from now on.
    fn watch_user(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.follow.watching, true) {
            return Ok(());
        }
        autocommands::watch_user(&self.cx.editor)
    }

    /// The turn is over, or its agent is gone.
    pub fn no_longer_at_work(&mut self, key: SessionKey) -> Result<()> {
        self.edits_over(key)?;
        let (editor, now) = (self.cx.editor.clone(), self.cx.now());
        self.follow.turn_over(&editor, key, now, self.cx.config.follow.resume_after)?;
        self.follow_due()
    }

    /// Whether the window that follows goes where this session's agent goes.
    pub fn is_followed(&self, key: SessionKey) -> bool {
        let of_agent = || {
            let session = self.cx.sessions.get(&key)?;
            self.cx.config.agents.get(&session.agent_name)?.follow
        };
        self.follow.chosen.or_else(of_agent).unwrap_or(self.cx.config.follow.enabled)
    }

    /// Whether any agent would be followed.
    pub fn is_following(&self) -> bool {
        self.follow.chosen.unwrap_or_else(|| {
            self.cx.config.follow.enabled || self.cx.sessions.keys().any(|key| self.is_followed(*key))
        })
    }

    /// Goes on with what waits, as far as it is time for it and the user is elsewhere; sees to it that
    /// this is called again when there is more.
    pub fn follow_due(&mut self) -> Result<()> {
        let now = self.cx.now();
        let editor = self.cx.editor.clone();
        let mut next = self.follow.fade(&editor, now)?;
        if self.follow.pace.is_waiting() {
            self.watch_user()?;
            let wait = match self.follow.pause(&editor, now, self.cx.config.follow.resume_after)? {
                // The user's next step tells.
                Some(Pause::Held) => None,
                Some(Pause::For(left)) => Some(left),
                None => {
                    if let Some(visit) = self.follow.pace.take(now) {
                        self.look_at(visit)?;
                    }
                    self.follow.pace.left(now)
                }
            };
            next = next.into_iter().chain(wait).min();
        }
        self.follow.ring(&editor, next, |editor: &Editor| -> Result<Timer> { follow_timer(&editor.lua) })
    }

    /// The user did something that may have to do with the window that follows.
    pub fn user_acted(&mut self) -> Result<()> {
        let (editor, now) = (self.cx.editor.clone(), self.cx.now());
        self.follow.acted(&editor, now)?;
        if self.follow.pace.is_waiting() { self.follow_due() } else { Ok(()) }
    }

    /// Has the background look at the file first: a disk may be slow.
    fn look_at(&mut self, visit: Visit) -> Result<()> {
        self.follow.look += 1;
        let number = self.follow.look;
        let diffs = self.cx.sessions.get(&visit.session).and_then(|session| {
            let call = session.entry(visit.call?)?.tool()?;
            let here = |path: &Path| absolute(path, &session.place.cwd) == visit.path;
            Some(call.diffs().filter(|diff| here(&diff.path)).cloned().collect::<Vec<_>>())
        });
        if visit.wakes_others() {
            return self.looked(visit, number, Look::Strange);
        }
        let place = self.cx.sessions.get(&visit.session).map(|session| session.place.clone());
        let roots = place.map(|place| [vec![place.cwd], place.additional].concat()).unwrap_or_default();
        let (path, near) = (visit.path.clone(), visit.line());
        let work = Work::Look { path, roots, diffs: diffs.unwrap_or_default(), near };
        let job = self.next_job(Job::Look { visit, number });
        self.send(Command::Compute { job, work })
    }

    pub fn looked(&mut self, visit: Visit, number: u64, look: Look) -> Result<()> {
        if number != self.follow.look || !self.is_followed(visit.session) {
            return Ok(());
        }
        let touched = match look {
            Look::File(lines) => lines,
            other => {
                let is_outside = other == Look::Outside;
                self.follow.refused = other.refusal().map(|why| (visit.path.clone(), why));
                if is_outside {
                    self.tell_outside(&visit)?;
                }
                return self.update_bar(visit.session);
            }
        };
        let touched = touched.or(visit.lines);
        let Some(choose) = self.follow.choose.clone() else {
            return self.go_along(visit, touched, Choice::Usual);
        };
        let Some(session) = self.cx.sessions.get(&visit.session) else { return Ok(()) };
        let place = place_data(session, &visit);
        self.cx.effects.push_back(Box::new(move |editor| {
            let choice = chosen(editor, &choose, &place);
            run(move |app| {
                let choice = choice.unwrap_or_else(|why| {
                    app.tell_once(why);
                    Choice::Usual
                });
                app.go_along(visit, touched, choice)
            });
        }));
        Ok(())
    }

    /// Says, once in a turn, that a file was not opened, and how the user can.
    fn tell_outside(&mut self, visit: &Visit) -> Result<()> {
        let (key, turn) = (visit.session, self.places.turn(visit.session));
        if self.follow.told_outside.insert(key, turn) == Some(turn) {
            return Ok(());
        }
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let label = visit.label(&session.place.cwd);
        let text = format!(
            "{label} is outside the session's folders and was not opened: <CR> in :Acp locations opens it"
        );
        self.note(Some(key), Severity::Info, text)
    }

    /// What is wrong with the user's function is said once, not at each place.
    fn tell_once(&mut self, why: String) {
        if !std::mem::replace(&mut self.follow.told, true) {
            let text = format!("follow.window failed: {why}; the usual window follows instead");
            self.cx.advise(text, Level::Error);
        }
    }

    fn go_along(&mut self, visit: Visit, touched: Option<Lines>, choice: Choice) -> Result<()> {
        let (editor, now) = (self.cx.editor.clone(), self.cx.now());
        let win = match choice {
            Choice::Veto => return Ok(()),
            Choice::Usual => None,
            Choice::Window(win) => Some(win),
        };
        if self.follow.pause(&editor, now, self.cx.config.follow.resume_after)?.is_some() {
            self.follow.pace.give_back(visit);
            return self.follow_due();
        }
        let key = visit.session;
        let Some(session) = self.cx.sessions.get(&key) else { return Ok(()) };
        let Some(tag) = self.tag(session, &visit) else { return Ok(()) };
        let may_split = self.chats.get(&key).is_some_and(|chat| chat.window(&editor).is_some());
        let (turn, label) = (self.places.turn(key), visit.label(&session.place.cwd));
        let target = Target { visit, touched, turn, tag, win, may_split };
        if let Some(shown) = self.follow.show(&editor, target, now)? {
            self.buffer_loaded(shown.buf)?;
            if let (Some(swap), Some(session)) = (shown.swap, self.cx.sessions.get_mut(&key)) {
                let text =
                    format!("{label} has another swap file, so it may be open in another Neovim: {swap}");
                session.notice(Severity::Warning, text, now);
                self.after_change(key)?;
            }
        }
        self.update_bar(key)?;
        self.follow_due()?;
        // While a command line is open nothing else would draw it.
        self.cx.editor.flush();
        Ok(())
    }

    /// Who is there, and what they do.
    fn tag(&self, session: &Session, visit: &Visit) -> Option<Tag> {
        let name = session.name();
        let over = match visit.call {
            Some(call) => session.entry(call)?.tool()?.status.is_over(),
            None => !session.is_working(),
        };
        let (arrow, point) = if self.cx.config.icons { ("◂", "▸") } else { ("<", ">") };
        let initial = name.chars().find(|char| char.is_ascii_alphanumeric()).unwrap_or('A');
        let twin = self
            .cx
            .sessions
            .values()
            .any(|other| other.key < session.key && other.name().chars().next() == name.chars().next());
        // Agents of the same name are told apart by their numbers.
        let sign = match (twin, session.key.0) {
            (true, number @ 0..=9) => format!("{}{number}", initial.to_ascii_uppercase()),
            _ => format!("{}{point}", initial.to_ascii_uppercase()),
        };
        let text = format!("  {arrow} {name}: {}", visit.verb.word());
        Some(Tag { session: visit.session, call: visit.call, text, sign, over })
    }

    /// Where the agent is, for the chat's bar: nothing where it can be seen.
    pub fn place_elsewhere(&self, key: SessionKey) -> Option<String> {
        let session = self.cx.sessions.get(&key).filter(|session| session.is_working())?;
        let visit = self.places.of_turn(key).last()?;
        if self.follow.is_shown(&self.cx.editor, visit) {
            return None;
        }
        let label = visit.label(&session.place.cwd);
        if let Some((_, why)) = self.follow.refused.as_ref().filter(|(path, _)| *path == visit.path) {
            return Some(format!("{label} ({why})"));
        }
        let paused = self.is_followed(key) && self.follow.pace.is_waiting();
        Some(format!("{} {label}", if paused { "follow paused:" } else { visit.verb.word() }))
    }

    /// For `status()`: where the agent was last.
    pub fn location_status(&self, key: SessionKey) -> Option<Json> {
        let session = self.cx.sessions.get(&key)?;
        let visit = self.places.last(key)?;
        let mut place = place_data(session, visit);
        place["shown"] = json!(self.follow.is_shown(&self.cx.editor, visit));
        place["waiting"] = json!(self.is_followed(key) && self.follow.pace.is_waiting());
        Some(place)
    }

    /// Follows those that are at work to where they are now.
    pub fn catch_up(&mut self) -> Result<()> {
        let at_work = self.cx.sessions.values().filter(|session| session.is_working());
        let followed = at_work.map(|session| session.key).filter(|key| self.is_followed(*key));
        let places: Vec<Visit> =
            followed.filter_map(|key| self.places.of_turn(key).last().cloned()).collect();
        places.into_iter().for_each(|visit| self.follow.pace.offer(visit));
        self.follow_due()
    }

    /// A buffer was entered by the user.
    pub fn buffer_visited(&mut self, buf: crate::nvim::editor::Buf) -> Result<()> {
        // By now it may have been us who showed it in another window.
        if self.cx.editor.current_buf()? == buf { follow::entered(&self.cx.editor, buf) } else { Ok(()) }
    }
}

/// A place as the user's Lua gets it.
pub fn place_data(session: &Session, visit: &Visit) -> Json {
    let call = visit.call.and_then(|call| session.entry(call)).and_then(|entry| entry.tool());
    json!({
        "path": visit.path,
        "line": visit.line(),
        "verb": visit.verb.word(),
        "kind": call.map(|call| crate::core::session::tool_call::kind_word(call.kind)),
        "call": call.map(|call| &call.id.0),
        "session": visit.session.0,
        "agent": session.agent_name,
    })
}

/// What the user's function says of a place.
fn chosen(editor: &Editor, choose: &Function, place: &Json) -> std::result::Result<Choice, String> {
    let place = crate::nvim::lua_data::to_lua(&editor.lua, place).map_err(|error| first_line(&error))?;
    match choose.call::<Value>(place).map_err(|error| first_line(&error))? {
        Value::Nil | Value::Boolean(true) => Ok(Choice::Usual),
        Value::Boolean(false) => Ok(Choice::Veto),
        Value::Integer(id) if editor.win_is_valid(Win(id)) => Ok(Choice::Window(Win(id))),
        Value::Number(id) if editor.win_is_valid(Win(id as i64)) => Ok(Choice::Window(Win(id as i64))),
        other => Err(format!("it should return a window, false or nil, and returned {}", shown(&other))),
    }
}

fn shown(value: &Value) -> String {
    value.to_string().unwrap_or_else(|_| value.type_name().to_owned())
}
