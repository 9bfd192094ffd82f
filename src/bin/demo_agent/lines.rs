//! The lines of stdin, read by a thread of their own so that whoever waits may also wait for a clock or
//! another thread; on request each byte is kept in a file as it came. What a line means is for others.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::Sender;
use std::thread;

/// Hands each line, without its end, to `deliver` as `Some`, and the end of stdin as `None`.
/// `deliver` says whether anyone still listens.
pub fn read(record: Option<File>, deliver: impl FnMut(Option<Vec<u8>>) -> bool + Send + 'static) {
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || read_all(io::stdin().lock(), record, deliver))
        .expect("a process that just started can start a thread");
}

/// As [`read`], for those who wait for lines alone.
pub fn read_into(record: Option<File>, lines: Sender<Option<Vec<u8>>>) {
    read(record, move |line| lines.send(line).is_ok());
}

fn read_all(
    mut input: impl BufRead,
    mut record: Option<File>,
    mut deliver: impl FnMut(Option<Vec<u8>>) -> bool,
) {
    loop {
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                crate::print_error(&format!("couldn't read stdin: {error}"));
                break;
            }
        }
        if let Some(file) = &mut record
            && let Err(error) = file.write_all(&line)
        {
            crate::print_error(&format!("couldn't write the record: {error}"));
            record = None;
        }
        while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            line.pop();
        }
        if !line.is_empty() && !deliver(Some(line)) {
            return;
        }
    }
    deliver(None);
}
