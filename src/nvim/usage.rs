//! What sessions use up: kept as agents tell it, and shown with the sums of the day and the month. What of it is new is
//! `core::session::meter`'s part, what the page says is in `page`.

mod page;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use mlua::{Result, Table, Value};

use crate::core::ids::{AgentId, JobId, Moment, SessionKey};
use crate::core::message::Command;
use crate::core::message::spent::Told;
use crate::core::store::usage::{Line, Reply, Request, Spans, Sums};
use crate::nvim::context::Context;
use crate::nvim::editor::float::float;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::usage::page::{Limited, Live, Period, View, page};

/// A limit is looked at again after this time at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);

/// What is done with what the list says, or with why it can't be read.
type AfterRead = Box<dyn FnOnce(&mut Usage, &mut Context, std::result::Result<Reply, String>) -> Result<()>>;

pub struct Usage {
    folder: PathBuf,
    reads: HashMap<JobId, AfterRead>,
    /// What sessions of this Neovim told last, and to which process they belonged: by agent and its id of the session.
    told: HashMap<(String, String), (Told, AgentId)>,
}

impl Usage {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, reads: HashMap::new(), told: HashMap::new() }
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
                (Err(why), _) => cx.advise(why, Level::Warn),
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
        let Some(session) = cx.sessions.get_mut(&key) else { return Ok(()) };
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

    /// Shows the page, once it is known what was used up.
    pub fn show(&mut self, cx: &mut Context) -> Result<()> {
        let key = cx.session_here();
        if !cx.config.record {
            let note = "Nothing is kept beyond a session, since `record` is off in your setup (:help acp-config-record).";
            return draw(cx, key, &Sums::default(), &[note.to_owned()]);
        }
        let session = key.and_then(|key| cx.sessions.get(&key));
        let session = session.and_then(|session| Some((session.agent_name.clone(), session.acp_id.clone()?)));
        let job = cx.next_job();
        let then: AfterRead = Box::new(move |_, cx, reply| match reply {
            Ok(Reply::Sums(sums)) => {
                let lines = if sums.broken == 1 { "line" } else { "lines" };
                let note =
                    format!("{} {lines} of what was kept can't be read, and are left out.", sums.broken);
                let notes = if sums.broken > 0 { vec![note] } else { Vec::new() };
                draw(cx, key, &sums, &notes)
            }
            Ok(Reply::Last(_)) => Ok(()),
            Err(why) => {
                draw(cx, key, &Sums::default(), &[format!("{}{}", why[..1].to_uppercase(), &why[1..])])
            }
        });
        self.reads.insert(job, then);
        let spans = spans(&cx.editor)?;
        self.send(cx, Request::Sum { job, spans, session });
        Ok(())
    }
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

fn draw(cx: &Context, key: Option<SessionKey>, sums: &Sums, notes: &[String]) -> Result<()> {
    let editor = &cx.editor;
    let spans = spans(editor)?;
    let date = |format: &str, at: u64| editor.func::<String>("strftime", (format, at / 1000));
    let name = |agent: &String| {
        let live = cx.sessions.values().find(|session| session.agent_name == *agent);
        live.map_or_else(|| cx.configured_title(agent), |session| session.name())
    };
    let period = |title: String, sums: &BTreeMap<String, _>| Period {
        title,
        agents: sums.iter().map(|(agent, sum)| (name(agent), Clone::clone(sum))).collect(),
    };
    let now = cx.now();
    let live = key.and_then(|key| cx.sessions.get(&key)).map(|session| Live {
        name: session.name(),
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
    let page = page(&View {
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
    });
    let win = float(editor, &page.lines)?;
    let buf = editor.win_buf(win)?;
    editor.set_buf_option(buf, "filetype", "acp-usage")?;
    let marks = editor.lua.create_table()?;
    for (row, from, to, group) in &page.marks {
        marks.raw_push(*row)?;
        marks.raw_push(*from)?;
        marks.raw_push(
            editor.table([("end_col", Value::Integer(*to as i64)), ("hl_group", editor.string(group)?)])?,
        )?;
    }
    editor.paint(buf, editor.namespace("acp.usage")?, marks)
}
