//! `:Acp agents` and the keys of its page: starting an agent, looking at it, fetching the registry,
//! taking an approval back. What all of that does is `agents::launch`' part.

use mlua::Result;

use crate::config::agents::Standing;
use crate::core::store::registry::Change;
use crate::nvim::actions::{Args, fail};
use crate::nvim::app::App;

impl App {
    pub fn open_agents(&mut self, args: &Args) -> Result<()> {
        self.show_agents(None)?;
        let bang = args.bang;
        self.read_agents(Change::None, move |app, _| if bang { app.fetch_registry() } else { Ok(()) })
    }

    /// Gives the list to a function of the user's, once it is known what is approved.
    pub fn tell_agents(&mut self, then: mlua::Function) -> Result<()> {
        self.read_agents(Change::None, move |app, _| {
            let all = app.all_agents();
            app.cx.attempt("a function for agents() failed", move |editor| {
                then.call::<()>(crate::nvim::lua_data::to_lua(&editor.lua, &all)?)
            });
            Ok(())
        })
    }

    pub fn agents_key(&mut self, name: &str) -> Option<Result<()>> {
        Some(match name {
            "agents_start" => self.start_listed(),
            "agents_details" => self.toggle_details(),
            "agents_refresh" => self.fetch_registry(),
            "agents_remove" => self.remove_listed(),
            "agents_site" => self.open_listed_site(),
            "agents_cancel" => self.cancel_listed(),
            "agents_close" => self.close_agents(),
            "agents_help" => self.show_keys(),
            _ => return None,
        })
    }

    /// The name of the agent under the cursor.
    fn agent_at_cursor(&self) -> Result<String> {
        let row = self.cx.editor.cursor(self.cx.editor.current_win()?)?.0 - 1;
        let page = self.agents.page.as_ref();
        match page.and_then(|page| page.page.rows.get(row).cloned().flatten()) {
            Some(name) => Ok(name),
            None => fail("the cursor is not on an agent"),
        }
    }

    fn start_listed(&mut self) -> Result<()> {
        let name = self.agent_at_cursor()?;
        if let Some(Standing::Missing(..)) = self.agent_named(&name).map(|choice| choice.standing) {
            self.show_agents(Some(&name))?;
        }
        self.begin(&name, |_, _| Ok(()))
    }

    fn toggle_details(&mut self) -> Result<()> {
        let name = self.agent_at_cursor()?;
        if let Some(page) = &mut self.agents.page
            && !page.open.remove(&name)
        {
            page.open.insert(name.clone());
        }
        self.draw_agents()?;
        self.scroll_to_whole(&name)
    }

    /// Scrolls so far that all lines about an agent are on the screen, or as many as there is room for.
    fn scroll_to_whole(&self, name: &str) -> Result<()> {
        let rows = self.agents.page.as_ref().map(|page| page.page.rows.as_slice()).unwrap_or_default();
        let is_its = |row: &Option<String>| row.as_deref() == Some(name);
        let Some((first, last)) = rows.iter().position(is_its).zip(rows.iter().rposition(is_its)) else {
            return Ok(());
        };
        let (_, height) = self.cx.editor.win_size(self.cx.editor.current_win()?)?;
        let top: usize = self.cx.editor.func("line", "w0")?;
        if last + 1 >= top + usize::from(height) {
            let top = (first + 1).min((last + 2).saturating_sub(height.into()).max(1));
            let view = self.cx.editor.table([("topline", mlua::Value::Integer(top as i64))])?;
            self.cx.editor.func::<mlua::Value>("winrestview", view)?;
        }
        Ok(())
    }

    fn open_listed_site(&mut self) -> Result<()> {
        let name = self.agent_at_cursor()?;
        match self.agent_named(&name).and_then(|choice| choice.website) {
            Some(url) => {
                self.open_site(url);
                Ok(())
            }
            None => fail(format!("{name} has no known website")),
        }
    }

    fn remove_listed(&mut self) -> Result<()> {
        let name = self.agent_at_cursor()?;
        let Some(choice) = self.agent_named(&name) else { return Ok(()) };
        if self.agents.downloading.contains_key(&name) {
            return fail(format!("{name} is being downloaded; stop that first"));
        }
        let id = choice.id.unwrap_or_else(|| name.clone());
        let has_downloads = self.agents.catalog.has_downloads(&id);
        if !has_downloads && self.agents.catalog.approved(&name).is_none() {
            return fail(format!("nothing of {name} was approved or downloaded here"));
        }
        if has_downloads && self.runs_downloaded(&id) {
            return fail(format!("{name} is running; :Acp stop ends it first"));
        }
        let question = match has_downloads {
            true => format!("Forget that you approved {name}, and delete what was downloaded?"),
            false => format!("Forget that you approved {name}?"),
        };
        let items = vec!["No".to_owned(), "Yes, remove it".to_owned()];
        self.offer(&question, "acp_confirm", items, move |app, answer| match answer {
            1 => app.read_agents(Change::Remove { name, id }, |_, failure| match failure {
                Some(failure) => fail(format!("couldn't {failure}")),
                None => Ok(()),
            }),
            _ => Ok(()),
        })
    }

    fn cancel_listed(&mut self) -> Result<()> {
        let download = self.agent_at_cursor().ok().and_then(|name| self.agents.downloading.get(&name));
        let running = download.or(self.agents.fetching.as_ref());
        let running = running.or_else(|| self.agents.downloading.values().next());
        let Some(cancel) = running.and_then(|running| running.cancel.clone()) else {
            return fail("nothing is being fetched");
        };
        self.cx.attempt("couldn't stop it", move |_| cancel.call::<()>(()));
        Ok(())
    }

    fn close_agents(&mut self) -> Result<()> {
        let win = self.cx.editor.current_win()?;
        if self.cx.editor.normal_wins_beside(win)?.is_empty() {
            return self.cx.editor.command("enew");
        }
        self.cx.editor.close_win(win)
    }
}
