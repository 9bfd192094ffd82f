//! Sessions live and stored, and logging in to their agents.

use mlua::Result;
use serde_json::json;

use super::{NO_SESSION, fail};
use crate::core::message::{AgentId, AuthKind, AuthMethod, Command, SessionKey, StoredSession};
use crate::nvim::app::App;
use crate::nvim::editor::Level;
use crate::nvim::run;

impl App {
    pub(super) fn choose_session(&mut self, word: Option<&str>) -> Result<()> {
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

    pub(super) fn choose_deletion(&mut self) -> Result<()> {
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

    pub(super) fn log_out(&mut self) -> Result<()> {
        let Some(key) = self.session_here() else { return fail(NO_SESSION) };
        let Some(session) = self.sessions.get(&key) else { return fail(NO_SESSION) };
        if !session.info.as_ref().is_some_and(|info| info.can.logout) {
            return fail(format!("{} offers no logout; its own program may", session.name()));
        }
        let agent = session.agent;
        self.send(Command::Logout { agent })
    }

    pub(super) fn login(&mut self, word: Option<&str>) -> Result<()> {
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
        "location": app.location_status(key),
        "cost": cost,
    }))
}
