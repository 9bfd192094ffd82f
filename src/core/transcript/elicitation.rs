//! What a form or a page that the agent asks about looks like: prominent and complete while it waits, a
//! line or two afterwards. The values of a form are never shown.

use std::path::PathBuf;

use super::bounds::{MOST_BYTES, MOST_ROWS, beginning};
use super::drawing::{Drawing, Mark, Style};
use super::wording::status_mark;
use super::{choices, one_line, rules};
use crate::core::message::{Access, AskReason};
use crate::core::session::entry::{Elicitation, Subject, Verdict};
use crate::core::session::form::{Control, Field};
use crate::core::session::tool_call::Status;
use crate::core::text::cells;
use crate::core::text::fitting::{cut_end, cut_middle};
use crate::core::text::url_check::Address;

/// Of a command, in cells: the folder is what is asked about.
const MOST_COMMAND: usize = 40;

/// Whether the line that says who asks has not all of a command.
fn is_cut(command: &str) -> bool {
    let line = one_line(command);
    line != command.trim() || cut_middle(&line, MOST_COMMAND) != line
}

pub fn draw(drawing: &mut Drawing, asked: &Elicitation, open: bool, style: &Style) {
    let waits = asked.verdict == Verdict::Open;
    draw_head(drawing, asked, waits || open, style);
    if waits && asked.is_long {
        // Before what is long.
        drawing.hint(format!("    {}", style.hints.long_question()));
    }
    if waits || open {
        match &asked.subject {
            Subject::Form(form) => {
                for about in [&form.title, &form.description].into_iter().flatten() {
                    let more = drawing.beginning(about, "    ", None);
                    drawing.left_out(more, "    ", &style.hints);
                }
                for field in form.fields.iter().take(MOST_ROWS) {
                    let text = match (form.is_plain_question(), asked.choices.is_empty()) {
                        // They follow, with their keys.
                        (true, false) => continue,
                        (true, true) => choices_of(field),
                        (false, stand_here) => about(field, stand_here),
                    };
                    drawing.line(format!("    {text}"), Some("AcpMeta"));
                }
                drawing.left_out(form.fields.len().saturating_sub(MOST_ROWS), "    ", &style.hints);
            }
            Subject::Page(address) => draw_page(drawing, address),
            Subject::Limit => {
                let text = "What it wants to change or run waits for your answer.";
                drawing.line(format!("    {text}"), Some("AcpMeta"));
            }
            Subject::Outside { folders, why, .. } => {
                draw_outside(drawing, asked, (folders, why), (open, style))
            }
        }
    }
    draw_verdict(drawing, asked, style);
}

/// How it is answered, or what came of it.
fn draw_verdict(drawing: &mut Drawing, asked: &Elicitation, style: &Style) {
    match &asked.verdict {
        Verdict::Open if matches!(asked.subject, Subject::Outside { .. }) => {
            let how = match &asked.subject {
                Subject::Outside { why: AskReason::Rule(_), .. }
                | Subject::Outside { command: Some(_), .. } => {
                    ":Acp allow [once|session]   :Acp reject [no|never]"
                }
                _ => ":Acp allow [once|session|always]   :Acp reject [no|never]",
            };
            choices::draw(drawing, "Allow this?", &asked.choices, how, style);
        }
        Verdict::Open if asked.subject == Subject::Limit => {
            choices::draw(drawing, "Go on?", &asked.choices, ":Acp allow [unlimited]   :Acp reject", style);
        }
        Verdict::Open if !asked.choices.is_empty() => {
            let commands = ":Acp answer [decline|cancel]";
            choices::draw(drawing, "Answer?", &asked.choices, commands, style);
            if !style.hints.answers.is_empty() {
                drawing.hint(format!("    or {}", style.hints.with_go_to(commands)));
            }
        }
        Verdict::Open => {
            let what = match &asked.subject {
                Subject::Form(_) | Subject::Outside { .. } | Subject::Limit => "Answer?",
                Subject::Page(_) => "Open it?",
            };
            let text = format!("    {what}   {}", style.hints.with_go_to(":Acp answer [decline|cancel]"));
            drawing.line(text, Some("AcpToolWaiting")).framed("AcpToolWaiting");
        }
        Verdict::Answered(fields) if fields.is_empty() => {
            drawing.hint("    sent without a value".to_owned());
        }
        Verdict::Answered(_) if matches!(&asked.subject, Subject::Form(form) if form.is_plain_question()) => {
        }
        Verdict::Answered(fields) => {
            let fields: Vec<String> = fields.iter().map(|field| one_line(field)).collect();
            drawing.hint(format!("    answered: {}", fields.join(", ")));
        }
        Verdict::Agreed => {
            if let Subject::Page(address) = &asked.subject {
                drawing.hint(format!("    you agreed to open {}", address.host));
            }
        }
        Verdict::Chosen(_)
        | Verdict::Limited(_)
        | Verdict::Declined
        | Verdict::ByAuto
        | Verdict::Cancelled
        | Verdict::Withdrawn
        | Verdict::TurnOver => {}
    }
}

/// All of a command, what is dangerous, and why it is asked.
fn draw_outside(
    drawing: &mut Drawing,
    asked: &Elicitation,
    (folders, why): (&[PathBuf], &AskReason),
    (open, style): (bool, &Style),
) {
    match asked.command().filter(|command| is_cut(command)) {
        // Opened is how it is read to its end.
        Some(command) if open => drawing.whole_command(command, style.width),
        Some(command) => {
            let more = drawing.command(command, style.width);
            drawing.left_out(more, "    ", &style.hints);
        }
        None => {}
    }
    if let Subject::Outside { judgement: Some(judgement), .. } = &asked.subject
        && let Some(words) = rules::dangers(&judgement.ruling)
    {
        drawing.line(format!("    ! {words}"), Some("AcpDanger"));
    }
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let outside = format!("outside of the session's folders ({})", folders.join(", "));
    let text = match why {
        AskReason::OutsideFolders => outside,
        AskReason::LinkedOutside => format!("has other names (hard links) {outside}"),
        AskReason::Rule(rule) => format!("Asked because: {}", one_line(rule)),
    };
    drawing.beginning(&text, "    ", Some("AcpMeta"));
}

/// A question that is cut to fewer cells can't be told from others.
const LEAST_QUESTION: usize = 20;

/// Who asks for what, and what came of it. In full, or cut to one line.
fn draw_head(drawing: &mut Drawing, asked: &Elicitation, full: bool, style: &Style) {
    let (status, fact) = came_of(&asked.verdict);
    let (mark, mark_group) = status_mark(status, style.icons);
    let waits = status == Status::Waiting;
    let group = if waits { mark_group } else { "AcpTool" };
    let verb = if waits { "asks" } else { "asked" };
    let what = match &asked.subject {
        Subject::Form(_) => verb.to_owned(),
        Subject::Page(_) => format!("{verb} you to open a page"),
        Subject::Outside { command: Some(command), .. } => {
            format!("{verb} to run {} in", cut_middle(&one_line(command), MOST_COMMAND))
        }
        Subject::Outside { access: Access::Read, .. } => format!("{verb} to read"),
        Subject::Outside { access: Access::Wrote, .. } => format!("{verb} to write"),
        Subject::Limit => String::new(),
    };
    let what = if what.is_empty() { what } else { format!("{what}: ") };
    let (lines, more) = beginning(asked.message.trim(), MOST_ROWS, MOST_BYTES);
    let mut lines = lines.into_iter();
    let mut head = match lines.next().filter(|first| !first.is_empty()) {
        Some(first) => format!("{} {what}{first}", asked.asker),
        None => format!("{} {}", asked.asker, what.trim_end_matches(": ")),
    };
    if !full && matches!(asked.subject, Subject::Outside { .. }) {
        // Both ends of a path tell most.
        let beside = fact.map_or(0, str::len);
        let taken = asked.asker.chars().count() + what.len() + beside;
        let room = style.width.saturating_sub(taken + 8).max(10);
        head = format!("{} {what}{}", asked.asker, cut_middle(&one_line(&asked.message), room));
        // What came of it stands at the end of the same row.
        head = cut_end(&head, style.width.saturating_sub(beside + 4).max(8));
    } else if !full {
        let room = |beside| style.width.saturating_sub(mark.chars().count() + 3 + beside);
        let beside = room(fact.map_or(0, |fact| fact.len() + 2));
        let least = cells(&asked.asker) + cells(&what) + LEAST_QUESTION;
        // What came of it stands in a row of its own where the question has more need of the room.
        let room = if beside < least.min(cells(&head)) { room(0) } else { beside };
        head = cut_end(&head, room.max(20));
    }
    let row = drawing.lines.len();
    let start = mark.len() + 1;
    drawing.marks.push(Mark { row, start: 0, end: mark.len(), group: mark_group });
    drawing.marks.push(Mark { row, start, end: start + head.len(), group });
    drawing.lines.push(format!("{mark} {head}"));
    drawing.framed(if waits { mark_group } else { "AcpMeta" });
    let beside = fact.filter(|fact| drawing.has_room_beside(row, fact, style));
    drawing.right.extend(beside.map(|fact| (row, fact.to_owned())));
    if full {
        lines.for_each(|line| {
            drawing.line(format!("    {line}"), Some(group));
        });
        drawing.left_out(more, "    ", &style.hints);
    }
    if let Some(fact) = fact.filter(|_| beside.is_none()) {
        drawing.hint(format!("    {fact}"));
    }
}

/// What came of a question, as a call's status, and in words where that does not say it all.
fn came_of(verdict: &Verdict) -> (Status, Option<&'static str>) {
    match verdict {
        Verdict::Open => (Status::Waiting, None),
        Verdict::Answered(_) | Verdict::Agreed => (Status::Done, None),
        Verdict::Chosen(choice) if choice.allows() => (Status::Done, Some(choice.fact())),
        Verdict::Chosen(choice) => (Status::Rejected, Some(choice.fact())),
        Verdict::Limited(word) if word.goes_on() => (Status::Done, Some(word.fact())),
        Verdict::Limited(word) => (Status::Cancelled, Some(word.fact())),
        Verdict::Declined => (Status::Rejected, Some("declined")),
        Verdict::ByAuto => (Status::Rejected, Some("rejected by :Acp auto")),
        Verdict::Cancelled => (Status::Cancelled, Some("cancelled")),
        Verdict::Withdrawn => (Status::Cancelled, Some("taken back")),
        Verdict::TurnOver => (Status::Cancelled, Some("the turn has ended")),
    }
}

/// What a question asks for beyond its first words, and what came of it, as paragraphs of a text of its own. The values of a form are
/// not in there either.
pub fn in_words(asked: &Elicitation) -> Vec<String> {
    let mut lines = Vec::new();
    match &asked.subject {
        Subject::Form(form) => {
            lines.extend([&form.title, &form.description].into_iter().flatten().map(|about| one_line(about)));
            let field = |field: &Field| match form.is_plain_question() {
                true => choices_of(field),
                false => format!("- {}", about(field, true)),
            };
            lines.push(form.fields.iter().map(field).collect::<Vec<_>>().join("\n"));
        }
        Subject::Page(address) => lines.push(address.url.clone()),
        Subject::Outside { .. } | Subject::Limit => {}
    }
    lines.push(match (&asked.verdict, &asked.subject) {
        (Verdict::Open, _) => "not answered yet".to_owned(),
        (Verdict::Answered(fields), _) if fields.is_empty() => "sent without a value".to_owned(),
        (Verdict::Answered(_), Subject::Form(form)) if form.is_plain_question() => "answered".to_owned(),
        (Verdict::Answered(fields), _) => {
            format!("answered: {}", fields.iter().map(|field| one_line(field)).collect::<Vec<_>>().join(", "))
        }
        (Verdict::Agreed, Subject::Page(address)) => format!("agreed to open {}", address.host),
        (verdict, _) => came_of(verdict).1.unwrap_or_default().to_owned(),
    });
    lines.retain(|line| !line.is_empty());
    lines
}

/// The answers to choose from, in a line.
fn choices_of(field: &Field) -> String {
    match &field.control {
        Control::One(options) | Control::Many { options, .. } => {
            let labels: Vec<String> = options.iter().map(|option| one_line(option.label())).collect();
            labels.join(" · ")
        }
        Control::Toggle => "Yes · No".to_owned(),
        _ => String::new(),
    }
}

/// A field in a line: its name, what it is for, what it takes.
fn about(field: &Field, with_choices: bool) -> String {
    let mut text = one_line(field.label());
    if field.required {
        text.push_str(" (needed)");
    }
    let description = field.description.as_deref().map(one_line).filter(|text| !text.is_empty());
    let rest = match &field.control {
        Control::Unsupported { why, .. } => Some(format!("{why}, which can't be filled in here")),
        Control::One(_) | Control::Many { .. } => with_choices.then(|| choices_of(field)),
        _ => field.hint(),
    };
    for part in description.into_iter().chain(rest) {
        text.push_str(&format!(" — {}", one_line(&part)));
    }
    text
}

fn draw_page(drawing: &mut Drawing, address: &Address) {
    let indent = "    ";
    let row = drawing.lines.len();
    drawing.line(format!("{indent}{}", address.url), None);
    let (start, end) = (indent.len() + address.place.start, indent.len() + address.place.end);
    drawing.marks.push(Mark { row, start, end, group: "AcpToolWaiting" });
    let label = format!("{indent}Host: ");
    let start = label.len();
    let row = drawing.lines.len();
    drawing.lines.push(format!("{label}{}", address.host));
    drawing.framed("AcpToolWaiting");
    drawing.marks.push(Mark { row, start: 0, end: start, group: "AcpMeta" });
    drawing.marks.push(Mark { row, start, end: start + address.host.len(), group: "AcpToolWaiting" });
    for warning in &address.warnings {
        drawing.line(format!("{indent}Warning: {}", warning.text()), Some("AcpError")).framed("AcpError");
    }
}
