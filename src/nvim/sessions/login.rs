//! Logging in to agents and out of them. What a login needs that failed before it is `core::session`'s part.

use std::rc::Rc;

use mlua::Result;

use crate::core::ids::SessionKey;
use crate::core::message::{AuthKind, AuthMethod, AuthStatus, Command};
use crate::core::session::Session;
use crate::core::session::login::LoginCommand;
use crate::nvim::arguments::{NO_SESSION, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::float::float_above;
use crate::nvim::editor::{Editor, Level, Win, picker};
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
            let restart = cx.config.keys.restart();
            return fail(format!("{name} offers no login; use its own program, then {restart}"));
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
        let own = || std::iter::once(launch.command.clone()).chain(launch.args.iter().cloned());
        let (mut words, args, env) = match method.kind {
            AuthKind::Agent => {
                cx.send(Command::Login { agent, method: method.id });
                return Ok(());
            }
            AuthKind::Terminal { args, env } => (own().collect::<Vec<_>>(), args, env),
            AuthKind::Command { command, args, env } => match cx.editor.program(&command) {
                Some(path) => (vec![path.to_string_lossy().into_owned()], args, env),
                None => return fail(no_such_program(&launch.name, &command)),
            },
            AuthKind::Unsupported(kind) => return fail(format!("this client cannot log in by {kind:?}")),
        };
        words.extend(args);
        let leaves_sandbox = launch.sandbox.is_some();
        let command = LoginCommand { words, env, own_env: launch.env, cwd: launch.cwd, leaves_sandbox };
        ask_to_run(cx, key, command);
        Ok(())
    }
}

fn no_such_program(agent: &str, command: &str) -> String {
    let how = crate::config::preset(agent).map(|preset| preset.how_to_install());
    let how = how.unwrap_or_else(|| "install it, or log in with the agent's own program".into());
    format!("couldn't start the login: no such program {command:?}: {how}")
}

/// The user sees all of what would be run, and says whether it may.
fn ask_to_run(cx: &mut Context, key: SessionKey, command: LoginCommand) {
    let Some(name) = cx.sessions.get(&key).map(Session::name) else { return };
    let preview = Rc::new(command.page(&name));
    cx.run_effect("couldn't ask about the login", move |editor| {
        let prompt = format!("Run this to log in to {name}?");
        let items = vec!["No".to_owned(), "Yes, run it".to_owned()];
        let covered = picker::rows_covered(editor, &prompt, &items);
        let Some(win) = float_above(editor, &preview, covered)? else {
            let text = "couldn't log in: the screen has no room to show all that would be run; log in with the agent's \
                        own program";
            editor.notify(text, Level::Error);
            return Ok(());
        };
        // What is asked about is on the screen when the picker opens.
        editor.command("redraw")?;
        let offer = picker::Offer { prompt: &prompt, kind: "acp_confirm", items, preview };
        let asked = picker::offer(editor, offer, move |answer| {
            context::run(move |_: &mut Sessions, cx| {
                close_page(&cx.editor, win)?;
                match answer {
                    Some(1) => run(cx, key, command),
                    _ => cx.notify("nothing was run; :Acp login asks again".to_owned(), Level::Info),
                }
                Ok(())
            });
        });
        if asked.is_err() {
            close_page(editor, win)?;
        }
        asked
    });
}

fn close_page(editor: &Editor, win: Win) -> Result<()> {
    if editor.win_is_valid(win) { editor.close_win(win) } else { Ok(()) }
}

fn run(cx: &mut Context, key: SessionKey, command: LoginCommand) {
    cx.run_effect("couldn't start the login", move |editor| {
        let done = editor.lua.create_function(move |_, code: i64| {
            context::run(move |_: &mut Sessions, cx| match code {
                0 => {
                    cx.raise(EditorEvent::LoginEnded(key));
                    Ok(())
                }
                _ => fail(format!("the login ended with exit code {code}; :Acp login tries again")),
            });
            Ok(())
        })?;
        editor.run_in_terminal(&command.words, &command.variables(), &command.cwd, done)
    });
}
