//! `:Acp replay`: a recording becomes a chat as an agent's session does.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::ids::{AgentId, JobId};
use crate::core::inspector::Request;
use crate::core::message::{Command, Launch};
use crate::core::replay::{NAME, Pace, Replay, Replaying};
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::Context;
use crate::nvim::events::EditorEvent;
use crate::nvim::inspector::Inspector;

/// A larger count of messages to play is no larger than this.
const MAX_AT_ONCE: usize = 1000;

impl Inspector {
    /// `:Acp replay {file} [speed]`; in a replay, without a file, its next message.
    pub fn replay(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let Some(name) = args.first() else {
            return play_next_of(
                cx,
                replay_here(cx),
                1,
                "name the recording to play, as in :Acp replay bug.jsonl",
            );
        };
        let pace = match args.words.get(1).map(String::as_str).filter(|word| !word.is_empty()) {
            None => Pace::Percent(100),
            Some(word) => match Pace::read(word) {
                Some(pace) => pace,
                None => {
                    return fail(format!("{word:?} is no speed; say 2 for twice as fast, max or step"));
                }
            },
        };
        // It is looked at first whether it can be played.
        let job = cx.next_job();
        let path = cx.absolute(name);
        self.replays.insert(job, Replay { path: path.clone(), pace });
        cx.send(Command::Inspect(Request::LookAt { job, path }));
        Ok(())
    }

    /// What is known of a recording that is to be played: the folder that was worked in, or why it can't be.
    pub(super) fn looked_at(
        &mut self,
        cx: &mut Context,
        job: JobId,
        cwd: std::result::Result<Option<String>, String>,
    ) -> Result<()> {
        let Some(replay) = self.replays.remove(&job) else { return Ok(()) };
        let cwd = match cwd {
            Ok(cwd) => cwd.map(PathBuf::from).filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| cx.root()),
            Err(why) => return fail(why),
        };
        let file = replay.path.file_name().map(Path::new).unwrap_or(&replay.path).display().to_string();
        let launch = Launch {
            name: NAME.into(),
            title: Some(format!("Replay of {file}")),
            // Each is played by itself.
            args: vec![job.0.to_string()],
            cwd: cwd.clone(),
            replay: Some(replay),
            ..Launch::default()
        };
        cx.raise(EditorEvent::SessionWanted { launch: Box::new(launch), cwd });
        Ok(())
    }

    /// Plays the next message of the replay here, or so many as the key's count says.
    pub fn play_next(cx: &mut Context) -> Result<()> {
        let count = cx.editor.count()?;
        play_next_of(cx, replay_here(cx), count, "this chat is no replay; :Acp replay {file} step begins one")
    }
}

/// Who plays the replay whose chat this is, and how far it is.
fn replay_here(cx: &Context) -> Option<(AgentId, Replaying)> {
    let session = cx.sessions.get(&cx.session_here()?)?;
    Some((session.agent, session.replay?))
}

fn play_next_of(
    cx: &mut Context,
    replay: Option<(AgentId, Replaying)>,
    count: usize,
    none: &str,
) -> Result<()> {
    match replay {
        None => fail(none),
        Some((_, replay)) if replay.is_over => fail("the recording is over; :Acp close ends it"),
        Some((agent, _)) => {
            (0..count.min(MAX_AT_ONCE)).for_each(|_| cx.send(Command::PlayNext { agent }));
            Ok(())
        }
    }
}
