//! What a pseudo console of Windows asks of the terminal it is shown in before it shows anything: where
//! the cursor is, what the terminal is. It waits for the answers, and our terminal has no window at that
//! time, so they are given here. A pure account of bytes.

/// Questions with their answers: the cursor is in the first cell; it is a plain VT100 with options.
const QUESTIONS: [(&[u8], &[u8]); 2] = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?1;2c")];

/// Questions that come later than this are a program's, and the window's business.
const WITHIN: usize = 256;

/// Follows the first bytes of a terminal.
#[derive(Default)]
pub struct Greeting {
    seen: usize,
    answered: [bool; 2],
    /// The beginning of what may be a question.
    held: Vec<u8>,
}

impl Greeting {
    /// Takes the next bytes. Gives what is left to be shown, and what is to be answered.
    pub fn read(&mut self, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
        if self.is_over() {
            return (bytes.to_vec(), Vec::new());
        }
        self.seen += bytes.len();
        let mut rest = std::mem::take(&mut self.held);
        rest.extend_from_slice(bytes);
        let (mut shown, mut answers) = (Vec::new(), Vec::new());
        while let Some(at) = rest.iter().position(|byte| *byte == 0x1b) {
            shown.extend(rest.drain(..at));
            let open = |i: &usize| !self.answered[*i];
            let asked = (0..QUESTIONS.len()).filter(open).find(|&i| rest.starts_with(QUESTIONS[i].0));
            let begun = (0..QUESTIONS.len()).filter(open).any(|i| QUESTIONS[i].0.starts_with(&rest));
            if let Some(asked) = asked {
                rest.drain(..QUESTIONS[asked].0.len());
                answers.extend_from_slice(QUESTIONS[asked].1);
                self.answered[asked] = true;
            } else if begun && self.seen <= WITHIN {
                self.held = rest;
                return (shown, answers);
            } else {
                shown.extend(rest.drain(..1));
            }
        }
        shown.append(&mut rest);
        (shown, answers)
    }

    fn is_over(&self) -> bool {
        self.seen > WITHIN && self.held.is_empty() || self.answered == [true; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_console_is_told_where_the_cursor_is_and_the_question_is_not_shown() {
        let mut greeting = Greeting::default();
        let (shown, answers) = greeting.read(b"\x1b[?9001h\x1b[6n\x1b[2J\x1b[Hhi\r\n");
        assert_eq!(shown, b"\x1b[?9001h\x1b[2J\x1b[Hhi\r\n");
        assert_eq!(answers, b"\x1b[1;1R");
        let (shown, answers) = greeting.read(b"\x1b[6n");
        assert_eq!((shown.as_slice(), answers.as_slice()), (b"\x1b[6n".as_slice(), b"".as_slice()));
    }

    #[test]
    fn a_question_in_pieces_is_one() {
        let mut greeting = Greeting::default();
        let (mut shown, mut answers) = (Vec::new(), Vec::new());
        for byte in b"a\x1b[c\x1b[1mb\x1b[6nc" {
            let (more, answer) = greeting.read(&[*byte]);
            shown.extend(more);
            answers.extend(answer);
        }
        assert_eq!(shown, b"a\x1b[1mbc");
        assert_eq!(answers, b"\x1b[?1;2c\x1b[1;1R");
    }

    #[test]
    fn a_programs_own_question_reaches_the_window() {
        let mut greeting = Greeting::default();
        let text = [b'x'; 300];
        assert_eq!(greeting.read(&text).0, text);
        assert_eq!(greeting.read(b"\x1b[6n").0, b"\x1b[6n");
    }
}
