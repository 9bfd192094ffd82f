//! The one line of a run of calls: how many of what, the name where there is only one, and how long
//! all of it took. Which calls are a run is left to `groups`.

use std::collections::HashSet;
use std::path::PathBuf;

use super::{Drawing, Mark, Style, cut_end, cut_middle, seconds, status_mark};
use crate::core::entry::Entry;
use crate::core::message::ToolKind;
use crate::core::text::one_line;
use crate::core::tool_call::{Status, ToolCall};

/// A name in the line is cut to this many characters.
const NAME: usize = 32;

pub fn draw(drawing: &mut Drawing, run: &[Entry], style: &Style) {
    let (mark, group) = status_mark(Status::Done, style.icons);
    let took = took(run);
    let facts = (took >= 1000).then(|| seconds(took));
    let room = facts.as_ref().map_or(0, |facts| facts.chars().count() + 2) + mark.chars().count() + 3;
    let text = cut_end(&words(run), style.width.saturating_sub(room).max(12));
    let row = drawing.lines.len();
    let start = mark.len() + 1;
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    drawing.marks.push(Mark { row, start, end: start + text.len(), group: "AcpTool" });
    drawing.right.extend(facts.map(|facts| (row, facts)));
    drawing.lines.push(format!("{mark} {text}"));
}

/// What calls of one kind did, with how many things: files are counted once each.
struct Deed<'a> {
    kind: ToolKind,
    calls: usize,
    paths: HashSet<PathBuf>,
    first: &'a ToolCall,
}

/// `read 4 files, searched 3 times, ran cargo test`, in the order of their first ones.
pub fn words(run: &[Entry]) -> String {
    let mut deeds: Vec<Deed> = Vec::new();
    for call in run.iter().filter_map(Entry::tool) {
        let at = deeds.iter().position(|deed| deed.kind == call.kind).unwrap_or_else(|| {
            deeds.push(Deed { kind: call.kind, calls: 0, paths: HashSet::new(), first: call });
            deeds.len() - 1
        });
        deeds[at].calls += 1;
        if call.kind == ToolKind::Read {
            deeds[at].paths.extend(call.places().into_iter().map(|place| place.path));
        }
    }
    deeds.iter().map(said).collect::<Vec<_>>().join(", ")
}

fn said(deed: &Deed) -> String {
    let times = match deed.calls {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        calls => format!("{calls} times"),
    };
    let call = deed.first;
    match deed.kind {
        ToolKind::Read => match deed.paths.len() {
            0 if deed.calls == 1 => {
                // The title is all there is: a bare path, or a sentence that begins with the verb.
                let title = call.headline();
                let title = match title.split_once(' ') {
                    Some((verb, rest)) if verb.eq_ignore_ascii_case("read") => rest,
                    _ => &title,
                };
                format!("read {}", cut_middle(title, NAME))
            }
            0 => format!("read {times}"),
            1 => {
                let path = deed.paths.iter().next().map(|path| call.relative(path).display().to_string());
                format!("read {}", cut_middle(&one_line(&path.unwrap_or_default()), NAME))
            }
            files => format!("read {files} files"),
        },
        ToolKind::Execute => match (deed.calls, call.command()) {
            (1, Some(command)) => format!("ran {}", cut_end(&command, NAME)),
            (1, None) => "ran a command".to_owned(),
            (calls, _) => format!("ran {calls} commands"),
        },
        ToolKind::Search => match call.raw_input.as_ref().and_then(sought) {
            Some(sought) if deed.calls == 1 => format!("searched {sought:?}"),
            _ => format!("searched {times}"),
        },
        ToolKind::Fetch => format!("fetched {times}"),
        ToolKind::Think => format!("thought {times}"),
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::SwitchMode | ToolKind::Other => {
            match deed.calls {
                1 => cut_end(&call.headline(), NAME),
                calls => format!("used {calls} tools"),
            }
        }
    }
}

/// What a search was for, where the agent tells it in the way that most do.
fn sought(input: &serde_json::Value) -> Option<String> {
    let text = input.get("pattern").or(input.get("query"))?.as_str()?;
    Some(cut_end(&one_line(text), NAME)).filter(|text| !text.is_empty())
}

/// For how long any of them ran; those that ran at the same time count once.
pub fn took(run: &[Entry]) -> u64 {
    let mut spans: Vec<(u64, u64)> =
        run.iter().filter_map(Entry::tool).filter_map(|call| Some((call.started.0, call.ended?.0))).collect();
    spans.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (start, end) in spans {
        sum += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    sum
}
