//! The lines about files that an agent wrote, deleted or renamed without a call that says so: one for each, or one for
//! all where they are many.

use super::drawing::{Drawing, Mark, Style, Target};
use super::wording::status_mark;
use crate::core::session::tool_call::Status;
use crate::core::session::written_files::{FileChangeKind, Road, Written, WrittenFile};
use crate::core::text::fitting::cut_middle;
use crate::core::text::{cells, one_line};

/// More files than this have one line together, until they are opened.
const MAX_SINGLE_LINES: usize = 3;
/// No more are listed.
const MAX_LISTED_FILES: usize = 1000;

pub fn draw(drawing: &mut Drawing, written: &Written, open: bool, style: &Style) {
    let road = written.road;
    if written.files.len() <= MAX_SINGLE_LINES {
        for file in &written.files {
            target(drawing, file);
            line(drawing, (&named(file), road), counted([file]), style);
            unasked(drawing, file);
        }
        return;
    }
    let text = format!("{} {} files", verb(&written.files), written.files.len());
    line(drawing, (&text, road), counted(&written.files), style);
    if open {
        for file in written.files.iter().take(MAX_LISTED_FILES) {
            target(drawing, file);
            let counts = counted([file]);
            let room = style.width.saturating_sub(counts.as_ref().map_or(0, |counts| counts.len() + 2) + 6);
            drawing.right.extend(counts.map(|counts| (drawing.lines.len(), counts)));
            drawing.line(format!("    {}", cut_middle(&listed(file), room.max(12))), Some("AcpMeta"));
            unasked(drawing, file);
        }
        drawing.left_out(written.files.len().saturating_sub(MAX_LISTED_FILES), "    ", &style.hints);
        return;
    }
    // What matters is said without being opened.
    for file in written.files.iter().filter(|file| file.unasked.is_some()).take(MAX_SINGLE_LINES) {
        target(drawing, file);
        drawing.line(format!("    {}", listed(file)), Some("AcpMeta"));
        unasked(drawing, file);
    }
}

/// What was done to all of them.
fn verb(files: &[WrittenFile]) -> &'static str {
    let is = |kind: fn(&FileChangeKind) -> bool| files.iter().all(|file| kind(&file.kind));
    match () {
        () if is(|kind| matches!(kind, FileChangeKind::Changed | FileChangeKind::Created)) => "wrote",
        () if is(|kind| *kind == FileChangeKind::Deleted) => "deleted",
        () if is(|kind| matches!(kind, FileChangeKind::Renamed(_))) => "renamed",
        () => "changed",
    }
}

/// A file in the list of many.
fn listed(file: &WrittenFile) -> String {
    match file.kind {
        FileChangeKind::Changed | FileChangeKind::Created => one_line(&file.name),
        FileChangeKind::Deleted | FileChangeKind::Renamed(_) => named(file),
    }
}

/// `wrote notes.txt`, `created notes.txt`, `wrote notes.txt 3 times`, `deleted notes.txt`, `renamed a.txt to b.txt`.
pub(super) fn named(file: &WrittenFile) -> String {
    let name = one_line(&file.name);
    let verb = match &file.kind {
        FileChangeKind::Changed => "wrote",
        FileChangeKind::Created => "created",
        FileChangeKind::Deleted => return format!("deleted {name}"),
        FileChangeKind::Renamed(from) => return format!("renamed {} to {name}", one_line(from)),
    };
    let times = if file.times > 1 { format!(" {} times", file.times) } else { String::new() };
    format!("{verb} {name}{times}")
}

/// Nothing where it is not known of one of them.
pub(super) fn counted<'f>(files: impl IntoIterator<Item = &'f WrittenFile>) -> Option<String> {
    let sum = |(a, r): (usize, usize), file: &WrittenFile| file.counted.map(|(x, y)| (a + x, r + y));
    let (added, removed) = files.into_iter().try_fold((0, 0), sum)?;
    Some(format!("+{added} -{removed}"))
}

/// What was done comes before the road by which it was, where there is no room for both.
fn fitting(what: &str, road: Road, room: usize) -> String {
    let said = [road.words(), road.short_words()].map(|road| format!("{what} {road}"));
    let fits = said.into_iter().find(|text| cells(text) <= room);
    fits.unwrap_or_else(|| cut_middle(what, room))
}

fn line(drawing: &mut Drawing, (what, road): (&str, Road), counts: Option<String>, style: &Style) {
    let (mark, group) = status_mark(Status::Done, style.icons);
    let row = drawing.lines.len();
    let room = counts.as_ref().map_or(0, |counts| counts.len() + 2) + mark.chars().count() + 3;
    let text = fitting(what, road, style.width.saturating_sub(room).max(12));
    let start = mark.len() + 1;
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group });
    drawing.marks.push(Mark { row, start, end: start + text.len(), group: "AcpTool" });
    drawing.right.extend(counts.map(|counts| (row, counts)));
    drawing.line(format!("{mark} {text}"), None).framed("AcpMeta");
}

fn unasked(drawing: &mut Drawing, file: &WrittenFile) {
    if let Some(unasked) = &file.unasked {
        drawing.line(format!("    {}", unasked.words()), Some(unasked.group()));
    }
}

fn target(drawing: &mut Drawing, file: &WrittenFile) {
    let row = drawing.lines.len();
    drawing.targets.push(Target { row, path: file.path.clone(), line: None, text: None });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_left_whole_before_the_road_is() {
        let said = |room| fitting("wrote src/notes.txt", Road::Editor, room);
        assert_eq!(said(40), "wrote src/notes.txt through the editor");
        assert_eq!(said(30), "wrote src/notes.txt (editor)");
        assert_eq!(said(20), "wrote src/notes.txt");
        assert_eq!(said(12), "wrote…es.txt");
        assert_eq!(fitting("deleted a", Road::Disk, 20), "deleted a (disk)");
    }
}
