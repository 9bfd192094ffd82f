//! The terminals of a session and its calls: to which call a terminal belongs, and what its end means for that
//! call. What the terminals put out is left to others.

use super::Session;
use crate::core::ids::{EntryId, TerminalId};
use crate::core::message::Exit;
use crate::core::session::entry::{Body, Entry};
use crate::core::session::tool_call::{Status, ToolCall};
use crate::core::text::one_line;

impl Session {
    /// A command was started for the agent. Many agents never say for which call: it is shown with one that runs.
    pub fn command_started(&mut self, terminal: &TerminalId, command: &str) {
        self.turn.answered = true;
        let Some(entry) = self.call_to_adopt(terminal, &one_line(command)) else { return };
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.commands.add(terminal);
            self.turn_with(entry).adopted.insert(terminal.clone(), entry);
            self.touched.insert(entry);
        }
    }

    /// The open call that fits a terminal best, unless one has it.
    fn call_to_adopt(&self, terminal: &TerminalId, command: &str) -> Option<EntryId> {
        if self.call_with(terminal).is_some() {
            return None;
        }
        let running = self.open_calls().filter(|(_, call)| call.status != Status::Waiting);
        let best = running.max_by_key(|(entry, call)| {
            let is_same =
                call.command().is_some_and(|line| line.contains(command) || command.contains(&line));
            (is_same, call.runs_commands(), call.commands.is_empty(), *entry)
        });
        best.map(|(entry, _)| entry)
    }

    /// The call shows terminals of its own accord: they are no other one's, and may have ended before.
    pub(super) fn claim_terminals(&mut self, entry: EntryId) {
        let Some(call) = self.entry(entry).and_then(Entry::tool) else { return };
        let shown: Vec<TerminalId> = call.commands.terminals().cloned().collect();
        for terminal in shown {
            if self.turn.adopted.get(&terminal).is_some_and(|other| *other != entry)
                && let Some(other) = self.turn.adopted.remove(&terminal)
                && let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(other.0)
            {
                call.commands.remove(&terminal);
                self.touched.insert(other);
            }
            if let Some(exit) = self.turn.exits.get(&terminal)
                && let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0)
            {
                call.command_ended(&terminal, exit.clone());
            }
        }
    }

    pub fn command_ended(&mut self, terminal: &TerminalId, exit: &Exit) {
        self.turns_mut().for_each(|turn| drop(turn.exits.insert(terminal.clone(), exit.clone())));
        let Some(entry) = self.call_with(terminal) else { return };
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.command_ended(terminal, exit.clone());
            self.touched.insert(entry);
        }
    }

    /// A terminal of this session grew: the call that it belongs to is drawn again.
    pub fn touch_terminal(&mut self, terminal: &TerminalId) {
        if let Some(entry) = self.call_with(terminal) {
            self.touched.insert(entry);
        }
    }

    /// The title of the tool call that a terminal belongs to.
    pub fn title_of(&self, terminal: &TerminalId) -> Option<String> {
        self.entry(self.call_with(terminal)?)?.tool().map(ToolCall::subject)
    }

    fn call_with(&self, terminal: &TerminalId) -> Option<EntryId> {
        let has = |entry: &Entry| entry.tool().is_some_and(|call| call.commands.has(terminal));
        self.entries.iter().rposition(has).map(EntryId)
    }
}
