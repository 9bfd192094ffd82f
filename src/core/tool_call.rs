//! One tool call of an agent: what it is about and how far it is. Messages about it may come in any
//! order and repeat; this file says what each of them changes. Drawing is left to `transcript`.

use serde_json::Value;

use crate::core::message::{
    FileDiff, Location, TerminalId, ToolCallId, ToolCallPatch, ToolContent, ToolKind, WireStatus,
};
use crate::core::session::Moment;

/// How far a call is, as the user should see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Pending,
    /// Waits for the user's answer.
    Waiting,
    Running,
    Done,
    Failed,
    /// The user said no.
    Rejected,
    /// Its turn was cancelled or its agent is gone.
    Cancelled,
}

impl Status {
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Rejected | Self::Cancelled)
    }
}

/// What may change a call's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    Reported(WireStatus),
    Asked,
    Allowed,
    Rejected,
    /// The question went away without an answer of the user's.
    Withdrawn,
    TurnCancelled,
    AgentGone,
}

/// The status after `cause`. A verdict of the user's sticks: late progress does not revive a
/// rejected or cancelled call. That it was completed after all always wins, since it is then true.
pub fn next(status: Status, cause: &Cause) -> Status {
    use Status::*;
    match (status, cause) {
        (_, Cause::Reported(WireStatus::Completed)) => Done,
        (Rejected | Cancelled, _) => status,
        (_, Cause::Reported(WireStatus::Failed)) => Failed,
        (_, Cause::Reported(WireStatus::Other(word))) => match word.as_str() {
            "cancelled" | "canceled" => Cancelled,
            "denied" | "rejected" => Rejected,
            "error" => Failed,
            _ => status,
        },
        // Some agents go back to pending after they asked; a finished call stays finished.
        (Done | Failed, _) => status,
        (Waiting, Cause::Reported(_)) => Waiting,
        (Running, Cause::Reported(WireStatus::Pending)) => Running,
        (_, Cause::Reported(WireStatus::Pending)) => Pending,
        (_, Cause::Reported(WireStatus::InProgress)) => Running,
        (_, Cause::Asked) => Waiting,
        (_, Cause::Allowed) => Running,
        (_, Cause::Rejected) => Rejected,
        (Waiting, Cause::Withdrawn) => Pending,
        (_, Cause::Withdrawn) => status,
        (_, Cause::TurnCancelled | Cause::AgentGone) => Cancelled,
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub title: String,
    pub name: Option<String>,
    pub kind: ToolKind,
    pub status: Status,
    pub content: Vec<ToolContent>,
    pub locations: Vec<Location>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    pub started: Moment,
    pub ended: Option<Moment>,
}

impl ToolCall {
    pub fn new(id: ToolCallId, now: Moment) -> Self {
        Self {
            id,
            title: String::new(),
            name: None,
            kind: ToolKind::Other,
            status: Status::Pending,
            content: Vec::new(),
            locations: Vec::new(),
            raw_input: None,
            raw_output: None,
            started: now,
            ended: None,
        }
    }

    /// Given fields replace, absent ones stay; lists are replaced as a whole.
    pub fn patch(&mut self, patch: ToolCallPatch, now: Moment) {
        let ToolCallPatch { id: _, title, name, kind, status, content, locations, raw_input, raw_output } =
            patch;
        if let Some(title) = title.filter(|title| !title.trim().is_empty()) {
            self.title = title;
        }
        self.name = name.or(self.name.take());
        self.kind = kind.unwrap_or(self.kind);
        self.content = content.unwrap_or_else(|| std::mem::take(&mut self.content));
        self.locations = locations.unwrap_or_else(|| std::mem::take(&mut self.locations));
        self.raw_input = raw_input.or(self.raw_input.take());
        self.raw_output = raw_output.or(self.raw_output.take());
        if let Some(status) = status {
            self.advance(&Cause::Reported(status), now);
        }
    }

    pub fn advance(&mut self, cause: &Cause, now: Moment) {
        let status = next(self.status, cause);
        if status.is_over() && !self.status.is_over() {
            self.ended = Some(now);
        }
        self.status = status;
    }

    pub fn diffs(&self) -> impl Iterator<Item = &FileDiff> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(diff),
            _ => None,
        })
    }

    pub fn terminals(&self) -> impl Iterator<Item = &TerminalId> {
        self.content.iter().filter_map(|content| match content {
            ToolContent::Terminal(terminal) => Some(terminal),
            _ => None,
        })
    }

    /// Where the call is at work: its locations, else the files of its diffs.
    pub fn places(&self) -> Vec<Location> {
        if self.locations.is_empty() {
            self.diffs().map(|diff| Location { path: diff.path.clone(), line: None }).collect()
        } else {
            self.locations.clone()
        }
    }

    /// The title on one line; when the agent gave none, its name or kind.
    pub fn headline(&self) -> String {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            return title;
        }
        self.name.clone().unwrap_or_else(|| kind_word(self.kind).to_owned())
    }
}

/// The verb for a kind, for screens without icons.
pub fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Edit => "edit",
        ToolKind::Delete => "delete",
        ToolKind::Move => "move",
        ToolKind::Search => "search",
        ToolKind::Execute => "run",
        ToolKind::Think => "think",
        ToolKind::Fetch => "fetch",
        ToolKind::SwitchMode => "switch mode",
        ToolKind::Other => "tool",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Status::*;

    const ALL: [Status; 7] = [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled];

    fn after(cause: Cause) -> [Status; 7] {
        ALL.map(|status| next(status, &cause))
    }

    fn word(word: &str) -> Cause {
        Cause::Reported(WireStatus::Other(word.into()))
    }

    #[test]
    fn every_cause_has_its_effect_on_every_status() {
        //                      Pending    Waiting    Running    Done  Failed  Rejected  Cancelled
        let table = [
            (
                Cause::Reported(WireStatus::Pending),
                [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled],
            ),
            (
                Cause::Reported(WireStatus::InProgress),
                [Running, Waiting, Running, Done, Failed, Rejected, Cancelled],
            ),
            (Cause::Reported(WireStatus::Completed), [Done; 7]),
            (
                Cause::Reported(WireStatus::Failed),
                [Failed, Failed, Failed, Failed, Failed, Rejected, Cancelled],
            ),
            (Cause::Asked, [Waiting, Waiting, Waiting, Done, Failed, Rejected, Cancelled]),
            (Cause::Allowed, [Running, Running, Running, Done, Failed, Rejected, Cancelled]),
            (Cause::Rejected, [Rejected, Rejected, Rejected, Done, Failed, Rejected, Cancelled]),
            (Cause::Withdrawn, [Pending, Pending, Running, Done, Failed, Rejected, Cancelled]),
            (Cause::TurnCancelled, [Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled]),
            (Cause::AgentGone, [Cancelled, Cancelled, Cancelled, Done, Failed, Rejected, Cancelled]),
            (word("denied"), [Rejected, Rejected, Rejected, Rejected, Rejected, Rejected, Cancelled]),
            (word("surprise"), [Pending, Waiting, Running, Done, Failed, Rejected, Cancelled]),
        ];
        for (cause, expected) in table {
            assert_eq!(after(cause.clone()), expected, "{cause:?}");
        }
    }

    #[test]
    fn absent_fields_stay_and_lists_are_replaced() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        let location = |path: &str| Location { path: path.into(), line: None };
        call.patch(
            ToolCallPatch {
                title: Some("Read a".into()),
                locations: Some(vec![location("a"), location("b")]),
                ..ToolCallPatch::new("1")
            },
            Moment(1),
        );
        call.patch(
            ToolCallPatch { locations: Some(vec![location("c")]), ..ToolCallPatch::new("1") },
            Moment(2),
        );
        assert_eq!(call.title, "Read a");
        assert_eq!(call.locations, [location("c")]);
    }

    #[test]
    fn a_title_of_many_lines_is_one_line() {
        let mut call = ToolCall::new(ToolCallId("1".into()), Moment(0));
        call.patch(
            ToolCallPatch { title: Some("run\n  ls\r\n".into()), ..ToolCallPatch::new("1") },
            Moment(0),
        );
        assert_eq!(call.headline(), "run ls");
    }
}
