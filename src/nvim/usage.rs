//! What sessions use up: kept as agents tell it, and shown with the sums of the day and the month, on a page that goes
//! along while it is open. What of it is new is `core::session::meter`'s part, what the page says is in `page`.

mod page;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use mlua::{Result, Table};

use crate::core::ids::{AgentId, JobId, Moment, SessionKey};
use crate::core::message::Command;
use crate::core::message::spent::Told;
use crate::core::store::usage::{Line, Reply, Request, Spans, Sums};
use crate::core::text::capitalized;
use crate::nvim::context::Context;
use crate::nvim::editor::float::{float, refit};
use crate::nvim::editor::{Buf, Editor, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::usage::page::{Limited, Live, Page, Period, View, page};

/// A limit is looked at again after this time at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What is done with what the list says, or with why it can't be read.
type AfterRead = Box<dyn FnOnce(&mut Usage, &mut Context, std::result::Result<Reply, String>) -> Result<()>>;

pub struct Usage {
    folder: PathBuf,
    reads: HashMap<JobId, AfterRead>,
    /// What sessions of this Neovim told last, and to which process they belonged: by agent and its id of the session.
    told: HashMap<(String, String), (Told, AgentId)>,
    open: Vec<Open>,
}

/// A page that is open.
struct Open {
    buf: Buf,
    /// The session that it is about.
    key: Option<SessionKey>,
    counted: Counted,
    page: Page,
    /// The size of the screen that it was made for.
    screen: (u16, u16),
    /// It is being added up, and has to be once more.
    is_read: bool,
    is_outdated: bool,
}

/// What was added up, and what to say about that.
#[derive(Default)]
struct Counted {
    sums: Sums,
    notes: Vec<String>,
}

impl Usage {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, reads: HashMap::new(), told: HashMap::new(), open: Vec::new() }
    }

    /// One that was taken up goes on from the sums that it told before.
    pub fn session_opened(&mut self, cx: &mut Context, key: SessionKey) {
        let Some(session) = cx.sessions.get_mut(&key).filter(|session| session.meter.wants_past()) else {
            return;
        };
        let Some(acp_id) = session.acp_id.clone() else { return };
        let named = (session.agent_name.clone(), acp_id);
        if let Some((told, process)) = self.told.get(&named) {
            return session.meter.recalled(told.clone(), Some(*process));
        }
        if !cx.config.record {
            return;
        }
        let job = cx.next_job();
        let then: AfterRead = Box::new(move |_, cx, reply| {
            match (reply, cx.sessions.get_mut(&key)) {
                (Ok(Reply::Last(Some(told))), Some(session)) => session.meter.recalled(told, None),
                (Err(why), _) => cx.notify(why, Level::Warn),
                _ => {}
            }
            Ok(())
        });
        self.reads.insert(job, then);
        let (agent, session) = named;
        self.send(cx, Request::Last { job, agent, session });
    }

    fn send(&self, cx: &mut Context, request: Request) {
        cx.send(Command::Usage { folder: self.folder.clone(), request });
    }

    /// An agent has told what a session has used up, or of a limit.
    pub fn told(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let now = cx.now();
        // What was used up then was counted then.
        let Some(session) = cx.sessions.get_mut(&key).filter(|session| !session.plays_recording()) else {
            return Ok(());
        };
        let resets = session.pressing_limit(now).and_then(|limit| limit.resets);
        let news = session.meter.take_news();
        if let (Some(spent), Some(acp_id)) = (news, session.acp_id.clone()) {
            let (agent, told) = (session.agent_name.clone(), session.meter.told().clone());
            self.told.insert((agent.clone(), acp_id.clone()), (told.clone(), session.agent));
            if cx.config.record {
                let line = Line { at: now.0, agent, session: acp_id, spent, told };
                self.send(cx, Request::Keep(Box::new(line)));
            }
        }
        self.renew(cx)?;
        // The bar says so until the limit begins anew.
        match resets.map(|resets| Duration::from_millis(Moment(resets).since(now))) {
            Some(after) => cx.later(after.min(LONGEST_WAIT), move |_: &mut Self, cx| {
                cx.raise(EditorEvent::BarOutdated(key));
                Ok(())
            }),
            None => Ok(()),
        }
    }

    pub fn was_read(
        &mut self,
        cx: &mut Context,
        job: JobId,
        reply: std::result::Result<Reply, String>,
    ) -> Result<()> {
        match self.reads.remove(&job) {
            Some(then) => then(self, cx, reply),
            None => Ok(()),
        }
    }

    /// Shows the page, once it is known what was used up; one that is open already is gone to.
    pub fn show(&mut self, cx: &mut Context) -> Result<()> {
        let here = cx.editor.tab_wins()?;
        let shown = self.open.iter().flat_map(|open| cx.editor.wins_of(open.buf));
        if let Some(win) = shown.into_iter().find(|win| here.contains(win)) {
            cx.editor.set_current_win(win)?;
            return self.renew(cx);
        }
        let key = cx.session_here();
        self.count(cx, key, move |this, cx, counted| this.open_page(cx, key, counted))
    }

    /// Adds up what was used up in all, and by a session.
    fn count(
        &mut self,
        cx: &mut Context,
        key: Option<SessionKey>,
        then: impl FnOnce(&mut Self, &mut Context, Counted) -> Result<()> + 'static,
    ) -> Result<()> {
        if !cx.config.record {
            let note = "Nothing is kept beyond a session, since `record` is off in your setup (:help acp-config-record).";
            return then(self, cx, Counted { sums: Sums::default(), notes: vec![note.to_owned()] });
        }
        let session = key.and_then(|key| cx.sessions.get(&key));
        let session = session.and_then(|session| Some((session.agent_name.clone(), session.acp_id.clone()?)));
        let job = cx.next_job();
        let read: AfterRead = Box::new(move |this, cx, reply| {
            let counted = match reply {
                Ok(Reply::Sums(sums)) => Counted { notes: broken_note(&sums), sums: *sums },
                Ok(Reply::Last(_)) => Counted::default(),
                Err(why) => Counted { sums: Sums::default(), notes: vec![capitalized(&why)] },
            };
            then(this, cx, counted)
        });
        self.reads.insert(job, read);
        let spans = spans(&cx.editor)?;
        self.send(cx, Request::Sum { job, spans, session });
        Ok(())
    }

    fn open_page(&mut self, cx: &mut Context, key: Option<SessionKey>, counted: Counted) -> Result<()> {
        let page = page_of(cx, key, &counted)?;
        let win = float(&cx.editor, &page.lines)?;
        let buf = cx.editor.win_buf(win)?;
        cx.editor.set_buf_option(buf, "filetype", "acp-usage")?;
        paint(&cx.editor, buf, &page)?;
        let screen = cx.editor.size();
        self.open.push(Open { buf, key, counted, page, screen, is_read: false, is_outdated: false });
        Ok(())
    }

    /// More was used up: pages that are open add it up again.
    fn renew(&mut self, cx: &mut Context) -> Result<()> {
        self.draw_open(cx)?;
        let all: Vec<Buf> = self.open.iter().map(|open| open.buf).collect();
        all.into_iter().try_for_each(|buf| self.renew_page(cx, buf))
    }

    fn renew_page(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(open) = self.open.iter_mut().find(|open| open.buf == buf) else { return Ok(()) };
        open.is_outdated = open.is_read;
        if std::mem::replace(&mut open.is_read, true) {
            return Ok(());
        }
        let key = open.key;
        self.count(cx, key, move |this, cx, counted| {
            let Some(open) = this.open.iter_mut().find(|open| open.buf == buf) else { return Ok(()) };
            (open.counted, open.is_read) = (counted, false);
            let again = std::mem::take(&mut open.is_outdated);
            this.draw_open(cx)?;
            if again { this.renew_page(cx, buf) } else { Ok(()) }
        })
    }

    /// Has the pages that are open say what sessions are like now, and fit the screen.
    pub fn draw_open(&mut self, cx: &Context) -> Result<()> {
        self.open.retain(|open| cx.editor.buf_is_valid(open.buf));
        let here = self.open.iter().any(|open| open.key.is_none()).then(|| cx.session_here()).flatten();
        self.open.iter_mut().try_for_each(|open| {
            // One that was opened before there was a session is about the first.
            open.key = open.key.or(here);
            open.draw(cx)
        })
    }
}

impl Open {
    fn draw(&mut self, cx: &Context) -> Result<()> {
        let editor = &cx.editor;
        let (page, screen) = (page_of(cx, self.key, &self.counted)?, editor.size());
        if page == self.page && screen == self.screen {
            return Ok(());
        }
        if page != self.page {
            editor.set_buf_option(self.buf, "modifiable", true)?;
            editor.set_lines(self.buf, 0..editor.line_count(self.buf)?, &page.lines)?;
            editor.set_buf_option(self.buf, "modifiable", false)?;
            editor.clear_namespace(self.buf, editor.namespace("acp.usage")?, 0, -1)?;
            paint(editor, self.buf, &page)?;
        }
        (self.page, self.screen) = (page, screen);
        let floats = editor.wins_of(self.buf).into_iter().filter(|win| editor.is_floating(*win));
        floats.into_iter().try_for_each(|win| refit(editor, win, &self.page.lines))
    }
}

/// That some of what was kept is lost.
fn broken_note(sums: &Sums) -> Vec<String> {
    let lines = if sums.broken == 1 { "line" } else { "lines" };
    let note = || format!("{} {lines} of what was kept can't be read, and are left out.", sums.broken);
    (sums.broken > 0).then(note).into_iter().collect()
}

/// When the day and the months have begun where the user is.
fn spans(editor: &Editor) -> Result<Spans> {
    let os: Table = editor.lua.globals().get("os")?;
    let (date, time): (mlua::Function, mlua::Function) = (os.get("date")?, os.get("time")?);
    let today: Table = date.call("*t")?;
    let (year, month): (i64, i64) = (today.get("year")?, today.get("month")?);
    // What is no month, or no hour of a day with a change of the clock, is carried over.
    let begin = |month: i64, day: i64| -> Result<u64> {
        let fields = [("year", year), ("month", month), ("day", day), ("hour", 0)];
        let seconds: i64 = time.call(editor.lua.create_table_from(fields)?)?;
        Ok(u64::try_from(seconds).unwrap_or_default() * 1000)
    };
    Ok(Spans {
        today: begin(month, today.get("day")?)?,
        month: begin(month, 1)?,
        last_month: begin(month - 1, 1)?,
    })
}

fn page_of(cx: &Context, key: Option<SessionKey>, counted: &Counted) -> Result<Page> {
    let Counted { sums, notes } = counted;
    let editor = &cx.editor;
    let spans = spans(editor)?;
    let date = |format: &str, at: u64| editor.local_time(format, at);
    // One of its sessions may not know yet what it calls itself.
    let name = |agent: &String| cx.called(agent, None);
    let period = |title: String, sums: &BTreeMap<String, _>| Period {
        title,
        agents: sums.iter().map(|(agent, sum)| (name(agent), Clone::clone(sum))).collect(),
    };
    let now = cx.now();
    let live = key.and_then(|key| cx.sessions.get(&key)).map(|session| Live {
        name: cx.called(&session.agent_name, None),
        title: session.title.clone(),
        context: session.usage,
        cost: session.cost.clone(),
        sum: sums.session.clone(),
    });
    let mut limits: Vec<Limited> = Vec::new();
    // An account's limits are the same in all sessions of an agent; the last one to tell knows best.
    for session in cx.sessions.values() {
        for limit in &session.limits {
            let resets = limit.resets.filter(|resets| *resets > now.0);
            let resets = resets.map(|at| date("%Y-%m-%d %H:%M", at)).transpose()?;
            let agent = session.name();
            limits.retain(|known| known.agent != agent || known.limit.window != limit.window);
            limits.push(Limited { agent, standing: limit.standing(now), limit: limit.clone(), resets });
        }
    }
    let (columns, _) = editor.size();
    Ok(page(&View {
        live,
        periods: vec![
            period(format!("Today, {}", date("%Y-%m-%d", spans.today)?), &sums.today),
            period(format!("This month, {}", date("%Y-%m", spans.month)?), &sums.month),
            period(format!("Last month, {}", date("%Y-%m", spans.last_month)?), &sums.last_month),
        ],
        limits,
        notes,
        icons: cx.config.icons,
        width: usize::from(columns.saturating_sub(6)),
    }))
}

fn paint(editor: &Editor, buf: Buf, page: &Page) -> Result<()> {
    editor.paint_groups(buf, "acp.usage", page.marks.iter().copied())
}
