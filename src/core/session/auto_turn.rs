//! What came of a turn in which the user had left the session alone, for when they come back: what was done and what
//! rules allowed of it, what was refused and why, what was done without asking, and what waits for them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::entry::{Body, Entry, Verdict};
use super::tool_call::{Status, ToolCall};
use super::{OpenAsk, Session};
use crate::core::ids::Moment;
use crate::core::message::{Severity, ToolKind};
use crate::core::rules::Decision;
use crate::core::text::{cut, one_line};

/// Of each kind so many are named.
const MOST_NAMED: usize = 8;
/// In bytes, what was asked for and why it was not done: they are to be told apart, not studied.
const MAX_WHAT: usize = 80;
const MAX_WHY: usize = 160;

/// What came of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoTurn {
    pub done: usize,
    pub failed: usize,
    pub commands: usize,
    pub files: BTreeSet<PathBuf>,
    /// Requests that rules allowed.
    pub allowed: usize,
    /// What, and why; in the order in which it came.
    pub refused: Vec<String>,
    pub without_asking: Vec<String>,
    pub waiting: Vec<String>,
}

impl Session {
    /// A rule rejects a command that the agent wanted to run in a terminal; no call tells of it.
    pub fn command_refused(&mut self, command: &str, rule: &str) {
        self.turn.refused_commands.push(line(&format!("run {command}"), Some(rule)));
    }

    /// The turn is over: what came of it is said where the user had left it alone.
    pub(super) fn tell_auto(&mut self, now: Moment) {
        if self.auto.turn_ended() {
            let turn = self.auto_turn();
            self.notice(Severity::Info, turn.text(), now);
            self.auto.last = Some(turn);
        }
    }

    /// What came of the turn that has just ended, once, if the user had left it alone.
    pub fn take_auto_turn(&mut self) -> Option<AutoTurn> {
        self.auto.last.take()
    }

    fn auto_turn(&self) -> AutoTurn {
        let mut turn = AutoTurn::default();
        for entry in self.entries.iter().skip(self.turn.first) {
            turn.add(entry);
        }
        turn.refused.extend(self.turn.refused_commands.iter().cloned());
        turn.waiting = self.asks.iter().filter_map(|open| self.waiting_words(open)).collect();
        if self.conflicts > 0 {
            turn.waiting.push("lines that you and the agent have both changed".to_owned());
        }
        turn
    }

    fn waiting_words(&self, open: &OpenAsk) -> Option<String> {
        match &self.entry(open.entry)?.body {
            Body::Tool(call) => Some(line(&call.headline(), None)),
            Body::Elicitation(asked) => Some(line(&asked.message, None)),
            _ => None,
        }
    }
}

impl AutoTurn {
    fn add(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Tool(call) => self.add_call(call),
            Body::Written(written) => {
                for file in &written.files {
                    self.files.insert(file.path.clone());
                    if let Some(unasked) = &file.unasked {
                        self.without_asking.push(line(&format!("write {}", file.name), Some(&unasked.rule)));
                    }
                }
            }
            Body::Elicitation(asked) if asked.verdict == Verdict::ByAuto => {
                let because = asked.asked_because();
                let what = match asked.command() {
                    Some(command) => format!("run {command} in {}", asked.message),
                    None => asked.message.clone(),
                };
                self.refused.push(line(&what, because.as_deref()));
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &ToolCall) {
        let status = call.shown_status();
        let ruling = call.ruling.as_deref();
        match status {
            Status::Done | Status::Unreported => self.done += 1,
            Status::Failed => self.failed += 1,
            _ => {}
        }
        if matches!(status, Status::Done | Status::Failed | Status::Unreported) {
            self.commands += usize::from(call.kind == ToolKind::Execute);
            self.files.extend(call.changed.iter().cloned());
            self.files.extend(call.diffs().map(|diff| call.root.join(&diff.path)));
        }
        if status == Status::Rejected {
            let ruling = ruling.filter(|ruling| ruling.decision == Some(Decision::Reject));
            let why = match ruling {
                Some(ruling) => ruling.why.as_str(),
                None if call.was_rejected => "by you",
                None => "as the agent says",
            };
            self.refused.push(line(&call.headline(), Some(why)));
        } else if ruling.is_some_and(|ruling| ruling.decision == Some(Decision::Allow)) {
            self.allowed += 1;
        }
        if let Some(unasked) = &call.unasked {
            self.without_asking.push(line(&call.headline(), Some(&unasked.rule)));
        }
    }

    /// As the chat shows it.
    fn text(&self) -> String {
        let mut lines = vec![format!("While left alone: {}", self.done_words())];
        for (head, named) in [
            ("Refused", &self.refused),
            ("Done without asking", &self.without_asking),
            ("Waits for you", &self.waiting),
        ] {
            if named.is_empty() {
                continue;
            }
            lines.push(format!("{head} ({}):", named.len()));
            lines.extend(named.iter().take(MOST_NAMED).map(|what| format!("  {what}")));
            match named.len().saturating_sub(MOST_NAMED) {
                0 => {}
                more => lines.push(format!("  and {more} more")),
            }
        }
        lines.join("\n")
    }

    fn done_words(&self) -> String {
        let mut parts = vec![match (self.done, self.failed) {
            (0, 0) => "no call was done".to_owned(),
            (0, failed) => format!("{} failed", counted(failed, "call")),
            (done, 0) => format!("{} done", counted(done, "call")),
            (done, failed) => format!("{} done, {failed} failed", counted(done, "call")),
        }];
        if self.commands > 0 {
            parts.push(counted(self.commands, "command"));
        }
        if self.allowed > 0 {
            parts.push(format!("{} allowed by rules", self.allowed));
        }
        if !self.files.is_empty() {
            parts.push(format!("{} changed (:Acp review)", counted(self.files.len(), "file")));
        }
        parts.join(" \u{b7} ")
    }

    /// The same in a few words, for a message; empty where nothing needs the user.
    pub fn words(&self) -> String {
        let parts = [(self.refused.len(), "refused"), (self.without_asking.len(), "done without asking")];
        let mut parts: Vec<String> = parts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match self.waiting.len() {
            0 => {}
            1 => parts.push("1 waits for you".to_owned()),
            count => parts.push(format!("{count} wait for you")),
        }
        parts.join(", ")
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// What, and why, on one line that is read at a glance.
fn line(what: &str, why: Option<&str>) -> String {
    let shortened = |text: &str, most: usize| {
        let text = one_line(text);
        let start = cut(&text, most);
        if start.len() < text.len() { format!("{start}\u{2026}") } else { text }
    };
    let what = shortened(what, MAX_WHAT);
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{what}: {}", shortened(why, MAX_WHY)),
        None => what,
    }
}
