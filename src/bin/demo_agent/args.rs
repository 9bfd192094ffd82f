//! The command line: which of the agent's tasks is wanted, and its usage text. Does nothing itself.

use std::ffi::OsString;
use std::path::PathBuf;

pub const USAGE: &str = "\
acp-demo-agent: an agent without a model that speaks the Agent Client Protocol (version 1) on stdio

usage:
  acp-demo-agent                                 the demo agent: /tour, /plan, /edit, /run, ...
  acp-demo-agent --script FILE [--record FILE]   play the steps of a JSON file

environment:
  ACP_DEMO_SPEED   1 is the tour's own pace, 2 is twice as fast, 0 waits nowhere
";

/// What the process is asked to do.
#[derive(Debug, PartialEq)]
pub enum Task {
    Help,
    Serve,
    Script { script: PathBuf, record: Option<PathBuf> },
}

pub fn read(args: impl Iterator<Item = OsString>) -> Result<Task, String> {
    let mut args = args;
    let mut script = None;
    let mut record = None;
    while let Some(arg) = args.next() {
        let name = arg.to_string_lossy().into_owned();
        let mut value = || args.next().ok_or_else(|| format!("{name} wants a value"));
        match name.as_str() {
            "-h" | "--help" => return Ok(Task::Help),
            "--script" => script = Some(PathBuf::from(value()?)),
            "--record" => record = Some(PathBuf::from(value()?)),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    match (script, record) {
        (Some(script), record) => Ok(Task::Script { script, record }),
        (None, None) => Ok(Task::Serve),
        (None, Some(_)) => Err("--record goes with --script".to_owned()),
    }
}
