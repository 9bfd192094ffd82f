//! What all agents' connections share: the queue to the editor, the options, and a handle to each of the
//! background's workers. It owns them and does nothing itself.

use std::sync::{Arc, Mutex};

use super::extension_methods::ExtensionMethods;
use super::files::disks::Disks;
use super::files::index::FolderIndexes;
use super::files::open_files::OpenFiles;
use super::files::resolved_names::ResolvedNames;
use super::files::watch::Watch;
use super::holds::Want;
use super::policy::Policy;
use super::processes::guard::Guard;
use super::replay::Replays;
use super::settings::Settings;
use super::store::audit_log::AuditLog;
use super::store::images::Images;
use super::terminals::Terminals;
use super::tools::{Entrance, Tools};
use super::wire::log::WireLog;
use crate::core::ids::{AgentId, SessionKey};
use crate::mailbox::Mailbox;

/// What all agents share.
pub struct Shared {
    pub mailbox: Arc<Mailbox>,
    pub settings: Settings,
    pub terminals: Terminals,
    pub guard: Arc<Guard>,
    pub open_files: OpenFiles,
    pub extension_methods: ExtensionMethods,
    pub folder_indexes: FolderIndexes,
    pub watch: Watch,
    pub policy: Policy,
    pub audit: AuditLog,
    pub images: Images,
    pub disks: Disks,
    pub resolved_names: ResolvedNames,
    /// Where agents elsewhere have answered.
    pub reached: Arc<Mutex<Vec<String>>>,
    pub log: WireLog,
    pub replays: Replays,
    pub tools: Tools,
    /// Where agents that are not confined reach the tools by HTTP.
    pub tools_entrance: Mutex<Option<Entrance>>,
}

impl Shared {
    /// Has counted what a session has changed until now, before it is judged what it may do next.
    pub async fn count_changes(&self, session: SessionKey) {
        let patience = self.settings.folder_patience;
        let settle = self.folder_indexes.settle(session);
        self.policy.holds.count(session, settle, (&self.mailbox, patience)).await;
    }

    /// Waits until a session may do something that its limits are about; says whether it may.
    pub async fn admit(&self, (agent, session): (AgentId, SessionKey), want: Want<'_>) -> bool {
        self.count_changes(session).await;
        self.policy.holds.admit((agent, session), want, &self.mailbox).await
    }

    /// Called on a thread of the runtime's.
    pub fn new(mailbox: Arc<Mailbox>, settings: Settings) -> Self {
        let log = WireLog::start(settings.log.clone());
        let guard = Guard::logging(log.clone());
        let terminals = Terminals::new(mailbox.clone(), guard.clone())
            .with_limits(settings.terminals)
            .with_keeper(settings.keeper.clone());
        let disks = Disks::new();
        let (patience, most_files) = (settings.folder_patience, settings.most_files);
        let folder_indexes =
            FolderIndexes::new(mailbox.clone(), log.clone(), disks.clone(), patience, most_files);
        folder_indexes.leave_out(settings.own.clone());
        let watch = Watch::new(mailbox.clone(), log.clone(), disks.clone(), folder_indexes.clone());
        let resolved_names = ResolvedNames::new(mailbox.clone(), disks.clone());
        let policy = Policy::new(&settings);
        let audit = AuditLog::new(mailbox.clone());
        let tools = Tools::new(mailbox.clone());
        Self {
            mailbox,
            settings,
            terminals,
            guard,
            open_files: OpenFiles::default(),
            extension_methods: ExtensionMethods::default(),
            folder_indexes,
            watch,
            policy,
            audit,
            images: Images::default(),
            disks,
            resolved_names,
            reached: Arc::default(),
            log,
            replays: Replays::default(),
            tools,
            tools_entrance: Mutex::default(),
        }
    }
}
