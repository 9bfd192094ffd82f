//! Which files a buffer holds, so that the editor must be asked for their text.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::disks::Disks;
use crate::acp::mutex::lock;
use crate::platform::paths::resolve_file;

/// The files that buffers hold, by the editor's name for them, each with what it is on the disk.
#[derive(Default)]
pub struct OpenFiles(Arc<Mutex<HashMap<PathBuf, PathBuf>>>);

impl OpenFiles {
    pub fn add(&self, disks: &Disks, path: PathBuf) {
        lock(&self.0).insert(path.clone(), path.clone());
        // Links are looked up where waiting is allowed. Should the file be unloaded meanwhile, nothing is changed.
        let (files, disks) = (self.0.clone(), disks.clone());
        tokio::spawn(async move {
            let name = path.clone();
            let real = disks.run(&path, move || resolve_file(&name)).await;
            if let (Some(known), Some(real)) = (lock(&files).get_mut(&path), real) {
                *known = real;
            }
        });
    }

    pub fn remove(&self, path: &Path) {
        lock(&self.0).remove(path);
    }

    /// The editor's name for a file, if a buffer holds it.
    pub fn find(&self, asked: &Path, resolved: &Path) -> Option<PathBuf> {
        let files = lock(&self.0);
        if files.contains_key(asked) {
            return Some(asked.to_owned());
        }
        files.iter().find(|(_, real)| *real == resolved).map(|(name, _)| name.clone())
    }
}
