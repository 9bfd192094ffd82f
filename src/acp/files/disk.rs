//! Files that no buffer holds: whether an agent may touch one, its exact text, and a new text for
//! it that is there wholly or not at all. All of it blocks; which thread may wait, and what a
//! buffer holds, are the callers' business.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::watch::fingerprint::hash;
use crate::core::message::RuledBy;
use crate::core::store::checkpoint::Mode;
use crate::core::text::line_range;
use crate::platform::files;
use crate::platform::paths::canonicalize;

/// More is no text that an agent could read in one piece.
pub(super) const MAX_READ_BYTES: u64 = 64 << 20;

/// A larger text is not kept to be compared with what comes after it.
const KEPT: u64 = 4 << 20;

/// Says that a text is UTF-8. It belongs to the file and not to its text, as in the editor's buffers:
/// agents look for lines as they see them.
const MARK: &str = "\u{feff}";

/// As many as Linux follows.
const LINKS: usize = 40;

/// Fits after "couldn't read /x: " or "couldn't write /x: ".
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("the path is not absolute; give the full path")]
    Relative,
    #[error("it is outside of the session's folders ({}); stay inside of them, or ask the user", list(.0))]
    Outside(Vec<PathBuf>),
    #[error("it has other names (hard links) outside of the session's folders ({}); stay inside of them, or ask the user", list(.0))]
    Linked(Vec<PathBuf>),
    #[error("the user did not allow it, since it is outside of the session's folders ({}); stay inside of them", list(.0))]
    NotAllowed(Vec<PathBuf>),
    #[error("the user did not allow it")]
    Refused,
    #[error("{}", .0.refusal())]
    Ruled(RuledBy),
    #[error("the path has \"..\" in a folder that does not exist; give it without")]
    Parent,
    #[error("the path goes through too many symbolic links; check where they point")]
    Loop,
    #[error("no such file; check the path")]
    Missing,
    #[error("it is a folder; name a file in it")]
    Folder,
    #[error("it is {0} and no regular file; use a command for it")]
    Special(&'static str),
    #[error("it is {}; use a command that can read it", .0.name())]
    NotText(NonText),
    #[error("it has {} MiB, and at most {} are read; use a command for the part you need", .0 >> 20, MAX_READ_BYTES >> 20)]
    TooLarge(u64),
    #[error("by now this leads elsewhere, so it was not touched; ask for it again")]
    Moved,
    #[error("permission denied; ask the user to allow it or use another file")]
    Denied,
    #[error("the folder {} can't be created: {}", folder.display(), reason(.source))]
    NoFolder { folder: PathBuf, source: io::Error },
    #[error("{}", reason(.0))]
    System(io::Error),
}

/// What an answer to the agent depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// The file is none of the session's.
    Outside,
    NotFound,
    Denied,
    /// There is a file, but no text that could be given.
    NotText,
    /// Anything else that the system says.
    System,
}

/// What a file is that is not UTF-8 text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonText {
    Binary,
    Utf16,
    /// No UTF-8, but nothing else is known.
    Encoding,
}

impl DiskError {
    pub fn kind(&self) -> DiskErrorKind {
        match self {
            Self::Relative | Self::Parent | Self::Loop => DiskErrorKind::Invalid,
            Self::Moved
            | Self::Outside(_)
            | Self::Linked(_)
            | Self::NotAllowed(_)
            | Self::Refused
            | Self::Ruled(_) => DiskErrorKind::Outside,
            Self::Missing => DiskErrorKind::NotFound,
            Self::Denied => DiskErrorKind::Denied,
            Self::Folder | Self::Special(_) | Self::NotText(_) | Self::TooLarge(_) => DiskErrorKind::NotText,
            Self::NoFolder { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                DiskErrorKind::Denied
            }
            Self::NoFolder { .. } | Self::System(_) => DiskErrorKind::System,
        }
    }
}

impl From<io::Error> for DiskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Missing,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::IsADirectory => Self::Folder,
            _ if files::is_loop(&error) => Self::Loop,
            _ => Self::System(error),
        }
    }
}

impl NonText {
    fn name(self) -> &'static str {
        match self {
            Self::Binary => "a binary file",
            Self::Utf16 => "text in UTF-16 and not in UTF-8",
            Self::Encoding => "binary, or text in another encoding than UTF-8",
        }
    }
}

/// The folders that a session may touch. This bounds what goes through the editor; an agent that
/// opens files itself is bounded by the system alone.
#[derive(Clone, Debug)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// Symbolic links are resolved now: a root that later becomes a link leads nowhere new. A
    /// relative root, or one that can't be resolved, allows nothing.
    pub fn new(cwd: &Path, additional: &[PathBuf]) -> Self {
        let roots = [cwd].into_iter().chain(additional.iter().map(PathBuf::as_path));
        Self(roots.filter_map(|root| resolve(root).ok()).collect())
    }

    /// Gives the path to use: with all links and `..` resolved, inside of a root, and there or not.
    pub fn check(&self, path: &Path) -> Result<PathBuf, DiskError> {
        match self.locate(path)? {
            Located::Inside(path) => Ok(path),
            Located::Outside(_) => Err(self.outside()),
        }
    }

    /// The same for who may use a path outside, too.
    pub fn locate(&self, path: &Path) -> Result<Located, DiskError> {
        let path = resolve(path)?;
        let inside = self.0.iter().any(|root| path.starts_with(root));
        Ok(if inside { Located::Inside(path) } else { Located::Outside(path) })
    }

    pub fn outside(&self) -> DiskError {
        DiskError::Outside(self.0.clone())
    }

    pub fn not_allowed(&self) -> DiskError {
        DiskError::NotAllowed(self.0.clone())
    }
}

/// Where a path leads to, with all links and `..` resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Located {
    Inside(PathBuf),
    Outside(PathBuf),
}

/// What was read.
#[derive(Debug)]
pub struct Read {
    /// Without a byte order mark.
    pub text: String,
    /// The [`hash`] of the whole file.
    pub content: u64,
}

/// What became of a write.
#[derive(Debug)]
pub struct Written {
    /// The text that was there; `None` if there was no file, or too much or no text in it.
    pub before: Option<String>,
    /// There was no file.
    pub created: bool,
    /// The text that is there now, unless it is too much to be kept.
    pub after: Option<String>,
    /// The [`hash`] of the whole file.
    pub content: u64,
}

/// The file's text from the 1-based `line` on, at most `limit` lines of it; see [`line_range::lines`].
pub fn read(path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<Read, DiskError> {
    let bytes = bytes(path, MAX_READ_BYTES)?;
    let content = hash(&bytes);
    let text = text(bytes).map_err(DiskError::NotText)?;
    let part = line_range::lines(text.strip_prefix(MARK).unwrap_or(&text), line, limit);
    Ok(Read { text: if part.len() == text.len() { text } else { part.to_owned() }, content })
}

/// All that is in a file, with its byte order mark.
pub fn read_whole(path: &Path) -> Result<String, DiskError> {
    text(bytes(path, MAX_READ_BYTES)?).map_err(DiskError::NotText)
}

/// Replaces the file's text at once, or creates the file and the folders above it. A link is
/// followed; permissions, owner, further names and the byte order mark of the file stay.
pub fn write(path: &Path, content: &str) -> Result<Written, DiskError> {
    let path = resolve(path)?;
    let (before, created, content) = match fs::metadata(&path) {
        Ok(metadata) => {
            check_kind(&metadata)?;
            let before = bytes(&path, KEPT).ok().and_then(|bytes| text(bytes).ok());
            let content = match has_mark(&path, before.as_deref()) && !content.starts_with(MARK) {
                true => Cow::Owned(MARK.to_owned() + content),
                false => Cow::Borrowed(content),
            };
            overwrite(&path, &metadata, content.as_bytes())?;
            (before, false, content)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(&path, content.as_bytes())?;
            (None, true, Cow::Borrowed(content))
        }
        Err(error) => return Err(error.into()),
    };
    let hash = hash(content.as_bytes());
    let after = (content.len() as u64 <= KEPT).then(|| content.into_owned());
    Ok(Written { before, created, after, content: hash })
}

/// Removes a file, or a link. Folders are left alone.
pub fn remove(path: &Path) -> Result<(), DiskError> {
    if fs::symlink_metadata(path)?.is_dir() {
        return Err(DiskError::Folder);
    }
    Ok(fs::remove_file(path)?)
}

/// The path with the links of its folder resolved; it may be one itself.
pub fn resolve_folder(path: &Path) -> Result<PathBuf, DiskError> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(resolve(folder)?.join(name)),
        _ => Err(DiskError::Folder),
    }
}

/// A name for a broken file, beside it, that nothing has yet.
pub fn aside(file: &Path) -> PathBuf {
    let name = |number: u32| {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".broken-{number}"));
        file.with_file_name(name)
    };
    (1..).map(name).find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_else(|| name(0))
}

fn has_mark(path: &Path, text: Option<&str>) -> bool {
    let first = || {
        let mut bytes = [0; MARK.len()];
        open(path).ok()?.0.read_exact(&mut bytes).ok()?;
        Some(bytes == MARK.as_bytes())
    };
    match text {
        Some(text) => text.starts_with(MARK),
        None => first().unwrap_or(false),
    }
}

/// Follows links and `..` to where a path leads, even if nothing is there yet: not to resolve a
/// link because its target is missing would let a write through it out of the roots.
pub fn resolve(path: &Path) -> Result<PathBuf, DiskError> {
    if !path.is_absolute() {
        return Err(DiskError::Relative);
    }
    match canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        resolved => return Ok(resolved?),
    }
    let mut resolved = PathBuf::new();
    let mut rest = Vec::new();
    push_reversed(&mut rest, path);
    let mut links = 0;
    let mut is_missing = false;
    while let Some(name) = rest.pop() {
        if name == ".." {
            if is_missing {
                return Err(DiskError::Parent);
            }
            resolved.pop();
            continue;
        }
        let next = resolved.join(&name);
        if is_missing {
            resolved = next;
            continue;
        }
        match fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > LINKS {
                    return Err(DiskError::Loop);
                }
                push_reversed(&mut rest, &fs::read_link(&next)?);
            }
            Ok(_) => resolved = next,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                is_missing = true;
                // Once more through the system, which knows how it writes the name of what is
                // there where upper and lower case are the same.
                resolved = canonicalize(&resolved)?.join(&name);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(resolved)
}

/// Whether a path that had no links when it was decided about still has none. A folder on the way may have given way to
/// a link while the user was asked.
pub fn check_place(resolved: &Path) -> Result<(), DiskError> {
    match resolve(resolved) {
        Ok(now) if now != resolved => Err(DiskError::Moved),
        // What can't be found out is told by the read or write.
        _ => Ok(()),
    }
}

/// Puts a path's parts on a stack, the first on top. The first of an absolute path replaces what
/// it is joined to.
fn push_reversed(stack: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev().filter(|part| *part != Component::CurDir);
    stack.extend(parts.map(|part| part.as_os_str().to_owned()));
}

/// All that is in a file, unless it is more than `limit`.
pub(super) fn bytes(path: &Path, limit: u64) -> Result<Vec<u8>, DiskError> {
    let (file, size) = open(path)?;
    let mut bytes = Vec::new();
    if size <= limit {
        // The size may be a lie, or growing.
        file.take(limit + 1).read_to_end(&mut bytes)?;
    }
    let size = size.max(bytes.len() as u64);
    if size > limit { Err(DiskError::TooLarge(size)) } else { Ok(bytes) }
}

/// Opens a regular file, and tells its size. A pipe without a writer is not waited for.
fn open(path: &Path) -> Result<(File, u64), DiskError> {
    let opened = files::reading().open(path);
    match opened {
        Ok(file) => {
            let metadata = file.metadata()?;
            check_kind(&metadata)?;
            Ok((file, metadata.len()))
        }
        Err(error) => {
            // A socket can't be opened at all.
            if let Ok(metadata) = fs::metadata(path) {
                check_kind(&metadata)?;
            }
            Err(error.into())
        }
    }
}

pub(super) fn check_kind(metadata: &Metadata) -> Result<(), DiskError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(DiskError::Folder)
    } else {
        Err(DiskError::Special(files::special(kind)))
    }
}

fn text(bytes: Vec<u8>) -> Result<String, NonText> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(NonText::Utf16);
    }
    if bytes.contains(&0) {
        return Err(if looks_wide(&bytes) { NonText::Utf16 } else { NonText::Binary });
    }
    String::from_utf8(bytes).map_err(|_| NonText::Encoding)
}

/// Whether this is UTF-16 without a mark: of most texts in it every other byte is zero, and no other.
fn looks_wide(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(4096) & !1];
    let zeros = |at: usize| start.iter().skip(at).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), start.len() / 2);
    let wide = |zeros: usize, others: usize| others == 0 && zeros * 4 > half * 3;
    bytes.len().is_multiple_of(2) && half > 1 && (wide(odd, even) || wide(even, odd))
}

fn create(path: &Path, content: &[u8]) -> Result<(), DiskError> {
    create_folder(path)?;
    put_new(path, content, Mode::default())
}

/// Puts a new file in the place of what a path holds, at once.
pub(super) fn put_new(path: &Path, content: &[u8], mode: Mode) -> Result<(), DiskError> {
    Ok(Temporary::with(path, content, mode)?.rename(path)?)
}

/// Puts a new file where nothing is. What somebody else puts there meanwhile stays, and is told as
/// [`ErrorKind::AlreadyExists`].
pub(super) fn put_unless_there(path: &Path, content: &[u8], mode: Mode) -> io::Result<()> {
    let temporary = Temporary::with(path, content, mode)?;
    temporary.put(path, files::rename_to_unused)
}

/// Creates the folders above a path.
pub(super) fn create_folder(path: &Path) -> Result<(), DiskError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|source| DiskError::NoFolder { folder: folder.to_owned(), source })
}

/// Puts a file of the plugin's own, which only the user may read, where one may be already: wholly or not
/// at all.
pub fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut temporary = Temporary::beside(path, files::private())?;
    temporary.file.write_all(content)?;
    temporary.rename(path)
}

/// Adds lines to a file, which was opened for that, wholly or not at all. They begin a line even if somebody
/// ended in the middle of one.
pub fn append_lines(file: &mut File, lines: &[u8]) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(io::SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let ended = if last == *b"\n" { lines.to_vec() } else { [b"\n", lines].concat() };
    // In one piece: what another Neovim writes comes before or after it.
    let count = match file.write(&ended) {
        Ok(count) if count == ended.len() => return Ok(()),
        Ok(count) => count as u64,
        Err(error) => return Err(error),
    };
    // There is no room for all of it. Nobody else has written since, unless it is longer now.
    let written = file.metadata()?.len();
    if written == length + count {
        file.set_len(length)?;
    }
    Err(ErrorKind::StorageFull.into())
}

pub(super) fn overwrite(path: &Path, metadata: &Metadata, content: &[u8]) -> Result<(), DiskError> {
    // To rename over a file only takes a right to its folder; this asks for the right to the file.
    let file = OpenOptions::new().write(true).open(path)?;
    if let Some(mut temporary) = stand_in(path, metadata) {
        temporary.file.write_all(content)?;
        if temporary.replace(path).is_ok() {
            return Ok(());
        }
    }
    Ok(write_in_place(path, file, content)?)
}

/// An empty file that could take the other's place with nobody seeing a difference, if there can
/// be one.
pub(super) fn stand_in(path: &Path, metadata: &Metadata) -> Option<Temporary> {
    if !files::is_replaceable(path, metadata) {
        return None;
    }
    let temporary = Temporary::beside(path, files::standing_in()).ok()?;
    files::become_like(&temporary.file, metadata).ok()?;
    Some(temporary)
}

/// Writes over the old text, once there is room for the new one, and puts it back if that fails all the same.
fn write_in_place(path: &Path, mut file: File, content: &[u8]) -> io::Result<()> {
    let old = fs::read(path);
    let folder = path.parent().unwrap_or(path);
    if let Err(why) = files::check_room(folder, content.len() as u64) {
        // Over its own blocks it may fit.
        let size = file.metadata()?.len();
        let fits = content.len() as u64 <= size || files::make_room(&file, content.len() as u64).is_ok();
        if !fits {
            // Takes back what was kept behind the end.
            file.set_len(size)?;
            return Err(io::Error::other(why));
        }
    }
    let mut write = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)
    };
    write(content).inspect_err(|_| {
        if let Ok(old) = old {
            // Its room was not given up, so this fails only if the disk does.
            let _ = write(&old);
        }
    })
}

/// A file that is removed unless it is renamed.
pub(super) struct Temporary {
    pub(super) file: File,
    path: Unclaimed,
}

/// The path of a file that goes again.
pub(super) struct Unclaimed(pub(super) Option<PathBuf>);

impl Temporary {
    fn beside(path: &Path, mut options: OpenOptions) -> io::Result<Self> {
        options.write(true).create_new(true);
        let (path, file) = unused_name(path, |name| options.open(name))?;
        Ok(Self { file, path: Unclaimed(Some(path)) })
    }

    /// A new file with all that is to be in it.
    fn with(path: &Path, content: &[u8], mode: Mode) -> io::Result<Self> {
        let mut temporary = Self::beside(path, OpenOptions::new())?;
        temporary.file.write_all(content)?;
        if let (Some(mode), Some(name)) = (mode.0, &temporary.path.0) {
            files::set_mode(name, mode)?;
        }
        Ok(temporary)
    }

    fn rename(self, to: &Path) -> io::Result<()> {
        self.put(to, |path, to| fs::rename(path, to))
    }

    pub(super) fn replace(self, old: &Path) -> io::Result<()> {
        self.put(old, files::replace)
    }

    fn put(self, to: &Path, put: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
        let Self { file, mut path } = self;
        // Windows puts no file that is still open in the place of another.
        files::close(file)?;
        if let Some(path) = &path.0 {
            put(path, to)?;
        }
        path.0 = None;
        Ok(())
    }
}

/// Makes something of a name of our own beside a path, which nothing has yet.
pub(super) fn unused_name<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    static LAST: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = path.with_file_name(format!(".acp-nvim-{}-{number}", process::id()));
        match make(&name) {
            Ok(made) => return Ok((name, made)),
            // Left by a process with our number that was killed.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // A left-over file is all that comes of it, and we have an error to tell already.
            let _ = fs::remove_file(path);
        }
    }
}

fn list(roots: &[PathBuf]) -> String {
    roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn reason(error: &io::Error) -> String {
    let reason = match error.kind() {
        ErrorKind::PermissionDenied => "permission denied",
        ErrorKind::NotADirectory => "a part of the path is a file and not a folder",
        ErrorKind::AlreadyExists => "a part of it is a file and not a folder",
        ErrorKind::FileTooLarge => "it would be larger than the system allows",
        ErrorKind::StorageFull => "no space is left on the disk",
        ErrorKind::QuotaExceeded => "the user's share of the disk is used up",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        ErrorKind::ExecutableFileBusy => "it is a program that runs",
        _ if files::is_name_too_long(error) => "the name is too long",
        _ => return error.to_string(),
    };
    reason.to_owned()
}
