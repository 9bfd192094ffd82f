//! A command's output in a call, with its own colours. Text without colours looks like any other detail.

use super::drawing::{Drawing, Mark};
use crate::core::terminal::screen::Span;

const INDENT: &str = "    ";
/// Of text without a colour of its own.
const PLAIN: &str = "AcpMeta";

/// Adds a line of output; the spans are in their order and do not overlap.
pub fn draw(drawing: &mut Drawing, line: &str, spans: &[Span]) {
    let row = drawing.lines.len();
    let mut mark = |start: usize, end: usize, group: &'static str| {
        if start < end {
            drawing.marks.push(Mark { row, start, end, group });
        }
    };
    let mut plain_from = 0;
    for Span { start, end, style } in spans {
        let (start, end) = (start + INDENT.len(), end + INDENT.len());
        if style.foreground.is_some() {
            mark(plain_from, start, PLAIN);
            plain_from = end;
        }
        style.groups().for_each(|group| mark(start, end, group));
    }
    mark(plain_from, INDENT.len() + line.len(), PLAIN);
    drawing.lines.push(format!("{INDENT}{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terminal::screen::Screen;

    #[test]
    fn coloured_text_has_its_colours_and_the_rest_is_a_detail() {
        let mut screen = Screen::new(5);
        screen.feed(b"ok \x1b[32;1mdone\x1b[0m in \x1b[4m3 s");
        let line = screen.tail(1).remove(0);
        let mut drawing = Drawing::default();
        draw(&mut drawing, &line.text, &line.spans);
        assert_eq!(drawing.lines, ["    ok done in 3 s"]);
        let marks: Vec<(&str, &str)> =
            drawing.marks.iter().map(|mark| (&drawing.lines[0][mark.start..mark.end], mark.group)).collect();
        assert_eq!(
            marks,
            [
                ("    ok ", "AcpMeta"),
                ("done", "AcpGreen"),
                ("done", "AcpBold"),
                ("3 s", "AcpUnderline"),
                (" in 3 s", "AcpMeta"),
            ]
        );
    }
}
