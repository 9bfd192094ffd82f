//! Serves a program that speaks the protocol on stdio, as the protocol's own crate does: `official-server PROGRAM ARGS..`.
//! Each connection starts the program anew. It says its port on the first line, and ends with its stdin.

use std::io::{self, Write as _};

use agent_client_protocol::{AcpAgent, AcpAgentConfig};
use agent_client_protocol_http::AcpHttpServer;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    let program = args.next().ok_or_else(|| io::Error::other("the program to serve is missing"))?;
    let args: Vec<String> = args.collect();
    let agent = move || AcpAgent::new(AcpAgentConfig::new(&program).args(args.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let mut out = io::stdout();
    writeln!(out, "{port}")?;
    out.flush()?;
    tokio::select! {
        served = axum::serve(listener, AcpHttpServer::new(agent).into_router()) => served,
        read = until_stdin_ends() => read,
    }
}

async fn until_stdin_ends() -> io::Result<()> {
    tokio::io::stdin().read_to_end(&mut Vec::new()).await.map(drop)
}
