//! The page of agents as a buffer: made once, shown in as many windows as the user likes, drawn anew when
//! something about an agent or a window's width changes. What its lines say is in `page`.

use std::collections::BTreeSet;

use mlua::Result;

use crate::config::Pane;
use crate::config::catalog::Origin;
use crate::nvim::agents::page::{Page, View, page};
use crate::nvim::agents::{Agents, OpenPage};
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Win};
use crate::nvim::keys::bind::bind_pane;

impl Agents {
    /// Goes to the page, which is made if there is none; on it to an agent, with its details.
    pub fn show(&mut self, cx: &Context, name: Option<&str>) -> Result<()> {
        let editor = cx.editor.clone();
        let known = self.page.as_ref().map(|page| page.buf).filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => {
                let buf = make_buf(cx)?;
                self.page = Some(OpenPage { buf, page: Page::default(), open: BTreeSet::new() });
                buf
            }
        };
        if let (Some(name), Some(page)) = (name, &mut self.page) {
            page.open.insert(name.to_owned());
        }
        let here =
            editor.tab_wins()?.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|its| its == buf));
        let win = match here {
            Some(win) => {
                editor.set_current_win(win)?;
                win
            }
            None => open_window(cx, buf)?,
        };
        self.draw(cx)?;
        let rows = self.page.as_ref().map(|page| page.page.rows.as_slice()).unwrap_or_default();
        let wanted = rows.iter().position(|row| row.is_some() && (name.is_none() || row.as_deref() == name));
        if name.is_some() || here.is_none() {
            editor.set_cursor(win, wanted.map_or(1, |row| row + 1), 0)?;
        }
        if name.is_some() {
            editor.command("normal! zt")?;
        }
        Ok(())
    }

    /// Closes the page's windows in this tab page, unless there are no others.
    pub(super) fn hide(&mut self, cx: &Context) -> Result<()> {
        let Some(buf) = self.page.as_ref().map(|page| page.buf) else { return Ok(()) };
        let wins = cx.editor.tab_wins()?.into_iter();
        for win in wins.filter(|win| cx.editor.win_buf(*win).is_ok_and(|its| its == buf)) {
            if !cx.editor.normal_wins_beside(win)?.is_empty() {
                cx.editor.close_win(win)?;
            }
        }
        Ok(())
    }

    /// Draws the page anew, if it is on the screen. The cursor stays on its agent.
    pub fn draw(&mut self, cx: &Context) -> Result<()> {
        let Some(mut shown) = self.page.take() else { return Ok(()) };
        let drawn = self.draw_page(cx, &mut shown);
        if cx.editor.buf_is_valid(shown.buf) {
            self.page = Some(shown);
        }
        drawn
    }

    fn draw_page(&self, cx: &Context, shown: &mut OpenPage) -> Result<()> {
        let editor = &cx.editor;
        let wins = editor.wins_of(shown.buf);
        let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
        let Some(width) = widths.map(|(columns, _)| usize::from(columns)).min() else { return Ok(()) };
        let choices = self.all(cx);
        let downloads: String =
            editor.func("fnamemodify", (self.files.downloads.to_string_lossy().into_owned(), ":~"))?;
        let downloading =
            self.downloading.iter().map(|(name, running)| (name.clone(), running.progress.clone()));
        let page = page(&View {
            choices: &choices,
            open: &shown.open,
            downloading: &downloading.collect(),
            failed: &self.failed,
            origin: &self.registry_origin(cx)?,
            notes: &self.registry_notes(cx),
            downloads: &downloads,
            keys: &cx.config.keys,
            width,
        });
        if page == shown.page {
            return Ok(());
        }
        let mut cursors = Vec::new();
        for win in wins {
            let (line, _) = editor.cursor(win)?;
            let row = line - 1;
            let name = shown.page.rows.get(row).cloned().flatten();
            let first = shown.page.rows.iter().position(|other| name.is_some() && *other == name);
            cursors.push((win, name, row - first.unwrap_or(row).min(row), line));
        }
        editor.set_buf_option(shown.buf, "modifiable", true)?;
        let count = editor.line_count(shown.buf)?;
        editor.set_lines(shown.buf, 0..count, &page.lines)?;
        editor.set_buf_option(shown.buf, "modifiable", false)?;
        editor.paint_groups(shown.buf, "acp.agents", page.marks.iter().copied())?;
        for (win, name, below, line) in cursors {
            let first = page.rows.iter().position(|row| name.is_some() && *row == name);
            let row = match first {
                Some(first) => first + if page.rows.get(first + below) == Some(&name) { below } else { 0 },
                None => line - 1,
            };
            editor.set_cursor(win, (row + 1).min(page.lines.len()), 0)?;
        }
        shown.page = page;
        Ok(())
    }

    fn registry_origin(&self, cx: &Context) -> Result<String> {
        Ok(match self.catalog.origin {
            Origin::Plugin(date) => format!("bundled list of {date}"),
            Origin::Fetched(at) => {
                let time: String = cx.editor.day_and_time(at.saturating_mul(1000))?;
                format!("registry fetched {time}")
            }
        })
    }

    fn registry_notes(&self, cx: &Context) -> Vec<(String, &'static str)> {
        let mut notes = Vec::new();
        let keys = &cx.config.keys;
        if let Some(running) = &self.fetching {
            let stop = keys.line(&[("agents_cancel", "stops it")]);
            let said =
                if running.progress.is_empty() { String::new() } else { format!(" ({})", running.progress) };
            notes.push((format!("fetching the registry \u{2026}{said} {stop}"), "AcpToolRunning"));
        }
        if let Some(why) = &self.unfetched {
            let again = keys.line(&[("agents_refresh", "tries again")]);
            notes.push((format!("{why}; showing the previous list. {again}"), "AcpError"));
        }
        match &self.catalog.problems[..] {
            [] => {}
            [one] => notes.push((one.clone(), "AcpToolWaiting")),
            [first, rest @ ..] => notes.push((
                format!("{first} (and {} more; setup{{ log = true }} logs them all)", rest.len()),
                "AcpToolWaiting",
            )),
        }
        notes
    }
}

fn make_buf(cx: &Context) -> Result<Buf> {
    let editor = &cx.editor;
    let buf = editor.create_page("acp://agents", "acp-agents")?;
    bind_pane(editor, &cx.config.keys, Pane::Agents, buf)?;
    Ok(buf)
}

fn open_window(cx: &Context, buf: Buf) -> Result<Win> {
    let editor = &cx.editor;
    let (_, rows) = editor.size();
    editor.command("stopinsert")?;
    let win = editor.split_for_page((rows * 3 / 4).max(5))?;
    editor.set_win_buf(win, buf)?;
    for (option, value) in [
        ("wrap", false),
        ("number", false),
        ("relativenumber", false),
        ("spell", false),
        ("list", false),
        ("cursorline", true),
        ("foldenable", false),
    ] {
        editor.set_win_option(win, option, value)?;
    }
    editor.set_win_option(win, "signcolumn", "no")?;
    editor.set_win_option(win, "foldcolumn", "0")?;
    Ok(win)
}
