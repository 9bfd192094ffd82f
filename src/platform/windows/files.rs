//! Files on Windows: what tells one state of a file from another, locks, and how a new file takes the
//! place of an old one and keeps its access control list. Who may read a file is told by its folder: the
//! user's own folders are nobody else's.

use std::borrow::Cow;
use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions};
use std::io;
use std::mem;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::MetadataExt as _;
use std::os::windows::io::AsRawHandle as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::SystemTime;

use windows_sys::Win32::Foundation::{ERROR_CANT_RESOLVE_FILENAME, ERROR_FILENAME_EXCED_RANGE};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, GetDiskFreeSpaceExW, GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK,
    LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, MoveFileExW, REPLACEFILE_IGNORE_MERGE_ERRORS, ReplaceFileW,
};

use crate::core::message::Stamp;

/// Creates a folder, and those above it.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

/// Options by which a file is created that is the user's.
pub fn private() -> OpenOptions {
    OpenOptions::new()
}

/// A path as the editor has it, which is text here.
pub fn path_of_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The same the other way.
pub fn bytes_of_path(path: &Path) -> Cow<'_, [u8]> {
    match path.to_string_lossy() {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Whether two names are those of one file: not known either.
pub fn same_file(_: &Metadata, _: &Metadata) -> bool {
    false
}

/// The permission bits of a file: there are none.
pub fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// Gives a file permission bits, which come from where there are some.
pub fn set_mode(_: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// Makes a symbolic link that leads to `target`. Of what is not there it is taken that it will be a file: links to files
/// and to folders are two things here.
pub fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    let leads_to = link.parent().map_or_else(|| target.to_owned(), |folder| folder.join(target));
    match leads_to.is_dir() {
        true => std::os::windows::fs::symlink_dir(target, link),
        false => std::os::windows::fs::symlink_file(target, link),
    }
}

/// How many names a file has: to know it, it would have to be opened.
pub fn links(_: &Metadata) -> u64 {
    1
}

/// Locks a file until it is closed, or says that another has done so.
pub fn try_lock(file: &File) -> io::Result<()> {
    lock(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY)
}

/// Waits until the file can be locked.
pub fn wait_lock(file: &File) -> io::Result<()> {
    lock(file, LOCKFILE_EXCLUSIVE_LOCK)
}

/// Locks hold off readers of what is locked, so this is a byte that no file has.
fn lock(file: &File, how: u32) -> io::Result<()> {
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut place: windows_sys::Win32::System::IO::OVERLAPPED = unsafe { mem::zeroed() };
    place.Anonymous.Anonymous.OffsetHigh = u32::MAX >> 1;
    // SAFETY: the handle is open as long as `file` is, and the struct lives through the call, which waits
    // since the file was not opened for overlapped use.
    match unsafe { LockFileEx(file.as_raw_handle(), how, 0, 1, 0, &mut place) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The clock that files have their times from.
pub fn clock() -> SystemTime {
    SystemTime::now()
}

/// When anything about a file changed last; not known here.
pub fn changed(_metadata: &Metadata) -> (i64, i64) {
    (0, 0)
}

/// The number that a file has is not told without opening it; when it was made stands for it, since a file
/// that takes the place of another was made at another time.
pub fn stamp(metadata: &Metadata) -> Stamp {
    Stamp {
        written: since_1970(metadata.last_write_time()),
        size: metadata.len(),
        inode: metadata.creation_time(),
    }
}

/// Windows counts 100 nanoseconds from 1601.
fn since_1970(time: u64) -> (i64, i64) {
    const SECOND: u64 = 10_000_000;
    let seconds = (time / SECOND).cast_signed() - 11_644_473_600;
    (seconds, ((time % SECOND) * 100).cast_signed())
}

/// Options by which a file is read.
pub fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    options
}

/// Whether this is a named pipe, which holds nothing itself.
pub fn is_pipe(_: FileType) -> bool {
    false
}

/// What something is that is neither a file nor a folder.
pub fn special(_: FileType) -> &'static str {
    "a device"
}

/// The path goes through too many links.
pub fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_CANT_RESOLVE_FILENAME.cast_signed())
}

pub fn is_name_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_FILENAME_EXCED_RANGE.cast_signed())
}

/// What to say of a folder that cannot be watched, where the system's own word would not help.
pub fn watch_limit(_: &io::Error) -> Option<&'static str> {
    None
}

/// Options by which a file is created that will replace another.
pub fn standing_in() -> OpenOptions {
    private()
}

/// Whether another file could take the place of this one with nobody seeing a difference: of several names
/// only one would lead to the new file.
pub fn is_replaceable(old: &Path, _: &Metadata) -> bool {
    let Ok(file) = File::open(old) else { return false };
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut facts: BY_HANDLE_FILE_INFORMATION = unsafe { mem::zeroed() };
    // SAFETY: the handle is open, and the struct is ours to be written to.
    let known = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut facts) } != 0;
    known && facts.nNumberOfLinks == 1
}

/// What makes a file the same as the old one comes with [`replace`].
pub fn become_like(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Gives a file a name that nothing has yet, at once: what somebody else has put there meanwhile stays.
pub fn rename_to_unused(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (wide(from), wide(to));
    // SAFETY: both texts end with a NUL and live through the call.
    let moved = unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), 0) };
    if moved == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Puts the file at `new` where the one at `old` is, at once; access control list, attributes and further
/// streams of the old one stay.
pub fn replace(new: &Path, old: &Path) -> io::Result<()> {
    let (old, new) = (wide(old), wide(new));
    // SAFETY: both texts end with a NUL and live through the call; the rest may be nothing.
    let replaced = unsafe {
        ReplaceFileW(
            old.as_ptr(),
            new.as_ptr(),
            ptr::null(),
            REPLACEFILE_IGNORE_MERGE_ERRORS,
            ptr::null(),
            ptr::null(),
        )
    };
    if replaced == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a file of so many bytes fits into a folder; else why not.
pub fn check_room(folder: &Path, bytes: u64) -> Result<(), &'static str> {
    let folder = wide(folder);
    let mut available = 0_u64;
    // SAFETY: the text ends with a NUL, the number is ours to be written to, and the rest may be nothing.
    let known =
        unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &mut available, ptr::null_mut(), ptr::null_mut()) };
    if known != 0 && available < bytes { Err("no space is left on the disk") } else { Ok(()) }
}

/// Has the disk keep room for so many bytes of the file; this one does so by its size alone.
pub fn make_room(_: &File, _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Closes a file; what it holds was told to be written or not before.
pub fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-files-{}-{name}", std::process::id()));
            create_private_folder(&folder).expect("a folder");
            Self(folder)
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::write(&path, text).expect("a file");
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_new_file_takes_the_place_of_an_old_one() {
        let folder = Folder::new("replace");
        let (old, new) = (folder.file("old", "old"), folder.file("new", "the new"));
        replace(&new, &old).expect("it is replaced");
        assert_eq!(fs::read_to_string(&old).expect("a file"), "the new");
        assert!(!new.exists());
    }

    #[test]
    fn a_file_with_two_names_is_not_replaced() {
        let folder = Folder::new("links");
        let old = folder.file("old", "old");
        let metadata = fs::metadata(&old).expect("its facts");
        assert!(is_replaceable(&old, &metadata));
        fs::hard_link(&old, folder.0.join("other")).expect("a link");
        assert!(!is_replaceable(&old, &metadata));
    }

    #[test]
    fn a_lock_is_one_persons_and_readers_are_let_in() {
        let folder = Folder::new("lock");
        let path = folder.file("locked", "text");
        let open = || private().read(true).write(true).open(&path).expect("a file");
        let (first, second) = (open(), open());
        wait_lock(&first).expect("a lock");
        assert!(try_lock(&second).is_err());
        assert_eq!(fs::read_to_string(&path).expect("it can be read"), "text");
        drop(first);
        try_lock(&second).expect("it is free");
    }

    #[test]
    fn a_time_is_counted_from_1970() {
        assert_eq!(since_1970(116_444_736_000_000_000), (0, 0));
        assert_eq!(since_1970(116_444_736_015_000_001), (1, 500_000_100));
    }
}
