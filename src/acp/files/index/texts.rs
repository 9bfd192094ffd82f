//! Copies of texts that files had, so that it is known later what was changed. They lie one behind the other in a
//! file without a name, which the system removes when the plugin is gone, however it ends. What is worth to be
//! copied is left to `worker`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::core::changes::folder_index::FileState;

/// All copies of a project's files together have no more bytes, and neither have those of what was changed in it.
const MAX_COPIED_BYTES: u64 = 64 << 20;

/// What is added is written to the file in pieces of this size.
const TAIL: usize = 256 << 10;

/// Where a text lies.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    at: u64,
    bytes: u64,
}

impl Location {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Texts in a file without a name.
#[derive(Debug)]
pub struct Pack {
    folder: PathBuf,
    file: Option<File>,
    end: u64,
    /// The last of it, which is not in the file yet: most texts are short, and there are many.
    tail: Vec<u8>,
}

/// The last text of each file that was copied. Once there is no room for more, either nothing is added (`keep`), or
/// the oldest go (`keep_newest`).
#[derive(Debug)]
pub struct Copies {
    pack: Pack,
    known: HashMap<PathBuf, (FileState, Location)>,
    bytes: u64,
}

impl Pack {
    /// Nothing is made in the folder before there is a text.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, file: None, end: 0, tail: Vec::new() }
    }

    pub fn bytes(&self) -> u64 {
        self.end
    }

    pub fn add(&mut self, text: &[u8]) -> io::Result<Location> {
        if self.tail.len() + text.len() > TAIL {
            self.flush()?;
        }
        let location = Location { at: self.end, bytes: text.len() as u64 };
        self.tail.extend_from_slice(text);
        self.end += location.bytes;
        if self.tail.len() > TAIL {
            self.flush()?;
        }
        Ok(location)
    }

    fn flush(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                crate::platform::files::create_private_folder(&self.folder)?;
                self.file.insert(tempfile::tempfile_in(&self.folder)?)
            }
        };
        file.seek(SeekFrom::Start(self.end - self.tail.len() as u64))?;
        // What could not be written is missing when it is read.
        let tail = std::mem::take(&mut self.tail);
        file.write_all(&tail)
    }

    pub fn read(&mut self, location: Location) -> io::Result<Vec<u8>> {
        let in_file = self.end - self.tail.len() as u64;
        if location.at >= in_file {
            let at = (location.at - in_file) as usize;
            let text = self.tail.get(at..at + location.bytes as usize);
            return text.map(<[u8]>::to_vec).ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(location.at))?;
        let mut text = Vec::new();
        file.take(location.bytes).read_to_end(&mut text)?;
        if text.len() as u64 == location.bytes { Ok(text) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Adds a text to another one, too.
    pub fn copy(&mut self, location: Location, to: &mut Self) -> io::Result<Location> {
        let text = self.read(location)?;
        to.add(&text)
    }

    /// One with nothing in it, in the same folder.
    pub fn empty(&self) -> Self {
        Self::new(self.folder.clone())
    }
}

impl Copies {
    pub fn new(folder: PathBuf) -> Self {
        Self { pack: Pack::new(folder), known: HashMap::new(), bytes: 0 }
    }

    /// How many bytes would still be kept.
    pub fn room(&self) -> u64 {
        MAX_COPIED_BYTES.saturating_sub(self.bytes)
    }

    /// Whether a text of this size would still be kept.
    pub fn has_room(&self, bytes: u64) -> bool {
        self.bytes + bytes <= MAX_COPIED_BYTES
    }

    /// Keeps what a file holds in this state, if there is room for it.
    pub fn keep(&mut self, path: &Path, state: FileState, text: &[u8]) -> io::Result<()> {
        self.forget(path);
        if !self.has_room(text.len() as u64) {
            return Ok(());
        }
        self.add(path, state, text)
    }

    /// Keeps what a file holds in this state: it is likelier to be asked for than what was kept before.
    pub fn keep_newest(&mut self, path: &Path, state: FileState, text: &[u8]) -> io::Result<()> {
        self.forget(path);
        if self.bytes + text.len() as u64 > MAX_COPIED_BYTES {
            self.drop_oldest();
        }
        self.add(path, state, text)
    }

    fn add(&mut self, path: &Path, state: FileState, text: &[u8]) -> io::Result<()> {
        if self.pack.bytes() > 2 * MAX_COPIED_BYTES {
            self.compact()?;
        }
        let location = self.pack.add(text)?;
        self.bytes += location.bytes;
        self.known.insert(path.to_owned(), (state, location));
        Ok(())
    }

    /// The newest stay, as far as they fit into half of the room.
    fn drop_oldest(&mut self) {
        let mut newest: Vec<Location> = self.known.values().map(|(_, location)| *location).collect();
        newest.sort_unstable_by_key(|location| std::cmp::Reverse(location.at));
        let mut bytes = 0;
        let fit = newest.iter().take_while(|location| {
            bytes += location.bytes;
            bytes <= MAX_COPIED_BYTES / 2
        });
        let oldest = fit.last().map_or(u64::MAX, |location| location.at);
        self.known.retain(|_, (_, location)| location.at >= oldest);
        self.bytes = self.known.values().map(|(_, location)| location.bytes).sum();
    }

    /// What a file held in this state, if that is known.
    pub fn text(&mut self, path: &Path, state: &FileState) -> Option<Vec<u8>> {
        let (known, location) = self.known.get(path)?;
        // A copy that can't be read is as good as none.
        if known.differs(state) { None } else { self.pack.read(*location).ok() }
    }

    pub fn forget(&mut self, path: &Path) {
        if let Some((_, location)) = self.known.remove(path) {
            self.bytes -= location.bytes;
        }
    }

    /// Leaves behind what is of no file any more.
    fn compact(&mut self) -> io::Result<()> {
        let mut pack = self.pack.empty();
        let mut locations: Vec<&mut Location> =
            self.known.values_mut().map(|(_, location)| location).collect();
        // The oldest stay the first.
        locations.sort_unstable_by_key(|location| location.at);
        for location in locations {
            *location = self.pack.copy(*location, &mut pack)?;
        }
        self.pack = pack;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::changes::folder_index::FileKind;

    fn state(size: u64) -> FileState {
        FileState {
            kind: FileKind::File,
            size,
            modified: (1, 0),
            changed: (1, 0),
            inode: 1,
            born: None,
            mode: None,
        }
    }

    #[test]
    fn a_copy_is_of_one_state_of_a_file() {
        let mut copies = Copies::new(std::env::temp_dir());
        let path = Path::new("/p/a");
        copies.keep(path, state(3), b"one").expect("to be kept");
        copies.keep(Path::new("/p/b"), state(1), b"b").expect("to be kept");
        assert_eq!(copies.text(path, &state(3)).as_deref(), Some(&b"one"[..]));
        assert_eq!(copies.text(path, &state(4)), None);
        copies.keep(path, state(4), b"four").expect("to be kept");
        assert_eq!(copies.text(path, &state(4)).as_deref(), Some(&b"four"[..]));
        copies.forget(path);
        assert_eq!(copies.text(path, &state(4)), None);
        assert_eq!(copies.bytes, 1);
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut copies = Copies::new(std::env::temp_dir());
        let text = vec![b'x'; 1 << 20];
        for number in 0..70 {
            copies
                .keep(Path::new(&format!("/p/{number}")), state(1 << 20), &text)
                .expect("to be kept or not");
        }
        assert_eq!(copies.bytes, MAX_COPIED_BYTES);
        assert!(copies.text(Path::new("/p/63"), &state(1 << 20)).is_some());
        assert!(copies.text(Path::new("/p/64"), &state(1 << 20)).is_none());
        copies.forget(Path::new("/p/1"));
        assert!(copies.has_room(1 << 20) && !copies.has_room((1 << 20) + 1));
    }

    #[test]
    fn the_oldest_go_where_the_newest_are_kept() {
        let mut copies = Copies::new(std::env::temp_dir());
        let text = vec![b'x'; 4 << 20];
        let path = |number: usize| PathBuf::from(format!("/p/{number}"));
        // Often enough that the file is written anew.
        for number in 0..100 {
            copies.keep_newest(&path(number), state(4 << 20), &text).expect("to be kept");
            assert!(copies.bytes <= MAX_COPIED_BYTES);
            assert!(copies.pack.bytes() <= 2 * MAX_COPIED_BYTES + (4 << 20));
        }
        let known: Vec<usize> =
            (0..100).filter(|number| copies.text(&path(*number), &state(4 << 20)).is_some()).collect();
        assert!((8..=16).contains(&known.len()), "{known:?}");
        assert_eq!(known, (100 - known.len()..100).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_left_behind_takes_no_room_for_long() {
        let mut copies = Copies::new(std::env::temp_dir());
        let text = vec![b'x'; 1 << 20];
        copies.keep(Path::new("/p/first"), state(5), b"first").expect("to be kept");
        for _ in 0..140 {
            copies.keep(Path::new("/p/again"), state(1 << 20), &text).expect("to be kept");
        }
        assert!(copies.pack.bytes() <= 2 * MAX_COPIED_BYTES + (1 << 20));
        assert_eq!(copies.text(Path::new("/p/first"), &state(5)).as_deref(), Some(&b"first"[..]));
    }
}
