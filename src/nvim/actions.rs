//! What a user can do, by name: the subcommands of `:Acp`, `:AcpChat`, the chat's keys and the Lua
//! API all end here. Each action finds what it is about, does one thing, and says what to do next
//! when there is nothing it could be done to.

use std::path::PathBuf;

use mlua::{Lua, LuaSerdeExt as _, Result, Table, Value};
use serde_json::json;

use crate::config::{Choice, Config, Pane};
use crate::core::message::{
    AgentId, AskId, AuthKind, AuthMethod, Command, ConfigOption, Content, OptionKind, OptionValue,
    PermissionKind, SessionKey, StoredSession,
};
use crate::core::session::{Phase, Session};
use crate::nvim::app::App;
use crate::nvim::editor::{Buf, Editor, Level};
use crate::nvim::terminal::Key;
use crate::nvim::{enter, follow, picker, run, to_lua};

/// Takes the user's options. The error has one line for each mistake.
pub fn configure(lua: &Lua, options: Value) -> Result<()> {
    let options: serde_json::Value = lua.from_value(options)?;
    let config = Config::from_value(&options).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        mlua::Error::runtime(lines.join("\n"))
    })?;
    enter(|app| {
        app.follow.on |= config.follow;
        app.config = config;
        Ok(())
    })
}

/// What a command was given.
#[derive(Default)]
struct Args {
    words: Vec<String>,
    text: String,
    bang: bool,
    range: Option<Range>,
}

/// 1-based lines, the last one included.
#[derive(Clone, Copy)]
struct Range {
    buf: Buf,
    first: usize,
    last: usize,
}

impl Args {
    fn read(table: Option<Table>) -> Result<Self> {
        let Some(table) = table else { return Ok(Self::default()) };
        let words: Option<Vec<String>> = table.get("args")?;
        let text: Option<String> = table.get("text")?;
        let range: Option<Table> = table.get("range")?;
        let range = match range {
            Some(range) => Some(Range {
                buf: range.get("buffer")?,
                first: range.get("first")?,
                last: range.get("last")?,
            }),
            None => None,
        };
        let words = words.unwrap_or_default();
        Ok(Self {
            text: text.unwrap_or_else(|| words.join(" ")),
            words,
            bang: table.get::<Option<bool>>("bang")?.unwrap_or(false),
            range,
        })
    }

    fn first(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|word| !word.is_empty())
    }
}

pub fn call(lua: &Lua, (name, args): (String, Option<Table>)) -> Result<Value> {
    let args = Args::read(args)?;
    if name == "agents" {
        let all = enter(|app| {
            let editor = app.editor.clone();
            Ok(app.config.all(|program| editor.program(program), app.bundled.as_deref()))
        })?;
        return to_lua(lua, &all);
    }
    if name == "commands" {
        return to_lua(lua, &enter(|app| Ok(app.slash_commands()))?);
    }
    enter(|app| app.act(&name, args)).map(|()| Value::Nil)
}

/// A key of the chat's was pressed.
pub fn key(_: &Lua, name: &str) -> Result<()> {
    enter(|app| app.key(name))
}

pub fn status(lua: &Lua, session: Option<u32>) -> Result<Value> {
    let status = enter(|app| Ok(app.status(session.map(SessionKey))))?;
    to_lua(lua, &status)
}

/// The words that may follow a command.
pub fn complete(_: &Lua, (kind, lead, before): (String, String, Option<Vec<String>>)) -> Result<Vec<String>> {
    let words = enter(|app| Ok(app.words(&kind, &before.unwrap_or_default())))?;
    Ok(words.into_iter().filter(|word| word.starts_with(&lead)).collect())
}

const NO_SESSION: &str = "there is no session yet; :AcpChat begins one";

fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(mlua::Error::runtime(text.to_string()))
}

impl App {
    fn act(&mut self, name: &str, args: Args) -> Result<()> {
        match name {
            "chat" => self.chat(args, false),
            "new" => self.chat(args, true),
            "toggle" => self.toggle_chat(),
            "send" => self.send_text(args),
            "cancel" => match self.session_here() {
                Some(key) => self.cancel(key).map(drop),
                None => fail(NO_SESSION),
            },
            "allow" => self.decide(args.first(), &[PermissionKind::AllowOnce, PermissionKind::AllowAlways]),
            "reject" => {
                self.decide(args.first(), &[PermissionKind::RejectOnce, PermissionKind::RejectAlways])
            }
            "answer" => self.answer_question(args.first()),
            "follow" => self.set_follow(args.first()),
            "mode" => self.choose_mode(args.first()),
            "model" => self.choose_model(args.first()),
            "config" => self.choose_option(&args.words),
            "sessions" => self.choose_session(args.first()),
            "terminals" => self.choose_terminal(),
            "login" => self.login(args.first()),
            "logout" => self.log_out(),
            "close" => match self.session_here() {
                Some(key) => self.close_session(key),
                None => fail(NO_SESSION),
            },
            "delete" => self.choose_deletion(),
            "restart" => match self.session_here() {
                Some(key) => self.restart(key),
                None => fail(NO_SESSION),
            },
            "stop" => match self.session_here() {
                Some(key) => self.stop(key),
                None => fail(NO_SESSION),
            },
            "log" => self.open_log(),
            "keys" => self.show_keys(),
            _ => fail(format!("there is no action {name:?}; :Acp alone lists them")),
        }
    }

    pub fn key(&mut self, name: &str) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        match name {
            "send" | "send_insert" => self.send_prompt(key),
            "steer" => self.steer_prompt(key),
            "cancel" => {
                if !self.cancel(key)? {
                    self.editor.command("stopinsert")?;
                }
                Ok(())
            }
            "prompt" => self.show(key),
            "next_entry" => self.step(key, true),
            "previous_entry" => self.step(key, false),
            "go_to" => self.go_to(key),
            "toggle" => {
                if let Some(entry) = self.entry_under_cursor(key)?
                    && let Some(session) = self.sessions.get_mut(&key)
                {
                    session.toggle(entry);
                }
                self.after_change(key)?;
                self.frame_due()
            }
            "next_mode" => self.next_mode(),
            "restart" => {
                let wants = |s: &Session| s.phase == Phase::LoginNeeded || s.is_stuck();
                if self.is_dead(key) || self.sessions.get(&key).is_some_and(wants) {
                    self.restart(key)
                } else {
                    fail("the agent is running; :Acp restart starts it again all the same")
                }
            }
            "hide" => self.toggle_chat(),
            "help" => self.show_keys(),
            _ => fail(format!("there is no key {name:?}")),
        }
    }

    /// The slash commands of the agent, for the prompt's completion.
    fn slash_commands(&self) -> Vec<serde_json::Value> {
        let session = self.session_here().and_then(|key| self.sessions.get(&key));
        let commands = session.map(|session| session.commands.as_slice()).unwrap_or_default();
        commands
            .iter()
            .map(|command| {
                json!({ "name": command.name, "description": command.description, "hint": command.hint })
            })
            .collect()
    }

    /// The words for completion.
    fn words(&self, kind: &str, before: &[String]) -> Vec<String> {
        let session = self.session_here().and_then(|key| self.sessions.get(&key));
        match kind {
            "agents" => self.config.names().into_iter().map(str::to_owned).collect(),
            "mode" => self.modes().into_iter().map(|(id, _)| id).collect(),
            "model" => self.models().into_iter().map(|(id, _)| id).collect(),
            "config" if !before.is_empty() => session
                .and_then(|session| session.options.iter().find(|option| option.id == before[0]))
                .map(|option| match &option.kind {
                    OptionKind::Toggle { .. } => vec!["on".to_owned(), "off".to_owned()],
                    OptionKind::Select { groups, .. } => {
                        groups.iter().flat_map(|group| &group.values).map(|value| value.id.clone()).collect()
                    }
                })
                .unwrap_or_default(),
            "config" => session
                .map(|session| session.options.iter().map(|option| option.id.clone()).collect())
                .unwrap_or_default(),
            "allow" | "reject" => session
                .and_then(|session| session.permission())
                .map(|open| open.options().iter().map(|option| option.id.clone()).collect())
                .unwrap_or_default(),
            "sessions" => self.sessions.keys().map(|key| key.0.to_string()).collect(),
            "login" => session
                .and_then(|session| session.info.as_ref())
                .map(|info| info.auth_methods.iter().map(|method| method.id.clone()).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    // Chats.

    fn chat(&mut self, args: Args, new: bool) -> Result<()> {
        let quote = args.range.map(|range| quote(&self.editor, range)).transpose()?;
        let wanted = args.first().map(str::to_owned);
        if !new && !args.bang {
            let fits = |key: &SessionKey| {
                !self.never_lived(*key)
                    && self.sessions.get(key).is_some_and(|session| {
                        wanted.as_ref().is_none_or(|wanted| *wanted == session.agent_name)
                    })
            };
            let found = self.session_here().filter(fits).or_else(|| {
                wanted.as_ref()?;
                self.sessions.keys().rev().find(|key| fits(key)).copied()
            });
            if let Some(key) = found {
                self.show(key)?;
                return self.add_to_prompt(key, quote);
            }
        }
        match wanted.or_else(|| self.config.default_agent.clone()) {
            Some(name) => self.begin(&name, quote),
            None => self.offer_agents(quote),
        }
    }

    fn begin(&mut self, name: &str, quote: Option<String>) -> Result<()> {
        let root = self.root();
        let editor = self.editor.clone();
        let find = |program: &str| editor.program(program);
        let launch = match self.config.launch(name, &root, find, self.bundled.as_deref()) {
            Ok(launch) => launch,
            Err(error) => return fail(format!("couldn't start {name}: {error}")),
        };
        let key = self.open_chat(launch, root, None)?;
        self.add_to_prompt(key, quote)
    }

    fn offer_agents(&mut self, quote: Option<String>) -> Result<()> {
        let editor = self.editor.clone();
        let choices: Vec<Choice> =
            self.config.available(|program| editor.program(program), self.bundled.clone());
        if choices.is_empty() {
            return fail("no agent was found on this machine; :checkhealth acp says what to install");
        }
        if let [only] = &choices[..] {
            return self.begin(&only.name.clone(), quote);
        }
        let items = choices.iter().map(|choice| format!("{} — {}", choice.title, choice.detail)).collect();
        let names: Vec<String> = choices.into_iter().map(|choice| choice.name).collect();
        self.offer("Work with", "acp_agent", items, move |app, index| app.begin(&names[index], quote))
    }

    /// A picker whose choice is acted on; without a choice nothing happens.
    fn offer(
        &mut self,
        prompt: &str,
        kind: &'static str,
        items: Vec<String>,
        then: impl FnOnce(&mut App, usize) -> Result<()> + 'static,
    ) -> Result<()> {
        let prompt = prompt.to_owned();
        self.effects.push_back(Box::new(move |editor| {
            let shown = picker::select(editor, &prompt, kind, items, move |index| {
                if let Some(index) = index {
                    run(move |app| then(app, index));
                }
            });
            if let Err(error) = shown {
                editor.notify(&format!("the picker failed: {error}"), Level::Error);
            }
        }));
        Ok(())
    }

    /// The project's root: the folder with `.git` above the current file, else the working folder.
    fn root(&self) -> PathBuf {
        let find = || -> Result<Option<String>> {
            let fs: Table = self.editor.module("fs")?;
            let root: mlua::Function = fs.get("root")?;
            let named = self.editor.buf_name(self.editor.current_buf()?);
            let from: Value = if named.is_empty() || named.contains("://") {
                self.editor.string(self.editor.cwd().to_string_lossy().as_bytes())?
            } else {
                Value::Integer(0)
            };
            root.call((from, vec![".git", ".hg", ".jj"]))
        };
        find().ok().flatten().map_or_else(|| self.editor.cwd(), PathBuf::from)
    }

    fn add_to_prompt(&mut self, key: SessionKey, quote: Option<String>) -> Result<()> {
        let (Some(quote), Some(chat)) = (quote, self.chats.get(&key)) else { return Ok(()) };
        let before = chat.prompt_text(&self.editor)?;
        let text = if before.trim().is_empty() { quote } else { format!("{}\n{quote}", before.trim_end()) };
        chat.set_prompt_text(&self.editor, &format!("{text}\n"))?;
        if let Some(win) = chat.prompt_window(&self.editor) {
            let last = self.editor.line_count(chat.prompt)?;
            self.editor.set_cursor(win, last, 0)?;
        }
        Ok(())
    }

    fn toggle_chat(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return self.chat(Args::default(), false) };
        let shown = self.chats.get(&key).is_some_and(|chat| {
            chat.window(&self.editor).is_some() || chat.prompt_window(&self.editor).is_some()
        });
        if !shown {
            return self.show(key);
        }
        self.editor.command("stopinsert")?;
        match self.chats.get(&key) {
            Some(chat) => chat.hide(&self.editor),
            None => Ok(()),
        }
    }

    // Prompts.

    fn send_prompt(&mut self, key: SessionKey) -> Result<()> {
        if let Some(content) = self.take_prompt(key)? {
            self.prompt(key, content)?;
        }
        self.frame_due()
    }

    fn steer_prompt(&mut self, key: SessionKey) -> Result<()> {
        if let Some(content) = self.take_prompt(key)? {
            self.steer(key, content)?;
        }
        self.frame_due()
    }

    /// What stands in the prompt, which is empty from here on.
    fn take_prompt(&mut self, key: SessionKey) -> Result<Option<Vec<Content>>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let text = chat.prompt_text(&self.editor)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        if self.is_dead(key) {
            return fail("the agent is gone; R in the chat starts it again, and the prompt stays as it is");
        }
        chat.set_prompt_text(&self.editor, "")?;
        Ok(Some(vec![Content::Text(text.trim_end().to_owned())]))
    }

    fn send_text(&mut self, args: Args) -> Result<()> {
        let quote = args.range.map(|range| quote(&self.editor, range)).transpose()?;
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        if args.text.trim().is_empty() && quote.is_none() {
            return if args.bang { self.steer_prompt(key) } else { self.send_prompt(key) };
        }
        if self.is_dead(key) {
            return fail("the agent is gone; :Acp restart starts it again");
        }
        let text = match quote {
            Some(quote) => format!("{}\n\n{quote}", args.text),
            None => args.text,
        };
        let content = vec![Content::Text(text.trim().to_owned())];
        if args.bang { self.steer(key, content) } else { self.prompt(key, content) }
    }

    // Permission.

    /// Answers the oldest open question with the option named, else with the first of these kinds.
    fn decide(&mut self, named: Option<&str>, kinds: &[PermissionKind]) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let waiting = self.sessions.get(&key).into_iter().chain(self.sessions.values());
        let Some((key, open)) =
            waiting.filter_map(|session| session.permission().map(|open| (session.key, open.clone()))).next()
        else {
            let other = self.sessions.values().any(|session| session.elicitation().is_some());
            let more = if other { "; :Acp answer is for what else the agent asks" } else { "" };
            return fail(format!("nothing waits for your permission{more}"));
        };
        let option = match named {
            Some(named) => open.options().iter().find(|option| option.id == named || option.name == named),
            None => kinds.iter().find_map(|kind| open.options().iter().find(|option| option.kind == *kind)),
        };
        match option {
            Some(option) => self.answer(key, open.ask, &option.id.clone()),
            None if named.is_some() => fail("the agent offers no such option"),
            None => {
                // Nothing of that kind is offered: the user sees what is.
                self.put_up(key, AskId(open.ask.0));
                Ok(())
            }
        }
    }

    // Choices of the session.

    fn set_follow(&mut self, word: Option<&str>) -> Result<()> {
        self.follow.on = match word {
            Some("on") => true,
            Some("off") => false,
            None | Some("toggle") => !self.follow.on,
            Some(other) => return fail(format!("follow takes on, off or toggle, not {other:?}")),
        };
        if !self.follow.on {
            self.follow.clear(&self.editor)?;
        }
        let text = if self.follow.on { "following the agent" } else { "no longer following the agent" };
        self.effects.push_back(Box::new(move |editor| editor.notify(text, Level::Info)));
        Ok(())
    }

    fn modes(&self) -> Vec<(String, String)> {
        self.choices("mode", |session| session.modes.as_ref().map(|modes| modes.available.clone()))
    }

    fn models(&self) -> Vec<(String, String)> {
        self.choices("model", |session| session.models.as_ref().map(|models| models.available.clone()))
    }

    /// The values of the option of a category, else those of the older field: id and name.
    fn choices(
        &self,
        category: &str,
        older: impl Fn(&crate::core::session::Session) -> Option<Vec<crate::core::message::Named>>,
    ) -> Vec<(String, String)> {
        let Some(session) = self.session_here().and_then(|key| self.sessions.get(&key)) else {
            return Vec::new();
        };
        let option = session.options.iter().find(|option| option.category.as_deref() == Some(category));
        let values = match option.map(|option| &option.kind) {
            Some(OptionKind::Select { groups, .. }) => {
                groups.iter().flat_map(|group| group.values.clone()).collect()
            }
            _ => older(session).unwrap_or_default(),
        };
        values.into_iter().map(|value| (value.id, value.name)).collect()
    }

    fn choose_mode(&mut self, word: Option<&str>) -> Result<()> {
        let modes = self.modes();
        self.choose("mode", modes, word, App::set_mode)
    }

    fn set_mode(&mut self, key: SessionKey, mode: String) -> Result<()> {
        match self.option_of(key, "mode") {
            Some(option) => {
                self.send(Command::SetOption { session: key, option, value: OptionValue::Value(mode) })
            }
            None => self.send(Command::SetMode { session: key, mode }),
        }
    }

    /// The mode after the present one, and after the last the first.
    fn next_mode(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let modes = self.modes();
        let current = self.sessions.get(&key).and_then(crate::nvim::winbar::mode);
        let at = modes
            .iter()
            .position(|(id, name)| Some(name) == current.as_ref() || Some(id) == current.as_ref());
        match modes.get(at.map_or(0, |at| (at + 1) % modes.len())) {
            Some((id, _)) => self.set_mode(key, id.clone()),
            None => fail("this agent offers no choice of a mode"),
        }
    }

    fn choose_model(&mut self, word: Option<&str>) -> Result<()> {
        let models = self.models();
        self.choose("model", models, word, |app, key, model| match app.option_of(key, "model") {
            Some(option) => {
                app.send(Command::SetOption { session: key, option, value: OptionValue::Value(model) })
            }
            None => app.send(Command::SetModel { session: key, model }),
        })
    }

    fn option_of(&self, key: SessionKey, category: &str) -> Option<String> {
        let session = self.sessions.get(&key)?;
        let option = session.options.iter().find(|option| option.category.as_deref() == Some(category))?;
        Some(option.id.clone())
    }

    fn choose(
        &mut self,
        what: &str,
        values: Vec<(String, String)>,
        word: Option<&str>,
        then: impl FnOnce(&mut App, SessionKey, String) -> Result<()> + 'static,
    ) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        if values.is_empty() {
            return fail(format!("this agent offers no choice of a {what}"));
        }
        if let Some(word) = word {
            return match values.into_iter().find(|(id, name)| id == word || name == word) {
                Some((id, _)) => then(self, key, id),
                None => fail(format!("the agent has no {what} {word:?}")),
            };
        }
        let items = values.iter().map(|(_, name)| name.clone()).collect();
        let prompt = format!("Choose a {what}");
        self.offer(&prompt, "acp_choice", items, move |app, index| then(app, key, values[index].0.clone()))
    }

    fn choose_option(&mut self, words: &[String]) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.sessions.get(&key) else { return fail(NO_SESSION) };
        if session.options.is_empty() {
            return fail("this agent offers no options");
        }
        if let Some(id) = words.first() {
            return self.choose_value(key, id.clone(), words.get(1).map(String::as_str));
        }
        let options = in_order(&session.options);
        let ids: Vec<String> = options.iter().map(|option| option.id.clone()).collect();
        let items = options
            .iter()
            .map(|option| match &option.kind {
                OptionKind::Select { current, .. } => format!("{}: {current}", option.name),
                OptionKind::Toggle { current } => {
                    format!("{}: {}", option.name, if *current { "on" } else { "off" })
                }
            })
            .collect();
        self.offer("Options", "acp_option", items, move |app, index| {
            app.choose_value(key, ids[index].clone(), None)
        })
    }

    fn choose_value(&mut self, key: SessionKey, id: String, word: Option<&str>) -> Result<()> {
        let found = self
            .sessions
            .get(&key)
            .and_then(|session| session.options.iter().find(|option| option.id == id))
            .map(|option| option.kind.clone());
        match found {
            None => fail(format!("the agent has no option {id:?}")),
            Some(OptionKind::Toggle { current }) => {
                let value = match word {
                    None => !current,
                    Some("on" | "true") => true,
                    Some("off" | "false") => false,
                    Some(other) => return fail(format!("{id} takes on or off, not {other:?}")),
                };
                self.send(Command::SetOption { session: key, option: id, value: OptionValue::Toggle(value) })
            }
            Some(OptionKind::Select { groups, .. }) => {
                let values: Vec<_> = groups
                    .into_iter()
                    .flat_map(|group| group.values)
                    .map(|value| (value.id, value.name))
                    .collect();
                let option = id.clone();
                self.choose(&id, values, word, move |app, key, value| {
                    app.send(Command::SetOption { session: key, option, value: OptionValue::Value(value) })
                })
            }
        }
    }

    fn choose_session(&mut self, word: Option<&str>) -> Result<()> {
        if let Some(number) = word.and_then(|word| word.parse().ok()) {
            let key = SessionKey(number);
            if !self.sessions.contains_key(&key) {
                return fail(format!("there is no session {number}"));
            }
            return self.show(key);
        }
        if self.sessions.is_empty() {
            return fail(NO_SESSION);
        }
        let keys: Vec<SessionKey> = self.sessions.keys().copied().collect();
        let mut items: Vec<String> = self
            .sessions
            .values()
            .map(|session| {
                let title = session.title.clone().unwrap_or_else(|| "untitled".to_owned());
                format!(
                    "{} {}: {title} ({})",
                    session.key.0,
                    session.name(),
                    crate::nvim::winbar::state(session)
                )
            })
            .collect();
        let stored: Vec<AgentId> =
            self.agents().into_iter().filter(|(_, info)| info.can.list).map(|(agent, _)| agent).collect();
        for agent in &stored {
            items.push(format!("Earlier sessions of {} …", self.agent_name(*agent)));
        }
        self.offer("Sessions", "acp_session", items, move |app, index| match keys.get(index) {
            Some(key) => app.show(*key),
            None => {
                let root = app.root();
                app.list_stored(stored[index - keys.len()], root)
            }
        })
    }

    /// The stored sessions of an agent are known: the user takes one up.
    pub fn offer_stored(&mut self, agent: AgentId, stored: Vec<StoredSession>) -> Result<()> {
        let name = self.agent_name(agent);
        if stored.is_empty() {
            return fail(format!("{name} has no earlier sessions for this folder"));
        }
        if std::mem::take(&mut self.deleting) {
            let items = stored.iter().map(describe_stored).collect();
            return self.offer("Delete for good", "acp_session", items, move |app, index| {
                let stored = stored[index].clone();
                let question = format!("Delete {} for good?", describe_stored(&stored));
                let items = vec!["No".to_owned(), "Yes, delete it".to_owned()];
                app.offer(&question, "acp_confirm", items, move |app, answer| match answer {
                    1 => app.send(Command::Delete { agent, acp_id: stored.acp_id }),
                    _ => Ok(()),
                })
            });
        }
        let can = self.agents().into_iter().find(|(known, _)| *known == agent).map(|(_, info)| info.can);
        if !can.is_some_and(|can| can.load || can.resume) {
            return fail(format!("{name} lists its sessions, but cannot take one up again"));
        }
        let items = stored.iter().map(describe_stored).collect();
        self.offer("Take up", "acp_session", items, move |app, index| {
            app.take_up(agent, stored[index].clone())
        })
    }

    fn choose_deletion(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.sessions.get(&key) else { return fail(NO_SESSION) };
        let can = session.info.as_ref().map(|info| info.can).unwrap_or_default();
        if !can.list || !can.delete {
            return fail(format!("{} cannot delete stored sessions", session.name()));
        }
        let (agent, cwd) = (session.agent, session.place.cwd.clone());
        self.deleting = true;
        self.list_stored(agent, cwd)
    }

    fn log_out(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.sessions.get(&key) else { return fail(NO_SESSION) };
        if !session.info.as_ref().is_some_and(|info| info.can.logout) {
            return fail(format!("{} offers no logout; its own program may", session.name()));
        }
        let agent = session.agent;
        self.send(Command::Logout { agent })
    }

    fn choose_terminal(&mut self) -> Result<()> {
        let all: Vec<(Key, String)> = self
            .terminals
            .iter()
            .map(|(key, terminal)| {
                let state = if terminal.exit.is_none() { "running" } else { "ended" };
                (key.clone(), format!("{} ({state})", terminal.command))
            })
            .collect();
        match &all[..] {
            [] => fail("no command has been run yet"),
            [(only, _)] => self.enter_terminal(&only.clone()),
            _ => {
                let items = all.iter().map(|(_, label)| label.clone()).collect();
                self.offer("Terminals", "acp_terminal", items, move |app, index| {
                    app.enter_terminal(&all[index].0)
                })
            }
        }
    }

    fn enter_terminal(&mut self, key: &Key) -> Result<()> {
        self.open_terminal(key)?;
        let Some(terminal) = self.terminals.get(key) else { return Ok(()) };
        match self.editor.wins_of(terminal.buf).first() {
            Some(win) => self.editor.set_current_win(*win),
            None => Ok(()),
        }
    }

    fn login(&mut self, word: Option<&str>) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.sessions.get(&key) else { return fail(NO_SESSION) };
        let name = session.name();
        let methods: Vec<AuthMethod> = session
            .info
            .as_ref()
            .map(|info| info.auth_methods.clone())
            .unwrap_or_default()
            .into_iter()
            .filter(|method| !matches!(method.kind, AuthKind::Unsupported(_)))
            .collect();
        if methods.is_empty() {
            return fail(format!(
                "{name} offers no login here; log in with its own program, then press R in the chat"
            ));
        }
        if let Some(word) = word {
            return match methods.into_iter().find(|method| method.id == word) {
                Some(method) => self.log_in_by(key, method),
                None => fail(format!("{name} has no login method {word:?}")),
            };
        }
        let items = methods
            .iter()
            .map(|method| match &method.description {
                Some(description) => format!("{}: {description}", method.name),
                None => method.name.clone(),
            })
            .collect();
        self.offer("Log in", "acp_login", items, move |app, index| app.log_in_by(key, methods[index].clone()))
    }

    /// A method of type agent is a request; one of type terminal is the agent's own program, run where
    /// the user can answer it, and then the agent anew.
    fn log_in_by(&mut self, key: SessionKey, method: AuthMethod) -> Result<()> {
        let Some(agent) = self.sessions.get(&key).map(|session| session.agent) else { return Ok(()) };
        let (args, env) = match method.kind {
            AuthKind::Agent => return self.send(Command::Login { agent, method: method.id }),
            AuthKind::Terminal { args, env } => (args, env),
            AuthKind::Unsupported(kind) => return fail(format!("this client cannot log in by {kind:?}")),
        };
        let Some(launch) = self.launch_of(key).cloned() else { return fail("the agent was never started") };
        let mut command = vec![launch.command];
        command.extend(launch.args);
        command.extend(args);
        let env: Vec<(String, String)> = launch.env.into_iter().chain(env).collect();
        let cwd = launch.cwd;
        self.effects.push_back(Box::new(move |editor| {
            let done = editor.lua.create_function(move |_, code: i64| {
                run(move |app| match code {
                    0 => app.restart(key),
                    _ => fail(format!("the login ended with exit code {code}; :Acp login tries again")),
                });
                Ok(())
            });
            let started = done.and_then(|done| editor.run_in_terminal(&command, &env, &cwd, done));
            if let Err(error) = started {
                editor.notify(&format!("couldn't start the login: {error}"), Level::Error);
            }
        }));
        Ok(())
    }

    // The transcript.

    fn entry_under_cursor(&self, key: SessionKey) -> Result<Option<crate::core::entry::EntryId>> {
        let Some(chat) = self.chats.get(&key) else { return Ok(None) };
        let Some(win) = chat.window(&self.editor) else { return Ok(None) };
        let (line, _) = self.editor.cursor(win)?;
        chat.entry_at(&self.editor, line - 1)
    }

    /// To the next or previous entry, as `]]` and `[[` go through sections.
    fn step(&mut self, key: SessionKey, forward: bool) -> Result<()> {
        let count: usize = self.editor.module("v")?.get("count1")?;
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let (Some(chat), Some(session)) = (self.chats.get(&key), self.sessions.get(&key)) else {
            return Ok(());
        };
        let Some(win) = chat.window(&self.editor) else { return Ok(()) };
        let last = session.entries().len().saturating_sub(1);
        let target = if forward { (entry.0 + count).min(last) } else { entry.0.saturating_sub(count) };
        let row = chat.start_row(&self.editor, crate::core::entry::EntryId(target))?;
        let lines = self.editor.lines(chat.transcript, row as i64, row as i64 + 1)?;
        // The blank line that sets an entry off is not where one wants to be.
        let row = if lines.first().is_some_and(String::is_empty) && target > 0 { row + 1 } else { row };
        let count = self.editor.line_count(chat.transcript)?;
        self.editor.set_cursor(win, (row + 1).min(count), 0)
    }

    /// To the file or terminal that the entry is about.
    fn go_to(&mut self, key: SessionKey) -> Result<()> {
        let Some(entry) = self.entry_under_cursor(key)? else { return Ok(()) };
        let Some(session) = self.sessions.get(&key) else { return Ok(()) };
        let waiting = session.asks().iter().find(|open| open.entry == entry).map(|open| open.ask);
        if let Some(ask) = waiting {
            self.put_up(key, ask);
            return Ok(());
        }
        let Some(call) = session.entry(entry).and_then(|entry| entry.tool()) else {
            return fail("this entry is about no file");
        };
        let terminal = call.terminals().next().cloned();
        let place = call.places().first().map(|place| (session.place.cwd.join(&place.path), place.line));
        if let Some(terminal) = terminal {
            let terminal = (key, terminal);
            if self.terminals.get(&terminal).is_none() {
                return fail("the agent has shown nothing of this command yet");
            }
            return self.enter_terminal(&terminal);
        }
        let Some((path, line)) = place else { return fail("this entry is about no file") };
        if !path.is_file() {
            return fail(format!("{} is no file that can be opened", path.display()));
        }
        let Some(win) = follow::code_window(&self.editor)? else { return Ok(()) };
        let buf = follow::load(&self.editor, &path)?;
        self.editor.set_current_win(win)?;
        self.editor.command("normal! m'")?;
        self.editor.set_win_buf(win, buf)?;
        if let Some(line) = line.filter(|line| *line > 0) {
            let last = self.editor.line_count(buf)?;
            self.editor.set_cursor(win, (line as usize).min(last), 0)?;
        }
        Ok(())
    }

    // Views.

    fn open_log(&mut self) -> Result<()> {
        let Some(log) = self.log() else {
            return fail(
                "messages are not written down; setup{ log = true } does that from the next agent on",
            );
        };
        if !log.is_file() {
            return fail(format!("nothing was written to {} yet", log.display()));
        }
        let path: String = self.editor.func("fnameescape", log.to_string_lossy().into_owned())?;
        self.editor.command(&format!("botright split {path}"))?;
        self.editor.command("setlocal nomodifiable autoread")
    }

    fn show_keys(&mut self) -> Result<()> {
        let mut lines = Vec::new();
        for (pane, title) in [(Pane::Transcript, "In the transcript"), (Pane::Prompt, "In the prompt")] {
            lines.push(format!(" {title}"));
            let mut rows: Vec<(Vec<&str>, &str)> = Vec::new();
            for (key, lhs) in self.config.keys.of(pane) {
                match rows.last_mut() {
                    Some((all, about)) if *about == key.about => all.push(lhs),
                    _ => rows.push((vec![lhs], key.about)),
                }
            }
            for (all, about) in rows {
                lines.push(format!("   {:<12} {}", all.join(" "), about.replace('|', "")));
            }
            lines.push(String::new());
        }
        lines.push(" :Acp lists the commands · :help acp · q closes this".to_owned());
        float(&self.editor, &lines)
    }
}

/// Options as the agent orders them, but what belongs to the model right after it.
fn in_order(options: &[ConfigOption]) -> Vec<&ConfigOption> {
    let is = |option: &ConfigOption, category| option.category.as_deref() == Some(category);
    let Some(model) = options.iter().position(|option| is(option, "model")) else {
        return options.iter().collect();
    };
    let (own, others): (Vec<_>, Vec<_>) = options.iter().partition(|option| is(option, "model_config"));
    let before = options[..=model].iter().filter(|option| !is(option, "model_config")).count();
    [&others[..before], &own, &others[before..]].concat()
}

fn describe_stored(stored: &StoredSession) -> String {
    let title = stored.title.as_deref().unwrap_or("untitled");
    let title = crate::core::text::one_line(title);
    let title = crate::core::transcript::cut_middle(&title, 60);
    match &stored.updated_at {
        // The day and the minute of an ISO 8601 time are enough.
        Some(time) => format!("{title} ({})", time.get(..16).unwrap_or(time).replace('T', " ")),
        None => title,
    }
}

/// A small window in the middle that `q` and `<Esc>` close.
fn float(editor: &Editor, lines: &[String]) -> Result<()> {
    let buf = editor.create_buf(false, true)?;
    editor.set_text(buf, (0, 0), (0, 0), lines)?;
    editor.set_buf_option(buf, "modifiable", false)?;
    editor.set_buf_option(buf, "bufhidden", "wipe")?;
    let (columns, rows) = editor.size();
    let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(20) + 2;
    let width = u16::try_from(width).unwrap_or(columns).min(columns.saturating_sub(4));
    let height = u16::try_from(lines.len()).unwrap_or(rows).min(rows.saturating_sub(4));
    let config = editor.table([
        ("relative", editor.string("editor")?),
        ("width", Value::Integer(width.into())),
        ("height", Value::Integer(height.into())),
        ("row", Value::Integer((rows.saturating_sub(height) / 2).into())),
        ("col", Value::Integer((columns.saturating_sub(width) / 2).into())),
        ("border", editor.string("rounded")?),
        ("style", editor.string("minimal")?),
    ])?;
    editor.command("stopinsert")?;
    editor.open_win(buf, true, config)?;
    for key in ["q", "<Esc>", "g?"] {
        let options = editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
        let keymap: Table = editor.module("keymap")?;
        let set: mlua::Function = keymap.get("set")?;
        set.call::<()>(("n", key, "<Cmd>close<CR>", options))?;
    }
    Ok(())
}

/// Lines of a buffer as a prompt quotes them.
fn quote(editor: &Editor, range: Range) -> Result<String> {
    let lines = editor.lines(range.buf, range.first as i64 - 1, range.last as i64)?;
    let name = editor.buf_name(range.buf);
    let name: String =
        if name.is_empty() { "unnamed".into() } else { editor.func("fnamemodify", (name, ":."))? };
    let filetype: String = editor.buf_option(range.buf, "filetype")?;
    let fence = "`".repeat(
        lines.iter().map(|line| line.chars().take_while(|c| *c == '`').count()).max().unwrap_or(0).max(2) + 1,
    );
    Ok(format!("{name}:{}-{}\n{fence}{filetype}\n{}\n{fence}", range.first, range.last, lines.join("\n")))
}

/// The plugin's highlight groups, as links that a colour scheme or a user may replace.
pub fn define_highlights(editor: &Editor) -> Result<()> {
    for (group, link) in [
        ("AcpUser", "Title"),
        ("AcpAgent", "Title"),
        ("AcpThought", "Comment"),
        ("AcpTool", "Normal"),
        ("AcpToolPending", "Comment"),
        ("AcpToolRunning", "DiagnosticInfo"),
        ("AcpToolWaiting", "DiagnosticWarn"),
        ("AcpToolDone", "DiagnosticOk"),
        ("AcpToolFailed", "DiagnosticError"),
        ("AcpToolCancelled", "Comment"),
        ("AcpPlan", "Title"),
        ("AcpMeta", "Comment"),
        ("AcpError", "DiagnosticError"),
        ("AcpDiffAdd", "DiffAdd"),
        ("AcpDiffDelete", "DiffDelete"),
        ("AcpDiffAddWord", "DiffText"),
        ("AcpDiffDeleteWord", "DiffText"),
        ("AcpLocation", "CursorLine"),
        ("AcpWinbar", "Title"),
    ] {
        let options = editor.table([("link", editor.string(link)?), ("default", Value::Boolean(true))])?;
        editor.api::<()>("nvim_set_hl", (0, group, options))?;
    }
    Ok(())
}

/// What `status()` says of one session.
pub fn session_status(app: &App, key: SessionKey) -> Option<serde_json::Value> {
    let session = app.sessions.get(&key)?;
    let cost = session.cost.as_ref().map(|cost| format!("{:.2} {}", cost.amount, cost.currency));
    let context =
        session.usage.filter(|(_, size)| *size > 0).map(|(used, size)| used.saturating_mul(100) / size);
    Some(json!({
        "session": key.0,
        "agent": session.name(),
        "name": session.agent_name,
        "title": session.title,
        "cwd": session.place.cwd,
        "state": crate::nvim::winbar::state(session),
        "buffer": app.chats.get(&key).map(|chat| chat.transcript.0),
        "prompt": app.chats.get(&key).map(|chat| chat.prompt.0),
        "mode": crate::nvim::winbar::mode(session),
        "model": crate::nvim::winbar::model(session),
        "queued": session.queue().len(),
        "context": context,
        "cost": cost,
    }))
}
