//! The single line for a run of calls: how many of which kind, the name if there is only one, and the
//! total time. It is updated call by call, since an agent makes thousands of calls in one run. Which
//! calls form a run is left to `groups`.

use std::path::PathBuf;

use super::drawing::{Drawing, Mark, Style};
use super::wording::{seconds, status_mark};
use crate::core::maps::FastSet;
use crate::core::message::ToolKind;
use crate::core::session::entry::Entry;
use crate::core::session::tool_call::{Status, ToolCall, relative};
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::one_line;
use crate::core::text::visible::visible_line;

/// A name in the line is cut to this many characters.
const NAME: usize = 32;

pub fn draw(drawing: &mut Drawing, tally: &Tally, style: &Style) {
    let (mark, group) = status_mark(Status::Done, style.icons);
    let facts = (tally.took >= 1000).then(|| seconds(tally.took));
    let room = facts.as_ref().map_or(0, |facts| facts.chars().count() + 2) + mark.chars().count() + 3;
    let text = cut_end(&visible_line(&tally.words()), style.width.saturating_sub(room).max(12));
    let row = drawing.lines.len();
    let start = mark.len() + 1;
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    drawing.marks.push(Mark { row, start, end: start + text.len(), group: "AcpTool" });
    drawing.right.extend(facts.map(|facts| (row, facts)));
    drawing.lines.push(format!("{mark} {text}"));
    drawing.framed("AcpMeta");
}

/// What a run's calls did, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// In the order of their first ones.
    kinds: Vec<KindSummary>,
    /// When any of them ran, in milliseconds: ascending and apart from each other.
    spans: Vec<(u64, u64)>,
    /// For how long any of them ran; those that ran at the same time count once.
    took: u64,
}

/// What calls of one kind did, with how many things: files are counted once each.
#[derive(Clone, Debug)]
struct KindSummary {
    kind: ToolKind,
    calls: usize,
    paths: FastSet<PathBuf>,
    /// What the first one is called, for when it is the only one.
    name: String,
    /// The session's folder: what is in it is named without it.
    root: PathBuf,
}

impl Tally {
    pub fn of<'e>(run: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut tally = Self::default();
        tally.extend(run);
        tally
    }

    /// Counts the run's next entries.
    pub fn extend<'e>(&mut self, entries: impl IntoIterator<Item = &'e Entry>) {
        entries.into_iter().filter_map(Entry::tool).for_each(|call| self.add(call));
    }

    fn add(&mut self, call: &ToolCall) {
        let at = self.kinds.iter().position(|of_kind| of_kind.kind == call.kind).unwrap_or_else(|| {
            let (name, root) = (name(call), call.root.clone());
            self.kinds.push(KindSummary { kind: call.kind, calls: 0, paths: FastSet::default(), name, root });
            self.kinds.len() - 1
        });
        self.kinds[at].calls += 1;
        if call.kind == ToolKind::Read {
            self.kinds[at].paths.extend(call.places().into_iter().map(|place| place.path));
        }
        if let Some((start, end)) = call.span() {
            self.ran(start, end);
        }
    }

    fn ran(&mut self, start: u64, end: u64) {
        let from = self.spans.partition_point(|(_, end)| *end < start);
        let to = from + self.spans[from..].partition_point(|(start, _)| *start <= end);
        let met = &self.spans[from..to];
        let start = met.first().map_or(start, |(first, _)| start.min(*first));
        let end = met.last().map_or(end, |(_, last)| end.max(*last));
        let before: u64 = met.iter().map(|(start, end)| end - start).sum();
        self.took += end - start - before;
        self.spans.splice(from..to, [(start, end)]);
    }

    /// `read 4 files, searched 3 times, ran cargo test`, in the order of their first ones.
    fn words(&self) -> String {
        self.kinds.iter().map(said).collect::<Vec<_>>().join(", ")
    }
}

fn said(of_kind: &KindSummary) -> String {
    let times = match of_kind.calls {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        calls => format!("{calls} times"),
    };
    let name = (of_kind.calls == 1 && !of_kind.name.is_empty()).then_some(of_kind.name.as_str());
    match of_kind.kind {
        ToolKind::Read => match of_kind.paths.len() {
            0 => match name {
                Some(name) => format!("read {name}"),
                None => format!("read {times}"),
            },
            1 => {
                let path = of_kind.paths.iter().next().map(|path| relative(path, &of_kind.root));
                let path = path.map(|path| path.display().to_string()).unwrap_or_default();
                format!("read {}", cut_middle(&one_line(&path), NAME))
            }
            files => format!("read {files} files"),
        },
        ToolKind::Execute => match (of_kind.calls, name) {
            (1, Some(command)) => format!("ran {command}"),
            (1, None) => "ran a command".to_owned(),
            (calls, _) => format!("ran {calls} commands"),
        },
        ToolKind::Search => match name {
            Some(sought) => format!("searched {sought:?}"),
            None => format!("searched {times}"),
        },
        ToolKind::Fetch => format!("fetched {times}"),
        ToolKind::Think => format!("thought {times}"),
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::SwitchMode | ToolKind::Other => {
            match of_kind.calls {
                1 => of_kind.name.clone(),
                calls => format!("used {calls} tools"),
            }
        }
    }
}

/// What a call is about, where it is the only one of its kind; nothing where its kind says all.
fn name(call: &ToolCall) -> String {
    match call.kind {
        ToolKind::Read => {
            // The title is all there is: a bare path, or a sentence that begins with the verb.
            let title = call.headline();
            let title = match title.split_once(' ') {
                Some((verb, rest)) if verb.eq_ignore_ascii_case("read") => rest,
                _ => &title,
            };
            cut_middle(title, NAME)
        }
        ToolKind::Execute => call.command().map(|command| cut_end(&command, NAME)).unwrap_or_default(),
        ToolKind::Search => call.raw_input.as_ref().and_then(sought).unwrap_or_default(),
        ToolKind::Fetch | ToolKind::Think => String::new(),
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::SwitchMode | ToolKind::Other => {
            cut_end(&call.headline(), NAME)
        }
    }
}

/// What a search was for, where the agent tells it in the way that most do.
fn sought(input: &serde_json::Value) -> Option<String> {
    let text = input.get("pattern").or(input.get("query"))?.as_str()?;
    Some(cut_end(&one_line(text), NAME)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_ran_at_the_same_time_counts_once(
            spans in prop::collection::vec((0..60_u64, 0..20_u64), 0..12),
        ) {
            let mut tally = Tally::default();
            let mut ran = [false; 100];
            for (start, length) in spans {
                tally.ran(start, start + length);
                (start..start + length).for_each(|at| ran[at as usize] = true);
                prop_assert_eq!(tally.took, ran.iter().filter(|ran| **ran).count() as u64);
                prop_assert!(tally.spans.windows(2).all(|two| two[0].1 < two[1].0));
            }
        }
    }
}
