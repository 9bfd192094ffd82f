//! What a file on the disk is known by: cheap to compare, and equal only where the content is. Who
//! compares, and when, is left to `watch`.

use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _};
use std::path::Path;

use crate::core::message::Stamp;
use crate::platform::files::stamp;

/// Of a larger file the time and the size stand for the content: to read it for every change would
/// keep a disk busy for what no editor shows.
const MAX_HASHED_BYTES: u64 = 64 << 20;

/// So many bytes are read at once, at least and at most.
const PIECE: (usize, usize) = (4 << 10, 64 << 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    pub content: u64,
    /// As long as it stays, so does the content.
    pub stamp: Stamp,
}

impl Fingerprint {
    /// Of the file as it is now; `None` where there is no regular file. One that `known` still fits
    /// is not read. `keep` gets the bytes if there are no more than so many.
    pub fn look(path: &Path, known: Option<Self>, keep: Option<(&mut Option<Vec<u8>>, u64)>) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(Metadata::is_file)?;
        let stamp = stamp(&metadata);
        if let Some(known) = known.filter(|known| known.stamp == stamp) {
            return Some(known);
        }
        if let Some((kept, most)) = keep
            && stamp.size <= most
            && let Ok(bytes) = fs::read(path)
        {
            let content = hash(&bytes);
            *kept = Some(bytes);
            return Some(Self { content, stamp });
        }
        let content = match stamp.size <= MAX_HASHED_BYTES {
            // What may not be read has a time, too.
            true => hash_of(path, stamp.size).unwrap_or_else(|_| by_stamp(stamp)),
            false => by_stamp(stamp),
        };
        Some(Self { content, stamp })
    }

    /// Of a file that was read in this state.
    pub fn of(bytes: &[u8], stamp: Stamp) -> Self {
        let content = if stamp.size <= MAX_HASHED_BYTES { hash(bytes) } else { by_stamp(stamp) };
        Self { content, stamp }
    }
}

/// What stands for a state of a file.
pub fn by_stamp(stamp: Stamp) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(stamp.size);
    hasher.write_i64(stamp.written.0);
    hasher.write_i64(stamp.written.1);
    hasher.write_u64(stamp.inode);
    hasher.finish()
}

/// What stands for a content.
pub fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// In pieces: a hasher may be fed piecemeal, and a file may be large. Most are smaller than a piece; what has another size
/// than is known by now is read all the same.
fn hash_of(path: &Path, size: u64) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX).clamp(PIECE.0, PIECE.1)];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hasher.finish()),
            count => hasher.write(&bytes[..count]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_bytes_have_one_fingerprint() {
        let path = std::env::temp_dir().join(format!("acp-fingerprint-{}", std::process::id()));
        let bytes: Vec<u8> = (0..200_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        fs::write(&path, &bytes).expect("a file");
        let first = Fingerprint::look(&path, None, None).expect("it is there");
        assert_eq!(first.content, hash(&bytes));
        assert_eq!(Fingerprint::look(&path, Some(first), None), Some(first));
        assert_eq!(Fingerprint::of(&bytes, first.stamp), first);
        let mut kept = None;
        assert_eq!(Fingerprint::look(&path, None, Some((&mut kept, 10))), Some(first));
        assert_eq!(kept, None, "it is more than was wanted");
        assert_eq!(Fingerprint::look(&path, None, Some((&mut kept, 1 << 20))), Some(first));
        assert_eq!(kept, Some(bytes));
        fs::write(&path, "x").expect("a file");
        assert_eq!(Fingerprint::look(&path, Some(first), None).expect("it is there").content, hash(b"x"));
        fs::remove_file(&path).expect("it is there");
        assert_eq!(Fingerprint::look(&path, Some(first), None), None);
        assert_eq!(Fingerprint::look(&std::env::temp_dir(), None, None), None, "a folder is no file");
    }
}
