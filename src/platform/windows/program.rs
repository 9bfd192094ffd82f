//! Which program a name means on Windows, and how scripts and lines of shell code are run.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::windows::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

use crate::platform::cmd;

/// What comes before a line for cmd.exe: nothing runs by itself, `!` is a character, and only the outermost
/// quotes go.
const OPTIONS: [&str; 5] = ["/d", "/e:on", "/v:off", "/s", "/c"];

/// Where programs are looked for if nothing says where.
pub const DEFAULT_PATH: &str = r"C:\Windows\System32;C:\Windows";

/// Whether this is the variable that says where programs are.
pub fn is_path_variable(name: &str) -> bool {
    name.eq_ignore_ascii_case("PATH")
}

/// The program to give to the system, which by itself knows only `.exe`: `npx` and its like are scripts
/// named `npx.cmd`.
pub fn find(command: &OsStr, cwd: &Path, path: Option<&OsStr>) -> PathBuf {
    let named = Path::new(command);
    if named.components().count() > 1 {
        return executable(&cwd.join(named)).unwrap_or_else(|| named.to_owned());
    }
    let path = path.map(OsStr::to_owned).or_else(|| env::var_os("PATH")).unwrap_or_default();
    // A name without a folder is never looked for in the folder of the session: who knows what lies there.
    env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| executable(&folder.join(named)))
        .unwrap_or_else(|| named.to_owned())
}

/// A Neovim without a console would show one for each program that wants one.
pub fn without_window(command: &mut Command) {
    command.creation_flags(CREATE_NO_WINDOW);
}

/// Whether the name says in which folder the program is.
pub fn names_folder(name: &str) -> bool {
    name.contains(['/', '\\']) || name.as_bytes().get(1) == Some(&b':')
}

/// The file that is run if this is named: itself, or with one of the extensions that programs have.
pub fn executable(path: &Path) -> Option<PathBuf> {
    let ends = env::var("PATHEXT").ok().filter(|ends| !ends.is_empty());
    let ends = ends.unwrap_or_else(|| ".COM;.EXE;.BAT;.CMD".into()).to_ascii_lowercase();
    let own = path.extension().map(|own| format!(".{}", own.to_string_lossy().to_ascii_lowercase()));
    if own.is_some_and(|own| ends.split(';').any(|end| end == own)) && path.is_file() {
        return Some(path.components().collect());
    }
    // A file without an extension, such as the script `npx` beside `npx.cmd`, is for other systems' shells.
    let with_end = |end: &str| {
        let mut name = OsString::from(path);
        name.push(end);
        PathBuf::from(name)
    };
    ends.split(';')
        .filter(|end| end.starts_with('.'))
        .map(with_end)
        .find(|file| file.is_file())
        .map(|file| file.components().collect())
}

/// Runs a file that was found. Scripts are cmd.exe's business, and those of other languages are run by
/// nobody without their interpreter.
pub fn command(file: PathBuf, _name: &str, args: &[String]) -> io::Result<Command> {
    let end = file.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    match end.as_str() {
        "bat" | "cmd" => call(&file.to_string_lossy(), args),
        "exe" | "com" => {
            let mut command = Command::new(file);
            command.args(args);
            Ok(command)
        }
        _ => Err(io::Error::other("it is no program that Windows runs; name its interpreter")),
    }
}

/// Runs a command that is no file but a part of the shell.
pub fn built_in(name: &str, args: &[String]) -> Option<io::Result<Command>> {
    cmd::is_built_in(name).then(|| call(name, args))
}

fn call(program: &str, args: &[String]) -> io::Result<Command> {
    let line = cmd::call(program, args);
    line.map(|line| shell_with(&line))
        .ok_or_else(|| io::Error::other("an argument has a line break, which cmd.exe can't pass on"))
}

/// Whether this can only be a line for a shell.
pub fn is_shell_code(command: &str) -> bool {
    command.contains(|c: char| c.is_whitespace() || "|&<>()^%\"".contains(c))
}

/// Runs a line in the system's shell.
pub fn shell(line: &str) -> Command {
    shell_with(&cmd::line(line))
}

fn shell_with(line: &str) -> Command {
    let mut command = Command::new(shell_program());
    command.args(OPTIONS).arg(line).env(cmd::QUOTE.0, cmd::QUOTE.1);
    command
}

/// What Windows runs lines of shell code by.
pub fn shell_program() -> PathBuf {
    let shell = env::var_os("ComSpec").map(PathBuf::from);
    shell.filter(|shell| shell.is_absolute() && shell.is_file()).unwrap_or_else(|| {
        let system = env::var_os("SystemRoot").map_or_else(|| r"C:\Windows".into(), PathBuf::from);
        system.join(r"System32\cmd.exe")
    })
}

/// A word as one types it into the shell.
pub fn quoted(word: &str) -> String {
    cmd::shown(word)
}
