//! Sessions live and stored, and logging in to their agents.

use std::path::Path;

use mlua::Result;
use serde_json::json;

use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{AuthKind, AuthMethod, Command, StoredSession};
use crate::core::session::Session;
use crate::core::store::record::{Kept, ago, holds};
use crate::core::store::stored_sessions::Earlier;
use crate::core::text::one_line;
use crate::core::transcript::cut_middle;
use crate::nvim::actions::{NO_SESSION, fail};
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::editor::picker;
use crate::nvim::run;

impl App {
    /// Lets the user choose among the sessions of this Neovim and those that are remembered; with words
    /// only among those in which they were said.
    pub fn choose_session(&mut self, words: Vec<String>) -> Result<()> {
        if let [number] = &words[..]
            && let Ok(number) = number.parse()
        {
            let key = SessionKey(number);
            if !self.cx.sessions.contains_key(&key) {
                return fail(format!("there is no session {number}"));
            }
            return self.show(key);
        }
        self.recall(move |app, stored| app.gather_sessions(words, stored))
    }

    /// The sessions of this Neovim, earlier ones, and the agents that have not told theirs in time.
    pub fn offer_sessions(
        &mut self,
        words: &[String],
        mut earlier: Vec<Earlier>,
        late: Vec<AgentId>,
        root: &Path,
    ) -> Result<()> {
        let live = self.cx.sessions.values().filter(|session| {
            words.is_empty() || {
                let prompts = session.prompts().map(|prompt| &**prompt);
                holds(session.title.as_deref().into_iter().chain(prompts), words)
            }
        });
        let live: Vec<SessionKey> = live.map(|session| session.key).collect();
        if live.is_empty() && earlier.is_empty() && late.is_empty() {
            return match words {
                [] => fail(NO_SESSION),
                words => fail(format!("there is no session with {:?} in it", words.join(" "))),
            };
        }
        let now = self.cx.now().0;
        let width = self.item_width();
        let mut items: Vec<String> =
            live.iter().filter_map(|key| self.cx.sessions.get(key)).map(describe_live).collect();
        items.extend(earlier.iter().map(|earlier| describe_kept(&earlier.kept, root, words, now)));
        items.extend(late.iter().map(|agent| format!("Earlier sessions of {} …", self.agent_name(*agent))));
        let items = items.iter().map(|item| cut(item, width)).collect();
        self.offer("Sessions", "acp_session", items, move |app, index| {
            if let Some(key) = live.get(index) {
                return app.show(*key);
            }
            let index = index - live.len();
            if index < earlier.len() {
                let Earlier { kept, listed } = earlier.swap_remove(index);
                return match listed {
                    Some((agent, stored)) => app.take_up(agent, stored),
                    None => app.take_up_kept(kept),
                };
            }
            let root = app.cx.root();
            app.list_stored(late[index - earlier.len()], root)
        })
    }

    /// How long an item may be. Neovim's own picker lists all items at once, where a line each is enough;
    /// others search in all of an item's text.
    fn item_width(&self) -> usize {
        match picker::is_builtin(&self.cx.editor) {
            true => usize::from(self.cx.editor.size().0).saturating_sub(6).max(30),
            false => 400,
        }
    }

    /// Takes up the session of this project that was used last.
    pub fn resume(&mut self, agent: Option<&str>) -> Result<()> {
        let root = self.cx.root();
        let agent = agent.map(str::to_owned);
        self.recall(move |app, stored| {
            let fits = |kept: &Kept| {
                kept.is_of(&root) && agent.as_ref().is_none_or(|agent| *agent == kept.owner.agent)
            };
            match stored.into_iter().find(fits) {
                Some(kept) => app.take_up_kept(kept),
                None => {
                    fail(format!("no earlier session is known in {}; :AcpChat starts one", root.display()))
                }
            }
        })
    }

    /// Gives what is remembered to a function of the user's.
    pub fn tell_recalled(&mut self, args: crate::nvim::actions::Args) -> Result<()> {
        let Some(then) = args.then else { return fail("a function that takes the sessions is missing") };
        let words = args.words;
        self.recall(move |app, stored| {
            let list: Vec<serde_json::Value> = stored
                .iter()
                .filter(|kept| kept.holds(&words))
                .map(|kept| {
                    let prompts: Vec<&str> = kept.prompts.iter().map(|prompt| prompt.text.as_str()).collect();
                    json!({
                        "name": kept.owner.agent,
                        "id": kept.owner.acp_id,
                        "cwd": kept.owner.cwd,
                        "title": kept.title,
                        "prompts": prompts,
                        "began": kept.began / 1000,
                        "used": kept.used / 1000,
                    })
                })
                .collect();
            app.cx.attempt("a function for sessions() failed", move |editor| {
                then.call::<()>(crate::nvim::lua_data::to_lua(&editor.lua, &list)?)
            });
            Ok(())
        })
    }

    /// The user calls the session this; asked for it where nothing is given.
    pub fn rename(&mut self, title: &str) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        if !title.trim().is_empty() {
            return self.rename_to(key, title);
        }
        let before = self.cx.sessions.get(&key).and_then(|session| session.title.clone()).unwrap_or_default();
        self.cx.effects.push_back(Box::new(move |editor| {
            let shown = picker::input(editor, "Call the session", &before, move |title| {
                if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
                    run(move |app| app.rename_to(key, &title));
                }
            });
            if let Err(error) = shown {
                editor.notify(
                    &format!("couldn't ask for a name: {error}; give it to :Acp rename"),
                    Level::Error,
                );
            }
        }));
        Ok(())
    }

    fn rename_to(&mut self, key: SessionKey, title: &str) -> Result<()> {
        let Some(session) = self.cx.sessions.get_mut(&key) else { return Ok(()) };
        session.rename(title);
        self.keep_title(key)?;
        self.after_change(key)
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
                    1 => {
                        if let Some(name) = app.configured_name(agent) {
                            app.forget(name, stored.acp_id.clone())?;
                        }
                        app.send(Command::Delete { agent, acp_id: stored.acp_id })
                    }
                    _ => Ok(()),
                })
            });
        }
        let can = self.agents().into_iter().find(|(known, _)| *known == agent).map(|(_, info)| info.can);
        if !can.is_some_and(|can| can.load || can.resume) {
            return fail(format!("{name} lists its sessions, but cannot resume one"));
        }
        let items = stored.iter().map(describe_stored).collect();
        self.offer("Take up", "acp_session", items, move |app, index| {
            app.take_up(agent, stored[index].clone())
        })
    }

    /// Deletes a stored session: the agent's own where it can, else what is remembered here.
    pub fn choose_deletion(&mut self) -> Result<()> {
        let here = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let can = here.and_then(|session| session.info.as_ref()).map(|info| info.can).unwrap_or_default();
        if let Some(session) = here.filter(|_| can.list && can.delete) {
            let (agent, cwd) = (session.agent, session.place.cwd.clone());
            self.deleting = true;
            return self.list_stored(agent, cwd);
        }
        let name = here.map(|session| session.name());
        self.recall(move |app, stored| {
            if stored.is_empty() {
                return match name {
                    Some(name) => {
                        fail(format!("{name} cannot delete stored sessions, and none is remembered here"))
                    }
                    None => fail("no earlier session is remembered"),
                };
            }
            let (now, root, width) = (app.cx.now().0, app.cx.root(), app.item_width());
            let items = stored.iter().map(|kept| cut(&describe_kept(kept, &root, &[], now), width)).collect();
            app.offer("Forget for good", "acp_session", items, move |app, index| {
                let kept = stored[index].clone();
                let question = format!(
                    "Forget {}? What {} itself has stored of it stays.",
                    crate::core::transcript::cut_middle(&kept.headline(), 60),
                    kept.owner.agent
                );
                let items = vec!["No".to_owned(), "Yes, forget it".to_owned()];
                app.offer(&question, "acp_confirm", items, move |app, answer| match answer {
                    1 => app.forget(kept.owner.agent, kept.owner.acp_id),
                    _ => Ok(()),
                })
            })
        })
    }

    pub fn log_out(&mut self) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if !session.info.as_ref().is_some_and(|info| info.can.logout) {
            return fail(format!("{} offers no logout; its own program may", session.name()));
        }
        let agent = session.agent;
        self.send(Command::Logout { agent })
    }

    pub fn login(&mut self, word: Option<&str>) -> Result<()> {
        let Some(key) = self.cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.cx.sessions.get(&key) else { return fail(NO_SESSION) };
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
            .map(|method| match (&method.description, method.command_line()) {
                (_, Some(line)) => format!("{}: runs {line} in a terminal", method.name),
                (Some(description), None) => format!("{}: {description}", method.name),
                (None, None) => method.name.clone(),
            })
            .collect();
        self.offer("Log in", "acp_login", items, move |app, index| app.log_in_by(key, methods[index].clone()))
    }

    /// A method of type agent is a request; one of type terminal is the agent's own program, or a command
    /// that it names, run where the user can answer it, and then the agent anew.
    fn log_in_by(&mut self, key: SessionKey, method: AuthMethod) -> Result<()> {
        let Some(agent) = self.cx.sessions.get(&key).map(|session| session.agent) else { return Ok(()) };
        let Some(launch) = self.launch_of(key).cloned() else { return fail("the agent was never started") };
        let (mut command, args, env) = match method.kind {
            AuthKind::Agent => return self.send(Command::Login { agent, method: method.id }),
            AuthKind::Terminal { args, env } => {
                let own = std::iter::once(launch.command).chain(launch.args);
                (own.collect::<Vec<_>>(), args, env)
            }
            AuthKind::Command { command, args, env } => match self.cx.editor.program(&command) {
                Some(path) => (vec![path.to_string_lossy().into_owned()], args, env),
                None => {
                    let how = crate::config::preset(&launch.name).map(|preset| preset.how_to_install());
                    let how =
                        how.unwrap_or_else(|| "install it, or log in with the agent's own program".into());
                    return fail(format!("couldn't start the login: no such program {command:?}: {how}"));
                }
            },
            AuthKind::Unsupported(kind) => return fail(format!("this client cannot log in by {kind:?}")),
        };
        command.extend(args);
        let env: Vec<(String, String)> = launch.env.into_iter().chain(env).collect();
        let cwd = launch.cwd;
        self.cx.effects.push_back(Box::new(move |editor| {
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
}

/// One line of the picker: who, what about, and what it does.
fn describe_live(session: &Session) -> String {
    let title = session.title.as_deref().or(session.first_prompt()).unwrap_or("nothing said yet");
    let whole = one_line(title);
    let title = cut_middle(&whole, 60);
    let state = match crate::nvim::chat::winbar::state(session) {
        "waiting" => "waiting for you",
        state => state,
    };
    let mut item = format!("{}: {title} · {state}", session.name());
    let last = session.prompts().last().map(|prompt| one_line(prompt)).filter(|last| *last != whole);
    if let Some(last) = last {
        item.push_str(&format!(" · {last}"));
    }
    item
}

/// The same for one that is remembered: when it was used, where if not here, what was asked.
fn describe_kept(kept: &Kept, root: &std::path::Path, words: &[String], now: u64) -> String {
    let whole = kept.headline();
    let mut item = format!("{}: {}", kept.owner.agent, cut_middle(&whole, 60));
    if kept.used > 0 {
        item.push_str(&format!(" · {}", ago(now.saturating_sub(kept.used))));
    }
    if !kept.is_of(root) {
        item.push_str(&format!(" · {}", kept.owner.cwd.display()));
    }
    if let Some(excerpt) = kept.excerpt(words).filter(|excerpt| *excerpt != whole) {
        item.push_str(&format!(" · {excerpt}"));
    }
    // For pickers that search in it; nobody else sees that much of it.
    for prompt in kept.prompts.iter().rev().skip(1) {
        if item.len() > 2000 {
            break;
        }
        item.push_str(&format!(" · {}", one_line(&prompt.text)));
    }
    item
}

/// A text of at most `width` characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
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
/// What `status()` says of one session.
pub fn session_status(app: &App, key: SessionKey) -> Option<serde_json::Value> {
    let session = app.cx.sessions.get(&key)?;
    let cost = session.cost.as_ref().map(|cost| format!("{:.2} {}", cost.amount, cost.currency));
    let context =
        session.usage.filter(|(_, size)| *size > 0).map(|(used, size)| used.saturating_mul(100) / size);
    Some(json!({
        "session": key.0,
        "agent": session.name(),
        "name": session.agent_name,
        "title": session.title,
        "cwd": session.place.cwd,
        "state": crate::nvim::chat::winbar::state(session),
        "buffer": app.chats.get(&key).map(|chat| chat.transcript.0),
        "prompt": app.chats.get(&key).map(|chat| chat.prompt.0),
        "mode": crate::nvim::chat::winbar::mode(session),
        "model": crate::nvim::chat::winbar::model(session),
        "queued": session.queue().len(),
        "left": session.left().iter().map(|command| &command.line).collect::<Vec<_>>(),
        "context": context,
        "location": app.location_status(key),
        "cost": cost,
    }))
}
