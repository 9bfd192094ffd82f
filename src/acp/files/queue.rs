//! One agent's reads and writes, one after the other: a read must see the write before it. Those
//! outside of the session's folders wait for the user's word, one question for a session at a time,
//! while all others go on; those of one path keep their order. Everything that waits is answered when
//! what it belongs to is over.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{FileRequest, FileWork, ForEditor};
use crate::acp::disk::Located;
use crate::acp::hub::Shared;
use crate::acp::rpc::{Reply, RequestId};
use crate::core::message::{AgentId, Event, Place, Question, SessionKey, Severity};
use crate::core::outside::{self, Choice, Decision};
use crate::platform::paths::canonicalize;

/// How long the end of an agent waits for the read or write that is under way.
const LAST: Duration = Duration::from_millis(300);

/// The connection's side of the queue.
pub struct Files {
    errands: mpsc::UnboundedSender<Errand>,
    /// Ends the queue; what is sent is dropped when it is empty.
    end: Option<oneshot::Sender<oneshot::Sender<()>>>,
}

/// What the connection has to put to the editor.
pub enum Passed {
    /// A file that a buffer holds.
    Buffer(ForEditor),
    /// A file outside of the session's folders.
    Outside { reply: Reply, question: Question, held: Held },
}

enum Errand {
    Serve(FileRequest),
    /// The user has answered.
    Decided {
        request: FileRequest,
        resolved: PathBuf,
        choice: Choice,
    },
    /// A question is over without the user's word; its request has been answered.
    Dropped(SessionKey),
    /// What waits in the session is not wanted any more.
    Cancelled(SessionKey),
    TakenBack(RequestId),
}

/// A request that the user is asked about, apart from its reply, which waits with the question.
pub struct Held {
    pub session: SessionKey,
    inside: Option<(Arc<Place>, FileWork, PathBuf)>,
    errands: mpsc::UnboundedSender<Errand>,
}

impl Held {
    pub fn decide(mut self, reply: Reply, choice: Choice) {
        if let Some((place, work, resolved)) = self.inside.take() {
            let request = FileRequest { session: self.session, place, reply, work };
            // A queue that is gone drops the request, which answers it.
            let _ = self.errands.send(Errand::Decided { request, resolved, choice });
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.inside.is_some() {
            // Nothing waits in a queue that is gone.
            let _ = self.errands.send(Errand::Dropped(self.session));
        }
    }
}

impl Files {
    pub fn start(shared: Arc<Shared>, agent: AgentId, editor: mpsc::UnboundedSender<Passed>) -> Self {
        let (errands, queue) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let line = Line {
            shared,
            agent,
            editor,
            errands: errands.downgrade(),
            waiting: VecDeque::new(),
            asking: HashMap::new(),
        };
        tokio::spawn(line.run(queue, ended));
        Self { errands, end: Some(end) }
    }

    pub fn serve(&self, request: FileRequest) {
        self.send(Errand::Serve(request));
    }

    pub fn cancel(&self, session: SessionKey) {
        self.send(Errand::Cancelled(session));
    }

    pub fn take_back(&self, request: &RequestId) {
        self.send(Errand::TakenBack(request.clone()));
    }

    /// Answers all that waits, and what is under way if that is soon done.
    pub async fn end(&mut self) {
        let (done, told) = oneshot::channel();
        if self.end.take().is_some_and(|end| end.send(done).is_ok()) {
            // It is told by being dropped.
            let _ = told.await;
        }
    }

    fn send(&self, errand: Errand) {
        // It ends after this connection only; a request that comes too late is answered by its reply.
        let _ = self.errands.send(errand);
    }
}

struct Line {
    shared: Arc<Shared>,
    agent: AgentId,
    editor: mpsc::UnboundedSender<Passed>,
    errands: mpsc::WeakUnboundedSender<Errand>,
    /// Outside of their sessions' folders, and not decided yet.
    waiting: VecDeque<Waiting>,
    /// What each session's user is asked about.
    asking: HashMap<SessionKey, PathBuf>,
}

struct Waiting {
    request: FileRequest,
    resolved: PathBuf,
}

impl Line {
    async fn run(
        mut self,
        mut queue: mpsc::UnboundedReceiver<Errand>,
        mut ended: oneshot::Receiver<oneshot::Sender<()>>,
    ) {
        let done = loop {
            let errand = tokio::select! {
                biased;
                done = &mut ended => break done,
                errand = queue.recv() => errand,
            };
            // Nobody is there any more who could ask for anything.
            let Some(errand) = errand else { return };
            let act = self.act(errand);
            tokio::pin!(act);
            tokio::select! {
                () = &mut act => {}
                done = &mut ended => {
                    clear(&mut queue);
                    // A disk that does not answer is not waited for: then the end of the pipe is the answer.
                    let _ = timeout(LAST, act).await;
                    break done;
                }
            }
        };
        clear(&mut queue);
        self.waiting.clear();
        drop(done);
    }

    async fn act(&mut self, errand: Errand) {
        match errand {
            Errand::Serve(request) => self.take(request).await,
            Errand::Decided { request, resolved, choice } => self.decided(request, resolved, choice).await,
            Errand::Dropped(session) => {
                self.asking.remove(&session);
                self.go_on(0).await;
            }
            Errand::Cancelled(session) => self.waiting.retain(|waiting| waiting.request.session != session),
            Errand::TakenBack(id) => self.waiting.retain(|waiting| *waiting.request.reply.id() != id),
        }
    }

    async fn take(&mut self, request: FileRequest) {
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        // A panic drops the reply, which answers the agent.
        let outside = spawn_blocking(move || match request.roots().locate(request.work.path()) {
            Ok(Located::Inside(resolved)) => {
                request.serve(&shared, resolved, &editor);
                None
            }
            Ok(Located::Outside(resolved)) => Some(Waiting { request, resolved }),
            Err(error) => {
                request.refuse(&error);
                None
            }
        });
        if let Ok(Some(waiting)) = outside.await {
            self.waiting.push_back(waiting);
            self.go_on(self.waiting.len() - 1).await;
        }
    }

    async fn serve(&self, request: FileRequest, resolved: PathBuf) {
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        // A panic drops the reply, which answers the agent.
        let _ = spawn_blocking(move || request.serve(&shared, resolved, &editor)).await;
    }

    async fn decided(&mut self, request: FileRequest, resolved: PathBuf, choice: Choice) {
        let (session, access) = (request.session, request.work.access());
        self.asking.remove(&session);
        let (shared, target) = (self.shared.clone(), target(&resolved));
        let said = spawn_blocking(move || shared.outside.say(session, access, target, choice)).await;
        if let Ok(Some(trouble)) = said {
            self.note(session, Severity::Warning, trouble);
        }
        if choice.allows() {
            self.serve(request, resolved).await;
        } else {
            let error = request.roots().not_allowed();
            request.refuse(&error);
        }
        self.go_on(0).await;
    }

    /// Does what can be done of what waits from `first` on, and asks about the first of the rest.
    async fn go_on(&mut self, first: usize) {
        let mut at = first;
        while at < self.waiting.len() {
            let Waiting { request, resolved } = &self.waiting[at];
            let (session, access) = (request.session, request.work.access());
            // What was asked for before it may change what it is about.
            let behind = self.waiting.range(..at).any(|before| before.resolved == *resolved)
                || self.asking.values().any(|asked| asked == resolved);
            if behind {
                at += 1;
                continue;
            }
            let (shared, path) = (self.shared.clone(), resolved.clone());
            let decided = spawn_blocking(move || shared.outside.decide(session, access, &path)).await;
            // After a panic nothing is allowed.
            let (decision, trouble) = decided.unwrap_or((Decision::Refused, None));
            if let Some(trouble) = trouble {
                self.note(session, Severity::Warning, trouble);
            }
            if decision == Decision::Ask && self.asking.contains_key(&session) {
                at += 1;
                continue;
            }
            let Some(Waiting { request, resolved }) = self.waiting.remove(at) else { return };
            match decision {
                Decision::Allowed => self.serve(request, resolved).await,
                Decision::Ask => self.ask(request, resolved),
                Decision::Refused | Decision::RefusedBefore => self.refuse(request, decision).await,
            }
        }
    }

    fn ask(&mut self, request: FileRequest, resolved: PathBuf) {
        // Nobody is there any more who could answer.
        let Some(errands) = self.errands.upgrade() else { return };
        let FileRequest { session, place, reply, work } = request;
        self.asking.insert(session, resolved.clone());
        let (access, target) = (work.access(), target(&resolved));
        let question = Question::Outside { path: resolved.clone(), target, access };
        let held = Held { session, inside: Some((place, work, resolved)), errands };
        // The same; then what is held says that it is over.
        let _ = self.editor.send(Passed::Outside { reply, question, held });
    }

    /// Says so in the chat before the agent gets to know it, which may end its turn.
    async fn refuse(&self, request: FileRequest, decision: Decision) {
        let refused = spawn_blocking(move || {
            let (severity, error) = match decision {
                Decision::RefusedBefore => (Severity::Info, request.roots().not_allowed()),
                _ => (Severity::Warning, request.roots().outside()),
            };
            let error = request.refusal(&error);
            (request, severity, error)
        });
        // A panic drops the reply, which answers the agent.
        if let Ok((request, severity, error)) = refused.await {
            self.note(request.session, severity, error.message.clone());
            request.reply.fail(&error);
        }
    }

    fn note(&self, session: SessionKey, severity: Severity, text: String) {
        let session = Some(session);
        self.shared.mailbox.post(Event::Noted { agent: self.agent, session, severity, text });
    }
}

/// A reply that is dropped says that the request was cancelled.
fn clear(queue: &mut mpsc::UnboundedReceiver<Errand>) {
    queue.close();
    while queue.try_recv().is_ok() {}
}

fn target(resolved: &Path) -> PathBuf {
    let home = std::env::home_dir().map(|home| canonicalize(&home).unwrap_or(home));
    outside::target(resolved, home.as_deref())
}

impl std::fmt::Debug for Held {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Held").field("session", &self.session).finish_non_exhaustive()
    }
}
