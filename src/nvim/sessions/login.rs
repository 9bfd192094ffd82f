//! Logging in to agents and out of them. What a login needs that failed before it is `core::session`'s part.

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{AuthKind, AuthMethod, AuthStatus, Command};
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::Level;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

impl Sessions {
    pub fn log_out(cx: &mut Context) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
        if !session.info.as_ref().is_some_and(|info| info.can.logout) {
            return fail(format!("{} offers no logout; its own program may", session.name()));
        }
        let agent = session.agent;
        cx.send(Command::Logout { agent });
        Ok(())
    }

    pub fn login(&self, cx: &mut Context, word: Option<&str>) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let Some(session) = cx.sessions.get(&key) else { return fail(NO_SESSION) };
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
                Some(method) => self.log_in_by(cx, key, method),
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
        let agent = session.agent;
        let prompt = match self.processes.auth(agent).and_then(AuthStatus::words) {
            Some(now) => format!("Log in (now {now})"),
            None => "Log in".to_owned(),
        };
        cx.offer(&prompt, "acp_login", items, move |sessions: &mut Self, cx, index| {
            sessions.log_in_by(cx, key, methods[index].clone())
        });
        Ok(())
    }

    /// A method of type agent is a request; one of type terminal is the agent's own program, or a command
    /// that it names, run where the user can answer it, and then the agent anew.
    fn log_in_by(&self, cx: &mut Context, key: SessionKey, method: AuthMethod) -> Result<()> {
        let Some(agent) = cx.sessions.get(&key).map(|session| session.agent) else { return Ok(()) };
        let Some(launch) = self.launch_of(cx, key).cloned() else {
            return fail("the agent was never started");
        };
        let (mut command, args, env) = match method.kind {
            AuthKind::Agent => {
                cx.send(Command::Login { agent, method: method.id });
                return Ok(());
            }
            AuthKind::Terminal { args, env } => {
                let own = std::iter::once(launch.command).chain(launch.args);
                (own.collect::<Vec<_>>(), args, env)
            }
            AuthKind::Command { command, args, env } => match cx.editor.program(&command) {
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
        cx.effects.push_back(Box::new(move |editor| {
            let done = editor.lua.create_function(move |_, code: i64| {
                context::run(move |_: &mut Sessions, cx| match code {
                    0 => {
                        cx.raise(EditorEvent::LoginEnded(key));
                        Ok(())
                    }
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
