//! The line of time of a project: which turns changed files, and choosing the one before which files are to
//! be as they were. What that would change is shown by `preview`.

use mlua::Result;

use crate::core::store::checkpoint::{CheckpointRequest, Reply, Turn, plan, since};
use crate::core::store::restore::Restore;
use crate::nvim::arguments::fail;
use crate::nvim::checkpoints::Checkpoints;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;

/// At most this many characters of a prompt are shown.
const MAX_CHARS: usize = 48;

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
        let (mut items, mut points) = (Vec::new(), Vec::new());
        let today = cx.editor.local_time("%Y-%m-%d", cx.now().0)?;
        for turn in &shown {
            let day = cx.editor.local_time("%Y-%m-%d", turn.at)?;
            let format = if day == today { "%H:%M" } else { "%Y-%m-%d %H:%M" };
            let time_of = |at: u64| cx.editor.local_time(format, at);
            let time = time_of(turn.at)?;
            let (files, (added, removed)) = turn.counts();
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            let of = match mine(turn) {
                true => String::new(),
                false => match &turn.head.title {
                    Some(title) => format!(" · {}: {}", turn.head.agent, cut(title)),
                    None => format!(" · {}", turn.head.agent),
                },
            };
            items.push(format!("{time} · {} · {files} +{added} -{removed}{of}", cut(&label(turn))));
            points.push((turn.id.clone(), 0));
            for (from, at, call) in turn.later_calls() {
                items.push(format!("{} · in it: {}", time_of(at)?, cut(call)));
                points.push((turn.id.clone(), from));
            }
        }
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

fn label(turn: &Turn) -> String {
    match turn.head.prompt.is_empty() {
        true => "(outside of a turn)".to_owned(),
        false => turn.head.prompt.clone(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}
