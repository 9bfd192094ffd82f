//! Files of one Neovim in a folder that several share. A lock beside each says that its Neovim lives; the system takes
//! the lock back however that one ends, and whoever finds it free may take over the file. What is in the files is left
//! to the stores.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::platform::files::{create_private_folder, private, try_lock, wait_lock};

/// A file with its lock, which is held as long as this is there.
pub struct Owned {
    _lock: File,
    lock: PathBuf,
    pub file: PathBuf,
}

/// Which files of a folder are meant.
#[derive(Clone, Copy)]
pub struct Names {
    pub prefix: &'static str,
    pub extension: &'static str,
}

impl Owned {
    /// This Neovim's file, which is not there yet.
    pub fn new(folder: &Path, names: Names) -> io::Result<Self> {
        loop {
            create_private_folder(folder)?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!("{}-{}-{}", names.prefix, std::process::id(), now.as_nanos());
            let lock = folder.join(format!("{name}.lock"));
            let held = match open(&lock) {
                // Another Neovim has found the folder empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                held => held?,
            };
            wait_lock(&held)?;
            // Another Neovim may have taken it for one of a Neovim that is gone, and removed it.
            if lock.exists() {
                let file = folder.join(format!("{name}.{}", names.extension));
                return Ok(Self { _lock: held, lock, file });
            }
        }
    }

    /// Whether this is its lock.
    fn has(&self, lock: &Path) -> bool {
        self.lock == lock
    }

    /// The file is empty, or what was in it is elsewhere.
    pub fn remove(self) {
        for path in [&self.file, &self.lock] {
            // What stays is found again, and then known already.
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the lock of a file that was never made.
    pub fn end(self) {
        if !self.file.exists() {
            // One that stays is an empty file, which the next Neovim removes.
            let _ = fs::remove_file(&self.lock);
        }
    }
}

/// The files of Neovims that are gone, and the names of those whose Neovim lives; `own` is of neither.
pub fn others(folder: &Path, names: Names, own: Option<&Owned>) -> io::Result<(Vec<Owned>, Vec<PathBuf>)> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(error),
    };
    let (mut left, mut living) = (Vec::new(), Vec::new());
    for entry in entries.flatten() {
        let lock = entry.path();
        let name = entry.file_name();
        let is_lock = name.to_str().is_some_and(|name| {
            name.strip_prefix(names.prefix)
                .is_some_and(|rest| rest.starts_with('-') && rest.ends_with(".lock"))
        });
        if !is_lock || own.is_some_and(|own| own.has(&lock)) {
            continue;
        }
        let file = lock.with_extension(names.extension);
        // Whoever lives holds it.
        match open(&lock) {
            Ok(held) if try_lock(&held).is_ok() => left.push(Owned { _lock: held, lock, file }),
            _ => living.push(file),
        }
    }
    Ok((left, living))
}

/// What the user typed is nobody else's business.
fn open(path: &Path) -> io::Result<File> {
    private().read(true).write(true).create(true).truncate(false).open(path)
}
