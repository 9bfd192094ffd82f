//! An agent's updates to a session, accepted in any order: text, calls, plans, modes and usage become
//! entries and state. What its texts look like is left to `content`.

use super::content::{as_markdown, without_lead};
use super::titles::{plain_title, title_told};
use super::{Session, compactions, references};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{
    Chosen, ConfigOption, Content, Modes, OptionKind, Picture, Role, SESSION_URI, Severity, ToolCallPatch,
    ToolContent, Update,
};
use crate::core::session::entry::{Body, Entry};
use crate::core::session::tool_call::ToolCall;
use crate::core::text::Text;

/// In a longer prompt the agent's words are not looked for.
const MOST_SEARCHED: usize = 64 << 10;

/// A notice that was said before is looked for among so many entries.
const MOST_SEARCHED_ENTRIES: usize = 200;

impl Session {
    pub fn chosen(&mut self, chosen: Chosen) {
        match chosen {
            Chosen::Mode(mode) => self.set_mode(mode),
            Chosen::Model(model) => {
                if let Some(models) = &mut self.models {
                    models.current = model;
                }
            }
            Chosen::Options(options) => self.options = options,
        }
        self.status_touched = true;
    }

    /// Absorbs one update, whenever it comes.
    pub fn apply(&mut self, update: Update, now: Moment) {
        if self.text_stays && self.is_taken_up() && update.is_told_again() {
            return;
        }
        self.note_work(&update);
        match update {
            Update::Message { role, message, content } => self.message(role, message, content, now),
            Update::Dated(at) => self.dated = Some(at),
            Update::Replayed(told) => self.replayed(*told, now),
            Update::ToolCall(patch) => self.call_told(*patch, now),
            Update::Plan(items) => self.steps_told(items, now),
            Update::PlanTold { id, plan } => self.plan_told(id, plan, now),
            Update::PlanRemoved { id } => self.plan_removed(id),
            Update::Commands(commands) => self.commands = commands,
            Update::Mode(mode) => {
                self.set_mode(mode);
                self.status_touched = true;
            }
            Update::Options(options) => {
                self.options = options;
                self.status_touched = true;
            }
            Update::Info { title, updated_at: _ } => {
                if let Some(title) = title.filter(|_| !self.named) {
                    self.title = title.map(|title| title_told(self.title.as_deref(), plain_title(&title)));
                    self.status_touched = true;
                }
            }
            Update::Usage { used, size, cost } => {
                self.usage = Some((used, size));
                if let Some(cost) = &cost {
                    self.meter.cost(cost);
                }
                self.cost = cost.or(self.cost.take());
                self.status_touched = true;
            }
            Update::Limit(limit) => self.limit_told(limit),
            Update::Suggestions(texts) => {
                self.suggestions = texts;
                self.status_touched = true;
            }
            Update::Notice { severity, title, description } => {
                let text = match description {
                    Some(description) => format!("{title}\n{description}"),
                    None => title,
                };
                self.agent_notice(severity, text, now);
            }
            Update::Compaction { id, status, summary, error } => {
                let patch = compactions::Patch { status, summary, error };
                self.compaction_told(id, patch, now);
            }
            Update::CompactionSummary { id, text } => self.summary_grew(id, &text, now),
            Update::Subagent(patch) => self.subagent_told(*patch, now),
            Update::SessionMessage(message) => self.relayed(*message, now),
            Update::Within { branch, update } => self.apply_within(&branch, *update, now),
            Update::Unknown { kind } => self.count_unknown(kind),
        }
    }

    fn call_told(&mut self, patch: ToolCallPatch, now: Moment) {
        let says_more = patch.raw_input.is_some() || patch.content.is_some() || patch.raw_output.is_some();
        let entry = self.upsert(patch, now);
        if self.is_replaying()
            && let Some(Body::Tool(call)) = self.entries.get_mut(entry.0).map(|entry| &mut entry.body)
        {
            call.was_told_again();
        }
        let plan = self.entry(entry).and_then(Entry::tool).filter(|_| says_more).and_then(ToolCall::plan);
        if let Some(items) = plan {
            self.apply(Update::Plan(items), now);
        }
    }

    fn count_unknown(&mut self, kind: String) {
        // What begins so is an agent's own, and is to be ignored by who does not know it.
        if !kind.starts_with('_') {
            *self.untold.entry(kind.clone()).or_default() += 1;
        }
        *self.unknown.entry(kind).or_default() += 1;
    }

    /// What the agent says over and over is shown once.
    fn agent_notice(&mut self, severity: Severity, text: String, now: Moment) {
        let last = self.last().and_then(|last| self.entry(last)).map(|entry| &entry.body);
        let is_again = |last: &Body| matches!(last, Body::Notice { severity: level, text: said, .. } if (*level, said) == (severity, &text));
        if !last.is_some_and(is_again) {
            self.add(Body::Notice { severity, text, times: 1 }, now);
        }
    }

    /// Something the user should know that no entry of the agent's says.
    pub fn notice(&mut self, severity: Severity, text: String, now: Moment) -> EntryId {
        if let Some(said) = self.said_before(severity, &text)
            && let Body::Notice { times, .. } = &mut self.entries[said].body
        {
            *times += 1;
            self.touched.insert(EntryId(said));
            return EntryId(said);
        }
        self.add(Body::Notice { severity, text, times: 1 }, now)
    }

    /// A notice says something else by now.
    pub fn notice_again(&mut self, entry: EntryId, severity: Severity, text: String) {
        if let Some(Entry { body: body @ Body::Notice { .. }, .. }) = self.entries.get_mut(entry.0) {
            *body = Body::Notice { severity, text, times: 1 };
            self.touched.insert(entry);
        }
    }

    /// The notice that says the same: among the last entries, or in the same turn where it is only for information.
    fn said_before(&self, severity: Severity, text: &str) -> Option<usize> {
        let is_notice = |at: &usize| matches!(self.entries[*at].body, Body::Notice { .. });
        let first = if severity == Severity::Info { self.turn.first } else { self.entries.len() };
        let last = (0..self.entries.len()).rev().take(MOST_SEARCHED_ENTRIES);
        let mut searched = last.scan(true, |only_notices, at| {
            *only_notices &= is_notice(&at);
            (*only_notices || at >= first).then_some(at)
        });
        searched.find(|at| match &self.entries[*at].body {
            Body::Notice { severity: known, text: said, .. } => *known == severity && said == text,
            _ => false,
        })
    }

    /// Says at the end of a turn how much of what came could not be shown.
    pub(super) fn tell_unknown(&mut self, now: Moment) {
        let untold = std::mem::take(&mut self.untold);
        let count: u32 = untold.values().sum();
        let text = match (count, untold.len()) {
            (0, _) => return,
            (1, _) => "1 message of a kind this version does not know: `:Acp log`".to_owned(),
            (_, 1) => format!("{count} messages of a kind this version does not know: `:Acp log`"),
            _ => format!("{count} messages of kinds this version does not know: `:Acp log`"),
        };
        self.notice(Severity::Info, text, now);
    }

    fn set_mode(&mut self, mode: String) {
        if let Some(index) = ConfigOption::selection(&self.options, "mode")
            && let OptionKind::Select { current, .. } = &mut self.options[index].kind
        {
            current.clone_from(&mode);
        }
        match &mut self.modes {
            Some(modes) => modes.current = mode,
            None => self.modes = Some(Modes { current: mode, available: Vec::new() }),
        }
    }

    fn message(&mut self, role: Role, message: Option<String>, content: Content, now: Moment) {
        let dated = self.dated.take();
        let content = match content {
            Content::Picture(picture) if role != Role::User => {
                return self.picture(role, message, *picture, now);
            }
            content => content,
        };
        if role == Role::User && !matches!(content, Content::Text(_)) {
            return self.attached(message, &content, dated, now);
        }
        let text = match content {
            Content::Text(text) => text,
            content => as_markdown(&content).into(),
        };
        // Some agents begin or end a message with a piece that holds nothing.
        if text.is_empty() || role == Role::Agent && self.took_mode_from(&text) {
            return;
        }
        if role == Role::User && self.is_working() && self.echoes(text.trim()) {
            return;
        }
        let known = match &message {
            Some(id) => {
                let known = self.turn.messages.get(&(role, id.clone())).copied();
                known.filter(|known| self.stands_here(*known))
            }
            None => {
                let last = self.last().filter(|last| self.continues(*last, role));
                if role == Role::User && self.is_replaying() && self.begins_prompt(last, &text) {
                    None
                } else {
                    last
                }
            }
        };
        // Nor are blank lines a message; but an indent may be that of code.
        if known.is_none() && text.trim().is_empty() && !text.ends_with("    ") {
            return;
        }
        if role != Role::Thought {
            self.end_thought(now);
        }
        if role == Role::Agent {
            self.turn.answered = true;
        }
        let entry = known.unwrap_or_else(|| match role {
            Role::User => self.told_prompt(dated, now),
            Role::Agent => self.say(Body::Message { text: String::new() }, now),
            Role::Thought => self.say(Body::Thought { text: String::new(), ended: None }, now),
        });
        if let Some(id) = message {
            self.turn.messages.insert((role, id), entry);
        }
        // What some agents put before a text that follows a call would indent its first line only.
        let more = |is_first: bool| if is_first { without_lead(&text) } else { &text };
        let is_told_again = self.is_replaying();
        match &mut self.entries[entry.0].body {
            Body::User { text: body, .. } => {
                // Each is a part of the prompt as it was sent, such as a file that went with it.
                let blank = |end: Option<char>| end.is_none_or(char::is_whitespace);
                if is_told_again && !blank(body.chars().next_back()) && !blank(text.chars().next()) {
                    body.push_str("\n");
                }
                body.push_str(more(body.is_empty()));
            }
            Body::Message { text: body } | Body::Thought { text: body, .. } => {
                body.push_str(more(body.is_empty()));
            }
            _ => {}
        }
        self.touched.insert(entry);
    }

    /// A prompt that the agent tells of begins.
    fn told_prompt(&mut self, dated: Option<u64>, now: Moment) -> EntryId {
        self.speaker_shown = false;
        let entry = self.add(Body::User { text: Text::default(), attachments: Vec::new() }, now);
        self.entries[entry.0].clock = dated.or(self.entries[entry.0].clock);
        entry
    }

    /// What went along with a prompt that the agent tells of stands below it, as when it was sent.
    fn attached(&mut self, message: Option<String>, content: &Content, dated: Option<u64>, now: Moment) {
        if self.is_working() && self.turn.content.contains(content) {
            return;
        }
        let known = match &message {
            Some(id) => {
                let known = self.turn.messages.get(&(Role::User, id.clone())).copied();
                known.filter(|known| self.stands_here(*known))
            }
            None => self.last().filter(|last| self.continues(*last, Role::User)),
        };
        self.end_thought(now);
        let entry = known.unwrap_or_else(|| self.told_prompt(dated, now));
        if let Some(id) = message {
            self.turn.messages.insert((Role::User, id), entry);
        }
        let label = references::label(content, &self.place.cwd).unwrap_or_else(|| as_markdown(content));
        if let Body::User { attachments, .. } = &mut self.entries[entry.0].body {
            attachments.push(label);
        }
        self.touched.insert(entry);
    }

    /// Some agents send the user's own words back; they are on the screen already.
    fn echoes(&mut self, text: &str) -> bool {
        let prompt = &self.turn.prompt;
        // They come in order, and a long prompt in thousands of pieces.
        let rest = prompt.get(self.turn.echoed..).unwrap_or_default().trim_start();
        if rest.starts_with(text) {
            self.turn.echoed = prompt.len() - rest.len() + text.len();
            return true;
        }
        prompt.len() <= MOST_SEARCHED && prompt.contains(text)
    }

    /// An image stands for itself; what is said after it is a text of its own.
    fn picture(&mut self, role: Role, message: Option<String>, picture: Picture, now: Moment) {
        self.end_thought(now);
        self.turn.answered |= role == Role::Agent;
        if let Some(id) = message {
            self.turn.messages.remove(&(role, id));
        }
        self.say(Body::Picture(picture), now);
    }

    /// Gemini tells of a new mode by a message in the place of the update that there is for it.
    fn took_mode_from(&mut self, text: &str) -> bool {
        let Some(mode) = text.strip_prefix("[MODE_UPDATE] ") else { return false };
        let offers = |modes: &Modes| modes.available.iter().any(|offered| offered.id == mode);
        if !self.modes.as_ref().is_some_and(offers) {
            return false;
        }
        self.set_mode(mode.to_owned());
        self.status_touched = true;
        true
    }

    /// Whether a piece of what the user said is of another prompt than what it would go on with.
    fn begins_prompt(&mut self, before: Option<EntryId>, text: &str) -> bool {
        let before = before.and_then(|before| match &self.entries[before.0].body {
            Body::User { text, .. } => Some(text),
            _ => None,
        });
        match before {
            // What went along with it came first.
            Some(before) if before.is_empty() => {
                self.retold.begins(text, None);
                false
            }
            before => self.retold.begins(text, before.map(|before| &**before)),
        }
    }

    fn continues(&self, entry: EntryId, role: Role) -> bool {
        matches!(
            (&self.entries[entry.0].body, role),
            (Body::User { .. }, Role::User)
                | (Body::Message { .. }, Role::Agent)
                | (Body::Thought { ended: None, .. }, Role::Thought)
        ) && !self.turn.messages.values().any(|named| *named == entry)
    }

    /// A link to a subagent that is known has its name; of any other nothing can be shown.
    fn named_subagents(&self, content: &mut [ToolContent]) {
        for item in content {
            let ToolContent::Content(block @ Content::Link { .. }) = item else { continue };
            let Content::Link { uri, .. } = &*block else { continue };
            let Some(id) = uri.strip_prefix(SESSION_URI) else { continue };
            let known = self.subagents().find(|(_, known)| known.id.0 == id);
            *block = match known {
                Some((_, subagent)) => Content::Text(format!("subagent: {}", subagent.name()).into()),
                None => Content::Unknown { kind: "session".to_owned() },
            };
        }
    }

    pub(super) fn upsert(&mut self, mut patch: ToolCallPatch, now: Moment) -> EntryId {
        if let Some(content) = &mut patch.content {
            self.named_subagents(content);
        }
        self.end_thought(now);
        self.turn.answered = true;
        let entry = match self.turn.calls.get(&patch.id) {
            Some(entry) => *entry,
            None => {
                let id = patch.id.clone();
                let mut call = ToolCall::new(id.clone(), now);
                call.root.clone_from(&self.place.cwd);
                call.note_user_time(self.waits_for_user(), now);
                let alone = self.command_to_become(patch.content.as_deref().unwrap_or_default());
                let entry = match alone {
                    Some(entry) => {
                        self.become_call(entry, call);
                        entry
                    }
                    None => self.say(Body::Tool(Box::new(call)), now),
                };
                self.turn.calls.insert(id, entry);
                entry
            }
        };
        if let Body::Tool(call) = &mut self.entries[entry.0].body {
            call.patch(patch, now);
        }
        self.claim_terminals(entry);
        self.note_open(entry);
        self.note_done(entry);
        self.touched.insert(entry);
        entry
    }
}
