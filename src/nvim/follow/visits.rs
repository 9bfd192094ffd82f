//! Where agents are: kept for the lists, told to whoever listens, and handed to the window that follows at
//! a pace that a person can go along with. How that window moves is left to `nvim::follow`.

use std::path::Path;

use mlua::{Function, Result, Value};
use serde_json::{Value as Json, json};

use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::{Lines, Look, Verb, Visit, absolute};
use crate::core::message::{Outcome, Severity, Work};
use crate::core::session::call_news::CallNews;
use crate::core::session::entry::Body;
use crate::core::session::status::running;
use crate::core::session::{Phase, Session};
use crate::core::store::checkpoint::Held;
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Buf, Editor, Level, Win, first_line};
use crate::nvim::events::{Change, EditorEvent};
use crate::nvim::follow::{Follow, Pause, Tag, Target};
use crate::nvim::lua_data::to_lua;

/// What the user's function wants.
enum Choice {
    /// The window that is taken anyway.
    Usual,
    Window(Win),
    Veto,
}

impl Follow {
    /// An agent told of a tool call.
    pub fn call_changed(&mut self, cx: &mut Context, news: &CallNews) -> Result<()> {
        if news.places {
            self.call_moved(cx, news.session, news.entry)?;
        }
        match news.over && self.marks.call_over(news.session, news.entry) {
            true => self.follow_due(cx),
            false => Ok(()),
        }
    }

    /// A call names where it is at work: its locations, or the files of its diffs.
    fn call_moved(&mut self, cx: &mut Context, key: SessionKey, entry: EntryId) -> Result<()> {
        let at = cx.now();
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else { return Ok(()) };
        if session.is_replaying() {
            // Of a stored session each turn is told again, too: after the prompt that it began with.
            let looked_through = self.looked_through.entry(key).or_default();
            let since = session.entries().get(*looked_through..entry.0).unwrap_or_default();
            *looked_through = entry.0.max(*looked_through);
            if since.iter().any(|entry| matches!(entry.body, Body::User { .. })) {
                self.history.begin_turn(key);
            }
        }
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
        self.visited(cx, visits)
    }

    /// The agent reads or writes a file through the editor, or its background.
    pub fn file_visited(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        path: &Path,
        (lines, verb): (Option<Lines>, Verb),
    ) -> Result<()> {
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let path = absolute(path, &session.place.cwd);
        let at = cx.now();
        self.visited(cx, vec![Visit { session: key, call: None, path, lines, verb, at }])
    }

    /// Takes in the places of one message. The last of those that are new is where the agent is.
    fn visited(&mut self, cx: &mut Context, visits: Vec<Visit>) -> Result<()> {
        let mut newest = None;
        for visit in visits {
            if self.history.record(visit.clone()) {
                newest = Some(visit);
            }
        }
        let Some(visit) = newest else { return Ok(()) };
        let Some(session) = cx.sessions.get(&visit.session) else { return Ok(()) };
        if matches!(session.phase, Phase::Opening { .. }) {
            // A session is taken up: this was long ago.
            return Ok(());
        }
        if cx.is_heard("AcpLocation") {
            let data = location_data(session, &visit);
            cx.emit("AcpLocation", visit.session, data);
        }
        if !self.is_followed(cx, visit.session) {
            return Ok(());
        }
        let now = cx.now();
        let due = self.pace.left(now);
        self.pace.offer(visit);
        // Of a burst, all but the first wait for what has been seen to already: the timer, or the user's
        // next step.
        if due.is_none() || self.pace.left(now) < due { self.follow_due(cx) } else { Ok(()) }
    }

    /// A prompt is on its way.
    pub fn turn_began(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.history.begin_turn(key);
        if !self.is_followed(cx, key) {
            return Ok(());
        }
        self.watch_user(cx)?;
        self.expect_user(&cx.editor, cx.now())
    }

    /// Has the user's steps told from now on.
    fn watch_user(&mut self, cx: &Context) -> Result<()> {
        if std::mem::replace(&mut self.watching, true) {
            return Ok(());
        }
        let events = ["CursorMoved", "CursorMovedI", "ModeChanged", "WinEnter", "CmdwinLeave"];
        Group::new(&cx.editor, "acp.follow")?.create(&events, Vec::new(), |_, _| {
            context::run(|this: &mut Self, cx| this.user_acted(cx));
            Ok(())
        })
    }

    /// The turn is over, or its agent is gone.
    pub fn turn_left(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        self.turn_over(&cx.editor, key, cx.now(), cx.config.follow.resume_after)?;
        self.follow_due(cx)
    }

    /// Whether the window that follows goes where this session's agent goes.
    pub fn is_followed(&self, cx: &Context, key: SessionKey) -> bool {
        let of_agent = || {
            let session = cx.sessions.get(&key)?;
            cx.config.agents.get(&session.agent_name)?.follow
        };
        self.chosen.or_else(of_agent).unwrap_or(cx.config.follow.enabled)
    }

    /// Whether any agent would be followed.
    pub fn is_following(&self, cx: &Context) -> bool {
        self.chosen.unwrap_or_else(|| {
            cx.config.follow.enabled || cx.sessions.keys().any(|key| self.is_followed(cx, *key))
        })
    }

    /// Goes on with what waits, as far as it is time for it and the user is elsewhere; sees to it that
    /// this is called again when there is more.
    pub fn follow_due(&mut self, cx: &mut Context) -> Result<()> {
        let now = cx.now();
        let editor = cx.editor.clone();
        let mut next = self.fade(&editor, now)?;
        if self.pace.is_waiting() {
            self.watch_user(cx)?;
            let wait = match self.paused(cx)? {
                // The user's next step tells.
                Some(Pause::Held) => None,
                Some(Pause::For(left)) => Some(left),
                None => {
                    if let Some(visit) = self.pace.take(now) {
                        self.look_at(cx, visit)?;
                    }
                    self.pace.left(now)
                }
            };
            next = next.into_iter().chain(wait).min();
        }
        self.ring(&editor, next, timer)
    }

    /// Whether the window that follows has to stay where it is, for now.
    fn paused(&mut self, cx: &Context) -> Result<Option<Pause>> {
        // The file beside a question is the one asked about; what is told when it is over goes on.
        if cx.asked_about.is_some() {
            return Ok(Some(Pause::Held));
        }
        self.pause(&cx.editor, cx.now(), cx.config.follow.resume_after)
    }

    /// The user did something that may have to do with the window that follows.
    fn user_acted(&mut self, cx: &mut Context) -> Result<()> {
        self.acted(&cx.editor, cx.now())?;
        if self.pace.is_waiting() { self.follow_due(cx) } else { Ok(()) }
    }

    /// Has the background look at the file first: a disk may be slow.
    fn look_at(&mut self, cx: &mut Context, visit: Visit) -> Result<()> {
        self.look += 1;
        let number = self.look;
        let diffs = cx.sessions.get(&visit.session).and_then(|session| {
            let call = session.entry(visit.call?)?.tool()?;
            let here = |path: &Path| absolute(path, &session.place.cwd) == visit.path;
            Some(call.diffs().filter(|diff| here(&diff.path)).cloned().collect::<Vec<_>>())
        });
        if visit.wakes_others() {
            return self.looked(cx, visit, number, Look::Strange);
        }
        let place = cx.sessions.get(&visit.session).map(|session| session.place.clone());
        let roots = place.map(|place| [vec![place.cwd], place.additional].concat()).unwrap_or_default();
        let (path, near) = (visit.path.clone(), visit.line());
        let work = Work::Look { path, roots, diffs: diffs.unwrap_or_default(), near };
        cx.compute(work, move |this: &mut Self, cx, outcome| match outcome {
            Outcome::Looked(look) => this.looked(cx, visit, number, look),
            _ => Ok(()),
        });
        Ok(())
    }

    fn looked(&mut self, cx: &mut Context, visit: Visit, number: u64, look: Look) -> Result<()> {
        if number != self.look || !self.is_followed(cx, visit.session) {
            return Ok(());
        }
        self.missing = (look == Look::Missing).then(|| visit.clone());
        let touched = match look {
            Look::File(lines) => lines,
            other => {
                let is_outside = other == Look::Outside;
                self.refused = other.refusal().map(|why| (visit.path.clone(), why));
                if is_outside {
                    self.tell_outside(cx, &visit);
                }
                cx.raise(EditorEvent::BarOutdated(visit.session));
                return Ok(());
            }
        };
        let touched = touched.or(visit.lines);
        let Some(choose) = self.choose.clone() else {
            return self.go_along(cx, visit, touched, Choice::Usual);
        };
        let Some(session) = cx.sessions.get(&visit.session) else { return Ok(()) };
        let location = location_data(session, &visit);
        cx.effects.push_back(Box::new(move |editor| {
            let choice = chosen(editor, &choose, &location);
            context::run(move |this: &mut Self, cx| {
                let choice = choice.unwrap_or_else(|why| {
                    this.tell_once(cx, why);
                    Choice::Usual
                });
                this.go_along(cx, visit, touched, choice)
            });
        }));
        Ok(())
    }

    /// A file has come about, or holds something else: an agent may have said before that it is at work there.
    fn file_came(&mut self, cx: &mut Context, path: &Path) -> Result<()> {
        let path = canonical(path);
        let Some(visit) = self.missing.take_if(|visit| canonical(&visit.path) == path) else { return Ok(()) };
        if !self.is_followed(cx, visit.session) {
            return Ok(());
        }
        self.pace.offer(visit);
        self.follow_due(cx)
    }

    /// An agent changed a file, which may be the one that it was at before there was any.
    pub fn file_changed(&mut self, cx: &mut Context, change: &Change) -> Result<()> {
        match change.held.1 {
            Held::Absent => Ok(()),
            _ => self.file_came(cx, &change.path),
        }
    }

    /// Says, once in a turn, that a file was not opened, and how the user can.
    fn tell_outside(&mut self, cx: &mut Context, visit: &Visit) {
        let (key, turn) = (visit.session, self.history.turn(visit.session));
        if self.told_outside.insert(key, turn) == Some(turn) {
            return;
        }
        let Some(session) = cx.sessions.get(&key) else { return };
        let label = visit.label(&session.place.cwd);
        let text = format!(
            "{label} is outside the session's folders and was not opened: <CR> in :Acp locations opens it"
        );
        cx.note(Some(key), Severity::Info, text);
    }

    /// What is wrong with the user's function is said once, not at each place.
    fn tell_once(&mut self, cx: &mut Context, why: String) {
        if !std::mem::replace(&mut self.told, true) {
            let text = format!("follow.window failed: {why}; the usual window follows instead");
            cx.notify(text, Level::Error);
        }
    }

    fn go_along(
        &mut self,
        cx: &mut Context,
        visit: Visit,
        touched: Option<Lines>,
        choice: Choice,
    ) -> Result<()> {
        let (editor, now) = (cx.editor.clone(), cx.now());
        let win = match choice {
            Choice::Veto => return Ok(()),
            Choice::Usual => None,
            Choice::Window(win) => Some(win),
        };
        // While the file was looked at, the user may have come, or a question.
        if self.paused(cx)?.is_some() {
            self.pace.give_back(visit);
            return self.follow_due(cx);
        }
        let key = visit.session;
        let Some(session) = cx.sessions.get(&key) else { return Ok(()) };
        let Some(tag) = tag(cx, session, &visit) else { return Ok(()) };
        let may_split = cx.shows_chat(key);
        let (turn, label) = (self.history.turn(key), visit.label(&session.place.cwd));
        let target = Target { visit, touched, turn, tag, win, may_split };
        if let Some(shown) = self.show(&editor, target)? {
            cx.raise(EditorEvent::BufferLoaded(shown.buf));
            if let (Some(swap), Some(session)) = (shown.swap, cx.sessions.get_mut(&key)) {
                let text =
                    format!("{label} has another swap file, so it may be open in another Neovim: {swap}");
                session.notice(Severity::Warning, text, now);
                cx.raise(EditorEvent::SessionChanged(key));
            }
        }
        cx.raise(EditorEvent::BarOutdated(key));
        self.follow_due(cx)?;
        // While a command line is open nothing else would draw it.
        cx.editor.flush();
        Ok(())
    }

    /// Where the agent is, for the chat's bar: nothing where it can be seen.
    pub fn location_elsewhere(&self, cx: &Context, key: SessionKey) -> Option<String> {
        let session = cx.sessions.get(&key).filter(|session| session.is_working())?;
        let visit = self.history.of_turn(key).last();
        if let Some(asked) = cx.asked_about.as_ref().filter(|asked| asked.session == key) {
            return Some(format!("{} {}", Verb::Editing.word(), asked.name));
        }
        if let Some(asked) = session.asks().first() {
            // It waits for the user, and the bar says so: where it was before says nothing then.
            visit.filter(|visit| visit.call == Some(asked.entry))?;
        } else if let Some((_, words)) = running(session) {
            return Some(words);
        }
        let visit = visit?;
        if self.is_shown(&cx.editor, visit) {
            return None;
        }
        let label = visit.label(&session.place.cwd);
        if let Some((_, why)) = self.refused.as_ref().filter(|(path, _)| *path == visit.path) {
            return Some(format!("{label} ({why})"));
        }
        let paused = self.is_followed(cx, key) && self.pace.is_waiting();
        Some(format!("{} {label}", if paused { "follow paused:" } else { visit.verb.word() }))
    }

    /// For `status()`: where the agent was last.
    pub fn location_status(&self, cx: &Context, key: SessionKey) -> Option<Json> {
        let session = cx.sessions.get(&key)?;
        let visit = self.history.last(key)?;
        let mut location = location_data(session, visit);
        location["shown"] = json!(self.is_shown(&cx.editor, visit));
        location["waiting"] = json!(self.is_followed(cx, key) && self.pace.is_waiting());
        Some(location)
    }

    /// Follows those that are at work to where they are now.
    pub fn catch_up(&mut self, cx: &mut Context) -> Result<()> {
        let at_work = cx.sessions.values().filter(|session| session.is_working());
        let followed = at_work.map(|session| session.key).filter(|key| self.is_followed(cx, *key));
        let places: Vec<Visit> =
            followed.filter_map(|key| self.history.of_turn(key).last().cloned()).collect();
        places.into_iter().for_each(|visit| self.pace.offer(visit));
        self.follow_due(cx)
    }

    /// A buffer was entered by the user.
    pub fn buffer_visited(cx: &Context, buf: Buf) -> Result<()> {
        // By now it may have been us who showed it in another window.
        if cx.editor.current_buf()? == buf { open::entered(&cx.editor, buf) } else { Ok(()) }
    }
}

/// Who is there, and what they do.
fn tag(cx: &Context, session: &Session, visit: &Visit) -> Option<Tag> {
    let name = session.name();
    let over = match visit.call {
        Some(call) => session.entry(call)?.tool()?.status.is_over(),
        None => !session.is_working(),
    };
    let (arrow, point) = if cx.config.icons { ("◂", "▸") } else { ("<", ">") };
    let initial = name.chars().find(|char| char.is_ascii_alphanumeric()).unwrap_or('A');
    let twin = cx
        .sessions
        .values()
        .any(|other| other.key < session.key && other.name().chars().next() == name.chars().next());
    // Agents of the same name are told apart by their numbers.
    let sign = match (twin, session.key.0) {
        (true, number @ 0..=9) => format!("{}{number}", initial.to_ascii_uppercase()),
        _ => format!("{}{point}", initial.to_ascii_uppercase()),
    };
    let text = format!("  {arrow} {name}: {}", visit.verb.word());
    Some(Tag { session: visit.session, call: visit.call, text, sign, over, since: cx.now() })
}

/// A timer for when there is more to show of where the agents are.
fn timer(editor: &Editor) -> Result<Timer> {
    let due = editor.lua.create_function(|_, ()| {
        context::run(|follow: &mut Follow, cx| follow.follow_due(cx));
        Ok(())
    })?;
    Timer::new(&editor.lua, due)
}

/// A location as the user's Lua gets it.
fn location_data(session: &Session, visit: &Visit) -> Json {
    let call = visit.call.and_then(|call| session.entry(call)).and_then(|entry| entry.tool());
    json!({
        "path": visit.path,
        "line": visit.line(),
        "verb": visit.verb.word(),
        "kind": call.map(|call| crate::core::session::tool_call::kind_word(call.kind)),
        "call": call.and_then(|call| call.told_id()),
        "session": visit.session.0,
        "agent": session.agent_name,
    })
}

/// What the user's function says of a place.
fn chosen(editor: &Editor, choose: &Function, location: &Json) -> std::result::Result<Choice, String> {
    let location = to_lua(&editor.lua, location).map_err(|error| first_line(&error))?;
    match choose.call::<Value>(location).map_err(|error| first_line(&error))? {
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
