//! Files outside of the sessions' folders: how the user is asked about one, and how what was allowed is
//! seen and taken back. What an answer counts for is `core::store::allowlist`, which question is next `queue`.

use std::path::Path;

use mlua::Result;
use serde_json::json;

use crate::config::OutsideFiles;
use crate::core::ids::{AskId, Moment, SessionKey};
use crate::core::message::{Access, AskReason, Command, RulesNews};
use crate::core::rules::{Judgement, in_force};
use crate::core::session::Session;
use crate::core::session::entry::{Body, Subject};
use crate::core::session::outside::OutsideUse;
use crate::core::store::allowlist::{Allowed, Rules, Until, doing};
use crate::core::text::fitting::cut_middle;
use crate::core::transcript::rules::dangers;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::editor::picker::plain;
use crate::nvim::questions::Questions;

/// Of a command, in cells: the chat has all of it.
const SHOWN: usize = 80;

/// In the folder that `stdpath("state")` names.
const KEPT: &str = "acp-allowed.json";

impl Questions {
    /// Tells the background, if there is one, what the user's options say.
    pub fn tell_outside_rules(cx: &mut Context) -> Result<()> {
        if !cx.has_background {
            return Ok(());
        }
        let state: String = cx.editor.func("stdpath", "state")?;
        let files = &cx.config.files;
        let rules = Rules {
            ask: files.outside == OutsideFiles::Ask,
            read: files.allowed.read.clone(),
            write: files.allowed.write.clone(),
            kept: Some(Path::new(&state).join(KEPT)),
        };
        cx.send(Command::Outside { rules });
        let permission = &cx.config.permission;
        let rules = in_force(&permission.sets, &permission.rules);
        let files = cx.rule_files()?;
        cx.send(Command::Rules(RulesNews::Are { rules, files }));
        Ok(())
    }

    pub(super) fn asked_outside(
        cx: &mut Context,
        (key, ask): (SessionKey, AskId),
        usage: OutsideUse,
        now: Moment,
    ) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let doing = doing_what(usage.access, usage.command.as_deref());
        let path = usage.path.clone();
        let commands = session.asked_outside(ask, usage, now);
        let waits = commands.is_empty();
        let name = session.name();
        cx.send_all(commands);
        if waits {
            let title = format!("{doing} {}", plain(&path.display().to_string()));
            cx.announce(key, &format!("{name} asks to {title}"), Level::Warn);
            cx.emit("AcpPermissionAsked", key, json!({ "title": title, "path": path.to_string_lossy() }));
        }
    }

    /// What a question for permission is headed with, if it is about a file outside.
    pub fn outside_prompt(session: &Session, ask: AskId) -> Option<String> {
        match &session.entry(session.open_ask(ask)?.entry)?.body {
            Body::Elicitation(asked) => match &asked.subject {
                Subject::Outside { access, why, command, judgement, .. } => Some(format!(
                    "{} asks to {} {}{}, {}",
                    asked.asker,
                    doing_what(*access, command.as_deref()),
                    plain(&asked.message),
                    marked(judgement.as_deref()),
                    match why {
                        AskReason::OutsideFolders => "outside of its folders".to_owned(),
                        AskReason::LinkedOutside => "which has other names outside of its folders".to_owned(),
                        AskReason::Rule(rule) => format!("asked because: {}", plain(rule)),
                    },
                )),
                Subject::Limit => Some(format!("{} {}", asked.asker, asked.message)),
                Subject::Form(_) | Subject::Page(_) => None,
            },
            _ => None,
        }
    }

    /// `:Acp paths`: what is allowed, as far as the background knows, to choose what to take back.
    pub fn list_allowed(cx: &mut Context) {
        cx.send(Command::ListAllowed);
    }

    pub fn offer_allowed(cx: &mut Context, allowed: Vec<Allowed>, trouble: Option<String>) {
        if let Some(trouble) = trouble {
            cx.notify(trouble, Level::Warn);
        }
        if allowed.is_empty() {
            let text = "agents may use no path outside their folders without asking";
            cx.notify(text.to_owned(), Level::Info);
            return;
        }
        let items = allowed.iter().map(|allowed| describe(cx, allowed)).collect();
        let prompt = "Allowed outside of the sessions' folders; choose what to take back";
        cx.offer(prompt, "acp_path", items, move |_: &mut Self, cx, index| {
            disallow(cx, allowed[index].clone());
            Ok(())
        });
    }
}

fn disallow(cx: &mut Context, allowed: Allowed) {
    let what = what(&allowed);
    if allowed.until == Until::Configured {
        cx.notify(format!("{what} is allowed in your options: remove it from files.allowed"), Level::Info);
        return;
    }
    cx.send(Command::Revoke { allowed });
    cx.notify(format!("{what} is not allowed any more"), Level::Info);
}

fn describe(cx: &Context, allowed: &Allowed) -> String {
    let until = match allowed.until {
        Until::SessionEnds(key) => {
            let name = cx.sessions.get(&key).map(Session::name).unwrap_or_default();
            format!("for {name} until session {} ends", key.0)
        }
        Until::Revoked => "always".to_owned(),
        Until::Configured => "by your options".to_owned(),
    };
    format!("{}  ({until})", what(allowed))
}

fn what(allowed: &Allowed) -> String {
    let doing = match &allowed.command {
        Some(command) => format!("running {}", cut_middle(&plain(command), SHOWN)),
        None => doing(allowed.access).to_owned(),
    };
    format!("{doing} in {}", allowed.path.display())
}

/// What is dangerous about it.
fn marked(judgement: Option<&Judgement>) -> String {
    let dangers = judgement.and_then(|judgement| dangers(&judgement.ruling));
    dangers.map(|words| format!(" [! {words}]")).unwrap_or_default()
}

/// Whether a picker shows only the beginning and the end of a command.
pub fn is_command_cut(command: &str) -> bool {
    command.trim().contains('\n') || command.chars().count() > SHOWN
}

fn doing_what(access: Access, command: Option<&str>) -> String {
    match (access, command) {
        (_, Some(command)) => format!("run {} in", cut_middle(&plain(command), SHOWN)),
        (Access::Read, None) => "read".to_owned(),
        (Access::Wrote, None) => "write".to_owned(),
    }
}
