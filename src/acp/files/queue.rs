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

use super::disk::DiskError;
use super::request::{BufferRequest, FileRequest, FileWork, SharedReply, Target};
use crate::acp::holds::Want;
use crate::acp::policy::UnderRules;
use crate::acp::shared::Shared;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::RequestId;
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Access, AskReason, Event, Place, Question, RuledBy, Severity};
use crate::core::policy::{Action, Decision, FileLocation, Reason, Verdict};
use crate::core::rules::{Act, Judgement, Request};
use crate::core::store::allowlist::{self, Choice};
use crate::platform::paths::canonicalize;

/// How long the end of an agent waits for the reads and writes that are under way.
const END_GRACE: Duration = Duration::from_millis(300);

/// After this long a read or write stands aside for those that come after it.
const SLOW_AFTER: Duration = Duration::from_millis(100);

/// The connection's side of the queue.
pub struct FileQueue {
    commands: mpsc::UnboundedSender<FileCommand>,
    /// Ends the queue; what is sent is dropped when it is empty.
    end: Option<oneshot::Sender<oneshot::Sender<()>>>,
}

/// What the connection has to put to the editor.
pub enum EditorRequest {
    /// A file that a buffer holds.
    Buffer(BufferRequest),
    /// A file outside of the session's folders.
    Outside { reply: Reply, question: Question, held: PendingAccess },
}

enum FileCommand {
    Serve(FileRequest),
    /// The user has answered.
    Decided {
        request: FileRequest,
        file: OutsideFile,
        choice: Choice,
        by: Option<RuledBy>,
    },
    /// A question is over without the user's word; its request has been answered.
    Dropped(SessionKey),
    /// What waits in the session is not wanted any more.
    Cancelled(SessionKey),
    CancelledByAgent(RequestId),
    /// What took long is done, or waits for the user.
    Answered {
        slow: SlowRequest,
        waiting: Option<WaitingRequest>,
    },
}

/// A request that the user is asked about, apart from its reply, which waits with the question.
pub struct PendingAccess {
    pub session: SessionKey,
    inside: Option<(Arc<Place>, FileWork, OutsideFile)>,
    commands: mpsc::UnboundedSender<FileCommand>,
}

impl PendingAccess {
    /// `by` is what has chosen in the user's place, if they were not asked.
    pub fn decide(mut self, reply: Reply, choice: Choice, by: Option<RuledBy>) {
        if let Some((place, work, file)) = self.inside.take() {
            let request = FileRequest { session: self.session, place, reply: SharedReply::new(reply), work };
            // A queue that is gone drops the request, which answers it.
            let _ = self.commands.send(FileCommand::Decided { request, file, choice, by });
        }
    }
}

impl Drop for PendingAccess {
    fn drop(&mut self) {
        if self.inside.is_some() {
            // Nothing waits in a queue that is gone.
            let _ = self.commands.send(FileCommand::Dropped(self.session));
        }
    }
}

impl FileQueue {
    pub fn start(shared: Arc<Shared>, agent: AgentId, editor: mpsc::UnboundedSender<EditorRequest>) -> Self {
        let (commands, queue) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let worker = FileWorker {
            shared,
            agent,
            editor,
            commands: commands.downgrade(),
            waiting: VecDeque::new(),
            asking: HashMap::new(),
            slow_tasks: JoinSet::new(),
            slow: Vec::new(),
            behind: VecDeque::new(),
        };
        tokio::spawn(worker.run(queue, ended));
        Self { commands, end: Some(end) }
    }

    pub fn serve(&self, request: FileRequest) {
        self.send(FileCommand::Serve(request));
    }

    pub fn cancel(&self, session: SessionKey) {
        self.send(FileCommand::Cancelled(session));
    }

    pub fn take_back(&self, request: &RequestId) {
        self.send(FileCommand::CancelledByAgent(request.clone()));
    }

    /// Answers all that waits, and what is under way if that is soon done.
    pub async fn end(&mut self) {
        let (done, told) = oneshot::channel();
        if self.end.take().is_some_and(|end| end.send(done).is_ok()) {
            // It is told by being dropped.
            let _ = told.await;
        }
    }

    fn send(&self, command: FileCommand) {
        // It ends after this connection only; a request that comes too late is answered by its reply.
        let _ = self.commands.send(command);
    }
}

struct FileWorker {
    shared: Arc<Shared>,
    agent: AgentId,
    editor: mpsc::UnboundedSender<EditorRequest>,
    commands: mpsc::WeakUnboundedSender<FileCommand>,
    /// Outside of their sessions' folders, and not decided yet.
    waiting: VecDeque<WaitingRequest>,
    /// What each session's user is asked about.
    asking: HashMap<SessionKey, PathBuf>,
    /// What takes long; each ends with what it is about.
    slow_tasks: JoinSet<(SlowRequest, Option<WaitingRequest>)>,
    slow: Vec<SlowRequest>,
    /// What is about the same paths.
    behind: VecDeque<FileRequest>,
}

/// A read or write that takes long.
#[derive(Clone)]
struct SlowRequest {
    session: SessionKey,
    /// As the agent wrote it.
    path: PathBuf,
    reply: SharedReply,
}

struct WaitingRequest {
    request: FileRequest,
    file: OutsideFile,
}

/// A file that the user is asked about.
#[derive(Clone)]
struct OutsideFile {
    resolved: PathBuf,
    /// What an answer that counts for more counts for.
    scope: PathBuf,
    location: FileLocation,
    /// A rule asks about it, and which. Else it is asked for where it is.
    rule: Option<String>,
}

impl FileWorker {
    async fn run(
        mut self,
        mut queue: mpsc::UnboundedReceiver<FileCommand>,
        mut ended: oneshot::Receiver<oneshot::Sender<()>>,
    ) {
        let done = loop {
            let command = tokio::select! {
                biased;
                done = &mut ended => break done,
                Some(slow) = self.slow_tasks.join_next() => {
                    // A panic drops the reply, which answers the agent.
                    let Ok((slow, waiting)) = slow else { continue };
                    FileCommand::Answered { slow, waiting }
                }
                command = queue.recv() => match command {
                    Some(command) => command,
                    // Nobody is there any more who could ask for anything.
                    None => return,
                }
            };
            let act = self.act(command);
            tokio::pin!(act);
            tokio::select! {
                () = &mut act => {}
                done = &mut ended => {
                    clear(&mut queue);
                    // A disk that does not answer is not waited for: then the end of the pipe is the answer.
                    let _ = timeout(END_GRACE, act).await;
                    break done;
                }
            }
        };
        clear(&mut queue);
        self.waiting.clear();
        self.behind.clear();
        // The same.
        let soon = async { while self.slow_tasks.join_next().await.is_some() {} };
        let _ = timeout(if self.slow.is_empty() { END_GRACE } else { SLOW_AFTER / 2 }, soon).await;
        self.slow.drain(..).for_each(|slow| drop(slow.reply.take()));
        drop(done);
    }

    async fn act(&mut self, command: FileCommand) {
        match command {
            FileCommand::Serve(request) => self.take(request).await,
            FileCommand::Decided { request, file, choice, by } => {
                self.decided(request, file, (choice, by)).await
            }
            FileCommand::Dropped(session) => {
                self.asking.remove(&session);
                self.go_on(0).await;
            }
            FileCommand::Cancelled(session) => {
                self.waiting.retain(|waiting| waiting.request.session != session);
                self.behind.retain(|request| request.session != session);
                self.give_up(|slow| slow.session == session);
            }
            FileCommand::CancelledByAgent(id) => {
                self.waiting.retain(|waiting| !waiting.request.reply.is(&id));
                self.behind.retain(|request| !request.reply.is(&id));
                self.give_up(|slow| slow.reply.is(&id));
            }
            FileCommand::Answered { slow, waiting } => {
                self.slow.retain(|other| other.path != slow.path);
                let next = self.behind.iter().position(|request| request.work.path() == slow.path);
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
    fn give_up(&self, which: impl Fn(&SlowRequest) -> bool) {
        // A reply that is dropped says that the request was cancelled.
        self.slow.iter().filter(|slow| which(slow)).for_each(|slow| drop(slow.reply.take()));
    }

    async fn take(&mut self, request: FileRequest) {
        if self.slow.iter().any(|slow| slow.path == request.work.path()) {
            return self.behind.push_back(request);
        }
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        let slow = SlowRequest::of(&request);
        // A panic drops the reply, which answers the agent.
        let held = (request.work.access() == Access::Wrote).then_some(request.session);
        let done = self.work(slow, held, move || {
            // Those outside wait for their turn: an answer about an earlier one may count for them, too.
            let (resolved, scope, location) = match request.locate(&shared.disks) {
                Ok(Target::Inside(resolved)) => (resolved.clone(), resolved, FileLocation::InFolders),
                Ok(Target::Outside(resolved)) => {
                    let scope = scope(&resolved);
                    (resolved, scope, FileLocation::Outside)
                }
                Ok(Target::Linked { path, folder }) => (path, folder, FileLocation::LinkedOutside),
                Err(error) => {
                    request.refuse(&error);
                    return None;
                }
            };
            let file = OutsideFile { resolved, scope, location, rule: None };
            if location == FileLocation::InFolders {
                let (UnderRules { decision, rule, .. }, _) = decide(&shared, &request, &file);
                if decision.verdict == Verdict::Allow {
                    request.reply.note(|line| line.decided_under(decision, rule));
                    request.serve(&shared, file.resolved, |request| pass_on(&editor, request));
                    return None;
                }
            }
            Some(WaitingRequest { request, file })
        });
        if let Some(waiting) = done.await {
            self.waiting.push_back(waiting);
            self.go_on(self.waiting.len() - 1).await;
        }
    }

    async fn serve(&mut self, request: FileRequest, resolved: PathBuf) {
        let (shared, editor) = (self.shared.clone(), self.editor.clone());
        let slow = SlowRequest::of(&request);
        let serve = move || {
            request.serve(&shared, resolved, |request| pass_on(&editor, request));
            None
        };
        self.work(slow, None, serve).await;
    }

    /// Works on a request, once its session is not held. When that takes long it stands aside, and what comes of it is
    /// heard of later.
    async fn work(
        &mut self,
        slow: SlowRequest,
        held: Option<SessionKey>,
        work: impl FnOnce() -> Option<WaitingRequest> + Send + 'static,
    ) -> Option<WaitingRequest> {
        let (shared, path, reply) = (self.shared.clone(), slow.path.clone(), slow.reply.clone());
        let agent = self.agent;
        let mut working = tokio::spawn(async move {
            if let Some(session) = held {
                let (who, want) = ((agent, session), Want::Write(&path));
                let may = shared.admit(who, want).await;
                if !may || !reply.is_wanted() {
                    // A reply that is dropped says that the request was cancelled.
                    drop(reply.take());
                    return None;
                }
            }
            shared.disks.run(&path, work).await.flatten()
        });
        match timeout(SLOW_AFTER, &mut working).await {
            Ok(done) => done.ok().flatten(),
            Err(_) => {
                self.slow.push(slow.clone());
                self.slow_tasks.spawn(async move { (slow, working.await.ok().flatten()) });
                None
            }
        }
    }

    async fn decided(
        &mut self,
        request: FileRequest,
        file: OutsideFile,
        (choice, by): (Choice, Option<RuledBy>),
    ) {
        let (session, access) = (request.session, request.work.access());
        self.asking.remove(&session);
        let (shared, target) = (self.shared.clone(), file.scope);
        let by_rule = file.rule.is_some();
        let subject = file.rule.as_ref().map(|_| subject(access, &file.resolved));
        let say = move || match subject {
            Some(subject) => {
                shared.policy.rules.say(session, subject, choice);
                None
            }
            None => shared.policy.file_access.say(session, access, target, choice),
        };
        let said = spawn_blocking(say).await;
        if let Ok(Some(trouble)) = said {
            self.note(session, Severity::Warning, trouble);
        }
        if choice.allows() {
            self.serve(request, file.resolved).await;
        } else {
            let error = match by {
                Some(by) => DiskError::Ruled(by),
                None if by_rule => DiskError::Refused,
                None => request.not_allowed(),
            };
            request.refuse(&error);
        }
        self.go_on(0).await;
    }

    /// Does what can be done of what waits from `first` on, and asks about the first of the rest.
    async fn go_on(&mut self, first: usize) {
        let mut at = first;
        while at < self.waiting.len() {
            let WaitingRequest { request, file } = &self.waiting[at];
            let (session, resolved) = (request.session, &file.resolved);
            // What was asked for before it may change what it is about.
            let behind = self.waiting.range(..at).any(|before| before.file.resolved == *resolved)
                || self.asking.values().any(|asked| asked == resolved);
            if behind {
                at += 1;
                continue;
            }
            let (shared, place, file) = (self.shared.clone(), request.place.clone(), file.clone());
            let (access, path) = (request.work.access(), request.work.path().to_owned());
            let decide = move || decide_about(&shared, (session, &place), (access, &path), &file);
            // After a panic nothing is allowed.
            let decision = Decision { verdict: Verdict::Deny, reason: Reason::OutsideFolders };
            let denied = || UnderRules { decision, rule: None, judgement: Box::default(), is_allowed: false };
            let (under, trouble) = spawn_blocking(decide).await.unwrap_or_else(|_| (denied(), None));
            let UnderRules { decision, rule, judgement, .. } = under;
            if let Some(trouble) = trouble {
                self.note(session, Severity::Warning, trouble);
            }
            if decision.verdict == Verdict::Ask && self.asking.contains_key(&session) {
                at += 1;
                continue;
            }
            let Some(WaitingRequest { request, mut file }) = self.waiting.remove(at) else { return };
            request.reply.note(|line| line.decided_under(decision, rule.clone()));
            file.rule = rule;
            match decision.verdict {
                Verdict::Allow => self.serve(request, file.resolved).await,
                Verdict::Ask => self.ask(request, file, judgement),
                Verdict::Deny => self.refuse(request, decision.reason, file.rule).await,
            }
        }
    }

    fn ask(&mut self, request: FileRequest, file: OutsideFile, judgement: Box<Judgement>) {
        // Nobody is there any more who could answer.
        let Some(commands) = self.commands.upgrade() else { return };
        let FileRequest { session, place, reply, work } = request;
        let Some(reply) = reply.take() else { return };
        self.asking.insert(session, file.resolved.clone());
        let OutsideFile { resolved: path, scope: target, location, rule } = file.clone();
        let why = match (rule, location) {
            (Some(rule), _) => AskReason::Rule(rule),
            (None, FileLocation::LinkedOutside) => AskReason::LinkedOutside,
            (None, FileLocation::InFolders | FileLocation::Outside) => AskReason::OutsideFolders,
        };
        let (access, judgement) = (work.access(), Some(judgement));
        let question = Question::Outside { path, target, access, why, command: None, judgement };
        let held = PendingAccess { session, inside: Some((place, work, file)), commands };
        // The same; then what is held says that it is over.
        let _ = self.editor.send(EditorRequest::Outside { reply, question, held });
    }

    /// Says so in the chat before the agent gets to know it, which may end its turn.
    async fn refuse(&self, request: FileRequest, reason: Reason, rule: Option<String>) {
        let refused = spawn_blocking(move || {
            let (severity, error) = match reason {
                Reason::RuleRejects => {
                    (Severity::Info, DiskError::Ruled(RuledBy::Rule(rule.unwrap_or_default())))
                }
                Reason::DeniedBefore if rule.is_some() => (Severity::Info, DiskError::Refused),
                Reason::DeniedBefore => (Severity::Info, request.not_allowed()),
                Reason::LinkedOutside => (Severity::Warning, request.linked()),
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

fn pass_on(editor: &mpsc::UnboundedSender<EditorRequest>, request: BufferRequest) {
    // An agent that is gone meanwhile wants no answer any more.
    let _ = editor.send(EditorRequest::Buffer(request));
}

/// A reply that is dropped says that the request was cancelled.
fn clear(queue: &mut mpsc::UnboundedReceiver<FileCommand>) {
    queue.close();
    while queue.try_recv().is_ok() {}
}

fn decide(shared: &Shared, request: &FileRequest, file: &OutsideFile) -> (UnderRules, Option<String>) {
    let FileRequest { session, place, work, .. } = request;
    decide_about(shared, (*session, place), (work.access(), work.path()), file)
}

/// Whether it may be, and what the user should know of how that was found out.
/// The path is the one that the agent wrote.
fn decide_about(
    shared: &Shared,
    (session, place): (SessionKey, &Place),
    (access, path): (Access, &Path),
    file: &OutsideFile,
) -> (UnderRules, Option<String>) {
    let OutsideFile { resolved, location, .. } = file;
    let action = Action::File { access, path: resolved, location: *location };
    let (decision, trouble) = shared.policy.decide(session, &action);
    let (kind, writes) = if access == Access::Wrote { ("edit", true) } else { ("read", false) };
    let acts = vec![Act::File { path: path.to_owned(), writes }];
    let request = Request { kind: Some(kind.to_owned()), acts, ..Request::default() };
    let subject = subject(access, resolved);
    (shared.policy.under_rules((session, &subject), place, decision, request), trouble)
}

/// As what the user says of a file is kept.
fn subject(access: Access, path: &Path) -> String {
    let verb = if access == Access::Wrote { "write" } else { "read" };
    format!("{verb} {}", path.display())
}

impl SlowRequest {
    fn of(request: &FileRequest) -> Self {
        let FileRequest { session, reply, work, .. } = request;
        Self { session: *session, path: work.path().to_owned(), reply: reply.clone() }
    }
}

fn scope(resolved: &Path) -> PathBuf {
    let home = std::env::home_dir().map(|home| canonicalize(&home).unwrap_or(home));
    allowlist::target(resolved, home.as_deref())
}

impl std::fmt::Debug for PendingAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PendingAccess").field("session", &self.session).finish_non_exhaustive()
    }
}
