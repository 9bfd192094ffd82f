//! What is only looked at: the log, the keys.

use mlua::{Result, Value};

use crate::core::locations::Look;
use crate::nvim::actions::fail;
use crate::nvim::agents::Agents;
use crate::nvim::app::App;
use crate::nvim::editor::float::float;
use crate::nvim::follow;
use crate::nvim::keys::page::page;

impl App {
    pub fn open_log(&mut self) -> Result<()> {
        let Some(log) = self.cx.log() else {
            return fail(
                "messages are not written down; setup{ log = true } does that from the next agent on",
            );
        };
        // What is shown needs the context alone, so any feature will do.
        self.cx.look_first(&log.clone(), move |_: &mut Agents, cx, look| match look {
            Look::Missing => fail(format!("nothing was written to {} yet", log.display())),
            look if look.finds_file() => {
                // Another Neovim that shows it is no reason to ask (E325).
                let buf = follow::load(&cx.editor, &log)?;
                cx.editor.command(&format!("botright sbuffer {}", buf.0))?;
                cx.editor.command("setlocal nomodifiable autoread")
            }
            other => {
                let why = other.refusal().unwrap_or_default();
                fail(format!("couldn't open {}: {why}", log.display()))
            }
        });
        Ok(())
    }

    pub fn show_keys(&mut self) -> Result<()> {
        let (columns, _) = self.cx.editor.size();
        let here = self.cx.editor.current_buf()?;
        let in_review = self.reviews.panel.as_ref().is_some_and(|panel| panel.buf == here);
        let in_agents = self.agents.is_page(here);
        let key = in_review.then_some("review_keep").or(in_agents.then_some("agents_start"));
        let page = page(&self.cx.config.keys, usize::from(columns.saturating_sub(6)).min(90), key);
        let win = float(&self.cx.editor, &page.lines)?;
        let buf = self.cx.editor.win_buf(win)?;
        let list = self.cx.editor.lua.create_table()?;
        let titles = page.titles.iter().map(|row| (*row, page.lines[*row].len(), "AcpUser"));
        let keys = page.keys.iter().map(|(row, end)| (*row, *end, "Special"));
        for (row, end, group) in titles.chain(keys) {
            list.raw_push(row)?;
            list.raw_push(0)?;
            list.raw_push(self.cx.editor.table([
                ("end_col", Value::Integer(end as i64)),
                ("hl_group", self.cx.editor.string(group)?),
            ])?)?;
        }
        self.cx.editor.paint(buf, self.cx.editor.namespace("acp.marks")?, list)
    }
}
