//! Who is let in at the port, and who is not. What the tools do is tested in a real Neovim.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::*;
use crate::mailbox::Mailbox;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// What somebody who comes in at the port and says this is told, down to the end of the connection.
fn told(says: &str) -> String {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let tools = Tools::new(Mailbox::new(|_| {}));
        tools.give(SessionKey(1), "/none".into(), TOKEN.into(), Vec::new());
        let entrance = Entrance::open(&tools).expect("a port");
        let mut stream = TcpStream::connect(entrance.address()).await.expect("a connection");
        stream.write_all(says.as_bytes()).await.expect("a listener");
        if says.starts_with(|first: char| !first.is_ascii_uppercase()) {
            // Of HTTP it is the server that closes the connection.
            stream.shutdown().await.expect("a connection");
        }
        let mut told = Vec::new();
        // It may be cut before all that was said is read.
        let _ = timeout(Duration::from_secs(60), stream.read_to_end(&mut told)).await.expect("an end");
        String::from_utf8(told).expect("a text")
    })
}

fn ping() -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })
}

/// The number that a request by HTTP is answered with.
fn status(method: &str, path: &str, headers: &str, body: &str) -> u16 {
    let headers = format!("{headers}Connection: close\r\nContent-Length: {}\r\n", body.len());
    let answer = told(&format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{body}"));
    let number = answer.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {answer:?}"));
    number.parse().expect("a number")
}

const HOST: &str = "Host: 127.0.0.1\r\n";

fn signed() -> String {
    let kinds = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    format!("{HOST}{kinds}Authorization: Bearer {TOKEN}\r\n")
}

fn initialize() -> String {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

#[test]
fn a_bridge_is_let_in_by_the_token_on_its_first_line_alone() {
    let (ping, right) = (ping(), json!({ "token": TOKEN }));
    assert_eq!(told(&format!("{right}\n{ping}\n")), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    let short = json!({ "token": &TOKEN[1..] });
    for wrong in [
        format!("{short}\n{ping}\n"),
        format!("{}\n{ping}\n", json!({ "token": "" })),
        format!("{}\n{ping}\n", json!({ "token": [TOKEN] })),
        format!("{ping}\n{right}\n{ping}\n"),
        String::new(),
    ] {
        assert_eq!(told(&wrong), "", "{wrong:?}");
    }
    for wrong in [format!("{TOKEN}\n{ping}\n"), format!("\n{right}\n{ping}\n")] {
        assert!(!told(&wrong).contains("result"), "{wrong:?}");
    }
}

#[test]
fn what_a_bridge_says_that_makes_no_sense_is_answered_with_an_error_and_never_with_silence() {
    let right = json!({ "token": TOKEN });
    let code = |line: &str| {
        let answer = told(&format!("{right}\n{line}\n"));
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{line}: {answer:?}"));
        answer["error"]["code"].as_i64()
    };
    assert_eq!(code("{"), Some(-32700));
    assert_eq!(code("[]"), Some(-32600));
    assert_eq!(code(r#"{"jsonrpc":"2.0","id":1}"#), Some(-32600));
    assert_eq!(told(&format!("{right}\n\n{}\n", json!({ "method": "notifications/none" }))), "");
}

#[test]
fn by_http_only_the_token_of_a_session_lets_in() {
    assert_eq!(status("POST", "/mcp", &signed(), &initialize()), 200);
    let wrong = |token: &str| signed().replace(&format!("Bearer {TOKEN}"), token);
    for headers in [
        HOST.to_owned(),
        wrong(TOKEN),
        wrong(&format!("Basic {TOKEN}")),
        wrong(&format!("Bearer {}", &TOKEN[1..])),
        wrong(&format!("Bearer {TOKEN}0")),
        wrong("Bearer "),
        wrong("Bearer"),
        format!("{HOST}Cookie: token={TOKEN}\r\n"),
    ] {
        for method in ["POST", "GET", "DELETE", "OPTIONS"] {
            assert_eq!(status(method, "/mcp", &headers, &initialize()), 401, "{method} {headers}");
        }
    }
    assert_eq!(status("POST", &format!("/mcp?token={TOKEN}"), HOST, &initialize()), 401);
}

#[test]
fn a_page_in_a_browser_is_not_let_in_even_if_it_knows_the_token() {
    for origin in ["http://localhost", "http://127.0.0.1", "https://evil.example", "null"] {
        let headers = format!("{}Origin: {origin}\r\n", signed());
        assert_eq!(status("POST", "/mcp", &headers, &initialize()), 403, "{origin}");
    }
    // A name of the page's own that leads here.
    let headers = signed().replace(HOST, "Host: evil.example\r\n");
    assert_eq!(status("POST", "/mcp", &headers, &initialize()), 403);
}

#[test]
fn what_is_no_request_of_the_protocol_is_refused_with_a_number_that_says_why() {
    assert_eq!(status("POST", "/", &signed(), &initialize()), 404);
    assert_eq!(status("PUT", "/mcp", &signed(), &initialize()), 405);
    assert_eq!(status("POST", "/mcp", &signed().replace("application/json\r", "text/plain\r"), "{}"), 415);
    assert_eq!(status("POST", "/mcp", &signed().replace("Accept: ", "X: "), &initialize()), 406);
    let unknown = format!("{}Mcp-Session-Id: 1234\r\n", signed());
    assert_eq!(status("POST", "/mcp", &unknown, &ping().to_string()), 404);
    // It is refused at the byte that is too many.
    assert_eq!(status("POST", "/mcp", &signed(), &"x".repeat(bridge::LONGEST + 1)), 413);
}
