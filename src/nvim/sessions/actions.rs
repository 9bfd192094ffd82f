//! Sessions live and stored: what the user does with them.

use mlua::Result;
use serde_json::json;

use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Command, StoredSession};
use crate::core::store::record::{Kept, names_told};
use crate::core::store::session_items::{
    List, is_about, of_earlier, of_recorded, of_session, of_stored, shortened,
};
use crate::core::store::stored_sessions::{Earlier, as_kept};
use crate::core::text::fitting::cut_middle;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::context::Context;
use crate::nvim::editor::picker;
use crate::nvim::events::EditorEvent;
use crate::nvim::lua_data::to_lua;
use crate::nvim::sessions::{Purpose, Sessions};

/// So many cells of an item pickers of plugins show.
const PICKER_WIDTH: usize = 70;

impl Sessions {
    /// Lets the user choose among the sessions of this Neovim and those that are remembered; with words
    /// only among those in which they were said.
    pub fn choose(&mut self, cx: &mut Context, words: Vec<String>) -> Result<()> {
        if let [number] = &words[..]
            && let Ok(number) = number.parse()
        {
            let key = SessionKey(number);
            if !cx.sessions.contains_key(&key) {
                return fail(format!("there is no session {number}"));
            }
            cx.raise(EditorEvent::SessionChosen(key));
            return Ok(());
        }
        self.recall(cx, move |sessions, cx, stored| sessions.gather(cx, Purpose::TakeUp, words, stored))
    }

    /// The sessions of this Neovim, earlier ones, and the agents that have not told theirs in time.
    pub(super) fn offer_sessions(
        &self,
        cx: &mut Context,
        words: &[String],
        mut earlier: Vec<Earlier>,
        late: Vec<AgentId>,
    ) -> Result<()> {
        let live = cx.sessions.values().filter(|session| is_about(session, words));
        let live: Vec<SessionKey> = live.map(|session| session.key).collect();
        if live.is_empty() && earlier.is_empty() && late.is_empty() {
            return match words {
                [] => fail(NO_SESSION),
                words => fail(format!("there is no session with {:?} in it", words.join(" "))),
            };
        }
        let (now, root, width) = (cx.now().0, cx.root(), seen_width(cx));
        let list = List { root: &root, words, now, width };
        let mut items: Vec<String> = live
            .iter()
            .filter_map(|key| cx.sessions.get(key))
            .map(|session| of_session(session, width))
            .collect();
        let told = names_told(earlier.iter().map(|earlier| &earlier.kept));
        items.extend(earlier.iter().map(|earlier| {
            let name = &earlier.kept.owner.agent;
            let agent = cx.called(name, told.get(name));
            of_earlier(earlier, &agent, list)
        }));
        items.extend(late.iter().map(|agent| format!("Earlier sessions of {} …", cx.agent_name(*agent))));
        let items = items.iter().map(|item| shortened(item, item_width(cx))).collect();
        let purpose = self.listing_for.clone();
        let prompt = if let Purpose::Rename(_) = purpose { "Rename" } else { "Sessions" };
        cx.offer(prompt, "acp_session", items, move |sessions: &mut Self, cx, index| {
            if let Some(key) = live.get(index) {
                if let Purpose::Rename(title) = purpose {
                    return sessions.rename_open(cx, *key, &title);
                }
                cx.raise(EditorEvent::SessionChosen(*key));
                return Ok(());
            }
            let index = index - live.len();
            if index < earlier.len() {
                let Earlier { kept, listed, .. } = earlier.swap_remove(index);
                match (purpose, listed) {
                    (Purpose::Rename(title), _) => return sessions.rename_stored(cx, kept, &title),
                    (_, Some((agent, stored))) => sessions.resume_listed(cx, agent, stored),
                    (_, None) => Self::resume_recorded(cx, kept),
                }
                return Ok(());
            }
            let root = cx.root();
            sessions.listing_for = purpose;
            sessions.list_stored(cx, late[index - earlier.len()], root);
            Ok(())
        });
        Ok(())
    }

    /// Resumes the session of this project that was used last.
    pub fn resume(&mut self, cx: &mut Context, agent: Option<&str>) -> Result<()> {
        let root = cx.root();
        let agent = agent.map(str::to_owned);
        self.recall(cx, move |_, cx, stored| {
            let fits = |kept: &Kept| {
                kept.is_of(&root) && agent.as_ref().is_none_or(|agent| *agent == kept.owner.agent)
            };
            let (elsewhere, free): (Vec<Kept>, Vec<Kept>) =
                stored.into_iter().filter(fits).partition(|kept| kept.elsewhere);
            if let Some(kept) = free.into_iter().next() {
                Self::resume_recorded(cx, kept);
                return Ok(());
            }
            if elsewhere.is_empty() {
                let root = root.display();
                return fail(format!("no earlier session is known in {root}; :AcpChat begins one"));
            }
            fail("this project's session is open in another Neovim; :Acp sessions")
        })
    }

    /// Gives what is remembered to a function of the user's.
    pub fn tell_recalled(&mut self, cx: &mut Context, args: Args) -> Result<()> {
        let Some(then) = args.then else { return fail("a function that takes the sessions is missing") };
        let words = args.words;
        self.recall(cx, move |_, cx, stored| {
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
                        "elsewhere": kept.elsewhere,
                    })
                })
                .collect();
            cx.run_effect("a function for sessions() failed", move |editor| {
                then.call::<()>(to_lua(&editor.lua, &list)?)
            });
            Ok(())
        })
    }

    /// The stored sessions of an agent are known: the user chooses one.
    pub(super) fn offer_stored(
        &mut self,
        cx: &mut Context,
        agent: AgentId,
        stored: Vec<StoredSession>,
    ) -> Result<()> {
        let name = cx.agent_name(agent);
        let purpose = std::mem::take(&mut self.listing_for);
        if stored.is_empty() {
            let kind = if purpose == Purpose::BringBack { "archived" } else { "earlier" };
            return fail(format!("{name} has no {kind} sessions for this folder"));
        }
        self.recall(cx, move |sessions, cx, kept| {
            let stored = sessions.with_names(cx, agent, stored, &kept);
            sessions.offer_named(cx, (agent, purpose), stored)
        })
    }

    /// The same, by the names that the user knows them by.
    fn offer_named(
        &mut self,
        cx: &mut Context,
        (agent, purpose): (AgentId, Purpose),
        stored: Vec<StoredSession>,
    ) -> Result<()> {
        let name = cx.agent_name(agent);
        let width = seen_width(cx);
        let items = stored.iter().map(|stored| of_stored(stored, width)).collect();
        match purpose {
            Purpose::TakeUp => {}
            Purpose::Rename(title) => {
                let agent = self.configured_name(agent).unwrap_or_default();
                cx.offer("Rename", "acp_session", items, move |sessions: &mut Self, cx, index| {
                    sessions.rename_stored(cx, as_kept(&agent, &stored[index]), &title)
                });
                return Ok(());
            }
            Purpose::Delete => {
                cx.offer("Delete for good", "acp_session", items, move |_: &mut Self, cx, index| {
                    confirm_deletion(cx, agent, stored[index].clone());
                    Ok(())
                });
                return Ok(());
            }
            Purpose::Archive => return Self::offer_archiving(cx, agent, stored, true),
            Purpose::BringBack => return Self::offer_archiving(cx, agent, stored, false),
        }
        if !self.processes.info(agent).is_some_and(|info| info.can.load || info.can.resume) {
            return fail(format!("{name} lists its sessions, but cannot resume one"));
        }
        cx.offer("Take up", "acp_session", items, move |sessions: &mut Self, cx, index| {
            sessions.resume_listed(cx, agent, stored[index].clone());
            Ok(())
        });
        Ok(())
    }

    /// Lets the user choose a session that the agent puts away, or one that it brings back: lists leave out those that
    /// are archived.
    pub fn choose_archiving(&mut self, cx: &mut Context, brings_back: bool) -> Result<()> {
        let Some(session) = cx.session_here().and_then(|key| cx.sessions.get(&key)) else {
            return fail(NO_SESSION);
        };
        let can = session.info.as_ref().map(|info| info.can).unwrap_or_default();
        if !(can.list && can.archive) {
            return fail(format!("{} cannot archive sessions; :Acp delete is for good", session.name()));
        }
        let (agent, cwd) = (session.agent, session.place.cwd.clone());
        self.listing_for = if brings_back { Purpose::BringBack } else { Purpose::Archive };
        self.list_stored(cx, agent, cwd);
        Ok(())
    }

    fn offer_archiving(
        cx: &mut Context,
        agent: AgentId,
        stored: Vec<StoredSession>,
        archived: bool,
    ) -> Result<()> {
        let is_open = |stored: &StoredSession| {
            cx.sessions.values().any(|session| session.acp_id.as_ref() == Some(&stored.acp_id))
        };
        let width = seen_width(cx);
        let item = |stored: &StoredSession| match archived && is_open(stored) {
            true => format!("{} · open here; its chat goes with it", of_stored(stored, width)),
            false => of_stored(stored, width),
        };
        let items = stored.iter().map(item).collect();
        let prompt = if archived { "Archive" } else { "Bring back" };
        cx.offer(prompt, "acp_session", items, move |_: &mut Self, cx, index| {
            let acp_id = stored[index].acp_id.clone();
            cx.send(Command::Archive { agent, acp_id, archived });
            Ok(())
        });
        Ok(())
    }

    /// Deletes a stored session: the agent's own where it can, else what is remembered here.
    pub fn choose_deletion(&mut self, cx: &mut Context) -> Result<()> {
        let here = cx.session_here().and_then(|key| cx.sessions.get(&key));
        let can = here.and_then(|session| session.info.as_ref()).map(|info| info.can).unwrap_or_default();
        if let Some(session) = here.filter(|_| can.list && can.delete) {
            let (agent, cwd) = (session.agent, session.place.cwd.clone());
            self.listing_for = Purpose::Delete;
            self.list_stored(cx, agent, cwd);
            return Ok(());
        }
        let name = here.map(|session| session.name());
        self.recall(cx, move |_, cx, stored| {
            if stored.is_empty() {
                return match name {
                    Some(name) => {
                        fail(format!("{name} can't delete stored sessions; none is remembered here"))
                    }
                    None => fail("no earlier session is remembered"),
                };
            }
            let (now, root, width) = (cx.now().0, cx.root(), seen_width(cx));
            let told = names_told(stored.iter());
            let item = |kept: &Kept| {
                let agent = cx.called(&kept.owner.agent, told.get(&kept.owner.agent));
                let list = List { root: &root, words: &[], now, width };
                shortened(&of_recorded(kept, &agent, list), item_width(cx))
            };
            let items = stored.iter().map(item).collect();
            cx.offer("Forget for good", "acp_session", items, move |_: &mut Self, cx, index| {
                confirm_forgetting(cx, stored[index].clone());
                Ok(())
            });
            Ok(())
        })
    }
}

fn confirm_deletion(cx: &mut Context, agent: AgentId, stored: StoredSession) {
    let question = format!("Delete {} for good?", of_stored(&stored, seen_width(cx)));
    let items = vec!["No".to_owned(), "Yes, delete it".to_owned()];
    cx.offer(&question, "acp_confirm", items, move |sessions: &mut Sessions, cx, answer| {
        if answer == 1 {
            if let Some(name) = sessions.configured_name(agent) {
                sessions.forget_stored(cx, name, stored.acp_id.clone());
            }
            cx.send(Command::Delete { agent, acp_id: stored.acp_id });
        }
        Ok(())
    });
}

fn confirm_forgetting(cx: &mut Context, kept: Kept) {
    let question = format!(
        "Forget {}? What {} itself has stored of it stays.",
        cut_middle(&kept.headline(), 60),
        cx.called(&kept.owner.agent, kept.owner.called.as_ref())
    );
    let items = vec!["No".to_owned(), "Yes, forget it".to_owned()];
    cx.offer(&question, "acp_confirm", items, move |sessions: &mut Sessions, cx, answer| {
        if answer == 1 {
            sessions.forget_stored(cx, kept.owner.agent, kept.owner.acp_id);
        }
        Ok(())
    });
}

/// How long an item may be. Neovim's own picker lists all items at once, where a line each is enough;
/// others search in all of an item's text.
fn item_width(cx: &Context) -> usize {
    match picker::is_builtin(&cx.editor) {
        true => usize::from(cx.editor.size().0).saturating_sub(6).max(30),
        false => 400,
    }
}

/// How much of an item is seen: what tells sessions apart has to be in that.
fn seen_width(cx: &Context) -> usize {
    match picker::is_builtin(&cx.editor) {
        true => item_width(cx),
        false => usize::from(cx.editor.size().0).saturating_sub(10).clamp(30, PICKER_WIDTH),
    }
}
