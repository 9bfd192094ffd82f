//! Files that agents read and write through the client: which of them a buffer holds, so that the
//! editor must be asked, and serving the others from the disk. In which order, and whether at all, is
//! left to `queue`.

pub(crate) mod buffer_state;
pub mod disk;
pub(crate) mod disks;
pub(crate) mod file_access;
pub mod find;
pub(crate) mod hard_links;
pub(crate) mod probe;
mod queue;
pub(crate) mod resolved_names;
pub(crate) mod restore;
pub(crate) mod watch;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use self::disk::{DiskError, DiskErrorKind, Written};
use self::disks::{Disks, PATIENCE};
use super::lock;
use crate::acp::dispatcher::Shared;
use crate::acp::wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, Reply, RequestId, RpcError};
use crate::acp::wire::to_acp;
pub use queue::{Files, Held, Passed};

use crate::core::ids::SessionKey;
use crate::core::message::{Access, Event, Place, Question};
use crate::platform::paths::canonicalize;

/// How long a request waits for the disk of a session's folder.
const ROOT_WAIT: Duration = PATIENCE;

/// The files that buffers hold, by the editor's name for them, each with what it is on the disk.
#[derive(Default)]
pub struct Loaded(Arc<Mutex<HashMap<PathBuf, PathBuf>>>);

impl Loaded {
    pub fn add(&self, disks: &Disks, path: PathBuf) {
        lock(&self.0).insert(path.clone(), path.clone());
        // Links are looked up where waiting is allowed. Should the file be unloaded meanwhile, nothing is changed.
        let (files, disks) = (self.0.clone(), disks.clone());
        tokio::spawn(async move {
            let name = path.clone();
            let real = disks.run(&path, move || real(&name)).await;
            if let (Some(known), Some(real)) = (lock(&files).get_mut(&path), real) {
                *known = real;
            }
        });
    }

    pub fn remove(&self, path: &Path) {
        lock(&self.0).remove(path);
    }

    /// The editor's name for a file, if a buffer holds it.
    fn find(&self, asked: &Path, resolved: &Path) -> Option<PathBuf> {
        let files = lock(&self.0);
        if files.contains_key(asked) {
            return Some(asked.to_owned());
        }
        files.iter().find(|(_, real)| *real == resolved).map(|(name, _)| name.clone())
    }
}

/// A path without links. The file need not exist, its folder must.
pub fn real(path: &Path) -> PathBuf {
    let by_folder = || Some(canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    canonicalize(path).ok().or_else(by_folder).unwrap_or_else(|| path.to_owned())
}

/// A read or write that an agent asked for.
pub struct FileRequest {
    pub session: SessionKey,
    pub place: Arc<Place>,
    pub reply: Due,
    pub work: FileWork,
}

/// A reply that somebody works on, and that may be taken from them meanwhile: a disk that does not answer
/// holds up no cancelled turn.
#[derive(Clone)]
pub struct Due(Arc<Mutex<Option<Reply>>>);

impl Due {
    pub fn new(reply: Reply) -> Self {
        Self(Arc::new(Mutex::new(Some(reply))))
    }

    /// From here on it is the caller's. Nothing where nobody waits for it any more.
    pub fn take(&self) -> Option<Reply> {
        lock(&self.0).take()
    }

    fn is_wanted(&self) -> bool {
        lock(&self.0).is_some()
    }

    fn is(&self, id: &RequestId) -> bool {
        lock(&self.0).as_ref().is_some_and(|reply| reply.id() == id)
    }

    fn ok(&self, result: impl serde::Serialize) {
        if let Some(reply) = self.take() {
            reply.ok(result);
        }
    }

    fn fail(&self, error: &RpcError) {
        if let Some(reply) = self.take() {
            reply.fail(error);
        }
    }
}

/// Where a request's path leads to, with all links and `..` resolved.
enum Target {
    Inside(PathBuf),
    Outside(PathBuf),
    /// It is inside, but has another name elsewhere. An answer counts for the folder.
    Linked {
        path: PathBuf,
        folder: PathBuf,
    },
}

pub enum FileWork {
    Read {
        path: PathBuf,
        line: Option<u32>,
        limit: Option<u32>,
        /// The agent takes the error for a missing file as a reason to fail, not as an answer.
        missing_is_empty: bool,
    },
    Write {
        path: PathBuf,
        content: String,
    },
}

/// A request that only the editor can serve.
pub struct ForEditor {
    pub session: SessionKey,
    pub reply: Reply,
    pub question: Question,
}

impl FileWork {
    /// The path as the agent wrote it.
    fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } => path,
        }
    }

    fn access(&self) -> Access {
        match self {
            Self::Read { .. } => Access::Read,
            Self::Write { .. } => Access::Wrote,
        }
    }
}

impl FileRequest {
    /// The session's folders.
    fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.place.cwd].into_iter().chain(&self.place.additional)
    }

    /// Where the path leads to. A folder of the session's whose disk does not answer allows nothing.
    fn locate(&self, disks: &Disks) -> Result<Target, DiskError> {
        let path = disk::resolve(self.work.path())?;
        let mut roots = Vec::new();
        let is_inside = self.folders().any(|root| {
            let folder = root.clone();
            let root = disks.soon(root, ROOT_WAIT, move || disk::resolve(&folder).ok()).flatten();
            let is_inside = root.as_ref().is_some_and(|root| path.starts_with(root));
            roots.extend(root);
            is_inside
        });
        if !is_inside {
            return Ok(Target::Outside(path));
        }
        Ok(match self.work {
            FileWork::Write { .. } => match hard_links::leave(&path, &roots) {
                Some(folder) => Target::Linked { path, folder },
                None => Target::Inside(path),
            },
            FileWork::Read { .. } => Target::Inside(path),
        })
    }

    fn outside(&self) -> DiskError {
        DiskError::Outside(self.folders().cloned().collect())
    }

    fn linked(&self) -> DiskError {
        DiskError::Linked(self.folders().cloned().collect())
    }

    fn not_allowed(&self) -> DiskError {
        DiskError::NotAllowed(self.folders().cloned().collect())
    }

    fn refusal(&self, error: &DiskError) -> RpcError {
        refusal(self.work.access(), self.work.path(), error)
    }

    fn refuse(self, error: &DiskError) {
        let error = self.refusal(error);
        self.reply.fail(&error);
    }

    /// Does what may be done; `resolved` is the path without links.
    fn serve(self, shared: &Shared, resolved: PathBuf, editor: &mpsc::UnboundedSender<Passed>) {
        let Self { session, place: _, reply, work } = self;
        let (path, access) = (work.path().to_owned(), work.access());
        if let Some(name) = shared.loaded.find(&path, &resolved) {
            shared.watch.touched(session, resolved, None);
            let question = match work {
                FileWork::Read { line, limit, .. } => Question::Read { path: name, line, limit },
                FileWork::Write { content, .. } => Question::Write { path: name, content: content.into() },
            };
            let Some(reply) = reply.take() else { return };
            // If the agent is gone meanwhile, so is its wish for an answer.
            let _ = editor.send(Passed::Buffer(ForEditor { session, reply, question }));
            return;
        }
        match work {
            FileWork::Read { line, limit, missing_is_empty, .. } => {
                match disk::read(&resolved, line, limit) {
                    Ok(read) => {
                        shared.watch.touched(session, resolved.clone(), Some(read.content));
                        let (before, created, after) = (None, false, None);
                        shared.mailbox.post(Event::FileServed {
                            session,
                            path,
                            resolved,
                            access,
                            created,
                            before,
                            after,
                        });
                        reply.ok(to_acp::read(read.text));
                    }
                    Err(DiskError::Missing) if missing_is_empty => {
                        shared.watch.touched(session, resolved, None);
                        reply.ok(to_acp::read(String::new()));
                    }
                    Err(error) => reply.fail(&refusal(access, &path, &error)),
                }
            }
            // It was taken back while the disk did not answer.
            FileWork::Write { .. } if !reply.is_wanted() => {}
            FileWork::Write { content, .. } => {
                let writing = shared.watch.writing(&resolved);
                match disk::write(&resolved, &content) {
                    Ok(written) => {
                        let Written { before, created, after, content } = written;
                        writing.done(content);
                        shared.watch.touched(session, resolved.clone(), Some(content));
                        let (before, after) = (before.map(Into::into), after.map(Into::into));
                        shared.mailbox.post(Event::FileServed {
                            session,
                            path,
                            resolved,
                            access,
                            created,
                            before,
                            after,
                        });
                        reply.ok(to_acp::written());
                    }
                    Err(error) => reply.fail(&refusal(access, &path, &error)),
                }
            }
        }
    }
}

fn refusal(access: Access, path: &Path, error: &DiskError) -> RpcError {
    let verb = match access {
        Access::Read => "read",
        Access::Wrote => "write",
    };
    let code = match error.kind() {
        DiskErrorKind::NotFound => NOT_FOUND,
        DiskErrorKind::Invalid | DiskErrorKind::Outside => INVALID_PARAMS,
        DiskErrorKind::Denied | DiskErrorKind::NotText | DiskErrorKind::System => INTERNAL_ERROR,
    };
    let message = format!("couldn't {verb} {}: {error}", path.display());
    RpcError::new(code, message).with_data(json!({ "path": path }))
}
