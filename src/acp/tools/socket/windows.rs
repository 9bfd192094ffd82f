//! A named pipe. Its name cannot be guessed, and programs on other machines are kept out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
use tokio::time::sleep;

/// When no more pipes can be made, it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Listener {
    next: NamedPipeServer,
    name: OsString,
}

pub fn listen(path: &Path) -> io::Result<Listener> {
    let name = path.as_os_str().to_owned();
    let next = options().first_pipe_instance(true).create(&name)?;
    Ok(Listener { next, name })
}

fn options() -> ServerOptions {
    let mut options = ServerOptions::new();
    options.reject_remote_clients(true);
    options
}

impl Listener {
    pub async fn accept_all(mut self, mut take: impl FnMut(NamedPipeServer)) {
        loop {
            let connected = self.next.connect().await;
            let next = another(&self.name).await;
            let stream = std::mem::replace(&mut self.next, next);
            if connected.is_ok() {
                take(stream);
            }
        }
    }
}

/// The instance for whoever comes next.
async fn another(name: &OsStr) -> NamedPipeServer {
    loop {
        match options().create(name) {
            Ok(pipe) => return pipe,
            Err(_) => sleep(PAUSE).await,
        }
    }
}
