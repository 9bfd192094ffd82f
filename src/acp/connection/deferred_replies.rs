//! Requests of the agent that are answered later: when a command has ended, or when the disk that one is
//! to run on answers.

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use crate::acp::files::disks::Disks;
use crate::acp::terminals::TerminalSpec;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::RequestId;
use crate::acp::wire::to_acp;
use crate::core::ids::SessionKey;
use crate::core::message::Exit;

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
    /// The disk of the folder answers.
    FolderAnswers,
}

/// A command that is to be started.
pub struct PendingCommand {
    pub session: SessionKey,
    /// It is to end when the turn of its session is cancelled.
    pub in_turn: bool,
    pub reply: Reply,
    pub spec: TerminalSpec,
}

impl Default for DeferredReplies {
    fn default() -> Self {
        let (tell, over) = mpsc::unbounded_channel();
        Self { open: BTreeMap::new(), starting: BTreeMap::new(), count: 0, tell, over }
    }
}

impl DeferredReplies {
    /// Has a command started once the disk of its folder answers.
    pub fn add_command(&mut self, disks: &Disks, starting: PendingCommand) {
        self.count += 1;
        let (wait, tell, disks) = (self.count, self.tell.clone(), disks.clone());
        let folder = starting.spec.cwd.clone();
        self.starting.insert(wait, starting);
        tokio::spawn(async move {
            // What is wrong with the folder is told when the command is started.
            let looked = disks.run(&folder.join("any"), move || drop(folder.metadata())).await;
            if looked.is_some() {
                // Nobody listens any more when the agent is gone.
                let _ = tell.send((wait, Done::FolderAnswers));
            }
        });
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

    /// Answers the request, or gives the command that can be started now.
    pub fn answer(&mut self, (wait, done): (u64, Done)) -> Option<PendingCommand> {
        match done {
            Done::Exited(exit) => {
                let reply = self.open.remove(&wait)?;
                reply.ok(to_acp::terminal_exited(exit));
                None
            }
            Done::FolderAnswers => self.starting.remove(&wait),
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
