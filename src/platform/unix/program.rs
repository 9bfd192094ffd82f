//! Which program a name means on Unix, and how a line of shell code is run.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs are looked for if nothing says where.
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// Whether this is the variable that says where programs are.
pub fn is_path_variable(name: &str) -> bool {
    name == "PATH"
}

/// The program to give to the system, which looks for it itself.
pub fn find(command: &OsStr, _cwd: &Path, _path: Option<&OsStr>) -> PathBuf {
    command.into()
}

/// No window is shown for a program anyway.
pub fn without_window(_: &mut Command) {}

/// Whether the name says in which folder the program is.
pub fn names_folder(name: &str) -> bool {
    name.contains('/')
}

/// The file that is run if this is named, when this user may run it.
pub fn executable(path: &Path) -> Option<PathBuf> {
    let may = path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok();
    may.then(|| path.to_owned())
}

/// Runs a file that was found, under the name by which it was asked for.
pub fn command(file: PathBuf, name: &str, args: &[String]) -> io::Result<Command> {
    let mut command = Command::new(file);
    command.arg0(name).args(args);
    Ok(command)
}

/// Runs a command that is no file but a part of the shell.
pub fn built_in(_name: &str, _args: &[String]) -> Option<io::Result<Command>> {
    None
}

/// Whether this can only be a line for a shell.
pub fn is_shell_code(command: &str) -> bool {
    command.contains(|c: char| c.is_whitespace() || "|&;<>()$`\\\"'*?[]{}#~=!".contains(c))
}

/// Runs a line in the user's shell.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new(shell_program());
    command.arg("-c").arg(line);
    command
}

/// The user's shell.
pub fn shell_program() -> PathBuf {
    let shell = env::var_os("SHELL").map(PathBuf::from);
    shell
        .filter(|shell| shell.is_absolute() && executable(shell).is_some())
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// A word as one types it into the shell.
pub fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=@%+,^".contains(c)) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
