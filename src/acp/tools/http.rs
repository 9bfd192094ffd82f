//! Clients that come in by HTTP on this machine's own address. Each request shows its session's token; what a request
//! means is `rmcp`'s part.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpStream;

use super::bridge::{LONGEST, TO_ADMIT};
use super::registry::{Admitted, Tools};
use super::server::Server;
use crate::acp::mutex::lock;

pub const PATH: &str = "/mcp";

/// A client that says nothing for so long has to begin anew. Many can't, so it is longer than a user is away.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// Serves all who know a token.
#[derive(Clone)]
pub struct Http {
    tools: Tools,
    /// By their tokens, of sessions that are not over.
    clients: Arc<Mutex<HashMap<String, Clients>>>,
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// Those of one session. They are sent away when it is dropped.
struct Clients(Service);

impl Drop for Clients {
    fn drop(&mut self) {
        self.0.config.cancellation_token.cancel();
    }
}

impl Http {
    pub fn new(tools: Tools) -> Self {
        Self { tools, clients: Arc::default() }
    }

    pub async fn serve(self, stream: TcpStream) {
        let service = service_fn(move |request| {
            let http = self.clone();
            async move { Ok::<_, Infallible>(http.answer(request).await) }
        });
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(TO_ADMIT);
        // Whatever goes wrong, the client finds its connection gone.
        let _ = server.serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let token = bearer(request.headers());
        let Some((token, admitted)) = token.and_then(|token| Some((token, self.tools.admit(token)?))) else {
            let mut refused = plain(StatusCode::UNAUTHORIZED, "this needs the token of a session");
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refused;
        };
        if request.uri().path() != PATH {
            return plain(StatusCode::NOT_FOUND, "there is nothing here");
        }
        let clients = self.clients_of(token, admitted);
        clients.handle(request).await
    }

    fn clients_of(&self, token: &str, mut admitted: Admitted) -> Service {
        let mut clients = lock(&self.clients);
        if let Some(known) = clients.get(token) {
            return known.0.clone();
        }
        let (tools, session) = (self.tools.clone(), admitted.session);
        let service = service(move || Server::new(tools.clone(), session));
        clients.insert(token.to_owned(), Clients(service.clone()));
        let (all, token) = (self.clients.clone(), token.to_owned());
        tokio::spawn(async move {
            // It fails when the session is over.
            while admitted.over.changed().await.is_ok() {}
            lock(&all).remove(&token);
        });
        service
    }
}

fn service(server: impl Fn() -> Server + Send + Sync + 'static) -> Service {
    let mut kept = SessionConfig::default();
    kept.keep_alive = Some(IDLE);
    let mut manager = LocalSessionManager::default();
    manager.session_config = kept;
    // No agent is a page in a browser, which names where it comes from.
    let config = StreamableHttpServerConfig::default()
        .enforce_origin_validation()
        .with_max_request_body_bytes(LONGEST);
    StreamableHttpService::new(move || Ok(server()), Arc::new(manager), config)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn plain(status: StatusCode, text: &'static str) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}
