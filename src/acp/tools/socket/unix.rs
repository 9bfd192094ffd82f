//! A Unix socket, in a folder that only the user may enter.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::sleep;

/// When no more files can be opened, it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// Gone with its file.
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

pub fn listen(path: &Path) -> io::Result<Listener> {
    if let Some(folder) = path.parent()
        && fs::metadata(folder)?.permissions().mode() & 0o077 != 0
    {
        return Err(io::Error::other(format!("others may enter {}", folder.display())));
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(Listener { listener, path: path.to_owned() })
}

impl Listener {
    pub async fn accept_all(self, mut take: impl FnMut(UnixStream)) {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => take(stream),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Neovim may have removed it with its folder.
        let _ = fs::remove_file(&self.path);
    }
}
