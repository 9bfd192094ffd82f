//! What the chat, the details and an export say of a conversation that the agent made shorter: whether it did, why
//! not, and what it keeps of what was said. When that changes is left to the session.

use super::drawing::{Drawing, Style};
use crate::core::session::entry::Compaction;
use crate::core::text::{cut, one_line};

/// An error of more lines is read on its page.
const FEW_LINES: usize = 12;

/// A status that this client does not know is a word.
const MOST_STATUS: usize = 60;

/// What came of it, in a sentence, and whether that is bad.
pub(super) fn headline(compaction: &Compaction) -> (String, bool) {
    match compaction.status.as_str() {
        "in_progress" => ("The agent is making the conversation shorter …".to_owned(), false),
        "completed" => ("The agent made the conversation shorter".to_owned(), false),
        "failed" => ("The agent couldn't make the conversation shorter".to_owned(), true),
        "cancelled" => ("Making the conversation shorter was cancelled".to_owned(), false),
        "" => ("Nobody knows whether the agent made the conversation shorter".to_owned(), false),
        other => {
            let word = one_line(cut(other, MOST_STATUS));
            (format!("The agent says of making the conversation shorter: {word}"), false)
        }
    }
}

pub(super) fn draw(drawing: &mut Drawing, compaction: &Compaction, open: bool, style: &Style) {
    let (text, is_bad) = headline(compaction);
    let group = if is_bad { "AcpError" } else { "AcpMeta" };
    let fold = match (compaction.summary.trim().is_empty(), style.icons, open) {
        (true, ..) => "",
        (false, true, false) => "▸ ",
        (false, true, true) => "▾ ",
        (false, false, false) => "+ ",
        (false, false, true) => "- ",
    };
    drawing.line(format!("{fold}{text}"), Some(group)).framed(group);
    if let Some(error) = compaction.error.as_deref().map(str::trim).filter(|error| !error.is_empty()) {
        let (lines, more) = super::bounds::beginning(error, FEW_LINES, super::bounds::MOST_BYTES);
        for line in lines {
            drawing.line(format!("  {line}").trim_end(), Some("AcpError"));
        }
        drawing.left_out(more, "  ", &style.hints);
    }
    if open && !fold.is_empty() {
        let more = drawing.beginning(compaction.summary.trim(), "  ", Some("AcpThought"));
        drawing.left_out(more, "  ", &style.hints);
    }
}

/// All of it, as Markdown: what came of it, why not, what is kept. Each part as it is given to `quoted`.
pub(super) fn parts(compaction: &Compaction) -> Vec<String> {
    let error = compaction.error.as_deref().unwrap_or_default();
    let parts = [format!("{}.", headline(compaction).0), error.to_owned(), compaction.summary.clone()];
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compaction(status: &str, summary: &str, error: Option<&str>) -> Compaction {
        let error = error.map(str::to_owned);
        Compaction { status: status.into(), summary: summary.into(), error }
    }

    fn drawn(compaction: &Compaction, open: bool) -> String {
        let style = Style { icons: true, width: 80, clock: None, hints: Default::default() };
        let mut drawing = Drawing::default();
        draw(&mut drawing, compaction, open, &style);
        drawing.lines.join("\n")
    }

    #[test]
    fn a_compaction_says_what_came_of_it_and_opens_to_its_summary() {
        let done = compaction("completed", "# Kept\nThe plan.", None);
        assert_eq!(drawn(&done, false), "▸ The agent made the conversation shorter");
        assert_eq!(drawn(&done, true), "▾ The agent made the conversation shorter\n  # Kept\n  The plan.");
        let lines: Vec<String> = ["in_progress", "completed", "failed", "cancelled", "", "pau\nsed"]
            .iter()
            .map(|status| drawn(&compaction(status, "", None), true))
            .collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        The agent is making the conversation shorter …
        The agent made the conversation shorter
        The agent couldn't make the conversation shorter
        Making the conversation shorter was cancelled
        Nobody knows whether the agent made the conversation shorter
        The agent says of making the conversation shorter: pau sed
        ");
    }

    #[test]
    fn a_failure_hides_neither_its_reason_nor_a_summary() {
        let failed = compaction("failed", "Half of it.", Some("too long\nby 3 tokens"));
        let expected =
            "▾ The agent couldn't make the conversation shorter\n  too long\n  by 3 tokens\n  Half of it.";
        assert_eq!(drawn(&failed, true), expected);
        let parts = parts(&failed);
        assert_eq!(
            parts,
            ["The agent couldn't make the conversation shorter.", "too long\nby 3 tokens", "Half of it."]
        );
    }
}
