//! A command's raw output, made safe for a terminal of the editor: valid UTF-8, without the sequences
//! that reach beyond the terminal, such as those that set the user's clipboard. Colours, cursor movement
//! and the whole screen remain under the program's control.

/// The operating system commands that stay inside: colours, links, and marks of prompts.
const INSIDE: [u32; 11] = [4, 8, 10, 11, 12, 17, 19, 104, 110, 111, 133];

/// What is open at the end of a piece.
#[derive(Default)]
pub struct Harmless {
    state: State,
    /// The start of a character whose other bytes have not come yet.
    partial: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Text,
    /// After an escape character, which is held back.
    Escape,
    /// In an operating system command, after the digits of this number, which are held back.
    Number { number: u32, digits: usize },
    /// There, after an escape character.
    NumberEscape { number: u32, digits: usize },
    /// In one that is passed on, after its number.
    Inside,
    /// There, after an escape character, which is held back.
    InsideEscape,
    /// In one that stays out.
    Dropped,
    /// In such a one, after an escape character: a backslash ends it.
    DroppedEscape,
}

impl Harmless {
    /// What of the next bytes may be shown; how they are cut into pieces makes no difference.
    pub fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let joined;
        let bytes = if self.partial.is_empty() {
            bytes
        } else {
            joined = [std::mem::take(&mut self.partial).as_slice(), bytes].concat();
            &joined
        };
        let mut passed = Vec::with_capacity(bytes.len());
        let mut end = 0;
        for chunk in bytes.utf8_chunks() {
            end += chunk.valid().len() + chunk.invalid().len();
            self.read(chunk.valid().as_bytes(), &mut passed);
            let is_cut = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if end == bytes.len() && is_cut {
                self.partial = chunk.invalid().to_vec();
            } else if !chunk.invalid().is_empty() {
                self.read("\u{fffd}".as_bytes(), &mut passed);
            }
        }
        passed
    }

    fn read(&mut self, mut bytes: &[u8], passed: &mut Vec<u8>) {
        while let Some(first) = bytes.first().copied() {
            let (state, used) = match self.state {
                State::Text => text(bytes, passed),
                State::Escape => (escape(first, passed), 1),
                State::Number { number, digits } => in_number(number, digits, first, passed),
                State::NumberEscape { number, digits } if first == b'\\' => {
                    if matches!(begin(number, digits, passed), State::Inside) {
                        passed.extend(b"\x1b\\");
                    }
                    (State::Text, 1)
                }
                State::Inside => inside(bytes, passed),
                State::InsideEscape if first == b'\\' => {
                    passed.extend(b"\x1b\\");
                    (State::Text, 1)
                }
                State::InsideEscape => {
                    // What takes its place may be left out, and must not leave it open: CAN ends it.
                    passed.push(0x18);
                    (State::Escape, 0)
                }
                State::Dropped => dropped(bytes, passed),
                State::DroppedEscape if first == b'\\' => (State::Text, 1),
                // Only a backslash ends a command; anything else takes its place.
                State::NumberEscape { .. } | State::DroppedEscape => (State::Escape, 0),
            };
            self.state = state;
            bytes = &bytes[used..];
        }
    }
}

// What comes of the next bytes in each state: the next state, and how many bytes it took.

fn text(bytes: &[u8], passed: &mut Vec<u8>) -> (State, usize) {
    let escape = bytes.iter().position(|byte| *byte == 0x1b);
    passed.extend_from_slice(&bytes[..escape.unwrap_or(bytes.len())]);
    escape.map_or((State::Text, bytes.len()), |at| (State::Escape, at + 1))
}

fn escape(first: u8, passed: &mut Vec<u8>) -> State {
    match first {
        b']' => State::Number { number: 0, digits: 0 },
        // Each of these makes the terminal forget the escape character before it. It must not
        // stay in front of what comes once a sequence is left out.
        0x1b => State::Escape,
        0x18 | 0x1a => State::Text,
        // A terminal obeys these at once and goes on with the sequence (or ignores them).
        0x00..0x20 | 0x7f => {
            passed.push(first);
            State::Escape
        }
        _ => {
            passed.extend([0x1b, first]);
            State::Text
        }
    }
}

fn in_number(number: u32, digits: usize, first: u8, passed: &mut Vec<u8>) -> (State, usize) {
    let state = match first {
        b'0'..=b'9' => {
            let number = number.saturating_mul(10).saturating_add(u32::from(first - b'0'));
            State::Number { number, digits: digits + 1 }
        }
        0x1b => State::NumberEscape { number, digits },
        0x18 | 0x1a => State::Text,
        b'\n' => {
            passed.push(b'\n');
            State::Text
        }
        // The terminal goes on with the number after these.
        0x00..=0x06 | 0x08..0x20 | 0x7f => {
            passed.push(first);
            State::Number { number, digits }
        }
        _ => return (begin(number, digits, passed), 0),
    };
    (state, 1)
}

fn inside(bytes: &[u8], passed: &mut Vec<u8>) -> (State, usize) {
    let Some(stop) = bytes.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b)) else {
        passed.extend_from_slice(bytes);
        return (State::Inside, bytes.len());
    };
    if bytes[stop] == 0x1b {
        passed.extend_from_slice(&bytes[..stop]);
        return (State::InsideEscape, stop + 1);
    }
    passed.extend_from_slice(&bytes[..=stop]);
    (State::Text, stop + 1)
}

fn dropped(bytes: &[u8], passed: &mut Vec<u8>) -> (State, usize) {
    let stop = bytes.iter().position(|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b | b'\n'));
    let state = match stop.map(|at| bytes[at]) {
        None => State::Dropped,
        Some(0x1b) => State::DroppedEscape,
        // One that never ends hides no more than its line.
        Some(b'\n') => {
            passed.push(b'\n');
            State::Text
        }
        Some(_) => State::Text,
    };
    (state, stop.map_or(bytes.len(), |at| at + 1))
}

/// The number of an operating system command is whole: its beginning passes, if it stays inside.
fn begin(number: u32, digits: usize, passed: &mut Vec<u8>) -> State {
    if digits == 0 || !INSIDE.contains(&number) {
        return State::Dropped;
    }
    passed.extend_from_slice(format!("\x1b]{number}").as_bytes());
    State::Inside
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn passed(bytes: impl AsRef<[u8]>) -> String {
        String::from_utf8(Harmless::default().pass(bytes.as_ref())).expect("valid UTF-8")
    }

    #[test]
    fn colours_links_and_cursor_movement_pass() {
        let text =
            "a\x1b[1;31mred\x1b[0m\x1b[2J\x1b]8;;http://x\x1b\\link\x1b]8;;\x07\x1b]11;?\x07\x1bMend\x1b[m";
        assert_eq!(passed(text), text);
    }

    #[test]
    fn clipboards_titles_and_messages_do_not() {
        assert_eq!(passed("a\x1b]52;c;aGk=\x07b\x1b]52;c;aGk=\x1b\\c"), "abc");
        assert_eq!(
            passed("a\x1b]0;title\x07b\x1b]2;x\x1b[1mc\x1b]777;notify;a\x18d\x1b]l;x\x07e"),
            "ab\x1b[1mcde"
        );
        assert_eq!(passed("a\x1b]052;c;aGk=\x07b"), "ab");
    }

    #[test]
    fn what_is_left_out_joins_nothing_into_a_sequence() {
        assert_eq!(passed("\x1b\x1b]7\x07]52;c;aGk=\x07"), "]52;c;aGk=\x07");
        assert_eq!(passed("\x1b\x1b]7;\x1b\x1b]7\x07]52;c;aGk=\x07"), "]52;c;aGk=\x07");
        assert_eq!(passed("\x1b\x18]52;c;aGk=\x07"), "]52;c;aGk=\x07");
        // Terminals heed control characters within a sequence, and the sequence goes on.
        assert_eq!(passed("a\x1b\x07]52;c;aGk=\x07b"), "a\x07b");
        assert_eq!(passed("a\x1b\x00]52;c;aGk=\x07b"), "a\x00b");
        assert_eq!(passed("a\x1b\x07[1mb"), "a\x07\x1b[1mb");
    }

    #[test]
    fn what_is_left_out_makes_no_other_number_of_one_that_passes() {
        // 1337 copies into clipboards, and 133 passes.
        assert_eq!(passed("a\x1b]133\x1b]0;x\x077;Copy=:aGk=\x07b"), "a7;Copy=:aGk=\x07b");
        assert_eq!(passed("a\x1b]133\x007;Copy=:aGk=\x07b"), "a\x00b");
        assert_eq!(passed("a\x1b]133\n7;Copy=:aGk=\x07b"), "a\n7;Copy=:aGk=\x07b");
        assert_eq!(passed("a\x1b]4\x1b]\x070"), "a0");
        // One that is cut short by another one is not left open.
        assert_eq!(passed("\x1b]8;;http://x\x1b]0;t\x07text"), "\x1b]8;;http://x\x18text");
        assert_eq!(passed("\x1b]104\x07a\x1b]110\x1b\\b"), "\x1b]104\x07a\x1b]110\x1b\\b");
    }

    #[test]
    fn one_that_never_ends_hides_no_more_than_its_line() {
        assert_eq!(passed("a\x1b]52;c;aGk=\nb"), "a\nb");
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(passed(b"a\xffb\x9bc\xed\xa0\x80d"), "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}\u{fffd}d");
        let mut cut = Harmless::default();
        assert_eq!(cut.pass(b"\xe2\x82"), b"");
        assert_eq!(cut.pass(b"\xacx"), "\u{20ac}x".as_bytes());
    }

    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-z\u{20ac}\u{1f600}\\\\ ]{0,8}".prop_map(String::into_bytes),
            4 => "\x1b\\][0-9]{0,3};?[a-z]{0,4}(\x07|\x1b\\\\|\n|\x1b)?".prop_map(String::into_bytes),
            2 => "\x1b[\\[M7]?[0-9]{0,2}m?".prop_map(String::into_bytes),
            2 => "\x1b[\x00\x07\x18\x1b]{0,2}\\][0-9]{0,2}".prop_map(String::into_bytes),
            2 => "\x1b\\](133|4|52|8)[\x00\x07\x18\x1b\n]{0,2}[0-9]{0,2}".prop_map(String::into_bytes),
            1 => vec(any::<u8>(), 0..6),
        ];
        vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    /// The operating system commands that a terminal reads out of a text, also one that the text's end cuts off.
    fn commands(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        let mut is_escape = false;
        let mut command: Option<String> = None;
        for char in text.chars() {
            match char {
                '\x1b' => {
                    all.extend(command.take());
                    is_escape = true;
                }
                '\x18' | '\x1a' => {
                    all.extend(command.take());
                    is_escape = false;
                }
                '\x07' if command.is_some() => all.extend(command.take()),
                // Obeyed or ignored, and whatever is open goes on.
                '\0'..' ' | '\x7f' => {}
                ']' if is_escape => {
                    command = Some(String::new());
                    is_escape = false;
                }
                char => {
                    is_escape = false;
                    if let Some(command) = &mut command {
                        command.push(char);
                    }
                }
            }
        }
        all.extend(command);
        all
    }

    proptest! {
        #[test]
        fn no_sequence_gets_out_however_it_is_cut(bytes in noise(), cuts in vec(any::<prop::sample::Index>(), 0..12)) {
            let whole = Harmless::default().pass(&bytes);
            let text = std::str::from_utf8(&whole).expect("valid UTF-8");
            for command in commands(text) {
                let digits: String = command.chars().take_while(char::is_ascii_digit).collect();
                prop_assert!(digits.parse().is_ok_and(|number| INSIDE.contains(&number)), "{:?}", text);
            }
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut pieces = Harmless::default();
            let passed: Vec<u8> = cuts.windows(2).flat_map(|cut| pieces.pass(&bytes[cut[0]..cut[1]])).collect();
            prop_assert_eq!(passed, whole);
        }
    }
}
