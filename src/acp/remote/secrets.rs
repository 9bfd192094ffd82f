//! The values of headers, fetched from where the user keeps them: a command's output, a variable, a file. They are
//! never written down anywhere, and no error names them.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::acp::processes::guard::Guard;
use crate::core::message::remote::{Secret, is_header_value};
use crate::platform::group::Group;
use crate::platform::paths::home_expanded;
use crate::platform::{Signal, program};

/// A command may ask for a passphrase first.
const PATIENCE: Duration = Duration::from_secs(45);

/// No header is longer.
const LONGEST: u64 = 16 << 10;

/// Fetches all values. Blocks. An error is fit after "couldn't start {name}: ".
pub fn fetch(
    agent: &str,
    headers: &[(String, String)],
    guard: &Arc<Guard>,
) -> Result<Vec<(String, String)>, String> {
    let fetched = |(name, value): &(String, String)| {
        let value = one(value, guard, PATIENCE)
            .and_then(|value| match value.trim() {
                "" => Err("it is empty".to_owned()),
                value if !is_header_value(value) => Err("it holds control characters".to_owned()),
                value => Ok(value.to_owned()),
            })
            .map_err(|problem| format!("no value for agents.{agent}.headers.{name}: {problem}"))?;
        Ok((name.clone(), value))
    };
    headers.iter().map(fetched).collect()
}

fn one(text: &str, guard: &Arc<Guard>, patience: Duration) -> Result<String, String> {
    match Secret::read(text) {
        Secret::Plain(value) => Ok(value.to_owned()),
        Secret::Environment(name) => {
            std::env::var(name).map_err(|_| format!("Neovim's environment has no variable {name}"))
        }
        Secret::File(path) => {
            let file =
                fs::File::open(home_expanded(path)).map_err(|error| format!("reading {path}: {error}"))?;
            if !file.metadata().is_ok_and(|data| data.is_file()) {
                return Err(format!("{path} is no file"));
            }
            first_line(file).map_err(|error| format!("reading {path}: {error}"))
        }
        Secret::Command(line) => run(line, guard, patience),
    }
}

/// The command's first line of output. What it says on stderr may hold anything, and is left out.
fn run(line: &str, guard: &Arc<Guard>, patience: Duration) -> Result<String, String> {
    // The first word says which command it is; arguments may be secret.
    let name = line.split_whitespace().next().unwrap_or_default().to_owned();
    let mut command = program::shell(line);
    program::without_window(&mut command);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let (mut child, group) =
        Group::spawn(&mut command).map_err(|error| format!("running {name}: {error}"))?;
    guard.add(&group);
    let ended = wait(&mut child, patience);
    group.signal(Signal::Kill);
    // It was killed, so that this takes no time; how it ended is known, or not wanted.
    let status = child.wait();
    guard.remove(&group);
    let output = ended.map_err(|problem| format!("{name} {problem}"))?;
    match status {
        // A shell that was killed after its output ended was about to end by itself.
        Ok(status) if status.code().is_none_or(|code| code == 0) => Ok(output),
        Ok(status) => Err(format!("{name} failed with {}", status.code().unwrap_or_default())),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// Reads until the command closes its output and ends, or takes too long.
fn wait(child: &mut Child, patience: Duration) -> Result<String, String> {
    let stdout = child.stdout.take().expect("stdout is piped");
    let (tell, told) = channel();
    let reading = thread::Builder::new().name("acp-secret".into()).spawn(move || {
        // Nobody listens once it took too long.
        let _ = tell.send(first_line(stdout));
    });
    reading.map_err(|error| format!("can't be read: {error}"))?;
    let line = match told.recv_timeout(patience) {
        Ok(line) => line.map_err(|error| format!("can't be read: {error}"))?,
        Err(RecvTimeoutError::Timeout) => {
            return Err(format!("took longer than {} s", patience.as_secs()));
        }
        Err(RecvTimeoutError::Disconnected) => return Err("can't be read".to_owned()),
    };
    // Its code says whether this is what it should be.
    for _ in 0..200 {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            _ => break,
        }
    }
    Ok(line)
}

/// Reads all, so that whoever writes isn't cut off, and keeps the first line.
fn first_line(from: impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    from.take(LONGEST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(value: &str) -> Result<String, String> {
        let headers = [("Authorization".to_owned(), value.to_owned())];
        fetch("far", &headers, &Guard::start()).map(|headers| headers[0].1.clone())
    }

    #[test]
    fn values_come_from_where_the_user_keeps_them() {
        assert_eq!(get("Bearer x").as_deref(), Ok("Bearer x"));
        assert_eq!(get("env:CARGO_PKG_NAME").as_deref(), Ok("acp-nvim"));
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "from file\nand more\n").expect("written");
        assert_eq!(get(&format!("file:{}", file.path().display())).as_deref(), Ok("from file"));
        #[cfg(unix)]
        assert_eq!(get("cmd:echo 'from command'; echo more").as_deref(), Ok("from command"));
    }

    #[test]
    fn what_is_missing_is_said_without_the_value() {
        for (value, problem) in [
            ("env:NO_SUCH_VARIABLE_HERE", "no variable NO_SUCH_VARIABLE_HERE"),
            ("file:/no/such/file", "reading /no/such/file"),
            ("file:/", "is no file"),
        ] {
            let error = get(value).expect_err(value);
            assert!(error.contains(problem) && error.contains("agents.far.headers.Authorization"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_command_that_fails_or_never_ends_is_no_value() {
        let error = get("cmd:echo sekrit; exit 3").expect_err("a failure");
        assert!(error.contains("failed with 3") && !error.contains("sekrit"), "{error}");
        assert!(get("cmd:true").expect_err("nothing").contains("it is empty"));
        let error = one("cmd:sleep 1000", &Guard::start(), Duration::from_millis(50)).expect_err("no end");
        assert!(error.contains("sleep took longer"), "{error}");
    }
}
