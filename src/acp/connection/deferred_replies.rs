//! Requests of the agent that are answered later: when a command has ended, or when the disk that one is
//! to run on answers, and the user where that is no folder of the session's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::acp::files::disk;
use crate::acp::files::request::place;
use crate::acp::holds::Want;
use crate::acp::policy::UnderRules;
use crate::acp::shared::Shared;
use crate::acp::terminals::{self, TerminalSpec};
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::RequestId;
use crate::acp::wire::to_acp;
use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{Exit, Place, RuledBy};
use crate::core::policy::{Action, FileLocation};
use crate::core::rules::Request;
use crate::core::rules::variables::in_environment;
use crate::core::store::allowlist::Choice;

/// Requests that wait for a command's end, or for the disk that one is to run on.
pub struct DeferredReplies {
    open: BTreeMap<u64, Reply>,
    starting: BTreeMap<u64, PendingCommand>,
    count: u64,
    tell: mpsc::UnboundedSender<(u64, Done)>,
    over: mpsc::UnboundedReceiver<(u64, Done)>,
}

/// What a request has waited for.
pub enum Done {
    Exited(Exit),
    /// Its turn has ended at a limit.
    Stopped,
    /// The disk of the folder answers.
    FolderAnswers(Judged),
    Chosen(Box<PendingCommand>, Chosen),
}

/// The user has answered, or what chooses in their place.
pub struct Chosen {
    pub choice: Choice,
    pub by: Option<RuledBy>,
    /// A rule has asked; else it was about the folder.
    pub by_rule: bool,
}

/// What the policy says of a command.
pub struct Judged {
    /// Its folder, without links.
    pub folder: PathBuf,
    pub under: UnderRules,
    /// What the user should know of how that was found out.
    pub trouble: Option<String>,
}

/// A command that is to be started.
pub struct PendingCommand {
    /// It is to end when the turn of its session is cancelled.
    pub in_turn: bool,
    pub session: SessionKey,
    pub reply: Reply,
    pub spec: TerminalSpec,
    /// Its folder without links, once it was decided about: by now the name may lead elsewhere.
    pub folder: Option<PathBuf>,
    /// The user was asked about it, or a rule has allowed it.
    pub is_allowed: bool,
}

/// What is to be done about a command.
pub enum Next {
    Judge(Box<PendingCommand>, Judged),
    Decided(Box<PendingCommand>, Chosen),
}

/// A command that the user is asked about, apart from its reply, which waits with the question.
pub struct HeldCommand {
    in_turn: bool,
    session: SessionKey,
    spec: TerminalSpec,
    /// Where it is to run, without links.
    folder: PathBuf,
    /// A rule asks; else it is about the folder.
    by_rule: bool,
    shared: Arc<Shared>,
    tell: mpsc::UnboundedSender<(u64, Done)>,
}

impl HeldCommand {
    /// `by` is what has chosen in the user's place, if they were not asked.
    pub fn decide(self, reply: Reply, choice: Choice, by: Option<RuledBy>) {
        let Self { in_turn, session, spec, folder, by_rule, shared, tell } = self;
        let line = terminals::line(&spec);
        let judged = Some(folder.clone());
        let pending =
            Box::new(PendingCommand { in_turn, session, reply, spec, folder: judged, is_allowed: true });
        match by_rule {
            true => shared.policy.rules.say(session, line, choice),
            false => shared.policy.file_access.say_of_command(session, line, folder, choice),
        }
        // A connection that is gone drops the request, which answers it.
        let _ = tell.send((0, Done::Chosen(pending, Chosen { choice, by, by_rule })));
    }
}

impl Default for DeferredReplies {
    fn default() -> Self {
        let (tell, over) = mpsc::unbounded_channel();
        Self { open: BTreeMap::new(), starting: BTreeMap::new(), count: 0, tell, over }
    }
}

impl DeferredReplies {
    /// Has a command started once the disk of its folder answers, if that may be.
    pub fn add_command(
        &mut self,
        (shared, agent): (&Arc<Shared>, AgentId),
        place: Arc<Place>,
        starting: PendingCommand,
    ) {
        self.count += 1;
        let (wait, tell, shared) = (self.count, self.tell.clone(), shared.clone());
        let (session, spec) = (starting.session, starting.spec.clone());
        self.starting.insert(wait, starting);
        tokio::spawn(async move {
            let line = terminals::line(&spec);
            let want = Want::Run(&line);
            if !shared.admit((agent, session), want).await {
                let _ = tell.send((wait, Done::Stopped));
                return;
            }
            let disks = shared.disks.clone();
            let at = spec.cwd.join("any");
            let judge = move || judge(&shared, session, &place, spec);
            if let Some(judged) = disks.run(&at, judge).await {
                // Nobody listens any more when the agent is gone.
                let _ = tell.send((wait, Done::FolderAnswers(judged)));
            }
        });
    }

    /// What goes on with a command when the user has answered; its reply waits with the question.
    pub fn hold(
        &self,
        shared: &Arc<Shared>,
        (folder, by_rule): (PathBuf, bool),
        pending: PendingCommand,
    ) -> (HeldCommand, Reply) {
        let PendingCommand { in_turn, session, reply, spec, .. } = pending;
        let (shared, tell) = (shared.clone(), self.tell.clone());
        (HeldCommand { in_turn, session, spec, folder, by_rule, shared, tell }, reply)
    }

    /// The turn is cancelled or over.
    pub fn forget(&mut self, session: SessionKey) {
        // A reply that is dropped says that the request was cancelled.
        self.starting.retain(|_, starting| starting.session != session);
    }

    pub fn add_exit(&mut self, reply: Reply, end: impl Future<Output = Exit> + Send + 'static) {
        self.count += 1;
        let (wait, tell) = (self.count, self.tell.clone());
        self.open.insert(wait, reply);
        tokio::spawn(async move {
            let exit = end.await;
            // Nobody listens any more when the agent is gone.
            let _ = tell.send((wait, Done::Exited(exit)));
        });
    }

    /// The next wait that is over, one that nobody waits for any more included.
    pub async fn next(&mut self) -> (u64, Done) {
        match self.over.recv().await {
            Some(over) => over,
            // There is always a sender, which is ours.
            None => std::future::pending().await,
        }
    }

    /// Answers the request, or gives the command that comes next.
    pub fn answer(&mut self, (wait, done): (u64, Done)) -> Option<Next> {
        match done {
            Done::Exited(exit) => {
                let reply = self.open.remove(&wait)?;
                reply.ok(to_acp::terminal_exited(exit));
                None
            }
            Done::Stopped => {
                // A reply that is dropped says that the request was cancelled.
                self.starting.remove(&wait);
                None
            }
            Done::FolderAnswers(judged) => Some(Next::Judge(Box::new(self.starting.remove(&wait)?), judged)),
            Done::Chosen(pending, chosen) => Some(Next::Decided(pending, chosen)),
        }
    }

    pub fn take_back(&mut self, request: &RequestId) {
        // A reply that is dropped says that the request was cancelled.
        self.open.retain(|_, reply| reply.id() != request);
        self.starting.retain(|_, starting| starting.reply.id() != request);
    }

    pub fn end(&mut self) {
        self.open.clear();
        self.starting.clear();
    }
}

/// Where a command is to run, with links resolved, and whether it may. What is wrong with the folder is told when the
/// command is started.
fn judge(shared: &Shared, session: SessionKey, place_of_session: &Place, spec: TerminalSpec) -> Judged {
    let line = terminals::line(&spec);
    let TerminalSpec { command, args, env, cwd: folder, .. } = spec;
    let is_there = folder.is_absolute() && folder.is_dir();
    let resolved = disk::resolve(&folder).ok();
    let is_inside = match &resolved {
        Some(resolved) => place(resolved, place_of_session.folders(), &shared.disks).0,
        None => false,
    };
    let given = folder.clone();
    let folder = resolved.unwrap_or(folder);
    // One that can't be used is refused for that, without a question.
    let location = if is_inside || !is_there { FileLocation::InFolders } else { FileLocation::Outside };
    let action = Action::Command { command: &line, folder: &folder, location };
    let (decision, trouble) = shared.policy.decide(session, &action);
    let act = in_environment(&terminals::shell(), &command, &args, &env);
    let request = Request {
        kind: Some("execute".to_owned()),
        acts: vec![act],
        folder: Some(given),
        ..Request::default()
    };
    let under = shared.policy.under_rules((session, &line), place_of_session, decision, request);
    Judged { folder, under, trouble }
}
