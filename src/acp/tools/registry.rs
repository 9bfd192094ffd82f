//! Which sessions were given the editor's tools, by which token, and which calls are open. Who comes in, and what is
//! said, is left to the bridges.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::acp::mutex::lock;
use crate::core::ids::{SessionKey, ToolRunId};
use crate::core::message::{Event, Severity, ToolAnswer, ToolSpec};
use crate::mailbox::Mailbox;

/// More calls of one session at once are refused.
const MOST_RUNS: usize = 32;

#[derive(Clone)]
pub struct Tools {
    mailbox: Arc<Mailbox>,
    state: Arc<Mutex<State>>,
    /// Counts the changes of the list.
    listed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    list: Vec<ToolSpec>,
    given: HashMap<SessionKey, Given>,
    listening: HashSet<PathBuf>,
    runs: HashMap<ToolRunId, Run>,
    last_run: u64,
}

/// What a session was given.
struct Given {
    token: String,
    without: Vec<String>,
    /// Gone with the session.
    open: watch::Sender<()>,
}

struct Run {
    session: SessionKey,
    /// Until it is answered.
    reply: Option<oneshot::Sender<ToolAnswer>>,
    /// What waits to say that it took too long.
    patience: AbortHandle,
}

impl Drop for Run {
    fn drop(&mut self) {
        self.patience.abort();
    }
}

/// Whom a token has let in.
pub struct Admitted {
    pub session: SessionKey,
    pub over: watch::Receiver<()>,
}

impl Tools {
    pub fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, state: Arc::default(), listed: watch::Sender::new(0) }
    }

    /// From now on it is these tools.
    pub fn set(&self, list: Vec<ToolSpec>) {
        lock(&self.state).list = list;
        self.listed.send_modify(|count| *count += 1);
    }

    /// From now on this token lets in, to the session's tools. What the session had before counts no longer.
    /// Says whether nobody listens at the socket yet.
    pub fn give(&self, session: SessionKey, socket: PathBuf, token: String, without: Vec<String>) -> bool {
        let given = Given { token, without, open: watch::Sender::new(()) };
        let mut state = lock(&self.state);
        // A session that is opened anew keeps its token.
        state.given.retain(|_, earlier| earlier.token != given.token);
        state.given.insert(session, given);
        state.listening.insert(socket)
    }

    /// Nobody can listen there.
    pub fn no_door(&self, socket: &Path, why: &str) {
        lock(&self.state).listening.remove(socket);
        let text = format!("couldn't offer the editor's tools to agents: {why}");
        self.mailbox.post(Event::Advised { severity: Severity::Warning, text });
    }

    /// The session is over: nobody is let in any more, and who is in has to go.
    pub fn close(&self, session: SessionKey) {
        lock(&self.state).given.remove(&session);
    }

    /// What a tool has led to. Later answers count no longer.
    pub fn answer(&self, run: ToolRunId, answer: ToolAnswer) {
        let open = lock(&self.state).runs.remove(&run);
        if let Some(reply) = open.and_then(|mut open| open.reply.take()) {
            // Whoever has asked may be gone.
            let _ = reply.send(answer);
        }
    }

    pub fn admit(&self, token: &str) -> Option<Admitted> {
        let state = lock(&self.state);
        let (session, given) = state.given.iter().find(|(_, given)| is_same(&given.token, token))?;
        Some(Admitted { session: *session, over: given.open.subscribe() })
    }

    /// The same of one who needs no token.
    pub fn given_to(&self, session: SessionKey) -> Option<Admitted> {
        let state = lock(&self.state);
        let given = state.given.get(&session)?;
        Some(Admitted { session, over: given.open.subscribe() })
    }

    /// Tells that there are other tools.
    pub fn watch_list(&self) -> watch::Receiver<u64> {
        self.listed.subscribe()
    }

    /// The tools of a session.
    pub fn list(&self, session: SessionKey) -> Vec<ToolSpec> {
        let state = lock(&self.state);
        let Some(given) = state.given.get(&session) else { return Vec::new() };
        state.list.iter().filter(|tool| !given.without.contains(&tool.name)).cloned().collect()
    }

    /// Begins a call. Its answer is dropped unsaid where somebody cancels it.
    pub fn call(
        &self,
        session: SessionKey,
        name: String,
        args: Value,
    ) -> Result<(ToolRunId, oneshot::Receiver<ToolAnswer>), String> {
        let list = self.list(session);
        let Some(tool) = list.into_iter().find(|tool| tool.name == name) else {
            return Err(format!("there is no tool {name:?}"));
        };
        let (reply, answer) = oneshot::channel();
        let run = {
            let mut state = lock(&self.state);
            if state.runs.values().filter(|run| run.session == session).count() >= MOST_RUNS {
                return Err("too many calls at once; wait for some to end".to_owned());
            }
            state.last_run += 1;
            let run = ToolRunId(state.last_run);
            let patience = self.give_up_after(tool.patience, run);
            state.runs.insert(run, Run { session, reply: Some(reply), patience });
            run
        };
        self.mailbox.post(Event::ToolCalled { session, run, name, args });
        Ok((run, answer))
    }

    fn give_up_after(&self, patience: Duration, run: ToolRunId) -> AbortHandle {
        let tools = self.clone();
        let waits = tokio::spawn(async move {
            sleep(patience).await;
            let text = format!("it took longer than {} s", patience.as_secs_f64());
            if lock(&tools.state).runs.contains_key(&run) {
                tools.answer(run, ToolAnswer::failure(text));
                tools.mailbox.post(Event::ToolCancelled { run });
            }
        });
        waits.abort_handle()
    }

    /// Nobody waits for a call any more.
    pub fn cancel(&self, run: ToolRunId) {
        if lock(&self.state).runs.remove(&run).is_some() {
            self.mailbox.post(Event::ToolCancelled { run });
        }
    }
}

/// Compares in a time that says nothing of where two tokens differ.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |sum, (one, other)| sum | (one ^ other));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::runtime::Builder;
    use tokio::task::yield_now;

    use super::*;

    const SESSION: SessionKey = SessionKey(1);

    fn tools(patience: Duration) -> Tools {
        let tools = Tools::new(Mailbox::new(|_| {}));
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: String::new(),
            schema: json!({}),
            reads_only: true,
            patience,
        };
        tools.set(vec![spec("look")]);
        tools.give(SESSION, "/none".into(), "token".into(), Vec::new());
        tools
    }

    #[test]
    fn a_call_that_is_over_leaves_nothing_that_waits() {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let tools = tools(Duration::from_secs(3600));
            let call = || tools.call(SESSION, "look".into(), json!({})).expect("a call");
            let ((answered, answer), (cancelled, _)) = (call(), call());
            let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
            assert_eq!(alive(), 2);
            tools.answer(answered, ToolAnswer { text: "found".into(), failed: false });
            tools.cancel(cancelled);
            assert_eq!(answer.await.expect("an answer").text, "found");
            while alive() > 0 {
                yield_now().await;
            }
        });
    }

    #[test]
    fn a_call_that_takes_too_long_is_answered_so() {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let tools = tools(Duration::from_millis(1));
            let (_, answer) = tools.call(SESSION, "look".into(), json!({})).expect("a call");
            let answer = answer.await.expect("an answer");
            assert_eq!((answer.text.as_str(), answer.failed), ("it took longer than 0.001 s", true));
        });
    }
}
