//! How numbers, times, failures and statuses are put into words.

use super::hints::Hints;
use crate::core::message::{Cost, Failure, FailureKind};
use crate::core::session::entry::Then;
use crate::core::session::tool_call::Status;
use crate::core::text::{cut, one_line};

/// The mark and the highlight group of a status.
pub fn status_mark(status: Status, icons: bool) -> (&'static str, &'static str) {
    let (icon, word, group) = match status {
        Status::Pending => ("○", "[ ]", "AcpToolPending"),
        Status::Waiting => ("●", "[?]", "AcpToolWaiting"),
        Status::Running => ("◐", "[~]", "AcpToolRunning"),
        Status::Done => ("✓", "[x]", "AcpToolDone"),
        Status::Failed => ("✗", "[!]", "AcpToolFailed"),
        Status::Rejected | Status::Cancelled => ("⊘", "[-]", "AcpToolCancelled"),
        Status::Stopping | Status::Unreported => ("◌", "[.]", "AcpToolCancelled"),
    };
    (if icons { icon } else { word }, group)
}

/// `$0.12`, `0.12 EUR`; less than a cent is not rounded away.
pub fn price(cost: &Cost) -> String {
    const LEAST: f64 = 0.0001;
    let digits = if cost.amount > 0.0 && cost.amount < 0.01 { 4 } else { 2 };
    let (less, amount) = match cost.amount > 0.0 && cost.amount < LEAST {
        true => ("<", LEAST),
        false => ("", cost.amount),
    };
    match cost.currency.as_str() {
        "USD" => format!("{less}${amount:.digits$}"),
        currency => format!("{less}{amount:.digits$} {}", one_line(currency)),
    }
}

/// No more of a failure's message is read.
const MOST_MESSAGE: usize = 16 << 10;

/// A failure's message on one line. Many agents pass on the JSON that a model's service answered; what
/// there is to read in it is its message.
pub fn readable(message: &str) -> String {
    one_line(&readable_lines(message))
}

/// The same with its lines.
pub fn readable_lines(message: &str) -> String {
    let message = cut(message, MOST_MESSAGE);
    let said = message.find('{').and_then(|at| {
        let json: serde_json::Value = serde_json::from_str(&message[at..]).ok()?;
        let said = json["error"]["message"].as_str().or(json["message"].as_str())?;
        Some(format!("{}{said}", &message[..at]))
    });
    said.as_deref().unwrap_or(message).trim().to_owned()
}

/// What to do after a failure.
pub fn advice(failure: &Failure, hints: &Hints) -> String {
    let restart = hints.restart();
    match failure.kind {
        FailureKind::AuthRequired => ":Acp login logs in; then the prompt is sent again automatically".into(),
        FailureKind::Disconnected => format!("{restart} starts the agent again"),
        FailureKind::Busy | FailureKind::RateLimited(_) => "Wait a little, then send the prompt again".into(),
        FailureKind::Denied => {
            "The agent may not do that: change what it may, then send the prompt again".into()
        }
        FailureKind::Timeout => format!("Send the prompt again, or {restart} starts the agent again"),
        _ => "The session goes on: send the prompt again, or :Acp inspect shows messages".into(),
    }
}

/// What becomes of the prompt of a turn that has failed.
pub fn what_next(failure: &Failure, then: Then, hints: &Hints) -> String {
    match then {
        Then::Nothing => advice(failure, hints),
        Then::Again { seconds } => {
            format!(
                "It had not begun: the prompt is sent again in {} · {} stops that",
                wait(seconds),
                hints.cancel()
            )
        }
        Then::Sent => "It had not begun: the prompt was sent again".into(),
        Then::Held => "The prompt is not sent again; it waits in line until you send it".into(),
        Then::NewSession => {
            format!("The session is gone: {} opens a new one and sends the prompt there", hints.restart())
        }
    }
}

/// `850 ms`, `1.2 s`, `42 s`, `3:07`, `1:02:03`.
pub fn seconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        60_000..3_600_000 => format!("{}:{:02}", ms / 60_000, ms / 1000 % 60),
        _ => format!("{}:{:02}:{:02}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60),
    }
}

/// A time that is counted down: `7 s`, `1:20`.
pub fn wait(left: u64) -> String {
    running_time(left * 1000)
}

/// The same in whole seconds, for a time that goes on: what shows it changes once a second.
pub fn running_time(ms: u64) -> String {
    match ms {
        0..60_000 => format!("{} s", ms / 1000),
        _ => seconds(ms),
    }
}

/// `12,345`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cost_is_rounded_to_nothing() {
        let said = |amount: f64, currency: &str| price(&Cost { amount, currency: currency.into() });
        let all = [1.234, 0.0049, 0.00001, 0.0].map(|amount| said(amount, "USD"));
        assert_eq!(all, ["$1.23", "$0.0049", "<$0.0001", "$0.00"]);
        assert_eq!(said(0.00001, "EUR"), "<0.0001 EUR");
    }

    #[test]
    fn times_are_said_in_one_way() {
        assert_eq!((seconds(3_723_000), seconds(3_200)), ("1:02:03".to_owned(), "3.2 s".to_owned()));
        assert_eq!((running_time(3_200), running_time(187_000)), ("3 s".to_owned(), "3:07".to_owned()));
    }
}
