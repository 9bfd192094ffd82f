//! What a user can do, by name: the subcommands of `:Acp`, `:AcpChat`, the chat's keys and the Lua
//! API all end here. Each action finds what it is about, does one thing, and says what to do next
//! when there is nothing it could be done to.

pub mod library;
pub mod views;

use mlua::{Function, Lua, LuaSerdeExt as _, Result, Table, Value};
use serde_json::json;

use crate::config::Config;
use crate::core::ids::{AskId, SessionKey};
use crate::core::message::OptionKind;
use crate::core::session::options::{models, modes};
use crate::core::session::{Phase, Session};
use crate::core::text::visible::visible_line;
use crate::nvim::app::App;
pub use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::chat::images;
use crate::nvim::chat::transcript::{has_change, is_call};
use crate::nvim::enter;
use crate::nvim::inspector::Inspector;
use crate::nvim::lua_data::to_lua;
use crate::nvim::prompt::Prompts;
use crate::nvim::questions::Questions;
use crate::nvim::questions::permission::Decision;
use crate::nvim::review::actions::Verdict;
use crate::nvim::sessions::{Sessions, subagents};
use crate::nvim::terminals::Terminals;

/// Takes the user's options. The error has one line for each mistake.
pub fn configure(lua: &Lua, options: Value) -> Result<()> {
    let (config, choose) = read_options(lua, options)?;
    enter(|app| {
        app.follow.configure(choose);
        app.cx.config = config;
        app.sessions.options_changed(&mut app.cx);
        images::configure(&app.cx.editor, app.cx.config.chat.images)?;
        Questions::tell_outside_rules(&mut app.cx)?;
        app.route()
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
                app.agents.tell(&mut app.cx, then);
            }
            Ok(app.agents.all(&app.cx))
        })?;
        return to_lua(lua, &all);
    }
    if name == "commands" {
        return to_lua(lua, &enter(|app| Ok(app.slash_commands()))?);
    }
    if name == "find" {
        return to_lua(lua, &enter(|app| Ok(Prompts::find(&mut app.cx, args.text)))?);
    }
    let result = enter(|app| {
        if let Some(key) = args.session.filter(|key| !app.cx.sessions.contains_key(key)) {
            return fail(format!("there is no session {}", key.0));
        }
        app.cx.meant = args.session;
        let done = match name.as_str() {
            "send_for_answer" => app.send_for_answer(args),
            _ => app.act(&name, args).and_then(|()| app.route()).map(|()| serde_json::Value::Null),
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
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    fn act(&mut self, name: &str, args: Args) -> Result<()> {
        match name {
            "chat" => self.chat(&args, false),
            "new" => self.chat(&args, true),
            "toggle" => self.toggle_chat(),
            "send" => self.prompts.send_text(&mut self.cx, args),
            "ask" => self.prompts.ask(&mut self.cx, args),
            "add" => self.prompts.add_command(&mut self.cx, &args),
            "edit-prompt" => {
                let here = self.chats.entry_here(&self.cx)?;
                self.prompts.edit_prompt(&mut self.cx, here)
            }
            "history" => self.prompts.choose_past_prompt(&mut self.cx),
            "suggestions" => self.with_session(|app, key| app.prompts.choose_suggestion(&mut app.cx, key)),
            "queue" => self.prompts.choose_queued(&mut self.cx),
            "paste" => self.with_session(|app, key| app.prompts.paste_image(&mut app.cx, key)),
            "cancel" => match (self.cx.session_here(), args.first()) {
                (Some(key), None) => self.cancel_by_command(key),
                (Some(key), Some("subagent")) => {
                    let at = self.chats.entry_under_cursor(&self.cx, key)?;
                    subagents::choose(&mut self.cx, key, at)
                }
                (Some(_), Some(other)) => {
                    fail(format!("{other:?} is nothing to cancel; say subagent, or nothing"))
                }
                (None, _) => fail(NO_SESSION),
            },
            "allow" | "reject" | "choose" => {
                let under = self.ask_under_cursor();
                self.asking.decide(&mut self.cx, under, Decision::of(name, args.first()))
            }
            "answer" => {
                let under = self.ask_under_cursor();
                self.asking.answer_question(&mut self.cx, args.first(), under)
            }
            "auto" => Sessions::set_auto(&mut self.cx, args.first()),
            "changes" => self.reviews.show_changes(&mut self.cx, &args),
            "follow" => self.follow.set_follow(&mut self.cx, args.first()),
            "locations" => self.follow.list_locations(&mut self.cx, &args.words),
            "mode" => self.sessions.choose_mode(&mut self.cx, &args),
            "model" => self.sessions.choose_model(&mut self.cx, &args),
            "config" => self.sessions.choose_option(&mut self.cx, &args),
            "remembered" => {
                self.sessions.list_remembered(&mut self.cx);
                Ok(())
            }
            "sessions" => self.sessions.choose(&mut self.cx, args.words),
            "terminals" => self.terminals.choose(&mut self.cx),
            "terminal" => {
                let under = self.chats.entry_here(&self.cx)?;
                self.terminals.command(&mut self.cx, args.first(), under)
            }
            "login" => self.sessions.login(&mut self.cx, args.first()),
            "logout" => Sessions::log_out(&mut self.cx),
            "agents" => self.agents.open(&mut self.cx, args.bang),
            "plan" => self.with_session(|app, key| app.chats.toggle_plan(&app.cx, key)),
            "close" => self.with_session(Self::close_by_user),
            "export" => self.chats.export(&mut self.cx, args),
            "rename" => self.sessions.rename(&mut self.cx, &args),
            "fork" => self.sessions.fork(&mut self.cx),
            "resume" => self.sessions.resume(&mut self.cx, args.first()),
            "recall" => self.sessions.tell_recalled(&mut self.cx, args),
            "delete" => self.sessions.choose_deletion(&mut self.cx),
            "archive" => self.sessions.choose_archiving(&mut self.cx, args.bang),
            "restart" => self.with_session(Self::restart),
            "stop" => self.with_session(|app, key| app.sessions.stop(&mut app.cx, key)),
            "paths" => {
                Questions::list_allowed(&mut self.cx);
                Ok(())
            }
            "keep" | "undo" => {
                let verdict = if name == "keep" { Verdict::Keep } else { Verdict::Undo };
                let here = if args.first().is_none() { self.chats.here(&self.cx)? } else { None };
                self.reviews.decide_hunks(&mut self.cx, verdict, &args, here)
            }
            "next_hunk" | "previous_hunk" => self.reviews.step_hunk(&mut self.cx, name == "next_hunk"),
            "blame" => self.reviews.blame(&mut self.cx),
            "settle" => self.settle_file(),
            "checkpoints" => self.checkpoints.choose(&mut self.cx),
            "review" => self.reviews.open_review(&mut self.cx, &args),
            "comment" => self.reviews.comment_command(&mut self.cx, &args),
            "comments" => self.reviews.comments_command(&mut self.cx, &args),
            "diff" => self.reviews.diff_command(&mut self.cx, args.first()),
            "adopt" => {
                self.reviews.adopt_left(&mut self.cx);
                Ok(())
            }
            "fingerprint" => self.compute_fingerprint(args),
            "log" => self.open_log(),
            "replay" => self.inspector.replay(&mut self.cx, &args),
            "record" => self.inspector.record(&mut self.cx, &args),
            "inspect" => self.inspector.open(&mut self.cx, args.first()),
            "audit" => self.audit.command(&mut self.cx, &args),
            "usage" => self.usage.show(&mut self.cx),
            "permissions" => self.rules.show(&mut self.cx, args.text.trim()),
            "keys" => self.show_keys(),
            _ => fail(format!("there is no action {name:?}; :Acp alone lists them")),
        }
    }

    /// The question of the entry under the cursor, in a chat.
    fn ask_under_cursor(&self) -> Option<AskId> {
        Questions::ask_at(&self.cx, self.chats.entry_here(&self.cx).ok()?)
    }

    fn with_session(&mut self, act: impl FnOnce(&mut Self, SessionKey) -> Result<()>) -> Result<()> {
        match self.cx.session_here() {
            Some(key) => act(self, key),
            None => fail(NO_SESSION),
        }
    }

    pub fn key(&mut self, name: &str) -> Result<()> {
        self.press(name)?;
        self.route()
    }

    fn press(&mut self, name: &str) -> Result<()> {
        if let "next_hunk" | "previous_hunk" = name {
            return self.reviews.step_hunk(&mut self.cx, name == "next_hunk");
        }
        if name == "ask" {
            return self.asking.take_up_next(&self.cx);
        }
        if let Some(done) = self.press_on_page(name) {
            return done;
        }
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        match name {
            "send" | "send_insert" => match self.asking.take_up_instead(&self.cx, key) {
                true => Ok(()),
                false => self.prompts.send_prompt(&mut self.cx, key),
            },
            "steer" => self.prompts.steer_prompt(&mut self.cx, key),
            "cancel" => {
                if !self.cancel(key, true)? {
                    self.cx.editor.command("stopinsert")?;
                }
                Ok(())
            }
            "prompt" => self.show(key),
            "next_entry" => self.chats.step(&self.cx, key, true, |_| true),
            "previous_entry" => self.chats.step(&self.cx, key, false, |_| true),
            "next_call" => self.chats.step(&self.cx, key, true, is_call),
            "previous_call" => self.chats.step(&self.cx, key, false, is_call),
            "next_change" => self.chats.step(&self.cx, key, true, has_change),
            "previous_change" => self.chats.step(&self.cx, key, false, has_change),
            "details" => self.chats.show_details(&mut self.cx, key),
            "yank_code" => self.chats.yank_code(&mut self.cx, key),
            "outline" => self.chats.show_outline(&self.cx, key),
            "go_to" => self.chats.go_to(&mut self.cx, key),
            "toggle" => self.chats.toggle_fold(&mut self.cx, key),
            "click" => self.chats.click(&mut self.cx, key),
            "next_mode" | "next_mode_insert" => Sessions::next_mode(&mut self.cx),
            "older_prompt" => self.prompts.browse(&mut self.cx, key, true),
            "newer_prompt" => self.prompts.browse(&mut self.cx, key, false),
            "take_back" => self.prompts.take_back_or_up(&mut self.cx, key),
            "take_suggestion" => self.prompts.take_suggestion(&mut self.cx, key, 0),
            "queue" => self.prompts.open_queue(&mut self.cx),
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
            "end_left" => {
                let at = self.chats.entry_under_cursor(&self.cx, key)?;
                match at.and_then(|entry| subagents::stoppable_at(&self.cx, key, entry)) {
                    Some(entry) => {
                        subagents::cancel(&mut self.cx, key, entry);
                        Ok(())
                    }
                    None => Terminals::end_left(&mut self.cx, key),
                }
            }
            "follow" => self.follow.set_follow(&mut self.cx, None),
            "replay_next" => Inspector::play_next(&mut self.cx),
            "locations" => self.follow.list_locations(&mut self.cx, &["pick".to_owned()]),
            "hide" => self.toggle_chat(),
            _ => fail(format!("there is no key {name:?}")),
        }
    }

    /// The keys of pages that belong to no chat; `None` when it is no such key.
    fn press_on_page(&mut self, name: &str) -> Option<Result<()>> {
        match name {
            "help" | "agents_help" | "inspect_help" | "audit_help" | "rules_help" => {
                return Some(self.show_keys());
            }
            "agents_remove" => {
                let programs = self.sessions.programs();
                return Some(self.agents.remove_listed(&mut self.cx, &programs));
            }
            _ => {}
        }
        let cx = &mut self.cx;
        let done = self.prompts.queue_key(cx, name).or_else(|| self.agents.key(cx, name));
        let done = done.or_else(|| self.inspector.key(cx, name)).or_else(|| self.audit.key(cx, name));
        let done = done.or_else(|| self.rules.key(cx, name)).or_else(|| self.terminals.key(cx, name));
        // A restore's page has keys of the review's.
        let done = done.or_else(|| match name.starts_with("review_") {
            true => self.checkpoints.preview_key(cx, name),
            false => None,
        });
        done.or_else(|| self.reviews.panel_key(cx, name))
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
            "allow" => self.asking.answers_to_name(&self.cx, self.ask_under_cursor(), |kind| !kind.rejects()),
            "reject" => self.asking.answers_to_name(&self.cx, self.ask_under_cursor(), |kind| !kind.allows()),
            "sessions" => self.cx.sessions.keys().map(|key| key.0.to_string()).collect(),
            "login" => session
                .and_then(|session| session.info.as_ref())
                .map(|info| info.auth_methods.iter().map(|method| method.id.clone()).collect())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Takes up what waits for a decision about the file in this window.
    fn settle_file(&mut self) -> Result<()> {
        let buf = self.cx.editor.current_buf()?;
        if let Some(ask) = self.cx.conflicts.of(buf) {
            self.files.ask_about_conflict(&mut self.cx, ask);
            return Ok(());
        }
        match self.files.offer_gone(&mut self.cx, buf) {
            true => Ok(()),
            false => fail("nothing to settle: this file is neither gone nor in conflict"),
        }
    }
}
