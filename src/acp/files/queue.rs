//! One agent's reads and writes, one after the other: a read must see the write before it. Those
//! outside of the session's folders wait for the user's word, one question for a session at a time, and
//! those whose disk takes long stand aside, while all others go on; those of one path keep their order.
//! Everything that waits is answered when what it belongs to is over.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use super::{Due, FileRequest, FileWork, ForEditor, Target};
use crate::acp::dispatcher::Shared;
use crate::acp::wire::rpc::{Reply, RequestId};
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Event, Place, Question, Severity};
use crate::core::store::allowlist::{self, Choice, Decision};
use crate::platform::paths::canonicalize;

/// How long the end of an agent waits for the reads and writes that are under way.
const LAST: Duration = Duration::from_millis(300);

/// After this long a read or write stands aside for those that come after it.
const ASIDE: Duration = Duration::from_millis(100);

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
        file: File,
        choice: Choice,
    },
    /// A question is over without the user's word; its request has been answered.
    Dropped(SessionKey),
    /// What waits in the session is not wanted any more.
    Cancelled(SessionKey),
    TakenBack(RequestId),
    /// What took long is done, or waits for the user.
    Answered {
        aside: Aside,
        waiting: Option<Waiting>,
    },
}

/// A request that the user is asked about, apart from its reply, which waits with the question.
pub struct Held {
    pub session: SessionKey,
    inside: Option<(Arc<Place>, FileWork, File)>,
    errands: mpsc::UnboundedSender<Errand>,
}

impl Held {
    pub fn decide(mut self, reply: Reply, choice: Choice) {
        if let Some((place, work, file)) = self.inside.take() {
            let request = FileRequest { session: self.session, place, reply: Due::new(reply), work };
            // A queue that is gone drops the request, which answers it.
            let _ = self.errands.send(Errand::Decided { request, file, choice });
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
            slow: JoinSet::new(),
            aside: Vec::new(),
            behind: VecDeque::new(),
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
    /// What takes long; each ends with what it is about.
    slow: JoinSet<(Aside, Option<Waiting>)>,
    aside: Vec<Aside>,
    /// What is about the same paths.
    behind: VecDeque<FileRequest>,
}

/// A read or write that takes long.
#[derive(Clone)]
struct Aside {
    session: SessionKey,
    /// As the agent wrote it.
    path: PathBuf,
    reply: Due,
}

struct Waiting {
    request: FileRequest,
    file: File,
}

/// A file that the user is asked about.
#[derive(Clone)]
struct File {
    resolved: PathBuf,
    /// What an answer that counts for more counts for.
    scope: PathBuf,
    /// It is in a folder of the session's, and has another name outside.
    linked: bool,
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
                Some(slow) = self.slow.join_next() => {
                    // A panic drops the reply, which answers the agent.
                    let Ok((aside, waiting)) = slow else { continue };
                    Errand::Answered { aside, waiting }
                }
                errand = queue.recv() => match errand {
                    Some(errand) => errand,
                    // Nobody is there any more who could ask for anything.
                    None => return,
                }
            };
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
        self.behind.clear();
        // The same.
        let soon = async { while self.slow.join_next().await.is_some() {} };
        let _ = timeout(if self.aside.is_empty() { LAST } else { ASIDE / 2 }, soon).await;
        self.aside.drain(..).for_each(|aside| drop(aside.reply.take()));
        drop(done);
    }

    async fn act(&mut self, errand: Errand) {
        match errand {
            Errand::Serve(request) => self.take(request).await,
            Errand::Decided { request, file, choice } => self.decided(request, file, choice).await,
            Errand::Dropped(session) => {
                self.asking.remove(&session);
                self.go_on(0).await;
            }
            Errand::Cancelled(session) => {
                self.waiting.retain(|waiting| waiting.request.session != session);
                self.behind.retain(|request| request.session != session);
                self.give_up(|aside| aside.session == session);
            }
            Errand::TakenBack(id) => {
                self.waiting.retain(|waiting| !waiting.request.reply.is(&id));
                self.behind.retain(|request| !request.reply.is(&id));
                self.give_up(|aside| aside.reply.is(&id));
            }
            Errand::Answered { aside, waiting } => {
                self.aside.retain(|other| other.path != aside.path);
                let next = self.behind.iter().position(|request| request.work.path() == aside.path);
                if let Some(waiting) = waiting {
                    self.waiting.push_back(waiting);
                    self.go_on(self.waiting.len() - 1).await;
                }
                if let Some(next) = next.and_then(|next| self.behind.remove(next)) {
                    self.take(next).await;
                }
            }
        }
    }

    /// Nobody waits for these any more. What the disk does to them when it answers again is not waited for,
    /// but goes on counting as under way.
    fn give_up(&self, which: impl Fn(&Aside) -> bool) {
        // A reply that is dropped says that the request was cancelled.
        self.aside.iter().filter(|aside| which(aside)).for_each(|aside| drop(aside.reply.take()));
    }

    async fn take(&mut self, request: FileRequest) {
        if self.aside.iter().any(|aside| aside.path == request.work.path()) {
            return self.behind.push_back(request);
        }
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        let aside = Aside::of(&request);
        // A panic drops the reply, which answers the agent.
        let done = self.work(aside, move || match request.locate(&shared.disks) {
            Ok(Target::Inside(resolved)) => {
                request.serve(&shared, resolved, &editor);
                None
            }
            Ok(Target::Outside(resolved)) => {
                let scope = scope(&resolved);
                Some(Waiting { request, file: File { resolved, scope, linked: false } })
            }
            Ok(Target::Linked { path: resolved, folder: scope }) => {
                Some(Waiting { request, file: File { resolved, scope, linked: true } })
            }
            Err(error) => {
                request.refuse(&error);
                None
            }
        });
        if let Some(waiting) = done.await {
            self.waiting.push_back(waiting);
            self.go_on(self.waiting.len() - 1).await;
        }
    }

    async fn serve(&mut self, request: FileRequest, resolved: PathBuf) {
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        let aside = Aside::of(&request);
        let serve = move || {
            request.serve(&shared, resolved, &editor);
            None
        };
        self.work(aside, serve).await;
    }

    /// Works on a request. When that takes long it stands aside, and what comes of it is heard of later.
    async fn work(
        &mut self,
        aside: Aside,
        work: impl FnOnce() -> Option<Waiting> + Send + 'static,
    ) -> Option<Waiting> {
        let (disks, path) = (self.shared.disks.clone(), aside.path.clone());
        let mut working = tokio::spawn(async move { disks.run(&path, work).await.flatten() });
        match timeout(ASIDE, &mut working).await {
            Ok(done) => done.ok().flatten(),
            Err(_) => {
                self.aside.push(aside.clone());
                self.slow.spawn(async move { (aside, working.await.ok().flatten()) });
                None
            }
        }
    }

    async fn decided(&mut self, request: FileRequest, file: File, choice: Choice) {
        let (session, access) = (request.session, request.work.access());
        self.asking.remove(&session);
        let (shared, target) = (self.shared.clone(), file.scope);
        let said = spawn_blocking(move || shared.outside.say(session, access, target, choice)).await;
        if let Ok(Some(trouble)) = said {
            self.note(session, Severity::Warning, trouble);
        }
        if choice.allows() {
            self.serve(request, file.resolved).await;
        } else {
            let error = request.not_allowed();
            request.refuse(&error);
        }
        self.go_on(0).await;
    }

    /// Does what can be done of what waits from `first` on, and asks about the first of the rest.
    async fn go_on(&mut self, first: usize) {
        let mut at = first;
        while at < self.waiting.len() {
            let Waiting { request, file: File { resolved, .. } } = &self.waiting[at];
            let (session, access) = (request.session, request.work.access());
            // What was asked for before it may change what it is about.
            let behind = self.waiting.range(..at).any(|before| before.file.resolved == *resolved)
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
            let Some(Waiting { request, file }) = self.waiting.remove(at) else { return };
            match decision {
                Decision::Allowed => self.serve(request, file.resolved).await,
                Decision::Ask => self.ask(request, file),
                Decision::Refused | Decision::RefusedBefore => {
                    self.refuse(request, file.linked, decision).await
                }
            }
        }
    }

    fn ask(&mut self, request: FileRequest, file: File) {
        // Nobody is there any more who could answer.
        let Some(errands) = self.errands.upgrade() else { return };
        let FileRequest { session, place, reply, work } = request;
        let Some(reply) = reply.take() else { return };
        self.asking.insert(session, file.resolved.clone());
        let File { resolved: path, scope: target, linked } = file.clone();
        let question = Question::Outside { path, target, access: work.access(), linked };
        let held = Held { session, inside: Some((place, work, file)), errands };
        // The same; then what is held says that it is over.
        let _ = self.editor.send(Passed::Outside { reply, question, held });
    }

    /// Says so in the chat before the agent gets to know it, which may end its turn.
    async fn refuse(&self, request: FileRequest, linked: bool, decision: Decision) {
        let refused = spawn_blocking(move || {
            let (severity, error) = match decision {
                Decision::RefusedBefore => (Severity::Info, request.not_allowed()),
                _ if linked => (Severity::Warning, request.linked()),
                _ => (Severity::Warning, request.outside()),
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

impl Aside {
    fn of(request: &FileRequest) -> Self {
        let FileRequest { session, reply, work, .. } = request;
        Self { session: *session, path: work.path().to_owned(), reply: reply.clone() }
    }
}

fn scope(resolved: &Path) -> PathBuf {
    let home = std::env::home_dir().map(|home| canonicalize(&home).unwrap_or(home));
    allowlist::target(resolved, home.as_deref())
}

impl std::fmt::Debug for Held {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Held").field("session", &self.session).finish_non_exhaustive()
    }
}
