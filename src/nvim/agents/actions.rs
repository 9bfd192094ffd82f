//! `:Acp agents` and the keys of its page: starting an agent, looking at it, fetching the registry,
//! taking an approval back. How an agent is started is in `launch`.

use std::path::PathBuf;

use mlua::{Function, Result};

use crate::config::agents::Standing;
use crate::config::catalog::DEMO;
use crate::core::ids::SessionKey;
use crate::core::store::registry::Change;
use crate::nvim::agents::Agents;
use crate::nvim::agents::launch::open_site;
use crate::nvim::arguments::fail;
use crate::nvim::context::{Context, Then};
use crate::nvim::events::EditorEvent;
use crate::nvim::lua_data::to_lua;

/// The last line of the picker.
const MORE: &str = "Other agents … — list all known agents (:Acp agents)";

impl Agents {
    /// Shows the page, and fetches the registry if that is wanted.
    pub fn open(&mut self, cx: &mut Context, fetch: bool) -> Result<()> {
        self.show(cx, None)?;
        self.read(
            cx,
            Change::None,
            move |agents, cx, _| {
                if fetch { agents.fetch_registry(cx) } else { Ok(()) }
            },
        );
        Ok(())
    }

    /// Has the user choose one of the agents that can be started, for a chat in which `then` goes on; where there is
    /// only one, nobody asks.
    pub fn choose(&mut self, cx: &mut Context, then: Then<SessionKey>) {
        self.read(cx, Change::None, move |agents, cx, _| {
            let choices = agents.available(cx);
            match &choices[..] {
                [] => {
                    agents.show(cx, None)?;
                    return fail("no agent is ready on this machine; choose one from this list");
                }
                [only] if only.name != DEMO => {
                    cx.raise(EditorEvent::AgentChosen(only.name.clone(), then));
                    return Ok(());
                }
                _ => {}
            }
            let items = choices.iter().map(|choice| format!("{} — {}", choice.title, choice.detail));
            let items = items.chain([MORE.to_owned()]).collect();
            cx.offer("Work with", "acp_agent", items, move |agents: &mut Self, cx, index| {
                match choices.into_iter().nth(index) {
                    Some(choice) => cx.raise(EditorEvent::AgentChosen(choice.name, then)),
                    None => agents.open(cx, false)?,
                }
                Ok(())
            });
            Ok(())
        });
    }

    /// Gives the list to a function of the user's, once it is known what is approved.
    pub fn tell(&mut self, cx: &mut Context, then: Function) {
        self.read(cx, Change::None, move |agents, cx, _| {
            let all = agents.all(cx);
            cx.run_effect("a function for agents() failed", move |editor| {
                then.call::<()>(to_lua(&editor.lua, &all)?)
            });
            Ok(())
        });
    }

    /// A key of the page, but the one that removes: for that it has to be known what runs.
    pub fn key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "agents_start" => self.start_listed(cx),
            "agents_details" => self.toggle_details(cx),
            "agents_refresh" => self.fetch_registry(cx),
            "agents_site" => self.open_listed_site(cx),
            "agents_cancel" => self.cancel_listed(cx),
            "agents_close" => close(cx),
            _ => return None,
        })
    }

    /// The name of the agent under the cursor.
    fn at_cursor(&self, cx: &Context) -> Result<String> {
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        let page = self.page.as_ref();
        match page.and_then(|page| page.page.rows.get(row).cloned().flatten()) {
            Some(name) => Ok(name),
            None => fail("the cursor is not on an agent"),
        }
    }

    fn start_listed(&mut self, cx: &mut Context) -> Result<()> {
        let name = self.at_cursor(cx)?;
        if let Some(Standing::Missing(..)) = self.named(cx, &name).map(|choice| choice.standing) {
            self.show(cx, Some(&name))?;
        }
        cx.raise(EditorEvent::AgentChosen(name, Box::new(|_, _| Ok(()))));
        Ok(())
    }

    fn toggle_details(&mut self, cx: &Context) -> Result<()> {
        let name = self.at_cursor(cx)?;
        if let Some(page) = &mut self.page
            && !page.open.remove(&name)
        {
            page.open.insert(name.clone());
        }
        self.draw(cx)?;
        self.scroll_to_whole(cx, &name)
    }

    /// Scrolls so far that all lines about an agent are on the screen, or as many as there is room for.
    fn scroll_to_whole(&self, cx: &Context, name: &str) -> Result<()> {
        let rows = self.page.as_ref().map(|page| page.page.rows.as_slice()).unwrap_or_default();
        let is_its = |row: &Option<String>| row.as_deref() == Some(name);
        let Some((first, last)) = rows.iter().position(is_its).zip(rows.iter().rposition(is_its)) else {
            return Ok(());
        };
        let (_, height) = cx.editor.win_size(cx.editor.current_win()?)?;
        let top: usize = cx.editor.func("line", "w0")?;
        if last + 1 >= top + usize::from(height) {
            let top = (first + 1).min((last + 2).saturating_sub(height.into()).max(1));
            let view = cx.editor.table([("topline", mlua::Value::Integer(top as i64))])?;
            cx.editor.func::<mlua::Value>("winrestview", view)?;
        }
        Ok(())
    }

    fn open_listed_site(&self, cx: &mut Context) -> Result<()> {
        let name = self.at_cursor(cx)?;
        match self.named(cx, &name).and_then(|choice| choice.website) {
            Some(url) => {
                open_site(cx, url);
                Ok(())
            }
            None => fail(format!("{name} has no known website")),
        }
    }

    /// Forgets an agent's approval and download. `programs` are those that run.
    pub fn remove_listed(&mut self, cx: &mut Context, programs: &[PathBuf]) -> Result<()> {
        let name = self.at_cursor(cx)?;
        let Some(choice) = self.named(cx, &name) else { return Ok(()) };
        if self.downloading.contains_key(&name) {
            return fail(format!("{name} is being downloaded; stop that first"));
        }
        let id = choice.id.unwrap_or_else(|| name.clone());
        let has_downloads = self.catalog.has_downloads(&id);
        if !has_downloads && self.catalog.approved(&name).is_none() {
            return fail(format!("nothing of {name} was approved or downloaded here"));
        }
        if has_downloads && self.is_downloaded_from(&id, programs) {
            return fail(format!("{name} is running; :Acp stop ends it first"));
        }
        let question = match has_downloads {
            true => format!("Forget that you approved {name}, and delete what was downloaded?"),
            false => format!("Forget that you approved {name}?"),
        };
        let items = vec!["No".to_owned(), "Yes, remove it".to_owned()];
        cx.offer(&question, "acp_confirm", items, move |agents: &mut Self, cx, answer| {
            if answer == 1 {
                agents.read(cx, Change::Remove { name, id }, |_, _, failure| match failure {
                    Some(failure) => fail(format!("couldn't {failure}")),
                    None => Ok(()),
                });
            }
            Ok(())
        });
        Ok(())
    }

    fn cancel_listed(&self, cx: &mut Context) -> Result<()> {
        let download = self.at_cursor(cx).ok().and_then(|name| self.downloading.get(&name));
        let running = download.or(self.fetching.as_ref());
        let running = running.or_else(|| self.downloading.values().next());
        let Some(cancel) = running.and_then(|running| running.cancel.clone()) else {
            return fail("nothing is being fetched");
        };
        cx.run_effect("couldn't stop it", move |_| cancel.call::<()>(()));
        Ok(())
    }
}

fn close(cx: &Context) -> Result<()> {
    let win = cx.editor.current_win()?;
    if cx.editor.normal_wins_beside(win)?.is_empty() {
        return cx.editor.command("enew");
    }
    cx.editor.close_win(win)
}
