//! An agent asks for permission: the user's rules are held against that in the background, and the user is asked
//! only what they leave open.

use std::path::PathBuf;

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::message::{
    Branch, Command, Outcome, PermissionOption, Place, RulesNews, Severity, ToolCallPatch, Work,
};
use crate::core::replay;
use crate::core::rules::{Case, Request, Ruling, in_force};
use crate::core::session::status::mode_id;
use crate::nvim::context::Context;
use crate::nvim::editor::Editor;
use crate::nvim::events::EditorEvent;
use crate::nvim::sessions::Sessions;

impl Sessions {
    pub fn permission_asked(
        cx: &mut Context,
        (key, branch): (SessionKey, Option<&Branch>),
        ask: AskId,
        call: ToolCallPatch,
        options: Vec<PermissionOption>,
    ) {
        let (now, id) = (cx.now(), call.id.clone());
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let commands = session.within(branch, |session| session.asked_first(ask, call, options, now));
        let entry = session.call_entry(&id);
        let request = session.to_judge(ask).map(|(_, call)| call.requested(&session.place.cwd));
        cx.send_all(commands);
        if let Some(entry) = entry {
            cx.raise(EditorEvent::CallChanged { session: key, entry, moved: true, content: true });
        }
        let is_replay = cx.sessions.get(&key).is_some_and(|session| session.agent_name == replay::NAME);
        match request {
            // What was recorded is decided already.
            Some(_) if is_replay => Self::permission_judged(cx, key, ask, None),
            Some(request) => Self::judge(cx, key, ask, request),
            None => {}
        }
    }

    fn judge(cx: &mut Context, key: SessionKey, ask: AskId, request: Request) {
        let Ok(case) = Self::case(cx, Some(key), request) else {
            return Self::permission_judged(cx, key, ask, None);
        };
        cx.compute(Work::Judge(Box::new(case)), move |_: &mut Self, cx, outcome| {
            let Outcome::Judged(ruling) = outcome else { return Ok(()) };
            Self::permission_judged(cx, key, ask, ruling);
            Ok(())
        });
    }

    /// Tells the background for whom rules count, if that is news.
    pub fn tell_who(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get(&key) else { return };
        let who = (session.agent_name.clone(), mode_id(session));
        if self.told_who.get(&key) == Some(&who) {
            return;
        }
        let (agent, mode) = who.clone();
        self.told_who.insert(key, who);
        cx.send(Command::Rules(RulesNews::Who { session: key, agent, mode }));
    }

    /// What rules are held against, for a session as it is now; without one for an agent without a name, in the
    /// current folder.
    pub fn case(cx: &Context, key: Option<SessionKey>, request: Request) -> Result<Case> {
        let session = key.and_then(|key| cx.sessions.get(&key));
        let place = match session {
            Some(session) => session.place.clone(),
            None => Place { cwd: cx.editor.func::<String>("getcwd", ())?.into(), ..Place::default() },
        };
        let permission = &cx.config.permission;
        Ok(Case {
            request,
            agent: session.map(|session| session.agent_name.clone()).unwrap_or_default(),
            mode: session.and_then(mode_id),
            folders: place.folders().cloned().collect(),
            cwd: place.cwd,
            home: None,
            rules: in_force(&permission.sets, &permission.rules),
            trust: trust_list(&cx.editor),
        })
    }

    fn permission_judged(cx: &mut Context, key: SessionKey, ask: AskId, ruling: Option<Box<Ruling>>) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let Some((entry, _)) = session.to_judge(ask) else { return };
        let agent = session.agent;
        let problem = ruling.as_ref().and_then(|ruling| ruling.problem.clone());
        let news = problem.clone().filter(|_| session.rules_problem != problem);
        session.rules_problem = problem;
        let commands = session.judged(ask, ruling, now);
        let waits = commands.is_empty();
        let call = session.entry(entry).and_then(|entry| entry.tool());
        let title = call.map(|call| call.headline()).unwrap_or_default();
        let request = call.map(|call| call.request()).unwrap_or_default();
        cx.send_all(commands);
        if let Some(text) = news {
            Self::note(cx, (agent, Some(key)), Severity::Warning, text);
        }
        cx.raise(EditorEvent::CallChanged { session: key, entry, moved: false, content: false });
        if waits {
            cx.raise(EditorEvent::PermissionAsked { session: key, title, request, entry: Some(entry) });
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }
}

/// Neovim's list of trusted files.
pub fn trust_list(editor: &Editor) -> Option<PathBuf> {
    let state: String = editor.func("stdpath", "state").ok()?;
    Some(PathBuf::from(state).join("trust"))
}
