//! A port of this machine alone, for bridges in a sandbox.

use std::io;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// When no more files can be opened, it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Port(TcpListener);

impl Port {
    pub fn new(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener).map(Self)
    }

    pub async fn accept_all(self, mut take: impl FnMut(TcpStream)) {
        loop {
            match self.0.accept().await {
                Ok((stream, _)) => take(stream),
                Err(_) => sleep(PAUSE).await,
            }
        }
    }
}
