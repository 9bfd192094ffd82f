//! A file on the disk as a buffer that holds it sees it: decoded by the buffer's encoding, and told
//! from the state that is known already without being read.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::core::encoding::{decode, is_known};
use crate::core::message::{OnDisk, Stamp};
pub use crate::platform::files::stamp;

/// More than an editor would hold.
const LARGEST: u64 = 1 << 30;

/// How often a file is read that is being written.
const TRIES: u32 = 5;

/// `is_whole` says whether what was read is more than a part of what is being written; without anything,
/// whether there is no file for good.
pub fn examine(
    path: &Path,
    encoding: &str,
    known: Option<Stamp>,
    is_whole: impl Fn(Option<(&[u8], Stamp)>) -> bool,
) -> OnDisk {
    match read(path, known) {
        Ok(None) => OnDisk::Same,
        Ok(Some((bytes, stamp))) if !is_whole(Some((&bytes, stamp))) => OnDisk::HalfWritten,
        Ok(Some((bytes, stamp))) => match decode(bytes, encoding) {
            Some((text, bomb)) => OnDisk::Text { text: text.into(), bomb, stamp },
            None if is_known(encoding) => OnDisk::Unreadable(format!("it is not text in {encoding}")),
            None => OnDisk::Unreadable(format!("its encoding {encoding} is not known")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && !is_whole(None) => OnDisk::HalfWritten,
        Err(error) if error.kind() == ErrorKind::NotFound => OnDisk::Gone,
        Err(error) => OnDisk::Unreadable(error.to_string()),
    }
}

fn read(path: &Path, known: Option<Stamp>) -> io::Result<Option<(Vec<u8>, Stamp)>> {
    let metadata = fs::metadata(path)?;
    if known == Some(stamp(&metadata)) {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::other("it is too large"));
    }
    let mut left = TRIES;
    loop {
        let mut file = File::open(path)?;
        let before = stamp(&file.metadata()?);
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        left -= 1;
        // One that was written meanwhile is read again: half a text would be taken for a whole one.
        if left == 0 || stamp(&file.metadata()?) == before {
            return Ok(Some((bytes, before)));
        }
    }
}
