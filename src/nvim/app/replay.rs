//! The router's part for replays: a recording becomes a chat as an agent's session does.

use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::message::Launch;
use crate::core::replay::{NAME, Pace, Replay};
use crate::nvim::app::App;
use crate::nvim::arguments::{Args, fail};

impl App {
    /// `:Acp replay {file} [speed]`; in a replay, without a file, its next message.
    pub fn replay(&mut self, args: &Args) -> Result<()> {
        let Some(name) = args.first() else {
            return match self.replay_here() {
                true => self.play_next(),
                false => fail("name the recording to play, as in :Acp replay bug.jsonl"),
            };
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
        let replay = Replay { path: self.absolute(name), pace };
        self.inspector.look_at(&mut self.cx, replay);
        Ok(())
    }

    /// The recording can be played, and worked in this folder.
    pub fn begin_replay(&mut self, replay: Replay, cwd: Option<String>, number: u64) -> Result<()> {
        let root = self.cx.root();
        let cwd = cwd.map(PathBuf::from).filter(|cwd| cwd.is_absolute()).unwrap_or(root);
        let file = replay.path.file_name().map(Path::new).unwrap_or(&replay.path).display().to_string();
        let launch = Launch {
            name: NAME.into(),
            title: Some(format!("Replay of {file}")),
            // Each is played by itself.
            args: vec![number.to_string()],
            cwd: cwd.clone(),
            replay: Some(replay),
            ..Launch::default()
        };
        self.open_chat(launch, cwd, None).map(drop)
    }

    fn replay_here(&self) -> bool {
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        session.is_some_and(|session| session.agent_name == NAME)
    }

    /// Plays the next message of the replay here.
    pub fn play_next(&mut self) -> Result<()> {
        let session = self.cx.session_here().and_then(|key| self.cx.sessions.get(&key));
        let Some(agent) = session.filter(|session| session.agent_name == NAME).map(|session| session.agent)
        else {
            return fail("this chat is no replay; :Acp replay {file} step begins one");
        };
        self.send(crate::core::message::Command::PlayNext { agent })
    }
}
