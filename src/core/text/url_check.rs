//! A URL that an agent wants opened, parsed the way a browser does: which host it leads to, and what
//! about it may deceive. Opening it, after the user has agreed, is left to the editor's side.

use std::ops::Range;

/// An http or https address; others are refused before they come here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub url: String,
    /// In lower case, without the port; empty if there is none.
    pub host: String,
    /// Where the host stands in the url.
    pub place: Range<usize>,
    pub warnings: Vec<Warning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A label of the host is in Punycode, `xn--…`.
    Punycode,
    /// The host holds letters beyond ASCII, which a browser writes as Punycode.
    OtherLetters,
    /// The host is written with escapes.
    Escaped,
    /// What stands before the host may look like one.
    UserInfo,
    /// Anybody on the way can read and change what is sent.
    NotEncrypted,
}

impl Warning {
    pub fn text(self) -> &'static str {
        match self {
            Self::Punycode | Self::OtherLetters => {
                "the host's name holds letters that may look like others; make sure that it is the one you expect"
            }
            Self::Escaped => "the host's name contains escapes, so its real name can't be seen",
            Self::UserInfo => "the part before the @ is not the host, though it may look like it",
            Self::NotEncrypted => {
                "the connection is not encrypted, so others may read and change what is sent"
            }
        }
    }
}

impl Address {
    pub fn read(url: &str) -> Self {
        let scheme = url.find(':').map_or(0, |colon| colon + 1);
        // To a browser a backslash is a slash, and further slashes before the host are none.
        let is_slash = |char: char| matches!(char, '/' | '\\');
        let start = url[scheme..].find(|char| !is_slash(char)).map_or(url.len(), |slashes| scheme + slashes);
        let authority = &url[start..];
        let authority = &authority
            [..authority.find(|char| is_slash(char) || "?#".contains(char)).unwrap_or(authority.len())];
        let user = authority.rfind('@').map(|at| at + 1);
        let named = &authority[user.unwrap_or(0)..];
        let length = match named.find(']') {
            Some(bracket) if named.starts_with('[') => bracket + 1,
            _ => named.find(':').unwrap_or(named.len()),
        };
        let from = start + user.unwrap_or(0);
        let place = from..from + length;
        let host = url[place.clone()].to_lowercase();
        let mut warnings = Vec::new();
        let labels = || host.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']);
        if labels().any(|label| label.starts_with("xn--")) {
            warnings.push(Warning::Punycode);
        } else if !host.is_ascii() {
            warnings.push(Warning::OtherLetters);
        }
        if host.contains('%') {
            warnings.push(Warning::Escaped);
        }
        if user.is_some() {
            warnings.push(Warning::UserInfo);
        }
        if !url[..scheme].eq_ignore_ascii_case("https:") && !is_loopback(&host) {
            warnings.push(Warning::NotEncrypted);
        }
        Self { url: url.to_owned(), host, place, warnings }
    }
}

/// Whether a host is this very machine, written in a way that leaves no doubt.
fn is_loopback(host: &str) -> bool {
    let numbers: Vec<Option<u8>> = host.split('.').map(|part| part.parse().ok()).collect();
    host == "localhost"
        || host.ends_with(".localhost")
        || host == "[::1]"
        || matches!(numbers[..], [Some(127), Some(_), Some(_), Some(_)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(url: &str) -> String {
        Address::read(url).host
    }

    fn warnings(url: &str) -> Vec<Warning> {
        Address::read(url).warnings
    }

    #[test]
    fn the_host_is_the_one_that_a_browser_would_go_to() {
        for (url, expected) in [
            ("https://example.com", "example.com"),
            ("https://Example.COM/login?x=1#y", "example.com"),
            ("https://example.com:8443/a", "example.com"),
            ("HTTP://example.com?u=https://b.org/", "example.com"),
            ("https://google.com@evil.example/", "evil.example"),
            ("https://a:b@c@evil.example:1/", "evil.example"),
            (r"https://evil.example\@google.com/", "evil.example"),
            ("https:///evil.example/a", "evil.example"),
            (r"https:/\evil.example/a", "evil.example"),
            ("https://evil.example#@google.com", "evil.example"),
            ("https://evil.example?@google.com", "evil.example"),
            ("http://[::1]:8080/a", "[::1]"),
            ("https://", ""),
            ("https:///?a", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }

    #[test]
    fn the_hosts_place_is_where_it_stands() {
        let address = Address::read("https://me@Example.com:1/example.com");
        assert_eq!(&address.url[address.place.clone()], "Example.com");
    }

    #[test]
    fn what_may_deceive_is_warned_of() {
        use Warning::*;
        for (url, expected) in [
            ("https://example.com/xn--a", vec![]),
            ("https://xn--80ak6aa92e.com/", vec![Punycode]),
            ("https://login.XN--80ak6aa92e.com/", vec![Punycode]),
            ("https://\u{430}pple.com/", vec![OtherLetters]),
            ("https://%65vil.example/", vec![Escaped]),
            ("https://google.com@evil.example/", vec![UserInfo]),
            ("http://example.com/", vec![NotEncrypted]),
            ("http://localhost.example.com/", vec![NotEncrypted]),
            ("http://127.0.0.1.example.com/", vec![NotEncrypted]),
            ("http://128.0.0.1/", vec![NotEncrypted]),
            ("http://127.0.0.1:8080/callback", vec![]),
            ("http://localhost:8080", vec![]),
            ("http://app.localhost", vec![]),
            ("http://[::1]/", vec![]),
            ("http://me@xn--a.example/", vec![Punycode, UserInfo, NotEncrypted]),
        ] {
            assert_eq!(warnings(url), expected, "{url}");
        }
    }
}
