//! Stand-in until the disk's side is merged.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("{}: no such file", .0.display())]
    Missing(PathBuf),
    #[error("{}: outside of the session's folders", .0.display())]
    Outside(PathBuf),
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
}

pub struct Roots(Vec<PathBuf>);

impl Roots {
    pub fn new(cwd: &Path, additional: &[PathBuf]) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self(std::iter::once(cwd).chain(additional.iter().map(PathBuf::as_path)).map(real).collect())
    }

    pub fn check(&self, path: &Path) -> Result<PathBuf, DiskError> {
        let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
        let resolved = path.canonicalize().ok().or_else(|| Some(parent?.join(path.file_name()?)));
        match resolved {
            Some(path) if self.0.iter().any(|root| path.starts_with(root)) => Ok(path),
            _ => Err(DiskError::Outside(path.to_owned())),
        }
    }
}

pub fn read(path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<String, DiskError> {
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => DiskError::Missing(path.to_owned()),
        _ => DiskError::Io(path.to_owned(), error),
    })?;
    let skip = line.unwrap_or(1).saturating_sub(1) as usize;
    Ok(text.split_inclusive('\n').skip(skip).take(limit.map_or(usize::MAX, |limit| limit as usize)).collect())
}

pub fn write(path: &Path, content: &str) -> Result<(), DiskError> {
    std::fs::write(path, content).map_err(|error| DiskError::Io(path.to_owned(), error))
}
