//! The inspector: a page with a line for each message that went over the wire, live, and each message as one reads
//! it. It asks the background for what came as long as somebody looks, and for nothing otherwise. What a line says,
//! what belongs together and what passes a filter is `core::inspector`'s part.

mod filter_window;
mod message;
mod page;
mod recording;
mod replaying;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mlua::Result;

use crate::core::changes::stepping::after;
use crate::core::ids::JobId;
use crate::core::inspector::filter::{Filter, Found};
use crate::core::inspector::line::Look;
use crate::core::inspector::table::Table;
use crate::core::inspector::{Reply, Request, Target};
use crate::core::message::Command;
use crate::core::replay::Replay;
use crate::core::text::bar::Part;
use crate::nvim::arguments::fail;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Win};

#[derive(Default)]
pub struct Inspector {
    page: Option<Page>,
    /// The messages that are to be opened, by what was asked for them.
    opening: HashMap<JobId, u64>,
    /// The recordings that are being made, and written.
    recording: HashMap<JobId, Target>,
    saving: HashMap<JobId, Target>,
    confirming: Option<Confirming>,
    /// What stands above messages and recordings, by their buffers.
    other_bars: Vec<(Buf, Vec<Part>)>,
    /// The recordings that are looked at before they are played.
    replays: HashMap<JobId, Replay>,
}

/// The page in its buffer.
struct Page {
    buf: Buf,
    table: Table,
    filter: Filter,
    found: Found,
    /// The number of the message in each row; none while the page says why it is empty.
    shown: Vec<u64>,
    /// Those that pass the filter and are too many to be shown.
    earlier: usize,
    /// Up to this message it is known which are shown.
    drawn_to: u64,
    look: Look,
    /// What was asked for and has not come: messages, and those that hold a text, up to which.
    asked: Option<JobId>,
    finding: Option<(JobId, u64)>,
    typing: Option<Typing>,
    /// Which message each window was at when its rows were drawn last; the last one of all for one that follows what comes.
    places: Vec<(Win, u64)>,
    /// When lines will be drawn anew since what they are about has become slow.
    due: Option<u64>,
}

/// A recording that the user reads, and has not written yet.
struct Confirming {
    buf: Buf,
    target: Target,
}

/// The window in which the filter is typed.
struct Typing {
    buf: Buf,
    win: Win,
}

impl Inspector {
    /// Goes to the page, which is made if there is none; with an agent's name it shows that one's messages.
    pub fn open(&mut self, cx: &mut Context, agent: Option<&str>) -> Result<()> {
        self.show_page(cx)?;
        if let Some(agent) = agent {
            self.set_filter(cx, Filter::read(&format!("agent:{agent}")))?;
        }
        self.advance(cx)
    }

    pub fn is_page(&self, buf: Buf) -> bool {
        self.page.as_ref().is_some_and(|page| page.buf == buf)
    }

    /// A buffer has come into a window: this page shows what came while it was hidden.
    pub fn buffer_shown(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        if self.is_page(buf) { self.advance(cx) } else { Ok(()) }
    }

    pub fn inspected(&mut self, cx: &mut Context, reply: Reply) -> Result<()> {
        match reply {
            Reply::Came { job, batch } => {
                let Some(page) = self.page.as_mut().filter(|page| page.asked == Some(job)) else {
                    return Ok(());
                };
                page.asked = None;
                let is_other = page.table.agents.len() != batch.agents.len();
                let first = batch.first;
                let changed = page.table.add(batch);
                page.drawn_to = page.drawn_to.max(first);
                for numbers in page.found.values_mut() {
                    numbers.retain(|number| *number >= first);
                }
                page.forget_before(&cx.editor, first)?;
                page.draw_again(cx, &changed)?;
                if is_other {
                    self.look_again(cx)?;
                }
                self.advance(cx)
            }
            Reply::Found { job, numbers } => {
                let Some(page) = &mut self.page else { return Ok(()) };
                let Some((_, to)) = page.finding.take_if(|(asked, _)| *asked == job) else { return Ok(()) };
                for (text, numbers) in page.filter.texts().into_iter().zip(numbers) {
                    page.found.entry(text).or_default().extend(numbers);
                }
                page.draw_to(cx, to)?;
                self.advance(cx)
            }
            Reply::Read { job, text } => {
                let Some(number) = self.opening.remove(&job) else { return Ok(()) };
                match text {
                    Some(text) => self.show_message(cx, number, &text),
                    None => fail("newer messages have taken the place of this one"),
                }
            }
            Reply::Recorded { job, recorded } => {
                let Some(target) = self.recording.remove(&job) else { return Ok(()) };
                match recorded {
                    Ok(recorded) => self.show_recording(cx, target, &recorded),
                    Err(why) => fail(why),
                }
            }
            Reply::Playable { job, cwd } => self.looked_at(cx, job, cwd),
            Reply::Saved { job, saved } => {
                let Some(target) = self.saving.remove(&job) else { return Ok(()) };
                self.saved(cx, &target, saved)
            }
        }
    }

    /// Draws what there is, and asks for more while somebody looks.
    fn advance(&mut self, cx: &mut Context) -> Result<()> {
        let Some(page) = self.page.as_mut().filter(|page| !cx.editor.wins_of(page.buf).is_empty()) else {
            return Ok(());
        };
        if page.finding.is_none() && page.drawn_to < page.table.next() {
            let texts = page.filter.texts();
            let to = page.table.next();
            if texts.is_empty() {
                page.draw_to(cx, to)?;
            } else {
                let job = cx.next_job();
                page.finding = Some((job, to));
                let from = page.drawn_to;
                cx.send(Command::Inspect(Request::Find { job, from, texts }));
            }
        }
        if page.asked.is_none() {
            let job = cx.next_job();
            page.asked = Some(job);
            cx.send(Command::Inspect(Request::After { job, from: page.table.next() }));
        }
        self.draw_bars(cx)?;
        self.expect_slow(cx)
    }

    /// A request becomes slow without any message that says so.
    fn expect_slow(&mut self, cx: &mut Context) -> Result<()> {
        let Some(page) = &mut self.page else { return Ok(()) };
        let now = cx.now().0;
        let Some(at) =
            page.table.slow_at(now).filter(|at| page.due.is_none_or(|due| due <= now || *at < due))
        else {
            return Ok(());
        };
        page.due = Some(at);
        cx.later(Duration::from_millis(at.saturating_sub(now) + 1), |this: &mut Self, cx| {
            let Some(page) = &mut this.page else { return Ok(()) };
            page.due = None;
            let now = cx.now().0;
            let slow = page.table.rows().filter(|row| row.is_open && row.problem_at(now).is_some());
            let slow: Vec<u64> = slow.map(|row| row.summary.number).collect();
            page.draw_again(cx, &slow)?;
            this.draw_bars(cx)?;
            this.expect_slow(cx)
        })
    }

    pub(crate) fn set_filter(&mut self, cx: &mut Context, filter: Filter) -> Result<()> {
        let Some(page) = &mut self.page else { return Ok(()) };
        if page.filter == filter {
            return Ok(());
        }
        page.note_places(&cx.editor)?;
        let texts: HashSet<String> = filter.texts().into_iter().collect();
        let is_new = |text: &String| !page.found.contains_key(text);
        page.filter = filter;
        page.finding = None;
        page.earlier = 0;
        if texts.iter().any(is_new) {
            page.found.clear();
        }
        page.begin_anew();
        if page.table.next() == 0 {
            page.draw_to(cx, 0)?;
        }
        self.advance(cx)
    }

    /// A key of the page; says whether it is one.
    pub fn key(&mut self, cx: &mut Context, name: &str) -> Option<Result<()>> {
        Some(match name {
            "inspect_open" => self.open_message(cx),
            "inspect_pair" => self.go_to_pair(cx),
            "inspect_filter" => self.type_filter(cx),
            "inspect_all" => self.set_filter(cx, Filter::default()),
            "inspect_problems" => {
                let filter = self.page.as_ref().map(|page| page.filter.toggled_problems());
                filter.map_or(Ok(()), |filter| self.set_filter(cx, filter))
            }
            "inspect_next_problem" => self.go_to_problem(cx, true),
            "inspect_previous_problem" => self.go_to_problem(cx, false),
            "inspect_close" => cx.editor.close_page(),
            _ => return None,
        })
    }

    /// The message under the cursor.
    fn at_cursor(&self, cx: &Context) -> Result<u64> {
        let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        match self.page.as_ref().and_then(|page| page.shown.get(row)) {
            Some(number) => Ok(*number),
            None => fail("the cursor is not on a message"),
        }
    }

    fn open_message(&mut self, cx: &mut Context) -> Result<()> {
        let number = self.at_cursor(cx)?;
        let job = cx.next_job();
        self.opening.insert(job, number);
        cx.send(Command::Inspect(Request::Read { job, number }));
        Ok(())
    }

    fn go_to_pair(&self, cx: &Context) -> Result<()> {
        let number = self.at_cursor(cx)?;
        let Some(page) = &self.page else { return Ok(()) };
        let Some(row) = page.table.get(number) else { return Ok(()) };
        match row.pair {
            Some(pair) => page.go_to(cx, pair),
            None if row.is_open => fail("this request has no answer yet"),
            None => fail("this message has no pair: only requests and answers do"),
        }
    }

    fn go_to_problem(&self, cx: &Context, is_next: bool) -> Result<()> {
        let Some(page) = &self.page else { return Ok(()) };
        let now = cx.now().0;
        let here = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
        let is_wrong =
            |number: &u64| page.table.get(*number).is_some_and(|row| row.problem_at(now).is_some());
        let wrong = page.shown.iter().enumerate().filter(|(_, number)| is_wrong(number)).map(|(row, _)| row);
        let count = cx.editor.count()?;
        let found = match is_next {
            true => after(wrong.filter(|row| *row > here), count),
            false => after(wrong.rev().filter(|row| *row < here), count),
        };
        match found {
            Some(row) => cx.editor.set_cursor(cx.editor.current_win()?, row + 1, 0),
            None => fail(if is_next { "no problem below" } else { "no problem above" }),
        }
    }
}
