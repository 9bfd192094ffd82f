//! Why an agent elsewhere can't be reached, in the user's words, with what to do about it.

use std::error::Error;
use std::io::{self, ErrorKind};

use hyper::StatusCode;
use rustls::{AlertDescription, CertificateError};

use crate::core::text::visible::visible_line;

/// The text is fit after "couldn't start far: " and after "lost its connection: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub text: String,
    /// It may be over in a moment.
    pub passes: bool,
}

impl Trouble {
    pub fn lasting(text: impl Into<String>) -> Self {
        Self { text: text.into(), passes: false }
    }

    pub fn passing(text: impl Into<String>) -> Self {
        Self { text: text.into(), passes: true }
    }

    /// What went wrong on the way, from the outermost error to the first that says what it is.
    pub fn of(error: &(dyn Error + 'static), place: &str) -> Self {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(trouble) = known(error, place) {
                return trouble;
            }
            next = error.source();
        }
        let mut last = error;
        while let Some(source) = last.source() {
            last = source;
        }
        Self::passing(format!("the connection to {place} broke: {}", said(&last.to_string())))
    }

    /// What an answer that isn't the one that was hoped for means. `body` is its beginning.
    pub fn status(status: StatusCode, location: Option<&str>, body: &str, agent: &str, place: &str) -> Self {
        let body = match said(body) {
            body if body.is_empty() => String::new(),
            body => format!(": {body}"),
        };
        let code = status.as_u16();
        let lasting = |text: String| Self::lasting(format!("{place} {text}"));
        match code {
            300..=399 => {
                let to = said(location.unwrap_or("another address"));
                lasting(format!("redirects to {to}; put that into agents.{agent}.url if you trust it"))
            }
            401 | 407 => {
                lasting(format!("wants to know who you are ({code}); see agents.{agent}.headers{body}"))
            }
            403 => lasting(format!("refuses you ({code}); see agents.{agent}.headers{body}")),
            404 | 405 | 426 => {
                lasting(format!("is no agent ({code}); see the path in agents.{agent}.url{body}"))
            }
            429 | 502..=504 => Self::passing(format!("{place} answers {code} for now{body}")),
            _ => lasting(format!("answers {code}{body}")),
        }
    }
}

fn known(error: &(dyn Error + 'static), place: &str) -> Option<Trouble> {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(Trouble::lasting(format!("{place} can't be trusted: {}", of_tls(error))));
    }
    let error = error.downcast_ref::<io::Error>()?;
    if let Some(inner) = error.get_ref()
        && let Some(trouble) = known(inner, place)
    {
        return Some(trouble);
    }
    let what = match error.kind() {
        ErrorKind::ConnectionRefused => "nothing answers there",
        ErrorKind::TimedOut => "it doesn't answer in time",
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe => {
            "it broke the connection off"
        }
        ErrorKind::UnexpectedEof => "it closed the connection without a word",
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            "no way leads there; see your network"
        }
        // Looking a name up has no kind of its own.
        _ if error.to_string().contains("lookup address") => {
            "no machine of that name is known; see your network"
        }
        _ => return None,
    };
    Some(Trouble::passing(format!("couldn't reach {place}: {what}")))
}

fn of_tls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate is out of date; see this machine's clock, or tell who runs it".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate isn't valid yet; see this machine's clock".to_owned()
            }
            CertificateError::UnknownIssuer => {
                "nobody that this system trusts has signed its certificate; add the signer to the system's \
                 certificates, or name their file in $SSL_CERT_FILE"
                    .to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name; see the host in the url".to_owned()
            }
            CertificateError::Revoked => "its certificate was revoked".to_owned(),
            other => format!("its certificate is refused: {}", said(&format!("{other:?}"))),
        },
        rustls::Error::InvalidMessage(_) => {
            "what answers doesn't encrypt (TLS); see the port and the scheme in the url".to_owned()
        }
        rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
        | rustls::Error::PeerIncompatible(_) => {
            "it knows no encryption that is safe today (TLS 1.2 or 1.3)".to_owned()
        }
        other => said(&other.to_string()),
    }
}

/// What somebody else says, as far as a line has room for it.
pub fn said(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    visible_line(&line.chars().take(160).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_said_in_plain_words() {
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        let outer = io::Error::other(refused);
        assert_eq!(Trouble::of(&outer, "P"), Trouble::passing("couldn't reach P: nothing answers there"));
        let tls = io::Error::other(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer));
        let trouble = Trouble::of(&tls, "P");
        assert!(!trouble.passes && trouble.text.contains("$SSL_CERT_FILE"), "{trouble:?}");
        let other = Trouble::of(&io::Error::other("odd\u{1b}[31m\nthing"), "P");
        assert!(other.text.contains("odd") && !other.text.contains(['\u{1b}', '\n']), "{other:?}");
    }

    #[test]
    fn answers_say_what_to_do() {
        let of = |code, body| {
            let status = StatusCode::from_u16(code).expect("a status");
            Trouble::status(status, Some("https://other/acp"), body, "far", "P")
        };
        assert!(of(401, "").text.contains("agents.far.headers"));
        assert!(of(404, "").text.contains("agents.far.url"));
        assert!(of(301, "").text.contains("https://other/acp"));
        assert!(of(503, "busy").passes && of(503, "busy").text.ends_with(": busy"));
        assert_eq!(of(400, &"x".repeat(1000)).text.chars().filter(|char| *char == 'x').count(), 160);
    }
}
