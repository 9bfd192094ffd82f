//! Files on Unix: who may read them, what tells one state of a file from another, and how a new file
//! takes the place of an old one with nobody seeing a difference.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
#[cfg(target_os = "linux")]
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, getrlimit};
#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_gettime};

use crate::core::message::Stamp;

/// Creates a folder, and those above it, that only the user may look into.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Options by which a file is created that only the user may read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// A path as the editor has it: bytes, which need not be text.
pub fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// The same the other way.
pub fn bytes_of_path(path: &Path) -> Cow<'_, [u8]> {
    Cow::Borrowed(path.as_os_str().as_bytes())
}

/// Whether two names are those of one file.
pub fn same_file(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// The permission bits of a file.
pub fn mode(metadata: &Metadata) -> Option<u32> {
    Some(metadata.mode() & 0o7777)
}

/// Gives a file permission bits.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Makes a symbolic link that leads to `target`, whatever is there.
pub fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// How many names a file has.
pub fn links(metadata: &Metadata) -> u64 {
    metadata.nlink()
}

/// Locks a file until it is closed, or says that another has done so.
pub fn try_lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::NonBlockingLockExclusive)?)
}

/// Waits until the file can be locked.
pub fn wait_lock(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::LockExclusive)?)
}

pub fn stamp(metadata: &Metadata) -> Stamp {
    Stamp { written: (metadata.mtime(), metadata.mtime_nsec()), size: metadata.len(), inode: metadata.ino() }
}

/// When anything about a file changed last, as [`Stamp::written`].
pub fn changed(metadata: &Metadata) -> (i64, i64) {
    (metadata.ctime(), metadata.ctime_nsec())
}

/// The clock that files have their times from: it goes on with the system's tick, so it is late by up to that, and no
/// file that is changed from now on has an earlier time.
pub fn clock() -> SystemTime {
    #[cfg(target_os = "linux")]
    {
        let time = clock_gettime(ClockId::RealtimeCoarse);
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or_default());
        UNIX_EPOCH + seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(target_os = "linux"))]
    SystemTime::now()
}

/// Options by which a file is read, and a pipe without a writer is not waited for.
pub fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    options
}

/// Whether this is a named pipe, which holds nothing itself.
pub fn is_pipe(kind: FileType) -> bool {
    kind.is_fifo()
}

/// What something is that is neither a file nor a folder.
pub fn special(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// The path goes through too many links.
pub fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

pub fn is_name_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENAMETOOLONG)
}

/// What to say of a folder that cannot be watched, where the system's own word would not help.
pub fn watch_limit(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error() {
        Some(libc::EMFILE) => Some("the limit fs.inotify.max_user_instances is reached"),
        Some(libc::ENOSPC) => Some("the limit fs.inotify.max_user_watches is reached"),
        _ => None,
    }
}

/// Options by which a file is created that will replace another, which nobody may read before.
pub fn standing_in() -> OpenOptions {
    private()
}

/// Whether another file could take the place of this one with nobody seeing a difference.
pub fn is_replaceable(old: &Path, metadata: &Metadata) -> bool {
    metadata.nlink() == 1 && !has_attributes(old)
}

/// Gives a new file what makes it the same as the old one but for the content.
pub fn become_like(new: &File, metadata: &Metadata) -> io::Result<()> {
    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(new, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    // After the owner, since a change of owner takes special bits away.
    new.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))
}

/// Gives a file a name that nothing has yet, at once: what somebody else has put there meanwhile stays.
pub fn rename_to_unused(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not every file system can do that.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Nor give a file a second name.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Puts the file at `new` where the one at `old` is, at once.
pub fn replace(new: &Path, old: &Path) -> io::Result<()> {
    fs::rename(new, old)
}

/// Whether a file of so many bytes fits into a folder; else why not. Nobody sees that it was tried.
pub fn check_room(folder: &Path, bytes: u64) -> Result<(), &'static str> {
    // To write over this limit is not only an error: it ends the process.
    if getrlimit(Resource::Fsize).current.is_some_and(|limit| bytes > limit) {
        return Err("it would be larger than the system allows");
    }
    match reserve(folder, bytes) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err("no space is left on the disk"),
        Err(error) if error.kind() == io::ErrorKind::QuotaExceeded => {
            Err("the user's share of the disk is used up")
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            Err("it would be larger than the system allows")
        }
        Ok(()) => Ok(()),
        // There can be no new file, or none whose room can be kept: then the disk's own word counts.
        Err(_) if available(folder).is_some_and(|available| available < bytes) => {
            Err("no space is left on the disk")
        }
        Err(_) => Ok(()),
    }
}

/// Makes a file without a name that has so much room, which goes at once.
#[cfg(target_os = "linux")]
fn reserve(folder: &Path, bytes: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(folder)?;
    make_room(&file, bytes)
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &Path, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Has the disk keep room for so many bytes of the file, whose size stays.
#[cfg(target_os = "linux")]
pub fn make_room(file: &File, bytes: u64) -> io::Result<()> {
    if i64::try_from(bytes).is_err() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    if bytes == 0 {
        return Ok(());
    }
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, 0, bytes)?)
}

#[cfg(not(target_os = "linux"))]
pub fn make_room(_: &File, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// How much this user may still write there.
fn available(folder: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(folder).ok()?;
    // Some file systems do not know their size.
    (facts.f_blocks > 0).then(|| facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Closes a file; some disks tell only now that they have no room for it.
pub fn close(file: File) -> io::Result<()> {
    use std::os::fd::IntoRawFd as _;
    // SAFETY: the descriptor was the file's alone.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            // It is closed all the same.
            error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            error => Err(error),
        },
    }
}

/// Whether the file has more than a mode (an access control list, a user's notes) that a new file
/// would not have.
#[cfg(target_os = "linux")]
fn has_attributes(path: &Path) -> bool {
    let mut names = [0_u8; 1024];
    match rustix::fs::listxattr(path, &mut names) {
        // Those of security modules are given by the system to each new file.
        Ok(length) => {
            names[..length].split(|&b| b == 0).any(|name| !name.is_empty() && !name.starts_with(b"security."))
        }
        // Too many for the array; or a file system that has none.
        Err(error) => error == rustix::io::Errno::RANGE,
    }
}

#[cfg(not(target_os = "linux"))]
fn has_attributes(_: &Path) -> bool {
    false
}
