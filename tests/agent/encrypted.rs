//! Agents behind encryption (TLS): reached where their signer is trusted, over HTTP/2 where they offer it, and refused
//! with a reason where the signer is not trusted. Whom to trust is an environment variable's to say, so that these
//! tests run themselves once more in a process of their own.

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::sync::{Arc, Mutex};
use std::thread;

use acp_nvim::core::message::remote::Address;
use acp_nvim::core::message::*;
use h2::server::SendResponse;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, TRANSFER_ENCODING};
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::support::*;

/// The certificates are there for good; the keys of those who signed them are not. This names those that are trusted.
const TRUSTED: &str = "SSL_CERT_FILE";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// Whether this is the process in which that signer is trusted. If not, the test runs in one.
fn trusts(signer: &str, test: &str) -> bool {
    if std::env::var_os(TRUSTED).is_some_and(|path| path == file(signer)) {
        return true;
    }
    let mut again = Process::new(std::env::current_exe().expect("this program"));
    let name = format!("agent::encrypted::{test}");
    let output = again.args(["--exact", &name]).env(TRUSTED, file(signer)).output().expect("tests run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// What stands before a server that knows no encryption.
struct Front {
    port: u16,
    /// The versions of HTTP in which requests came, where that is the second.
    seen: Arc<Mutex<Vec<String>>>,
}

impl Front {
    /// One that offers these protocols, to a server at a port.
    fn start(protocols: &[&str], server: u16) -> Self {
        let certificates = CertificateDer::pem_file_iter(file("agent.pem")).expect("a file");
        let certificates = certificates.collect::<Result<Vec<_>, _>>().expect("certificates");
        let key = PrivateKeyDer::from_pem_file(file("agent.key")).expect("a key");
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .expect("a pair");
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heads = seen.clone();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a port");
                while let Ok((stream, _)) = listener.accept().await {
                    let (acceptor, heads) = (acceptor.clone(), heads.clone());
                    tokio::spawn(async move {
                        // Who trusts nobody hangs up.
                        let Ok(stream) = acceptor.accept(stream).await else { return };
                        pass_on(stream, server, &heads).await;
                    });
                }
            });
        });
        Self { port, seen }
    }
}

async fn pass_on(mut stream: TlsStream<TcpStream>, server: u16, heads: &Mutex<Vec<String>>) {
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        let mut plain = TcpStream::connect(("127.0.0.1", server)).await.expect("the server");
        // Either may hang up.
        let _ = copy_bidirectional(&mut stream, &mut plain).await;
        return;
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        heads.lock().unwrap().push(format!("{:?} {}", request.version(), request.method()));
        tokio::spawn(answer(request, respond, server));
    }
}

/// Has the server answer it, in the first version.
async fn answer(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    server: u16,
) -> Option<()> {
    let (head, mut body) = request.into_parts();
    let mut bytes = Vec::new();
    while let Some(Ok(part)) = body.data().await {
        body.flow_control().release_capacity(part.len()).ok()?;
        bytes.extend_from_slice(&part);
    }
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut asked = Request::new(Full::new(Bytes::from(bytes)));
    *asked.method_mut() = head.method;
    *asked.uri_mut() = format!("http://127.0.0.1:{server}{path}").parse().ok()?;
    *asked.headers_mut() = head.headers;
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let (head, mut body) = client.request(asked).await.ok()?.into_parts();
    let mut answer = Response::new(());
    *answer.status_mut() = head.status;
    *answer.headers_mut() = head.headers;
    for name in [CONNECTION, TRANSFER_ENCODING] {
        answer.headers_mut().remove(name);
    }
    let mut stream = respond.send_response(answer, false).ok()?;
    while let Some(Ok(frame)) = body.frame().await {
        if let Ok(data) = frame.into_data() {
            stream.send_data(data, false).ok()?;
        }
    }
    stream.send_data(Bytes::new(), true).ok()
}

/// An agent with these steps behind such a front.
fn behind(test: &mut Test, scheme: &str, protocols: &[&str], steps: &[serde_json::Value]) -> (Launch, Front) {
    let mut launch = test.launch("far", steps);
    let front = Front::start(protocols, test.servers[0].port);
    let address = Address::read(&format!("{scheme}://127.0.0.1:{}/acp", front.port)).expect("an address");
    launch.remote = Some(Remote { address, headers: Vec::new() });
    (launch, front)
}

fn conversation() -> Vec<serde_json::Value> {
    vec![
        expect("initialize"),
        answer_to("initialize", &json!({"protocolVersion": 1})),
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s1"})),
        expect("session/prompt"),
        update(&chunk("in secret")),
        end_turn(),
    ]
}

fn is_talked_to(scheme: &str, protocols: &[&str]) -> Vec<String> {
    let plain = if scheme == "wss" { "ws" } else { "http" };
    let mut test = Test::new().carried_over(plain);
    let (launch, front) = behind(&mut test, scheme, protocols, &conversation());
    test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
    test.send(test.open_command(SESSION));
    test.opened();
    test.prompt("Hi");
    assert_eq!(test.stop_reason(), StopReason::EndTurn);
    let said: String = test.updates().iter().filter_map(text).collect();
    assert_eq!(said, "in secret", "{scheme}");
    front.seen.lock().unwrap().clone()
}

#[test]
fn an_encrypted_agent_is_talked_to_where_its_signer_is_trusted() {
    if trusts("signer.pem", "an_encrypted_agent_is_talked_to_where_its_signer_is_trusted") {
        is_talked_to("wss", &[]);
        assert!(is_talked_to("https", &["http/1.1"]).is_empty());
    }
}

#[test]
fn an_agent_that_offers_the_second_version_of_http_is_talked_to_in_it() {
    if trusts("signer.pem", "an_agent_that_offers_the_second_version_of_http_is_talked_to_in_it") {
        let seen = is_talked_to("https", &["h2", "http/1.1"]);
        assert!(seen.len() >= 4 && seen.iter().all(|head| head.starts_with("HTTP/2.0")), "{seen:?}");
        assert!(seen.iter().any(|head| head.ends_with("GET")), "{seen:?}");
    }
}

#[test]
fn an_agent_whose_signer_is_not_trusted_is_sent_nothing() {
    if !trusts("other.pem", "an_agent_whose_signer_is_not_trusted_is_sent_nothing") {
        return;
    }
    for scheme in ["wss", "https"] {
        let mut test = Test::new().carried_over(if scheme == "wss" { "ws" } else { "http" });
        let (launch, front) = behind(&mut test, scheme, &["h2", "http/1.1"], &conversation());
        test.send(Command::Connect { agent: AGENT, launch: Box::new(launch) });
        let failure = test.exited().failure.expect("a reason");
        assert!(failure.message.contains("nobody that this system trusts has signed"), "{failure:?}");
        assert!(failure.message.contains("$SSL_CERT_FILE"), "{failure:?}");
        assert!(front.seen.lock().unwrap().is_empty());
        assert!(test.servers[0].requests.lock().unwrap().is_empty(), "{scheme}");
    }
}
