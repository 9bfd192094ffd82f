//! The line of time of a project: which turns changed files, and choosing the one before which files are to
//! be as they were. What that would change is shown by `preview`.

use std::collections::HashMap;

use mlua::Result;

use crate::core::store::checkpoint::{CheckpointRequest, Reply, Turn, plan, since};
use crate::core::store::restore::Restore;
use crate::core::text::fitting::{cut_end, cut_middle, taken};
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::fail;
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::editor::{Level, picker};

/// At most this much of a prompt is shown, and this much in any case.
const MAX_CELLS: usize = 48;
const LEAST_CELLS: usize = 16;

const LONGEST_NAME: usize = 24;

impl Checkpoints {
    pub fn choose(&mut self, cx: &mut Context) -> Result<()> {
        if !cx.config.checkpoints.enabled {
            return fail("checkpoints are off; see :help acp-config-checkpoints.enabled");
        }
        let here = cx.session_here().and_then(|key| cx.sessions.get(&key));
        let cwd = here.map_or_else(|| cx.root(), |session| session.place.cwd.clone());
        let session = here.map(|session| (session.name(), session.acp_id.clone().unwrap_or_default()));
        self.ask_store(
            cx,
            |job| CheckpointRequest::List { job, cwd },
            move |this, cx, reply| match reply {
                Reply::Listed { turns, broken } => this.offer_turns(cx, session, turns, broken),
                _ => Ok(()),
            },
        );
        Ok(())
    }

    fn offer_turns(
        &mut self,
        cx: &mut Context,
        session: Option<(String, String)>,
        turns: Vec<Turn>,
        broken: usize,
    ) -> Result<()> {
        let mut shown: Vec<&Turn> = turns.iter().filter(|turn| turn.changed().next().is_some()).collect();
        let mine = |turn: &Turn| {
            session.as_ref().is_some_and(|(agent, id)| turn.head.agent == *agent && turn.head.acp_id == *id)
        };
        // The session's own come first; in both parts the newest is at the top.
        shown.sort_by_key(|turn| !mine(turn));
        if broken > 0 {
            let records =
                if broken == 1 { "1 checkpoint".to_owned() } else { format!("{broken} checkpoints") };
            let text = format!("{records} can't be read in full; what can be is shown");
            cx.notify(text, Level::Warn);
        }
        if shown.is_empty() {
            return fail("there is no checkpoint yet: no agent has changed a file here");
        }
        let mut listed: Vec<Listed> = Vec::new();
        let mut points = Vec::new();
        for turn in &shown {
            listed.push(Listed { at: turn.at, asked: label(turn), rest: rest(turn, mine(turn)) });
            points.push((turn.id.clone(), 0));
            for (from, at, call) in turn.later_calls() {
                listed.push(Listed { at, asked: format!("in it: {call}"), rest: String::new() });
                points.push((turn.id.clone(), from));
            }
        }
        let width = match picker::is_builtin(&cx.editor) {
            // With the number before it.
            true => usize::from(cx.editor.size().0).saturating_sub(5),
            false => usize::MAX,
        };
        let times = times(cx, &listed)?;
        let items = listed.iter().zip(&times).map(|(listed, time)| listed.item(time, width)).collect();
        cx.offer(
            "Restore files to their state before",
            "acp_checkpoint",
            items,
            move |this: &mut Self, cx, index| {
                let (id, from) = &points[index];
                this.look_before(cx, &turns, id, *from)
            },
        );
        Ok(())
    }

    /// What putting files back would change is shown before it is done.
    fn look_before(&mut self, cx: &mut Context, turns: &[Turn], id: &str, from: usize) -> Result<()> {
        let Some(turn) = turns.iter().find(|turn| turn.id == id) else { return Ok(()) };
        let mut head = turn.head.clone();
        if let Some((_, _, call)) = turn.later_calls().find(|(at, ..)| *at == from) {
            // It is called by what is taken back.
            head.prompt = call.to_owned();
        }
        self.show_preview(
            cx,
            Restore { head, files: plan(turns, id, from), since: since(turns, id, from), hunk: None },
        )
    }
}

/// A point that files can be put back to, as a line of the list.
struct Listed {
    at: u64,
    /// What was asked, or what the call was about.
    asked: String,
    /// What was changed, and whose it was.
    rest: String,
}

impl Listed {
    /// What was asked gives way to the rest.
    fn item(&self, time: &str, width: usize) -> String {
        let rest = if self.rest.is_empty() { String::new() } else { format!(" · {}", self.rest) };
        let room = width.saturating_sub(taken(time) + 3 + taken(&rest)).clamp(LEAST_CELLS, MAX_CELLS);
        format!("{time} · {}{rest}", cut_end(&self.asked, room))
    }
}

/// When each was, to the minute; to the second where that would be the same for several.
fn times(cx: &Context, listed: &[Listed]) -> Result<Vec<String>> {
    let today = cx.editor.local_time("%Y-%m-%d", cx.now().0)?;
    let mut minutes = Vec::new();
    for Listed { at, .. } in listed {
        let is_today = cx.editor.local_time("%Y-%m-%d", *at)? == today;
        minutes.push(cx.editor.local_time(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" }, *at)?);
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    minutes.iter().for_each(|minute| *counts.entry(minute).or_default() += 1);
    let exact = |(minute, listed): (&String, &Listed)| match counts[minute.as_str()] > 1 {
        true => Ok(format!("{minute}{}", cx.editor.local_time(":%S", listed.at)?)),
        false => Ok(minute.clone()),
    };
    minutes.iter().zip(listed).map(exact).collect()
}

/// Which files a turn changed, by how much, and whose turn it was if not this session's.
fn rest(turn: &Turn, is_mine: bool) -> String {
    let (count, (added, removed)) = turn.counts();
    let first = turn.changed().next().and_then(|file| file.path.file_name());
    let name = first.map(|name| cut_middle(&visible_line(&name.to_string_lossy()), LONGEST_NAME));
    let files = match (name, count) {
        (Some(name), 1) => name,
        (Some(name), _) => format!("{name} and {} more", count - 1),
        (None, _) => format!("{count} files"),
    };
    let of = match (is_mine, &turn.head.title) {
        (true, _) => String::new(),
        (false, Some(title)) => format!(" · {}: {}", turn.head.agent, cut_end(title, MAX_CELLS)),
        (false, None) => format!(" · {}", turn.head.agent),
    };
    format!("{files} +{added} -{removed}{of}")
}

fn label(turn: &Turn) -> String {
    match turn.head.prompt.is_empty() {
        true => "(outside of a turn)".to_owned(),
        false => turn.head.prompt.clone(),
    }
}
