//! Decides whether a file on disk is complete or still being written: one small state machine for each
//! file. Its inputs are system events, the file's content, whether a tool call is editing the file, and
//! the time. Reading the disk, and using a complete text, are left to others.

use crate::core::message::call::FileDiff;

/// Time by any clock that only goes forward.
pub type Millis = u64;

/// Even a file that was closed is looked at only after a pause: what happened to it since is told a little later.
const PAUSE: Millis = 40;

/// So long a file stays as it is before it counts as whole, if nobody told that it was closed.
const STILL: Millis = 600;

/// The same if it is known to be open for writing. Some programs never close what they write into.
const OPEN: Millis = 1500;

/// Many programs save by moving the old file out of the way; so long a file may be missing.
const AWAY: Millis = 600;

/// So long an empty or cut file stays as it is after the end of its call.
const CUT: Millis = 1000;

/// A file that never comes to rest is taken as it is so often.
const RESTLESS: Millis = 10_000;

/// The same for one that is written again and again, and closed each time.
const BUSY: Millis = 1000;

/// What there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What stands for the content; `None` for no file.
    pub content: Option<u64>,
    pub shape: Shape,
    /// What stands for the file's size and times: another one after each write.
    pub stamp: u64,
    /// How long ago the file was changed, by its own times. Those of another machine's disk may be wrong.
    pub age: Millis,
}

/// What a content looks like beside the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Plain,
    /// Nothing, or the beginning of the text before or of the one that was announced.
    Cut,
    /// All that the calls under way have announced.
    Announced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The system says that the file is being written, or came or went.
    Touched,
    /// The system says that a writer has closed the file, or that a whole one got its name.
    Closed,
    /// Something may have happened to it.
    Uncertain,
    Looked(Seen),
    /// The editor has this content: it was written through this client.
    Known(Option<u64>),
    /// A tool call edits the file from now on; or none does any more.
    CallBegan,
    CallEnded,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Writer {
    /// The system said nothing of one.
    #[default]
    Unheard,
    Open,
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    content: Option<u64>,
    shape: Shape,
    stamp: u64,
    /// Since when it is known to be so.
    since: Millis,
}

/// One file's state.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    /// The last whole content: what the editor has, or has been told of.
    known: Option<Option<u64>>,
    /// What was there at first.
    first: Option<Option<u64>>,
    /// Another one, which may not be whole.
    candidate: Option<Candidate>,
    writer: Writer,
    /// When the system last said something.
    heard: Millis,
    restless_since: Option<Millis>,
    in_call: bool,
    call_ended: Millis,
    /// Somebody asked for the content and was told to wait.
    owed: bool,
    due: Option<Millis>,
}

impl Tracker {
    /// Takes in what happened. Says whether the editor is to be told that there is another whole content.
    pub fn step(&mut self, now: Millis, input: Input) -> bool {
        match input {
            Input::Touched => {
                (self.writer, self.heard) = (Writer::Open, self.heard.max(now));
                let restless = *self.restless_since.get_or_insert(now) + RESTLESS;
                self.due = Some(if self.in_call { now + OPEN } else { (now + OPEN).min(restless) });
            }
            Input::Closed => {
                (self.writer, self.heard) = (Writer::Closed, self.heard.max(now));
                let busy = *self.restless_since.get_or_insert(now) + BUSY;
                self.due = Some(if self.in_call { now + PAUSE } else { (now + PAUSE).min(busy.max(now)) });
            }
            Input::Uncertain => {
                self.heard = self.heard.max(now);
                self.look_at(now + PAUSE);
            }
            Input::Known(content) => {
                self.known = Some(content);
                (self.candidate, self.due, self.owed) = (None, None, false);
                (self.writer, self.restless_since) = (Writer::Unheard, None);
            }
            Input::CallBegan => self.in_call = true,
            Input::CallEnded => {
                (self.in_call, self.call_ended) = (false, now);
                self.look_at(now + PAUSE);
            }
            Input::Looked(seen) => {
                self.due = None;
                return self.looked(now, seen);
            }
        }
        false
    }

    /// Whether nothing but the whole content was seen last.
    pub fn is_at_rest(&self) -> bool {
        self.candidate.is_none() && self.due.is_none()
    }

    /// Whether it may hold half of a text: its writer is at it, or what is there looks cut.
    pub fn is_half_written(&self) -> bool {
        let is_cut = |seen: &Candidate| seen.content.is_none() || seen.shape == Shape::Cut;
        self.candidate.as_ref().is_some_and(|seen| is_cut(seen) || self.writer == Writer::Open)
    }

    /// It cannot be looked at now; something will be heard when it can.
    pub fn defer(&mut self) {
        self.due = None;
    }

    /// When to look at the file.
    pub fn due(&self) -> Option<Millis> {
        self.due
    }

    /// Whether this is the last whole content. If not, [`Self::step`] says once there is one.
    pub fn is_whole(&mut self, content: Option<u64>) -> bool {
        let is_whole = self.known == Some(content);
        self.owed |= !is_whole;
        is_whole
    }

    /// The content that the editor has, or has been told of. `None` where nothing is known.
    pub fn known(&self) -> Option<Option<u64>> {
        self.known
    }

    pub fn is_in_call(&self) -> bool {
        self.in_call
    }

    fn look_at(&mut self, at: Millis) {
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn looked(&mut self, now: Millis, seen: Seen) -> bool {
        let first = *self.first.get_or_insert(seen.content);
        if self.known == Some(seen.content) {
            (self.candidate, self.owed) = (None, false);
            if self.writer != Writer::Open {
                (self.writer, self.restless_since) = (Writer::Unheard, None);
            }
            return false;
        }
        let Seen { content, shape, stamp, age } = seen;
        let since = match self.candidate {
            Some(known) if (known.content, known.stamp) == (content, stamp) => known.since,
            // What is missing has no times.
            _ if content.is_none() => now,
            _ => now.saturating_sub(age),
        };
        let candidate = Candidate { content, shape, stamp, since: since.max(self.heard) };
        self.candidate = Some(candidate);
        let limit = if self.writer == Writer::Closed { BUSY } else { RESTLESS };
        let restless = *self.restless_since.get_or_insert(candidate.since) + limit;
        let Some(mut whole) = self.whole_at(candidate) else { return false };
        if !self.in_call && candidate.content.is_some() && candidate.shape != Shape::Cut {
            whole = whole.min(restless);
        }
        if now < whole {
            self.due = Some(whole);
            return false;
        }
        // What a session begins with is no news, unless somebody waits for it.
        let is_news = self.known.is_some() || self.owed || first != candidate.content;
        self.known = Some(candidate.content);
        (self.candidate, self.owed, self.restless_since) = (None, false, None);
        if self.writer == Writer::Closed {
            self.writer = Writer::Unheard;
        }
        is_news
    }

    /// When a content counts as whole, if it stays as it is; `None` while its call is under way.
    fn whole_at(&self, candidate: Candidate) -> Option<Millis> {
        let Candidate { content, shape, since, stamp: _ } = candidate;
        let after_call = since.max(self.call_ended);
        match (content, shape) {
            (None, _) | (_, Shape::Cut) if self.in_call => None,
            (None, _) => Some(after_call + AWAY),
            (_, Shape::Cut) => Some(after_call + CUT),
            (_, Shape::Announced) => Some(since),
            (_, Shape::Plain) => Some(
                since
                    + match self.writer {
                        Writer::Closed if !self.in_call => PAUSE,
                        Writer::Closed | Writer::Unheard => STILL,
                        Writer::Open => OPEN,
                    },
            ),
        }
    }
}

/// What a text looks like beside the last whole one, and with what the calls under way have announced.
pub fn shape(now: &[u8], before: Option<&[u8]>, announced: &[FileDiff]) -> Shape {
    let after = announced_text(before, announced);
    // Some agents leave the last line break out of what they announce.
    let is_all = |after: &[u8]| now == after || now.strip_suffix(b"\n") == Some(after);
    match &after {
        Some(after) if is_all(after.as_bytes()) => Shape::Announced,
        _ if now.is_empty() => Shape::Cut,
        _ if before.is_some_and(|before| is_beginning(now, before)) => Shape::Cut,
        Some(after) if is_beginning(now, after.as_bytes()) => Shape::Cut,
        _ => Shape::Plain,
    }
}

fn is_beginning(part: &[u8], whole: &[u8]) -> bool {
    part.len() < whole.len() && whole.starts_with(part)
}

/// What the file holds once all diffs are made, if that can be told.
fn announced_text(before: Option<&[u8]>, diffs: &[FileDiff]) -> Option<String> {
    let mut text = before.and_then(|before| std::str::from_utf8(before).ok()).map(str::to_owned);
    for diff in diffs {
        text = match (diff.old_text.as_deref().filter(|old| !old.is_empty()), text) {
            (None, _) => Some(diff.new_text.to_string()),
            (Some(old), Some(text)) if text.contains(old) => Some(text.replacen(old, &diff.new_text, 1)),
            // It is in there already, or speaks of another state.
            (Some(_), text) => return text.filter(|text| text.contains(&*diff.new_text)),
        };
    }
    text.filter(|_| !diffs.is_empty())
}

#[cfg(test)]
mod tests;
