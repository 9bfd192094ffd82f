//! Files on the disk as they are, byte for byte, and putting them back to what they were, when they still hold what
//! they are expected to. All of it blocks; call it where waiting is allowed.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::disk::{
    self, DiskError, MAX_READ_BYTES, Unclaimed, bytes, check_kind, create_folder, overwrite, put_new,
    put_unless_there, stand_in, unused_name,
};
use crate::core::message::PutBack;
use crate::core::store::checkpoint::{self, Held, Mode, unmarked};
use crate::core::text::file_format::is_dos;
use crate::platform::files;

const CHANGED: &str = "it has changed; open it and undo it there";

/// Undoes what was done to a file. Gives what it held until then, if that was looked at.
pub fn put_back(path: &Path, what: &PutBack) -> Result<Held, String> {
    match what {
        PutBack::Mode(mode) => {
            set_mode(path, *mode).map_err(|error| format!("its permissions: {error}"))?;
            Ok(Held::Unknown)
        }
        PutBack::Lines { expected, lines } => {
            // What is to go may be gone.
            let found = match (held(path), lines) {
                (Held::Absent, None) => Held::Absent,
                (found, _) => expect(found, expected.as_deref())?,
            };
            match lines {
                None => remove(path)?,
                Some(lines) => put_lines(path, &found, lines).map_err(|error| told(&error))?,
            }
            Ok(found)
        }
        PutBack::Exactly { expected, held: was } => {
            let found = expect(held(path), expected.as_deref())?;
            put(path, found != Held::Absent, was)?;
            Ok(found)
        }
        PutBack::Held { seen, held: was } => {
            if !held(path).matches(seen) {
                return Err(CHANGED.to_owned());
            }
            put(path, *seen != Held::Absent, was)?;
            Ok(seen.clone())
        }
    }
}

fn put_lines(path: &Path, found: &Held, lines: &str) -> Result<(), DiskError> {
    match found.as_text() {
        None => put_where_nothing_is(path, with_lines(None, lines).as_bytes(), Mode::default()),
        Some(text) => disk::write(path, &with_lines(Some(text), lines)).map(drop),
    }
}

/// Has a path hold this. Where nothing was, what somebody else has put there meanwhile stays: it may be the user, who
/// has saved a buffer.
pub fn put(path: &Path, was_there: bool, held: &Held) -> Result<(), String> {
    let put_file = |bytes: &[u8], mode: Mode| match was_there {
        true => put_file(path, bytes, mode),
        false => put_where_nothing_is(path, bytes, mode),
    };
    let done = match held {
        Held::Absent => return remove(path),
        Held::Text(text, mode) => put_file(text.as_bytes(), *mode),
        Held::Bytes(bytes, mode) => put_file(bytes, *mode),
        Held::Link(target) => put_link(path, target),
        Held::Unknown => return Err("what it held before is not known".to_owned()),
    };
    done.map_err(|error| told(&error))
}

fn told(error: &DiskError) -> String {
    match error {
        DiskError::System(error) if error.kind() == ErrorKind::AlreadyExists => CHANGED.to_owned(),
        error => error.to_string(),
    }
}

fn put_where_nothing_is(path: &Path, content: &[u8], mode: Mode) -> Result<(), DiskError> {
    create_folder(path)?;
    if fs::symlink_metadata(path).is_ok_and(|found| files::is_pipe(found.file_type())) {
        fs::remove_file(path)?;
    }
    Ok(put_unless_there(path, content, mode)?)
}

/// What a path was found to hold, which is to be a text of these lines, see [`PutBack::Lines`]; none for no file.
fn expect(found: Held, expected: Option<&str>) -> Result<Held, String> {
    let is_expected = match (&found, expected) {
        (Held::Absent, None) => true,
        (Held::Text(text, _), Some(lines)) => has_lines(text, lines),
        _ => false,
    };
    if is_expected { Ok(found) } else { Err(CHANGED.to_owned()) }
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// A file's text with other lines, which end as its lines do.
fn with_lines(found: Option<&str>, lines: &str) -> String {
    let found = found.map(unmarked).unwrap_or("\n");
    // In a file with both ends, a carriage return is a part of its line.
    let mut text =
        if is_dos(found) { lines.replace("\r\n", "\n").replace('\n', "\r\n") } else { lines.to_owned() };
    // An empty last line is none without an end.
    if found.is_empty() || found.ends_with('\n') || lines.ends_with('\n') {
        text.push_str(if is_dos(found) { "\r\n" } else { "\n" });
    }
    text
}

/// What a path holds itself: a link is not followed.
pub fn held(path: &Path) -> Held {
    let found = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Held::Absent;
        }
        Err(_) => return Held::Unknown,
    };
    if found.is_symlink() {
        return fs::read_link(path).map_or(Held::Unknown, Held::Link);
    }
    if files::is_pipe(found.file_type()) {
        return Held::Absent;
    }
    // A folder, and what can't be read.
    let Ok(bytes) = bytes(path, MAX_READ_BYTES) else { return Held::Unknown };
    let held = Held::of_bytes(bytes, Mode(files::mode(&found)));
    if matches!(&held, Held::Bytes(bytes, _) if bytes.len() > checkpoint::MAX_FILE_BYTES) {
        Held::Unknown
    } else {
        held
    }
}

/// Has a path hold a file with exactly these bytes, and the permissions if they are known. A link that is there is
/// replaced and not followed; owner and further names of a file stay.
fn put_file(path: &Path, content: &[u8], mode: Mode) -> Result<(), DiskError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            if bytes(path, MAX_READ_BYTES).ok().as_deref() != Some(content) {
                replace(path, &found, content)?;
            }
            set_mode(path, mode)
        }
        Ok(found) if found.is_symlink() => put_new(path, content, mode),
        Ok(found) => check_kind(&found),
        Err(error) if error.kind() == ErrorKind::NotFound => put_where_nothing_is(path, content, mode),
        Err(error) => Err(error.into()),
    }
}

/// Has a path hold a symbolic link in the place of a file, another link, or nothing.
fn put_link(path: &Path, target: &Path) -> Result<(), DiskError> {
    create_folder(path)?;
    if let Ok(found) = fs::symlink_metadata(path)
        && !found.is_symlink()
    {
        check_kind(&found)?;
    }
    let (name, ()) = unused_name(path, |name| files::make_link(target, name))?;
    let mut link = Unclaimed(Some(name));
    if let Some(name) = &link.0 {
        fs::rename(name, path)?;
    }
    link.0 = None;
    Ok(())
}

/// Gives a file permissions, if they are known.
pub fn set_mode(path: &Path, mode: Mode) -> Result<(), DiskError> {
    let Some(mode) = mode.0 else { return Ok(()) };
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || files::mode(&found).is_none_or(|found| found == mode) {
        return Ok(());
    }
    files::set_mode(path, mode)?;
    Ok(())
}

/// The same as [`overwrite`], for what the user wants back: a file that may not be written is replaced, too, as what
/// changed it must have done.
fn replace(path: &Path, found: &Metadata, content: &[u8]) -> Result<(), DiskError> {
    match overwrite(path, found, content) {
        Err(DiskError::Denied) => {}
        done => return done,
    }
    let mut temporary = stand_in(path, found).ok_or(DiskError::Denied)?;
    temporary.file.write_all(content)?;
    Ok(temporary.replace(path)?)
}

/// Whether a file's text has these lines, however they end. Only the text has a line break that ends the last one: an
/// empty line at the end of the others is a line.
fn has_lines(text: &str, lines: &str) -> bool {
    fn each(text: &str) -> impl Iterator<Item = &str> {
        text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line))
    }
    let text = unmarked(text);
    each(text.strip_suffix('\n').unwrap_or(text)).eq(each(lines))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::text::Text;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("acp-restore-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn lines(path: &Path, expected: Option<&str>, lines: Option<&str>) -> Result<Held, String> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        put_back(path, &PutBack::Lines { expected: owned(expected), lines: owned(lines) })
    }

    fn exactly(path: &Path, expected: Option<&str>, held: Held) -> Result<Held, String> {
        put_back(path, &PutBack::Exactly { expected: expected.map(str::to_owned), held })
    }

    #[test]
    fn a_file_is_put_back_unless_it_holds_something_else() {
        let folder = Folder::new("lines");
        let path = folder.0.join("a.txt");
        fs::write(&path, "one\r\nTWO\r\n").expect("a file");
        assert!(lines(&path, Some("one\nother"), Some("one\ntwo")).is_err());
        lines(&path, Some("one\nTWO"), Some("one\ntwo")).expect("to be put back");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "one\r\ntwo\r\n");
        lines(&path, Some("one\ntwo"), None).expect("to be removed");
        assert!(!path.exists());
        assert_eq!(lines(&path, Some("one\ntwo"), None), Ok(Held::Absent), "it is gone already");
        lines(&path, None, Some("again")).expect("to be made again");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "again\n");
    }

    #[test]
    fn lines_that_end_in_different_ways_stay_as_they_are() {
        let folder = Folder::new("mixed");
        let path = folder.0.join("a.txt");
        fs::write(&path, "\u{feff}one\r\nTWO\nthree\r\nfour").expect("a file");
        lines(&path, Some("one\r\nTWO\nthree\r\nfour"), Some("one\r\ntwo\nthree\r\nfour"))
            .expect("to be put back");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "\u{feff}one\r\ntwo\nthree\r\nfour");
    }

    /// Whatever a text ends with, a review knows its lines, and the file that holds it is the one that was seen.
    #[test]
    fn a_file_is_known_by_its_lines_whatever_it_ends_with() {
        let folder = Folder::new("ends");
        let path = folder.0.join("a.txt");
        let bodies = ["", "\n", "\n\n", "a", "a\n", "a\n\n", "a\n\n\n", "a\n\nb", "a\n\nb\n", "\na\n"];
        let dos = bodies.map(|body| body.replace('\n', "\r\n"));
        let mixed = ["a\nb\r\n", "a\r\nb\n", "a\r\n\n", "a\n\r\n"].map(str::to_owned);
        let texts = bodies.map(str::to_owned).into_iter().chain(dos).chain(mixed);
        for text in texts.flat_map(|text| [format!("\u{feff}{text}"), text]) {
            let seen = Text::from(&*text).plain_lines();
            fs::write(&path, &text).expect("a file");
            let found = expect(held(&path), Some(&seen)).expect("to be known");
            assert_eq!(found.as_text().map(|text| &**text), Some(&*text));
            let more = format!("{seen}\n");
            assert_eq!(
                expect(held(&path), Some(&more)),
                Err(CHANGED.to_owned()),
                "{text:?} has no line more"
            );
            for wanted in ["", "b", "b\n", "\nb\n\n"] {
                fs::write(&path, &text).expect("a file");
                lines(&path, Some(&seen), Some(wanted)).expect("to be put back");
                let now = fs::read_to_string(&path).expect("a text");
                assert_eq!(*Text::from(&*now).plain_lines(), *wanted, "{text:?} became {now:?}");
            }
        }
    }

    #[test]
    fn all_of_it_is_put_back_byte_for_byte() {
        let folder = Folder::new("exact");
        let path = folder.0.join("deep/a.txt");
        let old = Held::text("\u{feff}one\r\ntwo");
        exactly(&path, None, old.clone()).expect("to be made again");
        assert!(held(&path).matches(&old), "{:?}", held(&path));
        fs::write(&path, "one\ntwo\nthree\n").expect("to be changed");
        assert_eq!(exactly(&path, Some("one"), old.clone()), Err(CHANGED.to_owned()));
        exactly(&path, Some("one\ntwo\nthree"), old.clone()).expect("to be put back");
        assert!(held(&path).matches(&old), "{:?}", held(&path));
        fs::write(&path, b"\0").expect("to be changed");
        assert_eq!(exactly(&path, Some(""), old), Err(CHANGED.to_owned()), "it is no text any more");
    }

    /// The user saves a buffer right after somebody looked whether there is a file.
    #[test]
    fn what_the_user_saves_where_nothing_was_is_not_overwritten() {
        let folder = Folder::new("saved");
        let path = folder.0.join("a.txt");
        let old = Held::text("one\n");
        assert_eq!(expect(held(&path), None), Ok(Held::Absent));
        fs::write(&path, "one\nmine\n").expect("a file");
        assert_eq!(put(&path, false, &old), Err(CHANGED.to_owned()));
        assert_eq!(held(&path).bytes(), Some(&b"one\nmine\n"[..]));
        let left = fs::read_dir(&folder.0).expect("a list").count();
        assert_eq!(left, 1, "nothing is left over");
        put(&path, true, &old).expect("to be put back");
        assert!(held(&path).matches(&old));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_comes_back_where_a_pipe_has_taken_its_place() {
        let folder = Folder::new("pipe");
        let path = folder.0.join("a");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        assert_eq!(held(&path), Held::Absent);
        lines(&path, None, Some("one")).expect("to be made again");
        assert_eq!(held(&path).bytes(), Some(&b"one\n"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_come_back_and_a_link_is_not_written_through() {
        use std::os::unix::fs::symlink;
        let folder = Folder::new("modes");
        let (path, other) = (folder.0.join("a"), folder.0.join("b"));
        let script = Held::Text("#!/bin/sh\n".into(), Mode(Some(0o755)));
        put_file(&path, b"#!/bin/sh\n", script.mode()).expect("a file");
        assert_eq!(held(&path), script);
        set_mode(&path, Mode(Some(0o444))).expect("to be protected");
        put_file(&path, b"other\n", Mode(Some(0o640))).expect("to be written all the same");
        assert_eq!(held(&path), Held::Text("other\n".into(), Mode(Some(0o640))));
        fs::hard_link(&path, folder.0.join("c")).expect("another name");
        put_file(&path, b"both\n", Mode(None)).expect("to be written");
        assert_eq!(held(&folder.0.join("c")).bytes(), Some(&b"both\n"[..]), "it is one file still");
        put_link(&other, Path::new("nowhere/x")).expect("a link");
        assert_eq!(held(&other), Held::Link("nowhere/x".into()));
        fs::remove_file(&other).expect("to go");
        symlink(&path, &other).expect("a link");
        put_file(&other, b"new\n", Mode(Some(0o600))).expect("to take the place of the link");
        assert_eq!(held(&other), Held::Text("new\n".into(), Mode(Some(0o600))));
        assert_eq!(held(&path).bytes(), Some(&b"both\n"[..]), "what the link led to is as it was");
        put_link(&other, Path::new("a")).expect("to take the place of the file");
        assert_eq!(held(&other), Held::Link("a".into()));
        assert_eq!(held(&folder.0), Held::Unknown);
        assert_eq!(held(&path.join("below")), Held::Absent);
        let left: Vec<_> =
            fs::read_dir(&folder.0).expect("a list").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 3, "nothing is left over: {left:?}");
    }
}
