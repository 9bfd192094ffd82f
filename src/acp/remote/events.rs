//! A stream of server-sent events, read in whatever pieces it comes: each event's data as a line with one message.
//! Everything else in an event is for browsers.

/// Reads the events of one stream.
pub struct EventReader {
    limit: usize,
    /// What came of a field: its name, and the value unless it is data.
    field: Vec<u8>,
    state: State,
    /// The data so far, as one line.
    data: Vec<u8>,
    has_data: bool,
    last_was_return: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Name,
    /// In the value of a data field; whether its first blank may still come.
    Data {
        at_start: bool,
    },
    Ignored,
}

/// A message of more bytes than allowed. What came of it follows, for whoever tells.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong(pub Vec<u8>);

impl EventReader {
    pub fn new(limit: usize) -> Self {
        let (field, data) = (Vec::new(), Vec::new());
        Self { limit, field, state: State::Name, data, has_data: false, last_was_return: false }
    }

    /// Gives each whole message, without an end of line.
    pub fn push(&mut self, bytes: &[u8], mut message: impl FnMut(Vec<u8>)) -> Result<(), TooLong> {
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.last_was_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    if let Some(whole) = self.end_of_line() {
                        message(whole);
                    }
                }
                byte => self.take(byte),
            }
            if self.data.len() > self.limit {
                return Err(TooLong(std::mem::take(&mut self.data)));
            }
        }
        Ok(())
    }

    fn take(&mut self, byte: u8) {
        match self.state {
            State::Name if byte == b':' => {
                self.state = match self.field.as_slice() {
                    b"data" => {
                        self.begin_data();
                        State::Data { at_start: true }
                    }
                    _ => State::Ignored,
                };
            }
            // No name that matters is longer.
            State::Name if self.field.len() < 8 => self.field.push(byte),
            State::Name | State::Ignored => self.state = State::Ignored,
            State::Data { at_start } => {
                self.state = State::Data { at_start: false };
                if !(at_start && byte == b' ') {
                    self.data.push(byte);
                }
            }
        }
    }

    /// Several lines of data are one text with line breaks, which in JSON are as good as blanks.
    fn begin_data(&mut self) {
        if self.has_data {
            self.data.push(b' ');
        }
        self.has_data = true;
    }

    fn end_of_line(&mut self) -> Option<Vec<u8>> {
        let state = std::mem::replace(&mut self.state, State::Name);
        let field = std::mem::take(&mut self.field);
        if state == State::Name && field.is_empty() {
            self.has_data = false;
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then_some(data);
        }
        if state == State::Name && field == b"data" {
            self.begin_data();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = EventReader::new(100);
        let mut messages = Vec::new();
        for piece in pieces {
            reader
                .push(piece, |message| messages.push(String::from_utf8(message).expect("a text")))
                .expect("short enough");
        }
        messages
    }

    #[test]
    fn each_event_is_a_message() {
        for (stream, messages) in [
            ("data: {\"a\":1}\n\ndata:{\"b\":2}\r\n\r\n", vec!["{\"a\":1}", "{\"b\":2}"]),
            (": a comment\n\nevent: message\nid: 7\ndata: {}\nretry: 10\n\n", vec!["{}"]),
            ("data: {\ndata: }\n\n", vec!["{ }"]),
            ("data:  two blanks\r\r", vec![" two blanks"]),
            ("data\n\ndata:\n\n:\n\n\n", vec![]),
            ("database: 1\ndata: 2\n\n", vec!["2"]),
            ("data: has no end\n", vec![]),
        ] {
            assert_eq!(read(&[stream.as_bytes()]), messages, "{stream:?}");
        }
    }

    #[test]
    fn a_message_without_an_end_is_given_up() {
        let mut reader = EventReader::new(10);
        assert_eq!(reader.push(b"data: 0123456789\n", |_| ()), Ok(()));
        assert!(reader.push(b"data: x", |_| ()).is_err());
    }

    proptest! {
        #[test]
        fn where_it_is_cut_does_not_matter(
            lines in prop::collection::vec("(data: ?|data:|:|id: )?[ab:]{0,5}(\n|\r\n|\r)", 0..20),
            cut in 0usize..200,
        ) {
            let stream = lines.concat().into_bytes();
            let cut = cut.min(stream.len());
            prop_assert_eq!(read(&[&stream]), read(&[&stream[..cut], &stream[cut..]]));
            let single: Vec<&[u8]> = stream.chunks(1).collect();
            prop_assert_eq!(read(&[&stream]), read(&single));
        }
    }
}
