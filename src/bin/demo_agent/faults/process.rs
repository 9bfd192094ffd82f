//! Faults of the process: it ends in the middle, floods stderr, closes its stdout, does not read its
//! stdin, stands still, or leaves children behind.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{After, Agent};

impl Agent {
    pub(super) fn of_the_process(&mut self, name: &str, prompt: &Value) -> Option<After> {
        match name {
            "exit-0" => self.leave(0),
            "exit-1" => self.leave(1),
            "exit-after-answer" => {
                self.reply(prompt, &json!({ "stopReason": "end_turn" }));
                self.leave(0);
            }
            "killed" => die(Signal::Kill),
            "crashed" => {
                self.say("about to crash");
                die(Signal::Abort);
            }
            "stderr-flood" => {
                let line = [b"stderr ".repeat(100).as_slice(), b"\x1b[31m\0\xff\n"].concat();
                let mut stderr = std::io::stderr();
                for _ in 0..2_000 {
                    // A client that closes stderr is no reason to stop.
                    let _ = stderr.write_all(&line);
                }
            }
            "stdout-closed" => {
                self.say("closing stdout");
                close_stdout();
                // Lives on until somebody ends it.
                self.listen(60_000);
                return Some(After::Nothing);
            }
            "stdin-unread" => {
                // The answers are more than a pipe holds, and nobody takes them for a moment.
                let path = self.file("big.txt");
                for _ in 0..30 {
                    self.ask("fs/read_text_file", json!({ "path": path }));
                }
                std::thread::sleep(Duration::from_millis(200));
                self.settle(Duration::from_secs(20));
            }
            "stopped" => self.stand_still(),
            "child-left" => {
                for program in ["sleep", "setsid"] {
                    let args: &[&str] = if program == "setsid" { &["sleep", "1000"] } else { &["1000"] };
                    let child = Command::new(program)
                        .args(args)
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .spawn();
                    if let Err(error) = child {
                        self.say(&format!("couldn't start {program}: {error}"));
                    }
                }
            }
            _ => return None,
        }
        Some(After::Answer)
    }

    fn leave(&mut self, code: i32) -> ! {
        self.note(&json!({ "end": code }));
        std::process::exit(code)
    }

    /// Stops as by a SIGSTOP, and goes on a moment later, since somebody else says so.
    #[cfg(unix)]
    fn stand_still(&mut self) {
        let own = std::process::id();
        let code = format!("sleep 0.1; kill -CONT {own}; sleep 0.1; kill -CONT {own}");
        let waker = Command::new("sh").args(["-c", &code]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        match waker {
            Ok(mut waker) => {
                self.say("standing still");
                let before = Instant::now();
                // SAFETY: sends a signal to this process; nothing of ours runs in a handler.
                unsafe { libc::raise(libc::SIGSTOP) };
                self.say(&format!("stood still for {} ms", before.elapsed().as_millis()));
                // Only that it does not stay a zombie.
                let _ = waker.wait();
            }
            Err(error) => self.say(&format!("couldn't start sh: {error}")),
        }
    }

    #[cfg(not(unix))]
    fn stand_still(&mut self) {
        std::thread::sleep(Duration::from_millis(100));
        self.say(&format!("{:?}", Instant::now()));
    }
}

enum Signal {
    Kill,
    Abort,
}

#[cfg(unix)]
fn die(signal: Signal) {
    let signal = match signal {
        Signal::Kill => libc::SIGKILL,
        Signal::Abort => libc::SIGABRT,
    };
    // SAFETY: sends a signal to this process, which ends by it.
    unsafe { libc::raise(signal) };
}

#[cfg(not(unix))]
fn die(signal: Signal) {
    std::process::exit(match signal {
        Signal::Kill => 9,
        Signal::Abort => 6,
    })
}

#[cfg(unix)]
fn close_stdout() {
    // SAFETY: this process writes nothing there after it.
    unsafe { libc::close(1) };
}

#[cfg(not(unix))]
fn close_stdout() {}
