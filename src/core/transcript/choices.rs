//! The answers to a permission request, below the question: each after the key that gives it, so that the
//! user need not look it up. Without such keys, the commands are shown.

use super::drawing::{AnswerSpan, Drawing, Mark, Style};

const INDENT: &str = "    ";
const GAP: &str = "   ";
const BAR: &str = "AcpToolWaiting";
const GROUP: Option<&str> = Some(BAR);

/// `commands` is what to type where no key answers.
pub fn draw(drawing: &mut Drawing, question: &str, choices: &[String], commands: &str, style: &Style) {
    if style.hints.answers.is_empty() || choices.is_empty() {
        let answers = [Answer { key: 0, text: commands.to_owned(), number: None }];
        return flow(drawing, question, &answers, style.width.saturating_sub(2));
    }
    let answers: Vec<Answer> = choices
        .iter()
        .enumerate()
        .map(|(at, name)| match style.hints.answers.get(at) {
            Some(key) => Answer { key: key.len(), text: format!("{key} {name}"), number: Some(at + 1) },
            None => Answer { key: 0, text: name.clone(), number: Some(at + 1) },
        })
        .collect();
    flow(drawing, question, &answers, style.width);
}

struct Answer {
    /// How many bytes the key takes at its beginning.
    key: usize,
    text: String,
    /// Which of the answers it is, from 1; none for what only says how to answer.
    number: Option<usize>,
}

/// An answer in a line that is being made: its bytes, and those of its key.
struct Placed {
    start: usize,
    key_end: usize,
    end: usize,
    number: Option<usize>,
}

/// All in one line, or the question and below it as many answers to a line as fit.
fn flow(drawing: &mut Drawing, question: &str, answers: &[Answer], width: usize) {
    let cells = |text: &str| text.chars().count();
    let all: usize = answers.iter().map(|answer| GAP.len() + cells(&answer.text)).sum();
    let mut line = format!("{INDENT}{question}");
    let mut placed = Vec::new();
    if cells(&line) + all > width {
        drawing.line(std::mem::replace(&mut line, INDENT.to_owned()), GROUP).framed(BAR);
    }
    for answer in answers {
        if line.len() > INDENT.len() {
            if cells(&line) + GAP.len() + cells(&answer.text) > width {
                end(drawing, std::mem::replace(&mut line, INDENT.to_owned()), &mut placed);
            } else {
                line.push_str(GAP);
            }
        }
        let start = line.len();
        line.push_str(&answer.text);
        placed.push(Placed { start, key_end: start + answer.key, end: line.len(), number: answer.number });
    }
    end(drawing, line, &mut placed);
}

fn end(drawing: &mut Drawing, line: String, placed: &mut Vec<Placed>) {
    let row = drawing.lines.len();
    drawing.line(line, GROUP).framed(BAR);
    for Placed { start, key_end, end, number } in placed.drain(..) {
        if start < key_end {
            drawing.marks.push(Mark { row, start, end: key_end, group: "AcpBold" });
        }
        drawing.answers.extend(number.map(|number| AnswerSpan { row, start, end, number }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::transcript::{Hints, indented};

    fn drawn(width: usize, keys: &[&str], choices: &[&str]) -> Drawing {
        let answers = keys.iter().map(|&key| key.to_owned()).collect();
        let hints = Hints { answers, ..Hints::default() }.into();
        let style = Style { icons: true, width, clock: None, hints };
        let choices: Vec<String> = choices.iter().map(|&choice| choice.to_owned()).collect();
        let mut drawing = Drawing::default();
        draw(&mut drawing, "Allow this?", &choices, ":Acp allow   :Acp reject", &style);
        for Mark { row, start, end, .. } in &drawing.marks {
            assert!(
                drawing.lines[*row].is_char_boundary(*start) && drawing.lines[*row].is_char_boundary(*end)
            );
        }
        drawing
    }

    fn lines(width: usize, keys: &[&str], choices: &[&str]) -> Vec<String> {
        drawn(width, keys, choices).lines
    }

    #[test]
    fn it_is_known_where_each_answer_stands_whatever_it_is_called() {
        for width in [10, 20, 60] {
            let drawing = drawn(width, &["1", "2"], &["Ja 2 Nein", "Nö", "Else"]);
            let stands = |span: &AnswerSpan| (span.number, &drawing.lines[span.row][span.start..span.end]);
            let all: Vec<_> = drawing.answers.iter().map(stands).collect();
            assert_eq!(all, [(1, "1 Ja 2 Nein"), (2, "2 Nö"), (3, "Else")], "{width}");
        }
        let mut drawing = drawn(60, &["1"], &["Allow"]);
        drawing.under(indented(drawn(60, &["1"], &["Under a subagent"])));
        let AnswerSpan { row, start, end, .. } = drawing.answers[1];
        assert_eq!(&drawing.lines[row][start..end], "1 Under a subagent");
        assert!(drawn(60, &[], &["Allow"]).answers.is_empty(), "commands are no answers");
    }

    #[test]
    fn each_answer_stands_after_its_key_in_as_few_lines_as_may_be() {
        let choices = ["Allow", "Always allow", "Reject"];
        assert_eq!(
            lines(60, &["1", "2", "3"], &choices),
            ["    Allow this?   1 Allow   2 Always allow   3 Reject"]
        );
        assert_eq!(
            lines(32, &["1", "2", "3"], &choices),
            ["    Allow this?", "    1 Allow   2 Always allow", "    3 Reject"]
        );
        assert_eq!(lines(8, &["1"], &["Allow", "No"]), ["    Allow this?", "    1 Allow", "    No"]);
    }

    #[test]
    fn without_keys_the_commands_are_named() {
        assert_eq!(lines(60, &[], &["Allow"]), ["    Allow this?   :Acp allow   :Acp reject"]);
        assert_eq!(lines(60, &["1"], &[]), ["    Allow this?   :Acp allow   :Acp reject"]);
        assert_eq!(lines(30, &[], &["A"]), ["    Allow this?", "    :Acp allow   :Acp reject"]);
    }
}
