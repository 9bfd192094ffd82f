//! What the user's rules say of a call: what is dangerous about it and why it is asked for, where it waits; which rule
//! has allowed or rejected it; and all of it in the details.

use super::drawing::Drawing;
use crate::core::rules::page::step_in_words;
use crate::core::rules::{Decision, Ruling};
use crate::core::session::tool_call::{Status, ToolCall};
use crate::core::text::{cut, one_line};

/// A reason is read, not studied.
const REASON: usize = 300;
/// Of the parts of a shell line that were judged.
const STEPS: usize = 200;

/// What makes a request dangerous, in words.
pub fn dangers(ruling: &Ruling) -> Option<String> {
    let words: Vec<&str> = ruling.dangers.iter().map(|danger| danger.words()).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Under a call that waits for the user.
pub(super) fn draw_asked(drawing: &mut Drawing, call: &ToolCall) {
    let Some(ruling) = call.ruling.as_deref() else { return };
    if let Some(words) = dangers(ruling) {
        drawing.line(format!("    ! {words}"), Some("AcpDanger"));
    }
    if ruling.decision == Some(Decision::Ask) {
        drawing.line(format!("    Asked because: {}", reason(&ruling.why)), Some("AcpMeta"));
    }
}

/// Under a call that a rule allows while the user is asked about a limit.
pub(super) fn draw_held(drawing: &mut Drawing, call: &ToolCall) {
    let why = call.ruling.as_deref().map(|ruling| reason(&ruling.why)).unwrap_or_default();
    let text = format!("    Waits for your answer about the limit; a rule allows it: {why}");
    drawing.line(text, Some("AcpMeta"));
}

/// Under a call that a rule has decided. What was allowed is said to who looks for it.
pub(super) fn draw_decided(drawing: &mut Drawing, call: &ToolCall, open: bool) {
    if call.was_rejected && call.status == Status::Done {
        let text = "    It was rejected; the agent says that it is completed.";
        drawing.line(text.to_owned(), Some("AcpToolWaiting"));
    }
    if let Some(unasked) = &call.unasked {
        drawing.line(format!("    {}", unasked.words()), Some(unasked.group()));
    }
    for words in call.conflict_words() {
        drawing.line(format!("    {}", reason(&words)), Some("AcpMeta"));
    }
    if let Some(answer) = call.answer.as_ref().filter(|answer| open || answer.is_for_good) {
        drawing.line(format!("    You answered: {}", reason(&answer.label)), Some("AcpMeta"));
    }
    let Some(ruling) = call.ruling.as_deref() else { return };
    let how = match ruling.decision {
        Some(Decision::Reject) if call.was_rejected_by_auto() => "Rejected by :Acp auto",
        Some(Decision::Reject) if call.shown_status() == Status::Rejected => "Rejected by a rule",
        Some(Decision::Allow) if open => "Allowed by a rule",
        _ => return,
    };
    drawing.line(format!("    {how}: {}", reason(&ruling.why)), Some("AcpMeta"));
}

fn reason(why: &str) -> String {
    one_line(cut(why, REASON))
}

/// All that is known of it, a line each.
pub(super) fn in_words(call: &ToolCall) -> Vec<String> {
    let mut lines: Vec<String> = call.unasked_words().into_iter().collect();
    let Some(ruling) = call.ruling.as_deref() else { return lines };
    lines.extend(dangers(ruling).map(|words| format!("Look twice: {words}")));
    lines.extend(
        ruling
            .steps
            .iter()
            .take(STEPS)
            .map(|step| format!("- {}", one_line(cut(&step_in_words(step), REASON)))),
    );
    lines
}
