//! An agent asks for permission: the user's rules are held against that in the background, and the user is asked
//! only what they leave open.

use mlua::Result;

use crate::core::ids::{AskId, SessionKey};
use crate::core::message::{
    Branch, Command, Outcome, PermissionOption, RulesNews, Severity, ToolCallPatch, Work,
};
use crate::core::rules::{Request, Ruling};
use crate::core::session::entry::Body;
use crate::core::session::status::mode_id;
use crate::nvim::context::Context;
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
        let is_replay = cx.sessions.get(&key).is_some_and(|session| session.plays_recording());
        match request {
            // What was recorded is decided already.
            Some(_) if is_replay => Self::permission_judged(cx, key, ask, None),
            Some(request) => Self::judge(cx, key, ask, request),
            None => {}
        }
    }

    fn judge(cx: &mut Context, key: SessionKey, ask: AskId, request: Request) {
        let Ok(case) = cx.case(Some(key), request.clone()) else {
            return Self::permission_judged(cx, key, ask, None);
        };
        let changes_of = move |cx: &Context| cx.sessions.get(&key).map(|session| session.rule_changes);
        let before = changes_of(cx);
        cx.compute(Work::Judge(Box::new(case)), move |_: &mut Self, cx, outcome| {
            let Outcome::Judged(ruling) = outcome else { return Ok(()) };
            match changes_of(cx) == before {
                true => Self::permission_judged(cx, key, ask, ruling),
                false => Self::judge(cx, key, ask, request),
            }
            Ok(())
        });
    }

    /// The user has other rules now: what waits is held against them. What is being judged is judged again after that.
    pub fn judge_waiting(cx: &mut Context) {
        cx.sessions.values_mut().for_each(|session| session.rule_changes += 1);
        let waiting = cx.sessions.values().flat_map(|session| {
            let open = session.asks().iter().filter(|open| open.is_permission());
            open.filter_map(|open| {
                let request = match &session.entry(open.entry)?.body {
                    Body::Tool(call) => call.requested(&session.place.cwd),
                    Body::Elicitation(asked) => asked.asked_by_rule()?.request.clone(),
                    _ => return None,
                };
                Some((session.key, open.ask, request))
            })
        });
        let held = cx.sessions.values().flat_map(|session| {
            let open = session.held_by_limit();
            open.filter_map(|open| {
                let call = session.entry(open.entry)?.tool()?;
                Some((session.key, open.ask, call.requested(&session.place.cwd)))
            })
        });
        let (waiting, held): (Vec<_>, Vec<_>) = (waiting.collect(), held.collect());
        for (key, ask, request) in held {
            Self::judge(cx, key, ask, request);
        }
        for (key, ask, request) in waiting {
            let Ok(case) = cx.case(Some(key), request) else { continue };
            cx.compute(Work::Judge(Box::new(case)), move |_: &mut Self, cx, outcome| {
                if let Outcome::Judged(ruling) = outcome {
                    Self::judged_again(cx, key, ask, ruling);
                }
                Ok(())
            });
        }
    }

    fn judged_again(cx: &mut Context, key: SessionKey, ask: AskId, ruling: Option<Box<Ruling>>) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let entry = session.open_ask(ask).map(|open| open.entry);
        let commands = session.judged_again(ask, ruling, now);
        if commands.is_empty() {
            return;
        }
        cx.send_all(commands);
        if let Some(entry) = entry {
            cx.raise(EditorEvent::CallChanged { session: key, entry, moved: false, content: false });
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }

    /// Finds out whether there are rules in a session's folder that don't count.
    pub fn check_rules(cx: &mut Context, key: SessionKey) -> Result<()> {
        let Some(session) = cx.sessions.get(&key).filter(|session| !session.plays_recording()) else {
            return Ok(());
        };
        let work = Work::FolderRules { cwd: session.place.cwd.clone(), files: cx.rule_files()? };
        cx.compute(work, move |_: &mut Self, cx, outcome| {
            match outcome {
                Outcome::FolderRules(found) if !found.is_unknown() => {
                    Self::tell_rules_problem(cx, key, found.problem());
                }
                _ => {}
            }
            Ok(())
        });
        Ok(())
    }

    /// Says once in a chat what is wrong with its rules.
    fn tell_rules_problem(cx: &mut Context, key: SessionKey, problem: Option<String>) {
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        if session.rules_problem == problem {
            return;
        }
        session.rules_problem.clone_from(&problem);
        if let Some(text) = problem {
            cx.note(Some(key), Severity::Warning, text);
        }
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
        let rules = session.rules.clone();
        cx.send(Command::Rules(RulesNews::Who { session: key, agent, mode }));
        if !rules.is_empty() {
            cx.send(Command::Rules(RulesNews::OfSession { session: key, rules }));
        }
    }

    fn permission_judged(cx: &mut Context, key: SessionKey, ask: AskId, ruling: Option<Box<Ruling>>) {
        let now = cx.now();
        let Some(session) = cx.sessions.get_mut(&key) else { return };
        let Some((entry, _)) = session.to_judge(ask) else { return };
        // What was not judged tells nothing of rules.
        let problem = ruling.as_ref().map(|ruling| ruling.problem.clone());
        let commands = session.judged(ask, ruling, now);
        let waits = session.open_ask(ask).is_some();
        let call = session.entry(entry).and_then(|entry| entry.tool());
        let title = call.map(|call| call.headline()).unwrap_or_default();
        let request = call.map(|call| call.request()).unwrap_or_default();
        cx.send_all(commands);
        if let Some(problem) = problem {
            Self::tell_rules_problem(cx, key, problem);
        }
        cx.raise(EditorEvent::CallChanged { session: key, entry, moved: false, content: false });
        if waits {
            cx.raise(EditorEvent::PermissionAsked { session: key, title, request, entry: Some(entry) });
        }
        cx.raise(EditorEvent::SessionChanged(key));
    }
}
