//! A file on the disk as a buffer that holds it sees it: decoded by the buffer's encoding, and told
//! from the state that is known already without being read.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::core::message::{OnDisk, Stamp};
use crate::core::text::encoding::{decode, is_known};

use crate::platform::files::reading;
pub use crate::platform::files::stamp;

/// More than an editor would hold.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// By so many milliseconds a file's time may be behind the clock.
const CLOCK: i128 = 30;

/// How often a file is read that is being written.
const TRIES: u32 = 5;

/// Whether a file was last written before a time of day; in doubt it was not, since the file's time is less
/// exact than that.
pub fn is_older(stamp: Stamp, (seconds, nanos): (i64, i64)) -> bool {
    let millis = |(seconds, nanos): (i64, i64)| i128::from(seconds) * 1000 + i128::from(nanos) / 1_000_000;
    millis(stamp.written) + CLOCK < millis((seconds, nanos))
}

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
        Ok(Some((bytes, stamp))) => decoded(bytes, stamp, encoding),
        Err(error) if error.kind() == ErrorKind::NotFound && !is_whole(None) => OnDisk::HalfWritten,
        Err(error) if error.kind() == ErrorKind::NotFound => OnDisk::Gone,
        Err(error) => OnDisk::Unreadable(error.to_string()),
    }
}

/// What a file with these bytes is.
pub fn decoded(bytes: Vec<u8>, stamp: Stamp, encoding: &str) -> OnDisk {
    match decode(bytes, encoding) {
        Some((text, bomb)) => OnDisk::Text { text: text.into(), bomb, stamp },
        None if is_known(encoding) => OnDisk::Unreadable(format!("it is not text in {encoding}")),
        None => OnDisk::Unreadable(format!("its encoding {encoding} is not known")),
    }
}

fn read(path: &Path, known: Option<Stamp>) -> io::Result<Option<(Vec<u8>, Stamp)>> {
    let metadata = fs::metadata(path)?;
    if known == Some(stamp(&metadata)) {
        return Ok(None);
    }
    // For whoever has the text of a file, a pipe or a device in its place is as good as nothing: Neovim would wait for
    // what comes out of it.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(ErrorKind::NotFound.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    if metadata.len() > MAX_BUFFER_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    let mut left = TRIES;
    loop {
        let mut file = reading().open(path)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_after_it_was_read_is_not_taken_for_what_was_read() {
        let stamp = |written| Stamp { written, size: 1, inode: 1 };
        assert!(is_older(stamp((10, 0)), (10, 50_000_000)));
        assert!(!is_older(stamp((10, 0)), (10, 20_000_000)), "it may have been either");
        assert!(!is_older(stamp((10, 60_000_000)), (10, 50_000_000)));
        assert!(!is_older(stamp((11, 0)), (10, 999_999_999)));
    }
}
