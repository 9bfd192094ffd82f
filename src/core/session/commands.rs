//! The terminals of a session and its calls: to which call a terminal belongs, and what its end means for that
//! call. What the terminals put out is left to others.

use super::Session;
use crate::core::ids::{EntryId, Moment, TerminalId};
use crate::core::message::{Exit, ToolContent, WireStatus};
use crate::core::session::entry::{Body, Entry};
use crate::core::session::tool_call::{Cause, Status, ToolCall};
use crate::core::session::written_files::{Road, Written};
use crate::core::text::one_line;

impl Session {
    /// A command was started for the agent. Many agents never say for which call: it is shown with one that runs. Where
    /// none does it is shown like a call.
    pub fn command_started(&mut self, terminal: &TerminalId, command: &str, now: Moment) {
        self.turn.answered = true;
        if self.call_with(terminal).is_some() {
            return;
        }
        let Some(entry) = self.call_to_adopt(&one_line(command)) else {
            let mut call = ToolCall::of_command(terminal, command, now);
            call.root.clone_from(&self.place.cwd);
            let entry = self.say(Body::Tool(Box::new(call)), now);
            self.turn_with(entry).adopted.insert(terminal.clone(), entry);
            return self.note_open(entry);
        };
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.commands.add(terminal);
            self.turn_with(entry).adopted.insert(terminal.clone(), entry);
            self.touched.insert(entry);
        }
    }

    /// The open call that fits a command best.
    fn call_to_adopt(&self, command: &str) -> Option<EntryId> {
        let may_run = |call: &ToolCall| call.status != Status::Waiting && !call.is_command_alone;
        let running = self.open_calls().filter(|(_, call)| may_run(call));
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
                self.leave_to(other, entry);
            }
            if let Some(exit) = self.turn.exits.get(&terminal)
                && let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0)
            {
                call.command_ended(&terminal, exit.clone());
            }
        }
    }

    /// The command without a call whose terminal a new call shows: the call takes its place.
    pub(super) fn command_to_become(&self, content: &[ToolContent]) -> Option<EntryId> {
        let alone = content.iter().find_map(|content| match content {
            ToolContent::Terminal(terminal) => self.call_with(terminal),
            _ => None,
        });
        let is_alone = |entry: &EntryId| {
            self.entry(*entry).and_then(Entry::tool).is_some_and(|call| call.is_command_alone)
        };
        alone.filter(|entry| is_alone(entry) && self.stands_here(*entry))
    }

    /// What stood for a command is this call from now on.
    pub(super) fn become_call(&mut self, entry: EntryId, mut call: ToolCall) {
        if let Some(Entry { body: Body::Tool(was), .. }) = self.entries.get_mut(entry.0) {
            call.started = was.started;
            call.commands = std::mem::take(&mut was.commands);
            call.changed = std::mem::take(&mut was.changed);
            **was = call;
        }
    }

    /// What stood for a command is that of a call that stands elsewhere, which has changed the same files.
    fn leave_to(&mut self, entry: EntryId, call: EntryId) {
        let Some(Entry { body, .. }) = self.entries.get_mut(entry.0) else { return };
        let changed = match body {
            Body::Tool(was) if was.is_command_alone => std::mem::take(&mut was.changed),
            _ => return,
        };
        *body = Body::Written(Box::new(Written { road: Road::Disk, files: Vec::new() }));
        self.note_open(entry);
        changed.iter().for_each(|path| self.call_changed(call, path));
    }

    pub fn command_ended(&mut self, terminal: &TerminalId, exit: &Exit, now: Moment) {
        self.turns_mut().for_each(|turn| drop(turn.exits.insert(terminal.clone(), exit.clone())));
        let Some(entry) = self.call_with(terminal) else { return };
        if let Some(Entry { body: Body::Tool(call), .. }) = self.entries.get_mut(entry.0) {
            call.command_ended(terminal, exit.clone());
            if call.is_command_alone {
                return self.advance(entry, &Cause::Reported(WireStatus::Completed), now);
            }
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
