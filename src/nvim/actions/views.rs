//! What is only looked at: the log, the keys.

use mlua::{Function, Result, Value};

use crate::config::Pane;
use crate::core::locations::Look;
use crate::core::session::status::mode;
use crate::core::session::{Phase, Session};
use crate::nvim::actions::fail;
use crate::nvim::agents::Agents;
use crate::nvim::app::App;
use crate::nvim::editor::float::float;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::follow;
use crate::nvim::keys::page::{MORE, Page, TYPE, page, preview_table, table};
use crate::nvim::run;

impl App {
    pub fn open_log(&mut self) -> Result<()> {
        let Some(log) = self.cx.log() else {
            return fail("messages are not logged; setup{ log = true } is for new agents");
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

    /// The keys that do something here, in a small table; where none are bound, all keys.
    pub fn show_keys(&mut self) -> Result<()> {
        let here = self.cx.editor.current_buf()?;
        let Some(pane) = self.pane_of(here) else { return self.show_all_keys(None) };
        let (columns, _) = self.cx.editor.size();
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let is_typed_into = self
            .terminals
            .of_buf(here)
            .is_some_and(|key| self.terminals.can_type(&self.cx.config.terminal, &key));
        let can = |name: &str| match name {
            TYPE => is_typed_into,
            name => session.is_none_or(|session| can(session, name)),
        };
        let (keys, width) = (&self.cx.config.keys, usize::from(columns.saturating_sub(6)).min(90));
        let page = match self.checkpoints.is_preview(here) {
            true => preview_table(keys, width),
            false => table(keys, pane, width, &can),
        };
        let win = self.show_page_of_keys(&page)?;
        let buf = self.cx.editor.win_buf(win)?;
        let set: Function = self.cx.editor.module("keymap")?.get("set")?;
        let show_all = self.cx.editor.lua.create_function(move |_, ()| {
            run(move |app| {
                app.cx.editor.close_win(win)?;
                app.show_all_keys(Some(pane))
            });
            Ok(())
        })?;
        let options =
            self.cx.editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
        set.call(("n", MORE, show_all, options))
    }

    fn pane_of(&self, buf: Buf) -> Option<Pane> {
        if let Some(chat) = self.cx.chats.values().find(|chat| chat.contains(buf)) {
            return Some(if chat.prompt == buf { Pane::Prompt } else { Pane::Transcript });
        }
        let is_review = self.reviews.panel.as_ref().is_some_and(|panel| panel.buf == buf);
        if is_review || self.checkpoints.is_preview(buf) {
            return Some(Pane::Review);
        }
        if self.inspector.is_page(buf) {
            return Some(Pane::Inspector);
        }
        if self.audit.is_page(buf) {
            return Some(Pane::Audit);
        }
        if self.rules.is_page(buf) {
            return Some(Pane::Rules);
        }
        if self.agents.is_page(buf) {
            return Some(Pane::Agents);
        }
        match self.cx.editor.buf_option::<String>(buf, "filetype").ok()?.as_str() {
            "acp-terminal" => Some(Pane::Terminal),
            "acp-queue" => Some(Pane::Queue),
            "acp-proposal" => Some(Pane::Proposal),
            "acp-comment" => Some(Pane::Comment),
            // One that an agent has changed.
            _ => self.reviews.path_of(buf).map(|_| Pane::File),
        }
    }

    fn show_all_keys(&mut self, pane: Option<Pane>) -> Result<()> {
        let (columns, _) = self.cx.editor.size();
        let first = match pane {
            Some(Pane::Review) => Some("review_keep"),
            Some(Pane::Agents) => Some("agents_start"),
            Some(Pane::Inspector) => Some("inspect_open"),
            Some(Pane::Audit) => Some("audit_open"),
            Some(Pane::Rules) => Some("rules_edit"),
            Some(Pane::Transcript) => Some("toggle"),
            Some(Pane::Terminal) => Some("terminal_go"),
            Some(Pane::Queue) => Some("queue_edit"),
            Some(Pane::Proposal) => Some("ask"),
            Some(Pane::Comment) => Some("comment_save"),
            Some(Pane::File) => Some("next_hunk"),
            Some(Pane::Prompt) | None => None,
        };
        let page = page(&self.cx.config.keys, usize::from(columns.saturating_sub(6)).min(90), first);
        self.show_page_of_keys(&page).map(drop)
    }

    fn show_page_of_keys(&self, page: &Page) -> Result<Win> {
        let below = self.cx.editor.current_win()?;
        let win = float(&self.cx.editor, &page.lines)?;
        // What closes when it is left stays for as long as this is over it.
        self.cx.editor.api::<()>("nvim_win_set_var", (win, "acp_over", below))?;
        let buf = self.cx.editor.win_buf(win)?;
        let titles = page.titles.iter().map(|row| (*row, 0, page.lines[*row].len(), "AcpUser"));
        let keys = page.keys.iter().map(|(row, cells)| (*row, cells.start, cells.end, "AcpPlan"));
        self.cx.editor.paint_groups(buf, "acp.marks", titles.chain(keys))?;
        Ok(win)
    }
}

/// Whether a key does something in a session as it is now.
fn can(session: &Session, key: &str) -> bool {
    match key {
        "answer" => !session.asks().is_empty(),
        "cancel" => session.is_busy(),
        "steer" => session.is_working() && session.can_be_steered(),
        "take_suggestion" => !session.suggestions.is_empty() && !session.is_busy(),
        "take_back" | "queue" => !session.queue().is_empty(),
        "restart" => matches!(session.phase, Phase::Gone | Phase::Ending { .. } | Phase::LoginNeeded),
        "replay_next" => session.plays_recording(),
        "end_left" => !session.left().is_empty(),
        "next_mode" | "next_mode_insert" => mode(session).is_some(),
        _ => true,
    }
}
