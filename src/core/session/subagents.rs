//! What works for a session: subagents, which have sessions of their own at the agent, and calls that started one
//! in the older form. Both become a tree of entries in the session's own transcript. What the tree looks like is
//! left to `transcript::subagents`, which requests name a subagent to the background.

use std::mem;

use super::content::as_markdown;
use super::{Known, Session, Subagents, Turn};
use crate::core::ids::{AskId, EntryId, Moment, SubagentId, ToolCallId};
use crate::core::message::{
    Branch, Command, Cost, Role, SessionMessage, StopReason, SubagentPatch, SubagentState, Update,
};
use crate::core::session::entry::{Body, Entry};
use crate::core::session::subagent::{Relayed, Subagent};
use crate::core::session::tool_call::Cause;

impl Session {
    // The tree.

    /// The newest entry that stands under no other.
    pub fn newest(&self) -> Option<EntryId> {
        self.subagents.last
    }

    /// What stands under an entry, in order.
    pub fn inner(&self, entry: EntryId) -> &[EntryId] {
        self.subagents.inner.get(&entry).map_or(&[], Vec::as_slice)
    }

    /// The entry that an entry stands under in the end, which stands under none.
    pub fn outermost(&self, entry: EntryId) -> EntryId {
        self.above(entry).last().unwrap_or(entry)
    }

    /// What an entry stands under, the nearest first.
    fn above(&self, entry: EntryId) -> impl Iterator<Item = EntryId> {
        let parent = |entry: EntryId| self.entry(entry).and_then(|entry| entry.parent);
        std::iter::successors(parent(entry), move |entry| parent(*entry))
    }

    /// The subagent that an entry is about or stands under.
    pub fn subagent_of(&self, entry: EntryId) -> Option<&Subagent> {
        let mut chain = std::iter::once(entry).chain(self.above(entry));
        chain.find_map(|entry| self.entry(entry).and_then(Entry::subagent))
    }

    pub fn subagents(&self) -> impl Iterator<Item = (EntryId, &Subagent)> {
        self.subagents
            .known
            .values()
            .filter_map(|known| Some((known.entry, self.entry(known.entry)?.subagent()?)))
    }

    /// Who asks or acts in an entry.
    pub fn actor(&self, entry: EntryId) -> String {
        self.subagent_of(entry).map_or_else(|| self.name(), |subagent| subagent.name().to_owned())
    }

    /// The newest entry where new ones are added now.
    pub(super) fn last(&self) -> Option<EntryId> {
        match self.subagents.under {
            Some(under) => self.inner(under).last().copied(),
            None => self.subagents.last,
        }
    }

    /// A new entry takes its place; gives what it stands under.
    pub(super) fn joins(&mut self, entry: EntryId) -> Option<EntryId> {
        let subagents = &mut self.subagents;
        match subagents.under {
            Some(under) => subagents.inner.entry(under).or_default().push(entry),
            None => subagents.last = Some(entry),
        }
        subagents.under
    }

    /// Whether an entry stands where new ones are added now.
    pub(super) fn stands_here(&self, entry: EntryId) -> bool {
        self.entry(entry).is_some_and(|entry| entry.parent == self.subagents.under)
    }

    pub(super) fn is_within(&self) -> bool {
        self.subagents.under.is_some()
    }

    /// Whose session speaks now; none for the session's own agent.
    pub(super) fn actor_now(&self) -> Option<SubagentId> {
        self.subagents.within.clone()
    }

    pub(super) fn is_within_subagent(&self) -> bool {
        self.subagents.within.is_some()
    }

    /// Who speaks now.
    pub(super) fn speaker(&self) -> String {
        self.subagents.under.map_or_else(|| self.name(), |under| self.actor(under))
    }

    /// The turn of the session and those of its subagents.
    pub(super) fn turns(&self) -> impl Iterator<Item = &Turn> {
        std::iter::once(&self.turn).chain(self.subagents.known.values().map(|known| &known.turn))
    }

    pub(super) fn turns_mut(&mut self) -> impl Iterator<Item = &mut Turn> {
        std::iter::once(&mut self.turn).chain(self.subagents.known.values_mut().map(|known| &mut known.turn))
    }

    /// The turn that an entry is part of.
    pub(super) fn turn_with(&mut self, entry: EntryId) -> &mut Turn {
        let mut above = self.above(entry).collect::<Vec<_>>().into_iter();
        let owner = above.find_map(|entry| Some(self.entry(entry)?.subagent()?.id.clone()));
        let Subagents { known, within, .. } = &mut self.subagents;
        if owner == *within {
            return &mut self.turn;
        }
        // The session's own turn stands where that of the one under way does.
        match owner.or_else(|| within.clone()).and_then(|owner| known.get_mut(&owner)) {
            Some(known) => &mut known.turn,
            None => &mut self.turn,
        }
    }

    /// Does something as a part of what a subagent, or such a call, does. One that was never told of is counted as
    /// the session's own.
    pub fn within<R>(&mut self, branch: Option<&Branch>, work: impl FnOnce(&mut Self) -> R) -> R {
        match branch {
            None => work(self),
            Some(Branch::Subagent(id)) => self.within_subagent(id, work),
            Some(Branch::Call(call)) => self.within_call(call, work),
        }
    }

    fn within_call<R>(&mut self, call: &ToolCallId, work: impl FnOnce(&mut Self) -> R) -> R {
        // In a session of its own the subagent's calls stand under it already.
        let entry = self.turn.calls.get(call).copied().filter(|_| !self.is_within_subagent());
        let Some(entry) = entry else { return work(self) };
        let before = self.subagents.under.replace(entry);
        let plan = self.plan;
        let done = work(self);
        self.plan = plan;
        self.subagents.under = before;
        self.touched.insert(entry);
        done
    }

    fn within_subagent<R>(&mut self, id: &SubagentId, work: impl FnOnce(&mut Self) -> R) -> R {
        let Some(known) = self.subagents.known.get_mut(id) else { return work(self) };
        let entry = known.entry;
        mem::swap(&mut self.turn, &mut known.turn);
        let before = (self.subagents.under.replace(entry), self.subagents.within.replace(id.clone()));
        let (plan, speaker_shown) = (self.plan, self.speaker_shown);
        let done = work(self);
        (self.plan, self.speaker_shown) = (plan, speaker_shown);
        (self.subagents.under, self.subagents.within) = before;
        if let Some(known) = self.subagents.known.get_mut(id) {
            mem::swap(&mut self.turn, &mut known.turn);
        }
        // What works for the agent is work of the agent's.
        self.turn.answered = true;
        self.touched.insert(entry);
        done
    }

    // What is told.

    pub(super) fn apply_within(&mut self, branch: &Branch, update: Update, now: Moment) {
        self.within(Some(branch), |session| match update {
            // Whoever speaks to a subagent is no user of this editor.
            Update::Message { role: Role::User, message, content } if session.is_within_subagent() => {
                let id = message.unwrap_or_else(|| "user".to_owned());
                let content = Some(vec![content]);
                let (sender, recipient, counterpart, is_piece) = (None, None, None, true);
                session
                    .relayed(SessionMessage { id, sender, recipient, counterpart, content, is_piece }, now);
            }
            Update::Usage { used, cost, .. } => session.used(used, cost),
            // These are the subagent's own; nothing of it can be chosen here.
            Update::Commands(_)
            | Update::Mode(_)
            | Update::Options(_)
            | Update::Info { .. }
            | Update::Dated(_)
            | Update::Replayed(_) => {}
            update => session.apply(update, now),
        });
    }

    fn used(&mut self, used: u64, cost: Option<Cost>) {
        let entry = self.subagents.under.and_then(|under| self.entries.get_mut(under.0));
        if let Some(Body::Subagent(subagent)) = entry.map(|entry| &mut entry.body) {
            subagent.used = Some(used);
            subagent.cost = cost.or(subagent.cost.take());
        }
    }

    /// The first word of a subagent gives it its place; it keeps that whoever tells of it later.
    pub(super) fn subagent_told(&mut self, patch: SubagentPatch, now: Moment) {
        let entry = match self.subagents.known.get(&patch.id) {
            Some(known) => known.entry,
            None => {
                self.turn.answered = true;
                let entry = self.say(Body::Subagent(Box::new(Subagent::new(patch.id.clone()))), now);
                self.subagents.known.insert(patch.id.clone(), Known { entry, turn: Turn::default() });
                entry
            }
        };
        let id = patch.id.clone();
        let idle = match &patch.state {
            Some(Some(SubagentState::Idle { reason, .. })) => Some(reason.clone()),
            _ => None,
        };
        if let Some(Body::Subagent(subagent)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) {
            subagent.patch(patch, now);
        }
        if let Some(reason) = idle {
            let cause =
                if reason == Some(StopReason::Cancelled) { Cause::TurnCancelled } else { Cause::TurnEnded };
            self.within_subagent(&id, |session| {
                session.end_thought(now);
                session.close_calls(&cause, now);
            });
        }
        self.touched.insert(entry);
        self.status_touched = true;
    }

    /// One session's message to another. Both tell of it, and in the chat it stands once, with the subagent.
    pub(super) fn relayed(&mut self, message: SessionMessage, now: Moment) {
        let SessionMessage { id, sender, recipient, counterpart, content, is_piece } = message;
        let here = self.subagents.within.clone();
        let works_here = |id: &Option<String>| {
            let known = self.subagents.known.get(&SubagentId(id.clone()?))?;
            let above = self.entry(known.entry)?.parent.and_then(|above| self.subagent_of(above));
            (above.map(|above| &above.id) == here.as_ref())
                .then(|| SubagentId(id.clone().unwrap_or_default()))
        };
        let other = works_here(&sender).or_else(|| works_here(&recipient));
        // Both sessions tell of it; it stands with the one that works for the other.
        let (reader, read_as) = match other {
            Some(other) => (Some(other), counterpart.unwrap_or_else(|| id.clone())),
            None => (here.clone(), id.clone()),
        };
        let key = (reader.clone(), read_as);
        let entry = self.subagents.relayed.get(&key).or_else(|| {
            // Its first pieces may have come before it was known between whom it goes.
            self.subagents.relayed.get(&(here.clone(), id.clone()))
        });
        let entry = match entry.copied() {
            Some(entry) => entry,
            None => {
                let body = Body::Relayed(Box::new(Relayed { from: None, to: None, text: String::new() }));
                let branch = reader.filter(|reader| Some(reader) != here.as_ref()).map(Branch::Subagent);
                let entry = self.within(branch.as_ref(), |session| session.say(body, now));
                self.subagents.relayed.insert((here.clone(), id), entry);
                self.subagents.relayed.insert(key, entry);
                entry
            }
        };
        let names = [sender, recipient].map(|id| id.map(|id| self.name_of_session(id)));
        let text = content.map(|content| content.iter().map(as_markdown).collect::<String>());
        let Some(Body::Relayed(relayed)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body) else {
            return;
        };
        let [from, to] = names;
        relayed.from = from.or(relayed.from.take());
        relayed.to = to.or(relayed.to.take());
        match text {
            Some(text) if is_piece => relayed.text.push_str(&text),
            Some(text) => relayed.text = text,
            None => {}
        }
        self.touched.insert(entry);
    }

    /// What a session of the agent's is called: one that is no subagent is the one of this chat.
    fn name_of_session(&self, id: String) -> String {
        let entry = self.subagents.known.get(&SubagentId(id)).map(|known| known.entry);
        entry.map_or_else(|| self.name(), |entry| self.actor(entry))
    }

    // What the user does.

    /// Stops one subagent and nothing else, where the agent offers that now.
    pub fn cancel_subagent(&mut self, entry: EntryId) -> Vec<Command> {
        let Some(Body::Subagent(subagent)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body)
        else {
            return Vec::new();
        };
        if !subagent.can_be_cancelled() {
            return Vec::new();
        }
        subagent.cancelling = true;
        let subagent = subagent.id.clone();
        self.touched.insert(entry);
        self.status_touched = true;
        vec![Command::CancelSubagent { session: self.key, subagent }]
    }

    /// Who asks this question, where that is a subagent.
    pub fn asking_subagent(&self, ask: AskId) -> Option<&Subagent> {
        self.subagent_of(self.open_ask(ask)?.entry)
    }

    pub(super) fn tick_subagents(&mut self, now: Moment) {
        for known in self.subagents.known.values() {
            let Some(Body::Subagent(subagent)) =
                self.entries.get_mut(known.entry.0).map(|entry| &mut entry.body)
            else {
                continue;
            };
            let before = subagent.took;
            if subagent.is_working() {
                subagent.look_at_clock(now);
            }
            if subagent.took / 1000 != before / 1000 {
                self.touched.insert(known.entry);
            }
        }
    }

    /// The agent is gone: what became of those that were at work nobody can tell.
    pub(super) fn lose_subagents(&mut self, now: Moment) {
        let working = self.subagents().filter(|(_, subagent)| subagent.is_working());
        let working: Vec<SubagentId> = working.map(|(_, subagent)| subagent.id.clone()).collect();
        let ids: Vec<SubagentId> = self.subagents.known.keys().cloned().collect();
        for id in ids {
            self.within_subagent(&id, |session| {
                session.end_thought(now);
                session.close_calls(&Cause::AgentGone, now);
            });
        }
        for id in working {
            let state = Some(Some(SubagentState::Unknown));
            let patch = SubagentPatch { state, can_cancel: Some(false), ..SubagentPatch::new(&id.0) };
            self.subagent_told(patch, now);
        }
    }
}

#[cfg(test)]
mod tests;
