//! A plan that is a text, in a file, or dropped: in the chat, in the plan's window, in details and exports.

use std::path::PathBuf;

use super::drawing::{Drawing, Style, Target};
use super::{draw_plan, progress};
use crate::core::message::PlanContent;
use crate::core::session::entry::Document;
use crate::core::text::visible::visible_line;
use crate::core::text::{cut, one_line, uri};

/// A word or an address of more bytes is no help.
const MOST_WORDS: usize = 300;

pub(super) fn draw(drawing: &mut Drawing, document: &Document, open: bool, style: &Style) {
    if document.removed {
        let fold = match (document.content.is_empty(), style.icons, open) {
            (true, ..) => "",
            (false, true, false) => "▸ ",
            (false, true, true) => "▾ ",
            (false, false, false) => "+ ",
            (false, false, true) => "- ",
        };
        drawing.line(format!("{fold}The agent dropped its plan"), Some("AcpMeta")).framed("AcpMeta");
        if !open || fold.is_empty() {
            return;
        }
    }
    match &document.content {
        PlanContent::Items(items) => draw_plan(drawing, items, style),
        PlanContent::Markdown(text) => {
            if !document.removed {
                drawing.line("Plan", Some("AcpPlan")).framed("AcpPlan");
            }
            let first = drawing.lines.len();
            let more = drawing.beginning(text.trim_matches(['\n', '\r']), "", None);
            drawing.markdown = Some(first..drawing.lines.len());
            drawing.left_out(more, "", &style.hints);
        }
        PlanContent::File(address) => {
            let path = uri::to_path(address);
            let name = one_line(cut(path.as_deref().unwrap_or(address), MOST_WORDS));
            if let Some(path) = path {
                let row = drawing.lines.len();
                drawing.targets.push(Target { row, path: PathBuf::from(path), line: None, text: None });
            }
            drawing.line(format!("Plan in {name}"), Some("AcpPlan")).framed("AcpPlan");
        }
        PlanContent::Unknown { .. } => {
            drawing.line(in_words(document), Some("AcpMeta")).framed("AcpMeta");
        }
    }
}

/// The row of the first step that is not ticked off, else of the first line that is no heading.
pub(super) fn row_at_hand(drawing: &Drawing) -> usize {
    let rows = drawing.markdown.clone().unwrap_or_default();
    let text = |row: &usize| drawing.lines.get(*row).map_or("", |line| line.trim());
    let is_open = |row: &usize| text(row).split_once(' ').is_some_and(|(_, rest)| rest.starts_with("[ ]"));
    let says = |row: &usize| !text(row).is_empty() && !text(row).starts_with('#');
    rows.clone().find(is_open).or_else(|| rows.clone().find(says)).unwrap_or_default()
}

/// In one line.
pub(super) fn in_words(document: &Document) -> String {
    let what = match &document.content {
        PlanContent::Items(items) => format!("Plan {}", progress(items)),
        PlanContent::Markdown(_) => "Plan".to_owned(),
        PlanContent::File(address) => format!("Plan in {}", one_line(cut(address, MOST_WORDS))),
        PlanContent::Unknown { kind } => {
            let kind = visible_line(cut(kind, MOST_WORDS));
            format!("Plan in a form that this version does not know ({kind}): `:Acp log`")
        }
    };
    match document.removed {
        true => format!("{what}, which the agent dropped"),
        false => what,
    }
}

/// The text of a plan that is one.
pub(super) fn text(document: &Document) -> Option<&str> {
    match &document.content {
        PlanContent::Markdown(text) => Some(text.trim()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::message::{PlanItem, PlanStatus, Priority};

    fn drawn(content: PlanContent, removed: bool, open: bool) -> Drawing {
        let style = Style { icons: true, width: 80, clock: None, hints: Default::default() };
        let mut drawing = Drawing::default();
        draw(&mut drawing, &Document { content, removed }, open, &style);
        drawing
    }

    #[test]
    fn a_plan_in_markdown_stands_below_its_name() {
        let drawing = drawn(PlanContent::Markdown("\n# Plan\n\n1. Read\n".into()), false, false);
        assert_eq!(drawing.lines, ["Plan", "# Plan", "", "1. Read"]);
        assert_eq!(drawing.markdown, Some(1..4));
        // Only the plugin's own line has the bar.
        assert_eq!(drawing.frames, [(0, "AcpPlan")]);
    }

    #[test]
    fn of_a_plan_in_markdown_the_first_open_step_is_at_hand_else_what_stands_below_its_headings() {
        let row = |text: &str| row_at_hand(&drawn(PlanContent::Markdown(text.into()), false, false));
        assert_eq!(row("# Plan\n\n- [x] Read\n- [ ] Write\n- [ ] Rest"), 4);
        assert_eq!(row("# Plan\n\n1. [ ] Read"), 3);
        assert_eq!(row("# Plan\n\n## First\n\nWords.\n- [x] Read"), 5);
        assert_eq!(row("# Plan"), 0);
    }

    #[test]
    fn a_plan_in_a_file_leads_there() {
        let drawing = drawn(PlanContent::File("file:///p/a%20plan.md".into()), false, false);
        assert_eq!(drawing.lines, ["Plan in /p/a plan.md"]);
        assert_eq!(drawing.targets[0].path, PathBuf::from("/p/a plan.md"));
        let elsewhere = drawn(PlanContent::File("https://example.org/p".into()), false, false);
        assert_eq!(elsewhere.lines, ["Plan in https://example.org/p"]);
        assert!(elsewhere.targets.is_empty());
    }

    #[test]
    fn a_plan_that_was_dropped_opens_to_what_it_was() {
        let item = PlanItem { content: "a".into(), priority: Priority::Low, status: PlanStatus::Pending };
        let items = || PlanContent::Items(vec![item.clone()]);
        assert_eq!(drawn(items(), true, false).lines, ["▸ The agent dropped its plan"]);
        assert_eq!(drawn(items(), true, true).lines, ["▾ The agent dropped its plan", "Plan 0/1", "  ○ a"]);
        assert_eq!(drawn(PlanContent::Markdown("".into()), true, true).lines, ["The agent dropped its plan"]);
    }

    #[test]
    fn a_plan_of_an_unknown_form_is_named() {
        let drawing = drawn(PlanContent::Unknown { kind: "cha\u{1b}rt".into() }, false, false);
        assert_eq!(drawing.lines.len(), 1);
        assert!(!drawing.lines[0].contains('\u{1b}'), "{:?}", drawing.lines);
    }

    #[test]
    fn of_a_long_plan_only_the_beginning_stands_in_the_chat() {
        let drawing = drawn(PlanContent::Markdown("line\n".repeat(100_000).into()), false, false);
        assert!(drawing.lines.len() < 600, "{}", drawing.lines.len());
    }
}
