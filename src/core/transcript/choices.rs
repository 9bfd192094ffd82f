//! The answers to a permission request, below the question: each after the key that gives it, so that the
//! user need not look it up. Without such keys, the commands are shown.

use super::drawing::{Drawing, Mark, Style};

const INDENT: &str = "    ";
const GAP: &str = "   ";
const BAR: &str = "AcpToolWaiting";
const GROUP: Option<&str> = Some(BAR);

/// `commands` is what to type where no key answers.
pub fn draw(drawing: &mut Drawing, question: &str, choices: &[String], commands: &str, style: &Style) {
    if style.hints.answers.is_empty() || choices.is_empty() {
        let answers = [Answer { key: 0, text: commands.to_owned() }];
        return flow(drawing, question, &answers, style.width.saturating_sub(2));
    }
    let answers: Vec<Answer> = choices
        .iter()
        .enumerate()
        .map(|(at, name)| match style.hints.answers.get(at) {
            Some(key) => Answer { key: key.len(), text: format!("{key} {name}") },
            None => Answer { key: 0, text: name.clone() },
        })
        .collect();
    flow(drawing, question, &answers, style.width);
}

struct Answer {
    /// How many bytes the key takes at its beginning.
    key: usize,
    text: String,
}

/// All in one line, or the question and below it as many answers to a line as fit.
fn flow(drawing: &mut Drawing, question: &str, answers: &[Answer], width: usize) {
    let cells = |text: &str| text.chars().count();
    let all: usize = answers.iter().map(|answer| GAP.len() + cells(&answer.text)).sum();
    let mut line = format!("{INDENT}{question}");
    let mut keys = Vec::new();
    if cells(&line) + all > width {
        drawing.line(std::mem::replace(&mut line, INDENT.to_owned()), GROUP).framed(BAR);
    }
    for answer in answers {
        if line.len() > INDENT.len() {
            if cells(&line) + GAP.len() + cells(&answer.text) > width {
                end(drawing, std::mem::replace(&mut line, INDENT.to_owned()), &mut keys);
            } else {
                line.push_str(GAP);
            }
        }
        keys.push((line.len(), line.len() + answer.key));
        line.push_str(&answer.text);
    }
    end(drawing, line, &mut keys);
}

fn end(drawing: &mut Drawing, line: String, keys: &mut Vec<(usize, usize)>) {
    let row = drawing.lines.len();
    drawing.line(line, GROUP).framed(BAR);
    let keys = keys.drain(..).filter(|(start, end)| start < end);
    drawing.marks.extend(keys.map(|(start, end)| Mark { row, start, end, group: "AcpBold" }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::transcript::Hints;

    fn lines(width: usize, keys: &[&str], choices: &[&str]) -> Vec<String> {
        let answers = keys.iter().map(|&key| key.to_owned()).collect();
        let hints = Hints { answers, ..Hints::default() }.into();
        let style = Style { icons: true, width, clock: None, hints };
        let choices: Vec<String> = choices.iter().map(|&choice| choice.to_owned()).collect();
        let mut drawing = Drawing::default();
        draw(&mut drawing, "Allow this?", &choices, ":Acp allow   :Acp reject", &style);
        for Mark { row, start, end, .. } in drawing.marks {
            assert!(drawing.lines[row].is_char_boundary(start) && drawing.lines[row].is_char_boundary(end));
        }
        drawing.lines
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
