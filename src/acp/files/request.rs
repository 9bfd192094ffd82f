//! One read or write that an agent asked for: where its path leads, and serving it from the disk, or
//! through the editor where a buffer holds the file. In which order, and whether at all, is left to `queue`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::disk::{self, DiskError, DiskErrorKind, Written};
use super::disks::{Disks, PATIENCE};
use super::hard_links;
use crate::acp::mutex::lock;
use crate::acp::shared::Shared;
use crate::acp::wire::reply::Reply;
use crate::acp::wire::rpc::{INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RequestId, RpcError};
use crate::acp::wire::to_acp;
use crate::core::audit::Line;
use crate::core::ids::{SessionKey, TerminalId};
use crate::core::message::{Access, Event, Place, Question};

/// How long a request waits for the disk of a session's folder.
const ROOT_WAIT: Duration = PATIENCE;

/// A read or write that an agent asked for.
pub struct FileRequest {
    pub session: SessionKey,
    pub place: Arc<Place>,
    pub reply: SharedReply,
    pub work: FileWork,
}

/// A reply that somebody works on, and that may be taken from them meanwhile: a disk that does not answer
/// holds up no cancelled turn.
#[derive(Clone)]
pub struct SharedReply(Arc<Mutex<Option<Reply>>>);

impl SharedReply {
    pub fn new(reply: Reply) -> Self {
        Self(Arc::new(Mutex::new(Some(reply))))
    }

    /// From here on it is the caller's. Nothing where nobody waits for it any more.
    pub fn take(&self) -> Option<Reply> {
        lock(&self.0).take()
    }

    pub fn is_wanted(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Adds to what is recorded of it.
    pub fn note(&self, change: impl FnOnce(&mut Line)) {
        if let Some(reply) = &mut *lock(&self.0) {
            reply.note(change);
        }
    }

    pub fn is(&self, id: &RequestId) -> bool {
        lock(&self.0).as_ref().is_some_and(|reply| reply.id() == id)
    }

    pub fn ok(&self, result: impl serde::Serialize) {
        if let Some(reply) = self.take() {
            reply.ok(result);
        }
    }

    pub fn fail(&self, error: &RpcError) {
        if let Some(reply) = self.take() {
            reply.fail(error);
        }
    }
}

/// Where a request's path leads to, with all links and `..` resolved.
pub enum Target {
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
    /// A link is removed itself. What a buffer holds of the file stays there.
    Remove {
        path: PathBuf,
    },
}

/// A request that only the editor can serve.
pub struct BufferRequest {
    pub session: SessionKey,
    pub reply: Reply,
    pub question: Question,
}

impl FileWork {
    /// The path as the agent wrote it.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Remove { path } => path,
        }
    }

    pub fn access(&self) -> Access {
        match self {
            Self::Read { .. } => Access::Read,
            Self::Write { .. } | Self::Remove { .. } => Access::Wrote,
        }
    }
}

impl FileRequest {
    /// The session's folders.
    pub fn folders(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.place.cwd].into_iter().chain(&self.place.additional)
    }

    /// Where the path leads to. A folder of the session's whose disk does not answer allows nothing.
    pub fn locate(&self, disks: &Disks) -> Result<Target, DiskError> {
        let path = match &self.work {
            FileWork::Remove { path } => disk::resolve_folder(path)?,
            FileWork::Read { path, .. } | FileWork::Write { path, .. } => disk::resolve(path)?,
        };
        let (is_inside, roots) = place(&path, self.folders(), disks);
        if !is_inside {
            return Ok(Target::Outside(path));
        }
        Ok(match self.work {
            FileWork::Write { .. } => match hard_links::leave(&path, &roots) {
                Some(folder) => Target::Linked { path, folder },
                None => Target::Inside(path),
            },
            // What other names a file has, it keeps.
            FileWork::Read { .. } | FileWork::Remove { .. } => Target::Inside(path),
        })
    }

    pub fn outside(&self) -> DiskError {
        DiskError::Outside(self.folders().cloned().collect())
    }

    pub fn linked(&self) -> DiskError {
        DiskError::Linked(self.folders().cloned().collect())
    }

    pub fn not_allowed(&self) -> DiskError {
        DiskError::NotAllowed(self.folders().cloned().collect())
    }

    pub fn refusal(&self, error: &DiskError) -> RpcError {
        refusal(self.work.access(), self.work.path(), error)
    }

    pub fn refuse(self, error: &DiskError) {
        let error = self.refusal(error);
        self.reply.fail(&error);
    }

    /// Does what may be done; `resolved` is the path without links.
    pub fn serve(self, shared: &Shared, resolved: PathBuf, pass_to_editor: impl FnOnce(BufferRequest)) {
        let Self { session, place: _, reply, work } = self;
        let (path, access) = (work.path().to_owned(), work.access());
        if let Err(error) = disk::check_place(&resolved) {
            return reply.fail(&refusal(access, &path, &error));
        }
        let pass = |question| {
            shared.watch.touched(session, resolved.clone(), None);
            let Some(reply) = reply.take() else { return };
            pass_to_editor(BufferRequest { session, reply, question });
        };
        match (work, shared.open_files.find(&path, &resolved)) {
            (FileWork::Remove { .. }, _) => remove(session, &reply, shared, (&path, &resolved)),
            (FileWork::Read { line, limit, .. }, Some(name)) => {
                pass(Question::Read { path: name, line, limit });
            }
            (FileWork::Write { content, .. }, Some(name)) => {
                pass(Question::Write { path: name, content: content.into() });
            }
            (FileWork::Read { line, limit, missing_is_empty, .. }, None) => {
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
            (FileWork::Write { .. }, None) if !reply.is_wanted() => {}
            (FileWork::Write { content, .. }, None) => {
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

/// What becomes of it is found and told as for a command that removes a file.
fn remove(session: SessionKey, reply: &SharedReply, shared: &Shared, (path, resolved): (&Path, &Path)) {
    // It was taken back while the disk did not answer.
    if !reply.is_wanted() {
        return;
    }
    let (began, command) = (shared.folder_indexes.now(), TerminalId(format!("removes {}", path.display())));
    shared.folder_indexes.command_began(session, &command, None, began);
    let removed = disk::remove(resolved);
    shared.folder_indexes.command_ended(session, &command);
    match removed {
        Ok(()) => reply.ok(to_acp::written()),
        Err(error) => reply.fail(&refusal(Access::Wrote, path, &error)),
    }
}

/// Whether a path without links is in one of these folders, and what these are without links, as far as that had to be
/// found out. One whose disk does not answer holds nothing.
pub fn place<'a>(
    path: &Path,
    folders: impl Iterator<Item = &'a PathBuf>,
    disks: &Disks,
) -> (bool, Vec<PathBuf>) {
    let mut roots = Vec::new();
    let mut folders = folders;
    let is_inside = folders.any(|root| {
        let folder = root.clone();
        let root = disks.soon(root, ROOT_WAIT, move || disk::resolve(&folder).ok()).flatten();
        let is_inside = root.as_ref().is_some_and(|root| path.starts_with(root));
        roots.extend(root);
        is_inside
    });
    (is_inside, roots)
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
