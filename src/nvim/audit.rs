//! The record of what agents asked for and did, on a page of its own: the last lines that pass a filter, each with who
//! decided it. `<CR>` goes to the file or the chat that a line is about. What lines say is `core::audit`'s part, and
//! the background keeps and reads them.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::config::Pane;
use crate::core::audit::filter::{Filter, HELP};
use crate::core::audit::page::{Look, details, empty, line};
use crate::core::audit::{Line, Read, Reply, Request, What};
use crate::core::ids::JobId;
use crate::core::message::Command;
use crate::core::text::bar::ListBar;
use crate::core::text::capitalized;
use crate::core::text::fitting::filled;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::float::float;
use crate::nvim::editor::{Buf, Editor, Level, picker};
use crate::nvim::events::EditorEvent;
use crate::nvim::keys::bind::{bind_pane, key_parts};

/// How parts of a line look, by their columns and their words.
const SYNTAX: &[&str] = &[
    r"syntax match AcpMeta /\%3c\d\d-\d\d \d\d:\d\d:\d\d/",
    r"syntax match AcpError /^!/",
    r"syntax match AcpError /  \zs\%(rejected\|failed\|exit [1-9]\|not decided\)[^ ].*$\|  \zs\%(rejected\|failed\|exit [1-9]\d*\)\%( by.*\|, .*\)\?$/",
    r"syntax match AcpToolDone /  \zs\%(allowed\|done\|exit 0\)\%( by.*\| before\)\?$/",
    r"syntax match AcpToolWaiting /  \zswithout asking.*$/",
];

pub struct Audit {
    folder: PathBuf,
    page: Option<Page>,
    exporting: Option<JobId>,
}

/// The page in its buffer.
struct Page {
    buf: Buf,
    filter: Filter,
    read: Read,
    /// Why the record can't be read.
    trouble: Option<String>,
    asked: Option<JobId>,
    look: Look,
}

impl Audit {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, page: None, exporting: None }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn is_page(&self, buf: Buf) -> bool {
        self.page.as_ref().is_some_and(|page| page.buf == buf)
    }

    /// `:Acp audit`; with a `!` the record is saved in a file.
    pub fn command(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        if !args.bang {
            return self.open(cx, &args.text);
        }
        let Some(name) = args.first() else {
            return fail("name the file to save it in, as in :Acp! audit record.jsonl");
        };
        let path = cx.absolute(name);
        self.export(cx, path);
        Ok(())
    }

    /// Goes to the page, which is made if there is none, and reads the record.
    pub fn open(&mut self, cx: &mut Context, typed: &str) -> Result<()> {
        let editor = cx.editor.clone();
        let known = self.page.as_ref().map(|page| page.buf).filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => {
                let buf = make_buf(cx)?;
                let look = Look { width: 80, offset: 0 };
                let (filter, read) = (Filter::default(), Read::default());
                self.page = Some(Page { buf, filter, read, trouble: None, asked: None, look });
                buf
            }
        };
        match editor.tab_wins()?.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|its| its == buf)) {
            Some(win) => editor.set_current_win(win)?,
            None => open_window(&editor, buf)?,
        }
        if let (Some(page), false) = (&mut self.page, typed.is_empty()) {
            page.filter = Filter::read(typed);
        }
        self.look_again(cx)?;
        self.read(cx);
        Ok(())
    }

    fn read(&mut self, cx: &mut Context) {
        let Some(page) = &mut self.page else { return };
        let job = cx.next_job();
        page.asked = Some(job);
        let request = Request::Read { job, filter: page.filter.clone() };
        cx.send(Command::Audit { folder: self.folder.clone(), request });
    }

    /// Saves what passes the page's filter, or all.
    fn export(&mut self, cx: &mut Context, path: PathBuf) {
        let job = cx.next_job();
        self.exporting = Some(job);
        let filter = self.page.as_ref().map(|page| page.filter.clone()).unwrap_or_default();
        let request = Request::Export { job, filter, path };
        cx.send(Command::Audit { folder: self.folder.clone(), request });
    }

    pub fn was_read(
        &mut self,
        cx: &mut Context,
        job: JobId,
        reply: std::result::Result<Reply, String>,
    ) -> Result<()> {
        if self.exporting.take_if(|asked| *asked == job).is_some() {
            return match reply {
                Ok(Reply::Exported { path, lines, broken }) => {
                    let left = if broken > 0 { format!("; {broken} can't be read") } else { String::new() };
                    cx.notify(format!("saved {} to {}{left}", several(lines), path.display()), Level::Info);
                    Ok(())
                }
                Ok(Reply::Read(_)) => Ok(()),
                Err(why) => fail(why),
            };
        }
        let Some(page) = &mut self.page else { return Ok(()) };
        if page.asked.take_if(|asked| *asked == job).is_none() || !cx.editor.buf_is_valid(page.buf) {
            return Ok(());
        }
        match reply {
            Ok(Reply::Read(read)) => (page.read, page.trouble) = (*read, None),
            Ok(Reply::Exported { .. }) => return Ok(()),
            Err(why) => (page.read, page.trouble) = (Read::default(), Some(why)),
        }
        page.draw(cx, true)
    }

    /// Windows have other sizes.
    pub fn look_again(&mut self, cx: &Context) -> Result<()> {
        let Some(page) = self.page.as_mut().filter(|page| cx.editor.buf_is_valid(page.buf)) else {
            return Ok(());
        };
        let editor = &cx.editor;
        let wins = editor.wins_of(page.buf);
        let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
        let Some(width) = widths.map(|(columns, _)| usize::from(columns)).min() else { return Ok(()) };
        let offset = editor.clock_offset()?;
        let look = Look { width, offset };
        if look == page.look {
            return page.draw_bar(cx);
        }
        page.look = look;
        page.draw(cx, false)
    }

    /// A key of the page; says whether it is one.
    pub fn key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "audit_open" => self.go(cx),
            "audit_details" => self.show_details(cx),
            "audit_filter" => self.type_filter(cx),
            "audit_all" => self.set_filter(cx, ""),
            "audit_problems" => {
                let typed = self.page.as_ref().map(|page| page.filter.typed().to_owned()).unwrap_or_default();
                let words: Vec<&str> = typed.split_whitespace().collect();
                let kept: Vec<&str> = words.iter().copied().filter(|word| *word != "!").collect();
                match kept.len() < words.len() {
                    true => self.set_filter(cx, &kept.join(" ")),
                    false => self.set_filter(cx, &format!("{typed} !")),
                }
            }
            "audit_refresh" => {
                self.read(cx);
                Ok(())
            }
            "audit_close" => cx.editor.close_page(),
            _ => return None,
        })
    }

    fn set_filter(&mut self, cx: &mut Context, typed: &str) -> Result<()> {
        if let Some(page) = &mut self.page {
            page.filter = Filter::read(typed);
        }
        self.read(cx);
        Ok(())
    }

    fn type_filter(&self, cx: &mut Context) -> Result<()> {
        let Some(page) = &self.page else { return Ok(()) };
        let typed = page.filter.typed().to_owned();
        let prompt = format!("Filter ({HELP})");
        cx.run_effect("couldn't ask for the filter", move |editor| {
            picker::input(editor, &prompt, &typed, move |typed| {
                if let Some(typed) = typed {
                    context::run(move |this: &mut Self, cx| this.set_filter(cx, &typed));
                }
            })
        });
        Ok(())
    }

    fn at_cursor(&self, cx: &Context) -> Result<&Line> {
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        match self.page.as_ref().and_then(|page| page.read.lines.get(row)) {
            Some(line) => Ok(line),
            None => fail("the cursor is not on a line of the record"),
        }
    }

    /// To the file, else to the chat that is open; else all that the line says.
    fn go(&self, cx: &mut Context) -> Result<()> {
        let line = self.at_cursor(cx)?;
        let file = match line.what {
            What::Read | What::Write => line.paths.first(),
            _ => None,
        };
        if let Some(path) = file {
            cx.raise(EditorEvent::LocationChosen { path: path.into(), line: None, column: None });
            return Ok(());
        }
        let is_its = |acp_id: &Option<String>| acp_id.as_deref() == Some(&line.session);
        let open = cx.sessions.iter().find(|(_, it)| it.agent_name == line.agent && is_its(&it.acp_id));
        match open.map(|(key, _)| *key) {
            Some(key) => {
                cx.raise(EditorEvent::SessionChosen(key));
                Ok(())
            }
            None => self.show_details(cx),
        }
    }

    fn show_details(&self, cx: &Context) -> Result<()> {
        let Some(page) = &self.page else { return Ok(()) };
        float(&cx.editor, &details(self.at_cursor(cx)?, page.look)).map(drop)
    }
}

impl Page {
    fn draw(&self, cx: &Context, goes_to_end: bool) -> Result<()> {
        let editor = &cx.editor;
        let lines: Vec<String> = match (&self.trouble, self.read.lines.is_empty()) {
            (Some(why), _) => filled(&capitalized(why), self.look.width),
            (None, true) => {
                let keys = cx.config.keys.line(&[("audit_all", "shows all")]);
                empty(&self.filter, cx.config.audit, &keys, self.look.width)
            }
            (None, false) => self.read.lines.iter().map(|it| line(it, self.look)).collect(),
        };
        editor.set_buf_option(self.buf, "modifiable", true)?;
        let drawn = editor.set_lines(self.buf, 0..editor.line_count(self.buf)?, &lines);
        editor.set_buf_option(self.buf, "modifiable", false)?;
        drawn?;
        if goes_to_end && self.trouble.is_none() && !self.read.lines.is_empty() {
            for win in editor.wins_of(self.buf) {
                editor.helper::<()>("show_row", (win, lines.len()))?;
            }
        }
        self.draw_bar(cx)
    }

    fn draw_bar(&self, cx: &Context) -> Result<()> {
        let wins = cx.editor.wins_of(self.buf);
        if wins.is_empty() {
            return Ok(());
        }
        let (passing, there) = (self.read.passing, self.read.lines.len());
        let left = ListBar {
            title: "Record",
            all: several(self.read.all),
            passing,
            last: (passing > there).then_some(there),
            problems: (self.read.broken > 0).then(|| format!("{} can't be read", self.read.broken)),
            filter: self.filter.typed(),
        };
        let keys = [("audit_filter", "filter", 6), ("audit_help", "keys", 2)];
        cx.editor.fit_bars(&wins, &left.parts(), &key_parts(&cx.config.keys, &keys))
    }
}

fn several(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

fn make_buf(cx: &Context) -> Result<Buf> {
    let editor = &cx.editor;
    let buf = editor.create_page("acp://audit", "acp-audit")?;
    for command in SYNTAX {
        editor.command_in(buf, command)?;
    }
    bind_pane(editor, &cx.config.keys, Pane::Audit, buf)?;
    Ok(buf)
}

fn open_window(editor: &Editor, buf: Buf) -> Result<()> {
    let (_, rows) = editor.size();
    editor.command("stopinsert")?;
    let win = editor.split_for_page((rows * 2 / 3).max(5))?;
    editor.set_win_buf(win, buf)?;
    for option in ["wrap", "number", "relativenumber", "spell", "list", "foldenable"] {
        editor.set_win_option(win, option, false)?;
    }
    editor.set_win_option(win, "signcolumn", "no")?;
    editor.set_win_option(win, "foldcolumn", "0")?;
    editor.set_win_option(win, "cursorline", true)
}
