//! What a user can do, by name: the subcommands of `:Acp`, `:AcpChat`, the chat's keys and the Lua
//! API all end here. Each action finds what it is about, does one thing, and says what to do next
//! when there is nothing it could be done to.

pub mod library;
pub mod views;

use mlua::{Function, Lua, LuaSerdeExt as _, Result, Table, Value};
use serde_json::json;

use crate::config::Config;
use crate::core::ids::SessionKey;
use crate::core::message::{OptionKind, PermissionKind};
use crate::core::session::options::{models, modes};
use crate::core::session::{Phase, Session};
use crate::core::text::visible::visible_line;
use crate::nvim::app::App;
pub use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::chat::images;
use crate::nvim::chat::transcript::{has_change, is_call};
use crate::nvim::editor::picker;
use crate::nvim::lua_data::to_lua;
use crate::nvim::{enter, run};

/// Takes the user's options. The error has one line for each mistake.
pub fn configure(lua: &Lua, options: Value) -> Result<()> {
    let (config, choose) = read_options(lua, options)?;
    enter(|app| {
        app.follow.configure(choose);
        app.cx.config = config;
        images::configure(&app.cx.editor, app.cx.config.chat.images)?;
        app.tell_outside_rules()
    })
}

/// Raises the mistakes in options, which don't count by that.
pub fn check(lua: &Lua, options: Value) -> Result<()> {
    read_options(lua, options).map(drop)
}

fn read_options(lua: &Lua, options: Value) -> Result<(Config, Option<Function>)> {
    let (options, choose) = without_function(lua, options)?;
    let options: serde_json::Value = lua.from_value(options)?;
    let config = Config::from_value(&options).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        mlua::Error::runtime(lines.join("\n"))
    })?;
    Ok((config, choose))
}

/// The options without the one function that may be in them, which is no plain data, and that function.
fn without_function(lua: &Lua, options: Value) -> Result<(Value, Option<Function>)> {
    let Value::Table(all) = &options else { return Ok((options, None)) };
    let Value::Table(follow) = all.get("follow")? else { return Ok((options, None)) };
    let Value::Function(choose) = follow.get("window")? else { return Ok((options, None)) };
    let copy = |table: &Table| -> Result<Table> {
        let pairs = table.pairs::<Value, Value>().collect::<Result<Vec<_>>>()?;
        lua.create_table_from(pairs)
    };
    let (all, follow) = (copy(all)?, copy(&follow)?);
    follow.set("window", Value::Nil)?;
    all.set("follow", follow)?;
    Ok((Value::Table(all), Some(choose)))
}

pub fn call(lua: &Lua, (name, args): (String, Option<Table>)) -> Result<Value> {
    let args = Args::read(args)?;
    if name == "list_agents" {
        let all = enter(|app| {
            if let Some(then) = args.then {
                app.tell_agents(then)?;
            }
            Ok(app.all_agents())
        })?;
        return to_lua(lua, &all);
    }
    if name == "commands" {
        return to_lua(lua, &enter(|app| Ok(app.slash_commands()))?);
    }
    if name == "find" {
        return to_lua(lua, &enter(|app| app.find(args.text))?);
    }
    let result = enter(|app| {
        if let Some(key) = args.session.filter(|key| !app.cx.sessions.contains_key(key)) {
            return fail(format!("there is no session {}", key.0));
        }
        app.cx.meant = args.session;
        let done = match name.as_str() {
            "send_for_answer" => app.send_for_answer(args),
            _ => app.act(&name, args).map(|()| serde_json::Value::Null),
        };
        app.cx.meant = None;
        done
    })?;
    if result.is_null() { Ok(Value::Nil) } else { to_lua(lua, &result) }
}

pub fn status(lua: &Lua, session: Option<u32>) -> Result<Value> {
    let mut status = crate::nvim::status();
    if let (Some(session), Some(all)) = (session, status["sessions"].as_array_mut()) {
        all.retain(|each| each["session"] == session);
    }
    to_lua(lua, &status)
}

/// The words that may follow a command.
pub fn complete(_: &Lua, (kind, lead, before): (String, String, Option<Vec<String>>)) -> Result<Vec<String>> {
    let words = enter(|app| Ok(app.words(&kind, &before.unwrap_or_default())))?;
    Ok(words.into_iter().filter(|word| word.starts_with(&lead)).collect())
}

impl App {
    fn act(&mut self, name: &str, args: Args) -> Result<()> {
        match name {
            "chat" => self.chat(args, false),
            "new" => self.chat(args, true),
            "toggle" => self.toggle_chat(),
            "send" => self.send_text(args),
            "ask" => self.ask(args),
            "add" => self.add(&args),
            "edit-prompt" => self.edit_prompt(),
            "history" => self.choose_past_prompt(),
            "suggestions" => self.with_session(Self::choose_suggestion),
            "queue" => self.choose_queued(),
            "paste" => self.with_session(Self::paste_image),
            "cancel" => match (self.cx.session_here(), args.first()) {
                (Some(key), None) => self.cancel(key).map(drop),
                (Some(key), Some("subagent")) => self.choose_subagent(key),
                (Some(_), Some(other)) => {
                    fail(format!("{other:?} is nothing to cancel; say subagent, or nothing"))
                }
                (None, _) => fail(NO_SESSION),
            },
            "allow" => {
                let kinds = &[PermissionKind::AllowOnce, PermissionKind::AllowAlways];
                self.decide(args.first(), kinds, |kind| !kind.rejects())
            }
            "reject" => {
                let kinds = &[PermissionKind::RejectOnce, PermissionKind::RejectAlways];
                self.decide(args.first(), kinds, |kind| !kind.allows())
            }
            "choose" => self.decide(args.first(), &[], |_| true),
            "answer" => self.answer_question(args.first()),
            "auto" => self.set_auto(args.first()),
            "changes" => self.show_changes(&args),
            "follow" => self.set_follow(args.first()),
            "locations" => self.list_locations(&args.words),
            "mode" => self.choose_mode(&args),
            "model" => self.choose_model(&args),
            "config" => self.choose_option(&args),
            "remembered" => self.list_remembered(),
            "sessions" => self.choose_session(args.words),
            "terminals" => self.choose_terminal(),
            "terminal" => self.terminal_command(args.first()),
            "login" => self.login(args.first()),
            "logout" => self.log_out(),
            "agents" => self.open_agents(&args),
            "plan" => self.with_session(Self::toggle_plan),
            "close" => self.with_session(Self::close_session),
            "export" => self.export(args),
            "rename" => self.rename(&args),
            "fork" => self.fork(),
            "resume" => self.resume(args.first()),
            "recall" => self.tell_recalled(args),
            "delete" => self.choose_deletion(),
            "archive" => self.choose_archiving(args.bang),
            "restart" => self.with_session(Self::restart),
            "stop" => self.with_session(Self::stop),
            "paths" => self.list_allowed(),
            "keep" => self.decide_hunks(crate::nvim::review::actions::Verdict::Keep, &args),
            "undo" => self.decide_hunks(crate::nvim::review::actions::Verdict::Undo, &args),
            "next_hunk" | "previous_hunk" => self.step_hunk(name == "next_hunk"),
            "blame" => self.blame(),
            "settle" => self.settle_file(),
            "checkpoints" => self.choose_checkpoint(),
            "review" => self.open_review(&args),
            "comment" => self.comment(&args),
            "comments" => self.comments(&args),
            "diff" => self.diff_command(args.first()),
            "adopt" => self.adopt_left(),
            "fingerprint" => self.compute_fingerprint(args),
            "log" => self.open_log(),
            "replay" => self.replay(&args),
            "record" => self.record_wire(&args),
            "inspect" => self.open_inspector(&args),
            "audit" => self.audit_command(&args),
            "usage" => self.show_usage(),
            "permissions" => self.show_rules(args.text.trim()),
            "keys" => self.show_keys(),
            _ => fail(format!("there is no action {name:?}; :Acp alone lists them")),
        }
    }

    fn with_session(&mut self, act: impl FnOnce(&mut Self, SessionKey) -> Result<()>) -> Result<()> {
        match self.cx.session_here() {
            Some(key) => act(self, key),
            None => fail(NO_SESSION),
        }
    }

    pub fn key(&mut self, name: &str) -> Result<()> {
        if let "next_hunk" | "previous_hunk" = name {
            return self.step_hunk(name == "next_hunk");
        }
        if name == "ask" {
            return self.answer_staged();
        }
        if let Some(done) = self.queue_key(name) {
            return done;
        }
        if let Some(done) = self.agents_key(name) {
            return done;
        }
        if let Some(done) = self.inspector_key(name) {
            return done;
        }
        if let Some(done) = self.audit_key(name) {
            return done;
        }
        if let Some(done) = self.rules.key(&mut self.cx, name) {
            return done.and_then(|()| self.route());
        }
        if let Some(done) = self.panel_key(name) {
            return done;
        }
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        match name {
            "send" | "send_insert" => self.send_or_answer(key),
            "steer" => self.steer_prompt(key),
            "cancel" => {
                if !self.cancel(key)? {
                    self.cx.editor.command("stopinsert")?;
                }
                Ok(())
            }
            "prompt" => self.show(key),
            "next_entry" => self.step(key, true, |_| true),
            "previous_entry" => self.step(key, false, |_| true),
            "next_call" => self.step(key, true, is_call),
            "previous_call" => self.step(key, false, is_call),
            "next_change" => self.step(key, true, has_change),
            "previous_change" => self.step(key, false, has_change),
            "details" => self.show_details(key),
            "yank_code" => self.yank_code(key),
            "outline" => self.show_outline(key),
            "go_to" => self.go_to(key),
            "toggle" => self.toggle_fold(key),
            "click" => self.click(key),
            "next_mode" | "next_mode_insert" => self.next_mode(),
            "older_prompt" => self.browse(key, true),
            "newer_prompt" => self.browse(key, false),
            "take_back" => self.take_back_or_up(key),
            "take_suggestion" => self.take_suggestion(key),
            "queue" => self.open_queue(),
            "restart" => {
                let wants = |s: &Session| {
                    matches!(s.phase, Phase::LoginNeeded | Phase::Ending { .. }) || s.is_stuck()
                };
                if self.cx.is_dead(key) || self.cx.sessions.get(&key).is_some_and(wants) {
                    self.restart(key)
                } else {
                    fail("the agent is running; :Acp restart restarts it anyway")
                }
            }
            "end_left" => match self.subagent_under_cursor(key)? {
                Some(entry) => self.cancel_subagent(key, entry),
                None => self.end_left(key),
            },
            "follow" => self.set_follow(None),
            "replay_next" => self.play_next(),
            "locations" => self.list_locations(&["pick".to_owned()]),
            "hide" => self.toggle_chat(),
            "help" => self.show_keys(),
            _ => fail(format!("there is no key {name:?}")),
        }
    }

    /// The slash commands of the agent, for the prompt's completion.
    fn slash_commands(&self) -> Vec<serde_json::Value> {
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let commands = session.map(|session| session.commands.as_slice()).unwrap_or_default();
        let shown = |text: &Option<String>| text.as_deref().map(visible_line);
        commands
            .iter()
            // What cannot be typed as one word is no name of a command.
            .filter(|command| visible_line(&command.name) == command.name && !command.name.contains(' '))
            .map(|command| {
                let (description, hint) = (visible_line(&command.description), shown(&command.hint));
                json!({ "name": command.name, "description": description, "hint": hint })
            })
            .collect()
    }

    /// The words for completion.
    fn words(&self, kind: &str, before: &[String]) -> Vec<String> {
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        match kind {
            "agents" => self.cx.config.names(self.agents.catalog()).into_iter().map(str::to_owned).collect(),
            "mode" => session.map(modes).unwrap_or_default().into_iter().map(|(id, _)| id).collect(),
            "model" => session.map(models).unwrap_or_default().into_iter().map(|(id, _)| id).collect(),
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
            "allow" => self.answers_to_name(|kind| !kind.rejects()),
            "reject" => self.answers_to_name(|kind| !kind.allows()),
            "sessions" => self.cx.sessions.keys().map(|key| key.0.to_string()).collect(),
            "login" => session
                .and_then(|session| session.info.as_ref())
                .map(|info| info.auth_methods.iter().map(|method| method.id.clone()).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// A picker whose choice is acted on; without a choice nothing happens.
    pub fn offer(
        &mut self,
        prompt: &str,
        kind: &'static str,
        items: Vec<String>,
        then: impl FnOnce(&mut App, usize) -> Result<()> + 'static,
    ) -> Result<()> {
        let prompt = prompt.to_owned();
        self.cx.run_effect("the picker failed", move |editor| {
            picker::select(editor, &prompt, kind, items, move |index| {
                if let Some(index) = index {
                    run(move |app| then(app, index));
                }
            })
        });
        Ok(())
    }

    /// Takes up what waits for a decision about the file in this window.
    fn settle_file(&mut self) -> Result<()> {
        let buf = self.cx.editor.current_buf()?;
        if let Some(ask) = self.cx.conflicts.of(buf) {
            return self.put_up_conflict(ask);
        }
        match self.offer_gone(buf)? {
            true => Ok(()),
            false => fail("nothing to settle: this file is neither gone nor in conflict"),
        }
    }
}
