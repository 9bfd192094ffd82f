//! Files on the disk as they are, byte for byte, and putting them back to what they were, when they still hold what
//! they are expected to. All of it blocks; call it where waiting is allowed.

use std::fs::{self, Metadata};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::disk::{
    self, DiskError, DiskErrorKind, LARGEST, Unclaimed, bytes, check_kind, create_folder, overwrite, put_new,
    stand_in, unused_name,
};
use crate::core::store::checkpoint::{self, Held, Mode};
use crate::platform::files;

/// `expected` and `text` are without the newline that ends a file; `None` means no file.
pub fn put_back(path: &Path, expected: Option<&str>, text: Option<&str>) -> Result<(), String> {
    let found = match disk::read(path, None, None) {
        Ok(found) => Some(found.text),
        Err(error) if error.kind() == DiskErrorKind::NotFound => None,
        Err(error) => return Err(error.to_string()),
    };
    if found.as_deref().map(bare) != expected.map(bare) {
        return Err("the file has changed since; open it and undo it there".to_owned());
    }
    let Some(text) = text else {
        return fs::remove_file(path).map_err(|error| error.to_string());
    };
    let found = found.unwrap_or_else(|| "\n".to_owned());
    let mut text = if found.contains("\r\n") { bare(text).replace('\n', "\r\n") } else { text.to_owned() };
    if found.is_empty() || found.ends_with('\n') {
        text.push_str(if found.ends_with("\r\n") { "\r\n" } else { "\n" });
    }
    disk::write(path, &text).map(drop).map_err(|error| error.to_string())
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
    // A folder, and what can't be read.
    let Ok(bytes) = bytes(path, LARGEST) else { return Held::Unknown };
    let held = Held::of_bytes(bytes, Mode(files::mode(&found)));
    if matches!(&held, Held::Bytes(bytes, _) if bytes.len() > checkpoint::LARGEST) {
        Held::Unknown
    } else {
        held
    }
}

/// Has a path hold a file with exactly these bytes, and the permissions if they are known. A link that is there is
/// replaced and not followed; owner and further names of a file stay.
pub fn put_file(path: &Path, content: &[u8], mode: Mode) -> Result<(), DiskError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {
            if bytes(path, LARGEST).ok().as_deref() != Some(content) {
                replace(path, &found, content)?;
            }
            set_mode(path, mode)
        }
        Ok(found) if found.is_symlink() => put_new(path, content, mode),
        Ok(found) => check_kind(&found),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create_folder(path)?;
            put_new(path, content, mode)
        }
        Err(error) => Err(error.into()),
    }
}

/// Has a path hold a symbolic link in the place of a file, another link, or nothing.
pub fn put_link(path: &Path, target: &Path) -> Result<(), DiskError> {
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

/// A text's lines, however they end.
fn bare(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_back_unless_it_holds_something_else() {
        let folder = std::env::temp_dir().join(format!("acp-restore-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("a.txt");
        fs::write(&path, "one\r\nTWO\r\n").expect("a file");
        assert!(put_back(&path, Some("one\nother"), Some("one\ntwo")).is_err());
        put_back(&path, Some("one\nTWO"), Some("one\ntwo")).expect("to be put back");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "one\r\ntwo\r\n");
        put_back(&path, Some("one\ntwo"), None).expect("to be removed");
        assert!(!path.exists());
        put_back(&path, None, Some("again")).expect("to be made again");
        assert_eq!(fs::read_to_string(&path).expect("a text"), "again\n");
        fs::remove_dir_all(&folder).expect("a folder of ours");
    }
}
