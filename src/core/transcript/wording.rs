//! How numbers, times, failures and statuses are put into words, and how texts are cut to a width.

use super::hints::Hints;
use crate::core::message::{Cost, Failure, FailureKind};
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
    let digits = if cost.amount > 0.0 && cost.amount < 0.01 { 4 } else { 2 };
    match cost.currency.as_str() {
        "USD" => format!("${:.digits$}", cost.amount),
        currency => format!("{:.digits$} {}", cost.amount, one_line(currency)),
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
        FailureKind::Busy => "Wait a little, then send the prompt again".into(),
        FailureKind::Timeout => format!("Send the prompt again, or {restart} starts the agent again"),
        _ => "The session goes on: send the prompt again, or :Acp log shows the messages".into(),
    }
}

/// `850 ms`, `1.2 s`, `42 s`, `3:07`.
pub fn seconds(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        10_000..60_000 => format!("{} s", ms / 1000),
        _ => format!("{}:{:02}", ms / 60_000, ms / 1000 % 60),
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

/// Cuts a text to `width` characters, in the middle, since both ends of a path tell most.
pub fn cut_middle(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 3 {
        // There is no room for both ends.
        return cut_end(text, width);
    }
    let head = (width - 1) / 2;
    let tail = width - 1 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// Cuts a text to `width` characters, at its end.
pub fn cut_end(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) if width == 0 => String::new(),
        Some(_) => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}
