//! An agent that is reached over the network: where it is, and what every request to it says of the user. Reading
//! an address and judging it is done here; connecting is for the background.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Headers that the connection itself is made of.
const OWN_HEADERS: [&str; 13] = [
    "host",
    "connection",
    "upgrade",
    "content-length",
    "content-type",
    "accept",
    "transfer-encoding",
    "te",
    "trailer",
    "expect",
    "cookie",
    "acp-connection-id",
    "acp-session-id",
];

/// An agent elsewhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    pub address: Address,
    /// Names with what the user wrote for the values; see [`Secret`].
    pub headers: Vec<(String, String)>,
}

/// How messages are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Carrier {
    WebSocket,
    Http,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub carrier: Carrier,
    pub encrypted: bool,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// Path and query, as a request names them.
    pub target: String,
}

/// Why an address can't be used; the text is fit after its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    #[error("should begin with wss:// or https://, or with ws:// or http:// for an agent on this machine")]
    Scheme,
    #[error("names no host; write it as in wss://host/acp")]
    Host,
    #[error("has a port that is no number from 1 to 65535")]
    Port,
    #[error("holds a name or a password; put them into headers, as in Authorization = \"cmd:pass show acp\"")]
    Login,
    #[error("has a part after #, which is never sent; leave it out")]
    Fragment,
    #[error("holds a character that must be escaped, as a space is by %20")]
    Character,
    #[error(
        "is not encrypted, and leads to another machine; use wss:// or https://, or a tunnel that ends on \
         localhost, as of ssh -L"
    )]
    Plain,
}

impl Address {
    pub fn read(text: &str) -> Result<Self, BadAddress> {
        let (scheme, rest) = text.split_once("://").ok_or(BadAddress::Scheme)?;
        let (carrier, encrypted) = match scheme.to_ascii_lowercase().as_str() {
            "wss" => (Carrier::WebSocket, true),
            "ws" => (Carrier::WebSocket, false),
            "https" => (Carrier::Http, true),
            "http" => (Carrier::Http, false),
            _ => return Err(BadAddress::Scheme),
        };
        if rest.contains('#') {
            return Err(BadAddress::Fragment);
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(BadAddress::Login);
        }
        let (host, port) = host_and_port(authority)?;
        let port = port.unwrap_or(if encrypted { 443 } else { 80 });
        if !encrypted && !is_loopback(&host) {
            return Err(BadAddress::Plain);
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte)) {
            return Err(BadAddress::Character);
        }
        // Where servers of the protocol have it if nobody says otherwise.
        let target = match target {
            "" | "/" => "/acp".to_owned(),
            query if query.starts_with('?') => format!("/acp{query}"),
            target => target.to_owned(),
        };
        Ok(Self { carrier, encrypted, host, port, target })
    }

    pub fn scheme(&self) -> &'static str {
        match (self.carrier, self.encrypted) {
            (Carrier::WebSocket, true) => "wss",
            (Carrier::WebSocket, false) => "ws",
            (Carrier::Http, true) => "https",
            (Carrier::Http, false) => "http",
        }
    }

    /// As it stands in a request: an IPv6 address in brackets, the port where it isn't the usual one.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.encrypted, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The whole address.
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme(), self.authority(), self.target)
    }

    /// The address to show: a query may hold a secret.
    pub fn shown(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        format!("{}://{}{path}", self.scheme(), self.authority())
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), BadAddress> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or(BadAddress::Host)?;
            host.parse::<::core::net::Ipv6Addr>().map_err(|_| BadAddress::Host)?;
            (host, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some("")).ok_or(BadAddress::Port)?)
        }
        None => authority.split_once(':').unwrap_or((authority, "")),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err(BadAddress::Host);
    }
    let port = match port {
        "" => None,
        port => {
            let number = port.bytes().all(|byte| byte.is_ascii_digit()).then(|| port.parse::<u16>().ok());
            Some(number.flatten().filter(|port| *port > 0).ok_or(BadAddress::Port)?)
        }
    };
    Ok((host.to_ascii_lowercase(), port))
}

/// Whether what is sent there stays on this machine. A name is not looked up: only this one is known.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<::core::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Where the value of a header comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Secret<'a> {
    Plain(&'a str),
    /// A command for the shell, whose first line of output it is.
    Command(&'a str),
    Environment(&'a str),
    File(&'a str),
}

impl<'a> Secret<'a> {
    pub fn read(text: &'a str) -> Self {
        let (kind, rest) = text.split_once(':').unwrap_or(("", text));
        match kind {
            "cmd" => Self::Command(rest.trim()),
            "env" => Self::Environment(rest.trim()),
            "file" => Self::File(rest.trim()),
            _ => Self::Plain(text),
        }
    }
}

/// What is wrong with a header as the user wrote it.
pub fn header_problem(name: &str, value: &str) -> Option<String> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Some("is no name of a header".to_owned());
    }
    let lower = name.to_ascii_lowercase();
    if OWN_HEADERS.contains(&lower.as_str()) || lower.starts_with("sec-websocket-") {
        return Some("is a header that the connection sets itself; leave it out".to_owned());
    }
    let missing = |what: &str| Some(format!("names no {what} after the colon"));
    match Secret::read(value) {
        Secret::Command("") => missing("command"),
        Secret::Environment("") => missing("variable"),
        Secret::File("") => missing("file"),
        Secret::Plain(value) if !is_header_value(value) => {
            Some("holds a control character, which no header may".to_owned())
        }
        _ => None,
    }
}

/// Whether this may stand in a request.
pub fn is_header_value(value: &str) -> bool {
    !value.chars().any(|char| char.is_control() && char != '\t')
}

impl fmt::Debug for Remote {
    /// Without the values of headers, which are nobody's business.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Remote").field("address", &self.address.shown()).field("headers", &names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_servers_expect_them() {
        for (text, url) in [
            ("wss://agents.example.org", "wss://agents.example.org/acp"),
            ("wss://agents.example.org/", "wss://agents.example.org/acp"),
            ("HTTPS://Agents.Example.org:443/x/y?team=1", "https://agents.example.org/x/y?team=1"),
            ("https://h?team=1", "https://h/acp?team=1"),
            ("ws://localhost:8080/acp", "ws://localhost:8080/acp"),
            ("http://127.0.0.1:9", "http://127.0.0.1:9/acp"),
            ("ws://[::1]:9/a", "ws://[::1]:9/a"),
            ("wss://[2001:db8::1]", "wss://[2001:db8::1]/acp"),
        ] {
            assert_eq!(Address::read(text).expect(text).url(), url);
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, why) in [
            ("agents.example.org", BadAddress::Scheme),
            ("ftp://h", BadAddress::Scheme),
            ("wss://", BadAddress::Host),
            ("wss:///acp", BadAddress::Host),
            ("wss://a b/", BadAddress::Host),
            ("wss://[::1/", BadAddress::Host),
            ("wss://h:0/", BadAddress::Port),
            ("wss://h:99999", BadAddress::Port),
            ("wss://h:+1", BadAddress::Port),
            ("wss://me:secret@h/acp", BadAddress::Login),
            ("wss://h/acp#part", BadAddress::Fragment),
            ("wss://h/a b", BadAddress::Character),
            ("wss://h/\u{e4}", BadAddress::Character),
            ("ws://agents.example.org/acp", BadAddress::Plain),
            ("http://10.0.0.1/acp", BadAddress::Plain),
            ("http://localhost.example.org", BadAddress::Plain),
            ("http://127.0.0.1.example.org", BadAddress::Plain),
        ] {
            assert_eq!(Address::read(text), Err(why), "{text}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_secret() {
        let address = Address::read("wss://h/acp?token=abc").expect("an address");
        assert_eq!(address.shown(), "wss://h/acp");
        let remote = Remote { address, headers: vec![("Authorization".into(), "Bearer abc".into())] };
        assert!(!format!("{remote:?}").contains("abc"), "{remote:?}");
    }

    #[test]
    fn headers_are_judged() {
        assert_eq!(header_problem("Authorization", "cmd:pass show acp"), None);
        assert_eq!(header_problem("X-Team", "a:b"), None);
        for (name, value) in [
            ("", "x"),
            ("a b", "x"),
            ("Host", "x"),
            ("Sec-WebSocket-Key", "x"),
            ("Acp-Session-Id", "x"),
            ("X", "cmd:"),
            ("X", "env: "),
            ("X", "a\nb"),
        ] {
            assert!(header_problem(name, value).is_some(), "{name}: {value}");
        }
    }
}
