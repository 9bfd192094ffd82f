//! The calls of one client that wait: what has begun, what is told of it meanwhile, and what it led to. By which way
//! the client is told is left to whoever serves it.

use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::mcp::{self, Asked};
use super::registry::Tools;
use crate::core::ids::{SessionKey, ToolRunId};
use crate::core::message::ToolAnswer;

/// Clients give up a call of which they hear nothing for a minute or less.
const BETWEEN_PROGRESS: Duration = Duration::from_secs(3);

/// Those that are open are cancelled when it is dropped.
pub struct Calls {
    tools: Tools,
    session: SessionKey,
    open: HashMap<ToolRunId, Open>,
    /// When progress is told next, while somebody wants to be.
    due: Instant,
    replies: mpsc::UnboundedSender<(ToolRunId, ToolAnswer)>,
    answers: mpsc::UnboundedReceiver<(ToolRunId, ToolAnswer)>,
}

/// A call that waits.
struct Open {
    /// What the agent calls it.
    id: Value,
    progress: Option<Value>,
    began: Instant,
}

impl Calls {
    pub fn new(tools: Tools, session: SessionKey) -> Self {
        let (replies, answers) = mpsc::unbounded_channel();
        Self { tools, session, open: HashMap::new(), due: Instant::now(), replies, answers }
    }

    /// What is answered at once.
    pub fn asked(&mut self, asked: Asked) -> Option<Value> {
        match asked {
            Asked::Nothing | Asked::Initialized => None,
            Asked::Answered(answer) => Some(answer),
            Asked::Call { id, name, args, progress } => {
                match self.tools.call(self.session, name, args, &self.replies) {
                    Ok(run) => {
                        let began = Instant::now();
                        if progress.is_some() && !self.tells_progress() {
                            self.due = began + BETWEEN_PROGRESS;
                        }
                        self.open.insert(run, Open { id, progress, began });
                        None
                    }
                    Err(why) => Some(mcp::refused(&id, &why)),
                }
            }
            Asked::Cancel { id } => {
                let run = self.open.iter().find(|(_, other)| other.id == id).map(|(run, _)| *run);
                if let Some(run) = run {
                    self.open.remove(&run);
                    self.tools.cancel(run);
                }
                None
            }
        }
    }

    /// Waits for the next answer, or until progress has to be told. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Vec<Value> {
        loop {
            let tells_progress = self.tells_progress();
            let told = tokio::select! {
                Some((run, answer)) = self.answers.recv() => {
                    self.open.remove(&run).map(|open| mcp::answered(&open.id, &answer)).into_iter().collect()
                }
                () = sleep_until(self.due), if tells_progress => self.progress(),
                // It cannot be: the other end is kept here too.
                else => pending().await,
            };
            if !Vec::is_empty(&told) {
                return told;
            }
        }
    }

    fn tells_progress(&self) -> bool {
        self.open.values().any(|open| open.progress.is_some())
    }

    fn progress(&mut self) -> Vec<Value> {
        let now = Instant::now();
        self.due = now + BETWEEN_PROGRESS;
        let told = |open: &Open| {
            let seconds = now.duration_since(open.began).as_secs();
            // It has to grow from one to the next.
            open.progress.as_ref().filter(|_| seconds > 0).map(|token| mcp::progress(token, seconds))
        };
        self.open.values().filter_map(told).collect()
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        for run in self.open.keys() {
            self.tools.cancel(*run);
        }
    }
}
